#!/bin/sh
# Subscribers of notify.json: a signed message is verified by a receiver that shares no code with us; what
# fails is tried again and given up; chats get text; withheld sources are not told of; freshet-outbox does it
# all by itself.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/cli.json
FRESHET_DIR=$work/i
export FRESHET_DIR
tab=$(printf '\t')
query() { sqlite3 "$FRESHET_DIR/ledger.db" "$1"; }

run 0 freshet init "$FRESHET_DIR"
run 0 freshet notify list
is "nobody is told by default" "$out" ''
echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$work/secret"
python3 tests/50-e2e/hook_receiver.py "$work" &
children=$!
within 30 test -s "$work/port"
hook=$(cat "$work/port")
got() { cut -d ' ' -f "$1" "$work/got" 2>/dev/null | tail -n 1; }

run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\",\"127.0.0.1:$hook\"]"
run 0 freshet config set fetch_attempts 1
cp "$work/secret" "$FRESHET_DIR/secrets/hook"
echo "http://127.0.0.1:$hook/T0/B0/a-key" >"$FRESHET_DIR/secrets/chat"
cat >"$FRESHET_DIR/notify.json" <<JSON
{
  // as in docs/NOTIFICATIONS.md
  "subscribers": [
    {"name": "ops", "url": "http://127.0.0.1:$hook/signed", "secrets": ["hook"],
     "events": ["change", "hold", "dead_letter", "breach"]},
    {"name": "team", "format": "slack", "url": "secret:chat", "events": ["hold"]},
  ]
}
JSON
run 0 freshet notify list --json
is "who is told of what" "$(echo "$out" | jq -c '.subscribers[] | [.name, .format, .events, .waiting, .dead]')" \
    '["ops","standard-webhooks","change,hold,dead_letter,breach",0,0]
["team","slack","hold",0,0]'

# ---- test ------------------------------------------------------------------------------------------
run 0 freshet notify test ops
has "the answer is shown" "$out" '^ops: answered 200 after [0-9]* ms: ok'
is "its signature is good" "$(got 2) $(got 4)" 'good test'
run 0 freshet notify test ops --json
is "as JSON" "$(echo "$out" | jq -c '[.ok, .status, .end, .answer]')" '[true,200,"OK","ok"]'
is "the id is the one that was sent" "$(got 3)" "$(echo "$out" | jq -r .id)"
run 0 freshet notify test team
is "a chat gets text" "$(got 1) $(got 5- | jq -r .text)" '/T0/B0/a-key A test of Freshet: nothing happened.'
run 1 freshet notify test nobody
has "an unknown one is refused" "$err" "names no subscriber 'nobody'"
echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$FRESHET_DIR/secrets/hook"
run 1 freshet notify test ops
has "another secret is not taken" "$out" 'answered 401'
echo short >"$FRESHET_DIR/secrets/hook"
run 1 freshet notify test ops
has "a bad secret names its file and the fix" "$err" 'secrets/hook must hold whsec_.*openssl rand'
has "doctor tells of it" "$(freshet doctor 2>&1)" "fail${tab}notify${tab}ops.secrets: secrets/hook must hold"
rm "$FRESHET_DIR/secrets/chat"
has "and of an address that is not there" "$(freshet doctor 2>&1)" "fail${tab}notify${tab}team.url: .*secrets/chat"
echo "http://evil.example/T0/B0/a-key" >"$FRESHET_DIR/secrets/chat"
out=$(freshet doctor 2>&1)
has "and of one that is not allowed" "$out" "fail${tab}notify${tab}team.url: .*allow_hosts"
lacks "without showing it" "$out" 'a-key\|evil'
echo "http://127.0.0.1:$hook/T0/B0/a-key" >"$FRESHET_DIR/secrets/chat"
cp "$work/secret" "$FRESHET_DIR/secrets/hook"
has "all can be told" "$(freshet doctor 2>&1)" "ok${tab}notify${tab}2 subscribers"

# ---- a change --------------------------------------------------------------------------------------
run 0 freshet source add --id a --url "$u/cli/a.json" --title 'First of all'
run 0 freshet source add --id h --url "$u/cli/held.json" --sensitivity restricted
run 0 freshet source add --id v --url "$u/cli/b.csv" --sensitivity sovereign
rm "$work/got"
run 0 freshet check all
run 0 freshet work --drain
is "one message, well signed" "$(cut -d ' ' -f 1,2,4 "$work/got")" '/signed good change'
is "it is the entry of the feed" "$(got 5- | jq -cS .data.change)" "$(freshet changes --json | jq -cS '[.results[] | select(.source_id == "a")][0]')"
lacks "nothing of withheld sources" "$(cat "$work/got")" '"h"\|"v"\|restricted\|sovereign'
is "all is told" "$(query 'SELECT (SELECT count(*) FROM notices) + (SELECT count(*) FROM deliveries)')" 0

# ---- a receiver that is down -----------------------------------------------------------------------
touch "$work/fail"
advance /cli/a.json
run 0 freshet check all
run 0 freshet work --drain --json
is "the handler notices nothing" "$(echo "$out" | jq .done)" 1
run 0 freshet notify list
has "it waits, and why" "$out" "^ops${tab}.*${tab}1${tab}0${tab}.*the receiver answered 503"
query "UPDATE deliveries SET attempts = 11, next_attempt_at = 0"
run 0 freshet work --drain
run 0 freshet notify dlq --json
is "given up after twelve tries" "$(echo "$out" | jq -c '.dead[] | [.subscriber, .type, .attempts]')" '["ops","change",12]'
has "doctor says so" "$(freshet doctor)" "warn${tab}notify${tab}1 given up.*freshet notify retry"
id=$(freshet notify dlq --json | jq -r '.dead[0].id')
rm "$work/fail"
run 1 freshet notify retry nobody
run 0 freshet notify retry ops --json
is "one comes back" "$(echo "$out" | jq .revived)" 1
run 0 freshet work --drain
is "and is told under the same id" "$(got 2) $(got 3)" "good $id"

# ---- by itself -------------------------------------------------------------------------------------
"$B/freshet-outbox" -C "$FRESHET_DIR" 2>"$work/outbox.log" &
children="$children $!"
run 0 freshet source add --id broken --url "$u/cli/broken.json"
run 0 freshet check source broken
soon "a breach is told" 20 grep -q '/signed good [^ ]* breach.began.*"source_id":"broken".*"reason":"gone"' "$work/got"
run 0 freshet check source broken
run 0 freshet source retire broken
echo '{"subscribers": [{"name": "ops", "evnts": []}]}' >"$FRESHET_DIR/notify.json"
soon "a wrong file is logged with its field" 20 grep -q 'notify.wrong.*ops.evnts' "$work/outbox.log"
has "doctor finds it" "$(freshet doctor)" "fail${tab}notify${tab}notify.json: ops.evnts"
run 1 freshet notify list
is "once, not every check" "$(grep -c 'breach.began' "$work/got")" 1
lacks "no secret is logged" "$(cat "$work/outbox.log"; query .dump)" "whsec_\|a-key\|$(cut -c 7-30 "$work/secret")"
run 0 freshet verify
summary

#!/bin/sh
# Deliveries through nginx, signed by openssl: a change reaches the feed; repeats, conflicts, floods, a full
# inbox and a killed intake lose nothing and do nothing twice. B is the build folder (default build).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh

start_upstream --scenario tests/50-e2e/hooks.json
at=$(free_port)
base=http://127.0.0.1:$at
i=$work/i
key=first-secret-of-the-provider key2=second-secret-of-the-provider
freshet init "$i" >/dev/null
echo "whsec_$(head -c 32 /dev/urandom | base64)" >"$work/secret"
python3 tests/50-e2e/hook_receiver.py "$work" &
receiver=$!
children=$receiver
within 30 test -s "$work/port"
freshet -C "$i" config set allow_hosts "[\"127.0.0.1:$port\",\"127.0.0.1:$(cat "$work/port")\"]"
cp "$work/secret" "$i/secrets/ops"
cat >"$i/notify.json" <<JSON
{"subscribers": [{"name": "ops", "url": "http://127.0.0.1:$(cat "$work/port")/signed", "secrets": ["ops"], "events": ["conflict"]},
 {"name": "feed", "url": "http://127.0.0.1:$(cat "$work/port")/signed", "secrets": ["ops"], "events": ["change"], "sources": ["roads"]}]}
JSON
freshet -C "$i" config set log_level info
printf '%s\n' "$key" >"$i/secrets/first"
printf '%s' "$key2" >"$i/secrets/second"
printf 'fifteen-bytes-.' >"$i/secrets/short"

# ---- what cannot work is refused when it is declared -------------------------------------------
run 1 freshet -C "$i" source add --id x --url "$u/x" --detector webhook
has "a detector that waits needs an adapter" "$err" 'adapter'
run 1 freshet -C "$i" source add --id x --url "$u/x" --adapter github
has "an adapter needs a secret, by name" "$err" 'secrets'
run 1 freshet -C "$i" source add --id x --url "$u/x" --adapter hmac --secret first --adapter-options '{"encoding":"rot13"}'
has "an option is named" "$err" 'adapter_options.encoding'
run 0 freshet -C "$i" source add --id roads --url "$u/hooks/roads.json" --detector webhook \
    --adapter standard-webhooks --secret std
has "a secret that is not there yet is told as what is left to do" "$err" '^Next: put the secret of its deliveries into the file secrets/std'
lacks "and not as a failure" "$err" 'freshet: source add'
printf 'whsec_%s' "$(printf '%s' "$key" | base64)" >"$i/secrets/std"
run 0 freshet -C "$i" source add --id etag --url "$u/hooks/roads.json" --adapter github --secret first --secret second \
    --trigger '{"type":"manual"}' --media-type application/json
run 0 freshet -C "$i" source add --id gone --url "$u/hooks/gone.json" --detector webhook --adapter github --secret first
run 0 freshet -C "$i" source add --id weak --url "$u/x" --detector webhook --adapter github --secret short
has "a short secret is told" "$err" 'shorter than 16'
out=$(freshet -C "$i" doctor 2>&1)
has "doctor tells too" "$out" 'weak: secrets: short: shorter'
is "nobody looks at what is told" "$(freshet -C "$i" check due --dry-run --json | jq -c '[.results[].source_id]')" '[]'
has "and never heard is loud" "$(freshet -C "$i" source list --unhealthy)" 'never heard'

# ---- delivering ---------------------------------------------------------------------------------
start() {
    "$B/freshet" -C "$i" up --port "$at" >>"$work/up.log" 2>&1 &
    up=$!
    children="$receiver $up"
    within 60 curl -sf -o /dev/null "$base/readyz" || {
        cat "$work/up.log"
        exit 1
    }
}
stop() {
    kill "$up"
    wait "$up" 2>/dev/null
    children=$receiver
}
mac() { # mac KEY TEXT -> hex
    printf '%s' "$2" | openssl dgst -sha256 -hmac "$1" -r | cut -d' ' -f1
}
github() { # github SOURCE KEY ID BODY [CURL OPTIONS]: prints the status
    s=$1 d=$3 b=$4 m=$(mac "$2" "$4")
    shift 4
    curl -s -o "$work/answer" -D "$work/head" -w '%{http_code}' -H "X-GitHub-Delivery: $d" -H 'X-GitHub-Event: push' \
        -H 'Content-Type: application/json' -H "X-Hub-Signature-256: sha256=$m" -d "$b" "$@" "$base/hooks/$s"
}
standard() { # standard SOURCE ID BODY [AGE]
    t=$(($(date +%s) - ${4:-0}))
    m=$(printf '%s' "$2.$t.$3" | openssl dgst -sha256 -hmac "$key" -binary | base64)
    curl -s -o "$work/answer" -w '%{http_code}' -H "webhook-id: $2" -H "webhook-timestamp: $t" \
        -H "webhook-signature: v1,$m" -H 'Content-Type: application/json' -d "$3" "$base/hooks/$1"
}
feed() { curl -s "$base/changes?source=$1" | jq -c '[.results[] | [.detector, .change_type]]'; }
feed_is() { [ "$(feed "$1")" = "$2" ]; }
start

is "a change is told" "$(standard roads m1 '{"type":"x"}')" 202
soon "and reaches the feed" 20 feed_is roads '[["webhook","new"]]'
soon "and who wants to hear of it" 20 grep -q '/signed good [^ ]* change ' "$work/got"
is "its links lead to the port that was asked for" "$(grep ' change ' "$work/got" | cut -d ' ' -f 5- | jq -c .data.change)" \
    "$(curl -s "$base/changes?source=roads" | jq -c '.results[0]')"
has "which stands in it" "$(grep ' change ' "$work/got")" "$base/"
is "told again: nothing" "$(standard roads m1 '{"type":"x"}')" 200
is "the same id with another body" "$(standard roads m1 '{"type":"y"}')" 409
is "an old delivery, repeated" "$(standard roads m2 '{"type":"x"}' 301)" 401
is "one from the future" "$(standard roads m2 '{"type":"x"}' -302)" 401
is "the bytes decide: told, but nothing is new" "$(standard roads m3 '{"type":"x"}')" 202
settled() { [ "$(freshet -C "$i" queue list --json | jq '.counts.ready + .counts.leased')" = 0 ]; }
within 20 settled
is "no entry of the feed" "$(feed roads)" '[["webhook","new"]]'
advance /hooks/roads.json
is "new bytes are told" "$(standard roads m4 '{"type":"x"}')" 202
soon "and reach the feed" 20 feed_is roads '[["webhook","modified"],["webhook","new"]]'
has "the source was heard" "$(freshet -C "$i" source show roads)" 'heard .*3 times'
has "its health is ok" "$(freshet -C "$i" source show roads)" 'health .*ok'
has "the conflict waits for a person" "$(freshet -C "$i" queue conflicts)" 'roads.*m1'
has "doctor says so" "$(freshet -C "$i" doctor 2>&1)" 'came twice'
has "and the log" "$(cat "$work/up.log" "$i"/log/* 2>/dev/null)" 'hook.conflict'
has "and a number" "$(curl -s "$base/metrics")" 'freshet_pushes_total{result="conflict"} 1'
soon "and whoever wants to hear of it" 20 grep -q '/signed good [^ ]* conflict .*"source_id":"roads"' "$work/got"
is "told again, it is no news" "$(standard roads m1 '{"type":"y"}')" 409
all_told() { [ "$(sqlite3 "$i/ledger.db" 'SELECT count(*) FROM notices')" = 0 ]; }
within 20 all_told
is "and nobody is told of it again" "$(grep -c conflict "$work/got")" 1
run 0 freshet -C "$i" queue settle 1

# ---- a source that is looked at in another way besides, never checked yet ------------------------
is "a source of detector etag" "$(github etag "$key" g1 '{"after":"c1"}')" 202
soon "its change is one of the webhook" 20 feed_is etag '[["webhook","new"]]'
is "another key that is live" "$(github etag "$key2" g2 '{"after":"c2"}')" 202
rm "$i/secrets/first"
is "rotated out: it stops at once" "$(github etag "$key" g3 '{"after":"c3"}')" 401
is "the other still counts" "$(github etag "$key2" g3 '{"after":"c3"}')" 202
run 0 freshet -C "$i" source set etag --secret first
is "out of the declaration: likewise" "$(github etag "$key2" g4 '{"after":"c4"}')" 401
printf '%s' "$key" >"$i/secrets/first"

# ---- told, but not there -------------------------------------------------------------------------
is "what is told and gone" "$(github gone "$key" n1 '{"after":"c1"}')" 202
looked() { freshet -C "$i" source show gone | grep -q 'health .*gone'; }
soon "is not forgotten: the scheduler goes on" 30 looked

# ---- limits ---------------------------------------------------------------------------------------
head -c 1100000 /dev/zero | tr '\0' ' ' >"$work/large"
is "too large: said by nginx" "$(curl -s -o "$work/answer" -w '%{http_code}' --data-binary @"$work/large" "$base/hooks/etag")" 413
is "as a problem" "$(jq -r .code "$work/answer")" TOO_LARGE
github nobody "$key" q1 '{}' >/dev/null
sed 's/\r//' "$work/head" | grep -v -i '^date' >"$work/none"
cp "$work/answer" "$work/none.body"
freshet -C "$i" source add --id secret-one --url "$u/x" --sensitivity sovereign --detector webhook --adapter github --secret first >/dev/null
is "a sovereign source, badly signed" "$(github secret-one wrong-key-wrong-key q1 '{}')" 404
sed 's/\r//' "$work/head" | grep -v -i '^date' >"$work/sov"
if cmp -s "$work/none" "$work/sov" && cmp -s "$work/none.body" "$work/answer"; then
    pass "answers like none, byte for byte"
else
    fail "answers like none, byte for byte"
fi

# ---- bodies that nginx sends apart from their end --------------------------------------------------
sizes='12000 16000 20000 28000 36000 44000 52000 60000'
for n in $sizes; do
    head -c "$n" /dev/zero | tr '\0' ' ' >"$work/body.$n"
    printf '{}' >>"$work/body.$n"
done
large() { # large PATH TIMES: the statuses of so many requests of each size, eight at once
    for _ in $(seq "$2"); do
        for n in $sizes; do
            printf 'next\nurl = "%s"\ndata-binary = "@%s"\nheader = "Content-Type: application/json"\n' "$base$1" "$work/body.$n"
            printf 'max-time = 20\noutput = "%s"\nwrite-out = "%%{http_code}\\n"\n' "$work/answer"
        done
    done | tail -n +2 >"$work/large.conf"
    curl -s --parallel --parallel-max 8 --parallel-immediate -K "$work/large.conf" 2>/dev/null | sort | uniq -c | sed 's/^ *//'
}
is "many large deliveries: each is answered" "$(large /hooks/etag 15)" '120 401'
is "to nobody, too" "$(large /hooks/nobody 10)" '80 404'
is "large requests to look" "$(large /admin/checks 15)" '120 401'
is "large searches" "$(large /stac/search 20)" '160 200'
printf '{"after":"large","pad":"%s"}' "$(tr ' ' x <"$work/body.20000" | tr -d '{}')" >"$work/signed"
sent=
for n in 1 2 3 4 5 6 7 8 9 10; do
    sent="$sent $(github etag "$key" "large$n" "$(cat "$work/signed")")"
done
is "large and signed: taken" "$sent" ' 202 202 202 202 202 202 202 202 202 202'
within 30 settled
stop

freshet -C "$i" config set hook_rate 1
freshet -C "$i" config set inbox_max 2
freshet -C "$i" config set handler_processes 1
start
# Ten seconds' worth may wait, what is beyond is refused: twenty at once are too many.
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    curl -s -m 3 -o /dev/null -D "$work/flood.$n" -d '{}' "$base/hooks/etag" &
    flood="${flood:-} $!"
done
# shellcheck disable=SC2086 # a list of numbers
wait $flood
has "a flood gets 429" "$(cat "$work"/flood.*)" ' 429 '
has "with the time to wait" "$(cat "$work"/flood.*)" 'Retry-After: 10'
stop
freshet -C "$i" config set hook_rate 100

# ---- full, and killed ------------------------------------------------------------------------------
start
handler=$(pgrep -P "$up" -f 'freshet-handler')
kill -STOP "$handler"
is "room for one" "$(github etag "$key" f1 '{"after":"f1"}')" 202
is "and another" "$(github etag "$key" f2 '{"after":"f2"}')" 202
rows() { freshet -C "$i" queue list --json | jq '.counts.ready'; }
is "full: try later" "$(github etag "$key" f3 '{"after":"f3"}')" 503
has "in so many seconds" "$(cat "$work/head")" 'Retry-After'
is "nothing half done" "$(rows)" 2
is "what is in already is known" "$(github etag "$key" f2 '{"after":"f2"}')" 200
kill -CONT "$handler"
soon "there is room again" 30 settled
is "and the same delivery is taken" "$(github etag "$key" f3 '{"after":"f3"}')" 202

# The commit is made, the answer never comes: whoever tries again is told that it is in.
within 30 settled
kill -STOP "$handler"
parent=$(pgrep -P "$up" -f 'freshet-intake')
told=
for n in 1 2 3 4 5 6; do
    github etag "$key" "k$n" "{\"after\":\"k$n\"}" >"$work/killed.$n" 2>/dev/null &
    told="$told $!"
    for child in $(pgrep -P "$parent"); do kill -KILL "$child" 2>/dev/null; done
    # shellcheck disable=SC2086 # a list of numbers
    wait $told
    told=
    within 20 curl -sf -o /dev/null "$base/readyz"
    again=$(github etag "$key" "k$n" "{\"after\":\"k$n\"}")
    first=$(cat "$work/killed.$n")
    case $first:$again in
    202:200 | 50[0-9]:20[02] | 50[0-9]:503) ;;
    *) fail "killed at delivery $n: first $first, then $again" ;;
    esac
    ids=$(sqlite3 "$i/ledger.db" "SELECT count(*) FROM nonces WHERE nonce = 'k$n'" 2>/dev/null || echo 1)
    [ "$ids" -le 1 ] || fail "delivery $n is in $ids times"
done
pass "intake was killed between deliveries, none is in twice"
kill -CONT "$handler"
within 60 settled
stop
run 0 freshet -C "$i" verify
lacks "no secret in the logs" "$(cat "$work/up.log" "$i"/log/* 2>/dev/null)" "$key"
lacks "no name of the sovereign source in them" "$(cat "$work/up.log" "$i"/log/* 2>/dev/null)" 'secret-one'
lacks "no secret in the ledger" "$(strings "$i/ledger.db" "$i/ledger.db-wal" 2>/dev/null)" "$key"
summary

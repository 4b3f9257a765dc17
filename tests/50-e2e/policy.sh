#!/bin/sh
# The policy gate from policy.json to the answers: what it denies, holds and allows; waivers and their
# end; approvals by command and over HTTP; a level that two people lower; a broken file that opens nothing.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/policy.json
FRESHET_DIR=$work/i
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web
freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
query() { sqlite3 -readonly "$FRESHET_DIR/ledger.db" "$1"; }
held() { freshet queue list --state held | awk -v s="$1" '$2 == s { print $1; exit }'; }
newest() { query "SELECT event_id FROM inbox JOIN sources USING (src_no) WHERE id = '$1' ORDER BY cand_no DESC LIMIT 1"; }
version() { query "SELECT coalesce((SELECT version FROM heads JOIN sources USING (src_no) WHERE id = '$1'), 0)"; }
look() { freshet check all --wait --json >/dev/null; }
clean() { is "verify is clean $1" "$(freshet verify --json | jq -c '[.ok, .problems]')" '[true,[]]'; }
policy() { printf '%s\n' "$1" >"$FRESHET_DIR/policy.json"; }

# ---- the file -------------------------------------------------------------------------------------
run 0 freshet policy check --json
is "what init writes is valid" "$(echo "$out" | jq -c '[.ok, .version]')" '[true,"1"]'
is "and is what the sample says" "$(freshet policy sample)" "$(cat "$FRESHET_DIR/policy.json")"
for bad in '{}' '{"version":1}' '{"version":"1","level":{}}' '{"version":"1","levels":{"secret":{}}}' \
    '{"version":"1","levels":{"public":{"require":["size"]}}}' '{"version":"1","levels":{"public":{"licenses":[]}}}' \
    '{"version":"1","levels":{"restricted":{"approval":"none"}}}' '{"version":"1","levels":{"sovereign":{"approval":"reviewer"}}}' \
    '{"version":"1","levels":{},"stewards":{"sources":{"Not An Id":["A"]}}}' '{"version":"1","levels":{},"stewards":{"sources":{"a":[]}}}' \
    '{"version":"1"}' '['; do
    printf '%s' "$bad" >"$work/bad.json"
    run 1 freshet policy check "$work/bad.json"
done
has "an error names field and fix" "$(printf '{"version":"1","levels":{"restricted":{"approval":"none"}}}' >"$work/bad.json"; freshet policy check "$work/bad.json" 2>&1)" \
    'levels.restricted.approval: must be "reviewer" or "steward"'

# ---- allow, hold, deny ----------------------------------------------------------------------------
freshet source add --id open --url "$u/p/open.json" --collection tests --title Open --license CC0-1.0
freshet source add --id bare --url "$u/p/bare.json" --collection tests --title Bare --by ann
freshet source add --id kept --url "$u/p/kept.json" --collection tests --title Kept --sensitivity restricted --license CC0-1.0
freshet source add --id theirs --url "$u/p/theirs.json" --collection lands --title Theirs --sensitivity sovereign --license CC0-1.0
policy '{"version":"2","levels":{"public":{"require":["title","license"],"licenses":["CC0-1.0"]},"restricted":{},"sovereign":{}},
  "stewards":{"collections":{"lands":["S. Teward"]}}}'
is "what would be decided" "$(freshet policy check --json | jq -c '[.sources[].verdict]')" '["allow","deny","hold","hold"]'
run 0 freshet policy check --source bare
has "with the reason" "$out" 'LICENSE_NOT_ALLOWED'
freshet source add --id old --url "$u/p/old.json" --collection tests --title Old
freshet source retire old >/dev/null
run 0 freshet policy check --source old
run 0 freshet policy check
lacks "what is retired is decided no more" "$out" '^old'
look
is "allowed" "$(version open)" 1
is "denied: a dead letter" "$(freshet dlq list --json | jq -r '.dead_letters[0].reason // .[0].reason')" LICENSE_NOT_ALLOWED
is "nothing of it is head" "$(version bare)" 0
run 0 freshet show "$(newest bare)"
has "show tells the decision" "$out" 'deny: LICENSE_NOT_ALLOWED, version 2+'
run 0 freshet show "$(newest open)" --json
is "also of what was allowed" "$(echo "$out" | jq -r '.policy_decisions[0].verdict')" allow
is "provenance has it" "$(query "SELECT count(*) FROM public_prov WHERE doc LIKE '%kfm:PolicyDecision%' AND doc LIKE '%\"2+%'")" 1
clean "after decisions"

# ---- waivers --------------------------------------------------------------------------------------
set -- --source bare --requester ann --note 'asked the publisher'
run 1 freshet waiver add "$@" --rule LICENSE_NOT_ALLOWED --reviewer ' Ann' --expires 2999-01-01
has "two people" "$err" 'reviewer: must be somebody else'
run 1 freshet waiver add "$@" --rule APPROVAL_REQUIRED --reviewer bob --expires 2999-01-01
has "not everything can be waived" "$err" 'APPROVAL_REQUIRED cannot be waived'
run 1 freshet waiver add "$@" --rule CHECKSUM_MISMATCH --reviewer bob --expires 2999-01-01
run 1 freshet waiver add "$@" --rule LICENSE_NOT_ALLOWED --reviewer bob --expires 2001-01-01
has "it must be a time to come" "$err" 'expires'
export FRESHET_NOW=2030-01-01T00:00:00Z
run 0 freshet waiver add "$@" --rule LICENSE_NOT_ALLOWED --reviewer bob --expires 2030-01-31
FRESHET_NOW=2030-02-01T00:00:00Z
run 0 freshet dlq retry "$(newest bare)"
freshet work --drain >/dev/null
is "an expired waiver has no effect" "$(version bare)" 0
is "and is not listed" "$(freshet waiver list --json | jq '.waivers | length')" 0
FRESHET_NOW=2030-02-02T00:00:00Z
run 0 freshet waiver add "$@" --rule LICENSE_NOT_ALLOWED --reviewer bob --expires 2030-02-28
waiver=$out
run 0 freshet waiver add "$@" --rule METADATA_MISSING --reviewer bob --expires 2030-02-28
run 0 freshet dlq retry "$(newest bare)"
freshet work --drain >/dev/null
is "one in force lets it pass" "$(version bare)" 1
run 0 freshet show "$(newest bare)"
has "and the decision names it" "$out" "let pass by waiver $waiver"
is "so does provenance" "$(query "SELECT count(*) FROM prov_bundles WHERE doc LIKE '%LICENSE_NOT_ALLOWED by waiver $waiver%'")" 1
run 0 freshet waiver revoke "$waiver" --by bob --note 'they said no'
run 1 freshet waiver revoke "$waiver" --by bob --note again
has "it ends once" "$err" 'over already'
is "both are kept" "$(freshet waiver list --all --json | jq -c '[.waivers[] | .state] | sort')" '["expired","in force","revoked"]'
advance /p/bare.json
look
is "a revoked one has no effect" "$(version bare)" 1
unset FRESHET_NOW
for table in waivers waiver_revocations decisions; do
    has "$table are append-only" "$(sqlite3 "$FRESHET_DIR/ledger.db" "DELETE FROM $table" 2>&1)" 'append-only'
done
clean "after waivers"

# ---- a waiver frees nothing that is held, but tells what to do ----------------------------------------
freshet source add --id few --url "$u/p/few.json" --collection tests --title Few --license CC0-1.0 --min-features 5
freshet check source few --wait >/dev/null
event=$(held few)
has "held by a rule" "$(freshet queue list --state held)" MISSINGNESS_EXCEEDED
set -- --source few --requester ann --reviewer bob --note 'it has one' --expires 2030-04-01
FRESHET_NOW=2030-03-01T00:00:00Z
export FRESHET_NOW
run 0 freshet waiver add "$@" --rule GEOMETRY_INVALID --json
is "held for something else" "$(echo "$out" | jq -c .held)" '[]'
run 0 freshet waiver add "$@" --rule MISSINGNESS_EXCEEDED
is "the output is the number" "$(echo "$out" | grep -c '^[0-9]*$')" 1
has "how many wait for just this" "$err" '1 change is held for this'
has "and how each is approved" "$err" "freshet approve $event --reviewer"
run 0 freshet waiver add "$@" --rule MISSINGNESS_EXCEEDED --json
is "programs are told too" "$(echo "$out" | jq -r '.held[] | .event + " " + .approve')" "$event freshet approve $event --reviewer NAME --note TEXT"
is "it stays held" "$(held few)" "$event"
run 0 freshet approve "$event" --reviewer carol --note 'one is right'
freshet work --drain >/dev/null
is "until a person decides" "$(version few)" 1
run 0 freshet waiver add "$@" --rule MISSINGNESS_EXCEEDED --json
is "then nothing waits" "$(echo "$out" | jq -c .held)" '[]'
unset FRESHET_NOW
clean "after waivers of what was held"

# ---- approvals by command -------------------------------------------------------------------------
event=$(held kept)
run 0 freshet approve "$event" --reviewer bob --note fine
run 1 freshet approve "$event" --reviewer carol --note 'me too'
has "the second of two is told" "$err" 'not held'
freshet work --drain >/dev/null
is "it went on where it stopped" "$(version kept)" 1
is "two decisions are kept" "$(query "SELECT group_concat(verdict) FROM decisions WHERE run_id = (SELECT run_id FROM ledger WHERE event_id = '$event')")" hold,allow
event=$(held theirs)
run 1 freshet approve "$event" --reviewer bob --note fine
has "only a steward decides for a sovereign source" "$err" 'no steward'
run 0 freshet approve "$event" --reviewer 's. teward' --note 'with the council'
freshet work --drain >/dev/null
is "and then it is head" "$(version theirs)" 1

# ---- over HTTP ------------------------------------------------------------------------------------
policy '{"version":"3","levels":{"public":{"require":["license"]},"restricted":{},"sovereign":{}},
  "stewards":{"sources":{"theirs":["steward"]}}}'
"$B/freshet" up --port "$web" >/dev/null 2>&1 &
children="$children $!"
soon "it is up" 30 curl -sf "$base/readyz"
plain=$(freshet token create --name rita --scope approve,check)
steward=$(freshet token create --name steward --scope approve,read:restricted)
ann=$(freshet token create --name ann --scope approve)
weak=$(freshet token create --name weak --scope check)
call() { # call TOKEN METHOD [BODY] [HEADER]: status in $code, body in $out
    code=$(curl -s -o "$work/body" -w '%{http_code}' -X "$2" "$base/admin/approvals" -H "Authorization: Bearer $1" \
        -H 'Content-Type: application/json' ${4:+-H "$4"} ${3:+-d "$3"})
    out=$(cat "$work/body")
}
advance /p/kept.json
advance /p/theirs.json
freshet check all >/dev/null
waits() { [ -n "$(held kept)" ] && [ -n "$(held theirs)" ]; }
soon "changes wait" 20 waits
kept=$(held kept) theirs=$(held theirs)
is "nobody: 401" "$(curl -s -o /dev/null -w '%{http_code}' "$base/admin/approvals")" 401
call "$weak" GET
is "too little: 403" "$code $(echo "$out" | jq -r .title)" '403 The token lacks a scope'
call "$plain" GET
is "without read:restricted no details, and nothing sovereign" "$(echo "$out" | jq -c '[.approvals[] | [.source_id, .reason]]')" '[["kept",null]]'
call "$steward" GET
is "with it all" "$(echo "$out" | jq -c '[.approvals[] | [.source_id, .reason]] | sort')" '[["kept","APPROVAL_REQUIRED"],["theirs","APPROVAL_REQUIRED"]]'
call "$plain" POST '{"event":"'"$kept"'"}'
is "no decision: 400" "$code $(echo "$out" | jq -r '.errors[0].field')" '400 decision'
call "$plain" POST '{"event":"evt_none","decision":"approve","note":"x"}'
is "unknown: 404" "$code" 404
none=$(echo "$out" | jq -c 'del(.instance)')
call "$plain" POST '{"event":"'"$theirs"'","decision":"approve","note":"x"}'
is "sovereign, without the scope: as unknown" "$(echo "$out" | jq -c 'del(.instance)')" "$none"
call "$plain" POST '{"event":"'"$kept"'","decision":"approve","note":"seen"}' 'Idempotency-Key: one'
is "approved" "$code $(echo "$out" | jq -r .reviewer)" '200 rita'
call "$plain" POST '{"event":"'"$kept"'","decision":"approve","note":"seen"}' 'Idempotency-Key: one'
is "again with the same key: the same" "$code" 200
call "$plain" POST '{"event":"'"$kept"'","decision":"reject","note":"seen"}' 'Idempotency-Key: one'
is "another body under the key: 409" "$code" 409
call "$plain" POST '{"event":"'"$kept"'","decision":"approve","note":"seen"}'
is "decided already: 409" "$code" 409
second() { [ "$(version kept)" = 2 ]; }
soon "a handler promotes it" 20 second
call "$steward" POST '{"event":"'"$theirs"'","decision":"reject","note":"not now"}'
is "rejected" "$code" 200
rejected() { [ "$(query "SELECT result FROM inbox WHERE event_id = '$theirs'")" = rejected ]; }
soon "a handler ends its run" 20 rejected
is "nothing was promoted" "$(version theirs)" 1
event=$(newest bare)
freshet dlq retry "$event"
waits_bare() { [ -n "$(held bare)" ]; }
soon "another policy, another verdict" 20 waits_bare
is "in public only that it is held" "$(curl -s "$base/freshness/bare" | jq -r .state)" held
call "$ann" POST '{"event":"'"$event"'","decision":"approve","note":"mine"}'
is "who declared it does not decide: 403" "$code $(echo "$out" | jq -r '.code + " " + .title')" '403 WRONG_PERSON Somebody else must decide'

# ---- levels ---------------------------------------------------------------------------------------
was=$(curl -s "$base/changes?source=open" | jq -r '.results[0].change_event_id')
run 0 freshet source set open --sensitivity restricted
entry=$(curl -s "$base/changes?source=open" | jq -c '.results[0]')
is "an entry says the level it is shown on" "$(echo "$entry" | jq -r .sensitivity)" restricted
shown=$(echo "$entry" | jq -r .change_event_id)
has "its id tells the day alone" "$shown" "^$(echo "$was" | cut -c 1-12)T000000Z_[0-9a-f]*\$"
code() { curl -s -o /dev/null -w '%{http_code}' "$base/changes/$1"; }
is "by it the entry is found, by the former one it is not" "$(code "$shown") $(code "$was")" '200 404'
run 0 freshet show "$was"
clean "after a level was raised"
run 0 freshet rebuild
is "a rebuild shows the same" "$(curl -s "$base/changes?source=open" | jq -c '.results[0]')" "$entry"
is "raised at once" "$(curl -s -o /dev/null -w '%{http_code}' "$base/assets/sha256/$(query "SELECT lower(hex(sha)) FROM heads JOIN sources USING (src_no) WHERE id = 'open'")")" 404
is "nothing more is left in public" "$(query "SELECT (SELECT count(*) FROM public_items JOIN sources USING (src_no) WHERE id = 'open') + (SELECT count(*) FROM public_deltas JOIN sources USING (src_no) WHERE id = 'open') + (SELECT count(*) FROM public_prov JOIN sources USING (src_no) WHERE id = 'open') + (SELECT count(*) FROM public_assets JOIN sources USING (src_no) WHERE id = 'open')")" 0
run 0 freshet source set open --sensitivity public --title 'Open again' --by ann --note 'a mistake'
request=$(echo "$err" | grep -o 'lvl_[0-9a-f-]*')
is "lowering waits" "$(query "SELECT sensitivity FROM sources WHERE id = 'open'")" restricted
is "the rest does not" "$(freshet source show open --json | jq -r .title)" 'Open again'
run 1 freshet approve "$request" --reviewer ANN --note yes
call "$steward" POST '{"event":"'"$request"'","decision":"approve","note":"agreed"}'
is "a second person agrees" "$code" 200
lowered() { [ "$(query "SELECT sensitivity FROM sources WHERE id = 'open'")" = public ]; }
soon "a handler carries it out" 20 lowered
is "the entry has its id again" "$(code "$was")" 200
is "public rows are back" "$(query "SELECT count(*) FROM public_items JOIN sources USING (src_no) WHERE id = 'open'")" 1
is "with its bytes" "$(curl -s -o /dev/null -w '%{http_code}' "$base/assets/sha256/$(query "SELECT lower(hex(sha)) FROM heads JOIN sources USING (src_no) WHERE id = 'open'")")" 200

# ---- a broken file --------------------------------------------------------------------------------
etag() { curl -sI "$base/changes" | tr -d '\r' | sed -n 's/^[Ee][Tt]ag: //p'; }
before=$(etag)
good=$(cat "$FRESHET_DIR/policy.json")
policy '{"version":"3","levels":{"public":{"approval":"maybe"}}}'
advance /p/open.json
freshet check source open >/dev/null
not_ready() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/readyz")" = 503 ]; }
soon "readyz says no" 20 not_ready
has "and why" "$(curl -s "$base/readyz")" 'policy.json is not valid'
has "the log names the field" "$(cat "$FRESHET_DIR"/log/*.log)" 'policy.closed.*levels.public.approval'
is "once" "$(cat "$FRESHET_DIR"/log/handler*.log | grep -c policy.closed | awk '{ print ($1 <= 4) }')" 1
run 1 freshet doctor
has "so does doctor" "$out" 'levels.public.approval'
is "the gate stays closed" "$(version open)" 1
call "$steward" POST '{"event":"'"$event"'","decision":"approve","note":"x"}'
is "nobody decides without a policy: 503" "$code" 503
policy "$(echo "$good" | sed 's/"3"/"4"/')"
opened() { [ "$(version open)" = 2 ]; }
soon "a good file opens it, without a restart" 20 opened
soon "readyz says yes" 20 curl -sf "$base/readyz"
has "its version is in force" "$(query 'SELECT policy_version FROM public_meta')" '^4+'
is "and in the ETag" "$([ "$(etag)" != "$before" ] && echo other)" other
clean "at the end"
summary

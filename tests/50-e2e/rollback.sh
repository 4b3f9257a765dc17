#!/bin/sh
# A change is taken back by command and over HTTP, and back again; what was taken back stays away; dead
# letters are retried and dropped. `verify` is clean after each step.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/rollback.json
FRESHET_DIR=$work/i
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web

token=$(freshet init "$FRESHET_DIR")
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet config set max_attempts 1
query() { sqlite3 -readonly "$FRESHET_DIR/ledger.db" "$1"; }
control() { curl -sfS -o /dev/null -X POST "$u/control/set" -d "$1"; }
bytes_of() { query "SELECT lower(hex(h.sha)) FROM heads h JOIN sources USING (src_no) WHERE id = '$1'"; }
digest() { printf '%s' "$1" | sha256sum | cut -d ' ' -f 1; }
newest_delta() { query "SELECT delta_id FROM ledger JOIN sources USING (src_no) WHERE id = '$1' AND status = 'finalized' ORDER BY version DESC LIMIT 1"; }
clean() { is "verify is clean $1" "$(freshet verify --json | jq -c '[.ok, .problems]')" '[true,[]]'; }
# What the catalog says of its sources, without what is evidence: times, numbers of versions and runs.
catalog() {
    query "SELECT s.id, hex(h.sha), h.size, h.media_type, h.deleted, f.identity, f.removed_at IS NULL,
        f.qa_status, f.level, json_remove(p.doc, '\$.updated_at', '\$.object_identity.version'),
        (SELECT i.doc -> '\$.geometry' || (i.doc -> '\$.assets.data') || (i.doc ->> '\$.properties.deprecated')
         FROM public_items i WHERE i.src_no = h.src_no ORDER BY item_no DESC LIMIT 1)
        FROM heads h JOIN sources s USING (src_no) JOIN public_freshness f USING (src_no)
        JOIN public_sources p USING (src_no) ORDER BY 1"
    query "SELECT hex(sha), src_no FROM public_assets WHERE sha IN (SELECT sha FROM heads) ORDER BY 1, 2"
}

# ---- back by command ------------------------------------------------------------------------------
freshet source add --id a --url "$u/back/a.json" --collection tests
freshet check all --wait >/dev/null
catalog >"$work/before"
advance /back/a.json
freshet check all --wait >/dev/null
delta=$(newest_delta a)
is "the change is there" "$(bytes_of a)" "$(digest '{"v":"B"}')"
run 2 freshet rollback "$delta"
has "a reason is needed" "$err" '\-\-reason'
run 2 freshet rollback --reason x
run 1 freshet rollback dlt_nonsense --reason x
has "an unknown delta is named" "$err" 'no change has the delta dlt_nonsense'
ref=$(freshet changes --json | jq -r '.results[0].delta_manifest_ref')
has "the feed gives a link" "$ref" "^http.*/deltas/$delta\$"
run 0 freshet diff "$ref"
has "diff takes it" "$out" "$delta"
unknown=https://elsewhere.example/a/deltas/dlt_01234567-89ab-7cde-8f01-23456789abcd
run 1 freshet rollback "$unknown/?f=json#x" --reason x
has "an id is told whole" "$err" 'no change has the delta dlt_01234567-89ab-7cde-8f01-23456789abcd'
run 0 freshet rollback "$ref" --reason 'wrong lines' --json
is "it says what came of it" "$(echo "$out" | jq -r '[.state, .source_id, .delta] | join(" ")')" "done a $delta"
event=$(echo "$out" | jq -r .change_event_id)
is "the bytes are back" "$(bytes_of a)" "$(digest '{"v":"A"}')"
catalog >"$work/after"
is "the catalog is as before, but for evidence" "$(diff "$work/before" "$work/after")" ''
is "the feed has its own entry" "$(freshet changes --json | jq -r '.results[0] | [.change_type, .change_class, .detector, .seq] | join(" ")')" 'rollback rollback operator 3'
is "the feed says how to revert" "$(freshet changes --json | jq -r '.results[0].rollback_ref.body.delta')" "$(newest_delta a)"
has "show knows it" "$(freshet show "$event")" rollback
clean "after a rollback"
freshet check all --wait >/dev/null
is "the next check does not bring it again" "$(bytes_of a)" "$(digest '{"v":"A"}')"
run 1 freshet rollback "$delta" --reason again
has "twice is refused, with the delta that did it" "$err" "$(newest_delta a)"

# ---- lift, forth, refused -------------------------------------------------------------------------
run 0 freshet rollback --lift a --json
is "one block is lifted" "$(echo "$out" | jq .lifted)" 1
freshet check source a --wait >/dev/null
is "then the check brings it" "$(bytes_of a)" "$(digest '{"v":"B"}')"
lifted=$(newest_delta a)
run 0 freshet rollback "$lifted" --reason no
back=$(newest_delta a)
run 0 freshet rollback "$back" --reason yes
is "a rollback of a rollback" "$(bytes_of a)" "$(digest '{"v":"B"}')"
advance /back/a.json
freshet check all --wait >/dev/null
run 1 freshet rollback "$lifted" --reason late
has "a head that moved on names what goes first" "$err" "$(newest_delta a)"
clean "after some of them"

# ---- a listing -------------------------------------------------------------------------------------
freshet source add --id list --url "$u/back/index.json" --detector manifest --collection tests
freshet check source list --wait >/dev/null
advance /back/index.json
freshet check source list --wait >/dev/null
is "its entries are sources" "$(query "SELECT count(*) FROM heads h JOIN sources USING (src_no) WHERE parent_no IS NOT NULL AND NOT deleted")" 2
run 0 freshet rollback "$(newest_delta list)" --reason 'y is not ours'
freshet work >/dev/null
is "what only the new one had is gone" "$(query "SELECT entry FROM heads h JOIN sources USING (src_no) WHERE parent_no IS NOT NULL AND deleted")" y
clean "after a listing went back"

# ---- over HTTP --------------------------------------------------------------------------------------
echo '{"version":"2","levels":{"public":{},"generalized":{},"restricted":{},"sovereign":{}},"stewards":{"sources":{"secret":["R"]}}}' >"$FRESHET_DIR/policy.json"
freshet source add --id secret --url "$u/back/secret.json" --sensitivity sovereign --collection hidden
freshet check source secret --wait >/dev/null
freshet approve "$(freshet queue list --state held | cut -f 1)" --reviewer R --note fine
freshet work >/dev/null
ops=$(freshet token create --name ops --scope rollback,replay --json | jq -r .token)
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
children=$!
soon "up" 30 grep -q "$base/" "$work/up.out"
post() { # post TOKEN PATH BODY [HEADER]
    curl -sS --max-time 20 -w '\n%{http_code}' -X POST -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
        ${4+-H "$4"} -d "$3" "$base$2"
}
get() { curl -sS --max-time 20 -H "Authorization: Bearer $1" "$base$2"; }
delta=$(newest_delta a)
is "without a token" "$(post none /admin/rollbacks "{\"delta\":\"$delta\",\"reason\":\"x\"}" | tail -n 1)" 401
is "without a reason" "$(post "$ops" /admin/rollbacks "{\"delta\":\"$delta\"}" | tail -n 1)" 400
body=$(freshet changes --source a --json | jq -c '.results[0].rollback_ref.body')
is "what the feed says to send lacks a reason" "$(post "$ops" /admin/rollbacks "$body" | head -n 1 | jq -r '.errors[0].field')" reason
body=$(echo "$body" | jq -c '. + {reason: "over HTTP"}')
is "and nothing else" "$body" "{\"delta\":\"$delta\",\"reason\":\"over HTTP\"}"
first=$(post "$ops" /admin/rollbacks "$body" 'Idempotency-Key: k1')
is "asked" "$(echo "$first" | tail -n 1)" 202
id=$(echo "$first" | head -n 1 | jq -r .rollback_id)
soon "a handler carries it out" 20 sh -c "curl -s -H 'Authorization: Bearer $ops' $base/admin/rollbacks/$id | jq -e '.state == \"done\"'"
is "the bytes are back" "$(bytes_of a)" "$(digest '{"v":"B"}')"
is "the same key, the same answer" "$(post "$ops" /admin/rollbacks "{\"reason\":\"over HTTP\",\"delta\":\"$delta\"}" 'Idempotency-Key: k1')" "$first"
is "its status" "$(get "$ops" "/admin/rollbacks/$id" | jq -r '[.state, .asked_by, .reason, .delta] | join("|")')" "done|ops|over HTTP|$delta"
is "the list" "$(get "$ops" '/admin/rollbacks?limit=1' | jq -r '.rollbacks[0].rollback_id')" "$id"
refused=$(post "$ops" /admin/rollbacks "{\"delta\":\"$delta\",\"reason\":\"again\"}")
is "409 when it was taken back" "$(echo "$refused" | tail -n 1)" 409
is "and all that goes first" "$(echo "$refused" | head -n 1 | jq -c '[.deltas, .more]')" "[[\"$(newest_delta a)\"],false]"
is "with what to do" "$(echo "$refused" | head -n 1 | jq -r '.errors[0].message')" "take back $(newest_delta a) first"
hidden=$(post "$ops" /admin/rollbacks "{\"delta\":\"$(newest_delta secret)\",\"reason\":\"x\"}")
never=$(post "$ops" /admin/rollbacks '{"delta":"dlt_01980000-0000-7000-8000-000000000000","reason":"x"}')
is "a withheld change is like none" "$hidden" "$never"
is "and that is a 404" "$(echo "$never" | tail -n 1)" 404
is "an admin may" "$(post "$token" /admin/rollbacks "{\"delta\":\"$(newest_delta secret)\",\"reason\":\"x\"}" | tail -n 1)" 202
soon "and it is done" 20 sh -c "curl -s -H 'Authorization: Bearer $token' $base/admin/rollbacks | jq -e '.rollbacks[0].state == \"done\"'"
is "unseen by others" "$(get "$ops" '/admin/rollbacks?limit=1' | jq '.rollbacks | length')" 0

# ---- a state over HTTP --------------------------------------------------------------------------------
state=$(query "SELECT delta_id FROM ledger JOIN sources USING (src_no) WHERE id = 'a' AND status = 'finalized' AND version = 1")
is "one kind at a time" "$(post "$ops" /admin/rollbacks "{\"to\":\"$state\",\"lift\":\"a\",\"reason\":\"x\"}" | tail -n 1)" 400
asked=$(post "$ops" /admin/rollbacks "{\"to\":\"$state\",\"reason\":\"all of it\"}" 'Idempotency-Key: k2')
is "a state is asked for" "$(echo "$asked" | tail -n 1)" 202
id=$(echo "$asked" | head -n 1 | jq -r .rollback_id)
soon "the last rollback is done" 20 sh -c "curl -s -H 'Authorization: Bearer $ops' $base/admin/rollbacks/$id | jq -e '.state == \"done\"'"
is "then the state is there" "$(bytes_of a)" "$(digest '{"v":"A"}')"
is "and needs no other" "$(post "$ops" /admin/rollbacks "{\"to\":\"$state\",\"reason\":\"again\"}" | tail -n 1)" 200
lifted=$(post "$ops" /admin/rollbacks '{"lift":"a","reason":"they were right"}' 'Idempotency-Key: k3')
is "blocks are lifted" "$(echo "$lifted" | tail -n 1) $(echo "$lifted" | head -n 1 | jq '.lifted > 0')" '200 true'
is "once per key" "$(post "$ops" /admin/rollbacks '{"lift":"a","reason":"they were right"}' 'Idempotency-Key: k3')" "$lifted"
is "an unknown source has none" "$(post "$ops" /admin/rollbacks '{"lift":"nobody","reason":"x"}' | tail -n 1)" 404

# ---- dead letters -----------------------------------------------------------------------------------
dead_one() { # a source whose bytes cannot be had, ID
    control '{"path":"/back/busy.json","status":200}'
    freshet source add --id "$1" --url "$u/back/busy.json" --collection tests --trigger '{"type":"manual"}'
    # shellcheck disable=SC2086 # a list of process ids
    kill -STOP $handlers
    freshet check source "$1" >/dev/null
    rm -f "$FRESHET_DIR"/spool/*
    control '{"path":"/back/busy.json","status":503}'
    # shellcheck disable=SC2086 # a list of process ids
    kill -CONT $handlers
}
# shellcheck disable=SC2009 # by parent
handlers=$(pgrep -P "$children" -f freshet-handler | tr '\n' ' ')
letters() { get "$ops" /admin/dead-letters | jq '.dead_letters | length'; }
is "no letters yet" "$(letters)" 0
dead_one poor
soon "what fails too often is given up" 20 sh -c "'$B/freshet' dlq list | grep -q poor"
event=$(freshet dlq list | cut -f 1)
is "with its reason" "$(freshet dlq list | cut -f 2,3 | tr '\t' ' ')" 'poor UNAVAILABLE'
is "and its history" "$(get "$ops" "/admin/dead-letters/$event" | jq -r '[.reason, .source_id, .runs[].reason] | join(" ")')" 'UNAVAILABLE poor UNAVAILABLE'
is "the same by command" "$(freshet dlq show "$event" --json | jq -r '.runs | length')" 1
control '{"path":"/back/busy.json","status":200}'
is "retry" "$(post "$ops" /admin/dead-letters "{\"event\":\"$event\",\"action\":\"retry\"}" | tail -n 1)" 200
soon "then it is promoted" 20 sh -c "[ -n \"\$(sqlite3 -readonly '$FRESHET_DIR/ledger.db' \"SELECT 1 FROM heads JOIN sources USING (src_no) WHERE id = 'poor'\")\" ]"
is "nothing is left to decide" "$(post "$ops" /admin/dead-letters "{\"event\":\"$event\",\"action\":\"retry\"}" | tail -n 1)" 409
is "an unknown one" "$(post "$ops" /admin/dead-letters '{"event":"evt_20200101T000000Z_000000","action":"retry"}' | tail -n 1)" 404
is "an unknown action" "$(post "$ops" /admin/dead-letters "{\"event\":\"$event\",\"action\":\"burn\"}" | tail -n 1)" 400
dead_one other
soon "another one" 20 sh -c "'$B/freshet' dlq list | grep -q other"
event=$(freshet dlq list | cut -f 1)
run 2 freshet dlq drop "$event"
run 0 freshet dlq drop "$event" --reason 'never was'
is "dropped" "$(freshet dlq list)" ''
has "for good, with the reason" "$(freshet queue show "$event")" 'never was'
run 1 freshet dlq retry "$event"
kill "$children"
wait "$children" 2>/dev/null
children=
clean "at the end"

# ---- to a state -------------------------------------------------------------------------------------
nth_delta() { query "SELECT delta_id FROM ledger JOIN sources USING (src_no) WHERE id = '$1' AND status = 'finalized' AND version = $2"; }
freshet source add --id states --url "$u/back/states.json" --collection tests
for version in 1 2 3 4; do
    freshet check source states --wait >/dev/null
    [ $version = 4 ] || advance /back/states.json
done
is "four versions" "$(bytes_of states)" "$(digest '{"v":4}')"
run 1 freshet rollback "$(nth_delta states 2)" --reason x
has "that some go first is said" "$err" 'first take back these 2'
is "which, one a line" "$(echo "$err" | grep '^dlt_' | tr '\n' ' ')" "$(nth_delta states 4) $(nth_delta states 3) "
run 1 freshet rollback "$(nth_delta states 2)" --reason x --json
is "and to programs" "$(echo "$out" | jq -c '[.first, .more, (.error | length > 0)]')" \
    "[[\"$(nth_delta states 4)\",\"$(nth_delta states 3)\"],false,true]"
run 2 freshet rollback --to "$(nth_delta states 2)"
run 2 freshet rollback "$(nth_delta states 2)" --to "$(nth_delta states 2)" --reason x
run 1 freshet rollback --to dlt_nonsense --reason x
run 0 freshet rollback --to "$(nth_delta states 2)" --reason 'wrong since' --json
is "newest first" "$(echo "$out" | jq -c '[.to, .taken_back[].delta]')" \
    "$(printf '["%s","%s","%s"]' "$(nth_delta states 2)" "$(nth_delta states 4)" "$(nth_delta states 3)")"
is "the state that was wanted" "$(bytes_of states)" "$(digest '{"v":2}')"
run 0 freshet rollback --to "$(nth_delta states 2)" --reason 'once more' --json
is "once more does nothing" "$(echo "$out" | jq '.taken_back | length')" 0
run 0 freshet rollback --to "$(nth_delta states 4)" --reason 'right after all'
is "what was taken back comes again" "$(bytes_of states)" "$(digest '{"v":4}')"
run 0 freshet rollback --to "$(nth_delta states 1)" --reason 'all of it'
is "to the first" "$(bytes_of states)" "$(digest '{"v":1}')"

# ---- more than one step ------------------------------------------------------------------------------
freshet source add --id steps --url "$u/back/steps.json" --collection tests
for version in 1 2 3; do
    freshet check source steps --wait >/dev/null
    [ $version = 3 ] || advance /back/steps.json
done
run 0 freshet rollback --to "$(nth_delta steps 1)" --reason 'both were wrong' --json
is "all that was taken back says so, and what brought it back meanwhile" \
    "$(query "SELECT group_concat(item_id) FROM (SELECT item_id FROM public_items JOIN sources USING (src_no) WHERE id = 'steps' AND doc ->> '\$.properties.deprecated' ORDER BY item_id)")" \
    steps-v2,steps-v3,steps-v4
is "so does its provenance" \
    "$(query "SELECT doc FROM prov_bundles JOIN ledger USING (run_id) JOIN sources USING (src_no) WHERE id = 'steps' AND change_type = 'rollback' ORDER BY version" | jq -c '[.wasInvalidatedBy[]["prov:entity"]]' | tr '\n' ' ')" \
    '["ent:steps-v3"] ["ent:steps-v4","ent:steps-v2"] '
is "as the same bytes" "$(query "SELECT doc FROM prov_bundles JOIN ledger USING (run_id) JOIN sources USING (src_no) WHERE id = 'steps' AND version = 5" | jq -c '[.entity["ent:steps-v2"], .entity["ent:steps-v4"] | .["kfm:sha256"]] | unique | length')" 1

# ---- what was taken back is found again --------------------------------------------------------------
health() { freshet source show steps --json | jq -r '.health | "\(.state // .) \(.reason // "")"'; }
advance /back/steps.json
freshet check source steps --wait >/dev/null
is "it is not promoted" "$(bytes_of steps)" "$(digest '{"s":1}')"
is "and health says so, with the reason" "$(health)" 'refused The newest that was found was not taken in: ROLLED_BACK.'
is "as the public rows do" "$(query "SELECT refused FROM public_checks JOIN sources USING (src_no) WHERE id = 'steps'")" ROLLED_BACK
freshet check source steps --wait >/dev/null
has "until something newer comes" "$(health)" '^refused'
advance /back/steps.json
freshet check source steps --wait >/dev/null
is "which is taken in" "$(bytes_of steps)" "$(digest '{"s":5}')"
has "then it is well" "$(health)" '^ok'
clean "after states"
summary

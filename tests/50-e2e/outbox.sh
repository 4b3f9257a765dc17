#!/bin/sh
# What is told about changes, over HTTP to a receiver that is down and comes back; what the operator sees of
# it, and how it is told again. The events are judged by their schema where it lies beside the project.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/diff.json
FRESHET_DIR=$work/i
export FRESHET_DIR
tab=$(printf '\t')
query() { sqlite3 "$FRESHET_DIR/ledger.db" "$1"; }

run 0 freshet init "$FRESHET_DIR"
run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
run 0 freshet config set fetch_attempts 1
run 0 freshet config set openlineage "$u/no/receiver" # 404
run 0 freshet source add --id counties --url "$u/diff/counties.geojson" --collection boundaries --feature-key GEOID
run 0 freshet check all
run 0 freshet work --drain --json
is "the handler is not kept from its work" "$(echo "$out" | jq .done)" 1
run 0 freshet outbox list
has "what waits, and why" "$out" "^openlineage${tab}1${tab}0${tab}.*${tab}the receiver answered 404"
lacks "what was told is gone" "$out" '^artifacts'
has "nothing to mend yet" "$(freshet doctor)" "ok${tab}outbox${tab}1 to be told"
query "UPDATE outbox SET dead_at = 1, attempts = 12"
has "given up: doctor says so, and what to do" "$(freshet doctor)" "warn${tab}outbox${tab}1 given up.*freshet outbox retry"
run 0 freshet outbox list --json
is "as JSON" "$(echo "$out" | jq -c '.consumers[] | [.consumer, .waiting, .dead]')" '["openlineage",0,1]'
run 0 freshet work --drain
is "it is not tried by itself" "$(query 'SELECT count(*) FROM outbox')" 1
run 0 freshet config set openlineage lineage.ndjson
run 0 freshet outbox retry --json
is "one comes back" "$(echo "$out" | jq .revived)" 1
run 0 freshet work --drain
is "and is told" "$(query 'SELECT count(*) FROM outbox')" 0
# A change that fails for good.
run 0 freshet source add --id broken --url "$u/diff/plain.json" --media-type application/geo+json
run 0 freshet check all
run 0 freshet work --drain
is "the events" "$(jq -r '.eventType + " " + .job.name' "$FRESHET_DIR/lineage.ndjson" | tr '\n' ',')" 'START counties,COMPLETE counties,START broken,FAIL broken,'
is "the feed names the run" "$(freshet changes --json | jq -r '.results[0].openlineage_ref')" "urn:uuid:$(jq -r 'select(.eventType == "COMPLETE").run.runId' "$FRESHET_DIR/lineage.ndjson")"
schemas=${FRESHET_SCHEMAS:-../shared/data/schemas}
if [ -d "$schemas" ] && [ -d "${NODE_MODULES:-none}" ]; then
    jq -c . "$FRESHET_DIR/lineage.ndjson" | while read -r event; do
        printf '%s' "$event" >"$work/event.json"
        node "$schemas/validate_json.js" openlineage "$work/event.json" >/dev/null || echo "$event"
    done >"$work/invalid"
    is "every event is valid" "$(cat "$work/invalid")" ''
fi
run 0 freshet verify
summary

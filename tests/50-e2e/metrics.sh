#!/bin/sh
# The dashboard and the alert rules name what /metrics has, and the other way round.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/cli.json
FRESHET_DIR=$work/i
export FRESHET_DIR
run 0 freshet init "$FRESHET_DIR"
run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
run 0 freshet config set fetch_attempts 1
run 0 freshet config set openlineage "$u/no/receiver" # 404: something waits in the outbox
run 0 freshet source add --id a --url "$u/cli/a.json"
run 0 freshet source add --id broken --url "$u/cli/broken.json"
run 0 freshet check all
run 0 freshet work --drain
FRESHET_NOW=$(date -u +%Y-%m-%dT%H:%M:%SZ)
. tests/50-e2e/cgi.sh
get /metrics
cp "$work/body" "$work/metrics"
has "one change is counted" "$(cat "$work/metrics")" '^freshet_runs_total{result="promoted",reason=""} 1$'
has "nothing is open" "$(cat "$work/metrics")" '^freshet_inbox_candidates{state="open"} 0$'
has "its lag is measured" "$(cat "$work/metrics")" '^freshet_freshness_lag_seconds{quantile="0.95"} [0-9.]*$'
has "one of two sources was digested" "$(cat "$work/metrics")" '^freshet_digest_coverage_ratio 0.5000$'

# ---- the operator's numbers ------------------------------------------------------------------------
run 0 freshet source add --id h --url "$u/cli/held.json" --sensitivity restricted
run 0 freshet stats --json
is "sources of all levels" "$(echo "$out" | jq -c '[.sources.public, .sources.restricted, .unhealthy.gone]')" '[2,1,1]'
is "checks, changes, runs" "$(echo "$out" | jq -c '[.checks.new, .checks.gone, .changes.new, .runs.promoted]')" '[1,1,1,1]'
is "a lag" "$(echo "$out" | jq '.lag_ms.p50 >= 0 and .lag_ms.p95 >= .lag_ms.p50')" true
run 0 freshet stats
has "as rows" "$out" "^checks.gone.1$"
run 0 freshet init "$work/empty"
run 0 freshet -C "$work/empty" stats --json
is "of an empty instance" "$(echo "$out" | jq -c '[.sources, .changes, .inbox, .lag_ms]')" '[{},{},{},{}]'
run 2 freshet stats more

# ---- dashboard and rules -----------------------------------------------------------------------------
fits() { python3 tests/50-e2e/metrics_names.py "$@" 2>&1; }
board=docs/grafana/freshet.json
rules=docs/prometheus/freshet.rules.yml
is "dashboard and rules fit" "$(fits "$work/metrics" $board $rules)" ''
# Would it be noticed?
sed 's/freshet_feed_last_seq/freshet_feed_seq/' $board >"$work/board"
has "a name that is none" "$(fits "$work/metrics" "$work/board" $rules)" 'dashboard: freshet_feed_seq is not in /metrics'
has "and one that nobody sees" "$(fits "$work/metrics" "$work/board" $rules)" 'nobody sees freshet_feed_last_seq'
sed 's/freshet_inbox_full == 1/freshet_inbox_drain_seconds == 1/' $rules >"$work/rules"
has "an alert that is missing" "$(fits "$work/metrics" $board "$work/rules")" 'nobody is told of freshet_inbox_full'
sed 's/result="failed"/outcome="failed"/' $rules >"$work/rules"
has "a label that is none" "$(fits "$work/metrics" $board "$work/rules")" 'freshet_runs_total has no label outcome'
summary

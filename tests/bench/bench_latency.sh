#!/bin/sh
# bench_latency.sh [COUNT] [ROUNDS]: checks of COUNT unchanged sources on 64 hosts that take 100 ms to
# answer, 256 in flight, receipts committed: how close to COUNT × latency / in flight?
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
count=${1:-19495} rounds=${2:-3} parallel=256 hosts=64 latency=100

upstream "{\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$count,\"size\":200}}"
list=$(awk -v n="$hosts" 'BEGIN { for (i = 0; i < n; i++) printf "%s\"h%d.localhost\"", i ? "," : "", i }')
instance allow_hosts "[$list]" max_concurrency "$parallel" per_host_rate 0 audit_every 0
sources "$count" "$hosts"
freshet source import "$tmp/sources.csv" > /dev/null
freshet check all --json > "$tmp/first.json"
control set "{\"latency_ms\":$latency}"
: > "$tmp/rounds"
i=0
while [ "$i" -lt "$rounds" ]; do
    measure "$B/freshet" -C "$tmp/i" check all --json >> "$tmp/rounds"
    jq -e --argjson n "$count" '.outcomes.not_modified == $n' "$tmp/m.out" > /dev/null || {
        echo "bench_latency: not every check was not_modified: $(jq -c .outcomes "$tmp/m.out")" >&2
        exit 1
    }
    i=$((i + 1))
done
echo "$count checks on $hosts hosts, $latency ms each, $parallel in flight, median of $rounds rounds"
awk -v s="$(column rounds 1)" -v c="$(column rounds 2)" -v n="$count" -v l="$latency" -v p="$parallel" 'BEGIN {
    ideal = n * l / 1000 / p
    printf "%-34s %10s %12s %14s\n", "", "seconds", "checks/s", "CPU us/check"
    printf "%-34s %10.2f %12.0f\n", "ideal: count x latency / in flight", ideal, n / ideal
    printf "%-34s %10.2f %12.0f %14.1f\n", "freshet check all (durable)", s, n / s, c / n * 1e6
    printf "time: %.2f of the ideal (goal: 1.25)%s\n", s / ideal, (s > 1.25 * ideal ? ", MISSED" : "") }'

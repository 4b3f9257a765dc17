#!/bin/sh
# bench_checks.sh [COUNT] [PARALLEL] [ROUNDS]: conditional checks of COUNT sources that did not change,
# receipts committed durably, beside a bare libcurl multi loop and `curl --parallel` on the same list
# with as many in flight, in turns, against the same local upstream. Ratios are of a round's rates,
# the median over the rounds: the machine is the same for all three then, whatever else it does.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
count=${1:-19495} parallel=${2:-256} rounds=${3:-5}

mkdir -p "$B/bench"
cc -O2 -D_GNU_SOURCE -o "$B/bench/bare_multi" tests/bench/bare_multi.c -lcurl
upstream "{\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$count,\"size\":200}}"
instance allow_hosts '["127.0.0.1"]' per_host "$parallel" max_concurrency "$parallel" audit_every 0
sources "$count" 1
freshet source import "$tmp/sources.csv" > /dev/null
freshet check all --json > "$tmp/first.json"

# The others send the validators of the first object for all: what comes back differs, the work of
# sending and receiving does not.
header() { curl -sI "$1" | tr -d '\r' | sed -n "s/^$2: //Ip"; }
etag="If-None-Match: $(header "$base/bulk/0" etag)"
date="If-Modified-Since: $(header "$base/bulk/0" last-modified)"
awk -v n="$count" -v base="$base" 'BEGIN {
    for (i = 0; i < n; i++) printf "url = \"%s/bulk/%d\"\noutput = \"/dev/null\"\n", base, i }' > "$tmp/list"

ours() {
    measure "$B/freshet" -C "$tmp/i" check all --json
    jq -e --argjson n "$count" '.outcomes.not_modified == $n' "$tmp/m.out" > /dev/null || {
        echo "bench_checks: not every check was not_modified: $(jq -c .outcomes "$tmp/m.out")" >&2
        exit 1
    }
}
bare() { "$B/bench/bare_multi" "$base/bulk" "$count" "$parallel" "$etag" "$date" | cut -d' ' -f3,4; }
theirs() { measure curl -sI --parallel --parallel-max "$parallel" -H "$etag" -H "$date" -K "$tmp/list"; }

: > "$tmp/rounds" # seconds and CPU of ours, bare, curl
i=0
while [ "$i" -lt "$rounds" ]; do
    echo "$(ours) $(bare) $(theirs)" >> "$tmp/rounds"
    i=$((i + 1))
done
awk '{ print $3 / $1, $5 / $1, $2 / $4 }' "$tmp/rounds" > "$tmp/ratios"

echo "$count conditional checks, all 304, $parallel in flight, median of $rounds rounds"
row() { # NAME COLUMN
    awk -v name="$1" -v n="$count" -v s="$(column rounds "$2")" -v c="$(column rounds $(($2 + 1)))" 'BEGIN {
        printf "%-34s %10.2f %12.0f %14.1f\n", name, s, n / s, c / n * 1e6 }'
}
printf '%-34s %10s %12s %14s\n' "" seconds checks/s "CPU us/check"
row "freshet check all (durable)" 1
row "bare libcurl multi (no record)" 3
row "curl --parallel (no record)" 5
awk -v b="$(column ratios 1)" -v c="$(column ratios 2)" -v cpu="$(column ratios 3)" 'BEGIN {
    printf "rate: %.2f of bare multi (goal: 0.50)%s, %.2f of curl --parallel (1.50)%s; CPU: %.2f of bare\n",
           b, b < 0.5 ? ", MISSED" : "", c, c < 1.5 ? ", MISSED" : "", cpu }'

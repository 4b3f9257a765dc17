#!/bin/sh
# bench_scale.sh [COUNT]: a million sources: registering them, asking what is due, and the memory of
# those who check them with 256 requests in flight.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
count=${1:-1000000} parallel=256

mkdir -p "$B/bench"
cc -O2 -std=c17 -D_GNU_SOURCE -I. -o "$B/bench/due_query" tests/bench/due_query.c "$B/libledger.a" "$B/libcore.a" \
    -lsqlite3 -lyyjson -lcrypto -lm
upstream "{\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$count,\"size\":200},\"latency_ms\":100}"
instance allow_hosts '["127.0.0.1"]' per_host "$parallel" per_host_rate 0 max_concurrency "$parallel"
sources "$count" 1

echo "$count sources"
measure "$B/freshet" -C "$tmp/i" source import "$tmp/sources.csv" > "$tmp/import"
awk -v n="$count" '{ printf "registered in %.1f s, %.0f/s, %.1f us of CPU each (goal: a million in 60 s)%s\n",
    $1, n / $1, $2 / n * 1e6, ($1 / n > 60e-6 ? ", MISSED" : "") }' "$tmp/import"
du -k "$tmp/i/ledger.db" | awk -v n="$count" '{ printf "the ledger has %.0f bytes for each\n", $1 * 1024 / n }'

due() { # WHAT LIMIT NOW
    "$B/bench/due_query" "$tmp/i" "$2" "$3" | awk -v what="$1" '{
        printf "due query, %-28s %6d rows %8.2f ms (goal: 5 ms)%s\n", what, $1, $2 / 1000, ($2 > 5000 ? ", MISSED" : "") }'
}
due "nothing is due" 2512 1000
due "all are, as the scheduler asks" 2512 4102444800000

# RssAnon is memory of our own; RssFile is the programs' and libraries' code. VmHWM is the highest sum.
asked() { curl -sf "$base/control/state" | jq .stats.requests; }
memory() { # NAME PID: while it checks, and after how many checks: what grows with them is not bounded
    before=$(asked)
    sleep 8
    checks=$(($(asked) - before))
    awk -v name="$1" -v checks="$checks" '/^(VmHWM|RssAnon|RssFile):/ { v[$1] = $2 / 1024 } END {
        printf "%-20s highest %5.1f MiB, own %5.1f, code %5.1f, after %d checks (goal: 64)%s\n",
               name, v["VmHWM:"], v["RssAnon:"], v["RssFile:"], checks, (v["VmHWM:"] > 64 ? ", MISSED" : "") }' "/proc/$2/status"
    kill "$2"
    wait "$2" || :
}
"$B/freshet-scheduler" -C "$tmp/i" 2> "$tmp/scheduler.log" &
memory freshet-scheduler $!
curl -sf "$base/control/state" | jq -r '"  with \(.busy_max // .stats.busy_max) requests in flight at once"'
"$B/freshet" -C "$tmp/i" check due > "$tmp/out" 2>&1 &
memory "freshet check due" $!

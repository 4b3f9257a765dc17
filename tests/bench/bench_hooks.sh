#!/bin/sh
# bench_hooks.sh [SECONDS] [ROUNDS] [CLIENTS]: signed deliveries through nginx, each answered after its commit,
# beside single FULL commits by one process (raw_put.c) before and after; then with ten times as many badly
# signed ones beside them, sent from another address over 64 connections and over 500 (nginx lets that address
# wait); then a paced load with ten times as many bad ones from so many addresses that none is slowed: all are
# taken and refused. Every provider has an address of its own (127.0.1.x), and the settings are the usual ones. Handlers are stopped: they are
# measured by bench_handler.sh. Every delivery names another commit, so none is absorbed by one that waits.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
seconds=${1:-4} rounds=${2:-3} clients=${3:-32} commits=3000 pace=${PACE:-500}

mkdir -p "$B/bench"
cc -O2 -D_GNU_SOURCE -o "$B/bench/raw_put" tests/bench/raw_put.c -lsqlite3
cc -O2 -D_GNU_SOURCE -o "$B/bench/hook_load" tests/bench/hook_load.c -lcrypto
# A port that nobody uses.
upstream '{"resources":[]}'
instance inbox_max 100000000
printf kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk > "$tmp/i/secrets/k"
awk 'BEGIN { print "["; for (i = 0; i < 128; i++) printf "%s{\"id\":\"hook-%d\",\"url\":\"https://example.invalid/%d\",\"detector\":\"webhook\",\"adapter\":\"github\",\"secrets\":[\"k\"]}\n", i ? "," : "", i, i; print "]" }' \
    > "$tmp/sources.json"
freshet source import "$tmp/sources.json" > /dev/null
kill "$pids"
"$B/freshet" -C "$tmp/i" up --port "$port" > "$tmp/up.log" 2>&1 &
up=$!
pids=$up
until curl -sf -o /dev/null "$base/readyz"; do kill -0 "$up" && sleep 0.1; done
handlers=$(pgrep -P "$up" -f freshet-handler)
# shellcheck disable=SC2086 # numbers
kill -STOP $handlers

raw() { # appends the rate of single FULL commits on the same disk
    rm -rf "$tmp/raw" && mkdir "$tmp/raw"
    "$B/bench/raw_put" "$tmp/raw" "$commits" 0 | awk -v n="$commits" '{ print n / $1 }'
}
load() { "$B/bench/hook_load" "$port" "$clients" "$seconds" 128 127.0.1. good; }
beside() { # beside CONNECTIONS RATE
    "$B/bench/hook_load" "$port" "$1" $((seconds + 2)) 128 127.0.0.2 bad "$2" > "$tmp/bad" &
    bad=$!
    sleep 1
    load
    wait "$bad"
}
# At a steady pace one wait of the disk (fdatasync takes 40 ms now and then) meets whatever is due in it: up to
# all connections, 32 of 2000 in 4 s. That is more than one in a hundred, so p99 tells the longest wait; at full
# speed it is 32 of ten thousand, and p99 does not see it. Hence p50 beside it, and longer runs for a p99.
paced() { # rate, p50 and p99 of good ones alone, then beside ten bad for each, and how many of these were answered
    "$B/bench/hook_load" "$port" "$clients" "$seconds" 128 127.0.1. good "$pace" > "$tmp/alone"
    "$B/bench/hook_load" "$port" 200 $((seconds + 2)) 128 127.0.2. bad $((pace * 10)) > "$tmp/flood" &
    flood=$!
    sleep 1
    "$B/bench/hook_load" "$port" "$clients" "$seconds" 128 127.0.1. good "$pace" > "$tmp/among"
    wait "$flood"
    cat "$tmp/alone" "$tmp/among" "$tmp/flood" | awk '{ printf "%s %s %s ", $3, $4, $5 } END { print "" }'
}

: > "$tmp/rounds"
: > "$tmp/paced"
n=0
while [ "$n" -lt "$rounds" ]; do
    before=$(raw)
    load > "$tmp/good"
    after=$(raw)
    ten=$(awk '{ print $3 * 10 }' "$tmp/good")
    beside 64 "$ten" > "$tmp/few"
    few=$(cat "$tmp/bad")
    beside 500 "$ten" > "$tmp/many"
    # raw before, after · good: rate, p50, p99, CPU of the sender · few: rate, p99 · bad a second · many: likewise
    awk -v raw="$before $after" -v few="$few" -v s=$((seconds + 2)) '
        FILENAME ~ /good$/ { if ($1 != $2) exit 1; good = $3 " " $4 " " $5 " " $6 }
        FILENAME ~ /few$/ { a = $3 " " $5 }
        FILENAME ~ /many$/ { b = $3 " " $5 }
        FILENAME ~ /bad$/ { c = $3 }
        END { split(few, f, " "); print raw, good, a, f[3], b, c }' \
        "$tmp/good" "$tmp/few" "$tmp/many" "$tmp/bad" >> "$tmp/rounds"
    paced >> "$tmp/paced"
    n=$((n + 1))
done
# shellcheck disable=SC2086
kill -CONT $handlers
awk '{ m = ($1 + $2) / 2; print $3 / m, $7 / $3, $10 / $3 }' "$tmp/rounds" > "$tmp/ratios"

echo "deliveries signed by $clients clients for $seconds s, 128 sources, median of $rounds rounds"
awk -v r1="$(column rounds 1)" -v r2="$(column rounds 2)" -v g="$(column rounds 3)" -v p50="$(column rounds 4)" \
    -v p99="$(column rounds 5)" -v few="$(column rounds 7)" -v few99="$(column rounds 8)" -v fewbad="$(column rounds 9)" \
    -v many="$(column rounds 10)" -v many99="$(column rounds 11)" -v manybad="$(column rounds 12)" \
    -v x="$(column ratios 1)" -v y="$(column ratios 2)" -v z="$(column ratios 3)" 'BEGIN {
    printf "%-46s %10s %9s %9s %12s\n", "", "a second", "p50 ms", "p99 ms", "bad a second"
    printf "%-46s %10.0f\n", "single FULL commits, before and after (mean)", (r1 + r2) / 2
    printf "%-46s %10.0f %9.1f %9.1f\n", "signed deliveries, durable when answered", g, p50, p99
    printf "%-46s %10.0f %9s %9.1f %12.0f\n", "beside badly signed ones, 64 connections", few, "", few99, fewbad
    printf "%-46s %10.0f %9s %9.1f %12.0f\n", "beside badly signed ones, 500 connections", many, "", many99, manybad
    printf "rate: %.2f of single commits (goal: 0.60)%s\n", x, (x < 0.6 ? ", MISSED" : "")
    printf "beside ten times as many bad ones (sent as fast as they were answered): %.2f and %.2f of it (goal: 0.75)%s\n", y, z, (y < 0.75 || z < 0.75 ? ", MISSED" : "") }'
awk '{ print $4 / $1 }' "$tmp/paced" > "$tmp/kept"
awk -v g="$(column paced 1)" -v g50="$(column paced 2)" -v g99="$(column paced 3)" -v b="$(column paced 4)" \
    -v b50="$(column paced 5)" -v b99="$(column paced 6)" -v bad="$(column paced 7)" -v kept="$(column kept 1)" 'BEGIN {
    printf "%-46s %10.0f %9.1f %9.1f\n", "signed deliveries at a steady pace", g, g50, g99
    printf "%-46s %10.0f %9.1f %9.1f %12.0f\n", "beside ten times as many bad ones, all answered", b, b50, b99, bad
    printf "beside ten times as many that were taken and refused: %.2f of it (goal: 0.75)%s\n", kept, (kept < 0.75 || bad < 9 * b ? ", MISSED" : "") }'

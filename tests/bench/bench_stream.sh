#!/bin/sh
# bench_stream.sh [COUNT] [ROUNDS]: COUNT event streams on one freshet-stream, idle: memory and CPU of the
# process; then one change at a time to all of them: after how long the last one has it, counted from its
# finalized_at. Once on the process's own socket, once through nginx (as many as its files allow).
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
count=${1:-10000} rounds=${2:-3} idle_s=${IDLE_S:-20}
mkdir -p "$B/bench"
cc -O2 -D_GNU_SOURCE -std=c17 -I. -o "$B/bench/stream_clients" tests/bench/stream_clients.c "$B/libcore.a" -lm -lcrypto -lyyjson
# shellcheck disable=SC3045 # dash has it
ulimit -n "$(ulimit -Hn)"

versions=$(awk -v n=$((2 * rounds + 1)) 'BEGIN { for (i = 1; i <= n; i++) printf("%s{\"body\":\"n\\n%d\\n\"}", i > 1 ? "," : "", i) }')
upstream "{\"resources\":[{\"path\":\"/a.csv\",\"versions\":[$versions]}]}"
instance allow_hosts "[\"127.0.0.1:$port\"]" stream_clients "$count"
freshet source add --id a --url "$base/a.csv" --trigger '{"type":"manual"}' --title A > /dev/null
freshet check all --wait > /dev/null
"$B/freshet-upstream" --quiet --port-file "$tmp/free" > /dev/null 2>&1 &
probe=$!
while [ ! -s "$tmp/free" ]; do sleep 0.02; done
kill "$probe"
web=$(jq .http "$tmp/free")
"$B/freshet" -C "$tmp/i" up --port "$web" > "$tmp/up.out" 2> "$tmp/up.err" &
up=$!
pids="$pids $up"
until grep -qs "127.0.0.1:$web/" "$tmp/up.out"; do kill -0 "$up" && sleep 0.1; done
stream=$(pgrep -P "$up" -f freshet-stream)
kb() { awk -v k="$1" '$1 == k ":" { print $2 }' "/proc/$stream/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$stream/stat"; }
before=$(kb RssAnon) # of nobody

# change: one more version, taken in at once
change() {
    control 'advance?path=/a.csv'
    freshet check all --wait > /dev/null
}
# serve WHERE COUNT: prints a line of the table
serve() {
    : > "$tmp/rounds"
    i=0
    while [ "$i" -lt "$rounds" ]; do
        "$B/bench/stream_clients" "$1" "$2" > "$tmp/clients.out" &
        clients=$!
        until grep -qs connected "$tmp/clients.out"; do kill -0 "$clients" && sleep 0.1; done
        if [ "$i" -eq 0 ]; then
            after=$(kb RssAnon) used=$(ticks)
            sleep "$idle_s"
            used=$(($(ticks) - used))
        fi
        change
        wait "$clients" || { cat "$tmp/clients.out"; exit 1; }
        sed -n 's/^connected //p' "$tmp/clients.out" | tr '\n' ' ' >> "$tmp/rounds"
        jq -r '"\(.first_ms) \(.last_ms) \(.spread_ms)"' < "$(tail -n 1 "$tmp/clients.out" > "$tmp/json"; echo "$tmp/json")" >> "$tmp/rounds"
        i=$((i + 1))
    done
    printf '%-22s %8d %10d %12.1f %10.2f %12.0f %10.0f %10.0f\n' "$3" "$2" $((after - before)) \
        "$(echo "$after $before $2" | awk '{ print ($1 - $2) / $3 }')" \
        "$(echo "$used $idle_s" | awk '{ print $1 / $2 }')" "$(column rounds 1)" "$(column rounds 2)" "$(column rounds 3)"
}
echo "one freshet-stream; medians of $rounds rounds; memory is private (RssAnon), idle CPU over $idle_s s with heartbeats every 15 s"
printf '%-22s %8s %10s %12s %10s %12s %10s %10s\n' '' clients 'KiB more' 'KiB/client' 'idle CPU%' 'connect ms' 'first ms' 'last ms'
serve "$tmp/i/run/stream.sock" "$count" 'its own socket'
# shellcheck disable=SC3045
files=$(ulimit -n) most=$((count < (files - 100) / 2 ? count : (files - 100) / 2))
serve "$web" "$most" 'through nginx'

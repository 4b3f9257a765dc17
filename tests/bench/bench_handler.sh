#!/bin/sh
# bench_handler.sh [COUNT] [SIZE] [ROUNDS]: the handler end to end: COUNT candidates, their objects of SIZE
# bytes fetched from a local upstream (or from the spool), judged, stored, promoted, durable; with one
# freshet-handler, and with four. What follows a change (the outbox) has a process of its own and is not in it. Beside it, in turns, what the machine gives at most to one change after the
# other: an object with its two fsyncs and one FULL commit (raw_put.c).
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
count=${1:-1500} size=${2:-10000} rounds=${3:-3}

mkdir -p "$B/bench"
cc -O2 -D_GNU_SOURCE -o "$B/bench/raw_put" tests/bench/raw_put.c -lsqlite3
upstream "{\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$count,\"size\":$size}}"
instance allow_hosts '["127.0.0.1"]' per_host 64 audit_every 0
sources "$count" 1
freshet source import "$tmp/sources.csv" > /dev/null
freshet check all --json > "$tmp/first.json"
mv "$tmp/i" "$tmp/template"

# Nothing is removed before the end: a filesystem without a journal is slow to give inodes just after many
# were freed, and that would be measured instead.
turn=0
raw() {
    turn=$((turn + 1))
    mkdir "$tmp/raw-$turn"
    "$B/bench/raw_put" "$tmp/raw-$turn" "$count" "$size" > "$tmp/seconds"
}
finalized() { sqlite3 -readonly -cmd ".timeout 5000" "$tmp/i/ledger.db" "SELECT count(*) FROM ledger WHERE status = 'finalized'"; }
ours() { # WORKERS FROM [used]: seconds until the last change of a fresh copy is finalized
    turn=$((turn + 1))
    [ ! -e "$tmp/i" ] || mv "$tmp/i" "$tmp/i-$turn"
    cp -a "$tmp/template" "$tmp/i"
    [ "$2" = spool ] || mv "$tmp/i/spool" "$tmp/spool-$turn"
    mkdir -p "$tmp/i/spool"
    [ "${3:-}" != used ] || (cd "$tmp/i" && xargs mkdir -p < "$tmp/folders")
    sync
    n=0 handlers=
    from=$(date +%s.%N)
    while [ "$n" -lt "$1" ]; do
        "$B/freshet-handler" -C "$tmp/i" 2>> "$tmp/handler.log" &
        handlers="$handlers $!"
        n=$((n + 1))
    done
    pids="$pids $handlers"
    while [ "$(finalized)" -lt "$count" ]; do
        for p in $handlers; do kill -0 "$p" || { cat "$tmp/handler.log" >&2; exit 1; }; done
        sleep 0.05
    done
    to=$(date +%s.%N)
    for p in $handlers; do
        kill "$p"
        wait "$p" || :
    done
    echo "$from $to" | awk '{ printf "%.3f\n", $2 - $1 }' > "$tmp/seconds"
}

: > "$tmp/rounds" # seconds: raw, one, four, one from the spool, and the first two into a store that is in use
i=0
while [ "$i" -lt "$rounds" ]; do
    line=
    for one in raw 'ours 1 upstream' 'ours 4 upstream' 'ours 1 spool' 'ours 1 upstream used' 'ours 4 upstream used'; do
        $one
        [ ! -d "$tmp/i" ] || (cd "$tmp/i" && find store -type d) > "$tmp/folders"
        line="$line $(cat "$tmp/seconds")"
    done
    echo "${line# }" >> "$tmp/rounds"
    i=$((i + 1))
done
awk '{ print $1 / $2, $1 / $3, $1 / $4, $1 / $5, $1 / $6 }' "$tmp/rounds" > "$tmp/ratios"

echo "$count objects of $size bytes, finalized and durable, median of $rounds rounds"
printf '%-40s %10s %12s %10s\n' "" seconds changes/s "of raw"
row() { # NAME COLUMN RATIO
    awk -v name="$1" -v n="$count" -v s="$(column rounds "$2")" -v r="$3" 'BEGIN {
        printf "%-40s %10.2f %12.0f %10s%s\n", name, s, n / s, r, r < 0.5 ? "  MISSED (0.50)" : "" }'
}
ratio() { column ratios "$1" | awk '{ printf "%.2f", $1 }'; }
row "raw: object, two fsyncs, FULL commit" 1 1.00
row "one handler, from the upstream" 2 "$(ratio 1)"
row "four handlers, from the upstream" 3 "$(ratio 2)"
row "one handler, from the spool" 4 "$(ratio 3)"
echo "into a store whose folders are there, as one in use has them:"
row "one handler, from the upstream" 5 "$(ratio 4)"
row "four handlers, from the upstream" 6 "$(ratio 5)"

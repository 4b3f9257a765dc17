#!/bin/sh
# bench_memory.sh: the resident memory of each program at rest, with a handful of sources.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
upstream '{"bulk":{"path":"/bulk/{n}","count":150,"size":200}}'
instance allow_hosts '["127.0.0.1"]' api_processes 8
sources 150 1
freshet source import "$tmp/sources.csv" > /dev/null
freshet check all > /dev/null
freshet work --drain > /dev/null
printf '%-22s %8s %10s %10s\n' "at rest, KiB" pid RSS PSS
for program in api intake handler scheduler; do
    "$B/freshet-$program" -C "$tmp/i" 2> "$tmp/$program.log" &
    pids="$pids $!"
    started="${started:-} $program:$!"
done
sleep 2
for each in $started; do
    for p in "${each#*:}" $(pgrep -P "${each#*:}"); do
        awk -v name="freshet-${each%:*}" -v pid="$p" '/^Rss:/ { r = $2 } /^Pss:/ { p = $2 } END {
            if (r) printf "%-22s %8d %10d %10d\n", name, pid, r, p }' "/proc/$p/smaps_rollup"
    done
done

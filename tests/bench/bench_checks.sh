#!/bin/sh
# bench_checks.sh [COUNT] [PARALLEL]: conditional checks of COUNT sources that did not change, receipts
# committed durably, beside a bare libcurl multi loop and `curl --parallel` on the same list, all
# against the same local upstream in the same minute.
set -eu
count=${1:-1000} parallel=${2:-64}
B=${B:-build}
tmp=$(mktemp -d)
upstream=
trap '[ -z "$upstream" ] || kill "$upstream"; rm -rf "$tmp"' EXIT INT TERM

mkdir -p "$B/bench"
cc -O2 -D_GNU_SOURCE -o "$B/bench/bare_multi" tests/bench/bare_multi.c -lcurl
printf '{"bulk":{"path":"/bulk/{n}","count":%s,"size":200}}' "$count" > "$tmp/bulk.json"
"$B/freshet-upstream" --quiet --port 0 --scenario "$tmp/bulk.json" --port-file "$tmp/port" 2>"$tmp/upstream.log" &
upstream=$!
while [ ! -s "$tmp/port" ]; do kill -0 "$upstream"; done
base="http://127.0.0.1:$(jq .http "$tmp/port")"

freshet() { "$B/freshet" -C "$tmp/i" "$@"; }
"$B/freshet" init "$tmp/i" > /dev/null
freshet config set allow_hosts '["127.0.0.1"]' > /dev/null
freshet config set per_host "$parallel" > /dev/null
freshet config set per_host_rate 0 > /dev/null
freshet config set log_level error > /dev/null
awk -v n="$count" -v base="$base" 'BEGIN {
    printf "["
    for (i = 0; i < n; i++)
        printf "%s{\"id\":\"s%d\",\"url\":\"%s/bulk/%d\",\"triggers\":[{\"type\":\"manual\"}]}", i ? "," : "", i, base, i
    print "]" }' > "$tmp/sources.json"
freshet source import "$tmp/sources.json" > /dev/null
freshet check all --json > "$tmp/first.json"

# The others send the validators of the first object for all: what comes back differs, the work of
# sending and receiving does not.
header() { curl -sI "$1" | tr -d '\r' | sed -n "s/^$2: //Ip"; }

# seconds and CPU seconds of a command, from the shell's own clock
measure() {
    # shellcheck disable=SC2016 # the inner shell expands them
    /usr/bin/env bash -c 'TIMEFORMAT="%R %U %S"; { time "$@" > "$0.out" 2> "$0.err"; } 2> "$0.time"' "$tmp/m" "$@"
    awk '{ printf "%.3f %.3f\n", $1, $2 + $3 }' "$tmp/m.time"
}

ours=$(measure "$B/freshet" -C "$tmp/i" check all --json)
cp "$tmp/m.out" "$tmp/second.json"
jq -e --argjson n "$count" '.outcomes.not_modified == $n' "$tmp/second.json" > /dev/null || {
    echo "bench_checks: not every check was not_modified: $(jq -c .outcomes "$tmp/second.json")" >&2
    exit 1
}
bare=$("$B/bench/bare_multi" "$base/bulk" "$count" "$parallel" \
       "If-None-Match: $(header "$base/bulk/0" etag)" \
       "If-Modified-Since: $(header "$base/bulk/0" last-modified)" | cut -d' ' -f3,4)
i=0
while [ "$i" -lt "$count" ]; do
    printf 'url = "%s/bulk/%d"\noutput = "/dev/null"\n' "$base" "$i"
    i=$((i + 1))
done > "$tmp/curl.list"
theirs=$(measure curl -sI --parallel --parallel-max "$parallel" \
         -H "If-None-Match: $(header "$base/bulk/0" etag)" -K "$tmp/curl.list")

awk -v n="$count" -v ours="$ours" -v bare="$bare" -v theirs="$theirs" 'BEGIN {
    split(ours, o, " "); split(bare, b, " "); split(theirs, c, " ")
    printf "%-34s %10s %12s %14s\n", n " conditional checks", "seconds", "checks/s", "CPU us/check"
    printf "%-34s %10.2f %12.0f %14.0f\n", "freshet check all (durable)", o[1], n / o[1], o[2] / n * 1e6
    printf "%-34s %10.2f %12.0f %14.0f\n", "bare libcurl multi (no record)", b[1], n / b[1], b[2] / n * 1e6
    printf "%-34s %10.2f %12.0f %14.0f\n", "curl --parallel (no record)", c[1], n / c[1], c[2] / n * 1e6
    printf "ratio to bare multi %.2f, to curl --parallel %.2f\n", b[1] / o[1], c[1] / o[1] }'

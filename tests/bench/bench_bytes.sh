#!/bin/sh
# bench_bytes.sh [COUNT] [SIZE]: bytes on the wire for two quarters of weekly checks of COUNT sources
# of SIZE bytes, of which 5 % change once a quarter, beside downloading everything every week. Both are
# counted by the kernel, on a loopback interface of their own: every byte in both directions, TCP and
# IP included. The second quarter is the one that holds the audit, which reads every source once in 20
# checks whatever its server says.
set -eu
cd "$(dirname "$0")/../.."
if [ "${BENCH_OWN_NET:-}" != 1 ]; then
    if unshare -rn true 2> /dev/null; then
        BENCH_OWN_NET=1 exec unshare -rn sh -c 'ip link set lo up && exec "$@"' sh "$0" "$@"
    fi
    echo "bench_bytes: left out, as this machine gives no network namespace (unshare -rn)"
    exit 0
fi
. tests/bench/lib.sh
count=${1:-400} size=${2:-100000} weeks=13

upstream "{\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$count,\"size\":$size}}"
instance allow_hosts '["127.0.0.1"]' per_host 64 per_host_rate 0
sources "$count" 1
freshet source import "$tmp/sources.csv" > /dev/null
awk -v n="$count" -v base="$base" 'BEGIN {
    for (i = 0; i < n; i++) printf "url = \"%s/bulk/%d\"\noutput = \"/dev/null\"\n", base, i }' > "$tmp/list"

wire() { awk '/^ *lo:/ { sub(/.*:/, ""); print $1 }' /proc/net/dev; }
week=0
check() { # one week on
    FRESHET_NOW=$(date -u -d "2027-01-04 + $week weeks" +%Y-%m-%dT%H:%M:%SZ) freshet check all --json > "$tmp/out"
    week=$((week + 1))
}
quarter() { # sets $bytes and $found: 13 checks, with a change of every twentieth in the middle
    bytes=$(wire) found=0 i=0
    while [ "$i" -lt "$weeks" ]; do
        [ "$i" -ne 6 ] || control "advance?path=/bulk/%7Bn%7D&every=20"
        check
        found=$((found + $(jq '[.outcomes.changed, .outcomes.silent_change] | add // 0' "$tmp/out")))
        i=$((i + 1))
    done
    bytes=$(($(wire) - bytes))
}
check # the first: everything is new
quarter
plain=$bytes plain_found=$found
quarter
audit=$bytes audit_found=$found
before=$(wire)
i=0
while [ "$i" -lt "$weeks" ]; do
    curl -s --no-progress-meter --parallel -K "$tmp/list"
    i=$((i + 1))
done
batch=$(($(wire) - before))

echo "$weeks weekly looks at $count sources of $size bytes, 5 % of them change once: bytes on the wire"
awk -v n="$count" -v size="$size" -v batch="$batch" -v plain="$plain" -v audit="$audit" -v pf="$plain_found" -v af="$audit_found" '
function row(name, bytes, found) {
    printf "%-38s %14d %12.0f %10.4f %9s\n", name, bytes, bytes / n / 13, bytes / batch, found }
BEGIN {
    printf "%-38s %14s %12s %10s %9s\n", "", "bytes", "per look", "of batch", "found"
    row("batch: everything, every week", batch, "")
    row("freshet, a quarter without audit", plain, pf)
    row("freshet, the quarter with the audit", audit, af)
    # What a check costs beside the bodies it had to read does not grow with them.
    looks = n * 13
    check = (plain - pf * size) / looks
    gb = 19495 / 1e9
    printf "so, for 19,495 sources of 2 MB: batch %.1f GB, freshet %.1f GB, with the audit %.1f GB\n",
           gb * 13 * 2e6, gb * (13 * check + 0.05 * 2e6), gb * (12 * check + 1.05 * 2e6) }'

#!/bin/sh
# bench_engine.sh [COUNT] [PARALLEL]: the fetch engine alone, without detector and ledger, three tables:
#   1. COUNT conditional HEADs answered 304, beside a bare libcurl multi loop that sends the same
#      bytes and `curl --parallel`; the same concurrency, no budget per host
#   2. new TLS connections: two upstreams, asked in turns, close after each reply (one alone is slower than
#      what asks it); once they resume sessions, which are counted, once not: every handshake is a whole one
#   3. 100 ms of latency, 256 in flight over 64 hosts, beside the ideal count x latency / 256
# Programs take turns for ROUNDS rounds; the medians are shown, since the machine has other work too.
set -eu
count=${1:-19495} parallel=${2:-64} rounds=${ROUNDS:-5} tls_count=${TLS_COUNT:-600}
B=${B:-build}
tmp=$(mktemp -d)
upstreams=
stop() { for p in $upstreams; do kill "$p"; done; upstreams=; }
trap 'stop; rm -rf "$tmp"' EXIT INT TERM

mkdir -p "$B/bench"
cc -O2 -D_GNU_SOURCE -o "$B/bench/bare_multi" tests/bench/bare_multi.c -lcurl
cc -O2 -D_GNU_SOURCE -I. -o "$B/bench/bench_engine" tests/bench/bench_engine.c "$B/libcore.a" \
    -lcurl -lssl -lcrypto -lyyjson -lm

# serve SCENARIO [OPTION...]: one more upstream with it; its ports in $http and $https, its CA is added to $tmp/ca.pem
serve() {
    rm -f "$tmp/port"
    [ -n "$upstreams" ] || : > "$tmp/ca.pem"
    printf '%s' "$1" > "$tmp/bulk.json"
    shift
    "$B/freshet-upstream" --quiet --port 0 --tls-port 0 --cert-out "$tmp/one.pem" \
        --scenario "$tmp/bulk.json" --port-file "$tmp/port" "$@" 2> "$tmp/upstream.log" &
    upstreams="$upstreams $!"
    while [ ! -s "$tmp/port" ]; do kill -0 "$!"; done
    cat "$tmp/one.pem" >> "$tmp/ca.pem"
    http=$(jq .http "$tmp/port") https=$(jq .https "$tmp/port")
}
# resumed PORT...: "handshakes, of them resumed" of these upstreams since they were last asked
resumed() {
    for port; do
        curl -s "http://127.0.0.1:$port/control/state"
        curl -s -X POST "http://127.0.0.1:$port/control/reset" > /dev/null
    done | jq -rs '"\(map(.stats.tls_resumed) | add) of \(map(.stats.tls_handshakes) | add) resumed"'
}
header() { curl -sI --cacert "$tmp/ca.pem" "$1" | tr -d '\r' | sed -n "s/^$2: //Ip"; }
# median FILE COLUMN
median() { sort -n -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'; }

# The same list and headers for the command line tool; "requests 304s seconds CPU" as the others.
curl_parallel() {
    awk -v n="$2" -v bases="$1" 'BEGIN {
        of = split(bases, base, ",")
        for (i = 0; i < n; i++) printf "url = \"%s/%d\"\noutput = \"/dev/null\"\n", base[1 + i % of], i }' > "$tmp/curl.list"
    # shellcheck disable=SC2016 # the inner shell expands them
    bash -c 'TIMEFORMAT="%R %U %S"; { time "$@" > /dev/null 2>&1; } 2> "$0"' "$tmp/time" \
        curl -sI --parallel --parallel-max "$3" --cacert "$tmp/ca.pem" -H "If-None-Match: $etag" \
        -H "If-Modified-Since: $lm" -H "User-Agent: freshet/0.1.0" -K "$tmp/curl.list"
    awk -v n="$2" '{ printf "%d %d %.3f %.3f\n", n, n, $1, $2 + $3 }' "$tmp/time"
}
bare() {
    "$B/bench/bare_multi" "$1" "$2" "$3" "If-None-Match: $etag" "If-Modified-Since: $lm" \
        "User-Agent: freshet/0.1.0" "Accept-Encoding: identity"
}
engine() { SSL_CERT_FILE="$tmp/ca.pem" "$B/bench/bench_engine" "$1" "$2" "$3" "$4" "$etag" "$lm"; }

# all_304 FILE COUNT: every request of every round was answered 304
all_304() { awk -v n="$2" '$1 != n || $2 != n { print "bench_engine: " $2 " of " n " answered 304"; exit 1 }' "$1" >&2; }
# row TITLE FILE COUNT
row() {
    awk -v t="$1" -v n="$3" -v s="$(median "$2" 3)" -v c="$(median "$2" 4)" 'BEGIN {
        printf "%-38s %9.2f %10.0f %10.1f\n", t, s, n / s, c / n * 1e6 }'
}
ratio() { awk -v a="$(median "$1" "$3")" -v b="$(median "$2" "$3")" 'BEGIN { printf "%.2f", a / b }'; }

# "always": one pair of validators gets a 304 for each object
serve "{\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$count,\"size\":200,\"honours\":\"always\"}}"
base="http://127.0.0.1:$http/bulk"
etag=$(header "$base/0" etag) lm=$(header "$base/0" last-modified)
round=0
while [ "$round" -lt "$rounds" ]; do
    engine "$base" "$count" "$parallel" 1 >> "$tmp/1.engine"
    bare "$base" "$count" "$parallel" >> "$tmp/1.bare"
    curl_parallel "$base" "$count" "$parallel" >> "$tmp/1.curl"
    round=$((round + 1))
done
all_304 "$tmp/1.engine" "$count"
all_304 "$tmp/1.bare" "$count"
printf '%-38s %9s %10s %10s\n' "$count conditional HEADs, $parallel at once" seconds req/s "CPU us"
row "fetch engine" "$tmp/1.engine" "$count"
row "bare libcurl multi, same requests" "$tmp/1.bare" "$count"
row "curl --parallel" "$tmp/1.curl" "$count"
echo "engine to bare multi: speed $(ratio "$tmp/1.bare" "$tmp/1.engine" 3), CPU $(ratio "$tmp/1.bare" "$tmp/1.engine" 4); to curl --parallel: speed $(ratio "$tmp/1.curl" "$tmp/1.engine" 3)"
stop

# new_connections WHAT [OPTION...]: the upstream with these options
new_connections() {
    what=$1
    shift
    scenario="{\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$tls_count,\"size\":200,\"honours\":\"always\",\"close\":true}}"
    serve "$scenario" "$@"
    first=$http base="https://localhost:$https/bulk"
    serve "$scenario" "$@"
    base="$base,https://localhost:$https/bulk"
    rm -f "$tmp/2.engine" "$tmp/2.curl"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        engine "$base" "$tls_count" 16 1 >> "$tmp/2.engine"
        ours=$(resumed "$first" "$http")
        curl_parallel "$base" "$tls_count" 16 >> "$tmp/2.curl"
        theirs=$(resumed "$first" "$http")
        round=$((round + 1))
    done
    all_304 "$tmp/2.engine" "$tls_count"
    echo
    printf '%-38s %9s %10s %10s\n' "$tls_count new TLS connections, $what" seconds conn/s "CPU us"
    row "fetch engine" "$tmp/2.engine" "$tls_count"
    row "curl --parallel" "$tmp/2.curl" "$tls_count"
    awk -v n="$tls_count" -v s="$(median "$tmp/2.engine" 3)" 'BEGIN { if (n / s < 600) print "MISSED: 600 connections/s are goal" }'
    echo "engine to curl --parallel: speed $(ratio "$tmp/2.curl" "$tmp/2.engine" 3); handshakes: engine $ours, curl $theirs"
    stop
}
new_connections resumed
new_connections whole --no-tickets

serve "{\"latency_ms\":100,\"bulk\":{\"path\":\"/bulk/{n}\",\"count\":$count,\"size\":200,\"honours\":\"always\"}}"
engine "http://localhost:$http/bulk" "$count" 256 64 > "$tmp/3.engine"
all_304 "$tmp/3.engine" "$count"
echo
printf '%-38s %9s %10s %10s\n' "$count HEADs, 100 ms, 256 in flight" seconds req/s "CPU us"
row "fetch engine over 64 hosts" "$tmp/3.engine" "$count"
awk -v n="$count" -v s="$(median "$tmp/3.engine" 3)" 'BEGIN {
    ideal = n * 0.1 / 256
    printf "%-38s %9.2f %10.0f\nengine to ideal: %.2f times as long\n", "ideal", ideal, n / ideal, s / ideal }'

#!/bin/sh
# bench_api.sh [SECONDS]: /changes?limit=100 and a badge through nginx, no cache, beside a bare libfcgi
# responder that returns as many constant bytes, through the same nginx configuration, in the same
# minute: requests/s, p99, ratio. Then the resident memory of each process at rest.
set -eu
seconds=${1:-3} rounds=5 clients=16
B=${B:-build}
processes=8 workers=2 keepalive=4
tmp=$(mktemp -d)
pids=
stop() {
    for p in $pids; do kill "$p" 2>/dev/null || :; done
    wait
    rm -rf "$tmp"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP PIPE

started() { pids="$pids $!"; }
wait_for() { # PATH: until it is there, for at most ten seconds
    i=0
    while [ ! -e "$1" ]; do
        i=$((i + 1))
        [ "$i" -lt 200 ] || { echo "bench_api: $1 does not appear" >&2; exit 1; }
        sleep 0.05
    done
}

# ---- an instance with 150 changes in its feed ----
freshet() { "$B/freshet" -C "$tmp/i" "$@"; }
printf '{"bulk":{"path":"/bulk/{n}","count":150,"size":200}}' > "$tmp/bulk.json"
"$B/freshet-upstream" --quiet --port 0 --scenario "$tmp/bulk.json" --port-file "$tmp/port" &
started
wait_for "$tmp/port"
base="http://127.0.0.1:$(jq .http "$tmp/port")"
"$B/freshet" init "$tmp/i" > /dev/null
freshet config set allow_hosts '["127.0.0.1"]' > /dev/null
freshet config set api_processes "$processes" > /dev/null
awk -v base="$base" 'BEGIN {
    printf "["
    for (i = 0; i < 150; i++)
        printf "%s{\"id\":\"s%d\",\"title\":\"Dataset %d\",\"collection\":\"c%d\",\"url\":\"%s/bulk/%d\",\"triggers\":[{\"type\":\"manual\"}]}",
               i ? "," : "", i, i, i % 7, base, i
    print "]" }' > "$tmp/sources.json"
freshet source import "$tmp/sources.json" > /dev/null
freshet check all > /dev/null
freshet work --drain > /dev/null

# ---- two fronts with the same configuration ----
front() { # DIR PORT
    mkdir -p "$1/run" "$1/log" "$1/store/public"
    sed -e "s#@DIR@#$1#g; s#@WWW@#$PWD/www#g; s#@PORT@#$2#g; s#@WORKERS@#$workers#g" \
        -e "s#@KEEPALIVE@#$keepalive#g; s#@BODY_MAX@#65536#g; s#@CACHE@#off#g; s#@CACHE_S@#1#g" \
        -e "s#@USER_LINE@#$([ "$(id -u)" != 0 ] || echo "user root;")#g" nginx/nginx.conf.in > "$1/run/nginx.conf"
    PATH=$PATH:/usr/sbin nginx -e "$1/log/nginx-error.log" -c "$1/run/nginx.conf" -p "$1" &
    started
    wait_for "$1/run/nginx.pid"
}
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
ours=$(free_port)
bare=$(free_port)
"$B/freshet-api" -C "$tmp/i" 2> "$tmp/api.log" &
started
api=$!
wait_for "$tmp/i/run/api.sock"
front "$tmp/i" "$ours"
front "$tmp/bare" "$bare"
mkdir -p "$B/bench"
cc -O2 -o "$B/bench/bare_fcgi" tests/bench/bare_fcgi.c -lfcgi

# ---- measure ----
one() { # URL → "requests/s p99-ms errors"
    wrk -t1 "-c$clients" "-d${seconds}s" --latency "$1" | awk '
        /Requests\/sec/ { rate = $2 }
        $1 == "99%" { p = $2; if (p ~ /us$/) f = 0.001; else if (p ~ /ms$/) f = 1; else f = 1000; p = p * f }
        /Non-2xx/ { bad = $NF }
        END { printf "%.0f %.2f %d\n", rate, p, bad }'
}
compare() { # NAME PATH TYPE
    curl -sf "http://127.0.0.1:$ours$2" > "$tmp/body"
    rm -f "$tmp/bare/run/api.sock"
    "$B/bench/bare_fcgi" "$tmp/bare/run/api.sock" "$processes" "$3" "$tmp/body" &
    yardstick=$!
    wait_for "$tmp/bare/run/api.sock"
    : > "$tmp/ours"
    : > "$tmp/bare.list"
    i=0
    while [ "$i" -lt "$rounds" ]; do
        one "http://127.0.0.1:$bare$2" >> "$tmp/bare.list"
        one "http://127.0.0.1:$ours$2" >> "$tmp/ours"
        i=$((i + 1))
    done
    for p in $(pgrep -P "$yardstick") "$yardstick"; do kill "$p"; done
    # The best of the rounds, by requests/s: whatever else the machine does can only lower a rate.
    set -- "$1" "$(wc -c < "$tmp/body")" "$(sort -n "$tmp/bare.list" | tail -n 1)" \
        "$(sort -n "$tmp/ours" | tail -n 1)"
    echo "$3 $4" | awk -v name="$1" -v bytes="$2" '{
        printf "%-22s %8d %10d %8.2f %10d %8.2f %7.2f  %s\n", name, bytes, $1, $2, $4, $5, $4 / $1,
               ($3 + $6 ? "with errors" : ($4 >= 0.6 * $1 ? "" : "below 0.60")) }'
}
echo "through nginx, $clients connections, ${seconds}s, best of $rounds rounds; p99 in ms"
printf '%-22s %8s %10s %8s %10s %8s %7s\n' address bytes bare/s p99 freshet/s p99 ratio
compare "/changes?limit=100" "/changes?limit=100" application/json
compare "/badges/s7.svg" "/badges/s7.svg" image/svg+xml

# ---- memory at rest ----
"$B/freshet-intake" -C "$tmp/i" 2> "$tmp/intake.log" &
started
intake=$!
"$B/freshet-handler" -C "$tmp/i" 2> "$tmp/handler.log" &
started
handler=$!
"$B/freshet-scheduler" -C "$tmp/i" 2> "$tmp/scheduler.log" &
started
scheduler=$!
sleep 2
memory() { # NAME PID: the process and its children
    for p in "$2" $(pgrep -P "$2"); do
        awk -v name="$1" -v pid="$p" '/^Rss:/ { r = $2 } /^Pss:/ { p = $2 } END {
            if (r) printf "%-22s %8d %10d %10d\n", name, pid, r, p }' "/proc/$p/smaps_rollup"
    done
}
echo
echo "memory at rest, KiB"
printf '%-22s %8s %10s %10s\n' process pid RSS PSS
memory freshet-api "$api"
memory freshet-intake "$intake"
memory freshet-handler "$handler"
memory freshet-scheduler "$scheduler"
memory nginx "$(cat "$tmp/i/run/nginx.pid")"

#!/bin/sh
# bench_catalog.sh [SECONDS [ROUNDS]]: what a client of the catalog waits for, with 10,000 items of 100
# collections and 100,000 changes: one item, a page of 100, a search by box, a page of the feed, a badge.
# Through nginx, each beside its reference, in turns:
#   without cache     a bare libfcgi responder that returns as many constant bytes
#   with micro-cache  the same nginx configuration serving the same bytes as a static file
#   10,000 and 1,000,000 changes beside each other, the number of items the same
# Requests/s and p99 of wrk are medians over the rounds, ratios are of one round, the median over them.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/lib.sh
seconds=${1:-2} rounds=${2:-3} clients=16 items=10000
processes=8 workers=2 keepalive=4
export PATH="$PATH:/usr/sbin"

wait_for() { # PATH: until it is there, for at most ten seconds
    i=0
    while [ ! -e "$1" ]; do
        i=$((i + 1))
        [ "$i" -lt 200 ] || { echo "bench_catalog: $1 does not appear" >&2; exit 1; }
        sleep 0.05
    done
}
started() { pids="$pids $!"; }

# ---- instances with 10,000, 100,000 and 1,000,000 changes ----
mkdir -p "$B/bench"
cc -O2 -o "$B/bench/bare_fcgi" tests/bench/bare_fcgi.c -lfcgi
cc -O2 -std=c17 -D_GNU_SOURCE -I. -I"$B/gen" -o "$B/bench/catalog_load" tests/bench/catalog_load.c "$B/libhandler.a" \
    "$B/libledger.a" "$B/libcore.a" -lcurl -lssl -lcrypto -lsqlite3 -lyyjson -lm
upstream '{"bulk":{"path":"/bulk/{n}","count":1,"size":200}}'
instance allow_hosts '["127.0.0.1"]' api_processes "$processes"
awk -v n="$items" 'BEGIN {
    print "id,title,url,collection,triggers"
    for (i = 0; i < n; i++)
        printf "place-%05d,Place %d,https://h%d.example.org/data/%d.geojson,c%02d,\"[{\"\"type\"\":\"\"manual\"\"}]\"\n",
               i, i, i % 50, i, i % 100 }' > "$tmp/sources.csv"
freshet source import "$tmp/sources.csv" > /dev/null
# One source goes the whole way: its badge has something to say.
freshet source add --id seen --title Seen --url "$base/bulk/0" --collection c00 > /dev/null
freshet check source seen --wait > /dev/null
grow() { "$B/bench/catalog_load" "$tmp/i" "$items" "$@"; }
began=$(date +%s)
grow 0 10000
cp -r "$tmp/i" "$tmp/small"
grow 10000 100000
cp -r "$tmp/i" "$tmp/middle"
grow 100000 1000000 entries
mv "$tmp/i" "$tmp/large"
echo "a million changes loaded in $(($(date +%s) - began)) s, $(du -m "$tmp/large/ledger.db" | cut -f1) MiB"

# ---- fronts with the same configuration ----
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
front() { # DIR RUN CACHE WWW: nginx for the instance DIR with its own files in RUN; sets $at
    at=$(free_port)
    mkdir -p "$2/log" "$1/log" "$1/run" "$1/store/public"
    sed -e "s#@DIR@/run/nginx.pid#$2/nginx.pid#; s#@DIR@/run/cache#$2/cache#; s#@DIR@/run/tmp#$2/tmp#; s#@DIR@/log#$2/log#g" \
        -e "s#@DIR@#$1#g; s#@WWW@#$4#g; s#@PORT@#$at#g; s#@WORKERS@#$workers#g" \
        -e "s#@CONNECTIONS@#4096#g; s#@INTAKE_KEEPALIVE@#1#g; s#@HOOK_BODY_MAX@#65536#g; s#@HOOK_[A-Z_]*@#100#g" \
        -e "s#@KEEPALIVE@#$keepalive#g; s#@BODY_MAX@#65536#g; s#@CACHE@#$3#g; s#@CACHE_S@#1#g" \
        -e "s#@USER_LINE@#$([ "$(id -u)" != 0 ] || echo "user root;")#g" nginx/nginx.conf.in > "$2/nginx.conf"
    nginx -e "$2/log/error.log" -c "$2/nginx.conf" -p "$2" &
    started
    wait_for "$2/nginx.pid"
    at=http://127.0.0.1:$at
}
serve() { # NAME: freshet-api of that instance
    "$B/freshet-api" -C "$tmp/$1" 2> "$tmp/$1.log" &
    started
    wait_for "$tmp/$1/run/api.sock"
}
for size in small middle large; do serve "$size"; done
mkdir -p "$tmp/bare" "$tmp/www"
front "$tmp/small" "$tmp/front.small" off "$PWD/www" && small=$at
front "$tmp/large" "$tmp/front.large" off "$PWD/www" && large=$at
front "$tmp/middle" "$tmp/front.middle" off "$PWD/www" && middle=$at
front "$tmp/middle" "$tmp/front.cached" freshet "$PWD/www" && cached=$at
front "$tmp/bare" "$tmp/front.bare" off "$tmp/www" && bare=$at

# ---- measure ----
one() { # URL FILE: adds "requests/s p99-ms errors" to FILE
    wrk -t1 "-c$clients" "-d${seconds}s" --latency "$1" | awk '
        /Requests\/sec/ { rate = $2 }
        $1 == "99%" { p = $2; if (p ~ /us$/) f = 0.001; else if (p ~ /ms$/) f = 1; else f = 1000; p = p * f }
        /Non-2xx/ { bad = $NF }
        END { printf "%.0f %.2f %d\n", rate, p, bad }' >> "$tmp/$2"
}
pair() { # NAME REFERENCE URL WANTED: both in turns; one line. Errors of either fail the run.
    : > "$tmp/a"
    : > "$tmp/b"
    i=0
    while [ "$i" -lt "$rounds" ]; do
        one "$2" a
        one "$3" b
        i=$((i + 1))
    done
    paste -d' ' "$tmp/a" "$tmp/b" | awk '{ print $4 / $1 }' > "$tmp/ratio"
    [ "$(awk '{ n += $3 } END { print n }' "$tmp/a" "$tmp/b")" -eq 0 ] || { echo "bench_catalog: errors at $3" >&2; exit 1; }
    ratio=$(column ratio 1)
    printf '%-24s %8s %10s %8s %10s %8s %7.2f  %s\n' "$1" "$bytes" "$(column a 1)" "$(column a 2)" "$(column b 1)" \
        "$(column b 2)" "$ratio" "$(awk -v r="$ratio" -v w="$4" 'BEGIN { print (r >= w ? "" : "MISSED (" w ")") }')"
}
title() { printf '\n%s\n%-24s %8s %10s %8s %10s %8s %7s\n' "$1" request bytes "$2/s" p99 "$3/s" p99 ratio; }
cat > "$tmp/requests" << 'END'
item /stac/collections/c17/items/place-04217-v1
page-of-100 /stac/collections/c17/items?limit=100
search-by-box /stac/search?bbox=-100,36,-96,37.5&limit=100
ten-of-a-wide-box /stac/search?bbox=-100,36,-94,40
feed-page-of-100 /changes?limit=100
feed-follower /changes?since=9000&limit=100
badge /badges/seen.svg
END
# Each: its name, address, and the bytes it has.
each() {
    while read -r name path; do
        curl -sf "$middle$path" > "$tmp/www/$name.txt"
        bytes=$(wc -c < "$tmp/www/$name.txt")
        "$@"
    done < "$tmp/requests"
}
beside_bare() {
    rm -f "$tmp/bare/run/api.sock"
    "$B/bench/bare_fcgi" "$tmp/bare/run/api.sock" "$processes" application/json "$tmp/www/$name.txt" &
    yardstick=$!
    wait_for "$tmp/bare/run/api.sock"
    pair "$name" "$bare$path" "$middle$path" 0.6
    for p in $(pgrep -P "$yardstick") "$yardstick"; do kill "$p"; done
}
echo "through nginx, $clients connections, $seconds s, median of $rounds rounds; p99 in ms; load $(cut -d' ' -f1 /proc/loadavg)"
title "no cache, 100,000 changes, beside a bare libfcgi responder (goal: 0.60)" bare freshet
each beside_bare
title "micro-cache, beside the same bytes as a static file (goal: 0.80)" static freshet
beside_static() { pair "$name" "$bare/$name.txt" "$cached$path" 0.8; }
each beside_static
title "no cache, 1,000,000 changes beside 10,000 (goal: 0.80)" 10,000 1,000,000
beside_small() { pair "$name" "$small$path" "$large$path" 0.8; }
each beside_small

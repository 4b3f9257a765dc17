# lib.sh: what the benchmarks share. Sourced with $0 in tests/bench, in the root of the tree.
# shellcheck shell=sh disable=SC2034 # $base is for those who source this
B=${B:-build}
tmp=$(mktemp -d)
pids=
stop() {
    for p in $pids; do kill "$p" 2> /dev/null || :; done
    wait
    rm -rf "$tmp"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

# upstream SCENARIO: serves it on a free port; sets $port and $base
upstream() {
    printf '%s' "$1" > "$tmp/scenario.json"
    rm -f "$tmp/port"
    "$B/freshet-upstream" --quiet --port 0 --scenario "$tmp/scenario.json" --port-file "$tmp/port" \
        > "$tmp/upstream.log" 2>&1 &
    pids="$pids $!"
    while [ ! -s "$tmp/port" ]; do kill -0 "$!" && sleep 0.02; done
    port=$(jq .http "$tmp/port")
    base="http://127.0.0.1:$port"
}
control() { # COMMAND [BODY]
    curl -sf -o /dev/null -X POST -d "${2:-}" "$base/control/$1"
}

freshet() { "$B/freshet" -C "$tmp/i" "$@"; }
# instance NAME VALUE ...: a new one with these settings
instance() {
    rm -rf "$tmp/i"
    "$B/freshet" init "$tmp/i" > /dev/null
    freshet config set log_level error > /dev/null
    freshet config set per_host_rate 0 > /dev/null
    while [ $# -gt 1 ]; do
        freshet config set "$1" "$2" > /dev/null
        shift 2
    done
}
# sources COUNT HOSTS: a CSV of COUNT sources checked daily, item n of the bulk, over so many hosts
sources() {
    awk -v n="$1" -v hosts="$2" -v port="$port" 'BEGIN {
        print "id,title,url,collection,triggers"
        for (i = 0; i < n; i++) {
            host = hosts > 1 ? "h" i % hosts ".localhost" : "127.0.0.1"
            printf "place-%07d,Place %d,http://%s:%s/bulk/%d,c%d,\"[{\"\"type\"\":\"\"interval\"\",\"\"seconds\"\":86400}]\"\n",
                   (i * 7919) % n, i, host, port, i, i % 300
        } }' > "$tmp/sources.csv"
}

# measure COMMAND...: its seconds and CPU seconds; output in $tmp/m.out
measure() {
    # shellcheck disable=SC2016 # the inner shell expands them
    bash -c 'TIMEFORMAT="%R %U %S"; { time "$@" > "$0.out" 2> "$0.err"; } 2> "$0.time"' "$tmp/m" "$@" || {
        cat "$tmp/m.err" >&2
        exit 1
    }
    awk '{ printf "%.3f %.3f\n", $1, $2 + $3 }' "$tmp/m.time"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'; }
column() { cut -d' ' -f"$2" "$tmp/$1" | median; }

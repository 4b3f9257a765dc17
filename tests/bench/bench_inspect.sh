#!/bin/sh
# bench_inspect.sh [ROUNDS] [COUNT]: a 2 MB GeoJSON inspected (parsed, every geometry checked and digested,
# in the sandbox) beside `ogrinfo -al -so`, which counts its features and finds their extent: ROUNDS rounds in
# turn, the best of each. Then COUNT inspections of small files through a running inspector, as the handler asks.
set -eu
rounds=${1:-7} count=${2:-1000}
B=${B:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM

# features FILE COUNT VERTICES: counties of a random but fixed form.
features() {
    awk -v n="$2" -v v="$3" 'BEGIN {
        srand(1); pi = 3.141592653589793
        printf "{\"type\":\"FeatureCollection\",\"features\":["
        for (i = 0; i < n; i++) {
            x = -100 + rand() * 5; y = 37 + rand() * 3
            printf "%s\n{\"type\":\"Feature\",\"properties\":{\"GEOID\":\"20%03d\",\"name\":\"County %d\",\"pop\":%d},", i ? "," : "", i, i, rand() * 1e5
            printf "\"geometry\":{\"type\":\"Polygon\",\"coordinates\":[["
            for (k = 0; k <= v; k++) {
                if (k < v) { r = 0.02 * (1 + 0.2 * rand()); px = x + r * cos(2 * pi * k / v); py = y + r * sin(2 * pi * k / v) }
                else { px = fx; py = fy }
                if (k == 0) { fx = px; fy = py }
                printf "%s[%.6f,%.6f]", k ? "," : "", px, py
            }
            printf "]]}}"
        }
        print "]}" }' > "$1"
}
features "$tmp/large.geojson" 750 120
features "$tmp/small.geojson" 10 42
printf '{"updated":"2026-07-02T10:00:00Z","items":[%s0]}' "$(awk 'BEGIN { for (i = 0; i < 1200; i++) printf "%d.5,", i }')" > "$tmp/plain.json"

seconds() { # seconds COMMAND...
    # shellcheck disable=SC2016 # the inner shell expands them
    bash -c 'TIMEFORMAT=%R; { time "$@" > /dev/null; } 2>&1' bench "$@"
}
best() { awk -v a="$1" -v b="$2" 'BEGIN { print a == "" || b < a ? b : a }'; }
ours='' theirs=''
i=0
while [ "$i" -lt "$rounds" ]; do
    ours=$(best "$ours" "$(seconds "$B/freshet-inspect" --feature-key GEOID "$tmp/large.geojson")")
    theirs=$(best "$theirs" "$(seconds ogrinfo -al -so "$tmp/large.geojson")")
    i=$((i + 1))
done
awk -v o="$ours" -v t="$theirs" -v n="$(wc -c < "$tmp/large.geojson")" 'BEGIN {
    printf "GeoJSON of %.1f MB: freshet-inspect %.3f s, ogrinfo -al -so %.3f s, ratio %.2f (limit 1.5)\n", n / 1e6, o, t, o / t
    exit o / t > 1.5 }' || { echo "bench_inspect: slower than the limit" >&2; failed=yes; }

mkdir -p "$B/bench"
cc -O2 -std=c17 -D_GNU_SOURCE -I. -include core/banned.h -o "$B/bench/inspect_loop" tests/bench/inspect_loop.c \
    "$B/libhandler.a" "$B/libcore.a" -lyyjson -lcrypto -lm
printf '%-34s %10s %14s %14s\n' 'through a running inspector' bytes inspections/s 'CPU ms each'
for f in small.geojson plain.json; do
    # shellcheck disable=SC2046 # two words
    set -- $("$B/bench/inspect_loop" "$B" "$count" "$tmp/$f")
    awk -v f="$f" -v n="$(wc -c < "$tmp/$f")" -v c="$count" -v s="$1" -v u="$2" 'BEGIN {
        printf "%-34s %10d %14.0f %14.3f\n", f, n, (s > 0 ? c / s : 0), u / c * 1000 }'
done
[ -z "${failed:-}" ]

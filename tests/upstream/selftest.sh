#!/bin/sh
# Each feature of freshet-upstream once, with curl and jq. Prints "ok" and "not ok" lines and at
# the end "N passed, N failed". UPSTREAM names the program, DEMO_TICK the speed of the demo.
# shellcheck disable=SC2046,SC2059,SC2086 # lists of names without spaces are meant to be split
set -u
here=$(dirname "$0")
program=${UPSTREAM:-build/freshet-upstream}
work=$(mktemp -d)
passed=0
failed=0
pid=

stop() {
    [ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid"; }
    pid=
}
trap 'stop; rm -rf "$work"' EXIT

is() { # is WHAT GOT WANTED
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        echo "ok - $1"
    else
        failed=$((failed + 1))
        echo "not ok - $1"
        printf '%s\n' "$2" | head -n 5 | sed 's/^/#   got: /'
        printf '%s\n' "$3" | head -n 5 | sed 's/^/#  want: /'
    fi
}
has() { # has WHAT TEXT PATTERN: a line of TEXT matches
    is "$1" "$(printf '%s\n' "$2" | tr -d '\r' | grep -c -e "$3" | sed 's/^[1-9][0-9]*$/yes/')" yes
}
lacks() {
    is "$1" "$(printf '%s\n' "$2" | tr -d '\r' | grep -c -i -e "$3")" 0
}

# The port file appears when requests are answered.
start() {
    rm -f "$work/ports"
    "$program" --quiet --port-file "$work/ports" "$@" 2>"$work/err" &
    pid=$!
    until [ -s "$work/ports" ]; do
        kill -0 "$pid" 2>/dev/null || { cat "$work/err"; echo "not ok - start $*"; exit 1; }
    done
    port=$(jq .http "$work/ports")
    tls=$(jq .https "$work/ports")
    u=http://127.0.0.1:$port
}
get() { curl -sS --max-time 10 "$@" 2>"$work/curl"; }
code() { get -o /dev/null -w '%{http_code}' "$@"; }
ends() { # exit status of curl
    : >"$work/body"
    get -o "$work/body" "$@" >/dev/null
    echo $?
}
bytes() { wc -c <"$work/body" | tr -d ' '; }
post() { get -X POST "$@"; }
field() { post "$@" | jq -r '.error.field'; }
log() { get "$u/control/log" | jq -r "$1"; }

start --tls-port 0 --cert-out "$work/ca.pem" --scenario "$here/selftest.json"

# ---- versions and validators
reply=$(get -i "$u/t/versions.json")
has "first version" "$reply" '^{"v":1}$'
has "version tag" "$reply" '^ETag: "v1"$'
has "dated by version" "$reply" '^Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT$'
has "type by suffix" "$reply" '^Content-Type: application/json$'
has "date" "$reply" '^Date: ..., .* GMT$'
is "advance answers" "$(post "$u/control/advance?path=/t/versions.json" | jq -c .version)" 2
reply=$(get -i "$u/t/versions.json")
has "second version" "$reply" '^ETag: "v2"$'
has "type of the version" "$reply" '^Content-Type: text/x-two$'
has "a day later" "$reply" '^Last-Modified: Tue, 02 Jan 2024'
post "$u/control/advance?path=/t/versions.json" >/dev/null
is "hex body" "$(get "$u/t/versions.json" | od -An -tx1 | tr -d ' ')" 00ff10
is "no version after the last" "$(code -X POST "$u/control/advance?path=/t/versions.json")" 409
is "body from a file" "$(get "$u/t/file.txt")" "from a file"
has "strong tag of the content" "$(get -I "$u/t/strong.json")" '^ETag: "44136fa355b3678a"$'
has "weak" "$(get -I "$u/t/weak.json")" '^ETag: W/"44136fa355b3678a"$'
reply=$(get -I "$u/t/none.json")
lacks "no validators, no date" "$reply" '^\(etag\|last-modified\|date\):'
is "three nodes" "$(for i in 1 2 3 4; do get -I "$u/t/flap.json" | sed -n 's/^ETag: ".*-\(n.\)".*/\1/p'; done | tr '\n' ' ')" "n0 n1 n2 n0 "
has "identity without suffix" "$(get -I "$u/t/apache.json")" '^ETag: "015abd7f5cc57a2d"$'
reply=$(get -I -H 'Accept-Encoding: gzip' "$u/t/apache.json")
has "Apache -gzip" "$reply" '^ETag: "015abd7f5cc57a2d-gzip"$'
has "encoded when allowed" "$reply" '^Content-Encoding: gzip$'
has "unquoted" "$(get -I "$u/t/unquoted.json")" '^ETag: [0-9a-f]*$'
is "doubled" "$(get -I "$u/t/double.json" | grep -c '^ETag: ')" 2
is "8 KB" "$(get -I "$u/t/huge.json" | sed -n 's/^ETag: //p' | tr -d '\r\n' | wc -c | tr -d ' ')" 8192
has "control bytes" "$(get -I "$u/t/control.json" | od -c)" '001 177'
has "constant tag" "$(get -i "$u/t/constant.json")" '^ETag: "constant"$'
post "$u/control/advance?path=/t/constant.json" >/dev/null
reply=$(get -i "$u/t/constant.json")
has "constant tag of other bytes" "$reply" '^ETag: "constant"$'
has "other bytes" "$reply" '^b$'
reply=$(get -I "$u/t/literal.json")
has "literal tag" "$reply" '^ETag: "any-thing"$'
has "literal date" "$reply" '^Last-Modified: Tue, 02-Jan-24 03:04:05 GMT$'
has "literal Date" "$reply" '^Date: Thu, 01 Jan 1970 00:00:00 GMT$'
has "future" "$(get -I "$u/t/future.json")" "^Last-Modified: .* $(($(date +%Y) + 10)) "

# ---- conditional requests: none, both, tag only, date only, both but a stale tag, both but another date
lm='If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT'
later='If-Modified-Since: Mon, 01 Jan 2029 00:00:00 GMT'
honours() {
    is "honours $1" "$(code "$u/t/h/$1.json") $(code -H 'If-None-Match: "v1"' -H "$lm" "$u/t/h/$1.json") $(
        code -H 'If-None-Match: "v1"' "$u/t/h/$1.json") $(code -H "$lm" "$u/t/h/$1.json") $(
        code -H 'If-None-Match: "x"' -H "$lm" "$u/t/h/$1.json") $(
        code -H 'If-None-Match: "v1"' -H "$later" "$u/t/h/$1.json")" "$2"
}
#               none both tag date stale later
honours nginx  "200 304 304 304 200 200"
honours rfc    "200 304 304 304 200 304"
honours both   "200 304 200 200 200 200"
honours etag   "200 304 304 200 200 304"
honours ims    "200 304 200 304 304 304"
honours or     "200 304 304 304 304 304"
honours never  "200 200 200 200 200 200"
honours always "304 304 304 304 304 304"
is "list of tags" "$(code -H 'If-None-Match: "a", W/"v1" ,"b"' "$u/t/h/etag.json")" 304
is "any tag" "$(code -H 'If-None-Match: *' "$u/t/h/etag.json")" 304
is "HEAD is conditional too" "$(code -I -H 'If-None-Match: "v1"' "$u/t/h/etag.json")" 304
reply=$(get -i -H "$lm" "$u/t/304-new.json")
has "304 with a new tag" "$reply" '^ETag: "renewed-'
lacks "304 without length and type" "$reply" '^content-'
lacks "304 without a tag" "$(get -i -H "$lm" "$u/t/304-none.json")" '^etag:'

# ---- methods and statuses
is "HEAD refused" "$(code -I "$u/t/head405.json") $(code "$u/t/head405.json")" "405 200"
reply=$(get -I "$u/t/head-unlike.json")
has "HEAD unlike GET" "$reply" '^ETag: "h"$'
has "HEAD with its own length" "$reply" '^Content-Length: 77$'
is "GET beside it" "$(get "$u/t/head-unlike.json")" '{}'
is "PUT" "$(code -X PUT "$u/t/strong.json")" 405
is "unknown path" "$(code "$u/t/nowhere")" 404
post "$u/control/advance?path=/t/error.json" >/dev/null
reply=$(get -i "$u/t/error.json")
has "error status" "$reply" '^HTTP/1.1 503 Gone fishing$'
has "Retry-After as a date" "$reply" '^Retry-After: ..., .* GMT$'
lacks "an error shows no content of the version" "$reply" 'secret\|^etag:\|^last-modified:'
post "$u/control/advance?path=/t/error.json" >/dev/null
has "202 with a tag" "$(get -i "$u/t/error.json")" '^ETag: "wait"$'
post "$u/control/advance?path=/t/error.json" >/dev/null
is "204 without a body" "$(get -w '%{http_code} %{size_download}' "$u/t/error.json")" "204 0"
reply=$(get -i "$u/t/to.json")
has "redirect" "$reply" '^HTTP/1.1 308 '
has "its own tag" "$reply" '^ETag: "30x"$'
is "hops and another host" "$(get -L -w ' %{num_redirects} %{url_effective}' "$u/t/hops.json")" "{} 4 http://localhost:$port/t/strong.json"
is "redirect loop" "$(ends -L --max-redirs 5 "$u/t/loop.json")" 47

# ---- bodies that are not the data, and bodies that break
has "HTML as zip" "$(get -i "$u/t/page.zip")" '^<!DOCTYPE html>'
is "ArcGIS error with 200" "$(get "$u/t/arcgis.json" | jq .error.code)" 498
is "truncated Content-Length" "$(ends "$u/t/cut-length") $(bytes)" "18 50000"
is "truncated chunks" "$(ends "$u/t/cut-chunked") $(bytes)" "18 70000"
is "close-delimited truncation looks whole" "$(ends "$u/t/cut-close") $(bytes)" "0 300"
is "RST after the bytes" "$(ends "$u/t/reset") $(bytes)" "56 600"
is "RST loses nothing, also for a slow client" "$(ends --limit-rate 20M "$u/t/reset-far") $(bytes)" "56 7000000"
is "hang" "$(ends --max-time 0.3 "$u/t/hang") $(bytes)" "28 10"
is "chunked, whole" "$(ends "$u/t/chunked") $(bytes)" "0 200000"
cp "$work/body" "$work/whole"
is "close-delimited, whole" "$(ends "$u/t/close") $(cmp "$work/body" "$work/whole" && echo same)" "0 same"
is "gzip unasked" "$(get "$u/t/gzip" | gzip -dc)" "hello gzip"
is "gzip bomb" "$(ends "$u/t/bomb") $(gzip -dc <"$work/body" | wc -c | tr -d ' ') $(gzip -t <"$work/body" && echo valid)" "0 10000000 valid"
is "the bomb is small" "$(test "$(bytes)" -lt 12000 && echo yes)" yes
is "endless body" "$(ends --max-time 0.5 "$u/t/endless-body") $(test "$(bytes)" -gt 1000000 && echo much)" "28 much"
is "endless headers" "$(ends --max-time 0.5 "$u/t/endless-headers" | sed 's/^\(28\|56\|27\|100\)$/stopped/') $(bytes)" "stopped 0"
is "drip" "$(get -w ' %{time_total}' "$u/t/drip" | awk '{print $1, ($2 >= 0.16)}')" "0123456789 1"
is "drip of the head" "$(get "$u/t/drip-head")" 0123456789
is "delay" "$(get -w ' %{time_total}' "$u/t/delay" | awk '{print $1, ($2 >= 0.15)}')" "late 1"
is "raw bytes" "$(ends "$u/t/raw")" 1
is "empty reply" "$(ends "$u/t/empty-reply")" 52
is "false length" "$(ends --max-time 0.3 "$u/t/lies") $(bytes)" "28 5"
get -I "$u/t/race.json" >"$work/head"
has "before the race" "$(cat "$work/head")" '"v1"'
is "changed between HEAD and GET" "$(get "$u/t/race.json")" 2

# ---- scripted replies
is "one reply per request, the last repeats" "$(for i in 1 2 3 4; do get -w ' %{http_code};' "$u/t/script" | tr -d '\n'; done)" "one 200;500 Internal Server Error 500;last 200;last 200;"
is "cycle" "$(for i in 1 2 3; do get "$u/t/cycle"; done)" aba
is "query meant exactly" "$(get "$u/t/list?page=2") $(get "$u/t/list?page=3")" "page two page one"
is "vintages" "$(code "$u/t/tl_2024.zip") $(code "$u/t/tl_2026.zip")" "200 404"
is "vintages differ" "$(get -I "$u/t/tl_2024.zip" "$u/t/tl_2025.zip" | grep -c '^ETag' ) $(get -I "$u/t/tl_2024.zip" "$u/t/tl_2025.zip" | grep '^ETag' | sort -u | wc -l | tr -d ' ')" "2 2"
is "header lines verbatim" "$(get -I "$u/t/lines" | tr -d '\r' | grep -c '^X-One: \(1\|again\)$')" 2
is "generated GeoJSON" "$(get "$u/t/geo.geojson" | jq -r '.features[0].properties.GEOID')" 20001
is "zip signatures" "$(get "$u/t/zip.zip" | od -An -c -N4 | tr -d ' ')" 'PK003004'

# ---- bulk
is "bulk item" "$(get "$u/t/bulk/999.json" | jq -r '.item | length') $(code "$u/t/bulk/1000.json") $(code "$u/t/bulk/-1.json")" "16 404 404"
is "bulk size" "$(get "$u/t/bulk/3.json" | wc -c | tr -d ' ')" 300
tag() { get -I "$u/t/bulk/$1.json" | sed -n 's/^ETag: //p' | tr -d '\r'; }
old=$(tag 10)
other=$(tag 11)
is "bulk 304" "$(code -H "If-None-Match: $old" "$u/t/bulk/10.json")" 304
post "$u/control/advance?path=/t/bulk/\{n\}.json&every=10" >/dev/null
is "every tenth moves" "$(test "$(tag 10)" != "$old" && echo moved) $(test "$(tag 11)" = "$other" && echo stays)" "moved stays"

# ---- control
post "$u/control/reset" >/dev/null
get -H 'X-Odd:  two  spaces ' -H 'If-None-Match: "q"' "$u/t/strong.json?a=1" >/dev/null
post -d '{"hello":1}' "$u/t/hooks" >/dev/null
is "log counts from one" "$(log 'map(.seq) | @csv')" 1,2
is "log tells method, path, query, status" "$(log '.[0] | "\(.method) \(.path) \(.query) \(.status)"')" "GET /t/strong.json a=1 200"
is "headers verbatim" "$(log '.[0].headers[] | select(startswith("X-Odd"))')" "X-Odd:  two  spaces "
is "body of a POST" "$(log '.[1].body')" '{"hello":1}'
is "log since" "$(get "$u/control/log?since=1" | jq 'length')" 1
is "log of a path" "$(get "$u/control/log?path=/t/hooks" | jq -c 'map(.method)')" '["POST"]'
is "reset goes back" "$(get "$u/t/constant.json")" a
post -d '{"path":"/t/strong.json","status":503,"retry_after":"9","HEAD":{"status":501}}' "$u/control/set" >/dev/null
is "set a status" "$(code "$u/t/strong.json") $(code -I "$u/t/strong.json")" "503 501"
post -d '{"path":"/t/strong.json","clear":true,"body":"new"}' "$u/control/set" >/dev/null
is "set a body" "$(get "$u/t/strong.json")" new
post -d '{"path":"/t/versions.json","version":3}' "$u/control/set" >/dev/null
has "set a version" "$(get -I "$u/t/versions.json")" '"v3"'
post -d '{"path":"/t/script","reply":3}' "$u/control/set" >/dev/null
is "set the next reply" "$(get "$u/t/script")" last
post -d '{"path":"/t/bulk/5.json","version":9}' "$u/control/set" >/dev/null
is "set a bulk item" "$(code "$u/t/bulk/5.json")" 200
post -d '{"path":"/t/bulk/{n}.json","status":500}' "$u/control/set" >/dev/null
is "set a whole bulk" "$(code "$u/t/bulk/5.json")" 500
is "state tells it" "$(get "$u/control/state" | jq -c '.resources[] | select(.path == "/t/versions.json") | [.version, .versions]')" '[3,3]'
is "bad field is named" "$(field -d '{"path":"/t/strong.json","stauts":500}' "$u/control/set")" stauts
is "bad value is named" "$(field -d '{"path":"/t/strong.json","etag":"odd"}' "$u/control/set")" etag
is "bad status" "$(code -d '{"path":"/t/strong.json","status":99}' "$u/control/set")" 400
is "bad version changes nothing" "$(field -d '{"path":"/t/versions.json","version":4,"status":500}' "$u/control/set") $(code "$u/t/versions.json")" "version 200"
is "path is needed" "$(field -d '{}' "$u/control/set")" path
is "unknown resource" "$(field "$u/control/advance?path=/nowhere")" path
is "broken JSON" "$(code -d '{' "$u/control/set")" 400
is "unknown command" "$(code "$u/control/nothing") $(code "$u/control/reset")" "404 405"
is "failed load keeps the old" "$(field -d '{"resources":[{"path":"/n","etag":"no"}]}' "$u/control/load") $(code "$u/t/weak.json")" "etag 200"
is "double path" "$(field -d '{"resources":[{"path":"/n"},{"path":"/n"}]}' "$u/control/load")" path
is "head too large" "$(code -H "X-Big: $(head -c 70000 /dev/zero | tr '\0' x)" "$u/t/weak.json")" 431
head -c 9000000 /dev/zero >"$work/big"
is "body too large" "$(code -H 'Expect:' --data-binary "@$work/big" "$u/control/load")" 413
head -c 7000000 /dev/zero | tr '\0' ' ' >"$work/big"
echo '{"resources":[{"path":"/loaded","body":"yes"}],"latency_ms":50}' >>"$work/big"
is "7 MB with Expect: 100-continue" "$(code -H 'Expect: 100-continue' --data-binary "@$work/big" "$u/control/load")" 200
is "loaded" "$(get "$u/loaded") $(code "$u/t/weak.json")" "yes 404"
is "latency" "$(get -o /dev/null -w '%{time_total}' "$u/loaded" | awk '{print ($1 >= 0.05)}')" 1
post -d '{"latency_ms":0}' "$u/control/set" >/dev/null

# ---- connections
stop
start --tls-port 0 --cert-out "$work/ca.pem" --scenario "$here/selftest.json"
get "$u/t/strong.json" "$u/t/weak.json" "$u/t/chunked" "$u/t/none.json" >/dev/null
is "keep-alive" "$(log 'map(.conn) | unique | length') $(log length)" "1 4"
pipelined=$(printf 'GET /t/file.txt HTTP/1.1\r\nHost: x\r\n\r\nHEAD /t/file.txt HTTP/1.1\r\nHost: x\r\n\r\nGET /t/delay HTTP/1.1\r\nHost: x\r\n\r\nGET /t/versions.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' |
    get "telnet://127.0.0.1:$port" | tr -d '\r' | sed 's/HTTP/\n&/' | grep -E '^(HTTP|from|late|\{)' | tr '\n' '|')
is "pipelined replies in order" "$pipelined" 'HTTP/1.1 200 OK|from a file|HTTP/1.1 200 OK|HTTP/1.1 200 OK|late|HTTP/1.1 200 OK|{"v":1}|'
is "HTTP/1.0 closes" "$(ends -0 "$u/t/close") $(bytes)" "0 200000"
is "bad request line" "$(printf 'NONSENSE\r\n\r\n' | get "telnet://127.0.0.1:$port" | head -n 1 | tr -d '\r')" "HTTP/1.1 400 Bad Request"
i=0
while [ $i -lt 60 ]; do
    echo "url=$u/t/delay"
    echo "output=/dev/null"
    i=$((i + 1))
done >"$work/many"
get --parallel --parallel-immediate --parallel-max 50 -K "$work/many"
is "many at once" "$(get "$u/control/state" | jq '.stats.busy_max >= 30')" true

# ---- TLS
s() { get --cacert "$work/ca.pem" "$@"; }
is "https by name and by address" "$(s "https://localhost:$tls/t/file.txt" "https://127.0.0.1:$tls/t/file.txt" | sort -u)" "from a file"
is "not trusted without the authority" "$(ends --cacert /etc/ssl/certs/ca-certificates.crt "https://localhost:$tls/t/file.txt")" 60
is "large body over TLS" "$(s "https://localhost:$tls/t/chunked" | cmp - "$work/whole" && echo same)" same
is "truncated over TLS" "$(ends --cacert "$work/ca.pem" "https://localhost:$tls/t/cut-length") $(bytes)" "18 50000"
is "close-delimited over TLS" "$(ends --cacert "$work/ca.pem" "https://localhost:$tls/t/cut-close") $(bytes)" "0 300"
is "RST over TLS" "$(ends --cacert "$work/ca.pem" "https://localhost:$tls/t/reset")" 56
is "delay over TLS" "$(s "https://localhost:$tls/t/delay")" late
is "log tells TLS" "$(log '.[-1].tls')" true
is "handshakes are counted" "$(get "$u/control/state" | jq ".stats.tls_handshakes >= 6")" true
pin=$(get "$u/control/state" | jq -r .pin_sha256)
is "public key pin" "$(ends --cacert "$work/ca.pem" --pinnedpubkey "$pin" "https://localhost:$tls/t/file.txt")" 0
is "wrong pin" "$(ends --cacert "$work/ca.pem" --pinnedpubkey 'sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' "https://localhost:$tls/t/file.txt")" 90
kill -TERM "$pid"
wait "$pid"
is "SIGTERM ends cleanly" "$?" 0
pid=

# ---- the demo
start --demo --tick 3600000
is "counties" "$(get "$u/data/counties.geojson" | jq -c '[.type, (.features|length), (.features[0].properties|keys)]')" '["FeatureCollection",20,["AREA","GEOID","NAME","POP"]]'
is "rings are closed" "$(get "$u/data/counties.geojson" | jq '[.features[].geometry.coordinates[0] | .[0] == .[-1]] | all')" true
is "rings turn counter-clockwise" "$(get "$u/data/voting-districts.geojson" | jq '[.features[].properties.AREA > 0] | all')" true
is "inside the box" "$(get "$u/data/watersheds.geojson" | jq '[.features[].geometry.coordinates[0][] | .[0] >= -102 and .[0] <= -94.6 and .[1] >= 37 and .[1] <= 40] | all')" true
get "$u/data/tl_2025_20_place.zip" >"$work/place.zip"
if command -v unzip >/dev/null; then
    is "zip is sound" "$(unzip -tqq "$work/place.zip" && echo sound)" sound
    is "shapefile members" "$(unzip -Z1 "$work/place.zip" | sed 's/.*\.//' | tr '\n' ' ')" "shp shx dbf prj cpg "
fi
is "csv" "$(get "$u/data/stream-gauges.csv" | head -n 1 | tr -d '\r')" "site_no,station_name,latitude,longitude,gage_height_ft,discharge_cfs"
is "manifest tells true tags" "$(get "$u/data/manifest.json" | jq -r '.files[0].etag')" "$(get -I "$u/data/counties.geojson" | sed -n 's/^ETag: "\(.*\)".*/\1/p')"
has "index" "$(get "$u/data/")" '<a href="counties.geojson">'
has "bucket" "$(get "$u/data/bucket?list-type=2&prefix=data/")" '<Key>data/counties.geojson</Key>'
is "ArcGIS" "$(get "$u/data/arcgis/rest/services/School_Districts/FeatureServer/0?f=json" | jq '.editingInfo.lastEditDate > 1600000000000')" true
is "the failing one" "$(code "$u/data/well-permits.json") $(code "$u/data/well-permits.json") $(code "$u/data/well-permits.json") $(ends --max-time 0.2 "$u/data/well-permits.json")" "500 503 200 28"
lm=$(get -I "$u/data/counties.geojson" | sed -n 's/^Last-Modified: //p' | tr -d '\r')
et=$(get -I "$u/data/counties.geojson" | sed -n 's/^ETag: //p' | tr -d '\r')
is "conditional as nginx" "$(code -H "If-None-Match: $et" -H "If-Modified-Since: $lm" "$u/data/counties.geojson") $(code -H "If-None-Match: $et" -H "If-Modified-Since: Mon, 01 Jan 2001 00:00:00 GMT" "$u/data/counties.geojson")" "304 200"
is "every declared source is there" "$(jq -r '.[].url' "$here/demo-sources.json" | sed "s/{port}/$port/" | while read -r url; do code -I --max-time 1 "$url"; echo; done | grep -c -v '^\(200\|500\|503\)$')" 0
stop
sources() { get "$u/data/manifest.json" | jq -c '[.files[] | .etag]'; }
start --demo --tick 20
first=$(sources)
until [ "$(sources)" != "$first" ]; do :; done
is "the demo lives" changed changed
stop

# The script of the demo, step by step: every step changes one dataset, and some come back.
start --demo --tick 3600000
live='counties.geojson tl_2025_20_place.zip stream-gauges.csv voting-districts.geojson school-districts.geojson watersheds.geojson archaeological-sites.geojson meadow-river-nation.geojson'
still='tl_2024_20_place.zip territory-1854.geojson'
etags() { # NAME...: a line each, by one curl
    get -I $(printf "$u/data/%s " "$@") | tr -d '\r' | sed -n 's/^ETag: //p'
}
etags $live >"$work/tags"
begun=$(cat "$work/tags")
rested=$(etags $still)
cp "$work/tags" "$work/history"
steps=0
moves=
while [ $steps -lt 28 ]; do
    post "$u/control/tick" >/dev/null
    etags $live >"$work/tags.new"
    moves="$moves$(diff "$work/tags" "$work/tags.new" | grep -c '^>')"
    diff "$work/tags" "$work/tags.new" | sed -n 's/^> //p' >>"$work/history"
    mv "$work/tags.new" "$work/tags"
    steps=$((steps + 1))
done
is "every step changes one dataset" "$moves" 1111111111111111111111111111
is "some return to earlier bytes" "$(sort "$work/history" | uniq -d | wc -l | tr -d ' ')" 4
is "what is past stays" "$(etags $still)" "$rested"
post "$u/control/reset" >/dev/null
is "reset brings the beginning back" "$(etags $live)" "$begun"
stop

# ---- documents
"$program" --fields >"$work/fields"
is "README has the table of fields" "$(while IFS= read -r line; do grep -Fxq -e "$line" "$here/../20-scenarios/README.md" || echo "$line"; done <"$work/fields")" ""
start --scenario "$here/../20-scenarios"
is "all scenarios load together" "$(code "$u/steady/counties.geojson")" 200
for f in "$here"/../20-scenarios/*.json; do
    is "expectations of $(basename "$f")" "$("$program" --expect "$f" | jq 'all(.[]; (.source.url | test("^(/|https?://)")) and (.checks | length > 0))')" true
done
stop
"$program" --scenario /nowhere.json 2>"$work/err"
is "missing scenario" "$?" 1
"$program" --odd 2>"$work/err"
is "unknown option" "$?" 2

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/bin/sh
# What nginx keeps of public answers, and what it must not. freshet-api is stopped (SIGSTOP) to see what
# comes from the cache: whatever is answered then was kept.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/cache.json
dir=$work/i
FRESHET_DIR=$dir
export FRESHET_DIR
token=$(freshet init "$dir")
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
for id in a b; do
    freshet source add --id $id --url "$u/$id.geojson" --title "Title-$id" --collection c$id --trigger '{"type":"manual"}' >/dev/null
done
freshet check all --wait >/dev/null
freshet work --drain >/dev/null

start() {
    web=$(free_port)
    base=http://127.0.0.1:$web
    : >"$work/up.out"
    "$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
    up=$!
    children=$up
    soon "it is up" 30 grep -q "$base/" "$work/up.out"
    [ "$failed" -eq 0 ] || { cat "$work/up.err" "$dir/log/nginx.log"; summary; exit 1; }
    api=$(pgrep -P "$up" -f freshet-api)
    api="$api $(pgrep -P "$api" | tr '\n' ' ')"
}
signal_api() { for pid in $api; do kill "-$1" "$pid"; done; }
get() { curl -sS --max-time 5 "$@"; }
# kept CURL-ARGUMENTS...: "status bytes" while freshet-api is stopped; 000 is no answer at all
kept() { curl -s --max-time 0.5 -o "$work/kept" -w '%{http_code}' "$@"; }
# Nothing is kept past its slot of ten seconds: what needs some of them begins early in one.
early() { while [ $(($(date +%s) % 10)) -gt 4 ]; do sleep 0.1; done; }
start

# ---- what is kept ------------------------------------------------------------------------------------
early
for path in /freshness/a /badges/a.svg /stac/collections/ca '/changes?limit=5'; do get "$base$path" -o "$work/warm$(echo "$path" | tr '/?' __)"; done
get "$base/changes" -H 'Accept: application/atom+xml' -o /dev/null
get "$base/changes" -H 'Accept: text/csv;q=0.5, application/atom+xml' -o /dev/null
get "$base/changes?f=csv" -o /dev/null
is "an error is one" "$(get -o /dev/null -w '%{http_code}' "$base/freshness/nobody")" 404
tag=$(get -D - -o /dev/null "$base/freshness/a" | tr -d '\r' | sed -n 's/^ETag: //p')
signal_api STOP
for path in /freshness/a /badges/a.svg /stac/collections/ca '/changes?limit=5'; do
    is "$path is kept" "$(kept "$base$path")" 200
    is "as it was" "$(cat "$work/kept")" "$(cat "$work/warm$(echo "$path" | tr '/?' __)")"
done
is "HEAD is answered by it" "$(kept -I "$base/freshness/a") $(grep -ic "^etag: $tag" "$work/kept")" '200 1'
is "so are conditions" "$(kept "$base/freshness/a" -H "If-None-Match: $tag")" 304
is "weak ones, too" "$(kept "$base/freshness/a" -H "If-None-Match: \"x\", W/$tag")" 304
is "another ETag gets the whole" "$(kept "$base/freshness/a" -H 'If-None-Match: "x"')" 200
is "a range gets the whole, or the part" "$(kept "$base/freshness/a" -H 'Range: bytes=0-9' | grep -c '^20[06]$')" 1
is "Atom is kept apart" "$(kept "$base/changes" -H 'Accept: application/atom+xml') $(head -c 5 "$work/kept")" '200 <?xml'
is "what asks in its own way is not kept" "$(kept "$base/changes" -H 'Accept: text/csv;q=0.5, application/atom+xml')" 000
is "another host is another answer" "$(kept "$base/freshness/a" -H 'Host: other.example')" 000
is "errors are not kept" "$(kept "$base/freshness/nobody")" 000
is "nor is health" "$(kept "$base/healthz")" 000
is "nor a date alone" "$(kept "$base/freshness/a" -H 'If-Modified-Since: Thu, 02 Jul 2026 10:00:00 GMT')" 000
is "nor a question in a body" "$(kept -X POST "$base/stac/search" -H 'Content-Type: application/json' -d '{}')" 000
signal_api CONT

# ---- bytes are named by their digest ------------------------------------------------------------------
asset=$base/assets/sha256/$(get "$base/changes?source=a" | jq -r '.results[0].object_identity.sha256')
tag=$(get -D - -o /dev/null "$asset" | tr -d '\r' | sed -n 's/^ETag: //p')
for accept in '*/*' image/png application/json; do
    is "who has the bytes is not sent them again ($accept)" \
        "$(get -o "$work/bytes" -w '%{http_code} %{size_download}' "$asset" -H "Accept: $accept" -H "If-None-Match: $tag")" '304 0'
done
is "who has others is" "$(get -o /dev/null -w '%{http_code}' "$asset" -H 'If-None-Match: "x"')" 200
is "HEAD has no body" "$(get -I -o /dev/null -w '%{http_code}' "$asset")" 200

# ---- what nginx tells itself --------------------------------------------------------------------------
for path in / /docs; do
    is "OPTIONS $path says what may be done" "$(get -X OPTIONS -D - -o /dev/null "$base$path" | tr -d '\r' |
        grep -c -e '^HTTP/1.1 204' -e '^Allow: GET, HEAD, OPTIONS$' -e '^Access-Control-Allow-Origin: \*$')" 3
    get -X POST -D "$work/head" -o "$work/body" "$base$path" -d x
    is "POST $path is a 405 that says what may be" "$(tr -d '\r' <"$work/head" | grep -c -e '^HTTP/1.1 405' -e '^Allow: GET, HEAD, OPTIONS$')" 2
done
is "a problem of nginx is one of ours" "$(tr -d '\r' <"$work/head" | grep -c -e '^Content-Type: application/problem+json' \
    -e '^Cache-Control: no-store$' -e '^Access-Control-Allow-Origin: \*$' -e '^X-Content-Type-Options: nosniff$')" 4
is "its type is an address" "$(jq -r .type "$work/body")" "$base/problems/#method-not-allowed"
is "and leads somewhere" "$(get -o /dev/null -w '%{http_code}' "$(jq -r .type "$work/body")")" 200
is "a host that is none stays out of it" "$(get -X POST -H 'Host: a"b' "$base/docs" -d x | jq -r .type)" "$base/problems/#method-not-allowed"
get -o "$work/body" "$base/$(head -c 70000 /dev/zero | tr '\0' a)"
is "an address too long has a type that is one" "$(jq -r '"\(.status) \(.type)"' "$work/body")" "414 $base/problems/#invalid-request"
for path in /badges.html /app.js /style.css /problems/; do
    is "OPTIONS $path says what may be done" "$(get -X OPTIONS -D - -o /dev/null "$base$path" | tr -d '\r' |
        grep -c -e '^HTTP/1.1 204' -e '^Allow: GET, HEAD, OPTIONS$' -e '^Access-Control-Allow-Origin: \*$')" 3
done
for path in / /docs /badges.html /problems/ /index.html; do
    is "a page takes no query: $path" "$(get -o "$work/body" -w '%{http_code} %{content_type}' "$base$path?colour=red&b=1") $(jq -c '[.errors[].field]' "$work/body")" \
        '400 application/problem+json ["colour","b"]'
    is "and is there without one" "$(get -o /dev/null -w '%{http_code}' "$base$path")" 200
done
is "a query that names nothing is one, too" "$(get -o /dev/null -w '%{http_code}' "$base/?&")" 400
is "HEAD likewise" "$(get -I -o /dev/null -w '%{http_code}' "$base/?x=1")" 400
is "files of a page do not look at theirs" "$(get -o /dev/null -w '%{http_code}' "$base/app.js?v=2")" 200
for path in /healthz /readyz /metrics /changes/stream; do
    is "$path is always said anew" "$(curl -s --max-time 1 -o /dev/null -w '%{http_code}' "$base$path" -H 'If-None-Match: *' | sed 's/503/200/')" 200
done
is "a badge without data has a day" "$(get -I "$base/badges/collections/ca.json" | grep -c '^Last-Modified')" 1
lacks "only who may come back is told when" "$(cat "$work/head")" '^Retry-After'

# ---- a search holds a shape --------------------------------------------------------------------------
{
    printf '{"intersects":{"type":"Point","coordinates":[-98,38]},"limit":1'
    head -c 200000 /dev/zero | tr '\0' ' '
    printf '}'
} >"$work/search.json"
search() { get -o "$work/found" -w '%{http_code}' -X POST "$base/stac/search" -H 'Content-Type: application/json' "$@"; }
is "a body of 200 kB is a search" "$(search --data-binary "@$work/search.json")" 200
is "also when its length is not told" "$(search -H 'Transfer-Encoding: chunked' --data-binary "@$work/search.json")" 200
head -c 2000000 /dev/zero | tr '\0' ' ' >"$work/huge.json"
i=0
odd=
while [ $i -lt 60 ]; do
    code=$(search --data-binary "@$work/search.json")
    [ "$code" = 200 ] || odd="$odd $code"
    i=$((i + 1))
done
is "and every time: nothing of it is left in the connection" "$odd" ''
is "one of 2 MB is too large" "$(search --data-binary "@$work/huge.json") $(jq -r .code "$work/found")" '413 TOO_LARGE'
is "elsewhere the limit is the former one" "$(get -o /dev/null -w '%{http_code}' "$base/admin/checks" --data-binary "@$work/search.json")" 413
is "a search by address is kept as before" "$(early; get -o /dev/null "$base/stac/search?limit=1"; signal_api STOP; kept "$base/stac/search?limit=1"; signal_api CONT)" 200

# ---- nobody gets what was made for somebody else -----------------------------------------------------
is "links are those of the host" "$(get "$base/freshness/a" -H 'Host: one.example' | jq -r .prov_ref | cut -d/ -f3) $(get "$base/freshness/a" -H 'Host: two.example' | jq -r .prov_ref | cut -d/ -f3)" 'one.example two.example'
is "a proxy that nobody trusts changes none" "$(get "$base/freshness/b" -H 'X-Forwarded-Host: evil.example' | jq -r .prov_ref | cut -d/ -f3) $(get "$base/freshness/b" | jq -r .prov_ref | cut -d/ -f3)" "127.0.0.1:$web 127.0.0.1:$web"
is "each format is its own" "$(for a in application/json application/atom+xml text/csv application/feed+json; do get -o /dev/null -w '%{content_type} ' "$base/changes" -H "Accept: $a"; done)" 'application/json application/atom+xml; charset=utf-8 text/csv; charset=utf-8; header=present application/feed+json '
get -D "$work/head" -o /dev/null --compressed "$base/changes"
has "compressed" "$(cat "$work/head")" '^Content-Encoding: gzip'
has "its ETag is weak" "$(cat "$work/head")" '^ETag: W/'
is "Vary names both" "$(tr -d '\r' <"$work/head" | sed -n 's/^Vary: //p' | sort | tr '\n' ' ')" 'Accept Accept-Encoding '
lacks "no cookies" "$(cat "$work/head")" '^Set-Cookie'
event=$(get "$base/changes?limit=1" | jq -r '.results[0].change_event_id')
date=$(get -D - -o /dev/null "$base/changes/$event" | tr -d '\r' | sed -n 's/^Last-Modified: //p')
is "a date alone is compared where it is exact" "$(get -o /dev/null -w '%{http_code}' "$base/changes/$event" -H "If-Modified-Since: $date")" 304
files() { find "$dir/run/cache" -type f | wc -l; }
before=$(files)
i=0
while [ $i -lt 30 ]; do
    get -o /dev/null "$base/freshness/a" -H "Accept: application/json;q=0.$i"
    i=$((i + 1))
done
is "odd wishes fill no cache" "$(($(files) <= before + 1))" 1
get -o /dev/null "$base/admin/approvals" -H "Authorization: Bearer $token"
lacks "nothing of /admin is kept" "$(find "$dir/run/cache" -type f -exec grep -ah '^KEY: ' {} +)" ' /admin'

# ---- a source that appears, appears at once -----------------------------------------------------------
freshet source add --id nobody --url "$u/b.geojson" --title 'Now there' >/dev/null
is "an error of before stands in nobody's way" "$(get -o /dev/null -w '%{http_code}' "$base/freshness/nobody")" 200

# ---- revocation is at once -------------------------------------------------------------------------
item=$(get "$base/stac/collections/ca/items" | jq -r '.features[0].id')
prov=$(get "$base/freshness/a" | jq -r .prov_ref)
early
set -- "$base/freshness/a" "$base/badges/a.svg" "$base/changes" "$base/stac/collections/ca" "$base/stac/collections/ca/items/$item" "$prov"
for url; do get -o /dev/null "$url"; done
signal_api STOP
for url; do is "kept before: ${url#"$base"}" "$(kept "$url")" 200; done
run 0 freshet source set a --sensitivity sovereign
for url; do is "and gone after it: ${url#"$base"}" "$(kept "$url")" 000; done
signal_api CONT
for url; do
    body=$(get "$url")
    lacks "nothing is told of it: ${url#"$base"}" "$body" 'Title-a\|95\.5'
done
is "it never was" "$(get "$base/freshness/a")" "$(get "$base/freshness/never")"
get -o /dev/null "$base/freshness/b"
signal_api STOP
is "nothing is kept until the slots of the withdrawal are over" "$(kept "$base/freshness/b")" 000
signal_api CONT
closed() { find "$dir/run/closed" -type f -printf '%f\n' | sort | tr '\n' ' '; }
is "which are the one before, this one, and two more" "$(closed | awk '{ print $4 - $1, NF }')" '3 4'
open_slots() { rm -r "$dir/run/closed"; } # as time would
open_slots
early
get -o /dev/null "$base/freshness/b"
signal_api STOP
is "then the others are kept as before" "$(kept "$base/freshness/b")" 200
mkdir "$dir/run/closed"
slot=$(($(date +%s) / 10))
: >"$dir/run/closed/$slot"
: >"$dir/run/closed/$((slot + 1))"
is "a slot that is closed while something is kept in it hands nothing out" "$(kept "$base/freshness/b")" 000
signal_api CONT
is "and all is answered" "$(get -o /dev/null -w '%{http_code}' "$base/freshness/b")" 200
is "a HEAD, too" "$(get -I -o /dev/null -w '%{http_code}' "$base/freshness/b")" 200

# ---- what cannot be withdrawn there is not withdrawn at all ---------------------------------------------
open_slots
: >"$dir/run/closed"
freshet source set b --sensitivity restricted >"$work/out" 2>"$work/err"
is "the command fails" "$?" 1
has "and says why" "$(cat "$work/err")" 'cannot close the cache'
is "the level is the former one" "$(freshet source show b --json | jq -r .sensitivity)" public
rm "$dir/run/closed"

# ---- another policy ------------------------------------------------------------------------------------
sed 's/"version": *"[^"]*"/"version": "2-of-cache-sh"/' "$dir/policy.json" >"$work/policy.json"
cp "$work/policy.json" "$dir/policy.json"
run 0 freshet policy check
soon "a new policy closes the slots" 20 test -d "$dir/run/closed"

# ---- a start empties the cache --------------------------------------------------------------------------
open_slots
early
get -o /dev/null "$base/freshness/b"
lacks "something is kept" "$(files)" '^0$'
kill "$up"
wait "$up"
start
is "what was kept before a start is gone, and no slot is closed" "$(files) $(ls -d "$dir/run/closed" 2>/dev/null)" '0 '

# ---- off -----------------------------------------------------------------------------------------------
kill "$up"
wait "$up"
freshet config set cache_s 0
start
get -o /dev/null "$base/freshness/b"
signal_api STOP
is "cache_s 0 keeps nothing" "$(kept "$base/freshness/b")" 000
signal_api CONT
summary

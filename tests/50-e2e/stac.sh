#!/bin/sh
# The catalog behind real nginx, with clients that we did not write: GDAL's OGC API Features driver reads a
# collection, the official schemas judge every document where they are at hand; the library of STAC Browser,
# and pystac-client where it is installed, walk it.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --demo --tick 3600000
dir=$work/i
FRESHET_DIR=$dir
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web
schemas=${FRESHET_SCHEMAS:-../shared/data/schemas}

get() { curl -sS --max-time 20 "$@"; }
status() { get -o /dev/null -w '%{http_code}' "$@"; }
post() { get -X POST -H 'Content-Type: application/json' "$base/stac/search" -d "$@"; }
tick() { get -X POST "$u/control/tick" >/dev/null; }

freshet init "$dir" >/dev/null
sed "s/{port}/$port/g" tests/upstream/demo-sources.json >"$work/sources.json"
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet source import "$work/sources.json" >/dev/null
for _ in 1 2 3; do
    tick
    freshet check all >/dev/null 2>&1
    freshet work --drain >/dev/null 2>&1
done
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
children=$!
soon "it says when it is ready" 30 grep -q "$base/" "$work/up.out"

# ---- the root ---------------------------------------------------------------------------------------
is "self is the address asked for" "$(get "$base/stac" | jq -r '.links[] | select(.rel == "self") | .href')" "$base/stac"
is "with a slash too" "$(get "$base/stac/" | jq -r '.links[] | select(.rel == "self") | .href')" "$base/stac/"
is "the same classes on both pages" "$(get "$base/stac" | jq -c .conformsTo)" "$(get "$base/stac/conformance" | jq -c .conformsTo)"
has "browsers get a page" "$(get -i -H 'Accept: text/html,*/*;q=0.8' "$base/stac")" '^Content-Type: text/html'
total=$(get "$base/stac/search?limit=1" | jq .numberMatched)
if [ "$total" -gt 10 ]; then pass "there are items ($total)"; else fail "there are items ($total)"; fi

# ---- pages --------------------------------------------------------------------------------------------
# walk URL: every id along next; then back along prev.
walk() {
    next=$1
    while [ -n "$next" ]; do
        get "$next" >"$work/page"
        jq -r '.features[].id' "$work/page"
        last=$next
        next=$(jq -r '.links[] | select(.rel == "next") | .href' "$work/page")
    done
}
walk "$base/stac/search?limit=3" >"$work/ids"
is "every item once along next" "$(sort -u "$work/ids" | wc -l) $(wc -l <"$work/ids")" "$total $total"
walk "$base/stac/search?limit=3" >/dev/null
back=$last
: >"$work/back"
while [ -n "$back" ]; do
    get "$back" >"$work/page"
    jq -r '.features[].id' "$work/page" | tac >>"$work/back"
    back=$(jq -r '.links[] | select(.rel == "prev") | .href' "$work/page")
done
is "and the same back along prev" "$(tac "$work/back")" "$(cat "$work/ids")"
walk "$base/stac/search?limit=4&sortby=-title,%2Bversion" >"$work/sorted"
is "in any order" "$(sort "$work/sorted")" "$(sort "$work/ids")"
body='{"limit":3}'
: >"$work/posted"
while [ -n "$body" ]; do
    post "$body" >"$work/page"
    jq -r '.features[].id' "$work/page" >>"$work/posted"
    body=$(jq -c '.links[] | select(.rel == "next") | .body' "$work/page")
done
is "and by POST" "$(cat "$work/posted")" "$(cat "$work/ids")"
is "a token of another order is refused" "$(status "$base/stac/search?sortby=title&token=$(get "$base/stac/search?limit=3" |
    jq -r '.links[] | select(.rel == "next") | .href' | sed 's/.*token=//')")" 400

next=$(get "$base/stac/search?limit=1" | jq -r '.links[] | select(.rel == "next") | .href')
prev=$(get "$next" | jq -r '.links[] | select(.rel == "prev") | .href')
is "back to a page of one" "$(get "$prev" | jq -r '.features[].id')" "$(head -n 1 "$work/ids")"

# ---- errors of a body name what is wrong ----------------------------------------------------------------
wrong() { post "$1" | jq -r '.status, .detail, .errors[].field' | tr '\n' ' '; }
has "a member that there is none of" "$(wrong '{"zzz":1}')" '^400 .* zzz $'
has "nesting" "$(wrong "{\"filter\":$(printf '%0100d' 0 | tr 0 '[')$(printf '%0100d' 0 | tr 0 ']')}")" '^400 .*nested deeper'
has "JSON that is none" "$(wrong '{"limit":')" '^400 .*not valid JSON'
has "heights the wrong way round" "$(wrong '{"bbox":[0,0,5,1,1,4]}')" '^400 .*height.* bbox $'

# ---- the tree -------------------------------------------------------------------------------------------
: >"$work/tree"
todo=$base/stac
widest=0
while [ -n "$todo" ]; do
    more=
    for url in $todo; do
        get "$url" >"$work/node"
        n=$(jq '.links | length' "$work/node")
        [ "$n" -le "$widest" ] || widest=$n
        jq -r '.links[] | select(.rel == "item") | .href' "$work/node" | sed 's|.*/||' >>"$work/tree"
        more="$more $(jq -r '.links[] | select(.rel == "child") | .href' "$work/node" | tr '\n' ' ')"
    done
    todo=$(echo "$more" | xargs)
done
is "every item is reachable from the root, once" "$(sort "$work/tree")" "$(sort "$work/ids")"
if [ "$widest" -le 22 ]; then pass "no document has many links"; else fail "a document has $widest links"; fi

# ---- dates tell no moment of a withdrawal ---------------------------------------------------------------
modified() { get -I "$1" | tr -d '\r' | sed -n 's/^Last-Modified: //p'; }
for path in /stac "/stac/search?ids=nothing-v1"; do
    has "of $path the day alone is told" "$(modified "$base$path")" ' 00:00:00 GMT$'
done

c=$(get "$base/stac/search?limit=1&filter=geometry%20IS%20NOT%20NULL" | jq -r '.features[0].collection')
# ---- the description of the addresses -----------------------------------------------------------------
kind() { get -o /dev/null -D - "$base$1" -H "Accept: $2" | tr -d '\r' | sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p; s/^Content-Type: //p' | xargs; }
for path in /stac/api /openapi.json; do
    is "$path: its own type" "$(kind $path '*/*')" '200 application/vnd.oai.openapi+json;version=3.1'
    is "$path: what the link says" "$(kind $path "$(get "$base/stac" | jq -r '.links[] | select(.rel == "service-desc") | .type')")" \
        '200 application/vnd.oai.openapi+json;version=3.1'
    is "$path: JSON" "$(kind $path application/json)" '200 application/json'
    is "$path: JSON for who knows 3.0 alone" "$(kind $path 'application/vnd.oai.openapi+json;version=3.0, application/json')" '200 application/json'
    is "$path: nothing else" "$(kind $path text/turtle)" '406 application/problem+json'
    has "$path: Accept chooses" "$(get -I "$base$path")" '^Vary: .*Accept$'
    has "$path: a date" "$(get -I "$base$path")" '^Last-Modified: '
    has "$path: compressed" "$(get -o /dev/null -D - "$base$path" -H 'Accept-Encoding: gzip')" '^Content-Encoding: gzip'
done

# ---- schemas ---------------------------------------------------------------------------------------------
if [ -f "$schemas/validate_stac.py" ] && /usr/bin/python3 -c "import jsonschema" 2>/dev/null; then
    for path in /stac /stac/collections "/stac/search?limit=1000" "/stac/collections/$c"; do
        get "$base$path" >"$work/doc.json"
        run 0 /usr/bin/python3 "$schemas/validate_stac.py" "$work/doc.json"
        [ "$got" -eq 0 ] || printf '%s\n' "$out" | head -n 5 | sed 's/^/#   /'
    done
else
    echo "skipped: the official schemas are not at hand"
fi

# ---- GDAL ------------------------------------------------------------------------------------------------
n=$(get "$base/stac/collections/$c/items?limit=1" | jq .numberMatched)
if command -v ogrinfo >/dev/null; then
    run 0 ogrinfo -so "OAPIF:$base/stac" "$c"
    has "GDAL counts the items of $c" "$out" "^Feature Count: $n\$"
    run 0 ogrinfo -al -q "OAPIF:$base/stac" "$c"
    is "and reads them" "$(printf '%s\n' "$out" | grep -c '^OGRFeature')" "$n"
    some=$(get "$base/stac/collections/$c/items?limit=1" | jq -r '.features[0].id')
    run 0 env CPL_DEBUG=ON CPL_CURL_VERBOSE=YES ogrinfo -al -q "OAPIF:$base/stac" "$c" -where "id='$some'"
    is "it takes an id for a condition" "$(printf '%s\n' "$out" | grep -c '^OGRFeature')" 1
    lacks "it reads the description of the addresses" "$err" '^ERROR'
    has "which it asks for" "$err" 'GET /stac/api '
    run 0 env CPL_DEBUG=ON CPL_CURL_VERBOSE=YES ogrinfo -al -q "OAPIF:$base/stac" "$c" -where "version='1'"
    lacks "also for another condition" "$err" '^ERROR'
else
    echo "skipped: no ogrinfo"
fi
if node_packages stac-js@0.5; then
    run 0 node tests/50-e2e/stac_walk.mjs "$base/stac"
    is "stac-js meets every item by search, by collections and by the tree" "$out" "$total $total $total 0"
else
    echo "skipped: no stac-js (npm)"
fi
if python3 -c 'import pystac_client' 2>/dev/null; then
    run 0 python3 -c "
import pystac_client, sys
c = pystac_client.Client.open('$base/stac')
print(len(list(c.search(limit=3).items())))"
    is "pystac-client meets every item" "$out" "$total"
fi
summary

#!/bin/sh
# How fresh is it? Every state with its words and its explanation, as the clock moves; filters and pages of
# the list; badges of a source, a collection and all, in their sizes; conditions.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
. tests/50-e2e/cgi.sh
start_upstream --scenario tests/50-e2e/freshness.json
FRESHET_DIR=$work/i
export FRESHET_DIR

export FRESHET_NOW=2026-07-02T10:00:00Z FRESHET_SEED=7
freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
add() { # ID COLLECTION [OPTIONS]
    id=$1 collection=$2
    shift 2
    freshet source add --id "$id" --url "$u/$id.json" --title "Title of $id" --collection "$collection" "$@" >/dev/null
}
add a open --freshness-days 30
add old open --freshness-days 1
add hist open --freshness-days 0
add down shaky --freshness-days 30
add never shaky
add res shy --sensitivity restricted
add sov open --sensitivity sovereign
add ret open
freshet check all --wait >/dev/null
for event in $(sqlite3 -readonly "$FRESHET_DIR/ledger.db" "SELECT event_id FROM inbox JOIN sources USING (src_no) WHERE state = 'held' AND id = 'res'"); do
    freshet approve "$event" --reviewer steward --note fine >/dev/null
done
freshet work --drain >/dev/null
freshet source retire ret >/dev/null
freshet source add --id tiger --url "$u/tl_{year}.json" --title Vintages --collection later --trigger '{"type":"manual"}' >/dev/null
advance /down.json
FRESHET_NOW=2026-07-03T09:00:00Z
freshet check source down >/dev/null

# ---- states, words, explanations -------------------------------------------------------------------
verdict() { # ID: "state|label|rule"
    get "/freshness/$1"
    jq -r '[.state, .label, .explanation.rule] | join("|")' "$work/body"
}
is "inside its window" "$(verdict a)" 'current|Updated on 2026-07-02|within_window'
is "it is explained" "$(jq -c '.explanation' "$work/body")" '{"rule":"within_window","text":"The data is 1 day old, 30 are allowed, and the last check worked.","data_age_days":1,"allowed_age_days":30,"last_check":"2026-07-02T10:00:00.000Z","last_answer":"2026-07-02T10:00:00.000Z","failed_checks":0}'
is "its evidence is named" "$(jq -c '[.run_id != null, .object_identity.sha256 != null, (.prov_ref | startswith("http://test.example/prov/")), (.delta_manifest_ref | startswith("http://test.example/deltas/"))]' "$work/body")" '[true,true,true,true]'
is "historical says so" "$(verdict hist)" 'current|Historical, updated on 2026-07-02|historical'
is "checks that fail" "$(verdict down)" 'unknown|Checks failing, last updated on 2026-07-02|checks_fail'
is "never promoted" "$(verdict never)" 'unknown|No verified update yet|never_promoted'
is "restricted" "$(verdict res)" 'restricted|Updated on 2026-07-02|restricted'
is "of it only the day" "$(jq -c '[.updated_at, .checked_at, .run_id, .object_identity, .explanation.last_check, .explanation.allowed_age_days]' "$work/body")" '["2026-07-02",null,null,null,null,null]'
is "retired" "$(verdict ret)" 'retired|Retired, last updated on 2026-07-02|retired'
get /freshness/sov
cp "$work/answer" "$work/sov"
get /freshness/nobody
is "sovereign is like one that never was" "$(cat "$work/sov")" "$(cat "$work/answer")"

# ---- the list --------------------------------------------------------------------------------------
ids() {
    get "$1"
    jq -r '[.results[].source_id] | join(" ")' "$work/body"
}
is "all but the sovereign" "$(ids /freshness)" 'a down hist never old res ret tiger'
is "by state" "$(ids '/freshness?state=current')" 'a hist old'
is "by collection" "$(ids '/freshness?collection=shaky')" 'down never'
is "by both" "$(ids '/freshness?state=unknown&collection=shaky')" 'down never'
is "a collection with a sovereign source shows the others" "$(ids '/freshness?collection=open')" 'a hist old ret'
is "no such collection" "$(ids '/freshness?collection=none') $(status)" ' 200'
at='/freshness?limit=2&state=current' seen=
while [ -n "$at" ]; do
    seen="$seen$(ids "$at")/"
    at=$(jq -r '.links[] | select(.rel == "next").href | ltrimstr("http://test.example")' "$work/body")
done
is "pages of a filtered list lose and repeat nothing" "$seen" 'a hist/old/'
for bad in 'state=fine state' 'limit=0 limit' 'after=A after' 'collection=A%20 collection' 'colour=red colour'; do
    get "/freshness?${bad% *}"
    is "/freshness?${bad% *} is refused by name" "$(status) $(jq -r '.errors[0].field' "$work/body")" "400 ${bad##* }"
done

# ---- the clock alone turns a verdict, and its ETag ---------------------------------------------------
moved() { # PATH: 304 while nothing turned, 200 after; prints both and whether Last-Modified moved
    FRESHET_NOW=2026-07-03T09:00:00Z
    get "$1"
    tag=$(header ETag) date=$(header Last-Modified)
    FRESHET_NOW=2026-07-03T09:59:59Z
    get "$1" '*/*' "$tag"
    before=$(status)
    FRESHET_NOW=2026-07-03T10:00:01Z
    get "$1" '*/*' "$tag"
    echo "$before $(status) $([ "$(header Last-Modified)" = "$date" ] || echo later)"
}
for path in /freshness/old /freshness /badges/old.svg /badges/old.json /badges/collections/open.svg /badges/collections/open.json /badges/all.svg /badges/all.json; do
    is "$path turns when a window closes" "$(moved "$path")" '304 200 later'
done
FRESHET_NOW=2026-07-03T10:00:01Z
is "past its window" "$(verdict old)" 'past_window|Past freshness window|older_than_allowed'
is "why" "$(jq -r .explanation.text "$work/body")" 'The data is 1 day old; 1 is allowed.'
is "it moved in the list" "$(ids '/freshness?state=past_window')" 'old'

# ---- badges -----------------------------------------------------------------------------------------
xml() { /usr/bin/python3 - "$work/body" "$1" <<'PY'; }
import sys, xml.etree.ElementTree as E
r = E.parse(sys.argv[1]).getroot()
n = "{http://www.w3.org/2000/svg}"
print({"head": lambda: f'{r.get("role")}|{r.get("height")}|{r.find(n + "title").text}|{r.find(n + "desc").text}',
       "words": lambda: "|".join(t.text for t in r.iter(n + "text")),
       "width": lambda: int(r.get("width")) * 100 // int(r.get("height"))}[sys.argv[2]]())
PY
get /badges/a.svg
is "SVG" "$(status) $(header Content-Type)" '200 image/svg+xml; charset=utf-8'
is "for screen readers" "$(xml head)" 'img|20|Title of a: Updated on 2026-07-02|The data is 1 day old, 30 are allowed, and the last check worked.'
is "words and shape beside the colour" "$(xml words)" 'freshness|✓ Updated on 2026-07-02'
wide=$(xml width)
for size in s:20 m:28 l:40; do
    get "/badges/a.svg?size=${size%:*}"
    is "size ${size%:*}" "$(xml head | cut -d'|' -f2)" "${size#*:}"
    is "in proportion" "$(($(xml width) / 10))" "$((wide / 10))"
done
get '/badges/a.svg?size=xl'
is "another size is refused by name" "$(status) $(jq -r '.errors[0].field' "$work/body")" '400 size'
get /badges/collections/open.json
is "a collection: watched and open ones" "$(jq -c . "$work/body")" '{"schemaVersion":1,"label":"freshness","message":"2 of 3 current","color":"#9a5b00","cacheSeconds":300}'
has "it points to the list" "$(header Link)" '<http://test.example/freshness?collection=open>; rel="describedby"'
get /badges/collections/open.svg
is "with its words" "$(xml head)" 'img|20|open: 2 of 3 current|2 current, 1 past their freshness window, 0 of which nothing can be claimed, 0 with an update awaiting review. Retired and restricted sources are not counted.'
get /badges/all.json
is "all: neither restricted nor retired nor a template" "$(jq -r .message "$work/body")" '2 of 5 current'
get /badges/collections/shy.json
is "only restricted ones: no number tells of them" "$(jq -r .message "$work/body")" 'Nothing to judge'
get /badges/collections/later.json
is "only a template" "$(status) $(jq -r .message "$work/body")" '200 Nothing to judge'
get /badges/collections/nothing.svg
is "no such collection" "$(status)" 404
freshet source add --id sov2 --url "$u/sov.json" --title canary --collection hidden --sensitivity sovereign >/dev/null
get /badges/collections/hidden.json
cp "$work/answer" "$work/hidden"
get /badges/collections/never.json
is "a collection of sovereign ones is like none" "$(cat "$work/hidden")" "$(cat "$work/answer")"

# A look that finds nothing new is no news for a badge: it stays a 304.
get /badges/a.svg
tag=$(header ETag)
has "to be asked again each time" "$(header Cache-Control)" '^no-cache$'
freshet check source a >/dev/null
get /badges/a.svg '*/*' "$tag"
is "304 after a check that found nothing" "$(status) $(wc -c <"$work/body")" '304 0'
advance /a.json
freshet check source a --wait >/dev/null
freshet work --drain >/dev/null
get /badges/a.svg '*/*' "$tag"
is "200 after a change" "$(status) $(xml words)" '200 freshness|✓ Updated on 2026-07-03'
summary

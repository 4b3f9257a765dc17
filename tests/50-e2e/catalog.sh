#!/bin/sh
# DCAT, PROV and the formats of the feed, read by libraries that we did not write: rdflib, prov,
# feedparser; and by schemas and shapes where they lie beside the project. Canaries of withheld sources are
# looked for in all of it. Requests go to freshet-api as a CGI program: no server is needed.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
. tests/50-e2e/cgi.sh
start_upstream --scenario tests/50-e2e/catalog.json
FRESHET_DIR=$work/i
export FRESHET_DIR
read_with() { /usr/bin/python3 tests/50-e2e/catalog_graph.py "$@" 2>&1; }
query() { sqlite3 -readonly "$FRESHET_DIR/ledger.db" "$1"; }

export FRESHET_NOW=2026-07-02T10:00:00Z FRESHET_SEED=7
freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
# shellcheck disable=SC1003 # the backslash is meant
freshet source add --id lines --url "$u/lines.geojson" --title 'Li<n>es & "Gr\enzen" é' --license CC0-1.0 --collection borders --feature-key id
freshet source add --id gen --url "$u/canary-gen.geojson" --title 'Roughly' --sensitivity generalized
freshet source add --id res --url "$u/canary-res.json" --title 'A title' --sensitivity restricted
freshet source add --id canary-sov --url "$u/canary-sov.json" --title 'canary' --sensitivity sovereign
freshet check all --wait >/dev/null
FRESHET_NOW=2026-07-03T10:00:00Z
advance /lines.geojson
freshet source add --id tiger --url "$u/tl_{year}.json" --title Vintages --trigger '{"type":"annual","month":7}'
freshet check all --wait >/dev/null
FRESHET_NOW=2026-07-03T10:05:00Z
freshet check due --wait >/dev/null
freshet rollback "$(query "SELECT delta_id FROM ledger WHERE version = 2")" --reason 'wrong' >/dev/null
for event in $(query "SELECT event_id FROM inbox WHERE state = 'held'"); do
    freshet approve "$event" --reviewer steward --note canary >/dev/null
done
freshet work --drain >/dev/null
FRESHET_NOW=2026-07-03T11:00:00Z
is "the feed holds all but the sovereign" "$(query 'SELECT group_concat(source_id) FROM (SELECT source_id FROM public_changes ORDER BY source_id)')" 'gen,lines,lines,lines,res,tiger-2026'

# ---- DCAT -----------------------------------------------------------------------------------------
for at in /dcat /dcat/datasets/borders /dcat/datasets/gen /dcat/datasets/res /dcat/datasets/tiger; do
    name=$work/dcat$(echo "$at" | tr / -)
    get "$at" text/turtle
    is "$at has Turtle" "$(status) $(header Content-Type)" '200 text/turtle; charset=utf-8'
    turtle=$(header ETag)
    cp "$work/body" "$name.ttl"
    get "$at" 'text/html;q=0.9, application/ld+json;q=0.5, text/turtle;q=0.4'
    is "$at has JSON-LD" "$(status) $(header Content-Type)" '200 application/ld+json'
    lacks "$at: an ETag per representation" "$(header ETag)" "$turtle"
    cp "$work/body" "$name.jsonld"
    has "$at: both are one graph" "$(read_with same "$name.jsonld" "$name.ttl")" '^same [1-9]'
done
get /dcat/datasets/borders.ttl
is "a suffix chooses" "$(header Content-Type)" 'text/turtle; charset=utf-8'
get /dcat text/html
is "what there is not is a 406" "$(status)" 406
get '/dcat?f=xml'
is "an unknown f is a 400" "$(status) $(jq -r '.errors[0].field' "$work/body")" '400 f'
get /dcat/datasets/canary-sov
cp "$work/body" "$work/sov"
get /dcat/datasets/never-there
is "a sovereign dataset is like none" "$(cat "$work/sov")" "$(cat "$work/body")"
is "of a restricted one: title, day, access" "$(read_with nt "$work/dcat-dcat-datasets-res.ttl" |
    grep 'datasets/res>' | grep -E '/(title|modified|accessRights)>' | sed 's/^[^ ]* //')" \
    '<http://purl.org/dc/terms/accessRights> <http://publications.europa.eu/resource/authority/access-right/NON_PUBLIC> .
<http://purl.org/dc/terms/modified> "2026-07-03"^^<http://www.w3.org/2001/XMLSchema#date> .
<http://purl.org/dc/terms/title> "A title"@en .'
has "vintages are a series" "$(read_with nt "$work/dcat-dcat-datasets-tiger.ttl")" 'dcat#DatasetSeries'
# Runs have names of their own, and the upstream a port.
read_with nt "$work/dcat-dcat-datasets-borders.ttl" |
    sed -E "s/127.0.0.1:$port/UPSTREAM/g; s/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/RUN/g; s/_:cb[0-9a-f]+/_:b/g; s/_:N[0-9a-f]+/_:b/g" |
    LC_ALL=C sort >"$work/borders.nt"
if [ -n "${CATALOG_EXPECT:-}" ]; then cp "$work/borders.nt" tests/50-e2e/catalog.nt; fi
is "the triples are those we mean" "$(diff tests/50-e2e/catalog.nt "$work/borders.nt")" ''
get '/dcat?limit=2'
has "pages: Hydra" "$(cat "$work/body")" 'hydra:PartialCollectionView'
has "pages: Link" "$(header Link)" 'after=gen&f=jsonld>; rel="next"'
get '/dcat?limit=2&after=gen&f=ttl'
has "the next page has the next" "$(cat "$work/body")" 'datasets/res>'
get /data.json
is "DCAT-US 1.1" "$(jq -c '[.conformsTo, ([.dataset[] | .accessLevel] | unique)]' "$work/body")" \
    '["https://project-open-data.cio.gov/v1.1/schema",["non-public","public","restricted public"]]'
cp "$work/body" "$work/data1.json"
get '/data.json?version=3'
is "DCAT-US 3.0" "$(jq -c '[.dataset[] | select(.distribution) | .distribution[0].byteSize | type] | unique' "$work/body")" '["string"]'
cp "$work/body" "$work/data3.json"
get '/data.json?version=2'
is "another version is a 400" "$(status)" 400

# ---- licences: each of its own source, none where it has none ------------------------------------------
sources=$work/licences
(
    FRESHET_DIR=$sources
    freshet init "$sources" >/dev/null
    freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
    add() {
        id=$1
        shift
        freshet source add --id "$id" --url "$u/lines.geojson?$id" --title "$id" "$@"
    }
    add free --collection mixed --license cc0-1.0
    add bare --collection mixed
    add page --collection mixed --license https://ks.example/terms
    add words --collection mixed --license 'Ask first, please'
    add ref --collection mixed --license LicenseRef-Kansas
    add one --collection agreed --license CC-BY-4.0
    add two --collection agreed --license CC-BY-4.0
    add said --collection told --license 'Ask first, please'
    freshet check all --wait >/dev/null
    add never --collection empty --license CC0-1.0
)
FRESHET_DIR=$sources
get '/data.json?version=3'
cp "$work/body" "$work/licences3.json"
is "every distribution has the licence of its own source" "$(jq -r '.dataset[] | select(.title == "mixed") | .distribution[] | "\(.title): \(.license)"' "$work/body" | sort)" 'bare: null
free: https://spdx.org/licenses/CC0-1.0.html
page: https://ks.example/terms
ref: LicenseRef-Kansas
words: Ask first, please'
get /data.json
cp "$work/body" "$work/licences1.json"
is "a dataset has one where all agree; words are rights" "$(jq -r '.dataset[] | "\(.title): \(.license) \(.rights)"' "$work/body" | sort)" \
    'agreed: https://spdx.org/licenses/CC-BY-4.0.html null
mixed: null null
said: null Licence: Ask first, please'
is "what was never updated has no date to tell: it is in 3.0 alone" "$(jq -c '[.dataset[].modified | startswith("2026-07-03")] | unique' "$work/body") $(jq -c '[.dataset[] | select(.title == "never") | has("modified")]' "$work/licences3.json")" '[true] [false]'
get /dcat/datasets/mixed.ttl
cp "$work/body" "$work/dcat-licences.ttl"
read_with nt "$work/body" >"$work/licences.nt"
lacks "only SPDX identifiers are addresses there" "$(grep -v 'CC0-1.0.html' "$work/licences.nt")" 'spdx.org/licenses'
has "words are a document of their own" "$(cat "$work/licences.nt")" '^_:.* <http://www.w3.org/2000/01/rdf-schema#label> "Ask first, please"'
has "as are references" "$(cat "$work/licences.nt")" '^_:.* <http://www.w3.org/2000/01/rdf-schema#label> "LicenseRef-Kansas"'
is "and the one without has none" "$(grep -c '<http://purl.org/dc/terms/license>' "$work/licences.nt") $(grep 'bare-v1-data>' "$work/licences.nt" | grep -c license)" '4 0'
item() { get "/stac/collections/mixed/items/$1-v1" && jq -c '[.properties.license, (.links[] | select(.rel == "license") | .href, .title)]' "$work/body"; }
is "STAC: an identifier" "$(item free)" '["CC0-1.0"]'
is "STAC: nothing" "$(item bare)" '[null]'
is "STAC: an address" "$(item page)" '["other","https://ks.example/terms",null]'
is "STAC: words" "$(item words)" '["other","http://test.example/sources/words","Ask first, please"]'
get /stac/collections/empty
is "a collection without items claims no time" "$(jq -c .extent.temporal.interval "$work/body")" '[[null,null]]'
for q in 'datetime=2020-01-01T00:00:00Z' 'datetime=../2030-01-01T00:00:00Z' 'bbox=-180,-90,180,90'; do
    get "/stac/collections?$q"
    is "and is not found by $q" "$(jq '[.collections[] | select(.id == "empty")] | length' "$work/body")" 0
done
get '/stac/collections?bbox=-99,38,-97,39&datetime=2026-07-01T00:00:00Z/..'
is "others are" "$(jq -c '[.collections[].id]' "$work/body")" '["agreed","mixed","told"]'
FRESHET_DIR=$work/i

# ---- PROV -----------------------------------------------------------------------------------------
run=$(query "SELECT run_id FROM ledger JOIN sources USING (src_no) WHERE id = 'lines' AND version = 3")
for at in "/prov/$run" /prov/sources/lines /prov/sources/gen; do
    name=$work/prov$(echo "$at" | tr / -)
    get "$at" 'application/json'
    cp "$work/body" "$name.json"
    has "$at: a PROV library reads it" "$(read_with prov "$name.json")" 'ProvActivity:[1-9].*ProvEntity:[1-9].*ProvGeneration:[1-9]'
    get "$at?f=jsonld"
    cp "$work/body" "$name.jsonld"
    get "$at" text/turtle
    cp "$work/body" "$name.ttl"
    has "$at: both are one graph" "$(read_with same "$name.jsonld" "$name.ttl")" '^same [1-9]'
done
triples=$(read_with nt "$work/prov-prov-$run.ttl")
for p in used wasGeneratedBy wasDerivedFrom wasRevisionOf wasInvalidatedBy wasAssociatedWith qualifiedUsage qualifiedGeneration qualifiedRevision qualifiedAssociation; do
    has "a rollback says $p" "$triples" "prov#$p>"
done
is "the chain has all runs" "$(read_with nt "$work/prov-prov-sources-lines.ttl" | grep -c 'prov#endedAtTime>')" 3
get "/prov/$run" image/png
is "another type is a 406" "$(status)" 406
for at in /prov/sources/res /prov/sources/canary-sov /prov/sources/never-there; do
    get "$at"
    is "$at is not there" "$(status)" 404
done
for at in /stac/collections/borders/items/lines-v3 "/changes/$(query 'SELECT event_id FROM public_changes WHERE source_id = '"'gen'")"; do
    get "$at"
    has "$at links its provenance" "$(header Link)" 'prov#has_provenance'
done

# ---- the feed --------------------------------------------------------------------------------------
get '/changes' application/atom+xml
cp "$work/body" "$work/feed.atom"
is "feedparser reads the Atom" "$(read_with atom "$work/feed.atom")" 'atom10 Changes Freshet 6
first self
changes 2026-07-03 A title
changes 2026-07-03 Li<n>es & "Gr\enzen" é
changes 2026-07-03 Vintages (2026)
changes 2026-07-03 Li<n>es & "Gr\enzen" é
changes 2026-07-02 Roughly
changes 2026-07-02 Li<n>es & "Gr\enzen" é'
get '/changes?f=atom&limit=2'
has "Atom has a next page" "$(cat "$work/body")" 'rel="next" .*before=5&amp;f=atom'
get '/changes?limit=2' application/atom+xml
has "also when it was asked for by Accept" "$(cat "$work/body")" 'rel="next" .*before=5&amp;f=atom'
has "it says so in Link" "$(header Link)" 'before=5&f=atom>; rel="next"'
has "the whole feed is one" "$(cat "$work/body")" '<id>[^?]*/changes</id>'
get '/changes?limit=2&type=deleted&source=nobody' application/atom+xml
has "a choice of it is another" "$(cat "$work/body")" '<id>[^?]*/changes?type=deleted&amp;source=nobody</id>'
has "without entries it has a date" "$(cat "$work/body")" '^<updated>20[0-9-]*T00:00:00'
get '/changes?limit=2' application/feed+json
has "JSON Feed goes on as JSON Feed" "$(jq -r .next_url "$work/body")" 'f=jsonfeed$'
get '/changes?limit=2'
lacks "JSON needs no name" "$(cat "$work/head" "$work/body")" 'f=json'
get '/changes?f=jsonfeed&limit=2'
is "JSON Feed" "$(jq -c '[.version, (.items | length), (.next_url | length > 0), .items[0].title]' "$work/body")" '["https://jsonfeed.org/version/1.1",2,true,"A title"]'
get '/changes?since=0' application/cloudevents-batch+json
is "CloudEvents" "$(jq -r '.[0] | [.specversion, .sequence, .subject, .data.seq] | join(" ")' "$work/body")" '1.0 00000000000000000001 borders 1'
is "a day is no time" "$(jq -c '[.[] | select(.data.source_id == "res") | has("time")]' "$work/body")" '[false]'
cp "$work/body" "$work/events.json"
get '/changes?f=ndjson&since=0&limit=4'
is "NDJSON" "$(jq -r .seq "$work/body" | tr '\n' ' ') $(header X-Last-Seq)" '1 2 3 4  4'
has "NDJSON goes on by Link" "$(header Link)" 'since=4&f=ndjson>; rel="next"'
get '/changes?f=csv&since=0'
is "CSV" "$(/usr/bin/python3 -c 'import csv,sys; r = list(csv.DictReader(open(sys.argv[1], newline=""))); print(len(r), r[0]["title"], r[0]["version"])' "$work/body")" '6 Li<n>es & "Gr\enzen" é 1'
seqs() { get "/changes?since=0&$1"; jq -c '[.results[].seq | tonumber]' "$work/body"; }
is "by collection" "$(seqs 'collection=borders,gen')" '[1,2,3,5]'
is "by source and type" "$(seqs 'source=lines&type=rollback,new')" '[1,5]'
is "by class" "$(seqs 'class=content')" '[3]'
is "by detector" "$(seqs 'detector=operator')" '[5]'
is "by place" "$(seqs 'bbox=-97.5,38.5,-97.2,38.6')" '[3]'
is "by time" "$(seqs 'datetime=../2026-07-02T23:59:59Z')" '[1,2]'
is "by time before 1970" "$(seqs 'datetime=../1960-01-01T00:00:00Z') $(seqs 'datetime=1960-01-01T00:00:00Z/..' | jq length)" '[] 6'
is "by surprise: withheld is neither" "$(seqs 'unexpected=false' | jq 'index(6)') $(seqs 'unexpected=true' | jq 'index(6)')" 'null null'
for bad in 'type=odd' 'class=x' 'bbox=1,2,3' 'bbox=0,10,0,5' 'datetime=2026' 'datetime=/' 'datetime=2026-01-01T00:00:00Z/1960-01-01T00:00:00Z' 'bbox=-181,0,1,1' 'bbox=0,0,999,1' 'unexpected=1' 'colour=red' 'f=rss' 'collection=' 'since=99' 'source=A'; do
    get "/changes?$bad"
    is "/changes?$bad is refused by name" "$(status) $(jq -r '.errors[0].field' "$work/body")" "400 ${bad%%=*}"
done
get /changes 'image/png, application/json;q=0'
is "no format that fits is a 406" "$(status)" 406

# ---- canaries over all of it ---------------------------------------------------------------------
for at in /changes /dcat /dcat/datasets/gen /dcat/datasets/res /prov/sources/gen /data.json '/data.json?version=3'; do
    for f in json atom jsonfeed cloudevents ndjson csv jsonld ttl provjson; do
        case $at in *\?*) q="$at&f=$f" ;; /data.json) q=$at ;; *) q="$at?f=$f" ;; esac
        get "$q"
        lacks "no canary in $q" "$(cat "$work/body" "$work/head")" 'canary\|95\.12\|37\.65'
    done
done
get /dcat/datasets/res
lacks "a restricted dataset has no time" "$(cat "$work/body")" '2026-07-0[0-9]T'

# ---- retention -------------------------------------------------------------------------------------
known=$(query 'SELECT count(*) FROM ledger')
FRESHET_NOW=2026-07-04T11:00:00Z
freshet gc >/dev/null
get '/changes?since=0'
is "without a limit all is kept" "$(jq -c '[.first_seq, (.results | length)]' "$work/body")" '["1",6]'
freshet config set feed_retention_days 1
is "a dry run takes nothing" "$(freshet gc --dry-run --json | jq .feed) $(query 'SELECT first_seq FROM public_meta')" '0 1'
is "what is older goes" "$(freshet gc --json | jq .feed) $(freshet gc --json | jq .feed)" '2 0'
get '/changes?since=1&f=atom'
is "a cursor from before the retention is a 410" "$(status) $(header Content-Type) $(jq -r .first_seq "$work/body")" '410 application/problem+json 3'
get '/changes?since=2&f=ndjson'
is "its first entry can be had" "$(status) $(head -n 1 "$work/body" | jq -r .seq)" '200 3'
get '/changes?since=0'
is "the beginning is where it begins" "$(jq -c '[.first_seq, .last_seq, .pending, [.results[].seq]]' "$work/body")" '["3","6",0,["3","4","5","6"]]'
get '/changes?limit=2'
is "going back ends there" "$(jq -c '[.pending, [.results[].seq]]' "$work/body")" '[2,["6","5"]]'
is "nothing of the history went" "$(query 'SELECT count(*) FROM ledger')" "$known"
is "verify agrees" "$(freshet verify --json | jq -c '[.ok, .problems]')" '[true,[]]'
freshet rebuild >/dev/null
is "and no rebuild brings it back" "$(query 'SELECT group_concat(seq) FROM (SELECT seq FROM public_changes ORDER BY seq)')" '3,4,5,6'
FRESHET_NOW=2026-07-09T11:00:00Z
freshet gc >/dev/null
get '/changes?since=6'
is "also when all of it is old: who has it all stays" "$(status) $(jq -c '[.first_seq, .last_seq, (.results | length)]' "$work/body")" '200 ["7","6",0]'
get '/changes?since=5'
is "who has not is told" "$(status) $(jq -r .first_seq "$work/body")" '410 7'

# ---- by schemas and shapes, where they are ---------------------------------------------------------
schemas=${FRESHET_SCHEMAS:-../shared/data/schemas}
if [ ! -f "$schemas/shacl_validate.mjs" ]; then
    echo "skipped: no shapes and schemas (\$FRESHET_SCHEMAS)"
elif node_packages ajv@8 ajv-formats@3 n3 jsonld@9 @zazuko/env@3 rdf-validate-shacl; then
    schemas=$(cd "$schemas" && pwd)
    for doc in "$work"/dcat-*.ttl; do
        run 0 node "$schemas/shacl_validate.mjs" --shapes "$schemas/dcat-ap-3.0.1/shacl/dcat-ap-SHACL.ttl" "$doc"
        run 0 node "$schemas/shacl_validate.mjs" --shapes "$schemas/dcat-us-3.0/dcat-us_3.0_shacl_shapes.ttl" "$doc"
    done
    for doc in "$work"/prov-*.json; do run 0 node "$schemas/validate_json.js" prov-json "$doc"; done
    for one in data1 licences1; do EACH=dataset run 0 node "$schemas/validate_json.js" dcat-us-1.1-dataset "$work/$one.json"; done
    run 0 node "$schemas/validate_json.js" dcat-us-3 "$work/data3.json"
    for one in data3 licences3; do EACH=dataset run 0 node "$schemas/validate_json.js" dcat-us-3-dataset "$work/$one.json"; done
    jq -c '.[]' "$work/events.json" | head -n 1 >"$work/event.json"
    run 0 node "$schemas/validate_json.js" cloudevent "$work/event.json"
    for name in dcat-dcat dcat-dcat-datasets-tiger prov-prov-sources-lines; do
        run 0 node "$schemas/rdf_iso.mjs" "$work/$name.ttl" "$work/$name.jsonld"
    done
else
    echo "skipped: shapes and schemas need node and npm, or \$NODE_MODULES"
fi
summary

#!/bin/sh
# `freshet export`: a folder that a browser, a STAC client and an RDF library can read; the same bytes each
# time; nothing withheld in it; exchanged whole.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/catalog.json
FRESHET_DIR=$work/i
export FRESHET_DIR
query() { sqlite3 -readonly "$FRESHET_DIR/ledger.db" "$1"; }

export FRESHET_NOW=2026-07-02T10:00:00Z FRESHET_SEED=7
freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet source add --id lines --url "$u/lines.geojson" --title 'Lines' --license CC0-1.0 --collection borders --feature-key id
freshet source add --id gen --url "$u/canary-gen.geojson" --title 'Roughly' --sensitivity generalized
freshet source add --id res --url "$u/canary-res.json" --title 'A title' --sensitivity restricted
freshet source add --id canary-sov --url "$u/canary-sov.json" --title 'canary' --sensitivity sovereign
freshet check all --wait >/dev/null
FRESHET_NOW=2026-07-03T10:00:00Z
advance /lines.geojson
freshet check all --wait >/dev/null
freshet rollback "$(query "SELECT delta_id FROM ledger WHERE version = 2")" --reason 'wrong' >/dev/null
for event in $(query "SELECT event_id FROM inbox JOIN sources USING (src_no) WHERE state = 'held' AND id = 'res'"); do
    freshet approve "$event" --reviewer steward --note canary >/dev/null
done
freshet work --drain >/dev/null

# ---- the tree -----------------------------------------------------------------------------------------
site=$work/site
run 0 freshet export "$site" --base-url https://data.example.org/ --json
is "it tells what is there" "$(echo "$out" | jq -c '[.collections, .items, .provenance, .deltas, .changes]')" '[3,4,4,4,5]'
is "and how many files" "$(echo "$out" | jq .files)" "$(($(find "$site" -type f | wc -l) - 1))"
is "another user's web server can read it" "$(find "$site" -not -perm -004 | head -n 3)$(find "$site" -type d -not -perm -001 | head -n 3)" ''
for file in index.html catalog.json data.json changes.ndjson dcat/catalog.ttl dcat/catalog.jsonld dcat/datasets/res.ttl collections/borders/collection.json collections/borders/items/lines-v2.json; do
    is "$file is there" "$(test -s "$site/$file" && echo yes)" yes
done
is "the feed, oldest first" "$(jq -r .seq "$site/changes.ndjson" | tr '\n' ' ')" '1 2 3 4 5 '
cat >"$work/walk.py" <<'PY'
"""Walks from catalog.json along child and item links; every relative reference must be a file of the tree."""
import json, os, re, sys
root = sys.argv[1]
seen, items, bad = set(), 0, []
def visit(path):
    global items
    if path in seen: return
    seen.add(path)
    doc = json.load(open(path))
    items += doc["type"] == "Feature"
    def refs(v, rel=""):
        if isinstance(v, dict):
            for k, x in v.items():
                if k == "href" and isinstance(x, str) and not re.match("[a-z]+:", x):
                    to = os.path.normpath(os.path.join(os.path.dirname(path), x))
                    if not to.startswith(root) or not os.path.isfile(to): bad.append((path, x))
                    elif v.get("rel") in ("child", "item"): visit(to)
                else: refs(x)
        elif isinstance(v, list):
            for x in v: refs(x)
    refs(doc)
    rels = [l["rel"] for l in doc["links"]]
    if "root" not in rels or "self" in rels or "search" in rels: bad.append((path, rels))
visit(os.path.join(root, "catalog.json"))
every = {os.path.join(d, f) for d, _, fs in os.walk(os.path.join(root, "collections")) for f in fs}
print(items, "items;", "bad:", bad, "; unreachable:", sorted(every - seen))
PY
is "all of it hangs together" "$(/usr/bin/python3 "$work/walk.py" "$site")" '4 items; bad: [] ; unreachable: []'
has "assets lead to the instance" "$(jq -r '.assets.data.href' "$site/collections/borders/items/lines-v1.json")" '^https://data.example.org/assets/sha256/'
is "a server's promises are not in it" "$(jq 'has("conformsTo")' "$site/catalog.json")" false
for doc in catalog datasets/borders datasets/gen datasets/res; do
    has "dcat/$doc: both forms are one graph" "$(/usr/bin/python3 tests/50-e2e/catalog_graph.py same "$site/dcat/$doc.jsonld" "$site/dcat/$doc.ttl" 2>&1)" '^same [1-9]'
done
for prov in "$site"/prov/*.json; do
    has "a PROV library reads $(basename "$prov" | cut -c 1-8)" "$(/usr/bin/python3 tests/50-e2e/catalog_graph.py prov "$prov" 2>&1)" 'ProvEntity:[1-9]'
    has "in all three forms" "$(/usr/bin/python3 tests/50-e2e/catalog_graph.py same "${prov%.json}.jsonld" "${prov%.json}.ttl" 2>&1)" '^same [1-9]'
done
schemas=${FRESHET_SCHEMAS:-../shared/data/schemas}
if [ -d "$schemas" ] && [ -d "${NODE_MODULES:-none}" ]; then
    export NODE_MODULES
    run 0 node "$schemas/validate_json.js" stac-catalog "$site/catalog.json"
    run 0 node "$schemas/validate_json.js" stac-collection "$site/collections/borders/collection.json"
    for doc in "$site"/collections/*/items/*.json; do run 0 node "$schemas/validate_json.js" stac-item "$doc"; done
    EACH=dataset run 0 node "$schemas/validate_json.js" dcat-us-1.1-dataset "$site/data.json"
else
    echo "skipped: schemas (they lie at \$FRESHET_SCHEMAS, node packages at \$NODE_MODULES)"
fi

# ---- nothing withheld ---------------------------------------------------------------------------------
is "no canary in a file" "$(grep -rl -e canary -e '95\.12' -e '37\.65' "$site")" ''
is "nor in a name" "$(find "$site" | grep canary)" ''
lacks "of the restricted one only the day" "$(cat "$site"/dcat/datasets/res.* "$site/collections/res/collection.json")" '2026-07-0[0-9]T[0-9:.]*[1-9]'

# ---- the same bytes -----------------------------------------------------------------------------------
sums() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k2); }
sums "$site" >"$work/first"
FRESHET_NOW=2026-11-30T10:00:00Z run 0 freshet export "$work/other" --base-url https://data.example.org
sums "$work/other" >"$work/second"
is "elsewhere and later: the same" "$(cat "$work/second")" "$(cat "$work/first")"
run 0 freshet export "$site" --base-url https://data.example.org
is "again over itself: the same" "$(sums "$site")" "$(cat "$work/first")"
is "and nothing is left beside it" "$(find "$work" -maxdepth 1 -name '*.partial')" ''

# ---- exchanged whole, and only what is an export --------------------------------------------------------
mkdir "$work/mine" "$work/empty"
echo precious >"$work/mine/file"
run 1 freshet export "$work/mine"
has "another folder is refused with the way out" "$err" 'is no export.*name another folder'
is "and untouched" "$(cat "$work/mine/file") $(find "$work/mine" | wc -l)" 'precious 2'
run 1 freshet export "$work/mine/file"
run 0 freshet export "$work/empty/"
is "an empty one is taken" "$(test -s "$work/empty/catalog.json" && echo yes)" yes
run 1 freshet export "$work/nowhere/site"
run 2 freshet export "$site" --base-url ftp://x
freshet source set lines --sensitivity sovereign >/dev/null
run 0 freshet export "$site" --base-url https://data.example.org --json
is "what was withdrawn is not in the next one" "$(echo "$out" | jq -c '[.collections, .items, .changes]') $(grep -rl Lines "$site")$(find "$site" -name '*borders*')" '[2,1,2] '
summary

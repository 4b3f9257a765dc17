#!/bin/sh
# What changed between two versions, from an upstream's edit to `freshet diff` and `freshet report`; and an
# edit that changes nothing.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/diff.json
FRESHET_DIR=$work/i
export FRESHET_DIR
tab=$(printf '\t')

run 0 freshet init "$FRESHET_DIR"
run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
run 0 freshet source add --id counties --url "$u/diff/counties.geojson" --collection boundaries --feature-key GEOID
run 0 freshet source add --id plain --url "$u/diff/plain.json" --collection tables
run 1 freshet diff counties
has "nothing to compare yet" "$err" 'no change yet'
export FRESHET_NOW=2026-10-05T08:00:00Z
run 0 freshet check all --wait
run 3 freshet diff counties --exit-code
has "the first version" "$out" '^what  *new (new): nothing to version 1$'
has "adds everything" "$out" '^features  *0 to 2: +2 ~0 -0$'
run 0 freshet diff plain
has "no geodata" "$out" 'told as a whole'

advance /diff/counties.geojson
export FRESHET_NOW=2026-10-06T08:00:00Z
run 0 freshet check all --wait
run 3 freshet diff counties --exit-code
has "verdict" "$out" '^verdict  *local$'
has "counts" "$out" '^features  *2 to 3: +1 ~1 -0$'
has "area" "$out" '^area .*(+[0-9.]* %), gained [0-9.]*, lost 0.000$'
has "what was added" "$out" "^+${tab}20005${tab}-${tab}-96,39,-95,40$"
has "what was modified" "$out" "^~${tab}20003${tab}.*: .* -> .*${tab}-96,38,-95,39$"
delta=$(freshet diff counties --json | jq -r .delta_id)
run 0 freshet diff "$delta" --output json
is "by its id, the same" "$(echo "$out" | jq -c '[.delta_id, .totals.added]')" "[\"$delta\",1]"
run 0 freshet diff counties --output geojson
is "as a map" "$(echo "$out" | jq -c '[.type, (.features | length), .features[0].properties.change, .features[0].geometry.type]')" \
    '["FeatureCollection",2,"added","MultiPolygon"]'
run 0 freshet diff counties -o html
has "as a page" "$out" "<svg viewBox="
has "with the attributes in words" "$out" "<del>"
has "that loads nothing" "$out" "default-src .none."
run 2 freshet diff counties --output pdf
has "forms are named" "$err" 'table, json, geojson or html'
run 1 freshet diff nobody
run 1 freshet diff dlt_nothing
is "the feed has the numbers" "$(freshet changes --source counties --json | jq -c '.results[0].qa_summary | [.features.total, .features.added, .features.removed, .features.modified, (.area_change_pct | round)]')" \
    '[3,1,0,1,49]'

# Reordered, other numbers, other order of members: noise.
advance /diff/counties.geojson
export FRESHET_NOW=2026-10-07T08:00:00Z
run 0 freshet check all --wait
is "noise is no news" "$(freshet changes --source counties --json | jq '.results | length')" 2
has "and is on record" "$(freshet queue list)" "${tab}BYTE_ONLY${tab}"
export FRESHET_NOW=2026-10-08T08:00:00Z
run 0 freshet check all --wait --json
is "and is not looked at again" "$(echo "$out" | jq -r '.results[] | select(.source_id == "counties") | .outcome')" not_modified

# An upstream that turns from one form to the other and back: seen by HEAD alone, no candidate, no run.
form() { curl -sS -X POST "$u/control/set" -d "{\"path\":\"/diff/counties.geojson\",\"version\":$1}" >/dev/null; }
gets() { curl -s "$u/control/log" | jq '[.[] | select(.method == "GET" and .path == "/diff/counties.geojson")] | length'; }
events=$(freshet queue list --json | jq '.candidates | length')
before=$(gets)
for v in 2 3 2 3; do
    form "$v"
    run 0 freshet check source counties --wait --json
    is "form $v is known" "$(echo "$out" | jq -r '.results[0].outcome')" not_modified
done
is "without a candidate" "$(freshet queue list --json | jq '.candidates | length')" "$events"
is "without a download" "$(gets)" "$before"
is "counted as noise avoided: one run, four checks" "$(freshet costs --quarter 2026Q4 --json | jq '.quarters[0].noise_avoided')" 5
form 1
run 0 freshet check source counties --wait --json
is "what says something else is news" "$(echo "$out" | jq -c '[.results[0].outcome, .results[0].result]')" '["changed","promoted"]'
form 3
run 0 freshet check source counties --wait --json
is "and what was a form of another head is read again" "$(echo "$out" | jq -c '[.results[0].outcome, .results[0].result]')" '["changed","promoted"]'

run 0 freshet report --quarter 2026Q4
has "the quarter" "$out" "^boundaries${tab}counties${tab}2026-10-06${tab}modified${tab}local${tab}1${tab}1${tab}0${tab}"
is "with headings, as it is to be pasted" "$(echo "$out" | head -n 1)" "$(printf 'COLLECTION\tSOURCE\tDAY\tCHANGE\tVERDICT\t+\t~\t-\tAREA\tWHERE\tOF')"
has "with the area, and the place of what changed" "$out" "^boundaries${tab}counties${tab}2026-10-06.*${tab}+[0-9.]* %${tab}-96,38,-95,40${tab}change$"
has "of all the data where nothing was before" "$out" "^boundaries${tab}counties${tab}2026-10-05.*${tab}dataset$"
is "a row per change" "$(echo "$out" | wc -l)" 6
run 0 freshet report --quarter 2026Q3 --json
is "another quarter" "$(echo "$out" | jq -c '[.quarter, (.changes | length)]')" '["2026Q3",0]'
run 2 freshet report --quarter 2026
is "the present quarter where none is named" "$(freshet report --json | jq -r .quarter) $(freshet report --quarter --json | jq -r .quarter)" '2026Q4 2026Q4'
run 0 freshet verify
summary

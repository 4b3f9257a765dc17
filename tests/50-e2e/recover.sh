#!/bin/sh
# rebuild, gc and backup by hand: projections come back, garbage goes, a copy is an instance that works on.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/check.json
dir=$work/i
FRESHET_DIR=$dir
export FRESHET_DIR
run 0 freshet init "$dir"
run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
run 0 freshet source add --id county --title '<img src=x> [a](b)' --url "$u/check/county.json"
run 0 freshet source add --id plain --url "$u/check/plain.json" --sensitivity generalized
run 0 freshet source add --id kept --url "$u/check/no-head.json" --sensitivity restricted
run 0 freshet check all --wait
run 0 freshet queue list --state held --json
run 0 freshet approve "$(echo "$out" | jq -r '.candidates[0].change_event_id')" --reviewer R --note fine
run 0 freshet work --drain
advance /check/county.json
run 0 freshet check source county --wait

public_rows() {
    for table in changes sources freshness items items_box prov collections deltas assets checks; do
        sqlite3 "$dir/ledger.db" "SELECT * FROM public_$table ORDER BY 1, 2"
    done
}
feed() { freshet changes --since 0 --json | jq -c .results; }

# ---- rebuild ------------------------------------------------------------------------------------
before=$(public_rows)
run 0 freshet rebuild --json
is "an intact ledger is left alone" "$(echo "$out" | jq -c '[.sources_mended,.changes_mended,.rows_removed]')" '[0,0,0]'
is "to the last byte, stamps and all" "$(public_rows)" "$before"
was=$(feed)
sqlite3 "$dir/ledger.db" 'DELETE FROM public_changes; DELETE FROM public_items; DELETE FROM public_sources'
run 1 freshet verify
has "what mends it is said" "$err" "run .freshet rebuild."
run 0 freshet rebuild
has "what was lost is counted" "$out" '3 sources, 3 mended; 4 changes, 4 mended'
is "the feed is the same" "$(feed)" "$was"
run 0 freshet verify
is "titles are text in a summary" "$(grep -hc '&lt;img src=x&gt; \\\[a\\\]' "$dir"/runs/change-detection/*/summary.md | sort -u)" "$(printf '0\n1')"
sqlite3 "$dir/ledger.db" "VACUUM INTO '$work/whole.db'; DELETE FROM deltas"
run 1 freshet verify --json
is "what is lost for good is told, too" "$(echo "$out" | jq '.problems | map(select(test("lacks its delta"))) | length')" 4
run 1 freshet verify
has "and is no matter of a rebuild" "$err" 'from a backup'
run 1 freshet rebuild
has "which says why" "$err" "lost its delta"
sqlite3 "$dir/ledger.db" "ATTACH '$work/whole.db' AS w; INSERT INTO deltas SELECT * FROM w.deltas"
run 0 freshet verify

# ---- gc -----------------------------------------------------------------------------------------
sha=$(printf garbage | sha256sum | cut -c 1-64)
garbage=$dir/store/public/sha256/$(echo "$sha" | cut -c 1-2)/$(echo "$sha" | cut -c 3-4)/$sha
mkdir -p "$(dirname "$garbage")"
printf garbage >"$garbage"
run 0 freshet gc --json
is "what is young stays" "$(echo "$out" | jq -c '[.files,.young]')" '[0,1]'
touch -d '2 days ago' "$garbage"
run 0 freshet gc --dry-run
has "a dry run says what would go" "$out" "object.7.store/public/.*$sha"
[ -f "$garbage" ]
is "and leaves it" $? 0
run 0 freshet gc --json
is "then it goes, and nothing else" "$(echo "$out" | jq -c '[.files,.bytes,.rows]')" '[1,7,0]'
run 0 freshet verify --deep

# ---- backup and restore -------------------------------------------------------------------------
copy=$work/copy
run 0 freshet backup "$copy" --json
is "every object is in the copy" "$(echo "$out" | jq .objects)" "$(find "$dir/store" -type f -path '*sha256*' | wc -l)"
run 0 freshet -C "$copy" verify --deep
is "the copy has the same feed" "$(freshet -C "$copy" changes --since 0 --json | jq -c .results)" "$was"
is "secrets stay where they are" "$(ls "$copy/secrets")" ''
[ -e "$copy.partial" ]
is "nothing unfinished is left" $? 1
run 1 freshet backup "$copy"
has "nothing is overwritten" "$err" 'is there already'
mkdir "$work/other.partial"
run 1 freshet backup "$work/other"
has "an unfinished copy is named" "$err" 'other.partial is there already'
# The original goes on, and so does the copy: neither touches the other.
advance /check/county.json
run 0 freshet check source county --wait
is "the original moved on" "$(freshet changes --since 0 --json | jq '.results|length')" 5
run 0 freshet -C "$copy" verify --deep
is "the copy did not" "$(freshet -C "$copy" changes --since 0 --json | jq '.results|length')" 4
run 0 freshet -C "$copy" check source county --wait
is "work goes on in the copy" "$(freshet -C "$copy" changes --since 0 --json | jq '.results|length')" 5
run 0 freshet -C "$copy" verify --deep
run 0 freshet verify --deep

# ---- a copy in the middle of work ---------------------------------------------------------------
seq 1 120 | jq -cn --arg u "$u" '[inputs|{id:"b\(.)",url:"\($u)/bulk/\(.)"}]' >"$work/bulk.json"
run 0 freshet source import "$work/bulk.json"
total=$(($(freshet changes --since 0 --limit 1000 --json | jq '.results|length') + 120))
freshet check all --wait >/dev/null 2>&1 &
children=$!
count() { freshet -C "$1" changes --since 0 --limit 1000 --json | jq '.results|length'; }
some() { [ "$(count "$dir")" -gt $((total - 120)) ]; }
soon "changes come in" 30 some
run 0 freshet backup "$work/mid"
wait "$children"
children=
is "the original ends complete" "$(count "$dir")" "$total"
run 0 freshet -C "$work/mid" verify --deep
run 0 freshet -C "$work/mid" check all --wait
run 0 freshet -C "$work/mid" work --drain
is "the copy gets there as well" "$(count "$work/mid")" "$total"
run 0 freshet -C "$work/mid" verify --deep
run 0 freshet verify --deep
summary

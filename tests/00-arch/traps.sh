#!/bin/sh
# Every trap that tests/20-scenarios/README.md lists has a scenario, and every scenario names its
# trap. Rules are also broken on purpose, in a copy.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/00-arch/lib.sh
scenarios=tests/20-scenarios
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The keys stand in the first column of the last table.
# shellcheck disable=SC2016 # backquotes of Markdown
keys() { sed -n '/^## Which trap is where/,$ s/^| `\([a-z0-9-]*\)` |.*/\1/p' "$1/README.md"; }
traps_of() { sed -n 's/^ *"trap": *\(.*\)/\1/p' "$1" | tr -c 'a-z0-9-' '\n' | sed '/^$/d'; }

keys_without_file() { # keys_without_file FOLDER
    for f in "$1"/*.json; do traps_of "$f"; done | sort -u >"$work/played"
    keys "$1" | grep -vxF -f "$work/played"
}
files_without_key() {
    keys "$1" >"$work/keys"
    for f in "$1"/*.json; do
        [ -n "$(traps_of "$f")" ] || echo "$f names no trap"
        traps_of "$f" | grep -vxF -f "$work/keys" | sed "s|^|$f: |"
    done
}

finding "the README lists traps" "$([ "$(keys $scenarios | wc -l)" -ge 15 ] || echo 'fewer than 15 keys')"
finding "every trap has a scenario" "$(keys_without_file $scenarios)"
finding "every scenario names a trap that is listed" "$(files_without_key $scenarios)"

# ---- would it be noticed? -----------------------------------------------------------------------
noticed() { # noticed WHAT FINDINGS
    if [ -n "$2" ]; then pass "noticed: $1"; else fail "not noticed: $1"; fi
}
mkdir "$work/copy"
cp $scenarios/*.json $scenarios/README.md "$work/copy"
rm "$work/copy/etag-dates.json"
noticed "a trap whose scenario is lost" "$(keys_without_file "$work/copy")"
grep -v '"trap"' $scenarios/etag-head.json >"$work/copy/etag-head.json"
noticed "a scenario without a trap" "$(files_without_key "$work/copy")"
cp $scenarios/*.json "$work/copy"
sed 's/"trap": ".*"/"trap": ["head-refused", "invented"]/' $scenarios/etag-head.json >"$work/copy/etag-head.json"
noticed "a trap that is not listed" "$(files_without_key "$work/copy")"
summary

#!/bin/sh
# Listings by hand: built from an upstream, a source and a file, and compared.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/20-scenarios/manifest-s3.json --scenario tests/20-scenarios/manifest-html.json \
    --scenario tests/50-e2e/manifest.json
dir=$work/i
FRESHET_DIR=$dir
export FRESHET_DIR
run 0 freshet init "$dir"
run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\"]"

# ---- build --------------------------------------------------------------------------------------
run 0 freshet manifest build "$u/ms3/?list-type=2&prefix=p"
is "all pages of a bucket" "$(echo "$out" | jq -r '.entries[].key' | tr '\n' ' ')" 'p/a & b.zip p/b.zip p/c.zip '
is "it is canonical" "$(printf %s "$out" | jq -cSj .)" "$out"
is "the checksum is that of the entries" "$(echo "$out" | jq -r .checksum)" "sha256:$(printf %s "$out" | jq -cSj .entries | sha256sum | cut -c 1-64)"
run 0 freshet source add --id tiger --url "$u/mhtml/tiger/CD/" --detector manifest
run 0 freshet manifest build tiger --output "$work/old.json"
is "the index of a source" "$(jq -r '.entries[].key' "$work/old.json")" tl_2022_us_cd116.zip
run 0 freshet source show tiger --json
is "building is no check" "$(echo "$out" | jq .state.checks)" 0
run 0 freshet check source tiger --json
sha=$(sha256sum "$work/old.json" | cut -c 1-64)
run 0 freshet source show tiger --json
is "a check sees the same bytes" "$(echo "$out" | jq -r .state.sha256)" "$sha"
printf 'Name,Bytes\r\n"a, b.zip",12\r\n' >"$work/index.csv"
run 0 freshet manifest build "$work/index.csv" --base-url https://example.org/d/
is "a file" "$(echo "$out" | jq -r '.entries[0].url')" 'https://example.org/d/a%2C%20b.zip'

# ---- what is wrong is named ---------------------------------------------------------------------
run 2 freshet manifest build "$work/index.csv"
has "a file needs a base" "$err" '--base-url'
run 1 freshet manifest build "$work/index.csv" --base-url https://example.org/ --options '{"kee":"x"}'
has "an unknown option is named, with those there are" "$err" 'manifest.kee: .*format items key'
run 1 freshet manifest build "$work/index.csv" --base-url https://example.org/ --options '{"key":"x"}'
has "a column that is not there" "$err" 'no column x'
run 1 freshet manifest build "$u/nothing"
has "an upstream that fails" "$err" 'gone: HTTP 404'
run 1 freshet manifest build nobody
has "a source that is not there" "$err" "no source 'nobody'"

# ---- diff ---------------------------------------------------------------------------------------
advance /mhtml/tiger/CD/
run 0 freshet manifest build tiger --output "$work/new.json"
run 3 freshet manifest diff "$work/old.json" "$work/new.json" --exit-code
is "renamed within a vintage" "$out" '- tl_2022_us_cd116.zip
+ tl_2022_us_cd118.zip'
run 0 freshet manifest diff "$work/old.json" "$work/old.json" --exit-code
is "no difference, no line" "$out" ''
printf '{"entries":[{"key":"a","url":"u","size":1}]}' >"$work/1.json"
printf '{"entries":[{"key":"a","url":"u","size":2,"etag":"x"}]}' >"$work/2.json"
run 0 freshet manifest diff "$work/1.json" "$work/2.json"
is "what was modified is told" "$out" '~ a  etag - -> x  size 1 -> 2'
run 0 freshet manifest diff "$work/1.json" "$work/2.json" --json
is "counts for programs" "$(echo "$out" | jq -c '[.added,.modified,.removed,.entries]')" '[0,1,0,1]'
is "and both sides" "$(echo "$out" | jq -c '.changes[0]|[.old.size,.new.size]')" '[1,2]'
sed 's/cd116/cd117/' "$work/old.json" >"$work/forged.json"
run 1 freshet manifest diff "$work/old.json" "$work/forged.json"
has "a forged listing is noticed, and named" "$err" 'checksum: .*forged.json'
# ---- check --wait goes on to the entries --------------------------------------------------------
freshet source add --id l --url "$u/wait/list.json" --detector manifest
run 3 freshet check source l --wait --exit-code --json
is "what its listing names is taken in" "$(echo "$out" | jq -c '[.checked, (.entries[] | [.source_id, .outcome, .result])]')" \
    '[1,["l-a-json","new","promoted"],["l-b-json","new","promoted"],["l-c-json","new","promoted"],["l-d-json","new","promoted"]]'
run 0 freshet check source l --wait --exit-code --json
is "and nothing when nothing moved" "$(echo "$out" | jq -c .entries)" '[]'
cp -r "$dir" "$work/j"
advance /wait/list.json
advance /wait/b.json
run 1 freshet check source l --wait --exit-code --json
is "an entry that could not be taken in is told, and is exit 1" "$(echo "$out" | jq -c '.entries | sort_by(.source_id)[] | [.source_id, .outcome, .deleted, .result, .reason]' | tr '\n' ' ')" \
    '["l-a-json","gone",true,"promoted",null] ["l-b-json","changed",false,"ready","GONE"] ["l-c-json","gone",true,"promoted",null] ["l-d-json","gone",true,"promoted",null] '
has "in words" "$err" '1 of what was found could not be taken in, or not yet'
is "the list says how each stands" "$(freshet source list | awk -F '\t' '$1 ~ /^l-/ { print $1 " " $3 }' | tr '\n' ';')" \
    'l-a-json not listed;l-b-json to retry GONE;l-c-json not listed;l-d-json not listed;'
has "and so does its card" "$(freshet source show l-b-json)" '^not taken in  *GONE, tried 1 time; again at 20'
is "also as JSON" "$(freshet source show l-b-json --json | jq -c '.not_taken_in | [.reason, .attempts]')" '["GONE",1]'
said=$(TERM=xterm LC_ALL=C.UTF-8 NO_COLOR=1 script -qec "stty cols 120; $B/freshet -C $work/j check source l --wait" /dev/null </dev/null | tr -d '\r')
has "deletions are named" "$said" '^ *3 deleted upstream: l-a-json, l-c-json, l-d-json$'
has "what moved is named" "$said" '^ *1 entry new or changed: l-b-json$'
has "and what became of all" "$said" 'Taken in: 4 promoted (such as l), 1 to retry GONE (l-b-json)'
is "deletions first" "$(printf '%s\n' "$said" | grep -n -e 'deleted upstream' -e ' found: l' | sed 's/^[0-9]*: *[0-9]* //' | tr '\n' ' ')" \
    'deleted upstream: l-a-json, l-c-json, l-d-json found: l '
summary

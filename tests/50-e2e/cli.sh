#!/bin/sh
# The command line against a real upstream: what it does, prints and exits with.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/cli.json
dir=$work/i
FRESHET_DIR=$dir
export FRESHET_DIR

# ---- usage ------------------------------------------------------------------------------------
run 0 freshet --help
has "help lists commands" "$out" '^  source add '
run 0 freshet --version
has "version" "$out" '^freshet [0-9]*\.[0-9]*\.[0-9]* ('
run 2 freshet
is "no command: nothing on standard output" "$out" ''
run 2 freshet chekc all
has "unknown command: the nearest is named" "$err" "^freshet: no command 'chekc'. Did you mean 'check'?"
run 2 freshet source lst
has "unknown verb: the nearest is named" "$err" "Did you mean 'source list'"
run 2 freshet source
run 2 freshet check all --exit-cod
has "unknown option: the nearest is named" "$err" 'Did you mean --exit-code?'
run 2 freshet work --since 3
run 2 freshet check
run 2 freshet check sourc x
has "unknown word: the nearest is named" "$err" "Did you mean 'source'"
run 2 freshet check source
run 2 freshet changes --limit
run 2 freshet changes --limit none
has "a bad number names the option" "$err" '^freshet: changes: --limit'
run 2 freshet show
run 2 freshet show a b
run 0 freshet check --help --nonsense
has "--help wins over mistakes" "$out" '^Usage: freshet \[-C DIR\] check'
run 0 freshet source --help
has "a family has help" "$out" '^  source import'
run 0 freshet help check
has "help COMMAND" "$out" '^Usage: freshet \[-C DIR\] check'

# ---- init ---------------------------------------------------------------------------------------
run 1 freshet source list
has "no instance: the fix is named" "$err" 'freshet init'
run 0 freshet init "$dir" --json
token=$(echo "$out" | jq -r .token)
is "init prints a token" "$(echo "$token" | cut -c 1-3)" 'fr_'
is "init names the folder" "$(echo "$out" | jq -r .dir)" "$(realpath "$dir")"
is "secrets/ is for its owner only" "$(stat -c %a "$dir/secrets")" 700
is "others cannot look into the folder" "$(stat -c %a "$dir" | cut -c 3)" 0
for f in freshet.json policy.json ledger.db store/public store/restricted runs run log spool; do
    if [ -e "$dir/$f" ]; then pass "init made $f"; else fail "init made $f"; fi
done
for f in freshet.json policy.json ledger.db; do
    is "others cannot read $f" "$(stat -c %a "$dir/$f" | cut -c 3)" 0
done
is "policy has a version" "$(freshet -C "$dir" policy check --json | jq -r .version)" 1
before=$(sha256sum "$dir/freshet.json" "$dir/ledger.db")
run 1 freshet init "$dir"
has "init refuses an instance" "$err" 'is an instance already, nothing was changed'
is "and touches nothing" "$(sha256sum "$dir/freshet.json" "$dir/ledger.db")" "$before"
lacks "the token is not in the ledger" "$(strings "$dir"/ledger.db*)" "$token"
run 0 freshet init "$work/piped"
is "piped, init prints the token alone" "$(echo "$out" | grep -c '^fr_[A-Za-z0-9_-]*$') $(echo "$out" | wc -l)" '1 1'
if [ -e /dev/full ]; then
    freshet init "$work/full" >/dev/full 2>"$work/err"
    is "a full disk under the output is a failure" "$?" 1
fi

# ---- config -------------------------------------------------------------------------------------
run 0 freshet config get port
is "a default" "$out" 8080
run 0 freshet config set operator_name "Test operator"
is "quiet when piped" "$out$err" ''
run 0 freshet config get operator_name
is "the new value, bare" "$out" 'Test operator'
run 0 freshet config get operator_name --json
is "the new value, JSON" "$out" '"Test operator"'
run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
run 0 freshet config set fetch_attempts 1
run 1 freshet config set port 70000
has "bounds are named" "$err" '65535'
run 1 freshet config get prot
has "the nearest setting is named" "$err" "Did you mean 'port'"
run 0 freshet config list
has "list has tabs and no header" "$out" "^port$(printf '\t')8080$(printf '\t')8080$(printf '\t')"
run 0 freshet config list --json
is "list as JSON" "$(echo "$out" | jq -c '.settings[] | select(.name == "fetch_attempts") | [.value, .default]')" '[1,3]'
has "comments of the file survive" "$(cat "$dir/freshet.json")" 'who runs this instance'

# ---- sources ------------------------------------------------------------------------------------
run 0 freshet source add --id a --url "$u/cli/a.json" --title 'The letter A' --license CC0-1.0 \
    --collection letters --trigger '{"type":"interval","seconds":300}' --json
is "add prints the declaration" "$(echo "$out" | jq -r '[.id, .collection, .sensitivity, .triggers[0].seconds] | @csv')" '"a","letters","public",300'
run 1 freshet source add --id a --url "$u/cli/a.json"
has "a taken id names the fix" "$err" 'freshet source set a'
run 1 freshet source add --id 'No Slug' --url "$u/x"
has "a bad id names the field" "$err" '^freshet: source add: id: '
run 1 freshet source add --id x --url ftp://example.org/x
has "a bad url names the field" "$err" '^freshet: source add: url: '
run 1 freshet source add --id x --url "$u/x" --sensitivity secret
has "a bad level names the field" "$err" ': sensitivity: '
run 2 freshet source add --id x
has "what is needed is named" "$err" '\-\-id and --url are needed'
run 2 freshet source add --id x --url "$u/x" --sweep-days soon
has "a flag that is no number" "$err" '\-\-sweep-days needs a number'
run 2 freshet source add --id x --url "$u/x" --trigger annual
has "JSON that is none: an example" "$err" "needs JSON, e.g. '{\"type\":\"annual\",\"month\":7}', not 'annual'"
run 1 freshet source add --id x --url "$u/x" --header 'Authorization: Bearer abc'
has "a secret in a header is refused" "$err" 'secret:'
lacks "and not repeated" "$err" 'abc'
run 1 freshet source add --id x --url "$u/x" --trigger '{"type":"annual","month":7,"throuhg":9}'
has "a slip within a trigger is named whole" "$err" '^freshet: source add: triggers.throuhg: is not known here, only: type month through'
run 1 freshet source add --id x --url "$u/x" --max-bytes 0
has "and so is a wrong limit" "$err" '^freshet: source add: limits.max_bytes: '
run 0 freshet -C "$work/piped" source add --id lock --url https://data.example/x --header 'X-Key: secret:up-key'
has "a secret that is not there is a warning" "$err" '^Next: put the secret of its header X-Key into the file secrets/up-key'
printf 'k' >"$work/piped/secrets/up-key"
run 0 freshet -C "$work/piped" source set lock --trigger '{"type":"manual"}'
is "and none when it is there" "$err" ''
run 1 freshet source add --id x --url "$u/x" --header 'private-token: canary'
has "other names of credentials, too" "$err" 'private-token must be "secret:name"'
lacks "and not repeated either" "$err" 'canary'
run 0 freshet -C "$work/piped" source add --id query --url 'https://data.example/x?f=json&API_KEY=canary'
has "a credential in an address is warned of" "$err" '^freshet: source add: query: url: the value of API_KEY is kept .*.headers. with "secret:name"'
lacks "without its value" "$err" 'canary'
printf 'id,url\nquery2,https://data.example/y?X-Amz-Signature=canary\n' >"$work/query.csv"
run 0 freshet -C "$work/piped" source import "$work/query.csv"
has "also by an import" "$err" '^freshet: source import: query2: url: the value of X-Amz-Signature'
run 0 freshet -C "$work/piped" source set query --url 'https://data.example/x?f=json&monkey=1'
is "and not when it has none" "$err" ''
run 0 freshet source show a
has "show" "$out" "^url  *$u/cli/a.json"
run 0 freshet -C "$work/piped" source set query --max-interval-s 9000 --sweep-days 3 --header 'X-Plain: open' --feature-key GEOID
run 0 freshet -C "$work/piped" source show query
is "and all that was declared" "$(printf '%s\n' "$out" | grep -E '^(max_interval_s|sweep_days|feature_key|headers) ' | tr -s ' ' | tr '\n' ';')" \
    'feature_key GEOID;max_interval_s 9000;sweep_days 3;headers X-Plain;'
run 1 freshet source show nope
has "unknown source: the way is named" "$err" "no source 'nope'. See: freshet source list"
run 0 freshet source set a --freshness-days 7 --json
is "set changes what is given" "$(echo "$out" | jq -c '[.freshness_days, .title]')" '[7,"The letter A"]'
run 2 freshet source set a --id b
echo '{"limits": {"max_bytes": 9000000}, "freshness_days": null, "title": "lost"}' >"$work/set.json"
run 0 freshet source set a --file "$work/set.json" --title 'The letter A' --json
is "set --file: members replace, null takes away, options win" "$(echo "$out" | jq -c '[.limits, has("freshness_days"), .title, .collection]')" '[{"max_bytes":9000000},false,"The letter A","letters"]'
echo '{"id": "b"}' >"$work/set.json"
run 2 freshet source set a --file "$work/set.json"
has "set --file: the id stays" "$err" 'an id never changes'
echo '{"probe": {"pointer": "/x"}}' >"$work/set.json"
run 1 freshet source set a --file "$work/set.json"
has "set --file: checked like any declaration" "$err" '^freshet: source set: probe: is only for detector probe'

cat >"$work/good.json" <<JSON
{"sources": [
  {"id": "b", "url": "$u/cli/b.csv", "media_type": "text/csv"},
  {"id": "held", "url": "$u/cli/held.json", "sensitivity": "restricted", "title": "Quiet places"},
]}
JSON
cat >"$work/bad.json" <<JSON
[{"id": "ok1", "url": "$u/1"}, {"id": "ok2", "url": "gopher://x"}, {"id": "ok3", "url": "$u/3", "colour": "red"}]
JSON
run 1 freshet source import "$work/bad.json"
has "a wrong row is named exactly" "$err" '^freshet: bad.json\[1\]\.url: '
has "and so is the next" "$err" '^freshet: bad.json\[2\]\.colour: '
has "nothing was imported" "$err" '2 wrong rows, so nothing was imported'
is "nothing was imported indeed" "$(freshet source list | cut -f 1 | tr '\n' ' ')" 'a '
run 0 freshet source import "$work/good.json" --dry-run --json
is "dry run counts" "$out" '{"added":2,"updated":0,"dry_run":true}'
is "dry run writes nothing" "$(freshet source list | wc -l)" 1
run 0 freshet source import "$work/good.json" --json
is "import" "$out" '{"added":2,"updated":0,"dry_run":false}'
run 1 freshet source import "$work/good.json"
has "taken ids are named by row" "$err" '^freshet: good.json\[0\]\.id: '
has "and --update is offered" "$err" 'With --update'
run 0 freshet source import "$work/good.json" --update --json
is "update" "$out" '{"added":0,"updated":2,"dry_run":false}'
printf 'id,url,title,poll_interval_s,triggers\r\nc1,%s/1,"One, quoted ""so""",60,\r\nc2,%s/2,Two,,"[{""type"":""manual""}]"\r\n' "$u" "$u" >"$work/rows.csv"
run 0 freshet source import "$work/rows.csv" --json
is "import CSV" "$out" '{"added":2,"updated":0,"dry_run":false}'
is "CSV cells become fields" "$(freshet source show c1 --json | jq -c '[.title, .poll_interval_s]')" '["One, quoted \"so\"",60]'
is "CSV cells that are JSON" "$(freshet source show c2 --json | jq -c .triggers)" '[{"type":"manual"}]'
printf 'id,url\nd1,%s/1\nd2,nowhere\n' "$u" >"$work/bad.csv"
run 1 freshet source import "$work/bad.csv"
has "a wrong CSV row is named by its line" "$err" '^freshet: bad.csv:3: url: '
printf 'id,url\nd1,%s/1\nd2,%s/2\nd1,%s/3\n' "$u" "$u" "$u" >"$work/twice.csv"
run 1 freshet source import "$work/twice.csv"
has "an id given twice names the other line" "$err" '^freshet: twice.csv:4: id: "d1" is the id of line 2 as well'
lacks "and advises no command" "$err" 'source set\|--update'
printf '[{"id":"d1","url":"%s/1"},{"id":"d1","url":"%s/2"},{"id":"d2","url":"x","title":3}]' "$u" "$u" >"$work/twice.json"
run 1 freshet source import "$work/twice.json" --json
is "errors as JSON" "$(echo "$out" | jq -c '[.wrong_rows, (.errors[] | [.row, .field])]')" '[2,[1,"id"],[2,"title"]]'
has "with their texts" "$out" 'is the id of \[0\] as well'
is "and nothing beside" "$err" ''
awk 'BEGIN { print "id,url"; for (i = 0; i < 1100; i++) printf "w-%d,nowhere\n", i }' >"$work/many.csv"
run 1 freshet source import "$work/many.csv" --json
is "as JSON a thousand wrong rows are named" "$(echo "$out" | jq -c '[.wrong_rows, (.errors | length), .errors[999].row]')" '[1100,1000,1001]'
run 1 freshet source import "$work/many.csv"
has "else twenty" "$err" '^freshet: many.csv: 1080 more like these'
printf 'id;url\nd1;%s/1\n' "$u" >"$work/semi.csv"
run 1 freshet source import "$work/semi.csv"
has "semicolons are named on line 1" "$err" '^freshet: semi.csv:1: fields are separated by commas'
printf 'id,url,title\nlatin,https://example.org/l,M\374ller\n' > "$work/latin.csv"
run 1 freshet source import "$work/latin.csv"
has "a cell that is not UTF-8 is named" "$err" '^freshet: latin.csv:2: title: is not UTF-8'
printf 'id,url,sensitivity\ntrunc1,https://example.org/t1,restricted\ntrunc2,https://example.or' >"$work/cut.csv"
run 1 freshet source import "$work/cut.csv"
has "half a row is refused: the file may be cut off" "$err" '^freshet: cut.csv:3: has 2 cells, but the header row has 3'
printf 'id,url\nwide,https://example.org/w,more\n' >"$work/wide.csv"
run 1 freshet source import "$work/wide.csv"
has "and so is a row with too many" "$err" '^freshet: wide.csv:2: has 3 cells, but the header row has 2'
run 1 freshet source import "$work/none.json"
run 0 freshet source retire c1
run 0 freshet source retire c2
is "retired ones are not listed" "$(freshet source list | cut -f 1 | tr '\n' ' ')" 'a b held '
run 1 freshet source retire c1
has "twice is a conflict" "$err" 'is retired already'
run 1 freshet source add --id c1 --url "$u/1"
has "a retired id names the way back" "$err" '^freshet: source add: c1 is retired: freshet source resume c1'
is "while retired it has no next check" "$(freshet source show c1 --json | jq -c '[.retired_at == null, .state.next_check_at]')" '[false,null]'
run 0 freshet source resume c1 --json
is "resume says whom" "$out" '{"resumed":"c1"}'
is "it is watched again and due" "$(freshet source show c1 --json | jq -c '[.retired_at, .state.next_check_at != null]')" '[null,true]'
is "what is looked at by hand only is not due" "$(freshet source resume c2 && freshet source show c2 --json | jq -c '[.retired_at, .state.next_check_at]')" '[null,null]'
run 1 freshet source resume c1
has "twice is a conflict too" "$err" 'c1 is not retired'
run 0 freshet verify
freshet source retire c1
freshet source retire c2

# ---- check, work, changes -----------------------------------------------------------------------
run 0 freshet check all --dry-run --json
is "dry run asks nobody" "$(echo "$out" | jq -c '[.outcomes, .bytes_in]')" '[{"due":3},0]'
is "and its results say due" "$(echo "$out" | jq -c '[.results[].outcome] | unique')" '["due"]'
is "the upstream was not asked" "$(curl -s "$u/control/log" | jq 'length')" 0
run 3 freshet check all --json --exit-code
is "shape of check" "$(echo "$out" | jq -c 'keys_unsorted')" '["checked","outcomes","bytes_in","bytes_saved","results"]'
is "shape of a result" "$(echo "$out" | jq -c '.results[0] | keys_unsorted[:6]')" '["source_id","url","outcome","detail","attempts","due_because"]'
is "three are new" "$(echo "$out" | jq -c '[.checked, .outcomes]')" '[3,{"new":3}]'
run 0 freshet check source a --exit-code
has "nothing new the second time" "$out" "^a$(printf '\t')not_modified"
run 0 freshet work --once --json
is "shape of work" "$(echo "$out" | jq -c 'keys_unsorted')" '["done","noop","failed","held","dead"]'
is "one only" "$(echo "$out" | jq '.done + .held')" 1
run 0 freshet work --drain --json
is "the rest" "$(echo "$out" | jq -c '[.done + .held, .noop, .failed, .dead]')" '[2,0,0,0]'
run 0 freshet work --drain --json
is "and no more" "$out" '{"done":0,"noop":0,"failed":0,"held":0,"dead":0}'
run 2 freshet work --once --drain
advance /cli/a.json
run 3 freshet check url "$u/cli/a.json" --exit-code --wait --json
is "a change, by url" "$(echo "$out" | jq -c .outcomes)" '{"changed":1}'
run 1 freshet check url "$u/elsewhere"
has "an unknown url names the fix" "$err" 'freshet source add'
run 0 freshet changes --json
is "shape of changes" "$(echo "$out" | jq -c 'keys_unsorted')" '["results","last_seq","first_seq","pending","links"]'
is "newest first" "$(echo "$out" | jq -r '.results[0] | [.source_id, .change_type, (.object_identity.version | tostring)] | join(" ")')" 'a modified 2'
is "the change has the digest of its bytes" "$(echo "$out" | jq -r '.results[0].object_identity.sha256')" "$(curl -s "$u/cli/a.json" | sha256sum | cut -d ' ' -f 1)"
run 0 freshet changes --since 0 --limit 1 --json
is "since: oldest first, the rest is pending" "$(echo "$out" | jq -c '[.results[0].seq, .last_seq, .pending]')" '["1","1",2]'
run 0 freshet changes --source b
is "by source" "$(echo "$out" | cut -f 3)" b
event=$(freshet changes --source a --limit 1 | cut -f 6)
run 0 freshet show "$event"
has "the card says what" "$out" '^what  *modified'
has "the card has the digest" "$out" '^now  *version 2, sha256 [0-9a-f]\{64\}'
has "the card says where the former bytes lie" "$out" "$(realpath "$dir")/store/public/sha256/"
run 0 freshet show "$event" --json
is "the whole entry" "$(echo "$out" | jq -r .change_event_id)" "$event"
run 1 freshet show evt_20000101T000000Z_000000
has "unknown event" "$err" 'freshet queue list'

# ---- A, B, A (I10) --------------------------------------------------------------------------------
advance /cli/a.json
run 3 freshet check source a --exit-code --wait
is "a return to earlier bytes is a change of its own" "$(freshet changes --source a --json | jq -c '[.results[].object_identity.version]')" '[3,2,1]'
is "with the first bytes" "$(freshet changes --source a --json | jq '.results | (.[0].object_identity.sha256 == .[2].object_identity.sha256)')" true

# ---- held -----------------------------------------------------------------------------------------
run 0 freshet queue list --state held
held=$(echo "$out" | cut -f 1)
is "the restricted change is held" "$(echo "$out" | cut -f 2,3)" "held$(printf '\t')held"
lacks "and not in the feed" "$(freshet changes --json)" '"held"'
run 0 freshet show "$held"
has "show explains it" "$out" 'is held until somebody decides'
run 2 freshet approve "$held" --note why
run 2 freshet approve "$held" --reviewer me
run 0 freshet approve "$held" --reviewer 'A. Steward' --note 'seen with the owners' --json
run 1 freshet approve "$held" --reviewer me --note again
has "twice is a conflict" "$err" 'not held'
run 0 freshet work --json
is "then it is promoted" "$(echo "$out" | jq .done)" 1
entry=$(freshet changes --source held --json | jq -c '.results[0]')
is "the public sees a day, no uri, no digest" "$(echo "$entry" | jq -c '[.finalized_at, .source_uri, .object_identity]' | sed 's/20..-..-../DAY/')" '["DAY",null,null]'
has "the operator sees all of it" "$(freshet show "$held" --json)" "$u/cli/held.json"

# ---- failures are not "no change" -----------------------------------------------------------------
freshet source add --id gone --url "$u/cli/broken.json"
run 0 freshet check source gone --json
is "404 is gone" "$(echo "$out" | jq -c .outcomes)" '{"gone":1}'
run 1 freshet check source gone --exit-code
freshet source add --id wild --url http://10.0.0.1/x
run 0 freshet check source wild --json
is "an address that is not allowed is blocked" "$(echo "$out" | jq -c .outcomes)" '{"blocked":1}'

# ---- tokens ---------------------------------------------------------------------------------------
run 2 freshet token create --name ci
run 2 freshet token create --name ci --scope fly
has "an unknown scope is named" "$err" 'fly'
run 0 freshet token create --name ci --scope check,sources --expires 30d --json
is "a token" "$(echo "$out" | jq -r '[.name, .scopes, .number] | @csv')" '"ci","check sources",2'
run 2 freshet token create --name ci --scope check --expires yesterday
run 0 freshet token list
has "list" "$out" "^2$(printf '\t')ci$(printf '\t')check sources"
lacks "list shows no token" "$out" 'fr_'
run 0 freshet token revoke 2
run 1 freshet token revoke 99
run 2 freshet token revoke ci

# ---- verify and doctor ----------------------------------------------------------------------------
run 0 freshet verify --json
is "shape of verify" "$(echo "$out" | jq -c 'keys_unsorted')" '["ok","checked","problems"]'
is "all is well" "$(echo "$out" | jq -c '[.ok, .problems]')" '[true,[]]'
blob=$(find "$dir/store/public" -type f | head -n 1)
cp "$blob" "$work/blob"
chmod u+w "$blob"
printf 'x' | dd of="$blob" bs=1 conv=notrunc 2>/dev/null
run 1 freshet verify --json
is "a flipped byte is found" "$(echo "$out" | jq -c '[.ok, (.problems | length)]')" '[false,1]'
run 0 freshet verify --quick
cat "$work/blob" >"$blob"
run 0 freshet verify
run 0 freshet doctor
has "doctor looked at the ledger" "$out" "^ok$(printf '\t')ledger"
chmod 755 "$dir/secrets"
run 0 freshet doctor
has "open secrets are a warning with the fix" "$out" "^warn$(printf '\t')secrets$(printf '\t').*chmod 700"
chmod 700 "$dir/secrets"
mv "$dir/run" "$dir/run.away"
run 1 freshet doctor --json
is "a missing folder fails" "$(echo "$out" | jq -c '[.ok, [.findings[] | select(.verdict == "fail") | .what]]')" '[false,["run"]]'
mv "$dir/run.away" "$dir/run"

# ---- the clock ------------------------------------------------------------------------------------
FRESHET_NOW=2031-02-03T04:05:06Z
export FRESHET_NOW
run 0 freshet check source b --json
unset FRESHET_NOW
is "FRESHET_NOW sets the clock" "$(freshet source show b --json | jq -r .state.checked_at)" '2031-02-03T04:05:06.000Z'
run 1 env FRESHET_NOW=tomorrow "$B/freshet" source list
has "a wrong FRESHET_NOW is named" "$err" 'FRESHET_NOW'
summary

#!/bin/sh
# The replay log through the handler again: no-ops on an intact ledger; an emptied one becomes what it was,
# row for row; an altered log is refused.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/rollback.json
FRESHET_DIR=$work/i
export FRESHET_DIR
freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set openlineage log/lineage.ndjson
query() { sqlite3 -readonly "$FRESHET_DIR/ledger.db" "$1"; }
newest_delta() { query "SELECT delta_id FROM ledger JOIN sources USING (src_no) WHERE id = '$1' AND status = 'finalized' ORDER BY version DESC LIMIT 1"; }
clean() { is "verify is clean $1" "$(freshet verify --json | jq -c '[.ok, .problems]')" '[true,[]]'; }
# All public rows, heads, ledger and log; without what checks taught, which the log does not hold.
dump() {
    sqlite3 -readonly "$FRESHET_DIR/ledger.db" <tests/30-ledger/crash.sql |
        grep -Ev '^(state|checks|checked|outbox)\|' | grep -v '|admin.replay|'
    query "SELECT 'log', seq, hex(hash) FROM replay_log WHERE kind <> 'admin.replay' ORDER BY seq"
}
since=2020-01-01T00:00:00Z

freshet source add --id a --url "$u/back/a.json" --collection tests --title A
freshet source add --id r --url "$u/back/secret.json" --collection secret --sensitivity restricted
freshet source add --id l --url "$u/back/index.json" --detector manifest --collection listed
freshet check all --wait >/dev/null
freshet approve "$(query "SELECT event_id FROM inbox WHERE state = 'held'")" --reviewer rita --note 'seen it' >/dev/null
freshet work --drain >/dev/null
advance /back/a.json
advance /back/index.json
freshet check all --wait >/dev/null
freshet rollback "$(newest_delta a)" --reason 'wrong lines' --by otto >/dev/null
freshet rollback "$(newest_delta a)" --reason 'right after all' >/dev/null
freshet source set a --title 'A, renamed' >/dev/null
later=$(date -u -d '+30 days' +%F)
# Waivers, levels, authors and a rejection: what people decided.
waiver=$(freshet waiver add --source a --rule LICENSE_UNKNOWN --requester ann --reviewer bob --note 'asked them' --expires "$later")
freshet waiver revoke "$waiver" --by bob --note 'they said no' >/dev/null
freshet waiver add --source r --rule METADATA_MISSING --requester ann --reviewer bob --note 'it is "so"' --expires "$later" >/dev/null
freshet source add --id w --url "$u/back/a.json?w" --collection tests --title W --sensitivity restricted --by ann
freshet check source w --wait >/dev/null
freshet source set w --title 'W, renamed' --by carl >/dev/null
freshet reject "$(query "SELECT event_id FROM inbox WHERE state = 'held'")" --reviewer rita --note 'not this' >/dev/null
asked() { grep -o 'lvl_[0-9a-f-]*' "$work/lvl"; }
freshet source set w --sensitivity public --by ann --note first 2>"$work/lvl" >/dev/null
freshet reject "$(asked)" --reviewer rita --note 'not yet' >/dev/null
freshet source set w --sensitivity generalized --by ann --note second 2>"$work/lvl" >/dev/null
freshet approve "$(asked)" --reviewer rita --note 'well then' >/dev/null
freshet source retire w >/dev/null
freshet work --drain >/dev/null # which also tells what is to be told
decisions() {
    for t in waivers waiver_revocations source_authors; do query "SELECT '$t', * FROM $t"; done
    query "SELECT request_id, src_no, old, new, asked_by, note, created_at, decision, reviewer, review_note, decided_at FROM level_requests"
    query "SELECT id, declared_by FROM sources"
    query "SELECT event_id, state, result, reason FROM inbox"
}
clean 'after the first life'

# ---- run artifacts ----------------------------------------------------------------------------------
runs=$FRESHET_DIR/runs/change-detection
is 'a folder for each finalized run' "$(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" "$(query "SELECT count(*) FROM ledger WHERE status = 'finalized'")"
one=$(query "SELECT run_id FROM ledger WHERE status = 'finalized' ORDER BY fin_no LIMIT 1")
is 'six files in it' "$(cd "$runs/$one" && printf '%s ' *)" 'delta_manifest.json detector.json manifest.json provenance.prov.jsonld summary.md wal.json '
is 'they are JSON' "$(jq -r .run_id "$runs/$one/wal.json")" "$one"
kept=$(query "SELECT run_id FROM ledger JOIN sources USING (src_no) WHERE id = 'r' AND status = 'finalized'")
is 'withheld ones are for the owner alone' "$(stat -c %a "$runs/$kept" "$runs/$kept/wal.json" | tr '\n' ' ')" '700 600 '
rm -r "${runs:?}/$one"
is 'a lost one is noticed' "$(freshet verify --json | jq -c '[.ok, (.problems | length)]')" '[false,1]'
freshet rebuild >/dev/null
clean 'when rebuild wrote it again'
is 'run events of what may be named' "$(jq -r '.eventType + " " + .job.name' "$FRESHET_DIR/log/lineage.ndjson" | sort | uniq -c | tr -s ' \n' ' ')" ' 4 COMPLETE a 2 COMPLETE l 1 COMPLETE l-x 1 COMPLETE l-y 1 COMPLETE restricted 4 START a 2 START l 1 START l-x 1 START l-y 1 START restricted '
is 'and nothing of the withheld one' "$(grep restricted "$FRESHET_DIR/log/lineage.ndjson" | grep -c 'back\|"r"\|secret')" 0

# ---- an intact ledger -------------------------------------------------------------------------------
dump >"$work/before"
decisions >"$work/decided"
is 'a rejected hold is over' "$(query "SELECT result FROM inbox JOIN sources USING (src_no) WHERE id = 'w' AND reason = 'REJECTED'")" rejected
rows=$(query 'SELECT count(*) FROM replay_log')
run 1 freshet replay --since $since --json
has 'a long window wants a name' "$err" 'approved_by'
run 1 freshet replay --since $since --by ann --approved-by ' Ann' --json
has 'and not that of who asks' "$err" 'somebody else'
is 'every row is a no-op' "$(freshet replay --since $since --approved-by ann --json | jq -c '[.rows, .noop, .applied, .failed]')" "[$rows,$rows,0,0]"
dump >"$work/after"
is 'and nothing moved' "$(diff "$work/before" "$work/after")" ''

# ---- an emptied one ---------------------------------------------------------------------------------
freshet replay --export "$work/log.ndjson" >/dev/null
mv "$FRESHET_DIR/ledger.db" "$work/ledger.db"
rm -f "$FRESHET_DIR"/ledger.db-*
mv "$runs" "$work/runs"
sed 's/wrong lines/fine lines_/' "$work/log.ndjson" >"$work/bad.ndjson"
run 1 freshet replay --log "$work/bad.ndjson" --since $since --approved-by ann
has 'an altered log is refused' "$err" 'does not follow'
is 'and nothing was written' "$(query 'SELECT count(*) FROM replay_log')" 0
run 0 freshet replay --log "$work/log.ndjson" --since $since --dry-run --approved-by ann --json
is 'a dry run writes nothing' "$(query 'SELECT count(*) FROM sources')" 0
run 0 freshet replay --log "$work/log.ndjson" --since $since --approved-by ann --json
dump >"$work/again"
is 'the ledger is what it was' "$(diff "$work/before" "$work/again")" ''
decisions >"$work/again"
is 'and so is what people decided' "$(diff "$work/decided" "$work/again")" ''
clean 'after it was rebuilt'
is 'the author is still no reviewer' "$(query "SELECT group_concat(by) FROM source_authors JOIN sources USING (src_no) WHERE id = 'w'")" ann,carl
is 'nothing is left to work on' "$(freshet work --drain --json 2>/dev/null | jq -c '[.done, .failed]')" '[0,0]'
is 'and so are the folders of the runs' "$(diff -r "$work/runs" "$runs")" ''
is 'nothing is left to do' "$(freshet replay --log "$work/log.ndjson" --since $since --approved-by ann --json | jq -c '[.applied, .failed]')" '[0,0]'
freshet check all --wait >/dev/null
is 'and no change comes twice' "$(query "SELECT count(*) FROM ledger WHERE status = 'finalized'")" "$(find "$work/runs" -mindepth 1 -maxdepth 1 | wc -l)"

# ---- the log of an older program --------------------------------------------------------------------
# It wrote no bodies for waivers and requests: such rows are kept, and the rest is done.
python3 - "$work/log.ndjson" "$work/old.ndjson" <<'EOF'
import hashlib, json, sys
prev = bytes(32)
with open(sys.argv[1]) as log, open(sys.argv[2], "w") as out:
    for line in log:
        r = json.loads(line)
        if r["kind"] in ("waiver.add", "waiver.revoke", "level.ask"):
            r["body"] = "{}"
        text = "%d\n%d\n%s\n%d\n%s\n%s" % (r["seq"], r["at"], r["kind"], r["src_no"], r["ref"], r["body"])
        r["prev"] = prev.hex()
        prev = hashlib.sha256(prev + text.encode()).digest()
        r["hash"] = prev.hex()
        out.write(json.dumps(r, separators=(",", ":")) + "\n")
EOF
rm -f "${FRESHET_DIR:?}"/ledger.db*
run 0 freshet replay --log "$work/old.ndjson" --since $since --approved-by ann --json
is 'every row is done or kept' "$(echo "$out" | jq -c '[.applied, .failed]')" "[$(wc -l <"$work/old.ndjson"),0]"
is 'what nobody can make again is not there' "$(query 'SELECT (SELECT count(*) FROM waivers) + (SELECT count(*) FROM level_requests)')" 0
clean 'after an older log'
summary

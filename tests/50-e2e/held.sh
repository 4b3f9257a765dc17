#!/bin/sh
# Changes that wait for a person, and what becomes of them when nobody comes: a later look that settles what
# is head ends them as superseded. Who decides, and that a log with all of it makes the same ledger again.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/held.json
FRESHET_DIR=$work/i
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web
freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
query() { sqlite3 -readonly "$FRESHET_DIR/ledger.db" "$1"; }
held() { freshet queue list --state held | awk -v s="$1" '$2 == s { print $1; exit }'; }
version() { query "SELECT coalesce((SELECT version FROM heads JOIN sources USING (src_no) WHERE id = '$1'), 0)"; }
fate() { query "SELECT result || ' ' || reason FROM inbox WHERE event_id = '$1'"; }
look() { freshet check source "$1" --wait --json >/dev/null; }
clean() { is "verify is clean $1" "$(freshet verify --json | jq -c '[.ok, .problems]')" '[true,[]]'; }
add() { id=$1 && shift && freshet source add --id "$id" --url "$u/h/$id.json" --collection tests --title "$id" "$@"; }
# What the log can make again; runs of a replay name the policy that is there now.
dump() {
    sqlite3 -readonly "$FRESHET_DIR/ledger.db" <tests/30-ledger/crash.sql |
        grep -Ev '^(state|checks|checked|outbox)\|' | grep -v '|admin.replay|' | sed 's/[12]+[0-9a-f]\{8\}/POLICY/g'
    query "SELECT 'log', seq, hex(hash) FROM replay_log WHERE kind <> 'admin.replay' ORDER BY seq"
    query "SELECT event_id, state, result, reason FROM inbox ORDER BY cand_no"
    query "SELECT source_id, held FROM public_freshness ORDER BY source_id"
}

# ---- the upstream went back -------------------------------------------------------------------------
add back --count-drift-pct 10
add over --count-drift-pct 10
look back
look over
advance /h/back.json
advance /h/over.json
look back
look over
back=$(held back) over=$(held over)
is "both wait" "$(query "SELECT group_concat(DISTINCT reason) FROM inbox WHERE state = 'held'")" DISTRIBUTION_SHIFT_HIGH
advance /h/back.json
look back
is "the head was found again: what waited is superseded" "$(fate "$back")" 'noop SUPERSEDED'
run 1 freshet approve "$back" --reviewer bob --note ok
has "an approval comes too late" "$err" 'superseded'
freshet work --drain >/dev/null
is "the head is what the upstream has" "$(version back)" 1

# ---- a newer version came ---------------------------------------------------------------------------
advance /h/over.json
look over
is "it is head" "$(version over)" 2
is "what it overtook is superseded" "$(fate "$over")" 'noop SUPERSEDED'
is "nothing waits any more" "$(held over)$(held back)" ''
run 0 freshet show "$over"
has "it is kept as evidence" "$out" 'SUPERSEDED'
clean "after both"

# ---- over HTTP --------------------------------------------------------------------------------------
add mine --sensitivity restricted
add no --count-drift-pct 10
look no
look mine
advance /h/no.json
printf '{"version":"2","levels":{"public":{},"restricted":{}}}\n' >"$FRESHET_DIR/policy.json"
look no
no=$(held no) mine=$(held mine)
run 1 freshet approve "$mine" --reviewer ' Operator' --note mine
has "who declared it without a name is the operator, and does not decide" "$err" 'somebody else must decide'
run 1 freshet source set mine --title Mine --by ''
freshet source set mine --title Mine
is "nor does who changed it" "$(query "SELECT group_concat(by) FROM source_authors JOIN sources USING (src_no) WHERE id = 'mine'")" operator
"$B/freshet" up --port "$web" >/dev/null 2>&1 &
up=$!
children="$children $up"
soon "it is up" 30 curl -sf "$base/readyz"
rita=$(freshet token create --name rita --scope approve)
operator=$(freshet token create --name operator --scope approve)
decide() { # decide TOKEN EVENT WORD: status in $code, body in $out
    code=$(curl -s -o "$work/body" -w '%{http_code}' -X POST "$base/admin/approvals" -H "Authorization: Bearer $1" \
        -H 'Content-Type: application/json' -d '{"event":"'"$2"'","decision":"'"$3"'","note":"x"}')
    out=$(cat "$work/body")
}
state() { curl -s "$base/freshness/$1" | jq -r .state; }
is "shown as current, though something waited" "$(state over) $(state back)" 'current current'
is "shown as held" "$(state no)" held
decide "$rita" "$over" approve
is "what is superseded is not to be decided: 409" "$code" 409
decide "$operator" "$mine" approve
is "the same over HTTP, and why" "$code $(echo "$out" | jq -r '.type + " " + .title')" "403 $base/problems/#wrong-person Somebody else must decide"
decide "$rita" "$no" reject
is "rejected" "$code" 200
rejected() { [ "$(fate "$no")" = 'rejected REJECTED' ]; }
soon "a handler ends its run" 20 rejected
over_shown() { [ "$(state no)" != held ]; }
soon "and nothing waits" 10 over_shown
children=
kill "$up"
wait "$up" 2>/dev/null
clean "after a rejection"

# ---- again, from the log ------------------------------------------------------------------------------
since=2020-01-01T00:00:00Z
dump >"$work/before"
freshet replay --export "$work/log.ndjson" >/dev/null
cp -r "$FRESHET_DIR" "$work/kept"
rm -f "$FRESHET_DIR"/ledger.db*
run 0 freshet replay --log "$work/log.ndjson" --since $since --approved-by ann --json
dump >"$work/again"
is "the ledger is what it was" "$(diff "$work/before" "$work/again")" ''
clean "after a replay"

# A log of two handlers that read one edit of the policy: its row is there twice.
python3 - "$work/log.ndjson" "$work/twice.ndjson" <<'END'
import hashlib, json, sys
prev, seq = bytes(32), 0
with open(sys.argv[1]) as log, open(sys.argv[2], "w") as out:
    for line in log:
        r = json.loads(line)
        for _ in range(2 if r["kind"] == "policy" else 1):
            seq += 1
            text = "%d\n%d\n%s\n%d\n%s\n%s" % (seq, r["at"], r["kind"], r["src_no"], r["ref"], r["body"])
            r["seq"], r["prev"] = seq, prev.hex()
            prev = hashlib.sha256(prev + text.encode()).digest()
            r["hash"] = prev.hex()
            out.write(json.dumps(r, separators=(",", ":")) + "\n")
END
rm -f "$FRESHET_DIR"/ledger.db*
run 0 freshet replay --log "$work/twice.ndjson" --since $since --approved-by ann --json
is "every row is done" "$(echo "$out" | jq -c '[.applied, .failed]')" "[$(wc -l <"$work/twice.ndjson"),0]"
is "the policy is in force" "$(query "SELECT policy_version LIKE '2+%' FROM public_meta")" 1
clean "after a row that is there twice"
summary

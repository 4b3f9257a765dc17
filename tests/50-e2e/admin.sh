#!/bin/sh
# Sources and replays over HTTP, through nginx, intake and handlers: a source is declared and watched, its
# level raised, lowered by two, and it is retired; the log is replayed.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/cli.json
FRESHET_DIR=$work/i
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web
run 0 freshet init "$FRESHET_DIR"
run 0 freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
token=$(freshet token create --name ada --scope sources,check,replay --json | jq -r .token)
other=$(freshet token create --name bob --scope approve,read:restricted,sources --json | jq -r .token)
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
children=$!
soon "it is up" 30 grep -q "$base/" "$work/up.out"
call() { # call METHOD PATH TOKEN [BODY]: answer in $work/answer, status on output
    curl -sS --max-time 20 -o "$work/answer" -w '%{http_code}' -X "$1" "$base$2" -H "Authorization: Bearer $3" \
        ${4:+-H 'Content-Type: application/json' -d "$4"}
}
order() { # order ID TOKEN STATE: is the newest wish about it in this state?
    call GET "/admin/sources/$1" "$2" >/dev/null && [ "$(jq -r .order.state "$work/answer")" = "$3" ]
}
status() { curl -sS --max-time 20 -o /dev/null -w '%{http_code}' "$base$1"; }

decl="{\"id\":\"a\",\"title\":\"First\",\"url\":\"$u/cli/a.json\""
is "a source is declared" "$(call POST /admin/sources "$token" "$decl}")" 202
is "the answer says where to ask" "$(jq -r .status_url "$work/answer")" "$base/admin/sources/a"
soon "a handler carries it out" 20 order a "$token" 'done'
is "it is public" "$(status /sources/a)" 200
is "who declared it is kept" "$(sqlite3 "$FRESHET_DIR/ledger.db" 'SELECT declared_by FROM sources')" ada
soon "and watched" 30 sh -c "curl -s $base/changes | jq -e '.results[] | select(.source_id == \"a\")'"
is "the same again" "$(call POST /admin/sources "$token" "$decl}")" 409
is "a wrong field" "$(call PUT /admin/sources/a "$token" "$decl,\"sensitivity\":\"secret\"}")" 400
has "is named" "$(cat "$work/answer")" '"field":"sensitivity"'
is "no scope, no source" "$(call PUT /admin/sources/a "$(freshet token create --name eve --scope check --json | jq -r .token)" "$decl}")" 403

# ---- levels ----------------------------------------------------------------------------------------
is "the level is raised" "$(call PUT /admin/sources/a "$token" "$decl,\"sensitivity\":\"sovereign\"}")" 202
soon "and nothing of it is public" 20 sh -c "[ \$(curl -s -o /dev/null -w '%{http_code}' $base/sources/a) = 404 ]"
is "not even to who asked" "$(call GET /admin/sources/a "$token")" 404
is "the feed is empty" "$(curl -s "$base/changes" | jq '.results | length')" 0
is "lowering is taken" "$(call PUT /admin/sources/a "$other" "$decl}")" 202
soon "and waits" 20 order a "$other" 'done'
has "for a second person" "$(jq -r .order.detail "$work/answer")" 'stays sovereign until a second person approves lvl_'
is "meanwhile it stays" "$(status /sources/a)" 404

# ---- retired ---------------------------------------------------------------------------------------
is "it is retired" "$(call DELETE /admin/sources/a "$other")" 202
soon "by a handler" 20 sh -c "[ \$(sqlite3 $FRESHET_DIR/ledger.db 'SELECT count(retired_at) FROM sources') = 1 ]"
is "once" "$(call DELETE /admin/sources/a "$other")" 409

# ---- a replay --------------------------------------------------------------------------------------
is "a replay is asked for" "$(call POST /admin/replays "$token" '{"since":"2020-01-01T00:00:00Z","approved_by":"bob"}')" 202
at=$(jq -r .status_url "$work/answer")
replayed() { call GET "${at#"$base"}" "$token" >/dev/null && [ "$(jq -r .state "$work/answer")" = 'done' ]; }
soon "and made" 30 replayed
is "counted for those who may know" "$(jq -c '[.rows, .failed]' "$work/answer")" '[null,null]'
has "and for Prometheus" "$(curl -s "$base/metrics")" 'freshet_replays_total{result="done"} 1'
run 0 freshet verify
summary

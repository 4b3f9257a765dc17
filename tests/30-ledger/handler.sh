#!/bin/sh
# freshet-handler as a program: it wakes by itself, finishes its run when told to stop, shares work
# with a second one, and its log holds nothing that is withheld. B is the build folder (build).

set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
B=${B:-build}
work=$(mktemp -d)
dir=$work/instance
pids=
cleanup() {
    # shellcheck disable=SC2086 # a list
    [ -z "$pids" ] || kill $pids 2>/dev/null || :
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

passed=0 failed=0
ok() { # WHAT COMMAND...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $what"
    fi
}
die() {
    echo "handler: $*" >&2
    exit 1
}
freshet() { "$B/freshet" -C "$dir" "$@" >"$work/out" 2>&1 || die "freshet $*: $(cat "$work/out")"; }
control() { curl -sfS -o /dev/null -X POST "http://127.0.0.1:$port/control/$1" -d "$2" || die "upstream refused $1"; }
until_true() { # SECONDS COMMAND...
    tries=$(($1 * 50))
    shift
    while [ "$tries" -gt 0 ]; do
        if "$@" >/dev/null 2>&1; then return 0; fi
        tries=$((tries - 1))
        sleep 0.02
    done
    return 1
}
ask() { sqlite3 -readonly "$dir/ledger.db" "$1"; }
is() { [ "$(ask "$1")" = "$2" ]; }
start_handler() {
    "$B/freshet-handler" -C "$dir" 2>>"$work/log" &
    handler=$!
    pids="$pids $handler"
}
requests() { curl -sf "http://127.0.0.1:$port/control/log" | jq -e "length >= $1"; }

cat >"$work/scenario.json" <<'SCENARIO'
{"name": "handler", "resources": [
  {"path": "/open.json", "versions": [{"body": "[1]"}, {"body": "[2]"}, {"body": "[3]"}]},
  {"path": "/canary-address.json", "versions": [{"body": "[4]"}]}]}
SCENARIO
"$B/freshet-upstream" --quiet --scenario "$work/scenario.json" --port-file "$work/port" &
pids=$!
until_true 10 test -s "$work/port" || die "the upstream does not start"
port=$(jq .http "$work/port")
freshet init "$dir"
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet source add --id open --url "http://127.0.0.1:$port/open.json"
freshet source add --id canary-id --title 'canary title' --sensitivity restricted \
    --url "http://127.0.0.1:$port/canary-address.json"

start_handler
until_true 10 grep -q handler.started "$work/log" || die "the handler does not start: $(cat "$work/log")"
freshet check all
ok "a candidate wakes the handler" until_true 5 is "SELECT version FROM heads WHERE src_no = 1" 1
ok "a restricted one is held" until_true 5 is "SELECT state FROM inbox WHERE src_no = 2" held
ok "it gives a sign of life" is "SELECT count(*) FROM public_heartbeats WHERE role = 'handler'" 1

# The bytes are on their way when it is told to stop: the run is finished first.
control "advance?path=/open.json" ""
freshet check source open
until_true 5 is "SELECT version FROM heads WHERE src_no = 1" 2 || die "no second version"
kill -STOP "$handler"
control "advance?path=/open.json" ""
freshet check source open
rm -f "$dir"/spool/*
before=$(curl -sf "http://127.0.0.1:$port/control/log" | jq length)
control set '{"path":"/open.json","delay_ms":800}'
kill -CONT "$handler"
until_true 5 requests $((before + 1)) || die "the handler does not fetch"
kill -TERM "$handler"
status=0
wait "$handler" || status=$?
ok "it ends with status 0" test "$status" = 0
ok "the run was finished" is "SELECT version FROM heads WHERE src_no = 1" 3
ok "nothing is left behind" test -z "$(ls "$dir/store/tmp")"

ok "one line per run" test "$(grep -c '"code":"run\.' "$work/log")" = 4
ok "every line is JSON" jq -e . "$work/log" >"$work/out"
ok "the log knows no canary" sh -c "! grep -i canary '$work/log'"
ok "nor an address" sh -c "! grep '127.0.0.1' '$work/log'"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

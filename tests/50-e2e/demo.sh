#!/bin/sh
# What `make run` starts: the demo with its own upstream. It shows changes by itself, is kept for the
# next run, and leaves nothing running.
# shellcheck disable=SC2154 # out and err are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
dir=$work/demo

# Two ports in a row that nobody uses.
two_ports() {
    for _ in 1 2 3 4 5 6 7 8; do
        web=$(free_port)
        [ "$web" -lt 65535 ] || continue
        "$B/freshet-upstream" --quiet --port $((web + 1)) --port-file "$work/next" 2>/dev/null &
        probe=$!
        if within 3 test -s "$work/next"; then
            kill "$probe"
            wait "$probe" 2>/dev/null
            rm -f "$work/next"
            return 0
        fi
        wait "$probe" 2>/dev/null
    done
    return 1
}
start_demo() {
    : >"$work/demo.out"
    # A shell starts what runs in the background deaf to INT; a terminal does not.
    env --default-signal=INT build-aux/demo "$B" "$dir" "$web" >"$work/demo.out" 2>&1 &
    demo=$!
    children=$demo
    soon "$1" 60 grep -q "http://127.0.0.1:$web/ " "$work/demo.out"
}
# Everything that was started from here on: by the folder or the port it was given.
running() { pgrep -f "$dir|--port $((web + 1)) " | grep -v -x -e "$$" -e "$demo"; }
stop_demo() { # stop_demo SIGNAL
    kill -s "$1" "$demo"
    wait "$demo"
    is "$1 ends it with 0" "$?" 0
    children=
    is "nothing is left running" "$(running)" ''
}

two_ports || {
    fail "two free ports in a row"
    summary
    exit 1
}
base=http://127.0.0.1:$web
run 2 build-aux/demo "$B" "$dir" eighty
start_demo "the demo starts"
has "it tells where the token lies" "$(cat "$work/demo.out")" "$dir/secrets/admin-token"
is "the token is for its owner only" "$(stat -c %a "$dir/secrets/admin-token")" 600
token=$(cat "$dir/secrets/admin-token")
is "the token works" "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$base/admin/checks" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"source":"ks-counties"}')" 202
modified() { curl -s "$base/changes" | jq -e '[.results[] | select(.change_type == "modified")] | length > 0'; }
soon "something changes by itself" 60 modified
approved() { curl -s "$base/changes?source=ks-archaeological-sites" | jq -e '.results | length == 1'; }
soon "one restricted change was approved" 60 approved
is "the sovereign one was not" "$("$B/freshet" -C "$dir" queue list --state held | cut -f 2 | sort -u | grep -c meadow-river-nation)" 1
is "the operator has a name" "$("$B/freshet" -C "$dir" config get operator_name)" 'Freshet demo'
stop_demo TERM
first=$("$B/freshet" -C "$dir" changes --limit 1 | cut -f 1)

# ---- again: the instance is kept ------------------------------------------------------------------
start_demo "it starts again"
is "with the same token" "$(cat "$dir/secrets/admin-token")" "$token"
if [ "$(curl -s "$base/changes?limit=1" | jq -r .last_seq)" -ge "$first" ]; then
    pass "and the same feed"
else
    fail "and the same feed"
fi
run 1 build-aux/demo "$B" "$work/other" "$web"
has "a second one on the same port says why not" "$err" 'make run PORT=N'
stop_demo INT
run 0 "$B/freshet" -C "$dir" verify
summary

#!/bin/sh
# `freshet up` with real nginx and the demo upstream: every address of the README, a check by token, a
# change that travels to feed, badge and bytes, children that are killed, and a clean end.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --demo --tick 3600000
dir=$work/i
FRESHET_DIR=$dir
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web

get() { curl -sS --max-time 20 "$@"; }
status() { get -o /dev/null -w '%{http_code}' "$@"; }
says() { [ "$(status "$2")" = "$1" ]; } # says CODE URL
tick() { get -X POST "$u/control/tick" >/dev/null; }
last_seq() { get "$base/changes?limit=1" | jq -r .last_seq; }
children_of() { pgrep -P "$up"; }
pid_of() { pgrep -P "$up" -f "$1" | head -n 1; }

# ---- an instance with the demo's sources ----------------------------------------------------------
token=$(freshet init "$dir")
sed "s/{port}/$port/g" tests/upstream/demo-sources.json >"$work/sources.json"
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet source import "$work/sources.json"
n=$(jq length "$work/sources.json")

# ---- what cannot work fails before anything starts ----------------------------------------------
run 1 freshet up --port "$port"
has "a taken port is named, with the fix" "$err" "port $port on 127.0.0.1 cannot be used.*--port N"
is "and nothing was started" "$(ls "$dir/run"/*.sock 2>/dev/null)" ''
run 2 freshet up --port 0

# ---- up -------------------------------------------------------------------------------------------
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
up=$!
children=$up
soon "it says when it is ready" 30 grep -q "$base/" "$work/up.out"
is "ready means ready" "$(status "$base/readyz")" 200
run 1 freshet up --port "$web"
has "a second one is refused" "$err" "running already (process $up)"
run 0 freshet doctor
soon "everything public is promoted" 30 sh -c "[ \$(curl -s $base/changes | jq '.results | length') -ge 10 ]"

# ---- every address of the README -----------------------------------------------------------------
is "the page" "$(status "$base/")" 200
has "is HTML" "$(get -i "$base/")" '^Content-Type: text/html'
is "newest changes" "$(get "$base/changes?limit=3" | jq '.results | length')" 3
is "everything, oldest first" "$(get "$base/changes?since=0&limit=100" | jq -r '.results[0].seq')" 1
is "how fresh" "$(get "$base/freshness/ks-counties" | jq -r '[.source_id, .state] | join(" ")')" 'ks-counties current'
has "as a picture" "$(get "$base/badges/ks-counties.svg")" '<svg.*Updated on 20'
is "as shields.io data" "$(get "$base/badges/ks-counties.json" | jq .schemaVersion)" 1
is "what is watched" "$(get "$base/sources" | jq '[.results[] | select(.parent == null)] | length')" "$((n - 1))"
is "and what a listing named" "$(get "$base/sources" | jq '[.results[] | select(.parent == "ks-places")] | length')" 3
entry=$(get "$base/changes?source=ks-counties&limit=1" | jq -c '.results[0]')
for ref in prov_ref delta_manifest_ref; do
    is "$ref answers" "$(status "$(echo "$entry" | jq -r .$ref)")" 200
done
is "an entry by its id" "$(get "$base/changes/$(echo "$entry" | jq -r .change_event_id)" | jq -c .seq)" "$(echo "$entry" | jq -c .seq)"
is "healthz" "$(status "$base/healthz")" 200
is "health of a source" "$(get "$base/sources/ks-counties" | jq -r '.health.state')" ok
has "numbers for Prometheus" "$(get "$base/metrics")" '^freshet_checks_total{outcome="new"} [1-9]'
has "of the public sources only" "$(get "$base/metrics")" "^freshet_sources{state=\"failing\"} 1$"
is "not through a proxy" "$(status -H 'X-Forwarded-For: 203.0.113.7' "$base/metrics")" 404
is "an unknown parameter is refused" "$(status "$base/changes?colour=red")" 400
is "an unknown address is a problem" "$(get "$base/nothing/here" | jq .status)" 404
etag=$(get -I "$base/changes" | tr -d '\r' | sed -n 's/^[Ee][Tt]ag: //p')
is "304 when nothing is new" "$(status -H "If-None-Match: $etag" "$base/changes")" 304

# ---- bytes ----------------------------------------------------------------------------------------
sha=$(echo "$entry" | jq -r .object_identity.sha256)
is "an asset has the digest it is named by" "$(get "$base/assets/sha256/$sha" | sha256sum | cut -d ' ' -f 1)" "$sha"
is "and those are the upstream's bytes" "$(get "$u/data/counties.geojson" | sha256sum | cut -d ' ' -f 1)" "$sha"
is "ranges work" "$(get -H 'Range: bytes=0-9' -w '%{http_code}' -o "$work/range" "$base/assets/sha256/$sha")$(wc -c <"$work/range")" 20610
is "the internal way is shut" "$(status "$base/_store/sha256/")" 404

# ---- what is withheld -------------------------------------------------------------------------------
held=$(freshet queue list --state held | awk '$2 == "ks-archaeological-sites" { print $1 }')
run 0 freshet approve "$held" --reviewer steward --note 'for the test'
restricted() { [ "$(get "$base/changes?source=ks-archaeological-sites" | jq '.results | length')" = 1 ]; }
soon "a handler promotes what was approved" 20 restricted
secret=$(freshet show "$held" --json | jq -r .object_identity.sha256)
is "restricted bytes are not served" "$(status "$base/assets/sha256/$secret")" 404
get -D "$work/h1" "$base/freshness/meadow-river-nation" >"$work/b1"
get -D "$work/h2" "$base/freshness/meadow-river-notion" >"$work/b2"
is "a sovereign source answers like one that never was" \
    "$(sed 's/meadow-river-nation/X/; /^Date/d' "$work/h1" "$work/b1")" \
    "$(sed 's/meadow-river-notion/X/; /^Date/d' "$work/h2" "$work/b2")"
lacks "and is in no log" "$(cat "$dir"/log/*.log)" 'meadow'

# ---- a check by token -----------------------------------------------------------------------------
post() { get -X POST "$base/admin/checks" -H 'Content-Type: application/json' "$@"; }
is "without a token" "$(post -o /dev/null -w '%{http_code}' -d '{"all":true}')" 401
is "with a wrong one" "$(post -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer fr_wrong' -d '{"all":true}')" 401
tick
answer=$(post -w '\n%{http_code}' -H "Authorization: Bearer $token" -d '{"all":true}')
is "with the right one" "$(echo "$answer" | tail -n 1)" 202
url=$(echo "$answer" | head -n 1 | jq -r .status_url)
done_() { [ "$(get -H "Authorization: Bearer $token" "$url" | jq -r '.state // .status')" = "done" ]; }
soon "the request gets done" 30 done_
is "the token is in no log" "$(cat "$dir"/log/*.log | grep -c "$token")" 0

# ---- a change on command ----------------------------------------------------------------------------
seq=$(last_seq)
before=$(get "$base/badges/ks-counties.json")
moved() { # moved: ticks until counties have moved in the feed
    tick
    freshet check source ks-counties >/dev/null
    [ "$(get "$base/changes?source=ks-counties&limit=1" | jq -r '.results[0].seq')" -gt "$seq" ]
}
soon "a change on command appears in the feed" 30 moved
after=$(get "$base/changes?source=ks-counties&limit=1" | jq -c '.results[0]')
sha=$(echo "$after" | jq -r .object_identity.sha256)
is "freshness names the new bytes" "$(get "$base/freshness/ks-counties" | jq -r '.object_identity.sha256 // .object_identity')" "$sha"
is "they can be fetched" "$(get "$base/assets/sha256/$sha" | sha256sum | cut -d ' ' -f 1)" "$sha"
is "so can the former ones" "$(status "$base/assets/sha256/$(echo "$after" | jq -r .previous_identity.sha256)")" 200
has "the badge still says when" "$before$(get "$base/badges/ks-counties.json")" 'Updated on'

# ---- children that die ------------------------------------------------------------------------------
for name in freshet-api freshet-handler nginx:.master freshet-intake freshet-scheduler; do
    old=$(pid_of "$name")
    kill -9 "$old"
    another() { new=$(pid_of "$name") && [ -n "$new" ] && [ "$new" != "$old" ] && ! kill -0 "$old"; }
    soon "$name is started again" 20 another
    soon "and the feed answers" 20 says 200 "$base/changes"
done
soon "ready again" 30 says 200 "$base/readyz"
is "each end is told" "$(grep -c 'ended (signal 9) and is started again' "$work/up.err")" 5
is "and logged" "$(grep -c '"code":"up.ended"' "$dir/log/up.log")" 5

# ---- the end ----------------------------------------------------------------------------------------
pids=$(children_of)
all=$(for p in $pids; do pgrep -g "$p"; done)
kill -INT "$up"
begin=$(date +%s)
wait "$up"
is "Ctrl-C ends it with 0" "$?" 0
took=$(($(date +%s) - begin))
if [ "$took" -le 5 ]; then pass "within seconds"; else fail "within seconds: $took s"; fi
children=
left() { for p in $all; do [ ! -d "/proc/$p" ] || grep -q '^State:.Z' "/proc/$p/status" || echo "$p"; done; }
is "nothing is left running" "$(left)" ''
is "the port is free" "$(status "$base/" 2>/dev/null)" 000
is "no socket is left" "$(ls "$dir/run"/*.sock 2>/dev/null)" ''
run 0 freshet verify

# ---- killed -9, children go too; the next one starts over it -----------------------------------------
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
up=$!
children=$up
soon "it starts again" 30 grep -q "$base/" "$work/up.out"
pids=$(children_of)
all=$(for p in $pids; do pgrep -g "$p"; done)
kill -9 "$up"
wait "$up" 2>/dev/null
gone() { [ -z "$(left)" ]; }
soon "children die with it" 20 gone
"$B/freshet" up --port "$web" --json >"$work/up.out" 2>"$work/up.err" &
up=$!
children=$up
soon "a new one starts over what was left" 30 grep -q '"ready":true' "$work/up.out"
kill -TERM "$up"
wait "$up"
is "TERM ends it with 0" "$?" 0
children=
run 0 freshet verify
summary

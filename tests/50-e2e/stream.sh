#!/bin/sh
# The live feed behind nginx: `curl -N` that comes back by its last id, as an EventSource does, while handlers
# write, nginx is reloaded, and handlers and freshet-stream die or are stopped: no entry is lost, none comes twice.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/stream.json
dir=$work/i
FRESHET_DIR=$dir
export FRESHET_DIR
freshet init "$dir" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet config set stream_heartbeat_s 1
freshet config set inspect_timeout_s 30
echo '{"version":"2","levels":{"public":{},"generalized":{},"restricted":{},"sovereign":{}},"stewards":{"sources":{"hidden":["steward"]}}}' >"$dir/policy.json"
freshet source add --id a --url "$u/a.geojson" --title Title-a --collection ca --trigger '{"type":"manual"}' >/dev/null
freshet source add --id hidden --url "$u/hidden.csv" --title Hidden --sensitivity sovereign --trigger '{"type":"manual"}' >/dev/null
awk -v u="$u" 'BEGIN { print "id,title,url,collection,triggers"
    for (i = 0; i < 60; i++) printf "n-%d,Number %d,%s/n/%d.json,cn,\"[{\"\"type\"\":\"\"manual\"\"}]\"\n", i, i, u, i }' >"$work/n.csv"
freshet source import "$work/n.csv" >/dev/null
web=$(free_port)
base=http://127.0.0.1:$web
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
up=$!
children=$up
soon "it is up" 30 grep -q "$base/" "$work/up.out"

get() { curl -sS --max-time 20 "$@"; }
status() { get -o /dev/null -w '%{http_code}' "$@"; }
pid_of() { pgrep -P "$up" -f "$1" | head -n 1; }
check() { freshet check source "$1" >/dev/null; }
tip() { get "$base/changes?since=now" | jq -r .last_seq; }

# follower NAME QUERY: what a browser does: reads, and comes back with the last id that it saw; the number of
# times in NAME.times, the stream in NAME.out. It ends when NAME.stop is there.
follower() {
    : >"$work/$1.out"
    : >"$work/$1.times"
    while [ ! -e "$work/$1.stop" ]; do
        last=$(sed -n 's/^id: //p' "$work/$1.out" | tail -n 1)
        echo "$last" >>"$work/$1.times"
        curl -sN --max-time 100 ${last:+-H "Last-Event-ID: $last"} "$base/changes/stream$2" >"$work/$1.part" &
        reader=$!
        echo "$reader" >"$work/$1.pid"
        wait "$reader"
        # An event that was cut is no event.
        awk 'BEGIN { RS = ""; ORS = "\n\n" } { block[NR] = $0 } END { for (i = 1; i < NR; i++) print block[i] }' "$work/$1.part" >>"$work/$1.out"
        [ -e "$work/$1.stop" ] || tail -c 2 "$work/$1.part" | od -An -c | grep -q '\\n  *\\n' &&
            awk 'BEGIN { RS = ""; ORS = "\n\n" } { b = $0 } END { print b }' "$work/$1.part" >>"$work/$1.out"
        sleep 0.2
    done
}
# What it has got so far, finished parts and the one being read.
got() { cat "$work/$1.out" "$work/$1.part" 2>/dev/null | awk '/^id: /{ id = $2 } /^event: change/{ print id }'; }
wanted() { get "$base/changes?since=0&limit=1000${1:-}" | jq -r '.results[].seq'; }
arrived() { [ "$(got "$1" | tail -n 1)" = "$2" ]; } # arrived NAME SEQ, as nginx may keep pages for a moment

# ---- one change --------------------------------------------------------------------------------------
get -N --max-time 30 "$base/changes?since=0" -H 'Accept: text/event-stream' >"$work/one.part" 2>/dev/null &
one=$!
children="$up $one"
: >"$work/one.out"
check a
soon "a change reaches who listens" 20 arrived one 1
same() { [ "$(sed -n 's/^data: //p' "$work/one.part" | tail -n 1)" = "$(get "$base/changes?since=0" | sed 's/^{"results":\[//; s/\],"last_seq.*//')" ]; }
soon "as the entry that the feed has" 10 same
kill "$one"
children=$up
has "the stream is not kept by whoever stands between" "$(get -N -D - -o /dev/null --max-time 1 "$base/changes/stream" 2>/dev/null)" '^X-Accel-Buffering: no'
is "a long poll is answered by what is there" "$(get "$base/changes?feed=longpoll&since=0&timeout=5000" | jq -r '.results[0].source_id')" a
is "or by its time-out" "$(get "$base/changes?feed=longpoll&timeout=200" | jq -c '[.results, .last_seq]')" '[[],"1"]'
is "an odd cursor is a 400" "$(status "$base/changes/stream?since=x") $(status "$base/changes/stream" -H 'Last-Event-ID: 77')" '400 400'
is "of the same words as everywhere" "$(get "$base/changes/stream?since=x" | jq -r '.code + " " + .errors[0].field')" 'INVALID since'
is "an unknown parameter, too" "$(status "$base/changes/stream?colour=red")" 400
is "an escaped address is the same one" "$(status "$base/%63hanges/stream?since=x")" 400
is "what looks like it is not" "$(status "$base/changes%20%20text/event-stream") $(status "$base/changes%0d%0aX:y/stream")" '404 404'

# ---- while everything moves -----------------------------------------------------------------------------
follower all '?since=0' &
follower_all=$!
follower few '?since=0&source=n-7,n-23,n-31' &
follower_few=$!
children="$up $follower_all $follower_few"
n=0
write() { # five more entries
    for _ in 1 2 3 4 5; do
        check "n-$n"
        n=$((n + 1))
    done
}
has_all() { arrived all $((n + 1)); }
taken_in() { [ "$(tip)" = $((n + 1)) ]; }
write
soon "it is taken in" 20 taken_in
soon "they have it" 20 has_all
nginx=$(pid_of nginx:.master)
old=$(pgrep -P "$nginx" | head -n 1)
kill -HUP "$nginx"
write
reloaded() { pgrep -P "$nginx" | grep -qvx "$old"; }
soon "nginx was reloaded" 10 reloaded
soon "they have what came then" 20 has_all
pkill_workers() { for p in $(pgrep -P "$nginx"); do kill "$p"; done; }
pkill_workers # what the time-out of a reload does to the old ones
write
soon "and after their connections were cut" 20 has_all
for name in freshet-handler freshet-stream freshet-handler freshet-stream; do
    kill -9 "$(pid_of $name)"
    write
    soon "and after $name was killed" 30 has_all
done
kill "$(pid_of freshet-stream)" # is started again by `up`
write
soon "all is taken in" 20 taken_in
soon "and after a restart of freshet-stream" 30 has_all
is "all numbers are there, once, in order" "$(got all)" "$(seq 1 41)"
some='&source=n-7,n-23,n-31'
has_few() { [ "$(got few | wc -l)" -ge 3 ] && [ "$(wanted "$some" | wc -l)" = 3 ]; }
soon "who asked for some has those" 20 has_few
is "once, in order" "$(got few)" "$(wanted "$some")"
is "they had to come back" "$([ "$(wc -l <"$work/all.times")" -ge 5 ] && echo yes)" yes
has "and who sees little comes back to where the feed was" "$(tail -n 1 "$work/few.times")" "^[1-9][0-9]"

# ---- freshet-stream is away ---------------------------------------------------------------------------
soon "freshet-stream is there" 20 test -S "$dir/run/stream.sock"
mv "$dir/run/stream.sock" "$dir/run/away.sock"
has "a browser is told to come back" "$(get -i "$base/changes/stream")" '^HTTP/1.1 200'
has "by an empty stream" "$(get "$base/changes/stream")" '^retry: [0-9]'
is "a long poll gets a problem" "$(get -w '%{http_code}' -o "$work/problem" "$base/changes?feed=longpoll") $(jq .status "$work/problem")" '502 502'
mv "$dir/run/away.sock" "$dir/run/stream.sock"
is "and then it is there again" "$(get -N --max-time 1 "$base/changes/stream" 2>/dev/null | grep -c '^id: ')" 1

# ---- what is withheld ---------------------------------------------------------------------------------
before=$(tip)
check hidden
held() { freshet queue list --state held | grep -q hidden; }
soon "a sovereign change waits for a person" 20 held
run 0 freshet approve "$(freshet queue list --state held | awk '$2 == "hidden" { print $1 }')" --reviewer steward --note 'for the test'
soon "and is taken in" 20 sh -c "! '$B/freshet' queue list --state held | grep -q hidden"
check n-59
soon "others go on" 20 sh -c "curl -s '$base/changes?since=$before' | jq -e '.results | length == 1'"
soon "those who listen have it" 20 arrived all 42
is "without a gap in the numbers" "$(got all)" "$(seq 1 42)"
lacks "it is not in the stream" "$(cat "$work/all.out" "$work/all.part")" 'idden'
run 0 freshet source set a --sensitivity sovereign
get -N --max-time 2 "$base/changes/stream?since=0" >"$work/after" 2>/dev/null
lacks "what was withdrawn is not sent again" "$(cat "$work/after")" 'Title-a'
is "the others are" "$(grep -c '^event: change' "$work/after")" 41
is "a cursor in the hole goes on" "$(get -N --max-time 2 "$base/changes/stream" -H 'Last-Event-ID: 1' 2>/dev/null | sed -n 's/^id: //p' | sed -n 2p)" 2

# ---- numbers, and the end --------------------------------------------------------------------------------
counted() { get "$base/metrics" | grep -q '^freshet_stream_clients{kind="events"} 2$'; }
soon "clients are counted" 10 counted
sent() { get "$base/metrics" | grep -q '^freshet_stream_entries_sent_total [1-9]'; }
soon "so is what they got" 10 sent
is "it is among what must be ready" "$(get "$base/readyz" | jq -r .checks.stream)" ok
touch "$work/all.stop" "$work/few.stop"
kill "$(cat "$work/all.pid")" "$(cat "$work/few.pid")"
wait "$follower_all" "$follower_few"
get -N --max-time 60 "$base/changes/stream" >"$work/last" 2>/dev/null &
one=$!
children="$up $one"
soon "one more listens" 10 grep -q '^id: ' "$work/last"
kill -INT "$up"
begin=$(date +%s)
wait "$up"
is "Ctrl-C ends all with 0, also while somebody listens" "$?" 0
is "within seconds" "$([ $(($(date +%s) - begin)) -le 8 ] && echo yes)" yes
wait "$one"
children=
run 0 freshet verify
summary

#!/bin/sh
# `check` by every word, what a person sees on a terminal, Ctrl-C, --explain, and what is told of it
# afterwards: health, costs, monitor.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
start_upstream --scenario tests/50-e2e/check.json
FRESHET_DIR=$work/i
export FRESHET_DIR
tab=$(printf '\t')
esc=$(printf '\033')

# terminal COLUMNS COMMAND: as a person would see it; raw in $out, exit code in $code.
terminal() {
    out=$(TERM=xterm LC_ALL=C.UTF-8 script -qec "stty cols $1 rows 24; $2" /dev/null </dev/null)
    code=$?
}
# What stands in the terminal without colours and moves, a line per drawing.
seen() { printf '%s\n' "$out" | tr '\r' '\n' | sed "s/$esc\[[0-9;]*[A-Za-z]//g"; }

freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet config set fetch_timeout_ms 400

# ---- which sources a word means ------------------------------------------------------------------
cat >"$work/triggers.json" <<JSON
[{"id": "summer", "url": "$u/check/county.json", "triggers": [{"type": "annual", "month": 7, "through": 10}]},
 {"id": "winter", "url": "$u/check/plain.json", "triggers": [{"type": "annual", "month": 11, "through": 2}]},
 {"id": "lines", "url": "$u/check/no-head.json", "triggers": [{"type": "redistricting", "years": [2031, 2032]}]},
 {"id": "people", "url": "$u/check/flap.json", "triggers": [{"type": "census", "year": 2030}, {"type": "annual", "month": 4}]},
 {"id": "old", "url": "$u/check/old.json", "triggers": [{"type": "census", "year": 2030}]}]
JSON
FRESHET_NOW=2026-06-15T00:00:00Z freshet source import "$work/triggers.json"
freshet source retire old
ids() { freshet check "$@" --dry-run | cut -f 1 | tr '\n' ' '; }
is "redistricting" "$(ids redistricting)" 'lines '
is "census, active ones only" "$(ids census)" 'people '
is "annual" "$(ids annual)" 'summer winter people '
is "annual in August" "$(ids annual --month 8)" 'summer '
is "a window over the new year holds January" "$(ids annual --month 1)" 'winter '
is "and not March" "$(ids annual --month 3)" ''
is "one month is a window too" "$(ids annual --month 4)" 'people '
run 2 freshet check annual --month 13
run 2 freshet check census --month 4
has "--month belongs to annual" "$err" "goes with 'annual'"
run 2 freshet check redistrictin
has "the nearest word is named" "$err" "Did you mean 'redistricting'"
run 2 freshet check all --explain
has "--explain is for one source" "$err" 'check source ID --explain'
is "nobody was asked" "$(curl -s "$u/control/log" | jq length)" 0

# ---- due, and why, at several times -------------------------------------------------------------
due() { FRESHET_NOW=$1 freshet check due --dry-run | cut -f 1,3 | sort | tr '\t\n' ': '; }
is "never looked at: due at once" "$(due 2026-06-15T00:00:01Z)" 'lines:first people:first summer:first winter:first '
FRESHET_NOW=2026-06-15T01:00:00Z freshet check due >/dev/null
is "then not for a while" "$(due 2026-06-20T00:00:00Z)" ''
has "in its window" "$(due 2026-07-01T12:00:00Z)" 'summer:window'
lacks "others are not" "$(due 2026-07-01T12:00:00Z)" 'winter'
has "a window that was slept through is made good" "$(due 2026-12-24T00:00:00Z)" 'summer:catch-up'
has "a census year" "$(due 2030-01-02T00:00:00Z)" 'people:'
is "since when, and the window" "$(FRESHET_NOW=2026-07-01T12:00:00Z freshet check due --dry-run | awk -F '\t' '$1 == "summer" { print $4 }')" 'due since 2026-07-01T00:00:00Z; window open until 2026-10-31'
is "all of them because it was asked" "$(FRESHET_NOW=2026-06-20T00:00:00Z freshet check all --dry-run | awk -F '\t' '$1 == "summer" { print $3 ": " $4 }')" 'requested: due 2026-07-01T00:00:00Z; window 2026-07-01 to 2026-10-31'
run 0 freshet check due --dry-run --json
is "the shape stays" "$(echo "$out" | jq -c 'keys_unsorted')" '["checked","outcomes","bytes_in","bytes_saved","results"]'

# ---- monitor ------------------------------------------------------------------------------------
run 0 freshet monitor --exit-code
is "nothing unexpected yet, and quiet" "$out$err" ''
advance /check/county.json
FRESHET_NOW=2026-06-20T00:00:00Z freshet check source summer --wait >/dev/null
run 3 freshet monitor --exit-code
is "a change in June was not expected" "$(echo "$out" | cut -f 1-5)" "2026-06-20T00:00:00Z${tab}summer${tab}modified${tab}promoted${tab}yearly, month 7 to 10"
run 0 freshet monitor --json
is "as JSON" "$(echo "$out" | jq -c '[.results[0] | .source_id, .expected, .state]')" '["summer","yearly, month 7 to 10","promoted"]'
is "since" "$(freshet monitor --since 2026-06-21T00:00:00Z)" ''
run 2 freshet monitor --since yesterday
FRESHET_NOW=2026-07-20T00:00:00Z freshet check source summer >/dev/null
advance /check/county.json
FRESHET_NOW=2026-08-01T00:00:00Z freshet check source summer --wait >/dev/null
is "one in August was" "$(freshet monitor | wc -l | tr -d ' ')" 1
freshet source add --id back --url "$u/check/back.json" --trigger '{"type":"annual","month":7,"through":10}'
FRESHET_NOW=2026-01-01T00:00:00Z freshet check source back --json | jq .results[0].unexpected >"$work/first"
advance /check/back.json
for day in 02 03 04; do FRESHET_NOW=2026-01-${day}T00:00:00Z freshet check source back >/dev/null; done
advance /check/back.json
is "the first bytes are never unexpected; those that come back in January are" "$(cat "$work/first") $(FRESHET_NOW=2026-01-05T00:00:00Z freshet check source back --json | jq -c '.results[0] | [.outcome, .unexpected]')" 'false ["new",true]'
freshet source retire back
"$B/freshet" monitor --follow >"$work/follow" 2>&1 &
children=$!
soon "--follow begins with what there is" 10 grep -q summer "$work/follow"
kill "$children"
wait "$children" 2>/dev/null
children=

# ---- --explain ------------------------------------------------------------------------------------
printf 'canary-key' >"$FRESHET_DIR/secrets/key"
freshet source add --id keyed --url "$u/check/plain.json?token=canary-query" --header 'X-Key: secret:key' --header 'X-Plain: open'
run 0 freshet check source keyed --explain
has "the first request and why" "$out" "^1. GET $u/check/plain.json?…"
has "in words" "$out" 'because: nothing is known'
has "headers" "$out" '> X-Plain: open'
has "a secret is masked" "$out" '> X-Key: (secret)'
lacks "no secret at all" "$out$err" 'canary'
has "what came back" "$out" '< HTTP 200, 7 bytes'
run 0 freshet check source keyed --explain --json
is "byte for byte" "$(echo "$out" | jq -r '.explain.steps[0].request.headers[] | select(.name == "If-None-Match").value')" "$(curl -sI "$u/check/plain.json" | tr -d '\r' | sed -n 's/^[Ee][Tt]ag: //p')"
is "with what every request has" "$(echo "$out" | jq -c '[.explain.steps[0].request.headers[:4][] | .name]')" '["Host","User-Agent","Accept","Accept-Encoding"]'
is "answer and verdict" "$(echo "$out" | jq -c '[.explain.steps[0].answer.status, .explain.outcome]')" '[304,"not_modified"]'
is "the state moved" "$(echo "$out" | jq -c '[.explain.before.checks, .explain.after.checks]')" '[1,2]'
is "beside the usual shape" "$(echo "$out" | jq -c '[.checked, .outcomes]')" '[1,{"not_modified":1}]'
lacks "no secret in JSON" "$out" 'canary-key'
freshet source add --id barred --url http://10.1.2.3/x 2>/dev/null
run 0 freshet check source barred --explain
has "what was refused before it was sent" "$out" '^Outcome: blocked'

# ---- what was learned -----------------------------------------------------------------------------
for _ in 1 2 3 4; do freshet check source people >/dev/null; done
has "an ETag that flaps" "$(freshet source show people)" 'ETag is unreliable'
freshet check source lines >/dev/null
has "HEAD refused" "$(freshet source show lines)" '^learned  *HEAD is of no use here'
freshet source add --id constant --url "$u/check/constant.json"
freshet check source constant >/dev/null
advance /check/constant.json
freshet check source constant >/dev/null
run 0 freshet source show constant
has "an ETag that stays while bytes move" "$out" 'Its ETag is unreliable: it stayed when the bytes moved'
has "a date that stays" "$out" 'Its Last-Modified is not used'
has "then every check reads all" "$out" 'every check reads the whole object'
lacks "and none is an audit" "$out" 'audit'
is "both as JSON" "$(freshet source show constant --json | jq -c '.state | [.etag_doubt, .etag_flaps, .date_doubted]')" '["constant",0,true]'
has "and beside a check" "$(freshet check source constant --explain)" 'date_doubted  *yes'
freshet source add --id dated --url "$u/check/dated.json"
freshet check source dated >/dev/null
has "an audit without an ETag" "$(freshet source show dated)" 'The next audit reads all bytes in 20 checks'
is "as JSON" "$(freshet source show lines --json | jq -c '[(.learned | length) > 0, .state.head_refused]')" '[true,true]'

terminal 100 "$B/freshet check source barred"
has "what a policy forbids is told by its rule" "$(seen)" 'blocked: 1 http only for hosts in allow_hosts (barred)'

# ---- several with one address ----------------------------------------------------------------------
freshet source add --id one --url "$u/check/same.json" && freshet source add --id two --url "$u/check/same.json"
run 0 freshet check url "$u/check/same.json" --json
is "all with the address" "$(echo "$out" | jq -r '[.results[].source_id] | sort | join(" ")')" 'one two'
run 1 freshet check url "$u/check/same.json" --explain
has "one is explained" "$err" '2 sources have this address'
freshet source retire one
run 0 freshet check url "$u/check/same.json" --json
is "those that are watched" "$(echo "$out" | jq -r '[.results[].source_id] | join(" ")')" 'two'
freshet source retire two
run 1 freshet check url "$u/check/same.json"
has "why not, when none is" "$err" 'is retired'

# ---- a host that is left alone: nothing is sent, so nothing is known of its sources -----------------
freshet init "$work/spare" >/dev/null
spare() { freshet -C "$work/spare" "$@"; }
spare config set allow_hosts "[\"127.0.0.1:$port\"]"
spare source add --id good --url "$u/check/plain.json"
spare source add --id unseen --url "$u/check/dated.json"
spare source add --id asks --url "$u/check/later.json"
spare source add --id years --url "$u/check/{year}.json" --trigger '{"type":"annual","month":1,"through":12}'
spare check source good >/dev/null
spare check source asks >/dev/null
was=$(spare source show good --json | jq -c '[.state.checked_at, .state.last_outcome, .state.etag]')
run 0 spare check source good --explain
has "what was not sent is told so" "$out" '^   nothing was sent$'
lacks "and no header of it" "$out" 'If-None-Match'
has "with the outcome" "$out" '^Outcome: rate_limited'
run 1 spare check source good --exit-code --json
is "the look is recorded as what it was" "$(spare source show good --json | jq -c '[.latest_checks[] | [.outcome, .attempts]]')" '[["rate_limited",0],["rate_limited",0],["new",1]]'
is "the source is what it was" "$(spare source show good --json | jq -c '[.state.checked_at, .state.last_outcome, .state.etag]')" "$was"
is "no failure and no breach" "$(spare source show good --json | jq -c '[.state.failures, .state.checks, .health.state, .health.breach]')" '[0,3,"ok",false]'
is "but it is looked at again later" "$(spare source show good --json | jq '.state.next_check_at > .state.checked_at')" true
spare check source unseen >/dev/null
is "what was never asked was never checked" "$(spare source show unseen --json | jq -r .health.state)" never_checked
is "who asked fails" "$(spare source show asks --json | jq -c '[.health.state, .state.failures]')" '["failing",1]'
spare check source years >/dev/null
is "costs: two checks were requests, so two are compared with" "$(spare costs --json | jq -c '.years[0] | [.checks, .requests, .batch_requests]')" '[2,2,2]'

# ---- a clock that was ahead ------------------------------------------------------------------------
freshet source add --id jumped --url "$u/check/plain.json" --trigger '{"type":"interval","seconds":3600}'
FRESHET_NOW=2033-06-01T00:00:00Z freshet check source jumped >/dev/null
is "looked at in the future is a breach" "$(freshet source list --unhealthy | awk -F '\t' '$1 == "jumped" { print $2 }')" ahead
has "doctor says that a clock was wrong" "$(freshet doctor)" "^warn${tab}clock${tab}1 sources were looked at in the future"
run 0 freshet check due --json
is "due again" "$(echo "$out" | jq -c '[.results[] | select(.source_id == "jumped")] | length')" 1
is "and in order" "$(freshet source list --unhealthy | grep -c ^jumped)" 0

# ---- health ---------------------------------------------------------------------------------------
freshet source add --id e1 --url "$u/check/error-1.json"
freshet source add --id e2 --url "$u/check/error-2.json"
freshet source add --id missing --url "$u/check/missing.json"
freshet source add --id stuck --url "$u/check/stuck.json"
freshet source add --id quiet --url "$u/check/missing.json" --sensitivity sovereign
health() { freshet source list --unhealthy | awk -F '\t' -v id="$1" '$1 == id { print $2 }'; }
is "never checked is told" "$(health e1)" never_checked
is "in the list too" "$(freshet source list | awk -F '\t' '$1 == "e1" { print $3 }')" 'never checked'
for id in e1 e2 missing stuck quiet; do freshet check source $id >/dev/null; done
is "failing" "$(health e1)" failing
is "gone" "$(health missing)" gone
is "withheld sources are the operator's too" "$(health quiet)" gone
is "healthy ones are not listed" "$(health keyed)" ''
is "overdue" "$(FRESHET_NOW=2027-06-01T00:00:00Z health keyed)" overdue
freshet source add --id manual --url "$u/check/plain.json" --trigger '{"type":"manual"}'
FRESHET_NOW=2026-01-01T00:00:00Z freshet check source manual >/dev/null
is "verified not long ago" "$(FRESHET_NOW=2027-02-04T00:00:00Z health manual)" ''
is "unverified after 400 days" "$(FRESHET_NOW=2027-02-06T00:00:00Z health manual)" unverified
FRESHET_NOW=2026-06-01T00:00:00Z freshet check source manual >/dev/null
is "a 304 verifies nothing" "$(FRESHET_NOW=2027-02-06T00:00:00Z health manual)" unverified
FRESHET_NOW=2027-02-06T00:00:00Z freshet check source manual >/dev/null
is "whoever was not read for long is read" "$(FRESHET_NOW=2027-02-06T00:00:00Z health manual)" ''
is "a retired one has no health" "$(health old)" ''
run 0 freshet source list --unhealthy --json
is "as JSON, with the reason" "$(echo "$out" | jq -c '.sources[] | select(.id == "e1") | .health | [.state, .breach]')" '["failing",true]'
has "doctor tells of them" "$(freshet doctor)" "^warn${tab}sources${tab}[0-9]* failing, 2 gone.*--unhealthy"
has "source show says it" "$(freshet source show missing)" '^health  *gone'
has "with the clocks" "$(freshet source show keyed)" '^verified  *20'

# ---- templates: the calendar is read, nobody is asked ---------------------------------------------
freshet source add --id yearly --url "$u/check/{year}.json" --trigger '{"type":"annual","month":7,"through":10}'
run 0 env FRESHET_NOW=2026-07-02T00:00:00Z "$B/freshet" check source yearly --exit-code --json
is "a vintage is no change of data" "$(echo "$out" | jq -c '.results[0] | [.outcome, .detail, .attempts]')" '["new","vintage 2026 has opened",0]'
run 0 env FRESHET_NOW=2026-07-02T00:00:00Z "$B/freshet" check source yearly --explain
has "--explain: what was read" "$out" '^Nothing was sent: the calendar was read'
has "and its rule" "$out" 'rule: a template'
FRESHET_NOW=2026-07-02T00:00:00Z freshet work >/dev/null
is "a template is in order" "$(FRESHET_NOW=2026-07-02T00:00:00Z health yearly)" ''
has "and says why" "$(FRESHET_NOW=2026-07-02T00:00:00Z freshet source show yearly)" 'its vintages are sources of their own'
is "nobody was reached" "$(freshet source show yearly --json | jq .state.reached_at)" null
FRESHET_NOW=2026-07-02T00:00:00Z freshet check source yearly-2026 >/dev/null
has "a vintage that is not there yet" "$(freshet source show yearly-2026)" 'Not published yet'

# ---- the sum on a terminal ------------------------------------------------------------------------
freshet source add --id lister --url "$u/check/list.json" --detector manifest
terminal 120 "$B/freshet check all"
has "how many, in what time" "$(seen)" ' checked in [0-9.]* s'
has "errors by kind with an example" "$(seen)" '[0-9] unavailable: 2 HTTP 500 (such as e[12]), 1 timeout (stuck)'
has "what was wrong, not on which page" "$(seen)" '[0-9] wrong_shape: .*1 HTML where JSON was expected (lister)'
has "bytes and ratio" "$(seen)" 'saved .*304:200 is [0-9]*:[0-9]*'
run 0 freshet check source keyed
is "piped: one row, nothing else" "$(echo "$out" | wc -l | tr -d ' ')$err" 1
freshet source add --id hint --url "$u/check/hint.json"
freshet source add --id vanish --url "$u/check/vanish.json"
FRESHET_NOW=2027-03-01T00:00:00Z freshet check source vanish >/dev/null
advance /check/vanish.json
FRESHET_NOW=2027-03-02T00:00:00Z freshet check source vanish >/dev/null
FRESHET_NOW=2027-03-03T00:00:00Z freshet check source vanish --json >"$work/row"
is "JSON rows tell more" "$(jq -c '.results[0] | keys_unsorted' "$work/row")" '["source_id","url","outcome","detail","attempts","due_because","http","deleted","unexpected","event_id"]'
is "of a 404 that is no deletion yet" "$(jq -c '.results[0] | [.http, .deleted, .unexpected, .event_id]' "$work/row")" '[404,false,false,null]'
terminal 100 "FRESHET_NOW=2027-03-04T00:00:00Z $B/freshet check source vanish"
has "what is gone for good" "$(seen)" '^ *1 deleted upstream: vanish'
is "stands before all else" "$(seen | grep -n -e ' deleted upstream' -e ' gone:' | cut -d : -f 2 | head -n 1 | tr -d ' 1')" deletedupstream

# ---- --accept ---------------------------------------------------------------------------------------
freshet source add --id shrunk --url "$u/check/shrink.json"
freshet check source shrunk >/dev/null
advance /check/shrink.json
has "a tenth is refused, with the way out" "$(freshet check source shrunk)" 'wrong_shape.*--accept'
run 2 freshet check all --accept
has "by hand it passes" "$(freshet check source shrunk --accept)" 'changed.*accepted by hand'
has "once" "$(freshet check source shrunk)" 'not_modified'

# ---- the hint ----------------------------------------------------------------------------------------
advance /check/hint.json
terminal 100 "$B/freshet check source hint"
has "nobody works: how to" "$(seen)" 'Promote it with: freshet work'
lacks "no colour ends that did not begin" "$(printf '%s' "$out" | grep ' checked\| new:\| changed:')" "^  *[0-9]* [a-z]*$esc"
terminal 100 "$B/freshet check all 2>$work/apart"
has "a person is told" "$(cat "$work/apart")" ' checked in '
lacks "a stream that is no terminal has no colours" "$(cat "$work/apart")" "$esc"
advance /check/hint.json
terminal 100 "flock $FRESHET_DIR/run/worker-0.lock $B/freshet check source hint"
lacks "a handler runs: it will" "$(seen)" 'Promote it with'

# ---- --wait tells what became of it ---------------------------------------------------------------
freshet source add --id broken --url "$u/check/broken.geojson" --media-type application/geo+json
run 1 freshet check source broken --wait --exit-code --json
is "refused by the handler" "$(echo "$out" | jq -c '.results[0] | [.outcome, .result, (.reason | length > 0), (.event_id | startswith("evt_"))]')" '["new","failed",true,true]'
has "and told" "$err" '1 of what was found could not be taken in'
advance /check/county.json
terminal 100 "$B/freshet check source summer --wait"
has "taken in" "$(seen)" 'Taken in: 1 promoted (summer)'

# ---- many: progress, rows, Ctrl-C -----------------------------------------------------------------
awk -v u="$u" 'BEGIN { printf "["; for (i = 0; i < 400; i++) printf "%s{\"id\":\"bulk-%d\",\"url\":\"%s/bulk/%d\",\"triggers\":[{\"type\":\"redistricting\",\"years\":[2041]}]}", i ? "," : "", i, u, i; print "]" }' >"$work/bulk.json"
freshet source retire lines
freshet source import "$work/bulk.json"
terminal 100 "$B/freshet check redistricting; echo code \$?"
has "a line that moves" "$(seen)" '^checking \(━\)*\(─\)* [0-9]*/400 [0-9]* %  [0-9.]* s left  [0-9]* changed'
is "never wider than the terminal" "$(seen | grep '^checking' | sed -e 's/━/#/g' -e 's/─/#/g' | awk '{ if (length($0) > m) m = length($0) } END { print (m < 100) ? "fits" : m }')" fits
is "at most ten a second" "$(seen | grep -c '^checking' | awk '{ print ($1 > 2 && $1 < 60) ? "calm" : $1 }')" calm
has "taken away at the end" "$out" "$esc\[K"
has "many rows are cut" "$(seen)" '^and 200 more; piped, all are printed'
has "coloured" "$out" "$esc\[32m"
terminal 40 "$B/freshet check redistricting"
is "nothing new is not listed row by row" "$(seen | grep -c '^bulk-')" 0
is "narrow terminals too" "$(seen | grep '^checking' | sed -e 's/━/#/g' -e 's/─/#/g' | awk '{ if (length($0) > m) m = length($0) } END { print (m < 40) ? "fits" : m }')" fits
terminal 100 "NO_COLOR=1 $B/freshet check redistricting"
lacks "NO_COLOR" "$out" "$esc\[3"
run 0 freshet check redistricting
is "piped: a row each, no bar" "$(echo "$out" | wc -l | tr -d ' ')$err" 400

freshet config set per_host 1
answered() { curl -s "$u/control/log" | jq length; }
answered_before=$(answered)
receipts() { freshet costs --json | jq '[.years[].checks] | add'; }
before_all=$(receipts)
more() { [ "$(receipts)" -gt $((before_all + 5)) ]; }
"$B/freshet" check redistricting >"$work/cut" 2>"$work/cut.err" &
pid=$!
soon "some checks are committed" 20 more
kill -INT "$pid"
wait "$pid"
is "Ctrl-C: exit 130" "$?" 130
done=$(wc -l <"$work/cut" | tr -d ' ')
is "every finished check is recorded" "$(receipts)" "$((before_all + done))"
# One was under way; all others that the upstream answered are recorded.
lost=$(($(answered) - answered_before - done))
is "no finished check is lost" "$([ "$lost" -le 1 ] && echo none || echo "$lost")" none
has "what was not looked at is told" "$(cat "$work/cut.err")" "interrupted: $((400 - done)) of the sources were not looked at"
freshet config set per_host 6

# ---- a full inbox -----------------------------------------------------------------------------------
freshet config set inbox_max 1
answered_before=$(answered)
run 1 freshet check redistricting
has "no room: who was not looked at is told, and what to do" "$err" 'inbox is full (inbox_max 1): 400 of the sources were not looked at.*freshet work'
is "nobody was asked" "$(answered)" "$answered_before"
freshet config set inbox_max 100000

# ---- costs ------------------------------------------------------------------------------------------
run 0 freshet costs --json
is "measured, not the example" "$(echo "$out" | jq .example)" false
is "a year is the sum of its quarters" "$(echo "$out" | jq '[.years[].bytes_saved] | add')" "$(echo "$out" | jq '[.quarters[].bytes_saved] | add')"
is "batch reads what we read and what we saved" "$(echo "$out" | jq -c '[.years[] | .batch_bytes == .bytes + .bytes_saved] | unique')" '[true]'
run 0 freshet costs --quarter 2026Q2 --json
is "one quarter" "$(echo "$out" | jq -c '[.quarters[].period, (.years | length)]')" '["2026Q2",0]'
run 2 freshet costs --quarter 2026Q5
run 2 freshet costs --year 26
run 0 freshet costs --example --json
is "the example, computed" "$(echo "$out" | jq -c '[.example, .quarters[0].batch_bytes, .quarters[0].bytes, .years[0].batch_bytes]')" '[true,38990000000,1950000000,155960000000]'
is "5 % of 19,495 changed" "$(echo "$out" | jq .quarters[0].http_200)" 975
terminal 150 "$B/freshet costs --example"
has "marked as an example" "$(seen)" 'An example, nothing measured: 19,495 files of 2.00 MB'

# ---- import of many --------------------------------------------------------------------------------
awk 'BEGIN { printf "["; for (i = 0; i < 20000; i++) printf "%s{\"id\":\"j-%d\",\"url\":\"https://data.example/%d\",\"triggers\":[{\"type\":\"annual\",\"month\":7}]}", i ? ",\n" : "", i, i; print "]" }' >"$work/many.json"
awk 'BEGIN { print "id,url,triggers"; for (i = 0; i < 100000; i++) printf "c-%d,https://data.example/%d,\"[{\"\"type\"\":\"\"annual\"\",\"\"month\"\":7}]\"\n", i, i }' >"$work/many.csv"
begin=$(date +%s)
run 0 freshet source import "$work/many.json" --json
is "20,000 from JSON" "$(echo "$out" | jq .added)" 20000
terminal 90 "$B/freshet source import $work/many.csv"
is "100,000 from CSV" "$code $(seen | sed -n 's/^\([0-9]*\) added.*/\1/p')" '0 100000'
has "with progress, since that takes a while on any machine" "$(seen)" '^importing .*/100,000 '
echo "# both in $(($(date +%s) - begin)) s"
awk 'NR == 15001 { sub(/https/, "gopher") } { sub(/"j-/, "\"k-") } { print }' "$work/many.json" >"$work/wrong.json"
run 1 freshet source import "$work/wrong.json"
has "the one wrong row of 20,000 in JSON" "$err" '^freshet: wrong.json\[15000\]\.url: '
printf 'id,url,triggers\nx,https://data.example/x,[bad\ny,https://data.example/y,bad\n' >"$work/cells.csv"
run 1 freshet source import "$work/cells.csv"
has "a cell that is no JSON" "$err" '^freshet: cells.csv:2: triggers: the cell is not valid JSON: .*column 2'
has "and one that is text" "$err" '^freshet: cells.csv:3: triggers: must be a list'
awk 'NR == 15001 { sub(/https/, "gopher") } { sub(/^c-/, "d-") } { print }' "$work/many.csv" >"$work/wrong.csv"
run 1 freshet source import "$work/wrong.csv"
has "and in CSV, by line" "$err" '^freshet: wrong.csv:15001: url: '
is "then nothing was imported" "$(freshet check annual --month 7 --dry-run | grep -c -e '^k-' -e '^d-')" 0
summary

#!/bin/sh
# kill -9 at every write of a handler's work, then restart and drain: the state must be that of an
# undisturbed run (I1, I4, I5), and `freshet verify` clean.
#
#   tests/30-ledger/crash.sh all      every point, also with half of a write done, and killed twice
#   tests/30-ledger/crash.sh sample   some points of every kind of call, under half a minute
#
# B is the build folder (build). Exit 1 when a point failed; its instance is kept and named.

set -eu
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.."
B=${B:-build}
here=tests/30-ledger
mode=${1:-sample}
case $mode in all | sample) ;; *)
    echo "usage: crash.sh all|sample" >&2
    exit 2
    ;;
esac

export FRESHET_NOW=2026-07-02T10:00:00Z # one moment, so that states can be compared
# What a killed process wrote stays, wherever it was written to: memory is as good as a disk here.
if [ -w /dev/shm ]; then TMPDIR=/dev/shm; fi
work=$(mktemp -d -p "${TMPDIR:-/tmp}" freshet-crash-XXXXXX)
upstream=
cleanup() {
    [ -z "$upstream" ] || kill "$upstream" 2>/dev/null || :
    [ -n "${keep-}" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

die() {
    echo "crash: $*" >&2
    exit 1
}
freshet() { "$bin" -C "$work/template" "$@" >"$work/out" 2>&1 || die "freshet $*: $(cat "$work/out")"; }
control() { curl -sfS -o /dev/null -X POST "http://127.0.0.1:$port/control/$1" ${2+-d "$2"} || die "upstream refused $1"; }

start_upstream() {
    "$B/freshet-upstream" --quiet --scenario $here/crash-upstream.json --port-file "$work/port" &
    upstream=$!
    tries=0
    until [ -s "$work/port" ]; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || die "the upstream does not start"
        sleep 0.02
    done
    port=$(jq .http "$work/port")
}

add() { # ID FILE LEVEL [OPTION VALUE]
    freshet source add --id "$1" --url "http://${host:-127.0.0.1}:$port/crash/$2" --sensitivity "$3" \
        --title "Title of $1" --collection crash ${4+"$4" "$5"}
}

# The bytes of these sources must be fetched by the handler.
unspool() {
    for id; do
        hint=$(sqlite3 "$work/template/ledger.db" "SELECT version_hint FROM inbox JOIN sources USING (src_no)
            WHERE id = '$id' AND state = 'ready' ORDER BY cand_no DESC LIMIT 1")
        rm "$work/template/spool/$hint" || die "$id is not in the spool"
    done
}

# Asked for as the intake does, so that the sweep carries it out.
ask_back() {
    sqlite3 "$work/template/ledger.db" "INSERT INTO rollbacks (rollback_id, run_id, src_no, reason, asked_by, created_at)
        SELECT 'rbk_1', run_id, src_no, 'wrong', 'operator', finalized_at FROM ledger JOIN sources USING (src_no)
        WHERE id = 'undone' AND version = 2"
}

# Days before the moment of the sweep. A deletion takes three sightings over more than a day: `returned`
# was deleted and comes back in the sweep, `gone` is deleted in it.
days_before() {
    now=$FRESHET_NOW
    FRESHET_NOW=2026-06-29T10:00:00Z
    for id in modified back same spoiled gone returned undone; do add $id $id.json public; done
    for id in edited noise; do add $id $id.geojson public --feature-key id; done
    add approved approved.json restricted
    add index index.json public --detector manifest
    freshet check all
    freshet work --drain
    for id in gone returned; do control set "{\"path\":\"/crash/$id.json\",\"status\":404}"; done
    for FRESHET_NOW in 2026-06-30T10:00:00Z 2026-07-01T09:00:00Z; do
        freshet check source gone
        freshet check source returned
    done
    FRESHET_NOW=2026-07-01T11:00:00Z
    freshet check source returned
    control "advance?path=/crash/undone.json"
    freshet check source undone
    freshet work --drain
    FRESHET_NOW=$now
    ask_back
    control set '{"path":"/crash/returned.json","status":200}'
}

# An instance whose inbox holds one candidate for each way through the handler.
prepare() {
    freshet init "$work/template"
    freshet config set allow_hosts "[\"127.0.0.1:$port\",\"localhost:$port\"]"
    freshet config set fetch_attempts 1
    freshet config set free_bytes_min 0
    days_before
    freshet approve "$(held_event)" --reviewer Reviewer --note fine
    add fetched fetched.geojson public
    # At a host of its own: one that asks for patience is left alone as a whole.
    host=localhost add busy busy.json public
    add coarse coarse.geojson generalized
    add held held.json restricted
    add sovereign sovereign.json sovereign
    for id in modified back same spoiled; do control "advance?path=/crash/$id.json"; done
    for id in edited noise; do control "advance?path=/crash/$id.geojson"; done
    freshet check all
    control "advance?path=/crash/back.json"
    freshet check source back
    control "advance?path=/crash/a.json"
    control "advance?path=/crash/index.json"
    freshet check source index
    add template '{year}.json' public # its vintage is a source of its own
    freshet check source template
    unspool fetched same spoiled busy
    control set '{"path":"/crash/same.json","version":1}'
    control set '{"path":"/crash/spoiled.json","generate":{"kind":"html"}}'
    control set '{"path":"/crash/busy.json","status":503,"retry_after":"7200"}'
}
held_event() {
    sqlite3 "$work/template/ledger.db" "SELECT event_id FROM inbox WHERE state = 'held'"
}

drain() { "$bin" -C "$1" work --drain --json; }
# Dies at the N-th write; false when the run came to its end before it. How many writes a run takes
# varies a little: run ids are random, and so are the pages they fall on.
killed_drain() { # DIR N [VARIABLE=VALUE]
    status=0
    env LD_PRELOAD="$work/killat.so" KILLAT="$2" ${3+"$3"} "$bin" -C "$1" work --drain --json \
        >"$work/out" 2>&1 || status=$?
    case $status in
    0) return 1 ;;
    137) return 0 ;;
    *) die "the run ended with status $status at write $2: $(cat "$work/out")" ;;
    esac
}

uuid='[0-9a-f]\{8\}-[0-9a-f]\{4\}-7[0-9a-f]\{3\}-[0-9a-f]\{4\}-[0-9a-f]\{12\}'
event='evt_[0-9]\{8\}T[0-9]\{6\}Z_[0-9a-f]\{6\}'
# Events that the run itself makes, of the entries of a listing, have random ids; the others keep theirs.
known_events() {
    sqlite3 "$work/template/ledger.db" "SELECT 's/' || event_id || '/known-' || cand_no || '/g' FROM inbox"
}
dump() {
    sqlite3 -readonly "$1/ledger.db" <$here/crash.sql |
        sed -e "s/$uuid/RUN/g" -e 's/"checksum":"sha256:[0-9a-f]*"/"checksum":"SUM"/g' -f "$work/known" \
            -e "s/$event/EVENT/g" | sort
    # What lies in the store, and no temporary file.
    (cd "$1/store" && find . -type f | sort)
}

points=0 passed=0 failed=0
fail() { # DIR WHAT
    failed=$((failed + 1))
    keep=1
    echo "not ok: $2; see $1"
}
judge() { # DIR WHAT
    points=$((points + 1))
    drain "$1" >"$work/out" 2>&1 || { fail "$1" "$2: drain: $(cat "$work/out")"; return; }
    dump "$1" >"$work/after"
    cmp -s "$work/want" "$work/after" || {
        diff "$work/want" "$work/after" | cut -c1-300 | head -n 6
        fail "$1" "$2: another state"
        return
    }
    "$bin" -C "$1" verify --json >"$work/out" 2>&1 || {
        fail "$1" "$2: verify: $(cat "$work/out")"
        return
    }
    passed=$((passed + 1))
    rm -rf "$1"
}

fresh_copy() {
    dir=$work/$1
    cp -a "$work/template" "$dir" || die "no room for copies"
}

# Each is false when there is no such point.
try() { # N
    fresh_copy "at-$1"
    killed_drain "$dir" "$1" || return 1
    judge "$dir" "killed at write $1"
}
try_kind() { # KIND N
    fresh_copy "$1-$2"
    killed_drain "$dir" "$2" "KILLAT_KIND=$1" || return 0
    judge "$dir" "killed at $1 $2"
}
try_half() {
    fresh_copy "half-$1"
    killed_drain "$dir" "$1" KILLAT_HALF=1 || return 0
    judge "$dir" "killed in the middle of write $1"
}
try_twice() { # the recovery dies too, where it gets that far
    fresh_copy "twice-$1"
    second=$(($1 * 7 % total + 1))
    killed_drain "$dir" "$1" || return 0
    killed_drain "$dir" "$second" || :
    judge "$dir" "killed at write $1, then at $second"
}

"${CC:-gcc}" -O1 -Wall -Werror -shared -fPIC -D_GNU_SOURCE -o "$work/killat.so" $here/killat.c
cp "$B/freshet" "$B/freshet-inspect" "$B/freshet-inspect-gdal" "$work" # a build that runs meanwhile must not disturb the sweep
bin=$work/freshet
start_upstream
prepare
known_events >"$work/known"

# Undisturbed: what every disturbed run must come to, and how many points there are.
fresh_copy whole
env LD_PRELOAD="$work/killat.so" KILLAT_COUNT="$work/count" "$bin" -C "$dir" work --drain --json >"$work/counts" ||
    die "the undisturbed run failed"
total=$(sed -n 's/^all //p' "$work/count")
dump "$dir" >"$work/want"
jq -e '.done == 14 and .noop == 3 and .failed == 1 and .held == 2' "$work/counts" >/dev/null ||
    die "the undisturbed run took other ways: $(cat "$work/counts")"
"$bin" -C "$dir" verify --json >"$work/out" || die "verify: $(cat "$work/out")"

sweep_all() {
    n=1
    while try "$n"; do
        try_half "$n"
        try_twice "$n"
        n=$((n + 1))
    done
    [ "$n" -gt $((total * 9 / 10)) ] || die "a run took $n writes only, where another took $total"
}
# At most 9 of each kind, spread evenly; their numbers hardly vary between runs.
sweep_sample() {
    while read -r kind count; do
        [ "$kind" != all ] || continue
        step=$(((count + 8) / 9))
        n=1
        while [ "$n" -le "$count" ]; do
            try_kind "$kind" "$n"
            n=$((n + step))
        done
    done <"$work/count"
}
"sweep_$mode"
echo "crash: about $total writes in a run, $points points tried, $failed failures"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/bin/sh
# Every way through the handler (paths.sh), disturbed at every call that writes: killed (SIGKILL), that call
# failing with EIO, and a disk that is full from there on (ENOSPC). Afterwards the same work is done again
# where it was not acknowledged, time passes so that retries come, and then: the catalog is that of an
# undisturbed run, `freshet verify` is clean, and one more drain changes nothing.
#
#   tests/30-ledger/faults.sh sample [PATH...]   a few points of each way and kind, spread evenly (default)
#   tests/30-ledger/faults.sh all [PATH...]      every point
#
# B is the build folder (build). Prints points and failures per way; a failed point's instance is kept.
set -eu
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.."
B=${B:-build}
here=tests/30-ledger
mode=${1:-sample}
[ $# -eq 0 ] || shift
case $mode in
all) most=100000 ;;
sample) most=${POINTS:-4} ;;
*)
    echo "usage: faults.sh [sample|all] [PATH...]" >&2
    exit 2
    ;;
esac
now=2026-07-02T10:00:00Z later=2026-07-02T12:00:00Z
export FRESHET_NOW=$now
# What a killed process wrote stays, wherever it was written to: memory is as good as a disk here.
if [ -w /dev/shm ]; then TMPDIR=/dev/shm; fi
work=$(mktemp -d -p "${TMPDIR:-/tmp}" freshet-faults-XXXXXX)
upstreams=
cleanup() {
    for pid in $upstreams; do kill "$pid" 2>/dev/null || :; done
    [ -e "$work/keep" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
die() {
    echo "faults: $*" >&2
    exit 1
}

cat >"$work/scenario.json" <<'SCENARIO'
{"name": "faults", "resources": [
  {"path": "/one.json", "versions": [{"body": "[1]"}, {"body": "[2]"}]},
  {"path": "/many-0.json", "versions": [{"body": "{\"many\":0}"}]},
  {"path": "/many-1.json", "versions": [{"body": "{\"many\":1}"}]},
  {"path": "/many-2.json", "versions": [{"body": "{\"many\":2}"}]},
  {"path": "/many-3.json", "versions": [{"body": "{\"many\":3}"}]},
  {"path": "/many-4.json", "versions": [{"body": "{\"many\":4}"}]},
  {"path": "/many-5.json", "versions": [{"body": "{\"many\":5}"}]},
  {"path": "/many-6.json", "versions": [{"body": "{\"many\":6}"}]},
  {"path": "/many-7.json", "versions": [{"body": "{\"many\":7}"}]},
  {"path": "/many-8.json", "versions": [{"body": "{\"many\":8}"}]},
  {"path": "/many-9.json", "versions": [{"body": "{\"many\":9}"}]},
  {"path": "/a.json", "versions": [{"body": "[\"a\"]"}]},
  {"path": "/index.json", "versions": [{"body": "[{\"url\":\"a.json\",\"etag\":\"1\"}]"}]},
  {"path": "/noise.geojson", "versions": [
    {"body": "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"properties\":{\"id\":1},\"geometry\":{\"type\":\"Point\",\"coordinates\":[1,1]}},{\"type\":\"Feature\",\"properties\":{\"id\":2},\"geometry\":{\"type\":\"Point\",\"coordinates\":[2,1]}}]}"},
    {"body": "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"properties\":{\"id\":2},\"geometry\":{\"type\":\"Point\",\"coordinates\":[2.0,1.0]}},{\"type\":\"Feature\",\"properties\":{\"id\":1},\"geometry\":{\"type\":\"Point\",\"coordinates\":[1,1]}}]}"}]}]}
SCENARIO
"${CC:-gcc}" -O1 -Wall -Werror -shared -fPIC -D_GNU_SOURCE -o "$work/killat.so" $here/killat.c
cp "$B/freshet" "$B/freshet-inspect" "$B/freshet-inspect-gdal" "$work" # a build that runs meanwhile must not disturb
bin=$work/freshet

quiet() { "$bin" -C "$dir" "$@" >"$work/said" 2>&1 || die "freshet $*: $(cat "$work/said")"; }
ask() { sqlite3 -readonly "$dir/ledger.db" "$1"; }
control() { curl -sfS -o /dev/null -X POST "$u/control/$1" ${2+-d "$2"} || die "upstream refused $1"; }
advance() { control "advance?path=$1"; }
at() { # TIME COMMAND...
    FRESHET_NOW=$1
    shift
    "$@"
    FRESHET_NOW=$now
}
remember() { # NAME VALUE
    [ -n "$2" ] || die "$way has no $1"
    echo "$1=$2" >>"$work/$way/vars"
    eval "$1=\$2"
}
# shellcheck source=tests/30-ledger/paths.sh
. $here/paths.sh

# ---- an instance before each way ---------------------------------------------------------------------

start_upstream() { # each way has its own: its control moves it
    "$B/freshet-upstream" --quiet --scenario "$work/scenario.json" --port-file "$work/$way/port" &
    upstreams="$upstreams $!"
    tries=0
    until [ -s "$work/$way/port" ]; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || die "the upstream does not start"
        sleep 0.02
    done
    port=$(jq .http "$work/$way/port")
    u=http://127.0.0.1:$port
}
prepare() {
    mkdir "$work/$way"
    dir=$work/$way/template
    : >"$work/$way/vars"
    start_upstream
    quiet init "$dir"
    quiet config set allow_hosts "[\"127.0.0.1:$port\"]"
    quiet config set fetch_attempts 1
    quiet config set free_bytes_min 0
    "prepare_$way"
    # What the way itself makes has random ids; what is there keeps its own.
    ask "SELECT 's/' || event_id || '/known-' || cand_no || '/g' FROM inbox" >"$work/$way/known"
}

# ---- one point ---------------------------------------------------------------------------------------

command_of() { echo "$paths" | awk -v way="$1" '$1 == way { $1 = ""; print }'; }
# One run of the way's command in $dir; its status.
disturbed() { # VARIABLE=VALUE...
    status=0
    copy=$dir.copy
    # shellcheck disable=SC2046 # words of the row
    env "$@" LD_PRELOAD="$work/killat.so" "$bin" -C "$dir" $(eval echo "$command") >"$dir.said" 2>&1 || status=$?
}
again() {
    copy=$dir.copy
    rm -rf "$copy" "$copy.partial"
    # shellcheck disable=SC2046 # words of the row
    FRESHET_NOW=$later "$bin" -C "$dir" $(eval echo "$command") >"$dir.said" 2>&1 || :
}
uuid='[0-9a-f]\{8\}-[0-9a-f]\{4\}-7[0-9a-f]\{3\}-[0-9a-f]\{4\}-[0-9a-f]\{12\}'
dump_all() {
    sqlite3 -readonly "$dir/ledger.db" <$here/crash.sql |
        sed -e "s/$uuid/RUN/g" -e 's/"checksum":"sha256:[0-9a-f]*"/"checksum":"SUM"/g' -f "$work/$way/known" \
            -e 's/evt_[0-9]\{8\}T[0-9]\{6\}Z_[0-9a-f]\{6\}/EVENT/g' \
            -e 's/2026-07-02T1[0-2]:00:00\(\.000\)\{0,1\}Z/NOW/g; s/17829[0-9]\{8\}/NOW/g' | sort
    (cd "$dir/store" && find . -type f | sort)
}
# The catalog: all but the evidence of tries that came to nothing. An error of ours uses up a try too, so
# the last one, which a dead letter names, may be ours.
catalog() {
    grep -v -E '^(ledger|run|prov|log|replay|outbox|state|checks|rollback)\|' "$1" |
        sed 's/|dead|failed|[A-Z_]*|/|dead|failed|REASON|/'
}

judge() { # WHAT: what is wrong after it, "" for nothing
    case $status in 0 | 1 | 134 | 137) ;; *)
        echo "$1: status $status: $(tail -n 1 "$dir.said")"
        return
        ;;
    esac
    if [ "$way" = backup ] && [ -e "$dir.copy" ] && ! "$bin" -C "$dir.copy" verify >"$dir.said" 2>&1; then
        echo "$1: an unfinished copy has its name"
    fi
    if [ "$status" -ne 0 ] && { ! command -v "repeat_$way" >/dev/null || "repeat_$way"; }; then again; fi
    FRESHET_NOW=$later "$bin" -C "$dir" work --drain --json >"$dir.said" 2>&1 || echo "$1: drain: $(cat "$dir.said")"
    dump_all >"$dir.first"
    catalog "$dir.first" >"$dir.catalog"
    cmp -s "$work/$way/want" "$dir.catalog" ||
        echo "$1: another catalog: $(diff "$work/$way/want" "$dir.catalog" | cut -c1-200 | head -n 4)"
    "$bin" -C "$dir" verify --json >"$dir.said" 2>&1 || echo "$1: verify: $(cat "$dir.said")"
    FRESHET_NOW=$later "$bin" -C "$dir" work --drain --json >"$dir.said" 2>&1 || echo "$1: again: $(cat "$dir.said")"
    dump_all >"$dir.second"
    cmp -s "$dir.first" "$dir.second" || echo "$1: one more drain changed something"
}
point() { # KIND N VARIABLE=VALUE...: false when the run has no such call
    kind=$1 n=$2
    shift 2
    dir=$work/$way/$kind-$n
    cp -a "$work/$way/template" "$dir"
    disturbed "KILLAT=$n" "$@"
    if [ "$kind" = kill ] && [ "$status" -eq 0 ]; then
        rm -rf "$dir" "$dir".*
        return 0
    fi
    wrong=$(judge "$way: $kind at write $n")
    echo point >>"$work/$way/points"
    if [ -n "$wrong" ]; then
        echo "$wrong; see $dir" >>"$work/$way/failures"
        : >"$work/keep"
    else
        rm -rf "$dir" "$dir".*
    fi
}

# ---- the sweep -----------------------------------------------------------------------------------------

sweep() { # PART: every other point
    step=$(((total + most - 1) / most)) n=1
    while [ "$n" -le "$total" ]; do
        if [ $((n / step % 2)) -eq "$1" ]; then
            point kill "$n"
            point EIO "$n" KILLAT_ERRNO=5
            point ENOSPC "$n" KILLAT_ERRNO=28
        fi
        n=$((n + step))
    done
}
points=0 failures=0 passed=0 failed=0
sweep_way() {
    command=$(command_of "$way")
    [ -n "$command" ] || die "no way '$way' in paths.sh"
    # shellcheck disable=SC2034 # the rows use them
    event='' delta=''
    prepare
    dir=$work/$way/whole
    cp -a "$work/$way/template" "$dir"
    disturbed "KILLAT_COUNT=$work/$way/count"
    [ "$status" -eq 0 ] || die "$way fails undisturbed: $(cat "$dir.said")"
    total=$(sed -n 's/^all //p' "$work/$way/count" | head -n 1)
    wrong=$(FRESHET_NOW=$later; quiet work --drain; dump_all >"$dir.all"; catalog "$dir.all" >"$work/$way/want"
        quiet verify) || die "$wrong"
    [ -s "$work/$way/want" ] || die "$way: nothing to compare with"
    : >"$work/$way/points"
    : >"$work/$way/failures"
    sweep 0 &
    one=$!
    sweep 1 &
    two=$!
    if ! wait $one || ! wait $two; then die "$way: the sweep broke off"; fi
    n=$(wc -l <"$work/$way/points") bad=$(grep -c ' see ' "$work/$way/failures" || :)
    printf '%-10s %4d writes, %5d points tried, %d failures\n' "$way" "$total" "$n" "$bad"
    cat "$work/$way/failures"
    points=$((points + n)) failures=$((failures + bad))
    if [ "$bad" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    rm -rf "$work/$way/whole"*
}
# shellcheck disable=SC2046 # names
[ $# -gt 0 ] || set -- $(echo "$paths" | awk 'NF { print $1 }')
for way; do sweep_way; done
echo "faults: $points points tried, $failures failures"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

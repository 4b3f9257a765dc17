#!/bin/sh
# kill -9 at every write of rebuild and gc, and at some of backup, most of which copy pages. Afterwards the instance is whole, the same command ends
# what was begun, and the result is that of an undisturbed run.
# B is the build folder (build).
set -u
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.." || exit 1
# What a killed process wrote stays, wherever it was written to: memory is as good as a disk here.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
. tests/50-e2e/lib.sh
bin=$B/freshet
export FRESHET_NOW=2026-07-02T10:00:00Z
cc -std=c17 -D_GNU_SOURCE -O1 -shared -fPIC -o "$work/killat.so" tests/30-ledger/killat.c || exit 1
start_upstream --scenario tests/50-e2e/check.json

template=$work/template
freshet init "$template" >/dev/null
freshet -C "$template" config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet -C "$template" config set free_bytes_min 0
freshet -C "$template" source add --id county --url "$u/check/county.json" >/dev/null
freshet -C "$template" source add --id plain --url "$u/check/plain.json" --sensitivity generalized >/dev/null
freshet -C "$template" check all --wait >/dev/null
advance /check/county.json
freshet -C "$template" check all --wait >/dev/null
sqlite3 "$template/ledger.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null

tables='changes sources freshness items items_box prov collections deltas assets checks'
rows() { # rows DIR: all public rows but their stamps
    for table in $tables; do
        echo "SELECT * FROM public_$table ORDER BY 1, 2;"
    done | sqlite3 -readonly -json "$1/ledger.db" | jq -c '.[]|del(.gen)'
}
whole() { "$bin" -C "$1" verify --deep >"$work/verify" 2>&1; }

# ---- what is done, and what must hold ---------------------------------------------------------------
wanted=$(rows "$template")
garbage=store/public/sha256/ab/cd/abcd000000000000000000000000000000000000000000000000000000000000
prepare_rebuild() {
    for table in changes items items_box deltas; do
        sqlite3 "$1/ledger.db" "DELETE FROM public_$table"
    done
}
after_rebuild() { [ "$(rows "$1")" = "$wanted" ] || echo "other rows than before"; }
prepare_gc() {
    mkdir -p "$1/${garbage%/*}" "$1/store/tmp"
    for file in "$garbage" store/tmp/slot-9-1; do
        echo garbage >"$1/$file"
        touch -d 2026-01-01 "$1/$file"
    done
}
after_gc() {
    if [ -e "$1/$garbage" ] || [ -e "$1/store/tmp/slot-9-1" ]; then echo "garbage is left"; fi
    [ "$(rows "$1")" = "$wanted" ] || echo "other rows than before"
}
prepare_backup() { rm -rf "$work/copy" "$work/copy.partial"; }
after_backup() {
    whole "$work/copy" || cat "$work/verify"
    [ "$(rows "$work/copy")" = "$wanted" ] || echo "other rows than before"
}

# killed DIR N COMMAND...: dies at the N-th write; false when it came to its end before.
killed() {
    at=$1 n=$2
    shift 2
    env LD_PRELOAD="$work/killat.so" KILLAT="$n" "$bin" -C "$at" "$@" >"$work/out" 2>&1
    case $? in
    137) return 0 ;;
    0) return 1 ;;
    esac
    echo "# $*: $(cat "$work/out")"
    return 1
}
# One point: what is wrong after it.
examine() { # examine DIR NAME COMMAND...
    at=$1 name=$2
    shift 2
    if [ "$name" = backup ]; then
        [ ! -e "$work/copy" ] || whole "$work/copy" || echo "an unfinished copy has its name"
        rm -rf "$work/copy" "$work/copy.partial"
    fi
    if [ "$name" != rebuild ] && ! whole "$at"; then cat "$work/verify"; fi
    "$bin" -C "$at" "$@" >"$work/out" 2>&1 || cat "$work/out"
    whole "$at" || cat "$work/verify"
    "after_$name" "$at"
}
sweep() { # sweep NAME STEP COMMAND...: at every STEP-th write
    name=$1 step=$2 points=0 write=1 bad=
    shift 2
    while :; do
        rm -rf "$work/i"
        cp -a "$template" "$work/i"
        "prepare_$name" "$work/i"
        killed "$work/i" $write "$@" || break
        points=$((points + 1)) write=$((write + step))
        found=$(examine "$work/i" "$name" "$@")
        [ -z "$found" ] || bad="$bad
write $((write - step)): $found"
    done
    is "$name survives kill -9 at $points writes" "$bad" ''
    if [ "$points" -lt 3 ]; then fail "$name was killed $points times only"; fi
    is "$name undisturbed" "$("after_$name" "$work/i")" ''
}

sweep rebuild 1 rebuild
sweep gc 1 gc
sweep backup 29 backup "$work/copy"
summary

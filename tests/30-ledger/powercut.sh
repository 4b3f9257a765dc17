#!/bin/sh
# A power cut, on a filesystem of its own (ext4 on a loop device): a handler works, and at some moment what
# the device has is all there is. The handler is stopped, the device's file is copied, and the copy mounted:
# what was written and not synced is not in it, as the filesystem commits by itself once an hour only.
# Everything that was committed before the cut is in the copy, `freshet verify` is clean, and the rest of the
# work goes on to the same end.
#
#   tests/30-ledger/powercut.sh [CUTS]    default 2
#
# Needs root and a free loop device; skipped elsewhere. B is the build folder (build).
set -eu
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.."
B=${B:-build}
cuts=${1:-2}
# A WAL that grows takes the names of the store to the disk with it; one that starts over after a
# checkpoint does not. So the cut comes after the first checkpoint.
count=250 first=110
PATH=$PATH:/sbin:/usr/sbin
skip() {
    echo "skipped: a power cut needs $1"
    echo "0 passed, 0 failed"
    exit 0
}
[ "$(id -u)" = 0 ] || skip root
for tool in losetup mkfs.ext4 mount; do command -v $tool >/dev/null || skip $tool; done
work=$(mktemp -d)
dir=$work/live/i handler=
mkdir "$work/live" "$work/after"
cleanup() {
    [ -z "$handler" ] || kill -9 "$handler" 2>/dev/null || :
    for at in after live; do
        for i in 1 2 3 4 5; do
            if ! mountpoint -q "$work/$at" || umount "$work/$at" 2>/dev/null; then break; fi
            sleep 0.2
        done
    done
    mountpoint -q "$work/live" || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
truncate -s 96M "$work/image"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$work/image"
mount -o loop,commit=3600 "$work/image" "$work/live" 2>/dev/null || skip "a loop device that can be mounted"

passed=0 failed=0
ok() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $what: $(tail -n 3 "$work/out")"
    fi
}
ask() { sqlite3 -readonly -cmd '.timeout 20000' "$1/ledger.db" "$2"; }
is() { [ "$(ask "$1" "$2")" = "$3" ]; }
heads="SELECT src_no || ' ' || version || ' ' || hex(sha) FROM heads ORDER BY src_no"
kept() { # nothing of what was committed is missing
    ask "$work/after/i" "$heads" >"$work/there"
    ! grep -v -x -F -f "$work/there" "$work/acknowledged"
}

# The candidates were put into the inbox by hand, so the log has no row of them; nothing else may be wrong.
verified() {
    "$B/freshet" -C "$work/after/i" verify --deep >"$work/verify" 2>&1 || :
    grep -q ' replay rows, ' "$work/verify" &&
        ! grep '^problem' "$work/verify" | grep -v 'candidate evt_cut_[0-9]* is not in the replay log'
}

# Sources whose bytes lie in the spool, as a check leaves them.
prepare() {
    rm -rf "$dir"
    "$B/freshet" init "$dir" >"$work/out"
    "$B/freshet" -C "$dir" config set free_bytes_min 0 >"$work/out"
    awk -v n=$count 'BEGIN { print "id,title,url,license"
        for (i = 1; i <= n; i++) printf "s%d,Source %d,https://cut.invalid/%d,CC0-1.0\n", i, i, i }' >"$work/sources.csv"
    "$B/freshet" -C "$dir" source import "$work/sources.csv" >"$work/out"
    i=1 now=$(date +%s)000
    while [ $i -le $count ]; do
        printf '{"source":%d,"round":%d}' $i "$round" >"$work/bytes"
        sha=$(sha256sum "$work/bytes" | cut -d' ' -f1)
        cp "$work/bytes" "$dir/spool/$sha"
        echo "INSERT INTO inbox (event_id, src_no, detector, outcome, version_hint, sha, detected_at, received_at, next_attempt_at)
            SELECT 'evt_cut_$i', src_no, 'etag', 'new', '$sha', X'$sha', $now, $now, $now FROM sources WHERE id = 's$i';"
        i=$((i + 1))
    done | { echo 'BEGIN;'; cat; echo 'COMMIT;'; } | sqlite3 "$dir/ledger.db"
    sync -f "$dir"
}
promoted() { ask "$dir" "SELECT count(*) FROM heads"; }

round=1
while [ "$round" -le "$cuts" ]; do
    prepare
    "$B/freshet-handler" -C "$dir" 2>"$work/log" &
    handler=$!
    until [ "$(promoted)" -ge $((first + round * 37 % 120)) ]; do kill -0 "$handler"; done
    kill -STOP "$handler"
    while ! grep -q '^State:.T' "/proc/$handler/status"; do :; done
    ask "$dir" "$heads" >"$work/acknowledged"
    cp --sparse=always "$work/image" "$work/cut" # here the power goes
    kill -9 "$handler"
    wait "$handler" 2>/dev/null || :
    handler=
    mount -o loop "$work/cut" "$work/after"
    ok "cut $round: all $(wc -l <"$work/acknowledged") committed changes are there" kept
    ok "cut $round: verify" verified
    ok "cut $round: the rest is done" "$B/freshet" -C "$work/after/i" work --drain
    ok "cut $round: every change once" is "$work/after/i" \
        "SELECT count(*) || ' ' || count(DISTINCT src_no) FROM ledger WHERE status = 'finalized'" "$count $count"
    ok "cut $round: verify at the end" verified
    umount "$work/after"
    rm "$work/cut"
    round=$((round + 1))
done
echo "powercut: $cuts cuts"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/bin/sh
# A storm: four handlers, many changes of many sources, each delivered one to five times, sources mixed;
# meanwhile handlers are killed (SIGKILL), stopped and continued at random. Afterwards every change has had
# its effect once, in order, and nothing else has.
#
#   tests/30-ledger/storm.sh [small|full] [SEED]    full: 2,000 changes of 200 sources (small: 200 of 20)
#
# The seed is printed; with it deliveries and disturbances are the same again (when they happen is not).
# Deliveries of a source keep its order, as one detector has seen them. B is the build folder (build).
set -eu
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.."
B=${B:-build}
case ${1:-small} in
small) sources=20 ;;
full) sources=200 ;;
*)
    echo "usage: storm.sh [small|full] [SEED]" >&2
    exit 2
    ;;
esac
versions=10 workers=4
seed=${2:-$(date +%s)}
echo "seed $seed"
work=$(mktemp -d)
dir=$work/instance
pids='' stopped=''
cleanup() {
    # shellcheck disable=SC2086 # lists
    for pid in $pids; do kill -9 "$pid" 2>/dev/null || :; done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
die() {
    echo "storm: $*" >&2
    exit 1
}
ask() { sqlite3 -readonly -cmd '.timeout 20000' "$dir/ledger.db" "$1"; }
passed=0 failed=0
is() { # WHAT GOT WANTED
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'not ok: %s: %s, not %s\n' "$1" "$2" "$3"
    fi
}

# ---- what is delivered --------------------------------------------------------------------------------

"$B/freshet" init "$dir" >"$work/out"
"$B/freshet" -C "$dir" config set lease_s 1 >"$work/out"
"$B/freshet" -C "$dir" config set free_bytes_min 0 >"$work/out"
awk -v n="$sources" 'BEGIN { print "id,title,url,license"
    for (i = 1; i <= n; i++) printf "s%d,Source %d,https://storm.invalid/%d,CC0-1.0\n", i, i, i }' >"$work/sources.csv"
"$B/freshet" -C "$dir" source import "$work/sources.csv" >"$work/out"
# Lines "source version", in order for each source, each 1 to 5 times, sources mixed.
awk -v n="$sources" -v m="$versions" -v seed="$seed" 'BEGIN {
    srand(seed)
    for (i = 1; i <= n; i++)
        for (v = 1; v <= m; v++)
            for (c = 1 + int(rand() * 5); c > 0; c--) { queue[i, ++last[i]] = v; total++ }
    while (total > 0) {
        i = 1 + int(rand() * n)
        if (at[i] < last[i]) { print i, queue[i, ++at[i]]; total-- }
    } }' >"$work/deliveries"
i=1
while [ "$i" -le "$sources" ]; do # their bytes, as a check leaves them
    v=1
    while [ "$v" -le "$versions" ]; do
        printf '{"source":%d,"version":%d}' "$i" "$v" >"$work/bytes"
        sha=$(sha256sum "$work/bytes" | cut -d' ' -f1)
        mv "$work/bytes" "$dir/spool/$sha"
        echo "$i $v $sha"
        v=$((v + 1))
    done
    i=$((i + 1))
done >"$work/digests"
awk -v now="$(date +%s)000" 'FNR == NR { sha[$1, $2] = $3; next }
    FNR == 1 { print "BEGIN;" }
    { printf "INSERT INTO inbox (event_id, src_no, detector, outcome, version_hint, sha, detected_at, received_at, next_attempt_at)" \
        " SELECT '\''evt_storm_%06d'\'', src_no, '\''etag'\'', '\''changed'\'', '\''%s'\'', X'\''%s'\'', %s, %s, %s FROM sources WHERE id = '\''s%d'\'';\n",
        FNR, sha[$1, $2], sha[$1, $2], now, now, now, $1 }
    END { print "COMMIT;" }' "$work/digests" "$work/deliveries" | sqlite3 "$dir/ledger.db"

# ---- the storm ----------------------------------------------------------------------------------------

start() { # N
    "$B/freshet-handler" -C "$dir" 2>>"$work/log" &
    eval "pid_$1=$!"
    pids="$pids $!"
}
open_ones() { ask "SELECT count(*) FROM inbox WHERE state IN ('ready', 'leased')"; }
n=0
while [ "$n" -lt "$workers" ]; do
    start "$n"
    n=$((n + 1))
done
kills=0 stops=0
# Lines "kill N" or "stop N" and a pause.
awk -v seed="$seed" -v w="$workers" 'BEGIN {
    srand(seed + 1)
    for (i = 0; i < 100000; i++) print (rand() < 0.5 ? "kill" : "stop"), int(rand() * w), 0.005 + rand() * 0.05 }' >"$work/acts"
begin=$(date +%s)
while read -r act n pause; do
    [ "$(open_ones)" -gt 0 ] || break
    [ $(($(date +%s) - begin)) -lt 200 ] || die "nothing goes on: $(open_ones) are open"
    eval "pid=\$pid_$n"
    if [ "$act" = kill ]; then
        kill -9 "$pid"
        wait "$pid" 2>/dev/null || :
        start "$n"
        kills=$((kills + 1))
    else
        kill -STOP "$pid"
        stopped=$pid
        # Now and then past its lease, so that others take over what it holds.
        if [ $((stops % 4)) -eq 0 ]; then sleep 1.2; else sleep "$pause"; fi
        kill -CONT "$stopped"
        stops=$((stops + 1))
    fi
    sleep "$pause"
done <"$work/acts"
n=0
while [ "$n" -lt "$workers" ]; do
    eval "pid=\$pid_$n"
    kill -TERM "$pid"
    wait "$pid" || die "a handler ended with $?: $(tail -n 3 "$work/log")"
    n=$((n + 1))
done

# ---- what came of it ------------------------------------------------------------------------------------

changes=$((sources * versions))
is "effects" "$(ask "SELECT count(*) FROM ledger WHERE status = 'finalized'")" "$changes"
is "entries of the feed" "$(ask "SELECT count(*) || ' ' || max(seq) FROM public_changes")" "$changes $changes"
is "each in its order" "$(ask "SELECT substr(s.id, 2) || ' ' || l.version || ' ' || lower(hex(l.sha)) FROM ledger l
    JOIN sources s USING (src_no) WHERE l.status = 'finalized' ORDER BY CAST(substr(s.id, 2) AS INTEGER), l.version" | sha256sum)" \
    "$(sha256sum <"$work/digests")"
is "the rest are no-ops" "$(ask "SELECT count(*) FROM inbox WHERE NOT (state = 'done' AND result IN ('promoted', 'noop'))")" 0
# The candidates were put into the inbox by hand, so the log has no row of them; nothing else may be wrong.
"$B/freshet" -C "$dir" verify >"$work/out" 2>&1 || :
is "verify" "$(grep '^problem' "$work/out" | grep -v 'candidate evt_storm_[0-9]* is not in the replay log')" ''
is "and it looked" "$(grep -c ' replay rows, ' "$work/out")" 1
is "no temporary file is left" "$(ls "$dir/store/tmp")" ''
echo "storm: $(wc -l <"$work/deliveries") deliveries of $changes changes, $kills killed, $stops stopped," \
    "$(grep -c LEASE_LOST "$work/log" || :) fenced off, $(($(date +%s) - begin)) s"
[ "$failed" -eq 0 ] || echo "to repeat: tests/30-ledger/storm.sh ${1:-small} $seed"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

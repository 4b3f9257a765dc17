#!/bin/sh
# bench_digest.sh [ROUNDS]: sha256 as the programs take it (core/digest.h, in blocks of 16 KB) beside
# `openssl speed`, in turns, the best of each.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-3}
B=${B:-build}
mkdir -p "$B/bench"
cc -O2 -std=c17 -D_GNU_SOURCE -I. -include core/banned.h -o "$B/bench/digest_loop" tests/bench/digest_loop.c \
    "$B/libcore.a" -lcrypto -lyyjson -lm
ours=0 theirs=0 i=0
max() { awk -v a="$1" -v b="$2" 'BEGIN { print (b > a ? b : a) }'; }
while [ "$i" -lt "$rounds" ]; do
    ours=$(max "$ours" "$("$B/bench/digest_loop" 1)")
    # its last line: "sha256  1234567.89k"
    theirs=$(max "$theirs" "$(openssl speed -seconds 1 -bytes 16384 -evp sha256 2> /dev/null |
        awk 'END { sub(/k$/, "", $NF); print $NF / 1000 }')")
    i=$((i + 1))
done
awk -v o="$ours" -v t="$theirs" 'BEGIN {
    printf "sha256: digest_add %.0f MB/s, openssl speed %.0f MB/s, ratio %.2f (goal: 0.90)%s\n", o, t, o / t, o / t < 0.9 ? "  MISSED" : ""
    exit o / t < 0.9 }'

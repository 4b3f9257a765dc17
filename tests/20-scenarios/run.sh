#!/bin/sh
# Plays every scenario of this folder (README.md), or those named: one line each, then the sum.
cd "$(dirname "$0")/../.." || exit 1
exec "${B:-build}/tests/20-scenarios/runner" "$@"

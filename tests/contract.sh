#!/bin/sh
# The answers of a test run against the description of the addresses (tests/contract.py).
#
#   tests/contract.sh [FOLDER]    FOLDER: what was recorded. Without it, the tests of 40-service run first.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if ! /usr/bin/python3 -c 'import jsonschema, rdflib' 2>/dev/null; then
    echo "skipped: python3-jsonschema and python3-rdflib are not installed"
    exit 0
fi
"$B/freshet" docs openapi >"$work/openapi.json" || exit 1
folder=${1:-}
if [ -z "$folder" ]; then
    folder=$work/answers
    mkdir "$folder"
    for t in "$B"/tests/40-service/test_*; do
        case $t in *.o | *.d) continue ;; esac
        RECORD=$folder B=$B "$t" >/dev/null 2>&1 || echo "# $t failed"
    done
fi
tests/contract.py "$work/openapi.json" "$folder"
status=$?

# ---- would it be noticed? ----------------------------------------------------------------------
# A part of the answers is enough for that.
mkdir "$work/sample"
# shellcheck disable=SC2012 # our own file names
sample=$(ls -S "$folder"/*.answers | tail -n 1)
for f in "$folder"/*.answers; do
    if grep -q -a 'X-Freshet-Route: /badges/{source}.json' "$f"; then sample=$f; fi
done
cp "$sample" "$work/sample"
noticed() { # noticed WHAT JQ-FILTER PATTERN
    jq "$2" "$work/openapi.json" >"$work/broken.json"
    tests/contract.py "$work/openapi.json" "$work/sample" >"$work/whole"
    tests/contract.py "$work/broken.json" "$work/sample" >"$work/out"
    if ! grep -q "$3" "$work/whole" && grep -q "$3" "$work/out"; then
        echo "ok - noticed: $1"
    else
        echo "not ok - not noticed: $1"
        status=1
    fi
}
noticed "a member that is not there" '.components.schemas.badge.required += ["since"]' "'since' is a required property"
noticed "a member that should not be there" 'del(.components.schemas.badge.properties.message)' "'message' was unexpected"
noticed "a row that is not described" 'del(.paths["/badges/{source}.json"])' 'is not described'
noticed "a row that nobody asked" '.paths["/invented"] = .paths["/healthz"]' 'GET /invented 200: no test got'
noticed "a representation that nobody asked for" \
    '.paths["/dcat"].get.responses["200"].content["application/rdf+xml"] = {"schema":{"type":"string"}}' 'no test got application/rdf+xml'
exit "$status"

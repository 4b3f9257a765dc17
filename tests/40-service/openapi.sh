#!/bin/sh
# /openapi.json: whole, in agreement with the tables, the same each time; and judged by linters that we did not
# write, where npm can get them (NODE_MODULES names a folder that has them already).
# shellcheck disable=SC2016 # the $s are jq's and python's
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/00-arch/lib.sh
B=${B:-build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
doc=$work/openapi.json
"$B/freshet" docs openapi >"$doc" 2>"$work/err"
finding "it can be made" "$(cat "$work/err")"
finding "it has the same bytes each time" "$("$B/freshet" docs openapi | cmp - "$doc" 2>&1)"

# ---- agreement with the tables -------------------------------------------------------------------
rows() { sed -n 's/^X([A-Z]*, "\([A-Z]*\)", "\([^"]*\)".*/\1 \2/p' api/routes.def | sort; }
told() { jq -r '.paths | to_entries[] | .key as $p | .value | keys[] | ascii_upcase + " " + $p' "$doc" | sort; }
finding "every row of routes.def is described, and nothing else" "$(rows >"$work/a"; told | diff "$work/a" -)"
finding "each has an answer, an id of its own and a tag that is explained" "$(jq -r '
    (.tags | map(.name)) as $tags
    | [.paths[][]] as $all
    # a delivery is taken in (202), or there is nothing to take in (200), and so with a rollback; of bytes there
    # are parts (206, 416)
    | ($all[] | select((.responses | keys | map(select(startswith("2"))) | length)
        != if (.operationId | IN("post_hooks_source", "post_admin_rollbacks")) or .responses["416"] then 2 else 1 end) | .operationId),
      ($all | group_by(.operationId)[] | select(length > 1)[0].operationId),
      ($all[] | select(.tags - $tags != []) | .operationId + ": " + .tags[0])' "$doc")"
finding "what stands in braces is a parameter of the path, and the other way round" "$(jq -r '
    .paths | to_entries[] | .key as $p | .value[]
    | ([$p | scan("\\{([^}]*)\\}")[0]] | sort) as $want
    | ([.parameters[] | select(.in == "path") | .name] | sort) as $got
    | select($want != $got) | $p' "$doc")"
finding "every reference leads somewhere inside" "$(jq -r '
    . as $doc | [.. | objects | ."$ref"? | strings] | unique[]
    | select((startswith("#/") | not) or
             (. as $r | $doc | getpath($r[2:] / "/" | map(if test("^[0-9]+$") then tonumber else . end)) == null))' "$doc")"
finding "no schema lies there unused" "$(jq -r '
    . as $doc | [.. | objects | ."$ref"? | strings | select(startswith("#/components/schemas/")) | split("/")[3]] as $used
    | .components.schemas | keys[] | select(. as $k | $used | index($k) | not)' "$doc")"
finding "every format of the feed is among its representations" "$(sed -n 's/^X(\([a-z]*\), .*/\1/p' api/formats.def |
    while read -r f; do jq -e --arg f "$f" '.paths["/changes"].get.parameters[] | select(.name == "f").schema.enum | index($f)' \
        "$doc" >/dev/null || echo "$f"; done)"
finding "the type of the link to it is the type it has" "$(for p in /openapi.json /stac/api; do
    type=$(sed -n 's/^#define OPENAPI "\(.*\)"$/\1/p' api/routes.def)
    jq -e --arg p "$p" --arg t "$type" '.paths[$p].get.responses["200"].content[$t]' "$doc" >/dev/null || echo "$p"
    grep -q "OPENAPI_TYPE \"$type\"" api/openapi.h || echo "the link"
done)"

# ---- the schemas are schemas ---------------------------------------------------------------------
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
    finding "every schema is valid in its own dialect" "$(/usr/bin/python3 -c '
import glob, json, jsonschema
for name in sorted(glob.glob("schemas/*.schema.json")):
    s = json.load(open(name))
    try:
        jsonschema.validators.validator_for(s).check_schema(s)
    except jsonschema.SchemaError as e:
        print(name, e.message)
    if not s.get("$schema") or not s.get("$id") or not s.get("description"):
        print(name, "lacks $schema, $id or description")')"
else
    echo "skipped: python3-jsonschema is not installed"
fi

# ---- linters of others -----------------------------------------------------------------------------
modules=${NODE_MODULES:-build/lint-openapi/node_modules}
if [ ! -x "$modules/.bin/redocly" ] && [ -z "${NODE_MODULES:-}" ] && command -v npm >/dev/null; then
    timeout 90 npm install --silent --no-audit --no-fund --prefix build/lint-openapi \
        @redocly/cli @seriousme/openapi-schema-validator >/dev/null 2>&1
fi
if [ -x "$modules/.bin/redocly" ]; then
    # An address with a slash at its end is one that clients ask for.
    REDOCLY_TELEMETRY=off "$modules/.bin/redocly" lint --skip-rule no-path-trailing-slash --format stylish "$doc" >"$work/lint" 2>&1
    status=$?
    finding "redocly lint has nothing to say" "$([ "$status" -eq 0 ] || cat "$work/lint"; grep -E ' (error|warning) ' "$work/lint")"
fi
if [ -x "$modules/.bin/validate-api" ]; then
    finding "it fits the schema of OpenAPI" "$("$modules/.bin/validate-api" "$doc" | jq -r 'select(.valid != true)')"
fi
[ -x "$modules/.bin/redocly" ] || [ -x "$modules/.bin/validate-api" ] ||
    echo "skipped: no linter (npm install @redocly/cli @seriousme/openapi-schema-validator)"

# ---- would it be noticed? ----------------------------------------------------------------------------
sed 's/^X(API, "GET", "\/healthz"/X(API, "GET", "\/invented"/' api/routes.def |
    sed -n 's/^X([A-Z]*, "\([A-Z]*\)", "\([^"]*\)".*/\1 \2/p' | sort >"$work/a"
if told | diff -q "$work/a" - >/dev/null; then fail "noticed: a row without a description"; else pass "noticed: a row without a description"; fi
summary

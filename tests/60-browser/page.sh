#!/bin/sh
# The first page in a real browser: what it shows is what the api says, nothing is logged as an error,
# nothing withheld appears. Skipped where there is no chromium.
# shellcheck disable=SC2154 # out, err, port and u are set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
    echo "skipped: chromium is not installed"
    summary
    exit
fi
start_upstream --demo --tick 3600000
FRESHET_DIR=$work/i
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web

freshet init "$FRESHET_DIR" >/dev/null
sed "s/{port}/$port/g" tests/upstream/demo-sources.json >"$work/sources.json"
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet source import "$work/sources.json"
freshet check all --wait >/dev/null
curl -sS -X POST "$u/control/tick" >/dev/null
freshet check all --wait >/dev/null
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
children=$!
soon "it is up" 30 grep -q "$base/" "$work/up.out"

# look PATH NAME [FLAG...]: the DOM after scripts ran is in NAME.html, what was logged in NAME.log.
look() {
    path=$1 name=$2
    shift 2
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage \
        --disable-background-networking --disable-component-update --disable-sync --disable-extensions \
        --user-data-dir="$work/profile-$name" --enable-logging=stderr --virtual-time-budget=8000 "$@" \
        --dump-dom "$base$path" >"$work/$name.html" 2>"$work/$name.log"
}
# Text of the page without tags, one line.
text() { tr '\n' ' ' <"$work/$1.html" | sed -e 's/<script[^>]*>[^<]*<\/script>//g' -e 's/<[^>]*>/ /g' -e 's/  */ /g'; }
count() { grep -o "$2" "$work/$1.html" | wc -l | tr -d ' '; }

look / page
page=$(text page)
changes=$(curl -s "$base/changes?limit=20")
n=$(echo "$changes" | jq '.results | length')
# Each change says "Updated on <time>" and each digest that is public stands in a title.
is "every change of the first page is shown" "$(tr '\n' ' ' <"$work/page.html" | sed 's/.*id="changes"//' | grep -o 'Updated on <time' | wc -l | tr -d ' ')" "$n"
for sha in $(echo "$changes" | jq -r '.results[].object_identity.sha256 // empty'); do
    grep -q "title=\"$sha\"" "$work/page.html" || fail "the digest $sha is shown"
done
is "each public one says how to check it, use it and take it back" \
    "$(grep -o '<summary>Check it, use it, take it back</summary>' "$work/page.html" | wc -l | tr -d ' ')" \
    "$(echo "$changes" | jq '[.results[] | select(.sensitivity == "public" and .change_type != "deleted" and .rollback_ref)] | length')"
sum=$(curl -s "$base/badges/all.json" | jq -r '.message | sub(" current"; " sources are current")')
has "how many are current stands on top" "$page" "$sum"
withheld=$(grep -o 'Withheld at[^<]*' "$work/page.html")
has "what is withheld is told" "$withheld" 'exact place'
lacks "in words for people" "$withheld" 'bbox\|qa\|[a-z]_[a-z]\|uri\| ref'
has "the newest is named" "$page" "$(echo "$changes" | jq -r '.results[0].title')"
curl -s "$base/freshness?limit=1000" | jq -r '[.results[]? // .freshness[]?][] | .title + "\t" + .label' >"$work/badges"
tab=$(printf '\t')
while IFS="$tab" read -r title label; do
    # The label follows its title, with the state in words between them.
    has "badge: $title, $label" "$page" "$title [^.]*$label"
done <"$work/badges"
is "a badge per source, each with its state in words" "$(count page 'class="state"')" "$(wc -l <"$work/badges")"
# How its checks go stands in each card whose health is public; one of the demo's upstreams is broken.
is "health of every source that shows it" "$(tr '\n' ' ' <"$work/page.html" | grep -o 'class="shape" aria-hidden="true">\(✓\|!\)</span>[A-Z][a-z ]*\. ' | wc -l | tr -d ' ')" \
    "$(curl -s "$base/sources?limit=1000" | jq '[.results[] | select(.health)] | length')"
has "a breach says why" "$page" '! Checks fail. The last [0-9]* *checks\{0,1\} \(ended\|failed, the last\) as [a-z_]*; last good answer: '
lacks "it is not stuck at loading" "$page" 'Loading…'
lacks "no sovereign source" "$(cat "$work/page.html")" 'meadow-river'
lacks "no restricted address" "$(cat "$work/page.html")" 'archaeological-sites.geojson'
is "no error on the console" "$(grep -E 'CONSOLE|ERR_|Uncaught|Refused to' "$work/page.log" | head -n 5)" ''
is "one main heading, a language, a title" "$(count page '<h1')$(count page '<html lang="en"')$(count page '<title>')" 111
lacks "no script but its own file" "$(cat "$work/page.html")" '<script>'

# ---- the reference -----------------------------------------------------------------------------------
look /docs docs
docs=$(text docs)
curl -s "$base/openapi.json" >"$work/openapi.json"
is "every address of the description is on the page" "$(count docs 'class="address"')" \
    "$(jq '[.paths[] | keys[]] | length' "$work/openapi.json")"
is "and every schema" "$(count docs 'id="schema-')" "$(jq '.components.schemas | length' "$work/openapi.json")"
has "with what it does" "$docs" "$(jq -r '.paths["/changes"].get.summary' "$work/openapi.json" | cut -d : -f 1)"
has "what a provider sends is told in words" "$docs" 'Send \*/\*: As the provider of the source sends it'
lacks "code is set as code" "$(tr '\n' ' ' <"$work/docs.html" | sed 's/<pre[^>]*>[^<]*<\/pre>//g')" '`'
lacks "no part of it is left out" "$docs" 'cannot be shown'
lacks "the reference is not stuck at loading" "$docs" 'Loading…'
is "no error on its console" "$(grep -E 'CONSOLE|ERR_|Uncaught|Refused to' "$work/docs.log" | head -n 5)" ''
is "nothing of it comes from elsewhere" "$(grep -o -E '(src|href)="(https?:)?//[^"]*"' "$work/docs.html")" ''
is "it has one main heading, a language, a title" "$(count docs '<h1')$(count docs '<html lang="en"')$(count docs '<title>')" 111
is "the first page leads to it" "$(count page 'href="/docs"')" 1

# ---- the page of the catalog ----------------------------------------------------------------------------
# The policy of its answer lets the style in; a refusal would be on the console.
look /stac stac
has "the catalog has a page" "$(text stac)" 'Catalog'
has "with the collections by their names" "$(text stac)" ' Collections .* Boundaries '
lacks "and no number that there are not" "$(text stac)" 'hundred'
has "it says what links lead to" "$(text stac)" 'Links lead to JSON'
is "nothing of it is refused" "$(grep -E 'CONSOLE|ERR_|Uncaught|Refused to' "$work/stac.log" | head -n 5)" ''
has "it is under the policy of pages" "$(curl -s -i -H 'Accept: text/html' "$base/stac")" "^Content-Security-Policy: default-src 'self';"
has "its JSON is under that of data" "$(curl -s -i "$base/stac")" "^Content-Security-Policy: default-src 'none'; frame-ancestors 'none'"

# ---- the map of a change ---------------------------------------------------------------------------------
# What is opened by hand, drawn here of a delta that is written by hand.
cat >"$work/map.html" <<END
<body><script src="file://$PWD/www/dom.js"></script><script src="file://$PWD/www/evidence.js"></script><script>
const features = { added: [{ key: "<b>", bbox: [-98, 38, -97, 39] }], modified: [{ key: "m", bbox: [-99, 38, -99, 38] }],
    removed: [{ key: "none" }] };
document.body.append(mapOf({ features }, [-102, 37, -94, 40]), String(mapOf({ features }, null)), String(mapOf({}, [0, 0, 1, 1])));
</script></body>
END
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage \
    --user-data-dir="$work/profile-map" --dump-dom "file://$work/map.html" >"$work/map.dom" 2>/dev/null
map=$(cat "$work/map.dom")
is "the map draws the whole and each box" "$(grep -o '<rect class="[a-z]*"' "$work/map.dom" | sort | tr '\n' ' ')" \
    '<rect class="added" <rect class="modified" <rect class="whole" '
has "it says in words what it draws" "$map" 'aria-label="Where it changed: 1 added, 1 modified, within the whole dataset"'
has "a name stays text" "$map" '<title>added: &lt;b&gt;</title>'
has "a point can be seen" "$map" 'class="modified"[^>]*width="5" height="5"'
has "without boxes there is none" "$map" '</figure>nullnull'

# ---- would an error be noticed? --------------------------------------------------------------------
printf '<script>console.error("planted")</script>' >"$work/planted.html"
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage \
    --user-data-dir="$work/profile-planted" --enable-logging=stderr --dump-dom "file://$work/planted.html" >/dev/null 2>"$work/planted.log"
has "an error on the console would be noticed" "$(cat "$work/planted.log")" 'CONSOLE.*planted'
summary

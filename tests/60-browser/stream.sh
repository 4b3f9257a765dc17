#!/bin/sh
# A browser's own EventSource on the live feed, while handlers write, nginx is reloaded, and handlers and
# freshet-stream are killed and restarted: it has every entry once, in order. Skipped where there is no chromium.
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
# /wait never answers: the page goes on loading, and the browser reading, until the upstream is gone.
start_upstream --scenario tests/60-browser/stream.json
FRESHET_DIR=$work/i
export FRESHET_DIR
web=$(free_port)
base=http://127.0.0.1:$web
freshet init "$FRESHET_DIR" >/dev/null
freshet config set allow_hosts "[\"127.0.0.1:$port\"]"
freshet config set fetch_attempts 1
freshet config set stream_heartbeat_s 1
awk -v u="$u" 'BEGIN { print "id,title,url,collection,triggers"
    for (i = 0; i < 40; i++) printf "n-%d,Number %d,%s/n/%d.json,cn,\"[{\"\"type\"\":\"\"manual\"\"}]\"\n", i, i, u, i }' >"$work/n.csv"
freshet source import "$work/n.csv" >/dev/null
"$B/freshet" up --port "$web" >"$work/up.out" 2>"$work/up.err" &
up=$!
children=$up
soon "it is up" 30 grep -q "$base/" "$work/up.out"

cat >"$work/page.html" <<PAGE
<!DOCTYPE html><title>listening</title><ol id="all"></ol><ol id="few"></ol><p id="opens"></p><img src="$u/wait" alt="">
<script>
let opens = 0;
function follow(id, query) {
    const stream = new EventSource("$base/changes/stream" + query);
    stream.addEventListener("open", () => { document.getElementById("opens").textContent = "opened " + ++opens; });
    stream.addEventListener("change", (e) => {
        const li = document.createElement("li");
        li.textContent = e.lastEventId + "=" + JSON.parse(e.data).seq;
        document.getElementById(id).append(li);
        if (JSON.parse(e.data).source_id === "n-39") new Image().src = "$u/seen/" + id;
    });
}
follow("all", "?since=0");
follow("few", "?since=now&source=n-3,n-19,n-39");
</script>
PAGE
timeout 100 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage --disable-extensions \
    --disable-background-networking --disable-component-update --disable-sync --user-data-dir="$work/profile" \
    --timeout=90000 --dump-dom "file://$work/page.html" >"$work/dom.html" 2>"$work/browser.log" &
looking=$!
children="$up $looking"
pid_of() { pgrep -P "$up" -f "$1" | head -n 1; }
listens() { curl -s "$base/metrics" | grep -q '^freshet_stream_clients{kind="events"} 2$'; }
n=0
write() {
    for _ in 1 2 3 4; do
        freshet check source "n-$n" >/dev/null
        n=$((n + 1))
    done
}
taken_in() { [ "$(curl -s "$base/changes?since=now" | jq -r .last_seq)" = "$n" ]; }

soon "the browser listens" 30 listens
write
kill -HUP "$(pid_of nginx:.master)"
write
kill -9 "$(pid_of freshet-stream)"
write
soon "it came back by itself" 30 listens
kill -9 "$(pid_of freshet-handler)"
write
for p in $(pgrep -P "$(pid_of nginx:.master)"); do kill "$p"; done
write
kill "$(pid_of freshet-stream)"
write
soon "all is taken in" 30 taken_in
soon "it came back again" 30 listens
# One more, which both streams let pass: an entry too many would have come before it.
freshet check source n-39 >/dev/null
n=$((n + 1))
seen() { curl -s "$u/control/log?path=/seen/$1" | jq -e 'length > 0'; }
soon "the last entry is there" 30 seen all
soon "with a filter as well" 30 seen few
kill "$upstream"
wait "$looking"
dom=$(tr '\n' ' ' <"$work/dom.html")
list() { echo "$dom" | sed "s/.*<ol id=\"$1\">//; s/<\/ol>.*//" | grep -o '[0-9]*=[0-9]*'; }
is "every entry came once, in order, under its own id" "$(list all)" "$(seq 1 "$n" | sed 's/.*/&=&/')"
wanted=$(curl -s "$base/changes?since=0&limit=1000&source=n-3,n-19,n-39" | jq -r '.results[].seq' | sed 's/.*/&=&/')
is "with a filter, too" "$(list few)" "$wanted"
has "and it had to come back" "$dom" 'opened \([4-9]\|[1-9][0-9]\)<'
kill "$up"
wait "$up"
children=
summary

/* Fills the page from /changes, /freshness and /sources (for the health of each), and keeps it fresh; changes
 * come by /changes/stream as they happen.
 *
 * 1. Text from the server is only ever set as text, never as markup.
 * 2. It asks again every few seconds with the ETag of what it shows, so that "nothing new" costs a
 *    304; less often while nobody looks, and with growing pauses while the server does not answer.
 * 3. What is shown stays when the server is down, and a message says how old it is.
 * Loaded after dom.js and evidence.js.
 */
"use strict";

const PAUSE_MS = 10000;
const PAUSE_MAX_MS = 120000;
const KEPT_MS = 1500; /* the server may keep an answer for a second */
const SHOWN_AT_ONCE = 20;
const NEWEST = "/changes?limit=" + SHOWN_AT_ONCE;
const FRESHNESS = "/freshness?limit=1000";
const SOURCES = "/sources?limit=1000";
const BADGE = "/badges/all.json";

const STATES = {
    current: ["✓", "Current"],
    past_window: ["△", "Past its freshness window"],
    unknown: ["?", "Unknown"],
    held: ["‖", "Held for review"],
    restricted: ["◆", "Restricted"],
    retired: ["■", "Retired"],
};
const HEALTH = {
    ok: "Checks work",
    never_checked: "Never looked at",
    refused: "Newest version refused",
    ahead: "Looked at by a wrong clock",
    failing: "Checks fail",
    gone: "Gone upstream",
    overdue: "A look is overdue",
    unverified: "Long not verified",
    retired: "No longer watched",
};
const KINDS = {
    new: "first version",
    modified: "changed",
    deleted: "removed upstream",
    reinstated: "back again",
    rollback: "taken back",
};

/* ---- small helpers ---- */

/* A link, or nothing where the evidence is withheld. Only our own and web addresses become links. */
function link(text, href) {
    if (typeof href !== "string" || !/^(https?:\/\/|\/)/.test(href)) return null;
    const item = element("li");
    item.append(element("a", text, { href: href }));
    return item;
}

function time(text) {
    if (!text) return element("span", "at an unknown time");
    const shown = text.length > 10 ? text.slice(0, 10) + " " + text.slice(11, 16) + " UTC" : text;
    return element("time", shown, { datetime: text });
}

function list(items) {
    const node = element("ul", null, { class: "links" });
    node.append(...items.filter(Boolean));
    return node;
}

function assetOf(entry) {
    const identity = entry.object_identity;
    const open = entry.sensitivity === "public" && identity && identity.sha256;
    return open && entry.change_type !== "deleted" ? "/assets/sha256/" + identity.sha256 : null;
}

/* ---- one change ---- */

function trustLine(entry) {
    const line = element("p", null, { class: "facts" });
    const digest = entry.object_identity && entry.object_identity.sha256;
    const qa = entry.qa_summary || {};
    line.append("Why to trust it: ");
    if (digest) {
        line.append("the bytes hash to sha256 ");
        line.append(element("code", digest.slice(0, 12) + "…", { title: digest }));
        line.append("; ");
    }
    const checks = typeof qa.checks === "number" ? qa.checks : null;
    if (checks !== null) line.append((checks - (qa.failed || 0)) + " of " + checks + " checks passed. ");
    else if (qa.status) line.append("validation: " + qa.status + ". ");
    else line.append("details are withheld. ");
    return line;
}

/* "3 added, 1 modified, none removed; area +1.2 %"; nothing where that is withheld or unknown. */
function changedLine(entry) {
    const qa = entry.qa_summary || {};
    const counts = qa.features || {};
    const words = ["added", "modified", "removed"]
        .filter((name) => typeof counts[name] === "number")
        .map((name) => (counts[name] || "none") + " " + name);
    if (words.length === 0) return null;
    let text = "Features: " + words.join(", ");
    if (typeof qa.area_change_pct === "number")
        text += "; area " + (qa.area_change_pct > 0 ? "+" : "") + qa.area_change_pct.toFixed(2) + " %";
    return element("p", text + ".", { class: "facts" });
}

/* What is withheld, for people; a field that is not known here by its own name. */
const WITHHELD = {
    source_uri: "address of the original",
    object_identity: "digest and version",
    previous_identity: "digest of the version before",
    delta_manifest_ref: "what changed in detail",
    detected_at: "when it was found",
    received_at: "when it arrived",
    finalized_at: "time of day",
    change_event_id: "time in its name",
    change_type: "kind of change",
    change_class: "class of change",
    detector: "how it was found",
    prov_ref: "provenance",
    stac_ref: "catalog entry",
    openlineage_ref: "lineage",
    rollback_ref: "how to take it back",
    bbox: "exact place",
    unexpected: "whether it was expected",
    "qa_summary.checks": "number of checks",
    "qa_summary.failed": "number of failed checks",
    "qa_summary.reasons": "reasons of checks",
    "qa_summary.features": "number of features",
    "qa_summary.area_change_pct": "change of area",
};

function wordsOf(names) {
    return names.map((name) => WITHHELD[name] || name.replace(/[._]/g, " ")).join(", ");
}

function changeItem(entry) {
    const item = element("li");
    const head = element("h3", entry.title || entry.source_id || "A dataset");
    const kind = KINDS[entry.change_type] || entry.change_type; /* withheld for some */
    if (kind) head.append(element("span", kind, { class: "kind" }));
    if (entry.unexpected) head.append(element("span", "unexpected", { class: "kind" }));
    const when = element("p", "Updated on ", { class: "facts" });
    when.append(time(entry.finalized_at));
    item.append(head, when);
    const changed = changedLine(entry);
    if (changed) item.append(changed);
    item.append(trustLine(entry), ...evidenceOf(entry, assetOf(entry)));
    item.append(list([
        link("Evidence", "/changes/" + encodeURIComponent(entry.change_event_id)),
        link("Provenance", entry.prov_ref),
        link("What changed", entry.delta_manifest_ref),
        link("The bytes", assetOf(entry)),
        link("Original", entry.sensitivity === "public" ? entry.source_uri : null),
    ]));
    if (Array.isArray(entry.redacted) && entry.redacted.length > 0)
        item.append(element("p", "Withheld at the steward's wish: " + wordsOf(entry.redacted) + ".",
            { class: "facts" }));
    return item;
}

/* ---- one source ---- */

/* How its checks go; nothing where that is withheld. A breach is told by a word and a shape, not by
 * colour alone. */
function healthLine(health) {
    if (!health) return null;
    const line = element("p", null, { class: health.breach ? "facts breach" : "facts" });
    line.append(element("span", health.breach ? "!" : "✓", { class: "shape", "aria-hidden": "true" }));
    line.append(HEALTH[health.state] || health.state, ". " + (health.reason || ""));
    return line;
}

function sourceItem(fresh, health) {
    const [shape, word] = STATES[fresh.state] || STATES.unknown;
    const item = element("li");
    const state = element("span", null, { class: "state" });
    state.append(element("span", shape, { class: "shape", "aria-hidden": "true" }), word);
    const label = element("p", fresh.label, { class: "facts" });
    const why = element("p", (fresh.explanation && fresh.explanation.text) || "", { class: "facts" });
    item.append(element("h3", fresh.title || fresh.source_id), state, label, why);
    const healthy = healthLine(health);
    if (healthy) item.append(healthy);
    if (fresh.checked_at) {
        const checked = element("p", "Last looked at ", { class: "facts" });
        checked.append(time(fresh.checked_at));
        item.append(checked);
    }
    const id = encodeURIComponent(fresh.source_id);
    item.append(list([
        link("Why", "/freshness/" + id),
        link("Health", "/sources/" + id),
        link("Badge", "/badges/" + id + ".svg"),
        link("Provenance", fresh.prov_ref),
    ]));
    return item;
}

/* ---- talking to the server ---- */

const known = new Map(); /* address → { etag, body } */

/* The body, and whether it differs from the last time. */
async function ask(address) {
    const old = known.get(address);
    const headers = old && old.etag ? { "If-None-Match": old.etag } : {};
    const answer = await fetch(address, { headers, cache: "no-store" });
    if (answer.status === 304 && old) return { body: old.body, moved: false };
    if (!answer.ok) throw new Error("the server answered " + answer.status);
    const body = await answer.json();
    known.set(address, { etag: answer.headers.get("ETag"), body });
    return { body, moved: true };
}

/* ---- the page ---- */

const page = {
    status: document.getElementById("status"),
    sum: document.getElementById("sum"),
    changes: document.getElementById("changes"),
    freshness: document.getElementById("freshness"),
    older: document.getElementById("older"),
    shownAt: null,
    next: null,
    seq: null, /* the newest change that is known */
    stream: null, /* the EventSource, while somebody looks */
    wake: () => {}, /* ends the pause between two looks */
    extended: false, /* the reader went back: new entries go on top, nothing is taken away */
};

function nextOf(body) {
    const found = (body.links || []).find((l) => l.rel === "next");
    return found ? new URL(found.href).search : null;
}

function showEmpty(node, text) {
    node.replaceChildren(element("li", text));
}

function showChanges(body) {
    if (page.stream && Number(body.last_seq) < page.seq) return; /* the server kept it for a moment; we know more */
    page.seq = Number(body.last_seq);
    if (page.extended) {
        const have = new Set([...page.changes.children].map((li) => li.dataset.id));
        const fresh = body.results.filter((e) => !have.has(e.change_event_id));
        page.changes.prepend(...fresh.map(namedItem));
        return;
    }
    page.next = nextOf(body);
    page.older.hidden = !page.next;
    if (body.results.length === 0) showEmpty(page.changes, "Nothing has changed yet.");
    else page.changes.replaceChildren(...body.results.map(namedItem));
    const shown = new Set(page.changes.children);
    for (const [id, old] of items) if (!shown.has(old.item)) items.delete(id);
}

/* An entry that says what it said keeps its place on the page: what a reader has opened stays open. */
const items = new Map(); /* id → { text, item } */

function namedItem(entry) {
    const id = entry.change_event_id, text = JSON.stringify(entry), old = items.get(id);
    if (old && old.text === text) return old.item;
    const item = changeItem(entry);
    item.dataset.id = id;
    items.set(id, { text, item });
    return item;
}

/* "12 of 14 sources are current. 1 held for review, 1 restricted." The first is what the badge counts:
 * templates, and restricted and retired sources, are not judged. */
function sumText(results, badge) {
    const counts = new Map();
    for (const f of results) counts.set(f.state, (counts.get(f.state) || 0) + 1);
    const rest = [...counts].filter(([state]) => state !== "current")
        .map(([state, n]) => n + " " + (STATES[state] || STATES.unknown)[1].toLowerCase());
    const judged = /^(\d+) of (\d+) current$/.exec(badge.message);
    const first = judged
        ? judged[1] + " of " + judged[2] + (judged[2] === "1" ? " source is" : " sources are") + " current."
        : badge.message + ".";
    return first + (rest.length > 0 ? " " + rest.join(", ") + "." : "");
}

function showFreshness(body, sources, badge) {
    const health = new Map(sources.results.map((s) => [s.id, s.health]));
    page.sum.textContent = body.results.length > 0 ? sumText(body.results, badge) : "";
    if (body.results.length === 0) showEmpty(page.freshness, "No source is watched yet.");
    else page.freshness.replaceChildren(...body.results.map((f) => sourceItem(f, health.get(f.source_id))));
}

function say(text, down) {
    if (page.status.textContent !== text) page.status.textContent = text;
    page.status.classList.toggle("down", down);
}

async function showOlder() {
    page.older.disabled = true;
    try {
        const { body } = await ask("/changes" + page.next);
        const first = body.results.map(namedItem);
        page.extended = true;
        page.changes.append(...first);
        page.next = nextOf(body);
        page.older.hidden = !page.next;
        if (first.length > 0) {
            first[0].tabIndex = -1;
            first[0].focus();
        }
    } catch (error) {
        say("Older changes could not be loaded: " + error.message + ".", true);
    }
    page.older.disabled = false;
}

async function refresh() {
    const changes = await ask(NEWEST);
    if (changes.moved) showChanges(changes.body);
    const freshness = await ask(FRESHNESS);
    const sources = await ask(SOURCES);
    const badge = await ask(BADGE);
    if (freshness.moved || sources.moved || badge.moved) showFreshness(freshness.body, sources.body, badge.body);
    page.shownAt = new Date();
    say(page.stream ? "Up to date. Changes appear by themselves." : "Up to date. This page looks for news by itself.", false);
}

/* ---- changes as they come ---- */

/* Who stands among the changes already was loaded with the page. */
function showLive(entry) {
    page.seq = Number(entry.seq);
    if ([...page.changes.children].some((li) => li.dataset.id === entry.change_event_id)) return;
    if (!page.changes.querySelector("[data-id]")) page.changes.replaceChildren();
    page.changes.prepend(namedItem(entry));
    if (!page.extended && page.changes.children.length > SHOWN_AT_ONCE) page.changes.lastElementChild.remove();
}

/* Begins once the page has stood for a while, where the loaded changes end. The browser comes back by itself
 * with the last id it saw; what it cannot mend ends the stream, and the next look begins another. */
function listen() {
    if (page.stream || document.hidden || page.seq === null || !window.EventSource) return;
    const stream = new EventSource("/changes/stream?since=" + page.seq);
    page.stream = stream;
    stream.addEventListener("error", () => {
        if (stream.readyState === EventSource.CLOSED && page.stream === stream) page.stream = null;
    });
    stream.addEventListener("change", (event) => {
        showLive(JSON.parse(event.data));
        setTimeout(() => page.wake(), KEPT_MS); /* freshness moved with it */
    });
}

/* A browser opens six connections to one server: pages that nobody looks at must not hold them. */
function hush() {
    if (!document.hidden || !page.stream) return;
    page.stream.close();
    page.stream = null;
}

function downText(error) {
    const since = page.shownAt
        ? " What you see is from " + page.shownAt.toISOString().slice(11, 16) + " UTC."
        : "";
    return "The server cannot be reached at the moment (" + error.message + ")." + since +
        " Trying again by itself.";
}

/* Ends after ms, or when somebody looks at the page again. */
function rest(ms) {
    return new Promise((resolve) => {
        const timer = setTimeout(end, ms);
        page.wake = end;
        function look() {
            if (!document.hidden) end();
        }
        function end() {
            clearTimeout(timer);
            document.removeEventListener("visibilitychange", look);
            page.wake = () => {};
            resolve();
        }
        document.addEventListener("visibilitychange", look);
    });
}

async function run() {
    let pause = PAUSE_MS;
    for (;;) {
        try {
            await refresh();
            pause = document.hidden ? PAUSE_MS * 6 : PAUSE_MS;
        } catch (error) {
            say(downText(error), true);
            pause = Math.min(pause * 2, PAUSE_MAX_MS);
        }
        await rest(pause);
        listen();
    }
}

page.older.addEventListener("click", showOlder);
document.addEventListener("visibilitychange", hush);
run();

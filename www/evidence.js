/* What stands behind one change: what moved and where, how to check it, how to use it, how to take it back.
 *
 * 1. Text from the server is only ever set as text, never as markup.
 * 2. A delta may be large, so it is read when somebody asks for it.
 * 3. The map is drawn of boxes that the delta shows, needs nothing from elsewhere, and says in words what it
 *    draws: kinds differ by the dash of their line, not by colour alone.
 * Loaded after dom.js and before app.js, which calls evidenceOf().
 */
"use strict";

const VERDICTS = {
    none: "The same features, fields and coordinates.",
    attributes_only: "Attributes changed, no shape did.",
    reformatted: "The same features, told otherwise.",
    redigitised: "Borders were redrawn; nothing was gained or lost.",
    local: "Places changed.",
    replaced: "Most of it was replaced.",
};
const MOVES = ["added", "modified", "removed"];
const MAP_WIDTH = 320; /* units of the drawing; it scales with the page */
const MAP_HEIGHT_MAX = 240;
const MAP_BOXES_MAX = 200; /* more are a dark blot */
const MARK_MIN = 5; /* what is smaller is drawn as large as this */

/* "Places changed. Gained 12.500 km², lost none; borders moved by up to 340 m." */
function verdictText(delta) {
    const totals = delta.totals || {};
    const parts = [];
    const km2 = (n) => (n > 0 ? n.toFixed(3) + " km²" : "none");
    if (typeof totals.area_gained_km2 === "number" && typeof totals.area_lost_km2 === "number")
        parts.push("gained " + km2(totals.area_gained_km2) + ", lost " + km2(totals.area_lost_km2));
    if (totals.moved_m > 0) parts.push("borders moved by up to " + Math.round(totals.moved_m) + " m");
    const verdict = VERDICTS[delta.verdict] || "No verdict: there was nothing to compare with.";
    const rest = parts.join("; ");
    return verdict + (rest ? " " + rest[0].toUpperCase() + rest.slice(1) + "." : "");
}

/* ---- the map ---- */

const isBox = (b) => Array.isArray(b) && b.length === 4 && b.every(Number.isFinite) && b[0] <= b[2];

/* { kind, box, key } of what the delta lists. */
function placesOf(delta) {
    const places = [];
    for (const kind of MOVES)
        for (const f of (delta.features && delta.features[kind]) || [])
            if (isBox(f.bbox)) places.push({ kind, box: f.bbox, key: f.key });
    return places.slice(0, MAP_BOXES_MAX);
}

function drawn(tag, attributes) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
}

/* Degrees to units; a degree of longitude is narrower away from the equator. */
function projection(whole) {
    const squeeze = Math.max(0.2, Math.cos(((whole[1] + whole[3]) / 2) * Math.PI / 180));
    const width = Math.max((whole[2] - whole[0]) * squeeze, 1e-6), height = Math.max(whole[3] - whole[1], 1e-6);
    const scale = Math.min(MAP_WIDTH / width, MAP_HEIGHT_MAX / height);
    return {
        width: width * scale, height: height * scale,
        x: (lon) => (lon - whole[0]) * squeeze * scale, y: (lat) => (whole[3] - lat) * scale,
    };
}

function rectOf(p, box, kind) {
    const x = p.x(box[0]), y = p.y(box[3]), w = p.x(box[2]) - x, h = p.y(box[1]) - y;
    const width = Math.max(w, MARK_MIN), height = Math.max(h, MARK_MIN);
    return drawn("rect", { class: kind, x: x - (width - w) / 2, y: y - (height - h) / 2, width, height });
}

const degrees = (v, plus, minus) => Math.abs(v).toFixed(2) + "° " + (v < 0 ? minus : plus);

function mapOf(delta, whole) {
    const places = placesOf(delta);
    if (!isBox(whole) || places.length === 0) return null;
    const p = projection(whole);
    const counts = MOVES.map((k) => [k, places.filter((f) => f.kind === k).length]).filter(([, n]) => n > 0);
    const words = counts.map(([k, n]) => n + " " + k).join(", ");
    const svg = drawn("svg", {
        viewBox: [-4, -4, p.width + 8, p.height + 8].join(" "), class: "map", role: "img",
        "aria-label": "Where it changed: " + words + ", within the whole dataset",
    });
    svg.append(rectOf(p, whole, "whole"));
    for (const place of places) {
        const rect = rectOf(p, place.box, place.kind);
        const title = drawn("title", {});
        title.textContent = place.kind + (place.key ? ": " + place.key : "");
        rect.append(title);
        svg.append(rect);
    }
    const figure = element("figure");
    figure.append(svg, element("figcaption", "Drawn as boxes: " + words + ". The frame is the whole dataset, from " +
        degrees(whole[0], "E", "W") + ", " + degrees(whole[1], "N", "S") + " to " + degrees(whole[2], "E", "W") +
        ", " + degrees(whole[3], "N", "S") + "."));
    return figure;
}

/* ---- what moved, and where ---- */

function movedBox(entry) {
    const counts = (entry.qa_summary && entry.qa_summary.features) || {};
    if (!MOVES.some((k) => typeof counts[k] === "number") || entry.change_type === "new" || !/^(https?:\/\/|\/)/.test(entry.delta_manifest_ref || "")) return null;
    const box = element("details", null, { class: "facts" });
    const text = element("p", "Reading…");
    box.append(element("summary", "What moved, and where"), text);
    box.addEventListener("toggle", async () => {
        try {
            const answer = await fetch(entry.delta_manifest_ref);
            if (!answer.ok) throw new Error("the server answered " + answer.status);
            const delta = await answer.json();
            text.textContent = verdictText(delta);
            const map = mapOf(delta, entry.bbox);
            if (map) box.append(map);
        } catch {
            text.textContent = "It cannot be read now.";
        }
    }, { once: true });
    return box;
}

/* ---- check, use, take back ---- */

function step(list, name, words, line) {
    list.append(element("dt", name));
    const about = element("dd", words);
    if (line) {
        const pre = element("pre", null, { tabindex: "0" });
        pre.append(element("code", line));
        about.append(pre);
    }
    list.append(about);
}

function actsBox(entry, assetPath) {
    const box = element("details", null, { class: "facts" }), list = element("dl"), origin = location.origin;
    const id = encodeURIComponent(entry.source_id);
    if (assetPath)
        step(list, "Check it", "The bytes must hash to the digest that the entry, the item and the provenance name:",
            "curl -s " + origin + assetPath + " | sha256sum\n" + entry.object_identity.sha256);
    step(list, "Use it", "In a story or on a map, a badge that follows the data and leads to the evidence:",
        "<a href=\"" + origin + "/changes/" + entry.change_event_id + "\"><img src=\"" + origin + "/badges/" + id +
        ".svg\" alt=\"Freshness of " + id + "\"></a>");
    const back = entry.rollback_ref;
    if (back && back.body && back.body.delta)
        step(list, "Take it back", "An operator can: what was before becomes the newest version again, and nothing " +
            "is lost. Over HTTP it takes a token of scope rollback.", "freshet rollback " + back.body.delta + " --reason '…'");
    const names = [...list.querySelectorAll("dt")].map((dt) => dt.textContent).join(", ").toLowerCase();
    box.append(element("summary", names[0].toUpperCase() + names.slice(1)), list);
    return box;
}

/* What goes below a change; asset: address of its bytes, null where they are not public. */
function evidenceOf(entry, asset) {
    return [movedBox(entry), actsBox(entry, asset)].filter(Boolean);
}

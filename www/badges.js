/* Fills the page about badges: the choice from /freshness, and the lines to copy.
 *
 * 1. Text from the server is only ever set as text, never as markup; ids are checked before they become
 *    a part of an address or of a line to copy.
 */
"use strict";

const SAFE = /^[a-z0-9_-]+$/;

const at = (id) => document.getElementById(id);

function escaped(text) {
    return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
}

function show() {
    const what = at("what").selectedOptions[0];
    const size = at("size").value;
    const name = what.value === "all" ? "all sources" : what.dataset.title || what.value;
    const path = "/badges/" + what.value + ".svg" + (size === "s" ? "" : "?size=" + size);
    const image = location.origin + path;
    const target = location.origin + what.dataset.about;
    const alt = "Freshness of " + name;
    at("preview").src = path;
    at("preview").alt = alt;
    at("html").textContent =
        '<a href="' + escaped(target) + '"><img src="' + escaped(image) + '" alt="' + escaped(alt) + '"></a>';
    at("markdown").textContent =
        "[![" + alt.replace(/[[\]\\]/g, "\\$&") + "](" + image + ")](" + target + ")";
    at("shields").textContent = "https://img.shields.io/endpoint?url=" +
        encodeURIComponent(location.origin + "/badges/" + what.value + ".json");
}

function option(value, text, about, title) {
    const node = document.createElement("option");
    node.value = value;
    node.textContent = text;
    node.dataset.about = about;
    if (title) node.dataset.title = title;
    return node;
}

async function fill() {
    const answer = await fetch("/freshness?limit=1000");
    if (!answer.ok) throw new Error("status " + answer.status);
    const rows = (await answer.json()).results.filter((row) => SAFE.test(row.source_id));
    const collections = [...new Set(rows.map((row) => row.collection))].filter((id) => SAFE.test(id)).sort();
    for (const id of collections)
        at("what").append(option("collections/" + id, "collection " + id, "/freshness?collection=" + id, "collection " + id));
    for (const row of rows)
        at("what").append(option(row.source_id, row.title || row.source_id, "/freshness/" + row.source_id, row.title));
}

at("what").firstElementChild.dataset.about = "/freshness";
at("choice").addEventListener("change", show);
at("choice").addEventListener("submit", (event) => event.preventDefault());
show();
fill().catch((error) => {
    at("status").textContent = "The list of sources could not be read (" + error.message + "). Try again later.";
});

/* docs: the reference page, made from /openapi.json. Everything is put in as text, nothing as markup.
 * Loaded after dom.js. */
"use strict";

const METHODS = ["get", "head", "options", "post", "put", "patch", "delete"];

/* A text whose parts between backquotes are code. */
function prose(name, text, attributes) {
    const e = element(name, undefined, attributes);
    (text || "").split("`").forEach((part, i, all) => {
        const last = i === all.length - 1;
        if (i % 2 === 1 && !last) e.append(element("code", part));
        else if (part) e.append(i % 2 === 1 ? "`" + part : part); /* one alone stays as it is */
    });
    return e;
}

/* What a $ref points to; the description refers to nothing outside of itself. */
function resolve(doc, part) {
    while (part && part.$ref) {
        part = part.$ref.slice(2).split("/").reduce((at, name) => at && at[name], doc);
    }
    return part || {};
}

function idOf(text) {
    return text.replace(/[^a-z0-9]+/gi, "-").toLowerCase();
}

/* A schema in words: "integer, 1 to 1000, default 10". */
function words(schema) {
    const parts = [];
    if (schema.enum) parts.push("one of " + schema.enum.join(", "));
    else if (schema.type) parts.push([].concat(schema.type).join(" or "));
    if (schema.minimum !== undefined && schema.maximum !== undefined) {
        parts.push(schema.minimum + " to " + schema.maximum);
    }
    if (schema.default !== undefined) parts.push("default " + schema.default);
    if (schema.pattern) parts.push("like " + schema.pattern);
    return parts.join(", ");
}

function table(caption, heads, rows) {
    const t = element("table");
    t.append(element("caption", caption));
    const head = element("tr");
    for (const h of heads) head.append(element("th", h, { scope: "col" }));
    t.append(head);
    for (const cells of rows) {
        const row = element("tr");
        cells.forEach((cell, i) => {
            const c = i === 0 ? element("th", undefined, { scope: "row" }) : element("td");
            c.append(cell);
            row.append(c);
        });
        t.append(row);
    }
    return t;
}

/* A link to a schema further down; what is no JSON, or has no schema, says so. */
function schemaLink(schema) {
    if (!schema) return document.createTextNode("any content");
    const of = schema.$ref || (schema["x-line"] && schema["x-line"].$ref);
    if (!of) return document.createTextNode("text or bytes");
    const name = of.split("/").pop();
    const a = element("a", name, { href: "#schema-" + idOf(name) });
    const box = element("span");
    box.append(a, schema["x-line"] ? " on each line" : "");
    return box;
}

function parameters(doc, list) {
    return table("Parameters", ["name", "where", "what", "values"], list.map((p) => {
        const one = resolve(doc, p);
        return [element("code", one.name), one.in + (one.required ? ", needed" : ""), prose("span", one.description),
            words(one.schema || {})];
    }));
}

function answers(doc, responses) {
    const rows = [];
    for (const [status, answer] of Object.entries(responses)) {
        const one = resolve(doc, answer);
        const kinds = Object.entries(one.content || {});
        if (kinds.length === 0) rows.push([status, prose("span", one.description), "", ""]);
        for (const [type, media] of kinds) rows.push([status, prose("span", one.description), type, schemaLink(media.schema)]);
    }
    return table("Answers", ["status", "what", "type", "schema"], rows);
}

/* What to send: its schema, or in words what it is. */
function request(body) {
    const [type, media] = Object.entries(body.content || {})[0] || ["*/*", {}];
    const p = element("p", "Send " + (type === "application/json" ? "JSON" : type) + ": ");
    p.append(media.schema ? schemaLink(media.schema) : body.description || "any content");
    return p;
}

/* One operation that this page cannot read is no reason to show none. */
function operation(doc, path, method, op) {
    const s = element("section", undefined, { class: "address", id: op.operationId });
    try {
        fillOperation(s, doc, path, method, op);
    } catch (e) {
        s.append(element("p", "This part cannot be shown: " + e.message, { class: "hint" }));
    }
    return s;
}

function fillOperation(s, doc, path, method, op) {
    const h = element("h3");
    h.append(element("span", method.toUpperCase(), { class: "method" }), " ", element("code", path));
    s.append(h, prose("p", op.summary));
    for (const need of op.security || []) {
        for (const scopes of Object.values(need)) s.append(element("p", "Needs a token with the scope " + scopes.join(", "), { class: "hint" }));
    }
    const details = element("details");
    details.append(element("summary", "Parameters and answers"));
    s.append(details);
    if (op.parameters.length > 0) details.append(parameters(doc, op.parameters));
    if (op.requestBody) details.append(request(resolve(doc, op.requestBody)));
    details.append(answers(doc, op.responses));
}

function group(doc, tag) {
    const s = element("section", undefined, { id: "group-" + idOf(tag.name) });
    s.append(element("h2", tag.name), prose("p", tag.description, { class: "hint" }));
    for (const [path, methods] of Object.entries(doc.paths)) {
        for (const method of METHODS) {
            const op = methods[method];
            if (op && op.tags.includes(tag.name)) s.append(operation(doc, path, method, op));
        }
    }
    return s;
}

function schemas(doc) {
    const s = element("section", undefined, { id: "schemas" });
    s.append(element("h2", "Schemas"), element("p", "JSON Schema of what is sent and answered.", { class: "hint" }));
    for (const [name, schema] of Object.entries(doc.components.schemas)) {
        const d = element("details", undefined, { id: "schema-" + idOf(name) });
        d.append(prose("summary", name + ": " + (schema.description || schema.title || "")),
            element("pre", JSON.stringify(schema, null, 2), { tabindex: "0" }));
        s.append(d);
    }
    return s;
}

function show(doc) {
    const main = document.getElementById("addresses");
    const groups = document.getElementById("groups");
    main.replaceChildren(prose("p", doc.info.description));
    for (const tag of doc.tags) {
        const s = group(doc, tag);
        if (!s.querySelector(".address")) continue;
        main.append(s);
        const li = element("li");
        li.append(element("a", tag.name, { href: "#" + s.id }));
        groups.append(li);
    }
    main.append(schemas(doc));
    const li = element("li");
    li.append(element("a", "schemas", { href: "#schemas" }));
    groups.append(li);
}

/* A schema that a link leads to is opened. */
function open() {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
}

async function start() {
    try {
        const answer = await fetch("/openapi.json");
        if (!answer.ok) throw new Error("/openapi.json answers " + answer.status);
        show(await answer.json());
        open();
    } catch (e) {
        const trouble = document.getElementById("trouble");
        trouble.textContent = "The reference cannot be shown: " + e.message;
        trouble.hidden = false;
        document.getElementById("addresses").replaceChildren();
    }
}

window.addEventListener("hashchange", open);
start();

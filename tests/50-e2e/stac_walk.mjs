// Walks a STAC API with stac-js, the client library of STAC Browser: node stac_walk.mjs URL
// Finds its way by the library's idea of the links alone. Prints the items met by POST search, by the items of
// each collection, and by the browsable tree, and how often an item's own address gave another item.
import { createRequire } from 'module';
import { pathToFileURL } from 'url';
const require = createRequire(process.env.NODE_MODULES + '/../package.json');
const { default: create } = await import(pathToFileURL(require.resolve('stac-js')));

async function ask(link) {
    const post = link.method === 'POST';
    const answer = await fetch(link.href, post
        ? { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(link.body || { limit: 7 }) }
        : {});
    if (!answer.ok) throw new Error(`${link.href}: ${answer.status}`);
    const found = create(await answer.json());
    found.setAbsoluteUrl(link.href);
    return found;
}
// Every page from a link on.
async function pages(link) {
    const all = [];
    for (let next = link; next;) {
        const page = await ask(next);
        all.push(...page.getAll());
        next = page.getPaginationLinks().next;
    }
    return all;
}
async function tree(node) {
    const below = [];
    for (const link of node.getChildLinks()) below.push(...(await tree(await ask(link))));
    for (const link of node.getItemLinks()) below.push(await ask(link));
    return below;
}

const root = await ask({ href: process.argv[2] });
const searched = await pages(root.getSearchLink('POST'));
const listed = [];
for (const collection of await pages(root.getApiCollectionsLink()))
    listed.push(...(await pages(collection.getApiItemsLink())));
const browsed = await tree(root);
let strangers = 0;
for (const item of searched) {
    const self = await ask(item.getLinkWithRel('self'));
    if (!self.isItem || self.id !== item.id || self.getAssets().length !== item.getAssets().length) strangers++;
}
const ids = (items) => new Set(items.map((item) => item.id)).size;
console.log(ids(searched), ids(listed), ids(browsed), strangers);

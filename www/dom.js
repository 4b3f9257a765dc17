/* What the scripts of all pages share. Loaded before them.
 *
 * 1. Text is only ever set as text, never as markup.
 */
"use strict";

/* <tag name="value">text</tag>; without text (undefined, null) it is empty. */
function element(tag, text, attributes) {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    return node;
}

/* manifest_markup: a pull scanner for the little of XML and HTML that listings are written
 * in. Pure.
 *
 * It knows tags, attributes, text, comments, CDATA and references to characters. It knows no
 * document types, no entities of their own and nothing external; it takes no memory and never
 * recurses, so a hostile page costs its length and no more. Called by the readers of pages only.
 *
 * Invariants
 *   1. Every token is a part of the text; each call moves on, so the scan ends.
 *   2. As XML, what is not well-formed, or declares a document type, is MARKUP_BROKEN; as HTML only
 *      a tag or an aside without an end is. Other slips of HTML are text; what stands in script and
 *      style is skipped.
 */
#ifndef FRESHET_DETECTORS_MANIFEST_MARKUP_H
#define FRESHET_DETECTORS_MANIFEST_MARKUP_H

#include "core/arena.h"

struct markup {
    struct str rest;
    bool html;
};

enum markup_kind { MARKUP_END, MARKUP_OPEN, MARKUP_CLOSE, MARKUP_TEXT, MARKUP_BROKEN };
struct markup_token {
    enum markup_kind kind;
    struct str name;  /* of a tag; as XML without the prefix of its namespace */
    struct str attrs; /* of an opening tag, raw */
    bool empty;       /* <name/>: no closing tag follows */
    struct str text;  /* raw */
    bool cdata;       /* the text holds no references */
};

void markup_open(struct markup *m, struct str text, bool html);
struct markup_token markup_next(struct markup *m);
/* The raw value of an attribute, names without regard to case. */
bool markup_attr(struct str attrs, const char *name, struct str *ret);
/* Text with its references replaced, NUL-terminated, never longer than raw. As HTML unknown ones
 * stay as they are; as XML they are RC_INVALID, as are NUL bytes always. */
MUST_CHECK enum rc markup_text(struct arena *a, struct str raw, bool html, const char **ret,
                               struct err *err);

#endif

/* validate_internal: what validate.c shows to the rules, and the rules it finds in rules.def: those
 * over bytes are in rules_bytes.c, those over an inspection in rules_inspection.c. Nobody else
 * includes it. */
#ifndef FRESHET_HANDLER_VALIDATE_INTERNAL_H
#define FRESHET_HANDLER_VALIDATE_INTERNAL_H

#include "handler/validate.h"

enum kind {
    KIND_any,
#define X(name, type, types, endings) KIND_##name,
#include "handler/kinds.def"
#undef X
    KIND_COUNT
};

/* What the rules look at. */
struct view {
    const struct expectation *expect;
    int64_t size;
    struct str head, tail;
    enum kind kind; /* expected */
    bool parsed, parse_failed;
    yyjson_val *root;                   /* when parsed */
    const struct summary *now, *before; /* before NULL: no head */
};

/* Each returns NULL, or why the bytes break the rule: a literal that quotes no data. */
#define X(name, applies, verdict, reason, help) const char *rule_##name(const struct view *v);
#include "handler/rules.def"
#undef X

bool rule_in_degrees(const struct summary *s);
/* The inspector could not read it, and has said why: rules that would guess at the reason
 * are silent. */
bool rule_unread(const struct summary *s);

#endif

/* conf: the settings of an instance, from one table (settings.def).
 *
 * Invariants
 *   1. A struct conf is complete: every value is in its bounds, defaults filled in.
 *   2. Unknown names and values out of bounds are errors that name the setting and the bounds.
 */
#ifndef FRESHET_CORE_CONF_H
#define FRESHET_CORE_CONF_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/rc.h"

struct conf_list {
    const char **items;
    size_t n;
};

struct conf {
#define SETTING_INT(name, def, min, max, help) int64_t name;
#define SETTING_STR(name, def, help) const char *name;
#define SETTING_LIST(name, help) struct conf_list name;
#include "core/settings.def"
#undef SETTING_INT
#undef SETTING_STR
#undef SETTING_LIST
};

/* Defaults only. */
void conf_defaults(struct conf *c);
/* Reads a freshet.json (JSON with comments) over the defaults. Strings live in the arena. */
MUST_CHECK enum rc conf_load(struct arena *a, const char *path, struct conf *ret, struct err *err);
/* Writes the commented sample: every setting, its help, bounds and default. */
void conf_sample(struct buf *out);
/* One row per setting for `config list`: name, value, default, help. */
typedef void conf_row_fn(void *ctx, const char *name, const char *value, const char *def,
                         const char *help);
MUST_CHECK enum rc conf_each(struct arena *a, const struct conf *c, conf_row_fn *fn, void *ctx);
/* Value of one setting as JSON text, RC_NOT_FOUND for an unknown name. */
MUST_CHECK enum rc conf_get(struct arena *a, const struct conf *c, const char *name,
                            const char **ret, struct err *err);
/* Sets one value in the file: value is JSON or a bare word; checks it first; other settings and
 * comments of the file stay as they are. */
MUST_CHECK enum rc conf_set_file(const char *path, const char *name, const char *value,
                                 struct err *err);

#endif

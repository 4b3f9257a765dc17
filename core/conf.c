/* conf: settings.def as a table; reading, showing and changing settings by it.
 *
 * Invariants
 *   1. What conf_load gives was checked against the table, every value; nothing else fills a conf.
 *   2. A setting named twice, unknown, or out of bounds is an error that names it.
 *   3. conf_set_file writes only a text that conf_load accepts.
 * Called by main files and cli. */
#include "core/conf.h"

#include "core/conf_edit.h"
#include "core/file.h"
#include "core/json.h"
#include "core/log.h"

#define FILE_MAX (1u << 20) /* all settings with long comments are a hundredth of it */
#define TEXT_MAX 1024       /* bytes of one text value */
#define LIST_MAX 1000       /* items of a list */
#define SHOWN_MAX 63        /* bytes of a name that there is not */

enum kind { KIND_INT, KIND_STR, KIND_LIST };

struct setting {
    const char *name, *help;
    enum kind kind;
    size_t at; /* in struct conf */
    int64_t def, min, max;
    const char *def_text;
};

static const struct setting settings[] = {
#define SETTING_INT(name, def, min, max, help)                                                     \
    {#name, help, KIND_INT, offsetof(struct conf, name), def, min, max, NULL},
#define SETTING_STR(name, def, help)                                                               \
    {#name, help, KIND_STR, offsetof(struct conf, name), 0, 0, 0, def},
#define SETTING_LIST(name, help)                                                                   \
    {#name, help, KIND_LIST, offsetof(struct conf, name), 0, 0, 0, NULL},
#include "core/settings.def"
#undef SETTING_INT
#undef SETTING_STR
#undef SETTING_LIST
};

/* ---- fields by table ------------------------------------------------------------------------- */

static void *field(struct conf *c, const struct setting *s)
{
    return (char *)c + s->at;
}

static const void *field_of(const struct conf *c, const struct setting *s)
{
    return (const char *)c + s->at;
}

void conf_defaults(struct conf *c)
{
    *c = (struct conf){0};
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const struct setting *s = &settings[i];
        if (s->kind == KIND_INT)
            *(int64_t *)field(c, s) = s->def;
        if (s->kind == KIND_STR)
            *(const char **)field(c, s) = s->def_text;
    }
}

static const struct setting *find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if (str_is(name, settings[i].name))
            return &settings[i];
    return NULL;
}

/* ---- hints ----------------------------------------------------------------------------------- */

static enum rc unknown(struct str name, enum rc rc, struct err *err)
{
    const char *names[ARRAY_LEN(settings)];
    char shown[SHOWN_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        names[i] = settings[i].name;
    bool fit = str_is_clean(name) && str_is_utf8(name);
    snprintf(shown, sizeof shown, "%.*s", fit ? (int)str_cut(name, SHOWN_MAX).n : 0, name.p);
    const char *hint = str_nearest(name, names, ARRAY_LEN(names));
    if (hint)
        return err_set(err, rc, shown, "there is no such setting; did you mean %s?", hint);
    return err_set(err, rc, shown, "there is no such setting; `config list` shows all");
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum rc check_log_level(const char *v, struct err *err)
{
    enum log_level ignored;
    if (log_level_parse(v, &ignored))
        return RC_OK;
    return err_set(err, RC_INVALID, "log_level", "must be debug, info, warn or error");
}

/* Links are base + "/path". */
static enum rc check_base_url(const char *v, struct err *err)
{
    struct str s = str_of(v);
    bool web = str_starts(s, STR("http://")) || str_starts(s, STR("https://"));
    if (s.n == 0 || (web && !str_ends(s, STR("/")) && !strpbrk(v, " \"<>\\?#")))
        return RC_OK;
    return err_set(err, RC_INVALID, "public_base_url",
                   "must be empty, or begin with http:// or https:// and not end with /");
}

/* Texts whose bounds are more than a length. */
static const struct {
    const char *name;
    enum rc (*check)(const char *v, struct err *err);
} text_checks[] = {{"log_level", check_log_level}, {"public_base_url", check_base_url}};

static enum rc read_text(const struct setting *s, yyjson_val *root, struct conf *c, struct err *err)
{
    const char *v = s->def_text;
    enum rc rc = json_get_str(root, s->name, &v, err);
    if (rc == RC_OK && strlen(v) > TEXT_MAX)
        rc = err_set(err, RC_INVALID, s->name, "must not be longer than %d bytes", TEXT_MAX);
    for (size_t i = 0; rc == RC_OK && i < ARRAY_LEN(text_checks); i++)
        if (strcmp(text_checks[i].name, s->name) == 0)
            rc = text_checks[i].check(v, err);
    if (rc == RC_OK)
        *(const char **)field(c, s) = v;
    return rc;
}

static bool fit_item(yyjson_val *v)
{
    struct str s = {yyjson_get_str(v), yyjson_get_len(v)};
    return yyjson_is_str(v) && s.n > 0 && s.n <= TEXT_MAX && str_is_clean(s);
}

static enum rc read_list(struct arena *a, const struct setting *s, yyjson_val *root, struct conf *c,
                         struct err *err)
{
    yyjson_val *list = yyjson_obj_get(root, s->name), *item;
    size_t i, n = yyjson_arr_size(list);
    if (!list || yyjson_is_null(list))
        return RC_OK;
    if (!yyjson_is_arr(list) || n > LIST_MAX)
        return err_set(err, RC_INVALID, s->name, "must be an array of at most %d strings",
                       LIST_MAX);
    const char **items = arena_alloc(a, n * sizeof *items);
    if (!items)
        return err_set(err, RC_NOMEM, s->name, "the list does not fit into the memory limit");
    yyjson_arr_foreach(list, i, n, item)
    {
        if (!fit_item(item))
            return err_set(err, RC_INVALID, s->name,
                           "item %zu must be a string of 1 to %d bytes without control characters",
                           i + 1, TEXT_MAX);
        items[i] = yyjson_get_str(item);
    }
    *(struct conf_list *)field(c, s) = (struct conf_list){items, n};
    return RC_OK;
}

static enum rc read_setting(struct arena *a, const struct setting *s, yyjson_val *root,
                            struct conf *c, struct err *err)
{
    switch (s->kind) {
    case KIND_INT: return json_get_i64(root, s->name, s->min, s->max, field(c, s), err);
    case KIND_STR: return read_text(s, root, c, err);
    case KIND_LIST: return read_list(a, s, root, c, err);
    }
    return RC_OK;
}

/* Every name is known and there once. */
static enum rc check_names(yyjson_val *root, struct err *err)
{
    bool seen[ARRAY_LEN(settings)] = {false};
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(root, i, n, key, value)
    {
        struct str name = {yyjson_get_str(key), yyjson_get_len(key)};
        const struct setting *s = find(name);
        if (!s)
            return unknown(name, RC_INVALID, err);
        if (seen[s - settings])
            return err_set(err, RC_INVALID, s->name, "is given twice");
        seen[s - settings] = true;
    }
    return RC_OK;
}

static enum rc load_text(struct arena *a, struct str text, const char *what, struct conf *ret,
                         struct err *err)
{
    struct conf c;
    yyjson_val *root;
    enum rc rc = json_parse(a, text, JSON_RELAXED, what, &root, err);
    if (rc != RC_OK)
        return rc;
    if (!yyjson_is_obj(root))
        return err_set(err, RC_INVALID, "", "%s must hold one object, { ... }", what);
    conf_defaults(&c);
    rc = check_names(root, err);
    for (size_t i = 0; rc == RC_OK && i < ARRAY_LEN(settings); i++)
        rc = read_setting(a, &settings[i], root, &c, err);
    if (rc == RC_OK)
        *ret = c;
    return rc;
}

enum rc conf_load(struct arena *a, const char *path, struct conf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    buf_init(&text, FILE_MAX);
    enum rc rc = file_read(path, &text, err);
    return rc == RC_OK ? load_text(a, buf_view(&text), path, ret, err) : rc;
}

/* ---- showing --------------------------------------------------------------------------------- */

static void put_list(struct buf *out, const struct conf_list *list)
{
    buf_byte(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        buf_puts(out, i ? ", " : "");
        json_put_str(out, str_of(list->items[i]));
    }
    buf_byte(out, ']');
}

static void put_value(struct buf *out, const struct conf *c, const struct setting *s)
{
    const void *v = field_of(c, s);
    switch (s->kind) {
    case KIND_INT: buf_printf(out, "%lld", (long long)*(const int64_t *)v); break;
    case KIND_STR: json_put_str(out, str_of(*(const char *const *)v)); break;
    case KIND_LIST: put_list(out, v); break;
    }
}

void conf_sample(struct buf *out)
{
    struct conf c;
    conf_defaults(&c);
    buf_puts(out, "// Settings of this instance: JSON, with comments and trailing commas.\n{\n");
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const struct setting *s = &settings[i];
        buf_printf(out, "%s    // %s\n    // ", i ? "\n" : "", s->help);
        if (s->kind == KIND_INT)
            buf_printf(out, "%lld to %lld, ", (long long)s->min, (long long)s->max);
        buf_puts(out, "default ");
        put_value(out, &c, s);
        buf_printf(out, "\n    \"%s\": ", s->name);
        put_value(out, &c, s);
        buf_puts(out, i + 1 < ARRAY_LEN(settings) ? ",\n" : "\n");
    }
    buf_puts(out, "}\n");
}

/* The value as JSON text on the arena, NULL when memory ran out. */
static const char *value_text(struct arena *a, const struct conf *c, const struct setting *s)
{
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, FILE_MAX);
    put_value(&b, c, s);
    return buf_rc(&b) == RC_OK ? arena_str(a, buf_view(&b)) : NULL;
}

enum rc conf_each(struct arena *a, const struct conf *c, conf_row_fn *fn, void *ctx)
{
    struct conf defaults;
    conf_defaults(&defaults);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const char *value = value_text(a, c, &settings[i]);
        const char *def = value_text(a, &defaults, &settings[i]);
        if (!value || !def)
            return RC_NOMEM;
        fn(ctx, settings[i].name, value, def, settings[i].help);
    }
    return RC_OK;
}

enum rc conf_get(struct arena *a, const struct conf *c, const char *name, const char **ret,
                 struct err *err)
{
    const struct setting *s = find(str_of(name));
    if (!s)
        return unknown(str_of(name), RC_NOT_FOUND, err);
    const char *text = value_text(a, c, s);
    if (!text)
        return err_set(err, RC_NOMEM, name, "the value does not fit into the memory limit");
    *ret = text;
    return RC_OK;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* "a, b" as ["a", "b"] */
static void put_words(struct buf *out, struct str words)
{
    struct str word;
    bool first = true;
    buf_byte(out, '[');
    while (str_next(&words, ',', &word)) {
        buf_puts(out, first ? "" : ",");
        json_put_str(out, str_trim(word));
        first = false;
    }
    buf_byte(out, ']');
}

/* What a person typed, as JSON of the kind of the setting. A word where a number belongs stays a
 * word, so that the check of the value names the bounds. */
static void put_typed(struct buf *out, const struct setting *s, struct str typed)
{
    int64_t number;
    bool is_json = (s->kind == KIND_INT && str_to_i64(typed, &number) == RC_OK) ||
                   (s->kind == KIND_STR && str_starts(typed, STR("\""))) ||
                   (s->kind == KIND_LIST && str_starts(typed, STR("[")));
    if (is_json)
        buf_str(out, typed);
    else if (s->kind == KIND_LIST)
        put_words(out, typed);
    else
        json_put_str(out, typed);
}

/* The typed value checked by itself and rendered anew, so that nothing but one value of the right
 * kind comes into the file. It is parsed once alone: put into an object, "a", "port": 1 would read
 * as two members. */
static enum rc checked_json(struct arena *a, const struct setting *s, const char *typed,
                            const char **ret, struct err *err)
{
    struct conf scratch;
    yyjson_val *alone;
    CLEANUP(buf_release) struct buf value = {0};
    CLEANUP(buf_release) struct buf doc = {0};
    buf_init(&value, FILE_MAX);
    buf_init(&doc, FILE_MAX);
    put_typed(&value, s, str_trim(str_of(typed)));
    buf_printf(&doc, "{\"%s\":", s->name);
    buf_str(&doc, buf_view(&value));
    buf_byte(&doc, '}');
    if (buf_rc(&value) != RC_OK || buf_rc(&doc) != RC_OK)
        return err_set(err, RC_TOO_LARGE, s->name, "the value is too long");
    enum rc rc = json_parse(a, buf_view(&value), 0, "the value", &alone, err);
    if (rc == RC_OK)
        rc = load_text(a, buf_view(&doc), "the value", &scratch, err);
    if (rc != RC_OK)
        return err_set(err, rc, s->name, "%s", err->msg);
    return conf_get(a, &scratch, s->name, ret, err);
}

static enum rc set_in_file(struct arena *a, const char *path, const struct setting *s,
                           const char *json, struct err *err)
{
    struct conf scratch;
    CLEANUP(buf_release) struct buf before = {0};
    CLEANUP(buf_release) struct buf after = {0};
    buf_init(&before, FILE_MAX);
    buf_init(&after, FILE_MAX);
    enum rc rc = file_read(path, &before, err);
    if (rc != RC_OK)
        return rc;
    rc = conf_edit(buf_view(&before), str_of(s->name), str_of(json), &after);
    if (rc != RC_OK)
        return err_set(err, rc, "", "%s must hold one object, { ... }, below %u bytes", path,
                       FILE_MAX);
    rc = load_text(a, buf_view(&after), path, &scratch, err);
    return rc == RC_OK ? file_replace(path, buf_view(&after), 0640, err) : rc;
}

enum rc conf_set_file(const char *path, const char *name, const char *value, struct err *err)
{
    const struct setting *s = find(str_of(name));
    const char *json;
    CLEANUP(arena_release) struct arena a = {0};
    arena_init(&a, 16 * (size_t)FILE_MAX);
    if (!s)
        return unknown(str_of(name), RC_NOT_FOUND, err);
    enum rc rc = checked_json(&a, s, value, &json, err);
    return rc == RC_OK ? set_in_file(&a, path, s, json, err) : rc;
}

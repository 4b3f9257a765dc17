/* spec: see spec.h. The table of fields is made from spec.def; parsing, merging and the help text
 * walk it and know no field by name, except `headers` and the four ways to give a body. */
#include "tests/upstream/spec.h"

#include "core/file.h"
#include "tests/upstream/generate.h"

#define HEADERS_MAX 256             /* lines; more are played with `endless` */
#define HOME_ARENA_MAX (256u << 20) /* texts of all scenarios and of all /control/set calls */
#define HOME_BODIES 200000          /* bodies of one load, and of the sets that follow it */

struct word {
    const char *name, *help;
};
#define WORD_ROW(id, name, help) {name, help},

enum kind { KIND_INT, KIND_TEXT, KIND_WORD, KIND_FLAG, KIND_OTHER };
struct field {
    const char *name;
    enum kind kind;
    size_t at, size;
    int64_t def, min, max;
    const char *def_text;
    const struct word *words;
    const char *help;
};

#define PLACE(name) offsetof(struct spec, name), sizeof((struct spec *)0)->name
/* Word lists need static storage, which compound literals have at file scope only. */
#define SPEC_INT(name, def, min, max, help)
#define SPEC_TEXT(name, def, help)
#define SPEC_FLAG(name, help)
#define SPEC_WORD(name, list, def, help)                                                           \
    static const struct word words_##name[] = {list(WORD_ROW){NULL, NULL}};
#include "tests/upstream/spec.def"
#undef SPEC_INT
#undef SPEC_TEXT
#undef SPEC_WORD
#undef SPEC_FLAG

static const struct field fields[SPEC_BIT_COUNT] = {
#define SPEC_INT(name, def, min, max, help)                                                        \
    {#name, KIND_INT, PLACE(name), def, min, max, "", NULL, help},
#define SPEC_TEXT(name, def, help) {#name, KIND_TEXT, PLACE(name), 0, 0, 0, def, NULL, help},
#define SPEC_WORD(name, list, def, help)                                                           \
    {#name, KIND_WORD, PLACE(name), def, 0, 0, "", words_##name, help},
#define SPEC_FLAG(name, help) {#name, KIND_FLAG, PLACE(name), 0, 0, 1, "", NULL, help},
#include "tests/upstream/spec.def"
#undef SPEC_INT
#undef SPEC_TEXT
#undef SPEC_WORD
#undef SPEC_FLAG
    {"headers", KIND_OTHER, PLACE(headers), 0, 0, 0, "", NULL, "header lines, verbatim, in order"},
    {"body", KIND_OTHER, PLACE(body), 0, 0, 0, "", NULL,
     "the body as text; or `body_hex`, `body_file` (beside the scenario), `generate`"},
};
_Static_assert(SPEC_BIT_COUNT <= 64, "the set mask has 64 bits");

static const char *const method_names[METHOD_OTHER] = {"GET", "HEAD", "POST"};

/* ---- home ---------------------------------------------------------------------------------- */

void spec_home_init(struct spec_home *h, const char *dir, int port, int tls_port)
{
    *h = (struct spec_home){.port = port, .tls_port = tls_port};
    arena_init(&h->arena, HOME_ARENA_MAX);
    snprintf(h->dir, sizeof h->dir, "%s", dir);
}

void spec_home_release(struct spec_home *h)
{
    for (size_t i = 0; i < h->n_bodies; i++)
        blob_drop(&h->bodies[i]);
    free(h->bodies);
    arena_release(&h->arena);
    *h = (struct spec_home){0};
}

enum rc spec_home_keep(struct spec_home *h, struct blob *b, struct err *err)
{
    if (!b)
        return err_set(err, RC_TOO_LARGE, "body", "a body may have at most %u bytes", BLOB_MAX);
    if (h->n_bodies == h->room) {
        size_t room = h->room ? h->room * 2 : 64;
        void *p = room <= HOME_BODIES * 2 ? realloc(h->bodies, room * sizeof(struct blob *)) : NULL;
        if (!p) {
            blob_drop(&b);
            return err_set(err, RC_NOMEM, "body", "too many bodies; use one scenario at a time");
        }
        h->bodies = p;
        h->room = room;
    }
    h->bodies[h->n_bodies++] = b;
    return RC_OK;
}

/* Appends s with every `mark` replaced by number. */
static void expand(struct buf *out, struct str s, const char *mark, int number)
{
    size_t n = strlen(mark);
    const char *hit;
    while (s.n && (hit = memmem(s.p, s.n, mark, n))) {
        buf_add(out, s.p, (size_t)(hit - s.p));
        buf_printf(out, "%d", number);
        s.n -= (size_t)(hit - s.p) + n;
        s.p = hit + n;
    }
    buf_str(out, s);
}

static void expand_all(const struct spec_home *h, struct str s, int year, struct buf *out)
{
    CLEANUP(buf_release) struct buf a = {0}, b = {0};
    buf_init(&a, BLOB_MAX);
    buf_init(&b, BLOB_MAX);
    expand(&a, s, "{port}", h->port);
    expand(&b, buf_view(&a), "{tls_port}", h->tls_port);
    if (year)
        expand(out, buf_view(&b), "{year}", year);
    else
        buf_str(out, buf_view(&b));
    if (out->rc == RC_OK)
        out->rc = a.rc != RC_OK ? a.rc : b.rc;
}

enum rc spec_home_text(struct spec_home *h, struct str s, struct str *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    buf_init(&text, BLOB_MAX);
    expand_all(h, s, 0, &text);
    char *p = buf_rc(&text) == RC_OK ? arena_str(&h->arena, buf_view(&text)) : NULL;
    if (!p)
        return err_set(err, RC_NOMEM, "", "the scenarios hold too much text");
    *ret = (struct str){p, text.len};
    return RC_OK;
}

/* ---- fields -------------------------------------------------------------------------------- */

static enum rc set_int(const struct field *f, yyjson_val *v, int64_t *to, struct err *err)
{
    int64_t n = yyjson_is_int(v) ? yyjson_get_sint(v) : 0;
    if (!yyjson_is_int(v) || n < f->min || n > f->max)
        return err_set(err, RC_INVALID, f->name, "must be a whole number from %lld to %lld",
                       (long long)f->min, (long long)f->max);
    *to = n;
    return RC_OK;
}

static void words_list(const struct field *f, char *out, size_t n)
{
    size_t at = 0;
    for (const struct word *w = f->words; w->name && at < n; w++)
        at += (size_t)snprintf(out + at, n - at, "%s%s", at ? ", " : "", w->name);
}

static enum rc set_word(const struct field *f, yyjson_val *v, int *to, struct err *err)
{
    for (int i = 0; yyjson_is_str(v) && f->words[i].name; i++) {
        if (str_is(json_text(v), f->words[i].name)) {
            *to = i;
            return RC_OK;
        }
    }
    char list[256];
    words_list(f, list, sizeof list);
    return err_set(err, RC_INVALID, f->name, "must be one of: %s", list);
}

static enum rc set_text(struct spec_home *h, const struct field *f, yyjson_val *v, struct str *to,
                        struct err *err)
{
    if (!yyjson_is_str(v))
        return err_set(err, RC_INVALID, f->name, "must be a text");
    return spec_home_text(h, json_text(v), to, err);
}

static enum rc set_headers(struct spec_home *h, yyjson_val *v, struct spec *to, struct err *err)
{
    size_t n = yyjson_arr_size(v), i, max;
    yyjson_val *line;
    if (!yyjson_is_arr(v) || n > HEADERS_MAX)
        return err_set(err, RC_INVALID, "headers", "must be at most %d header lines", HEADERS_MAX);
    struct str *lines = arena_alloc(&h->arena, (n + 1) * sizeof *lines);
    if (!lines)
        return err_set(err, RC_NOMEM, "headers", "the scenarios hold too much text");
    yyjson_arr_foreach(v, i, max, line)
    {
        if (!yyjson_is_str(line))
            return err_set(err, RC_INVALID, "headers", "must be texts such as \"X-Name: value\"");
        enum rc rc = spec_home_text(h, json_text(line), &lines[i], err);
        if (rc != RC_OK)
            return rc;
    }
    to->headers.lines = lines;
    to->headers.n = n;
    return RC_OK;
}

static enum rc set_field(struct spec_home *h, const struct field *f, yyjson_val *v, struct spec *to,
                         struct err *err)
{
    void *at = (char *)to + f->at;
    switch (f->kind) {
    case KIND_INT: return set_int(f, v, at, err);
    case KIND_WORD: return set_word(f, v, at, err);
    case KIND_TEXT: return set_text(h, f, v, at, err);
    case KIND_FLAG:
        if (!yyjson_is_bool(v))
            return err_set(err, RC_INVALID, f->name, "must be true or false");
        *(bool *)at = yyjson_get_bool(v);
        return RC_OK;
    case KIND_OTHER: break;
    }
    return set_headers(h, v, to, err); /* body is taken by set_body before */
}

/* ---- the four ways to give a body ---------------------------------------------------------- */

static enum rc body_text(struct spec_home *h, yyjson_val *v, int year, struct buf *out,
                         struct err *err)
{
    if (!yyjson_is_str(v))
        return err_set(err, RC_INVALID, "body", "must be a text");
    expand_all(h, json_text(v), year, out);
    return RC_OK;
}

static enum rc body_hex(yyjson_val *v, struct buf *out, struct err *err)
{
    struct str s = yyjson_is_str(v) ? json_text(v) : STR("x");
    for (size_t i = 0; i < s.n; i += 2) {
        char byte;
        struct str pair = {s.p + i, s.n - i < 2 ? 1 : 2};
        if (hex_decode(pair, &byte, 1) != RC_OK)
            return err_set(err, RC_INVALID, "body_hex", "must be pairs of hex digits");
        buf_byte(out, byte);
    }
    return RC_OK;
}

static enum rc body_file(struct spec_home *h, yyjson_val *v, struct buf *out, struct err *err)
{
    const char *name = yyjson_get_str(v);
    if (!name || !*name || *name == '/' || strstr(name, ".."))
        return err_set(err, RC_INVALID, "body_file", "must be a path below the scenario's folder");
    char path[1024];
    struct err inner;
    snprintf(path, sizeof path, "%s/%s", h->dir, name);
    if (file_read(path, out, &inner) != RC_OK)
        return err_set(err, RC_INVALID, "body_file", "%s: %s", path, inner.msg);
    return RC_OK;
}

static enum rc body_generate(yyjson_val *v, int year, struct buf *out, struct err *err)
{
    const char *kind = "";
    int64_t size = 1000, seed = 1;
    enum rc rc = yyjson_is_obj(v) ? RC_OK : RC_INVALID;
    if (rc != RC_OK)
        return err_set(err, rc, "generate", "must be an object {kind, size, seed}");
    if ((rc = json_get_str(v, "kind", &kind, err)) != RC_OK ||
        (rc = json_get_i64(v, "size", 0, BLOB_MAX, &size, err)) != RC_OK ||
        (rc = json_get_i64(v, "seed", 0, INT64_MAX, &seed, err)) != RC_OK)
        return rc;
    if (generate_body(kind, (size_t)size, (uint64_t)seed + (uint64_t)year, out) == RC_OK)
        return RC_OK;
    CLEANUP(buf_release) struct buf kinds = {0};
    buf_init(&kinds, 1024);
    generate_kinds(&kinds);
    return err_set(err, RC_INVALID, "generate", "kind must be one of: %.*s",
                   STR_FMT(buf_view(&kinds)));
}

/* *taken tells whether key was one of the four. */
static enum rc set_body(struct spec_home *h, struct str key, yyjson_val *v, int year,
                        struct spec *to, bool *taken, struct err *err)
{
    CLEANUP(buf_release) struct buf out = {0};
    buf_init(&out, BLOB_MAX);
    enum rc rc;
    *taken = true;
    if (str_is(key, "body"))
        rc = body_text(h, v, year, &out, err);
    else if (str_is(key, "body_hex"))
        rc = body_hex(v, &out, err);
    else if (str_is(key, "body_file"))
        rc = body_file(h, v, &out, err);
    else if (str_is(key, "generate"))
        rc = body_generate(v, year, &out, err);
    else
        return *taken = false, RC_OK;
    if (rc != RC_OK)
        return rc;
    struct blob *b = blob_of_buf(&out);
    if ((rc = spec_home_keep(h, b, err)) != RC_OK)
        return rc;
    to->body = b;
    to->set |= 1ull << SPEC_BIT_body;
    return RC_OK;
}

/* ---- layers -------------------------------------------------------------------------------- */

static bool listed(struct str key, const char *const *names)
{
    for (; *names; names++) {
        if (str_is(key, *names))
            return true;
    }
    return false;
}

static enum rc parse_key(struct spec_home *h, struct str key, yyjson_val *v, int year,
                         struct spec *to, struct err *err)
{
    bool taken;
    enum rc rc = set_body(h, key, v, year, to, &taken, err);
    if (rc != RC_OK || taken)
        return rc;
    for (size_t i = 0; i < SPEC_BIT_body; i++) {
        if (!str_is(key, fields[i].name))
            continue;
        rc = set_field(h, &fields[i], v, to, err);
        if (rc == RC_OK)
            to->set |= 1ull << i;
        return rc;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", STR_FMT(key));
    return err_set(err, RC_INVALID, name, "no such field; --fields lists them");
}

static enum rc spec_parse(struct spec_home *h, yyjson_val *obj, const char *const *others, int year,
                          struct spec *to, struct err *err)
{
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(obj, i, max, key, v)
    {
        if (listed(json_text(key), others))
            continue;
        enum rc rc = parse_key(h, json_text(key), v, year, to, err);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static enum rc parse_only(struct spec_home *h, yyjson_val *obj, int year, enum method m,
                          struct layer *to, struct err *err)
{
    static const char *const none[] = {NULL};
    yyjson_val *v = yyjson_obj_get(obj, method_names[m]);
    if (!v)
        return RC_OK;
    if (!yyjson_is_obj(v))
        return err_set(err, RC_INVALID, method_names[m], "must be an object of reply fields");
    if (!(to->only[m] = ARENA_NEW(&h->arena, struct spec)))
        return err_set(err, RC_NOMEM, method_names[m], "the scenarios hold too much text");
    return spec_parse(h, v, none, year, to->only[m], err);
}

enum rc layer_parse(struct spec_home *h, yyjson_val *obj, const char *const *others, int year,
                    struct layer *ret, struct err *err)
{
    struct layer l = {0};
    const char *keys[16] = {"GET", "HEAD", "POST"};
    size_t n = METHOD_OTHER;
    for (; others && *others && n + 1 < ARRAY_LEN(keys); others++)
        keys[n++] = *others;
    if (!yyjson_is_obj(obj))
        return err_set(err, RC_INVALID, "", "must be an object of reply fields");
    enum rc rc = spec_parse(h, obj, keys, year, &l.any, err);
    for (int m = 0; rc == RC_OK && m < METHOD_OTHER; m++)
        rc = parse_only(h, obj, year, (enum method)m, &l, err);
    if (rc == RC_OK)
        *ret = l;
    return rc;
}

const struct spec *spec_defaults(void)
{
    static const struct spec defaults = {
#define SPEC_INT(name, def, min, max, help) .name = def,
#define SPEC_TEXT(name, def, help) .name = {def, sizeof(def) - 1},
#define SPEC_WORD(name, list, def, help) .name = def,
#define SPEC_FLAG(name, help) .name = false,
#include "tests/upstream/spec.def"
#undef SPEC_INT
#undef SPEC_TEXT
#undef SPEC_WORD
#undef SPEC_FLAG
    };
    return &defaults;
}

/* An error or a redirect is no version: what lies below it does not shine through. */
static void cover_content(struct spec *base)
{
    base->set &= ~(1ull << SPEC_BIT_body | 1ull << SPEC_BIT_type | 1ull << SPEC_BIT_etag |
                   1ull << SPEC_BIT_etag_text | 1ull << SPEC_BIT_last_modified);
    base->body = NULL;
    base->etag_text = STR("");
}

void spec_merge(struct spec *base, const struct spec *over)
{
    if ((SPEC_HAS(over, status) && over->status >= 300) || SPEC_HAS(over, location))
        cover_content(base);
    for (uint64_t left = over->set; left; left &= left - 1) {
        const struct field *f = &fields[__builtin_ctzll(left)];
        memcpy((char *)base + f->at, (const char *)over + f->at, f->size);
    }
    base->set |= over->set;
}

void layer_merge(struct spec *base, const struct layer *over, enum method m)
{
    spec_merge(base, &over->any);
    if (m < METHOD_OTHER && over->only[m])
        spec_merge(base, over->only[m]);
}

/* ---- help ---------------------------------------------------------------------------------- */

static void help_values(struct buf *out, const struct field *f)
{
    switch (f->kind) {
    case KIND_INT:
        buf_printf(out, "%lld to %lld (%lld)", (long long)f->min, (long long)f->max,
                   (long long)f->def);
        break;
    case KIND_WORD:
        for (const struct word *w = f->words; w->name; w++)
            buf_printf(out, "%s`%s`%s: %s", w == f->words ? "" : "; ", w->name,
                       w - f->words == f->def ? " (default)" : "", w->help);
        break;
    case KIND_TEXT:
        buf_puts(out, "text");
        if (*f->def_text)
            buf_printf(out, " (`%s`)", f->def_text);
        break;
    case KIND_FLAG: buf_puts(out, "true or false (false)"); break;
    case KIND_OTHER: buf_puts(out, f->at == offsetof(struct spec, body) ? "text" : "texts"); break;
    }
}

void spec_help(struct buf *out)
{
    buf_puts(out, "| field | what | values (default) |\n|---|---|---|\n");
    for (size_t i = 0; i < SPEC_BIT_COUNT; i++) {
        buf_printf(out, "| `%s` | %s | ", fields[i].name, fields[i].help);
        help_values(out, &fields[i]);
        buf_puts(out, " |\n");
    }
}

/* inspect_attributes: writing values, sorting names. */
#include "handler/inspect_attributes.h"

#include "core/digest.h"
#include "handler/inspect.h"

#define INTEGER_EXACT 0x1p53

void attributes_init(struct attributes *a)
{
    *a = (struct attributes){0};
    buf_init(&a->text, ATTRIBUTES_MAX);
    buf_init(&a->out, ATTRIBUTES_MAX);
}

void attributes_clear(struct attributes *a)
{
    buf_clear(&a->text);
    buf_clear(&a->out);
    a->n = 0;
}

void attributes_release(struct attributes *a)
{
    buf_release(&a->text);
    buf_release(&a->out);
    free(a->list);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void begin(struct attributes *a, struct str name)
{
    if (a->n == a->room) {
        size_t room = a->room ? a->room * 2 : 32;
        struct attribute *more = realloc(a->list, room * sizeof *more);
        if (!more) {
            a->text.rc = RC_NOMEM;
            return;
        }
        a->list = more;
        a->room = room;
    }
    struct attribute *one = &a->list[a->n++];
    one->at = a->text.len;
    json_put_str(&a->text, name);
    one->name = a->text.len - one->at;
    buf_byte(&a->text, ':');
}

static void end(struct attributes *a)
{
    if (a->text.rc == RC_OK)
        a->list[a->n - 1].len = a->text.len - a->list[a->n - 1].at;
}

void attributes_raw(struct attributes *a, struct str name, struct str json)
{
    begin(a, name);
    buf_str(&a->text, json);
    end(a);
}

/* Text in a character set nobody could read still differs when its bytes do. */
static void put_hex(struct buf *out, struct str bytes)
{
    buf_puts(out, "\"\xef\xbf\xbd");
    for (size_t i = 0; i < bytes.n; i++)
        buf_printf(out, "%02x", (unsigned char)bytes.p[i]);
    buf_byte(out, '"');
}

void attributes_text(struct attributes *a, struct str name, struct str value)
{
    begin(a, name);
    if (str_is_utf8(value))
        json_put_str(&a->text, value);
    else
        put_hex(&a->text, value);
    end(a);
}

void attributes_number(struct attributes *a, struct str name, double v)
{
    char text[32];
    attributes_raw(a, name, json_number(v, text) ? str_of(text) : STR("\"NaN\""));
}

void attributes_integer(struct attributes *a, struct str name, int64_t v)
{
    char text[32];
    bool exact = (double)v > -INTEGER_EXACT && (double)v < INTEGER_EXACT;
    snprintf(text, sizeof text, exact ? "%lld" : "\"%lld\"", (long long)v);
    attributes_raw(a, name, str_of(text));
}

enum rc attributes_json(struct attributes *a, struct str name, yyjson_val *v, struct err *err)
{
    if (yyjson_is_null(v))
        return RC_OK;
    if (yyjson_is_sint(v) || (yyjson_is_uint(v) && yyjson_get_uint(v) <= INT64_MAX)) {
        attributes_integer(a, name, yyjson_get_sint(v));
        return RC_OK;
    }
    begin(a, name);
    if (a->text.rc != RC_OK)
        return RC_OK; /* attributes_finish tells */
    if (yyjson_is_uint(v))
        buf_printf(&a->text, "\"%llu\"", (unsigned long long)yyjson_get_uint(v));
    else
        TRY(json_canon(&a->text, v, err));
    end(a);
    return RC_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct sorted {
    struct str name, all;
    size_t order; /* a name given twice keeps its order */
};

static int by_name(const void *x, const void *y)
{
    const struct sorted *a = x, *b = y;
    int d = memcmp(a->name.p, b->name.p, a->name.n < b->name.n ? a->name.n : b->name.n);
    if (d == 0)
        d = (a->name.n > b->name.n) - (a->name.n < b->name.n);
    return d ? d : (a->order > b->order) - (a->order < b->order);
}

bool attributes_finish(struct attributes *a, struct str *ret)
{
    struct sorted *sorted = malloc((a->n ? a->n : 1) * sizeof *sorted);
    if (!sorted || a->text.rc != RC_OK) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        const char *p = a->text.data + a->list[i].at;
        sorted[i] = (struct sorted){{p, a->list[i].name}, {p, a->list[i].len}, i};
    }
    qsort(sorted, a->n, sizeof *sorted, by_name);
    buf_byte(&a->out, '{');
    for (size_t i = 0; i < a->n; i++) {
        if (i > 0)
            buf_byte(&a->out, ',');
        buf_str(&a->out, sorted[i].all);
    }
    buf_byte(&a->out, '}');
    free(sorted);
    *ret = buf_view(&a->out);
    return buf_rc(&a->out) == RC_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

bool attributes_key_text(struct str text, char out[])
{
    struct sha256 sha;
    if (text.n <= INSPECT_KEY_MAX && !memchr(text.p, 0, text.n)) {
        memcpy(out, text.p, text.n);
        out[text.n] = 0;
        return true;
    }
    memcpy(out, "sha256:", 7);
    digest_sha256(text.p, text.n, &sha);
    sha256_hex(&sha, out + 7);
    return true;
}

bool attributes_key(yyjson_val *v, char out[])
{
    if (yyjson_is_str(v))
        return attributes_key_text((struct str){yyjson_get_str(v), yyjson_get_len(v)}, out);
    if (yyjson_is_sint(v))
        snprintf(out, INSPECT_KEY_MAX, "%lld", (long long)yyjson_get_sint(v));
    else if (yyjson_is_uint(v))
        snprintf(out, INSPECT_KEY_MAX, "%llu", (unsigned long long)yyjson_get_uint(v));
    else if (yyjson_is_real(v))
        return json_number(yyjson_get_real(v), out);
    else if (yyjson_is_bool(v))
        snprintf(out, INSPECT_KEY_MAX, "%s", yyjson_get_bool(v) ? "true" : "false");
    else
        return false;
    return true;
}

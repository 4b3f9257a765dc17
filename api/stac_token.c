/* stac_token: cursors. Hex of: n or p (next, previous), a check value over order and keys, and the
 * keys as JSON. Nothing in it is trusted or secret: keys are bound as values, and the check finds
 * what was cut or belongs to another order. */
#include "api/conditional.h"
#include "api/put.h"
#include "api/stac.h"

#define TOKEN_MAX 4096 /* characters: six keys of some hundred bytes */
#define CHECK 16

static void put_check(char out[CHECK + 1], const struct item_query *q, struct str keys)
{
    struct etag e = {0xcbf29ce484222325u};
    for (size_t i = 0; i < q->n_sort; i++) {
        etag_str(&e, q->sort[i].field);
        etag_int(&e, q->sort[i].down);
    }
    etag_str(&e, keys);
    snprintf(out, CHECK + 1, "%016llx", (unsigned long long)e.h);
}

static void put_key_value(struct buf *b, const struct sort_value *v)
{
    char text[32] = "null";
    if (v->kind == SORT_TEXT)
        json_put_str(b, v->s);
    else if (v->kind == SORT_INT)
        put_digits(b, v->i);
    else {
        if (v->kind == SORT_REAL)
            (void)json_number(v->d, text);
        buf_puts(b, text);
    }
}

void stac_token_put(struct buf *out, const struct item_query *q, const struct sort_value *keys,
                    size_t n, bool backward)
{
    CLEANUP(buf_release) struct buf b = {0};
    char check[CHECK + 1], hex[3];
    buf_init(&b, TOKEN_MAX / 2);
    buf_byte(&b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_byte(&b, ',');
        put_key_value(&b, &keys[i]);
    }
    buf_byte(&b, ']');
    put_check(check, q, buf_view(&b));
    buf_byte(out, backward ? 'p' : 'n');
    buf_puts(out, check);
    for (size_t i = 0; i < b.len; i++) {
        hex_encode(b.data + i, 1, hex);
        buf_puts(out, hex);
    }
}

static enum rc bad(struct err *err)
{
    return err_set(err, RC_INVALID, "token", "is not a place in this list; start without it");
}

static bool read_key(yyjson_val *v, struct sort_value *ret)
{
    *ret = (struct sort_value){.kind = SORT_NULL};
    if (yyjson_is_str(v))
        *ret = (struct sort_value){.kind = SORT_TEXT, .s = {yyjson_get_str(v), yyjson_get_len(v)}};
    else if (yyjson_is_int(v))
        *ret = (struct sort_value){.kind = SORT_INT, .i = yyjson_get_sint(v)};
    else if (yyjson_is_real(v))
        *ret = (struct sort_value){.kind = SORT_REAL, .d = yyjson_get_real(v)};
    else
        return yyjson_is_null(v);
    return true;
}

enum rc stac_token_read(struct arena *a, struct str token, struct item_query *q, struct err *err)
{
    char check[CHECK + 1];
    size_t want = q->n_sort ? q->n_sort + 1 : 2, i, n;
    yyjson_val *list, *v;
    struct err ignored;
    if (token.n < CHECK + 3 || token.n > TOKEN_MAX || (token.p[0] != 'n' && token.p[0] != 'p') ||
        token.n % 2 == 0)
        return bad(err);
    struct str hex = {token.p + 1 + CHECK, token.n - 1 - CHECK};
    char *keys = arena_alloc(a, hex.n / 2);
    struct sort_value *values = arena_alloc(a, want * sizeof *values);
    if (!keys || !values)
        return err_set(err, RC_NOMEM, "", "no memory for a token");
    if (hex_decode(hex, keys, hex.n / 2) != RC_OK)
        return bad(err);
    struct str text = {keys, hex.n / 2};
    put_check(check, q, text);
    if (memcmp(check, token.p + 1, CHECK) != 0 ||
        json_parse(a, text, 0, "token", &list, &ignored) != RC_OK || yyjson_arr_size(list) != want)
        return bad(err);
    yyjson_arr_foreach(list, i, n, v)
    {
        if (!read_key(v, &values[i]))
            return bad(err);
    }
    q->beyond = values;
    q->backward = token.p[0] == 'p';
    return RC_OK;
}

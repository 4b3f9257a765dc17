/* put: see the header. */
#include "api/put.h"

#include "core/clock.h"

static void comma(struct buf *b)
{
    char last = b->len ? b->data[b->len - 1] : '{';
    if (last != '{' && last != '[')
        buf_byte(b, ',');
}

void put_key(struct buf *b, const char *key)
{
    comma(b);
    buf_byte(b, '"');
    buf_puts(b, key);
    buf_puts(b, "\":");
}

void put_object(struct buf *b)
{
    comma(b);
    buf_byte(b, '{');
}

void put_text(struct buf *b, const char *key, const char *value)
{
    put_key(b, key);
    if (value && value[0])
        json_put_str(b, str_of(value));
    else
        buf_puts(b, "null");
}

void put_time(struct buf *b, const char *key, int64_t at)
{
    char text[TIME_MAX] = "";
    if (at >= 0)
        time_format(at, text);
    put_text(b, key, text);
}

void put_number(struct buf *b, const char *key, int64_t v)
{
    put_key(b, key);
    put_digits(b, v);
}

void put_digits(struct buf *b, int64_t v)
{
    char text[24];
    size_t at = sizeof text;
    uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do
        text[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        text[--at] = '-';
    buf_add(b, text + at, sizeof text - at);
}

void put_link(struct buf *b, const char *rel, struct str base, const char *path)
{
    comma(b);
    buf_printf(b, "{\"rel\":\"%s\",\"href\":\"", rel);
    buf_str(b, base);
    buf_puts(b, path);
    buf_puts(b, "\",\"type\":\"application/json\"}");
}

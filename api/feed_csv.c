/* feed_csv: one row per entry, RFC 4180, the columns below. A text that a spreadsheet would take
 * for a formula gets an apostrophe in front. */
#include "api/feed_formats.h"
#include "api/put.h"

static const char *const columns[] = {
    "change_event_id", "change_type", "change_class",       "source_id",    "collection",
    "title",           "detector",    "detected_at",        "finalized_at", "source_uri",
    "sha256",          "version",     "qa_status",          "unexpected",   "sensitivity",
    "stac_ref",        "prov_ref",    "delta_manifest_ref",
};

static void put_cell(struct buf *b, struct str base, const char *text)
{
    bool quote = strpbrk(text, ",\"\r\n") || strchr("=+-@\t", text[0]);
    if (!quote) {
        feed_put_ref(b, base, text);
        return;
    }
    buf_byte(b, '"');
    if (text[0] && strchr("=+-@\t", text[0]))
        buf_byte(b, '\'');
    for (; *text; text++) {
        if (*text == '"')
            buf_byte(b, '"');
        if (*text == JSON_BASE[0])
            buf_str(b, base);
        else
            buf_byte(b, *text);
    }
    buf_byte(b, '"');
}

static const char *cell(yyjson_val *e, const char *column, char scratch[32])
{
    yyjson_val *v = yyjson_obj_get(e, column);
    if (strcmp(column, "sha256") == 0 || strcmp(column, "version") == 0)
        v = yyjson_obj_get(yyjson_obj_get(e, "object_identity"), column);
    if (strcmp(column, "qa_status") == 0)
        v = yyjson_obj_get(yyjson_obj_get(e, "qa_summary"), "status");
    if (yyjson_is_str(v))
        return yyjson_get_str(v);
    return json_scalar(v, scratch) ? scratch : "";
}

void feed_csv_head(struct feed_page_out *x)
{
    buf_puts(x->out, "seq");
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        buf_byte(x->out, ',');
        buf_puts(x->out, columns[i]);
    }
    buf_puts(x->out, "\r\n");
}

enum rc feed_csv_entry(struct feed_page_out *x, const struct public_change *c, struct err *err)
{
    yyjson_val *e;
    char scratch[32];
    TRY(feed_read_entry(x, c->doc, &e, err));
    put_digits(x->out, c->seq);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        buf_byte(x->out, ',');
        put_cell(x->out, x->base, cell(e, columns[i], scratch));
    }
    buf_puts(x->out, "\r\n");
    return RC_OK;
}

void feed_csv_tail(struct feed_page_out *x)
{
    (void)x;
}

/* feed_formats: the table, and what several formats share: reading an entry, a sentence
 * about it. */
#include "api/feed_formats.h"

const struct feed_format feed_formats[] = {
#define X(name, type, content_type, alone)                                                         \
    {#name, type, content_type, feed_##name##_head, feed_##name##_entry, feed_##name##_tail, alone},
#include "api/formats.def"
#undef X
};
const size_t feed_formats_n = ARRAY_LEN(feed_formats);

enum rc feed_read_entry(struct feed_page_out *x, struct str doc, yyjson_val **ret, struct err *err)
{
    arena_reset(x->row);
    return json_parse(x->row, doc, 0, "a stored entry", ret, err);
}

void feed_put_ref(struct buf *out, struct str base, const char *ref)
{
    if (ref[0] == JSON_BASE[0]) {
        buf_str(out, base);
        ref++;
    }
    buf_puts(out, ref);
}

static void put_count(struct buf *out, yyjson_val *features, const char *key, const char *word)
{
    yyjson_val *n = yyjson_obj_get(features, key);
    if (yyjson_is_int(n))
        buf_printf(out, ", %lld %s", (long long)yyjson_get_sint(n), word);
}

void feed_summary(struct buf *out, yyjson_val *entry)
{
    yyjson_val *qa = yyjson_obj_get(entry, "qa_summary"), *n = yyjson_obj_get(qa, "features");
    const char *type = json_member_text(entry, "change_type"),
               *class = json_member_text(entry, "change_class");
    const char *status = json_member_text(qa, "status");
    buf_printf(out, "%s", *type ? type : "updated");
    if (*class && strcmp(class, type) != 0)
        buf_printf(out, " (%s)", class);
    put_count(out, n, "total", "features");
    put_count(out, n, "added", "added");
    put_count(out, n, "removed", "removed");
    put_count(out, n, "modified", "modified");
    if (*status)
        buf_printf(out, ", checks: %s", status);
    if (yyjson_get_bool(yyjson_obj_get(entry, "unexpected")))
        buf_puts(out, ", outside every window");
}

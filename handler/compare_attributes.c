/* compare_attributes: see the header. */
#include "handler/compare_attributes.h"

#include "core/json.h"
#include "handler/compare.h"

/* Cut where a character begins. */
static struct str short_text(struct str s)
{
    size_t n = s.n;
    if (n > COMPARE_TEXT_MAX)
        for (n = COMPARE_TEXT_MAX; n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80;)
            n--;
    return (struct str){s.p, n};
}

static yyjson_mut_val *text_json(yyjson_mut_doc *d, struct str s)
{
    s = short_text(s);
    return yyjson_mut_strncpy(d, s.p, s.n);
}

/* Scalars as they are; the rest as the beginning of its JSON. */
static yyjson_mut_val *value_json(yyjson_mut_doc *d, yyjson_val *v)
{
    CLEANUP(buf_release) struct buf b = {0};
    struct err why;
    buf_init(&b, JSON_MAX);
    if (!v)
        return yyjson_mut_null(d);
    if (yyjson_is_str(v))
        return text_json(d, (struct str){yyjson_get_str(v), yyjson_get_len(v)});
    if (!yyjson_is_ctn(v))
        return yyjson_val_mut_copy(d, v);
    if (json_canon(&b, v, &why) != RC_OK)
        return yyjson_mut_null(d);
    return text_json(d, buf_view(&b));
}

struct change_list {
    yyjson_mut_val *list;
    int64_t n;
};

static void add_change(yyjson_mut_doc *d, struct change_list *to, yyjson_val *name, yyjson_val *old,
                       yyjson_val *now)
{
    if (to->n++ >= COMPARE_CHANGES_MAX)
        return;
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, to->list);
    yyjson_mut_obj_add_val(d, o, "name",
                           text_json(d, (struct str){yyjson_get_str(name), yyjson_get_len(name)}));
    yyjson_mut_obj_add_val(d, o, "old", value_json(d, old));
    yyjson_mut_obj_add_val(d, o, "new", value_json(d, now));
}

/* Both in the order of names. */
void compare_attributes(yyjson_mut_doc *d, yyjson_mut_val *o, yyjson_val *old, yyjson_val *now)
{
    struct change_list to = {yyjson_mut_arr(d), 0};
    size_t i, n;
    yyjson_val *name, *v;
    yyjson_obj_foreach(old, i, n, name, v)
    {
        yyjson_val *other = yyjson_obj_getn(now, yyjson_get_str(name), yyjson_get_len(name));
        if (!other || !yyjson_equals(v, other))
            add_change(d, &to, name, v, other);
    }
    yyjson_obj_foreach(now, i, n, name, v)
    {
        if (!yyjson_obj_getn(old, yyjson_get_str(name), yyjson_get_len(name)))
            add_change(d, &to, name, NULL, v);
    }
    yyjson_mut_val *x = yyjson_mut_obj_add_obj(d, o, "attributes");
    yyjson_mut_obj_add_int(d, x, "changed", to.n);
    yyjson_mut_obj_add_val(d, x, "listed", to.list);
}

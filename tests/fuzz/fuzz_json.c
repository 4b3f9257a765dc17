/* fuzz_json: reading, canonical form, base marks and the settings editor.
 *
 * Properties
 *   1. What was parsed is at most JSON_DEPTH_MAX deep and can be written and read again.
 *   2. The canonical form reads back, and is its own canonical form.
 *   3. A document with its base marks replaced is still JSON.
 *   4. A settings text that holds an object can be edited, and then holds the new value. */
#include "core/conf_edit.h"
#include "core/json.h"
#include "tests/fuzz/fuzz_main.h"

static void check_canon(struct arena *a, yyjson_val *v)
{
    struct err err;
    struct buf once, twice;
    yyjson_val *again;
    buf_init(&once, 16u << 20);
    buf_init(&twice, 16u << 20);
    if (json_canon(&once, v, &err) == RC_OK) {
        HOLDS(json_parse(a, buf_view(&once), 0, "canon", &again, &err) == RC_OK);
        HOLDS(json_canon(&twice, again, &err) == RC_OK);
        HOLDS(str_eq(buf_view(&once), buf_view(&twice)));
    }
    buf_release(&once);
    buf_release(&twice);
}

static void check_based(struct arena *a, yyjson_val *v)
{
    struct err err;
    struct str text;
    struct buf out;
    yyjson_val *again;
    yyjson_mut_doc *d = json_doc(a);
    yyjson_mut_doc_set_root(d, yyjson_val_mut_copy(d, v));
    HOLDS(json_write(a, d, 0, &text, &err) == RC_OK);
    buf_init(&out, 64u << 20);
    json_put_based(&out, text, STR("https://e.org"));
    HOLDS(json_parse(a, buf_view(&out), 0, "based", &again, &err) == RC_OK);
    buf_release(&out);
}

static void check_edit(struct arena *a, struct str text)
{
    struct err err;
    struct buf out;
    yyjson_val *before, *after;
    bool object = json_parse(a, text, JSON_RELAXED, "before", &before, &err) == RC_OK &&
                  yyjson_is_obj(before);
    buf_init(&out, 16u << 20);
    enum rc rc = conf_edit(text, STR("port"), STR("4711"), &out);
    if (object) {
        HOLDS(rc == RC_OK);
        HOLDS(json_parse(a, buf_view(&out), JSON_RELAXED, "after", &after, &err) == RC_OK);
        size_t i, n, hits = 0;
        yyjson_val *key, *value;
        yyjson_obj_foreach(after, i, n, key, value)
        {
            hits += yyjson_equals_str(key, "port") && yyjson_get_int(value) == 4711;
        }
        HOLDS(hits > 0);
    }
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    struct err err;
    struct str text = {(const char *)data, n};
    yyjson_val *v;
    arena_init(&a, 256u << 20);
    if (json_parse(&a, text, 0, "input", &v, &err) == RC_OK) {
        HOLDS(str_is_utf8(text));
        check_canon(&a, v);
        check_based(&a, v);
    } else {
        HOLDS(err.rc == RC_INVALID && str_is_utf8(str_of(err.msg)));
    }
    check_edit(&a, text);
    arena_release(&a);
    return 0;
}

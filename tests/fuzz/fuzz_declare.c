/* fuzz_declare: a declaration of a source as it comes over HTTP, and a notify.json.
 *
 * Properties
 *   1. What is refused is refused with a clean sentence, and a field where it is about one.
 *   2. A declaration that was taken has a canonical form, which is taken again and says the same.
 *   3. Subscribers that were taken have names of their own, an address and, where they sign,
 *      a secret. */
#include "core/json.h"
#include "handler/subscribers.h"
#include "tests/fuzz/fuzz_main.h"

static void check_error(const struct err *e)
{
    HOLDS(e->msg[0] && str_is_utf8(str_of(e->msg)) && str_is_clean(str_of(e->msg)));
}

static void check_source(struct arena *a, struct str text)
{
    yyjson_val *v;
    struct err err = {0};
    struct source s, again;
    if (json_parse(a, text, 0, "the body", &v, &err) != RC_OK)
        return;
    if (source_parse(a, v, &s, &err) != RC_OK) {
        HOLDS(err.msg[0]);
        return;
    }
    HOLDS(str_is_slug(str_of(s.id), 64) && s.url[0]);
    HOLDS(source_reread(a, s.spec, &again, &err) == RC_OK);
    HOLDS(str_eq(s.spec, again.spec) && strcmp(s.id, again.id) == 0 && s.level == again.level);
}

static void check_subscribers(struct arena *a, struct str text)
{
    struct err err = {0};
    struct subscribers *all = ARENA_NEW(a, struct subscribers);
    if (!all)
        return;
    if (subscribers_parse(a, text, all, &err) != RC_OK) {
        check_error(&err);
        return;
    }
    HOLDS(all->n <= SUBSCRIBERS_MAX);
    for (size_t i = 0; i < all->n; i++) {
        const struct subscriber *s = &all->list[i];
        HOLDS(s->url[0] && subscribers_find(all, s->name) == s);
        HOLDS((s->format == NOTIFY_STANDARD) == (s->secrets.n > 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena a;
    struct str text = {(const char *)data, n};
    arena_init(&a, 64u << 20);
    check_source(&a, text);
    arena_reset(&a);
    check_subscribers(&a, text);
    arena_release(&a);
    return 0;
}

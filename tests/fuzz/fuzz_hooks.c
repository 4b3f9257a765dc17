/* fuzz_hooks: a delivery of any bytes: the first byte chooses the adapter, header lines follow up
 * to an empty one (NAME=value as a web server gives them, OPTIONS=json for adapter_options), then
 * the body.
 *
 * Properties
 *   1. Without the key no adapter believes anything.
 *   2. What it says then holds nothing of the key.
 *   3. What is read stays within its bounds, and what it points to can be read. */
#include "api/hook.h"
#include "core/clock.h"
#include "tests/fuzz/fuzz_main.h"

#define LINES 32
#define KEY "a key nobody who sends bytes can know"

static const char *const names[] = {
#define X(name, symbol, detector) name,
#include "ledger/adapters.def"
#undef X
};

static struct arena arena;

/* Splits the head off; lines go to list. */
static struct str take_headers(struct str in, char *list[LINES + 1], yyjson_val **options)
{
    struct err ignored;
    struct str line;
    size_t n = 0;
    while (str_next(&in, '\n', &line) && line.n > 0)
        if (str_starts(line, STR("OPTIONS=")))
            (void)!json_parse(&arena, (struct str){line.p + 8, line.n - 8}, 0, "o", options,
                              &ignored);
        else if (n < LINES && !memchr(line.p, 0, line.n))
            list[n++] = arena_str(&arena, line);
    return in;
}

static size_t sum; /* every byte that is pointed to is read */

static void touch(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        sum += (unsigned char)s.p[i];
}

static void check_reading(const struct hook_reading *r)
{
    HOLDS(r->n_events <= HOOK_EVENTS_MAX);
    for (size_t i = 0; i < r->n_events; i++) {
        const struct hook_event *e = &r->events[i];
        touch(e->id);
        touch(e->object);
        touch(e->sequence);
        touch(e->version);
        touch(e->bytes);
        HOLDS(e->what <= HOOK_OTHER);
    }
    touch(r->reply);
    touch(r->reply_type);
    touch(r->reply_headers);
    touch(r->confirm_url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct hook_reading reading;
    char *list[LINES + 1] = {NULL};
    yyjson_val *options = NULL;
    struct req r = {.params_raw = list};
    struct err err = {0};
    if (n == 0)
        return 0;
    if (arena.cap == 0)
        arena_init(&arena, 64u << 20);
    arena_reset(&arena);
    const struct hook_adapter *a = hook_adapter(names[data[0] % ARRAY_LEN(names)]);
    struct hook_delivery d = {
        .method = STR("POST"), .req = &r, .n_secrets = 1, .now = 1614265330000, .arena = &arena};
    d.body = take_headers((struct str){(const char *)data + 1, n - 1}, list, &options);
    d.options = yyjson_is_obj(options) ? options : NULL;
    if (d.options && a->check_options(d.options, 1, &err) != RC_OK)
        d.options = NULL; /* such a source is not declared */
    d.content_type =
        req_header(&r, "X-Type").p ? req_header(&r, "X-Type") : STR("application/json");
    d.secrets[0] = STR(KEY);
    HOLDS(a->verify(&d, &err) != RC_OK);
    HOLDS(strstr(err.msg, KEY) == NULL);
    memset(&reading, 0, sizeof reading);
    if (a->read(&d, &reading, &err) == RC_OK)
        check_reading(&reading);
    return 0;
}

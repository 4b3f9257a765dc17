/* sse: what a stream means does not hang on how it was cut into pieces. */
#include "tests/10-unit/unit.h"

#include "core/arena.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/sse.h"

#define VECTORS "../shared/data/vectors/sse.json"

/* Each event as type|data|id of then, a line end in data as '~'. */
struct heard {
    struct sse sse;
    char text[1024];
    size_t n;
};

static enum rc hear(void *ctx, const struct sse_event *e)
{
    struct heard *h = ctx;
    h->n += (size_t)snprintf(h->text + h->n, sizeof h->text - h->n, "%.*s|", STR_FMT(e->type));
    for (size_t i = 0; i < e->data.n; i++)
        h->text[h->n++] = e->data.p[i] == '\n' ? '~' : e->data.p[i] ? e->data.p[i] : '0';
    h->n += (size_t)snprintf(h->text + h->n, sizeof h->text - h->n, "|%s;", h->sse.last_id);
    return RC_OK;
}

enum cut { WHOLE, BYTES, RANDOM, CUTS };

static void play(struct heard *h, struct str in, enum cut cut)
{
    h->n = 0;
    h->text[0] = '\0';
    sse_init(&h->sse, "");
    while (in.n > 0) {
        size_t n = cut == WHOLE ? in.n : cut == BYTES ? 1 : 1 + rand_below(5);
        n = n < in.n ? n : in.n;
        assert_rc(sse_add(&h->sse, (struct str){in.p, n}, hear, h), RC_OK);
        in = (struct str){in.p + n, in.n - n};
    }
}

static void says(struct str in, const char *events, const char *last_id, int64_t retry)
{
    static struct heard h;
    for (enum cut cut = WHOLE; cut < CUTS; cut++) {
        play(&h, in, cut);
        assert_string_equal(h.text, events);
        assert_string_equal(h.sse.last_id, last_id);
        assert_int_equal(h.sse.retry_ms, retry);
        sse_release(&h.sse);
    }
}
#define SAYS(in, ...) says(STR(in), __VA_ARGS__)

static void blocks_become_events(void **state)
{
    (void)state;
    SAYS("data: a\n\n", "message|a|;", "", -1);
    SAYS("data:a\ndata\ndata: b\n\n", "message|a~~b|;", "", -1);
    SAYS("data\n\n", "message||;", "", -1);
    SAYS("event: gone\ndata:1\n\ndata:2\n\n", "gone|1|;message|2|;", "", -1);
    SAYS("event: only\n\n", "", "", -1);
    SAYS(": a word\ndata:x\n:\n\n", "message|x|;", "", -1);
    SAYS("data:  two spaces\n\ndata:\ttab\n\n", "message| two spaces|;message|\ttab|;", "", -1);
    SAYS("Data: no\n data: no\ndatax\n\xef\xbb\xbf"
         "data:no\n\n",
         "", "", -1);
    SAYS("data: \0x\n\n", "message|0x|;", "", -1);
}

static void every_line_end(void **state)
{
    (void)state;
    SAYS("data:a\r\rdata:b\r\n\r\ndata:c\n\n", "message|a|;message|b|;message|c|;", "", -1);
    SAYS("data:a\r\n\r\rdata:b\n\r", "message|a|;message|b|;", "", -1);
    SAYS("data:a\n\r\n\r\ndata:b\r\r\n", "message|a|;message|b|;", "", -1);
}

static void one_mark_of_byte_order(void **state)
{
    (void)state;
    SAYS("\xef\xbb\xbf"
         "data:1\n\n",
         "message|1|;", "", -1);
    SAYS("\xef\xbb\xbf\xef\xbb\xbf"
         "data:1\n\ndata:2\n\n",
         "message|2|;", "", -1);
    SAYS("\xef\xbb"
         "data:1\n\ndata:2\n\n",
         "message|2|;", "", -1);
    SAYS("data:1\n\n\xef\xbb\xbf"
         "data:2\n\n",
         "message|1|;", "", -1);
    SAYS("\xef", "", "", -1);
}

static void ids_are_cursors(void **state)
{
    (void)state;
    SAYS("id: 1\ndata:a\n\ndata:b\n\nid:2\ndata:c\n\n", "message|a|1;message|b|1;message|c|2;", "2",
         -1);
    SAYS("id:1\ndata:a\n\nid\ndata:b\n\n", "message|a|1;message|b|;", "", -1);
    SAYS("id:7\n\n", "", "7", -1);                                /* an id alone moves it */
    SAYS("id:1\n\nid:2\ndata:x\n", "", "1", -1);                  /* an unfinished block does not */
    SAYS("id:1\n\nid:a\0b\ndata:x\n\n", "message|x|1;", "1", -1); /* NUL: ignored */
    SAYS("id:1\n\nid:a\x01\ndata:x\n\n", "message|x|1;", "1", -1);
}

static void an_id_longer_than_a_header_is_not_remembered(void **state)
{
    char in[SSE_ID_MAX + 64];
    (void)state;
    int n = snprintf(in, sizeof in, "id:1\n\nid:%0*d\ndata:x\n\n", SSE_ID_MAX, 0);
    says((struct str){in, (size_t)n}, "message|x|1;", "1", -1);
    n = snprintf(in, sizeof in, "id:%0*d\n\n", SSE_ID_MAX - 1, 0);
    static struct heard h;
    play(&h, (struct str){in, (size_t)n}, WHOLE);
    assert_int_equal(strlen(h.sse.last_id), SSE_ID_MAX - 1);
    sse_release(&h.sse);
}

static void retry_is_digits(void **state)
{
    (void)state;
    SAYS("retry: 1500\n", "", "", 1500);
    SAYS("retry:3000\nretry:1000x\nretry:-1\nretry:\nretry\nretry: 1 \n", "", "", 3000);
    SAYS("retry:99999999999999999999999\n", "", "", 86400000);
}

static void a_new_connection_begins_anew(void **state)
{
    static struct heard h;
    (void)state;
    play(&h, STR("id:5\ndata:a\n\nretry:9\nid:6\nevent:x\ndata:half"), BYTES);
    sse_restart(&h.sse);
    assert_rc(sse_add(&h.sse,
                      STR("\xef\xbb\xbf"
                          "data:b\n\n"),
                      hear, &h),
              RC_OK);
    assert_string_equal(h.text, "message|a|5;message|b|5;");
    assert_int_equal(h.sse.retry_ms, 9);
    sse_release(&h.sse);
}

static enum rc feed(struct sse *s, const char *line, size_t times)
{
    struct heard ignored = {.n = 0};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < times; i++)
        rc = sse_add(s, str_of(line), hear, &ignored);
    return rc;
}

static void lines_and_events_are_bounded(void **state)
{
    struct sse s;
    (void)state;
    sse_init(&s, "");
    assert_rc(feed(&s, "0123456789abcdef", SSE_LINE_MAX / 16 + 1), RC_TOO_LARGE);
    sse_restart(&s);
    assert_rc(feed(&s, "data: 0123456789\n", SSE_DATA_MAX / 11 + 2), RC_TOO_LARGE);
    sse_release(&s);
}

static enum rc refuse(void *ctx, const struct sse_event *e)
{
    (void)ctx;
    (void)e;
    return RC_CONFLICT;
}

static void who_listens_may_end_it(void **state)
{
    struct sse s;
    (void)state;
    sse_init(&s, "before");
    assert_rc(sse_add(&s, STR("id:1\ndata:x\n\nid:2\ndata:y\n\n"), refuse, NULL), RC_CONFLICT);
    assert_string_equal(s.last_id, "1");
    sse_release(&s);
}

/* ---- vectors of others, where they are ------------------------------------------------------- */

/* What is not UTF-8 is handed on as it came (core/sse.h), and they expect it replaced. */
#define NOT_UTF8 "invalid-utf8"

static const char *text_of(yyjson_val *obj, const char *name)
{
    const char *text = yyjson_get_str(yyjson_obj_get(obj, name));
    assert_non_null(text);
    return text;
}

/* As hear() writes it. */
static void expect_event(struct heard *h, yyjson_val *e)
{
    yyjson_val *data = yyjson_obj_get(e, "data");
    h->n += (size_t)snprintf(h->text + h->n, sizeof h->text - h->n, "%s|", text_of(e, "type"));
    for (size_t i = 0; i < yyjson_get_len(data); i++) {
        char c = yyjson_get_str(data)[i];
        h->text[h->n++] = c == '\n' ? '~' : c ? c : '0';
    }
    h->n +=
        (size_t)snprintf(h->text + h->n, sizeof h->text - h->n, "|%s;", text_of(e, "lastEventId"));
}

/* A time that is longer than a day is one day, and none is -1. */
static int64_t retry_of(yyjson_val *c)
{
    yyjson_val *v = yyjson_obj_get(c, "retry_ms_after");
    double ms = yyjson_is_num(v) ? yyjson_get_num(v) : -1;
    return ms > 86400000 ? 86400000 : (int64_t)ms;
}

static void play_case(struct arena *a, yyjson_val *c)
{
    static struct heard want;
    struct str hex = str_of(text_of(c, "input_hex"));
    char *in = arena_alloc(a, hex.n / 2 + 1);
    yyjson_val *e, *last = yyjson_obj_get(c, "last_event_id_after");
    size_t i, max;
    if (strcmp(text_of(c, "id"), NOT_UTF8) == 0)
        return;
    want.n = 0;
    want.text[0] = '\0';
    assert_rc(hex_decode(hex, in, hex.n / 2), RC_OK);
    yyjson_arr_foreach(yyjson_obj_get(c, "events"), i, max, e) expect_event(&want, e);
    says((struct str){in, hex.n / 2}, want.text, yyjson_get_str(last), retry_of(c));
}

static void vectors(void **state)
{
    static const char *const lists[] = {"parse_cases", "extra_cases"};
    CLEANUP(arena_release) struct arena a = {0};
    struct err err = {0};
    yyjson_val *doc, *c;
    size_t played = 0;
    (void)state;
    arena_init(&a, 1 << 20);
    if (json_parse_file(&a, VECTORS, 0, &doc, &err) != RC_OK)
        skip();
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        size_t i, max;
        yyjson_arr_foreach(yyjson_obj_get(doc, lists[k]), i, max, c)
        {
            play_case(&a, c);
            played++;
        }
    }
    assert_true(played > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_become_events),
        cmocka_unit_test(every_line_end),
        cmocka_unit_test(one_mark_of_byte_order),
        cmocka_unit_test(ids_are_cursors),
        cmocka_unit_test(an_id_longer_than_a_header_is_not_remembered),
        cmocka_unit_test(retry_is_digits),
        cmocka_unit_test(a_new_connection_begins_anew),
        cmocka_unit_test(lines_and_events_are_bounded),
        cmocka_unit_test(who_listens_may_end_it),
        cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

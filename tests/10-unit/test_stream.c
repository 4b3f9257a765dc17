/* stream: what is pure of the live feed: who is due, which entries pass, events as bytes, who asks
 * for a stream. */
#include "tests/10-unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "api/negotiate.h"
#include "api/stream.h"
#include "core/clock.h"

static struct err err;

/* ---- who is due ------------------------------------------------------------------------------ */

#define ITEMS 200

static void the_earliest_comes_first(void **state)
{
    static struct due items[ITEMS];
    struct dues d = {0};
    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct due *x = &items[rand_below(ITEMS)];
        if (rand_below(3) == 0)
            due_drop(&d, x);
        else
            assert_int_equal(due_set(&d, x, (int64_t)rand_below(1000)), RC_OK);
        const struct due *least = NULL;
        size_t n = 0;
        for (size_t i = 0; i < ITEMS; i++) {
            n += items[i].place > 0;
            if (items[i].place && (!least || items[i].at < least->at))
                least = &items[i];
        }
        assert_int_equal(d.n, n);
        assert_int_equal(due_first(&d) ? due_first(&d)->at : -1, least ? least->at : -1);
    }
    for (int64_t last = -1; d.n > 0; due_drop(&d, due_first(&d))) {
        assert_true(due_first(&d)->at >= last);
        last = due_first(&d)->at;
    }
    dues_release(&d);
}

/* ---- which pass ------------------------------------------------------------------------------ */

static const struct public_change_facts roads = {.source_id = {"roads", 5},
                                                 .collection = {"kansas", 6},
                                                 .type = {"modified", 8},
                                                 .class = {"content", 7},
                                                 .detector = {"etag", 4},
                                                 .finalized_at =
                                                     1782993600000, /* 2026-07-02T12:00 */
                                                 .unexpected = 1,
                                                 .has_bbox = true,
                                                 .bbox = {-98, 38, -97, 39}};
/* All but source and collection is withheld. */
static const struct public_change_facts caves = {.source_id = {"caves", 5},
                                                 .collection = {"kansas", 6},
                                                 .type = {"", 0},
                                                 .class = {"", 0},
                                                 .detector = {"", 0},
                                                 .finalized_at = 1782950400000, /* the day */
                                                 .unexpected = -1};

static bool passes(const char *name, const char *value, const struct public_change_facts *f)
{
    struct feed_query q;
    feed_query_init(&q);
    assert_int_equal(feed_query_set(&q, name, str_of(value), &err), RC_OK);
    return feed_matches(&q, f);
}

static void filters_pass_what_fits(void **state)
{
    (void)state;
    assert_true(passes("source", "rivers,roads", &roads));
    assert_false(passes("source", "road", &roads));
    assert_true(passes("collection", "kansas", &roads));
    assert_false(passes("collection", "kan", &roads));
    assert_true(passes("type", "new,modified", &roads));
    assert_false(passes("type", "new,deleted", &roads));
    assert_true(passes("class", "content", &roads));
    assert_false(passes("detector", "probe", &roads));
    assert_true(passes("unexpected", "true", &roads));
    assert_false(passes("unexpected", "false", &roads));
    assert_true(passes("datetime", "2026-07-02T12:00:00Z", &roads) ||
                passes("datetime", "2026-07-02T12:00:00Z/..", &roads));
    assert_false(passes("datetime", "../2026-07-02T11:59:59Z", &roads));
    assert_false(passes("datetime", "../1960-01-01T00:00:00Z", &roads)); /* no open end */
    assert_false(passes("datetime", "1960-01-01T00:00:00Z", &roads));
    assert_true(passes("datetime", "1960-01-01T00:00:00Z/..", &roads));
    assert_true(passes("bbox", "-97,39,-90,45", &roads)); /* they touch */
    assert_false(passes("bbox", "-96.9,39,-90,45", &roads));
    assert_true(passes("bbox", "170,30,-97.5,45", &roads)); /* over the antimeridian */
    assert_false(passes("bbox", "170,30,-170,45", &roads));
}

static void what_is_withheld_passes_no_filter(void **state)
{
    (void)state;
    assert_true(passes("source", "caves", &caves));
    assert_true(passes("collection", "kansas", &caves));
    assert_true(passes("datetime", "2026-07-02T00:00:00Z/2026-07-02T00:00:00Z", &caves));
    assert_false(passes("type", "new,modified,deleted,reinstated,rollback", &caves));
    assert_false(passes("class", "content,new", &caves));
    assert_false(passes("detector", "etag", &caves));
    assert_false(passes("unexpected", "true", &caves));
    assert_false(passes("unexpected", "false", &caves));
    assert_false(passes("bbox", "-180,-90,180,90", &caves));
}

/* ---- views ----------------------------------------------------------------------------------- */

static void who_asks_alike_shares_a_view(void **state)
{
    struct stream_view *all = NULL, *one = NULL, *same = NULL, *other = NULL;
    struct feed_query q;
    char value[] = "roads,rivers", box[] = "-98,38,-97,39";
    (void)state;
    feed_query_init(&q);
    assert_int_equal(feed_query_set(&q, "source", str_of(value), &err), RC_OK);
    assert_int_equal(feed_query_set(&q, "bbox", str_of(box), &err), RC_OK);
    assert_int_equal(stream_view_get(&all, &q, STR("http://a"), &one, &err), RC_OK);
    assert_int_equal(stream_view_get(&all, &q, STR("http://a"), &same, &err), RC_OK);
    assert_int_equal(stream_view_get(&all, &q, STR("http://b"), &other, &err), RC_OK);
    assert_ptr_equal(one, same);
    assert_ptr_not_equal(one, other);
    memset(value, 'x', sizeof value); /* it owns what it points to */
    memset(box, '9', sizeof box);
    assert_true(str_is(other->base, "http://b"));
    struct stream_entry e = {.seq = 1, .facts = roads}, e2 = {.seq = 2, .facts = caves};
    assert_true(stream_view_passes(one, &e));
    assert_true(stream_view_passes(one, &e));
    assert_false(stream_view_passes(one, &e2));
    stream_view_drop(&all, &one);
    assert_non_null(all);
    stream_view_drop(&all, &other);
    stream_view_drop(&all, &same);
    assert_null(all);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void an_event_is_id_name_and_data(void **state)
{
    struct buf out, line;
    (void)state;
    buf_init(&out, 4096);
    buf_init(&line, 4096);
    stream_put_event(&out, &line, 7, STR("{\"prov_ref\":\"\\u001F/prov/1\"}"), STR("http://h"));
    assert_string_equal(out.data, "id: 7\nevent: change\n"
                                  "data: {\"seq\":\"7\",\"prov_ref\":\"http://h/prov/1\"}\n\n");
    buf_clear(&out);
    stream_put_event(&out, &line, 8, STR("{\"a\":1,\n\"b\":2}"), STR(""));
    assert_string_equal(out.data,
                        "id: 8\nevent: change\ndata: {\"seq\":\"8\",\"a\":1,\ndata: \"b\":2}\n\n");
    buf_release(&out);
    buf_release(&line);
}

/* ---- who wants what -------------------------------------------------------------------------- */

static bool wants_stream(const char *path, const char *accept)
{
    struct req r = {.path = str_of(path), .accept = str_of(accept)};
    return stream_is_wanted(&r);
}

static void accept_chooses(void **state)
{
    (void)state;
    assert_true(wants_stream("/changes", "text/event-stream"));
    assert_true(wants_stream("/changes", "text/event-stream, */*;q=0.5"));
    assert_true(wants_stream("/changes", "text/event-stream, */*"));
    assert_true(wants_stream("/changes", "application/json;q=0.5, text/event-stream"));
    assert_false(wants_stream("/changes", "application/json, text/event-stream"));
    assert_false(wants_stream("/changes", "text/event-stream;q=0"));
    assert_false(wants_stream("/changes", "text/*"));
    assert_false(wants_stream("/changes", "*/*"));
    assert_false(wants_stream("/changes", ""));
    assert_true(wants_stream("/changes/stream", "*/*"));
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void numbers_come_back(void **state)
{
    char dir[] = "/tmp/freshet-stat-XXXXXX", path[64];
    struct stream_stat s = {1, 2, 9000000000000000000, 4, 1782993600000}, got = {0};
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(stream_stat_read(dir, &got, &err), RC_NOT_FOUND);
    snprintf(path, sizeof path, "%s/run", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/" STREAM_STAT_FILE, dir);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(stream_stat_read(dir, &got, &err), RC_NOT_FOUND); /* nothing in it yet */
    stream_stat_write(fd, &s);
    stream_stat_write(fd, &s);
    assert_int_equal(stream_stat_read(dir, &got, &err), RC_OK);
    assert_memory_equal(&got, &s, sizeof s);
    close(fd);
    unlink(path);
    snprintf(path, sizeof path, "%s/run", dir);
    rmdir(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_comes_first),
        cmocka_unit_test(filters_pass_what_fits),
        cmocka_unit_test(what_is_withheld_passes_no_filter),
        cmocka_unit_test(who_asks_alike_shares_a_view),
        cmocka_unit_test(an_event_is_id_name_and_data),
        cmocka_unit_test(accept_chooses),
        cmocka_unit_test(numbers_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

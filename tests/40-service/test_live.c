/* test_live: freshet-stream as a process, without nginx: streams, long polls, many and slow
 * clients. The world of service.h; entries are also planted past its doors where hundreds
 * are needed. */
#include "tests/40-service/service.h"

#include <sys/resource.h>
#include "api/stream_stat.h"
#include "tests/40-service/http_client.h"

#define MANY 600
#define PLANTED 700 /* more than the tail holds in memory */

static char live_sock[100];
static pid_t live_pid;
static int next_road = ROADS;

static void start_live(void)
{
    live_pid = start("freshet-stream", "stream.log");
    await_socket(live_sock);
}

static int make_live(void **state)
{
    char path[192];
    struct rlimit files;
    make_world(state);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    snprintf(live_sock, sizeof live_sock, "%s/run/stream.sock", fix_dir);
    snprintf(path, sizeof path, "%s/freshet.json", fix_dir);
    unit_write(path, "{\"api_processes\": 3, \"stream_heartbeat_s\": 1, \"stream_stall_s\": 1,"
                     " \"stream_clients\": 601, \"free_bytes_min\": 0}");
    start_live();
    return 0;
}

static int drop_live(void **state)
{
    assert_int_equal(stop(live_pid), 0);
    assert_int_not_equal(access(live_sock, F_OK), 0);
    return drop_world(state);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static struct live events(const char *query, const char *headers)
{
    return live_open(live_sock, "/changes/stream", query, headers);
}

static void await(struct live *c, const char *text)
{
    if (!live_await(c, text))
        fail_msg("no \"%s\" came, but %zu bytes:\n%.3000s\n%.600s", text, c->n_text, c->text,
                 c->raw);
}

static int64_t tip(void)
{
    return sql_number("SELECT last_seq FROM public_meta");
}

static const char *text_of_id(int64_t seq)
{
    return arena_printf(&fix_arena, "id: %lld\n", (long long)seq);
}

static void publish_one(void)
{
    char body[64];
    snprintf(body, sizeof body, "{\"roads\":%d}", ++next_road);
    roads_change = publish(&roads, body);
}

/* The ids of events in a stream, as text: "1 2 3 ". */
static const char *ids_of(const char *text)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    for (const char *at = text; (at = strstr(at, "id: ")); at++)
        if (strncmp(at + strcspn(at, "\n"), "\nevent: change\n", 15) == 0)
            buf_printf(&b, "%.*s ", (int)strcspn(at + 4, "\n"), at + 4);
    const char *ids = arena_strdup(&fix_arena, b.data ? b.data : "");
    buf_release(&b);
    return ids;
}

/* The same of a page. */
static const char *ids_of_page(const char *query)
{
    struct answer a = get("/changes", query);
    yyjson_val *results = yyjson_obj_get(parsed(a.body), "results"), *e;
    struct buf b;
    size_t i, n;
    assert_int_equal(a.status, 200);
    buf_init(&b, 1u << 20);
    yyjson_arr_foreach(results, i, n, e)
        buf_printf(&b, "%s ", yyjson_get_str(yyjson_obj_get(e, "seq")));
    const char *ids = arena_strdup(&fix_arena, b.data ? b.data : "");
    buf_release(&b);
    answer_free(&a);
    return ids;
}

/* The status of an answer that ends, with a text that its body must hold. */
static void refused(const char *path, const char *query, const char *headers, int status,
                    const char *text)
{
    struct live c = live_open(live_sock, path, query, headers);
    assert_true(live_finish(&c));
    if (c.status != status || !strstr(c.text, text))
        fail_msg("%s?%s %s: %d, %s", path, query, headers ? headers : "", c.status, c.text);
    live_close(&c);
}

static struct stream_stat numbers(void)
{
    struct stream_stat s = {0};
    int64_t asked = clock_now(), end = clock_mono() + WAIT_MS;
    do {
        pause_ms(20);
        if (stream_stat_read(fix_dir, &s, &fix_err) != RC_OK)
            s.at = 0;
    } while (s.at < asked && clock_mono() < end);
    return s;
}

static void await_polls(int64_t n)
{
    int64_t end = clock_mono() + WAIT_MS;
    while (numbers().polls != n)
        if (clock_mono() > end)
            fail_msg("%lld long polls, not %lld", (long long)numbers().polls, (long long)n);
}

static void await_streams(int64_t n)
{
    int64_t end = clock_mono() + WAIT_MS;
    while (numbers().streams != n)
        if (clock_mono() > end)
            fail_msg("%lld streams, not %lld", (long long)numbers().streams, (long long)n);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void a_stream_begins_at_the_tip_and_grows(void **state)
{
    (void)state;
    struct live c = events("", NULL);
    await(&c, text_of_id(tip()));
    assert_int_equal(c.status, 200);
    assert_true(strncmp(c.text, "retry: ", 7) == 0);
    assert_non_null(strstr(c.raw, "\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(strstr(c.raw, "\r\nX-Accel-Buffering: no\r\n"));
    assert_non_null(strstr(c.raw, "\r\nCache-Control: no-store\r\n"));
    assert_non_null(strstr(c.raw, "\r\nAccess-Control-Allow-Origin: *\r\n"));
    publish_one();
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent: change\ndata: {\"seq\":\"%lld\",",
                           (long long)tip(), (long long)tip()));
    struct answer page = get("/changes", "limit=1");
    const char *entry = strchr(page.body, '[') + 1, *end = strstr(entry, "],\"last_seq\"");
    await(&c, arena_printf(&fix_arena, "\ndata: %.*s\n\n", (int)(end - entry), entry));
    answer_free(&page);
    live_close(&c);
}

static void everything_since_comes_once_and_in_order(void **state)
{
    (void)state;
    struct live c = events("since=0", NULL);
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    publish_one();
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    assert_string_equal(ids_of(c.text), ids_of_page("since=0&limit=1000"));
    assert_null(strstr(c.text, "canary"));
    live_close(&c);
}

static void last_event_id_beats_since(void **state)
{
    int64_t last = tip();
    const char *header = arena_printf(&fix_arena, "Last-Event-ID: %lld\r\n", (long long)last - 2);
    (void)state;
    struct live c = events("since=0", header);
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)last));
    assert_string_equal(ids_of(c.text), arena_printf(&fix_arena, "%lld %lld ", (long long)last - 1,
                                                     (long long)last));
    live_close(&c);
    c = events(arena_printf(&fix_arena, "since=%lld", (long long)last - 1), "Last-Event-ID: \r\n");
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)last));
    live_close(&c);
}

static void changes_is_a_stream_for_who_accepts_one(void **state)
{
    (void)state;
    struct live c = live_open(live_sock, "/changes", "since=0&limit=2",
                              "Accept: text/event-stream, */*;q=0.1\r\n");
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    live_close(&c);
    refused("/changes", "limit=1", "Accept: application/json, text/event-stream\r\n", 200,
            "{\"results\":[{\"seq\"");
    refused("/changes", "limit=1&f=csv", "Accept: text/event-stream\r\n", 200, "seq,");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    refused("/changes/stream", "since=x", NULL, 400, "\"field\":\"since\"");
    refused("/changes/stream", "since=-1", NULL, 400, "\"code\":\"INVALID\"");
    refused("/changes/stream", "since=99999999", NULL, 400, "lies in the future");
    refused("/changes/stream", "since=0", "Last-Event-ID: soon\r\n", 400, "Last-Event-ID");
    refused("/changes/stream", "", "Last-Event-ID: 99999999\r\n", 400,
            "\"field\":\"Last-Event-ID\"");
    refused("/changes/stream", "since=0", "Last-Event-ID: 1\r\nLast-Event-ID: 2\r\n", 400, "twice");
    refused("/changes/stream", "colour=red", NULL, 400, "colour");
    refused("/changes/stream", "limit=1", NULL, 400, "limit");
    refused("/changes/stream", "type=odd", NULL, 400, "must be among");
    refused("/changes/stream", "", "Accept: image/png\r\n", 406, "text/event-stream");
    refused("/changes", "order=desc", "Accept: text/event-stream\r\n", 400, "forward only");
    refused("/changes/other", "", NULL, 404, "NOT_FOUND");
    sql("UPDATE public_meta SET first_seq = 5, generation = generation + 1");
    refused("/changes/stream", "since=3", NULL, 410, "\"first_seq\":\"5\"");
    refused("/changes/stream", "", "Last-Event-ID: 3\r\n", 410, "\"first_seq\":\"5\"");
    refused("/changes", "feed=longpoll&since=3", NULL, 410, "\"first_seq\":\"5\"");
    sql("UPDATE public_meta SET first_seq = 1, generation = generation + 1");
}

static void other_methods_are_answered(void **state)
{
    (void)state;
    struct live c = live_ask(live_sock, "HEAD", "/changes/stream", "", NULL);
    assert_true(live_finish(&c));
    assert_int_equal(c.status, 200);
    live_close(&c);
    c = events("", "If-None-Match: *\r\n"); /* what is to come, nobody has */
    await(&c, "retry: ");
    assert_int_equal(c.status, 200);
    live_close(&c);
    c = live_ask(live_sock, "OPTIONS", "/changes/stream", "", NULL);
    assert_true(live_finish(&c));
    assert_int_equal(c.status, 204);
    assert_non_null(strstr(c.raw, "\r\nAllow: GET, HEAD, OPTIONS\r\n"));
    live_close(&c);
    c = live_ask(live_sock, "DELETE", "/changes/stream", "", NULL);
    assert_true(live_finish(&c));
    assert_int_equal(c.status, 405);
    live_close(&c);
}

static void a_silent_stream_gives_signs_of_life_and_moves_the_id(void **state)
{
    (void)state;
    struct live c = events("source=rivers", NULL);
    await(&c, "\n\n:\n\n:\n\n");
    publish_one();
    await(&c, arena_printf(&fix_arena, ":\nid: %lld\n\n", (long long)tip()));
    assert_string_equal(ids_of(c.text), "");
    live_close(&c);
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Entries of all kinds, some of them without what a level withholds. */
static void plant(void)
{
    sql(arena_printf(
        &fix_arena,
        "BEGIN IMMEDIATE;"
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO public_changes SELECT (SELECT last_seq FROM public_meta) + i, 'evt_planted_' || i, 0,"
        " 'planted-' || (i %% 7), CASE i %% 5 WHEN 0 THEN '' ELSE 'c' || (i %% 5) END,"
        " CASE i %% 4 WHEN 0 THEN 'new' WHEN 1 THEN 'modified' WHEN 2 THEN 'deleted' ELSE '' END,"
        " CASE i %% 3 WHEN 0 THEN 'content' WHEN 1 THEN 'schema' ELSE 'new' END,"
        " CASE i %% 2 WHEN 0 THEN 'etag' ELSE '' END, 1782000000000 + i * 3600000,"
        " (SELECT generation FROM public_meta) + 1, CASE i %% 3 WHEN 2 THEN NULL ELSE i %% 3 END,"
        " CASE WHEN i %% 4 THEN i %% 360 - 180 END, CASE WHEN i %% 4 THEN i %% 90 - 45 END,"
        " CASE WHEN i %% 4 THEN i %% 360 - 175 END, CASE WHEN i %% 4 THEN i %% 90 - 40 END,"
        " json_set((SELECT doc FROM public_changes WHERE event_id LIKE 'evt_2%%' LIMIT 1),"
        " '$.change_event_id', 'evt_20260101T000000Z_' || printf('%%06x', i),"
        " '$.title', 'planted ' || hex(zeroblob(700))) FROM n;"
        "UPDATE public_meta SET last_seq = last_seq + %d, generation = generation + 1; COMMIT",
        PLANTED, PLANTED));
}

static void drop_planted(void)
{
    sql("BEGIN IMMEDIATE; DELETE FROM public_changes WHERE event_id LIKE 'evt_planted%';"
        "UPDATE public_meta SET generation = generation + 1; COMMIT");
}

/* All at once: who is not read is dropped. The first sign of life tells that all was sent. */
static void read_until_silent(struct live *c, size_t n)
{
    int64_t end = clock_mono() + WAIT_MS;
    for (size_t silent = 0; silent < n && clock_mono() < end;) {
        silent = 0;
        for (size_t i = 0; i < n; i++) {
            live_read(&c[i], 1);
            silent += strstr(c[i].text, "\n\n:\n") != NULL;
        }
    }
}

/* The tail filters in memory, what lies before it is filtered by the ledger: both must agree
 * with pages. */
static void filters_are_those_of_the_page(void **state)
{
    static const char *const queries[] = {"source=planted-3",
                                          "source=planted-1,planted-2,roads",
                                          "source=planted-1&collection=c1,c2",
                                          "collection=c1",
                                          "collection=c1,c3&type=new",
                                          "type=new,modified",
                                          "class=schema",
                                          "detector=etag",
                                          "detector=etag&unexpected=true",
                                          "unexpected=false",
                                          "unexpected=true",
                                          "bbox=-20,-20,20,20",
                                          "bbox=170,-60,-170,60",
                                          "bbox=-20,-20,20,20&type=deleted&class=new,content",
                                          "datetime=2026-06-23T00:00:00Z/2026-07-02T00:00:00Z",
                                          "datetime=2026-07-05T00:00:00Z/..",
                                          "source=nobody",
                                          "type=rollback"};
    struct live c[ARRAY_LEN(queries)];
    (void)state;
    plant();
    for (size_t i = 0; i < ARRAY_LEN(queries); i++)
        c[i] = events(arena_printf(&fix_arena, "since=0&%s", queries[i]), NULL);
    read_until_silent(c, ARRAY_LEN(queries));
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        const char *page = arena_printf(&fix_arena, "since=0&limit=1000&%s", queries[i]);
        if (strcmp(ids_of(c[i].text), ids_of_page(page)) != 0)
            fail_msg("%s:\nstream %s\npage   %s", queries[i], ids_of(c[i].text), ids_of_page(page));
        live_close(&c[i]);
    }
}

/* ---- clients that do not behave -------------------------------------------------------------- */

/* It is dropped, what it got is whole events and a part of one, and by its id it gets the rest. */
static void who_does_not_read_is_dropped_and_comes_back(void **state)
{
    int64_t dropped = numbers().dropped, end = clock_mono() + WAIT_MS;
    (void)state;
    struct live c = events("since=0", NULL);
    while (numbers().dropped == dropped)
        if (clock_mono() > end)
            fail_msg("it is still served");
    while (live_read(&c, 100))
        ;
    assert_true(c.over && !c.whole);
    const char *got = ids_of(c.text), *all = ids_of_page("since=0&limit=1000");
    char *cut = strrchr(c.text, '\n');
    assert_true(cut && strlen(got) < strlen(all));
    /* What a reader of events would have as its last id: that of the last block that ended. */
    char *end_of_last = c.text, *next;
    while ((next = strstr(end_of_last, "\n\n")))
        end_of_last = next + 2;
    *end_of_last = 0;
    const char *had = ids_of(c.text);
    const char *last =
        strrchr(arena_printf(&fix_arena, " %.*s", (int)strlen(had) - 1, had), ' ') + 1;
    struct live again = events("since=0", arena_printf(&fix_arena, "Last-Event-ID: %s\r\n", last));
    await(&again, arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    assert_string_equal(arena_printf(&fix_arena, "%s%s", had, ids_of(again.text)), all);
    live_close(&again);
    live_close(&c);
}

/* What was withdrawn is not sent from memory, and a cursor in the hole goes on. */
static void what_was_withdrawn_is_not_sent_again(void **state)
{
    (void)state;
    int64_t last = tip();
    struct live c = events(arena_printf(&fix_arena, "since=%lld", (long long)last - 5), NULL);
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)last));
    live_close(&c);
    drop_planted();
    c = events("since=0", NULL);
    await(&c, arena_printf(&fix_arena, ":\nid: %lld\n\n", (long long)last));
    assert_null(strstr(c.text, "planted"));
    live_close(&c);
    c = events(arena_printf(&fix_arena, "since=%lld", (long long)last - 5), NULL);
    publish_one();
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    assert_string_equal(ids_of(c.text), arena_printf(&fix_arena, "%lld ", (long long)last + 1));
    live_close(&c);
}

/* An entry of the tail that was rewritten (a level was raised) is sent as it is now. */
static void what_was_rewritten_is_sent_as_it_is(void **state)
{
    (void)state;
    int64_t last = tip();
    const char *query = arena_printf(&fix_arena, "since=%lld", (long long)last - 1);
    struct live c = events(query, NULL);
    await(&c, "\"source_uri\":\"https://data.example/roads\"");
    live_close(&c);
    sql(arena_printf(
        &fix_arena,
        "BEGIN IMMEDIATE; UPDATE public_meta SET generation = generation + 1;"
        "UPDATE public_changes SET doc = json_set(doc, '$.title', 'rewritten', '$.source_uri',"
        " 'https://other.example/roads'), gen = (SELECT"
        " generation FROM public_meta) WHERE seq = %lld; COMMIT",
        (long long)last));
    c = events(query, NULL);
    await(&c, "data: {\"seq\":");
    assert_non_null(strstr(c.text, "rewritten"));
    assert_null(strstr(c.text, "data.example"));
    live_close(&c);
    sql(arena_printf(&fix_arena, "DELETE FROM public_changes WHERE seq = %lld", (long long)last));
    sql("UPDATE public_meta SET generation = generation + 1");
}

/* ---- many ------------------------------------------------------------------------------------ */

static void many_clients_get_it_all(void **state)
{
    static struct live many[MANY];
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        many[i] = events(i % 3 ? "" : "source=roads", NULL);
    for (size_t i = 0; i < MANY; i++)
        await(&many[i], text_of_id(tip()));
    await_streams(MANY);
    publish_one();
    for (size_t i = 0; i < MANY; i++)
        await(&many[i], arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    struct live last = events("", NULL);
    await(&last, "retry: ");
    refused("/changes/stream", "", NULL, 503, "No more clients");
    struct answer a = get("/metrics", "");
    assert_non_null(strstr(a.body, "\nfreshet_stream_clients{kind=\"events\"} 60"));
    answer_free(&a);
    for (size_t i = 0; i < MANY; i++)
        live_close(&many[i]);
    await_streams(1); /* who hangs up while waiting is noticed */
    live_close(&last);
    await_streams(0);
}

/* Nothing stands in the way of the write-ahead log while clients wait. */
static void waiting_holds_no_read_open(void **state)
{
    (void)state;
    struct live c = events("", NULL);
    await(&c, text_of_id(tip()));
    publish_one();
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    char path[128];
    sqlite3 *db = NULL;
    int frames = -1, done = -1;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT 1 FROM public_meta", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &frames, &done), SQLITE_OK);
    assert_int_equal(frames, 0);
    sqlite3_close(db);
    publish_one();
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)tip()));
    live_close(&c);
}

/* ---- long polls ------------------------------------------------------------------------------ */

static struct live poll_for(const char *query, const char *headers)
{
    return live_open(live_sock, "/changes", arena_printf(&fix_arena, "feed=longpoll&%s", query),
                     headers);
}

static const char *etag_of(const struct live *c)
{
    const char *at = strstr(c->raw, "\r\nETag: ");
    return at ? arena_printf(&fix_arena, "%.*s", (int)strcspn(at + 8, "\r"), at + 8) : "";
}

static void a_long_poll_waits_for_what_fits(void **state)
{
    (void)state;
    int64_t last = tip();
    struct live c =
        poll_for(arena_printf(&fix_arena, "since=%lld&timeout=20000", (long long)last), NULL);
    await_polls(1);
    assert_false(live_read(&c, 0));
    publish_one();
    assert_true(live_finish(&c));
    assert_int_equal(c.status, 200);
    struct answer page = get("/changes", arena_printf(&fix_arena, "since=%lld", (long long)last));
    assert_string_equal(c.text, page.body);
    assert_string_equal(etag_of(&c), answer_header(&page, "ETag"));
    assert_non_null(strstr(c.raw, "\r\nX-Poll-Interval: "));
    assert_non_null(strstr(c.raw, "\r\nX-Last-Seq: "));
    answer_free(&page);
    live_close(&c);
    int64_t begun = clock_mono();
    c = poll_for("source=rivers&timeout=300", NULL);
    assert_true(live_finish(&c));
    assert_true(clock_mono() - begun >= 300);
    assert_int_equal(c.status, 200);
    assert_non_null(strstr(c.text, "{\"results\":[],\"last_seq\":"));
    live_close(&c);
}

/* Named or not, `now` is when the request came. */
static void now_is_when_it_came(void **state)
{
    static const char *const queries[] = {"timeout=20000", "since=now&timeout=20000"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        struct live c = poll_for(queries[i], NULL);
        await_polls(1);
        publish_one();
        assert_true(live_finish(&c));
        assert_non_null(strstr(
            c.text, arena_printf(&fix_arena, "{\"results\":[{\"seq\":\"%lld\"", (long long)tip())));
        live_close(&c);
    }
}

static void a_long_poll_may_be_answered_at_once(void **state)
{
    (void)state;
    struct live c = poll_for("since=0&limit=2&timeout=20000", NULL);
    assert_true(live_finish(&c));
    struct answer page = get("/changes", "since=0&limit=2");
    assert_string_equal(c.text, page.body);
    answer_free(&page);
    live_close(&c);
    c = poll_for("since=now&timeout=0", NULL);
    assert_true(live_finish(&c));
    assert_int_equal(c.status, 200);
    const char *query = arena_printf(&fix_arena, "since=%lld&timeout=100", (long long)tip());
    live_close(&c);
    c = poll_for(query, NULL);
    assert_true(live_finish(&c));
    const char *tag = arena_printf(&fix_arena, "If-None-Match: %s\r\n", etag_of(&c));
    live_close(&c);
    c = poll_for(query, tag);
    assert_true(live_finish(&c));
    assert_int_equal(c.status, 304);
    live_close(&c);
    refused("/changes", "feed=longpoll&timeout=-1", NULL, 400, "timeout");
    refused("/changes", "feed=longpoll&since=x", NULL, 400, "since");
    refused("/changes", "feed=longpoll&colour=x", NULL, 400, "colour");
    refused("/changes", "feed=shortpoll", NULL, 400, "must be longpoll");
    refused("/changes", "timeout=5", "Accept: application/json, text/event-stream\r\n", 400,
            "feed=longpoll");
}

/* ---- the end --------------------------------------------------------------------------------- */

static void a_stop_ends_waits_and_nothing_is_lost(void **state)
{
    (void)state;
    int64_t last = tip();
    struct live c = events("", NULL), p = poll_for("timeout=20000", NULL);
    await(&c, text_of_id(last));
    await_polls(1);
    assert_int_equal(stop(live_pid), 0);
    assert_true(live_finish(&c)); /* the last chunk came: the client knows that this was all */
    assert_true(live_finish(&p));
    assert_int_equal(p.status, 200);
    live_close(&p);
    live_close(&c);
    publish_one();
    start_live();
    c = events("", arena_printf(&fix_arena, "Last-Event-ID: %lld\r\n", (long long)last));
    await(&c, arena_printf(&fix_arena, "id: %lld\nevent", (long long)last + 1));
    assert_string_equal(ids_of(c.text), arena_printf(&fix_arena, "%lld ", (long long)last + 1));
    live_close(&c);
}

static void a_second_one_is_refused(void **state)
{
    int status = -1;
    (void)state;
    pid_t second = start("freshet-stream", "second.log");
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    struct live c = events("", NULL);
    await(&c, "retry: ");
    live_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_begins_at_the_tip_and_grows),
        cmocka_unit_test(everything_since_comes_once_and_in_order),
        cmocka_unit_test(last_event_id_beats_since),
        cmocka_unit_test(changes_is_a_stream_for_who_accepts_one),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(other_methods_are_answered),
        cmocka_unit_test(a_silent_stream_gives_signs_of_life_and_moves_the_id),
        cmocka_unit_test(a_long_poll_waits_for_what_fits),
        cmocka_unit_test(now_is_when_it_came),
        cmocka_unit_test(a_long_poll_may_be_answered_at_once),
        cmocka_unit_test(waiting_holds_no_read_open),
        cmocka_unit_test(many_clients_get_it_all),
        cmocka_unit_test(a_stop_ends_waits_and_nothing_is_lost),
        cmocka_unit_test(a_second_one_is_refused),
        cmocka_unit_test(filters_are_those_of_the_page),
        cmocka_unit_test(who_does_not_read_is_dropped_and_comes_back),
        cmocka_unit_test(what_was_withdrawn_is_not_sent_again),
        cmocka_unit_test(what_was_rewritten_is_sent_as_it_is),
    };
    return cmocka_run_group_tests(tests, make_live, drop_live);
}

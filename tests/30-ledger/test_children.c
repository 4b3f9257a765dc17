/* test_children: entries of a listing and vintages of a template become sources under their parent,
 * once each, at its level, whatever happens (handler/children.h). */
#include "tests/30-ledger/world.h"

#include "core/listing.h"
#include "handler/children.h"

#define BIG 4096

/* ---- parents --------------------------------------------------------------------------------- */

static struct source declare(const char *json)
{
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, 1000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

static const char *parent_json(const char *level, const char *more)
{
    return arena_printf(&fix_arena,
                        "{\"id\":\"idx\",\"title\":\"Index\",\"url\":\"http://127.0.0.1:%d/index\","
                        "\"detector\":\"manifest\",\"sensitivity\":\"%s\",\"collection\":\"tests\","
                        "\"media_type\":\"text/html\",\"license\":\"CC0-1.0\"%s}",
                        server.port, level, more);
}

static struct source add_parent(const char *level)
{
    return declare(parent_json(level, ""));
}

/* "key=version key=version ...": a listing of these, at /key of our server unless it says more. */
static struct str listing_text(const char *words)
{
    struct listing l;
    struct buf b;
    struct str rest = str_of(words), word, key;
    listing_init(&l, &fix_arena);
    while (str_next(&rest, ' ', &word)) {
        (void)str_next(&word, '=', &key);
        struct listing_entry e = {
            .key = arena_str(&fix_arena, key), .version = arena_str(&fix_arena, word), .size = -1};
        e.url = arena_printf(&fix_arena, "http://127.0.0.1:%d/%s", server.port, e.key);
        OK(listing_add(&l, &e, &fix_err));
    }
    OK(listing_close(&l, &fix_err));
    buf_init(&b, LISTING_BYTES_MAX);
    OK(listing_write(&l, &b, &fix_err));
    struct str text = {arena_str(&fix_arena, buf_view(&b)), b.len};
    buf_release(&b);
    return text;
}

/* The detector has read all pages. */
static const char *listed_text(const struct source *s, struct str text, bool spooled)
{
    static struct check_result r;
    r = fix_result(s, OUTCOME_changed, 0);
    r.detector = "manifest";
    digest_sha256(text.p, text.n, &r.sha);
    r.state.seen_sha = r.sha;
    snprintf(r.state.cursor, sizeof r.state.cursor, "page-9");
    if (spooled)
        spool(text.p, text.p);
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    return r.event_id;
}

static const char *listed(const struct source *s, const char *words)
{
    return listed_text(s, listing_text(words), true);
}

static const char *vintage(const struct source *s, const char *year)
{
    static struct check_result r;
    r = fix_result(s, OUTCOME_new, 0);
    r.has_sha = r.state.has_seen = false;
    r.hint = year;
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    return r.event_id;
}

static enum rc count_one(void *ctx, const struct source *s, struct err *err)
{
    (void)s, (void)err;
    ++*(int *)ctx;
    return RC_OK;
}

static int children(const struct source *parent)
{
    int n = 0;
    OK(source_each_child(led, parent->no, count_one, &n, &fix_err));
    return n;
}

static const char *shown(const char *id)
{
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_source_row row;
    struct err none;
    enum rc rc = public_source_get(r, &fix_arena, str_of(id), &row, &none);
    ledger_close(&r);
    return rc == RC_OK ? row.d.doc.p : NULL;
}

/* As `freshet source set` does it. */
static void set_parent(struct source *s, const char *json)
{
    struct source now;
    yyjson_val *v;
    OK(json_parse(&fix_arena, str_of(json), 0, "test", &v, &fix_err));
    OK(source_parse(&fix_arena, v, &now, &fix_err));
    now.no = s->no;
    OK(ledger_begin(led, &fix_err));
    OK(source_put(led, &now, 5000, &fix_err));
    OK(project_all_of_source(led, &inst, &now, 5000, &fix_err));
    OK(children_set(led, &inst, &now, s->level, 5000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    *s = now;
}

/* ---- listings -------------------------------------------------------------------------------- */

static void entries_become_sources_with_versions(void **state)
{
    struct source s = declare(
        parent_json("public", ",\"manifest\":{\"format\":\"html\"},\"poll_interval_s\":60"));
    (void)state;
    serve("a.json", BODY_A);
    serve("Big%20B.json", BODY_B);
    const char *event = listed(&s, "a.json=1 Big%20B.json=1");
    struct work_counts n = drain();
    assert_int_equal(n.done, 3); /* the listing, then both */
    struct source a = child_of(&s, "a.json"), b = child_of(&s, "Big%20B.json");
    assert_string_equal(a.id, "idx-a-json");
    assert_string_equal(b.id, "idx-big-20b-json");
    assert_string_equal(a.title, "Index: a.json");
    assert_string_equal(a.detector, "etag");
    assert_string_equal(a.collection, "tests");
    assert_string_equal(a.license, "CC0-1.0");
    assert_string_equal(a.media_type, ""); /* that was the index's */
    assert_string_equal(a.manifest.format, "");
    assert_int_equal(a.poll_interval_s, 0);
    assert_true(a.n_triggers == 1 && a.triggers[0].type == TRIGGER_MANUAL);
    assert_head(&a, 1, BODY_A);
    assert_head(&b, 1, BODY_B);
    assert_holds(shown("idx-a-json"), "\"parent\":\"idx\"");
    assert_holds(shown("idx-a-json"), "\"rel\":\"up\"");
    assert_holds(shown("idx"), "\"parent\":null");

    struct change c = change_of(event);
    assert_holds(c.entry.p, "\"features\":{\"total\":2,\"added\":2,\"removed\":0,\"modified\":0}");
    assert_holds(c.delta.p, arena_printf(&fix_arena, "\"manifest\":\"man_%s\"", c.run_id));
    struct check_state st;
    OK(check_state_get(led, a.no, &st, &fix_err));
    assert_true(st.reached_at >= 0 && st.checked_at >= 0); /* the handler has reached it */
}

static void only_what_moved_is_news(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    for (const char *p = "a\0b\0c\0d\0"; *p; p += 2)
        serve(p, BODY_A);
    listed(&s, "a=1 b=1 c=1");
    assert_int_equal(drain().done, 4);
    int requests = server_count(&server, &server.requests);
    serve("b", BODY_B);
    const char *event = listed(&s, "a=1 b=2 d=1"); /* b modified, c removed, d added */
    struct work_counts n = drain();
    assert_int_equal(n.done, 4);
    assert_int_equal(server_count(&server, &server.requests), requests + 2);
    struct source a = child_of(&s, "a"), b = child_of(&s, "b"), c = child_of(&s, "c");
    assert_head(&a, 1, BODY_A);
    assert_head(&b, 2, BODY_B);
    assert_true(head_of(&c).deleted);
    assert_int_equal(children(&s), 4);
    assert_holds(change_of(event).entry.p,
                 "\"features\":{\"total\":3,\"added\":1,\"removed\":1,\"modified\":1}");
}

static void entry_that_returns_goes_on_with_its_child(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    serve("a", BODY_A);
    serve("b", BODY_A);
    listed(&s, "a=1 b=1");
    assert_int_equal(drain().done, 3);
    struct source b = child_of(&s, "b");
    listed(&s, "a=1");
    assert_int_equal(drain().done, 2);
    assert_true(head_of(&b).deleted);
    struct check_state st;
    OK(check_state_get(led, b.no, &st, &fix_err));
    assert_false(st.has_seen);
    listed(&s, "a=1 b=1");
    assert_int_equal(drain().done, 2);
    assert_int_equal(child_of(&s, "b").no, b.no);
    assert_false(head_of(&b).deleted);
    assert_int_equal(head_of(&b).version, 3);
}

/* The same listing again, and news that come before the work on the last ones is done. */
static void duplicates_and_backlogs_make_nothing_twice(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    serve("a", BODY_A);
    serve("b", BODY_A);
    listed(&s, "a=1");
    assert_int_equal(drain().done, 2);
    assert_int_equal(drain().done, 0);
    listed(&s, "a=1");
    assert_int_equal(drain().noop, 1); /* SAME_AS_HEAD */
    listed(&s, "b=1");
    listed(&s, "a=1 b=2");
    struct work_counts n = drain();
    /* Whoever is at work on a child while its listing moves it has to look again: n.retry. */
    assert_int_equal(n.failed + n.dead, 0);
    assert_int_equal(children(&s), 2);
    struct source a = child_of(&s, "a"), b = child_of(&s, "b");
    assert_head(&a, 3, BODY_A); /* gone and back */
    assert_head(&b, 1, BODY_A);
}

static void entry_that_moves_takes_its_child_along(void **state)
{
    struct source s = add_parent("public");
    struct listing l;
    struct buf b;
    (void)state;
    serve("a", BODY_A);
    listed(&s, "a=1");
    assert_int_equal(drain().done, 2);
    listing_init(&l, &fix_arena);
    struct listing_entry e = {.key = "a", .version = "1", .size = -1};
    e.url = arena_printf(&fix_arena, "http://127.0.0.1:%d/elsewhere/{year}", server.port);
    OK(listing_add(&l, &e, &fix_err));
    OK(listing_close(&l, &fix_err));
    buf_init(&b, BIG);
    OK(listing_write(&l, &b, &fix_err));
    listed_text(&s, (struct str){arena_str(&fix_arena, buf_view(&b)), b.len}, true);
    buf_release(&b);
    serve("elsewhere/%7byear%7d", BODY_B);
    assert_int_equal(drain().done, 2);
    struct source a = child_of(&s, "a");
    assert_string_equal(a.id, "idx-a");
    assert_true(str_ends(str_of(a.url), STR("/elsewhere/%7byear%7d")));
    assert_false(source_is_template(&a));
    assert_head(&a, 2, BODY_B);
}

/* I12: what the parent shows its own server is not shown to another one. */
static void headers_stay_at_the_origin(void **state)
{
    struct source s =
        declare(parent_json("public", ",\"headers\":{\"X-Key\":\"secret:key\",\"X-Plain\":\"p\"}"));
    struct listing l;
    struct buf b;
    (void)state;
    static const char *const urls[] = {"http://127.0.0.1:%d/same", "http://127.0.0.1:%d1/port",
                                       "http://127.0.0.1.evil.example:%d/host",
                                       "https://127.0.0.1:%d/scheme"};
    listing_init(&l, &fix_arena);
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        char *url = arena_strdup(&fix_arena, urls[i]), *mark = strstr(url, "%d");
        struct listing_entry e = {.key = strrchr(url, '/') + 1, .version = "1", .size = -1};
        e.url = arena_printf(&fix_arena, "%.*s%d%s", (int)(mark - url), url, server.port, mark + 2);
        OK(listing_add(&l, &e, &fix_err));
    }
    OK(listing_close(&l, &fix_err));
    buf_init(&b, BIG);
    OK(listing_write(&l, &b, &fix_err));
    listed_text(&s, (struct str){arena_str(&fix_arena, buf_view(&b)), b.len}, true);
    buf_release(&b);
    struct worker *w = NULL;
    enum work_result r;
    OK(worker_new(led, &inst, &w, &fix_err));
    OK(work_one(w, &r, &fix_err));
    worker_free(&w);
    assert_int_equal(r, WORK_PROMOTED);
    assert_int_equal(child_of(&s, "same").n_headers, 2);
    assert_int_equal(child_of(&s, "port").n_headers, 0);
    assert_int_equal(child_of(&s, "host").n_headers, 0);
    assert_int_equal(child_of(&s, "scheme").n_headers, 0);
    OK(ledger_begin(led, &fix_err)); /* what is left is not for this test */
    OK(children_retire(led, &inst, s.no, 3000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(drain().noop, 4);
}

/* Keys that look alike, are long, or are taken by hand. */
static void ids_are_unique_and_short(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    declare(arena_printf(&fix_arena, "{\"id\":\"idx-taken\",\"url\":\"http://127.0.0.1:%d/x\"}",
                         server.port));
    listed(&s, "x.y=1 X.Y=1 x/y=1 taken=1 ...=1");
    struct work_counts n = drain();
    assert_int_equal(n.done, 1);
    assert_int_equal(children(&s), 5);
    assert_string_equal(child_of(&s, "X.Y").id, "idx-x-y"); /* upper case sorts first */
    assert_true(strlen(child_of(&s, "x.y").id) == strlen("idx-x-y-12345678"));
    assert_string_not_equal(child_of(&s, "x.y").id, child_of(&s, "x/y").id);
    assert_string_not_equal(child_of(&s, "taken").id, "idx-taken");
    assert_true(strlen(child_of(&s, "...").id) == strlen("idx-12345678"));
    char key[200];
    memset(key, 'k', sizeof key);
    memcpy(key + 198, "1\0", 2);
    char *first = arena_strdup(&fix_arena, key);
    key[197] = 'z';
    char *second = arena_strdup(&fix_arena, key);
    listed(&s, arena_printf(&fix_arena, "%s=1 %s=1", first, second));
    n = drain();
    assert_int_equal(strlen(child_of(&s, first).id), 64);
    assert_int_equal(strlen(child_of(&s, second).id), 64);
    assert_string_not_equal(child_of(&s, first).id, child_of(&s, second).id);
}

/* An entry that can be no source keeps nobody else from being one. */
static void unusable_entry_is_left_out_on_record(void **state)
{
    struct source s = add_parent("public");
    struct listing l;
    struct buf b;
    (void)state;
    serve("good", BODY_A);
    listing_init(&l, &fix_arena);
    const struct listing_entry bad = {.key = "bad", .url = "ftp://h/x", .size = -1};
    struct listing_entry good = {.key = "good", .size = 15};
    good.url = arena_printf(&fix_arena, "http://127.0.0.1:%d/good", server.port);
    OK(listing_add(&l, &bad, &fix_err));
    OK(listing_add(&l, &good, &fix_err));
    OK(listing_close(&l, &fix_err));
    buf_init(&b, BIG);
    OK(listing_write(&l, &b, &fix_err));
    listed_text(&s, (struct str){arena_str(&fix_arena, buf_view(&b)), b.len}, true);
    buf_release(&b);
    assert_int_equal(drain().done, 2);
    assert_int_equal(children(&s), 1);
    assert_int_equal(ask_number("SELECT count(*) FROM replay_log WHERE kind = 'entry.refused'"), 1);
}

/* A detector is not trusted: what is no canonical listing is not promoted. */
static void only_canonical_listings_are_promoted(void **state)
{
    struct source s = add_parent("public");
    static const char *const wrong[] = {
        "{\"entries\":[]}", "[]",
        /* a checksum of something else */
        "{\"checksum\":\"sha256:0000000000000000000000000000000000000000000000000000000000000000\","
        "\"count\":0,\"entries\":[],\"listing_version\":1}",
        /* right, but for the count */
        "{\"checksum\":\"sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\","
        "\"count\":1,\"entries\":[],\"listing_version\":1}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        const char *event = listed_text(&s, str_of(wrong[i]), true);
        assert_int_equal(drain().failed, 1);
        assert_string_equal(change_of(event).reason, "PARSE_ERROR");
    }
    assert_int_equal(head_of(&s).version, 0);
    listed(&s, ""); /* an empty listing is one */
    assert_int_equal(drain().done, 1);
}

/* The handler cannot make a listing, so the next check must. */
static void lost_listing_is_looked_for_again(void **state)
{
    struct source s = add_parent("public");
    struct check_state st;
    (void)state;
    clock_set(7000);
    const char *event = listed_text(&s, listing_text("a=1"), false);
    OK(check_state_get(led, s.no, &st, &fix_err));
    assert_true(st.has_seen && st.cursor[0]);
    assert_int_equal(drain().failed, 1);
    assert_string_equal(change_of(event).reason, "SPOOL_LOST");
    OK(check_state_get(led, s.no, &st, &fix_err));
    assert_false(st.has_seen || st.cursor[0] || st.etag[0]);
    assert_int_equal(st.next_check_at, 7000);
    assert_int_equal(server_count(&server, &server.requests), 0); /* the index is no listing */
    serve("a", BODY_A);
    listed(&s, "a=1");
    assert_int_equal(drain().done, 2);
}

static void listing_that_is_gone_keeps_its_children(void **state)
{
    struct source s = add_parent("public");
    static struct check_result r;
    (void)state;
    serve("a", BODY_A);
    listed(&s, "a=1");
    assert_int_equal(drain().done, 2);
    r = fix_result(&s, OUTCOME_gone, 0);
    r.has_sha = r.state.has_seen = false;
    r.deleted = true;
    r.hint = "deleted";
    OK(check_commit(led, &r, 1, 2000, &fix_err));
    assert_int_equal(drain().done, 1);
    assert_true(head_of(&s).deleted);
    struct source a = child_of(&s, "a");
    assert_head(&a, 1, BODY_A);
    listed(&s, "a=1"); /* back, with the same entries: no news of them */
    assert_int_equal(drain().done, 1);
    assert_head(&a, 1, BODY_A);
}

static void retired_children_stay_retired(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    serve("a", BODY_A);
    serve("b", BODY_A);
    listed(&s, "a=1 b=1");
    assert_int_equal(drain().done, 3);
    struct source a = child_of(&s, "a");
    OK(ledger_begin(led, &fix_err));
    OK(source_retire(led, a.no, 3000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    listed(&s, "a=2 b=1");
    struct work_counts n = drain();
    assert_int_equal(n.done, 1);
    assert_int_equal(n.noop, 0); /* no candidate was made for it */
    OK(ledger_begin(led, &fix_err));
    OK(source_retire(led, s.no, 4000, &fix_err));
    OK(children_retire(led, &inst, s.no, 4000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(child_of(&s, "a").retired_at, 3000);
    assert_int_equal(child_of(&s, "b").retired_at, 4000);
    assert_holds(shown("idx-b"), "\"retired\":true");
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void children_of_a_sovereign_parent_leave_no_public_trace(void **state)
{
    struct source s = add_parent("sovereign");
    struct public_meta before = meta_now();
    (void)state;
    serve("canary", BODY_A);
    const char *event = listed(&s, "canary=1");
    assert_int_equal(drain().held, 1);
    assert_int_equal(children(&s), 0); /* the listing waits, and so do its entries */
    fix_decide(led, event, true, "Steward", "yes", 3000);
    struct work_counts n = drain();
    assert_int_equal(n.done, 1);
    assert_int_equal(n.held, 1);
    struct source c = child_of(&s, "canary");
    assert_int_equal(c.level, LEVEL_SOVEREIGN);
    assert_null(strstr(c.id, "canary"));
    assert_null(shown(c.id));
    assert_int_equal(meta_now().generation, before.generation);
    assert_int_equal(feed_length(), 0);
    assert_int_equal(files_in("store/public"), 0);
}

static void keys_show_at_level_public_only(void **state)
{
    struct source s = add_parent("generalized");
    (void)state;
    serve("canary", BODY_A);
    listed(&s, "canary=1");
    assert_int_equal(drain().done, 2);
    struct source c = child_of(&s, "canary");
    assert_null(strstr(c.id, "canary"));
    assert_string_equal(c.title, "Index");
    assert_null(strstr(shown(c.id), "canary"));
    struct head h = head_of(&s);
    struct ledger *r = fix_open(LEDGER_READ);
    struct public_doc d;
    OK(public_delta_get(r, &fix_arena, str_of(arena_printf(&fix_arena, "dlt_%s", h.run_id)), &d,
                        &fix_err));
    ledger_close(&r);
    assert_null(strstr(d.doc.p, "\"manifest\""));
}

static void raised_level_reaches_the_children_at_once(void **state)
{
    struct source s = add_parent("public");
    (void)state;
    serve("a", BODY_A);
    serve("b", BODY_A);
    listed(&s, "a=1 b=1");
    assert_int_equal(drain().done, 3);
    assert_int_equal(feed_length(), 3);
    set_parent(&s, parent_json("sovereign", ""));
    assert_int_equal(child_of(&s, "a").level, LEVEL_SOVEREIGN);
    assert_null(shown("idx-a"));
    assert_null(shown("idx-b"));
    assert_int_equal(feed_length(), 0);
    assert_int_equal(ask_number("SELECT (SELECT count(*) FROM public_prov) + (SELECT count(*) FROM"
                                " public_deltas) + (SELECT count(*) FROM public_items) + (SELECT"
                                " count(*) FROM public_assets) + (SELECT count(*) FROM"
                                " public_collections)"),
                     0); /* the last source of a collection takes it along */
    set_parent(&s, parent_json("generalized", "")); /* down again, with those that had its level */
    assert_int_equal(child_of(&s, "a").level, LEVEL_GENERALIZED);
    assert_non_null(shown("idx-a"));
    assert_null(strstr(shown("idx-a"), "Index: a"));
    /* One that is stricter by hand does not come down. */
    struct source a = child_of(&s, "a");
    yyjson_val *v;
    struct source hand;
    OK(json_parse(
        &fix_arena,
        str_of("{\"id\":\"idx-a\",\"url\":\"http://127.0.0.1/a\",\"collection\":\"tests\","
               "\"sensitivity\":\"restricted\"}"),
        0, "test", &v, &fix_err));
    OK(source_parse(&fix_arena, v, &hand, &fix_err));
    hand.no = a.no;
    hand.parent_no = s.no;
    OK(ledger_begin(led, &fix_err));
    OK(source_put(led, &hand, 6000, &fix_err));
    OK(project_all_of_source(led, &inst, &hand, 6000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    set_parent(&s, parent_json("public", ",\"freshness_days\":9"));
    assert_int_equal(child_of(&s, "a").level, LEVEL_RESTRICTED);
    assert_int_equal(child_of(&s, "b").level, LEVEL_PUBLIC);
    assert_int_equal(child_of(&s, "b").freshness_days, 9);
    assert_string_equal(child_of(&s, "b").title, "Index: b");
}

/* ---- vintages -------------------------------------------------------------------------------- */

static const char *template_json(const char *level)
{
    return arena_printf(
        &fix_arena,
        "{\"id\":\"cd\",\"title\":\"Districts\",\"url\":\"http://127.0.0.1:%d/{year}/"
        "cd_{year}.json\",\"sensitivity\":\"%s\",\"collection\":\"tests\","
        "\"triggers\":[{\"type\":\"annual\",\"month\":9,\"through\":2}]}",
        server.port, level);
}

static void vintages_are_opened_once(void **state)
{
    struct source s = declare(template_json("public"));
    (void)state;
    const char *event = vintage(&s, "2026");
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(event).reason, "VINTAGE_OPENED");
    assert_int_equal(children(&s), 1);
    struct source c = child_of(&s, "2026");
    assert_string_equal(c.id, "cd-2026");
    assert_string_equal(c.title, "Districts (2026)");
    assert_true(str_ends(str_of(c.url), STR("/2026/cd_2026.json")));
    assert_int_equal(c.triggers[0].type, TRIGGER_ANNUAL);
    struct check_state st;
    OK(check_state_get(led, c.no, &st, &fix_err));
    assert_true(st.next_check_at >= 0); /* due at once */
    assert_holds(shown("cd-2026"), "\"parent\":\"cd\"");
    assert_int_equal(server_count(&server, &server.requests), 0);

    event = vintage(&s, "2026");
    assert_int_equal(drain().noop, 1);
    assert_string_equal(change_of(event).reason, "VINTAGE_KNOWN");
    event = vintage(&s, "2029"); /* nobody looked for a while */
    assert_int_equal(drain().noop, 1);
    assert_int_equal(children(&s), 4);
    vintage(&s, "2028"); /* late */
    assert_int_equal(drain().noop, 1);
    assert_int_equal(children(&s), 4);
    assert_int_equal(feed_length(), 0);
    assert_int_equal(head_of(&s).version, 0);
}

static void odd_vintages_open_nothing(void **state)
{
    struct source s = declare(template_json("public"));
    static const char *const odd[] = {"next", "26", "-026", "20266"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        const char *event = vintage(&s, odd[i]);
        assert_int_equal(drain().failed, 1);
        assert_string_equal(change_of(event).reason, "VINTAGE_UNREADABLE");
    }
    vintage(&s, "2026");
    assert_int_equal(drain().noop, 1);
    const char *event = vintage(&s, "9999");
    assert_int_equal(drain().failed, 1);
    assert_string_equal(change_of(event).reason, "VINTAGE_GAP");
    assert_int_equal(children(&s), 1);
}

static void vintage_declared_by_hand_stays(void **state)
{
    struct source s = declare(template_json("public"));
    (void)state;
    struct source hand = declare(arena_printf(
        &fix_arena, "{\"id\":\"cd-2026\",\"url\":\"http://127.0.0.1:%d/2026/cd_2026.json\"}",
        server.port));
    vintage(&s, "2026");
    assert_int_equal(drain().noop, 1);
    assert_int_equal(children(&s), 0);
    vintage(&s, "2027");
    assert_int_equal(drain().noop, 1);
    assert_int_equal(children(&s), 1);
    struct source now;
    OK(source_by_no(led, &fix_arena, hand.no, &now, &fix_err));
    assert_int_equal(now.parent_no, 0);
}

/* An id that is taken by something else leaves no vintage unwatched. */
static void vintage_whose_id_is_taken_gets_another(void **state)
{
    struct source s = declare(template_json("public"));
    (void)state;
    struct source other = add_source("cd-2026", "public");
    vintage(&s, "2026");
    assert_int_equal(drain().noop, 1);
    struct source c = child_of(&s, "2026");
    assert_true(str_starts(str_of(c.id), STR("cd-2026-")));
    assert_int_equal(strlen(c.id), strlen("cd-2026-12345678"));
    assert_true(str_ends(str_of(c.url), STR("/2026/cd_2026.json")));
    OK(source_by_no(led, &fix_arena, other.no, &other, &fix_err));
    assert_int_equal(other.parent_no, 0);
    vintage(&s, "2027");
    assert_int_equal(drain().noop, 1);
    assert_string_equal(child_of(&s, "2027").id, "cd-2027");
}

static void vintages_follow_their_template(void **state)
{
    struct source s = declare(template_json("public"));
    (void)state;
    vintage(&s, "2026");
    assert_int_equal(drain().noop, 1);
    set_parent(&s, template_json("sovereign"));
    assert_null(shown("cd-2026"));
    vintage(&s, "2027");
    struct public_meta before = meta_now();
    assert_int_equal(drain().noop, 1);
    assert_null(shown("cd-2027"));
    assert_int_equal(meta_now().generation, before.generation);
    set_parent(&s, arena_printf(&fix_arena,
                                "{\"id\":\"cd\",\"title\":\"Moved\",\"collection\":\"tests\","
                                "\"url\":\"https://new.example/{year}.zip\"}"));
    assert_string_equal(child_of(&s, "2026").url, "https://new.example/2026.zip");
    assert_string_equal(child_of(&s, "2026").title, "Moved (2026)");
    assert_int_equal(child_of(&s, "2027").level, LEVEL_PUBLIC);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(entries_become_sources_with_versions),
                                       T(only_what_moved_is_news),
                                       T(entry_that_returns_goes_on_with_its_child),
                                       T(duplicates_and_backlogs_make_nothing_twice),
                                       T(entry_that_moves_takes_its_child_along),
                                       T(headers_stay_at_the_origin),
                                       T(ids_are_unique_and_short),
                                       T(unusable_entry_is_left_out_on_record),
                                       T(only_canonical_listings_are_promoted),
                                       T(lost_listing_is_looked_for_again),
                                       T(listing_that_is_gone_keeps_its_children),
                                       T(retired_children_stay_retired),
                                       T(children_of_a_sovereign_parent_leave_no_public_trace),
                                       T(keys_show_at_level_public_only),
                                       T(raised_level_reaches_the_children_at_once),
                                       T(vintages_are_opened_once),
                                       T(odd_vintages_open_nothing),
                                       T(vintage_declared_by_hand_stays),
                                       T(vintage_whose_id_is_taken_gets_another),
                                       T(vintages_follow_their_template)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

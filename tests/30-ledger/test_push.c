/* What providers tell, in the ledger: exactly once, in order, to whom it belongs. */
#include "tests/30-ledger/fixture.h"

#include "ledger/push.h"
#include "ledger/query.h"
#include "tests/10-unit/unit.h"

static struct ledger *led;
static struct source road, list, entry, year;

#define PUSHED "\"detector\":\"event\",\"adapter\":\"hmac\",\"secrets\":[\"k\"]"

static int setup(void **state)
{
    (void)state;
    fix_make();
    led = fix_open(LEDGER_WRITE);
    road = fix_source(led, "{\"id\":\"road\",\"url\":\"https://a.example/road.json\"," PUSHED "}");
    list =
        fix_source(led, "{\"id\":\"list\",\"url\":\"https://a.example/\",\"detector\":\"manifest\","
                        "\"adapter\":\"hmac\",\"triggers\":[{\"type\":\"manual\"}]}");
    year = fix_source(led, "{\"id\":\"year\",\"url\":\"https://a.example/{year}.json\","
                           "\"adapter\":\"hmac\",\"triggers\":[{\"type\":\"manual\"}]}");
    yyjson_val *v;
    OK(json_parse(&fix_arena,
                  STR("{\"id\":\"entry\",\"url\":\"https://a.example/a/b.zip\","
                      "\"triggers\":[{\"type\":\"manual\"}]}"),
                  0, "test", &v, &fix_err));
    OK(source_parse(&fix_arena, v, &entry, &fix_err));
    entry.parent_no = list.no;
    entry.entry = "a/b.zip";
    OK(ledger_begin(led, &fix_err));
    OK(source_add(led, &entry, 1000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ledger_close(&led);
    fix_drop();
    return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static struct push_event event(const char *id, const char *object, const char *sequence, int fill)
{
    struct push_event e = {.id = str_of(id),
                           .object = str_of(object),
                           .sequence = str_of(sequence),
                           .version = STR(""),
                           .after = STR(""),
                           .keep_until = 1000000};
    memset(e.digest.b, fill, sizeof e.digest.b);
    return e;
}

static const char *const words[] = {"accepted", "duplicate", "stale", "conflict"};

static const char *tell(const struct source *s, struct push_event e, int64_t now)
{
    enum push_end end;
    bool old;
    enum push_end before;
    OK(push_is_old(led, s, &e, &old, &before, &fix_err));
    OK(ledger_begin(led, &fix_err));
    OK(push_take(led, &fix_arena, s, "event", &e, now, &end, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_int_equal(before, end); /* the look without a lock says the same */
    assert_int_equal(old, end == PUSH_DUPLICATE || end == PUSH_STALE);
    return words[end];
}

static int64_t number(const char *sql)
{
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_prepare_v2(led->db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_type(s, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static int64_t next_of(const struct source *s)
{
    struct check_state st;
    OK(check_state_get(led, s->no, &st, &fix_err));
    return st.next_check_at;
}

static void an_id_is_told_once(void **state)
{
    (void)state;
    assert_string_equal(tell(&road, event("e1", "", "", 1), 5000), "accepted");
    int64_t rows = number("SELECT count(*) FROM replay_log");
    assert_string_equal(tell(&road, event("e1", "", "", 1), 5001), "duplicate");
    assert_string_equal(tell(&road, event("e1", "", "", 2), 5002), "conflict");
    assert_string_equal(tell(&road, event("e1", "", "", 2), 5003), "conflict");
    assert_int_equal(number("SELECT count(*) FROM replay_log"), rows);
    assert_int_equal(number("SELECT count(*) FROM inbox"), 1);
    assert_int_equal(number("SELECT count(*) FROM push_conflicts WHERE times = 2"), 1);
    assert_int_equal(number("SELECT count(*) FROM notices WHERE kind = 'conflict'"), 1);
    struct check_state st;
    OK(check_state_get(led, road.no, &st, &fix_err));
    assert_int_equal(st.heard, 1); /* what health tells of it */
    assert_int_equal(st.heard_at, 5000);
    OK(check_state_get(led, list.no, &st, &fix_err));
    assert_int_equal(st.heard, 0);
    /* Of another source the id is another id. */
    assert_string_equal(tell(&entry, event("e1", "", "", 2), 5004), "accepted");
}

static void what_waits_absorbs_what_says_no_more(void **state)
{
    (void)state;
    (void)tell(&road, event("e1", "", "", 1), 5000);
    (void)tell(&road, event("e2", "", "", 1), 5001);
    assert_int_equal(number("SELECT count(*) FROM inbox"), 1);
    assert_int_equal(number("SELECT absorbed FROM inbox"), 1);
    struct push_event named = event("e3", "", "", 1);
    named.version = STR("v3");
    assert_string_equal(tell(&road, named, 5002), "accepted");
    assert_int_equal(number("SELECT count(*) FROM inbox"), 2);
    assert_int_equal(
        number("SELECT count(*) FROM inbox WHERE detector = 'event' AND outcome = 'new'"), 2);
}

static void older_news_of_an_object_is_none(void **state)
{
    (void)state;
    assert_string_equal(tell(&road, event("e1", "b/k", "0055AED6DCD9028E", 1), 1), "accepted");
    assert_string_equal(tell(&road, event("e2", "b/k", "0055AED6DCD9028D", 2), 2), "stale");
    assert_string_equal(tell(&road, event("e3", "b/k", "0055AED6DCD9028E", 3), 3), "stale");
    /* Padded on the right, whatever the length. */
    assert_string_equal(tell(&road, event("e4", "b/k", "0055AED6DCD9028E00", 4), 4), "stale");
    assert_string_equal(tell(&road, event("e5", "b/k", "0055AED6DCD9028E01", 5), 5), "accepted");
    assert_string_equal(tell(&road, event("e6", "b/k", "0055AF", 6), 6), "accepted");
    /* Per object only. */
    assert_string_equal(tell(&road, event("e7", "b/l", "0001", 7), 7), "accepted");
}

static void of_a_listing_the_entry_is_told(void **state)
{
    (void)state;
    assert_int_equal(next_of(&list), -1);
    (void)tell(&list, event("e1", "bucket/a/b.zip", "", 1), 5000);
    assert_int_equal(
        number("SELECT count(*) FROM inbox JOIN sources USING (src_no) WHERE id = 'entry'"), 1);
    assert_int_equal(next_of(&list), -1);
    (void)tell(&list, event("e2", "bucket/a/other.zip", "", 1), 6000);
    assert_int_equal(next_of(&list), 6000);
    assert_int_equal(number("SELECT count(*) FROM inbox"), 1);
}

static void what_is_gone_or_lost_is_looked_for(void **state)
{
    struct push_event e = event("e1", "", "", 1);
    (void)state;
    e.look = true;
    (void)tell(&road, e, 5000);
    assert_int_equal(number("SELECT count(*) FROM inbox"), 0);
    assert_int_equal(next_of(&road), 5000);
    assert_string_equal(tell(&road, e, 6000), "duplicate");
    assert_int_equal(next_of(&road), 5000);
}

static void after_a_gap_the_source_is_looked_at(void **state)
{
    struct push_event e = event("e1", "b/k", "0050", 1);
    int64_t sweep = next_of(&road);
    (void)state;
    (void)tell(&road, e, 5000);
    assert_int_equal(next_of(&road), sweep);
    e = event("e2", "b/k", "0060", 2);
    e.after = STR("005");
    (void)tell(&road, e, 5001); /* the last one, as it was said to be */
    assert_int_equal(next_of(&road), sweep);
    int64_t told = number("SELECT count(*) + coalesce(sum(absorbed), 0) FROM inbox");
    e = event("e3", "b/k", "0080", 3);
    e.after = STR("007");
    assert_string_equal(tell(&road, e, 5002), "accepted");
    assert_int_equal(next_of(&road), 5002);
    assert_int_equal(number("SELECT count(*) + coalesce(sum(absorbed), 0) FROM inbox"), told + 1);
    e = event("e4", "b/k", "0070", 4);
    e.after = STR("006");
    assert_string_equal(tell(&road, e, 5003), "stale"); /* late: nothing more to find */
}

/* Of an entry the listing, too; and what is not known is lost. */
static void after_a_gap_the_listing_is_looked_at(void **state)
{
    struct push_event e = event("e1", "a/b.zip", "0020", 1);
    (void)state;
    e.after = STR("001");
    (void)tell(&entry, e, 6000);
    assert_int_equal(next_of(&entry), 6000);
    assert_int_equal(next_of(&list), 6000);
    (void)tell(&list, e, 5500);
    assert_int_equal(next_of(&list), 5500);
}

/* A check that began before does not know what was told meanwhile. */
static void a_check_under_way_does_not_put_a_look_off(void **state)
{
    struct push_event e = event("e1", "", "", 1);
    struct check_result r = fix_result(&road, OUTCOME_unchanged, 7);
    (void)state;
    e.look = true;
    (void)tell(&road, e, 2500); /* begun at 2000 */
    OK(check_commit(led, &r, 1, 3000, &fix_err));
    assert_int_equal(next_of(&road), 2500);
    r.started_at = 2600;
    OK(check_commit(led, &r, 1, 3000, &fix_err));
    assert_int_equal(next_of(&road), 9000);
}

static void of_a_template_all_vintages_are_looked_at(void **state)
{
    struct source child = year;
    (void)state;
    child.id = "year-2026";
    child.url = "https://a.example/2026.json";
    child.parent_no = year.no;
    child.entry = "2026";
    child.unlisted_at = -1;
    OK(ledger_begin(led, &fix_err));
    OK(source_add(led, &child, 1000, &fix_err));
    OK(ledger_commit(led, &fix_err));
    (void)tell(&year, event("e1", "", "", 1), 5000);
    assert_int_equal(number("SELECT next_check_at FROM source_state JOIN sources USING (src_no)"
                            " WHERE id = 'year-2026'"),
                     5000);
    assert_int_equal(next_of(&year), -1);
    assert_int_equal(number("SELECT count(*) FROM inbox"), 0);
}

static void who_is_told_is_not_polled(void **state)
{
    (void)state;
    assert_int_equal(next_of(&road), 1000 + 90 * DAY_MS); /* the sweep alone */
    struct source never = fix_source(
        led, "{\"id\":\"never\",\"url\":\"https://a.example/x\",\"sweep_days\":0," PUSHED "}");
    assert_int_equal(next_of(&never), -1);
    struct source both =
        fix_source(led, "{\"id\":\"both\",\"url\":\"https://a.example/x\","
                        "\"triggers\":[{\"type\":\"interval\",\"seconds\":60}]," PUSHED "}");
    assert_int_equal(next_of(&both), 1000);
}

static void withheld_news_moves_no_public_number(void **state)
{
    struct source caves = fix_source(led, "{\"id\":\"caves\",\"url\":\"https://a.example/c\","
                                          "\"sensitivity\":\"sovereign\"," PUSHED "}");
    (void)state;
    (void)tell(&caves, event("e1", "", "", 1), 5000);
    (void)tell(&caves, event("e1", "", "", 2), 5000);
    assert_int_equal(number("SELECT sum(n) FROM public_pushes"), 0);
    (void)tell(&road, event("e1", "", "", 1), 5000);
    (void)tell(&road, event("e1", "", "", 2), 5000);
    assert_int_equal(number("SELECT n FROM public_pushes WHERE result = 'accepted'"), 1);
    assert_int_equal(number("SELECT n FROM public_pushes WHERE result = 'conflict'"), 1);
}

static void ids_are_forgotten_when_nobody_repeats_them(void **state)
{
    struct push_event e = event("old", "k", "1", 1);
    (void)state;
    e.keep_until = 6000;
    (void)tell(&road, e, 5000);
    (void)tell(&road, event("new", "l", "1", 1), 5000);
    OK(push_forget(led, 6000, &fix_err));
    assert_string_equal(tell(&road, e, 6000), "duplicate");
    OK(push_forget(led, 6001, &fix_err));
    assert_int_equal(number("SELECT count(*) FROM nonces"), 1);
    assert_int_equal(number("SELECT count(*) FROM push_objects"), 1);
}

/* A message that asks is told once like any other, and it is no news. */
static bool file_holds(const char *text)
{
    static char all[4u << 20];
    char path[300];
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(all, 1, sizeof all, f);
    fclose(f);
    assert_true(n < sizeof all);
    return memmem(all, n, text, strlen(text)) != NULL;
}

static void checkpoint(void)
{
    assert_int_equal(
        sqlite3_wal_checkpoint_v2(led->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
        SQLITE_OK);
}

/* The address holds a token: it is not only forgotten, its bytes go. */
static void nothing_is_left_of_a_token(void **state)
{
    struct push_confirmation c;
    (void)state;
    for (int i = 0; i < 3; i++) {
        OK(ledger_begin(led, &fix_err));
        OK(push_confirm(led, &road,
                        arena_printf(&fix_arena, "https://sns.example/?%d&Token=abc", i), 5000,
                        &fix_err));
        OK(ledger_commit(led, &fix_err));
    }
    checkpoint();
    assert_true(file_holds("Token=abc"));
    while (push_confirm_next(led, 5000, &c, &fix_err) == RC_OK)
        OK(push_confirm_end(led, c.no, true, "HTTP 200", 5000, &fix_err));
    checkpoint();
    assert_false(file_holds("Token=abc"));
}

static void a_subscription_asks_once(void **state)
{
    struct push_event e = event("m1", "", "", 1);
    struct push_confirmation c;
    (void)state;
    e.confirm = "https://sns.example/?Token=abc";
    assert_string_equal(tell(&road, e, 5000), "accepted");
    OK(push_confirm_next(led, 5000, &c, &fix_err));
    OK(push_confirm_end(led, c.no, true, "HTTP 200", 5000, &fix_err));
    assert_string_equal(tell(&road, e, 5001), "duplicate");
    assert_rc(push_confirm_next(led, 9000, &c, &fix_err), RC_NOT_FOUND);
    memset(e.digest.b, 2, sizeof e.digest.b);
    assert_string_equal(tell(&road, e, 5002), "conflict");
    assert_int_equal(number("SELECT count(*) FROM inbox"), 0);
    assert_int_equal(number("SELECT count(*) FROM push_confirmations"), 1);
}

static void confirmations_are_tried_and_end(void **state)
{
    struct push_confirmation c;
    struct push_state p;
    (void)state;
    for (int i = 0; i < 2; i++) { /* asked for again while it is open: it stays one */
        OK(ledger_begin(led, &fix_err));
        OK(push_confirm(led, &road, "https://sns.example/?Token=abc", 5000, &fix_err));
        OK(ledger_commit(led, &fix_err));
    }
    assert_rc(push_confirm_next(led, 4999, &c, &fix_err), RC_NOT_FOUND);
    OK(push_confirm_next(led, 5000, &c, &fix_err));
    assert_string_equal(c.url, "https://sns.example/?Token=abc");
    OK(push_confirm_again(led, c.no, 7000, "HTTP 500", &fix_err));
    assert_rc(push_confirm_next(led, 6999, &c, &fix_err), RC_NOT_FOUND);
    OK(push_state_get(led, road.no, &p, &fix_err));
    assert_string_equal(p.confirm, "open");
    assert_string_equal(p.confirm_detail, "HTTP 500");
    OK(push_confirm_next(led, 7000, &c, &fix_err));
    assert_int_equal(c.attempts, 1);
    OK(push_confirm_end(led, c.no, true, "HTTP 200", 7000, &fix_err));
    OK(push_state_get(led, road.no, &p, &fix_err));
    assert_string_equal(p.confirm, "done");
    assert_int_equal(p.confirm_attempts, 2);
    assert_int_equal(number("SELECT count(*) FROM push_confirmations WHERE url IS NOT NULL"), 0);
}

static enum rc see(void *ctx, const struct push_conflict *c, struct err *err)
{
    (void)err;
    *(int64_t *)ctx = c->no;
    assert_str(c->event_id, "e1");
    assert_int_equal(c->first_sha.b[0], 1);
    assert_int_equal(c->sha.b[0], 2);
    return RC_OK;
}

static void a_conflict_waits_for_a_person(void **state)
{
    int64_t no = 0, n;
    struct push_state p;
    (void)state;
    (void)tell(&road, event("e1", "", "", 1), 5000);
    (void)tell(&road, event("e1", "", "", 2), 5000);
    OK(push_conflicts(led, 0, 10, see, &no, &fix_err));
    assert_true(no > 0);
    OK(push_state_get(led, road.no, &p, &fix_err));
    assert_int_equal(p.conflicts, 1);
    assert_int_equal(p.accepted, 1);
    OK(push_conflict_drop(led, no, &fix_err));
    assert_rc(push_conflict_drop(led, no, &fix_err), RC_NOT_FOUND);
    OK(push_conflict_count(led, &n, &fix_err));
    assert_int_equal(n, 0);
    assert_string_equal(tell(&road, event("e1", "", "", 2), 5000), "conflict"); /* still refused */
}

/* Intake's role may do all that it has to, and takes nothing away. */
static void intake_has_the_rights_it_needs(void **state)
{
    enum push_end end;
    struct push_event e = event("r1", "o", "1", 1);
    (void)state;
    ledger_close(&led);
    led = fix_open(LEDGER_INBOX);
    OK(ledger_begin(led, &fix_err));
    OK(push_take(led, &fix_arena, &road, "webhook", &e, 1, &end, &fix_err));
    e = event("r1", "o", "1", 2);
    OK(push_take(led, &fix_arena, &road, "webhook", &e, 1, &end, &fix_err));
    OK(push_confirm(led, &road, "https://a.example/?t", 1, &fix_err));
    OK(ledger_commit(led, &fix_err));
    assert_rc(push_conflict_drop(led, 1, &fix_err), RC_DENIED);
}

int main(void)
{
    struct err err;
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(an_id_is_told_once),
        TEST(what_waits_absorbs_what_says_no_more),
        TEST(older_news_of_an_object_is_none),
        TEST(of_a_listing_the_entry_is_told),
        TEST(what_is_gone_or_lost_is_looked_for),
        TEST(after_a_gap_the_source_is_looked_at),
        TEST(after_a_gap_the_listing_is_looked_at),
        TEST(a_check_under_way_does_not_put_a_look_off),
        TEST(of_a_template_all_vintages_are_looked_at),
        TEST(who_is_told_is_not_polled),
        TEST(withheld_news_moves_no_public_number),
        TEST(ids_are_forgotten_when_nobody_repeats_them),
        TEST(a_subscription_asks_once),
        TEST(nothing_is_left_of_a_token),
        TEST(confirmations_are_tried_and_end),
        TEST(a_conflict_waits_for_a_person),
        TEST(intake_has_the_rights_it_needs),
    };
    return clock_init(&err) == RC_OK ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

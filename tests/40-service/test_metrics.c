/* test_metrics: /metrics in strict exposition format and /sources' health, through the route table
 * over a real ledger in the READ role. A sovereign and a restricted source carry canaries. */
#include "tests/30-ledger/fixture.h"

#include <sqlite3.h>
#include "api/route.h"
#include "api/traffic.h"
#include "handler/project.h"
#include "ledger/health.h"
#include "ledger/outbox.h"
#include "ledger/telemetry.h"
#include "tests/10-unit/unit.h"

#define NOW (20000 * DAY_MS)

static struct instance inst;
static struct ledger *writer, *reader;
static struct resp answer;

static struct source declare(const char *id, const char *level)
{
    char json[256];
    snprintf(json, sizeof json,
             "{\"id\":\"%s\",\"url\":\"https://example.org/%s\",\"sensitivity\":\"%s\"}", id, id,
             level);
    struct source s = fix_source(writer, json);
    OK(ledger_begin(writer, &fix_err));
    OK(project_source(writer, &inst, &s, NOW, &fix_err));
    OK(ledger_commit(writer, &fix_err));
    return s;
}

static void check(const struct source *s, enum outcome o, int64_t verified_at)
{
    struct check_result r = fix_result(s, o, 'A');
    r.started_at = r.ended_at = r.state.checked_at = NOW;
    r.state.reached_at = outcome_failure(o) ? -1 : NOW;
    r.state.failures = outcome_failure(o);
    r.state.verified_at = verified_at;
    r.state.next_check_at = NOW + 60000;
    r.http = o == OUTCOME_not_modified ? 304 : 200;
    r.bytes_in = 100;
    r.bytes_saved = 900;
    OK(check_commit(writer, &r, 1, NOW, &fix_err));
}

static int setup(void **state)
{
    char path[128];
    (void)state;
    fix_make();
    snprintf(path, sizeof path, "%s/freshet.json", fix_dir);
    unit_write(path, "{}");
    OK(instance_load(&fix_arena, fix_dir, &inst, &fix_err));
    writer = fix_open(LEDGER_WRITE);
    reader = fix_open(LEDGER_READ);
    resp_init(&answer);
    struct source fine = declare("fine", "public"), fails = declare("fails", "public"),
                  hidden = declare("canary-res", "restricted"),
                  secret = declare("canary-sov", "sovereign");
    declare("unseen", "public");
    check(&fine, OUTCOME_not_modified, NOW - DAY_MS);
    check(&fine, OUTCOME_unchanged, NOW);
    check(&fails, OUTCOME_unavailable, -1);
    check(&hidden, OUTCOME_unavailable, -1);
    check(&secret, OUTCOME_gone, -1);
    OK(ledger_heartbeat(writer, "handler", NOW - 5000, &fix_err));
    OK(ledger_heartbeat(writer, "scheduler", NOW, &fix_err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    resp_release(&answer);
    ledger_close(&reader);
    ledger_close(&writer);
    fix_drop();
    return 0;
}

/* The body, ended by NUL. */
static char *get(const char *path, int64_t now)
{
    struct req r = {.method = STR("GET"),
                    .path = str_of(path),
                    .base = STR("http://test.example"),
                    .arena = &fix_arena,
                    .ledger = reader,
                    .inst = &inst,
                    .now = now};
    resp_clear(&answer);
    route_serve(&router_api, &r, &answer);
    assert_int_equal(answer.status, 200);
    char *text = arena_str(&fix_arena, buf_view(&answer.body));
    assert_non_null(text);
    return text;
}

/* ---- the format, strictly -------------------------------------------------------------------- */

static size_t name_length(struct str s)
{
    size_t n = 0;
    for (; n < s.n; n++) {
        char c = s.p[n];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
        if (!letter && (n == 0 || c < '0' || c > '9'))
            break;
    }
    return n;
}

static void pass_over(struct str *s, size_t n)
{
    assert_true(n <= s->n);
    s->p += n;
    s->n -= n;
}

static void expect(struct str *s, const char *text)
{
    if (!str_starts(*s, str_of(text)))
        fail_msg("'%s' is missing before: %.*s", text, STR_FMT(*s));
    pass_over(s, strlen(text));
}

/* name, optional {label="value",…}, a space, a number: nothing else. Returns its name. */
static struct str check_sample(struct str line)
{
    struct str rest = line;
    struct str name = {line.p, name_length(line)};
    char *end;
    assert_true(name.n > 0);
    pass_over(&rest, name.n);
    for (bool more = str_starts(rest, STR("{")); more;) {
        pass_over(&rest, 1);
        pass_over(&rest, name_length(rest));
        expect(&rest, "=\"");
        while (rest.n && *rest.p != '"') {
            assert_true(*rest.p != '\\' && *rest.p != '\n');
            pass_over(&rest, 1);
        }
        pass_over(&rest, 1);
        more = str_starts(rest, STR(","));
        if (!more)
            expect(&rest, "}");
    }
    expect(&rest, " ");
    (void)strtod(rest.p, &end);
    assert_true(rest.n > 0 && end == rest.p + rest.n);
    return name;
}

/* A sample of the metric, or a part of one of these types. */
static bool belongs(struct str name, struct str metric, struct str type)
{
    if (!str_starts(name, metric))
        return false;
    struct str tail = {name.p + metric.n, name.n - metric.n};
    return tail.n == 0 ||
           (str_is(type, " histogram") &&
            (str_is(tail, "_bucket") || str_is(tail, "_sum") || str_is(tail, "_count")));
}

static void once(struct buf *seen, struct str what)
{
    char key[256];
    snprintf(key, sizeof key, "\n%.*s\n", STR_FMT(what));
    buf_byte(seen, '\0');
    seen->len--;
    if (strstr((const char *)seen->data, key))
        fail_msg("twice: %s", key);
    buf_puts(seen, key);
}

/* Every metric: HELP, TYPE, then all its samples; no metric and no sample twice. */
static int check_exposition(const char *text)
{
    struct str rest = str_of(text), line, metric = STR(""), type = STR("");
    bool typed = false;
    int samples = 0;
    CLEANUP(buf_release) struct buf seen = {0};
    buf_init(&seen, 65536);
    assert_true(str_ends(rest, STR("\n")));
    while (str_next(&rest, '\n', &line)) {
        if (str_starts(line, STR("# HELP "))) {
            pass_over(&line, 7);
            metric = (struct str){line.p, name_length(line)};
            once(&seen, metric);
            pass_over(&line, metric.n);
            expect(&line, " ");
            assert_true(line.n > 0);
            typed = false;
        } else if (str_starts(line, STR("# TYPE "))) {
            pass_over(&line, 7);
            assert_true(str_starts(line, metric));
            pass_over(&line, metric.n);
            assert_true(str_is(line, " counter") || str_is(line, " gauge") ||
                        str_is(line, " summary") || str_is(line, " histogram"));
            type = line;
            assert_int_equal(str_is(line, " counter"), str_ends(metric, STR("_total")));
            typed = true;
        } else if (line.n > 0) {
            struct str name = check_sample(line);
            assert_true(typed && belongs(name, metric, type));
            size_t key = line.n;
            while (line.p[key - 1] != ' ')
                key--;
            once(&seen, (struct str){line.p, key});
            samples++;
        }
    }
    return samples;
}

static void the_format_is_valid(void **state)
{
    (void)state;
    assert_true(check_exposition(get("/metrics", NOW)) > 20);
    assert_string_equal(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
}

/* ---- runs, inbox, lag ------------------------------------------------------------------------ */

static void count_run(const char *id, const char *result, const char *reason)
{
    struct source s;
    OK(source_by_id(writer, &fix_arena, id, &s, &fix_err));
    OK(ledger_begin(writer, &fix_err));
    OK(telemetry_run(writer, s.no, result, reason, &fix_err));
    OK(ledger_commit(writer, &fix_err));
}

static void says(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("not there: %s\n%s", line, text);
}

static void runs_are_counted_by_reason(void **state)
{
    (void)state;
    const char *text = get("/metrics", NOW);
    says(text,
         "\nfreshet_runs_total{result=\"promoted\",reason=\"\"} 0\n"); /* a zero to begin with */
    count_run("fine", RUN_FAILED, "PARSE_ERROR");
    count_run("fine", RUN_FAILED, "PARSE_ERROR");
    count_run("fine", RUN_NOOP, "SAME_BYTES");
    count_run("fine", RUN_ABSORBED, "");
    count_run("canary-res", RUN_HELD, "canary");
    count_run("canary-sov", RUN_HELD, "canary");
    text = get("/metrics", NOW);
    assert_true(check_exposition(text) > 40);
    says(text, "\nfreshet_runs_total{result=\"failed\",reason=\"PARSE_ERROR\"} 2\n");
    says(text, "\nfreshet_dedupe_hits_total{kind=\"absorbed\"} 1\n");
    says(text, "\nfreshet_dedupe_hits_total{kind=\"same_bytes\"} 1\n");
    assert_null(strstr(text, "canary"));
}

/* Two public candidates wait, one of a restricted source does; one of each is dead. */
static void the_inbox_is_measured(void **state)
{
    (void)state;
    OK(outbox_count(writer, NOW, &fix_err));
    static const char open[] = "\nfreshet_inbox_candidates{state=\"open\"} ";
    const char *text = get("/metrics", NOW), *at = strstr(text, open);
    assert_non_null(at);
    int64_t before = strtol(at + sizeof open - 1, NULL, 10);
    for (const char *id = "fine\0fails\0canary-res\0"; *id; id += strlen(id) + 1) {
        struct source s;
        OK(source_by_id(writer, &fix_arena, id, &s, &fix_err));
        struct check_result r = fix_result(&s, OUTCOME_changed, 'Q');
        r.ended_at = NOW;
        OK(check_commit(writer, &r, 1, NOW - 7000, &fix_err));
    }
    OK(outbox_count(writer, NOW, &fix_err));
    text = get("/metrics", NOW);
    says(text, arena_printf(&fix_arena, "\nfreshet_inbox_candidates{state=\"open\"} %lld\n",
                            (long long)before + 2));
    says(text, "\nfreshet_inbox_drain_seconds +Inf\n"); /* and nobody works */
    says(text, "\nfreshet_inbox_candidates{state=\"dead\"} 0\n");
    assert_true(check_exposition(text) > 40);
    /* Ten runs within ten seconds: what waits takes as many seconds as it has rows. */
    for (int i = 0; i < 10; i++)
        count_run("fine", RUN_PROMOTED, "");
    OK(outbox_count(writer, NOW + 10000, &fix_err));
    says(get("/metrics", NOW + 10000),
         arena_printf(&fix_arena, "\nfreshet_inbox_drain_seconds %lld.0\n", (long long)before + 2));
}

static void add_change(int64_t seq, const char *detected_at)
{
    char path[128];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/ledger.db", fix_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    const char *sql = arena_printf(
        &fix_arena,
        "INSERT INTO public_changes (seq, event_id, src_no, source_id, collection, change_type,"
        " change_class, detector, finalized_at, gen, doc) VALUES (%lld, 'e%lld', 1, 's', 'c', 'new',"
        " 'new', 'etag', %lld, 1, '{\"detected_at\":%s}')",
        (long long)seq, (long long)seq, (long long)NOW, detected_at);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* 100 changes that took 1 to 100 seconds; a withheld one has no time of detection. */
static void the_lag_is_a_quantile(void **state)
{
    char at[TIME_MAX];
    (void)state;
    for (int i = 1; i <= 100; i++) {
        time_format(NOW - i * 1000, at);
        add_change(1000 + i, arena_printf(&fix_arena, "\"%s\"", at));
    }
    add_change(2000, "null");
    OK(outbox_count(writer, NOW, &fix_err));
    const char *text = get("/metrics", NOW);
    says(text, "\nfreshet_freshness_lag_seconds{quantile=\"0.5\"} 50.000\n");
    says(text, "\nfreshet_freshness_lag_seconds{quantile=\"0.95\"} 95.000\n");
    assert_true(check_exposition(text) > 40);
}

/* One of three was read within 400 days. */
static void coverage_is_a_share(void **state)
{
    (void)state;
    says(get("/metrics", NOW), "\nfreshet_digest_coverage_ratio 0.3333\n");
    says(get("/metrics", NOW + 500 * DAY_MS), "\nfreshet_digest_coverage_ratio 0.0000\n");
}

static void traffic_is_a_histogram(void **state)
{
    CLEANUP(buf_release) struct buf b = {0};
    struct traffic *t = traffic_new();
    (void)state;
    buf_init(&b, 65536);
    traffic_put(NULL, &b);
    assert_int_equal(b.len, 0);
    traffic_count(NULL, 200, 1);
    traffic_count(t, 200, 90);
    traffic_count(t, 404, 100);
    traffic_count(t, 503, 9000000);
    traffic_put(t, &b);
    buf_byte(&b, '\0');
    b.len--;
    assert_true(check_exposition(b.data) > 10);
    says(b.data, "\nfreshet_http_requests_total{status=\"2xx\"} 1\n");
    says(b.data, "\nfreshet_http_requests_total{status=\"5xx\"} 1\n");
    says(b.data, "_bucket{le=\"0.0001\"} 2\n");
    says(b.data, "_bucket{le=\"5\"} 2\n");
    says(b.data, "_bucket{le=\"+Inf\"} 3\n");
    says(b.data, "_sum 9.000190\n");
    says(b.data, "_count 3\n");
}

/* ---- what it says ---------------------------------------------------------------------------- */

static void numbers_are_public(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "\nfreshet_checks_total{outcome=\"not_modified\"} 1\n",
        "\nfreshet_checks_total{outcome=\"unavailable\"} 1\n", /* not the restricted one */
        "\nfreshet_checks_total{outcome=\"gone\"} 0\n",        /* not the sovereign one */
        "\nfreshet_check_responses_total{status=\"304\"} 1\n",
        "\nfreshet_check_responses_total{status=\"200\"} 2\n",
        "\nfreshet_check_received_bytes_total 300\n",
        "\nfreshet_check_saved_bytes_total 2700\n",
        "\nfreshet_sources{state=\"ok\"} 1\n",
        "\nfreshet_sources{state=\"failing\"} 1\n",
        "\nfreshet_sources{state=\"gone\"} 0\n",
        "\nfreshet_sources{state=\"never_checked\"} 1\n",
        "\nfreshet_heartbeat_age_seconds{role=\"handler\"} 5\n",
        "\nfreshet_heartbeat_age_seconds{role=\"scheduler\"} 0\n",
        "\nfreshet_inbox_full 0\n",
    };
    const char *text = get("/metrics", NOW);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (!strstr(text, wanted[i]))
            fail_msg("%s in\n%s", wanted[i], text);
    assert_null(strstr(text, "canary"));
    assert_null(strstr(text, "role=\"due\""));
}

/* Nobody checks any more: the lag grows by itself. */
static void the_lag_grows(void **state)
{
    (void)state;
    struct source unseen;
    OK(source_by_id(writer, &fix_arena, "unseen", &unseen, &fix_err));
    check(&unseen, OUTCOME_unchanged, NOW);
    OK(ledger_heartbeat(writer, "scheduler", NOW, &fix_err));
    assert_non_null(strstr(get("/metrics", NOW), "\nfreshet_schedule_lag_seconds 0\n"));
    assert_non_null(strstr(get("/metrics", NOW + 90000), "\nfreshet_schedule_lag_seconds 30\n"));
}

static const char *health(const char *path, int64_t now, const char *member)
{
    yyjson_val *doc;
    OK(json_parse(&fix_arena, str_of(get(path, now)), 0, "answer", &doc, &fix_err));
    yyjson_val *h = yyjson_obj_get(doc, "health");
    const char *text = yyjson_get_str(yyjson_obj_get(h, member));
    return text ? text : h ? "null" : "none";
}

static void health_turns_with_the_clock(void **state)
{
    (void)state;
    char etag[80];
    assert_string_equal(health("/sources/unseen", NOW, "state"), "never_checked");
    assert_string_equal(health("/sources/fails", NOW, "state"), "failing");
    assert_non_null(strstr(health("/sources/fails", NOW, "reason"), "unavailable"));
    assert_string_equal(health("/sources/fine", NOW, "reason"), "null");
    assert_string_not_equal(health("/sources/fine", NOW, "verified_at"), "null");
    assert_string_equal(health("/sources/fine", NOW, "state"), "ok");
    snprintf(etag, sizeof etag, "%s", answer.etag);
    assert_string_equal(health("/sources/fine", NOW + HEALTH_OVERDUE_MS, "state"), "ok");
    assert_string_equal(answer.etag, etag); /* nothing moved */
    assert_string_equal(health("/sources/fine", NOW + 2 * HEALTH_OVERDUE_MS, "state"), "overdue");
    assert_string_not_equal(answer.etag, etag);
    assert_string_equal(health("/sources/canary-res", NOW, "state"), "none"); /* withheld */
}

/* NOW is 2024-10-04: the window from September to February is open, other windows are closed. */
static void the_next_window_turns_with_the_clock(void **state)
{
    (void)state;
    char etag[80];
    struct source s =
        fix_source(writer, "{\"id\":\"season\",\"url\":\"https://example.org/s\",\"triggers\":"
                           "[{\"type\":\"annual\",\"month\":9,\"through\":2}]}");
    OK(ledger_begin(writer, &fix_err));
    OK(project_source(writer, &inst, &s, NOW, &fix_err));
    OK(ledger_commit(writer, &fix_err));
    assert_non_null(
        strstr(get("/sources/season", NOW), "\"next_window\":{\"text\":\"open until 2025-02-28\""));
    snprintf(etag, sizeof etag, "%s", answer.etag);
    assert_non_null(
        strstr(get("/sources/season", NOW + 200 * DAY_MS),
               "\"text\":\"2025-09-01 to 2026-02-28\",\"opens\":\"2025-09-01T00:00:00"));
    assert_string_not_equal(answer.etag, etag);
    assert_non_null(strstr(get("/sources/fine", NOW), "\"next_window\":null"));
    assert_null(strstr(get("/sources/canary-res", NOW), "next_window")); /* withheld */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(the_format_is_valid),         T(numbers_are_public),
        T(runs_are_counted_by_reason),  T(the_inbox_is_measured),
        T(the_lag_is_a_quantile),       T(coverage_is_a_share),
        T(traffic_is_a_histogram),      T(the_lag_grows),
        T(health_turns_with_the_clock), T(the_next_window_turns_with_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

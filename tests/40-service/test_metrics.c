/* test_metrics: /metrics in strict exposition format and /sources' health, through the route table
 * over a real ledger in the READ role. A sovereign and a restricted source carry canaries. */
#include "tests/30-ledger/fixture.h"

#include "api/route.h"
#include "handler/project.h"
#include "ledger/health.h"
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

/* ---- the format, strictly ----------------------------------------------------------------------- */

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

/* name, optional {label="value"}, a space, a whole number: nothing else. Returns its name. */
static struct str check_sample(struct str line)
{
    struct str rest = line;
    int64_t n;
    struct str name = {line.p, name_length(line)};
    assert_true(name.n > 0);
    pass_over(&rest, name.n);
    if (str_starts(rest, STR("{"))) {
        pass_over(&rest, 1);
        pass_over(&rest, name_length(rest));
        expect(&rest, "=\"");
        while (rest.n && *rest.p != '"') {
            assert_true(*rest.p != '\\' && *rest.p != '\n');
            pass_over(&rest, 1);
        }
        expect(&rest, "\"}");
    }
    expect(&rest, " ");
    assert_int_equal(str_to_i64(rest, &n), RC_OK);
    return name;
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
    struct str rest = str_of(text), line, metric = STR("");
    bool typed = false;
    int samples = 0;
    CLEANUP(buf_release) struct buf seen;
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
            assert_true(str_is(line, " counter") || str_is(line, " gauge"));
            assert_int_equal(str_is(line, " counter"), str_ends(metric, STR("_total")));
            typed = true;
        } else if (line.n > 0) {
            struct str name = check_sample(line);
            assert_true(typed && str_eq(name, metric));
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

/* ---- what it says ------------------------------------------------------------------------------- */

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
        T(the_format_is_valid),
        T(numbers_are_public),
        T(the_lag_grows),
        T(health_turns_with_the_clock),
        T(the_next_window_turns_with_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* POST /hooks/{source} by FastCGI: who may tell, what is said to whom, and that nothing is
 * half done. */
#include "tests/40-service/service.h"

#define KEY "a-key-of-32-bytes-for-the-tests!"
#define KEY2 "another-key-of-32-bytes-for-them"

static int64_t sent; /* a body of its own for each delivery */

/* ---- the world ------------------------------------------------------------------------------- */

static void secret(const char *name, const char *value)
{
    char path[192];
    snprintf(path, sizeof path, "%s/secrets/%s", fix_dir, name);
    if (value)
        unit_write(path, value);
    else
        assert_int_equal(unlink(path), 0);
}

/* What some adapters cannot be without. */
static const char *options_of(const char *adapter)
{
    if (strcmp(adapter, "sns") == 0)
        return "{\"topic_arns\":[\"arn:aws:sns:us-east-1:123456789012:maps\"]}";
    if (strcmp(adapter, "gcs") == 0)
        return "{\"audience\":\"https://x.example\",\"email\":\"push@x.example\"}";
    if (strcmp(adapter, "hmac") == 0)
        return "{\"id\":\"/id\"}";
    return "{}";
}

static struct source declare_pushed(const char *id, const char *level, const char *adapter)
{
    char json[1024];
    snprintf(json, sizeof json,
             "{\"id\":\"%s\",\"url\":\"https://data.example/%s\",\"sensitivity\":\"%s\","
             "\"collection\":\"%s\",\"detector\":\"webhook\",\"adapter\":\"%s\",\"secrets\":["
             "\"first\",\"second\"],\"adapter_options\":%s}",
             id, id, level, strcmp(level, "sovereign") == 0 ? "canary-sov-collection" : "kansas",
             adapter, options_of(adapter));
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, clock_now(), &fix_err));
    OK(ledger_commit(led, &fix_err));
    return s;
}

static int make_hooks(void **state)
{
    make_world(state);
    secret("first", KEY "\n");
    secret("second", KEY2);
    secret("short", "fifteen-bytes-.");
    (void)declare_pushed("open", "public", "github");
    (void)declare_pushed("generalized", "generalized", "github");
    (void)declare_pushed("closed", "restricted", "github");
    (void)declare_pushed("canary-sov-pushed", "sovereign", "github");
    (void)declare_pushed("talk", "public", "slack");
    (void)declare_pushed("own", "public", "hmac");
    (void)declare_pushed("many", "public", "cloudevents");
    struct source old = declare_pushed("old", "public", "github");
    OK(ledger_begin(led, &fix_err));
    OK(source_retire(led, old.no, clock_now(), &fix_err));
    OK(ledger_commit(led, &fix_err));
    return 0;
}

/* Each test finds an empty inbox. */
static int empty_inbox(void **state)
{
    (void)state;
    sql("UPDATE inbox SET state = 'done', result = 'noop' WHERE state = 'ready'");
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const char *body_of(int64_t n)
{
    return arena_printf(&fix_arena, "{\"after\":\"commit-%lld\"}", (long long)n);
}

static char *signature(const char *key, const char *body)
{
    struct sha256 mac;
    char hex[SHA256_HEX];
    mac_sha256(str_of(key), str_of(body), &mac);
    sha256_hex(&mac, hex);
    return arena_printf(&fix_arena, "HTTP_X_HUB_SIGNATURE_256=sha256=%s", hex);
}

static struct answer deliver(const char *source, const char *key, const char *id, const char *body)
{
    return ask_at(
        intake_sock,
        &(struct ask){.method = "POST",
                      .path = arena_printf(&fix_arena, "/hooks/%s", source),
                      .type = "application/json",
                      .body = body,
                      .headers = {arena_printf(&fix_arena, "HTTP_X_GITHUB_DELIVERY=%s", id),
                                  "HTTP_X_GITHUB_EVENT=push", key ? signature(key, body) : NULL}});
}

static int told(const char *source, const char *key, const char *id, const char *body)
{
    struct answer a = deliver(source, key, id, body);
    int status = a.status;
    answer_free(&a);
    return status;
}

/* To `own`, whose ids are in the body and so signed. */
static struct answer deliver_own(const char *body)
{
    const char *mac = strchr(signature(KEY, body), '=') + sizeof "sha256=";
    return ask_at(intake_sock,
                  &(struct ask){.method = "POST",
                                .path = "/hooks/own",
                                .type = "application/json",
                                .body = body,
                                .headers = {arena_printf(&fix_arena, "HTTP_X_SIGNATURE=%s", mac)}});
}

static int64_t candidates(void)
{
    return sql_number(
        "SELECT count(*) + coalesce(sum(absorbed), 0) FROM inbox WHERE detector = 'webhook'");
}

static int64_t rows(void)
{
    return sql_number("SELECT (SELECT count(*) FROM replay_log) + (SELECT count(*) FROM nonces)"
                      " + (SELECT count(*) FROM push_conflicts)");
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_delivery_is_taken_once(void **state)
{
    const char *body = body_of(++sent);
    int64_t before = candidates();
    (void)state;
    struct answer a = deliver("open", KEY, "d-1", body);
    assert_int_equal(a.status, 202);
    assert_non_null(strstr(a.body, "\"accepted\":1"));
    answer_free(&a);
    int64_t written = rows();
    a = deliver("open", KEY, "d-1", body);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "\"duplicates\":1"));
    answer_free(&a);
    assert_int_equal(rows(), written);
    assert_int_equal(candidates(), before + 1);
}

static void the_same_id_with_another_body_is_put_aside(void **state)
{
    int64_t before = candidates();
    (void)state;
    struct answer a = deliver_own("{\"id\":\"c-1\"}");
    assert_int_equal(a.status, 202);
    answer_free(&a);
    a = deliver_own("{\"id\":\"c-1\",\"n\":2}");
    assert_int_equal(a.status, 409);
    assert_non_null(strstr(a.body, "\"code\":\"QUARANTINED\""));
    assert_non_null(strstr(a.body, "The id was told before with another body"));
    answer_free(&a);
    assert_int_equal(candidates(), before + 1);
    assert_int_equal(sql_number("SELECT count(*) FROM push_conflicts WHERE event_id = 'c-1'"), 1);
}

#define CLOUD(id, data)                                                                            \
    "{\"specversion\":\"1.0\",\"id\":\"" id "\",\"source\":\"/s\",\"type\":\"t\",\"data\":" data "}"

static struct answer deliver_many(const char *body)
{
    return ask_at(intake_sock, &(struct ask){.method = "POST",
                                             .path = "/hooks/many",
                                             .type = "application/cloudevents-batch+json",
                                             .body = body,
                                             .headers = {"HTTP_AUTHORIZATION=Bearer " KEY}});
}

static int lines_of_log(const char *text)
{
    static char log[1u << 20];
    char path[192];
    int n = 0;
    snprintf(path, sizeof path, "%s/log/intake.log", fix_dir);
    unit_read(path, log, sizeof log);
    for (const char *p = log; (p = strstr(p, text)); p++)
        n++;
    return n;
}

/* Each conflict has a line, also when other events of its delivery are taken. */
static void a_conflict_among_good_ones_is_told(void **state)
{
    (void)state;
    struct answer a = deliver_many("[" CLOUD("b-1", "1") "," CLOUD("b-2", "1") "]");
    assert_int_equal(a.status, 202);
    answer_free(&a);
    int before = lines_of_log("hook.conflict");
    a = deliver_many("[" CLOUD("b-1", "2") "," CLOUD("b-2", "2") "," CLOUD("b-3", "1") "]");
    assert_int_equal(a.status, 202);
    assert_non_null(strstr(a.body, "\"conflicts\":2"));
    answer_free(&a);
    assert_int_equal(lines_of_log("hook.conflict"), before + 2);
    assert_int_equal(lines_of_log("\"event\":\"/s b-1\""), 1);
}

/* What was signed, repeated under the id of an event to come, is no obstacle to that event. */
static void nobody_takes_an_id_that_is_not_signed(void **state)
{
    const char *seen = body_of(++sent), *next = body_of(++sent);
    int64_t before = rows(), conflicts = sql_number("SELECT count(*) FROM push_conflicts");
    (void)state;
    assert_int_equal(told("open", KEY, "i-1", seen), 202);
    assert_int_equal(told("open", KEY, "i-2", seen), 202); /* a look more */
    assert_int_equal(told("open", KEY, "i-2", next), 202);
    assert_int_equal(told("open", KEY, "i-2", next), 200);
    assert_true(rows() > before);
    assert_int_equal(sql_number("SELECT count(*) FROM push_conflicts"), conflicts);
}

static void what_cannot_be_right_is_refused(void **state)
{
    static char large[1u << 20];
    const char *body = body_of(++sent);
    int64_t before = rows();
    (void)state;
    assert_int_equal(told("open", NULL, "x-1", body), 401);
    assert_int_equal(told("open", "a wrong key of the same length!!", "x-1", body), 401);
    struct answer w = deliver("open", "a wrong key of the same length!!", "x-1", body);
    assert_non_null(strstr(w.body, "A valid signature or secret is required"));
    assert_non_null(strstr(w.body, "\"code\":\"UNSIGNED\""));
    answer_free(&w);
    w = ask_at(intake_sock, &(struct ask){.method = "POST",
                                          .path = "/hooks/many",
                                          .type = "application/json",
                                          .body = "{}",
                                          .headers = {"HTTP_AUTHORIZATION=Bearer none"}});
    assert_non_null(strstr(w.body, "Authorization does not hold a secret of this source."));
    answer_free(&w);
    assert_int_equal(told("open", KEY, "x-1", "{\"after\":"), 400);
    assert_int_equal(told("open", KEY, "x-1", ""), 400);
    struct answer a = ask_at(
        intake_sock, &(struct ask){.method = "POST",
                                   .path = "/hooks/open",
                                   .type = "application/json",
                                   .body = body,
                                   .headers = {signature(KEY, body), signature(KEY2, body)}});
    assert_int_equal(a.status, 400); /* two signatures: which one was meant? */
    assert_non_null(strstr(a.body, "X-Hub-Signature-256"));
    answer_free(&a);
    memset(large, ' ', sizeof large - 1);
    assert_int_equal(told("open", KEY, "x-1", large), 413); /* hook_max_body */
    a = ask_at(intake_sock, &(struct ask){.path = "/hooks/open"});
    assert_int_equal(a.status, 405);
    assert_string_equal(answer_header(&a, "Allow"), "POST, OPTIONS");
    answer_free(&a);
    assert_int_equal(rows(), before);
}

static void nobody_learns_of_what_is_withheld(void **state)
{
    static const char *const closed[] = {"canary-sov-pushed", "closed", "old", "roads", SOV_ID};
    const char *body = body_of(++sent);
    (void)state;
    struct answer none = deliver("never-was-here", KEY2, "y-1", body);
    assert_int_equal(none.status, 404);
    for (size_t i = 0; i < ARRAY_LEN(closed); i++) {
        struct answer bad = deliver(closed[i], "a wrong key of the same length!!", "y-1", body);
        assert_same(&none, &bad, closed[i]);
        answer_free(&bad);
        bad = deliver(closed[i], NULL, "y-1", body);
        assert_same(&none, &bad, closed[i]);
        answer_free(&bad);
    }
    answer_free(&none);
    assert_int_equal(told("generalized", NULL, "y-1", body), 401); /* listed: it may be known */
    /* Who can sign may know. */
    assert_int_equal(told("canary-sov-pushed", KEY, "y-1", body), 202);
    assert_int_equal(told("closed", KEY, "y-1", body), 202);
    assert_int_equal(told("old", KEY, "y-1", body), 404);
}

/* Nor by a body that is too much for the adapter, or for its parser. */
static void nor_by_what_a_body_costs(void **state)
{
    static const char *const names[] = {
#define X(name, symbol, detector) name,
#include "ledger/adapters.def"
#undef X
    };
    static const char *const levels[] = {"restricted", "sovereign"};
    static char huge[700001], deep[600001];
    const char *bodies[] = {huge, deep};
    (void)state;
    memset(huge, ' ', sizeof huge - 1);
    huge[0] = '{', huge[1] = '}';
    memset(deep, '[', sizeof deep - 1);
    for (size_t b = 0; b < ARRAY_LEN(bodies); b++) {
        struct answer none = deliver("never-was-here", NULL, "z-1", bodies[b]);
        assert_int_equal(none.status, 404);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            for (size_t j = 0; j < ARRAY_LEN(levels); j++) {
                const char *id = arena_printf(&fix_arena, "canary-sov-%s-%s", names[i], levels[j]);
                if (b == 0)
                    (void)declare_pushed(id, levels[j], names[i]);
                struct answer a = deliver(id, NULL, "z-1", bodies[b]);
                assert_same(&none, &a, id);
                answer_free(&a);
            }
        answer_free(&none);
    }
}

/* ---- what time tells ------------------------------------------------------------------------- */

/* Nanoseconds that intake's processes have worked. */
static int64_t worked(void)
{
    char path[64], children[256], text[256];
    struct str rest, item;
    int64_t sum = 0, n;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)intake_pid, (int)intake_pid);
    unit_read(path, children, sizeof children);
    for (rest = str_of(children); str_next(&rest, ' ', &item);) {
        struct str line, first;
        if (str_to_i64(str_trim(item), &n) != RC_OK)
            continue;
        snprintf(path, sizeof path, "/proc/%lld/schedstat", (long long)n);
        unit_read(path, text, sizeof text);
        line = str_of(text);
        if (str_next(&line, ' ', &first) && str_to_i64(first, &n) == RC_OK)
            sum += n;
    }
    return sum;
}

/* A token that is signed by nobody: as long as a signature of RSA with 2048 bits. */
static const char *token(void)
{
    char sig[343];
    memset(sig, 'B', 341);
    memcpy(sig + 341, "A", 2);
    return arena_printf(&fix_arena, "HTTP_AUTHORIZATION=Bearer eyJhbGciOiJSUzI1NiJ9.e30.%s", sig);
}

static int64_t work_of(const char *source, const char *header)
{
    int64_t before = worked();
    for (int i = 0; i < 20; i++) {
        struct answer a =
            ask_at(intake_sock, &(struct ask){.method = "POST",
                                              .path = arena_printf(&fix_arena, "/hooks/%s", source),
                                              .type = "application/json",
                                              .body = "{}",
                                              .headers = {header}});
        assert_int_equal(a.status, 404);
        answer_free(&a);
    }
    return worked() - before;
}

/* A signature of RSA costs more than all else of a refusal. In turns, so that what else runs here
 * counts for both alike. */
static void refusing_is_the_same_work(void **state)
{
    char n[343], json[1024];
    int64_t none = 0, closed = 0;
    (void)state;
    memset(n, '_', 341);
    memcpy(n + 341, "w", 2);
    snprintf(
        json, sizeof json,
        "{\"id\":\"canary-sov-token\",\"url\":\"https://x.example/t\",\"sensitivity\":\"sovereign\","
        "\"collection\":\"canary-sov-collection\",\"detector\":\"event\",\"adapter\":\"gcs\","
        "\"adapter_options\":{\"audience\":\"a\",\"email\":\"x@y\",\"keys\":[{\"kty\":\"RSA\","
        "\"n\":\"%s\",\"e\":\"AQAB\"}]}}",
        n);
    struct source s = fix_source(led, json);
    OK(ledger_begin(led, &fix_err));
    OK(project_source(led, &inst, &s, clock_now(), &fix_err));
    OK(ledger_commit(led, &fix_err));
    const char *header = token();
    (void)work_of("canary-sov-token", header);
    for (int i = 0; i < 15; i++) {
        closed += work_of("canary-sov-token", header);
        none += work_of("never-was-here", header);
    }
    double ratio = (double)closed / (double)none;
    print_message("withheld %lld us, unknown %lld us\n", (long long)closed / 300000,
                  (long long)none / 300000);
    assert_true(ratio > 0.6 && ratio < 1.7); /* 4 without the toil */
}

static void a_handshake_tells_of_nothing(void **state)
{
    static const char *const all[] = {"open", "closed", "canary-sov-pushed", "roads"};
    (void)state;
    struct answer none =
        ask_at(intake_sock, &(struct ask){.method = "OPTIONS",
                                          .path = "/hooks/never-was-here",
                                          .headers = {"HTTP_WEBHOOK_REQUEST_ORIGIN=x.example"}});
    assert_int_equal(none.status, 204);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct answer a = ask_at(
            intake_sock, &(struct ask){.method = "OPTIONS",
                                       .path = arena_printf(&fix_arena, "/hooks/%s", all[i]),
                                       .headers = {"HTTP_WEBHOOK_REQUEST_ORIGIN=x.example"}});
        assert_same(&none, &a, all[i]);
        answer_free(&a);
    }
    answer_free(&none);
}

/* Slack proves that it reaches us before it delivers. */
static void a_challenge_is_answered(void **state)
{
    static const char body[] = "{\"type\":\"url_verification\",\"challenge\":\"abc 1\"}";
    struct sha256 mac;
    char hex[SHA256_HEX], head[64], at[32];
    (void)state;
    snprintf(at, sizeof at, "%lld", (long long)(clock_now() / 1000));
    snprintf(head, sizeof head, "v0:%s:", at);
    mac_sha256_of(STR(KEY), str_of(head), str_of(body), &mac);
    sha256_hex(&mac, hex);
    int64_t before = rows();
    struct answer a =
        ask_at(intake_sock,
               &(struct ask){
                   .method = "POST",
                   .path = "/hooks/talk",
                   .type = "application/json",
                   .body = body,
                   .headers = {arena_printf(&fix_arena, "HTTP_X_SLACK_SIGNATURE=v0=%s", hex),
                               arena_printf(&fix_arena, "HTTP_X_SLACK_REQUEST_TIMESTAMP=%s", at)}});
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "abc 1");
    assert_string_equal(answer_header(&a, "Content-Type"), "text/plain");
    answer_free(&a);
    assert_int_equal(rows(), before);
}

static void secrets_are_live_while_they_are_there(void **state)
{
    (void)state;
    assert_int_equal(told("open", KEY, "r-1", body_of(++sent)), 202);
    assert_int_equal(told("open", KEY2, "r-2", body_of(++sent)), 202);
    empty_inbox(NULL);
    secret("first", NULL); /* rotated out */
    assert_int_equal(told("open", KEY, "r-3", body_of(++sent)), 401);
    assert_int_equal(told("open", KEY2, "r-4", body_of(++sent)), 202);
    secret("first", "fifteen-bytes-."); /* too short to count */
    assert_int_equal(told("open", "fifteen-bytes-.", "r-5", body_of(++sent)), 401);
    secret("second", NULL);
    assert_int_equal(told("open", "", "r-6", body_of(++sent)), 401); /* none left: closed */
    secret("first", KEY);
    secret("second", KEY2);
    assert_int_equal(told("open", KEY, "r-7", body_of(++sent)), 202);
}

static void a_full_inbox_takes_nothing(void **state)
{
    char id[16];
    const char *first = body_of(++sent);
    (void)state;
    assert_int_equal(told("open", KEY, "f-0", first), 202);
    for (int i = 1; i < 3; i++) { /* inbox_max is 3 */
        snprintf(id, sizeof id, "f-%d", i);
        assert_int_equal(told("open", KEY, id, body_of(++sent)), 202);
    }
    int64_t before = rows();
    const char *late = body_of(++sent);
    struct answer a = deliver("open", KEY, "f-9", late);
    assert_int_equal(a.status, 503);
    assert_string_equal(answer_header(&a, "Retry-After"), "30");
    answer_free(&a);
    assert_int_equal(told("open", KEY, "f-0", first), 200); /* it is in there */
    assert_int_equal(told("canary-sov-pushed", NULL, "f-0", first), 404);
    assert_int_equal(rows(), before);
    empty_inbox(NULL);
    assert_int_equal(told("open", KEY, "f-9", late), 202); /* tried again: it is new */
}

static void queries_are_the_senders_own(void **state)
{
    const char *body = body_of(++sent);
    (void)state;
    struct answer a = ask_at(intake_sock, &(struct ask){.method = "POST",
                                                        .path = "/hooks/open",
                                                        .query = "a=1&a=2&%zz",
                                                        .type = "application/json",
                                                        .body = body,
                                                        .headers = {signature(KEY, body)}});
    assert_int_equal(a.status, 202);
    answer_free(&a);
}

/* No secret, signature or body in the log, the ledger or an answer. */
static void nothing_secret_is_kept(void **state)
{
    char path[192];
    static char log[1u << 20];
    const char *body = "{\"after\":\"canary-in-the-body\"}";
    static const char *const own[] = {"{\"id\":\"c-2\",\"x\":\"canary-in-the-body\"}",
                                      "{\"id\":\"c-2\"}", NULL};
    (void)state;
    assert_int_equal(told("open", KEY, "s-1", body), 202);
    assert_int_equal(told("open", NULL, "s-2", body), 401);
    for (const char *const *b = own; *b; b++) {
        struct answer a = deliver_own(*b);
        assert_int_equal(a.status, b == own ? 202 : 409);
        answer_free(&a);
    }
    snprintf(path, sizeof path, "%s/log/intake.log", fix_dir);
    unit_read(path, log, sizeof log);
    assert_non_null(strstr(log, "hook.conflict"));
    assert_non_null(strstr(log, "hook.refused"));
    assert_null(strstr(log, "canary-in-the-body"));
    assert_null(strstr(log, "canary-sov"));
    assert_null(strstr(log, KEY));
    assert_null(strstr(log, "sha256="));
    assert_int_equal(
        sql_number("SELECT count(*) FROM replay_log WHERE body LIKE '%for-the-tests%'"), 0);
}

/* ---- many at once ---------------------------------------------------------------------------- */

#define EVENTS 61 /* a prime: every step goes through them all */
#define CLIENTS 6

/* Each client sends every event, in an order of its own, and again. Exit 0: all were 202 or 200. */
static void send_all(int client)
{
    char id[16];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < EVENTS; i++) {
            int n = (i * (client * 2 + 7) + client) % EVENTS;
            snprintf(id, sizeof id, "m-%d", n);
            int status = told("open", KEY, id, body_of(100000 + n));
            if (status != 202 && status != 200)
                _exit(1);
        }
    _exit(0);
}

static void many_deliveries_of_an_event_are_one(void **state)
{
    pid_t pids[CLIENTS];
    int status;
    (void)state;
    sql("UPDATE inbox_depth SET open = open - 100000"); /* no bound in this test */
    int64_t before = candidates(),
            accepted = sql_number(
                "SELECT accepted FROM push_sources JOIN sources USING (src_no) WHERE id = 'open'");
    for (int i = 0; i < CLIENTS; i++)
        if ((pids[i] = fork()) == 0)
            send_all(i);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    sql("UPDATE inbox_depth SET open = open + 100000");
    assert_int_equal(candidates() - before, EVENTS);
    assert_int_equal(sql_number("SELECT accepted FROM push_sources JOIN sources USING (src_no)"
                                " WHERE id = 'open'") -
                         accepted,
                     EVENTS);
    assert_int_equal(sql_number("SELECT count(*) FROM nonces WHERE nonce LIKE 'm-%'"), EVENTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, empty_inbox)
        TEST(a_delivery_is_taken_once),
        TEST(the_same_id_with_another_body_is_put_aside),
        TEST(a_conflict_among_good_ones_is_told),
        TEST(nobody_takes_an_id_that_is_not_signed),
        TEST(what_cannot_be_right_is_refused),
        TEST(nobody_learns_of_what_is_withheld),
        TEST(nor_by_what_a_body_costs),
        TEST(refusing_is_the_same_work),
        TEST(a_handshake_tells_of_nothing),
        TEST(a_challenge_is_answered),
        TEST(secrets_are_live_while_they_are_there),
        TEST(a_full_inbox_takes_nothing),
        TEST(queries_are_the_senders_own),
        TEST(nothing_secret_is_kept),
        TEST(many_deliveries_of_an_event_are_one),
    };
    return cmocka_run_group_tests(tests, make_hooks, drop_world);
}

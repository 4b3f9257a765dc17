/* hook_cloudevents: three modes say the same, and the handshake promises to known senders only. */
#include "tests/10-unit/hook_world.h"

#define EVENT(rest)                                                                                \
    "{\"specversion\":\"1.0\",\"id\":\"e1\",\"source\":\"https://e.example/maps\","                \
    "\"type\":\"org.example.changed\"" rest "}"
#define FULL                                                                                       \
    EVENT(",\"subject\":\"counties\",\"time\":\"2026-05-28T20:26:30Z\",\"sequence\":\"42\","       \
          "\"sequencetype\":\"Integer\",\"data\":{\"x\":[1,2,{\"y\":null}]}")
#define ONE "application/cloudevents+json"
#define BATCH "application/cloudevents-batch+json; charset=utf-8"

static struct world w;

static enum rc reads(const char *type, const char *body)
{
    world_start(&w, NULL);
    world_body(&w, type, body);
    return world_read(&w, &hook_cloudevents);
}

static void is_full(const struct hook_event *e)
{
    assert_str(e->id, "https://e.example/maps e1");
    assert_str(e->object, "https://e.example/maps counties");
    assert_str(e->sequence, "00000000000000000042");
    assert_str(e->after, "00000000000000000041");
    assert_int_equal(e->at, WORLD_NOW - 10000);
    assert_int_equal(e->what, HOOK_CHANGED);
}

static void structured_and_batch(void **state)
{
    (void)state;
    assert_rc(reads(ONE, FULL), RC_OK);
    assert_int_equal(w.r.n_events, 1);
    is_full(&w.r.events[0]);
    world_end(&w);
    assert_rc(reads("Application/CloudEvents+JSON ; charset=UTF-8", FULL), RC_OK);
    world_end(&w);
    assert_rc(reads(BATCH, "[" FULL "," EVENT("") "]"), RC_OK);
    assert_int_equal(w.r.n_events, 2);
    is_full(&w.r.events[0]);
    assert_str(w.r.events[1].object, "https://e.example/maps");
    assert_str(w.r.events[1].sequence, "");
    assert_int_equal(w.r.events[1].at, -1);
    world_end(&w);
    assert_rc(reads(BATCH, "[]"), RC_OK);
    assert_int_equal(w.r.n_events, 0);
    world_end(&w);
}

static enum rc reads_binary(const char *const *headers, const char *type, const char *body)
{
    world_start(&w, NULL);
    for (; *headers; headers++)
        world_header(&w, *headers);
    world_body(&w, type, body);
    return world_read(&w, &hook_cloudevents);
}

static void binary(void **state)
{
    (void)state;
    static const char *const headers[] = {"HTTP_CE_SPECVERSION=1.0",
                                          "HTTP_CE_ID=e1",
                                          "HTTP_CE_SOURCE=https://e.example/maps",
                                          "HTTP_CE_TYPE=org.example.changed",
                                          "HTTP_CE_SUBJECT=counties",
                                          "HTTP_CE_TIME=2026-05-28T20:26:30Z",
                                          "HTTP_CE_SEQUENCE=42",
                                          "HTTP_CE_SEQUENCETYPE=Integer",
                                          NULL};
    assert_rc(reads_binary(headers, "text/csv", "a,b\n1,2\n"), RC_OK);
    assert_int_equal(w.r.n_events, 1);
    is_full(&w.r.events[0]);
    world_end(&w);
    assert_false(w.r.events[0].loose_id);
    assert_rc(reads_binary(headers, "", ""), RC_OK);
    world_end(&w);
    world_start(&w, "{\"auth\":\"hmac\"}"); /* the body is signed, and no header */
    for (const char *const *h = headers; *h; h++)
        world_header(&w, *h);
    world_body(&w, "text/csv", "a,b");
    assert_rc(world_read(&w, &hook_cloudevents), RC_OK);
    assert_true(w.r.events[0].loose_id);
    assert_str(w.r.events[0].sequence, "");
    assert_str(w.r.events[0].after, "");
    world_end(&w);
}

static void headers_are_decoded(void **state)
{
    (void)state;
    static const char *const good[] = {"HTTP_CE_SPECVERSION=1.0", "HTTP_CE_ID=%E2%82%AC%20100%25",
                                       "HTTP_CE_SOURCE=/s",       "HTTP_CE_TYPE=t",
                                       "HTTP_CE_SUBJECT=a+b",     NULL};
    assert_rc(reads_binary(good, "", ""), RC_OK);
    assert_str(w.r.events[0].id, "/s \xe2\x82\xac 100%");
    assert_str(w.r.events[0].object, "/s a+b");
    world_end(&w);
    static const char *const bad[] = {"HTTP_CE_ID=%ff", "HTTP_CE_ID=%0d%0aX: y", "HTTP_CE_ID=%4",
                                      "HTTP_CE_ID=%00", "HTTP_CE_ID="};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *const headers[] = {"HTTP_CE_SPECVERSION=1.0", bad[i], "HTTP_CE_SOURCE=/s",
                                       "HTTP_CE_TYPE=t", NULL};
        refused(reads_binary(headers, "", ""), RC_INVALID, &w, "ce-id");
        world_end(&w);
    }
}

static void one_bad_event_refuses_all(void **state)
{
    (void)state;
    static const struct {
        const char *event, *word;
    } cases[] = {
        {"{}", "specversion"},
        {"[]", "object"},
        {"\"x\"", "object"},
        {"{\"specversion\":\"0.3\",\"id\":\"1\",\"source\":\"s\",\"type\":\"t\"}", "specversion"},
        {"{\"specversion\":1.0,\"id\":\"1\",\"source\":\"s\",\"type\":\"t\"}", "specversion"},
        {"{\"specversion\":\"1.0\",\"source\":\"s\",\"type\":\"t\"}", "id"},
        {"{\"specversion\":\"1.0\",\"id\":\"\",\"source\":\"s\",\"type\":\"t\"}", "id"},
        {"{\"specversion\":\"1.0\",\"id\":7,\"source\":\"s\",\"type\":\"t\"}", "id"},
        {"{\"specversion\":\"1.0\",\"id\":\"1\",\"type\":\"t\"}", "source"},
        {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"s t\",\"type\":\"t\"}", "source"},
        {"{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"s\"}", "type"},
        {EVENT(",\"id\":\"e2\""), "given twice"},
        {EVENT(",\"data\":{\"a\":1,\"a\":2}"), "given twice"},
        {EVENT(",\"subject\":5"), "subject"},
        {EVENT(",\"subject\":\"a\\u0000b\""), "subject"},
        {EVENT(",\"time\":\"28 May\""), "time"},
        {EVENT(",\"data\":1,\"data_base64\":\"AA==\""), "data"},
        {EVENT(",\"sequence\":\"x\",\"sequencetype\":\"Integer\""), "sequence"},
        {EVENT(",\"sequence\":\"-5\",\"sequencetype\":\"Integer\""), "sequence"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char body[2000];
        refused(reads(ONE, cases[i].event), RC_INVALID, &w, cases[i].word);
        world_end(&w);
        snprintf(body, sizeof body, "[" FULL ",%s]", cases[i].event);
        refused(reads(BATCH, body), RC_INVALID, &w, cases[i].word);
        world_end(&w);
    }
    refused(reads(BATCH, FULL), RC_INVALID, &w, "list");
    world_end(&w);
    refused(reads("application/cloudevents+avro", "x"), RC_MEDIA_TYPE, &w, "JSON");
    world_end(&w);
    refused(reads("application/cloudevents-batch+xml", "x"), RC_MEDIA_TYPE, &w, "JSON");
    world_end(&w);
    refused(reads("application/json", FULL), RC_INVALID, &w, "ce-specversion");
    world_end(&w);
}

static void limits(void **state)
{
    (void)state;
    static char body[300000];
    size_t n = 0;
    for (int i = 0; i <= HOOK_EVENTS_MAX; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "%s" FULL, i ? "," : "[");
    snprintf(body + n, sizeof body - n, "]");
    refused(reads(BATCH, body), RC_TOO_LARGE, &w, "at most 100");
    world_end(&w);
    n = (size_t)snprintf(body, sizeof body, "{\"data\":");
    for (int i = 0; i < 70; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "{\"a\":");
    n += (size_t)snprintf(body + n, sizeof body - n, "1");
    for (int i = 0; i < 71; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "}");
    refused(reads(ONE, body), RC_INVALID, &w, "nested deeper");
    world_end(&w);
    static const char *const names[] = {"id", "source", "type", "subject"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(body, sizeof body,
                 "{\"specversion\":\"1.0\",\"%s\":\"%01100d\",\"id\":\"1\",\"source\":\"s\","
                 "\"type\":\"t\"}",
                 i == 3 ? "subject" : "x", 1);
        if (i < 3)
            snprintf(body, sizeof body, "{\"specversion\":\"1.0\",\"%s\":\"%01100d\"%s%s%s}",
                     names[i], 1, i == 0 ? "" : ",\"id\":\"1\"", i == 1 ? "" : ",\"source\":\"s\"",
                     i == 2 ? "" : ",\"type\":\"t\"");
        refused(reads(ONE, body), RC_INVALID, &w, "longer");
        assert_string_equal(w.err.field, names[i]);
        world_end(&w);
    }
}

/* The same event again is the same; under its id with another content it is not. */
static void what_tells_a_repeat(void **state)
{
    (void)state;
    char first[500];
    assert_rc(reads(ONE, EVENT(",\"data\":1")), RC_OK);
    snprintf(first, sizeof first, "%.*s", STR_FMT(w.r.events[0].bytes));
    world_end(&w);
    assert_rc(reads(BATCH, "[ " EVENT(" , \"data\" : 1 ") "]"), RC_OK);
    assert_str(w.r.events[0].bytes, first);
    world_end(&w);
    assert_rc(reads(ONE, EVENT(",\"data\":2")), RC_OK);
    assert_false(str_is(w.r.events[0].bytes, first));
    world_end(&w);
    const char *headers[] = {"HTTP_CE_SPECVERSION=1.0",  "HTTP_CE_ID=1",
                             "HTTP_CE_SOURCE=/s",        "HTTP_CE_TYPE=t",
                             "HTTP_CE_TRACEPARENT=00-a", NULL};
    assert_rc(reads_binary(headers, "", "x"), RC_OK);
    snprintf(first, sizeof first, "%.*s", STR_FMT(w.r.events[0].bytes));
    world_end(&w);
    headers[4] = "HTTP_CE_TRACEPARENT=00-b";
    assert_rc(reads_binary(headers, "", "x"), RC_OK);
    assert_str(w.r.events[0].bytes, first);
    world_end(&w);
    headers[3] = "HTTP_CE_TYPE=u";
    assert_rc(reads_binary(headers, "", "x"), RC_OK);
    assert_false(str_is(w.r.events[0].bytes, first));
    world_end(&w);
}

static void types_that_concern_us(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        world_start(&w,
                    i ? "{\"types\":[\"org.example.changed\"]}" : "{\"types\":[\"org.example\"]}");
        world_body(&w, ONE, FULL);
        assert_rc(world_read(&w, &hook_cloudevents), RC_OK);
        assert_int_equal(w.r.events[0].what, i ? HOOK_CHANGED : HOOK_OTHER);
        world_end(&w);
    }
}

/* ---- who may say it -------------------------------------------------------------------------- */

static void tokens(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum rc rc;
    } cases[] = {
        {"HTTP_AUTHORIZATION=Bearer " WORLD_SECRET, RC_OK},
        {"HTTP_AUTHORIZATION=Bearer " WORLD_SECRET "x", RC_UNAUTHORIZED},
        {"HTTP_AUTHORIZATION=Bearer ", RC_UNAUTHORIZED},
        {"HTTP_AUTHORIZATION=" WORLD_SECRET, RC_UNAUTHORIZED},
        {"HTTP_X_OTHER=Bearer " WORLD_SECRET, RC_UNAUTHORIZED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        world_start(&w, NULL);
        world_header(&w, cases[i].header);
        world_body(&w, ONE, FULL);
        assert_rc(world_verify(&w, &hook_cloudevents),
                  RC_UNAUTHORIZED); /* no secret: fail closed */
        world_secret(&w, WORLD_SECRET);
        assert_rc(world_verify(&w, &hook_cloudevents), cases[i].rc);
        world_end(&w);
    }
}

/* ---- handshake ------------------------------------------------------------------------------- */

static enum rc shake(const char *options, const char *origin, const char *rate)
{
    char header[400];
    world_start(&w, options);
    w.d.method = STR("OPTIONS");
    if (origin) {
        snprintf(header, sizeof header, "HTTP_WEBHOOK_REQUEST_ORIGIN=%s", origin);
        world_header(&w, header);
    }
    if (rate) {
        snprintf(header, sizeof header, "HTTP_WEBHOOK_REQUEST_RATE=%s", rate);
        world_header(&w, header);
    }
    enum rc rc = world_verify(&w, &hook_cloudevents);
    return rc == RC_OK ? world_read(&w, &hook_cloudevents) : rc;
}

#define KNOWN "{\"origins\":[\"x.example\",\"eventemitter.example.com\"]}"
#define ALLOWED "WebHook-Allowed-Origin: eventemitter.example.com\r\n"

static void the_handshake_promises_to_known_senders(void **state)
{
    (void)state;
    assert_rc(shake(KNOWN, "eventemitter.example.com", "120"), RC_OK);
    assert_int_equal(w.r.kind, HOOK_HANDSHAKE);
    assert_int_equal(w.r.n_events, 0);
    assert_str(w.r.reply_headers, ALLOWED "WebHook-Allowed-Rate: 120\r\nAllow: POST\r\n");
    world_end(&w);
    assert_rc(shake(KNOWN, "eventemitter.example.com", NULL), RC_OK);
    assert_str(w.r.reply_headers, ALLOWED "WebHook-Allowed-Rate: *\r\nAllow: POST\r\n");
    world_end(&w);
    assert_rc(shake("{\"origins\":[\"eventemitter.example.com\"],\"rate\":60}",
                    "eventemitter.example.com", "120"),
              RC_OK);
    assert_str(w.r.reply_headers, ALLOWED "WebHook-Allowed-Rate: 60\r\nAllow: POST\r\n");
    world_end(&w);
}

static void and_to_nobody_else(void **state)
{
    (void)state;
    static const struct {
        const char *options, *origin, *rate;
        enum rc rc;
    } cases[] = {
        {KNOWN, "evil.example", NULL, RC_UNAUTHORIZED},
        {KNOWN, "eventemitter.example.com.evil.example", NULL, RC_UNAUTHORIZED},
        {KNOWN, "a.eventemitter.example.com", NULL, RC_UNAUTHORIZED},
        {KNOWN, "*", NULL, RC_UNAUTHORIZED},
        {KNOWN, "", NULL, RC_INVALID},
        {KNOWN, NULL, NULL, RC_INVALID},
        {NULL, "eventemitter.example.com", NULL, RC_UNAUTHORIZED},
        {"{\"origins\":[]}", "eventemitter.example.com", NULL, RC_UNAUTHORIZED},
        {"{\"origins\":\"eventemitter.example.com\"}", "eventemitter.example.com", NULL,
         RC_UNAUTHORIZED},
        {KNOWN, "eventemitter.example.com", "0", RC_INVALID},
        {KNOWN, "eventemitter.example.com", "-1", RC_INVALID},
        {KNOWN, "eventemitter.example.com", "12 0", RC_INVALID},
        {KNOWN, "eventemitter.example.com", "99999999999999999999", RC_INVALID},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_rc(shake(cases[i].options, cases[i].origin, cases[i].rate), cases[i].rc);
        world_end(&w);
    }
}

static void options(void **state)
{
    (void)state;
    static const struct declared cases[] = {
        {NULL, 1, NULL},
        {NULL, 0, "secrets"},
        {"{\"types\":[\"a\"],\"origins\":[\"b\"],\"rate\":60,\"auth\":\"secret\"}", 1, NULL},
        {"{\"auth\":\"hmac\",\"header\":\"X-Sig\",\"encoding\":\"hex\",\"types\":[\"a\"]}", 1,
         NULL},
        {"{\"auth\":\"hmac\",\"types\":[5]}", 1, "adapter_options.types"},
        {"{\"auth\":\"hmac\",\"header\":\"X Sig\"}", 1, "adapter_options.header"},
        {"{\"types\":[]}", 1, "adapter_options.types"},
        {"{\"origins\":\"b\"}", 1, "adapter_options.origins"},
        {"{\"rate\":0}", 1, "adapter_options.rate"},
        {"{\"rate\":\"60\"}", 1, "adapter_options.rate"},
        {"{\"encoding\":\"hex\"}", 1, "adapter_options.encoding"},
    };
    world_declared(&hook_cloudevents, cases, ARRAY_LEN(cases));
}

/* Only numbers that have no holes tell what came before. */
static void numbers_name_what_came_before(void **state)
{
    static const struct {
        const char *body, *options;
        size_t n;
    } cases[] = {
        {EVENT(",\"sequence\":\"2\",\"sequencetype\":\"Integer\""), NULL, 20},
        {EVENT(",\"sequence\":\"1\",\"sequencetype\":\"Integer\""), NULL, 0},
        {EVENT(",\"sequence\":\"2\""), NULL, 0},
        {EVENT(",\"sequence\":\"2\",\"sequencetype\":\"Integer\""),
         "{\"types\":[\"org.example.changed\"]}", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        world_start(&w, cases[i].options);
        world_body(&w, ONE, cases[i].body);
        assert_rc(world_read(&w, &hook_cloudevents), RC_OK);
        assert_int_equal(w.r.events[0].after.n, cases[i].n);
        world_end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structured_and_batch),
        cmocka_unit_test(binary),
        cmocka_unit_test(headers_are_decoded),
        cmocka_unit_test(one_bad_event_refuses_all),
        cmocka_unit_test(limits),
        cmocka_unit_test(what_tells_a_repeat),
        cmocka_unit_test(types_that_concern_us),
        cmocka_unit_test(numbers_name_what_came_before),
        cmocka_unit_test(tokens),
        cmocka_unit_test(the_handshake_promises_to_known_senders),
        cmocka_unit_test(and_to_nobody_else),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

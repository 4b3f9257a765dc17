/* test_notify: base64, notify.json, who hears of what, and what a message holds. S1… are the
 * invariants of handler/subscribers.h, M1… those of handler/message.h. */
#include "core/base64.h"
#include "core/digest.h"
#include "core/json.h"
#include "handler/message.h"
#include "tests/10-unit/unit.h"

static struct arena a;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&a, 32u << 20);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&a);
    return 0;
}

/* ---- base64, HMAC ---------------------------------------------------------------------------- */

static void base64_is_rfc_4648(void **state)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    char out[32], back[32];
    size_t n = 99;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        base64_encode(pairs[i][0], strlen(pairs[i][0]), out);
        assert_string_equal(out, pairs[i][1]);
        assert_int_equal(base64_decode(str_of(out), BASE64_STANDARD, back, sizeof back, &n), RC_OK);
        assert_int_equal(n, strlen(pairs[i][0]));
        assert_memory_equal(back, pairs[i][0], n);
    }
}

/* RFC 4231, cases 2 and 6; and both implementations agree. */
static void hmac_is_rfc_4231(void **state)
{
    struct sha256 mac, other;
    char hex[SHA256_HEX], key[131];
    (void)state;
    digest_hmac_sha256(STR("Jefe"), STR("what do ya want for nothing?"), &mac);
    sha256_hex(&mac, hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    struct str k = {key, sizeof key};
    digest_hmac_sha256(k, STR("Test Using Larger Than Block-Size Key - Hash Key First"), &mac);
    mac_sha256(k, STR("Test Using Larger Than Block-Size Key - Hash Key First"), &other);
    sha256_hex(&mac, hex);
    assert_string_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    assert_memory_equal(&mac, &other, sizeof mac);
}

/* Computed with `openssl dgst -sha256 -mac HMAC`
 * over "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{…}". */
static void a_signature_is_standard_webhooks(void **state)
{
    char out[MESSAGE_SIGNATURE_MAX];
    struct str body = STR("{\"test\": 2432232314}");
    (void)state;
    assert_int_equal(message_sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                  "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, out),
                     RC_OK);
    assert_string_equal(out, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert_int_equal(message_sign("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "m", 1, body, out),
                     RC_INVALID);
    assert_int_equal(message_sign("whsec_c2hvcnQ=", "m", 1, body, out), RC_INVALID);
    assert_int_equal(message_sign("whsec_no base64", "m", 1, body, out), RC_INVALID);
}

/* ---- notify.json ----------------------------------------------------------------------------- */

static struct subscribers parsed(const char *json)
{
    struct subscribers all = {0};
    err = (struct err){0};
    if (subscribers_parse(&a, str_of(json), &all, &err) != RC_OK)
        fail_msg("%s: %s", err.field, err.msg);
    return all;
}

#define OPS "\"name\":\"ops\",\"url\":\"https://x.example/h\",\"secrets\":[\"ops\"]"

static struct subscriber one(const char *members)
{
    return parsed(arena_printf(&a, "{\"subscribers\":[{%s}]}", members)).list[0];
}

static void a_file_is_read(void **state)
{
    (void)state;
    struct subscribers all = parsed(
        "{ // who is told\n \"subscribers\": [{" OPS "},\n"
        "{\"name\":\"chat\",\"format\":\"slack\",\"url\":\"secret:chat-hook\",\"events\":[\"hold\"],"
        "\"sources\":[\"s1\"],\"audience\":\"stewards\",\"enabled\":false},]}");
    assert_int_equal(all.n, 2);
    const struct subscriber *ops = subscribers_find(&all, "ops"), *chat = &all.list[1];
    char events[128];
    subscriber_events(ops, events, sizeof events);
    assert_string_equal(events, "unexpected,hold,dead_letter,breach,conflict"); /* as by default */
    assert_true(ops->enabled && !ops->stewards && ops->secrets.n == 1);
    assert_true(chat->stewards && !chat->enabled && chat->format == NOTIFY_SLACK);
    subscriber_events(chat, events, sizeof events);
    assert_string_equal(events, "hold");
    assert_null(subscribers_find(&all, "nobody"));
    assert_int_equal(parsed("{\"subscribers\":[]}").n, 0);
}

static void every_word_of_the_tables_is_a_filter(void **state)
{
    (void)state;
    struct subscriber s =
        one(OPS ",\"change_types\":[\"new\",\"modified\",\"deleted\",\"reinstated\","
                "\"rollback\"],\"change_classes\":[\"new\",\"content\",\"schema\","
                "\"deleted\",\"reinstated\",\"rollback\"]");
    assert_int_equal(s.types.n, 5);
    assert_int_equal(s.classes.n, 6);
}

/* S3: every error names the subscriber and the field. */
static void errors_name_the_field(void **state)
{
    static const struct {
        const char *json, *field;
    } bad[] = {
        {"{}", "subscribers"},
        {"{\"subscribers\":[],\"more\":1}", "subscribers"},
        {"{\"subscribers\":[7]}", "subscribers[0]"},
        {"{\"subscribers\":[{\"url\":\"https://x\"}]}", "subscribers[0].name"},
        {"{\"subscribers\":[{\"name\":\"A b\"}]}", "subscribers[0].name"},
        {"{\"subscribers\":[{" OPS "},{" OPS "}]}", "subscribers[1].name"},
        {"{\"subscribers\":[{" OPS ",\"url\":\"https://y\"}]}", "ops.url"},
        {"{\"subscribers\":[{" OPS ",\"event\":[]}]}", "ops.event"},
        {"{\"subscribers\":[{" OPS ",\"events\":[\"holds\"]}]}", "ops.events"},
        {"{\"subscribers\":[{" OPS ",\"events\":[]}]}", "ops.events"},
        {"{\"subscribers\":[{" OPS ",\"sources\":\"s1\"}]}", "ops.sources"},
        {"{\"subscribers\":[{" OPS ",\"change_types\":[\"modfied\"]}]}", "ops.change_types"},
        {"{\"subscribers\":[{" OPS ",\"change_types\":[\"new\",\"content\"]}]}",
         "ops.change_types"},
        {"{\"subscribers\":[{" OPS ",\"change_classes\":[\"modified\"]}]}", "ops.change_classes"},
        {"{\"subscribers\":[{" OPS ",\"audience\":\"all\"}]}", "ops.audience"},
        {"{\"subscribers\":[{" OPS ",\"format\":\"mail\"}]}", "ops.format"},
        {"{\"subscribers\":[{" OPS ",\"enabled\":1}]}", "ops.enabled"},
        {"{\"subscribers\":[{\"name\":\"ops\",\"url\":\"https://x/\"}]}", "ops.secrets"},
        {"{\"subscribers\":[{\"name\":\"ops\",\"url\":\"ftp://x/\"}]}", "ops.url"},
        {"{\"subscribers\":[{\"name\":\"ops\",\"url\":\"https://me:pw@x/\"}]}", "ops.url"},
        {"{\"subscribers\":[{\"name\":\"ops\"}]}", "ops.url"},
        {"{\"subscribers\":[{\"name\":\"ops\",\"url\":\"secret:a/b\"}]}", "ops.url"},
        {"{\"subscribers\":[{\"name\":\"c\",\"format\":\"slack\",\"url\":\"https://hooks.x/T/B\"}]}",
         "c.url"},
        {"{\"subscribers\":[{\"name\":\"c\",\"format\":\"slack\",\"url\":\"secret:s\",\"secrets\":"
         "[\"x\"]}]}",
         "c.secrets"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct subscribers all = {.n = 77};
        err = (struct err){0};
        assert_int_equal(subscribers_parse(&a, str_of(bad[i].json), &all, &err), RC_INVALID);
        assert_string_equal(err.field, bad[i].field);
        assert_true(err.msg[0]);
        assert_null(strstr(err.msg, "hooks.x"));
        assert_int_equal(all.n, 77); /* nothing by half */
    }
}

/* ---- who hears of what ----------------------------------------------------------------------- */

static struct source source_of(enum level l)
{
    return (struct source){.id = "s1", .title = "Title", .collection = "c1", .level = l};
}

static bool hears(const char *members, enum level l, enum notice_kind kind, bool unexpected)
{
    struct subscriber s = one(members);
    struct source x = source_of(l);
    struct notice_entry e = {.doc = STR("{}"),
                             .change_type = l >= LEVEL_RESTRICTED ? "" : "modified",
                             .change_class = l >= LEVEL_RESTRICTED ? "" : "schema",
                             .unexpected = unexpected};
    const struct occurrence o = {kind, &x, kind == NOTICE_change ? &e : NULL};
    return subscriber_hears(&s, &o);
}

/* S1: for every kind and level. */
static void withheld_is_not_told(void **state)
{
    static const char all[] = OPS ",\"events\":[\"change\",\"hold\",\"dead_letter\",\"breach\","
                                  "\"conflict\"]";
    static const char stewards[] = OPS ",\"audience\":\"stewards\",\"events\":[\"change\",\"hold\","
                                       "\"dead_letter\",\"breach\",\"conflict\"]";
    (void)state;
    for (int k = 0; k < NOTICE_COUNT; k++) {
        assert_true(hears(all, LEVEL_PUBLIC, (enum notice_kind)k, false));
        assert_true(hears(all, LEVEL_GENERALIZED, (enum notice_kind)k, false));
        assert_false(hears(all, LEVEL_RESTRICTED, (enum notice_kind)k, false));
        assert_false(hears(all, LEVEL_SOVEREIGN, (enum notice_kind)k, false));
        assert_true(hears(stewards, LEVEL_RESTRICTED, (enum notice_kind)k, false));
        assert_false(hears(stewards, LEVEL_SOVEREIGN, (enum notice_kind)k, false));
    }
}

static void filters_decide(void **state)
{
    (void)state;
    assert_false(hears(OPS, LEVEL_PUBLIC, NOTICE_change, false)); /* not by default */
    assert_true(hears(OPS, LEVEL_PUBLIC, NOTICE_change, true));   /* but unexpected ones */
    assert_false(hears(OPS ",\"events\":[\"change\"]", LEVEL_PUBLIC, NOTICE_hold, false));
    assert_true(hears(OPS ",\"sources\":[\"s1\"]", LEVEL_PUBLIC, NOTICE_hold, false));
    assert_false(hears(OPS ",\"sources\":[\"s2\"]", LEVEL_PUBLIC, NOTICE_hold, false));
    assert_false(hears(OPS ",\"collections\":[\"c2\"]", LEVEL_PUBLIC, NOTICE_hold, false));
    assert_true(hears(OPS ",\"events\":[\"change\"],\"change_types\":[\"modified\"],"
                          "\"change_classes\":[\"schema\"]",
                      LEVEL_PUBLIC, NOTICE_change, false));
    assert_false(hears(OPS ",\"events\":[\"change\"],\"change_types\":[\"new\"]", LEVEL_PUBLIC,
                       NOTICE_change, false));
    /* S2: what the level withholds matches no filter. */
    assert_false(hears(OPS ",\"audience\":\"stewards\",\"events\":[\"change\"],\"change_types\":"
                           "[\"modified\"]",
                       LEVEL_RESTRICTED, NOTICE_change, false));
}

/* ---- messages -------------------------------------------------------------------------------- */

static const char *body_of(enum subscriber_format f, const struct source *s, const struct notice *n,
                           const struct notice_entry *e)
{
    struct instance inst = {.dir = "/nowhere"};
    struct str body;
    conf_defaults(&inst.conf);
    inst.conf.public_base_url = "https://data.example";
    assert_int_equal(message_body(&a, &inst, f, n, s, e, &body, &err), RC_OK);
    yyjson_val *v;
    assert_int_equal(json_parse(&a, body, 0, "a message", &v, &err), RC_OK);
    return body.p;
}

static void a_change_is_told_by_its_entry(void **state)
{
    (void)state;
    struct source s = source_of(LEVEL_PUBLIC);
    struct notice n = {.kind = NOTICE_change, .event_id = "evt_1"};
    struct notice_entry e = {.doc = STR("{\"x\":\"\\u001F/deltas/d\"}"),
                             .change_type = "new",
                             .change_class = "new",
                             .seq = 12,
                             .unexpected = true};
    const char *body = body_of(NOTIFY_STANDARD, &s, &n, &e);
    assert_non_null(
        strstr(body, "\"type\":\"change.unexpected\",\"timestamp\":\"1970-01-01T00:00:00"));
    assert_non_null(
        strstr(body, "\"change\":{\"seq\":\"12\",\"x\":\"https://data.example/deltas/d\"}"));
}

/* M1 */
static void of_a_restricted_source_ids_alone(void **state)
{
    (void)state;
    struct source s = source_of(LEVEL_RESTRICTED);
    struct notice n = {.kind = NOTICE_hold, .event_id = "evt_1", .reason = "OUTSIDE_REGION"};
    assert_string_equal(
        body_of(NOTIFY_STANDARD, &s, &n, NULL),
        "{\"type\":\"hold\",\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"data\":{\"source_id\":\"s1\","
        "\"sensitivity\":\"restricted\",\"change_event_id\":\"evt_1\"}}");
    for (int f = NOTIFY_SLACK; f < NOTIFY_FORMATS; f++) {
        const char *body = body_of((enum subscriber_format)f, &s, &n, NULL);
        assert_null(strstr(body, "Title"));
        assert_null(strstr(body, "OUTSIDE"));
    }
}

/* M3 */
static void a_title_is_no_markup(void **state)
{
    (void)state;
    struct source s = source_of(LEVEL_PUBLIC);
    struct notice n = {.kind = NOTICE_dead, .event_id = "evt_1", .reason = "DENIED"};
    s.title = "<!channel> *b* & @everyone [x](https://evil.example)";
    const char *slack = body_of(NOTIFY_SLACK, &s, &n, NULL);
    assert_non_null(strstr(slack, "&lt;!channel&gt; *b* &amp; @everyone"));
    assert_non_null(strstr(slack, "\"mrkdwn\":false"));
    const char *discord = body_of(NOTIFY_DISCORD, &s, &n, NULL);
    assert_non_null(strstr(discord, "\\\\<!channel\\\\> \\\\*b\\\\*"));
    assert_non_null(strstr(discord, "\\\\[x\\\\]\\\\(https\\\\://"));
    assert_non_null(strstr(discord, "\"allowed_mentions\":{\"parse\":[]}"));
    /* A long one stays below what they take, and whole characters. */
    char *long_title = arena_alloc(&a, 6001);
    memset(long_title, 'x', 6000);
    long_title[6000] = '\0';
    s.title = long_title;
    assert_true(strlen(body_of(NOTIFY_DISCORD, &s, &n, NULL)) < 2000);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {T(base64_is_rfc_4648),

                                       T(hmac_is_rfc_4231),
                                       T(a_signature_is_standard_webhooks),
                                       T(a_file_is_read),
                                       T(every_word_of_the_tables_is_a_filter),
                                       T(errors_name_the_field),
                                       T(withheld_is_not_told),
                                       T(filters_decide),
                                       T(a_change_is_told_by_its_entry),
                                       T(of_a_restricted_source_ids_alone),
                                       T(a_title_is_no_markup)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

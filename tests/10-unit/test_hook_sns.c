/* hook_sns: who may speak for a topic, and what it says. Messages are signed here with keys made
 * for the run. */
#include "tests/10-unit/hook_world.h"

static struct keys ours, theirs, small;
static struct world w;

static int make_keys(void **state)
{
    (void)state;
    keys_make(&ours, 2048, WORLD_NOW / 1000 + 86400);
    keys_make(&theirs, 2048, WORLD_NOW / 1000 + 86400);
    keys_make(&small, 1024, WORLD_NOW / 1000 + 86400);
    return 0;
}
static int drop_keys(void **state)
{
    (void)state;
    keys_end(&ours);
    keys_end(&theirs);
    keys_end(&small);
    return 0;
}

#define TOPIC "arn:aws:sns:us-east-1:123456789012:maps"
#define CERT "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-f3ec.pem"
#define CONFIRM                                                                                    \
    "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" TOPIC              \
    "&Token=2336412f37"
#define OPTIONS "{\"topic_arns\":[\"" TOPIC "\"]}"

/* A message; NULL leaves a member out. */
struct message {
    const char *type, *message, *id, *subject, *time, *topic, *subscribe, *token, *version, *cert;
};
static const struct message plain = {.type = "Notification",
                                     .message = "look",
                                     .id = "22b80b92-fdea",
                                     .time = "2026-05-28T20:26:00.000Z",
                                     .topic = TOPIC,
                                     .version = "2",
                                     .cert = CERT};

static void put_line(struct buf *b, const char *name, const char *value)
{
    if (value)
        buf_printf(b, "%s\n%s\n", name, value);
}

static struct str text_to_sign(const struct message *m)
{
    static struct buf b;
    bool notification = strcmp(m->type, "Notification") == 0;
    buf_release(&b);
    buf_init(&b, 1 << 20);
    put_line(&b, "Message", m->message);
    put_line(&b, "MessageId", m->id);
    put_line(&b, "Subject", notification ? m->subject : NULL);
    put_line(&b, "SubscribeURL", notification ? NULL : m->subscribe);
    put_line(&b, "Timestamp", m->time);
    put_line(&b, "Token", notification ? NULL : m->token);
    put_line(&b, "TopicArn", m->topic);
    put_line(&b, "Type", m->type);
    return buf_view(&b);
}

static void put_member(struct buf *b, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", name);
    json_put_str(b, str_of(value));
}

static const char *body_of(const struct message *m, const char *signature, const char *more)
{
    static struct buf b;
    buf_release(&b);
    buf_init(&b, 1 << 20);
    buf_byte(&b, '{');
    put_member(&b, "Type", m->type);
    put_member(&b, "MessageId", m->id);
    put_member(&b, "Token", m->token);
    put_member(&b, "TopicArn", m->topic);
    put_member(&b, "Subject", m->subject);
    put_member(&b, "Message", m->message);
    put_member(&b, "SubscribeURL", m->subscribe);
    put_member(&b, "Timestamp", m->time);
    put_member(&b, "SignatureVersion", m->version);
    put_member(&b, "Signature", signature);
    put_member(&b, "SigningCertURL", m->cert);
    buf_printf(&b, "%s}", more);
    assert_rc(buf_rc(&b), RC_OK);
    return b.data;
}

static const char *signature_of(const struct message *m, const struct keys *k, const char *hash)
{
    static char text[1024];
    unsigned char sig[512];
    EVP_EncodeBlock((unsigned char *)text, sig, (int)keys_sign(k, hash, text_to_sign(m), sig));
    return text;
}

static const char *signed_body(const struct message *m, const struct keys *k)
{
    return body_of(m, signature_of(m, k, strcmp(m->version, "1") == 0 ? "SHA1" : "SHA256"), "");
}

static void start(const char *options, const char *body)
{
    world_start(&w, options);
    world_secret(&w, theirs.certificate); /* one that is going out of use */
    world_secret(&w, ours.certificate);
    w.d.secrets[0] = str_of(small.certificate); /* a bad one among them hides none */
    world_body(&w, "text/plain; charset=UTF-8", body);
}

static enum rc verifies(const char *body)
{
    start(OPTIONS, body);
    return world_verify(&w, &hook_sns);
}

/* ---- who may say it -------------------------------------------------------------------------- */

static void both_versions_hold(void **state)
{
    (void)state;
    struct message m = plain;
    for (int version = 1; version <= 2; version++) {
        m.version = version == 1 ? "1" : "2";
        m.subject = NULL;
        assert_rc(verifies(signed_body(&m, &ours)), RC_OK);
        world_end(&w);
        m.subject = "My First Message";
        assert_rc(verifies(signed_body(&m, &ours)), RC_OK);
        world_end(&w);
        m.message = "gr\xc3\xbc\xc3\x9f\x65\nin two lines\t\"and\" a quote";
        assert_rc(verifies(signed_body(&m, &ours)), RC_OK);
        world_end(&w);
    }
}

static void certificates_in_the_declaration(void **state)
{
    (void)state;
    char options[6000], one[2500], two[2500];
    snprintf(options, sizeof options,
             "{\"topic_arns\":[\"" TOPIC "\"],\"certificates\":[\"%s\",\"%s\"]}",
             pem_json(theirs.certificate, one), pem_json(ours.certificate, two));
    world_start(&w, options);
    world_body(&w, "text/plain", signed_body(&plain, &ours));
    assert_rc(world_verify(&w, &hook_sns), RC_OK);
    world_end(&w);
    struct err err;
    assert_rc(world_options(&hook_sns, options, 0, &err), RC_OK);
}

static void signatures_of_others(void **state)
{
    (void)state;
    refused(verifies(signed_body(&plain, &theirs)), RC_UNAUTHORIZED, &w, "Signature");
    world_end(&w);
    refused(verifies(signed_body(&plain, &small)), RC_UNAUTHORIZED, &w, "Signature");
    world_end(&w);
    world_start(&w, OPTIONS);
    world_body(&w, "text/plain", signed_body(&plain, &ours));
    refused(world_verify(&w, &hook_sns), RC_UNAUTHORIZED, &w, "no certificate");
    world_end(&w);
    /* The hash of the other version. */
    refused(verifies(body_of(&plain, signature_of(&plain, &ours, "SHA1"), "")), RC_UNAUTHORIZED, &w,
            "Signature");
    world_end(&w);
}

/* What was signed is changed member by member. */
static void every_member_is_signed(void **state)
{
    (void)state;
    struct message m = plain;
    m.subject = "s";
    static char signature[1024];
    snprintf(signature, sizeof signature, "%s", signature_of(&m, &ours, "SHA256"));
    struct message cases[6] = {m, m, m, m, m, m};
    cases[0].message = "look again";
    cases[1].id = "22b80b92-fdeb";
    cases[2].subject = "t";
    cases[3].subject = NULL;
    cases[4].time = "2026-05-28T20:26:01.000Z";
    cases[5].subject = "";
    assert_rc(verifies(body_of(&m, signature, "")), RC_OK);
    world_end(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        refused(verifies(body_of(&cases[i], signature, "")), RC_UNAUTHORIZED, &w, "Signature");
        world_end(&w);
    }
}

/* The signed text has a line for each name and value: a message with line breaks must not be read
 * as another message. */
static void lines_cannot_be_moved(void **state)
{
    (void)state;
    struct message m = plain, moved = plain;
    m.message = "short\nMessageId\nmine\nTimestamp\n2026-05-28T20:26:01.000Z\nTopicArn\n" TOPIC
                "\nType\nNotification";
    static char signature[1024];
    snprintf(signature, sizeof signature, "%s", signature_of(&m, &ours, "SHA256"));
    moved.message = "short";
    moved.id = "mine\nTimestamp\n2026-05-28T20:26:01.000Z\nTopicArn\n" TOPIC
               "\nType\nNotification\nMessageId\n22b80b92-fdea";
    char copy[1024];
    struct str text = text_to_sign(&m);
    snprintf(copy, sizeof copy, "%.*s", STR_FMT(text));
    assert_str(text_to_sign(&moved), copy);
    refused(verifies(body_of(&moved, signature, "")), RC_INVALID, &w, "MessageId");
    world_end(&w);
}

static void cheap_checks(void **state)
{
    (void)state;
    static const struct {
        size_t member;
        const char *value, *word;
    } cases[] = {
#define WITH(member, value) offsetof(struct message, member), value
        {WITH(topic, "arn:aws:sns:us-east-1:999999999999:maps"), "TopicArn"},
        {WITH(topic, NULL), "TopicArn"},
        {WITH(topic, ""), "TopicArn"},
        {WITH(topic, TOPIC "2"), "TopicArn"},
        {WITH(version, "3"), "SignatureVersion"},
        {WITH(version, NULL), "SignatureVersion"},
        {WITH(version, "0"), "SignatureVersion"},
        {WITH(type, "Notice"), "Type"},
        {WITH(type, NULL), "Type"},
        {WITH(time, "2026-05-28T19:21:39Z"), "Timestamp"},
        {WITH(time, "2026-05-28T20:31:41Z"), "Timestamp"},
        {WITH(time, NULL), "Timestamp"},
        {WITH(cert, "http://sns.us-east-1.amazonaws.com/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com.evil.example/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com@evil.example/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com:8443/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com/x.pem?y=.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com/x.pem#.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com/x.exe"), "SigningCertURL"},
        {WITH(cert, "https://evil.example/sns.us-east-1.amazonaws.com/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.evil.example/.amazonaws.com/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns..amazonaws.com/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.a.b.amazonaws.com/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.amazonaws.com/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://s3.us-east-1.amazonaws.com/x.pem"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com"), "SigningCertURL"},
        {WITH(cert, "https://sns.us-east-1.amazonaws.com\\@evil.example/x.pem"), "SigningCertURL"},
        {WITH(cert, NULL), "SigningCertURL"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct message m = plain;
        memcpy((char *)&m + cases[i].member, &cases[i].value, sizeof cases[i].value);
        enum rc rc = verifies(body_of(&m, "AAAA", ""));
        if (rc == RC_INVALID) /* a time that is none */
            rc = RC_UNAUTHORIZED;
        refused(rc, RC_UNAUTHORIZED, &w, cases[i].word);
        world_end(&w);
    }
}

static void times_at_the_edge(void **state)
{
    (void)state;
    struct message m = plain;
    static const char *const good[] = {"2026-05-28T19:21:40.000Z", "2026-05-28T20:31:40.000Z"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        m.time = good[i];
        assert_rc(verifies(signed_body(&m, &ours)), RC_OK);
        world_end(&w);
    }
}

static void china_signs_too(void **state)
{
    (void)state;
    struct message m = plain;
    m.cert = "https://sns.cn-north-1.amazonaws.com.cn/x.pem";
    assert_rc(verifies(signed_body(&m, &ours)), RC_OK);
    world_end(&w);
}

static void forms_that_are_none(void **state)
{
    (void)state;
    static char signature[1024], cut[2100];
    static const char *const bodies[] = {"", "{", "[]", "7", "{}", "null", "\"Type\""};
    snprintf(signature, sizeof signature, "%s", signature_of(&plain, &ours, "SHA256"));
    assert_rc(verifies(body_of(&plain, signature, ",\"X\":1")), RC_OK);
    world_end(&w);
    refused(verifies(body_of(&plain, signature, ",\"TopicArn\":\"x\"")), RC_INVALID, &w,
            "given twice");
    world_end(&w);
    refused(verifies(body_of(&plain, signature, ",\"T\\u0079pe\":\"Notification\"")), RC_INVALID,
            &w, "given twice");
    world_end(&w);
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        enum rc rc = verifies(bodies[i]);
        assert_true(rc == RC_INVALID || rc == RC_UNAUTHORIZED);
        world_end(&w);
    }
    size_t n = strlen(signature);
    static const size_t lengths[] = {0, 1, 2, 3, 4, 340};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        assert_true(lengths[i] < n);
        snprintf(cut, sizeof cut, "%.*s", (int)lengths[i], signature);
        refused(verifies(body_of(&plain, cut, "")), RC_UNAUTHORIZED, &w, "Signature");
        world_end(&w);
    }
    snprintf(cut, sizeof cut, " %s", signature);
    refused(verifies(body_of(&plain, cut, "")), RC_UNAUTHORIZED, &w, "Signature");
    world_end(&w);
    snprintf(cut, sizeof cut, "%s%s", signature, signature);
    refused(verifies(body_of(&plain, cut, "")), RC_UNAUTHORIZED, &w, "Signature");
    world_end(&w);
}

static void bounded_before_it_is_proven(void **state)
{
    (void)state;
    static char big[800000], more[4000];
    size_t n = 0;
    memset(big, ' ', sizeof big - 1);
    refused(verifies(big), RC_TOO_LARGE, &w, "at most");
    world_end(&w);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(more + n, sizeof more - n, ",\"x%d\":1", i);
    refused(verifies(body_of(&plain, "AAAA", more)), RC_INVALID, &w, "members");
    world_end(&w);
    memset(big, 'x', 3000);
    big[3000] = '\0';
    struct message m = plain;
    m.id = big;
    refused(verifies(signed_body(&m, &ours)), RC_INVALID, &w, "MessageId");
    world_end(&w);
}

static void versions_can_be_chosen(void **state)
{
    (void)state;
    const char *options = "{\"topic_arns\":[\"" TOPIC "\"],\"signature_versions\":[\"2\"]}";
    struct message m = plain;
    m.version = "1";
    start(options, signed_body(&m, &ours));
    refused(world_verify(&w, &hook_sns), RC_UNAUTHORIZED, &w, "SignatureVersion");
    world_end(&w);
    start(options, signed_body(&plain, &ours));
    assert_rc(world_verify(&w, &hook_sns), RC_OK);
    world_end(&w);
    start("{}", signed_body(&plain, &ours));
    refused(world_verify(&w, &hook_sns), RC_UNAUTHORIZED, &w, "TopicArn");
    world_end(&w);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static enum rc reads(const struct message *m)
{
    start(OPTIONS, signed_body(m, &ours));
    assert_rc(world_verify(&w, &hook_sns), RC_OK);
    return world_read(&w, &hook_sns);
}

static void a_plain_message_says_look(void **state)
{
    (void)state;
    assert_rc(reads(&plain), RC_OK);
    assert_int_equal(w.r.kind, HOOK_EVENTS);
    assert_int_equal(w.r.n_events, 1);
    assert_str(w.r.events[0].id, "22b80b92-fdea");
    assert_str(w.r.events[0].sequence, "");
    assert_int_equal(w.r.events[0].what, HOOK_CHANGED);
    assert_int_equal(w.r.events[0].at, WORLD_NOW - 40000);
    assert_true(str_eq(w.r.events[0].bytes, text_to_sign(&plain)));
    world_end(&w);
}

#define S3(name, key)                                                                              \
    "{\"eventVersion\":\"2.1\",\"eventSource\":\"aws:s3\",\"eventTime\":\"2026-05-28T20:26:30Z\"," \
    "\"eventName\":\"" name "\",\"s3\":{\"bucket\":{\"name\":\"maps\"},\"object\":{\"key\":\"" key \
    "\",\"sequencer\":\"0055\"}}}"

static void events_of_s3_within(void **state)
{
    (void)state;
    struct message m = plain;
    m.message = "{\"Records\":[" S3("ObjectCreated:Put", "a+b.zip") "]}";
    assert_rc(reads(&m), RC_OK);
    assert_int_equal(w.r.n_events, 1);
    assert_str(w.r.events[0].id, "22b80b92-fdea");
    assert_str(w.r.events[0].object, "maps/a b.zip");
    assert_str(w.r.events[0].sequence, "0055");
    world_end(&w);
    m.message =
        "{\"Records\":[" S3("ObjectCreated:Put", "a") "," S3("ObjectRemoved:Delete", "b") "]}";
    assert_rc(reads(&m), RC_OK);
    assert_int_equal(w.r.n_events, 2);
    assert_int_equal(w.r.events[1].what, HOOK_GONE);
    assert_false(str_eq(w.r.events[0].id, w.r.events[1].id));
    world_end(&w);
    m.message = "{\"Service\":\"Amazon S3\",\"Event\":\"s3:TestEvent\",\"Bucket\":\"b\"}";
    assert_rc(reads(&m), RC_OK);
    assert_int_equal(w.r.events[0].what, HOOK_OTHER);
    assert_str(w.r.events[0].id, "22b80b92-fdea");
    world_end(&w);
    m.message = "{\"Records\":[" S3("ObjectCreated:Put", "a") "," S3("ObjectCreated:Put", "%") "]}";
    refused(reads(&m), RC_INVALID, &w, "key");
    world_end(&w);
    m.message = "{\"Records\":[],\"Records\":[]}";
    refused(reads(&m), RC_INVALID, &w, "given twice");
    world_end(&w);
}

static void subscriptions(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "http://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1",
        "https://sns.us-east-1.amazonaws.com.evil.example/?Action=ConfirmSubscription&Token=1",
        "https://sns.us-east-1.amazonaws.com:81/?Action=ConfirmSubscription&Token=1",
        "https://a@sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1",
        "https://sns.us-east-1.amazonaws.com/?Action=DeleteTopic&Token=1",
        "https://sns.us-east-1.amazonaws.com/x?Action=ConfirmSubscription&Token=1",
        "https://127.0.0.1/?Action=ConfirmSubscription&Token=1",
        "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription& x",
    };
    struct message m = plain;
    m.type = "SubscriptionConfirmation";
    m.token = "2336412f37";
    m.subscribe = CONFIRM;
    assert_rc(reads(&m), RC_OK);
    assert_int_equal(w.r.kind, HOOK_CONFIRM);
    assert_str(w.r.confirm_url, CONFIRM);
    assert_int_equal(w.r.n_events, 1); /* a repeat is told by it */
    assert_true(w.r.events[0].id.n > 0 && w.r.events[0].bytes.n > 0);
    world_end(&w);
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        m.subscribe = urls[i];
        refused(reads(&m), RC_INVALID, &w, "SubscribeURL");
        world_end(&w);
    }
    m.subscribe = NULL;
    refused(verifies(signed_body(&m, &ours)), RC_INVALID, &w, "SubscribeURL");
    world_end(&w);
    m.type = "UnsubscribeConfirmation";
    m.subscribe = CONFIRM;
    assert_rc(reads(&m), RC_OK);
    assert_int_equal(w.r.kind, HOOK_EVENTS);
    assert_int_equal(w.r.n_events, 1);
    assert_int_equal(w.r.events[0].what, HOOK_OTHER);
    world_end(&w);
}

static void options(void **state)
{
    (void)state;
    static const struct declared cases[] = {
        {OPTIONS, 1, NULL},
        {"{\"topic_arns\":[\"" TOPIC "\",\"arn:aws-cn:sns:cn-north-1:1:x.fifo\"]}", 2, NULL},
        {OPTIONS, 0, "adapter_options.certificates"},
        {NULL, 1, "adapter_options.topic_arns"},
        {"{\"topic_arns\":[]}", 1, "adapter_options.topic_arns"},
        {"{\"topic_arns\":\"" TOPIC "\"}", 1, "adapter_options.topic_arns"},
        {"{\"topic_arns\":[\"*\"]}", 1, "adapter_options.topic_arns"},
        {"{\"topic_arns\":[\"arn:aws:sqs:us-east-1:1:maps\"]}", 1, "adapter_options.topic_arns"},
        {"{\"topic_arns\":[\"arn:aws:sns:us-east-1:1:maps:x\"]}", 1, "adapter_options.topic_arns"},
        {"{\"topic_arns\":[\"arn:aws:sns::1:maps\"]}", 1, "adapter_options.topic_arns"},
        {"{\"topic_arns\":[\"" TOPIC "\"],\"certificates\":[]}", 1, "adapter_options.certificates"},
        {"{\"topic_arns\":[\"" TOPIC "\"],\"certificates\":[\"/etc/x.pem\"]}", 1,
         "adapter_options.certificates"},
        {"{\"topic_arns\":[\"" TOPIC "\"],\"certificates\":\"x\"}", 1,
         "adapter_options.certificates"},
        {"{\"topic_arns\":[\"" TOPIC "\"],\"signature_versions\":[\"3\"]}", 1,
         "adapter_options.signature_versions"},
        {"{\"topic_arns\":[\"" TOPIC "\"],\"topics\":[\"3\"]}", 1, "adapter_options.topics"},
    };
    world_declared(&hook_sns, cases, ARRAY_LEN(cases));
}

/* ---- vectors made elsewhere ------------------------------------------------------------------ */

static bool run_case(yyjson_val *one, const char *certificate)
{
    yyjson_val *message = yyjson_obj_get(one, "message");
    char *body = yyjson_val_write(message, 0, NULL), options[300];
    int64_t at = 0;
    assert_rc(time_parse(json_text(yyjson_obj_get(message, "Timestamp")), &at), RC_OK);
    snprintf(options, sizeof options, "{\"topic_arns\":[\"%.200s\"]}",
             yyjson_get_str(yyjson_obj_get(message, "TopicArn")));
    world_start(&w, options);
    world_secret(&w, certificate);
    world_body(&w, "text/plain; charset=UTF-8", body);
    w.d.now = at;
    enum rc rc = world_verify(&w, &hook_sns);
    if (rc == RC_OK)
        assert_rc(world_read(&w, &hook_sns), RC_OK);
    world_end(&w);
    free(body);
    return rc == RC_OK;
}

static void vectors(void **state)
{
    (void)state;
    struct arena a;
    struct err err = {0};
    yyjson_val *doc, *one;
    size_t i, n;
    arena_init(&a, 1 << 20);
    if (json_parse_file(&a, "../shared/data/vectors/sns_selfsigned.json", 0, &doc, &err) != RC_OK)
        skip();
    const char *certificate = yyjson_get_str(yyjson_obj_get(doc, "certificate_pem"));
    yyjson_arr_foreach(yyjson_obj_get(doc, "cases"), i, n, one)
    {
        bool good = run_case(one, certificate);
        if (good != yyjson_get_bool(yyjson_obj_get(one, "valid")))
            fail_msg("case \"%s\"", yyjson_get_str(yyjson_obj_get(one, "name")));
    }
    assert_true(n > 10);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_hold),
        cmocka_unit_test(certificates_in_the_declaration),
        cmocka_unit_test(signatures_of_others),
        cmocka_unit_test(every_member_is_signed),
        cmocka_unit_test(lines_cannot_be_moved),
        cmocka_unit_test(cheap_checks),
        cmocka_unit_test(times_at_the_edge),
        cmocka_unit_test(china_signs_too),
        cmocka_unit_test(forms_that_are_none),
        cmocka_unit_test(bounded_before_it_is_proven),
        cmocka_unit_test(versions_can_be_chosen),
        cmocka_unit_test(a_plain_message_says_look),
        cmocka_unit_test(events_of_s3_within),
        cmocka_unit_test(subscriptions),
        cmocka_unit_test(options),
        cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}

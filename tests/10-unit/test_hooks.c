/* The adapters with a shared secret, by themselves: whose signature counts, what they read, which
 * options they take. Vectors of the schemes' own makers are played too where they are at hand. */
#include "api/hook.h"
#include "tests/10-unit/unit.h"

#define VECTORS "../shared/data/vectors/"
#define NOW 1614265330000LL
#define KEY "a-key-of-32-bytes-for-the-tests!"
#define KEY2 "another-key-of-32-bytes-for-them"

static struct arena arena;
static struct err err;

/* A delivery by hand: headers as a web server sends them, a body, secrets. */
struct by_hand {
    char params[12][600];
    char *list[13];
    struct req r;
    struct hook_delivery d;
    yyjson_val *options;
};

static void begin(struct by_hand *h, const char *body, const char *secret)
{
    memset(h, 0, sizeof *h);
    arena_reset(&arena);
    err = (struct err){0};
    h->r.params_raw = h->list;
    h->d = (struct hook_delivery){.method = STR("POST"),
                                  .body = str_of(body),
                                  .content_type = STR("application/json"),
                                  .req = &h->r,
                                  .now = NOW,
                                  .arena = &arena};
    if (secret)
        h->d.secrets[h->d.n_secrets++] = str_of(secret);
}

static void header(struct by_hand *h, const char *name, const char *value)
{
    size_t n = 0;
    while (h->list[n])
        n++;
    assert_true(n < 12);
    snprintf(h->params[n], sizeof h->params[n], "HTTP_%s=%s", name, value);
    h->list[n] = h->params[n];
}

static void options(struct by_hand *h, const char *json)
{
    assert_rc(json_parse(&arena, str_of(json), 0, "options", &h->options, &err), RC_OK);
    h->d.options = h->options;
}

static const char *hex_of(const char *key, const char *head, struct str body, char out[SHA256_HEX])
{
    struct sha256 mac;
    mac_sha256_of(str_of(key), str_of(head), body, &mac);
    sha256_hex(&mac, out);
    return out;
}

static const char *base64_of(const void *p, size_t n, bool url, char out[80])
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *b = p;
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)b[i] << 16 | (i + 1 < n ? (unsigned)b[i + 1] << 8 : 0) |
                     (i + 2 < n ? b[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            if (i + k <= n)
                out[at++] = plain[v >> (18 - 6 * k) & 63];
            else if (!url)
                out[at++] = '=';
    }
    out[at] = 0;
    for (char *c = out; url && *c; c++)
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c);
    return out;
}

static enum rc verify(const struct hook_adapter *a, struct by_hand *h)
{
    enum rc rc = a->verify(&h->d, &err);
    if (rc != RC_OK && err.msg[0]) { /* hook.h 3: what is said holds nothing of what came */
        assert_null(strstr(err.msg, KEY));
        if (h->d.body.n > 3)
            assert_null(strstr(err.msg, h->d.body.p));
    }
    return rc;
}

/* ---- Standard Webhooks ----------------------------------------------------------------------- */

#define STD_SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define STD_BODY "{\"test\": 2432232314}"
#define STD_ID "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define STD_SIG "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static void standard(struct by_hand *h, const char *id, const char *at, const char *sig,
                     const char *secret)
{
    begin(h, STD_BODY, secret);
    if (id)
        header(h, "WEBHOOK_ID", id);
    if (at)
        header(h, "WEBHOOK_TIMESTAMP", at);
    if (sig)
        header(h, "WEBHOOK_SIGNATURE", sig);
}

static void standard_webhooks_signatures(void **state)
{
    static const struct {
        const char *id, *at, *sig, *secret;
        int64_t off_s;
        enum rc want;
    } rows[] = {
        {STD_ID, "1614265330", STD_SIG, STD_SECRET, 0, RC_OK},
        {STD_ID, "1614265330", STD_SIG, STD_SECRET + 6, 0, RC_OK},
        {STD_ID, "1614265330", STD_SIG, STD_SECRET, 300, RC_OK},
        {STD_ID, "1614265330", STD_SIG, STD_SECRET, -300, RC_OK},
        {STD_ID, "1614265330", STD_SIG, STD_SECRET, 301, RC_UNAUTHORIZED},
        {STD_ID, "1614265330", STD_SIG, STD_SECRET, -301, RC_UNAUTHORIZED},
        {STD_ID, "1614265330", "v1,AAAA " STD_SIG " v1a,xyz", STD_SECRET, 0, RC_OK},
        {STD_ID, "1614265330", "v2" STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "1614265330", "v1,", STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "1614265330", "", STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "1614265330", NULL, STD_SECRET, 0, RC_UNAUTHORIZED},
        {NULL, "1614265330", STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, NULL, STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "1614265331", STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "hello", STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "-1", STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "99999999999999999999", STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {"msg_other", "1614265330", STD_SIG, STD_SECRET, 0, RC_UNAUTHORIZED},
        {STD_ID, "1614265330", STD_SIG, "whsec_AAAA", 0, RC_UNAUTHORIZED}, /* too short */
        {STD_ID, "1614265330", STD_SIG, "not base64 at all, no!", 0, RC_UNAUTHORIZED},
        {STD_ID, "1614265330", STD_SIG, NULL, 0, RC_UNAUTHORIZED},
    };
    struct by_hand h;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        standard(&h, rows[i].id, rows[i].at, rows[i].sig, rows[i].secret);
        h.d.now += rows[i].off_s * 1000;
        enum rc rc = verify(&hook_standard_webhooks, &h);
        if (rc != rows[i].want)
            fail_msg("row %zu: %s", i, rc_name(rc));
    }
}

static void a_public_key_alone_is_refused_in_so_many_words(void **state)
{
    struct by_hand h;
    (void)state;
    standard(&h, STD_ID, "1614265330", "v1a,abc= v1a,def=", STD_SECRET);
    assert_rc(verify(&hook_standard_webhooks, &h), RC_UNAUTHORIZED);
    assert_non_null(strstr(err.msg, "v1a"));
}

/* ---- the others ------------------------------------------------------------------------------ */

static void github_signatures(void **state)
{
    struct by_hand h;
    char hex[SHA256_HEX], value[128];
    (void)state;
    begin(&h, "{\"a\":1}", KEY);
    hex_of(KEY, "", h.d.body, hex);
    snprintf(value, sizeof value, "sha256=%s", hex);
    header(&h, "X_HUB_SIGNATURE_256", value);
    assert_rc(verify(&hook_github, &h), RC_OK);
    for (char *c = h.params[0] + 32; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'f' ? *c - 32 : *c); /* upper case says the same */
    assert_rc(verify(&hook_github, &h), RC_OK);
    h.d.body = STR("{\"a\": 1}");
    assert_rc(verify(&hook_github, &h), RC_UNAUTHORIZED);
    static const char *const bad[] = {"sha256=", "sha256=00", "sha1=", "", "sha256=zz"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        begin(&h, "{\"a\":1}", KEY);
        header(&h, "X_HUB_SIGNATURE_256", bad[i]);
        assert_rc(verify(&hook_github, &h), RC_UNAUTHORIZED);
    }
    begin(&h, "{\"a\":1}", KEY);
    header(&h, "X_HUB_SIGNATURE_256", hex); /* without its prefix */
    assert_rc(verify(&hook_github, &h), RC_UNAUTHORIZED);
}

static void github_with_sha1_alone_is_refused(void **state)
{
    struct by_hand h;
    (void)state;
    begin(&h, "{}", KEY);
    header(&h, "X_HUB_SIGNATURE", "sha1=da39a3ee5e6b4b0d3255bfef95601890afd80709");
    assert_rc(verify(&hook_github, &h), RC_UNAUTHORIZED);
    assert_non_null(strstr(err.msg, "sha1"));
}

static struct hook_reading *read_it(const struct hook_adapter *a, struct by_hand *h, enum rc want)
{
    static struct hook_reading r;
    memset(&r, 0, sizeof r);
    assert_rc(a->read(&h->d, &r, &err), want);
    return &r;
}

static void github_events(void **state)
{
    struct by_hand h;
    (void)state;
    begin(&h, "{\"after\":\"c0ffee\"}", KEY);
    header(&h, "X_GITHUB_EVENT", "push");
    header(&h, "X_GITHUB_DELIVERY", "guid-1");
    struct hook_reading *r = read_it(&hook_github, &h, RC_OK);
    assert_int_equal(r->n_events, 1);
    assert_str(r->events[0].id, "guid-1");
    assert_true(r->events[0].loose_id);
    assert_str(r->events[0].version, "c0ffee");
    assert_int_equal(r->events[0].what, HOOK_CHANGED);
    options(&h, "{\"events\":\"release workflow_run\"}");
    assert_int_equal(read_it(&hook_github, &h, RC_OK)->events[0].what, HOOK_OTHER);
    begin(&h, "{}", KEY);
    header(&h, "X_GITHUB_EVENT", "ping");
    assert_int_equal(read_it(&hook_github, &h, RC_OK)->events[0].what, HOOK_OTHER);
    begin(&h, "payload=%7B%7D", KEY);
    h.d.content_type = STR("application/x-www-form-urlencoded");
    assert_int_equal(read_it(&hook_github, &h, RC_OK)->events[0].what, HOOK_CHANGED);
    static const char *const broken[] = {"", "[]", "{", "null", "\xff", "{\"a\":1}x"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        begin(&h, broken[i], KEY);
        (void)read_it(&hook_github, &h, RC_INVALID);
    }
}

static void stripe_signatures(void **state)
{
    struct by_hand h;
    char hex[SHA256_HEX], other[SHA256_HEX], value[512];
    static const char body[] = "{\"id\":\"evt_1\",\"created\":1614265000}";
    (void)state;
    hex_of(KEY, "1614265330.", str_of(body), hex);
    hex_of(KEY2, "1614265330.", str_of(body), other);
    const struct {
        const char *format;
        enum rc want;
    } rows[] = {
        {"t=1614265330,v1=%1", RC_OK},
        {"t=1614265330,v1=%2,v1=%1,v0=aa", RC_OK},
        {"t=1614265330, v1=bad_signature, v1=%1", RC_OK},
        {"t=1614265330,v0=%1", RC_UNAUTHORIZED},
        {"t=1614265330,v1=%2", RC_UNAUTHORIZED},
        {"v1=%1", RC_UNAUTHORIZED},
        {"t=,v1=%1", RC_UNAUTHORIZED},
        {"t=1614265330,v1=%1,t=1614265331", RC_UNAUTHORIZED},
        {"t=1614265030,v1=%1", RC_UNAUTHORIZED},
        {"", RC_UNAUTHORIZED},
        {",,,,=,=,", RC_UNAUTHORIZED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        begin(&h, body, KEY);
        /* %1 is the right signature, %2 that of another key. */
        char *out = value;
        for (const char *f = rows[i].format; *f; f++)
            if (*f == '%') {
                out += snprintf(out, SHA256_HEX, "%s", f[1] == '1' ? hex : other);
                f++;
            } else {
                *out++ = *f;
            }
        *out = 0;
        header(&h, "STRIPE_SIGNATURE", value);
        enum rc rc = verify(&hook_stripe, &h);
        if (rc != rows[i].want)
            fail_msg("%s: %s", value, rc_name(rc));
    }
    struct hook_reading *r = read_it(&hook_stripe, &h, RC_OK);
    assert_str(r->events[0].id, "evt_1");
    assert_int_equal(r->events[0].at, 1614265000000LL);
    begin(&h, "{\"object\":\"event\"}", KEY);
    (void)read_it(&hook_stripe, &h, RC_INVALID);
}

/* whsec_ is a part of Stripe's key, and a mark before a Standard Webhooks one. */
static void the_same_text_is_two_keys(void **state)
{
    struct by_hand h;
    char hex[SHA256_HEX], value[128];
    (void)state;
    begin(&h, "{\"id\":\"x\"}", STD_SECRET);
    hex_of(STD_SECRET, "1614265330.", h.d.body, hex);
    snprintf(value, sizeof value, "t=1614265330,v1=%s", hex);
    header(&h, "STRIPE_SIGNATURE", value);
    assert_rc(verify(&hook_stripe, &h), RC_OK);
    h.d.secrets[0] = str_of(STD_SECRET + 6);
    assert_rc(verify(&hook_stripe, &h), RC_UNAUTHORIZED);
}

static void slack_signatures(void **state)
{
    struct by_hand h;
    char hex[SHA256_HEX], value[128];
    (void)state;
    begin(&h, "{\"type\":\"url_verification\",\"challenge\":\"abc\"}", KEY);
    hex_of(KEY, "v0:1614265330:", h.d.body, hex);
    snprintf(value, sizeof value, "v0=%s", hex);
    header(&h, "X_SLACK_REQUEST_TIMESTAMP", "1614265330");
    header(&h, "X_SLACK_SIGNATURE", value);
    assert_rc(verify(&hook_slack, &h), RC_OK);
    struct hook_reading *r = read_it(&hook_slack, &h, RC_OK);
    assert_int_equal(r->kind, HOOK_HANDSHAKE);
    assert_str(r->reply, "abc");
    h.d.now += 301000;
    assert_rc(verify(&hook_slack, &h), RC_UNAUTHORIZED);
    h.d.now = NOW;
    h.params[1][sizeof "HTTP_X_SLACK_SIGNATURE=v"] = '1'; /* v1= */
    assert_rc(verify(&hook_slack, &h), RC_UNAUTHORIZED);
    begin(&h, "{\"type\":\"event_callback\",\"event_id\":\"Ev1\",\"event_time\":1614265000}", KEY);
    r = read_it(&hook_slack, &h, RC_OK);
    assert_str(r->events[0].id, "Ev1");
    begin(&h, "command=%2Fx&text=", KEY);
    h.d.content_type = STR("application/x-www-form-urlencoded");
    assert_int_equal(read_it(&hook_slack, &h, RC_OK)->events[0].id.n, 0);
}

static void hmac_as_it_is_declared(void **state)
{
    struct by_hand h;
    struct sha256 mac;
    char text[80], hex[SHA256_HEX];
    static const struct str body = {"\xc3\xa4\xf0\x9f\x8c\x8d", 6};
    (void)state;
    mac_sha256_of(STR(KEY), STR(""), body, &mac);
    begin(&h, body.p, KEY);
    header(&h, "X_SIGNATURE", hex_of(KEY, "", body, hex));
    assert_rc(verify(&hook_hmac, &h), RC_OK);
    options(&h, "{\"encoding\":\"base64\"}");
    assert_rc(verify(&hook_hmac, &h), RC_UNAUTHORIZED);

    begin(&h, body.p, KEY);
    header(&h, "X_OWN", base64_of(mac.b, 32, false, text));
    options(&h, "{\"header\":\"x-own\",\"encoding\":\"base64\",\"unknown\":\"ignored\"}");
    assert_rc(verify(&hook_hmac, &h), RC_OK);
    options(&h, "{\"header\":\"x-own\",\"encoding\":\"base64\",\"prefix\":\"k=\"}");
    assert_rc(verify(&hook_hmac, &h), RC_UNAUTHORIZED);

    begin(&h, body.p, KEY);
    header(&h, "X_OWN", base64_of(mac.b, 32, true, text));
    options(&h, "{\"header\":\"X-Own\",\"encoding\":\"base64url\"}");
    assert_rc(verify(&hook_hmac, &h), RC_OK);
}

static void hmac_times_and_ids(void **state)
{
    struct by_hand h;
    char hex[SHA256_HEX];
    static const char body[] = "{\"e\":{\"n\":17}}";
    (void)state;
    begin(&h, body, KEY);
    header(&h, "X_SIGNATURE", hex_of(KEY, "1614265330.", str_of(body), hex));
    header(&h, "X_TIME", "1614265330");
    options(&h, "{\"timestamp_header\":\"X-Time\",\"id\":\"/e/n\"}");
    assert_rc(verify(&hook_hmac, &h), RC_OK);
    assert_str(read_it(&hook_hmac, &h, RC_OK)->events[0].id, "17");
    assert_false(read_it(&hook_hmac, &h, RC_OK)->events[0].loose_id);
    h.d.now -= 301000;
    assert_rc(verify(&hook_hmac, &h), RC_UNAUTHORIZED);
    options(&h, "{\"id\":\"/nothing\"}");
    (void)read_it(&hook_hmac, &h, RC_INVALID);
    options(&h, "{\"id_header\":\"X-Event\"}");
    (void)read_it(&hook_hmac, &h, RC_INVALID);
    header(&h, "X_EVENT", "e-1");
    assert_str(read_it(&hook_hmac, &h, RC_OK)->events[0].id, "e-1");
    assert_true(read_it(&hook_hmac, &h, RC_OK)->events[0].loose_id);
}

static void every_live_secret_counts_and_no_other(void **state)
{
    struct by_hand h;
    char hex[SHA256_HEX];
    (void)state;
    begin(&h, "x", KEY);
    h.d.secrets[h.d.n_secrets++] = STR(KEY2);
    header(&h, "X_SIGNATURE", hex_of(KEY2, "", STR("x"), hex));
    assert_rc(verify(&hook_hmac, &h), RC_OK);
    h.d.n_secrets = 1;
    assert_rc(verify(&hook_hmac, &h), RC_UNAUTHORIZED);
    h.d.n_secrets = 0; /* fails closed */
    assert_rc(verify(&hook_hmac, &h), RC_UNAUTHORIZED);
}

static void empty_and_huge_bodies_are_signed_too(void **state)
{
    struct by_hand h;
    char hex[SHA256_HEX], *huge = malloc(1u << 20);
    (void)state;
    assert_non_null(huge);
    memset(huge, 'x', 1u << 20);
    struct str bodies[] = {{"", 0}, {huge, 1u << 20}};
    for (size_t i = 0; i < 2; i++) {
        size_t hashed = 0;
        begin(&h, "", KEY);
        h.d.body = bodies[i];
        h.d.hashed = &hashed;
        header(&h, "X_SIGNATURE", hex_of(KEY, "", bodies[i], hex));
        assert_rc(hook_hmac.verify(&h.d, &err), RC_OK);
        assert_int_equal(hashed, 1);
    }
    free(huge);
}

/* A key costs the body once, whatever was given to compare with it. */
static void signatures_are_cheap_to_try(void **state)
{
    struct by_hand h;
    struct req *r = &h.r;
    static char line[8192];
    size_t hashed = 0,
           n = (size_t)snprintf(line, sizeof line, "HTTP_STRIPE_SIGNATURE=t=1614265330");
    (void)state;
    begin(&h, "{}", KEY);
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, ",v1=%064d", i);
    h.list[0] = line;
    h.d.hashed = &hashed;
    assert_ptr_equal(h.d.req, r);
    assert_rc(hook_stripe.verify(&h.d, &err), RC_UNAUTHORIZED);
    assert_int_equal(hashed, 1);
}

/* ---- headers --------------------------------------------------------------------------------- */

static void headers_are_found_in_any_case_and_counted(void **state)
{
    struct by_hand h;
    static const char *const many[] = {"TRACESTATE", "CACHE_CONTROL", "X_FORWARDED_FOR", "VIA"};
    (void)state;
    begin(&h, "", NULL);
    header(&h, "X_HUB_SIGNATURE_256", "a=b");
    header(&h, "ACCEPT", "x");
    header(&h, "ACCEPT", "y");
    assert_str(req_header(&h.r, "x-hub-signature-256"), "a=b");
    assert_null(req_header(&h.r, "X-Hub-Signature").p);
    for (size_t i = 0; i < 2 * ARRAY_LEN(many); i++) /* legal, and nobody signs with it */
        header(&h, many[i / 2], "x");
    assert_int_equal(req_headers(&h.r), 11);
    assert_null(req_doubled(&h.r));
    assert_true(req_header_twice(&h.r, "Cache-Control"));
    header(&h, "X_HUB_SIGNATURE_256", "c");
    assert_int_equal(req_headers(&h.r), 12);
    assert_string_equal(req_doubled(&h.r), "X-Hub-Signature-256");
    begin(&h, "", NULL);
    header(&h, "CE_ID", "1");
    header(&h, "CE_ID", "2");
    assert_string_equal(req_doubled(&h.r), "ce-id");
}

/* Also those that only the options of a source name. */
static void a_header_of_the_options_is_single(void **state)
{
    static const char *const names[] = {"X_SIGN", "X_TIME", "X_ID"};
    struct by_hand h;
    char hex[SHA256_HEX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        begin(&h, "x", KEY);
        options(&h, "{\"header\":\"X-Sign\",\"timestamp_header\":\"X-Time\",\"id_header\":"
                    "\"X-Id\"}");
        header(&h, "X_SIGN", hex_of(KEY, "1614265330.", STR("x"), hex));
        header(&h, "X_TIME", "1614265330");
        header(&h, "X_ID", "1");
        assert_rc(verify(&hook_hmac, &h), RC_OK);
        (void)read_it(&hook_hmac, &h, RC_OK);
        header(&h, names[i], "other");
        if (i < 2)
            assert_rc(verify(&hook_hmac, &h), RC_INVALID);
        else
            (void)read_it(&hook_hmac, &h, RC_INVALID);
        assert_non_null(strstr(err.msg, "X-"));
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static void options_are_checked_by_name(void **state)
{
    static const struct {
        const char *adapter, *options, *field;
        size_t secrets;
    } rows[] = {
        {"github", "{}", "", 1},
        {"github", "{}", "secrets", 0},
        {"github", "{\"events\":\"push\"}", "", 8},
        {"github", "{\"events\":\"push\"}", "secrets", 9},
        {"github", "{\"event\":\"push\"}", "adapter_options.event", 1},
        {"github", "{\"events\":[\"push\"]}", "adapter_options.events", 1},
        {"stripe", "{\"x\":\"y\"}", "adapter_options.x", 1},
        {"slack", "{}", "secrets", 0},
        {"standard-webhooks", "null", "", 1},
        {"hmac", "{\"header\":\"X-Sig\",\"prefix\":\"sha256=\",\"encoding\":\"base64url\"}", "", 1},
        {"hmac", "{\"header\":\"X Sig\"}", "adapter_options.header", 1},
        {"hmac", "{\"header\":\"\"}", "adapter_options.header", 1},
        {"hmac", "{\"encoding\":\"base32\"}", "adapter_options.encoding", 1},
        {"hmac", "{\"id\":\"event\"}", "adapter_options.id", 1},
        {"hmac", "{\"id\":\"/a\",\"id_header\":\"X-Id\"}", "adapter_options.id", 1},
        {"hmac", "{\"timestamp_header\":\"X_T\"}", "adapter_options.timestamp_header", 1},
    };
    yyjson_val *v = NULL;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        err = (struct err){0};
        assert_rc(json_parse(&arena, str_of(rows[i].options), 0, "o", &v, &err), RC_OK);
        enum rc rc = hook_check_options(rows[i].adapter, v, rows[i].secrets, &err);
        if (rc != (*rows[i].field ? RC_INVALID : RC_OK) || strcmp(err.field, rows[i].field) != 0)
            fail_msg("%s %s: %s %s", rows[i].adapter, rows[i].options, err.field, err.msg);
    }
}

/* ---- vectors of the makers ------------------------------------------------------------------- */

static yyjson_val *vectors(const char *file)
{
    yyjson_val *v = NULL;
    char path[128];
    snprintf(path, sizeof path, VECTORS "%s", file);
    if (access(path, R_OK) != 0)
        return NULL;
    assert_rc(json_parse_file(&arena, path, 0, &v, &err), RC_OK);
    return v;
}

static const char *text(yyjson_val *of, yyjson_val *all, const char *key)
{
    yyjson_val *v = yyjson_obj_get(of, key);
    char number[32];
    v = v ? v : yyjson_obj_get(all, key);
    return json_scalar(v, number) ? arena_strdup(&arena, number) : yyjson_get_str(v);
}

/* file, adapter, header of the signature (its member is `member`), header of the time, of the id */
static void play(const char *file, const struct hook_adapter *a, const char *member,
                 const char *sig_header, const char *time_header, const char *id_header)
{
    yyjson_val *all, *one;
    size_t i, n;
    if (!(all = vectors(file)))
        return;
    yyjson_arr_foreach(yyjson_obj_get(all, "cases"), i, n, one)
    {
        static struct by_hand h;
        yyjson_val *want = yyjson_obj_get(one, "valid");
        const char *now = text(one, all, "now"), *sig = yyjson_get_str(yyjson_obj_get(one, member));
        if (!yyjson_is_bool(want))
            continue; /* left to whoever implements it */
        struct by_hand *p = &h;
        memset(p, 0, sizeof *p);
        p->r.params_raw = p->list;
        p->d = (struct hook_delivery){.body = str_of(text(one, all, "body")),
                                      .content_type = STR("application/json"),
                                      .req = &p->r,
                                      .now = now ? strtoll(now, NULL, 10) * 1000 : NOW,
                                      .arena = &arena,
                                      .n_secrets = 1};
        p->d.secrets[0] = str_of(text(one, all, "secret"));
        header(p, sig_header, sig);
        if (time_header)
            header(p, time_header, text(one, all, "timestamp"));
        if (id_header)
            header(p, id_header, text(one, all, "id"));
        if ((a->verify(&p->d, &err) == RC_OK) != yyjson_get_bool(want))
            fail_msg("%s, case %zu: %s", file, i, err.msg);
    }
}

static void vectors_of_their_makers(void **state)
{
    (void)state;
    arena_reset(&arena);
    play("standard_webhooks.json", &hook_standard_webhooks, "signature", "WEBHOOK_SIGNATURE",
         "WEBHOOK_TIMESTAMP", "WEBHOOK_ID");
    play("github.json", &hook_github, "header", "X_HUB_SIGNATURE_256", NULL, NULL);
    play("stripe.json", &hook_stripe, "header", "STRIPE_SIGNATURE", NULL, NULL);
    play("slack.json", &hook_slack, "header", "X_SLACK_SIGNATURE", "X_SLACK_REQUEST_TIMESTAMP",
         NULL);
}

static void every_row_has_an_adapter(void **state)
{
    (void)state;
#define X(row, symbol, detector)                                                                   \
    assert_non_null(hook_adapter(row));                                                            \
    assert_string_equal(hook_adapter(row)->name, row);                                             \
    assert_true(hook_adapter(row)->retry_days > 0 && hook_adapter(row)->check_options);
#include "ledger/adapters.def"
#undef X
    assert_null(hook_adapter("gitlab"));
    assert_null(hook_adapter(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_webhooks_signatures),
        cmocka_unit_test(a_public_key_alone_is_refused_in_so_many_words),
        cmocka_unit_test(github_signatures),
        cmocka_unit_test(github_with_sha1_alone_is_refused),
        cmocka_unit_test(github_events),
        cmocka_unit_test(stripe_signatures),
        cmocka_unit_test(the_same_text_is_two_keys),
        cmocka_unit_test(slack_signatures),
        cmocka_unit_test(hmac_as_it_is_declared),
        cmocka_unit_test(hmac_times_and_ids),
        cmocka_unit_test(every_live_secret_counts_and_no_other),
        cmocka_unit_test(empty_and_huge_bodies_are_signed_too),
        cmocka_unit_test(signatures_are_cheap_to_try),
        cmocka_unit_test(headers_are_found_in_any_case_and_counted),
        cmocka_unit_test(a_header_of_the_options_is_single),
        cmocka_unit_test(options_are_checked_by_name),
        cmocka_unit_test(vectors_of_their_makers),
        cmocka_unit_test(every_row_has_an_adapter),
    };
    arena_init(&arena, 32u << 20);
    int code = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return code;
}

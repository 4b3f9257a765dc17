/* message: renders, seals. */
#include "handler/message.h"

#include "core/base64.h"
#include "core/clock.h"
#include "core/digest.h"
#include "core/json.h"

#define BODY_MAX (1u << 20) /* an entry is some kilobytes */
#define CHAT_MAX 1800       /* bytes of a chat message: Discord takes 2,000 characters */
#define KEY_MIN 24          /* bytes of a secret, as Standard Webhooks has it */
#define KEY_MAX 64
#define SECRET_PREFIX "whsec_"

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_member(struct buf *b, const char *key, const char *value)
{
    buf_printf(b, ",\"%s\":", key);
    json_put_str(b, str_of(value));
}

/* The entry, with its number in front as in the feed. */
static void put_entry(struct buf *b, const struct notice_entry *e, struct str base)
{
    buf_printf(b, ",\"change\":{\"seq\":\"%lld\",", (long long)e->seq);
    json_put_based(b, (struct str){e->doc.p + 1, e->doc.n - 1}, base);
}

static void put_open(struct buf *b, const struct notice *n, const struct source *s,
                     const struct notice_entry *entry, struct str base)
{
    put_member(b, "title", s->title);
    put_member(b, "collection", s->collection);
    if (*n->reason)
        put_member(b, "reason", n->reason);
    put_member(b, "text", notice_sentence(n->kind));
    if (entry)
        put_entry(b, entry, base);
}

static void put_json(struct buf *b, const struct notice *n, const struct source *s,
                     const struct notice_entry *entry, struct str base)
{
    char at[TIME_MAX];
    time_format(n->at, at);
    buf_printf(b, "{\"type\":\"%s%s\",\"timestamp\":\"%s\",\"data\":{\"source_id\":",
               notice_word(n->kind), entry && entry->unexpected ? ".unexpected" : "", at);
    json_put_str(b, str_of(s->id));
    put_member(b, "sensitivity", level_name(s->level));
    if (*n->event_id)
        put_member(b, "change_event_id", n->event_id);
    if (s->level < LEVEL_RESTRICTED)
        put_open(b, n, s, entry, base);
    buf_puts(b, "}}");
}

/* ---- for people ------------------------------------------------------------------------------ */

/* Foreign text inside a chat message: nothing of it is markup. */
static void put_quoted(struct buf *b, enum subscriber_format f, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (f == NOTIFY_SLACK && *p == '&')
            buf_puts(b, "&amp;");
        else if (f == NOTIFY_SLACK && *p == '<')
            buf_puts(b, "&lt;");
        else if (f == NOTIFY_SLACK && *p == '>')
            buf_puts(b, "&gt;");
        else if (f == NOTIFY_DISCORD && strchr("\\*_~`|<>[]()#-:@", *p))
            buf_printf(b, "\\%c", *p);
        else
            buf_byte(b, *p);
    }
}

static void put_labelled(struct buf *b, enum subscriber_format f, const char *label,
                         const char *text)
{
    if (!*text)
        return;
    buf_printf(b, "%s", label);
    put_quoted(b, f, text);
}

static void put_sentence(struct buf *b, enum subscriber_format f, const struct notice *n,
                         const struct source *s, const struct notice_entry *entry)
{
    bool open = s->level < LEVEL_RESTRICTED;
    buf_puts(b, notice_sentence(n->kind));
    if (open && *s->title)
        put_labelled(b, f, " ", s->title);
    put_labelled(b, f, " (", s->id);
    buf_puts(b, ")");
    if (open && entry) {
        put_labelled(b, f, ": ", entry->change_type);
        put_labelled(b, f, ", ", entry->change_class);
        if (entry->unexpected)
            buf_puts(b, ", outside of its windows");
    }
    if (open)
        put_labelled(b, f, ". Reason: ", n->reason);
    put_labelled(b, f, ". Event: ", n->event_id);
}

static void put_chat(struct buf *b, enum subscriber_format f, struct str text)
{
    buf_puts(b, f == NOTIFY_SLACK ? "{\"text\":" : "{\"content\":");
    json_put_str(b, str_cut(text, CHAT_MAX));
    buf_puts(b, f == NOTIFY_SLACK ? ",\"mrkdwn\":false,\"link_names\":false}"
                                  : ",\"allowed_mentions\":{\"parse\":[]}}");
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static enum rc keep(struct arena *a, const struct buf *b, struct str *ret, struct err *err)
{
    struct str s = buf_view(b);
    char *copy = buf_rc(b) == RC_OK ? arena_str(a, s) : NULL;
    if (!copy)
        return err_set(err, RC_NOMEM, "", "no memory for a message");
    *ret = (struct str){copy, s.n};
    return RC_OK;
}

enum rc message_body(struct arena *a, const struct instance *inst, enum subscriber_format f,
                     const struct notice *n, const struct source *s,
                     const struct notice_entry *entry, struct str *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf b = {0};
    CLEANUP(buf_release) struct buf text = {0};
    buf_init(&b, BODY_MAX);
    buf_init(&text, BODY_MAX);
    if (f == NOTIFY_STANDARD) {
        put_json(&b, n, s, entry, instance_base(a, inst));
    } else {
        put_sentence(&text, f, n, s, entry);
        put_chat(&b, f, buf_view(&text));
    }
    return keep(a, &b, ret, err);
}

enum rc message_test_body(struct arena *a, enum subscriber_format f, const char *id, int64_t now,
                          struct str *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf b = {0};
    char at[TIME_MAX];
    buf_init(&b, BODY_MAX);
    time_format(now, at);
    if (f == NOTIFY_STANDARD)
        buf_printf(&b,
                   "{\"type\":\"test\",\"timestamp\":\"%s\",\"data\":{\"id\":\"%s\",\"text\":\"A "
                   "test of Freshet: nothing happened.\"}}",
                   at, id);
    else
        put_chat(&b, f, STR("A test of Freshet: nothing happened."));
    return keep(a, &b, ret, err);
}

/* ---- sealing --------------------------------------------------------------------------------- */

enum rc message_sign(const char *secret, const char *id, int64_t seconds, struct str body,
                     char out[MESSAGE_SIGNATURE_MAX])
{
    CLEANUP(buf_release) struct buf text = {0};
    struct str s = str_of(secret);
    struct sha256 mac;
    uint8_t key[KEY_MAX];
    size_t n = 0;
    buf_init(&text, BODY_MAX + 256);
    if (!str_starts(s, STR(SECRET_PREFIX)))
        return RC_INVALID;
    s = (struct str){s.p + sizeof SECRET_PREFIX - 1, s.n - (sizeof SECRET_PREFIX - 1)};
    if (base64_decode(s, BASE64_STANDARD, key, sizeof key, &n) != RC_OK || n < KEY_MIN) {
        explicit_bzero(key, sizeof key);
        return RC_INVALID;
    }
    buf_printf(&text, "%s.%lld.", id, (long long)seconds);
    buf_str(&text, body);
    digest_hmac_sha256((struct str){(char *)key, n}, buf_view(&text), &mac);
    explicit_bzero(key, sizeof key);
    int len = snprintf(out, MESSAGE_SIGNATURE_MAX, "v1,");
    base64_encode(mac.b, sizeof mac.b, out + len);
    return buf_rc(&text);
}

/* One signature per live secret, so that receivers may turn from one to the next. */
static enum rc sign_all(struct arena *a, const struct instance *inst, const struct subscriber *s,
                        const char *id, int64_t seconds, struct str body, const char **ret,
                        struct err *err)
{
    char one[MESSAGE_SIGNATURE_MAX], all[SUBSCRIBER_SECRETS_MAX * MESSAGE_SIGNATURE_MAX] = "";
    size_t len = 0;
    for (size_t i = 0; i < s->secrets.n; i++) {
        const char *name = s->secrets.items[i], *secret = NULL;
        TRY(instance_secret(a, inst, name, &secret, err));
        enum rc rc = message_sign(secret, id, seconds, body, one);
        explicit_bzero((char *)(uintptr_t)secret, strlen(secret));
        if (rc != RC_OK)
            return err_set(err, rc, name,
                           "secrets/%s must hold whsec_ and the base64 of %d to %d random bytes: "
                           "echo \"whsec_$(openssl rand -base64 32)\" > secrets/%s",
                           name, KEY_MIN, KEY_MAX, name);
        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", i ? " " : "", one);
    }
    *ret = arena_strdup(a, all);
    return *ret ? RC_OK : err_set(err, RC_NOMEM, "", "no memory for a signature");
}

static enum rc address(struct arena *a, const struct instance *inst, const struct subscriber *s,
                       const char **ret, struct err *err)
{
    static const char prefix[] = "secret:";
    if (strncmp(s->url, prefix, sizeof prefix - 1) != 0) {
        *ret = s->url;
        return RC_OK;
    }
    return instance_secret(a, inst, s->url + sizeof prefix - 1, ret, err);
}

enum rc message_seal(struct arena *a, const struct instance *inst, const struct subscriber *s,
                     const char *id, struct str body, int64_t now, struct message *ret,
                     struct err *err)
{
    const char *signature = NULL, *seconds = arena_printf(a, "%lld", (long long)(now / 1000));
    struct message m = {.body = body,
                        .headers = {{.name = "Content-Type", .value = "application/json"}},
                        .n_headers = 1};
    TRY(address(a, inst, s, &m.url, err));
    if (s->format == NOTIFY_STANDARD) {
        TRY(sign_all(a, inst, s, id, now / 1000, body, &signature, err));
        m.headers[m.n_headers++] = (struct fetch_header){.name = "webhook-id", .value = id};
        m.headers[m.n_headers++] =
            (struct fetch_header){.name = "webhook-timestamp", .value = seconds};
        m.headers[m.n_headers++] =
            (struct fetch_header){.name = "webhook-signature", .value = signature, .secret = true};
    }
    if (!seconds)
        return err_set(err, RC_NOMEM, "", "no memory for a message");
    *ret = m;
    return RC_OK;
}

/* The address may be a secret, so the engine's own words are not repeated. */
static enum rc check_address(struct arena *a, const struct instance *inst,
                             const struct subscriber *s, struct err *err)
{
    const char *url = NULL;
    struct err why = {0};
    TRY(address(a, inst, s, &url, err));
    enum rc rc = fetch_may(&inst->conf, url, &why);
    if (url != s->url)
        explicit_bzero((char *)(uintptr_t)url, strlen(url));
    return rc == RC_OK ? RC_OK : err_set(err, rc, "", MESSAGE_REFUSED);
}

enum rc message_check(const struct instance *inst, const struct subscriber *s, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    const char *signature = NULL;
    struct err why = {0};
    arena_init(&a, BODY_MAX);
    enum rc rc = check_address(&a, inst, s, &why);
    if (rc != RC_OK)
        return err_set(err, rc, "url", "%s", why.msg);
    if (s->format == NOTIFY_STANDARD)
        rc = sign_all(&a, inst, s, "msg", 0, STR(""), &signature, &why);
    return rc == RC_OK ? RC_OK : err_set(err, rc, "secrets", "%s", why.msg);
}

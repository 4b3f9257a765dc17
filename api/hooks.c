/* hooks: from a delivery to the inbox. The order of checks is in the header; what an event does to
 * the ledger is in ledger/push.h, who may say what is in the adapters (hook.h).
 * Called by the intake's router. */
#include "api/hooks.h"

#include "api/hook.h"
#include "api/put.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/rsa.h"
#include "ledger/inbox.h"
#include "ledger/push.h"

#define DECOYS 2           /* throw-away secrets: as many as a source has while it rotates */
#define KEEP_MARGIN_DAYS 2 /* ids are kept so much longer than a provider repeats itself */
#define REFUSED_EVERY_MS 1000

struct work {
    struct source source;
    const struct hook_adapter *adapter;
    struct hook_delivery d;
    struct hook_reading reading;
    size_t hashed, rsa_before; /* the signatures checked before this delivery */
    struct push_event events[HOOK_EVENTS_MAX];
    size_t n_events, n[PUSH_ENDS], ignored;
};

/* ---- telling --------------------------------------------------------------------------------- */

static const char *const detectors[][2] = {
#define X(name, symbol, detector) {name, #detector},
#include "ledger/adapters.def"
#undef X
};

static const char *detector_of(const struct hook_adapter *a)
{
    size_t i = 0;
    while (strcmp(detectors[i][0], a->name) != 0)
        i++; /* the table of adapters is made of the same rows */
    return detectors[i][1];
}

/* A flood must not fill the disk: a line a second says how many there were. */
static void log_refused(const struct work *k, const struct err *why)
{
    static int64_t told_at, count; /* of this process */
    char name[SOURCE_LOG_NAME_MAX];
    count++;
    if (told_at && clock_mono() - told_at < REFUSED_EVERY_MS)
        return;
    log_event(LOG_WARN, "hook.refused", LOG_S("source", source_log_name(&k->source, name)),
              LOG_S("adapter", k->adapter->name), LOG_S("why", why->msg), LOG_I("count", count));
    told_at = clock_mono();
    count = 0;
}

static void log_secret(const struct work *k, const char *secret, const char *why)
{
    static int64_t told_at;
    char name[SOURCE_LOG_NAME_MAX];
    if (told_at && clock_mono() - told_at < REFUSED_EVERY_MS)
        return;
    told_at = clock_mono();
    log_event(LOG_ERROR, "hook.secret", LOG_S("source", source_log_name(&k->source, name)),
              LOG_S("secret", secret), LOG_S("message", why));
}

/* ---- who is meant ---------------------------------------------------------------------------- */

static bool is_withheld(const struct work *k)
{
    return k->source.level >= LEVEL_RESTRICTED;
}

/* One that cannot be read, or is too short, signs nothing; the others still do. */
static void load_secrets(struct req *r, struct work *k)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(k->source.secrets, i, n, v)
    {
        struct err why = {0};
        const char *name = yyjson_get_str(v), *value = NULL;
        if (k->d.n_secrets == HOOK_SECRETS_MAX || !name)
            break;
        if (instance_secret(r->arena, r->inst, name, &value, &why) != RC_OK)
            log_secret(k, name, why.msg);
        else if (strlen(value) < HOOK_SECRET_MIN)
            log_secret(k, name, "is shorter than 16 bytes, which can be guessed: make a new one");
        else
            k->d.secrets[k->d.n_secrets++] = str_of(value);
    }
}

static void wipe_secrets(struct work *k)
{
    for (size_t i = 0; i < k->d.n_secrets; i++)
        explicit_bzero((char *)(uintptr_t)k->d.secrets[i].p, k->d.secrets[i].n);
    k->d.n_secrets = 0;
}

/* RC_NOT_FOUND for whatever takes no deliveries. */
static enum rc find(struct req *r, struct work *k, struct err *err)
{
    char *id =
        str_is_slug(r->path_vars[0], SOURCE_ID_MAX) ? arena_str(r->arena, r->path_vars[0]) : NULL;
    enum rc rc = id ? source_by_id(r->ledger, r->arena, id, &k->source, err) : RC_NOT_FOUND;
    TRY(rc);
    k->adapter = *k->source.adapter ? hook_adapter(k->source.adapter) : NULL;
    if (!k->adapter || k->source.retired_at >= 0 || source_is_unlisted(&k->source))
        return RC_NOT_FOUND;
    k->d.options = k->source.adapter_options;
    load_secrets(r, k);
    return RC_OK;
}

static struct work *new_work(struct req *r)
{
    struct work *k = ARENA_NEW(r->arena, struct work);
    if (!k)
        return NULL;
    k->rsa_before = rsa_checks();
    k->d = (struct hook_delivery){.method = r->method,
                                  .body = r->body,
                                  .content_type = r->content_type,
                                  .req = r,
                                  .now = r->now,
                                  .arena = r->arena,
                                  .hashed = &k->hashed};
    return k;
}

/* What the dearest of the adapters does before it refuses: sns reads the body, and with gcs checks
 * a signature of RSA. */
static void toil(const struct work *k)
{
    struct hook_delivery d = k->d;
    struct err ignored = {0};
    d.options = NULL;
    d.n_secrets = 0;
    if (k->adapter != &hook_sns)
        (void)!hook_sns.verify(&d, &ignored);
    if (rsa_checks() == k->rsa_before)
        rsa_decoy();
}

/* The 404 of all that may not be known, after as much work as a refused signature costs, whichever
 * the adapter. */
static enum rc deny(struct req *r, struct work *k, struct err *err)
{
    static char key[32];
    static bool made;
    struct sha256 thrown_away;
    const char *value;
    struct err ignored;
    if (!made)
        rand_bytes(key, sizeof key);
    made = true;
    if (!k->adapter) /* a file is looked for, as for a source that is there */
        (void)!instance_secret(r->arena, r->inst, "freshet-decoy", &value, &ignored);
    for (; k->hashed < DECOYS; k->hashed++)
        mac_sha256_of((struct str){key, sizeof key}, STR(""), r->body, &thrown_away);
    toil(k);
    return route_not_found(err);
}

/* ---- verifying ------------------------------------------------------------------------------- */

static enum rc check_frame(struct req *r, struct err *err)
{
    if (r->body_too_large || (int64_t)r->body.n > r->inst->conf.hook_max_body)
        return err_set(err, RC_TOO_LARGE, "", "A delivery may have %lld bytes.",
                       (long long)r->inst->conf.hook_max_body);
    if (req_headers(r) > HOOK_HEADERS_MAX)
        return err_set(err, RC_INVALID, "", "A delivery may have %d headers.", HOOK_HEADERS_MAX);
    const char *doubled = req_doubled(r);
    if (doubled)
        return err_set(err, RC_INVALID, "", "The header %s was sent twice.", doubled);
    return RC_OK;
}

/* An adapter says what is wrong with which field; here both make a sentence. */
static enum rc with_subject(struct err *err)
{
    char said[sizeof err->msg];
    if (!err->field[0] || err->msg[0] < 'a' || err->msg[0] > 'z')
        return err->rc;
    memcpy(said, err->msg, sizeof said);
    snprintf(err->msg, sizeof err->msg, "%s %.440s.", err->field, said);
    return err->rc;
}

static enum rc verify(struct req *r, struct work *k, struct err *err)
{
    enum rc rc = find(r, k, err);
    if (rc == RC_NOT_FOUND)
        return deny(r, k, err);
    TRY(rc);
    rc = k->adapter->verify(&k->d, err);
    if (rc == RC_OK)
        return rc;
    (void)with_subject(err);
    log_refused(k, err);
    if (is_withheld(k))
        return deny(r, k, err); /* whatever was wrong: a limit tells, too */
    if (rc == RC_UNAUTHORIZED)
        err->rc = rc = RC_UNSIGNED;
    return rc;
}

static enum rc read_it(struct work *k, struct err *err)
{
    enum rc rc = k->adapter->read(&k->d, &k->reading, err);
    return rc == RC_OK ? rc : with_subject(err);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What a text is kept as: itself, or its digest where it is long or would not print. */
static struct str kept(struct req *r, struct str s)
{
    struct sha256 sha;
    char hex[SHA256_HEX];
    if (s.n <= PUSH_ID_MAX && str_is_clean(s) && str_is_utf8(s))
        return s.p ? s : STR("");
    digest_mbed_sha256(s.p, s.n, &sha);
    sha256_hex(&sha, hex);
    char *copy = arena_strdup(r->arena, hex);
    return str_of(copy);
}

/* What tells a repeat from another event of the same id (hook.h, bytes). */
static void digest_of(const struct work *k, const struct hook_event *e, struct sha256 *ret)
{
    char text[3 * (PUSH_ID_MAX + 1) + 64];
    if (e->bytes.n > 0) {
        digest_mbed_sha256(e->bytes.p, e->bytes.n, ret);
    } else if (k->reading.n_events == 1) {
        digest_mbed_sha256(k->d.body.p, k->d.body.n, ret);
    } else {
        int n = snprintf(text, sizeof text, "%d\n%lld\n%.*s\n%.*s\n%.*s", (int)e->what,
                         (long long)e->at, STR_FMT(str_cut(e->object, PUSH_ID_MAX)),
                         STR_FMT(str_cut(e->sequence, PUSH_ID_MAX)),
                         STR_FMT(str_cut(e->version, PUSH_ID_MAX)));
        digest_mbed_sha256(text, (size_t)n, ret);
    }
}

/* The name under which an event is remembered. */
static struct str name_of(struct req *r, const struct hook_event *e, const struct sha256 *digest)
{
    char hex[SHA256_HEX];
    sha256_hex(digest, hex);
    if (e->id.n == 0)
        return str_of(arena_strdup(r->arena, hex));
    if (!e->loose_id)
        return kept(r, e->id);
    char *both = arena_printf(r->arena, "%.*s %s", STR_FMT(e->id), hex);
    return both ? kept(r, str_of(both)) : STR("");
}

static enum rc take_event(struct req *r, struct work *k, const struct hook_event *e,
                          struct err *err)
{
    int64_t keep_days = k->adapter->retry_days + KEEP_MARGIN_DAYS;
    struct push_event p = {.object = kept(r, e->object),
                           .sequence = kept(r, e->sequence),
                           .version = kept(r, e->version),
                           .after = kept(r, e->after),
                           .look = e->what == HOOK_GONE,
                           .keep_until = r->now + keep_days * DAY_MS};
    digest_of(k, e, &p.digest);
    if (k->reading.kind == HOOK_CONFIRM)
        p.confirm = arena_str(r->arena, k->reading.confirm_url);
    p.id = name_of(r, e, &p.digest);
    if (p.id.n == 0 || (k->reading.kind == HOOK_CONFIRM && !p.confirm))
        return err_set(err, RC_NOMEM, "", "no memory for an event");
    k->events[k->n_events++] = p;
    return RC_OK;
}

/* Events that count; of those that would change nothing only the number. Their look is without
 * a lock. */
static enum rc sort_events(struct req *r, struct work *k, struct err *err)
{
    for (size_t i = 0; i < k->reading.n_events; i++) {
        enum push_end end;
        bool old = false;
        if (k->reading.events[i].what == HOOK_OTHER) {
            k->ignored++;
            continue;
        }
        TRY(take_event(r, k, &k->reading.events[i], err));
        TRY(push_is_old(r->ledger, &k->source, &k->events[k->n_events - 1], &old, &end, err));
        if (old) {
            k->n_events--;
            k->n[end]++;
        }
    }
    return RC_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Each by itself: `freshet queue conflicts` knows it by the id of the event. */
static void log_conflict(const struct work *k, const struct push_event *e)
{
    char name[SOURCE_LOG_NAME_MAX], id[PUSH_ID_MAX + 1];
    snprintf(id, sizeof id, "%.*s", STR_FMT(e->id));
    log_event(LOG_ERROR, "hook.conflict", LOG_S("source", source_log_name(&k->source, name)),
              LOG_S("adapter", k->adapter->name), LOG_S("event", is_withheld(k) ? "" : id));
}

/* No error of the transaction, which must keep the row that puts it aside. */
static void say_conflict(struct req *r, struct resp *w)
{
    struct err err = {0};
    (void)!err_set(&err, RC_QUARANTINED, "", "The event was put aside and is not applied.");
    resp_problem(w, r, &err);
}

static void put_answer(const struct work *k, const size_t n[PUSH_ENDS], struct resp *w)
{
    static const char *const names[PUSH_ENDS] = {[PUSH_ACCEPTED] = "accepted",
                                                 [PUSH_DUPLICATE] = "duplicates",
                                                 [PUSH_STALE] = "stale",
                                                 [PUSH_CONFLICT] = "conflicts"};
    w->status = n[PUSH_ACCEPTED] > 0 ? 202 : 200;
    buf_byte(&w->body, '{');
    for (int i = 0; i < PUSH_ENDS; i++)
        put_number(&w->body, names[i], (int64_t)n[i]);
    put_number(&w->body, "ignored", (int64_t)k->ignored);
    buf_byte(&w->body, '}');
}

/* Within the transaction of all that came in together; once more, from the start, after one
 * that failed. */
static enum rc write(struct req *r, struct resp *w, struct err *err)
{
    const struct work *k = w->later_ctx;
    size_t n[PUSH_ENDS];
    memcpy(n, k->n, sizeof n);
    for (size_t i = 0; i < k->n_events; i++) {
        enum push_end end;
        TRY(push_take(r->ledger, r->arena, &k->source, detector_of(k->adapter), &k->events[i],
                      r->now, &end, err));
        n[end]++;
        if (end == PUSH_CONFLICT)
            log_conflict(k, &k->events[i]);
    }
    if (n[PUSH_CONFLICT] > 0 && n[PUSH_ACCEPTED] == 0)
        say_conflict(r, w);
    else
        put_answer(k, n, w);
    return RC_OK;
}

static enum rc shake_hands(const struct work *k, struct resp *w, struct err *err)
{
    const struct hook_reading *x = &k->reading;
    char *type = arena_str(k->d.arena, x->reply_type);
    if (!type)
        return err_set(err, RC_NOMEM, "", "no memory for the answer");
    w->status = 200;
    w->content_type = *type ? type : "text/plain";
    buf_str(&w->headers, x->reply_headers);
    buf_str(&w->body, x->reply);
    return RC_OK;
}

static enum rc take_in(struct req *r, struct resp *w, struct work *k, struct err *err)
{
    if (k->reading.kind == HOOK_HANDSHAKE)
        return shake_hands(k, w, err);
    TRY(sort_events(r, k, err));
    if (k->n_events == 0) {
        put_answer(k, k->n, w);
        return RC_OK;
    }
    TRY(inbox_room(r->ledger, r->inst->conf.inbox_max, err));
    w->later = write;
    w->later_ctx = k;
    return RC_OK;
}

enum rc hooks_post(struct req *r, struct resp *w, struct err *err)
{
    TRY(check_frame(r, err));
    struct work *k = new_work(r);
    if (!k)
        return err_set(err, RC_NOMEM, "", "no memory for the delivery");
    enum rc rc = verify(r, k, err);
    if (rc == RC_OK)
        rc = read_it(k, err);
    wipe_secrets(k);
    return rc == RC_OK ? take_in(r, w, k, err) : rc;
}

/* The same answer for all that shake no hands, known or not. */
enum rc hooks_options(struct req *r, struct resp *w, struct err *err)
{
    struct work *k = new_work(r);
    struct err ignored = {0};
    if (!k)
        return err_set(err, RC_NOMEM, "", "no memory for the request");
    if (r->ledger && find(r, k, &ignored) == RC_OK && !is_withheld(k) &&
        k->adapter->verify(&k->d, &ignored) == RC_OK &&
        k->adapter->read(&k->d, &k->reading, &ignored) == RC_OK &&
        k->reading.kind == HOOK_HANDSHAKE) {
        wipe_secrets(k);
        return shake_hands(k, w, err);
    }
    wipe_secrets(k);
    w->status = 204;
    resp_header(w, "Allow", "POST, OPTIONS");
    return RC_OK;
}

/* etag: what to ask, from the state; what an answer means, from state and answer; the flow is in
 * the header. Pure. */
#include "detectors/etag.h"
#include "core/clock.h"
#include "detectors/shape.h"

static bool is_weak(struct str etag)
{
    return str_starts(etag, STR("W/"));
}

/* ---- what the state offers ------------------------------------------------------------------- */

static bool etag_usable(const struct check_state *st)
{
    return st->etag[0] != '\0' && st->etag_flaps < ETAG_FLAPS_MAX;
}

const char *etag_doubt(const struct check_state *st)
{
    if (st->etag_flaps < ETAG_FLAPS_MAX)
        return NULL;
    return st->etag_flaps >= ETAG_FLAPS_LIED ? "constant" : "flapping";
}

/* Can this be when something on the web was modified? Files of reproducible builds are dated 1970
 * or 1980, whatever is in them. A date that we cannot read may be what its server wants to hear. */
static bool date_plausible(struct str date, int64_t now)
{
    int64_t at;
    return time_parse_http(date, &at) != RC_OK || (at <= now && at >= time_civil(1990, 1, 1));
}

static bool date_usable(const struct check_state *st, int64_t now)
{
    return st->last_modified[0] != '\0' && !st->date_doubted &&
           date_plausible(str_of(st->last_modified), now);
}

static struct ask ask_get(const struct check_state *st, enum ask_why why, int64_t now)
{
    return (struct ask){
        .if_none_match = etag_usable(st), .if_modified_since = date_usable(st, now), .why = why};
}

static struct ask ask_plain(enum ask_why why)
{
    return (struct ask){.why = why};
}

bool etag_audit_due(const struct check_state *st, const struct conf *conf, int64_t now)
{
    return st->has_seen && conf->audit_every > 0 &&
           (st->since_audit + 1 >= conf->audit_every || now - st->verified_at > ETAG_AUDIT_MS);
}

struct ask etag_ask(const struct check_state *st, int64_t now)
{
    if (!st->has_seen)
        return ask_plain(ASK_FIRST);
    struct ask ask = ask_get(st, ASK_VALIDATE, now);
    if (!ask.if_none_match && !ask.if_modified_since)
        return ask_plain(ASK_BLIND);
    ask.head = !st->head_refused;
    return ask;
}

struct ask etag_plan(const struct check_state *st, const struct conf *conf, int64_t now)
{
    return etag_audit_due(st, conf, now) ? ask_plain(ASK_AUDIT) : etag_ask(st, now);
}

/* ---- what a response offers ------------------------------------------------------------------ */

/* The ETag as given, or nothing when it could not be echoed. */
static struct str etag_of(const struct fetch_res *res)
{
    struct str s = str_of(res->etag);
    return str_is_clean(s) ? s : STR("");
}

static struct str date_of(const struct fetch_res *res)
{
    struct str s = str_of(res->last_modified);
    return str_is_clean(s) ? s : STR("");
}

/* By the server's own clock where it has one: it dates what it serves. */
static bool date_believable(const struct fetch_res *res, int64_t now)
{
    return date_plausible(date_of(res), res->date_ms >= 0 ? res->date_ms : now);
}

enum place { PLACE_SAME, PLACE_OTHER_QUERY, PLACE_OTHER };

static enum place place_of(const struct check_state *st, const struct fetch_res *res)
{
    char here[FETCH_URL_MAX];
    /* A place without a query is its own place: so it is with nearly all. */
    if (strcmp(res->final_url, st->validator_url) == 0 && !strchr(res->final_url, '?'))
        return PLACE_SAME;
    fetch_url_place(res->final_url, here);
    if (st->validator_url[0] == '\0' || strcmp(here, st->validator_url) == 0)
        return PLACE_SAME;
    size_t n = strcspn(here, "?");
    if (n == strcspn(st->validator_url, "?") && memcmp(here, st->validator_url, n) == 0)
        return PLACE_OTHER_QUERY;
    return PLACE_OTHER;
}

/* Is a version told by this validator the same here? Another query is often a fresh signature of
 * the same object; there a strong ETag still tells, a date does not. */
static bool place_trusted(const struct check_state *st, const struct answer *a)
{
    switch (place_of(st, a->res)) {
    case PLACE_SAME: return true;
    case PLACE_OTHER_QUERY: return a->ask.if_none_match && !is_weak(str_of(st->etag));
    default: return false;
    }
}

static void keep_text(char *to, size_t room, struct str s)
{
    if (s.n < room) {
        memmove(to, s.p, s.n); /* s may be what is kept already */
        to[s.n] = '\0';
    } else {
        to[0] = '\0'; /* cut, a validator would be another one */
    }
}

static void keep_validators(struct check_state *st, struct str etag, struct str date)
{
    keep_text(st->etag, sizeof st->etag, etag);
    keep_text(st->last_modified, sizeof st->last_modified, date);
}

/* ---- two forms of one content ---------------------------------------------------------------- */

static void swap_text(char *a, size_t a_room, char *b, size_t b_room)
{
    char was[sizeof((struct check_state *)0)->etag];
    snprintf(was, sizeof was, "%s", a);
    keep_text(a, a_room, str_of(b));
    keep_text(b, b_room, str_of(was));
}

/* What was seen and what came before change places. */
static void turn(struct check_state *st)
{
    struct sha256 sha = st->seen_sha;
    int64_t size = st->seen_size;
    st->seen_sha = st->other_sha;
    st->seen_size = st->other_size;
    st->other_sha = sha;
    st->other_size = size;
    swap_text(st->etag, sizeof st->etag, st->other_etag, sizeof st->other_etag);
    swap_text(st->last_modified, sizeof st->last_modified, st->other_last_modified,
              sizeof st->other_last_modified);
    st->other_moved = true;
    st->other_met = !st->other_met;
}

/* Is this the validator of the other form, and of no other? */
static bool tells_other(const struct check_state *st, struct str etag)
{
    return st->other_same && st->other_etag[0] != '\0' && str_is(etag, st->other_etag) &&
           !str_is(etag, st->etag);
}

static bool is_other(const struct check_state *st, const struct sha256 *sha)
{
    return st->other_same && sha256_eq(&st->other_sha, sha) && !sha256_eq(&st->seen_sha, sha);
}

/* Other bytes came: whether they say the same, a handler will tell. */
static void keep_other(struct check_state *st)
{
    st->has_other = st->has_seen;
    st->other_same = false;
    st->other_sha = st->seen_sha;
    st->other_size = st->seen_size;
    keep_text(st->other_etag, sizeof st->other_etag, str_of(st->etag));
    keep_text(st->other_last_modified, sizeof st->other_last_modified, str_of(st->last_modified));
    st->other_moved = true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct verdict judge_304(struct check_state *st, const struct answer *a, int64_t now)
{
    if (!a->ask.if_none_match && !a->ask.if_modified_since)
        return verdict_failure(a->res);
    if (!place_trusted(st, a))
        return verdict_again(ask_plain(ASK_ELSEWHERE));
    struct str etag = etag_of(a->res), date = date_of(a->res);
    if (!a->ask.head && tells_other(st, etag))
        turn(st);
    bool renewed =
        (etag.n && !str_is(etag, st->etag)) || (date.n && !str_is(date, st->last_modified));
    if (a->ask.head && renewed)
        return verdict_again(ask_get(st, ASK_HEAD_SAID, now)); /* what GET says is stored */
    keep_validators(st, etag.n ? etag : str_of(st->etag),
                    date.n ? date : str_of(st->last_modified));
    st->date_doubted |= !date_believable(a->res, now);
    /* HEAD that is refused, or cannot say what GET says, is not worth its round trip. */
    if (a->ask.why == ASK_NO_HEAD || a->ask.why == ASK_HEAD_SAID)
        st->head_refused = true;
    st->since_audit++;
    return verdict_of(OUTCOME_not_modified, "HTTP 304 to %s", a->ask.head ? "HEAD" : "GET");
}

/* Does a 200 to HEAD prove that the version is the one we have? A date does not, whatever
 * the length. */
static bool head_same(const struct check_state *st, const struct answer *a)
{
    struct str etag = etag_of(a->res);
    return place_trusted(st, a) && a->ask.if_none_match && str_is(etag, st->etag) && !is_weak(etag);
}

static struct verdict judge_head(struct check_state *st, const struct answer *a, int64_t now)
{
    struct check_state turned;
    if (tells_other(st, etag_of(a->res))) {
        turned = *st;
        turn(&turned);
        if (head_same(&turned, a) &&
            (a->res->content_length <= 0 || a->res->content_length == turned.seen_size))
            *st = turned;
    }
    if (!head_same(st, a))
        return verdict_again(ask_get(st, ASK_HEAD_SAID, now));
    if (a->res->content_length > 0 && a->res->content_length != st->seen_size)
        return verdict_again(ask_plain(ASK_HEAD_LIED));
    st->since_audit++;
    return verdict_of(OUTCOME_not_modified, "HTTP 200 to HEAD with the same strong ETag");
}

/* Answers to HEAD that say nothing about GET. A 503, a 429 or a lacking login would be the same. */
static bool head_refused(const struct fetch_res *res)
{
    switch (res->end) {
    case FETCH_OK: break;
    case FETCH_TIMEOUT:
    case FETCH_SLOW:
    case FETCH_BROKEN:
    case FETCH_TRUNCATED:
    case FETCH_TOO_LARGE:
    case FETCH_PROTOCOL: return true;
    default: return false;
    }
    switch (res->http) {
    case 202:
    case 401:
    case 407:
    case 429:
    case 451: return false;
    default: return res->http <= 501;
    }
}

/* Why the body of a 200 cannot be the data; NULL when it can. */
static const char *body_wrong(const struct check_state *st, const struct answer *a)
{
    const char *encoding = a->res->content_encoding;
    if (!a->body.read || a->body.size == 0)
        return "the body is empty";
    if (encoding[0] != '\0' && !str_ieq(str_of(encoding), STR("identity")))
        return "the body is encoded although identity was asked for";
    if (a->body.wrong)
        return a->body.wrong;
    if (strcmp(st->seen_shape, SHAPE_SEEN_GEOJSON) == 0 && a->body.shape &&
        strcmp(a->body.shape, "json") == 0 && !a->accepted)
        return "JSON that is no GeoJSON where that was; if that is right, --accept it";
    if (st->has_seen && a->body.size * 10 < st->seen_size && !a->accepted)
        return "the body has less than a tenth of the last size; if that is right, --accept it";
    return NULL;
}

/* Is what came before all that tells what to expect? */
static bool is_remembered(const struct check_state *st, const struct answer *a)
{
    return st->seen_shape[0] && !a->accepted &&
           shape_expected(a->source->media_type, a->source->url, "") == SHAPE_unknown;
}

struct compared {
    bool had; /* there was a validator to compare with */
    bool etag_same, date_same, same_place, same_bytes;
};

static struct compared compare(const struct check_state *st, const struct answer *a)
{
    return (struct compared){
        .had = st->etag[0] != '\0' || st->last_modified[0] != '\0',
        .etag_same = str_is(etag_of(a->res), st->etag),
        .date_same = str_is(date_of(a->res), st->last_modified),
        .same_place = place_of(st, a->res) != PLACE_OTHER,
        .same_bytes = st->has_seen && sha256_eq(&st->seen_sha, &a->body.sha),
    };
}

static enum outcome outcome_of(const struct check_state *st, const struct compared *c)
{
    bool validators_same = c->etag_same && c->date_same;
    if (!st->has_seen)
        return OUTCOME_new;
    if (c->same_bytes)
        return c->had && !validators_same ? OUTCOME_validator_drift : OUTCOME_unchanged;
    return c->had && validators_same && c->same_place ? OUTCOME_silent_change : OUTCOME_changed;
}

/* A strong ETag promises bytes; a weak one that stays when they move breaks no promise. */
static void learn_etag(struct check_state *st, const struct answer *a, const struct compared *c)
{
    bool told = st->etag[0] != '\0' && !is_weak(str_of(st->etag)) && c->same_place;
    if (!c->same_bytes)
        st->etag_flaps = told && c->etag_same ? ETAG_FLAPS_LIED : 0;
    else if (!c->etag_same && st->etag[0] != '\0' && st->etag_flaps + 1 < ETAG_FLAPS_LIED)
        st->etag_flaps++;
    else if (a->ask.why == ASK_AUDIT && st->etag_flaps < ETAG_FLAPS_MAX)
        st->etag_flaps = 0;
}

static void learn_date(struct check_state *st, const struct answer *a, const struct compared *c,
                       int64_t now)
{
    bool constant = c->date_same && c->same_place && st->last_modified[0] != '\0' && !c->same_bytes;
    if (!c->date_same)
        st->date_doubted = false;
    if (constant || !date_believable(a->res, now))
        st->date_doubted = true;
}

static void learn_head(struct check_state *st, const struct answer *a, const struct compared *c)
{
    /* A tag that was not asked about is none that HEAD could have told. */
    bool same_version = c->same_bytes && c->date_same && (c->etag_same || !a->ask.if_none_match);
    if (a->ask.why == ASK_NO_HEAD)
        st->head_refused = true;
    if (same_version && (a->ask.why == ASK_HEAD_SAID || a->ask.why == ASK_HEAD_LIED))
        st->head_refused = true;
}

static struct verdict judge_body(struct check_state *st, const struct answer *a, int64_t now)
{
    const char *wrong = body_wrong(st, a);
    if (wrong)
        return verdict_of(OUTCOME_wrong_shape, "%s%s", wrong,
                          a->body.wrong && is_remembered(st, a) ? "; if that is right, --accept it"
                                                                : "");
    if (is_other(st, &a->body.sha))
        turn(st);
    struct compared c = compare(st, a);
    struct verdict v = verdict_of(outcome_of(st, &c), "%lld bytes%s%s", (long long)a->body.size,
                                  a->ask.why == ASK_AUDIT ? ", digest audit" : "",
                                  st->other_met ? ", another form of the same content" : "");
    if (!c.same_bytes)
        keep_other(st);
    learn_etag(st, a, &c);
    learn_date(st, a, &c, now);
    learn_head(st, a, &c);
    keep_validators(st, etag_of(a->res), date_of(a->res));
    fetch_url_place(a->res->final_url, st->validator_url);
    st->has_seen = true;
    st->seen_sha = a->body.sha;
    st->seen_size = a->body.size;
    if (a->body.shape)
        snprintf(st->seen_shape, sizeof st->seen_shape, "%s", a->body.shape);
    st->since_audit = 0;
    st->verified_at = now;
    if (outcome_candidate(v.outcome))
        st->changed_at = now;
    return v;
}

struct verdict etag_judge(struct check_state *st, const struct answer *a, int64_t now)
{
    bool answered = a->res->end == FETCH_OK;
    if (answered && a->res->http == 304)
        return judge_304(st, a, now);
    if (answered && a->res->http == 200)
        return a->ask.head ? judge_head(st, a, now) : judge_body(st, a, now);
    if (a->ask.head && head_refused(a->res))
        return verdict_again(ask_get(st, ASK_NO_HEAD, now));
    return verdict_failure(a->res);
}

static struct ask plan(const struct source *s, const struct check_state *st,
                       const struct conf *conf, int64_t now)
{
    (void)s;
    return etag_plan(st, conf, now);
}

const struct detector etag_detector = {
    .name = "etag", .asks_max = ETAG_ASKS_MAX, .plan = plan, .judge = etag_judge};

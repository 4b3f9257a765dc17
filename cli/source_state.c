/* source_state: see the header. */
#include "cli/source_state.h"

#include <stdarg.h>

#include "core/clock.h"
#include "detectors/etag.h"
#include "detectors/manifest.h"

yyjson_mut_val *state_json(yyjson_mut_doc *d, const struct check_state *st)
{
    yyjson_mut_val *o = yyjson_mut_obj(d);
    char hex[SHA256_HEX];
    sha256_hex(&st->seen_sha, hex);
    json_add_str(d, o, "last_outcome", *st->last_outcome ? st->last_outcome : NULL);
    json_add_str(d, o, "last_detail", *st->last_detail ? st->last_detail : NULL);
    json_add_time(d, o, "checked_at", st->checked_at);
    json_add_time(d, o, "reached_at", st->reached_at);
    json_add_time(d, o, "verified_at", st->verified_at);
    json_add_time(d, o, "changed_at", st->changed_at);
    json_add_time(d, o, "next_check_at", st->next_check_at);
    yyjson_mut_obj_add_int(d, o, "checks", st->checks);
    yyjson_mut_obj_add_int(d, o, "failures", st->failures);
    yyjson_mut_obj_add_int(d, o, "gone_count", st->gone_count);
    json_add_str(d, o, "etag", *st->etag ? st->etag : NULL);
    json_add_str(d, o, "last_modified", *st->last_modified ? st->last_modified : NULL);
    json_add_str(d, o, "sha256", st->has_seen ? hex : NULL);
    yyjson_mut_obj_add_bool(d, o, "head_refused", st->head_refused);
    yyjson_mut_obj_add_int(d, o, "etag_flaps",
                           st->etag_flaps < ETAG_FLAPS_LIED ? st->etag_flaps : 0);
    json_add_str(d, o, "etag_doubt", etag_doubt(st));
    yyjson_mut_obj_add_bool(d, o, "date_doubted", st->date_doubted);
    yyjson_mut_obj_add_int(d, o, "since_audit", st->since_audit);
    json_add_str(d, o, "cursor", *st->cursor ? st->cursor : NULL);
    return o;
}

yyjson_mut_val *health_json(yyjson_mut_doc *d, const struct health *h)
{
    yyjson_mut_val *o = yyjson_mut_obj(d);
    json_add_str(d, o, "state", health_name(h->state));
    yyjson_mut_obj_add_bool(d, o, "breach", health_breach(h->state));
    json_add_str(d, o, "text", h->text);
    json_add_str(d, o, "reason", *h->reason ? h->reason : NULL);
    return o;
}

struct health health_now(const struct source *s, const struct check_state *st)
{
    struct health h;
    struct health_facts f = health_facts_of(s, st);
    health_judge(&f, clock_now(), &h);
    return h;
}

/* ---- what was learned ------------------------------------------------------------------------ */

static void learn(struct learned *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void learn(struct learned *l, const char *fmt, ...)
{
    va_list ap;
    if (l->n == LEARNED_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(l->text[l->n++], sizeof l->text[0], fmt, ap);
    va_end(ap);
}

/* What an entry does not tell is not seen to change; what can be done is said with it. */
static void learn_blind(struct learned *l, int64_t blind)
{
    learn(l, "Of %lld of its entries the listing tells no version, date, size or digest:",
          (long long)blind);
    learn(l, "changes of their bytes go unseen. Name a field that does, or watch them by etag.");
}

static void learn_validators(struct learned *l, const struct source *s,
                             const struct check_state *st, const struct ask *ask)
{
    const char *doubt = etag_doubt(st);
    bool dated = *st->last_modified != '\0', told = *st->cursor != '\0';
    if (doubt && strcmp(doubt, "constant") == 0)
        learn(l, "Its ETag is unreliable: it stayed when the bytes moved.");
    else if (doubt)
        learn(l, "Its ETag is unreliable: it moved %lld times in a row while the bytes did not.",
              (long long)st->etag_flaps);
    else if (st->etag_flaps > 0)
        learn(l, "Its ETag moved %lld of %d times while the bytes did not; then it is not used.",
              (long long)st->etag_flaps, ETAG_FLAPS_MAX);
    if (dated && st->date_doubted)
        learn(l, "Its Last-Modified is not used until it moves: it is no date that can be, or it "
                 "stayed when the bytes moved.");
    if (strcmp(s->detector, "manifest") == 0 && manifest_blind(st) > 0)
        learn_blind(l, manifest_blind(st));
    if (st->has_seen && ask->why == ASK_BLIND && !told)
        learn(l, *st->etag || dated
                     ? "No validator of it can be used: every check reads the whole object."
                     : "It gives no validator: every check reads the whole object.");
    else if (ask->if_none_match && strncmp(st->etag, "W/", 2) == 0)
        learn(l, "Its ETag is weak: when it answers 200, the digest decides.");
}

void state_learned(const struct source *s, const struct check_state *st, const struct conf *conf,
                   struct learned *ret)
{
    struct learned l = {0};
    int64_t now = clock_now();
    struct ask ask = etag_ask(st, now);
    bool listing = strcmp(s->detector, "manifest") == 0;
    if (st->head_refused)
        learn(&l, "HEAD is of no use here (refused, or it cannot say what GET says): a GET is sent "
                  "at once.");
    learn_validators(&l, s, st, &ask);
    /* Where nothing can be asked with, every check is one. */
    if (ask.why == ASK_VALIDATE || (*st->cursor && !listing && st->has_seen)) {
        if (etag_audit_due(st, conf, now))
            learn(&l,
                  "The next check is an audit: it reads all bytes, whatever the upstream says.");
        else if (conf->audit_every > 0)
            learn(&l, "The next audit reads all bytes in %lld checks, whatever the upstream says.",
                  (long long)(conf->audit_every - st->since_audit));
    }
    *ret = l;
}

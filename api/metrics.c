/* metrics: /metrics, Prometheus text exposition format 0.0.4.
 *
 * Invariants
 *   1. (I8) Public sums and counts only: withheld sources are in no number, no label names
 *      a source.
 *   2. Every outcome and every state has its line from the start, so that rates have a zero to
 *      begin with. Of each metric HELP and TYPE come first, its lines stand together.
 *   3. Costs index ranges, never a walk over the sources' rows (ledger/public_metrics.h).
 * Called by the route table; nginx lets local addresses in and nobody else. */
#include "api/documents.h"
#include "api/stream_stat.h"
#include "api/traffic.h"
#include "core/version.h"
#include "ledger/public_metrics.h"

#define ROLE_DUE "due" /* not a program: when the oldest source is due */

static const char *const outcomes[] = {
#define X(name, failure, candidate, help) #name,
#include "ledger/outcomes.def"
#undef X
};

struct sums {
    int64_t checks[ARRAY_LEN(outcomes)];
    int64_t requests, http_200, http_304, bytes_in, bytes_saved;
};

static enum rc add_total(void *ctx, const struct public_total *t, struct err *err)
{
    struct sums *s = ctx;
    (void)err;
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
        if (str_is(t->outcome, outcomes[i]))
            s->checks[i] = t->checks;
    s->requests += t->requests;
    s->http_200 += t->http_200;
    s->http_304 += t->http_304;
    s->bytes_in += t->bytes_in;
    s->bytes_saved += t->bytes_saved;
    return RC_OK;
}

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void line(struct buf *b, const char *name, const char *label, const char *value, int64_t n)
{
    buf_printf(b, "%s{%s=\"%s\"} %lld\n", name, label, value, (long long)n);
}

static void plain(struct buf *b, const char *name, const char *type, const char *help, int64_t n)
{
    head(b, name, type, help);
    buf_printf(b, "%s %lld\n", name, (long long)n);
}

static void put_checks(struct buf *b, const struct sums *s)
{
    head(b, "freshet_checks_total", "counter", "Checks of public sources by outcome.");
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
        line(b, "freshet_checks_total", "outcome", outcomes[i], s->checks[i]);
    plain(b, "freshet_check_requests_total", "counter",
          "Requests that these checks sent, repeated attempts included.", s->requests);
    head(b, "freshet_check_responses_total", "counter",
         "Checks that ended with 304 (nothing was sent) or 200.");
    line(b, "freshet_check_responses_total", "status", "304", s->http_304);
    line(b, "freshet_check_responses_total", "status", "200", s->http_200);
    plain(b, "freshet_check_received_bytes_total", "counter", "Body bytes that checks received.",
          s->bytes_in);
    plain(b, "freshet_check_saved_bytes_total", "counter",
          "Body bytes that checks did not have to receive, against reading everything each time.",
          s->bytes_saved);
}

static void put_health(struct buf *b, const int64_t counts[HEALTH_COUNT])
{
    head(
        b, "freshet_sources", "gauge",
        "Active public sources by health. One that is late, or was looked at by a wrong clock, counts as what its last check said: see "
        "freshet_schedule_lag_seconds.");
    for (int s = 0; s < HEALTH_COUNT; s++)
        if (s != HEALTH_overdue && s != HEALTH_ahead && s != HEALTH_retired)
            line(b, "freshet_sources", "state", health_name((enum health_state)s), counts[s]);
}

struct beats {
    struct req *r;
    struct buf *out;
    int64_t due_at, full_at;
};

static enum rc put_beat(void *ctx, struct str role, int64_t at, struct err *err)
{
    struct beats *x = ctx;
    (void)err;
    if (str_is(role, ROLE_DUE))
        x->due_at = at;
    else if (str_is(role, HEARTBEAT_FULL))
        x->full_at = at;
    else
        buf_printf(x->out, "freshet_heartbeat_age_seconds{role=\"%.*s\"} %lld\n", STR_FMT(role),
                   (long long)((x->r->now - at) / 1000));
    return RC_OK;
}

static enum rc put_beats(struct req *r, struct buf *b, struct err *err)
{
    struct beats x = {.r = r, .out = b, .due_at = -1, .full_at = -1};
    head(b, "freshet_heartbeat_age_seconds", "gauge", "Time since the last sign of life.");
    TRY(public_beats(r->ledger, put_beat, &x, err));
    int64_t lag = x.due_at < 0 || x.due_at > r->now ? 0 : (r->now - x.due_at) / 1000;
    plain(b, "freshet_schedule_lag_seconds", "gauge",
          "How long the oldest due public source waits; it grows when nobody checks.", lag);
    plain(b, "freshet_inbox_full", "gauge",
          "1 while the inbox is full and no check is begun (inbox_max).", x.full_at >= 0);
    return RC_OK;
}

static enum rc put_replay(void *ctx, struct str result, int64_t n, struct err *err)
{
    (void)err;
    buf_printf(ctx, "freshet_replays_total{result=\"%.*s\"} %lld\n", STR_FMT(result), (long long)n);
    return RC_OK;
}

static enum rc put_noise(void *ctx, struct str kind, int64_t n, struct err *err)
{
    (void)err;
    buf_printf(ctx, "freshet_noise_avoided_total{kind=\"%.*s\"} %lld\n", STR_FMT(kind),
               (long long)n);
    return RC_OK;
}

static enum rc put_push(void *ctx, struct str result, int64_t n, struct err *err)
{
    (void)err;
    buf_printf(ctx, "freshet_pushes_total{result=\"%.*s\"} %lld\n", STR_FMT(result), (long long)n);
    return RC_OK;
}

static enum rc put_waiting(void *ctx, struct str kind, int64_t open, int64_t dead,
                           int64_t oldest_at, struct err *err)
{
    (void)err, (void)oldest_at;
    buf_printf(ctx, "freshet_outbox_rows{kind=\"%.*s\",state=\"open\"} %lld\n", STR_FMT(kind),
               (long long)open);
    buf_printf(ctx, "freshet_outbox_rows{kind=\"%.*s\",state=\"dead\"} %lld\n", STR_FMT(kind),
               (long long)dead);
    return RC_OK;
}

struct ages {
    struct buf *out;
    int64_t now;
};

static enum rc put_age(void *ctx, struct str kind, int64_t open, int64_t dead, int64_t oldest_at,
                       struct err *err)
{
    const struct ages *x = ctx;
    (void)err, (void)open, (void)dead;
    buf_printf(x->out, "freshet_outbox_oldest_seconds{kind=\"%.*s\"} %lld\n", STR_FMT(kind),
               (long long)(oldest_at < 0 ? 0 : (x->now - oldest_at) / 1000));
    return RC_OK;
}

static enum rc put_outbox(struct req *r, struct buf *b, struct err *err)
{
    struct ages ages = {b, r->now};
    head(b, "freshet_replays_total", "counter", "Replays of the log by how they ended.");
    TRY(public_replays(r->ledger, put_replay, b, err));
    head(b, "freshet_outbox_rows", "gauge", "What is still to be told, and what was given up.");
    TRY(public_outbox(r->ledger, put_waiting, b, err));
    head(b, "freshet_outbox_oldest_seconds", "gauge", "How long the oldest of it waits.");
    return public_outbox(r->ledger, put_age, &ages, err);
}

/* ---- runs, inbox ----------------------------------------------------------------------------- */

static enum rc put_run(void *ctx, struct str result, struct str reason, int64_t n, struct err *err)
{
    (void)err;
    if (!str_is(result, "absorbed"))
        buf_printf(ctx, "freshet_runs_total{result=\"%.*s\",reason=\"%.*s\"} %lld\n",
                   STR_FMT(result), STR_FMT(reason), (long long)n);
    return RC_OK;
}

struct dedupe {
    int64_t absorbed, same;
};

static enum rc sum_dedupe(void *ctx, struct str result, struct str reason, int64_t n,
                          struct err *err)
{
    struct dedupe *d = ctx;
    (void)err;
    d->absorbed += str_is(result, "absorbed") ? n : 0;
    d->same += str_is(result, "noop") && str_is(reason, "SAME_BYTES") ? n : 0;
    return RC_OK;
}

static enum rc put_runs(struct req *r, struct buf *b, struct err *err)
{
    struct dedupe d = {0};
    head(
        b, "freshet_runs_total", "counter",
        "Runs by how they ended and why: promoted, held and failed are the verdict of validation and "
        "policy.");
    TRY(public_run_counts(r->ledger, put_run, b, err));
    TRY(public_run_counts(r->ledger, sum_dedupe, &d, err));
    head(b, "freshet_dedupe_hits_total", "counter",
         "Duplicates: absorbed by a candidate that waited, or the head's bytes again.");
    line(b, "freshet_dedupe_hits_total", "kind", "absorbed", d.absorbed);
    line(b, "freshet_dedupe_hits_total", "kind", "same_bytes", d.same);
    return RC_OK;
}

/* What freshet-outbox measured; -1: not yet. */
struct gauges {
    double open, held, dead, oldest_at, drain, p50, p95;
};

static enum rc read_gauge(void *ctx, struct str name, double value, struct err *err)
{
    struct gauges *g = ctx;
    const struct {
        const char *name;
        double *to;
    } all[] = {{"inbox_open", &g->open}, {"inbox_held", &g->held},
               {"inbox_dead", &g->dead}, {"inbox_oldest_at", &g->oldest_at},
               {"drain", &g->drain},     {"lag_p50", &g->p50},
               {"lag_p95", &g->p95}};
    (void)err;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (str_is(name, all[i].name))
            *all[i].to = value;
    return RC_OK;
}

static void put_lag(struct buf *b, const struct gauges *g)
{
    head(b, "freshet_freshness_lag_seconds", "summary",
         "From detection to publication, of the newest 500 public changes.");
    if (g->p50 < 0)
        return;
    buf_printf(b,
               "freshet_freshness_lag_seconds{quantile=\"0.5\"} %.3f\n"
               "freshet_freshness_lag_seconds{quantile=\"0.95\"} %.3f\n",
               g->p50, g->p95);
}

static enum rc put_inbox(struct req *r, struct buf *b, struct err *err)
{
    struct gauges g = {.oldest_at = -1, .p50 = -1};
    TRY(public_gauges(r->ledger, read_gauge, &g, err));
    int64_t age = g.oldest_at < 0 ? 0 : (r->now - (int64_t)g.oldest_at) / 1000;
    head(b, "freshet_inbox_candidates", "gauge",
         "Candidates of public sources: open (ready or running), held for a person, dead letters.");
    line(b, "freshet_inbox_candidates", "state", "open", (int64_t)g.open);
    line(b, "freshet_inbox_candidates", "state", "held", (int64_t)g.held);
    line(b, "freshet_inbox_candidates", "state", "dead", (int64_t)g.dead);
    plain(b, "freshet_inbox_oldest_seconds", "gauge", "How long the oldest open one waits.",
          age < 0 ? 0 : age);
    head(b, "freshet_inbox_drain_seconds", "gauge",
         "How long the open ones take at the rate of the last minute; +Inf: nothing moves.");
    if (g.drain < 0)
        buf_puts(b, "freshet_inbox_drain_seconds +Inf\n");
    else
        buf_printf(b, "freshet_inbox_drain_seconds %.1f\n", g.drain);
    put_lag(b, &g);
    return RC_OK;
}

static enum rc put_coverage(struct req *r, struct buf *b, const int64_t counts[HEALTH_COUNT],
                            struct err *err)
{
    int64_t active = 0, without;
    for (int s = 0; s < HEALTH_COUNT; s++)
        active += s == HEALTH_retired ? 0 : counts[s];
    TRY(public_undigested(r->ledger, r->now, &without, err));
    head(b, "freshet_digest_coverage_ratio", "gauge",
         "Share of active public sources whose bytes were digested within 400 days.");
    buf_printf(b, "freshet_digest_coverage_ratio %.4f\n",
               active > 0 ? (double)(active - without) / (double)active : 1.0);
    return RC_OK;
}

/* ---- who waits ------------------------------------------------------------------------------- */

static void put_stream(const struct req *r, struct buf *b)
{
    struct stream_stat s = {0};
    struct err err = {0};
    if (r->inst && stream_stat_read(r->inst->dir, &s, &err) != RC_OK)
        s = (struct stream_stat){0};
    head(b, "freshet_stream_clients", "gauge", "Clients that wait for changes.");
    line(b, "freshet_stream_clients", "kind", "events", s.streams);
    line(b, "freshet_stream_clients", "kind", "longpoll", s.polls);
    plain(b, "freshet_stream_entries_sent_total", "counter",
          "Entries that event streams were sent, each to each client.", s.sent);
    plain(b, "freshet_stream_dropped_total", "counter",
          "Event streams ended as their clients took nothing for too long.", s.dropped);
}

enum rc metrics_text(struct req *r, struct resp *w, struct err *err)
{
    struct sums sums = {0};
    struct public_meta m = {0};
    int64_t counts[HEALTH_COUNT];
    TRY(public_totals(r->ledger, add_total, &sums, err));
    TRY(public_health_counts(r->ledger, r->now, counts, err));
    TRY(public_meta_get(r->ledger, r->arena, &m, err));
    head(&w->body, "freshet_build_info", "gauge", "The program that answers.");
    line(&w->body, "freshet_build_info", "version", freshet_version, 1);
    put_checks(&w->body, &sums);
    put_health(&w->body, counts);
    TRY(put_coverage(r, &w->body, counts, err));
    TRY(put_runs(r, &w->body, err));
    TRY(put_inbox(r, &w->body, err));
    plain(&w->body, "freshet_feed_last_seq", "gauge", "Number of the newest entry of the feed.",
          m.last_seq);
    head(&w->body, "freshet_noise_avoided_total", "counter",
         "Other bytes of the same content: runs that ended there, checks that knew the form.");
    TRY(public_noise(r->ledger, put_noise, &w->body, err));
    head(&w->body, "freshet_pushes_total", "counter",
         "Events told of public sources: accepted, or put aside as their id came with two bodies.");
    TRY(public_pushes(r->ledger, put_push, &w->body, err));
    TRY(put_outbox(r, &w->body, err));
    put_stream(r, &w->body);
    TRY(put_beats(r, &w->body, err));
    traffic_put(r->traffic,
                &w->body); /* last: these move with every request, this one among them */
    return RC_OK;
}

/* health: the rules, in the order in which they count. Pure. */
#include "ledger/health.h"

#include <stdio.h>

static const struct {
    const char *name, *text;
    bool breach;
} states[HEALTH_COUNT] = {
#define X(name, breach, text) [HEALTH_##name] = {#name, text, breach},
#include "ledger/health.def"
#undef X
};

static const char of_template[] = "Its calendar is followed; it has no bytes of its own to check.";

const char *health_name(enum health_state s)
{
    return states[s].name;
}

bool health_breach(enum health_state s)
{
    return states[s].breach;
}

/* What is known for certain stands before what is only late: a source that fails is not told as
 * overdue, however long ago its next look was due. */
static enum health_state state_of(const struct health_facts *f, int64_t now)
{
    if (f->retired)
        return HEALTH_retired;
    if (f->checked_at < 0)
        return HEALTH_never_checked;
    if (f->checked_at - now > HEALTH_AHEAD_MS)
        return HEALTH_ahead;
    if (f->failures > 0)
        return str_is(f->last_outcome, "gone") ? HEALTH_gone : HEALTH_failing;
    if (f->refused.n > 0)
        return HEALTH_refused;
    if (f->next_check_at >= 0 && now - f->next_check_at > HEALTH_OVERDUE_MS)
        return HEALTH_overdue;
    if (f->template)
        return HEALTH_ok;
    if (f->verified_at < 0 || now - f->verified_at > HEALTH_VERIFIED_MS)
        return HEALTH_unverified;
    return HEALTH_ok;
}

static void time_or_never(int64_t at, char out[TIME_MAX])
{
    char text[TIME_MAX] = "";
    if (at >= 0)
        time_format(at, text);
    if (at < 0)
        snprintf(out, TIME_MAX, "never");
    else
        snprintf(out, TIME_MAX, "%.19sZ",
                 text); /* without the fraction, which is noise to people */
}

static void say_of_ok(const struct health_facts *f, struct health *h)
{
    char at[TIME_MAX];
    if (f->template) {
        snprintf(h->reason, sizeof h->reason, "A template: its vintages are sources of their own.");
    } else if (f->stream_down_at > 0) {
        time_or_never(f->stream_down_at, at);
        snprintf(h->reason, sizeof h->reason,
                 "Its event stream is down since %s; it is polled meanwhile.", at);
    }
}

/* How the last one ended is known; how those before it did is in their receipts. */
static void say_failures(const struct health_facts *f, char *out, size_t n)
{
    if (f->failures > 1)
        snprintf(out, n, "last %lld checks failed, the last as %.*s", (long long)f->failures,
                 STR_FMT(f->last_outcome));
    else
        snprintf(out, n, "last check ended as %.*s", STR_FMT(f->last_outcome));
}

static void say_never_checked(const struct health_facts *f, struct health *h)
{
    char at[TIME_MAX];
    time_or_never(f->pushed ? f->heard_at : f->next_check_at, at);
    if (f->pushed && f->heard > 0)
        snprintf(
            h->reason, sizeof h->reason,
            "Its upstream was heard %lld time%s, last at %s, but nothing could be taken in yet.",
            (long long)f->heard, f->heard == 1 ? "" : "s", at);
    else if (f->pushed)
        snprintf(h->reason, sizeof h->reason,
                 "Its upstream is to tell, and was never heard; nobody has looked either.");
    else
        snprintf(h->reason, sizeof h->reason, "No check was ever made%s%s.",
                 f->next_check_at < 0 ? ", and none is due by itself" : "; due since ",
                 f->next_check_at < 0 ? "" : at);
}

/* Named by dates, not by ages: the text then moves only with its facts, and an ETag can tell. */
static void say_why(const struct health_facts *f, struct health *h)
{
    char at[TIME_MAX], checks[80];
    size_t room = sizeof h->reason;
    bool settled =
        h->state == HEALTH_ok || h->state == HEALTH_gone || h->state == HEALTH_unverified;
    if (f->removed_at >= 0 && settled) { /* nobody expects bytes any more */
        time_or_never(f->removed_at, at);
        snprintf(h->reason, room, "Removed upstream on %s.", at);
        return;
    }
    switch (h->state) {
    case HEALTH_never_checked: say_never_checked(f, h); break;
    case HEALTH_ahead:
        time_or_never(f->checked_at, at);
        snprintf(h->reason, room,
                 "Checked in the future, at %s: the clock was ahead, or is behind.", at);
        break;
    case HEALTH_failing:
    case HEALTH_gone:
        time_or_never(f->reached_at, at);
        say_failures(f, checks, sizeof checks);
        if (h->state == HEALTH_gone && f->verified_at < 0) {
            snprintf(
                h->reason, room,
                "Not published yet, or the address is wrong: the %s, and nothing was ever read.",
                checks);
            break;
        }
        snprintf(h->reason, room, "The %s; last good answer: %s.", checks, at);
        break;
    case HEALTH_refused:
        snprintf(h->reason, room, "The newest that was found was not taken in: %.*s.",
                 STR_FMT(f->refused));
        break;
    case HEALTH_overdue:
        time_or_never(f->next_check_at, at);
        snprintf(h->reason, room, "The next look was due at %s and has not been made.", at);
        break;
    case HEALTH_unverified:
        time_or_never(f->verified_at, at);
        snprintf(h->reason, room, "The upstream answers, but its bytes were last digested: %s.",
                 at);
        break;
    case HEALTH_ok: say_of_ok(f, h); break;
    default: h->reason[0] = '\0'; break;
    }
}

void health_judge(const struct health_facts *f, int64_t now, struct health *ret)
{
    enum health_state s = state_of(f, now);
    bool reads =
        !f->template || s != HEALTH_ok; /* else the claim would be of bytes that nobody read */
    *ret = (struct health){.state = s, .text = reads ? states[s].text : of_template};
    say_why(f, ret);
}

/* health: the rules. Pure; see the header. */
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

/* Named by dates, not by ages: the text then moves only with its facts, and an ETag can tell. */
static void say_why(const struct health_facts *f, struct health *h)
{
    char at[TIME_MAX], checks[40] = "check";
    size_t room = sizeof h->reason;
    bool settled =
        h->state == HEALTH_ok || h->state == HEALTH_gone || h->state == HEALTH_unverified;
    if (f->removed_at >= 0 && settled) { /* nobody expects bytes any more */
        time_or_never(f->removed_at, at);
        snprintf(h->reason, room, "Removed upstream on %s.", at);
        return;
    }
    switch (h->state) {
    case HEALTH_never_checked:
        if (f->pushed) {
            snprintf(h->reason, room,
                     "Its upstream is to tell, and was never heard; nobody has looked either.");
            break;
        }
        time_or_never(f->next_check_at, at);
        snprintf(h->reason, room, "No check was ever made%s%s.",
                 f->next_check_at < 0 ? "; it is looked at on demand only" : "; due since ",
                 f->next_check_at < 0 ? "" : at);
        break;
    case HEALTH_ahead:
        time_or_never(f->checked_at, at);
        snprintf(h->reason, room,
                 "Checked in the future, at %s: the clock was ahead, or is behind.", at);
        break;
    case HEALTH_failing:
    case HEALTH_gone:
        time_or_never(f->reached_at, at);
        if (f->failures > 1)
            snprintf(checks, sizeof checks, "%lld checks", (long long)f->failures);
        if (h->state == HEALTH_gone && f->verified_at < 0) {
            snprintf(h->reason, room,
                     "Not published yet, or the address is wrong: the last %s ended as gone, and "
                     "nothing was ever read.",
                     checks);
            break;
        }
        snprintf(h->reason, room, "The last %s ended as %.*s; last good answer: %s.", checks,
                 STR_FMT(f->last_outcome), at);
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

/* rollback_case: changes that are put, taken back and approved, for the tests of rollbacks. */
#ifndef FRESHET_TESTS_ROLLBACK_CASE_H
#define FRESHET_TESTS_ROLLBACK_CASE_H

#include "ledger/rollback.h"
#include "tests/30-ledger/world.h"

#define BODY_C "{\"version\":\"C\"}"
#define WHY "{\"reason\":\"wrong\"}"

static inline const char *put(const struct source *s, const char *body)
{
    serve(s->id, body);
    const char *event = found(s, body);
    assert_int_equal(drain().done, 1);
    return arena_strdup(&fix_arena, change_of(event).delta_id);
}

static inline enum rc try_ask(const char *delta, char id[ROLLBACK_ID_MAX])
{
    const struct rollback_ask ask = {
        .delta_id = delta, .reason = "wrong lines", .by = "Tester", .body = STR(WHY)};
    return rollback_ask(led, &ask, 3000, id, &fix_err);
}

static inline struct rollback status_of(const char *id)
{
    struct rollback r;
    OK(rollback_get(led, &fix_arena, id, &r, &fix_err));
    return r;
}

/* Takes the change back, and gives the delta of the rollback. */
static inline const char *take_back(const char *delta)
{
    char id[ROLLBACK_ID_MAX];
    OK(try_ask(delta, id));
    assert_string_equal(status_of(id).state, "open");
    assert_int_equal(drain().done, 1);
    struct rollback r = status_of(id);
    assert_string_equal(r.state, "done");
    assert_string_equal(r.detail, "");
    return arena_strdup(&fix_arena, change_of(r.event_id).delta_id);
}

static inline enum rc keep_event(void *ctx, const struct change *c, struct err *err)
{
    (void)err;
    snprintf(ctx, 48, "%s", c->event_id);
    return RC_OK;
}

static inline struct change newest_of(const struct source *s)
{
    char event[48] = "";
    OK(change_each_of(led, s->no, keep_event, event, &fix_err));
    return change_of(event);
}

static inline void approve(const char *event)
{
    assert_int_equal(drain().held, 1);
    fix_decide(led, event, true, "Reviewer", "fine", 3000);
    assert_int_equal(drain().done, 1);
}

#endif

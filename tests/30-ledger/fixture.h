/* fixture: a throw-away instance folder with a ledger, for the tests of this level. */
#ifndef FRESHET_TESTS_LEDGER_FIXTURE_H
#define FRESHET_TESTS_LEDGER_FIXTURE_H

#include "core/clock.h"
#include "core/json.h"
#include "ledger/approval.h"
#include "ledger/check.h"
#include "ledger/inbox.h"
#include "ledger/policy.h"
#include "ledger/promote.h"
#include "tests/10-unit/unit.h"

/* Fails the test with the ledger's own words. */
#define OK(expr) UNIT_OK(expr, #expr, &fix_err)

static struct err fix_err;
static char fix_dir[64];
static struct arena fix_arena;

/* Every level, with what an absent member means. */
#define FIX_LEVELS                                                                                 \
    "\"levels\":{\"public\":{},\"generalized\":{},\"restricted\":{},\"sovereign\":{}}"

/* The policy of the instance, from now on. */
static inline void fix_policy(const char *json)
{
    char path[96];
    snprintf(path, sizeof path, "%s/policy.json", fix_dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(json, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline void fix_make(void)
{
    snprintf(fix_dir, sizeof fix_dir, "/tmp/freshet-test-XXXXXX");
    assert_non_null(mkdtemp(fix_dir));
    arena_init(&fix_arena, 64u << 20);
    OK(ledger_create(fix_dir, digest_sha256, &fix_err));
    /* As init does: the first job finds nothing new about it. */
    struct ledger *l = NULL;
    struct policy p;
    fix_policy(
        "{\"version\":\"1\"," FIX_LEVELS
        ",\"stewards\":{\"collections\":{\"tests\":[\"R. Viewer\",\"Reviewer\",\"Steward\"],\"canary-sov-collection\":[\"reviewer\"],\"canary-sov-places\":[\"reviewer\"]}}}");
    OK(ledger_open(fix_dir, LEDGER_WRITE, digest_sha256, &l, &fix_err));
    OK(policy_load(&fix_arena, fix_dir, digest_sha256, &p, &fix_err));
    OK(policy_publish(l, &fix_arena, p.tag, 1, &fix_err));
    ledger_close(&l);
}

static inline void fix_drop(void)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", fix_dir);
    if (system(cmd) != 0)
        fail_msg("%s", cmd);
    arena_release(&fix_arena);
}

static inline struct ledger *fix_open(enum ledger_role role)
{
    struct ledger *l = NULL;
    OK(ledger_open(fix_dir, role, digest_sha256, &l, &fix_err));
    return l;
}

/* Adds a source through its JSON declaration. */
static inline struct source fix_source(struct ledger *l, const char *json)
{
    struct source s;
    yyjson_val *v;
    OK(json_parse(&fix_arena, str_of(json), 0, "test", &v, &fix_err));
    OK(source_parse(&fix_arena, v, &s, &fix_err));
    OK(ledger_begin(l, &fix_err));
    OK(source_add(l, &s, 1000, &fix_err));
    OK(ledger_commit(l, &fix_err));
    return s;
}

/* A check that saw bytes whose digest is all `fill`. */
static inline struct check_result fix_result(const struct source *s, enum outcome o, int fill)
{
    struct check_result r = {.src_no = s->no,
                             .source_id = s->id,
                             .detector = "etag",
                             .level = s->level,
                             .started_at = 2000,
                             .ended_at = 2000,
                             .outcome = o,
                             .attempts = 1,
                             .http = 200,
                             .due_because = "test",
                             .has_sha = true,
                             .state = {.has_seen = true,
                                       .seen_size = 1,
                                       .gone_since = -1,
                                       .checked_at = 2000,
                                       .reached_at = 2000,
                                       .verified_at = 2000,
                                       .changed_at = 2000,
                                       .next_check_at = 9000,
                                       .writes = INT64_MAX}}; /* nobody is in its way */
    memset(r.sha.b, fill, sizeof r.sha.b);
    r.state.seen_sha = r.sha;
    return r;
}

/* As `freshet approve` and `reject` do, by a person whom nobody asks who they are. */
static inline void fix_decide(struct ledger *l, const char *event, bool approve,
                              const char *reviewer, const char *note, int64_t now)
{
    const struct approval_ask ask = {
        .id = event, .approve = approve, .reviewer = reviewer, .note = note};
    OK(approval_decide(l, &ask, now, &fix_err));
    if (approve)
        return;
    OK(ledger_begin(l, &fix_err));
    OK(inbox_end_rejected(l, event, now, &fix_err));
    OK(ledger_commit(l, &fix_err));
}

static const struct run_tags fix_tags = {"0", "test", "1", "1"};

#endif

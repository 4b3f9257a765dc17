/* health: the rules, one by one and against each other; triggers and numbers in words. */
#include "tests/10-unit/unit.h"

#include "cli/human.h"
#include "ledger/health.h"
#include "ledger/trigger.h"

#define NOW 1800000000000LL

/* A source in order: looked at a minute ago, next look in an hour, bytes digested yesterday. */
static struct health_facts fine(void)
{
    return (struct health_facts){.checked_at = NOW - 60000,
                                 .reached_at = NOW - 60000,
                                 .verified_at = NOW - DAY_MS,
                                 .next_check_at = NOW + 3600000,
                                 .removed_at = -1,
                                 .last_outcome = STR("not_modified")};
}

static const char *judged(struct health_facts f)
{
    struct health h;
    health_judge(&f, NOW, &h);
    bool silent = h.state == HEALTH_ok || h.state == HEALTH_retired;
    assert_int_equal(h.reason[0] == '\0', silent); /* a breach always says why */
    assert_int_equal(health_breach(h.state), !silent);
    return health_name(h.state);
}

/* Of a source that is told: heard or not is said, and no more than is known. */
static void heard_is_not_never_heard(void **state)
{
    struct health h;
    (void)state;
    struct health_facts f = fine();
    f.checked_at = f.reached_at = f.verified_at = f.next_check_at = f.heard_at = -1;
    f.pushed = true;
    health_judge(&f, NOW, &h);
    assert_non_null(strstr(h.reason, "never heard"));
    f.heard = 3;
    f.heard_at = NOW - 60000;
    health_judge(&f, NOW, &h);
    assert_string_equal(health_name(h.state), "never_checked");
    assert_string_equal(h.reason,
                        "Its upstream was heard 3 times, last at 2027-01-15T07:59:00Z, but "
                        "nothing could be taken in yet.");
    f.heard = 1;
    health_judge(&f, NOW, &h);
    assert_non_null(strstr(h.reason, "heard 1 time, last"));
}

static void every_rule(void **state)
{
    (void)state;
    struct health_facts f = fine();
    assert_string_equal(judged(f), "ok");
    f.checked_at = f.reached_at = f.verified_at = -1;
    assert_string_equal(judged(f), "never_checked");
    f = fine();
    f.failures = 1;
    f.last_outcome = STR("unavailable");
    assert_string_equal(judged(f), "failing");
    f.last_outcome = STR("gone");
    assert_string_equal(judged(f), "gone");
    f = fine();
    f.refused = STR("WRONG_SHAPE");
    assert_string_equal(judged(f), "refused");
    f.failures = 1;
    assert_string_equal(judged(f), "failing");
    f = fine();
    f.next_check_at = NOW - HEALTH_OVERDUE_MS;
    assert_string_equal(judged(f), "ok");
    f.next_check_at--;
    assert_string_equal(judged(f), "overdue");
    f = fine();
    f.checked_at = NOW + HEALTH_AHEAD_MS;
    assert_string_equal(judged(f), "ok");
    f.checked_at++;
    assert_string_equal(judged(f), "ahead");
    f.failures = 1;
    assert_string_equal(judged(f), "ahead"); /* nobody knows when it failed */
    f = fine();
    f.verified_at = NOW - HEALTH_VERIFIED_MS;
    assert_string_equal(judged(f), "ok");
    f.verified_at--;
    assert_string_equal(judged(f), "unverified");
    f.verified_at = -1;
    assert_string_equal(judged(f), "unverified");
    f.retired = true;
    assert_string_equal(judged(f), "retired");
}

/* It has no bytes of its own; late and failing count as for all others. */
static void templates(void **state)
{
    struct health h;
    struct health_facts f = fine();
    (void)state;
    f.template = true;
    f.reached_at = f.verified_at = -1;
    health_judge(&f, NOW, &h);
    assert_int_equal(h.state, HEALTH_ok);
    assert_non_null(strstr(h.reason, "sources of their own"));
    assert_null(strstr(h.text, "digested")); /* nobody reads bytes of it */
    f.next_check_at = NOW - HEALTH_OVERDUE_MS - 1;
    assert_string_equal(judged(f), "overdue");
    f.checked_at = -1;
    assert_string_equal(judged(f), "never_checked");
}

/* What was never there has not vanished. */
static void not_published_yet(void **state)
{
    struct health h;
    struct health_facts f = fine();
    (void)state;
    f.failures = 2;
    f.last_outcome = STR("gone");
    health_judge(&f, NOW, &h);
    assert_null(strstr(h.reason, "Not published"));
    f.verified_at = f.reached_at = -1;
    health_judge(&f, NOW, &h);
    assert_int_equal(h.state, HEALTH_gone);
    assert_non_null(strstr(h.reason, "Not published yet"));
    assert_non_null(strstr(h.reason, "the last 2 checks failed, the last as gone, and nothing"));
    f.failures = 1;
    health_judge(&f, NOW, &h);
    assert_non_null(strstr(h.reason, "the last check ended as gone, and nothing"));
}

/* On demand only is not late, but never looked at is told all the same. */
static void manual_sources(void **state)
{
    (void)state;
    struct health_facts f = fine();
    f.next_check_at = -1;
    assert_string_equal(judged(f), "ok");
    f.checked_at = -1;
    assert_string_equal(judged(f), "never_checked");
}

/* What is certain goes before what is late. */
static void order_of_rules(void **state)
{
    (void)state;
    struct health_facts f = fine();
    f.failures = 3;
    f.last_outcome = STR("denied");
    f.next_check_at = NOW - 10 * DAY_MS;
    f.verified_at = -1;
    assert_string_equal(judged(f), "failing");
    f.failures = 0;
    assert_string_equal(judged(f), "overdue");
}

/* The text moves with its facts, never with the clock: ETags depend on it. */
static void reasons_do_not_age(void **state)
{
    struct health a, b;
    struct health_facts f = fine();
    (void)state;
    f.failures = 2;
    f.last_outcome = STR("unavailable");
    health_judge(&f, NOW, &a);
    health_judge(&f, NOW + 100 * DAY_MS, &b);
    assert_string_equal(a.reason, b.reason);
    assert_non_null(strstr(a.reason, "The last 2 checks failed, the last as unavailable;"));
    assert_null(strstr(a.reason, ".000"));
}

static void triggers_by_type_and_month(void **state)
{
    struct source s = {.n_triggers = 2};
    (void)state;
    s.triggers[0] = (struct trigger){.type = TRIGGER_ANNUAL, .month = 11, .through = 2};
    s.triggers[1] = (struct trigger){.type = TRIGGER_CENSUS, .years = {2030}, .n_years = 1};
    assert_true(trigger_of_type(&s, TRIGGER_ANNUAL, 0));
    assert_true(trigger_of_type(&s, TRIGGER_CENSUS, 0));
    assert_false(trigger_of_type(&s, TRIGGER_REDISTRICTING, 0));
    for (int month = 1; month <= 12; month++)
        assert_int_equal(trigger_of_type(&s, TRIGGER_ANNUAL, month), month >= 11 || month <= 2);
    assert_false(trigger_of_type(&s, TRIGGER_CENSUS, 5)); /* has no month */
}

static void numbers_for_people(void **state)
{
    char t[HUMAN_MAX];
    (void)state;
    assert_string_equal(human_count(0, t), "0");
    assert_string_equal(human_count(999, t), "999");
    assert_string_equal(human_count(19495, t), "19,495");
    assert_string_equal(human_count(1000000, t), "1,000,000");
    assert_string_equal(human_count(-1234, t), "-1,234");
    assert_string_equal(human_count(INT64_MAX, t), "9,223,372,036,854,775,807");
    assert_string_equal(human_bytes(1, t), "1 byte");
    assert_string_equal(human_bytes(999, t), "999 bytes");
    assert_string_equal(human_bytes(1000, t), "1.00 kB");
    assert_string_equal(human_bytes(38990000000, t), "39.0 GB");
    assert_string_equal(human_bytes(INT64_MAX, t), "9.22 EB");
    assert_string_equal(human_duration(840, t), "0.8 s");
    assert_string_equal(human_duration(65000, t), "1:05");
    assert_string_equal(human_duration(7384000, t), "2:03:04");
    assert_string_equal(human_change(1.25, t), "+1.25 %");
    assert_string_equal(human_change(-0.3, t), "-0.30 %");
    assert_string_equal(human_change(-0.0021, t), "0.00 %"); /* no negative zero */
    assert_string_equal(human_change(-0.0, t), "0.00 %");
    assert_string_equal(human_share(95, 100, t), "95 %");
    assert_string_equal(human_share(9999, 10000, t), "99.9 %"); /* not all of it */
    assert_string_equal(human_share(1, 100000, t), "0.1 %");    /* not nothing */
    assert_string_equal(human_share(0, 0, t), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heard_is_not_never_heard),
        cmocka_unit_test(every_rule),
        cmocka_unit_test(manual_sources),
        cmocka_unit_test(templates),
        cmocka_unit_test(not_published_yet),
        cmocka_unit_test(order_of_rules),
        cmocka_unit_test(reasons_do_not_age),
        cmocka_unit_test(numbers_for_people),
        cmocka_unit_test(triggers_by_type_and_month),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* arena and the table of results: caps, alignment, stability, failure on demand. */
#include "tests/10-unit/unit.h"

#include <stdalign.h>
#include "core/arena.h"

static void cap_is_never_exceeded(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1000);
    size_t handed_out = 0;
    while (arena_alloc(&a, 100))
        handed_out += 100;
    assert_true(handed_out >= 800 && handed_out <= 1000);
    assert_true(a.used <= a.cap);
    assert_null(arena_alloc(&a, 1000));
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 8));
    arena_release(&a);
}

static void usable_after_a_failure(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 256);
    assert_null(arena_alloc(&a, 257));
    assert_non_null(arena_alloc(&a, 256));
    assert_null(arena_alloc(&a, 1));
    arena_reset(&a);
    assert_non_null(arena_alloc(&a, 256));
    arena_release(&a);
}

static void takes_nothing_before_the_first_allocation(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_null(a.head);
    arena_reset(&a);
    arena_release(&a);
    assert_null(a.head);
    assert_int_equal(a.cap, 1 << 20);
}

/* Fills many blocks of several sizes; every byte must stay, at an aligned place. */
static void what_is_handed_out_stays(void **state)
{
    (void)state;
    enum { N = 400 };
    struct arena a;
    unsigned char *p[N];
    arena_init(&a, 64u << 20);
    for (size_t i = 0; i < N; i++) {
        size_t n = i % 50 == 49 ? 200000 : 1 + i * 7;
        p[i] = arena_alloc(&a, n);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % alignof(max_align_t), 0);
        memset(p[i], (int)i & 255, n);
    }
    for (size_t i = 0; i < N; i++) {
        size_t n = i % 50 == 49 ? 200000 : 1 + i * 7;
        for (size_t j = 0; j < n; j++)
            assert_int_equal(p[i][j], i & 255);
    }
    arena_release(&a);
}

static void reset_keeps_the_newest_block(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    for (int i = 0; i < 100; i++)
        assert_non_null(arena_alloc(&a, 1000));
    const void *newest = a.head;
    arena_reset(&a);
    assert_ptr_equal(a.head, newest);
    assert_int_equal(a.used, 0);
    assert_non_null(arena_alloc(&a, 1000));
    assert_ptr_equal(a.head, newest);
    arena_release(&a);
}

static void resize_in_place_or_by_copy(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 1 << 20);
    char *p = arena_strdup(&a, "0123456789");
    assert_ptr_equal(arena_resize(&a, p, 11, 500), p);
    assert_ptr_equal(arena_resize(&a, p, 500, 11), p);
    assert_true(a.used <= 16);
    assert_non_null(arena_alloc(&a, 1));
    char *moved = arena_resize(&a, p, 11, 64);
    assert_ptr_not_equal(moved, p);
    assert_string_equal(moved, "0123456789");
    assert_ptr_equal(arena_resize(&a, p, 11, 4), p);
    assert_null(arena_resize(&a, moved, 64, 2u << 20));
    assert_string_equal(moved, "0123456789");
    assert_non_null(arena_resize(&a, NULL, 0, 10));
    arena_release(&a);
}

static void strings(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 4096);
    assert_string_equal(arena_str(&a, (struct str){"abcdef", 3}), "abc");
    assert_string_equal(arena_str(&a, (struct str){NULL, 0}), "");
    assert_string_equal(arena_printf(&a, "%s-%d", "x", 42), "x-42");
    const char *z = arena_zalloc(&a, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(z[i], 0);
    assert_null(arena_printf(&a, "%5000d", 1));
    arena_release(&a);
}

static void fails_on_demand(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 4096);
    arena_fail_after = 2;
    assert_non_null(arena_alloc(&a, 1));
    assert_non_null(arena_alloc(&a, 1));
    assert_null(arena_alloc(&a, 1));
    assert_non_null(arena_alloc(&a, 1));
    char *p = arena_alloc(&a, 16);
    arena_fail_after = 0;
    assert_null(arena_resize(&a, p, 16, 64));
    assert_int_equal(arena_fail_after, -1);
    arena_release(&a);
}

static void results_come_from_the_table(void **state)
{
    (void)state;
    assert_string_equal(rc_name(RC_NOT_FOUND), "NOT_FOUND");
    assert_int_equal(rc_http(RC_NOT_FOUND), 404);
    assert_string_equal(rc_slug(RC_NOT_FOUND), "not-found");
    assert_string_equal(rc_title(RC_OK), "OK");
    assert_true(rc_retryable(RC_BUSY));
    assert_false(rc_retryable(RC_INVALID));
    assert_string_equal(rc_name((enum rc)999), "INTERNAL");
    for (int i = 0; i < RC_COUNT; i++)
        assert_true(rc_http((enum rc)i) >= 200 && strlen(rc_slug((enum rc)i)) > 0);
}

static void an_error_may_quote_itself(void **state)
{
    (void)state;
    struct err e = {0};
    assert_rc(err_set(&e, RC_INVALID, "limit", "must be below %d", 10), RC_INVALID);
    assert_rc(err_set(&e, RC_CONFLICT, e.field, "source x: %s", e.msg), RC_CONFLICT);
    assert_int_equal(e.rc, RC_CONFLICT);
    assert_string_equal(e.field, "limit");
    assert_string_equal(e.msg, "source x: must be below 10");
    err_set(&e, RC_INVALID, NULL, "x");
    assert_string_equal(e.field, "");
}

static void an_error_is_cut_between_characters(void **state)
{
    (void)state;
    char text[1200];
    for (size_t shift = 0; shift < 4; shift++) {
        struct err e = {0};
        memset(text, 'x', sizeof text);
        for (size_t i = shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        text[sizeof text - 1] = 0;
        err_set(&e, RC_INVALID, text, "%s", text);
        assert_true(str_is_utf8(str_of(e.msg)));
        assert_true(str_is_utf8(str_of(e.field)));
        assert_true(strlen(e.msg) >= sizeof e.msg - 4);
        assert_true(strlen(e.field) >= sizeof e.field - 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cap_is_never_exceeded),
        cmocka_unit_test(usable_after_a_failure),
        cmocka_unit_test(takes_nothing_before_the_first_allocation),
        cmocka_unit_test(what_is_handed_out_stays),
        cmocka_unit_test(reset_keeps_the_newest_block),
        cmocka_unit_test(resize_in_place_or_by_copy),
        cmocka_unit_test(strings),
        cmocka_unit_test(fails_on_demand),
        cmocka_unit_test(results_come_from_the_table),
        cmocka_unit_test(an_error_may_quote_itself),
        cmocka_unit_test(an_error_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* buf: the maximum, the NUL, and the failure that sticks. */
#include "tests/10-unit/unit.h"

#include "core/buf.h"

static void grows_and_ends_with_nul(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 1 << 20);
    assert_str(buf_view(&b), "");
    for (int i = 0; i < 10000; i++) {
        buf_printf(&b, "%d,", i % 10);
        assert_int_equal(b.data[b.len], 0);
    }
    assert_rc(buf_rc(&b), RC_OK);
    assert_int_equal(b.len, 20000);
    assert_memory_equal(b.data + 19980, "0,1,2,3,4,5,6,7,8,9,", 21);
    buf_release(&b);
    assert_int_equal(b.max, 1 << 20);
}

static void all_ways_to_append(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100);
    buf_add(&b, "a\0b", 3);
    buf_str(&b, STR("cd"));
    buf_puts(&b, "ef");
    buf_byte(&b, 'g');
    buf_printf(&b, "%s", "");
    buf_add(&b, NULL, 0);
    assert_int_equal(b.len, 8);
    assert_memory_equal(b.data, "a\0bcdefg", 9);
    buf_release(&b);
}

static void the_maximum_holds(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    buf_puts(&b, "0123456789");
    assert_rc(buf_rc(&b), RC_OK);
    buf_byte(&b, 'x');
    assert_rc(buf_rc(&b), RC_TOO_LARGE);
    assert_str(buf_view(&b), "0123456789");
    buf_release(&b);
    buf_init(&b, 0);
    buf_byte(&b, 'x');
    assert_rc(buf_rc(&b), RC_TOO_LARGE);
    assert_null(b.data);
    buf_release(&b);
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    buf_puts(&b, "1234");
    buf_printf(&b, "%s", "5678901");
    assert_rc(buf_rc(&b), RC_TOO_LARGE);
    buf_byte(&b, '5');
    buf_printf(&b, "6");
    assert_str(buf_view(&b), "1234");
    assert_rc(buf_rc(&b), RC_TOO_LARGE);
    buf_clear(&b);
    assert_rc(buf_rc(&b), RC_OK);
    assert_str(buf_view(&b), "");
    buf_byte(&b, 'x');
    assert_str(buf_view(&b), "x");
    buf_release(&b);
}

static void huge_maximum_does_not_wrap(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, SIZE_MAX - 1);
    buf_byte(&b, 'x');
    assert_rc(buf_rc(&b), RC_OK);
    buf_add(&b, "y", SIZE_MAX / 2);
    assert_rc(buf_rc(&b), RC_NOMEM);
    assert_str(buf_view(&b), "x");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_ends_with_nul),    cmocka_unit_test(all_ways_to_append),
        cmocka_unit_test(the_maximum_holds),          cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(huge_maximum_does_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

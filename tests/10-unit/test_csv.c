/* csv: quoting, line ends, and where a record began. */
#include "tests/10-unit/unit.h"

#include "core/csv.h"

static struct arena arena;

static void read_record(struct csv *c, const char *want)
{
    struct csv_record r;
    struct err err;
    char got[200] = "";
    size_t n = 0;
    assert_rc(csv_next(c, &arena, &r, &err), RC_OK);
    for (size_t i = 0; i < r.n; i++)
        n += (size_t)snprintf(got + n, sizeof got - n, "[%s]", r.fields[i]);
    assert_string_equal(got, want);
}

static void read_end(struct csv *c, enum rc want)
{
    struct csv_record r;
    struct err err = {0};
    assert_rc(csv_next(c, &arena, &r, &err), want);
}

static void open_text(struct csv *c, const char *text)
{
    csv_open(c, str_of(text));
}

static void plain_fields(void **state)
{
    struct csv c;
    (void)state;
    open_text(&c, "a,b,c\n1,,3\n");
    read_record(&c, "[a][b][c]");
    read_record(&c, "[1][][3]");
    read_end(&c, RC_NOT_FOUND);
}

static void both_line_ends_and_none_at_the_end(void **state)
{
    struct csv c;
    (void)state;
    open_text(&c, "a,b\r\n1,2\r\n\r\n3,4");
    read_record(&c, "[a][b]");
    read_record(&c, "[1][2]");
    read_record(&c, "[3][4]");
    assert_int_equal(c.at, 4);
    read_end(&c, RC_NOT_FOUND);
}

static void quoted_fields(void **state)
{
    struct csv c;
    (void)state;
    open_text(&c, "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\r\nnext,\"\",x\n");
    read_record(&c, "[a,b][say \"hi\"][two\nlines]");
    assert_int_equal(c.at, 1);
    read_record(&c, "[next][][x]");
    assert_int_equal(c.at, 3);
}

static void a_quoted_carriage_return_stays(void **state)
{
    struct csv c;
    (void)state;
    open_text(&c, "\"a\r\"\nb\r\n");
    read_record(&c, "[a\r]");
    read_record(&c, "[b]");
}

static void byte_order_mark(void **state)
{
    struct csv c;
    (void)state;
    open_text(&c, "\xef\xbb\xbfid\nx\n");
    read_record(&c, "[id]");
}

static void broken_ones(void **state)
{
    static const char *const texts[] = {"\"never ends", "\"a\"b,c\n", "\"a\" ,c\n"};
    struct csv c;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        open_text(&c, texts[i]);
        read_end(&c, RC_INVALID);
    }
    csv_open(&c, (struct str){"a\0b,c\n", 6});
    read_end(&c, RC_INVALID);
}

static void too_many_columns(void **state)
{
    char text[2 * CSV_FIELDS_MAX + 2];
    struct csv c;
    (void)state;
    memset(text, ',', sizeof text);
    csv_open(&c, (struct str){text, CSV_FIELDS_MAX - 1});
    struct csv_record r;
    struct err err;
    assert_rc(csv_next(&c, &arena, &r, &err), RC_OK);
    assert_int_equal(r.n, CSV_FIELDS_MAX);
    csv_open(&c, (struct str){text, CSV_FIELDS_MAX});
    read_end(&c, RC_INVALID);
}

static int make_arena(void **state)
{
    (void)state;
    arena_init(&arena, 1u << 20);
    return 0;
}
static int drop_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_fields),     cmocka_unit_test(both_line_ends_and_none_at_the_end),
        cmocka_unit_test(quoted_fields),    cmocka_unit_test(a_quoted_carriage_return_stays),
        cmocka_unit_test(byte_order_mark),  cmocka_unit_test(broken_ones),
        cmocka_unit_test(too_many_columns),
    };
    return cmocka_run_group_tests(tests, make_arena, drop_arena);
}

/* cql2: hostile input first, then what each form means, then the official examples where they are
 * at hand. */
#include "core/cql2.h"

#include <dirent.h>
#include <stdlib.h>
#include "tests/10-unit/unit.h"

#define CORPUS "../shared/data/schemas/opengis.net/cql2/1.0/examples"

static struct arena a;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena_init(&a, 16u << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&a);
    return 0;
}

static enum rc text(struct str s, struct buf *out)
{
    struct cql2 *q;
    arena_reset(&a);
    buf_clear(out);
    enum rc rc = cql2_from_text(&a, s, &q, &err);
    if (rc == RC_OK)
        cql2_put(out, q);
    return rc;
}

static enum rc json(struct str s, struct buf *out)
{
    struct cql2 *q;
    yyjson_val *v;
    arena_reset(&a);
    buf_clear(out);
    enum rc rc = json_parse(&a, s, 0, "filter", &v, &err);
    if (rc == RC_OK)
        rc = cql2_from_json(&a, v, &q, &err);
    if (rc == RC_OK)
        cql2_put(out, q);
    return rc;
}

static void refused(const char *s)
{
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, 1 << 20);
    enum rc rc = text(str_of(s), &b);
    if (rc != RC_INVALID)
        print_error("taken: %s\n", s);
    assert_int_equal(rc, RC_INVALID);
    assert_true(err.msg[0] != 0 && err.field[0] != 0);
}

static void hostile(void **state)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "a",
                                      "'",
                                      "\"",
                                      "a =",
                                      "= 1",
                                      "a = 'x",
                                      "a = \"x",
                                      "a == 1",
                                      "a = 1 b",
                                      "(a = 1",
                                      "a = 1)",
                                      "a IN ()",
                                      "a IN 1",
                                      "a BETWEEN 1",
                                      "a BETWEEN 1 OR 2",
                                      "a LIKE",
                                      "a IS",
                                      "a IS NOT 1",
                                      "NOT",
                                      "a = 1 AND",
                                      "1",
                                      "'x'",
                                      "DATE('2026-13-01') = a",
                                      "a > TIMESTAMP('2026-01-01')",
                                      "T_AFTER(a, INTERVAL('x','..'))",
                                      "S_INTERSECTS(g, POINT(1))",
                                      "S_INTERSECTS(g, POINT(1 2 3 4))",
                                      "S_INTERSECTS(g, POLYGON((0 0, 1 1)))",
                                      "S_INTERSECTS(g, BBOX(1,2,3))",
                                      "S_INTERSECTS(g, BBOX(0,2,1,1))",
                                      "S_INTERSECTS(g, LINESTRING(1 1))",
                                      "a = 1e999",
                                      "a = 1.2.3",
                                      "a = 1; DROP TABLE x",
                                      "a = \x01",
                                      "AND = 1",
                                      "POINT = 1",
                                      "a NOT = 1"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (strcmp(bad[i], "a") != 0) /* a property alone may be true or false */
            refused(bad[i]);
    }
}

/* `count` times head, then tail. */
static char *repeat(const char *head, size_t count, const char *tail)
{
    size_t n = strlen(head);
    char *out = malloc(n * count + strlen(tail) + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * n, head, n);
    memcpy(out + n * count, tail, strlen(tail) + 1);
    return out;
}

/* Memory is that of the parts: what is too long is said to be so, and does not run out of
 * memory first. */
static void many_texts(void **state)
{
    CLEANUP(buf_release) struct buf b = {0}, out = {0};
    (void)state;
    buf_init(&b, 1 << 20);
    buf_init(&out, 1 << 20);
    for (int n = 1900; n <= 3000; n += 1100) {
        buf_clear(&b);
        buf_puts(&b, "id IN (");
        for (int i = 0; i < n; i++)
            buf_printf(&b, "%s'a%d'", i ? "," : "", i);
        buf_byte(&b, ')');
        assert_int_equal(text(buf_view(&b), &out), n < 2000 ? RC_OK : RC_INVALID);
        assert_true(n < 2000 || strstr(err.msg, "2000 parts"));
    }
    buf_clear(&b);
    for (int i = 0; i < 3000; i++)
        buf_printf(&b, "%sid='a%d'", i ? " OR " : "", i);
    assert_int_equal(text(buf_view(&b), &out), RC_INVALID);
    assert_non_null(strstr(err.msg, "2000 parts"));
}

static void caps(void **state)
{
    static const struct {
        const char *head;
        size_t count;
        const char *tail;
    } cases[] = {{"(", 100000 / 2, "a"},
                 {"(", 40, "a=1"},
                 {"NOT ", 10000, "a=1"},
                 {"f(", 20000, "1"},
                 {"a=1 AND ", 4000, "a=1"},
                 {"-", 60000, "1 = a"},
                 {"GEOMETRYCOLLECTION(", 3000, "POINT(1 2)"},
                 {"x", 70000, "=1"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *s = repeat(cases[i].head, cases[i].count, cases[i].tail);
        refused(s);
        free(s);
    }
    CLEANUP(buf_release) struct buf b = {0};
    buf_init(&b, 1 << 20);
    assert_int_equal(text((struct str){"a='\xff'", 5}, &b), RC_INVALID);
    assert_int_equal(text((struct str){"a='\0'", 5}, &b), RC_INVALID);
    assert_int_equal(json(STR("{\"op\":\"=\",\"args\":[null,1]}"), &b), RC_INVALID);
    assert_int_equal(json(STR("{\"op\":\"in\",\"args\":[{\"property\":\"a\"},[]]}"), &b),
                     RC_INVALID);
    assert_int_equal(json(STR("[1]"), &b), RC_INVALID);
    assert_int_equal(json(STR("{\"op\":5}"), &b), RC_INVALID);
}

static void meaning(void **state)
{
    static const struct {
        const char *text, *tree;
    } cases[] = {
        {"a=1 or b=2 and not c=3", "(or (= a 1) (and (= b 2) (not (= c 3))))"},
        {"(a=1 OR b=2) AND c", "(and (or (= a 1) (= b 2)) c)"},
        {"a = 'it''s'", "(= a \"it's\")"},
        {"a = 'it\\'s'", "(= a \"it's\")"},
        {"\"a \"\"b\"\"\" = 1", "(= a \"b\" 1)"},
        {"\xC3\xA9tat = '\xCE\x9F\xCE\xB4\xCE\xBF\xCF\x82'",
         "(= \xC3\xA9tat \"\xCE\x9F\xCE\xB4\xCE\xBF\xCF\x82\")"},
        {"a NOT IN (1,2)", "(not (in a (list 1 2)))"},
        {"a NOT BETWEEN 1 AND 2 AND b=3", "(and (not (between a 1 2)) (= b 3))"},
        {"balance-150.0 > 0", "(> (- balance 150) 0)"},
        {"x = -y*2+1", "(= x (+ (* (* -1 y) 2) 1))"},
        {"kfm:change_detection:detector IS NOT NULL",
         "(not (isnull kfm:change_detection:detector))"},
        {"T_DURING(datetime, INTERVAL('..','2026-01-02'))",
         "(t_during datetime (interval .. 2026-01-02T00:00:00.000Z))"},
        {"s_intersects(geometry, POINT(1 2))", "(s_intersects geometry (geometry point 1 2))"},
        {"s_intersects(geometry, BBOX(170,0,-170,1))",
         "(s_intersects geometry (geometry ring 170 0 180 0 180 1 170 1 170 0 ring -180 0 -170 0 -170 "
         "1 -180 1 -180 0))"}};
    CLEANUP(buf_release) struct buf b = {0};
    (void)state;
    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (text(str_of(cases[i].text), &b) != RC_OK)
            fail_msg("%s: %s", cases[i].text, err.msg);
        assert_string_equal(buf_view(&b).p, cases[i].tree);
    }
}

static bool ends(const char *name, const char *tail)
{
    return str_ends(str_of(name), str_of(tail));
}

/* Every official example is read, but one that is no filter and boxes that are off the globe; and
 * where both forms have a name in common they give one tree. */
static void corpus(void **state)
{
    struct dirent *e;
    int n = 0, bad = 0, same = 0, differ = 0;
    CLEANUP(buf_release) struct buf b = {0}, c = {0};
    (void)state;
    buf_init(&b, 1 << 20);
    buf_init(&c, 1 << 20);
    const char *root = getenv("CQL2_CORPUS") ? getenv("CQL2_CORPUS") : CORPUS;
    char path[4096];
    snprintf(path, sizeof path, "%s/text", root);
    DIR *d = opendir(path);
    if (!d) {
        puts("skipped: the official examples are not at hand");
        return;
    }
    while ((e = readdir(d))) {
        static char body[1 << 16];
        if (!ends(e->d_name, ".txt"))
            continue;
        snprintf(path, sizeof path, "%s/text/%s", root, e->d_name);
        unit_read(path, body, sizeof body);
        n++;
        if (text(str_trim(str_of(body)), &b) != RC_OK) {
            bad++;
            print_message("%s: %s\n", e->d_name, err.msg);
        }
        snprintf(path, sizeof path, "%s/json/%.*s.json", root, (int)strlen(e->d_name) - 4,
                 e->d_name);
        if (access(path, R_OK) != 0)
            continue;
        unit_read(path, body, sizeof body);
        if (json(str_of(body), &c) != RC_OK)
            print_message("%s: %s\n", path, err.msg);
        bool one = str_eq(buf_view(&b), buf_view(&c));
        same += one;
        differ += !one;
        if (!one)
            print_message("%s\n  %s\n  %s\n", e->d_name, buf_view(&b).p, buf_view(&c).p);
    }
    closedir(d);
    print_message("%d read, %d refused, %d alike, %d differ\n", n, bad, same, differ);
    assert_true(n > 100 && same > 100);
    assert_int_equal(bad + differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hostile), cmocka_unit_test(caps),
                                       cmocka_unit_test(many_texts), cmocka_unit_test(meaning),
                                       cmocka_unit_test(corpus)};
    return cmocka_run_group_tests(tests, setup, teardown);
}

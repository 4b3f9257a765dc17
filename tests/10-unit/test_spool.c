/* spool and shape: bodies on disk, and which of them cannot be the data. S1… are the invariants of
 * detectors/spool.h. */
#include "tests/10-unit/unit.h"
#include "tests/10-unit/scratch.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "detectors/spool.h"

/* ---- shape ----------------------------------------------------------------------------------- */

static void expectation(void **state)
{
    (void)state;
    static const struct {
        const char *media_type, *url, *content_type;
        enum shape want;
    } cases[] = {
        {"application/zip", "https://x/a.geojson", "text/html", SHAPE_zip},
        {"application/geo+json", "https://x/a", "", SHAPE_json},
        {"application/vnd.acme+json; charset=utf-8", "https://x/a", "", SHAPE_json},
        {"application/gml+xml", "https://x/a", "", SHAPE_xml},
        {"APPLICATION/ZIP", "https://x/a", "", SHAPE_zip},
        {"application/octet-stream", "https://x/a.ZIP?f=json", "text/html", SHAPE_zip},
        {"", "https://x/a.geojson#top", "text/html", SHAPE_json},
        {"", "https://x.zip/query?f=a.zip", "application/json", SHAPE_json},
        {"", "https://x/data.v2/query", "text/csv", SHAPE_csv},
        {"", "https://x/a", "text/html;charset=utf-8", SHAPE_html},
        {"", "https://x/a", "", SHAPE_unknown},
        {"text/plain", "https://x/a.unheard", "what/ever", SHAPE_unknown},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(shape_expected(cases[i].media_type, cases[i].url, cases[i].content_type),
                         cases[i].want);
}

static const char zip_start[4] = {'P', 'K', 3, 4}, zip_stop[4] = {'P', 'K', 5, 6};

/* The smallest zip: an end record alone; `comment` bytes follow it. */
static struct str zip_end(char *out, unsigned comment)
{
    memset(out, 0, 22 + comment);
    memcpy(out, zip_stop, sizeof zip_stop);
    out[20] = (char)(comment & 255);
    out[21] = (char)(comment >> 8);
    return (struct str){out, 22 + comment};
}

static const char *wrong(enum shape expected, struct str body)
{
    struct json_scan scan = {0};
    json_scan_add(&scan, body);
    size_t head = body.n < SHAPE_HEAD ? body.n : SHAPE_HEAD;
    size_t tail = body.n < SHAPE_TAIL ? body.n : SHAPE_TAIL;
    struct shape_view v = {.head = {body.p, head},
                           .tail = {body.p + body.n - tail, tail},
                           .size = (int64_t)body.n,
                           .json_whole = json_scan_whole(&scan)};
    return shape_wrong(expected, &v);
}

static void right_shapes(void **state)
{
    (void)state;
    static const struct {
        enum shape expected;
        const char *body;
    } cases[] = {
        {SHAPE_json, "{\"type\":\"FeatureCollection\",\"features\":[]}"},
        {SHAPE_json, "\xef\xbb\xbf \n[1, \"]\", \"\\\"}\"]\n"},
        {SHAPE_json, "{\"error\":null,\"rows\":[]}"},
        {SHAPE_json, "{\"error\":\"in a field of data\",\"features\":[]}"},
        {SHAPE_json, "{\"status\":\"OK\",\"code\":200,\"message\":\"fine\"}"},
        {SHAPE_json, "{\"status\":\"error\",\"message\":\"a layer of errors\",\"features\":[]}"},
        {SHAPE_json, "{\"code\":498,\"name\":\"a road\"}"},
        {SHAPE_json, "42"},
        {SHAPE_csv, "id,name\n1,<html>\n"},
        {SHAPE_csv, "a"},
        {SHAPE_xml, "<?xml version=\"1.0\"?>\n<kml></kml>\n"},
        {SHAPE_gzip, "\x1f\x8b\x08"},
        {SHAPE_gpkg, "SQLite format 3"},
        {SHAPE_pdf, "%PDF-1.7"},
        {SHAPE_html, "<!doctype html><p>hello"},
        {SHAPE_unknown, "anything"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_null(wrong(cases[i].expected, str_of(cases[i].body)));
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const struct {
        enum shape expected;
        const char *body, *says;
    } cases[] = {
        {SHAPE_zip, "<!DOCTYPE html><html>", "HTML"},
        {SHAPE_zip, "<!-- hi -->\n<HTML>", "HTML"},
        {SHAPE_zip, "{\"error\":1}", "no zip"},
        {SHAPE_zip, "PK\3\4 and no end", "truncated"},
        {SHAPE_json, "", "empty"},
        {SHAPE_json, "<html>", "HTML"},
        {SHAPE_json, "Service down", "no JSON"},
        {SHAPE_json, "{\"features\":[{}", "truncated"},
        {SHAPE_json, "{\"a\":\"b", "truncated"},
        {SHAPE_json, "{}{}", "truncated"},
        {SHAPE_json, "{\"error\":{\"code\":498,\"message\":\"Invalid token.\"}}", "error document"},
        {SHAPE_json, "{\"error\":true,\"message\":\"no\"}", "error document"},
        {SHAPE_json, "{\"success\":false}", "error document"},
        {SHAPE_json, "{\"status\":\"error\",\"message\":\"Token required\"}", "error document"},
        {SHAPE_json, "{\"code\":\"498\",\"message\":\"Invalid token\"}", "error document"},
        {SHAPE_json, "{\"type\":\"about:blank\",\"title\":\"No\",\"status\":401}",
         "error document"},
        {SHAPE_json, "{\"error\":{\"code\":498},\"type\":\"x\"}", "error document"},
        {SHAPE_csv, " <html>", "HTML"},
        {SHAPE_csv, "{\"error\":{\"code\":498}}", "JSON"},
        {SHAPE_xml, "<title>Login</title>", "HTML"},
        {SHAPE_xml, "<kml><Document", "truncated"},
        {SHAPE_xml, "kml", "no XML"},
        {SHAPE_gzip, "PK", "no gzip"},
        {SHAPE_gpkg, "<html>", "no database"},
        {SHAPE_pdf, "<html>", "no PDF"},
        {SHAPE_unknown, "<html>", "not called so"},
        {SHAPE_unknown, "", "empty"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *why = wrong(cases[i].expected, str_of(cases[i].body));
        if (!why || !strstr(why, cases[i].says))
            fail_msg("%s: %s", cases[i].body, why ? why : "taken");
    }
    assert_non_null(wrong(SHAPE_csv, STR("a\0b")));
}

static void zip_ends(void **state)
{
    (void)state;
    static char z[2 * SHAPE_TAIL];
    assert_null(wrong(SHAPE_zip, zip_end(z, 0)));
    assert_null(wrong(SHAPE_zip, zip_end(z, 65535)));
    struct str cut = zip_end(z, 100);
    cut.n--;
    assert_non_null(wrong(SHAPE_zip, cut));
    cut.n = 21;
    assert_non_null(wrong(SHAPE_zip, cut));
    /* A directory that would lie behind its own end: bytes were lost in the middle. */
    zip_end(z, 0);
    z[12] = 1;
    assert_non_null(wrong(SHAPE_zip, (struct str){z, 22}));
    /* Behind a body larger than the tail. */
    memset(z, 'x', sizeof z);
    memcpy(z, zip_start, sizeof zip_start);
    zip_end(z + sizeof z - 22, 0);
    assert_null(wrong(SHAPE_zip, (struct str){z, sizeof z}));
}

/* Chunks end anywhere; the scan must not care. */
static void json_in_pieces(void **state)
{
    (void)state;
    struct str text = STR("{\"a\\\\\":[\"\\\"]\",{}],\"b\":-1.5e3} ");
    for (size_t cut = 0; cut <= text.n; cut++) {
        struct json_scan s = {0};
        json_scan_add(&s, (struct str){text.p, cut});
        assert_int_equal(json_scan_whole(&s), cut >= text.n - 1);
        json_scan_add(&s, (struct str){text.p + cut, text.n - cut});
        assert_true(json_scan_whole(&s));
    }
}

/* ---- spool ----------------------------------------------------------------------------------- */

struct place {
    char dir[64];
    struct instance inst;
    struct spool_dir spool;
};

static int setup(void **state)
{
    static struct place p;
    struct err err;
    snprintf(p.dir, sizeof p.dir, "/tmp/freshet-spool-XXXXXX");
    assert_non_null(mkdtemp(p.dir));
    p.inst = (struct instance){.dir = p.dir};
    assert_rc(spool_dir_open(&p.inst, &p.spool, &err), RC_OK);
    *state = &p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    spool_dir_close(&p->spool);
    return scratch_remove(p->dir);
}

static int count_files(const struct place *p)
{
    char path[80];
    snprintf(path, sizeof path, "%s/spool", p->dir);
    return scratch_count(path, "");
}

static void begin(struct place *p, struct spool *s, enum shape expected)
{
    struct err err;
    assert_rc(spool_begin(s, &p->spool, expected, SHAPE_unknown, -1, &err), RC_OK);
}

static void add(struct spool *s, struct str part)
{
    struct err err;
    assert_rc(spool_add(s, part, &err), RC_OK);
}

static void file_of(const struct place *p, const struct sha256 *sha, char out[160])
{
    char hex[SHA256_HEX];
    sha256_hex(sha, hex);
    snprintf(out, 160, "%s/spool/%s", p->dir, hex);
}

static void body_is_kept_under_its_digest(void **state)
{
    struct place *p = *state;
    struct spool s;
    struct body_facts f;
    struct err err;
    struct sha256 want;
    char path[160], text[64];
    spool_init(&s);
    begin(p, &s, SHAPE_csv);
    add(&s, STR("id,na"));
    add(&s, STR("me\n"));
    assert_rc(spool_end(&s, &f, &err), RC_OK);
    digest_sha256("id,name\n", 8, &want);
    assert_true(f.read && sha256_eq(&f.sha, &want));
    assert_int_equal(f.size, 8);
    assert_null(f.wrong);
    assert_rc(spool_keep(&s, &f.sha, &err), RC_OK);
    file_of(p, &f.sha, path);
    unit_read(path, text, sizeof text);
    assert_string_equal(text, "id,name\n");
    assert_int_equal(count_files(p), 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600); /* it may be restricted */
    spool_drop(&s);
    assert_int_equal(unlink(path), 0);
}

/* S1: what a broken try left must not be part of the next one. */
static void a_new_try_starts_anew(void **state)
{
    struct place *p = *state;
    struct spool s;
    struct body_facts f;
    struct err err;
    struct sha256 want;
    char path[160], text[64];
    spool_init(&s);
    begin(p, &s, SHAPE_json);
    add(&s, STR("{\"features\":[{\"lon"));
    begin(p, &s, SHAPE_json);
    add(&s, STR("[1]"));
    assert_rc(spool_end(&s, &f, &err), RC_OK);
    digest_sha256("[1]", 3, &want);
    assert_true(sha256_eq(&f.sha, &want));
    assert_int_equal(f.size, 3);
    assert_null(f.wrong);
    assert_rc(spool_keep(&s, &f.sha, &err), RC_OK);
    file_of(p, &want, path);
    unit_read(path, text, sizeof text);
    assert_string_equal(text, "[1]");
    assert_int_equal(unlink(path), 0);
}

static void dropped_bodies_leave_nothing(void **state)
{
    struct place *p = *state;
    struct spool s;
    spool_init(&s);
    spool_drop(&s); /* nothing begun */
    begin(p, &s, SHAPE_unknown);
    add(&s, STR("x"));
    assert_int_equal(count_files(p), 1);
    spool_drop(&s);
    assert_int_equal(count_files(p), 0);
    begin(p, &s, SHAPE_unknown); /* and can be used again */
    spool_drop(&s);
    assert_int_equal(count_files(p), 0);
}

static void wrong_shape_is_found_on_disk(void **state)
{
    struct place *p = *state;
    struct spool s;
    struct body_facts f;
    struct err err;
    spool_init(&s);
    begin(p, &s, SHAPE_zip);
    add(&s, STR("<html>"));
    assert_rc(spool_end(&s, &f, &err), RC_OK);
    assert_non_null(f.wrong);
    begin(p, &s, SHAPE_json);
    assert_rc(spool_end(&s, &f, &err), RC_OK);
    assert_string_equal(f.wrong, "the body is empty");
    spool_drop(&s);
}

/* S3 */
static void floor_of_free_space(void **state)
{
    struct place *p = *state;
    struct spool s;
    struct err err;
    spool_init(&s);
    p->spool.free_min = INT64_MAX;
    assert_rc(spool_begin(&s, &p->spool, SHAPE_unknown, SHAPE_unknown, -1, &err), RC_FULL);
    p->spool.free_min = 0;
    assert_rc(spool_begin(&s, &p->spool, SHAPE_unknown, SHAPE_unknown, INT64_MAX, &err), RC_FULL);
    spool_drop(&s);
    assert_int_equal(count_files(p), 0);
}

static void make(const struct place *p, const char *name, int64_t mtime_s)
{
    char path[160];
    snprintf(path, sizeof path, "%s/spool/%s", p->dir, name);
    unit_write(path, "x");
    struct timespec times[2] = {{.tv_sec = mtime_s}, {.tv_sec = mtime_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* S2: the living keep their files, whatever their age. */
static void sweep_takes_only_what_is_dead(void **state)
{
    struct place *p = *state;
    struct spool s;
    spool_init(&s);
    begin(p, &s, SHAPE_unknown);
    make(p, "tmp-1-1", 2000);
    make(p, "aaaa", 1000);
    make(p, "bbbb", 3000);
    spool_dir_sweep(&p->spool, 2000 * 1000);
    assert_int_equal(count_files(p), 2); /* ours and bbbb */
    spool_drop(&s);
    spool_dir_sweep(&p->spool, 4000 * 1000);
    assert_int_equal(count_files(p), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expectation),
        cmocka_unit_test(right_shapes),
        cmocka_unit_test(wrong_shapes),
        cmocka_unit_test(zip_ends),
        cmocka_unit_test(json_in_pieces),
        cmocka_unit_test(body_is_kept_under_its_digest),
        cmocka_unit_test(a_new_try_starts_anew),
        cmocka_unit_test(dropped_bodies_leave_nothing),
        cmocka_unit_test(wrong_shape_is_found_on_disk),
        cmocka_unit_test(floor_of_free_space),
        cmocka_unit_test(sweep_takes_only_what_is_dead),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

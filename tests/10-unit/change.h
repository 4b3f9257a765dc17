/* change: one invented change, for the tests of its documents, and golden files to compare with.
 *
 * A golden file holds the exact bytes. When a document changes on purpose, run the test with
 * FRESHET_GOLDEN=write and read the difference before committing it. */
#ifndef FRESHET_TESTS_CHANGE_H
#define FRESHET_TESTS_CHANGE_H

#include <spawn.h>
#include <sys/wait.h>
#include "core/json.h"
#include "handler/facts.h"
#include "unit.h"

#define CHANGE_RUN "01980000-0000-7000-8000-000000000001"
#define CHANGE_AT 1782986400123LL /* 2026-07-02T10:00:00.123Z */
#define CHANGE_SPEC                                                                                \
    "{\"id\":\"ks-counties\",\"triggers\":[{\"type\":\"annual\",\"month\":7,\"through\":10}],"     \
    "\"url\":\"https://data.example.org/counties.geojson?f=geojson\"}"

static inline struct source change_source(enum level level)
{
    return (struct source){
        .no = 7,
        .id = "ks-counties",
        .title = "Counties of Kansas",
        .url = "https://data.example.org:8443/gis/counties.geojson?f=geojson&token=hush",
        .detector = "etag",
        .collection = "boundaries",
        .boundary_type = "county",
        .license = "CC-BY-4.0",
        .media_type = "application/geo+json",
        .feature_key = "",
        .pin_sha256 = "",
        .adapter = "",
        .level = level,
        .grid_deg = 0.1,
        .freshness_days = -1,
        .retired_at = -1,
        .spec = {CHANGE_SPEC, sizeof CHANGE_SPEC - 1}};
}

static inline struct candidate change_candidate(void)
{
    return (struct candidate){.no = 3,
                              .src_no = 7,
                              .event_id = "evt_20260702T095900Z_a1b2c3",
                              .detector = "etag",
                              .outcome = "changed",
                              .version_hint = "\"v2\"",
                              .etag = "\"v2\"",
                              .unexpected = true,
                              .detected_at = CHANGE_AT - 60000,
                              .received_at = CHANGE_AT - 59000,
                              .state = "leased",
                              .reason = "",
                              .result = ""};
}

static struct identity change_identity(const char *bytes, int64_t version)
{
    struct identity id = {
        .size = (int64_t)strlen(bytes), .version = version, .media_type = "application/geo+json"};
    digest_sha256(bytes, strlen(bytes), &id.sha);
    return id;
}

/* The second version, with a rule that a reviewer let pass. */
static inline struct facts change_facts(const struct source *s, const struct candidate *c)
{
    return (struct facts){.source = s,
                          .cand = c,
                          .run_id = CHANGE_RUN,
                          .tags = {"0.1.0", "0123456789ab", "1", "1"},
                          .started_at = CHANGE_AT - 500,
                          .finalized_at = CHANGE_AT,
                          .change_type = "modified",
                          .change_class = "content",
                          .from = change_identity("old bytes", 1),
                          .last = change_identity("old bytes", 1),
                          .to = change_identity("new bytes!", 2),
                          .item_id = "ks-counties-v2",
                          .prev_item_id = "ks-counties-v1",
                          .delta_id = "dlt_" CHANGE_RUN,
                          .qa = {.outcome = VERDICT_HOLD,
                                 .checks = 9,
                                 .failed = 1,
                                 .reasons = {"MISSINGNESS_EXCEEDED"},
                                 .n_reasons = 1,
                                 .media_type = "application/geo+json",
                                 .features = 105,
                                 .has_bbox = true,
                                 .bbox = {-102.05, 36.99, -94.58, 40.0},
                                 .report = STR("{\"outcome\":\"hold\"}")},
                          .reviewer = "R. Viewer",
                          .note = "two counties merged",
                          .result = "promoted",
                          .reason = ""};
}

/* The change and memory for a document of it; setup and teardown of a test, which finds
 * it in *state. */
struct change_story {
    struct arena arena;
    struct source source;
    struct candidate cand;
    struct facts facts;
};

static inline int change_setup(void **state)
{
    static struct change_story x;
    arena_init(&x.arena, 1 << 20);
    x.source = change_source(LEVEL_PUBLIC);
    x.cand = change_candidate();
    x.facts = change_facts(&x.source, &x.cand);
    *state = &x;
    return 0;
}

static inline int change_teardown(void **state)
{
    struct change_story *x = *state;
    arena_release(&x->arena);
    return 0;
}

#define CHANGE_TEST(f) cmocka_unit_test_setup_teardown(f, change_setup, change_teardown)

static inline void change_golden(const char *name, struct str got)
{
    char path[128], want[16384];
    snprintf(path, sizeof path, "tests/10-unit/golden/%s", name);
    if (getenv("FRESHET_GOLDEN")) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "%.*s\n", STR_FMT(got));
        fclose(f);
        return;
    }
    unit_read(path, want, sizeof want);
    want[strcspn(want, "\n")] = 0;
    assert_str(got, want);
}

/* The document as a client gets it, in a file; the name goes to out. */
static inline void change_served(struct str doc, char out[64])
{
    struct buf b;
    buf_init(&b, 1 << 20);
    json_put_based(&b, doc, STR("https://fresh.example.org"));
    assert_rc(buf_rc(&b), RC_OK);
    unit_temp(out);
    unit_write(out, b.data);
    buf_release(&b);
}

/* Runs a program quietly; its exit status. */
static inline int change_run(const char *const argv[])
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int failed = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed)
        return 127;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* Is python3 with jsonschema here, and the collection of published schemas? */
static inline bool change_can_validate(const char *schema)
{
    return access(schema, R_OK) == 0 &&
           change_run((const char *[]){"/usr/bin/python3", "-c", "import jsonschema", NULL}) == 0;
}

#define CHANGE_VALIDATE                                                                            \
    "import json,sys,jsonschema as j\n"                                                            \
    "s=json.load(open(sys.argv[1])); d=json.load(open(sys.argv[2]))\n"                             \
    "j.validators.validator_for(s)(s).validate(d)\n"

static inline void change_assert_valid(const char *schema, struct str doc)
{
    char file[64];
    if (!change_can_validate(schema))
        return;
    change_served(doc, file);
    int status =
        change_run((const char *[]){"/usr/bin/python3", "-c", CHANGE_VALIDATE, schema, file, NULL});
    if (status != 0)
        print_error("%s does not fit %s\n", file, schema);
    assert_int_equal(status, 0);
    unlink(file);
}

#endif

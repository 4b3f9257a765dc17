/* options: what a command line becomes. */
#include "tests/10-unit/unit.h"

#include "cli/cli.h"

#define LINE(...) ((const char *const[]){"freshet", __VA_ARGS__, NULL})

static struct cli cli;

/* True when a command shall run. Standard output and error of the test are not looked at here. */
static bool parse(const char *const *argv, int *ret_exit)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    memset(&cli, 0, sizeof cli);
    return cli_parse(&cli, argc, (char **)argv, ret_exit);
}

static void refused(const char *const *argv)
{
    int code = -1;
    assert_false(parse(argv, &code));
    assert_int_equal(code, CLI_USAGE);
}

static void taken(const char *const *argv, const char *command)
{
    int code = -1;
    assert_true(parse(argv, &code));
    assert_string_equal(cli.command->name, command);
}

static void commands_of_one_and_two_words(void **state)
{
    (void)state;
    taken(LINE("verify"), "verify");
    taken(LINE("source", "list"), "source list");
    taken(LINE("source", "--json", "list"), "source list");
    assert_true(cli.json);
    refused(LINE("source"));
    refused(LINE("source", "fly"));
    refused(LINE("fly"));
    refused(LINE(""));
}

static void the_folder(void **state)
{
    (void)state;
    taken(LINE("-C", "x", "verify"), "verify");
    assert_string_equal(cli.dir, "x");
    taken(LINE("verify", "-Cy"), "verify");
    assert_string_equal(cli.dir, "y");
    taken(LINE("verify", "--dir=z"), "verify");
    assert_string_equal(cli.dir, "z");
    refused(LINE("verify", "-C"));
    setenv("FRESHET_DIR", "from-environment", 1);
    taken(LINE("verify"), "verify");
    assert_string_equal(cli.dir, "from-environment");
    unsetenv("FRESHET_DIR");
    taken(LINE("verify"), "verify");
    assert_string_equal(cli.dir, ".");
}

static void values_of_options(void **state)
{
    int64_t n = 7;
    (void)state;
    taken(LINE("changes", "--limit", "5", "--since=now"), "changes");
    assert_string_equal(cli_opt(&cli, "limit"), "5");
    assert_string_equal(cli_opt(&cli, "since"), "now");
    assert_null(cli_opt(&cli, "source"));
    assert_false(cli_has(&cli, "follow"));
    assert_true(cli_opt_i64(&cli, "limit", 1, 10, &n));
    assert_int_equal(n, 5);
    taken(LINE("changes", "--limit", "5", "--limit", "6"), "changes");
    assert_string_equal(cli_opt(&cli, "limit"), "6");
    taken(LINE("changes", "--limit", "11"), "changes");
    assert_false(cli_opt_i64(&cli, "limit", 1, 10, &n));
    assert_int_equal(n, 5);
    taken(LINE("changes", "--source", "--json"), "changes");
    assert_string_equal(cli_opt(&cli, "source"), "--json");
    refused(LINE("changes", "--limit"));
    refused(LINE("changes", "--follow=yes"));
    refused(LINE("changes", "-x"));
    refused(LINE("changes", "--reviewer", "x"));
}

static void arguments(void **state)
{
    (void)state;
    taken(LINE("check", "source", "a"), "check");
    assert_int_equal(cli.n_args, 2);
    assert_string_equal(cli.args[1], "a");
    taken(LINE("show", "--", "--json"), "show");
    assert_string_equal(cli.args[0], "--json");
    assert_false(cli.json);
    refused(LINE("show"));
    refused(LINE("show", "a", "b"));
    refused(LINE("verify", "a"));
}

static void help_wins(void **state)
{
    const char *const *const lines[] = {
        LINE("--help"),
        LINE("source", "--help"),
        LINE("check", "--nonsense", "-h"),
        LINE("-C", "x", "check", "--help"),
        LINE("help", "check"),
        LINE("--version"),
    };
    int code;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        code = -1;
        assert_false(parse(lines[i], &code));
        assert_int_equal(code, CLI_DONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_of_one_and_two_words),
        cmocka_unit_test(the_folder),
        cmocka_unit_test(values_of_options),
        cmocka_unit_test(arguments),
        cmocka_unit_test(help_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

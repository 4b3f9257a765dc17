/* test_processes: freshet-api as parent and children: deaths, load, stops, and as a CGI program. */
#include "tests/40-service/service.h"

static int children_of(pid_t pid, pid_t *ret, int max)
{
    char path[64], text[4096];
    struct str rest, item;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    unit_read(path, text, sizeof text);
    rest = str_of(text);
    while (n < max && str_next(&rest, ' ', &item)) {
        int64_t v;
        if (str_to_i64(str_trim(item), &v) == RC_OK)
            ret[n++] = (pid_t)v;
    }
    return n;
}

/* A client that asks as fast as it can until the service is gone. Exit code 0: every request that
 * could be sent was answered, whole, with 200. */
static int hammer(bool keep)
{
    int asked = 0;
    for (;;) {
        struct client c = client_open(api_sock);
        if (c.fd < 0)
            return asked > 0 ? 0 : 2;
        for (bool again = true; again; again = keep) {
            struct answer a = client_ask(
                &c, &(struct ask){.path = "/changes", .query = "limit=50", .keep = keep});
            bool bad = a.sent && (!a.complete || a.status != 200);
            bool over = !a.sent;
            answer_free(&a);
            if (bad)
                return 1;
            if (over)
                break;
            asked++;
        }
        client_close(&c);
    }
}

/* Signals all children and waits until others have taken their place. */
static void assert_replaced_after(int sig)
{
    pid_t before[16], after[16];
    int64_t end = clock_mono() + WAIT_MS;
    assert_int_equal(children_of(api_pid, before, 16), API_PROCESSES);
    for (int i = 0; i < API_PROCESSES; i++)
        assert_int_equal(kill(before[i], sig), 0);
    for (;;) {
        int n = children_of(api_pid, after, 16);
        bool fresh = n == API_PROCESSES;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < API_PROCESSES; j++)
                fresh = fresh && after[i] != before[j];
        if (fresh)
            break;
        if (clock_mono() > end)
            fail_msg("%d children after signal %d, not all of them new", n, sig);
        pause_ms(20);
    }
    assert_int_equal(status_of(&(struct ask){.path = "/changes"}), 200);
}

static void a_killed_child_is_replaced(void **state)
{
    (void)state;
    assert_replaced_after(SIGKILL);
}

/* One that never waits must hear the signal too, and answers what it was asked before. */
static void a_busy_child_ends_when_told(void **state)
{
    pid_t clients[2 * API_PROCESSES];
    int ended;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        clients[i] = fork();
        if (clients[i] == 0)
            _exit(hammer(true));
    }
    assert_replaced_after(SIGTERM);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        kill(clients[i], SIGKILL);
        assert_int_equal(waitpid(clients[i], &ended, 0), clients[i]);
        assert_true(WIFSIGNALED(ended)); /* it had not given up: no request went unanswered */
    }
}

/* More idle kept connections than processes: with blocking workers this is a deadlock. */
static void idle_connections_keep_nobody_waiting(void **state)
{
    struct client idle[4 * API_PROCESSES];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        idle[i] = client_open(api_sock);
        struct answer a = client_ask(&idle[i], &(struct ask){.path = "/healthz", .keep = true});
        assert_int_equal(a.status, 200);
        answer_free(&a);
    }
    assert_int_equal(status_of(&(struct ask){.path = "/healthz"}), 200);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        struct answer a = client_ask(
            &idle[i], &(struct ask){.path = "/changes", .query = "limit=1", .keep = true});
        assert_int_equal(a.status, 200);
        answer_free(&a);
        client_close(&idle[i]);
    }
}

static void a_stop_under_load_answers_everything(void **state)
{
    pid_t clients[6];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        clients[i] = fork();
        if (clients[i] == 0)
            _exit(hammer(i % 2 == 0));
    }
    pause_ms(400); /* let them get going; the result does not depend on how far they come */
    int64_t begun = clock_mono();
    assert_int_equal(stop(api_pid), 0);
    assert_true(clock_mono() - begun < 9000); /* by itself, not by SIGKILL */
    int ended[ARRAY_LEN(clients)];
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        assert_int_equal(waitpid(clients[i], &ended[i], 0), clients[i]);
    start_api(); /* first, for the tests that follow a failure */
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        if (!WIFEXITED(ended[i]) || WEXITSTATUS(ended[i]) != 0)
            fail_msg("client %zu ended with %x", i, (unsigned)ended[i]);
    assert_int_equal(status_of(&(struct ask){.path = "/changes"}), 200);
}

/* While all children are stopped, requests pile up in the accept queue; then the end is
 * asked for. */
static void what_waits_to_be_accepted_is_answered(void **state)
{
    static struct wire w;
    struct client waiting[40];
    pid_t children[16];
    int status = -1;
    (void)state;
    int n = children_of(api_pid, children, 16);
    for (int i = 0; i < n; i++)
        assert_int_equal(kill(children[i], SIGSTOP), 0);
    wire_ask(&w, &(struct ask){.path = "/changes", .query = "limit=3"});
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        waiting[i] = client_open(api_sock);
        assert_true(waiting[i].fd >= 0 && wire_send(waiting[i].fd, &w));
    }
    kill(api_pid, SIGTERM);
    int64_t end = clock_mono() + WAIT_MS;
    while (access(api_sock, F_OK) == 0 && clock_mono() < end)
        pause_ms(5); /* the parent has begun: nobody new comes in */
    for (int i = 0; i < n; i++)
        kill(children[i], SIGCONT);
    int answered = 0;
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        struct answer a = {0};
        bool whole = answer_read(&a, waiting[i].fd);
        answer_take_apart(&a);
        answered += whole && a.status == 200;
        answer_free(&a);
        client_close(&waiting[i]);
    }
    assert_int_equal(waitpid(api_pid, &status, 0), api_pid);
    start_api();
    assert_int_equal(answered, ARRAY_LEN(waiting));
}

static void a_second_instance_is_refused(void **state)
{
    int status = -1;
    (void)state;
    pid_t second = start("freshet-api", "second.log");
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(status_of(&(struct ask){.path = "/healthz"}), 200);
}

static void the_socket_is_not_for_everybody(void **state)
{
    struct stat st;
    (void)state;
    assert_int_equal(stat(api_sock, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
}

static void it_is_a_cgi_program_too(void **state)
{
    char path[512];
    static char out[65536];
    int fds[2];
    size_t n = 0;
    (void)state;
    program_path("freshet-api", path);
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *env[] = {(char *)(uintptr_t) "GATEWAY_INTERFACE=CGI/1.1",
                       (char *)(uintptr_t) "REQUEST_METHOD=GET",
                       (char *)(uintptr_t) "PATH_INFO=/freshness/roads",
                       (char *)(uintptr_t) "HTTP_HOST=test.example", NULL};
        dup2(fds[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        close(fds[0]);
        close(fds[1]);
        execle(path, path, "-C", fix_dir, (char *)NULL, env);
        _exit(127);
    }
    close(fds[1]);
    for (ssize_t got; (got = read(fds[0], out + n, sizeof out - 1 - n)) > 0;)
        n += (size_t)got;
    close(fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct answer a = get("/freshness/roads", "");
    assert_int_equal(n, a.n);
    assert_memory_equal(out, a.raw, n);
    answer_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_child_is_replaced),
        cmocka_unit_test(a_busy_child_ends_when_told),
        cmocka_unit_test(idle_connections_keep_nobody_waiting),
        cmocka_unit_test(a_stop_under_load_answers_everything),
        cmocka_unit_test(what_waits_to_be_accepted_is_answered),
        cmocka_unit_test(a_second_instance_is_refused),
        cmocka_unit_test(the_socket_is_not_for_everybody),
        cmocka_unit_test(it_is_a_cgi_program_too),
    };
    return cmocka_run_group_tests(tests, make_world, drop_world);
}

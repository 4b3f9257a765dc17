/* Requests with a body as a web server sends them: the parameters, the body and the record that
 * ends it each in a write of its own, some time apart, on connections that are kept. */
#include "tests/40-service/service.h"

#define CONNECTIONS 8 /* more than there are processes: each has several */
#define APART_US 1500

static char text[1000001];
static struct wire w;

static int make_bodies(void **state)
{
    memset(text, ' ', sizeof text - 1);
    return make_world(state);
}

/* The status; 0: no whole answer came. */
static int ask_slowly(struct client *c, const struct ask *q)
{
    struct answer a = {0};
    wire_ask(&w, q);
    if (!wire_send_part(c->fd, &w, 0, w.body))
        return 0;
    usleep(APART_US);
    if (!wire_send_part(c->fd, &w, w.body, w.end))
        return 0;
    usleep(APART_US);
    a.sent = wire_send_part(c->fd, &w, w.end, w.n);
    a.complete = a.sent && answer_read(&a, c->fd);
    answer_take_apart(&a);
    int status = a.complete ? a.status : 0;
    answer_free(&a);
    return status;
}

static void open_all(struct client c[CONNECTIONS], const char *sock)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        c[i] = client_open(sock);
        assert_true(c[i].fd >= 0);
    }
}

static void close_all(struct client c[CONNECTIONS])
{
    for (int i = 0; i < CONNECTIONS; i++)
        client_close(&c[i]);
}

/* Round after round over all connections: one that was lost, or a process that waits, shows
 * at once. */
static void assert_answered(const char *sock, const char *path, int rounds, size_t least,
                            size_t most, int status)
{
    struct client c[CONNECTIONS];
    size_t step = (most - least) / (size_t)(rounds * CONNECTIONS), n = least;
    open_all(c, sock);
    for (int i = 0; i < rounds * CONNECTIONS; i++, n += step) {
        char *body = text + sizeof text - 1 - n;
        int got = ask_slowly(&c[i % CONNECTIONS], &(struct ask){.method = "POST",
                                                                .path = path,
                                                                .type = "application/json",
                                                                .body = body,
                                                                .keep = true});
        if (got != status)
            fail_msg("%s, request %d, body of %zu bytes: status %d", path, i, n, got);
    }
    close_all(c);
}

static void bodies_come_in_pieces(void **state)
{
    (void)state;
    assert_answered(intake_sock, "/hooks/nobody", 50, 9000, 60000, 404);
    assert_answered(api_sock, "/stac/search", 30, 9000, 60000, 400); /* blanks are no JSON */
}

static void so_do_those_that_are_too_large(void **state)
{
    (void)state;
    assert_answered(intake_sock, "/hooks/nobody", 5, 810000, 1000000, 413);
    assert_answered(intake_sock, "/admin/checks", 5, 140000, 1000000, 401);
}

static void and_those_without_one(void **state)
{
    struct client c[CONNECTIONS];
    (void)state;
    open_all(c, api_sock);
    for (int i = 0; i < 10 * CONNECTIONS; i++)
        assert_int_equal(
            ask_slowly(&c[i % CONNECTIONS], &(struct ask){.path = "/healthz", .keep = true}), 200);
    close_all(c);
}

/* Records of a request that is over keep nobody waiting and hurt no later one. */
static void leftovers_are_thrown_away(void **state)
{
    struct client c[CONNECTIONS];
    (void)state;
    open_all(c, api_sock);
    for (int i = 0; i < CONNECTIONS; i++) {
        struct answer a = client_ask(&c[i], &(struct ask){.path = "/healthz", .keep = true});
        assert_int_equal(a.status, 200);
        answer_free(&a);
        w.n = 0;
        wire_record(&w, 5, text, 30000);
        wire_record(&w, 5, NULL, 0);
        assert_true(wire_send(c[i].fd, &w));
    }
    int64_t begun = clock_mono();
    for (int i = 0; i < 2 * API_PROCESSES; i++)
        assert_int_equal(status_of(&(struct ask){.path = "/healthz"}), 200);
    assert_true(clock_mono() - begun < 10000); /* far from the patience with a web server */
    for (int i = 0; i < CONNECTIONS; i++) {
        struct answer a = client_ask(&c[i], &(struct ask){.path = "/healthz", .keep = true});
        assert_int_equal(a.status, 200);
        answer_free(&a);
    }
    close_all(c);
}

static void more_than_was_announced_is_refused(void **state)
{
    struct client c = client_open(api_sock);
    struct answer a = {0};
    (void)state;
    wire_ask(&w, &(struct ask){.method = "POST",
                               .path = "/stac/search",
                               .type = "application/json",
                               .body = "{}"});
    w.n = w.end;
    wire_record(&w, 5, "{}", 2);
    wire_record(&w, 5, NULL, 0);
    assert_true(wire_send(c.fd, &w) && answer_read(&a, c.fd));
    answer_take_apart(&a);
    assert_int_equal(a.status, 400);
    answer_free(&a);
    client_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_come_in_pieces),
        cmocka_unit_test(so_do_those_that_are_too_large),
        cmocka_unit_test(and_those_without_one),
        cmocka_unit_test(leftovers_are_thrown_away),
        cmocka_unit_test(more_than_was_announced_is_refused),
    };
    return cmocka_run_group_tests(tests, make_bodies, drop_world);
}

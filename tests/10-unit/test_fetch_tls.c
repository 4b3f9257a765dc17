/* fetch over TLS: whom it trusts, pins, and how few handshakes it needs. The server is a thread per
 * connection with a certificate made for the occasion. */
#include "tests/10-unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include "core/fetch_internal.h"
#include "tests/10-unit/identity.h"

/* ---- the server ----------------------------------------------------------------------------- */

static struct {
    int port, listener;
    SSL_CTX *ctx;
    pthread_t thread, each[64];
    int n;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int full, resumed, requests;
    int connections_wanted; /* all requests but the first wait for so many */
    bool closes;            /* after each reply */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void count_connection(bool again)
{
    pthread_mutex_lock(&server.lock);
    ++*(again ? &server.resumed : &server.full);
    pthread_cond_broadcast(&server.moved);
    pthread_mutex_unlock(&server.lock);
}

static void count_request(void)
{
    pthread_mutex_lock(&server.lock);
    if (server.requests++ > 0)
        while (server.full + server.resumed < server.connections_wanted)
            pthread_cond_wait(&server.moved, &server.lock);
    pthread_mutex_unlock(&server.lock);
}

static void *serve(void *arg)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    int fd = (int)(intptr_t)arg;
    char in[4096];
    SSL *ssl = SSL_new(server.ctx);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
        count_connection(SSL_session_reused(ssl) == 1);
        while (SSL_read(ssl, in, sizeof in) > 0) { /* a request fits into one record */
            count_request();
            SSL_write(ssl, reply, sizeof reply - 1);
            if (server.closes) {
                SSL_shutdown(ssl);
                break;
            }
        }
    }
    SSL_free(ssl);
    close(fd);
    return NULL;
}

static void *accept_all(void *arg)
{
    (void)arg;
    for (int fd; (fd = accept(server.listener, NULL, NULL)) >= 0;)
        if (server.n == (int)ARRAY_LEN(server.each) ||
            pthread_create(&server.each[server.n++], NULL, serve, (void *)(intptr_t)fd) != 0)
            abort();
    return NULL;
}

static void server_start(const struct identity *id)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    server.ctx = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(server.ctx, id->cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(server.ctx, id->key), 1);
    SSL_CTX_set_session_id_context(server.ctx, (const unsigned char *)"t", 1);
    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(server.listener, 64), 0);
    assert_int_equal(getsockname(server.listener, (struct sockaddr *)&at, &n), 0);
    server.port = ntohs(at.sin_port);
    server.closes = false;
    server.n = server.full = server.resumed = server.requests = server.connections_wanted = 0;
    assert_int_equal(pthread_create(&server.thread, NULL, accept_all, NULL), 0);
}

/* The client must have closed its connections before. */
static void server_stop(void)
{
    shutdown(server.listener, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    for (int i = 0; i < server.n; i++)
        pthread_join(server.each[i], NULL);
    close(server.listener);
    SSL_CTX_free(server.ctx);
}

/* ---- fixture -------------------------------------------------------------------------------- */

static struct identity local, stranger; /* the server's, and one nobody uses */
static struct conf conf;
static const char *allow[] = {"127.0.0.1", "localhost"};
static struct fetch *f;

static void engine(const char *cert_file)
{
    struct err err;
    fetch_free(&f);
    if (cert_file)
        setenv("SSL_CERT_FILE", cert_file, 1);
    else
        unsetenv("SSL_CERT_FILE");
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
}

static int setup(void **state)
{
    (void)state;
    make_identity(&local, "DNS:localhost");
    make_identity(&stranger, "DNS:localhost");
    server_start(&local);
    conf_defaults(&conf);
    conf.allow_hosts = (struct conf_list){allow, ARRAY_LEN(allow)};
    conf.fetch_retry_ms = 1;
    engine(local.path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fetch_free(&f);
    server_stop();
    free_identity(&local);
    free_identity(&stranger);
    unsetenv("SSL_CERT_FILE");
    return 0;
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    *(struct fetch_res *)ctx = *res;
}

static struct fetch_req request(struct fetch_res *res, const char *host, const char *pin)
{
    static char url[100];
    snprintf(url, sizeof url, "https://%s:%d/?SECRET", host, server.port);
    return (struct fetch_req){.method = "GET",
                              .url = url,
                              .pin_sha256 = pin,
                              .max_body = 100,
                              .timeout_ms = 5000,
                              .on_done = on_done,
                              .ctx = res};
}

static void assert_get(const char *host, const char *pin, enum fetch_end want)
{
    struct fetch_res res;
    struct err err;
    struct fetch_req req = request(&res, host, pin);
    assert_rc(fetch_one(f, &req, &err), RC_OK);
    assert_string_equal(fetch_end_name(res.end), fetch_end_name(want));
    assert_int_equal(res.http, want == FETCH_OK ? 200 : 0);
    assert_int_equal(res.attempts, 1);
    assert_null(strstr(res.detail, "SECRET"));
    if (want == FETCH_TLS)
        assert_non_null(strstr(res.detail, "certificate"));
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void trust(void **state)
{
    (void)state;
    assert_null(f->trust); /* not before it is needed */
    assert_get("localhost", NULL, FETCH_OK);
    const void *store = f->trust;
    assert_non_null(store);
    assert_get("127.0.0.1", NULL, FETCH_TLS); /* the certificate names another host */
    assert_ptr_equal(f->trust, store);
    engine(stranger.path);
    assert_get("localhost", NULL, FETCH_TLS);
    engine(NULL);
    assert_get("localhost", NULL, FETCH_TLS);
    assert_int_equal(server.requests, 1);
}

static void bad_bundles(void **state)
{
    struct err err;
    struct fetch *none = NULL;
    char empty[64];
    (void)state;
    setenv("SSL_CERT_FILE", "/nonexistent/bundle", 1);
    assert_rc(fetch_new(&conf, &none, &err), RC_IO);
    assert_null(none);
    assert_string_equal(err.field, "SSL_CERT_FILE");
    unit_temp(empty); /* nothing in it: nothing is trusted, rather than too much */
    engine(empty);
    struct fetch_res res;
    struct fetch_req req = request(&res, "localhost", NULL);
    assert_rc(fetch_one(f, &req, &err), RC_OK);
    assert_int_equal(res.end, FETCH_TLS);
    unlink(empty);
}

static void pins(void **state)
{
    char both[130];
    (void)state;
    assert_get("localhost", stranger.pin, FETCH_PIN);
    assert_get("localhost", local.pin, FETCH_OK);
    /* A connection made for one pin is not used for another. */
    assert_get("localhost", stranger.pin, FETCH_PIN);
    assert_get("localhost", NULL, FETCH_OK);
    assert_get("localhost", stranger.pin, FETCH_PIN);
    snprintf(both, sizeof both, "%s;%s", stranger.pin, local.pin);
    assert_get("localhost", both, FETCH_OK);
    assert_int_equal(server.requests, 3);
}

/* The first request to a host goes alone; the others find its connection or its session. TLS 1.2,
 * because OpenSSL uses a session of 1.3 once only: of five at a time one would be resumed. */
static void handshakes_are_shared(void **state)
{
    enum { N = 30 };
    static struct fetch_res res[N];
    struct err err;
    (void)state;
    SSL_CTX_set_max_proto_version(server.ctx, TLS1_2_VERSION);
    server.connections_wanted = 4;
    for (int i = 0; i < N; i++) {
        struct fetch_req req = request(&res[i], "localhost", NULL);
        assert_rc(fetch_start(f, &req, &err), RC_OK);
    }
    while (fetch_run(f, 1000))
        ;
    for (int i = 0; i < N; i++)
        assert_int_equal(res[i].http, 200);
    assert_int_equal(server.requests, N);
    assert_int_equal(server.full, 1);
    assert_in_range(server.resumed, 3, 5);
}

/* Many servers keep no sessions and hand out tickets instead. */
static void tickets_resume(void **state)
{
    (void)state;
    SSL_CTX_set_max_proto_version(server.ctx, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(server.ctx, SSL_SESS_CACHE_OFF);
    server.closes = true;
    for (int i = 0; i < 5; i++)
        assert_get("localhost", NULL, FETCH_OK);
    assert_int_equal(server.full, 1);
    assert_int_equal(server.resumed, 4);
    assert_get("localhost", stranger.pin, FETCH_PIN); /* a pin holds for resumed ones too */
    assert_get("localhost", local.pin, FETCH_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(trust),          TEST(bad_bundles), TEST(pins), TEST(handshakes_are_shared),
        TEST(tickets_resume),
    };
    signal(SIGPIPE, SIG_IGN); /* the server writes to clients that left */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

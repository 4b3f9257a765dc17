/* fetch over HTTP/2: a real nginx on loopback says in its ETag which protocol and which connection
 * a request came by. */
#include "tests/10-unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "core/clock.h"
#include "core/fetch_internal.h"
#include "tests/10-unit/identity.h"

static const char config[] =
    "daemon off; master_process off; pid %1$s/pid; error_log %1$s/log;\n"
    "events {}\n"
    "http {\n"
    "  access_log off; client_body_temp_path %1$s; proxy_temp_path %1$s; fastcgi_temp_path %1$s;\n"
    "  uwsgi_temp_path %1$s; scgi_temp_path %1$s;\n"
    "  server {\n"
    "    listen 127.0.0.1:%2$d ssl http2; ssl_certificate %3$s; ssl_certificate_key %1$s/key;\n"
    "    location / { add_header ETag '\"$server_protocol $connection\"'; return 200 hello; }\n"
    "  }\n"
    "}\n";

static struct identity local;
static char folder[64];
static int port;
static pid_t nginx;
static struct conf conf;
static const char *allow[] = {"localhost"};
static struct fetch *f;

static int try_port(int want, bool connecting)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)want),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    int rc =
        connecting ? connect(fd, (struct sockaddr *)&at, n) : bind(fd, (struct sockaddr *)&at, n);
    if (rc == 0 && !connecting)
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    close(fd);
    return rc == 0 ? ntohs(at.sin_port) : -1;
}

static void write_files(void)
{
    char path[100], text[2000];
    snprintf(folder, sizeof folder, "/tmp/freshet-h2-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/key", folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(PEM_write_PrivateKey(out, local.key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(out), 0);
    snprintf(path, sizeof path, "%s/conf", folder);
    snprintf(text, sizeof text, config, folder, port, local.path);
    unit_write(path, text);
}

static void start_nginx(void)
{
    char path[100], log[100];
    snprintf(path, sizeof path, "%s/conf", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    nginx = fork();
    if (nginx == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("nginx", "nginx", "-p", folder, "-c", path, "-e", log, (char *)NULL);
        _exit(127);
    }
    int64_t until = clock_mono() + 10000;
    while (try_port(port, true) < 0) {
        assert_int_equal(waitpid(nginx, NULL, WNOHANG), 0);
        assert_true(clock_mono() < until);
        usleep(2000);
    }
}

static int setup(void **state)
{
    struct err err;
    (void)state;
    make_identity(&local, "DNS:localhost");
    port = try_port(0, false);
    write_files();
    start_nginx();
    conf_defaults(&conf);
    conf.allow_hosts = (struct conf_list){allow, 1};
    conf.per_host = 20;
    setenv("SSL_CERT_FILE", local.path, 1);
    assert_rc(fetch_new(&conf, &f, &err), RC_OK);
    return 0;
}

static int teardown(void **state)
{
    static const char *const files[] = {"key", "conf", "log", "pid"};
    char path[100];
    (void)state;
    fetch_free(&f);
    kill(nginx, SIGTERM);
    waitpid(nginx, NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    free_identity(&local);
    unsetenv("SSL_CERT_FILE");
    return 0;
}

enum { N = 200 };
static struct fetch_res got[N];

static void on_done(void *ctx, const struct fetch_res *res)
{
    *(struct fetch_res *)ctx = *res;
}

/* Twenty at a time, all of them streams of one connection. */
static void requests_share_one_connection(void **state)
{
    char url[64];
    struct err err;
    (void)state;
    snprintf(url, sizeof url, "https://localhost:%d/", port);
    for (int i = 0; i < N; i++) {
        struct fetch_req req = {.method = i % 2 ? "GET" : "HEAD",
                                .url = url,
                                .max_body = 100,
                                .timeout_ms = 5000,
                                .on_done = on_done,
                                .ctx = &got[i]};
        assert_rc(fetch_start(f, &req, &err), RC_OK);
    }
    while (fetch_run(f, 1000))
        ;
    for (int i = 0; i < N; i++) {
        assert_string_equal(got[i].detail, "HTTP 200");
        assert_memory_equal(got[i].etag, "\"HTTP/2.0 ", 10);
        assert_string_equal(got[i].etag, got[0].etag);
        assert_int_equal(got[i].bytes_in, i % 2 ? 5 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_share_one_connection, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* fetch_curl: libcurl as we want it. Handles with everything set that never changes, the callbacks
 * that count and refuse, one trust store for all connections.
 *
 * Invariants
 *   1. No socket is made for an address the policy refuses, and no request goes out on a connection
 *      whose address it refuses: on_opensocket sees new ones, on_prereq also reused ones.
 *   2. No proxy, netrc, cookies, redirects or decoding by libcurl; http and https only.
 *   3. What ends a transfer from inside a callback is kept in slot->stopped and slot->end, and
 *      beats libcurl's code.
 *   4. CA certificates are parsed once per engine, not once per connection: that is 22 against 650
 *      new connections a second.
 */
#include <errno.h>
#include <openssl/ssl.h>
#include <unistd.h>
#include "core/clock.h"
#include "core/fetch_internal.h"
#include "core/version.h"

/* ---- ends ----------------------------------------------------------------------------------- */

static const struct {
    CURLcode code;
    enum fetch_end end;
} code_ends[] = {
    {CURLE_OK, FETCH_OK},
    {CURLE_COULDNT_RESOLVE_HOST, FETCH_DNS},
    {CURLE_COULDNT_CONNECT, FETCH_CONNECT},
    {CURLE_SSL_CONNECT_ERROR, FETCH_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, FETCH_TLS},
    {CURLE_SSL_CACERT_BADFILE, FETCH_TLS},
    {CURLE_SSL_CERTPROBLEM, FETCH_TLS},
    {CURLE_SSL_CIPHER, FETCH_TLS},
    {CURLE_SSL_ISSUER_ERROR, FETCH_TLS},
    {CURLE_SSL_CLIENTCERT, FETCH_TLS},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, FETCH_PIN},
    {CURLE_PARTIAL_FILE, FETCH_TRUNCATED},
    {CURLE_RECV_ERROR, FETCH_BROKEN},
    {CURLE_SEND_ERROR, FETCH_BROKEN},
    {CURLE_GOT_NOTHING, FETCH_BROKEN},
    {CURLE_HTTP2, FETCH_BROKEN},
    {CURLE_HTTP2_STREAM, FETCH_BROKEN},
    {CURLE_OUT_OF_MEMORY, FETCH_BROKEN},
};

enum fetch_end fetch_end_of(const struct fetch_slot *s, CURLcode code, int64_t now)
{
    if (s->stopped)
        return s->end;
    if (code == CURLE_COULDNT_CONNECT && s->refused)
        return FETCH_BLOCKED;
    /* libcurl has one code for three limits; its clock and ours may differ by a tick. */
    if (code == CURLE_OPERATION_TIMEDOUT)
        return s->connected && now + 20 < s->deadline ? FETCH_SLOW : FETCH_TIMEOUT;
    /* Its buffer for one header line is full, which it reports like this. */
    if (code == CURLE_OUT_OF_MEMORY && s->connected && !s->head.done)
        return FETCH_TOO_LARGE;
    if (code == CURLE_OK && !s->head.done)
        return FETCH_BROKEN;
    for (size_t i = 0; i < ARRAY_LEN(code_ends); i++)
        if (code_ends[i].code == code)
            return code_ends[i].end;
    return FETCH_PROTOCOL;
}

/* ---- callbacks of a transfer ---------------------------------------------------------------- */

static size_t stop(struct fetch_slot *s, enum fetch_end end)
{
    s->stopped = true;
    s->end = end;
    return 0;
}

static curl_socket_t on_opensocket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct fetch_slot *s = ctx;
    (void)purpose;
    if (!s->place.listed && !fetch_addr_public(&a->addr)) {
        s->refused = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    fetch_fd_opened(s->f, fd);
    return fd;
}

static int on_prereq(void *ctx, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    struct fetch_slot *s = ctx;
    (void)local_ip, (void)remote_port, (void)local_port;
    s->connected = true;
    if (s->place.listed || fetch_ip_public(remote_ip))
        return CURL_PREREQFUNC_OK;
    stop(s, FETCH_BLOCKED);
    return CURL_PREREQFUNC_ABORT;
}

/* Whether something that stays open is a stream is told by its header: its first byte may come
 * much later. */
static bool opens(const struct fetch_slot *s)
{
    bool bodiless = s->job->method == FETCH_HEAD || s->res.http == 304 || s->res.http == 204;
    return s->job->quiet_s > 0 && s->head.done && !bodiless && fetch_wants_body(s);
}

static size_t on_header(char *p, size_t size, size_t count, void *ctx)
{
    struct fetch_slot *s = ctx;
    size_t n = size * count;
    s->job->wire_in += (int64_t)n;
    s->head_bytes += n;
    if (++s->head_lines > FETCH_HEAD_LINES_MAX || s->head_bytes > FETCH_HEAD_BYTES_MAX)
        return stop(s, FETCH_TOO_LARGE);
    if (!s->place.host->warm) {
        s->place.host->warm = true;
        fetch_host_offer(s->f, s->place.host, clock_mono());
    }
    fetch_head_line(&s->head, &s->res, (struct str){p, n});
    if (opens(s) && fetch_begin_body(s) != RC_OK)
        return stop(s, FETCH_STOPPED);
    return n;
}

static size_t on_body(char *p, size_t size, size_t count, void *ctx)
{
    struct fetch_slot *s = ctx;
    struct fetch_job *j = s->job;
    size_t n = size * count;
    j->bytes_in += (int64_t)n;
    j->wire_in += (int64_t)n;
    s->body_bytes += (int64_t)n;
    /* The response itself is whole; only its unwanted body is cut off. */
    if (!fetch_wants_body(s))
        return s->body_bytes > FETCH_DISCARD_MAX ? stop(s, FETCH_OK) : n;
    if (s->body_bytes > j->max_body || s->res.content_length > j->max_body)
        return stop(s, FETCH_TOO_LARGE);
    if (fetch_begin_body(s) != RC_OK || (j->on_body && j->on_body(j->ctx, p, n) != RC_OK))
        return stop(s, FETCH_STOPPED);
    return n;
}

/* ---- TLS trust ------------------------------------------------------------------------------ */

static X509_STORE *trust_load(const char *system_bundle, const char *extra)
{
    X509_STORE *store = X509_STORE_new();
    if (!store)
        return NULL;
    /* A machine without a system bundle still trusts the extra one. */
    bool some = system_bundle && X509_STORE_load_file(store, system_bundle) == 1;
    if (extra && X509_STORE_load_file(store, extra) != 1)
        some = false;
    else if (extra)
        some = true;
    X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
    if (some)
        return store;
    X509_STORE_free(store);
    return NULL;
}

static CURLcode on_ssl_ctx(CURL *easy, void *ssl_ctx, void *ctx)
{
    struct fetch *f = ctx;
    (void)easy;
    if (!f->trust)
        f->trust = trust_load(curl_version_info(CURLVERSION_NOW)->cainfo, f->extra_ca);
    if (!f->trust)
        return CURLE_SSL_CACERT_BADFILE;
    SSL_CTX_set1_cert_store(ssl_ctx, f->trust);
    /* libcurl turns the tickets of TLS 1.2 off, and with them the way most servers resume. */
    SSL_CTX_clear_options(ssl_ctx, SSL_OP_NO_TICKET);
    return CURLE_OK;
}

/* ---- easy handles --------------------------------------------------------------------------- */

static CURLcode set_fixed(struct fetch_slot *s)
{
    CURLcode rc = CURLE_OK;
#define SET(option, value)                                                                         \
    if (rc == CURLE_OK)                                                                            \
    rc = curl_easy_setopt(s->easy, CURLOPT_##option, value)
    SET(PRIVATE, s);
    SET(NOSIGNAL, 1L);
    SET(PROTOCOLS_STR, "http,https");
    SET(PROXY, "");
    SET(NOPROXY, "*"); /* else the environment is asked for each request */
    SET(NETRC, (long)CURL_NETRC_IGNORED);
    SET(FOLLOWLOCATION, 0L);
    SET(DISALLOW_USERNAME_IN_URL, 1L);
    SET(HTTP_CONTENT_DECODING, 0L);
    SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CAINFO, NULL);
    SET(CAPATH, NULL);
    SET(SSL_CTX_FUNCTION, on_ssl_ctx);
    SET(SSL_CTX_DATA, s->f);
    SET(SHARE, s->f->share);
    SET(CONNECTTIMEOUT_MS, (long)s->f->conf->connect_timeout_ms);
    SET(LOW_SPEED_LIMIT, FETCH_LOW_SPEED_BPS);
    SET(LOW_SPEED_TIME, s->f->low_speed_s);
    SET(ERRORBUFFER, s->error);
    SET(OPENSOCKETFUNCTION, on_opensocket);
    SET(OPENSOCKETDATA, s);
    SET(PREREQFUNCTION, on_prereq);
    SET(PREREQDATA, s);
    SET(HEADERFUNCTION, on_header);
    SET(HEADERDATA, s);
    SET(WRITEFUNCTION, on_body);
    SET(WRITEDATA, s);
    return rc == CURLE_OK ? fetch_poll_handle(s->f, s->easy) : rc;
}

struct fetch_slot *fetch_slot_new(struct fetch *f)
{
    struct fetch_slot *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->f = f;
    s->easy = curl_easy_init();
    if (s->easy && set_fixed(s) == CURLE_OK)
        return s;
    fetch_slot_free(s);
    return NULL;
}

void fetch_slot_free(struct fetch_slot *s)
{
    if (s->easy)
        curl_easy_cleanup(s->easy);
    free(s);
}

/* The list is made of the slot's own nodes and the job's own strings: nothing to allocate. The
 * User-Agent is in it because libcurl writes letter by letter, and its own option twice. */
static struct curl_slist *header_list(struct fetch_slot *s)
{
    static char identity[] = "Accept-Encoding: identity", no_expect[] = "Expect:";
    struct curl_slist *node = s->nodes + 1;
    s->nodes[0] = (struct curl_slist){s->f->user_agent, node};
    *node = (struct curl_slist){identity, NULL};
    if (s->job->method == FETCH_POST) {
        node->next = node + 1;
        *++node = (struct curl_slist){no_expect, NULL};
    }
    for (size_t i = 0; i < s->job->n_lines; i++) {
        if (s->job->lines[i].secret && !s->keep_secrets)
            continue;
        node->next = node + 1;
        *++node = (struct curl_slist){s->job->lines[i].text, NULL};
    }
    return s->nodes;
}

/* A new handle is set to GET. The body of a POST belongs to its job, so it is always told. */
static CURLcode set_method(struct fetch_slot *s)
{
    enum fetch_method method = s->job->method;
    CURLcode rc = CURLE_OK;
    if (method == s->told_method && method != FETCH_POST)
        return CURLE_OK;
    if (method == FETCH_POST) {
        SET(POST, 1L);
        SET(POSTFIELDSIZE_LARGE, (curl_off_t)s->job->body.n);
        SET(POSTFIELDS, s->job->body.p);
    } else if (method == FETCH_HEAD) {
        SET(NOBODY, 1L);
    } else {
        SET(HTTPGET, 1L);
    }
    s->told_method = method;
    return rc;
}

CURLcode fetch_hop_start(struct fetch_slot *s)
{
    CURLcode rc = set_method(s);
    SET(URL, s->res.final_url);
    SET(HTTPHEADER, header_list(s));
    if (s->left_ms != s->told_ms) {
        SET(TIMEOUT_MS, (long)s->left_ms);
    }
    s->told_ms = s->left_ms;
    if (s->job->quiet_s != s->told_quiet_s) {
        SET(LOW_SPEED_LIMIT, s->job->quiet_s ? 1L : FETCH_LOW_SPEED_BPS);
        SET(LOW_SPEED_TIME, s->job->quiet_s ? s->job->quiet_s : s->f->low_speed_s);
    }
    s->told_quiet_s = s->job->quiet_s;
    if (s->job->pin || s->pinned) {
        SET(PINNEDPUBLICKEY, s->job->pin);
    }
    s->pinned = s->job->pin != NULL;
    s->error[0] = '\0';
    if (rc == CURLE_OK && curl_multi_add_handle(s->f->multi, s->easy) != CURLM_OK)
        rc = CURLE_OUT_OF_MEMORY;
    if (rc != CURLE_OK) { /* who knows what it was told: all of it again */
        s->told_method = FETCH_POST;
        s->told_ms = 0;
        s->told_quiet_s = -1;
        s->pinned = true;
    }
    return rc;
}
#undef SET

/* ---- the engine's own handles --------------------------------------------------------------- */

enum rc fetch_user_agent(const struct conf *c, char out[FETCH_AGENT_MAX], struct err *err)
{
    const char *name = c->operator_name, *contact = c->operator_contact;
    if (!str_is_clean(str_of(name)))
        return err_set(err, RC_INVALID, "operator_name", "must not hold control characters");
    if (!str_is_clean(str_of(contact)))
        return err_set(err, RC_INVALID, "operator_contact", "must not hold control characters");
    const char *open = *name || *contact ? " (" : "", *close = *open ? ")" : "";
    const char *between = *name && *contact ? "; " : "";
    snprintf(out, FETCH_AGENT_MAX, "freshet/%s%s%s%s%s%s", freshet_version, open, name, between,
             contact, close);
    return RC_OK;
}

enum rc fetch_curl_open(struct fetch *f, struct err *err)
{
    char agent[FETCH_AGENT_MAX];
    enum rc rc = fetch_user_agent(f->conf, agent, err);
    if (rc != RC_OK)
        return rc;
    snprintf(f->user_agent, sizeof f->user_agent, "User-Agent: %s", agent);
    const char *extra = env_get("SSL_CERT_FILE");
    if (extra && access(extra, R_OK) < 0)
        return err_set(err, RC_IO, "SSL_CERT_FILE", "cannot be read: %s", strerror(errno));
    if (extra && !(f->extra_ca = strdup(extra)))
        return err_set(err, RC_NOMEM, "", "out of memory");
    TRY(fetch_poll_open(f, err));
    f->share = curl_share_init();
    if (!f->share ||
        curl_share_setopt(f->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) != CURLSHE_OK)
        return err_set(err, RC_NOMEM, "", "libcurl could not be started");
    curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, (long)f->conf->max_concurrency);
    return RC_OK;
}

void fetch_curl_close(struct fetch *f)
{
    fetch_poll_close(f);
    if (f->share)
        curl_share_cleanup(f->share);
    X509_STORE_free(f->trust);
    free(f->extra_ca);
}

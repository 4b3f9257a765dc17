/* fetch_job: a request, checked and copied into one block of memory.
 *
 * Invariants
 *   1. No header line can smuggle: names are tokens, values have no control characters, and the
 *      lines that frame a message or choose an encoding are not the caller's to set.
 *   2. Authorization and Cookie are secret, marked or not.
 *   3. A job is freed with free().
 */
#include "core/fetch_internal.h"

/* Framing belongs to libcurl, Accept-Encoding to invariant 5 of fetch.h. */
static const char *const not_yours[] = {
    "Accept-Encoding", "Connection",        "Content-Length", "Expect", "Host", "TE",
    "Trailer",         "Transfer-Encoding", "Upgrade"};
static const char *const always_secret[] = {"Authorization", "Cookie", "Proxy-Authorization"};

/* The first letter decides nearly always; this runs for every header of every request. */
static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((name[0] | 32) == (list[i][0] | 32) && strcasecmp(name, list[i]) == 0)
            return true;
    return false;
}

static bool is_token_char(unsigned char c)
{
    unsigned char lower = c | 32;
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           (c && strchr("!#$%&'*+.^_`|~", c));
}

static bool is_token(const char *s)
{
    if (!*s)
        return false;
    while (*s && is_token_char((unsigned char)*s))
        s++;
    return !*s;
}

/* Values are not shown: they may be secret. */
static enum rc headers_check(const struct fetch_req *req, size_t *ret_room, struct err *err)
{
    size_t room = 0;
    if (req->n_headers > FETCH_REQ_HEADERS_MAX)
        return err_set(err, RC_INVALID, "headers", "at most %d", FETCH_REQ_HEADERS_MAX);
    for (size_t i = 0; i < req->n_headers; i++) {
        const struct fetch_header *h = &req->headers[i];
        if (!is_token(h->name) || is_one_of(h->name, not_yours, ARRAY_LEN(not_yours)))
            return err_set(err, RC_INVALID, "headers", "header %zu has a name that cannot be set",
                           i + 1);
        if (!str_is_clean(str_of(h->value)))
            return err_set(err, RC_INVALID, "headers", "%s holds control characters", h->name);
        room += strlen(h->name) + strlen(h->value) + 3;
    }
    if (room > FETCH_REQ_TEXT_MAX)
        return err_set(err, RC_INVALID, "headers", "longer than %d bytes", FETCH_REQ_TEXT_MAX);
    *ret_room = room;
    return RC_OK;
}

/* "sha256//base64", several joined by ';'. libcurl would take anything else for a file name. */
static bool pin_ok(const char *pin)
{
    struct str list = str_of(pin), one;
    while (str_next(&list, ';', &one))
        if (!str_starts(one, STR("sha256//")) || one.n != 8 + 44 || !str_is_clean(one))
            return false;
    return *pin != '\0';
}

static enum rc method_of(const char *name, enum fetch_method *ret, struct err *err)
{
    static const char *const names[] = {"GET", "HEAD", "POST"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *ret = (enum fetch_method)i;
            return RC_OK;
        }
    return err_set(err, RC_INVALID, "method", "must be GET, HEAD or POST");
}

static enum rc limits_check(const struct fetch_req *req, enum fetch_method method, struct err *err)
{
    if (!req->on_done)
        return err_set(err, RC_INVALID, "on_done", "is required");
    if (req->max_body < 0 || (req->max_body == 0 && method != FETCH_HEAD))
        return err_set(err, RC_INVALID, "max_body", "must be at least 1");
    if (req->timeout_ms < 1 || req->timeout_ms > INT32_MAX)
        return err_set(err, RC_INVALID, "timeout_ms", "must be between 1 and %d", INT32_MAX);
    if (req->quiet_s < 0 || req->quiet_s > INT32_MAX)
        return err_set(err, RC_INVALID, "quiet_s", "must be between 0 and %d", INT32_MAX);
    if (req->attempts < 0)
        return err_set(err, RC_INVALID, "attempts", "must not be negative");
    if (req->pin_sha256 && !pin_ok(req->pin_sha256))
        return err_set(err, RC_INVALID, "pin_sha256",
                       "must be sha256// and 44 characters of base64");
    /* Without TLS there is no key to compare, and libcurl would not say so. */
    if (req->pin_sha256 && strncasecmp(req->url, "https://", 8) != 0)
        return err_set(err, RC_INVALID, "pin_sha256", "needs an https URL");
    return RC_OK;
}

static char *put(char **at, const char *s, size_t n)
{
    char *here = *at;
    memcpy(here, s, n);
    here[n] = '\0';
    *at += n + 1;
    return here;
}

/* An empty value is not sent: so a validator that is not there needs no branch at the caller. */
static void put_headers(struct fetch_job *j, const struct fetch_req *req, char **at)
{
    for (size_t i = 0; i < req->n_headers; i++) {
        const struct fetch_header *h = &req->headers[i];
        if (!*h->value)
            continue;
        struct fetch_line *line = &j->lines[j->n_lines++];
        line->secret = h->secret || is_one_of(h->name, always_secret, ARRAY_LEN(always_secret));
        line->text = put(at, h->name, strlen(h->name));
        memcpy(*at - 1, ": ", 2); /* over the NUL */
        *at += 1;
        put(at, h->value, strlen(h->value));
    }
}

enum rc fetch_job_new(const struct fetch_req *req, int default_attempts, struct fetch_job **ret,
                      struct err *err)
{
    enum fetch_method method = FETCH_GET;
    size_t room = 0;
    enum rc rc = method_of(req->method, &method, err);
    if (rc == RC_OK)
        rc = limits_check(req, method, err);
    if (rc == RC_OK)
        rc = headers_check(req, &room, err);
    if (rc != RC_OK)
        return rc;
    size_t url_n = strlen(req->url), pin_n = req->pin_sha256 ? strlen(req->pin_sha256) : 0;
    room += url_n + 1 + pin_n + 1 + req->body.n + 1;
    struct fetch_job *j = malloc(sizeof *j + req->n_headers * sizeof j->lines[0] + room);
    if (!j)
        return err_set(err, RC_NOMEM, "", "out of memory");
    *j = (struct fetch_job){.method = method,
                            .max_body = req->max_body,
                            .timeout_ms = req->timeout_ms,
                            .quiet_s = (long)req->quiet_s,
                            .attempts_max = req->attempts ? req->attempts : default_attempts,
                            .on_begin = req->on_begin,
                            .on_body = req->on_body,
                            .on_done = req->on_done,
                            .ctx = req->ctx};
    char *at = (char *)(j->lines + req->n_headers);
    j->url = put(&at, req->url, url_n);
    j->pin = req->pin_sha256 ? put(&at, req->pin_sha256, pin_n) : NULL;
    j->body = (struct str){put(&at, req->body.n ? req->body.p : "", req->body.n), req->body.n};
    put_headers(j, req, &at);
    *ret = j;
    return RC_OK;
}

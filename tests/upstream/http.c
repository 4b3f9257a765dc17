/* http: see http.h. */
#include "tests/upstream/http.h"

static enum method method_of(struct str s)
{
    if (str_eq(s, STR("GET")))
        return METHOD_GET;
    if (str_eq(s, STR("HEAD")))
        return METHOD_HEAD;
    return str_eq(s, STR("POST")) ? METHOD_POST : METHOD_OTHER;
}

bool http_line(struct str *lines, struct str *ret)
{
    const char *end = lines->n ? memchr(lines->p, '\n', lines->n) : NULL;
    if (!end)
        return false;
    size_t n = (size_t)(end - lines->p);
    *ret = (struct str){lines->p, n && lines->p[n - 1] == '\r' ? n - 1 : n};
    lines->p += n + 1;
    lines->n -= n + 1;
    return true;
}

static bool parse_request_line(struct str line, struct request *q)
{
    const char *a = memchr(line.p, ' ', line.n);
    if (!a)
        return false;
    const char *rest = a + 1, *end = line.p + line.n;
    const char *b = memchr(rest, ' ', (size_t)(end - rest));
    struct str version = b ? (struct str){b + 1, (size_t)(end - b - 1)} : STR("");
    if (!b || b == rest || *rest != '/')
        return false;
    if (!str_eq(version, STR("HTTP/1.1")) && !str_eq(version, STR("HTTP/1.0")))
        return false;
    q->method_text = (struct str){line.p, (size_t)(a - line.p)};
    q->method = method_of(q->method_text);
    q->target = (struct str){rest, (size_t)(b - rest)};
    const char *mark = memchr(rest, '?', q->target.n);
    q->path = (struct str){rest, mark ? (size_t)(mark - rest) : q->target.n};
    q->query = mark ? (struct str){mark + 1, (size_t)(b - mark - 1)} : STR("");
    q->keep_alive = version.p[7] == '1';
    return true;
}

/* The few headers we act on. 0, or the status to refuse with. */
static int note_header(struct request *q, struct str name, struct str value)
{
    int64_t n;
    switch (name.n) {
    case 6:
        if (str_ieq(name, STR("Expect")))
            q->expects_continue = str_ieq(value, STR("100-continue"));
        break;
    case 10:
        if (str_ieq(name, STR("Connection")))
            q->keep_alive =
                q->keep_alive ? !str_ieq(value, STR("close")) : str_ieq(value, STR("keep-alive"));
        break;
    case 13:
        if (str_ieq(name, STR("If-None-Match")))
            q->if_none_match = value;
        break;
    case 14:
        if (!str_ieq(name, STR("Content-Length")))
            break;
        if (str_to_i64(value, &n) != RC_OK || n < 0)
            return 400;
        if (n > HTTP_BODY_MAX)
            return 413;
        q->body_n = (size_t)n;
        break;
    case 15:
        if (str_ieq(name, STR("Accept-Encoding")))
            q->accept_encoding = value;
        break;
    case 17:
        if (str_ieq(name, STR("If-Modified-Since")))
            q->if_modified_since = value;
        else if (str_ieq(name, STR("Transfer-Encoding")))
            return 411; /* nobody who tests with us sends chunks */
        break;
    default: break;
    }
    return 0;
}

static int parse_headers(struct request *q)
{
    struct str lines = q->headers, line;
    while (http_line(&lines, &line)) {
        const char *colon = memchr(line.p, ':', line.n);
        if (!colon || colon == line.p)
            return 400;
        struct str name = {line.p, (size_t)(colon - line.p)};
        struct str value = {colon + 1, line.n - name.n - 1};
        int status = note_header(q, name, str_trim(value));
        if (status)
            return status;
    }
    return 0;
}

enum parsed http_parse(struct str input, struct request *ret, int *ret_status)
{
    size_t look = input.n < HTTP_HEAD_MAX ? input.n : HTTP_HEAD_MAX;
    const char *end = look ? memmem(input.p, look, "\r\n\r\n", 4) : NULL;
    if (!end) {
        *ret_status = 431;
        return input.n >= HTTP_HEAD_MAX ? PARSED_BAD : PARSED_MORE;
    }
    struct request q = {.head_n = (size_t)(end - input.p) + 4};
    struct str lines = {input.p, q.head_n - 2}, first;
    if (!http_line(&lines, &first) || !parse_request_line(first, &q)) {
        *ret_status = 400;
        return PARSED_BAD;
    }
    q.headers = lines;
    if ((*ret_status = parse_headers(&q)))
        return PARSED_BAD;
    *ret = q;
    return PARSED_OK;
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {304, "Not Modified"},
        {404, "Not Found"},
        {202, "Accepted"},
        {201, "Created"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {416, "Range Not Satisfiable"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {451, "Unavailable For Legal Reasons"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "Unknown";
}

static bool decode(struct str s, char *out, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < s.n; i++, at++) {
        if (at + 1 >= n)
            return false;
        out[at] = s.p[i];
        if (s.p[i] != '%')
            continue;
        if (s.n - i < 3 || hex_decode((struct str){s.p + i + 1, 2}, &out[at], 1) != RC_OK)
            return false;
        i += 2;
    }
    out[at] = '\0';
    return true;
}

bool http_param(struct str query, const char *name, char *out, size_t n)
{
    struct str pair, key;
    while (str_next(&query, '&', &pair)) {
        if (str_next(&pair, '=', &key) && str_is(key, name))
            return decode(pair, out, n);
    }
    return false;
}

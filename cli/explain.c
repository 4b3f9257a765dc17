/* explain: what is told is collected as JSON while the check runs; people read it as text. */
#include "cli/explain.h"

#include "cli/source_state.h"
#include "core/clock.h"

static const char *const reasons[] = {
    [ASK_FIRST] = "nothing is known of this source yet",
    [ASK_BLIND] = "there is no validator to ask with",
    [ASK_AUDIT] = "an audit is due: the bytes are read whatever the upstream says",
    [ASK_VALIDATE] = "have the validators moved?",
    [ASK_NO_HEAD] = "HEAD was refused",
    [ASK_HEAD_SAID] = "HEAD shows other validators, or none that prove the same version",
    [ASK_HEAD_LIED] = "HEAD says the same version, but of another length",
    [ASK_ELSEWHERE] = "the 304 came from another place than the validators",
    [ASK_ABOUT] = "a document about the data",
    [ASK_TOLD] = "the document about the data has another value, so the bytes are read",
};

void explain_begin(struct explain *e, struct cli *c, yyjson_mut_doc *d, const struct source *s,
                   const struct check_state *before)
{
    *e = (struct explain){.c = c, .doc = d, .before = *before};
    e->root = yyjson_mut_obj(d);
    json_add_str(d, e->root, "source_id", s->id);
    json_add_str(d, e->root, "detector", s->detector);
    e->calendar = source_is_template(s);
    yyjson_mut_obj_add_val(d, e->root, "before", state_json(d, before));
    e->steps = yyjson_mut_obj_add_arr(d, e->root, "steps");
}

/* ---- what was sent --------------------------------------------------------------------------- */

/* Without user-info, query and fragment; that there was a query is no secret. */
static void add_url(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, const char *url)
{
    char clean[FETCH_URL_MAX + 8];
    fetch_url_clean(url, clean, FETCH_URL_MAX);
    if (strchr(url, '?'))
        strncat(clean, "?…", sizeof clean - strlen(clean) - 1);
    json_add_str(d, o, key, clean);
}

static void add_header(yyjson_mut_doc *d, yyjson_mut_val *list, const char *name, const char *value)
{
    yyjson_mut_val *h = yyjson_mut_arr_add_obj(d, list);
    json_add_str(d, h, "name", name);
    json_add_str(d, h, "value", value);
}

/* What the engine adds to every request. */
static void add_own_headers(struct explain *e, yyjson_mut_val *list, const char *url)
{
    char agent[FETCH_AGENT_MAX];
    struct err ignored;
    const char *host = strstr(url, "://");
    if (host)
        add_header(e->doc, list, "Host",
                   arena_printf(&e->c->arena, "%.*s", (int)strcspn(host + 3, "/?#"), host + 3));
    if (fetch_user_agent(&e->c->inst.conf, agent, &ignored) == RC_OK)
        add_header(e->doc, list, "User-Agent", agent);
    add_header(e->doc, list, "Accept", "*/*");
    add_header(e->doc, list, "Accept-Encoding", "identity");
}

static void take_request(struct explain *e, const struct look_step *s)
{
    yyjson_mut_doc *d = e->doc;
    size_t why = (size_t)s->ask->why;
    e->step = yyjson_mut_arr_add_obj(d, e->steps);
    json_add_str(d, e->step, "why", why < ARRAY_LEN(reasons) && reasons[why] ? reasons[why] : "");
    yyjson_mut_obj_add_bool(d, e->step, "sent", false); /* until it was */
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(d, e->step, "request");
    json_add_str(d, o, "method", s->req->method);
    add_url(d, o, "url", s->req->url);
    yyjson_mut_val *headers = yyjson_mut_obj_add_arr(d, o, "headers");
    add_own_headers(e, headers, s->req->url);
    for (size_t i = 0; i < s->req->n_headers; i++) {
        const struct fetch_header *h = &s->req->headers[i];
        add_header(d, headers, h->name, h->secret ? "(secret)" : h->value);
    }
}

/* ---- what came back -------------------------------------------------------------------------- */

static void add_answer_headers(yyjson_mut_doc *d, yyjson_mut_val *o, const struct fetch_res *res)
{
    char text[TIME_MAX];
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, o, "headers");
    if (*res->etag)
        add_header(d, list, "ETag", res->etag);
    if (*res->last_modified)
        add_header(d, list, "Last-Modified", res->last_modified);
    if (*res->content_type)
        add_header(d, list, "Content-Type", res->content_type);
    if (*res->content_encoding)
        add_header(d, list, "Content-Encoding", res->content_encoding);
    if (res->content_length >= 0) {
        snprintf(text, sizeof text, "%lld", (long long)res->content_length);
        add_header(d, list, "Content-Length", text);
    }
    if (res->retry_after_ms >= 0) {
        snprintf(text, sizeof text, "%lld s", (long long)(res->retry_after_ms / 1000));
        add_header(d, list, "Retry-After", text);
    }
}

static void take_answer(struct explain *e, const struct look_step *s)
{
    yyjson_mut_doc *d = e->doc;
    const struct fetch_res *res = s->res;
    yyjson_mut_val *o = yyjson_mut_obj_add_obj(d, e->step, "answer");
    if (res->attempts > 0)
        yyjson_mut_obj_put(e->step, yyjson_mut_str(d, "sent"), yyjson_mut_bool(d, true));
    yyjson_mut_obj_add_int(d, o, "status", res->http);
    json_add_str(d, o, "end", fetch_end_name(res->end));
    json_add_str(d, o, "detail", res->detail);
    add_answer_headers(d, o, res);
    yyjson_mut_obj_add_int(d, o, "bytes", res->bytes_in);
    yyjson_mut_obj_add_int(d, o, "elapsed_ms", res->elapsed_ms);
    yyjson_mut_obj_add_int(d, o, "attempts", res->attempts);
    yyjson_mut_obj_add_int(d, o, "redirects", res->redirects);
    if (res->redirects > 0)
        add_url(d, o, "final_url", res->final_url);
    o = yyjson_mut_obj_add_obj(d, e->step, "verdict");
    yyjson_mut_obj_add_bool(d, o, "ask_again", s->verdict->again);
    json_add_str(d, o, "outcome", s->verdict->again ? NULL : outcome_name(s->verdict->outcome));
    json_add_str(d, o, "detail", s->verdict->again ? NULL : s->verdict->detail);
}

void explain_step(void *ctx, const struct look_step *s)
{
    struct explain *e = ctx;
    if (s->req)
        take_request(e, s);
    if (s->res && e->step)
        take_answer(e, s);
}

void explain_end(struct explain *e, const struct check_result *r)
{
    yyjson_mut_doc *d = e->doc;
    json_add_str(d, e->root, "outcome", outcome_name(r->outcome));
    json_add_str(d, e->root, "rule",
                 e->calendar ? "a template: each vintage that opens becomes a source of its own"
                             : outcome_help(r->outcome));
    json_add_str(d, e->root, "detail", r->detail);
    yyjson_mut_obj_add_bool(d, e->root, "unexpected", r->unexpected);
    yyjson_mut_obj_add_bool(d, e->root, "deleted", r->deleted);
    yyjson_mut_obj_add_val(d, e->root, "after", state_json(d, &r->state));
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *text_of(yyjson_mut_val *o, const char *key)
{
    const char *s = yyjson_mut_get_str(yyjson_mut_obj_get(o, key));
    return s ? s : "";
}

static long long number_of(yyjson_mut_val *o, const char *key)
{
    return (long long)yyjson_mut_get_sint(yyjson_mut_obj_get(o, key));
}

static void print_headers(yyjson_mut_val *o, char mark)
{
    size_t i, n;
    yyjson_mut_val *h;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(o, "headers"), i, n, h)
    {
        printf("   %c %s: %s\n", mark, text_of(h, "name"), text_of(h, "value"));
    }
}

static bool is_sent(yyjson_mut_val *step)
{
    return yyjson_mut_get_bool(yyjson_mut_obj_get(step, "sent"));
}

static void print_answer(const struct cli *c, yyjson_mut_val *step)
{
    yyjson_mut_val *a = yyjson_mut_obj_get(step, "answer"),
                   *v = yyjson_mut_obj_get(step, "verdict");
    if (!a)
        return;
    if (is_sent(step)) {
        printf("   < %s, %lld bytes, %lld ms, %lld attempt%s", text_of(a, "detail"),
               number_of(a, "bytes"), number_of(a, "elapsed_ms"), number_of(a, "attempts"),
               number_of(a, "attempts") == 1 ? "" : "s");
        if (number_of(a, "redirects") > 0)
            printf(", redirected to %s", text_of(a, "final_url"));
        putchar('\n');
        print_headers(a, '<');
    }
    if (yyjson_mut_get_bool(yyjson_mut_obj_get(v, "ask_again")))
        printf("   %sso: that does not settle it, ask again%s\n", cli_on(c, CLI_BOLD), cli_off(c));
    else
        printf("   %sso: %s%s\n", cli_on(c, CLI_BOLD), text_of(v, "outcome"), cli_off(c));
}

static void print_steps(const struct explain *e)
{
    size_t i, n;
    yyjson_mut_val *step;
    if (yyjson_mut_arr_size(e->steps) == 0)
        puts(e->calendar ? "Nothing was sent: the calendar was read." : "Nothing was sent.");
    yyjson_mut_arr_foreach(e->steps, i, n, step)
    {
        yyjson_mut_val *req = yyjson_mut_obj_get(step, "request");
        printf("%s%zu. %s %s%s\n   because: %s\n", cli_on(e->c, CLI_BOLD), i + 1,
               text_of(req, "method"), text_of(req, "url"), cli_off(e->c), text_of(step, "why"));
        if (is_sent(step))
            print_headers(req, '>');
        else
            puts("   nothing was sent");
        print_answer(e->c, step);
    }
}

/* A member of the state as text, for comparing and for reading. */
static const char *shown(struct cli *c, yyjson_mut_val *v)
{
    const char *s = NULL;
    if (yyjson_mut_is_str(v))
        return yyjson_mut_get_str(v);
    if (yyjson_mut_is_bool(v))
        return yyjson_mut_get_bool(v) ? "yes" : "no";
    if (yyjson_mut_is_int(v))
        s = arena_printf(&c->arena, "%lld", (long long)yyjson_mut_get_sint(v));
    return s ? s : "-";
}

static void print_state(const struct explain *e)
{
    yyjson_mut_val *before = yyjson_mut_obj_get(e->root, "before"),
                   *after = yyjson_mut_obj_get(e->root, "after"), *key, *value;
    size_t i, n;
    puts("State, before and after:");
    yyjson_mut_obj_foreach(after, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key), *new = shown(e->c, value);
        const char *old = shown(e->c, yyjson_mut_obj_get(before, name));
        if (strcmp(old, new) != 0)
            printf("   %-14s %s -> %s\n", name, old, new);
        else if (strcmp(new, "-") != 0)
            printf("   %-14s %s\n", name, new);
    }
}

void explain_print(const struct explain *e)
{
    const struct cli *c = e->c;
    printf("%s%s%s (detector %s)\n", cli_on(c, CLI_BOLD), text_of(e->root, "source_id"), cli_off(c),
           text_of(e->root, "detector"));
    print_steps(e);
    printf("%sOutcome: %s%s (%s)\n", cli_on(c, CLI_BOLD), text_of(e->root, "outcome"), cli_off(c),
           text_of(e->root, "detail"));
    printf("   rule: %s\n", text_of(e->root, "rule"));
    if (yyjson_mut_get_bool(yyjson_mut_obj_get(e->root, "unexpected")))
        puts("   unexpected: no window of this source is open now");
    if (yyjson_mut_get_bool(yyjson_mut_obj_get(e->root, "deleted")))
        puts("   deleted: gone often and long enough to count as deletion");
    print_state(e);
}

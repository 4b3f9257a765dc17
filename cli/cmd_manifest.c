/* manifest build, diff: listings in canonical form (core/listing.h), made and compared by hand.
 *
 * Invariants
 *   1. build runs the detector's own plan and judge, so it prints what a check would have promoted;
 *      it writes nothing to the ledger, and remembers nothing.
 *   2. What is printed is the canonical form, byte for byte; a newline follows for a terminal only.
 * Called by main_freshet.c. */
#include "cli/source_put.h"
#include "core/clock.h"
#include "core/file.h"
#include "detectors/manifest.h"
#include "detectors/manifest_page.h"

/* ---- build over the network ------------------------------------------------------------------ */

struct build {
    struct cli *c;
    struct source source;
    struct check_state state; /* of a source that was never looked at */
    struct ask ask;
    struct buf text;
    void *memo;
    struct verdict verdict;
};

static enum rc on_begin(void *ctx, const struct fetch_res *res)
{
    struct build *b = ctx;
    buf_clear(&b->text);
    return res->http == 200 ? RC_OK : RC_UPSTREAM; /* error pages are not read */
}

static enum rc on_body(void *ctx, const void *p, size_t n)
{
    struct build *b = ctx;
    buf_add(&b->text, p, n);
    return buf_rc(&b->text);
}

static void on_done(void *ctx, const struct fetch_res *res)
{
    struct build *b = ctx;
    struct answer a = {
        .ask = b->ask, .res = res, .source = &b->source, .arena = &b->c->arena, .memo = &b->memo};
    if (res->end == FETCH_OK && res->http == 200)
        a.text = buf_view(&b->text);
    b->verdict = manifest_detector.judge(&b->state, &a, clock_now());
}

static enum rc put_headers(struct build *b, struct fetch_header *h)
{
    struct cli *c = b->c;
    for (size_t i = 0; i < b->source.n_headers; i++) {
        const struct source_header *from = &b->source.headers[i];
        h[i] = (struct fetch_header){from->name, from->value, false};
        if (!str_starts(str_of(from->value), STR("secret:")))
            continue;
        h[i].secret = true;
        TRY(instance_secret(&c->arena, &c->inst, from->value + strlen("secret:"), &h[i].value,
                            &c->err));
    }
    return RC_OK;
}

static enum rc ask_once(struct build *b, struct fetch *f)
{
    struct fetch_header headers[SOURCE_HEADERS_MAX];
    const struct conf *conf = &b->c->inst.conf;
    TRY(put_headers(b, headers));
    struct fetch_req req = {.method = "GET",
                            .url = b->ask.url ? b->ask.url : b->source.url,
                            .headers = headers,
                            .n_headers = b->source.n_headers,
                            .pin_sha256 = b->source.pin_sha256[0] ? b->source.pin_sha256 : NULL,
                            .max_body = b->ask.collect,
                            .timeout_ms = conf->fetch_timeout_ms,
                            .on_begin = on_begin,
                            .on_body = on_body,
                            .on_done = on_done,
                            .ctx = b};
    return fetch_one(f, &req, &b->c->err);
}

static enum rc ask_all(struct build *b, struct str *ret)
{
    struct cli *c = b->c;
    CLEANUP(fetch_free) struct fetch *f = NULL;
    TRY(fetch_new(&c->inst.conf, &f, &c->err));
    b->ask = manifest_detector.plan(&b->source, &b->state, &c->inst.conf, clock_now());
    for (int asks = 0; asks < manifest_detector.asks_max; asks++) {
        TRY(ask_once(b, f));
        if (!b->verdict.again)
            break;
        b->ask = b->verdict.next;
    }
    if (b->verdict.again || !b->verdict.content.p)
        return err_set(&c->err, RC_UPSTREAM, "", "%s: %s", outcome_name(b->verdict.outcome),
                       b->verdict.detail);
    *ret = b->verdict.content;
    return RC_OK;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* A declaration for a listing that nobody watches. */
static enum rc declare(struct cli *c, const char *url, struct source *ret)
{
    const char *options = cli_opt(c, "options");
    yyjson_mut_doc *d = json_doc(&c->arena);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    yyjson_val *given, *decl;
    yyjson_mut_doc_set_root(d, o);
    json_add_str(d, o, "id", "manifest");
    json_add_str(d, o, "url", url);
    json_add_str(d, o, "detector", "manifest");
    if (options) {
        TRY(json_parse(&c->arena, str_of(options), 0, "--options", &given, &c->err));
        yyjson_mut_obj_add_val(d, o, "manifest", yyjson_val_mut_copy(d, given));
    }
    TRY(source_decl(c, d, "--options", &decl));
    return source_parse(&c->arena, decl, ret, &c->err);
}

static enum rc build_from_file(struct cli *c, const char *path, struct str *ret)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf out = {0};
    struct source s;
    struct listing l;
    buf_init(&text, MANIFEST_PAGE_BYTES_MAX);
    buf_init(&out, LISTING_BYTES_MAX);
    TRY(declare(c, cli_opt(c, "base-url"), &s));
    TRY(file_read(path, &text, &c->err));
    listing_init(&l, &c->arena);
    struct manifest_page p = {.text = buf_view(&text),
                              .content_type = "",
                              .url = s.url,
                              .final_url = s.url,
                              .options = &s.manifest,
                              .scratch = &c->arena,
                              .to = &l};
    TRY(manifest_page_read(&p, &c->err));
    if (p.next[0] != '\0')
        return err_set(&c->err, RC_INVALID, "", "the page has a next one: build from its URL");
    TRY(listing_close(&l, &c->err));
    TRY(listing_write(&l, &out, &c->err));
    *ret = (struct str){arena_str(&c->arena, buf_view(&out)), out.len};
    return ret->p ? RC_OK : err_set(&c->err, RC_NOMEM, "", "no memory for the listing");
}

static enum rc build_from_network(struct cli *c, bool is_url, struct str *ret)
{
    struct build b = {.c = c, .state = {.seen_size = -1, .gone_since = -1}};
    TRY(is_url ? declare(c, c->args[0], &b.source) : source_find(c, c->args[0], &b.source));
    buf_init(&b.text, MANIFEST_PAGE_BYTES_MAX);
    enum rc rc = ask_all(&b, ret);
    buf_release(&b.text);
    return rc;
}

static int print_content(struct cli *c, struct str content)
{
    const char *path = cli_opt(c, "output");
    if (path && file_replace(path, content, 0644, &c->err) != RC_OK)
        return cli_fail(c);
    if (path)
        return CLI_DONE;
    fwrite(content.p, 1, content.n, stdout);
    cli_hint(c, "\n");
    return CLI_DONE;
}

int cmd_manifest_build(struct cli *c)
{
    const char *what = c->args[0];
    struct str content;
    enum rc rc;
    bool is_url = strstr(what, "://") != NULL;
    /* Ids have neither dots nor slashes. */
    bool is_file = !is_url && (cli_has(c, "base-url") || strpbrk(what, "./"));
    if (is_file && !cli_has(c, "base-url"))
        return cli_usage(c, "a file needs --base-url URL, which its links are relative to");
    if (!is_file && cli_has(c, "base-url"))
        return cli_usage(c, "--base-url is for files only");
    if (!is_file && !is_url && cli_has(c, "options"))
        return cli_usage(c, "--options is for files and URLs: a source has its own");
    if (is_file)
        rc = build_from_file(c, what, &content);
    else if (is_url ? !cli_instance(c) : !cli_ledger(c))
        return CLI_FAILED;
    else
        rc = build_from_network(c, is_url, &content);
    return rc == RC_OK ? print_content(c, content) : cli_fail(c);
}

/* ---- diff ------------------------------------------------------------------------------------ */

struct diff {
    struct cli *c;
    yyjson_mut_doc *doc; /* NULL: lines are printed */
    yyjson_mut_val *rows;
    int64_t counts[3];
};

/* What an entry does not say is absent here as well. */
static void add_told(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, const char *text)
{
    if (text)
        json_add_str(d, o, key, text);
}

static yyjson_mut_val *entry_json(yyjson_mut_doc *d, const struct listing_entry *e)
{
    if (!e)
        return yyjson_mut_null(d);
    yyjson_mut_val *o = yyjson_mut_obj(d);
    add_told(d, o, "url", e->url);
    add_told(d, o, "version", e->version);
    add_told(d, o, "etag", e->etag);
    add_told(d, o, "last_modified", e->last_modified);
    add_told(d, o, "sha256", e->sha256);
    if (e->size >= 0)
        yyjson_mut_obj_add_int(d, o, "size", e->size);
    return o;
}

/* "  size 3 -> 4" for what differs. */
static void print_move(const char *name, const char *old, const char *now)
{
    const char *from = old ? old : "-", *to = now ? now : "-";
    if (strcmp(from, to) != 0)
        printf("  %s %s -> %s", name, from, to);
}

static void print_size(int64_t old, int64_t now)
{
    char from[24], to[24];
    snprintf(from, sizeof from, "%lld", (long long)old);
    snprintf(to, sizeof to, "%lld", (long long)now);
    print_move("size", old < 0 ? NULL : from, now < 0 ? NULL : to);
}

static void print_row(const struct diff *d, enum listing_change change,
                      const struct listing_entry *old, const struct listing_entry *now)
{
    static const char signs[] = "+~-";
    static const enum cli_style styles[] = {CLI_GOOD, CLI_WARN, CLI_BAD};
    printf("%s%c%s %s", cli_on(d->c, styles[change]), signs[change], cli_off(d->c),
           now ? now->key : old->key);
    if (old && now) {
        print_move("sha256", old->sha256, now->sha256);
        print_move("version", old->version, now->version);
        print_move("etag", old->etag, now->etag);
        print_size(old->size, now->size);
        print_move("last_modified", old->last_modified, now->last_modified);
        print_move("url", old->url, now->url);
    }
    printf("\n");
}

static enum rc take_change(void *ctx, enum listing_change change, const struct listing_entry *old,
                           const struct listing_entry *now, struct err *err)
{
    struct diff *d = ctx;
    (void)err;
    d->counts[change]++;
    if (!d->doc) {
        print_row(d, change, old, now);
        return RC_OK;
    }
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(d->doc, d->rows);
    json_add_str(d->doc, o, "change", listing_change_name(change));
    json_add_str(d->doc, o, "key", now ? now->key : old->key);
    yyjson_mut_obj_add_val(d->doc, o, "old", entry_json(d->doc, old));
    yyjson_mut_obj_add_val(d->doc, o, "new", entry_json(d->doc, now));
    return RC_OK;
}

static enum rc read_listing(struct cli *c, const char *path, struct listing *ret)
{
    CLEANUP(buf_release) struct buf text = {0};
    buf_init(&text, LISTING_BYTES_MAX);
    TRY(file_read(path, &text, &c->err));
    enum rc rc = listing_read(&c->arena, buf_view(&text), ret, &c->err);
    if (rc == RC_OK)
        return rc;
    struct err why = c->err;
    return err_set(&c->err, rc, why.field, "%.200s: %.250s", path, why.msg);
}

static int print_diff_json(const struct diff *d, size_t entries)
{
    yyjson_mut_val *root = yyjson_mut_obj(d->doc);
    yyjson_mut_doc_set_root(d->doc, root);
    for (int i = LISTING_ADDED; i <= LISTING_REMOVED; i++)
        yyjson_mut_obj_add_int(d->doc, root, listing_change_name((enum listing_change)i),
                               d->counts[i]);
    yyjson_mut_obj_add_int(d->doc, root, "entries", (int64_t)entries);
    yyjson_mut_obj_add_val(d->doc, root, "changes", d->rows);
    return cli_print_json(d->c, d->doc);
}

int cmd_manifest_diff(struct cli *c)
{
    struct diff d = {.c = c, .doc = c->json ? json_doc(&c->arena) : NULL};
    struct listing old, now;
    int code = CLI_DONE;
    if (d.doc)
        d.rows = yyjson_mut_arr(d.doc);
    if (read_listing(c, c->args[0], &old) != RC_OK || read_listing(c, c->args[1], &now) != RC_OK ||
        listing_diff(&old, &now, take_change, &d, &c->err) != RC_OK)
        return cli_fail(c);
    int64_t changes = d.counts[0] + d.counts[1] + d.counts[2];
    if (c->json)
        code = print_diff_json(&d, now.n);
    else
        cli_hint(c, "+%lld ~%lld -%lld of %zu entries\n", (long long)d.counts[LISTING_ADDED],
                 (long long)d.counts[LISTING_MODIFIED], (long long)d.counts[LISTING_REMOVED],
                 now.n);
    return code == CLI_DONE && changes > 0 && cli_has(c, "exit-code") ? CLI_CHANGED : code;
}

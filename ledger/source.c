/* source: storing and finding declarations. */
#include "ledger/source.h"

#include "core/clock.h"
#include "core/json.h"
#include "ledger/query.h"

#define PAGE 256 /* sources read at once by source_each: bounds memory, not the fleet */
#define PAGE_ARENA (64u << 20) /* a page with long declarations ends earlier */

const char *source_log_name(const struct source *s, char out[SOURCE_LOG_NAME_MAX])
{
    if (s->level >= LEVEL_RESTRICTED)
        snprintf(out, SOURCE_LOG_NAME_MAX, "#%lld", (long long)s->no);
    else
        snprintf(out, SOURCE_LOG_NAME_MAX, "%s", s->id);
    return out;
}

bool source_is_unreadable(enum rc rc)
{
    return rc == RC_INVALID || rc == RC_TOO_LARGE || rc == RC_CONFLICT;
}

bool source_is_unlisted(const struct source *s)
{
    return s->parent_no && s->unlisted_at > 0;
}

/* An entry that could not be fetched is due although it is looked at by hand only, and stays so. */
static bool waits_for_listing(const struct source *old, const struct source *s)
{
    return source_is_entry(old) && old->retired_at < 0 && source_first_due(old, 0) < 0 &&
           source_first_due(s, 0) < 0;
}

static enum rc record_author(struct ledger *l, const struct source *s, int64_t no, int64_t now,
                             struct err *err)
{
    if (!s->by)
        return RC_OK;
    TRY(query_run(l, Q_SOURCE_DECLARED_BY, err, "it", no, s->by));
    return query_run(l, Q_SOURCE_AUTHOR_PUT, err, "iti", no, s->by, now);
}

/* The declaration; with its author, where there is one. */
static enum rc record_spec(struct ledger *l, const char *kind, const struct source *s, int64_t no,
                           int64_t now, struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    if (!s->by)
        return replay_append(l, now, kind, no, s->id, s->spec, err);
    buf_init(&body, JSON_MAX);
    buf_puts(&body, "{\"by\":");
    json_put_str(&body, str_of(s->by));
    buf_puts(&body, ",\"spec\":");
    buf_str(&body, s->spec);
    buf_byte(&body, '}');
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of a source");
    return replay_append(l, now, kind, no, s->id, buf_view(&body), err);
}

/* A child's row also tells whose it is. */
static enum rc record_added(struct ledger *l, const struct source *s, int64_t no, int64_t now,
                            struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    buf_init(&body, JSON_MAX);
    if (!s->parent_no)
        return record_spec(l, "source.add", s, no, now, err);
    buf_puts(&body, "{\"entry\":");
    json_put_str(&body, str_of(s->entry));
    buf_printf(&body,
               ",\"listed\":%s,\"parent\":%lld,\"spec\":", source_is_entry(s) ? "true" : "false",
               (long long)s->parent_no);
    buf_str(&body, s->spec);
    buf_byte(&body, '}');
    if (buf_rc(&body) != RC_OK)
        return err_set(err, RC_NOMEM, "", "no memory for the row of a source");
    return replay_append(l, now, "source.child", no, s->id, buf_view(&body), err);
}

enum rc source_add(struct ledger *l, struct source *s, int64_t now, struct err *err)
{
    int64_t no;
    TRY(ledger_need_tx(l, err));
    enum rc rc =
        query_run(l, Q_SOURCE_ADD, err, "stttttimtm", s->spec, s->id, s->url, s->detector,
                  s->collection, level_name(s->level), now, s->parent_no ? s->parent_no : -1,
                  s->parent_no ? s->entry : NULL, source_is_entry(s) ? s->unlisted_at : -1);
    if (rc == RC_CONFLICT)
        return err_set(err, RC_CONFLICT, "id",
                       "\"%s\" is taken: change it with `freshet source set`, or choose another id",
                       s->id);
    TRY(rc);
    no = query_last_no(l);
    TRY(query_run(l, Q_SOURCE_STATE_ADD, err, "im", no, source_first_due(s, now)));
    TRY(record_added(l, s, no, now, err));
    TRY(record_author(l, s, no, now, err));
    s->no = no;
    s->created_at = s->updated_at = now;
    return RC_OK;
}

enum rc source_put(struct ledger *l, struct source *s, int64_t now, struct err *err)
{
    struct arena a;
    struct source old;
    arena_init(&a, PAGE_ARENA);
    enum rc rc = source_by_no(l, &a, s->no, &old, err);
    if (rc == RC_OK)
        rc = query_run(l, Q_SOURCE_PUT, err, "istttti", s->no, s->spec, s->url, s->detector,
                       s->collection, level_name(s->level), now);
    /* Validators belong to the URL that gave them; a moved source is looked at afresh. */
    if (rc == RC_OK && strcmp(old.url, s->url) != 0)
        rc = query_run(l, Q_SOURCE_FORGET_URL, err, "i", s->no);
    if (rc == RC_OK && waits_for_listing(&old, s))
        rc = query_run(l, Q_SOURCE_DUE_KEEP, err, "i", s->no);
    else if (rc == RC_OK)
        rc = query_run(l, Q_SOURCE_DUE_SET, err, "im", s->no,
                       old.retired_at >= 0 || source_is_unlisted(&old) ? (int64_t)-1
                                                                       : source_first_due(s, now));
    if (rc == RC_OK)
        rc = record_spec(l, "source.put", s, s->no, now, err);
    if (rc == RC_OK)
        rc = record_author(l, s, s->no, now, err);
    /* What was asked for was to lower the level that it had. */
    if (rc == RC_OK && old.level != s->level)
        rc = query_run(l, Q_LEVEL_SUPERSEDE, err, "ii", s->no, now);
    arena_release(&a);
    return rc;
}

enum rc source_unmoved(struct ledger *l, const struct source *s, struct err *err)
{
    int64_t one;
    enum rc rc = query_i64(l, Q_SOURCE_UNMOVED, &one, err, "iitmm", s->no, s->updated_at,
                           level_name(s->level), s->retired_at, s->unlisted_at);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_CONFLICT, "", "the declaration moved while the change was prepared");
    return rc;
}

enum rc source_retire(struct ledger *l, int64_t src_no, int64_t now, struct err *err)
{
    TRY(query_run(l, Q_SOURCE_RETIRE, err, "ii", src_no, now));
    TRY(query_run(l, Q_SOURCE_DUE_SET, err, "im", src_no, (int64_t)-1));
    return replay_append(l, now, "source.retire", src_no, "", STR("{}"), err);
}

enum rc source_resume(struct ledger *l, struct source *s, int64_t now, struct err *err)
{
    TRY(query_run(l, Q_SOURCE_RESUME, err, "i", s->no));
    TRY(query_run(l, Q_SOURCE_DUE_SET, err, "im", s->no,
                  source_is_unlisted(s) ? (int64_t)-1 : source_first_due(s, now)));
    TRY(replay_append(l, now, "source.resume", s->no, "", STR("{}"), err));
    s->retired_at = -1;
    return RC_OK;
}

enum rc source_set_listed(struct ledger *l, struct source *s, bool listed, int64_t now,
                          struct err *err)
{
    TRY(ledger_need_tx(l, err));
    s->unlisted_at = listed ? 0 : now;
    TRY(query_run(l, Q_SOURCE_UNLISTED_SET, err, "ii", s->no, s->unlisted_at));
    TRY(query_run(l, Q_SOURCE_DUE_SET, err, "im", s->no, listed ? source_first_due(s, now) : -1));
    return replay_append(l, now, listed ? "source.listed" : "source.unlisted", s->no, "", STR("{}"),
                         err);
}

/* Where the arena refused it, no try will do better. */
static enum rc too_long(const struct arena *a, enum rc rc, struct err *err)
{
    if (rc != RC_NOMEM || !a->full)
        return rc;
    return err_set(err, RC_TOO_LARGE, "", "it is too long: declare it anew, in at most %d bytes",
                   SOURCE_SPEC_MAX);
}

/* A row of SOURCE_* is parsed again: the spec is the truth. */
enum rc source_from_row(struct arena *a, const struct query *q, struct source *ret, struct err *err)
{
    struct source s;
    struct str spec = col_str(a, q, 1);
    if (!spec.p)
        return too_long(a, err_set(err, RC_NOMEM, "", "no memory for a source"), err);
    enum rc rc = source_reread(a, spec, &s, err);
    if (rc != RC_OK)
        return too_long(a, rc, err);
    s.no = col_i64(q, 0);
    s.created_at = col_i64(q, 2);
    s.updated_at = col_i64(q, 3);
    s.retired_at = col_time(q, 4);
    s.parent_no = col_i64(q, 5);
    s.entry = s.parent_no ? col_text(a, q, 6) : "";
    s.unlisted_at = col_time(q, 7);
    if (!s.entry)
        return err_set(err, RC_NOMEM, "", "no memory for a source");
    *ret = s;
    return RC_OK;
}

static enum rc read_one(struct ledger *l, struct arena *a, struct query *q, struct source *ret,
                        struct err *err)
{
    enum rc rc = query_next(l, q, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, RC_NOT_FOUND, "source", "no such source");
    TRY(rc);
    return source_from_row(a, q, ret, err);
}

enum rc source_by_id(struct ledger *l, struct arena *a, const char *id, struct source *ret,
                     struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_SOURCE_BY_ID, &q, err, "t", id));
    return read_one(l, a, &q, ret, err);
}

enum rc source_by_no(struct ledger *l, struct arena *a, int64_t no, struct source *ret,
                     struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_SOURCE_BY_NO, &q, err, "i", no));
    return read_one(l, a, &q, ret, err);
}

enum rc source_child(struct ledger *l, struct arena *a, int64_t parent_no, const char *entry,
                     struct source *ret, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    TRY(query_open(l, Q_SOURCE_CHILD, &q, err, "it", parent_no, entry));
    return read_one(l, a, &q, ret, err);
}

/* ---- walking --------------------------------------------------------------------------------- */

/* Where a walk is: after a number, or after an entry of a parent. */
struct walk {
    int64_t after_no;
    int64_t parent_no; /* 0: all sources */
    char after_entry[SOURCE_ENTRY_MAX + 1];
};

/* Reads one page into the arena; the query is closed before any source is handed out. */
static enum rc read_page(struct ledger *l, struct arena *a, const struct walk *w,
                         struct source *page, size_t *ret_n, bool *ret_more, struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    size_t n = 0;
    enum rc rc = RC_OK;
    if (w->parent_no)
        TRY(query_open(l, Q_SOURCE_CHILDREN, &q, err, "iti", w->parent_no, w->after_entry,
                       (int64_t)PAGE));
    else
        TRY(query_open(l, Q_SOURCE_PAGE, &q, err, "ii", w->after_no, (int64_t)PAGE));
    while (n < PAGE && a->used <= PAGE_ARENA - SOURCE_MEMORY_MAX &&
           (rc = query_next(l, &q, err)) == RC_OK)
        TRY(source_from_row(a, &q, &page[n++], err));
    *ret_n = n;
    *ret_more = rc == RC_OK;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc each_page(struct ledger *l, struct arena *a, struct walk *w, source_fn *fn,
                         void *ctx, struct err *err)
{
    for (;;) {
        size_t n = 0;
        bool more;
        arena_reset(a);
        struct source *page = arena_alloc(a, PAGE * sizeof *page);
        if (!page)
            return err_set(err, RC_NOMEM, "", "no memory for a page of sources");
        TRY(read_page(l, a, w, page, &n, &more, err));
        for (size_t i = 0; i < n; i++)
            TRY(fn(ctx, &page[i], err));
        if (!more)
            return RC_OK;
        w->after_no = page[n - 1].no;
        snprintf(w->after_entry, sizeof w->after_entry, "%s", page[n - 1].entry);
    }
}

static enum rc walk(struct ledger *l, struct walk *w, source_fn *fn, void *ctx, struct err *err)
{
    struct arena a;
    arena_init(&a, PAGE_ARENA);
    enum rc rc = each_page(l, &a, w, fn, ctx, err);
    arena_release(&a);
    return rc;
}

enum rc source_each(struct ledger *l, int64_t after_no, source_fn *fn, void *ctx, struct err *err)
{
    return walk(l, &(struct walk){.after_no = after_no}, fn, ctx, err);
}

enum rc source_each_child(struct ledger *l, int64_t parent_no, source_fn *fn, void *ctx,
                          struct err *err)
{
    return walk(l, &(struct walk){.parent_no = parent_no}, fn, ctx, err);
}

enum rc source_each_by_url(struct ledger *l, const char *url, source_fn *fn, void *ctx,
                           struct err *err)
{
    CLEANUP(query_close) struct query q = {0};
    CLEANUP(arena_release) struct arena a = {0};
    struct source s;
    enum rc rc = RC_OK;
    int64_t n = 0;
    arena_init(&a, PAGE_ARENA);
    TRY(query_open(l, Q_SOURCE_BY_URL, &q, err, "t", url));
    for (; (rc = query_next(l, &q, err)) == RC_OK; n++) {
        arena_reset(&a);
        TRY(source_from_row(&a, &q, &s, err));
        TRY(fn(ctx, &s, err));
    }
    return rc == RC_NOT_FOUND && n > 0 ? RC_OK
           : rc == RC_NOT_FOUND        ? err_set(err, rc, "source", "no such source")
                                       : rc;
}

/* source: the declaration of one upstream (docs/SOURCES.md), parsed, checked and stored.
 *
 * The JSON declaration is the truth; struct source is its checked reading. Adding a field is one
 * row in source_fields.def.
 *
 * Invariants
 *   1. source_parse accepts only known fields with valid values and fills all defaults; its error
 *      names the field and the fix.
 *   2. spec is canonical JSON (RFC 8785) with the defaults written out.
 *   3. No secret value is in a spec: header values are literal and harmless, or `secret:name`.
 */
#ifndef FRESHET_LEDGER_SOURCE_H
#define FRESHET_LEDGER_SOURCE_H

#include "core/conf.h"
#include "core/json.h"
#include "ledger/ledger.h"

enum level { LEVEL_PUBLIC, LEVEL_GENERALIZED, LEVEL_RESTRICTED, LEVEL_SOVEREIGN, LEVEL_COUNT };
const char *level_name(enum level l);
MUST_CHECK enum rc level_parse(const char *s, enum level *ret);

enum trigger_type {
    TRIGGER_ANNUAL,
    TRIGGER_REDISTRICTING,
    TRIGGER_CENSUS,
    TRIGGER_INTERVAL,
    TRIGGER_MANUAL
};
MUST_CHECK enum rc trigger_parse(const char *s, enum trigger_type *ret);
#define SOURCE_ID_MAX 64     /* bytes */
#define SOURCE_TITLE_MAX 200 /* bytes */
#define SOURCE_TRIGGERS_MAX 8
#define SOURCE_YEARS_MAX 16
#define SOURCE_HEADERS_MAX 16
#define SOURCE_ENTRY_MAX 1024 /* a key of S3, the longest there are */
/* Bytes of a spec. The longest honest part are keys and certificates of an adapter, a few KiB each,
 * and those may be files in secrets/ as well. */
#define SOURCE_SPEC_MAX 65536
/* Reads one: its text, and the text parsed, which takes up to 23 times as much where every second
 * byte begins a value. The other: reads one, makes another of it or two, and what becomes public of
 * them. test_source takes the longest through both. */
#define SOURCE_MEMORY_MAX (32u * SOURCE_SPEC_MAX)
#define SOURCE_CHANGE_MEMORY_MAX (8 * SOURCE_MEMORY_MAX)

struct trigger {
    enum trigger_type type;
    int month, through;          /* annual: 1..12, through = month when absent */
    int years[SOURCE_YEARS_MAX]; /* redistricting; census: years[0] */
    int n_years;
    int64_t seconds; /* interval */
};

struct source_header {
    const char *name, *value; /* value may be "secret:name" */
};
/* The name of the secret that is its value, or NULL when the value is literal. */
const char *source_header_secret(const struct source_header *h);
/* The first parameter of the address that credentials go by (secret_names.def), in ret;
 * false: none. */
#define SOURCE_PARAM_MAX 64
bool source_url_secret(const char *url, char ret[SOURCE_PARAM_MAX]);

/* manifest{}: how a listing is read; "" when absent. */
struct source_manifest {
#define X(name, kind, help) const char *name;
#include "ledger/manifest_fields.def"
#undef X
};

#define SOURCE_REQUIRED_MAX 64 /* fields: more are a mistake */
#define SOURCE_PRECISION_M 0.01

struct source {
    int64_t no; /* src_no, 0 before it is stored */
    /* A source that another one names: an entry of its listing, or a vintage of its {year}. Set by
     * whoever adds it, not part of the declaration. parent_no 0: none, entry "". */
    int64_t parent_no;
    const char *entry;
    const char *by; /* who declares it with the next source_add or source_put; NULL: not known */
    int64_t unlisted_at; /* of an entry: since when its listing does not name it, 0 while it does */
    const char *id, *title, *url, *detector, *collection, *boundary_type, *license, *media_type,
        *feature_key, *legal_date_field, *pin_sha256, *adapter; /* "" when absent */
    const char *probe_url,
        *probe_pointer; /* probe{url,pointer}; url: the source's own when absent */
    const char *probe_expect,
        *probe_equals;   /* probe.expect{pointer,equals}: what must stand there */
    const char *sse_url; /* sse{url,event,expect{}}: the stream; the source's own when absent */
    const char *sse_event, *sse_expect, *sse_equals; /* which of its events count; "": all */
    struct source_manifest manifest;
    enum level level;
    struct trigger triggers[SOURCE_TRIGGERS_MAX];
    size_t n_triggers;
    struct source_header headers[SOURCE_HEADERS_MAX];
    size_t n_headers;
    double region_bbox[4];
    bool has_region;
    double grid_deg;                                        /* generalized: default 0.1 */
    int64_t max_bytes;                                      /* limits.max_bytes, 0: the setting */
    double count_drift_pct, area_drift_pct, size_drift_pct; /* limits, < 0: none */
    double missing_pct; /* limits: features that may lack a required field; default 0 */
    const char *required_fields[SOURCE_REQUIRED_MAX];
    size_t n_required;
    double precision_m; /* coordinates closer than this are the same; default 0.01 */
    int64_t min_features;
    int64_t poll_interval_s; /* 0: from triggers or the setting */
    int64_t max_interval_s, sweep_days, gone_after;
    int64_t freshness_days;                     /* -1: the setting */
    int64_t created_at, updated_at, retired_at; /* retired_at -1: active */
    struct str spec;                            /* canonical JSON of it all; SOURCE_SPEC_MAX */
    yyjson_val *declared_triggers;              /* as written, in the arena; NULL: none */
    yyjson_val *adapter_options, *secrets;      /* likewise: an object, and a list of texts */
};

/* Reads a declaration. Strings live in the arena. */
MUST_CHECK enum rc source_parse(struct arena *a, yyjson_val *decl, struct source *ret,
                                struct err *err);
/* The same for a declaration made from a stored one: what source_parse refuses only today
 * (source_check.h) was taken then, and its children must not fail for it. */
MUST_CHECK enum rc source_derive(struct arena *a, yyjson_val *decl, struct source *ret,
                                 struct err *err);
/* Reads a spec that source_parse wrote, from the ledger: what is canonical is not made so again.
 * spec must live as long as the source. */
MUST_CHECK enum rc source_reread(struct arena *a, struct str spec, struct source *ret,
                                 struct err *err);

/* Reads only the triggers of a declaration, or of a public description, into a zeroed source. */
MUST_CHECK enum rc source_read_triggers(yyjson_val *decl, struct source *ret, struct err *err);

/* Writes (inside a transaction). add: RC_CONFLICT when the id exists. put: changes an existing one
 * in place, its number and state stay; with another level, a request from before to lower it is
 * over. Both make/keep source_state, the authors and a replay row. They do not touch public rows:
 * the caller projects (handler/project.h). */
MUST_CHECK enum rc source_add(struct ledger *l, struct source *s, int64_t now, struct err *err);
MUST_CHECK enum rc source_put(struct ledger *l, struct source *s, int64_t now, struct err *err);
/* Is its row still as s was read? Else RC_CONFLICT: what was made of s is out of date. Inside
 * a transaction. */
MUST_CHECK enum rc source_unmoved(struct ledger *l, const struct source *s, struct err *err);
/* When a source added now is looked at first; -1: only by hand, so never by itself. */
int64_t source_first_due(const struct source *s, int64_t now);
MUST_CHECK enum rc source_retire(struct ledger *l, int64_t src_no, int64_t now, struct err *err);
/* The way back: due at once, unless it is looked at by hand only. Its children stay as they are:
 * who was retired with it and who by hand is not recorded. */
MUST_CHECK enum rc source_resume(struct ledger *l, struct source *s, int64_t now, struct err *err);

/* Is it the source's own fault, its stored declaration, that it could not be read? */
bool source_is_unreadable(enum rc rc);
/* Reads (INBOX and WRITE roles). RC_NOT_FOUND for unknown ones. RC_TOO_LARGE for one that the arena
 * has no room for: an older program stored it. */
MUST_CHECK enum rc source_by_id(struct ledger *l, struct arena *a, const char *id,
                                struct source *ret, struct err *err);
MUST_CHECK enum rc source_by_no(struct ledger *l, struct arena *a, int64_t no, struct source *ret,
                                struct err *err);
/* All with this address, those that are watched first; fn only collects, as the read is open.
 * RC_NOT_FOUND: there is none. */
typedef enum rc source_fn(void *ctx, const struct source *s, struct err *err);
MUST_CHECK enum rc source_each_by_url(struct ledger *l, const char *url, source_fn *fn, void *ctx,
                                      struct err *err);
/* Calls fn for every source in number order after `after_no`; fn returns RC_OK to go on. The
 * source and its strings are valid during the call only. Several statements may run inside. */
MUST_CHECK enum rc source_each(struct ledger *l, int64_t after_no, source_fn *fn, void *ctx,
                               struct err *err);

/* The source that parent names `entry`. RC_NOT_FOUND. */
MUST_CHECK enum rc source_child(struct ledger *l, struct arena *a, int64_t parent_no,
                                const char *entry, struct source *ret, struct err *err);
/* Like source_each, for the sources under one parent in the order of their entries. */
MUST_CHECK enum rc source_each_child(struct ledger *l, int64_t parent_no, source_fn *fn, void *ctx,
                                     struct err *err);

/* A URL with {year} is a template: never fetched itself, it has a source per vintage under it. */
#define SOURCE_YEAR "{year}"
bool source_is_template(const struct source *s);
/* What its detector does: its bytes are a listing that was made of the upstream's pages, and the
 * entries are sources under it (manifest); others tell of changes (webhook, event); a stream is
 * kept open to its upstream (sse). */
bool source_is_listing(const struct source *s);
bool source_takes_push(const struct source *s);
bool source_has_stream(const struct source *s);
/* source_takes_push of a detector's name, for a candidate, which has no more. */
bool detector_takes_push(const char *detector);
/* Its upstream tells by itself (source_takes_push), and nothing is declared that looks meanwhile:
 * only sweeps do. */
bool source_is_pushed(const struct source *s);
/* The listing of an entry names it (listed), or does so no more; then it has no next check. Inside
 * the caller's transaction. WRITE role. */
MUST_CHECK enum rc source_set_listed(struct ledger *l, struct source *s, bool listed, int64_t now,
                                     struct err *err);
/* Of a listing: it is looked at when the listing says so, and the listing alone tells that it
 * is gone. */
bool source_is_entry(const struct source *s);
bool source_is_unlisted(const struct source *s);

#define SOURCE_LOG_NAME_MAX 80
/* How logs and messages for the log name a source: its id, or "#17" where the level is restricted
 * or sovereign (I8). Returns out. */
const char *source_log_name(const struct source *s, char out[SOURCE_LOG_NAME_MAX]);

#endif

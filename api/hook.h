/* hook: what a push adapter is, and what it is given and gives back. An adapter is one file
 * (hook_NAME.c) and one row of ledger/adapters.def; the way from a POST to the inbox is hooks.c.
 *
 *   raw body ─▶ verify (keys, time) ─▶ read (parse) ─▶ events ─▶ one transaction ─▶ answer
 *
 * Invariants
 *   1. Nothing of a body is parsed before `verify` has said RC_OK. Where the scheme keeps its proof
 *      inside the body (sns), verify reads only what it needs for that, with caps, and believes
 *      nothing of it.
 *   2. `verify` and `read` are pure: no clock but d->now, no network, no ledger, no log.
 *   3. Messages of errors hold no signature, secret or part of the body (I12).
 *   4. Fail closed: no secret configured, no signature, an unknown scheme: RC_UNAUTHORIZED.
 */
#ifndef FRESHET_API_HOOK_H
#define FRESHET_API_HOOK_H

#include "api/http.h"
#include "core/base64.h"
#include "core/digest.h"
#include "core/json.h"

#define HOOK_SKEW_MS 300000 /* where the scheme tells a time: at most so far from ours, both ways */
#define HOOK_SECRETS_MAX 8  /* live at once, for rotation */
#define HOOK_SECRET_MIN 16  /* bytes; shorter ones are refused as a fault of the configuration */
#define HOOK_EVENTS_MAX 100 /* in one delivery (a batch) */
#define HOOK_ID_MAX 256     /* of an event id; a longer one counts by its sha256 */

/* One delivery. */
struct hook_delivery {
    struct str method; /* POST, or OPTIONS for the CloudEvents handshake */
    struct str body, content_type;
    const struct req *req; /* for req_header(): the one value of a header, .p NULL when absent;
                                  one that must be single is, when the adapter is asked (req_doubled) */
    yyjson_val *options;   /* adapter_options of the source, an object or NULL */
    struct str secrets[HOOK_SECRETS_MAX]; /* values of the files named in secrets[] */
    size_t n_secrets;
    int64_t now;         /* ms */
    struct arena *arena; /* of this request */
    size_t *hashed;      /* how often the body was, for its signature; may be NULL */
};

/* What happened to the object, as the provider tells it. */
enum hook_what {
    HOOK_CHANGED, /* look at it: the bytes decide */
    HOOK_GONE,    /* it says it was removed: look at it, too */
    HOOK_OTHER /* nothing that concerns us (a ping, a test message): answered 200, no candidate */
};

/* One event in our words. */
struct hook_event {
    struct str id; /* the provider's id of the event; .n 0: none, the sha256 of the body serves */
    /* The proof does not cover the id: under it anybody may repeat what was signed for another
     * event. So what is told under it with other bytes is another event, and no conflict. */
    bool loose_id;
    /* What it is about (bucket/key, subject), "" when the source is one object. */
    struct str object;
    struct str sequence; /* orders the events of one object, compared as padded text; "" for none */
    struct str version;  /* names this version of the object (versionId, generation), "" for none */
    int64_t at;          /* the provider's time of the event in ms, -1 when not told */
    enum hook_what what;
    /* What `sequence` begins with in the event just before, where the provider numbers without
     * holes: when another was the last we heard of, some were lost. "" when it does not tell. */
    struct str after;
    /* What tells a repeat from another event under the same id: the event's own bytes in a batch;
     * .n 0: the whole body, or in a batch what is written above. */
    struct str bytes;
};

/* What a delivery was, besides events. */
enum hook_kind {
    HOOK_EVENTS,
    /* Answer `reply` with status 200 and take nothing in (azure, cloudevents OPTIONS). */
    HOOK_HANDSHAKE,
    HOOK_CONFIRM /* a subscription wants `confirm_url` fetched: handed to the scheduler (sns) */
};
struct hook_reading {
    enum hook_kind kind;
    struct hook_event events[HOOK_EVENTS_MAX];
    size_t n_events;
    struct str reply, reply_type; /* HOOK_HANDSHAKE */
    struct str reply_headers;     /* whole header lines with CRLF, e.g. WebHook-Allowed-Origin */
    /* HOOK_CONFIRM: already checked against the adapter's host rule. Its one event tells
     * a repeat. */
    struct str confirm_url;
};

struct hook_adapter {
    const char *name;
    /* RC_OK; RC_UNAUTHORIZED (401: which check failed, and no more); RC_INVALID (400) when the
     * delivery cannot be one of this scheme, or the source's options are not usable. */
    enum rc (*verify)(const struct hook_delivery *d, struct err *err);
    enum rc (*read)(const struct hook_delivery *d, struct hook_reading *ret, struct err *err);
    /* Are these adapter_options and this number of secrets usable? Names the field. For `source
     * add` and doctor; NULL: any options are refused but none. */
    enum rc (*check_options)(yyjson_val *options, size_t n_secrets, struct err *err);
    /* How long the provider may send the same event again: ids are kept longer. */
    unsigned retry_days;
};

/* By the name of a source's `adapter`; NULL: none. */
const struct hook_adapter *hook_adapter(const char *name);

/* One per row of ledger/adapters.def: the adapter, and its check_options, which stand in files that
 * need no crypto, so that `freshet` links them. */
typedef enum rc hook_options_fn(yyjson_val *options, size_t n_secrets, struct err *err);
#define X(name, symbol, detector)                                                                  \
    extern const struct hook_adapter hook_##symbol;                                                \
    hook_options_fn hook_##symbol##_options;
#include "ledger/adapters.def"
#undef X

/* ---- what adapters share --------------------------------------------------------------------- */

/* hook_options.c. The members of options, each a text, must be among these names. */
MUST_CHECK enum rc hook_options_among(yyjson_val *options, const char *const *names, size_t n,
                                      struct err *err);
/* Can name be that of a header? field names the option that says so. */
MUST_CHECK enum rc hook_options_header(const char *name, const char *field, struct err *err);
/* At least one secret is named. */
MUST_CHECK enum rc hook_options_secret(size_t n_secrets, struct err *err);
/* Checks what adapter, adapter_options and secrets of a declaration say; RC_OK without
 * an adapter. */
MUST_CHECK enum rc hook_check_options(const char *adapter, yyjson_val *options, size_t n_secrets,
                                      struct err *err);

/* hook_mac.c. Signatures that a sender gives: several while it rotates its keys. */
#define HOOK_MACS_MAX 32 /* more are an attack, and those beyond are not looked at */
struct hook_macs {
    uint8_t mac[HOOK_MACS_MAX][32];
    size_t n;
};
/* Adds one that was read; what cannot be one is left out. */
void hook_mac_hex(struct hook_macs *m, struct str hex);
void hook_mac_base64(struct hook_macs *m, struct str text, enum base64 kind);
/* Is one of them the HMAC-SHA256 of head followed by the body, under one of the live secrets? Each
 * secret costs the body once, whatever was given and whichever fits. */
bool hook_signed(const struct hook_delivery *d, struct str head, const struct hook_macs *m);
/* A header that an option names must be single like those of every scheme: RC_INVALID naming it. */
MUST_CHECK enum rc hook_once(const struct hook_delivery *d, const char *header, struct err *err);
/* A header that must be there, once: RC_UNAUTHORIZED naming it. */
MUST_CHECK enum rc hook_need(const struct hook_delivery *d, const char *header, struct str *ret,
                             struct err *err);
/* Seconds since 1970 in text, not further than HOOK_SKEW_MS from now: else RC_UNAUTHORIZED. */
MUST_CHECK enum rc hook_in_time(const struct hook_delivery *d, struct str seconds, struct err *err);
/* The body as a JSON object. RC_INVALID. */
MUST_CHECK enum rc hook_json(const struct hook_delivery *d, yyjson_val **ret, struct err *err);
/* A text of an option, or `usual`. */
const char *hook_option(const struct hook_delivery *d, const char *name, const char *usual);
/* The one event of a delivery that tells no more than its id. */
void hook_one(struct hook_reading *ret, struct str id, enum hook_what what);

#endif

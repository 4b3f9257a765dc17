/* spec: what a reply looks like, as layers of fields.
 *
 * A resource, each of its versions, each of its scripted replies and the override given by
 * POST /control/set are layers with the same fields (spec.def); a layer may say more for one
 * method. The effective spec of a request is the defaults with the layers laid over them.
 *
 * Invariants
 *   1. A field is either set within its bounds or not set at all; unknown fields are errors that
 *      name the field.
 *   2. Strings and bodies of a spec live as long as the struct spec_home it was parsed into.
 *
 * Used by world.c (parsing, layers) and respond.c (reading).
 */
#ifndef FRESHET_UPSTREAM_SPEC_H
#define FRESHET_UPSTREAM_SPEC_H

#include "core/arena.h"
#include "core/json.h"
#include "tests/upstream/blob.h"

#define ETAG_WORDS(W)                                                                              \
    W(ETAG_STRONG, "strong", "of the content")                                                     \
    W(ETAG_WEAK, "weak", "of the content, W/")                                                     \
    W(ETAG_NONE, "none", "no ETag")                                                                \
    W(ETAG_VERSION, "version", "\"v1\", \"v2\", ... by version")                                   \
    W(ETAG_CONSTANT, "constant", "\"constant\", whatever the bytes")                               \
    W(ETAG_FLAP, "flap", "three nodes in turn, each with a tag of its own")                        \
    W(ETAG_GZIP, "gzip", "as Apache: \"...-gzip\" when encoded")                                   \
    W(ETAG_UNQUOTED, "unquoted", "without the quotes")                                             \
    W(ETAG_DOUBLE, "double", "two ETag lines that differ")                                         \
    W(ETAG_HUGE, "huge", "8 KB")                                                                   \
    W(ETAG_CONTROL, "control", "with the bytes 01 and 7f inside")
#define HONOURS_WORDS(W)                                                                           \
    W(HONOURS_NGINX, "nginx", "every condition sent must hold; If-Modified-Since exactly")         \
    W(HONOURS_RFC, "rfc", "If-None-Match, and If-Modified-Since only without it")                  \
    W(HONOURS_BOTH, "both", "304 only when both are sent and hold")                                \
    W(HONOURS_ETAG, "etag", "only If-None-Match")                                                  \
    W(HONOURS_IMS, "ims", "only If-Modified-Since, as Akamai")                                     \
    W(HONOURS_OR, "or", "either is enough: false 304 after a rollback")                            \
    W(HONOURS_NEVER, "never", "always the whole body")                                             \
    W(HONOURS_ALWAYS, "always", "304 even when nothing was asked")
#define ETAG304_WORDS(W)                                                                           \
    W(ETAG304_SAME, "same", "that of the 200")                                                     \
    W(ETAG304_NONE, "none", "none")                                                                \
    W(ETAG304_NEW, "new", "another one each time")
#define ENCODING_WORDS(W)                                                                          \
    W(ENCODING_NONE, "none", "identity")                                                           \
    W(ENCODING_GZIP, "gzip", "gzip, although identity was asked for")                              \
    W(ENCODING_NEGOTIATE, "negotiate", "gzip when Accept-Encoding allows it")                      \
    W(ENCODING_BOMB, "bomb", "gzip that inflates to bomb_bytes")
#define FRAMING_WORDS(W)                                                                           \
    W(FRAMING_LENGTH, "length", "Content-Length")                                                  \
    W(FRAMING_CHUNKED, "chunked", "chunks")                                                        \
    W(FRAMING_CLOSE, "close", "the end of the connection")
#define CUT_WORDS(W)                                                                               \
    W(CUT_NONE, "none", "whole")                                                                   \
    W(CUT_CLOSE, "close", "the connection closes")                                                 \
    W(CUT_RESET, "reset", "RST")                                                                   \
    W(CUT_HANG, "hang", "silence on an open connection")
#define ENDLESS_WORDS(W)                                                                           \
    W(ENDLESS_NONE, "none", "nothing")                                                             \
    W(ENDLESS_BODY, "body", "the body")                                                            \
    W(ENDLESS_HEADERS, "headers", "the headers")
#define ADVANCE_WORDS(W)                                                                           \
    W(ADVANCE_NEVER, "never", "none")                                                              \
    W(ADVANCE_HEAD, "head", "HEAD: content changes between HEAD and GET")                          \
    W(ADVANCE_GET, "get", "GET")                                                                   \
    W(ADVANCE_ANY, "any", "any request")

#define SPEC_WORD_ENUM(id, name, help) id,
enum etag_mode { ETAG_WORDS(SPEC_WORD_ENUM) };
enum honours { HONOURS_WORDS(SPEC_WORD_ENUM) };
enum etag_304 { ETAG304_WORDS(SPEC_WORD_ENUM) };
enum encoding { ENCODING_WORDS(SPEC_WORD_ENUM) };
enum framing { FRAMING_WORDS(SPEC_WORD_ENUM) };
enum cut { CUT_WORDS(SPEC_WORD_ENUM) };
enum endless { ENDLESS_WORDS(SPEC_WORD_ENUM) };
enum advance { ADVANCE_WORDS(SPEC_WORD_ENUM) };

struct spec {
    uint64_t set; /* a bit per field, in the order of spec.def, then headers, then body */
#define SPEC_INT(name, def, min, max, help) int64_t name;
#define SPEC_TEXT(name, def, help) struct str name;
#define SPEC_WORD(name, words, def, help) int name;
#define SPEC_FLAG(name, help) bool name;
#include "tests/upstream/spec.def"
#undef SPEC_INT
#undef SPEC_TEXT
#undef SPEC_WORD
#undef SPEC_FLAG
    struct {
        const struct str *lines;
        size_t n;
    } headers; /* verbatim header lines */
    struct blob *body;
};

enum spec_bit {
#define SPEC_INT(name, def, min, max, help) SPEC_BIT_##name,
#define SPEC_TEXT(name, def, help) SPEC_BIT_##name,
#define SPEC_WORD(name, words, def, help) SPEC_BIT_##name,
#define SPEC_FLAG(name, help) SPEC_BIT_##name,
#include "tests/upstream/spec.def"
#undef SPEC_INT
#undef SPEC_TEXT
#undef SPEC_WORD
#undef SPEC_FLAG
    SPEC_BIT_headers,
    SPEC_BIT_body,
    SPEC_BIT_COUNT
};
#define SPEC_HAS(spec, field) ((spec)->set >> SPEC_BIT_##field & 1)

enum method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OTHER };

struct layer {
    struct spec any;
    struct spec *only[METHOD_OTHER]; /* by method, NULL when it says nothing of its own */
};

/* Where the strings and bodies of specs live. */
struct spec_home {
    struct arena arena;
    struct blob **bodies;
    size_t n_bodies, room;
    char dir[512]; /* body_file is looked up here */
    int port, tls_port;
};
void spec_home_init(struct spec_home *h, const char *dir, int port, int tls_port);
void spec_home_release(struct spec_home *h);
/* The home owns *b from here on, also when this fails. */
MUST_CHECK enum rc spec_home_keep(struct spec_home *h, struct blob *b, struct err *err);
/* Copies text; {port} and {tls_port} are replaced. */
MUST_CHECK enum rc spec_home_text(struct spec_home *h, struct str s, struct str *ret,
                                  struct err *err);

/* The defaults of spec.def, everything marked as not set. */
const struct spec *spec_defaults(void);
/* Parses the fields of obj, and "GET", "HEAD", "POST" objects, into *ret. Keys in the
 * NULL-terminated list `others` are the caller's. `year` (0: none) replaces {year} in `body`. */
MUST_CHECK enum rc layer_parse(struct spec_home *h, yyjson_val *obj, const char *const *others,
                               int year, struct layer *ret, struct err *err);
/* Lays the set fields of `over` onto `base`. */
void spec_merge(struct spec *base, const struct spec *over);
void layer_merge(struct spec *base, const struct layer *over, enum method m);

/* The table of fields as Markdown, for the README. */
void spec_help(struct buf *out);

#endif

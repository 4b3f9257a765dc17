/* shape: can these bytes be what the source is said to carry? Answers 200 with a login page, an
 * error document or half a file are common; promoting one would replace data by rubbish.
 *
 * Only the form is looked at, from the first and the last bytes and a running scan; what is in the
 * data is the inspector's business. Pure. Called by spool.c and the kinds that read documents.
 *
 * Invariants
 *   1. A reason is a literal that names what was met and what was expected.
 *   2. Without an expectation only contradictions of the response with itself are wrong.
 */
#ifndef FRESHET_DETECTORS_SHAPE_H
#define FRESHET_DETECTORS_SHAPE_H

#include <stdint.h>
#include "core/json.h"

enum shape {
    SHAPE_unknown,
#define X(name, types, endings, check) SHAPE_##name,
#include "detectors/shapes.def"
#undef X
    SHAPE_COUNT
};

/* What to expect: by the declared media type, else by the end of the URL's path, else by the
 * Content-Type of the response. Each may be "". */
enum shape shape_expected(const char *media_type, const char *url, const char *content_type);
/* The same where something was seen of the source: that stands before the Content-Type, which an
 * error page brings along. seen: what shape_seen said, or "". */
enum shape shape_expected_again(const char *media_type, const char *url, const char *content_type,
                                const char *seen);
/* Of a media type alone. */
enum shape shape_of_type(const char *media_type);

/* Is a JSON text whole? Brackets and strings are followed, values are not checked. */
struct json_scan {
    int64_t depth;
    bool in_string, escaped, begun, ended, broken;
};
void json_scan_add(struct json_scan *s, struct str part);
bool json_scan_whole(const struct json_scan *s);

#define SHAPE_HEAD 4096
/* The end record of a zip (22 bytes) may be followed by a comment of 65535. */
#define SHAPE_TAIL (22 + 65535)

struct shape_view {
    struct str head, tail; /* first SHAPE_HEAD and last SHAPE_TAIL bytes, or all */
    int64_t size;
    bool json_whole;      /* json_scan_whole; only read for SHAPE_json */
    enum shape announced; /* shape_of_type of the response's Content-Type */
};
/* Why it cannot be, or NULL. */
const char *shape_wrong(enum shape expected, const struct shape_view *v);
/* The same for a text that is there as a whole. */
const char *shape_wrong_text(enum shape expected, struct str text);

/* How these bytes are remembered: the name of a shape, "geojson", or "other" for what is no
 * web page. */
const char *shape_seen(enum shape expected, const struct shape_view *v);
#define SHAPE_SEEN_OTHER "other"
#define SHAPE_SEEN_GEOJSON "geojson"

/* {"error":{"code":498,...}}, {"success":false,...}, {"status":"error","message":...},
 * {"status":401,"title":...}: an error said with status 200. What holds features is none. */
bool shape_says_error(yyjson_val *doc);

#endif

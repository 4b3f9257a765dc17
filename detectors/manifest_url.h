/* manifest_url: between keys of a listing and URLs. Pure. Called by the readers of pages only. */
#ifndef FRESHET_DETECTORS_MANIFEST_URL_H
#define FRESHET_DETECTORS_MANIFEST_URL_H

#include "core/arena.h"

/* All are NULL when memory ran out. */
/* The part of a URL up to the last slash of its path, where what stands beside it begins; a URL
 * without a path gets the slash. */
char *manifest_url_folder(struct arena *a, const char *url);
/* The URL without query and fragment, ending in a slash: where a bucket's objects begin. */
char *manifest_url_bucket(struct arena *a, const char *url);
/* A key as a path: all but letters, digits, -._~ and slashes is percent-encoded. */
char *manifest_url_encode(struct arena *a, const char *key);
/* %41 becomes A; with plus, + becomes a space. What would be NUL, or is no pair of hex digits,
 * stays as it is. */
char *manifest_url_decode(struct arena *a, struct str text, bool plus);
/* The URL with this one value of the query parameter `name`; all others stay as they are. */
char *manifest_url_with(struct arena *a, const char *url, const char *name, const char *value);

#endif

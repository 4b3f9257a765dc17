/* listing_source: a source of the detector manifest with the options that a test wants. */
#ifndef FRESHET_TESTS_LISTING_SOURCE_H
#define FRESHET_TESTS_LISTING_SOURCE_H

#include "core/json.h"
#include "ledger/source.h"
#include "tests/10-unit/unit.h"

#define BASE "https://e.org/data/"

static struct arena memory;
static struct err err;
static struct source source;

/* A source with these options, as the ledger would read it. */
static inline const struct source_manifest *options(const char *json)
{
    yyjson_val *v;
    const char *text = arena_printf(&memory,
                                    "{\"id\":\"x\",\"url\":\"" BASE "\",\"detector\":\"manifest\","
                                    "\"manifest\":%s}",
                                    json);
    assert_rc(json_parse(&memory, str_of(text), 0, "x", &v, &err), RC_OK);
    assert_rc(source_parse(&memory, v, &source, &err), RC_OK);
    return &source.manifest;
}

#endif

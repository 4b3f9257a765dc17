/* docs_sources: the reference of a source declaration. Fields come from their tables; what has a
 * structure of its own is told in prose here, next to nothing else. */
#include "cli/docs_sources.h"

#include <inttypes.h>

#include "core/str.h"
#include "ledger/source.h"

/* ---- fields ---------------------------------------------------------------------------------- */

/* A field means what its flag says; one without a flag has a section. */
static const char *meaning(const char *field)
{
    static const struct {
        const char *field, *help;
    } flags[] = {
#define FLAG(flag, field, kind, argument, help) {field, help},
#include "cli/source_flags.def"
#undef FLAG
    };
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (strcmp(flags[i].field, field) == 0)
            return flags[i].help;
    return "see below";
}

static void print_text(const char *name, bool required, int longest)
{
    printf("| `%s` | text, up to %d bytes | %s | %s |\n", name, longest, required ? "required" : "",
           meaning(name));
}

static void print_number(const char *name, int64_t def, int64_t min, int64_t max)
{
    printf("| `%s` | integer, %" PRId64 " to %" PRId64 " | ", name, min, max);
    if (def >= min)
        printf("%" PRId64, def);
    printf(" | %s |\n", meaning(name));
}

static void print_other(const char *name)
{
    static const struct {
        const char *name, *type, *def, *help; /* help: where its flag tells only of one element */
    } types[] = {{"sensitivity", "text", "`public`", NULL},
                 {"triggers", "list of up to 8 objects", "`[]`", "when it is looked at, see below"},
                 {"headers", "object of up to 16 texts", "", "sent upstream, see below"},
                 {"region_bbox", "[west, south, east, north]", "", NULL},
                 {"grid_deg", "number, 0.001 to 90", "0.1", NULL},
                 {"precision_m", "number, 0.000001 to 10000", "0.01", NULL},
                 {"required_fields", "list of up to 64 texts", "`[]`",
                  "fields that every feature must have, with a value"},
                 {"secrets", "list of texts", "", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            printf("| `%s` | %s | %s | %s |\n", name, types[i].type, types[i].def,
                   types[i].help ? types[i].help : meaning(name));
            return;
        }
    printf("| `%s` | object | | %s |\n", name, meaning(name));
}

static void print_fields(void)
{
    puts(
        "# Sources\n\n"
        "Every field of a source declaration. Printed from `ledger/source_fields.def` and\n"
        "`cli/source_flags.def` by `freshet docs sources`. A declaration is a JSON object:\n"
        "`freshet source add --file FILE` takes one, `freshet source import FILE` many, and most fields\n"
        "are options of `freshet source add` and `freshet source set` too. Unknown names are refused.\n\n"
        "```json\n"
        "{\"id\": \"ks-counties\", \"url\": \"https://example.org/counties.geojson\",\n"
        " \"triggers\": [{\"type\": \"annual\", \"month\": 7, \"through\": 9}],\n"
        " \"limits\": {\"min_features\": 105}}\n"
        "```\n\n"
        "| field | type | default | meaning |\n|---|---|---|---|");
#define TEXT(name, required, longest) print_text(#name, required, longest);
#define NUMBER(name, def, min, max) print_number(#name, def, min, max);
#define OTHER(name) print_other(#name);
#include "ledger/source_fields.def"
#undef TEXT
#undef NUMBER
#undef OTHER
    puts(
        "\nWithout `poll_interval_s` and triggers the setting `poll_interval_s` counts, without\n"
        "`freshness_days` the setting of that name. `poll_interval_s` takes the place of the cadence of\n"
        "every trigger and must not be longer than `max_interval_s`. With `max_interval_s` the pause grows\n"
        "by a quarter after each check that found nothing, up to that.");
    fputs("\nDetectors:", stdout);
#define X(name) fputs(" `" #name "`", stdout);
#include "ledger/detectors.def"
#undef X
    puts(".");
}

/* ---- structured members ---------------------------------------------------------------------- */

static void print_triggers(void)
{
    puts(
        "\n## url with {year}\n\n"
        "A URL with `{year}` is a template: it is never fetched itself. When the window of a year opens,\n"
        "a source `ID-YEAR` is made under it, with the year in its URL and in `probe.url`. The id of a\n"
        "template has at most 59 characters; other braces must be percent-encoded.\n\n"
        "## triggers\n\n"
        "When a source is looked at. Times are UTC. Outside of windows there is a look every\n"
        "`sweep_days`; a change outside of every window is reported by `freshet monitor`.\n\n"
        "| type | members | when |\n|---|---|---|\n"
        "| `annual` | `month` 1 to 12, `through` 1 to 12, default `month` | daily from the first day of "
        "`month` to the last of `through`; over new year when `through` is the earlier month |\n"
        "| `redistricting` | `years`, a list of 1 to 16 years | daily in these years |\n"
        "| `census` | `year` | weekly in this year |\n"
        "| `interval` | `seconds` 1 to 31536000 | every so many seconds |\n"
        "| `manual` | | only when somebody asks |\n\n"
        "```json\n"
        "[{\"type\": \"annual\", \"month\": 11, \"through\": 2},\n"
        " {\"type\": \"redistricting\", \"years\": [2031, 2032]},\n"
        " {\"type\": \"census\", \"year\": 2030},\n"
        " {\"type\": \"interval\", \"seconds\": 3600},\n"
        " {\"type\": \"manual\"}]\n"
        "```");
}

static void print_limit(const char *name, const char *help)
{
    printf("| `%s` | %s | %s |\n", name,
           str_ends(str_of(name), STR("_pct")) ? "percent, not negative"
           : strcmp(name, "max_bytes") == 0    ? "integer, 1 to 2^40"
                                               : "integer, 0 to 2^40",
           help);
}

static void print_limits(void)
{
    puts("\n## limits\n\n| member | type | meaning |\n|---|---|---|");
#define NOTE_JSON(field, help)
#define NOTE_TEXT(field, help)
#define NOTE_LIST(field, help)
#define NOTE_NAMES(field, help)
#define NOTE_HEADER(field, help)
#define NOTE_LIMIT(field, help) print_limit(field, help);
#define FLAG(flag, field, kind, argument, help) NOTE_##kind(field, help)
#include "cli/source_flags.def"
#undef FLAG
    puts(
        "\nWithout `max_bytes` the setting of that name counts; the others are not asked when absent.");
}

static void print_headers(void)
{
    puts(
        "\n## headers and secrets\n\n"
        "`headers` maps names to values that are sent upstream, to the origin of `url` only where they\n"
        "are secret. A value `secret:NAME` is read from the file `secrets/NAME` of the instance, or from\n"
        "the variable `FRESHET_SECRET_NAME` (capitals, `-` as `_`), at each check; NAME has a-z, 0-9, `_`, `-`.\n"
        "These must be secret, in any case:"
#define HEADER(name) " `" name "`"
#define PARAM(name)
#include "ledger/secret_names.def"
#undef HEADER
#undef PARAM
        ".\nAn address is kept for good as it was declared, with its query: whoever declares one of these\n"
        "parameters is warned:"
#define HEADER(name)
#define PARAM(name) " `" name "`"
#include "ledger/secret_names.def"
#undef HEADER
#undef PARAM
        ".\nWhat frames a message or makes it conditional (`Host`, `Content-Length`, `Accept-Encoding`,\n"
        "`If-None-Match`, `Range` and the like) cannot be set.\n\n"
        "```json\n"
        "{\"headers\": {\"Authorization\": \"secret:upstream-login\", \"Accept\": \"text/csv\"}}\n"
        "```\n\n"
        "`pin_sha256` is `sha256//` and 44 characters of base64, several joined by `;`, of the public key\n"
        "of an https upstream.");
}

static void print_push(void)
{
    puts(
        "\n## adapter, adapter_options and secrets\n\n"
        "With an adapter, deliveries to `/hooks/ID` are taken in (docs/PUSH.md). `secrets` names the\n"
        "files of `secrets/` (or variables, as above) that they are signed with: up to 8, all live at once,\n"
        "each of 16 bytes or more. They are read for every delivery: one that is taken out of the list,\n"
        "or whose file is removed, counts no more at once. Detectors `webhook` and `event` need an adapter;\n"
        "any other may have one besides.\n\n"
        "| adapter | changes come as |\n|---|---|");
#define X(name, symbol, detector) puts("| `" name "` | `" #detector "` |");
#include "ledger/adapters.def"
#undef X
    puts("\n| adapter | member of `adapter_options` | meaning |\n|---|---|---|");
#define X(adapter, option, help) puts("| `" adapter "` | `" option "` | " help " |");
#include "api/hook_options.def"
#undef X
    puts(
        "\n```json\n"
        "{\"detector\": \"webhook\", \"adapter\": \"hmac\", \"secrets\": [\"roads-2026\", \"roads-2027\"],\n"
        " \"adapter_options\": {\"header\": \"X-Roads-Signature\", \"prefix\": \"sha256=\"}}\n"
        "```");
}

#define WORD "text"
#define POINTER "JSON pointer"
#define FORMAT "`json`, `csv`, `s3` or `html`"

static void print_option(const char *name, const char *kind, const char *help)
{
    static const struct {
        const char *field, *names;
    } usual[] = {
#define X(field, names) {#field, names},
#include "detectors/manifest_names.def"
#undef X
    };
    printf("| `%s` | %s | %s |", name, kind, help);
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (strcmp(usual[i].field, name) == 0)
            printf(" the first of: %s", usual[i].names);
    puts(" |");
}

static void print_detectors(void)
{
    puts(
        "\n## probe\n\n"
        "For detector `probe`: a value in a small JSON document tells whether the data has moved.\n\n"
        "| member | meaning |\n|---|---|\n"
        "| `pointer` | required: JSON pointer (RFC 6901) to the value |\n"
        "| `url` | the document; default: the URL of the source |\n"
        "| `expect` | `{\"pointer\", \"equals\"}`: what must stand there, else the document is about "
        "something else and the outcome is `wrong_shape` |\n\n"
        "```json\n"
        "{\"detector\": \"probe\", \"probe\": {\"url\": \"https://example.org/FeatureServer/3?f=json\",\n"
        "  \"pointer\": \"/editingInfo/lastEditDate\",\n"
        "  \"expect\": {\"pointer\": \"/name\", \"equals\": \"Counties\"}}}\n"
        "```\n\n"
        "## sse\n\n"
        "For detector `sse`: the upstream tells by itself, over an event stream (`text/event-stream`) that\n"
        "the scheduler holds open. An event says \"look\"; the data is then looked at as with `etag`, and\n"
        "the bytes decide. While the stream is down the source is polled as its triggers say, and its health\n"
        "says so; while it is open, once a day. All members are optional.\n\n"
        "| member | meaning |\n|---|---|\n"
        "| `url` | the stream; default: the URL of the source, asked with `Accept: text/event-stream` |\n"
        "| `event` | only events of this type count; default: all |\n"
        "| `expect` | `{\"pointer\", \"equals\"}`: only events whose data is JSON with this value there count |\n\n"
        "```json\n"
        "{\"detector\": \"sse\", \"url\": \"https://example.org/layers/counties.geojson\",\n"
        "  \"sse\": {\"url\": \"https://example.org/changes/stream\", \"event\": \"change\",\n"
        "          \"expect\": {\"pointer\": \"/collection\", \"equals\": \"counties\"}}}\n"
        "```\n\n"
        "## webhook and event\n\n"
        "For detectors `webhook` and `event`: the upstream tells by itself, by deliveries to `/hooks/ID`;\n"
        "see adapter. Without triggers and `poll_interval_s` nobody looks meanwhile but the sweep every\n"
        "`sweep_days`; with them, as they say.\n\n"
        "## manifest\n\n"
        "For detector `manifest`: how a listing is read; each entry becomes a source of its own. All\n"
        "members are texts and optional. `key` to `last_modified` name the member or column that holds\n"
        "the fact; one that starts with a slash is a pointer into the entry. `freshet manifest build`\n"
        "shows what they lead to. A listing that tells neither version, ETag, date, size nor digest of an\n"
        "entry cannot tell that its bytes changed either: `check` counts such entries, and `source show`\n"
        "says so. Watch them as sources of their own with detector `etag` then.\n\n"
        "| member | type | meaning | when absent |\n|---|---|---|---|");
#define X(name, kind, help) print_option(#name, kind, help);
#include "ledger/manifest_fields.def"
#undef X
    puts(
        "\n```json\n"
        "{\"detector\": \"manifest\", \"manifest\": {\"items\": \"/result/resources\", \"key\": \"name\",\n"
        "  \"last_modified\": \"/meta/changed\", \"include\": \"*.zip\"}}\n"
        "```");
}

void docs_sources(void)
{
    print_fields();
    print_triggers();
    print_limits();
    print_headers();
    print_push();
    print_detectors();
}

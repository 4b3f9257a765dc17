/* rules_bytes: rules over the first and the last bytes of a file, and its JSON where it is
 * no geodata. */
#include "handler/validate_internal.h"

#define CSV_LINES 20 /* enough to see that columns do not line up */

/* Without a byte order mark and space in front. */
static struct str text_of(const struct view *v)
{
    return str_skip_space(str_skip_bom(v->head));
}

static bool looks_like_html(const struct view *v)
{
    struct str s = text_of(v);
    if (s.n == 0 || *s.p != '<')
        return false;
    if (s.n > 1024)
        s.n = 1024;
    return str_ihas(s, STR("<!doctype html")) || str_ihas(s, STR("<html"));
}

const char *rule_not_empty(const struct view *v)
{
    return v->size > 0 ? NULL : "there is not a single byte";
}

const char *rule_size_cap(const struct view *v)
{
    return v->size <= v->expect->max_bytes ? NULL : "larger than the limit";
}

const char *rule_no_html(const struct view *v)
{
    return looks_like_html(v) ? "a web page instead of data" : NULL;
}

const char *rule_zip_begin(const struct view *v)
{
    bool ok = str_starts(v->head, STR("PK\x03\x04")) || str_starts(v->head, STR("PK\x05\x06"));
    return ok ? NULL : "does not start as a zip does";
}

/* The end record sits where its comment reaches exactly to the end of the file. */
const char *rule_zip_end(const struct view *v)
{
    const unsigned char *t = (const unsigned char *)v->tail.p;
    for (size_t i = v->tail.n; i-- > 0;) {
        size_t left = v->tail.n - i;
        if (left < 22 || memcmp(t + i, "PK\x05\x06", 4) != 0)
            continue;
        if ((size_t)(t[i + 20] | t[i + 21] << 8) != left - 22)
            continue;
        return t[i + 10] | t[i + 11] ? NULL : "the zip holds no entries";
    }
    return "the zip has no end record: it is cut off";
}

/* Too large to parse: at least the ends must fit each other. */
static bool ends_match(const struct view *v)
{
    struct str head = text_of(v), tail = str_trim(v->tail);
    if (head.n == 0 || tail.n == 0)
        return false;
    char last = tail.p[tail.n - 1];
    return (*head.p == '{' && last == '}') || (*head.p == '[' && last == ']');
}

const char *rule_json_whole(const struct view *v)
{
    if (v->parse_failed)
        return "does not parse as JSON";
    if (v->parsed || v->now->geodata || rule_unread(v->now))
        return NULL;
    return ends_match(v) ? NULL : "does not end as JSON does";
}

/* ArcGIS and its kin answer 200 with {"error":{"code":498,...}}. */
const char *rule_json_no_error(const struct view *v)
{
    yyjson_val *e = v->parsed ? yyjson_obj_get(v->root, "error") : NULL;
    bool error = yyjson_obj_get(e, "code") || yyjson_obj_get(e, "message");
    return error ? "an error document of a service" : NULL;
}

const char *rule_geojson_type(const struct view *v)
{
    bool other = v->now->geodata && !str_starts(str_of(v->now->format), STR("geojson"));
    return v->parsed || other ? "not of a GeoJSON type" : NULL;
}

const char *rule_csv_text(const struct view *v)
{
    return memchr(v->head.p, 0, v->head.n) ? "a NUL byte in what should be text" : NULL;
}

static char csv_separator(struct str line)
{
    static const char choice[] = ",;\t|";
    char best = ',';
    size_t most = 0;
    for (const char *c = choice; *c; c++) {
        size_t n = 0;
        for (size_t i = 0; i < line.n; i++)
            n += line.p[i] == *c;
        if (n > most) {
            most = n;
            best = *c;
        }
    }
    return best;
}

/* Columns of the record that *s starts with; *s moves behind it. 0 when it is not complete. */
static size_t csv_record(struct str *s, char separator)
{
    size_t columns = 1;
    bool quoted = false;
    for (size_t i = 0; i < s->n; i++) {
        char c = s->p[i];
        if (c == '"')
            quoted = !quoted;
        else if (!quoted && c == separator)
            columns++;
        else if (!quoted && c == '\n') {
            s->p += i + 1;
            s->n -= i + 1;
            return columns;
        }
    }
    return 0;
}

const char *rule_csv_columns(const struct view *v)
{
    struct str rest = text_of(v), line = {"", 0}, look = rest;
    (void)str_next(&look, '\n', &line);
    char separator = csv_separator(line);
    size_t first = csv_record(&rest, separator);
    for (int i = 1; i < CSV_LINES && rest.n > 0; i++) {
        bool blank = *rest.p == '\n' || *rest.p == '\r';
        size_t columns = csv_record(&rest, separator);
        if (columns == 0)
            break;
        if (columns != first && !blank)
            return "the first lines differ in their number of columns";
    }
    return NULL;
}

const char *rule_xml_begin(const struct view *v)
{
    return str_starts(text_of(v), STR("<")) ? NULL : "does not start with a tag";
}

const char *rule_gzip_begin(const struct view *v)
{
    return str_starts(v->head, STR("\x1f\x8b")) ? NULL : "does not start as gzip does";
}

const char *rule_gpkg_begin(const struct view *v)
{
    bool ok = str_starts(v->head, STR("SQLite format 3\0"));
    return ok ? NULL : "does not start as an SQLite file does";
}

const char *rule_pdf_begin(const struct view *v)
{
    return str_starts(v->head, STR("%PDF-")) ? NULL : "does not start as a PDF does";
}

/* dcat_us: a dataset as DCAT-US 1.1, which harvesters read today, and 3.0 (plain keys, byteSize
 * a string). */
#include "api/dcat.h"
#include "api/put.h"

/* A text with its base marks replaced. */
static void put_marked(struct buf *b, const char *key, struct str base, const char *text)
{
    struct buf whole;
    if (!text || !*text)
        return;
    buf_init(&whole, 1u << 16);
    for (; *text; text++) {
        if (*text == JSON_BASE[0])
            buf_str(&whole, base);
        else
            buf_byte(&whole, *text);
    }
    put_key(b, key);
    json_put_str(b, buf_view(&whole));
    buf_release(&whole);
}

static void put_some(struct buf *b, const char *key, const char *text)
{
    if (text && *text)
        put_text(b, key, text);
}

static void put_id(struct buf *b, const char *key, struct req *r, const struct dcat_dataset *d,
                   const char *hash, const char *tail)
{
    put_key(b, key);
    buf_byte(b, '"');
    buf_str(b, r->base);
    buf_printf(b, "/dcat/datasets/%s%s%s\"", d->collection, hash, tail);
}

static void put_keywords(struct buf *b, const struct dcat_dataset *d)
{
    put_key(b, "keyword");
    buf_byte(b, '[');
    json_put_str(b, str_of(d->collection));
    if (*d->boundary_type && strcmp(d->boundary_type, d->collection) != 0) {
        buf_byte(b, ',');
        json_put_str(b, str_of(d->boundary_type));
    }
    buf_byte(b, ']');
}

/* ---- 1.1 ------------------------------------------------------------------------------------- */

static const char *level_of(const struct dcat_dataset *d)
{
    return strcmp(d->access, "PUBLIC") == 0       ? "public"
           : strcmp(d->access, "RESTRICTED") == 0 ? "restricted public"
                                                  : "non-public";
}

static void put_distribution(struct req *r, struct buf *b, const struct dcat_version *v)
{
    buf_puts(b, "{\"@type\":\"dcat:Distribution\"");
    put_some(b, "title", v->title);
    put_marked(b, "downloadURL", r->base, v->download);
    put_some(b, "mediaType", v->media_type);
    buf_printf(b, ",\"description\":\"Version %s, sha256:%s\"}", v->version, v->sha256);
}

/* The licence is an address there; one that is words alone stands under the rights. */
static void put_rights(struct req *r, struct buf *b, const struct dcat_dataset *d)
{
    const char *at = dcat_license(r->arena, d->license);
    put_some(b, "license", at);
    if (strcmp(d->access, "PUBLIC") != 0)
        put_text(b, "rights", "The bytes are not handed out.");
    else if (*d->license && at && !*at)
        put_text(b, "rights", arena_printf(r->arena, "Licence: %s", d->license));
}

void dcat_us_dataset(struct req *r, struct buf *b, const struct dcat_dataset *d,
                     const struct dcat_publisher *p)
{
    size_t n = 0;
    buf_puts(b, "{\"@type\":\"dcat:Dataset\"");
    put_text(b, "title", d->title);
    put_text(b, "description", d->description);
    put_keywords(b, d);
    put_text(b, "modified", d->modified);
    put_some(b, "issued", d->issued);
    buf_puts(b, ",\"publisher\":{\"@type\":\"org:Organization\"");
    put_text(b, "name", p->name);
    buf_puts(b, "},\"contactPoint\":{\"@type\":\"vcard:Contact\"");
    put_text(b, "fn", p->name);
    put_text(b, "hasEmail", p->mail);
    buf_byte(b, '}');
    put_id(b, "identifier", r, d, "", "");
    put_text(b, "accessLevel", level_of(d));
    put_rights(r, b, d);
    if (d->has_bbox) {
        put_key(b, "spatial");
        buf_byte(b, '"');
        for (int i = 0; i < 4; i++) {
            char number[32];
            json_number(d->bbox[i], number);
            buf_printf(b, "%s%s", i ? "," : "", number);
        }
        buf_byte(b, '"');
    }
    for (size_t i = 0; i < d->n; i++) {
        if (!d->versions[i].current || !*d->versions[i].download)
            continue;
        buf_puts(b, n++ ? "," : ",\"distribution\":[");
        put_distribution(r, b, &d->versions[i]);
    }
    buf_puts(b, n ? "]}" : "}");
}

/* ---- 3.0 ------------------------------------------------------------------------------------- */

static void put_who3(struct buf *b, const struct dcat_publisher *p)
{
    buf_puts(b, ",\"publisher\":{\"@type\":\"Organization\"");
    put_text(b, "name", p->name);
    buf_puts(b, "},\"contactPoint\":[{\"@type\":\"Kind\"");
    put_text(b, "fn", p->name);
    put_text(b, "hasEmail", p->mail);
    buf_puts(b, "}]");
}

static void put_distribution3(struct req *r, struct buf *b, const struct dcat_version *v)
{
    const char *licence = dcat_license(r->arena, v->license);
    buf_puts(b, "{\"@type\":\"Distribution\"");
    put_some(b, "title", v->title);
    buf_printf(b, ",\"identifier\":\"sha256:%s\"", v->sha256);
    put_marked(b, "accessURL", r->base, v->item);
    put_marked(b, "downloadURL", r->base, v->download);
    put_some(b, "mediaType", v->media_type);
    buf_printf(b, ",\"byteSize\":\"%lld\"", (long long)v->size);
    put_some(b, "issued", v->created);
    put_some(b, "license", licence && *licence ? licence : v->license);
    buf_printf(b,
               ",\"checksum\":{\"@type\":\"Checksum\",\"algorithm\":"
               "\"http://spdx.org/rdf/terms#checksumAlgorithm_sha256\",\"checksumValue\":\"%s\"}}",
               v->sha256);
}

static void put_distributions3(struct req *r, struct buf *b, const struct dcat_dataset *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (!d->versions[i].current || !*d->versions[i].download)
            continue;
        buf_puts(b, n++ ? "," : ",\"distribution\":[");
        put_distribution3(r, b, &d->versions[i]);
    }
    buf_puts(b, n ? "]" : "");
}

void dcat_us3_dataset(struct req *r, struct buf *b, const struct dcat_dataset *d,
                      const struct dcat_publisher *p)
{
    buf_puts(b, "{\"@type\":\"Dataset\"");
    put_id(b, "@id", r, d, "", "");
    put_text(b, "title", d->title);
    put_text(b, "description", d->description);
    put_id(b, "identifier", r, d, "", "");
    put_keywords(b, d);
    put_some(b, "modified", d->modified);
    put_some(b, "issued", d->issued);
    put_who3(b, p);
    put_text(b, "accessRights", level_of(d));
    for (size_t i = 0; i < d->n; i++)
        if (d->n_current == 1 && d->versions[i].current)
            put_some(b, "version", d->versions[i].version);
    if (d->has_bbox)
        buf_printf(b, ",\"spatial\":[{\"@type\":\"Location\",\"bbox\":\"%s\"}]",
                   dcat_wkt(r->arena, d->bbox));
    put_distributions3(r, b, d);
    buf_byte(b, '}');
}

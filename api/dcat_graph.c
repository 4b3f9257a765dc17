/* dcat_graph: a dataset as triples: what DCAT-AP 3.0.1 and DCAT-US 3.0 both take. Whatever is
 * referred to has its class in the same document, so that shapes can be checked without
 * a network. */
#include "api/dcat.h"

#define EU "http://publications.europa.eu/resource/authority/"
#define DATASET JSON_BASE "/dcat/datasets/"
#define CATALOG JSON_BASE "/dcat"
#define THEME EU "data-theme/REGI"
#define THEMES EU "data-theme"

/* Three texts as one; "" when memory ran out, which the graph then knows. */
static const char *iri(struct rdf *g, const char *a, const char *b, const char *c)
{
    char *s = arena_printf(g->a, "%s%s%s", a, b, c);
    if (!s)
        g->rc = RC_NOMEM;
    return s ? s : "";
}

/* ---- what all refer to ----------------------------------------------------------------------- */

static void add_who(struct rdf *g, const char *s, const struct dcat_publisher *p)
{
    const char *contact = JSON_BASE "/dcat#contact";
    rdf_link(g, s, "dcterms:publisher", p->iri);
    rdf_class(g, p->iri, "foaf:Agent");
    rdf_class(g, p->iri, "foaf:Organization");
    rdf_text(g, p->iri, "foaf:name", p->name);
    rdf_link(g, s, "dcat:contactPoint", contact);
    rdf_class(g, contact, "vcard:Kind");
    rdf_class(g, contact, "vcard:Organization");
    rdf_text(g, contact, "vcard:fn", p->name);
    rdf_link(g, contact, "vcard:hasEmail", p->mail);
}

static void add_access(struct rdf *g, const char *s, const char *access)
{
    const char *right = iri(g, EU "access-right/", access, "");
    rdf_link(g, s, "dcterms:accessRights", right);
    rdf_class(g, right, "dcterms:RightsStatement");
    rdf_english(g, right, "rdfs:label", access);
}

static void add_theme(struct rdf *g, const char *s)
{
    rdf_link(g, s, "dcat:theme", THEME);
    rdf_class(g, THEME, "skos:Concept");
    rdf_english(g, THEME, "skos:prefLabel", "Regions and cities");
    rdf_link(g, THEME, "skos:inScheme", THEMES);
    rdf_class(g, THEMES, "skos:ConceptScheme");
    rdf_english(g, THEMES, "dcterms:title", "Data themes");
    rdf_english(g, THEMES, "skos:prefLabel", "Data themes");
}

static void add_place(struct rdf *g, const char *s, const double b[4], const char *name)
{
    const char *place = iri(g, "_:place-", name, "");
    rdf_link(g, s, "dcterms:spatial", place);
    rdf_class(g, place, "dcterms:Location");
    rdf_typed(g, place, "dcat:bbox", dcat_wkt(g->a, b), "geosparql:wktLiteral");
}

static void add_date(struct rdf *g, const char *s, const char *p, const char *when)
{
    if (when && *when)
        rdf_typed(g, s, p, when, strchr(when, 'T') ? "xsd:dateTime" : "xsd:date");
}

/* A licence without an address is a node of its own that has its words. */
static void add_licence(struct rdf *g, const char *s, const char *license, const char *name)
{
    const char *at = dcat_license(g->a, license);
    bool words = *license && (!at || !*at);
    if (!*license)
        return;
    if (words)
        at = iri(g, "_:licence-", name, "");
    rdf_link(g, s, "dcterms:license", at);
    rdf_class(g, at, "dcterms:LicenseDocument");
    if (words)
        rdf_text(g, at, "rdfs:label", license);
}

/* ---- a version ------------------------------------------------------------------------------- */

static void add_origin(struct rdf *g, const char *s, const struct dcat_version *v)
{
    rdf_link(g, s, "prov:wasGeneratedBy", v->prov);
    rdf_class(g, *v->prov ? v->prov : NULL, "prov:Activity");
    rdf_english(g, *v->prov ? v->prov : NULL, "rdfs:label", "The run that took these bytes in");
}

static void add_distribution(struct rdf *g, const char *owner, const struct dcat_version *v)
{
    const char *s = iri(g, owner, "-data", ""), *sum = iri(g, owner, "-checksum", "");
    const char *type =
        *v->media_type ? iri(g, "https://www.iana.org/assignments/media-types/", v->media_type, "")
                       : NULL;
    char size[24];
    rdf_link(g, owner, "dcat:distribution", s);
    rdf_class(g, s, "dcat:Distribution");
    rdf_english(g, s, "dcterms:title", v->title);
    rdf_english(g, s, "dcterms:description",
                iri(g, "Version ", v->version, ", the bytes as they were published"));
    rdf_text(g, s, "dcterms:identifier", iri(g, "sha256:", v->sha256, ""));
    rdf_link(g, s, "dcat:accessURL", v->item);
    rdf_link(g, s, "dcat:downloadURL", v->download);
    rdf_link(g, s, "dcat:mediaType", type);
    rdf_class(g, type, "dcterms:MediaType");
    rdf_class(g, type, "dcterms:MediaTypeOrExtent");
    rdf_english(g, type, "rdfs:label", v->media_type);
    snprintf(size, sizeof size, "%lld", (long long)v->size);
    rdf_typed(g, s, "dcat:byteSize", size, "xsd:nonNegativeInteger");
    rdf_text(g, s, "dcat:version", v->version);
    add_date(g, s, "dcterms:issued", v->created);
    add_date(g, s, "dcterms:modified", v->created);
    add_licence(g, s, v->license, v->item_id);
    add_access(g, s, "PUBLIC");
    add_origin(g, s, v);
    rdf_link(g, s, "spdx:checksum", sum);
    rdf_class(g, sum, "spdx:Checksum");
    rdf_word(g, sum, "spdx:algorithm", "spdx:checksumAlgorithm_sha256");
    rdf_class(g, rdf_iri(g, "spdx:checksumAlgorithm_sha256"), "spdx:ChecksumAlgorithm");
    rdf_typed(g, sum, "spdx:checksumValue", v->sha256, "xsd:hexBinary");
}

static void add_version(struct rdf *g, const struct dcat_dataset *d, const struct dcat_version *v,
                        const struct dcat_publisher *p)
{
    const char *set = iri(g, DATASET, d->collection, "");
    const char *s = iri(g, set, "#", v->item_id);
    rdf_link(g, set, "dcat:hasVersion", s);
    if (d->n_current == 1 && v->current)
        rdf_link(g, set, "dcat:hasCurrentVersion", s);
    rdf_class(g, s, "dcat:Dataset");
    rdf_class(g, s, "dcat:Resource");
    rdf_link(g, s, "dcat:isVersionOf", set);
    rdf_english(g, s, "dcterms:title", iri(g, v->title, ", version ", v->version));
    rdf_english(g, s, "dcterms:description",
                iri(g, v->title, " as it was published upstream, version ", v->version));
    rdf_text(g, s, "dcterms:identifier", s);
    rdf_text(g, s, "dcat:version", v->version);
    rdf_english(g, s, "adms:versionNotes",
                iri(g,
                    v->deprecated ? "Taken back or removed upstream. Taken in on " : "Taken in on ",
                    v->created, ""));
    if (v->previous)
        rdf_link(g, s, "dcat:previousVersion", iri(g, set, "#", v->previous));
    add_date(g, s, "dcterms:issued", v->created);
    add_date(g, s, "dcterms:modified", v->created);
    add_who(g, s, p);
    add_access(g, s, *v->download ? "PUBLIC" : "RESTRICTED");
    rdf_text(g, s, "dcat:keyword", d->collection);
    add_theme(g, s);
    add_origin(g, s, v);
    rdf_link(g, s, "prov:wasDerivedFrom", v->via);
    rdf_class(g, *v->via ? v->via : NULL, "prov:Entity");
    if (v->has_bbox)
        add_place(g, s, v->bbox, v->item_id);
    if (d->series)
        rdf_link(g, s, "dcat:inSeries", iri(g, set, "#series", ""));
    if (*v->download)
        add_distribution(g, s, v);
    if (*v->download && v->current)
        rdf_link(g, set, "dcat:distribution", iri(g, s, "-data", ""));
}

/* ---- a dataset ------------------------------------------------------------------------------- */

static void add_series(struct rdf *g, const struct dcat_dataset *d, const char *set,
                       const struct dcat_publisher *p)
{
    const char *s = iri(g, set, "#series", "");
    rdf_link(g, set, "dcat:inSeries", s);
    rdf_class(g, s, "dcat:DatasetSeries");
    rdf_class(g, s, "dcat:Resource");
    rdf_english(g, s, "dcterms:title", iri(g, d->title, ", all vintages", ""));
    rdf_english(g, s, "dcterms:description", iri(g, "One dataset a year: ", d->title, ""));
    rdf_text(g, s, "dcterms:identifier", s);
    add_who(g, s, p);
}

static void add_period(struct rdf *g, const struct dcat_dataset *d, const char *set)
{
    const char *s = iri(g, "_:period-", d->collection, "");
    if (!*d->issued || !*d->modified)
        return;
    rdf_link(g, set, "dcterms:temporal", s);
    rdf_class(g, s, "dcterms:PeriodOfTime");
    add_date(g, s, "dcat:startDate", d->issued);
    add_date(g, s, "dcat:endDate", d->modified);
}

void dcat_graph_dataset(struct rdf *g, const struct dcat_dataset *d, const struct dcat_publisher *p)
{
    const char *s = iri(g, DATASET, d->collection, ""), *how = iri(g, "_:how-", d->collection, "");
    rdf_class(g, s, "dcat:Dataset");
    rdf_class(g, s, "dcat:Resource");
    rdf_english(g, s, "dcterms:title", d->title);
    rdf_english(g, s, "dcterms:description", d->description);
    rdf_text(g, s, "dcterms:identifier", s);
    add_who(g, s, p);
    rdf_text(g, s, "dcat:keyword", d->collection);
    rdf_text(g, s, "dcat:keyword", d->boundary_type);
    add_theme(g, s);
    add_access(g, s, d->access);
    add_date(g, s, "dcterms:issued", d->issued);
    add_date(g, s, "dcterms:modified", d->modified);
    add_period(g, d, s);
    if (d->has_bbox)
        add_place(g, s, d->bbox, d->collection);
    if (d->series)
        add_series(g, d, s, p);
    rdf_link(g, s, "dcterms:provenance", how);
    rdf_class(g, how, "dcterms:ProvenanceStatement");
    rdf_english(g, how, "rdfs:label",
                "Bytes are taken in once, checked by rules and kept under their digest");
    for (size_t i = 0; i < d->n; i++) {
        if (d->n_current == 1 && d->versions[i].current)
            rdf_text(g, s, "dcat:version", d->versions[i].version);
        add_version(g, d, &d->versions[i], p);
    }
}

void dcat_graph_catalog(struct rdf *g, const struct dcat_publisher *p)
{
    rdf_class(g, CATALOG, "dcat:Catalog");
    rdf_class(g, CATALOG, "dcat:Resource");
    rdf_english(g, CATALOG, "dcterms:title", iri(g, "Datasets of ", p->name, ""));
    rdf_english(g, CATALOG, "dcterms:description",
                "Watched datasets with their versions, checksums and provenance");
    rdf_text(g, CATALOG, "dcterms:identifier", CATALOG);
    add_who(g, CATALOG, p);
    add_access(g, CATALOG, "PUBLIC");
    rdf_link(g, CATALOG, "dcat:themeTaxonomy", THEMES);
    rdf_class(g, THEMES, "skos:ConceptScheme");
    rdf_english(g, THEMES, "dcterms:title", "Data themes");
    rdf_english(g, THEMES, "skos:prefLabel", "Data themes");
}

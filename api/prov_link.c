/* prov_link: where the provenance of a document is told (PROV-AQ), as a Link header. Knows no
 * ledger, so that whoever renders can use it. */
#include "api/prov.h"

#define RUN_ID_MAX 36
#define PROV_REL "http://www.w3.org/ns/prov#has_provenance"

/* The first "<base mark>/prov/" of a document and the run behind it; no text from outside holds
 * the mark. */
void prov_link(struct resp *w, struct str base, struct str doc)
{
    static const char mark[] = "\\u001F/prov/";
    const char *at = memmem(doc.p, doc.n, mark, sizeof mark - 1);
    if (!at)
        return;
    at += sizeof mark - 1;
    const char *end = memchr(at, '"', doc.n - (size_t)(at - doc.p));
    struct str run = {at, end ? (size_t)(end - at) : 0};
    if (str_is_slug(run, RUN_ID_MAX))
        resp_header(w, "Link", "<%.*s/prov/%.*s>; rel=\"" PROV_REL "\"", STR_FMT(base),
                    STR_FMT(run));
}

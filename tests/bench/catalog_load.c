/* catalog_load: many changes in the public tables of an instance, for bench_catalog.sh.
 *
 *   catalog_load DIR SOURCES FROM TO [entries]
 *
 * Change k (FROM ≤ k < TO) is version k / SOURCES + 1 of source "place-<k % SOURCES>", which must
 * be registered. Its documents are rendered by the handler's own writers, redacted by its own table
 * and stored by ledger/publish; what a promotion does beside that (bytes, ledger rows, replay log)
 * is left out. An item is kept of the first version of each source, so that their number stays when
 * that of the changes grows; `entries`: only feed entries are written. */
#include <stdio.h>
#include <stdlib.h>
#include "handler/delta.h"
#include "handler/entry.h"
#include "handler/prov.h"
#include "handler/redact.h"
#include "handler/stac.h"
#include "ledger/publish.h"
#include "ledger/query.h"

#define BATCH 5000
#define BEGAN 1767225600000 /* 2026-01-01 */
#define EVERY 20000         /* ms between two changes */
#define ACROSS 100          /* sources of a row of the map */

static struct arena arena, sources;
static struct err err;

static void must(enum rc rc, const char *what)
{
    if (rc == RC_OK)
        return;
    fprintf(stderr, "catalog_load: %s: %s: %s\n", what, rc_name(err.rc), err.msg);
    exit(1);
}

static struct identity version_of(long k, int64_t version)
{
    struct identity id = {
        .size = 40000 + k % 9000, .version = version, .media_type = "application/geo+json"};
    char name[48];
    snprintf(name, sizeof name, "%ld v%lld", k, (long long)version);
    digest_sha256(name, strlen(name), &id.sha);
    return id;
}

/* A place of its own on a grid over a country. */
static void place(long source, double box[4])
{
    box[0] = -125 + 0.59 * (double)(source % ACROSS);
    box[1] = 25 + 0.24 * (double)(source / ACROSS % ACROSS);
    box[2] = box[0] + 0.4375;
    box[3] = box[1] + 0.1875;
}

static void fill(struct facts *f, struct candidate *c, const struct source *s, long k, long n)
{
    int64_t version = k / n + 1;
    f->finalized_at = BEGAN + k * EVERY;
    *c = (struct candidate){.no = k + 1,
                            .src_no = s->no,
                            .event_id = arena_printf(&arena, "evt_20260101T000000Z_%08lx", k),
                            .detector = "etag",
                            .outcome = "changed",
                            .version_hint = "\"v\"",
                            .etag = "\"v\"",
                            .detected_at = f->finalized_at - 900,
                            .received_at = f->finalized_at - 800,
                            .state = "leased",
                            .reason = "",
                            .result = ""};
    f->source = s;
    f->cand = c;
    f->run_id = arena_printf(&arena, "01980000-0000-7000-8000-%012lx", k);
    f->tags = (struct run_tags){"0.1.0", "0123456789ab", RULES_VERSION, "1"};
    f->started_at = f->finalized_at - 100;
    f->change_type = version == 1 ? "new" : "modified";
    f->change_class = version == 1 ? "new" : "content";
    f->to = version_of(k % n, version);
    if (version > 1)
        f->from = f->last = version_of(k % n, version - 1);
    f->item_id = arena_printf(&arena, "%s-v%lld", s->id, (long long)version);
    f->prev_item_id =
        version > 1 ? arena_printf(&arena, "%s-v%lld", s->id, (long long)version - 1) : NULL;
    f->delta_id = arena_printf(&arena, "dlt_%s", f->run_id);
    f->qa = (struct validation){.checks = 14,
                                .media_type = "application/geo+json",
                                .features = 105,
                                .has_bbox = true,
                                .report = STR("{\"outcome\":\"pass\"}")};
    place(k % n, f->qa.bbox);
    f->result = "promoted";
    f->reason = "";
}

static void publish(struct ledger *l, const struct source *s, long k, long n, bool entries)
{
    struct facts f = {0};
    struct candidate c;
    struct public_rows rows = {0};
    int64_t seq;
    fill(&f, &c, s, k, n);
    struct redact_change whole = {.finalized_at = f.finalized_at};
    must(entry_render(&arena, &f, &whole.entry, &err), "entry");
    if (!entries) {
        must(prov_render(&arena, &f, &whole.prov, &err), "prov");
        must(delta_render(&arena, &f, &whole.delta, &err), "delta");
    }
    if (f.to.version == 1)
        must(stac_item(&arena, &f, &whole.item, &err), "item");
    must(redact_rows(&arena, s, &whole, &rows, &err), "redact");
    must(query_i64(l, Q_META_NEXT_SEQ, &seq, &err, ""), "seq");
    const struct publication p = {.seq = seq,
                                  .run_id = f.run_id,
                                  .event_id = c.event_id,
                                  .delta_id = f.delta_id,
                                  .item_id = f.item_id,
                                  .detector = c.detector,
                                  .change_type = f.change_type,
                                  .change_class = f.change_class,
                                  .source = s,
                                  .sha = &f.to.sha,
                                  .size = f.to.size,
                                  .media_type = f.to.media_type,
                                  .rows = &rows};
    must(publish_rows(l, &p, &err), "publish");
    arena_reset(&arena);
}

static struct source *registered(struct ledger *l, long n)
{
    struct source *all = arena_alloc(&sources, (size_t)n * sizeof *all);
    char id[32];
    for (long i = 0; all && i < n; i++) {
        snprintf(id, sizeof id, "place-%05ld", i);
        must(source_by_id(l, &sources, id, &all[i], &err), id);
    }
    return all;
}

int main(int argc, char **argv)
{
    struct ledger *l = NULL;
    if (argc < 5)
        return 2;
    long n = strtol(argv[2], NULL, 10), from = strtol(argv[3], NULL, 10),
         to = strtol(argv[4], NULL, 10);
    arena_init(&arena, 16u << 20);
    arena_init(&sources, 1u << 30);
    must(ledger_open(argv[1], LEDGER_WRITE, digest_sha256, &l, &err), "open");
    struct source *all = registered(l, n);
    for (long k = from; all && k < to; k++) {
        if ((k - from) % BATCH == 0)
            must(ledger_begin(l, &err), "begin");
        publish(l, &all[k % n], k, n, argc > 5);
        if ((k - from) % BATCH == BATCH - 1 || k == to - 1)
            must(ledger_commit(l, &err), "commit");
    }
    ledger_close(&l);
    return all ? 0 : 1;
}

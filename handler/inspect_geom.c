/* inspect_geom: building, snapping, sorting; and the area on the ellipsoid. */
#include "handler/inspect_geom.h"

#include <endian.h>
#include <math.h>

#define METRES_PER_DEGREE 111319.49079327358 /* at the equator */
/* Half a million million metres in steps of a centimetre; and 2^25 products of two differences
 * still fit into 127 bits. */
#define SNAPPED_MAX 0x1p49
#define SCRATCH_MAX ((size_t)GEOM_VERTICES_MAX * 32)

/* ---- building -------------------------------------------------------------------------------- */

void geom_clear(struct geom *g)
{
    g->n = g->n_rings = g->n_parts = 0;
    g->has_z = false;
    g->bad = GEOM_FINE;
}

void geom_release(struct geom *g)
{
    free(g->x);
    free(g->y);
    free(g->z);
    free(g->rings);
    free(g->parts);
    *g = (struct geom){0};
}

/* Makes *p hold at least n items of the size. */
static bool grow(void *p, size_t *room, size_t n, size_t size)
{
    void *old, *bigger;
    size_t want = *room ? *room : 64;
    if (n <= *room)
        return true;
    while (want < n)
        want *= 2;
    memcpy(&old, p, sizeof old);
    bigger = realloc(old, want * size);
    if (!bigger)
        return false;
    memcpy(p, &bigger, sizeof bigger);
    *room = want;
    return true;
}

static bool fail(struct geom *g, enum geom_bad bad)
{
    if (g->bad == GEOM_FINE)
        g->bad = bad;
    return false;
}

void geom_part(struct geom *g, enum geom_kind kind)
{
    if (!grow(&g->parts, &g->parts_room, g->n_parts + 1, sizeof *g->parts)) {
        (void)fail(g, GEOM_NO_MEMORY);
        return;
    }
    g->parts[g->n_parts++] = (struct geom_part){kind, g->n_rings, 0};
}

void geom_ring(struct geom *g)
{
    if (!grow(&g->rings, &g->rings_room, g->n_rings + 1, sizeof *g->rings)) {
        (void)fail(g, GEOM_NO_MEMORY);
        return;
    }
    if (g->n_parts == 0)
        return;
    g->rings[g->n_rings++] = (struct geom_ring){g->n, 0};
    g->parts[g->n_parts - 1].n++;
}

static bool more_vertices(struct geom *g, size_t n)
{
    size_t room_y = g->room, room_z = g->room;
    if (n > GEOM_VERTICES_MAX - g->n)
        return fail(g, GEOM_TOO_LARGE);
    if (g->n + n <= g->room)
        return true;
    if (!grow(&g->z, &room_z, g->n + n, sizeof *g->z) ||
        !grow(&g->y, &room_y, g->n + n, sizeof *g->y) ||
        !grow(&g->x, &g->room, g->n + n, sizeof *g->x))
        return fail(g, GEOM_NO_MEMORY);
    return true;
}

size_t geom_vertices(struct geom *g, size_t n)
{
    size_t at = g->n;
    if (g->bad != GEOM_FINE || g->n_rings == 0 || !more_vertices(g, n))
        return SIZE_MAX;
    g->n += n;
    g->rings[g->n_rings - 1].n += n;
    return at;
}

void geom_vertex(struct geom *g, double x, double y, double z)
{
    size_t at = geom_vertices(g, 1);
    if (at == SIZE_MAX)
        return;
    g->x[at] = x;
    g->y[at] = y;
    g->z[at] = z;
}

/* ---- the normal form ------------------------------------------------------------------------- */

struct geom_snap geom_snap_of(double precision_m, double unit_m)
{
    double unit = unit_m > 0 ? unit_m : METRES_PER_DEGREE;
    double xy = floor(log10(2 * precision_m / unit)), z = floor(log10(2 * precision_m));
    return (struct geom_snap){pow(10, -xy), pow(10, -z)};
}

enum rc geom_scratch_init(struct geom_scratch *s)
{
    *s = (struct geom_scratch){.sha = digest_new()};
    buf_init(&s->ring, SCRATCH_MAX);
    buf_init(&s->part, SCRATCH_MAX);
    buf_init(&s->all, SCRATCH_MAX);
    return s->sha ? RC_OK : RC_NOMEM;
}

void geom_scratch_release(struct geom_scratch *s)
{
    buf_release(&s->ring);
    buf_release(&s->part);
    buf_release(&s->all);
    free(s->snapped);
    digest_free(&s->sha);
}

/* dims numbers per vertex into v; repeated vertices count once. False: a number has no place. */
static bool snap_ring(const struct geom *g, struct geom_ring r, struct geom_snap snap, int64_t *v,
                      size_t dims, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = r.at; i < r.at + r.n; i++) {
        double c[3] = {rint(g->x[i] * snap.xy), rint(g->y[i] * snap.xy), rint(g->z[i] * snap.z)};
        for (size_t d = 0; d < dims; d++) {
            if (!(c[d] > -SNAPPED_MAX && c[d] < SNAPPED_MAX))
                return false;
            v[n * dims + d] = (int64_t)c[d];
        }
        if (n == 0 || memcmp(v + n * dims, v + (n - 1) * dims, dims * sizeof *v) != 0)
            n++;
    }
    *ret_n = n;
    return true;
}

/* The sign of the area: 1 turns left, -1 right. */
static int turn_of(const int64_t *v, size_t n, size_t dims)
{
    __int128 sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t *a = v + i * dims, *b = v + (i + 1 == n ? 0 : i + 1) * dims;
        sum += (__int128)(a[0] - v[0]) * (b[1] - v[1]) - (__int128)(b[0] - v[0]) * (a[1] - v[1]);
    }
    return sum > 0 ? 1 : sum < 0 ? -1 : 0;
}

static void reverse(int64_t *v, size_t n, size_t dims)
{
    for (size_t i = 0, j = n; i + 1 < j; i++) {
        j--;
        for (size_t d = 0; d < dims; d++) {
            int64_t t = v[i * dims + d];
            v[i * dims + d] = v[j * dims + d];
            v[j * dims + d] = t;
        }
    }
}

static int compare_vertices(const int64_t *a, const int64_t *b, size_t dims)
{
    for (size_t d = 0; d < dims; d++)
        if (a[d] != b[d])
            return a[d] < b[d] ? -1 : 1;
    return 0;
}

/* Where the ring begins so that its vertices, read from there, come first of all rotations. Takes
 * two candidates and skips, on a difference, all that the loser's way has passed: linear time, also
 * for rings that go to and fro between two places. */
static size_t start_of(const int64_t *v, size_t n, size_t dims)
{
    size_t i = 0, j = 1, k = 0;
    while (i < n && j < n && k < n) {
        int c = compare_vertices(v + (i + k) % n * dims, v + (j + k) % n * dims, dims);
        if (c == 0) {
            k++;
            continue;
        }
        if (c > 0)
            i += k + 1;
        else
            j += k + 1;
        j += i == j;
        k = 0;
    }
    return i < j ? i : j;
}

static void put_number(struct buf *out, int64_t v)
{
    uint64_t le = htole64((uint64_t)v);
    buf_add(out, &le, sizeof le);
}

static void put_vertices(struct buf *out, const int64_t *v, size_t n, size_t dims, size_t start)
{
    put_number(out, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        for (size_t d = 0; d < dims; d++)
            put_number(out, v[(start + i) % n * dims + d]);
}

static bool put_ring(struct geom *g, struct geom_ring r, enum geom_kind kind, bool hole,
                     struct geom_snap snap, struct geom_scratch *s, struct buf *out)
{
    size_t dims = g->has_z ? 3 : 2, n, start = 0;
    int64_t *v = s->snapped;
    if (!snap_ring(g, r, snap, v, dims, &n))
        return fail(g, GEOM_NOT_FINITE);
    if (kind == GEOM_POLYGON) {
        if (n > 1 && compare_vertices(v, v + (n - 1) * dims, dims) == 0)
            n--;
        int turn = turn_of(v, n, dims);
        if (turn != 0 && (turn > 0) == hole)
            reverse(v, n, dims);
        start = start_of(v, n, dims);
    }
    put_vertices(out, v, n, dims, start);
    return true;
}

/* Pieces of a buffer that are put into order by their bytes. */
static int by_bytes(const void *x, const void *y)
{
    const struct str *a = x, *b = y;
    int d = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);
    return d ? d : (a->n > b->n) - (a->n < b->n);
}

/* ends[i] is where piece i ends in `from`; the sorted pieces are appended to out. */
static bool put_sorted(struct geom *g, const struct buf *from, const size_t *ends, size_t n,
                       struct buf *out)
{
    struct str *pieces = malloc((n ? n : 1) * sizeof *pieces);
    if (!pieces)
        return fail(g, GEOM_NO_MEMORY);
    for (size_t i = 0; i < n; i++) {
        size_t at = i ? ends[i - 1] : 0;
        pieces[i] = (struct str){from->data + at, ends[i] - at};
    }
    qsort(pieces, n, sizeof *pieces, by_bytes);
    for (size_t i = 0; i < n; i++)
        buf_str(out, pieces[i]);
    free(pieces);
    return true;
}

static bool put_part(struct geom *g, const struct geom_part *p, struct geom_snap snap,
                     struct geom_scratch *s)
{
    size_t holes = p->n > 1 ? p->n - 1 : 0, *ends = malloc((holes ? holes : 1) * sizeof *ends);
    bool ok = ends != NULL || fail(g, GEOM_NO_MEMORY);
    put_number(&s->part, p->kind);
    put_number(&s->part, (int64_t)p->n);
    if (ok && p->n > 0)
        ok = put_ring(g, g->rings[p->at], p->kind, false, snap, s, &s->part);
    buf_clear(&s->ring);
    for (size_t i = 0; ok && i < holes; i++) {
        ok = put_ring(g, g->rings[p->at + 1 + i], p->kind, true, snap, s, &s->ring);
        ends[i] = s->ring.len;
    }
    if (ok && holes > 0)
        ok = put_sorted(g, &s->ring, ends, holes, &s->part);
    free(ends);
    return ok;
}

bool geom_digest(struct geom *g, struct geom_snap snap, struct geom_scratch *s, struct sha256 *ret)
{
    if (g->bad == GEOM_NO_MEMORY || g->bad == GEOM_TOO_LARGE)
        return false;
    size_t *ends = malloc((g->n_parts ? g->n_parts : 1) * sizeof *ends);
    bool ok = (ends && grow(&s->snapped, &s->room, g->n * 3, sizeof *s->snapped)) ||
              fail(g, GEOM_NO_MEMORY);
    buf_clear(&s->part);
    buf_clear(&s->all);
    for (size_t i = 0; ok && i < g->n_parts; i++) {
        ok = put_part(g, &g->parts[i], snap, s);
        ends[i] = s->part.len;
    }
    put_number(&s->all, g->has_z ? 3 : 2);
    ok = ok && put_sorted(g, &s->part, ends, g->n_parts, &s->all);
    free(ends);
    if (ok && (buf_rc(&s->part) != RC_OK || buf_rc(&s->ring) != RC_OK || buf_rc(&s->all) != RC_OK))
        ok = fail(g, GEOM_NO_MEMORY);
    if (ok) {
        digest_add(s->sha, s->all.data, s->all.len);
        digest_take(s->sha, ret);
    }
    return ok;
}

/* ---- measures -------------------------------------------------------------------------------- */

bool geom_bounds(const struct geom *g, double ret[4])
{
    double b[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < g->n; i++) {
        b[0] = fmin(b[0], g->x[i]);
        b[1] = fmin(b[1], g->y[i]);
        b[2] = fmax(b[2], g->x[i]);
        b[3] = fmax(b[3], g->y[i]);
    }
    if (!isfinite(b[0]) || !isfinite(b[1]) || !isfinite(b[2]) || !isfinite(b[3]))
        return false;
    memcpy(ret, b, sizeof b);
    return true;
}

/* Snyder (1987), 3-12: q of the authalic latitude; the equal-area y is a * q / 2. */
static double authalic_q(double degrees)
{
    const double e2 = 0.0066943799901413165, e = 0.08181919084262149;
    double s = sin(degrees * (M_PI / 180));
    return (1 - e2) * (s / (1 - e2 * s * s) - log((1 - e * s) / (1 + e * s)) / (2 * e));
}

static double ring_area(const struct geom *g, struct geom_ring r)
{
    const double a_km = 6378.137;
    double sum = 0;
    if (r.n < 3)
        return 0;
    double x0 = g->x[r.at + r.n - 1], q0 = authalic_q(g->y[r.at + r.n - 1]);
    for (size_t i = r.at; i < r.at + r.n; i++) {
        double x1 = g->x[i], q1 = authalic_q(g->y[i]);
        sum += (x1 - x0) * (q0 + q1);
        x0 = x1;
        q0 = q1;
    }
    return fabs(sum) * (M_PI / 180) * a_km * a_km / 4;
}

double geom_area_km2(const struct geom *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct geom_part *p = &g->parts[i];
        if (p->kind != GEOM_POLYGON || p->n == 0)
            continue;
        double area = ring_area(g, g->rings[p->at]);
        for (size_t k = 1; k < p->n; k++)
            area -= ring_area(g, g->rings[p->at + k]);
        sum += area > 0 ? area : 0;
    }
    return isfinite(sum) ? sum : 0;
}

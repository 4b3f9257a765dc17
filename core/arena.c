/* arena: a list of blocks, newest first; allocation is a step forward in the newest.
 *
 * Invariants
 *   1. used counts what was handed out, rounded to ALIGN; used <= cap.
 *   2. Blocks never move, so neither does what was handed out.
 *   3. A failed allocation changes nothing but `full`.
 * A request larger than the rest of the newest block gets a block of its own behind it when it is
 * large, so that one big document does not waste the room that small ones still have.
 * Called from everywhere; one arena is used by one thread. */
#include "core/arena.h"

#include <stdalign.h>
#include <stdint.h>

#define ALIGN alignof(max_align_t)
#define BLOCK_MIN 4096 /* a small request is served from one page */
#define BLOCK_MAX (256u << 10)

struct arena_block {
    struct arena_block *next; /* the older one */
    size_t size, used;
    alignas(max_align_t) unsigned char data[];
};

long arena_fail_after = -1;

static bool told_to_fail(void)
{
    return arena_fail_after >= 0 && arena_fail_after-- == 0;
}

void arena_init(struct arena *a, size_t cap)
{
    *a = (struct arena){.cap = cap};
}

static void free_blocks(struct arena_block *b)
{
    while (b) {
        struct arena_block *next = b->next;
        free(b);
        b = next;
    }
}

void arena_reset(struct arena *a)
{
    if (a->head) {
        free_blocks(a->head->next);
        a->head->next = NULL;
        a->head->used = 0;
    }
    a->used = 0;
    a->full = false;
}

void arena_release(struct arena *a)
{
    free_blocks(a->head);
    arena_init(a, a->cap);
}

/* Rounded up to ALIGN, at least one unit; 0 when it cannot be. */
static size_t rounded(size_t n)
{
    if (n > SIZE_MAX / 2)
        return 0;
    return n == 0 ? ALIGN : (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Each block doubles the one before, so that n bytes take log n calls of malloc. */
static size_t block_size(const struct arena *a, size_t n)
{
    size_t size = a->head ? a->head->size * 2 : BLOCK_MIN;
    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    return size > n ? size : n;
}

static struct arena_block *block_new(size_t size)
{
    struct arena_block *b = malloc(sizeof *b + size);
    if (b)
        *b = (struct arena_block){.size = size};
    return b;
}

static struct arena_block *block_for(struct arena *a, size_t n)
{
    struct arena_block *head = a->head;
    if (head && head->size - head->used >= n)
        return head;
    bool behind = head && n > BLOCK_MAX / 2;
    struct arena_block *b = block_new(behind ? n : block_size(a, n));
    if (!b)
        return NULL;
    b->next = behind ? head->next : head;
    if (behind)
        head->next = b;
    else
        a->head = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
    size_t need = rounded(n);
    if (need == 0 || need > a->cap - a->used) {
        a->full = true;
        return NULL;
    }
    if (told_to_fail())
        return NULL;
    struct arena_block *b = block_for(a, need);
    if (!b)
        return NULL;
    void *p = b->data + b->used;
    b->used += need;
    a->used += need;
    return p;
}

void *arena_zalloc(struct arena *a, size_t n)
{
    void *p = arena_alloc(a, n);
    if (p)
        memset(p, 0, n);
    return p;
}

/* Is p, of `size` rounded bytes, the newest allocation of the newest block? */
static bool is_newest(const struct arena *a, const void *p, size_t size)
{
    const struct arena_block *b = a->head;
    return b && size <= b->used && p == b->data + (b->used - size);
}

void *arena_resize(struct arena *a, void *p, size_t old, size_t n)
{
    size_t have = rounded(old), need = rounded(n);
    if (!p)
        return arena_alloc(a, n);
    if (need == 0)
        return NULL;
    if (is_newest(a, p, have)) {
        struct arena_block *b = a->head;
        bool fits =
            need <= have || (need - have <= b->size - b->used && need - have <= a->cap - a->used);
        if (fits && need > have && told_to_fail())
            return NULL;
        if (fits) {
            b->used = b->used - have + need;
            a->used = a->used - have + need;
            return p;
        }
    }
    if (need <= have)
        return p;
    void *fresh = arena_alloc(a, n);
    if (fresh)
        memcpy(fresh, p, old);
    return fresh;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_str(a, str_of(s));
}

char *arena_str(struct arena *a, struct str s)
{
    char *p = s.n < SIZE_MAX ? arena_alloc(a, s.n + 1) : NULL;
    if (!p)
        return NULL;
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return p;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (p)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

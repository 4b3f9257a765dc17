/* arena: memory that belongs to one request or one job, freed together.
 *
 * Invariants
 *   1. The sum of what was handed out never exceeds the cap given at init.
 *   2. What was handed out stays where it is until arena_reset or arena_release.
 *   3. After a failed allocation the arena stays usable; the caller returns RC_NOMEM.
 */
#ifndef FRESHET_CORE_ARENA_H
#define FRESHET_CORE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include "core/rc.h"
#include "core/str.h"

struct arena_block;
struct arena {
    struct arena_block *head;
    size_t used, cap;
    bool full; /* the cap refused something since the last reset; the machine may have memory */
};

/* No memory is taken before the first allocation. */
void arena_init(struct arena *a, size_t cap);
/* Forgets everything handed out, keeps the newest block for reuse. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

/* Aligned for any type, not zeroed. NULL when the cap or the machine's memory is exhausted. */
void *arena_alloc(struct arena *a, size_t n);
/* Zeroed. */
void *arena_zalloc(struct arena *a, size_t n);
/* Gives p (old bytes, from this arena; NULL allocates) the size n, in place where it is the newest
 * allocation, else by copying. p stays valid when NULL is returned. */
void *arena_resize(struct arena *a, void *p, size_t old, size_t n);
/* NUL-terminated copies. */
char *arena_strdup(struct arena *a, const char *s);
char *arena_str(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))

/* Test hook: when >= 0, counts down on every allocation and fails the one that meets zero. */
extern long arena_fail_after;

#endif

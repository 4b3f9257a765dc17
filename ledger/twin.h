/* twin: content that comes in more than one form of bytes, and the noise that knowing so avoids.
 *
 *   a handler reads bytes that say what the head says ─▶ twin_learn: not read again under this head
 *   the upstream turns from one form to the other     ─▶ the state knows both (check.h), no news
 *
 * Invariants
 *   1. A form is known by its digest, for one head: when the head moves, nothing is known any more.
 *   2. Only who has read the bytes says that they are twins; a check goes by the digests, or by the
 *      validators that came with them.
 *   3. (I8) Noise of a restricted or sovereign source never moves a public number.
 */
#ifndef FRESHET_LEDGER_TWIN_H
#define FRESHET_LEDGER_TWIN_H

#include "ledger/source.h"

/* Are these bytes known to say what the head says? WRITE role. */
MUST_CHECK enum rc twin_known(struct ledger *l, int64_t src_no, const struct sha256 *head,
                              const struct sha256 *sha, bool *ret, struct err *err);
/* They do. Inside the caller's transaction. WRITE role. */
MUST_CHECK enum rc twin_learn(struct ledger *l, int64_t src_no, const struct sha256 *head,
                              const struct sha256 *sha, int64_t now, struct err *err);
/* The upstream has sent a form of the head: if what it sent before is one too, checks may know.
 * Inside the caller's transaction. WRITE role. */
MUST_CHECK enum rc twin_meet(struct ledger *l, int64_t src_no, const struct sha256 *head,
                             const struct sha256 *sha, struct err *err);

#define NOISE_BYTE_ONLY "byte_only"   /* a run ended there: other bytes, the same content */
#define NOISE_KNOWN_FORM "known_form" /* a check met the other form: no candidate, no run */
/* One more. Inside the caller's transaction. INBOX role. */
MUST_CHECK enum rc noise_count(struct ledger *l, const char *kind, enum level level, int64_t now,
                               struct err *err);
/* All of the days in [from, until), every level. WRITE role. */
MUST_CHECK enum rc noise_between(struct ledger *l, int64_t from, int64_t until, int64_t *ret,
                                 struct err *err);

#endif

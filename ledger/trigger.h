/* trigger: questions about the triggers of a source that need no clock. When windows open is asked
 * of calendar.h. Pure, but for trigger_wanted, which reads a declaration.
 */
#ifndef FRESHET_LEDGER_TRIGGER_H
#define FRESHET_LEDGER_TRIGGER_H

#include "ledger/source.h"

/* Is one of its triggers of this type? With month > 0 only an annual one whose window holds it. */
bool trigger_of_type(const struct source *s, enum trigger_type type, int month);
/* The same of a stored source. One whose declaration cannot be read has any trigger: its check says
 * what is wrong with it, and not to look would say nothing. The arena is used and emptied. */
MUST_CHECK enum rc trigger_wanted(struct ledger *l, struct arena *a, int64_t src_no,
                                  enum trigger_type type, int month, bool *ret, struct err *err);
/* What the source lets expect, in words: "yearly, month 7 to 10; census 2030". "" without triggers;
 * arena memory. */
MUST_CHECK enum rc trigger_words(struct arena *a, const struct source *s, const char **ret,
                                 struct err *err);

#endif

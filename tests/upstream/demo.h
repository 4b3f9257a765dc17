/* demo: about a dozen invented datasets under /data/ that change while one watches.
 *
 * Every tick one living dataset changes for real: a corner moves, numbers change, a feature comes
 * or goes, or the dataset returns to what it was before. Which and how is a fixed script, so two
 * runs with the same number of ticks serve the same bytes.
 *
 * Called by main; the server calls demo_tick and demo_reset.
 */
#ifndef FRESHET_UPSTREAM_DEMO_H
#define FRESHET_UPSTREAM_DEMO_H

#include "tests/upstream/world.h"

struct demo;

/* Adds the datasets to the world, which must outlive the demo. */
MUST_CHECK enum rc demo_new(struct world *w, struct demo **ret, struct err *err);
void demo_free(struct demo **d);
void demo_tick(void *demo);  /* one step of the script */
void demo_reset(void *demo); /* all datasets as at the beginning */
/* "counties: a boundary corner moved": what the last tick did. */
const char *demo_last(const struct demo *d);

#endif

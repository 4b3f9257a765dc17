/* diff_html: a delta manifest as one HTML page: a picture and tables, readable offline,
 * without scripts.
 *
 * Invariants
 *   1. Nothing is loaded: no script, no font, no address. The page says so to browsers.
 *   2. Every text of the manifest is escaped: names and values are foreign.
 *   3. The picture adds nothing to the tables: what it shows is told there in words, and no meaning
 *      hangs on colour alone (patterns and dashes).
 * Called by cmd_diff. */
#ifndef FRESHET_CLI_DIFF_HTML_H
#define FRESHET_CLI_DIFF_HTML_H

#include "cli/cli.h"

int diff_html(struct cli *c, yyjson_val *delta);
/* A value of an attribute as text, "none" for null. Of cmd_diff. */
const char *diff_value(struct cli *c, yyjson_val *v);

#endif

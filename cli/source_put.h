/* source_put: stores declarations, with everything that must follow in the same transaction.
 * Used by `source add`, `source set` and `source import`. */
#ifndef FRESHET_CLI_SOURCE_PUT_H
#define FRESHET_CLI_SOURCE_PUT_H

#include "cli/cli.h"
#include "ledger/source.h"

/* A document being built, as a parsed value of the arena. */
MUST_CHECK enum rc source_decl(struct cli *c, const yyjson_mut_doc *d, const char *what,
                               yyjson_val **ret);
/* source_by_id, with an error that shows the way to the ids there are. */
MUST_CHECK enum rc source_find(struct cli *c, const char *id, struct source *ret);
/* Adds s, or with `update` changes the source of that id, and writes its public rows anew. Inside a
 * transaction. *ret_updated: it was there before. doc: s as project_describe has it, or empty. */
MUST_CHECK enum rc source_store(struct cli *c, struct source *s, struct str doc, bool update,
                                bool *ret_updated);
/* Can adapter, adapter_options and the number of secrets be used together? Names the field. */
MUST_CHECK enum rc source_check_adapter(const struct source *s, struct err *err);
/* Is the secret of this name there, and long enough to sign with? Its value is told to nobody. */
MUST_CHECK enum rc source_secret_usable(struct cli *c, const char *name);
/* A line for each address of s that has a credential in its query: what is declared stays in the
 * log. Returns how many. */
int source_warn_query(const struct cli *c, const struct source *s);
/* Declaration and, when it is stored, number and dates as members of a JSON object. */
yyjson_mut_val *source_json(struct cli *c, yyjson_mut_doc *d, const struct source *s);

#endif

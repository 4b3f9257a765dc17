/* conf_edit: changes one member of a JSON-with-comments text and leaves every other byte alone.
 * Used by conf_set_file; apart, because it knows text and no settings. */
#ifndef FRESHET_CORE_CONF_EDIT_H
#define FRESHET_CORE_CONF_EDIT_H

#include "core/buf.h"
#include "core/rc.h"
#include "core/str.h"

/* Appends to out `text`, an object, with member `name` having the value `json`: in its place where
 * it is there, else added at the end. RC_INVALID when text does not read as an object; the caller
 * parses the result anyway, as only that proves it. */
MUST_CHECK enum rc conf_edit(struct str text, struct str name, struct str json, struct buf *out);

#endif

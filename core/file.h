/* file: small files, read and replaced whole; folders that go with all they hold.
 *
 * Invariants
 *   1. A file that is replaced is at every moment the old one or the new one, whole, also after a
 *      power cut: written beside it, fsync, rename, fsync of the directory.
 *   2. When file_replace fails, the old file is untouched and nothing is left beside it.
 */
#ifndef FRESHET_CORE_FILE_H
#define FRESHET_CORE_FILE_H

#include "core/buf.h"
#include "core/rc.h"
#include "core/str.h"

/* Appends all of the file to out, whose max is the limit. RC_NOT_FOUND, RC_IO or RC_TOO_LARGE. */
MUST_CHECK enum rc file_read(const char *path, struct buf *out, struct err *err);
/* The mode of an existing file stays; a new one gets `mode`. A symbolic link is followed. */
MUST_CHECK enum rc file_replace(const char *path, struct str text, unsigned mode, struct err *err);
/* The folder with all that is in it; a symbolic link goes as itself. RC_OK when nothing
 * is there. */
MUST_CHECK enum rc file_remove_tree(const char *path, struct err *err);

#endif

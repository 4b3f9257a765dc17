/* inspect_program: the command line and the server loop that freshet-inspect and
 * freshet-inspect-gdal have in common. They differ in what they can read. */
#ifndef FRESHET_HANDLER_INSPECT_PROGRAM_H
#define FRESHET_HANDLER_INSPECT_PROGRAM_H

#include "handler/inspect.h"

#define INSPECT_PROGRAM_OWN "freshet-inspect"
#define INSPECT_PROGRAM_GDAL "freshet-inspect-gdal"

struct inspect_program {
    const char *name;
    inspect_reader *reader;
    /* Loads and tries all the reader may need, before any sandbox. */
    enum rc (*warm)(struct err *err);
    bool reads_gdal; /* false: files for GDAL are handed to the sibling program */
};

int inspect_program_main(const struct inspect_program *p, int argc, char **argv);

#endif

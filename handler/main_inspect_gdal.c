/* freshet-inspect-gdal: the inspector with GDAL. freshet-inspect and inspector start it. */
#include "handler/inspect_gdal.h"
#include "handler/inspect_program.h"

int main(int argc, char **argv)
{
    const struct inspect_program p = {.name = INSPECT_PROGRAM_GDAL,
                                      .reader = inspect_gdal,
                                      .warm = inspect_gdal_warm,
                                      .reads_gdal = true};
    return inspect_program_main(&p, argc, argv);
}

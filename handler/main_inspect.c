/* freshet-inspect: a file in, a report out (inspect.h). Reads GeoJSON itself and starts in a
 * millisecond; for other geodata it becomes freshet-inspect-gdal, which knows everything. */
#include "handler/inspect_geojson.h"
#include "handler/inspect_program.h"

/* A first run fills what libraries make on first use: OpenSSL's tables, GEOS's, the allocator's. */
static enum rc warm(struct err *err)
{
    static const char sample[] =
        "{\"type\":\"Feature\",\"properties\":{\"a\":1.5},\"geometry\":{\"type\":\"Polygon\","
        "\"coordinates\":[[[0,0],[1,0],[1,1],[0,0]]]}}";
    struct inspect_options o;
    struct buf out;
    inspect_options_default(&o);
    buf_init(&out, 1u << 16);
    enum rc rc = inspect_bytes(str_of(sample), &o, inspect_geojson, &out, err);
    buf_release(&out);
    return rc;
}

int main(int argc, char **argv)
{
    const struct inspect_program p = {
        .name = INSPECT_PROGRAM_OWN, .reader = inspect_geojson, .warm = warm};
    return inspect_program_main(&p, argc, argv);
}

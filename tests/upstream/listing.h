/* listing: documents that tell what lies in a folder, in the forms that publishers use, and the
 * metadata of an ArcGIS layer. Pure writers; called by demo.c. */
#ifndef FRESHET_UPSTREAM_LISTING_H
#define FRESHET_UPSTREAM_LISTING_H

#include "core/buf.h"

struct listing_entry {
    const char *name; /* of the file, without folder */
    const char *tag;  /* ETag without quotes */
    size_t size;
    int64_t modified_ms;
};

void listing_json(struct buf *out, const struct listing_entry *e, size_t n);
/* As Apache's mod_autoindex does it. */
void listing_html(struct buf *out, const char *folder, const struct listing_entry *e, size_t n);
/* As S3 ListObjectsV2 does it. */
void listing_s3(struct buf *out, const char *bucket, const struct listing_entry *e, size_t n);
void listing_arcgis(struct buf *out, const char *layer, int64_t edited_ms, size_t features);

#endif

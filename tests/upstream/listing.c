/* listing: see listing.h. Names are our own and need no escaping. */
#include "tests/upstream/listing.h"

#include "core/clock.h"

void listing_json(struct buf *out, const struct listing_entry *e, size_t n)
{
    buf_puts(out, "{\"files\":[\n");
    for (size_t i = 0; i < n; i++) {
        char at[TIME_MAX];
        time_format(e[i].modified_ms, at);
        buf_printf(out, "{\"name\":\"%s\",\"size\":%zu,\"etag\":\"%s\",\"modified\":\"%s\"}%s\n",
                   e[i].name, e[i].size, e[i].tag, at, i + 1 < n ? "," : "");
    }
    buf_printf(out, "],\"count\":%zu}\n", n);
}

void listing_html(struct buf *out, const char *folder, const struct listing_entry *e, size_t n)
{
    buf_printf(out,
               "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n<html>\n <head>\n"
               "  <title>Index of %s</title>\n </head>\n <body>\n<h1>Index of %s</h1>\n<pre>"
               "<a href=\"?C=N;O=D\">Name</a>                     "
               "<a href=\"?C=M;O=A\">Last modified</a>      "
               "<a href=\"?C=S;O=A\">Size</a><hr>"
               "<a href=\"/\">Parent Directory</a>                              -   \n",
               folder, folder);
    for (size_t i = 0; i < n; i++) {
        char at[TIME_MAX];
        int pad = 24 - (int)strlen(e[i].name);
        time_format(e[i].modified_ms, at);
        buf_printf(out, "<a href=\"%s\">%s</a>%*s %.10s %.5s  %5zu  \n", e[i].name, e[i].name,
                   pad > 0 ? pad : 0, "", at, at + 11, e[i].size);
    }
    buf_puts(out, "<hr></pre>\n<address>Apache/2.4.57 (Debian) Server</address>\n</body></html>\n");
}

void listing_s3(struct buf *out, const char *bucket, const struct listing_entry *e, size_t n)
{
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>%s</Name>"
               "<Prefix>data/</Prefix><KeyCount>%zu</KeyCount><MaxKeys>1000</MaxKeys>"
               "<IsTruncated>false</IsTruncated>",
               bucket, n);
    for (size_t i = 0; i < n; i++) {
        char at[TIME_MAX];
        time_format(e[i].modified_ms, at);
        buf_printf(out,
                   "<Contents><Key>data/%s</Key><LastModified>%s</LastModified>"
                   "<ETag>&quot;%s&quot;</ETag><Size>%zu</Size>"
                   "<StorageClass>STANDARD</StorageClass></Contents>",
                   e[i].name, at, e[i].tag, e[i].size);
    }
    buf_puts(out, "</ListBucketResult>\n");
}

void listing_arcgis(struct buf *out, const char *layer, int64_t edited_ms, size_t features)
{
    buf_printf(out,
               "{\"currentVersion\":11.1,\"id\":0,\"name\":\"%s\",\"type\":\"Feature Layer\","
               "\"geometryType\":\"esriGeometryPolygon\",\"objectIdField\":\"OBJECTID\","
               "\"maxRecordCount\":2000,\"extent\":{\"xmin\":-102.0,\"ymin\":37.0,\"xmax\":-94.6,"
               "\"ymax\":40.0,\"spatialReference\":{\"wkid\":4326}},\"featureCount\":%zu,"
               "\"editingInfo\":{\"lastEditDate\":%lld,\"schemaLastEditDate\":1704067200000,"
               "\"dataLastEditDate\":%lld},\"capabilities\":\"Query\"}\n",
               layer, features, (long long)edited_ms, (long long)edited_ms);
}

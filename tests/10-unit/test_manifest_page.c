/* manifest_page: pages of listings in four languages, hostile ones first. Invariants of
 * detectors/manifest_page.h are cited as P1…. */
#include "tests/10-unit/listing_source.h"

#include "detectors/manifest_markup.h"
#include "detectors/manifest_page.h"
#include "detectors/manifest_url.h"

static struct arena scratch;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, MANIFEST_PAGE_MEMORY_MAX);
    arena_init(&scratch, MANIFEST_PAGE_MEMORY_MAX);
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fail_after = -1;
    arena_release(&memory);
    arena_release(&scratch);
    return 0;
}

static enum rc read_at(const char *url, const char *type, const char *opts, struct str text,
                       struct manifest_page *p, struct listing *l)
{
    listing_init(l, &memory);
    *p = (struct manifest_page){.text = text,
                                .content_type = type,
                                .url = url,
                                .final_url = url,
                                .options = options(opts),
                                .scratch = &scratch,
                                .to = l};
    enum rc rc = manifest_page_read(p, &err);
    return rc == RC_OK ? listing_close(l, &err) : rc;
}

static void put(struct buf *b, const char *name, const char *text)
{
    if (text)
        buf_printf(b, " %s=%s", name, text);
}

/* "key url[ etag=…][ size=…];" for every entry, then "next=…". */
static const char *summary(const struct listing *l, const struct manifest_page *p)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    for (size_t i = 0; i < l->n; i++) {
        const struct listing_entry *e = &l->entries[i];
        buf_printf(&b, "%s %s", e->key, e->url);
        put(&b, "etag", e->etag);
        put(&b, "date", e->last_modified);
        put(&b, "sha", e->sha256);
        if (e->size >= 0)
            buf_printf(&b, " size=%lld", (long long)e->size);
        put(&b, "version", e->version);
        buf_puts(&b, ";");
    }
    if (p->next[0] != '\0')
        buf_printf(&b, "next=%s", p->next);
    const char *text = arena_str(&memory, buf_view(&b));
    buf_release(&b);
    return text;
}

static void reads(const char *url, const char *type, const char *opts, const char *text,
                  const char *want, int line)
{
    struct manifest_page p;
    struct listing l;
    enum rc rc = read_at(url, type, opts, str_of(text), &p, &l);
    if (rc != RC_OK)
        fail_msg("line %d: %s %s", line, rc_name(rc), err.msg);
    const char *got = summary(&l, &p);
    if (strcmp(got, want) != 0)
        fail_msg("line %d:\ngot  %s\nwant %s", line, got, want);
}
#define READS(url, type, opts, text, want) reads((url), (type), (opts), (text), (want), __LINE__)

static void refuses(const char *type, const char *opts, struct str text, const char *why, int line)
{
    struct manifest_page p;
    struct listing l;
    enum rc rc = read_at(BASE, type, opts, text, &p, &l);
    if (rc == RC_OK)
        fail_msg("line %d: taken", line);
    if (!strstr(err.msg, why) || !str_is_utf8(str_of(err.msg)))
        fail_msg("line %d: %s", line, err.msg);
}
#define REFUSES(type, opts, text, why) refuses((type), (opts), str_of(text), (why), __LINE__)

/* ---- markup ---- */

static void references(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *xml, *html; /* NULL: refused */
    } rows[] = {
        {"a", "a", "a"},
        {"a&amp;b", "a&b", "a&b"},
        {"&lt;&gt;&quot;&apos;", "<>\"'", "<>\"'"},
        {"&#65;&#x42;&#X43;", "ABC", "ABC"},
        {"&#xe9;&#x1F5FA;", "\xc3\xa9\xf0\x9f\x97\xba", "\xc3\xa9\xf0\x9f\x97\xba"},
        {"&amp;amp;", "&amp;", "&amp;"}, /* once, not twice */
        {"&bomb;", NULL, "&bomb;"},
        {"a&b", NULL, "a&b"},
        {"a&", NULL, "a&"},
        {"&;", NULL, "&;"},
        {"&#0;", NULL, "&#0;"},
        {"&#xD800;", NULL, "&#xD800;"},
        {"&#x110000;", NULL, "&#x110000;"},
        {"&#99999999999;", NULL, "&#99999999999;"},
        {"&#x;", NULL, "&#x;"},
        {"&#12a;", NULL, "&#12a;"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int html = 0; html < 2; html++) {
            const char *want = html ? rows[i].html : rows[i].xml, *got = NULL;
            enum rc rc = markup_text(&scratch, str_of(rows[i].raw), html, &got, &err);
            assert_rc(rc, want ? RC_OK : RC_INVALID);
            if (want)
                assert_string_equal(got, want);
        }
    const char *got;
    assert_rc(markup_text(&scratch, (struct str){"a\0b", 3}, true, &got, &err), RC_INVALID);
}

static void attributes(void **state)
{
    (void)state;
    struct str v;
    assert_true(markup_attr(STR(" class=x HREF = 'a b' id"), "href", &v));
    assert_str(v, "a b");
    assert_true(markup_attr(STR("href=a/b>c"), "href", &v));
    assert_str(v, "a/b>c");
    assert_true(markup_attr(STR(" href"), "href", &v));
    assert_str(v, "");
    assert_true(markup_attr(STR("href=\"open"), "href", &v));
    assert_str(v, "open");
    assert_false(markup_attr(STR(" xhref=1 = = '"), "href", &v));
    assert_false(markup_attr(STR(""), "href", &v));
}

/* What has no end is met once, so that a page costs its length. */
static void open_ends(void **state)
{
    (void)state;
    static const char *const ends[] = {"<a ", "<a '", "<!", "<!--", "<?", "</", "<![CDATA["};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        for (int html = 0; html < 2; html++) {
            struct markup m;
            struct buf b;
            int tokens = 0;
            buf_init(&b, 1u << 20);
            for (int n = 0; n < 1000; n++)
                buf_puts(&b, ends[i]);
            markup_open(&m, buf_view(&b), html);
            for (enum markup_kind k = MARKUP_TEXT; k != MARKUP_END && k != MARKUP_BROKEN; tokens++)
                k = markup_next(&m).kind;
            buf_release(&b);
            bool text =
                html && strcmp(ends[i], "</") == 0; /* begins no tag, so it is text, but the last */
            assert_true(text ? tokens == 1000 : tokens <= 3);
        }
}

/* ---- urls ---- */

static void keys_and_urls(void **state)
{
    (void)state;
    assert_string_equal(manifest_url_folder(&memory, "https://e.org/a/b.json?x=/y"),
                        "https://e.org/a/");
    assert_string_equal(manifest_url_folder(&memory, "https://e.org"), "https://e.org/");
    assert_string_equal(manifest_url_folder(&memory, "https://e.org?x"), "https://e.org/");
    assert_string_equal(manifest_url_bucket(&memory, "https://e.org/b?list-type=2"),
                        "https://e.org/b/");
    assert_string_equal(manifest_url_encode(&memory, "a b/\xc3\xa9?%#.zip"),
                        "a%20b/%C3%A9%3F%25%23.zip");
    assert_string_equal(manifest_url_decode(&memory, STR("a%20b%2Fc%zz%4"), false), "a b/c%zz%4");
    assert_string_equal(manifest_url_decode(&memory, STR("a+b%2B%00"), true), "a b+%00");
    assert_string_equal(manifest_url_with(&memory, "https://e.org/?a=1&t=old&b=2#f", "t", "x/+="),
                        "https://e.org/?a=1&b=2&t=x%2F%2B%3D");
    assert_string_equal(manifest_url_with(&memory, "https://e.org/", "t", "x"),
                        "https://e.org/?t=x");
}

/* ---- JSON ---- */

static void json_pages(void **state)
{
    (void)state;
    READS(BASE "i.json", "", "{}",
          "[{\"name\":\"b\",\"size\":3},{\"name\":\"a b\",\"hash\":\"x1\"}]",
          "a b " BASE "a%20b version=x1;b " BASE "b size=3;");
    READS(
        BASE "i.json", "", "{}",
        "{\"files\":[{\"Path\":\"a\",\"HREF\":\"../z?q=1#f\",\"LastModified\":17,\"etag\":\"e\"}]}",
        "a https://e.org/z?q=1 etag=e date=17;");
    READS(BASE, "application/json", "{}", "{\"data\":7,\"items\":[\"a.zip\",\"sub/b.zip\"]}",
          "a.zip " BASE "a.zip;sub/b.zip " BASE "sub/b.zip;");
    READS(BASE, "application/json", "{\"items\":\"/r/0\"}",
          "{\"r\":[{\"a\":\"v1\",\"b\":{\"url\":\"//f.org/b\"},\"c\":\"https://g.org/c\"}]}",
          "a " BASE "a version=v1;b https://f.org/b;c https://g.org/c;");
    READS(BASE, "text/plain",
          "{\"items\":\"/features\",\"key\":\"/properties/GEOID\",\"version\":\"/properties/v\"}",
          "{\"type\":\"FeatureCollection\",\"features\":[{\"id\":1,\"properties\":"
          "{\"GEOID\":\"06\",\"v\":1.5}}]}",
          "06 " BASE "06 version=1.5;");
    READS(BASE, "application/json", "{}", "{\"items\":[],\"next\":\"?page=2\"}",
          "next=" BASE "?page=2");
    READS(BASE, "application/json", "{}",
          "{\"items\":[],\"links\":[{\"rel\":\"self\",\"href\":\"x\"},{\"rel\":\"next\",\"href\":"
          "\"/p/2\"}]}",
          "next=https://e.org/p/2");
    READS(BASE, "application/json", "{\"next\":\"/meta/next\"}",
          "{\"items\":[],\"next\":\"no\",\"meta\":{\"next\":null}}", "");
    READS(BASE, "application/json", "{}",
          "[{\"name\":\"a\",\"sha256\":\"sha256:"
          "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]",
          "a " BASE "a sha=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;");
}

static void json_refused(void **state)
{
    (void)state;
    REFUSES("application/json", "{}", "", "empty");
    REFUSES("application/json", "{}", "{\"items\":[", "not whole");
    REFUSES("application/json", "{}", "<!doctype html><a href=x>", "HTML where JSON");
    REFUSES("text/html", "{\"format\":\"json\"}", "<html><input type=password>", "HTML where JSON");
    REFUSES("application/json", "{}", "{\"error\":{\"code\":498}}", "error document");
    REFUSES("application/json", "{}", "{\"error\":true,\"items\":[]}", "error document");
    REFUSES("application/json", "{}", "{\"a\":1}", "no list of entries");
    REFUSES("application/json", "{\"items\":\"/a\"}", "{\"a\":1}", "nothing to list at /a");
    REFUSES("application/json", "{}", "[[1]]", "no object and no text");
    REFUSES("application/json", "{}", "[null]", "no object and no text");
    REFUSES("application/json", "{}", "[{\"size\":1}]", "no key");
    REFUSES("application/json", "{\"version\":\"v\"}", "[{\"key\":\"a\",\"v\":[1]}]",
            "no single value");
    REFUSES("application/json", "{}", "[{\"key\":\"a\",\"url\":\"ftp://e.org/a\"}]", "exclude it");
    REFUSES("application/json", "{}", "[{\"key\":\"a\",\"url\":\"https://u:p@e.org/a\"}]",
            "exclude it");
    REFUSES("application/json", "{}", "[{\"key\":\"a\\nb\"}]", "clean");
    REFUSES("application/json", "{}", "[{\"key\":\"a\\u0000b\"}]", "NUL");
    REFUSES("application/json", "{}", "[{\"key\":\"a\"},{\"key\":\"a\",\"size\":1}]", "twice");
    REFUSES("application/json", "{}", "{\"items\":[],\"next\":7}", "no URL");
    REFUSES("application/json", "{}", "{\"items\":[],\"next\":\"ftp://e.org/\"}", "no URL");
    /* P2 */
    REFUSES("application/json", "{}", "{\"features\":[],\"exceededTransferLimit\":true}",
            "there is more");
}

static void which_keys(void **state)
{
    (void)state;
    static const char list[] = "[\"a.zip\",\"b.txt\",\"sub/\",\"c.zip\"]";
    READS(BASE, "application/json", "{\"include\":\"*.zip\",\"exclude\":\"c*\"}", list,
          "a.zip " BASE "a.zip;");
    READS(BASE, "application/json", "{\"exclude\":\"*.zip\"}", list, "b.txt " BASE "b.txt;");
}

/* ---- CSV ---- */

static void csv_pages(void **state)
{
    (void)state;
    READS(BASE "i.csv", "", "{}",
          "\xef\xbb\xbfName,Bytes,Modified\r\n\"a, b\",12,2024-01-02\r\nc,1.2K,\r\n",
          "a, b " BASE "a%2C%20b date=2024-01-02 size=12;c " BASE "c version=1.2K;");
    READS(BASE "i.csv", "", "{\"key\":\"code\",\"url\":\"where\"}",
          "where,code,name\nhttps://f.org/1,x,n\n", "x https://f.org/1;");
    READS(BASE "i.csv", "", "{}", "url\nhttps://f.org/a/1.zip\n", "1.zip https://f.org/a/1.zip;");
    READS(BASE "i.csv", "", "{}", "key,size\n", "");
    REFUSES("text/csv", "{}", "<html>", "HTML where a table");
    REFUSES("text/csv", "{}", "\n\n", "no header");
    REFUSES("text/csv", "{}", "a,b\n1,2\n", "no column looks like a key");
    REFUSES("text/csv", "{\"size\":\"n\"}", "key,b\n1,2\n", "no column n");
    REFUSES("text/csv", "{}", "key,size\na,1\nb\n", "line 3 has 1 cells");
    REFUSES("text/csv", "{}", "key,size\n\"a,1\n", "no end");
}

/* ---- buckets ---- */

#define S3(inside)                                                                                 \
    "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"x\">" inside "</ListBucketResult>"

static void s3_pages(void **state)
{
    (void)state;
    READS("https://b.s3.org/?list-type=2&prefix=p", "application/xml", "{}",
          S3("<Name>b</Name><IsTruncated>false</IsTruncated><Contents><Key>p/a &amp; b.zip</Key>"
             "<LastModified>2024-01-02T00:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag>"
             "<Size>12</Size><Owner><ID>1</ID><Key>no</Key></Owner></Contents>"
             "<CommonPrefixes><Prefix>q/</Prefix></CommonPrefixes>"),
          "p/a & b.zip https://b.s3.org/p/a%20%26%20b.zip etag=\"x\" "
          "date=2024-01-02T00:00:00.000Z size=12;");
    READS("https://s3.org/bucket?list-type=2&continuation-token=old", "", "{}",
          S3("<Contents><Key><![CDATA[//evil.org/<x>]]></Key></Contents><!-- c --><IsTruncated>true"
             "</IsTruncated><NextContinuationToken>1/+=&amp;</NextContinuationToken>"),
          "//evil.org/<x> https://s3.org/bucket///evil.org/%3Cx%3E;"
          "next=https://s3.org/bucket?list-type=2&continuation-token=1%2F%2B%3D%26");
    READS("https://s3.org/b/", "", "{}",
          S3("<Contents><Key>a+b%2B%C3%A9/</Key></Contents><Contents><Key>a+b%2B</Key></Contents>"
             "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
             "<NextMarker>a+b%2B</NextMarker>"),
          "a b+ https://s3.org/b/a%20b%2B;next=https://s3.org/b/?marker=a%20b%2B");
    READS("https://s3.org/b/", "text/xml", "{}",
          "<s:ListBucketResult><s:Contents><s:Key>a</s:Key>"
          "<VersionId>7</VersionId></s:Contents></s:ListBucketResult>\n",
          "a https://s3.org/b/a version=7;");
    READS("https://s3.org/b/", "", "{}", "<ListBucketResult/>", "");
}

static void s3_refused(void **state)
{
    (void)state;
    REFUSES("application/xml", "{}", "<Error><Code>AccessDenied</Code></Error>", "error document");
    REFUSES("application/xml", "{}", "<ListBucketResult><Contents>", "not whole");
    REFUSES("application/xml", "{}", "<ListBucketResult><Contents></ListBucketResult>", "not open");
    REFUSES("application/xml", "{}", "<ListBucketResult/><ListBucketResult/>", "no listing");
    REFUSES("application/xml", "{}", "x<ListBucketResult/>", "no XML");
    REFUSES("application/xml", "{}", S3("<Contents><Size>1</Size></Contents>"), "no key");
    REFUSES("application/xml", "{}", S3("<IsTruncated>true</IsTruncated>"), "list-type=2");
    REFUSES("application/xml", "{}", S3("<Contents><Key>a&b</Key></Contents>"), "reference");
    REFUSES("application/xml", "{}", S3("<Contents><Key>&e;</Key></Contents>"), "reference");
    REFUSES("application/xml", "{}", S3("<Contents><Key>a&#10;b</Key></Contents>"), "clean");
    REFUSES("application/xml", "{}", S3("<a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a>"),
            "deeper");
    REFUSES("application/xml", "{}", "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><ListBucketResult/>",
            "document type");
    REFUSES("application/xml", "{}",
            "<!DOCTYPE x SYSTEM \"file:///etc/passwd\"><ListBucketResult/>", "document type");
    REFUSES("application/xml", "{}", "<ListBucketResult a='>", "not w");
    REFUSES("application/xml", "{}", "<!DOCTYPE html><html>login</html>", "HTML where XML");
}

/* ---- index pages ---- */

static void html_apache(void **state)
{
    (void)state;
    READS(
        BASE, "text/html;charset=UTF-8", "{}",
        "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n<html>\n<head>\n"
        "<title>Index of /data</title>\n</head><body><h1>Index of /data</h1>\n"
        "<pre><img src=\"/icons/blank.gif\" alt=\"Icon \"> <a href=\"?C=N;O=D\">Name</a> "
        "<a href=\"?C=M;O=A\">Last modified</a> <hr>"
        "<img src=\"/icons/back.gif\" alt=\"[PARENTDIR]\"> <a href=\"/\">Parent Directory</a>    -   \n"
        "<a href=\"tl_2024_06_cd118.zip\"><img src=\"/icons/compressed.gif\" alt=\"[   ]\"></a> "
        "<a href=\"tl_2024_06_cd118.zip\">tl_2024_06_cd118.zip</a> 2024-06-26 12:01  2.4M  \n"
        "<img src=\"x\" alt=\"[DIR]\"> <a href=\"old/\">old/</a>   2023-01-01 00:00    -   \n"
        "<img src=\"x\" alt=\"[TXT]\"> <a href=\"a%20%26%20b.txt\">a &amp; b.txt</a> 2024-01-02 10:11   12   a note 2020-01-01\n"
        "<hr></pre><address>Apache Server at e.org <a href=\"http://httpd.org/\">x</a></address></body></html>",
        "a & b.txt " BASE "a%20%26%20b.txt date=2024-01-02 10:11 size=12;"
        "tl_2024_06_cd118.zip " BASE "tl_2024_06_cd118.zip date=2024-06-26 12:01 version=2.4M;");
    READS(
        BASE, "text/html", "{}",
        "<table><tr><td><a href=\"x.zip\">x.zip</a></td><td align=\"right\">2024-01-02 10:11  </td>"
        "<td align=\"right\">1.2K</td><td>&nbsp;</td></tr><tr><td><a href='y.zip'>y</a></td>"
        "<td>&nbsp;</td><td>3.0K</td></tr></table>",
        "x.zip " BASE "x.zip date=2024-01-02 10:11 version=1.2K;y.zip " BASE "y.zip;");
}

static void html_nginx_and_kin(void **state)
{
    (void)state;
    READS(
        BASE, "text/html", "{}",
        "<html>\r\n<head><title>Index of /data/</title></head>\r\n<body>\r\n<h1>Index of /data/</h1>"
        "<hr><pre><a href=\"../\">../</a>\r\n<a href=\"sub/\">sub/</a>   01-Jan-2024 00:00    -\r\n"
        "<a href=\"x%3F.zip\">x?.zip</a>       02-Jan-2024 10:11       12345\r\n</pre><hr></body></html>",
        "x?.zip " BASE "x%3F.zip date=02-Jan-2024 10:11 size=12345;");
    READS(BASE, "text/html", "{}",
          "<tr><td class=\"n\"><a href=\"/data/x\">x</a></td><td class=\"m\">2024-Jan-02 10:11:12"
          "</td><td class=\"s\">1.2M</td></tr>",
          "x " BASE "x date=2024-Jan-02 10:11:12 version=1.2M;");
    READS(BASE, "text/html", "{}", "<title>Index of /data</title>", ""); /* empty, but an index */
}

/* P1: links elsewhere are no entries; those below are, whatever they look like. */
static void html_links(void **state)
{
    (void)state;
    READS(BASE, "text/html", "{}",
          "<a href=\"https://e.org/data/in\">1</a><a href=\"https://f.org/data/out\">2</a>"
          "<a href=\"../other/x\">3</a><a href=\"../data/in2\">4</a><a href=\"/database/x\">5</a>"
          "<a href=\"x?y=1\">6</a><a href=\"#top\">7</a><a href=\"\">8</a><a href=\".\">9</a>"
          "<a href=\"javascript:alert(1)\">10</a><a href=\"mailto:a@b\">11</a><a name=\"x\">12</a>"
          "<a href=\"a/%2e%2e/%2e%2e/up\">13</a><a href=\" in3 \">14</a><a href=\"%FF\">15</a>"
          "<script>document.write('<a href=\"no\">')</script><!-- <a href=\"no2\"> -->"
          "<A HREF=in4#frag>16</A><a href=\"in&#x35;\">17</a>< a href=\"no3\"> 1 < 2 ",
          "%FF " BASE "%FF;in " BASE "in;in2 " BASE "in2;in3 " BASE "in3;in4 " BASE "in4;in5 " BASE
          "in5;");
}

static void html_refused(void **state)
{
    (void)state;
    REFUSES("text/html", "{}", "<html><body>Please wait</body></html>", "links to nothing");
    REFUSES("text/html", "{}", "<form><input TYPE='Password'></form><a href=x>y</a>", "login");
    REFUSES("text/html", "{}", "<a href=x>y</a><!-- open", "no end");
    /* an index of two files, cut off anywhere behind the first: never one of one file */
    static const char whole[] =
        "<html><body><h1>Index of /</h1><pre><a href=x>x</a>  02-Jan-2024 10:11  1\n"
        "<a href=y>y</a>  02-Jan-2024 10:11  1\n</pre></body></html>";
    size_t from = (size_t)(strstr(whole, "</a>") - whole);
    for (size_t n = from; n < sizeof whole - 1; n++)
        refuses("text/html", "{}", (struct str){whole, n}, "cut off", __LINE__);
    REFUSES("text/html", "{}", "<table><tr><td><a href=x>x</a>", "table");
    REFUSES("text/html", "{}", "<ul><li><a href=x>x</a></li>", "ul");
    REFUSES("text/html", "{}", "<a href=x>x", "a link");
    REFUSES("text/html", "{}",
            "<a href=x>x</a> 2024-01-02 10:11 1\n<a href=x>x</a> 2024-01-02 10:11 2\n", "twice");
    struct manifest_page p;
    struct listing l;
    assert_rc(read_at(BASE, "text/html", "{}", (struct str){"<a href=\"a\0b\">x</a>", 19}, &p, &l),
              RC_INVALID);
}

static void which_language(void **state)
{
    (void)state;
    static const struct {
        const char *url, *type, *options, *text;
        enum manifest_format want;
    } rows[] = {
        {BASE, "", "{}", " [\"a\"]", MANIFEST_JSON},
        {BASE, "text/plain", "{}", "key\na\n", MANIFEST_CSV},
        {BASE, "", "{}", "<?xml version='1.0'?><ListBucketResult/>", MANIFEST_S3},
        {BASE, "", "{}", "<pre><a href=x>x</a></pre>", MANIFEST_HTML},
        {BASE "i.json", "text/html", "{}", "[\"a\"]", MANIFEST_JSON},
        {BASE, "text/csv; charset=utf-8", "{}", "key\n[a\n", MANIFEST_CSV},
        {BASE "i.json", "application/json", "{\"format\":\"csv\"}", "key\na\n", MANIFEST_CSV},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct manifest_page p;
        struct listing l;
        assert_rc(read_at(rows[i].url, rows[i].type, rows[i].options, str_of(rows[i].text), &p, &l),
                  RC_OK);
        assert_string_equal(manifest_format_name(p.format), manifest_format_name(rows[i].want));
    }
}

/* Every allocation of the reader fails once; nothing else happens then. */
static void memory_runs_out(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text;
    } rows[] = {
        {"application/json", "{\"items\":[{\"name\":\"a\",\"size\":1}],\"next\":\"b\"}"},
        {"text/csv", "key,size\na,1\n"},
        {"application/xml", S3("<Contents><Key>a</Key></Contents><IsTruncated>true</IsTruncated>"
                               "<NextContinuationToken>t</NextContinuationToken>")},
        {"text/html", "<a href=x>x</a> 2024-01-02 10:11 12\n<a href=y>y</a>"},
    };
    const struct source_manifest *o = options("{}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (long fail = 0;; fail++) {
            struct listing l;
            struct manifest_page p = {.text = str_of(rows[i].text),
                                      .content_type = rows[i].type,
                                      .url = BASE,
                                      .final_url = BASE,
                                      .options = o,
                                      .scratch = &scratch,
                                      .to = &l};
            listing_init(&l, &memory);
            arena_fail_after = fail;
            enum rc rc = manifest_page_read(&p, &err);
            bool enough = arena_fail_after >= 0;
            arena_fail_after = -1;
            assert_true(rc == RC_OK || (rc == RC_NOMEM && !enough));
            if (enough)
                break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(references), T(attributes),   T(open_ends),      T(keys_and_urls),
        T(json_pages), T(json_refused), T(which_keys),     T(csv_pages),
        T(s3_pages),   T(s3_refused),   T(html_apache),    T(html_nginx_and_kin),
        T(html_links), T(html_refused), T(which_language), T(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

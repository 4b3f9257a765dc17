/* xml: escaping, see the header. */
#include "api/xml.h"

#define REPLACEMENT "\xef\xbf\xbd"

static const char *entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n':
    case '\t': return NULL;
    default: return (unsigned char)c < 0x20 ? REPLACEMENT : NULL;
    }
}

/* U+FFFE and U+FFFF. */
static bool is_no_character(struct str s)
{
    return s.n >= 3 && memcmp(s.p, "\xef\xbf", 2) == 0 && (unsigned char)s.p[2] >= 0xbe;
}

void xml_put(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        const char *other = entity(text.p[i]);
        if (is_no_character((struct str){text.p + i, text.n - i})) {
            buf_puts(b, REPLACEMENT);
            i += 2;
        } else if (other) {
            buf_puts(b, other);
        } else {
            buf_byte(b, text.p[i]);
        }
    }
}

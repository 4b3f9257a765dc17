/* xml: text in XML 1.0, for the Atom feed and the badges. Markup is escaped, fit for elements and
 * for attributes in either quotes; characters that XML 1.0 has none of become U+FFFD.
 */
#ifndef FRESHET_API_XML_H
#define FRESHET_API_XML_H

#include "core/buf.h"

void xml_put(struct buf *b, struct str text);

#endif

/* fetch_version: what the fetch engine is built on, for `freshet doctor` and bug reports. */
#include <curl/curl.h>

#include "core/fetch.h"

const char *fetch_library(void)
{
    return curl_version();
}

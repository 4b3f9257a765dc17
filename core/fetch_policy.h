/* fetch_policy: pure helpers that only the files of fetch need; the public ones are in fetch.h.
 * Kept apart from fetch_internal.h, so that fetch_policy.c does not know of libcurl. */
#ifndef FRESHET_CORE_FETCH_POLICY_H
#define FRESHET_CORE_FETCH_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define FETCH_RETRY_CAP_MS 10000 /* longer pauses are the caller's to plan */

/* fetch_addr_public for the text form that libcurl reports of a connection. */
bool fetch_ip_public(const char *ip);
bool fetch_url_has_user(const char *url);
/* Ends text before its first byte that is not UTF-8, such as half a character at a buffer's end. */
void fetch_text_cut(char *text);
/* Full jitter: anything up to base_ms doubled attempt - 1 times, capped; retry_after_ms
 * at least. */
int64_t fetch_retry_pause(int attempt, int64_t base_ms, int64_t retry_after_ms);

#endif

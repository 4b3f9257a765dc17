/* version: what was built. Recorded in every run's provenance and in ETags. */
#ifndef FRESHET_CORE_VERSION_H
#define FRESHET_CORE_VERSION_H

#include <stdint.h>

extern const char *const freshet_version; /* "0.1.0" */
extern const char *const freshet_commit;  /* 12 hex digits, or "unknown" outside a clone */
extern const int64_t freshet_commit_at;   /* its time, -1 outside a clone */

#endif

/* subscribers: who wants to be told of what (notify.json), and what each of them may be told (I8).
 *
 * Invariants
 *   1. Default deny: of a sovereign source nobody is told anything; of a restricted one only
 *      subscribers with "audience": "stewards", and no more than ids and that something happened.
 *   2. A filter that names what a level withholds does not match.
 *   3. Errors name the subscriber, the field and the fix. A file that is wrong has no subscribers
 *      at all, so that nobody is told by half of it.
 *   4. (I12) The file names secrets; their values are read when something is sent, and kept
 *      nowhere. The address of a Slack or Discord hook is a secret itself.
 * Called by notify and the notify commands.
 */
#ifndef FRESHET_HANDLER_SUBSCRIBERS_H
#define FRESHET_HANDLER_SUBSCRIBERS_H

#include "core/instance.h"
#include "ledger/level.h"
#include "ledger/notice.h"

#define NOTIFY_FILE "notify.json"
#define SUBSCRIBERS_MAX 32
#define SUBSCRIBER_SECRETS_MAX 4 /* live at once, while one is replaced by another */
#define SUBSCRIBER_LIST_MAX 500  /* of a filter; longer ones are a mistake */

enum subscriber_event {
#define X(name, word, by_default, help) EVENT_##name,
#include "handler/subscribers.def"
#undef X
    EVENT_COUNT
};

enum subscriber_format { NOTIFY_STANDARD, NOTIFY_SLACK, NOTIFY_DISCORD, NOTIFY_FORMATS };
const char *subscriber_format_name(enum subscriber_format f);

struct subscriber {
    const char *name;
    const char *url; /* as written: an address or "secret:NAME" */
    enum subscriber_format format;
    struct conf_list secrets;                              /* names; only of NOTIFY_STANDARD */
    unsigned events;                                       /* bits of enum subscriber_event */
    struct conf_list sources, collections, types, classes; /* empty: all */
    bool stewards, enabled;
};
struct subscribers {
    struct subscriber list[SUBSCRIBERS_MAX];
    size_t n;
};

/* Reads the file of an instance; without one there are none. Strings live in the arena. */
MUST_CHECK enum rc subscribers_load(struct arena *a, const struct instance *inst,
                                    struct subscribers *ret, struct err *err);
MUST_CHECK enum rc subscribers_parse(struct arena *a, struct str text, struct subscribers *ret,
                                     struct err *err);
/* NULL when there is none of that name. */
const struct subscriber *subscribers_find(const struct subscribers *all, const char *name);
/* Names of what it asked for, separated by commas. */
void subscriber_events(const struct subscriber *s, char *out, size_t n);

/* Something that happened, as far as deciding needs it. */
struct occurrence {
    enum notice_kind kind;
    const struct source *source;
    const struct notice_entry *entry; /* of a change; NULL for others */
};
/* Does it want to, and may it be told? */
bool subscriber_hears(const struct subscriber *s, const struct occurrence *o);

#endif

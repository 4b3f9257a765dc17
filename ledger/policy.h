/* policy: what policy.json says: per level which metadata and licences a source needs, whether a
 * person must approve its changes, and who the stewards are. Only the document; handler/gate.h
 * applies it.
 *
 * Invariants
 *   1. What cannot be read allows nothing: there is no struct policy without a valid file.
 *   2. "levels" must be there, and a level that it does not name is denied. Restricted and
 *      sovereign sources always need an approval, sovereign ones a steward's: no file can say less.
 *   3. Errors name the field and the fix. schemas/policy.schema.json says the same as policy_parse.
 *   4. tag changes whenever the meaning of the file does, also when its author forgot the version.
 * Called by handler, api and cli.
 */
#ifndef FRESHET_LEDGER_POLICY_H
#define FRESHET_LEDGER_POLICY_H

#include "ledger/source.h"

#define POLICY_FILE "policy.json"
#define POLICY_VERSION_MAX 32
#define POLICY_LIST_MAX 200 /* licences, stewards: longer lists are a mistake */
#define POLICY_TAG_MAX 48
#define POLICY_CLOSED "closed" /* the tag while the file cannot be read */
#define PERSON_MAX 200         /* bytes of a name of a person */
#define NOTE_MAX 1000          /* bytes of why; kept forever */

enum policy_licenses { LICENSES_ANY, LICENSES_SPDX, LICENSES_LISTED };
enum policy_approval { APPROVAL_NONE, APPROVAL_REVIEWER, APPROVAL_STEWARD };
const char *policy_approval_name(enum policy_approval a);

/* The fields of a declaration that a level may require. */
#define POLICY_FIELDS(X) X(title) X(license) X(collection) X(media_type) X(boundary_type)
enum policy_field {
#define X(name) FIELD_##name,
    POLICY_FIELDS(X)
#undef X
        FIELD_COUNT
};
const char *policy_field_name(enum policy_field f);

struct policy_level {
    bool named;       /* else all is denied */
    unsigned require; /* 1 << FIELD_... */
    enum policy_licenses licenses;
    struct conf_list listed; /* LICENSES_LISTED */
    bool open_access;        /* an upstream that wants a secret is held */
    enum policy_approval approval;
};
struct policy_stewards {
    bool collection; /* else a source */
    const char *id;
    struct conf_list names;
};
struct policy {
    const char *version;
    char tag[POLICY_TAG_MAX]; /* version+digest, as runs and ETags carry it */
    struct policy_level levels[LEVEL_COUNT];
    struct policy_stewards *stewards;
    size_t n_stewards;
};

/* What `freshet init` writes: commented; in a level, the same as what an absent member means. */
extern const char policy_sample[];

/* Strings live in the arena. hash NULL: whoever needs no tag; then it is the version alone. */
MUST_CHECK enum rc policy_parse(struct arena *a, struct str text, sha256_fn *hash,
                                struct policy *ret, struct err *err);
MUST_CHECK enum rc policy_load(struct arena *a, const char *dir, sha256_fn *hash,
                               struct policy *ret, struct err *err);

bool policy_spdx(const char *license);
bool policy_is_steward(const struct policy *p, const struct source *s, const char *name);
/* Are these names of one person? Case and space around do not tell people apart. */
bool policy_same_person(const char *a, const char *b);
/* RC_INVALID unless a name or a note has 1 to max clean bytes. */
MUST_CHECK enum rc policy_check_text(const char *field, const char *text, size_t max,
                                     struct err *err);

/* The tag of the policy in force, as ETags hold it; written when it differs. Own transaction. */
MUST_CHECK enum rc policy_publish(struct ledger *l, struct arena *a, const char *tag, int64_t now,
                                  struct err *err);
/* From a replay log: with its row, also where the tag is in force already, as logs of two handlers
 * that read one edit may have it twice. */
MUST_CHECK enum rc policy_publish_again(struct ledger *l, const char *tag, int64_t now,
                                        struct err *err);

#endif

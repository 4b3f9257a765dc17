/* hook_options: may these adapter_options and so many secrets be used? Asked when a source is
 * declared and by doctor, in programs that hold no crypto; hence apart from the adapters.
 *
 * Invariants
 *   1. Pure, and no file of crypto is needed to link it.
 *   2. An error names the member of adapter_options, and what would be right.
 * Called by the command line, and by the adapters' tables. */
#include "api/hook.h"

#define HEADER_MAX 64
#define POINTER_MAX 256

static const struct {
    const char *name;
    hook_options_fn *check;
} checks[] = {
#define X(name, symbol, detector) {name, hook_##symbol##_options},
#include "ledger/adapters.def"
#undef X
};

enum rc hook_check_options(const char *adapter, yyjson_val *options, size_t n_secrets,
                           struct err *err)
{
    if (yyjson_is_null(options))
        options = NULL;
    if (n_secrets > HOOK_SECRETS_MAX)
        return err_set(err, RC_INVALID, "secrets", "at most %d can be live at once",
                       HOOK_SECRETS_MAX);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++)
        if (strcmp(checks[i].name, adapter) == 0)
            return checks[i].check(options, n_secrets, err);
    return RC_OK;
}

/* ---- what the checks share ------------------------------------------------------------------- */

static enum rc field_error(const char *name, const char *message, struct err *err)
{
    char field[64];
    snprintf(field, sizeof field, "adapter_options.%.40s", name);
    return err_set(err, RC_INVALID, field, "%s", message);
}

enum rc hook_options_among(yyjson_val *options, const char *const *names, size_t n, struct err *err)
{
    size_t i, count;
    yyjson_val *key, *val;
    char known[256] = "", field[64];
    for (size_t k = 0, at = 0; k < n && at < sizeof known; k++)
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", names[k]);
    yyjson_obj_foreach(options, i, count, key, val)
    {
        const char *name = unsafe_yyjson_get_str(key); /* a key is a text */
        snprintf(field, sizeof field, "adapter_options.%.40s", name);
        if (n == 0)
            return err_set(err, RC_INVALID, field, "this adapter has no options: leave it out");
        if (!str_is_one_of(str_of(name), names, n))
            return err_set(err, RC_INVALID, field, "is not known to this adapter, only:%s", known);
        if (!yyjson_is_str(val) || !*yyjson_get_str(val) ||
            !str_is_clean(str_of(yyjson_get_str(val))))
            return field_error(name, "must be a text that is not empty", err);
    }
    return RC_OK;
}

enum rc hook_options_header(const char *name, const char *field, struct err *err)
{
    struct str s = str_of(name);
    bool good = s.n > 0 && s.n <= HEADER_MAX;
    for (size_t i = 0; i < s.n; i++)
        good = good && ((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
                        (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-');
    return good ? RC_OK
                : field_error(field,
                              "must be the name of a header: 1 to 64 letters, digits and hyphens, "
                              "such as X-Signature",
                              err);
}

enum rc hook_options_secret(size_t n_secrets, struct err *err)
{
    if (n_secrets > 0)
        return RC_OK;
    return err_set(err, RC_INVALID, "secrets",
                   "this adapter needs one: put the shared secret into a file of secrets/ and name "
                   "the file here");
}

/* ---- adapters with a shared secret ----------------------------------------------------------- */

static enum rc without_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    TRY(hook_options_among(options, NULL, 0, err));
    return hook_options_secret(n_secrets, err);
}

enum rc hook_standard_webhooks_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    return without_options(options, n_secrets, err);
}

enum rc hook_stripe_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    return without_options(options, n_secrets, err);
}

enum rc hook_slack_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    return without_options(options, n_secrets, err);
}

/* events: names of GitHub's events, separated by blanks. */
enum rc hook_github_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    static const char *const names[] = {"events"};
    TRY(hook_options_among(options, names, ARRAY_LEN(names), err));
    return hook_options_secret(n_secrets, err);
}

static const char *text_of(yyjson_val *options, const char *name)
{
    return yyjson_get_str(yyjson_obj_get(options, name));
}

enum rc hook_hmac_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    static const char *const names[] = {"header",    "prefix",           "encoding",
                                        "id_header", "timestamp_header", "id"};
    static const char *const headers[] = {"header", "id_header", "timestamp_header"};
    static const char *const encodings[] = {"hex", "base64", "base64url"};
    TRY(hook_options_among(options, names, ARRAY_LEN(names), err));
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (text_of(options, headers[i]))
            TRY(hook_options_header(text_of(options, headers[i]), headers[i], err));
    const char *encoding = text_of(options, "encoding"), *id = text_of(options, "id");
    if (encoding && !str_is_one_of(str_of(encoding), encodings, ARRAY_LEN(encodings)))
        return field_error("encoding", "must be hex, base64 or base64url", err);
    if (id && (*id != '/' || strlen(id) > POINTER_MAX))
        return field_error("id", "must be a JSON pointer (RFC 6901), such as /event/id", err);
    if (id && text_of(options, "id_header"))
        return field_error("id", "and id_header cannot both be given: leave one out", err);
    return hook_options_secret(n_secrets, err);
}

/* hook_secret: a shared secret in a header (invariants in hook_secret.h). Called by
 * hook_cloudevents.c, hook_s3.c, hook_azure.c. */
#include "api/hook_secret.h"

static bool is_live(const struct hook_delivery *d, struct str given)
{
    struct sha256 mine, theirs;
    bool found = false;
    digest_mbed_sha256(given.p, given.n, &theirs);
    for (size_t i = 0; i < d->n_secrets; i++) {
        digest_mbed_sha256(d->secrets[i].p, d->secrets[i].n, &mine);
        found |= mac_equal(mine.b, theirs.b, sizeof mine.b);
    }
    return found;
}

/* Schemes of Authorization are written in any case (RFC 9110, 11.1); so is every prefix here. */
static bool strip(struct str *value, struct str prefix)
{
    if (value->n < prefix.n || !str_ieq((struct str){value->p, prefix.n}, prefix))
        return false;
    *value = str_trim((struct str){value->p + prefix.n, value->n - prefix.n});
    return true;
}

static enum rc verify_header(const struct hook_delivery *d, const char *usual_header,
                             struct err *err)
{
    const char *header = hook_option(d, "header", usual_header);
    bool bearer = str_ieq(str_of(header), STR("Authorization"));
    struct str value;
    TRY(hook_need(d, header, &value, err));
    if (!strip(&value, str_of(hook_option(d, "prefix", bearer ? "Bearer " : ""))))
        return err_set(err, RC_UNAUTHORIZED, header, "does not begin with the configured prefix");
    if (!is_live(d, value))
        return err_set(err, RC_UNAUTHORIZED, header, "does not hold a secret of this source");
    return RC_OK;
}

enum rc hook_secret_verify(const struct hook_delivery *d, const char *usual_header, struct err *err)
{
    const char *auth = hook_option(d, "auth", "secret");
    if (d->n_secrets == 0)
        return err_set(err, RC_UNAUTHORIZED, "", "this source has no secret, so nothing is taken");
    if (strcmp(auth, "hmac") == 0)
        return hook_hmac.verify(d, err);
    if (strcmp(auth, "secret") != 0)
        return err_set(err, RC_INVALID, "adapter_options.auth", "must be \"secret\" or \"hmac\"");
    return verify_header(d, usual_header, err);
}

/* hook_options_providers: may these adapter_options and so many secrets be used by cloudevents, s3,
 * sns, gcs, azure? What each option means stands in the adapter's own file.
 *
 * Invariants (those of hook_options.c, and)
 *   1. Every option has one row, which says what kind of value it takes; one without a row
 *      is refused.
 *   2. Nothing secret is asked for here: certificates and public keys may stand in the declaration.
 * Called through the table of hook_options.c. */
#include "api/hook.h"
#include "api/jwt.h"

#define LIST_MAX 16
#define TEXT_MAX 512
#define PEM_MAX 16384
#define ARENA_MAX (1u << 20) /* for the keys of one declaration */
#define RATE_MAX 1000000

enum kind {
    TEXT,   /* one */
    LIST,   /* of texts */
    TEXTS,  /* one, or a list */
    HEADER, /* its name */
    RATE,   /* a number */
    ANY     /* looked at by itself */
};
struct option {
    const char *name;
    enum kind kind;
};

/* ---- one value ------------------------------------------------------------------------------- */

#define FIELD_MAX 64

static const char *field_of(const char *name, char room[FIELD_MAX])
{
    snprintf(room, FIELD_MAX, "adapter_options.%.40s", name);
    return room;
}

static enum rc check_text(yyjson_val *v, const char *name, struct err *err)
{
    struct str s = json_text(v);
    char field[FIELD_MAX];
    if (s.n == 0 || s.n > TEXT_MAX || !str_is_clean(s))
        return err_set(err, RC_INVALID, field_of(name, field),
                       "must be a text of 1 to %d bytes without control characters", TEXT_MAX);
    return RC_OK;
}

static enum rc check_list(yyjson_val *list, const char *name, struct err *err)
{
    yyjson_val *v;
    size_t i, n;
    char field[FIELD_MAX];
    if (yyjson_arr_size(list) == 0 || yyjson_arr_size(list) > LIST_MAX)
        return err_set(err, RC_INVALID, field_of(name, field), "must be a list of 1 to %d texts",
                       LIST_MAX);
    yyjson_arr_foreach(list, i, n, v) TRY(check_text(v, name, err));
    return RC_OK;
}

static enum rc check_rate(yyjson_val *v, const char *name, struct err *err)
{
    char field[FIELD_MAX];
    if (!yyjson_is_uint(v) || yyjson_get_uint(v) < 1 || yyjson_get_uint(v) > RATE_MAX)
        return err_set(err, RC_INVALID, field_of(name, field),
                       "must be a whole number from 1 to %d: deliveries per minute", RATE_MAX);
    return RC_OK;
}

static enum rc check_value(yyjson_val *v, const struct option *o, struct err *err)
{
    switch (o->kind) {
    case TEXT: return check_text(v, o->name, err);
    case LIST: return check_list(v, o->name, err);
    case TEXTS: return yyjson_is_arr(v) ? check_list(v, o->name, err) : check_text(v, o->name, err);
    case HEADER:
        TRY(check_text(v, o->name, err));
        return hook_options_header(yyjson_get_str(v), o->name, err);
    case RATE: return check_rate(v, o->name, err);
    case ANY: break;
    }
    return RC_OK;
}

static const struct option *option_of(const struct option *table, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, table[i].name))
            return &table[i];
    return NULL;
}

static enum rc unknown(const struct option *table, size_t n, struct str name, struct err *err)
{
    char known[256] = "", field[FIELD_MAX];
    for (size_t i = 0, at = 0; i < n && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", table[i].name);
    return err_set(err, RC_INVALID, field_of(name.p, field),
                   "is not known to this adapter, only:%s", known);
}

static enum rc check_all(yyjson_val *options, const struct option *table, size_t n, struct err *err)
{
    size_t i, count;
    yyjson_val *key, *v;
    yyjson_obj_foreach(options, i, count, key, v)
    {
        const struct option *o = option_of(table, n, json_text(key));
        if (!o)
            return unknown(table, n, json_text(key), err);
        TRY(check_value(v, o, err));
    }
    return RC_OK;
}

/* ---- a shared secret (hook_secret.h) --------------------------------------------------------- */

/* The options that are not in the table, as adapter hmac would be given them. */
static enum rc check_rest_as_hmac(yyjson_val *options, const struct option *table, size_t n,
                                  size_t n_secrets, struct err *err)
{
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *rest = yyjson_mut_obj(d);
    size_t i, count;
    yyjson_val *key, *v;
    yyjson_mut_doc_set_root(d, rest);
    yyjson_obj_foreach(options, i, count, key, v)
    {
        if (!option_of(table, n, json_text(key)))
            yyjson_mut_obj_add_val(d, rest, yyjson_get_str(key), yyjson_val_mut_copy(d, v));
    }
    yyjson_doc *fixed = yyjson_mut_doc_imut_copy(d, NULL);
    enum rc rc = fixed ? hook_hmac_options(yyjson_doc_get_root(fixed), n_secrets, err)
                       : err_set(err, RC_NOMEM, "adapter_options", "no memory for a declaration");
    yyjson_doc_free(fixed);
    yyjson_mut_doc_free(d);
    return rc;
}

static enum rc check_known(yyjson_val *options, const struct option *table, size_t n,
                           struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        yyjson_val *v = yyjson_obj_get(options, table[i].name);
        if (v)
            TRY(check_value(v, &table[i], err));
    }
    return RC_OK;
}

/* The first OF_SECRET rows are header and prefix, which adapter hmac has, too. */
static enum rc check_shared(yyjson_val *options, const struct option *table, size_t n,
                            size_t n_secrets, struct err *err)
{
    enum { OF_SECRET = 2 };
    struct str auth = json_text(yyjson_obj_get(options, "auth"));
    TRY(hook_options_secret(n_secrets, err));
    if (!str_is(auth, "hmac")) {
        TRY(check_all(options, table, n, err));
        if (auth.n > 0 && !str_is(auth, "secret"))
            return err_set(err, RC_INVALID, "adapter_options.auth",
                           "must be \"secret\" or \"hmac\"");
        return RC_OK;
    }
    TRY(check_known(options, table + OF_SECRET, n - OF_SECRET, err));
    return check_rest_as_hmac(options, table + OF_SECRET, n - OF_SECRET, n_secrets, err);
}

enum rc hook_cloudevents_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    static const struct option table[] = {{"header", HEADER}, {"prefix", TEXT},  {"auth", TEXT},
                                          {"types", LIST},    {"origins", LIST}, {"rate", RATE}};
    return check_shared(options, table, ARRAY_LEN(table), n_secrets, err);
}

enum rc hook_s3_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    static const struct option table[] = {{"header", HEADER}, {"prefix", TEXT}, {"auth", TEXT}};
    return check_shared(options, table, ARRAY_LEN(table), n_secrets, err);
}

enum rc hook_azure_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    static const struct option table[] = {
        {"header", HEADER}, {"prefix", TEXT}, {"auth", TEXT}, {"origins", LIST}, {"rate", RATE}};
    return check_shared(options, table, ARRAY_LEN(table), n_secrets, err);
}

/* ---- public keys ----------------------------------------------------------------------------- */

/* arn:PARTITION:sns:REGION:ACCOUNT:NAME */
static bool is_topic(struct str arn)
{
    struct str rest = arn, part;
    for (int i = 0; i < 6; i++) {
        if (!str_next(&rest, ':', &part) || part.n == 0 || (i == 0 && !str_is(part, "arn")) ||
            (i == 1 && !str_starts(part, STR("aws"))) || (i == 2 && !str_is(part, "sns")))
            return false;
    }
    return rest.n == 0;
}

static enum rc check_topics(yyjson_val *list, struct err *err)
{
    yyjson_val *v;
    size_t i, n;
    if (!list)
        return err_set(err, RC_INVALID, "adapter_options.topic_arns",
                       "is needed: a list of the topics that may write to this source");
    yyjson_arr_foreach(list, i, n, v)
    {
        if (!is_topic(json_text(v)))
            return err_set(err, RC_INVALID, "adapter_options.topic_arns",
                           "must be topics such as arn:aws:sns:us-east-1:123456789012:name");
    }
    return RC_OK;
}

static enum rc check_certificates(yyjson_val *list, size_t n_secrets, struct err *err)
{
    yyjson_val *v;
    size_t i, n;
    if (!list && n_secrets == 0)
        return err_set(err, RC_INVALID, "adapter_options.certificates",
                       "is needed, or a file in secrets: the certificate of SNS in PEM form");
    if (list && (yyjson_arr_size(list) == 0 || yyjson_arr_size(list) > LIST_MAX))
        return err_set(err, RC_INVALID, "adapter_options.certificates",
                       "must be a list of 1 to %d PEM texts", LIST_MAX);
    yyjson_arr_foreach(list, i, n, v)
    {
        struct str pem = str_trim(json_text(v));
        if (pem.n > PEM_MAX || !str_starts(pem, STR("-----BEGIN CERTIFICATE-----\n")) ||
            !str_ends(pem, STR("-----END CERTIFICATE-----")))
            return err_set(err, RC_INVALID, "adapter_options.certificates",
                           "each must be a CERTIFICATE in PEM form, with its line breaks");
    }
    return RC_OK;
}

static enum rc check_versions(yyjson_val *list, struct err *err)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v)
    {
        if (!str_is(json_text(v), "1") && !str_is(json_text(v), "2"))
            return err_set(err, RC_INVALID, "adapter_options.signature_versions",
                           "must be a list of \"1\", \"2\" or both");
    }
    return RC_OK;
}

enum rc hook_sns_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    static const struct option table[] = {
        {"topic_arns", LIST}, {"certificates", ANY}, {"signature_versions", LIST}};
    TRY(check_all(options, table, ARRAY_LEN(table), err));
    TRY(check_topics(yyjson_obj_get(options, "topic_arns"), err));
    TRY(check_versions(yyjson_obj_get(options, "signature_versions"), err));
    return check_certificates(yyjson_obj_get(options, "certificates"), n_secrets, err);
}

static enum rc check_keys(yyjson_val *keys, size_t n_secrets, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct jwt_keys found = {.n = 0};
    struct err why = {0};
    arena_init(&a, ARENA_MAX);
    if (keys && jwt_keys_add(&a, keys, &found, &why) != RC_OK)
        return err_set(err, why.rc, "adapter_options.keys", "%s", why.msg);
    if (found.n == 0 && n_secrets == 0)
        return err_set(err, RC_INVALID, "adapter_options.keys",
                       "is needed, or a file in secrets: the issuer's public RSA keys (a JWK set, "
                       "or PEM)");
    return RC_OK;
}

enum rc hook_gcs_options(yyjson_val *options, size_t n_secrets, struct err *err)
{
    static const struct option table[] = {
        {"audience", TEXTS}, {"issuer", TEXTS}, {"email", TEXT}, {"keys", ANY}};
    TRY(check_all(options, table, ARRAY_LEN(table), err));
    if (!yyjson_obj_get(options, "audience"))
        return err_set(err, RC_INVALID, "adapter_options.audience",
                       "is needed: the audience of the push subscription");
    if (!yyjson_obj_get(options, "email"))
        return err_set(
            err, RC_INVALID, "adapter_options.email",
            "is needed: the service account of the push subscription. Without it whoever "
            "has an account with the issuer would be believed");
    return check_keys(yyjson_obj_get(options, "keys"), n_secrets, err);
}

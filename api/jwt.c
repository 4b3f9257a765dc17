/* jwt: checking a token (invariants in jwt.h). Called by hook_gcs.c. */
#include "api/jwt.h"

#include "core/base64.h"
#include "core/rsa.h"

#define SIGNATURE_MAX (RSA_BITS_MAX / 8)

static enum rc refuse(struct err *err, const char *why)
{
    return err_set(err, RC_UNAUTHORIZED, "Authorization", "%s", why);
}

struct parts {
    struct str header, claims, signature; /* as base64url */
    struct str signed_text;               /* header and claims with the dot between */
};

static enum rc split(struct str token, struct parts *ret, struct err *err)
{
    struct str rest = token;
    struct parts p = {0};
    if (token.n > JWT_MAX)
        return err_set(err, RC_UNAUTHORIZED, "Authorization", "the token is longer than %d bytes",
                       JWT_MAX);
    if (!str_next(&rest, '.', &p.header) || !str_next(&rest, '.', &p.claims))
        return refuse(err, "the token has not three parts");
    p.signature = rest;
    if (p.header.n == 0 || p.claims.n == 0 || p.signature.n == 0 ||
        memchr(p.signature.p, '.', p.signature.n))
        return refuse(err, "the token has not three parts");
    p.signed_text = (struct str){token.p, p.header.n + 1 + p.claims.n};
    *ret = p;
    return RC_OK;
}

/* A part as an object in which no name is given twice. */
static enum rc object(struct arena *a, struct str part, yyjson_val **ret, struct err *err)
{
    CLEANUP(buf_release) struct buf canon = {0};
    struct err why = {0};
    yyjson_val *v;
    size_t n;
    char *text = arena_alloc(a, base64_room(part.n));
    buf_init(&canon, 8 * JWT_MAX);
    if (!text)
        return err_set(err, RC_NOMEM, "", "no memory for a token");
    if (base64_decode(part, BASE64_URL, text, base64_room(part.n), &n) != RC_OK)
        return refuse(err, "a part of the token is not base64url");
    if (json_parse(a, (struct str){text, n}, 0, "the token", &v, &why) != RC_OK ||
        json_canon(&canon, v, &why) != RC_OK || !yyjson_is_obj(v))
        return refuse(err, "a part of the token is not a JSON object with single names");
    *ret = v;
    return RC_OK;
}

static struct str text_of(yyjson_val *obj, const char *name)
{
    return json_text(yyjson_obj_get(obj, name));
}

/* ---- signature ------------------------------------------------------------------------------- */

static enum rc check_with(const struct jwt_key *key, struct str text, struct str sig, int64_t now,
                          struct err *err)
{
    return key->pem.n > 0 ? rsa_check_pem(key->pem, now, RSA_SHA256, text, sig, err)
                          : rsa_check_numbers(key->n, key->e, RSA_SHA256, text, sig, err);
}

/* Keys with an id serve tokens that name it, keys without one serve all. A token that names no key
 * of ours costs a check as well: what is configured here is not to be told by the time it takes. */
static enum rc check_signature(const struct parts *p, struct str kid, const struct jwt_rules *rules,
                               struct err *err)
{
    char sig[SIGNATURE_MAX];
    size_t n;
    struct err why = {0}, broken = {0};
    bool tried = false;
    if (base64_decode(p->signature, BASE64_URL, sig, sizeof sig, &n) != RC_OK)
        return refuse(err, "the signature is not base64url");
    for (size_t i = 0; i < rules->keys->n; i++) {
        const struct jwt_key *key = &rules->keys->items[i];
        bool fits = key->kid.n == 0 || str_eq(key->kid, kid);
        if (!fits && (tried || i + 1 < rules->keys->n))
            continue;
        enum rc rc = check_with(key, p->signed_text, (struct str){sig, n}, rules->now, &why);
        tried = true;
        if (rc == RC_OK && fits)
            return RC_OK;
        if (rc != RC_OK && rc != RC_UNAUTHORIZED)
            broken = why;
    }
    if (broken.rc != RC_OK)
        return err_set(err, broken.rc, "adapter_options.keys", "%s", broken.msg);
    return refuse(err, "the signature is not that of a configured key");
}

static enum rc check_header(yyjson_val *header, struct err *err)
{
    struct str typ = text_of(header, "typ");
    if (!str_is(text_of(header, "alg"), "RS256"))
        return refuse(err, "the algorithm of the token is not RS256");
    if (yyjson_obj_get(header, "crit"))
        return refuse(err, "the token asks for an extension that is not known");
    if (typ.n > 0 && !str_ieq(typ, STR("JWT")))
        return refuse(err, "the token is not a JWT");
    return RC_OK;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool is_among(struct str s, const struct str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s.n > 0 && str_eq(s, list[i]))
            return true;
    return false;
}

/* `aud` is a text, or a list of which one must be ours. */
static bool is_for_us(yyjson_val *claims, const struct jwt_rules *rules)
{
    yyjson_val *aud = yyjson_obj_get(claims, "aud"), *v;
    size_t i, n;
    if (!yyjson_is_arr(aud))
        return is_among(text_of(claims, "aud"), rules->audiences, rules->n_audiences);
    yyjson_arr_foreach(aud, i, n, v)
    {
        if (is_among(json_text(v), rules->audiences, rules->n_audiences))
            return true;
    }
    return false;
}

/* Seconds since 1970 as milliseconds; `missing` when the claim is not there, and false for what is
 * no such number. */
static bool when(yyjson_val *claims, const char *name, int64_t missing, int64_t *ret)
{
    yyjson_val *v = yyjson_obj_get(claims, name);
    double s = yyjson_get_num(v);
    *ret = missing;
    if (!v)
        return true;
    if (!yyjson_is_num(v) || !(s >= 0 && s < 1e12))
        return false;
    *ret = (int64_t)(s * 1000);
    return true;
}

static enum rc check_times(yyjson_val *claims, const struct jwt_rules *rules, struct err *err)
{
    int64_t exp, iat, nbf;
    if (!yyjson_obj_get(claims, "exp") || !when(claims, "exp", 0, &exp) ||
        !when(claims, "iat", 0, &iat) || !when(claims, "nbf", 0, &nbf))
        return refuse(err, "the times of the token are missing or not numbers");
    if (exp + rules->skew_ms < rules->now)
        return refuse(err, "the token has expired");
    if (iat - rules->skew_ms > rules->now || nbf - rules->skew_ms > rules->now)
        return refuse(err, "the token is not valid yet");
    return RC_OK;
}

static enum rc check_claims(yyjson_val *claims, const struct jwt_rules *rules, struct err *err)
{
    if (!is_among(text_of(claims, "iss"), rules->issuers, rules->n_issuers))
        return refuse(err, "the token is of another issuer");
    if (!is_for_us(claims, rules))
        return refuse(err, "the token is for another audience");
    TRY(check_times(claims, rules, err));
    if (rules->email.n > 0 && !str_eq(text_of(claims, "email"), rules->email))
        return refuse(err, "the token is of another account");
    if (rules->email.n > 0 && !yyjson_is_true(yyjson_obj_get(claims, "email_verified")))
        return refuse(err, "the account of the token is not verified");
    return RC_OK;
}

enum rc jwt_check(struct str token, const struct jwt_rules *rules, struct arena *a, struct err *err)
{
    struct parts p;
    yyjson_val *header, *claims;
    if (rules->keys->n == 0)
        return refuse(err, "no key is configured, so no token is taken");
    TRY(split(token, &p, err));
    TRY(object(a, p.header, &header, err));
    TRY(check_header(header, err));
    TRY(check_signature(&p, text_of(header, "kid"), rules, err));
    TRY(object(a, p.claims, &claims, err));
    return check_claims(claims, rules, err);
}

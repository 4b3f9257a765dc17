/* jwt_keys: configured public keys, as providers publish them (shapes in jwt.h). No crypto: whether
 * the numbers make a key is found when it is used. Called by hook_gcs.c and its options. */
#include "api/jwt.h"

#include "core/base64.h"

#define KID_MAX 256
#define NUMBER_MAX 1024 /* bytes: a modulus of 8192 bits, twice of what is taken */

static enum rc add(struct jwt_keys *keys, const struct jwt_key *key, struct err *err)
{
    if (keys->n == JWT_KEYS_MAX)
        return err_set(err, RC_INVALID, "keys", "at most %d keys are taken", JWT_KEYS_MAX);
    keys->items[keys->n++] = *key;
    return RC_OK;
}

static enum rc add_pem(struct str kid, struct str pem, struct jwt_keys *keys, struct err *err)
{
    struct jwt_key key = {.kid = kid, .pem = str_trim(pem)};
    if (!str_starts(key.pem, STR("-----BEGIN ")))
        return err_set(err, RC_INVALID, "keys", "a text among them is not a key in PEM form");
    return add(keys, &key, err);
}

static enum rc number(struct arena *a, yyjson_val *jwk, const char *name, struct str *ret,
                      struct err *err)
{
    struct str text = json_text(yyjson_obj_get(jwk, name));
    char *out = arena_alloc(a, base64_room(text.n));
    size_t n = 0;
    if (!out)
        return err_set(err, RC_NOMEM, "keys", "no memory for a key");
    if (text.n == 0 || base64_decode(text, BASE64_URL, out, base64_room(text.n), &n) != RC_OK ||
        n > NUMBER_MAX)
        return err_set(err, RC_INVALID, "keys", "the member %s of a key is not base64url", name);
    *ret = (struct str){out, n};
    return RC_OK;
}

/* Is it there, and other than what we need? */
static bool is_other(yyjson_val *jwk, const char *name, const char *needed)
{
    yyjson_val *v = yyjson_obj_get(jwk, name);
    return v && !str_is(json_text(v), needed);
}

static enum rc add_jwk(struct arena *a, yyjson_val *jwk, struct jwt_keys *keys, struct err *err)
{
    struct jwt_key key = {.pem = STR(""), .kid = json_text(yyjson_obj_get(jwk, "kid"))};
    if (!yyjson_is_obj(jwk) || !yyjson_obj_get(jwk, "kty"))
        return err_set(err, RC_INVALID, "keys", "one of them is no JSON Web Key");
    if (is_other(jwk, "kty", "RSA") || is_other(jwk, "use", "sig") || is_other(jwk, "alg", "RS256"))
        return RC_OK;
    if (key.kid.n > KID_MAX)
        return err_set(err, RC_INVALID, "keys", "a kid is longer than %d bytes", KID_MAX);
    TRY(number(a, jwk, "n", &key.n, err));
    TRY(number(a, jwk, "e", &key.e, err));
    return add(keys, &key, err);
}

static enum rc add_list(struct arena *a, yyjson_val *list, struct jwt_keys *keys, struct err *err)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v)
    {
        if (yyjson_is_str(v))
            TRY(add_pem(STR(""), json_text(v), keys, err));
        else
            TRY(add_jwk(a, v, keys, err));
    }
    return RC_OK;
}

static enum rc add_by_kid(yyjson_val *obj, struct jwt_keys *keys, struct err *err)
{
    size_t i, n;
    yyjson_val *kid, *v;
    yyjson_obj_foreach(obj, i, n, kid, v) TRY(add_pem(json_text(kid), json_text(v), keys, err));
    return RC_OK;
}

enum rc jwt_keys_add(struct arena *a, yyjson_val *v, struct jwt_keys *keys, struct err *err)
{
    yyjson_val *set = yyjson_obj_get(v, "keys");
    if (yyjson_is_arr(set))
        return add_list(a, set, keys, err);
    if (yyjson_is_arr(v))
        return add_list(a, v, keys, err);
    if (yyjson_is_obj(v))
        return yyjson_obj_get(v, "kty") ? add_jwk(a, v, keys, err) : add_by_kid(v, keys, err);
    if (yyjson_is_str(v))
        return add_pem(STR(""), json_text(v), keys, err);
    return err_set(err, RC_INVALID, "keys", "must be a JWK set, or keys in PEM form");
}

enum rc jwt_keys_add_text(struct arena *a, struct str text, struct jwt_keys *keys, struct err *err)
{
    struct err why = {0};
    yyjson_val *v;
    if (str_starts(str_trim(text), STR("-----BEGIN ")))
        return add_pem(STR(""), text, keys, err);
    if (json_parse(a, text, 0, "the key file", &v, &why) != RC_OK)
        return err_set(err, RC_INVALID, "secrets", "a key file holds neither JSON nor PEM");
    return jwt_keys_add(a, v, keys, err);
}

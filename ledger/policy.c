/* policy: reads policy.json. */
#include "ledger/policy.h"

#include "core/file.h"
#include "ledger/license.h"
#include "ledger/public.h"
#include "ledger/query.h"

#define FILE_MAX (1u << 20)

const char policy_sample[] =
    "{\n"
    "  // What may be promoted, and who must say yes. Read again between two jobs when it changes;\n"
    "  // while it cannot be read, nothing is promoted. Try it with: freshet policy check\n"
    "  \"version\": \"1\",\n"
    "\n"
    "  // Per level of a source. A level that is not named here is denied.\n"
    "  //   require    fields that a declaration must have: title, license, collection, media_type,\n"
    "  //              boundary_type; a change of a source that lacks one is held\n"
    "  //   licenses   \"any\", \"spdx\" (a known SPDX identifier, else held), or a list (others are "
    "denied)\n"
    "  //   access     \"any\", or \"open\": a source whose upstream wants a secret is held\n"
    "  //   approval   \"none\", \"reviewer\" (anybody but the author), or \"steward\"\n"
    "  \"levels\": {\n"
    "    \"public\": {\"require\": [\"title\"], \"licenses\": \"any\", \"access\": \"any\", "
    "\"approval\": \"none\"},\n"
    "    \"generalized\": {\"require\": [\"title\"], \"licenses\": \"any\", \"access\": \"any\", "
    "\"approval\": \"none\"},\n"
    "    \"restricted\": {\"require\": [\"title\"], \"licenses\": \"any\", \"access\": \"any\", "
    "\"approval\": \"reviewer\"},\n"
    "    \"sovereign\": {\"require\": [\"title\"], \"licenses\": \"any\", \"access\": \"any\", "
    "\"approval\": \"steward\"}\n"
    "  },\n"
    "\n"
    "  // Who decides where a steward must, by source or by collection:\n"
    "  //   {\"sources\": {\"burial-grounds\": [\"A. Steward\"]}, \"collections\": {\"history\": [\"B. "
    "Steward\"]}}\n"
    "  \"stewards\": {}\n"
    "}\n";

static const char *const approvals[] = {"none", "reviewer", "steward"};

const char *policy_approval_name(enum policy_approval a)
{
    return approvals[a];
}

static const char *const fields[FIELD_COUNT] = {
#define X(name) [FIELD_##name] = #name,
    POLICY_FIELDS(X)
#undef X
};

const char *policy_field_name(enum policy_field f)
{
    return fields[f];
}

bool policy_spdx(const char *license)
{
    return license_spdx(license) != NULL;
}

bool policy_same_person(const char *a, const char *b)
{
    return str_ieq(str_trim(str_of(a)), str_trim(str_of(b)));
}

enum rc policy_check_text(const char *field, const char *text, size_t max, struct err *err)
{
    struct str s = str_trim(str_of(text));
    if (s.n == 0 || s.n > max || !str_is_clean(s) || !str_is_utf8(s))
        return err_set(err, RC_INVALID, field, "must have 1 to %zu printable bytes", max);
    return RC_OK;
}

static bool lists(const struct conf_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (policy_same_person(l->items[i], name))
            return true;
    return false;
}

bool policy_is_steward(const struct policy *p, const struct source *s, const char *name)
{
    for (size_t i = 0; i < p->n_stewards; i++) {
        const struct policy_stewards *x = &p->stewards[i];
        if (strcmp(x->id, x->collection ? s->collection : s->id) == 0 && lists(&x->names, name))
            return true;
    }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    struct arena *a;
    struct err *err;
    char path[160]; /* of the field that is read, as errors name it */
};

static enum rc wrong(struct reader *r, const char *fix)
{
    return err_set(r->err, RC_INVALID, r->path, "%s", fix);
}

static void name(struct reader *r, const char *level, const char *key)
{
    snprintf(r->path, sizeof r->path, "%.80s%s%.70s", level, *level && *key ? "." : "", key);
}

/* Only these members, each once. */
static enum rc only(struct reader *r, yyjson_val *o, const char *at, const char *const *known,
                    size_t n, const char *fix)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(o);
    yyjson_val *key;
    unsigned seen = 0;
    name(r, at, "");
    if (!yyjson_is_obj(o))
        return wrong(r, "must be an object");
    while ((key = yyjson_obj_iter_next(&it))) {
        size_t i = 0;
        while (i < n && !yyjson_equals_str(key, known[i]))
            i++;
        const char *member = yyjson_get_str(key);
        name(r, at, member ? member : "");
        if (i == n)
            return wrong(r, fix);
        if (seen & 1u << i)
            return wrong(r, "is there twice: keep one");
        seen |= 1u << i;
    }
    return RC_OK;
}

static enum rc read_texts(struct reader *r, yyjson_val *list, const char *fix,
                          struct conf_list *ret)
{
    yyjson_val *v;
    size_t i, n;
    struct conf_list l = {0};
    if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0 ||
        yyjson_arr_size(list) > POLICY_LIST_MAX)
        return wrong(r, fix);
    l.items = arena_alloc(r->a, yyjson_arr_size(list) * sizeof *l.items);
    if (!l.items)
        return err_set(r->err, RC_NOMEM, r->path, "no memory for the policy");
    yyjson_arr_foreach(list, i, n, v)
    {
        const char *s = yyjson_get_str(v);
        struct str trimmed = str_trim(str_of(s));
        if (!s || trimmed.n == 0 || trimmed.n > PERSON_MAX || !str_is_clean(trimmed))
            return wrong(r, fix);
        l.items[l.n++] = s;
    }
    *ret = l;
    return RC_OK;
}

static enum rc read_require(struct reader *r, yyjson_val *list, unsigned *ret)
{
    static const char fix[] =
        "must be a list of title, license, collection, media_type, boundary_type";
    yyjson_val *v;
    size_t i, n, f;
    unsigned bits = 0;
    if (!yyjson_is_arr(list))
        return wrong(r, fix);
    yyjson_arr_foreach(list, i, n, v)
    {
        for (f = 0; f < FIELD_COUNT; f++)
            if (yyjson_equals_str(v, fields[f]))
                break;
        if (f == FIELD_COUNT)
            return wrong(r, fix);
        bits |= 1u << f;
    }
    *ret = bits;
    return RC_OK;
}

static enum rc read_licenses(struct reader *r, yyjson_val *v, struct policy_level *x)
{
    if (yyjson_equals_str(v, "any") || yyjson_equals_str(v, "spdx")) {
        x->licenses = yyjson_equals_str(v, "any") ? LICENSES_ANY : LICENSES_SPDX;
        return RC_OK;
    }
    x->licenses = LICENSES_LISTED;
    return read_texts(r, v, "must be \"any\", \"spdx\" or a list of at least one licence",
                      &x->listed);
}

static enum rc read_access(struct reader *r, yyjson_val *v, struct policy_level *x)
{
    x->open_access = yyjson_equals_str(v, "open");
    return x->open_access || yyjson_equals_str(v, "any") ? RC_OK
                                                         : wrong(r, "must be \"any\" or \"open\"");
}

static enum rc read_approval(struct reader *r, yyjson_val *v, enum policy_approval least,
                             enum policy_approval *ret)
{
    static const char *const fixes[] = {"must be \"none\", \"reviewer\" or \"steward\"",
                                        "must be \"reviewer\" or \"steward\": a person decides",
                                        "must be \"steward\": a sovereign source has no other"};
    for (int i = (int)least; i < (int)ARRAY_LEN(approvals); i++)
        if (yyjson_equals_str(v, approvals[i])) {
            *ret = (enum policy_approval)i;
            return RC_OK;
        }
    return wrong(r, fixes[least]);
}

static enum policy_approval least_approval(enum level l)
{
    return l == LEVEL_SOVEREIGN    ? APPROVAL_STEWARD
           : l == LEVEL_RESTRICTED ? APPROVAL_REVIEWER
                                   : APPROVAL_NONE;
}

static enum rc read_level(struct reader *r, yyjson_val *o, enum level l, struct policy_level *x)
{
    static const char *const known[] = {"require", "licenses", "access", "approval"};
    char at[32];
    yyjson_val *v;
    snprintf(at, sizeof at, "levels.%s", level_name(l));
    TRY(only(r, o, at, known, ARRAY_LEN(known),
             "is no member; there are require, licenses, access, approval"));
    x->named = true;
    name(r, at, "require");
    if ((v = yyjson_obj_get(o, "require")))
        TRY(read_require(r, v, &x->require));
    name(r, at, "licenses");
    if ((v = yyjson_obj_get(o, "licenses")))
        TRY(read_licenses(r, v, x));
    name(r, at, "access");
    if ((v = yyjson_obj_get(o, "access")))
        TRY(read_access(r, v, x));
    name(r, at, "approval");
    if ((v = yyjson_obj_get(o, "approval")))
        TRY(read_approval(r, v, least_approval(l), &x->approval));
    return RC_OK;
}

static void fill_level(enum level l, struct policy_level *x)
{
    *x = (struct policy_level){.require = 1u << FIELD_title, .approval = least_approval(l)};
}

static enum rc read_levels(struct reader *r, yyjson_val *o, struct policy *p)
{
    const char *known[LEVEL_COUNT];
    for (int l = 0; l < LEVEL_COUNT; l++) {
        known[l] = level_name((enum level)l);
        fill_level((enum level)l, &p->levels[l]);
    }
    name(r, "levels", "");
    if (!o)
        return wrong(r,
                     "must be there: what it does not name is denied. See: freshet policy sample");
    TRY(only(r, o, "levels", known, LEVEL_COUNT,
             "is no level; there are public, generalized, restricted, sovereign"));
    for (int l = 0; l < LEVEL_COUNT; l++) {
        yyjson_val *v = yyjson_obj_get(o, known[l]);
        if (v)
            TRY(read_level(r, v, (enum level)l, &p->levels[l]));
    }
    return RC_OK;
}

static enum rc read_some_stewards(struct reader *r, yyjson_val *o, bool collection,
                                  struct policy *p)
{
    yyjson_val *key, *list;
    size_t i, n;
    const char *at = collection ? "stewards.collections" : "stewards.sources";
    name(r, at, "");
    if (o && !yyjson_is_obj(o))
        return wrong(r, "must be an object: an id and a list of names");
    yyjson_obj_foreach(o, i, n, key, list)
    {
        struct policy_stewards *x = &p->stewards[p->n_stewards];
        const char *id = yyjson_get_str(key);
        *x = (struct policy_stewards){.collection = collection, .id = id ? id : ""};
        name(r, at, x->id);
        if (!str_is_slug(str_of(x->id), 64))
            return wrong(r, "is no id: 1 to 64 characters of a-z, 0-9, '_' and '-'");
        TRY(read_texts(r, list, "must be a list of at least one name", &x->names));
        p->n_stewards++;
    }
    return RC_OK;
}

static enum rc read_stewards(struct reader *r, yyjson_val *o, struct policy *p)
{
    static const char *const known[] = {"sources", "collections"};
    yyjson_val *sources = yyjson_obj_get(o, "sources"), *groups = yyjson_obj_get(o, "collections");
    size_t n = yyjson_obj_size(sources) + yyjson_obj_size(groups);
    if (!o)
        return RC_OK;
    TRY(only(r, o, "stewards", known, ARRAY_LEN(known),
             "is no member; there are sources and collections"));
    p->stewards = arena_alloc(r->a, (n + 1) * sizeof *p->stewards);
    if (!p->stewards)
        return err_set(r->err, RC_NOMEM, "stewards", "no memory for the policy");
    TRY(read_some_stewards(r, sources, false, p));
    return read_some_stewards(r, groups, true, p);
}

static bool is_version(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    return n > 0 && n <= POLICY_VERSION_MAX &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n &&
           strcmp(s, POLICY_CLOSED) != 0;
}

static enum rc make_tag(yyjson_val *root, sha256_fn *hash, struct policy *p, struct err *err)
{
    CLEANUP(buf_release) struct buf canon = {0};
    struct sha256 sha;
    char hex[SHA256_HEX];
    snprintf(p->tag, sizeof p->tag, "%s", p->version);
    if (!hash)
        return RC_OK;
    buf_init(&canon, FILE_MAX);
    TRY(json_canon(&canon, root, err));
    hash(buf_view(&canon).p, buf_view(&canon).n, &sha);
    sha256_hex(&sha, hex);
    snprintf(p->tag, sizeof p->tag, "%s+%.8s", p->version, hex);
    return RC_OK;
}

enum rc policy_parse(struct arena *a, struct str text, sha256_fn *hash, struct policy *ret,
                     struct err *err)
{
    static const char *const known[] = {"version", "levels", "stewards"};
    struct reader r = {.a = a, .err = err};
    struct policy p = {0};
    yyjson_val *root;
    TRY(json_parse(a, text, JSON_RELAXED, POLICY_FILE, &root, err));
    if (!yyjson_is_obj(root))
        return err_set(err, RC_INVALID, "", POLICY_FILE " must be a JSON object");
    TRY(only(&r, root, "", known, ARRAY_LEN(known),
             "is no member; there are version, levels, stewards"));
    p.version = yyjson_get_str(yyjson_obj_get(root, "version"));
    if (!is_version(p.version))
        return err_set(err, RC_INVALID, "version",
                       "must be a text of 1 to %d letters, digits, '.', '_' and '-', like \"1\"",
                       POLICY_VERSION_MAX);
    TRY(read_levels(&r, yyjson_obj_get(root, "levels"), &p));
    TRY(read_stewards(&r, yyjson_obj_get(root, "stewards"), &p));
    TRY(make_tag(root, hash, &p, err));
    *ret = p;
    return RC_OK;
}

enum rc policy_load(struct arena *a, const char *dir, sha256_fn *hash, struct policy *ret,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char *path = arena_printf(a, "%s/" POLICY_FILE, dir);
    buf_init(&text, FILE_MAX);
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    enum rc rc = file_read(path, &text, err);
    if (rc == RC_NOT_FOUND)
        return err_set(err, rc, "",
                       POLICY_FILE " is missing. Write one: freshet policy sample > %s", path);
    TRY(rc);
    char *copy = arena_str(a, buf_view(&text));
    if (!copy)
        return err_set(err, RC_NOMEM, "", "no memory for the policy");
    return policy_parse(a, (struct str){copy, buf_view(&text).n}, hash, ret, err);
}

/* ---- what ETags hold ------------------------------------------------------------------------- */

static enum rc in_force(struct ledger *l, struct arena *a, const char *tag, bool *ret,
                        struct err *err)
{
    struct public_meta m;
    TRY(public_meta_get(l, a, &m, err));
    *ret = strcmp(m.policy_version, tag) == 0;
    return RC_OK;
}

static enum rc write_tag(struct ledger *l, const char *tag, int64_t now, struct err *err)
{
    ledger_withdraws(l);
    TRY(query_run(l, Q_META_POLICY, err, "ti", tag, now));
    return replay_append(l, now, "policy", 0, tag, STR("{}"), err);
}

/* Who waited for the lock may find that another handler has read the same file and told of it. */
static enum rc publish(struct ledger *l, struct arena *a, const char *tag, int64_t now,
                       struct err *err)
{
    bool told;
    TRY(in_force(l, a, tag, &told, err));
    return told ? RC_OK : write_tag(l, tag, now, err);
}

enum rc policy_publish(struct ledger *l, struct arena *a, const char *tag, int64_t now,
                       struct err *err)
{
    bool told;
    TRY(in_force(l, a, tag, &told, err)); /* mostly, and then the lock is not needed */
    if (told)
        return RC_OK;
    TRY(ledger_begin(l, err));
    return ledger_end(l, publish(l, a, tag, now, err), err);
}

enum rc policy_publish_again(struct ledger *l, const char *tag, int64_t now, struct err *err)
{
    TRY(ledger_begin(l, err));
    return ledger_end(l, write_tag(l, tag, now, err), err);
}

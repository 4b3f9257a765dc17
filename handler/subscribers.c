/* subscribers: reads notify.json, and decides who hears of what. */
#include "handler/subscribers.h"

#include "core/file.h"
#include "core/instance.h"
#include "core/json.h"

#define FILE_MAX (1u << 20)
#define URL_MAX 2048

static const struct {
    const char *word;
    bool by_default;
} events[EVENT_COUNT] = {
#define X(name, word, by_default, help) [EVENT_##name] = {word, by_default},
#include "handler/subscribers.def"
#undef X
};

static const char *const formats[NOTIFY_FORMATS] = {"standard-webhooks", "slack", "discord"};

const char *subscriber_format_name(enum subscriber_format f)
{
    return formats[f];
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    struct arena *a;
    struct err *err;
    const char *who; /* the subscriber that is read */
    char path[64];   /* and its field, as errors name it */
};

static enum rc wrong(struct reader *r, const char *fix)
{
    return err_set(r->err, RC_INVALID, r->path, "%s", fix);
}

static void at(struct reader *r, const char *field)
{
    snprintf(r->path, sizeof r->path, "%.40s%s%.20s", r->who, *field ? "." : "", field);
}

static enum rc known_members(struct reader *r, yyjson_val *o)
{
    static const char *const known[] = {"name",    "url",      "format",        "secrets",
                                        "events",  "sources",  "collections",   "change_types",
                                        "enabled", "audience", "change_classes"};
    yyjson_obj_iter it = yyjson_obj_iter_with(o);
    yyjson_val *key;
    unsigned seen = 0;
    while ((key = yyjson_obj_iter_next(&it))) {
        size_t i = 0;
        while (i < ARRAY_LEN(known) && !yyjson_equals_str(key, known[i]))
            i++;
        at(r, yyjson_get_str(key));
        if (i == ARRAY_LEN(known))
            return wrong(r, "is no field; there are name, url, format, secrets, events, sources, "
                            "collections, change_types, change_classes, audience, enabled");
        if (seen & 1u << i)
            return wrong(r, "is there twice: keep one");
        seen |= 1u << i;
    }
    return RC_OK;
}

static enum rc read_list(struct reader *r, yyjson_val *o, const char *field, const char *fix,
                         struct conf_list *ret)
{
    yyjson_val *list = yyjson_obj_get(o, field), *v;
    size_t i, n;
    struct conf_list l = {0};
    at(r, field);
    if (!list)
        return RC_OK;
    if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0 ||
        yyjson_arr_size(list) > SUBSCRIBER_LIST_MAX)
        return wrong(r, fix);
    l.items = arena_alloc(r->a, yyjson_arr_size(list) * sizeof *l.items);
    if (!l.items)
        return err_set(r->err, RC_NOMEM, r->path, "no memory for a list");
    yyjson_arr_foreach(list, i, n, v)
    {
        const char *s = yyjson_get_str(v);
        if (!s || !str_is_slug(str_of(s), SECRET_NAME_MAX))
            return wrong(r, fix);
        l.items[l.n++] = s;
    }
    *ret = l;
    return RC_OK;
}

static enum rc read_events(struct reader *r, yyjson_val *o, unsigned *ret)
{
    static const char fix[] = "must be a list of change, unexpected, hold, dead_letter, breach, "
                              "conflict";
    yyjson_val *list = yyjson_obj_get(o, "events"), *v;
    size_t i, n, e;
    unsigned bits = 0;
    at(r, "events");
    for (e = 0; e < EVENT_COUNT; e++)
        bits |= !list && events[e].by_default ? 1u << e : 0;
    if (list && (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0))
        return wrong(r, fix);
    yyjson_arr_foreach(list, i, n, v)
    {
        for (e = 0; e < EVENT_COUNT; e++)
            if (yyjson_equals_str(v, events[e].word))
                break;
        if (e == EVENT_COUNT)
            return wrong(r, fix);
        bits |= 1u << e;
    }
    *ret = bits;
    return RC_OK;
}

/* A member that is one of these words; absent: the first. */
static enum rc read_word(struct reader *r, yyjson_val *o, const char *field,
                         const char *const *words, size_t n, const char *fix, size_t *ret)
{
    yyjson_val *v = yyjson_obj_get(o, field);
    size_t i = 0;
    at(r, field);
    while (v && i < n && !yyjson_equals_str(v, words[i]))
        i++;
    if (i == n)
        return wrong(r, fix);
    *ret = i;
    return RC_OK;
}

static enum rc read_url(struct reader *r, yyjson_val *o, struct subscriber *s)
{
    static const char prefix[] = "secret:";
    const char *url = yyjson_get_str(yyjson_obj_get(o, "url"));
    struct str v = str_of(url);
    at(r, "url");
    if (str_starts(v, STR("secret:"))) {
        if (!str_is_slug(str_of(url + sizeof prefix - 1), SECRET_NAME_MAX))
            return wrong(r, "must name a file of secrets/, like \"secret:team-hook\"");
    } else if (s->format != NOTIFY_STANDARD) {
        return wrong(r, "is the key of this hook: put it into a file of secrets/ and write "
                        "\"secret:NAME\"");
    } else if (v.n > URL_MAX || !str_is_clean(v) || strchr(url ? url : "@", '@') ||
               (!str_starts(v, STR("https://")) && !str_starts(v, STR("http://")))) {
        return wrong(r, "must be an https address without credentials, or \"secret:NAME\"");
    }
    s->url = url;
    return RC_OK;
}

static enum rc read_secrets(struct reader *r, yyjson_val *o, struct subscriber *s)
{
    static const char fix[] = "must be a list of 1 to 4 names of files in secrets/; each holds "
                              "whsec_ and the base64 of 24 to 64 random bytes";
    TRY(read_list(r, o, "secrets", fix, &s->secrets));
    at(r, "secrets");
    if (s->format != NOTIFY_STANDARD)
        return s->secrets.n ? wrong(r, "are for standard-webhooks only: this format is not signed")
                            : RC_OK;
    return s->secrets.n && s->secrets.n <= SUBSCRIBER_SECRETS_MAX ? RC_OK : wrong(r, fix);
}

static const char *const types[] = {
#define CHANGE_TYPE(name) #name,
#include "handler/changes.def"
};
static const char *const classes[] = {
#define CHANGE_CLASS(name) #name,
#include "handler/changes.def"
};

/* A word that is none of these would match nothing, and the subscriber would wait for ever. */
static enum rc read_words(struct reader *r, yyjson_val *o, const char *field,
                          const char *const *words, size_t n, struct conf_list *ret)
{
    char fix[200] = "must be a list of ";
    for (size_t i = 0, len = strlen(fix); i < n; i++)
        len += (size_t)snprintf(fix + len, sizeof fix - len, "%s%s", i ? ", " : "", words[i]);
    TRY(read_list(r, o, field, fix, ret));
    for (size_t i = 0; i < ret->n; i++) {
        size_t k = 0;
        while (k < n && strcmp(words[k], ret->items[i]) != 0)
            k++;
        if (k == n)
            return wrong(r, fix);
    }
    return RC_OK;
}

static enum rc read_filters(struct reader *r, yyjson_val *o, struct subscriber *s)
{
    static const char ids[] = "must be a list of ids; leave it out for all";
    TRY(read_events(r, o, &s->events));
    TRY(read_list(r, o, "sources", ids, &s->sources));
    TRY(read_list(r, o, "collections", ids, &s->collections));
    TRY(read_words(r, o, "change_types", types, ARRAY_LEN(types), &s->types));
    return read_words(r, o, "change_classes", classes, ARRAY_LEN(classes), &s->classes);
}

static enum rc read_name(struct reader *r, yyjson_val *o, const struct subscribers *before,
                         const char **ret)
{
    const char *name = yyjson_get_str(yyjson_obj_get(o, "name"));
    at(r, "name");
    if (!name || !str_is_slug(str_of(name), SUBSCRIBER_NAME_MAX))
        return wrong(r, "must have 1 to 32 characters of a-z, 0-9, '_' and '-'");
    if (subscribers_find(before, name))
        return wrong(r, "is there twice: each subscriber has a name of its own");
    r->who = *ret = name;
    return RC_OK;
}

static enum rc read_one(struct reader *r, yyjson_val *o, const struct subscribers *before,
                        struct subscriber *ret)
{
    static const char *const audiences[] = {"public", "stewards"};
    struct subscriber s = {.enabled = true};
    size_t format = 0, audience = 0;
    at(r, "");
    if (!yyjson_is_obj(o))
        return wrong(r, "must be an object with name, url and secrets");
    TRY(read_name(r, o, before, &s.name));
    TRY(known_members(r, o));
    TRY(read_word(r, o, "format", formats, NOTIFY_FORMATS,
                  "must be standard-webhooks, slack or discord", &format));
    TRY(read_word(
        r, o, "audience", audiences, ARRAY_LEN(audiences),
        "must be public (the default) or stewards, who are told ids of restricted sources",
        &audience));
    s.format = (enum subscriber_format)format;
    s.stewards = audience == 1;
    TRY(read_url(r, o, &s));
    TRY(read_secrets(r, o, &s));
    TRY(read_filters(r, o, &s));
    at(r, "enabled");
    yyjson_val *enabled = yyjson_obj_get(o, "enabled");
    if (enabled && !yyjson_is_bool(enabled))
        return wrong(r, "must be true or false; while it is false, what happens waits");
    s.enabled = !enabled || yyjson_get_bool(enabled);
    *ret = s;
    return RC_OK;
}

static enum rc read_all(struct reader *r, yyjson_val *list, struct subscribers *ret)
{
    yyjson_val *o;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, o)
    {
        char who[32];
        if (i == SUBSCRIBERS_MAX)
            return err_set(r->err, RC_INVALID, "subscribers", "at most %d can be told",
                           SUBSCRIBERS_MAX);
        snprintf(who, sizeof who, "subscribers[%zu]", i);
        r->who = who;
        TRY(read_one(r, o, ret, &ret->list[i]));
        ret->n++;
    }
    return RC_OK;
}

enum rc subscribers_parse(struct arena *a, struct str text, struct subscribers *ret,
                          struct err *err)
{
    struct reader r = {.a = a, .err = err};
    yyjson_val *root, *list;
    struct subscribers *all = ARENA_NEW(a, struct subscribers);
    if (!all)
        return err_set(err, RC_NOMEM, "", "no memory for the subscribers");
    TRY(json_parse(a, text, JSON_RELAXED, NOTIFY_FILE, &root, err));
    list = yyjson_obj_get(root, "subscribers");
    if (!yyjson_is_obj(root) || yyjson_obj_size(root) != 1 || !yyjson_is_arr(list))
        return err_set(err, RC_INVALID, "subscribers",
                       NOTIFY_FILE " must be a JSON object with this one member, a list");
    TRY(read_all(&r, list, all));
    *ret = *all;
    return RC_OK;
}

enum rc subscribers_load(struct arena *a, const struct instance *inst, struct subscribers *ret,
                         struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char *path = instance_path(a, inst, NOTIFY_FILE);
    buf_init(&text, FILE_MAX);
    if (!path)
        return err_set(err, RC_NOMEM, "", "no memory for a path");
    enum rc rc = file_read(path, &text, err);
    if (rc == RC_NOT_FOUND) {
        ret->n = 0;
        return RC_OK;
    }
    TRY(rc);
    char *copy = arena_str(a, buf_view(&text));
    return copy ? subscribers_parse(a, (struct str){copy, text.len}, ret, err)
                : err_set(err, RC_NOMEM, "", "no memory for " NOTIFY_FILE);
}

const struct subscriber *subscribers_find(const struct subscribers *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i].name, name) == 0)
            return &all->list[i];
    return NULL;
}

void subscriber_events(const struct subscriber *s, char *out, size_t n)
{
    size_t len = 0;
    *out = '\0';
    for (size_t e = 0; e < EVENT_COUNT; e++)
        if (s->events & 1u << e && len < n)
            len += (size_t)snprintf(out + len, n - len, "%s%s", len ? "," : "", events[e].word);
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* An empty list lets everything pass; what is withheld ("") passes no other. */
static bool passes(const struct conf_list *l, const char *value)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], value) == 0)
            return true;
    return l->n == 0;
}

static bool wants(const struct subscriber *s, const struct occurrence *o)
{
    static const unsigned bits[NOTICE_COUNT] = {
        [NOTICE_change] = 1u << EVENT_change,       [NOTICE_hold] = 1u << EVENT_hold,
        [NOTICE_dead] = 1u << EVENT_dead,           [NOTICE_breach_began] = 1u << EVENT_breach,
        [NOTICE_breach_ended] = 1u << EVENT_breach, [NOTICE_conflict] = 1u << EVENT_conflict};
    unsigned bit = bits[o->kind];
    if (o->kind == NOTICE_change && o->entry->unexpected)
        bit |= 1u << EVENT_unexpected;
    return s->events & bit;
}

bool subscriber_hears(const struct subscriber *s, const struct occurrence *o)
{
    enum level l = o->source->level;
    if (l >= LEVEL_SOVEREIGN || (l >= LEVEL_RESTRICTED && !s->stewards))
        return false;
    if (o->kind == NOTICE_change && !o->entry)
        return false;
    if (o->kind == NOTICE_change &&
        (!passes(&s->types, o->entry->change_type) || !passes(&s->classes, o->entry->change_class)))
        return false;
    return wants(s, o) && passes(&s->sources, o->source->id) &&
           passes(&s->collections, o->source->collection);
}

/* rules_inspection: rules over what the inspector told, of the file and of the head. */
#include "handler/validate_internal.h"

#include <math.h>

bool rule_unread(const struct summary *s)
{
    return s->problems[PROBLEM_PARSE_ERROR] + s->problems[PROBLEM_TOO_LARGE] +
               s->problems[PROBLEM_ARCHIVE_UNSAFE] + s->problems[PROBLEM_TIME_LIMIT] +
               s->problems[PROBLEM_INSPECTOR_CRASHED] >
           0;
}

static const char *told(const struct view *v, enum inspect_problem p, const char *why)
{
    return v->now->problems[p] > 0 ? why : NULL;
}

const char *rule_inspected(const struct view *v)
{
    return told(v, PROBLEM_INSPECTOR_CRASHED, "its inspection ended without a report");
}

const char *rule_in_time(const struct view *v)
{
    return told(v, PROBLEM_TIME_LIMIT, "its inspection took longer than inspect_timeout_s");
}

const char *rule_inspect_cap(const struct view *v)
{
    return told(v, PROBLEM_TOO_LARGE, "beyond a limit of the inspector");
}

const char *rule_archive_safe(const struct view *v)
{
    return told(v, PROBLEM_ARCHIVE_UNSAFE, "names, links or sizes that no honest archive has");
}

const char *rule_parses(const struct view *v)
{
    return told(v, PROBLEM_PARSE_ERROR, "does not parse as its format");
}

/* JSON that only mentions GeoJSON, an archive of texts: no harm, unless geodata is asked for. */
const char *rule_has_geodata(const struct view *v)
{
    bool none = !v->now->geodata && !rule_unread(v->now);
    return v->expect->geodata && none ? "no layer with features, no pixels" : NULL;
}

bool rule_in_degrees(const struct summary *s)
{
    const double *b = s->bbox;
    return b[0] >= -180 && b[1] >= -90 && b[2] <= 180 && b[3] <= 90;
}

const char *rule_crs_known(const struct view *v)
{
    if (v->now->has_bbox && !rule_in_degrees(v->now))
        return "coordinates are not degrees of longitude and latitude";
    return told(v, PROBLEM_CRS_MISSING_OR_INVALID, "cannot be brought to longitude and latitude");
}

const char *rule_geometry_valid(const struct view *v)
{
    const char *why = told(v, PROBLEM_GEOMETRY_INVALID, "a geometry is not valid");
    return why ? why : told(v, PROBLEM_COORDINATES_OUT_OF_RANGE, "a coordinate is no place");
}

/* Features or pixels without any coordinates: not such whose CRS nobody knows, nor none at all. */
static bool is_placeless(const struct summary *s)
{
    return s->geodata && s->features != 0 && s->problems[PROBLEM_CRS_MISSING_OR_INVALID] == 0;
}

const char *rule_inside_region(const struct view *v)
{
    const double *b = v->now->bbox, *r = v->expect->region;
    if (!v->expect->has_region)
        return NULL;
    if (!v->now->has_bbox)
        return is_placeless(v->now) ? "none of the data has a place" : NULL;
    if (v->now->problems[PROBLEM_COORDINATES_OUT_OF_RANGE] > 0)
        return "some of the data is at no place";
    bool inside = b[0] >= r[0] && b[1] >= r[1] && b[2] <= r[2] && b[3] <= r[3];
    return inside ? NULL : "the data reaches out of the region of the source";
}

const char *rule_min_features(const struct view *v)
{
    bool few = v->now->features >= 0 && v->now->features < v->expect->min_features;
    return few ? "fewer features than the source asks for" : NULL;
}

const char *rule_key_there(const struct view *v)
{
    return told(v, PROBLEM_KEY_MISSING, "a feature has no value for the feature key");
}

const char *rule_key_unique(const struct view *v)
{
    return told(v, PROBLEM_KEY_COLLISION, "two features have the same feature key");
}

/* From nothing to something is more than any limit; from nothing to nothing is none. */
static bool drifts(double before, double now, double limit_pct)
{
    return limit_pct >= 0 && fabs(now - before) * 100 > limit_pct * before;
}

static bool comparable(const struct view *v)
{
    return v->before && v->before->features >= 0 && v->now->features >= 0;
}

const char *rule_count_drift(const struct view *v)
{
    if (!comparable(v) ||
        !drifts((double)v->before->features, (double)v->now->features, v->expect->count_drift_pct))
        return NULL;
    return "the number of features moved more than limits.count_drift_pct allows";
}

const char *rule_area_drift(const struct view *v)
{
    if (!comparable(v) || !drifts(v->before->area_km2, v->now->area_km2, v->expect->area_drift_pct))
        return NULL;
    return "the area moved more than limits.area_drift_pct allows";
}

const char *rule_required_there(const struct view *v)
{
    double share =
        v->now->features > 0 ? 100.0 * (double)v->now->missing / (double)v->now->features : 0;
    return share > v->expect->missing_pct ? "too many features lack a required field" : NULL;
}

const char *rule_key_pattern(const struct view *v)
{
    return v->now->bad_keys > 0 ? "a feature key is no GEOID of the boundary type" : NULL;
}

static bool has_field(const struct summary *s, uint64_t mark)
{
    for (size_t i = 0; i < s->n_fields; i++)
        if (s->fields[i] == mark)
            return true;
    return false;
}

/* That there are no fields is known of features that have none; without features some formats
 * name none. */
static bool knows_fields(const struct summary *s)
{
    return !s->fields_uncounted && (s->n_fields > 0 || s->features > 0);
}

/* Has x a field that y has not? */
static bool has_more(const struct summary *x, const struct summary *y)
{
    if (!knows_fields(x) || !knows_fields(y))
        return false;
    for (size_t i = 0; i < x->n_fields; i++)
        if (!has_field(y, x->fields[i]))
            return true;
    return false;
}

const char *rule_schema_kept(const struct view *v)
{
    bool lost = v->before && has_more(v->before, v->now);
    return lost ? "a field of the version before is gone, or has another type" : NULL;
}

const char *rule_schema_same(const struct view *v)
{
    bool more = v->before && has_more(v->now, v->before) && !has_more(v->before, v->now);
    return more ? "there is a field that the version before had not" : NULL;
}

const char *rule_size_drift(const struct view *v)
{
    bool moved = v->expect->head_bytes > 0 &&
                 drifts((double)v->expect->head_bytes, (double)v->size, v->expect->size_drift_pct);
    return moved ? "the number of bytes moved more than limits.size_drift_pct allows" : NULL;
}

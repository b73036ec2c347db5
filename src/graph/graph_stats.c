/*
 * What is in a data set: items of each set per graph, edges per node at both ends, values and row
 * lengths of each feature, as counts, means and quantiles. Quantiles are exact up to a number of
 * values and beyond it those of a uniform sample (Vitter's algorithm R with counter-based draws, so
 * the same data give the same figures).
 */
#include <regimen/graph_data.h>

#include "graph_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT    8192 /* values a distribution keeps     */
#define CLASSES 100  /* integers below this are counted */

static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};
#define QUANTILES 5

typedef struct distribution {
    int64_t count, bad;              /* bad: NaN or infinite, not counted elsewhere */
    double sum, spread, least, most; /* spread: sum of squared distances from the mean */
    double *kept;
    int64_t kept_count, kept_room;
} distribution;

typedef struct feature_stats {
    distribution values;  /* of strings: their sizes in bytes      */
    distribution lengths; /* rows of all ragged dims               */
    int64_t absent;       /* graphs that lack it                   */
    int64_t *classes;     /* [CLASSES] of integers; NULL otherwise */
    bool outside;         /* an integer had no class               */
    int64_t missing;      /* integers: see rgm_dtype_missing()     */
} feature_stats;

typedef struct set_stats {
    distribution items;      /* a graph                       */
    distribution degrees[2]; /* edge sets: by tag, all nodes  */
    feature_stats *features;
} set_stats;

struct rgm_stats {
    rgm_schema *schema;
    rgm_rng rng;
    uint64_t draws;
    int64_t graphs;
    distribution components;
    set_stats *sets;
};

static void clear_distribution(distribution *d)
{
    rgm_free(d->kept);
}

void rgm_stats_release(rgm_stats *stats)
{
    if (stats == NULL)
        return;
    for (int64_t i = 0; stats->sets && i < rgm_schema_set_count(stats->schema); i++) {
        set_stats *set = &stats->sets[i];
        for (int64_t k = 0; set->features && k < rgm_schema_set(stats->schema, i)->feature_count;
             k++) {
            clear_distribution(&set->features[k].values);
            clear_distribution(&set->features[k].lengths);
            rgm_free(set->features[k].classes);
        }
        rgm_free(set->features);
        clear_distribution(&set->items);
        clear_distribution(&set->degrees[0]);
        clear_distribution(&set->degrees[1]);
    }
    clear_distribution(&stats->components);
    rgm_free(stats->sets);
    rgm_schema_release(stats->schema);
    rgm_free(stats);
}

rgm_status rgm_stats_create(rgm_stats **out, rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_stats *stats = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(stats, 1));
    stats->schema = rgm_schema_retain(schema);
    stats->rng = rgm_rng_stream(0, "stats", 0);
    RGM_GO(RGM_NEW(stats->sets, rgm_schema_set_count(schema)));
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        RGM_GO(RGM_NEW(stats->sets[i].features, set->feature_count));
        for (int64_t k = 0; k < set->feature_count; k++)
            if (set->features[k].dtype == RGM_I64 || set->features[k].dtype == RGM_I32 ||
                set->features[k].dtype == RGM_BOOL)
                RGM_GO(RGM_NEW(stats->sets[i].features[k].classes, CLASSES));
    }
    *out = stats;
    stats = NULL;
done:
    rgm_stats_release(stats);
    return status;
}

/* ---- adding ---- */

static double mean_of(const distribution *d)
{
    return d->count > 0 ? d->sum / (double)d->count : 0;
}

/* Distances as Welford sums them: of times in seconds the squares are so large that what they
 * differ by is rounding. */
static rgm_status add_value(rgm_stats *stats, distribution *d, double value)
{
    double from = value - mean_of(d);

    if (!isfinite(value)) {
        d->bad++;
        return RGM_OK;
    }
    if (d->count == 0)
        d->least = d->most = value;
    d->least = value < d->least ? value : d->least;
    d->most = value > d->most ? value : d->most;
    d->sum += value;
    d->count++;
    d->spread += from * (value - mean_of(d));
    if (d->kept_count < KEPT) {
        RGM_TRY(RGM_RESERVE(d->kept, d->kept_room, d->kept_count + 1));
        d->kept[d->kept_count++] = value;
    } else {
        uint64_t at = rgm_rng_below(&stats->rng, stats->draws++, (uint64_t)d->count);
        if (at < KEPT)
            d->kept[at] = value;
    }
    return RGM_OK;
}

static rgm_status add_lengths(rgm_stats *stats, feature_stats *f, const rgm_tensor *lengths)
{
    for (int64_t i = 0; lengths && i < rgm_tensor_count(lengths); i++)
        RGM_TRY(add_value(stats, &f->lengths, (double)rgm_tensor_i64(lengths)[i]));
    return RGM_OK;
}

static rgm_status add_feature(rgm_stats *stats, feature_stats *f, const rgm_feature *feature)
{
    const rgm_tensor *values;

    if (feature == NULL) {
        f->absent++;
        return RGM_OK;
    }
    values = feature->values;
    for (int k = 1; k < RGM_MAX_RANK; k++)
        RGM_TRY(add_lengths(stats, f, feature->row_lengths[k]));
    for (int64_t i = 0; i < rgm_tensor_count(values); i++) {
        if (rgm_tensor_dtype(values) == RGM_STRING) {
            RGM_TRY(add_value(stats, &f->values, (double)rgm_tensor_str(values)[i].size));
            continue;
        }
        if (f->classes && rgm_tensor_is_missing(values, i)) {
            f->missing++;
            continue;
        }
        RGM_TRY(add_value(stats, &f->values, rgm_tensor_at(values, i)));
        if (f->classes) {
            int64_t v = rgm_tensor_at_int(values, i);
            if (v >= 0 && v < CLASSES)
                f->classes[v]++;
            else
                f->outside = true;
        }
    }
    return RGM_OK;
}

static rgm_status add_degrees(rgm_stats *stats, distribution *d, const rgm_graph *graph,
                              const char *edge_set, rgm_tag end)
{
    rgm_status status = RGM_OK;
    rgm_tensor *degrees = NULL;

    RGM_GO(rgm_graph_node_degree(&degrees, graph, edge_set, end));
    for (int64_t i = 0; i < rgm_tensor_count(degrees); i++)
        RGM_GO(add_value(stats, d, (double)rgm_tensor_i64(degrees)[i]));
done:
    rgm_tensor_release(degrees);
    return status;
}

rgm_status rgm_stats_add(rgm_stats *stats, const rgm_graph *graph)
{
    RGM_TRY(rgm_schema_check_has(rgm_graph_schema(graph), stats->schema));
    RGM_TRY(add_value(stats, &stats->components, (double)rgm_graph_components(graph)));
    for (int64_t i = 0; i < rgm_schema_set_count(stats->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(stats->schema, i);
        set_stats *to = &stats->sets[i];
        if (set->piece != RGM_CONTEXT_PIECE)
            RGM_TRY(add_value(stats, &to->items,
                              (double)rgm_graph_total(graph, set->piece, set->name)));
        if (set->piece == RGM_EDGE_SET) {
            RGM_TRY(add_degrees(stats, &to->degrees[RGM_SOURCE], graph, set->name, RGM_SOURCE));
            RGM_TRY(add_degrees(stats, &to->degrees[RGM_TARGET], graph, set->name, RGM_TARGET));
        }
        for (int64_t k = 0; k < set->feature_count; k++)
            RGM_TRY(add_feature(
                stats, &to->features[k],
                rgm_graph_feature(graph, set->piece, set->name, set->features[k].name)));
    }
    stats->graphs++;
    return RGM_OK;
}

/* ---- figures ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean, deviation and quantiles; quantile q is the smallest value with at least a share q below or
 * at it. */
typedef struct figures {
    double mean, deviation, at[QUANTILES];
} figures;

static rgm_status make_figures(figures *out, const distribution *d)
{
    double *sorted;

    memset(out, 0, sizeof *out);
    if (d->count == 0)
        return RGM_OK;
    out->mean = mean_of(d);
    out->deviation = d->spread > 0 ? sqrt(d->spread / (double)d->count) : 0;
    RGM_TRY(RGM_NEW(sorted, d->kept_count));
    memcpy(sorted, d->kept, (size_t)d->kept_count * sizeof *sorted);
    qsort(sorted, (size_t)d->kept_count, sizeof *sorted, ascending);
    for (int i = 0; i < QUANTILES; i++) {
        int64_t at = (int64_t)ceil(quantiles[i] * (double)d->kept_count) - 1;
        out->at[i] = sorted[at < 0 ? 0 : at];
    }
    rgm_free(sorted);
    return RGM_OK;
}

/* How many classes to show: up to the highest seen, 0 for features that are no classes. */
static int64_t class_count(const feature_stats *f, const rgm_feature_schema *schema)
{
    int64_t count = 0;

    for (int64_t i = 0; f->classes && !f->outside && schema->rank == 0 && i < CLASSES; i++)
        if (f->classes[i] > 0)
            count = i + 1;
    return count;
}

/* ---- for people ---- */

static rgm_status print_line(rgm_text *out, const char *name, const distribution *d)
{
    figures f;

    RGM_TRY(make_figures(&f, d));
    if (d->count == 0)
        RGM_TRY(rgm_text_printf(out, "  %-28s %10d", name, 0));
    else
        RGM_TRY(rgm_text_printf(out,
                                "  %-28s %10lld %9.4g %9.4g %9.4g %9.4g %9.4g %9.4g %9.4g %9.4g",
                                name, (long long)d->count, f.mean, d->least, f.at[0], f.at[1],
                                f.at[2], f.at[3], f.at[4], d->most));
    if (d->bad > 0)
        RGM_TRY(rgm_text_printf(out, "  (%lld not finite)", (long long)d->bad));
    return rgm_text_printf(out, "\n");
}

static rgm_status print_feature(rgm_text *out, const feature_stats *f,
                                const rgm_feature_schema *schema)
{
    int64_t classes = class_count(f, schema);

    RGM_TRY(print_line(out, schema->name, &f->values));
    if (rgm_feature_is_ragged(schema))
        RGM_TRY(print_line(out, "  values an item", &f->lengths));
    if (f->absent > 0)
        RGM_TRY(rgm_text_printf(out, "    absent in %lld graphs\n", (long long)f->absent));
    if (f->missing > 0)
        RGM_TRY(rgm_text_printf(out, "    missing: %lld\n", (long long)f->missing));
    if (classes > 0) {
        RGM_TRY(rgm_text_printf(out, "    of each:"));
        for (int64_t i = 0; i < classes; i++)
            if (f->classes[i] > 0)
                RGM_TRY(
                    rgm_text_printf(out, " %lld: %lld", (long long)i, (long long)f->classes[i]));
        RGM_TRY(rgm_text_printf(out, "\n"));
    }
    return RGM_OK;
}

rgm_status rgm_stats_print(rgm_text *out, const rgm_stats *stats)
{
    char title[RGM_SET_TITLE];

    RGM_TRY(rgm_text_printf(out, "%-30s %10s %9s %9s %9s %9s %9s %9s %9s %9s\n", "", "count",
                            "mean", "min", "5 %", "25 %", "50 %", "75 %", "95 %", "max"));
    RGM_TRY(rgm_text_printf(out, "%lld graphs\n", (long long)stats->graphs));
    RGM_TRY(print_line(out, "components", &stats->components));
    for (int64_t i = 0; i < rgm_schema_set_count(stats->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(stats->schema, i);
        const set_stats *from = &stats->sets[i];
        if (set->piece == RGM_CONTEXT_PIECE && set->feature_count == 0)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s\n", rgm_set_title(set, title, sizeof title)));
        if (set->piece != RGM_CONTEXT_PIECE)
            RGM_TRY(print_line(out, "items a graph", &from->items));
        if (set->piece == RGM_EDGE_SET) {
            RGM_TRY(print_line(out, "edges a source node", &from->degrees[RGM_SOURCE]));
            RGM_TRY(print_line(out, "edges a target node", &from->degrees[RGM_TARGET]));
        }
        for (int64_t k = 0; k < set->feature_count; k++)
            RGM_TRY(print_feature(out, &from->features[k], &set->features[k]));
    }
    return RGM_OK;
}

/* ---- JSON ---- */

static rgm_status json_distribution(rgm_text *out, const char *name, const distribution *d)
{
    figures f;

    RGM_TRY(make_figures(&f, d));
    RGM_TRY(rgm_text_printf(out, "\"%s\": {\"count\": %lld", name, (long long)d->count));
    if (d->bad > 0)
        RGM_TRY(rgm_text_printf(out, ", \"not_finite\": %lld", (long long)d->bad));
    if (d->count > 0) {
        RGM_TRY(rgm_text_printf(out, ", \"mean\": %.9g, \"deviation\": %.9g, \"min\": %.9g", f.mean,
                                f.deviation, d->least));
        for (int i = 0; i < QUANTILES; i++)
            RGM_TRY(rgm_text_printf(out, ", \"p%02d\": %.9g", (int)(100 * quantiles[i] + 0.5),
                                    f.at[i]));
        RGM_TRY(rgm_text_printf(out, ", \"max\": %.9g", d->most));
    }
    return rgm_text_printf(out, "}");
}

static rgm_status json_feature(rgm_text *out, const feature_stats *f,
                               const rgm_feature_schema *schema)
{
    int64_t classes = class_count(f, schema);

    RGM_TRY(rgm_json_print_text(out, schema->name));
    RGM_TRY(rgm_text_printf(out, ": {\"dtype\": \"%s\", ", rgm_dtype_name(schema->dtype)));
    RGM_TRY(json_distribution(out, schema->dtype == RGM_STRING ? "bytes" : "values", &f->values));
    if (rgm_feature_is_ragged(schema)) {
        RGM_TRY(rgm_text_printf(out, ", "));
        RGM_TRY(json_distribution(out, "lengths", &f->lengths));
    }
    if (f->absent > 0)
        RGM_TRY(rgm_text_printf(out, ", \"absent\": %lld", (long long)f->absent));
    if (f->missing > 0)
        RGM_TRY(rgm_text_printf(out, ", \"missing\": %lld", (long long)f->missing));
    if (classes > 0) {
        RGM_TRY(rgm_text_printf(out, ", \"classes\": ["));
        for (int64_t i = 0; i < classes; i++)
            RGM_TRY(rgm_text_printf(out, "%s%lld", i ? ", " : "", (long long)f->classes[i]));
        RGM_TRY(rgm_text_printf(out, "]"));
    }
    return rgm_text_printf(out, "}");
}

static rgm_status json_set(rgm_text *out, const set_stats *from, const rgm_set_schema *set)
{
    RGM_TRY(rgm_text_printf(out, "{"));
    if (set->piece != RGM_CONTEXT_PIECE) {
        RGM_TRY(json_distribution(out, "items", &from->items));
        RGM_TRY(rgm_text_printf(out, ", "));
    }
    if (set->piece == RGM_EDGE_SET) {
        RGM_TRY(json_distribution(out, "edges_a_source", &from->degrees[RGM_SOURCE]));
        RGM_TRY(rgm_text_printf(out, ", "));
        RGM_TRY(json_distribution(out, "edges_a_target", &from->degrees[RGM_TARGET]));
        RGM_TRY(rgm_text_printf(out, ", "));
    }
    RGM_TRY(rgm_text_printf(out, "\"features\": {"));
    for (int64_t k = 0; k < set->feature_count; k++) {
        RGM_TRY(rgm_text_printf(out, "%s", k ? ", " : ""));
        RGM_TRY(json_feature(out, &from->features[k], &set->features[k]));
    }
    return rgm_text_printf(out, "}}");
}

rgm_status rgm_stats_print_json(rgm_text *out, const rgm_stats *stats)
{
    static const char *const pieces[] = {"context", "node_sets", "edge_sets"};

    RGM_TRY(rgm_text_printf(out, "{\"graphs\": %lld, ", (long long)stats->graphs));
    RGM_TRY(json_distribution(out, "components", &stats->components));
    for (int piece = 0; piece < 3; piece++) {
        bool first = true;
        RGM_TRY(rgm_text_printf(out, ", \"%s\": %s", pieces[piece], piece ? "{" : ""));
        for (int64_t i = 0; i < rgm_schema_set_count(stats->schema); i++) {
            const rgm_set_schema *set = rgm_schema_set(stats->schema, i);
            if ((int)set->piece != piece)
                continue;
            if (piece) {
                RGM_TRY(rgm_text_printf(out, "%s", first ? "" : ", "));
                RGM_TRY(rgm_json_print_text(out, set->name));
                RGM_TRY(rgm_text_printf(out, ": "));
            }
            RGM_TRY(json_set(out, &stats->sets[i], set));
            first = false;
        }
        RGM_TRY(rgm_text_printf(out, "%s", piece ? "}" : ""));
    }
    return rgm_text_printf(out, "}\n");
}

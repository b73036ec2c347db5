/*
 * Corrupted views: what is read of a graph passes the corruptors on its way. A corruptor is a row:
 * its rate and what it makes of a feature of nodes, dense or sparse. Edges go by themselves.
 */
#include "corruption.h"

#include <stdio.h>
#include <string.h>

#include "random_ops.h"

#include <regimen/graph_features.h>

typedef struct reading {
    const rgm_graph_value *graph;
    const rgm_set_schema *set;
    const char *feature;
    const rgm_corruption *corruption;
    rgm_cgraph *cgraph;
} reading;

enum { STREAM = 512 };

/* "corrupt/paper/words/columns"; feature NULL: of the set. */
static const char *stream_of(char name[STREAM], const reading *r, const char *feature,
                             const char *what)
{
    snprintf(name, STREAM, "%s/%s/%s%s%s", r->corruption->stream, r->set->name,
             feature != NULL ? feature : "", feature != NULL ? "/" : "", what);
    return name;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool is_float(const rgm_value *x)
{
    return rgm_value_dtype(x) == RGM_F32 || rgm_value_dtype(x) == RGM_F64;
}

/* Sparse rows whose numbers are multiplied, [entries] each. */
static rgm_value *weigh_entries(rgm_value *pattern, rgm_value *weight, rgm_value *factor)
{
    return rgm_sparse_rows(pattern, weight != NULL ? rgm_mul(weight, factor) : factor);
}

/* What rows of patterns are counted in, before a model says its dtype. */
static rgm_dtype dtype_of(const rgm_value *x, const rgm_value *weight)
{
    const rgm_value *number = rgm_value_is_pattern(x) ? weight : x;

    return number != NULL && rgm_value_dtype(number) == RGM_F64 ? RGM_F64 : RGM_F32;
}

/* A factor for each row, [rows] of x's own kind. */
static rgm_value *weigh_rows(rgm_value *x, rgm_value *factor)
{
    rgm_value *pattern, *weight;
    rgm_dim shape[RGM_MAX_RANK];

    if (rgm_sparse_parts(&pattern, &weight, x))
        return weigh_entries(pattern, weight, rgm_broadcast_rows(pattern, factor));
    for (int i = 0; i < rgm_value_rank(x); i++)
        shape[i] = i == 0 ? rgm_value_dim(x, 0) : 1;
    return rgm_mul(x, rgm_reshape(factor, rgm_value_rank(x), shape));
}

/* ---- the corruptors of features ------------------------------------------------------------ */

static rgm_value *shuffle_features(const reading *r, rgm_value *x, double rate)
{
    char stream[STREAM];
    rgm_value *real = rgm_real_mask(r->graph, RGM_NODE_SET, r->set->name), *members = NULL, *order;

    if (r->corruption->shuffle_within == RGM_SHUFFLE_COMPONENT)
        members = rgm_membership(r->graph, RGM_NODE_SET, r->set->name);
    order = rgmi_draw_order(real, members, rate, stream_of(stream, r, NULL, "order"));
    return rgm_value_is_pattern(x) ? rgmi_pattern_rows(x, order) : rgm_gather(x, order);
}

static rgm_value *drop_features(const reading *r, rgm_value *x, double rate)
{
    char stream[STREAM];
    rgm_value *pattern, *weight, *mask;
    bool sparse = rgm_sparse_parts(&pattern, &weight, x);
    rgm_dim count = sparse ? rgm_value_dim(pattern, 2) : 0;

    mask = rgmi_draw_mask(r->cgraph, dtype_of(x, weight), sparse ? 1 : rgm_value_rank(x),
                          sparse ? &count : rgm_value_shape(x), rate,
                          stream_of(stream, r, r->feature, "numbers"));
    if (rate < 1)
        mask = rgm_scale(mask, 1 / (1 - rate));
    return sparse ? weigh_entries(pattern, weight, mask) : rgm_mul(x, mask);
}

static rgm_value *drop_columns(const reading *r, rgm_value *x, double rate)
{
    char stream[STREAM];
    rgm_value *pattern, *weight, *mask;
    bool sparse = rgm_sparse_parts(&pattern, &weight, x);

    mask =
        rgmi_draw_mask(r->cgraph, dtype_of(x, weight), sparse ? 1 : rgm_value_rank(x) - 1,
                       rgm_value_shape(x) + 1, rate, stream_of(stream, r, r->feature, "columns"));
    return sparse ? weigh_entries(pattern, weight, rgm_broadcast_columns(pattern, mask))
                  : rgm_mul(x, mask);
}

/* The token of a dense feature, of one row's shape. */
static rgm_value *token_of(const reading *r, const rgm_value *x)
{
    char name[STREAM];
    int rank = rgm_value_rank(x) > 1 ? rgm_value_rank(x) - 1 : 1;
    int64_t shape[RGM_MAX_RANK] = {1};

    for (int i = 1; i < rgm_value_rank(x); i++)
        shape[i - 1] = rgm_value_dim(x, i);
    return rgm_parameter(r->cgraph, stream_of(name, r, r->feature, "token"), rgm_value_dtype(x),
                         rank, shape, (rgm_init){RGM_INIT_ZEROS, 0});
}

static rgm_value *mask_nodes(const reading *r, rgm_value *x, double rate)
{
    char stream[STREAM];
    rgm_value *pattern, *weight, *kept, *gone;
    rgm_dim rows = rgm_value_dim(x, 0), shape[RGM_MAX_RANK];

    (void)rgm_sparse_parts(&pattern, &weight, x);
    kept = rgmi_draw_mask(r->cgraph, dtype_of(x, weight), 1, &rows, rate,
                          stream_of(stream, r, NULL, "nodes"));
    if (rgm_value_is_pattern(x))
        return weigh_rows(x, kept);
    for (int i = 0; i < rgm_value_rank(x); i++)
        shape[i] = i == 0 ? rows : 1;
    gone = rgm_reshape(rgm_shift(rgm_neg(kept), 1), rgm_value_rank(x), shape);
    gone = rgm_mul(gone, token_of(r, x));
    return rgm_add(weigh_rows(x, kept), gone);
}

rgm_value *rgmi_masked_nodes(const rgm_graph_value *graph, const char *node_set, rgm_dtype dtype,
                             const rgm_corruption *corruption)
{
    const reading r = {.set = rgm_require_set(graph, RGM_NODE_SET, node_set),
                       .corruption = corruption};
    rgm_dim rows = rgm_set_size(graph, RGM_NODE_SET, node_set);
    char stream[STREAM];
    rgm_value *kept;

    if (r.set == NULL)
        return NULL;
    kept = rgmi_draw_mask(rgm_graph_value_cgraph(graph), dtype, 1, &rows, corruption->mask_nodes,
                          stream_of(stream, &r, NULL, "nodes"));
    return rgm_shift(rgm_neg(kept), 1);
}

typedef struct corruptor {
    size_t rate; /* of rgm_corruption */
    rgm_value *(*corrupt)(const reading *r, rgm_value *x, double rate);
    bool counts; /* it makes numbers of what it is given, as integers cannot be a part of them */
} corruptor;

/* In the order in which they act. */
static const corruptor corruptors[] = {
    {offsetof(rgm_corruption, shuffle_features), shuffle_features, false},
    {offsetof(rgm_corruption, drop_features), drop_features, true},
    {offsetof(rgm_corruption, drop_columns), drop_columns, true},
    {offsetof(rgm_corruption, mask_nodes), mask_nodes, true},
};

/* ---- edges --------------------------------------------------------------------------------- */

static rgm_value *edges_left(const reading *r, rgm_value *pattern)
{
    char stream[STREAM];

    return rgmi_draw_entries(pattern, r->corruption->drop_edges,
                             stream_of(stream, r, NULL, "edges"));
}

static rgm_value *read_edges(const rgm_graph_value *graph, const rgm_set_schema *set,
                             rgm_value *pattern, const void *payload)
{
    const reading r = {.graph = graph, .set = set, .corruption = payload};

    return rgmi_pattern_entries(pattern, edges_left(&r, pattern));
}

static rgm_value *read_edge_feature(const reading *r, rgm_value *x)
{
    rgm_value *pattern = rgm_adjacency(r->graph, r->set->name, RGM_TARGET);

    if (r->corruption->drop_edges == 0 || pattern == NULL)
        return x;
    if (rgm_value_is_pattern(x))
        return rgm_cgraph_fail(r->cgraph, RGM_ERR_UNSUPPORTED,
                               "edge set '%s': feature '%s' is read as columns, which drop_edges "
                               "cannot leave out; numbers can be: model.input.numbers",
                               r->set->name, r->feature);
    return rgm_gather(x, edges_left(r, pattern));
}

/* ---- both ---------------------------------------------------------------------------------- */

static bool is_named(const reading *r)
{
    const rgm_texts *names = &r->corruption->features;

    for (int64_t i = 0; i < names->count; i++) {
        const char *name = rgm_feature_name_in(names->items[i], r->set->name);

        if (name != NULL && strcmp(name, r->feature) == 0)
            return true;
    }
    return names->count == 0;
}

static rgm_value *read_feature(const rgm_graph_value *graph, const rgm_set_schema *set,
                               const char *feature, rgm_value *x, const void *payload)
{
    const reading r = {graph, set, feature, payload, rgm_graph_value_cgraph(graph)};

    if (set->piece == RGM_EDGE_SET)
        return read_edge_feature(&r, x);
    if (set->piece != RGM_NODE_SET || !is_named(&r))
        return x;
    for (size_t i = 0; x != NULL && i < sizeof corruptors / sizeof *corruptors; i++) {
        double rate = *(const double *)(const void *)((const char *)payload + corruptors[i].rate);

        if (rate == 0)
            continue;
        if (corruptors[i].counts && !rgm_value_is_pattern(x) && !is_float(x))
            x = rgm_cast(x, RGM_F32);
        x = corruptors[i].corrupt(&r, x, rate);
    }
    return x;
}

rgm_graph_value *rgm_corrupt(const rgm_graph_value *graph, const rgm_corruption *corruption)
{
    rgm_graph_reading change = {.feature = read_feature,
                                .edges = corruption->drop_edges > 0 ? read_edges : NULL,
                                .payload = corruption};

    return rgm_with_reading(graph, &change);
}

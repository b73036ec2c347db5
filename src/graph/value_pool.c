/*
 * Pool, broadcast, softmax and readout on a graph of values. Everything becomes a few ops on
 * patterns: a pool of what was broadcast from the other end is pool_rows(P, broadcast_columns(P,
 * x)) on one pattern value, which the compute graph fuses into a sparse product. Several edge sets
 * behave as if their edges were one set, ties and joint normalisation included.
 */
#include "graph_value_internal.h"

/** What is pooled or normalised together. */
typedef struct group {
    const rgm_graph_value *graph;
    rgm_value **pattern; /* [count]: rows receive */
    rgm_value *const *value;
    int64_t count;
} group;

static rgm_value *pattern_of(const rgm_graph_value *graph, rgm_tag to, rgm_piece piece,
                             const char *set)
{
    if (to == RGM_CONTEXT)
        return rgm_membership(graph, piece, set);
    if (piece != RGM_EDGE_SET)
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_ARG,
                               "'%s': only edges have a source and a target; nodes belong to the "
                               "context",
                               set == NULL ? "" : set);
    return rgm_adjacency(graph, set, to);
}

/* Patterns of all sets; they must have one receiver. On failure the compute graph has it: false. */
static bool group_init(group *g, const rgm_graph_value *graph, rgm_tag to, rgm_piece piece,
                       const char *const *sets, rgm_value *const *values, int64_t count)
{
    rgm_cgraph *cgraph;

    *g = (group){.graph = graph, .value = values, .count = count};
    if (graph == NULL)
        return false;
    cgraph = graph->root->cgraph;
    if (count < 1) {
        rgm_cgraph_fail(cgraph, RGM_ERR_ARG, "no set to pool");
        return false;
    }
    g->pattern = rgm_calloc(count, sizeof *g->pattern);
    if (g->pattern == NULL) {
        rgm_cgraph_fail(cgraph, RGM_ERR_NOMEM, "out of memory: %lld sets", (long long)count);
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        g->pattern[i] = values[i] == NULL ? NULL : pattern_of(graph, to, piece, sets[i]);
        if (g->pattern[i] == NULL)
            return false;
        if (rgm_value_rank(values[i]) < 1 ||
            rgm_value_shape(values[i])[0] != rgm_value_shape(g->pattern[i])[2]) {
            char got[128];
            rgm_cgraph_fail(cgraph, RGM_ERR_SHAPE,
                            "'%s': needs one row an item, but the value is "
                            "%s",
                            sets[i], rgm_value_describe(values[i], got, sizeof got));
            return false;
        }
        if (rgm_value_shape(g->pattern[i])[0] != rgm_value_shape(g->pattern[0])[0]) {
            rgm_cgraph_fail(cgraph, RGM_ERR_ARG,
                            "edge sets '%s' and '%s' have different receiving "
                            "node sets",
                            sets[0], sets[i]);
            return false;
        }
    }
    return true;
}

/* Entries of each row over all sets, [rows, 1, ...] as broadcasts against the values. */
static rgm_value *total_degree(const group *g)
{
    rgm_dtype dtype = rgm_value_dtype(g->value[0]);
    rgm_value *sum = rgm_degree(g->pattern[0], dtype);
    rgm_dim shape[RGM_MAX_RANK];

    for (int64_t i = 1; i < g->count; i++)
        sum = rgm_add(sum, rgm_degree(g->pattern[i], dtype));
    shape[0] = rgm_value_shape(g->pattern[0])[0];
    for (int i = 1; i < rgm_value_rank(g->value[0]); i++)
        shape[i] = 1;
    return rgm_reshape(sum, rgm_value_rank(g->value[0]), shape);
}

/* All sets pooled with one reduction, and the results combined. */
static rgm_value *combine(const group *g, rgm_reduction reduction,
                          rgm_value *(*join)(rgm_value *, rgm_value *))
{
    rgm_value *y = rgm_pool_rows(g->pattern[0], g->value[0], reduction);

    for (int64_t i = 1; i < g->count; i++)
        y = join(y, rgm_pool_rows(g->pattern[i], g->value[i], reduction));
    return y;
}

/*
 * Largest (smallest) over several sets. The gradient goes evenly to all winners, as within one set:
 * the value is taken as a constant m, and (x - const x) of the winners, which is 0, is averaged
 * onto it.
 */
static rgm_value *extreme(const group *g, rgm_reduction reduction)
{
    bool largest = reduction == RGM_MAX;
    rgm_value *m = rgm_stop_gradient(combine(g, reduction, largest ? rgm_maximum : rgm_minimum));
    rgm_value *winners = NULL, *zero = NULL;

    for (int64_t i = 0; i < g->count; i++) {
        rgm_value *x = g->value[i], *p = g->pattern[i];
        rgm_value *wins = rgm_cast(rgm_equal(x, rgm_broadcast_rows(p, m)), rgm_value_dtype(x));
        rgm_value *nothing = rgm_mul(rgm_sub(x, rgm_stop_gradient(x)), wins);
        wins = rgm_pool_rows(p, wins, RGM_SUM);
        nothing = rgm_pool_rows(p, nothing, RGM_SUM);
        winners = i == 0 ? wins : rgm_add(winners, wins);
        zero = i == 0 ? nothing : rgm_add(zero, nothing);
    }
    return rgm_add(m, rgm_div(zero, rgm_floor_at(winners, 1)));
}

/* The same, but 0 where a row has no entries. */
static rgm_value *extreme_no_inf(const group *g, rgm_reduction reduction)
{
    rgm_value *degree = total_degree(g);
    rgm_value *y = extreme(g, reduction);

    return y == NULL ? NULL
                     : rgm_mul(y, rgm_minimum(degree, rgm_scalar(g->graph->root->cgraph,
                                                                 rgm_value_dtype(y), 1)));
}

static rgm_value *pool_one(const group *g, rgm_reduction reduction)
{
    rgm_value *degree;

    if (g->count == 1)
        return rgm_pool_rows(g->pattern[0], g->value[0], reduction);
    switch (reduction) {
    case RGM_SUM:
        return combine(g, RGM_SUM, rgm_add);
    case RGM_PROD:
        return combine(g, RGM_PROD, rgm_mul);
    case RGM_MEAN:
        degree = rgm_floor_at(total_degree(g), 1);
        return rgm_div(combine(g, RGM_SUM, rgm_add), degree);
    case RGM_MAX:
    case RGM_MIN:
        return extreme(g, reduction);
    case RGM_MAX_NO_INF:
        return extreme_no_inf(g, RGM_MAX);
    case RGM_MIN_NO_INF:
        return extreme_no_inf(g, RGM_MIN);
    }
    return NULL;
}

enum { MAX_PARTS = 8 };

/* "mean|max_no_inf" to reductions; their number, or 0 with the failure kept. */
static int64_t parse_reduce_type(rgm_reduction *out, const rgm_graph_value *graph, const char *text)
{
    int64_t count = 0;
    const char *at = text == NULL ? "" : text;
    size_t length;

    while (count < MAX_PARTS && rgm_reduction_find(&out[count], &length, at)) {
        count++;
        if (at[length] == '\0')
            return count;
        at += length + 1;
    }
    rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_ARG,
                    "reduce_type '%s' is not one or (up to %d, joined by '|') several "
                    "of " RGM_REDUCTION_NAMES,
                    text == NULL ? "" : text, MAX_PARTS);
    return 0;
}

rgm_value *rgm_pool(const rgm_graph_value *graph, rgm_tag to, rgm_piece piece,
                    const char *const *sets, rgm_value *const *values, int64_t count,
                    const char *reduce_type)
{
    rgm_reduction reduction[MAX_PARTS];
    rgm_value *part[MAX_PARTS], *y = NULL;
    int64_t parts;
    group g;

    if (group_init(&g, graph, to, piece, sets, values, count)) {
        parts = parse_reduce_type(reduction, graph, reduce_type);
        for (int64_t i = 0; i < parts; i++)
            part[i] = pool_one(&g, reduction[i]);
        if (parts == 1)
            y = part[0];
        else if (parts > 1 && rgm_value_rank(values[0]) < 2)
            y = rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_SHAPE,
                                "reduce_type '%s' joins on the last axis, so values need rank 2",
                                reduce_type);
        else if (parts > 1)
            y = rgm_concat(part, parts, -1);
    }
    rgm_free(g.pattern);
    return y;
}

rgm_value *rgm_broadcast(const rgm_graph_value *graph, rgm_tag from, rgm_piece piece,
                         const char *set, rgm_value *value)
{
    rgm_value *pattern;

    if (graph == NULL || value == NULL)
        return NULL;
    if (from == RGM_CONTEXT) {
        pattern = rgm_membership(graph, piece, set);
        return pattern == NULL ? NULL : rgm_broadcast_rows(pattern, value);
    }
    /* The end it comes from are the columns, so that a pool at the other end can fuse with it. */
    pattern = pattern_of(graph, rgm_tag_reverse(from), piece, set);
    return pattern == NULL ? NULL : rgm_broadcast_columns(pattern, value);
}

rgm_status rgm_softmax_over(rgm_value **out, const rgm_graph_value *graph, rgm_tag per,
                            rgm_piece piece, const char *const *sets, rgm_value *const *values,
                            int64_t count)
{
    rgm_value *highest, *sum = NULL;
    group g;

    for (int64_t i = 0; i < count; i++)
        out[i] = NULL;
    if (graph == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "no graph");
    if (!group_init(&g, graph, per, piece, sets, values, count)) {
        rgm_free(g.pattern);
        return rgm_cgraph_status(graph->root->cgraph);
    }
    if (count == 1) {
        out[0] = rgm_softmax_rows(g.pattern[0], values[0]);
    } else {
        /* exp(x - m) / sum is the same for any m; the largest x over all sets keeps exp in range.
         */
        highest = rgm_stop_gradient(combine(&g, RGM_MAX, rgm_maximum));
        for (int64_t i = 0; i < count; i++) {
            rgm_value *pooled;
            out[i] = rgm_exp(rgm_sub(values[i], rgm_broadcast_rows(g.pattern[i], highest)));
            pooled = rgm_pool_rows(g.pattern[i], out[i], RGM_SUM);
            sum = i == 0 ? pooled : rgm_add(sum, pooled);
        }
        for (int64_t i = 0; i < count; i++)
            out[i] = rgm_div(out[i], rgm_broadcast_rows(g.pattern[i], sum));
    }
    rgm_free(g.pattern);
    return rgm_cgraph_status(graph->root->cgraph);
}

/* ---- readout ---- */

rgm_value *rgm_gather_first_node(const rgm_graph_value *graph, const char *node_set,
                                 const char *feature)
{
    rgm_value *x, *first;
    int64_t set;

    if (!rgmi_value_set(&set, graph, RGM_NODE_SET, node_set))
        return NULL;
    x = rgmi_value_feature(graph, set, feature);
    first = x == NULL ? NULL : rgmi_value_input(graph, INPUT_FIRST, set, -1);
    return first == NULL ? NULL : rgm_broadcast_columns(first, x);
}

/* The feature behind readout edge set `set`: of its source, or of the edges whose shadow that is.
 */
static rgm_value *read_feature(const rgm_graph_value *graph, int64_t set, const char *feature)
{
    const rgm_schema *schema = graph->root->schema;
    const char *source = schema->sets[set]->source, *of = rgm_shadow_of(source);

    return rgmi_value_feature(graph,
                              of == NULL ? rgm_schema_index(schema, RGM_NODE_SET, source)
                                         : rgm_schema_index(schema, RGM_EDGE_SET, of),
                              feature);
}

rgm_value *rgm_structured_readout(const rgm_graph_value *graph, const char *key,
                                  const char *feature, const char *readout_set)
{
    const rgm_schema *schema;
    rgm_value *y = NULL;
    rgm_status status;
    int64_t first, second;

    if (graph == NULL)
        return NULL;
    schema = graph->root->schema;
    readout_set = readout_set == NULL ? RGM_READOUT : readout_set;
    status = rgmi_readout_require(&first, schema, readout_set, key);
    if (status < 0)
        return rgmi_value_error(graph, status);
    second = rgmi_readout_next(schema, first + 1, readout_set, key);
    if (second < 0) {
        rgm_value *x = read_feature(graph, first, feature), *picks;
        picks = x == NULL ? NULL : rgmi_value_input(graph, INPUT_READOUT, first, -1);
        return picks == NULL ? NULL : rgm_broadcast_columns(picks, x);
    }
    /* Each item has an edge in just one of the sets, so the sum of all is what that one reads. */
    for (int64_t i = first; i >= 0; i = rgmi_readout_next(schema, i + 1, readout_set, key)) {
        rgm_value *x = read_feature(graph, i, feature), *p, *part;
        p = x == NULL ? NULL : rgmi_value_input(graph, INPUT_ADJACENCY, i, -1);
        if (p == NULL)
            return NULL;
        part = rgm_pool_rows(p, rgm_broadcast_columns(p, x), RGM_SUM);
        y = i == first ? part : rgm_add(y, part);
    }
    return y;
}

rgm_graph_value *rgm_with_structured_readout(const rgm_graph_value *graph, const char *key,
                                             const char *feature, const char *new_feature,
                                             const char *readout_set)
{
    readout_set = readout_set == NULL ? RGM_READOUT : readout_set;
    return rgm_with_feature(graph, RGM_NODE_SET, readout_set,
                            new_feature == NULL ? feature : new_feature,
                            rgm_structured_readout(graph, key, feature, readout_set));
}

rgm_status rgm_reduce_type_check(const char *key, const char *reduce_type)
{
    for (const char *name = reduce_type;; name++) {
        rgm_reduction reduction;
        size_t size;

        if (!rgm_reduction_find(&reduction, &size, name))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "%s: '%s' has '%.*s', which is unknown; known are " RGM_REDUCTION_NAMES
                            ", and several with |",
                            key, reduce_type, (int)size, name);
        name += size;
        if (*name == '\0')
            return RGM_OK;
    }
}

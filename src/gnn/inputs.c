/*
 * From features to rows: which features of a node set a model starts from, sparse ones as patterns,
 * dense ones flattened to [nodes, width], each normalised when asked for.
 */
#include "gnn_internal.h"

const char *const rgmi_receiver_names[] = {"source", "target", "both", NULL};
const char *const rgmi_l2_layer_names[] = {"first", "all", NULL};

#define RGM_OPTIONS rgm_input_options
const rgm_field rgmi_input_fields[] = {
    RGM_TEXTS_FIELD(
        features,
        "input features, \"words\" or \"paper.words\"; default: every float and one_hot one"),
    RGM_NUMBERS_FIELD(one_hot, 1, 1e9,
                      "integer features with how many values each has: {kind: 7} reads 0..6"),
    RGM_TEXTS_FIELD(numbers, "integer features whose values are amounts, not kinds"),
    RGM_BOOL_FIELD(normalize, "divide each feature's rows by the sum of their absolute values"),
    {0}};
#undef RGM_OPTIONS

/* The part of "paper.words" after the set's name, if the name is meant for this set; else NULL. */
static const char *for_set(const char *name, const char *node_set)
{
    size_t size = strlen(node_set);
    const char *dot = strchr(name, '.');

    if (dot == NULL)
        return name;
    if (strncmp(name, node_set, size) == 0 && name[size] == '.')
        return name + size + 1;
    return NULL;
}

/* The place in a list of the name that means this feature of the set; -1: none does. */
static int64_t place_of(const char *const *names, int64_t count, const char *set,
                        const char *feature)
{
    for (int64_t i = 0; i < count; i++) {
        const char *name = for_set(names[i], set);

        if (name != NULL && strcmp(name, feature) == 0)
            return i;
    }
    return -1;
}

static bool is_one_hot(const rgm_input_options *o, const char *set, const char *feature)
{
    return place_of(o->one_hot.names, o->one_hot.count, set, feature) >= 0;
}

static bool is_number(const rgm_input_options *o, const char *set, const char *feature)
{
    return place_of(o->numbers.items, o->numbers.count, set, feature) >= 0;
}

static bool is_integer(const rgm_value *x)
{
    return x != NULL && !rgm_value_is_pattern(x) &&
           (rgm_value_dtype(x) == RGM_I32 || rgm_value_dtype(x) == RGM_I64);
}

/* A float of known shape, sparse rows, or integers that the options make either of. */
static bool is_input(const rgm_feature_schema *feature, const char *set, const rgm_input_options *o)
{
    if (feature->vocabulary > 0 || is_one_hot(o, set, feature->name) ||
        is_number(o, set, feature->name))
        return true;
    if (feature->dtype != RGM_F32 && feature->dtype != RGM_F64)
        return false;
    for (int i = 0; i < feature->rank; i++)
        if (feature->shape[i] < 1)
            return false;
    return true;
}

rgm_value *rgmi_input_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                              const char *name, const rgm_input_options *o)
{
    const rgm_feature_schema *feature =
        rgm_set_feature(rgm_schema_find(rgm_graph_value_schema(graph), piece, set), name);
    int64_t hot = place_of(o->one_hot.names, o->one_hot.count, set, name);
    rgm_cgraph *cgraph = rgm_graph_value_cgraph(graph);
    rgm_value *x;

    if (feature != NULL && feature->dtype == RGM_STRING)
        return rgm_cgraph_fail(cgraph, RGM_ERR_UNSUPPORTED,
                               "feature '%s' of '%s' is text; map it to numbers first", name, set);
    if (hot >= 0)
        return rgm_one_hot(graph, piece, set, name, (int64_t)o->one_hot.values[hot]);
    if (piece == RGM_EDGE_SET)
        x = rgm_edge_feature(graph, set, name);
    else
        x = feature != NULL && feature->vocabulary > 0 ? rgm_node_sparse_feature(graph, set, name)
                                                       : rgm_node_feature(graph, set, name);
    if (is_integer(x) && !is_number(o, set, name))
        return rgm_cgraph_fail(cgraph, RGM_ERR_UNSUPPORTED,
                               "feature '%s' of '%s' is of integers: kinds go in by "
                               "model.input.one_hot: {%s: how many}, amounts by "
                               "model.input.numbers: [%s]",
                               name, set, name, name);
    return x;
}

static rgm_value *feature_rows(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                               const char *name, const rgm_input_options *options)
{
    rgm_value *x =
        rgm_as_rows(scope, rgmi_input_feature(graph, RGM_NODE_SET, node_set, name, options));

    return options->normalize ? rgm_normalize_rows(scope, x) : x;
}

void rgmi_unknown_feature(const rgm_graph_value *graph, rgm_piece piece, const char *name)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const char *names[64], *dot = strrchr(name, '.');
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        for (int64_t k = 0; k < set->feature_count && count < 64; k++)
            if (set->piece == piece && !rgmi_is_aux(set->name))
                names[count++] = set->features[k].name;
    }
    rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_NOT_FOUND,
                    "no %s set has the input feature '%s'%s",
                    piece == RGM_NODE_SET ? "node" : "edge", name,
                    rgm_did_you_mean(dot != NULL ? dot + 1 : name, names, count, NULL, NULL).text);
}

/* Whether some set of a piece has the feature that is named. */
static bool has_named(const rgm_graph_value *graph, rgm_piece piece, const char *named)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const char *name;

        if (set->piece != piece || rgmi_is_aux(set->name))
            continue;
        name = for_set(named, set->name);
        if (name != NULL && rgm_has_feature(graph, piece, set->name, name))
            return true;
    }
    return false;
}

/* The plain name, of "paper.words" what stands behind the set. */
static const char *feature_part(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot != NULL ? dot + 1 : name;
}

/* Every name is a feature of some node set, or the model's edge feature, and is not left out by the
 * list of features. */
static bool check_names(const rgm_graph_value *graph, const char *const *names, int64_t count,
                        const rgm_input_options *o, const char *edge_feature)
{
    for (int64_t i = 0; i < count; i++) {
        bool listed = o->features.count == 0, of_edges;

        of_edges = edge_feature != NULL && strcmp(feature_part(names[i]), edge_feature) == 0 &&
                   has_named(graph, RGM_EDGE_SET, names[i]);
        if (!of_edges && !has_named(graph, RGM_NODE_SET, names[i])) {
            rgmi_unknown_feature(graph, RGM_NODE_SET, names[i]);
            return false;
        }
        for (int64_t k = 0; k < o->features.count; k++)
            listed |= strcmp(feature_part(o->features.items[k]), feature_part(names[i])) == 0;
        if (!of_edges && !listed) {
            rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
                            "model.input.features leaves out '%s', which model.input says how to "
                            "read",
                            names[i]);
            return false;
        }
    }
    return true;
}

bool rgmi_check_inputs(const rgm_graph_value *graph, const rgm_input_options *o,
                       const char *edge_feature)
{
    for (int64_t i = 0; i < o->one_hot.count; i++)
        if (o->one_hot.values[i] != (double)(int64_t)o->one_hot.values[i]) {
            rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
                            "model.input.one_hot: '%s' is %g, not how many values there are",
                            o->one_hot.names[i], o->one_hot.values[i]);
            return false;
        }
    return check_names(graph, o->features.items, o->features.count, o, NULL) &&
           check_names(graph, o->one_hot.names, o->one_hot.count, o, edge_feature) &&
           check_names(graph, o->numbers.items, o->numbers.count, o, edge_feature);
}

rgm_status rgm_node_inputs(rgm_value **x, int64_t capacity, int64_t *count, rgm_scope *scope,
                           const rgm_graph_value *graph, const char *node_set,
                           const rgm_input_options *options)
{
    static const rgm_input_options defaults = {0};
    const rgm_set_schema *set;
    int64_t wanted;

    *count = 0;
    if (scope == NULL || graph == NULL)
        return scope != NULL ? rgm_cgraph_status(rgm_scope_graph(scope)) : RGM_OK;
    if (options == NULL)
        options = &defaults;
    set = rgmi_set(graph, RGM_NODE_SET, node_set);
    if (set == NULL)
        return rgm_cgraph_status(rgm_scope_graph(scope));
    if (rgm_has_feature(graph, RGM_NODE_SET, node_set, RGM_HIDDEN_STATE) && capacity > 0) {
        x[(*count)++] = rgmi_state(scope, graph, RGM_NODE_SET, node_set, NULL);
        return rgm_cgraph_status(rgm_scope_graph(scope));
    }
    wanted = options->features.count > 0 ? options->features.count : set->feature_count;
    for (int64_t i = 0; i < wanted; i++) {
        const char *name = options->features.count > 0
                               ? for_set(options->features.items[i], node_set)
                           : is_input(&set->features[i], node_set, options) ? set->features[i].name
                                                                            : NULL;

        if (name == NULL || !rgm_has_feature(graph, RGM_NODE_SET, node_set, name))
            continue;
        if (*count == capacity) {
            rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_UNSUPPORTED,
                            "node set '%s' has more than %lld input features", node_set,
                            (long long)capacity);
            break;
        }
        x[(*count)++] = feature_rows(scope, graph, node_set, name, options);
    }
    return rgm_cgraph_status(rgm_scope_graph(scope));
}

rgm_value *rgmi_node_input(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                           const rgm_input_options *options)
{
    enum { MOST = 64 };
    rgm_value *x[MOST];
    int64_t count;

    if (rgm_node_inputs(x, MOST, &count, scope, graph, node_set, options) != RGM_OK || count == 0)
        return NULL;
    return rgm_beside(x, count);
}

bool rgmi_hom_sets(const char **node_set, const char **edge_set, const rgm_graph_value *graph,
                   const char *wanted_node_set, const char *wanted_edge_set)
{
    const rgm_set_schema *edges = wanted_edge_set != NULL
                                      ? rgmi_set(graph, RGM_EDGE_SET, wanted_edge_set)
                                      : rgmi_only_set(graph, RGM_EDGE_SET);
    const char *nodes = wanted_node_set;

    if (edges == NULL)
        return false;
    if (nodes == NULL)
        nodes = edges->target;
    if (rgmi_set(graph, RGM_NODE_SET, nodes) == NULL)
        return false;
    if (strcmp(edges->source, nodes) != 0 || strcmp(edges->target, nodes) != 0) {
        rgm_cgraph_fail(
            rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
            "edge set '%s' goes from '%s' to '%s'; this model needs one node set, '%s', "
            "at both ends",
            edges->name, edges->source, edges->target, nodes);
        return false;
    }
    *node_set = nodes;
    *edge_set = edges->name;
    return true;
}

rgm_graph_value *rgmi_no_input(const rgm_graph_value *graph, const char *node_set)
{
    rgm_cgraph_fail(
        rgm_graph_value_cgraph(graph), RGM_ERR_NOT_FOUND,
        "node set '%s' has no float or one_hot feature to start from; integers go in by "
        "model.input.one_hot or model.input.numbers",
        node_set);
    return NULL;
}

bool rgmi_one_receiver(rgm_scope *scope, rgm_receivers receiver)
{
    if (receiver != RGM_AT_BOTH)
        return true;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                    "this model's receiver is source or target, not both");
    return false;
}

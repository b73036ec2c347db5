/*
 * From features to rows: which features of a node set a model starts from, sparse ones as patterns,
 * dense ones flattened to [nodes, width], each encoded and normalised as asked for; and nodes that
 * are known by themselves alone.
 */
#include "encoders.h"

#include <stdio.h>

static const char *const unseen_names[] = {"bucket", "error", NULL};
static const char *const pool_names[] = {"mean", "sum", "max", NULL};

#define RGM_OPTIONS rgm_input_options
const rgm_field rgm_input_fields[] = {
    RGM_TEXTS_FIELD(features, "input features, \"words\" or \"paper.words\"; default: every float "
                              "and one_hot one, and those named below"),
    RGM_NUMBERS_FIELD(one_hot, 1, 1e9,
                      "integer features with how many values each has: {kind: 7} reads 0..6"),
    RGM_NUMBERS_FIELD(vocabulary, 1, 1e9,
                      "features of integers or texts with how often a value is in the training "
                      "part to be told apart: {word: 2}"),
    RGM_NUMBERS_FIELD(hash, 1, 1e9,
                      "features of integers or texts with how many buckets XXH3 puts them into"),
    RGM_NUMBERS_FIELD(buckets, 1, 1e6,
                      "features of numbers with how many buckets, each as full in the training "
                      "part"),
    RGM_LISTS_FIELD(boundaries, "features of numbers with where each bucket but the first begins: "
                                "{year: [1950, 1980]}"),
    RGM_TEXTS_FIELD(numbers, "integer features whose values are amounts, not kinds"),
    RGM_TEXTS_FIELD(standardize, "features less the training part's mean, over its standard "
                                 "deviation"),
    RGM_TEXTS_FIELD(min_max, "features from 0, the training part's least, to 1, its largest"),
    RGM_NUMBERS_FIELD(embeddings, 1, 1e6,
                      "features, or node sets for an embedding a node, with the width of a "
                      "trained table; features that no key above names by their vocabulary"),
    RGM_INT_FIELD(latent, 0, 1e6,
                  "width of a trained embedding of each node of the sets without input features, "
                  "of one graph that stays; 0: they start with nothing"),
    RGM_CHOICE_FIELD(unseen, unseen_names,
                     "values that a vocabulary has not: all in one bucket more, or an error"),
    RGM_CHOICE_FIELD(pool, pool_names, "of the embeddings of a list of values"),
    RGM_BOOL_FIELD(normalize, "divide each feature's rows, but embeddings, by the sum of their "
                              "absolute values"),
    {0}};
#undef RGM_OPTIONS

static bool is_integer(const rgm_value *x)
{
    return x != NULL && !rgm_value_is_pattern(x) &&
           (rgm_value_dtype(x) == RGM_I32 || rgm_value_dtype(x) == RGM_I64);
}

/* A feature as the graph has it. */
static rgm_value *plain_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                const char *name)
{
    const rgm_feature_schema *feature =
        rgm_set_feature(rgm_schema_find(rgm_graph_value_schema(graph), piece, set), name);

    if (piece == RGM_EDGE_SET)
        return rgm_edge_feature(graph, set, name);
    return feature != NULL && feature->vocabulary > 0 ? rgm_node_sparse_feature(graph, set, name)
                                                      : rgm_node_feature(graph, set, name);
}

static rgm_value *unencoded(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                            const char *name)
{
    const rgm_feature_schema *feature =
        rgm_set_feature(rgm_schema_find(rgm_graph_value_schema(graph), piece, set), name);
    rgm_cgraph *cgraph = rgm_graph_value_cgraph(graph);
    rgm_value *x;

    if (feature != NULL && feature->dtype == RGM_STRING)
        return rgm_cgraph_fail(cgraph, RGM_ERR_UNSUPPORTED,
                               "feature '%s' of '%s' is text: it goes in by "
                               "model.input.vocabulary: {%s: 1}, model.input.hash: {%s: buckets} "
                               "or model.input.embeddings: {%s: width}",
                               name, set, name, name, name);
    x = plain_feature(graph, piece, set, name);
    if (is_integer(x))
        return rgm_cgraph_fail(cgraph, RGM_ERR_UNSUPPORTED,
                               "feature '%s' of '%s' is of integers: kinds go in by "
                               "model.input.one_hot: {%s: how many} or "
                               "model.input.embeddings: {%s: width}, amounts by "
                               "model.input.numbers: [%s]",
                               name, set, name, name, name);
    return x;
}

/* Rows of a table, those of an item's values together. */
static rgm_value *embedded(rgm_scope *scope, const char *name, rgm_value *pattern,
                           const rgmi_encoding *e)
{
    static const rgm_reduction pools[] = {
        [RGM_LIST_MEAN] = RGM_MEAN, [RGM_LIST_SUM] = RGM_SUM, [RGM_LIST_MAX] = RGM_MAX_NO_INF};

    return rgm_embedding_bag(scope, name, pattern, e->width, pools[e->options->pool]);
}

static rgm_value *encoded_category(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                                   const char *set, const char *name, const rgmi_encoding *e)
{
    rgm_lookup *lookup = NULL;
    rgm_status status = e->encoder->lookup(&lookup, e);
    char message[RGM_MESSAGE_ROOM];
    rgm_value *x;

    if (status != RGM_OK) {
        snprintf(message, sizeof message, "%s", rgm_error_message());
        return rgm_cgraph_fail(rgm_graph_value_cgraph(graph), status, "model.input.%s: '%s': %s",
                               e->encoder->key, name, message);
    }
    x = rgm_lookup_rows(graph, piece, set, name, lookup);
    rgm_lookup_release(lookup);
    return e->width > 0 ? embedded(scope, name, x, e) : x;
}

rgm_value *rgm_input_feature(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                             const char *set, const char *name, const rgm_input_options *o)
{
    rgmi_encoding e = rgmi_encoding_of(o, piece, set, name);
    rgm_cgraph *cgraph = rgm_graph_value_cgraph(graph);

    if (e.encoder == NULL)
        return unencoded(graph, piece, set, name);
    if (e.width > 0 && e.encoder->lookup == NULL)
        return rgm_cgraph_fail(cgraph, RGM_ERR_ARG,
                               "model.input.embeddings: '%s' is an amount by model.input.%s, of "
                               "which there are no embeddings: model.input.buckets or boundaries "
                               "make kinds of it",
                               name, e.encoder->key);
    if (e.encoder->add != NULL && (e.learned == NULL || e.learned->encoder != e.encoder))
        return rgm_cgraph_fail(cgraph, RGM_ERR_NOT_FOUND,
                               "model.input.%s: nothing was learned of feature '%s' of '%s'; "
                               "rgm_learned_features_create() does it",
                               e.encoder->key, name, set);
    if (e.encoder->lookup != NULL)
        return encoded_category(scope, graph, piece, set, name, &e);
    return e.encoder->rows(scope, plain_feature(graph, piece, set, name), &e);
}

static rgm_value *feature_rows(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                               const char *name, const rgm_input_options *options)
{
    rgm_value *x =
        rgm_as_rows(scope, rgm_input_feature(scope, graph, RGM_NODE_SET, node_set, name, options));
    bool is_embedding = rgmi_encoding_of(options, RGM_NODE_SET, node_set, name).width > 0;

    return options->normalize && !is_embedding ? rgm_normalize_rows(scope, x) : x;
}

/* ---- nodes by themselves --------------------------------------------------------------------- */

/* A row of a table for each node: of graphs cut out of one, by the number that it has there. */
static rgm_value *node_rows(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                            int64_t width, const rgm_input_options *o)
{
    const rgmi_learned *learned = rgmi_learned_find(o->learned, RGM_NODE_SET, node_set, NULL);
    rgm_value *pattern;

    if (learned == NULL || learned->nodes < 1)
        return rgm_cgraph_fail(
            rgm_graph_value_cgraph(graph), RGM_ERR_CONFIG,
            "node set '%s': an embedding of each node is of one graph that stays, with its nodes, "
            "in training and behind it: %s",
            node_set,
            learned != NULL                                 ? "it has no node"
            : o->learned != NULL && o->learned->why != NULL ? o->learned->why
                                                            : "its nodes were not counted");
    if (rgm_has_feature(graph, RGM_NODE_SET, node_set, "#id"))
        pattern = rgm_one_hot(graph, RGM_NODE_SET, node_set, "#id", learned->nodes);
    else
        pattern = rgm_node_numbers(graph, node_set, learned->nodes);
    return rgm_embedding_bag(scope, "nodes", pattern, width, RGM_SUM);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Whether some set of a piece has the feature that is named. */
static bool has_named(const rgm_graph_value *graph, rgm_piece piece, const char *named)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const char *name;

        if (set->piece != piece || rgm_is_aux_set(set->name))
            continue;
        name = rgm_feature_name_in(named, set->name);
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

/* Whether the list of features has what is named, of some node set. */
static bool is_listed(const rgm_graph_value *graph, const rgm_input_options *o, const char *named)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; o->features.count > 0 && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const char *name = rgm_feature_name_in(named, set->name);

        if (set->piece == RGM_NODE_SET && name != NULL && rgm_set_feature(set, name) != NULL &&
            rgmi_feature_place(o->features.items, o->features.count, set->name, name) >= 0)
            return true;
    }
    return o->features.count == 0;
}

/* Every name is a feature of some node set, or the model's edge feature, and is not left out by the
 * list of features. */
static bool check_names(const rgm_graph_value *graph, const char *const *names, int64_t count,
                        const rgm_input_options *o, const char *edge_feature)
{
    for (int64_t i = 0; i < count; i++) {
        bool of_edges = edge_feature != NULL && strcmp(feature_part(names[i]), edge_feature) == 0 &&
                        has_named(graph, RGM_EDGE_SET, names[i]);

        if (!of_edges && !has_named(graph, RGM_NODE_SET, names[i])) {
            rgm_unknown_feature(graph, RGM_NODE_SET, names[i]);
            return false;
        }
        if (!of_edges && !is_listed(graph, o, names[i])) {
            rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
                            "model.input.features leaves out '%s', which model.input says how to "
                            "read",
                            names[i]);
            return false;
        }
    }
    return true;
}

static bool is_node_set(const rgm_graph_value *graph, const char *name)
{
    return rgm_schema_find(rgm_graph_value_schema(graph), RGM_NODE_SET, name) != NULL;
}

/* Of embeddings also node sets; a name that is both says neither. */
static bool check_embeddings(const rgm_graph_value *graph, const rgm_input_options *o,
                             const char *edge_feature)
{
    for (int64_t i = 0; i < o->embeddings.count; i++) {
        const char *name = o->embeddings.names[i];

        if (!is_node_set(graph, name)) {
            if (!check_names(graph, &o->embeddings.names[i], 1, o, edge_feature))
                return false;
            continue;
        }
        if (has_named(graph, RGM_NODE_SET, name)) {
            rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
                            "model.input.embeddings: '%s' is a node set and a feature; the "
                            "feature is named SET.%s",
                            name, name);
            return false;
        }
    }
    return true;
}

/* A key of model.input with the features that it names. */
typedef struct naming {
    const char *key;
    rgm_texts names;
} naming;

/* "year" and "paper.year" are two names of one feature, which is to be named once. */
static bool check_feature_once(const rgm_graph_value *graph, const rgm_set_schema *set,
                               const char *feature, const naming *by, int64_t count)
{
    const char *key = NULL, *before = NULL;

    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < by[k].names.count; i++) {
            const char *name = by[k].names.items[i], *in = rgm_feature_name_in(name, set->name);

            if (in == NULL || strcmp(in, feature) != 0)
                continue;
            if (key != NULL) {
                rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
                                "model.input: feature '%s' of '%s' is named by %s ('%s') and by %s "
                                "('%s'); a feature is read in one way",
                                feature, set->name, key, before, by[k].key, name);
                return false;
            }
            key = by[k].key;
            before = name;
        }
    return true;
}

static bool check_once(const rgm_graph_value *graph, const char *edge_feature, const naming *by,
                       int64_t count)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_CONTEXT_PIECE || rgm_is_aux_set(set->name))
            continue;
        for (int64_t k = 0; k < set->feature_count; k++) {
            const char *feature = set->features[k].name;
            bool is_read = set->piece == RGM_NODE_SET ||
                           (edge_feature != NULL && strcmp(feature, edge_feature) == 0);

            if (is_read && !check_feature_once(graph, set, feature, by, count))
                return false;
        }
    }
    return true;
}

/* A feature is in one encoder's list, has one embedding, and is one of the features once. */
static bool check_namings(const rgm_graph_value *graph, const rgm_input_options *o,
                          const char *edge_feature)
{
    const naming embeddings = {"embeddings", {o->embeddings.names, o->embeddings.count}};
    const naming features = {"features", o->features};
    naming by[RGMI_ENCODERS];

    for (int k = 0; k < RGMI_ENCODERS; k++)
        by[k] = (naming){rgmi_encoders[k]->key, rgmi_encoders[k]->names(o)};
    return check_once(graph, edge_feature, by, RGMI_ENCODERS) &&
           check_once(graph, edge_feature, &embeddings, 1) && check_once(graph, NULL, &features, 1);
}

bool rgm_check_inputs(const rgm_graph_value *graph, const rgm_input_options *o,
                      const char *edge_feature)
{
    rgm_status status = rgmi_input_options_check(o);
    char message[RGM_MESSAGE_ROOM];

    if (status != RGM_OK) {
        snprintf(message, sizeof message, "%s", rgm_error_message());
        rgm_cgraph_fail(rgm_graph_value_cgraph(graph), status, "%s", message);
        return false;
    }
    for (int k = 0; rgmi_encoders[k] != NULL; k++) {
        rgm_texts names = rgmi_encoders[k]->names(o);

        if (!check_names(graph, names.items, names.count, o, edge_feature))
            return false;
    }
    return check_names(graph, o->features.items, o->features.count, o, NULL) &&
           check_embeddings(graph, o, edge_feature) && check_namings(graph, o, edge_feature);
}

static bool has_room(rgm_scope *scope, const char *node_set, int64_t count, int64_t capacity)
{
    if (count < capacity)
        return true;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_UNSUPPORTED,
                    "node set '%s' has more than %lld input features", node_set,
                    (long long)capacity);
    return false;
}

rgm_status rgm_node_inputs(rgm_value **x, int64_t capacity, int64_t *count, rgm_scope *scope,
                           const rgm_graph_value *graph, const char *node_set,
                           const rgm_input_options *options)
{
    static const rgm_input_options defaults = {0};
    const rgm_set_schema *set;
    int64_t wanted, width;

    *count = 0;
    if (scope == NULL || graph == NULL)
        return scope != NULL ? rgm_cgraph_status(rgm_scope_graph(scope)) : RGM_OK;
    if (options == NULL)
        options = &defaults;
    set = rgm_require_set(graph, RGM_NODE_SET, node_set);
    if (set == NULL)
        return rgm_cgraph_status(rgm_scope_graph(scope));
    if (rgm_has_feature(graph, RGM_NODE_SET, node_set, RGM_HIDDEN_STATE) && capacity > 0) {
        x[(*count)++] = rgm_as_rows(scope, rgm_node_feature(graph, node_set, RGM_HIDDEN_STATE));
        return rgm_cgraph_status(rgm_scope_graph(scope));
    }
    wanted = options->features.count > 0 ? options->features.count : set->feature_count;
    for (int64_t i = 0; i < wanted; i++) {
        const char *name =
            options->features.count > 0 ? rgm_feature_name_in(options->features.items[i], node_set)
            : rgmi_is_input(&set->features[i], node_set, options) ? set->features[i].name
                                                                  : NULL;

        if (name == NULL || !rgm_has_feature(graph, RGM_NODE_SET, node_set, name))
            continue;
        if (!has_room(scope, node_set, *count, capacity))
            break;
        x[(*count)++] = feature_rows(scope, graph, node_set, name, options);
    }
    width = rgmi_named_embedding(options, node_set);
    if (*count == 0 && width == 0)
        width = options->latent;
    if (width > 0 && has_room(scope, node_set, *count, capacity))
        x[(*count)++] = node_rows(scope, graph, node_set, width, options);
    return rgm_cgraph_status(rgm_scope_graph(scope));
}

rgm_value *rgm_node_input(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                          const rgm_input_options *options)
{
    enum { MOST = 64 };
    rgm_value *x[MOST];
    int64_t count;

    scope = rgm_scope_enter(rgm_scope_enter(scope, "input"), node_set);
    if (rgm_node_inputs(x, MOST, &count, scope, graph, node_set, options) != RGM_OK || count == 0)
        return NULL;
    return rgm_beside(x, count);
}

/*
 * The graph of values that a model is written against: its features, patterns and sizes become
 * inputs of the compute graph when first asked for, and rgm_graph_feeds() says what to feed them
 * from a concrete graph. with_* adds a link to a chain; looking a feature up walks from the newest
 * link to the root.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph_value_internal.h"
#include "category_lookup.h"

rgm_status rgm_graph_value_create(rgm_graph_value **out, rgm_cgraph *cgraph, rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_graph_value *root = NULL;

    *out = NULL;
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(RGM_NEW(root, 1));
    root->root = root;
    root->cgraph = cgraph;
    root->schema = rgm_schema_retain(schema);
    RGM_GO(rgm_arena_create(&root->arena));
    RGM_GO(RGM_NEW(root->transposed, schema->set_count));
    *out = root;
    root = NULL;
done:
    rgm_graph_value_release(root);
    return status;
}

void rgm_graph_value_release(rgm_graph_value *graph)
{
    rgm_graph_value *root;

    if (graph == NULL)
        return;
    root = graph->root;
    rgm_schema_release(root->schema);
    rgm_arena_release(root->arena);
    rgm_arena_release(root->tables);
    for (int64_t i = 0; i < root->input_count; i++)
        rgm_lookup_release(root->inputs[i].lookup);
    rgm_free(root->inputs);
    rgm_free(root->transposed);
    rgm_free(root->parts);
    rgm_free(root->part_sets);
    rgm_free(root);
}

rgm_status rgm_graph_value_apart(rgm_graph_value **out, const rgm_graph_value *graph)
{
    const rgm_graph_value *root = graph->root;
    rgm_status status = RGM_OK;
    rgm_graph_value *apart = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(apart, 1));
    apart->root = apart;
    apart->schema = rgm_schema_retain(root->schema);
    RGM_GO(RGM_NEW(apart->inputs, root->input_count));
    for (int64_t i = 0; i < root->input_count; i++) {
        apart->inputs[i] = root->inputs[i];
        rgm_lookup_retain(apart->inputs[i].lookup);
        apart->input_count++;
    }
    apart->narrowing = root->narrowing;
    RGM_GO(RGM_NEW(apart->parts, root->part_count));
    RGM_GO(RGM_NEW(apart->part_sets, root->part_count));
    for (; apart->part_count < root->part_count; apart->part_count++) {
        apart->parts[apart->part_count] = root->parts[apart->part_count];
        apart->part_sets[apart->part_count] = root->part_sets[apart->part_count];
    }
    *out = apart;
    apart = NULL;
done:
    rgm_graph_value_release(apart);
    return status;
}

rgm_cgraph *rgm_graph_value_cgraph(const rgm_graph_value *graph)
{
    return graph == NULL ? NULL : graph->root->cgraph;
}

const rgm_schema *rgm_graph_value_schema(const rgm_graph_value *graph)
{
    return graph == NULL ? NULL : graph->root->schema;
}

rgm_value *rgmi_value_error(const rgm_graph_value *graph, rgm_status status)
{
    char message[RGM_MESSAGE_ROOM];

    snprintf(message, sizeof message, "%s", rgm_error_message());
    return rgm_cgraph_fail(graph->root->cgraph, status, "%s", message);
}

bool rgmi_value_set(int64_t *index, const rgm_graph_value *graph, rgm_piece piece, const char *set)
{
    rgm_status status;

    if (graph == NULL)
        return false;
    status = rgmi_set_require(index, graph->root->schema, piece, set);
    if (status < 0)
        rgmi_value_error(graph, status);
    return status == RGM_OK;
}

/* ---- sizes and inputs ---- */

/* A shadow node set has one node for each edge of its edge set. */
static const rgm_set_schema *sized_by(const rgm_schema *schema, const rgm_set_schema *set)
{
    const char *of = set->piece == RGM_NODE_SET ? rgm_shadow_of(set->name) : NULL;

    return of == NULL ? set : rgm_schema_find(schema, RGM_EDGE_SET, of);
}

rgm_dim rgmi_fed_size(const rgm_graph_value *graph, int64_t index)
{
    const rgm_schema *schema = graph->root->schema;
    const rgm_set_schema *set = sized_by(schema, schema->sets[index]);
    rgm_text name = {0};
    rgm_status status = RGM_OK;
    rgm_dim dim = 0;

    if (set->piece == RGM_CONTEXT_PIECE)
        return rgm_cgraph_symbol(graph->root->cgraph, "components");
    status =
        rgm_text_printf(&name, "%s/%s", set->piece == RGM_NODE_SET ? "nodes" : "edges", set->name);
    if (status == RGM_OK)
        dim = rgm_cgraph_symbol(graph->root->cgraph, name.data);
    else
        rgmi_value_error(graph, status);
    rgm_text_clear(&name);
    return dim;
}

rgm_dim rgm_set_size(const rgm_graph_value *graph, rgm_piece piece, const char *set)
{
    int64_t index;

    return rgmi_value_set(&index, graph, piece, set) ? rgmi_value_size(graph, index) : 0;
}

static rgm_status input_name(rgm_text *out, const rgm_set_schema *set, rgmi_graph_input_kind kind,
                             int64_t feature)
{
    static const char *const marks[] = {[INPUT_MEMBERSHIP] = "#component",
                                        [INPUT_FIRST] = "#first",
                                        [INPUT_NUMBER] = "#number",
                                        [INPUT_READOUT] = "#readout",
                                        [INPUT_REAL] = "#real"};
    const char *name = kind == INPUT_FEATURE || kind == INPUT_SPARSE || kind == INPUT_LOOKUP
                           ? set->features[feature].name
                       : kind == INPUT_ADJACENCY ? NULL
                                                 : marks[kind];

    if (kind == INPUT_LOOKUP)
        return rgm_text_printf(out, "%s/%s.%s.#one_hot",
                               set->piece == RGM_NODE_SET ? "nodes" : "edges", set->name, name);
    if (set->piece == RGM_CONTEXT_PIECE)
        return rgm_text_printf(out, "context/%s", name);
    return rgm_text_printf(out, "%s/%s%s%s", set->piece == RGM_NODE_SET ? "nodes" : "edges",
                           set->name, name == NULL ? "" : ".", name == NULL ? "" : name);
}

static rgm_value *make_input(const rgm_graph_value *graph, const char *name,
                             rgmi_graph_input_kind kind, int64_t set, int64_t feature,
                             int64_t columns)
{
    const rgm_schema *schema = graph->root->schema;
    const rgm_set_schema *s = schema->sets[set];
    const rgm_feature_schema *f = feature < 0 ? NULL : &s->features[feature];
    rgm_cgraph *cgraph = graph->root->cgraph;
    rgm_dim size = rgmi_fed_size(graph, set), ends[2] = {0, 0}, shape[RGM_MAX_RANK], components;

    components = rgm_cgraph_symbol(cgraph, "components");
    if (s->piece == RGM_EDGE_SET) {
        ends[0] = rgmi_fed_size(graph, rgm_schema_index(schema, RGM_NODE_SET, s->source));
        ends[1] = rgmi_fed_size(graph, rgm_schema_index(schema, RGM_NODE_SET, s->target));
    }
    switch (kind) {
    case INPUT_FEATURE:
        shape[0] = size;
        for (int i = 0; i < f->rank; i++)
            shape[i + 1] = f->shape[i];
        return rgm_input(cgraph, name, f->dtype, f->rank + 1, shape);
    case INPUT_SPARSE:
    case INPUT_LOOKUP:
        return rgm_input_pattern(cgraph, name, size, columns, rgm_cgraph_symbol(cgraph, name));
    case INPUT_ADJACENCY:
        return rgm_input_pattern(cgraph, name, ends[1], ends[0], size);
    case INPUT_NUMBER:
        return rgm_input_pattern(cgraph, name, size, columns, size);
    case INPUT_MEMBERSHIP:
        return rgm_input_pattern(cgraph, name, components, size, size);
    case INPUT_FIRST:
        return rgm_input_pattern(cgraph, name, components, size, components);
    case INPUT_READOUT:
        return rgm_input_pattern(cgraph, name, ends[1], ends[0], ends[1]);
    case INPUT_REAL:
        return rgm_input(cgraph, name, RGM_F32, 1, &size);
    }
    return NULL;
}

/* columns: of INPUT_SPARSE, INPUT_LOOKUP and INPUT_NUMBER; lookup: of INPUT_LOOKUP. */
static rgm_value *input_of(const rgm_graph_value *graph, rgmi_graph_input_kind kind, int64_t set,
                           int64_t feature, int64_t columns, rgm_lookup *lookup)
{
    rgm_graph_value *root = graph->root;
    rgm_status status = RGM_OK;
    rgm_text name = {0};
    rgm_value *value = NULL;

    for (int64_t i = 0; i < root->input_count; i++) {
        const rgmi_graph_input *input = &root->inputs[i];
        if (input->kind == kind && input->set == set && input->feature == feature)
            return input->value;
    }
    RGM_GO(input_name(&name, root->schema->sets[set], kind, feature));
    RGM_GO(RGM_RESERVE(root->inputs, root->input_capacity, root->input_count + 1));
    value = make_input(graph, name.data, kind, set, feature, columns);
    if (value != NULL)
        root->inputs[root->input_count++] =
            (rgmi_graph_input){kind, set, feature, rgm_lookup_retain(lookup), columns, value};
done:
    if (status < 0)
        rgmi_value_error(graph, status);
    rgm_text_clear(&name);
    return value;
}

rgm_value *rgmi_value_input(const rgm_graph_value *graph, rgmi_graph_input_kind kind, int64_t set,
                            int64_t feature)
{
    int64_t columns =
        kind == INPUT_SPARSE ? graph->root->schema->sets[set]->features[feature].vocabulary : 0;

    return input_of(graph, kind, set, feature, columns, NULL);
}

int64_t rgm_graph_value_inputs(rgm_graph_input *out, int64_t capacity, const rgm_graph_value *graph)
{
    const rgm_graph_value *root = graph->root;
    int64_t count = 0;

    for (int64_t i = 0; i < root->input_count; i++) {
        const rgmi_graph_input *input = &root->inputs[i];
        const rgm_set_schema *set = root->schema->sets[input->set];
        char prefix[64];

        if ((input->feature < 0 && input->kind != INPUT_ADJACENCY) ||
            (set->name != NULL && rgm_aux_prefix(set->name, prefix, sizeof prefix) != NULL))
            continue;
        if (count < capacity)
            out[count] = (rgm_graph_input){
                .piece = set->piece,
                .set = set->name,
                .feature = input->feature < 0 ? NULL : set->features[input->feature].name,
                .value = input->value};
        count++;
    }
    return count;
}

/* ---- features ---- */

/* Found in a change: *value (NULL when taken away) as it is read through those behind, and true. */
static bool find_change(rgm_value **value, const rgm_graph_value *newest, int64_t set,
                        const char *feature)
{
    const rgm_graph_value *graph = newest;
    char prefix[64];

    *value = NULL;
    for (; graph->parent != NULL; graph = graph->parent) {
        if (graph->change == CHANGE_NO_AUX &&
            rgm_aux_prefix(graph->root->schema->sets[set]->name, prefix, sizeof prefix) != NULL)
            return true;
        if (graph->change == CHANGE_FEATURE && graph->set == set &&
            strcmp(graph->feature, feature) == 0) {
            *value = rgmi_value_read(newest, graph, set, feature, graph->value);
            return true;
        }
    }
    return false;
}

/* An input of a feature as it is read. */
static rgm_value *read_input(const rgm_graph_value *graph, int64_t set, const char *feature,
                             rgm_value *input)
{
    return rgmi_value_read(graph, graph->root, set, feature, input);
}

bool rgm_has_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                     const char *feature)
{
    rgm_value *value;
    int64_t index;

    if (graph == NULL || feature == NULL)
        return false;
    index = rgm_schema_index(graph->root->schema, piece, set);
    if (index < 0)
        return false;
    if (find_change(&value, graph, index, feature))
        return value != NULL;
    return rgm_set_feature_index(graph->root->schema->sets[index], feature) >= 0;
}

/* The feature's place in the schema, unless it was taken away; else a failure. */
static bool in_schema(int64_t *index, const rgm_graph_value *graph, int64_t set,
                      const char *feature, bool taken_away)
{
    const rgm_set_schema *s = graph->root->schema->sets[set];
    char title[RGM_SET_TITLE];
    rgm_status status;

    rgm_set_title(s, title, sizeof title);
    if (taken_away) {
        rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_NOT_FOUND,
                        "%s: feature '%s' was taken away from the graph: no model sees a label, "
                        "nor what edges that run the other way have under its name",
                        title, feature);
        return false;
    }
    status = rgmi_feature_require(index, s, feature);
    if (status < 0)
        rgmi_value_error(graph, status);
    return status == RGM_OK;
}

rgm_value *rgmi_value_feature(const rgm_graph_value *graph, int64_t set, const char *feature)
{
    const rgm_feature_schema *f;
    char title[RGM_SET_TITLE];
    rgm_value *value;
    int64_t index;
    bool changed = feature != NULL && find_change(&value, graph, set, feature);

    if (changed && value != NULL)
        return value;
    if (!in_schema(&index, graph, set, feature, changed))
        return NULL;
    f = &graph->root->schema->sets[set]->features[index];
    rgm_set_title(graph->root->schema->sets[set], title, sizeof title);
    if (f->vocabulary > 0)
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_UNSUPPORTED,
                               "%s: feature '%s' is one_hot; ask for it as a sparse feature", title,
                               feature);
    if (rgm_feature_last_ragged(f) > 0)
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_UNSUPPORTED,
                               "%s: feature '%s' is ragged; models take dense features and one_hot "
                               "ones (source: \"one_hot:<columns>\")",
                               title, feature);
    return read_input(graph, set, feature, rgmi_value_input(graph, INPUT_FEATURE, set, index));
}

rgm_value *rgm_node_feature(const rgm_graph_value *graph, const char *node_set, const char *feature)
{
    int64_t set;

    return rgmi_value_set(&set, graph, RGM_NODE_SET, node_set)
               ? rgmi_value_feature(graph, set, feature)
               : NULL;
}

rgm_value *rgm_edge_feature(const rgm_graph_value *graph, const char *edge_set, const char *feature)
{
    int64_t set;

    return rgmi_value_set(&set, graph, RGM_EDGE_SET, edge_set)
               ? rgmi_value_feature(graph, set, feature)
               : NULL;
}

rgm_value *rgm_context_feature(const rgm_graph_value *graph, const char *feature)
{
    return graph == NULL ? NULL : rgmi_value_feature(graph, 0, feature);
}

rgm_value *rgm_node_sparse_feature(const rgm_graph_value *graph, const char *node_set,
                                   const char *feature)
{
    int64_t set, index;
    rgm_value *value;
    bool changed;

    if (!rgmi_value_set(&set, graph, RGM_NODE_SET, node_set))
        return NULL;
    changed = feature != NULL && find_change(&value, graph, set, feature);
    if (changed && value != NULL && rgm_value_is_pattern(value))
        return value;
    if (!in_schema(&index, graph, set, feature, changed && value == NULL))
        return NULL;
    if (changed || graph->root->schema->sets[set]->features[index].vocabulary == 0)
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_UNSUPPORTED,
                               "node set '%s': feature '%s' is not one_hot", node_set, feature);
    return read_input(graph, set, feature, rgmi_value_input(graph, INPUT_SPARSE, set, index));
}

/* The lookup of a feature that is an input already; NULL: it is none. */
static const rgm_lookup *lookup_of(const rgm_graph_value *graph, int64_t set, int64_t feature)
{
    const rgm_graph_value *root = graph->root;

    for (int64_t i = 0; i < root->input_count; i++)
        if (root->inputs[i].kind == INPUT_LOOKUP && root->inputs[i].set == set &&
            root->inputs[i].feature == feature)
            return root->inputs[i].lookup;
    return NULL;
}

rgm_value *rgm_lookup_rows(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                           const char *feature, rgm_lookup *lookup)
{
    int64_t index, column, width;
    const rgm_lookup *other;
    char title[RGM_SET_TITLE];
    rgm_value *value;
    rgm_status status;

    if (!rgmi_value_set(&index, graph, piece, set))
        return NULL;
    rgm_set_title(graph->root->schema->sets[index], title, sizeof title);
    if (piece == RGM_CONTEXT_PIECE || find_change(&value, graph, index, feature))
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_UNSUPPORTED,
                               "%s: '%s' is no feature of nodes or edges as the data have it",
                               title, feature);
    if (!in_schema(&column, graph, index, feature, false))
        return NULL;
    status = rgmi_lookup_width(&width, lookup, &graph->root->schema->sets[index]->features[column],
                               title);
    if (status < 0)
        return rgmi_value_error(graph, status);
    other = lookup_of(graph, index, column);
    if (other != NULL && !rgmi_lookup_equal(other, lookup))
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_UNSUPPORTED,
                               "%s: feature '%s' is one-hot with %lld columns elsewhere, not %lld, "
                               "or with others",
                               title, feature, (long long)rgm_lookup_columns(other),
                               (long long)rgm_lookup_columns(lookup));
    return read_input(graph, index, feature,
                      input_of(graph, INPUT_LOOKUP, index, column, width, lookup));
}

rgm_value *rgm_one_hot(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature, int64_t values)
{
    rgm_lookup *lookup;
    rgm_status status;
    rgm_value *value;

    if (graph == NULL)
        return NULL;
    status = rgm_lookup_range(&lookup, values);
    if (status < 0)
        return rgmi_value_error(graph, rgm_error_prefix(status, "feature '%s'", feature));
    value = rgm_lookup_rows(graph, piece, set, feature, lookup);
    rgm_lookup_release(lookup);
    return value;
}

rgm_value *rgm_node_numbers(const rgm_graph_value *graph, const char *node_set, int64_t nodes)
{
    int64_t index;
    rgm_value *value;

    if (!rgmi_value_set(&index, graph, RGM_NODE_SET, node_set))
        return NULL;
    if (nodes < 1 || nodes > INT32_MAX)
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_ARG,
                               "node set '%s': numbers of %lld nodes; 1 to 2147483647 can be",
                               node_set, (long long)nodes);
    value = input_of(graph, INPUT_NUMBER, index, -1, nodes, NULL);
    if (value != NULL && rgm_value_dim(value, 1) != nodes)
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_UNSUPPORTED,
                               "node set '%s' is numbered to %lld elsewhere, not %lld", node_set,
                               (long long)rgm_value_dim(value, 1), (long long)nodes);
    return read_input(graph, index, "#number", value);
}

/* How a model reads the feature, from input *at on: its number in the root's inputs, or -1. */
static int64_t find_reader(const rgm_graph_value *root, rgm_piece piece, const char *set,
                           const char *feature, int64_t at)
{
    int64_t index = rgm_schema_index(root->schema, piece, set), column;

    if (index < 0)
        return -1;
    column = rgm_set_feature_index(root->schema->sets[index], feature);
    for (int64_t i = at; i < root->input_count && column >= 0; i++)
        if (root->inputs[i].set == index && root->inputs[i].feature == column)
            return i;
    return -1;
}

bool rgm_reads_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature)
{
    return find_reader(graph->root, piece, set, feature, 0) >= 0;
}

bool rgm_feeds_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature)
{
    const rgm_graph_value *root = graph->root;
    int64_t at = find_reader(root, piece, set, feature, 0);

    while (at >= 0 && root->inputs[at].kind != INPUT_FEATURE)
        at = find_reader(root, piece, set, feature, at + 1);
    return at >= 0;
}

/* ---- patterns and masks ---- */

rgm_value *rgm_adjacency(const rgm_graph_value *graph, const char *edge_set, rgm_tag receiver)
{
    rgm_value *pattern, **transposed;
    int64_t set;

    if (!rgmi_value_set(&set, graph, RGM_EDGE_SET, edge_set))
        return NULL;
    if (receiver != RGM_SOURCE && receiver != RGM_TARGET)
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_ARG,
                               "edge set '%s': the receiver of an adjacency is source or target",
                               edge_set);
    pattern = read_input(graph, set, NULL, rgmi_value_input(graph, INPUT_ADJACENCY, set, -1));
    if (receiver == RGM_TARGET || pattern == NULL)
        return pattern;
    if (rgmi_value_loses_edges(graph, set))
        return rgm_transpose_pattern(pattern);
    transposed = &graph->root->transposed[set]; /* one value, so that ops on it can fuse */
    if (*transposed == NULL)
        *transposed = rgm_transpose_pattern(pattern);
    return *transposed;
}

rgm_value *rgm_membership(const rgm_graph_value *graph, rgm_piece piece, const char *set)
{
    int64_t index;

    if (!rgmi_value_set(&index, graph, piece, set))
        return NULL;
    if (rgmi_value_loses_edges(graph, index))
        return rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_UNSUPPORTED,
                               "edge set '%s': some of its edges are dropped here, so that they "
                               "cannot be pooled into the context",
                               set);
    return rgmi_value_input(graph, INPUT_MEMBERSHIP, index, -1);
}

rgm_value *rgm_real_mask(const rgm_graph_value *graph, rgm_piece piece, const char *set)
{
    int64_t index;

    return rgmi_value_set(&index, graph, piece, set)
               ? rgmi_value_input(graph, INPUT_REAL, index, -1)
               : NULL;
}

rgm_value *rgm_node_degree(const rgm_graph_value *graph, const char *edge_set, rgm_tag end,
                           rgm_dtype dtype)
{
    rgm_value *pattern = rgm_adjacency(graph, edge_set, end);

    return pattern == NULL ? NULL : rgm_degree(pattern, dtype);
}

rgm_dim rgmi_value_size(const rgm_graph_value *graph, int64_t set)
{
    rgm_value *pattern;

    if (!rgmi_value_loses_edges(graph, set))
        return rgmi_fed_size(graph, set);
    pattern = rgm_adjacency(graph, graph->root->schema->sets[set]->name, RGM_TARGET);
    return pattern != NULL ? rgm_value_dim(pattern, 2) : 0;
}

/* ---- changes ---- */

static rgm_graph_value *link_change(const rgm_graph_value *graph, rgmi_change change)
{
    rgm_graph_value *made = rgm_arena_alloc(graph->root->arena, sizeof *made);

    if (made == NULL) {
        rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_NOMEM, "out of memory: a graph value");
        return NULL;
    }
    made->root = graph->root;
    made->parent = graph;
    made->change = change;
    return made;
}

static rgm_graph_value *change_feature(const rgm_graph_value *graph, int64_t set,
                                       const char *feature, rgm_value *value)
{
    rgm_graph_value *made = link_change(graph, CHANGE_FEATURE);

    if (made == NULL)
        return NULL;
    made->set = set;
    made->value = value;
    made->feature = rgm_arena_strdup(graph->root->arena, feature);
    if (made->feature == NULL) {
        rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_NOMEM, "out of memory: a graph value");
        return NULL;
    }
    return made;
}

rgm_graph_value *rgm_with_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                  const char *feature, rgm_value *value)
{
    char title[RGM_SET_TITLE], got[128];
    int64_t index;

    if (value == NULL || !rgmi_value_set(&index, graph, piece, set))
        return NULL;
    rgm_set_title(graph->root->schema->sets[index], title, sizeof title);
    if (feature == NULL || feature[0] == '\0') {
        rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_ARG, "%s: a feature needs a name", title);
        return NULL;
    }
    if (rgm_value_rank(value) < 1 || rgm_value_shape(value)[0] != rgmi_value_size(graph, index)) {
        rgm_cgraph_fail(graph->root->cgraph, RGM_ERR_SHAPE,
                        "%s: feature '%s' needs one row an item, but is %s", title, feature,
                        rgm_value_describe(value, got, sizeof got));
        return NULL;
    }
    return change_feature(graph, index, feature, value);
}

rgm_graph_value *rgm_without_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                     const char *feature)
{
    int64_t index;

    if (!rgmi_value_set(&index, graph, piece, set))
        return NULL;
    if (feature == NULL || !rgm_has_feature(graph, piece, set, feature)) {
        in_schema(&index, graph, index, feature, feature != NULL);
        return NULL;
    }
    return change_feature(graph, index, feature, NULL);
}

rgm_graph_value *rgm_with_state(const rgm_graph_value *graph, const char *node_set,
                                rgm_value *state)
{
    return rgm_with_feature(graph, RGM_NODE_SET, node_set, RGM_HIDDEN_STATE, state);
}

rgm_graph_value *rgm_without_aux_features(const rgm_graph_value *graph)
{
    return graph == NULL ? NULL : link_change(graph, CHANGE_NO_AUX);
}

rgm_graph_value *rgm_with_reading(const rgm_graph_value *graph, const rgm_graph_reading *reading)
{
    rgm_graph_value *made = graph != NULL ? link_change(graph, CHANGE_READING) : NULL;

    if (made != NULL)
        made->reading = *reading;
    return made;
}

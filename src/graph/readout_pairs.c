/*
 * A graph asked about pairs of nodes, and a graph with some of its edges: what link prediction is
 * trained on. All that stays is shared with the graph that they are made of.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "edit.h"

static rgm_status one_component(const rgm_graph *graph)
{
    if (graph->components == 1)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG, "a graph of %" PRId64 " components, one is needed",
                    graph->components);
}

/* Numbers [n] i64 of 0 .. total - 1; n < 0: any. */
static rgm_status check_numbers(const rgm_tensor *numbers, int64_t n, int64_t total,
                                const char *what, const char *of)
{
    char got[64];

    if (rgm_tensor_dtype(numbers) != RGM_I64 || rgm_tensor_rank(numbers) != 1 ||
        (n >= 0 && rgm_tensor_count(numbers) != n))
        return RGM_FAIL(RGM_ERR_ARG, "%s of '%s' are %s, must be i64[%s]", what, of,
                        rgm_tensor_describe(numbers, got, sizeof got), n < 0 ? "m" : "n");
    for (int64_t i = 0; i < rgm_tensor_count(numbers); i++)
        if (rgm_tensor_i64(numbers)[i] < 0 || rgm_tensor_i64(numbers)[i] >= total)
            return RGM_FAIL(RGM_ERR_DATA,
                            "'%s': number %" PRId64 " of %s is %" PRId64 ", there are %" PRId64, of,
                            i, what, rgm_tensor_i64(numbers)[i], total);
    return RGM_OK;
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* Edge sets of a readout of pairs. */
enum { SOURCE, TARGET, POSITIVE, READERS };

typedef struct pair_readout {
    const rgm_graph_pairs *pairs;
    const char *readout_set;
    int64_t count;
    struct {
        char name[256];
        const char *from;
        rgm_tensor *nodes; /* NULL: there is no such edge set */
    } readers[READERS];
} pair_readout;

static rgm_status open_readout(pair_readout *r, const rgm_graph_pairs *pairs)
{
    static const char *const keys[READERS] = {"source", "target", "positive"};

    *r =
        (pair_readout){.pairs = pairs,
                       .readout_set = pairs->readout_set != NULL ? pairs->readout_set : RGM_READOUT,
                       .count = rgm_tensor_count(pairs->source)};
    if (!rgm_is_readout_set(r->readout_set) || strlen(r->readout_set) > 200)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no name of a readout set (\"%s\" or \"%s:name\")",
                        r->readout_set, RGM_READOUT, RGM_READOUT);
    r->readers[SOURCE].from = pairs->source_set;
    r->readers[SOURCE].nodes = pairs->source;
    r->readers[TARGET].from = pairs->target_set;
    r->readers[TARGET].nodes = pairs->target;
    r->readers[POSITIVE].from = r->readout_set;
    r->readers[POSITIVE].nodes = pairs->positive;
    for (int k = 0; k < READERS; k++)
        snprintf(r->readers[k].name, sizeof r->readers[k].name, "%s/%s", r->readout_set, keys[k]);
    return RGM_OK;
}

static rgm_status check_pairs(const pair_readout *r, const rgm_graph *graph)
{
    const rgm_graph_pairs *p = r->pairs;

    for (int k = 0; k < READERS; k++) {
        int64_t total = r->count, set;

        if (r->readers[k].nodes == NULL)
            continue;
        if (k != POSITIVE) {
            RGM_TRY(rgmi_graph_set(&set, graph, RGM_NODE_SET, r->readers[k].from));
            total = graph->sets[set].items->total;
        }
        RGM_TRY(check_numbers(r->readers[k].nodes, r->count, total, "nodes", r->readers[k].name));
    }
    if (p->label != NULL)
        RGM_TRY(check_numbers(p->labels, r->count, INT64_MAX, "labels", r->readout_set));
    if (p->relation != NULL)
        RGM_TRY(
            check_numbers(p->relations, r->count, p->relation_count, "relations", r->readout_set));
    return RGM_OK;
}

static bool has_feature(const rgm_schema *schema, const char *set, const char *feature)
{
    const rgm_set_schema *found = rgm_schema_find(schema, RGM_NODE_SET, set);

    return feature == NULL || (found != NULL && rgm_set_feature(found, feature) != NULL);
}

/* Whether the schema has all of it; an edge set of other ends is an error. */
static rgm_status is_complete(bool *complete, const pair_readout *r, const rgm_schema *schema)
{
    *complete = rgm_schema_find(schema, RGM_NODE_SET, r->readout_set) != NULL &&
                has_feature(schema, r->readout_set, r->pairs->label) &&
                has_feature(schema, r->readout_set, r->pairs->relation);
    for (int k = 0; k < READERS; k++) {
        const rgm_set_schema *set = rgm_schema_find(schema, RGM_EDGE_SET, r->readers[k].name);

        if (r->readers[k].nodes == NULL)
            continue;
        *complete &= set != NULL;
        if (set != NULL && strcmp(set->source, r->readers[k].from) != 0)
            return RGM_FAIL(RGM_ERR_ARG, "edge set '%s' is from '%s', not from '%s'", set->name,
                            set->source, r->readers[k].from);
    }
    return RGM_OK;
}

static rgm_status add_features(rgm_schema *schema, const pair_readout *r)
{
    const rgm_graph_pairs *p = r->pairs;
    const int64_t list = -1;

    if (!has_feature(schema, r->readout_set, p->label))
        RGM_TRY(rgm_schema_add_feature(schema, RGM_NODE_SET, r->readout_set, p->label, RGM_I64, 0,
                                       NULL));
    if (has_feature(schema, r->readout_set, p->relation))
        return RGM_OK;
    RGM_TRY(rgm_schema_add_feature(schema, RGM_NODE_SET, r->readout_set, p->relation, RGM_I64, 1,
                                   &list));
    return rgm_schema_set_one_hot(schema, RGM_NODE_SET, r->readout_set, p->relation,
                                  p->relation_count);
}

static rgm_status schema_with_pairs(rgm_schema **out, const pair_readout *r, const rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    bool complete;

    RGM_TRY(is_complete(&complete, r, graph->schema));
    if (complete) {
        *out = rgm_schema_retain(graph->schema);
        return RGM_OK;
    }
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    if (rgm_schema_find(schema, RGM_NODE_SET, r->readout_set) == NULL)
        RGM_GO(rgm_schema_add_node_set(schema, r->readout_set));
    for (int k = 0; k < READERS; k++)
        if (r->readers[k].nodes != NULL &&
            rgm_schema_find(schema, RGM_EDGE_SET, r->readers[k].name) == NULL)
            RGM_GO(rgm_schema_add_edge_set(schema, r->readers[k].name, r->readers[k].from,
                                           r->readout_set));
    RGM_GO(add_features(schema, r));
    RGM_GO(rgm_schema_check(schema));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

/* What the readout set and its edge sets had belongs to the graph before. */
static void forget_readout(rgm_graph *graph, const char *readout_set)
{
    for (int64_t i = 1; i < graph->set_count; i++) {
        const rgm_set_schema *set = graph->schema->sets[i];
        const char *node_set = set->piece == RGM_EDGE_SET ? set->target : set->name;

        if (strcmp(node_set, readout_set) != 0)
            continue;
        rgmi_items_release(graph->sets[i].items);
        graph->sets[i].items = NULL;
        for (int64_t j = 0; j < set->feature_count; j++) {
            rgmi_column_release(graph->sets[i].columns[j]);
            graph->sets[i].columns[j] = NULL;
        }
    }
}

static rgm_status set_feature(rgm_graph *made, int64_t set, const char *name, rgm_tensor *values,
                              bool one_hot)
{
    int64_t column = rgm_set_feature_index(made->schema->sets[set], name);
    int64_t count = rgm_tensor_count(values);
    rgm_feature feature = {0};

    if (one_hot) {
        RGM_TRY(rgmi_ints(&feature.row_lengths[1], count, NULL));
        for (int64_t i = 0; i < count; i++)
            rgm_tensor_i64(feature.row_lengths[1])[i] = 1;
    }
    feature.values = rgm_tensor_retain(values);
    RGM_TRY(rgmi_column_create(&made->sets[set].columns[column], &feature));
    return rgmi_graph_check_feature(made, set, column);
}

static rgm_status fill_pairs(rgm_graph *made, const pair_readout *r, rgm_tensor *items)
{
    int64_t readout = rgm_schema_index(made->schema, RGM_NODE_SET, r->readout_set);

    RGM_TRY(rgmi_items_create(&made->sets[readout].items, 1, &r->count, made->real));
    for (int k = 0; k < READERS; k++) {
        int64_t set = rgm_schema_index(made->schema, RGM_EDGE_SET, r->readers[k].name);

        if (r->readers[k].nodes == NULL)
            continue;
        RGM_TRY(rgmi_items_create(&made->sets[set].items, 1, &r->count, made->real));
        rgmi_items_set_edges(made->sets[set].items, r->readers[k].nodes, items);
    }
    RGM_TRY(rgm_graph_seal(made));
    if (r->pairs->label != NULL)
        RGM_TRY(set_feature(made, readout, r->pairs->label, r->pairs->labels, false));
    if (r->pairs->relation != NULL)
        RGM_TRY(set_feature(made, readout, r->pairs->relation, r->pairs->relations, true));
    return RGM_OK;
}

rgm_status rgm_graph_with_pairs(rgm_graph **out, const rgm_graph *graph,
                                const rgm_graph_pairs *pairs)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    rgm_tensor *items = NULL;
    pair_readout readout;

    *out = NULL;
    RGM_TRY(one_component(graph));
    RGM_TRY(open_readout(&readout, pairs));
    RGM_TRY(check_pairs(&readout, graph));
    RGM_GO(schema_with_pairs(&schema, &readout, graph));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    forget_readout(made, readout.readout_set);
    RGM_GO(rgm_tensor_arange(&items, readout.count));
    RGM_GO(fill_pairs(made, &readout, items));
    *out = made;
    made = NULL;
done:
    rgm_tensor_release(items);
    rgm_graph_release(made);
    rgm_schema_release(schema);
    return status;
}

/* ---- some edges ------------------------------------------------------------------------------ */

rgm_status rgm_graph_with_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                const rgm_tensor *edges)
{
    rgm_status status = RGM_OK;
    const rgmi_items *old;
    rgmi_edit edit = {0};
    int64_t set;

    *out = NULL;
    RGM_TRY(one_component(graph));
    RGM_TRY(rgmi_graph_set(&set, graph, RGM_EDGE_SET, edge_set));
    RGM_TRY(rgmi_set_whole(graph, set));
    old = graph->sets[set].items;
    RGM_TRY(check_numbers(edges, -1, old->total, "edges", edge_set));
    RGM_GO(rgmi_edit_init(&edit, 1, rgm_tensor_count(edges), true));
    for (int64_t i = 0; i < rgm_tensor_count(edges); i++) {
        int64_t edge = rgm_tensor_i64(edges)[i];

        rgmi_edit_add_edge(&edit, 0, edge, rgm_tensor_i64(old->source)[edge],
                           rgm_tensor_i64(old->target)[edge]);
    }
    RGM_GO(rgmi_edit_finish(out, graph, set, &edit));
done:
    rgmi_edit_clear(&edit);
    return status;
}

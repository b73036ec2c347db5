/*
 * Node sets made of node sets: without some nodes, in another order, with another's features, and
 * with a node that all others hear.
 */
#include <string.h>

#include "edit.h"

/* ---- nodes that go, and their edges --------------------------------------------------------- */

/* New number of each node of a set, -1: gone; and which of its edge sets that touches. */
typedef struct renumbering {
    const char *node_set;
    const int64_t *place;
} renumbering;

static int64_t new_end(const renumbering *to, const char *node_set, int64_t node)
{
    return strcmp(node_set, to->node_set) == 0 ? to->place[node] : node;
}

/* An edge set between the nodes that stay. */
static rgm_status renumber_edges(rgm_graph *made, const rgm_graph *graph, int64_t set,
                                 const renumbering *to)
{
    rgm_status status = RGM_OK;
    const rgm_set_schema *schema = graph->schema->sets[set];
    const rgmi_items *old = graph->sets[set].items;
    rgmi_edit edit = {0};
    int64_t edge = 0;

    RGM_GO(rgmi_edit_init(&edit, old->components, old->total, true));
    for (int64_t c = 0; c < old->components; c++)
        for (int64_t i = 0; i < old->sizes[c]; i++, edge++) {
            int64_t source = new_end(to, schema->source, rgm_tensor_i64(old->source)[edge]);
            int64_t target = new_end(to, schema->target, rgm_tensor_i64(old->target)[edge]);

            if (source >= 0 && target >= 0)
                rgmi_edit_add_edge(&edit, c, edge, source, target);
        }
    RGM_GO(rgmi_edit_put(made, set, &edit, graph, set));
done:
    rgmi_edit_clear(&edit);
    return status;
}

/* A graph whose node set is what was written, and all edge sets at it with it. */
static rgm_status finish_nodes(rgm_graph **out, const rgm_graph *graph, int64_t set,
                               const rgmi_edit *nodes)
{
    rgm_status status = RGM_OK;
    const char *name = graph->schema->sets[set]->name;
    rgm_graph *made = NULL;
    int64_t *place = NULL;
    renumbering to = {.node_set = name};

    RGM_GO(RGM_NEW(place, graph->sets[set].items->total));
    for (int64_t i = 0; i < graph->sets[set].items->total; i++)
        place[i] = -1;
    for (int64_t i = 0; i < nodes->count; i++)
        place[nodes->from[i]] = i;
    to.place = place;
    RGM_GO(rgm_graph_begin_from(&made, graph->schema, graph));
    RGM_GO(rgmi_edit_put(made, set, nodes, graph, set));
    for (int64_t i = 0; i < graph->set_count; i++) {
        const rgm_set_schema *edges = graph->schema->sets[i];

        if (edges->piece == RGM_EDGE_SET &&
            (strcmp(edges->source, name) == 0 || strcmp(edges->target, name) == 0))
            RGM_GO(renumber_edges(made, graph, i, &to));
    }
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_free(place);
    return status;
}

/* Nodes that a readout or another auxiliary edge set reads. */
static void keep_read(bool *keep, const rgm_graph *graph, const char *node_set)
{
    for (int64_t i = 0; i < graph->set_count; i++) {
        const rgm_set_schema *edges = graph->schema->sets[i];
        const rgmi_items *items = graph->sets[i].items;
        char prefix[64];

        if (edges->piece != RGM_EDGE_SET ||
            rgm_aux_prefix(edges->name, prefix, sizeof prefix) == NULL)
            continue;
        for (int64_t e = 0; e < items->total; e++) {
            if (strcmp(edges->source, node_set) == 0)
                keep[rgm_tensor_i64(items->source)[e]] = true;
            if (strcmp(edges->target, node_set) == 0)
                keep[rgm_tensor_i64(items->target)[e]] = true;
        }
    }
}

rgm_status rgm_graph_drop_nodes(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                double rate, bool keep_first, const rgm_rng *rng)
{
    rgm_status status = RGM_OK;
    const rgmi_items *old;
    rgmi_edit edit = {0};
    bool *keep = NULL;
    int64_t set, node = 0;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_edit_check_rate(rate));
    RGM_GO(rgmi_graph_set(&set, graph, RGM_NODE_SET, node_set));
    old = graph->sets[set].items;
    RGM_GO(RGM_NEW(keep, old->total));
    keep_read(keep, graph, node_set);
    RGM_GO(rgmi_edit_init(&edit, old->components, old->total, false));
    for (int64_t c = 0; c < old->components; c++)
        for (int64_t i = 0; i < old->sizes[c]; i++, node++)
            if (keep[node] || (keep_first && i == 0) || rgm_rng_f64(rng, (uint64_t)node) >= rate)
                rgmi_edit_add(&edit, c, node);
    RGM_GO(finish_nodes(out, graph, set, &edit));
done:
    rgmi_edit_clear(&edit);
    rgm_free(keep);
    return status;
}

/* ---- shuffles ------------------------------------------------------------------------------- */

/* Numbers of `count` items from `first` on in an order of their own; draws are those of them. */
static void shuffle(int64_t *order, int64_t first, int64_t count, const rgm_rng *rng)
{
    for (int64_t i = 0; i < count; i++)
        order[i] = first + i;
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t k = (int64_t)rgm_rng_below(rng, (uint64_t)(first + i), (uint64_t)i + 1);
        int64_t kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
}

rgm_status rgm_graph_shuffle_nodes(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                   bool keep_first, const rgm_rng *rng)
{
    rgm_status status = RGM_OK;
    const rgmi_items *old;
    rgmi_edit edit = {0};
    int64_t set, first = 0;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_graph_set(&set, graph, RGM_NODE_SET, node_set));
    old = graph->sets[set].items;
    RGM_GO(rgmi_edit_init(&edit, old->components, old->total, false));
    for (int64_t c = 0; c < old->components; first += old->sizes[c++]) {
        int64_t fixed = keep_first && old->sizes[c] > 0;

        if (fixed)
            edit.from[first] = first;
        shuffle(edit.from + first + fixed, first + fixed, old->sizes[c] - fixed, rng);
        edit.sizes[c] = old->sizes[c];
    }
    edit.count = old->total;
    RGM_GO(finish_nodes(out, graph, set, &edit));
done:
    rgmi_edit_clear(&edit);
    return status;
}

rgm_status rgm_graph_shuffle_features(rgm_graph **out, const rgm_graph *graph, rgm_piece piece,
                                      const char *set, const char *feature, const rgm_rng *rng)
{
    rgm_status status = RGM_OK;
    const rgm_set_schema *schema;
    const rgmi_items *items;
    rgm_graph *made = NULL;
    int64_t i, only = -1, *order = NULL;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_graph_set(&i, graph, piece, set));
    schema = graph->schema->sets[i];
    if (feature != NULL)
        RGM_GO(rgmi_feature_require(&only, schema, feature));
    items = graph->sets[i].items;
    RGM_GO(RGM_NEW(order, items->total));
    shuffle(order, 0, items->real_total, rng);
    for (int64_t k = items->real_total; k < items->total; k++)
        order[k] = k;
    RGM_GO(rgm_graph_begin_from(&made, graph->schema, graph));
    for (int64_t j = 0; j < schema->feature_count; j++) {
        rgmi_column **column = &made->sets[i].columns[j];
        rgm_feature taken;

        if (*column == NULL || (feature != NULL && j != only))
            continue;
        RGM_GO(
            rgm_feature_take(&taken, &schema->features[j], &(*column)->value, order, items->total));
        rgmi_column_release(*column);
        *column = NULL;
        RGM_GO(rgmi_column_create(column, &taken));
    }
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_free(order);
    return status;
}

/* ---- a node that everybody hears ------------------------------------------------------------ */

/* Between each node and its component's own; to_it: towards that. */
static rgm_status virtual_edges(rgm_graph *made, const char *edge_set, const rgmi_items *nodes,
                                bool to_it)
{
    rgm_status status = RGM_OK;
    rgmi_edit edit = {0};
    int64_t node = 0, set = rgm_schema_index(made->schema, RGM_EDGE_SET, edge_set);

    RGM_GO(rgmi_edit_init(&edit, nodes->components, nodes->total, true));
    for (int64_t c = 0; c < nodes->components; c++)
        for (int64_t i = 0; i < nodes->sizes[c]; i++, node++)
            rgmi_edit_add_edge(&edit, c, -1, to_it ? node : c, to_it ? c : node);
    RGM_GO(rgmi_edit_put(made, set, &edit, made, set));
done:
    rgmi_edit_clear(&edit);
    return status;
}

/* One node a component, its feature is 1. */
static rgm_status virtual_nodes(rgm_graph *made, const char *name)
{
    const int64_t set = rgm_schema_index(made->schema, RGM_NODE_SET, name);
    const int64_t shape[] = {made->components, 1};
    rgm_feature one = {0};

    RGM_TRY(rgmi_items_create(&made->sets[set].items, made->components, made->sets[0].items->sizes,
                              made->real));
    RGM_TRY(rgm_tensor_create(&one.values, RGM_F32, 2, shape));
    for (int64_t c = 0; c < made->components; c++)
        rgm_tensor_f32(one.values)[c] = 1;
    return rgmi_column_create(&made->sets[set].columns[0], &one);
}

static rgm_status virtual_schema(rgm_schema **out, const rgm_schema *old, const char *node_set,
                                 const char *name, char *const edge_sets[2])
{
    const int64_t one = 1;

    RGM_TRY(rgm_schema_copy(out, old));
    RGM_TRY(rgmi_edit_add_set(*out, RGM_NODE_SET, name, NULL, NULL, NULL));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, name, "one", RGM_F32, 1, &one));
    RGM_TRY(rgmi_edit_add_set(*out, RGM_EDGE_SET, edge_sets[0], node_set, name, NULL));
    RGM_TRY(rgmi_edit_add_set(*out, RGM_EDGE_SET, edge_sets[1], name, node_set, NULL));
    return rgm_schema_check(*out);
}

rgm_status rgm_graph_add_virtual_node(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                      const char *name)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    char *edge_sets[2] = {NULL, NULL};
    int64_t set;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_graph_set(&set, graph, RGM_NODE_SET, node_set));
    RGM_GO(rgm_strprintf(&edge_sets[0], "%s_to_%s", node_set, name));
    RGM_GO(rgm_strprintf(&edge_sets[1], "%s_to_%s", name, node_set));
    RGM_GO(virtual_schema(&schema, graph->schema, node_set, name, edge_sets));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    RGM_GO(virtual_nodes(made, name));
    for (int i = 0; i < 2; i++)
        RGM_GO(virtual_edges(made, edge_sets[i], graph->sets[set].items, i == 0));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_schema_release(schema);
    rgm_free(edge_sets[0]);
    rgm_free(edge_sets[1]);
    return status;
}

/* ---- all pairs ------------------------------------------------------------------------------ */

static rgm_status all_pairs(rgmi_edit *edit, const rgmi_items *nodes, const char *name)
{
    const int64_t most = INT64_C(1) << 31;
    int64_t pairs = 0, first = 0;

    for (int64_t c = 0; c < nodes->components && pairs <= most; c++)
        pairs = nodes->sizes[c] > most ? most + 1 : pairs + nodes->sizes[c] * nodes->sizes[c];
    if (pairs > most)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "'%s': all pairs of %lld nodes are more than the %lld that are made", name,
                        (long long)nodes->total, (long long)most);
    RGM_TRY(rgmi_edit_init(edit, nodes->components, pairs, true));
    for (int64_t c = 0; c < nodes->components; first += nodes->sizes[c++])
        for (int64_t i = first; i < first + nodes->sizes[c]; i++)
            for (int64_t k = first; k < first + nodes->sizes[c]; k++)
                rgmi_edit_add_edge(edit, c, -1, k, i);
    return RGM_OK;
}

rgm_status rgm_graph_add_complete(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                  const char *name)
{
    rgm_status status = RGM_OK;
    rgmi_edit edit = {0};
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    char *usual = NULL;
    int64_t set;

    *out = NULL;
    RGM_GO(rgmi_graph_set(&set, graph, RGM_NODE_SET, node_set));
    RGM_GO(rgm_strprintf(&usual, "%s_complete", node_set));
    if (name == NULL)
        name = usual;
    RGM_GO(all_pairs(&edit, graph->sets[set].items, name));
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    RGM_GO(rgmi_edit_add_set(schema, RGM_EDGE_SET, name, node_set, node_set, NULL));
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    set = rgm_schema_index(schema, RGM_EDGE_SET, name);
    RGM_GO(rgmi_edit_put(made, set, &edit, made, set));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_schema_release(schema);
    rgmi_edit_clear(&edit);
    rgm_free(usual);
    return status;
}

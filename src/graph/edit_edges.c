/*
 * Edge sets made of edge sets: with a loop for each node (whether it has a loop already or not, as
 * TF-GNN does), turned round, both ways, without some of their edges.
 */
#include <stdlib.h>
#include <string.h>

#include "edit.h"

rgm_status rgm_graph_add_self_loops(rgm_graph **out, const rgm_graph *graph, const char *edge_set)
{
    rgm_status status = RGM_OK;
    const rgmi_items *old, *nodes;
    rgmi_edit edit = {0};
    int64_t set, edge = 0, node = 0;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_edit_loop_set(&set, graph, edge_set, "loops need"));
    old = graph->sets[set].items;
    nodes =
        graph->sets[rgm_schema_index(graph->schema, RGM_NODE_SET, graph->schema->sets[set]->source)]
            .items;
    RGM_GO(rgmi_edit_init(&edit, old->components, old->total + nodes->total, true));
    for (int64_t c = 0; c < old->components; c++) {
        for (int64_t i = 0; i < old->sizes[c]; i++, edge++)
            rgmi_edit_add_edge(&edit, c, edge, rgm_tensor_i64(old->source)[edge],
                               rgm_tensor_i64(old->target)[edge]);
        for (int64_t i = 0; i < nodes->sizes[c]; i++, node++)
            rgmi_edit_add_edge(&edit, c, -1, node, node);
    }
    RGM_GO(rgmi_edit_finish(out, graph, set, &edit));
done:
    rgmi_edit_clear(&edit);
    return status;
}

rgm_status rgm_graph_reverse_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                   const char *name)
{
    rgm_status status = RGM_OK;
    const rgm_set_schema *of;
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    char *usual = NULL;
    int64_t from, to;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_graph_set(&from, graph, RGM_EDGE_SET, edge_set));
    RGM_GO(rgm_strprintf(&usual, "%s_reversed", edge_set));
    if (name == NULL)
        name = usual;
    of = graph->schema->sets[from];
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    RGM_GO(rgmi_edit_add_set(schema, RGM_EDGE_SET, name, of->target, of->source, of));
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    to = rgm_schema_index(schema, RGM_EDGE_SET, name);
    RGM_GO(rgmi_items_create(&made->sets[to].items, graph->components,
                             graph->sets[from].items->sizes, graph->real));
    rgmi_items_set_edges(made->sets[to].items, graph->sets[from].items->target,
                         graph->sets[from].items->source);
    for (int64_t j = 0; j < of->feature_count; j++)
        if (graph->sets[from].columns[j] != NULL)
            made->sets[to].columns[j] = rgmi_column_retain(graph->sets[from].columns[j]);
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_schema_release(schema);
    rgm_free(usual);
    return status;
}

/* ---- both ways ------------------------------------------------------------------------------ */

typedef struct pair {
    int64_t source, target, place;
} pair;

static int by_ends(const void *a, const void *b)
{
    const pair *x = a, *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Which of the written edges are the first of their ends, the others go. */
static rgm_status merge_equal(rgmi_edit *edit)
{
    rgm_status status = RGM_OK;
    bool *again = NULL;
    pair *pairs = NULL;
    int64_t kept = 0, at = 0;

    RGM_GO(RGM_NEW(pairs, edit->count));
    RGM_GO(RGM_NEW(again, edit->count));
    for (int64_t i = 0; i < edit->count; i++)
        pairs[i] = (pair){edit->source[i], edit->target[i], i};
    if (edit->count > 0)
        qsort(pairs, (size_t)edit->count, sizeof *pairs, by_ends);
    for (int64_t i = 1; i < edit->count; i++)
        again[pairs[i].place] =
            pairs[i].source == pairs[i - 1].source && pairs[i].target == pairs[i - 1].target;
    for (int64_t c = 0; c < edit->components; c++) {
        int64_t size = edit->sizes[c];

        edit->sizes[c] = 0;
        for (int64_t i = 0; i < size; i++, at++) {
            if (again[at])
                continue;
            edit->from[kept] = edit->from[at];
            edit->source[kept] = edit->source[at];
            edit->target[kept++] = edit->target[at];
            edit->sizes[c]++;
        }
    }
    edit->count = kept;
done:
    rgm_free(pairs);
    rgm_free(again);
    return status;
}

rgm_status rgm_graph_undirected(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                bool merge)
{
    rgm_status status = RGM_OK;
    rgmi_edit edit = {0};
    const rgmi_items *old;
    const int64_t *source, *target;
    int64_t set, begin = 0;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_edit_loop_set(&set, graph, edge_set, "both ways need"));
    old = graph->sets[set].items;
    source = rgm_tensor_i64(old->source);
    target = rgm_tensor_i64(old->target);
    RGM_GO(rgmi_edit_init(&edit, old->components, 2 * old->total, true));
    for (int64_t c = 0; c < old->components; begin += old->sizes[c++]) {
        for (int64_t e = begin; e < begin + old->sizes[c]; e++)
            rgmi_edit_add_edge(&edit, c, e, source[e], target[e]);
        for (int64_t e = begin; e < begin + old->sizes[c]; e++)
            rgmi_edit_add_edge(&edit, c, e, target[e], source[e]);
    }
    if (merge)
        RGM_GO(merge_equal(&edit));
    RGM_GO(rgmi_edit_finish(out, graph, set, &edit));
done:
    rgmi_edit_clear(&edit);
    return status;
}

/* ---- without some --------------------------------------------------------------------------- */

/* The edges whose mask is `wanted`. */
static rgm_status take_edges(rgmi_edit *edit, const rgmi_items *old, const uint8_t *mask,
                             bool wanted)
{
    int64_t edge = 0;

    RGM_TRY(rgmi_edit_init(edit, old->components, old->total, true));
    for (int64_t c = 0; c < old->components; c++)
        for (int64_t i = 0; i < old->sizes[c]; i++, edge++)
            if ((mask[edge] != 0) == wanted)
                rgmi_edit_add_edge(edit, c, edge, rgm_tensor_i64(old->source)[edge],
                                   rgm_tensor_i64(old->target)[edge]);
    return RGM_OK;
}

static rgm_status check_mask(const rgm_graph *graph, int64_t set, const rgm_tensor *masked)
{
    const int64_t edges = graph->sets[set].items->total;
    char got[96];

    if (masked != NULL && rgm_tensor_dtype(masked) == RGM_BOOL && rgm_tensor_rank(masked) == 1 &&
        rgm_tensor_count(masked) == edges)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG, "edge set '%s': which edges are masked is %s, must be bool[%lld]",
                    graph->schema->sets[set]->name,
                    masked != NULL ? rgm_tensor_describe(masked, got, sizeof got) : "missing",
                    (long long)edges);
}

rgm_status rgm_graph_mask_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                const rgm_tensor *masked, const char *name)
{
    rgm_status status = RGM_OK;
    rgmi_edit kept = {0}, taken = {0};
    const rgm_set_schema *of;
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    char *usual = NULL;
    int64_t set;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_graph_set(&set, graph, RGM_EDGE_SET, edge_set));
    RGM_GO(check_mask(graph, set, masked));
    RGM_GO(rgm_strprintf(&usual, "_masked/%s", edge_set));
    if (name == NULL)
        name = usual;
    of = graph->schema->sets[set];
    RGM_GO(take_edges(&kept, graph->sets[set].items, rgm_tensor_bool(masked), false));
    RGM_GO(take_edges(&taken, graph->sets[set].items, rgm_tensor_bool(masked), true));
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    RGM_GO(rgmi_edit_add_set(schema, RGM_EDGE_SET, name, of->source, of->target, of));
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    RGM_GO(rgmi_edit_put(made, set, &kept, graph, set));
    RGM_GO(rgmi_edit_put(made, rgm_schema_index(schema, RGM_EDGE_SET, name), &taken, graph, set));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_schema_release(schema);
    rgmi_edit_clear(&kept);
    rgmi_edit_clear(&taken);
    rgm_free(usual);
    return status;
}

rgm_status rgm_graph_drop_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                double rate, const rgm_rng *rng)
{
    rgm_status status = RGM_OK;
    rgmi_edit edit = {0};
    uint8_t *dropped = NULL;
    int64_t set;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_edit_check_rate(rate));
    RGM_GO(rgmi_graph_set(&set, graph, RGM_EDGE_SET, edge_set));
    RGM_GO(RGM_NEW(dropped, graph->sets[set].items->total));
    for (int64_t e = 0; e < graph->sets[set].items->total; e++)
        dropped[e] = rgm_rng_f64(rng, (uint64_t)e) < rate;
    RGM_GO(take_edges(&edit, graph->sets[set].items, dropped, false));
    RGM_GO(rgmi_edit_finish(out, graph, set, &edit));
done:
    rgmi_edit_clear(&edit);
    rgm_free(dropped);
    return status;
}

/* ---- the line graph ------------------------------------------------------------------------- */

/* The edges that begin at each node, by node: start [nodes + 1], edge [edges]. */
static rgm_status edges_from(int64_t **start, int64_t **edge, const rgmi_items *edges)
{
    const int64_t *source = rgm_tensor_i64(edges->source);

    RGM_TRY(RGM_NEW(*start, edges->source_total + 2));
    RGM_TRY(RGM_NEW(*edge, edges->total));
    for (int64_t e = 0; e < edges->total; e++)
        (*start)[source[e] + 2]++;
    for (int64_t i = 2; i < edges->source_total + 2; i++)
        (*start)[i] += (*start)[i - 1];
    for (int64_t e = 0; e < edges->total; e++)
        (*edge)[(*start)[source[e] + 1]++] = e;
    return RGM_OK;
}

/* From each edge to those that begin where it ends; NULL: they are counted. */
static int64_t write_next(rgmi_edit *edit, const rgmi_items *edges, const int64_t *start,
                          const int64_t *edge, bool backtrack)
{
    const int64_t *source = rgm_tensor_i64(edges->source), *target = rgm_tensor_i64(edges->target);
    int64_t count = 0, e = 0;

    for (int64_t c = 0; c < edges->components; c++)
        for (int64_t i = 0; i < edges->sizes[c]; i++, e++)
            for (int64_t k = start[target[e]]; k < start[target[e] + 1]; k++) {
                if (!backtrack && target[edge[k]] == source[e])
                    continue;
                count++;
                if (edit != NULL)
                    rgmi_edit_add_edge(edit, c, -1, e, edge[k]);
            }
    return count;
}

static rgm_status next_edges(rgmi_edit *edit, const rgmi_items *edges, bool backtrack)
{
    const int64_t most = INT64_C(1) << 31;
    rgm_status status = RGM_OK;
    int64_t *start = NULL, *edge = NULL, count;

    RGM_GO(edges_from(&start, &edge, edges));
    count = write_next(NULL, edges, start, edge, backtrack);
    if (count > most)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the line graph of %lld edges has %lld, at most %lld are made",
                        (long long)edges->total, (long long)count, (long long)most));
    RGM_GO(rgmi_edit_init(edit, edges->components, count, true));
    write_next(edit, edges, start, edge, backtrack);
done:
    rgm_free(start);
    rgm_free(edge);
    return status;
}

/* One node an edge, with its features: the columns are those of the edges. */
static rgm_status line_nodes(rgm_graph *made, int64_t to, const rgm_graph *graph, int64_t set)
{
    RGM_TRY(rgmi_items_create(&made->sets[to].items, graph->components,
                              graph->sets[set].items->sizes, graph->real));
    for (int64_t j = 0; j < graph->schema->sets[set]->feature_count; j++)
        if (graph->sets[set].columns[j] != NULL)
            made->sets[to].columns[j] = rgmi_column_retain(graph->sets[set].columns[j]);
    return RGM_OK;
}

rgm_status rgm_graph_add_line_graph(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                    const char *name, bool backtrack)
{
    rgm_status status = RGM_OK;
    rgmi_edit edit = {0};
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    char *usual = NULL, *next = NULL;
    int64_t set;

    *out = NULL;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_edit_loop_set(&set, graph, edge_set, "a line graph needs"));
    RGM_GO(rgm_strprintf(&usual, "%s_line", edge_set));
    if (name == NULL)
        name = usual;
    RGM_GO(rgm_strprintf(&next, "%s_next", name));
    RGM_GO(next_edges(&edit, graph->sets[set].items, backtrack));
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    RGM_GO(rgmi_edit_add_set(schema, RGM_NODE_SET, name, NULL, NULL, graph->schema->sets[set]));
    RGM_GO(rgmi_edit_add_set(schema, RGM_EDGE_SET, next, name, name, NULL));
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    RGM_GO(line_nodes(made, rgm_schema_index(schema, RGM_NODE_SET, name), graph, set));
    RGM_GO(rgmi_edit_put(made, rgm_schema_index(schema, RGM_EDGE_SET, next), &edit, graph, set));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_schema_release(schema);
    rgmi_edit_clear(&edit);
    rgm_free(usual);
    rgm_free(next);
    return status;
}

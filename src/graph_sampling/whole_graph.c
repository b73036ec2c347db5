/*
 * Neighbours over all sets, and graphs of chosen nodes: the sampler's assembly with the edges among
 * the nodes in place of those that ops drew.
 */
#include "whole_graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- who is whose neighbour ---- */

/* Every edge both ways, in the rows of a CSR; `row_start` [nodes + 1] has sums already. */
static void fill_rows(int64_t *next, int32_t *column, const rgm_graph *graph, const int64_t *first)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const int64_t *source, *target;
        int64_t from, to, edges;

        if (set->piece != RGM_EDGE_SET)
            continue;
        from = first[rgm_schema_index(schema, RGM_NODE_SET, set->source)];
        to = first[rgm_schema_index(schema, RGM_NODE_SET, set->target)];
        if (from < 0 || to < 0)
            continue;
        source = rgm_tensor_i64(rgm_graph_source(graph, set->name));
        target = rgm_tensor_i64(rgm_graph_target(graph, set->name));
        edges = rgm_graph_total(graph, RGM_EDGE_SET, set->name);
        for (int64_t e = 0; e < edges; e++) {
            int64_t a = from + source[e], b = to + target[e];

            if (a == b)
                continue;
            if (column == NULL) {
                next[a + 1]++;
                next[b + 1]++;
                continue;
            }
            column[next[a]++] = (int32_t)b;
            column[next[b]++] = (int32_t)a;
        }
    }
}

/* Rows in ascending order: the transpose of a symmetric matrix is itself, filled row by row. */
static void sort_rows(int32_t *to, int64_t *next, const int32_t *from, const int64_t *row_start,
                      int64_t nodes)
{
    memcpy(next, row_start, (size_t)nodes * sizeof *next);
    for (int64_t row = 0; row < nodes; row++)
        for (int64_t p = row_start[row]; p < row_start[row + 1]; p++)
            to[next[from[p]]++] = (int32_t)row;
}

/* Each neighbour once. */
static void drop_repeats(rgmi_sampled_neighbours *near)
{
    int64_t kept = 0, begin = 0;

    for (int64_t row = 0; row < near->nodes; row++) {
        int64_t end = near->row_start[row + 1], row_begin = kept;

        for (int64_t p = begin; p < end; p++)
            if (kept == row_begin || near->column[kept - 1] != near->column[p])
                near->column[kept++] = near->column[p];
        near->row_start[row + 1] = kept;
        begin = end;
    }
}

rgm_status rgmi_neighbours_make(rgmi_sampled_neighbours *out, const rgm_graph *graph,
                                const int64_t *first, int64_t nodes)
{
    rgm_status status = RGM_OK;
    int64_t *next = NULL;
    int32_t *unsorted = NULL;

    *out = (rgmi_sampled_neighbours){.nodes = nodes};
    if (nodes >= INT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%lld nodes; 2147483646 are the most",
                        (long long)nodes);
    RGM_TRY(rgm_graph_read_edges(graph));
    RGM_GO(RGM_NEW(out->row_start, nodes + 1));
    RGM_GO(RGM_NEW(next, nodes + 1));
    fill_rows(out->row_start, NULL, graph, first);
    for (int64_t i = 0; i < nodes; i++)
        out->row_start[i + 1] += out->row_start[i];
    RGM_GO(RGM_NEW(unsorted, out->row_start[nodes]));
    RGM_GO(RGM_NEW(out->column, out->row_start[nodes]));
    memcpy(next, out->row_start, (size_t)nodes * sizeof *next);
    fill_rows(next, unsorted, graph, first);
    sort_rows(out->column, next, unsorted, out->row_start, nodes);
    drop_repeats(out);
done:
    rgm_free(next);
    rgm_free(unsorted);
    if (status != RGM_OK)
        rgmi_neighbours_clear(out);
    return status;
}

void rgmi_neighbours_clear(rgmi_sampled_neighbours *neighbours)
{
    rgm_free(neighbours->row_start);
    rgm_free(neighbours->column);
    *neighbours = (rgmi_sampled_neighbours){0};
}

/* ---- the whole ---- */

/* Where each set's numbers begin, for the sampler and by the schema's order. */
static rgm_status number_sets(rgmi_whole_graph *whole, int64_t *by_schema)
{
    const rgm_sampler *sampler = whole->sampler;
    const rgm_schema *schema = rgm_graph_schema(sampler->graph);

    RGM_TRY(RGM_NEW(whole->first, sampler->node_set_count + 1));
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++)
        by_schema[i] = -1;
    for (int64_t i = 0; i < sampler->node_set_count; i++) {
        const char *name = rgm_schema_set(sampler->schema, sampler->node_sets[i].set)->name;

        by_schema[rgm_schema_index(schema, RGM_NODE_SET, name)] = whole->first[i];
        whole->first[i + 1] = whole->first[i] + sampler->node_sets[i].total;
    }
    return RGM_OK;
}

rgm_status rgmi_whole_graph_open(rgmi_whole_graph *whole, const rgm_subgraph_source *from)
{
    rgm_status status = RGM_OK;
    int64_t *by_schema = NULL;

    *whole = (rgmi_whole_graph){.seed = from->seed};
    RGM_GO(rgm_strdup(&whole->node_set, from->node_set));
    if (from->label != NULL)
        RGM_GO(rgm_strdup(&whole->label, from->label));
    RGM_GO(rgmi_sampler_of_all(&whole->sampler, from->graph, from->node_set, from->seed));
    whole->seeds = rgm_tensor_retain(from->seeds);
    RGM_GO(RGM_NEW(whole->is_seed, whole->sampler->node_sets[0].total));
    for (int64_t i = 0; i < rgm_tensor_count(from->seeds); i++)
        whole->is_seed[rgm_tensor_i64(from->seeds)[i]] = true;
    RGM_GO(RGM_NEW(by_schema, rgm_schema_set_count(rgm_graph_schema(from->graph))));
    RGM_GO(number_sets(whole, by_schema));
    RGM_GO(rgmi_neighbours_make(&whole->neighbours, from->graph, by_schema,
                                whole->first[whole->sampler->node_set_count]));
done:
    rgm_free(by_schema);
    return status;
}

void rgmi_whole_graph_close(rgmi_whole_graph *whole)
{
    rgm_sampler_release(whole->sampler);
    rgmi_neighbours_clear(&whole->neighbours);
    rgm_tensor_release(whole->seeds);
    rgm_free(whole->first);
    rgm_free(whole->is_seed);
    rgm_free(whole->node_set);
    rgm_free(whole->label);
    *whole = (rgmi_whole_graph){0};
}

rgm_rng rgmi_whole_graph_rng(const rgmi_whole_graph *whole, const char *name, uint64_t epoch,
                             int64_t unit)
{
    const uint64_t mix[3] = {whole->seed, epoch, (uint64_t)unit};

    return rgm_rng_stream(rgm_hash64(mix, sizeof mix), name, 0);
}

/* ---- graphs of chosen nodes ---- */

static rgm_status place_nodes(rgmi_workspace *work, const rgmi_whole_graph *whole,
                              const int32_t *nodes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t set = 0, node;
        rgmi_local_nodes *known;

        while (nodes[i] >= whole->first[set + 1])
            set++;
        known = &work->known[set];
        node = nodes[i] - whole->first[set];
        RGM_TRY(RGM_RESERVE(known->nodes, known->node_room, known->count + 1));
        known->state[node] = 1; /* known, as expand marks it */
        known->local[node] = (int32_t)known->count;
        known->nodes[known->count++] = (int32_t)node;
    }
    return RGM_OK;
}

/* Edges of one set whose ends are both there, by the end that the op stands on. */
static rgm_status take_edges(rgmi_hop *hop, const rgmi_sampled_op *op, const rgmi_workspace *work)
{
    const rgmi_local_nodes *near = &work->known[op->start], *far = &work->known[op->end];
    const rgm_csr *csr = op->draw.csr;
    int64_t taken = 0;

    hop->count = near->count;
    RGM_TRY(RGM_RESERVE(hop->frontier, hop->frontier_room, near->count + 1));
    RGM_TRY(RGM_RESERVE(hop->offset, hop->offset_room, near->count + 1));
    RGM_TRY(RGM_RESERVE(hop->taken, hop->taken_room, near->count + 1));
    hop->offset[0] = 0;
    for (int64_t i = 0; i < near->count; i++) {
        int64_t node = near->nodes[i], begin = csr->row_start[node];
        int64_t end = csr->row_start[node + 1];

        RGM_TRY(RGM_RESERVE(hop->edge, hop->edge_room, taken + end - begin + 1));
        RGM_TRY(RGM_RESERVE(hop->other, hop->other_room, taken + end - begin + 1));
        for (int64_t p = begin; p < end; p++) {
            if (!far->state[csr->column[p]])
                continue;
            hop->edge[taken] = (int32_t)p;
            hop->other[taken++] = csr->column[p];
        }
        hop->frontier[i] = (int32_t)node;
        hop->taken[i] = (int32_t)(taken - hop->offset[i]);
        hop->offset[i + 1] = taken;
    }
    return RGM_OK;
}

rgm_status rgmi_whole_graph_cut(rgm_graph **out, const rgmi_whole_graph *whole,
                                const int32_t *nodes, int64_t count, const int64_t *asked,
                                int64_t asked_count)
{
    rgm_status status = RGM_OK;
    const rgm_sampler *sampler = whole->sampler;
    rgmi_workspace *work = NULL;
    rgm_graph *bare = NULL;
    rgm_tensor *readout = NULL;

    *out = NULL;
    RGM_GO(rgm_tensor_create(&readout, RGM_I64, 1, &asked_count));
    RGM_GO(rgmi_sampler_borrow(&work, sampler));
    RGM_GO(place_nodes(work, whole, nodes, count));
    for (int64_t i = 0; i < sampler->op_count; i++)
        RGM_GO(take_edges(&work->hops[i], &sampler->ops[i], work));
    RGM_GO(rgmi_sampler_graph(&bare, work, sampler, 1));
    for (int64_t i = 0; i < asked_count; i++)
        rgm_tensor_i64(readout)[i] = work->known[0].local[asked[i]];
    RGM_GO(rgmi_sampler_readout(out, sampler, bare, readout, whole->label));
done:
    if (work)
        rgmi_sampler_give_back(sampler, work, true);
    rgm_tensor_release(readout);
    rgm_graph_release(bare);
    return status;
}

/* ---- lists of nodes ---- */

static rgm_status make_room(rgmi_node_list *list)
{
    int64_t size = list->size > 0 ? 2 * list->size : 64;
    int32_t *table;

    RGM_TRY(RGM_NEW(table, size));
    for (int64_t i = 0; i < list->count; i++) {
        uint64_t at = rgm_hash64(&list->nodes[i], sizeof list->nodes[i]);

        while (table[at & (uint64_t)(size - 1)] != 0)
            at++;
        table[at & (uint64_t)(size - 1)] = (int32_t)(i + 1);
    }
    rgm_free(list->table);
    list->table = table;
    list->size = size;
    return RGM_OK;
}

rgm_status rgmi_node_list_add(rgmi_node_list *list, int64_t *place, int32_t node)
{
    uint64_t at = rgm_hash64(&node, sizeof node), mask;

    if (2 * (list->count + 1) > list->size)
        RGM_TRY(make_room(list));
    RGM_TRY(RGM_RESERVE(list->nodes, list->room, list->count + 1));
    mask = (uint64_t)(list->size - 1);
    for (; list->table[at & mask] != 0; at++)
        if (list->nodes[list->table[at & mask] - 1] == node) {
            *place = list->table[at & mask] - 1;
            return RGM_OK;
        }
    *place = list->count;
    list->nodes[list->count++] = node;
    list->table[at & mask] = (int32_t)list->count;
    return RGM_OK;
}

void rgmi_node_list_clear(rgmi_node_list *list)
{
    rgm_free(list->nodes);
    rgm_free(list->table);
    *list = (rgmi_node_list){0};
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

void rgmi_sort_nodes(int32_t *nodes, int64_t count)
{
    qsort(nodes, (size_t)count, sizeof *nodes, by_number);
}

/*
 * The rows of a part as the whole graph has them. A part numbers its edges anew, but what a draw
 * takes of a row depends on the order in there: own nodes' rows are put into that of the edges'
 * numbers in the whole graph.
 */
#include "sampler_internal.h"

#include <stdlib.h>

/** An edge of a row. */
typedef struct row_edge {
    int64_t number; /* in the whole graph */
    int32_t column, entry;
} row_edge;

static int by_number(const void *a, const void *b)
{
    const row_edge *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Row `row` of the part, in order. */
static void read_row(row_edge *edges, const rgm_csr *rows, const int64_t *numbers, int64_t row)
{
    int64_t first = rows->row_start[row], degree = rows->row_start[row + 1] - first;
    bool sorted = true;

    for (int64_t k = 0; k < degree; k++) {
        int64_t entry = rows->entry != NULL ? rows->entry[first + k] : first + k;

        edges[k] = (row_edge){numbers[entry], rows->column[first + k], (int32_t)entry};
        sorted = sorted && (k == 0 || edges[k - 1].number < edges[k].number);
    }
    if (!sorted)
        qsort(edges, (size_t)degree, sizeof *edges, by_number);
}

static rgm_status copy_rows(rgmi_sampled_op *op, const rgm_csr *rows, const int64_t *numbers,
                            int64_t own)
{
    rgm_status status = RGM_OK;
    row_edge *edges = NULL;
    int64_t count = rows->row_start[own], longest = 0;

    for (int64_t row = 0; row < own; row++) {
        int64_t degree = rows->row_start[row + 1] - rows->row_start[row];

        longest = degree > longest ? degree : longest;
    }
    RGM_GO(RGM_NEW(edges, longest));
    RGM_GO(RGM_NEW(op->start_memory, own + 1));
    RGM_GO(RGM_NEW(op->column_memory, count));
    RGM_GO(RGM_NEW(op->entry_memory, count));
    for (int64_t row = 0; row < own; row++) {
        int64_t first = rows->row_start[row], end = rows->row_start[row + 1];

        read_row(edges, rows, numbers, row);
        op->start_memory[row + 1] = end;
        for (int64_t k = first; k < end; k++) {
            op->column_memory[k] = edges[k - first].column;
            op->entry_memory[k] = edges[k - first].entry;
        }
    }
    op->ordered = (rgm_csr){.rows = own,
                            .columns = rows->columns,
                            .count = count,
                            .row_start = op->start_memory,
                            .column = op->column_memory,
                            .entry = op->entry_memory,
                            .longest = longest};
done:
    rgm_free(edges);
    return status;
}

rgm_status rgmi_sampler_order_rows(rgmi_sampled_op *op, const rgm_sampler *sampler,
                                   const rgm_sample_op *spec)
{
    const rgm_parted_graph *part = sampler->part;
    const rgm_schema *schema = rgm_graph_schema(sampler->graph);
    const char *start = rgmi_sample_op_start(spec, schema);
    const rgm_parted_set *set = &part->sets[rgm_schema_index(schema, RGM_NODE_SET, start)];
    rgm_edge_rows rows;

    RGM_TRY(rgm_graph_check_edge_rows(sampler->graph, spec->edge_set, spec->from));
    RGM_TRY(rgm_graph_edge_rows(&rows, sampler->graph, spec->edge_set, spec->from));
    RGM_TRY(copy_rows(op, rows.csr,
                      part->numbers[rgm_schema_index(schema, RGM_EDGE_SET, spec->edge_set)],
                      set->own));
    op->draw.csr = &op->ordered;
    op->draw.max_degree = op->ordered.longest;
    op->draw.doubted = false;
    return RGM_OK;
}

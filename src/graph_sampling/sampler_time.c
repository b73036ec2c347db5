/*
 * When edges were: the times of an op's edge set in the order of its rows, and the order of each
 * row by time. The past of a node at some moment is then the first so many of its row in that
 * order, found by a binary search, and its latest edges are the last of those.
 */
#include "sampler_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers that compare as times do ---- */

/* Integers as they are: nanoseconds of today have no double of their own. Other numbers by their
 * bits, turned so that they ascend. */
static int64_t time_key(const rgm_tensor *times, int64_t item, bool real)
{
    double number;
    int64_t bits;

    if (!real)
        return rgm_tensor_at_int(times, item);
    number = rgm_tensor_at(times, item) + 0.0; /* -0 is 0 */
    memcpy(&bits, &number, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static bool is_real(const rgm_tensor *times)
{
    rgm_dtype dtype = rgm_tensor_dtype(times);

    return dtype != RGM_I64 && dtype != RGM_I32 && dtype != RGM_BOOL;
}

/* A number for each of `total` items, none of them missing. `who`: the set. */
static rgm_status check_times(const rgm_feature *feature, const char *name, const char *who,
                              int64_t total)
{
    char text[64];

    if (feature == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "sampling by time: %s has no feature '%s'", who, name);
    if (rgm_tensor_dtype(feature->values) == RGM_STRING ||
        rgm_tensor_count(feature->values) != total)
        return RGM_FAIL(RGM_ERR_DTYPE,
                        "sampling by time: feature '%s' of %s is %s; a time is one number", name,
                        who, rgm_tensor_describe(feature->values, text, sizeof text));
    for (int64_t i = 0; i < total; i++)
        if (rgm_tensor_is_missing(feature->values, i))
            return RGM_FAIL(RGM_ERR_DATA, "sampling by time: feature '%s' of %s is %s in row %lld",
                            name, who, is_real(feature->values) ? "NaN" : "missing", (long long)i);
    return RGM_OK;
}

/* ---- of seeds ---- */

rgm_status rgmi_sampler_seed_times(rgm_sampler *sampler, const rgm_sampling_spec *spec)
{
    char who[RGM_SET_TITLE];
    const rgm_feature *feature;

    if (spec->seed_time == NULL)
        return RGM_OK;
    feature = rgm_graph_feature(sampler->graph, RGM_NODE_SET, spec->seed_node_set, spec->seed_time);
    rgm_set_title(
        rgm_schema_find(rgm_graph_schema(sampler->graph), RGM_NODE_SET, spec->seed_node_set), who,
        sizeof who);
    RGM_TRY(check_times(feature, spec->seed_time, who, sampler->node_sets[0].total));
    sampler->seed_times = feature->values;
    sampler->up_to_seed = spec->up_to_seed;
    return RGM_OK;
}

rgmi_moment rgmi_seed_moment(const rgm_sampler *sampler, int64_t node)
{
    rgmi_moment moment = {.before = {INT64_MAX, INT64_MAX}};

    if (sampler->seed_times == NULL)
        return moment;
    for (int real = is_real(sampler->seed_times); real < 2; real++) {
        int64_t key = time_key(sampler->seed_times, node, real);
        moment.before[real] = key + (sampler->up_to_seed && key < INT64_MAX);
    }
    return moment;
}

/* ---- of edges ---- */

typedef struct timed {
    int64_t when;
    int32_t position;
} timed;

static int by_time(const void *a, const void *b)
{
    const timed *x = a, *y = b;

    if (x->when != y->when)
        return x->when < y->when ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static bool ascends(const rgm_csr *csr, const int64_t *when)
{
    for (int64_t row = 0; row < csr->rows; row++)
        for (int64_t p = csr->row_start[row] + 1; p < csr->row_start[row + 1]; p++)
            if (when[p] < when[p - 1])
                return false;
    return true;
}

/* Each row's positions, the earliest first. */
static rgm_status order_rows(rgmi_sampled_op *op)
{
    const rgm_csr *csr = op->draw.csr;
    timed *row_order = NULL;

    RGM_TRY(RGM_NEW(op->order_memory, csr->count));
    RGM_TRY(RGM_NEW(row_order, op->draw.max_degree));
    for (int64_t row = 0; row < csr->rows; row++) {
        int64_t begin = csr->row_start[row], degree = csr->row_start[row + 1] - begin;
        for (int64_t k = 0; k < degree; k++)
            row_order[k] = (timed){op->draw.when[begin + k], (int32_t)k};
        qsort(row_order, (size_t)degree, sizeof *row_order, by_time);
        for (int64_t k = 0; k < degree; k++)
            op->order_memory[begin + k] = row_order[k].position;
    }
    rgm_free(row_order);
    op->draw.order = op->order_memory;
    return RGM_OK;
}

rgm_status rgmi_sampler_edge_times(rgmi_sampled_op *op, const rgm_sampler *sampler,
                                   const rgm_sample_op *spec)
{
    const rgm_csr *csr = op->draw.csr;
    const char *name = spec->time != NULL ? spec->time : "time";
    const rgm_graph *graph = sampler->graph;
    const rgm_feature *feature = rgm_graph_feature(graph, RGM_EDGE_SET, spec->edge_set, name);
    char who[RGM_SET_TITLE];

    rgm_set_title(rgm_schema_find(rgm_graph_schema(graph), RGM_EDGE_SET, spec->edge_set), who,
                  sizeof who);
    RGM_TRY(check_times(feature, name, who, rgm_graph_total(graph, RGM_EDGE_SET, spec->edge_set)));
    op->draw.real =
        is_real(feature->values) || (sampler->seed_times != NULL && is_real(sampler->seed_times));
    op->draw.limited = sampler->seed_times != NULL;
    RGM_TRY(RGM_NEW(op->when_memory, csr->count));
    for (int64_t p = 0; p < csr->count; p++)
        op->when_memory[p] =
            time_key(feature->values, csr->entry ? csr->entry[p] : p, op->draw.real);
    op->draw.when = op->when_memory;
    return ascends(csr, op->when_memory) ? RGM_OK : order_rows(op);
}

int64_t rgmi_past(const rgmi_draw *draw, const rgmi_moment *moment, int64_t begin, int64_t degree)
{
    int64_t low = 0, high = degree, before = moment->before[draw->real];

    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (draw->when[begin + (draw->order ? draw->order[begin + middle] : middle)] < before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Parts of the edges of one graph: each part is the whole graph, whose labels are there for the
 * part's edges alone. Messages run along all edges, and no label is in the model's sight. An edge,
 * its reverse and its doubles are in one part.
 */
#include "learning.h"

/* What is split: an edge set with its label. */
typedef struct edges {
    const rgm_graph *graph;
    const rgm_set_schema *set;
    const char *label;
    const rgm_feature *values;
    int64_t count, width;
    uint8_t *part; /* [count] rgm_mode, or NONE */
} edges;
enum { NONE = 3 };

static const rgm_set_schema *only_set(const rgm_schema *schema)
{
    const rgm_set_schema *only = NULL;
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++)
        if (rgm_schema_set(schema, i)->piece == RGM_EDGE_SET) {
            only = rgm_schema_set(schema, i);
            count++;
        }
    return count == 1 ? only : NULL;
}

static rgm_status find(edges *e, const rgm_graph_data *data, const rgm_task_part *task)
{
    const rgm_graph_task_type *type = (const rgm_graph_task_type *)task->type;
    const char *name = type->edge_set != NULL ? type->edge_set(task->options) : NULL;
    rgm_dtype dtype;

    if (type->edge_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.edge_split: %s is not about edges",
                        type->section.name);
    if (data->graph_count != 1 || rgm_graph_components(data->graphs[0]) != 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.edge_split is of the edges of one graph, but there are %lld; the "
                        "split of graphs says what is trained on",
                        (long long)data->graph_count);
    e->graph = data->graphs[0];
    e->set =
        name != NULL ? rgm_schema_find(data->schema, RGM_EDGE_SET, name) : only_set(data->schema);
    if (e->set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.edge_set: %s%s",
                        name != NULL ? "there is no edge set " : "name one: there are several",
                        name != NULL ? name : "");
    if (rgm_graph_source(e->graph, e->set->name) == NULL) /* of a file, which is looked at now */
        return rgm_error_prefix(RGM_ERR_DATA, "edge set '%s'", e->set->name);
    e->label = type->label(task->options);
    e->values = rgm_graph_feature(e->graph, RGM_EDGE_SET, e->set->name, e->label);
    if (e->values == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.label: edge set '%s' has no feature '%s'",
                        e->set->name, e->label);
    dtype = rgm_tensor_dtype(e->values->values);
    e->count = rgm_graph_total(e->graph, RGM_EDGE_SET, e->set->name);
    if (e->values->row_lengths[1] != NULL ||
        (dtype != RGM_F32 && dtype != RGM_F64 && dtype != RGM_I32 && dtype != RGM_I64))
        return RGM_FAIL(RGM_ERR_CONFIG, "task.label: feature '%s' of edge set '%s' is no number",
                        e->label, e->set->name);
    e->width = e->count > 0 ? rgm_tensor_count(e->values->values) / e->count : 1;
    return RGM_OK;
}

/* ---- which part ------------------------------------------------------------------------------ */

static rgm_status by_feature(edges *e, const char *name)
{
    const rgm_feature *f = rgm_graph_feature(e->graph, RGM_EDGE_SET, e->set->name, name);

    if (f == NULL || rgm_tensor_count(f->values) != e->count ||
        (rgm_tensor_dtype(f->values) != RGM_I64 && rgm_tensor_dtype(f->values) != RGM_I32))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.edge_split.feature: edge set '%s' has no feature '%s' of one integer "
                        "an edge: 0 train, 1 valid, 2 test",
                        e->set->name, name);
    for (int64_t i = 0; i < e->count; i++) {
        int64_t part = rgm_tensor_at_int(f->values, i);

        e->part[i] = (uint8_t)(part >= 0 && part < NONE ? part : NONE);
    }
    return RGM_OK;
}

/* Drawn for each pair of nodes, in a set between the same nodes whichever way round. */
static void by_shares(edges *e, const rgmi_edge_split *split)
{
    const rgm_tensor *source = rgm_graph_source(e->graph, e->set->name);
    const rgm_tensor *target = rgm_graph_target(e->graph, e->set->name);
    bool turns = strcmp(e->set->source, e->set->target) == 0;
    uint64_t nodes = (uint64_t)rgm_graph_total(e->graph, RGM_NODE_SET, e->set->target);
    rgm_rng rng = rgm_rng_stream((uint64_t)split->seed, "edge_split", 0);

    for (int64_t i = 0; i < e->count; i++) {
        int64_t a = rgm_tensor_at_int(source, i), b = rgm_tensor_at_int(target, i);
        uint64_t least = (uint64_t)(turns && b < a ? b : a),
                 most = (uint64_t)(turns && b < a ? a : b);
        double drawn = rgm_rng_f64(&rng, least * nodes + most);

        e->part[i] = drawn < split->test                  ? RGM_TEST
                     : drawn < split->test + split->valid ? RGM_VALID
                                                          : RGM_TRAIN;
    }
}

/* ---- the parts ------------------------------------------------------------------------------- */

/* The labels of a part, others missing. */
static rgm_status part_labels(rgm_tensor **out, const edges *e, rgm_mode part)
{
    const rgm_tensor *from = e->values->values;
    rgm_dtype dtype = rgm_tensor_dtype(from);

    RGM_TRY(rgm_tensor_copy(out, from));
    for (int64_t i = 0; i < e->count * e->width; i++)
        if (e->part[i / e->width] != part)
            rgm_dtype_put((char *)rgm_tensor_data(*out) + (size_t)i * rgm_dtype_size(dtype), dtype,
                          rgm_dtype_missing(dtype));
    return RGM_OK;
}

static rgm_status part_provider(rgm_provider **out, const edges *e, rgm_mode part)
{
    rgm_status status = RGM_OK;
    rgm_feature labels = {0};
    rgm_graph *graph = NULL;

    RGM_GO(part_labels(&labels.values, e, part));
    RGM_GO(rgm_graph_with_feature(&graph, e->graph, RGM_EDGE_SET, e->set->name, e->label, &labels));
    *out = rgm_graphs_provider(&graph, 1, false);
    if (*out == NULL)
        status = RGM_ERR_NOMEM;
done:
    rgm_feature_clear(&labels);
    rgm_graph_release(graph);
    return status;
}

rgm_status rgmi_edge_providers(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgmi_edge_split *split = &((const rgmi_data_options *)setup->data)->edge_split;
    rgm_status status = RGM_OK;
    edges e = {.part = NULL};

    RGM_TRY(find(&e, &in->data, &setup->parts[0]));
    RGM_GO(RGM_NEW(e.part, e.count));
    if (split->feature != NULL)
        RGM_GO(by_feature(&e, split->feature));
    else
        by_shares(&e, split);
    in->edge_set = e.set->name;
    for (int64_t i = 0; i < e.count; i++)
        if (e.part[i] != NONE)
            in->edges[e.part[i]]++;
    if (in->edges[RGM_TRAIN] == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "data.edge_split: no edge of '%s' is in the training part",
                        e.set->name));
    for (int part = RGM_TRAIN; part <= RGM_TEST; part++)
        if (in->edges[part] > 0)
            RGM_GO(part_provider(&in->providers[part], &e, (rgm_mode)part));
    in->edge_parts = e.part;
    in->edge_count = e.count;
    e.part = NULL;
done:
    rgm_free(e.part);
    return status;
}

/* ---- behind the processors ------------------------------------------------------------------- */

/* Each edge's part and 1 in the place of its label: an edge that a processor makes of none is in no
 * part. */
static rgm_status marked_graph(rgm_graph **out, const edges *e, const uint8_t *parts)
{
    rgm_dtype dtype = rgm_tensor_dtype(e->values->values);
    rgm_feature marks = {0};
    rgm_status status;

    RGM_TRY(rgm_tensor_copy(&marks.values, e->values->values));
    for (int64_t i = 0; i < e->count * e->width; i++)
        rgm_dtype_put((char *)rgm_tensor_data(marks.values) + (size_t)i * rgm_dtype_size(dtype),
                      dtype, parts[i / e->width] + 1);
    status = rgm_graph_with_feature(out, e->graph, RGM_EDGE_SET, e->set->name, e->label, &marks);
    rgm_feature_clear(&marks);
    return status;
}

static rgm_status read_marks(rgmi_graph_inputs *in, const rgm_graph *graph, const edges *e)
{
    const rgm_feature *marks = rgm_graph_feature(graph, RGM_EDGE_SET, e->set->name, e->label);
    int64_t count = rgm_graph_total(graph, RGM_EDGE_SET, e->set->name);
    uint8_t *parts;

    if (marks == NULL) /* the task says what it misses */
        return RGM_OK;
    RGM_TRY(RGM_NEW(parts, count));
    memset(in->edges, 0, sizeof in->edges);
    for (int64_t i = 0; i < count; i++) {
        double mark = rgm_tensor_at(marks->values, i * e->width);

        parts[i] = (uint8_t)(mark > 0 ? mark - 1 : NONE);
        if (parts[i] != NONE)
            in->edges[parts[i]]++;
    }
    rgm_free(in->edge_parts);
    in->edge_parts = parts;
    in->edge_count = count;
    return RGM_OK;
}

rgm_status rgmi_edge_parts_process(rgmi_graph_inputs *in, const rgm_task_part *task,
                                   const rgm_graph_processor *processors, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_graph *marked = NULL, *processed = NULL;
    edges e = {.part = NULL};

    if (in->edge_parts == NULL || count == 0)
        return RGM_OK;
    RGM_GO(find(&e, &in->data, task));
    RGM_GO(marked_graph(&marked, &e, in->edge_parts));
    RGM_GO(rgm_graph_process(&processed, marked, processors, count, NULL));
    RGM_GO(read_marks(in, processed, &e));
done:
    rgm_graph_release(marked);
    rgm_graph_release(processed);
    return status;
}

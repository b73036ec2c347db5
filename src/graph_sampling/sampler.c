/*
 * The sampler: what a spec needs of a graph, prepared once (adjacency from the frontier's end,
 * weights and rankings in its order, offsets of ragged features), and the workspaces that calls
 * borrow. All but the list of idle workspaces is read-only after creation.
 */
#include "sampler_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

static rgm_status bad_weight(const rgm_sample_op *op, const char *weight, int64_t edge,
                             double value, const char *why)
{
    return RGM_FAIL(RGM_ERR_DATA,
                    "sampling op '%s': edge set '%s': feature '%s': row %lld is %g; %s", op->name,
                    op->edge_set, weight, (long long)edge, value, why);
}

static rgm_status find_weights(const rgm_tensor **out, const char **name, const rgm_graph *graph,
                               const rgm_sample_op *op)
{
    const rgm_feature *feature;
    char text[64];

    *name = op->weight ? op->weight : "weight";
    feature = rgm_graph_feature(graph, RGM_EDGE_SET, op->edge_set, *name);
    if (feature == NULL && op->weight == NULL) /* TF-GNN's own name */
        feature = rgm_graph_feature(graph, RGM_EDGE_SET, op->edge_set, "#weight");
    if (feature == NULL)
        return RGM_FAIL(
            RGM_ERR_NOT_FOUND,
            "sampling op '%s': edge set '%s' has no feature '%s' to weigh edges by; give "
            "weight_feature_name, or draw uniformly",
            op->name, op->edge_set, *name);
    *out = feature->values;
    if (rgm_tensor_dtype(*out) == RGM_STRING ||
        rgm_tensor_count(*out) != rgm_graph_total(graph, RGM_EDGE_SET, op->edge_set))
        return RGM_FAIL(RGM_ERR_DTYPE,
                        "sampling op '%s': feature '%s' of edge set '%s' is %s; a weight is one "
                        "number for each edge",
                        op->name, *name, op->edge_set,
                        rgm_tensor_describe(*out, text, sizeof text));
    return RGM_OK;
}

/* Weights in the order of the rows, the largest of a row being 1. */
static rgm_status make_weights(rgmi_sampled_op *op, const rgm_graph *graph,
                               const rgm_sample_op *spec)
{
    const rgm_csr *csr = op->draw.csr;
    const rgm_tensor *weights;
    const char *name;

    RGM_TRY(find_weights(&weights, &name, graph, spec));
    RGM_TRY(RGM_NEW(op->weight_memory, csr->count));
    for (int64_t row = 0; row < csr->rows; row++) {
        double largest = 0;
        for (int64_t p = csr->row_start[row]; p < csr->row_start[row + 1]; p++) {
            int64_t edge = csr->entry ? csr->entry[p] : p;
            double value = rgm_tensor_at(weights, edge);
            if (!(value >= 0 && value <= 1e300))
                return bad_weight(spec, name, edge, value,
                                  "RANDOM_WEIGHTED needs finite numbers that are not negative");
            largest = value > largest ? value : largest;
        }
        for (int64_t p = csr->row_start[row]; p < csr->row_start[row + 1] && largest > 0; p++)
            op->weight_memory[p] =
                (float)(rgm_tensor_at(weights, csr->entry ? csr->entry[p] : p) / largest);
    }
    op->draw.weight = op->weight_memory;
    return RGM_OK;
}

typedef struct ranked {
    double weight;
    int32_t position;
} ranked;

static int by_weight(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

/* Each row's positions, the largest weight first. */
static rgm_status make_ranks(rgmi_sampled_op *op, const rgm_graph *graph, const rgm_sample_op *spec)
{
    rgm_status status = RGM_OK;
    const rgm_csr *csr = op->draw.csr;
    const rgm_tensor *weights;
    const char *name;
    ranked *row_order = NULL;

    RGM_GO(find_weights(&weights, &name, graph, spec));
    RGM_GO(RGM_NEW(op->rank_memory, csr->count));
    RGM_GO(RGM_NEW(row_order, op->draw.max_degree));
    for (int64_t row = 0; row < csr->rows; row++) {
        int64_t begin = csr->row_start[row], degree = csr->row_start[row + 1] - begin;
        for (int64_t k = 0; k < degree; k++) {
            int64_t edge = csr->entry ? csr->entry[begin + k] : begin + k;
            row_order[k] = (ranked){rgm_tensor_at(weights, edge), (int32_t)k};
            if (rgm_tensor_is_missing(weights, edge))
                RGM_GO(bad_weight(spec, name, edge, row_order[k].weight, "TOP_K cannot rank it"));
        }
        qsort(row_order, (size_t)degree, sizeof *row_order, by_weight);
        for (int64_t k = 0; k < degree; k++)
            op->rank_memory[begin + k] = row_order[k].position;
    }
    op->draw.rank = op->rank_memory;
done:
    rgm_free(row_order);
    return status;
}

/* ---- the sampled schema ---- */

/* Copies of the features that the graph has. */
static rgm_status copy_features(rgm_schema *to, rgm_piece piece, const char *name,
                                const rgm_graph *graph)
{
    const rgm_set_schema *from = rgm_schema_find(rgm_graph_schema(graph), piece, name);
    int64_t set = rgm_schema_index(to, piece, name);

    for (int64_t i = 0; i < from->feature_count; i++)
        if (strcmp(from->features[i].name, "#id") != 0 &&
            rgm_graph_has_feature(graph, piece, name, from->features[i].name))
            RGM_TRY(
                rgm_schema_add_feature_copy(to, set, from->features[i].name, &from->features[i]));
    return RGM_OK;
}

static bool reaches(const rgm_sampling_spec *spec, const rgm_schema *schema, const char *node_set)
{
    if (strcmp(spec->seed_node_set, node_set) == 0)
        return true;
    for (int64_t i = 0; i < spec->op_count; i++)
        if (strcmp(rgmi_sample_op_end(&spec->ops[i], schema), node_set) == 0 ||
            strcmp(rgmi_sample_op_start(&spec->ops[i], schema), node_set) == 0)
            return true;
    return false;
}

static bool follows(const rgm_sampling_spec *spec, const char *edge_set)
{
    for (int64_t i = 0; i < spec->op_count; i++)
        if (strcmp(spec->ops[i].edge_set, edge_set) == 0)
            return true;
    return false;
}

/* Nodes of a set in the whole graph. */
static int64_t whole_total(const rgm_sampler *sampler, const rgm_set_schema *set)
{
    return sampler->part != NULL ? set->cardinality
                                 : rgm_graph_total(sampler->graph, set->piece, set->name);
}

static rgm_status make_schema(rgm_sampler *sampler, const rgm_sampling_spec *spec)
{
    const rgm_schema *from = rgm_graph_schema(sampler->graph);
    rgm_schema *to;

    RGM_TRY(rgm_schema_create(&sampler->schema));
    to = sampler->schema;
    RGM_TRY(copy_features(to, RGM_CONTEXT_PIECE, NULL, sampler->graph));
    for (int64_t i = 0; i < rgm_schema_set_count(from); i++) {
        const rgm_set_schema *set = rgm_schema_set(from, i);
        if (set->piece == RGM_NODE_SET && reaches(spec, from, set->name)) {
            RGM_TRY(rgm_schema_add_node_set(to, set->name));
            RGM_TRY(copy_features(to, set->piece, set->name, sampler->graph));
            RGM_TRY(rgm_schema_add_feature(to, set->piece, set->name, "#id", RGM_I64, 0, NULL));
            RGM_TRY(rgm_schema_set_metadata(to, set->piece, set->name, NULL,
                                            whole_total(sampler, set))); /* "#id" is below */
            sampler->node_set_count++;
        }
    }
    for (int64_t i = 0; i < rgm_schema_set_count(from); i++) {
        const rgm_set_schema *set = rgm_schema_set(from, i);
        if (set->piece == RGM_EDGE_SET && follows(spec, set->name)) {
            RGM_TRY(rgm_schema_add_edge_set(to, set->name, set->source, set->target));
            if (rgm_set_has_extra(set, "directed", "true"))
                RGM_TRY(rgm_schema_add_extra(to, set->piece, set->name, "directed", "true"));
            RGM_TRY(copy_features(to, set->piece, set->name, sampler->graph));
            sampler->edge_set_count++;
        }
    }
    return RGM_OK;
}

/* ---- the sampled sets ---- */

/* Readers of the features of a set of the sampled schema; "#id" is made, not read. */
static rgm_status make_readers(rgm_feature_reader ***out, int64_t *count,
                               const rgm_sampler *sampler, int64_t set_index)
{
    const rgm_set_schema *set = rgm_schema_set(sampler->schema, set_index);

    RGM_TRY(RGM_NEW(*out, set->feature_count));
    *count = set->feature_count;
    for (int64_t i = 0; i < set->feature_count; i++)
        if (strcmp(set->features[i].name, "#id") != 0)
            RGM_TRY(rgm_feature_reader_create(&(*out)[i], sampler->graph, set->piece, set->name,
                                              &set->features[i], sampler->buffers));
    return RGM_OK;
}

/* The sampled node set of that name. */
static int64_t find_nodes(const rgm_sampler *sampler, const char *name)
{
    for (int64_t i = 0; i < sampler->node_set_count; i++)
        if (strcmp(rgm_schema_set(sampler->schema, sampler->node_sets[i].set)->name, name) == 0)
            return i;
    return -1;
}

static rgm_status make_sets(rgm_sampler *sampler, const char *seed_node_set)
{
    int64_t nodes = 0, edges = 0;

    RGM_TRY(RGM_NEW(sampler->node_sets, sampler->node_set_count));
    RGM_TRY(RGM_NEW(sampler->edge_sets, sampler->edge_set_count));
    sampler->node_sets[nodes++].set =
        rgm_schema_index(sampler->schema, RGM_NODE_SET, seed_node_set);
    for (int64_t i = 0; i < rgm_schema_set_count(sampler->schema); i++)
        if (rgm_schema_set(sampler->schema, i)->piece == RGM_NODE_SET &&
            i != sampler->node_sets[0].set)
            sampler->node_sets[nodes++].set = i;
    for (int64_t i = 0; i < sampler->node_set_count; i++) {
        rgmi_sampled_nodes *set = &sampler->node_sets[i];
        set->total = rgm_graph_total(sampler->graph, RGM_NODE_SET,
                                     rgm_schema_set(sampler->schema, set->set)->name);
        RGM_TRY(make_readers(&set->features, &set->feature_count, sampler, set->set));
    }
    for (int64_t i = 0; i < rgm_schema_set_count(sampler->schema); i++) {
        const rgm_set_schema *schema = rgm_schema_set(sampler->schema, i);
        rgmi_sampled_edges *set;
        if (schema->piece != RGM_EDGE_SET)
            continue;
        set = &sampler->edge_sets[edges++];
        set->set = i;
        set->ends[RGM_SOURCE] = find_nodes(sampler, schema->source);
        set->ends[RGM_TARGET] = find_nodes(sampler, schema->target);
        RGM_TRY(make_readers(&set->features, &set->feature_count, sampler, i));
    }
    return RGM_OK;
}

/* ---- the ops ---- */

static rgm_status link_inputs(rgmi_sampled_op *op, const rgm_sampling_spec *spec, int64_t index)
{
    const rgm_sample_op *from = &spec->ops[index];

    RGM_TRY(RGM_NEW(op->inputs, from->input_count));
    op->input_count = from->input_count;
    for (int64_t i = 0; i < from->input_count; i++) {
        op->inputs[i] = -1;
        for (int64_t k = 0; k < index; k++)
            if (strcmp(spec->ops[k].name, from->inputs[i]) == 0)
                op->inputs[i] = k;
    }
    return RGM_OK;
}

/* The edges from the frontier's end: a file's as they stand there, else a pattern. What draws by a
 * feature looks at all edges now, and so they are checked now. */
static rgm_status find_rows(rgmi_sampled_op *op, const rgm_sampler *sampler,
                            const rgm_sample_op *from)
{
    rgmi_draw *draw = &op->draw;
    rgm_edge_rows rows;

    if (sampler->part != NULL)
        return rgmi_sampler_order_rows(op, sampler, from);
    RGM_TRY(rgm_graph_edge_rows(&rows, sampler->graph, from->edge_set, from->from));
    draw->csr = rows.csr;
    draw->max_degree = rows.max_degree;
    draw->doubted = rows.doubted;
    if (from->strategy == RGM_SAMPLE_UNIFORM && from->time == NULL)
        return RGM_OK;
    return rgm_graph_check_edge_rows(sampler->graph, from->edge_set, from->from);
}

static rgm_status make_op(rgm_sampler *sampler, const rgm_sampling_spec *spec, int64_t index)
{
    const rgm_sample_op *from = &spec->ops[index];
    rgmi_sampled_op *op = &sampler->ops[index];

    op->from = from->from;
    for (int64_t i = 0; i < sampler->edge_set_count; i++)
        if (strcmp(rgm_schema_set(sampler->schema, sampler->edge_sets[i].set)->name,
                   from->edge_set) == 0)
            op->edges = i;
    op->start = sampler->edge_sets[op->edges].ends[from->from];
    op->end = sampler->edge_sets[op->edges].ends[rgm_tag_reverse(from->from)];
    RGM_TRY(find_rows(op, sampler, from));
    op->draw.strategy = from->strategy;
    op->draw.sample_size =
        from->sample_size < op->draw.max_degree ? from->sample_size : op->draw.max_degree;
    if (from->strategy == RGM_SAMPLE_WEIGHTED)
        RGM_TRY(make_weights(op, sampler->graph, from));
    if (from->strategy == RGM_SAMPLE_TOP_K)
        RGM_TRY(make_ranks(op, sampler->graph, from));
    if (from->strategy == RGM_SAMPLE_LATEST_K || (sampler->seed_times != NULL && from->time))
        RGM_TRY(rgmi_sampler_edge_times(op, sampler, from));
    RGM_TRY(RGM_NEW(op->earlier, index));
    for (int64_t k = 0; k < index; k++)
        if (sampler->ops[k].edges == op->edges) {
            op->earlier[op->earlier_count++] = k;
            sampler->ops[k].remembered = true;
        }
    return link_inputs(op, spec, index);
}

/* Edges of a set that ops follow from both ends need names that both know: their numbers. */
static void choose_names(rgm_sampler *sampler)
{
    for (int64_t i = 0; i < sampler->op_count; i++)
        for (int64_t k = 0; k < sampler->op_count; k++)
            if (sampler->ops[k].edges == sampler->ops[i].edges &&
                sampler->ops[k].from != sampler->ops[i].from)
                sampler->ops[i].entry = sampler->ops[i].draw.csr->entry;
}

/* ---- create and release ---- */

/* Of a spec that is right. */
static rgm_status create(rgm_sampler **out, rgm_graph *graph, const rgm_parted_graph *part,
                         const rgm_sampling_spec *spec, uint64_t seed)
{
    rgm_status status = RGM_OK;
    rgm_sampler *sampler = NULL;

    *out = NULL;
    if (rgm_graph_components(graph) != 1)
        return RGM_FAIL(RGM_ERR_DATA,
                        "a graph of %lld components cannot be sampled; sample each alone",
                        (long long)rgm_graph_components(graph));
    RGM_GO(RGM_NEW(sampler, 1));
    sampler->graph = rgm_graph_retain(graph);
    sampler->part = part;
    sampler->seed = seed;
    sampler->threads = 1;
    RGM_GO(rgmi_lender_create(&sampler->lender));
    RGM_GO(rgm_buffers_create(&sampler->buffers));
    RGM_GO(make_schema(sampler, spec));
    RGM_GO(make_sets(sampler, spec->seed_node_set));
    RGM_GO(rgmi_sampler_seed_times(sampler, spec));
    RGM_GO(RGM_NEW(sampler->ops, spec->op_count));
    sampler->op_count = spec->op_count;
    for (int64_t i = 0; i < spec->op_count; i++)
        RGM_GO(make_op(sampler, spec, i));
    choose_names(sampler);
    *out = sampler;
    sampler = NULL;
done:
    rgm_sampler_release(sampler);
    return status;
}

rgm_status rgm_sampler_create(rgm_sampler **out, rgm_graph *graph, const rgm_sampling_spec *spec,
                              uint64_t seed)
{
    *out = NULL;
    RGM_TRY(rgmi_sampling_spec_check(spec, rgm_graph_schema(graph)));
    RGM_TRY(create(out, graph, NULL, spec, seed));
    if (rgm_sampling_spec_print(&(*out)->spec, spec) == RGM_OK)
        return RGM_OK;
    rgm_sampler_release(*out);
    *out = NULL;
    return RGM_ERR_NOMEM;
}

rgm_status rgmi_sampler_of_part(rgm_sampler **out, const rgm_parted_graph *part,
                                const rgm_sampling_spec *spec, uint64_t seed)
{
    *out = NULL;
    RGM_TRY(rgmi_sampling_spec_check(spec, rgm_graph_schema(part->graph)));
    return create(out, part->graph, part, spec, seed);
}

rgm_status rgmi_sampler_of_all(rgm_sampler **out, rgm_graph *graph, const char *node_set,
                               uint64_t seed)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    rgm_sampling_spec spec = {.seed_node_set = (char *)node_set}; /* read alone */
    rgm_status status;
    char prefix[8];

    *out = NULL;
    RGM_TRY(RGM_NEW(spec.ops, rgm_schema_set_count(schema)));
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET && !rgm_aux_prefix(set->name, prefix, sizeof prefix))
            spec.ops[spec.op_count++] = (rgm_sample_op){.name = set->name,
                                                        .edge_set = set->name,
                                                        .from = RGM_TARGET,
                                                        .sample_size = 1,
                                                        .strategy = RGM_SAMPLE_UNIFORM};
    }
    status = create(out, graph, NULL, &spec, seed);
    rgm_free(spec.ops);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static void release_readers(rgm_feature_reader **features, int64_t count)
{
    for (int64_t i = 0; features && i < count; i++)
        rgm_feature_reader_release(features[i]);
    rgm_free(features);
}

void rgm_sampler_release(rgm_sampler *sampler)
{
    if (sampler == NULL)
        return;
    rgmi_lender_release(sampler->lender, sampler);
    rgm_buffers_close(sampler->buffers);
    for (int64_t i = 0; sampler->node_sets && i < sampler->node_set_count; i++)
        release_readers(sampler->node_sets[i].features, sampler->node_sets[i].feature_count);
    for (int64_t i = 0; sampler->edge_sets && i < sampler->edge_set_count; i++)
        release_readers(sampler->edge_sets[i].features, sampler->edge_sets[i].feature_count);
    for (int64_t i = 0; i < sampler->op_count; i++) {
        rgm_free(sampler->ops[i].inputs);
        rgm_free(sampler->ops[i].earlier);
        rgm_free(sampler->ops[i].weight_memory);
        rgm_free(sampler->ops[i].rank_memory);
        rgm_free(sampler->ops[i].order_memory);
        rgm_free(sampler->ops[i].when_memory);
        rgm_free(sampler->ops[i].start_memory);
        rgm_free(sampler->ops[i].column_memory);
        rgm_free(sampler->ops[i].entry_memory);
    }
    rgm_text_clear(&sampler->spec);
    rgm_free(sampler->node_sets);
    rgm_free(sampler->edge_sets);
    rgm_free(sampler->ops);
    rgm_schema_release(sampler->schema);
    rgm_graph_release(sampler->graph);
    rgm_free(sampler);
}

rgm_schema *rgm_sampler_schema(const rgm_sampler *sampler)
{
    return sampler->schema;
}

void rgm_sampler_set_threads(rgm_sampler *sampler, int threads)
{
    sampler->threads = threads < 1 ? 1 : threads;
}

void rgm_sampler_set_once(rgm_sampler *sampler, bool once)
{
    sampler->once = once;
}

/* ---- use ---- */

rgm_status rgmi_sampler_check_nodes(const rgm_sampler *sampler, const int64_t *nodes, int64_t count)
{
    const rgmi_sampled_nodes *set = &sampler->node_sets[0];

    for (int64_t i = 0; i < count; i++)
        if (nodes[i] < 0 || nodes[i] >= set->total)
            return RGM_FAIL(RGM_ERR_DATA, "seed %lld is node %lld of node set '%s', which has %lld",
                            (long long)i, (long long)nodes[i],
                            rgm_schema_set(sampler->schema, set->set)->name, (long long)set->total);
    return RGM_OK;
}

/* The graph of these seeds; readout [count] (may be NULL) gets each seed's local number. */
static rgm_status sample(rgm_graph **out, const rgm_sampler *sampler, const int64_t *nodes,
                         int64_t count, uint64_t epoch, int threads, int64_t *readout)
{
    rgm_status status = RGM_OK;
    rgmi_workspace *work = NULL;
    bool clean = false;

    *out = NULL;
    RGM_GO(rgmi_sampler_check_nodes(sampler, nodes, count));
    RGM_GO(rgmi_sampler_borrow(&work, sampler));
    RGM_GO(rgmi_sampler_expand(work, sampler, nodes, count, epoch, threads));
    clean = true;
    RGM_GO(rgmi_sampler_graph(out, work, sampler, threads));
    for (int64_t i = 0; readout && i < count; i++)
        readout[i] = work->known[0].local[nodes[i]];
done:
    if (work)
        rgmi_sampler_give_back(sampler, work, clean);
    return status;
}

rgm_status rgm_sampler_sample(rgm_graph **out, const rgm_sampler *sampler, int64_t node,
                              uint64_t epoch)
{
    RGM_TRY(sample(out, sampler, &node, 1, epoch, 1, NULL));
    return RGM_OK;
}

/* The readout graph of all seeds together. */
static rgm_status sample_together(rgm_graph **out, const rgm_sampler *sampler, const int64_t *nodes,
                                  int64_t count, uint64_t epoch, const char *label)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;
    rgm_tensor *readout = NULL;

    *out = NULL;
    RGM_GO(rgm_tensor_create(&readout, RGM_I64, 1, &count));
    RGM_GO(sample(&graph, sampler, nodes, count, epoch, sampler->threads, rgm_tensor_i64(readout)));
    RGM_GO(rgmi_sampler_readout(out, sampler, graph, readout, label));
done:
    rgm_tensor_release(readout);
    rgm_graph_release(graph);
    return status;
}

rgm_status rgmi_sampler_apart(rgm_graph **out, rgmi_one_seed *one, const void *payload,
                              const int64_t *nodes, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_graph **graphs = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(graphs, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(one(&graphs[i], payload, nodes[i]));
    RGM_GO(rgm_graph_merge(out, graphs, count));
done:
    for (int64_t i = 0; graphs && i < count; i++)
        rgm_graph_release(graphs[i]);
    rgm_free(graphs);
    return status;
}

typedef struct one_of_batch {
    const rgm_sampler *sampler;
    uint64_t epoch;
    const char *label;
} one_of_batch;

static rgm_status sample_one(rgm_graph **out, const void *payload, int64_t node)
{
    const one_of_batch *batch = payload;

    return sample_together(out, batch->sampler, &node, 1, batch->epoch, batch->label);
}

rgm_status rgm_sampler_batch(rgm_graph **out, const rgm_sampler *sampler, const int64_t *nodes,
                             int64_t count, uint64_t epoch, const char *label)
{
    if (sampler->seed_times == NULL)
        return sample_together(out, sampler, nodes, count, epoch, label);
    return rgmi_sampler_apart(out, sample_one, &(one_of_batch){sampler, epoch, label}, nodes,
                              count);
}

/*
 * data.type parts: one graph that lies with several ranks, each of which has a part of it, or
 * several joined (parts.h). A step has a batch for every part, all at once: that of a rank's first
 * one is what the rank has, with the nodes asked about that are its own, and the others are not
 * run. So a rank's data are its part, as many times as there are parts, and the trainer's shards
 * are the parts, with however many ranks the run goes on.
 */
#include "learning.h"

/* ---- a provider ---------------------------------------------------------------------------- */

typedef struct part_state {
    rgm_graph *graph;   /* with its readout */
    rgm_schema *schema; /* retained         */
    int64_t parts;      /* of the files     */
} part_state;

static rgm_status part_dataset(rgm_dataset **out, void *state, bool training)
{
    const part_state *part = state;
    rgm_status status = RGM_OK;
    rgm_element *element = NULL, **all = NULL;

    (void)training;
    *out = NULL;
    RGM_GO(RGM_NEW(all, part->parts));
    status =
        rgm_element_create_pointer(&element, &rgm_graph_element, rgm_graph_retain(part->graph));
    if (status != RGM_OK)
        rgm_graph_release(part->graph);
    RGM_GO(status);
    for (int64_t i = 0; i < part->parts; i++)
        all[i] = element;
    RGM_GO(rgm_dataset_from_elements(out, all, part->parts));
done:
    rgm_element_release(element);
    rgm_free(all);
    return status;
}

static rgm_schema *part_schema(void *state)
{
    return ((part_state *)state)->schema;
}

static void part_release(void *state)
{
    part_state *part = state;

    rgm_graph_release(part->graph);
    rgm_schema_release(part->schema);
    rgm_free(part);
}

static const rgm_provider_type part_type = {
    .name = "part of a graph",
    .dataset = part_dataset,
    .schema = part_schema,
    .in_memory = true,
    .release = part_release,
};

bool rgmi_provider_is_part(const rgm_provider *provider)
{
    return rgmi_provider_state(provider, &part_type) != NULL;
}

rgm_status rgmi_part_visit(const rgm_provider *provider, rgmi_graph_visitor *visit, void *payload)
{
    const part_state *part = rgmi_provider_state(provider, &part_type);

    return part != NULL ? visit(payload, part->graph)
                        : rgmi_sampled_part_visit(provider, visit, payload);
}

static rgm_status part_provider(rgm_provider **out, const rgm_graph_data *data, rgm_tensor *nodes,
                                const char *label, int64_t parts)
{
    rgm_status status = RGM_OK;
    part_state *part;

    *out = NULL;
    RGM_TRY(RGM_NEW(part, 1));
    part->parts = parts;
    RGM_GO(rgmi_asked_graph(&part->graph, data, nodes, label));
    part->schema = rgm_schema_retain((rgm_schema *)rgm_graph_schema(part->graph));
    *out = rgm_provider_create(&part_type, part);
    if (*out == NULL)
        RGM_GO(RGM_ERR_NOMEM);
    part = NULL;
done:
    if (part != NULL)
        part_release(part);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------- */

static rgm_status check_setup(const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;
    const char *key = NULL;

    if (d->processors.count > 0)
        key = "data.processors would make of each part something else than of the whole";
    else if (rgmi_splits_edges(&d->edge_split))
        key = "data.edge_split: an edge between two parts is in both";
    else if (d->train_padding.kind != RGM_PADDING_NONE || d->valid_padding.kind != RGM_PADDING_NONE)
        key = "data.train_padding and data.valid_padding are for batches of many graphs";
    else if (d->batch_nodes > 0 || d->batch_edges > 0 ||
             (d->batch_size > 1 && !rgmi_is_sampled(&d->sampling)))
        key = "data.batch_size, batch_nodes and batch_edges: a graph in parts is one batch "
              "(data.sampling makes batches of data.batch_size seeds)";
    else if (d->balance != RGMI_BALANCE_NONE)
        key = "data.balance draws examples, and a graph in parts is one";
    else if (setup->folds.count > 0)
        key = "trainer.folds: the split is that of the graph that was cut";
    if (key != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.type is parts, and %s", key);
    return rgmi_is_sampled(&d->sampling) ? rgmi_sampled_parts_check(d) : RGM_OK;
}

static rgm_status check_ranks(const rgmi_graph_inputs *in, const rgmi_data_options *d)
{
    int64_t parts = rgm_parts_count(in->parts);
    int ranks = rgm_comm_size(in->comm);

    if (ranks > parts)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.path: %s has %lld part%s, and there are %d ranks: each rank needs "
                        "one at least. Start it with mpirun -n %lld or fewer, or cut the graph "
                        "with regimen data partition --parts %d",
                        d->path, (long long)parts, parts == 1 ? "" : "s", ranks, (long long)parts,
                        ranks);
    return RGM_OK;
}

/* The part's graph and split as data that are cleared as any others. */
static rgm_status share_data(rgm_graph_data *out, const rgm_graph_data *of)
{
    *out = (rgm_graph_data){.schema = rgm_schema_retain(of->schema),
                            .train = rgm_tensor_retain(of->train),
                            .valid = rgm_tensor_retain(of->valid),
                            .test = rgm_tensor_retain(of->test)};
    RGM_TRY(RGM_NEW(out->graphs, 1));
    out->graphs[0] = rgm_graph_retain(of->graphs[0]);
    out->graph_count = 1;
    if (of->split_name != NULL)
        RGM_TRY(rgm_strdup(&out->split_name, of->split_name));
    return rgm_strdup(&out->split_set, of->split_set);
}

static rgm_status open_part(rgmi_graph_inputs *in, const rgmi_data_options *d)
{
    RGM_TRY(rgm_comm_open(&in->comm));
    RGM_TRY(rgm_error_prefix(rgm_parts_load(&in->parts, d->path), "data.path"));
    RGM_TRY(check_ranks(in, d));
    RGM_TRY(rgm_error_prefix(
        rgm_part_open_for(&in->part, in->parts, rgm_comm_rank(in->comm), rgm_comm_size(in->comm)),
        "data.path"));
    return share_data(&in->data, rgm_part_data(in->part));
}

rgm_status rgmi_parts_open(rgmi_graph_inputs *in, const rgm_task_setup *setup, const char *label)
{
    const rgmi_data_options *d = setup->data;
    rgm_tensor *nodes[3];

    RGM_TRY(check_setup(setup));
    RGM_TRY(open_part(in, d));
    nodes[0] = in->data.train;
    nodes[1] = in->data.valid;
    nodes[2] = in->data.test;
    if (rgm_parts_split(in->parts, RGM_TRAIN) < 1)
        return RGM_FAIL(RGM_ERR_DATA, "%s: the training part is empty", d->path);
    if (rgmi_is_sampled(&d->sampling))
        return rgmi_sampled_parts_open(in, setup, label);
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        if (rgm_parts_split(in->parts, mode) > 0)
            RGM_TRY(rgm_error_prefix(part_provider(&in->providers[mode], &in->data, nodes[mode],
                                                   label, rgm_parts_count(in->parts)),
                                     "%s data", rgm_mode_name((rgm_mode)mode)));
    return RGM_OK;
}

void rgmi_parts_close(rgmi_graph_inputs *in)
{
    rgm_part_sampler_release(in->sampler);
    rgm_part_release(in->part);
    rgm_parts_release(in->parts);
    rgm_comm_close(in->comm);
    in->sampler = NULL;
    in->part = NULL;
    in->parts = NULL;
    in->comm = NULL;
}

/* ---- what would be learned or counted of one part alone ---------------------------------------
 */

rgm_status rgmi_parts_check(const rgmi_learning *learning)
{
    for (int64_t k = 0; k < learning->task_count; k++) {
        const rgm_graph_task_type *type = learning->tasks[k]->type;

        if (type->label == NULL)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "data.type is parts, and task %s compares nodes with each other, of "
                            "which each rank has some: train it on the whole graph",
                            type->section.name);
        if (type->ranks ||
            (rgmi_provider_is_part(learning->providers[RGM_TRAIN]) && type->counts != NULL &&
             type->counts(learning->tasks[k]->options) != NULL))
            return RGM_FAIL(
                RGM_ERR_UNSUPPORTED,
                "data.type is parts, and task %s needs the labels of the whole graph at "
                "once",
                type->section.name);
    }
    return RGM_OK;
}

/* ---- the model ----------------------------------------------------------------------------- */

enum { HEAD_VALUES = 7 };

/* Where a head has its values; some are NULL. */
static void values_of(rgm_value **places[HEAD_VALUES], rgm_head *head)
{
    rgm_value **all[HEAD_VALUES] = {&head->predictions, &head->probabilities, &head->labels,
                                    &head->weights,     &head->lists,         &head->loss,
                                    &head->loss_items};

    memcpy(places, all, sizeof all);
}

/* Exports are of the whole graph, as the model was written. */
static void keep_served(rgmi_learning *learning, rgm_task_model *model)
{
    for (int64_t h = 0; h < model->head_count; h++)
        learning->whole_heads[h] = model->heads[h];
    model->served = learning->whole_heads;
    model->served_count = model->head_count;
}

rgm_status rgmi_parts_model(rgm_task_model *model, rgmi_learning *learning, rgm_scope *scope)
{
    rgm_value *values[HEAD_VALUES * RGM_MAX_HEADS + 1], **places[HEAD_VALUES];
    rgm_value **to[HEAD_VALUES * RGM_MAX_HEADS], *regularisation = rgm_scope_loss(scope);
    rgmi_graph_inputs *in = &learning->inputs;
    int64_t count = 0;

    keep_served(learning, model);
    for (int64_t h = 0; h < model->head_count; h++) {
        values_of(places, &model->heads[h]);
        for (int i = 0; i < HEAD_VALUES; i++)
            if (*places[i] != NULL) {
                to[count] = places[i];
                values[count++] = *places[i];
            }
    }
    values[count] = regularisation;
    RGM_TRY(rgm_part_values(values, values, count + (regularisation != NULL), learning->root,
                            in->part));
    if (values[count] != regularisation)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "data.type is parts, and a layer's own loss is of "
                                             "states of nodes, which lie with several ranks");
    for (int64_t i = 0; i < count; i++)
        *to[i] = values[i];
    for (int64_t h = 0; h < model->head_count; h++)
        rgm_value_set_name(model->heads[h].predictions, model->heads[h].name);
    return RGM_OK;
}

/* ---- the plan ------------------------------------------------------------------------------ */

/* "677 to 678 paper": the least and the most that a part has. */
static rgm_status describe_range(rgm_text *out, const rgm_parts *parts, const char *set, bool halo)
{
    int64_t least = INT64_MAX, most = 0;

    for (int64_t p = 0; p < rgm_parts_count(parts); p++) {
        int64_t n =
            halo ? rgm_parts_halo(parts, p, set) : rgm_parts_own(parts, p, RGM_NODE_SET, set);

        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (least == most)
        return rgm_text_printf(out, "%lld", (long long)most);
    return rgm_text_printf(out, "%lld to %lld", (long long)least, (long long)most);
}

rgm_status rgmi_parts_describe(rgm_text *out, const rgmi_learning *learning)
{
    const rgmi_graph_inputs *in = &learning->inputs;
    const rgm_schema *schema = in->data.schema;
    int64_t a_rank = rgm_parts_count(in->parts) / rgm_comm_size(in->comm);

    RGM_TRY(rgm_text_printf(out, "items "));
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        RGM_TRY(rgm_text_printf(out, "%s%lld %s", mode > 0 ? ", " : "",
                                (long long)(rgm_parts_split(in->parts, mode) > 0
                                                ? rgm_parts_split(in->parts, mode)
                                                : 0),
                                rgm_mode_name((rgm_mode)mode)));
    RGM_TRY(rgm_text_printf(
        out, " of %lld ", (long long)rgm_parts_total(in->parts, RGM_NODE_SET, in->data.split_set)));
    RGM_TRY(rgm_text_add_visible(out, in->data.split_set));
    RGM_TRY(rgm_text_printf(out, "\nparts %lld, ", (long long)rgm_parts_count(in->parts)));
    RGM_TRY(a_rank == 1 ? rgm_text_printf(out, "one a rank")
                        : rgm_text_printf(out, "%lld a rank, joined", (long long)a_rank));
    RGM_TRY(rgm_text_printf(out, " (%s, %.2g %% of the edges cut); each has ",
                            rgm_parts_made_by(in->parts), 100 * rgm_parts_cut(in->parts)));
    for (int64_t i = 0, n = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_NODE_SET)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s", n++ > 0 ? ", " : ""));
        RGM_TRY(describe_range(out, in->parts, set->name, false));
        RGM_TRY(rgm_text_printf(out, " "));
        RGM_TRY(rgm_text_add_visible(out, set->name));
        RGM_TRY(rgm_text_printf(out, " and copies of "));
        RGM_TRY(describe_range(out, in->parts, set->name, true));
    }
    RGM_TRY(rgm_text_printf(out, "\n"));
    return in->sampler != NULL ? rgmi_sampled_parts_describe(out, in) : RGM_OK;
}

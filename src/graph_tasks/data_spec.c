/*
 * What data.sampling of type tree follows: a spec that is written out, or its keys as one. Edges
 * are followed from the end at which the model hears, so that nodes hear what is drawn for them.
 */
#include "learning.h"

/* ---- which end hears ------------------------------------------------------------------------- */

/* A model that has no such key may hear at both. */
static rgm_receivers receivers_of(const rgm_section_type *model, const void *options)
{
    for (const rgm_field *f = model->fields; f != NULL && f->name != NULL; f++) {
        const char *end;

        if (f->kind != RGM_FIELD_CHOICE || strcmp(f->name, "receiver") != 0)
            continue;
        end = rgm_field_choice(f, *(const int *)((const char *)options + f->offset));
        if (end != NULL && strcmp(end, "both") != 0)
            return strcmp(end, "source") == 0 ? RGM_AT_SOURCE : RGM_AT_TARGET;
    }
    return RGM_AT_BOTH;
}

void rgmi_sampling_hear(const rgm_task_setup *setup)
{
    rgmi_sampling *s = &((rgmi_data_options *)setup->data)->sampling;

    s->receivers = receivers_of(setup->model, setup->model_options);
    s->random_walk.receiver = s->receivers == RGM_AT_TARGET ? RGM_TARGET : RGM_SOURCE;
}

/* Behind such a processor both ends hear. */
static bool is_turned(const rgm_sections *processors, const char *edge_set)
{
    for (int64_t i = 0; i < processors->count; i++) {
        const rgm_graph_processor processor = {
            (const rgm_graph_processor_type *)processors->items[i].type,
            processors->items[i].options};
        const char *of;

        if (rgmi_turns_edges(&of, &processor) && (of == NULL || strcmp(of, edge_set) == 0))
            return true;
    }
    return false;
}

/* What is drawn from the end that does not hear reaches nobody that it was drawn for. */
static void tell_of_unheard(const rgm_sampling_spec *spec, const rgmi_data_options *d)
{
    const char *const *ends = rgmi_end_names;
    rgm_receivers receivers = d->sampling.receivers;

    for (int64_t i = 0; i < spec->op_count && receivers != RGM_AT_BOTH; i++) {
        const rgm_sample_op *op = &spec->ops[i];

        if (op->from == (rgm_tag)receivers || is_turned(&d->processors, op->edge_set))
            continue;
        rgm_log_write(RGM_LOG_WARNING,
                      "data.sampling: '%s%s' is followed from its %s, but model.receiver is %s, so "
                      "that a node never hears the neighbours that are drawn for it; follow "
                      "'%s%s', or let model.receiver be %s",
                      op->from == RGM_TARGET ? "<" : "", op->edge_set, ends[op->from],
                      ends[receivers], op->from == RGM_TARGET ? "" : "<", op->edge_set,
                      ends[op->from]);
        return;
    }
}

/* ---- the spec -------------------------------------------------------------------------------- */

/* The only edge set of a homogeneous graph. */
static rgm_status only_edge_set(const rgm_set_schema **out, const rgm_schema *schema)
{
    const rgm_set_schema *only = NULL;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET)
            continue;
        if (only != NULL)
            return RGM_FAIL(
                RGM_ERR_CONFIG,
                "data.sampling.edge_sets is needed: there are '%s', '%s' and maybe more",
                only->name, set->name);
        only = set;
    }
    if (only == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.sampling: the data have no edge set");
    *out = only;
    return RGM_OK;
}

/* "<edges", which is followed from its target, where the model hears there. */
static rgm_status default_edges(char **out, const rgm_schema *schema, const char *node_set,
                                rgm_receivers receivers)
{
    const rgm_set_schema *only;
    bool back;

    RGM_TRY(only_edge_set(&only, schema));
    back = receivers == RGM_AT_TARGET && strcmp(only->target, node_set) == 0;
    return rgm_strprintf(out, "%s%s", back ? "<" : "", only->name);
}

/* A spec that is written out: its text, or the file that has it. */
static rgm_status read_spec(rgmi_graph_inputs *in, const char *spec, const char *node_set)
{
    if (strstr(spec, "seed_op") != NULL)
        RGM_TRY(rgm_sampling_spec_parse(&in->spec, spec, (int64_t)strlen(spec),
                                        "data.sampling.spec", in->data.schema));
    else
        RGM_TRY(rgm_sampling_spec_load(&in->spec, spec, in->data.schema));
    if (strcmp(in->spec->seed_node_set, node_set) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.spec begins with node set '%s', but what is asked about is "
                        "of '%s'",
                        in->spec->seed_node_set, node_set);
    return RGM_OK;
}

/* A spec of one hop after the other. */
static rgm_status hops_to_spec(rgmi_graph_inputs *in, const rgmi_sampling *s, const char *node_set)
{
    const char *edge_sets[RGMI_MAX_HOPS];
    rgm_status status = RGM_OK;
    char *usual = NULL;

    if (s->edge_sets.count == 0)
        RGM_GO(default_edges(&usual, in->data.schema, node_set, s->receivers));
    for (int64_t i = 0; i < s->sizes.count; i++)
        edge_sets[i] = usual != NULL ? usual : s->edge_sets.items[i];
    RGM_GO(rgm_sampling_spec_create(&in->spec, in->data.schema, node_set, edge_sets, s->sizes.items,
                                    s->sizes.count, s->strategy));
done:
    rgm_free(usual);
    return status;
}

rgm_status rgmi_sampling_spec(rgmi_graph_inputs *in, const rgmi_data_options *d,
                              const char *node_set)
{
    const rgmi_sampling *s = &d->sampling;

    if (node_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.sampling needs one graph with a split of its nodes");
    RGM_TRY(s->spec != NULL ? read_spec(in, s->spec, node_set) : hops_to_spec(in, s, node_set));
    tell_of_unheard(in->spec, d);
    if (s->weight_feature_name != NULL)
        RGM_TRY(rgm_sampling_spec_set_weight(in->spec, s->weight_feature_name));
    if (s->time_feature_name == NULL && s->seed_time_feature_name == NULL)
        return RGM_OK;
    return rgm_sampling_spec_set_time(in->spec, s->time_feature_name, s->seed_time_feature_name,
                                      s->up_to_seed || in->spec->up_to_seed, s->always_there.items,
                                      s->always_there.count);
}

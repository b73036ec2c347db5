/*
 * A model over a part: which of its inputs are nodes, edges, features and readouts, and the number
 * that each row of them has in the whole graph.
 */
#include "parts_internal.h"

#include <regimen/graph_parts.h>

#include <string.h>

/** What rgm_cgraph_part() is told. */
typedef struct model {
    rgm_part *part;
    const rgm_graph_value *root;
    rgm_graph_input *inputs;
    int64_t input_count;
    rgm_parted_items *items;
    const char **item_sets; /* [item_count] */
    int64_t item_count;
    rgm_parted_link *links;
    int64_t link_count;
    rgm_value **readouts;
    int64_t readout_count;
} model;

/* ---- numbers ------------------------------------------------------------------------------- */

static const rgm_feature *ids_of(const model *m, const char *node_set)
{
    return rgm_graph_feature(m->part->data.graphs[0], RGM_NODE_SET, node_set, "#id");
}

static rgm_status numbers_of_edges(rgm_tensor **out, const model *m, const char *set)
{
    int64_t index = rgm_schema_index(m->part->data.schema, RGM_EDGE_SET, set);
    rgm_tensor **kept = &m->part->edge_numbers[index];

    if (*kept == NULL)
        RGM_TRY(rgmi_part_numbers(kept, m->part, RGM_EDGE_SET, set, "number"));
    *out = rgm_tensor_retain(*kept);
    return RGM_OK;
}

/* Entries of a one_hot feature: from where a node's begin. */
static rgm_status numbers_of_lists(rgm_tensor **out, const model *m, const rgm_graph_input *input)
{
    const rgm_feature *feature =
        rgm_graph_feature(m->part->data.graphs[0], input->piece, input->set, input->feature);
    rgm_status status = RGM_OK;
    rgm_tensor *begins = NULL;
    char *what = NULL;
    int64_t count, at = 0;

    if (feature == NULL) { /* it cannot be read: why */
        RGM_TRY(rgm_graph_read_whole(m->part->data.graphs[0]));
        return RGM_FAIL(RGM_ERR_FORMAT, "part %lld has no feature '%s' of '%s'",
                        (long long)m->part->number, input->feature, input->set);
    }
    count = rgm_tensor_count(feature->values);
    RGM_GO(rgm_strprintf(&what, "%s.begin", input->feature));
    RGM_GO(rgmi_part_numbers(&begins, m->part, input->piece, input->set, what));
    RGM_GO(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < rgm_tensor_count(begins); i++)
        for (int64_t k = 0; k < rgm_tensor_i64(feature->row_lengths[1])[i]; k++)
            rgm_tensor_i64(*out)[at++] = rgm_tensor_i64(begins)[i] + k;
done:
    rgm_tensor_release(begins);
    rgm_free(what);
    return status;
}

/* Entries of a pattern with as many for each node. */
static rgm_status numbers_of_columns(rgm_tensor **out, const model *m, const rgm_graph_input *input,
                                     const rgm_feature_schema *feature)
{
    const rgm_feature *ids = ids_of(m, input->set);
    int64_t each = 1, count;

    for (int i = 0; feature != NULL && i < feature->rank; i++)
        each *= feature->shape[i];
    count = rgm_tensor_count(ids->values) * each;
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(*out)[i] = rgm_tensor_i64(ids->values)[i / each] * each + i % each;
    return RGM_OK;
}

static rgm_status numbers_of_feature(rgm_tensor **out, const model *m, const rgm_graph_input *input)
{
    const rgm_set_schema *set = rgm_schema_find(m->part->data.schema, input->piece, input->set);
    const rgm_feature_schema *feature = set != NULL ? rgm_set_feature(set, input->feature) : NULL;

    if (input->piece == RGM_NODE_SET && feature != NULL && feature->vocabulary > 0)
        return numbers_of_lists(out, m, input);
    if (input->piece == RGM_NODE_SET && set != NULL &&
        (feature == NULL || rgm_feature_last_ragged(feature) == 0))
        return numbers_of_columns(out, m, input, feature);
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "dropout of feature '%s' of '%s': its entries have no number in the whole "
                    "graph; set dropout to 0 where it is read",
                    input->feature, input->set);
}

static rgm_status numbers(rgm_tensor **out, const rgm_value *of, int64_t k, void *payload)
{
    const model *m = payload;

    *out = NULL;
    if (of == NULL) {
        *out = rgm_tensor_retain(ids_of(m, m->item_sets[k])->values);
        return RGM_OK;
    }
    for (int64_t i = 0; i < m->input_count; i++)
        if (m->inputs[i].value == of)
            return m->inputs[i].feature == NULL ? numbers_of_edges(out, m, m->inputs[i].set)
                                                : numbers_of_feature(out, m, &m->inputs[i]);
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "dropout of rows that have no number in the whole graph");
}

/* ---- the model ----------------------------------------------------------------------------- */

static rgm_status list_items(model *m)
{
    const rgm_schema *schema = rgm_graph_value_schema(m->root);

    RGM_TRY(RGM_NEW(m->items, rgm_schema_set_count(schema)));
    RGM_TRY(RGM_NEW(m->item_sets, rgm_schema_set_count(schema)));
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const rgm_exchange *exchange;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name))
            continue;
        exchange = rgm_part_exchange(m->part, set->name);
        if (exchange == NULL)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "node set '%s' is not in the parts: it cannot be made on the way",
                            set->name);
        m->items[m->item_count] =
            (rgm_parted_items){rgm_set_size(m->root, RGM_NODE_SET, set->name), exchange};
        m->item_sets[m->item_count++] = set->name;
    }
    return RGM_OK;
}

static rgm_status list_inputs(model *m, const rgm_parts *parts)
{
    m->input_count = rgm_graph_value_inputs(NULL, 0, m->root);
    RGM_TRY(RGM_NEW(m->inputs, m->input_count));
    RGM_TRY(RGM_NEW(m->links, m->input_count));
    (void)rgm_graph_value_inputs(m->inputs, m->input_count, m->root);
    for (int64_t i = 0; i < m->input_count; i++) {
        const rgm_graph_input *input = &m->inputs[i];

        if (input->piece != RGM_EDGE_SET || input->feature != NULL)
            continue;
        if (rgmi_parts_set_find(parts, RGM_EDGE_SET, input->set) == NULL)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "edge set '%s' is not in the parts: it cannot be made on the way",
                            input->set);
        m->links[m->link_count++] =
            (rgm_parted_link){input->value, rgm_parts_total(parts, RGM_EDGE_SET, input->set)};
    }
    m->readout_count = rgm_graph_value_readouts(NULL, 0, m->root);
    RGM_TRY(RGM_NEW(m->readouts, m->readout_count));
    (void)rgm_graph_value_readouts(m->readouts, m->readout_count, m->root);
    return RGM_OK;
}

/* Ranks that would wait for different rows say so before. */
static rgm_status compare(const rgm_part *part, int64_t exchanges, uint64_t order)
{
    const uint64_t own[2] = {(uint64_t)exchanges, order};
    int other;

    RGM_TRY(rgmi_find_other(&other, part->comm, own, sizeof own));
    return other < 0 ? RGM_OK
                     : RGM_FAIL(RGM_ERR_CONFIG, "rank %d has another model than rank %d", other,
                                rgm_comm_rank(part->comm));
}

static rgm_status build(rgm_value **parted, rgm_value *const *values, int64_t count, model *m)
{
    const rgm_parted_options options = {.items = m->items,
                                        .item_count = m->item_count,
                                        .links = m->links,
                                        .link_count = m->link_count,
                                        .seeds = m->readouts,
                                        .seed_count = m->readout_count,
                                        .numbers = numbers,
                                        .payload = m};
    int64_t exchanges = 0;
    uint64_t order = 0;

    RGM_TRY(rgm_comm_fail(m->part->comm,
                          rgm_cgraph_part(parted, &exchanges, &order, values, count, &options)));
    return compare(m->part, exchanges, order);
}

rgm_status rgm_part_values(rgm_value **parted, rgm_value *const *values, int64_t count,
                           const rgm_graph_value *graph_value, rgm_part *part)
{
    rgm_status status = RGM_OK;
    model m = {.part = part, .root = graph_value};

    if (part->comm == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the part is not connected with the other ranks");
    RGM_GO(list_items(&m));
    RGM_GO(list_inputs(&m, part->manifest));
    RGM_GO(build(parted, values, count, &m));
done:
    rgm_free(m.inputs);
    rgm_free(m.items);
    rgm_free((void *)(uintptr_t)m.item_sets);
    rgm_free(m.links);
    rgm_free(m.readouts);
    return status;
}

/*
 * Folds of a data set: which of its graphs, or of its one graph's nodes, are of which part, by
 * their labels.
 */
#include <math.h>
#include <string.h>

#include <regimen/graph_data.h>

#include "graph_internal.h"

/* Items that are to be parted. */
typedef struct labelled {
    int64_t *items;
    double *labels; /* of the items */
    int64_t count;
} labelled;

static void labelled_clear(labelled *l)
{
    rgm_free(l->items);
    rgm_free(l->labels);
}

/* By what items are parted: the first of these labels that is there. */
typedef struct order {
    const rgm_fold_label *labels;
    int64_t count;
} order;

/* Item i's label, the first of its numbers that is there; NaN: none is. */
static double label_at(const rgm_tensor *values, int64_t items, int64_t i, bool numbers)
{
    bool whole = rgm_tensor_dtype(values) == RGM_I64 || rgm_tensor_dtype(values) == RGM_I32;
    int64_t width = rgm_tensor_count(values) / items;

    for (int64_t at = i * width; at < (i + 1) * width; at++) {
        double label = rgm_tensor_at(values, at);

        if (!rgm_tensor_is_missing(values, at) && !(whole && label == -1 && !numbers))
            return label;
    }
    return NAN;
}

/* Of the context, of readout items, or of nodes. */
static const rgm_feature *label_of_graph(const rgm_graph *graph, const char *name)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    const rgm_feature *feature = rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, name);

    if (feature == NULL)
        feature = rgm_graph_feature(graph, RGM_NODE_SET, RGM_READOUT, name);
    for (int64_t i = 0; feature == NULL && i < rgm_schema_set_count(schema); i++)
        if (rgm_schema_set(schema, i)->piece == RGM_NODE_SET)
            feature = rgm_graph_feature(graph, RGM_NODE_SET, rgm_schema_set(schema, i)->name, name);
    return feature;
}

/* The label's numbers of an item of `items`, number *at; NULL: there are none to go by. */
static const rgm_tensor *values_of(const rgm_graph_data *data, const char *name, int64_t item,
                                   int64_t *items, int64_t *at)
{
    const rgm_feature *feature;

    *items = 1;
    *at = 0;
    if (data->split_set == NULL) {
        feature = label_of_graph(data->graphs[item], name);
    } else {
        feature = rgm_graph_feature(data->graphs[0], RGM_NODE_SET, data->split_set, name);
        *items = rgm_graph_total(data->graphs[0], RGM_NODE_SET, data->split_set);
        *at = item;
    }
    return feature == NULL || rgm_tensor_dtype(feature->values) == RGM_STRING ||
                   rgm_tensor_count(feature->values) == 0
               ? NULL
               : feature->values;
}

/* NaN: the labels that there are to go by are missing. Where there are none all are of one kind. */
static double item_label(const rgm_graph_data *data, const order *by, int64_t item)
{
    bool missing = false;

    for (int64_t k = 0; k < by->count; k++) {
        const rgm_fold_label *l = &by->labels[k];
        int64_t items, at;
        const rgm_tensor *values =
            l->name != NULL ? values_of(data, l->name, item, &items, &at) : NULL;
        double label = values != NULL ? label_at(values, items, at, l->numbers) : NAN;

        if (!isnan(label))
            return label;
        missing |= values != NULL;
    }
    return missing ? NAN : 0;
}

/* Of classes 1 alone is left where -1 is missing: two classes by their signs, of which one would be
 * in no part. */
static rgm_status check_signs(const labelled *l, int64_t missing, const order *by)
{
    for (int64_t i = 0; i < l->count; i++)
        if (l->labels[i] != 1)
            return RGM_OK;
    for (int64_t k = 0; k < by->count; k++)
        if (by->labels[k].numbers)
            return RGM_OK;
    if (missing == 0 || l->count == 0)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA,
                    "folds: label '%s' is -1 or 1, but never 0: items of -1 have no label and "
                    "would be in no part; data.relabel numbers an OGB folder's labels anew",
                    by->labels[0].name);
}

/* Of `among` (NULL: of all items) those that have a label. */
static rgm_status list_labelled(labelled *out, const rgm_graph_data *data, const rgm_tensor *among,
                                const order *by)
{
    int64_t count = among != NULL ? rgm_tensor_count(among)
                    : data->split_set != NULL
                        ? rgm_graph_total(data->graphs[0], RGM_NODE_SET, data->split_set)
                        : data->graph_count;

    *out = (labelled){0};
    RGM_TRY(RGM_NEW(out->items, count));
    RGM_TRY(RGM_NEW(out->labels, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t item = among != NULL ? rgm_tensor_at_int(among, i) : i;
        double value = item_label(data, by, item);

        if (isnan(value))
            continue;
        out->items[out->count] = item;
        out->labels[out->count++] = value;
    }
    return check_signs(out, count - out->count, by);
}

/* The items of one part; *out is NULL when there is none. */
static rgm_status take_part(rgm_tensor **out, const labelled *all, const rgm_fold_part *parts,
                            rgm_fold_part part)
{
    int64_t count = 0, *to;

    for (int64_t i = 0; i < all->count; i++)
        count += parts[i] == part;
    *out = NULL;
    if (count == 0)
        return RGM_OK;
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    to = rgm_tensor_data(*out);
    for (int64_t i = 0; i < all->count; i++)
        if (parts[i] == part)
            *to++ = all->items[i];
    return RGM_OK;
}

static void replace(rgm_tensor **to, rgm_tensor **from)
{
    rgm_tensor_release(*to);
    *to = *from;
    *from = NULL;
}

/* The only node set with the first label: what there is to part in one graph that has no split;
 * *out is NULL where there is none, or the graph itself has the label. */
static rgm_status labelled_set(const char **out, const rgm_graph_data *data, const order *by)
{
    const char *label = by->count > 0 ? by->labels[0].name : NULL, *other = NULL;
    const rgm_schema *schema;

    *out = NULL;
    if (data->graph_count != 1 || label == NULL)
        return RGM_OK;
    schema = rgm_graph_schema(data->graphs[0]);
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET || rgm_set_feature(set, label) == NULL)
            continue;
        if (set->piece == RGM_CONTEXT_PIECE || set->name[0] == '_') {
            *out = NULL;
            return RGM_OK;
        }
        other = *out;
        *out = set->name;
    }
    if (other != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "folds: the node sets '%s' and '%s' both have a label '%s': list the parts "
                        "of one in split/NAME/%s/train.csv and test.csv beside what is imported",
                        other, *out, label, other);
    return RGM_OK;
}

rgm_status rgm_graph_data_fold(rgm_graph_data *data, const rgm_folds *folds,
                               const rgm_fold_label *labels, int64_t count)
{
    rgm_status status = RGM_OK;
    const order by = {labels, count};
    const char *set = NULL;
    labelled all = {0};
    rgm_fold_part *parts = NULL;
    rgm_tensor *made[3] = {NULL};

    if (data->split_set == NULL && data->train == NULL)
        RGM_GO(labelled_set(&set, data, &by));
    if (set != NULL)
        RGM_GO(rgm_strdup(&data->split_set, set));
    RGM_GO(list_labelled(&all, data, NULL, &by));
    RGM_GO(RGM_NEW(parts, all.count));
    RGM_GO(rgm_folds_parts(parts, all.labels, all.count, folds));
    for (int k = RGM_FOLD_TRAIN; k <= RGM_FOLD_TEST; k++)
        RGM_GO(take_part(&made[k], &all, parts, (rgm_fold_part)k));
    replace(&data->train, &made[RGM_FOLD_TRAIN]);
    replace(&data->valid, &made[RGM_FOLD_VALID]);
    replace(&data->test, &made[RGM_FOLD_TEST]);
done:
    if (status != RGM_OK && set != NULL) {
        rgm_free(data->split_set);
        data->split_set = NULL;
    }
    for (int k = 0; k < 3; k++)
        rgm_tensor_release(made[k]);
    rgm_free(parts);
    labelled_clear(&all);
    return status;
}

rgm_status rgm_graph_data_hold_out(rgm_graph_data *data, double share, uint64_t seed,
                                   const rgm_fold_label *labels, int64_t count)
{
    rgm_status status = RGM_OK;
    const order by = {labels, count};
    labelled all = {0};
    rgm_fold_part *parts = NULL;
    rgm_tensor *made[2] = {NULL};

    if (data->train == NULL || (data->valid != NULL && rgm_tensor_count(data->valid) > 0))
        return RGM_FAIL(RGM_ERR_CONFIG, "the split has %s: nothing can be held out of it",
                        data->train == NULL ? "no training part" : "a validation part already");
    RGM_GO(list_labelled(&all, data, data->train, &by));
    RGM_GO(RGM_NEW(parts, all.count));
    RGM_GO(rgm_folds_hold_out(parts, all.labels, all.count, share, seed));
    for (int k = RGM_FOLD_TRAIN; k <= RGM_FOLD_VALID; k++)
        RGM_GO(take_part(&made[k], &all, parts, (rgm_fold_part)k));
    replace(&data->train, &made[RGM_FOLD_TRAIN]);
    replace(&data->valid, &made[RGM_FOLD_VALID]);
done:
    for (int k = 0; k < 2; k++)
        rgm_tensor_release(made[k]);
    rgm_free(parts);
    labelled_clear(&all);
    return status;
}

/*
 * The split of graph data as one fold of a cross-validation: one that the data set names, or one
 * that is made.
 */
#include "learning.h"

static bool names_folds(const rgmi_data_options *d)
{
    return d->split != NULL && strchr(d->split, '*') != NULL &&
           (d->type == RGMI_DATA_OGB || d->type == RGMI_DATA_FOLDER);
}

rgm_status rgmi_graph_folds_split(char **split, const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;
    const char *star;

    *split = NULL;
    if (d->split == NULL)
        return RGM_OK;
    if (!names_folds(d))
        return rgm_strdup(split, d->split);
    if (setup->folds.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.split is '%s', where * is the number of a fold: trainer.folds says "
                        "how many there are",
                        d->split);
    star = strchr(d->split, '*');
    return rgm_strprintf(split, "%.*s%lld%s", (int)(star - d->split), d->split,
                         (long long)setup->folds.fold, star + 1);
}

/* Whether there are labels to go by: of the split's nodes, of graphs or of nodes in them. */
static bool is_stratified(const rgm_graph_data *data, const char *label)
{
    for (int64_t i = 0; label != NULL && i < rgm_schema_set_count(data->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(data->schema, i);

        if (set->piece != RGM_EDGE_SET && rgm_set_feature(set, label) != NULL &&
            (data->split_set == NULL ||
             (set->piece == RGM_NODE_SET && strcmp(set->name, data->split_set) == 0)))
            return true;
    }
    return false;
}

/* "fold 3 of 10, made, stratified by label; 0.1 of the others validates" */
static rgm_status tell(rgmi_graph_inputs *in, const rgm_folds *folds, const char *how,
                       const rgm_fold_label *labels, int64_t count)
{
    const char *between = ", stratified by ";

    RGM_TRY(rgm_text_printf(&in->folds, "fold %lld of %lld, %s", (long long)folds->fold,
                            (long long)folds->count, how));
    for (int64_t k = 0; k < count; k++) {
        if (!is_stratified(&in->data, labels[k].name))
            continue;
        RGM_TRY(rgm_text_printf(&in->folds, "%s", between));
        RGM_TRY(rgm_text_add_visible(&in->folds, labels[k].name));
        between = ", else ";
    }
    if (folds->valid > 0)
        RGM_TRY(rgm_text_printf(&in->folds, "; %g of the others validates", folds->valid));
    return RGM_OK;
}

rgm_status rgmi_graph_folds_make(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgm_folds *folds = &setup->folds;
    rgm_fold_label labels[RGM_MAX_HEADS];
    int64_t count = setup->part_count;

    if (folds->count == 0)
        return RGM_OK;
    for (int64_t k = 0; k < count; k++) {
        const rgm_graph_task_type *type = (const rgm_graph_task_type *)setup->parts[k].type;

        labels[k].name = type->label != NULL ? type->label(setup->parts[k].options) : NULL;
        labels[k].numbers = type->missing != RGM_MISSING_CLASSES;
    }
    if (!names_folds(setup->data)) {
        RGM_TRY(rgm_graph_data_fold(&in->data, folds, labels, count));
        return tell(in, folds, "made", labels, count);
    }
    if (folds->valid > 0)
        RGM_TRY(rgm_graph_data_hold_out(&in->data, folds->valid, folds->seed, labels, count));
    return tell(in, folds, "a split of the data's own", NULL, 0);
}

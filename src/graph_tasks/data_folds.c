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

/* "fold 3 of 10, named by the data, 0.1 of its training part validates" */
static rgm_status tell(rgmi_graph_inputs *in, const rgm_folds *folds, const char *how,
                       const char *label)
{
    RGM_TRY(rgm_text_printf(&in->folds, "fold %lld of %lld, %s", (long long)folds->fold,
                            (long long)folds->count, how));
    if (label != NULL)
        RGM_TRY(rgm_text_add_visible(&in->folds, label));
    if (folds->valid > 0)
        RGM_TRY(rgm_text_printf(&in->folds, "; %g of the others validates", folds->valid));
    return RGM_OK;
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

rgm_status rgmi_graph_folds_make(rgmi_graph_inputs *in, const rgm_task_setup *setup,
                                 const char *label)
{
    const rgm_folds *folds = &setup->folds;
    const rgm_graph_task_type *type = (const rgm_graph_task_type *)setup->parts[0].type;
    bool numbers = type->missing != RGM_MISSING_CLASSES;

    if (folds->count == 0)
        return RGM_OK;
    if (!names_folds(setup->data)) {
        RGM_TRY(rgm_graph_data_fold(&in->data, folds, label, numbers));
        return is_stratified(&in->data, label) ? tell(in, folds, "made, stratified by ", label)
                                               : tell(in, folds, "made", NULL);
    }
    if (folds->valid > 0)
        RGM_TRY(rgm_graph_data_hold_out(&in->data, folds->valid, folds->seed, label, numbers));
    return tell(in, folds, "a split of the data's own", NULL);
}

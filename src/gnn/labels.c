/*
 * What a graph must have before a task is trained or judged on it: as many items as are predicted,
 * and labels that there are.
 */
#include <math.h>

#include "learning.h"

rgm_status rgmi_check_one_item(const rgm_graph *graph, const char *set)
{
    const int64_t *sizes = rgm_graph_sizes(graph, RGM_NODE_SET, set);

    for (int64_t c = 0; sizes != NULL && c < rgm_graph_real_components(graph); c++)
        if (sizes[c] != 1)
            return RGM_FAIL(RGM_ERR_DATA,
                            "component %lld has %lld items of '%s', but one is predicted for each "
                            "component; node_classification and node_binary_classification predict "
                            "every item",
                            (long long)c, (long long)sizes[c], set);
    return RGM_OK;
}

static rgm_status check_label(const rgmi_labels *labels, const rgm_tensor *values, int64_t item,
                              int64_t width)
{
    for (int64_t i = item * width; i < (item + 1) * width; i++) {
        double label = rgm_tensor_at(values, i);

        if (labels->classes == 0 && (!isfinite(label) || (labels->not_negative && label < 0)))
            return RGM_FAIL(RGM_ERR_DATA, "%s: label '%s' of item %lld is %.17g%s",
                            labels->set->name != NULL ? labels->set->name : "context",
                            labels->feature, (long long)item, label,
                            isfinite(label) ? ", and the loss is of numbers from 0 on" : "");
        if (labels->classes == 0)
            continue;
        if (!(label >= 0 && label < (double)labels->classes && label == (double)(int64_t)label))
            return RGM_FAIL(
                RGM_ERR_DATA,
                "%s: label '%s' of item %lld is %.17g, but must be 0..%lld; data.relabel "
                "numbers an OGB folder's labels anew",
                labels->set->name != NULL ? labels->set->name : "context", labels->feature,
                (long long)item, label, (long long)labels->classes - 1);
    }
    return RGM_OK;
}

rgm_status rgmi_check_labels(const rgm_graph *graph, const rgmi_labels *labels)
{
    const rgm_set_schema *set = labels->set;
    const rgm_feature *feature =
        set != NULL ? rgm_graph_feature(graph, set->piece, set->name, labels->feature) : NULL;
    int64_t items = set != NULL ? rgm_graph_total(graph, set->piece, set->name) : 0, item = 0;
    int64_t count = labels->of_roots ? rgm_graph_real_components(graph)
                    : set != NULL    ? rgm_graph_real_total(graph, set->piece, set->name)
                                     : 0;

    if (feature == NULL || items == 0 || rgm_tensor_dtype(feature->values) == RGM_STRING)
        return RGM_OK; /* what the model asks for and is not there fails by its name */
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(
            check_label(labels, feature->values, item, rgm_tensor_count(feature->values) / items));
        item += labels->of_roots ? rgm_graph_sizes(graph, set->piece, set->name)[i] : 1;
    }
    return RGM_OK;
}

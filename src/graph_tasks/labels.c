/*
 * What a graph must have before a task is trained or judged on it: as many items as are predicted,
 * and labels that there are. How many labels a graph has, and of which classes.
 */
#include <math.h>

#include "learning.h"

/* What stands for a missing number, and of classes also -1. */
static bool is_missing(const rgmi_labels *labels, const rgm_tensor *values, int64_t i)
{
    return rgm_tensor_is_missing(values, i) ||
           (labels->classes > 0 && rgm_tensor_at(values, i) == -1);
}

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

static const char *name_of(const rgmi_labels *labels)
{
    return labels->set->name != NULL ? labels->set->name : "context";
}

static rgm_status check_label(const rgmi_labels *labels, const rgm_tensor *values, int64_t item,
                              int64_t width)
{
    for (int64_t i = item * width; i < (item + 1) * width; i++) {
        double label = rgm_tensor_at(values, i);

        if (is_missing(labels, values, i) && !labels->all_there)
            continue;
        if (is_missing(labels, values, i))
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: label '%s' of item %lld is %s, but this task needs each: 0..%lld",
                            name_of(labels), labels->feature, (long long)item,
                            rgm_tensor_is_missing(values, i) ? "missing" : "-1",
                            (long long)labels->classes - 1);
        if (labels->classes == 0 && (!isfinite(label) || (labels->not_negative && label < 0)))
            return RGM_FAIL(RGM_ERR_DATA, "%s: label '%s' of item %lld is %.17g%s", name_of(labels),
                            labels->feature, (long long)item, label,
                            isfinite(label) ? ", and the loss is of numbers from 0 on" : "");
        if (labels->classes == 0 && labels->most > 0 && label > labels->most)
            return RGM_FAIL(RGM_ERR_DATA, "%s: label '%s' of item %lld is %.17g, above %g: %s",
                            name_of(labels), labels->feature, (long long)item, label, labels->most,
                            labels->why_most);
        if (labels->classes == 0)
            continue;
        if (!(label >= 0 && label < (double)labels->classes && label == (double)(int64_t)label))
            return RGM_FAIL(
                RGM_ERR_DATA,
                "%s: label '%s' of item %lld is %.17g, but must be 0..%lld; data.relabel "
                "numbers an OGB folder's labels anew",
                name_of(labels), labels->feature, (long long)item, label,
                (long long)labels->classes - 1);
    }
    return RGM_OK;
}

/* Labels of the graph's real items one by one. */
typedef struct walk {
    const rgm_tensor *values; /* NULL: there are none */
    const int64_t *sizes;     /* of roots: how far it is to the next; NULL: 1 */
    int64_t count, width;
} walk;

static walk walk_of(const rgm_graph *graph, const rgmi_labels *labels)
{
    const rgm_set_schema *set = labels->set;
    const rgm_feature *feature =
        set != NULL ? rgm_graph_feature(graph, set->piece, set->name, labels->feature) : NULL;
    int64_t items = set != NULL ? rgm_graph_total(graph, set->piece, set->name) : 0;
    walk w = {.values = NULL};

    if (feature == NULL || items == 0 || rgm_tensor_dtype(feature->values) == RGM_STRING)
        return w; /* what the model asks for and is not there fails by its name */
    w.values = feature->values;
    w.width = rgm_tensor_count(feature->values) / items;
    w.sizes = labels->of_roots ? rgm_graph_sizes(graph, set->piece, set->name) : NULL;
    w.count = labels->of_roots ? rgm_graph_real_components(graph)
                               : rgm_graph_real_total(graph, set->piece, set->name);
    return w;
}

rgm_status rgmi_check_labels(const rgm_graph *graph, const rgmi_labels *labels)
{
    walk w = walk_of(graph, labels);
    int64_t item = 0;

    for (int64_t i = 0; i < w.count; i++) {
        int64_t size = w.sizes != NULL ? w.sizes[i] : 1;

        if (size > 0) /* that a component has no root is told by whoever reads roots */
            RGM_TRY(check_label(labels, w.values, item, w.width));
        item += size;
    }
    return RGM_OK;
}

static bool is_whole(const rgm_tensor *values)
{
    return rgm_tensor_dtype(values) == RGM_I64 || rgm_tensor_dtype(values) == RGM_I32;
}

static void count_label(rgm_label_counts *counts, const rgmi_labels *labels,
                        const rgm_tensor *values, int64_t i, int64_t unit)
{
    double label = rgm_tensor_at(values, i);

    if (is_missing(labels, values, i)) {
        counts->missing++;
        return;
    }
    counts->known++;
    counts->negative += label < 0;
    counts->minus_one += label == -1 && is_whole(values);
    if (counts->of != NULL && label >= 0 && label < (double)counts->classes)
        counts->of[unit * counts->classes + (int64_t)label]++;
}

rgm_status rgmi_count_labels(rgm_label_counts *counts, const rgm_graph *graph,
                             const rgmi_labels *labels)
{
    walk w = walk_of(graph, labels);
    int64_t item = 0;

    if (w.count > 0 && counts->units == 0) {
        counts->units = w.width;
        counts->classes = labels->classes;
        if (labels->classes > 0)
            RGM_TRY(RGM_NEW(counts->of, w.width * labels->classes));
    }
    for (int64_t i = 0; i < w.count; i++) {
        int64_t size = w.sizes != NULL ? w.sizes[i] : 1;

        for (int64_t u = 0; size > 0 && u < w.width; u++)
            count_label(counts, labels, w.values, item * w.width + u, u % counts->units);
        item += size;
    }
    return RGM_OK;
}

void rgmi_count_lists(rgm_label_counts *counts, const rgm_graph *graph, const rgmi_labels *labels)
{
    walk w = walk_of(graph, labels);
    const int64_t *sizes =
        w.count > 0 ? rgm_graph_sizes(graph, labels->set->piece, labels->set->name) : NULL;
    int64_t item = 0;

    for (int64_t c = 0; sizes != NULL && c < rgm_graph_real_components(graph); c++) {
        double least = INFINITY, most = -INFINITY;

        for (int64_t end = item + sizes[c]; item < end; item++) {
            if (rgm_tensor_is_missing(w.values, item * w.width))
                continue;
            least = fmin(least, rgm_tensor_at(w.values, item * w.width));
            most = fmax(most, rgm_tensor_at(w.values, item * w.width));
        }
        counts->lists += most >= least;
        counts->unordered += most >= least && most <= least;
    }
}

double rgmi_balanced_weight(const rgm_label_counts *counts, int64_t unit, int64_t of)
{
    const int64_t *each = counts->of != NULL ? counts->of + unit * counts->classes : NULL;
    int64_t all = 0, classes = 0;

    for (int64_t c = 0; each != NULL && c < counts->classes; c++) {
        all += each[c];
        classes += each[c] > 0;
    }
    return each != NULL && each[of] > 0 ? (double)all / ((double)classes * (double)each[of]) : 1;
}

/*
 * One class out of many, for whatever a task predicts classes of: the loss, and the metrics of a
 * head.
 */
#include <stdio.h>

#include <regimen/train.h>

rgm_value *rgm_smoothed_cross_entropy(rgm_value *logits, rgm_value *labels, double smoothing)
{
    rgm_value *at_label = rgm_softmax_cross_entropy(logits, labels), *everywhere;

    if (at_label == NULL || smoothing == 0)
        return at_label;
    if (!(smoothing > 0 && smoothing < 1))
        return rgm_cgraph_fail(rgm_value_graph(logits), RGM_ERR_ARG,
                               "label smoothing is %g; it must be in [0, 1)", smoothing);
    everywhere = rgm_neg(rgm_reduce(rgm_log_softmax(logits), 1, RGM_MEAN));
    return rgm_add(rgm_scale(at_label, 1 - smoothing), rgm_scale(everywhere, smoothing));
}

rgm_metric *rgm_head_add_metric(rgm_head *head, const rgm_metric_type *type)
{
    rgm_metric *metric;

    if (head->metric_count == RGM_MAX_METRICS)
        return NULL;
    metric = &head->metrics[head->metric_count++];
    *metric = (rgm_metric){.type = type};
    snprintf(metric->name, sizeof metric->name, "%s", type->name);
    return metric;
}

static void add_class_metric(rgm_head *head, const rgm_metric_type *type, int64_t class_id,
                             const char *prefix, const char *name)
{
    rgm_metric *metric = rgm_head_add_metric(head, type);

    if (metric == NULL)
        return;
    metric->class_id = class_id;
    snprintf(metric->name, sizeof metric->name, "%s_for_%s", prefix, name);
}

static void add_class_metrics(rgm_head *head, int64_t classes, const rgm_texts *names)
{
    for (int64_t c = 0; c < classes; c++) {
        char name[32];

        if (names->count > 0)
            snprintf(name, sizeof name, "%s", names->items[c]);
        else
            snprintf(name, sizeof name, "class_%lld", (long long)c);
        add_class_metric(head, &rgm_metric_class_precision, c, "precision", name);
        add_class_metric(head, &rgm_metric_class_recall, c, "recall", name);
    }
}

rgm_status rgm_classes_check(const rgm_classes *classes)
{
    if ((classes->num_classes > 0) == (classes->names.count > 0))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task: exactly one of num_classes (%lld) and class_names (%lld names) is "
                        "needed",
                        (long long)classes->num_classes, (long long)classes->names.count);
    if (classes->statistics && 2 + 2 * rgm_classes_count(classes) > RGM_MAX_METRICS)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.per_class_statistics: %lld classes, at most %d can be reported",
                        (long long)rgm_classes_count(classes), (RGM_MAX_METRICS - 2) / 2);
    return RGM_OK;
}

void rgm_classes_add_metrics(rgm_head *head, const rgm_classes *classes)
{
    rgm_head_add_metric(head, &rgm_metric_accuracy);
    rgm_head_add_metric(head, &rgm_metric_cross_entropy);
    if (classes->statistics)
        add_class_metrics(head, rgm_classes_count(classes), &classes->names);
}

void rgm_classes_judge(rgm_head *head, const rgm_classes *classes)
{
    head->loss = rgm_weighted_mean(
        rgm_smoothed_cross_entropy(head->predictions, head->labels, classes->smoothing),
        head->weights);
    rgm_classes_add_metrics(head, classes);
}

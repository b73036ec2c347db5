/*
 * The common part of tasks that predict one class out of many: the loss, and the metrics of a head.
 */
#include <stdio.h>
#include <string.h>

#include <regimen/train_task.h>

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

/* precision_for_cat, or precision_for_class_3 for a class without a name. */
static void add_class_metric(rgm_head *head, const rgm_metric_type *type, int64_t class_id,
                             const char *prefix, const rgm_texts *names)
{
    rgm_metric *metric = rgm_head_add_metric(head, type);

    if (metric == NULL)
        return;
    metric->class_id = class_id;
    if (names->count > 0)
        snprintf(metric->name, sizeof metric->name, "%s_for_%s", prefix, names->items[class_id]);
    else
        snprintf(metric->name, sizeof metric->name, "%s_for_class_%lld", prefix,
                 (long long)class_id);
}

static void add_class_metrics(rgm_head *head, int64_t classes, const rgm_texts *names)
{
    for (int64_t c = 0; c < classes; c++) {
        add_class_metric(head, &rgm_metric_class_precision, c, "precision", names);
        add_class_metric(head, &rgm_metric_class_recall, c, "recall", names);
    }
}

/* Each name is a key in the metrics, so none may be cut or appear twice. */
static rgm_status check_names(const rgm_texts *names)
{
    enum { LONGEST = RGM_METRIC_NAME - (int)sizeof "precision_for_" };

    for (int64_t i = 0; i < names->count; i++) {
        if (names->items[i][0] == '\0' || strlen(names->items[i]) > LONGEST)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.class_names: name %lld has %zu characters, 1 to %d are possible",
                            (long long)i, strlen(names->items[i]), LONGEST);
        for (int64_t k = 0; k < i; k++)
            if (strcmp(names->items[i], names->items[k]) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "task.class_names: '%s' is named twice",
                                names->items[i]);
    }
    return RGM_OK;
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
    return check_names(&classes->names);
}

void rgm_classes_add_metrics(rgm_head *head, const rgm_classes *classes)
{
    int64_t count = rgm_classes_count(classes);

    head->confusion = count <= RGM_MOST_CONFUSED ? count : 0;
    head->curves = count <= RGM_MOST_CURVES ? RGM_CURVES_OF_CLASSES : RGM_CURVES_OF_NOTHING;
    rgm_head_add_metric(head, &rgm_metric_accuracy);
    rgm_head_add_metric(head, &rgm_metric_cross_entropy);
    if (classes->statistics)
        add_class_metrics(head, rgm_classes_count(classes), &classes->names);
}

void rgm_classes_judge(rgm_head *head, const rgm_classes *classes)
{
    const rgm_class_loss_options loss = {.smoothing = classes->smoothing};

    head->loss =
        rgm_weighted_mean(rgm_class_loss(head->predictions, head->labels, &loss), head->weights);
    head->probabilities = rgm_softmax(head->predictions);
    head->class_names = classes->names;
    rgm_classes_add_metrics(head, classes);
}

rgm_status rgm_head_add_named_metrics(rgm_head *head, const rgm_texts *names, int64_t outputs,
                                      rgm_metrics_of of)
{
    for (int64_t i = 0; i < names->count; i++) {
        rgm_metric found, *metric;

        RGM_TRY(rgm_named_metric(&found, "task.metrics", names->items[i], outputs, of));
        metric = rgm_head_add_metric(head, found.type);
        if (metric == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "head '%s' has more than %d metrics", head->name,
                            RGM_MAX_METRICS);
        *metric = found;
    }
    return RGM_OK;
}

/*
 * Metrics that an experiment file names, beside those that a kind of task always has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <regimen/metrics.h>

typedef struct named {
    const char *name;             /* a number may follow: top_3 */
    const rgm_metric_type *of[3]; /* by rgm_metrics_of */
    int64_t k;                    /* the number; -1: it must be given */
    int64_t outputs;              /* of 0/1 labels: 1: only for one label, 2: only for several */
} named;

static const named table[] = {
    {"f1", {NULL, &rgm_metric_binary_f1}, 0, 0},
    {"f1_micro", {&rgm_metric_f1_micro, &rgm_metric_binary_f1_micro}, 0, 0},
    {"f1_macro", {&rgm_metric_f1_macro, &rgm_metric_binary_f1_macro}, 0, 0},
    {"f1_weighted", {&rgm_metric_f1_weighted, &rgm_metric_binary_f1_weighted}, 0, 0},
    {"balanced_accuracy",
     {&rgm_metric_balanced_accuracy, &rgm_metric_binary_balanced_accuracy},
     0,
     1},
    {"matthews_correlation",
     {&rgm_metric_matthews_correlation, &rgm_metric_binary_matthews_correlation},
     0,
     1},
    {"top", {&rgm_metric_top, NULL}, -1, 0},
    {"calibration_error",
     {&rgm_metric_calibration_error, &rgm_metric_binary_calibration_error},
     15,
     0},
    {"brier_score", {&rgm_metric_brier_score, &rgm_metric_binary_brier_score}, 0, 0},
    {"auc_roc_macro", {NULL, &rgm_metric_auc_roc_macro}, 0, 2},
    {"auc_pr_macro", {NULL, &rgm_metric_auc_pr_macro}, 0, 2},
    {"auc_roc_macro", {NULL, &rgm_metric_auc_roc_macro_binned}, -1, 2},
    {"auc_pr_macro", {NULL, &rgm_metric_auc_pr_macro_binned}, -1, 2},
    {"auc_roc", {NULL, &rgm_metric_auc_roc_binned}, -1, 0}, /* the longer names are before these */
    {"auc_pr", {NULL, &rgm_metric_auc_pr_binned}, -1, 0},
    {.name = "rankme", .of = {[RGM_METRICS_OF_STATES] = &rgm_metric_rankme}},
    {.name = "numerical_rank", .of = {[RGM_METRICS_OF_STATES] = &rgm_metric_numerical_rank}},
    {.name = "coherence", .of = {[RGM_METRICS_OF_STATES] = &rgm_metric_coherence}},
    {.name = "pseudo_condition_number",
     .of = {[RGM_METRICS_OF_STATES] = &rgm_metric_pseudo_condition_number}},
    {.name = "self_clustering", .of = {[RGM_METRICS_OF_STATES] = &rgm_metric_self_clustering}},
};
static const char *const things[] = {"classes", "0/1 labels", "states"}; /* by rgm_metrics_of */
enum { NAMED = sizeof table / sizeof *table, MOST_K = 100000 };

/* Whether `name` is a row's, with or without a number after it; *k: the number, the row's own, or 0
 * for an impossible one. */
static bool is_row(int64_t *k, const named *row, const char *name)
{
    size_t size = strlen(row->name);
    char *end;

    *k = row->k;
    if (strcmp(name, row->name) == 0)
        return row->k >= 0;
    if (strncmp(name, row->name, size) != 0 || name[size] != '_' || row->k == 0)
        return false;
    *k = strtoll(name + size + 1, &end, 10);
    if (*end != '\0' || *k < 1 || *k > MOST_K || name[size + 1] == '+')
        *k = 0;
    return true;
}

static rgm_status unknown(const char *key, const char *name, rgm_metrics_of of)
{
    rgm_status status;
    rgm_text text = {0};
    const char *names[NAMED];
    int64_t count = 0;
    const char *near;

    for (int i = 0; i < NAMED; i++) {
        if (table[i].of[of] == NULL)
            continue;
        if (strcmp(table[i].name, name) == 0) { /* needs a number, which is the only other form */
            rgm_text_clear(&text);
            return RGM_FAIL(
                RGM_ERR_CONFIG, "%s: '%s' is no metric of %s without a number: %s_<k>%s", key, name,
                things[of], name,
                strncmp(name, "auc_", 4) == 0 ? " has k thresholds; the exact area needs no name"
                                              : "");
        }
        names[count++] = table[i].name;
        RGM_TRY(rgm_text_printf(&text, "%s%s%s", count > 1 ? ", " : "", table[i].name,
                                table[i].k < 0 ? "_<k>" : ""));
    }
    near = rgm_nearest_name(name, names, count);
    status = RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' is no metric of %s%s%s%s There are %s", key, name,
                      things[of], near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                      near != NULL ? "'?" : ".", text.data);
    rgm_text_clear(&text);
    return status;
}

static rgm_status check_row(const char *key, const char *name, const named *row, int64_t k,
                            int64_t outputs, rgm_metrics_of of)
{
    if (k == 0 && row->k != 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s': behind %s_ stands a number from 1 to %d", key,
                        name, row->name, MOST_K);
    if (of == RGM_METRICS_OF_LABELS && row->k < 0 && k < 2)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s': an area has two thresholds or more", key, name);
    if (of == RGM_METRICS_OF_CLASSES && row->k < 0 && k >= outputs)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s: '%s' is always 1: there are %lld classes, so k is below that", key,
                        name, (long long)outputs);
    if (of == RGM_METRICS_OF_LABELS && row->outputs > 0 && (row->outputs == 1) != (outputs == 1))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' is of %s, but task.units is %lld", key, name,
                        row->outputs == 1 ? "one 0/1 label" : "several 0/1 labels",
                        (long long)outputs);
    if (of == RGM_METRICS_OF_STATES && outputs > RGM_MOST_REPRESENTED_COLUMNS)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' of states with %lld columns, %d are the most",
                        key, name, (long long)outputs, RGM_MOST_REPRESENTED_COLUMNS);
    return RGM_OK;
}

rgm_status rgm_named_metric(rgm_metric *out, const char *key, const char *name, int64_t outputs,
                            rgm_metrics_of of)
{
    for (int i = 0; i < NAMED; i++) {
        const rgm_metric_type *type = table[i].of[of];
        int64_t k;

        if (type == NULL || !is_row(&k, &table[i], name))
            continue;
        RGM_TRY(check_row(key, name, &table[i], k, outputs, of));
        *out = (rgm_metric){.type = type,
                            .outputs = outputs,
                            .k = k,
                            .several = of == RGM_METRICS_OF_LABELS && outputs > 1};
        snprintf(out->name, sizeof out->name, "%s", name);
        return RGM_OK;
    }
    return unknown(key, name, of);
}

rgm_status rgm_named_metrics_check(const char *key, const rgm_texts *names, int64_t outputs,
                                   rgm_metrics_of of)
{
    rgm_metric metric;

    for (int64_t i = 0; i < names->count; i++) {
        RGM_TRY(rgm_named_metric(&metric, key, names->items[i], outputs, of));
        for (int64_t k = 0; k < i; k++)
            if (strcmp(names->items[i], names->items[k]) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' stands twice", key, names->items[i]);
    }
    return RGM_OK;
}

/*
 * Whether validation will give what the searcher asks for, before anything is trained.
 */
#include <stdio.h>
#include <string.h>

#include "trial_internal.h"

/* Names of the numbers that a validation gives, as far as they are known before one. */
typedef struct metric_names {
    char **items;
    int64_t count, capacity;
    bool open; /* a task may give more than it can name now */
} metric_names;

static void release(metric_names *names)
{
    for (int64_t i = 0; i < names->count; i++)
        rgm_free(names->items[i]);
    rgm_free(names->items);
}

static rgm_status add(metric_names *names, const char *part, const char *name)
{
    char *full = NULL;

    RGM_TRY(RGM_RESERVE(names->items, names->capacity, names->count + 1));
    RGM_TRY(rgm_strprintf(&full, "%s.%s", part, name));
    names->items[names->count++] = full;
    return RGM_OK;
}

static rgm_status add_part(metric_names *names, const rgm_open_run *run, const char *part)
{
    const rgm_trainer *trainer = rgm_run_trainer(run);
    const rgm_task *task = rgm_run_task(run);
    const char *const *reduced =
        task->reduced_names != NULL ? task->reduced_names(task->state) : NULL;

    for (int64_t i = 0; i < rgm_trainer_metric_count(trainer, RGM_VALID); i++)
        RGM_TRY(add(names, part, rgm_trainer_metric_name(trainer, RGM_VALID, i)));
    for (; reduced != NULL && *reduced != NULL; reduced++)
        RGM_TRY(add(names, part, *reduced));
    names->open = names->open || task->validation_step != NULL ||
                  (task->reduce_aggregated_logs != NULL && task->reduced_names == NULL);
    return RGM_OK;
}

static rgm_status collect(metric_names *names, const rgm_open_run *run)
{
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, rgm_run_trainer(run));

    RGM_TRY(add_part(names, run, rgm_mode_name(RGM_VALID)));
    for (int64_t i = 0; i < count; i++)
        if (sets[i].mode == RGM_VALID)
            RGM_TRY(add_part(names, run, rgm_trainer_eval_set_name(rgm_run_trainer(run), i)));
    return RGM_OK;
}

static rgm_status unknown(const rgm_search_file *file, const char *metric,
                          const metric_names *names)
{
    const rgm_yaml_node *searcher = rgm_search_file_section(file, "searcher");
    const rgm_yaml_node *node = rgm_yaml_find(searcher, "metric");
    rgm_hint hint =
        rgm_did_you_mean(metric, (const char *const *)names->items, names->count, NULL, NULL);
    rgm_status status = RGM_OK;
    rgm_text all = {0};

    for (int64_t i = 0; i < names->count; i++)
        RGM_GO(rgm_text_printf(&all, " %s", names->items[i]));
    status = rgm_yaml_fail(node != NULL ? node : searcher,
                           "searcher.metric: validation gives no '%s'%s; it gives%s", metric,
                           hint.text, all.size > 0 ? all.data : " nothing");
done:
    rgm_text_clear(&all);
    return status;
}

rgm_status rgmi_of_searcher(rgm_status status, const rgm_search_file *file)
{
    static const char of_best[] = "trainer.checkpoint.best.metric: ";
    const rgm_yaml_node *node = rgm_yaml_find(rgm_search_file_section(file, "searcher"), "metric");
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, file);
    const char *message = rgm_error_message();
    char metric[200], text[500];

    if (status != RGM_ERR_CONFIG || count == 0 || node == NULL ||
        strncmp(message, of_best, sizeof of_best - 1) != 0)
        return status;
    message += sizeof of_best - 1;
    snprintf(metric, sizeof metric, "'%.150s'", objectives[0].metric);
    if (strncmp(message, metric, strlen(metric)) != 0)
        return status;
    snprintf(text, sizeof text, "%s", message);
    return rgm_yaml_fail(node, "searcher.metric: %s", text);
}

rgm_status rgmi_check_objectives(const rgm_search_file *file, const rgm_open_run *run)
{
    rgm_status status = RGM_OK;
    metric_names names = {0};
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, file);

    if (count > 0 && !rgm_trainer_has_data(rgm_run_trainer(run), RGM_VALID))
        RGM_GO(rgm_yaml_fail(rgm_search_file_section(file, "searcher"),
                             "searcher.metric is '%s', but there are no validation data",
                             objectives[0].metric));
    RGM_GO(collect(&names, run));
    for (int64_t i = 0; i < count && !names.open; i++) {
        const char *metric = objectives[i].metric;
        int64_t k = 0;

        while (k < names.count && strcmp(metric, names.items[k]) != 0)
            k++;
        if (k == names.count)
            RGM_GO(unknown(file, metric, &names));
    }
done:
    release(&names);
    return status;
}

/*
 * Makes the task of an experiment and the options of its run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_internal.h"

/* Give TensorBoard every scalar of the file as a hyperparameter, by its dotted name. */
static rgm_status collect_hparams(rgm_experiment *e, const rgm_yaml_node *node, const char *path)
{
    for (int64_t i = 0; i < node->count && e->hparam_count < RGMI_MAX_HPARAMS; i++) {
        const rgm_yaml_node *item = node->items[i];
        char name[256];
        rgm_hparam *hparam = &e->hparams[e->hparam_count];
        char *end;

        if (node->kind == RGM_YAML_MAP)
            snprintf(name, sizeof name, "%s%s%s", path, path[0] != '\0' ? "." : "", item->key);
        else
            snprintf(name, sizeof name, "%s.%lld", path, (long long)i);
        if (item->kind != RGM_YAML_SCALAR) {
            RGM_TRY(collect_hparams(e, item, name));
            continue;
        }
        hparam->name = rgm_arena_strdup(e->arena, name);
        if (hparam->name == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for hyperparameters");
        hparam->number = strtod(item->text, &end);
        hparam->text = *end == '\0' && end != item->text && !item->quoted ? NULL : item->text;
        e->hparam_count++;
    }
    return RGM_OK;
}

static rgm_status make_task(rgm_experiment *e, const char *run_dir, rgmi_purpose why)
{
    rgm_task_setup *setup = &e->setup;

    if (e->task.name != NULL)
        return RGM_OK;
    setup->seed = (uint64_t)e->runtime.seed;
    setup->threads = rgm_runtime_threads(&e->runtime);
    setup->run_dir = run_dir;
    setup->trained = why != RGMI_TO_TRAIN;
    setup->asked = why == RGMI_TO_ASK;
    setup->folds = (rgm_folds){.count = e->trainer.folds,
                               .fold = e->trainer.fold,
                               .valid = e->trainer.fold_valid,
                               .seed = (uint64_t)e->trainer.fold_seed};
    /* A run that was begun has files beside its configuration. One to be followed may not exist;
     * a start that came to nothing had perhaps other keys. */
    setup->begun = run_dir != NULL && rgm_folder_has(run_dir, "config.yaml");
    if (setup->begun && why == RGMI_TO_TRAIN)
        RGM_TRY(rgm_run_folder_is_bound(&setup->begun, run_dir));
    rgm_log_notes_clear(&e->notes);
    RGM_TRY(rgm_log_notes_begin(&e->notes));
    return rgm_log_notes_end(&e->notes, e->type->create(&e->task, setup));
}

/* Where each value of config.yaml was set, as `regimen config show --full` prints it. */
static rgm_status make_sources(rgm_experiment *e)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    if (e->sources != NULL)
        return RGM_OK;
    RGM_GO(rgm_text_printf(&text, "{"));
    for (int64_t i = 0; i < e->value_count; i++) {
        const rgm_experiment_value *value = &e->values[i];

        if (!value->given)
            continue;
        RGM_GO(rgm_text_printf(&text, "%s\n  ", text.size > 1 ? "," : ""));
        RGM_GO(rgm_json_print_text(&text, value->key));
        RGM_GO(rgm_text_printf(&text, ": "));
        RGM_GO(rgm_json_print_text(&text, value->origin));
    }
    RGM_GO(rgm_text_printf(&text, "\n}\n"));
    RGM_GO(rgm_strdup(&e->sources, text.data));
done:
    rgm_text_clear(&text);
    return status;
}

/* "data.path", "task.label", "runtime.seed": what a batch follows from. */
static bool is_of_data(const char *key)
{
    static const char *const prefixes[] = {"data.", "task.", "tasks.", "trainer.fold"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return strcmp(key, "runtime.seed") == 0;
}

/* A path may be another elsewhere. */
static rgm_status print_identity(rgm_text *out, const rgm_yaml_node *value)
{
    rgm_status status;
    char *text;

    if (value->kind == RGM_YAML_SCALAR && rgm_path_exists(value->text))
        return rgm_text_printf(out, " (a path)");
    for (int64_t i = 0; value->kind == RGM_YAML_LIST && i < value->count; i++)
        RGM_TRY(print_identity(out, value->items[i]));
    if (value->kind == RGM_YAML_LIST)
        return RGM_OK;
    RGM_TRY(rgm_yaml_flow_text(&text, value));
    status = rgm_text_printf(out, " %s", text);
    rgm_free(text);
    return status;
}

/* A line for each value that batches follow from, for input workers. */
static rgm_status make_identity(rgm_experiment *e)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    if (e->identity != NULL || e->runtime.input_workers.address == NULL)
        return RGM_OK;
    for (int64_t i = 0; i < e->value_count; i++) {
        const rgm_experiment_value *value = &e->values[i];

        if (!is_of_data(value->key) || value->value == NULL || value->unused != NULL)
            continue;
        RGM_GO(rgm_text_printf(&text, "%s:", value->key));
        RGM_GO(print_identity(&text, value->value));
        RGM_GO(rgm_text_printf(&text, "\n"));
    }
    RGM_GO(rgm_strdup(&e->identity, text.data != NULL ? text.data : ""));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_experiment_prepare(rgm_run_options *options, rgm_experiment *e, const char *run_dir,
                                   rgmi_purpose why)
{
    *options = rgm_run_options_default();
    RGM_TRY(rgm_run_check_single(&e->trainer, &e->runtime));
    RGM_TRY(make_task(e, run_dir, why));
    options->optimizer = e->optimizer;
    options->trainer = e->trainer;
    options->run_dir = run_dir;
    options->exporters = e->exporters;
    options->exporter_count = run_dir != NULL ? e->exporter_count : 0;
    options->train_actions = e->train_actions;
    options->train_action_count = e->train_action_count;
    options->eval_actions = e->eval_actions;
    options->eval_action_count = e->eval_action_count;
    options->runtime = e->runtime;
    options->config = e->text;
    RGM_TRY(make_sources(e));
    options->sources = e->sources;
    if (why == RGMI_TO_TRAIN)
        RGM_TRY(make_identity(e));
    options->data_identity = e->identity;
    options->resume_keys = rgmi_resume_keys(e);
    options->notes = &e->notes;
    e->hparam_count = 0;
    RGM_TRY(collect_hparams(e, rgm_yaml_root(e->yaml), ""));
    options->hparams = e->hparams;
    options->hparam_count = e->hparam_count;
    return RGM_OK;
}

rgm_status rgm_experiment_prepare_trained(rgm_run_options *options, rgm_experiment *e,
                                          const char *run_dir)
{
    return rgmi_experiment_prepare(options, e, run_dir, RGMI_TO_LOOK_AT);
}

rgm_status rgm_experiment_prepare_asked(rgm_run_options *options, rgm_experiment *e,
                                        const char *run_dir)
{
    return rgmi_experiment_prepare(options, e, run_dir, RGMI_TO_ASK);
}

rgm_status rgm_experiment_open(rgm_open_run **run, const rgm_experiment *e,
                               const rgm_run_options *options)
{
    *run = NULL;
    if (e->task.name == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "rgm_experiment_prepare() comes first");
    return rgm_run_open(run, &e->task, options);
}

rgm_status rgm_experiment_serve(int64_t *made, const rgm_experiment *e,
                                const rgm_run_options *options, const rgm_serve_options *serve)
{
    if (e->task.name == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "rgm_experiment_prepare() comes first");
    return rgm_run_serve(made, &e->task, options, serve);
}

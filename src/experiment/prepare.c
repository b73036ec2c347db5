/*
 * An experiment to the arguments of rgm_run().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_internal.h"

/* Every scalar of the file as a hyperparameter for TensorBoard, by its dotted name. */
static void collect_hparams(rgm_experiment *e, const rgm_yaml_node *node, const char *path)
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
            collect_hparams(e, item, name);
            continue;
        }
        hparam->name = rgm_arena_strdup(e->arena, name);
        if (hparam->name == NULL)
            return; /* only a picture would lack it */
        hparam->number = strtod(item->text, &end);
        hparam->text = *end == '\0' && end != item->text && !item->quoted ? NULL : item->text;
        e->hparam_count++;
    }
}

/* What only a graph network has. */
static rgm_status prepare_graph(rgm_run_options *options, rgm_experiment *e, const char *run_dir)
{
    RGM_TRY(rgmi_graph_data_open(e, run_dir));
    options->train_data = e->providers[RGM_TRAIN];
    options->valid_data = e->providers[RGM_VALID];
    options->test_data = e->providers[RGM_TEST];
    options->schema = e->schema;
    options->model_fn = e->model->build;
    options->model_payload = e->model_options;
    if (e->task_count == 1 && e->tasks[0].name == NULL) {
        options->task = e->tasks[0];
    } else {
        options->tasks = e->tasks;
        options->task_count = e->task_count;
        options->loss_weights = e->loss_weights;
    }
    options->global_batch_size = e->data.batch_size;
    options->drop_remainder = e->data.drop_remainder;
    options->train_padding = e->data.train_padding;
    options->valid_padding = e->data.valid_padding;
    return RGM_OK;
}

/* A run that was begun, with what it keeps beside its configuration. */
static rgm_status has_begun(bool *out, const char *run_dir)
{
    char *config;

    RGM_TRY(rgm_path_join(&config, run_dir, "config.yaml"));
    *out = rgm_path_exists(config);
    rgm_free(config);
    return RGM_OK;
}

static rgm_status prepare_task(rgm_experiment *e, const char *run_dir, bool trained)
{
    bool begun = false;
    int threads = e->runtime.threads > 0 ? (int)e->runtime.threads : rgm_threads();

    if (e->task_made)
        return RGM_OK;
    if (run_dir != NULL) /* one that is to be followed may not be there yet */
        RGM_TRY(has_begun(&begun, run_dir));
    if (begun && e->task_type->use_files != NULL)
        e->task_type->use_files(e->task_options, run_dir, trained);
    RGM_TRY(e->task_type->create(&e->task, e->task_options, e->network, e->model_options,
                                 (uint64_t)e->runtime.seed, threads));
    e->task_made = true;
    return RGM_OK;
}

/* trained: the folder is that of a run to look at. */
static rgm_status prepare(rgm_run_options *options, rgm_experiment *e, const char *run_dir,
                          bool trained)
{
    *options = rgm_run_options_default();
    if (e->task_type != NULL)
        RGM_TRY(prepare_task(e, run_dir, trained));
    else
        RGM_TRY(prepare_graph(options, e, run_dir));
    options->optimizer = e->optimizer;
    options->trainer = e->trainer;
    options->run_dir = run_dir;
    options->exporters = e->exporters;
    options->exporter_count = run_dir != NULL ? e->exporter_count : 0;
    options->runtime = e->runtime;
    options->config = e->text;
    e->hparam_count = 0;
    collect_hparams(e, rgm_yaml_root(e->yaml), "");
    options->hparams = e->hparams;
    options->hparam_count = e->hparam_count;
    return RGM_OK;
}

rgm_status rgm_experiment_prepare(rgm_run_options *options, rgm_experiment *e, const char *run_dir)
{
    return prepare(options, e, run_dir, false);
}

rgm_status rgm_experiment_prepare_trained(rgm_run_options *options, rgm_experiment *e,
                                          const char *run_dir)
{
    return prepare(options, e, run_dir, true);
}

rgm_status rgm_experiment_run(rgm_run_result **result, rgm_experiment *e,
                              const rgm_run_options *options)
{
    *result = NULL;
    if (e->task_type == NULL)
        return rgm_run(result, options);
    if (!e->task_made)
        return RGM_FAIL(RGM_ERR_ARG, "rgm_experiment_prepare() comes first");
    return rgm_run_task(result, &e->task, options);
}

/*
 * An experiment to the arguments of rgm_run().
 */
#include <string.h>

#include "experiment_internal.h"

rgm_status rgm_experiment_prepare(rgm_run_options *options, rgm_experiment *e, const char *run_dir)
{
    RGM_TRY(rgmi_data_open(e, run_dir));
    *options = rgm_run_options_default();
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
    options->optimizer = e->optimizer;
    options->trainer = e->trainer;
    options->global_batch_size = e->data.batch_size;
    options->drop_remainder = e->data.drop_remainder;
    options->train_padding = e->data.train_padding;
    options->valid_padding = e->data.valid_padding;
    options->run_dir = run_dir;
    options->exporters = e->exporters;
    options->exporter_count = run_dir != NULL ? e->exporter_count : 0;
    options->seed = (uint64_t)e->runtime.seed;
    options->threads = (int)e->runtime.threads;
    options->config = e->text;
    return RGM_OK;
}

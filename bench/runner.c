/*
 * Graph learning as a user runs it: a run opened on records of sampled subgraphs, which are read,
 * checked, decoded, merged to mini-batches and learned by VanillaMPNN. No validation, no files. The
 * peer is TF-GNN's runner on the same records.
 */
#include "bench.h"

#include <regimen/train.h>

#define STEPS    10   /* of the run in one step of the bench: one loop */
#define BATCH    128  /* subgraphs a step                              */
#define CLASSES  40   /* of the labels                                 */
#define UNITS    64   /* of the states of nodes                        */
#define MESSAGES 128  /* channels of a message                         */
#define RATE     1e-3 /* Adam's                                        */

static void runner_close(void *state)
{
    rgm_run_close(state);
}

static void model_options(rgm_mpnn_model_options *mpnn)
{
    rgm_mpnn_model.section.defaults(mpnn);
    mpnn->units = UNITS;
    mpnn->message_dim = MESSAGES;
    mpnn->layers = 2;
    mpnn->reduce_type = "mean";
    mpnn->receiver = RGM_AT_SOURCE;
}

static rgm_status open_run(rgm_open_run **run, const char *records, rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_provider_options files = {.files = {&records, 1}};
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_mpnn_model_options mpnn;
    rgm_task task;

    model_options(&mpnn);
    what.train_data = rgm_tfrecord_provider(&files);
    what.schema = schema;
    what.task = rgm_root_node_multiclass("nodes", "label", CLASSES);
    what.model_fn = rgm_mpnn_model.build;
    what.model_payload = &mpnn;
    what.global_batch_size = BATCH;
    how.optimizer = rgm_adam(RATE);
    how.trainer.train_steps = 1000000000;
    how.trainer.steps_per_loop = STEPS;
    how.runtime.threads = rgm_threads(); /* the pipeline's too */
    how.releases_task = true;
    RGM_GO(rgm_graph_learning_create(&task, &what, &how.runtime));
    RGM_GO(rgm_run_open(run, &task, &how));
done:
    rgm_graph_task_release(what.task);
    rgm_provider_release(what.train_data);
    return status;
}

static rgm_status runner_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_open_run *run = NULL;

    RGM_GO(bench_records_schema(&schema));
    RGM_GO(open_run(&run, options->data, schema));
    *out = run;
done:
    rgm_schema_release(schema);
    return status;
}

static rgm_status runner_step(void *run, int64_t step)
{
    (void)step;
    return rgm_run_train(run, rgm_run_steps(run) + STEPS);
}

static rgm_status runner_facts(rgm_text *out, void *run)
{
    (void)run;
    return rgm_text_printf(out, ", \"subgraphs\": %d", STEPS * BATCH);
}

const bench_workload bench_runner = {"runner",     "10 steps of a run on records, VanillaMPNN",
                                     runner_open,  runner_step,
                                     runner_facts, runner_close};

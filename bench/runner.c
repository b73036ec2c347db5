/*
 * Graph learning as a user runs it. A run opened on records of sampled subgraphs, which are read,
 * checked, decoded, merged to mini-batches and learned by VanillaMPNN: the peer is TF-GNN's runner
 * on the same records. And a run that samples mini-batches of one graph in memory for GraphSAGE:
 * the peer is the workload minibatch of PyTorch. No validation, no files.
 */
#include "bench.h"

#include <regimen/controller_run.h>

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
    how.trainer.device = bench_device;
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

/* ---- mini-batches of one graph --------------------------------------------------------------- */

#define SAMPLED_STEPS 1 /* of the run in one step of the bench, as many as the peer's */

static const int64_t fan_out[BENCH_ROUNDS] = {5, 10, 15}; /* from the seeds outwards */
static const char *const hops[BENCH_ROUNDS] = {"<edges", "<edges", "<edges"}; /* to the senders */

static rgm_status sampling_provider(rgm_provider **out, rgm_graph *graph, int64_t batch)
{
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;
    rgm_tensor *seeds = NULL;
    rgm_sampling_provider_options options = {.batch_size = batch,
                                             .label = "label",
                                             .shuffle = true,
                                             .drop_remainder = true,
                                             .resample = true,
                                             .once = true,
                                             .seed = 1,
                                             .threads = rgm_threads()};

    RGM_GO(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "nodes", hops, fan_out,
                                    BENCH_ROUNDS, RGM_SAMPLE_UNIFORM));
    RGM_GO(rgm_tensor_arange(&seeds, rgm_graph_total(graph, RGM_NODE_SET, "nodes")));
    options.spec = spec;
    *out = rgm_sampling_provider(graph, seeds, &options);
done:
    rgm_tensor_release(seeds);
    rgm_sampling_spec_release(spec);
    return status;
}

rgm_status bench_sampled_open(rgm_open_run **run, rgm_graph *graph, bench_data *data, int64_t batch,
                              int64_t shards)
{
    rgm_status status = RGM_OK;
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_graph_classification_options task = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_task learning;

    task.place.node_set = "nodes";
    task.num_classes = data->classes;
    task.head = RGM_HEAD_NONE;
    RGM_GO(sampling_provider(&what.train_data, graph, batch));
    what.task = rgm_graph_task_create(&rgm_node_classification, NULL, &task);
    what.model_fn = bench_sage_model;
    what.model_payload = data;
    how.optimizer = rgm_adam(0.01);
    how.trainer.train_steps = 1000000000;
    how.trainer.steps_per_loop = SAMPLED_STEPS;
    how.runtime.threads = rgm_threads();
    how.trainer.device = bench_device;
    how.runtime.shards = shards;
    how.comm = bench_comm;
    how.releases_task = true;
    RGM_GO(rgm_graph_learning_create(&learning, &what, &how.runtime));
    RGM_GO(rgm_run_open(run, &learning, &how));
done:
    rgm_graph_task_release(what.task);
    rgm_provider_release(what.train_data);
    return status;
}

static rgm_status sampled_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    int64_t size = options->size > 0 ? options->size : 1024;
    int64_t shards = options->shards > 0 ? options->shards : 1;
    bench_data data = {0};
    rgm_graph *graph = NULL;
    rgm_open_run *run = NULL;

    RGM_GO(bench_data_load(&data, options->data));
    RGM_GO(bench_data_graph(&graph, &data, true));
    RGM_GO(bench_sampled_open(&run, graph, &data, size / shards, shards));
    *out = run;
done:
    rgm_graph_release(graph);
    bench_data_clear(&data);
    return status;
}

static rgm_status sampled_step(void *run, int64_t step)
{
    (void)step;
    return rgm_run_train(run, rgm_run_steps(run) + SAMPLED_STEPS);
}

const bench_workload bench_sampled_run = {
    "sampled_run", "step of a run that samples for GraphSAGE, `size` seeds",
    sampled_open,  sampled_step,
    NULL,          runner_close,
    NULL};

/* busy: another program, which bench.py starts, takes a core. */
static const char *const forms[] = {"alone", "busy", NULL};
const bench_workload bench_runner = {"runner",     "10 steps of a run on records, VanillaMPNN",
                                     runner_open,  runner_step,
                                     runner_facts, runner_close,
                                     forms};

/*
 * Many small graphs as a user trains on them: a run opened on 1,000 graphs of 10 to 30 nodes in
 * memory, which are shuffled, put together by a budget of nodes, and learned by GIN with batch
 * norms. No validation, no files. The peer cuts the same graphs out of the same file and fills its
 * batches likewise.
 */
#include "bench.h"

#include <regimen/controller_run.h>

#define GRAPHS 1000
#define STEPS  10   /* of the run in one step of the bench    */
#define BUDGET 640  /* nodes of a batch: 32 graphs, about     */
#define UNITS  32   /* of the states of nodes                 */
#define ROUNDS 5    /* of messages, as Xu et al. (2019)       */
#define RATE   1e-2 /* Adam's                                 */

/* Nodes of graph g, one graph's behind the other's. */
static int64_t size_of(int64_t g)
{
    return 10 + 7 * g % 21;
}

static rgm_status make_schema(rgm_schema **out, int64_t width)
{
    RGM_TRY(rgm_schema_create(out));
    RGM_TRY(rgm_schema_add_node_set(*out, "nodes"));
    RGM_TRY(rgm_schema_add_edge_set(*out, "edges", "nodes", "nodes"));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "feat", RGM_F32, 1, &width));
    return rgm_schema_add_feature(*out, RGM_CONTEXT_PIECE, NULL, "label", RGM_I64, 0, NULL);
}

/* Edges of the file whose targets are nodes begin, begin + 1, ..: sources are brought in. */
static rgm_status cut_edges(rgm_tensor *ends[2], const bench_data *data, int64_t begin, int64_t n)
{
    const int64_t *source = rgm_tensor_i64(data->source), *target = rgm_tensor_i64(data->target);
    int64_t count = 0;

    for (int64_t e = 0; e < data->edges; e++)
        count += target[e] >= begin && target[e] < begin + n;
    for (int k = 0; k < 2; k++)
        RGM_TRY(rgm_tensor_create(&ends[k], RGM_I64, 1, &count));
    count = 0;
    for (int64_t e = 0; e < data->edges; e++)
        if (target[e] >= begin && target[e] < begin + n) {
            rgm_tensor_i64(ends[0])[count] = source[e] % n;
            rgm_tensor_i64(ends[1])[count++] = target[e] - begin;
        }
    return RGM_OK;
}

static rgm_status cut_graph(rgm_graph **out, rgm_schema *schema, const bench_data *data,
                            int64_t begin, int64_t n)
{
    rgm_status status = RGM_OK;
    rgm_graph_builder *builder = NULL;
    rgm_tensor *ends[2] = {NULL};
    int64_t width = rgm_tensor_dim(data->feat, 1);
    rgm_feature label = {0}, feat = {0};

    RGM_GO(cut_edges(ends, data, begin, n));
    RGM_GO(rgm_tensor_create_from(&label.values, RGM_I64, 1, (int64_t[]){1},
                                  rgm_tensor_i64(data->label) + begin));
    RGM_GO(rgm_tensor_create_from(&feat.values, RGM_F32, 2, (int64_t[]){n, width},
                                  rgm_tensor_f32(data->feat) + begin * width));
    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "nodes", &n));
    RGM_GO(rgm_graph_builder_edges(builder, "edges", ends[0], ends[1]));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, "nodes", "feat", &feat));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "label", &label));
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgm_graph_builder_release(builder);
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    rgm_tensor_release(label.values);
    rgm_tensor_release(feat.values);
    return status;
}

static rgm_status make_provider(rgm_provider **out, const bench_data *data)
{
    rgm_status status = RGM_OK;
    rgm_graph *graphs[GRAPHS] = {NULL};
    rgm_schema *schema = NULL;
    int64_t begin = 0, count = 0;

    if (data->feat == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "graphs are cut out of a file with feat");
    RGM_GO(make_schema(&schema, rgm_tensor_dim(data->feat, 1)));
    for (; count < GRAPHS && begin + size_of(count) <= data->nodes; count++) {
        RGM_GO(cut_graph(&graphs[count], schema, data, begin, size_of(count)));
        begin += size_of(count);
    }
    *out = rgm_graphs_provider(graphs, count, true);
    status = *out != NULL ? RGM_OK : RGM_ERR_NOMEM;
done:
    for (int64_t i = 0; i < GRAPHS; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    return status;
}

static rgm_status open_run(rgm_open_run **run, const bench_data *data)
{
    rgm_status status = RGM_OK;
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    static rgm_gin_model_options gin;
    rgm_task task;

    rgm_gin_model.section.defaults(&gin);
    gin.units = UNITS;
    gin.layers = ROUNDS;
    RGM_GO(make_provider(&what.train_data, data));
    what.task = rgm_graph_multiclass("nodes", "label", data->classes);
    what.model_fn = rgm_gin_model.build;
    what.model_payload = &gin;
    what.batch_nodes = BUDGET;
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

static rgm_status molecules_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    rgm_open_run *run = NULL;
    bench_data data = {0};

    RGM_GO(bench_data_load(&data, options->data));
    RGM_GO(open_run(&run, &data));
    *out = run;
done:
    bench_data_clear(&data);
    return status;
}

static rgm_status molecules_step(void *run, int64_t step)
{
    (void)step;
    return rgm_run_train(run, rgm_run_steps(run) + STEPS);
}

static rgm_status molecules_facts(rgm_text *out, void *run)
{
    (void)run;
    return rgm_text_printf(out, ", \"batches\": %d, \"budget\": %d", STEPS, BUDGET);
}

static void molecules_close(void *state)
{
    rgm_run_close(state);
}

const bench_workload bench_molecules = {"molecules",
                                        "10 steps of GIN on small graphs, batched by nodes",
                                        molecules_open,
                                        molecules_step,
                                        molecules_facts,
                                        molecules_close,
                                        NULL};

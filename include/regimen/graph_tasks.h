/*
 * graph_tasks: learning on graphs from data to export. graph_tasks_data.h has the sources of
 * graphs, graph_tasks_types.h the kinds of tasks, graph_tasks_selfsupervised.h those without
 * labels, and graph_tasks_explain.h explains predictions. rgm_run() joins data providers, a model
 * of gnn, tasks, an optimizer and the trainer into one run folder.
 */
#ifndef REGIMEN_GRAPH_TASKS_H
#define REGIMEN_GRAPH_TASKS_H

#include <regimen/gnn.h>
#include <regimen/graph_tasks_data.h>
#include <regimen/graph_tasks_explain.h>
#include <regimen/graph_tasks_selfsupervised.h>
#include <regimen/graph_tasks_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The tasks, data and model of a run. model_payload is read when a run opens: it must live until
 * then.
 */
typedef struct rgm_graph_learning_options {
    rgm_provider *train_data;            /* required; retained, as are all below */
    rgm_provider *valid_data;            /* NULL: no validation                  */
    rgm_provider *test_data;             /* NULL: none                           */
    const rgm_graph_eval_set *eval_sets; /* [eval_set_count], at most RGM_MAX_EVAL_SETS */
    int64_t eval_set_count;
    rgm_schema *schema; /* of one example; NULL: the provider's */

    rgm_model_fn *model_fn;
    void *model_payload;
    rgm_input_options *input;      /* in model_payload: what it takes of the training part is learnt
                                      when the task is made; NULL: nothing                      */
    rgm_learned_features *learned; /* that, instead of learning it; retained; NULL: it is learnt */
    rgm_graph_task *task;          /* a single task, or          */
    rgm_graph_task *const *tasks;  /* several, each with a name  */
    int64_t task_count;
    const double *loss_weights;  /* [task_count], by the tasks' places, each finite and at least 0;
                                    NULL: ones */
    const bool *learned_weights; /* [task_count], true: its weight is learned and begins with 1, of
                                    numbers 1/2 (Kendall et al. 2018); loss_weights[] of it is 1.
                                    Reported as <task>_loss_weight. NULL: none                 */

    int64_t global_batch_size; /* examples a step, default 1; refused with a provider of whole
                                  mini-batches, which has a size of its own, as is the next */
    bool drop_remainder;
    /* Batches by size instead: examples until the next would exceed either number (0: no bound) of
       all node sets or edge sets together; at most global_batch_size examples where that is above
       1. An example that is larger alone is an error with its name. */
    int64_t batch_nodes, batch_edges;
    /* Between examples and model, in every part and in rgm_graph_run_preprocess(); of graphs in
       memory those before the first that draws are asked once. Copied, their options are not: they
       outlive the run. Of an experiment file an export has them too; a program's own it has not:
       what is exported takes what they give. */
    const rgm_graph_processor *processors;
    int64_t processor_count;
    rgm_padding train_padding, valid_padding;
} rgm_graph_learning_options;
#define RGM_GRAPH_LEARNING_OPTIONS_INIT                                                            \
    {                                                                                              \
        .global_batch_size = 1, .train_padding = RGM_PADDING_INIT,                                 \
        .valid_padding = RGM_PADDING_INIT                                                          \
    }

/**
 * Graph learning as a task of experiment files: data from files or generated, a named model, one or
 * several of rgm_graph_tasks.
 */
extern const rgm_task_type rgm_graph_learning;
/**
 * The same from C: a task for rgm_run_open(), used by one open run at a time. Release it with
 * rgm_task_release().
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG (arguments that contradict each other or the data), those of
 * providers and tasks.
 */
rgm_status rgm_graph_learning_create(rgm_task *out, const rgm_graph_learning_options *options,
                                     const rgm_runtime_options *runtime);

/**
 * Train, validate, test and export in one call: rgm_graph_learning_create(), rgm_run_open(),
 * rgm_run_complete().
 *
 * @param run  [out, owned] set on RGM_OK and on RGM_STOPPED (then with what was done so far); it
 *                          can be queried until rgm_run_close()
 *
 * Errors: RGM_STOPPED (asked to stop; the same call continues), those of the three calls.
 * Collective: every rank calls it.
 */
rgm_status rgm_run(rgm_open_run **run, const rgm_graph_learning_options *what,
                   const rgm_run_options *how);

/* For runs of graph learning; any other run gives RGM_ERR_UNSUPPORTED or NULL. */

/** The graph before and after the base GNN (of task 0), borrowed. */
const rgm_graph_value *rgm_graph_run_input(const rgm_open_run *run);
const rgm_graph_value *rgm_graph_run_base_model(const rgm_open_run *run);
/**
 * The preprocess model: examples (serialized, or a graph as it is) to one merged, processed graph.
 * Errors: RGM_ERR_FORMAT and RGM_ERR_DATA of examples, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_run_preprocess(rgm_graph **out, const rgm_open_run *run,
                                    rgm_element *const *examples, int64_t count);
/**
 * Predictions of head `head` [n, units] for a preprocessed graph; *out is owned.
 * Errors: RGM_ERR_UNSUPPORTED, those of rgm_run_predict_feeds().
 */
rgm_status rgm_graph_run_predict(rgm_tensor **out, const rgm_open_run *run, int64_t head,
                                 rgm_graph *graph);

/* ---- states of all nodes --------------------------------------------------------------------- */

/** The states of one graph's nodes after the base GNN, borrowed by a sink. */
typedef struct rgm_graph_states {
    int64_t graph;            /* its number in the data, 0 on                           */
    int64_t first;            /* of the nodes: the number of the first one              */
    const rgm_tensor *states; /* [nodes, width]                                         */
    const rgm_tensor *ids;    /* i64 [nodes], their "#id"; NULL: they are first, first + 1, ... */
} rgm_graph_states;
typedef rgm_status rgm_graph_states_sink(const rgm_graph_states *states, void *payload);

/** What rgm_graph_run_embeddings() is about to do. */
typedef struct rgm_embeddings_plan {
    const char *node_set;
    int64_t graphs, nodes; /* -1: they are counted as they are read */
    int64_t width;
    int64_t bytes; /* bound on memory for the largest graph, besides data and weights; -1 */
    int64_t kept;  /* by rounds: what rounds leave to later ones, of the largest graph; -1 */
} rgm_embeddings_plan;
/**
 * Describe what rgm_graph_run_embeddings() would do. The bound on memory counts every value of the
 * model at once; fewer exist at the same time.
 *
 * @param node_set  NULL: the set of the split, or the only one that has states
 * @param rounds    as in rgm_graph_run_embeddings()
 *
 * Errors: RGM_ERR_CONFIG (no such set, or none by itself), RGM_ERR_UNSUPPORTED.
 */
rgm_status rgm_graph_run_embeddings_plan(rgm_embeddings_plan *out, const rgm_open_run *run,
                                         const char *node_set, const rgm_by_rounds_options *rounds);
/**
 * Compute the states of all nodes of a set, in every graph of the run's data, not only of the nodes
 * in a part. If the run sampled from a graph, that graph is taken as a whole: each layer is
 * computed once for each node from all its neighbours, whatever was sampled. Records are read in
 * order, the training part first.
 *
 * @param rounds  NULL: each graph goes through the model as a whole and the sink gets all of its
 *                states at once; else those with more nodes than a chunk go by
 *                rgm_by_rounds_run(), for graphs whose states of all layers do not fit into
 *                memory, and the sink gets a chunk at a time
 *
 * Errors: RGM_ERR_CONFIG, RGM_ERR_UNSUPPORTED (a run of a program's own mini-batches; see
 * rgm_by_rounds_run()), those of data, sink and executor.
 */
rgm_status rgm_graph_run_embeddings(const rgm_open_run *run, const char *node_set,
                                    const rgm_by_rounds_options *rounds,
                                    rgm_graph_states_sink *sink, void *payload);
/**
 * The same of one preprocessed graph: [nodes, width]; *out is owned.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_UNSUPPORTED, those of rgm_graph_feeds() and the executor.
 */
rgm_status rgm_graph_run_embed(rgm_tensor **out, const rgm_open_run *run, const char *node_set,
                               rgm_graph *graph);

#ifdef __cplusplus
}
#endif
#endif

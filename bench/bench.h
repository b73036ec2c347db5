/*
 * bench: what the parts of regimen_bench share. A workload is a row: it opens from a data file that
 * the peer reads too, runs steps, and tells facts (counts that a floor is computed from). The main
 * program times the steps; the driver, bench.py, asks for rounds and divides.
 */
#ifndef RGM_BENCH_H
#define RGM_BENCH_H

#include <regimen/optim.h>
#include <regimen/graph_tasks.h>

typedef struct bench_options {
    const char *data;   /* file of bench_make(), or of records                            */
    const char *device; /* where it computes, as rgm_device_open() has it; NULL: the CPU      */
    const char *form;   /* which variant of the workload, one of its forms                */
    int64_t size;       /* what the form leaves open: channels, seeds in a batch          */
    int64_t shards;     /* of a step of translate_run and sampled_run, 0: 1; mpirun's ranks hold
                           them. `size` is that of all                                    */
    bool profile;       /* keep times of each op and print them to stderr at the end      */
    const char *count;  /* "gpu" or "cpu": count instead of time, see count.c; NULL: time */
} bench_options;

/** A workload: one row. */
typedef struct bench_workload {
    const char *name;
    const char *help;
    rgm_status (*open)(void **state, const bench_options *options);
    rgm_status (*step)(void *state, int64_t step); /* what is timed */
    /** Comma-separated JSON members, each with a comma in front; may be NULL. */
    rgm_status (*facts)(rgm_text *out, void *state);
    void (*close)(void *state);
    const char *const *forms; /* names up to NULL, the default first; NULL: it has no forms */
} bench_workload;

/** Where the workloads compute that train or sum: --device, NULL: the CPU. */
extern rgm_device *bench_device;

/** The ranks that mpirun has started: with --shards; else this process by itself. */
extern rgm_comm *bench_comm;

extern const bench_workload bench_gcn, bench_gat, bench_sage, bench_aggregate, bench_minibatch,
    bench_sample, bench_records, bench_limits, bench_bf16, bench_loop, bench_checkpoint,
    bench_translate, bench_decode, bench_runner, bench_sampled_run, bench_hgt, bench_molecules,
    bench_mapped, bench_translate_run, bench_language, bench_served;

/** A device that counts what the kernels of a GPU, which need not be here, or of the CPU do; see
 * count.c. */
rgm_status bench_count_open(rgm_device **out, bool gpu);
/** Count from here on. */
void bench_count_begin(void);
/** Comma-separated JSON members, a step of `steps`, each with a comma in front. */
rgm_status bench_count_print(rgm_text *out, int64_t steps);

/** A graph as both sides read it from the data file. Tensors are borrowed from the file's owner. */
typedef struct bench_data {
    rgm_tensor *source, *target;     /* i64 [edges], both directions                          */
    rgm_tensor *label, *train;       /* i64 [nodes], [training nodes]                          */
    rgm_tensor *words_start, *words; /* i64 [nodes + 1], [entries]; or NULL                    */
    rgm_tensor *feat;                /* f32 [nodes, width]; or NULL                            */
    int64_t nodes, edges, classes, vocabulary;
} bench_data;

rgm_status bench_data_load(bench_data *data, const char *path);
void bench_data_clear(bench_data *data);
/**
 * Nodes "nodes" with label and words or feat, edges "edges", one component. Without `features` the
 * nodes have labels alone.
 */
rgm_status bench_data_graph(rgm_graph **out, const bench_data *data, bool features);
/** A run of GraphSAGE on mini-batches sampled of a graph, `batch` seeds for each of so many shards;
 * of `data` only the classes count. */
rgm_status bench_sampled_open(rgm_open_run **run, rgm_graph *graph, bench_data *data, int64_t batch,
                              int64_t shards);
/** `make-graph FILE key=number ...`: a graph file, written part by part. */
rgm_status bench_make_graph(const char *path, char **words, int count);
/** `make FILE key=number ...`: a random graph with popular nodes, to a data file. */
rgm_status bench_make(const char *path, char **words, int count);
/** `make-records FILE DATA key=number ...`: subgraphs of that graph as tf.train.Example records. */
rgm_status bench_make_records(const char *path, const char *data, char **words, int count);
/** `make-served FOLDER [vocabulary=N]`: a translation model as exports in f32 and in 8 bits, as
 * CTranslate2 reads it, and sentences, one a line, in numbers of tokens. */
rgm_status bench_make_served(const char *path, char **words, int count);
/** The schema of those records; make-records also saves it, as FILE.pbtxt. Released by the caller.
 */
rgm_status bench_records_schema(rgm_schema **out);
/** The number of "key=number" among words, or `otherwise`. */
double bench_number(char **words, int count, const char *key, double otherwise);

/** A loss in training: what the product's trainer builds, without validation and files. Zeros. */
typedef struct bench_training {
    rgm_cgraph *graph;
    rgm_scope *scope; /* of the graph, f32 */
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_executor *executor;
    rgm_value **fetches;  /* loss, gradients */
    bool *stays;          /* of each fetched tensor: on the device, all but the loss */
    rgm_tensor **fetched; /* the same of the last step */
    bool profile;
} bench_training;

/** Graph and scope, for the loss to be built. After an error too: _end(). */
rgm_status bench_training_begin(bench_training *training);
rgm_status bench_training_compile(bench_training *training, rgm_value *loss,
                                  const rgm_optimizer_options *optimizer, bool bf16, bool profile);
/** Forward, backward, optimizer. RGM_ERR_NUMERIC when the loss is not a number. */
rgm_status bench_training_step(bench_training *training, const rgm_feed *feeds, int64_t count,
                               int64_t step);
void bench_training_end(bench_training *training);

/** A model on graphs in training. */
typedef struct bench_graph_training bench_graph_training;
rgm_status bench_graphs_open(bench_graph_training **out, rgm_schema *schema, rgm_model_fn *model,
                             void *payload, int64_t classes, const rgm_optimizer_options *optimizer,
                             bool profile);
rgm_status bench_graphs_step(bench_graph_training *training, rgm_graph *graph, int64_t step);
void bench_graphs_close(bench_graph_training *training);
/** GraphSAGE-mean, width-256-256-classes, dropout 0.5 of hidden states; payload: bench_data. */
rgm_model_fn bench_sage_model;

/**
 * The same with three rounds of GraphSAGE on blocks: blocks[k] is one hop from the nodes of
 * blocks[k - 1] (the seeds, with their labels as readout, for k = 0); the last has the features.
 */
#define BENCH_ROUNDS 3
typedef struct bench_blocks bench_blocks;
rgm_status bench_blocks_open(bench_blocks **out, int64_t width, int64_t classes,
                             const rgm_optimizer_options *optimizer, bool profile);
rgm_status bench_blocks_step(bench_blocks *b, rgm_graph *const *blocks, int64_t step);
void bench_blocks_close(bench_blocks *b);

#endif

/* Experiments of every task type, a few steps each, for tests that run them on a device. */
#ifndef RGM_TASKS_CHECK_H
#define RGM_TASKS_CHECK_H

#include <regimen/experiment.h>
#include <train_check.h>
#include <unistd.h>

#define CITATION                                                                                   \
    "data: {type: citation, citation: {nodes: 60, edges: 120, classes: 3, words: 30,\n"            \
    "       words_per_node: 4, train_per_class: 4, valid: 20, test: 20}"
#define NODES   "task: {type: node_classification, node_set: nodes, num_classes: 3}\n"
#define TRAINER "optimizer: {type: adam, learning_rate: 1e-2, average: {decay: 0.9}}\n"

/* Named for messages; each is a whole experiment. */
static const struct experiment_case {
    double tolerance; /* of the last loss, where rounding differs: bf16 rounds otherwise          */
    const char *name, *text;
} task_cases[] = {
    {1e-4, "records",
     "data: {path: ., train: records.csv, valid: records.csv, batch_size: 30}\n"
     "task: {type: classification, num_classes: 3}\n"
     "model: {type: mlp, batch_norm: true, dropout: 0.2}\n" TRAINER
     "trainer: {epochs: 3, accumulation_steps: 2, norms: true}\n"},
    {1e-4, "private records",
     "data: {path: ., train: records.csv, valid: records.csv, batch_size: 30,\n"
     "       poisson: true}\n"
     "task: {type: classification, num_classes: 3}\nmodel: {type: mlp}\n"
     "optimizer: {type: sgd, learning_rate: 0.1}\n"
     "trainer: {epochs: 3, privacy: {clipping_norm: 1, noise_multiplier: 1,\n"
     "          noise_seed: 3, delta: 1e-3}}\n"},
    {1e-4, "graph network",
     CITATION "}\n" NODES "model: {type: gcn, hidden: [4], dropout: 0.5}\n" TRAINER
              "trainer: {epochs: 5}\n"},
    {1e-2, "attention",
     CITATION "}\n" NODES "model: {type: gat_v2, hidden: [4], heads: 2}\n"
              "optimizer: {type: lamb, learning_rate: 1e-2}\n"
              "trainer: {epochs: 4, histograms: true}\n"
              "runtime: {mixed_precision: bf16, loss_scale: dynamic}\n"},
    {1e-4, "sampled graph",
     CITATION ", batch_size: 4, sampling: {sizes: [3, 2], store: memory}}\n"
              "task: {type: root_node_classification, node_set: nodes, num_classes: 3}\n"
              "model: {type: graph_sage, hidden: [4, 4]}\n"
              "optimizer: {type: adafactor, learning_rate: 1e-2}\ntrainer: {epochs: 2}\n"},
    {1e-4, "links",
     CITATION ", node_set: nodes, edge_set: edges, links: {undirected: true}}\n"
              "task: {type: link_prediction, head: dot}\n"
              "model: {type: gcn, hidden: [8], output: 4}\n" TRAINER "trainer: {epochs: 3}\n"},
    {1e-4, "two tasks",
     CITATION "}\n"
              "tasks:\n"
              "  topic: {type: node_classification, node_set: nodes, num_classes: 3}\n"
              "  infomax: {type: deep_graph_infomax, node_set: nodes}\n"
              "model: {type: gcn, hidden: [8], dropout: 0.5}\n" TRAINER
              "trainer: {epochs: 3, gradient_surgery: pcgrad}\n"},
    {1e-4, "events",
     "data: {type: events, batch_size: 64, sampling: {sizes: [5], edge_sets: [has],\n"
     "       strategy: latest_k, time_feature_name: time, store: memory,\n"
     "       seed_time_feature_name: asked}}\n"
     "task: {type: root_node_classification, node_set: account, num_classes: 4}\n"
     "model: {type: graph_sage, hidden: [8], aggregator: mean, receiver: source}\n"
     "optimizer: {type: rmsprop, learning_rate: 1e-2}\n"
     "trainer: {train_steps: 6, steps_per_loop: 3, validation_interval: 3,\n"
     "          validation_steps: 2}\nexport: []\n"},
    {1e-4, "translation",
     "data: {reverse: {vocabulary: 18, max_length: 6, train: 60, valid: 6},\n"
     "       batch_tokens: 256}\n"
     "task: {type: translation, search: {beam_size: 2}}\n"
     "model: {type: seq2seq_transformer, embedding_width: 16,\n"
     "        encoder: {num_layers: 1, num_attention_heads: 2},\n"
     "        decoder: {num_layers: 1, num_attention_heads: 2}}\n"
     "optimizer: {type: adamw, learning_rate: 1e-2, clip_global_norm: 1}\n"
     "trainer: {epochs: 2}\nexport: []\n"},
};

static inline void write_records(void)
{
    char text[4096];
    size_t used = 0;

    for (int i = 0; i < 90; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d.%d,%d,%d\n", i % 3, i % 4,
                                 i % 3, i % 3);
    CHECK_OK(rgm_file_save("records.csv", text, (int64_t)used));
}

static inline bool stop_later(void *payload)
{
    return --*(int *)payload < 0;
}

/* Run case c on a device, to its end or until so many steps (-1: all) were asked for. */
static inline rgm_status run_case(const struct experiment_case *c, const char *folder,
                                  rgm_device *device, int steps)
{
    rgm_experiment *experiment;
    rgm_run_options options;
    rgm_open_run *run;
    rgm_status status;

    CHECK_OK(rgm_file_save("case.yaml", c->text, (int64_t)strlen(c->text)));
    CHECK_OK(rgm_experiment_load(&experiment, "case.yaml", NULL, 0));
    CHECK_OK(rgm_experiment_prepare(&options, experiment, folder));
    options.trainer.device = device;
    options.trainer.checkpoint.every_seconds = 0;
    if (steps >= 0)
        options.hooks = (rgm_controller_hooks){.should_stop = stop_later, .payload = &steps};
    status = rgm_experiment_open(&run, experiment, &options);
    if (status == RGM_OK) {
        status = rgm_run_complete(run);
        rgm_run_close(run);
    }
    if (status < 0)
        fail_msg("%s: %s", c->name, rgm_error_text());
    rgm_experiment_release(experiment);
    return status;
}

/* The numbers and the last checkpoint of two runs. */
static inline void check_same_run(const char *a, const char *b)
{
    const rgm_checkpoint_store_options read = {.keep = 1, .read_only = true};
    rgm_checkpoint_store *store;
    int64_t *steps, count;
    char path[160];

    snprintf(path, sizeof path, "%s/ckpt", a);
    CHECK_OK(rgm_checkpoint_store_open(&store, path, &read));
    CHECK_OK(rgm_checkpoint_steps(&steps, &count, store));
    CHECK(count > 0);
    check_same_file(a, b, "metrics.jsonl");
    snprintf(path, sizeof path, "ckpt/step-%08lld/weights.safetensors",
             (long long)steps[count - 1]);
    check_same_file(a, b, path);
    rgm_free(steps);
    rgm_checkpoint_store_close(store);
}

#endif

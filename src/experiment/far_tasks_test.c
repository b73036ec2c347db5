/*
 * Experiments of every task type on a device whose memory is not the host's: each leaves the bytes
 * that it leaves on the CPU, also when it is stopped there and goes on on the other.
 */
#include "far_device_check.h"

#include <regimen/experiment.h>
#include <train_check.h>
#include <unistd.h>

static int open_far(void **state)
{
    (void)state;
    far_open();
    return 0;
}

static int shut_far(void **state)
{
    (void)state;
    far_close();
    return 0;
}

#define CITATION                                                                                   \
    "data: {type: citation, citation: {nodes: 60, edges: 120, classes: 3, words: 30,\n"            \
    "       words_per_node: 4, train_per_class: 4, valid: 20, test: 20}"
#define NODES   "task: {type: node_classification, node_set: nodes, num_classes: 3}\n"
#define TRAINER "optimizer: {type: adam, learning_rate: 1e-2, average: {decay: 0.9}}\n"

/* Named for messages; each is a whole experiment. */
static const struct experiment_case {
    const char *name, *text;
} cases[] = {
    {"records", "data: {path: ., train: records.csv, valid: records.csv, batch_size: 30}\n"
                "task: {type: classification, num_classes: 3}\n"
                "model: {type: mlp, batch_norm: true, dropout: 0.2}\n" TRAINER
                "trainer: {epochs: 3, accumulation_steps: 2, norms: true}\n"},
    {"private records", "data: {path: ., train: records.csv, valid: records.csv, batch_size: 30,\n"
                        "       poisson: true}\n"
                        "task: {type: classification, num_classes: 3}\nmodel: {type: mlp}\n"
                        "optimizer: {type: sgd, learning_rate: 0.1}\n"
                        "trainer: {epochs: 3, privacy: {clipping_norm: 1, noise_multiplier: 1,\n"
                        "          noise_seed: 3, delta: 1e-3}}\n"},
    {"graph network", CITATION "}\n" NODES "model: {type: gcn, hidden: [4], dropout: 0.5}\n" TRAINER
                               "trainer: {epochs: 5}\n"},
    {"attention", CITATION "}\n" NODES "model: {type: gat_v2, hidden: [4], heads: 2}\n"
                           "optimizer: {type: lamb, learning_rate: 1e-2}\n"
                           "trainer: {epochs: 4, histograms: true}\n"
                           "runtime: {mixed_precision: bf16, loss_scale: dynamic}\n"},
    {"sampled graph",
     CITATION ", batch_size: 4, sampling: {sizes: [3, 2], store: memory}}\n"
              "task: {type: root_node_classification, node_set: nodes, num_classes: 3}\n"
              "model: {type: graph_sage, hidden: [4, 4]}\n"
              "optimizer: {type: adafactor, learning_rate: 1e-2}\ntrainer: {epochs: 2}\n"},
    {"links",
     CITATION ", node_set: nodes, edge_set: edges, links: {undirected: true}}\n"
              "task: {type: link_prediction, head: dot}\n"
              "model: {type: gcn, hidden: [8], output: 4}\n" TRAINER "trainer: {epochs: 3}\n"},
    {"two tasks", CITATION "}\n"
                           "tasks:\n"
                           "  topic: {type: node_classification, node_set: nodes, num_classes: 3}\n"
                           "  infomax: {type: deep_graph_infomax, node_set: nodes}\n"
                           "model: {type: gcn, hidden: [8], dropout: 0.5}\n" TRAINER
                           "trainer: {epochs: 3, gradient_surgery: pcgrad}\n"},
    {"events", "data: {type: events, batch_size: 64, sampling: {sizes: [5], edge_sets: [has],\n"
               "       strategy: latest_k, time_feature_name: time, store: memory,\n"
               "       seed_time_feature_name: asked}}\n"
               "task: {type: root_node_classification, node_set: account, num_classes: 4}\n"
               "model: {type: graph_sage, hidden: [8], aggregator: mean, receiver: source}\n"
               "optimizer: {type: rmsprop, learning_rate: 1e-2}\n"
               "trainer: {train_steps: 6, steps_per_loop: 3, validation_interval: 3,\n"
               "          validation_steps: 2}\nexport: []\n"},
    {"translation", "data: {reverse: {vocabulary: 18, max_length: 6, train: 60, valid: 6},\n"
                    "       batch_tokens: 256}\n"
                    "task: {type: translation, search: {beam_size: 2}}\n"
                    "model: {type: seq2seq_transformer, embedding_width: 16,\n"
                    "        encoder: {num_layers: 1, num_attention_heads: 2},\n"
                    "        decoder: {num_layers: 1, num_attention_heads: 2}}\n"
                    "optimizer: {type: adamw, learning_rate: 1e-2, clip_global_norm: 1}\n"
                    "trainer: {epochs: 2}\nexport: []\n"},
};

static void write_records(void)
{
    char text[4096];
    size_t used = 0;

    for (int i = 0; i < 90; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d.%d,%d,%d\n", i % 3, i % 4,
                                 i % 3, i % 3);
    CHECK_OK(rgm_file_save("records.csv", text, (int64_t)used));
}

static bool stop_later(void *payload)
{
    return --*(int *)payload < 0;
}

/* Run case c on a device, to its end or until so many steps (-1: all) were asked for. */
static rgm_status run_case(const struct experiment_case *c, const char *folder, rgm_device *device,
                           int steps)
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

static void check_file(const char *what, const char *a, const char *b, const char *name)
{
    const char *folders[] = {a, b};
    char path[300], *data[2];
    int64_t size[2];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        CHECK_OK(rgm_file_load(&data[i], &size[i], path, 1 << 26));
    }
    if (size[0] != size[1] || memcmp(data[0], data[1], (size_t)size[0]) != 0)
        fail_msg("%s: %s differs", what, name);
    rgm_free(data[0]);
    rgm_free(data[1]);
}

static void check_same_run(const char *what, const char *a, const char *b)
{
    const rgm_checkpoint_store_options read = {.keep = 1, .read_only = true};
    rgm_checkpoint_store *store;
    int64_t *steps, count;
    char path[300];

    snprintf(path, sizeof path, "%s/ckpt", a);
    CHECK_OK(rgm_checkpoint_store_open(&store, path, &read));
    CHECK_OK(rgm_checkpoint_steps(&steps, &count, store));
    CHECK(count > 0);
    check_file(what, a, b, "metrics.jsonl");
    snprintf(path, sizeof path, "ckpt/step-%08lld/weights.safetensors",
             (long long)steps[count - 1]);
    check_file(what, a, b, path);
    rgm_free(steps);
    rgm_checkpoint_store_close(store);
}

static void every_task_type_leaves_the_bytes_of_the_cpu(void **state)
{
    const char *folder = check_fast_folder();

    (void)state;
    CHECK(chdir(folder) == 0);
    write_records();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct experiment_case *c = &cases[i];

        CHECK_INT(RGM_OK, run_case(c, "here", NULL, -1));
        CHECK_INT(RGM_OK, run_case(c, "there", far.device, -1));
        check_same_run(c->name, "here", "there");
        CHECK_INT(RGM_STOPPED, run_case(c, "turns", far.device, 2));
        if (run_case(c, "turns", NULL, 1) == RGM_STOPPED)
            CHECK_INT(RGM_OK, run_case(c, "turns", far.device, -1));
        check_same_run(c->name, "here", "turns");
        CHECK_OK(rgm_folder_remove("here"));
        CHECK_OK(rgm_folder_remove("there"));
        CHECK_OK(rgm_folder_remove("turns"));
    }
    CHECK(atomic_load(&far.calls) > 10000);
    CHECK(chdir("/") == 0);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test_setup_teardown(every_task_type_leaves_the_bytes_of_the_cpu, open_far,
                                      shut_far))

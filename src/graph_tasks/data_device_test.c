/*
 * Mini-batches of one graph on a device whose memory is not the host's: features stay there and are
 * gathered there, or their rows are sent; either leaves the weights that the CPU does, and what was
 * lent is taken back.
 */
#include "far_device_check.h"

#include <regimen/graph_tasks.h>

enum { NODES = 120, EDGES = 400, WIDTH = 24, CLASSES = 3, BATCH = 10 };

typedef struct setting {
    rgm_graph *graph;
    rgm_tensor *x, *parts[2]; /* seeds of training and of validation */
    rgm_sampling_spec *spec;
    rgm_graph_learning_options what;
    rgm_run_options how;
    rgm_sage_model_options model;
} setting;

static void make_graph(setting *s)
{
    rgm_rng rng = rgm_rng_stream(7, "graph", 0);
    rgm_tensor *ends[2], *label;

    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_tensor_create(&ends[i], RGM_I64, 1, (int64_t[]){EDGES}));
        for (int64_t e = 0; e < EDGES; e++)
            rgm_tensor_i64(ends[i])[e] = rgm_rng_u32(&rng, (uint64_t)(2 * e + i)) % NODES;
    }
    CHECK_OK(rgm_tensor_create(&s->x, RGM_F32, 2, (int64_t[]){NODES, WIDTH}));
    CHECK_OK(rgm_tensor_create(&label, RGM_I64, 1, (int64_t[]){NODES}));
    for (int64_t i = 0; i < NODES; i++) {
        rgm_tensor_i64(label)[i] = i % CLASSES;
        for (int64_t k = 0; k < WIDTH; k++)
            rgm_tensor_f32(s->x)[i * WIDTH + k] =
                (float)((i * 31 + k * 17) % 13) / 13 + (k == i % CLASSES);
    }
    const rgm_named_tensor features[] = {{"x", s->x}, {"label", label}};
    CHECK_OK(rgm_graph_homogeneous(&s->graph, &(rgm_homogeneous){.source = ends[0],
                                                                 .target = ends[1],
                                                                 .node_features = features,
                                                                 .node_feature_count = 2}));
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    rgm_tensor_release(label);
}

static rgm_provider *provider_of(const setting *s, int part)
{
    const rgm_sampling_provider_options options = {.spec = s->spec,
                                                   .batch_size = BATCH,
                                                   .label = "label",
                                                   .shuffle = part == 0,
                                                   .resample = true,
                                                   .once = true,
                                                   .seed = 5,
                                                   .threads = 2};

    return rgm_sampling_provider(s->graph, s->parts[part], &options);
}

static void open_setting(setting *s)
{
    const char *hops[] = {"<edges", "<edges"};
    rgm_graph_classification_options task = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;

    *s = (setting){.what = RGM_GRAPH_LEARNING_OPTIONS_INIT, .how = RGM_RUN_OPTIONS_INIT};
    make_graph(s);
    CHECK_OK(rgm_tensor_arange(&s->parts[0], NODES));
    CHECK_OK(rgm_tensor_slice(&s->parts[1], s->parts[0], 80, NODES));
    CHECK_OK(rgm_sampling_spec_create(&s->spec, rgm_graph_schema(s->graph), "nodes", hops,
                                      (int64_t[]){4, 3}, 2, RGM_SAMPLE_UNIFORM));
    s->what.train_data = provider_of(s, 0);
    s->what.valid_data = provider_of(s, 1);
    task.place.node_set = "nodes";
    task.num_classes = CLASSES;
    s->what.task = rgm_graph_task_create(&rgm_node_classification, NULL, &task);
    rgm_sage_model.section.defaults(&s->model);
    s->what.model_fn = rgm_sage_model.build;
    s->what.model_payload = &s->model;
    s->how.optimizer = rgm_adam(0.01);
    s->how.trainer.epochs = 2;
    s->how.runtime.threads = 2;
    s->how.releases_task = true;
}

static void close_setting(setting *s)
{
    rgm_graph_task_release(s->what.task);
    rgm_provider_release(s->what.train_data);
    rgm_provider_release(s->what.valid_data);
    rgm_sampling_spec_release(s->spec);
    rgm_tensor_release(s->parts[0]);
    rgm_tensor_release(s->parts[1]);
    rgm_graph_release(s->graph);
    rgm_tensor_release(s->x);
}

/* What a run says and comes to. */
typedef struct outcome {
    rgm_text plan, weights;
    double loss;
    int64_t copied;
} outcome;

/* lends: the run has the device take rows of the features. */
static outcome run_on(setting *s, rgm_device *device, double share, bool lends)
{
    outcome out = {.copied = far.copied};
    const rgm_parameters *parameters;
    rgm_open_run *run;
    rgm_task task;

    s->how.trainer.device = device;
    s->how.runtime.features_on_device = share;
    CHECK_OK(rgm_graph_learning_create(&task, &s->what, &s->how.runtime));
    CHECK_OK(rgm_run_open(&run, &task, &s->how));
    CHECK_OK(rgm_run_plan(&out.plan, run));
    CHECK(rgm_tensor_is_lent(s->x) == lends);
    CHECK_OK(rgm_run_complete(run));
    parameters = rgm_trainer_parameters(rgm_run_trainer(run));
    CHECK(rgm_parameters_count(parameters) > 2);
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const rgm_tensor *w = rgm_parameters_read(parameters, i);
        CHECK_OK(rgm_text_add(&out.weights, rgm_tensor_data(w), (int64_t)rgm_tensor_bytes(w)));
    }
    out.loss = rgm_run_metric(run, "valid", "loss");
    rgm_run_close(run);
    CHECK(!rgm_tensor_is_lent(s->x) && rgm_tensor_there(s->x) == NULL);
    out.copied = far.copied - out.copied;
    return out;
}

static void check_same(const outcome *a, const outcome *b)
{
    CHECK_INT(a->weights.size, b->weights.size);
    CHECK(memcmp(a->weights.data, b->weights.data, (size_t)a->weights.size) == 0);
    CHECK(a->loss == b->loss);
}

static void clear(outcome *o)
{
    rgm_text_clear(&o->plan);
    rgm_text_clear(&o->weights);
}

static void features_that_stay_leave_the_weights_of_the_cpu(void **state)
{
    outcome here, stay, sent;
    setting s;

    (void)state;
    open_setting(&s);
    here = run_on(&s, NULL, 0.5, false);
    stay = run_on(&s, far.device, 0.5, true);
    sent = run_on(&s, far.device, 0, true);
    CHECK(strstr(here.plan.data, "features ") == NULL);
    CHECK(strstr(stay.plan.data, "features nodes.x, 0.0 MB, stay on far: batches send the numbers "
                                 "of their rows\n") != NULL);
    CHECK(strstr(sent.plan.data,
                 "features nodes.x, 0.0 MB, do not stay on far "
                 "(runtime.features_on_device): batches send their rows\n") != NULL);
    check_same(&here, &stay);
    check_same(&here, &sent);
    /* 120 seeds twice and 40 twice, each with some neighbours: their rows, or 4 bytes for each. */
    CHECK(stay.copied < sent.copied - 2 * (NODES + 40) * (WIDTH - 1) * 4 + NODES * WIDTH * 4);
    clear(&here);
    clear(&stay);
    clear(&sent);
    close_setting(&s);
}

static rgm_status add_loops(rgm_graph **out, rgm_graph *graph, const void *options,
                            const rgm_rng *rng)
{
    (void)options, (void)rng;
    return rgm_graph_add_self_loops(out, graph, "edges");
}

/* A processor may make other features of those, so it gets elements, and so does the device. */
static void what_is_processed_is_sent(void **state)
{
    static const rgm_graph_processor_type loops = {.section = {.name = "loops"},
                                                   .process = add_loops};
    const rgm_graph_processor processor = {&loops, NULL};
    outcome here, there;
    setting s;

    (void)state;
    open_setting(&s);
    s.what.processors = &processor;
    s.what.processor_count = 1;
    here = run_on(&s, NULL, 0.5, false);
    there = run_on(&s, far.device, 0.5, false);
    CHECK(strstr(there.plan.data, "features ") == NULL);
    check_same(&here, &there);
    clear(&here);
    clear(&there);
    close_setting(&s);
}

TESTS(FAR(features_that_stay_leave_the_weights_of_the_cpu), FAR(what_is_processed_is_sent))

/*
 * rgm_run(): every argument of the seed page at work on small graphs: tasks alone and together,
 * padding, processors, providers of one's own, eager mode, predictions, and the mistakes one can
 * make.
 */
#include <check.h>

#include <regimen/graph_tasks.h>

#define GRAPHS 24

static const char SCHEMA[] =
    "context { features { key: \"kind\" value { dtype: DT_INT64 } }\n"
    "          features { key: \"bits\" value { dtype: DT_INT64 shape { dim { size: 2 } } } } }\n"
    "node_sets { key: \"atom\" value {\n"
    "  features { key: \"x\" value { dtype: DT_FLOAT shape { dim { size: 3 } } } } } }\n"
    "edge_sets { key: \"bond\" value { source: \"atom\" target: \"atom\" } }\n";

/* Graph i: a ring of 3 + i % 4 atoms; kind 1 when its numbers are large, bits are its parities. */
static rgm_graph *make_graph(rgm_schema *schema, int64_t i)
{
    int64_t n = 3 + i % 4, kind = (i / 2) % 2, bits[2] = {kind, i % 2};
    rgm_graph_builder *builder;
    rgm_graph *graph;
    rgm_tensor *source, *target, *x, *label, *parity;

    CHECK_OK(rgm_tensor_create(&source, RGM_I64, 1, &n));
    CHECK_OK(rgm_tensor_create(&target, RGM_I64, 1, &n));
    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){n, 3}));
    CHECK_OK(rgm_tensor_create_from(&label, RGM_I64, 1, (int64_t[]){1}, &kind));
    CHECK_OK(rgm_tensor_create_from(&parity, RGM_I64, 2, (int64_t[]){1, 2}, bits));
    for (int64_t k = 0; k < n; k++) {
        rgm_tensor_i64(source)[k] = k;
        rgm_tensor_i64(target)[k] = (k + 1) % n;
        for (int d = 0; d < 3; d++)
            rgm_tensor_f32(x)[3 * k + d] =
                (float)(kind + 1) * (float)(1 + d) / 4 + (float)(i % 2) * (float)d;
    }
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", &n));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "bond", &n));
    CHECK_OK(rgm_graph_builder_edges(builder, "bond", source, target));
    CHECK_OK(
        rgm_graph_builder_feature(builder, RGM_NODE_SET, "atom", "x", &(rgm_feature){.values = x}));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "kind",
                                       &(rgm_feature){.values = label}));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "bits",
                                       &(rgm_feature){.values = parity}));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_tensor_release(x);
    rgm_tensor_release(label);
    rgm_tensor_release(parity);
    return graph;
}

static rgm_provider *molecules(void)
{
    rgm_schema *schema;
    rgm_graph *graphs[GRAPHS];
    rgm_provider *provider;

    CHECK_OK(rgm_schema_parse(&schema, SCHEMA, sizeof SCHEMA - 1, "schema"));
    for (int64_t i = 0; i < GRAPHS; i++)
        graphs[i] = make_graph(schema, i);
    provider = rgm_graphs_provider(graphs, GRAPHS, true);
    CHECK(provider != NULL);
    for (int64_t i = 0; i < GRAPHS; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    return provider;
}

static int base_calls;

/* Sum over neighbours of a dense layer; looks at nothing but x. */
static rgm_graph_value *ring_gnn(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_value *h = rgm_dense(scope, "atom", rgm_node_feature(graph, "atom", "x"), 8);
    rgm_value *edges = rgm_adjacency(graph, "bond", RGM_TARGET);

    (void)payload;
    base_calls++;
    h = rgm_relu(rgm_add(h, rgm_pool_rows(edges, rgm_broadcast_columns(edges, h), RGM_SUM)));
    return rgm_with_state(graph, "atom", h);
}

typedef struct arguments {
    rgm_graph_learning_options what;
    rgm_run_options how;
} arguments;

static arguments graph_run(rgm_provider *data)
{
    arguments run = {RGM_GRAPH_LEARNING_OPTIONS_INIT, RGM_RUN_OPTIONS_INIT};

    run.what.train_data = data;
    run.what.valid_data = data;
    run.what.model_fn = ring_gnn;
    run.what.task = rgm_graph_multiclass("atom", "kind", 2);
    run.how.optimizer = rgm_adam(0.02);
    run.what.global_batch_size = 5;
    run.how.trainer.epochs = 12;
    run.how.runtime.seed = 3;
    run.how.runtime.threads = 2;
    return run;
}

/* Of a test that began with graph_run(). */
static void end(arguments *run, rgm_provider *data)
{
    rgm_graph_task_release(run->what.task);
    rgm_provider_release(data);
}

static rgm_open_run *must_run(const arguments *run)
{
    rgm_open_run *result = NULL;

    CHECK_OK(rgm_run(&result, &run->what, &run->how));
    return result;
}

static void refuse(const arguments *run, rgm_status status, const char *part)
{
    rgm_open_run *result = NULL;

    CHECK_STATUS(status, rgm_run(&result, &run->what, &run->how));
    CHECK(result == NULL);
    CHECK_MESSAGE(part);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void graphs_are_classified_and_the_last_batch_counts(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *result = must_run(&run);
    const rgm_epoch_logs *records;

    (void)state;
    CHECK_INT(12 * 5, rgm_run_steps(result)); /* 24 graphs: 4 batches of 5 and one of 4 */
    CHECK_INT(12, rgm_run_history(&records, result));
    CHECK(rgm_run_metric(result, "valid", "accuracy") > 0.8);
    CHECK(isnan(rgm_run_metric(result, "test", "accuracy")));
    CHECK(rgm_run_best_step(result) > 0);
    rgm_run_close(result);
    run.what.drop_remainder = true;
    result = must_run(&run);
    CHECK_INT(12 * 4, rgm_run_steps(result));
    rgm_run_close(result);
    end(&run, data);
}

static void eager_mode_and_steps_per_execution_change_no_number(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *plain = must_run(&run), *eager, *several;

    (void)state;
    run.how.trainer.run_eagerly = true;
    eager = must_run(&run);
    run.how.trainer.run_eagerly = false;
    run.how.trainer.steps_per_execution = 7;
    several = must_run(&run);
    CHECK_CLOSE(rgm_run_metric(eager, "valid", "loss"), rgm_run_metric(plain, "valid", "loss"),
                1e-4, 0);
    CHECK_CLOSE(rgm_run_metric(several, "valid", "loss"), rgm_run_metric(plain, "valid", "loss"), 0,
                0);
    rgm_run_close(plain);
    rgm_run_close(eager);
    rgm_run_close(several);
    end(&run, data);
}

static void padding_changes_no_metric(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *plain = must_run(&run), *padded;

    (void)state;
    run.what.train_padding.kind = RGM_PADDING_TIGHT;
    run.what.valid_padding.kind = RGM_PADDING_TIGHT;
    padded = must_run(&run);
    CHECK_INT(rgm_run_steps(plain), rgm_run_steps(padded));
    CHECK_CLOSE(rgm_run_metric(padded, "valid", "loss"), rgm_run_metric(plain, "valid", "loss"),
                1e-4, 0);
    CHECK_CLOSE(rgm_run_metric(padded, "valid", "accuracy"),
                rgm_run_metric(plain, "valid", "accuracy"), 0, 0);
    rgm_run_close(plain);
    rgm_run_close(padded);
    end(&run, data);
}

/* How many predictions there are, and the sum of their first logits. */
typedef struct tally {
    int64_t items;
    double sum;
} tally;

static rgm_status count_predictions(const rgm_prediction *p, void *payload)
{
    tally *t = payload;

    for (int64_t i = 0; i < rgm_tensor_dim(p->values, 0); i++)
        t->sum += rgm_tensor_at(p->values, i * 2);
    t->items += rgm_tensor_dim(p->values, 0);
    return RGM_OK;
}

static void no_padding_drops_an_example_or_predicts_one_more(void **state)
{
    static const rgm_padding_kind kinds[] = {RGM_PADDING_FIT, RGM_PADDING_TIGHT};
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *plain = must_run(&run), *padded;

    (void)state;
    run.what.train_padding.success_ratio = run.what.valid_padding.success_ratio = 0.3;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        run.what.train_padding.kind = run.what.valid_padding.kind = kinds[k];
        padded = must_run(&run);
        CHECK_INT(rgm_run_steps(plain), rgm_run_steps(padded));
        CHECK_CLOSE(rgm_run_metric(padded, "valid", "loss"), rgm_run_metric(plain, "valid", "loss"),
                    1e-4, 0);
        for (int mode = RGM_TRAIN; mode <= RGM_VALID; mode++) {
            tally all = {0}, same = {0};

            CHECK_OK(rgm_run_predict(padded, (rgm_mode)mode, 0, count_predictions, &all));
            CHECK_OK(rgm_run_predict(plain, (rgm_mode)mode, 0, count_predictions, &same));
            CHECK_INT(GRAPHS, all.items);
            CHECK_CLOSE(all.sum, same.sum, 1e-3, 1e-3);
        }
        rgm_run_close(padded);
    }
    rgm_run_close(plain);
    end(&run, data);
}

/* Sizes that are given hold where they were given; batches that do not fit stay as they are. */
static void given_sizes_are_padded_to(void **state)
{
    static const char *const names[] = {"components", "atom"};
    static const double sizes[2][2] = {{40, 300}, {40, 9}};
    static const struct {
        const char *name;
        double total;
        const char *message;
    } wrong[] = {
        {"atoms", 300, "data.train_padding.totals.atoms: that is neither a set of the graphs"},
        {"atoms", 300, "; did you mean 'atom'?"},
        {"atom", 40.7, "data.train_padding.totals.atom is 40.7: a number of items is whole"},
        {"components", 5, "data.train_padding.totals.components is 5, but must be above the batch"},
        {"atom", 5, "data.train_padding.totals.atom is 5, but the largest example and padding"},
    };
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *plain = must_run(&run), *padded;
    rgm_text plan = {0};

    (void)state;
    run.what.train_padding.kind = run.what.valid_padding.kind = RGM_PADDING_TIGHT;
    for (int k = 0; k < 2; k++) { /* with room for every batch, and for none */
        if (k == 1)
            run.what.train_padding.kind = run.what.valid_padding.kind = RGM_PADDING_FIT;
        run.what.train_padding.totals = (rgm_numbers){names, sizes[k], 2};
        run.what.valid_padding.totals = run.what.train_padding.totals;
        padded = must_run(&run);
        plan.size = 0;
        CHECK_OK(rgm_run_plan(&plan, padded));
        CHECK(strstr(plan.data, k == 0 ? "padding valid 40 components, 300 atom, "
                                       : "padding valid 40 components, 9 atom, ") != NULL);
        CHECK_CLOSE(rgm_run_metric(padded, "valid", "loss"), rgm_run_metric(plain, "valid", "loss"),
                    1e-4, 0);
        CHECK_INT(rgm_run_steps(plain), rgm_run_steps(padded));
        rgm_run_close(padded);
    }
    run.what.valid_padding.totals = (rgm_numbers){.count = 0};
    run.what.train_padding.kind = run.what.valid_padding.kind = RGM_PADDING_TIGHT;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        run.what.train_padding.totals = (rgm_numbers){&wrong[i].name, &wrong[i].total, 1};
        refuse(&run, RGM_ERR_CONFIG, wrong[i].message);
    }
    run.what.train_padding.totals = (rgm_numbers){.count = 0};
    run.what.valid_padding.totals = (rgm_numbers){&wrong[0].name, &wrong[0].total, 1};
    refuse(&run, RGM_ERR_CONFIG, "data.valid_padding.totals.atoms: ");
    rgm_text_clear(&plan);
    rgm_run_close(plain);
    end(&run, data);
}

/* ---- batches by size ------------------------------------------------------------------------- */

typedef struct seen_batches {
    int64_t count, graphs, most_nodes, most_edges, most_graphs;
} seen_batches;

/* Every batch as the model gets it, noted as it goes by on one thread. */
static rgm_status note_batch(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    seen_batches *seen = *(seen_batches *const *)options;
    const int64_t nodes = rgm_graph_total(graph, RGM_NODE_SET, "atom");
    const int64_t edges = rgm_graph_total(graph, RGM_EDGE_SET, "bond");
    const int64_t graphs = rgm_graph_components(graph);

    seen->count++;
    seen->graphs += graphs;
    seen->most_nodes = nodes > seen->most_nodes ? nodes : seen->most_nodes;
    seen->most_edges = edges > seen->most_edges ? edges : seen->most_edges;
    seen->most_graphs = graphs > seen->most_graphs ? graphs : seen->most_graphs;
    (void)rng;
    *out = rgm_graph_retain(graph);
    return RGM_OK;
}

/* It draws nothing, but is asked of batches alone. */
static const rgm_graph_processor_type noting = {
    .section = {.name = "noting"}, .training_only = true, .process = note_batch};

/* No batch exceeds a budget, each example is in one batch an epoch, and the same seed gives the
 * same run on one thread and on two. */
static void batches_by_size_keep_to_their_budgets(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    seen_batches seen = {0}, *to = &seen;
    rgm_graph_processor processor = {&noting, &to};
    double loss[2];

    (void)state;
    run.what.global_batch_size = 1;
    run.what.batch_nodes = 20;
    run.what.batch_edges = 19;
    run.what.valid_data = NULL;
    run.what.processors = &processor;
    run.how.trainer.epochs = 2;
    for (int threads = 1; threads <= 2; threads++) {
        rgm_open_run *result;
        tally all = {0};

        run.what.processor_count = threads == 1 ? 1 : 0;
        run.how.runtime.threads = threads;
        result = must_run(&run);
        loss[threads - 1] = rgm_run_metric(result, "train", "loss");
        CHECK(rgm_run_steps(result) < 2 * GRAPHS);
        CHECK_OK(rgm_run_predict(result, RGM_TRAIN, 0, count_predictions, &all));
        CHECK_INT(GRAPHS, all.items);
        rgm_run_close(result);
    }
    CHECK(seen.most_nodes <= 19 && seen.most_nodes > 14);
    CHECK(seen.most_edges <= 19);
    CHECK(seen.most_graphs > 2);
    CHECK_CLOSE(loss[0], loss[1], 0, 0);
    end(&run, data);
}

/* Every batch fits the budgets with what padding adds, and the metrics are those without. */
static void padding_to_budgets_changes_no_metric(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *plain, *padded;

    (void)state;
    run.what.global_batch_size = 6;
    run.what.batch_nodes = 20;
    run.what.batch_edges = 20;
    run.how.runtime.threads = 1;
    plain = must_run(&run);
    run.what.train_padding.kind = run.what.valid_padding.kind = RGM_PADDING_TIGHT;
    padded = must_run(&run);
    CHECK_INT(rgm_run_steps(plain), rgm_run_steps(padded));
    CHECK_CLOSE(rgm_run_metric(padded, "valid", "loss"), rgm_run_metric(plain, "valid", "loss"),
                1e-4, 0);
    rgm_run_close(plain);
    rgm_run_close(padded);
    end(&run, data);
}

static void what_is_larger_than_a_batch_is_named(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);

    (void)state;
    run.what.batch_nodes = 2;
    refuse(&run, RGM_ERR_DATA, "nodes, more than a batch (batch_nodes is 2)");
    run.what.batch_nodes = 0;
    run.what.batch_edges = 1;
    refuse(&run, RGM_ERR_DATA, "edges, more than a batch (batch_edges is 1)");
    run.what.batch_edges = 70;
    run.what.train_padding.kind = RGM_PADDING_FIT;
    refuse(&run, RGM_ERR_CONFIG, "padding is tight");
    run.what.train_padding.kind = RGM_PADDING_NONE;
    run.what.drop_remainder = true;
    refuse(&run, RGM_ERR_CONFIG, "none is dropped");
    end(&run, data);
}

static void a_remainder_that_is_not_trained_is_predicted(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *result;
    tally all = {0};

    (void)state;
    run.what.drop_remainder = true;
    result = must_run(&run);
    CHECK_OK(rgm_run_predict(result, RGM_TRAIN, 0, count_predictions, &all));
    CHECK_INT(GRAPHS, all.items);
    rgm_run_close(result);
    end(&run, data);
}

/* Labels moved to "_readout", so that several tasks may see one graph. */
static rgm_status readouts(rgm_graph **out, rgm_graph *graph, const void *payload,
                           const rgm_rng *rng)
{
    rgm_status status;
    rgm_graph *kind = NULL;

    (void)rng;
    (**(int *const *)payload)++;
    RGM_TRY(rgm_graph_context_into_readout(&kind, graph, "kind", NULL, true, RGM_READOUT));
    status = rgm_graph_context_into_readout(out, kind, "bits", NULL, true, RGM_READOUT);
    rgm_graph_release(kind);
    return status;
}

static void several_tasks_share_one_pass_and_are_weighed(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_graph_classification_options bits = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_graph_task *tasks[2];
    int processed = 0, *counter = &processed;
    const rgm_graph_processor_type type = {.section = {.name = "readouts"}, .process = readouts};
    rgm_graph_processor processor = {&type, &counter};
    double weights[2] = {1, 0.25}, weight;
    rgm_open_run *result;
    const rgm_epoch_logs *records;
    int64_t last;

    (void)state;
    bits.place.node_set = "atom";
    bits.place.label = "bits";
    bits.units = 2;
    tasks[0] = rgm_graph_task_create(&rgm_graph_classification, "kind",
                                     rgm_graph_task_options(run.what.task));
    tasks[1] = rgm_graph_task_create(&rgm_graph_binary_classification, "bits", &bits);
    CHECK(tasks[0] != NULL && tasks[1] != NULL);
    rgm_graph_task_release(run.what.task);
    run.what.task = NULL;
    run.how.trainer.epochs = 60;
    run.what.tasks = tasks;
    run.what.task_count = 2;
    run.what.loss_weights = weights;
    run.what.processors = &processor;
    run.what.processor_count = 1;
    base_calls = 0;
    result = must_run(&run);
    CHECK_INT(1, base_calls);
    CHECK_INT(1 + 2 * GRAPHS, processed); /* of the schema, then each graph once */
    CHECK(rgm_run_metric(result, "valid", "kind_accuracy") > 0.8);
    CHECK(rgm_run_metric(result, "valid", "bits_binary_accuracy") > 0.6);
    last = rgm_run_history(&records, result) - 1;
    /* Mean binary cross-entropy and cross-entropy are the heads' losses. */
    CHECK_CLOSE(rgm_logs_get(&records[last].valid, "loss"),
                rgm_logs_get(&records[last].valid, "kind_cross_entropy") +
                    0.25 * rgm_logs_get(&records[last].valid, "bits_cross_entropy"),
                1e-4, 0);
    rgm_run_close(result);
    /* Learned weights: what is told is what the losses say. */
    run.what.loss_weights = NULL;
    run.what.learned_weights = (bool[]){true, false};
    result = must_run(&run);
    weight = rgm_run_metric(result, "valid", "kind_loss_weight");
    CHECK(weight > 1.01);
    CHECK_CLOSE(rgm_run_metric(result, "valid", "loss"),
                weight * rgm_run_metric(result, "valid", "kind_cross_entropy") - 0.5 * log(weight) +
                    rgm_run_metric(result, "valid", "bits_cross_entropy"),
                1e-4, 0);
    CHECK(isnan(rgm_run_metric(result, "valid", "bits_loss_weight")));
    rgm_run_close(result);
    run.what.loss_weights = weights;
    run.what.learned_weights = (bool[]){false, true};
    refuse(&run, RGM_ERR_CONFIG, "loss_weights[1], of task 'bits', is 0.25, but its weight is");
    run.what.learned_weights = NULL;
    /* Without the processor the first task would take its label off the shared graph. */
    run.what.processor_count = 0;
    refuse(&run, RGM_ERR_CONFIG, "labels must stand on '_readout'");
    rgm_graph_task_release(tasks[0]);
    rgm_graph_task_release(tasks[1]);
    end(&run, data);
}

static rgm_graph_value *leaking_gnn(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_value *kind = rgm_cast(rgm_context_feature(graph, "kind"), RGM_F32);

    (void)scope;
    (void)payload;
    return rgm_with_state(graph, "atom",
                          rgm_broadcast(graph, RGM_CONTEXT, RGM_NODE_SET, "atom", kind));
}

static void a_model_cannot_see_the_label(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);

    (void)state;
    run.what.model_fn = leaking_gnn;
    refuse(&run, RGM_ERR_NOT_FOUND, "kind");
    end(&run, data);
}

static void predictions_do_not_depend_on_batch_mates(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *result = must_run(&run);
    rgm_schema *schema = rgm_provider_schema(data);
    rgm_graph *graphs[2] = {make_graph(schema, 1), make_graph(schema, 6)}, *alone, *both;
    rgm_element *examples[2];
    rgm_tensor *one, *two;
    rgm_text bytes = {0};

    (void)state;
    for (int i = 0; i < 2; i++)
        CHECK_OK(rgm_element_create_pointer(&examples[i], &rgm_graph_element, graphs[i]));
    CHECK_OK(rgm_graph_run_preprocess(&alone, result, examples, 1));
    CHECK_OK(rgm_graph_run_preprocess(&both, result, examples, 2));
    CHECK_OK(rgm_graph_run_predict(&one, result, 0, alone));
    CHECK_OK(rgm_graph_run_predict(&two, result, 0, both));
    CHECK_INT(1, rgm_tensor_dim(one, 0));
    CHECK_INT(2, rgm_tensor_dim(two, 0));
    for (int u = 0; u < 2; u++)
        CHECK_CLOSE(rgm_tensor_at(two, u), rgm_tensor_at(one, u), 0, 0);
    rgm_tensor_release(two);
    rgm_graph_release(alone);
    /* A serialized example goes the same way, without its labels too. */
    CHECK_OK(rgm_graph_encode(&bytes, rgm_element_pointer(examples[0], &rgm_graph_element), NULL));
    rgm_element_release(examples[0]);
    CHECK_OK(rgm_element_create_bytes(&examples[0], bytes.data, bytes.size));
    CHECK_OK(rgm_graph_run_preprocess(&alone, result, examples, 1));
    CHECK_OK(rgm_graph_run_predict(&two, result, 0, alone));
    CHECK(rgm_tensor_equal(one, two));
    rgm_text_clear(&bytes);
    rgm_tensor_release(one);
    rgm_tensor_release(two);
    rgm_graph_release(alone);
    rgm_graph_release(both);
    rgm_element_release(examples[0]);
    rgm_element_release(examples[1]);
    rgm_run_close(result);
    end(&run, data);
}

static void a_mix_of_providers_ends_with_the_first(void **state)
{
    rgm_provider *data = molecules(), *both[2] = {data, data}, *mix;
    arguments run = graph_run(data);
    rgm_open_run *result;

    (void)state;
    mix = rgm_mix_provider(both, (double[]){1, 1}, 2);
    CHECK(mix != NULL);
    run.what.train_data = mix;
    run.how.trainer.epochs = 4;
    result = must_run(&run);
    CHECK(rgm_run_steps(result) > 4 * 5); /* some 48 graphs an epoch */
    rgm_run_close(result);
    rgm_provider_release(mix);
    end(&run, data);
}

static void exports_go_to_every_folder(void **state)
{
    char root[128], a[160], b[160];
    const char *dirs[2] = {a, b};
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_exporter onnx = rgm_onnx_exporter();
    rgm_export_check check;
    rgm_open_run *result;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    snprintf(a, sizeof a, "%s/a", root);
    snprintf(b, sizeof b, "%s/b/c", root);
    run.how.exporters = &onnx;
    run.how.exporter_count = 1;
    refuse(&run, RGM_ERR_CONFIG, "run_dir or export_dirs");
    run.how.export_dirs = dirs;
    run.how.export_dir_count = 2;
    result = must_run(&run);
    CHECK_INT(2, rgm_run_export_count(result));
    CHECK_TEXT(b, rgm_run_export_dir(result, 1));
    CHECK_OK(rgm_run_verify_onnx(&check, result, b, RGM_VALID, 100));
    CHECK_INT(GRAPHS, check.items);
    CHECK(check.largest_difference < 1e-5);
    rgm_run_close(result);
    end(&run, data);
    CHECK_OK(rgm_folder_remove(root));
}

static void arguments_that_cannot_be_are_refused(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_graph_classification_options *options = rgm_graph_task_options(run.what.task);
    rgm_graph_task *task = run.what.task, *tasks[2] = {NULL, NULL};

    (void)state;
    run.what.train_data = rgm_ogb_provider("/nowhere", NULL, "train");
    refuse(&run, RGM_ERR_ARG, "/nowhere");
    run.what.train_data = data;
    run.what.global_batch_size = 0;
    refuse(&run, RGM_ERR_CONFIG, "global_batch_size");
    run.what.global_batch_size = 5;
    options->place.label = "knid";
    refuse(&run, RGM_ERR_CONFIG, "knid");
    options->place.label = "kind";
    options->num_classes = 0;
    refuse(&run, RGM_ERR_CONFIG, "num_classes");
    options->num_classes = 2;
    for (int i = 0; i < 2; i++)
        tasks[i] = rgm_graph_task_create(&rgm_graph_classification, "same", options);
    run.what.task = NULL;
    run.what.tasks = tasks;
    run.what.task_count = 2;
    refuse(&run, RGM_ERR_CONFIG, "two tasks are named 'same'");
    for (int i = 0; i < 2; i++)
        rgm_graph_task_release(tasks[i]);
    tasks[0] = rgm_graph_task_create(&rgm_graph_classification, "one", options);
    tasks[1] = rgm_graph_task_create(&rgm_graph_classification, "two", options);
    run.what.loss_weights = (double[]){1, -0.5};
    refuse(&run, RGM_ERR_CONFIG,
           "loss_weights[1], of task 'two', is -0.5, but must be finite and at least 0");
    run.what.loss_weights = NULL;
    for (int i = 0; i < 2; i++)
        rgm_graph_task_release(tasks[i]);
    run.what.tasks = NULL;
    run.what.task_count = 0;
    run.what.task = task;
    run.what.valid_data = NULL;
    run.what.valid_padding.kind = RGM_PADDING_TIGHT;
    refuse(&run, RGM_ERR_CONFIG, "valid_padding");
    run.what.valid_data = data;
    run.what.valid_padding.kind = RGM_PADDING_NONE;
    run.what.model_fn = NULL;
    refuse(&run, RGM_ERR_ARG, "model_fn");
    end(&run, data);
}

static void the_plan_tells_what_is_read_and_what_is_left(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *result = must_run(&run);
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_run_plan(&text, result));
    CHECK_TEXT("items are counted as they are read\nreads atom.x\nleaves context.bits\n",
               text.data); /* kind is the label */
    rgm_text_clear(&text);
    rgm_run_close(result);
    end(&run, data);
}

/* ---- a task of one's own: two views, two outputs --------------------------------------------- */

typedef struct mirror_options {
    int64_t outputs, views;
    bool no_loss;
} mirror_options;

/* The graph without its label, and the same with its numbers mirrored. */
static rgm_status mirror_views(rgm_graph_views *views, const rgm_graph_value *graph,
                               const void *options)
{
    const mirror_options *o = options;
    rgm_value *x = rgm_node_feature(graph, "atom", "x");

    views->labels = rgm_context_feature(graph, "kind");
    views->count = o->views;
    views->graphs[0] = rgm_without_feature(graph, RGM_CONTEXT_PIECE, NULL, "kind");
    if (o->views > 1)
        views->graphs[1] =
            rgm_with_feature(views->graphs[0], RGM_NODE_SET, "atom", "x", rgm_neg(x));
    return RGM_OK;
}

static rgm_status mirror_predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                                 const rgm_graph_views *views, const void *options)
{
    static const char *const names[] = {"plain", "mirrored"};
    const mirror_options *o = options;

    CHECK(*count >= o->outputs);
    for (int i = 0; i < o->outputs; i++) {
        rgm_value *states = rgm_node_feature(views->graphs[i], "atom", RGM_HIDDEN_STATE);
        const char *set = "atom";

        outputs[i] = outputs[0];
        snprintf(outputs[i].name, sizeof outputs[i].name, "%s", names[i]);
        states = rgm_pool(views->graphs[i], RGM_CONTEXT, RGM_NODE_SET, &set, &states, 1, "mean");
        outputs[i].predictions = rgm_dense(scope, names[i], states, 2);
    }
    *count = o->outputs;
    return RGM_OK;
}

static rgm_status mirror_losses(rgm_head *outputs, int64_t count, const void *options)
{
    for (int64_t i = 0; i < count && !((const mirror_options *)options)->no_loss; i++)
        outputs[i].loss =
            rgm_mean(rgm_softmax_cross_entropy(outputs[i].predictions, outputs[i].labels));
    return RGM_OK;
}

static rgm_status mirror_metrics(rgm_head *outputs, int64_t count, const void *options)
{
    (void)options;
    for (int64_t i = 0; i < count; i++)
        rgm_head_add_metric(&outputs[i], &rgm_metric_accuracy);
    return RGM_OK;
}

static const rgm_graph_task_type mirror = {
    .section = {.name = "mirror", .options_size = sizeof(mirror_options)},
    .preprocess = mirror_views,
    .predict = mirror_predict,
    .losses = mirror_losses,
    .metrics = mirror_metrics,
};

static rgm_graph_task *mirror_task(arguments *run, int64_t views, int64_t outputs, bool no_loss)
{
    rgm_graph_task_release(run->what.task);
    return rgm_graph_task_create(&mirror, NULL, &(mirror_options){outputs, views, no_loss});
}

static void a_task_may_have_several_views_and_outputs(void **state)
{
    rgm_provider *data = molecules();
    arguments run = graph_run(data);
    rgm_open_run *result;

    (void)state;
    run.how.trainer.epochs = 30;
    run.what.task = mirror_task(&run, 2, 2, false);
    base_calls = 0;
    result = must_run(&run);
    CHECK_INT(2, base_calls);
    CHECK_INT(2, rgm_run_model(result)->head_count);
    CHECK(rgm_run_metric(result, "valid", "plain_accuracy") > 0.7);
    CHECK(rgm_run_metric(result, "valid", "mirrored_accuracy") > 0.7);
    rgm_run_close(result);
    run.what.task = mirror_task(&run, 1, 1, true);
    refuse(&run, RGM_ERR_ARG, "task 'mirror' gave head 'plain' no loss");
    run.what.task = mirror_task(&run, 0, 1, false);
    refuse(&run, RGM_ERR_ARG, "task 'mirror' made 0 views of a graph; 1 to 6 are possible");
    end(&run, data);
}

TESTS(cmocka_unit_test(graphs_are_classified_and_the_last_batch_counts),
      cmocka_unit_test(eager_mode_and_steps_per_execution_change_no_number),
      cmocka_unit_test(padding_changes_no_metric), cmocka_unit_test(given_sizes_are_padded_to),
      cmocka_unit_test(no_padding_drops_an_example_or_predicts_one_more),
      cmocka_unit_test(batches_by_size_keep_to_their_budgets),
      cmocka_unit_test(padding_to_budgets_changes_no_metric),
      cmocka_unit_test(what_is_larger_than_a_batch_is_named),
      cmocka_unit_test(a_remainder_that_is_not_trained_is_predicted),
      cmocka_unit_test(the_plan_tells_what_is_read_and_what_is_left),
      cmocka_unit_test(several_tasks_share_one_pass_and_are_weighed),
      cmocka_unit_test(a_model_cannot_see_the_label),
      cmocka_unit_test(predictions_do_not_depend_on_batch_mates),
      cmocka_unit_test(a_mix_of_providers_ends_with_the_first),
      cmocka_unit_test(exports_go_to_every_folder),
      cmocka_unit_test(a_task_may_have_several_views_and_outputs),
      cmocka_unit_test(arguments_that_cannot_be_are_refused))

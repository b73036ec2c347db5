/*
 * Each model learns: twenty steps of plain gradient descent on a small generated citation graph
 * bring the loss of its training nodes down, and a second training gives the same bits.
 */
#include <check.h>
#include <regimen/graph_tasks.h>

enum { STEPS = 20 };

typedef struct training {
    rgm_cgraph *graph;
    rgm_graph_value *value;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_value *labels, *train;
} training;

static const rgm_schema *graph_of(const rgm_graph_data *source)
{
    return rgm_graph_schema(source->graphs[0]);
}

/* mean cross-entropy of the training nodes' logits */
static rgm_value *make_loss(training *t, const rgm_graph_model_type *type, void *options)
{
    rgm_graph_value *out = type->build(t->scope, t->value, options);
    const char *set = NULL;
    rgm_value *h, *loss;

    for (int64_t i = 0; i < rgm_schema_set_count(rgm_graph_value_schema(t->value)); i++) {
        const rgm_set_schema *s = rgm_schema_set(rgm_graph_value_schema(t->value), i);
        if (s->piece == RGM_NODE_SET)
            set = s->name;
    }
    h = out != NULL ? rgm_node_feature(out, set, RGM_HIDDEN_STATE) : NULL;
    h = rgm_dense(t->scope, "logits", rgm_gather(h, t->train), 4);
    loss = rgm_mean(rgm_softmax_cross_entropy(h, t->labels));
    return rgm_scope_loss(t->scope) != NULL ? rgm_add(loss, rgm_scope_loss(t->scope)) : loss;
}

static void open_training(training *t, const rgm_graph_data *source)
{
    *t = (training){0};
    CHECK_OK(rgm_cgraph_create(&t->graph));
    CHECK_OK(rgm_graph_value_create(&t->value, t->graph, (rgm_schema *)graph_of(source)));
    CHECK_OK(rgm_scope_create(&t->scope, t->graph, RGM_F32));
    rgm_dim n = rgm_cgraph_symbol(t->graph, "train");
    t->labels = rgm_input(t->graph, "labels", RGM_I64, 1, &n);
    t->train = rgm_input(t->graph, "train", RGM_I64, 1, &n);
}

static void close_training(training *t)
{
    rgm_parameters_release(t->parameters);
    rgm_scope_release(t->scope);
    rgm_graph_value_release(t->value);
    rgm_cgraph_release(t->graph);
}

/* w -= rate * gradient */
static void descend(rgm_parameters *parameters, rgm_tensor *const *gradients, float rate)
{
    for (int64_t p = 0; p < rgm_parameters_count(parameters); p++) {
        float *w = rgm_tensor_f32(rgm_parameters_tensor(parameters, p));
        const float *g = rgm_tensor_f32(gradients[p]);
        for (int64_t k = 0; k < rgm_tensor_count(gradients[p]); k++)
            w[k] -= rate * g[k];
    }
    rgm_parameters_touch(parameters);
}

/* Losses of STEPS steps. */
static void train(double *losses, const rgm_graph_data *source, rgm_tensor *labels,
                  const rgm_graph_model_type *type, void *options, float rate)
{
    enum { MOST = 64 };
    rgm_executor_options training_run = {.training = true};
    rgm_executor *executor = NULL;
    rgm_value *wrt[MOST], *fetches[MOST + 1];
    rgm_tensor *fetched[MOST + 1];
    rgm_feed feeds[32];
    int64_t feed_count = 0, count;
    training t;

    open_training(&t, source);
    fetches[0] = make_loss(&t, type, options);
    CHECK_OK(rgm_cgraph_status(t.graph));
    CHECK_OK(rgm_parameters_create(&t.parameters, t.graph, 1));
    count = rgm_parameters_count(t.parameters);
    CHECK(count <= MOST);
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(t.graph, i);
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, fetches[0], wrt, count));
    CHECK_OK(rgm_graph_feeds(feeds, 30, &feed_count, t.value, source->graphs[0]));
    feeds[feed_count++] = (rgm_feed){.input = t.labels, .tensor = labels};
    feeds[feed_count++] = (rgm_feed){.input = t.train, .tensor = source->train};
    CHECK_OK(rgm_executor_create(&executor, t.graph, fetches, count + 1, &training_run));
    for (int step = 0; step < STEPS; step++) {
        CHECK_OK(rgm_executor_run(executor, fetched, t.parameters, feeds, feed_count, 1,
                                  (uint64_t)step));
        losses[step] = rgm_tensor_at(fetched[0], 0);
        descend(t.parameters, fetched + 1, rate);
    }
    rgm_executor_release(executor);
    close_training(&t);
}

/* Steps that a model can make: sums grow, what is spread ten times is small. */
static float rate_of(const char *model)
{
    if (strcmp(model, "vanilla_mpnn") == 0 || strcmp(model, "gin") == 0)
        return 0.01F;
    return strcmp(model, "appnp") == 0 ? 3 : 0.3F;
}

static void every_model_learns_a_citation_graph(void **state)
{
    (void)state;
    static const char *const edge_sets[] = {"edges"};
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data source = {0};
    rgm_tensor *labels = NULL;

    citation.nodes = 200;
    citation.edges = 500;
    citation.classes = 4;
    citation.words = 60;
    citation.words_per_node = 8;
    citation.train_per_class = 20;
    citation.valid = 40;
    citation.test = 40;
    CHECK_OK(rgm_generate_citation(&source, &citation));
    const rgm_feature *label = NULL;
    for (int64_t i = 0; label == NULL && i < rgm_schema_set_count(graph_of(&source)); i++) {
        const rgm_set_schema *set = rgm_schema_set(graph_of(&source), i);
        if (set->piece == RGM_NODE_SET)
            label = rgm_graph_feature(source.graphs[0], RGM_NODE_SET, set->name, "label");
    }
    CHECK(label != NULL);
    int64_t n = rgm_tensor_count(source.train);
    CHECK_OK(rgm_tensor_create(&labels, RGM_I64, 1, &n));
    for (int64_t i = 0; i < n; i++)
        rgm_tensor_i64(labels)[i] =
            rgm_tensor_at_int(label->values, rgm_tensor_at_int(source.train, i));
    for (int i = 0; rgm_graph_models[i] != NULL; i++) {
        const rgm_section_type *type = rgm_graph_models[i];
        double losses[STEPS], again[STEPS];
        void *options = rgm_calloc(1, type->options_size);
        float rate = rate_of(type->name);
        CHECK(options != NULL);
        type->defaults(options);
        if (type == &rgm_sgc_model.section)
            ((rgm_sgc_model_options *)options)->output = citation.classes; /* it has no default */
        if (type == &rgm_gps_model.section) /* who attends is for the data to say */
            ((rgm_gps_model_options *)options)->attention_sets = (rgm_texts){edge_sets, 1};
        train(losses, &source, labels, (const rgm_graph_model_type *)type, options, rate);
        train(again, &source, labels, (const rgm_graph_model_type *)type, options, rate);
        double early = 0, late = 0;
        for (int k = 0; k < 5; k++) {
            early += losses[k] / 5;
            late += losses[STEPS - 1 - k] / 5;
        }
        print_message("%s: %.3f -> %.3f\n", type->name, early, late);
        CHECK(late < 0.9 * early);
        CHECK(memcmp(losses, again, sizeof losses) == 0);
        rgm_free(options);
    }
    rgm_tensor_release(labels);
    rgm_graph_data_clear(&source);
}

TESTS(cmocka_unit_test(every_model_learns_a_citation_graph))

/*
 * Tests of feeds that are made where batches are: a graph keeps them once a model is known, errors
 * stay untold, threads may make them while models come and go, and the batches of a training come
 * with them.
 */
#include "gnn_check.h"

#include <pthread.h>

#include "learning.h"

enum { MOST_FEEDS = 64, GRAPHS = 40 };

#define LABELLED                                                                                   \
    "node_sets { key: 'paper' value {"                                                             \
    "  features { key: 'x' value { dtype: DT_DOUBLE shape { dim { size: 3 } } } } } }"             \
    "edge_sets { key: 'cites' value { source: 'paper' target: 'paper' } }"                         \
    "node_sets { key: '_readout' value { features { key: 'label' value { dtype: DT_INT64 } } } }"  \
    "edge_sets { key: '_readout/seed' value { source: 'paper' target: '_readout' } }"

static void open_model(world *w)
{
    world_open(w, PAPERS);
    CHECK(rgm_gcn_conv(w->scope, "gcn", w->value, "cites", rgm_node_feature(w->value, "paper", "x"),
                       2) != NULL);
}

/* Bytes that the graph gets when it is fed to the model. */
static int64_t made_for(const rgm_graph_value *root, rgm_graph *graph)
{
    int64_t before = rgm_memory_used(), count;
    rgm_feed feeds[MOST_FEEDS];

    CHECK_OK(rgm_graph_feeds(feeds, MOST_FEEDS, &count, root, graph));
    CHECK(count > 0);
    return rgm_memory_used() - before;
}

static void a_graph_gets_its_feeds_once_they_are_known(void **state)
{
    rgmi_feeds_ahead *ahead;
    rgm_graph *other;
    int64_t before;
    world w;

    (void)state;
    open_model(&w);
    make_graph(&other, w.schema, NULL);
    CHECK_OK(rgmi_feeds_ahead_create(&ahead));
    before = rgm_memory_used();
    rgmi_feeds_ahead_make(ahead, w.data); /* nobody has told */
    rgmi_feeds_ahead_make(NULL, w.data);
    CHECK_INT(before, rgm_memory_used());
    CHECK_OK(rgmi_feeds_ahead_tell(ahead, w.value));
    CHECK_OK(rgmi_feeds_ahead_tell(NULL, w.value));
    rgmi_feeds_ahead_make(ahead, w.data);
    CHECK_INT(0, made_for(w.value, w.data));
    rgmi_feeds_ahead_forget(ahead);
    rgmi_feeds_ahead_make(ahead, other);
    CHECK(made_for(w.value, other) > 0);
    rgmi_feeds_ahead_release(ahead);
    rgm_graph_release(other);
    world_close(&w);
}

static void what_is_wrong_with_a_graph_is_not_told_here(void **state)
{
    rgmi_feeds_ahead *ahead;
    rgm_graph *empty;
    rgm_graph_builder *b;
    world w;

    (void)state;
    open_model(&w);
    CHECK_OK(rgm_graph_builder_create(&b, w.schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "paper", (int64_t[]){1}));
    CHECK_OK(rgm_graph_builder_finish(&empty, b)); /* without x */
    CHECK_OK(rgmi_feeds_ahead_create(&ahead));
    CHECK_OK(rgmi_feeds_ahead_tell(ahead, w.value));
    rgm_error_reset();
    rgmi_feeds_ahead_make(ahead, empty);
    CHECK_TEXT("", rgm_error_message());
    rgmi_feeds_ahead_release(ahead);
    rgm_graph_builder_release(b);
    rgm_graph_release(empty);
    world_close(&w);
}

static void inputs_are_apart_from_the_model(void **state)
{
    rgm_feed a[MOST_FEEDS], b[MOST_FEEDS];
    rgm_graph_value *apart;
    int64_t count, more;
    world w;

    (void)state;
    open_model(&w);
    CHECK_OK(rgm_graph_value_apart(&apart, w.value));
    CHECK_OK(rgm_graph_feeds(a, MOST_FEEDS, &count, w.value, w.data));
    CHECK(rgm_node_sparse_feature(w.value, "paper", "words") != NULL);
    CHECK_OK(rgm_graph_feeds(b, MOST_FEEDS, &more, w.value, w.data));
    CHECK_INT(count + 1, more);
    rgm_graph_value_release(w.value);
    w.value = NULL;
    CHECK_OK(rgm_graph_feeds(b, MOST_FEEDS, &more, apart, w.data));
    CHECK_INT(count, more);
    for (int64_t i = 0; i < count; i++)
        CHECK(a[i].tensor == b[i].tensor && a[i].pattern == b[i].pattern);
    rgm_graph_value_release(apart);
    world_close(&w);
}

/* ---- threads ------------------------------------------------------------------------------- */

typedef struct makers {
    rgmi_feeds_ahead *ahead;
    rgm_graph *graphs[GRAPHS];
} makers;

static void *make_all(void *payload)
{
    makers *m = payload;

    for (int i = 0; i < 50 * GRAPHS; i++)
        rgmi_feeds_ahead_make(m->ahead, m->graphs[i % GRAPHS]);
    return NULL;
}

static void models_come_and_go_while_threads_make_feeds(void **state)
{
    pthread_t threads[3];
    makers m;
    world w;

    (void)state;
    open_model(&w);
    CHECK_OK(rgmi_feeds_ahead_create(&m.ahead));
    for (int i = 0; i < GRAPHS; i++)
        make_graph(&m.graphs[i], w.schema, NULL);
    for (int t = 0; t < 3; t++)
        CHECK_INT(0, pthread_create(&threads[t], NULL, make_all, &m));
    for (int i = 0; i < 50; i++) {
        CHECK_OK(rgmi_feeds_ahead_tell(m.ahead, w.value));
        (void)made_for(w.value, m.graphs[i % GRAPHS]);
        rgmi_feeds_ahead_forget(m.ahead);
    }
    for (int t = 0; t < 3; t++)
        CHECK_INT(0, pthread_join(threads[t], NULL));
    rgmi_feeds_ahead_release(m.ahead);
    for (int i = 0; i < GRAPHS; i++)
        rgm_graph_release(m.graphs[i]);
    world_close(&w);
}

/* ---- batches ------------------------------------------------------------------------------- */

/* One of GRAPHS equal ones, labelled. */
static rgm_graph *labelled(rgm_schema *schema)
{
    int64_t source = 1, target = 0;
    rgm_graph_builder *b;
    rgm_graph *graph;
    rgm_feature f = {0};

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "paper", (int64_t[]){PAPER_COUNT}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "cites", (int64_t[]){CITE_COUNT}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "_readout", (int64_t[]){1}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "_readout/seed", (int64_t[]){1}));
    add_edges(b, "cites", CITE_COUNT, cite_source, cite_target);
    add_edges(b, "_readout/seed", 1, &source, &target);
    add_doubles(b, RGM_NODE_SET, "paper", "x", PAPER_COUNT, 3, (double[3 * PAPER_COUNT]){1});
    CHECK_OK(rgm_tensor_create(&f.values, RGM_I64, 1, (int64_t[]){1}));
    rgm_tensor_i64(f.values)[0] = 1;
    CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "_readout", "label", &f));
    rgm_tensor_release(f.values);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    return graph;
}

static rgm_task learning_task(rgm_provider *data, int threads)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_runtime_options runtime = {.threads = threads};
    static rgm_mpnn_model_options mpnn;
    rgm_task task;

    rgm_mpnn_model.section.defaults(&mpnn);
    mpnn.units = mpnn.message_dim = 4;
    what.train_data = data;
    what.task = rgm_node_multiclass("paper", "label", 3);
    what.model_fn = rgm_mpnn_model.build;
    what.model_payload = &mpnn;
    what.global_batch_size = 2;
    CHECK_OK(rgm_graph_learning_create(&task, &what, &runtime));
    rgm_graph_task_release(what.task);
    return task;
}

/* Bytes that feeding the last batch of a pass makes, when all threads have nothing to do. */
static int64_t made_for_the_last(rgm_task *task)
{
    int64_t before = 0, count, batches = 0;
    rgm_feed feeds[MOST_FEEDS];
    rgm_element *batch = NULL, *last = NULL;
    rgm_iterator *iterator;
    rgm_dataset *data;

    CHECK_OK(task->build_inputs(&data, task->state, RGM_TRAIN, false));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        rgm_element_release(last);
        last = batch;
        if (batches++ == 0)
            CHECK_OK(task->feeds(feeds, MOST_FEEDS, &count, task->state, last));
    }
    CHECK_INT(GRAPHS / 2, batches);
    rgm_iterator_release(iterator);
    before = rgm_memory_used();
    CHECK_OK(task->feeds(feeds, MOST_FEEDS, &count, task->state, last));
    before = rgm_memory_used() - before;
    rgm_element_release(last);
    rgm_dataset_release(data);
    return before;
}

static void batches_that_are_learned_from_have_their_feeds(void **state)
{
    const char *text = LABELLED;
    rgm_graph *graphs[GRAPHS];
    rgm_schema *schema;
    rgm_provider *data;

    (void)state;
    CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "test"));
    for (int i = 0; i < GRAPHS; i++)
        graphs[i] = labelled(schema);
    data = rgm_graphs_provider(graphs, GRAPHS, false);
    for (int models = 1; models <= 2; models++) {
        rgm_task task = learning_task(data, 2);

        for (int m = 0; m < models; m++) { /* built again for another run of the task */
            rgm_cgraph *graph;
            rgm_scope *scope;
            rgm_task_model model;

            CHECK_OK(rgm_cgraph_create(&graph));
            CHECK_OK(rgm_scope_create(&scope, graph, RGM_F32));
            CHECK_OK(task.build_model(&model, scope, task.state));
            CHECK_INT(0, made_for_the_last(&task));
            rgm_scope_release(scope);
            rgm_cgraph_release(graph);
        }
        rgm_task_release(&task);
    }
    rgm_provider_release(data);
    for (int i = 0; i < GRAPHS; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(a_graph_gets_its_feeds_once_they_are_known),
      cmocka_unit_test(what_is_wrong_with_a_graph_is_not_told_here),
      cmocka_unit_test(inputs_are_apart_from_the_model),
      cmocka_unit_test(models_come_and_go_while_threads_make_feeds),
      cmocka_unit_test(batches_that_are_learned_from_have_their_feeds))

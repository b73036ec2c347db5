/*
 * States of all nodes: of a run's graphs, of one given, by name of a set; what is refused; failing
 * allocations. Runs of experiment files, whole and sampled, are tests/cli_test.sh's.
 */
#include <check.h>
#include <regimen/graph_tasks.h>

enum { GRAPHS = 6, WIDTH = 2 };

#define PAIRS                                                                                      \
    "node_sets { key: 'atom' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "   \
    "size: 2 } } } } } }"                                                                          \
    "node_sets { key: 'group' value { features { key: 'g' value { dtype: DT_FLOAT shape { dim { "  \
    "size: 1 } } } } } }"                                                                          \
    "edge_sets { key: 'bond' value { source: 'atom' target: 'atom' } }"                            \
    "context { features { key: 'y' value { dtype: DT_FLOAT } } }"

static void add(rgm_graph_builder *builder, rgm_piece piece, const char *set, const char *name,
                int rank, int64_t items, int64_t width, const float *numbers)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F32, rank, (int64_t[]){items, width}, numbers));
    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, name, &f));
    rgm_tensor_release(f.values);
}

/* Graph i has 1 + i % 3 atoms whose numbers say graph and atom, and no bond. */
static rgm_graph *make(rgm_schema *schema, int64_t i)
{
    int64_t atoms = 1 + i % 3;
    float x[6], y = (float)i;
    rgm_graph_builder *builder = NULL;
    rgm_graph *graph = NULL;

    for (int64_t k = 0; k < atoms; k++) {
        x[2 * k] = (float)i;
        x[2 * k + 1] = (float)k;
    }
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", &atoms));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "group", (int64_t[]){1}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "bond", (int64_t[]){0}));
    add(builder, RGM_NODE_SET, "atom", "x", 2, atoms, 2, x);
    add(builder, RGM_NODE_SET, "group", "g", 2, 1, 1, &y);
    add(builder, RGM_CONTEXT_PIECE, NULL, "y", 1, 1, 1, &y);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

/* Twice the numbers, and what is heard in two rounds along the bonds; groups have states too when
 * payload says so. */
static rgm_graph_value *twice(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_value *bonds = rgm_adjacency(graph, "bond", RGM_TARGET);
    rgm_value *h = rgm_scale(rgm_node_feature(graph, "atom", "x"), 2);
    rgm_graph_value *out;

    for (int round = 0; round < 2; round++)
        h = rgm_add(h, rgm_spmm(bonds, h, NULL));
    out = rgm_with_state(graph, "atom", h);
    (void)scope;
    return payload == NULL ? out
                           : rgm_with_state(out, "group", rgm_node_feature(out, "group", "g"));
}

typedef struct setting {
    rgm_graph *graphs[GRAPHS];
    rgm_graph_learning_options what;
    rgm_run_options how;
    rgm_open_run *run;
} setting;

static void open_setting(setting *s, bool groups)
{
    static int yes = 1;
    rgm_graph_regression_options task = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    rgm_schema *schema;
    rgm_task made;

    *s = (setting){.what = RGM_GRAPH_LEARNING_OPTIONS_INIT, .how = RGM_RUN_OPTIONS_INIT};
    CHECK_OK(rgm_schema_parse(&schema, PAIRS, sizeof PAIRS - 1, "pairs"));
    for (int64_t i = 0; i < GRAPHS; i++)
        s->graphs[i] = make(schema, i);
    rgm_schema_release(schema);
    s->what.train_data = rgm_graphs_provider(s->graphs, 4, true);
    s->what.valid_data = rgm_graphs_provider(s->graphs + 4, 2, false);
    task.place.node_set = "atom";
    task.place.label = "y";
    s->what.model_fn = twice;
    s->what.model_payload = groups ? &yes : NULL;
    s->what.task = rgm_graph_task_create(&rgm_graph_regression, NULL, &task);
    s->what.global_batch_size = 3;
    s->how.trainer.train_steps = 1;
    s->how.runtime.threads = 1;
    s->how.releases_task = true;
    CHECK_OK(rgm_graph_learning_create(&made, &s->what, &s->how.runtime));
    CHECK_OK(rgm_run_open(&s->run, &made, &s->how));
}

static void close_setting(setting *s)
{
    rgm_run_close(s->run);
    rgm_graph_task_release(s->what.task);
    rgm_provider_release(s->what.train_data);
    rgm_provider_release(s->what.valid_data);
    for (int64_t i = 0; i < GRAPHS; i++)
        rgm_graph_release(s->graphs[i]);
}

/* Graphs come one by one in the data's order, whatever training shuffles and merges. */
static rgm_status check_states(const rgm_graph_states *s, void *payload)
{
    int64_t *seen = payload, atoms = 1 + *seen % 3;

    CHECK_INT(*seen, s->graph);
    CHECK(s->ids == NULL);
    CHECK_INT(atoms, rgm_tensor_dim(s->states, 0));
    CHECK_INT(WIDTH, rgm_tensor_dim(s->states, 1));
    for (int64_t k = 0; k < atoms; k++) {
        CHECK_CLOSE(2 * (double)s->graph, rgm_tensor_at(s->states, 2 * k), 0, 0);
        CHECK_CLOSE(2 * (double)k, rgm_tensor_at(s->states, 2 * k + 1), 0, 0);
    }
    (*seen)++;
    return RGM_OK;
}

typedef struct growth {
    rgm_cgraph *graph;
    int64_t rows, values[GRAPHS]; /* of the compute graph, when states of that graph came */
} growth;

static rgm_status watch_growth(const rgm_graph_states *s, void *payload)
{
    growth *g = payload;
    int64_t count = 0;

    while (rgm_cgraph_value(g->graph, count) != NULL)
        count++;
    CHECK_CLOSE(2 * (double)s->graph, rgm_tensor_at(s->states, 0), 0, 0);
    CHECK_CLOSE(2 * (double)s->first, rgm_tensor_at(s->states, 1), 0, 0);
    g->values[s->graph] = count;
    g->rows += rgm_tensor_dim(s->states, 0);
    return RGM_OK;
}

/* What the first graph by rounds adds to the compute graph is there for all others. */
static void rounds_are_built_once_for_all_graphs(void **state)
{
    growth g = {.rows = 0};
    setting s;

    (void)state;
    open_setting(&s, false);
    g.graph = rgm_trainer_graph(rgm_run_trainer(s.run));
    CHECK_OK(rgm_graph_run_embeddings(s.run, NULL, &(rgm_by_rounds_options){.chunk = 1},
                                      watch_growth, &g));
    CHECK_INT(12, g.rows); /* 1, 2, 3, 1, 2, 3 */
    for (int i = 1; i < GRAPHS; i++)
        CHECK_INT(g.values[0], g.values[i]);
    close_setting(&s);
}

static rgm_status stop_at_two(const rgm_graph_states *s, void *payload)
{
    (void)payload;
    return s->graph < 2 ? RGM_OK : RGM_FAIL(RGM_ERR_IO, "the disk is full");
}

static void states_are_of_every_node_of_every_graph(void **state)
{
    rgm_embeddings_plan plan;
    rgm_tensor *states = NULL;
    int64_t seen = 0;
    setting s;

    (void)state;
    open_setting(&s, false);
    CHECK_OK(rgm_graph_run_embeddings_plan(&plan, s.run, NULL, NULL));
    CHECK_TEXT("atom", plan.node_set);
    CHECK(plan.width == WIDTH && plan.nodes == -1 && plan.bytes == -1);
    CHECK_OK(rgm_graph_run_embeddings(s.run, NULL, NULL, check_states, &seen));
    CHECK_INT(GRAPHS, seen);
    seen = 0; /* a graph that is no larger than a chunk is taken whole */
    CHECK_OK(rgm_graph_run_embeddings(s.run, NULL, &(rgm_by_rounds_options){.chunk = 4},
                                      check_states, &seen));
    CHECK_INT(GRAPHS, seen);
    CHECK_OK(
        rgm_graph_run_embeddings_plan(&plan, s.run, NULL, &(rgm_by_rounds_options){.chunk = 3}));
    CHECK_INT(-1, plan.kept); /* graphs of a provider are met one by one */
    CHECK_STATUS(RGM_ERR_IO, rgm_graph_run_embeddings(s.run, NULL, NULL, stop_at_two, NULL));
    CHECK_MESSAGE("the disk is full");
    CHECK_OK(rgm_graph_run_embed(&states, s.run, "atom", s.graphs[5]));
    CHECK_INT(3, rgm_tensor_dim(states, 0));
    CHECK_CLOSE(10, rgm_tensor_at(states, 0), 0, 0);
    rgm_tensor_release(states);
    close_setting(&s);
}

static void a_set_without_states_is_refused(void **state)
{
    rgm_embeddings_plan plan;
    setting s;

    (void)state;
    open_setting(&s, false);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_run_embeddings_plan(&plan, s.run, "atoms", NULL));
    CHECK_MESSAGE("the data have no node set 'atoms'");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_run_embeddings_plan(&plan, s.run, "group", NULL));
    CHECK_MESSAGE("the model makes no states of node set 'group'");
    close_setting(&s);
    open_setting(&s, true);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_run_embeddings_plan(&plan, s.run, NULL, NULL));
    CHECK_MESSAGE("node sets 'atom', 'group' and maybe more have states: say which");
    CHECK_OK(rgm_graph_run_embeddings_plan(&plan, s.run, "group", NULL));
    CHECK_INT(1, plan.width);
    close_setting(&s);
}

static rgm_status count_all(const setting *s)
{
    int64_t seen = 0;

    return rgm_graph_run_embeddings(s->run, NULL, NULL, check_states, &seen);
}

static void every_failing_allocation_is_reported_and_nothing_leaks(void **state)
{
    setting s;

    (void)state;
    open_setting(&s, false);
    CHECK_OK(count_all(&s)); /* what the graphs keep of themselves stays */
    CHECK_EVERY_OOM(count_all(&s), (void)0);
    close_setting(&s);
}

TESTS(cmocka_unit_test(states_are_of_every_node_of_every_graph),
      cmocka_unit_test(rounds_are_built_once_for_all_graphs),
      cmocka_unit_test(a_set_without_states_is_refused),
      cmocka_unit_test(every_failing_allocation_is_reported_and_nothing_leaks))

#include <check.h>
#include <pthread.h>
#include <regimen/graph_import.h>
#include <regimen/graph_sampling.h>

/* ---- graphs ---- */

static void give(rgm_graph_builder *builder, rgm_piece piece, const char *set, const char *name,
                 rgm_tensor *values)
{
    rgm_feature feature = {.values = values};

    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, name, &feature));
    rgm_tensor_release(values);
}

/* Users who like items, and users who follow users: node sets "user" ("label" i64 = 3 * node) and
 * "item"; edge sets "likes" with "number" and "follows", where loops and parallel edges are. */
static rgm_graph *shop(uint64_t seed, int64_t users, int64_t items, int64_t likes, int64_t follows)
{
    rgm_rng rng = rgm_rng_stream(seed, "shop", 0);
    const int64_t counts[2] = {likes, follows}, below[2] = {items, users};
    const char *sets[2] = {"likes", "follows"};
    rgm_schema *schema;
    rgm_graph_builder *builder;
    rgm_graph *graph;
    rgm_tensor *label, *number, *ends[2];

    CHECK_OK(rgm_schema_create(&schema));
    CHECK_OK(rgm_schema_add_node_set(schema, "item"));
    CHECK_OK(rgm_schema_add_node_set(schema, "user"));
    CHECK_OK(rgm_schema_add_edge_set(schema, "likes", "user", "item"));
    CHECK_OK(rgm_schema_add_edge_set(schema, "follows", "user", "user"));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_NODE_SET, "user", "label", RGM_I64, 0, NULL));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "likes", "number", RGM_I64, 0, NULL));
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "user", &users));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "item", &items));
    for (int k = 0; k < 2; k++) {
        CHECK_OK(rgm_tensor_create(&ends[0], RGM_I64, 1, &counts[k]));
        CHECK_OK(rgm_tensor_create(&ends[1], RGM_I64, 1, &counts[k]));
        for (int64_t e = 0; e < counts[k]; e++) {
            uint64_t at = (uint64_t)(4 * e + 2 * k);
            rgm_tensor_i64(ends[0])[e] = (int64_t)rgm_rng_below(&rng, at, (uint64_t)users);
            rgm_tensor_i64(ends[1])[e] = (int64_t)rgm_rng_below(&rng, at + 1, (uint64_t)below[k]);
        }
        CHECK_OK(rgm_graph_builder_edges(builder, sets[k], ends[0], ends[1]));
        rgm_tensor_release(ends[0]);
        rgm_tensor_release(ends[1]);
    }
    CHECK_OK(rgm_tensor_arange(&label, users));
    for (int64_t i = 0; i < users; i++)
        rgm_tensor_i64(label)[i] *= 3;
    give(builder, RGM_NODE_SET, "user", "label", label);
    CHECK_OK(rgm_tensor_arange(&number, likes));
    give(builder, RGM_EDGE_SET, "likes", "number", number);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return graph;
}

static const int64_t *ids(const rgm_graph *graph, const char *set)
{
    return rgm_tensor_i64(rgm_graph_feature(graph, RGM_NODE_SET, set, "#id")->values);
}

static float *weights_of(const rgm_graph *graph, rgm_piece piece, const char *set, const char *name)
{
    return rgm_tensor_f32(rgm_graph_feature(graph, piece, set, name)->values);
}

static int64_t nodes_of(const rgm_graph *graph, const char *set)
{
    return rgm_graph_total(graph, RGM_NODE_SET, set);
}

static int64_t edges_of(const rgm_graph *graph, const char *set)
{
    return rgm_graph_total(graph, RGM_EDGE_SET, set);
}

static const int64_t *end_of(const rgm_graph *graph, const char *set, int tag)
{
    return rgm_tensor_i64(tag == 0 ? rgm_graph_source(graph, set) : rgm_graph_target(graph, set));
}

/* Neighbours of users (0 .. users - 1) and items (behind them) as a matrix. */
static bool *neighbour_matrix(const rgm_graph *graph)
{
    int64_t users = nodes_of(graph, "user"), n = users + nodes_of(graph, "item");
    bool *near = test_calloc((size_t)(n * n), sizeof *near);

    for (int k = 0; k < 2; k++) {
        const char *set = k == 0 ? "likes" : "follows";
        for (int64_t e = 0; e < edges_of(graph, set); e++) {
            int64_t a = end_of(graph, set, 0)[e], b = end_of(graph, set, 1)[e];
            b += k == 0 ? users : 0;
            if (a != b)
                near[a * n + b] = near[b * n + a] = true;
        }
    }
    return near;
}

/* ---- samplers ---- */

static rgm_subgraph_source source_of(rgm_graph *graph, rgm_tensor *seeds)
{
    return (rgm_subgraph_source){
        .graph = graph, .node_set = "user", .seeds = seeds, .label = "label", .seed = 3};
}

/* Every third user. */
static rgm_tensor *some_seeds(int64_t users)
{
    int64_t count = (users + 2) / 3;
    rgm_tensor *seeds;

    CHECK_OK(rgm_tensor_create(&seeds, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(seeds)[i] = 3 * i;
    return seeds;
}

enum { KINDS = 8 };

typedef struct kind {
    const rgm_subgraph_sampler_type *type;
    const void *options;
} kind;

/* One of every row and of every way that it has. */
static kind kind_of(int i)
{
    static const int64_t two[] = {4, 2};
    static char *inputs[] = {(char *)"s"};
    static rgm_sample_op op = {.name = (char *)"likes",
                               .inputs = inputs,
                               .input_count = 1,
                               .edge_set = (char *)"likes",
                               .sample_size = 2,
                               .strategy = RGM_SAMPLE_UNIFORM};
    static rgm_sampling_spec spec = {
        .seed_op = (char *)"s", .seed_node_set = (char *)"user", .ops = &op, .op_count = 1};
    static const rgm_tree_sampler_options tree = {.spec = &spec};
    static const rgm_random_walk_options walk = {
        .sizes = {two, 2}, .walks = 20, .length = 4, .restart = 0.3};
    static const rgm_cluster_options cluster = {.parts = 5, .balance = 1.1};
    static const rgm_saint_options saint[3] = {
        {.draw = RGM_SAINT_NODE, .budget = 20, .length = 2, .walks = 100, .receiver = RGM_TARGET},
        {.draw = RGM_SAINT_EDGE, .budget = 12, .length = 2, .walks = 100, .receiver = RGM_TARGET},
        {.draw = RGM_SAINT_WALK, .budget = 6, .length = 3, .walks = 100, .receiver = RGM_SOURCE}};
    static const rgm_shadow_options shadow[2] = {{.draw = RGM_SHADOW_HOPS,
                                                  .hops = 2,
                                                  .neighbors = 3,
                                                  .budget = 10,
                                                  .teleport = 0.15,
                                                  .epsilon = 1e-4},
                                                 {.draw = RGM_SHADOW_PPR,
                                                  .hops = 2,
                                                  .neighbors = 3,
                                                  .budget = 10,
                                                  .teleport = 0.15,
                                                  .epsilon = 1e-4}};
    const kind kinds[KINDS] = {
        {&rgm_tree_sampler, &tree},        {&rgm_random_walk_sampler, &walk},
        {&rgm_cluster_sampler, &cluster},  {&rgm_saint_sampler, &saint[0]},
        {&rgm_saint_sampler, &saint[1]},   {&rgm_saint_sampler, &saint[2]},
        {&rgm_shadow_sampler, &shadow[0]}, {&rgm_shadow_sampler, &shadow[1]}};

    return kinds[i];
}

static rgm_subgraph_sampler *sampler_of(kind k, rgm_graph *graph, rgm_tensor *seeds)
{
    rgm_subgraph_source from = source_of(graph, seeds);
    rgm_subgraph_sampler *sampler;

    CHECK_OK(rgm_subgraph_sampler_create(&sampler, k.type, &from, k.options));
    return sampler;
}

/* ---- what holds for all ---- */

static void check_readout(const rgm_graph *batch, const char *what)
{
    const int64_t *from = end_of(batch, "_readout/seed", 0), *id = ids(batch, "user");
    int64_t count = nodes_of(batch, "_readout");
    const rgm_feature *label = rgm_graph_feature(batch, RGM_NODE_SET, "_readout", "label");

    if (count < 1)
        fail_msg("%s: nothing is asked", what);
    CHECK_OK(rgm_graph_check_readout(batch, "_readout"));
    CHECK(rgm_graph_feature(batch, RGM_NODE_SET, "user", "label") == NULL);
    for (int64_t i = 0; i < count; i++) {
        CHECK_INT(0, id[from[i]] % 3); /* a seed, with its label */
        CHECK_INT(3 * id[from[i]], rgm_tensor_i64(label->values)[i]);
    }
}

static void every_batch_asks_about_seeds_with_their_labels(void **state)
{
    rgm_graph *graph = shop(1, 40, 25, 90, 60), *batch;
    rgm_tensor *seeds = some_seeds(40);

    (void)state;
    for (int i = 0; i < KINDS; i++) {
        rgm_subgraph_sampler *sampler = sampler_of(kind_of(i), graph, seeds);
        rgm_tensor *units = rgm_subgraph_sampler_units(sampler);

        for (int64_t u = 0; u + 2 <= rgm_tensor_count(units); u += 2) {
            CHECK_OK(rgm_subgraph_sampler_draw(&batch, sampler, rgm_tensor_i64(units) + u, 2,
                                               (uint64_t)u));
            check_readout(batch, kind_of(i).type->name);
            rgm_graph_release(batch);
        }
        rgm_subgraph_sampler_release(sampler);
    }
    rgm_tensor_release(seeds);
    rgm_graph_release(graph);
}

/* Each edge of the graph among a component's nodes is there as often as in the graph. */
static void check_induced(const rgm_graph *graph, const rgm_graph *component, const char *set,
                          const char *from, const char *to)
{
    int64_t a = nodes_of(graph, from), b = nodes_of(graph, to), expected = 0;
    bool *here[2] = {test_calloc((size_t)a, 1), test_calloc((size_t)b, 1)};
    int64_t *times = test_calloc((size_t)(a * b), sizeof *times);

    for (int64_t i = 0; i < nodes_of(component, from); i++)
        here[0][ids(component, from)[i]] = true;
    for (int64_t i = 0; i < nodes_of(component, to); i++) {
        CHECK(strcmp(from, to) == 0 || !here[1][ids(component, to)[i]]);
        here[1][ids(component, to)[i]] = true;
    }
    for (int64_t e = 0; e < edges_of(graph, set); e++) {
        int64_t s = end_of(graph, set, 0)[e], t = end_of(graph, set, 1)[e];
        times[s * b + t]++;
        expected += here[0][s] && here[1][t];
    }
    CHECK_INT(expected, edges_of(component, set));
    for (int64_t e = 0; e < edges_of(component, set); e++)
        CHECK(times[ids(component, from)[end_of(component, set, 0)[e]] * b +
                    ids(component, to)[end_of(component, set, 1)[e]]]-- > 0);
    test_free(here[0]);
    test_free(here[1]);
    test_free(times);
}

static void subgraphs_have_all_edges_among_their_nodes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        rgm_graph *graph = shop(seed, 40, 25, 90, 60), *batch, *component;
        rgm_tensor *seeds = some_seeds(40);

        for (int i = 2; i < KINDS; i++) {
            rgm_subgraph_sampler *sampler = sampler_of(kind_of(i), graph, seeds);
            rgm_tensor *units = rgm_subgraph_sampler_units(sampler);
            int64_t count = rgm_tensor_count(units) < 2 ? 1 : 2;

            CHECK_OK(
                rgm_subgraph_sampler_draw(&batch, sampler, rgm_tensor_i64(units), count, seed));
            CHECK_INT(i == 2 ? 1 : count, rgm_graph_components(batch));
            for (int64_t c = 0; c < rgm_graph_components(batch); c++) {
                CHECK_OK(rgm_graph_component(&component, batch, c));
                check_induced(graph, component, "likes", "user", "item");
                check_induced(graph, component, "follows", "user", "user");
                if (i >= KINDS - 2) /* shadow: the seed stands first */
                    CHECK_INT(rgm_tensor_i64(units)[c], ids(component, "user")[0]);
                rgm_graph_release(component);
            }
            rgm_graph_release(batch);
            rgm_subgraph_sampler_release(sampler);
        }
        rgm_tensor_release(seeds);
        rgm_graph_release(graph);
    }
}

/* ---- draws depend on seed, epoch and units alone ---- */

typedef struct drawing {
    const rgm_subgraph_sampler *sampler;
    rgm_text text[8];
    bool backwards;
} drawing;

static void *draw_all(void *payload)
{
    drawing *d = payload;
    rgm_tensor *units = rgm_subgraph_sampler_units(d->sampler);
    int64_t count = rgm_tensor_count(units) < 8 ? rgm_tensor_count(units) : 8;

    for (int64_t k = 0; k < count; k++) {
        int64_t u = d->backwards ? count - 1 - k : k;
        rgm_graph *batch;

        d->text[u].size = 0;
        if (rgm_subgraph_sampler_draw(&batch, d->sampler, rgm_tensor_i64(units) + u, 1, 5) == 0 &&
            rgm_graph_encode(&d->text[u], batch, "") != 0)
            d->text[u].size = 0;
        rgm_graph_release(batch);
    }
    return NULL;
}

static void threads_and_order_change_nothing(void **state)
{
    rgm_graph *graph = shop(4, 60, 30, 150, 90);
    rgm_tensor *seeds = some_seeds(60);

    (void)state;
    for (int i = 0; i < KINDS; i++) {
        rgm_subgraph_sampler *sampler = sampler_of(kind_of(i), graph, seeds);
        drawing d[4] = {{sampler, {{0}}, false},
                        {sampler, {{0}}, true},
                        {sampler, {{0}}, false},
                        {sampler, {{0}}, true}};
        pthread_t threads[3];

        draw_all(&d[0]);
        for (int t = 0; t < 3; t++)
            CHECK(pthread_create(&threads[t], NULL, draw_all, &d[t + 1]) == 0);
        for (int t = 0; t < 3; t++)
            pthread_join(threads[t], NULL);
        for (int t = 1; t < 4; t++)
            for (int u = 0; u < 8; u++)
                CHECK(d[t].text[u].size == d[0].text[u].size &&
                      memcmp(d[t].text[u].data ? d[t].text[u].data : "",
                             d[0].text[u].data ? d[0].text[u].data : "",
                             (size_t)d[0].text[u].size) == 0);
        CHECK(d[0].text[0].size > 0);
        for (int t = 0; t < 4; t++)
            for (int u = 0; u < 8; u++)
                rgm_text_clear(&d[t].text[u]);
        rgm_subgraph_sampler_release(sampler);
    }
    rgm_tensor_release(seeds);
    rgm_graph_release(graph);
}

static rgm_status make_and_draw(kind k, rgm_graph *graph, rgm_tensor *seeds)
{
    rgm_subgraph_source from = source_of(graph, seeds);
    rgm_status status = RGM_OK;
    rgm_subgraph_sampler *sampler = NULL;
    rgm_graph *batch = NULL, *whole = NULL;

    RGM_GO(rgm_subgraph_sampler_create(&sampler, k.type, &from, k.options));
    RGM_GO(rgm_subgraph_sampler_draw(&batch, sampler,
                                     rgm_tensor_i64(rgm_subgraph_sampler_units(sampler)), 1, 0));
    if (rgm_subgraph_sampler_judges_whole(sampler))
        RGM_GO(rgm_subgraph_sampler_whole(&whole, sampler, seeds));
done:
    rgm_graph_release(whole);
    rgm_graph_release(batch);
    rgm_subgraph_sampler_release(sampler);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    rgm_graph *graph = shop(2, 12, 6, 20, 14);
    rgm_tensor *seeds = some_seeds(12);

    (void)state;
    for (int i = 0; i < KINDS; i++) {
        CHECK_OK(make_and_draw(kind_of(i), graph, seeds)); /* the graph keeps its adjacency */
        CHECK_EVERY_OOM(make_and_draw(kind_of(i), graph, seeds), (void)0);
    }
    rgm_tensor_release(seeds);
    rgm_graph_release(graph);
}

static void wrong_options_are_refused(void **state)
{
    rgm_graph *graph = shop(2, 12, 6, 20, 14);
    rgm_tensor *seeds = some_seeds(12), *far;
    rgm_subgraph_source from = source_of(graph, seeds);
    rgm_cluster_options cluster = {.parts = 19, .balance = 1};
    rgm_saint_options saint = RGM_SAINT_OPTIONS_INIT;
    rgm_shadow_options shadow = RGM_SHADOW_OPTIONS_INIT;
    rgm_random_walk_options walk = RGM_RANDOM_WALK_OPTIONS_INIT;
    rgm_subgraph_sampler *s;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_subgraph_sampler_create(&s, &rgm_cluster_sampler, &from, &cluster));
    CHECK_MESSAGE("18 nodes into 19 parts");
    saint.budget = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgm_subgraph_sampler_create(&s, &rgm_saint_sampler, &from, &saint));
    shadow.teleport = 1;
    CHECK_STATUS(RGM_ERR_ARG, rgm_subgraph_sampler_create(&s, &rgm_shadow_sampler, &from, &shadow));
    walk.restart = 1;
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_subgraph_sampler_create(&s, &rgm_random_walk_sampler, &from, &walk));
    shadow.teleport = 0.1;
    from.node_set = "usr";
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_subgraph_sampler_create(&s, &rgm_shadow_sampler, &from, &shadow));
    CHECK_MESSAGE("did you mean 'user'");
    CHECK_OK(rgm_tensor_create_from(&far, RGM_I64, 1, (int64_t[]){1}, (int64_t[]){12}));
    from = source_of(graph, far);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_subgraph_sampler_create(&s, &rgm_shadow_sampler, &from, &shadow));
    CHECK_MESSAGE("seed 0 is node 12 of node set 'user', which has 12");
    rgm_tensor_release(far);
    rgm_tensor_release(seeds);
    rgm_graph_release(graph);
}

/* ---- partitions ---- */

static void check_partition(const rgm_graph *graph, int64_t parts, double balance)
{
    int64_t users = nodes_of(graph, "user"), items = nodes_of(graph, "item"), n = users + items;
    int64_t *load = test_calloc((size_t)parts, sizeof *load), pairs = 0, cut = 0, largest = 0;
    double bound = balance * (double)n / (double)parts;
    bool *near = neighbour_matrix(graph);
    rgm_partition p;
    const int64_t *part;

    CHECK_OK(rgm_graph_partition(&p, graph, parts, balance, 1));
    CHECK_INT(n, rgm_tensor_count(p.part));
    part = rgm_tensor_i64(p.part); /* items stand first in the schema */
    for (int64_t i = 0; i < n; i++) {
        CHECK(part[i] >= 0 && part[i] < parts);
        load[part[i]]++;
    }
    for (int64_t k = 0; k < parts; k++) {
        CHECK(load[k] > 0);
        CHECK((double)load[k] <= bound || load[k] <= (n + parts - 1) / parts);
        largest = load[k] > largest ? load[k] : largest;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < i; k++)
            if (near[i * n + k]) {
                pairs++;
                cut += part[i < users ? items + i : i - users] !=
                       part[k < users ? items + k : k - users];
            }
    CHECK_INT(largest, p.largest);
    CHECK_CLOSE(p.cut, pairs > 0 ? (double)cut / (double)pairs : 0, 1e-12, 0);
    rgm_partition_clear(&p);
    test_free(load);
    test_free(near);
}

static void partitions_cover_all_nodes_within_their_bound(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int64_t users = 1 + (int64_t)(seed * 7 % 90), items = 1 + (int64_t)(seed * 5 % 30);
        rgm_graph *graph =
            shop(seed, users, items, (int64_t)(seed * 11 % 200), (int64_t)(seed * 13 % 150));
        const int64_t parts[] = {1, 2, 7, users + items};

        for (int i = 0; i < 4; i++)
            if (parts[i] <= users + items)
                check_partition(graph, parts[i], 1 + 0.05 * (double)(seed % 4));
        rgm_graph_release(graph);
    }
}

/* A graph of planted communities is cut along them: far fewer edges than by chance. */
static void communities_are_found(void **state)
{
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data data;
    rgm_partition p;

    (void)state;
    options.homophily = 0.95;
    CHECK_OK(rgm_generate_citation(&data, &options));
    CHECK_OK(rgm_graph_partition(&p, data.graphs[0], 20, 1.05, 1));
    if (!(p.cut < 0.55)) /* by chance 0.95; the communities alone cannot be cut further */
        fail_msg("cut %g", p.cut);
    rgm_partition_clear(&p);
    CHECK_OK(rgm_graph_partition(&p, data.graphs[0], 7, 1.8, 1));
    if (!(p.cut < 0.3))
        fail_msg("cut %g", p.cut);
    rgm_partition_clear(&p);
    rgm_graph_data_clear(&data);
}

static void a_partition_survives_failing_allocations(void **state)
{
    rgm_graph *graph = shop(6, 90, 30, 200, 200);
    rgm_partition p;

    (void)state;
    CHECK_EVERY_OOM(rgm_graph_partition(&p, graph, 4, 1.1, 1), rgm_partition_clear(&p));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_partition(&p, graph, 4, 0.9, 1));
    CHECK(p.part == NULL);
    rgm_graph_release(graph);
}

static void an_epoch_of_clusters_has_every_seed_once(void **state)
{
    rgm_graph *graph = shop(3, 80, 40, 200, 90), *batch;
    rgm_tensor *seeds = some_seeds(80);
    rgm_subgraph_sampler *sampler = sampler_of(kind_of(2), graph, seeds);
    rgm_tensor *units = rgm_subgraph_sampler_units(sampler);
    int64_t asked[80] = {0};

    (void)state;
    for (int64_t u = 0; u < rgm_tensor_count(units); u++) {
        CHECK_OK(rgm_subgraph_sampler_draw(&batch, sampler, rgm_tensor_i64(units) + u, 1, 0));
        for (int64_t i = 0; i < nodes_of(batch, "_readout"); i++)
            asked[ids(batch, "user")[end_of(batch, "_readout/seed", 0)[i]]]++;
        rgm_graph_release(batch);
    }
    for (int64_t i = 0; i < 80; i++)
        CHECK_INT(i % 3 == 0, asked[i]);
    rgm_subgraph_sampler_release(sampler);
    rgm_tensor_release(seeds);
    rgm_graph_release(graph);
}

/* ---- GraphSAINT ---- */

enum { SAINT_USERS = 30, SAINT_ITEMS = 12, SAINT_DRAWS = 3000 };

typedef struct tallies {
    double total, square;       /* of the weighted sums over seeds           */
    double drawn[SAINT_USERS];  /* times                                     */
    double near[SAINT_USERS];   /* weighted sums over followers, added up    */
    double weight[SAINT_USERS]; /* of the readout, as told                   */
} tallies;

/* What a model would compute of user u. */
static double value_of(int64_t u)
{
    return (double)(u * u % 17) - 4;
}

static void tally(tallies *t, const rgm_graph *batch, int receiver)
{
    const int64_t *id = ids(batch, "user"), *asked = end_of(batch, "_readout/seed", 0);
    const float *edge = weights_of(batch, RGM_EDGE_SET, "follows", RGM_SAMPLING_WEIGHT);
    const float *item = weights_of(batch, RGM_NODE_SET, "_readout", RGM_SAMPLING_WEIGHT);
    double sum = 0;

    for (int64_t i = 0; i < nodes_of(batch, "_readout"); i++) {
        sum += (double)item[i] * value_of(id[asked[i]]);
        t->weight[id[asked[i]]] = (double)item[i];
    }
    t->total += sum;
    t->square += sum * sum;
    for (int64_t i = 0; i < nodes_of(batch, "user"); i++)
        t->drawn[id[i]]++;
    for (int64_t e = 0; e < edges_of(batch, "follows"); e++) {
        int64_t at = id[end_of(batch, "follows", receiver)[e]];
        t->near[at] += (double)edge[e] * value_of(id[end_of(batch, "follows", 1 - receiver)[e]]);
    }
}

/* The mean over a user's edges in the whole graph. */
static double mean_of(const rgm_graph *graph, int64_t user, int receiver)
{
    double sum = 0, count = 0;

    for (int64_t e = 0; e < edges_of(graph, "follows"); e++)
        if (end_of(graph, "follows", receiver)[e] == user) {
            sum += value_of(end_of(graph, "follows", 1 - receiver)[e]);
            count++;
        }
    return count > 0 ? sum / count : 0;
}

/* Over many draws: the weighted sum over seeds is the mean over all, a seed's weight is one over
 * how often it comes, and the weighted sum over a node's neighbours is their mean. */
static void saint_is_right_in_expectation(void **state)
{
    rgm_graph *graph = shop(8, SAINT_USERS, SAINT_ITEMS, 40, 90), *batch;
    rgm_tensor *seeds;
    double mean = 0;

    (void)state;
    CHECK_OK(rgm_tensor_arange(&seeds, SAINT_USERS));
    for (int64_t u = 0; u < SAINT_USERS; u++)
        mean += value_of(u) / SAINT_USERS;
    for (int i = 3; i < 6; i++) {
        rgm_subgraph_sampler *sampler = sampler_of(kind_of(i), graph, seeds);
        int receiver = i == 5 ? RGM_SOURCE : RGM_TARGET;
        tallies t = {0};
        double error;

        for (int64_t d = 0; d < SAINT_DRAWS; d++) {
            CHECK_OK(rgm_subgraph_sampler_draw(&batch, sampler, &(int64_t){d % 3}, 1,
                                               (uint64_t)(d / 3)));
            tally(&t, batch, receiver);
            rgm_graph_release(batch);
        }
        t.total /= SAINT_DRAWS;
        error = sqrt((t.square / SAINT_DRAWS - t.total * t.total) / SAINT_DRAWS);
        CHECK_CLOSE(t.total, mean, 0, 4 * error);
        CHECK(error < 0.1);
        for (int64_t u = 0; u < SAINT_USERS; u++) {
            double p = t.drawn[u] / SAINT_DRAWS;

            CHECK(p > 0.05);
            CHECK_CLOSE(1 / (t.weight[u] * SAINT_USERS), p, 0.06, 0.02);
            CHECK_CLOSE(t.near[u] / t.drawn[u], mean_of(graph, u, receiver), 0.15, 0.9);
        }
        rgm_subgraph_sampler_release(sampler);
    }
    rgm_tensor_release(seeds);
    rgm_graph_release(graph);
}

static void the_whole_graph_has_weights_of_one(void **state)
{
    rgm_graph *graph = shop(8, SAINT_USERS, SAINT_ITEMS, 40, 90), *whole;
    rgm_tensor *seeds = some_seeds(SAINT_USERS);
    rgm_subgraph_sampler *sampler = sampler_of(kind_of(3), graph, seeds);
    double sum[SAINT_USERS] = {0};

    (void)state;
    CHECK(rgm_subgraph_sampler_judges_whole(sampler));
    CHECK_OK(rgm_subgraph_sampler_whole(&whole, sampler, seeds));
    for (int64_t i = 0; i < rgm_tensor_count(seeds); i++)
        CHECK(weights_of(whole, RGM_NODE_SET, "_readout", RGM_SAMPLING_WEIGHT)[i] == 1);
    for (int64_t e = 0; e < edges_of(whole, "follows"); e++)
        sum[end_of(whole, "follows", 1)[e]] +=
            (double)weights_of(whole, RGM_EDGE_SET, "follows", RGM_SAMPLING_WEIGHT)[e];
    for (int64_t u = 0; u < SAINT_USERS; u++)
        CHECK(sum[u] == 0 || fabs(sum[u] - 1) < 1e-5);
    CHECK(rgm_graph_feature(whole, RGM_NODE_SET, "user", "label") == NULL);
    rgm_graph_release(whole);
    rgm_subgraph_sampler_release(sampler);
    rgm_tensor_release(seeds);
    rgm_graph_release(graph);
}

/* ---- shaDow ---- */

/* Personalised PageRank by iteration, on the neighbour matrix. */
static void pagerank(double *rank, const bool *near, int64_t n, int64_t seed, double teleport)
{
    double *next = test_calloc((size_t)n, sizeof *next);

    memset(rank, 0, (size_t)n * sizeof *rank);
    for (int round = 0; round < 200; round++) {
        for (int64_t i = 0; i < n; i++)
            next[i] = i == seed ? teleport : 0;
        for (int64_t i = 0; i < n; i++) {
            double degree = 0;
            for (int64_t k = 0; k < n; k++)
                degree += near[i * n + k];
            for (int64_t k = 0; k < n && degree > 0; k++)
                if (near[i * n + k])
                    next[k] += (1 - teleport) * rank[i] / degree;
        }
        memcpy(rank, next, (size_t)n * sizeof *rank);
    }
    test_free(next);
}

static void pushes_find_the_highest_pageranks(void **state)
{
    enum { USERS = 30, ITEMS = 15, N = USERS + ITEMS, BUDGET = 8 };
    rgm_graph *graph = shop(5, USERS, ITEMS, 60, 50), *batch;
    rgm_shadow_options options = RGM_SHADOW_OPTIONS_INIT;
    bool *near = neighbour_matrix(graph);
    rgm_tensor *seeds = some_seeds(USERS);
    rgm_subgraph_sampler *sampler;
    double rank[N];

    (void)state;
    options.draw = RGM_SHADOW_PPR;
    options.budget = BUDGET;
    options.epsilon = 1e-9;
    sampler = sampler_of((kind){&rgm_shadow_sampler, &options}, graph, seeds);
    for (int64_t seed = 0; seed < USERS; seed += 3) {
        CHECK_OK(rgm_subgraph_sampler_draw(&batch, sampler, &seed, 1, 0));
        pagerank(rank, near, N, seed, 0.15);
        for (int set = 0; set < 2; set++) {
            const char *name = set == 0 ? "user" : "item";
            for (int64_t i = 0; i < nodes_of(batch, name); i++) {
                int64_t node = ids(batch, name)[i] + set * USERS, ahead = 0;
                for (int64_t k = 0; k < N; k++)
                    ahead += k != seed && rank[k] > rank[node] + 1e-6;
                CHECK(node == seed || ahead < BUDGET - 1);
            }
        }
        CHECK(nodes_of(batch, "user") + nodes_of(batch, "item") <= BUDGET);
        rgm_graph_release(batch);
    }
    rgm_subgraph_sampler_release(sampler);
    rgm_tensor_release(seeds);
    test_free(near);
    rgm_graph_release(graph);
}

static void hops_reach_everything_when_all_neighbours_are_taken(void **state)
{
    enum { USERS = 30, ITEMS = 15, N = USERS + ITEMS };
    rgm_graph *graph = shop(5, USERS, ITEMS, 30, 25), *batch;
    rgm_shadow_options options = RGM_SHADOW_OPTIONS_INIT;
    bool *near = neighbour_matrix(graph);
    rgm_tensor *seeds = some_seeds(USERS);
    rgm_subgraph_sampler *sampler;

    (void)state;
    options.neighbors = N;
    sampler = sampler_of((kind){&rgm_shadow_sampler, &options}, graph, seeds);
    for (int64_t seed = 0; seed < USERS; seed += 3) {
        bool reached[N] = {false};
        int64_t count = 0;

        CHECK_OK(rgm_subgraph_sampler_draw(&batch, sampler, &seed, 1, 0));
        reached[seed] = true;
        for (int64_t i = 0; i < N; i++)
            for (int64_t k = 0; k < N; k++)
                if (near[seed * N + k] && (i == k || near[k * N + i]))
                    reached[i] = true;
        for (int64_t i = 0; i < N; i++)
            count += reached[i];
        CHECK_INT(count, nodes_of(batch, "user") + nodes_of(batch, "item"));
        rgm_graph_release(batch);
    }
    rgm_subgraph_sampler_release(sampler);
    rgm_tensor_release(seeds);
    test_free(near);
    rgm_graph_release(graph);
}

/* ---- random walks ---- */

/* Expected visits of a walk of `length` steps that starts over before a step with probability
 * `restart`, but for the first. */
static void expected_visits(double *visits, const bool *near, int64_t n, int64_t from,
                            int64_t length, double restart)
{
    double *at = test_calloc((size_t)n, sizeof *at), *next = test_calloc((size_t)n, sizeof *next);

    memset(visits, 0, (size_t)n * sizeof *visits);
    at[from] = 1;
    for (int64_t step = 0; step < length; step++) {
        if (step > 0) {
            for (int64_t i = 0; i < n; i++)
                at[i] *= 1 - restart;
            at[from] += restart;
        }
        memset(next, 0, (size_t)n * sizeof *next);
        for (int64_t i = 0; i < n; i++) {
            double degree = 0;
            for (int64_t k = 0; k < n; k++)
                degree += near[i * n + k];
            for (int64_t k = 0; k < n; k++)
                if (near[i * n + k])
                    next[k] += at[i] / degree;
        }
        memcpy(at, next, (size_t)n * sizeof *at);
        for (int64_t i = 0; i < n; i++)
            visits[i] += at[i];
    }
    test_free(at);
    test_free(next);
}

static void walks_keep_the_most_visited(void **state)
{
    enum { USERS = 24, ITEMS = 10, N = USERS + ITEMS, KEPT = 5 };
    static const int64_t sizes[] = {KEPT};
    rgm_graph *graph = shop(12, USERS, ITEMS, 60, 30), *batch;
    rgm_random_walk_options options = {
        .sizes = {sizes, 1}, .walks = 20000, .length = 4, .restart = 0.3};
    bool *near = neighbour_matrix(graph);
    rgm_tensor *seeds = some_seeds(USERS);
    rgm_subgraph_sampler *sampler =
        sampler_of((kind){&rgm_random_walk_sampler, &options}, graph, seeds);
    double visits[N];

    (void)state;
    for (int64_t seed = 0; seed < USERS; seed += 3) {
        double kept = 0, sum = 0;
        const int64_t *id, *target;
        const float *weight;

        CHECK_OK(rgm_subgraph_sampler_draw(&batch, sampler, &seed, 1, 0));
        expected_visits(visits, near, N, seed, 4, 0.3);
        id = ids(batch, "user");
        target = end_of(batch, "walk", 1);
        weight = weights_of(batch, RGM_EDGE_SET, "walk", "weight");
        CHECK_INT(KEPT, edges_of(batch, "walk"));
        for (int64_t e = 0; e < KEPT; e++)
            kept += visits[id[target[e]]];
        for (int64_t e = 0; e < KEPT; e++) {
            int64_t ahead = 0, user = id[target[e]];

            CHECK(user != seed);
            CHECK_INT(0, end_of(batch, "walk", 0)[e]);
            CHECK_CLOSE(weight[e], visits[user] / kept, 0.06, 0);
            for (int64_t k = 0; k < USERS; k++)
                ahead += k != seed && visits[k] > 1.05 * visits[user];
            CHECK(ahead < KEPT);
            sum += (double)weight[e];
        }
        CHECK_CLOSE(sum, 1, 1e-5, 0);
        rgm_graph_release(batch);
    }
    rgm_subgraph_sampler_release(sampler);
    rgm_tensor_release(seeds);
    test_free(near);
    rgm_graph_release(graph);
}

TESTS(cmocka_unit_test(every_batch_asks_about_seeds_with_their_labels),
      cmocka_unit_test(subgraphs_have_all_edges_among_their_nodes),
      cmocka_unit_test(threads_and_order_change_nothing),
      cmocka_unit_test(every_failing_allocation_is_told),
      cmocka_unit_test(wrong_options_are_refused),
      cmocka_unit_test(partitions_cover_all_nodes_within_their_bound),
      cmocka_unit_test(communities_are_found),
      cmocka_unit_test(a_partition_survives_failing_allocations),
      cmocka_unit_test(an_epoch_of_clusters_has_every_seed_once),
      cmocka_unit_test(saint_is_right_in_expectation),
      cmocka_unit_test(the_whole_graph_has_weights_of_one),
      cmocka_unit_test(pushes_find_the_highest_pageranks),
      cmocka_unit_test(hops_reach_everything_when_all_neighbours_are_taken),
      cmocka_unit_test(walks_keep_the_most_visited))

#include <check.h>
#include <regimen/graph_sampling.h>

#define NODES 40
#define EDGES 400

/* Accounts that pay each other: nodes "a" with "asked", edges "pays" with "time", "weight" and
 * "number". Few distinct times, so that many are equal; doubles are tenths. */
static rgm_graph *payments(uint64_t seed, bool real, bool sorted)
{
    rgm_rng rng = rgm_rng_stream(seed, "payments", 0);
    rgm_dtype dtype = real ? RGM_F64 : RGM_I64;
    int64_t nodes = NODES, edges = EDGES;
    rgm_schema *schema;
    rgm_graph_builder *builder;
    rgm_graph *graph;
    rgm_feature asked = {0}, time = {0}, weight = {0}, number = {0};
    rgm_tensor *source, *target;

    CHECK_OK(rgm_schema_create(&schema));
    CHECK_OK(rgm_schema_add_node_set(schema, "a"));
    CHECK_OK(rgm_schema_add_edge_set(schema, "pays", "a", "a"));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_NODE_SET, "a", "asked", dtype, 0, NULL));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "pays", "time", dtype, 0, NULL));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "pays", "weight", RGM_F32, 0, NULL));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "pays", "number", RGM_I64, 0, NULL));
    CHECK_OK(rgm_tensor_create(&asked.values, dtype, 1, &nodes));
    CHECK_OK(rgm_tensor_create(&time.values, dtype, 1, &edges));
    CHECK_OK(rgm_tensor_create(&weight.values, RGM_F32, 1, &edges));
    CHECK_OK(rgm_tensor_arange(&number.values, EDGES));
    CHECK_OK(rgm_tensor_create(&source, RGM_I64, 1, &edges));
    CHECK_OK(rgm_tensor_create(&target, RGM_I64, 1, &edges));
    for (int64_t i = 0; i < NODES + EDGES; i++) {
        int64_t when = sorted && i >= NODES ? (i - NODES) / 20 - 10
                                            : (int64_t)rgm_rng_below(&rng, (uint64_t)i, 20) - 10;
        rgm_tensor *at = i < NODES ? asked.values : time.values;

        if (real)
            rgm_tensor_f64(at)[i < NODES ? i : i - NODES] = (double)when / 10;
        else
            rgm_tensor_i64(at)[i < NODES ? i : i - NODES] = when;
    }
    for (int64_t i = 0; i < EDGES; i++) {
        rgm_tensor_f32(weight.values)[i] = (float)rgm_rng_below(&rng, (uint64_t)(1000 + i), 6);
        rgm_tensor_i64(source)[i] = (int64_t)rgm_rng_below(&rng, (uint64_t)(2000 + i), NODES);
        rgm_tensor_i64(target)[i] = (int64_t)rgm_rng_below(&rng, (uint64_t)(3000 + i), NODES);
    }
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "a", &nodes));
    CHECK_OK(rgm_graph_builder_edges(builder, "pays", source, target));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "a", "asked", &asked));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_EDGE_SET, "pays", "time", &time));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_EDGE_SET, "pays", "weight", &weight));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_EDGE_SET, "pays", "number", &number));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_feature_clear(&asked);
    rgm_feature_clear(&time);
    rgm_feature_clear(&weight);
    rgm_feature_clear(&number);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_schema_release(schema);
    return graph;
}

static double value_of(const rgm_graph *graph, rgm_piece piece, const char *set, const char *name,
                       int64_t item)
{
    const rgm_feature *feature = rgm_graph_feature(graph, piece, set, name);

    CHECK(feature != NULL);
    return rgm_tensor_at(feature->values, item);
}

#define EDGE(graph, name, item) value_of(graph, RGM_EDGE_SET, "pays", name, item)
#define NODE(graph, name, item) value_of(graph, RGM_NODE_SET, "a", name, item)

/* Three hops there and back, each of its own strategy. */
static rgm_sampling_spec *spec_of(const rgm_graph *graph, const rgm_sample_strategy *strategies,
                                  int64_t hops, int64_t size)
{
    const char *edge_sets[] = {"pays", "<pays", "pays"};
    rgm_sampling_spec *spec;

    CHECK_OK(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "a", edge_sets,
                                      (int64_t[]){size, size, size}, hops, RGM_SAMPLE_UNIFORM));
    for (int64_t i = 0; i < hops; i++)
        spec->ops[i].strategy = strategies[i];
    return spec;
}

static rgm_sampler *sampler_of(rgm_graph *graph, rgm_sample_strategy first, int64_t hops,
                               int64_t size, bool up_to_seed)
{
    rgm_sample_strategy strategies[] = {first, (first + 1) % 4, (first + 2) % 4};
    rgm_sampling_spec *spec = spec_of(graph, strategies, hops, size);
    rgm_sampler *sampler;

    CHECK_OK(rgm_sampling_spec_set_time(spec, "time", "asked", up_to_seed, NULL, 0));
    CHECK_OK(rgm_sampler_create(&sampler, graph, spec, 7));
    rgm_sampling_spec_release(spec);
    return sampler;
}

/* ---- no edge from the future ---- */

static void no_edge_of_the_future_in_a_thousand_cases(void **state)
{
    int64_t edges = 0, at_seed = 0;

    (void)state;
    for (uint64_t c = 0; c < 1000; c++) {
        rgm_graph *graph = payments(c / 25, c / 25 % 2, c / 50 % 2), *small;
        rgm_sampler *sampler = sampler_of(graph, c % 4, 3, 1 + (int64_t)(c % 5), c % 3 == 0);

        CHECK_OK(rgm_sampler_sample(&small, sampler, (int64_t)(c * 7 % NODES), c));
        for (int64_t e = 0; e < rgm_graph_total(small, RGM_EDGE_SET, "pays"); e++, edges++) {
            double when = EDGE(small, "time", e), asked = NODE(small, "asked", 0);

            CHECK(c % 3 == 0 ? when <= asked : when < asked);
            at_seed += when == asked;
            CHECK_CLOSE(when, EDGE(graph, "time", (int64_t)EDGE(small, "number", e)), 0, 0);
        }
        rgm_graph_release(small);
        rgm_sampler_release(sampler);
        rgm_graph_release(graph);
    }
    CHECK(edges > 5000);  /* it did sample, and where "up to" was asked for, */
    CHECK(at_seed > 100); /* edges of the very moment too                     */
}

static void every_seed_of_a_batch_has_its_own_past(void **state)
{
    rgm_graph *graph = payments(3, false, false), *batch, *one, *component;
    rgm_sampler *sampler = sampler_of(graph, RGM_SAMPLE_UNIFORM, 3, 3, false);
    const int64_t seeds[] = {4, 30, 4, 17, 8, 9};
    rgm_text want = {0}, got = {0};

    (void)state;
    CHECK_OK(rgm_sampler_batch(&batch, sampler, seeds, 6, 2, "asked"));
    CHECK_INT(6, rgm_graph_components(batch));
    CHECK_INT(6, rgm_graph_total(batch, RGM_NODE_SET, "_readout"));
    CHECK_OK(rgm_graph_check_readout(batch, "_readout"));
    for (int64_t i = 0; i < 6; i++) {
        want.size = got.size = 0;
        CHECK_OK(rgm_sampler_batch(&one, sampler, &seeds[i], 1, 2, "asked"));
        CHECK_OK(rgm_graph_component(&component, batch, i));
        CHECK_OK(rgm_graph_encode(&want, one, ""));
        CHECK_OK(rgm_graph_encode(&got, component, ""));
        CHECK(want.size == got.size && memcmp(want.data, got.data, (size_t)want.size) == 0);
        CHECK_CLOSE(NODE(graph, "asked", seeds[i]),
                    value_of(component, RGM_NODE_SET, "_readout", "asked", 0), 0, 0);
        rgm_graph_release(one);
        rgm_graph_release(component);
    }
    rgm_text_clear(&want);
    rgm_text_clear(&got);
    rgm_graph_release(batch);
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

/* ---- which of the past ---- */

/* The node's edges before its time, by brute force. */
static int64_t past_of(int64_t *numbers, const rgm_graph *graph, int64_t node, bool up_to_seed)
{
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(graph, "pays"));
    double asked = NODE(graph, "asked", node);
    int64_t count = 0;

    for (int64_t e = 0; e < EDGES; e++)
        if (source[e] == node &&
            (EDGE(graph, "time", e) < asked || (up_to_seed && EDGE(graph, "time", e) == asked)))
            numbers[count++] = e;
    return count;
}

/* Whether edge x goes before y when `by` ("time": the later, then the higher number; "weight": the
 * larger, then the lower number) ranks them. */
static bool before(const rgm_graph *graph, const char *by, int64_t x, int64_t y)
{
    double a = EDGE(graph, by, x), b = EDGE(graph, by, y);

    return a != b ? a > b : strcmp(by, "time") == 0 ? x > y : x < y;
}

static void check_first_of_past(rgm_sample_strategy strategy, const char *by, uint64_t seed)
{
    rgm_graph *graph = payments(seed, seed % 2, seed % 3 == 0), *small;
    rgm_sampler *sampler = sampler_of(graph, strategy, 1, 3, seed % 2);
    int64_t past[EDGES], count, taken;

    for (int64_t node = 0; node < NODES; node++) {
        CHECK_OK(rgm_sampler_sample(&small, sampler, node, 0));
        count = past_of(past, graph, node, seed % 2);
        taken = rgm_graph_total(small, RGM_EDGE_SET, "pays");
        CHECK_INT(count < 3 ? count : 3, taken);
        for (int64_t e = 0; e < taken; e++) {
            int64_t number = (int64_t)EDGE(small, "number", e), ahead = 0;
            bool found = false;

            for (int64_t i = 0; i < count; i++) {
                found = found || past[i] == number;
                ahead += before(graph, by, past[i], number);
            }
            CHECK(found && ahead < 3);
        }
        rgm_graph_release(small);
    }
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

static void latest_and_top_are_those_of_the_past(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        check_first_of_past(RGM_SAMPLE_LATEST_K, "time", seed);
        check_first_of_past(RGM_SAMPLE_TOP_K, "weight", seed);
    }
}

/* Drawing two of the past of one node: how often each edge is taken. */
static void check_shares(rgm_sample_strategy strategy, bool sorted)
{
    enum { EPOCHS = 4000 };
    rgm_graph *graph = payments(5, false, sorted), *small;
    rgm_sampler *sampler = sampler_of(graph, strategy, 1, 2, false);
    int64_t past[EDGES], count = 0, node = -1, taken[EDGES] = {0};

    while (count < 5 || count > 8)
        count = past_of(past, graph, ++node, false);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        CHECK_OK(rgm_sampler_sample(&small, sampler, node, epoch));
        for (int64_t e = 0; e < rgm_graph_total(small, RGM_EDGE_SET, "pays"); e++)
            taken[(int64_t)EDGE(small, "number", e)]++;
        rgm_graph_release(small);
    }
    for (int64_t i = 0; i < count; i++) {
        double want = 0, all = 0, w = EDGE(graph, "weight", past[i]);

        for (int64_t k = 0; k < count; k++)
            all += EDGE(graph, "weight", past[k]);
        /* The first of two, or the second behind any other. */
        for (int64_t k = 0; k < count; k++) {
            double first = EDGE(graph, "weight", past[k]);
            want += k == i ? w / all : first / all * w / (all - first);
        }
        if (strategy == RGM_SAMPLE_UNIFORM)
            want = 2.0 / (double)count;
        CHECK_CLOSE((double)taken[past[i]] / EPOCHS, want, 0, 0.04);
    }
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

static void draws_are_fair_among_the_past(void **state)
{
    (void)state;
    check_shares(RGM_SAMPLE_UNIFORM, false);
    check_shares(RGM_SAMPLE_UNIFORM, true);
    check_shares(RGM_SAMPLE_WEIGHTED, false);
}

static void latest_needs_no_times_of_seeds(void **state)
{
    rgm_graph *graph = payments(9, true, false), *small;
    rgm_sampling_spec *spec = spec_of(graph, (rgm_sample_strategy[]){RGM_SAMPLE_LATEST_K}, 1, 2);
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(graph, "pays"));
    rgm_sampler *sampler;

    (void)state;
    CHECK_OK(rgm_sampler_create(&sampler, graph, spec, 1));
    for (int64_t node = 0; node < NODES; node++) {
        CHECK_OK(rgm_sampler_sample(&small, sampler, node, 0));
        for (int64_t e = 0; e < rgm_graph_total(small, RGM_EDGE_SET, "pays"); e++) {
            int64_t ahead = 0, number = (int64_t)EDGE(small, "number", e);

            for (int64_t i = 0; i < EDGES; i++)
                ahead += source[i] == node && before(graph, "time", i, number);
            CHECK(source[number] == node && ahead < 2);
        }
        rgm_graph_release(small);
    }
    rgm_sampler_release(sampler);
    rgm_sampling_spec_release(spec);
    rgm_graph_release(graph);
}

/* Neighbouring integers that doubles cannot tell apart. */
static void nanoseconds_are_compared_as_integers(void **state)
{
    const int64_t now = INT64_C(1700000000000000001);
    rgm_graph *graph = payments(1, false, false), *small;
    rgm_sampler *sampler;
    rgm_feature asked, time;
    int64_t past = 0;

    (void)state;
    asked = *rgm_graph_feature(graph, RGM_NODE_SET, "a", "asked");
    time = *rgm_graph_feature(graph, RGM_EDGE_SET, "pays", "time");
    for (int64_t i = 0; i < NODES; i++)
        rgm_tensor_i64(asked.values)[i] = now;
    for (int64_t i = 0; i < EDGES; i++) {
        rgm_tensor_i64(time.values)[i] = now - i % 2;
        past += rgm_tensor_i64(rgm_graph_source(graph, "pays"))[i] == 0 && i % 2 == 1;
    }
    sampler = sampler_of(graph, RGM_SAMPLE_UNIFORM, 1, EDGES, false);
    CHECK_OK(rgm_sampler_sample(&small, sampler, 0, 0));
    CHECK(past > 0);
    CHECK_INT(past, rgm_graph_total(small, RGM_EDGE_SET, "pays"));
    rgm_graph_release(small);
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

/* ---- mistakes ---- */

static void what_cannot_be_is_refused(void **state)
{
    rgm_graph *graph = payments(1, true, false);
    rgm_sample_strategy uniform[] = {RGM_SAMPLE_UNIFORM};
    rgm_sampling_spec *spec = spec_of(graph, uniform, 1, 2);
    rgm_sampler *sampler;
    const char *always[] = {"pays"};
    rgm_feature time = *rgm_graph_feature(graph, RGM_EDGE_SET, "pays", "time");

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_sampling_spec_set_time(spec, "time", "asked", false,
                                                            (const char *[]){"paid"}, 1));
    CHECK_MESSAGE("'paid' shall have no times, but no sampling op follows it");
    CHECK_OK(rgm_sampling_spec_set_time(spec, "time", "asked", false, always, 1));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_sampler_create(&sampler, graph, spec, 1));
    CHECK_MESSAGE("every edge would be taken");
    CHECK_OK(rgm_sampling_spec_set_time(spec, "moment", "asked", false, NULL, 0));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_sampler_create(&sampler, graph, spec, 1));
    CHECK_MESSAGE("edge set 'pays' has no feature 'moment'");
    CHECK_OK(rgm_sampling_spec_set_time(spec, "time", "when", false, NULL, 0));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_sampler_create(&sampler, graph, spec, 1));
    CHECK_MESSAGE("node set 'a' has no feature 'when'");
    CHECK_OK(rgm_sampling_spec_set_time(spec, "time", "asked", false, NULL, 0));
    rgm_tensor_f64(time.values)[7] = NAN;
    CHECK_STATUS(RGM_ERR_DATA, rgm_sampler_create(&sampler, graph, spec, 1));
    CHECK_MESSAGE("'time' of edge set 'pays' is NaN in row 7");
    rgm_graph_release(graph);
    graph = payments(1, false, false);
    rgm_tensor_i64(rgm_graph_feature(graph, RGM_EDGE_SET, "pays", "time")->values)[5] = INT64_MIN;
    CHECK_STATUS(RGM_ERR_DATA, rgm_sampler_create(&sampler, graph, spec, 1));
    CHECK_MESSAGE("'time' of edge set 'pays' is missing in row 5");
    rgm_sampling_spec_release(spec);
    rgm_graph_release(graph);
}

#define OF_A                                                                                       \
    "seed_op { op_name: 's' node_set_name: 'a' time_feature_name: 'asked' up_to_seed: true }"
#define PAYS(name, input, more)                                                                    \
    "sampling_ops { op_name: '" name "' input_op_names: '" input "' edge_set_name: 'pays' "        \
    "sample_size: 2 strategy: LATEST_K " more "}"

/* What is not given stays as the spec says it. */
static void a_spec_keeps_the_times_that_it_says(void **state)
{
    static const char text[] =
        OF_A PAYS("h", "s", "time_feature_name: 'number' ") PAYS("i", "h", "");
    rgm_graph *graph = payments(4, false, false);
    rgm_sampling_spec *spec;

    (void)state;
    for (int seeds = 0; seeds < 2; seeds++) {
        CHECK_OK(rgm_sampling_spec_parse(&spec, text, (int64_t)strlen(text), "spec",
                                         rgm_graph_schema(graph)));
        CHECK_OK(rgm_sampling_spec_set_time(spec, seeds ? NULL : "weight", seeds ? "when" : NULL,
                                            false, NULL, 0));
        CHECK_TEXT(seeds ? "when" : "asked", spec->seed_time);
        CHECK_INT(!seeds, spec->up_to_seed);
        CHECK_TEXT(seeds ? "number" : "weight", spec->ops[0].time);
        CHECK_TEXT(seeds ? "time" : "weight", spec->ops[1].time);
        rgm_sampling_spec_release(spec);
    }
    rgm_graph_release(graph);
}

static rgm_status make_spec(const rgm_graph *graph)
{
    const char *edge_sets[] = {"pays", "<pays"};
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;

    RGM_GO(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "a", edge_sets,
                                    (int64_t[]){2, 2}, 2, RGM_SAMPLE_LATEST_K));
    RGM_GO(rgm_sampling_spec_set_time(spec, "time", "asked", false, NULL, 0));
done:
    rgm_sampling_spec_release(spec);
    return status;
}

static rgm_status make_and_draw(rgm_graph *graph, const rgm_sampling_spec *spec)
{
    rgm_status status = RGM_OK;
    rgm_sampler *sampler = NULL;
    rgm_graph *batch = NULL;

    RGM_GO(rgm_sampler_create(&sampler, graph, spec, 1));
    RGM_GO(rgm_sampler_batch(&batch, sampler, (int64_t[]){0, 1}, 2, 0, "asked"));
done:
    rgm_graph_release(batch);
    rgm_sampler_release(sampler);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    rgm_graph *graph = payments(2, false, false);
    rgm_sample_strategy strategies[] = {RGM_SAMPLE_LATEST_K, RGM_SAMPLE_UNIFORM};
    rgm_sampling_spec *spec = spec_of(graph, strategies, 2, 2);

    (void)state;
    CHECK_EVERY_OOM(make_spec(graph), (void)0);
    CHECK_OK(rgm_sampling_spec_set_time(spec, "time", "asked", false, NULL, 0));
    CHECK_OK(make_and_draw(graph, spec)); /* the graph keeps its adjacency */
    CHECK_EVERY_OOM(make_and_draw(graph, spec), (void)0);
    rgm_sampling_spec_release(spec);
    rgm_graph_release(graph);
}

TESTS(cmocka_unit_test(no_edge_of_the_future_in_a_thousand_cases),
      cmocka_unit_test(every_seed_of_a_batch_has_its_own_past),
      cmocka_unit_test(latest_and_top_are_those_of_the_past),
      cmocka_unit_test(draws_are_fair_among_the_past),
      cmocka_unit_test(latest_needs_no_times_of_seeds),
      cmocka_unit_test(nanoseconds_are_compared_as_integers),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(a_spec_keeps_the_times_that_it_says),
      cmocka_unit_test(every_failing_allocation_is_told))

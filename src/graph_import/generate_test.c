#include <check.h>

#include <regimen/graph_import.h>

static const int64_t *values_of(const rgm_graph *graph, rgm_piece piece, const char *set,
                                const char *feature)
{
    const rgm_feature *f = rgm_graph_feature(graph, piece, set, feature);
    CHECK(f != NULL);
    return rgm_tensor_i64(f->values);
}

static bool same_graph(const rgm_graph *a, const rgm_graph *b)
{
    rgm_text x = {0}, y = {0};
    bool same;

    CHECK_OK(rgm_graph_encode(&x, a, ""));
    CHECK_OK(rgm_graph_encode(&y, b, ""));
    same = x.size == y.size && memcmp(x.data, y.data, (size_t)x.size) == 0;
    rgm_text_clear(&x);
    rgm_text_clear(&y);
    return same;
}

/* ---- citation graphs ---- */

static void a_citation_graph_is_simple_homophilous_and_skewed(void **state)
{
    rgm_citation_options o = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data s;
    const int64_t *source, *target, *label;
    int64_t inside = 0, most = 0, degree[2708] = {0};

    (void)state;
    CHECK_OK(rgm_generate_citation(&s, NULL));
    CHECK_INT(2708, rgm_graph_total(s.graphs[0], RGM_NODE_SET, "nodes"));
    CHECK_INT(2 * 5278, rgm_graph_total(s.graphs[0], RGM_EDGE_SET, "edges"));
    source = rgm_tensor_i64(rgm_graph_source(s.graphs[0], "edges"));
    target = rgm_tensor_i64(rgm_graph_target(s.graphs[0], "edges"));
    label = values_of(s.graphs[0], RGM_NODE_SET, "nodes", "label");
    for (int64_t i = 0; i < 2 * 5278; i++) {
        CHECK(source[i] != target[i]);
        CHECK(i == 0 || target[i] > target[i - 1] ||
              (target[i] == target[i - 1] && source[i] > source[i - 1])); /* sorted, no repeats */
        CHECK(label[source[i]] >= 0 && label[source[i]] < 7);
        inside += label[source[i]] == label[target[i]];
        degree[target[i]]++;
    }
    for (int64_t i = 0; i < 2708; i++) {
        CHECK(degree[i] >= 1);
        most = degree[i] > most ? degree[i] : most;
    }
    CHECK_CLOSE(o.homophily, (double)inside / (2 * 5278), 0, 0.03);
    CHECK(most > 10 * 4); /* the mean is 3.9 */
    rgm_graph_data_clear(&s);
}

static void words_are_distinct_and_tell_classes_apart(void **state)
{
    rgm_graph_data s;
    const rgm_feature *words;
    const int64_t *label;
    int64_t at = 0, own = 0, all = 0;

    (void)state;
    CHECK_OK(rgm_generate_citation(&s, NULL));
    words = rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "nodes", "words");
    label = values_of(s.graphs[0], RGM_NODE_SET, "nodes", "label");
    for (int64_t i = 0; i < 2708; i++) {
        int64_t n = rgm_tensor_i64(words->row_lengths[1])[i], last = -1;
        CHECK(n >= 9 && n <= 27);
        for (int64_t k = 0; k < n; k++, at++) {
            int64_t word = rgm_tensor_i64(words->values)[at];
            CHECK(word > last && word < 1433);
            last = word;
            own += word >= label[i] * 1433 / 7 && word < (label[i] + 1) * 1433 / 7;
            all++;
        }
    }
    /* 27 % from a seventh of the vocabulary, and that seventh's share of the rest. */
    CHECK_CLOSE(0.27 + 0.73 / 7, (double)own / (double)all, 0, 0.04);
    rgm_graph_data_clear(&s);
}

static void the_split_is_balanced_and_disjoint(void **state)
{
    rgm_graph_data s;
    const int64_t *label;
    int64_t per_class[7] = {0};
    bool seen[2708] = {false};
    rgm_tensor *parts[3];

    (void)state;
    CHECK_OK(rgm_generate_citation(&s, NULL));
    label = values_of(s.graphs[0], RGM_NODE_SET, "nodes", "label");
    parts[0] = s.train;
    parts[1] = s.valid;
    parts[2] = s.test;
    CHECK(rgm_tensor_count(s.train) == 140 && rgm_tensor_count(s.valid) == 500 &&
          rgm_tensor_count(s.test) == 1000);
    for (int p = 0; p < 3; p++)
        for (int64_t i = 0; i < rgm_tensor_count(parts[p]); i++) {
            int64_t node = rgm_tensor_i64(parts[p])[i];
            CHECK(node >= 0 && node < 2708 && !seen[node]);
            seen[node] = true;
            per_class[label[node]] += p == 0;
        }
    for (int c = 0; c < 7; c++)
        CHECK_INT(20, per_class[c]);
    rgm_graph_data_clear(&s);
}

static void the_same_seed_gives_the_same_graph(void **state)
{
    rgm_citation_options o = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data a, b, c;

    (void)state;
    CHECK_OK(rgm_generate_citation(&a, &o));
    CHECK_OK(rgm_generate_citation(&b, &o));
    o.seed = 2;
    CHECK_OK(rgm_generate_citation(&c, &o));
    CHECK(same_graph(a.graphs[0], b.graphs[0]));
    CHECK(!same_graph(a.graphs[0], c.graphs[0]));
    rgm_graph_data_clear(&a);
    rgm_graph_data_clear(&b);
    rgm_graph_data_clear(&c);
}

static void dense_features_lie_around_their_class(void **state)
{
    rgm_citation_options o = RGM_CITATION_OPTIONS_LARGE;
    rgm_graph_data s;
    const rgm_feature *x;
    const int64_t *label;
    double mean[4][16] = {{0}}, norm = 0, rest = 0;
    int64_t count[4] = {0};

    (void)state;
    o.nodes = 4000;
    o.edges = 9000;
    o.classes = 4;
    o.dense = 16;
    o.train_per_class = 10;
    o.valid = o.test = 100;
    o.node_set = "paper";
    o.edge_set = "cites";
    CHECK_OK(rgm_generate_citation(&s, &o));
    x = rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "paper", "feat");
    label = values_of(s.graphs[0], RGM_NODE_SET, "paper", "label");
    for (int64_t i = 0; i < 4000; i++) {
        count[label[i]]++;
        for (int c = 0; c < 16; c++)
            mean[label[i]][c] += rgm_tensor_f32(x->values)[16 * i + c];
    }
    for (int k = 0; k < 4; k++)
        for (int c = 0; c < 16; c++)
            norm += pow(mean[k][c] / (double)count[k], 2) / 4;
    CHECK(norm > 0.4 && norm < 1.8);
    for (int64_t i = 0; i < 4000; i++)
        for (int c = 0; c < 16; c++)
            rest += pow(rgm_tensor_f32(x->values)[16 * i + c] -
                            mean[label[i]][c] / (double)count[label[i]],
                        2) /
                    (4000 * 16);
    CHECK_CLOSE(o.noise, sqrt(rest), 0.05, 0);
    CHECK_INT(2 * 9000, rgm_graph_total(s.graphs[0], RGM_EDGE_SET, "cites"));
    rgm_graph_data_clear(&s);
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    const rgm_citation_options good = RGM_CITATION_OPTIONS_INIT;
    rgm_citation_options o;
    rgm_graph_data s;

    (void)state;
#define REFUSED(field, value, message)                                                             \
    do {                                                                                           \
        o = good;                                                                                  \
        o.field = (value);                                                                         \
        CHECK_STATUS(RGM_ERR_ARG, rgm_generate_citation(&s, &o));                                  \
        CHECK_MESSAGE(message);                                                                    \
    } while (0)
    REFUSED(nodes, 1, "1 nodes in 7 classes");
    REFUSED(classes, 0, "in 0 classes");
    REFUSED(edges, 3000000, "at most half of all pairs");
    REFUSED(words, 30, "words is 30");
    REFUSED(homophily, 1.5, "homophily is 1.5");
    REFUSED(noise, NAN, "noise is nan");
    REFUSED(exponent, 2, "exponent is 2");
    REFUSED(test, 3000, "the split asks for");
#undef REFUSED
    o = good;
    o.valid = o.test = 0;
    o.train_per_class = 380;
    CHECK_STATUS(RGM_ERR_ARG, rgm_generate_citation(&s, &o));
    CHECK_MESSAGE("fewer than train_per_class = 380");
}

static void a_small_citation_graph_survives_failing_allocations(void **state)
{
    rgm_citation_options o = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data s;

    (void)state;
    o.nodes = 60;
    o.edges = 80;
    o.classes = 3;
    o.train_per_class = 4;
    o.valid = o.test = 10;
    CHECK_EVERY_OOM(rgm_generate_citation(&s, &o), rgm_graph_data_clear(&s));
    o.dense = 4;
    CHECK_EVERY_OOM(rgm_generate_citation(&s, &o), rgm_graph_data_clear(&s));
}

/* ---- random graphs of a schema ---- */

static const char schema_text[] =
    "context { features { key: 'c' value { dtype: DT_FLOAT } } }\n"
    "node_sets { key: 'a' value {\n"
    "  features { key: 'i' value { dtype: DT_INT64 } }\n"
    "  features { key: 'small' value { dtype: DT_UINT8 } }\n"
    "  features { key: 's' value { dtype: DT_STRING shape { dim { size: 2 } } } }\n"
    "  features { key: 'r' value { dtype: DT_FLOAT shape { dim { size: 3 } dim { size: -1 } "
    "dim { size: 2 } } } }\n"
    "  features { key: 'w' value { dtype: DT_INT64 shape { dim { size: -1 } } "
    "source: 'one_hot:5' } } } }\n"
    "node_sets { key: '_shadow/e' value {} }\n"
    "node_sets { key: '_readout' value { features { key: 'label' value { dtype: DT_INT64 } } } }\n"
    "edge_sets { key: 'e' value { source: 'a' target: 'a' } }\n"
    "edge_sets { key: '_readout/node' value { source: 'a' target: '_readout' } }\n"
    "edge_sets { key: '_readout/edge' value { source: '_shadow/e' target: '_readout' } }\n";

static rgm_schema *schema_of(void)
{
    rgm_schema *schema;
    CHECK_OK(rgm_schema_parse(&schema, schema_text, (int64_t)strlen(schema_text), "t"));
    return schema;
}

static void random_graphs_fit_their_schema(void **state)
{
    rgm_schema *schema = schema_of();
    int64_t two = 0;

    (void)state;
    for (uint64_t index = 0; index < 60; index++) {
        rgm_graph *g;
        const rgm_feature *f;
        const int64_t *sizes;
        int64_t at = 0;
        CHECK_OK(rgm_generate_graph(&g, schema, 7, index));
        CHECK_OK(rgm_graph_check_complete(g));
        CHECK_OK(rgm_graph_check_readout(g, "_readout"));
        two += rgm_graph_components(g) == 2;
        sizes = rgm_graph_sizes(g, RGM_NODE_SET, "a");
        for (int64_t c = 0; c < rgm_graph_components(g); c++) {
            int64_t s = 2 * sizes[c], edges = rgm_graph_sizes(g, RGM_EDGE_SET, "e")[c];
            CHECK(sizes[c] >= 2 && sizes[c] <= 8);
            CHECK((double)edges >= (double)s / 1.5 - 1 && (double)edges < 2.25 * (double)s);
            CHECK_INT(edges, rgm_graph_sizes(g, RGM_NODE_SET, "_shadow/e")[c]);
            CHECK_INT(1, rgm_graph_sizes(g, RGM_NODE_SET, "_readout")[c]);
        }
        for (int64_t i = 0; i < rgm_graph_total(g, RGM_NODE_SET, "a"); i++) {
            f = rgm_graph_feature(g, RGM_NODE_SET, "a", "small");
            CHECK(values_of(g, RGM_NODE_SET, "a", "i")[i] >= 100 &&
                  values_of(g, RGM_NODE_SET, "a", "i")[i] <= 999);
            CHECK(rgm_tensor_at_int(f->values, i) >= 10 && rgm_tensor_at_int(f->values, i) <= 100);
        }
        f = rgm_graph_feature(g, RGM_NODE_SET, "a", "w");
        for (int64_t i = 0; i < rgm_tensor_count(f->row_lengths[1]); i++)
            for (int64_t k = 0, last = -1; k < rgm_tensor_i64(f->row_lengths[1])[i]; k++, at++) {
                CHECK(rgm_tensor_i64(f->values)[at] > last && rgm_tensor_i64(f->values)[at] < 5);
                last = rgm_tensor_i64(f->values)[at];
            }
        rgm_graph_release(g);
    }
    CHECK(two > 10 && two < 50);
    rgm_schema_release(schema);
}

/* A record keeps the numbers of every type that a schema can name. */
static void a_random_graph_of_any_type_can_be_kept(void **state)
{
    static const char *const types[] = {
        "DT_FLOAT", "DT_DOUBLE", "DT_INT32", "DT_INT64",  "DT_BOOL",   "DT_STRING", "DT_UINT8",
        "DT_INT8",  "DT_UINT16", "DT_INT16", "DT_UINT32", "DT_UINT64", "DT_HALF",   "DT_BFLOAT16"};
    rgm_text text = {0};
    rgm_schema *schema;
    rgm_graph *graph, *kept;

    (void)state;
    CHECK_OK(rgm_text_printf(&text, "node_sets { key: 'a' value {\n"));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        CHECK_OK(rgm_text_printf(&text, "features { key: '%s' value { dtype: %s } }\n", types[i],
                                 types[i]));
    CHECK_OK(rgm_text_printf(&text, "} }\n"));
    CHECK_OK(rgm_schema_parse(&schema, text.data, text.size, "t"));
    text.size = 0;
    CHECK_OK(rgm_generate_graph(&graph, schema, 3, 0));
    CHECK_OK(rgm_graph_encode(&text, graph, ""));
    CHECK_OK(rgm_graph_decode(&kept, schema, text.data, text.size, "", "t"));
    CHECK(same_graph(graph, kept));
    CHECK(rgm_tensor_f64(rgm_graph_feature(kept, RGM_NODE_SET, "a", "DT_DOUBLE")->values)[1] > 0);
    rgm_text_clear(&text);
    rgm_graph_release(graph);
    rgm_graph_release(kept);
    rgm_schema_release(schema);
}

static void a_random_graph_depends_on_seed_and_index(void **state)
{
    rgm_schema *schema = schema_of();
    rgm_graph *a, *b, *c, *d;

    (void)state;
    CHECK_OK(rgm_generate_graph(&a, schema, 1, 5));
    CHECK_OK(rgm_generate_graph(&b, schema, 1, 5));
    CHECK_OK(rgm_generate_graph(&c, schema, 1, 6));
    CHECK_OK(rgm_generate_graph(&d, schema, 2, 5));
    CHECK(same_graph(a, b) && !same_graph(a, c) && !same_graph(a, d));
    rgm_graph_release(a);
    rgm_graph_release(b);
    rgm_graph_release(c);
    rgm_graph_release(d);
    CHECK_EVERY_OOM(rgm_generate_graph(&a, schema, 1, 5), rgm_graph_release(a));
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(a_citation_graph_is_simple_homophilous_and_skewed),
      cmocka_unit_test(words_are_distinct_and_tell_classes_apart),
      cmocka_unit_test(the_split_is_balanced_and_disjoint),
      cmocka_unit_test(the_same_seed_gives_the_same_graph),
      cmocka_unit_test(dense_features_lie_around_their_class),
      cmocka_unit_test(options_that_contradict_each_other_are_refused),
      cmocka_unit_test(a_small_citation_graph_survives_failing_allocations),
      cmocka_unit_test(random_graphs_fit_their_schema),
      cmocka_unit_test(a_random_graph_of_any_type_can_be_kept),
      cmocka_unit_test(a_random_graph_depends_on_seed_and_index))

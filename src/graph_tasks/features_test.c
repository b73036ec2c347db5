/*
 * Encoders of features: what they learn and of which part, the file that keeps it, what a model
 * then reads, gradients of tables, what is refused and when, runs that go on with the same bits.
 */
#include "gnn_check.h"

#include <regimen/graph_tasks.h>

static const char schema_text[] =
    "node_sets { key: 'paper' value {"
    "  features { key: 'year' value { dtype: DT_INT64 } }"
    "  features { key: 'word' value { dtype: DT_STRING } }"
    "  features { key: 'heat' value { dtype: DT_DOUBLE shape { dim { size: 2 } } } }"
    "  features { key: 'tags' value { dtype: DT_STRING shape { dim { size: -1 } } } }"
    "  features { key: 'codes' value { dtype: DT_INT64 shape { dim { size: -1 } } } }"
    "  features { key: 'marks' value { dtype: DT_DOUBLE shape { dim { size: -1 } } } }"
    "  features { key: 'nested' value { dtype: DT_INT64 shape { dim { size: -1 } dim { size: -1 } "
    "} "
    "} }"
    "  features { key: 'label' value { dtype: DT_INT64 } } } }"
    "node_sets { key: 'author' value { features { key: 'label' value { dtype: DT_INT64 } } } }"
    "edge_sets { key: 'cites' value { source: 'paper' target: 'paper'"
    "  features { key: 'order' value { dtype: DT_INT64 } } } }"
    "edge_sets { key: 'writes' value { source: 'author' target: 'paper' } }";
enum { PAPERS_HERE = 8, TRAINED = 5, AUTHORS_HERE = 3, CITES = 6, WRITES = 4 };

static const int64_t years[PAPERS_HERE] = {1990, 1990, 2000, 2010, 2010, 1900, 2020, 1990};
static const rgm_str words[PAPERS_HERE] = {{"b", 1}, {"a", 1},       {"b", 1},   {"100%", 4},
                                           {"", 0},  {"\xff\0z", 3}, {"new", 3}, {"a", 1}};
static const double heats[2 * PAPERS_HERE] = {1, 5, 2, 5, 3, 5, 4, 5, 5, 5, 100, 7, -7, 5, 0, 6};
static const int64_t tag_lengths[PAPERS_HERE] = {2, 0, 1, 3, 1, 1, 1, 0};
static const rgm_str tags[9] = {{"x", 1}, {"y", 1}, {"y", 1}, {"z", 1}, {"y", 1},
                                {"x", 1}, {"x", 1}, {"w", 1}, {"v", 1}};
static const int64_t code_lengths[PAPERS_HERE] = {1, 2, 0, 1, 1, 1, 0, 1};
static const int64_t codes[7] = {3, 3, -1, 9, 3, 77, 3};
static const int64_t orders[CITES] = {4, 4, 2, 4, 2, 9};

static void give(rgm_graph_builder *b, rgm_piece piece, const char *set, const char *name,
                 rgm_dtype dtype, int64_t items, int64_t width, const void *data,
                 const int64_t *lengths, int64_t count)
{
    rgm_feature f = {.values = NULL};

    CHECK_OK(rgm_tensor_create_from(&f.values, dtype, width > 0 ? 2 : 1,
                                    (int64_t[]){lengths != NULL ? count : items, width}, data));
    if (lengths != NULL)
        CHECK_OK(rgm_tensor_create_from(&f.row_lengths[1], RGM_I64, 1, &items, lengths));
    CHECK_OK(rgm_graph_builder_feature(b, piece, set, name, &f));
    rgm_feature_clear(&f);
}

static rgm_graph *make_papers(rgm_schema *schema)
{
    rgm_graph_builder *b;
    rgm_graph *graph;

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "paper", (int64_t[]){PAPERS_HERE}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "author", (int64_t[]){AUTHORS_HERE}));
    add_edges(b, "cites", CITES, (int64_t[]){0, 1, 2, 3, 5, 6}, (int64_t[]){1, 2, 3, 4, 6, 7});
    add_edges(b, "writes", WRITES, (int64_t[]){0, 1, 2, 0}, (int64_t[]){0, 3, 5, 7});
    give(b, RGM_NODE_SET, "paper", "year", RGM_I64, PAPERS_HERE, 0, years, NULL, 0);
    give(b, RGM_NODE_SET, "paper", "word", RGM_STRING, PAPERS_HERE, 0, words, NULL, 0);
    give(b, RGM_NODE_SET, "paper", "heat", RGM_F64, PAPERS_HERE, 2, heats, NULL, 0);
    give(b, RGM_NODE_SET, "paper", "tags", RGM_STRING, PAPERS_HERE, 0, tags, tag_lengths, 9);
    give(b, RGM_NODE_SET, "paper", "codes", RGM_I64, PAPERS_HERE, 0, codes, code_lengths, 7);
    give(b, RGM_NODE_SET, "paper", "marks", RGM_F64, PAPERS_HERE, 0, (double[]){1, 2, 3, 4},
         (int64_t[]){0, 1, 2, 0, 0, 0, 0, 1}, 4);
    give(b, RGM_NODE_SET, "paper", "label", RGM_I64, PAPERS_HERE, 0,
         (int64_t[]){0, 1, 0, 1, 0, 1, 0, 1}, NULL, 0);
    give(b, RGM_NODE_SET, "author", "label", RGM_I64, AUTHORS_HERE, 0, (int64_t[]){4, 5, 6}, NULL,
         0);
    give(b, RGM_EDGE_SET, "cites", "order", RGM_I64, CITES, 0, orders, NULL, 0);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    return graph;
}

/* ---- a place to learn and to build in -------------------------------------------------------- */

/* Papers 0 to 4 are trained on, 5 and 6 validated, 7 tested. */
typedef struct bench {
    world w;
    rgm_graph_data data;
    rgm_provider *train;
    const rgm_graph_model_type *type;
    rgm_arena *arena;
    rgm_yaml *yaml;
    void *options;
    rgm_input_options *input;
    rgm_learned_features *learned;
} bench;

static rgm_tensor *numbers_from(int64_t first, int64_t count)
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(t)[i] = first + i;
    return t;
}

static rgm_status read_options(bench *b, const char *model, const char *yaml)
{
    b->type = (const rgm_graph_model_type *)rgm_section_type_find(rgm_graph_models, model);
    RGM_TRY(rgm_arena_create(&b->arena));
    b->options = rgm_arena_alloc(b->arena, b->type->section.options_size);
    if (b->options == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: options");
    b->type->section.defaults(b->options);
    RGM_TRY(rgm_yaml_parse(&b->yaml, yaml, (int64_t)strlen(yaml), "model.yaml"));
    RGM_TRY(rgm_options_read(b->options, b->type->section.fields, rgm_yaml_root(b->yaml), "model",
                             NULL, b->arena));
    b->input = (rgm_input_options *)((char *)b->options + b->type->input);
    return RGM_OK;
}

static void bench_data(bench *b)
{
    *b = (bench){.train = NULL};
    CHECK_OK(rgm_schema_parse(&b->w.schema, schema_text, sizeof schema_text - 1, "test"));
    b->w.data = make_papers(b->w.schema);
    CHECK_OK(RGM_NEW(b->data.graphs, 1));
    b->data.schema = rgm_schema_retain(b->w.schema);
    b->data.graphs[0] = rgm_graph_retain(b->w.data);
    b->data.graph_count = 1;
    CHECK_OK(rgm_strdup(&b->data.split_set, "paper"));
    b->data.train = numbers_from(0, TRAINED);
    b->data.valid = numbers_from(TRAINED, 2);
    b->data.test = numbers_from(TRAINED + 2, 1);
    b->train = rgm_graph_data_provider(&b->data, "train");
    CHECK(b->train != NULL);
}

static void bench_open(bench *b, const char *model, const char *yaml)
{
    bench_data(b);
    CHECK_OK(read_options(b, model, yaml));
    CHECK_OK(rgm_cgraph_create(&b->w.graph));
    CHECK_OK(rgm_graph_value_create(&b->w.value, b->w.graph, b->w.schema));
    CHECK_OK(rgm_scope_create(&b->w.scope, b->w.graph, RGM_F64));
}

static void bench_learn(bench *b)
{
    if (rgm_learned_features_create(&b->learned, b->input, b->w.schema, b->train) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    b->input->learned = b->learned;
}

static void bench_close(bench *b)
{
    rgm_learned_features_release(b->learned);
    rgm_provider_release(b->train);
    rgm_graph_data_clear(&b->data);
    rgm_yaml_release(b->yaml);
    rgm_arena_release(b->arena);
    world_close(&b->w);
}

static char *saved(const rgm_learned_features *learned)
{
    char path[128], *text;
    rgm_mapped_file map;

    snprintf(path, sizeof path, "%s/features.json", check_folder());
    CHECK_OK(rgm_learned_features_save(learned, path));
    CHECK_OK(rgm_file_map(&map, path));
    text = rgm_calloc(1, (size_t)map.size + 1);
    memcpy(text, map.data, (size_t)map.size);
    rgm_file_unmap(&map);
    CHECK_INT(0, remove(path));
    *strrchr(path, '/') = 0;
    CHECK_OK(rgm_folder_remove(path));
    return text;
}

static rgm_status loaded(rgm_learned_features **out, const char *text)
{
    char path[128];
    rgm_status status;

    snprintf(path, sizeof path, "%s/features.json", check_folder());
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    status = rgm_learned_features_load(out, path);
    CHECK_INT(0, remove(path));
    *strrchr(path, '/') = 0;
    CHECK_OK(rgm_folder_remove(path));
    return status;
}

/* ---- what is learned ------------------------------------------------------------------------- */

static const char everything[] =
    "edge_feature: order\n"
    "input: {vocabulary: {word: 1, order: 2}, embeddings: {tags: 3, codes: 2, author: 4},\n"
    "        standardize: [heat], buckets: {year: 3}}\n";

static void the_training_part_alone_is_learned(void **state)
{
    static const char want[] =
        "{\"version\": 1, \"features\": {\n"
        " \"0\": {\"node_set\": \"author\", \"nodes\": 3},\n"
        " \"1\": {\"node_set\": \"paper\", \"feature\": \"year\", \"buckets\": {\"seen\": 5, "
        "\"boundaries\": {\"0\": 2010.0}}},\n"
        " \"2\": {\"node_set\": \"paper\", \"feature\": \"word\", \"vocabulary\": {\"seen\": 5, "
        "\"texts\": {\n   \"b\": 2,\n   \"\": 1,\n   \"100%25\": 1,\n   \"a\": 1}}},\n"
        " \"3\": {\"node_set\": \"paper\", \"feature\": \"heat\", \"standardize\": {\"seen\": 10, "
        "\"offset\": {\"0\": 3.0, \"1\": 5.0}, \"factor\": {\"0\": 0.7071067811865475, \"1\": "
        "0.0}}},\n"
        " \"4\": {\"node_set\": \"paper\", \"feature\": \"tags\", \"vocabulary\": {\"seen\": 7, "
        "\"texts\": {\n   \"x\": 3,\n   \"y\": 3,\n   \"z\": 1}}},\n"
        " \"5\": {\"node_set\": \"paper\", \"feature\": \"codes\", \"vocabulary\": {\"seen\": 5, "
        "\"integers\": {\n   \"3\": 3,\n   \"-1\": 1,\n   \"9\": 1}}},\n"
        " \"6\": {\"edge_set\": \"cites\", \"feature\": \"order\", \"vocabulary\": {\"seen\": 6, "
        "\"integers\": {\n   \"4\": 3,\n   \"2\": 2}}}}}\n";
    rgm_learned_features *again;
    char *text, *second;
    bench b;

    (void)state;
    bench_open(&b, "vanilla_mpnn", everything);
    bench_learn(&b);
    text = saved(b.learned);
    CHECK_TEXT(want, text);
    CHECK_OK(loaded(&again, text));
    second = saved(again);
    CHECK_TEXT(text, second);
    rgm_learned_features_release(again);
    rgm_free(text);
    rgm_free(second);
    bench_close(&b);
}

static rgm_status count_unseen(rgm_learned_features *learned, const rgm_graph *graph)
{
    rgm_unseen_values *unseen = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_unseen_values_create(&unseen, learned));
    RGM_GO(rgm_unseen_values_add(unseen, graph));
done:
    rgm_unseen_values_release(unseen);
    return status;
}

static void values_that_training_has_not_are_counted(void **state)
{
    rgm_unseen_values *unseen;
    rgm_graph *bare;
    rgm_text text = {0};
    bench b;

    (void)state;
    bench_open(&b, "vanilla_mpnn", everything);
    bench_learn(&b);
    CHECK_INT(3, rgm_learned_features_nodes(b.learned, "author"));
    CHECK_INT(-1, rgm_learned_features_nodes(b.learned, "paper"));
    CHECK_INT(-1, rgm_learned_features_nodes(NULL, "author"));
    CHECK_OK(rgm_unseen_values_create(&unseen, b.learned));
    CHECK_OK(rgm_unseen_values_describe(&text, unseen));
    CHECK_INT(0, text.size);
    CHECK_OK(rgm_graph_without_feature(&bare, b.w.data, RGM_NODE_SET, "paper", "word"));
    CHECK_OK(rgm_unseen_values_add(unseen, b.w.data));
    CHECK_OK(rgm_unseen_values_add(unseen, bare)); /* it has no words */
    CHECK_INT(2 + 2 * 2 + 2 * 1 + 2 * 1, rgm_unseen_values_count(unseen));
    CHECK_OK(rgm_unseen_values_describe(&text, unseen));
    CHECK_TEXT(
        "paper.word 2 of 8 values, the first \"\\xff\"; paper.tags 4 of 18 values, the first "
        "\"w\"; paper.codes 2 of 14 values, the first 77; cites.order 2 of 12 values, the "
        "first 9",
        text.data);
    rgm_unseen_values_release(unseen);
    CHECK_OK(rgm_unseen_values_create(&unseen, NULL));
    CHECK_OK(rgm_unseen_values_add(unseen, b.w.data));
    CHECK_INT(0, rgm_unseen_values_count(unseen));
    rgm_unseen_values_release(unseen);
    CHECK_EVERY_OOM(count_unseen(b.learned, b.w.data), (void)0);
    rgm_text_clear(&text);
    rgm_graph_release(bare);
    bench_close(&b);
}

/* Bytes that are no text come back from the file as they were. */
static void any_bytes_are_kept(void **state)
{
    rgm_learned_features *again;
    rgm_value *x, *y;
    char *text;
    bench b;

    (void)state;
    bench_open(&b, "gcn", "input: {vocabulary: {word: 1}, unseen: error, features: [word]}\n");
    rgm_tensor_release(b.data.train);
    b.data.train = numbers_from(0, PAPERS_HERE);
    rgm_provider_release(b.train);
    b.train = rgm_graph_data_provider(&b.data, "train");
    bench_learn(&b);
    text = saved(b.learned);
    CHECK(strstr(text, "\"%FF%00z\": 1") != NULL);
    CHECK_OK(loaded(&again, text));
    b.input->learned = again;
    int64_t count;
    CHECK_OK(rgm_node_inputs(&x, 1, &count, b.w.scope, b.w.value, "paper", b.input));
    CHECK_INT(1, count);
    CHECK_INT(6, rgm_width(x));
    y = rgm_dense(b.w.scope, "d", x, 1);
    set_parameters(&b.w);
    rgm_tensor *found = run(&b.w, y, b.w.data, false); /* no value is unknown */
    rgm_tensor_release(found);
    rgm_learned_features_release(again);
    rgm_free(text);
    bench_close(&b);
}

/* ---- what a model reads ---------------------------------------------------------------------- */

static rgm_value *input_of(bench *b)
{
    rgm_value *x[8];
    int64_t count;

    if (rgm_node_inputs(x, 8, &count, b->w.scope, b->w.value, "paper", b->input) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_INT(1, count);
    return x[0];
}

/* Sparse rows as they are, [PAPERS_HERE, width]. */
static rgm_value *spread(bench *b, rgm_value *x)
{
    int64_t width = rgm_width(x);
    rgm_tensor *unit;
    rgm_value *y;

    CHECK_OK(rgm_tensor_create(&unit, RGM_F64, 2, (int64_t[]){width, width}));
    for (int64_t i = 0; i < width * width; i++)
        rgm_tensor_f64(unit)[i] = i % (width + 1) == 0;
    y = rgm_project(x, rgm_constant(b->w.graph, unit));
    rgm_tensor_release(unit);
    return y;
}

static void check_reads(const char *input, int64_t width, const double *want)
{
    bench b;

    bench_open(&b, "gcn", input);
    bench_learn(&b);
    rgm_value *x = input_of(&b);
    set_parameters(&b.w);
    if (rgm_value_is_pattern(x))
        x = spread(&b, x);
    check_values(&b.w, x, want, width * PAPERS_HERE);
    bench_close(&b);
}

static void amounts_and_kinds_are_what_the_formulas_say(void **state)
{
    double scaled[2 * PAPERS_HERE], spans[2 * PAPERS_HERE];

    (void)state;
    for (int i = 0; i < 2 * PAPERS_HERE; i++) {
        scaled[i] = i % 2 == 0 ? (heats[i] - 3) / sqrt(2) : 0;
        spans[i] = i % 2 == 0 ? (heats[i] - 1) / 4 : 0;
    }
    check_reads("input: {features: [heat], standardize: [heat]}\n", 2, scaled);
    check_reads("input: {features: [paper.heat], min_max: [paper.heat]}\n", 2, spans);
    check_reads("input: {features: [year], buckets: {year: 3}}\n", 2,
                (double[]){1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0});
    check_reads("input: {features: [year], boundaries: {year: [1900, 2000.5]}}\n", 3,
                (double[]){0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0});
    check_reads("input: {features: [word], vocabulary: {word: 2}}\n", 2,
                (double[]){1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
    check_reads("input: {features: [tags], vocabulary: {tags: 3}}\n", 3, /* how often each */
                (double[]){1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0});
}

/* Rows of the table, by the columns that the vocabulary x, y, z, others gives. */
static void check_pool(const char *pool, double (*of)(const double *rows, int64_t count))
{
    static const int64_t column[9] = {0, 1, 1, 2, 1, 0, 0, 3, 3};
    double want[PAPERS_HERE * 2], rows[3];
    char yaml[160];
    int64_t at = 0;
    bench b;

    snprintf(yaml, sizeof yaml,
             "input: {features: [tags], embeddings: {tags: 2}, normalize: true, pool: %s}\n", pool);
    bench_open(&b, "gcn", yaml);
    bench_learn(&b);
    rgm_value *x = input_of(&b);
    set_parameters(&b.w);
    check_names(&b.w, (const char *[]){"tags/table"}, 1);
    const double *table = parameter(&b.w, "tags/table");
    for (int i = 0; i < PAPERS_HERE; at += tag_lengths[i++])
        for (int u = 0; u < 2; u++) {
            for (int64_t k = 0; k < tag_lengths[i]; k++)
                rows[k] = table[column[at + k] * 2 + u];
            want[2 * i + u] = tag_lengths[i] > 0 ? of(rows, tag_lengths[i]) : 0;
        }
    check_values(&b.w, x, want, 2 * PAPERS_HERE);
    bench_close(&b);
}

static double sum_of(const double *rows, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += rows[i];
    return sum;
}

static double mean_of(const double *rows, int64_t count)
{
    return sum_of(rows, count) / (double)count;
}

static double largest_of(const double *rows, int64_t count)
{
    double largest = rows[0];

    for (int64_t i = 1; i < count; i++)
        largest = fmax(largest, rows[i]);
    return largest;
}

static void lists_are_pooled(void **state)
{
    (void)state;
    check_pool("sum", sum_of);
    check_pool("mean", mean_of);
    check_pool("max", largest_of);
}

static void gradients_of_tables_agree_with_central_differences(void **state)
{
    static const struct {
        const char *model, *yaml;
    } cases[] = {
        {"vanilla_mpnn", "units: 3\nmessage_dim: 4\nreceiver: both\nedge_feature: order\n"
                         "input: {vocabulary: {word: 1}, embeddings: {tags: 3, codes: 2, author: 4,"
                         " order: 2}, standardize: [heat], buckets: {year: 3}}\n"},
        {"graph_sage", "hidden: [4]\nreceiver: both\ninput: {latent: 3, embeddings: {paper: 2, "
                       "tags: 2}, hash: {word: 5}, pool: max, min_max: [heat]}\n"},
        {"gcn", "hidden: [3]\nedge_set: cites\ninput: {features: [codes, heat], embeddings: "
                "{codes: 2, paper: 3}, pool: sum}\n"},
        {"gat_v2", "hidden: [3]\nheads: 2\nedge_set: cites\ninput: {features: [year], vocabulary: "
                   "{year: 2}, embeddings: {year: 2}}\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        bench_open(&b, cases[i].model, cases[i].yaml);
        bench_learn(&b);
        rgm_graph_value *graph = b.type->build(b.w.scope, b.w.value, b.options);
        if (rgm_cgraph_status(b.w.graph) != RGM_OK)
            fail_msg("%s: %s", cases[i].model, rgm_error_text());
        check_gradients(&b.w, rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE), 40);
        bench_close(&b);
    }
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void what_cannot_be_is_refused_with_its_name(void **state)
{
    static const struct {
        const char *input, *message;
        rgm_status status;
    } cases[] = {
        {"{features: [word]}",
         "feature 'word' of 'paper' is text: it goes in by "
         "model.input.vocabulary: {word: 1}",
         RGM_ERR_UNSUPPORTED},
        {"{features: [year]}",
         "is of integers: kinds go in by model.input.one_hot: {year: how "
         "many} or model.input.embeddings: {year: width}",
         RGM_ERR_UNSUPPORTED},
        {"{standardize: [word]}", "feature 'word' of node set 'paper' is not of numbers",
         RGM_ERR_CONFIG},
        {"{standardize: [codes]}", "'codes' of node set 'paper' is ragged", RGM_ERR_CONFIG},
        {"{vocabulary: {nested: 1}}", "is ragged in several dims", RGM_ERR_CONFIG},
        {"{buckets: {heat: 4}}", "has several numbers an item", RGM_ERR_CONFIG},
        {"{vocabulary: {heat: 1}}",
         "'heat' of node set 'paper' is neither of integers nor of "
         "texts",
         RGM_ERR_CONFIG},
        {"{vocabulary: {word: 1.5}}", "'word' is 1.5, not how often", RGM_ERR_CONFIG},
        {"{boundaries: {year: [3, 2]}}", "'year' has '2'; boundaries are numbers that ascend",
         RGM_ERR_CONFIG},
        {"{vocabulary: {word: 1}, hash: {word: 8}}",
         "feature 'word' of 'paper' is named by vocabulary ('word') and by hash ('word')",
         RGM_ERR_ARG},
        {"{vocabulary: {word: 1}, hash: {paper.word: 8}}",
         "feature 'word' of 'paper' is named by vocabulary ('word') and by hash ('paper.word')",
         RGM_ERR_ARG},
        {"{hash: {word: 8, paper.word: 9}}", "by hash ('word') and by hash ('paper.word')",
         RGM_ERR_ARG},
        {"{embeddings: {year: 2, paper.year: 3}}",
         "by embeddings ('year') and by embeddings ('paper.year')", RGM_ERR_ARG},
        {"{features: [heat, paper.heat]}", "by features ('heat') and by features ('paper.heat')",
         RGM_ERR_ARG},
        {"{standardize: [heat], embeddings: {heat: 2}}",
         "'heat' is an amount by "
         "model.input.standardize",
         RGM_ERR_ARG},
        {"{hash: {wrod: 8}}", "no node set has the input feature 'wrod'; did you mean 'word'",
         RGM_ERR_NOT_FOUND},
        {"{embeddings: {auhtor: 8}}", "'auhtor'", RGM_ERR_NOT_FOUND},
        {"{embeddings: {year: 8}, features: [heat]}", "model.input.features leaves out 'year'",
         RGM_ERR_ARG},
        {"{features: [author.label], hash: {author.label: 8}, one_hot: {paper.label: 2}}",
         "model.input.features leaves out 'paper.label'", RGM_ERR_ARG},
        {"{hash: {heat: 8}}", "'heat' is not of integers or texts", RGM_ERR_DTYPE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char yaml[256];
        bench b;
        rgm_status status;
        snprintf(yaml, sizeof yaml, "edge_set: cites\ninput: %s\n", cases[i].input);
        bench_open(&b, "gcn", yaml);
        status = rgm_learned_features_create(&b.learned, b.input, b.w.schema, b.train);
        if (status == RGM_OK) {
            b.input->learned = b.learned;
            b.type->build(b.w.scope, b.w.value, b.options);
            status = rgm_cgraph_status(b.w.graph);
        }
        if (status != cases[i].status || strstr(rgm_error_message(), cases[i].message) == NULL)
            fail_msg("%s gives %s: %s", cases[i].input, rgm_status_name(status),
                     rgm_error_message());
        bench_close(&b);
    }
}

static void damaged_files_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{",
        "{\"features\": {}}",
        "{\"version\": 1, \"features\": {\"0\": {\"feature\": \"x\", \"nodes\": 3}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"nodes\": -3}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"nodes\": 3},"
        " \"1\": {\"node_set\": \"p\", \"nodes\": 4}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"feature\": \"x\"}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"feature\": \"x\","
        " \"vocabulary\": {\"seen\": 1, \"integers\": {\"1x\": 1}}}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"feature\": \"x\","
        " \"vocabulary\": {\"seen\": 1, \"texts\": {\"a%2\": 1}}}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"feature\": \"x\","
        " \"vocabulary\": {\"seen\": 1, \"texts\": {\"a\": \"1\"}}}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"feature\": \"x\","
        " \"standardize\": {\"seen\": 1, \"offset\": {\"0\": 1}, \"factor\": {}}}}}",
        "{\"version\": 1, \"features\": {\"0\": {\"node_set\": \"p\", \"feature\": \"x\","
        " \"buckets\": {\"seen\": 1, \"boundaries\": {\"0\": \"nan\"}}}}}",
    };
    rgm_learned_features *learned;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (loaded(&learned, wrong[i]) != RGM_ERR_FORMAT || learned != NULL)
            fail_msg("%s is taken, or: %s", wrong[i], rgm_error_text());
    CHECK_STATUS(RGM_ERR_VERSION, loaded(&learned, "{\"version\": 2, \"features\": {}}"));
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct setting {
    bench b;
    rgm_graph_learning_options what;
    rgm_run_options how;
    rgm_provider *valid, *test;
} setting;

static void setting_open(setting *s, const char *model, const char *yaml)
{
    bench_data(&s->b);
    CHECK_OK(read_options(&s->b, model, yaml));
    s->what = (rgm_graph_learning_options)RGM_GRAPH_LEARNING_OPTIONS_INIT;
    s->how = (rgm_run_options)RGM_RUN_OPTIONS_INIT;
    s->valid = rgm_graph_data_provider(&s->b.data, "valid");
    s->test = rgm_graph_data_provider(&s->b.data, "test");
    s->what.train_data = s->b.train;
    s->what.valid_data = s->valid;
    s->what.test_data = s->test;
    s->what.task = rgm_node_multiclass("paper", "label", 2);
    s->what.model_fn = s->b.type->build;
    s->what.model_payload = s->b.options;
    s->what.input = s->b.input;
    s->how.trainer.train_steps = 6;
    s->how.runtime.threads = 1;
}

static void setting_close(setting *s)
{
    rgm_graph_task_release(s->what.task);
    rgm_provider_release(s->valid);
    rgm_provider_release(s->test);
    bench_close(&s->b);
}

static rgm_status try_open(setting *s)
{
    rgm_open_run *run = NULL;
    rgm_task task;

    RGM_TRY(rgm_graph_learning_create(&task, &s->what, &s->how.runtime));
    s->how.releases_task = true;
    RGM_TRY(rgm_run_open(&run, &task, &s->how));
    rgm_run_close(run);
    return RGM_OK;
}

static void data_are_asked_before_the_first_step(void **state)
{
    setting s;

    (void)state;
    setting_open(&s, "graph_sage", "input: {vocabulary: {word: 1}, unseen: error, latent: 2}\n");
    CHECK_STATUS(RGM_ERR_DATA, try_open(&s));
    CHECK_MESSAGE("feature 'word': item 5 is '");
    setting_close(&s);
    setting_open(&s, "graph_sage", "input: {standardize: [heat]}\n");
    rgm_tensor_f64(rgm_graph_feature(s.b.w.data, RGM_NODE_SET, "paper", "heat")->values)[13] = NAN;
    CHECK_STATUS(RGM_ERR_DATA, try_open(&s));
    CHECK_MESSAGE("node set 'paper': feature 'heat': item 6 is nan");
    setting_close(&s);
    setting_open(&s, "graph_sage", "input: {features: [heat]}\n");
    rgm_tensor_f64(rgm_graph_feature(s.b.w.data, RGM_NODE_SET, "paper", "heat")->values)[13] = NAN;
    CHECK_STATUS(RGM_ERR_DATA, try_open(&s));
    CHECK_MESSAGE("node set 'paper': feature 'heat': item 6 is nan, which no model can read: fill");
    setting_close(&s);
    setting_open(&s, "graph_sage", "input: {buckets: {marks: 2}}\n");
    rgm_tensor_f64(rgm_graph_feature(s.b.w.data, RGM_NODE_SET, "paper", "marks")->values)[3] = NAN;
    CHECK_STATUS(RGM_ERR_DATA, try_open(&s)); /* fewer values than items */
    CHECK_MESSAGE("feature 'marks': item 7 is nan");
    setting_close(&s);
    for (int i = 0; i < 4; i++) {
        static const char *const keys[] = {"numbers: [year]", "standardize: [year]",
                                           "min_max: [year]", "buckets: {year: 3}"};
        char input[64];

        snprintf(input, sizeof input, "input: {%s}\n", keys[i]);
        setting_open(&s, "graph_sage", input);
        rgm_tensor_i64(rgm_graph_feature(s.b.w.data, RGM_NODE_SET, "paper", "year")->values)[2] =
            INT64_MIN;
        CHECK_STATUS(RGM_ERR_DATA, try_open(&s));
        CHECK_MESSAGE("node set 'paper': feature 'year': item 2 is missing, which no model can");
        setting_close(&s);
    }
    setting_open(&s, "graph_sage", "input: {one_hot: {year: 2011}}\n");
    CHECK_STATUS(RGM_ERR_DATA, try_open(&s));
    CHECK_MESSAGE("feature 'year': item 6 is 2020, but its one-hot values are 0..2010");
    setting_close(&s);
}

/* Boundaries have a column below the first, a vocabulary and a hash one for every value. */
static void a_missing_integer_may_be_read_as_a_kind(void **state)
{
    static const char *const keys[] = {"boundaries: {year: [1900, 2000]}", "vocabulary: {year: 1}",
                                       "hash: {year: 8}"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char input[64];
        setting s;

        snprintf(input, sizeof input, "input: {%s}\n", keys[i]);
        setting_open(&s, "graph_sage", input);
        rgm_tensor_i64(rgm_graph_feature(s.b.w.data, RGM_NODE_SET, "paper", "year")->values)[2] =
            INT64_MIN;
        CHECK_OK(try_open(&s));
        setting_close(&s);
    }
}

static void embeddings_of_nodes_are_of_one_graph(void **state)
{
    setting s;
    rgm_graph *two[2];

    (void)state;
    setting_open(&s, "graph_sage", "input: {latent: 2}\n");
    CHECK_OK(try_open(&s));
    two[0] = two[1] = s.b.w.data;
    rgm_graph_task_release(s.what.task);
    s.what.task = rgm_root_node_multiclass("paper", "label", 2);
    rgm_provider_release(s.b.train);
    s.what.train_data = s.b.train = rgm_graphs_provider(two, 2, false);
    s.what.valid_data = s.what.test_data = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, try_open(&s));
    CHECK_MESSAGE("node set 'author': an embedding of each node is of one graph that stays");
    CHECK_MESSAGE("the data are several graphs");
    setting_close(&s);
}

/* A processor of a setting's options; *yaml is released behind the setting. */
static rgm_graph_processor processor_of(setting *s, rgm_yaml **yaml, const char *type,
                                        const char *text)
{
    const rgm_section_type *section = rgm_section_type_find(rgm_graph_processors, type);
    void *options = rgm_arena_alloc(s->b.arena, section->options_size);

    CHECK(options != NULL);
    section->defaults(options);
    CHECK_OK(rgm_yaml_parse(yaml, text, (int64_t)strlen(text), "processor.yaml"));
    CHECK_OK(rgm_options_read(options, section->fields, rgm_yaml_root(*yaml), "processor", NULL,
                              s->b.arena));
    return (rgm_graph_processor){(const rgm_graph_processor_type *)section, options};
}

static void nodes_that_are_known_by_their_places_stay_there(void **state)
{
    static const char *const types[] = {"shuffle_nodes", "drop_nodes"};

    (void)state;
    for (int k = 0; k < 4; k++) {
        rgm_graph_processor processor;
        rgm_yaml *yaml;
        setting s;

        setting_open(&s, "graph_sage", "input: {latent: 2}\n"); /* of authors: papers have heat */
        processor = processor_of(&s, &yaml, types[k % 2],
                                 k < 2 ? "node_set: author\n" : "node_set: paper\n");
        s.what.processors = &processor;
        s.what.processor_count = 1;
        if (k < 2) {
            CHECK_STATUS(RGM_ERR_CONFIG, try_open(&s));
            CHECK_MESSAGE(types[k]);
            CHECK_MESSAGE("gives nodes of 'author' other places in each epoch");
        } else {
            CHECK_OK(try_open(&s));
        }
        setting_close(&s);
        rgm_yaml_release(yaml);
    }
}

static void sampled_nodes_keep_their_embeddings(void **state)
{
    rgm_sampling_provider_options sampled = {.batch_size = 2, .label = "label", .threads = 1};
    rgm_sampling_spec *spec;
    setting s;

    (void)state;
    setting_open(&s, "graph_sage",
                 "receiver: source\ninput: {latent: 2, embeddings: {paper: 3}}\n");
    CHECK_OK(rgm_sampling_spec_create(&spec, s.b.w.schema, "paper", (const char *[]){"cites"},
                                      (int64_t[]){2}, 1, RGM_SAMPLE_UNIFORM));
    sampled.spec = spec;
    rgm_provider_release(s.b.train);
    s.what.train_data = s.b.train = rgm_sampling_provider(s.b.w.data, s.b.data.train, &sampled);
    s.what.valid_data = s.what.test_data = NULL;
    rgm_open_run *run;
    if (rgm_run(&run, &s.what, &s.how) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    const rgm_tensor *table = NULL;
    const rgm_parameters *parameters = rgm_trainer_parameters(rgm_run_trainer(run));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
        if (strcmp(rgm_parameters_name(parameters, i), "input/paper/nodes/table") == 0)
            table = rgm_parameters_tensor(parameters, i);
    CHECK(table != NULL && rgm_tensor_dim(table, 0) == PAPERS_HERE);
    rgm_run_close(run);
    rgm_sampling_spec_release(spec);
    setting_close(&s);
}

static rgm_tensor *trained_weights(const char *folder, int64_t steps, int64_t and_then)
{
    rgm_tensor *weights = NULL;
    const rgm_parameters *parameters;

    for (int64_t until = steps; until > 0; until = until == and_then ? 0 : and_then) {
        rgm_open_run *run;
        setting s;
        setting_open(&s, "vanilla_mpnn", everything);
        s.how.trainer.train_steps = until;
        s.how.run_dir = folder;
        if (rgm_run(&run, &s.what, &s.how) != RGM_OK)
            fail_msg("%s", rgm_error_text());
        rgm_tensor_release(weights);
        weights = NULL;
        parameters = rgm_trainer_parameters(rgm_run_trainer(run));
        for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
            if (strcmp(rgm_parameters_name(parameters, i), "input/paper/tags/table") == 0)
                CHECK_OK(rgm_tensor_copy(&weights, rgm_parameters_tensor(parameters, i)));
        rgm_run_close(run);
        setting_close(&s);
    }
    CHECK(weights != NULL);
    return weights;
}

static void a_run_goes_on_with_the_same_bits_and_features(void **state)
{
    char folder[2][96];
    rgm_tensor *at_once, *in_parts;
    char *path;
    setting s;

    (void)state;
    for (int i = 0; i < 2; i++)
        snprintf(folder[i], sizeof folder[i], "%s/run", check_folder());
    at_once = trained_weights(folder[0], 6, 6);
    in_parts = trained_weights(folder[1], 3, 6);
    CHECK_INT(
        0, memcmp(rgm_tensor_data(at_once), rgm_tensor_data(in_parts), rgm_tensor_bytes(at_once)));
    rgm_tensor_release(at_once);
    rgm_tensor_release(in_parts);
    CHECK_OK(rgm_path_join(&path, folder[1], "features.json"));
    CHECK(rgm_path_exists(path));
    rgm_free(path);
    setting_open(&s, "vanilla_mpnn", everything); /* other data: other features */
    rgm_tensor_i64(rgm_graph_feature(s.b.w.data, RGM_NODE_SET, "paper", "year")->values)[3] = 1980;
    s.how.run_dir = folder[1];
    s.how.trainer.train_steps = 9;
    CHECK_STATUS(RGM_ERR_CONFIG, try_open(&s));
    CHECK_MESSAGE("was begun with another features.json");
    setting_close(&s);
    for (int i = 0; i < 2; i++) {
        *strrchr(folder[i], '/') = 0;
        CHECK_OK(rgm_folder_remove(folder[i]));
    }
}

static void the_plan_tells_what_was_learned_and_what_is_left(void **state)
{
    rgm_open_run *run;
    rgm_task task;
    setting s;

    (void)state;
    setting_open(&s, "graph_sage", "input: {vocabulary: {word: 2}, embeddings: {author: 2}}\n");
    CHECK_OK(rgm_graph_learning_create(&task, &s.what, &s.how.runtime));
    s.how.releases_task = true;
    CHECK_OK(rgm_run_open(&run, &task, &s.how));
    rgm_text text = {0};
    CHECK_OK(rgm_run_plan(&text, run));
    const char *plan = text.data;
    CHECK(strstr(plan, "reads paper.word, paper.heat") != NULL);
    CHECK(strstr(plan, "learned author: an embedding of each of 3 nodes, paper.word: 1 texts of 5 "
                       "values") != NULL);
    CHECK(strstr(plan, "paper.tags (text: model.input.vocabulary, hash or embeddings)") != NULL);
    CHECK(strstr(plan, "paper.codes (lists of integers: model.input.embeddings") != NULL);
    rgm_text_clear(&text);
    rgm_run_close(run);
    setting_close(&s);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static rgm_status learn_and_build(rgm_schema *schema, const rgm_provider *train)
{
    rgm_status status = RGM_OK;
    bench b = {.train = NULL};
    rgm_learned_features *learned = NULL;
    rgm_cgraph *graph = NULL;
    rgm_graph_value *value = NULL;
    rgm_scope *scope = NULL;

    RGM_GO(read_options(&b, "vanilla_mpnn", everything));
    RGM_GO(rgm_learned_features_create(&learned, b.input, schema, train));
    b.input->learned = learned;
    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_graph_value_create(&value, graph, schema));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F64));
    b.type->build(scope, value, b.options);
    RGM_GO(rgm_cgraph_status(graph));
done:
    rgm_yaml_release(b.yaml);
    rgm_arena_release(b.arena);
    rgm_scope_release(scope);
    rgm_graph_value_release(value);
    rgm_cgraph_release(graph);
    rgm_learned_features_release(learned);
    return status;
}

static rgm_status load_again(const char *path)
{
    rgm_learned_features *learned;

    RGM_TRY(rgm_learned_features_load(&learned, path));
    rgm_learned_features_release(learned);
    return RGM_OK;
}

static void nothing_leaks_where_memory_runs_out(void **state)
{
    char path[96];
    bench b;

    (void)state;
    bench_open(&b, "vanilla_mpnn", everything);
    bench_learn(&b);
    CHECK_EVERY_OOM(learn_and_build(b.w.schema, b.train), (void)0);
    snprintf(path, sizeof path, "%s/features.json", check_folder());
    CHECK_OK(rgm_learned_features_save(b.learned, path));
    CHECK_EVERY_OOM(load_again(path), (void)0);
    *strrchr(path, '/') = 0;
    CHECK_OK(rgm_folder_remove(path));
    bench_close(&b);
}

TESTS(cmocka_unit_test(the_training_part_alone_is_learned),
      cmocka_unit_test(values_that_training_has_not_are_counted),
      cmocka_unit_test(any_bytes_are_kept),
      cmocka_unit_test(amounts_and_kinds_are_what_the_formulas_say),
      cmocka_unit_test(lists_are_pooled),
      cmocka_unit_test(gradients_of_tables_agree_with_central_differences),
      cmocka_unit_test(what_cannot_be_is_refused_with_its_name),
      cmocka_unit_test(damaged_files_are_refused),
      cmocka_unit_test(data_are_asked_before_the_first_step),
      cmocka_unit_test(a_missing_integer_may_be_read_as_a_kind),
      cmocka_unit_test(embeddings_of_nodes_are_of_one_graph),
      cmocka_unit_test(nodes_that_are_known_by_their_places_stay_there),
      cmocka_unit_test(sampled_nodes_keep_their_embeddings),
      cmocka_unit_test(a_run_goes_on_with_the_same_bits_and_features),
      cmocka_unit_test(the_plan_tells_what_was_learned_and_what_is_left),
      cmocka_unit_test(nothing_leaks_where_memory_runs_out))

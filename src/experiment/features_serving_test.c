/*
 * Encoders from an experiment file to serving: a data set of texts, lists and amounts is trained
 * on, exported and served by the file, by a predictor, and by the run's folder alone.
 */
#include <check.h>

#include <regimen/experiment.h>
#include <regimen/export.h>
#include <regimen/graph_tasks.h>

static const char schema_text[] =
    "node_sets { key: 'shop' value {"
    "  features { key: 'town' value { dtype: DT_STRING } }"
    "  features { key: 'goods' value { dtype: DT_STRING shape { dim { size: -1 } } } }"
    "  features { key: 'since' value { dtype: DT_INT64 } }"
    "  features { key: 'codes' value { dtype: DT_INT64 shape { dim { size: -1 } } } }"
    "  features { key: 'sales' value { dtype: DT_FLOAT shape { dim { size: 2 } } } }"
    "  features { key: 'label' value { dtype: DT_INT64 } } } }"
    "edge_sets { key: 'near' value { source: 'shop' target: 'shop' } }";
enum { SHOPS = 24, ROADS = 40, ASKED = 8 };

static void give(rgm_graph_builder *b, const char *name, rgm_tensor *values, rgm_tensor *lengths)
{
    rgm_feature f = {.values = values, .row_lengths = {NULL, lengths}};

    CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "shop", name, &f));
    rgm_feature_clear(&f);
}

static rgm_tensor *integers(int64_t count, int64_t (*of)(int64_t))
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(t)[i] = of(i);
    return t;
}

static rgm_tensor *texts(int64_t count, const char *const *names, int64_t name_count)
{
    rgm_str *all;
    rgm_tensor *t;

    CHECK_OK(RGM_NEW(all, count));
    for (int64_t i = 0; i < count; i++)
        all[i] = (rgm_str){names[i * i % name_count], (int64_t)strlen(names[i * i % name_count])};
    CHECK_OK(rgm_tensor_create_from(&t, RGM_STRING, 1, &count, all));
    rgm_free(all);
    return t;
}

static int64_t year(int64_t i)
{
    return 1900 + i * 17 % 90;
}

static int64_t how_many(int64_t i)
{
    return i % 3;
}

static int64_t code(int64_t i)
{
    return i * i % 7 - 2;
}

static int64_t label(int64_t i)
{
    return i % 2;
}

static int64_t from(int64_t i)
{
    return i * 5 % SHOPS;
}

static int64_t to(int64_t i)
{
    return (i * 7 + 1) % SHOPS;
}

static int64_t itself(int64_t i)
{
    return i;
}

static int64_t behind_12(int64_t i)
{
    return 12 + i;
}

static int64_t behind_16(int64_t i)
{
    return 16 + i;
}

/* The training part lacks the towns of the last shops. */
static void save_data(const char *folder)
{
    static const char *const towns[] = {"Ulm", "", "Bonn", "K\xc3\xb6ln", "Trier", "Hof", "Jena"};
    static const char *const goods[] = {"tea", "ink", "soap"};
    rgm_graph_data data = {.graph_count = 1};
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;
    rgm_graph_builder *b;
    rgm_tensor *source = integers(ROADS, from), *target = integers(ROADS, to), *sales;

    CHECK_OK(rgm_schema_parse(&data.schema, schema_text, sizeof schema_text - 1, "schema"));
    CHECK_OK(rgm_graph_builder_create(&b, data.schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "shop", (int64_t[]){SHOPS}));
    CHECK_OK(rgm_graph_builder_edges(b, "near", source, target));
    CHECK_OK(rgm_tensor_create(&sales, RGM_F32, 2, (int64_t[]){SHOPS, 2}));
    for (int i = 0; i < 2 * SHOPS; i++)
        rgm_tensor_f32(sales)[i] = (float)(1000 * sin(i));
    give(b, "town", texts(SHOPS, towns, 7), NULL);
    give(b, "goods", texts(SHOPS, goods, 3), integers(SHOPS, how_many));
    give(b, "since", integers(SHOPS, year), NULL);
    give(b, "codes", integers(SHOPS, code), integers(SHOPS, how_many));
    give(b, "sales", sales, NULL);
    give(b, "label", integers(SHOPS, label), NULL);
    CHECK_OK(RGM_NEW(data.graphs, 1));
    CHECK_OK(rgm_graph_builder_finish(&data.graphs[0], b));
    CHECK_OK(rgm_strdup(&data.split_set, "shop"));
    data.train = integers(12, itself);
    data.valid = integers(4, behind_12);
    data.test = integers(ASKED, behind_16);
    CHECK_OK(rgm_graph_data_save(&data, folder, &options));
    rgm_graph_builder_release(b);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_graph_data_clear(&data);
}

static const char sayable[] = "vocabulary: {since: 1}, embeddings: {codes: 3, since: 2, shop: 2},\n"
                              "  standardize: [sales], pool: max";
static const char all_of_it[] = "vocabulary: {town: 1}, hash: {goods: 5}, boundaries: {since: "
                                "[1920, 1950.5]},\n  embeddings: {codes: 3, goods: 2}, min_max: "
                                "[sales]";

typedef struct trained {
    char folder[128];
    char *run_dir, *export_dir, *file;
    rgm_experiment *experiment;
    rgm_open_run *run;
} trained;

static rgm_status trained_open(trained *t, const char *sampling, const char *input,
                               const char *exporter)
{
    rgm_run_options options;
    rgm_text yaml = {0};
    char *data;

    *t = (trained){.run = NULL};
    snprintf(t->folder, sizeof t->folder, "%s", check_folder());
    CHECK_OK(rgm_path_join(&data, t->folder, "data"));
    CHECK_OK(rgm_path_join(&t->file, t->folder, "shops.yaml"));
    CHECK_OK(rgm_path_join(&t->run_dir, t->folder, "run"));
    CHECK_OK(rgm_path_join(&t->export_dir, t->run_dir, "export"));
    save_data(data);
    CHECK_OK(rgm_text_printf(&yaml,
                             "data: {type: folder, path: %s%s}\n"
                             "task: {type: node_classification, node_set: shop, num_classes: 2}\n"
                             "model: {type: graph_sage, hidden: [6], receiver: both, input: {\n"
                             "  %s}}\n"
                             "optimizer: {type: adam, learning_rate: 0.01}\n"
                             "trainer: {epochs: 3}\nexport: [{type: %s}]\n",
                             data, sampling, input, exporter));
    CHECK_OK(rgm_file_save(t->file, yaml.data, yaml.size));
    rgm_text_clear(&yaml);
    rgm_free(data);
    CHECK_OK(rgm_experiment_load(&t->experiment, t->file, NULL, 0));
    CHECK_OK(rgm_experiment_prepare(&options, t->experiment, t->run_dir));
    RGM_TRY(rgm_experiment_open(&t->run, t->experiment, &options));
    CHECK_OK(rgm_run_complete(t->run));
    return RGM_OK;
}

static void trained_close(trained *t)
{
    rgm_run_close(t->run);
    rgm_experiment_release(t->experiment);
    rgm_free(t->run_dir);
    rgm_free(t->export_dir);
    rgm_free(t->file);
    CHECK_OK(rgm_folder_remove(t->folder));
}

/* The test part as one Example without labels, and the run's predictions for it. */
static rgm_tensor *question(rgm_text *example, trained *t)
{
    rgm_graph_data data = {.graph_count = 0};
    rgm_graph *asked, *hidden, *plain, *processed;
    rgm_element *element;
    rgm_tensor *answer;
    char *path;

    CHECK_OK(rgm_path_join(&path, t->folder, "data"));
    CHECK_OK(rgm_graph_data_load(&data, path, NULL));
    CHECK_OK(rgm_graph_with_readout(&asked, data.graphs[0], "_readout", "seed", "shop", data.test,
                                    "label"));
    CHECK_OK(rgm_graph_without_feature(&plain, asked, RGM_NODE_SET, "shop", "label"));
    CHECK_OK(rgm_graph_without_feature(&hidden, plain, RGM_NODE_SET, "_readout", "label"));
    CHECK_OK(rgm_graph_encode(example, hidden, NULL));
    CHECK_OK(rgm_element_create_pointer(&element, &rgm_graph_element, rgm_graph_retain(asked)));
    CHECK_OK(rgm_graph_run_preprocess(&processed, t->run, &element, 1));
    CHECK_OK(rgm_graph_run_predict(&answer, t->run, 0, processed));
    rgm_graph_release(processed);
    rgm_element_release(element);
    rgm_graph_release(asked);
    rgm_graph_release(plain);
    rgm_graph_release(hidden);
    rgm_graph_data_clear(&data);
    rgm_free(path);
    return answer;
}

static void check_predictor(trained *t)
{
    rgm_text example = {0};
    rgm_tensor *want = question(&example, t);
    rgm_predictor *p;
    rgm_answers got;

    if (rgm_predictor_open(&p, t->export_dir, NULL, 0) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    rgm_str asked = {example.data, example.size};
    if (rgm_predictor_ask(&got, p, &(rgm_questions){.count = 1, .texts = &asked}) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_INT(ASKED, got.begins[0][1]);
    for (int64_t i = 0; i < rgm_tensor_count(want); i++)
        CHECK_CLOSE(rgm_tensor_at(want, i), rgm_tensor_at(got.outputs[0], i), 1e-6, 1e-6);
    rgm_tensor_release(want);
    rgm_answers_clear(&got);
    rgm_predictor_release(p);
    rgm_text_clear(&example);
}

static void what_onnx_can_say_is_in_the_file(void **state)
{
    rgm_export_check check;
    trained t;

    (void)state;
    CHECK_OK(trained_open(&t, "", sayable, "onnx"));
    CHECK(rgm_folder_has(t.run_dir, "features.json") &&
          rgm_folder_has(t.export_dir, "features.json"));
    if (rgm_run_verify_onnx(&check, t.run, t.export_dir, RGM_TEST, 4) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_INT(ASKED, check.items);
    check_predictor(&t);
    trained_close(&t);
}

static void texts_are_refused_by_onnx_before_training_and_served_by_predictors(void **state)
{
    trained t;

    (void)state;
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, trained_open(&t, "", all_of_it, "onnx"));
    CHECK_MESSAGE("node set 'shop': feature '");
    CHECK_MESSAGE("export: [{type: predictor}]");
    CHECK(!rgm_folder_has(t.run_dir, "ckpt"));
    trained_close(&t);
    CHECK_OK(trained_open(&t, "", all_of_it, "predictor"));
    CHECK(rgm_folder_has(t.export_dir, "features.json") &&
          !rgm_folder_has(t.export_dir, "model.onnx"));
    check_predictor(&t);
    trained_close(&t);
}

static void other_split(trained *t)
{
    static const char *const parts[][2] = {
        {"train.csv", "20\n"}, {"valid.csv", "21\n"}, {"test.csv", "22\n"}};
    char *split, *path;

    CHECK_OK(rgm_path_join(&split, t->folder, "data/split/other/shop"));
    CHECK_OK(rgm_folder_make(split));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rgm_path_join(&path, split, parts[i][0]));
        CHECK_OK(rgm_file_save(path, parts[i][1], 3));
        rgm_free(path);
    }
    rgm_free(split);
}

/* Other data are read with what the run has learned, not with what they would teach. */
static void a_run_that_is_looked_at_keeps_what_it_learned(void **state)
{
    rgm_run_options options;
    rgm_text plan = {0};
    trained t;
    char *path;

    (void)state;
    CHECK_OK(trained_open(&t, "", all_of_it, "predictor"));
    rgm_run_close(t.run);
    rgm_experiment_release(t.experiment);
    other_split(&t);
    CHECK_OK(rgm_experiment_load_run(&t.experiment, t.run_dir,
                                     (const char *const[]){"data.split=other"}, 1));
    CHECK_OK(rgm_experiment_prepare_trained(&options, t.experiment, t.run_dir));
    options.mode = RGM_RUN_EVAL;
    options.read_only = true;
    if (rgm_experiment_open(&t.run, t.experiment, &options) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_OK(rgm_run_plan(&plan, t.run));
    CHECK(strstr(plan.data, "of 12 values") != NULL);
    rgm_text_clear(&plan);
    rgm_run_close(t.run);
    t.run = NULL;
    CHECK_OK(rgm_path_join(&path, t.run_dir, "features.json"));
    CHECK_INT(0, remove(path));
    rgm_free(path);
    rgm_experiment_release(t.experiment);
    CHECK_OK(rgm_experiment_load_run(&t.experiment, t.run_dir,
                                     (const char *const[]){"data.split=default"}, 1));
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_experiment_prepare_trained(&options, t.experiment, t.run_dir));
    CHECK_MESSAGE("keeps no features.json, which its weights were trained with");
    trained_close(&t);
}

/* Records of subgraphs say how many nodes the whole graph has. */
static void sampled_records_keep_the_embeddings_of_nodes(void **state)
{
    rgm_mapped_file map;
    trained t;
    char *path;

    (void)state;
    if (trained_open(&t, ", batch_size: 4, sampling: {sizes: [2], store: records}",
                     "features: [sales], embeddings: {shop: 3}", "onnx") != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_OK(rgm_path_join(&path, t.run_dir, "features.json"));
    CHECK_OK(rgm_file_map(&map, path));
    CHECK(strstr((const char *)map.data, "{\"node_set\": \"shop\", \"nodes\": 24}") != NULL);
    rgm_file_unmap(&map);
    rgm_free(path);
    trained_close(&t);
}

/* Nodes without a feature, served by a file alone: without embeddings the films' genres are guessed
 * with accuracy 0.38. */
static void imdb_is_learned_from_its_file_alone(void **state)
{
    const char *path = check_data("imdb");
    char set[600], *run_dir;
    rgm_run_options options;
    rgm_experiment *e;
    rgm_open_run *run;
    double accuracy;

    (void)state;
    if (path == NULL)
        SKIP("REGIMEN_DATA has no imdb");
    const char *folder = check_folder();
    snprintf(set, sizeof set, "data.path=%s", path);
    CHECK_OK(rgm_experiment_load(&e, "imdb", (const char *const[]){set, "trainer.epochs=30"}, 2));
    CHECK_OK(rgm_path_join(&run_dir, folder, "run"));
    CHECK_OK(rgm_experiment_prepare(&options, e, run_dir));
    CHECK_OK(rgm_experiment_open(&run, e, &options));
    CHECK_OK(rgm_run_complete(run));
    accuracy = rgm_run_metric(run, "valid", "accuracy");
    if (!(accuracy >= 0.5))
        fail_msg("accuracy %g", accuracy);
    rgm_run_close(run);
    rgm_experiment_release(e);
    rgm_free(run_dir);
    CHECK_OK(rgm_folder_remove(folder));
}

static const char worked_over[] =
    ", processors: [{type: undirected}, {type: laplacian, count: 3}, {type: degree}, "
    "{type: virtual_node, name: all}, {type: drop_edges, rate: 0.4}, "
    "{type: random_signs, node_set: shop}]";

/* Raw Examples are served; the ONNX file takes the processors' results. */
static void what_is_served_is_processed_as_what_was_trained_on(void **state)
{
    rgm_export_check check;
    rgm_text plan = {0};
    trained t;

    (void)state;
    if (trained_open(&t, worked_over, "one_hot: {degree: 9}", "onnx") != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_OK(rgm_run_plan(&plan, t.run));
    CHECK(strstr(plan.data, "undirected (edges 40 to 4") != NULL);
    CHECK(strstr(plan.data, "virtual_node (nodes 24 to 25)") != NULL);
    CHECK(strstr(plan.data, "drop_edges (in training alone, drawn anew)") != NULL);
    CHECK(strstr(plan.data, "reads shop.sales, shop.laplacian, shop.degree, all.one") != NULL);
    rgm_text_clear(&plan);
    if (rgm_run_verify_onnx(&check, t.run, t.export_dir, RGM_TEST, 4) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_INT(ASKED, check.items);
    check_predictor(&t);
    trained_close(&t);
}

/* Weights after 3 and then 3 more epochs are those after 6: the same random numbers were drawn. */
static void a_run_that_goes_on_draws_the_same(void **state)
{
    rgm_run_options options;
    rgm_text example = {0};
    rgm_tensor *answers[2];
    trained t;

    (void)state;
    for (int k = 0; k < 2; k++) {
        CHECK_OK(trained_open(&t, worked_over, "one_hot: {degree: 9}", "predictor"));
        rgm_run_close(t.run);
        t.run = NULL;
        if (k == 1)
            CHECK_OK(rgm_folder_remove(t.run_dir));
        rgm_experiment_release(t.experiment);
        CHECK_OK(rgm_experiment_load(&t.experiment, t.file,
                                     (const char *const[]){"trainer.epochs=6"}, 1));
        CHECK_OK(rgm_experiment_prepare(&options, t.experiment, t.run_dir));
        if (rgm_experiment_open(&t.run, t.experiment, &options) != RGM_OK)
            fail_msg("%s", rgm_error_text());
        CHECK_OK(rgm_run_complete(t.run));
        answers[k] = question(&example, &t);
        rgm_text_clear(&example);
        trained_close(&t);
    }
    CHECK(rgm_tensor_equal(answers[0], answers[1]));
    rgm_tensor_release(answers[0]);
    rgm_tensor_release(answers[1]);
}

TESTS(cmocka_unit_test(imdb_is_learned_from_its_file_alone),
      cmocka_unit_test(sampled_records_keep_the_embeddings_of_nodes),
      cmocka_unit_test(what_onnx_can_say_is_in_the_file),
      cmocka_unit_test(what_is_served_is_processed_as_what_was_trained_on),
      cmocka_unit_test(a_run_that_goes_on_draws_the_same),
      cmocka_unit_test(texts_are_refused_by_onnx_before_training_and_served_by_predictors),
      cmocka_unit_test(a_run_that_is_looked_at_keeps_what_it_learned))

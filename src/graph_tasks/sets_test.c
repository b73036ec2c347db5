/*
 * Graph learning from several files of records: lists of names and patterns, and sets of their own
 * names that are evaluated beside a run's validation and test data.
 */
#include <check.h>

#include <regimen/graph_tasks.h>

#define SCHEMA                                                                                     \
    "context { features { key: \"kind\" value { dtype: DT_INT64 } } }\n"                           \
    "node_sets { key: \"atom\" value {\n"                                                          \
    "  features { key: \"x\" value { dtype: DT_FLOAT shape { dim { size: 1 } } } } } }\n"

/* Graphs `first`, first + 1, ...: graph i has i atoms of (1 + i) / 4, below 0 when its kind
 * is 0. */
static void write_records(const rgm_schema *schema, const char *folder, const char *name,
                          int64_t first, int64_t count)
{
    rgm_tfrecord_writer *writer = NULL;
    char *path = NULL;

    CHECK_OK(rgm_path_join(&path, folder, name));
    CHECK_OK(rgm_tfrecord_writer_open(&writer, path, NULL));
    for (int64_t i = first; i < first + count; i++) {
        int64_t kind = i % 2;
        rgm_graph_builder *builder;
        rgm_graph *graph;
        rgm_tensor *x, *label;
        rgm_text bytes = {0};

        CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){i, 1}));
        for (int64_t k = 0; k < i; k++)
            rgm_tensor_f32(x)[k] = (float)(2 * kind - 1) * (float)(1 + i) / 4;
        CHECK_OK(rgm_tensor_create_from(&label, RGM_I64, 1, (int64_t[]){1}, &kind));
        CHECK_OK(rgm_graph_builder_create(&builder, (rgm_schema *)schema, 1));
        CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", &i));
        CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "atom", "x",
                                           &(rgm_feature){.values = x}));
        CHECK_OK(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "kind",
                                           &(rgm_feature){.values = label}));
        CHECK_OK(rgm_graph_builder_finish(&graph, builder));
        CHECK_OK(rgm_graph_encode(&bytes, graph, NULL));
        CHECK_OK(rgm_tfrecord_writer_add(writer, bytes.data, bytes.size));
        rgm_text_clear(&bytes);
        rgm_graph_release(graph);
        rgm_graph_builder_release(builder);
        rgm_tensor_release(x);
        rgm_tensor_release(label);
    }
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    rgm_free(path);
}

typedef struct records {
    const char *folder;
    rgm_schema *schema;
} records;

/* a.rec: graphs 1, 2; part-1.rec: 3; part-2.rec: 4, 5, 6; long.rec: 40. */
static records write_all(void)
{
    records r = {.folder = check_folder()};

    CHECK_OK(rgm_schema_parse(&r.schema, SCHEMA, sizeof SCHEMA - 1, "schema"));
    write_records(r.schema, r.folder, "a.rec", 1, 2);
    write_records(r.schema, r.folder, "part-2.rec", 4, 3);
    write_records(r.schema, r.folder, "part-1.rec", 3, 1);
    write_records(r.schema, r.folder, "long.rec", 40, 1);
    return r;
}

static void clear(records *r)
{
    rgm_schema_release(r->schema);
    CHECK_OK(rgm_folder_remove(r->folder));
}

/* Files of the folder; `second` may be NULL. */
static rgm_provider *provider_of(const records *r, const char *first, const char *second,
                                 const char *key)
{
    char paths[2][256];
    const char *names[2] = {paths[0], paths[1]};
    rgm_tfrecord_provider_options options = {.files = {names, 1 + (second != NULL)}, .key = key};
    rgm_provider *provider;

    snprintf(paths[0], sizeof paths[0], "%s/%s", r->folder, first);
    snprintf(paths[1], sizeof paths[1], "%s/%s", r->folder, second != NULL ? second : "");
    provider = rgm_tfrecord_provider(&options);
    CHECK(provider != NULL);
    return provider;
}

/* The sum of an atom layer's states says of which kind a graph is. */
static rgm_graph_value *dense_gnn(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    (void)payload;
    return rgm_with_state(
        graph, "atom", rgm_relu(rgm_dense(scope, "atom", rgm_node_feature(graph, "atom", "x"), 4)));
}

typedef struct arguments {
    rgm_graph_learning_options what;
    rgm_run_options how;
    rgm_graph_eval_set sets[3];
} arguments;

static void begin(arguments *a, const records *r)
{
    *a = (arguments){.what = RGM_GRAPH_LEARNING_OPTIONS_INIT, .how = RGM_RUN_OPTIONS_INIT};
    a->what.train_data = provider_of(r, "a.rec", "part-*.rec", "data.train");
    a->what.valid_data = provider_of(r, "a.rec", NULL, "data.valid");
    a->what.test_data = provider_of(r, "part-1.rec", NULL, "data.test");
    a->what.schema = r->schema;
    a->what.model_fn = dense_gnn;
    a->what.task = rgm_graph_multiclass("atom", "kind", 2);
    a->what.global_batch_size = 2;
    a->sets[0] = (rgm_graph_eval_set){"news", RGM_VALID, provider_of(r, "part-*.rec", NULL, NULL)};
    a->sets[1] = (rgm_graph_eval_set){"long", RGM_VALID, provider_of(r, "long.rec", NULL, NULL)};
    a->sets[2] = (rgm_graph_eval_set){"news", RGM_TEST, provider_of(r, "part-2.rec", NULL, NULL)};
    a->what.eval_sets = a->sets;
    a->what.eval_set_count = 3;
    a->how.optimizer = rgm_adam(0.05);
    a->how.trainer.epochs = 20;
    a->how.runtime.threads = 1;
}

static void end(arguments *a)
{
    rgm_provider_release(a->what.train_data);
    rgm_provider_release(a->what.valid_data);
    rgm_provider_release(a->what.test_data);
    rgm_graph_task_release(a->what.task);
    for (int i = 0; i < 3; i++)
        rgm_provider_release(a->sets[i].data);
}

static void refuse(const arguments *a, rgm_status status, const char *message)
{
    rgm_open_run *run;

    CHECK_STATUS(status, rgm_run(&run, &a->what, &a->how));
    CHECK(run == NULL);
    CHECK_MESSAGE(message);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void files_are_read_one_behind_the_other(void **state)
{
    records r = write_all();
    rgm_provider *provider = provider_of(&r, "part-*.rec", "a.rec", NULL);
    const int64_t atoms[] = {3, 4, 5, 6, 1, 2};
    rgm_iterator *examples;
    rgm_dataset *data;
    rgm_element *example;

    (void)state;
    CHECK_OK(rgm_provider_dataset(&data, provider, false));
    CHECK_OK(rgm_iterator_create(&examples, data, NULL));
    for (int i = 0; i < 6; i++) {
        rgm_graph *graph;
        rgm_str bytes;

        CHECK_OK(rgm_iterator_next(&example, examples));
        bytes.data = rgm_element_bytes(example, &bytes.size);
        CHECK_OK(rgm_graph_decode_batch(&graph, r.schema, &bytes, 1, NULL, NULL));
        CHECK_INT(atoms[i], rgm_graph_total(graph, RGM_NODE_SET, "atom"));
        rgm_graph_release(graph);
        rgm_element_release(example);
    }
    CHECK_STATUS(RGM_END, rgm_iterator_next(&example, examples));
    rgm_iterator_release(examples);
    rgm_dataset_release(data);
    rgm_provider_release(provider);
    clear(&r);
}

/* How many graphs of 1 or 2 atoms a pass has, and how many of more; each that is seen is marked. */
static void count_sizes(int64_t *small, int64_t *large, bool *seen, const records *r,
                        rgm_dataset *data)
{
    rgm_iterator *examples;
    rgm_element *example;
    rgm_status status;

    *small = *large = 0;
    CHECK_OK(rgm_iterator_create(&examples, data, NULL));
    while ((status = rgm_iterator_next(&example, examples)) == RGM_OK) {
        rgm_graph *graph;
        rgm_str bytes;
        int64_t atoms;

        bytes.data = rgm_element_bytes(example, &bytes.size);
        CHECK_OK(rgm_graph_decode_batch(&graph, r->schema, &bytes, 1, NULL, NULL));
        atoms = rgm_graph_total(graph, RGM_NODE_SET, "atom");
        *(atoms <= 2 ? small : large) += 1;
        seen[atoms] = true;
        rgm_graph_release(graph);
        rgm_element_release(example);
    }
    CHECK_STATUS(RGM_END, status);
    rgm_iterator_release(examples);
}

/* a.rec has graphs of 1 and 2 atoms, the other files four of 3 to 6. */
static void a_mix_is_drawn_by_weight_and_looked_at_once(void **state)
{
    enum { EPOCHS = 400 };
    records r = write_all();
    rgm_provider *sources[2] = {provider_of(&r, "a.rec", NULL, NULL),
                                provider_of(&r, "part-*.rec", NULL, NULL)};
    rgm_provider *mix = rgm_mix_provider(sources, (double[]){1, 3}, 2);
    bool seen[7] = {false};
    rgm_dataset *data;
    int64_t small, large;

    (void)state;
    CHECK(mix != NULL);
    CHECK_OK(rgm_provider_dataset(&data, mix, false));
    count_sizes(&small, &large, seen, &r, data);
    CHECK_INT(2, small);
    CHECK_INT(4, large);
    for (int atoms = 1; atoms <= 6; atoms++)
        CHECK(seen[atoms]);
    rgm_dataset_release(data);
    CHECK_OK(rgm_provider_dataset(&data, mix, true));
    CHECK_OK(rgm_dataset_repeat(&data, EPOCHS));
    count_sizes(&small, &large, seen, &r, data);
    CHECK_INT(2 * EPOCHS, small); /* an epoch has all of a.rec, and three of the others in place of
                                     each of its graphs and of its end */
    CHECK_CLOSE(9 * EPOCHS, (double)large, 0, 0.1 * 9 * EPOCHS);
    rgm_dataset_release(data);
    rgm_provider_release(mix);
    rgm_provider_release(sources[0]);
    rgm_provider_release(sources[1]);
    clear(&r);
}

/* What a set is told to have is what a run has that validates on its files alone. */
static void sets_are_evaluated_beside_the_parts(void **state)
{
    records r = write_all();
    arguments a, alone;
    rgm_open_run *run, *other;
    rgm_text text = {0};

    (void)state;
    begin(&a, &r);
    CHECK_OK(rgm_run(&run, &a.what, &a.how));
    CHECK_OK(rgm_run_plan(&text, run));
    CHECK_TEXT("items are counted as they are read; files: 3 train, 1 valid, 1 test, 2 valid_news, "
               "1 valid_long, 1 test_news\nreads atom.x\n",
               text.data);
    begin(&alone, &r);
    alone.what.eval_set_count = 0;
    rgm_provider_release(alone.what.valid_data);
    rgm_provider_release(alone.what.test_data);
    alone.what.valid_data = rgm_provider_retain(a.sets[0].data);
    alone.what.test_data = rgm_provider_retain(a.sets[2].data);
    CHECK_OK(rgm_run(&other, &alone.what, &alone.how));
    CHECK_CLOSE(rgm_run_metric(other, "valid", "loss"), rgm_run_metric(run, "valid_news", "loss"),
                1e-6, 0);
    CHECK_CLOSE(rgm_run_metric(other, "test", "loss"), rgm_run_metric(run, "test_news", "loss"),
                1e-6, 0);
    CHECK(rgm_run_metric(run, "valid_news", "loss") != rgm_run_metric(run, "valid", "loss"));
    CHECK_CLOSE(1, rgm_run_metric(run, "valid_long", "accuracy"), 0, 0);
    rgm_text_clear(&text);
    rgm_run_close(run);
    rgm_run_close(other);
    end(&a);
    end(&alone);
    clear(&r);
}

/* The graph of 40 atoms is larger than what validation data are padded to. */
static void each_set_is_padded_to_its_own_sizes(void **state)
{
    records r = write_all();
    arguments a;
    rgm_open_run *plain, *padded;

    (void)state;
    begin(&a, &r);
    CHECK_OK(rgm_run(&plain, &a.what, &a.how));
    a.what.valid_padding.kind = RGM_PADDING_TIGHT;
    CHECK_OK(rgm_run(&padded, &a.what, &a.how));
    CHECK_CLOSE(rgm_run_metric(plain, "valid_long", "loss"),
                rgm_run_metric(padded, "valid_long", "loss"), 1e-6, 0);
    CHECK_CLOSE(rgm_run_metric(plain, "valid_news", "loss"),
                rgm_run_metric(padded, "valid_news", "loss"), 1e-6, 0);
    rgm_run_close(plain);
    rgm_run_close(padded);
    end(&a);
    clear(&r);
}

static void mistakes_are_told_with_key_and_pattern(void **state)
{
    records r = write_all();
    arguments a;

    (void)state;
    begin(&a, &r);
    a.sets[1].name = "news";
    refuse(&a, RGM_ERR_CONFIG, "two sets of valid data are named 'news'");
    a.sets[1].name = "no/name";
    refuse(&a, RGM_ERR_CONFIG, "a name is letters, digits, '_' and '-'");
    a.sets[1].name = "long";
    a.sets[1].mode = RGM_TRAIN;
    refuse(&a, RGM_ERR_CONFIG, "eval_sets[1], 'long', stands beside validation or test data");
    a.sets[1].mode = RGM_VALID;
    a.what.eval_set_count = RGM_MAX_EVAL_SETS + 1;
    refuse(&a, RGM_ERR_CONFIG, "16 sets are the most");
    a.what.eval_set_count = 3;
    rgm_provider_release(a.sets[1].data);
    a.sets[1].data = provider_of(&r, "a.rec", "none-*.rec", "data.valid_sets.long");
    refuse(&a, RGM_ERR_NOT_FOUND, "data.valid_sets.long: ");
    CHECK_MESSAGE("none-*.rec");
    rgm_provider_release(a.sets[1].data);
    a.sets[1].data = NULL;
    refuse(&a, RGM_ERR_ARG, "eval_sets[1] needs a name and data");
    a.what.eval_set_count = 1;
    write_records(r.schema, r.folder, "part-1.rec", 3, 0);
    write_records(r.schema, r.folder, "part-2.rec", 4, 0);
    refuse(&a, RGM_ERR_DATA, "there is nothing in them");
    CHECK(rgm_tfrecord_provider(&(rgm_tfrecord_provider_options){0}) == NULL);
    CHECK_MESSAGE("no files of records are named");
    end(&a);
    clear(&r);
}

TESTS(cmocka_unit_test(files_are_read_one_behind_the_other),
      cmocka_unit_test(a_mix_is_drawn_by_weight_and_looked_at_once),
      cmocka_unit_test(sets_are_evaluated_beside_the_parts),
      cmocka_unit_test(each_set_is_padded_to_its_own_sizes),
      cmocka_unit_test(mistakes_are_told_with_key_and_pattern))

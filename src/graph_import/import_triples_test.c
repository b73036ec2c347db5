/* Triples from files: numbers in order of appearance, parts, names, and what is refused where. */
#include <check.h>

#include <regimen/graph_import.h>

static char paths[3][300];
static const char *const names[3] = {"train.tsv", "valid.tsv", "test.tsv"};

/* The files of the parts; NULL: there is none. */
static rgm_triples_options write_files(const char *const texts[3])
{
    static const char *listed[3][1];
    rgm_triples_options o = {.node_set = NULL};
    rgm_texts *parts[3] = {&o.train, &o.valid, &o.test};

    for (int i = 0; i < 3; i++) {
        if (texts[i] == NULL)
            continue;
        snprintf(paths[i], sizeof paths[i], "%s/%s", check_folder(), names[i]);
        CHECK_OK(rgm_file_save(paths[i], texts[i], (int64_t)strlen(texts[i])));
        listed[i][0] = paths[i];
        *parts[i] = (rgm_texts){listed[i], 1};
    }
    return o;
}

static void check_integers(const rgm_tensor *t, const int64_t *expected, int64_t count)
{
    CHECK_INT(count, rgm_tensor_count(t));
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(expected[i], rgm_tensor_at_int(t, i));
}

static void check_texts(const rgm_feature *f, const char *const *expected, int64_t count)
{
    const rgm_str *texts = rgm_tensor_data(f->values);

    CHECK_INT(count, rgm_tensor_count(f->values));
    for (int64_t i = 0; i < count; i++) {
        CHECK_INT((int64_t)strlen(expected[i]), texts[i].size);
        CHECK(memcmp(expected[i], texts[i].data, (size_t)texts[i].size) == 0);
    }
}

static void triples_become_one_graph(void **state)
{
    static const char *const texts[3] = {"Rome\tin\tItaly\nItaly\tin\tEurope\r\n\n",
                                         "Rome\tcapital of\tItaly\n", "\"a\tb\"\tin\tRome\n"};
    static const char *const entities[] = {"Rome", "Italy", "Europe", "a\tb"};
    static const char *const relations[] = {"in", "capital of"};
    rgm_triples_options o = write_files(texts);
    rgm_graph_data data;
    const rgm_graph *graph;

    (void)state;
    CHECK_OK(rgm_import_triples(&data, &o));
    graph = data.graphs[0];
    check_texts(rgm_graph_feature(graph, RGM_NODE_SET, "entity", "name"), entities, 4);
    check_texts(rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, RGM_RELATION_NAMES), relations,
                2);
    check_integers(rgm_graph_source(graph, "fact"), (int64_t[]){0, 1, 0, 3}, 4);
    check_integers(rgm_graph_target(graph, "fact"), (int64_t[]){1, 2, 1, 0}, 4);
    check_integers(rgm_graph_feature(graph, RGM_EDGE_SET, "fact", "relation")->values,
                   (int64_t[]){0, 0, 1, 0}, 4);
    check_integers(rgm_graph_feature(graph, RGM_EDGE_SET, "fact", "part")->values,
                   (int64_t[]){0, 0, 1, 2}, 4);
    CHECK_INT(2, rgm_set_feature(rgm_schema_find(data.schema, RGM_EDGE_SET, "fact"), "relation")
                     ->vocabulary);
    rgm_graph_data_clear(&data);
}

static void refused(const char *const texts[3], rgm_status status, const char *message)
{
    rgm_triples_options o = write_files(texts);
    rgm_graph_data data;

    CHECK_STATUS(status, rgm_import_triples(&data, &o));
    CHECK_MESSAGE(message);
}

static void what_is_no_triple_is_told_with_its_line(void **state)
{
    (void)state;
    refused((const char *const[]){"a\tr\tb\na\tr\n", NULL, NULL}, RGM_ERR_FORMAT,
            "train.tsv:2: 2 fields, but a triple is head, relation and tail");
    refused((const char *const[]){"a\tr\tb\n", "a\tr\tb\tc\n", NULL}, RGM_ERR_FORMAT,
            "valid.tsv:1: 4 fields");
    refused((const char *const[]){"a\t\tb\n", NULL, NULL}, RGM_ERR_FORMAT,
            "train.tsv:1: an empty name");
    refused((const char *const[]){"a\tr\tb\n\"a\nb\"\tr\tb\n", NULL, NULL}, RGM_ERR_FORMAT,
            "a name of several lines");
    refused((const char *const[]){"\n", NULL, NULL}, RGM_ERR_DATA, "no triple is for training");
}

static void without_memory_nothing_is_left(void **state)
{
    static const char *const texts[3] = {"a\tr\tb\nb\tq\tc\n", NULL, "c\tr\ta\n"};
    rgm_triples_options o = write_files(texts);
    rgm_graph_data data;

    (void)state;
    CHECK_EVERY_OOM(rgm_import_triples(&data, &o), rgm_graph_data_clear(&data));
}

TESTS(cmocka_unit_test(triples_become_one_graph),
      cmocka_unit_test(what_is_no_triple_is_told_with_its_line),
      cmocka_unit_test(without_memory_nothing_is_left))

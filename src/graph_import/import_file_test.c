/*
 * Tables and triples straight into a graph file: to the byte what goes by way of memory, in memory
 * that does not grow with the edges; what is wrong is told and leaves no file.
 */
#include <check.h>
#include <unistd.h>

#include <regimen/graph_import.h>

static const char *root; /* of the test at work */

static const char *in_folder(int which, const char *name)
{
    static char paths[6][400];

    if (root == NULL)
        root = check_folder();
    snprintf(paths[which], sizeof paths[which], "%s/%s", root, name);
    return paths[which];
}

static void remove_folder(void)
{
    CHECK_OK(rgm_folder_remove(root));
    root = NULL;
}

static void save(const char *name, const char *text)
{
    CHECK_OK(rgm_file_create(in_folder(5, name), text, (int64_t)strlen(text)));
}

#define SCHEMA                                                                                     \
    "context { features { key: 'year' value { dtype: DT_INT64 } } metadata { filename: 'c.csv' } " \
    "} "                                                                                           \
    "node_sets { key: 'u' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "      \
    "size: "                                                                                       \
    "2 } } } } features { key: 'name' value { dtype: DT_STRING } } metadata { filename: 'u.csv' "  \
    "} "                                                                                           \
    "} } "                                                                                         \
    "node_sets { key: 'tag' value { } } "                                                          \
    "edge_sets { key: 'e' value { source: 'u' target: 'u' features { key: 'w' value { dtype: "     \
    "DT_FLOAT } } features { key: 'note' value { dtype: DT_STRING } } metadata { filename: "       \
    "'e.csv' } } } "                                                                               \
    "edge_sets { key: 'has' value { source: 'tag' target: 'u' metadata { filename: 'has.csv' } } " \
    "} "                                                                                           \
    "edge_sets { key: 'none' value { source: 'u' target: 'u' features { key: 'w' value { dtype: "  \
    "DT_FLOAT } } metadata { filename: 'none.csv' } } } "

/* `edges` edges among 500 nodes, more than a block of rows or less, and tags that have no table. */
static void make_tables(int edges)
{
    FILE *f;

    CHECK_OK(rgm_folder_make(in_folder(5, "split/s")));
    save("schema.pbtxt", SCHEMA);
    save("c.csv", "year\n1999\n");
    save("split/s/train.csv", "n7\nn3\n");
    save("split/s/test.csv", "n499\n");
    save("none.csv", "source,target,w\n");
    save("has.csv", "source,target\nred,n4\nblue,n9\nred,n9\n");
    f = fopen(in_folder(5, "u.csv"), "w");
    fprintf(f, "id,x.0,x.1,name\n");
    for (int i = 0; i < 500; i++)
        fprintf(f, "n%d,%d.5,%d,\"node %d\"\n", i, i, -i, i * 7919);
    fclose(f);
    f = fopen(in_folder(5, "e.csv"), "w");
    fprintf(f, "target,source,w,note\n");
    for (int64_t i = 0; i < edges; i++)
        fprintf(f, "n%lld,n%lld,0.%lld,%s\n", (long long)(i * i % 499), (long long)(i * 31 % 500),
                (long long)i, i % 3 == 0 ? "third" : "");
    fclose(f);
}

static void check_same_bytes(const char *a, const char *b)
{
    char *bytes[2];
    int64_t sizes[2];

    CHECK_OK(rgm_file_load(&bytes[0], &sizes[0], a, INT64_MAX));
    CHECK_OK(rgm_file_load(&bytes[1], &sizes[1], b, INT64_MAX));
    CHECK_INT(sizes[0], sizes[1]);
    CHECK(memcmp(bytes[0], bytes[1], (size_t)sizes[0]) == 0);
    rgm_free(bytes[0]);
    rgm_free(bytes[1]);
}

static const rgm_graph_writer_options narrow = {.memory = 1 << 20};

/* The most memory that was in use beside what was there before. */
static int64_t peak_beside(int64_t before)
{
    return rgm_memory_peak() - before;
}

static int64_t begin_peak(void)
{
    rgm_memory_reset_peak();
    return rgm_memory_used();
}

static void tables_are_written_as_they_are_read(void **state)
{
    const char *schema = in_folder(0, "schema.pbtxt"), *once = in_folder(1, "once.graph");
    const char *twice = in_folder(2, "streamed.graph");
    rgm_graph_data data;
    int64_t before, whole, streamed;

    (void)state;
    make_tables(200000);
    before = begin_peak();
    CHECK_OK(rgm_import_csv(&data, schema, NULL));
    CHECK_OK(rgm_graph_data_write(&data, once, &narrow));
    rgm_graph_data_clear(&data);
    whole = peak_beside(before);
    before = begin_peak();
    CHECK_OK(rgm_import_csv_file(twice, schema, NULL, &narrow));
    streamed = peak_beside(before);
    check_same_bytes(once, twice);
    /* A block of rows, 1 MiB to sort in and what is read and written at a time. */
    CHECK(streamed < 12 << 20);
    CHECK(whole > 2 * streamed || whole > 16 << 20);
    CHECK_OK(rgm_graph_data_open(&data, twice));
    CHECK_INT(200000, rgm_graph_total(data.graphs[0], RGM_EDGE_SET, "e"));
    CHECK_INT(2, rgm_graph_total(data.graphs[0], RGM_NODE_SET, "tag"));
    CHECK_INT(7, rgm_tensor_i64(data.train)[0]);
    rgm_graph_data_clear(&data);
    remove_folder();
}

/* Rows far fewer than a block has, but of long texts: a block ends by its bytes too. */
static void long_rows_are_written_by_their_bytes(void **state)
{
    static const char schema_text[] =
        "node_sets { key: 'u' value { features { key: 'x' value { dtype: DT_FLOAT } } "
        "features { key: 'text' value { dtype: DT_STRING } } metadata { filename: 'u.csv' } } }";
    enum { ROWS = 12000, LETTERS = 5000 };
    const char *schema = in_folder(0, "schema.pbtxt"), *once = in_folder(1, "once.graph");
    const char *twice = in_folder(2, "streamed.graph");
    char text[LETTERS + 1];
    rgm_graph_data data;
    int64_t before;
    FILE *f;

    (void)state;
    save("schema.pbtxt", schema_text);
    f = fopen(in_folder(5, "u.csv"), "w");
    fprintf(f, "id,x,text\n");
    for (int i = 0; i < ROWS; i++) {
        memset(text, 'a' + i % 26, LETTERS);
        text[LETTERS - i % 100] = '\0';
        fprintf(f, "n%d,%d,%s\n", i, i, text);
    }
    fclose(f);
    CHECK_OK(rgm_import_csv(&data, schema, NULL));
    CHECK_OK(rgm_graph_data_write(&data, once, &narrow));
    rgm_graph_data_clear(&data);
    before = begin_peak();
    CHECK_OK(rgm_import_csv_file(twice, schema, NULL, &narrow));
    CHECK(peak_beside(before) < 56 << 20); /* the texts are 57 MiB: grown, and once more as taken */
    check_same_bytes(once, twice);
    remove_folder();
}

static void dangling_edges_are_left_out_or_told(void **state)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    const char *schema = in_folder(0, "schema.pbtxt"), *once = in_folder(1, "once.graph");
    const char *twice = in_folder(2, "streamed.graph");
    static const char dangling[] = "source,target\nred,n4\nold,gone\nnew,n1\n";
    rgm_graph_data data;

    (void)state;
    make_tables(100);
    CHECK_OK(rgm_file_save(in_folder(3, "has.csv"), dangling, (int64_t)strlen(dangling)));
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_csv_file(twice, schema, &options, &narrow));
    CHECK_MESSAGE("has.csv:3: edge set 'has': row 1: target 'gone' is no id of node set 'u'");
    CHECK(!rgm_path_exists(twice));
    options.skip_dangling = true;
    CHECK_OK(rgm_import_csv(&data, schema, &options));
    CHECK_OK(rgm_graph_data_write(&data, once, &narrow));
    rgm_graph_data_clear(&data);
    CHECK_OK(rgm_import_csv_file(twice, schema, &options, &narrow));
    check_same_bytes(once, twice);
    CHECK_STATUS(RGM_ERR_BUSY, rgm_import_csv_file(twice, schema, &options, &narrow));
    remove_folder();
}

static rgm_status import_tables(void)
{
    const char *file = in_folder(1, "streamed.graph");

    (void)unlink(file);
    return rgm_import_csv_file(file, in_folder(0, "schema.pbtxt"), NULL, &narrow);
}

static void tables_survive_every_failing_allocation(void **state)
{
    (void)state;
    make_tables(3);
    CHECK_EVERY_OOM(import_tables(), (void)0);
    remove_folder();
}

/* ---- triples ------------------------------------------------------------------------------- */

static const char *listed[2][1];

static rgm_triples_options make_triples(int facts)
{
    FILE *f;

    listed[0][0] = in_folder(3, "train.tsv");
    listed[1][0] = in_folder(4, "test.tsv");
    f = fopen(listed[0][0], "w");
    for (int64_t i = 0; i < facts; i++)
        fprintf(f, "e%lld\tr%lld\te%lld\n", (long long)(i * i % 1009), (long long)(i % 7),
                (long long)(i * 17 % 1000));
    fclose(f);
    CHECK_OK(rgm_file_save(listed[1][0], "e1\tnew\tnobody\n", 14));
    return (rgm_triples_options){.train = {listed[0], 1}, .test = {listed[1], 1}};
}

static void facts_are_written_as_they_are_read(void **state)
{
    rgm_triples_options options = make_triples(150000);
    const char *once = in_folder(1, "once.graph"), *twice = in_folder(2, "streamed.graph");
    rgm_graph_data data;
    int64_t before, whole, streamed;

    (void)state;
    before = begin_peak();
    CHECK_OK(rgm_import_triples(&data, &options));
    CHECK_OK(rgm_graph_data_write(&data, once, &narrow));
    rgm_graph_data_clear(&data);
    whole = peak_beside(before);
    before = begin_peak();
    CHECK_OK(rgm_import_triples_file(twice, &options, &narrow));
    streamed = peak_beside(before);
    check_same_bytes(once, twice);
    CHECK(streamed < 9 << 20);
    CHECK(whole > 2 * streamed);
    remove_folder();
}

static rgm_status import_triples(const rgm_triples_options *options)
{
    const char *file = in_folder(1, "streamed.graph");

    (void)unlink(file);
    return rgm_import_triples_file(file, options, &narrow);
}

static void triples_survive_every_failing_allocation(void **state)
{
    rgm_triples_options options = make_triples(3);

    (void)state;
    CHECK_EVERY_OOM(import_triples(&options), (void)0);
    CHECK_OK(rgm_file_save(listed[0][0], "a\tb\n", 4));
    CHECK_STATUS(RGM_ERR_FORMAT, import_triples(&options));
    CHECK_MESSAGE("train.tsv:1: 2 fields");
    remove_folder();
}

TESTS(cmocka_unit_test(tables_are_written_as_they_are_read),
      cmocka_unit_test(long_rows_are_written_by_their_bytes),
      cmocka_unit_test(dangling_edges_are_left_out_or_told),
      cmocka_unit_test(tables_survive_every_failing_allocation),
      cmocka_unit_test(facts_are_written_as_they_are_read),
      cmocka_unit_test(triples_survive_every_failing_allocation))

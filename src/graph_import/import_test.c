#include <check.h>
#include <unistd.h>

#include <regimen/graph_import.h>

/* ---- folders made by tests ---- */

/* One file of a folder: its path below the folder and its text. */
typedef struct made_file {
    const char *path, *text;
} made_file;

static char root[256];

static const char *in(const char *path)
{
    static char joined[512];
    snprintf(joined, sizeof joined, "%s/%s", root, path);
    return joined;
}

static void make_folder(const made_file *files, int count)
{
    snprintf(root, sizeof root, "%s", check_folder());
    for (int i = 0; i < count; i++) {
        char folder[512], *slash;
        snprintf(folder, sizeof folder, "%s", in(files[i].path));
        slash = strrchr(folder, '/');
        *slash = 0;
        CHECK_OK(rgm_folder_make(folder));
        CHECK_OK(rgm_file_create(in(files[i].path), files[i].text, (int64_t)strlen(files[i].text)));
    }
}

static void remove_folder(void)
{
    CHECK_OK(rgm_folder_remove(root));
}

static const int64_t *values_of(const rgm_graph *graph, rgm_piece piece, const char *set,
                                const char *feature)
{
    const rgm_feature *f = rgm_graph_feature(graph, piece, set, feature);
    CHECK(f != NULL);
    return rgm_tensor_i64(f->values);
}

/* "s>t s>t ..." of an edge set. */
static const char *edges_of(const rgm_graph *graph, const char *set)
{
    static char text[512];
    size_t at = 0;

    text[0] = 0;
    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_EDGE_SET, set) && at < 480; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld>%lld", i ? " " : "",
                               (long long)rgm_tensor_i64(rgm_graph_source(graph, set))[i],
                               (long long)rgm_tensor_i64(rgm_graph_target(graph, set))[i]);
    return text;
}

/* ---- the data sets at hand ---- */

static void cora_has_its_known_counts(void **state)
{
    const char *path = check_data("cora");
    rgm_graph_data s;
    const rgm_feature *words;
    const int64_t *label, *source, *target;
    int64_t counts[7] = {0};

    (void)state;
    if (path == NULL)
        SKIP("REGIMEN_DATA has no cora");
    CHECK_OK(rgm_import_ogb(&s, path, NULL));
    CHECK_INT(1, s.graph_count);
    CHECK_TEXT("nodes", s.split_set);
    CHECK_INT(140, rgm_tensor_count(s.train));
    CHECK_INT(500, rgm_tensor_count(s.valid));
    CHECK_INT(1000, rgm_tensor_count(s.test));
    CHECK_INT(2708, rgm_graph_total(s.graphs[0], RGM_NODE_SET, "nodes"));
    CHECK_INT(10556, rgm_graph_total(s.graphs[0], RGM_EDGE_SET, "edges"));
    words = rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "nodes", "words");
    CHECK_INT(49216, rgm_tensor_count(words->values));
    CHECK_INT(
        1433,
        rgm_set_feature(rgm_schema_find(s.schema, RGM_NODE_SET, "nodes"), "words")->vocabulary);
    label = values_of(s.graphs[0], RGM_NODE_SET, "nodes", "label");
    for (int64_t i = 0; i < 2708; i++)
        counts[label[i]]++;
    CHECK(counts[0] == 351 && counts[3] == 818 && counts[6] == 180);
    source = rgm_tensor_i64(rgm_graph_source(s.graphs[0], "edges"));
    target = rgm_tensor_i64(rgm_graph_target(s.graphs[0], "edges"));
    for (int64_t i = 1; i < 10556; i++)
        CHECK(target[i] > target[i - 1] ||
              (target[i] == target[i - 1] && source[i] > source[i - 1]));
    rgm_graph_data_clear(&s);
}

static void mutag_is_many_graphs_with_a_fold(void **state)
{
    const char *path = check_data("mutag");
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;
    int64_t nodes = 0, edges = 0, positive = 0;

    (void)state;
    if (path == NULL)
        SKIP("REGIMEN_DATA has no mutag");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_import_ogb(&s, path, NULL));
    CHECK_MESSAGE("say which split is meant; there are: fold-1, fold-10, fold-2");
    options.split = "fold-1";
    options.relabel = true; /* its labels are 0 and 2 */
    CHECK_OK(rgm_import_ogb(&s, path, &options));
    CHECK_INT(188, s.graph_count);
    CHECK(s.split_set == NULL && s.valid == NULL);
    CHECK_INT(170, rgm_tensor_count(s.train));
    CHECK_INT(18, rgm_tensor_count(s.test));
    for (int64_t i = 0; i < 188; i++) {
        nodes += rgm_graph_total(s.graphs[i], RGM_NODE_SET, "nodes");
        edges += rgm_graph_total(s.graphs[i], RGM_EDGE_SET, "edges");
        positive += values_of(s.graphs[i], RGM_CONTEXT_PIECE, NULL, "label")[0];
    }
    CHECK_INT(3371, nodes);
    CHECK_INT(2 * 3721, edges);
    CHECK_INT(125, positive);
    CHECK_INT(23, rgm_graph_total(s.graphs[0], RGM_NODE_SET, "nodes"));
    CHECK_INT(0, rgm_set_feature(rgm_schema_find(s.schema, RGM_NODE_SET, "nodes"), "feat")->rank);
    rgm_graph_data_clear(&s);
}

static void imdb_has_latent_sets_and_reverse_edges(void **state)
{
    const char *path = check_data("imdb");
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;

    (void)state;
    if (path == NULL)
        SKIP("REGIMEN_DATA has no imdb");
    CHECK_OK(rgm_import_ogb(&s, path, &options));
    CHECK_INT(1 + 4 + 6, rgm_schema_set_count(s.schema));
    CHECK_TEXT("movie", s.split_set);
    CHECK_INT(400, rgm_tensor_count(s.train));
    CHECK_INT(3478, rgm_tensor_count(s.test));
    CHECK_INT(3126, rgm_graph_total(s.graphs[0], RGM_NODE_SET, "keyword"));
    CHECK_INT(0, rgm_schema_find(s.schema, RGM_NODE_SET, "actor")->feature_count);
    CHECK_INT(12828, rgm_graph_total(s.graphs[0], RGM_EDGE_SET, "has_actor"));
    CHECK_INT(27427, rgm_graph_total(s.graphs[0], RGM_EDGE_SET, "rev_has_keyword"));
    CHECK_TEXT("director", rgm_schema_find(s.schema, RGM_EDGE_SET, "rev_directed_by")->source);
    rgm_graph_data_clear(&s);
    options.undirected = false;
    CHECK_OK(rgm_import_ogb(&s, path, &options));
    CHECK_INT(1 + 4 + 3, rgm_schema_set_count(s.schema));
    rgm_graph_data_clear(&s);
}

/* ---- small folders ---- */

static const made_file small[] = {
    {"raw/edge.csv", "0,1\n1,2\n3,3\n\n0,1\n"},
    {"raw/num-node-list.csv", "4\n2\n"},
    {"raw/num-edge-list.csv", "3\n1\n"},
    {"raw/node-feat.csv", "0.5,1\n1.5,2\n2.5,3\n3.5,4\n4.5,5\n5.5,6\n"},
    {"raw/edge-feat.csv", "7\n8\n9\n10\n"},
    {"raw/graph-label.csv", "5\n3\n"},
    {"split/only/train.csv", "1\n"},
    {"split/only/test.csv", "0\n"},
};
#define SMALL_FILES ((int)(sizeof small / sizeof *small))

/* The labels of six nodes as they come out of "raw/node-label.csv". */
static void check_labels(const char *file, bool relabel, const int64_t wanted[6])
{
    const made_file files[] = {{"raw/num-node-list.csv", "6\n"},
                               {"raw/num-edge-list.csv", "1\n"},
                               {"raw/edge.csv", "0,1\n"},
                               {"raw/node-label.csv", file}};
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;

    options.relabel = relabel;
    make_folder(files, 4);
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    for (int i = 0; i < 6; i++)
        CHECK_INT(wanted[i], values_of(s.graphs[0], RGM_NODE_SET, "nodes", "label")[i]);
    rgm_graph_data_clear(&s);
    remove_folder();
}

#define NONE INT64_MIN

static void a_label_of_minus_one_is_none(void **state)
{
    (void)state;
    check_labels("2\n-1\n0\n1\n-1\n2\n", false, (int64_t[]){2, -1, 0, 1, -1, 2});
    check_labels("7\n-1\n3\n5\n-1\n7\n", true, (int64_t[]){2, -1, 0, 1, -1, 2});
    check_labels("1\n-1\n1\n1\n-1\n1\n", true, (int64_t[]){1, 0, 1, 1, 0, 1}); /* two signs */
    check_labels("2\n\"\"\n0\n1\n \n2\n", false, (int64_t[]){2, NONE, 0, 1, NONE, 2});
    check_labels("2\n\n0\n1\n-1\n\n", false, (int64_t[]){2, NONE, 0, 1, -1, NONE}); /* lines */
    check_labels("\n2\n1\n0\n1\n0\n2\n\n", false, (int64_t[]){2, 1, 0, 1, 0, 2});
    check_labels("7\n\"\"\n3\n-1\n \n7\n", true, (int64_t[]){1, NONE, 0, -1, NONE, 1});
    check_labels("1\n\"\"\n-1\n1\n1\n-1\n", true, (int64_t[]){1, NONE, 0, 1, 1, 0});
}

/* Of several labels each cell by itself; among numbers with a point they are NaN. Features have
 * none. */
static void an_empty_label_is_none(void **state)
{
    static const made_file ogb[] = {{"raw/num-node-list.csv", "1\n1\n"},
                                    {"raw/num-edge-list.csv", "0\n0\n"},
                                    {"raw/edge.csv", ""},
                                    {"raw/graph-label.csv", "1,,0\n,0,\n"}};
    static const made_file csv[] = {
        {"schema.pbtxt",
         "node_sets { key: 'n' value { features { key: 'kind' value { dtype: DT_INT64 "
         "} } features { key: 'heat' value { dtype: DT_FLOAT } } features { key: "
         "'age' value { dtype: DT_INT64 } } metadata { filename: 'n.csv' } } }"},
        {"n.csv", "id,kind,heat,age\na,3,,1\nb,,0.5,2\n"}};
    static const char *const labels[] = {"kind", "heat"};
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    const int64_t *integers;
    const float *numbers;
    rgm_graph_data s;

    (void)state;
    make_folder(ogb, 4);
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    integers = values_of(s.graphs[0], RGM_CONTEXT_PIECE, NULL, "label");
    CHECK(integers[0] == 1 && integers[1] == NONE && integers[2] == 0);
    integers = values_of(s.graphs[1], RGM_CONTEXT_PIECE, NULL, "label");
    CHECK(integers[0] == NONE && integers[1] == 0 && integers[2] == NONE);
    rgm_graph_data_clear(&s);
    remove_folder();
    make_folder(csv, 2);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_import_csv(&s, in("schema.pbtxt"), &options));
    CHECK_MESSAGE("n.csv:2:5: an empty field where a number was expected; fill it in, or name "
                  "'heat' among the labels");
    options.labels = (rgm_texts){labels, 2};
    CHECK_OK(rgm_import_csv(&s, in("schema.pbtxt"), &options));
    integers = values_of(s.graphs[0], RGM_NODE_SET, "n", "kind");
    CHECK(integers[0] == 3 && integers[1] == NONE);
    numbers = rgm_tensor_f32(rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "n", "heat")->values);
    CHECK(isnan(numbers[0]) && numbers[1] == 0.5F);
    rgm_graph_data_clear(&s);
    remove_folder();
}

static void a_narrow_integer_has_no_room_for_a_missing_label(void **state)
{
    static const made_file files[] = {
        {"schema.pbtxt", "node_sets { key: 'n' value { features { key: 'label' value { dtype: "
                         "DT_INT8 } } metadata { filename: 'n.csv' } } }"},
        {"n.csv", "id,label\na,3\nb,\n"}};
    rgm_graph_data s;

    (void)state;
    make_folder(files, 2);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_import_csv(&s, in("schema.pbtxt"), NULL));
    CHECK_MESSAGE("declare label 'label' as DT_INT64: DT_INT8 has no number to say that one is "
                  "missing");
    remove_folder();
}

static void a_split_of_a_set_that_is_not_there_is_told(void **state)
{
    static const made_file files[] = {
        {"schema.pbtxt", "node_sets { key: 'user' value { metadata { filename: 'u.csv' } } }"
                         "node_sets { key: 'item' value { metadata { filename: 'u.csv' } } }"},
        {"u.csv", "id\na\nb\n"},
        {"split/known/users/train.csv", "a\n"}};
    rgm_graph_data s;

    (void)state;
    make_folder(files, 3);
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_csv(&s, in("schema.pbtxt"), NULL));
    CHECK_MESSAGE("split/known/users: the schema has no node set 'users'; did you mean 'user'?");
    remove_folder();
}

static void graphs_are_cut_at_their_counts_and_edges_ordered(void **state)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;
    const rgm_feature *x;
    const int64_t *feat;

    (void)state;
    make_folder(small, SMALL_FILES);
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK_INT(2, s.graph_count);
    CHECK_TEXT("1>0 0>1 2>1 1>2 3>3", edges_of(s.graphs[0], "edges"));
    feat = values_of(s.graphs[0], RGM_EDGE_SET, "edges", "feat");
    CHECK(feat[0] == 7 && feat[1] == 7 && feat[2] == 8 && feat[3] == 8 && feat[4] == 9);
    CHECK_TEXT("1>0 0>1", edges_of(s.graphs[1], "edges"));
    CHECK_INT(10, values_of(s.graphs[1], RGM_EDGE_SET, "edges", "feat")[0]);
    x = rgm_graph_feature(s.graphs[1], RGM_NODE_SET, "nodes", "feat");
    CHECK_CLOSE(4.5, rgm_tensor_f32(x->values)[0], 0, 0);
    CHECK_INT(3, values_of(s.graphs[1], RGM_CONTEXT_PIECE, NULL, "label")[0]);
    CHECK_INT(1, rgm_tensor_i64(s.train)[0]);
    rgm_graph_data_clear(&s);

    options.undirected = options.sort_edges = false;
    options.relabel = true;
    options.node_set = "atom";
    options.edge_set = "bond";
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK_TEXT("0>1 1>2 3>3", edges_of(s.graphs[0], "bond"));
    CHECK_INT(4, rgm_graph_total(s.graphs[0], RGM_NODE_SET, "atom"));
    CHECK_INT(1, values_of(s.graphs[0], RGM_CONTEXT_PIECE, NULL, "label")[0]);
    CHECK_INT(0, values_of(s.graphs[1], RGM_CONTEXT_PIECE, NULL, "label")[0]);
    rgm_graph_data_clear(&s);
    remove_folder();
}

static const made_file hetero[] = {
    {"raw/num-node-dict.csv", "a,b\n3,2\n"},
    {"raw/triplet-list.csv", "a,to,b\nb,to,a\na,like,a\n"},
    {"raw/relations/a___to___b/edge.csv", "2,0\n0,1\n"},
    {"raw/relations/b___to___a/edge.csv", "1,2\n"},
    {"raw/relations/a___like___a/edge.csv", "0,0\n0,2\n"},
    {"raw/relations/a___like___a/edge-feat.csv", "0.5\n0.25\n"},
    {"raw/node-feat/b/node-feat.csv", "1,0\n0,1\n"},
    {"raw/node-label/a/node-label.csv", "0\n1\n0\n"},
    {"split/s/a/train.csv", "2\n"},
};

static void relations_of_one_name_are_told_apart(void **state)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;
    const rgm_feature *like;

    (void)state;
    make_folder(hetero, 9);
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK_TEXT("2>0 0>1", edges_of(s.graphs[0], "a___to___b"));
    CHECK_TEXT("1>0 0>2", edges_of(s.graphs[0], "rev_a___to___b"));
    CHECK_TEXT("1>2", edges_of(s.graphs[0], "b___to___a"));
    CHECK_TEXT("0>0 0>2", edges_of(s.graphs[0], "like"));
    CHECK_TEXT("0>0 2>0", edges_of(s.graphs[0], "rev_like"));
    like = rgm_graph_feature(s.graphs[0], RGM_EDGE_SET, "rev_like", "feat");
    CHECK_CLOSE(0.25, rgm_tensor_f32(like->values)[1], 0, 0);
    CHECK_TEXT("a", s.split_set);
    CHECK_INT(2, rgm_tensor_i64(s.train)[0]);
    rgm_graph_data_clear(&s);
    remove_folder();
}

static void add_file(const char *path, const char *text)
{
    char below[512];

    snprintf(below, sizeof below, "%s", in(path));
    *strrchr(below, '/') = '\0';
    CHECK_OK(rgm_folder_make(below));
    CHECK_OK(rgm_file_save(in(path), text, (int64_t)strlen(text)));
}

/* Its folder or the caller says it; of two labelled sets it is no longer the first. */
static void a_split_is_of_the_set_that_is_named(void **state)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;

    (void)state;
    make_folder(hetero, 8);
    add_file("split/s/train.csv", "1\n");
    CHECK_OK(rgm_import_ogb(&s, root, NULL));
    CHECK_TEXT("a", s.split_set);
    rgm_graph_data_clear(&s);
    add_file("raw/node-label/b/node-label.csv", "1\n0\n");
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("/split: of several node sets; name that of the lists (node_set), or put them");
    options.node_set = "b";
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK_TEXT("b", s.split_set);
    CHECK_INT(1, rgm_tensor_i64(s.train)[0]);
    rgm_graph_data_clear(&s);
    options.node_set = "c";
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, &options));
    CHECK_MESSAGE("/split: there is no node set 'c'");
    CHECK_INT(0, unlink(in("raw/node-label/b/node-label.csv")));
    add_file("split/s/b/train.csv", "0\n");
    CHECK_OK(rgm_import_ogb(&s, root, NULL)); /* who learns from it tells that it has no labels */
    CHECK_TEXT("b", s.split_set);
    rgm_graph_data_clear(&s);
    add_file("split/s/bb/train.csv", "0\n");
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("split/s/bb: the schema has no node set 'bb'");
    remove_folder();
}

/* Nodes of one kind may have a folder, too; and val.csv is nobody's validation. */
static void every_list_of_a_split_is_read(void **state)
{
    rgm_graph_data s;

    (void)state;
    make_folder(small, SMALL_FILES);
    add_file("split/only/README.md", "ours");
    add_file("split/only/.val.csv", "0\n");
    CHECK_OK(rgm_import_ogb(&s, root, NULL));
    rgm_graph_data_clear(&s);
    add_file("split/only/val.csv.gz", "");
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("split/only/val.csv.gz: the lists of a split are train.csv, valid.csv and test");
    CHECK_INT(0, unlink(in("split/only/val.csv.gz")));
    add_file("split/only/nodes/train.csv", "5\n4\n");
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("the split is of nodes of 'nodes', but there are 2 graphs");
    add_file("raw/num-node-list.csv", "6\n");
    add_file("raw/num-edge-list.csv", "4\n");
    add_file("raw/graph-label.csv", "3\n");
    CHECK_OK(rgm_import_ogb(&s, root, NULL));
    CHECK_INT(5, rgm_tensor_i64(s.train)[0]);
    rgm_graph_data_clear(&s);
    remove_folder();
}

/* Which of them was changed last nobody knows. */
static void of_a_file_and_a_compressed_one_neither_is_read(void **state)
{
    rgm_graph_data s;

    (void)state;
    make_folder(small, SMALL_FILES);
    add_file("raw/graph-label.csv.gz", "5\n3\n");
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("/raw: both graph-label.csv.gz and graph-label.csv are there; remove the old");
    CHECK_INT(0, unlink(in("raw/graph-label.csv")));
    add_file("split/only/test.csv.gz", "0\n");
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("/split/only: both test.csv.gz and test.csv are there");
    CHECK_INT(0, unlink(in("split/only/test.csv")));
    CHECK_OK(rgm_import_ogb(&s, root, NULL));
    CHECK_INT(0, rgm_tensor_i64(s.test)[0]);
    rgm_graph_data_clear(&s);
    remove_folder();
}

static void feature_files_are_told_apart_by_what_they_hold(void **state)
{
    const struct {
        const char *text;
        rgm_dtype dtype;
        int rank;
        int64_t width, vocabulary;
    } cases[] = {
        {"1\n2\n3\n4\n5\n6\n", RGM_I64, 0, 0, 0},
        {"1.0\n2\n3\n4\n5\n6\n", RGM_F32, 0, 0, 0},
        {"1,-2\n2,2\n3,2\n4,2\n5,2\n6,2\n", RGM_I64, 1, 2, 0},
        {"1,0\n0,1\n1,1\n0,1\n1,0\n0,1\n", RGM_I64, 1, 2, 0}, /* dense ones */
        {"nan,0\n0,1e3\n1,1\n0,1\n1,0\n0,1\n", RGM_F32, 1, 2, 0},
        {"0,0,0,0,0,0,0,0,0,0,0,1\n0,0,0,0,0,0,0,0,0,0,0,0\n1,0,0,0,0,0,0,0,0,0,0,0\n"
         "0,0,0,0,0,0,0,0,0,0,0,0\n0,0,0,0,0,0,0,0,0,0,0,0\n0,1,0,0,0,0,0,0,0,0,0,0\n",
         RGM_I64, 1, -1, 12},
        {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2\n",
         RGM_F32, 1, 17, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_file files[SMALL_FILES];
        rgm_graph_data s;
        const rgm_feature_schema *feature;
        memcpy(files, small, sizeof small);
        files[3].text = cases[i].text;
        make_folder(files, SMALL_FILES);
        CHECK_OK(rgm_import_ogb(&s, root, NULL));
        feature = rgm_set_feature(rgm_schema_find(s.schema, RGM_NODE_SET, "nodes"),
                                  cases[i].vocabulary ? "words" : "feat");
        CHECK(feature != NULL);
        CHECK_INT(cases[i].dtype, feature->dtype);
        CHECK_INT(cases[i].rank, feature->rank);
        if (cases[i].rank)
            CHECK_INT(cases[i].width, feature->shape[0]);
        CHECK_INT(cases[i].vocabulary, feature->vocabulary);
        if (cases[i].vocabulary)
            CHECK_INT(1, values_of(s.graphs[1], RGM_NODE_SET, "nodes", "words")[0]);
        rgm_graph_data_clear(&s);
        remove_folder();
    }
}

/* Each set for itself: nodes of many ones stay rows of 0 and 1, and edges of none are numbers. */
static void features_become_what_another_schema_has(void **state)
{
    static const made_file files[] = {{"raw/edge.csv", "0,1\n1,2\n"},
                                      {"raw/num-node-list.csv", "3\n"},
                                      {"raw/num-edge-list.csv", "2\n"},
                                      {"raw/node-feat.csv", "1,1\n1,1\n1,0\n"},
                                      {"raw/edge-feat.csv", "0,0,0\n0,0,0\n"}};
    static const char like[] =
        "node_sets { key: 'nodes' value { features { key: 'words' value { dtype: DT_INT64 "
        "shape { dim { size: -1 } } } } } } edge_sets { key: 'edges' value { source: 'nodes' "
        "target: 'nodes' features { key: 'feat' value { dtype: DT_INT64 shape { dim { size: 3 } } "
        "} } } }";
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_schema *schema;
    rgm_graph_data s;

    (void)state;
    make_folder(files, 5);
    CHECK_OK(rgm_schema_parse(&schema, like, (int64_t)strlen(like), "like"));
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK(rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "nodes", "feat") != NULL);
    CHECK(rgm_graph_feature(s.graphs[0], RGM_EDGE_SET, "edges", "words") != NULL);
    rgm_graph_data_clear(&s);
    options.like = schema;
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK(rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "nodes", "words") != NULL);
    CHECK(rgm_graph_feature(s.graphs[0], RGM_EDGE_SET, "edges", "feat") != NULL);
    rgm_graph_data_clear(&s);
    options.node_set = "others"; /* which it does not know */
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK(rgm_graph_feature(s.graphs[0], RGM_NODE_SET, "others", "feat") != NULL);
    rgm_graph_data_clear(&s);
    rgm_schema_release(schema);
    remove_folder();
}

static void broken_folders_are_told_with_file_line_and_numbers(void **state)
{
    const struct {
        const char *path, *text; /* text NULL: the file is not there */
        rgm_status status;
        const char *message;
    } cases[] = {
        {"raw/edge.csv", "0,1\n1,4\n3,3\n0,1\n", RGM_ERR_DATA,
         "edge.csv:2: edge set 'edges': row 1: target is 4, but node set 'nodes' has 4 nodes"},
        {"raw/edge.csv", "0,1\n1,2\n3,3\n\n\n-1,0\n", RGM_ERR_DATA,
         "edge.csv:6: edge set 'edges': row 3: source is -1, but node set 'nodes' has 2 nodes"},
        {"raw/edge.csv", "0,1\n1,2\n3,3\n", RGM_ERR_DATA, "edge.csv has 3 rows, but the counts in"},
        {"raw/edge.csv", "0,1\n1,2,3\n", RGM_ERR_FORMAT, "edge.csv:2"},
        {"raw/edge.csv", "0\n1\n2\n3\n", RGM_ERR_FORMAT, "has 1 columns, expected 2"},
        {"raw/edge.csv", "0,x\n", RGM_ERR_FORMAT, "edge.csv:1:3"},
        {"raw/edge.csv", "0,99999999999999999999\n", RGM_ERR_FORMAT, "edge.csv:1:3"},
        {"raw/edge.csv", NULL, RGM_ERR_NOT_FOUND, "there is no edge.csv.gz and no edge.csv"},
        {"raw/num-node-list.csv", "4\n", RGM_ERR_DATA, "speaks of 1 graphs"},
        {"raw/num-node-list.csv", "4\n-2\n", RGM_ERR_DATA, "num-node-list.csv:2: a count of -2"},
        {"raw/num-node-list.csv", "4\n9223372036854775807\n", RGM_ERR_DATA, "num-node-list.csv:2"},
        {"raw/num-node-list.csv", "4\n3\n", RGM_ERR_DATA,
         "node-feat.csv has 6 rows, but there are 7 nodes"},
        {"raw/num-edge-list.csv", NULL, RGM_ERR_NOT_FOUND, "num-edge-list"},
        {"raw/edge-feat.csv", "1\n", RGM_ERR_DATA,
         "edge-feat.csv has 1 rows, but there are 4 edges"},
        {"raw/graph-label.csv", "1\n2\n3\n", RGM_ERR_DATA,
         "graph-label.csv has 3 rows, but there are 2 graphs"},
        {"raw/graph-label.csv", "1\n-2\n", RGM_ERR_DATA, "graph-label.csv:2: label -2 is negative"},
        {"raw/node-feat.csv", "1\nfoo\n", RGM_ERR_FORMAT, "node-feat.csv:2:1"},
        {"split/only/train.csv", "2\n", RGM_ERR_DATA,
         "train.csv:1: 2 is out of range, there are 2"},
        {"split/only/train.csv", "-1\n", RGM_ERR_DATA, "train.csv:1: -1 is out of range"},
        {"split/only/train.csv", "0\n", RGM_ERR_DATA,
         "test.csv:1: 0 is also in train: it would leak"},
        {"split/only/train.csv", "1\n1\n", RGM_ERR_DATA, "train.csv:2: 1 is also in train already"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_file files[SMALL_FILES];
        int count = 0;
        rgm_graph_data s;
        int64_t before = rgm_memory_used();
        for (int k = 0; k < SMALL_FILES; k++) {
            if (strcmp(small[k].path, cases[i].path) != 0)
                files[count++] = small[k];
            else if (cases[i].text)
                files[count++] = (made_file){small[k].path, cases[i].text};
        }
        make_folder(files, count);
        CHECK_STATUS(cases[i].status, rgm_import_ogb(&s, root, NULL));
        CHECK_MESSAGE(cases[i].message);
        CHECK(s.schema == NULL && s.graphs == NULL);
        CHECK_INT(before, rgm_memory_used());
        remove_folder();
    }
}

static void broken_heterogeneous_folders_are_told(void **state)
{
    const struct {
        const char *path, *text;
        rgm_status status;
        const char *message;
    } cases[] = {
        {"raw/num-node-dict.csv", "a,b\n", RGM_ERR_FORMAT, "has names but no counts"},
        {"raw/num-node-dict.csv", "a,b\n3,-2\n", RGM_ERR_DATA, "node set 'b' has -2 nodes"},
        {"raw/num-node-dict.csv", "a,b\n3\n", RGM_ERR_FORMAT, "num-node-dict.csv:2"},
        {"raw/triplet-list.csv", NULL, RGM_ERR_NOT_FOUND, "there is no triplets.csv.gz"},
        {"raw/triplet-list.csv", "a,to\n", RGM_ERR_FORMAT, "triplet-list.csv:1: has 2 fields"},
        {"raw/triplet-list.csv", "a,to,c\n", RGM_ERR_DATA, "'c' is no node set of num-node-dict"},
        {"raw/relations/b___to___a/edge.csv", NULL, RGM_ERR_NOT_FOUND,
         "b___to___a: there is no edge"},
        {"raw/relations/b___to___a/edge.csv", "2,0\n", RGM_ERR_DATA,
         "edge.csv:1: edge set 'b___to___a': row 0: source is 2, but node set 'b' has 2 nodes"},
        {"raw/relations/a___like___a/edge-feat.csv", "1\n", RGM_ERR_DATA,
         "has 1 rows, but there are 2 edges of edge set 'like'"},
        {"raw/node-feat/b/node-feat.csv", "1\n", RGM_ERR_DATA,
         "has 1 rows, but there are 2 nodes of node set 'b'"},
        {"split/s/a/train.csv", "3\n", RGM_ERR_DATA, "train.csv:1: 3 is out of range, there are 3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_file files[9];
        int count = 0;
        rgm_graph_data s;
        for (int k = 0; k < 9; k++) {
            if (strcmp(hetero[k].path, cases[i].path) != 0)
                files[count++] = hetero[k];
            else if (cases[i].text)
                files[count++] = (made_file){hetero[k].path, cases[i].text};
        }
        make_folder(files, count);
        CHECK_STATUS(cases[i].status, rgm_import_ogb(&s, root, NULL));
        CHECK_MESSAGE(cases[i].message);
        remove_folder();
    }
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_import_ogb(&(rgm_graph_data){0}, "/nowhere", NULL));
    CHECK_MESSAGE("/nowhere: no such folder");
}

static void importing_survives_every_failing_allocation(void **state)
{
    rgm_graph_data s;

    (void)state;
    make_folder(small, SMALL_FILES);
    CHECK_EVERY_OOM(rgm_import_ogb(&s, root, NULL), rgm_graph_data_clear(&s));
    remove_folder();
    make_folder(hetero, 9);
    CHECK_EVERY_OOM(rgm_import_ogb(&s, root, NULL), rgm_graph_data_clear(&s));
    remove_folder();
}

/* ---- CSV tables ---- */

#define TABLE_SCHEMA                                                                               \
    "context { features { key: 'year' value { dtype: DT_INT64 } } metadata { filename: 'c.csv' } " \
    "}\n"                                                                                          \
    "node_sets { key: 'user' value {\n"                                                            \
    "  features { key: 'age' value { dtype: DT_FLOAT } }\n"                                        \
    "  features { key: 'name' value { dtype: DT_STRING } }\n"                                      \
    "  features { key: 'vec' value { dtype: DT_INT32 shape { dim { size: 2 } } } }\n"              \
    "  features { key: 'old' value { dtype: DT_BOOL } }\n"                                         \
    "  metadata { filename: 'user-?.csv' } } }\n"                                                  \
    "node_sets { key: 'tag' value { } }\n"                                                         \
    "edge_sets { key: 'knows' value { source: 'user' target: 'user'\n"                             \
    "  features { key: 'since' value { dtype: DT_INT64 } } metadata { filename: 'knows.csv' } } "  \
    "}\n"                                                                                          \
    "edge_sets { key: 'has' value { source: 'user' target: 'tag'\n"                                \
    "  metadata { filename: 'has.csv' extra { key: 'edge_type' value: 'reversed' } } } }\n"        \
    "edge_sets { key: 'none' value { source: 'user' target: 'tag' } }\n"

static const made_file tables[] = {
    {"schema.pbtxt", TABLE_SCHEMA},
    {"c.csv", "year\n1999\n"},
    {"user-1.csv", "name,id,age,vec.1,vec.0,old\n\"O, \"\"x\"\"\",u7,31.5,2,1,true\n"},
    {"user-2.csv", "id,age,name,vec.0,vec.1,old\nu9,4,,3,4,0\n42,5e-1,z,5,-6,false\n"},
    {"knows.csv", "source,target,since\n42,u7,1\nu7,u9,-2\n"},
    {"has.csv", "target,source\nu9,red\nu9,blue\n42,red\n"},
};
#define TABLE_FILES ((int)(sizeof tables / sizeof *tables))

static void tables_become_one_graph(void **state)
{
    rgm_graph_data s;
    const rgm_graph *g;
    const rgm_feature *f;

    (void)state;
    make_folder(tables, TABLE_FILES);
    CHECK_OK(rgm_import_csv(&s, in("schema.pbtxt"), NULL));
    g = s.graphs[0];
    CHECK_INT(3, rgm_graph_total(g, RGM_NODE_SET, "user"));
    CHECK_INT(2, rgm_graph_total(g, RGM_NODE_SET, "tag")); /* red, blue: as edges name them */
    CHECK_INT(0, rgm_graph_total(g, RGM_EDGE_SET, "none"));
    CHECK_TEXT("2>0 0>1", edges_of(g, "knows"));
    CHECK_TEXT("1>0 1>1 2>0", edges_of(g, "has"));
    CHECK_INT(-2, values_of(g, RGM_EDGE_SET, "knows", "since")[1]);
    CHECK_INT(1999, values_of(g, RGM_CONTEXT_PIECE, NULL, "year")[0]);
    f = rgm_graph_feature(g, RGM_NODE_SET, "user", "age");
    CHECK_CLOSE(0.5, rgm_tensor_f32(f->values)[2], 0, 0);
    f = rgm_graph_feature(g, RGM_NODE_SET, "user", "name");
    CHECK_INT(6, rgm_tensor_str(f->values)[0].size);
    CHECK(memcmp("O, \"x\"", rgm_tensor_str(f->values)[0].data, 6) == 0);
    CHECK_INT(0, rgm_tensor_str(f->values)[1].size);
    f = rgm_graph_feature(g, RGM_NODE_SET, "user", "vec");
    CHECK(rgm_tensor_i32(f->values)[0] == 1 && rgm_tensor_i32(f->values)[1] == 2);
    CHECK_INT(-6, rgm_tensor_i32(f->values)[5]);
    f = rgm_graph_feature(g, RGM_NODE_SET, "user", "old");
    CHECK(rgm_tensor_bool(f->values)[0] == 1 && rgm_tensor_bool(f->values)[1] == 0);
    rgm_graph_data_clear(&s);
    remove_folder();
}

static void broken_tables_are_told_with_file_and_line(void **state)
{
    const struct {
        const char *path, *text;
        rgm_status status;
        const char *message;
    } cases[] = {
        {"knows.csv", "source,target,since\n42,u7,1\nu7,u8,2\n", RGM_ERR_DATA,
         "knows.csv:3: edge set 'knows': row 1: target 'u8' is no id of node set 'user'"},
        {"knows.csv", "sorce,target,since\n", RGM_ERR_NOT_FOUND,
         "there is no column 'source'; did you mean 'sorce'?"},
        {"knows.csv", "source,target\n", RGM_ERR_NOT_FOUND, "there is no column 'since'"},
        {"knows.csv", "source,target,since\n42,u7,x\n", RGM_ERR_FORMAT, "knows.csv:2:7"},
        {"knows.csv", "source,target,since\n42,u7\n", RGM_ERR_FORMAT, "knows.csv:2"},
        {"knows.csv", "source,target,since,since\n42,u7,1,2\n", RGM_ERR_FORMAT,
         "knows.csv:1: two columns 'since'"},
        {"knows.csv", NULL, RGM_ERR_NOT_FOUND, "knows.csv"},
        {"user-2.csv", "id,age,name,vec.0,vec.1,old\nu7,4,,3,4,0\n", RGM_ERR_DATA,
         "user-2.csv:2: id 'u7' is also row 0 of node set 'user'"},
        {"user-2.csv", "id,age,name,vec.0,vec.1,old\n,4,,3,4,0\n", RGM_ERR_DATA, "the id is empty"},
        {"user-2.csv", "id,age,name,vec.0,old\n", RGM_ERR_NOT_FOUND, "there is no column 'vec.1'"},
        {"user-2.csv", "id,age,name,vec.0,vec.1,old\n1,4,,3000000000,4,0\n", RGM_ERR_FORMAT,
         "'vec' is 3000000000, which is no 32-bit integer"},
        {"user-2.csv", "id,age,name,vec.0,vec.1,old\n1,4,,3,4,2\n", RGM_ERR_FORMAT,
         "'old' is 2, a bool is 0, 1, true or false"},
        {"c.csv", "year\n1\n2\n", RGM_ERR_DATA, "the context has one row, this has 2"},
        {"has.csv", "target,source\nu9,\n", RGM_ERR_DATA, "is no id of node set 'tag'"},
        {"schema.pbtxt",
         "node_sets { key: 'n' value { features { key: 'f' value { dtype: DT_INT64 "
         "shape { dim { size: -1 } } } } metadata { filename: 'c.csv' } } }",
         RGM_ERR_UNSUPPORTED, "feature 'f' has a ragged shape"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made_file files[TABLE_FILES];
        int count = 0;
        rgm_graph_data s;
        for (int k = 0; k < TABLE_FILES; k++) {
            if (strcmp(tables[k].path, cases[i].path) != 0)
                files[count++] = tables[k];
            else if (cases[i].text)
                files[count++] = (made_file){tables[k].path, cases[i].text};
        }
        make_folder(files, count);
        CHECK_STATUS(cases[i].status, rgm_import_csv(&s, in("schema.pbtxt"), NULL));
        CHECK_MESSAGE(cases[i].message);
        CHECK(s.graphs == NULL);
        remove_folder();
    }
}

#define SPLIT_SCHEMA                                                                               \
    "node_sets { key: 'u' value { features { key: 'x' value { dtype: DT_FLOAT } }\n"               \
    "  metadata { filename: 'u.csv' } } }\n"                                                       \
    "edge_sets { key: 'e' value { source: 'u' target: 'u'\n"                                       \
    "  features { key: '#weight' value { dtype: DT_FLOAT } } metadata { filename: 'e.csv' } } }\n"

/* TF-GNN's names of columns, a split of ids, and edges to where nothing is. */
static const made_file marked[] = {
    {"schema.pbtxt", SPLIT_SCHEMA},
    {"u.csv", "#id,x\na,1\nb,2\nc,3\n"},
    {"e.csv", "#source,#target,#weight\na,b,0.5\nb,gone,7\ngone,b,8\nb,c,2\n"},
    {"split/mine/train.csv", "c\na\n"},
    {"split/mine/test.csv", "b\n"},
};

static void tables_of_tf_gnn_come_with_their_split(void **state)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;
    const rgm_feature *f;
    char schema[512];

    (void)state;
    make_folder(marked, 5);
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_csv(&s, in("schema.pbtxt"), &options));
    CHECK_MESSAGE("e.csv:3: edge set 'e': row 1: target 'gone' is no id of node set 'u'");
    options.skip_dangling = true;
    CHECK_OK(rgm_import_csv(&s, in("schema.pbtxt"), &options));
    CHECK_TEXT("0>1 1>2", edges_of(s.graphs[0], "e"));
    f = rgm_graph_feature(s.graphs[0], RGM_EDGE_SET, "e", "#weight");
    CHECK_CLOSE(0.5, rgm_tensor_f32(f->values)[0], 0, 0);
    CHECK_CLOSE(2, rgm_tensor_f32(f->values)[1], 0, 0); /* its own edge's */
    CHECK_TEXT("u", s.split_set);
    CHECK_TEXT("mine", s.split_name);
    CHECK(rgm_tensor_i64(s.train)[0] == 2 && rgm_tensor_i64(s.train)[1] == 0);
    CHECK_INT(1, rgm_tensor_i64(s.test)[0]);
    CHECK(s.valid == NULL);
    rgm_graph_data_clear(&s);
    snprintf(schema, sizeof schema, "%s", in("schema.pbtxt"));
    CHECK_EVERY_OOM(rgm_import_csv(&s, schema, &options), rgm_graph_data_clear(&s));
    options.node_set = "v";
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_csv(&s, in("schema.pbtxt"), &options));
    CHECK_MESSAGE("there is no node set 'v'");
    options.node_set = NULL;
    options.split = "yours";
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_import_csv(&s, in("schema.pbtxt"), &options));
    CHECK_MESSAGE("there is no split 'yours'; there is: mine");
    remove_folder();
}

static void a_split_of_unknown_ids_is_told(void **state)
{
    made_file files[5];
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;

    (void)state;
    memcpy(files, marked, sizeof files);
    files[4].text = "b\nnobody\n";
    make_folder(files, 5);
    options.skip_dangling = true;
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_csv(&s, in("schema.pbtxt"), &options));
    CHECK_MESSAGE("test.csv:2: 'nobody' is no id of a node");
    CHECK(s.graphs == NULL);
    remove_folder();
}

static void edges_to_nowhere_are_left_out_of_ogb_too(void **state)
{
    static const made_file files[] = {{"raw/num-node-list.csv", "3\n"},
                                      {"raw/num-edge-list.csv", "3\n"},
                                      {"raw/edge.csv", "0,1\n1,9\n1,2\n"},
                                      {"raw/edge-feat.csv", "0.5\n7.5\n2.5\n"}};
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data s;
    const rgm_feature *f;

    (void)state;
    make_folder(files, 4);
    options.undirected = false;
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, &options));
    CHECK_MESSAGE("edge.csv:2: edge set 'edges': row 1: target is 9");
    options.skip_dangling = true;
    CHECK_OK(rgm_import_ogb(&s, root, &options));
    CHECK_TEXT("0>1 1>2", edges_of(s.graphs[0], "edges"));
    f = rgm_graph_feature(s.graphs[0], RGM_EDGE_SET, "edges", "feat");
    CHECK_CLOSE(2.5, rgm_tensor_f32(f->values)[1], 0, 0);
    rgm_graph_data_clear(&s);
    remove_folder();
}

/* The split's owners alone took a byte for each of 2,147,483,647 nodes. */
static void nodes_of_which_nothing_is_there_are_not_imported(void **state)
{
    static const made_file files[] = {{"raw/num-node-list.csv", "2147483647\n"},
                                      {"raw/num-edge-list.csv", "1\n"},
                                      {"raw/edge.csv", "0,1\n"}};
    static const made_file typed[] = {{"raw/num-node-dict.csv", "a,b\n2,2000000000\n"},
                                      {"raw/triplets.csv", "a,of,b\n"},
                                      {"raw/relations/a___of___b/edge.csv", "0,1\n"}};
    static const made_file wide[] = {
        {"schema.pbtxt", "node_sets { key: \"n\" value { features { key: \"x\" value { dtype: "
                         "DT_FLOAT shape { dim { size: 16000000 } } } } metadata { filename: "
                         "\"n.csv\" } } }"},
        {"n.csv", "id,x.0\n1,2\n"}};
    rgm_graph_data s;

    (void)state;
    rgm_memory_reset_peak();
    make_folder(files, 3);
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("num-node-list.csv: 2147483647 items are declared");
    remove_folder();
    make_folder(typed, 3);
    CHECK_STATUS(RGM_ERR_DATA, rgm_import_ogb(&s, root, NULL));
    CHECK_MESSAGE("2000000002 items are declared");
    remove_folder();
    make_folder(wide, 2); /* columns that the table does not have */
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_import_csv(&s, in("schema.pbtxt"), NULL));
    CHECK_MESSAGE("there is no column 'x.1'");
    remove_folder();
    CHECK(rgm_memory_peak() < 4 << 20);
}

/* ---- new data -------------------------------------------------------------------------------- */

/* The tables without some columns, with an empty cell, and with a split that says nothing here. */
static void new_tables_are_read_without_what_they_lack(void **state)
{
    made_file files[TABLE_FILES + 2];
    rgm_graph_data s;
    const rgm_graph *g;
    const rgm_feature *names;

    (void)state;
    memcpy(files, tables, sizeof tables);
    files[2].text = "vec.1,id,age,vec.0\n2,u7,31.5,1\n";
    files[3].text = "id,vec.0,vec.1,age\nu9,,4,4\n42,5,-6,5e-1\n";
    files[TABLE_FILES] = (made_file){"split/a/train.csv", "u7\n"};
    files[TABLE_FILES + 1] = (made_file){"split/b/train.csv", "nobody\n"};
    make_folder(files, TABLE_FILES + 2);
    CHECK(rgm_is_new_graphs(root));
    CHECK(rgm_is_new_graphs(in("schema.pbtxt")));
    CHECK(!rgm_is_new_graphs(in("c.csv")));
    CHECK_OK(rgm_new_graphs_load(&s, root, NULL));
    g = s.graphs[0];
    CHECK(s.train == NULL && s.split_set == NULL);
    CHECK_INT(3, rgm_graph_total(g, RGM_NODE_SET, "user"));
    CHECK(rgm_graph_feature(g, RGM_NODE_SET, "user", "old") == NULL);
    CHECK(rgm_graph_feature(g, RGM_NODE_SET, "user", "name") == NULL);
    CHECK(rgm_tensor_is_missing(rgm_graph_feature(g, RGM_NODE_SET, "user", "vec")->values, 2));
    names = rgm_graph_feature(g, RGM_NODE_SET, "user", RGM_ITEM_NAME);
    CHECK(names != NULL);
    CHECK(memcmp("u9", rgm_tensor_str(names->values)[1].data, 2) == 0);
    CHECK_INT(2, rgm_tensor_str(names->values)[2].size);
    CHECK(rgm_graph_feature(g, RGM_NODE_SET, "tag", RGM_ITEM_NAME) == NULL);
    rgm_graph_data_clear(&s);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_import_csv(&s, in("schema.pbtxt"), NULL));
    remove_folder();
}

static void new_ogb_folders_have_neither_labels_nor_splits(void **state)
{
    static const made_file files[] = {{"raw/edge.csv", "0,1\n1,2\n3,3\n\n0,1\n"},
                                      {"raw/num-node-list.csv", "4\n2\n"},
                                      {"raw/num-edge-list.csv", "3\n1\n"},
                                      {"raw/graph-label.csv", "what is this\n"},
                                      {"split/only/train.csv", "17\n"}};
    rgm_graph_data s;

    (void)state;
    make_folder(files, 5);
    CHECK_OK(rgm_new_graphs_load(&s, root, NULL));
    CHECK_INT(2, s.graph_count);
    CHECK(rgm_schema_find(s.schema, RGM_CONTEXT_PIECE, NULL)->feature_count == 0);
    CHECK(s.train == NULL);
    rgm_graph_data_clear(&s);
    remove_folder();
    make_folder(files + 4, 1);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_new_graphs_load(&s, root, NULL));
    CHECK_MESSAGE("neither a schema.pbtxt, beside CSV tables or records of Examples, nor a folder");
    remove_folder();
}

static void new_tables_survive_every_failing_allocation(void **state)
{
    rgm_graph_data s;

    (void)state;
    make_folder(tables, TABLE_FILES);
    CHECK_EVERY_OOM(rgm_new_graphs_load(&s, root, NULL), rgm_graph_data_clear(&s));
    remove_folder();
}

static void tables_survive_every_failing_allocation(void **state)
{
    rgm_graph_data s;
    char schema[512];

    (void)state;
    make_folder(tables, TABLE_FILES);
    snprintf(schema, sizeof schema, "%s", in("schema.pbtxt"));
    CHECK_EVERY_OOM(rgm_import_csv(&s, schema, NULL), rgm_graph_data_clear(&s));
    remove_folder();
}

TESTS(cmocka_unit_test(cora_has_its_known_counts),
      cmocka_unit_test(mutag_is_many_graphs_with_a_fold),
      cmocka_unit_test(imdb_has_latent_sets_and_reverse_edges),
      cmocka_unit_test(a_label_of_minus_one_is_none), cmocka_unit_test(an_empty_label_is_none),
      cmocka_unit_test(a_split_of_a_set_that_is_not_there_is_told),
      cmocka_unit_test(a_narrow_integer_has_no_room_for_a_missing_label),
      cmocka_unit_test(graphs_are_cut_at_their_counts_and_edges_ordered),
      cmocka_unit_test(relations_of_one_name_are_told_apart),
      cmocka_unit_test(a_split_is_of_the_set_that_is_named),
      cmocka_unit_test(every_list_of_a_split_is_read),
      cmocka_unit_test(of_a_file_and_a_compressed_one_neither_is_read),
      cmocka_unit_test(feature_files_are_told_apart_by_what_they_hold),
      cmocka_unit_test(features_become_what_another_schema_has),
      cmocka_unit_test(broken_folders_are_told_with_file_line_and_numbers),
      cmocka_unit_test(broken_heterogeneous_folders_are_told),
      cmocka_unit_test(importing_survives_every_failing_allocation),
      cmocka_unit_test(tables_become_one_graph),
      cmocka_unit_test(broken_tables_are_told_with_file_and_line),
      cmocka_unit_test(tables_of_tf_gnn_come_with_their_split),
      cmocka_unit_test(a_split_of_unknown_ids_is_told),
      cmocka_unit_test(edges_to_nowhere_are_left_out_of_ogb_too),
      cmocka_unit_test(nodes_of_which_nothing_is_there_are_not_imported),
      cmocka_unit_test(new_tables_are_read_without_what_they_lack),
      cmocka_unit_test(new_ogb_folders_have_neither_labels_nor_splits),
      cmocka_unit_test(new_tables_survive_every_failing_allocation),
      cmocka_unit_test(tables_survive_every_failing_allocation))

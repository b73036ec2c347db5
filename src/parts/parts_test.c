/* A graph cut into parts: every own node has all of its edges and features, every copy is where its
 * owner says, and what is not the folder that was written is refused. */
#include <check.h>
#include <regimen/graph_import.h>
#include <regimen/graph_parts.h>
#include <stdlib.h>
#include <unistd.h>

#include "parts_internal.h"

enum { PARTS = 4, MOST = 512 };

typedef struct lab {
    char folder[64], path[96];
    rgm_graph_data data;
    rgm_parts *parts;
    int ranks;
    rgm_part *part[PARTS]; /* of each rank */
} lab;

static void generate(rgm_graph_data *out)
{
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;

    options.nodes = 150;
    options.edges = 400;
    options.classes = 3;
    options.words = 30;
    options.words_per_node = 4;
    options.train_per_class = 3; /* of which some part may have none */
    options.valid = 20;
    options.test = 20;
    CHECK_OK(rgm_generate_citation(out, &options));
}

static void open_ranks(lab *l, rgm_partition_method method, int ranks)
{
    rgm_parts_options options = RGM_PARTS_OPTIONS_INIT;

    *l = (lab){.folder = "/tmp/regimen-parts-XXXXXX", .ranks = ranks};
    CHECK(mkdtemp(l->folder) != NULL);
    snprintf(l->path, sizeof l->path, "%s/parts", l->folder);
    generate(&l->data);
    options.parts = PARTS;
    options.method = method;
    CHECK_OK(rgm_parts_write(&l->data, l->path, &options));
    CHECK_OK(rgm_parts_load(&l->parts, l->path));
    for (int p = 0; p < ranks; p++)
        CHECK_OK(rgm_part_open_for(&l->part[p], l->parts, p, ranks));
}

static void open_lab(lab *l, rgm_partition_method method)
{
    open_ranks(l, method, PARTS);
}

static void close_lab(lab *l)
{
    for (int p = 0; p < PARTS; p++)
        rgm_part_release(l->part[p]);
    rgm_parts_release(l->parts);
    rgm_graph_data_clear(&l->data);
    CHECK_OK(rgm_folder_remove(l->folder));
}

static rgm_graph *graph_of(const lab *l, int p)
{
    return rgm_part_data(l->part[p])->graphs[0];
}

/* The numbers of the part's nodes in the whole graph. */
static const int64_t *ids_of(const lab *l, int p)
{
    return rgm_tensor_i64(rgm_graph_feature(graph_of(l, p), RGM_NODE_SET, "nodes", "#id")->values);
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The neighbours of a node at one end of the edges, sorted, by number in the whole graph. */
static int64_t neighbours(int64_t *out, const rgm_graph *graph, int64_t node, rgm_tag end,
                          const int64_t *ids)
{
    const int64_t *at = rgm_tensor_i64(end == RGM_TARGET ? rgm_graph_target(graph, "edges")
                                                         : rgm_graph_source(graph, "edges"));
    const int64_t *other = rgm_tensor_i64(end == RGM_TARGET ? rgm_graph_source(graph, "edges")
                                                            : rgm_graph_target(graph, "edges"));
    int64_t count = 0;

    for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, "edges"); e++)
        if (at[e] == node) {
            CHECK(count < MOST);
            out[count++] = ids != NULL ? ids[other[e]] : other[e];
        }
    qsort(out, (size_t)count, sizeof *out, by_number);
    return count;
}

static void check_node(const lab *l, int p, int64_t node)
{
    const int64_t *ids = ids_of(l, p);
    int64_t here[MOST], there[MOST];

    for (int end = RGM_SOURCE; end <= RGM_TARGET; end++) {
        int64_t count = neighbours(here, graph_of(l, p), node, (rgm_tag)end, ids);

        CHECK_INT(neighbours(there, l->data.graphs[0], ids[node], (rgm_tag)end, NULL), count);
        CHECK(memcmp(here, there, (size_t)count * sizeof *here) == 0);
    }
}

static void check_features(const lab *l, int p)
{
    const rgm_schema *schema = l->data.schema;
    const rgm_set_schema *set = rgm_schema_find(schema, RGM_NODE_SET, "nodes");

    for (int64_t i = 0; i < set->feature_count; i++) {
        const rgm_feature *whole =
            rgm_graph_feature(l->data.graphs[0], RGM_NODE_SET, "nodes", set->features[i].name);
        const rgm_feature *part =
            rgm_graph_feature(graph_of(l, p), RGM_NODE_SET, "nodes", set->features[i].name);
        int64_t total = rgm_graph_total(graph_of(l, p), RGM_NODE_SET, "nodes");
        rgm_feature same;
        const rgm_status status =
            rgm_feature_take(&same, &set->features[i], whole, ids_of(l, p), total);

        CHECK_OK(status);
        CHECK(rgm_tensor_equal(same.values, part->values));
        rgm_feature_clear(&same);
    }
}

/* Edges have the ends that their number has in the whole graph, and none is there twice. */
static void check_edges(const lab *l, int p)
{
    const int64_t *ids = ids_of(l, p);
    bool there[1024] = {false};
    rgm_tensor *numbers;

    CHECK_OK(rgmi_part_numbers(&numbers, l->part[p], RGM_EDGE_SET, "edges", "number"));
    CHECK(rgm_graph_total(l->data.graphs[0], RGM_EDGE_SET, "edges") <= 1024);
    for (int64_t e = 0; e < rgm_tensor_count(numbers); e++) {
        int64_t number = rgm_tensor_i64(numbers)[e];
        const rgm_graph *part = graph_of(l, p), *whole = l->data.graphs[0];

        CHECK(!there[number]);
        there[number] = true;
        CHECK_INT(rgm_tensor_i64(rgm_graph_source(whole, "edges"))[number],
                  ids[rgm_tensor_i64(rgm_graph_source(part, "edges"))[e]]);
        CHECK_INT(rgm_tensor_i64(rgm_graph_target(whole, "edges"))[number],
                  ids[rgm_tensor_i64(rgm_graph_target(part, "edges"))[e]]);
    }
    rgm_tensor_release(numbers);
}

/* Own nodes whose neighbours are all own stand first, both kinds in the order of the whole graph.
 */
static void check_order(const lab *l, int p)
{
    const rgmi_part_set *set = &l->part[p]->sets[0];
    const int64_t *ends[2], *ids = ids_of(l, p);
    const rgm_graph *graph = graph_of(l, p);
    bool joins[150] = {false};

    ends[0] = rgm_tensor_i64(rgm_graph_source(graph, "edges"));
    ends[1] = rgm_tensor_i64(rgm_graph_target(graph, "edges"));
    for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, "edges"); e++)
        if (ends[0][e] >= set->own || ends[1][e] >= set->own)
            joins[ends[0][e]] = joins[ends[1][e]] = true;
    for (int64_t i = 1; i < set->own; i++)
        CHECK(joins[i - 1] == joins[i] ? ids[i - 1] < ids[i] : joins[i]);
}

/* Of the owner's nodes, by which others tell of them. */
static int64_t placed(const lab *l, int owner, int64_t there)
{
    const int32_t *place = l->part[owner]->sets[0].place;

    return place != NULL ? place[there] : there;
}

static void check_ranks(const lab *l)
{
    bool owned[150] = {false};

    for (int p = 0; p < l->ranks; p++) {
        const rgmi_part_set *set = &l->part[p]->sets[0];
        int64_t own = 0;

        for (int k = 0; k < PARTS / l->ranks; k++)
            own += rgm_parts_own(l->parts, p * PARTS / l->ranks + k, RGM_NODE_SET, "nodes");
        CHECK_INT(own, set->own);
        for (int64_t i = 0; i < set->own; i++) {
            CHECK(!owned[ids_of(l, p)[i]]);
            owned[ids_of(l, p)[i]] = true;
            check_node(l, p, i);
        }
        for (int64_t i = 0; i < set->halo; i++) {
            CHECK(set->owner[i] != p && (i == 0 || set->owner[i - 1] <= set->owner[i]));
            CHECK_INT(ids_of(l, p)[set->own + i],
                      ids_of(l, set->owner[i])[placed(l, set->owner[i], set->there[i])]);
        }
        check_features(l, p);
        check_edges(l, p);
        check_order(l, p);
    }
    for (int i = 0; i < 150; i++)
        CHECK(owned[i]);
    CHECK(l->ranks > 1 || l->part[0]->sets[0].halo == 0);
}

/* Each node has one owner, which has all of its edges; a copy is its owner's node. So it is with a
 * rank for each part, and with fewer. */
static void own_nodes_have_all_of_their_edges(void **state)
{
    static const rgm_partition_method methods[] = {RGM_PARTITION_MULTILEVEL, RGM_PARTITION_RANDOM};

    (void)state;
    for (int m = 0; m < 2; m++)
        for (int ranks = 1; ranks <= PARTS; ranks *= 2) {
            lab l;

            open_ranks(&l, methods[m], ranks);
            check_ranks(&l);
            close_lab(&l);
        }
}

static void check_split(const lab *l)
{
    for (int i = 0; i < 3; i++) {
        const rgm_tensor *whole[3] = {l->data.train, l->data.valid, l->data.test};
        bool asked[150] = {false};
        int64_t count = 0;

        for (int p = 0; p < l->ranks; p++) {
            const rgm_graph_data *data = rgm_part_data(l->part[p]);
            const rgm_tensor *nodes[3] = {data->train, data->valid, data->test};

            CHECK(nodes[i] != NULL);
            count += rgm_tensor_count(nodes[i]);
            for (int64_t k = 0; k < rgm_tensor_count(nodes[i]); k++) {
                CHECK(rgm_tensor_at_int(nodes[i], k) < l->part[p]->sets[0].own);
                asked[ids_of(l, p)[rgm_tensor_at_int(nodes[i], k)]] = true;
            }
        }
        CHECK_INT(rgm_parts_split(l->parts, i), count);
        CHECK_INT(rgm_tensor_count(whole[i]), count);
        for (int64_t k = 0; k < count; k++)
            CHECK(asked[rgm_tensor_at_int(whole[i], k)]);
    }
}

/* The parts of the split are the whole's; a part of the split that has none of them here is there.
 */
static void the_split_is_dealt_out(void **state)
{
    lab l;

    (void)state;
    for (int ranks = 1; ranks <= PARTS; ranks *= 2) {
        open_ranks(&l, RGM_PARTITION_MULTILEVEL, ranks);
        check_split(&l);
        CHECK_INT(150, rgm_parts_total(l.parts, RGM_NODE_SET, "nodes"));
        CHECK_INT(-1, rgm_parts_total(l.parts, RGM_NODE_SET, "papers"));
        CHECK_INT(-1, rgm_parts_halo(l.parts, 0, "papers"));
        close_lab(&l);
    }
}

static void one_rank_has_no_part_of_four(void **state)
{
    const rgm_exchange *exchange;
    lab l;

    (void)state;
    open_lab(&l, RGM_PARTITION_RANDOM);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_part_connect(l.part[1], rgm_comm_self()));
    CHECK_MESSAGE("part 1 of 4 on rank 0 of 1");
    CHECK(rgm_part_exchange(l.part[0], "papers") == NULL);
    exchange = rgm_part_exchange(l.part[0], "nodes");
    CHECK(exchange != NULL && exchange->begin == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_part_values(NULL, NULL, 0, NULL, l.part[0]));
    CHECK_MESSAGE("not connected");
    rgm_part_release(l.part[0]);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_part_open_for(&l.part[0], l.parts, 0, 2 * PARTS));
    CHECK_MESSAGE("4 parts for 8 ranks");
    CHECK_MESSAGE("Start 4 ranks, or a half");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_part_open_for(&l.part[0], l.parts, 0, 3));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_part_open_for(&l.part[0], l.parts, 0, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_part_open_for(&l.part[0], l.parts, 2, 2));
    close_lab(&l);
}

/* ---- what was not written so ----------------------------------------------------------------- */

/* The folder's parts.json with `from` as `to`. */
static rgm_status load_changed(lab *l, const char *from, const char *to)
{
    rgm_parts *parts = NULL;
    char path[160], *data, *at;
    rgm_text text = {0};
    rgm_status status;
    int64_t size;

    snprintf(path, sizeof path, "%s/parts.json", l->path);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    at = strstr(data, from);
    CHECK(at != NULL);
    CHECK_OK(rgm_text_add(&text, data, at - data));
    CHECK_OK(rgm_text_printf(&text, "%s%s", to, at + strlen(from)));
    snprintf(path, sizeof path, "%s/changed.json", l->path);
    CHECK_OK(rgm_file_save(path, text.data, text.size));
    status = rgm_parts_load(&parts, path);
    if (status == RGM_OK)
        status = rgm_part_open_for(&l->part[0], parts, 0, PARTS);
    rgm_part_release(l->part[0]);
    rgm_parts_release(parts);
    rgm_text_clear(&text);
    rgm_free(data);
    return status;
}

static void a_list_of_parts_that_is_damaged_is_refused(void **state)
{
    static const struct {
        const char *from, *to;
        rgm_status status;
    } cases[] = {{"\"version\": 1", "\"version\": 2", RGM_ERR_VERSION},
                 {"\"version\": 1", "\"Version\": 1", RGM_ERR_FORMAT},
                 {"\"parts\": 4", "\"parts\": 8", RGM_ERR_FORMAT},
                 {"\"parts\": 4", "\"parts\": 400000000", RGM_ERR_FORMAT},
                 {"\"total\": 150", "\"total\": -1", RGM_ERR_FORMAT},
                 {"\"halo\": [", "\"halo\": [1, ", RGM_ERR_FORMAT},
                 {"\"name\": \"part-00000", "\"name\": \"../part-00000", RGM_ERR_FORMAT},
                 {"\"name\": \"part-00000", "\"name\": \"part-00001", RGM_ERR_FORMAT},
                 {"\"bytes\": ", "\"bytes\": 1", RGM_ERR_FORMAT},
                 {"\"xxh3\": \"", "\"xxh3\": \"g", RGM_ERR_FORMAT},
                 {"{", "", RGM_ERR_FORMAT}};
    rgm_parts *none;
    lab l;

    (void)state;
    open_lab(&l, RGM_PARTITION_RANDOM);
    rgm_part_release(l.part[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        l.part[0] = NULL;
        CHECK_STATUS(cases[i].status, load_changed(&l, cases[i].from, cases[i].to));
    }
    l.part[0] = NULL;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_parts_load(&none, "/nowhere/at/all"));
    CHECK(none == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_part_open_for(&l.part[0], l.parts, PARTS, PARTS));
    close_lab(&l);
}

/* Of one rank's parts each sees whether it has copies of what the other has. */
static void parts_that_do_not_fit_are_not_joined(void **state)
{
    rgm_part *each[2], *joined;
    lab l;

    (void)state;
    open_lab(&l, RGM_PARTITION_RANDOM);
    each[0] = l.part[0];
    each[1] = l.part[1];
    CHECK_INT(1, each[0]->sets[0].owner[0]);
    each[0]->sets[0].there[0]++;
    CHECK_STATUS(RGM_ERR_FORMAT, rgmi_parts_join(&joined, each, 2));
    CHECK_MESSAGE("a copy in part 0 is not what part 1 has: write the parts again");
    CHECK(joined == NULL);
    each[0]->sets[0].there[0] = (int32_t)each[1]->sets[0].own;
    CHECK_STATUS(RGM_ERR_FORMAT, rgmi_parts_join(&joined, each, 2));
    close_lab(&l);
}

static void what_cannot_be_cut_is_told(void **state)
{
    rgm_parts_options options = RGM_PARTS_OPTIONS_INIT;
    rgm_tensor *train;
    lab l;

    (void)state;
    open_lab(&l, RGM_PARTITION_RANDOM);
    options.method = RGM_PARTITION_RANDOM;
    CHECK_STATUS(RGM_ERR_BUSY, rgm_parts_write(&l.data, l.path, &options));
    options.parts = 3;
    CHECK_STATUS(RGM_ERR_ARG, rgm_parts_write(&l.data, "/tmp/nothing", &options));
    options.parts = 256;
    CHECK_STATUS(RGM_ERR_ARG, rgm_parts_write(&l.data, "/tmp/nothing", &options));
    options.parts = 2;
    train = l.data.train;
    l.data.train = NULL;
    CHECK_STATUS(RGM_ERR_DATA, rgm_parts_write(&l.data, "/tmp/nothing", &options));
    l.data.train = train;
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_parts_write(rgm_part_data(l.part[0]), "/tmp/nothing", &options)); /* #id */
    CHECK(!rgm_path_exists("/tmp/nothing"));
    close_lab(&l);
}

static rgm_status write_parts(const rgm_graph_data *data, const char *path)
{
    const rgm_parts_options options = {2, RGM_PARTITION_MULTILEVEL, 1.1, 1, 1 << 20};

    return rgm_parts_write(data, path, &options);
}

static rgm_status open_part(const char *path, int64_t ranks)
{
    rgm_parts *parts = NULL;
    rgm_part *part = NULL;
    rgm_status status = rgm_parts_load(&parts, path);

    if (status == RGM_OK)
        status = rgm_part_open_for(&part, parts, 1, ranks);
    rgm_part_release(part);
    rgm_parts_release(parts);
    return status;
}

/* What fails leaves no folder, so that the next one finds none. */
static void cutting_survives_every_failing_allocation(void **state)
{
    char path[160];
    lab l;

    (void)state;
    open_lab(&l, RGM_PARTITION_RANDOM);
    snprintf(path, sizeof path, "%s/other", l.folder);
    CHECK_OK(write_parts(&l.data, path)); /* the graph keeps what was made of its edges */
    CHECK_OK(rgm_folder_remove(path));
    CHECK_EVERY_OOM(write_parts(&l.data, path), CHECK_OK(rgm_folder_remove(path)));
    CHECK_EVERY_OOM(open_part(l.path, PARTS), (void)0);
    CHECK_EVERY_OOM(open_part(l.path, PARTS / 2), (void)0);
    close_lab(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_nodes_have_all_of_their_edges),
        cmocka_unit_test(the_split_is_dealt_out),
        cmocka_unit_test(one_rank_has_no_part_of_four),
        cmocka_unit_test(a_list_of_parts_that_is_damaged_is_refused),
        cmocka_unit_test(parts_that_do_not_fit_are_not_joined),
        cmocka_unit_test(what_cannot_be_cut_is_told),
        cmocka_unit_test(cutting_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

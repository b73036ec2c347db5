/* Batches of a graph in parts are those of the whole graph, whoever draws them: every strategy,
 * both directions, edges that several ops take, features of every form. Here each part's sampler
 * asks the others' by hand; tests/parts_test.sh does it with ranks. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include <regimen/parts_sampling.h>

#include "mixed_graph_check.h"
#include "parts_internal.h"

enum { PARTS = 4 };

/** The whole graph and its parts, each with what its sampler is told. */
typedef struct lab {
    char folder[64], path[96];
    rgm_graph_data data;
    rgm_parts *parts;
    rgm_part *part[PARTS];
    rgm_parted_set sets[PARTS][8];
    int32_t *place[PARTS][8], *there[PARTS][8];
    rgm_tensor *edges[PARTS][8];
    const int64_t *numbers[PARTS][8];
    rgm_parted_graph graphs[PARTS];
} lab;

static rgm_tensor *every(int64_t first, int64_t step, int64_t total)
{
    int64_t count = (total - first + step - 1) / step;
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(t)[i] = first + (count - 1 - i) * step; /* a list need not ascend */
    return t;
}

/* Of odd parts others call the own nodes from the last one on. */
static int32_t called(const lab *l, int p, const char *set, int32_t node)
{
    return p % 2 == 0 ? node : (int32_t)rgm_parts_own(l->parts, p, RGM_NODE_SET, set) - 1 - node;
}

static rgm_parted_set tell_set(lab *l, int p, int64_t i, const rgmi_part_set *nodes)
{
    CHECK_OK(RGM_NEW(l->there[p][i], nodes->halo));
    for (int64_t k = 0; k < nodes->halo; k++)
        l->there[p][i][k] = called(l, nodes->owner[k], nodes->name, nodes->there[k]);
    CHECK_OK(RGM_NEW(l->place[p][i], nodes->own));
    for (int64_t k = 0; k < nodes->own; k++)
        l->place[p][i][k] = called(l, p, nodes->name, (int32_t)k);
    return (rgm_parted_set){.own = nodes->own,
                            .owner = nodes->owner,
                            .there = l->there[p][i],
                            .place = p % 2 == 0 ? NULL : l->place[p][i]};
}

static void tell_part(lab *l, int p)
{
    const rgm_schema *schema = rgm_part_data(l->part[p])->schema;
    int64_t at = 0;
    char name[64];

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_NODE_SET) {
            l->sets[p][i] = tell_set(l, p, i, &l->part[p]->sets[at++]);
        } else if (set->piece == RGM_EDGE_SET) {
            snprintf(name, sizeof name, "edges/%s.number", set->name);
            CHECK_OK(rgm_safetensors_get(&l->edges[p][i], l->part[p]->numbers, name));
            l->numbers[p][i] = rgm_tensor_i64(l->edges[p][i]);
        }
    }
    l->graphs[p] = (rgm_parted_graph){rgm_part_data(l->part[p])->graphs[0], p, PARTS, l->sets[p],
                                      l->numbers[p]};
}

static void open_lab(lab *l)
{
    rgm_parts_options options = RGM_PARTS_OPTIONS_INIT;

    *l = (lab){.folder = "/tmp/regimen-sampled-XXXXXX"};
    CHECK(mkdtemp(l->folder) != NULL);
    snprintf(l->path, sizeof l->path, "%s/parts", l->folder);
    CHECK_OK(RGM_NEW(l->data.graphs, 1));
    l->data.graphs[0] = mixed_graph();
    l->data.graph_count = 1;
    l->data.schema = rgm_schema_retain((rgm_schema *)rgm_graph_schema(l->data.graphs[0]));
    CHECK_OK(rgm_strdup(&l->data.split_set, "a"));
    l->data.train = every(0, 3, NODES_A);
    l->data.valid = every(1, 3, NODES_A);
    options.parts = PARTS;
    options.method = RGM_PARTITION_RANDOM;
    CHECK_OK(rgm_parts_write(&l->data, l->path, &options));
    CHECK_OK(rgm_parts_load(&l->parts, l->path));
    for (int p = 0; p < PARTS; p++) {
        CHECK_OK(rgm_part_open_for(&l->part[p], l->parts, p, PARTS));
        tell_part(l, p);
    }
}

static void close_lab(lab *l)
{
    for (int p = 0; p < PARTS; p++) {
        for (int i = 0; i < 8; i++) {
            rgm_tensor_release(l->edges[p][i]);
            rgm_free(l->place[p][i]);
            rgm_free(l->there[p][i]);
        }
        rgm_part_release(l->part[p]);
    }
    rgm_parts_release(l->parts);
    rgm_graph_data_clear(&l->data);
    CHECK_OK(rgm_folder_remove(l->folder));
}

/* Samplers of all parts, which know the most edges of a node. */
static void open_samplers(rgm_parted_sampler *samplers[PARTS], const lab *l,
                          const rgm_sampling_spec *spec, bool once)
{
    int64_t most[8] = {0}, count;

    for (int p = 0; p < PARTS; p++) {
        const int64_t *degrees;

        CHECK_OK(rgm_parted_sampler_create(&samplers[p], &l->graphs[p], spec, 5, once));
        degrees = rgm_parted_sampler_degrees(&count, samplers[p]);
        for (int64_t i = 0; i < count; i++)
            most[i] = degrees[i] > most[i] ? degrees[i] : most[i];
    }
    for (int p = 0; p < PARTS; p++)
        rgm_parted_sampler_set_degrees(samplers[p], most);
}

/* Where node `number` of set "a" lies. */
static rgm_parted_node find_node(const lab *l, int64_t number)
{
    for (int p = 0; p < PARTS; p++) {
        const rgm_graph *graph = rgm_part_data(l->part[p])->graphs[0];
        const rgm_feature *ids = rgm_graph_feature(graph, RGM_NODE_SET, "a", "#id");

        for (int64_t i = 0; i < rgm_parts_own(l->parts, p, RGM_NODE_SET, "a"); i++)
            if (rgm_tensor_i64(ids->values)[i] == number)
                return (rgm_parted_node){(int32_t)number, p, called(l, p, "a", (int32_t)i)};
    }
    CHECK(false);
    return (rgm_parted_node){0};
}

/* One round of two batches of one asker, answered together as ranks do. */
static rgm_status ask_all(rgm_parted_batch *batches[2], rgm_parted_sampler *samplers[PARTS])
{
    rgm_text asked[PARTS] = {{0}}, answers[PARTS] = {{0}};
    rgm_str left[PARTS];
    rgm_status status = RGM_OK;

    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_parted_batch_ask(asked, batches[i]));
    for (int p = 0; p < PARTS; p++) {
        RGM_GO(rgm_parted_sampler_answer(&answers[p], samplers[p],
                                         (rgm_str){asked[p].data, asked[p].size}));
        left[p] = (rgm_str){answers[p].data, answers[p].size};
    }
    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_parted_batch_take(batches[i], left));
    for (int p = 0; p < PARTS; p++)
        CHECK_INT(0, left[p].size);
done:
    for (int p = 0; p < PARTS; p++) {
        rgm_text_clear(&asked[p]);
        rgm_text_clear(&answers[p]);
    }
    return status;
}

/* The graphs of two batches, drawn by part p. */
static rgm_status draw(rgm_graph *graphs[2], const lab *l, rgm_parted_sampler *samplers[PARTS],
                       int p, const int64_t *const seeds[2], int64_t count, const char *label)
{
    rgm_parted_batch *batches[2] = {NULL, NULL};
    rgm_parted_node places[2][32];
    rgm_status status = RGM_OK;

    graphs[0] = graphs[1] = NULL;
    for (int i = 0; i < 2; i++) {
        for (int64_t k = 0; k < count; k++)
            places[i][k] = find_node(l, seeds[i][k]);
        RGM_GO(
            rgm_parted_batch_begin(&batches[i], samplers[p], places[i], count, 77 + (uint64_t)i));
    }
    for (int64_t round = 0; round < rgm_parted_sampler_rounds(samplers[p]); round++)
        RGM_GO(ask_all(batches, samplers));
    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_parted_batch_graph(&graphs[i], batches[i], label));
done:
    for (int i = 0; i < 2; i++)
        rgm_parted_batch_release(batches[i]);
    if (status != RGM_OK)
        for (int i = 0; i < 2; i++) {
            rgm_graph_release(graphs[i]);
            graphs[i] = NULL;
        }
    return status;
}

static void check_same(const rgm_graph *graph, const rgm_graph *expected)
{
    rgm_text a = {0}, b = {0};

    CHECK_OK(rgm_graph_element.encode(&a, expected));
    CHECK_OK(rgm_graph_element.encode(&b, graph));
    CHECK_INT(a.size, b.size);
    CHECK(memcmp(a.data, b.data, (size_t)a.size) == 0);
    rgm_text_clear(&a);
    rgm_text_clear(&b);
}

/* Two batches by every part, with repeated seeds, against the whole graph. */
static void check_spec(const lab *l, const rgm_sampling_spec *spec, bool once, const char *label)
{
    static const int64_t first[] = {7, 3, 59, 3, 0, 21}, second[] = {1, 2, 40, 41, 42, 13};
    const int64_t *const seeds[2] = {first, second};
    rgm_parted_sampler *samplers[PARTS];
    rgm_graph *graphs[2], *expected[2];
    rgm_sampler *whole;

    CHECK_OK(rgm_sampler_create(&whole, l->data.graphs[0], spec, 5));
    rgm_sampler_set_once(whole, once);
    for (int i = 0; i < 2; i++)
        CHECK_OK(rgm_sampler_batch(&expected[i], whole, seeds[i], 6, 77 + (uint64_t)i, label));
    open_samplers(samplers, l, spec, once);
    for (int p = 0; p < PARTS; p++) {
        rgm_schema *schema;

        CHECK_OK(rgm_parted_sampler_schema(&schema, samplers[p], label));
        CHECK_OK(draw(graphs, l, samplers, p, seeds, 6, label));
        for (int i = 0; i < 2; i++) {
            check_same(graphs[i], expected[i]);
            CHECK_OK(rgm_schema_check_has(schema, rgm_graph_schema(graphs[i])));
            rgm_graph_release(graphs[i]);
        }
        rgm_schema_release(schema);
    }
    for (int i = 0; i < 2; i++)
        rgm_graph_release(expected[i]);
    for (int p = 0; p < PARTS; p++)
        rgm_parted_sampler_release(samplers[p]);
    rgm_sampler_release(whole);
}

/* Ops from both ends of an edge set, from several inputs, over two node sets. */
#define SEED_OP "seed_op { op_name: \"seed\" node_set_name: \"a\" }\n"
#define OP(name, input, set, size, how)                                                            \
    "sampling_ops { op_name: \"" name "\" " input " edge_set_name: \"" set "\" sample_size: " size \
    " strategy: " how " }\n"
#define FROM(op) "input_op_names: \"" op "\""
static const char *const specs[] = {
    SEED_OP OP("one", FROM("seed"), "aa", "3", "RANDOM_UNIFORM")
        OP("two", FROM("one"), "aa", "2", "RANDOM_UNIFORM"),
    SEED_OP OP("one", FROM("seed"), "<aa", "3", "RANDOM_UNIFORM")
        OP("two", FROM("one"), "<aa", "4", "RANDOM_UNIFORM")
            OP("three", FROM("two"), "aa", "100", "RANDOM_UNIFORM"),
    SEED_OP OP("one", FROM("seed"), "ab", "3", "RANDOM_UNIFORM")
        OP("back", FROM("one"), "<ab", "2", "RANDOM_UNIFORM")
            OP("all", FROM("seed") FROM("back"), "aa", "2", "RANDOM_WEIGHTED"),
    SEED_OP OP("one", FROM("seed"), "aa", "3", "TOP_K") OP("two", FROM("one"), "<aa", "5", "TOP_K")
        OP("b", FROM("two"), "ab", "1", "RANDOM_UNIFORM"),
    SEED_OP OP("one", FROM("seed"), "<ba", "2", "RANDOM_UNIFORM"),
};

static void batches_are_those_of_the_whole_graph(void **state)
{
    lab l;

    (void)state;
    open_lab(&l);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int once = 0; once < 2; once++) {
            rgm_sampling_spec *spec;

            CHECK_OK(rgm_sampling_spec_parse(&spec, specs[i], (int64_t)strlen(specs[i]), "test",
                                             l.data.schema));
            check_spec(&l, spec, once != 0, once != 0 ? "x" : NULL);
            rgm_sampling_spec_release(spec);
        }
    close_lab(&l);
}

/* Latest edges of rows whose order in the part is another. */
static void latest_edges_are_those_of_the_whole_graph(void **state)
{
    static const char *const sets[] = {"<aa", "<aa"};
    static const int64_t sizes[] = {3, 2};
    rgm_sampling_spec *spec;
    lab l;

    (void)state;
    open_lab(&l);
    CHECK_OK(
        rgm_sampling_spec_create(&spec, l.data.schema, "a", sets, sizes, 2, RGM_SAMPLE_LATEST_K));
    CHECK_OK(rgm_sampling_spec_set_time(spec, "weight", NULL, false, NULL, 0)); /* many are equal */
    check_spec(&l, spec, false, NULL);
    CHECK_OK(rgm_sampling_spec_set_time(spec, "weight", "number", false, NULL, 0));
    {
        rgm_parted_sampler *none;

        CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                     rgm_parted_sampler_create(&none, &l.graphs[0], spec, 5, false));
        CHECK(none == NULL);
    }
    rgm_sampling_spec_release(spec);
    close_lab(&l);
}

static rgm_sampling_spec *parse_spec(const lab *l)
{
    rgm_sampling_spec *spec;

    CHECK_OK(rgm_sampling_spec_parse(&spec, specs[0], (int64_t)strlen(specs[0]), "test",
                                     l->data.schema));
    return spec;
}

/* ---- what others send may be anything -------------------------------------------------------- */

static void what_a_part_has_not_is_not_answered(void **state)
{
    static const int32_t asked[][8] = {{9, 0, 0, 1, 0},  {-1, 0, 0, 1, 0},     {0, 0, 0, -1, 0},
                                       {0, 0, 0, 9, 0},  {0, 0, 0, 1, 100000}, {0, 0, 0, 1, -1},
                                       {2, 0, 0, 1, -1}, {2, 0, 0, 1, 1},      {0, 0, 0}};
    rgm_parted_sampler *samplers[PARTS];
    rgm_text answer = {0};
    rgm_sampling_spec *spec;
    lab l;

    (void)state;
    open_lab(&l);
    spec = parse_spec(&l);
    open_samplers(samplers, &l, spec, false);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int64_t words = i + 1 == sizeof asked / sizeof *asked ? 3 : i == 6 || i == 7 ? 6 : 5;

        CHECK_STATUS(RGM_ERR_DATA,
                     rgm_parted_sampler_answer(&answer, samplers[0],
                                               (rgm_str){(const char *)asked[i], 4 * words}));
    }
    rgm_text_clear(&answer);
    for (int p = 0; p < PARTS; p++)
        rgm_parted_sampler_release(samplers[p]);
    rgm_sampling_spec_release(spec);
    close_lab(&l);
}

static void an_answer_to_something_else_is_refused(void **state)
{
    rgm_parted_sampler *samplers[PARTS];
    rgm_sampling_spec *spec;
    lab l;

    (void)state;
    open_lab(&l);
    spec = parse_spec(&l);
    open_samplers(samplers, &l, spec, false);
    for (int64_t cut = 0; cut < 24; cut += 4) {
        rgm_parted_node seed = find_node(&l, 7);
        rgm_text asked[PARTS] = {{0}}, answer = {0};
        rgm_parted_batch *batch;
        rgm_str left[PARTS] = {{0}};

        CHECK_OK(rgm_parted_batch_begin(&batch, samplers[0], &seed, 1, 0));
        CHECK_OK(rgm_parted_batch_ask(asked, batch));
        CHECK_OK(
            rgm_parted_sampler_answer(&answer, samplers[seed.owner],
                                      (rgm_str){asked[seed.owner].data, asked[seed.owner].size}));
        CHECK(answer.size > 24);
        if (cut >= 12) /* a far end that is none */
            memset(answer.data + cut - 8, 0x7f, 4);
        left[seed.owner] = (rgm_str){answer.data, cut >= 12 ? answer.size : cut};
        if (cut != 20) /* the number in the part, which its owner will look at */
            CHECK_STATUS(RGM_ERR_DATA, rgm_parted_batch_take(batch, left));
        rgm_parted_batch_release(batch);
        for (int p = 0; p < PARTS; p++)
            rgm_text_clear(&asked[p]);
        rgm_text_clear(&answer);
    }
    for (int p = 0; p < PARTS; p++)
        rgm_parted_sampler_release(samplers[p]);
    rgm_sampling_spec_release(spec);
    close_lab(&l);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Draws of one rank that has all: with a batch of no seeds between two. */
static void check_one_rank(const lab *l, rgm_part *part, const rgm_sampling_spec *spec)
{
    static const int64_t nodes[] = {3, 0, 57}, others[] = {2};
    const rgm_part_sampler_options options = {.seed = 5, .spec = spec};
    rgm_part_sampler_counts counts;
    rgm_part_sampler *sampler;
    rgm_graph *graphs[3], *expected;
    rgm_sampler *whole;

    CHECK_OK(rgm_part_sampler_open(&sampler, part, &options));
    CHECK(rgm_part_sampler_seeds(sampler, 0) == NULL);
    CHECK_OK(rgm_part_sampler_connect(sampler, rgm_comm_self()));
    CHECK(rgm_tensor_equal(l->data.train, rgm_part_sampler_seeds(sampler, 0)));
    CHECK(rgm_tensor_equal(l->data.valid, rgm_part_sampler_seeds(sampler, 1)));
    CHECK(rgm_part_sampler_seeds(sampler, 2) == NULL);
    CHECK_OK(rgm_part_sampler_draw(
        graphs, sampler, (rgm_part_seeds[]){{nodes, 3, 9}, {NULL, 0, 0}, {nodes, 3, 9}}, 3));
    CHECK_OK(rgm_sampler_create(&whole, l->data.graphs[0], spec, 5));
    CHECK_OK(rgm_sampler_batch(&expected, whole, nodes, 3, 9, NULL));
    check_same(graphs[0], expected);
    check_same(graphs[2], expected);
    CHECK(graphs[1] == NULL);
    rgm_part_sampler_count(&counts, sampler);
    CHECK_INT(2, counts.batches);
    CHECK_INT(0, counts.others);
    CHECK_INT(0, counts.bytes);
    rgm_graph_release(graphs[0]);
    rgm_graph_release(graphs[2]);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_part_sampler_draw(graphs, sampler, &(rgm_part_seeds){others, 1, 0}, 1));
    CHECK_MESSAGE("node 2 of 'a', which is not in the split");
    rgm_graph_release(expected);
    rgm_sampler_release(whole);
    rgm_part_sampler_release(sampler);
}

/* One part on one rank is the whole graph, and so are four that are joined; one of four needs the
 * other ranks. */
static void one_rank_has_all_parts(void **state)
{
    rgm_parts_options cut = {1, RGM_PARTITION_RANDOM, 1.1, 1, 1 << 20};
    rgm_part_sampler *sampler;
    rgm_sampling_spec *spec;
    rgm_parts *parts;
    rgm_part *part;
    char path[96];
    lab l;

    (void)state;
    open_lab(&l);
    spec = parse_spec(&l);
    CHECK_OK(rgm_part_sampler_open(&sampler, l.part[1],
                                   &(rgm_part_sampler_options){.seed = 5, .spec = spec}));
    CHECK_STATUS(RGM_ERR_ARG, rgm_part_sampler_draw(NULL, sampler, NULL, 0));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_part_sampler_connect(sampler, rgm_comm_self()));
    CHECK_MESSAGE("part 1 of 4 on rank 0 of 1");
    rgm_part_sampler_release(sampler);
    snprintf(path, sizeof path, "%s/one", l.folder);
    CHECK_OK(rgm_parts_write(&l.data, path, &cut));
    CHECK_OK(rgm_parts_load(&parts, path));
    CHECK_OK(rgm_part_open_for(&part, parts, 0, 1));
    check_one_rank(&l, part, spec);
    rgm_part_release(part);
    rgm_parts_release(parts);
    CHECK_OK(rgm_part_open_for(&part, l.parts, 0, 1));
    check_one_rank(&l, part, spec);
    rgm_part_release(part);
    rgm_sampling_spec_release(spec);
    close_lab(&l);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static rgm_status sample_once(const lab *l, const rgm_sampling_spec *spec)
{
    static const int64_t seeds[] = {7, 3};
    const int64_t *const both[2] = {seeds, seeds};
    rgm_parted_sampler *samplers[PARTS] = {NULL};
    rgm_graph *graphs[2] = {NULL, NULL};
    rgm_status status = RGM_OK;

    for (int p = 0; p < PARTS; p++)
        RGM_GO(rgm_parted_sampler_create(&samplers[p], &l->graphs[p], spec, 5, true));
    RGM_GO(draw(graphs, l, samplers, 1, both, 2, "x"));
done:
    for (int i = 0; i < 2; i++)
        rgm_graph_release(graphs[i]);
    for (int p = 0; p < PARTS; p++)
        rgm_parted_sampler_release(samplers[p]);
    return status;
}

static void sampling_survives_every_failing_allocation(void **state)
{
    rgm_sampling_spec *spec;
    lab l;

    (void)state;
    open_lab(&l);
    CHECK_OK(
        rgm_sampling_spec_parse(&spec, specs[2], (int64_t)strlen(specs[2]), "test", l.data.schema));
    CHECK_OK(sample_once(&l, spec));
    CHECK_EVERY_OOM(sample_once(&l, spec), (void)0);
    rgm_sampling_spec_release(spec);
    close_lab(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_those_of_the_whole_graph),
        cmocka_unit_test(latest_edges_are_those_of_the_whole_graph),
        cmocka_unit_test(what_a_part_has_not_is_not_answered),
        cmocka_unit_test(an_answer_to_something_else_is_refused),
        cmocka_unit_test(one_rank_has_all_parts),
        cmocka_unit_test(sampling_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

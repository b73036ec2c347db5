#include <check.h>
#include <regimen/graph_sampling.h>

static rgm_schema *schema_of(const char *text)
{
    rgm_schema *schema;
    CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "schema"));
    return schema;
}

static rgm_schema *library(void)
{
    return schema_of("node_sets { key: 'paper' value {} } node_sets { key: 'author' value {} }"
                     "edge_sets { key: 'cites' value { source: 'paper' target: 'paper' } }"
                     "edge_sets { key: 'writes' value { source: 'author' target: 'paper' } }");
}

static rgm_status parse(rgm_sampling_spec **out, const char *text)
{
    rgm_schema *schema = library();
    rgm_status status =
        rgm_sampling_spec_parse(out, text, (int64_t)strlen(text), "spec.pbtxt", schema);
    rgm_schema_release(schema);
    return status;
}

static const char two_hops[] =
    "seed_op <\n  op_name: \"SEED->paper\"\n  node_set_name: \"paper\"\n"
    "  time_feature_name: \"asked\"\n  up_to_seed: true\n>\n"
    "sampling_ops <\n  op_name: \"a\"\n  input_op_names: \"SEED->paper\"\n"
    "  edge_set_name: \"cites\"\n  sample_size: 32\n  strategy: RANDOM_UNIFORM\n>\n"
    "sampling_ops {\n  op_name: \"b\"\n  input_op_names: [\"SEED->paper\", \"a\"]\n"
    "  edge_set_name: \"<writes\"\n  sample_size: 8\n  weight_feature_name: \"order\"\n"
    "  time_feature_name: \"year\"\n}\n";

static void a_spec_is_read_as_written(void **state)
{
    rgm_sampling_spec *spec;

    (void)state;
    CHECK_OK(parse(&spec, two_hops));
    CHECK_TEXT("SEED->paper", spec->seed_op);
    CHECK_TEXT("paper", spec->seed_node_set);
    CHECK_INT(2, spec->op_count);
    CHECK_TEXT("a", spec->ops[0].name);
    CHECK_INT(RGM_SAMPLE_UNIFORM, spec->ops[0].strategy);
    CHECK_INT(32, spec->ops[0].sample_size);
    CHECK_INT(RGM_SOURCE, spec->ops[0].from);
    CHECK(spec->ops[0].weight == NULL);
    CHECK_INT(2, spec->ops[1].input_count);
    CHECK_TEXT("a", spec->ops[1].inputs[1]);
    CHECK_TEXT("writes", spec->ops[1].edge_set);
    CHECK_INT(RGM_TARGET, spec->ops[1].from);
    CHECK_INT(RGM_SAMPLE_TOP_K, spec->ops[1].strategy); /* proto2's default */
    CHECK_TEXT("order", spec->ops[1].weight);
    CHECK_TEXT("asked", spec->seed_time);
    CHECK(spec->up_to_seed && spec->ops[0].time == NULL);
    CHECK_TEXT("year", spec->ops[1].time);
    CHECK_OK(rgm_sampling_spec_set_weight(spec, "year"));
    CHECK_TEXT("year", spec->ops[0].weight);
    CHECK_TEXT("year", spec->ops[1].weight);
    rgm_sampling_spec_release(spec);
}

static void a_printed_spec_reads_back_the_same(void **state)
{
    rgm_sampling_spec *spec, *again;
    rgm_text first = {0}, second = {0};

    (void)state;
    CHECK_OK(parse(&spec, two_hops));
    CHECK_OK(rgm_sampling_spec_print(&first, spec));
    CHECK_OK(parse(&again, first.data));
    CHECK_OK(rgm_sampling_spec_print(&second, again));
    CHECK_TEXT(first.data, second.data);
    CHECK(strstr(first.data, "edge_set_name: \"<writes\"") != NULL);
    rgm_text_clear(&first);
    rgm_text_clear(&second);
    rgm_sampling_spec_release(spec);
    rgm_sampling_spec_release(again);
}

#define SEED "seed_op { op_name: 's' node_set_name: 'paper' }\n"

static void mistakes_are_told_with_line_and_column(void **state)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        {"", "spec.pbtxt:"},
        {"sampling_ops { op_name: 'x' }", "no seed_op"},
        {"seed_op { op_name: 's' node_set_name: 'papr' }",
         "spec.pbtxt:1:1: sampling seeds: there is no node set 'papr'; did you mean 'paper'?"},
        {SEED
         "sampling_ops { op_name: 'a' input_op_names: 's' edge_set_name: 'cite' sample_size: 1 }",
         "spec.pbtxt:2:1: sampling op 'a': there is no edge set 'cite'; did you mean 'cites'?"},
        {SEED
         "sampling_ops { op_name: 'a' input_op_names: 's' edge_set_name: 'writes' sample_size: 1 }",
         "starts from node set 'author' (edge set 'writes'), but its input 's' ends in 'paper'"},
        {SEED
         "sampling_ops { op_name: 'a' input_op_names: 'b' edge_set_name: 'cites' sample_size: 1 }",
         "input 'b' is no op before it"},
        {SEED
         "sampling_ops { op_name: 'a' input_op_names: 'a' edge_set_name: 'cites' sample_size: 1 }",
         "input 'a' is no op before it"},
        {SEED
         "sampling_ops { op_name: 's' input_op_names: 's' edge_set_name: 'cites' sample_size: 1 }",
         "'s' is there twice"},
        {SEED "sampling_ops { op_name: 'a' input_op_names: 's' edge_set_name: 'cites' }",
         "sample_size is 0, must be at least 1"},
        {SEED "sampling_ops { op_name: 'a' edge_set_name: 'cites' sample_size: 1 }",
         "has no input_op_names"},
        {SEED "sampling_ops { input_op_names: 's' edge_set_name: 'cites' sample_size: 1 }",
         "spec.pbtxt:2:1: sampling_ops has no op_name"},
        {SEED
         "sampling_ops { op_name: 'a' input_op_names: 's' edge_set_name: 'cites' sample_size: 1\n"
         " strategy: LATEST }",
         "spec.pbtxt:3:2: strategy LATEST is not one of"},
        {SEED
         "sampling_ops { op_name: 'a' input_op_names: 's' edge_set_name: 'cites' sample_sise: 1 }",
         "did you mean 'sample_size'?"},
        {"symmetric_link_seed_op { op_name: 's' }", "symmetric_link_seed_op is not supported"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_sampling_spec *spec;
        CHECK_STATUS(RGM_ERR_FORMAT, parse(&spec, cases[i].text));
        CHECK_MESSAGE(cases[i].message);
        CHECK(spec == NULL);
    }
}

static void hops_make_a_chain(void **state)
{
    rgm_schema *schema = library();
    rgm_sampling_spec *spec;
    const char *const sets[] = {"cites", "<writes", "writes"};
    const int64_t sizes[] = {8, 4, 2};

    (void)state;
    CHECK_OK(rgm_sampling_spec_create(&spec, schema, "paper", sets, sizes, 3, RGM_SAMPLE_UNIFORM));
    CHECK_INT(3, spec->op_count);
    CHECK_TEXT("cites-1", spec->ops[0].name);
    CHECK_TEXT("seed", spec->ops[0].inputs[0]);
    CHECK_TEXT("<writes-2", spec->ops[2].inputs[0]);
    CHECK_INT(RGM_TARGET, spec->ops[1].from);
    CHECK_INT(4, spec->ops[1].sample_size);
    rgm_sampling_spec_release(spec);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_sampling_spec_create(&spec, schema, "paper", sets + 2, sizes,
                                                          1, RGM_SAMPLE_UNIFORM));
    CHECK_MESSAGE("starts from node set 'author'");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_sampling_spec_create(&spec, schema, "papers", sets, sizes,
                                                             1, RGM_SAMPLE_UNIFORM));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_sampling_spec_create(&spec, schema, "paper", sets,
                                                          (int64_t[]){0}, 1, RGM_SAMPLE_UNIFORM));
    rgm_schema_release(schema);
}

static void a_tree_follows_every_edge_set_from_every_node_set(void **state)
{
    rgm_schema *schema = library();
    rgm_sampling_spec *spec;
    const int64_t sizes[] = {9, 3};

    (void)state;
    CHECK_OK(rgm_sampling_spec_tree(&spec, schema, "author", 2, sizes, RGM_SAMPLE_UNIFORM));
    CHECK_INT(2, spec->op_count); /* author -writes-> paper -cites-> paper */
    CHECK_TEXT("writes", spec->ops[0].edge_set);
    CHECK_INT(9, spec->ops[0].sample_size);
    CHECK_TEXT("cites", spec->ops[1].edge_set);
    CHECK_TEXT(spec->ops[0].name, spec->ops[1].inputs[0]);
    CHECK_INT(3, spec->ops[1].sample_size);
    rgm_sampling_spec_release(spec);
    CHECK_OK(rgm_sampling_spec_tree(&spec, schema, "author", 0, NULL, RGM_SAMPLE_UNIFORM));
    CHECK_INT(0, spec->op_count);
    rgm_sampling_spec_release(spec);
    rgm_schema_release(schema);
}

static void every_allocation_may_fail(void **state)
{
    rgm_schema *schema = library();
    rgm_sampling_spec *spec;
    rgm_text text = {0};

    (void)state;
    CHECK_EVERY_OOM(
        rgm_sampling_spec_parse(&spec, two_hops, (int64_t)strlen(two_hops), "s", schema),
        rgm_sampling_spec_release(spec));
    CHECK_EVERY_OOM(rgm_sampling_spec_create(&spec, schema, "paper",
                                             (const char *[]){"cites", "cites"}, (int64_t[]){1, 2},
                                             2, RGM_SAMPLE_UNIFORM),
                    rgm_sampling_spec_release(spec));
    CHECK_EVERY_OOM(rgm_sampling_spec_tree(&spec, schema, "author", 3, (int64_t[]){1, 2, 3},
                                           RGM_SAMPLE_UNIFORM),
                    rgm_sampling_spec_release(spec));
    CHECK_OK(parse(&spec, two_hops));
    CHECK_OK(rgm_sampling_spec_print(&text, spec));
    rgm_text_clear(&text);
    rgm_sampling_spec_release(spec);
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(a_spec_is_read_as_written),
      cmocka_unit_test(a_printed_spec_reads_back_the_same),
      cmocka_unit_test(mistakes_are_told_with_line_and_column), cmocka_unit_test(hops_make_a_chain),
      cmocka_unit_test(a_tree_follows_every_edge_set_from_every_node_set),
      cmocka_unit_test(every_allocation_may_fail))

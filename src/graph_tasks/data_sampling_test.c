/*
 * data.sampling beside the model: edges are followed from the end at which the model hears, by
 * default; where a file says otherwise it is told. Samples of a run are read where these are asked
 * for, and others are drawn where others are.
 */
#include <check.h>
#include <regimen/graph_tasks.h>

#include "learning.h"

enum { CLASSES = 3 };

/* What a file says, and what was opened. */
typedef struct opened {
    rgm_graph_classification_options classes;
    rgm_gcn_model_options gcn;
    rgmi_data_options data;
    rgm_task_setup setup;
    rgmi_graph_inputs in;
    int warnings;
    char told[512];
} opened;

static void say(opened *o, rgm_receivers receiver)
{
    static const int64_t sizes[] = {3, 2};
    rgm_citation_options *citation = &o->data.citation;

    *o = (opened){.classes = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT};
    rgm_gcn_model.section.defaults(&o->gcn);
    o->gcn.receiver = receiver;
    rgmi_graph_data_section.defaults(&o->data);
    o->data.type = RGMI_DATA_CITATION;
    citation->nodes = 200;
    citation->edges = 1000;
    citation->classes = CLASSES;
    citation->words = 40;
    citation->words_per_node = 6;
    citation->train_per_class = 10;
    citation->valid = citation->test = 30;
    o->data.batch_size = 8;
    o->data.sampling.store = RGMI_STORE_MEMORY;
    o->data.sampling.sizes = (rgm_ints){.items = sizes, .count = 2};
    o->classes.num_classes = CLASSES;
    o->setup = (rgm_task_setup){.data = &o->data,
                                .part_count = 1,
                                .model = &rgm_gcn_model.section,
                                .model_options = &o->gcn,
                                .threads = 1,
                                .seed = 4};
    o->setup.parts[0].type = &rgm_node_classification.section;
    o->setup.parts[0].options = &o->classes;
}

static void note(int level, const char *message, void *payload)
{
    opened *o = payload;

    if (level != RGM_LOG_WARNING)
        return;
    o->warnings++;
    snprintf(o->told, sizeof o->told, "%s", message);
}

static void open(opened *o)
{
    rgmi_sampling_hear(&o->setup);
    CHECK_OK(rgm_logger_add_sink(NULL, note, o));
    CHECK_OK(rgmi_graph_inputs_open(&o->in, &o->setup));
    rgm_logger_remove_sink(NULL, note, o);
}

/* How many of a first batch's seeds are at that end of some edge, of those that have edges. */
static int64_t count_hearing(int64_t *seeds, const opened *o, const char *edge_set, rgm_tag end)
{
    rgm_dataset *data;
    rgm_iterator *iterator;
    rgm_element *element;
    const rgm_graph *graph;
    const rgm_tensor *hears;
    int64_t hearing = 0;

    CHECK_OK(rgm_provider_dataset(&data, o->in.providers[RGM_TRAIN], false));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    CHECK_OK(rgm_iterator_next(&element, iterator));
    graph = rgm_element_pointer(element, &rgm_graph_element);
    *seeds = rgm_graph_total(graph, RGM_NODE_SET, RGM_READOUT);
    hears =
        end == RGM_SOURCE ? rgm_graph_source(graph, edge_set) : rgm_graph_target(graph, edge_set);
    for (int64_t seed = 0; seed < *seeds; seed++) /* which stand first */
        for (int64_t i = 0; i < rgm_tensor_count(hears); i++)
            if (rgm_tensor_at_int(hears, i) == seed) {
                hearing++;
                break;
            }
    rgm_element_release(element);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    return hearing;
}

static void by_default_seeds_hear_what_is_drawn(void **state)
{
    static const rgmi_sampling_type types[] = {RGMI_SAMPLING_TREE, RGMI_SAMPLING_RANDOM_WALK};

    (void)state;
    for (int i = 0; i < 4; i++) {
        rgm_receivers receiver = i % 2 == 0 ? RGM_AT_TARGET : RGM_AT_SOURCE;
        opened o;
        int64_t seeds, hearing;

        say(&o, receiver);
        o.data.sampling.type = types[i / 2];
        o.data.sampling.sizes.count = i / 2 == 0; /* a second hop might lead back to a seed */
        open(&o);
        CHECK_INT(0, o.warnings);
        hearing = count_hearing(&seeds, &o, i / 2 == 0 ? "edges" : "walk", (rgm_tag)receiver);
        CHECK_INT(8, seeds);
        CHECK(hearing >= 7); /* one may have no neighbour */
        rgmi_graph_inputs_clear(&o.in);
    }
}

static void what_nobody_hears_is_told(void **state)
{
    static const char *const forth[] = {"edges", "edges"}, *const back[] = {"<edges", "<edges"};
    static const struct {
        rgm_receivers receiver;
        const char *const *edge_sets;
        const char *told;
    } cases[] = {
        {RGM_AT_TARGET, forth,
         "data.sampling: 'edges' is followed from its source, but model.receiver is target, so "
         "that a node never hears the neighbours that are drawn for it; follow '<edges', or let "
         "model.receiver be source"},
        {RGM_AT_SOURCE, back, "'<edges' is followed from its target, but model.receiver is source"},
        {RGM_AT_TARGET, back, NULL},
        {RGM_AT_SOURCE, forth, NULL},
        {RGM_AT_BOTH, forth, NULL},
        {RGM_AT_BOTH, back, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        opened o;

        say(&o, cases[i].receiver);
        o.data.sampling.edge_sets = (rgm_texts){cases[i].edge_sets, 2};
        open(&o);
        CHECK_INT(cases[i].told != NULL, o.warnings);
        CHECK(cases[i].told == NULL || strstr(o.told, cases[i].told) != NULL);
        rgmi_graph_inputs_clear(&o.in);
    }
}

/* Behind a processor that gives each edge its reverse nodes hear at both ends. */
static void what_a_processor_turns_is_heard(void **state)
{
    static const char *const forth[] = {"edges", "edges"};
    static const struct {
        const rgm_graph_processor_type *type;
        const char *edge_set;
        bool is_heard;
    } cases[] = {{&rgmi_undirected_processor, NULL, true},
                 {&rgmi_undirected_processor, "edges", true},
                 {&rgmi_reverse_edges_processor, NULL, true},
                 {&rgmi_undirected_processor, "others", false},
                 {&rgmi_self_loops_processor, NULL, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rgm_section_type *type = &cases[i].type->section;
        const char **options; /* of which `edge_set` is the first */
        rgm_section item = {.type = type};
        opened o;

        CHECK_OK(RGM_NEW(options, (int64_t)type->options_size));
        options[0] = cases[i].edge_set;
        item.options = options;
        say(&o, RGM_AT_TARGET);
        o.data.sampling.edge_sets = (rgm_texts){forth, 2};
        o.data.processors = (rgm_sections){.items = &item, .count = 1};
        open(&o);
        CHECK_INT(cases[i].is_heard ? 0 : 1, o.warnings);
        rgmi_graph_inputs_clear(&o.in);
        rgm_free(options);
    }
}

/* A spec that is written out is held against the model as well. */
static void a_written_spec_is_told_too(void **state)
{
    opened o;

    (void)state;
    say(&o, RGM_AT_TARGET);
    o.data.sampling.sizes.count = 0;
    o.data.sampling.spec =
        "seed_op { op_name: 's' node_set_name: 'nodes' } sampling_ops { op_name: "
        "'a' input_op_names: 's' edge_set_name: '<edges' sample_size: 3 "
        "strategy: RANDOM_UNIFORM } sampling_ops { op_name: 'b' input_op_names: "
        "'a' edge_set_name: 'edges' sample_size: 3 strategy: RANDOM_UNIFORM }";
    open(&o);
    CHECK_INT(1, o.warnings);
    CHECK(strstr(o.told, "'edges' is followed from its source") != NULL);
    rgmi_graph_inputs_clear(&o.in);
}

#define DATED                                                                                      \
    "seed_op { op_name: 's' node_set_name: 'account' time_feature_name: 'asked' up_to_seed: true " \
    "} sampling_ops { op_name: 'h' input_op_names: 's' edge_set_name: 'has' sample_size: 5 "       \
    "strategy: LATEST_K }"

/* Accounts with dated events, by a spec that says when the seeds are asked about. */
static void say_dated(opened *o)
{
    say(o, RGM_AT_SOURCE);
    o->data.type = RGMI_DATA_EVENTS;
    o->data.sampling.sizes.count = 0;
    o->data.sampling.spec = DATED;
}

/* A name for the edges' times leaves the seeds' as it is: without it edges are of the future. */
static void a_written_spec_keeps_its_times(void **state)
{
    opened o;

    (void)state;
    say_dated(&o);
    o.data.sampling.time_feature_name = "time";
    open(&o);
    CHECK(o.in.spec->seed_time != NULL && o.in.spec->up_to_seed);
    CHECK_TEXT("asked", o.in.spec->seed_time);
    CHECK_TEXT("time", o.in.spec->ops[0].time);
    rgmi_graph_inputs_clear(&o.in);
    say_dated(&o);
    o.data.sampling.seed_time_feature_name = "label";
    open(&o);
    CHECK_TEXT("label", o.in.spec->seed_time);
    CHECK_TEXT("time", o.in.spec->ops[0].time);
    CHECK(o.in.spec->up_to_seed);
    rgmi_graph_inputs_clear(&o.in);
}

/* Each seed has a component of its own, whose nodes are the list. */
static void a_ranking_of_dated_seeds_is_refused(void **state)
{
    rgm_graph_ranking_options ranking = RGM_GRAPH_RANKING_OPTIONS_INIT;
    opened o;

    (void)state;
    say_dated(&o);
    o.setup.parts[0].type = &rgm_node_ranking.section;
    o.setup.parts[0].options = &ranking;
    rgmi_sampling_hear(&o.setup);
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_graph_inputs_open(&o.in, &o.setup));
    CHECK_MESSAGE("seeds have the time 'asked', so that each would be alone in a component, and "
                  "node_ranking learns the order of a component's nodes");
    rgmi_graph_inputs_clear(&o.in);
}

static void ask_for_a_shorter_tree(opened *o)
{
    o->data.sampling.sizes.count = 1;
}

static void ask_for_first_hops_alone(opened *o)
{
    o->data.sampling.once = true;
}

static void ask_for_another_draw(opened *o)
{
    o->setup.seed = 5;
}

static void ask_for_other_data(opened *o)
{
    o->data.citation.noise = 0.9;
}

static void ask_for_the_same(opened *o)
{
    o->setup.threads = 3;
}

static void (*const asks[])(opened *o) = {ask_for_the_same, ask_for_a_shorter_tree,
                                          ask_for_first_hops_alone, ask_for_another_draw,
                                          ask_for_other_data};

/* As an earlier version kept them, without a hash; and gone. */
static void samples_that_nobody_can_compare_are_told_as_that(void **state)
{
    static const char before[] = "seed 4, epoch 0, once 0\npart 'train', 30 seeds 0\n";
    static const char *const told[] = {
        "/samples was drawn by an earlier version, which did not keep of which data: subgraphs are "
        "drawn anew",
        "/samples is not there: subgraphs are drawn anew"};
    const char *folder = check_folder();
    char samples[200], path[240];

    (void)state;
    snprintf(samples, sizeof samples, "%s/samples", folder);
    snprintf(path, sizeof path, "%s/sampling.txt", samples);
    CHECK_OK(rgm_folder_make(samples));
    CHECK_OK(rgm_file_save(path, before, sizeof before - 1));
    for (int i = 0; i < 2; i++) {
        opened o;

        say(&o, RGM_AT_TARGET);
        o.data.sampling.store = RGMI_STORE_RECORDS;
        o.setup.run_dir = folder;
        o.setup.trained = true;
        open(&o);
        CHECK_INT(1, o.warnings);
        CHECK(strstr(o.told, told[i]) != NULL);
        rgmi_graph_inputs_clear(&o.in);
        if (i == 0)
            CHECK_OK(rgm_folder_remove(samples));
    }
    CHECK_OK(rgm_folder_remove(folder));
}

static void samples_are_those_that_are_asked_for(void **state)
{
    const char *folder = check_folder();

    (void)state;
    for (size_t i = 0; i < 1 + sizeof asks / sizeof *asks; i++) {
        bool other = i > 1;
        opened o;

        say(&o, RGM_AT_TARGET);
        o.data.sampling.store = RGMI_STORE_RECORDS;
        o.setup.run_dir = folder;
        o.setup.trained = i > 0;
        if (i > 0)
            asks[i - 1](&o);
        open(&o);
        CHECK_INT(other, o.warnings);
        CHECK(!other || strstr(o.told, "was drawn from other data, or with other keys") != NULL);
        for (int part = 0; part < 3; part++)
            CHECK_INT(other, rgmi_provider_is_batched(o.in.providers[part]));
        rgmi_graph_inputs_clear(&o.in);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

/* Open a run's samples; NULL: as the first start asked for. */
static int warnings_of(const char *folder, void (*ask)(opened *o), bool begun, bool trained)
{
    opened o;

    say(&o, RGM_AT_TARGET);
    o.data.sampling.store = RGMI_STORE_RECORDS;
    o.setup.run_dir = folder;
    o.setup.begun = begun;
    o.setup.trained = trained;
    if (ask != NULL)
        ask(&o);
    open(&o);
    CHECK(o.warnings == 0 || trained || strstr(o.told, "it is drawn anew") != NULL);
    rgmi_graph_inputs_clear(&o.in);
    return o.warnings;
}

/* A start that saved nothing binds nobody; a run that goes on has the samples that it began with.
 */
static void samples_of_a_start_that_failed_are_drawn_anew(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        const char *folder = check_folder();
        bool other = i > 0;

        CHECK_INT(0, warnings_of(folder, NULL, false, false));
        CHECK_INT(0, warnings_of(folder, asks[i], true, false));
        CHECK_INT(other, warnings_of(folder, asks[i], true, true));
        CHECK_INT(other, warnings_of(folder, asks[i], false, false));
        CHECK_INT(0, warnings_of(folder, asks[i], true, true)); /* they are those of the second */
        CHECK_OK(rgm_folder_remove(folder));
    }
}

TESTS(cmocka_unit_test(by_default_seeds_hear_what_is_drawn),
      cmocka_unit_test(what_nobody_hears_is_told),
      cmocka_unit_test(what_a_processor_turns_is_heard),
      cmocka_unit_test(a_written_spec_is_told_too),
      cmocka_unit_test(samples_that_nobody_can_compare_are_told_as_that),
      cmocka_unit_test(a_written_spec_keeps_its_times),
      cmocka_unit_test(a_ranking_of_dated_seeds_is_refused),
      cmocka_unit_test(samples_are_those_that_are_asked_for),
      cmocka_unit_test(samples_of_a_start_that_failed_are_drawn_anew))

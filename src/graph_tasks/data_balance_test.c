/*
 * data.balance: shares of the classes among what is drawn from graphs and from nodes that are
 * sampled around, in training alone; what cannot be drawn by class.
 */
#include <check.h>
#include <regimen/graph_tasks.h>

#include "learning.h"

enum { GRAPHS = 30, VALID = 3, COMMON = 24, RARE = 4, CLASSES = 3 };
#define MOLECULES                                                                                  \
    "context { features { key: 'kind' value { dtype: DT_INT64 } }"                                 \
    "          features { key: 'mass' value { dtype: DT_FLOAT } } }"                               \
    "node_sets { key: 'atom' value { features { key: 'x' value { dtype: DT_FLOAT } } } }"

/* ---- folders ------------------------------------------------------------------------------- */

typedef struct saved {
    char folder[64], *data;
} saved;

static saved save(const rgm_graph_data *data)
{
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;
    saved s;

    snprintf(s.folder, sizeof s.folder, "%s", check_folder());
    CHECK_OK(rgm_path_join(&s.data, s.folder, "data"));
    CHECK_OK(rgm_graph_data_save(data, s.data, &options));
    return s;
}

static void forget(saved *s)
{
    rgm_free(s->data);
    CHECK_OK(rgm_folder_remove(s->folder));
}

/* Kind 0 of the first COMMON, 2 of the next RARE, -1 of the others in training; nothing is of kind
 * 1. */
static int64_t kind_of(int64_t i)
{
    return i < COMMON ? 0 : i < COMMON + RARE || i >= GRAPHS ? 2 : -1;
}

static void add(rgm_graph_builder *builder, rgm_piece piece, const char *name, rgm_dtype dtype,
                const void *number)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, dtype, 1, (int64_t[]){1}, number));
    CHECK_OK(
        rgm_graph_builder_feature(builder, piece, piece == RGM_NODE_SET ? "atom" : NULL, name, &f));
    rgm_tensor_release(f.values);
}

static rgm_graph *make_molecule(rgm_schema *schema, int64_t i)
{
    rgm_graph_builder *builder = NULL;
    rgm_graph *graph;
    int64_t kind = kind_of(i);
    float number = (float)i;

    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", (int64_t[]){1}));
    add(builder, RGM_NODE_SET, "x", RGM_F32, &number);
    add(builder, RGM_CONTEXT_PIECE, "kind", RGM_I64, &kind);
    add(builder, RGM_CONTEXT_PIECE, "mass", RGM_F32, &number);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

/* The first GRAPHS are the training part, the last of them first. */
static saved save_molecules(void)
{
    rgm_graph_data data = {.graph_count = GRAPHS + VALID};
    rgm_graph *graphs[GRAPHS + VALID];
    int64_t numbers[GRAPHS + VALID];
    saved s;

    CHECK_OK(rgm_schema_parse(&data.schema, MOLECULES, sizeof MOLECULES - 1, "molecules"));
    for (int64_t i = 0; i < GRAPHS + VALID; i++) {
        graphs[i] = make_molecule(data.schema, i);
        numbers[i] = i < GRAPHS ? GRAPHS - 1 - i : i;
    }
    data.graphs = graphs;
    CHECK_OK(rgm_tensor_create_from(&data.train, RGM_I64, 1, (int64_t[]){GRAPHS}, numbers));
    CHECK_OK(rgm_tensor_create_from(&data.valid, RGM_I64, 1, (int64_t[]){VALID}, numbers + GRAPHS));
    s = save(&data);
    rgm_tensor_release(data.train);
    rgm_tensor_release(data.valid);
    for (int64_t i = 0; i < GRAPHS + VALID; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(data.schema);
    return s;
}

/* Papers with ten training nodes of each class, of which class 1 keeps two and class 2 has no
 * label. */
static saved save_papers(void)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data data;
    int64_t *labels, *train, kept = 0, ones = 0;
    rgm_tensor *rest;
    saved s;

    citation.nodes = 200;
    citation.edges = 500;
    citation.classes = CLASSES;
    citation.words = 40;
    citation.words_per_node = 6;
    citation.train_per_class = 10;
    citation.valid = 30;
    citation.test = 30;
    CHECK_OK(rgm_generate_citation(&data, &citation));
    labels = rgm_tensor_i64(
        rgm_graph_feature(data.graphs[0], RGM_NODE_SET, data.split_set, "label")->values);
    train = rgm_tensor_i64(data.train);
    for (int64_t i = 0; i < rgm_tensor_count(data.train); i++)
        if (labels[train[i]] != 1 || ones++ < 2)
            train[kept++] = train[i];
    for (int64_t i = 0; i < kept; i++)
        labels[train[i]] = labels[train[i]] == 2 ? -1 : labels[train[i]];
    CHECK_INT(22, kept);
    CHECK_OK(rgm_tensor_slice(&rest, data.train, 0, kept));
    rgm_tensor_release(data.train);
    data.train = rest;
    s = save(&data);
    rgm_graph_data_clear(&data);
    return s;
}

/* ---- opened -------------------------------------------------------------------------------- */

/* What a file says, and what was opened. */
typedef struct opened {
    rgm_graph_classification_options classes;
    rgm_graph_regression_options numbers;
    rgmi_data_options data;
    rgm_task_setup setup;
    rgmi_graph_inputs in;
} opened;

static void say(opened *o, const saved *s, const rgm_graph_task_type *type, const char *label)
{
    *o = (opened){.classes = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT,
                  .numbers = RGM_GRAPH_REGRESSION_OPTIONS_INIT};
    rgmi_graph_data_section.defaults(&o->data);
    o->data.type = RGMI_DATA_FOLDER;
    o->data.path = s->data;
    o->data.balance = RGMI_BALANCE_CLASSES;
    o->classes.place.label = o->numbers.place.label = label;
    o->classes.place.node_set = o->numbers.place.node_set = "atom";
    o->classes.num_classes = CLASSES;
    o->setup = (rgm_task_setup){.data = &o->data, .part_count = 1, .threads = 1, .seed = 4};
    o->setup.parts[0].type = &type->section;
    o->setup.parts[0].options =
        type == &rgm_graph_regression ? (void *)&o->numbers : (void *)&o->classes;
}

static rgm_status open(opened *o)
{
    rgm_status status = rgmi_graph_inputs_open(&o->in, &o->setup);

    if (status != RGM_OK)
        rgmi_graph_inputs_clear(&o->in);
    return status;
}

typedef void look_fn(const rgm_graph *graph, int64_t *seen);

/* 1 + the class: how often it comes in a few epochs; returned: a number for what came when. */
static uint64_t count_drawn(int64_t seen[1 + CLASSES], const rgm_provider *provider, bool training,
                            int64_t epochs, look_fn *look)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_dataset *data;
    rgm_iterator *iterator;
    rgm_element *element;
    uint64_t sum = 0;

    memset(seen, 0, (1 + CLASSES) * sizeof *seen);
    options.seed = 6;
    CHECK_OK(rgm_provider_dataset(&data, provider, training));
    CHECK_OK(rgm_dataset_repeat(&data, epochs));
    CHECK_OK(rgm_iterator_create(&iterator, data, &options));
    while (rgm_iterator_next(&element, iterator) == RGM_OK) {
        look(rgm_element_pointer(element, &rgm_graph_element), seen);
        for (int i = 0; i <= CLASSES; i++)
            sum = sum * 31 + (uint64_t)seen[i];
        rgm_element_release(element);
    }
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    return sum;
}

static void look_at_molecule(const rgm_graph *graph, int64_t *seen)
{
    seen[1 +
         rgm_tensor_i64(rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, "kind")->values)[0]]++;
}

static void look_at_seeds(const rgm_graph *graph, int64_t *seen)
{
    const rgm_tensor *labels = rgm_graph_feature(graph, RGM_NODE_SET, RGM_READOUT, "label")->values;

    CHECK_INT(rgm_tensor_count(labels), rgm_graph_total(graph, RGM_NODE_SET, RGM_READOUT));
    for (int64_t i = 0; i < rgm_tensor_count(labels); i++)
        seen[1 + rgm_tensor_at_int(labels, i)]++;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Shares are within four deviations of those asked for. */
static void graphs_come_by_class(void **state)
{
    enum { EPOCHS = 200 };
    saved s = save_molecules();
    opened o;
    int64_t seen[1 + CLASSES], again[1 + CLASSES];
    uint64_t first;

    (void)state;
    say(&o, &s, &rgm_graph_classification, "kind");
    CHECK_OK(open(&o));
    CHECK_TEXT("classes 0 (24 examples), 2 (4), each 0.5 of the draws; 2 without a label never",
               o.in.balance.data);
    first = count_drawn(seen, o.in.providers[RGM_TRAIN], true, EPOCHS, look_at_molecule);
    CHECK_INT(EPOCHS * GRAPHS, seen[1] + seen[3]);
    CHECK_CLOSE((double)seen[1] / (EPOCHS * GRAPHS), 0.5, 0, 0.026);
    CHECK(first == count_drawn(again, o.in.providers[RGM_TRAIN], true, EPOCHS, look_at_molecule));
    /* each once, where nothing is learned */
    count_drawn(seen, o.in.providers[RGM_TRAIN], false, 1, look_at_molecule);
    CHECK(seen[0] == 2 && seen[1] == COMMON && seen[2] == 0 && seen[3] == RARE);
    count_drawn(seen, o.in.providers[RGM_VALID], true, 1, look_at_molecule);
    CHECK_INT(VALID, seen[3]);
    rgmi_graph_inputs_clear(&o.in);
    forget(&s);
}

static void seeds_come_by_class(void **state)
{
    enum { EPOCHS = 200, SEEDS = 22 };
    static const rgmi_sampling_type types[] = {RGMI_SAMPLING_TREE, RGMI_SAMPLING_SHADOW};
    const int64_t sizes[] = {3};
    saved s = save_papers();

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        opened o;
        int64_t seen[1 + CLASSES];

        say(&o, &s, &rgm_node_classification, "label");
        o.classes.place.node_set = "nodes";
        o.data.batch_size = 4;
        o.data.sampling.store = RGMI_STORE_MEMORY;
        o.data.sampling.type = types[i];
        o.data.sampling.sizes = (rgm_ints){.items = sizes, .count = i == 0};
        CHECK_OK(open(&o));
        CHECK_TEXT("classes 0 (10 examples), 1 (2), each 0.5 of the draws; 10 without a label "
                   "never",
                   o.in.balance.data);
        count_drawn(seen, o.in.providers[RGM_TRAIN], true, EPOCHS, look_at_seeds);
        CHECK_INT(EPOCHS * SEEDS, seen[1] + seen[2]);
        CHECK_CLOSE((double)seen[2] / (EPOCHS * SEEDS), 0.5, 0, 0.0302);
        rgmi_graph_inputs_clear(&o.in);
    }
    forget(&s);
}

static void refuse(const saved *s, const rgm_graph_task_type *type, const char *label,
                   rgm_status status, const char *message)
{
    opened o;

    say(&o, s, type, label);
    CHECK_STATUS(status, open(&o));
    CHECK_MESSAGE(message);
}

static void what_has_no_class_is_refused(void **state)
{
    saved s = save_molecules(), papers = save_papers();

    (void)state;
    refuse(&s, &rgm_graph_regression, "mass", RGM_ERR_CONFIG,
           "the labels of task 'graph_regression' are not one class of an example");
    refuse(&s, &rgm_barlow_twins, "kind", RGM_ERR_CONFIG,
           "which the items of task 'barlow_twins' are not");
    refuse(&s, &rgm_graph_classification, "none", RGM_ERR_DATA,
           "the training part's examples are of 0");
    refuse(&papers, &rgm_node_classification, "label", RGM_ERR_CONFIG,
           "the data are one graph, which is trained on as a whole");
    forget(&s);
    forget(&papers);
}

/* Draws replace those of before, to which the allocator may have given more bytes than were asked
 * for; so the bytes are compared when all of it is gone. */
static void without_memory_nothing_is_left(void **state)
{
    saved s = save_molecules();
    int64_t before, failing = 0;
    bool failed = true;
    opened o;

    (void)state;
    say(&o, &s, &rgm_graph_classification, "kind");
    CHECK_OK(open(&o));
    rgmi_graph_inputs_clear(&o.in); /* what the process keeps is there now */
    before = rgm_memory_used();
    say(&o, &s, &rgm_graph_classification, "kind");
    CHECK_OK(open(&o));
    rgm_text_clear(&o.in.balance);
    for (; failed; failing++) {
        rgm_status status;

        rgm_memory_fail_at(failing, false);
        status = rgmi_graph_inputs_balance(&o.in, &o.setup);
        failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        CHECK_INT(failed ? RGM_ERR_NOMEM : RGM_OK, status);
        rgm_text_clear(&o.in.balance);
    }
    CHECK(failing > 30);
    rgmi_graph_inputs_clear(&o.in);
    CHECK_INT(before, rgm_memory_used());
    forget(&s);
}

TESTS(cmocka_unit_test(graphs_come_by_class), cmocka_unit_test(seeds_come_by_class),
      cmocka_unit_test(what_has_no_class_is_refused),
      cmocka_unit_test(without_memory_nothing_is_left))

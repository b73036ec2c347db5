/*
 * Data of every part are held against model and tasks before the first step: all graphs in memory,
 * all seeds of mini-batches, and sizes that a provider of batches has itself.
 */
#include <check.h>
#include <math.h>

#include <regimen/graph_tasks.h>

enum { CLASSES = 4, PAPERS = 200 };

typedef struct setting {
    rgm_graph_data data;
    rgm_sampling_spec *spec;
    rgm_graph_learning_options what;
    rgm_run_options how;
    rgm_mpnn_model_options model;
} setting;

/* One label of a part's last paper becomes a class that there is not. */
static void spoil(setting *s, const rgm_tensor *part)
{
    const rgm_feature *label =
        rgm_graph_feature(s->data.graphs[0], RGM_NODE_SET, s->data.split_set, "label");
    int64_t node = rgm_tensor_at_int(part, rgm_tensor_count(part) - 1);

    if (rgm_tensor_dtype(label->values) == RGM_I64)
        rgm_tensor_i64(label->values)[node] = CLASSES;
    else
        rgm_tensor_i32(label->values)[node] = CLASSES;
}

static rgm_provider *provider_of(setting *s, const char *part, rgm_tensor *seeds, bool sampled)
{
    rgm_sampling_provider_options options = {
        .spec = s->spec, .batch_size = 8, .label = "label", .seed = 5, .threads = 1};

    return sampled ? rgm_sampling_provider(s->data.graphs[0], seeds, &options)
                   : rgm_graph_data_provider(&s->data, part);
}

/* dense: the papers' features are so many numbers, not words. */
static void open_papers(setting *s, bool sampled, bool spoilt, int64_t dense)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    const char *hops[] = {"edges"};

    *s = (setting){.what = RGM_GRAPH_LEARNING_OPTIONS_INIT, .how = RGM_RUN_OPTIONS_INIT};
    citation.nodes = PAPERS;
    citation.edges = 400;
    citation.classes = CLASSES;
    citation.words = 40;
    citation.words_per_node = 4;
    citation.dense = dense;
    citation.train_per_class = 5;
    citation.valid = citation.test = 40;
    CHECK_OK(rgm_generate_citation(&s->data, &citation));
    CHECK_OK(rgm_sampling_spec_create(&s->spec, s->data.schema, s->data.split_set, hops,
                                      (int64_t[]){2}, 1, RGM_SAMPLE_UNIFORM));
    if (spoilt)
        spoil(s, s->data.test);
    s->what.train_data = provider_of(s, "train", s->data.train, sampled);
    s->what.valid_data = provider_of(s, "valid", s->data.valid, sampled);
    s->what.test_data = provider_of(s, "test", s->data.test, sampled);
    s->what.task = rgm_node_multiclass(s->data.split_set, "label", CLASSES);
    rgm_mpnn_model.section.defaults(&s->model);
    s->what.model_fn = rgm_mpnn_model.build;
    s->what.model_payload = &s->model;
    s->how.trainer.train_steps = 2;
    s->how.runtime.threads = 1;
    s->how.releases_task = true;
}

static void open_setting(setting *s, bool sampled, bool spoilt)
{
    open_papers(s, sampled, spoilt, 0);
}

static void close_setting(setting *s)
{
    rgm_graph_task_release(s->what.task);
    rgm_provider_release(s->what.train_data);
    rgm_provider_release(s->what.valid_data);
    rgm_provider_release(s->what.test_data);
    rgm_sampling_spec_release(s->spec);
    rgm_graph_data_clear(&s->data);
}

static rgm_status open_run(setting *s)
{
    rgm_open_run *run = NULL;
    rgm_task task;

    RGM_TRY(rgm_graph_learning_create(&task, &s->what, &s->how.runtime));
    RGM_TRY(rgm_run_open(&run, &task, &s->how));
    rgm_run_close(run);
    return RGM_OK;
}

static void a_label_of_any_part_is_asked_before_the_first_step(void **state)
{
    setting s;

    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        open_setting(&s, sampled, false);
        CHECK_OK(open_run(&s));
        close_setting(&s);
        open_setting(&s, sampled, true);
        CHECK_STATUS(RGM_ERR_DATA, open_run(&s)); /* the last of the last part */
        CHECK_MESSAGE("test data: ");
        CHECK_MESSAGE("label 'label' of item 39 is 4, but must be 0..3");
        close_setting(&s);
    }
}

static void batches_have_a_size_of_their_own(void **state)
{
    setting s;

    (void)state;
    open_setting(&s, true, false);
    s.what.global_batch_size = 16;
    CHECK_STATUS(RGM_ERR_CONFIG, open_run(&s));
    CHECK_MESSAGE("global_batch_size is set, but the train data come in mini-batches");
    s.what.global_batch_size = 1;
    s.what.drop_remainder = true;
    CHECK_STATUS(RGM_ERR_CONFIG, open_run(&s));
    CHECK_MESSAGE("drop_remainder is set, but");
    close_setting(&s);
}

static void whole_graphs_take_a_label_of_any_name(void **state)
{
    setting s;

    (void)state;
    open_setting(&s, false, false);
    rgm_provider_release(s.what.train_data);
    s.what.train_data = rgm_graph_data_provider_of(&s.data, "train", NULL);
    CHECK(s.what.train_data != NULL);
    CHECK_STATUS(RGM_ERR_CONFIG, open_run(&s));
    CHECK_MESSAGE("task.label: 'nodes' has 'label', but '_readout', which says which nodes are");
    CHECK_MESSAGE("has not: it was made without it, or by lists of another node set");
    rgm_provider_release(s.what.train_data);
    s.what.train_data = rgm_graph_data_provider_of(&s.data, "train", "topic");
    CHECK_STATUS(RGM_ERR_CONFIG, open_run(&s));
    rgm_provider_release(s.what.train_data);
    s.what.train_data = rgm_graph_data_provider_of(&s.data, "train", "label");
    CHECK_OK(open_run(&s));
    close_setting(&s);
}

/* The papers as a program sends them, the first of their numbers so. */
static rgm_status ask_example(const rgm_open_run *run, const setting *s, float first)
{
    const rgm_task *task = rgm_run_task(run);
    rgm_graph *graph = s->data.graphs[0], *asked = NULL;
    rgm_element *batch = NULL;
    rgm_status status = RGM_OK;
    rgm_text bytes = {0};
    rgm_str example;

    rgm_tensor_f32(rgm_graph_feature(graph, RGM_NODE_SET, s->data.split_set, "feat")->values)[0] =
        first;
    RGM_GO(rgm_graph_with_readout(&asked, graph, RGM_READOUT, "seed", s->data.split_set,
                                  s->data.test, "label"));
    RGM_GO(rgm_graph_encode(&bytes, asked, ""));
    example = (rgm_str){bytes.data, bytes.size};
    RGM_GO(task->example_batch(&batch, task->state, &example, 1));
done:
    rgm_element_release(batch);
    rgm_graph_release(asked);
    rgm_text_clear(&bytes);
    return status;
}

/* Of numbers that no encoder names, a model would make what it can. */
static void numbers_that_are_none_are_refused_of_examples_too(void **state)
{
    setting s;
    rgm_open_run *run;
    rgm_task task;

    (void)state;
    open_papers(&s, false, false, 4);
    CHECK_OK(rgm_graph_learning_create(&task, &s.what, &s.how.runtime));
    CHECK_OK(rgm_run_open(&run, &task, &s.how));
    CHECK_OK(ask_example(run, &s, 1));
    CHECK_STATUS(RGM_ERR_DATA, ask_example(run, &s, NAN));
    CHECK_MESSAGE("node set 'nodes': feature 'feat': item 0 is nan, which no model can read");
    rgm_run_close(run);
    close_setting(&s);
}

/* The one graph, of which training alone is left, has the feature too. */
static void give(setting *s, rgm_piece piece, const char *set, const char *name, rgm_feature *f)
{
    rgm_graph *next;

    CHECK_OK(rgm_graph_with_feature(&next, s->data.graphs[0], piece, set, name, f));
    rgm_tensor_release(f->values);
    rgm_graph_release(s->data.graphs[0]);
    rgm_schema_release(s->data.schema);
    s->data.graphs[0] = next;
    s->data.schema = rgm_schema_retain((rgm_schema *)rgm_graph_schema(next));
    rgm_provider_release(s->what.train_data);
    s->what.train_data = provider_of(s, "train", s->data.train, false);
    rgm_provider_release(s->what.valid_data);
    rgm_provider_release(s->what.test_data);
    s->what.valid_data = s->what.test_data = NULL;
}

/* A number of the graph's own, which the model reads. */
static void give_context(setting *s, float heat)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F32, 2, (int64_t[]){1, 1}, &heat));
    give(s, RGM_CONTEXT_PIECE, NULL, "heat", &f);
    s->model.rounds.context_feature = "heat";
}

static void a_number_of_the_context_is_one(void **state)
{
    setting s;

    (void)state;
    open_setting(&s, false, false);
    give_context(&s, 2);
    CHECK_OK(open_run(&s));
    close_setting(&s);
    open_setting(&s, false, false);
    give_context(&s, NAN);
    CHECK_STATUS(RGM_ERR_DATA, open_run(&s));
    CHECK_MESSAGE("train data: ");
    CHECK_MESSAGE("context: feature 'heat': item 0 is nan, which no model can read");
    close_setting(&s);
}

/* Integers that a model reads as amounts; the lowest stands for a missing one. */
static void a_weight_of_an_edge_is_there(void **state)
{
    rgm_gcn_model_options gcn;

    (void)state;
    rgm_gcn_model.section.defaults(&gcn);
    gcn.edge_weight = "weight";
    for (int missing = 0; missing < 2; missing++) {
        rgm_feature f = {0};
        int64_t edges;
        setting s;

        open_setting(&s, false, false);
        edges = rgm_graph_total(s.data.graphs[0], RGM_EDGE_SET, "edges");
        CHECK_OK(rgm_tensor_create(&f.values, RGM_I64, 1, &edges));
        for (int64_t i = 0; i < edges; i++)
            rgm_tensor_i64(f.values)[i] = missing && i == 3 ? INT64_MIN : 1 + i % 3;
        give(&s, RGM_EDGE_SET, "edges", "weight", &f);
        s.what.model_fn = rgm_gcn_model.build;
        s.what.model_payload = &gcn;
        CHECK_STATUS(missing ? RGM_ERR_DATA : RGM_OK, open_run(&s));
        if (missing)
            CHECK_MESSAGE("edge set 'edges': feature 'weight': item 3 is missing, which no model");
        close_setting(&s);
    }
}

TESTS(cmocka_unit_test(a_label_of_any_part_is_asked_before_the_first_step),
      cmocka_unit_test(batches_have_a_size_of_their_own),
      cmocka_unit_test(whole_graphs_take_a_label_of_any_name),
      cmocka_unit_test(a_number_of_the_context_is_one),
      cmocka_unit_test(a_weight_of_an_edge_is_there),
      cmocka_unit_test(numbers_that_are_none_are_refused_of_examples_too))

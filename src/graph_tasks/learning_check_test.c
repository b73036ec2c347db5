/*
 * Data of every part are held against model and tasks before the first step: all graphs in memory,
 * all seeds of mini-batches, and sizes that a provider of batches has itself.
 */
#include <check.h>

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

static void open_setting(setting *s, bool sampled, bool spoilt)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    const char *hops[] = {"edges"};

    *s = (setting){.what = RGM_GRAPH_LEARNING_OPTIONS_INIT, .how = RGM_RUN_OPTIONS_INIT};
    citation.nodes = PAPERS;
    citation.edges = 400;
    citation.classes = CLASSES;
    citation.words = 40;
    citation.words_per_node = 4;
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

TESTS(cmocka_unit_test(a_label_of_any_part_is_asked_before_the_first_step),
      cmocka_unit_test(batches_have_a_size_of_their_own),
      cmocka_unit_test(whole_graphs_take_a_label_of_any_name))

/*
 * Every label that the data have is learned from and judged, with its own item; what cannot be
 * paired, and labels that there are not, are refused.
 */
#include <check.h>

#include <regimen/graph_tasks.h>

enum { CLASSES = 4, VALID = 60 };

typedef struct papers {
    rgm_graph_data data;
    rgm_sampling_spec *spec;
    rgm_provider *train, *valid;
} papers;

static rgm_provider *sampled(const papers *p, rgm_tensor *seeds, int64_t batch_size)
{
    rgm_sampling_provider_options options = {
        .spec = p->spec, .batch_size = batch_size, .label = "label", .seed = 5, .threads = 1};
    rgm_provider *provider = rgm_sampling_provider(p->data.graphs[0], seeds, &options);

    CHECK(provider != NULL);
    return provider;
}

/* batch_size 0: the whole graph, asked about its papers. */
static papers open_papers(int64_t batch_size)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    const char *hops[] = {"edges"};
    papers p = {.spec = NULL};

    citation.nodes = 300;
    citation.edges = 700;
    citation.classes = CLASSES;
    citation.words = 60;
    citation.words_per_node = 6;
    citation.train_per_class = 10;
    citation.valid = VALID;
    citation.test = 0;
    CHECK_OK(rgm_generate_citation(&p.data, &citation));
    CHECK_OK(rgm_sampling_spec_create(&p.spec, p.data.schema, p.data.split_set, hops,
                                      (int64_t[]){3}, 1, RGM_SAMPLE_UNIFORM));
    p.train = batch_size > 0 ? sampled(&p, p.data.train, batch_size)
                             : rgm_graph_data_provider(&p.data, "train");
    p.valid = batch_size > 0 ? sampled(&p, p.data.valid, batch_size)
                             : rgm_graph_data_provider(&p.data, "valid");
    return p;
}

static void close_papers(papers *p)
{
    rgm_provider_release(p->train);
    rgm_provider_release(p->valid);
    rgm_sampling_spec_release(p->spec);
    rgm_graph_data_clear(&p->data);
}

static rgm_graph_task *task_of(const rgm_graph_task_type *type, int64_t classes)
{
    rgm_graph_classification_options options = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;

    options.place.node_set = "nodes";
    options.num_classes = classes;
    return rgm_graph_task_create(type, NULL, &options);
}

static rgm_status run_papers(rgm_open_run **run, const papers *p, rgm_graph_task *task)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_sage_model_options model;
    rgm_status status;

    *run = NULL;
    rgm_sage_model.section.defaults(&model);
    what.train_data = p->train;
    what.valid_data = p->valid;
    what.model_fn = rgm_sage_model.build;
    what.model_payload = &model;
    what.task = task;
    how.optimizer = rgm_adam(0.02);
    how.trainer.epochs = 5;
    how.runtime.threads = 1;
    status = rgm_run(run, &what, &how);
    rgm_graph_task_release(task);
    return status;
}

static rgm_open_run *must_run(const papers *p, const rgm_graph_task_type *type)
{
    rgm_open_run *run;

    CHECK_OK(run_papers(&run, p, task_of(type, CLASSES)));
    return run;
}

static void refuse(const papers *p, const rgm_graph_task_type *type, int64_t classes,
                   const char *message)
{
    rgm_open_run *run;

    CHECK_STATUS(RGM_ERR_DATA, run_papers(&run, p, task_of(type, classes)));
    CHECK_MESSAGE(message);
}

static rgm_status count_items(const rgm_prediction *prediction, void *payload)
{
    *(int64_t *)payload += rgm_tensor_dim(prediction->values, 0);
    return RGM_OK;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void roots_of_a_sampled_batch_are_all_learned_from(void **state)
{
    papers p = open_papers(8);
    rgm_open_run *roots = must_run(&p, &rgm_root_node_classification);
    rgm_open_run *nodes = must_run(&p, &rgm_node_classification);
    int64_t items = 0;

    (void)state;
    for (int mode = RGM_TRAIN; mode <= RGM_VALID; mode++) {
        const char *name = rgm_mode_name((rgm_mode)mode);

        CHECK_CLOSE(rgm_run_metric(roots, name, "loss"), rgm_run_metric(nodes, name, "loss"), 0, 0);
        CHECK_CLOSE(rgm_run_metric(roots, name, "accuracy"),
                    rgm_run_metric(nodes, name, "accuracy"), 0, 0);
    }
    CHECK_OK(rgm_run_predict(roots, RGM_VALID, 0, count_items, &items));
    CHECK_INT(VALID, items);
    rgm_run_close(roots);
    rgm_run_close(nodes);
    close_papers(&p);
}

static void a_whole_graph_has_no_root_and_a_batch_is_not_one_graph(void **state)
{
    papers whole = open_papers(0), batch = open_papers(8);

    (void)state;
    refuse(&whole, &rgm_root_node_classification, CLASSES,
           "root_node_classification: component 0 has 40 items of '_readout', but one is predicted "
           "for each component; node_classification");
    refuse(&batch, &rgm_graph_classification, CLASSES,
           "graph_classification: component 0 has 8 items of '_readout'");
    close_papers(&whole);
    close_papers(&batch);
}

static void labels_that_there_are_not_are_refused_by_every_kind(void **state)
{
    static const struct {
        const rgm_graph_task_type *type;
        int64_t classes;
        const char *message;
    } cases[] = {
        {&rgm_node_classification, 3,
         "node_classification: _readout: label 'label' of item 2 is 3, "
         "but must be 0..2"},
        {&rgm_root_node_classification, 2, "but must be 0..1"},
        {&rgm_graph_classification, 3, "but must be 0..2"},
        {&rgm_node_binary_classification, 0, "but must be 0..1"},
        {&rgm_root_node_binary_classification, 0, "but must be 0..1"},
        {&rgm_graph_binary_classification, 0, "but must be 0..1"},
    };
    papers p = open_papers(1);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(&p, cases[i].type, cases[i].classes, cases[i].message);
    close_papers(&p);
}

static void two_metrics_of_one_name_are_refused(void **state)
{
    static const char *const nines[] = {"0.9", "0.90"}, *const words[] = {"0.9", "1.5"};
    papers p = open_papers(1);
    rgm_graph_classification_options options = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_open_run *run;

    (void)state;
    options.recall_at_precisions = (rgm_texts){nines, 2};
    CHECK_STATUS(RGM_ERR_CONFIG, run_papers(&run, &p,
                                            rgm_graph_task_create(&rgm_node_binary_classification,
                                                                  NULL, &options)));
    CHECK_MESSAGE("two metrics are named 'recall_at_precision_90'");
    options.recall_at_precisions = (rgm_texts){words, 2};
    CHECK_STATUS(RGM_ERR_CONFIG, run_papers(&run, &p,
                                            rgm_graph_task_create(&rgm_node_binary_classification,
                                                                  NULL, &options)));
    CHECK_MESSAGE("'1.5' is not a number in (0, 1)");
    close_papers(&p);
}

/* ---- a task whose labels are of other items than its predictions ----------------------------- */

static rgm_status apart_views(rgm_graph_views *views, const rgm_graph_value *graph,
                              const void *options)
{
    (void)options;
    views->count = 1;
    views->graphs[0] = graph;
    views->labels = rgm_gather_first_node(graph, "_readout", "label"); /* [components] */
    return RGM_OK;
}

static rgm_status apart_predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                                const rgm_graph_views *views, const void *options)
{
    rgm_value *states =
        rgm_structured_readout(views->graphs[0], "seed", RGM_HIDDEN_STATE, RGM_READOUT);

    (void)options;
    *count = 1;
    outputs[0].predictions = rgm_dense(scope, outputs[0].name, states, CLASSES); /* [asked] */
    return RGM_OK;
}

static rgm_status apart_losses(rgm_head *outputs, int64_t count, const void *options)
{
    (void)count, (void)options;
    outputs[0].loss = rgm_mean(rgm_reduce(outputs[0].predictions, 1, RGM_SUM));
    return RGM_OK;
}

static const rgm_graph_task_type apart = {.section = {.name = "apart"},
                                          .preprocess = apart_views,
                                          .predict = apart_predict,
                                          .losses = apart_losses};

static void labels_of_other_items_than_the_predictions_are_refused(void **state)
{
    papers p = open_papers(1);
    rgm_open_run *run;

    (void)state;
    CHECK_STATUS(RGM_ERR_SHAPE, run_papers(&run, &p, rgm_graph_task_create(&apart, NULL, NULL)));
    CHECK_MESSAGE("head 'apart': predictions");
    CHECK_MESSAGE("are not of the same items");
    close_papers(&p);
}

TESTS(cmocka_unit_test(roots_of_a_sampled_batch_are_all_learned_from),
      cmocka_unit_test(a_whole_graph_has_no_root_and_a_batch_is_not_one_graph),
      cmocka_unit_test(labels_that_there_are_not_are_refused_by_every_kind),
      cmocka_unit_test(two_metrics_of_one_name_are_refused),
      cmocka_unit_test(labels_of_other_items_than_the_predictions_are_refused))

/* regimen predict: one CSV line for each predicted item. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/translation.h>

typedef struct prediction_view {
    const session *s;
    int64_t items;
    bool head_printed;
} prediction_view;

/* Number of the node that item i asks about, through "#id" of sampled graphs; -1: no node is. */
static int64_t node_of(const prediction_view *view, rgm_graph *graph, int64_t i)
{
    const rgm_gnn_task *task =
        view->s->options.task_count > 0 ? &view->s->options.tasks[0] : &view->s->options.task;
    char edge_set[256];
    rgm_tensor *source;
    const rgm_set_schema *set;
    const rgm_feature *id;

    if (graph == NULL || task->type->place != RGM_READ_NODES)
        return -1;
    snprintf(edge_set, sizeof edge_set, "%s/%s", task->options.readout_set, task->options.key);
    set = rgm_schema_find(rgm_graph_schema(graph), RGM_EDGE_SET, edge_set);
    if (set == NULL)
        return -1;
    source = rgm_graph_source(graph, edge_set);
    id = rgm_graph_feature(graph, RGM_NODE_SET, set->source, "#id");
    if (source == NULL || i >= rgm_tensor_count(source))
        return -1;
    i = rgm_tensor_at_int(source, i);
    return id != NULL ? rgm_tensor_at_int(id->values, i) : i;
}

static void print_head(prediction_view *view, int64_t units)
{
    if (view->head_printed)
        return;
    printf("item,node,prediction");
    for (int64_t u = 0; u < units; u++)
        printf(",logit_%lld", (long long)u);
    printf("\n");
    view->head_printed = true;
}

static rgm_status print_batch(void *payload, rgm_graph *graph, const rgm_tensor *predictions)
{
    prediction_view *view = payload;
    int64_t items = rgm_tensor_dim(predictions, 0);
    int64_t units = items > 0 ? rgm_tensor_count(predictions) / items : 0;

    print_head(view, units);
    for (int64_t i = 0; i < items; i++) {
        int64_t best = 0, node = node_of(view, graph, i);

        for (int64_t u = 1; u < units; u++)
            if (rgm_tensor_at(predictions, i * units + u) >
                rgm_tensor_at(predictions, i * units + best))
                best = u;
        if (units == 1)
            best = rgm_tensor_at(predictions, i) > 0;
        printf("%lld,", (long long)view->items++);
        if (node >= 0)
            printf("%lld", (long long)node);
        printf(",%lld", (long long)best);
        for (int64_t u = 0; u < units; u++)
            printf(",%.6g", rgm_tensor_at(predictions, i * units + u));
        printf("\n");
    }
    if (fflush(stdout) != 0)
        return RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
    return RGM_OK;
}

/* Batches of serialized examples from files instead of the run's own data. */
static rgm_status predict_files(prediction_view *view, const char *pattern, int64_t head)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_iterator *iterator = NULL;
    rgm_element *batch = NULL;
    rgm_graph *graph = NULL;
    rgm_tensor *predictions = NULL;

    if (view->s->options.train_data == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "--input takes graphs; this run's data are none: name "
                                             "others with --set data.test=FILE");
    RGM_GO(rgm_dataset_list_files(&data, pattern));
    RGM_GO(rgm_dataset_read_tfrecords(&data, NULL));
    RGM_GO(rgm_dataset_batch(&data, view->s->options.global_batch_size, false));
    RGM_GO(rgm_iterator_create(&iterator, data, NULL));
    while ((status = rgm_iterator_next(&batch, iterator)) == RGM_OK) {
        rgm_element *examples[1 << 12];
        int64_t count = rgm_element_count(batch);

        if (count > (int64_t)(sizeof examples / sizeof *examples))
            RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "data.batch_size is %lld, predict takes up to 4096",
                            (long long)count));
        for (int64_t i = 0; i < count; i++)
            examples[i] = rgm_element_item(batch, i);
        RGM_GO(rgm_run_preprocess(&graph, view->s->run, examples, count));
        RGM_GO(rgm_run_predict(&predictions, view->s->run, head, graph));
        RGM_GO(print_batch(view, graph, predictions));
        rgm_tensor_release(predictions);
        rgm_graph_release(graph);
        rgm_element_release(batch);
        predictions = NULL;
        graph = NULL;
        batch = NULL;
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_tensor_release(predictions);
    rgm_graph_release(graph);
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    return status;
}

int verb_predict(int argc, char **argv)
{
    const char *part = "test", *input = NULL;
    text_list sets = {.count = 0}, rest;
    int64_t head = 0;
    weights_choice weights = {.last = false};
    const argument arguments[] = {
        {"part", ARG_TEXT, &part, "NAME", "train, valid or test (default)"},
        {"input", ARG_TEXT, &input, "PATTERN", "TFRecord files of Examples instead"},
        {"head", ARG_INT, &head, "N", "which task, default 0"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {0}};
    const usage how = {
        "predict RUN_DIR [--part NAME | --input PATTERN] [--head N] [--last | --average N]",
        "Predictions as CSV: item, node, class and logits of each.", arguments, 1, 1};
    session s = {.run = NULL};
    data_choice data = {.modes = {false}};
    prediction_view view = {.s = &s};
    rgm_mode mode = RGM_TEST;
    rgm_status status;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    status = mode_by_name(&mode, part);
    if (status == RGM_OK) /* batches are the run's own, not its trainer's */
        status = session_open(&s, rest.items[0], &sets, &weights, &data);
    if (status == RGM_OK &&
        strcmp(rgm_trainer_task(rgm_run_trainer(s.run))->name, rgm_translation.name) == 0)
        status = RGM_FAIL(RGM_ERR_UNSUPPORTED,
                          "%s translates: 'regimen translate' has what it predicts", rest.items[0]);
    if (status == RGM_OK)
        status = input != NULL ? predict_files(&view, input, head)
                               : rgm_run_predict_all(s.run, mode, head, print_batch, &view);
    code = status == RGM_OK ? print_text("") : report(status);
    session_close(&s);
    return code;
}

/*
 * Predictions of a run's heads: for batches of its parts, or for given feeds.
 */
#include "run_internal.h"

enum { VALUES, PROBABILITIES, FETCHED }; /* of a head */

/* Run head `head`; the fetched tensors [FETCHED] are borrowed until the next run, NULL if a head
 * has no probabilities. */
static rgm_status run_head(rgm_tensor **fetched, const rgm_open_run *asked, int64_t head,
                           const rgm_feed *feeds, int64_t count)
{
    rgm_open_run *run = (rgm_open_run *)asked; /* executors are created at their first use */
    const rgm_head *heads;
    int64_t head_count = rgm_task_model_outputs(&heads, rgm_trainer_model(run->trainer));

    if (head_count == 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' predicts nothing", run->task.name);
    if (head < 0 || head >= head_count)
        return RGM_FAIL(RGM_ERR_ARG, "head %lld of %lld", (long long)head, (long long)head_count);
    if (run->predictors[head] == NULL) {
        rgm_executor_options options = {.device = rgm_trainer_device(run->trainer)};
        rgm_value *values[FETCHED] = {heads[head].predictions, heads[head].probabilities};

        RGM_TRY(rgm_executor_create(&run->predictors[head], rgm_trainer_graph(run->trainer), values,
                                    values[PROBABILITIES] != NULL ? FETCHED : 1, &options));
    }
    fetched[PROBABILITIES] = NULL;
    return rgm_executor_run(run->predictors[head], fetched, rgm_trainer_parameters(run->trainer),
                            feeds, count, (uint64_t)run->options.runtime.seed, 0);
}

rgm_status rgm_run_predict_feeds(rgm_tensor **out, const rgm_open_run *run, int64_t head,
                                 const rgm_feed *feeds, int64_t count)
{
    rgm_tensor *fetched[FETCHED];

    *out = NULL;
    RGM_TRY(run_head(fetched, run, head, feeds, count));
    return rgm_tensor_copy(out, fetched[VALUES]);
}

rgm_status rgmi_each_batch(rgm_dataset *data, const rgm_iterator_options *options,
                           rgm_status (*answer)(rgm_element *batch, void *payload), void *payload)
{
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;
    rgm_element *batch = NULL;

    RGM_GO(rgm_iterator_create(&iterator, data, options));
    while ((status = rgm_iterator_next(&batch, iterator)) == RGM_OK) {
        RGM_GO(answer(batch, payload));
        rgm_element_release(batch);
        batch = NULL;
    }
done:
    if (status == RGM_END) /* the data have ended, or the sink has seen enough */
        status = RGM_OK;
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    return status;
}

typedef struct predicting {
    const rgm_open_run *run;
    int64_t head;
    rgm_prediction_sink *sink;
    void *payload;
} predicting;

static rgm_status predict_batch(rgm_element *batch, void *payload)
{
    const predicting *p = payload;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t count = 0;
    rgm_tensor *fetched[FETCHED];

    RGM_TRY(p->run->task.feeds(feeds, RGM_MAX_FEEDS, &count, p->run->task.state, batch));
    RGM_TRY(run_head(fetched, p->run, p->head, feeds, count));
    return p->sink(&(rgm_prediction){batch, feeds, count, fetched[VALUES], fetched[PROBABILITIES]},
                   p->payload);
}

static rgm_status predict_dataset(const rgm_open_run *run, rgm_dataset *data, int64_t head,
                                  rgm_prediction_sink *sink, void *payload)
{
    rgm_logger *before = rgmi_enter(run->controller);
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    predicting all = {run, head, sink, payload};

    options.seed = (uint64_t)run->options.runtime.seed;
    options.threads = (int)run->options.runtime.threads;
    return rgmi_leave(before, rgmi_each_batch(data, &options, predict_batch, &all));
}

rgm_status rgm_run_predict(const rgm_open_run *run, rgm_mode mode, int64_t head,
                           rgm_prediction_sink *sink, void *payload)
{
    rgm_status status = RGM_OK;
    const rgm_task *task = &run->task;
    rgm_dataset *data = NULL;

    if (task->build_prediction_inputs != NULL)
        RGM_GO(task->build_prediction_inputs(&data, task->state, mode));
    else
        RGM_GO(task->build_inputs(&data, task->state, mode, false));
    if (data == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "there are no %s data", rgm_mode_name(mode)));
    RGM_GO(predict_dataset(run, data, head, sink, payload));
done:
    rgm_dataset_release(data);
    return status;
}

/*
 * Sums of a loop or pass and the metrics that follow from them. The loss is the mean of the steps'
 * losses weighted by their items, for several heads each by its own. All state is one array of
 * doubles, so a checkpoint in the middle of a loop keeps it exactly.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

static int64_t state_size(const rgm_task_metric *metric)
{
    return metric->metric.type->state_size(&metric->metric);
}

/* Collect the model's own metrics; with several heads, each head's name precedes its metrics'. */
static rgm_status collect_own(rgmi_sums *sums, const rgm_task_model *model, bool training)
{
    for (int64_t h = 0; h < model->head_count; h++)
        for (int64_t m = 0; m < model->heads[h].metric_count; m++) {
            if (training && model->heads[h].metrics[m].type->of_states)
                continue;
            sums->metrics[sums->count] =
                (rgm_task_metric){.metric = model->heads[h].metrics[m], .head = h};
            RGM_TRY(rgm_strprintf(&sums->names[sums->count++], "%s%s%s",
                                  model->head_count > 1 ? model->heads[h].name : "",
                                  model->head_count > 1 ? "_" : "",
                                  model->heads[h].metrics[m].name));
        }
    sums->own = sums->count;
    return RGM_OK;
}

static rgm_status collect_task(rgmi_sums *sums, const rgm_trainer *trainer, bool training)
{
    const rgm_task *task = &trainer->task;
    rgm_task_metric metrics[RGM_MAX_METRICS];
    int64_t count = 0;

    if (task->build_metrics == NULL)
        return RGM_OK;
    RGM_TRY(task->build_metrics(metrics, &count, &trainer->model, training, task->state));
    for (int64_t i = 0; i < count; i++) {
        if (metrics[i].head < 0 || metrics[i].head >= RGM_MAX_HEADS)
            return RGM_FAIL(RGM_ERR_ARG, "metric '%s' of task '%s' looks at head %lld",
                            metrics[i].metric.name, task->name, (long long)metrics[i].head);
        sums->metrics[sums->count] = metrics[i];
        RGM_TRY(rgm_strdup(&sums->names[sums->count++], metrics[i].metric.name));
    }
    return RGM_OK;
}

static void collect_kept(rgmi_sums *sums, int64_t head, const rgm_metric_type *type,
                         int64_t outputs)
{
    sums->metrics[sums->count++] =
        (rgm_task_metric){.metric = {.type = type, .outputs = outputs}, .head = head};
}

/* Only for passes: in a loop the weights change between predictions. */
static void collect_curves(rgmi_sums *sums, const rgm_task_model *model)
{
    for (int64_t h = 0; h < model->head_count; h++) {
        const rgm_head *head = &model->heads[h];

        if (head->curves == RGM_CURVES_OF_LABELS)
            collect_kept(sums, h, &rgm_metric_scores_of_labels, 0);
        if (head->curves == RGM_CURVES_OF_CLASSES)
            collect_kept(sums, h, &rgm_metric_scores_of_classes,
                         rgm_value_dim(head->predictions, 1));
        if (head->ranks_links)
            collect_kept(sums, h, &rgm_metric_ranks_of_links, 0);
    }
}

/* Of two metrics with one name the logs would keep only the last. */
static rgm_status check_names(const rgmi_sums *sums)
{
    for (int64_t i = 0; i < sums->told; i++)
        for (int64_t k = -1; k < i; k++)
            if (strcmp(sums->names[i], k < 0 ? "loss" : sums->names[k]) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "two metrics are named '%s'", sums->names[i]);
    return RGM_OK;
}

/* Only for passes: in a loop the weights change between predictions. */
static rgm_status open_confusion(rgmi_sums *sums, const rgm_trainer *trainer)
{
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        int64_t classes = trainer->model.heads[h].confusion;

        if (classes > RGM_MOST_CONFUSED || classes < 0)
            return RGM_FAIL(RGM_ERR_ARG, "head '%s': a confusion of %lld classes, %d are the most",
                            trainer->model.heads[h].name, (long long)classes, RGM_MOST_CONFUSED);
        if (classes > 0)
            RGM_TRY(RGM_NEW(sums->confusion[h], classes * classes));
        sums->classes[h] = classes;
    }
    return RGM_OK;
}

static bool keeps(const rgmi_sums *sums, int64_t i)
{
    return sums->metrics[i].metric.type->keeps_scores;
}

/* Whether a metric may look at the list of an earlier one, of the same head. */
static bool shares(const rgmi_sums *sums, int64_t i)
{
    return i < sums->own || sums->metrics[i].metric.type == &rgm_metric_scores_of_labels;
}

/* Give each metric that keeps scores its list; the model's own metrics of a head share one. */
static rgm_status open_scores(rgmi_sums *sums)
{
    RGM_TRY(RGM_NEW(sums->scores, sums->count));
    for (int64_t i = 0; i < sums->count; i++) {
        rgm_metric *metric = &sums->metrics[i].metric;

        if (!keeps(sums, i))
            continue;
        metric->scores = &sums->scores[i];
        for (int64_t k = 0; k < i && k < sums->own && shares(sums, i) && !metric->reads_scores; k++)
            if (keeps(sums, k) && sums->metrics[k].head == sums->metrics[i].head) {
                metric->scores = sums->metrics[k].metric.scores;
                metric->reads_scores = true;
            }
    }
    return RGM_OK;
}

/* Whether metric i has a list of its own; *count: how many scores are in it. */
static bool has_scores(int64_t *count, const rgmi_sums *sums, int64_t i)
{
    if (!keeps(sums, i) || sums->metrics[i].metric.reads_scores)
        return false;
    *count = (int64_t)sums->states[i][0];
    return true;
}

rgm_status rgmi_sums_open(rgmi_sums *sums, const rgm_trainer *trainer, bool training)
{
    int64_t most = RGM_MAX_METRICS + 2 * RGM_MAX_HEADS, at = 2;

    for (int64_t h = 0; h < trainer->model.head_count; h++)
        most += trainer->model.heads[h].metric_count;
    RGM_TRY(RGM_NEW(sums->metrics, most));
    RGM_TRY(RGM_NEW(sums->names, most));
    RGM_TRY(RGM_NEW(sums->states, most));
    RGM_TRY(collect_own(sums, &trainer->model, training));
    RGM_TRY(collect_task(sums, trainer, training));
    sums->told = sums->count;
    RGM_TRY(check_names(sums));
    if (!training)
        collect_curves(sums, &trainer->model);
    RGM_TRY(open_scores(sums));
    sums->size = 2;
    for (int64_t i = 0; i < sums->count; i++)
        sums->size += state_size(&sums->metrics[i]);
    if (trainer->heads.apart)
        sums->size += 2 * trainer->model.head_count;
    if (training)
        sums->size += rgmi_report_size(trainer);
    RGM_TRY(RGM_NEW(sums->sums, sums->size));
    if (!training)
        RGM_TRY(open_confusion(sums, trainer));
    for (int64_t i = 0; i < sums->count; i++) {
        sums->states[i] = sums->sums + at;
        at += state_size(&sums->metrics[i]);
    }
    sums->heads = trainer->heads.apart ? sums->sums + at : NULL;
    if (training && rgmi_report_size(trainer) > 0)
        sums->report = sums->sums + sums->size - rgmi_report_size(trainer);
    return RGM_OK;
}

void rgmi_sums_close(rgmi_sums *sums)
{
    for (int64_t i = 0; i < sums->count; i++) {
        rgm_free(sums->names[i]);
        if (sums->scores != NULL)
            rgm_metric_scores_clear(&sums->scores[i]);
    }
    rgm_free(sums->scores);
    rgm_free(sums->names);
    rgm_free(sums->metrics);
    rgm_free(sums->states);
    rgm_free(sums->sums);
    for (int64_t h = 0; h < RGM_MAX_HEADS; h++)
        rgm_free(sums->confusion[h]);
    rgm_logs_clear(&sums->logs);
}

void rgmi_sums_reset(rgmi_sums *sums)
{
    memset(sums->sums, 0, (size_t)sums->size * sizeof *sums->sums);
    memset(sums->confused, 0, sizeof sums->confused);
}

rgm_status rgmi_sums_merge(rgmi_sums *sums, const rgmi_sums *other)
{
    if (sums->size != other->size || sums->count != other->count)
        return RGM_FAIL(RGM_ERR_ARG, "sums of %lld metrics and of %lld cannot be added",
                        (long long)sums->count, (long long)other->count);
    for (int64_t i = 0, count, others; i < sums->count; i++)
        if (has_scores(&count, sums, i) && has_scores(&others, other, i))
            RGM_TRY(rgm_metric_scores_merge(&sums->scores[i], count, &other->scores[i], others));
    for (int64_t i = 0; i < sums->size; i++)
        sums->sums[i] += other->sums[i];
    for (int64_t h = 0; h < RGM_MAX_HEADS; h++) {
        int64_t classes = other->classes[h];

        if (!other->confused[h])
            continue;
        for (int64_t i = 0; i < classes * classes; i++)
            sums->confusion[h][i] =
                other->confusion[h][i] + (sums->confused[h] ? sums->confusion[h][i] : 0);
        sums->confused[h] = true;
    }
    return RGM_OK;
}

/* Exchange the counts of scores of two arrays of sums. */
static void swap_counts(double *a, double *b, const rgmi_sums *sums)
{
    for (int64_t i = 0; i < sums->count; i++) {
        int64_t at = sums->states[i] - sums->sums;
        double count = a[at];

        if (!keeps(sums, i))
            continue;
        a[at] = b[at];
        b[at] = count;
    }
}

void rgmi_sums_take(double *out, rgmi_sums *sums)
{
    memcpy(out, sums->sums, (size_t)sums->size * sizeof *out);
    memset(sums->sums, 0, (size_t)sums->size * sizeof *out);
    swap_counts(out, sums->sums, sums);
}

void rgmi_sums_put(rgmi_sums *sums, const double *before, double *added)
{
    for (int64_t i = 0; i < sums->size; i++)
        added[i] += before[i];
    swap_counts(added, sums->sums, sums);
    memcpy(sums->sums, added, (size_t)sums->size * sizeof *added);
}

/* One process's block: how many scores, then these. */
static rgm_status add_block(rgm_metric_scores *scores, rgm_str block)
{
    rgm_metric_scores read = {0};
    int64_t count;
    rgm_status status;

    if (block.size < (int64_t)sizeof count)
        return RGM_FAIL(RGM_ERR_FORMAT, "the scores of another process are missing");
    memcpy(&count, block.data, sizeof count);
    block.data += sizeof count;
    block.size -= (int64_t)sizeof count;
    status = rgm_metric_scores_restore(&read, (double)count, &block);
    if (status == RGM_OK)
        status = rgm_metric_scores_merge(scores, scores->count, &read, count);
    rgm_metric_scores_clear(&read);
    return status;
}

static rgm_status gather_scores(rgm_metric_scores *scores, int64_t first, int64_t count,
                                rgm_comm *comm)
{
    rgm_status status = RGM_OK;
    rgm_comm_blocks blocks = {0};
    rgm_text own = {0};
    int64_t added = count - first;

    RGM_GO(rgm_text_add(&own, &added, sizeof added));
    RGM_GO(rgm_metric_scores_save(&own, scores, first, added));
    RGM_GO(rgm_comm_gather(&blocks, comm, own.data, (size_t)own.size, RGM_COMM_ALL));
    scores->count = first;
    for (int k = 0; k < blocks.count; k++) {
        rgm_str block = {blocks.memory + blocks.begin[k],
                         (int64_t)(blocks.begin[k + 1] - blocks.begin[k])};

        RGM_GO(add_block(scores, block));
    }
done:
    rgm_comm_blocks_clear(&blocks);
    rgm_text_clear(&own);
    return status;
}

rgm_status rgmi_scores_gather(rgmi_sums *sums, const double *kept, rgm_comm *comm)
{
    if (rgm_comm_size(comm) == 1) /* they are in place */
        return RGM_OK;
    for (int64_t i = 0, count; i < sums->count; i++) {
        int64_t first = kept != NULL ? (int64_t)kept[sums->states[i] - sums->sums] : 0;

        if (has_scores(&count, sums, i))
            RGM_TRY(gather_scores(&sums->scores[i], first, count, comm));
    }
    for (int64_t i = 0; i < sums->count; i++)
        if (keeps(sums, i))
            *sums->states[i] = (double)sums->metrics[i].metric.scores->count;
    return RGM_OK;
}

rgm_status rgmi_sums_save(rgm_text *out, const rgmi_sums *sums)
{
    RGM_TRY(rgm_text_add(out, (const char *)sums->sums, sums->size * (int64_t)sizeof *sums->sums));
    for (int64_t i = 0, count; i < sums->count; i++)
        if (has_scores(&count, sums, i))
            RGM_TRY(rgm_metric_scores_save(out, &sums->scores[i], 0, count));
    return RGM_OK;
}

rgm_status rgmi_sums_restore(rgmi_sums *sums, rgm_str bytes)
{
    int64_t size = sums->size * (int64_t)sizeof *sums->sums, all = bytes.size;
    rgm_status status = RGM_OK;
    bool fits = all >= size;

    if (fits) {
        memcpy(sums->sums, bytes.data, (size_t)size);
        bytes.data += size;
        bytes.size -= size;
    }
    for (int64_t i = 0; i < sums->count && fits; i++) {
        const rgm_metric *metric = &sums->metrics[i].metric;
        double *count = sums->states[i];

        if (keeps(sums, i) && !metric->reads_scores)
            status = rgm_metric_scores_restore(metric->scores, *count, &bytes);
        else if (keeps(sums, i)) /* as the metric that fills the list */
            *count = (double)metric->scores->count;
        fits = status == RGM_OK;
    }
    if (fits && bytes.size == 0)
        return RGM_OK;
    rgmi_sums_reset(sums);
    if (status == RGM_ERR_NOMEM)
        return status;
    return RGM_FAIL(RGM_ERR_DATA,
                    "the checkpoint stands inside a loop, whose metric state has %lld bytes and "
                    "this task's %lld: it was made with other metrics, or with trainer.norms or "
                    "trainer.flops otherwise. Go on with these as they were",
                    (long long)all, (long long)size);
}

/* The first batch of a pass clears the counts of the last pass. */
static void count_confusions(rgmi_sums *sums, const rgm_step *step)
{
    const rgm_task_model *model = &step->trainer->model;

    for (int64_t h = 0; h < model->head_count; h++) {
        int64_t classes = model->heads[h].confusion;
        rgm_metric_batch batch = {.predictions = step->predictions[h],
                                  .labels = step->labels[h],
                                  .weights = step->weights[h]};

        if (sums->confusion[h] == NULL || batch.predictions == NULL || batch.labels == NULL)
            continue;
        if (!sums->confused[h])
            memset(sums->confusion[h], 0, (size_t)(classes * classes) * sizeof(int64_t));
        sums->confused[h] = true;
        rgm_confusion_update(sums->confusion[h], classes, &batch);
    }
}

rgmi_sums *rgmi_pass_sums(rgm_trainer *trainer)
{
    return trainer->eval_set >= 0 ? &trainer->sets[trainer->eval_set].sums
                                  : &trainer->eval_sums[trainer->eval_mode];
}

void rgmi_count_step(const rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    rgmi_sums *sums = trainer->evaluating ? rgmi_pass_sums(trainer) : &trainer->train_sums;
    const rgm_task *task = &trainer->task;
    int64_t own = sums->own, told = sums->told, rest = told - own;

    if (trainer->counted)
        return;
    trainer->counted = true;
    if (trainer->has_loss || !isnan(step->loss)) { /* of a model NaN is a loss too */
        double loss =
            sums->heads != NULL ? rgmi_heads_add(sums->heads, trainer, step->loss) : step->loss;

        if (step->items > 0)
            sums->sums[0] += loss * step->items;
        sums->sums[1] += step->items;
    }
    count_confusions(sums, step);
    if (own > 0 && task->process_compiled_metrics != NULL)
        task->process_compiled_metrics(sums->states, sums->metrics, own, step, task->state);
    else
        rgm_metrics_update(sums->states, sums->metrics, own, step);
    if (rest > 0 && task->process_metrics != NULL)
        task->process_metrics(sums->states + own, sums->metrics + own, rest, step, task->state);
    else
        rgm_metrics_update(sums->states + own, sums->metrics + own, rest, step);
    rgm_metrics_update(sums->states + told, sums->metrics + told, sums->count - told, step);
}

rgm_status rgmi_sums_finish(rgmi_sums *sums, const rgm_trainer *trainer)
{
    double loss = sums->heads != NULL ? rgmi_heads_sum(sums->heads, trainer) : 0;

    rgm_logs_clear(&sums->logs);
    if (sums->sums[1] > 0) /* else only heads after the first had a loss */
        loss += sums->sums[0] / sums->sums[1];
    if (sums->sums[1] > 0 || loss != 0)
        RGM_TRY(rgm_logs_set(&sums->logs, "loss", loss));
    for (int64_t i = 0, count; i < sums->count; i++) {
        if (!has_scores(&count, sums, i))
            continue;
        sums->scores[i].count = count; /* of this pass, also if it had no batches */
        RGM_TRY(rgm_metric_scores_ready(&sums->scores[i], i < sums->told ? count : 0));
    }
    for (int64_t i = 0; i < sums->told; i++)
        RGM_TRY(rgm_logs_set(
            &sums->logs, sums->names[i],
            sums->metrics[i].metric.type->result(sums->states[i], &sums->metrics[i].metric)));
    return RGM_OK;
}

const rgm_metric_scores *rgm_trainer_scores(const rgm_trainer *trainer, rgm_mode mode, int64_t set,
                                            int64_t head, bool ranks)
{
    const rgmi_sums *sums = set >= 0 ? &trainer->sets[set].sums : &trainer->eval_sums[mode];

    for (int64_t i = sums->told; i < sums->count; i++)
        if (sums->metrics[i].head == head &&
            (sums->metrics[i].metric.type == &rgm_metric_ranks_of_links) == ranks)
            return sums->metrics[i].metric.scores;
    return NULL;
}

int64_t rgm_trainer_metric_count(const rgm_trainer *trainer, rgm_mode mode)
{
    return 1 + trainer->eval_sums[mode].told;
}

const char *rgm_trainer_metric_name(const rgm_trainer *trainer, rgm_mode mode, int64_t i)
{
    return i == 0 ? "loss" : trainer->eval_sums[mode].names[i - 1];
}

bool rgm_trainer_smaller_is_better(const rgm_trainer *trainer, const char *metric)
{
    const rgmi_sums *sums = &trainer->eval_sums[RGM_VALID];

    if (strcmp(metric, "loss") == 0)
        return true;
    for (int64_t i = 0; i < sums->told; i++)
        if (strcmp(sums->names[i], metric) == 0)
            return sums->metrics[i].metric.type->smaller_is_better;
    return trainer->task.smaller_is_better != NULL &&
           trainer->task.smaller_is_better(metric, trainer->task.state);
}

/*
 * The default step of several shards: whose batches are read, whose are run.
 */
#include <string.h>

#include "trainer_internal.h"

/* The batches of one step. */
typedef struct work {
    rgm_step *step;
    int64_t each;        /* batches of one shard                                         */
    int64_t drawn;       /* batches of all shards so far                                 */
    rgm_element **ahead; /* [own * each] read before they run; NULL: each when it runs    */
    rgm_element *last;   /* the last that ran: the feeds are its                         */
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t feed_count;
    double all[RGM_MAX_HEADS]; /* items of each head in the whole step */
} work;

/* The next batch of the step, owned; NULL: the data have ended, or nothing is run for its shard. */
static rgm_status draw(rgm_element **out, work *w)
{
    const rgm_trainer *trainer = w->step->trainer;
    int64_t shard = w->drawn++ / w->each;
    rgm_status status = RGM_OK;

    *out = NULL;
    if (w->drawn == 1)
        *out = w->step->inputs != NULL ? rgm_element_retain(w->step->inputs) : NULL;
    else
        status = rgmi_next_train_inputs(out, w->step->trainer);
    if (*out != NULL && !rgmi_shard_has_batch(trainer, shard)) {
        rgm_element_release(*out);
        *out = NULL;
    }
    return status == RGM_END ? RGM_OK : status;
}

/* Read up to batch `until` of the step what other processes run. */
static rgm_status pass_over(work *w, int64_t until)
{
    while (w->drawn < until) {
        rgm_element *batch;

        RGM_TRY(draw(&batch, w));
        rgm_element_release(batch);
    }
    return RGM_OK;
}

/* After a failure the data go on where they would have without it. */
static void pass_over_rest(work *w, rgm_status status)
{
    int64_t all = w->each * w->step->trainer->shards.count;
    rgm_error error;

    if (status == RGM_OK)
        return;
    rgm_error_save(&error, status);
    while (w->drawn < all)
        (void)pass_over(w, all);
    (void)rgm_error_restore(&error);
}

static rgm_status read_ahead(work *w)
{
    const rgmi_shards *shards = &w->step->trainer->shards;

    RGM_TRY(RGM_NEW(w->ahead, shards->own * w->each));
    RGM_TRY(pass_over(w, shards->first * w->each));
    for (int64_t i = 0; i < shards->own * w->each; i++)
        RGM_TRY(draw(&w->ahead[i], w));
    return pass_over(w, shards->count * w->each);
}

/* Heads with means over their own items need the number of these in all shards first. */
static rgm_status count_items(work *w)
{
    rgm_trainer *trainer = w->step->trainer;
    rgmi_shards *shards = &trainer->shards;
    double *all = shards->heads.values, items[RGM_MAX_HEADS];

    for (int64_t s = 0; s < shards->own; s++) {
        memset(all, 0, (size_t)shards->heads.size * sizeof *all);
        for (int64_t k = 0; k < w->each; k++) {
            rgm_element *batch = w->ahead[s * w->each + k];

            if (batch == NULL)
                continue;
            w->feed_count = 0;
            RGM_TRY(rgmi_feed(w->feeds, &w->feed_count, trainer, batch));
            RGM_TRY(rgmi_heads_count(items, trainer, w->feeds, w->feed_count));
            for (int64_t h = 0; h < shards->heads.size; h++)
                all[h] += items[h];
        }
        rgm_shard_sum_add(shards->heads.sum, all);
    }
    return RGM_OK;
}

/* Of an error before it the others hear in the exchange: rgmi_agree() tells them. */
static rgm_status complete(work *w)
{
    const rgm_trainer *trainer = w->step->trainer;

    RGM_TRY(read_ahead(w));
    return trainer->task.complete(w->ahead, trainer->shards.own * w->each, trainer->task.state);
}

/* Read what has to be there before the first batch runs. */
static rgm_status prepare(work *w)
{
    rgm_trainer *trainer = w->step->trainer;
    rgmi_shards *shards = &trainer->shards;
    bool counts = trainer->heads.count_run != NULL;
    rgm_status status;

    if (!counts && trainer->task.complete == NULL)
        return RGM_OK;
    status = trainer->task.complete != NULL ? complete(w) : read_ahead(w);
    if (status == RGM_OK && counts)
        status = count_items(w);
    RGM_TRY(rgmi_agree(trainer, status));
    if (!counts)
        return RGM_OK;
    RGM_TRY(rgm_comm_sum(trainer->comm, shards->heads.values, shards->heads.size, RGM_F64));
    memcpy(w->all, shards->heads.values, (size_t)shards->heads.size * sizeof *w->all);
    return RGM_OK;
}

static rgm_status run_shard(work *w, int64_t shard)
{
    rgm_trainer *trainer = w->step->trainer;
    rgmi_part part = {0};
    bool any = false;

    rgmi_shard_begin(trainer, shard);
    for (int64_t k = 0; k < w->each; k++) {
        rgm_element *batch = NULL;

        if (w->ahead != NULL)
            batch = rgm_element_retain(w->ahead[(shard - trainer->shards.first) * w->each + k]);
        else
            RGM_TRY(draw(&batch, w));
        if (batch == NULL)
            break;
        any = true;
        rgm_element_release(w->last);
        w->last = batch;
        RGM_TRY(rgmi_add_batch(w->step, w->feeds, &w->feed_count, batch, w->all, k, &part));
    }
    rgmi_shard_end(trainer, &part, any);
    return RGM_OK;
}

static rgm_status run_shards(work *w)
{
    const rgmi_shards *shards = &w->step->trainer->shards;

    if (w->ahead == NULL)
        RGM_TRY(pass_over(w, shards->first * w->each));
    for (int64_t s = 0; s < shards->own; s++)
        RGM_TRY(run_shard(w, shards->first + s));
    return pass_over(w, shards->count * w->each);
}

static void work_clear(work *w)
{
    const rgmi_shards *shards = &w->step->trainer->shards;

    for (int64_t i = 0; i < shards->own * w->each && w->ahead != NULL; i++)
        rgm_element_release(w->ahead[i]);
    rgm_free(w->ahead);
    rgm_element_release(w->last);
}

/* Forward and backward of all shards, summed. */
static rgm_status run(rgmi_part *all, work *w)
{
    rgm_trainer *trainer = w->step->trainer;
    rgm_status status = prepare(w);

    if (status != RGM_OK) /* all know of it */
        return rgmi_step_undo(trainer, status);
    return rgmi_shards_sum(all, trainer, run_shards(w));
}

/* The loss over the batches of all shards: all processes find the same. */
static rgm_status check_whole(rgm_trainer *trainer, double loss)
{
    rgm_status status = rgmi_check_loss(trainer, loss);

    trainer->is_bad = trainer->is_bad || status != RGM_OK;
    return rgmi_step_undo(trainer, status);
}

rgm_status rgmi_shards_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    work w = {.step = step, .each = trainer->options.accumulation_steps};
    rgmi_part all = {0};
    rgm_status status;

    rgmi_shards_begin(trainer);
    status = run(&all, &w);
    pass_over_rest(&w, status);
    if (status == RGM_OK) {
        step->loss = 0;
        rgmi_set_part(step, &all);
        status = check_whole(trainer, step->loss);
    }
    if (status == RGM_OK) {
        rgmi_divide_gradients(trainer, all.items);
        status = rgmi_update(trainer, trainer->accumulator.sums, w.last != NULL ? w.feeds : NULL,
                             w.feed_count);
        status = rgmi_step_undo(trainer, status);
    }
    trainer->counted = true;
    work_clear(&w);
    return status;
}

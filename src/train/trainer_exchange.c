/*
 * The exchange of gradients between the processes of a step. Backward makes the last layers'
 * gradients first, so the array has them in that order, cut into buckets. While the last batch of a
 * step runs, the executor tells of each gradient that is final; it is added to the sum over this
 * process's shards, and when all of a bucket are there, its sum over the processes begins. What
 * backward has not made by then travels behind it.
 *
 * All processes begin the same buckets in the same order, whatever became of their batches.
 *
 * With runtime.gradient_exchange bf16 each shard's gradient is rounded, and so is each sum of two
 * in the tree over shards. So whichever of these numbers travel, they have 16 bits, and the result
 * does not depend on how many processes there are.
 */
#include <stdlib.h>
#include <string.h>

#include "trainer_internal.h"

/* The last bucket travels when backward is over, so none is large: an eighth of all, within these
 * bounds. Below them a message takes as long whatever is in it. */
#define BUCKET_LEAST (64 << 10)
#define BUCKET_MOST  (1 << 20)
#define BUCKET_SHARE 8

/* ---- opening ------------------------------------------------------------------------------- */

typedef struct place {
    int64_t parameter, made; /* made: the number of its gradient in the graph */
} place;

static int by_made(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->made != y->made)
        return x->made < y->made ? -1 : 1;
    return x->parameter < y->parameter ? -1 : x->parameter > y->parameter;
}

/* The parameters whose gradients are of f32, in the order in which the graph as it was written
 * makes these: it is the same on every host. */
static int64_t list_places(place *places, int64_t *fetched_of, const rgm_trainer *trainer)
{
    const rgmi_fetches *fetches = &trainer->train_fetches;
    int64_t count = 0, at = 0;

    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        const rgm_value *gradient;

        if (!rgm_parameters_trainable(trainer->parameters, i))
            continue;
        gradient = fetches->values[fetches->gradients + at];
        fetched_of[at++] = i;
        if (rgm_tensor_dtype(rgm_parameters_form(trainer->parameters, i)) == RGM_F32)
            places[count++] = (place){i, rgm_value_number(gradient)};
    }
    if (count > 0)
        qsort(places, (size_t)count, sizeof *places, by_made);
    return count;
}

/* Numbers in a bucket. */
static int64_t bucket_size(const place *places, int64_t count, const rgm_trainer *trainer)
{
    int64_t bytes = 0;

    for (int64_t k = 0; k < count; k++)
        bytes += (int64_t)rgm_tensor_bytes(
            rgm_parameters_form(trainer->parameters, places[k].parameter));
    bytes /= BUCKET_SHARE;
    bytes = bytes < BUCKET_LEAST ? BUCKET_LEAST : bytes > BUCKET_MOST ? BUCKET_MOST : bytes;
    return bytes / (int64_t)sizeof(float);
}

/* Whole parameters, until a bucket is full. */
static void fill_buckets(rgmi_buckets *e, const place *places, int64_t count, int64_t *begins,
                         const rgm_trainer *trainer)
{
    const int64_t most = bucket_size(places, count, trainer);
    rgmi_bucket *bucket = NULL;

    for (int64_t k = 0; k < count; k++) {
        int64_t i = places[k].parameter;
        int64_t size = rgm_tensor_count(rgm_parameters_form(trainer->parameters, i));

        if (bucket == NULL || bucket->to - bucket->from + size > most) {
            bucket = &e->buckets[e->count++];
            bucket->from = bucket->to = e->gradients.size;
        }
        begins[i] = bucket->to;
        e->gradients.size = bucket->to += size;
        e->bucket_of[i] = e->count - 1;
        bucket->count++;
    }
}

rgm_status rgmi_buckets_open(rgm_trainer *trainer, int64_t *begins)
{
    rgm_status status = RGM_OK;
    rgmi_buckets *e = &trainer->shards.exchange;
    int64_t parameters = rgm_parameters_count(trainer->parameters), count;
    place *places = NULL;

    RGM_GO(RGM_NEW(places, parameters));
    RGM_GO(RGM_NEW(e->fetched_of, parameters));
    RGM_GO(RGM_NEW(e->bucket_of, parameters));
    RGM_GO(RGM_NEW(e->added, parameters));
    for (int64_t i = 0; i < parameters; i++)
        begins[i] = e->bucket_of[i] = -1;
    count = list_places(places, e->fetched_of, trainer);
    RGM_GO(RGM_NEW(e->buckets, count));
    fill_buckets(e, places, count, begins, trainer);
    if (trainer->runtime.gradient_exchange == RGM_EXCHANGE_BF16)
        e->narrow.size = e->gradients.size;
    /* what is not added up itself is the sum of one */
    RGM_GO(rgmi_shared_open(&e->gradients, RGM_F32, e->narrow.size > 0 ? 1 : trainer->shards.own));
    RGM_GO(rgmi_shared_open(&e->narrow, RGM_BF16, trainer->shards.own));
done:
    rgm_free(places);
    return status;
}

void rgmi_buckets_close(rgmi_buckets *e)
{
    rgmi_shared_close(&e->gradients);
    rgmi_shared_close(&e->narrow);
    rgm_free(e->buckets);
    rgm_free(e->bucket_of);
    rgm_free(e->fetched_of);
    rgm_free(e->added);
}

/* ---- bf16 ---------------------------------------------------------------------------------- */

#define BLOCK 4096 /* numbers that one thread rounds at a time */

/* Numbers [from, to) of an exchange. */
typedef struct part {
    rgmi_buckets *exchange;
    int64_t from, to;
} part;

static void round_blocks(void *payload, int64_t begin, int64_t end)
{
    const part *p = payload;
    const float *wide = p->exchange->gradients.values;
    uint16_t *narrow = p->exchange->narrow.values;
    int64_t from = p->from + begin * BLOCK, to = p->from + end * BLOCK;

    for (int64_t i = from; i < to && i < p->to; i++)
        narrow[i] = rgm_bf16_from(wide[i]);
}

static void widen_blocks(void *payload, int64_t begin, int64_t end)
{
    const part *p = payload;
    float *wide = p->exchange->gradients.values;
    const uint16_t *narrow = p->exchange->narrow.values;
    int64_t from = p->from + begin * BLOCK, to = p->from + end * BLOCK;

    for (int64_t i = from; i < to && i < p->to; i++)
        wide[i] = rgm_bf16_to(narrow[i]);
}

/* With `work` on the numbers of a part, where they are rounded at all. */
static void convert(rgmi_buckets *e, int64_t from, int64_t to,
                    void (*work)(void *payload, int64_t begin, int64_t end))
{
    part p = {e, from, to};

    if (e->narrow.size > 0)
        rgm_parallel((to - from + BLOCK - 1) / BLOCK, BLOCK * 0.5, work, &p);
}

/* What is added up over shards, and travels. */
static rgmi_shared *added_up(rgmi_buckets *e)
{
    return e->narrow.size > 0 ? &e->narrow : &e->gradients;
}

/* ---- a step -------------------------------------------------------------------------------- */

void rgmi_buckets_reset(rgmi_buckets *e)
{
    if (added_up(e)->sum != NULL)
        rgm_shard_sum_reset(added_up(e)->sum);
    for (int64_t b = 0; b < e->count; b++)
        e->buckets[b].left = e->buckets[b].count;
    e->begun = 0;
    e->status = RGM_OK;
}

void rgmi_buckets_clear(rgmi_buckets *e)
{
    if (e->gradients.size > 0)
        memset(e->gradients.values, 0, (size_t)e->gradients.size * sizeof(float));
}

void rgmi_buckets_add(rgmi_buckets *e)
{
    convert(e, 0, e->gradients.size, round_blocks);
    if (added_up(e)->sum != NULL)
        (void)rgm_shard_sum_add(added_up(e)->sum, added_up(e)->values);
}

/* The next bucket: the sum over this process's shards, and on its way. */
static void begin_bucket(rgm_trainer *trainer)
{
    rgmi_buckets *e = &trainer->shards.exchange;
    rgmi_bucket *bucket = &e->buckets[e->begun++];
    rgmi_shared *array = added_up(e);
    rgm_dtype dtype = array == &e->narrow ? RGM_BF16 : RGM_F32;
    rgm_status status;

    convert(e, bucket->from, bucket->to, round_blocks);
    rgm_shard_sum_add_part(array->sum, array->values, bucket->from, bucket->to);
    status =
        rgm_comm_sum_begin(&bucket->request, trainer->comm,
                           (char *)array->values + (size_t)bucket->from * rgm_dtype_size(dtype),
                           bucket->to - bucket->from, dtype);
    if (status != RGM_OK && e->status == RGM_OK) {
        e->status = status;
        rgm_error_save(&e->error, status);
    }
}

void rgmi_buckets_begin(rgm_trainer *trainer)
{
    rgmi_buckets *e = &trainer->shards.exchange;

    while (e->begun < e->count)
        begin_bucket(trainer);
}

rgm_status rgmi_buckets_wait(rgm_trainer *trainer)
{
    rgmi_buckets *e = &trainer->shards.exchange;
    rgm_status status = e->status == RGM_OK ? RGM_OK : rgm_error_restore(&e->error);

    for (int64_t b = 0; b < e->begun; b++) {
        rgm_status of_bucket = rgm_comm_sum_wait(&e->buckets[b].request);

        status = status == RGM_OK ? of_bucket : status;
        convert(e, e->buckets[b].from, e->buckets[b].to, widen_blocks);
    }
    return status;
}

/* ---- while the last batch runs ------------------------------------------------------------- */

/* Add the gradient of parameter i to the sum over its shard, and begin what is complete now. */
static void add_gradient(rgm_trainer *trainer, int64_t i, const rgm_tensor *gradient)
{
    rgmi_buckets *e = &trainer->shards.exchange;

    rgmi_add_scaled(trainer->accumulator.sums[i], gradient, e->items, e->first);
    e->added[i] = true;
    if (e->bucket_of[i] >= 0)
        e->buckets[e->bucket_of[i]].left--;
    while (e->begun < e->count && e->buckets[e->begun].left == 0)
        begin_bucket(trainer);
}

/* Gradients are weighed by the items of their batch, so those that come before wait. */
static void add_from(rgm_trainer *trainer, int64_t at, int64_t count, rgm_tensor *const *fetched)
{
    const rgmi_buckets *e = &trainer->shards.exchange;

    for (int64_t k = at; k < at + count; k++) {
        int64_t i = e->fetched_of[k];
        const rgm_tensor *gradient = fetched[trainer->train_fetches.gradients + k];

        if (gradient != NULL && !e->added[i])
            add_gradient(trainer, i, gradient);
    }
}

static void see_fetch(int64_t fetch, rgm_tensor *const *fetched, void *payload)
{
    rgm_trainer *trainer = payload;
    const rgmi_fetches *fetches = &trainer->train_fetches;
    rgmi_buckets *e = &trainer->shards.exchange;

    if (!e->known) {
        e->known = rgmi_items_so_far(&e->items, fetches);
        if (e->known)
            add_from(trainer, 0, fetches->updates - fetches->gradients, fetched);
    } else if (fetch >= fetches->gradients && fetch < fetches->updates) {
        add_from(trainer, fetch - fetches->gradients, 1, fetched);
    }
}

void rgmi_buckets_watch(rgm_trainer *trainer, int64_t k)
{
    rgmi_buckets *e = &trainer->shards.exchange;

    /* Of parts of one batch rows travel then, and both would be begun in an order of each rank. */
    e->live = rgmi_is_sharded(trainer) && rgm_comm_size(trainer->comm) > 1 &&
              trainer->task.parts == 0 && rgmi_is_last_shard(trainer) &&
              k == trainer->options.accumulation_steps - 1;
    if (!e->live)
        return;
    memset(e->added, 0, (size_t)rgm_parameters_count(trainer->parameters) * sizeof *e->added);
    e->first = k == 0;
    e->known = trainer->heads.count_run != NULL; /* shares of heads are in the gradients */
    e->items = 1;
    rgm_executor_watch_fetches(trainer->train_run, see_fetch, trainer);
}

void rgmi_buckets_unwatch(rgm_trainer *trainer)
{
    rgm_executor_watch_fetches(trainer->train_run, NULL, NULL);
}

bool rgmi_buckets_has(const rgm_trainer *trainer, int64_t i)
{
    return trainer->shards.exchange.live && trainer->shards.exchange.added[i];
}

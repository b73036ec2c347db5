/*
 * A whole list of seeds, in parallel. Threads take seeds in small runs and leave each subgraph in
 * its slot of a ring; the caller's thread hands them to the sink in the order of the seeds, so what
 * is written is the same for any number of threads. The ring bounds how far threads run ahead.
 */
#include "sampler_internal.h"

#include <string.h>
#include <unistd.h>

#define SEEDS_AT_A_TIME  4
#define SLOTS_PER_THREAD 16

typedef struct slot {
    bool done;
    rgm_status status;
    rgm_graph *graph;
    rgm_text example;
    rgm_error error; /* where status < 0 */
} slot;

typedef struct run {
    const rgm_sampler *sampler;
    const int64_t *nodes;
    int64_t count;
    const rgm_sampler_run_options *options;
    pthread_mutex_t lock;
    pthread_cond_t made, taken;
    int64_t next, written;
    bool stop;
    slot *slots;
    int64_t slot_count;
} run;

static rgm_status make(rgm_graph **graph, rgm_text *example, const rgm_sampler *sampler,
                       int64_t node, const rgm_sampler_run_options *options)
{
    rgm_status status = RGM_OK;
    rgm_graph *bare = NULL;
    rgm_tensor *root = NULL;
    int64_t one = 1;

    RGM_GO(rgm_sampler_sample(&bare, sampler, node, options->epoch));
    if (options->readout) {
        RGM_GO(rgm_tensor_create(&root, RGM_I64, 1, &one)); /* the seed is node 0 */
        RGM_GO(rgmi_sampler_readout(graph, sampler, bare, root, options->label));
    } else {
        *graph = bare;
        bare = NULL;
    }
    if (options->encode)
        RGM_GO(rgm_graph_encode(example, *graph, ""));
done:
    rgm_tensor_release(root);
    rgm_graph_release(bare);
    return status;
}

static void clear_slot(slot *at)
{
    rgm_graph_release(at->graph);
    at->graph = NULL;
    at->example.size = 0; /* its memory is used again */
    at->done = false;
}

static void work(void *payload)
{
    run *self = payload;

    pthread_mutex_lock(&self->lock);
    for (;;) {
        int64_t begin, end;
        while (!self->stop && self->next < self->count &&
               self->next + SEEDS_AT_A_TIME > self->written + self->slot_count)
            pthread_cond_wait(&self->taken, &self->lock);
        if (self->stop || self->next >= self->count)
            break;
        begin = self->next;
        end = begin + SEEDS_AT_A_TIME < self->count ? begin + SEEDS_AT_A_TIME : self->count;
        self->next = end;
        pthread_mutex_unlock(&self->lock);
        for (int64_t i = begin; i < end; i++) {
            slot *at = &self->slots[i % self->slot_count];
            at->status =
                make(&at->graph, &at->example, self->sampler, self->nodes[i], self->options);
            if (at->status != RGM_OK)
                rgm_error_save(&at->error, at->status);
        }
        pthread_mutex_lock(&self->lock);
        for (int64_t i = begin; i < end; i++)
            self->slots[i % self->slot_count].done = true;
        pthread_cond_signal(&self->made);
    }
    pthread_mutex_unlock(&self->lock);
}

/* Hand the subgraphs to the sink, in order. */
static rgm_status drain(run *self, rgm_sample_sink *sink, void *payload)
{
    for (int64_t i = 0; i < self->count; i++) {
        slot *at = &self->slots[i % self->slot_count];
        rgm_status status;
        pthread_mutex_lock(&self->lock);
        while (!at->done)
            pthread_cond_wait(&self->made, &self->lock);
        pthread_mutex_unlock(&self->lock);
        status = at->status == RGM_OK
                     ? sink(payload, i, at->graph, self->options->encode ? &at->example : NULL)
                     : rgm_error_restore(&at->error);
        clear_slot(at);
        RGM_TRY(status);
        pthread_mutex_lock(&self->lock);
        self->written = i + 1;
        if (self->written % SEEDS_AT_A_TIME == 0 || self->written == self->count)
            pthread_cond_broadcast(&self->taken);
        pthread_mutex_unlock(&self->lock);
    }
    return RGM_OK;
}

static void stop(run *self)
{
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    pthread_cond_broadcast(&self->taken);
    pthread_mutex_unlock(&self->lock);
}

static rgm_status run_parallel(const rgm_sampler *sampler, const int64_t *nodes, int64_t count,
                               const rgm_sampler_run_options *options, int threads,
                               rgm_sample_sink *sink, void *payload)
{
    rgm_status status = RGM_OK;
    run self = {.sampler = sampler, .nodes = nodes, .count = count, .options = options};
    rgm_thread_pool *pool = NULL;

    self.slot_count = (int64_t)threads * SLOTS_PER_THREAD;
    pthread_mutex_init(&self.lock, NULL);
    pthread_cond_init(&self.made, NULL);
    pthread_cond_init(&self.taken, NULL);
    RGM_GO(RGM_NEW(self.slots, self.slot_count));
    RGM_GO(rgm_thread_pool_create(&pool, threads));
    for (int t = 0; t < threads; t++)
        RGM_GO(rgm_thread_pool_submit(pool, work, &self));
    RGM_GO(drain(&self, sink, payload));
done:
    stop(&self);
    rgm_thread_pool_release(pool);
    for (int64_t i = 0; self.slots && i < self.slot_count; i++) {
        clear_slot(&self.slots[i]);
        rgm_text_clear(&self.slots[i].example);
    }
    rgm_free(self.slots);
    pthread_cond_destroy(&self.taken);
    pthread_cond_destroy(&self.made);
    pthread_mutex_destroy(&self.lock);
    return status;
}

static rgm_status run_alone(const rgm_sampler *sampler, const int64_t *nodes, int64_t count,
                            const rgm_sampler_run_options *options, rgm_sample_sink *sink,
                            void *payload)
{
    rgm_status status = RGM_OK;
    slot only = {.graph = NULL};

    for (int64_t i = 0; i < count; i++) {
        RGM_GO(make(&only.graph, &only.example, sampler, nodes[i], options));
        RGM_GO(sink(payload, i, only.graph, options->encode ? &only.example : NULL));
        clear_slot(&only);
    }
done:
    clear_slot(&only);
    rgm_text_clear(&only.example);
    return status;
}

rgm_status rgm_sampler_run(const rgm_sampler *sampler, const int64_t *nodes, int64_t count,
                           const rgm_sampler_run_options *options, rgm_sample_sink *sink,
                           void *payload)
{
    rgm_sampler_run_options defaults = RGM_SAMPLER_RUN_OPTIONS_INIT;
    int threads;

    if (options == NULL)
        options = &defaults;
    threads = options->threads > 0 ? options->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (threads <= 1)
        return run_alone(sampler, nodes, count, options, sink, payload);
    return run_parallel(sampler, nodes, count, options, threads, sink, payload);
}

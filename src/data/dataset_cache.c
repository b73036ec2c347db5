/*
 * cache: keeps the elements of the first pass in memory. The store belongs to the iterator, not to
 * the stage, so that it outlives the epochs of a repeat. A stage of the input in epoch 0 fills it,
 * only as far as elements are requested. After a restore in the middle, the first next reads the
 * input from its start up to that place, which filling the cache needs in any case.
 */
#include "data_internal.h"

/** An element, or the error that took its place. */
typedef struct place {
    rgm_element *element;
    rgm_error *error;
} place;

typedef struct rgmi_cache {
    struct rgmi_cache *next; /* of the iterator's */
    const rgm_dataset *dataset;
    uint64_t branch;
    place *places;
    int64_t count, capacity;
    rgm_stage *input; /* fills it; NULL before the first element and after the last */
    bool complete;
} rgmi_cache;

typedef struct cache_state {
    rgmi_cache *cache;
    bool own; /* of this stage alone: below a dataset that is made while running */
    int64_t next;
} cache_state;

static void cache_release(rgmi_cache *cache)
{
    for (int64_t i = 0; i < cache->count; i++) {
        rgm_element_release(cache->places[i].element);
        rgm_free(cache->places[i].error);
    }
    rgm_free(cache->places);
    rgm_stage_close(cache->input);
    rgm_free(cache);
}

/**
 * The list is oldest first, and a cache is older than those that its own input uses, perhaps in a
 * thread: so the inputs are closed in this order, and only then memory is freed.
 */
void rgmi_caches_release(rgmi_cache *caches)
{
    for (rgmi_cache *cache = caches; cache != NULL; cache = cache->next) {
        rgm_stage_close(cache->input);
        cache->input = NULL;
    }
    while (caches != NULL) {
        rgmi_cache *next = caches->next;
        cache_release(caches);
        caches = next;
    }
}

/** The cache of the stage's op in this iterator, made at the end of the list if need be. */
static rgm_status find_cache(rgmi_cache **out, rgm_stage *stage, rgmi_cache **list)
{
    while (*list != NULL &&
           ((*list)->dataset != stage->dataset || (*list)->branch != stage->branch))
        list = &(*list)->next;
    if (*list == NULL) {
        RGM_TRY(RGM_NEW(*list, 1));
        (*list)->dataset = stage->dataset;
        (*list)->branch = stage->branch;
    }
    *out = *list;
    return RGM_OK;
}

static rgm_status cache_open(rgm_stage *stage)
{
    cache_state *s = stage->state;
    rgm_status status;

    s->own = stage->dynamic;
    if (s->own)
        return RGM_NEW(s->cache, 1);
    pthread_mutex_lock(&stage->tree->lock);
    status = find_cache(&s->cache, stage, &stage->tree->caches);
    pthread_mutex_unlock(&stage->tree->lock);
    return status;
}

/** One more place of the input. RGM_END, and then the cache is complete. */
static rgm_status add_place(rgm_stage *stage, rgmi_cache *cache)
{
    place p = {NULL, NULL};
    rgm_status status;

    if (cache->complete)
        return RGM_END;
    RGM_TRY(RGM_RESERVE(cache->places, cache->capacity, cache->count + 1));
    if (cache->input == NULL)
        RGM_TRY(rgm_stage_open(&cache->input, stage, stage->dataset->inputs[0], 0, 0));
    status = rgm_stage_next(&p.element, cache->input);
    if (status == RGM_END) {
        cache->complete = true;
        rgm_stage_close(cache->input);
        cache->input = NULL;
    }
    if (status > 0 || status == RGM_ERR_NOMEM)
        return status; /* memory may be there again in the next epoch */
    if (status < 0) {
        p.error = rgm_malloc(sizeof *p.error);
        if (p.error == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for keeping an error");
        rgm_error_save(p.error, status);
    }
    cache->places[cache->count++] = p;
    return RGM_OK;
}

static rgm_status cache_next(rgm_element **out, rgm_stage *stage)
{
    cache_state *s = stage->state;

    const place *p;

    while (s->cache->count <= s->next)
        RGM_TRY(add_place(stage, s->cache));
    p = &s->cache->places[s->next++];
    if (p->error != NULL)
        return rgm_error_restore(p->error);
    *out = rgm_element_retain(p->element);
    return RGM_OK;
}

static rgm_status cache_save(rgm_text *out, const rgm_stage *stage)
{
    return rgm_state_put_int(out, ((const cache_state *)stage->state)->next);
}

static rgm_status cache_restore(rgm_stage *stage, rgm_state_reader *state)
{
    cache_state *s = stage->state;

    return rgm_state_get_count(&s->next, state, rgmi_last_place(rgm_dataset_count(stage->dataset)),
                               "cache");
}

static void cache_close(rgm_stage *stage)
{
    cache_state *s = stage->state;

    if (s->own && s->cache != NULL)
        cache_release(s->cache);
}

static int64_t cache_count(const rgm_dataset *dataset)
{
    return rgm_dataset_count(dataset->inputs[0]);
}

static const rgm_dataset_type cache_type = {
    .name = "cache",
    .state_size = sizeof(cache_state),
    .open = cache_open,
    .next = cache_next,
    .save = cache_save,
    .restore = cache_restore,
    .close = cache_close,
    .count = cache_count,
};

rgm_status rgm_dataset_cache(rgm_dataset **dataset)
{
    return rgmi_dataset_extend(dataset, &cache_type, NULL);
}

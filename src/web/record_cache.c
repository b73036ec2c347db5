/*
 * Indexes of files that were asked for lately. Who takes one has it alone; others who want the same
 * wait, since reading a file twice at once would take as long for both. What was not asked for the
 * longest goes when all of them are too large.
 */
#include "folder_file.h"

#include <pthread.h>

struct rgmi_kept_cache {
    pthread_mutex_t lock;
    pthread_cond_t given;
    rgmi_index **items;
    int64_t count, capacity;
    int64_t bytes, most, clock;
};

rgm_status rgmi_kept_cache_create(rgmi_kept_cache **out, int64_t most_bytes)
{
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->most = most_bytes;
    pthread_mutex_init(&(*out)->lock, NULL);
    pthread_cond_init(&(*out)->given, NULL);
    return RGM_OK;
}

void rgmi_kept_cache_release(rgmi_kept_cache *cache)
{
    if (cache == NULL)
        return;
    for (int64_t i = 0; i < cache->count; i++)
        rgmi_index_release(cache->items[i]);
    pthread_cond_destroy(&cache->given);
    pthread_mutex_destroy(&cache->lock);
    rgm_free(cache->items);
    rgm_free(cache);
}

int64_t rgmi_kept_cache_bytes(rgmi_kept_cache *cache)
{
    int64_t bytes;

    pthread_mutex_lock(&cache->lock);
    bytes = cache->bytes;
    pthread_mutex_unlock(&cache->lock);
    return bytes;
}

static rgmi_index *find(const rgmi_kept_cache *cache, rgmi_index_kind kind,
                        const rgmi_kept_file *file)
{
    for (int64_t i = 0; i < cache->count; i++) {
        rgmi_index *index = cache->items[i];

        if (index->kind == kind && index->inode == file->inode && index->device == file->device)
            return index;
    }
    return NULL;
}

/* The index of a file, taken; a new one where there is none. Under the lock. */
static rgm_status claim(rgmi_index **out, rgmi_kept_cache *cache, rgmi_index_kind kind,
                        const rgmi_kept_file *file)
{
    rgmi_index *index;

    while ((index = find(cache, kind, file)) != NULL && index->busy)
        pthread_cond_wait(&cache->given, &cache->lock);
    if (index == NULL) {
        RGM_TRY(RGM_RESERVE(cache->items, cache->capacity, cache->count + 1));
        RGM_TRY(rgmi_index_create(&index, kind, file));
        cache->items[cache->count++] = index;
    } else {
        cache->bytes -= rgmi_index_bytes(index);
    }
    index->busy = true;
    *out = index;
    return RGM_OK;
}

rgm_status rgmi_kept_cache_take(rgmi_index **out, rgmi_kept_cache *cache, rgmi_index_kind kind,
                                const rgmi_kept_file *file, const char *name, double until)
{
    rgm_status status;

    *out = NULL;
    if (cache == NULL) {
        RGM_TRY(rgmi_index_create(out, kind, file));
    } else {
        pthread_mutex_lock(&cache->lock);
        status = claim(out, cache, kind, file);
        pthread_mutex_unlock(&cache->lock);
        RGM_TRY(status);
    }
    status = rgmi_index_update(*out, file, name, until);
    if (status != RGM_OK) {
        rgmi_kept_cache_give(cache, *out);
        *out = NULL;
    }
    return status;
}

/* Let go of the least lately used until all fit; one that is taken stays. Under the lock. */
static void make_room(rgmi_kept_cache *cache)
{
    while (cache->bytes > cache->most) {
        int64_t oldest = -1;

        for (int64_t i = 0; i < cache->count; i++)
            if (!cache->items[i]->busy &&
                (oldest < 0 || cache->items[i]->used < cache->items[oldest]->used))
                oldest = i;
        if (oldest < 0)
            return;
        cache->bytes -= rgmi_index_bytes(cache->items[oldest]);
        rgmi_index_release(cache->items[oldest]);
        cache->items[oldest] = cache->items[--cache->count];
    }
}

void rgmi_kept_cache_give(rgmi_kept_cache *cache, rgmi_index *index)
{
    if (index == NULL)
        return;
    if (cache == NULL) {
        rgmi_index_release(index);
        return;
    }
    pthread_mutex_lock(&cache->lock);
    index->busy = false;
    index->used = ++cache->clock;
    cache->bytes += rgmi_index_bytes(index);
    make_room(cache);
    pthread_cond_broadcast(&cache->given);
    pthread_mutex_unlock(&cache->lock);
}

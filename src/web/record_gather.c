/*
 * Records of several files as one list in which lost work is left out: of event files what a start
 * in a later place voids, as TensorBoard has it; of tables.jsonl what comes before a line of the
 * same or an earlier step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tab.h"

#define EVENTS "events.out.tfevents."

enum { MOST_FILES = 1000, MOST_POINTS = 1000000 };

int64_t rgmi_spread(int64_t i, int64_t count, int64_t most)
{
    return count <= most || most < 2
               ? i
               : (int64_t)((double)i * (double)(count - 1) / (double)(most - 1));
}

void rgmi_gathering_clear(rgmi_gathering *g)
{
    rgm_names_release(g->files, g->file_count);
    rgm_free(g->points);
    rgm_free(g->damage);
    *g = (rgmi_gathering){0};
}

static rgm_status add_file(rgmi_gathering *g, const char *folder, const char *name)
{
    char *path = NULL;

    RGM_TRY(RGM_RESERVE(g->files, g->file_capacity, g->file_count + 1));
    RGM_TRY(*folder != '\0' ? rgm_path_join(&path, folder, name) : rgm_strdup(&path, name));
    g->files[g->file_count++] = path;
    return RGM_OK;
}

/* ---- points -------------------------------------------------------------------------------- */

/* Points from `begin` on of that step and later are void. */
static void drop_void(rgmi_gathering *g, int64_t begin, int64_t step)
{
    int64_t kept = begin;

    for (int64_t i = begin; i < g->count; i++)
        if (g->points[i].step < step)
            g->points[kept++] = g->points[i];
    g->count = kept;
}

/* Keys of an index's names, -1 for those that are not wanted; rgm_free() them. */
static rgm_status find_keys(int64_t **keys, const rgmi_index *index, rgmi_wanted *wanted,
                            void *payload)
{
    int64_t count = rgm_map_count(index->names);
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(*keys, count));
    for (int64_t i = 0; i < count; i++) {
        (*keys)[i] = -1;
        RGM_GO(wanted(&(*keys)[i], index, i, payload));
    }
done:
    if (status != RGM_OK) {
        rgm_free(*keys);
        *keys = NULL;
    }
    return status;
}

/* The wanted records of the file that was added last; `begin`: the first point that it may void. */
static rgm_status add_points(rgmi_gathering *g, const rgmi_index *index, int64_t begin,
                             rgmi_wanted *wanted, void *payload)
{
    int64_t *keys = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(find_keys(&keys, index, wanted, payload));
    for (int64_t i = 0; i < index->count; i++) {
        const rgmi_record *r = &index->records[i];

        if (r->name < 0) {
            drop_void(g, begin, r->step);
            continue;
        }
        if (keys[r->name] < 0)
            continue;
        if (g->count == MOST_POINTS) {
            RGM_GO(rgmi_note(&g->damage,
                             RGM_FAIL(RGM_ERR_FORMAT, "more than %d values", MOST_POINTS)));
            break;
        }
        RGM_GO(RGM_RESERVE(g->points, g->capacity, g->count + 1));
        g->points[g->count++] = (rgmi_point){.key = keys[r->name],
                                             .step = r->step,
                                             .offset = r->offset,
                                             .time = r->time,
                                             .file = (int32_t)(g->file_count - 1),
                                             .size = r->size};
    }
done:
    rgm_free(keys);
    return status;
}

static rgm_status add_index(rgmi_gathering *g, const char *folder, rgmi_index_kind kind,
                            int64_t begin, rgmi_kept_cache *cache, rgmi_wanted *wanted,
                            void *payload, double until)
{
    const char *name = g->files[g->file_count - 1];
    rgmi_kept_file file;
    rgmi_index *index = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_open(&file, folder, name));
    RGM_GO(rgmi_kept_cache_take(&index, cache, kind, &file, name, until));
    RGM_GO(add_points(g, index, begin, wanted, payload));
    g->more = g->more || index->more;
    if (index->damage != NULL && g->damage == NULL)
        RGM_GO(rgm_strdup(&g->damage, index->damage));
done:
    rgmi_kept_close(&file);
    rgmi_kept_cache_give(cache, index);
    return rgmi_note(&g->damage, status);
}

rgm_status rgmi_gather_events(rgmi_gathering *g, const char *folder, const char *name,
                              rgmi_kept_cache *cache, rgmi_wanted *wanted, void *payload,
                              double until)
{
    int64_t begin = g->count, files = 0;
    rgmi_kept_list list = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&g->damage, rgmi_kept_list_load(&list, folder, name)));
    for (int64_t i = 0; i < list.count && !g->more; i++) {
        if (list.entries[i].is_folder ||
            strncmp(list.entries[i].name, EVENTS, sizeof EVENTS - 1) != 0)
            continue;
        if (files++ == MOST_FILES) {
            RGM_GO(
                rgmi_note(&g->damage, RGM_FAIL(RGM_ERR_FORMAT, "'%s' has more than %d event files",
                                               name, MOST_FILES)));
            break;
        }
        RGM_GO(add_file(g, name, list.entries[i].name));
        RGM_GO(add_index(g, folder, RGMI_INDEX_EVENTS, begin, cache, wanted, payload, until));
    }
done:
    rgmi_kept_list_clear(&list);
    return status;
}

/* By key and step, the later place last. */
static int by_step(const void *a, const void *b)
{
    const rgmi_point *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* What comes before a line of the same or an earlier step of its key is void; so the steps of a key
 * that stay ascend. */
static rgm_status drop_repeated(rgmi_gathering *g)
{
    int64_t *least = NULL, kept = g->count, keys = 0;
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < g->count; i++)
        keys = g->points[i].key >= keys ? g->points[i].key + 1 : keys;
    RGM_GO(RGM_NEW(least, keys));
    for (int64_t k = 0; k < keys; k++)
        least[k] = INT64_MAX;
    for (int64_t i = g->count; i-- > 0;) {
        rgmi_point *p = &g->points[i];

        if (p->step >= least[p->key])
            continue;
        least[p->key] = p->step;
        g->points[--kept] = *p;
    }
    memmove(g->points, g->points + kept, (size_t)(g->count - kept) * sizeof *g->points);
    g->count -= kept;
    if (g->count > 0)
        qsort(g->points, (size_t)g->count, sizeof *g->points, by_step);
done:
    rgm_free(least);
    return status;
}

rgm_status rgmi_gather_tables(rgmi_gathering *g, const char *folder, rgmi_kept_cache *cache,
                              rgmi_wanted *wanted, void *payload, double until)
{
    RGM_TRY(add_file(g, "", "tables.jsonl"));
    RGM_TRY(add_index(g, folder, RGMI_INDEX_TABLES, 0, cache, wanted, payload, until));
    return g->count > 0 ? drop_repeated(g) : RGM_OK;
}

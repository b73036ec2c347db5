/* Where a run's time went: the events of profile.json, a line each, added up by op and layer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tab.h"

enum { LARGEST = 64 << 20, MOST_ROWS = 1000, HEAD = 300 };

typedef struct total {
    const char *key; /* "CATEGORY\nNAME\nSCOPE", the map's */
    int64_t calls;
    double microseconds, flops, bytes;
} total;

typedef struct totals {
    rgm_map *places; /* key -> total */
    rgm_arena *arena;
    rgm_text key;
    int64_t bad;
} totals;

static rgm_status find_total(total **out, totals *t, const rgm_json *event)
{
    const char *of = rgm_json_text(rgm_json_find(rgm_json_find(event, "args"), "scope"));

    t->key.size = 0;
    RGM_TRY(rgm_text_printf(&t->key, "%s\n%s\n%s", rgm_json_text(rgm_json_find(event, "cat")),
                            rgm_json_text(rgm_json_find(event, "name")), of != NULL ? of : ""));
    *out = rgm_map_get(t->places, t->key.data);
    if (*out != NULL)
        return RGM_OK;
    *out = rgm_arena_alloc(t->arena, sizeof **out);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a profile");
    **out = (total){0};
    return rgm_map_set(t->places, t->key.data, *out);
}

static bool is_event(const rgm_json *event)
{
    const char *phase = rgm_json_text(rgm_json_find(event, "ph"));
    double length;

    return phase != NULL && strcmp(phase, "X") == 0 &&
           rgm_json_text(rgm_json_find(event, "cat")) != NULL &&
           rgm_json_text(rgm_json_find(event, "name")) != NULL &&
           rgm_json_number(&length, rgm_json_find(event, "dur"));
}

static rgm_status add_event(totals *t, const char *line, int64_t size)
{
    rgm_json *event = NULL;
    const rgm_json *more;
    total *sum = NULL;
    double number = 0;
    rgm_status status = rgm_json_parse(&event, line, size, "an event");

    if (status != RGM_OK) {
        t->bad++;
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    }
    if (!is_event(event))
        goto done;
    RGM_GO(find_total(&sum, t, event));
    more = rgm_json_find(event, "args");
    sum->calls++;
    if (rgm_json_number(&number, rgm_json_find(event, "dur")))
        sum->microseconds += number;
    if (rgm_json_number(&number, rgm_json_find(more, "flops")))
        sum->flops += number;
    if (rgm_json_number(&number, rgm_json_find(more, "bytes")))
        sum->bytes += number;
done:
    rgm_json_release(event);
    return status;
}

/* Each event stands in a line of its own, with a comma behind all but the last. */
static rgm_status add_events(totals *t, const char *data, int64_t size)
{
    const char *at = memchr(data, '\n', (size_t)size);

    for (const char *end = data + size, *next; at != NULL && ++at < end; at = next) {
        int64_t length;

        next = memchr(at, '\n', (size_t)(end - at));
        length = (next != NULL ? next : end) - at;
        length -= length > 0 && at[length - 1] == ',';
        if (length > 0 && *at == '{')
            RGM_TRY(add_event(t, at, length));
    }
    return RGM_OK;
}

static int longest_first(const void *a, const void *b)
{
    const total *x = *(total *const *)a, *y = *(total *const *)b;

    if (x->microseconds != y->microseconds)
        return x->microseconds > y->microseconds ? -1 : 1;
    return strcmp(x->key, y->key);
}

static rgm_status print_total(rgm_text *out, const total *sum)
{
    const char *name = strchr(sum->key, '\n') + 1, *scope = strchr(name, '\n') + 1;

    RGM_TRY(rgm_text_printf(out, "{\"kind\":"));
    RGM_TRY(rgmi_put_text(out, sum->key, name - 1 - sum->key));
    RGM_TRY(rgm_text_printf(out, ",\"name\":"));
    RGM_TRY(rgmi_put_text(out, name, scope - 1 - name));
    RGM_TRY(rgm_text_printf(out, ",\"scope\":"));
    RGM_TRY(rgmi_put_name(out, *scope != 0 ? scope : NULL));
    RGM_TRY(rgm_text_printf(out, ",\"calls\":%" PRId64 ",\"seconds\":", sum->calls));
    RGM_TRY(rgmi_put_number(out, sum->microseconds * 1e-6));
    RGM_TRY(rgm_text_printf(out, ",\"flops\":"));
    RGM_TRY(rgmi_put_number(out, sum->flops));
    RGM_TRY(rgm_text_printf(out, ",\"bytes\":"));
    RGM_TRY(rgmi_put_number(out, sum->bytes));
    return rgm_text_add(out, "}", 1);
}

static rgm_status print_totals(rgm_text *out, const totals *t)
{
    int64_t count = t->places != NULL ? rgm_map_count(t->places) : 0;
    total **all = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(all, count));
    for (int64_t i = 0; i < count; i++) {
        all[i] = rgm_map_value(t->places, i);
        all[i]->key = rgm_map_key(t->places, i);
    }
    if (count > 1)
        qsort(all, (size_t)count, sizeof *all, longest_first);
    RGM_GO(rgm_text_printf(out, "\"total\":%" PRId64 ",\"rows\":[", count));
    for (int64_t i = 0; i < count && i < MOST_ROWS; i++) {
        RGM_GO(rgm_text_add(out, ",", i > 0));
        RGM_GO(print_total(out, all[i]));
    }
    RGM_GO(rgm_text_add(out, "]", 1));
done:
    rgm_free(all);
    return status;
}

/* A number of the first line: "steps", "dropped_events"; -1: it is not there. */
static int64_t head_number(const char *data, const char *key)
{
    char head[HEAD + 1] = "";
    const char *at;

    if (data != NULL)
        memcpy(head, data, strnlen(data, HEAD));
    head[strcspn(head, "\n")] = 0;
    at = strstr(head, key);
    return at != NULL ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static rgm_status tell_anew(rgm_text *out, bool *is_whole, const char *folder)
{
    totals t = {0};
    char *data = NULL, *damage = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_map_create(&t.places));
    RGM_GO(rgm_arena_create(&t.arena));
    RGM_GO(rgmi_note(&damage, rgmi_kept_load(&data, &size, folder, "profile.json", LARGEST)));
    if (data != NULL)
        RGM_GO(add_events(&t, data, size));
    if (t.bad > 0 && damage == NULL)
        RGM_GO(rgm_strprintf(&damage, "profile.json: %lld lines are damaged and not shown",
                             (long long)t.bad));
    RGM_GO(rgm_text_printf(out, "{\"steps\":%" PRId64 ",\"dropped\":%" PRId64 ",",
                           head_number(data, "\"steps\":"),
                           head_number(data, "\"dropped_events\":")));
    RGM_GO(print_totals(out, &t));
    RGM_GO(rgmi_put_end(out, damage));
    *is_whole = data != NULL;
done:
    rgm_map_release(t.places);
    rgm_arena_release(t.arena);
    rgm_text_clear(&t.key);
    rgm_free(data);
    rgm_free(damage);
    return status;
}

/* ---- what is kept -------------------------------------------------------------------------- */

void rgmi_profile_cache_open(rgmi_profile_cache *cache)
{
    *cache = (rgmi_profile_cache){.uses = 0};
    pthread_mutex_init(&cache->lock, NULL);
}

void rgmi_profile_cache_close(rgmi_profile_cache *cache)
{
    for (int i = 0; i < RGMI_KEPT_PROFILES; i++)
        rgm_text_clear(&cache->items[i].told);
    pthread_mutex_destroy(&cache->lock);
}

static bool is_same(const rgmi_kept_file *a, const rgmi_kept_file *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->time == b->time;
}

/* Its place, under the lock; otherwise the one that was not asked for the longest. */
static int place_of(bool *found, const rgmi_profile_cache *cache, const rgmi_kept_file *file)
{
    int oldest = 0;

    *found = false;
    for (int i = 0; i < RGMI_KEPT_PROFILES; i++) {
        if (cache->items[i].used > 0 && is_same(&cache->items[i].of, file)) {
            *found = true;
            return i;
        }
        if (cache->items[i].used < cache->items[oldest].used)
            oldest = i;
    }
    return oldest;
}

static rgm_status find_kept(bool *found, rgm_text *out, rgmi_profile_cache *cache,
                            const rgmi_kept_file *file)
{
    rgm_status status = RGM_OK;
    int i;

    pthread_mutex_lock(&cache->lock);
    i = place_of(found, cache, file);
    if (*found) {
        cache->items[i].used = ++cache->uses;
        status = rgm_text_add(out, cache->items[i].told.data, cache->items[i].told.size);
    }
    pthread_mutex_unlock(&cache->lock);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* Takes *told. */
static void keep(rgmi_profile_cache *cache, const rgmi_kept_file *file, rgm_text *told)
{
    bool found;
    int i;

    pthread_mutex_lock(&cache->lock);
    i = place_of(&found, cache, file);
    rgm_text_clear(&cache->items[i].told);
    cache->items[i].told = *told;
    cache->items[i].of = *file;
    cache->items[i].used = ++cache->uses;
    cache->made++;
    pthread_mutex_unlock(&cache->lock);
    *told = (rgm_text){0};
}

/* A file of some 64 MiB takes a second to be added up: that is done once for as long as it stays as
 * it is. */
rgm_status rgmi_tell_profile(rgm_text *out, const char *folder, rgmi_profile_cache *cache)
{
    rgmi_kept_file file = {.fd = -1};
    rgm_text told = {0};
    bool is_there = rgmi_kept_open(&file, folder, "profile.json") == RGM_OK, found = false;
    bool is_whole = false;
    rgm_status status = RGM_OK;

    if (is_there) {
        rgmi_kept_close(&file);
        RGM_GO(find_kept(&found, out, cache, &file));
    }
    if (found)
        goto done;
    RGM_GO(tell_anew(&told, &is_whole, folder));
    RGM_GO(rgm_text_add(out, told.data, told.size));
    if (is_there && is_whole)
        keep(cache, &file, &told);
done:
    rgm_text_clear(&told);
    return status;
}

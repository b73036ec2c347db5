/*
 * A hash map from text to pointers that keeps the order of insertion: entries lie in an array, an
 * open-addressed table holds their indices. Keys cannot be removed.
 */
#include "base_internal.h"

#include <string.h>

typedef struct entry {
    uint64_t hash;
    const char *key;
    void *value;
} entry;

struct rgm_map {
    rgm_arena *keys;
    entry *entries;
    int64_t count, capacity;
    int64_t *table; /* index + 1, 0 = free; size is a power of two */
    int64_t table_size;
};

rgm_status rgm_map_create(rgm_map **out)
{
    rgm_status status = RGM_OK;
    rgm_map *map = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(map, 1));
    RGM_GO(rgm_arena_create(&map->keys));
    *out = map;
    map = NULL;
done:
    rgm_map_release(map);
    return status;
}

void rgm_map_release(rgm_map *map)
{
    if (map == NULL)
        return;
    rgm_arena_release(map->keys);
    rgm_free(map->entries);
    rgm_free(map->table);
    rgm_free(map);
}

/* The slot that holds `key`, or the free one where it belongs. The table is never full. */
static int64_t *find_slot(const rgm_map *map, const char *key, uint64_t hash)
{
    int64_t mask = map->table_size - 1;

    for (int64_t i = (int64_t)hash & mask;; i = (i + 1) & mask) {
        const entry *e;
        if (map->table[i] == 0)
            return &map->table[i];
        e = &map->entries[map->table[i] - 1];
        if (e->hash == hash && strcmp(e->key, key) == 0)
            return &map->table[i];
    }
}

static rgm_status grow_table(rgm_map *map)
{
    int64_t size = map->table_size == 0 ? 16 : 2 * map->table_size, *table;

    RGM_TRY(RGM_NEW(table, size));
    rgm_free(map->table);
    map->table = table;
    map->table_size = size;
    for (int64_t i = 0; i < map->count; i++)
        *find_slot(map, map->entries[i].key, map->entries[i].hash) = i + 1;
    return RGM_OK;
}

static const entry *find_entry(const rgm_map *map, const char *key)
{
    int64_t *slot;

    if (map->count == 0)
        return NULL;
    slot = find_slot(map, key, rgm_hash64(key, strlen(key)));
    return *slot != 0 ? &map->entries[*slot - 1] : NULL;
}

rgm_status rgm_map_set(rgm_map *map, const char *key, void *value)
{
    uint64_t hash = rgm_hash64(key, strlen(key));
    int64_t *slot = map->table_size > 0 ? find_slot(map, key, hash) : NULL;
    const char *copy;

    if (slot != NULL && *slot != 0) {
        map->entries[*slot - 1].value = value;
        return RGM_OK;
    }
    if (3 * (map->count + 1) > 2 * map->table_size) {
        RGM_TRY(grow_table(map));
        slot = find_slot(map, key, hash);
    }
    RGM_TRY(RGM_RESERVE(map->entries, map->capacity, map->count + 1));
    copy = rgm_arena_strdup(map->keys, key);
    if (copy == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the key '%s'", key);
    map->entries[map->count++] = (entry){hash, copy, value};
    *slot = map->count;
    return RGM_OK;
}

void *rgm_map_get(const rgm_map *map, const char *key)
{
    const entry *e = find_entry(map, key);

    return e != NULL ? e->value : NULL;
}

bool rgm_map_has(const rgm_map *map, const char *key)
{
    return find_entry(map, key) != NULL;
}

int64_t rgm_map_count(const rgm_map *map)
{
    return map->count;
}

const char *rgm_map_key(const rgm_map *map, int64_t i)
{
    return map->entries[i].key;
}

void *rgm_map_value(const rgm_map *map, int64_t i)
{
    return map->entries[i].value;
}

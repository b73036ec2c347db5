/*
 * Numbers of nodes or edges to places: of a batch in a graph that no process has as a whole there
 * is no array over all of its nodes.
 */
#ifndef RGM_GRAPH_SAMPLING_PARTED_MAP_H
#define RGM_GRAPH_SAMPLING_PARTED_MAP_H

#include <regimen/base.h>

/** Open addressing; a slot without a key has -1 there. Keys are >= 0. */
typedef struct rgmi_parted_map {
    int32_t *keys, *values; /* [slots], a power of two */
    int64_t slots, count;
} rgmi_parted_map;

static inline int64_t rgmi_parted_map_slot(const rgmi_parted_map *map, int32_t key)
{
    uint64_t hash = (uint64_t)(uint32_t)key * UINT64_C(0x9E3779B97F4A7C15);
    int64_t at = (int64_t)(hash >> 32) & (map->slots - 1);

    while (map->keys[at] >= 0 && map->keys[at] != key)
        at = (at + 1) & (map->slots - 1);
    return at;
}

/** -1: it is not there. */
static inline int32_t rgmi_parted_map_get(const rgmi_parted_map *map, int32_t key)
{
    int64_t at;

    if (map->count == 0)
        return -1;
    at = rgmi_parted_map_slot(map, key);
    return map->keys[at] >= 0 ? map->values[at] : -1;
}

/** Room for `more` keys. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_parted_map_reserve(rgmi_parted_map *map, int64_t more);
/** Into a map with room; another value of a key that is there. */
static inline void rgmi_parted_map_put(rgmi_parted_map *map, int32_t key, int32_t value)
{
    int64_t at = rgmi_parted_map_slot(map, key);

    map->count += map->keys[at] < 0;
    map->keys[at] = key;
    map->values[at] = value;
}
void rgmi_parted_map_clear(rgmi_parted_map *map);

#endif

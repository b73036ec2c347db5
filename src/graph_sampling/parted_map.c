/*
 * Maps of numbers: room for more.
 */
#include "parted_map.h"

#include <string.h>

rgm_status rgmi_parted_map_reserve(rgmi_parted_map *map, int64_t more)
{
    rgmi_parted_map larger = {.slots = map->slots > 0 ? map->slots : 64};

    while (larger.slots < 2 * (map->count + more))
        larger.slots *= 2;
    if (larger.slots == map->slots)
        return RGM_OK;
    larger.keys = rgm_malloc((size_t)larger.slots * sizeof *larger.keys);
    larger.values = rgm_malloc((size_t)larger.slots * sizeof *larger.values);
    if (larger.keys == NULL || larger.values == NULL) {
        rgmi_parted_map_clear(&larger);
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld places of nodes",
                        (long long)larger.slots);
    }
    memset(larger.keys, 0xff, (size_t)larger.slots * sizeof *larger.keys);
    for (int64_t i = 0; i < map->slots; i++)
        if (map->keys[i] >= 0)
            rgmi_parted_map_put(&larger, map->keys[i], map->values[i]);
    rgmi_parted_map_clear(map);
    *map = larger;
    return RGM_OK;
}

void rgmi_parted_map_clear(rgmi_parted_map *map)
{
    rgm_free(map->keys);
    rgm_free(map->values);
    *map = (rgmi_parted_map){0};
}

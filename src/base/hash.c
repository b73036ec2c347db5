/*
 * 64-bit hash for tables, manifests and stream keys. XXH3's values are fixed by its specification
 * since xxHash 0.8.0, so they may be stored.
 */
#include "base_internal.h"

#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8.0 or newer is needed: earlier XXH3 values were not stable"
#endif

uint64_t rgm_hash64(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

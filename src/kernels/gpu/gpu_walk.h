/*
 * What rows that walk over a pattern share: see walk.dev. How many lanes a team has, and memory for
 * what the shares of long rows come to.
 */
#ifndef RGM_GPU_WALK_H
#define RGM_GPU_WALK_H

#include "gpu.h"

enum { RGMI_GPU_LANES = 256, RGMI_GPU_CHUNK = 128 /* as in walk.dev */ };

/** Entries in chunks, when a row may be longer than one; else 0. */
static inline int64_t rgmi_gpu_chunks(const rgm_csr *csr)
{
    int64_t longest = csr->longest > 0 ? csr->longest : csr->count;

    return longest > RGMI_GPU_CHUNK ? rgmi_blocks(csr->count, RGMI_GPU_CHUNK) : 0;
}

/** What is walked, and by whom: a unit's channels are `blocks` teams of `team` lanes. */
typedef struct rgmi_gpu_walk {
    int64_t chunks, units, blocks, team;
    bool wide; /* each lane has four channels */
} rgmi_gpu_walk;

static inline rgmi_gpu_walk rgmi_gpu_walk_of(const rgm_csr *csr, int64_t channels, bool wide)
{
    rgmi_gpu_walk w = {.chunks = rgmi_gpu_chunks(csr), .team = 1, .wide = wide};
    int64_t lanes = wide ? channels / 4 : channels, most = wide ? 64 : 32;

    while (w.team < most && w.team < lanes)
        w.team *= 2;
    w.units = 2 * w.chunks + csr->rows;
    w.blocks = rgmi_max(1, rgmi_blocks(lanes, w.team));
    return w;
}

/** Groups of RGMI_GPU_LANES for all units: each has one of the blocks. */
static inline int64_t rgmi_gpu_walk_groups(const rgmi_gpu_walk *w)
{
    return rgmi_blocks(w->units, RGMI_GPU_LANES / w->team) * w->blocks;
}

/** Whether four elements of these may be read at once (QUAD); NULL: nothing to read. */
static inline bool rgmi_gpu_is_aligned(rgm_dtype real, const void *a, const void *b, const void *c)
{
    uintptr_t quad = 4 * rgm_dtype_size(real);

    return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) & (quad - 1)) == 0;
}

#define RGMI_PATTERN(csr)                                                                          \
    rgm_memory((csr)->row_start), rgm_memory((csr)->column), rgm_memory((csr)->entry),             \
        rgm_memory((csr)->visit), rgm_integer((csr)->rows), rgm_integer((csr)->count)

#endif

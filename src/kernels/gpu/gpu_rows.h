/*
 * How rows that work on rows of a matrix (rows.dev) or on its columns (columns.dev) are launched.
 */
#ifndef RGM_GPU_ROWS_H
#define RGM_GPU_ROWS_H

#include "gpu.h"

enum { RGMI_GPU_ROW_LANES = 256 };

/** Lanes of a row: about four channels each, so that narrow rows share a warp. */
static inline int64_t rgmi_gpu_row_width(int64_t channels)
{
    int64_t width = 1;

    while (width < RGMI_GPU_ROW_LANES && width * 4 < channels)
        width *= 2;
    return width;
}

static inline int64_t rgmi_gpu_row_groups(int64_t rows, int64_t width)
{
    return rgmi_blocks(rows, RGMI_GPU_ROW_LANES / width);
}

/** Columns side by side, and the rows of a block: what is summed down its columns by one group. */
typedef struct rgmi_gpu_columns {
    int64_t width, across; /* lanes side by side, a power of two; groups side by side */
    int64_t block, blocks; /* rows of one, and how many */
} rgmi_gpu_columns;

static inline rgmi_gpu_columns rgmi_gpu_columns_of(int64_t rows, int64_t channels)
{
    enum { EACH = 8, MOST_BLOCKS = 512 };
    rgmi_gpu_columns made = {.width = 1};
    int64_t lanes;

    while (made.width < 32 && made.width < channels)
        made.width *= 2;
    lanes = RGMI_GPU_ROW_LANES / made.width;
    made.across = rgmi_blocks(channels, made.width);
    made.block = rgmi_blocks(rgmi_max(EACH * lanes, rgmi_blocks(rows, MOST_BLOCKS)), lanes) * lanes;
    made.blocks = rgmi_blocks(rows, made.block);
    return made;
}

/** All rows in one block, where they are few: groups of fewer columns, which have the result. */
static inline rgmi_gpu_columns rgmi_gpu_columns_at_once(int64_t rows, int64_t channels)
{
    enum { MOST_ROWS = 2048, MOST_WIDTH = 4 };
    rgmi_gpu_columns made = {.width = 1, .block = rows, .blocks = 1};

    if (rows > MOST_ROWS)
        return rgmi_gpu_columns_of(rows, channels);
    while (made.width < MOST_WIDTH && made.width < channels)
        made.width *= 2;
    made.across = rgmi_blocks(channels, made.width);
    return made;
}

#endif

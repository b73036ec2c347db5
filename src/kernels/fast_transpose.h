/* Matrices turned as they are packed, a square of vectors at a time. Needs vec.h before. */
#ifndef RGM_KERNELS_FAST_TRANSPOSE_H
#define RGM_KERNELS_FAST_TRANSPOSE_H

/*
 * to[c * ldt + r] = x[r * ldx + c] for `rows` (at most LANES are taken) by `columns`. Each c is
 * stored as a whole vector, zeros behind the rows, in order: with ldt < LANES the next one covers
 * the zeros of the one before.
 */
static void rows_transpose(float *to, int64_t ldt, const float *x, int64_t ldx, int64_t rows,
                           int64_t columns)
{
    int64_t next = rgmi_min(rows, LANES);

    for (int64_t c = 0; c < columns; c += LANES, x += LANES) {
        int64_t left = columns - c;
        vf square[LANES];
        UNROLL
        for (int r = 0; r < LANES; r++) {
            __builtin_prefetch(x + (next + r) * ldx); /* of the rows that usually follow */
            square[r] = r < rows ? v_load_n(x + r * ldx, left) : v_zero();
        }
        v_transpose(square);
        UNROLL
        for (int r = 0; r < LANES; r++)
            if (r < left)
                v_store(to + r * ldt, square[r]);
        to += LANES * ldt;
    }
}

#endif

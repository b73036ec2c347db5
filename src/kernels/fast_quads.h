/*
 * Products of attention for four rows at a time, whose sums stay in registers: scores of keys, sums
 * of weighted rows, and what four rows give to each of many.
 */

#define QUAD 4              /* queries of a product */
#define WIDE (LANES / 4)    /* vectors of a quad's row that stay in registers: 4 or 2 */
#define PART (WIDE * LANES) /* floats of them */

/* Keys of a block from a whole vector on, `to` not among them; none where to <= from. */
typedef struct key_span {
    int64_t from, to;
} key_span;

/* s [QUAD][RGMI_KEYS] = a bt over `count` vectors of keys from `from` on; bt [depth][RGMI_KEYS]. */
static inline __attribute__((always_inline)) void quad_scores_of(float (*s)[RGMI_KEYS],
                                                                 const float *const *a,
                                                                 const float *bt, int64_t depth,
                                                                 int64_t from, int count)
{
    vf c[QUAD][WIDE];

    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++) c[r][u] = v_zero();
    for (int64_t d = 0; d < depth; d++) {
        vf b[WIDE];
        UNROLL for (int u = 0; u < count; u++) b[u] = v_load(bt + d * RGMI_KEYS + from + u * LANES);
        UNROLL for (int r = 0; r < QUAD; r++)
        {
            vf x = v_set1(a[r][d]);
            UNROLL for (int u = 0; u < count; u++) c[r][u] = v_fma(x, b[u], c[r][u]);
        }
    }
    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++)
        v_store(&s[r][from + u * LANES], c[r][u]);
}

/* The same for the keys of a span, rounded up to whole vectors. */
static void quad_scores(float (*s)[RGMI_KEYS], const float *const *a, const float *bt,
                        int64_t depth, key_span seen)
{
    for (int64_t from = seen.from; from < seen.to; from += PART) {
        switch (rgmi_min(WIDE, rgmi_blocks(seen.to - from, LANES))) {
        case 1:
            quad_scores_of(s, a, bt, depth, from, 1);
            break;
        case 2:
            quad_scores_of(s, a, bt, depth, from, 2);
            break;
#if WIDE == 4
        case 3:
            quad_scores_of(s, a, bt, depth, from, 3);
            break;
        case 4:
            quad_scores_of(s, a, bt, depth, from, 4);
            break;
#endif
        }
    }
}

/* c[r] = factor[r] c[r] + sum over the keys j of a span of w[r][j] b[j], over `count` vectors of
 * depth. */
static inline __attribute__((always_inline)) void quad_sum_of(float *const *c, const float *factor,
                                                              float (*w)[RGMI_KEYS], const float *b,
                                                              int64_t ld, key_span seen, int count)
{
    vf sum[QUAD][WIDE];

    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++) sum[r][u] =
        v_mul(v_load(c[r] + u * LANES), v_set1(factor[r]));
    for (int64_t j = seen.from; j < seen.to; j++) {
        vf x[WIDE];
        UNROLL for (int u = 0; u < count; u++) x[u] = v_load(b + j * ld + u * LANES);
        UNROLL for (int r = 0; r < QUAD; r++)
        {
            vf weight = v_set1(w[r][j]);
            UNROLL for (int u = 0; u < count; u++) sum[r][u] = v_fma(weight, x[u], sum[r][u]);
        }
    }
    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++)
        v_store(c[r] + u * LANES, sum[r][u]);
}

static void quad_sum(float *const *c, const float *factor, float (*w)[RGMI_KEYS], const float *b,
                     int64_t ld, key_span seen, int64_t depth)
{
    for (int64_t d = 0; d < depth;) {
        float *at[QUAD];
        int64_t left = (depth - d) / LANES;
        for (int r = 0; r < QUAD; r++)
            at[r] = c[r] + d;
        if (left >= WIDE) {
            quad_sum_of(at, factor, w, b + d, ld, seen, WIDE);
            d += PART;
        } else {
            quad_sum_of(at, factor, w, b + d, ld, seen, 1);
            d += LANES;
        }
    }
}

/* c[j] += sum over the quad's rows of w[r][j] a[r], for the keys j of a span. */
static inline __attribute__((always_inline)) void quad_outer_of(float *c, int64_t ld,
                                                                float (*w)[RGMI_KEYS],
                                                                const float *const *a, int64_t d,
                                                                key_span seen, int count)
{
    vf x[QUAD][WIDE];

    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++) x[r][u] =
        v_load(a[r] + d + u * LANES);
    for (int64_t j = seen.from; j < seen.to; j++) {
        float *to = c + j * ld + d;
        vf sum[WIDE];
        UNROLL for (int u = 0; u < count; u++) sum[u] = v_load(to + u * LANES);
        UNROLL for (int r = 0; r < QUAD; r++)
        {
            vf weight = v_set1(w[r][j]);
            UNROLL for (int u = 0; u < count; u++) sum[u] = v_fma(weight, x[r][u], sum[u]);
        }
        UNROLL for (int u = 0; u < count; u++) v_store(to + u * LANES, sum[u]);
    }
}

static void quad_outer(float *c, int64_t ld, float (*w)[RGMI_KEYS], const float *const *a,
                       key_span seen, int64_t depth)
{
    int64_t d = 0;

    for (; d + PART <= depth; d += PART)
        quad_outer_of(c, ld, w, a, d, seen, WIDE);
    for (; d < depth; d += LANES)
        quad_outer_of(c, ld, w, a, d, seen, 1);
}

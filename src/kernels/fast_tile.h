/*
 * A tile of a product: ROWS x (VECS * LANES) numbers of C stay in registers while k runs, and what
 * is done with them at the end.
 */

/* Rows of tiles one, two and three vectors wide: as many as the registers hold. */
#define TILE_ROWS_1 12
#if LANES == 16
#define TILE_ROWS_2 14
#define TILE_ROWS_3 8
#else
#define TILE_ROWS_2 6
#define TILE_ROWS_3 4
#endif
#define B_AHEAD                                                                                    \
    24 /* k that B is asked for ahead: few rows of A use it up sooner than L3 gives it */
#define C_AHEAD 96 /* k from which C is asked for before it is written */
#define C_EACH  4  /* k from one of its rows to the next */
#define A_LINE  16 /* numbers of A in a line of cache */

/* One tile: c = (first ? 0 : c) + a b, then + bias and relu when last. */
typedef struct tile_job {
    const float *a, *b, *bias;
    float *c;
    int64_t k, a_row, a_step, ldc, columns;
    bool first, last;
    bool a_once; /* more rows of A follow, which are read for this panel alone */
    rgm_activation activation;
    float slope;
} tile_job;

/* A row of the tile whatever its place. */
static inline __attribute__((always_inline)) void tile_store(const int vecs, const tile_job *t,
                                                             int row, vf *acc)
{
    float *c = t->c + row * t->ldc;

    UNROLL
    for (int j = 0; j < vecs; j++) {
        int64_t left = t->columns - j * LANES;
        bool whole = left >= LANES;
        vf sum = acc[j];
        if (left <= 0)
            break;
        if (!t->first)
            sum = v_add(whole ? v_load(c + j * LANES) : v_load_n(c + j * LANES, left), sum);
        if (t->last && t->bias)
            sum = v_add(sum,
                        whole ? v_load(t->bias + j * LANES) : v_load_n(t->bias + j * LANES, left));
        if (t->last && t->activation == RGM_ACT_RELU)
            sum = v_relu(sum);
        if (whole)
            v_store(c + j * LANES, sum);
        else
            v_store_n(c + j * LANES, sum, left);
    }
}

/* All rows of whole vectors: most tiles, and where k is short what stands between two tiles is a
 * good part of them. */
static inline __attribute__((always_inline)) void
tile_store_whole(const int rows, const int vecs, const tile_job *t, const vf *acc, const bool first,
                 const bool biased, const bool relu)
{
    float *c = t->c;
    vf bias[3];

    UNROLL
    for (int j = 0; j < vecs && biased; j++)
        bias[j] = v_load(t->bias + j * LANES);
    UNROLL
    for (int i = 0; i < rows * vecs; i++) {
        float *to = c + i / vecs * t->ldc + i % vecs * LANES;
        vf sum = first ? acc[i] : v_add(v_load(to), acc[i]);
        sum = biased ? v_add(sum, bias[i % vecs]) : sum;
        v_store(to, relu ? v_relu(sum) : sum);
    }
}

static inline __attribute__((always_inline)) void tile_finish(const int rows, const int vecs,
                                                              const tile_job *t, vf *acc)
{
    bool relu = t->last && t->activation == RGM_ACT_RELU, biased = t->last && t->bias != NULL;

    if (t->columns < vecs * LANES || (relu && !biased) || (biased && !t->first)) {
        UNROLL
        for (int i = 0; i < rows; i++)
            tile_store(vecs, t, i, acc + i * vecs);
    } else if (relu) {
        tile_store_whole(rows, vecs, t, acc, true, true, true);
    } else if (biased) {
        tile_store_whole(rows, vecs, t, acc, true, true, false);
    } else if (t->first) {
        tile_store_whole(rows, vecs, t, acc, true, false, false);
    } else {
        tile_store_whole(rows, vecs, t, acc, false, false, false);
    }
}

/* acc += row p of a strip of A by row p of a panel of B. */
static inline __attribute__((always_inline)) void tile_step(const int rows, const int vecs,
                                                            const bool ahead, const float *a,
                                                            int64_t a_row, const float *b, vf *acc)
{
    vf right[3];

    UNROLL
    for (int j = 0; j < vecs && ahead; j++)
        __builtin_prefetch(b + (B_AHEAD * vecs + j) * LANES);
    UNROLL
    for (int j = 0; j < vecs; j++)
        right[j] = v_load(b + j * LANES);
    UNROLL
    for (int i = 0; i < rows; i++) {
        vf left = v_set1(a[i * a_row]);
        UNROLL
        for (int j = 0; j < vecs; j++)
            acc[i * vecs + j] = v_fma(left, right[j], acc[i * vecs + j]);
    }
}

/*
 * A in strips has constant steps, and a panel of B that many strips are multiplied with is in L1 or
 * near it. Otherwise B comes from farther and is asked for, and so are the next rows of A where
 * they are read once: they lie too far apart to be seen coming. C is asked for a row at a time: all
 * of it at once would hold up what A and B are waiting for.
 */
static inline __attribute__((always_inline)) void tile(const int rows, const int vecs,
                                                       const bool strip, const tile_job *t)
{
    const float *a = t->a, *b = t->b;
    const int64_t a_row = strip ? 1 : t->a_row, a_step = strip ? LANES : t->a_step;
    const bool rows_ahead = !strip && vecs > 1 && t->a_once && a_step == 1 && t->k >= C_AHEAD;
    int64_t p = 0, asks = t->k >= C_AHEAD ? rows : 0;
    vf acc[28];

    UNROLL
    for (int i = 0; i < rows * vecs; i++)
        acc[i] = v_zero();
    for (int64_t i = 0; i <= asks; i++) {
        int64_t until = i < asks ? (i + 1) * C_EACH : t->k;
        UNROLL
        for (int j = 0; j < vecs && i < asks; j++)
            __builtin_prefetch(t->c + i * t->ldc + j * LANES, 1);
        for (; p < until; p++, a += a_step, b += vecs * LANES) {
            if (rows_ahead && p % A_LINE == 0) {
                UNROLL
                for (int r = 0; r < rows; r++)
                    __builtin_prefetch(a + (rows + r) * a_row);
            }
            tile_step(rows, vecs, !strip, a, a_row, b, acc);
        }
    }
    tile_finish(rows, vecs, t, acc);
}

typedef void tile_function(const tile_job *t);

#define TILE(rows, vecs)                                                                           \
    static void tile_##rows##_##vecs(const tile_job *t)                                            \
    {                                                                                              \
        tile(rows, vecs, false, t);                                                                \
    }
#define STRIP(rows, vecs)                                                                          \
    static void strip_##rows##_##vecs(const tile_job *t)                                           \
    {                                                                                              \
        tile(rows, vecs, true, t);                                                                 \
    }
/* clang-format off */
TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1)
TILE(7, 1) TILE(8, 1) TILE(9, 1) TILE(10, 1) TILE(11, 1) TILE(12, 1)
TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(5, 2) TILE(6, 2)
TILE(1, 3) TILE(2, 3) TILE(3, 3) TILE(4, 3)
#if LANES == 16
TILE(7, 2) TILE(8, 2) TILE(9, 2) TILE(10, 2) TILE(11, 2) TILE(12, 2)
TILE(13, 2) TILE(14, 2) TILE(5, 3) TILE(6, 3) TILE(7, 3) TILE(8, 3)
STRIP(11, 2) STRIP(12, 2) STRIP(13, 2) STRIP(14, 2) STRIP(8, 3)
#else
STRIP(5, 2) STRIP(6, 2) STRIP(4, 3)
#endif

/* [vectors - 1][rows - 1] */
static tile_function *const tiles[3][14] = {
    {tile_1_1, tile_2_1, tile_3_1, tile_4_1, tile_5_1, tile_6_1, tile_7_1, tile_8_1, tile_9_1,
     tile_10_1, tile_11_1, tile_12_1},
    {tile_1_2, tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2,
#if LANES == 16
     tile_7_2, tile_8_2, tile_9_2, tile_10_2, tile_11_2, tile_12_2, tile_13_2, tile_14_2
#endif
    },
    {tile_1_3, tile_2_3, tile_3_3, tile_4_3,
#if LANES == 16
     tile_5_3, tile_6_3, tile_7_3, tile_8_3
#endif
    }};
/* Of strips those that most rows of a large block are in; NULL: `tiles` takes them as well. */
static tile_function *const strips[3][14] = {
#if LANES == 16
    [1][10] = strip_11_2, [1][11] = strip_12_2, [1][12] = strip_13_2, [1][13] = strip_14_2,
    [2][7] = strip_8_3,
#else
    [1][4] = strip_5_2, [1][5] = strip_6_2, [2][3] = strip_4_3,
#endif
};
/* clang-format on */
static const int tile_rows[3] = {TILE_ROWS_1, TILE_ROWS_2, TILE_ROWS_3};

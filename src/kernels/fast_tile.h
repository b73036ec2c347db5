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
    }                                                                                              \
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
#endif

#define ROWS_1(name) {name##_1_1, name##_2_1, name##_3_1, name##_4_1, name##_5_1, name##_6_1, \
    name##_7_1, name##_8_1, name##_9_1, name##_10_1, name##_11_1, name##_12_1}
#if LANES == 16
#define ROWS_2(name) {name##_1_2, name##_2_2, name##_3_2, name##_4_2, name##_5_2, name##_6_2, \
    name##_7_2, name##_8_2, name##_9_2, name##_10_2, name##_11_2, name##_12_2, name##_13_2, \
    name##_14_2}
#define ROWS_3(name) {name##_1_3, name##_2_3, name##_3_3, name##_4_3, name##_5_3, name##_6_3, \
    name##_7_3, name##_8_3}
#else
#define ROWS_2(name) {name##_1_2, name##_2_2, name##_3_2, name##_4_2, name##_5_2, name##_6_2}
#define ROWS_3(name) {name##_1_3, name##_2_3, name##_3_3, name##_4_3}
#endif
/* [vectors - 1][rows - 1]; A in place, and in strips */
static tile_function *const tiles[3][14] = {ROWS_1(tile), ROWS_2(tile), ROWS_3(tile)};
static tile_function *const strips[3][14] = {ROWS_1(strip), ROWS_2(strip), ROWS_3(strip)};
/* clang-format on */
static const int tile_rows[3] = {TILE_ROWS_1, TILE_ROWS_2, TILE_ROWS_3};

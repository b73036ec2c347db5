/*
 * Dense products. A tile of C, ROWS x (VECS * LANES), stays in registers while k runs; B is packed
 * into panels as wide as the tile, zero-padded, so that edges cost no special code on that side; A
 * is read in place where its rows are near each other and packed otherwise. Each element of C is
 * one chain of fused multiply-adds over k in order, so the tiling never shows in the bits; only a
 * long k over a small C is cut, into slices fixed by the shape, added in order.
 */

#define TILE_COLUMNS       (2 * LANES)
#define STRIP_PAD          16  /* floats between packed strips, so that they differ in cache set */
#define K_BLOCK            256 /* k of one pass: a panel of B stays in L1                      */
#define K_WHOLE            384 /* up to here k is one pass                                     */
#define ROW_BLOCK          (8 * TILE_ROWS_2) /* most rows of C of one task                      */
#define COLUMN_BLOCK       256  /* columns of one task where rows are few                       */
#define TASKS_ENOUGH       8    /* more tasks are made until there are so many                  */
#define PACK_PANELS        8    /* of one packing task                                          */
#define PACK_K             64   /* k of one packing task                                        */
#define PACK_AHEAD         4    /* rows from the prefetch to its use                            */
#define PACKED_TASKS       16   /* of a product whose B was packed before                       */
#define ROWS_APART         1024 /* rows of A that are moved apart for it                        */
#define FLOPS_NS           (7.0 * LANES) /* operations of one thread in a nanosecond             */
#define BYTES_NS           30.0 /* bytes that it reads in a nanosecond, in order                 */
#define SLICE_K            1024 /* least k of a slice                                           */
#define SLICES_MOST        64
#define SLICE_TASK_ROWS    256 /* C of one task of a sliced product                            */
#define SLICE_TASK_COLUMNS 256

/* Panels are two vectors wide; the last one takes an odd vector as its third, so that a tile one
 * vector wide, which loads more than it multiplies, is left to matrices that narrow. */
static inline int64_t vectors_of(int64_t columns)
{
    return rgmi_blocks(columns, LANES);
}

static inline int64_t panels_of(int64_t columns)
{
    return rgmi_max(1, vectors_of(columns) / 2);
}

/* Columns of panel j of `panels`. */
static inline int64_t panel_columns(int64_t columns, int64_t panels, int64_t j)
{
    return j + 1 < panels ? TILE_COLUMNS : columns - j * TILE_COLUMNS;
}

/* Of whole vectors: columns that are not there are multiplied as well. */
static inline double flops_of(const rgm_matmul_args *o)
{
    return 2.0 * (double)o->m * (double)(vectors_of(o->n) * LANES) * (double)o->k;
}

/* ---- packing ------------------------------------------------------------------------------- */

/*
 * Rows from..to of panels [k][width] of op(b)[0..k)[0..columns), one behind another, zeros behind
 * the columns. A row of B that lies along its columns is read as a whole, and its successors are
 * asked for meanwhile: each of them may be on a page of its own, which no hardware prefetches.
 */
static void pack_panels(float *dst, const float *b, int64_t ldb, bool trans, int64_t k,
                        int64_t columns, int64_t from, int64_t to)
{
    int64_t panels = panels_of(columns), step = TILE_COLUMNS * k;

    for (int64_t q = 0; q < panels && trans; q++) {
        int64_t count = panel_columns(columns, panels, q), width = vectors_of(count) * LANES;
        for (int64_t j = 0; j < width; j += LANES)
            rows_transpose(dst + q * step + from * width + j, width,
                           b + (q * TILE_COLUMNS + j) * ldb + from, ldb, count - j, to - from);
    }
    for (int64_t p = from; p < to && !trans; p++) {
        const float *row = b + p * ldb, *ahead = p + PACK_AHEAD < to ? row + PACK_AHEAD * ldb : row;
        for (int64_t q = 0; q < panels; q++) {
            int64_t count = panel_columns(columns, panels, q), width = vectors_of(count) * LANES;
            float *panel = dst + q * step + p * width;
            for (int64_t j = 0; j < width; j += LANES) {
                __builtin_prefetch(ahead + q * TILE_COLUMNS + j);
                v_store(panel + j, v_load_n(row + q * TILE_COLUMNS + j, count - j));
            }
        }
    }
}

/*
 * dst[strip][p][LANES] = op(a)[i][p], in strips of `rows` <= LANES: what a tile reads for one p is
 * a vector by itself, in one cache line. Behind the rows of a strip stands what nobody reads. A
 * transposed A is read along its rows, as it lies in memory.
 */
static inline int64_t strip_step(int64_t k)
{
    return LANES * k + STRIP_PAD;
}

static void pack_rows(float *dst, const float *a, int64_t lda, bool trans, int64_t m, int64_t k,
                      int64_t rows)
{
    int64_t step = strip_step(k);

    if (trans) {
        for (int64_t p = 0; p < k; p++, a += lda, dst += LANES) {
            const float *ahead = p + PACK_AHEAD < k ? a + PACK_AHEAD * lda : a;
            float *to = dst;
            int64_t i = 0;
            for (; i + LANES <= m; i += rows, to += step) {
                __builtin_prefetch(ahead + i);
                v_store(to, v_load(a + i));
            }
            for (; i < m; i += rows, to += step)
                v_store(to, v_load_n(a + i, m - i));
        }
        return;
    }
    for (int64_t i = 0; i < m; i += rows, dst += step)
        rows_transpose(dst, LANES, a + i * lda, lda, rgmi_min(rows, m - i), k);
}

/* ---- one block of C ------------------------------------------------------------------------ */

/* A block of C from a block of A and panels of B, one pass over k. */
typedef struct block_job {
    tile_job tile; /* a, b, c, bias at the block's origin; k, flags              */
    int64_t rows, columns, panels;
    int64_t panel_step;  /* elements from one panel of B to the next                   */
    const float *packed; /* rows of A packed in strips of strip_rows, or NULL          */
    int64_t strip_rows;
} block_job;

/* Rows of each strip so that strips of at most `most` are about even. */
static inline int64_t even_strip(int64_t rows, int64_t most)
{
    return rgmi_blocks(rows, rgmi_max(1, rgmi_blocks(rows, most)));
}

/* All rows of the block against one panel. */
static void panel_run(const block_job *o, tile_job *t)
{
    int64_t vectors = vectors_of(t->columns), most = tile_rows[vectors - 1];
    int64_t strip = o->packed ? o->strip_rows : even_strip(o->rows, most);
    float *c = t->c;

    for (int64_t i = 0; i < o->rows; i += strip)
        for (int64_t s = 0; s < strip && i + s < o->rows; s += most) {
            int64_t rows = rgmi_min(rgmi_min(strip - s, most), o->rows - i - s);
            t->c = c + (i + s) * t->ldc;
            if (o->packed)
                t->a = o->packed + i / strip * strip_step(t->k) + s;
            else
                t->a = o->tile.a + (i + s) * t->a_row;
            tiles[vectors - 1][rows - 1](t);
        }
}

static void block_run(const block_job *o)
{
    tile_job t = o->tile;

    if (o->packed) {
        t.a_row = 1;
        t.a_step = LANES;
    }
    for (int64_t j = 0; j < o->panels; j++) {
        t.b = o->tile.b + j * o->panel_step;
        t.bias = o->tile.bias ? o->tile.bias + j * TILE_COLUMNS : NULL;
        t.c = o->tile.c + j * TILE_COLUMNS;
        t.columns = panel_columns(o->columns, o->panels, j);
        panel_run(o, &t);
    }
}

/* Activations other than relu (which rides in the tile) over a finished block, still in cache. */
static void block_activate(float *c, int64_t ldc, int64_t rows, int64_t columns,
                           rgm_activation activation, float slope)
{
    vf s = v_set1(slope);

    if (activation == RGM_ACT_NONE || activation == RGM_ACT_RELU)
        return;
    for (int64_t i = 0; i < rows; i++, c += ldc)
        for (int64_t j = 0; j < columns; j += LANES)
            v_store_n(c + j, v_activate(v_load_n(c + j, columns - j), activation, s), columns - j);
}

/* ---- products with a short k or a large C: B packed once, tasks over rows of C -------------- */

typedef struct product {
    const rgm_matmul_args *o;
    float *packed_b; /* [batch][k blocks][panels][k of block][width] */
    int64_t k_block, panels, row_blocks, row_block, panel_blocks, panel_block;
    bool pack_a;
} product;

/* k of one pass. */
static inline int64_t k_block_of(int64_t k)
{
    return k <= K_WHOLE ? rgmi_max(1, k) : K_BLOCK;
}

static inline float *panel_at(const product *g, int64_t batch, int64_t kb, int64_t j)
{
    int64_t width = vectors_of(g->o->n) * LANES, k = rgmi_min(g->k_block, g->o->k - kb);

    return g->packed_b + (batch * g->o->k + kb) * width + j * TILE_COLUMNS * k;
}

static void product_pack(void *payload, int64_t begin, int64_t end)
{
    const product *g = payload;
    const rgm_matmul_args *o = g->o;
    int64_t passes = rgmi_blocks(o->k, g->k_block), groups = rgmi_blocks(g->panels, PACK_PANELS);
    int64_t parts = rgmi_blocks(g->k_block, PACK_K);

    for (int64_t i = begin; i < end; i++) {
        int64_t part = i % parts, j = i / parts % groups * PACK_PANELS;
        int64_t kb = i / parts / groups % passes * g->k_block, z = i / parts / groups / passes;
        int64_t column = j * TILE_COLUMNS, k = rgmi_min(g->k_block, o->k - kb);
        int64_t columns = j + PACK_PANELS < g->panels ? PACK_PANELS * TILE_COLUMNS : o->n - column;
        const float *b = (const float *)o->b + z * o->stride_b;
        pack_panels(panel_at(g, z, kb, j),
                    b + (o->trans_b ? column * o->ldb + kb : kb * o->ldb + column), o->ldb,
                    o->trans_b, k, columns, part * PACK_K, rgmi_min(k, (part + 1) * PACK_K));
    }
}

static void product_pack_all(product *g)
{
    const rgm_matmul_args *o = g->o;

    rgm_parallel(
        o->batch * rgmi_blocks(o->k, g->k_block) * rgmi_blocks(g->panels, PACK_PANELS) *
            rgmi_blocks(g->k_block, PACK_K),
        (double)(rgmi_min(g->k_block, PACK_K) * TILE_COLUMNS * rgmi_min(g->panels, PACK_PANELS)) *
            0.3,
        product_pack, g);
}

/* Bytes of one packed B. */
static inline size_t packed_size(const rgm_matmul_args *o)
{
    return (size_t)(rgmi_max(1, o->k) * vectors_of(o->n) * LANES) * sizeof(float);
}

static void product_block(const product *g, int64_t z, int64_t i, int64_t j, float *packed)
{
    const rgm_matmul_args *o = g->o;
    int64_t column = j * TILE_COLUMNS, rows = rgmi_min(g->row_block, o->m - i);
    int64_t panels = rgmi_min(g->panel_block, g->panels - j);
    int64_t columns = j + panels < g->panels ? panels * TILE_COLUMNS : o->n - column;
    const float *a = (const float *)o->a + z * o->stride_a + (o->trans_a ? i : i * o->lda);
    block_job block = {.rows = rows, .columns = columns, .panels = panels};

    block.strip_rows = even_strip(rows, TILE_ROWS_2);
    block.tile.c = (float *)o->c + z * o->stride_c + i * o->ldc + column;
    block.tile.ldc = o->ldc;
    block.tile.bias = o->bias ? (const float *)o->bias + column : NULL;
    block.tile.activation = o->accumulate ? RGM_ACT_NONE : o->activation;
    block.tile.a_row = o->trans_a ? 1 : o->lda;
    block.tile.a_step = o->trans_a ? o->lda : 1;
    for (int64_t kb = 0; kb < o->k || kb == 0; kb += g->k_block) {
        int64_t k = rgmi_min(g->k_block, o->k - kb);
        block.tile.k = k;
        block.tile.a = a + kb * block.tile.a_step;
        block.tile.b = panel_at(g, z, kb, j);
        block.panel_step = TILE_COLUMNS * k;
        block.tile.first = kb == 0 && !o->accumulate;
        block.tile.last = kb + k >= o->k;
        if (packed) {
            pack_rows(packed, block.tile.a, o->lda, o->trans_a, rows, k, block.strip_rows);
            block.packed = packed;
        }
        block_run(&block);
    }
    if (!o->accumulate)
        block_activate(block.tile.c, o->ldc, rows, columns, o->activation, (float)o->slope);
}

/* Floats for `rows` rows of A packed in even strips of at most TILE_ROWS_2. */
static inline int64_t packed_rows_size(int64_t rows, int64_t k)
{
    return (rgmi_blocks(rows, TILE_ROWS_2) + 1) * strip_step(k);
}

static void product_tasks(void *payload, int64_t begin, int64_t end)
{
    const product *g = payload;
    float *packed = NULL;

    if (g->pack_a) /* without memory A is read in place: slower, the same bits */
        packed =
            rgmi_scratch_take((size_t)packed_rows_size(g->row_block, g->k_block) * sizeof(float));
    for (int64_t t = begin; t < end; t++) {
        int64_t j = t % g->panel_blocks, i = t / g->panel_blocks % g->row_blocks;
        product_block(g, t / g->panel_blocks / g->row_blocks, i * g->row_block, j * g->panel_block,
                      packed);
    }
    rgmi_scratch_give(packed);
}

/* Strips of A read in place touch one line of each row at a time: slow where many rows fall on the
 * same cache set, or the rows are columns far apart. */
static bool rows_collide(const rgm_matmul_args *o)
{
    if (o->trans_a)
        return o->lda > 64 && o->n > LANES;
    return o->lda % 512 == 0 && o->n >= 128;
}

/* Packed rows are also read ahead of their use: worth it from a few panels on. */
static bool wants_packed_rows(const rgm_matmul_args *o)
{
    return rows_collide(o) || (!o->trans_a && o->n >= 128);
}

/* Whether B as it lies in memory is the one panel it would be packed to. */
static bool is_panel(const rgm_matmul_args *o)
{
    return !o->trans_b && panels_of(o->n) == 1 && o->n % LANES == 0 && o->ldb == o->n &&
           (o->batch == 1 || o->stride_b == o->k * o->n);
}

/* How often `block` goes into a side, about: each task packs its operands by itself, for a narrow
 * rest as for a whole block. */
static inline int64_t tasks_of(int64_t side, int64_t block)
{
    return rgmi_max(1, (side + block / 2) / block);
}

static bool product_run(const rgm_matmul_args *o)
{
    product g = {.o = o, .row_block = ROW_BLOCK};
    double flops = flops_of(o);

    g.panels = panels_of(o->n);
    g.panel_block = g.panels;
    g.k_block = k_block_of(o->k);
    bool own = !is_panel(o);
    g.packed_b =
        own ? rgmi_scratch_take((size_t)o->batch * packed_size(o)) : (float *)(uintptr_t)o->b;
    if (g.packed_b == NULL)
        return false;
    /* Few rows: more tasks from columns, then from shorter row blocks. */
    if (o->m < 16 * ROW_BLOCK && o->batch < TASKS_ENOUGH) {
        int64_t across = tasks_of(o->n, COLUMN_BLOCK);
        int64_t most = rgmi_blocks(o->m, rgmi_blocks(TASKS_ENOUGH, across));
        g.panel_block = rgmi_blocks(g.panels, across);
        g.row_block = rgmi_min(ROW_BLOCK, rgmi_blocks(most, TILE_ROWS_2) * TILE_ROWS_2);
    }
    g.row_blocks = rgmi_blocks(o->m, g.row_block);
    g.panel_blocks = rgmi_blocks(g.panels, g.panel_block);
    g.pack_a = wants_packed_rows(o);
    if (own)
        product_pack_all(&g);
    rgm_parallel(o->batch * g.row_blocks * g.panel_blocks,
                 flops / (double)(g.row_blocks * g.panel_blocks) / FLOPS_NS, product_tasks, &g);
    if (own)
        rgmi_scratch_give(g.packed_b);
    return true;
}

/* ---- products whose B was packed before ------------------------------------------------------ */

static size_t matmul_pack(const rgm_matmul_args *args)
{
    product g = {.o = args, .packed_b = args->c, .panels = panels_of(args->n)};
    rgm_matmul_args one = *args;

    one.batch = 1;
    g.o = &one;
    g.k_block = k_block_of(args->k);
    if (args->c != NULL)
        product_pack_all(&g);
    return packed_size(args);
}

typedef struct apart_job {
    const float *from;
    float *to;
    int64_t ld, k;
} apart_job;

static void rows_move(void *payload, int64_t begin, int64_t end)
{
    const apart_job *o = payload;

    for (int64_t i = begin; i < end; i++)
        memcpy(o->to + i * (o->k + STRIP_PAD), o->from + i * o->ld, (size_t)o->k * sizeof(float));
}

/* Rows of A that all begin in the same cache set, copied so that they do not; few enough of them
 * that each task would otherwise have its own to pack. */
static const float *rows_apart(rgm_matmul_args *o)
{
    apart_job job;
    float *apart;

    if (o->trans_a || o->m > ROWS_APART || !rows_collide(o))
        return NULL;
    apart = rgmi_scratch_take((size_t)(o->m * (o->k + STRIP_PAD)) * sizeof(float));
    if (apart == NULL)
        return NULL;
    job = (apart_job){.from = o->a, .to = apart, .ld = o->lda, .k = o->k};
    rgm_parallel(o->m, (double)o->k * 0.1, rows_move, &job);
    o->a = apart;
    o->lda = o->k + STRIP_PAD;
    return apart;
}

/* What a thread takes for all of it: of few rows, the time to read B, of which each number is used
 * once a row. */
static double packed_ns(const rgm_matmul_args *o)
{
    double bytes = (double)(o->k * o->n) * sizeof(float);

    return fmax(flops_of(o) / FLOPS_NS, bytes / BYTES_NS);
}

/* Tasks are a few rows' strips by some panels: enough of them to share out, each panel read from
 * far away once. */
static void packed_run(const rgm_matmul_args *args)
{
    rgm_matmul_args o = *args;
    product g = {.o = &o, .packed_b = (float *)args->b};
    void *apart = (void *)(uintptr_t)rows_apart(&o);

    g.k_block = k_block_of(o.k);
    g.panels = panels_of(o.n);
    g.row_blocks = rgmi_blocks(o.m, ROW_BLOCK);
    g.row_block = rgmi_blocks(o.m, g.row_blocks);
    g.row_blocks = rgmi_blocks(o.m, g.row_block);
    g.pack_a = apart == NULL && rows_collide(&o);
    g.panel_block = g.pack_a ? g.panels : rgmi_blocks(g.panels * g.row_blocks, PACKED_TASKS);
    g.panel_block = rgmi_min(g.panel_block, g.panels);
    g.panel_blocks = rgmi_blocks(g.panels, g.panel_block);
    rgm_parallel(g.row_blocks * g.panel_blocks,
                 packed_ns(&o) / (double)(g.row_blocks * g.panel_blocks), product_tasks, &g);
    rgmi_scratch_give(apart);
}

/* ---- products with a long k and a small C: k cut into slices -------------------------------- */

typedef struct sliced {
    const rgm_matmul_args *o;
    float *partial; /* [slices][m][n] */
    int64_t slices, slice_k, row_tasks, task_rows, column_tasks, task_columns;
    bool pack_a;
    atomic_bool failed;
} sliced;

static void sliced_task(sliced *g, int64_t slice, int64_t i, int64_t j, float *panels,
                        float *packed)
{
    const rgm_matmul_args *o = g->o;
    int64_t rows = rgmi_min(g->task_rows, o->m - i);
    int64_t columns = rgmi_min(g->task_columns, o->n - j);
    int64_t from = slice * g->slice_k, to = rgmi_min(o->k, from + g->slice_k);
    const float *a = o->a, *b = o->b;
    block_job block = {.rows = rows, .columns = columns};

    block.panels = panels_of(columns);
    block.strip_rows = even_strip(rows, TILE_ROWS_2);
    block.tile.c = g->partial + (slice * o->m + i) * o->n + j;
    block.tile.ldc = o->n;
    block.tile.a_row = o->trans_a ? 1 : o->lda;
    block.tile.a_step = o->trans_a ? o->lda : 1;
    for (int64_t kb = from; kb < to; kb += K_BLOCK) {
        int64_t k = rgmi_min(K_BLOCK, to - kb);
        pack_panels(panels, b + (o->trans_b ? j * o->ldb + kb : kb * o->ldb + j), o->ldb,
                    o->trans_b, k, columns, 0, k);
        block.tile.k = k;
        block.tile.a = a + (o->trans_a ? kb * o->lda + i : i * o->lda + kb);
        block.tile.b = panels;
        block.panel_step = TILE_COLUMNS * k;
        block.tile.first = kb == from;
        if (packed) {
            pack_rows(packed, block.tile.a, o->lda, o->trans_a, rows, k, block.strip_rows);
            block.packed = packed;
        }
        block_run(&block);
    }
}

static void sliced_tasks(void *payload, int64_t begin, int64_t end)
{
    sliced *g = payload;
    size_t panels_size = (size_t)((g->task_columns + 2 * LANES) * K_BLOCK) * sizeof(float);
    float *panels = rgmi_scratch_take(panels_size), *packed = NULL;

    if (g->pack_a)
        packed = rgmi_scratch_take((size_t)packed_rows_size(g->task_rows, K_BLOCK) * sizeof(float));
    if (panels == NULL)
        atomic_store(&g->failed, true);
    for (int64_t t = begin; t < end && panels; t++) {
        int64_t j = t % g->column_tasks, i = t / g->column_tasks % g->row_tasks;
        sliced_task(g, t / g->column_tasks / g->row_tasks, i * g->task_rows, j * g->task_columns,
                    panels, packed);
    }
    rgmi_scratch_give(packed);
    rgmi_scratch_give(panels);
}

static void sliced_sum(void *payload, int64_t begin, int64_t end)
{
    const sliced *g = payload;
    const rgm_matmul_args *o = g->o;
    vf slope = v_set1((float)o->slope);

    for (int64_t i = begin; i < end; i++) {
        float *c = (float *)o->c + i * o->ldc;
        for (int64_t j = 0; j < o->n; j += LANES) {
            int64_t left = o->n - j;
            vf sum = o->accumulate ? v_load_n(c + j, left) : v_zero();
            for (int64_t s = 0; s < g->slices; s++)
                sum = v_add(sum, v_load_n(g->partial + (s * o->m + i) * o->n + j, left));
            if (o->bias)
                sum = v_add(sum, v_load_n((const float *)o->bias + j, left));
            if (!o->accumulate)
                sum = v_activate(sum, o->activation, slope);
            v_store_n(c + j, sum, left);
        }
    }
}

/* A long sum into a C small enough that a copy for each slice is cheap beside the product. */
static bool is_sliced(const rgm_matmul_args *o)
{
    return o->batch == 1 && o->k >= 2 * SLICE_K && o->k >= 4 * o->m && o->k >= 4 * o->n;
}

static bool sliced_run(const rgm_matmul_args *o)
{
    sliced g = {.o = o};
    double flops = flops_of(o);

    g.slices = rgmi_min(SLICES_MOST, o->k / SLICE_K);
    g.slice_k = rgmi_blocks(rgmi_blocks(o->k, g.slices), K_BLOCK) * K_BLOCK;
    g.slices = rgmi_blocks(o->k, g.slice_k);
    g.task_rows = rgmi_blocks(o->m, tasks_of(o->m, SLICE_TASK_ROWS));
    g.row_tasks = rgmi_blocks(o->m, g.task_rows);
    g.task_columns = rgmi_blocks(o->n, rgmi_blocks(o->n, SLICE_TASK_COLUMNS));
    g.task_columns = rgmi_blocks(g.task_columns, TILE_COLUMNS) * TILE_COLUMNS;
    g.column_tasks = rgmi_blocks(o->n, g.task_columns);
    g.pack_a = wants_packed_rows(o);
    g.partial = rgmi_scratch_take((size_t)(g.slices * o->m * o->n) * sizeof(float));
    if (g.partial == NULL)
        return false;
    rgm_parallel(g.slices * g.row_tasks * g.column_tasks,
                 flops / (double)(g.slices * g.row_tasks * g.column_tasks) / FLOPS_NS, sliced_tasks,
                 &g);
    if (!atomic_load(&g.failed))
        rgm_parallel(o->m, (double)(o->n * g.slices) * 0.15, sliced_sum, &g);
    rgmi_scratch_give(g.partial);
    return !atomic_load(&g.failed);
}

static void matmul(const rgm_matmul_args *args)
{
    if (args->m == 0 || args->n == 0 || args->batch == 0)
        return;
    if (args->packed) {
        packed_run(args);
        return;
    }
    NARROW_TAKES(args->n, matmul(args));
    if (is_sliced(args) ? sliced_run(args)
                        : rgmi_onednn_matmul(args, block_finish) || product_run(args))
        return;
    rgmi_reference_f32.matmul(args);
}

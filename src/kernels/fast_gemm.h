/*
 * Dense products. A tile of C, ROWS x (VECS * LANES), stays in registers while k runs; B is packed
 * into panels as wide as the tile, zero-padded, so that edges cost no special code on that side; A
 * is read in place where its rows are near each other and packed otherwise. Each element of C is
 * one chain of fused multiply-adds over k in order, so the tiling never shows in the bits; only a
 * long k over a small C is cut, into slices fixed by the shape, added in order.
 */

#define TILE_COLUMNS  (2 * LANES)
#define STRIP_PAD     16  /* floats between packed strips, so that they differ in cache set */
#define K_BLOCK       224 /* most k of one pass of several: a panel of B stays in L1        */
#define K_WHOLE       384 /* up to here k is one pass                                       */
#define ROW_BLOCK     (8 * TILE_ROWS_2) /* rows of C of one task, about */
#define COLUMN_BLOCK  256  /* columns of one task where rows are few                         */
#define TASKS_ENOUGH  8    /* more tasks are made until there are so many                    */
#define PACK_PANELS   8    /* of one packing task                                            */
#define PACK_K        64   /* k of one packing task                                          */
#define PACK_AHEAD    4    /* rows from the prefetch to its use                              */
#define PACKED_TASKS  16   /* of a product whose B was packed before                         */
#define ROWS_APART    1024 /* rows of A that are moved apart for it                          */
#define FLOPS_NS      (7.0 * LANES) /* operations of one thread in a nanosecond */
#define BYTES_NS      30.0 /* bytes that it reads in a nanosecond, in order                  */
#define SLICE_K       1024 /* least k of a slice                                             */
#define SLICES_MOST   64
#define LONG_K        1024 /* k of a product whose tasks pack for themselves                 */
#define LONG_SIDE     384  /* most rows and columns of C of one task of such a product       */
#define LONG_CHOICES  8    /* numbers of tasks along a side that are looked at               */
#define STRIPS_MANY   4    /* strips of A that keep a panel of B near                        */
#define TURN_ROWS     256  /* least rows of A for which B is turned once,                    */
#define TURN_COLUMNS  512  /* of fewer columns than these                                    */
#define PACK_BYTES_NS 10.0 /* bytes that a thread packs in a nanosecond                      */

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

/* Of each part of a side so that parts of at most `most` are about even. */
static inline int64_t even_part(int64_t side, int64_t most)
{
    return rgmi_blocks(side, rgmi_max(1, rgmi_blocks(side, most)));
}

/* All rows of the block against one panel. */
static void panel_run(const block_job *o, tile_job *t)
{
    int64_t vectors = vectors_of(t->columns), most = tile_rows[vectors - 1];
    int64_t strip = o->packed ? o->strip_rows : even_part(o->rows, most);
    bool many = o->packed && o->rows >= STRIPS_MANY * most;
    tile_function *run;
    float *c = t->c;

    for (int64_t i = 0; i < o->rows; i += strip)
        for (int64_t s = 0; s < strip && i + s < o->rows; s += most) {
            int64_t rows = rgmi_min(rgmi_min(strip - s, most), o->rows - i - s);
            t->c = c + (i + s) * t->ldc;
            t->a_once = o->panels == 1 && i + s + rows < o->rows;
            if (o->packed)
                t->a = o->packed + i / strip * strip_step(t->k) + s;
            else
                t->a = o->tile.a + (i + s) * t->a_row;
            run = many ? strips[vectors - 1][rows - 1] : NULL;
            (run ? run : tiles[vectors - 1][rows - 1])(t);
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

/* k of one pass: all passes are about even. */
static inline int64_t k_block_of(int64_t k)
{
    return k <= K_WHOLE ? rgmi_max(1, k) : even_part(k, K_BLOCK);
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

    block.strip_rows = even_part(rows, TILE_ROWS_2);
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
    } else if (o->trans_a) {
        g.row_block = 2 * ROW_BLOCK; /* what is turned is read in wider rows */
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
    g.row_block = even_part(o.m, ROW_BLOCK);
    g.row_blocks = rgmi_blocks(o.m, g.row_block);
    g.pack_a = apart == NULL && rows_collide(&o);
    g.panel_block = g.pack_a ? g.panels : rgmi_blocks(g.panels * g.row_blocks, PACKED_TASKS);
    g.panel_block = rgmi_min(g.panel_block, g.panels);
    g.panel_blocks = rgmi_blocks(g.panels, g.panel_block);
    rgm_parallel(g.row_blocks * g.panel_blocks,
                 packed_ns(&o) / (double)(g.row_blocks * g.panel_blocks), product_tasks, &g);
    rgmi_scratch_give(apart);
}

/* ---- products with a long k and a small C: each task packs for itself ------------------------ */

/*
 * C is small beside A and B: a task makes a block of it, and what it packs of them stays in its own
 * L2. Where C is so small that there were too few blocks, k is cut into slices as well.
 */
typedef struct long_product {
    const rgm_matmul_args *o;
    float *partial; /* [slices][m][n], or NULL: one slice, straight into C */
    int64_t slices, slice_k, k_block, row_tasks, task_rows, column_tasks, task_columns;
    bool pack_a;
} long_product;

/* The product that task t is: rows and columns of C, and a slice of k. */
static rgm_matmul_args long_part(const long_product *g, int64_t t)
{
    rgm_matmul_args o = *g->o;
    int64_t j = t % g->column_tasks * g->task_columns;
    int64_t i = t / g->column_tasks % g->row_tasks * g->task_rows;
    int64_t slice = t / g->column_tasks / g->row_tasks, from = slice * g->slice_k;

    o.a = (const float *)o.a + (o.trans_a ? from * o.lda + i : i * o.lda + from);
    o.b = (const float *)o.b + (o.trans_b ? j * o.ldb + from : from * o.ldb + j);
    o.bias = o.bias ? (const float *)o.bias + j : NULL;
    o.c = (float *)o.c + i * o.ldc + j;
    if (g->partial) {
        o.c = g->partial + (slice * o.m + i) * o.n + j;
        o.ldc = o.n;
        o.bias = NULL;
        o.activation = RGM_ACT_NONE;
        o.accumulate = false;
    }
    o.m = rgmi_min(g->task_rows, o.m - i);
    o.n = rgmi_min(g->task_columns, o.n - j);
    o.k = rgmi_min(g->slice_k, o.k - from);
    return o;
}

static void long_block(const rgm_matmul_args *o, int64_t k_block, float *panels, float *packed)
{
    block_job block = {.rows = o->m, .columns = o->n, .panels = panels_of(o->n)};
    rgm_activation activation = o->accumulate ? RGM_ACT_NONE : o->activation;

    block.strip_rows = even_part(o->m, TILE_ROWS_2);
    block.packed = packed;
    block.tile = (tile_job){.a = o->a, .b = panels, .c = o->c, .ldc = o->ldc, .bias = o->bias};
    block.tile.activation = activation;
    block.tile.a_row = o->trans_a ? 1 : o->lda;
    block.tile.a_step = o->trans_a ? o->lda : 1;
    for (int64_t p = 0; p < o->k; p += k_block) {
        int64_t k = rgmi_min(k_block, o->k - p);
        pack_panels(panels, (const float *)o->b + (o->trans_b ? p : p * o->ldb), o->ldb, o->trans_b,
                    k, o->n, 0, k);
        if (packed)
            pack_rows(packed, block.tile.a, o->lda, o->trans_a, o->m, k, block.strip_rows);
        block.panel_step = TILE_COLUMNS * k;
        block.tile.k = k;
        block.tile.first = p == 0 && !o->accumulate;
        block.tile.last = p + k >= o->k;
        block_run(&block);
        block.tile.a += k * block.tile.a_step;
    }
    block_activate(o->c, o->ldc, o->m, o->n, activation, (float)o->slope);
}

/* Without memory: panel by panel, by what the stack holds. Slower, with the same bits. */
static void long_frugal(const rgm_matmul_args *o, int64_t k_block)
{
    _Alignas(64) float panel[K_BLOCK * TILE_COLUMNS];

    for (int64_t j = 0; j < o->n; j += TILE_COLUMNS) {
        rgm_matmul_args part = *o;
        part.n = rgmi_min(TILE_COLUMNS, o->n - j);
        part.b = (const float *)o->b + (o->trans_b ? j * o->ldb : j);
        part.bias = o->bias ? (const float *)o->bias + j : NULL;
        part.c = (float *)o->c + j;
        long_block(&part, k_block, panel, NULL);
    }
}

static void long_tasks(void *payload, int64_t begin, int64_t end)
{
    const long_product *g = payload;
    size_t panels_size = (size_t)((g->task_columns + 2 * LANES) * g->k_block) * sizeof(float);
    size_t packed_size = (size_t)packed_rows_size(g->task_rows, g->k_block) * sizeof(float);
    float *panels = rgmi_scratch_take(panels_size);
    float *packed = g->pack_a ? rgmi_scratch_take(packed_size) : NULL;

    for (int64_t t = begin; t < end; t++) {
        rgm_matmul_args part = long_part(g, t);
        if (panels)
            long_block(&part, g->k_block, panels, packed);
        else
            long_frugal(&part, g->k_block);
    }
    rgmi_scratch_give(packed);
    rgmi_scratch_give(panels);
}

static void partial_sum(void *payload, int64_t begin, int64_t end)
{
    const long_product *g = payload;
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

/* A sum long enough that a copy of C for each slice is cheap beside the product. */
static bool is_sliced(const rgm_matmul_args *o)
{
    return o->batch == 1 && o->k >= 2 * SLICE_K && o->k >= 4 * o->m && o->k >= 4 * o->n;
}

static bool is_long(const rgm_matmul_args *o)
{
    return o->batch == 1 && o->k >= LONG_K && o->k >= o->m && o->k >= o->n;
}

/* C in blocks of `rows` x `columns` by tasks: what the threads take for it, in ns. */
static double long_ns(const long_product *g, int64_t rows, int64_t columns)
{
    const rgm_matmul_args *o = g->o;
    double k = (double)g->slice_k;
    int64_t tasks = g->slices * rgmi_blocks(o->m, rows) * rgmi_blocks(o->n, columns);

    return (double)rgmi_blocks(tasks, rgm_threads()) * k *
           (2.0 * (double)(rows * columns) / FLOPS_NS +
            (double)((rows + columns) * (int64_t)sizeof(float)) / PACK_BYTES_NS);
}

/* Blocks of which each thread has about as many, small enough for L2 with what is packed for them
 * (1.3 MB at most). The threads may decide here: no block changes a bit. */
static void long_blocks(long_product *g)
{
    const rgm_matmul_args *o = g->o;
    double best = INFINITY;

    for (int64_t i = rgmi_blocks(o->m, LONG_SIDE), r = i; r < i + LONG_CHOICES; r++)
        for (int64_t j = rgmi_blocks(o->n, LONG_SIDE), c = j; c < j + LONG_CHOICES; c++) {
            int64_t rows = rgmi_blocks(o->m, r), columns = rgmi_blocks(o->n, c);
            columns = rgmi_blocks(columns, TILE_COLUMNS) * TILE_COLUMNS;
            double ns = long_ns(g, rows, columns);
            if (ns < best) {
                best = ns;
                g->task_rows = rows;
                g->task_columns = columns;
            }
        }
    g->row_tasks = rgmi_blocks(o->m, g->task_rows);
    g->column_tasks = rgmi_blocks(o->n, g->task_columns);
}

static bool long_run(const rgm_matmul_args *o)
{
    long_product g = {.o = o, .pack_a = wants_packed_rows(o)};
    int64_t tasks;

    g.slice_k = rgmi_blocks(o->k, is_sliced(o) ? rgmi_min(SLICES_MOST, o->k / SLICE_K) : 1);
    g.k_block = k_block_of(g.slice_k);
    g.slices = rgmi_blocks(o->k, g.slice_k);
    long_blocks(&g);
    if (g.slices > 1) {
        g.partial = rgmi_scratch_take((size_t)(g.slices * o->m * o->n) * sizeof(float));
        if (g.partial == NULL)
            return false;
    }
    tasks = g.slices * g.row_tasks * g.column_tasks;
    rgm_parallel(tasks, flops_of(o) / (double)tasks / FLOPS_NS, long_tasks, &g);
    if (g.partial)
        rgm_parallel(o->m, (double)(o->n * g.slices) * 0.15, partial_sum, &g);
    rgmi_scratch_give(g.partial);
    return true;
}

/* ---- products by the library, which reads both operands in place ----------------------------- */

typedef struct turn_job {
    const float *from;
    float *to;
    int64_t rows, columns, ld_from, ld_to;
} turn_job;

static void rows_turn(void *payload, int64_t begin, int64_t end)
{
    const turn_job *o = payload;

    for (int64_t i = begin * LANES; i < end * LANES; i += LANES)
        rows_transpose(o->to + i, o->ld_to, o->from + i * o->ld_from, o->ld_from, o->rows - i,
                       o->columns);
}

/* By oneDNN, which would turn a narrow B anew in each of its calls. */
static bool library_run(const rgm_matmul_args *args)
{
    rgm_matmul_args o = *args;
    float *b = NULL;

    if (!rgmi_onednn_takes(&o))
        return false;
    if (o.trans_b && o.m >= TURN_ROWS && o.n < TURN_COLUMNS) {
        int64_t ld = vectors_of(o.n) * LANES + STRIP_PAD;
        turn_job job = {.from = o.b, .rows = o.n, .columns = o.k, .ld_from = o.ldb, .ld_to = ld};
        b = job.to = rgmi_scratch_take((size_t)(o.k * ld) * sizeof(float));
        if (b == NULL)
            return false;
        rgm_parallel(rgmi_blocks(o.n, LANES), (double)(o.k * LANES) * 0.3, rows_turn, &job);
        o.b = b;
        o.ldb = ld;
        o.trans_b = false;
    }
    rgmi_onednn_matmul(&o, block_finish);
    rgmi_scratch_give(b);
    return true;
}

static bool own_run(const rgm_matmul_args *o)
{
    return is_long(o) ? long_run(o) : product_run(o);
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
    if (is_sliced(args) ? long_run(args) : library_run(args) || own_run(args))
        return;
    rgmi_reference_f32.matmul(args);
}

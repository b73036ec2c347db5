/*
 * The pattern of a sparse matrix by rows and by columns, both built once with a stable counting
 * sort. If the entries are sorted already, the sorted arrays are the given ones and `entry` is
 * NULL.
 */
#include <regimen/tensor.h>

#include <stdatomic.h>
#include <string.h>

struct rgm_pattern {
    atomic_int references;
    rgm_csr by_row, by_column;
    int32_t *row_of, *column_of;  /* [count], as given                             */
    int64_t *start[2];            /* memory of by_row and by_column */
    int32_t *other[2], *entry[2]; /* NULL where the given order is the sorted one  */
    int32_t *visit[2];            /* NULL where rows are long or many              */
    _Atomic uint64_t below[2];    /* columns and rows: see rgm_pattern_rows_below() */
};

static rgm_status check_size(int64_t rows, int64_t columns, int64_t count)
{
    if (rows < 0 || columns < 0 || count < 0)
        return RGM_FAIL(RGM_ERR_ARG, "a pattern of %lld x %lld with %lld entries", (long long)rows,
                        (long long)columns, (long long)count);
    if (rows > INT32_MAX || columns > INT32_MAX || count > INT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "a pattern of %lld x %lld with %lld entries: each must be below 2^31",
                        (long long)rows, (long long)columns, (long long)count);
    return RGM_OK;
}

static rgm_status copy_indices(int32_t *to, const int64_t *from, int64_t count, int64_t limit,
                               const char *what)
{
    for (int64_t i = 0; i < count; i++) {
        if (from[i] < 0 || from[i] >= limit)
            return RGM_FAIL(RGM_ERR_DATA, "entry %lld: %s is %lld, there are %lld", (long long)i,
                            what, (long long)from[i], (long long)limit);
        to[i] = (int32_t)from[i];
    }
    return RGM_OK;
}

int64_t rgm_csr_blocks(const rgm_csr *csr)
{
    return (csr->rows + csr->count + RGM_ROW_BLOCK - 1) / RGM_ROW_BLOCK;
}

int64_t rgm_csr_block_begin(const rgm_csr *csr, int64_t b)
{
    int64_t target = b * RGM_ROW_BLOCK, low = 0, high = csr->rows;

    while (low < high && b < rgm_csr_blocks(csr)) {
        int64_t middle = low + (high - low) / 2;
        if (csr->row_start[middle] + middle >= target)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

#define VISIT_MEAN    8 /* largest mean entries of a row: the ends of longer rows come seldom */
#define VISIT_COLUMNS (1 << 14) /* most columns: beyond, rows are prefetched in ascending order */
#define VISIT_LENGTHS 64        /* rows with more entries count as equally long */

static inline int64_t visit_length(const rgm_csr *csr, int64_t r)
{
    int64_t entries = csr->row_start[r + 1] - csr->row_start[r];

    return entries < VISIT_LENGTHS ? entries : VISIT_LENGTHS - 1;
}

/* Order the rows [from, to) by length with a stable counting sort. */
static void visit_block(int32_t *visit, const rgm_csr *csr, int64_t from, int64_t to)
{
    int64_t at[VISIT_LENGTHS + 1] = {from};

    for (int64_t r = from; r < to; r++)
        at[visit_length(csr, r) + 1]++;
    for (int i = 0; i < VISIT_LENGTHS; i++)
        at[i + 1] += at[i];
    for (int64_t r = from; r < to; r++)
        visit[at[visit_length(csr, r)]++] = (int32_t)r;
}

static rgm_status make_visit(int32_t **visit, rgm_csr *csr)
{
    for (int64_t r = 0; r < csr->rows; r++)
        if (csr->longest < csr->row_start[r + 1] - csr->row_start[r])
            csr->longest = csr->row_start[r + 1] - csr->row_start[r];
    if (csr->columns > VISIT_COLUMNS || csr->count > VISIT_MEAN * csr->rows)
        return RGM_OK;
    RGM_TRY(RGM_NEW(*visit, csr->rows));
    for (int64_t b = 0; b < rgm_csr_blocks(csr); b++)
        visit_block(*visit, csr, rgm_csr_block_begin(csr, b), rgm_csr_block_begin(csr, b + 1));
    csr->visit = *visit;
    return RGM_OK;
}

/* Make one direction: rows = `major`, columns = `minor`. */
static rgm_status make_direction(rgm_pattern *p, int which, int64_t rows, int64_t columns,
                                 int64_t count, const int32_t *major, const int32_t *minor)
{
    bool sorted = true;
    int64_t *start;
    rgm_csr *csr = which == 0 ? &p->by_row : &p->by_column;

    RGM_TRY(RGM_NEW(p->start[which], rows + 2));
    start = p->start[which] + 1; /* one ahead, so that filling moves each start to its place */
    for (int64_t i = 0; i < count; i++)
        start[major[i] + 1]++;
    for (int64_t i = 1; i < count && sorted; i++)
        sorted = major[i - 1] <= major[i];
    for (int64_t r = 0; r < rows; r++)
        start[r + 1] += start[r];
    *csr = (rgm_csr){
        .rows = rows, .columns = columns, .count = count, .row_start = start, .column = minor};
    if (sorted)
        return make_visit(&p->visit[which], csr);
    RGM_TRY(RGM_NEW(p->other[which], count));
    RGM_TRY(RGM_NEW(p->entry[which], count));
    for (int64_t i = 0; i < count; i++) {
        int64_t at = start[major[i]]++;
        p->other[which][at] = minor[i];
        p->entry[which][at] = (int32_t)i;
    }
    start--; /* each start has now moved to where the next row's was */
    csr->row_start = start;
    csr->column = p->other[which];
    csr->entry = p->entry[which];
    return make_visit(&p->visit[which], csr);
}

static rgm_status make_both(rgm_pattern *p, int64_t rows, int64_t columns, int64_t count)
{
    RGM_TRY(make_direction(p, 0, rows, columns, count, p->row_of, p->column_of));
    RGM_TRY(make_direction(p, 1, columns, rows, count, p->column_of, p->row_of));
    return RGM_OK;
}

static rgm_status make_header(rgm_pattern **out, int64_t rows, int64_t columns, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_pattern *p = NULL;

    RGM_GO(check_size(rows, columns, count));
    RGM_GO(RGM_NEW(p, 1));
    atomic_init(&p->references, 1);
    RGM_GO(RGM_NEW(p->row_of, count));
    RGM_GO(RGM_NEW(p->column_of, count));
    *out = p;
    p = NULL;
done:
    rgm_pattern_release(p);
    return status;
}

rgm_status rgm_pattern_create(rgm_pattern **out, int64_t rows, int64_t columns, int64_t count,
                              const int64_t *row, const int64_t *column)
{
    rgm_status status = RGM_OK;
    rgm_pattern *p = NULL;

    *out = NULL;
    RGM_GO(make_header(&p, rows, columns, count));
    RGM_GO(copy_indices(p->row_of, row, count, rows, "row"));
    RGM_GO(copy_indices(p->column_of, column, count, columns, "column"));
    RGM_GO(make_both(p, rows, columns, count));
    *out = p;
    p = NULL;
done:
    rgm_pattern_release(p);
    return status;
}

static rgm_status check_row_start(int64_t rows, const int64_t *row_start)
{
    if (rows < 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld rows", (long long)rows);
    if (row_start[0] != 0)
        return RGM_FAIL(RGM_ERR_DATA, "row_start[0] is %lld, not 0", (long long)row_start[0]);
    for (int64_t r = 0; r < rows; r++)
        if (row_start[r + 1] < row_start[r])
            return RGM_FAIL(RGM_ERR_DATA, "row %lld ends at %lld, before its start %lld",
                            (long long)r, (long long)row_start[r + 1], (long long)row_start[r]);
    return RGM_OK;
}

rgm_status rgm_pattern_from_rows(rgm_pattern **out, int64_t rows, int64_t columns,
                                 const int64_t *row_start, const int64_t *column)
{
    rgm_status status = RGM_OK;
    rgm_pattern *p = NULL;

    *out = NULL;
    RGM_GO(check_row_start(rows, row_start));
    RGM_GO(make_header(&p, rows, columns, row_start[rows]));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = row_start[r]; i < row_start[r + 1]; i++)
            p->row_of[i] = (int32_t)r;
    RGM_GO(copy_indices(p->column_of, column, row_start[rows], columns, "column"));
    RGM_GO(make_both(p, rows, columns, row_start[rows]));
    *out = p;
    p = NULL;
done:
    rgm_pattern_release(p);
    return status;
}

rgm_pattern *rgm_pattern_retain(rgm_pattern *pattern)
{
    if (pattern != NULL)
        atomic_fetch_add_explicit(&pattern->references, 1, memory_order_relaxed);
    return pattern;
}

void rgm_pattern_release(rgm_pattern *pattern)
{
    if (pattern == NULL ||
        atomic_fetch_sub_explicit(&pattern->references, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < 2; i++) {
        rgm_free(pattern->start[i]);
        rgm_free(pattern->other[i]);
        rgm_free(pattern->entry[i]);
        rgm_free(pattern->visit[i]);
    }
    rgm_free(pattern->row_of);
    rgm_free(pattern->column_of);
    rgm_free(pattern);
}

const rgm_csr *rgm_pattern_by_row(const rgm_pattern *pattern)
{
    return &pattern->by_row;
}

const rgm_csr *rgm_pattern_by_column(const rgm_pattern *pattern)
{
    return &pattern->by_column;
}

const int32_t *rgm_pattern_row_of(const rgm_pattern *pattern)
{
    return pattern->row_of;
}

const int32_t *rgm_pattern_column_of(const rgm_pattern *pattern)
{
    return pattern->column_of;
}

int64_t rgm_pattern_rows_below(rgm_pattern *pattern, const rgm_csr *csr, int64_t columns)
{
    _Atomic uint64_t *below = &pattern->below[csr == &pattern->by_column];
    uint64_t found = atomic_load_explicit(below, memory_order_relaxed);
    int64_t at = 0, row = 0;

    if ((int64_t)(found >> 32) == columns && columns > 0) /* 0: nothing was asked yet */
        return (int64_t)(found & UINT32_MAX);
    while (at < csr->count && csr->column[at] < columns)
        at++;
    while (row < csr->rows && csr->row_start[row + 1] <= at)
        row++;
    atomic_store_explicit(below, (uint64_t)columns << 32 | (uint64_t)row, memory_order_relaxed);
    return row;
}

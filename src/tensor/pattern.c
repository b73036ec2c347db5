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
    int64_t *start[2];            /* of by_row and by_column                       */
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
    if (csr->columns > VISIT_COLUMNS || csr->count > VISIT_MEAN * csr->rows)
        return RGM_OK;
    RGM_TRY(RGM_NEW_RAW(*visit, csr->rows));
    for (int64_t b = 0; b < rgm_csr_blocks(csr); b++)
        visit_block(*visit, csr, rgm_csr_block_begin(csr, b), rgm_csr_block_begin(csr, b + 1));
    csr->visit = *visit;
    return RGM_OK;
}

static bool is_sorted(const int32_t *major, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (major[i - 1] > major[i])
            return false;
    return true;
}

/* Where the rows of sorted entries start. */
static void starts_of_sorted(int64_t *start, int64_t rows, const int32_t *major, int64_t count)
{
    int64_t r = 0;

    for (int64_t i = 0; i < count; i++)
        while (r <= major[i])
            start[r++] = i;
    while (r <= rows)
        start[r++] = count;
}

/* Counts of rows become where they start; `at` keeps that in fewer bytes, for who fills them. */
static void starts_of_counts(int64_t *start, int32_t *at, int64_t rows)
{
    int32_t next = 0;

    for (int64_t r = 0; r < rows; r++) {
        int32_t entries = at[r];

        at[r] = next;
        start[r] = next;
        next += entries;
    }
    start[rows] = next;
}

#define FILL_AHEAD 16 /* entries whose places are fetched before they are filled */

/* A stable counting sort of the entries. */
static rgm_status sort_entries(rgm_pattern *p, int which, int64_t rows, int64_t count,
                               const int32_t *major, const int32_t *minor)
{
    int32_t *at, *other, *entry;

    RGM_TRY(RGM_NEW_RAW(p->other[which], count));
    RGM_TRY(RGM_NEW_RAW(p->entry[which], count));
    RGM_TRY(RGM_NEW(at, rows));
    other = p->other[which];
    entry = p->entry[which];
    for (int64_t i = 0; i < count; i++)
        at[major[i]]++;
    starts_of_counts(p->start[which], at, rows);
    for (int64_t i = 0; i < count; i++) {
        int32_t place = at[major[i]]++;

        if (i + FILL_AHEAD < count) {
            int32_t soon = at[major[i + FILL_AHEAD]];

            __builtin_prefetch(&other[soon], 1);
            __builtin_prefetch(&entry[soon], 1);
        }
        other[place] = minor[i];
        entry[place] = (int32_t)i;
    }
    rgm_free(at);
    return RGM_OK;
}

static int64_t longest_row(const int64_t *start, int64_t rows)
{
    int64_t longest = 0;

    for (int64_t r = 0; r < rows; r++)
        if (longest < start[r + 1] - start[r])
            longest = start[r + 1] - start[r];
    return longest;
}

/* Make one direction: rows = `major`, columns = `minor`. */
static rgm_status make_direction(rgm_pattern *p, int which, int64_t rows, int64_t columns,
                                 int64_t count, const int32_t *major, const int32_t *minor)
{
    rgm_csr *csr = which == 0 ? &p->by_row : &p->by_column;
    bool sorted = is_sorted(major, count);

    RGM_TRY(RGM_NEW_RAW(p->start[which], rows + 1));
    if (sorted)
        starts_of_sorted(p->start[which], rows, major, count);
    else
        RGM_TRY(sort_entries(p, which, rows, count, major, minor));
    *csr = (rgm_csr){.rows = rows,
                     .columns = columns,
                     .count = count,
                     .row_start = p->start[which],
                     .column = sorted ? minor : p->other[which],
                     .entry = p->entry[which],
                     .longest = longest_row(p->start[which], rows)};
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
    RGM_TRY(check_size(rows, columns, count));
    RGM_TRY(RGM_NEW(*out, 1));
    atomic_init(&(*out)->references, 1);
    return RGM_OK;
}

/* The same with memory for its entries; released by the caller after an error too. */
static rgm_status make_entries(rgm_pattern **out, int64_t rows, int64_t columns, int64_t count)
{
    RGM_TRY(make_header(out, rows, columns, count));
    RGM_TRY(RGM_NEW_RAW((*out)->row_of, count));
    return RGM_NEW_RAW((*out)->column_of, count);
}

rgm_status rgm_pattern_create(rgm_pattern **out, int64_t rows, int64_t columns, int64_t count,
                              const int64_t *row, const int64_t *column)
{
    rgm_status status = RGM_OK;
    rgm_pattern *p = NULL;

    *out = NULL;
    RGM_GO(make_entries(&p, rows, columns, count));
    RGM_GO(copy_indices(p->row_of, row, count, rows, "row"));
    RGM_GO(copy_indices(p->column_of, column, count, columns, "column"));
    RGM_GO(make_both(p, rows, columns, count));
    *out = p;
    p = NULL;
done:
    rgm_pattern_release(p);
    return status;
}

static rgm_status check_indices(const int32_t *index, int64_t count, int64_t limit,
                                const char *what)
{
    for (int64_t i = 0; i < count; i++)
        if (index[i] < 0 || index[i] >= limit)
            return RGM_FAIL(RGM_ERR_DATA, "entry %lld: %s is %lld, there are %lld", (long long)i,
                            what, (long long)index[i], (long long)limit);
    return RGM_OK;
}

rgm_status rgm_pattern_take(rgm_pattern **out, int64_t rows, int64_t columns, int64_t count,
                            int32_t *row, int32_t *column)
{
    rgm_status status = RGM_OK;
    rgm_pattern *p = NULL;

    *out = NULL;
    RGM_GO(make_header(&p, rows, columns, count));
    p->row_of = row;
    p->column_of = column;
    row = column = NULL;
    RGM_GO(check_indices(p->row_of, count, rows, "row"));
    RGM_GO(check_indices(p->column_of, count, columns, "column"));
    RGM_GO(make_both(p, rows, columns, count));
    *out = p;
    p = NULL;
done:
    rgm_pattern_release(p);
    rgm_free(row);
    rgm_free(column);
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
    RGM_GO(make_entries(&p, rows, columns, row_start[rows]));
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

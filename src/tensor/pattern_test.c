/*
 * Sparse patterns: both directions by hand and against a plain definition on random entries.
 */
#include <check.h>

#include <regimen/tensor.h>

static void expect_i64(const int64_t *expected, const int64_t *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        CHECK_INT(expected[i], got[i]);
}

static void expect_i32(const int32_t *expected, const int32_t *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        CHECK_INT(expected[i], got[i]);
}

static void both_directions_of_a_small_matrix_are_as_drawn(void **state)
{
    /* row 0: columns 2, 0; row 1: none; row 2: column 2 twice. Given out of order. */
    static const int64_t row[] = {2, 0, 2, 0}, column[] = {2, 2, 2, 0};
    rgm_pattern *p = NULL;
    const rgm_csr *r, *c;

    (void)state;
    CHECK_OK(rgm_pattern_create(&p, 3, 4, 4, row, column));
    r = rgm_pattern_by_row(p);
    CHECK(r->rows == 3 && r->columns == 4 && r->count == 4);
    expect_i64((int64_t[]){0, 2, 2, 4}, r->row_start, 4);
    expect_i32((int32_t[]){2, 0, 2, 2}, r->column, 4);
    expect_i32((int32_t[]){1, 3, 0, 2}, r->entry, 4);
    c = rgm_pattern_by_column(p);
    CHECK(c->rows == 4 && c->columns == 3 && c->count == 4);
    expect_i64((int64_t[]){0, 1, 1, 4, 4}, c->row_start, 5);
    expect_i32((int32_t[]){0, 2, 0, 2}, c->column, 4);
    expect_i32((int32_t[]){3, 0, 1, 2}, c->entry, 4);
    expect_i32((int32_t[]){2, 0, 2, 0}, rgm_pattern_row_of(p), 4);
    expect_i32((int32_t[]){2, 2, 2, 0}, rgm_pattern_column_of(p), 4);
    CHECK(rgm_pattern_retain(p) == p);
    rgm_pattern_release(p);
    CHECK_INT(3, rgm_pattern_by_row(p)->rows);
    rgm_pattern_release(p);
    rgm_pattern_release(NULL);
}

static void sorted_entries_need_no_order(void **state)
{
    static const int64_t row[] = {0, 0, 2}, column[] = {1, 0, 1};
    rgm_pattern *p = NULL;

    (void)state;
    CHECK_OK(rgm_pattern_create(&p, 3, 2, 3, row, column));
    CHECK(rgm_pattern_by_row(p)->entry == NULL);
    CHECK(rgm_pattern_by_row(p)->column == rgm_pattern_column_of(p));
    expect_i64((int64_t[]){0, 2, 2, 3}, rgm_pattern_by_row(p)->row_start, 4);
    expect_i32((int32_t[]){1, 0, 2}, rgm_pattern_by_column(p)->entry, 3);
    rgm_pattern_release(p);
    CHECK_OK(rgm_pattern_create(&p, 2, 3, 3, column, row)); /* now the columns are sorted */
    CHECK(rgm_pattern_by_row(p)->entry != NULL && rgm_pattern_by_column(p)->entry == NULL);
    rgm_pattern_release(p);
}

static void ragged_rows_give_the_same_pattern(void **state)
{
    static const int64_t start[] = {0, 2, 2, 5}, column[] = {3, 1, 0, 3, 3};
    static const int64_t row[] = {0, 0, 2, 2, 2};
    rgm_pattern *a = NULL, *b = NULL;

    (void)state;
    CHECK_OK(rgm_pattern_from_rows(&a, 3, 4, start, column));
    CHECK_OK(rgm_pattern_create(&b, 3, 4, 5, row, column));
    expect_i64(start, rgm_pattern_by_row(a)->row_start, 4);
    expect_i64(rgm_pattern_by_column(b)->row_start, rgm_pattern_by_column(a)->row_start, 5);
    expect_i32(rgm_pattern_by_column(b)->entry, rgm_pattern_by_column(a)->entry, 5);
    expect_i32(rgm_pattern_row_of(b), rgm_pattern_row_of(a), 5);
    rgm_pattern_release(a);
    rgm_pattern_release(b);
}

/* Each block's rows exactly once, shorter ones before longer ones. */
static void expect_visits(const rgm_csr *csr)
{
    const int64_t *start = csr->row_start;
    bool seen[3000] = {false};

    CHECK(csr->visit != NULL);
    for (int64_t b = 0; b < rgm_csr_blocks(csr); b++) {
        int64_t from = rgm_csr_block_begin(csr, b), to = rgm_csr_block_begin(csr, b + 1),
                before = 0;
        for (int64_t i = from; i < to; i++) {
            int64_t r = csr->visit[i];
            CHECK(r >= from && r < to && !seen[r]);
            CHECK(start[r + 1] - start[r] >= before);
            before = start[r + 1] - start[r];
            seen[r] = true;
        }
    }
    for (int64_t r = 0; r < csr->rows; r++)
        CHECK(seen[r]);
}

static void short_rows_are_visited_by_length(void **state)
{
    static int64_t row[27000], column[27000];
    uint64_t draws = 1;
    rgm_pattern *p = NULL;

    (void)state;
    for (int i = 0; i < 27000; i++) {
        draws = draws * 6364136223846793005u + 1442695040888963407u;
        row[i] = (int64_t)(draws >> 33) % 3000;
        column[i] = (int64_t)(draws >> 45) % 2000;
    }
    CHECK_OK(rgm_pattern_create(&p, 3000, 2000, 12000, row, column));
    CHECK(rgm_csr_blocks(rgm_pattern_by_row(p)) > 4);
    expect_visits(rgm_pattern_by_row(p));
    expect_visits(rgm_pattern_by_column(p));
    rgm_pattern_release(p);
    CHECK_OK(rgm_pattern_create(&p, 3000, 2000, 27000, row, column)); /* rows of nine */
    CHECK(rgm_pattern_by_row(p)->visit == NULL);
    rgm_pattern_release(p);
}

static void empty_patterns_are_patterns(void **state)
{
    static const int64_t sizes[][2] = {{0, 0}, {3, 0}, {0, 3}, {2, 2}};
    rgm_pattern *p = NULL;

    (void)state;
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rgm_pattern_create(&p, sizes[i][0], sizes[i][1], 0, NULL, NULL));
        for (int64_t r = 0; r <= sizes[i][0]; r++)
            CHECK_INT(0, rgm_pattern_by_row(p)->row_start[r]);
        for (int64_t c = 0; c <= sizes[i][1]; c++)
            CHECK_INT(0, rgm_pattern_by_column(p)->row_start[c]);
        rgm_pattern_release(p);
    }
    CHECK_OK(rgm_pattern_from_rows(&p, 0, 5, (int64_t[]){0}, NULL));
    rgm_pattern_release(p);
}

static void wrong_indices_are_named(void **state)
{
    rgm_pattern *p = NULL;

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_pattern_create(&p, 3, 3, 2, (int64_t[]){0, 3}, (int64_t[]){0, 0}));
    CHECK_MESSAGE("entry 1: row is 3, there are 3");
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_pattern_create(&p, 3, 3, 2, (int64_t[]){0, 0}, (int64_t[]){-1, 0}));
    CHECK_MESSAGE("entry 0: column is -1, there are 3");
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_pattern_create(&p, 3, 3, 1, (int64_t[]){(int64_t)1 << 32}, (int64_t[]){0}));
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_pattern_from_rows(&p, 2, 3, (int64_t[]){0, 2, 1}, (int64_t[]){0, 0}));
    CHECK_MESSAGE("row 1 ends at 1, before its start 2");
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_pattern_from_rows(&p, 1, 3, (int64_t[]){1, 2}, (int64_t[]){0, 0}));
    CHECK_STATUS(RGM_ERR_DATA, rgm_pattern_from_rows(&p, 1, 3, (int64_t[]){0, 1}, (int64_t[]){3}));
    CHECK_STATUS(RGM_ERR_ARG, rgm_pattern_create(&p, -1, 3, 0, NULL, NULL));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_pattern_create(&p, 3, (int64_t)1 << 31, 0, NULL, NULL));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_pattern_create(&p, 3, 3, (int64_t)1 << 31, NULL, NULL));
    CHECK_MESSAGE("2147483648 entries");
    CHECK(p == NULL);
}

/* By definition: the entries of row r are those e with row[e] == r, in the order of e. */
static void expect_direction(const rgm_csr *csr, const int64_t *major, const int64_t *minor)
{
    int64_t p = 0, longest = 0;

    for (int64_t r = 0; r < csr->rows; r++) {
        CHECK_INT(p, csr->row_start[r]);
        if (r > 0 && p - csr->row_start[r - 1] > longest)
            longest = p - csr->row_start[r - 1];
        for (int64_t e = 0; e < csr->count; e++)
            if (major[e] == r) {
                CHECK_INT(minor[e], csr->column[p]);
                CHECK_INT(e, csr->entry != NULL ? csr->entry[p] : p);
                p++;
            }
    }
    CHECK_INT(p, csr->row_start[csr->rows]);
    CHECK_INT(p, csr->count);
    if (p - csr->row_start[csr->rows - 1] > longest)
        longest = p - csr->row_start[csr->rows - 1];
    CHECK_INT(longest, csr->longest);
}

/* Numbers of 32 bits that a pattern may keep. */
static int32_t *narrow(const int64_t *numbers, int64_t count)
{
    int32_t *out = rgm_malloc_array(count, sizeof *out);

    for (int64_t i = 0; out != NULL && i < count; i++)
        out[i] = (int32_t)numbers[i];
    return out;
}

static void check_taken(int64_t rows, int64_t columns, int64_t count, const int64_t *row,
                        const int64_t *column)
{
    int32_t *own = narrow(row, count);
    rgm_pattern *p = NULL;

    CHECK_OK(rgm_pattern_take(&p, rows, columns, count, own, narrow(column, count)));
    CHECK(rgm_pattern_row_of(p) == own);
    expect_direction(rgm_pattern_by_row(p), row, column);
    expect_direction(rgm_pattern_by_column(p), column, row);
    rgm_pattern_release(p);
}

/* Rows of every other pattern ascend. */
static void random_patterns_match_the_definition(void **state)
{
    int64_t row[200], column[200];

    (void)state;
    for (uint64_t round = 0; round < 200; round++) {
        rgm_rng rng = rgm_rng_stream(11, "pattern", round);
        int64_t rows = 1 + (int64_t)rgm_rng_below(&rng, 0, 20);
        int64_t columns = 1 + (int64_t)rgm_rng_below(&rng, 1, 20);
        int64_t count = (int64_t)rgm_rng_below(&rng, 2, 201);
        rgm_pattern *p = NULL;
        for (int64_t e = 0; e < count; e++) {
            row[e] = round % 2 == 0
                         ? (int64_t)rgm_rng_below(&rng, 10 + 2 * (uint64_t)e, (uint64_t)rows)
                         : e * rows / count;
            column[e] = (int64_t)rgm_rng_below(&rng, 11 + 2 * (uint64_t)e, (uint64_t)columns);
        }
        CHECK_OK(rgm_pattern_create(&p, rows, columns, count, row, column));
        expect_direction(rgm_pattern_by_row(p), row, column);
        expect_direction(rgm_pattern_by_column(p), column, row);
        rgm_pattern_release(p);
        check_taken(rows, columns, count, row, column);
    }
}

static rgm_status take(rgm_pattern **out, int64_t rows, const int64_t *row, const int64_t *column)
{
    int32_t *own = narrow(row, 4), *other = narrow(column, 4);

    if (own == NULL || other == NULL) {
        rgm_free(own);
        rgm_free(other);
        return RGM_ERR_NOMEM;
    }
    return rgm_pattern_take(out, rows, 4, 4, own, other);
}

static void wrong_numbers_are_not_kept(void **state)
{
    static const int64_t row[] = {2, 0, 2, 0}, column[] = {2, 2, -2, 0};
    int64_t before = rgm_memory_used();
    rgm_pattern *p = NULL;

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, take(&p, 2, row, row));
    CHECK_MESSAGE("entry 0: row is 2, there are 2");
    CHECK_STATUS(RGM_ERR_DATA, take(&p, 3, row, column));
    CHECK_MESSAGE("entry 2: column is -2, there are 4");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, take(&p, (int64_t)1 << 31, row, row));
    CHECK(p == NULL);
    CHECK_INT(before, rgm_memory_used());
    CHECK_EVERY_OOM(take(&p, 3, row, row), rgm_pattern_release(p));
}

static int64_t rows_below(const rgm_csr *csr, int64_t columns)
{
    for (int64_t r = 0; r < csr->rows; r++)
        for (int64_t e = csr->row_start[r]; e < csr->row_start[r + 1]; e++)
            if (csr->column[e] >= columns)
                return r;
    return csr->rows;
}

/* Of both directions, also when the number that was asked for last is another one. */
static void rows_before_a_column_are_counted(void **state)
{
    static const int64_t row[] = {1, 1, 2, 4, 4}, column[] = {0, 1, 0, 3, 1};
    rgm_pattern *p = NULL;

    (void)state;
    CHECK_OK(rgm_pattern_create(&p, 6, 5, 5, row, column));
    for (int round = 0; round < 2; round++)
        for (int64_t columns = 0; columns <= 6; columns++)
            for (int again = 0; again < 2; again++) {
                const rgm_csr *both[2] = {rgm_pattern_by_row(p), rgm_pattern_by_column(p)};

                for (int i = 0; i < 2; i++)
                    CHECK_INT(rows_below(both[i], columns),
                              rgm_pattern_rows_below(p, both[i], columns));
            }
    rgm_pattern_release(p);
}

static void missing_memory_is_survived(void **state)
{
    static const int64_t row[] = {2, 0, 2, 0}, column[] = {2, 2, 2, 0}, start[] = {0, 2, 2, 4};
    rgm_pattern *p = NULL;

    (void)state;
    CHECK_EVERY_OOM(rgm_pattern_create(&p, 3, 4, 4, row, column), rgm_pattern_release(p));
    CHECK_EVERY_OOM(rgm_pattern_from_rows(&p, 3, 4, start, column), rgm_pattern_release(p));
}

TESTS(cmocka_unit_test(both_directions_of_a_small_matrix_are_as_drawn),
      cmocka_unit_test(sorted_entries_need_no_order),
      cmocka_unit_test(ragged_rows_give_the_same_pattern),
      cmocka_unit_test(short_rows_are_visited_by_length),
      cmocka_unit_test(empty_patterns_are_patterns), cmocka_unit_test(wrong_indices_are_named),
      cmocka_unit_test(random_patterns_match_the_definition),
      cmocka_unit_test(wrong_numbers_are_not_kept),
      cmocka_unit_test(rows_before_a_column_are_counted),
      cmocka_unit_test(missing_memory_is_survived))

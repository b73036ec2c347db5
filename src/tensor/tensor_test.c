/*
 * Tensors and views: shapes, ownership, strings, and refusals.
 */
#include <check.h>

#include <regimen/tensor.h>

static void element_types_have_sizes_and_names(void **state)
{
    static const size_t sizes[] = {4, 8, 4, 8, 1, sizeof(rgm_str), 2, 1};
    static const char *const names[] = {"f32", "f64", "i32", "i64", "bool", "string", "bf16", "i8"};

    (void)state;
    for (int i = 0; i < RGM_DTYPE_COUNT; i++) {
        CHECK_INT(sizes[i], rgm_dtype_size((rgm_dtype)i));
        CHECK_TEXT(names[i], rgm_dtype_name((rgm_dtype)i));
    }
    CHECK_TEXT("?", rgm_dtype_name((rgm_dtype)99));
}

static void a_new_tensor_is_zero_and_knows_its_shape(void **state)
{
    rgm_tensor *t = NULL;
    char text[64], small[6];

    (void)state;
    CHECK_OK(rgm_tensor_create(&t, RGM_F32, 2, (int64_t[]){3, 4}));
    CHECK_INT(2, rgm_tensor_rank(t));
    CHECK_INT(12, rgm_tensor_count(t));
    CHECK_INT(48, rgm_tensor_bytes(t));
    CHECK_INT(3, rgm_tensor_dim(t, 0));
    CHECK_INT(4, rgm_tensor_dim(t, -1));
    CHECK_INT(4, rgm_tensor_shape(t)[1]);
    CHECK_INT(RGM_F32, rgm_tensor_dtype(t));
    CHECK_INT(0, (uintptr_t)rgm_tensor_data(t) % 64);
    for (int i = 0; i < 12; i++)
        CHECK(rgm_tensor_f32(t)[i] == 0);
    CHECK_TEXT("f32[3,4]", rgm_tensor_describe(t, text, sizeof text));
    CHECK_TEXT("f32[3", rgm_tensor_describe(t, small, sizeof small));
    rgm_tensor_release(t);
    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 0, NULL));
    CHECK_INT(1, rgm_tensor_count(t));
    CHECK_TEXT("i64[]", rgm_tensor_describe(t, text, sizeof text));
    rgm_tensor_release(t);
    CHECK_OK(rgm_tensor_create(&t, RGM_F64, 3, (int64_t[]){0, INT64_MAX, INT64_MAX}));
    CHECK_INT(0, rgm_tensor_count(t));
    CHECK(rgm_tensor_data(t) != NULL);
    rgm_tensor_release(t);
    CHECK_OK(rgm_tensor_create(&t, RGM_STRING, 1, (int64_t[]){2}));
    CHECK_INT(0, rgm_tensor_str(t)[1].size);
    rgm_tensor_release(t);
    rgm_tensor_release(NULL);
    CHECK(rgm_tensor_retain(NULL) == NULL);
}

static void impossible_shapes_are_refused(void **state)
{
    rgm_tensor *t = NULL;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_create(&t, RGM_F32, 1, (int64_t[]){-1}));
    CHECK_MESSAGE("shape[0] is -1");
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_create(&t, RGM_F32, -1, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_create(&t, RGM_F32, 7, (int64_t[]){1, 1, 1, 1, 1, 1, 1}));
    CHECK_MESSAGE("rank is 7");
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_create(&t, (rgm_dtype)17, 0, NULL));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_tensor_create(&t, RGM_F32, 2, (int64_t[]){INT64_MAX, 3}));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_tensor_create(&t, RGM_F32, 1, (int64_t[]){INT64_MAX / 2}));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_tensor_create(&t, RGM_BOOL, 1, (int64_t[]){INT64_MAX / 2}));
    CHECK_MESSAGE("bool[4611686018427387903]");
    CHECK(t == NULL);
}

static void a_range_counts_from_zero(void **state)
{
    rgm_tensor *t = NULL;

    (void)state;
    CHECK_OK(rgm_tensor_arange(&t, 3));
    CHECK_INT(1, rgm_tensor_rank(t));
    CHECK_INT(3, rgm_tensor_count(t));
    for (int64_t i = 0; i < 3; i++)
        CHECK_INT(i, rgm_tensor_i64(t)[i]);
    rgm_tensor_release(t);
    CHECK_OK(rgm_tensor_arange(&t, 0));
    CHECK_INT(0, rgm_tensor_count(t));
    rgm_tensor_release(t);
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_arange(&t, -1));
    CHECK(t == NULL);
}

static void a_copy_is_separate_from_its_source(void **state)
{
    float data[] = {1, 2, 3, 4};
    rgm_tensor *t = NULL, *copy = NULL;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&t, RGM_F32, 2, (int64_t[]){2, 2}, data));
    data[0] = 9;
    CHECK(rgm_tensor_f32(t)[0] == 1);
    CHECK_OK(rgm_tensor_copy(&copy, t));
    CHECK(rgm_tensor_equal(t, copy));
    rgm_tensor_f32(copy)[3] = 5;
    CHECK(!rgm_tensor_equal(t, copy) && rgm_tensor_f32(t)[3] == 4);
    rgm_tensor_release(copy);
    rgm_tensor_release(t);
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_create_from(&t, RGM_F32, 1, (int64_t[]){2}, NULL));
    CHECK_OK(rgm_tensor_create_from(&t, RGM_F32, 1, (int64_t[]){0}, NULL));
    rgm_tensor_release(t);
}

static void strings_are_copied_with_their_bytes(void **state)
{
    char word[] = "Cora";
    rgm_str data[] = {{word, 4}, {NULL, 0}, {"a\0b", 3}};
    rgm_tensor *t = NULL, *copy = NULL, *row = NULL;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&t, RGM_STRING, 1, (int64_t[]){3}, data));
    word[0] = 'X';
    CHECK(memcmp(rgm_tensor_str(t)[0].data, "Cora", 4) == 0);
    CHECK_OK(rgm_tensor_copy(&copy, t));
    CHECK_OK(rgm_tensor_slice(&row, t, 2, 3));
    rgm_tensor_release(t);
    CHECK_INT(3, rgm_tensor_str(row)[0].size);
    CHECK(memcmp(rgm_tensor_str(row)[0].data, "a\0b", 3) == 0);
    CHECK_OK(rgm_tensor_create_from(&t, RGM_STRING, 1, (int64_t[]){3}, data));
    CHECK(!rgm_tensor_equal(t, copy)); /* Xora */
    rgm_tensor_release(t);
    rgm_tensor_release(copy);
    rgm_tensor_release(row);
    data[1].size = -1;
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_create_from(&t, RGM_STRING, 1, (int64_t[]){3}, data));
    CHECK_MESSAGE("string 1 has size -1");
}

static int released;
static void count_release(void *payload)
{
    released += *(int *)payload;
}

static void wrapped_memory_goes_back_when_the_last_view_goes(void **state)
{
    float data[6] = {0, 1, 2, 3, 4, 5};
    int one = 1;
    rgm_tensor *t = NULL, *view = NULL, *rows = NULL, *empty = NULL;

    (void)state;
    released = 0;
    CHECK_OK(rgm_tensor_wrap(&t, RGM_F32, 1, (int64_t[]){6}, data, count_release, &one));
    CHECK(rgm_tensor_data(t) == data);
    CHECK_OK(rgm_tensor_reshape(&view, t, 2, (int64_t[]){3, 2}));
    CHECK_OK(rgm_tensor_slice(&rows, view, 1, 3));
    CHECK_OK(rgm_tensor_slice(&empty, view, 3, 3));
    rgm_tensor_release(t);
    rgm_tensor_release(view);
    CHECK_INT(0, released);
    CHECK(rgm_tensor_f32(rows) == data + 2);
    CHECK_INT(2, rgm_tensor_dim(rows, 0));
    CHECK_INT(0, rgm_tensor_count(empty));
    CHECK(rgm_tensor_retain(rows) == rows);
    rgm_tensor_release(rows);
    rgm_tensor_release(rows);
    CHECK_INT(0, released);
    rgm_tensor_release(empty);
    CHECK_INT(1, released);
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_tensor_wrap(&t, RGM_F32, 1, (int64_t[]){6}, NULL, count_release, &one));
    CHECK(t == NULL && released == 1); /* refused memory stays with the caller */
}

static void views_that_do_not_fit_are_refused(void **state)
{
    rgm_tensor *t = NULL, *view = NULL;

    (void)state;
    CHECK_OK(rgm_tensor_create(&t, RGM_F32, 2, (int64_t[]){3, 4}));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_tensor_reshape(&view, t, 1, (int64_t[]){11}));
    CHECK_MESSAGE("f32[3,4] has another number of elements than f32[11]");
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_slice(&view, t, 2, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_slice(&view, t, -1, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_slice(&view, t, 0, 4));
    CHECK_MESSAGE("rows 0 to 4 of f32[3,4]");
    CHECK(view == NULL);
    rgm_tensor_release(t);
    CHECK_OK(rgm_tensor_create(&t, RGM_F32, 0, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_tensor_slice(&view, t, 0, 0));
    rgm_tensor_release(t);
}

static void elements_read_as_numbers_of_any_type(void **state)
{
    float f[] = {-1.75f};
    double d[] = {2.5};
    int32_t i[] = {-7};
    int64_t l[] = {INT64_MAX};
    uint8_t b[] = {1};
    void *data[] = {f, d, i, l, b};
    double doubles[] = {-1.75, 2.5, -7, 9223372036854775807.0, 1};
    int64_t ints[] = {-1, 2, -7, INT64_MAX, 1};
    rgm_tensor *t = NULL;

    (void)state;
    for (int k = 0; k < 5; k++) {
        CHECK_OK(rgm_tensor_create_from(&t, (rgm_dtype)k, 1, (int64_t[]){1}, data[k]));
        CHECK(rgm_tensor_at(t, 0) == doubles[k]);
        CHECK_INT(ints[k], rgm_tensor_at_int(t, 0));
        rgm_tensor_release(t);
    }
}

static void a_missing_number_is_known_as_such(void **state)
{
    static const rgm_dtype dtypes[] = {RGM_F32, RGM_F64, RGM_I32, RGM_I64, RGM_BOOL};

    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        rgm_tensor *t;
        int64_t two = 2;

        CHECK_OK(rgm_tensor_create(&t, dtypes[i], 1, &two));
        rgm_dtype_put(rgm_tensor_data(t), dtypes[i], -1);
        rgm_dtype_put((char *)rgm_tensor_data(t) + rgm_dtype_size(dtypes[i]), dtypes[i],
                      rgm_dtype_missing(dtypes[i]));
        CHECK(!rgm_tensor_is_missing(t, 0));
        CHECK(rgm_tensor_is_missing(t, 1) == (dtypes[i] != RGM_BOOL));
        rgm_tensor_release(t);
    }
}

static void a_tensor_takes_the_elements_of_one_like_it(void **state)
{
    rgm_tensor *a, *b, *turned, *empty;

    (void)state;
    CHECK_OK(
        rgm_tensor_create_from(&a, RGM_F32, 2, (int64_t[]){2, 3}, (float[]){1, 2, 3, 4, 5, 6}));
    CHECK_OK(rgm_tensor_create(&b, RGM_F32, 2, (int64_t[]){2, 3}));
    CHECK_OK(rgm_tensor_reshape(&turned, b, 2, (int64_t[]){3, 2}));
    CHECK_OK(rgm_tensor_create(&empty, RGM_F32, 2, (int64_t[]){0, 3}));
    CHECK(rgm_tensor_is_like(a, b) && !rgm_tensor_is_like(a, turned) &&
          !rgm_tensor_is_like(a, empty));
    rgm_tensor_set(b, a);
    CHECK(rgm_tensor_equal(a, b));
    rgm_tensor_set(empty, empty);
    rgm_tensor_release(a);
    rgm_tensor_release(b);
    rgm_tensor_release(turned);
    rgm_tensor_release(empty);
}

static void equality_looks_at_type_shape_and_bytes(void **state)
{
    rgm_tensor *a = NULL, *b = NULL;

    (void)state;
    CHECK_OK(rgm_tensor_create(&a, RGM_F32, 2, (int64_t[]){2, 3}));
    CHECK_OK(rgm_tensor_create(&b, RGM_F32, 2, (int64_t[]){3, 2}));
    CHECK(rgm_tensor_equal(a, a) && !rgm_tensor_equal(a, b));
    rgm_tensor_release(b);
    CHECK_OK(rgm_tensor_create(&b, RGM_I32, 2, (int64_t[]){2, 3}));
    CHECK(!rgm_tensor_equal(a, b));
    rgm_tensor_release(a);
    rgm_tensor_release(b);
    CHECK_OK(rgm_tensor_create(&a, RGM_F32, 2, (int64_t[]){0, 3}));
    CHECK_OK(rgm_tensor_create(&b, RGM_F32, 2, (int64_t[]){0, 3}));
    CHECK(rgm_tensor_equal(a, b));
    rgm_tensor_release(a);
    rgm_tensor_release(b);
}

static void every_constructor_survives_missing_memory(void **state)
{
    rgm_str words[] = {{"a", 1}, {"bc", 2}};
    float data[4] = {0};
    rgm_tensor *t = NULL, *source = NULL;

    (void)state;
    CHECK_EVERY_OOM(rgm_tensor_create(&t, RGM_F32, 1, (int64_t[]){4}), rgm_tensor_release(t));
    CHECK_EVERY_OOM(rgm_tensor_create_from(&t, RGM_STRING, 1, (int64_t[]){2}, words),
                    rgm_tensor_release(t));
    CHECK_EVERY_OOM(rgm_tensor_wrap(&t, RGM_F32, 1, (int64_t[]){4}, data, NULL, NULL),
                    rgm_tensor_release(t));
    CHECK_OK(rgm_tensor_create_from(&source, RGM_STRING, 1, (int64_t[]){2}, words));
    CHECK_EVERY_OOM(rgm_tensor_copy(&t, source), rgm_tensor_release(t));
    CHECK_EVERY_OOM(rgm_tensor_reshape(&t, source, 2, (int64_t[]){1, 2}), rgm_tensor_release(t));
    CHECK_EVERY_OOM(rgm_tensor_slice(&t, source, 0, 1), rgm_tensor_release(t));
    rgm_tensor_release(source);
}

static void bf16_rounds_to_the_nearest_and_ties_to_even(void **state)
{
    static const struct {
        uint32_t bits;
        uint16_t want;
    } cases[] = {
        {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, /* 1; a tie goes down to the even one     */
        {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, /* a tie goes up; just above a tie        */
        {0x3f817fff, 0x3f81}, {0x80000000, 0x8000}, /* just below a tie; -0                   */
        {0x00000001, 0x0000}, {0x00018000, 0x0002}, /* denormals round like the others        */
        {0x7f7f7fff, 0x7f7f}, {0x7f7f8000, 0x7f80}, /* the largest; beyond it infinity        */
        {0xff800000, 0xff80}, {0x7fc00001, 0x7fc0}, /* -infinity; NaN                         */
        {0x7f800001, 0x7fc0}, {0xffbfffff, 0xffff}, /* a signalling NaN becomes a quiet one   */
        {0x7fffffff, 0x7fff},
    };
    float x;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(&x, &cases[i].bits, sizeof x);
        CHECK_INT(cases[i].want, rgm_bf16_from(x));
    }
    for (uint32_t bits = 0; bits < 0x10000; bits++) { /* what is bf16 already stays */
        x = rgm_bf16_to((uint16_t)bits);
        CHECK_INT(isnan(x) ? bits | 0x40 : bits, rgm_bf16_from(x));
    }
}

static void a_tensor_converts_to_bf16_and_back(void **state)
{
    rgm_tensor *f = NULL, *half = NULL, *back = NULL;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&f, RGM_F32, 2, (int64_t[]){1, 3}, (float[]){1, -2.5f, 0.1f}));
    CHECK_OK(rgm_tensor_convert(&half, f, RGM_BF16));
    CHECK_INT(6, rgm_tensor_bytes(half));
    CHECK(rgm_tensor_at(half, 1) == -2.5);
    CHECK_INT(-2, rgm_tensor_at_int(half, 1));
    CHECK_OK(rgm_tensor_convert(&back, half, RGM_F32));
    CHECK_INT(2, rgm_tensor_rank(back));
    CHECK(rgm_tensor_f32(back)[2] == 0.10009765625f);
    rgm_tensor_release(back);
    CHECK_EVERY_OOM(rgm_tensor_convert(&back, half, RGM_F32), rgm_tensor_release(back));
    CHECK_STATUS(RGM_ERR_DTYPE, rgm_tensor_convert(&back, half, RGM_F64));
    CHECK_MESSAGE("from bf16 to f64");
    CHECK(back == NULL);
    rgm_tensor_release(half);
    rgm_tensor_release(f);
}

/* Rows `rows` of a table [4, 3] of 0, 1, .. 11, in memory that nobody has written. */
static rgm_tensor *make_picked(rgm_tensor **table, float memory[9])
{
    rgm_tensor *some, *rows;

    CHECK_OK(rgm_tensor_create(table, RGM_F32, 2, (int64_t[]){4, 3}));
    for (int i = 0; i < 12; i++)
        rgm_tensor_f32(*table)[i] = (float)i;
    for (int i = 0; i < 9; i++)
        memory[i] = -1;
    CHECK_OK(rgm_tensor_create_from(&rows, RGM_I32, 1, (int64_t[]){3}, (int32_t[]){3, 0, 3}));
    CHECK_OK(rgm_tensor_wrap(&some, RGM_F32, 2, (int64_t[]){3, 3}, memory, NULL, NULL));
    rgm_tensor_pick(some, *table, rows);
    rgm_tensor_release(rows);
    return some;
}

static void rows_of_a_table_are_gathered_when_somebody_asks(void **state)
{
    static const float want[9] = {9, 10, 11, 0, 1, 2, 9, 10, 11};
    float memory[9], again[9], two[6];
    rgm_tensor *table, *rows, *of, *some, *other, *view;

    (void)state;
    some = make_picked(&table, memory);
    CHECK(rgm_tensor_picked(&of, &rows, some) && of == table);
    CHECK_INT(3, rgm_tensor_i32(rows)[2]);
    rgm_tensor_gather(two, some, 1, 3);
    CHECK(memcmp(two, want + 3, sizeof two) == 0);
    CHECK_INT(36, rgm_tensor_bytes(some));
    CHECK(memory[0] == -1 && memory[8] == -1); /* nobody has asked for an element */
    CHECK(rgm_tensor_at(some, 1) == 10);
    CHECK(memcmp(memory, want, sizeof want) == 0);
    rgm_tensor_release(some);

    rgm_tensor_release(table);
    some = make_picked(&table, memory); /* so do views, copies and comparisons */
    CHECK_OK(rgm_tensor_slice(&view, some, 1, 2));
    CHECK(!rgm_tensor_picked(&of, &rows, view) && of == NULL && rows == NULL);
    CHECK(rgm_tensor_f32(view)[2] == 2);
    other = make_picked(&of, again);
    CHECK(rgm_tensor_equal(some, other));
    rgm_tensor_release(other);
    rgm_tensor_release(of);
    rgm_tensor_release(table); /* the rows keep it */
    CHECK_OK(rgm_tensor_copy(&other, some));
    rgm_tensor_release(some);
    rgm_tensor_release(view);
    CHECK(memcmp(rgm_tensor_data(other), want, sizeof want) == 0);
    rgm_tensor_release(other);
}

static void a_table_is_lent_until_it_is_taken_back(void **state)
{
    rgm_tensor *table, *there;

    (void)state;
    CHECK_OK(rgm_tensor_arange(&table, 5));
    CHECK_OK(rgm_tensor_arange(&there, 5));
    CHECK(!rgm_tensor_is_lent(table) && rgm_tensor_there(table) == NULL);
    rgm_tensor_lend(table, NULL);
    CHECK(rgm_tensor_is_lent(table) && rgm_tensor_there(table) == NULL);
    rgm_tensor_lend(table, there);
    rgm_tensor_release(there);
    CHECK(rgm_tensor_there(table) == there);
    CHECK_INT(4, rgm_tensor_i64(rgm_tensor_there(table))[4]);
    rgm_tensor_take_back(table);
    CHECK(!rgm_tensor_is_lent(table) && rgm_tensor_there(table) == NULL);
    rgm_tensor_release(table);
}

static void a_matrix_is_kept_by_rows_or_columns(void **state)
{
    rgm_tensor *x, *numbers, *steps, *again;

    (void)state;
    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){2, 3}));
    for (int i = 0; i < 6; i++)
        rgm_tensor_f32(x)[i] = (float)((i % 2 ? -1 : 1) * (i * i));
    for (int axis = 0; axis < 2; axis++) {
        CHECK_OK(rgm_int8_from(&numbers, &steps, x, axis));
        CHECK_INT(RGM_I8, rgm_tensor_dtype(numbers));
        CHECK_INT(axis == 0 ? 2 : 3, rgm_tensor_count(steps));
        CHECK_INT(-127, rgm_tensor_at_int(numbers, 5)); /* the largest of its row and column */
        CHECK_OK(rgm_int8_to(&again, numbers, steps, axis));
        for (int i = 0; i < 6; i++)
            CHECK_CLOSE(rgm_tensor_f32(x)[i], rgm_tensor_f32(again)[i], 0, 0.1);
        rgm_tensor_release(again);
        CHECK_STATUS(RGM_ERR_SHAPE, rgm_int8_to(&again, numbers, steps, 1 - axis));
        rgm_tensor_release(numbers);
        rgm_tensor_release(steps);
    }
    rgm_tensor_f32(x)[4] = NAN;
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_int8_from(&numbers, &steps, x, 0));
    CHECK_MESSAGE("row 1 has a number that is not finite");
    CHECK_STATUS(RGM_ERR_ARG, rgm_int8_from(&numbers, &steps, x, 2));
    rgm_int8_round_rows(rgm_tensor_f32(x), 2, 3);
    CHECK(isnan(rgm_tensor_f32(x)[3]));
    CHECK_CLOSE(4, rgm_tensor_f32(x)[2], 1e-4, 0);
    rgm_tensor_release(x);
}

TESTS(cmocka_unit_test(a_matrix_is_kept_by_rows_or_columns),
      cmocka_unit_test(rows_of_a_table_are_gathered_when_somebody_asks),
      cmocka_unit_test(a_table_is_lent_until_it_is_taken_back),
      cmocka_unit_test(bf16_rounds_to_the_nearest_and_ties_to_even),
      cmocka_unit_test(a_tensor_converts_to_bf16_and_back),
      cmocka_unit_test(element_types_have_sizes_and_names),
      cmocka_unit_test(a_new_tensor_is_zero_and_knows_its_shape),
      cmocka_unit_test(impossible_shapes_are_refused), cmocka_unit_test(a_range_counts_from_zero),
      cmocka_unit_test(a_copy_is_separate_from_its_source),
      cmocka_unit_test(strings_are_copied_with_their_bytes),
      cmocka_unit_test(wrapped_memory_goes_back_when_the_last_view_goes),
      cmocka_unit_test(views_that_do_not_fit_are_refused),
      cmocka_unit_test(elements_read_as_numbers_of_any_type),
      cmocka_unit_test(a_missing_number_is_known_as_such),
      cmocka_unit_test(a_tensor_takes_the_elements_of_one_like_it),
      cmocka_unit_test(equality_looks_at_type_shape_and_bytes),
      cmocka_unit_test(every_constructor_survives_missing_memory))

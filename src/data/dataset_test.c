/*
 * What each op of a recipe gives, with small sequences worked out by hand; errors in their places;
 * counts; and what is left behind when memory fails.
 */
#include "dataset_check.h"

#include <unistd.h>

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static rgm_dataset *range(int64_t begin, int64_t end)
{
    rgm_dataset *ds;
    CHECK_OK(rgm_dataset_range(&ds, begin, end));
    return ds;
}

/** Check the sequence and the count of a recipe, and release it. */
static void gives(rgm_dataset *ds, int64_t count, const char *want)
{
    rgm_text text = {0};

    CHECK_TEXT(want, sequence(&text, ds, 1, 0));
    CHECK_INT(count, rgm_dataset_count(ds));
    rgm_text_clear(&text);
    rgm_dataset_release(ds);
}

static void beginnings_give_their_elements(void **state)
{
    (void)state;
    rgm_dataset *ds;
    rgm_element *e[2];
    float rows[] = {1, 2, 3, 4, 5, 6};
    int32_t labels[] = {7, 8, 9};
    rgm_tensor *t[2];

    gives(range(3, 7), 4, "3 | 4 | 5 | 6");
    gives(range(3, 3), 0, "");
    CHECK_OK(rgm_element_create_bytes(&e[0], "a", 1));
    CHECK_OK(rgm_element_create_bytes(&e[1], "bc", 2));
    CHECK_OK(rgm_dataset_from_elements(&ds, e, 2));
    rgm_element_release(e[0]);
    rgm_element_release(e[1]);
    gives(ds, 2, "a | bc");
    CHECK_OK(rgm_tensor_create_from(&t[0], RGM_F32, 2, (int64_t[]){3, 2}, rows));
    CHECK_OK(rgm_tensor_create_from(&t[1], RGM_I32, 1, (int64_t[]){3}, labels));
    CHECK_OK(rgm_dataset_from_tensors(&ds, t, 2));
    rgm_tensor_release(t[0]);
    rgm_tensor_release(t[1]);
    gives(ds, 3, "1,2,7 | 3,4,8 | 5,6,9");
}

static rgm_status letter(rgm_element **out, int64_t i, void *payload)
{
    int64_t *ends_at = payload;
    char c = (char)('a' + i);

    if (i == *ends_at)
        return RGM_END;
    if (i == 2)
        return RGM_FAIL(RGM_ERR_DATA, "no c");
    return rgm_element_create_bytes(out, &c, 1);
}

static void a_function_is_a_source_and_its_errors_take_a_place(void **state)
{
    (void)state;
    rgm_dataset *ds;
    int64_t four = 4, never = -1;

    CHECK_OK(rgm_dataset_from_function(&ds, -1, letter, &four, NULL));
    gives(ds, -1, "a | b | !no c | d");
    CHECK_OK(rgm_dataset_from_function(&ds, 5, letter, &never, NULL));
    gives(ds, 5, "a | b | !no c | d | e");
}

static void take_skip_and_shard_count_places(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 10);

    CHECK_OK(rgm_dataset_skip(&ds, 2));
    CHECK_OK(rgm_dataset_take(&ds, 7));
    CHECK_OK(rgm_dataset_shard(&ds, 3, 1));
    gives(ds, 2, "3 | 6");
    ds = range(0, 3);
    CHECK_OK(rgm_dataset_skip(&ds, 5));
    gives(ds, 0, "");
    ds = range(0, 10);
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_shard(&ds, 3, 3));
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_take(&ds, -1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_batch(&ds, 0, true));
    gives(ds, 10, "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9"); /* as it was */
}

static void batches_keep_or_drop_the_remainder_and_stack(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 5);

    CHECK_OK(rgm_dataset_batch(&ds, 2, false));
    gives(ds, 3, "[0 1] | [2 3] | [4]");
    ds = range(0, 5);
    CHECK_OK(rgm_dataset_batch(&ds, INT64_C(1) << 50, false)); /* no memory has room for that */
    gives(ds, 1, "[0 1 2 3 4]");
    ds = range(0, 5);
    CHECK_OK(rgm_dataset_batch(&ds, 2, true));
    CHECK_OK(rgm_dataset_map(&ds, rgm_element_stack, NULL, NULL, 0));
    gives(ds, 2, "0,1 | 2,3");
}

static void stacking_tells_what_does_not_fit(void **state)
{
    (void)state;
    rgm_tensor *a, *b;
    rgm_element *items[2], *list, *out;

    CHECK_OK(rgm_tensor_create(&a, RGM_F32, 1, (int64_t[]){2}));
    CHECK_OK(rgm_tensor_create(&b, RGM_F32, 1, (int64_t[]){3}));
    CHECK_OK(rgm_element_create_tensors(&items[0], &a, 1));
    CHECK_OK(rgm_element_create_tensors(&items[1], &b, 1));
    CHECK_OK(rgm_element_create_list(&list, items, 2));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_element_stack(&out, list, NULL, NULL));
    CHECK_MESSAGE("tensor 0 of item 1 is f32[3], of item 0 f32[2]");
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_stack(&out, items[0], NULL, NULL));
    rgm_element_release(items[0]);
    rgm_element_release(items[1]);
    rgm_element_release(list);
    rgm_tensor_release(a);
    rgm_tensor_release(b);
}

static void check_texts(const rgm_tensor *tensor, const char *expected)
{
    char all[200] = "";

    CHECK_INT(RGM_STRING, rgm_tensor_dtype(tensor));
    for (int64_t i = 0; i < rgm_tensor_count(tensor); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%.*s|",
                 (int)rgm_tensor_str(tensor)[i].size, rgm_tensor_str(tensor)[i].data);
    CHECK_TEXT(expected, all);
}

static void texts_stack_as_numbers_do(void **state)
{
    static const rgm_str texts[] = {{"a", 1}, {"", 0}, {"bcd", 3}, {"e", 1}, {"f", 1}, {"gh", 2}};
    static const char *const lines[] = {"one", "", "three"};
    rgm_element *items[3], *list, *out;
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_tensor *t;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&t, RGM_STRING, 2, (int64_t[]){3, 2}, texts));
    CHECK_OK(rgm_dataset_from_tensors(&ds, &t, 1));
    rgm_tensor_release(t);
    CHECK_OK(rgm_dataset_batch(&ds, 3, false));
    CHECK_OK(rgm_dataset_map(&ds, rgm_element_stack, NULL, NULL, 0));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    CHECK_OK(rgm_iterator_next(&out, iterator));
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    t = rgm_element_tensor(out, 0);
    CHECK(rgm_tensor_rank(t) == 2 && rgm_tensor_dim(t, 0) == 3 && rgm_tensor_dim(t, 1) == 2);
    check_texts(t, "a||bcd|e|f|gh|");
    rgm_element_release(out);
    for (int i = 0; i < 3; i++)
        CHECK_OK(rgm_element_create_bytes(&items[i], lines[i], (int64_t)strlen(lines[i])));
    CHECK_OK(rgm_element_create_list(&list, items, 3));
    CHECK_OK(rgm_element_stack(&out, list, NULL, NULL));
    check_texts(rgm_element_tensor(out, 0), "one||three|");
    rgm_element_release(out);
    rgm_element_release(list);
    CHECK_OK(rgm_element_create_empty_list(&list, items[0]));
    CHECK_OK(rgm_element_stack(&out, list, NULL, NULL));
    CHECK_INT(0, rgm_tensor_dim(rgm_element_tensor(out, 0), 0));
    rgm_element_release(out);
    rgm_element_release(list);
    for (int i = 0; i < 3; i++)
        rgm_element_release(items[i]);
}

static void repeat_counts_epochs_and_refuses_to_repeat_nothing(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 2);

    CHECK_OK(rgm_dataset_repeat(&ds, 3));
    gives(ds, 6, "0 | 1 | 0 | 1 | 0 | 1");
    ds = range(0, 2);
    CHECK_OK(rgm_dataset_repeat(&ds, -1));
    CHECK_INT(INT64_MAX, rgm_dataset_count(ds));
    CHECK_OK(rgm_dataset_take(&ds, 5));
    gives(ds, 5, "0 | 1 | 0 | 1 | 0");
    ds = range(0, 0);
    CHECK_OK(rgm_dataset_repeat(&ds, -1));
    CHECK_OK(rgm_dataset_take(&ds, 1));
    gives(ds, 1, "!repeat: there is nothing to repeat for ever, epoch 0 of the data is empty");
    ds = range(0, 9);
    CHECK_OK(rgm_dataset_repeat(&ds, 0));
    gives(ds, 0, "");
}

static void shuffles_differ_by_epoch_and_seed_and_lose_nothing(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        rgm_text a = {0}, b = {0}, c = {0};
        rgm_dataset *ds = range(0, 50), *twice;
        rgm_iterator *iterator;
        int seen[50] = {0};
        rgm_element *e;
        rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;

        CHECK_OK(all ? rgm_dataset_shuffle_all(&ds) : rgm_dataset_shuffle(&ds, 8));
        CHECK_INT(50, rgm_dataset_count(ds));
        sequence(&a, ds, 1, 0);
        sequence(&b, ds, 1, 0);
        sequence(&c, ds, 2, 0);
        CHECK_TEXT(a.data, b.data);
        CHECK(strcmp(a.data, c.data) != 0);
        CHECK(strncmp(a.data, "0 | 1 | 2 | 3 |", 15) != 0);
        twice = rgm_dataset_retain(ds);
        CHECK_OK(rgm_dataset_repeat(&twice, 2));
        sequence(&b, twice, 1, 0);
        CHECK(strncmp(a.data, b.data, (size_t)a.size) == 0);
        CHECK(strcmp(a.data, b.data + a.size + 3) != 0);
        options.seed = 1;
        options.epoch = 1; /* the same as the second epoch of a repeat */
        CHECK_OK(rgm_iterator_create(&iterator, ds, &options));
        rgm_text_clear(&c);
        while (rgm_iterator_next(&e, iterator) == RGM_OK) {
            seen[rgm_tensor_i64(rgm_element_tensor(e, 0))[0]]++;
            CHECK_OK(rgm_text_printf(&c, "%s", c.size > 0 ? " | " : ""));
            describe(&c, e);
            rgm_element_release(e);
        }
        CHECK_TEXT(b.data + a.size + 3, c.data);
        for (int i = 0; i < 50; i++)
            CHECK_INT(1, seen[i]);
        rgm_iterator_release(iterator);
        rgm_text_clear(&a);
        rgm_text_clear(&b);
        rgm_text_clear(&c);
        rgm_dataset_release(ds);
        rgm_dataset_release(twice);
    }
}

static void shuffle_all_wants_an_indexed_recipe(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 20);
    rgm_text text = {0};

    CHECK_OK(rgm_dataset_shard(&ds, 2, 1));
    CHECK_OK(rgm_dataset_skip(&ds, 1));
    CHECK_OK(rgm_dataset_take(&ds, 4));
    CHECK_OK(rgm_dataset_shuffle_all(&ds));
    sequence(&text, ds, 3, 0);
    for (int i = 3; i <= 9; i += 2)
        CHECK(memchr(text.data, '0' + i, (size_t)text.size) != NULL);
    CHECK_INT(4 + 3 * 3, text.size);
    CHECK_OK(rgm_dataset_filter(&ds, two_of_three, NULL, NULL));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_dataset_shuffle_all(&ds));
    CHECK_MESSAGE("those of filter cannot");
    rgm_text_clear(&text);
    rgm_dataset_release(ds);
}

static void draws_are_as_likely_as_their_weights_say(void **state)
{
    enum { DRAWS = 20000 };
    double *weights;
    rgm_text a = {0}, b = {0};
    rgm_dataset *ds = range(0, DRAWS), *twice;
    rgm_iterator *iterator;
    rgm_element *e;
    int64_t seen[4] = {0};

    (void)state;
    CHECK_OK(RGM_NEW(weights, DRAWS));
    weights[1] = 1;
    weights[DRAWS - 3] = 3; /* those at both ends and between weigh nothing */
    weights[DRAWS - 2] = 4;
    CHECK_OK(rgm_dataset_draw(&ds, weights, DRAWS));
    rgm_free(weights);
    CHECK_INT(DRAWS, rgm_dataset_count(ds));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    while (rgm_iterator_next(&e, iterator) == RGM_OK) {
        int64_t i = rgm_tensor_i64(rgm_element_tensor(e, 0))[0];

        CHECK(i == 1 || i == DRAWS - 3 || i == DRAWS - 2);
        seen[i == 1 ? 0 : i - (DRAWS - 4)]++;
        rgm_element_release(e);
    }
    rgm_iterator_release(iterator);
    CHECK_INT(DRAWS, seen[0] + seen[1] + seen[2]);
    CHECK_CLOSE((double)seen[0] / DRAWS, 0.125, 0, 0.01); /* 4 deviations */
    CHECK_CLOSE((double)seen[1] / DRAWS, 0.375, 0, 0.014);
    CHECK_CLOSE((double)seen[2] / DRAWS, 0.5, 0, 0.0142);
    CHECK_OK(rgm_dataset_take(&ds, 50));
    twice = rgm_dataset_retain(ds);
    CHECK_OK(rgm_dataset_repeat(&twice, 2));
    sequence(&a, ds, 1, 0);
    sequence(&b, twice, 1, 0);
    CHECK(strncmp(a.data, b.data, (size_t)a.size) == 0);
    CHECK(strcmp(a.data, b.data + a.size + 3) != 0);
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    rgm_dataset_release(ds);
    rgm_dataset_release(twice);
}

static void draws_without_chances_are_refused(void **state)
{
    static const double wrong[][2] = {{1, -1}, {NAN, 1}, {INFINITY, 1}, {0, 0}, {1e308, 1e308}};
    rgm_dataset *ds = range(0, 2);

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_draw(&ds, wrong[i], 2));
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_draw(&ds, (double[]){1, 1, 1}, 3));
    CHECK_MESSAGE("3 weights of 2 elements");
    CHECK_OK(rgm_dataset_filter(&ds, two_of_three, NULL, NULL));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_dataset_draw(&ds, (double[]){1, 1}, 2));
    CHECK_MESSAGE("those of filter cannot");
    rgm_dataset_release(ds);
}

static void poisson_draws_every_element_by_a_coin_of_its_own(void **state)
{
    (void)state;
    /* 8000 steps over 20 elements: how often each is drawn, how often 3 and 7 together, and how the
     * sizes are spread, against the binomial's figures to five standard deviations. */
    enum { N = 20, STEPS = 8000 };
    const double rate = 0.1;
    rgm_dataset *ds = range(0, N);
    rgm_iterator *iterator;
    rgm_element *e;
    int drawn[N] = {0}, together = 0, empty = 0, steps = 0;

    CHECK_OK(rgm_dataset_poisson(&ds, rate));
    CHECK_INT(10, rgm_dataset_count(ds));
    CHECK_OK(rgm_dataset_repeat(&ds, STEPS / 10));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    for (; rgm_iterator_next(&e, iterator) == RGM_OK; steps++) {
        bool in[N] = {false};
        int64_t last = -1;

        for (int64_t i = 0; i < rgm_element_count(e); i++) {
            int64_t k = rgm_tensor_i64(rgm_element_tensor(rgm_element_item(e, i), 0))[0];
            CHECK(k > last && k < N);
            last = k;
            in[k] = true;
            drawn[k]++;
        }
        together += in[3] && in[7];
        empty += rgm_element_count(e) == 0;
        rgm_element_release(e);
    }
    CHECK_INT(STEPS, steps);
    for (int i = 0; i < N; i++)
        CHECK_CLOSE(drawn[i], STEPS * rate, 0, 5 * sqrt(STEPS * rate * (1 - rate)));
    CHECK_CLOSE(together, STEPS * rate * rate, 0, 5 * sqrt(STEPS * rate * rate));
    CHECK_CLOSE(empty, STEPS * pow(1 - rate, N), 0, 5 * sqrt(STEPS * pow(1 - rate, N)));
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
}

static void poisson_at_rate_one_gives_everything_and_refuses_what_it_cannot_draw_from(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 4);

    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_poisson(&ds, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_poisson(&ds, 1.01));
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_poisson(&ds, NAN));
    CHECK_OK(rgm_dataset_poisson(&ds, 1));
    gives(ds, 1, "[0 1 2 3]");
    ds = range(0, 4);
    CHECK_OK(rgm_dataset_poisson(&ds, 1e-300)); /* hardly ever anything, and never a wrong index */
    CHECK_OK(rgm_dataset_take(&ds, 3));
    gives(ds, 3, "[] | [] | []");
    ds = range(0, 0);
    CHECK_OK(rgm_dataset_poisson(&ds, 0.5));
    gives(ds, 2, "[] | []");
    ds = range(0, 4);
    CHECK_OK(rgm_dataset_batch(&ds, 2, true));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_dataset_poisson(&ds, 0.5));
    CHECK_MESSAGE("those of batch cannot");
    rgm_dataset_release(ds);
}

static void an_error_in_an_element_costs_its_poisson_step(void **state)
{
    (void)state;
    rgm_dataset *ds;
    int64_t never = -1;
    rgm_text text = {0};

    CHECK_OK(rgm_dataset_from_function(&ds, 4, letter, &never, NULL));
    CHECK_OK(rgm_dataset_poisson(&ds, 1));
    CHECK_OK(rgm_dataset_repeat(&ds, 2));
    gives(ds, 2, "!no c | !no c");
    CHECK_OK(rgm_dataset_from_function(&ds, 4, letter, &never, NULL));
    CHECK_OK(rgm_dataset_poisson(&ds, 0.1));
    sequence(&text, ds, 3, 0);
    CHECK(strstr(text.data, "!no c") != NULL && strchr(text.data, '[') != NULL);
    rgm_text_clear(&text);
    rgm_dataset_release(ds);
}

/* Weighs what its number says; 90 and more cannot be weighed. */
static rgm_status weigh_number(int64_t *weights, const rgm_element *element, void *payload)
{
    (void)payload;
    weights[0] = rgm_tensor_i64(rgm_element_tensor(element, 0))[0];
    weights[1] = 1;
    return weights[0] >= 90 ? RGM_FAIL(RGM_ERR_DATA, "no scale for %lld", (long long)weights[0])
                            : RGM_OK;
}

/* The sizes of the lists that numbers are parted into. */
static void check_lists(const int64_t *numbers, int64_t count, rgm_budgets budgets,
                        const char *expected)
{
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_tensor *all;
    rgm_element *list;
    rgm_text text = {0};
    rgm_status status;

    CHECK_OK(rgm_tensor_create_from(&all, RGM_I64, 2, (int64_t[]){count, 1}, numbers));
    CHECK_OK(rgm_dataset_from_tensors(&ds, &all, 1));
    CHECK_OK(rgm_dataset_batch_within(&ds, &budgets));
    CHECK_INT(-1, rgm_dataset_count(ds));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    while ((status = rgm_iterator_next(&list, iterator)) != RGM_END) {
        CHECK_OK(rgm_text_printf(&text, "%s%lld", text.size > 0 ? " " : "",
                                 status == RGM_OK ? (long long)rgm_element_count(list) : -1LL));
        if (status == RGM_OK)
            rgm_element_release(list);
    }
    CHECK_TEXT(expected, text.data);
    rgm_text_clear(&text);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    rgm_tensor_release(all);
}

static void lists_by_weight_keep_to_every_limit(void **state)
{
    const int64_t numbers[] = {3, 4, 3, 1, 10, 0, 0, 11, 5, 5, 1, 95, 2};
    rgm_budgets b = {
        .count = 1, .limits = {10, 3}, .names = {"grams", "pieces"}, .weigh = weigh_number};
    rgm_dataset *ds = NULL;

    (void)state;
    /* 3 4 3 | 1 | 10 0 0 | 11 is too heavy | 5 5 | 1 and 95: an error costs what came before it | 2
     */
    check_lists(numbers, 13, b, "3 1 3 -1 2 -1 1");
    b.count = 2;
    b.limits[1] = 2;
    check_lists(numbers, 7, b, "2 2 2 1");
    b.limits[1] = 3;
    b.elements = 1;
    check_lists(numbers, 7, b, "1 1 1 1 1 1 1");
    CHECK_OK(rgm_dataset_range(&ds, 0, 5));
    b.limits[0] = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_batch_within(&ds, &b));
    CHECK_MESSAGE("budget 0 is 0 grams");
    b.count = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_batch_within(&ds, &b));
    rgm_dataset_release(ds);
}

static void an_empty_batch_stacks_to_no_rows_of_the_examples_shapes(void **state)
{
    (void)state;
    float rows[] = {1, 2, 3, 4, 5, 6};
    int32_t labels[] = {7, 8, 9};
    rgm_tensor *t[2];
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_element *e, *none;
    int empty = 0;

    CHECK_OK(rgm_tensor_create_from(&t[0], RGM_F32, 2, (int64_t[]){3, 2}, rows));
    CHECK_OK(rgm_tensor_create_from(&t[1], RGM_I32, 1, (int64_t[]){3}, labels));
    CHECK_OK(rgm_dataset_from_tensors(&ds, t, 2));
    CHECK_OK(rgm_dataset_poisson(&ds, 0.05));
    CHECK_OK(rgm_dataset_map(&ds, rgm_element_stack, NULL, NULL, 0));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    while (rgm_iterator_next(&e, iterator) == RGM_OK) {
        rgm_tensor *x = rgm_element_tensor(e, 0), *y = rgm_element_tensor(e, 1);

        CHECK(rgm_tensor_rank(x) == 2 && rgm_tensor_dim(x, 1) == 2);
        CHECK(rgm_tensor_dtype(x) == RGM_F32 && rgm_tensor_dtype(y) == RGM_I32);
        CHECK(rgm_tensor_rank(y) == 1 && rgm_tensor_dim(y, 0) == rgm_tensor_dim(x, 0));
        empty += rgm_tensor_dim(x, 0) == 0;
        rgm_element_release(e);
    }
    CHECK(empty > 0 && empty < 20);
    CHECK_OK(rgm_element_create_empty_list(&none, NULL));
    CHECK(rgm_element_item_like(none) == NULL);
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_stack(&e, none, NULL, NULL));
    rgm_element_release(none);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    rgm_tensor_release(t[0]);
    rgm_tensor_release(t[1]);
}

static void a_row_of_a_batch_is_a_view_of_one_example(void **state)
{
    (void)state;
    float rows[] = {1, 2, 3, 4, 5, 6};
    int32_t labels[] = {7, 8, 9};
    rgm_tensor *t[2], *scalar;
    rgm_element *batch, *one, *list;
    rgm_text text = {0};

    CHECK_OK(rgm_tensor_create_from(&t[0], RGM_F32, 2, (int64_t[]){3, 2}, rows));
    CHECK_OK(rgm_tensor_create_from(&t[1], RGM_I32, 1, (int64_t[]){3}, labels));
    CHECK_OK(rgm_element_create_tensors(&batch, t, 2));
    CHECK_OK(rgm_element_row(&one, batch, 1));
    describe(&text, one);
    CHECK(text.size == 5 && memcmp(text.data, "3,4,8", 5) == 0);
    CHECK_INT(1, rgm_tensor_dim(rgm_element_tensor(one, 0), 0));
    CHECK_INT(2, rgm_tensor_rank(rgm_element_tensor(one, 0)));
    CHECK(rgm_tensor_f32(rgm_element_tensor(one, 0)) == rgm_tensor_f32(t[0]) + 2);
    rgm_element_release(one);
    CHECK_STATUS(RGM_ERR_ARG, rgm_element_row(&one, batch, 3));
    CHECK(one == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_element_row(&one, batch, -1));
    CHECK_EVERY_OOM(rgm_element_row(&one, batch, 2), rgm_element_release(one));
    CHECK_OK(rgm_element_create_list(&list, &batch, 1));
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_row(&one, list, 0));
    rgm_element_release(list);
    rgm_element_release(batch);
    CHECK_OK(rgm_tensor_create(&scalar, RGM_F32, 0, NULL));
    CHECK_OK(rgm_element_create_tensors(&batch, &scalar, 1));
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_row(&one, batch, 0));
    rgm_element_release(batch);
    rgm_tensor_release(scalar);
    rgm_tensor_release(t[1]);
    CHECK_OK(rgm_tensor_create_from(&t[1], RGM_I32, 1, (int64_t[]){2}, labels));
    CHECK_OK(rgm_element_create_tensors(&batch, t, 2));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_element_row(&one, batch, 0));
    CHECK_MESSAGE("tensor 1 has 2 rows, tensor 0 has 3");
    rgm_element_release(batch);
    rgm_tensor_release(t[0]);
    rgm_tensor_release(t[1]);
    rgm_text_clear(&text);
}

static void a_shuffle_buffer_of_half_the_data_mixes_evenly(void **state)
{
    (void)state;
    /* Where element 0 lands, over 2000 epochs, with a buffer of 4 of 8: it is in the first buffer,
     * so P(place 0) = 1/4, P(place 1) = 3/16, ... (geometric while the buffer stays full). */
    int at[8] = {0};
    rgm_dataset *ds = range(0, 8);
    rgm_iterator *iterator;
    rgm_element *e;

    CHECK_OK(rgm_dataset_shuffle(&ds, 4));
    CHECK_OK(rgm_dataset_repeat(&ds, 2000));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    for (int i = 0; rgm_iterator_next(&e, iterator) == RGM_OK; i++) {
        if (rgm_tensor_i64(rgm_element_tensor(e, 0))[0] == 0)
            at[i % 8]++;
        rgm_element_release(e);
    }
    CHECK_CLOSE(at[0], 500, 0, 80);
    CHECK_CLOSE(at[1], 375, 0, 80);
    CHECK_CLOSE(at[2], 281, 0, 70);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
}

static void maps_are_ordered_and_reproducible_on_any_number_of_threads(void **state)
{
    (void)state;
    rgm_text a = {0}, b = {0};
    rgm_dataset *ds = range(0, 200);

    CHECK_OK(rgm_dataset_map(&ds, trouble, NULL, NULL, 3));
    CHECK_OK(rgm_dataset_map(&ds, stamp, NULL, NULL, 8));
    sequence(&a, ds, 5, 0);
    CHECK(strstr(a.data, "!no good: 3 | ") != NULL);
    for (int threads = 1; threads <= 4; threads++)
        CHECK_TEXT(a.data, sequence(&b, ds, 5, threads));
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    rgm_dataset_release(ds);
}

static void an_error_in_a_map_has_its_place_and_the_records_origin(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 6);
    rgm_tfrecord_writer *writer;
    char want[400];

    CHECK_OK(rgm_dataset_map(&ds, trouble, NULL, NULL, 4));
    gives(ds, 6, "0 | 1 | 2 | !no good: 3 | 5");
    CHECK_OK(rgm_tfrecord_writer_open(&writer, in_folder("five"), NULL));
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgm_tfrecord_writer_add(writer, "xx", 1 + i % 2));
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    CHECK_OK(rgm_dataset_tfrecord(&ds, in_folder("five"), NULL));
    CHECK_OK(rgm_dataset_map(&ds, trouble, NULL, NULL, 0));
    snprintf(want, sizeof want, "x | xx | x | !%s: record 3 at byte 52: no good: 3",
             in_folder("five"));
    gives(ds, -1, want);
}

static rgm_status not_seven(bool *keep, const rgm_element *element, void *payload)
{
    int64_t i = rgm_tensor_i64(rgm_element_tensor(element, 0))[0];

    (void)payload;
    *keep = i % 2 == 1;
    return i == 7 ? RGM_FAIL(RGM_ERR_DATA, "seven") : RGM_OK;
}

static void a_filter_keeps_what_it_is_told_to(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 10);

    CHECK_OK(rgm_dataset_filter(&ds, not_seven, NULL, NULL));
    gives(ds, -1, "1 | 3 | 5 | !seven | 9");
}

static rgm_status ten_of(rgm_dataset **out, const rgm_element *element, void *payload)
{
    int64_t i = rgm_tensor_i64(rgm_element_tensor(element, 0))[0];

    (void)payload;
    if (i == 9)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "nine");
    return rgm_dataset_range(out, 10 * i, 10 * i + i);
}

static void interleave_takes_turns_in_blocks(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 5);

    CHECK_OK(rgm_dataset_interleave(&ds, ten_of, NULL, NULL, 1, 1));
    gives(ds, -1, "10 | 20 | 21 | 30 | 31 | 32 | 40 | 41 | 42 | 43");
    ds = range(1, 5);
    CHECK_OK(rgm_dataset_interleave(&ds, ten_of, NULL, NULL, 2, 1));
    gives(ds, -1, "10 | 20 | 30 | 21 | 31 | 40 | 32 | 41 | 42 | 43");
    ds = range(2, 5);
    CHECK_OK(rgm_dataset_interleave(&ds, ten_of, NULL, NULL, 9, 2));
    gives(ds, -1, "20 | 21 | 30 | 31 | 40 | 41 | 32 | 42 | 43");
    ds = range(8, 11);
    CHECK_OK(rgm_dataset_interleave(&ds, ten_of, NULL, NULL, 1, 1));
    CHECK_OK(rgm_dataset_take(&ds, 10));
    gives(ds, -1, "80 | 81 | 82 | 83 | 84 | 85 | 86 | 87 | !nine | 100");
}

static void records_are_read_from_every_file(void **state)
{
    (void)state;
    rgm_dataset *ds;
    rgm_tfrecord_writer *writer;
    rgm_read_tfrecords_options options = RGM_READ_TFRECORDS_OPTIONS_INIT;
    const char *const missing[] = {"/no/such/file"};

    CHECK_OK(rgm_tfrecord_writer_open(&writer, in_folder("part@3"), NULL));
    for (char c = 'a'; c < 'i'; c++)
        CHECK_OK(rgm_tfrecord_writer_add(writer, &c, 1));
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    CHECK_OK(rgm_dataset_list_files(&ds, in_folder("part@3")));
    CHECK_INT(3, rgm_dataset_count(ds));
    CHECK_OK(rgm_dataset_read_tfrecords(&ds, NULL));
    gives(ds, -1, "a | d | g | b | e | h | c | f");
    options.cycle_length = 3;
    CHECK_OK(rgm_dataset_list_files(&ds, in_folder("part-*")));
    CHECK_OK(rgm_dataset_read_tfrecords(&ds, &options));
    gives(ds, -1, "a | b | c | d | e | f | g | h");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_dataset_list_files(&ds, in_folder("none-*")));
    CHECK_OK(rgm_dataset_from_paths(&ds, missing, 1));
    CHECK_OK(rgm_dataset_read_tfrecords(&ds, NULL));
    CHECK_OK(rgm_dataset_take(&ds, 2));
    gives(ds, -1,
          "!/no/such/file: No such file or directory | !/no/such/file: No such file or directory");
}

static void a_cache_reads_its_input_once(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 6);

    CHECK_OK(rgm_dataset_shuffle(&ds, 6));
    CHECK_OK(rgm_dataset_map(&ds, stamp, NULL, NULL, 0));
    CHECK_OK(rgm_dataset_cache(&ds));
    CHECK_OK(rgm_dataset_repeat(&ds, 2));
    {
        rgm_text text = {0};
        int64_t half;
        sequence(&text, ds, 4, 0);
        half = (text.size - 3) / 2;
        CHECK(memcmp(text.data, text.data + half + 3, (size_t)half) == 0);
        rgm_text_clear(&text);
    }
    rgm_dataset_release(ds);
}

static void a_mix_draws_by_weight_until_the_end_it_was_told(void **state)
{
    (void)state;
    rgm_dataset *inputs[2] = {range(0, 4000), range(10000, 14000)}, *ds;
    rgm_iterator *iterator;
    rgm_element *e;
    const double weights[] = {3, 1};
    int64_t from[2] = {0, 0};

    CHECK_OK(rgm_dataset_mix(&ds, inputs, weights, 2, RGM_MIX_END_FIRST));
    CHECK_INT(-1, rgm_dataset_count(ds));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    while (rgm_iterator_next(&e, iterator) == RGM_OK) {
        int64_t i = rgm_tensor_i64(rgm_element_tensor(e, 0))[0];
        CHECK_INT(from[i >= 10000]++, i % 10000); /* each source keeps its own order */
        rgm_element_release(e);
    }
    CHECK_INT(4000, from[0]);
    CHECK_CLOSE(from[1], 1333, 0.1, 0);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    CHECK_OK(rgm_dataset_mix(&ds, inputs, NULL, 2, RGM_MIX_END_ALL));
    CHECK_INT(8000, rgm_dataset_count(ds));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    from[0] = 0;
    while (rgm_iterator_next(&e, iterator) == RGM_OK) {
        from[0]++;
        rgm_element_release(e);
    }
    CHECK_INT(8000, from[0]);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_mix(&ds, inputs, (double[]){0, 0}, 2, RGM_MIX_END_ALL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_mix(&ds, inputs, (double[]){1, NAN}, 2, RGM_MIX_END_ALL));
    rgm_dataset_release(inputs[0]);
    rgm_dataset_release(inputs[1]);
}

/* Numbers from `base` on; every third is an error instead. */
static rgm_status mostly(rgm_element **out, int64_t i, void *payload)
{
    rgm_tensor *number;
    rgm_status status;

    if (i % 3 == 2)
        return RGM_FAIL(RGM_ERR_DATA, "no number %lld", (long long)i);
    RGM_TRY(rgm_tensor_create(&number, RGM_I64, 0, NULL));
    rgm_tensor_i64(number)[0] = *(int64_t *)payload + i;
    status = rgm_element_create_tensors(out, &number, 1);
    rgm_tensor_release(number);
    return status;
}

static int64_t number_in(const rgm_element *list, int64_t i)
{
    return rgm_tensor_i64(rgm_element_tensor(rgm_element_item(list, i), 0))[0];
}

static void a_zip_puts_elements_of_one_number_together(void **state)
{
    (void)state;
    static int64_t base = 500;
    rgm_dataset *inputs[3] = {range(0, 9), range(100, 107), NULL}, *ds, *nested;
    rgm_iterator *iterator;
    rgm_element *e;

    CHECK_OK(rgm_dataset_zip(&ds, inputs, 2));
    CHECK_INT(7, rgm_dataset_count(ds));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    for (int64_t i = 0; i < 7; i++) {
        CHECK_OK(rgm_iterator_next(&e, iterator));
        CHECK_INT(2, rgm_element_count(e));
        CHECK_INT(i, number_in(e, 0));
        CHECK_INT(100 + i, number_in(e, 1));
        rgm_element_release(e);
    }
    CHECK_STATUS(RGM_END, rgm_iterator_next(&e, iterator));
    CHECK_STATUS(RGM_END, rgm_iterator_next(&e, iterator));
    rgm_iterator_release(iterator);
    CHECK_OK(rgm_dataset_shuffle_all(&ds)); /* it is indexed */
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    for (int64_t i = 0; i < 7; i++) {
        CHECK_OK(rgm_iterator_next(&e, iterator));
        CHECK_INT(number_in(e, 0) + 100, number_in(e, 1));
        rgm_element_release(e);
    }
    rgm_iterator_release(iterator);
    /* an error costs the others theirs of the same number */
    CHECK_OK(rgm_dataset_from_function(&inputs[2], -1, mostly, &base, NULL));
    CHECK_OK(rgm_dataset_zip(&nested, (rgm_dataset *[]){inputs[2], inputs[0]}, 2));
    CHECK_INT(-1, rgm_dataset_count(nested));
    CHECK_OK(rgm_iterator_create(&iterator, nested, NULL));
    for (int64_t i = 0; i < 9; i++) {
        if (i % 3 == 2) {
            CHECK_STATUS(RGM_ERR_DATA, rgm_iterator_next(&e, iterator));
            CHECK_MESSAGE("no number");
            continue;
        }
        CHECK_OK(rgm_iterator_next(&e, iterator));
        CHECK_INT(500 + i, number_in(e, 0));
        CHECK_INT(i, number_in(e, 1));
        rgm_element_release(e);
    }
    CHECK_STATUS(RGM_END, rgm_iterator_next(&e, iterator));
    rgm_iterator_release(iterator);
    rgm_dataset_release(nested);
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_zip(&nested, inputs, 0));
    rgm_dataset_release(ds);
    for (int i = 0; i < 3; i++)
        rgm_dataset_release(inputs[i]);
}

static void csv_rows_become_elements_with_labels(void **state)
{
    (void)state;
    const char *root = check_data("digits");
    char path[600];
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_element *e;

    if (root == NULL)
        SKIP("REGIMEN_DATA has no digits");
    snprintf(path, sizeof path, "%s/train.csv.gz", root);
    CHECK_OK(rgm_csv_dataset(&ds, path, RGM_F32, 1, NULL));
    CHECK_INT(3823, rgm_dataset_count(ds));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    CHECK_OK(rgm_iterator_next(&e, iterator));
    CHECK_INT(64, rgm_tensor_count(rgm_element_tensor(e, 0)));
    CHECK_INT(1, rgm_tensor_count(rgm_element_tensor(e, 1)));
    rgm_element_release(e);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
}

static int released;

static void count_release(void *payload)
{
    (void)payload;
    released++;
}

static void payloads_and_pointers_are_released_once(void **state)
{
    (void)state;
    static const rgm_element_type type = {.name = "thing", .release = count_release},
                                  other = {.name = "other"};
    rgm_dataset *ds = range(0, 3);
    rgm_element *e;
    int thing;

    released = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgm_dataset_map(&ds, stamp, &thing, count_release, -1));
    CHECK_INT(0, released);
    CHECK_OK(rgm_dataset_map(&ds, stamp, &thing, count_release, 2));
    CHECK_OK(rgm_dataset_filter(&ds, two_of_three, &thing, count_release));
    rgm_dataset_release(ds);
    CHECK_INT(2, released);
    CHECK_OK(rgm_element_create_pointer(&e, &type, &thing));
    CHECK(rgm_element_pointer(e, &type) == &thing && rgm_element_pointer(e, &other) == NULL);
    rgm_element_release(rgm_element_retain(e));
    CHECK_INT(2, released);
    rgm_element_release(e);
    CHECK_INT(3, released);
}

static void a_recipe_prints_as_one_line(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 10);
    rgm_text text = {0};

    CHECK_OK(rgm_dataset_shuffle(&ds, 4));
    CHECK_OK(rgm_dataset_batch(&ds, 3, true));
    CHECK_OK(rgm_dataset_prefetch(&ds, 2));
    CHECK_OK(rgm_dataset_print(&text, ds));
    CHECK_TEXT("range(0, 10) | shuffle(4) | batch(3, whole ones) | prefetch()", text.data);
    rgm_text_clear(&text);
    rgm_dataset_release(ds);
}

static void stop_ends_next_from_outside(void **state)
{
    (void)state;
    rgm_dataset *ds = range(0, 10);
    rgm_iterator *iterator;
    rgm_element *e;

    CHECK_OK(rgm_dataset_prefetch(&ds, 2));
    CHECK_OK(rgm_iterator_create(&iterator, ds, NULL));
    CHECK_OK(rgm_iterator_next(&e, iterator));
    rgm_element_release(e);
    rgm_iterator_stop(iterator);
    CHECK_STATUS(RGM_STOPPED, rgm_iterator_next(&e, iterator));
    CHECK_STATUS(RGM_STOPPED, rgm_iterator_next(&e, iterator));
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
}

/* ---- failing allocations --------------------------------------------------------------------- */

/** A recipe with every op that runs in the asking thread, read to its end. */
static rgm_status build_and_run(int parallel)
{
    rgm_status status = RGM_OK;
    rgm_dataset *ds = NULL, *mixed = NULL;
    rgm_iterator *iterator = NULL;
    rgm_element *e;
    rgm_text saved = {0};

    RGM_GO(rgm_dataset_range(&ds, 1, 5));
    RGM_GO(rgm_dataset_interleave(&ds, ten_of, NULL, NULL, 2, 1));
    RGM_GO(rgm_dataset_mix(&mixed, (rgm_dataset *[]){ds, ds}, NULL, 2, RGM_MIX_END_ALL));
    RGM_GO(rgm_dataset_shuffle(&mixed, 3));
    RGM_GO(rgm_dataset_cache(&mixed));
    RGM_GO(rgm_dataset_map(&mixed, trouble, NULL, NULL, parallel));
    RGM_GO(rgm_dataset_batch(&mixed, 2, false));
    RGM_GO(rgm_dataset_repeat(&mixed, 2));
    RGM_GO(rgm_iterator_create(&iterator, mixed, NULL));
    for (;;) {
        status = rgm_iterator_next(&e, iterator);
        rgm_element_release(e);
        if (status == RGM_END)
            break;
        if (status != RGM_ERR_DATA)
            RGM_GO(status);
        saved.size = 0;
        RGM_GO(rgm_iterator_save(&saved, iterator));
    }
    RGM_GO(rgm_iterator_restore(iterator, saved.data, saved.size));
done:
    rgm_text_clear(&saved);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    rgm_dataset_release(mixed);
    return status;
}

static rgm_status draw_and_collate(void)
{
    rgm_status status = RGM_OK;
    rgm_dataset *ds = NULL;
    rgm_iterator *iterator = NULL;
    rgm_element *e;

    RGM_GO(rgm_dataset_range(&ds, 0, 40));
    RGM_GO(rgm_dataset_poisson(&ds, 0.03));
    RGM_GO(rgm_dataset_map(&ds, rgm_element_stack, NULL, NULL, 0));
    RGM_GO(rgm_iterator_create(&iterator, ds, NULL));
    while ((status = rgm_iterator_next(&e, iterator)) == RGM_OK)
        rgm_element_release(e);
    status = status == RGM_END ? RGM_OK : status;
done:
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    return status;
}

static rgm_status read_no_paths(void)
{
    rgm_status status = RGM_OK;
    rgm_dataset *ds = NULL;

    RGM_GO(rgm_dataset_from_paths(&ds, NULL, 0));
    RGM_GO(rgm_dataset_read_tfrecords(&ds, NULL));
done:
    rgm_dataset_release(ds);
    return status;
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    const char *const paths[] = {"a", "b"};
    rgm_dataset *ds;
    rgm_tensor *t;

    CHECK_EVERY_OOM(build_and_run(0), (void)0);
    CHECK_EVERY_OOM(build_and_run(2), (void)0);
    CHECK_EVERY_OOM(draw_and_collate(), (void)0);
    CHECK_EVERY_OOM(rgm_dataset_from_paths(&ds, paths, 2), rgm_dataset_release(ds));
    CHECK_EVERY_OOM(rgm_dataset_tfrecord(&ds, "a", NULL), rgm_dataset_release(ds));
    CHECK_OK(rgm_tensor_create(&t, RGM_F32, 2, (int64_t[]){2, 2}));
    CHECK_EVERY_OOM(rgm_dataset_from_tensors(&ds, &t, 1), rgm_dataset_release(ds));
    rgm_tensor_release(t);
    CHECK_EVERY_OOM(read_no_paths(), (void)0);
}

TESTS(cmocka_unit_test(beginnings_give_their_elements),
      cmocka_unit_test(a_function_is_a_source_and_its_errors_take_a_place),
      cmocka_unit_test(take_skip_and_shard_count_places),
      cmocka_unit_test(batches_keep_or_drop_the_remainder_and_stack),
      cmocka_unit_test(lists_by_weight_keep_to_every_limit),
      cmocka_unit_test(stacking_tells_what_does_not_fit),
      cmocka_unit_test(texts_stack_as_numbers_do),
      cmocka_unit_test(repeat_counts_epochs_and_refuses_to_repeat_nothing),
      cmocka_unit_test(shuffles_differ_by_epoch_and_seed_and_lose_nothing),
      cmocka_unit_test(shuffle_all_wants_an_indexed_recipe),
      cmocka_unit_test(draws_are_as_likely_as_their_weights_say),
      cmocka_unit_test(draws_without_chances_are_refused),
      cmocka_unit_test(poisson_draws_every_element_by_a_coin_of_its_own),
      cmocka_unit_test(poisson_at_rate_one_gives_everything_and_refuses_what_it_cannot_draw_from),
      cmocka_unit_test(an_error_in_an_element_costs_its_poisson_step),
      cmocka_unit_test(an_empty_batch_stacks_to_no_rows_of_the_examples_shapes),
      cmocka_unit_test(a_row_of_a_batch_is_a_view_of_one_example),
      cmocka_unit_test(a_shuffle_buffer_of_half_the_data_mixes_evenly),
      cmocka_unit_test(maps_are_ordered_and_reproducible_on_any_number_of_threads),
      cmocka_unit_test(an_error_in_a_map_has_its_place_and_the_records_origin),
      cmocka_unit_test(a_filter_keeps_what_it_is_told_to),
      cmocka_unit_test(interleave_takes_turns_in_blocks),
      cmocka_unit_test(records_are_read_from_every_file),
      cmocka_unit_test(a_cache_reads_its_input_once),
      cmocka_unit_test(a_mix_draws_by_weight_until_the_end_it_was_told),
      cmocka_unit_test(a_zip_puts_elements_of_one_number_together),
      cmocka_unit_test(csv_rows_become_elements_with_labels),
      cmocka_unit_test(payloads_and_pointers_are_released_once),
      cmocka_unit_test(a_recipe_prints_as_one_line), cmocka_unit_test(stop_ends_next_from_outside),
      cmocka_unit_test(failing_allocations_leak_nothing))

/*
 * Token batches of several sets with shares of an epoch, of one shape, and of segmentations that
 * are drawn: what an epoch has, that every place is restored, and BPE-dropout's probabilities.
 */
#include <check.h>

#include <regimen/text.h>

/* Pairs of one id and an end: pair i has source 10 + i; lengths go from 2 to 9. */
static rgm_token_pairs *make_pairs(int64_t count)
{
    rgm_token_pairs *pairs;
    int32_t ids[16];

    CHECK_OK(rgm_token_pairs_create(&pairs));
    for (int64_t i = 0; i < count; i++) {
        int64_t length = 2 + i % 8;

        for (int64_t k = 0; k < length; k++)
            ids[k] = (int32_t)(k == length - 1 ? 1 : 10 + i);
        CHECK_OK(rgm_token_pairs_add(pairs, ids, length, ids, length));
    }
    return pairs;
}

static rgm_iterator *run(const rgm_dataset *dataset, uint64_t epoch)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator;

    options.seed = 7;
    options.epoch = epoch;
    CHECK_OK(rgm_iterator_create(&iterator, dataset, &options));
    return iterator;
}

/* How often each pair stands in an epoch. */
static void count_rows(int64_t *times, int64_t pairs, const rgm_dataset *dataset, uint64_t epoch)
{
    rgm_iterator *iterator = run(dataset, epoch);
    rgm_element *batch;

    memset(times, 0, (size_t)pairs * sizeof *times);
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        const rgm_tensor *numbers = rgm_element_tensor(batch, 2);

        for (int64_t i = 0; i < rgm_tensor_count(numbers); i++)
            if (rgm_tensor_i64(numbers)[i] >= 0)
                times[rgm_tensor_i64(numbers)[i]]++;
        rgm_element_release(batch);
    }
    rgm_iterator_release(iterator);
}

static rgm_status mixed(rgm_dataset **out, const rgm_token_pairs *pairs)
{
    static const rgm_token_batch_set sets[3] = {{300, 1}, {80, 2.5}, {100, 0.25}};
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;

    o.tokens = 64;
    o.max_length = 9;
    o.sets = sets;
    o.set_count = 3;
    return rgm_token_batches(out, pairs, &o);
}

static void sets_stand_as_often_as_they_say(void **state)
{
    rgm_token_pairs *pairs = make_pairs(480);
    rgm_token_batch_figures figures;
    int64_t times[480], again[480], different = 0;
    rgm_dataset *data;

    (void)state;
    CHECK_OK(mixed(&data, pairs));
    CHECK_OK(rgm_token_batches_figures(&figures, data));
    CHECK_INT(300 + 200 + 25, figures.pairs);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int64_t sum[3] = {0};

        count_rows(times, 480, data, epoch);
        for (int64_t i = 0; i < 480; i++) {
            int set = i < 300 ? 0 : i < 380 ? 1 : 2;
            sum[set] += times[i];
            CHECK(set == 0   ? times[i] == 1
                  : set == 1 ? times[i] == 2 || times[i] == 3
                             : times[i] <= 1);
        }
        CHECK_INT(300, sum[0]);
        CHECK_INT(200, sum[1]);
        CHECK_INT(25, sum[2]);
    }
    count_rows(again, 480, data, 0);
    for (int64_t i = 0; i < 480; i++)
        different += again[i] != times[i]; /* epoch 2: others are drawn */
    CHECK(different > 20);
    rgm_dataset_release(data);
    CHECK_EVERY_OOM(mixed(&data, pairs), rgm_dataset_release(data));
    rgm_token_pairs_release(pairs);
}

static void check_same_batch(const rgm_element *a, const rgm_element *b)
{
    for (int t = 0; t < 3; t++) {
        rgm_tensor *x = rgm_element_tensor((rgm_element *)a, t),
                   *y = rgm_element_tensor((rgm_element *)b, t);
        CHECK_INT(rgm_tensor_bytes(x), rgm_tensor_bytes(y));
        CHECK(memcmp(rgm_tensor_data(x), rgm_tensor_data(y), rgm_tensor_bytes(x)) == 0);
    }
}

/* From each place saved, the next batch is the one that follows without stopping. */
static void check_every_place(const rgm_dataset *data)
{
    rgm_iterator *whole = run(data, 1), *resumed;
    rgm_element *expected, *got;
    rgm_status status;
    rgm_text place = {0};

    do {
        place.size = 0;
        CHECK_OK(rgm_iterator_save(&place, whole));
        resumed = run(data, 1);
        CHECK_OK(rgm_iterator_restore(resumed, place.data, place.size));
        status = rgm_iterator_next(&expected, whole);
        CHECK_STATUS(status, rgm_iterator_next(&got, resumed));
        if (status == RGM_OK) {
            check_same_batch(expected, got);
            rgm_element_release(expected);
            rgm_element_release(got);
        }
        rgm_iterator_release(resumed);
    } while (status == RGM_OK);
    rgm_text_clear(&place);
    rgm_iterator_release(whole);
}

static void mistakes_in_sets_are_told(void **state)
{
    static const rgm_token_batch_set few[1] = {{5, 1}}, none[1] = {{10, -1}}, zero[1] = {{10, 0}};
    rgm_token_pairs *pairs = make_pairs(10);
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_dataset *data;

    (void)state;
    o.set_count = 1;
    o.sets = few;
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches(&data, pairs, &o));
    CHECK_MESSAGE("sets of 5 pairs, there are 10");
    o.sets = none;
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches(&data, pairs, &o));
    o.sets = zero;
    CHECK_STATUS(RGM_ERR_DATA, rgm_token_batches(&data, pairs, &o));
    o.set_count = 0;
    o.sampling.alpha = 0.1;
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches(&data, pairs, &o));
    CHECK_MESSAGE("sampling needs the corpus of these 10 pairs and its tokenizers");
    rgm_token_pairs_release(pairs);
}

static void one_shape_holds_every_pair_and_says_which_rows_are_none(void **state)
{
    rgm_token_pairs *pairs = make_pairs(50);
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_token_batch_figures figures;
    rgm_iterator *iterator;
    rgm_element *batch;
    rgm_dataset *data;
    int64_t rows = 0, empty = 0, times[50];

    (void)state;
    o.tokens = 130; /* 13 rows of 10 */
    o.max_length = 10;
    o.one_shape = true;
    CHECK_OK(rgm_token_batches(&data, pairs, &o));
    CHECK_OK(rgm_token_batches_figures(&figures, data));
    CHECK_INT(1, figures.shapes);
    CHECK_INT(4, figures.batches);
    CHECK_INT(50, figures.pairs);
    CHECK_INT(4 * 13 * 20, figures.padded_tokens);
    iterator = run(data, 0);
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        const rgm_tensor *source = rgm_element_tensor(batch, 0);
        const rgm_tensor *numbers = rgm_element_tensor(batch, 2);

        CHECK_INT(13, rgm_tensor_dim(source, 0));
        CHECK_INT(10, rgm_tensor_dim(source, 1));
        for (int64_t i = 0; i < 13; i++, rows++)
            if (rgm_tensor_i64(numbers)[i] < 0) {
                empty++;
                CHECK_INT(1, rgm_tensor_i32(source)[i * 10]); /* its end, and nothing else */
                CHECK_INT(0, rgm_tensor_i32(source)[i * 10 + 1]);
                CHECK_INT(0, rgm_tensor_i32(rgm_element_tensor(batch, 1))[i * 10]);
            }
        rgm_element_release(batch);
    }
    CHECK_INT(52, rows);
    CHECK_INT(2, empty);
    count_rows(times, 50, data, 3);
    for (int i = 0; i < 50; i++)
        CHECK_INT(1, times[i]);
    rgm_iterator_release(iterator);
    check_every_place(data);
    rgm_dataset_release(data);
    rgm_token_pairs_release(pairs);
}

/* ---- drawn segmentations ------------------------------------------------------------------- */

static char folder[64];

/* A corpus of the words ab, cd, abcd: BPE learns them as pieces. */
static rgm_corpus *make_corpus(int lines)
{
    char path[128], line[] = "abcd ab cd abcd ab abcd\n";
    rgm_corpus *corpus;
    FILE *file;

    snprintf(folder, sizeof folder, "/tmp/regimen-mixing-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/text", folder);
    file = fopen(path, "wb");
    for (int i = 0; i < lines; i++)
        CHECK(fputs(line + 5 * (i % 2), file) >= 0);
    CHECK(fclose(file) == 0);
    CHECK_OK(rgm_corpus_load(&corpus, path, path, NULL));
    CHECK_OK(rgm_folder_remove(folder));
    return corpus;
}

static rgm_tokenizer *make_tokenizer(const rgm_corpus *corpus, rgm_tokenizer_kind kind)
{
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    rgm_tokenizer *tokenizer;

    options.vocab_size = kind == RGM_TOKENIZER_BPE ? 14 : 12;
    options.type = kind;
    CHECK_OK(rgm_tokenizer_train_corpus(&tokenizer, corpus, &options));
    return tokenizer;
}

static void each_merge_is_left_out_with_its_probability(void **state)
{
    enum { DRAWS = 20000 };
    rgm_corpus *corpus = make_corpus(300);
    rgm_tokenizer *t = make_tokenizer(corpus, RGM_TOKENIZER_BPE);
    rgm_ids usual = {0}, ids = {0}, again = {0};
    int64_t whole = 0, characters;

    (void)state;
    CHECK_OK(rgm_tokenizer_encode(&usual, t, "ab", 2));
    CHECK_OK(rgm_tokenizer_sample(&ids, t, "ab", 2, 1, 5));
    characters = ids.count; /* the space before it, a, b */
    CHECK_INT(3, characters);
    CHECK_INT(1, usual.count);
    for (uint64_t key = 0; key < DRAWS; key++) {
        ids.count = again.count = 0;
        CHECK_OK(rgm_tokenizer_sample(&ids, t, "ab", 2, 0.1, key));
        CHECK_OK(rgm_tokenizer_sample(&again, t, "ab", 2, 0.1, key));
        CHECK(ids.count == again.count &&
              memcmp(ids.items, again.items, (size_t)ids.count * sizeof *ids.items) == 0);
        whole += ids.count == 1;
    }
    /* Two merges make one piece of it, and neither may be left out: 0.9 * 0.9. */
    CHECK_CLOSE((double)whole / DRAWS, 0.81, 0, 0.012);
    ids.count = 0;
    CHECK_OK(rgm_tokenizer_sample(&ids, t, "ab", 2, 0, 1));
    CHECK_INT(1, ids.count);
    CHECK_STATUS(RGM_ERR_ARG, rgm_tokenizer_sample(&ids, t, "ab", 2, 1.5, 1));
    rgm_ids_clear(&usual);
    rgm_ids_clear(&ids);
    rgm_ids_clear(&again);
    rgm_tokenizer_release(t);
    rgm_corpus_release(corpus);
}

static rgm_status drawn(rgm_dataset **out, const rgm_corpus *corpus, const rgm_tokenizer *t,
                        double alpha)
{
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_token_pairs *pairs;
    rgm_status status;

    RGM_TRY(rgm_token_pairs_encode(&pairs, corpus, t, t, 1));
    o.tokens = 256;
    o.max_length = 16;
    o.sampling = (rgm_subword_sampling){alpha, corpus, t, t};
    status = rgm_token_batches(out, pairs, &o);
    rgm_token_pairs_release(pairs);
    return status;
}

/* Rows of an epoch that are not the usual segmentation; all mean the same text and fit. */
static int64_t count_drawn(const rgm_dataset *data, const rgm_corpus *corpus,
                           const rgm_tokenizer *t, uint64_t epoch)
{
    rgm_iterator *iterator = run(data, epoch);
    rgm_element *batch;
    rgm_ids usual = {0};
    rgm_text text = {0};
    int64_t other = 0;

    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        const rgm_tensor *source = rgm_element_tensor(batch, 0);
        int64_t width = rgm_tensor_dim(source, 1);

        CHECK(rgm_tensor_dim(source, 0) * width <= 256);
        for (int64_t r = 0; r < rgm_tensor_dim(source, 0); r++) {
            rgm_str line =
                rgm_corpus_source(corpus, rgm_tensor_i64(rgm_element_tensor(batch, 2))[r]);
            const int32_t *row = rgm_tensor_i32(source) + r * width;
            int64_t count = 0;

            while (count < width && row[count] != 1)
                count++;
            CHECK(count < width); /* its end is there */
            text.size = usual.count = 0;
            CHECK_OK(rgm_tokenizer_decode(&text, t, row, count));
            CHECK(text.size == line.size && memcmp(text.data, line.data, (size_t)text.size) == 0);
            CHECK_OK(rgm_tokenizer_encode(&usual, t, line.data, line.size));
            other +=
                usual.count != count || memcmp(usual.items, row, (size_t)count * sizeof *row) != 0;
        }
        rgm_element_release(batch);
    }
    rgm_ids_clear(&usual);
    rgm_text_clear(&text);
    rgm_iterator_release(iterator);
    return other;
}

static void training_draws_anew_in_shapes_that_stay(void **state)
{
    rgm_corpus *corpus = make_corpus(300);
    rgm_token_batch_figures figures[2];
    rgm_dataset *data;

    (void)state;
    for (int kind = RGM_TOKENIZER_UNIGRAM; kind <= RGM_TOKENIZER_BPE; kind++) {
        rgm_tokenizer *t = make_tokenizer(corpus, (rgm_tokenizer_kind)kind);

        CHECK_OK(drawn(&data, corpus, t, 0));
        CHECK_INT(0, count_drawn(data, corpus, t, 0));
        CHECK_OK(rgm_token_batches_figures(&figures[0], data));
        rgm_dataset_release(data);
        CHECK_OK(drawn(&data, corpus, t, 0.3));
        CHECK_OK(rgm_token_batches_figures(&figures[1], data));
        CHECK_INT(figures[0].pairs, figures[1].pairs);
        CHECK(figures[1].real_tokens >= figures[0].real_tokens);
        CHECK(count_drawn(data, corpus, t, 0) > 100);
        check_every_place(data);
        rgm_dataset_release(data);
        rgm_tokenizer_release(t);
    }
    rgm_corpus_release(corpus);
}

static void mixed_places_are_restored(void **state)
{
    rgm_token_pairs *pairs = make_pairs(480);
    rgm_dataset *data;

    (void)state;
    CHECK_OK(mixed(&data, pairs));
    check_every_place(data);
    rgm_dataset_release(data);
    rgm_token_pairs_release(pairs);
}

TESTS(cmocka_unit_test(sets_stand_as_often_as_they_say),
      cmocka_unit_test(mixed_places_are_restored), cmocka_unit_test(mistakes_in_sets_are_told),
      cmocka_unit_test(one_shape_holds_every_pair_and_says_which_rows_are_none),
      cmocka_unit_test(each_merge_is_left_out_with_its_probability),
      cmocka_unit_test(training_draws_anew_in_shapes_that_stay))

/*
 * Batches of token sequences: every pair once, within the budget, in few shapes that stay the same,
 * in an order by seed and epoch, from any saved position; and what padding costs.
 */
#include <check.h>

#include <regimen/text.h>

enum { PAIRS = 3000 };

/** A length as sentences have them: about 15, seldom 2 or 70. */
static int64_t some_length(const rgm_rng *rng, uint64_t i, double mean)
{
    double x = mean * exp(0.35 * rgm_rng_normal(rng, i));
    return x < 1 ? 1 : x > 90 ? 90 : (int64_t)x;
}

/** Pair i: ids 1000 + i of the source, 5000 + i of the target, each ended by 1. */
static rgm_token_pairs *make_pairs(int64_t count, bool targets)
{
    rgm_token_pairs *pairs;
    int32_t source[100], target[100];

    CHECK_OK(rgm_token_pairs_create(&pairs));
    for (int64_t i = 0; i < count; i++) {
        rgm_rng rng = rgm_rng_stream(11, "lengths", (uint64_t)i);
        int64_t s = some_length(&rng, 0, 14), t = some_length(&rng, 1, (double)s);

        for (int64_t k = 0; k < 100; k++) {
            source[k] = (int32_t)(k == s - 1 ? 1 : 1000 + i);
            target[k] = (int32_t)(k == t - 1 ? 1 : 5000 + i);
        }
        CHECK_OK(rgm_token_pairs_add(pairs, source, s, target, targets ? t : 0));
    }
    CHECK_INT(count, rgm_token_pairs_count(pairs));
    return pairs;
}

static rgm_dataset *make_batches(int64_t count, bool targets, const rgm_token_batch_options *o)
{
    rgm_token_pairs *pairs = make_pairs(count, targets);
    rgm_dataset *batches;

    CHECK_OK(rgm_token_batches(&batches, pairs, o));
    rgm_token_pairs_release(pairs);
    return batches;
}

static rgm_iterator *run(const rgm_dataset *dataset, uint64_t seed, uint64_t epoch)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator;

    options.seed = seed;
    options.epoch = epoch;
    CHECK_OK(rgm_iterator_create(&iterator, dataset, &options));
    return iterator;
}

/** Is row `row` of a batch this sequence, cut to `most` with its end kept, and padded with 0? */
static void check_row(const rgm_tensor *tensor, int64_t row, const int32_t *ids, int64_t count,
                      int64_t most)
{
    int64_t width = rgm_tensor_dim(tensor, 1), kept = count < most ? count : most;

    CHECK(kept <= width);
    for (int64_t k = 0; k < width; k++) {
        int64_t want = k >= kept ? 0 : k == kept - 1 ? 1 : ids[0];
        CHECK_INT(want, rgm_tensor_at_int(tensor, row * width + k));
    }
}

typedef struct seen {
    int64_t batches, rows, ids, elements, shapes;
    int64_t shape[64][3];
    uint64_t hash; /* of the pairs in order */
    int8_t pair[PAIRS];
} seen;

static void note_shape(seen *s, int64_t rows, int64_t source, int64_t target)
{
    for (int64_t i = 0; i < s->shapes; i++)
        if (s->shape[i][0] == rows && s->shape[i][1] == source && s->shape[i][2] == target)
            return;
    CHECK(s->shapes < 64);
    memcpy(s->shape[s->shapes++], (int64_t[]){rows, source, target}, 3 * sizeof(int64_t));
}

/** Read an epoch and check every batch of it against the pairs. */
static seen read_epoch(const rgm_dataset *batches, const rgm_token_pairs *pairs,
                       const rgm_token_batch_options *o, uint64_t seed, uint64_t epoch)
{
    rgm_iterator *iterator = run(batches, seed, epoch);
    rgm_element *e;
    seen s = {0};

    while (rgm_iterator_next(&e, iterator) == RGM_OK) {
        rgm_tensor *source = rgm_element_tensor(e, 0), *target = rgm_element_tensor(e, 1);
        const int64_t *number = rgm_tensor_i64(rgm_element_tensor(e, 2));
        int64_t rows = rgm_tensor_dim(source, 0), wide = rgm_tensor_dim(source, 1);

        CHECK_INT(rows, rgm_tensor_dim(target, 0));
        wide = wide > rgm_tensor_dim(target, 1) ? wide : rgm_tensor_dim(target, 1);
        CHECK(rows > 0 && rows * wide <= o->tokens && (o->max_rows == 0 || rows <= o->max_rows));
        CHECK(rgm_tensor_dtype(source) == o->dtype && rgm_tensor_dtype(target) == o->dtype);
        note_shape(&s, rows, rgm_tensor_dim(source, 1), rgm_tensor_dim(target, 1));
        for (int64_t r = 0; r < rows; r++) {
            int64_t count;
            const int32_t *ids = rgm_token_pairs_source(pairs, number[r], &count);

            check_row(source, r, ids, count, o->max_length);
            s.ids += count < o->max_length ? count : o->max_length;
            ids = rgm_token_pairs_target(pairs, number[r], &count);
            check_row(target, r, ids, count, o->max_length);
            s.ids += count < o->max_length ? count : o->max_length;
            CHECK_INT(0, s.pair[number[r]]++);
        }
        s.hash = s.hash * 31 + rgm_hash64(number, (size_t)rows * sizeof *number);
        s.elements += rgm_tensor_count(source) + rgm_tensor_count(target);
        s.rows += rows;
        s.batches++;
        rgm_element_release(e);
    }
    rgm_iterator_release(iterator);
    return s;
}

static void check_figures(const seen *s, const rgm_dataset *batches)
{
    rgm_token_batch_figures f;

    CHECK_OK(rgm_token_batches_figures(&f, batches));
    CHECK_INT(s->rows, f.pairs);
    CHECK_INT(s->batches, f.batches);
    CHECK_INT(s->shapes, f.shapes);
    CHECK_INT(s->ids, f.real_tokens);
    CHECK_INT(s->elements, f.padded_tokens);
    CHECK_INT(PAIRS, f.pairs + f.dropped);
}

static void an_epoch_of_training_has_every_short_pair_once(void **state)
{
    (void)state;
    static const int64_t budgets[] = {64, 200, 4096, 1000000}, shapes[] = {2, 7, 32};
    rgm_token_pairs *pairs = make_pairs(PAIRS, true);

    for (size_t b = 0; b < 4; b++) {
        for (size_t k = 0; k < 3; k++) {
            rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
            rgm_dataset *batches;
            seen s, again;

            o.tokens = budgets[b];
            o.max_length = b == 0 ? 64 : 40;
            o.max_shapes = shapes[k];
            o.max_rows = b == 3 ? 77 : 0;
            o.dtype = k == 1 ? RGM_I64 : RGM_I32;
            CHECK_OK(rgm_token_batches(&batches, pairs, &o));
            s = read_epoch(batches, pairs, &o, 1, 0);
            check_figures(&s, batches);
            CHECK(s.shapes <= o.max_shapes);
            for (int64_t i = 0; i < PAIRS; i++) {
                int64_t source, target;
                rgm_token_pairs_source(pairs, i, &source);
                rgm_token_pairs_target(pairs, i, &target);
                CHECK_INT(source <= o.max_length && target <= o.max_length, s.pair[i]);
            }
            again = read_epoch(batches, pairs, &o, 1, 1); /* other batches, no other shape */
            CHECK(again.hash != s.hash && again.batches == s.batches);
            for (int64_t i = 0; i < again.shapes; i++)
                note_shape(&s, again.shape[i][0], again.shape[i][1], again.shape[i][2]);
            CHECK_INT(again.shapes, s.shapes);
            again = read_epoch(batches, pairs, &o, 2, 0);
            CHECK(again.hash != s.hash);
            again = read_epoch(batches, pairs, &o, 1, 0);
            CHECK(again.hash == s.hash);
            rgm_dataset_release(batches);
        }
    }
    rgm_token_pairs_release(pairs);
}

static void evaluation_cuts_keeps_the_end_and_goes_by_length(void **state)
{
    (void)state;
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_token_batch_figures f;
    rgm_dataset *batches;
    rgm_token_pairs *pairs = make_pairs(PAIRS, true), *sources = make_pairs(PAIRS, false);
    rgm_iterator *iterator;
    rgm_element *e;
    int64_t longest = 0;
    seen s, other;

    o.training = false;
    o.max_length = 30;
    CHECK_OK(rgm_token_batches(&batches, pairs, &o));
    s = read_epoch(batches, pairs, &o, 1, 0);
    other = read_epoch(batches, pairs, &o, 2, 3);
    CHECK(s.hash == other.hash);
    CHECK_INT(PAIRS, s.rows);
    check_figures(&s, batches);
    CHECK_OK(rgm_token_batches_figures(&f, batches));
    CHECK(f.cut > 100 && f.dropped == 0);
    iterator = run(batches, 0, 0);
    while (rgm_iterator_next(&e, iterator) == RGM_OK) {
        int64_t a = rgm_tensor_dim(rgm_element_tensor(e, 0), 1);
        int64_t b = rgm_tensor_dim(rgm_element_tensor(e, 1), 1);

        CHECK((a > b ? a : b) >= longest);
        longest = a > b ? a : b;
        rgm_element_release(e);
    }
    CHECK_INT(30, longest);
    rgm_iterator_release(iterator);
    rgm_dataset_release(batches);
    /* Without targets: [b, 0]. */
    CHECK_OK(rgm_token_batches(&batches, sources, &o));
    s = read_epoch(batches, sources, &o, 1, 0);
    CHECK_INT(PAIRS, s.rows);
    CHECK_INT(0, s.shape[0][2]);
    check_figures(&s, batches);
    rgm_dataset_release(batches);
    rgm_token_pairs_release(pairs);
    rgm_token_pairs_release(sources);
}

static void little_is_padded(void **state)
{
    (void)state;
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_token_batch_figures f;
    double last = 0;

    for (int64_t shapes = 2; shapes <= 128; shapes *= 4) {
        rgm_dataset *batches;
        double share;

        o.tokens = 1024;
        o.max_shapes = shapes;
        batches = make_batches(PAIRS, true, &o);
        CHECK_OK(rgm_token_batches_figures(&f, batches));
        share = (double)f.real_tokens / (double)f.padded_tokens;
        CHECK(share > last); /* more shapes, less padding */
        CHECK(shapes != 32 || share > 0.8);
        last = share;
        rgm_dataset_release(batches);
    }
    CHECK(last > 0.9);
}

/** The numbers of the pairs in what is left, hashed; *batches of them. */
static uint64_t rest_of(rgm_iterator *iterator, int64_t *batches)
{
    rgm_element *e;
    uint64_t hash = 0;

    for (*batches = 0; rgm_iterator_next(&e, iterator) == RGM_OK; ++*batches) {
        rgm_tensor *numbers = rgm_element_tensor(e, 2);
        hash = hash * 31 + rgm_hash64(rgm_tensor_data(numbers), rgm_tensor_bytes(numbers));
        rgm_element_release(e);
    }
    return hash;
}

static void every_position_is_restored_by_a_small_state(void **state)
{
    (void)state;
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_dataset *batches;
    rgm_iterator *iterator, *other;
    rgm_element *e;
    rgm_text saved = {0};
    int64_t left, want, size = 0;

    o.tokens = 600;
    batches = make_batches(400, true, &o);
    CHECK_OK(rgm_dataset_repeat(&batches, 2));
    CHECK_OK(rgm_dataset_prefetch(&batches, 3));
    iterator = run(batches, 5, 0);
    do {
        rgm_iterator *twin = run(batches, 5, 0);

        for (int64_t i = 0; i < rgm_iterator_position(iterator); i++) {
            CHECK_OK(rgm_iterator_next(&e, twin));
            rgm_element_release(e);
        }
        saved.size = 0;
        CHECK_OK(rgm_iterator_save(&saved, iterator));
        size = saved.size > size ? saved.size : size;
        other = run(batches, 99, 7);
        CHECK_OK(rgm_iterator_restore(other, saved.data, saved.size));
        CHECK(rest_of(twin, &want) == rest_of(other, &left));
        CHECK_INT(want, left);
        rgm_iterator_release(twin);
        rgm_iterator_release(other);
        if (rgm_iterator_next(&e, iterator) == RGM_OK)
            rgm_element_release(e);
    } while (left > 0);
    CHECK(size < 300); /* the recipe as text, and a few numbers */
    rgm_iterator_release(iterator);
    rgm_dataset_release(batches);
    /* A position in other data is refused. */
    batches = make_batches(401, true, &o);
    CHECK_OK(rgm_dataset_repeat(&batches, 2));
    CHECK_OK(rgm_dataset_prefetch(&batches, 3));
    iterator = run(batches, 5, 0);
    CHECK_STATUS(RGM_ERR_DATA, rgm_iterator_restore(iterator, saved.data, saved.size));
    rgm_iterator_release(iterator);
    rgm_dataset_release(batches);
    rgm_text_clear(&saved);
}

static void shards_of_the_batches_share_them_out(void **state)
{
    (void)state;
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_dataset *whole = make_batches(PAIRS, true, &o);
    int64_t sum = 0, all;

    for (int64_t rank = 0; rank < 3; rank++) {
        rgm_dataset *part = rgm_dataset_retain(whole);
        rgm_iterator *iterator;
        int64_t n;

        CHECK_OK(rgm_dataset_shard(&part, 3, rank));
        iterator = run(part, 1, 0);
        (void)rest_of(iterator, &n);
        CHECK_INT(rgm_dataset_count(part), n);
        sum += n;
        rgm_iterator_release(iterator);
        rgm_dataset_release(part);
    }
    all = rgm_dataset_count(whole);
    CHECK_INT(all, sum);
    rgm_dataset_release(whole);
}

static rgm_status first_batch(const rgm_token_pairs *pairs)
{
    rgm_status status = RGM_OK;
    rgm_dataset *batches = NULL;
    rgm_iterator *iterator = NULL;
    rgm_element *e = NULL;

    RGM_GO(rgm_token_batches(&batches, pairs, NULL));
    RGM_GO(rgm_iterator_create(&iterator, batches, NULL));
    RGM_GO(rgm_iterator_next(&e, iterator));
done:
    rgm_element_release(e);
    rgm_iterator_release(iterator);
    rgm_dataset_release(batches);
    return status;
}

static rgm_status add_one(void)
{
    rgm_status status = RGM_OK;
    rgm_token_pairs *pairs;

    RGM_GO(rgm_token_pairs_create(&pairs));
    RGM_GO(rgm_token_pairs_add(pairs, (int32_t[]){3, 1}, 2, (int32_t[]){4, 1}, 2));
done:
    rgm_token_pairs_release(pairs);
    return status;
}

static void mistakes_are_told_and_failing_allocations_leak_nothing(void **state)
{
    (void)state;
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_token_pairs *pairs = make_pairs(50, true);
    rgm_token_batch_figures f;
    rgm_dataset *ds;

    o.tokens = 63;
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches(&ds, pairs, &o));
    CHECK_MESSAGE("a budget of 63 tokens cannot hold one pair of 64");
    o.tokens = 64;
    o.max_length = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches(&ds, pairs, &o));
    o.max_length = 1;
    CHECK_STATUS(RGM_ERR_DATA, rgm_token_batches(&ds, pairs, &o));
    CHECK_MESSAGE("of 50 pairs none has at most 1 ids a side");
    o.max_shapes = 1;
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches(&ds, pairs, &o));
    o.max_shapes = 2;
    o.dtype = RGM_F32;
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches(&ds, pairs, &o));
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_pairs_add(pairs, NULL, 0, NULL, 0));
    CHECK_OK(rgm_dataset_range(&ds, 0, 3));
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_batches_figures(&f, ds));
    rgm_dataset_release(ds);
    CHECK_EVERY_OOM(first_batch(pairs), (void)0);
    CHECK_EVERY_OOM(add_one(), (void)0);
    rgm_token_pairs_release(pairs);
}

/* ---- from text ------------------------------------------------------------------------------- */

static void a_corpus_becomes_the_same_ids_on_any_number_of_threads(void **state)
{
    (void)state;
    const char *root = check_data("multi30k-de-en");
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    rgm_tokenizer *tokenizer;
    rgm_corpus *corpus;
    rgm_token_pairs *one, *four;
    rgm_ids ids = {0};
    char de[600], en[600];
    const char *const paths[] = {de, en};

    if (root == NULL)
        SKIP("REGIMEN_DATA has no multi30k-de-en");
    snprintf(de, sizeof de, "%s/val.de.gz", root);
    snprintf(en, sizeof en, "%s/val.en.gz", root);
    options.vocab_size = 2000;
    CHECK_OK(rgm_tokenizer_train(&tokenizer, paths, 2, &options));
    CHECK_OK(rgm_corpus_load(&corpus, de, en, NULL));
    CHECK_INT(1014, rgm_corpus_count(corpus));
    CHECK_OK(rgm_token_pairs_encode(&one, corpus, tokenizer, tokenizer, 1));
    CHECK_OK(rgm_token_pairs_encode(&four, corpus, tokenizer, tokenizer, 4));
    CHECK_INT(1014, rgm_token_pairs_count(one));
    CHECK_INT(1014, rgm_token_pairs_count(four));
    for (int64_t i = 0; i < 1014; i++) {
        rgm_str text = rgm_corpus_target(corpus, i);
        int64_t a, b;
        const int32_t *x = rgm_token_pairs_target(one, i, &a);
        const int32_t *y = rgm_token_pairs_target(four, i, &b);

        ids.count = 0;
        CHECK_OK(rgm_tokenizer_encode(&ids, tokenizer, text.data, text.size));
        CHECK(a == b && a == ids.count + 1 && x[a - 1] == 1);
        CHECK(memcmp(x, y, (size_t)a * sizeof *x) == 0);
        CHECK(memcmp(x, ids.items, (size_t)ids.count * sizeof *x) == 0);
        x = rgm_token_pairs_source(one, i, &a);
        y = rgm_token_pairs_source(four, i, &b);
        CHECK(a == b && memcmp(x, y, (size_t)a * sizeof *x) == 0);
    }
    rgm_ids_clear(&ids);
    rgm_token_pairs_release(one);
    rgm_token_pairs_release(four);
    rgm_corpus_release(corpus);
    rgm_tokenizer_release(tokenizer);
}

TESTS(cmocka_unit_test(an_epoch_of_training_has_every_short_pair_once),
      cmocka_unit_test(evaluation_cuts_keeps_the_end_and_goes_by_length),
      cmocka_unit_test(little_is_padded),
      cmocka_unit_test(every_position_is_restored_by_a_small_state),
      cmocka_unit_test(shards_of_the_batches_share_them_out),
      cmocka_unit_test(mistakes_are_told_and_failing_allocations_leak_nothing),
      cmocka_unit_test(a_corpus_becomes_the_same_ids_on_any_number_of_threads))

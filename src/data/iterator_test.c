/*
 * Saving and restoring: for a table of recipes and for some hundred random ones, at every position,
 * the restored iterator gives the rest of the sequence and saves the same bytes, on any number of
 * threads. And: releasing with full queues ends, damaged states are refused, a restore is a seek.
 */
#include "dataset_check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST = 400 };

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

/** Three files of 5, 0 and 9 records, or two if `count` says so. */
static const char *record_files(void)
{
    static char pattern[128];

    if (folder != NULL)
        return pattern;
    folder = check_folder();
    atexit(remove_folder);
    for (int f = 0; f < 3; f++) {
        rgm_tfrecord_writer *writer;
        char path[128];
        snprintf(path, sizeof path, "%s/part-%d", folder, f);
        CHECK_OK(rgm_tfrecord_writer_open(&writer, path, &(rgm_tfrecord_writer_options){f == 2}));
        for (int i = 0; i < (f == 0 ? 5 : f == 1 ? 0 : 9); i++) {
            char text[16];
            snprintf(text, sizeof text, "%c%d", 'A' + f, i);
            CHECK_OK(rgm_tfrecord_writer_add(writer, text, (int64_t)strlen(text)));
        }
        CHECK_OK(rgm_tfrecord_writer_finish(writer));
        rgm_tfrecord_writer_close(writer);
    }
    snprintf(pattern, sizeof pattern, "%s/part-*", folder);
    return pattern;
}

/* ---- random recipes -------------------------------------------------------------------------- */

static int64_t below(const rgm_rng *rng, uint64_t *draw, uint64_t n)
{
    return (int64_t)rgm_rng_below(rng, (*draw)++, n);
}

static rgm_status letter(rgm_element **out, int64_t i, void *payload)
{
    char c = (char)('a' + i);

    (void)payload;
    if (i == 20)
        return RGM_END;
    return i == 5 ? RGM_FAIL(RGM_ERR_DATA, "no f") : rgm_element_create_bytes(out, &c, 1);
}

static const double rising[35] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 0, 1, 20};

static rgm_dataset *random_source(const rgm_rng *rng, uint64_t *draw, int depth)
{
    rgm_dataset *ds = NULL, *other;
    rgm_read_tfrecords_options options = RGM_READ_TFRECORDS_OPTIONS_INIT;

    switch (below(rng, draw, depth > 0 ? 3 : 5)) {
    case 0:
        CHECK_OK(rgm_dataset_range(&ds, 0, 5 + below(rng, draw, 30)));
        if (below(rng, draw, 3) == 0)
            CHECK_OK(rgm_dataset_poisson(&ds, 0.06));
        else if (below(rng, draw, 3) == 0)
            CHECK_OK(rgm_dataset_draw(&ds, rising, rgm_dataset_count(ds)));
        break;
    case 1:
        CHECK_OK(rgm_dataset_from_function(&ds, -1, letter, NULL, NULL));
        break;
    case 2:
        CHECK_OK(rgm_dataset_list_files(&ds, record_files()));
        if (below(rng, draw, 2) == 0)
            CHECK_OK(rgm_dataset_shuffle_all(&ds));
        options.cycle_length = 1 + below(rng, draw, 3);
        options.block_length = 1 + below(rng, draw, 2);
        CHECK_OK(rgm_dataset_read_tfrecords(&ds, &options));
        break;
    default:
        ds = random_source(rng, draw, depth + 1);
        other = random_source(rng, draw, depth + 1);
        CHECK_OK(rgm_dataset_shuffle(&other, 4));
        {
            rgm_dataset *both[2] = {ds, other};
            if (below(rng, draw, 3) == 0)
                CHECK_OK(rgm_dataset_zip(&ds, both, 2));
            else
                CHECK_OK(rgm_dataset_mix(&ds, both, NULL, 2, (rgm_mix_end)below(rng, draw, 2)));
            rgm_dataset_release(both[0]);
            rgm_dataset_release(both[1]);
        }
    }
    return ds;
}

static rgm_status pair_of(rgm_dataset **out, const rgm_element *element, void *payload)
{
    (void)payload;
    return rgm_dataset_from_elements(
        out, (rgm_element *[]){(rgm_element *)element, (rgm_element *)element}, 2);
}

/* 0 to 5, by what the element is made of, so that some lists are of one element, some of many. */
static rgm_status weigh(int64_t *weights, const rgm_element *element, void *payload)
{
    rgm_text text = {0};

    (void)payload;
    describe(&text, element);
    weights[0] = (int64_t)(rgm_hash64(text.data, (size_t)text.size) % 6);
    weights[1] = 1;
    rgm_text_clear(&text);
    return RGM_OK;
}

static rgm_budgets budgets(int64_t limit, int64_t elements)
{
    return (rgm_budgets){.elements = elements,
                         .count = 2,
                         .limits = {limit, 7},
                         .names = {"grams", "pieces"},
                         .weigh = weigh};
}

static void extend_at_random(rgm_dataset **ds, const rgm_rng *rng, uint64_t *draw)
{
    switch (below(rng, draw, 16)) {
    case 14:
        CHECK_OK(rgm_dataset_map_each(ds, stamp, NULL, NULL, 0));
        break;
    case 15:
        CHECK_OK(rgm_dataset_map_each(ds, stamp, NULL, NULL, 3));
        break;
    case 0:
        CHECK_OK(rgm_dataset_map(ds, stamp, NULL, NULL, 0));
        break;
    case 1:
        CHECK_OK(rgm_dataset_map(ds, stamp, NULL, NULL, 3));
        break;
    case 2:
        CHECK_OK(rgm_dataset_map(ds, trouble, NULL, NULL, (int)below(rng, draw, 2) * 4));
        break;
    case 3:
        CHECK_OK(rgm_dataset_filter(ds, two_of_three, NULL, NULL));
        break;
    case 4:
    case 5:
        CHECK_OK(rgm_dataset_shuffle(ds, 1 + below(rng, draw, 200)));
        break;
    case 6:
        CHECK_OK(rgm_dataset_batch(ds, 1 + below(rng, draw, 4), below(rng, draw, 2) == 0));
        break;
    case 7:
        CHECK_OK(rgm_dataset_repeat(ds, 1 + below(rng, draw, 3)));
        break;
    case 8:
        CHECK_OK(rgm_dataset_skip(ds, below(rng, draw, 4)));
        break;
    case 9:
        CHECK_OK(rgm_dataset_shard(ds, 2, below(rng, draw, 2)));
        break;
    case 10:
        CHECK_OK(rgm_dataset_cache(ds));
        break;
    case 12: {
        rgm_budgets b = budgets(4 + below(rng, draw, 10), below(rng, draw, 3));
        CHECK_OK(rgm_dataset_batch_within(ds, &b));
        break;
    }
    case 11:
        CHECK_OK(rgm_dataset_interleave(ds, pair_of, NULL, NULL, 1 + below(rng, draw, 3), 1));
        break;
    default:
        CHECK_OK(rgm_dataset_prefetch(ds, 1 + below(rng, draw, 5)));
    }
}

static rgm_dataset *random_recipe(uint64_t number)
{
    rgm_rng rng = rgm_rng_stream(number, "recipe", 0);
    uint64_t draw = 0;
    rgm_dataset *ds = random_source(&rng, &draw, 0);
    int64_t ops = 1 + below(&rng, &draw, 6);

    for (int64_t i = 0; i < ops; i++)
        extend_at_random(&ds, &rng, &draw);
    CHECK_OK(rgm_dataset_take(&ds, 60));
    return ds;
}

/* ---- the property ---------------------------------------------------------------------------- */

typedef struct run {
    char *texts[MOST];
    rgm_text states[MOST + 1]; /* before element i; the last one after the end was seen */
    int count;
} run;

static rgm_iterator *iterate(const rgm_dataset *ds, int threads)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator;

    options.seed = 11;
    options.threads = threads;
    CHECK_OK(rgm_iterator_create(&iterator, ds, &options));
    return iterator;
}

static void record(run *r, const rgm_dataset *ds, int threads)
{
    rgm_iterator *iterator = iterate(ds, threads);

    memset(r, 0, sizeof *r);
    for (;;) {
        CHECK_OK(rgm_iterator_save(&r->states[r->count], iterator));
        r->texts[r->count] = next_text(iterator);
        if (r->texts[r->count] == NULL)
            break;
        CHECK_INT(++r->count, rgm_iterator_position(iterator));
        CHECK(r->count < MOST - 1);
    }
    CHECK_OK(rgm_iterator_save(&r->states[r->count + 1], iterator));
    rgm_iterator_release(iterator);
}

static void forget(run *r)
{
    for (int i = 0; i <= r->count + 1; i++) {
        if (i < r->count)
            rgm_free(r->texts[i]);
        rgm_text_clear(&r->states[i]);
    }
}

static void check_state(const run *r, int position, const rgm_iterator *iterator)
{
    rgm_text state = {0};

    CHECK_OK(rgm_iterator_save(&state, iterator));
    CHECK_INT(r->states[position].size, state.size);
    CHECK(memcmp(r->states[position].data, state.data, (size_t)state.size) == 0);
    rgm_text_clear(&state);
}

/** From position `from` on, `iterator` gives and saves what the run did. */
static void check_rest(const run *r, int from, rgm_iterator *iterator)
{
    for (int i = from; i <= r->count; i++) {
        char *text;
        check_state(r, i, iterator);
        text = next_text(iterator);
        if (i == r->count)
            CHECK(text == NULL);
        else
            CHECK_TEXT(r->texts[i], text);
        rgm_free(text);
    }
    check_state(r, r->count + 1, iterator);
}

static void check_every_position(const rgm_dataset *ds)
{
    run r;
    rgm_iterator *reused = iterate(ds, 2), *iterator;

    record(&r, ds, 0);
    for (int threads = 1; threads <= 4; threads += 3) {
        iterator = iterate(ds, threads);
        check_rest(&r, 0, iterator);
        rgm_iterator_release(iterator);
    }
    for (int i = 0; i <= r.count + 1; i++) {
        iterator = iterate(ds, i % 4);
        CHECK_OK(rgm_iterator_restore(iterator, r.states[i].data, r.states[i].size));
        CHECK_INT(i < r.count ? i : r.count, rgm_iterator_position(iterator));
        if (i <= r.count)
            check_rest(&r, i, iterator);
        else
            CHECK(next_text(iterator) == NULL);
        rgm_iterator_release(iterator);
        /* Also into an iterator that is busy elsewhere. */
        CHECK_OK(rgm_iterator_restore(reused, r.states[i].data, r.states[i].size));
        if (i < r.count) {
            char *text = next_text(reused);
            CHECK_TEXT(r.texts[i], text);
            rgm_free(text);
        }
    }
    rgm_iterator_release(reused);
    forget(&r);
}

/* ---- passing over, and elements made elsewhere ----------------------------------------------- */

static rgm_iterator *iterate_in_step(const rgm_dataset *ds)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator;

    options.seed = 11;
    options.in_step = true;
    CHECK_OK(rgm_iterator_create(&iterator, ds, &options));
    return iterator;
}

/** Whichever elements are passed over, the others and all positions are those of the run. */
static void check_skipping(const rgm_dataset *ds, uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "skip", 0);
    uint64_t draw = 0;
    run r;

    record(&r, ds, 0);
    for (int way = 0; way < 4; way++) {
        rgm_iterator *iterator = way == 0 ? iterate(ds, 3) : iterate_in_step(ds);

        for (int i = 0; i < r.count; i++) {
            check_state(&r, i, iterator);
            if (way == 3 || below(&rng, &draw, 3) < way) {
                CHECK(rgm_iterator_skip(iterator) <= 0);
            } else {
                char *text = next_text(iterator);
                CHECK_TEXT(r.texts[i], text);
                rgm_free(text);
            }
            CHECK_INT(i + 1, rgm_iterator_position(iterator));
        }
        CHECK_STATUS(RGM_END, rgm_iterator_skip(iterator));
        check_state(&r, r.count + 1, iterator);
        rgm_iterator_release(iterator);
    }
    forget(&r);
}

/** A maker that has up to WINDOW numbers ready, and gives them in a drawn order. */
enum { WINDOW = 5 };
typedef struct fake_maker {
    rgm_dataset *dataset;
    rgm_text position;
    int64_t first, end;
    bool given[MOST];
    bool in_order;
    rgm_rng rng;
    uint64_t draw;
} fake_maker;

static rgm_status fake_begin(void *state, const rgm_dataset *dataset, const rgm_text *position,
                             int64_t first, const int64_t *given, int64_t count)
{
    fake_maker *f = state;

    f->dataset = rgm_dataset_retain(dataset);
    CHECK_OK(rgm_text_add(&f->position, position->data, position->size));
    f->first = first;
    f->end = MOST;
    memset(f->given, 0, sizeof f->given);
    for (int64_t i = 0; i < first; i++)
        f->given[i] = true;
    for (int64_t i = 0; i < count; i++)
        f->given[given[i]] = true;
    return RGM_OK;
}

static void fake_end(void *state)
{
    fake_maker *f = state;

    rgm_dataset_release(f->dataset);
    rgm_text_clear(&f->position);
}

/** Element `number`, as a process that knows the position alone makes it. */
static rgm_status make_elsewhere(rgm_made *out, const fake_maker *f, int64_t number)
{
    rgm_iterator *iterator = iterate_in_step(f->dataset);
    rgm_status status;

    CHECK_OK(rgm_iterator_restore(iterator, f->position.data, f->position.size));
    for (int64_t i = f->first; i < number; i++)
        if (rgm_iterator_skip(iterator) == RGM_END) {
            rgm_iterator_release(iterator);
            return RGM_END;
        }
    status = rgm_iterator_next(&out->element, iterator);
    out->number = number;
    out->status = status;
    if (status <= 0)
        CHECK_OK(rgm_iterator_save(&out->after, iterator));
    rgm_iterator_release(iterator);
    return status == RGM_END ? RGM_END : RGM_OK;
}

static rgm_status fake_next(rgm_made *out, void *state)
{
    fake_maker *f = state;

    for (;;) {
        int64_t numbers[WINDOW], count = 0;

        for (int64_t n = 0; n < f->end && count < WINDOW; n++)
            if (!f->given[n])
                numbers[count++] = n;
        if (count == 0)
            return RGM_END;
        numbers[0] = numbers[f->in_order ? 0 : below(&f->rng, &f->draw, (uint64_t)count)];
        if (make_elsewhere(out, f, numbers[0]) == RGM_OK) {
            f->given[numbers[0]] = true;
            return RGM_OK;
        }
        f->end = numbers[0];
    }
}

static rgm_iterator *iterate_elsewhere(const rgm_dataset *ds, const rgm_maker *maker)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator;

    options.seed = 11;
    options.maker = maker;
    CHECK_OK(rgm_iterator_create(&iterator, ds, &options));
    return iterator;
}

/** Made elsewhere in the recipe's order, elements and positions are those of the run. */
static void check_made_in_order(const rgm_dataset *ds)
{
    fake_maker f = {.in_order = true};
    rgm_maker maker = {&f, fake_begin, fake_next, fake_end};
    rgm_iterator *iterator = iterate_elsewhere(ds, &maker);
    run r;

    record(&r, ds, 0);
    check_rest(&r, 0, iterator);
    for (int i = 0; i <= r.count; i += 3) {
        CHECK_OK(rgm_iterator_restore(iterator, r.states[i].data, r.states[i].size));
        check_rest(&r, i, iterator);
    }
    rgm_iterator_release(iterator);
    forget(&r);
}

/** Count the rest of an iterator's elements in `seen`, by their places in the run. */
static void note_rest(int *seen, const run *r, rgm_iterator *iterator, int most)
{
    char *text;

    while (most-- > 0 && (text = next_text(iterator)) != NULL) {
        int i = 0;

        while (i < r->count && (seen[i] > 0 || strcmp(r->texts[i], text) != 0))
            i++;
        CHECK(i < r->count); /* each text no more often than in the run */
        seen[i]++;
        rgm_free(text);
    }
}

/** In any order each comes once, also when a position is saved on the way, and whoever goes on. */
static void check_made_in_any_order(const rgm_dataset *ds, uint64_t seed)
{
    fake_maker f = {.rng = rgm_rng_stream(seed, "order", 0)};
    rgm_maker maker = {&f, fake_begin, fake_next, fake_end};
    run r;

    record(&r, ds, 0);
    for (int round = 0; round < 4; round++) {
        int seen[MOST] = {0}, before = r.count * round / 4;
        rgm_iterator *iterator = iterate_elsewhere(ds, &maker);
        rgm_text state = {0}, again = {0};

        note_rest(seen, &r, iterator, before);
        CHECK_OK(rgm_iterator_save(&state, iterator));
        rgm_iterator_release(iterator);
        iterator = round % 2 == 0 ? iterate(ds, 2) : iterate_elsewhere(ds, &maker);
        CHECK_OK(rgm_iterator_restore(iterator, state.data, state.size));
        CHECK_INT(before, rgm_iterator_position(iterator));
        CHECK_OK(rgm_iterator_save(&again, iterator));
        CHECK(again.size == state.size && memcmp(again.data, state.data, (size_t)state.size) == 0);
        note_rest(seen, &r, iterator, MOST);
        for (int i = 0; i < r.count; i++)
            CHECK_INT(1, seen[i]);
        CHECK_INT(r.count, rgm_iterator_position(iterator));
        rgm_iterator_release(iterator);
        rgm_text_clear(&state);
        rgm_text_clear(&again);
    }
    forget(&r);
}

static void elements_that_are_passed_over_or_made_elsewhere_are_the_same(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 150; number++) {
        rgm_dataset *ds = random_recipe(number);

        check_skipping(ds, number);
        if (number % 5 == 0) {
            check_made_in_order(ds);
            check_made_in_any_order(ds, number);
        }
        rgm_dataset_release(ds);
    }
}

static void every_random_recipe_restores_at_every_position(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 150; number++) {
        rgm_dataset *ds = random_recipe(number);
        rgm_text text = {0};
        CHECK_OK(rgm_dataset_print(&text, ds));
        if (getenv("RGM_TEST_VERBOSE") != NULL)
            print_message("%d: %s\n", (int)number, text.data);
        check_every_position(ds);
        rgm_text_clear(&text);
        rgm_dataset_release(ds);
    }
}

static void a_training_pipeline_restores_at_every_position(void **state)
{
    (void)state;
    rgm_dataset *ds;
    rgm_read_tfrecords_options options = RGM_READ_TFRECORDS_OPTIONS_INIT;

    options.cycle_length = 2;
    CHECK_OK(rgm_dataset_list_files(&ds, record_files()));
    CHECK_OK(rgm_dataset_shuffle_all(&ds));
    CHECK_OK(rgm_dataset_read_tfrecords(&ds, &options));
    CHECK_OK(rgm_dataset_shuffle(&ds, 300));
    CHECK_OK(rgm_dataset_map(&ds, stamp, NULL, NULL, 4));
    CHECK_OK(rgm_dataset_repeat(&ds, -1));
    CHECK_OK(rgm_dataset_batch(&ds, 3, true));
    CHECK_OK(rgm_dataset_map(&ds, stamp, NULL, NULL, 2));
    CHECK_OK(rgm_dataset_prefetch(&ds, 2));
    CHECK_OK(rgm_dataset_take(&ds, 40));
    check_every_position(ds);
    rgm_dataset_release(ds);
}

/* ---- a seek, not a replay -------------------------------------------------------------------- */

static atomic_int_least64_t calls;

static rgm_status counted(rgm_element **out, int64_t i, void *payload)
{
    (void)payload;
    calls++;
    return rgm_element_create_bytes(out, &i, sizeof i);
}

static rgm_status pass(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                       void *payload)
{
    (void)call;
    (void)payload;
    *out = rgm_element_retain(element);
    return RGM_OK;
}

/** How many elements are read again to restore after `position` elements. */
static int64_t restore_cost(rgm_dataset *ds, int64_t position)
{
    rgm_iterator *iterator = iterate(ds, 2);
    rgm_text state = {0};
    int64_t cost;

    for (int64_t i = 0; i < position; i++) {
        rgm_element *e;
        CHECK_OK(rgm_iterator_next(&e, iterator));
        rgm_element_release(e);
    }
    CHECK_OK(rgm_iterator_save(&state, iterator));
    rgm_iterator_release(iterator);
    iterator = iterate(ds, 2);
    calls = 0;
    CHECK_OK(rgm_iterator_restore(iterator, state.data, state.size));
    cost = calls;
    CHECK(state.size < 2048 + 4 * 256);
    rgm_iterator_release(iterator);
    rgm_text_clear(&state);
    rgm_dataset_release(ds);
    return cost;
}

static void restoring_far_into_the_data_is_a_seek(void **state)
{
    (void)state;
    rgm_dataset *ds;

    CHECK_OK(rgm_dataset_from_function(&ds, 1 << 20, counted, NULL, NULL));
    CHECK_OK(rgm_dataset_map(&ds, pass, NULL, NULL, 4));
    CHECK_OK(rgm_dataset_batch(&ds, 4, true));
    CHECK_OK(rgm_dataset_prefetch(&ds, 3));
    CHECK_INT(0, restore_cost(ds, 5000));
    CHECK_OK(rgm_dataset_from_function(&ds, 1 << 20, counted, NULL, NULL));
    CHECK_OK(rgm_dataset_shuffle(&ds, 256));
    CHECK_OK(rgm_dataset_prefetch(&ds, 3));
    CHECK(restore_cost(ds, 20000) < 256 * 10);
    CHECK_OK(rgm_dataset_from_function(&ds, 1 << 20, counted, NULL, NULL));
    CHECK_OK(rgm_dataset_shuffle_all(&ds));
    CHECK_INT(0, restore_cost(ds, 1000));
    CHECK_OK(rgm_dataset_from_function(&ds, 1 << 20, counted, NULL, NULL));
    CHECK_OK(rgm_dataset_poisson(&ds, 1e-5));
    CHECK_OK(rgm_dataset_prefetch(&ds, 3));
    CHECK_INT(0, restore_cost(ds, 5000));
}

/* ---- a look at what comes ----------------------------------------------------------------------
 */

/* What a look shows is what comes, as often as one looks, and a position in between is that of
 * before. */
static void a_look_ahead_changes_nothing(void **state)
{
    rgm_text again = {0};
    rgm_dataset *ds;
    rgm_iterator *it;
    rgm_element *seen, *e, *same;
    int64_t looks = 0;

    (void)state;
    CHECK_OK(rgm_dataset_range(&ds, 0, 40));
    CHECK_OK(rgm_dataset_shuffle(&ds, 8));
    CHECK_OK(rgm_dataset_prefetch(&ds, 3));
    it = iterate(ds, 2);
    rgm_iterator_peek(&seen, it);
    CHECK(seen == NULL); /* nothing was asked for */
    for (int64_t i = 0; i < 40; i++) {
        for (int tries = 0; i > 0 && tries < 5000 && seen == NULL; tries++) {
            rgm_iterator_peek(&seen, it);
            if (seen == NULL)
                usleep(1000);
        }
        CHECK(i == 0 || seen != NULL);
        if (seen != NULL) {
            looks++;
            rgm_iterator_peek(&same, it);
            CHECK(same == seen);
            rgm_element_release(same);
            CHECK_INT(i, rgm_iterator_position(it));
            again.size = 0;
            CHECK_OK(rgm_iterator_save(&again, it));
            rgm_iterator *other = iterate(ds, 2);
            CHECK_OK(rgm_iterator_restore(other, again.data, again.size));
            CHECK_OK(rgm_iterator_next(&same, other));
            CHECK(rgm_tensor_equal(rgm_element_tensor(same, 0), rgm_element_tensor(seen, 0)));
            rgm_element_release(same);
            rgm_iterator_release(other);
        }
        CHECK_OK(rgm_iterator_next(&e, it));
        CHECK(i == 0 || e == seen);
        rgm_element_release(e);
        rgm_element_release(seen);
        seen = NULL;
    }
    CHECK_INT(39, looks);
    CHECK_STATUS(RGM_END, rgm_iterator_next(&e, it));
    rgm_iterator_peek(&seen, it);
    CHECK(seen == NULL);
    rgm_iterator_release(it);
    it = iterate(ds, 2); /* released with one that was looked at */
    CHECK_OK(rgm_iterator_next(&e, it));
    rgm_element_release(e);
    for (int tries = 0; tries < 5000 && seen == NULL; tries++, usleep(1000))
        rgm_iterator_peek(&seen, it);
    rgm_element_release(seen);
    rgm_iterator_release(it);
    rgm_text_clear(&again);
    rgm_dataset_release(ds);
}

static rgm_status counted_pass(rgm_element **out, const rgm_element *element,
                               const rgm_map_call *call, void *payload)
{
    (void)call;
    (void)payload;
    calls++;
    *out = rgm_element_retain(element);
    return RGM_OK;
}

static rgm_status drop(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                       void *payload)
{
    (void)out;
    (void)element;
    (void)call;
    (void)payload;
    return RGM_END;
}

static void skipping_calls_no_function_that_can_be_saved(void **state)
{
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_element *element;

    (void)state;
    CHECK_OK(rgm_dataset_range(&ds, 0, 1000));
    CHECK_OK(rgm_dataset_map_each(&ds, counted_pass, NULL, NULL, 4));
    CHECK_OK(rgm_dataset_map_each(&ds, counted_pass, NULL, NULL, 0));
    CHECK_OK(rgm_dataset_repeat(&ds, -1));
    CHECK_OK(rgm_dataset_prefetch(&ds, 3));
    iterator = iterate_in_step(ds);
    calls = 0;
    for (int i = 0; i < 2500; i++)
        CHECK_OK(rgm_iterator_skip(iterator));
    CHECK_INT(0, calls);
    CHECK_OK(rgm_iterator_next(&element, iterator));
    CHECK_INT(2, calls);
    CHECK_INT(500, rgm_tensor_at_int(rgm_element_tensor(element, 0), 0));
    rgm_element_release(element);
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
    CHECK_OK(rgm_dataset_range(&ds, 0, 3));
    CHECK_OK(rgm_dataset_map_each(&ds, drop, NULL, NULL, 0));
    iterator = iterate(ds, 0);
    CHECK_STATUS(RGM_ERR_ARG, rgm_iterator_next(&element, iterator));
    CHECK_MESSAGE("a map function that is to give an element for each has dropped one");
    rgm_iterator_release(iterator);
    rgm_dataset_release(ds);
}

/* ---- endings --------------------------------------------------------------------------------- */

static void releasing_with_full_queues_and_busy_maps_ends(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        rgm_dataset *ds;
        rgm_iterator *iterator;
        rgm_element *e;
        CHECK_OK(rgm_dataset_range(&ds, 0, 1000));
        CHECK_OK(rgm_dataset_repeat(&ds, -1));
        CHECK_OK(rgm_dataset_prefetch(&ds, 4));
        CHECK_OK(rgm_dataset_map(&ds, trouble, NULL, NULL, 4));
        CHECK_OK(rgm_dataset_prefetch(&ds, 2));
        iterator = iterate(ds, 3);
        for (int k = 0; k < i % 5; k++) {
            (void)rgm_iterator_next(&e, iterator);
            rgm_element_release(e);
        }
        if (i % 3 == 0)
            rgm_iterator_stop(iterator);
        rgm_iterator_release(iterator);
        rgm_dataset_release(ds);
    }
}

static rgm_status nothing(bool *keep, const rgm_element *element, void *payload)
{
    (void)element;
    (void)payload;
    *keep = false;
    return RGM_OK;
}

static void *stop_soon(void *payload)
{
    usleep(20000);
    rgm_iterator_stop(payload);
    return NULL;
}

static void stop_ends_a_search_that_finds_nothing(void **state)
{
    (void)state;
    for (int prefetch = 0; prefetch < 2; prefetch++) {
        rgm_dataset *ds;
        rgm_iterator *iterator;
        rgm_element *e;
        pthread_t thread;
        CHECK_OK(rgm_dataset_range(&ds, 0, 1000));
        CHECK_OK(rgm_dataset_repeat(&ds, -1));
        CHECK_OK(rgm_dataset_filter(&ds, nothing, NULL, NULL));
        if (prefetch)
            CHECK_OK(rgm_dataset_prefetch(&ds, 1));
        iterator = iterate(ds, 0);
        CHECK(pthread_create(&thread, NULL, stop_soon, iterator) == 0);
        CHECK_STATUS(RGM_STOPPED, rgm_iterator_next(&e, iterator));
        pthread_join(thread, NULL);
        rgm_iterator_release(iterator);
        rgm_dataset_release(ds);
    }
}

static void allocations_that_fail_in_threads_are_errors_and_leak_nothing(void **state)
{
    (void)state;
    for (int64_t at = 0; at < 120; at++) {
        int64_t before = rgm_memory_used();
        rgm_dataset *ds;
        rgm_iterator *iterator;
        rgm_element *e;
        rgm_status status = RGM_OK;
        int given = 0;

        CHECK_OK(rgm_dataset_range(&ds, 0, 12));
        CHECK_OK(rgm_dataset_map(&ds, pass, NULL, NULL, 2));
        CHECK_OK(rgm_dataset_batch(&ds, 2, false));
        CHECK_OK(rgm_dataset_prefetch(&ds, 2));
        iterator = iterate(ds, 2);
        rgm_memory_fail_at(at, at % 2 == 1);
        while (status != RGM_END && given < 40) {
            status = rgm_iterator_next(&e, iterator);
            CHECK(status == RGM_OK || status == RGM_END || status == RGM_ERR_NOMEM);
            rgm_element_release(e);
            given++;
        }
        rgm_memory_fail_at(-1, false);
        rgm_iterator_release(iterator);
        rgm_dataset_release(ds);
        CHECK_INT(before, rgm_memory_used());
    }
}

static void damaged_and_foreign_states_are_refused(void **state)
{
    (void)state;
    rgm_dataset *ds, *other;
    rgm_iterator *iterator;
    rgm_text saved = {0};
    char *text;

    CHECK_OK(rgm_dataset_range(&ds, 0, 50));
    CHECK_OK(rgm_dataset_shuffle(&ds, 8));
    CHECK_OK(rgm_dataset_prefetch(&ds, 2));
    iterator = iterate(ds, 0);
    for (int i = 0; i < 9; i++)
        rgm_free(next_text(iterator));
    CHECK_OK(rgm_iterator_save(&saved, iterator));
    for (int64_t i = 0; i < saved.size; i++) {
        saved.data[i] ^= 0x10;
        CHECK(rgm_iterator_restore(iterator, saved.data, saved.size) ==
              (i >= 4 && i < 8 ? RGM_ERR_VERSION : RGM_ERR_FORMAT));
        saved.data[i] ^= 0x10;
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_iterator_restore(iterator, saved.data, i));
    }
    CHECK_INT(9, rgm_iterator_position(iterator)); /* it is as it was */
    text = next_text(iterator);
    rgm_iterator_release(iterator);

    CHECK_OK(rgm_dataset_range(&other, 0, 51));
    CHECK_OK(rgm_dataset_shuffle(&other, 8));
    CHECK_OK(rgm_dataset_prefetch(&other, 2));
    iterator = iterate(other, 0);
    CHECK_STATUS(RGM_ERR_DATA, rgm_iterator_restore(iterator, saved.data, saved.size));
    CHECK_MESSAGE(
        "saved for the data 'range(0, 50) | shuffle(8) | prefetch()', these are 'range(0, 51)");
    rgm_iterator_release(iterator);

    iterator = iterate(ds, 0);
    CHECK_OK(rgm_iterator_restore(iterator, saved.data, saved.size));
    {
        char *again = next_text(iterator);
        CHECK_TEXT(text, again);
        rgm_free(again);
    }
    rgm_free(text);
    rgm_iterator_release(iterator);
    rgm_text_clear(&saved);
    rgm_dataset_release(ds);
    rgm_dataset_release(other);
}

/** A position with a right hash, whose top stage's state is these numbers; -7 ends them. */
static void state_of_numbers(rgm_text *out, const rgm_dataset *ds, const int64_t *numbers)
{
    rgm_text body = {0}, recipe = {0};
    uint32_t version = 1;
    uint64_t hash;

    CHECK_OK(rgm_dataset_print(&recipe, ds));
    for (int i = 0; i < 4; i++) /* seed, epoch, position, running */
        CHECK_OK(rgm_state_put_int(&body, i > 1));
    CHECK_OK(rgm_state_put_bytes(&body, recipe.data, recipe.size));
    for (; *numbers != -7; numbers++)
        CHECK_OK(rgm_state_put_int(&body, *numbers));
    hash = rgm_hash64(body.data, (size_t)body.size);
    out->size = 0;
    CHECK_OK(rgm_text_add(out, "RGMI", 4));
    CHECK_OK(rgm_text_add(out, &version, sizeof version));
    CHECK_OK(rgm_text_add(out, &hash, sizeof hash));
    CHECK_OK(rgm_text_add(out, body.data, body.size));
    rgm_text_clear(&body);
    rgm_text_clear(&recipe);
}

/** The recipe of a letter over an endless range: every restore that replays as told never ends. */
static rgm_dataset *endless(char letter)
{
    rgm_dataset *ds, *both[2];

    CHECK_OK(rgm_dataset_range(&ds, 0, 9));
    if (letter != 'a')
        CHECK_OK(rgm_dataset_repeat(&ds, -1));
    if (letter == 'm' || letter == 's')
        CHECK_OK(rgm_dataset_map(&ds, stamp, NULL, NULL, letter == 'm' ? 2 : 0));
    if (letter == 'p')
        CHECK_OK(rgm_dataset_prefetch(&ds, 2));
    if (letter == 'b')
        CHECK_OK(rgm_dataset_shuffle(&ds, 4));
    if (letter == 'i')
        CHECK_OK(rgm_dataset_interleave(&ds, pair_of, NULL, NULL, 2, 1));
    if (letter == 't')
        CHECK_OK(rgm_dataset_take(&ds, 5));
    if (letter == 'c')
        CHECK_OK(rgm_dataset_cache(&ds));
    if (letter == 'x' || letter == 'z') {
        both[0] = both[1] = ds;
        CHECK_OK(letter == 'z' ? rgm_dataset_zip(&ds, both, 2)
                               : rgm_dataset_mix(&ds, both, NULL, 2, RGM_MIX_END_ALL));
        rgm_dataset_release(both[0]);
    }
    return ds;
}

static void positions_that_no_save_writes_are_refused_at_once(void **state)
{
    const int64_t huge = INT64_MAX, most = RGM_STATE_MOST;
    /* Their hash is right. An endless range is [epochs, given, next]; a part has its size before.
     */
    const struct {
        char recipe;
        int64_t numbers[9];
    } lies[] = {
        {'m', {-1, -1, 0, -7}},
        {'m', {-1, 0, 0, -7}},
        {'m', {-3, -3, 0, -7}},
        {'m', {huge, huge, 1, 0, -7}},
        {'m', {most, 0, 0, -7}},
        {'m', {most, most, 3, 0, 1, 10, -7}},
        {'m', {3, 2, 2, 0, 0, -7}},
        {'m', {3, 3, 4, 0, 1, 2, 2, -7}},
        {'s', {-1, 0, 0, -7}},
        {'s', {huge, 0, 0, -7}},
        {'p', {-1, -1, 0, -7}},
        {'p', {most, 0, 0, -7}},
        {'b', {0, most, 0, 0, 0, 0, -7}},
        {'b', {-1, 4, 0, 0, 0, 1, 1, -7}},
        {'b', {2, 4, 2, 0, 0, 1, 1, -7}},
        {'b', {2, 4, 0, 0, 0, 1, 5, -7}},
        {'b', {4, 4, 0, 0, 0, 1, 1, -7}},
        {'b', {2, 4, 0, 3, 0, 1, 1, -7}},
        {'b', {most, most, 0, 0, 0, 0, -7}},
        {'b', {0, 4, 0, 0, 0, 5, 1, 1, -7}},
        {'i', {2, 0, 0, 0, -7}},
        {'i', {-1, 0, 0, 0, -7}},
        {'i', {0, -1, 0, 0, -7}},
        {'i', {0, 0, huge, 0, -7}},
        {'i', {0, 0, 1, 0, 1, -7}},
        {'i', {0, 0, 1, 0, -2, -7}},
        {'t', {-1, 0, 0, -7}},
        {'t', {huge, 0, 0, -7}},
        {'r', {huge, 0, -7}},
        {'r', {0, 2, 0, -7}},
        {'r', {0, 1, 10, -7}},
        {'r', {0, 1, -1, -7}},
        {'r', {0, 1, 1, 1, -7}},
        {'a', {10, -7}},
        {'c', {-1, -7}},
        {'c', {huge, -7}},
        {'x', {huge, 0, 0, -7}},
        {'x', {-1, 0, 0, -7}},
        {'x', {0, 2, 0, -7}},
        {'x', {0, 0, 2, -7}},
        {'z', {2, -7}},
        {'z', {-1, -7}},
        {'z', {0, huge, -7}},
    };
    rgm_text text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        rgm_dataset *ds = endless(lies[i].recipe);
        rgm_iterator *iterator = iterate(ds, 2);

        state_of_numbers(&text, ds, lies[i].numbers);
        if (rgm_iterator_restore(iterator, text.data, text.size) != RGM_ERR_FORMAT)
            fail_msg("state %d of %c", (int)i, lies[i].recipe);
        CHECK_INT(0, rgm_iterator_position(iterator));
        rgm_iterator_release(iterator);
        rgm_dataset_release(ds);
    }
    rgm_text_clear(&text);
}

static void a_file_that_changed_since_is_named(void **state)
{
    (void)state;
    rgm_dataset *ds;
    rgm_iterator *iterator;
    rgm_tfrecord_writer *writer;
    rgm_text saved = {0};
    char path[200];

    record_files();
    snprintf(path, sizeof path, "%s/changing", folder);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(rgm_tfrecord_writer_open(&writer, path, NULL));
        for (int i = 0; i < 4 + round; i++)
            CHECK_OK(rgm_tfrecord_writer_add(writer, "abc", 3));
        CHECK_OK(rgm_tfrecord_writer_finish(writer));
        rgm_tfrecord_writer_close(writer);
        CHECK_OK(rgm_dataset_tfrecord(&ds, path, NULL));
        iterator = iterate(ds, 0);
        if (round == 0) {
            rgm_free(next_text(iterator));
            CHECK_OK(rgm_iterator_save(&saved, iterator));
        } else {
            CHECK_STATUS(RGM_ERR_DATA, rgm_iterator_restore(iterator, saved.data, saved.size));
            CHECK_MESSAGE("had 76 bytes when the position was saved, now it has 95");
        }
        rgm_iterator_release(iterator);
        rgm_dataset_release(ds);
    }
    rgm_text_clear(&saved);
}

TESTS(cmocka_unit_test(every_random_recipe_restores_at_every_position),
      cmocka_unit_test(elements_that_are_passed_over_or_made_elsewhere_are_the_same),
      cmocka_unit_test(skipping_calls_no_function_that_can_be_saved),
      cmocka_unit_test(a_training_pipeline_restores_at_every_position),
      cmocka_unit_test(restoring_far_into_the_data_is_a_seek),
      cmocka_unit_test(a_look_ahead_changes_nothing),
      cmocka_unit_test(releasing_with_full_queues_and_busy_maps_ends),
      cmocka_unit_test(stop_ends_a_search_that_finds_nothing),
      cmocka_unit_test(allocations_that_fail_in_threads_are_errors_and_leak_nothing),
      cmocka_unit_test(damaged_and_foreign_states_are_refused),
      cmocka_unit_test(positions_that_no_save_writes_are_refused_at_once),
      cmocka_unit_test(a_file_that_changed_since_is_named))

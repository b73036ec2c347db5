/*
 * Iterators: a recipe being run, and the blob that holds its position.
 */
#include "data_internal.h"

/** An element that was given before those in front of it. */
typedef struct rgmi_given {
    int64_t number;
    rgm_text after; /* the position behind it; empty: not known */
} rgmi_given;

struct rgm_iterator {
    rgm_dataset *dataset;
    rgm_iterator_options options;
    rgmi_tree *tree;
    rgm_stage *top; /* NULL until the first next  */
    rgmi_own_elements share;
    int64_t position;
    bool begun; /* an element was asked for, since the last restore */
    bool ended;
    atomic_bool stop; /* asked for by the user; the tree's own flag ends its threads */
    int64_t cursor; /* number of the first element that is not behind `base`, or the tree's next */
    rgmi_given *given; /* from `cursor` on, given before their turn; ascending */
    int64_t given_count, given_capacity;
    bool making;   /* the maker was told where      */
    rgm_text base; /* of a maker: saved at `cursor`; empty at the start */
};

static void tree_release(rgmi_tree *tree, rgm_stage *top)
{
    if (tree == NULL)
        return;
    atomic_store(&tree->stop, true);
    rgm_stage_close(top);
    rgmi_caches_release(tree->caches);
    if (tree->own_pool)
        rgm_thread_pool_release(tree->pool);
    pthread_mutex_destroy(&tree->lock);
    rgm_free(tree);
}

rgm_status rgmi_tree_pool(rgm_thread_pool **out, rgmi_tree *tree)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&tree->lock);
    if (tree->pool == NULL && tree->threads > 0) {
        status = rgm_thread_pool_create(&tree->pool, tree->threads);
        tree->own_pool = status == RGM_OK;
    }
    *out = tree->pool;
    pthread_mutex_unlock(&tree->lock);
    return status;
}

static rgm_status tree_create(rgmi_tree **out_tree, rgm_stage **out_top, const rgm_dataset *dataset,
                              const rgm_iterator_options *options, const atomic_bool *stop)
{
    rgm_status status = RGM_OK;
    rgmi_tree *tree = NULL;

    *out_tree = NULL;
    *out_top = NULL;
    RGM_GO(RGM_NEW(tree, 1));
    if (pthread_mutex_init(&tree->lock, NULL) != 0) {
        rgm_free(tree);
        tree = NULL;
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a lock"));
    }
    atomic_init(&tree->stop, false);
    tree->user_stop = stop;
    tree->seed = options->seed;
    tree->threads = options->in_step ? 0 : options->threads;
    tree->in_step = options->in_step;
    tree->pool = options->in_step ? NULL : options->pool;
    RGM_GO(rgmi_stage_create(out_top, tree, NULL, dataset, 0, options->epoch));
    *out_tree = tree;
    tree = NULL;
done:
    tree_release(tree, NULL);
    return status;
}

rgm_status rgm_iterator_create(rgm_iterator **out, const rgm_dataset *dataset,
                               const rgm_iterator_options *options)
{
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(iterator, 1));
    iterator->options =
        options != NULL ? *options : (rgm_iterator_options)RGM_ITERATOR_OPTIONS_INIT;
    if (iterator->options.threads < 0)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "threads is %d", iterator->options.threads));
    iterator->dataset = rgm_dataset_retain(dataset);
    atomic_init(&iterator->stop, false);
    *out = iterator;
    iterator = NULL;
done:
    rgm_iterator_release(iterator);
    return status;
}

static void end_maker(rgm_iterator *iterator)
{
    if (iterator->making)
        iterator->options.maker->end(iterator->options.maker->state);
    iterator->making = false;
}

static void given_clear(rgmi_given *given, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        rgm_text_clear(&given[i].after);
    rgm_free(given);
}

void rgm_iterator_release(rgm_iterator *iterator)
{
    if (iterator == NULL)
        return;
    end_maker(iterator);
    tree_release(iterator->tree, iterator->top);
    given_clear(iterator->given, iterator->given_count);
    rgm_text_clear(&iterator->base);
    rgm_dataset_release(iterator->dataset);
    rgm_free(iterator);
}

/* ---- elements of the recipe ------------------------------------------------------------------ */

static void drop_given(rgm_iterator *iterator, int64_t count)
{
    if (count == 0)
        return;
    for (int64_t i = 0; i < count; i++)
        rgm_text_clear(&iterator->given[i].after);
    iterator->given_count -= count;
    memmove(iterator->given, iterator->given + count,
            (size_t)iterator->given_count * sizeof *iterator->given);
}

/** Pass over what a maker has given before. */
static rgm_status pass_given(rgm_iterator *iterator)
{
    while (iterator->given_count > 0 && iterator->given[0].number == iterator->cursor) {
        rgm_status status = rgm_stage_skip(iterator->top);

        if (status == RGM_END)
            return RGM_FAIL(RGM_ERR_DATA,
                            "the data have become shorter since the position was saved: element "
                            "%lld was there",
                            (long long)iterator->cursor);
        if (status > 0)
            return status;
        iterator->cursor++;
        drop_given(iterator, 1);
    }
    return RGM_OK;
}

/** The next element; out NULL: it is passed over. */
static rgm_status step(rgm_element **out, rgm_iterator *iterator)
{
    rgm_status status;

    if (iterator->tree == NULL)
        RGM_TRY(tree_create(&iterator->tree, &iterator->top, iterator->dataset, &iterator->options,
                            &iterator->stop));
    if (!iterator->begun)
        iterator->tree->share = iterator->share;
    iterator->begun = true;
    RGM_TRY(pass_given(iterator));
    status = out != NULL ? rgm_stage_next(out, iterator->top) : rgm_stage_skip(iterator->top);
    if (out != NULL && status == RGM_OK && !rgmi_is_wanted(&iterator->share, iterator->position)) {
        rgm_element_release(*out);
        *out = NULL;
    }
    if (status == RGM_END) {
        iterator->ended = true;
    } else if (status != RGM_STOPPED) {
        iterator->position++;
        iterator->cursor++;
    }
    return status == RGM_OK ? RGM_OK : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* ---- elements of a maker --------------------------------------------------------------------- */

static rgm_status save_base(rgm_text *out, const rgm_iterator *iterator);

static rgm_status begin_maker(rgm_iterator *iterator)
{
    const rgm_maker *maker = iterator->options.maker;
    rgm_status status = RGM_OK;
    rgm_text start = {0};
    int64_t *numbers = NULL;

    if (iterator->making)
        return RGM_OK;
    if (iterator->base.size == 0)
        RGM_GO(save_base(&start, iterator));
    RGM_GO(RGM_NEW(numbers, iterator->given_count));
    for (int64_t i = 0; i < iterator->given_count; i++)
        numbers[i] = iterator->given[i].number;
    RGM_GO(maker->begin(maker->state, iterator->dataset, start.size > 0 ? &start : &iterator->base,
                        iterator->cursor, numbers, iterator->given_count));
    iterator->making = true;
done:
    rgm_text_clear(&start);
    rgm_free(numbers);
    return status;
}

/** Keep the number in its place; takes over made->after. */
static rgm_status note_given(rgm_iterator *iterator, rgm_made *made)
{
    int64_t at = iterator->given_count;

    while (at > 0 && iterator->given[at - 1].number > made->number)
        at--;
    if (made->number < iterator->cursor ||
        (at > 0 && iterator->given[at - 1].number == made->number))
        return RGM_FAIL(RGM_ERR_DATA, "element %lld was given twice", (long long)made->number);
    RGM_TRY(RGM_RESERVE(iterator->given, iterator->given_capacity, iterator->given_count + 1));
    memmove(iterator->given + at + 1, iterator->given + at,
            (size_t)(iterator->given_count - at) * sizeof *iterator->given);
    iterator->given[at] = (rgmi_given){made->number, made->after};
    iterator->given_count++;
    made->after = (rgm_text){0};
    return RGM_OK;
}

/** Move the base behind what was given without a gap, as far as positions are known. */
static void move_base(rgm_iterator *iterator)
{
    int64_t last = -1;

    for (int64_t i = 0;
         i < iterator->given_count && iterator->given[i].number == iterator->cursor + i; i++)
        if (iterator->given[i].after.size > 0)
            last = i;
    if (last < 0)
        return;
    rgm_text_clear(&iterator->base);
    iterator->base = iterator->given[last].after;
    iterator->given[last].after = (rgm_text){0};
    drop_given(iterator, last + 1);
    iterator->cursor += last + 1;
}

static rgm_status next_made(rgm_element **out, rgm_iterator *iterator)
{
    const rgm_maker *maker = iterator->options.maker;
    rgm_made made = {0};
    rgm_status status;

    RGM_TRY(begin_maker(iterator));
    status = maker->next(&made, maker->state);
    if (status == RGM_END)
        iterator->ended = true;
    if (status == RGM_OK)
        status = note_given(iterator, &made);
    if (status == RGM_OK) {
        iterator->position++;
        move_base(iterator);
        *out = made.element;
        made.element = NULL;
        status = made.status;
    }
    rgm_element_release(made.element);
    rgm_text_clear(&made.after);
    return status == RGM_OK ? RGM_OK : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_iterator_next(rgm_element **out, rgm_iterator *iterator)
{
    *out = NULL;
    if (atomic_load(&iterator->stop))
        return RGM_STOPPED;
    if (iterator->ended)
        return RGM_END;
    return iterator->options.maker != NULL ? next_made(out, iterator) : step(out, iterator);
}

rgm_status rgm_iterator_skip(rgm_iterator *iterator)
{
    if (iterator->options.maker != NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "elements that are made elsewhere are not skipped");
    if (atomic_load(&iterator->stop))
        return RGM_STOPPED;
    return iterator->ended ? RGM_END : step(NULL, iterator);
}

rgm_status rgm_iterator_share(rgm_iterator *iterator, int64_t period, int64_t first, int64_t count)
{
    if (iterator->begun)
        return RGM_FAIL(RGM_ERR_ARG, "an iterator that has begun gets no share");
    if (iterator->options.maker != NULL || iterator->given_count > 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "elements that are made elsewhere, or were given out of their order, are "
                        "not shared out");
    if (first < 0 || count < 1 || period < 1 || count > period || first > period - count)
        return RGM_FAIL(RGM_ERR_ARG, "a share of elements [%lld, %lld + %lld) of every %lld",
                        (long long)first, (long long)first, (long long)count, (long long)period);
    iterator->share = (rgmi_own_elements){period, first, count, iterator->position};
    return RGM_OK;
}

void rgm_iterator_peek(rgm_element **out, rgm_iterator *iterator)
{
    *out = NULL;
    if (iterator->top == NULL || iterator->ended || atomic_load(&iterator->stop) ||
        iterator->top->dataset->type->peek == NULL ||
        !rgmi_is_wanted(&iterator->share, iterator->position))
        return;
    iterator->top->dataset->type->peek(out, iterator->top);
}

int64_t rgm_iterator_position(const rgm_iterator *iterator)
{
    return iterator->position;
}

void rgm_iterator_stop(rgm_iterator *iterator)
{
    atomic_store(&iterator->stop, true);
}

/**
 * A saved position: "RGMI", version, then the hash of a part, and the part.
 *
 * Version 1: seed (0 for a secret one), epoch, position, phase, the printed recipe and the top
 * stage's state. Version 2, when some were given before their turn: a position of version 1 as
 * bytes, how many, and of each its distance from that position.
 */
enum { STATE_VERSION = 1, GIVEN_VERSION = 2, STATE_HEAD = 8 };
enum { PHASE_START = 0, PHASE_RUNNING = 1, PHASE_ENDED = 2 };
static const char state_magic[4] = {'R', 'G', 'M', 'I'};

static rgm_status save_body(rgm_text *body, const rgm_iterator *iterator, const rgm_text *recipe)
{
    int phase = iterator->ended ? PHASE_ENDED : iterator->cursor == 0 ? PHASE_START : PHASE_RUNNING;

    RGM_TRY(
        rgm_state_put_int(body, iterator->options.secret ? 0 : (int64_t)iterator->options.seed));
    RGM_TRY(rgm_state_put_int(body, (int64_t)iterator->options.epoch));
    RGM_TRY(rgm_state_put_int(body, iterator->ended ? iterator->position : iterator->cursor));
    RGM_TRY(rgm_state_put_int(body, phase));
    RGM_TRY(rgm_state_put_bytes(body, recipe->data, recipe->size));
    return phase == PHASE_RUNNING ? rgm_stage_save(body, iterator->top) : RGM_OK;
}

static rgm_status add_frame(rgm_text *out, uint32_t version, const rgm_text *body)
{
    uint64_t hash = rgm_hash64(body->data, (size_t)body->size);

    RGM_TRY(rgm_text_add(out, state_magic, sizeof state_magic));
    RGM_TRY(rgm_text_add(out, &version, sizeof version));
    RGM_TRY(rgm_text_add(out, &hash, sizeof hash));
    return rgm_text_add(out, body->data, body->size);
}

/** The position of all that was given without a gap. */
static rgm_status save_base(rgm_text *out, const rgm_iterator *iterator)
{
    rgm_status status = RGM_OK;
    rgm_text body = {0}, recipe = {0};

    if (iterator->base.size > 0 && !iterator->ended && iterator->tree == NULL)
        return rgm_text_add(out, iterator->base.data, iterator->base.size);
    RGM_GO(rgm_dataset_print(&recipe, iterator->dataset));
    RGM_GO(save_body(&body, iterator, &recipe));
    RGM_GO(add_frame(out, STATE_VERSION, &body));
done:
    rgm_text_clear(&body);
    rgm_text_clear(&recipe);
    return status;
}

static rgm_status save_given(rgm_text *out, const rgm_iterator *iterator)
{
    rgm_status status = RGM_OK;
    rgm_text base = {0}, body = {0};

    RGM_GO(save_base(&base, iterator));
    RGM_GO(rgm_state_put_bytes(&body, base.data, base.size));
    RGM_GO(rgm_state_put_int(&body, iterator->given_count));
    for (int64_t i = 0; i < iterator->given_count; i++)
        RGM_GO(rgm_state_put_int(&body, iterator->given[i].number - iterator->cursor));
    RGM_GO(add_frame(out, GIVEN_VERSION, &body));
done:
    rgm_text_clear(&base);
    rgm_text_clear(&body);
    return status;
}

rgm_status rgm_iterator_save(rgm_text *out, const rgm_iterator *iterator)
{
    int64_t before = out->size;
    rgm_status status = iterator->given_count > 0 && !iterator->ended ? save_given(out, iterator)
                                                                      : save_base(out, iterator);

    if (status != RGM_OK)
        out->size = before;
    return status;
}

/** Check the frame; then `body` reads its part. Versions above `newest` are not read. */
static rgm_status open_frame(uint32_t *found, rgm_state_reader *body, const void *data,
                             int64_t size, uint32_t newest)
{
    const uint8_t *bytes = data;
    uint32_t version;
    uint64_t hash;

    if (size < STATE_HEAD + (int64_t)sizeof hash || memcmp(bytes, state_magic, 4) != 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "this is no saved position of an iterator (%lld bytes)",
                        (long long)size);
    memcpy(&version, bytes + 4, sizeof version);
    memcpy(&hash, bytes + STATE_HEAD, sizeof hash);
    if (version < STATE_VERSION || version > newest)
        return RGM_FAIL(RGM_ERR_VERSION, "the saved position has version %u, this build reads %u",
                        version, newest);
    *found = version;
    *body = (rgm_state_reader){bytes + STATE_HEAD + sizeof hash,
                               size - STATE_HEAD - (int64_t)sizeof hash, 0};
    if (rgm_hash64(body->data, (size_t)body->size) != hash)
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position is damaged: its hash is wrong");
    return RGM_OK;
}

/** What of a saved position is there: `body` reads what save_body() wrote. */
typedef struct saved_state {
    const uint8_t *base; /* of version 1 */
    int64_t base_size;
    rgm_state_reader body;
    rgmi_given *given; /* their distances from the position; owned */
    int64_t count;
} saved_state;

static void saved_clear(saved_state *saved)
{
    given_clear(saved->given, saved->count);
    *saved = (saved_state){0};
}

static rgm_status open_given(saved_state *saved, rgm_state_reader *outer)
{
    int64_t count, last = -1;

    RGM_TRY(rgm_state_get_bytes(&saved->base, &saved->base_size, outer));
    RGM_TRY(rgm_state_get_count(&count, outer, outer->size - outer->at, "what was given"));
    RGM_TRY(RGM_NEW(saved->given, count));
    for (; saved->count < count; saved->count++) {
        int64_t number;

        RGM_TRY(rgm_state_get_count(&number, outer, RGM_STATE_MOST, "what was given"));
        if (number <= last)
            return RGM_FAIL(RGM_ERR_FORMAT, "the saved position contradicts itself");
        saved->given[saved->count].number = last = number;
    }
    if (count == 0 || outer->at != outer->size)
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position contradicts itself");
    return RGM_OK;
}

static rgm_status open_state(saved_state *saved, const void *data, int64_t size)
{
    rgm_state_reader outer;
    uint32_t version;

    *saved = (saved_state){.base = data, .base_size = size};
    RGM_TRY(open_frame(&version, &outer, data, size, GIVEN_VERSION));
    if (version == GIVEN_VERSION) {
        RGM_TRY(open_given(saved, &outer));
        return open_frame(&version, &saved->body, saved->base, saved->base_size, STATE_VERSION);
    }
    saved->body = outer;
    return RGM_OK;
}

static rgm_status check_recipe(const rgm_dataset *dataset, rgm_state_reader *body)
{
    rgm_status status = RGM_OK;
    rgm_text recipe = {0};
    const uint8_t *saved;
    int64_t size;

    RGM_GO(rgm_dataset_print(&recipe, dataset));
    RGM_GO(rgm_state_get_bytes(&saved, &size, body));
    if (size != recipe.size || memcmp(saved, recipe.data, (size_t)size) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "the position was saved for the data '%.*s', these are '%s'",
                        (int)(size < 400 ? size : 400), (const char *)saved, recipe.data));
done:
    rgm_text_clear(&recipe);
    return status;
}

rgm_status rgm_iterator_begin_after(rgm_iterator *iterator, const void *data, int64_t size)
{
    rgm_status status = RGM_OK;
    saved_state saved;
    int64_t seed, epoch, position;

    RGM_GO(open_state(&saved, data, size));
    RGM_GO(rgm_state_get_int(&seed, &saved.body));
    RGM_GO(rgm_state_get_int(&epoch, &saved.body));
    RGM_GO(rgm_state_get_count(&position, &saved.body, RGM_STATE_MOST, "the iterator"));
    end_maker(iterator);
    tree_release(iterator->tree, iterator->top);
    drop_given(iterator, iterator->given_count);
    rgm_text_clear(&iterator->base);
    iterator->tree = NULL;
    iterator->top = NULL;
    if (!iterator->options.secret)
        iterator->options.seed = (uint64_t)seed;
    iterator->options.epoch = (uint64_t)epoch + (uint64_t)position + 1;
    iterator->position = iterator->cursor = 0;
    iterator->begun = iterator->ended = false;
    iterator->share = (rgmi_own_elements){0};
done:
    saved_clear(&saved);
    return status;
}

/** What a restore changes, until all of it is known to be right. */
typedef struct restoring {
    rgm_iterator_options options;
    int64_t position, phase;
    rgmi_tree *tree;
    rgm_stage *top;
    rgm_text base;
} restoring;

static rgm_status restore_to(restoring *to, saved_state *saved, rgm_iterator *iterator)
{
    rgm_state_reader *body = &saved->body;
    int64_t seed, epoch;

    RGM_TRY(rgm_state_get_int(&seed, body));
    RGM_TRY(rgm_state_get_int(&epoch, body));
    RGM_TRY(rgm_state_get_count(&to->position, body, RGM_STATE_MOST, "the iterator"));
    RGM_TRY(rgm_state_get_count(&to->phase, body, PHASE_ENDED, "the iterator's end"));
    RGM_TRY(check_recipe(iterator->dataset, body));
    if (!to->options.secret)
        to->options.seed = (uint64_t)seed;
    to->options.epoch = (uint64_t)epoch;
    if ((to->phase == PHASE_START) != (to->position == 0 && to->phase != PHASE_ENDED) ||
        (to->phase == PHASE_ENDED && saved->count > 0))
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position contradicts itself");
    if (to->options.maker != NULL) /* whoever makes the elements reads the stages' state */
        return to->phase == PHASE_RUNNING ? rgm_text_add(&to->base, saved->base, saved->base_size)
                                          : RGM_OK;
    if (to->phase == PHASE_RUNNING) {
        RGM_TRY(tree_create(&to->tree, &to->top, iterator->dataset, &to->options, &iterator->stop));
        to->top->restored_at = to->position;
        RGM_TRY(rgm_stage_restore(to->top, body));
    }
    return body->at == body->size
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_FORMAT, "the saved position contradicts itself");
}

rgm_status rgm_iterator_restore(rgm_iterator *iterator, const void *data, int64_t size)
{
    rgm_status status = RGM_OK;
    restoring to = {.options = iterator->options};
    saved_state saved;

    RGM_GO(open_state(&saved, data, size));
    RGM_GO(restore_to(&to, &saved, iterator));
    for (int64_t i = 0; i < saved.count; i++)
        saved.given[i].number += to.position;
    end_maker(iterator);
    tree_release(iterator->tree, iterator->top);
    given_clear(iterator->given, iterator->given_count);
    rgm_text_clear(&iterator->base);
    iterator->tree = to.tree;
    iterator->top = to.top;
    iterator->base = to.base;
    iterator->options = to.options;
    iterator->cursor = to.position;
    iterator->position = to.position + saved.count;
    iterator->given = saved.given;
    iterator->given_count = iterator->given_capacity = saved.count;
    iterator->begun = false;
    iterator->share = (rgmi_own_elements){0};
    iterator->ended = to.phase == PHASE_ENDED;
    saved = (saved_state){0};
    to = (restoring){0};
done:
    saved_clear(&saved);
    rgm_text_clear(&to.base);
    tree_release(to.tree, to.top);
    return status;
}

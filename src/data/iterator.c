/*
 * Iterators: a recipe being run, and the blob that holds its position.
 */
#include "data_internal.h"

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
    tree->threads = options->threads;
    tree->pool = options->pool;
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

void rgm_iterator_release(rgm_iterator *iterator)
{
    if (iterator == NULL)
        return;
    tree_release(iterator->tree, iterator->top);
    rgm_dataset_release(iterator->dataset);
    rgm_free(iterator);
}

rgm_status rgm_iterator_next(rgm_element **out, rgm_iterator *iterator)
{
    rgm_status status;

    *out = NULL;
    if (atomic_load(&iterator->stop))
        return RGM_STOPPED;
    if (iterator->ended)
        return RGM_END;
    if (iterator->tree == NULL)
        RGM_TRY(tree_create(&iterator->tree, &iterator->top, iterator->dataset, &iterator->options,
                            &iterator->stop));
    if (!iterator->begun)
        iterator->tree->share = iterator->share;
    iterator->begun = true;
    status = rgm_stage_next(out, iterator->top);
    if (status == RGM_OK && !rgmi_is_wanted(&iterator->share, iterator->position)) {
        rgm_element_release(*out);
        *out = NULL;
    }
    if (status == RGM_END)
        iterator->ended = true;
    else if (status != RGM_STOPPED)
        iterator->position++;
    return status == RGM_OK ? RGM_OK : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_iterator_share(rgm_iterator *iterator, int64_t period, int64_t first, int64_t count)
{
    if (iterator->begun)
        return RGM_FAIL(RGM_ERR_ARG, "an iterator that has begun gets no share");
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
 * A saved position: "RGMI", version, then a part that holds seed (0 for a secret one), epoch,
 * position, phase, the printed recipe and the top stage's state, then the part's hash.
 */
enum { STATE_VERSION = 1, PHASE_START = 0, PHASE_RUNNING = 1, PHASE_ENDED = 2, STATE_HEAD = 8 };
static const char state_magic[4] = {'R', 'G', 'M', 'I'};

static rgm_status save_body(rgm_text *body, const rgm_iterator *iterator, const rgm_text *recipe)
{
    int phase = iterator->ended           ? PHASE_ENDED
                : iterator->position == 0 ? PHASE_START
                                          : PHASE_RUNNING;

    RGM_TRY(
        rgm_state_put_int(body, iterator->options.secret ? 0 : (int64_t)iterator->options.seed));
    RGM_TRY(rgm_state_put_int(body, (int64_t)iterator->options.epoch));
    RGM_TRY(rgm_state_put_int(body, iterator->position));
    RGM_TRY(rgm_state_put_int(body, phase));
    RGM_TRY(rgm_state_put_bytes(body, recipe->data, recipe->size));
    return phase == PHASE_RUNNING ? rgm_stage_save(body, iterator->top) : RGM_OK;
}

rgm_status rgm_iterator_save(rgm_text *out, const rgm_iterator *iterator)
{
    rgm_status status = RGM_OK;
    rgm_text body = {0}, recipe = {0};
    uint32_t version = STATE_VERSION;
    uint64_t hash;
    int64_t before = out->size;

    RGM_GO(rgm_dataset_print(&recipe, iterator->dataset));
    RGM_GO(save_body(&body, iterator, &recipe));
    hash = rgm_hash64(body.data, (size_t)body.size);
    RGM_GO(rgm_text_add(out, state_magic, sizeof state_magic));
    RGM_GO(rgm_text_add(out, &version, sizeof version));
    RGM_GO(rgm_text_add(out, &hash, sizeof hash));
    RGM_GO(rgm_text_add(out, body.data, body.size));
done:
    if (status != RGM_OK)
        out->size = before;
    rgm_text_clear(&body);
    rgm_text_clear(&recipe);
    return status;
}

/** Check the frame; then `body` reads what save_body() wrote. */
static rgm_status open_state(rgm_state_reader *body, const void *data, int64_t size)
{
    const uint8_t *bytes = data;
    uint32_t version;
    uint64_t hash;

    if (size < STATE_HEAD + (int64_t)sizeof hash || memcmp(bytes, state_magic, 4) != 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "this is no saved position of an iterator (%lld bytes)",
                        (long long)size);
    memcpy(&version, bytes + 4, sizeof version);
    memcpy(&hash, bytes + STATE_HEAD, sizeof hash);
    if (version != STATE_VERSION)
        return RGM_FAIL(RGM_ERR_VERSION, "the saved position has version %u, this build reads %d",
                        version, STATE_VERSION);
    *body = (rgm_state_reader){bytes + STATE_HEAD + sizeof hash,
                               size - STATE_HEAD - (int64_t)sizeof hash, 0};
    if (rgm_hash64(body->data, (size_t)body->size) != hash)
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position is damaged: its hash is wrong");
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
    rgm_state_reader body;
    int64_t seed, epoch, position;

    RGM_TRY(open_state(&body, data, size));
    RGM_TRY(rgm_state_get_int(&seed, &body));
    RGM_TRY(rgm_state_get_int(&epoch, &body));
    RGM_TRY(rgm_state_get_count(&position, &body, RGM_STATE_MOST, "the iterator"));
    tree_release(iterator->tree, iterator->top);
    iterator->tree = NULL;
    iterator->top = NULL;
    if (!iterator->options.secret)
        iterator->options.seed = (uint64_t)seed;
    iterator->options.epoch = (uint64_t)epoch + (uint64_t)position + 1;
    iterator->position = 0;
    iterator->begun = iterator->ended = false;
    iterator->share = (rgmi_own_elements){0};
    return RGM_OK;
}

rgm_status rgm_iterator_restore(rgm_iterator *iterator, const void *data, int64_t size)
{
    rgm_status status = RGM_OK;
    rgm_iterator_options options = iterator->options;
    rgm_state_reader body;
    int64_t seed, epoch, position, phase;
    rgmi_tree *tree = NULL;
    rgm_stage *top = NULL;

    RGM_GO(open_state(&body, data, size));
    RGM_GO(rgm_state_get_int(&seed, &body));
    RGM_GO(rgm_state_get_int(&epoch, &body));
    RGM_GO(rgm_state_get_count(&position, &body, RGM_STATE_MOST, "the iterator"));
    RGM_GO(rgm_state_get_count(&phase, &body, PHASE_ENDED, "the iterator's end"));
    RGM_GO(check_recipe(iterator->dataset, &body));
    if (!options.secret)
        options.seed = (uint64_t)seed;
    options.epoch = (uint64_t)epoch;
    if (phase == PHASE_RUNNING) {
        RGM_GO(tree_create(&tree, &top, iterator->dataset, &options, &iterator->stop));
        top->restored_at = position;
        RGM_GO(rgm_stage_restore(top, &body));
    }
    if ((phase == PHASE_START) != (position == 0 && phase != PHASE_ENDED) || body.at != body.size)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "the saved position contradicts itself"));
    tree_release(iterator->tree, iterator->top);
    iterator->tree = tree;
    iterator->top = top;
    iterator->options = options;
    iterator->position = position;
    iterator->begun = false;
    iterator->share = (rgmi_own_elements){0};
    iterator->ended = phase == PHASE_ENDED;
    tree = NULL;
    top = NULL;
done:
    tree_release(tree, top);
    return status;
}

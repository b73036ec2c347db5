/*
 * A saved position of an iterator, data.bin of a checkpoint, restored into recipes like those of
 * training on records, on subgraphs sampled on the way and read from files, on sentence pairs, and
 * into one with the other ops. Its hash and the recipe it names are made to fit, so that each op
 * reads the numbers. What is taken gives some elements and a position that restores again.
 *
 * The corpus is of real runs.
 */
#include <regimen/data.h>
#include <regimen/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

static void must(rgm_status status)
{
    if (status != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        abort();
    }
}

/* ---- recipes ------------------------------------------------------------------------------- */

static rgm_status same(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                       void *payload)
{
    (void)call;
    (void)payload;
    *out = rgm_element_retain(element);
    return RGM_OK;
}

static rgm_status twice(rgm_dataset **out, const rgm_element *element, void *payload)
{
    rgm_element *both[2] = {(rgm_element *)element, (rgm_element *)element};

    (void)payload;
    return rgm_dataset_from_elements(out, both, 2);
}

static rgm_dataset *rows(int64_t count)
{
    rgm_tensor *tensor;
    rgm_dataset *data;

    must(rgm_tensor_create(&tensor, RGM_I64, 1, &count));
    must(rgm_dataset_from_tensors(&data, &tensor, 1));
    rgm_tensor_release(tensor);
    return data;
}

static rgm_dataset *records_recipe(void)
{
    rgm_dataset *data = rows(320);

    must(rgm_dataset_shuffle_all(&data));
    must(rgm_dataset_batch(&data, 16, false));
    must(rgm_dataset_map(&data, same, NULL, NULL, 2));
    return data;
}

static rgm_dataset *private_recipe(void)
{
    rgm_dataset *data = rows(320);

    must(rgm_dataset_poisson(&data, 0.05));
    must(rgm_dataset_map(&data, same, NULL, NULL, 2));
    return data;
}

static rgm_dataset *sampled_recipe(void)
{
    rgm_dataset *data = rows(120);

    must(rgm_dataset_shuffle_all(&data));
    must(rgm_dataset_batch(&data, 8, false));
    must(rgm_dataset_map(&data, same, NULL, NULL, 2));
    must(rgm_dataset_map(&data, same, NULL, NULL, 2));
    return data;
}

static char records_path[64];

static void remove_records(void)
{
    unlink(records_path);
}

static void write_records(void)
{
    rgm_tfrecord_writer *writer;

    if (records_path[0] != '\0')
        return;
    snprintf(records_path, sizeof records_path, "/tmp/regimen-fuzz-%d.tfrecord", (int)getpid());
    if (atexit(remove_records) != 0)
        abort();
    must(rgm_tfrecord_writer_open(&writer, records_path, NULL));
    for (int i = 0; i < 120; i++)
        must(rgm_tfrecord_writer_add(writer, &i, sizeof i));
    must(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
}

static rgm_dataset *files_recipe(void)
{
    rgm_read_tfrecords_options options = RGM_READ_TFRECORDS_OPTIONS_INIT;
    rgm_dataset *data;

    write_records();
    options.cycle_length = 2;
    must(rgm_dataset_list_files(&data, records_path));
    must(rgm_dataset_read_tfrecords(&data, &options));
    must(rgm_dataset_shuffle(&data, 20));
    must(rgm_dataset_batch(&data, 8, false));
    must(rgm_dataset_map(&data, same, NULL, NULL, 2));
    return data;
}

static rgm_dataset *translation_recipe(void)
{
    rgm_token_batch_options options = RGM_TOKEN_BATCH_OPTIONS_INIT;
    const int32_t ids[6] = {3, 4, 5, 6, 7, 8};
    rgm_token_pairs *pairs;
    rgm_dataset *data;

    options.training = true;
    options.tokens = 32;
    options.max_length = 8;
    must(rgm_token_pairs_create(&pairs));
    for (int i = 0; i < 200; i++)
        must(rgm_token_pairs_add(pairs, ids, 1 + i % 6, ids, 1 + i % 6));
    must(rgm_token_batches(&data, pairs, &options));
    rgm_token_pairs_release(pairs);
    must(rgm_dataset_map(&data, same, NULL, NULL, 0));
    return data;
}

static rgm_dataset *other_ops_recipe(void)
{
    rgm_dataset *data = rows(30), *both[2];

    must(rgm_dataset_skip(&data, 2));
    must(rgm_dataset_cache(&data));
    must(rgm_dataset_interleave(&data, twice, NULL, NULL, 3, 1));
    both[0] = data;
    both[1] = rows(10);
    must(rgm_dataset_mix(&data, both, NULL, 2, RGM_MIX_END_ALL));
    rgm_dataset_release(both[0]);
    rgm_dataset_release(both[1]);
    both[0] = data;
    both[1] = rows(40);
    must(rgm_dataset_zip(&data, both, 2));
    rgm_dataset_release(both[0]);
    rgm_dataset_release(both[1]);
    must(rgm_dataset_shard(&data, 2, 1));
    must(rgm_dataset_take(&data, 25));
    return data;
}

static rgm_dataset *(*const recipes[])(void) = {records_recipe,     private_recipe,
                                                sampled_recipe,     files_recipe,
                                                translation_recipe, other_ops_recipe};

/* ---- one position -------------------------------------------------------------------------- */

enum { HEAD = 16 }; /* magic, version, hash */

/** The input as a position of `data`: with its recipe in the place of whatever is named there. */
static bool fit(rgm_text *out, const rgm_dataset *data, const uint8_t *bytes, size_t size)
{
    rgm_state_reader body = {bytes + HEAD, (int64_t)size - HEAD, 0};
    rgm_text recipe = {0};
    const uint8_t *named;
    int64_t number, named_size, before;
    uint64_t hash;

    if (size < HEAD)
        return false;
    for (int i = 0; i < 4; i++) /* seed, epoch, position, phase */
        if (rgm_state_get_int(&number, &body) != RGM_OK)
            return false;
    before = body.at;
    if (rgm_state_get_bytes(&named, &named_size, &body) != RGM_OK)
        return false;
    must(rgm_dataset_print(&recipe, data));
    must(rgm_text_add(out, bytes, HEAD + before));
    must(rgm_state_put_bytes(out, recipe.data, recipe.size));
    must(rgm_text_add(out, body.data + body.at, body.size - body.at));
    hash = rgm_hash64(out->data + HEAD, (size_t)out->size - HEAD);
    memcpy(out->data + 8, &hash, sizeof hash);
    rgm_text_clear(&recipe);
    return true;
}

static void use(rgm_iterator *iterator)
{
    rgm_text again = {0};

    for (int i = 0; i < 3; i++) {
        rgm_element *element;
        rgm_status status = rgm_iterator_next(&element, iterator);

        rgm_element_release(element);
        if (status == RGM_END)
            break;
    }
    must(rgm_iterator_save(&again, iterator));
    must(rgm_iterator_restore(iterator, again.data, again.size));
    rgm_text_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
        rgm_dataset *recipe = recipes[r]();
        rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
        rgm_iterator *iterator;
        rgm_text text = {0};

        if (recipes[r] != other_ops_recipe)
            must(rgm_dataset_repeat(&recipe, -1));
        must(rgm_dataset_prefetch(&recipe, 2));
        options.threads = 2;
        must(rgm_iterator_create(&iterator, recipe, &options));
        if (fit(&text, recipe, data, size) &&
            rgm_iterator_restore(iterator, text.data, text.size) == RGM_OK)
            use(iterator);
        rgm_iterator_release(iterator);
        rgm_dataset_release(recipe);
        rgm_text_clear(&text);
    }
    return 0;
}

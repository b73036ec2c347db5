/*
 * Pairs of sentences in tokens: read from files with a tokenizer, or made by a formula; and their batches
 * as the model is fed them.
 */
#include <string.h>

#include "translation.h"

/* ---- from files ---------------------------------------------------------------------------- */

static rgm_status load_tokenizer(rgm_tokenizer **out, const char *folder, const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, name));
    RGM_GO(rgm_tokenizer_load(out, path));
    if (rgm_tokenizer_pad_id(*out) != 0 || rgm_tokenizer_eos_id(*out) < 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                        "%s: padding has id %lld and the end of a sentence %lld; 0 and another are needed, as "
                        "'regimen text train-tokenizer' makes them",
                        path, (long long)rgm_tokenizer_pad_id(*out), (long long)rgm_tokenizer_eos_id(*out)));
done:
    rgm_free(path);
    return status;
}

static rgm_status load_corpus(rgm_corpus **out, const char *folder, const rgm_texts *files)
{
    rgm_status status = RGM_OK;
    char *source = NULL, *target = NULL;

    RGM_GO(rgm_path_join(&source, folder, files->items[0]));
    if (files->count > 1)
        RGM_GO(rgm_path_join(&target, folder, files->items[1]));
    RGM_GO(target != NULL ? rgm_corpus_load(out, source, target, NULL)
                          : rgm_corpus_load_tsv(out, source, NULL));
done:
    rgm_free(source);
    rgm_free(target);
    return status;
}

static rgm_status load_part(rgmi_parallel *part, const rgmi_parallel_data *data, const char *folder,
                            const rgm_texts *files, int threads)
{
    if (files->count == 0)
        return RGM_OK;
    RGM_TRY(load_corpus(&part->corpus, folder, files));
    return rgm_token_pairs_encode(&part->pairs, part->corpus, data->source, data->target, threads);
}

static rgm_status load_files(rgmi_parallel_data *data, const rgm_translation_options *o, int threads)
{
    const rgm_texts *files[] = {&o->train, &o->valid, &o->test};

    RGM_TRY(load_tokenizer(&data->source, o->path, o->tokenizer));
    if (o->target_tokenizer != NULL)
        RGM_TRY(load_tokenizer(&data->target, o->path, o->target_tokenizer));
    else
        data->target = rgm_tokenizer_retain(data->source);
    data->source_vocabulary = rgm_tokenizer_size(data->source);
    data->target_vocabulary = rgm_tokenizer_size(data->target);
    data->end_id = rgm_tokenizer_eos_id(data->target);
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        RGM_TRY(load_part(&data->parts[mode], data, o->path, files[mode], threads));
    return RGM_OK;
}

/* ---- by a formula -------------------------------------------------------------------------- */

static rgm_status add_reversed(rgm_token_pairs *pairs, int32_t *ids, const rgm_reverse_options *o,
                               const rgm_rng *rng, int64_t *draws)
{
    int64_t spread = o->max_length - o->min_length + 1;
    int64_t length = o->min_length + (int64_t)rgm_rng_below(rng, (uint64_t)(*draws)++, (uint64_t)spread);
    int32_t *backwards = ids + o->max_length + 1;

    for (int64_t i = 0; i < length; i++) {
        uint64_t drawn = rgm_rng_below(rng, (uint64_t)(*draws)++, (uint64_t)(o->vocabulary - 2));
        ids[i] = backwards[length - 1 - i] = (int32_t)(2 + drawn);
    }
    ids[length] = backwards[length] = 1;
    return rgm_token_pairs_add(pairs, ids, length + 1, backwards, length + 1);
}

static rgm_status make_reversed(rgmi_parallel_data *data, const rgm_reverse_options *o, uint64_t seed)
{
    rgm_status status = RGM_OK;
    const int64_t counts[] = {o->train, o->valid, o->test};
    int32_t *ids = NULL;

    data->source_vocabulary = data->target_vocabulary = o->vocabulary;
    data->end_id = 1;
    RGM_GO(RGM_NEW(ids, 2 * (o->max_length + 1)));
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        rgm_rng rng = rgm_rng_stream(seed, "reverse", (uint64_t)mode);
        int64_t draws = 0;
        if (counts[mode] == 0)
            continue;
        RGM_GO(rgm_token_pairs_create(&data->parts[mode].pairs));
        for (int64_t i = 0; i < counts[mode]; i++)
            RGM_GO(add_reversed(data->parts[mode].pairs, ids, o, &rng, &draws));
    }
done:
    rgm_free(ids);
    return status;
}

rgm_status rgmi_parallel_load(rgmi_parallel_data *out, const rgm_translation_options *options,
                              uint64_t seed, int threads)
{
    rgm_status status;

    *out = (rgmi_parallel_data){0};
    status = options->reverse.vocabulary > 0 ? make_reversed(out, &options->reverse, seed)
                                             : load_files(out, options, threads);
    if (status != RGM_OK)
        rgmi_parallel_clear(out);
    return status;
}

void rgmi_parallel_clear(rgmi_parallel_data *data)
{
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        rgm_corpus_release(data->parts[mode].corpus);
        rgm_token_pairs_release(data->parts[mode].pairs);
    }
    rgm_tokenizer_release(data->source);
    rgm_tokenizer_release(data->target);
    *data = (rgmi_parallel_data){0};
}

/* ---- batches ------------------------------------------------------------------------------- */

static rgm_status make_positions(rgm_tensor **out, int64_t count)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(*out)[i] = i;
    return RGM_OK;
}

static rgm_status shift_right(rgm_tensor **out, const rgm_tensor *labels)
{
    int64_t rows = rgm_tensor_dim(labels, 0), length = rgm_tensor_dim(labels, 1);

    RGM_TRY(rgm_tensor_create(out, RGM_I64, 2, (int64_t[]){rows, length}));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < length; i++)
            rgm_tensor_i64(*out)[r * length + i] = i > 0 ? rgm_tensor_i64(labels)[r * length + i - 1] : 0;
    return RGM_OK;
}

/* A map function: source, target and numbers of pairs to the tensors that the model is fed. */
static rgm_status complete(rgm_element **out, const rgm_element *batch, const rgm_map_call *call,
                           void *payload)
{
    rgm_status status = RGM_OK;
    rgm_tensor *tensors[RGMI_BATCH_TENSORS] = {[RGMI_SOURCE] = rgm_element_tensor(batch, 0),
                                               [RGMI_LABELS] = rgm_element_tensor(batch, 1),
                                               [RGMI_PAIRS] = rgm_element_tensor(batch, 2)};

    (void)call, (void)payload;
    RGM_GO(shift_right(&tensors[RGMI_TARGET], tensors[RGMI_LABELS]));
    RGM_GO(make_positions(&tensors[RGMI_SOURCE_POSITIONS], rgm_tensor_dim(tensors[RGMI_SOURCE], 1)));
    RGM_GO(make_positions(&tensors[RGMI_TARGET_POSITIONS], rgm_tensor_dim(tensors[RGMI_LABELS], 1)));
    RGM_GO(rgm_element_create_tensors(out, tensors, RGMI_BATCH_TENSORS));
done:
    rgm_tensor_release(tensors[RGMI_TARGET]);
    rgm_tensor_release(tensors[RGMI_SOURCE_POSITIONS]);
    rgm_tensor_release(tensors[RGMI_TARGET_POSITIONS]);
    return status;
}

rgm_status rgmi_parallel_batches(rgm_dataset **out, const rgmi_parallel_data *data, rgm_mode mode,
                                 const rgm_translation_options *options)
{
    rgm_status status = RGM_OK;
    rgm_token_batch_options batch = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_dataset *made = NULL;

    *out = NULL;
    if (data->parts[mode].pairs == NULL)
        return RGM_OK;
    batch.tokens = options->batch_tokens;
    batch.max_length = options->max_length;
    batch.max_shapes = options->batch_shapes;
    batch.training = mode == RGM_TRAIN;
    batch.dtype = RGM_I64;
    RGM_GO(rgm_token_batches(&made, data->parts[mode].pairs, &batch));
    RGM_GO(rgm_dataset_map(&made, complete, NULL, NULL, 0));
    *out = made;
    made = NULL;
done:
    rgm_dataset_release(made);
    return status;
}

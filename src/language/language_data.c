/*
 * Text as tokens: which files a part is made of, the tokenizer, blocks to train and evaluate on,
 * whole documents to be scored.
 */
#include <string.h>

#include "language_internal.h"

static const char model_file[] = "tokenizer.model", json_file[] = "tokenizer.json";

/* ---- files ----------------------------------------------------------------------------------- */

rgm_file_sets rgmi_language_sets(const rgm_language_options *o)
{
    return (rgm_file_sets){&o->valid_sets, &o->test_sets};
}

static const rgm_texts *files_of(const rgm_language_options *o, int part)
{
    const rgm_texts *own[] = {&o->train, &o->valid, &o->test};
    rgm_file_sets sets = rgmi_language_sets(o);

    return part <= RGM_TEST ? own[part]
                            : rgm_file_sets_files(&sets, part - rgmi_language_part_of_set(0));
}

/** Paths, each of them owned. */
typedef struct paths {
    char **items;
    int64_t count, capacity;
} paths;

/* Add what a path means: itself, or the files that its pattern matches, in order. */
static rgm_status expand(paths *p, const char *path)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    RGM_TRY(rgm_glob(&names, &count, path));
    RGM_GO(RGM_RESERVE(p->items, p->capacity, p->count + count));
    for (int64_t i = 0; i < count; i++) {
        p->items[p->count++] = names[i];
        names[i] = NULL;
    }
done:
    rgm_names_release(names, count);
    return status;
}

static rgm_status list_paths(paths *out, const rgm_language_options *o, const rgm_texts *files)
{
    *out = (paths){0};
    for (int64_t i = 0; i < files->count; i++) {
        char *path;
        rgm_status status;

        RGM_TRY(rgm_path_in(&path, o->path, files->items[i]));
        status = expand(out, path);
        rgm_free(path);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/* A failure with the key of a part's files before it. */
static rgm_status blame(rgm_status status, const rgm_language_options *o, int part)
{
    rgm_file_sets sets = rgmi_language_sets(o);
    char *key = NULL;
    const char *where =
        status == RGM_ERR_NOT_FOUND ? " is not in data.path (elsewhere: --set data.path=DIR)" : "";

    if (status == RGM_OK || status == RGM_ERR_NOMEM)
        return status;
    if (part <= RGM_TEST)
        return rgm_error_prefix(status, "data.%s%s", rgm_mode_name((rgm_mode)part), where);
    RGM_TRY(rgm_file_sets_key(&key, &sets, part - rgmi_language_part_of_set(0)));
    status = rgm_error_prefix(status, "%s%s", key, where);
    rgm_free(key);
    return status;
}

/* ---- tokenizer ------------------------------------------------------------------------------- */

/* The one that the run keeps, of either form; *path stays NULL when it keeps none. */
static rgm_status kept_tokenizer(char **path, const rgm_language_options *o)
{
    static const char *const names[] = {model_file, json_file};

    for (int i = 0; i < 2; i++) {
        RGM_TRY(rgm_path_join(path, o->run_dir, names[i]));
        if (rgm_path_exists(*path))
            return RGM_OK;
        rgm_free(*path);
        *path = NULL;
    }
    if (o->trained) /* another one, of the data of now, might have other pieces */
        return RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "%s keeps no %s or %s, which its weights were trained with", o->run_dir,
                        model_file, json_file);
    return RGM_OK;
}

/* The same text gives the same tokenizer again. */
static rgm_status train_tokenizer(rgmi_language_data *d)
{
    paths files;
    rgm_status status = list_paths(&files, d->options, &d->options->train);

    if (status == RGM_OK)
        status = rgm_tokenizer_train(&d->tokenizer, (const char *const *)files.items, files.count,
                                     &d->options->train_tokenizer);
    rgm_names_release(files.items, files.count);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "data.train_tokenizer");
    return rgm_strdup(&d->tokenizer_path, "as data.train_tokenizer makes it");
}

static rgm_status open_tokenizer(rgmi_language_data *d)
{
    const rgm_language_options *o = d->options;
    rgm_status status;

    if (o->run_dir != NULL && (o->trained || o->tokenizer == NULL))
        RGM_TRY(kept_tokenizer(&d->tokenizer_path, o));
    if (d->tokenizer_path == NULL && o->tokenizer != NULL)
        RGM_TRY(rgm_path_in(&d->tokenizer_path, o->path, o->tokenizer));
    if (d->tokenizer_path == NULL)
        return train_tokenizer(d);
    status = rgm_tokenizer_load(&d->tokenizer, d->tokenizer_path);
    return status == RGM_ERR_NOT_FOUND
               ? rgm_error_prefix(status, "data.tokenizer is not in data.path")
               : status;
}

rgm_status rgmi_language_data_open(rgmi_language_data *out, const rgm_language_options *options,
                                   int threads)
{
    rgm_status status = RGM_OK;
    const void *model;
    int64_t size;

    *out = (rgmi_language_data){.options = options, .threads = threads};
    RGM_GO(open_tokenizer(out));
    model = rgm_tokenizer_model(out->tokenizer, &size);
    out->hash = rgm_hash64(model, (size_t)size);
    if (rgm_tokenizer_eos_id(out->tokenizer) < 0)
        status = RGM_FAIL(RGM_ERR_DATA,
                          "%s has no piece for the end of a document (eos), so that a text could "
                          "not end",
                          out->tokenizer_path);
done:
    if (status != RGM_OK)
        rgmi_language_data_clear(out);
    return status;
}

void rgmi_language_data_clear(rgmi_language_data *data)
{
    for (int part = 0; part < RGMI_LANGUAGE_PARTS; part++)
        rgm_tokens_release(data->parts[part]);
    rgm_tokenizer_release(data->tokenizer);
    rgm_free(data->tokenizer_path);
    *data = (rgmi_language_data){0};
}

void rgmi_language_files(rgm_task_file *out, int64_t *count, const rgmi_language_data *data)
{
    out[0] = (rgm_task_file){.name = model_file, .origin = data->tokenizer_path};
    out[0].data = rgm_tokenizer_model(data->tokenizer, &out[0].size);
    if (*(const char *)out[0].data == '{')
        out[0].name = json_file;
    *count = 1;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static rgm_status open_token_file(rgm_tokens **out, const rgmi_language_data *d, const char *path)
{
    rgm_tokens_info info;

    RGM_TRY(rgm_tokens_open(out, path));
    rgm_tokens_get_info(&info, *out);
    if (info.tokenizer == d->hash)
        return RGM_OK;
    rgm_tokens_release(*out);
    *out = NULL;
    return RGM_FAIL(RGM_ERR_DATA,
                    "%s was made with another tokenizer than %s, so that its ids mean other pieces",
                    path, d->tokenizer_path);
}

static rgm_status read_tokens(rgm_tokens **out, const rgmi_language_data *d, const paths *files)
{
    for (int64_t i = 0; i < files->count; i++)
        if (rgm_tokens_is_file(files->items[i])) {
            if (files->count == 1)
                return open_token_file(out, d, files->items[0]);
            return RGM_FAIL(RGM_ERR_DATA, "%s is a token file: it stands alone, not beside others",
                            files->items[i]);
        }
    return rgm_tokens_encode(out, (const char *const *)files->items, files->count, d->tokenizer,
                             d->options->documents, d->threads);
}

static rgm_status open_part(rgmi_language_data *d, int part)
{
    const rgm_texts *names = files_of(d->options, part);
    rgm_status status;
    paths files;

    if (d->parts[part] != NULL || names->count == 0)
        return RGM_OK;
    status = list_paths(&files, d->options, names);
    if (status == RGM_OK)
        status = read_tokens(&d->parts[part], d, &files);
    rgm_names_release(files.items, files.count);
    return blame(status, d->options, part);
}

rgm_status rgmi_language_batches(rgm_dataset **out, rgmi_language_data *d, int part)
{
    const rgm_language_options *o = d->options;
    rgm_token_block_options blocks = {.length = o->block_length,
                                      .rows = o->batch_tokens / o->block_length,
                                      .packing = o->packing,
                                      .training = part == RGM_TRAIN};

    *out = NULL;
    RGM_TRY(open_part(d, part));
    if (d->parts[part] == NULL)
        return RGM_OK;
    RGM_TRY(blame(rgm_token_blocks(out, d->parts[part], &blocks), o, part));
    return rgm_token_blocks_figures(&d->figures[part], *out);
}

/* ---- whole documents ------------------------------------------------------------------------- */

/** What makes batches of whole documents. */
typedef struct documents {
    rgm_tokens *tokens;
    int64_t count, rows;
} documents;

static void release_documents(void *payload)
{
    documents *d = payload;

    rgm_tokens_release(d->tokens);
    rgm_free(d);
}

static void put_document(rgm_tensor *const *t, int64_t row, const documents *d, int64_t number)
{
    int64_t width = rgm_tensor_dim(t[0], 1), begin, end, bytes;
    rgm_tokens_info info;

    rgm_tokens_get_info(&info, d->tokens);
    rgm_tokens_document(&begin, &end, &bytes, d->tokens, number);
    for (int64_t i = 0; i < end - begin && i < width; i++) { /* more: the file was cut just now */
        int64_t at = row * width + i;

        rgm_tensor_i64(t[RGMI_LANGUAGE_IDS])[at] =
            i > 0 ? rgm_tokens_at(d->tokens, begin + i - 1) : info.begin_id;
        rgm_tensor_i64(t[RGMI_LANGUAGE_LABELS])[at] = rgm_tokens_at(d->tokens, begin + i);
        rgm_tensor_i64(t[RGMI_LANGUAGE_POSITIONS])[at] = i;
        rgm_tensor_i64(t[RGMI_LANGUAGE_SEGMENTS])[at] = 1;
        rgm_tensor_f32(t[RGMI_LANGUAGE_BYTES])[at] = (float)bytes / (float)(end - begin);
    }
    rgm_tensor_i64(t[RGMI_LANGUAGE_DOCUMENTS])[row] = number;
}

static rgm_status get_documents(rgm_element **out, int64_t i, void *payload)
{
    rgm_status status = RGM_OK;
    const documents *d = payload;
    rgm_tensor *t[RGMI_LANGUAGE_DOCUMENTS + 1] = {NULL};
    int64_t first = i * d->rows, rows = d->count - first < d->rows ? d->count - first : d->rows;
    int64_t width = 1, begin, end, bytes;

    for (int64_t r = 0; r < rows; r++) {
        rgm_tokens_document(&begin, &end, &bytes, d->tokens, first + r);
        width = end - begin > width ? end - begin : width;
    }
    for (int k = 0; k <= RGMI_LANGUAGE_DOCUMENTS; k++) {
        RGM_GO(rgm_tensor_create(&t[k], k == RGMI_LANGUAGE_BYTES ? RGM_F32 : RGM_I64,
                                 k == RGMI_LANGUAGE_DOCUMENTS ? 1 : 2, (int64_t[]){rows, width}));
        memset(rgm_tensor_data(t[k]), 0, rgm_tensor_bytes(t[k]));
    }
    for (int64_t r = 0; r < rows; r++)
        put_document(t, r, d, first + r);
    RGM_GO(rgm_tokens_check(d->tokens));
    RGM_GO(rgm_element_create_tensors(out, t, RGMI_LANGUAGE_DOCUMENTS + 1));
done:
    for (int k = 0; k <= RGMI_LANGUAGE_DOCUMENTS; k++)
        rgm_tensor_release(t[k]);
    return status;
}

/* Takes no reference of `tokens` when it fails. */
static rgm_status make_documents(rgm_dataset **out, const rgmi_language_data *data,
                                 rgm_tokens *tokens, int64_t most)
{
    rgm_status status = RGM_OK;
    int64_t longest = 1, begin, end, bytes;
    rgm_tokens_info info;
    documents *d = NULL;

    rgm_tokens_get_info(&info, tokens);
    for (int64_t i = 0; i < info.documents; i++) {
        rgm_tokens_document(&begin, &end, &bytes, tokens, i);
        longest = end - begin > longest ? end - begin : longest;
        if (end - begin > most)
            return RGM_FAIL(
                RGM_ERR_DATA,
                "document %lld has %lld tokens with its end, but model.max_positions is "
                "%lld: it cannot be scored whole",
                (long long)i + 1, (long long)(end - begin), (long long)most);
    }
    RGM_TRY(RGM_NEW(d, 1));
    d->tokens = rgm_tokens_retain(tokens);
    d->count = info.documents;
    d->rows = data->options->batch_tokens / longest > 0 ? data->options->batch_tokens / longest : 1;
    status = rgm_dataset_from_function(out, (d->count + d->rows - 1) / d->rows, get_documents, d,
                                       release_documents);
    if (status != RGM_OK)
        release_documents(d);
    return status;
}

rgm_status rgmi_language_documents(rgm_dataset **out, rgmi_language_data *data, int part,
                                   int64_t most)
{
    *out = NULL;
    RGM_TRY(open_part(data, part));
    if (data->parts[part] == NULL)
        return RGM_OK;
    return blame(make_documents(out, data, data->parts[part], most), data->options, part);
}

rgm_status rgmi_language_lines(rgm_dataset **out, rgmi_language_data *data, const char *files,
                               int64_t most)
{
    rgm_status status = RGM_OK;
    rgm_tokens *tokens = NULL;
    paths list = {0};

    *out = NULL;
    RGM_GO(expand(&list, files));
    RGM_GO(rgm_tokens_encode(&tokens, (const char *const *)list.items, list.count, data->tokenizer,
                             RGM_DOCUMENTS_LINES, data->threads));
    RGM_GO(make_documents(out, data, tokens, most));
done:
    rgm_tokens_release(tokens);
    rgm_names_release(list.items, list.count);
    return status;
}

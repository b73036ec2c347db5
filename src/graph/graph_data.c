/*
 * Data sets on disk: a folder with schema.pbtxt, TFRecord files of tf.train.Examples and split
 * lists, written beside its final name and renamed when it is complete; and reading such folders,
 * or any with a schema and TFRecords.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <regimen/graph_data.h>

#define SHARD_BY_SHARD "examples are numbered shard by shard\n"

void rgm_graph_data_clear(rgm_graph_data *data)
{
    for (int64_t i = 0; data->graphs && i < data->graph_count; i++)
        rgm_graph_release(data->graphs[i]);
    rgm_free(data->graphs);
    rgm_schema_release(data->schema);
    rgm_free(data->split_set);
    rgm_free(data->split_name);
    rgm_tensor_release(data->train);
    rgm_tensor_release(data->valid);
    rgm_tensor_release(data->test);
    memset(data, 0, sizeof *data);
}

/* ---- a folder that appears when it is complete ---- */

rgm_status rgm_graph_folder_begin(char **beside, const char *folder)
{
    size_t size = strlen(folder);
    rgm_status status;

    *beside = NULL;
    while (size > 1 && folder[size - 1] == '/')
        size--;
    if (rgm_path_exists(folder))
        return RGM_FAIL(RGM_ERR_BUSY, "%s is there already; nothing is overwritten", folder);
    RGM_TRY(rgm_strprintf(beside, "%.*s", (int)size, folder));
    status = rgm_path_sweep(*beside); /* of an import that was killed */
    rgm_free(*beside);
    *beside = NULL;
    RGM_TRY(status);
    RGM_TRY(rgm_strprintf(beside, "%.*s.partial-%ld", (int)size, folder, (long)getpid()));
    return rgm_folder_make(*beside);
}

rgm_status rgm_graph_folder_rename(const char *beside, const char *folder)
{
    rgm_status status = RGM_OK;
    char *parent = NULL, *slash;

    RGM_GO(rgm_strdup(&parent, beside));
    slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = 0;
    RGM_GO(rgm_folder_sync(beside));
    if (rename(beside, folder) != 0) {
        status = RGM_FAIL(RGM_ERR_IO, "%s: cannot be renamed from %s: %s", folder, beside,
                          strerror(errno));
        goto done;
    }
    RGM_GO(rgm_folder_sync(slash ? parent : "."));
done:
    rgm_free(parent);
    return status;
}

rgm_status rgm_graph_folder_end(char *beside, const char *folder, rgm_status status)
{
    rgm_error error;

    if (beside == NULL)
        return status;
    if (status == RGM_OK)
        status = rgm_graph_folder_rename(beside, folder);
    if (status != RGM_OK) {
        rgm_error_save(&error, status);
        rgm_folder_remove(beside);
        rgm_error_restore(&error);
    }
    rgm_free(beside);
    return status;
}

/* ---- sharded examples ---- */

/* Files of equal shares, one filled after the other: read one after the other, they give the order
 * of writing to any reader. */
typedef struct shards {
    rgm_tfrecord_writer **writers;
    int64_t count, next, total; /* files; examples so far and in all */
} shards;

static void close_shards(shards *self)
{
    for (int64_t i = 0; self->writers && i < self->count; i++)
        rgm_tfrecord_writer_close(self->writers[i]);
    rgm_free(self->writers);
    self->writers = NULL;
}

rgm_status rgm_graph_shards_check(int64_t count)
{
    if (count < 1 || count > 99999)
        return RGM_FAIL(RGM_ERR_ARG, "%lld shards; 1 to 99999 are possible", (long long)count);
    return RGM_OK;
}

rgm_status rgm_graph_shard_path(char **path, const char *folder, const char *name, int64_t i,
                                int64_t count, bool gzip)
{
    return rgm_strprintf(path, "%s/%s-%05lld-of-%05lld.tfrecord%s", folder, name, (long long)i,
                         (long long)count, gzip ? ".gz" : "");
}

/* FOLDER/NAME-00000-of-0000N.tfrecord and so on, for `total` examples. */
static rgm_status open_shards(shards *self, const char *folder, const char *name, int64_t total,
                              int64_t count, bool gzip)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_writer_options options = {.gzip = gzip};

    memset(self, 0, sizeof *self);
    RGM_TRY(rgm_graph_shards_check(count));
    RGM_GO(RGM_NEW(self->writers, count));
    self->count = count;
    self->total = total;
    for (int64_t i = 0; i < count; i++) {
        char *path = NULL;
        status = rgm_graph_shard_path(&path, folder, name, i, count, gzip);
        if (status == RGM_OK)
            status = rgm_tfrecord_writer_open(&self->writers[i], path, &options);
        rgm_free(path);
        RGM_GO(status);
    }
done:
    if (status != RGM_OK)
        close_shards(self);
    return status;
}

static rgm_status add_example(shards *self, const rgm_text *example)
{
    int64_t shard = self->next++ * self->count / self->total;

    return rgm_tfrecord_writer_add(self->writers[shard], example->data, example->size);
}

static rgm_status finish_shards(shards *self)
{
    for (int64_t i = 0; i < self->count; i++)
        RGM_TRY(rgm_tfrecord_writer_finish(self->writers[i]));
    return RGM_OK;
}

/* ---- saving ---- */

static rgm_status save_numbers(const char *folder, const char *name, const rgm_tensor *numbers)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    if (numbers == NULL)
        return RGM_OK;
    for (int64_t i = 0; i < rgm_tensor_count(numbers); i++)
        RGM_GO(rgm_text_printf(&text, "%lld\n", (long long)rgm_tensor_i64(numbers)[i]));
    RGM_GO(rgm_strprintf(&path, "%s/%s.csv", folder, name));
    RGM_GO(rgm_file_create(path, text.data ? text.data : "", text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

static rgm_status save_split(const rgm_graph_data *data, const char *folder)
{
    rgm_status status = RGM_OK;
    char *below = NULL;

    if (!data->train && !data->valid && !data->test)
        return RGM_OK;
    RGM_GO(rgm_strprintf(&below, "%s/split/%s%s%s", folder,
                         data->split_name ? data->split_name : "default",
                         data->split_set ? "/" : "", data->split_set ? data->split_set : ""));
    RGM_GO(rgm_folder_make(below));
    RGM_GO(save_numbers(below, "train", data->train));
    RGM_GO(save_numbers(below, "valid", data->valid));
    RGM_GO(save_numbers(below, "test", data->test));
done:
    rgm_free(below);
    return status;
}

rgm_status rgm_graph_shards_save(const char *folder, int64_t count)
{
    char *path = NULL;
    rgm_status status;

    if (count == 1)
        return RGM_OK;
    RGM_TRY(rgm_path_join(&path, folder, RGM_SHARDS_FILE));
    status = rgm_file_save(path, SHARD_BY_SHARD, (int64_t)strlen(SHARD_BY_SHARD));
    rgm_free(path);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_graph_data_save(const rgm_graph_data *data, const char *folder,
                               const rgm_graph_data_save_options *options)
{
    rgm_graph_data_save_options defaults = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    char *beside = NULL;
    shards files = {0};
    rgm_text example = {0};

    if (options == NULL)
        options = &defaults;
    RGM_GO(rgm_graph_folder_begin(&beside, folder));
    RGM_GO(rgm_schema_save_in(data->schema, beside));
    RGM_GO(rgm_graph_shards_save(beside, options->shards));
    RGM_GO(
        open_shards(&files, beside, "graphs", data->graph_count, options->shards, options->gzip));
    for (int64_t i = 0; i < data->graph_count; i++) {
        example.size = 0;
        RGM_GO(rgm_graph_encode(&example, data->graphs[i], ""));
        RGM_GO(add_example(&files, &example));
    }
    RGM_GO(finish_shards(&files));
    RGM_GO(save_split(data, beside));
done:
    close_shards(&files);
    rgm_text_clear(&example);
    return rgm_graph_folder_end(beside, folder, status);
}

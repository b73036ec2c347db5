/*
 * Lines that are made a shard at a time: a file each, which is there whole or not at all, so that
 * who is killed loses one shard at most. The shards' size is part of their names, so that another
 * size begins anew.
 */
#include <string.h>

#include "distil_internal.h"

enum { LINES_OF_CHUNK = 256 }; /* after which is asked whether to stop */
#define LARGEST_SHARD (INT64_C(1) << 32)

static rgm_status shard_path(char **out, const rgmi_step_work *work, const rgmi_line_shards *s,
                             int64_t i)
{
    return rgm_strprintf(out, "%s/shards/%lld-%06lld", work->folder, (long long)s->shard,
                         (long long)i);
}

static int64_t size_of(const rgmi_line_shards *s, int64_t i)
{
    int64_t left = s->count - i * s->shard;

    return left < s->shard ? left : s->shard;
}

static void tell_lines(const rgmi_step_work *work, int64_t done, int64_t total)
{
    if (work->hooks->lines != NULL)
        work->hooks->lines(done, total, work->hooks->payload);
}

static rgm_status make_shard(const rgmi_step_work *work, const rgmi_line_shards *s, int64_t i,
                             const char *path)
{
    rgm_status status = RGM_OK;
    int64_t from = i * s->shard, end = from + size_of(s, i);
    rgm_text text = {0};

    while (from < end) {
        int64_t count = end - from < LINES_OF_CHUNK ? end - from : LINES_OF_CHUNK;

        if (rgmi_should_stop(work))
            RGM_GO(RGM_STOPPED);
        RGM_GO(s->make(&text, from, count, s->payload));
        from += count;
        tell_lines(work, from, s->count);
    }
    RGM_GO(rgm_file_save_own(path, text.size > 0 ? text.data : "", text.size));
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status take_shard(const rgmi_line_shards *s, int64_t i, const char *path)
{
    rgm_status status = RGM_OK;
    char *data = NULL, *line, *end;
    int64_t size, number = i * s->shard, last = number + size_of(s, i);

    RGM_GO(rgm_file_load(&data, &size, path, LARGEST_SHARD));
    line = data;
    while (number < last && (end = memchr(line, '\n', (size_t)(data + size - line))) != NULL) {
        RGM_GO(s->take(number++, (rgm_str){.data = line, .size = end - line}, s->payload));
        line = end + 1;
    }
    if (number < last || line != data + size)
        status = RGM_FAIL(RGM_ERR_FORMAT, "'%s' has not the lines of its shard: delete it", path);
done:
    rgm_free(data);
    return status;
}

rgm_status rgmi_shards_run(const rgmi_step_work *work, const rgmi_line_shards *s)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, *path = NULL;
    int64_t shards = (s->count + s->shard - 1) / s->shard;

    RGM_GO(rgm_path_join(&folder, work->folder, "shards"));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(rgm_folder_sweep(folder));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < shards; i++) {
            RGM_GO(shard_path(&path, work, s, i));
            if (pass == 0 && !rgm_path_exists(path))
                RGM_GO(make_shard(work, s, i, path));
            if (pass == 1)
                RGM_GO(take_shard(s, i, path));
            rgm_free(path);
            path = NULL;
        }
done:
    rgm_free(folder);
    rgm_free(path);
    return status;
}

rgm_status rgmi_shards_remove(const rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    char *folder;

    RGM_TRY(rgm_path_join(&folder, work->folder, "shards"));
    if (rgm_path_exists(folder))
        status = rgm_folder_remove(folder);
    rgm_free(folder);
    return status;
}

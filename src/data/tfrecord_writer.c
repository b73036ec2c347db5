/*
 * Writing TFRecord files, one or N shards, plain or gzip. Every shard is written under a temporary
 * name in the same folder. The shards are renamed only when all are complete and synced.
 */
#include "data_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 64 << 10, MAX_SHARDS = 99999 };

typedef struct shard {
    int fd;
    char *path;
    char *temporary;
    uint8_t *buffer;
    int64_t filled;
    z_stream z;
    bool z_open;
} shard;

struct rgm_tfrecord_writer {
    shard *shards;
    int64_t shard_count;
    int64_t records;
    bool gzip;
    bool failed;
    bool finished;
};

bool rgmi_parse_shards(const char *path, int64_t *base_size, int64_t *shards)
{
    const char *at = strrchr(path, '@');
    int64_t n = 0;

    if (at == NULL || at[1] == '\0')
        return false;
    for (const char *p = at + 1; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || n > MAX_SHARDS)
            return false;
        n = n * 10 + (*p - '0');
    }
    *base_size = at - path;
    *shards = n;
    return true;
}

rgm_status rgmi_shard_path(char **out, const char *path, int64_t base_size, int64_t i,
                           int64_t shards)
{
    return rgm_strprintf(out, "%.*s-%05lld-of-%05lld", (int)base_size, path, (long long)i,
                         (long long)shards);
}

const char *rgmi_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

rgm_status rgm_tfrecord_paths(char ***paths, int64_t *count, const char *pattern)
{
    rgm_status status = RGM_OK;
    int64_t base_size, shards;
    char **names = NULL;
    int64_t made = 0;

    *paths = NULL;
    *count = 0;
    if (!rgmi_parse_shards(pattern, &base_size, &shards))
        return rgm_glob(paths, count, pattern);
    if (shards < 1 || shards > MAX_SHARDS)
        return RGM_FAIL(RGM_ERR_ARG, "%s: %lld shards; 1 to %d are possible", pattern,
                        (long long)shards, MAX_SHARDS);
    RGM_GO(RGM_NEW(names, shards));
    for (; made < shards; made++) {
        RGM_GO(rgmi_shard_path(&names[made], pattern, base_size, made, shards));
        if (!rgm_path_exists(names[made])) {
            status =
                RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: shard %s does not exist", pattern, names[made]);
            made++;
            goto done;
        }
    }
    *paths = names;
    *count = shards;
    names = NULL;
done:
    if (names != NULL)
        rgm_names_release(names, made);
    return status;
}

/* ---- the record files of a folder ------------------------------------------------------------ */

/* "FOLDER/STEM-00002-of-00004.tfrecord"; total 0: a file that is whole by itself. */
typedef struct shard_name {
    int stem;
    int64_t number, total;
} shard_name;

/* Five digits; -1: there are none. */
static int64_t five_digits(const char *at)
{
    int64_t n = 0;

    for (int i = 0; i < 5; i++) {
        if (at[i] < '0' || at[i] > '9')
            return -1;
        n = n * 10 + (at[i] - '0');
    }
    return n;
}

static shard_name shard_name_of(const char *path, const char *ending)
{
    static const char tail[] = "-00000-of-00000";
    int64_t size = (int64_t)(strlen(path) - strlen(ending) - strlen(tail));
    shard_name name = {0};

    if (rgmi_base_name(path) - path > size || path[size] != '-' ||
        strncmp(path + size + 6, "-of-", 4) != 0)
        return name;
    name = (shard_name){(int)size, five_digits(path + size + 1), five_digits(path + size + 10)};
    if (name.number < 0 || name.total < 0)
        name.total = 0;
    return name;
}

/* Of `count` shards, in order, one is not there. */
static rgm_status tell_missing(char *const *paths, int64_t count, shard_name name,
                               const char *ending)
{
    int64_t missing = 0;

    while (missing < count && shard_name_of(paths[missing], ending).number == missing)
        missing++;
    return RGM_FAIL(RGM_ERR_DATA,
                    "%.*s-%05lld-of-%05lld%s is not there: %lld of its %lld files are; copy it "
                    "again, or write them all anew",
                    name.stem, paths[0], (long long)missing, (long long)name.total, ending,
                    (long long)count, (long long)name.total);
}

/* A part of the shards is no folder of records, and neither are those of two writings. */
static rgm_status check_shards(char *const *paths, int64_t count, const char *ending)
{
    for (int64_t i = 0, end; i < count; i = end) {
        shard_name first = shard_name_of(paths[i], ending);

        for (end = i + 1; end < count && first.total > 0; end++) {
            shard_name next = shard_name_of(paths[end], ending);

            if (next.total == 0 || next.stem != first.stem ||
                strncmp(paths[end], paths[i], (size_t)first.stem) != 0)
                break;
            if (next.total != first.total)
                return RGM_FAIL(RGM_ERR_DATA,
                                "%s and %s are of two writings; remove the files of one", paths[i],
                                rgmi_base_name(paths[end]));
        }
        if (first.total > 0 && end - i != first.total)
            return tell_missing(paths + i, end - i, first, ending);
    }
    return RGM_OK;
}

/* None is no error. */
static rgm_status find_records(char ***paths, int64_t *count, const char *folder,
                               const char *prefix, const char *ending)
{
    rgm_status status;
    char *pattern;

    RGM_TRY(rgm_strprintf(&pattern, "%s/%s*%s", folder, prefix, ending));
    status = rgm_glob(paths, count, pattern);
    rgm_free(pattern);
    if (status != RGM_ERR_NOT_FOUND)
        return status;
    rgm_error_reset();
    return RGM_OK;
}

rgm_status rgm_tfrecord_folder(char ***paths, int64_t *count, const char *folder,
                               const char *prefix)
{
    static const char *const endings[] = {".tfrecord", ".tfrecord.gz"};
    rgm_status status = RGM_OK;
    char **found[2] = {NULL};
    int64_t counts[2] = {0};
    int kind;

    *paths = NULL;
    *count = 0;
    for (int i = 0; i < 2; i++)
        RGM_GO(find_records(&found[i], &counts[i], folder, prefix, endings[i]));
    if (counts[0] > 0 && counts[1] > 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                        "%s and %s: which are meant, compressed files or the others? Remove these "
                        "or those",
                        found[0][0], rgmi_base_name(found[1][0])));
    if (counts[0] + counts[1] == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "no file matches '%s/%s*.tfrecord', or .tfrecord.gz",
                        folder, prefix));
    kind = counts[1] > 0;
    RGM_GO(check_shards(found[kind], counts[kind], endings[kind]));
    *paths = found[kind];
    *count = counts[kind];
    found[kind] = NULL;
done:
    for (int i = 0; i < 2; i++)
        rgm_names_release(found[i], counts[i]);
    return status;
}

static void *zlib_alloc(void *payload, unsigned count, unsigned size)
{
    (void)payload;
    return rgm_calloc(count, size);
}

static void zlib_free(void *payload, void *memory)
{
    (void)payload;
    rgm_free(memory);
}

/** Takes the path over, also on failure. */
static rgm_status shard_open(shard *s, char *path, bool gzip)
{
    struct stat info;

    s->path = path;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return RGM_FAIL(RGM_ERR_IO, "%s: is there already, and is no file that could be replaced",
                        path);
    s->buffer = rgm_malloc(BUFFER_SIZE);
    if (s->buffer == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory for the write buffer", path);
    for (int attempt = 0; s->fd < 0; attempt++) {
        char *temporary;

        RGM_TRY(rgm_strprintf(&temporary, "%s.tmp-%ld-%d", path, (long)getpid(), attempt));
        s->fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (s->fd >= 0) {
            s->temporary = temporary;
            break;
        }
        rgm_free(temporary);
        if (errno != EINTR && (errno != EEXIST || attempt > 1000))
            return RGM_FAIL(errno == ENOENT ? RGM_ERR_NOT_FOUND : RGM_ERR_IO,
                            "%s: cannot create: %s", path, strerror(errno));
    }
    if (gzip) {
        s->z.zalloc = zlib_alloc;
        s->z.zfree = zlib_free;
        if (deflateInit2(&s->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            return RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory in deflate", path);
        s->z_open = true;
        s->z.next_out = s->buffer;
        s->z.avail_out = BUFFER_SIZE;
    }
    return RGM_OK;
}

static rgm_status shard_deflate(shard *s, const void *data, int64_t size, int flush)
{
    const uint8_t *p = data;

    do {
        unsigned step = size > (1 << 30) ? 1u << 30 : (unsigned)size;
        int code;

        s->z.next_in = (Bytef *)p;
        s->z.avail_in = step;
        do {
            code = deflate(&s->z, size > (int64_t)step ? Z_NO_FLUSH : flush);
            if (s->z.avail_out == 0 || (flush == Z_FINISH && code == Z_STREAM_END)) {
                RGM_TRY(rgm_write_all(s->fd, s->buffer, BUFFER_SIZE - (int64_t)s->z.avail_out,
                                      s->temporary));
                s->z.next_out = s->buffer;
                s->z.avail_out = BUFFER_SIZE;
            }
        } while (s->z.avail_in > 0 || (flush == Z_FINISH && code == Z_OK));
        p += step;
        size -= step;
    } while (size > 0);
    return RGM_OK;
}

static rgm_status shard_write(shard *s, const void *data, int64_t size)
{
    if (s->z_open)
        return size > 0 ? shard_deflate(s, data, size, Z_NO_FLUSH) : RGM_OK;
    if (size > BUFFER_SIZE - s->filled) {
        RGM_TRY(rgm_write_all(s->fd, s->buffer, s->filled, s->temporary));
        s->filled = 0;
    }
    if (size > BUFFER_SIZE)
        return rgm_write_all(s->fd, data, size, s->temporary);
    memcpy(s->buffer + s->filled, data, (size_t)size);
    s->filled += size;
    return RGM_OK;
}

/** Everything on disk, the descriptor closed. */
static rgm_status shard_complete(shard *s)
{
    int fd = s->fd;

    if (s->z_open)
        RGM_TRY(shard_deflate(s, "", 0, Z_FINISH));
    else
        RGM_TRY(rgm_write_all(s->fd, s->buffer, s->filled, s->temporary));
    if (fsync(fd) < 0)
        return RGM_FAIL(RGM_ERR_IO, "%s: fsync: %s", s->temporary, strerror(errno));
    s->fd = -1;
    if (close(fd) < 0)
        return RGM_FAIL(RGM_ERR_IO, "%s: close: %s", s->temporary, strerror(errno));
    return RGM_OK;
}

rgm_status rgm_tfrecord_writer_open(rgm_tfrecord_writer **out, const char *path,
                                    const rgm_tfrecord_writer_options *options)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_writer *writer = NULL;
    int64_t base_size = 0, shards = 1;
    bool sharded = rgmi_parse_shards(path, &base_size, &shards);

    *out = NULL;
    if (shards < 1 || shards > MAX_SHARDS)
        return RGM_FAIL(RGM_ERR_ARG, "%s: %lld shards; 1 to %d are possible", path,
                        (long long)shards, MAX_SHARDS);
    RGM_GO(RGM_NEW(writer, 1));
    writer->gzip = options != NULL && options->gzip;
    RGM_GO(RGM_NEW(writer->shards, shards));
    writer->shard_count = shards;
    for (int64_t i = 0; i < shards; i++)
        writer->shards[i].fd = -1;
    for (int64_t i = 0; i < shards; i++) {
        char *name;
        if (sharded)
            RGM_GO(rgmi_shard_path(&name, path, base_size, i, shards));
        else
            RGM_GO(rgm_strdup(&name, path));
        RGM_GO(shard_open(&writer->shards[i], name, writer->gzip));
    }
    *out = writer;
    writer = NULL;
done:
    rgm_tfrecord_writer_close(writer);
    return status;
}

rgm_status rgm_tfrecord_writer_add(rgm_tfrecord_writer *writer, const void *data, int64_t size)
{
    rgm_status status = RGM_OK;
    uint8_t head[12], tail[4];
    shard *s = &writer->shards[writer->records % writer->shard_count];

    if (size < 0 || writer->finished || writer->failed)
        return RGM_FAIL(RGM_ERR_ARG, "%s: cannot add a record of %lld bytes: %s", s->path,
                        (long long)size,
                        writer->failed     ? "writing failed before"
                        : writer->finished ? "the writer is finished"
                                           : "negative size");
    rgm_tfrecord_frame(head, tail, data, size);
    RGM_GO(shard_write(s, head, sizeof head));
    RGM_GO(shard_write(s, data, size));
    RGM_GO(shard_write(s, tail, sizeof tail));
    writer->records++;
done:
    writer->failed = status != RGM_OK;
    return status;
}

static rgm_status sync_folder_of(const char *path)
{
    rgm_status status = RGM_OK;
    char *folder = NULL;
    int64_t size = rgmi_base_name(path) - path;

    if (size == 0)
        RGM_GO(rgm_strdup(&folder, "."));
    else
        RGM_GO(rgm_strndup(&folder, path, (size_t)size));
    RGM_GO(rgm_folder_sync(folder));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgm_tfrecord_writer_finish(rgm_tfrecord_writer *writer)
{
    rgm_status status = RGM_OK;

    if (writer->finished || writer->failed)
        return RGM_FAIL(RGM_ERR_ARG, "%s: cannot finish: %s", writer->shards[0].path,
                        writer->failed ? "writing failed before" : "finished already");
    for (int64_t i = 0; i < writer->shard_count; i++)
        RGM_GO(shard_complete(&writer->shards[i]));
    for (int64_t i = 0; i < writer->shard_count; i++) {
        shard *s = &writer->shards[i];
        if (rename(s->temporary, s->path) < 0)
            RGM_GO(RGM_FAIL(RGM_ERR_IO, "%s: renaming %s: %s", s->path, s->temporary,
                            strerror(errno)));
        rgm_free(s->temporary);
        s->temporary = NULL;
    }
    RGM_GO(sync_folder_of(writer->shards[0].path));
    writer->finished = true;
done:
    writer->failed = status != RGM_OK;
    return status;
}

void rgm_tfrecord_writer_close(rgm_tfrecord_writer *writer)
{
    if (writer == NULL)
        return;
    for (int64_t i = 0; writer->shards != NULL && i < writer->shard_count; i++) {
        shard *s = &writer->shards[i];
        if (s->fd >= 0)
            close(s->fd);
        if (s->temporary != NULL)
            unlink(s->temporary);
        if (s->z_open)
            deflateEnd(&s->z);
        rgm_free(s->temporary);
        rgm_free(s->path);
        rgm_free(s->buffer);
    }
    rgm_free(writer->shards);
    rgm_free(writer);
}

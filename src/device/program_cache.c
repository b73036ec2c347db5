/*
 * Compiled programs on disk, in $XDG_CACHE_HOME/regimen/programs or ~/.cache/regimen/programs: a
 * file each, named by the hash of its key, which is everything that the result depends on. The key
 * stands in the file too and is compared whole, the binary has a checksum, and files appear in one
 * step: a damaged one, or one of another key, is as good as none. The oldest go when the folder
 * grows.
 */
#include "device_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((int64_t)256 << 20)

typedef struct header {
    char magic[8];
    uint64_t key, binary; /* bytes of each; they follow */
    uint32_t checksum;    /* of the binary */
    uint32_t version;
} header;

static const header expected = {.magic = "RGMPROG", .version = 1};

/* NULL: there is no place for it. */
static char *cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder = NULL;
    rgm_status status = RGM_ERR_NOT_FOUND;

    if (cache != NULL && cache[0] == '/')
        status = rgm_strprintf(&folder, "%s/regimen/programs", cache);
    else if (home != NULL && home[0] == '/')
        status = rgm_strprintf(&folder, "%s/.cache/regimen/programs", home);
    return status == RGM_OK ? folder : NULL;
}

static char *cache_path(const char *folder, const char *key)
{
    char *path = NULL;

    if (folder == NULL ||
        rgm_strprintf(&path, "%s/%016" PRIx64, folder, rgm_hash64(key, strlen(key))) != RGM_OK)
        return NULL;
    return path;
}

static bool is_whole(const char *data, int64_t size, const char *key)
{
    header h;

    if (size < (int64_t)sizeof h)
        return false;
    memcpy(&h, data, sizeof h);
    if (memcmp(h.magic, expected.magic, sizeof h.magic) != 0 || h.version != expected.version ||
        h.key != strlen(key) || h.key > (uint64_t)size || h.binary > (uint64_t)size ||
        sizeof h + h.key + h.binary != (uint64_t)size)
        return false;
    return memcmp(data + sizeof h, key, h.key) == 0 &&
           rgm_crc32c(0, data + sizeof h + h.key, h.binary) == h.checksum;
}

bool rgmi_program_cache_load(rgm_text *binary, const char *key)
{
    char *folder = cache_folder(), *path = cache_path(folder, key), *data = NULL;
    size_t before = sizeof(header) + strlen(key);
    int64_t size;
    bool found = false;

    if (path != NULL && rgm_path_exists(path) &&
        rgm_file_load(&data, &size, path, MOST_BYTES) == RGM_OK && is_whole(data, size, key)) {
        found = rgm_text_add(binary, data + before, size - (int64_t)before) == RGM_OK;
        (void)utimensat(AT_FDCWD, path, NULL, 0); /* it was used just now */
    }
    rgm_free(data);
    rgm_free(path);
    rgm_free(folder);
    return found;
}

/* ---- what is saved, and what goes for it ---------------------------------------------------- */

typedef struct entry {
    char *path;
    int64_t bytes;
    struct timespec used;
} entry;

static int older_first(const void *left, const void *right)
{
    const struct timespec *a = &((const entry *)left)->used, *b = &((const entry *)right)->used;

    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

/* Removes the files that were not used for longest once there are too many bytes of them. */
static rgm_status keep_small(const char *folder)
{
    char **names = NULL;
    int64_t count = 0, total = 0;
    entry *entries = NULL;
    rgm_status status;

    RGM_GO(rgm_folder_list(&names, &count, folder));
    RGM_GO(RGM_NEW(entries, count));
    for (int64_t i = 0; i < count; i++) {
        struct stat s;
        RGM_GO(rgm_path_join(&entries[i].path, folder, names[i]));
        if (stat(entries[i].path, &s) != 0)
            continue; /* somebody else removed it */
        entries[i].bytes = s.st_size;
        entries[i].used = s.st_mtim;
        total += s.st_size;
    }
    if (total > MOST_BYTES)
        qsort(entries, (size_t)count, sizeof *entries, older_first);
    for (int64_t i = 0; i < count && total > MOST_BYTES; i++)
        if (unlink(entries[i].path) == 0)
            total -= entries[i].bytes;
done:
    for (int64_t i = 0; entries != NULL && i < count; i++)
        rgm_free(entries[i].path);
    rgm_free(entries);
    rgm_names_release(names, count);
    return status;
}

static rgm_status save(const char *folder, const char *path, const char *key,
                       const rgm_text *binary)
{
    header h = expected;
    rgm_text file = {0};
    rgm_status status;

    h.key = strlen(key);
    h.binary = (uint64_t)binary->size;
    h.checksum = rgm_crc32c(0, binary->data, (size_t)binary->size);
    RGM_GO(rgm_text_add(&file, &h, sizeof h));
    RGM_GO(rgm_text_add(&file, key, (int64_t)h.key));
    RGM_GO(rgm_text_add(&file, binary->data, binary->size));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(rgm_file_save(path, file.data, file.size));
    status = keep_small(folder);
done:
    rgm_text_clear(&file);
    return status;
}

void rgmi_program_cache_save(const char *key, const rgm_text *binary)
{
    char *folder = cache_folder(), *path = cache_path(folder, key);

    if (path != NULL && binary->size > 0 && save(folder, path, key, binary) != RGM_OK)
        rgm_error_reset(); /* it is compiled again the next time */
    rgm_free(path);
    rgm_free(folder);
}

/*
 * Searchers and samplers out of a shared object: "./mine.so", or "./mine.so:NAME" of several. The
 * object stays loaded, since states and messages may point into it, and its bytes are part of what
 * a saved state is of: a search does not go on by other code.
 */
#include "search_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WHOLE_OBJECT ((int64_t)64 << 20) /* bytes */

/* The size of the path in "dir/mine.so:NAME"; 0: it names no object. */
static size_t path_size(const char *name)
{
    const char *colon = strrchr(name, ':');
    size_t size = colon != NULL ? (size_t)(colon - name) : strlen(name);

    return size > 3 && memcmp(name + size - 3, ".so", 3) == 0 ? size : 0;
}

bool rgmi_is_object(const char *name)
{
    return path_size(name) > 0;
}

/* NAME, or "mine" of "dir/mine.so". */
static void row_name(char out[128], const char *name)
{
    size_t size = path_size(name);
    const char *begin = name;

    if (name[size] == ':') {
        snprintf(out, 128, "%.127s", name + size + 1);
        return;
    }
    for (size_t i = 0; i < size; i++)
        if (name[i] == '/')
            begin = name + i + 1;
    size -= (size_t)(begin - name) + 3;
    snprintf(out, 128, "%.*s", (int)(size < 127 ? size : 127), begin);
}

rgm_status rgmi_hash_file(uint64_t *hash, const char *path, int64_t whole)
{
    char sha256[RGM_SHA256_ROOM], *data = NULL;
    rgm_status status = RGM_OK;
    struct stat info;
    int64_t size;
    uint64_t own;

    if (stat(path, &info) == 0 && info.st_size <= whole) {
        RGM_GO(rgm_file_load(&data, &size, path, whole));
        own = rgm_hash64(data, (size_t)size);
    } else {
        RGM_GO(rgm_file_sha256(sha256, NULL, path));
        own = rgm_hash64(sha256, strlen(sha256));
    }
    *hash = (*hash << 1 | *hash >> 63) ^ own; /* the same file twice is not none */
done:
    rgm_free(data);
    return status;
}

static rgm_status find_row(const void **row, const char *path, const char *kind, const char *name,
                           int64_t size)
{
    char symbol[200];
    const rgm_row_object *found;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (object == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s cannot be loaded: %s", path, dlerror());
    snprintf(symbol, sizeof symbol, "rgm_%s_object_%s", kind, name);
    found = dlsym(object, symbol);
    dlclose(object); /* it stays, as it was asked to */
    if (found == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s has no %s '%s'; RGM_%s_OBJECT(%s, row) makes it, and FILE.so:NAME "
                        "takes another",
                        path, kind, name, strcmp(kind, "searcher") == 0 ? "SEARCHER" : "SAMPLER",
                        name);
    if (found->size != size)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s was compiled for another version of Regimen: compile it anew", path);
    *row = found->row;
    return RGM_OK;
}

rgm_status rgmi_object_row(const void **row, uint64_t *hash, const char *kind, const char *name,
                           int64_t size, const rgm_search_rows *own)
{
    rgm_status status = RGM_OK;
    char *path = NULL, of_row[128];
    size_t path_bytes = path_size(name);

    *row = NULL;
    if (own == NULL || !own->objects)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "%s '%.200s' is code, and this process loads none: start the master with "
                        "--own-searchers",
                        kind, name));
    RGM_GO(rgm_strprintf(&path, "%s%.*s", memchr(name, '/', path_bytes) != NULL ? "" : "./",
                         (int)path_bytes, name));
    row_name(of_row, name);
    if (!rgm_path_exists(path))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s: there is no %s", kind, path));
    RGM_GO(rgm_path_refuse_pipe(path));
    RGM_GO(rgmi_hash_file(hash, path, WHOLE_OBJECT));
    RGM_GO(find_row(row, path, kind, of_row, size));
done:
    rgm_free(path);
    return status;
}

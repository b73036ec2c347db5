/* Shared by the tests of what reads .npz: an archive that is put together by hand. */
#ifndef RGM_NPZ_CHECK_H
#define RGM_NPZ_CHECK_H

#include "check.h"

#include <regimen/tensor.h>

#define NPY_LINE(type, order, shape)                                                               \
    "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }\n"

/** An archive that grows, and its directory. */
typedef struct archive {
    rgm_text bytes, directory;
    int count;
} archive;

static inline void archive_put(rgm_text *to, uint64_t number, int bytes)
{
    for (; bytes > 0; bytes--, number >>= 8)
        CHECK_OK(rgm_text_add(to, (const char[]){(char)number}, 1));
}

/* A file of the archive; numpy has 20 bytes more behind the name in front of the data. */
static inline void archive_add(archive *a, const char *name, const void *data, int64_t size,
                               int method)
{
    uint64_t at = (uint64_t)a->bytes.size, length = strlen(name);

    CHECK_OK(rgm_text_add(&a->bytes, "PK\3\4", 4));
    archive_put(&a->bytes, 0, 22);
    archive_put(&a->bytes, length, 2);
    archive_put(&a->bytes, 20, 2);
    CHECK_OK(rgm_text_add(&a->bytes, name, (int64_t)length));
    archive_put(&a->bytes, 0, 20);
    CHECK_OK(rgm_text_add(&a->bytes, data, size));
    CHECK_OK(rgm_text_add(&a->directory, "PK\1\2", 4));
    archive_put(&a->directory, 0, 6);
    archive_put(&a->directory, (uint64_t)method, 2);
    archive_put(&a->directory, 0, 8);
    archive_put(&a->directory, (uint64_t)size, 4);
    archive_put(&a->directory, (uint64_t)size, 4);
    archive_put(&a->directory, length, 2);
    archive_put(&a->directory, 0, 12);
    archive_put(&a->directory, at, 4);
    CHECK_OK(rgm_text_add(&a->directory, name, (int64_t)length));
    a->count++;
}

/* A .npy of a line of Python and numbers. */
static inline void archive_add_array(archive *a, const char *name, const char *line,
                                     const void *data, int64_t size)
{
    rgm_text npy = {0};

    CHECK_OK(rgm_text_add(&npy, "\x93NUMPY\1\0", 8));
    archive_put(&npy, strlen(line), 2);
    CHECK_OK(rgm_text_printf(&npy, "%s", line));
    CHECK_OK(rgm_text_add(&npy, data, size));
    archive_add(a, name, npy.data, npy.size, 0);
    rgm_text_clear(&npy);
}

static inline void archive_finish(archive *a)
{
    uint64_t at = (uint64_t)a->bytes.size, size = (uint64_t)a->directory.size;

    CHECK_OK(rgm_text_add(&a->bytes, a->directory.data, a->directory.size));
    CHECK_OK(rgm_text_add(&a->bytes, "PK\5\6", 4));
    archive_put(&a->bytes, 0, 4);
    archive_put(&a->bytes, (uint64_t)a->count, 2);
    archive_put(&a->bytes, (uint64_t)a->count, 2);
    archive_put(&a->bytes, size, 4);
    archive_put(&a->bytes, at, 4);
    archive_put(&a->bytes, 0, 2);
}

static inline void archive_clear(archive *a)
{
    rgm_text_clear(&a->bytes);
    rgm_text_clear(&a->directory);
}

#endif

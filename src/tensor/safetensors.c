/*
 * Named tensors in one safetensors file: 8 bytes of header length (little-endian), a JSON header,
 * then the data. Data are read on demand with pread(), not mapped, so a file that is truncated
 * meanwhile gives an error, not a SIGBUS.
 */
#include "safetensors_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors data are little-endian; this build would have to swap them"
#endif

struct rgm_safetensors {
    char *name;
    int fd;              /* -1: from memory */
    const uint8_t *data; /* the whole file, when from memory */
    int64_t data_begin;
    rgmi_st_header header;
};

/* ---- writing ------------------------------------------------------------------------------- */

static rgm_status check_name(const char *name, const char *what)
{
    if (rgm_utf8_check(name, (int64_t)strlen(name)) >= 0)
        return RGM_FAIL(RGM_ERR_ARG, "%s '%s' is not valid UTF-8", what, name);
    return RGM_OK;
}

/* A tensor to write, and its place in the data. */
typedef struct place {
    const rgm_named_tensor *named;
    int64_t begin;
} place;

static int compare_place_names(const void *a, const void *b)
{
    return strcmp(((const place *)a)->named->name, ((const place *)b)->named->name);
}

/* Wide types first, so that every tensor's data are aligned to its type; then by name. */
static int compare_layout(const void *a, const void *b)
{
    const rgm_named_tensor *s = (*(place *const *)a)->named, *t = (*(place *const *)b)->named;
    size_t s_size = rgm_dtype_size(rgm_tensor_dtype(s->tensor));
    size_t t_size = rgm_dtype_size(rgm_tensor_dtype(t->tensor));

    return s_size != t_size ? (s_size > t_size ? -1 : 1) : strcmp(s->name, t->name);
}

static rgm_status check_tensors(const place *sorted, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const rgm_named_tensor *n = sorted[i].named;
        RGM_TRY(check_name(n->name, "tensor name"));
        if (strcmp(n->name, "__metadata__") == 0)
            return RGM_FAIL(RGM_ERR_ARG, "a tensor cannot be called __metadata__");
        if (i > 0 && strcmp(sorted[i - 1].named->name, n->name) == 0)
            return RGM_FAIL(RGM_ERR_ARG, "two tensors are called '%s'", n->name);
        if (rgmi_st_dtype_name(rgm_tensor_dtype(n->tensor)) == NULL)
            return RGM_FAIL(RGM_ERR_DTYPE, "tensor '%s' is %s, which safetensors does not store",
                            n->name, rgm_dtype_name(rgm_tensor_dtype(n->tensor)));
    }
    return RGM_OK;
}

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

static rgm_status print_metadata(rgm_text *out, const char *const *metadata, int64_t count)
{
    rgm_status status = RGM_OK;
    const char *const **pairs = NULL;

    RGM_GO(RGM_NEW(pairs, count));
    for (int64_t i = 0; i < count; i++) {
        pairs[i] = &metadata[2 * i];
        RGM_GO(check_name(pairs[i][0], "metadata key"));
        RGM_GO(check_name(pairs[i][1], "metadata value"));
    }
    qsort(pairs, (size_t)count, sizeof *pairs, compare_pairs);
    RGM_GO(rgm_text_printf(out, "\"__metadata__\":{"));
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(pairs[i - 1][0], pairs[i][0]) == 0)
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "metadata key '%s' is there twice", pairs[i][0]));
        if (i > 0)
            RGM_GO(rgm_text_add(out, ",", 1));
        RGM_GO(rgm_json_print_text(out, pairs[i][0]));
        RGM_GO(rgm_text_add(out, ":", 1));
        RGM_GO(rgm_json_print_text(out, pairs[i][1]));
    }
    RGM_GO(rgm_text_add(out, "}", 1));
done:
    rgm_free(pairs);
    return status;
}

static rgm_status print_entry(rgm_text *out, const place *p)
{
    const rgm_tensor *t = p->named->tensor;

    RGM_TRY(rgm_json_print_text(out, p->named->name));
    RGM_TRY(rgm_text_printf(out, ":{\"dtype\":\"%s\",\"shape\":[",
                            rgmi_st_dtype_name(rgm_tensor_dtype(t))));
    for (int i = 0; i < rgm_tensor_rank(t); i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld", i > 0 ? "," : "", (long long)rgm_tensor_dim(t, i)));
    RGM_TRY(rgm_text_printf(out, "],\"data_offsets\":[%lld,%lld]}", (long long)p->begin,
                            (long long)(p->begin + (int64_t)rgm_tensor_bytes(t))));
    return RGM_OK;
}

/* The length field and the header, padded so that the data begin at a multiple of 8. */
static rgm_status print_header(rgm_text *out, const place *sorted, int64_t count,
                               const char *const *metadata, int64_t metadata_count)
{
    uint64_t length = 0;

    RGM_TRY(rgm_text_add(out, &length, sizeof length));
    RGM_TRY(rgm_text_add(out, "{", 1));
    if (metadata != NULL && metadata_count > 0) {
        RGM_TRY(print_metadata(out, metadata, metadata_count));
        if (count > 0)
            RGM_TRY(rgm_text_add(out, ",", 1));
    }
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            RGM_TRY(rgm_text_add(out, ",", 1));
        RGM_TRY(print_entry(out, &sorted[i]));
    }
    RGM_TRY(rgm_text_add(out, "}", 1));
    RGM_TRY(rgm_text_add(out, "       ", (8 - out->size % 8) % 8));
    length = (uint64_t)out->size - sizeof length;
    if (length > (uint64_t)RGMI_HEADER_MAX)
        return RGM_FAIL(RGM_ERR_ARG, "the header would have %llu bytes, over the format's 100 MB",
                        (unsigned long long)length);
    memcpy(out->data, &length, sizeof length);
    return RGM_OK;
}

static rgm_status write_file(const char *path, const rgm_text *header, place *const *layout,
                             int64_t count)
{
    rgm_status status = RGM_OK;
    int fd;

    do
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return RGM_FAIL_SYSTEM("create", path);
    RGM_GO(rgm_write_all(fd, header->data, header->size, path));
    for (int64_t i = 0; i < count; i++) {
        const rgm_tensor *t = layout[i]->named->tensor;
        RGM_GO(rgm_write_all(fd, rgm_tensor_data(t), (int64_t)rgm_tensor_bytes(t), path));
    }
    RGM_GO(rgm_sync(fd, path));
done:
    if (close(fd) != 0 && status == RGM_OK)
        status = RGM_FAIL_SYSTEM("close", path);
    if (status != RGM_OK)
        unlink(path);
    return status;
}

rgm_status rgm_safetensors_save(const char *path, const rgm_named_tensor *tensors, int64_t count,
                                const char *const *metadata, int64_t metadata_count)
{
    rgm_status status = RGM_OK;
    rgm_text header = {0};
    place *sorted = NULL, **layout = NULL;
    int64_t at = 0;

    RGM_GO(RGM_NEW(sorted, count));
    RGM_GO(RGM_NEW(layout, count));
    for (int64_t i = 0; i < count; i++)
        sorted[i].named = &tensors[i];
    if (count > 0)
        qsort(sorted, (size_t)count, sizeof *sorted, compare_place_names);
    RGM_GO(check_tensors(sorted, count));
    for (int64_t i = 0; i < count; i++)
        layout[i] = &sorted[i];
    if (count > 0)
        qsort(layout, (size_t)count, sizeof *layout, compare_layout);
    for (int64_t i = 0; i < count; i++) {
        layout[i]->begin = at;
        at += (int64_t)rgm_tensor_bytes(layout[i]->named->tensor);
    }
    RGM_GO(print_header(&header, sorted, count, metadata, metadata_count));
    RGM_GO(write_file(path, &header, layout, count));
done:
    rgm_text_clear(&header);
    rgm_free(sorted);
    rgm_free(layout);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Read `size` bytes at `offset` of the file or of the memory. */
static rgm_status read_at(const rgm_safetensors *file, void *to, int64_t size, int64_t offset)
{
    char *p = to;

    if (file->fd < 0) {
        if (size > 0)
            memcpy(to, file->data + offset, (size_t)size);
        return RGM_OK;
    }
    while (size > 0) {
        ssize_t n = pread(file->fd, p, (size_t)size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("read", file->name);
        if (n == 0)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: ends at byte %lld, it was longer when opened",
                            file->name, (long long)offset);
        p += n;
        offset += n;
        size -= n;
    }
    return RGM_OK;
}

static rgm_status open_checked(rgm_safetensors *file, int64_t size)
{
    rgm_status status = RGM_OK;
    uint64_t length;
    char *json = NULL;

    if (size < 8)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: has %lld bytes, too short for a safetensors file",
                        file->name, (long long)size);
    RGM_TRY(read_at(file, &length, 8, 0));
    if (length > (uint64_t)RGMI_HEADER_MAX || (int64_t)length > size - 8)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: header of %llu bytes in a file of %lld bytes (at most 100 MB)",
                        file->name, (unsigned long long)length, (long long)size);
    json = rgm_malloc((size_t)length);
    if (json == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %llu bytes for the header of %s",
                        (unsigned long long)length, file->name));
    RGM_GO(read_at(file, json, (int64_t)length, 8));
    file->data_begin = 8 + (int64_t)length;
    RGM_GO(rgmi_st_header_read(&file->header, json, (int64_t)length, size - file->data_begin,
                               file->name));
done:
    rgm_free(json);
    return status;
}

rgm_status rgm_safetensors_open_memory(rgm_safetensors **out, const void *data, int64_t size,
                                       const char *name)
{
    rgm_status status = RGM_OK;
    rgm_safetensors *file = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(file, 1));
    file->fd = -1;
    file->data = data;
    RGM_GO(rgm_strdup(&file->name, name));
    RGM_GO(open_checked(file, size));
    *out = file;
    file = NULL;
done:
    rgm_safetensors_close(file);
    return status;
}

rgm_status rgm_safetensors_open(rgm_safetensors **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_safetensors *file = NULL;
    struct stat info;

    *out = NULL;
    RGM_GO(RGM_NEW(file, 1));
    file->fd = -1;
    RGM_GO(rgm_strdup(&file->name, path));
    RGM_GO(rgm_path_refuse_pipe(path)); /* a pipe might never have a writer */
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", path));
    if (fstat(file->fd, &info) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("examine", path));
    if (!S_ISREG(info.st_mode))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s: not a regular file", path));
    RGM_GO(open_checked(file, info.st_size));
    *out = file;
    file = NULL;
done:
    rgm_safetensors_close(file);
    return status;
}

void rgm_safetensors_close(rgm_safetensors *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    rgmi_st_header_clear(&file->header);
    rgm_free(file->name);
    rgm_free(file);
}

int64_t rgm_safetensors_count(const rgm_safetensors *file)
{
    return file->header.count;
}

const char *rgm_safetensors_name(const rgm_safetensors *file, int64_t i)
{
    return file->header.tensors[i].name;
}

bool rgm_safetensors_has_prefix(const rgm_safetensors *file, const char *prefix)
{
    for (int64_t i = 0; i < rgm_safetensors_count(file); i++)
        if (strncmp(rgm_safetensors_name(file, i), prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

const char *rgm_safetensors_metadata(const rgm_safetensors *file, const char *key)
{
    return rgm_map_get(file->header.metadata, key);
}

static rgm_status no_such_tensor(const rgm_safetensors *file, const char *name)
{
    rgm_status status = RGM_OK;
    const char **names = NULL;
    rgm_hint hint;

    RGM_GO(RGM_NEW(names, file->header.count));
    for (int64_t i = 0; i < file->header.count; i++)
        names[i] = file->header.tensors[i].name;
    hint = rgm_did_you_mean(name, names, file->header.count, NULL, NULL);
    if (hint.text[0] != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: no tensor '%s'%s", file->name, name, hint.text));
    RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: no tensor '%s' among its %lld", file->name, name,
                    (long long)file->header.count));
done:
    rgm_free(names);
    return status;
}

/* Exact: f32 has every number of f16. */
static float widened(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    float number = exponent == 0   ? ldexpf((float)mantissa, -24)
                   : exponent < 31 ? ldexpf((float)(1024 + mantissa), exponent - 25)
                   : mantissa == 0 ? INFINITY
                                   : NAN;

    return half >> 15 != 0 ? -number : number;
}

/* The numbers of f16 are put where they do not overtake those that are still to be widened. */
static rgm_status read_half(rgm_tensor *tensor, const rgm_safetensors *file,
                            const rgmi_st_tensor *t)
{
    float *to = rgm_tensor_f32(tensor);
    uint16_t from;

    RGM_TRY(read_at(file, (char *)to + (t->end - t->begin), t->end - t->begin,
                    file->data_begin + t->begin));
    for (int64_t i = 0; i < rgm_tensor_count(tensor); i++) {
        memcpy(&from, (char *)to + (t->end - t->begin) + 2 * i, sizeof from);
        to[i] = widened(from);
    }
    return RGM_OK;
}

static rgm_status check_bools(const rgm_tensor *tensor, const rgm_safetensors *file,
                              const char *name)
{
    for (int64_t i = 0; rgm_tensor_dtype(tensor) == RGM_BOOL && i < rgm_tensor_count(tensor); i++)
        if (rgm_tensor_bool(tensor)[i] > 1)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: tensor '%s': element %lld of BOOL is %d",
                            file->name, name, (long long)i, rgm_tensor_bool(tensor)[i]);
    return RGM_OK;
}

/* Where the elements lie in memory as those of a tensor do; NULL: they do not. */
static void *ready_elements(const rgm_safetensors *file, const rgmi_st_tensor *t)
{
    uintptr_t at = (uintptr_t)file->data + (uintptr_t)(file->data_begin + t->begin);

    return file->data != NULL && !t->half && at % rgm_dtype_size(t->dtype) == 0 ? (void *)at : NULL;
}

static rgm_status load(rgm_tensor **out, const rgm_safetensors *file, const char *name, bool copied)
{
    rgm_status status = RGM_OK;
    int64_t at = (int64_t)(uintptr_t)rgm_map_get(file->header.by_name, name);
    const rgmi_st_tensor *t;
    rgm_tensor *tensor = NULL;
    void *ready;

    *out = NULL;
    if (at == 0)
        RGM_GO(no_such_tensor(file, name));
    t = &file->header.tensors[at - 1];
    ready = copied ? NULL : ready_elements(file, t);
    if (ready != NULL) {
        RGM_GO(rgm_tensor_wrap(&tensor, t->dtype, t->rank, t->shape, ready, NULL, NULL));
    } else {
        RGM_GO(rgm_tensor_create(&tensor, t->dtype, t->rank, t->shape));
        RGM_GO(t->half ? read_half(tensor, file, t)
                       : read_at(file, rgm_tensor_data(tensor), t->end - t->begin,
                                 file->data_begin + t->begin));
    }
    RGM_GO(check_bools(tensor, file, name));
    *out = tensor;
    tensor = NULL;
done:
    rgm_tensor_release(tensor);
    return status;
}

rgm_status rgm_safetensors_get(rgm_tensor **out, const rgm_safetensors *file, const char *name)
{
    RGM_TRY(load(out, file, name, true));
    return RGM_OK;
}

rgm_status rgm_safetensors_look(rgm_tensor **out, const rgm_safetensors *file, const char *name)
{
    RGM_TRY(load(out, file, name, false));
    return RGM_OK;
}

/*
 * Arrays by name in one file, as numpy's savez() and Marian write them: a zip archive of .npy files
 * that are not compressed. The archive's directory is read and checked when it is opened; an array
 * is read when it is asked for, with pread(), as safetensors are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regimen/tensor.h>

enum {
    END_SIZE = 22, /* of the record at the end, without its comment */
    COMMENT_MAX = 65535,
    ENTRY_SIZE = 46, /* of the directory, without its name           */
    LOCAL_SIZE = 30, /* in front of the data, without its name       */
    DIRECTORY_MAX = 64 << 20,
    HEADER_MAX = 1 << 16 /* of a .npy */
};

/* An array: where its .npy lies. */
typedef struct entry {
    char *name; /* without ".npy" */
    int64_t local, size;
} entry;

struct rgm_npz {
    char *path;
    int fd;
    int64_t size;
    entry *entries;
    int64_t count, capacity;
    rgm_map *by_name; /* number + 1 */
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static int64_t u16(const uint8_t *at)
{
    return at[0] | at[1] << 8;
}

static int64_t u32(const uint8_t *at)
{
    return u16(at) | u16(at + 2) << 16;
}

static rgm_status damaged(const rgm_npz *file, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: no archive of arrays (.npz): %s", file->path, what);
}

static rgm_status read_at(const rgm_npz *file, void *to, int64_t size, int64_t offset)
{
    char *p = to;

    if (size < 0 || offset < 0 || offset > file->size - size)
        return damaged(file, "a part of it lies behind its end");
    while (size > 0) {
        ssize_t n = pread(file->fd, p, (size_t)size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("read", file->path);
        if (n == 0)
            return damaged(file, "it has become shorter since it was opened");
        p += n;
        offset += n;
        size -= n;
    }
    return RGM_OK;
}

/* ---- the directory --------------------------------------------------------------------------- */

static rgm_status add_entry(rgm_npz *file, const uint8_t *at, const char *name, int64_t length)
{
    entry *e;

    if (length < 5 || memcmp(name + length - 4, ".npy", 4) != 0 ||
        memchr(name, 0, (size_t)length) != NULL || rgm_utf8_check(name, length) >= 0)
        return damaged(file, "it has a file that is no .npy");
    RGM_TRY(RGM_RESERVE(file->entries, file->capacity, file->count + 1));
    e = &file->entries[file->count];
    *e = (entry){.local = u32(at + 42), .size = u32(at + 20)};
    RGM_TRY(rgm_strprintf(&e->name, "%.*s", (int)length - 4, name));
    file->count++;
    if (rgm_map_has(file->by_name, e->name))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: two arrays are called '%s'", file->path, e->name);
    RGM_TRY(rgm_map_set(file->by_name, e->name, (void *)(uintptr_t)file->count));
    if (u16(at + 10) != 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: '%s' is compressed, as savez_compressed() does; numpy.savez() writes "
                        "what is read here",
                        file->path, e->name);
    if (u32(at + 24) != e->size)
        return damaged(file, "an array has two sizes");
    if (e->size == UINT32_MAX || e->local == UINT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: '%s' lies beyond 4 GiB, which is not read",
                        file->path, e->name);
    return RGM_OK;
}

static rgm_status read_entries(rgm_npz *file, const uint8_t *directory, int64_t size, int64_t count)
{
    int64_t at = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t length, more;
        if (size - at < ENTRY_SIZE || memcmp(directory + at, "PK\1\2", 4) != 0)
            return damaged(file, "its directory is cut short");
        length = u16(directory + at + 28);
        more = u16(directory + at + 30) + u16(directory + at + 32);
        if (size - at - ENTRY_SIZE < length + more)
            return damaged(file, "its directory is cut short");
        RGM_TRY(add_entry(file, directory + at, (const char *)directory + at + ENTRY_SIZE, length));
        at += ENTRY_SIZE + length + more;
    }
    return RGM_OK;
}

/* The last record, behind which a comment may stand. */
static rgm_status find_end(uint8_t end[END_SIZE], const rgm_npz *file)
{
    int64_t most = END_SIZE + COMMENT_MAX, size = file->size < most ? file->size : most;
    rgm_status status = RGM_OK;
    uint8_t *tail = NULL;
    int64_t at = size - END_SIZE;

    RGM_GO(RGM_NEW(tail, size + 1));
    RGM_GO(read_at(file, tail, size, file->size - size));
    while (at >= 0 &&
           (memcmp(tail + at, "PK\5\6", 4) != 0 || at + END_SIZE + u16(tail + at + 20) > size))
        at--;
    if (at < 0)
        RGM_GO(damaged(file, "it is cut short, or something else"));
    memcpy(end, tail + at, END_SIZE);
done:
    rgm_free(tail);
    return status;
}

static rgm_status read_directory(rgm_npz *file)
{
    rgm_status status = RGM_OK;
    uint8_t end[END_SIZE], *directory = NULL;
    int64_t size, at;

    RGM_TRY(find_end(end, file));
    size = u32(end + 12);
    at = u32(end + 16);
    if (at == UINT32_MAX || u16(end + 10) == UINT16_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: an archive beyond 4 GiB is not read", file->path);
    if (size > DIRECTORY_MAX)
        return damaged(file, "its directory is too large");
    RGM_GO(RGM_NEW(directory, size + 1));
    RGM_GO(read_at(file, directory, size, at));
    RGM_GO(read_entries(file, directory, size, u16(end + 10)));
done:
    rgm_free(directory);
    return status;
}

static rgm_status open_regular(rgm_npz *file)
{
    struct stat info;

    RGM_TRY(rgm_path_refuse_pipe(file->path));
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0)
        return RGM_FAIL_SYSTEM("open", file->path);
    if (fstat(file->fd, &info) != 0)
        return RGM_FAIL_SYSTEM("examine", file->path);
    if (!S_ISREG(info.st_mode))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: not a regular file", file->path);
    file->size = info.st_size;
    return RGM_OK;
}

rgm_status rgm_npz_open(rgm_npz **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_npz *file = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(file, 1));
    file->fd = -1;
    RGM_GO(rgm_strdup(&file->path, path));
    RGM_GO(rgm_map_create(&file->by_name));
    RGM_GO(open_regular(file));
    RGM_GO(read_directory(file));
    *out = file;
    file = NULL;
done:
    rgm_npz_close(file);
    return status;
}

void rgm_npz_close(rgm_npz *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    for (int64_t i = 0; i < file->count; i++)
        rgm_free(file->entries[i].name);
    rgm_free(file->entries);
    rgm_map_release(file->by_name);
    rgm_free(file->path);
    rgm_free(file);
}

int64_t rgm_npz_count(const rgm_npz *file)
{
    return file->count;
}

const char *rgm_npz_name(const rgm_npz *file, int64_t i)
{
    return file->entries[i].name;
}

/* ---- an array -------------------------------------------------------------------------------- */

/* What the line of Python in front of an array says. */
typedef struct description {
    rgm_dtype dtype;
    bool turned; /* columns come one after the other */
    int rank;
    int64_t shape[RGM_MAX_RANK];
} description;

static rgm_status bad_array(const rgm_npz *file, const entry *e, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: '%s' is no array of numpy: %s", file->path, e->name, what);
}

/* The text behind a key of the line, blanks passed over; NULL: there is no such key. */
static const char *value_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    if (at == NULL)
        return NULL;
    at += strlen(key);
    return at + strspn(at, " :");
}

static rgm_status read_dtype(description *d, const rgm_npz *file, const entry *e, const char *line)
{
    static const struct {
        const char *name;
        rgm_dtype dtype;
    } types[] = {{"f4'", RGM_F32}, {"f8'", RGM_F64}, {"i4'", RGM_I32},
                 {"i8'", RGM_I64}, {"i1'", RGM_I8},  {"b1'", RGM_BOOL}};
    const char *text = value_of(line, "'descr'");

    if (text == NULL || text[0] != '\'' || text[1] == '\0')
        return bad_array(file, e, "it does not say of what type");
    for (size_t i = 0; i < sizeof types / sizeof *types && text[1] != '>'; i++)
        if (strncmp(text + 2, types[i].name, 3) == 0) {
            d->dtype = types[i].dtype;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_DTYPE,
                    "%s: '%s' has numbers of the type %.*s: <f4, <f8, <i4, <i8, |i1 and |b1 are "
                    "read",
                    file->path, e->name, (int)strcspn(text + 1, "'"), text + 1);
}

static rgm_status read_shape(description *d, const rgm_npz *file, const entry *e, const char *line)
{
    const char *at = value_of(line, "'shape'");

    if (at == NULL || *at++ != '(')
        return bad_array(file, e, "it has no shape");
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, " ,")) {
        int64_t size = 0;
        int digits = 0;
        for (; *at >= '0' && *at <= '9' && digits < 18; digits++)
            size = 10 * size + (*at++ - '0');
        if (digits == 0 || d->rank == RGM_MAX_RANK || (*at != ',' && *at != ')' && *at != ' '))
            return bad_array(file, e, "its shape is none of up to six sizes");
        d->shape[d->rank++] = size;
    }
    return RGM_OK;
}

/* The numbers are all that follows the header, which is `header` bytes long. */
static rgm_status check_size(const description *d, const rgm_npz *file, const entry *e,
                             int64_t header)
{
    int64_t bytes = (int64_t)rgm_dtype_size(d->dtype);

    for (int i = 0; i < d->rank; i++)
        if (__builtin_mul_overflow(bytes, d->shape[i], &bytes))
            return bad_array(file, e, "its shape is larger than its numbers");
    if (bytes != e->size - header)
        return bad_array(file, e, "its shape is not that of its numbers");
    return RGM_OK;
}

static rgm_status describe(description *d, const rgm_npz *file, const entry *e, const char *line,
                           int64_t header)
{
    const char *order = value_of(line, "'fortran_order'");

    *d = (description){.rank = 0};
    RGM_TRY(read_dtype(d, file, e, line));
    RGM_TRY(read_shape(d, file, e, line));
    if (order == NULL || (strncmp(order, "True", 4) != 0 && strncmp(order, "False", 5) != 0))
        return bad_array(file, e, "it does not say in which order its numbers lie");
    d->turned = order[0] == 'T' && d->rank > 1;
    if (d->turned && d->rank > 2)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: '%s' has %d axes in Fortran's order: numpy.ascontiguousarray() turns "
                        "them",
                        file->path, e->name, d->rank);
    return check_size(d, file, e, header);
}

/* Where the .npy of an entry begins, and its header's length and line. */
static rgm_status read_header(int64_t *begin, int64_t *header, char *line, const rgm_npz *file,
                              const entry *e)
{
    uint8_t local[LOCAL_SIZE], start[12];
    int64_t length, before;

    RGM_TRY(read_at(file, local, LOCAL_SIZE, e->local));
    if (memcmp(local, "PK\3\4", 4) != 0)
        return damaged(file, "its directory points to no file");
    *begin = e->local + LOCAL_SIZE + u16(local + 26) + u16(local + 28);
    if (e->size < (int64_t)sizeof start)
        return bad_array(file, e, "it is cut short");
    RGM_TRY(read_at(file, start, sizeof start, *begin));
    if (memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3)
        return bad_array(file, e, "it begins otherwise");
    before = start[6] == 1 ? 10 : 12;
    length = start[6] == 1 ? u16(start + 8) : u32(start + 8);
    *header = before + length;
    if (length >= HEADER_MAX || *header > e->size)
        return bad_array(file, e, "it is cut short");
    RGM_TRY(read_at(file, line, length, *begin + before));
    line[length] = '\0';
    return RGM_OK;
}

/* Of a shape without numbers a side may be as long as it likes. */
static void turn(char *to, const char *from, int64_t rows, int64_t columns, size_t size)
{
    if (columns == 0)
        return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            memcpy(to + (size_t)(i * columns + j) * size, from + (size_t)(j * rows + i) * size,
                   size);
}

static rgm_status load(rgm_tensor **out, const rgm_npz *file, const description *d, int64_t at)
{
    rgm_status status = RGM_OK;
    rgm_tensor *tensor = NULL;
    char *columns = NULL;
    int64_t bytes;

    RGM_GO(rgm_tensor_create(&tensor, d->dtype, d->rank, d->shape));
    bytes = (int64_t)rgm_tensor_bytes(tensor);
    if (d->turned)
        RGM_GO(RGM_NEW(columns, bytes + 1));
    RGM_GO(read_at(file, d->turned ? columns : rgm_tensor_data(tensor), bytes, at));
    if (d->turned)
        turn(rgm_tensor_data(tensor), columns, d->shape[0], d->shape[1], rgm_dtype_size(d->dtype));
    for (int64_t i = 0; d->dtype == RGM_BOOL && i < bytes; i++)
        if (rgm_tensor_bool(tensor)[i] > 1)
            RGM_GO(damaged(file, "a truth value is neither 0 nor 1"));
    *out = tensor;
    tensor = NULL;
done:
    rgm_free(columns);
    rgm_tensor_release(tensor);
    return status;
}

rgm_status rgm_npz_get(rgm_tensor **out, const rgm_npz *file, const char *name)
{
    int64_t number = (int64_t)(uintptr_t)rgm_map_get(file->by_name, name), begin = 0, header = 0;
    rgm_status status = RGM_OK;
    description d;
    char *line = NULL;
    const entry *e;

    *out = NULL;
    if (number == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: no array '%s' among its %lld", file->path, name,
                        (long long)file->count);
    e = &file->entries[number - 1];
    RGM_GO(RGM_NEW(line, HEADER_MAX));
    RGM_GO(read_header(&begin, &header, line, file, e));
    RGM_GO(describe(&d, file, e, line, header));
    RGM_GO(load(out, file, &d, begin + header));
done:
    rgm_free(line);
    return status;
}

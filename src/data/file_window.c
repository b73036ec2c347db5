/*
 * A window that moves over the bytes of a plain or packed file. Read with read(2) into a buffer
 * that fits the second-level cache rather than mapped: a mapped file that shrinks, or a disk that
 * fails, would kill the process with a signal instead of an error.
 */
#include "data_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 256 << 10, PACKED_SIZE = 64 << 10 };

/*
 * Deflate packs a run of equal bytes 1,032 to one, text 3 to 10, sparse tables up to about 100: of
 * what is held at once in memory, so much may come out of any file, and beyond it so many times the
 * packed bytes.
 */
enum { UNPACKED_ALWAYS = 16 << 20, MOST_PACKED = 256 };

struct rgmi_input_file {
    int fd;
    bool end;        /* nothing more to read from the file */
    uint8_t *buffer; /* [capacity]; the window lies in it  */
    int64_t capacity;
    int64_t filled;       /* bytes of the buffer in use, from 0 */
    uint8_t *packed;      /* [PACKED_SIZE or more] compressed   */
    int64_t packed_bytes; /* compressed ones read so far */
    z_stream z;
    bool z_open;
    const char *form; /* packed: gzip or zlib */
    bool member_end;  /* between two members of a packed file */
};

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

/*
 * Standard input is read on from where it stands. To open it by its name would begin a file at its
 * front, and is refused for a socket and for what another user opened.
 */
static bool is_stdin(const char *path)
{
    return strcmp(path, "/dev/stdin") == 0;
}

static int open_file(const char *path)
{
    int fd;

    if (is_stdin(path))
        return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

rgm_status rgmi_input_open(rgmi_input **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgmi_input *input = NULL;
    struct stat info;

    *out = NULL;
    RGM_GO(RGM_NEW(input, 1));
    RGM_GO(RGM_NEW(input->file, 1));
    input->file->fd = -1;
    RGM_GO(rgm_strdup(&input->path, path));
    input->file->fd = open_file(path);
    if (input->file->fd < 0 || fstat(input->file->fd, &info) < 0) {
        rgm_status code = errno == ENOENT || errno == ENOTDIR ? RGM_ERR_NOT_FOUND : RGM_ERR_IO;
        RGM_GO(RGM_FAIL(code, "%s: %s", path, strerror(errno)));
    }
    if (S_ISDIR(info.st_mode))
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "%s: is a folder, not a file", path));
    input->file_size = S_ISREG(info.st_mode) && !is_stdin(path) ? (int64_t)info.st_size : -1;
    input->file->capacity = BUFFER_SIZE;
    input->file->buffer = rgm_malloc(BUFFER_SIZE);
    if (input->file->buffer == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory for the read buffer", path));
    input->data = input->file->buffer;
    *out = input;
    input = NULL;
done:
    rgmi_input_close(input);
    return status;
}

void rgmi_input_close(rgmi_input *input)
{
    if (input == NULL)
        return;
    if (input->file != NULL) {
        if (input->file->fd >= 0)
            close(input->file->fd);
        if (input->file->z_open)
            inflateEnd(&input->file->z);
        rgm_free(input->file->buffer);
        rgm_free(input->file->packed);
        rgm_free(input->file);
    }
    rgm_free(input->path);
    rgm_free(input);
}

static rgm_status read_some(int64_t *got, rgmi_input *input, void *data, int64_t size)
{
    ssize_t n;

    *got = 0;
    do
        n = read(input->file->fd, data, (size_t)size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return RGM_FAIL(RGM_ERR_IO, "%s: reading: %s", input->path, strerror(errno));
    *got = (int64_t)n;
    input->file->end = n == 0;
    return RGM_OK;
}

static rgm_status gzip_fail(const rgmi_input *input, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: %s: %s after %lld uncompressed bytes", input->path,
                    input->file->form, what, (long long)(input->offset + input->available));
}

/** At the end of a member: another one, zeros to the end of the file, or the end. */
static rgm_status next_member(rgmi_input *input, bool *end)
{
    struct rgmi_input_file *file = input->file;

    *end = false;
    while (file->z.avail_in > 0 && *file->z.next_in == 0) {
        file->z.next_in++;
        file->z.avail_in--;
    }
    if (file->z.avail_in == 0) {
        *end = file->end;
        return RGM_OK;
    }
    if (inflateReset(&file->z) != Z_OK)
        return gzip_fail(input, "cannot start the next member");
    file->member_end = false;
    return RGM_OK;
}

static rgm_status inflate_some(int64_t *got, rgmi_input *input, void *data, int64_t size)
{
    struct rgmi_input_file *file = input->file;
    unsigned room = size > (1 << 30) ? 1u << 30 : (unsigned)size;

    *got = 0;
    file->z.next_out = data;
    file->z.avail_out = room;
    while (*got == 0) {
        bool end;
        int code;

        if (file->z.avail_in == 0 && !file->end) {
            int64_t packed;
            RGM_TRY(read_some(&packed, input, file->packed, PACKED_SIZE));
            file->packed_bytes += packed;
            file->z.next_in = file->packed;
            file->z.avail_in = (unsigned)packed;
        }
        if (file->member_end) {
            RGM_TRY(next_member(input, &end));
            if (end)
                return RGM_OK;
            if (file->member_end)
                continue;
        }
        code = inflate(&file->z, Z_NO_FLUSH);
        *got = (int64_t)(room - file->z.avail_out);
        if (code == Z_STREAM_END)
            file->member_end = true;
        else if (code == Z_MEM_ERROR)
            return RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory in inflate", input->path);
        else if (code == Z_BUF_ERROR && *got == 0 && file->end)
            return gzip_fail(input, "the file is cut short");
        else if (code != Z_OK && code != Z_BUF_ERROR && *got == 0)
            return gzip_fail(input, file->z.msg != NULL ? file->z.msg : "damaged data");
    }
    return RGM_OK;
}

/** What was read so far is the begin of a packed stream; `bits`: inflateInit2()'s. */
static rgm_status unpack_from_here(rgmi_input *input, const char *form, int bits)
{
    struct rgmi_input_file *file = input->file;
    int code;

    file->form = form;
    file->packed =
        rgm_malloc((size_t)(input->available > PACKED_SIZE ? input->available : PACKED_SIZE));
    if (file->packed == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory for the read buffer", input->path);
    file->z.zalloc = zlib_alloc;
    file->z.zfree = zlib_free;
    code = inflateInit2(&file->z, bits);
    if (code != Z_OK)
        return RGM_FAIL(code == Z_MEM_ERROR ? RGM_ERR_NOMEM : RGM_ERR_IO,
                        "%s: zlib cannot start (code %d)", input->path, code);
    file->z_open = true;
    /* What was read so far goes back in as compressed bytes, the rest follows from the file. */
    memcpy(file->packed, input->data, (size_t)input->available);
    file->z.next_in = file->packed;
    file->z.avail_in = (unsigned)input->available;
    file->packed_bytes = input->available;
    file->filled = 0;
    input->data = file->buffer;
    input->available = 0;
    input->gzip = true;
    return RGM_OK;
}

rgm_status rgmi_input_detect_gzip(rgmi_input *input)
{
    if (input->gzip)
        return RGM_OK;
    /* No more than is needed: who writes a short line into a pipe may wait for what becomes of it.
     */
    RGM_TRY(rgmi_input_fill(input, 1));
    if (input->available < 1 || input->data[0] != 0x1f)
        return RGM_OK;
    RGM_TRY(rgmi_input_fill(input, 3));
    if (input->available < 3 || input->data[1] != 0x8b || input->data[2] != 8)
        return RGM_OK;
    return unpack_from_here(input, "gzip", 15 + 16);
}

rgm_status rgmi_input_detect_zlib(rgmi_input *input)
{
    const uint8_t *head;

    if (input->gzip)
        return RGM_OK;
    RGM_TRY(rgmi_input_fill(input, 2));
    head = input->data;
    /* RFC 1950: deflate, a window of at most 32 KiB, no dictionary, a multiple of 31. */
    if (input->available < 2 || (head[0] & 15) != 8 || head[0] >> 4 > 7 || (head[1] & 32) != 0 ||
        (head[0] * 256 + head[1]) % 31 != 0)
        return RGM_OK;
    return unpack_from_here(input, "zlib", 15);
}

/** A few bytes that unpack to more than memory has are told before they do. */
static rgm_status check_packing(const rgmi_input *input)
{
    const struct rgmi_input_file *file = input->file;
    int64_t held = input->is_kept ? input->offset + input->available : input->available;

    if (!input->gzip || held <= UNPACKED_ALWAYS || held / MOST_PACKED < file->packed_bytes)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_FORMAT,
                    "%s: %s: %lld bytes have unpacked to %lld, and more would be held in memory; "
                    "at most %d times as many are. If they are what they should be, unpack the "
                    "file before (gzip -d)",
                    input->path, file->form, (long long)file->packed_bytes, (long long)held,
                    MOST_PACKED);
}

/** Move the window to the front of the buffer, and make room for at least one more byte behind it.
 */
static rgm_status make_room(rgmi_input *input)
{
    struct rgmi_input_file *file = input->file;

    if (input->data != file->buffer) {
        memmove(file->buffer, input->data, (size_t)input->available);
        input->data = file->buffer;
        file->filled = input->available;
    }
    if (file->filled < file->capacity)
        return RGM_OK;
    /* Doubling as bytes arrive: a length that lies costs no more memory than the file has bytes. */
    void *grown = rgm_realloc(file->buffer, (size_t)file->capacity * 2);
    if (grown == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "%s: out of memory: %lld bytes for one record", input->path,
                        (long long)file->capacity * 2);
    file->buffer = grown;
    input->data = grown;
    file->capacity *= 2;
    return RGM_OK;
}

rgm_status rgmi_input_fill(rgmi_input *input, int64_t need)
{
    struct rgmi_input_file *file = input->file;

    while (input->available < need) {
        int64_t got, room;

        if (!input->gzip && file->end)
            return RGM_OK;
        RGM_TRY(check_packing(input));
        RGM_TRY(make_room(input));
        room = file->capacity - file->filled;
        RGM_TRY(input->gzip ? inflate_some(&got, input, file->buffer + file->filled, room)
                            : read_some(&got, input, file->buffer + file->filled, room));
        if (got == 0)
            return RGM_OK;
        file->filled += got;
        input->available += got;
    }
    return RGM_OK;
}

bool rgmi_input_ready(const rgmi_input *input)
{
    struct pollfd wait = {.fd = input->file->fd, .events = POLLIN};

    /* What is packed comes out as soon as it is in, unless the buffer was full. */
    if (input->gzip && input->file->z.avail_in > 0)
        return true;
    return input->file->end || input->file_size >= 0 || poll(&wait, 1, 0) != 0;
}

static rgm_status rewind_gzip(rgmi_input *input)
{
    struct rgmi_input_file *file = input->file;

    if (lseek(file->fd, 0, SEEK_SET) < 0)
        return RGM_FAIL(RGM_ERR_IO, "%s: going back: %s", input->path, strerror(errno));
    if (inflateReset(&file->z) != Z_OK)
        return gzip_fail(input, "cannot start again");
    file->z.avail_in = 0;
    file->packed_bytes = 0;
    file->end = false;
    file->member_end = false;
    file->filled = 0;
    input->data = file->buffer;
    input->available = 0;
    input->offset = 0;
    return RGM_OK;
}

rgm_status rgmi_input_seek(rgmi_input *input, int64_t offset)
{
    struct rgmi_input_file *file = input->file;

    if (offset >= input->offset && offset - input->offset <= input->available) {
        rgmi_input_consume(input, offset - input->offset);
        return RGM_OK;
    }
    if (!input->gzip && input->file_size >= 0) {
        if (offset > input->file_size)
            return RGM_FAIL(RGM_ERR_DATA, "%s: cannot go to byte %lld: the file has %lld",
                            input->path, (long long)offset, (long long)input->file_size);
        if (lseek(file->fd, (off_t)offset, SEEK_SET) < 0)
            return RGM_FAIL(RGM_ERR_IO, "%s: going to byte %lld: %s", input->path,
                            (long long)offset, strerror(errno));
        file->end = false;
        file->filled = 0;
        input->data = file->buffer;
        input->available = 0;
        input->offset = offset;
        return RGM_OK;
    }
    if (offset < input->offset) {
        if (!input->gzip)
            return RGM_FAIL(RGM_ERR_IO, "%s: is not a regular file: cannot go back", input->path);
        RGM_TRY(rewind_gzip(input));
    }
    while (input->offset < offset) {
        int64_t step = offset - input->offset;
        RGM_TRY(rgmi_input_fill(input, 1));
        if (input->available == 0)
            return RGM_FAIL(RGM_ERR_DATA, "%s: cannot go to byte %lld: there are %lld", input->path,
                            (long long)offset, (long long)input->offset);
        rgmi_input_consume(input, step < input->available ? step : input->available);
    }
    return RGM_OK;
}

/*
 * metrics.jsonl: what a run has measured, a line an entry. Every line ends in the CRC-32C of what
 * stands before it, so a torn or damaged line is told from a good one without guessing; the offset
 * in a checkpoint says which lines belong to the run when it goes on.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_SIZE   18 /* of: ,"crc":"01234567"} */
#define LARGEST_LOG (INT64_C(4) << 30)

struct rgm_metrics_log {
    rgmi_append_file file;
    rgm_text line;
};

static void print_tail(char tail[TAIL_SIZE + 1], const char *line, int64_t size)
{
    snprintf(tail, TAIL_SIZE + 1, ",\"crc\":\"%08" PRIx32 "\"}", rgm_crc32c(0, line, (size_t)size));
}

/* Bytes of the line at `data` with its newline; 0: torn, -1: its checksum does not fit. */
static int64_t check_line(const char *data, int64_t size)
{
    const char *end = memchr(data, '\n', (size_t)size);
    char tail[TAIL_SIZE + 1];
    int64_t length;

    if (end == NULL)
        return 0;
    length = end - data;
    if (length < TAIL_SIZE)
        return -1;
    print_tail(tail, data, length - TAIL_SIZE);
    return memcmp(tail, end - TAIL_SIZE, TAIL_SIZE) == 0 ? length + 1 : -1;
}

/* ---- write --------------------------------------------------------------------------------- */

/* The bytes of a log that are kept: `offset`, or all intact lines for -1. */
static rgm_status find_end(int64_t *end, const char *path, int64_t offset)
{
    rgm_mapped_file file = {0};
    int64_t at = 0, line = 1, size = 0;

    *end = 0;
    if (offset > 0 || rgm_path_exists(path)) {
        RGM_TRY(rgm_file_map(&file, path));
        size = file.size;
    }
    if (offset > size) {
        rgm_file_unmap(&file);
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s has %lld bytes, but the checkpoint was saved with %lld: lines are "
                        "missing",
                        path, (long long)size, (long long)offset);
    }
    while (at < (offset >= 0 ? offset : size)) {
        int64_t length = check_line((const char *)file.data + at, size - at);

        if (length == 0 && offset < 0) /* torn: the last one */
            break;
        if (length <= 0 || at + length > (offset >= 0 ? offset : size)) {
            rgm_file_unmap(&file);
            return RGM_FAIL(RGM_ERR_FORMAT, "%s:%lld: %s", path, (long long)line,
                            length > 0 ? "the checkpoint's offset is inside this line"
                                       : "the line is damaged (its checksum does not fit)");
        }
        at += length;
        line++;
    }
    rgm_file_unmap(&file);
    *end = at;
    return RGM_OK;
}

rgm_status rgm_metrics_log_open(rgm_metrics_log **out, const char *path, int64_t offset)
{
    rgm_metrics_log *log = NULL;
    int64_t end = 0;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(RGM_NEW(log, 1));
    log->file.fd = -1;
    if (offset != 0)
        RGM_GO(find_end(&end, path, offset));
    RGM_GO(rgmi_append_open(&log->file, path, end, false));
    *out = log;
    log = NULL;
done:
    rgm_metrics_log_close(log);
    return status;
}

/* ---- repair -------------------------------------------------------------------------------- */

/* A log taken apart: the lines that can stay, and what is lost. */
typedef struct sorting {
    rgm_text kept;
    int64_t lines, lost;
} sorting;

/* Keep the intact lines that end within `limit` bytes. */
static rgm_status sort_lines(sorting *s, const char *data, int64_t size, int64_t limit)
{
    for (int64_t at = 0, length; at < limit; at += length) {
        const char *end = memchr(data + at, '\n', (size_t)(size - at));

        length = check_line(data + at, size - at);
        s->lines++;
        if (length > 0 && at + length <= limit) {
            RGM_TRY(rgm_text_add(&s->kept, data + at, length));
            continue;
        }
        s->lost++;
        length = end != NULL ? end + 1 - (data + at) : size - at;
    }
    return RGM_OK;
}

static bool holds(const char *path, const char *data, int64_t size)
{
    rgm_mapped_file file;
    bool same;

    if (rgm_file_map(&file, path) != RGM_OK) {
        rgm_error_reset();
        return false;
    }
    same = file.size == size && memcmp(file.data, data, (size_t)size) == 0;
    rgm_file_unmap(&file);
    return same;
}

/* A copy PATH.damaged-<n> by the first free n, or the one that a repair made which was killed. */
static rgm_status set_aside(char **aside, const char *path, const char *data, int64_t size)
{
    for (int n = 1;; n++) {
        RGM_TRY(rgm_strprintf(aside, "%s.damaged-%d", path, n));
        if (!rgm_path_exists(*aside))
            return rgm_file_save_own(*aside, data, size);
        if (holds(*aside, data, size))
            return RGM_OK;
        rgm_free(*aside);
        *aside = NULL;
    }
}

static rgm_status replace_damaged(const sorting *s, const char *path, const char *data,
                                  int64_t size)
{
    char *aside = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(set_aside(&aside, path, data, size));
    RGM_GO(rgm_file_save_own(path, s->kept.data, s->kept.size));
    rgm_log_write(RGM_LOG_WARNING,
                  "%s: %lld of its %lld lines %s damaged. The file as it was is kept as %s, the "
                  "run goes on without these lines",
                  path, (long long)s->lost, (long long)s->lines, s->lost == 1 ? "is" : "are",
                  aside);
done:
    rgm_free(aside);
    return status;
}

rgm_status rgm_metrics_log_repair(int64_t *end, const char *path, int64_t offset)
{
    char *data = NULL;
    int64_t size = 0;
    sorting s = {0};
    rgm_status status = RGM_OK;

    *end = 0;
    if (rgm_path_exists(path))
        RGM_GO(rgm_file_load(&data, &size, path, LARGEST_LOG));
    RGM_GO(sort_lines(&s, data, size, offset >= 0 && offset < size ? offset : size));
    if (s.lost > 0)
        RGM_GO(replace_damaged(&s, path, data, size));
    if (offset > size)
        rgm_log_write(RGM_LOG_WARNING,
                      "%s has %lld bytes, the checkpoint was saved with %lld: lines are missing. "
                      "The run goes on without them; put a copy of the file back before the start "
                      "to have them",
                      path, (long long)size, (long long)offset);
    *end = s.kept.size;
done:
    rgm_text_clear(&s.kept);
    rgm_free(data);
    return status;
}

void rgm_metrics_log_close(rgm_metrics_log *log)
{
    if (log == NULL)
        return;
    rgmi_append_close(&log->file);
    rgm_text_clear(&log->line);
    rgm_free(log);
}

static rgm_status print_line(rgm_text *line, const char *split, int64_t step, int64_t epoch,
                             const rgm_named_number *numbers, int64_t count)
{
    char tail[TAIL_SIZE + 1];

    line->size = 0;
    RGM_TRY(rgm_text_printf(line, "{\"split\":"));
    RGM_TRY(rgm_json_print_text(line, split));
    RGM_TRY(rgm_text_printf(line, ",\"step\":%" PRId64 ",\"epoch\":%" PRId64, step, epoch));
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(rgm_text_add(line, ",", 1));
        RGM_TRY(rgm_json_print_text(line, numbers[i].name));
        RGM_TRY(rgm_text_add(line, ":", 1));
        RGM_TRY(rgm_json_print_number(line, numbers[i].value));
    }
    print_tail(tail, line->data, line->size);
    RGM_TRY(rgm_text_add(line, tail, TAIL_SIZE));
    return rgm_text_add(line, "\n", 1);
}

rgm_status rgm_metrics_log_add(rgm_metrics_log *log, const char *split, int64_t step, int64_t epoch,
                               const rgm_named_number *numbers, int64_t count)
{
    RGM_TRY(print_line(&log->line, split, step, epoch, numbers, count));
    return rgmi_append_add(&log->file, log->line.data, log->line.size);
}

rgm_status rgm_metrics_log_commit(int64_t *offset, rgm_metrics_log *log)
{
    *offset = 0;
    RGM_TRY(rgmi_append_sync(&log->file));
    *offset = log->file.written;
    return RGM_OK;
}

rgm_status rgm_metrics_log_truncate(rgm_metrics_log *log, int64_t offset)
{
    return rgmi_append_truncate(&log->file, offset);
}

/* ---- read ---------------------------------------------------------------------------------- */

/* The parts of one line, borrowed from its JSON. `numbers` grows and is kept between lines. */
static rgm_status parse_entry(rgm_metrics_entry *entry, rgm_named_number **numbers,
                              int64_t *capacity, const rgm_json *root)
{
    rgm_json_entry at = {0};

    *entry = (rgm_metrics_entry){.split = rgm_json_text(rgm_json_find(root, "split"))};
    (void)rgm_json_int(&entry->step, rgm_json_find(root, "step"));
    (void)rgm_json_int(&entry->epoch, rgm_json_find(root, "epoch"));
    if (entry->split == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "a line without \"split\"");
    while (rgm_json_next(&at, root)) {
        double value = NAN;

        if (strcmp(at.key, "split") == 0 || strcmp(at.key, "step") == 0 ||
            strcmp(at.key, "epoch") == 0 || strcmp(at.key, "crc") == 0)
            continue;
        (void)rgm_json_number(&value, at.value);
        RGM_TRY(RGM_RESERVE(*numbers, *capacity, entry->count + 1));
        (*numbers)[entry->count++] = (rgm_named_number){at.key, value};
    }
    entry->numbers = *numbers;
    return RGM_OK;
}

static rgm_status visit_line(const char *line, int64_t size, rgm_named_number **numbers,
                             int64_t *capacity, rgm_metrics_visit *visit, void *payload)
{
    rgm_json *root;
    rgm_metrics_entry entry;
    rgm_status status;

    RGM_TRY(rgm_json_parse(&root, line, size, "a line of metrics"));
    status = parse_entry(&entry, numbers, capacity, root);
    if (status == RGM_OK)
        status = visit(&entry, payload);
    rgm_json_release(root);
    return status;
}

/* Where a line is: its number, or its offset in a file whose beginning was not read. */
static void print_place(char place[40], int64_t start, int64_t at, int64_t line)
{
    if (start > 0)
        snprintf(place, 40, "byte %" PRId64, start + at);
    else
        snprintf(place, 40, "%" PRId64, line);
}

/* Every intact line of `data`, which is the file from offset `start` on. */
static rgm_status visit_lines(const char *data, int64_t size, const char *path, int64_t start,
                              rgm_metrics_visit *visit, void *payload)
{
    rgm_named_number *numbers = NULL;
    int64_t capacity = 0, line = 1;
    char place[40];
    rgm_status status = RGM_OK;

    for (int64_t at = 0, length; at < size && status == RGM_OK; at += length, line++) {
        length = check_line(data + at, size - at);
        if (length == 0)
            break;
        print_place(place, start, at, line);
        if (length < 0) {
            status =
                RGM_FAIL(RGM_ERR_FORMAT, "%s:%s: the line is damaged (its checksum does not fit)",
                         path, place);
            break;
        }
        status = visit_line(data + at, length, &numbers, &capacity, visit, payload);
        if (status == RGM_ERR_FORMAT)
            status = rgm_error_prefix(status, "%s:%s", path, place);
    }
    rgm_free(numbers);
    return status == RGM_END ? RGM_OK : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_metrics_log_read(const char *path, rgm_metrics_visit *visit, void *payload)
{
    char *data = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_file_load(&data, &size, path, LARGEST_LOG));
    RGM_GO(visit_lines(data, size, path, 0, visit, payload));
done:
    rgm_free(data);
    return status;
}

/* The bytes from `start` to the end; the file may have been cut meanwhile. */
static rgm_status read_from(char *data, int64_t *size, int fd, int64_t start, const char *path)
{
    int64_t want = *size;

    for (*size = 0; *size < want;) {
        ssize_t n = pread(fd, data + *size, (size_t)(want - *size), (off_t)(start + *size));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("read", path);
        if (n == 0)
            break;
        *size += n;
    }
    return RGM_OK;
}

rgm_status rgm_metrics_log_read_end(const char *path, int64_t bytes, rgm_metrics_visit *visit,
                                    void *payload)
{
    char *data = NULL, *begin;
    int64_t size, start;
    struct stat info;
    int fd = -1;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_refuse_pipe(path));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", path));
    if (fstat(fd, &info) < 0)
        RGM_GO(RGM_FAIL_SYSTEM("examine", path));
    /* The byte before tells whether a line begins with the first of those asked for. */
    start = info.st_size > bytes ? info.st_size - bytes - 1 : 0;
    size = info.st_size - start;
    RGM_GO(RGM_NEW(data, size + 1));
    RGM_GO(read_from(data, &size, fd, start, path));
    begin = start > 0 ? memchr(data, '\n', (size_t)size) : data;
    if (begin != NULL) {
        begin += start > 0;
        RGM_GO(visit_lines(begin, size - (begin - data), path, start + (begin - data), visit,
                           payload));
    }
done:
    if (fd >= 0)
        close(fd);
    rgm_free(data);
    return status;
}

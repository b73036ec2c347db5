/*
 * metrics.jsonl: the measurements of a run, one line an entry. Every line ends in the CRC-32C of
 * its other bytes, so a torn or damaged line is recognised without guessing. The offset in a
 * checkpoint says which lines belong to the run when it continues.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_SIZE    18 /* of: ,"crc":"01234567"} */
#define LARGEST_LOG  (INT64_C(4) << 30)
#define SECTION      (INT64_C(256) << 10) /* of a log, read at once         */
#define LONGEST_LINE (INT64_C(8) << 20)   /* a reader holds one whole     */

struct rgm_metrics_log {
    rgmi_append_file file;
    rgm_text line;
};

static void print_tail(char tail[TAIL_SIZE + 1], const char *line, int64_t size)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t crc = rgm_crc32c(0, line, (size_t)size);

    memcpy(tail, ",\"crc\":\"00000000\"}", TAIL_SIZE + 1);
    for (int i = 0; i < 8; i++)
        tail[8 + i] = digits[crc >> (28 - 4 * i) & 15];
}

/* Bytes of the line at `data` with its newline; 0: torn, -1: its checksum does not match. */
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

/* How many bytes of a log are kept: `offset`, or all intact lines for -1. */
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

bool rgm_metrics_log_goes_on_with(const char *path, int64_t offset, const char *split)
{
    char begin[80], line[sizeof begin];
    int size = snprintf(begin, sizeof begin, "{\"split\":\"%s", split);
    int fd = rgmi_open(path, O_RDONLY | O_NONBLOCK);
    bool found = fd >= 0 && size < (int)sizeof begin &&
                 pread(fd, line, (size_t)size, (off_t)offset) == size &&
                 memcmp(line, begin, (size_t)size) == 0;

    if (fd >= 0)
        close(fd);
    return found;
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

/* A log split into the lines that can stay and those that are lost. */
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

/* Copy to PATH.damaged-<n> with the first free n, or reuse the copy of a repair that was killed. */
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
    if ((int64_t)log->line.size > LONGEST_LINE)
        return RGM_FAIL(RGM_ERR_ARG, "%s: a line of %lld bytes, of %lld numbers; it may have %lld",
                        log->file.path, (long long)log->line.size, (long long)count,
                        (long long)LONGEST_LINE);
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

/* The parts of one line, borrowed from its JSON. `numbers` grows and is reused between lines. */
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

/*
 * Parse a line in the form that rgm_metrics_log_add() writes, without a JSON parser, which takes
 * ten times as long. Anything else (an escape, another order, a name twice, a number that is no
 * plain decimal) is left to the JSON parser: false, and nothing is changed.
 */
typedef struct plain_line {
    char *at;
    const char *end; /* of the line, without its checksum */
    char *quotes[2 + 32];
    int quote_count; /* where texts end */
} plain_line;

static bool take(plain_line *p, const char *expected)
{
    size_t size = strlen(expected);

    if ((size_t)(p->end - p->at) < size || memcmp(p->at, expected, size) != 0)
        return false;
    p->at += size;
    return true;
}

/* A text of plain characters after its quote, up to the closing quote. */
static bool take_text(const char **out, plain_line *p)
{
    char *at = p->at;

    while (at < p->end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
        at++;
    if (at >= p->end || *at != '"' || p->quote_count >= (int)(sizeof p->quotes / sizeof(char *)))
        return false;
    *out = p->at;
    p->quotes[p->quote_count++] = at;
    p->at = at + 1;
    return true;
}

static bool take_int(int64_t *out, plain_line *p)
{
    const char *begin = p->at;
    int64_t value = 0;

    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && p->at - begin < 18)
        value = value * 10 + (*p->at++ - '0');
    *out = value;
    return p->at > begin && (*begin != '0' || p->at == begin + 1) &&
           (p->at >= p->end || strchr(".eE0123456789", *p->at) == NULL);
}

/* Digits, a point with digits, an exponent: the form that JSON and strtod() read alike. */
static const char *skip_decimal(const char *at, const char *end, int *digits, int *behind)
{
    const char *begin = at;

    while (at < end && *at >= '0' && *at <= '9')
        at++;
    if (at == begin || (*begin == '0' && at > begin + 1))
        return NULL;
    *digits = (int)(at - begin);
    *behind = 0;
    if (at < end && *at == '.') {
        begin = ++at;
        while (at < end && *at >= '0' && *at <= '9')
            at++;
        *behind = (int)(at - begin);
        if (*behind == 0)
            return NULL;
    }
    return at;
}

/* Up to 15 digits and 22 places are exact in a double, and so is one division by a power of ten
 * (Clinger 1990). */
static bool exact_decimal(double *out, const char *at, const char *end, int digits, int behind)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int64_t whole = 0;

    if (digits + behind > 15)
        return false;
    for (; at < end; at++)
        if (*at != '.')
            whole = whole * 10 + (*at - '0');
    *out = (double)whole / powers[behind];
    return true;
}

static bool take_odd_number(double *out, plain_line *p)
{
    if (take(p, "\"nan\""))
        *out = NAN;
    else if (take(p, "\"inf\""))
        *out = INFINITY;
    else if (take(p, "\"-inf\""))
        *out = -INFINITY;
    else
        return false;
    return true;
}

static bool take_number(double *out, plain_line *p)
{
    char *begin = p->at, *stop;
    bool negative = *begin == '-';
    const char *end;
    int digits, behind;

    if (p->at < p->end && *begin == '"')
        return take_odd_number(out, p);
    end = skip_decimal(begin + negative, p->end, &digits, &behind);
    if (end == NULL || (behind == 0 && (digits > 15 || negative)))
        return false; /* large integers, and "-0" */
    if (end < p->end && (*end == 'e' || *end == 'E')) {
        end += 1 + (end[1] == '-' || end[1] == '+');
        if (end >= p->end || *end < '0' || *end > '9')
            return false;
        while (end < p->end && *end >= '0' && *end <= '9')
            end++;
    } else if (exact_decimal(out, begin + negative, end, digits, behind)) {
        *out = negative ? -*out : *out;
        p->at += end - p->at;
        return true;
    }
    *out = strtod(begin, &stop);
    p->at = stop;
    return stop == end && isfinite(*out); /* in another locale strtod() stops at the point */
}

static bool is_known_name(const rgm_metrics_entry *entry, const rgm_named_number *numbers,
                          const char *name, size_t size)
{
    static const char *const own[] = {"split", "step", "epoch", "crc"};

    for (int i = 0; i < 4; i++)
        if (strlen(own[i]) == size && memcmp(own[i], name, size) == 0)
            return true;
    for (int64_t i = 0; i < entry->count; i++)
        if (memcmp(numbers[i].name, name, size + 1) == 0) /* both end in a quote */
            return true;
    return false;
}

/* Parse a plain line into an entry, whose names borrow from the line; *plain: whether it was
 * plain. */
static rgm_status take_plain(bool *plain, rgm_metrics_entry *entry, rgm_named_number **numbers,
                             int64_t *capacity, char *line, int64_t size)
{
    plain_line p = {.at = line, .end = line + size - TAIL_SIZE - 1};

    *plain = false;
    *entry = (rgm_metrics_entry){0};
    if (!take(&p, "{\"split\":\"") || !take_text(&entry->split, &p) || !take(&p, ",\"step\":") ||
        !take_int(&entry->step, &p) || !take(&p, ",\"epoch\":") || !take_int(&entry->epoch, &p))
        return RGM_OK;
    while (p.at < p.end) {
        rgm_named_number number = {0};

        if (!take(&p, ",\"") || !take_text(&number.name, &p) || !take(&p, ":") ||
            is_known_name(entry, *numbers, number.name, (size_t)(p.at - 2 - number.name)) ||
            !take_number(&number.value, &p))
            return RGM_OK;
        RGM_TRY(RGM_RESERVE(*numbers, *capacity, entry->count + 1));
        (*numbers)[entry->count++] = number;
    }
    for (int i = 0; i < p.quote_count; i++)
        *p.quotes[i] = 0;
    entry->numbers = *numbers;
    *plain = true;
    return RGM_OK;
}

static rgm_status visit_line(char *line, int64_t size, rgm_named_number **numbers,
                             int64_t *capacity, rgm_metrics_visit *visit, void *payload)
{
    rgm_json *root;
    rgm_metrics_entry entry;
    bool plain;
    rgm_status status;

    RGM_TRY(take_plain(&plain, &entry, numbers, capacity, line, size));
    if (plain)
        return visit(&entry, payload);
    RGM_TRY(rgm_json_parse(&root, line, size, "a line of metrics"));
    status = parse_entry(&entry, numbers, capacity, root);
    if (status == RGM_OK)
        status = visit(&entry, payload);
    rgm_json_release(root);
    return status;
}

/* The place of a line: its number, or its offset if the file's beginning was not read. */
static void print_place(char place[40], int64_t start, int64_t at, int64_t line)
{
    if (start > 0)
        snprintf(place, 40, "byte %" PRId64, start + at);
    else
        snprintf(place, 40, "%" PRId64, line);
}

/* Lines in memory: how far they are visited, and the state of the visit. */
typedef struct visiting {
    const char *path;
    int64_t start; /* of data in the file            */
    int64_t line;  /* of the next one, from the start */
    int64_t most;  /* bytes of the file to go through; 0: all */
    rgm_named_number *numbers;
    int64_t capacity;
    rgm_metrics_visit *visit; /* NULL: checksums are all that is wanted */
    void *payload;
} visiting;

/* Visit every intact line of `data`; *used is the end of the last of them. */
static rgm_status visit_lines(int64_t *used, visiting *v, char *data, int64_t size)
{
    char place[40];
    rgm_status status = RGM_OK;

    for (*used = 0; *used < size && status == RGM_OK;) {
        int64_t length = check_line(data + *used, size - *used);

        if (length == 0)
            break;
        print_place(place, v->start, *used, v->line);
        if (length < 0)
            return RGM_FAIL(RGM_ERR_FORMAT,
                            "%s:%s: the line is damaged (its checksum does not fit)", v->path,
                            place);
        if (v->visit != NULL)
            status =
                visit_line(data + *used, length, &v->numbers, &v->capacity, v->visit, v->payload);
        if (status == RGM_ERR_FORMAT)
            status = rgm_error_prefix(status, "%s:%s", v->path, place);
        if (status == RGM_OK || status == RGM_END) {
            *used += length;
            v->line++;
        }
    }
    return status;
}

/* Read the bytes from `start` to the end; the file may have been cut meanwhile. */
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

rgm_status rgmi_load_end(char **data, int64_t *size, int64_t *start, const char *path,
                         int64_t bytes)
{
    char *begin;
    struct stat info;
    int fd = -1;
    rgm_status status = RGM_OK;

    *data = NULL;
    RGM_GO(rgm_path_refuse_pipe(path));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", path));
    if (fstat(fd, &info) < 0)
        RGM_GO(RGM_FAIL_SYSTEM("examine", path));
    /* The byte before shows whether the first of these bytes begins a line. */
    *start = info.st_size > bytes ? info.st_size - bytes - 1 : 0;
    *size = info.st_size - *start;
    RGM_GO(RGM_NEW(*data, *size + 1));
    RGM_GO(read_from(*data, size, fd, *start, path));
    if (*start > 0) {
        begin = memchr(*data, '\n', (size_t)*size);
        begin = begin != NULL ? begin + 1 : *data + *size;
        *size -= begin - *data;
        *start += begin - *data;
        memmove(*data, begin, (size_t)*size);
    }
done:
    if (fd >= 0)
        close(fd);
    if (status != RGM_OK) {
        rgm_free(*data);
        *data = NULL;
    }
    return status;
}

/* Check that the end of the part already read is unchanged; else the log was cut, or is another. */
static rgm_status check_place(const rgm_metrics_place *place, int fd, const char *path)
{
    char last[sizeof place->last];
    int64_t size = sizeof last;

    if (place->offset < (int64_t)sizeof last)
        return place->offset == 0 ? RGM_OK : RGM_FAIL(RGM_ERR_ARG, "no place in a log");
    RGM_TRY(read_from(last, &size, fd, place->offset - (int64_t)sizeof last, path));
    if (size < (int64_t)sizeof last || memcmp(last, place->last, sizeof last) != 0)
        return RGM_FAIL(RGM_ERR_DATA, "%s was cut since it was read", path);
    return RGM_OK;
}

/* Visit section by section until the file ends; the rest of a line moves to the front for the next
 * section. */
static rgm_status visit_sections(rgm_metrics_place *place, visiting *v, int fd)
{
    int64_t capacity = SECTION, have = 0, used = 0, begin = place->offset;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, capacity));
    v->line = place->lines + 1;
    for (;;) {
        int64_t size = capacity - have;

        RGM_GO(read_from(data + have, &size, fd, place->offset + have, v->path));
        if (size == 0)
            break;
        have += size;
        status = visit_lines(&used, v, data, have);
        if (used > 0) {
            /* Names are terminated in place, but no byte of a checksum is overwritten. */
            memcpy(place->last, data + used - sizeof place->last, sizeof place->last);
            place->offset += used;
            place->lines = v->line - 1;
            have -= used;
            memmove(data, data + used, (size_t)have);
        }
        RGM_GO(status);
        if (v->most > 0 && place->offset - begin >= v->most) {
            status = RGM_END;
            break;
        }
        if (used == 0 && have == capacity) {
            if (capacity >= LONGEST_LINE)
                RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s: a line of more than %lld bytes", v->path,
                                (long long)LONGEST_LINE));
            RGM_GO(RGM_RESERVE(data, capacity, 2 * capacity));
        }
    }
done:
    rgm_free(data);
    return status;
}

/* Errors: those of rgm_metrics_log_read_on(), and RGM_END where the visit or v->most ended it. */
static rgm_status visit_from(rgm_metrics_place *place, visiting *v)
{
    int fd = -1;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_refuse_pipe(v->path));
    fd = open(v->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", v->path));
    RGM_GO(check_place(place, fd, v->path));
    status = visit_sections(place, v, fd);
done:
    if (fd >= 0)
        close(fd);
    rgm_free(v->numbers);
    v->numbers = NULL;
    v->capacity = 0;
    return status;
}

rgm_status rgm_metrics_log_read_on(rgm_metrics_place *place, const char *path,
                                   rgm_metrics_visit *visit, void *payload)
{
    visiting v = {.path = path, .visit = visit, .payload = payload};
    rgm_status status = visit_from(place, &v);

    return status == RGM_END ? RGM_OK : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_metrics_log_check(rgm_metrics_place *place, const char *path, int64_t most)
{
    visiting v = {.path = path, .most = most > 0 ? most : 1};
    rgm_status status = visit_from(place, &v);

    if (status == RGM_ERR_DATA) {
        *place = (rgm_metrics_place){0};
        status = visit_from(place, &v);
    }
    return status == RGM_END ? status : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_metrics_log_read(const char *path, rgm_metrics_visit *visit, void *payload)
{
    rgm_metrics_place place = {0};

    return rgm_metrics_log_read_on(&place, path, visit, payload);
}

rgm_status rgm_metrics_log_read_end(const char *path, int64_t bytes, rgm_metrics_visit *visit,
                                    void *payload)
{
    visiting v = {.path = path, .line = 1, .visit = visit, .payload = payload};
    char *data;
    int64_t size, used;
    rgm_status status;

    RGM_TRY(rgmi_load_end(&data, &size, &v.start, path, bytes));
    status = visit_lines(&used, &v, data, size);
    rgm_free(data);
    rgm_free(v.numbers);
    return status == RGM_END ? RGM_OK : rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/*
 * Reading event files back: what our writer wrote, files that end in the middle of a record, every
 * byte of one damaged, and records that other programs could have written.
 */
#include <check.h>

#include <fcntl.h>
#include <regimen/store.h>
#include <sys/stat.h>
#include <unistd.h>

/* List what is visited, as lines. */
static rgm_status note(const rgm_summary *s, void *payload)
{
    rgm_text *out = payload;

    switch (s->kind) {
    case RGM_SUMMARY_START:
        return rgm_text_printf(out, "start %lld\n", (long long)s->step);
    case RGM_SUMMARY_SCALAR:
        return rgm_text_printf(out, "%s %lld %g\n", s->tag, (long long)s->step, s->value);
    case RGM_SUMMARY_TEXT:
        return rgm_text_printf(out, "%s %lld '%.*s'\n", s->tag, (long long)s->step,
                               (int)s->text.size, s->text.data);
    default:
        RGM_TRY(rgm_text_printf(out, "%s %lld [%g, %g] %g of sum %g:", s->tag, (long long)s->step,
                                s->min, s->max, s->count, s->sum));
        for (int64_t b = 0; b < s->buckets; b++)
            RGM_TRY(rgm_text_printf(out, " %g:%g", s->limits[b], s->counts[b]));
        return rgm_text_printf(out, "\n");
    }
}

/* The path of the only (or `which`-th) file of a folder. */
static const char *file_in(const char *folder, int64_t which)
{
    static char path[512];
    char **names = NULL;
    int64_t count;

    CHECK_OK(rgm_folder_list(&names, &count, folder));
    CHECK(which < count);
    snprintf(path, sizeof path, "%s/%s", folder, names[which]);
    rgm_names_release(names, count);
    return path;
}

/* Write a file with a start, a scalar, a text and a histogram of two tags. */
static void write_file(const char *folder)
{
    static const float numbers[] = {0, 1, 1, 4};
    rgm_event_file *file = NULL;
    rgm_tensor *tensor = NULL;

    CHECK_OK(rgm_tensor_create(&tensor, RGM_F32, 1, (int64_t[]){4}));
    memcpy(rgm_tensor_f32(tensor), numbers, sizeof numbers);
    CHECK_OK(rgm_event_file_create(&file, folder, 21));
    CHECK_OK(rgm_event_file_scalar(file, "epoch_loss", 30, 0.25));
    CHECK_OK(rgm_event_file_text(file, "pair_1", 30, "source: a  \ntranslation: b"));
    CHECK_OK(rgm_event_file_histogram(file, "w", 30, tensor));
    CHECK_OK(rgm_event_file_scalar(file, "epoch_loss", INT64_MAX, -2));
    CHECK_OK(rgm_event_file_flush(file));
    rgm_event_file_close(file);
    rgm_tensor_release(tensor);
}

static rgm_status check_histogram(const rgm_summary *s, void *payload)
{
    if (s->kind != RGM_SUMMARY_HISTOGRAM)
        return RGM_OK;
    ++*(int *)payload;
    CHECK_INT(30, s->buckets); /* of {0, 1, 1, 4} */
    for (int64_t b = 0; b < s->buckets; b++) {
        CHECK_CLOSE(4.0 * (double)(b + 1) / 30, s->limits[b], 1e-12, 0);
        CHECK_CLOSE(b == 0 || b == 29 ? 1 : b == 7 ? 2 : 0, s->counts[b], 0, 0);
    }
    return RGM_OK;
}

static void what_was_written_is_read(void **state)
{
    const char *folder = check_folder();
    rgm_text seen = {0};
    char *histogram;
    int found = 0;

    (void)state;
    write_file(folder);
    CHECK_OK(rgm_event_file_read(file_in(folder, 0), check_histogram, &found));
    CHECK_INT(1, found);
    CHECK_OK(rgm_event_file_read(file_in(folder, 0), note, &seen));
    histogram = strstr(seen.data, "w 30 [0, 4] 4 of sum 6:");
    CHECK(histogram != NULL);
    *histogram = '\0';
    CHECK_TEXT("start 21\nepoch_loss 30 0.25\npair_1 30 'source: a  \ntranslation: b'\n",
               seen.data);
    CHECK(strstr(histogram + 1, "epoch_loss 9223372036854775807 -2\n") != NULL);
    rgm_text_clear(&seen);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status note_time(const rgm_summary *s, void *payload)
{
    *(rgm_summary *)payload = *s;
    return RGM_END;
}

static void a_record_is_found_again_by_its_offset(void **state)
{
    const char *folder = check_folder();
    rgm_summary first = {0}, second = {0};
    int64_t end = 0, next = 0;
    int fd;

    (void)state;
    write_file(folder);
    fd = open(file_in(folder, 0), O_RDONLY);
    CHECK(fd >= 0);
    CHECK_OK(rgm_event_records_read(&end, fd, 0, "f", note_time, &first));
    CHECK_INT(RGM_SUMMARY_START, first.kind);
    CHECK(fabs(first.time - rgm_wall_time()) < 60);
    CHECK_OK(rgm_event_records_read(&next, fd, end, "f", note_time, &second));
    CHECK_INT(end, second.offset);
    CHECK_INT(RGM_SUMMARY_SCALAR, second.kind);
    CHECK(next > end);
    CHECK_OK(rgm_event_records_read(NULL, fd, second.offset, "f", note_time, &first));
    CHECK_INT(RGM_SUMMARY_SCALAR, first.kind);
    CHECK_STATUS(RGM_ERR_ARG, rgm_event_records_read(NULL, fd, -1, "f", note_time, &first));
    CHECK_STATUS(RGM_ERR_FORMAT,
                 rgm_event_records_read(&next, fd, end + 1, "f", note_time, &first));
    CHECK_INT(end + 1, next);
    close(fd);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A writer may be in the middle of a write: each beginning of a file is valid, and reading
 * continues from its end. */
static void every_beginning_of_a_file_is_read_as_far_as_it_goes(void **state)
{
    const char *folder = check_folder();
    char *data = NULL, path[512];
    rgm_text whole = {0}, seen = {0};
    int64_t size, end;
    int fd;

    (void)state;
    write_file(folder);
    CHECK_OK(rgm_event_file_read(file_in(folder, 0), note, &whole));
    CHECK_OK(rgm_file_load(&data, &size, file_in(folder, 0), 1 << 20));
    snprintf(path, sizeof path, "%s/cut", folder);
    for (int64_t cut = 0; cut <= size; cut++) {
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK(fd >= 0);
        CHECK_OK(rgm_write_all(fd, data, cut, path));
        seen.size = 0;
        CHECK_OK(rgm_event_records_read(&end, fd, 0, "cut", note, &seen));
        CHECK(end <= cut);
        CHECK(strncmp(whole.data, seen.size > 0 ? seen.data : "", (size_t)seen.size) == 0);
        CHECK_OK(rgm_write_all(fd, data + cut, size - cut, path));
        CHECK_OK(rgm_event_records_read(&end, fd, end, "cut", note, &seen));
        CHECK_INT(size, end);
        CHECK_TEXT(whole.data, seen.data);
        close(fd);
    }
    rgm_free(data);
    rgm_text_clear(&whole);
    rgm_text_clear(&seen);
    CHECK_OK(rgm_folder_remove(folder));
}

static void every_damaged_byte_is_an_error_with_its_record(void **state)
{
    const char *folder = check_folder();
    char *data = NULL, path[512], place[64];
    rgm_text whole = {0}, seen = {0};
    int64_t size, end;
    int fd;

    (void)state;
    write_file(folder);
    CHECK_OK(rgm_event_file_read(file_in(folder, 0), note, &whole));
    CHECK_OK(rgm_file_load(&data, &size, file_in(folder, 0), 1 << 20));
    snprintf(path, sizeof path, "%s/bad", folder);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0);
    for (int64_t at = 0; at < size; at++) {
        char bad = (char)(data[at] ^ 1 << at % 8);

        CHECK_INT(size, pwrite(fd, data, (size_t)size, 0));
        CHECK_INT(1, pwrite(fd, &bad, 1, at));
        seen.size = 0;
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_event_records_read(&end, fd, 0, "bad", note, &seen));
        CHECK(end <= at);
        snprintf(place, sizeof place, "bad: record at byte %lld: ", (long long)end);
        CHECK_MESSAGE(place);
        CHECK(strncmp(whole.data, seen.size > 0 ? seen.data : "", (size_t)seen.size) == 0);
    }
    close(fd);
    rgm_free(data);
    rgm_text_clear(&whole);
    rgm_text_clear(&seen);
    CHECK_OK(rgm_folder_remove(folder));
}

static uint32_t masked_crc(const void *data, size_t size)
{
    uint32_t crc = rgm_crc32c(0, data, size);

    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* A file with one record of these bytes. */
static void write_record(const char *path, const void *data, size_t size)
{
    rgm_text record = {0};
    uint64_t length = size;
    uint32_t crc = masked_crc(&length, 8);

    CHECK_OK(rgm_text_add(&record, &length, 8));
    CHECK_OK(rgm_text_add(&record, &crc, 4));
    CHECK_OK(rgm_text_add(&record, data, (int64_t)size));
    crc = masked_crc(data, size);
    CHECK_OK(rgm_text_add(&record, &crc, 4));
    CHECK_OK(rgm_file_save(path, record.data, record.size));
    rgm_text_clear(&record);
}

/* Valid CRCs around bytes that are no event. */
static void what_is_no_event_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } rows[] = {
        {"\x2a\x05\x0a", 3, "malformed"}, /* longer than the record */
        {"\x2b", 1, "malformed"},         /* a group */
        {"\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 11, "malformed"}, /* an endless number */
        {"\x09\x01", 2, "malformed"},                                      /* a double of a byte */
        {"\x00", 1, "malformed"},                                          /* field 0 */
        {"\x2a\x0b\x0a\x09\x0a\x02w\x00\x15\x00\x00\x00\x00", 13, "zero byte"},
        {"\x2a\x12\x0a\x10\x0a\x01w\x2a\x0b\x31\0\0\0\0\0\0\0\0\x3a\x00", 20, "counts as edges"},
        {"\x2a\x0a\x0a\x08\x0a\x01w\x2a\x03\x32\x01x", 12, "no list of doubles"},
    };
    const char *folder = check_folder();
    char path[512];
    rgm_text seen = {0};

    (void)state;
    snprintf(path, sizeof path, "%s/f", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_record(path, rows[i].bytes, rows[i].size);
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_event_file_read(path, note, &seen));
        CHECK_MESSAGE("record at byte 0");
        CHECK_MESSAGE(rows[i].message);
    }
    CHECK_INT(0, seen.size);
    /* A value without a tag, one of another kind, the end of a session: skipped. A step after its
     * value, a negative step, an unpacked list: read. */
    write_record(path, "\x2a\x07\x0a\x05\x15\x00\x00\x80\x3f", 9);
    CHECK_OK(rgm_event_file_read(path, note, &seen));
    write_record(path, "\x2a\x07\x0a\x05\x0a\x01w\x22\x00", 9);
    CHECK_OK(rgm_event_file_read(path, note, &seen));
    write_record(path, "\x3a\x02\x08\x02", 4);
    CHECK_OK(rgm_event_file_read(path, note, &seen));
    CHECK_INT(0, seen.size);
    write_record(path, "\x2a\x0a\x0a\x08\x0a\x01w\x15\x00\x00\x80\x3f\x10\x07", 14);
    CHECK_OK(rgm_event_file_read(path, note, &seen));
    CHECK_TEXT("w 7 1\n", seen.data);
    rgm_text_clear(&seen);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_record_of_a_terabyte_is_refused_before_memory_is_taken(void **state)
{
    const char *folder = check_folder();
    uint64_t length = UINT64_C(1) << 40;
    uint32_t crc = masked_crc(&length, 8);
    char path[512], head[4096] = {0};
    rgm_text seen = {0};

    (void)state;
    snprintf(path, sizeof path, "%s/f", folder);
    memcpy(head, &length, 8);
    memcpy(head + 8, &crc, 4);
    CHECK_OK(rgm_file_save(path, head, sizeof head));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_event_file_read(path, note, &seen));
    CHECK_MESSAGE("more than 64 MiB");
    /* A record of 60 MiB of which some bytes exist is torn, and costs only the memory of these
     * bytes. */
    length = 60 << 20;
    crc = masked_crc(&length, 8);
    memcpy(head, &length, 8);
    memcpy(head + 8, &crc, 4);
    CHECK_OK(rgm_file_save(path, head, sizeof head));
    rgm_memory_reset_peak();
    CHECK_OK(rgm_event_file_read(path, note, &seen));
    CHECK(rgm_memory_peak() - rgm_memory_used() < 1 << 20);
    CHECK_OK(rgm_folder_remove(folder));
}

static void links_pipes_and_folders_are_no_event_files(void **state)
{
    const char *folder = check_folder();
    char path[512], to[512];
    rgm_text seen = {0};

    (void)state;
    write_file(folder);
    snprintf(path, sizeof path, "%s/link", folder);
    snprintf(to, sizeof to, "%s", file_in(folder, 0));
    CHECK_INT(0, symlink(to, path));
    CHECK_STATUS(RGM_ERR_IO, rgm_event_file_read(path, note, &seen));
    snprintf(path, sizeof path, "%s/pipe", folder);
    CHECK_INT(0, mkfifo(path, 0600));
    CHECK_STATUS(RGM_ERR_IO, rgm_event_file_read(path, note, &seen)); /* at once */
    CHECK_STATUS(RGM_ERR_IO, rgm_event_file_read(folder, note, &seen));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_event_file_read("/nowhere/f", note, &seen));
    CHECK_INT(0, seen.size);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status ignore(const rgm_summary *s, void *payload)
{
    (void)s;
    (void)payload;
    return RGM_OK;
}

static rgm_status refuse(const rgm_summary *s, void *payload)
{
    (void)payload;
    return s->kind == RGM_SUMMARY_HISTOGRAM ? RGM_FAIL(RGM_ERR_DATA, "refused") : RGM_OK;
}

static void out_of_memory_and_a_visit_that_fails_are_told(void **state)
{
    const char *folder = check_folder(), *path;

    (void)state;
    write_file(folder);
    path = file_in(folder, 0);
    CHECK_EVERY_OOM(rgm_event_file_read(path, ignore, NULL), );
    CHECK_STATUS(RGM_ERR_DATA, rgm_event_file_read(path, refuse, NULL));
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(what_was_written_is_read),
      cmocka_unit_test(a_record_is_found_again_by_its_offset),
      cmocka_unit_test(every_beginning_of_a_file_is_read_as_far_as_it_goes),
      cmocka_unit_test(every_damaged_byte_is_an_error_with_its_record),
      cmocka_unit_test(what_is_no_event_is_refused),
      cmocka_unit_test(a_record_of_a_terabyte_is_refused_before_memory_is_taken),
      cmocka_unit_test(links_pipes_and_folders_are_no_event_files),
      cmocka_unit_test(out_of_memory_and_a_visit_that_fails_are_told))

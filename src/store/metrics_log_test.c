/*
 * metrics.jsonl: lines are read back, lost work is cut off, damage is found and located.
 */
#include <check.h>

#include <regimen/store.h>

#include <sys/stat.h>
#include <unistd.h>

static const char *path_in(const char *folder)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    return path;
}

static void add(rgm_metrics_log *log, int64_t step, double accuracy)
{
    const rgm_named_number numbers[] = {{"loss", 1.0 / (double)(step + 1)}, {"accuracy", accuracy}};

    CHECK_OK(rgm_metrics_log_add(log, "valid", step, step / 10, numbers, 2));
}

/* Entries as "step:accuracy ". */
static rgm_status list_one(const rgm_metrics_entry *entry, void *payload)
{
    CHECK_TEXT("valid", entry->split);
    CHECK_INT(2, entry->count);
    CHECK_TEXT("loss", entry->numbers[0].name);
    CHECK(entry->numbers[0].value == 1.0 / (double)(entry->step + 1));
    CHECK_INT(entry->step / 10, entry->epoch);
    return rgm_text_printf(payload, "%lld:%g ", (long long)entry->step, entry->numbers[1].value);
}

static void check_entries(const char *path, const char *expected)
{
    rgm_text text = {0};

    CHECK_OK(rgm_text_add(&text, "", 0));
    CHECK_OK(rgm_metrics_log_read(path, list_one, &text));
    CHECK_TEXT(expected, text.data);
    rgm_text_clear(&text);
}

static void a_line_looks_like_the_documentation(void **state)
{
    const rgm_named_number number = {"accuracy", 0.79};
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_log *log = NULL;
    char *data = NULL;
    int64_t size;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    CHECK_OK(rgm_metrics_log_add(log, "valid", 100, 1, &number, 1));
    rgm_metrics_log_close(log);
    CHECK_OK(rgm_file_load(&data, &size, path, 1000));
    const char *start = "{\"split\":\"valid\",\"step\":100,\"epoch\":1,\"accuracy\":0.79";
    char expected[128];
    snprintf(expected, sizeof expected, "%s,\"crc\":\"%08x\"}\n", start,
             (unsigned)rgm_crc32c(0, start, strlen(start)));
    CHECK_TEXT(expected, data);
    rgm_free(data);
    CHECK_OK(rgm_folder_remove(folder));
}

static void lost_work_is_cut_off_on_resume(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_log *log = NULL;
    int64_t offset, later;
    struct stat info;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    add(log, 10, 0.5);
    add(log, 20, 0.6);
    CHECK_OK(rgm_metrics_log_commit(&offset, log));
    add(log, 30, NAN);
    CHECK_OK(rgm_metrics_log_commit(&later, log));
    CHECK(later > offset);
    rgm_metrics_log_close(log);
    CHECK_OK(rgm_metrics_log_open(&log, path, offset));
    add(log, 30, 0.7);
    CHECK_OK(rgm_metrics_log_truncate(log, offset));
    add(log, 30, INFINITY);
    rgm_metrics_log_close(log);
    check_entries(path, "10:0.5 20:0.6 30:inf ");
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    rgm_metrics_log_close(log);
    CHECK_INT(0, stat(path, &info));
    CHECK_INT(0, info.st_size);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_metrics_log_open(&log, path, offset));
    CHECK_MESSAGE("lines are missing");
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_torn_last_line_is_passed_over(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_log *log = NULL;
    int64_t end;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, -1));
    add(log, 10, 0.5);
    add(log, 20, 0.6);
    CHECK_OK(rgm_metrics_log_commit(&end, log));
    rgm_metrics_log_close(log);
    for (int64_t size = end - 1; size > end / 2; size--) {
        CHECK_INT(0, truncate(path, size));
        check_entries(path, "10:0.5 ");
    }
    CHECK_OK(rgm_metrics_log_open(&log, path, -1));
    add(log, 20, 0.25);
    rgm_metrics_log_close(log);
    check_entries(path, "10:0.5 20:0.25 ");
    CHECK_OK(rgm_folder_remove(folder));
}

static void change_byte(const char *path, int64_t at, char byte)
{
    FILE *file = fopen(path, "r+b");

    CHECK(file != NULL);
    fseek(file, (long)at, SEEK_SET);
    fputc(byte, file);
    fclose(file);
}

static void a_damaged_line_is_named(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_log *log = NULL;
    int64_t first, end;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    add(log, 10, 0.5);
    CHECK_OK(rgm_metrics_log_commit(&first, log));
    add(log, 20, 0.6);
    add(log, 30, 0.7);
    CHECK_OK(rgm_metrics_log_commit(&end, log));
    rgm_metrics_log_close(log);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_metrics_log_open(&log, path, first - 1));
    CHECK_MESSAGE("inside this line");
    change_byte(path, first + 30, '#');
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_metrics_log_read(path, list_one, &text));
    CHECK_MESSAGE("metrics.jsonl:2: the line is damaged");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_metrics_log_open(&log, path, end));
    CHECK_MESSAGE("metrics.jsonl:2: the line is damaged");
    CHECK_OK(rgm_metrics_log_open(&log, path, first));
    rgm_metrics_log_close(log);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

static int warnings;
static void count_warning(int level, const char *message, void *payload)
{
    (void)message;
    (void)payload;
    warnings += level == RGM_LOG_WARNING;
}

/* Damaged lines are removed, the file as it was is kept, and lost work after the offset is cut as
 * usual. */
static void a_repaired_log_goes_on_without_its_damaged_lines(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_log *log = NULL;
    int64_t offset[3], end, size, sizes[2];
    char aside[300], *before, *after;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    for (int i = 0; i < 3; i++) {
        add(log, 10 * (i + 1), 0.5 + 0.1 * i);
        CHECK_OK(rgm_metrics_log_commit(&offset[i], log));
    }
    rgm_metrics_log_close(log);
    change_byte(path, offset[0] + 30, '#');
    CHECK_OK(rgm_file_load(&before, &sizes[0], path, 1000));
    warnings = 0;
    CHECK_OK(rgm_logger_add_sink(NULL, count_warning, NULL));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_metrics_log_open(&log, path, -1));
    CHECK_EVERY_OOM(rgm_metrics_log_repair(&end, path, offset[1]), (void)0);
    CHECK_INT(offset[0], end);
    check_entries(path, "10:0.5 ");
    snprintf(aside, sizeof aside, "%s.damaged-1", path);
    CHECK_OK(rgm_file_load(&after, &sizes[1], aside, 1000));
    CHECK(sizes[0] == sizes[1] && memcmp(before, after, (size_t)sizes[0]) == 0);
    CHECK_INT(1, warnings);
    rgm_free(before);
    rgm_free(after);
    /* A kill between the two files: the next repair finds the copy already made. */
    CHECK_OK(rgm_file_load(&before, &size, aside, 1000));
    CHECK_OK(rgm_file_save(path, before, size));
    rgm_free(before);
    CHECK_OK(rgm_metrics_log_repair(&end, path, offset[2]));
    check_entries(path, "10:0.5 30:0.7 ");
    CHECK_INT(offset[2] - (offset[1] - offset[0]), end);
    snprintf(aside, sizeof aside, "%s.damaged-2", path);
    CHECK(!rgm_path_exists(aside));
    CHECK_INT(2, warnings);
    CHECK_OK(rgm_metrics_log_open(&log, path, end));
    add(log, 40, 0.8);
    rgm_metrics_log_close(log);
    check_entries(path, "10:0.5 30:0.7 40:0.8 ");
    /* Shorter than the checkpoint says, or missing: what exists stays. */
    CHECK_OK(rgm_metrics_log_repair(&end, path, 10 * offset[2]));
    CHECK_INT(3, warnings);
    check_entries(path, "10:0.5 30:0.7 40:0.8 ");
    CHECK_OK(rgm_file_load(&before, &size, path, 1000));
    CHECK_INT(size, end);
    rgm_free(before);
    CHECK_INT(0, unlink(path));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_metrics_log_open(&log, path, offset[0]));
    CHECK_OK(rgm_metrics_log_repair(&end, path, offset[0]));
    CHECK_INT(0, end);
    CHECK_INT(4, warnings);
    rgm_logger_remove_sink(NULL, count_warning, NULL);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status stop_at_once(const rgm_metrics_entry *entry, void *payload)
{
    (void)entry;
    ++*(int *)payload;
    return RGM_END;
}

static void a_visitor_can_stop(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_log *log = NULL;
    int calls = 0;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    for (int64_t step = 0; step < 5000; step++) /* more than one buffer */
        add(log, step, 0.5);
    rgm_metrics_log_close(log);
    CHECK_OK(rgm_metrics_log_read(path, stop_at_once, &calls));
    CHECK_INT(1, calls);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_metrics_log_read("/nowhere/metrics", stop_at_once, &calls));
    CHECK_OK(rgm_folder_remove(folder));
}

/* Entries that begin in the last `bytes` bytes; "" when none does. */
static void check_end(const char *path, int64_t bytes, const char *expected)
{
    rgm_text text = {0};

    CHECK_OK(rgm_text_add(&text, "", 0));
    CHECK_OK(rgm_metrics_log_read_end(path, bytes, list_one, &text));
    CHECK_TEXT(expected, text.data);
    rgm_text_clear(&text);
}

static void the_end_is_read_alone(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_log *log = NULL;
    int64_t offset[4] = {0}, size;
    char *data = NULL, place[64];
    int calls = 0;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    check_end(path, 100, "");
    for (int64_t step = 1; step <= 3; step++) {
        add(log, step, 0.5);
        CHECK_OK(rgm_metrics_log_commit(&offset[step], log));
    }
    rgm_metrics_log_close(log);
    check_end(path, offset[3] - offset[2] - 1, "");
    check_end(path, offset[3] - offset[2], "3:0.5 ");
    check_end(path, offset[3] - offset[1] - 1, "3:0.5 ");
    check_end(path, offset[3] - offset[1], "2:0.5 3:0.5 ");
    check_end(path, offset[3], "1:0.5 2:0.5 3:0.5 ");
    check_end(path, 1 << 20, "1:0.5 2:0.5 3:0.5 ");
    CHECK_INT(0, truncate(path, offset[3] - 1)); /* torn */
    check_end(path, offset[3], "1:0.5 2:0.5 ");
    /* Damage is reported where it is read, and unnoticed elsewhere. */
    CHECK_OK(rgm_file_load(&data, &size, path, 1000));
    data[offset[1] + 10] ^= 1;
    CHECK_OK(rgm_file_save(path, data, size));
    rgm_free(data);
    check_end(path, 10, "");
    snprintf(place, sizeof place, "metrics.jsonl:byte %d: the line is damaged", (int)offset[1]);
    CHECK_STATUS(RGM_ERR_FORMAT,
                 rgm_metrics_log_read_end(path, size - offset[1], stop_at_once, &calls));
    CHECK_MESSAGE(place);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_metrics_log_read_end("/nowhere/metrics", 10, stop_at_once, &calls));
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status log_one(const char *path)
{
    const rgm_named_number number = {"accuracy", 0.79};
    rgm_metrics_log *log = NULL;
    int64_t offset;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_metrics_log_open(&log, path, -1));
    RGM_GO(rgm_metrics_log_add(log, "valid", 1, 1, &number, 1));
    RGM_GO(rgm_metrics_log_commit(&offset, log));
done:
    rgm_metrics_log_close(log);
    return status;
}

static rgm_status count_one(const rgm_metrics_entry *entry, void *payload)
{
    CHECK_INT(1, entry->count);
    ++*(int *)payload;
    return RGM_OK;
}

static void logging_survives_every_failing_allocation(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    int calls = 0;

    (void)state;
    CHECK_EVERY_OOM(log_one(path), (void)0);
    CHECK_EVERY_OOM(rgm_metrics_log_read(path, count_one, &calls), (void)0);
    CHECK_EVERY_OOM(rgm_metrics_log_read_end(path, 70, count_one, &calls), (void)0);
    CHECK_OK(rgm_folder_remove(folder));
}

/* What a reader that only knows JSON makes of a line, as text. */
static void describe_by_json(rgm_text *out, const char *line, int64_t size)
{
    rgm_json_entry at = {0};
    rgm_json *json;
    int64_t step = 0, epoch = 0;

    if (rgm_json_parse(&json, line, size, "line") != RGM_OK) {
        CHECK_OK(rgm_text_printf(out, "bad"));
        return;
    }
    (void)rgm_json_int(&step, rgm_json_find(json, "step"));
    (void)rgm_json_int(&epoch, rgm_json_find(json, "epoch"));
    CHECK_OK(rgm_text_printf(out, "%s %lld %lld", rgm_json_text(rgm_json_find(json, "split")),
                             (long long)step, (long long)epoch));
    while (rgm_json_next(&at, json)) {
        double value = NAN;

        if (strcmp(at.key, "split") == 0 || strcmp(at.key, "step") == 0 ||
            strcmp(at.key, "epoch") == 0 || strcmp(at.key, "crc") == 0)
            continue;
        (void)rgm_json_number(&value, at.value);
        CHECK_OK(rgm_text_printf(out, " %s=%a", at.key, value));
    }
    rgm_json_release(json);
}

static rgm_status describe_entry(const rgm_metrics_entry *entry, void *payload)
{
    CHECK_OK(rgm_text_printf(payload, "%s %lld %lld", entry->split, (long long)entry->step,
                             (long long)entry->epoch));
    for (int64_t i = 0; i < entry->count; i++)
        CHECK_OK(
            rgm_text_printf(payload, " %s=%a", entry->numbers[i].name, entry->numbers[i].value));
    return RGM_OK;
}

/* A line of one to five parts, each of them mostly as the library writes it. */
static int64_t random_line(char *line, size_t room, const rgm_rng *rng, uint64_t *draw)
{
    static const char *const heads[] = {"{\"split\":\"valid\",\"step\":100,\"epoch\":1",
                                        "{\"split\":\"train\",\"step\":0,\"epoch\":0",
                                        "{\"split\":\"a\\u0062\",\"step\":1,\"epoch\":2",
                                        "{\"step\":1,\"split\":\"v\",\"epoch\":2",
                                        "{\"split\":\"v\",\"step\":01,\"epoch\":2",
                                        "{\"split\":\"v\",\"step\":-1,\"epoch\":2",
                                        "{\"split\":\"v\",\"step\":1.5,\"epoch\":2",
                                        "{ \"split\":\"v\", \"step\":7,\"epoch\":2",
                                        "{\"split\":\"v\",\"step\":1234567890123456789,\"epoch\":2",
                                        "{\"split\":\"v\",\"step\":1"};
    static const char *const names[] = {"loss", "a",   "b.c", "split", "crc", "\\n",
                                        "",     "x y", "z",   "loss2", "k",   "\xc3\xa9"};
    static const char *const values[] = {"0.5",
                                         "1e-05",
                                         "12345678901234567",
                                         "\"nan\"",
                                         "\"inf\"",
                                         "\"-inf\"",
                                         "\"x\"",
                                         "-0",
                                         "-0.0",
                                         "-3",
                                         "0.1234567890123456",
                                         "1e999",
                                         "1e-999",
                                         "01.5",
                                         "1.",
                                         ".5",
                                         "null",
                                         "7",
                                         "[1]",
                                         "1E+3",
                                         "-2.5e10",
                                         "0x10",
                                         "1.0",
                                         "NaN"};
    int64_t size;
    uint64_t parts = rgm_rng_below(rng, (*draw)++, 5);

    size = snprintf(line, room, "%s", heads[rgm_rng_below(rng, (*draw)++, 16) % 10]);
    for (uint64_t i = 0; i < parts; i++) {
        char number[40];
        const char *value = values[rgm_rng_below(rng, (*draw)++, 24)];

        if (rgm_rng_below(rng, (*draw)++, 3) > 0) {
            int digits = (int)rgm_rng_below(rng, (*draw)++, 18);

            snprintf(number, sizeof number, "%.*g", digits, rgm_rng_normal(rng, (*draw)++) * 100);
            value = number;
        }
        size += snprintf(line + size, room - (size_t)size, ",\"%s\":%s",
                         names[rgm_rng_below(rng, (*draw)++, 12)], value);
    }
    return size + snprintf(line + size, room - (size_t)size, ",\"crc\":\"%08x\"}\n",
                           (unsigned)rgm_crc32c(0, line, (size_t)size));
}

/* Plain lines are parsed without a JSON parser, with the same results. */
static void plain_lines_and_others_read_alike(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    const rgm_rng rng = rgm_rng_stream(3, "lines", 0);
    uint64_t draw = 0;
    int good = 0;

    (void)state;
    for (int i = 0; i < 4000; i++) {
        rgm_text expected = {0}, found = {0};
        char line[1000];
        int64_t size = random_line(line, sizeof line, &rng, &draw);
        FILE *file = fopen(path, "wb");

        CHECK(file != NULL && fwrite(line, 1, (size_t)size, file) == (size_t)size);
        CHECK_INT(0, fclose(file));
        describe_by_json(&expected, line, size);
        if (rgm_metrics_log_read(path, describe_entry, &found) != RGM_OK) {
            found.size = 0;
            CHECK_OK(rgm_text_printf(&found, "bad"));
        }
        CHECK_TEXT(expected.data, found.data);
        good += strcmp(found.data, "bad") != 0;
        rgm_text_clear(&expected);
        rgm_text_clear(&found);
    }
    CHECK(good > 1000 && good < 3500);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_log_is_followed_as_it_grows(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_place place = {0};
    rgm_metrics_log *log = NULL;
    rgm_text text = {0};
    int64_t offset, later;
    struct stat info;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    add(log, 10, 0.5);
    CHECK_OK(rgm_metrics_log_commit(&offset, log));
    CHECK_OK(rgm_metrics_log_read_on(&place, path, list_one, &text));
    CHECK_INT(offset, place.offset);
    CHECK_OK(rgm_metrics_log_read_on(&place, path, list_one, &text));
    CHECK_TEXT("10:0.5 ", text.data);
    for (int64_t step = 20; step < 60000; step += 10) /* more than a section */
        add(log, step, 0.25);
    CHECK_OK(rgm_metrics_log_commit(&later, log));
    CHECK_INT(0, truncate(path, later - 5)); /* torn */
    text.size = 0;
    CHECK_OK(rgm_metrics_log_read_on(&place, path, list_one, &text));
    CHECK(strncmp(text.data, "20:0.25 30:0.25 ", 16) == 0);
    CHECK_TEXT("59970:0.25 59980:0.25 ", text.data + text.size - 22);
    CHECK(place.offset < later - 5);
    CHECK_OK(rgm_metrics_log_truncate(log, offset));
    CHECK_STATUS(RGM_ERR_DATA, rgm_metrics_log_read_on(&place, path, list_one, &text));
    CHECK_MESSAGE("was cut since it was read");
    for (int64_t step = 20; step < 60000; step += 10) /* as long as before, other lines */
        add(log, step, 0.75);
    rgm_metrics_log_close(log);
    CHECK_INT(0, stat(path, &info));
    CHECK_INT(later, info.st_size);
    CHECK_STATUS(RGM_ERR_DATA, rgm_metrics_log_read_on(&place, path, list_one, &text));
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A reader holds a line whole: what a log from elsewhere calls a line takes no more than its bound.
 */
static void a_line_has_a_bound(void **state)
{
    enum { LONGEST = 8 << 20, LONG = 100 << 20 };
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_named_number number = {.value = 1};
    char *name = calloc(1, LONGEST);
    rgm_metrics_log *log = NULL;
    rgm_text text = {0};
    int64_t before;

    (void)state;
    CHECK(name != NULL);
    memset(name, 'x', LONGEST - 1);
    number.name = name;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    add(log, 10, 0.5);
    CHECK_STATUS(RGM_ERR_ARG, rgm_metrics_log_add(log, "train", 15, 0, &number, 1));
    CHECK_MESSAGE("it may have 8388608");
    add(log, 20, 0.25);
    rgm_metrics_log_close(log);
    free(name);
    CHECK_OK(rgm_metrics_log_read(path, list_one, &text));
    CHECK_TEXT("10:0.5 20:0.25 ", text.data);
    CHECK_INT(0, truncate(path, LONG));
    before = rgm_memory_used();
    rgm_memory_reset_peak();
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_metrics_log_read(path, list_one, &text));
    CHECK_MESSAGE("a line of more than 8388608 bytes");
    CHECK(rgm_memory_peak() - before < 2 * LONGEST);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Piece by piece, from where it ended, and again from the beginning where the log is another one.
 */
static void checksums_are_compared_without_reading(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_metrics_place place = {0};
    rgm_metrics_log *log = NULL;
    rgm_text text = {0};
    int64_t end;
    FILE *file;
    int calls = 0;

    (void)state;
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    for (int64_t step = 1; step <= 60000; step++)
        add(log, step, 0.25);
    CHECK_OK(rgm_metrics_log_commit(&end, log));
    while (rgm_metrics_log_check(&place, path, 1) == RGM_END)
        calls++;
    CHECK(calls > 10 && calls < 100); /* a section each */
    CHECK_INT(end, place.offset);
    CHECK_INT(60000, place.lines);
    add(log, 60001, 0.5);
    CHECK_OK(rgm_metrics_log_commit(&end, log));
    CHECK_OK(rgm_metrics_log_check(&place, path, INT64_MAX));
    CHECK_INT(60001, place.lines);
    file = fopen(path, "r+b");
    CHECK(file != NULL && fseek(file, end / 2, SEEK_SET) == 0 && fputc('#', file) == '#');
    CHECK_INT(0, fclose(file));
    CHECK_OK(rgm_metrics_log_check(&place, path, INT64_MAX)); /* what was checked is not again */
    CHECK_OK(rgm_metrics_log_truncate(log, end - 10));
    for (int i = 0; i < 2; i++) { /* at the same line each time */
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_metrics_log_check(&place, path, INT64_MAX));
        CHECK_OK(rgm_text_printf(&text, "metrics.jsonl:%lld: ", (long long)place.lines + 1));
        CHECK_MESSAGE(text.data);
        CHECK_MESSAGE("the line is damaged");
        CHECK(place.lines > 20000 && place.lines < 40000);
        text.size = 0;
    }
    rgm_metrics_log_close(log);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_metrics_log_check(&place, path, 1));
}

TESTS(cmocka_unit_test(checksums_are_compared_without_reading),
      cmocka_unit_test(plain_lines_and_others_read_alike),
      cmocka_unit_test(a_log_is_followed_as_it_grows),
      cmocka_unit_test(a_line_looks_like_the_documentation),
      cmocka_unit_test(lost_work_is_cut_off_on_resume),
      cmocka_unit_test(a_torn_last_line_is_passed_over), cmocka_unit_test(a_damaged_line_is_named),
      cmocka_unit_test(a_repaired_log_goes_on_without_its_damaged_lines),
      cmocka_unit_test(a_line_has_a_bound), cmocka_unit_test(a_visitor_can_stop),
      cmocka_unit_test(the_end_is_read_alone),
      cmocka_unit_test(logging_survives_every_failing_allocation))

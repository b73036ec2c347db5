/*
 * Files of run folders that belong to somebody else: links anywhere on the way, pipes, devices,
 * names that lead out. And where things stand in files that grow, are cut and are replaced.
 */
#include <fcntl.h>
#include <pthread.h>
#include <regimen/store.h>

#include "tab_check.h"

static void plain_files_are_read(void **state)
{
    const char *folder = check_folder();
    char *data;
    int64_t size;

    (void)state;
    keep(folder, "a", "text");
    keep(folder, "b/c/d", "deep");
    CHECK_OK(rgmi_kept_load(&data, &size, folder, "a", 4));
    CHECK_INT(4, size);
    CHECK_TEXT("text", data);
    rgm_free(data);
    CHECK_OK(rgmi_kept_load(&data, &size, folder, "b/c/d", 100));
    CHECK_TEXT("deep", data);
    rgm_free(data);
    CHECK_STATUS(RGM_ERR_FORMAT, rgmi_kept_load(&data, &size, folder, "a", 3));
    CHECK_MESSAGE("'a' has 4 bytes, and 3 at most");
    CHECK(data == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_kept_load(&data, &size, folder, "x", 3));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_kept_load(&data, &size, folder, "x/y", 3));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_kept_load(&data, &size, "/nowhere", "x", 3));
    CHECK_EVERY_OOM(rgmi_kept_load(&data, &size, folder, "b/c/d", 100), rgm_free(data));
    CHECK_OK(rgm_folder_remove(folder));
}

static void nothing_leads_out_of_a_run_folder(void **state)
{
    static const char *const names[] = {
        "",     "..",   ".",    "../x", "a/../b", "/etc/passwd", "b/../../etc/passwd",
        "b/..", "b//d", "b/./d"};
    const char *folder = check_folder();
    rgmi_kept_file file;
    rgmi_kept_list list;
    char path[512], to[512];

    (void)state;
    keep(folder, "b/d", "x");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_STATUS(RGM_ERR_ARG, rgmi_kept_open(&file, folder, names[i]));
        CHECK_INT(-1, file.fd);
    }
    CHECK_STATUS(RGM_ERR_ARG, rgmi_kept_list_load(&list, folder, ".."));
    CHECK_STATUS(RGM_ERR_ARG, rgmi_kept_list_load(&list, folder, "../x"));
    snprintf(path, sizeof path, "%s/link", folder); /* of a folder, on the way */
    CHECK_INT(0, symlink("b", path));
    CHECK_STATUS(RGM_ERR_IO, rgmi_kept_open(&file, folder, "link/d"));
    CHECK_MESSAGE("not read");
    CHECK_STATUS(RGM_ERR_IO, rgmi_kept_list_load(&list, folder, "link"));
    CHECK_STATUS(RGM_ERR_IO, rgmi_kept_open(&file, folder, "link"));
    CHECK_STATUS(RGM_ERR_IO, rgmi_kept_open(&file, folder, "b"));
    CHECK_STATUS(RGM_ERR_IO, rgmi_kept_open(&file, folder, "b/d/e"));
    snprintf(to, sizeof to, "%s.link", folder); /* of the run folder itself */
    CHECK_INT(0, symlink(folder, to));
    CHECK_STATUS(RGM_ERR_IO, rgmi_kept_open(&file, to, "b/d"));
    unlink(to);
    CHECK_OK(rgm_folder_remove(folder));
}

static void lists_have_files_and_folders_alone(void **state)
{
    const char *folder = check_folder();
    rgmi_kept_list list;
    char path[512];

    (void)state;
    keep(folder, "b", "xyz");
    keep(folder, "a/x", "");
    keep(folder, ".hidden", "");
    snprintf(path, sizeof path, "%s/pipe", folder);
    CHECK_INT(0, mkfifo(path, 0600));
    snprintf(path, sizeof path, "%s/link", folder);
    CHECK_INT(0, symlink("b", path));
    CHECK_OK(rgmi_kept_list_load(&list, folder, ""));
    CHECK_INT(2, list.count);
    CHECK_TEXT("a", list.entries[0].name);
    CHECK(list.entries[0].is_folder);
    CHECK_TEXT("b", list.entries[1].name);
    CHECK_INT(3, list.entries[1].size);
    CHECK(fabs(list.entries[1].time - rgm_wall_time()) < 60);
    rgmi_kept_list_clear(&list);
    CHECK_EVERY_OOM(rgmi_kept_list_load(&list, folder, ""), rgmi_kept_list_clear(&list));
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- indexes ------------------------------------------------------------------------------- */

/* Up to date, and how many records there are then. */
static int64_t records(rgmi_kept_cache *cache, const char *folder)
{
    rgmi_kept_file file;
    rgmi_index *index;
    int64_t count;

    CHECK_OK(rgmi_kept_open(&file, folder, "tables.jsonl"));
    CHECK_OK(rgmi_kept_cache_take(&index, cache, RGMI_INDEX_TABLES, &file, "tables.jsonl",
                                  rgm_now() + 60));
    count = index->damage != NULL ? -1 : index->count;
    rgmi_kept_cache_give(cache, index);
    rgmi_kept_close(&file);
    return count;
}

static void append(const char *folder, const char *text)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/tables.jsonl", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(fd >= 0);
    CHECK_OK(rgm_write_all(fd, text, (int64_t)strlen(text), path));
    close(fd);
}

#define LINE(step, kind) "{\"step\":" #step ",\"split\":\"valid\",\"kind\":\"" kind "\"}\n"

static void an_index_follows_its_file(void **state)
{
    const char *folder = check_folder();
    rgmi_kept_cache *cache;
    char path[512];

    (void)state;
    CHECK_OK(rgmi_kept_cache_create(&cache, 1 << 20));
    append(folder, LINE(1, "a") LINE(2, "a"));
    CHECK_INT(2, records(cache, folder));
    append(folder, LINE(3, "b") "{\"step\":4,\"spl"); /* torn */
    CHECK_INT(3, records(cache, folder));
    append(folder, "it\":\"valid\",\"kind\":\"a\"}\n");
    CHECK_INT(4, records(cache, folder));
    snprintf(path, sizeof path, "%s/tables.jsonl", folder);
    CHECK_INT(0, truncate(path, (off_t)strlen(LINE(1, "a")))); /* a run that goes on cuts it ... */
    CHECK_INT(1, records(cache, folder));
    append(folder, LINE(7, "c"));
    CHECK_INT(2, records(cache, folder));
    CHECK_INT(0, truncate(path, (off_t)strlen(LINE(1, "a")))); /* ... and makes it longer, unseen */
    append(folder, LINE(8, "d") LINE(9, "d") LINE(10, "d"));
    CHECK_INT(4, records(cache, folder));
    keep(folder, "tables.jsonl", LINE(5, "a")); /* another file */
    CHECK_INT(1, records(cache, folder));
    append(folder, "{}\n" LINE(6, "a"));
    CHECK_INT(-1, records(cache, folder)); /* told */
    keep(folder, "tables.jsonl", LINE(5, "a"));
    CHECK_INT(1, records(cache, folder));
    rgmi_kept_cache_release(cache);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_cache_keeps_what_was_used_last_within_its_bound(void **state)
{
    const char *folder = check_folder();
    rgmi_kept_cache *cache;
    char name[32];

    (void)state;
    CHECK_OK(rgmi_kept_cache_create(&cache, 20000));
    for (int i = 0; i < 50; i++) {
        char path[512];

        snprintf(name, sizeof name, "run%d", i);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        CHECK_OK(rgm_folder_make(path));
        for (int line = 0; line < 20; line++)
            append(path, LINE(1, "a"));
        CHECK_INT(20, records(cache, path));
        CHECK(rgmi_kept_cache_bytes(cache) > 0);
        CHECK(rgmi_kept_cache_bytes(cache) <= 20000);
    }
    rgmi_kept_cache_release(cache);
    CHECK_OK(rgmi_kept_cache_create(&cache, 0)); /* nothing is kept; all is answered */
    snprintf(name, sizeof name, "run0");
    {
        char path[512];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        CHECK_INT(20, records(cache, path));
        CHECK_INT(0, rgmi_kept_cache_bytes(cache));
    }
    rgmi_kept_cache_release(cache);
    CHECK_OK(rgm_folder_remove(folder));
}

typedef struct crowd {
    rgmi_kept_cache *cache;
    char folders[4][512];
    int wrong;
} crowd;

static void *ask_often(void *payload)
{
    crowd *c = payload;

    for (int i = 0; i < 200; i++)
        if (records(c->cache, c->folders[i % 4]) != i % 4 + 1)
            c->wrong++;
    return NULL;
}

static void threads_share_a_cache(void **state)
{
    const char *folder = check_folder();
    crowd c = {0};
    pthread_t threads[8];

    (void)state;
    CHECK_OK(rgmi_kept_cache_create(&c.cache, 1200)); /* room for one or two */
    for (int i = 0; i < 4; i++) {
        snprintf(c.folders[i], sizeof c.folders[i], "%s/%d", folder, i);
        CHECK_OK(rgm_folder_make(c.folders[i]));
        for (int line = 0; line <= i; line++)
            append(c.folders[i], LINE(1, "a"));
    }
    for (int i = 0; i < 8; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, ask_often, &c));
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(0, c.wrong);
    rgmi_kept_cache_release(c.cache);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_line_without_end_is_told_and_costs_no_more_than_its_bound(void **state)
{
    const char *folder = check_folder();
    rgmi_kept_file file;
    rgmi_index *index;
    char path[512];
    int fd;

    (void)state;
    snprintf(path, sizeof path, "%s/tables.jsonl", folder);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    CHECK_INT(0, ftruncate(fd, (off_t)1 << 36)); /* 64 GiB of zeros that take no place */
    close(fd);
    CHECK_OK(rgmi_kept_open(&file, folder, "tables.jsonl"));
    rgm_memory_reset_peak();
    CHECK_OK(rgmi_kept_cache_take(&index, NULL, RGMI_INDEX_TABLES, &file, "t", rgm_now() + 60));
    CHECK(rgm_memory_peak() < 40 << 20);
    CHECK(index->damage != NULL && strstr(index->damage, "the line at byte 0 has more than"));
    rgmi_kept_cache_give(NULL, index);
    rgmi_kept_close(&file);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status take_and_give(const char *folder)
{
    rgmi_kept_cache *cache = NULL;
    rgmi_index *index = NULL;
    rgmi_kept_file file;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_open(&file, folder, "tables.jsonl"));
    RGM_GO(rgmi_kept_cache_create(&cache, 1 << 20));
    RGM_GO(rgmi_kept_cache_take(&index, cache, RGMI_INDEX_TABLES, &file, "t", rgm_now() + 60));
    rgmi_kept_cache_give(cache, index);
done:
    rgmi_kept_cache_release(cache);
    rgmi_kept_close(&file);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    const char *folder = check_folder();

    (void)state;
    append(folder, LINE(1, "a") LINE(2, "b") "{}\n");
    CHECK_EVERY_OOM(take_and_give(folder), );
    CHECK_OK(rgm_folder_remove(folder));
}

/* Read in many calls that each have no time: the same records, none twice. */
static void an_event_file_is_read_in_pieces_when_time_is_short(void **state)
{
    const char *folder = check_folder();
    rgm_event_file *events;
    rgmi_kept_list list;
    rgmi_kept_file file;
    rgmi_index *index;
    int calls = 0;

    (void)state;
    CHECK_OK(rgm_event_file_create(&events, folder, 0));
    for (int64_t step = 1; step <= 1000; step++) {
        CHECK_OK(rgm_event_file_text(events, "pair_1", step, "a"));
        CHECK_OK(rgm_event_file_scalar(events, "loss", step, 1));
    }
    CHECK_OK(rgm_event_file_flush(events));
    rgm_event_file_close(events);
    CHECK_OK(rgmi_kept_list_load(&list, folder, ""));
    CHECK_OK(rgmi_kept_open(&file, folder, list.entries[0].name));
    CHECK_OK(rgmi_index_create(&index, RGMI_INDEX_EVENTS, &file));
    do {
        CHECK_OK(rgmi_index_update(index, &file, "f", 0));
        calls++;
    } while (index->more);
    CHECK(calls > 3);
    CHECK_INT(1000, index->count);
    for (int64_t i = 0; i < index->count; i++)
        CHECK_INT(i + 1, index->records[i].step);
    CHECK_INT(file.size, index->end);
    rgmi_index_release(index);
    rgmi_kept_close(&file);
    rgmi_kept_list_clear(&list);
    CHECK_OK(rgm_folder_remove(folder));
}

/* 900,000 values of two names: every fourth is left of each, evenly to the end. */
static void an_index_of_very_many_values_is_thinned_evenly(void **state)
{
    enum { VALUES = 450000 };
    const char *folder = check_folder();
    int64_t next[2] = {1, 1};
    rgm_event_file *events;
    rgmi_kept_list list;
    rgmi_kept_file file;
    rgmi_index *index;

    (void)state;
    CHECK_OK(rgm_event_file_create(&events, folder, 0));
    for (int64_t step = 1; step <= VALUES; step++) {
        CHECK_OK(rgm_event_file_text(events, "pair_1", step, "a"));
        CHECK_OK(rgm_event_file_text(events, "pair_2", step, "a"));
    }
    CHECK_OK(rgm_event_file_flush(events));
    rgm_event_file_close(events);
    CHECK_OK(rgmi_kept_list_load(&list, folder, ""));
    CHECK_OK(rgmi_kept_open(&file, folder, list.entries[0].name));
    CHECK_OK(rgmi_index_create(&index, RGMI_INDEX_EVENTS, &file));
    CHECK_OK(rgmi_index_update(index, &file, "f", rgm_now() + 60));
    CHECK(!index->more && index->damage == NULL);
    CHECK_INT(4, index->stride);
    CHECK(index->count <= RGMI_INDEX_RECORDS);
    for (int64_t i = 0; i < index->count; i++) {
        CHECK_INT(next[index->records[i].name], index->records[i].step);
        next[index->records[i].name] += 4;
    }
    CHECK(next[0] > VALUES && next[1] > VALUES);
    CHECK(rgmi_index_bytes(index) < RGMI_CACHE_BYTES);
    rgmi_index_release(index);
    rgmi_kept_close(&file);
    rgmi_kept_list_clear(&list);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(plain_files_are_read), cmocka_unit_test(nothing_leads_out_of_a_run_folder),
      cmocka_unit_test(lists_have_files_and_folders_alone),
      cmocka_unit_test(an_index_follows_its_file),
      cmocka_unit_test(a_cache_keeps_what_was_used_last_within_its_bound),
      cmocka_unit_test(threads_share_a_cache),
      cmocka_unit_test(a_line_without_end_is_told_and_costs_no_more_than_its_bound),
      cmocka_unit_test(every_failing_allocation_is_told),
      cmocka_unit_test(an_event_file_is_read_in_pieces_when_time_is_short),
      cmocka_unit_test(an_index_of_very_many_values_is_thinned_evenly))

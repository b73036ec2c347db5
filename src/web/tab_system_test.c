/* system.jsonl of short runs, of a week, of restarts, and of anybody. */
#include <fcntl.h>

#include "tab_check.h"

static rgm_json *ask(const char *folder)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_system(&out, folder));
    return parsed(&out);
}

static rgm_status tell_once(const char *folder)
{
    rgm_text out = {0};
    rgm_status status = rgmi_tell_system(&out, folder);

    rgm_text_clear(&out);
    return status;
}

static void add_points(rgm_text *text, int64_t first, int64_t last)
{
    for (int64_t step = first; step <= last; step++)
        CHECK_OK(rgm_text_printf(
            text,
            "{\"time\":%lld.5,\"step\":%lld,\"epoch\":1,\"seconds\":%lld,\"steps_per_second\":null,"
            "\"examples_per_second\":40.5,\"rss\":1000,\"cpu_seconds\":2,\"threads\":2}\n",
            1000000000 + (long long)step, (long long)step, (long long)step));
}

static void input_workers_are_told_as_they_are(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = ask(folder);

    (void)state;
    CHECK(rgm_json_find(rgm_json_find(answer, "input"), "workers") == NULL);
    rgm_json_release(answer);
    keep(folder, "input_workers.json",
         "{\n\"state\": \"trains\",\n\"workers\": [{\"name\": \"node1:7\"}]}\n");
    answer = ask(folder);
    CHECK_TEXT("trains", text_of(rgm_json_find(answer, "input"), "state"));
    CHECK_TEXT("node1:7", text_of(item_of(rgm_json_find(answer, "input"), "workers", 0), "name"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "input_workers.json", "[\"no object\"]");
    answer = ask(folder);
    CHECK(strstr(text_of(answer, "damage"), "input_workers.json") != NULL);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static void every_line_of_a_short_run_is_a_point(void **state)
{
    const char *folder = check_folder();
    rgm_text text = {0};
    rgm_json *answer = ask(folder);
    const rgm_json *point;

    (void)state;
    CHECK_INT(0, count_of(answer, "points"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    add_points(&text, 1, 3);
    add_points(&text, 2, 4); /* a restart: steps come again */
    CHECK_OK(rgm_text_printf(&text, "{\"time\": 1, \"step\""));
    keep(folder, "system.jsonl", text.data);
    answer = ask(folder);
    CHECK_INT(6, count_of(answer, "points"));
    CHECK(!bool_of(answer, "down_sampled"));
    CHECK(text_of(answer, "damage") == NULL); /* a torn line is none */
    point = item_of(answer, "points", 3);
    CHECK_INT(2, int_of(point, "step"));
    CHECK_CLOSE(1000000002.5, number_of_key(point, "time"), 0, 0);
    CHECK_CLOSE(40.5, number_of_key(point, "items_per_second"), 0, 0);
    CHECK_TEXT("examples", text_of(answer, "items"));
    CHECK(isnan(number_of_key(point, "steps_per_second"))); /* null */
    CHECK_CLOSE(1000, number_of_key(point, "rss"), 0, 0);
    rgm_json_release(answer);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A translation counts target tokens, and says so. */
static void what_is_counted_has_its_name(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    keep(folder, "system.jsonl",
         "{\"time\":1,\"step\":1,\"items\":\"target tokens\",\"items_per_second\":null}\n"
         "{\"time\":2,\"step\":2,\"items\":\"target tokens\",\"items_per_second\":70.5}\n");
    answer = ask(folder);
    CHECK_TEXT("target tokens", text_of(answer, "items"));
    CHECK(isnan(number_of_key(item_of(answer, "points", 0), "items_per_second")));
    CHECK_CLOSE(70.5, number_of_key(item_of(answer, "points", 1), "items_per_second"), 0, 0);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The first, the last, and steps that ascend between them at about the same distance. */
static void check_thinned(const char *folder, int64_t last, int64_t least)
{
    rgm_json *answer = ask(folder);
    int64_t count = count_of(answer, "points"), before = 0;

    CHECK(count >= least && count <= RGMI_TOLD_POINTS);
    CHECK(bool_of(answer, "down_sampled"));
    CHECK_INT(1, int_of(item_of(answer, "points", 0), "step"));
    CHECK_INT(last, int_of(item_of(answer, "points", count - 1), "step"));
    for (int64_t i = 0; i < count; i++) {
        int64_t step = int_of(item_of(answer, "points", i), "step");

        CHECK(step > before && step - before <= 3 * last / count + 2);
        before = step;
    }
    rgm_json_release(answer);
}

static void a_long_run_is_thinned_evenly(void **state)
{
    const char *folder = check_folder();
    rgm_text text = {0};
    double begun;

    (void)state;
    add_points(&text, 1, 2001);
    keep(folder, "system.jsonl", text.data);
    check_thinned(folder, 2001, 2000);
    add_points(&text, 2002, 5000);
    keep(folder, "system.jsonl", text.data);
    check_thinned(folder, 5000, 2000);
    add_points(&text, 5001, 200000); /* 30 MB: places, not lines */
    keep(folder, "system.jsonl", text.data);
    begun = rgm_now();
    check_thinned(folder, 200000, 1990);
    CHECK(rgm_now() - begun < 1);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

static void damaged_lines_are_told_and_others_shown(void **state)
{
    const char *folder = check_folder();
    rgm_text text = {0};
    rgm_json *answer;
    char path[512];
    int fd;

    (void)state;
    add_points(&text, 1, 2);
    CHECK_OK(rgm_text_printf(&text, "[]\n{\"step\":\"<x>\"}\n\xff\xff\n{\"step\":1e400}\n"));
    add_points(&text, 3, 3);
    keep(folder, "system.jsonl", text.data);
    answer = ask(folder);
    CHECK_INT(3, count_of(answer, "points"));
    CHECK_TEXT("system.jsonl: 4 lines are damaged and not shown", text_of(answer, "damage"));
    rgm_json_release(answer);
    snprintf(path, sizeof path, "%s/system.jsonl", folder);
    fd = open(path, O_WRONLY);
    CHECK(fd >= 0);
    CHECK_INT(0, ftruncate(fd, (off_t)1 << 40)); /* a terabyte of zeros */
    close(fd);
    answer = ask(folder);
    CHECK(count_of(answer, "points") <= 3);
    rgm_json_release(answer);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

static void hostile_folders_and_failing_allocations_are_told(void **state)
{
    const char *folder = check_folder();
    rgm_text text = {0};

    (void)state;
    check_hostile(folder, "system.jsonl", rgmi_tell_system);
    add_points(&text, 1, 2);
    keep(folder, "system.jsonl", text.data);
    CHECK_EVERY_OOM(tell_once(folder), );
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(input_workers_are_told_as_they_are),
      cmocka_unit_test(every_line_of_a_short_run_is_a_point),
      cmocka_unit_test(what_is_counted_has_its_name),
      cmocka_unit_test(a_long_run_is_thinned_evenly),
      cmocka_unit_test(damaged_lines_are_told_and_others_shown),
      cmocka_unit_test(hostile_folders_and_failing_allocations_are_told))

/* Logs by bytes, from the end and by what is in them; of anybody's bytes, and large ones. */
#include <fcntl.h>

#include "tab_check.h"

static rgm_json *ask(const char *folder, rgmi_log_query query)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_logs(&out, folder, &query));
    return parsed(&out);
}

static void check_piece(const char *folder, rgmi_log_query query, int64_t offset, int64_t next,
                        const char *text)
{
    rgm_json *answer = ask(folder, query);

    CHECK_INT(offset, int_of(answer, "offset"));
    CHECK_INT(next, int_of(answer, "next"));
    CHECK_TEXT(text, text_of(answer, "text"));
    rgm_json_release(answer);
}

static void pieces_are_of_whole_characters(void **state)
{
    const char *folder = check_folder();

    (void)state;
    keep(folder, "log.txt",
         "one\ntwo\nthr\xc3\xa4"
         "e");
    check_piece(folder, (rgmi_log_query){0}, 0, 14,
                "one\ntwo\nthr\xc3\xa4"
                "e");
    check_piece(folder, (rgmi_log_query){.limit = 6}, 0, 6, "one\ntw");
    check_piece(folder, (rgmi_log_query){.offset = 6, .limit = 6}, 6, 11, "o\nthr");
    check_piece(folder, (rgmi_log_query){.offset = 11, .limit = 2}, 11, 13, "\xc3\xa4");
    check_piece(folder, (rgmi_log_query){.offset = 12, .limit = 2}, 13, 14, "e");
    check_piece(folder, (rgmi_log_query){.offset = 11, .limit = 1}, 11, 12, "\xef\xbf\xbd");
    check_piece(folder, (rgmi_log_query){.offset = 14}, 14, 14, "");
    check_piece(folder, (rgmi_log_query){.offset = 99}, 14, 14, ""); /* it was cut meanwhile */
    keep(folder, "log.txt", "x\xe2\x82"); /* half of a character: the rest may come */
    check_piece(folder, (rgmi_log_query){0}, 0, 1, "x");
    check_piece(folder, (rgmi_log_query){.offset = 1}, 1, 3, "\xef\xbf\xbd\xef\xbf\xbd");
    keep(folder, "log.txt", "\x82\x82\x82\xff"); /* none at all: nothing is left out */
    check_piece(folder, (rgmi_log_query){.offset = 1, .limit = 2}, 1, 3,
                "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_tail_is_the_last_lines(void **state)
{
    const char *folder = check_folder();
    rgm_text text = {0};
    rgm_json *answer;

    (void)state;
    keep(folder, "log.txt", "one\ntwo\nthree\n");
    check_piece(folder, (rgmi_log_query){.tail = 1}, 8, 14, "three\n");
    check_piece(folder, (rgmi_log_query){.tail = 2}, 4, 14, "two\nthree\n");
    check_piece(folder, (rgmi_log_query){.tail = 3}, 0, 14, "one\ntwo\nthree\n");
    check_piece(folder, (rgmi_log_query){.tail = 99}, 0, 14, "one\ntwo\nthree\n");
    check_piece(folder, (rgmi_log_query){.tail = 99, .limit = 8}, 8, 14, "three\n");
    keep(folder, "log.txt", "one\ntwo");
    check_piece(folder, (rgmi_log_query){.tail = 1}, 4, 7, "two");
    keep(folder, "log.txt", "");
    check_piece(folder, (rgmi_log_query){.tail = 1}, 0, 0, "");
    for (int i = 0; i < 100000; i++)
        CHECK_OK(rgm_text_printf(&text, "line %d\n", i));
    keep(folder, "log.txt", text.data);
    answer = ask(folder, (rgmi_log_query){.tail = 20000});
    CHECK(strncmp(text_of(answer, "text"), "line 80000\n", 11) == 0);
    CHECK_INT(text.size, int_of(answer, "next"));
    rgm_json_release(answer);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

static void there_are_two_logs_or_one_or_none(void **state)
{
    const char *folder = check_folder();
    rgm_text out = {0};
    rgm_json *answer = ask(folder, (rgmi_log_query){0});

    (void)state;
    CHECK_INT(0, count_of(answer, "files"));
    CHECK_TEXT("", text_of(answer, "text"));
    CHECK(text_of(answer, "file") == NULL && text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "trial.log", "from a trial\n");
    answer = ask(folder, (rgmi_log_query){0});
    CHECK_TEXT("trial", text_of(answer, "file"));
    CHECK_TEXT("from a trial\n", text_of(answer, "text"));
    rgm_json_release(answer);
    keep(folder, "log.txt", "from a run\n");
    check_piece(folder, (rgmi_log_query){0}, 0, 11, "from a run\n");
    check_piece(folder, (rgmi_log_query){.file = "trial"}, 0, 13, "from a trial\n");
    answer = ask(folder, (rgmi_log_query){0});
    CHECK_INT(2, count_of(answer, "files"));
    CHECK_INT(11, int_of(answer, "size"));
    rgm_json_release(answer);
    CHECK_STATUS(RGM_ERR_ARG,
                 rgmi_tell_logs(&out, folder, &(rgmi_log_query){.file = "../../etc/passwd"}));
    rgm_text_clear(&out);
    CHECK_OK(rgm_folder_remove(folder));
}

static void bytes_of_anybody_become_text(void **state)
{
    static const char bytes[] =
        "\x1b[31mred\x1b[0m <script>alert(1)</script> \"\\\r\t\0zero \xff\xfe\xc0\xaf "
        "\xed\xa0\x80 \xe2\x80\xae end\n";
    const char *folder = check_folder();
    rgm_json *answer;
    rgm_text out = {0};

    (void)state;
    keep_bytes(folder, "log.txt", bytes, sizeof bytes - 1);
    CHECK_OK(rgmi_tell_logs(&out, folder, &(rgmi_log_query){0}));
    CHECK(strstr(out.data, "\\u001b[31mred\\u001b[0m <script>") != NULL); /* kept, as text */
    CHECK(strstr(out.data, "\xef\xbf\xbdzero \xef\xbf\xbd\xef\xbf\xbd") != NULL);
    for (int64_t i = 0; i < out.size; i++)
        CHECK((unsigned char)out.data[i] >= 0x20);
    CHECK_INT(-1, rgm_utf8_check(out.data, out.size));
    rgm_json_release(parsed(&out));
    answer = ask(folder, (rgmi_log_query){.find = "ZERO"});
    CHECK_INT(1, count_of(answer, "lines"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_search_finds_lines_in_any_case(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    keep(folder, "log.txt",
         "a Warning here\nnothing\nwarning WARNING\nthe last [w@rn\n\xc3\x84 warn");
    answer = ask(folder, (rgmi_log_query){.find = "wARN"});
    CHECK_INT(3, count_of(answer, "lines"));
    CHECK_TEXT("a Warning here", text_of(item_of(answer, "lines", 0), "line"));
    CHECK_INT(0, int_of(item_of(answer, "lines", 0), "offset"));
    CHECK_TEXT("warning WARNING", text_of(item_of(answer, "lines", 1), "line"));
    CHECK_INT(23, int_of(item_of(answer, "lines", 1), "offset"));
    CHECK_TEXT("\xc3\x84 warn", text_of(item_of(answer, "lines", 2), "line"));
    CHECK(!bool_of(item_of(answer, "lines", 2), "cut"));
    CHECK_INT(int_of(answer, "size"), int_of(answer, "next"));
    rgm_json_release(answer);
    answer = ask(folder, (rgmi_log_query){.find = "warn", .offset = 15});
    CHECK_INT(2, count_of(answer, "lines"));
    rgm_json_release(answer);
    answer =
        ask(folder, (rgmi_log_query){.find = "{w@", .offset = 15}); /* no letters: as they are */
    CHECK_INT(0, count_of(answer, "lines"));
    rgm_json_release(answer);
    answer = ask(folder, (rgmi_log_query){.find = "warn", .tail = 2});
    CHECK_INT(2, count_of(answer, "lines"));
    CHECK_INT(23, int_of(item_of(answer, "lines", 0), "offset"));
    CHECK_TEXT("\xc3\x84 warn", text_of(item_of(answer, "lines", 1), "line"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Each byte in each place of eight, looked for in both cases. */
static void every_byte_is_found_in_its_cases_alone(void **state)
{
    const char *folder = check_folder();
    char line[32] = "################\n", find[2] = "";

    (void)state;
    for (int byte = 1; byte < 128; byte++) {
        int place = byte % 16;

        if (byte == '\n' || byte == '#')
            continue;
        memset(line, '#', 16);
        line[place] = (char)byte;
        keep_bytes(folder, "log.txt", line, 17);
        for (int wanted = 1; wanted < 128; wanted++) {
            bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
            bool same = wanted == byte || (letter && (wanted ^ byte) == 0x20);
            rgm_json *answer;

            if (wanted == '#' || wanted == '\n' ||
                (!same && wanted != (byte ^ 0x20) && wanted != (byte ^ 1)))
                continue;
            find[0] = (char)wanted;
            answer = ask(folder, (rgmi_log_query){.find = find});
            CHECK_INT(same, count_of(answer, "lines"));
            rgm_json_release(answer);
        }
    }
    CHECK_OK(rgm_folder_remove(folder));
}

/* 8 MiB of which every 1,000th line has it: a page asks until there is no more. */
static void a_search_goes_on_where_it_ended(void **state)
{
    const char *folder = check_folder();
    rgm_text text = {0};
    int64_t found = 0, next = 0, line = 0, most = 0;
    rgm_json *answer;

    (void)state;
    for (; text.size < 8 << 20; line++)
        CHECK_OK(rgm_text_printf(&text, "%08lld %s\n", (long long)line, line % 30 ? "no" : "Yes"));
    keep(folder, "log.txt", text.data);
    while (next < text.size) {
        answer = ask(folder, (rgmi_log_query){.find = "yes", .offset = next, .seconds = 1e-9});
        for (int64_t i = 0; i < count_of(answer, "lines"); i++, found++)
            CHECK_INT(found * 30, strtoll(text_of(item_of(answer, "lines", i), "line"), NULL, 10));
        CHECK(int_of(answer, "next") > next);
        next = int_of(answer, "next");
        most = count_of(answer, "lines") > most ? count_of(answer, "lines") : most;
        rgm_json_release(answer);
    }
    CHECK_INT((line + 29) / 30, found);
    CHECK_INT(RGMI_TOLD_LINES, most);
    answer = ask(folder, (rgmi_log_query){.find = "yes", .tail = 700, .seconds = 60});
    CHECK_INT(700, count_of(answer, "lines"));
    for (int64_t i = 0; i < 700; i++)
        CHECK_INT((found - 700 + i) * 30,
                  strtoll(text_of(item_of(answer, "lines", i), "line"), NULL, 10));
    rgm_json_release(answer);
    answer = ask(folder, (rgmi_log_query){.find = "0000000 y", .tail = 5, .seconds = 60});
    CHECK_INT(1, count_of(answer, "lines")); /* the first of all */
    CHECK_INT(0, int_of(answer, "offset"));
    rgm_json_release(answer);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_line_of_megabytes_is_searched_and_cut(void **state)
{
    enum { SIZE = 5 << 20 };
    const char *folder = check_folder();
    int64_t places[] = {0, 4094, (1 << 20) - 3, (2 << 20) - 8, (4 << 20) + 7, SIZE - 6};
    char *data = malloc(SIZE);
    rgm_json *answer;

    (void)state;
    CHECK(data != NULL);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memset(data, 'x', SIZE);
        memcpy(data + places[i], "Needle", 6);
        keep_bytes(folder, "log.txt", data, SIZE);
        answer = ask(folder, (rgmi_log_query){.find = "needle", .seconds = 60});
        CHECK_INT(1, count_of(answer, "lines"));
        CHECK(strstr(text_of(item_of(answer, "lines", 0), "line"), "Needle") != NULL);
        CHECK(bool_of(item_of(answer, "lines", 0), "cut"));
        CHECK(strlen(text_of(item_of(answer, "lines", 0), "line")) <= RGMI_TOLD_LINE);
        rgm_json_release(answer);
    }
    free(data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A gigabyte that takes no place on the disk: its end is there at once, a search in pieces of time.
 */
static void a_gigabyte_costs_what_is_shown_of_it(void **state)
{
    const char *folder = check_folder();
    char path[512];
    double begun;
    rgm_json *answer;
    int fd;

    (void)state;
    keep(folder, "log.txt", "");
    snprintf(path, sizeof path, "%s/log.txt", folder);
    fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, "\nthe end\n", 9, 1 << 30) == 9);
    close(fd);
    begun = rgm_now();
    answer = ask(folder, (rgmi_log_query){.tail = 1});
    CHECK(rgm_now() - begun < 0.1);
    CHECK_TEXT("the end\n", text_of(answer, "text"));
    rgm_json_release(answer);
    answer = ask(folder, (rgmi_log_query){.find = "END", .tail = 1});
    CHECK_INT(1, count_of(answer, "lines"));
    rgm_json_release(answer);
    begun = rgm_now();
    rgm_memory_reset_peak();
    answer = ask(folder, (rgmi_log_query){.find = "END", .seconds = 0.05});
    CHECK(rgm_now() - begun < 2);
    CHECK(rgm_memory_peak() < 8 << 20);
    CHECK(int_of(answer, "next") > 0 && int_of(answer, "next") < int_of(answer, "size"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status tell(rgm_text *out, const char *folder)
{
    return rgmi_tell_logs(out, folder, &(rgmi_log_query){0});
}

static rgm_status tell_once(const char *folder, const char *find, int64_t tail)
{
    rgm_text out = {0};
    rgm_status status = rgmi_tell_logs(&out, folder, &(rgmi_log_query){.find = find, .tail = tail});

    rgm_text_clear(&out);
    return status;
}

static void hostile_folders_and_failing_allocations_are_told(void **state)
{
    const char *folder = check_folder();

    (void)state;
    check_hostile(folder, "log.txt", tell);
    check_hostile(folder, "trial.log", tell);
    keep(folder, "log.txt", "one\ntwo\none\n");
    CHECK_EVERY_OOM(tell_once(folder, NULL, 0), );
    CHECK_EVERY_OOM(tell_once(folder, NULL, 1), );
    CHECK_EVERY_OOM(tell_once(folder, "one", 0), );
    CHECK_EVERY_OOM(tell_once(folder, "one", 1), );
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(pieces_are_of_whole_characters), cmocka_unit_test(a_tail_is_the_last_lines),
      cmocka_unit_test(there_are_two_logs_or_one_or_none),
      cmocka_unit_test(bytes_of_anybody_become_text),
      cmocka_unit_test(a_search_finds_lines_in_any_case),
      cmocka_unit_test(every_byte_is_found_in_its_cases_alone),
      cmocka_unit_test(a_search_goes_on_where_it_ended),
      cmocka_unit_test(a_line_of_megabytes_is_searched_and_cut),
      cmocka_unit_test(a_gigabyte_costs_what_is_shown_of_it),
      cmocka_unit_test(hostile_folders_and_failing_allocations_are_told))

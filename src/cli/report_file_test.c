/* Reports of searches as files: the table, what an ending says, nothing half written. */
#include "report_check.h"

#include "report.h"

/* No request is made here. */
rgm_status rgm_client_call(rgm_json **answer, rgm_client *client, const char *method,
                           const char *path, const char *body)
{
    (void)answer, (void)client, (void)method, (void)body;
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no %s", path);
}

static void written(rgm_text *out, const rgm_search_report *r)
{
    const char *folder = check_folder();
    char *path = NULL;

    CHECK_OK(rgm_path_join(&path, folder, "report.csv"));
    CHECK_OK(report_write(r, path));
    *out = (rgm_text){0};
    CHECK_OK(rgm_file_load(&out->data, &out->size, path, 64 << 20));
    CHECK_OK(rgm_folder_remove(folder));
    rgm_free(path);
}

static void a_table_has_every_number_exactly(void **state)
{
    rgm_search_report r;
    rgm_text text;

    (void)state;
    begin_search(&r, true);
    add_trial(&r, 1, 0.1, 16, 1, 0.1234567890123);
    add_trial(&r, 2, 1e-300, 17, 0, NAN)->values[1].is_set = false;
    written(&text, &r);
    CHECK_TEXT("trial,state,rank,trained,seconds,best.loss,latest.loss,rate,width,kind\n"
               "1,COMPLETED,1,20,,0.1234567890123,0.1234567890123,0.1,16,b\n"
               "2,ERROR,,20,,,,1e-300,,a\n",
               text.data);
    rgm_text_clear(&text);
    rgm_search_report_clear(&r);
}

static void every_trial_is_a_line(void **state)
{
    rgm_search_report r;
    rgm_text text;
    int64_t lines = 0;

    (void)state;
    begin_search(&r, true);
    for (int64_t i = 0; i < 10000; i++)
        add_trial(&r, i + 1, 0.1, (double)(i % 99), i % 2, 0.1);
    written(&text, &r);
    for (int64_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    CHECK_INT(10001, lines);
    rgm_text_clear(&text);
    rgm_search_report_clear(&r);
}

static void memory_that_runs_out_leaves_no_file(void **state)
{
    static const char *const names[] = {"a.html", "a.svg", "a.csv"};
    const char *folder = check_folder();
    rgm_search_report r;

    (void)state;
    begin_search(&r, true);
    add_trial(&r, 1, 0.1, 16, 1, 0.5);
    for (int i = 0; i < 3; i++) {
        char *path = NULL;

        CHECK_OK(rgm_path_join(&path, folder, names[i]));
        CHECK_EVERY_OOM(report_write(&r, path), (void)0);
        rgm_free(path);
    }
    rgm_search_report_clear(&r);
    CHECK_OK(rgm_folder_remove(folder));
}

static void the_ending_says_what_is_written(void **state)
{
    (void)state;
    CHECK_INT(EXIT_DONE, report_check_path("a.HTML"));
    CHECK_INT(EXIT_DONE, report_check_path("b/a.svg"));
    CHECK_INT(EXIT_DONE, report_check_path("a.csv"));
    CHECK_INT(EXIT_USAGE, report_check_path("a.png"));
    CHECK_INT(EXIT_USAGE, report_check_path(".svg"));
    CHECK_INT(EXIT_USAGE, report_check_path("html"));
}

TESTS(cmocka_unit_test(a_table_has_every_number_exactly), cmocka_unit_test(every_trial_is_a_line),
      cmocka_unit_test(memory_that_runs_out_leaves_no_file),
      cmocka_unit_test(the_ending_says_what_is_written))

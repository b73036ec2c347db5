/* What a search came to as a file: the table in CSV, the charts as draw makes them. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "report.h"
#include "table.h"

/* ---- table --------------------------------------------------------------------------------- */

static rgm_status add_named(table *t, const char *prefix, const char *name)
{
    rgm_status status;
    char *head = NULL;

    RGM_TRY(rgm_strprintf(&head, "%s%s", prefix, name));
    status = table_add_column(t, head);
    rgm_free(head);
    return status;
}

static rgm_status add_heads(table *t, const rgm_search_report *r)
{
    static const char *const first[] = {"trial", "state", "rank", "trained", "seconds"};

    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        RGM_TRY(table_add_column(t, first[i]));
    for (int64_t i = 0; i < r->objective_count; i++)
        RGM_TRY(add_named(t, "best.", r->objectives[i].name));
    for (int64_t i = 0; i < r->objective_count; i++)
        RGM_TRY(add_named(t, "latest.", r->objectives[i].name));
    for (int64_t i = 0; i < r->hyper_count; i++)
        RGM_TRY(add_named(t, "", r->hypers[i].name));
    return RGM_OK;
}

static rgm_status set_value(table *t, int64_t column, const rgm_report_hyper *hyper,
                            const rgm_report_value *value)
{
    if (!value->is_set)
        return RGM_OK;
    if (hyper->scale == RGM_REPORT_CHOICE)
        return table_set(t, column, hyper->choices[value->choice]);
    if (hyper->whole && fabs(value->number) <= 0x1p53)
        return table_set_count(t, column, (int64_t)value->number), RGM_OK;
    table_set_number(t, column, value->number);
    return RGM_OK;
}

static rgm_status add_row(table *t, const rgm_search_report *r, int64_t i, int64_t rank)
{
    const rgm_report_trial *trial = &r->trials[i];
    int64_t column = 0;

    RGM_TRY(table_add_row(t));
    table_set_count(t, column++, trial->number);
    RGM_TRY(table_set(t, column++, trial->state));
    table_set_count(t, column++, rank >= 0 ? rank + 1 : -1);
    table_set_count(t, column++, trial->trained);
    table_set_number(t, column++, trial->seconds);
    for (int64_t k = 0; k < r->objective_count; k++)
        table_set_number(t, column++, trial->best[k]);
    for (int64_t k = 0; k < r->objective_count; k++)
        table_set_number(t, column++, trial->latest[k]);
    for (int64_t k = 0; k < r->hyper_count; k++)
        RGM_TRY(set_value(t, column++, &r->hypers[k], &trial->values[k]));
    return RGM_OK;
}

static rgm_status print_csv(rgm_text *out, const rgm_search_report *r)
{
    rgm_status status = RGM_OK;
    int64_t *rank = NULL;
    table t = {0};

    RGM_GO(RGM_NEW(rank, r->trial_count + 1));
    RGM_GO(rgm_search_report_rank(rank, r));
    RGM_GO(add_heads(&t, r));
    for (int64_t i = 0; i < r->trial_count; i++)
        RGM_GO(add_row(&t, r, i, rank[i]));
    RGM_GO(table_print_csv(out, &t));
done:
    rgm_free(rank);
    table_clear(&t);
    return status;
}

/* ---- file ---------------------------------------------------------------------------------- */

typedef struct ending {
    const char *text;
    rgm_status (*print)(rgm_text *out, const rgm_search_report *r);
} ending;

static const ending *ending_of(const char *path)
{
    static const ending endings[] = {{".html", rgm_search_report_page},
                                     {".svg", rgm_search_report_picture},
                                     {".csv", print_csv}};
    size_t size = strlen(path);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i].text);

        if (size > n && strcasecmp(path + size - n, endings[i].text) == 0)
            return &endings[i];
    }
    return NULL;
}

int report_check_path(const char *path)
{
    if (ending_of(path) != NULL)
        return EXIT_DONE;
    return usage_error("-o: '%s' ends in none of .html, .svg and .csv", path);
}

rgm_status report_write(const rgm_search_report *r, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(ending_of(path)->print(&text, r));
    RGM_GO(rgm_file_save(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    return status;
}

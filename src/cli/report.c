/* What a search came to: its data in memory, and the file that its ending says. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "report.h"
#include "table.h"

/* ---- fill ---------------------------------------------------------------------------------- */

rgm_status report_add_hyper(report_hyper **out, search_report *r, const char *name,
                            report_scale scale)
{
    RGM_TRY(RGM_RESERVE(r->hypers, r->hyper_capacity, r->hyper_count + 1));
    *out = &r->hypers[r->hyper_count++];
    **out = (report_hyper){.scale = scale, .importance = NAN};
    return rgm_strdup(&(*out)->name, name);
}

rgm_status report_choice(int64_t *out, report_hyper *hyper, const char *text)
{
    for (*out = 0; *out < hyper->choice_count; ++*out)
        if (strcmp(hyper->choices[*out], text) == 0)
            return RGM_OK;
    RGM_TRY(RGM_RESERVE(hyper->choices, hyper->choice_capacity, hyper->choice_count + 1));
    RGM_TRY(rgm_strdup(&hyper->choices[hyper->choice_count], text));
    hyper->choice_count++;
    return RGM_OK;
}

rgm_status report_add_trial(report_trial **out, search_report *r, int64_t number)
{
    RGM_TRY(RGM_RESERVE(r->trials, r->trial_capacity, r->trial_count + 1));
    *out = &r->trials[r->trial_count++];
    **out = (report_trial){.number = number, .seconds = NAN, .trained = -1};
    for (int64_t i = 0; i < REPORT_OBJECTIVES; i++)
        (*out)->best[i] = (*out)->latest[i] = NAN;
    return RGM_NEW((*out)->values, r->hyper_count + 1);
}

rgm_status report_add_point(report_trial *trial, double length, double metric)
{
    RGM_TRY(RGM_RESERVE(trial->points, trial->point_capacity, trial->point_count + 1));
    trial->points[trial->point_count++] = (report_point){length, metric};
    return RGM_OK;
}

rgm_status report_add_interval(report_trial *trial, int64_t slot, double start, double end)
{
    RGM_TRY(RGM_RESERVE(trial->intervals, trial->interval_capacity, trial->interval_count + 1));
    trial->intervals[trial->interval_count++] = (report_interval){slot, start, end};
    return RGM_OK;
}

void search_report_clear(search_report *r)
{
    for (int64_t i = 0; i < r->trial_count; i++) {
        rgm_free(r->trials[i].state);
        rgm_free(r->trials[i].values);
        rgm_free(r->trials[i].points);
        rgm_free(r->trials[i].intervals);
    }
    rgm_free(r->trials);
    for (int64_t i = 0; i < r->hyper_count; i++) {
        for (int64_t k = 0; k < r->hypers[i].choice_count; k++)
            rgm_free(r->hypers[i].choices[k]);
        rgm_free(r->hypers[i].choices);
        rgm_free(r->hypers[i].name);
    }
    rgm_free(r->hypers);
    for (int64_t i = 0; i < r->objective_count; i++)
        rgm_free(r->objectives[i].name);
    rgm_free(r->name);
    rgm_free(r->state);
    rgm_free(r->searcher);
    rgm_free(r->unit);
    rgm_free(r->importance_note);
    rgm_free(r->best_file);
    *r = (search_report){0};
}

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

static rgm_status add_heads(table *t, const search_report *r)
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

static rgm_status set_value(table *t, int64_t column, const report_hyper *hyper,
                            const report_value *value)
{
    if (!value->is_set)
        return RGM_OK;
    if (hyper->scale == REPORT_CHOICE)
        return table_set(t, column, hyper->choices[value->choice]);
    if (hyper->whole && fabs(value->number) <= 0x1p53)
        return table_set_count(t, column, (int64_t)value->number), RGM_OK;
    table_set_number(t, column, value->number);
    return RGM_OK;
}

static rgm_status add_row(table *t, const report_view *v, int64_t i)
{
    const search_report *r = v->report;
    const report_trial *trial = &r->trials[i];
    int64_t column = 0;

    RGM_TRY(table_add_row(t));
    table_set_count(t, column++, trial->number);
    RGM_TRY(table_set(t, column++, trial->state));
    table_set_count(t, column++, v->rank[i] >= 0 ? v->rank[i] + 1 : -1);
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

static rgm_status print_csv(rgm_text *out, const report_view *v)
{
    rgm_status status = RGM_OK;
    table t = {0};

    RGM_GO(add_heads(&t, v->report));
    for (int64_t i = 0; i < v->report->trial_count; i++)
        RGM_GO(add_row(&t, v, i));
    RGM_GO(table_print_csv(out, &t));
done:
    table_clear(&t);
    return status;
}

/* ---- file ---------------------------------------------------------------------------------- */

static const char *ending_of(const char *path)
{
    static const char *const endings[] = {".html", ".svg", ".csv"};
    size_t size = strlen(path);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);

        if (size > n && strcasecmp(path + size - n, endings[i]) == 0)
            return endings[i];
    }
    return NULL;
}

int search_report_check_path(const char *path)
{
    if (ending_of(path) != NULL)
        return EXIT_DONE;
    return usage_error("-o: '%s' ends in none of .html, .svg and .csv", path);
}

rgm_status search_report_write(const search_report *r, const char *path)
{
    rgm_status status = RGM_OK;
    const char *ending = ending_of(path);
    report_view v = {0};
    drawing d = {0};

    RGM_GO(view_open(&v, r));
    if (ending != NULL && strcmp(ending, ".csv") == 0)
        RGM_GO(print_csv(&d.out, &v));
    else if (ending != NULL && strcmp(ending, ".svg") == 0)
        report_picture(&d, &v);
    else
        report_page(&d, &v);
    RGM_GO(d.status);
    RGM_GO(rgm_file_save(path, d.out.data, d.out.size));
done:
    view_close(&v);
    rgm_text_clear(&d.out);
    return status;
}

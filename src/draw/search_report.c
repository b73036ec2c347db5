/* What a search came to: its data in memory. */
#include <math.h>
#include <string.h>

#include "draw_internal.h"

/* ---- fill ---------------------------------------------------------------------------------- */

rgm_status rgm_report_add_hyper(rgm_report_hyper **out, rgm_search_report *r, const char *name,
                                rgm_report_scale scale)
{
    RGM_TRY(RGM_RESERVE(r->hypers, r->hyper_capacity, r->hyper_count + 1));
    *out = &r->hypers[r->hyper_count++];
    **out = (rgm_report_hyper){.scale = scale, .importance = NAN};
    return rgm_strdup(&(*out)->name, name);
}

rgm_status rgm_report_add_choice(int64_t *out, rgm_report_hyper *hyper, const char *text)
{
    for (*out = 0; *out < hyper->choice_count; ++*out)
        if (strcmp(hyper->choices[*out], text) == 0)
            return RGM_OK;
    RGM_TRY(RGM_RESERVE(hyper->choices, hyper->choice_capacity, hyper->choice_count + 1));
    RGM_TRY(rgm_strdup(&hyper->choices[hyper->choice_count], text));
    hyper->choice_count++;
    return RGM_OK;
}

rgm_status rgm_report_add_trial(rgm_report_trial **out, rgm_search_report *r, int64_t number)
{
    RGM_TRY(RGM_RESERVE(r->trials, r->trial_capacity, r->trial_count + 1));
    *out = &r->trials[r->trial_count++];
    **out = (rgm_report_trial){.number = number, .seconds = NAN, .trained = -1};
    for (int64_t i = 0; i < RGM_REPORT_OBJECTIVES; i++)
        (*out)->best[i] = (*out)->latest[i] = NAN;
    return RGM_NEW((*out)->values, r->hyper_count + 1);
}

rgm_status rgm_report_add_point(rgm_report_trial *trial, double length, double metric)
{
    RGM_TRY(RGM_RESERVE(trial->points, trial->point_capacity, trial->point_count + 1));
    trial->points[trial->point_count++] = (rgm_report_point){length, metric};
    return RGM_OK;
}

rgm_status rgm_report_add_interval(rgm_report_trial *trial, int64_t slot, double start, double end)
{
    RGM_TRY(RGM_RESERVE(trial->intervals, trial->interval_capacity, trial->interval_count + 1));
    trial->intervals[trial->interval_count++] = (rgm_report_interval){slot, start, end};
    return RGM_OK;
}

rgm_status rgm_report_add_fact(rgm_search_report *r, const char *name, const char *text)
{
    rgm_report_fact *fact;

    RGM_TRY(RGM_RESERVE(r->best_facts, r->best_fact_capacity, r->best_fact_count + 1));
    fact = &r->best_facts[r->best_fact_count++];
    *fact = (rgm_report_fact){0};
    RGM_TRY(rgm_strdup(&fact->name, name));
    return rgm_strdup(&fact->text, text);
}

void rgm_search_report_clear(rgm_search_report *r)
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
    rgm_free(r->importance_over);
    rgm_free(r->best_file);
    for (int64_t i = 0; i < r->best_fact_count; i++) {
        rgm_free(r->best_facts[i].name);
        rgm_free(r->best_facts[i].text);
    }
    rgm_free(r->best_facts);
    *r = (rgm_search_report){0};
}

/* ---- what is asked of it ------------------------------------------------------------------- */

rgm_status rgm_search_report_rank(int64_t *rank, const rgm_search_report *r)
{
    rgmi_report_view v;

    RGM_TRY(rgmi_view_open(&v, r));
    for (int64_t i = 0; i < r->trial_count; i++)
        rank[i] = v.rank[i];
    rgmi_view_close(&v);
    return RGM_OK;
}

static rgm_status draw_report(rgm_text *out, const rgm_search_report *r,
                              void (*draw)(rgmi_drawing *d, const rgmi_report_view *v))
{
    rgm_status status = RGM_OK;
    rgmi_report_view v = {0};
    rgmi_drawing d = {0};

    RGM_GO(rgmi_view_open(&v, r));
    draw(&d, &v);
    RGM_GO(d.status);
    RGM_GO(rgm_text_add(out, d.out.data, d.out.size));
done:
    rgmi_view_close(&v);
    rgm_text_clear(&d.out);
    return status;
}

rgm_status rgm_search_report_page(rgm_text *out, const rgm_search_report *r)
{
    return draw_report(out, r, rgmi_report_page);
}

rgm_status rgm_search_report_picture(rgm_text *out, const rgm_search_report *r)
{
    return draw_report(out, r, rgmi_report_picture);
}

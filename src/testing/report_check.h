/* What tests of reports of searches share: a search of three hyperparameters, and its trials. */
#ifndef RGM_REPORT_CHECK_H
#define RGM_REPORT_CHECK_H

#include <regimen/draw.h>

#include "check.h"

/* Nothing in it: hyperparameters rate (log), width (whole) and kind (a choice). */
static inline void begin_search(rgm_search_report *r, bool smaller_is_better)
{
    rgm_report_hyper *hyper;
    int64_t choice;

    *r = (rgm_search_report){.id = 1, .seconds = NAN, .objective_count = 1};
    CHECK_OK(rgm_strdup(&r->objectives[0].name, "loss"));
    r->objectives[0].smaller_is_better = smaller_is_better;
    CHECK_OK(rgm_report_add_hyper(&hyper, r, "rate", RGM_REPORT_LOG));
    CHECK_OK(rgm_report_add_hyper(&hyper, r, "width", RGM_REPORT_LINEAR));
    hyper->whole = true;
    CHECK_OK(rgm_report_add_hyper(&hyper, r, "kind", RGM_REPORT_CHOICE));
    CHECK_OK(rgm_report_add_choice(&choice, hyper, "a"));
    CHECK_OK(rgm_report_add_choice(&choice, hyper, "b"));
}

/* NaN: it has no metric. */
static inline rgm_report_trial *add_trial(rgm_search_report *r, int64_t number, double rate,
                                          double width, int64_t kind, double metric)
{
    rgm_report_trial *trial;

    CHECK_OK(rgm_report_add_trial(&trial, r, number));
    CHECK_OK(rgm_strdup(&trial->state, isnan(metric) ? "ERROR" : "COMPLETED"));
    trial->values[0] = (rgm_report_value){true, rate, 0};
    trial->values[1] = (rgm_report_value){true, width, 0};
    trial->values[2] = (rgm_report_value){true, 0, kind};
    trial->best[0] = trial->latest[0] = metric;
    CHECK_OK(rgm_report_add_point(trial, 10, 2 * metric));
    CHECK_OK(rgm_report_add_point(trial, 20, metric));
    trial->trained = 20;
    return trial;
}

#endif

/* What a search came to: asked of its master, and written. draw makes the pictures. */
#ifndef RGM_CLI_REPORT_H
#define RGM_CLI_REPORT_H

#include <regimen/draw.h>

#include "ask.h"

/**
 * A search as its master tells it, which may be under way. *out is empty after an error.
 *
 * Errors: those of its answers, RGM_ERR_CONFIG (its file is of another version), RGM_ERR_NOMEM.
 */
rgm_status report_load(rgm_search_report *out, const asked_master *whom, int64_t experiment);

/** A metric of a validation's; "valid.accuracy" stands under this name, or as "accuracy". NaN:
 * none.
 */
double report_metric(const json_t *metrics, const char *name);
/**
 * The trials that no other trial beats, as they are at their newest validations: a row each, with
 * all metrics. Without columns where the search is for one metric.
 *
 * Errors: those of its answers, RGM_ERR_CONFIG (its file is of another version), RGM_ERR_NOMEM.
 */
rgm_status front_table(table *t, const asked_master *whom, int64_t experiment);

/** Add what result.json of the best trial's run folder says of it; where it cannot be read, why.
 * Errors: RGM_ERR_NOMEM. */
rgm_status report_load_result(rgm_search_report *r, const char *run_dir);

/** 0 when the path ends in .html, .svg or .csv; else a usage error was told: its exit code. */
int report_check_path(const char *path);
/** The file that its ending says, complete or not at all. Errors: RGM_ERR_NOMEM, RGM_ERR_IO. */
rgm_status report_write(const rgm_search_report *r, const char *path);

#endif

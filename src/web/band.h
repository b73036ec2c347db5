/*
 * Curves of many runs as one: at each step of a grid the mean of the runs that reach it, their
 * deviation, the lowest and the highest.
 */
#ifndef RGM_WEB_BAND_H
#define RGM_WEB_BAND_H

#include "curves.h"
#include "index.h"

/** Mean and spread of numbers, added one after another. */
typedef struct rgmi_moments {
    int64_t count;
    double mean, squares, low, high; /* squares: of the distances from the mean */
} rgmi_moments;
void rgmi_moments_add(rgmi_moments *m, double number);
/** Of a sample; NaN for fewer than two numbers. */
double rgmi_moments_deviation(const rgmi_moments *m);

/** Bands that were made lately, and halves of them. Thread-safe. */
typedef struct rgmi_band_cache rgmi_band_cache;
rgm_status rgmi_band_cache_create(rgmi_band_cache **out);
void rgmi_band_cache_release(rgmi_band_cache *cache);

typedef struct rgmi_bands_query {
    rgmi_expression *const *expressions; /* [count] */
    int64_t count;
    int64_t points; /* most of a curve                                       */
    int64_t after;  /* only later steps; -1: all                             */
    int64_t until;  /* only steps up to this one                             */
    double end;     /* rgm_now() when reading ends; the next call goes on    */
    int64_t reads;  /* [in, out] blocks of runs that were read: behind the end only the first is */
} rgmi_bands_query;

/**
 * Members of the object of a group: "curves": [{"metric", "steps", "mean", "deviation", "low",
 * "high", "runs"}], "read": how many of the rows are in them, "more": whether the next call gets
 * further, "damaged": how many of them are known in part only.
 *
 * Steps are multiples of 1, 2, 5, 10, ... and the last one; between two points a run's value is on
 * the line, outside its points it has none. Values that are not finite are left out.
 */
rgm_status rgmi_bands_print(rgm_text *json, rgmi_band_cache *bands, rgmi_curve_cache *curves,
                            rgmi_run_row *const *rows, int64_t row_count, rgmi_bands_query *query);

#endif

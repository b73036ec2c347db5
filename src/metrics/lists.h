/* Groups the items of a batch into lists and orders them, for losses and metrics. */
#ifndef RGM_METRICS_LISTS_H
#define RGM_METRICS_LISTS_H

#include <math.h>

#include <regimen/metrics.h>

typedef struct rgmi_listed {
    int64_t list, at; /* at: its place in the batch */
    double score, label;
} rgmi_listed;

/** Sort list by list; within a list by place in the batch, or (`by_score`) from the highest score
 * down, NaN last. */
void rgmi_lists_sort(rgmi_listed *items, int64_t count, bool by_score);
/** The first item after the list that begins at `begin`. */
int64_t rgmi_list_end(const rgmi_listed *items, int64_t begin, int64_t count);

/** The gain of an item, 2^label - 1, accurate also for labels near 0. */
static inline double rgmi_gain(double label)
{
    return expm1(label * 0.693147180559945309417);
}

/** The discount of a rank from 1 on; the rank may be fractional. */
static inline double rgmi_discount(double rank)
{
    return 1 / log2(1 + rank);
}

/** DCG of the best order, up to rank k (0: all). `work` [count] is scratch memory. */
double rgmi_best_dcg(const rgmi_listed *list, int64_t count, int64_t k, double *work);

#endif

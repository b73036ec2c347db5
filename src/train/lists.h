/* Items of a batch as lists that are to be put in order, for losses and metrics. */
#ifndef RGM_TRAIN_LISTS_H
#define RGM_TRAIN_LISTS_H

#include <math.h>

#include <regimen/train.h>

typedef struct rgmi_listed {
    int64_t list, at; /* at: its place in the batch */
    double score, label;
} rgmi_listed;

/** Lists one after the other, each by place in the batch, or (`by_score`) from the best score down,
 * NaN behind all. */
void rgmi_lists_sort(rgmi_listed *items, int64_t count, bool by_score);
/** The first item behind the list that begins at `begin`. */
int64_t rgmi_list_end(const rgmi_listed *items, int64_t begin, int64_t count);

/** What an item at the first place is worth, 2^label - 1, also of labels near 0. */
static inline double rgmi_gain(double label)
{
    return expm1(label * 0.693147180559945309417);
}

/** What it is worth at a rank from 1 on, in shares of that; the rank may lie between two. */
static inline double rgmi_discount(double rank)
{
    return 1 / log2(1 + rank);
}

/** Of the best order, up to rank k (0: all). `work` [count] is used. */
double rgmi_best_dcg(const rgmi_listed *list, int64_t count, int64_t k, double *work);

#endif

/*
 * Groups the items of a batch into lists and orders them.
 */
#include <stdlib.h>

#include "lists.h"

static int by_place(const void *a, const void *b)
{
    const rgmi_listed *x = a, *y = b;

    if (x->list != y->list)
        return x->list < y->list ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_score(const void *a, const void *b)
{
    const rgmi_listed *x = a, *y = b;

    if (x->list == y->list && isnan(x->score) != isnan(y->score))
        return isnan(x->score) ? 1 : -1;
    if (x->list == y->list && (x->score < y->score || x->score > y->score))
        return x->score > y->score ? -1 : 1;
    return by_place(a, b);
}

void rgmi_lists_sort(rgmi_listed *items, int64_t count, bool scores)
{
    qsort(items, (size_t)count, sizeof *items, scores ? by_score : by_place);
}

int64_t rgmi_list_end(const rgmi_listed *items, int64_t begin, int64_t count)
{
    int64_t end = begin + 1;

    while (end < count && items[end].list == items[begin].list)
        end++;
    return end;
}

static int downward(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

double rgmi_best_dcg(const rgmi_listed *list, int64_t count, int64_t k, double *work)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        work[i] = rgmi_gain(list[i].label);
    qsort(work, (size_t)count, sizeof *work, downward);
    for (int64_t i = 0; i < count && (k == 0 || i < k); i++)
        sum += work[i] * rgmi_discount((double)i + 1);
    return sum;
}

/*
 * Metrics of the order that scores give to the items of lists.
 */
#include "lists.h"
#include "metrics_internal.h"

/* The figure of one list, ordered from the highest score down, with one number for each item as
 * scratch memory. */
typedef double list_figure(const rgmi_listed *list, int64_t count, int64_t k, double *work);

static int64_t listed(rgmi_listed *items, const rgmi_batch_view *view, const rgm_tensor *lists)
{
    int64_t count = 0;

    for (int64_t i = 0; i < view->items; i++) {
        int64_t list = lists != NULL ? rgm_tensor_at_int(lists, i) : 0;

        if (list >= 0 && rgmi_weight(view, i) != 0)
            items[count++] =
                (rgmi_listed){list, i, rgmi_prediction(view, i, 0), rgm_tensor_at(view->labels, i)};
    }
    rgmi_lists_sort(items, count, true);
    return count;
}

static bool has_relevant(const rgmi_listed *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (list[i].label > 0)
            return true;
    return false;
}

static void add_lists(double *state, const rgm_metric *metric, const rgm_metric_batch *batch,
                      list_figure *of_list)
{
    rgmi_batch_view view = rgmi_batch_open(batch);
    rgmi_listed *items = rgm_calloc(view.items > 0 ? view.items : 1, sizeof *items);
    double *work = rgm_calloc(view.items > 0 ? view.items : 1, sizeof *work);
    int64_t count = 0;

    if (items != NULL && work != NULL)
        count = listed(items, &view, batch->lists);
    else
        state[0] = NAN; /* without memory there is no figure */
    for (int64_t begin = 0, end; begin < count; begin = end) {
        const rgmi_listed *list = items + begin;

        end = rgmi_list_end(items, begin, count);
        if (!has_relevant(list, end - begin))
            continue;
        /* NaN comes after all others */
        state[0] += isnan(items[end - 1].score) ? NAN : of_list(list, end - begin, metric->k, work);
        state[1] += 1;
    }
    rgm_free(items);
    rgm_free(work);
}

/* The first item after those with the score of item `begin`. */
static int64_t same_end(const rgmi_listed *list, int64_t begin, int64_t count)
{
    int64_t end = begin + 1;

    while (end < count && list[end].score >= list[begin].score)
        end++;
    return end;
}

static double ndcg(const rgmi_listed *list, int64_t count, int64_t k, double *work)
{
    double sum = 0;

    for (int64_t begin = 0, end; begin < count && (k == 0 || begin < k); begin = end) {
        double gains = 0, discounts = 0;

        end = same_end(list, begin, count);
        for (int64_t i = begin; i < end; i++) {
            gains += rgmi_gain(list[i].label);
            discounts += k == 0 || i < k ? rgmi_discount((double)i + 1) : 0;
        }
        sum += gains * discounts / (double)(end - begin);
    }
    return sum / rgmi_best_dcg(list, count, k, work);
}

static double average_precision(const rgmi_listed *list, int64_t count, int64_t k, double *work)
{
    double sum = 0, relevant = 0;

    (void)k, (void)work;
    for (int64_t begin = 0, end; begin < count; begin = end) {
        double here = 0;

        end = same_end(list, begin, count);
        for (int64_t i = begin; i < end; i++)
            here += list[i].label > 0;
        relevant += here;
        sum += here * relevant / (double)end;
    }
    return sum / relevant;
}

static double reciprocal_rank(const rgmi_listed *list, int64_t count, int64_t k, double *work)
{
    (void)k, (void)work;
    for (int64_t begin = 0, end; begin < count; begin = end) {
        double here = 0;

        end = same_end(list, begin, count);
        for (int64_t i = begin; i < end; i++)
            here += list[i].label > 0;
        if (here > 0) /* the first of that many among end - begin in any order */
            return 1 / ((double)begin + (double)(end - begin + 1) / (here + 1));
    }
    return 0;
}

static void ndcg_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    add_lists(state, metric, batch, ndcg);
}

static void map_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    add_lists(state, metric, batch, average_precision);
}

static void mrr_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    add_lists(state, metric, batch, reciprocal_rank);
}

RGMI_METRIC(list_ndcg, "ndcg", false, rgmi_two, ndcg_update, rgmi_quotient);
RGMI_METRIC(list_map, "map", false, rgmi_two, map_update, rgmi_quotient);
RGMI_METRIC(list_mrr, "mrr", false, rgmi_two, mrr_update, rgmi_quotient);

/*
 * Losses of rankings: the items of each list have one score each. Value and gradient of a list are
 * computed together, one list after the other, so that pairs take time but no memory.
 */
#include "lists.h"

const char *const rgm_ranking_loss_names[] = {"pairwise_logistic", "pairwise_hinge", "softmax",
                                              "list_net",          "approx_ndcg",    NULL};

/* ---- one list ------------------------------------------------------------------------------ */

/* The `count` items of a list. A loss returns its value and puts its derivative by each score into
 * `slope`. */
typedef struct list_view {
    const rgmi_listed *items;
    int64_t count;
    double *slope;   /* [count], zeros at first */
    double *work[2]; /* [count]                 */
    double temperature;
} list_view;

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* ln(1 + exp(-d)) and its slope */
static double logistic(double *slope, double d)
{
    *slope = -sigmoid(-d);
    return (d > 0 ? 0 : -d) + log1p(exp(-fabs(d)));
}

static double hinge(double *slope, double d)
{
    *slope = d < 1 ? -1 : 0;
    return d >= 1 ? 0 : 1 - d;
}

/* The mean over the pairs; there is at least one. */
static double of_pairs(list_view *v, double (*of_pair)(double *slope, double d))
{
    double sum = 0, pairs = 0, slope;

    for (int64_t i = 0; i < v->count; i++)
        for (int64_t j = 0; j < v->count; j++) {
            if (!(v->items[i].label > v->items[j].label))
                continue;
            pairs++;
            sum += of_pair(&slope, v->items[i].score - v->items[j].score);
            v->slope[i] += slope;
            v->slope[j] -= slope;
        }
    for (int64_t i = 0; i < v->count; i++)
        v->slope[i] /= pairs;
    return sum / pairs;
}

static double pairwise_logistic(list_view *v)
{
    return of_pairs(v, logistic);
}

static double pairwise_hinge(list_view *v)
{
    return of_pairs(v, hinge);
}

/* Put the shares of a sum of exp(x - highest) into `out`; return ln(sum of exp(x)). */
static double shares(double *out, const list_view *v, bool of_labels)
{
    double highest = -INFINITY, sum = 0;

    for (int64_t i = 0; i < v->count; i++)
        highest = fmax(highest, of_labels ? v->items[i].label : v->items[i].score);
    for (int64_t i = 0; i < v->count; i++) {
        out[i] = exp((of_labels ? v->items[i].label : v->items[i].score) - highest);
        sum += out[i];
    }
    for (int64_t i = 0; i < v->count; i++)
        out[i] /= sum;
    return highest + log(sum);
}

/* work[1]: the target share of each item. */
static double cross_entropy(list_view *v)
{
    double all = shares(v->work[0], v, false), loss = 0;

    for (int64_t i = 0; i < v->count; i++) {
        loss += v->work[1][i] * (all - v->items[i].score);
        v->slope[i] = v->work[0][i] - v->work[1][i];
    }
    return loss;
}

/* Two different labels from 0 on have a sum above 0. */
static double softmax(list_view *v)
{
    double sum = 0;

    for (int64_t i = 0; i < v->count; i++)
        sum += v->items[i].label;
    for (int64_t i = 0; i < v->count; i++)
        v->work[1][i] = v->items[i].label / sum;
    return cross_entropy(v);
}

static double list_net(list_view *v)
{
    shares(v->work[1], v, true);
    return cross_entropy(v);
}

/* The smooth rank of item i. */
static double rank_of(const list_view *v, int64_t i)
{
    double rank = 1;

    for (int64_t j = 0; j < v->count; j++)
        if (j != i)
            rank += sigmoid((v->items[j].score - v->items[i].score) / v->temperature);
    return rank;
}

/* With f = 1 / log2(1 + rank), f' = -f / ((1 + rank) ln(1 + rank)). */
static double approx_ndcg(list_view *v)
{
    double best = rgmi_best_dcg(v->items, v->count, 0, v->work[0]), sum = 0;

    for (int64_t i = 0; i < v->count; i++) {
        double share = rgmi_gain(v->items[i].label) / best, rank = rank_of(v, i);
        double by_rank = share * rgmi_discount(rank) / ((1 + rank) * log1p(rank));

        sum += share * rgmi_discount(rank);
        for (int64_t j = 0; j < v->count && share > 0; j++) {
            double above = sigmoid((v->items[j].score - v->items[i].score) / v->temperature);
            double moved = j != i ? by_rank * above * (1 - above) / v->temperature : 0;

            v->slope[j] += moved;
            v->slope[i] -= moved;
        }
    }
    return 1 - sum;
}

static double (*const of_list[])(list_view *v) = {
    [RGM_RANKING_PAIRWISE_LOGISTIC] = pairwise_logistic,
    [RGM_RANKING_PAIRWISE_HINGE] = pairwise_hinge,
    [RGM_RANKING_SOFTMAX] = softmax,
    [RGM_RANKING_LIST_NET] = list_net,
    [RGM_RANKING_APPROX_NDCG] = approx_ndcg,
};

/* ---- all lists ----------------------------------------------------------------------------- */

static double at(const rgm_view *x, int64_t i)
{
    return x->dtype == RGM_F64 ? ((const double *)x->data)[i] : ((const float *)x->data)[i];
}

static void put(const rgm_view *x, int64_t i, double number)
{
    if (x->dtype == RGM_F64)
        ((double *)x->data)[i] = number;
    else
        ((float *)x->data)[i] = (float)number;
}

/* Inputs: scores, labels, lists, maybe weights. */
static int64_t listed_items(rgmi_listed *items, const rgm_op_run *run)
{
    const int64_t *lists = run->in[2].data;
    int64_t count = 0;

    for (int64_t i = 0; i < run->in[0].shape[0]; i++)
        if (lists[i] >= 0 && (run->inputs < 4 || at(&run->in[3], i) != 0))
            items[count++] = (rgmi_listed){lists[i], i, at(&run->in[0], i), at(&run->in[1], i)};
    rgmi_lists_sort(items, count, false);
    return count;
}

static bool has_order(const list_view *v)
{
    for (int64_t i = 1; i < v->count; i++)
        if (v->items[i].label < v->items[0].label || v->items[i].label > v->items[0].label)
            return true;
    return false;
}

/* integer[1]: the result of an op: the loss, its derivative by each score, or the number of lists
 * in the mean. */
enum { OF_LOSS, OF_SLOPE, OF_LISTS };

/* The sum of the lists' losses; *lists: their number; slope [count] by item. */
static double judge(int64_t *lists, double *slope, double *work, const rgmi_listed *items,
                    int64_t count, const rgm_attributes *o)
{
    double sum = 0;

    *lists = 0;
    for (int64_t begin = 0, end; begin < count; begin = end) {
        list_view v = {.items = items + begin,
                       .slope = slope + begin,
                       .work = {work, work + count},
                       .temperature = o->number[0]};

        end = rgmi_list_end(items, begin, count);
        v.count = end - begin;
        if (!has_order(&v))
            continue;
        if (o->integer[1] != OF_LISTS)
            sum += of_list[o->integer[0]](&v);
        ++*lists;
    }
    return sum;
}

static rgm_status forward(rgm_op_run *run)
{
    rgm_status status = RGM_OK;
    int64_t n = run->in[0].shape[0], lists, count;
    rgmi_listed *items = NULL;
    double *numbers = NULL, sum, mean_of;

    RGM_GO(RGM_NEW(items, n));
    RGM_GO(RGM_NEW(numbers, 3 * n));
    count = listed_items(items, run);
    sum = judge(&lists, numbers, numbers + count, items, count, run->attributes);
    mean_of = lists > 0 ? (double)lists : 1;
    if (run->attributes->integer[1] != OF_SLOPE) {
        put(run->out, 0, run->attributes->integer[1] == OF_LISTS ? (double)lists : sum / mean_of);
    } else {
        for (int64_t i = 0; i < n; i++)
            put(run->out, i, 0);
        for (int64_t i = 0; i < count; i++)
            put(run->out, items[i].at, numbers[i] / mean_of);
    }
done:
    rgm_free(items);
    rgm_free(numbers);
    return status;
}

static bool is_column_of(const rgm_value *x, rgm_dtype dtype, rgm_dim n)
{
    return !rgm_value_is_pattern(x) && rgm_value_rank(x) == 1 && rgm_value_dtype(x) == dtype &&
           rgm_value_dim(x, 0) == n;
}

static rgm_status infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                        const rgm_attributes *attributes)
{
    rgm_dtype dtype = rgm_value_dtype(in[0]);
    rgm_dim n = rgm_value_rank(in[0]) > 0 ? rgm_value_dim(in[0], 0) : 0;
    char text[4][128];

    if ((dtype != RGM_F32 && dtype != RGM_F64) || !is_column_of(in[0], dtype, n) ||
        !is_column_of(in[1], dtype, n) || !is_column_of(in[2], RGM_I64, n) ||
        (inputs > 3 && !is_column_of(in[3], dtype, n)))
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "ranking_loss: scores %s, labels %s, lists %s, weights %s: needs [n] of "
                        "f32 or f64, and of i64 for lists",
                        rgm_value_describe(in[0], text[0], sizeof text[0]),
                        rgm_value_describe(in[1], text[1], sizeof text[1]),
                        rgm_value_describe(in[2], text[2], sizeof text[2]),
                        inputs > 3 ? rgm_value_describe(in[3], text[3], sizeof text[3]) : "none");
    out->dtype = dtype;
    out->rank = attributes->integer[1] == OF_SLOPE ? 1 : 0;
    out->shape[0] = n;
    return RGM_OK;
}

static const rgm_op_type slope_op = {
    .name = "ranking_loss_slope",
    .arity = -1,
    .infer = infer,
    .forward = forward,
    .on_host = true,
    .no_gradient = "it is itself the gradient of a ranking's loss",
};

static rgm_status backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_attributes attributes = *rgm_value_attributes(y);
    rgm_value *in[4];
    int count = rgm_value_input_count(y);

    if (!wanted[0])
        return RGM_OK;
    for (int i = 0; i < count; i++)
        in[i] = rgm_value_input(y, i);
    attributes.integer[1] = OF_SLOPE;
    dx[0] = rgm_mul(rgm_op(rgm_value_graph(y), &slope_op, in, count, &attributes), dy);
    return RGM_OK;
}

static const rgm_op_type loss_op = {
    .name = "ranking_loss",
    .arity = -1,
    .infer = infer,
    .forward = forward,
    .on_host = true,
    .backward = backward,
};

static rgm_value *as_line(rgm_value *x, const rgm_value *like)
{
    rgm_dim shape[1];

    if (x == NULL || like == NULL)
        return NULL;
    if (rgm_value_rank(x) == 2) {
        shape[0] = rgm_value_dim(x, 0);
        x = rgm_reshape(x, 1, shape);
    }
    return rgm_cast(x, rgm_value_dtype(like));
}

rgm_value *rgm_ranking_loss(rgm_ranking_loss_type type, rgm_value *scores, rgm_value *labels,
                            rgm_value *weights, rgm_value *lists, double temperature)
{
    rgm_attributes attributes = {.number = {temperature}, .integer = {(int64_t)type}};
    rgm_value *in[4] = {as_line(scores, scores), as_line(labels, scores), lists,
                        as_line(weights, scores)};

    if (in[0] == NULL || in[1] == NULL || lists == NULL || (weights != NULL && in[3] == NULL))
        return NULL;
    if (!(temperature > 0))
        return rgm_cgraph_fail(rgm_value_graph(scores), RGM_ERR_ARG,
                               "ranking_loss: temperature is %g; it must be above 0", temperature);
    return rgm_op(rgm_value_graph(scores), &loss_op, in, weights != NULL ? 4 : 3, &attributes);
}

static const rgm_op_type lists_op = {
    .name = "ranking_lists",
    .arity = -1,
    .infer = infer,
    .forward = forward,
    .on_host = true,
    .no_gradient = "how many lists there are does not depend on scores",
};

rgm_value *rgm_ranking_lists(rgm_value *labels, rgm_value *weights, rgm_value *lists)
{
    const rgm_attributes attributes = {.integer = {0, OF_LISTS}};
    rgm_value *in[4] = {NULL, NULL, lists, NULL};

    if (labels != NULL && rgm_value_dtype(labels) != RGM_F32)
        labels = rgm_cast(labels, RGM_F64);
    in[0] = in[1] = as_line(labels, labels); /* no scores are asked for */
    in[3] = as_line(weights, in[0]);
    if (in[0] == NULL || lists == NULL || (weights != NULL && in[3] == NULL))
        return NULL;
    return rgm_op(rgm_value_graph(in[0]), &lists_op, in, weights != NULL ? 4 : 3, &attributes);
}

/*
 * What an explainer runs: scores of a prediction with their gradients; runs with inputs that a
 * method has changed, and what they give.
 */
#include <string.h>

#include "explain_internal.h"

/* ---- what is built --------------------------------------------------------------------------- */

rgm_status rgmi_explain_made_of(bool **out, rgm_value *prediction)
{
    rgm_cgraph *graph = rgm_value_graph(prediction);
    int64_t last = rgm_value_number(prediction);
    bool *made_of;

    RGM_TRY(RGM_NEW(made_of, last + 1));
    made_of[last] = true;
    for (int64_t i = last; i >= 0; i--) {
        rgm_value *value = rgm_cgraph_value(graph, i);

        for (int k = 0; made_of[i] && k < rgm_value_input_count(value); k++)
            made_of[rgm_value_number(rgm_value_input(value, k))] = true;
    }
    *out = made_of;
    return RGM_OK;
}

bool rgmi_is_one_of_many(const rgm_head *head)
{
    const rgm_op_type *op = head->probabilities != NULL ? rgm_value_op(head->probabilities) : NULL;

    return op != NULL && strcmp(op->name, "softmax") == 0;
}

/* What a mask keeps: the logarithm of how likely the prediction is, of a number minus the square of
 * what it moved. choice: 1 at a class or number, at a logit its sign; kept: what was predicted. */
static rgm_value *likelihood(const rgm_head *head, rgm_value *row, rgm_value *choice,
                             rgm_value *kept)
{
    if (head->is_number)
        return rgm_neg(rgm_sum(rgm_square(rgm_mul(rgm_sub(row, kept), choice))));
    if (rgmi_is_one_of_many(head))
        return rgm_sum(rgm_mul(rgm_log_softmax(row), choice));
    /* log sigmoid of the chosen logit; others give -log 2 whatever they are */
    return rgm_neg(rgm_sum(rgm_softplus(rgm_neg(rgm_mul(row, choice)))));
}

rgm_status rgmi_explainer_build(rgm_explainer *explainer, const rgm_head *head,
                                rgm_value *predictions, rgm_value *const *wrt, int64_t count,
                                rgm_value *const *also, int64_t also_count)
{
    rgm_status status = RGM_OK;
    rgm_value **values = NULL, *row;
    rgm_executor_options options = {.device = rgm_trainer_device(rgm_run_trainer(explainer->run))};
    rgm_cgraph *graph = rgm_value_graph(head->predictions);
    rgm_dim one = 1, units[2] = {1, 0};
    int64_t total = 2 + count + also_count;

    RGM_GO(RGM_NEW(values, total));
    RGM_GO(RGM_NEW(explainer->fetched, total));
    units[1] = rgm_value_dim(predictions, 1);
    explainer->item = rgm_input(graph, "explain/item", RGM_I64, 1, &one);
    explainer->choice = rgm_input(graph, "explain/choice", rgm_value_dtype(predictions), 2, units);
    explainer->kept = rgm_input(graph, "explain/kept", rgm_value_dtype(predictions), 2, units);
    row = rgm_gather(predictions, explainer->item);
    values[0] = explainer->options.method == RGM_EXPLAIN_MASK
                    ? likelihood(head, row, explainer->choice, explainer->kept)
                    : rgm_sum(rgm_mul(row, explainer->choice));
    values[1] = row;
    RGM_GO(rgm_cgraph_status(graph));
    RGM_GO(rgm_cgraph_gradients(values + 2, values[0], wrt, count));
    for (int64_t i = 0; i < also_count; i++)
        values[2 + count + i] = also[i];
    RGM_GO(rgm_executor_create(&explainer->executor, graph, values, total, &options));
done:
    rgm_free(values);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

double rgmi_explained_value(const rgmi_explained *input, int64_t i)
{
    return input->values != NULL ? rgm_tensor_at(input->values, i) : 1;
}

double rgmi_explained_gradient(const rgm_explainer *explainer, int64_t input, int64_t i)
{
    return rgm_tensor_at(explainer->fetched[2 + input], i);
}

double rgmi_explainer_output(const rgm_explainer *explainer)
{
    return rgm_tensor_at(explainer->fetched[1], explainer->out->target);
}

void rgmi_explain_set(rgm_tensor *tensor, int64_t i, double x)
{
    if (rgm_tensor_dtype(tensor) == RGM_F64)
        rgm_tensor_f64(tensor)[i] = x;
    else
        rgm_tensor_f32(tensor)[i] = (float)x;
}

/* Another tensor each time: executors keep what depends on those that they have seen. */
static rgm_status changed(rgm_tensor **out, const rgmi_explained *input, rgmi_explain_at *at,
                          const void *payload)
{
    if (input->values != NULL)
        RGM_TRY(rgm_tensor_create(out, rgm_tensor_dtype(input->values),
                                  rgm_tensor_rank(input->values), rgm_tensor_shape(input->values)));
    else
        RGM_TRY(rgm_tensor_create(out, RGM_F32, 1, &input->count));
    for (int64_t i = 0; i < input->count; i++)
        rgmi_explain_set(*out, i, at(input, i, payload));
    return RGM_OK;
}

rgm_status rgmi_explainer_run(rgm_explainer *explainer, rgmi_explain_at *at, const void *payload)
{
    rgm_status status = RGM_OK;
    rgm_feed *feeds = explainer->feeds + explainer->first;

    for (int64_t i = 0; i < explainer->input_count; i++)
        RGM_GO(changed(&feeds[i].tensor, &explainer->inputs[i], at, payload));
    RGM_GO(rgm_executor_run(explainer->executor, explainer->fetched,
                            rgm_trainer_parameters(rgm_run_trainer(explainer->run)),
                            explainer->feeds, explainer->feed_count, 0, 0));
done:
    for (int64_t i = 0; i < explainer->input_count; i++) {
        rgm_tensor_release(feeds[i].tensor);
        feeds[i].tensor = NULL;
    }
    return status;
}

/*
 * Runs of an explainer with inputs that a method has changed, and what they give.
 */
#include "explain_internal.h"

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

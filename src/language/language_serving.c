/*
 * A language model that is asked without its run: the weights of an export have its adapters in
 * them.
 */
#include "language_internal.h"

rgm_status rgmi_language_save_serving(rgm_text *data, const char *folder, void *state)
{
    const rgmi_language_task *t = state;
    rgm_task_file files[RGM_MAX_TASK_FILES];
    int64_t count;

    (void)folder; /* the tokenizer is the task's file */
    rgmi_language_files(files, &count, &t->data);
    return rgm_text_printf(data, "  tokenizer: %s\n", files[0].name);
}

rgm_status rgmi_language_weights(const rgm_parameters **out, rgm_parameters **owned,
                                 const rgmi_language_task *task, const rgm_parameters *parameters)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_scope *scope = NULL;
    rgm_decoder_step step;

    *out = parameters;
    *owned = NULL;
    if (task->options.lora.rank == 0)
        return RGM_OK;
    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F32));
    RGM_GO(rgm_decoder_step_graph(&step, scope, &task->model));
    RGM_GO(rgm_lora_merge(owned, graph, parameters, &task->options.lora));
    *out = *owned;
done:
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
    return status;
}

rgm_status rgmi_language_serving_weights(rgm_parameters **out, const rgm_parameters *parameters,
                                         void *state)
{
    const rgm_parameters *merged;

    return rgmi_language_weights(&merged, out, state, parameters);
}

/*
 * The model of a run: each task takes its labels out of the graph, the base GNN runs once for each
 * distinct graph that is left, and each task's head reads its result.
 */
#include <stdio.h>
#include <string.h>

#include "runner_internal.h"

/* The base GNN's result for a graph, run once for each distinct one. */
typedef struct shared_passes {
    const rgm_graph_value *in[RGM_MAX_HEADS], *out[RGM_MAX_HEADS];
    int64_t count;
} shared_passes;

static rgm_status run_base(const rgm_graph_value **out, shared_passes *passes,
                           const rgm_graph_value *in, rgm_run_result *run, rgm_scope *scope)
{
    const rgm_graph_value *visible, *behind;

    for (int64_t i = 0; i < passes->count; i++)
        if (passes->in[i] == in) {
            *out = passes->out[i];
            return RGM_OK;
        }
    visible = rgm_without_aux_features(in);
    behind = visible == NULL ? NULL : run->model_fn(scope, visible, run->model_payload);
    if (behind == NULL) {
        RGM_TRY(rgm_cgraph_status(rgm_scope_graph(scope)));
        return RGM_FAIL(RGM_ERR_ARG, "the model function returned NULL without a failure");
    }
    passes->in[passes->count] = in;
    passes->out[passes->count++] = behind;
    *out = behind;
    return RGM_OK;
}

/* Padding makes items that are none: they weigh nothing, whatever their number for each component.
 */
static rgm_value *item_weights(const rgm_run_result *run, const rgm_gnn_task *task)
{
    if (run->pipelines[RGM_TRAIN].padding == NULL && run->pipelines[RGM_VALID].padding == NULL)
        return NULL;
    if (task->type->place == RGM_READ_NODES)
        return rgm_real_mask(run->root, RGM_NODE_SET, task->options.readout_set);
    return rgm_real_mask(run->root, RGM_CONTEXT_PIECE, NULL);
}

static rgm_status add_head(rgm_head *head, rgm_run_result *run, int64_t k, shared_passes *passes,
                           rgm_scope *scope)
{
    const rgm_gnn_task *task = &run->tasks[k];
    const rgm_graph_value *in, *behind = NULL;

    RGM_TRY(rgm_gnn_task_preprocess(&in, &head->labels, task, run->root));
    if (run->task_count > 1 && in != run->root)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task '%s' takes its label off the graph that the other tasks see; with "
                        "several tasks, labels must stand on '%s'",
                        task->name, task->options.readout_set);
    RGM_TRY(run_base(&behind, passes, in, run, scope));
    if (k == 0)
        run->base = behind;
    snprintf(head->name, sizeof head->name, "%s",
             task->name != NULL ? task->name : "classification_logits");
    head->predictions = rgm_gnn_task_predict(task, scope, behind);
    head->weights = item_weights(run, task);
    head->loss_weight = run->loss_weights[k];
    RGM_TRY(rgm_cgraph_status(rgm_scope_graph(scope)));
    rgm_value_set_name(head->predictions, head->name);
    return rgm_gnn_task_judge(head, task);
}

rgm_status rgmi_build_model(rgm_task_model *out, rgm_scope *scope, void *result)
{
    rgm_run_result *run = result;
    shared_passes passes = {.count = 0};

    RGM_TRY(rgm_graph_value_create(&run->root, rgm_scope_graph(scope), run->processed_schema));
    *out = (rgm_task_model){.head_count = run->task_count};
    for (int64_t k = 0; k < run->task_count; k++)
        RGM_TRY(add_head(&out->heads[k], run, k, &passes, scope));
    return rgm_cgraph_status(rgm_scope_graph(scope));
}

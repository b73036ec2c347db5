/*
 * The model of graph learning: each task takes its labels out of the graph, the base GNN runs once
 * for each distinct view that is left, and each task predicts from the results.
 */
#include "learning.h"

enum { MOST_PASSES = RGM_MAX_HEADS * RGM_MAX_VIEWS };

/* The base GNN's result for a graph, run once for each distinct one, and by the follower. */
typedef struct shared_passes {
    const rgm_graph_value *in[MOST_PASSES], *out[MOST_PASSES];
    const rgm_scope *scope[MOST_PASSES];
    int64_t count;
} shared_passes;

/* The model, its options seeing what was learned of features while it is built. */
static const rgm_graph_value *run_model(const rgmi_learning *learning, rgm_scope *scope,
                                        const rgm_graph_value *visible)
{
    rgm_input_options *input = learning->input;
    const rgm_learned_features *before = input != NULL ? input->learned : NULL;
    const rgm_graph_value *behind;

    if (input != NULL)
        input->learned = learning->learned;
    behind = learning->model_fn(scope, visible, learning->model_payload);
    if (input != NULL)
        input->learned = before;
    return behind;
}

static rgm_status run_base(const rgm_graph_value **out, shared_passes *passes,
                           const rgm_graph_value *in, rgmi_learning *learning, rgm_scope *scope)
{
    const rgm_graph_value *visible, *behind;

    for (int64_t i = 0; i < passes->count; i++)
        if (passes->in[i] == in && passes->scope[i] == scope) {
            *out = passes->out[i];
            return RGM_OK;
        }
    visible = rgm_without_aux_features(in);
    behind = visible == NULL ? NULL : run_model(learning, scope, visible);
    if (behind == NULL) {
        RGM_TRY(rgm_cgraph_status(rgm_scope_graph(scope)));
        return RGM_FAIL(RGM_ERR_ARG, "the model function returned NULL without a failure");
    }
    passes->in[passes->count] = in;
    passes->scope[passes->count] = scope;
    passes->out[passes->count++] = behind;
    *out = behind;
    return RGM_OK;
}

/* A label that stands where every task's model could see it can only be taken off the graph of one.
 */
static rgm_status check_shared(const rgm_graph_views *views, const rgmi_learning *learning,
                               int64_t k)
{
    for (int64_t v = 0; v < views->count && views->labels != NULL; v++)
        if (learning->task_count > 1 && views->graphs[v] != learning->root)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task '%s' takes its label off the graph that the other tasks see; "
                            "with several tasks, labels must stand on '%s'",
                            learning->tasks[k]->name, RGM_READOUT);
    return RGM_OK;
}

/* Padding makes items that are none: they weigh nothing, whatever their number for each component.
 */
static bool is_padded(const rgmi_learning *learning)
{
    return learning->pipelines[RGM_TRAIN].padding != NULL ||
           learning->pipelines[RGM_VALID].padding != NULL;
}

/* A task's outputs, its options seeing how many labels of each class the training part has. */
static rgm_status add_outputs(rgm_head *heads, int64_t *count, const rgmi_learning *learning,
                              int64_t k, rgm_scope *scope, const rgm_graph_views *views,
                              rgm_value *weights)
{
    const rgm_graph_task *task = learning->tasks[k];
    const rgm_label_counts **counts =
        task->type->counts != NULL ? task->type->counts(task->options) : NULL;
    const rgm_label_counts *before = counts != NULL ? *counts : NULL;
    rgm_status status;

    if (counts != NULL)
        *counts = &learning->counts[RGM_TRAIN][k];
    status = rgm_graph_task_outputs(heads, count, task, scope, views, weights);
    if (counts != NULL)
        *counts = before;
    return status;
}

/* Items that a sampler draws more often than others weigh less: see rgm_saint_sampler. */
static rgm_value *sampling_weights(rgm_value *weights, const rgm_graph_value *root)
{
    rgm_value *sampled;

    if (!rgm_has_feature(root, RGM_NODE_SET, RGM_READOUT, RGM_SAMPLING_WEIGHT))
        return weights;
    sampled = rgm_node_feature(root, RGM_READOUT, RGM_SAMPLING_WEIGHT);
    return weights != NULL ? rgm_mul(weights, sampled) : sampled;
}

static rgm_status add_heads(rgm_task_model *out, rgmi_learning *learning, int64_t k,
                            shared_passes *passes, rgm_scope *scope)
{
    const rgm_graph_task *task = learning->tasks[k];
    rgm_head *heads = &out->heads[out->head_count];
    int64_t count = RGM_MAX_HEADS - out->head_count;
    rgm_graph_views views;
    rgm_value *weights = NULL;
    rgm_piece piece;
    const char *set;

    if (count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "tasks with more than %d outputs together", RGM_MAX_HEADS);
    RGM_TRY(rgm_graph_task_views(&views, task, learning->root));
    RGM_TRY(check_shared(&views, learning, k));
    for (int64_t v = 0; v < views.count; v++) {
        rgm_scope *by =
            views.by_follower[v] ? rgm_scope_follow(scope, "target", views.momentum) : scope;

        RGM_TRY(run_base(&views.graphs[v], passes, views.graphs[v], learning, by));
    }
    if (k == 0)
        learning->base = views.graphs[0];
    if (is_padded(learning)) {
        rgmi_graph_task_items(&piece, &set, task, rgm_graph_value_schema(learning->root));
        weights = rgm_real_mask(learning->root, piece, set);
    }
    weights = sampling_weights(weights, learning->root);
    views.complete = learning->serves || rgmi_learning_is_complete(learning, k);
    RGM_TRY(add_outputs(heads, &count, learning, k, scope, &views, weights));
    for (int64_t i = 0; i < count; i++) {
        heads[i].loss_weight *= learning->loss_weights[k];
        if (learning->learns_weight[k])
            rgmi_learn_loss_weight(&heads[i], scope);
        learning->task_of[out->head_count++] = k;
    }
    return RGM_OK;
}

/*
 * Training on samples computes what the losses need of a batch: the last round of messages updates
 * the roots alone, the one before their neighbours too. Validation, prediction and exports see the
 * model as it was written. A graph that is trained on as a whole is left as it is: nearly all of it
 * is near some item that is learned from.
 */
static rgm_status narrow_training(rgm_task_model *model, const rgmi_learning *learning)
{
    rgm_value *whole[2 * RGM_MAX_HEADS], *narrowed[2 * RGM_MAX_HEADS];
    int64_t count = model->head_count;

    for (int64_t h = 0; h < count; h++) {
        whole[h] = model->heads[h].predictions;
        whole[count + h] = model->heads[h].loss;
    }
    RGM_TRY(rgm_graph_narrow(narrowed, whole, 2 * count, learning->root));
    for (int64_t h = 0; h < count; h++) {
        rgm_head *head = &model->heads[h];

        if (narrowed[h] != whole[h])
            head->predictions = rgm_when_training(narrowed[h], whole[h]);
        if (narrowed[count + h] != whole[count + h])
            head->loss = rgm_when_training(narrowed[count + h], whole[count + h]);
        rgm_value_set_name(head->predictions, head->name);
    }
    return RGM_OK;
}

/* Nobody who asks for predictions has labels to feed. */
static rgm_status keep_predictions(rgmi_learning *learning, const rgm_task_model *model)
{
    rgm_value *outputs[RGM_MAX_HEADS];

    for (int64_t h = 0; h < model->head_count; h++)
        outputs[h] = model->heads[h].predictions;
    return rgm_graph_value_keep(learning->root, outputs, model->head_count);
}

rgm_status rgmi_learning_build_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    rgmi_learning *learning = state;
    shared_passes passes = {.count = 0};

    RGM_TRY(rgmi_sampled_parts_connect(learning));
    rgmi_feeds_ahead_forget(learning->ahead);
    rgm_graph_value_release(learning->root); /* of a run before */
    learning->root = NULL;
    RGM_TRY(rgm_graph_value_create(&learning->root, rgm_scope_graph(scope),
                                   learning->processed_schema));
    *out = (rgm_task_model){0};
    for (int64_t k = 0; k < learning->task_count; k++)
        RGM_TRY(add_heads(out, learning, k, &passes, scope));
    RGM_TRY(rgm_cgraph_status(rgm_scope_graph(scope)));
    if (learning->serves)
        return keep_predictions(learning, out);
    if (learning->inputs.part != NULL && learning->inputs.sampler == NULL) {
        RGM_TRY(rgmi_parts_connect(learning));
        RGM_TRY(rgmi_parts_model(out, learning, scope));
    } else if (!rgmi_provider_is_in_memory(learning->providers[RGM_TRAIN]))
        RGM_TRY(narrow_training(out, learning));
    return rgm_cgraph_status(rgm_scope_graph(scope));
}

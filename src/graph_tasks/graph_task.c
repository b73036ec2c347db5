/*
 * Tasks on graphs: a kind with its options, counted; what a run does with one.
 */
#include <stdio.h>

#include "learning.h"

rgm_graph_task *rgm_graph_task_create(const rgm_graph_task_type *type, const char *name,
                                      const void *options)
{
    rgm_status status = RGM_OK;
    size_t size = type->section.options_size;
    rgm_graph_task *task = NULL;

    RGM_GO(RGM_NEW(task, 1));
    task->references = 1;
    task->type = type;
    if (name != NULL)
        RGM_GO(rgm_strdup(&task->name, name));
    task->options = rgm_calloc(1, size > 0 ? size : 1);
    if (task->options == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %zu bytes of options", size));
    if (options != NULL)
        memcpy(task->options, options, size);
    else if (type->section.defaults != NULL)
        type->section.defaults(task->options);
done:
    if (status != RGM_OK) {
        rgm_graph_task_release(task);
        task = NULL;
    }
    return task;
}

rgm_graph_task *rgm_graph_task_retain(rgm_graph_task *task)
{
    if (task != NULL)
        atomic_fetch_add(&task->references, 1);
    return task;
}

void rgm_graph_task_release(rgm_graph_task *task)
{
    if (task == NULL || atomic_fetch_sub(&task->references, 1) > 1)
        return;
    rgm_free(task->name);
    rgm_free(task->options);
    rgm_free(task);
}

void *rgm_graph_task_options(rgm_graph_task *task)
{
    return task != NULL ? task->options : NULL;
}

void rgmi_graph_task_items(rgm_piece *piece, const char **set, const rgm_graph_task *task,
                           const rgm_schema *schema)
{
    *piece = RGM_CONTEXT_PIECE;
    *set = NULL;
    if (task->type->item_set != NULL)
        task->type->item_set(piece, set, schema, task->options);
}

rgm_status rgmi_graph_task_check(const rgm_graph_task *task, const rgm_schema *schema)
{
    const rgm_graph_task_type *type = task->type;

    if (type->section.check != NULL)
        RGM_TRY(type->section.check(task->options));
    return type->check != NULL ? type->check(task->options, schema) : RGM_OK;
}

rgm_status rgmi_graph_task_check_graph(const rgm_graph_task *task, const rgm_graph *graph,
                                       bool together, bool judged)
{
    const rgm_graph_task_type *type = task->type;
    rgm_status status = RGM_OK;

    if (type->check_items != NULL)
        status = type->check_items(graph, together, task->options);
    if (status == RGM_OK && judged && type->check_labels != NULL)
        status = type->check_labels(graph, task->options);
    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "%s", type->section.name);
}

/* ---- views, outputs ------------------------------------------------------------------------ */

rgm_status rgm_graph_task_views(rgm_graph_views *views, const rgm_graph_task *task,
                                const rgm_graph_value *graph)
{
    *views = (rgm_graph_views){0};
    RGM_TRY(rgmi_graph_task_check(task, rgm_graph_value_schema(graph)));
    RGM_TRY(task->type->preprocess(views, graph, task->options));
    views->graph = graph;
    RGM_TRY(rgm_cgraph_status(rgm_graph_value_cgraph(graph)));
    if (views->count < 1 || views->count > RGM_MAX_VIEWS)
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' made %lld views of a graph; 1 to %d are possible",
                        task->type->section.name, (long long)views->count, RGM_MAX_VIEWS);
    return RGM_OK;
}

/* Predictions, labels and weights are of the same items, or a loss would pair what is apart. */
static rgm_status check_items(const rgm_head *head)
{
    const struct {
        const char *what;
        rgm_value *value;
    } others[] = {{"labels", head->labels}, {"weights", head->weights}};
    char here[128], there[128];

    if (head->predictions == NULL || rgm_value_rank(head->predictions) < 1)
        return RGM_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        rgm_value *other = others[i].value;

        if (other != NULL && (rgm_value_rank(other) < 1 ||
                              rgm_value_dim(other, 0) != rgm_value_dim(head->predictions, 0)))
            return RGM_FAIL(RGM_ERR_SHAPE,
                            "head '%s': predictions %s and %s %s are not of the same items",
                            head->name, rgm_value_describe(head->predictions, here, sizeof here),
                            others[i].what, rgm_value_describe(other, there, sizeof there));
    }
    return RGM_OK;
}

/* x as [n, 1] beside labels [n, units], else as [n]. */
static rgm_value *like_labels(rgm_value *x, bool of_units)
{
    rgm_dim shape[2];

    if (x == NULL || (rgm_value_rank(x) == 2 && of_units && rgm_value_dim(x, 1) != 1))
        return x;
    shape[0] = rgm_value_dim(x, 0);
    shape[1] = 1;
    return rgm_reshape(x, of_units ? 2 : 1, shape);
}

/* What is missing weighs nothing, and is 0 where it is looked at all the same. Of several labels of
 * an item each has a weight of its own. */
static void weigh_labels(rgm_head *head, rgm_missing_labels missing)
{
    rgm_value *labels = head->labels, *known;
    rgm_dtype dtype;
    bool of_units;

    if (labels == NULL || missing == RGM_MISSING_NONE || head->predictions == NULL)
        return;
    dtype = rgm_value_dtype(head->predictions);
    of_units = rgm_value_rank(labels) == 2 && rgm_value_dim(labels, 1) != 1;
    head->labels = rgm_known_labels(&known, labels, dtype, missing == RGM_MISSING_CLASSES);
    known = like_labels(known, of_units);
    head->weights = head->weights == NULL
                        ? known
                        : rgm_mul(known, like_labels(rgm_cast(head->weights, dtype), of_units));
}

static rgm_status check_losses(const rgm_head *outputs, int64_t count, const rgm_graph_task *task)
{
    for (int64_t i = 0; i < count; i++) {
        if (outputs[i].predictions == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "head '%s' has no predictions", outputs[i].name);
        RGM_TRY(rgm_cgraph_status(rgm_value_graph(outputs[i].predictions)));
        if (outputs[i].loss == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "task '%s' gave head '%s' no loss",
                            task->type->section.name, outputs[i].name);
    }
    return RGM_OK;
}

rgm_status rgm_graph_task_outputs(rgm_head *outputs, int64_t *count, const rgm_graph_task *task,
                                  rgm_scope *scope, const rgm_graph_views *behind,
                                  rgm_value *weights)
{
    const rgm_graph_task_type *type = task->type;

    outputs[0] = (rgm_head){.labels = behind->labels, .weights = weights, .loss_weight = 1};
    snprintf(outputs[0].name, sizeof outputs[0].name, "%s",
             task->name != NULL     ? task->name
             : type->output != NULL ? type->output
                                    : type->section.name);
    RGM_TRY(type->predict(outputs, count, scope, behind, task->options));
    RGM_TRY(rgm_cgraph_status(rgm_scope_graph(scope)));
    for (int64_t i = 0; i < *count; i++) {
        rgm_value_set_name(outputs[i].predictions, outputs[i].name);
        RGM_TRY(check_items(&outputs[i]));
    }
    if (!behind->complete)
        weigh_labels(&outputs[0], type->missing);
    RGM_TRY(type->losses(outputs, *count, task->options));
    RGM_TRY(check_losses(outputs, *count, task));
    return type->metrics != NULL ? type->metrics(outputs, *count, task->options) : RGM_OK;
}

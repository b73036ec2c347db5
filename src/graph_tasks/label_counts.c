/*
 * How many labels each part of the data has and lacks: what the plan tells, what decides whether
 * missing ones are looked for at all, and of the training part what classes are weighted by.
 */
#include "learning.h"

typedef struct visit {
    rgmi_learning *learning;
    rgm_mode mode;
} visit;

static rgm_status count_graph(void *payload, const rgm_graph *graph)
{
    const visit *v = payload;
    rgmi_learning *learning = v->learning;

    for (int64_t k = 0; k < learning->task_count; k++) {
        const rgm_graph_task *task = learning->tasks[k];

        if (task->type->count_labels != NULL)
            RGM_TRY(task->type->count_labels(&learning->counts[v->mode][k], graph, task->options));
    }
    return RGM_OK;
}

static bool needs_counts(const rgmi_learning *learning)
{
    for (int64_t k = 0; k < learning->task_count; k++) {
        const rgm_graph_task *task = learning->tasks[k];

        if (task->type->ranks ||
            (task->type->counts != NULL && task->type->counts(task->options) != NULL))
            return true;
    }
    return false;
}

/* Without a pass over records and without what processors cost. */
static rgm_status is_at_hand(bool *at_hand, const rgmi_learning *learning, rgm_mode mode)
{
    const rgm_provider *provider = learning->providers[mode];
    rgm_graph *whole = NULL;

    *at_hand = false;
    if (!rgmi_pipeline_is_plain(&learning->pipelines[mode]))
        return RGM_OK;
    RGM_TRY(rgmi_provider_whole(&whole, provider));
    *at_hand = whole != NULL || rgmi_provider_is_in_memory(provider);
    rgm_graph_release(whole);
    return RGM_OK;
}

rgm_status rgmi_learning_count_parts(rgmi_learning *learning)
{
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        visit v = {learning, (rgm_mode)mode};

        if (learning->providers[mode] == NULL)
            continue;
        RGM_TRY(rgmi_sampled_part_visit(learning->providers[mode], count_graph, &v));
        for (int64_t k = 0; k < learning->task_count; k++)
            RGM_TRY(rgmi_sampled_part_sum(&learning->counts[mode][k], learning->inputs.comm));
        learning->counted[mode] = true;
    }
    return RGM_OK;
}

rgm_status rgmi_learning_count_labels(rgmi_learning *learning)
{
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        visit v = {learning, (rgm_mode)mode};
        bool at_hand;

        if (learning->providers[mode] == NULL)
            continue;
        RGM_TRY(is_at_hand(&at_hand, learning, v.mode));
        if (!at_hand && !(mode == RGM_TRAIN && needs_counts(learning)))
            continue;
        RGM_TRY(rgmi_pipeline_visit(&learning->pipelines[mode], learning->providers[mode],
                                    count_graph, &v));
        learning->counted[mode] = true;
    }
    return RGM_OK;
}

bool rgmi_learning_is_complete(const rgmi_learning *learning, int64_t task)
{
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        if (learning->providers[mode] != NULL &&
            (!learning->counted[mode] || learning->counts[mode][task].missing > 0))
            return false;
    return learning->set_count == 0;
}

/* Of two classes 0 never stands, but -1 does. */
static bool is_signed(const rgm_label_counts *c)
{
    int64_t zeros = 0;

    for (int64_t u = 0; c->of != NULL && u < c->units; u++)
        zeros += c->of[u * c->classes];
    return c->of != NULL && c->classes == 2 && zeros == 0 && c->missing > 0;
}

rgm_status rgmi_learning_check_counts(const rgmi_learning *learning, rgm_mode mode)
{
    for (int64_t k = 0; k < learning->task_count && learning->counted[mode]; k++) {
        const rgm_label_counts *c = &learning->counts[mode][k];
        const rgm_graph_task *task = learning->tasks[k];
        const char *label = task->type->label != NULL ? task->type->label(task->options) : "";

        if (c->known == 0 && c->missing > 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: label '%s' is missing of all %lld items; leave the part out, or "
                            "give some of them labels",
                            task->type->section.name, label,
                            (long long)(c->missing / (c->units > 0 ? c->units : 1)));
        if (mode == RGM_TRAIN && is_signed(c))
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: label '%s' is -1 or 1, but never 0: -1 is a label that is "
                            "missing; data.relabel numbers an OGB folder's labels anew",
                            task->type->section.name, label);
        if (mode == RGM_TRAIN && c->lists > 0 && c->lists == c->unordered)
            return RGM_FAIL(
                RGM_ERR_DATA,
                "%s: none of %lld lists has two items of different '%s', so there is no "
                "order to learn; the items of a component are a list: graphs must have "
                "several, or node_regression learns the numbers themselves",
                task->type->section.name, (long long)c->lists, label);
    }
    return RGM_OK;
}

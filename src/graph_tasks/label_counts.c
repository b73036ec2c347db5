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
    if (rgmi_provider_is_part(learning->providers[RGM_TRAIN])) /* counted behind the model */
        return false;
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

/* ---- a graph in parts --------------------------------------------------------------------- */

/* The sizes of the others; a rank without labels has none. */
static rgm_status agree_on_classes(rgm_label_counts *counts, rgm_comm *comm)
{
    const int64_t own[2] = {counts->units, counts->of != NULL ? counts->classes : 0};
    rgm_comm_blocks told = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_comm_gather(&told, comm, own, sizeof own, RGM_COMM_ALL));
    for (int r = 0; r < told.count; r++) {
        int64_t other[2];

        memcpy(other, told.memory + told.begin[r], sizeof other);
        if (other[0] == 0)
            continue;
        if (counts->units == 0) {
            counts->units = other[0];
            counts->classes = other[1];
            if (other[1] > 0)
                RGM_GO(RGM_NEW(counts->of, other[0] * other[1]));
        }
        if (other[0] != counts->units || other[1] != (counts->of != NULL ? counts->classes : 0))
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "rank %d has labels of another form", r));
    }
done:
    rgm_comm_blocks_clear(&told);
    return status;
}

enum { SUMS = 6 };

/* The counts that are summed; whole numbers, which doubles add without rounding. */
static void list_sums(int64_t *sums[SUMS], rgm_label_counts *counts)
{
    int64_t *all[SUMS] = {&counts->known,     &counts->missing,  &counts->lists,
                          &counts->unordered, &counts->negative, &counts->minus_one};

    memcpy(sums, all, sizeof all);
}

static rgm_status sum_counts(rgm_label_counts *counts, rgm_comm *comm)
{
    int64_t classes = counts->of != NULL ? counts->units * counts->classes : 0, *sums[SUMS];
    double *numbers;
    rgm_status status;

    list_sums(sums, counts);
    RGM_TRY(RGM_NEW(numbers, SUMS + classes));
    for (int i = 0; i < SUMS; i++)
        numbers[i] = (double)*sums[i];
    for (int64_t i = 0; i < classes; i++)
        numbers[SUMS + i] = (double)counts->of[i];
    status = rgm_comm_sum(comm, numbers, SUMS + classes, RGM_F64);
    for (int i = 0; i < SUMS && status == RGM_OK; i++)
        *sums[i] = (int64_t)numbers[i];
    for (int64_t i = 0; i < classes && status == RGM_OK; i++)
        counts->of[i] = (int64_t)numbers[SUMS + i];
    rgm_free(numbers);
    return status;
}

/* Counts of one part's labels become those of all. */
static rgm_status sum_parts(rgm_label_counts *counts, rgm_comm *comm)
{
    RGM_TRY(agree_on_classes(counts, comm));
    return sum_counts(counts, comm);
}

rgm_status rgmi_learning_count_parts(rgmi_learning *learning)
{
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        visit v = {learning, (rgm_mode)mode};

        if (learning->providers[mode] == NULL)
            continue;
        RGM_TRY(rgmi_part_visit(learning->providers[mode], count_graph, &v));
        for (int64_t k = 0; k < learning->task_count; k++)
            RGM_TRY(sum_parts(&learning->counts[mode][k], learning->inputs.comm));
        learning->counted[mode] = true;
    }
    return RGM_OK;
}

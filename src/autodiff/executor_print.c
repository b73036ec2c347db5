/*
 * Looking at an executor: sizes, op counts, the plan as text, times.
 */
#include "executor_internal.h"

int64_t rgm_executor_arena_bytes(const rgm_executor *executor)
{
    return (int64_t)executor->arena_bytes;
}

int64_t rgm_executor_hoisted_bytes(const rgm_executor *executor)
{
    int64_t most = 0;

    for (int64_t i = 0; i < executor->plan_count; i++)
        if (executor->plans[i]->kept_bytes > most)
            most = executor->plans[i]->kept_bytes;
    return most;
}

static bool counted(const rgm_value *v)
{
    return v->type != NULL && !(v->type->is_view != NULL && v->type->is_view(v));
}

int64_t rgmi_executor_op_count(const rgm_executor *executor)
{
    int64_t count = 0;

    for (int64_t s = 0; s < executor->count; s++)
        count += counted(executor->order[s]);
    return count;
}

/* Ops that compute what a block has computed before. */
static int64_t again_count(const rgm_executor *executor)
{
    int64_t count = 0;

    for (int64_t s = 0; s < executor->count; s++)
        count += counted(executor->order[s]) && executor->order[s]->again > 0;
    return count;
}

void rgm_executor_profile(rgm_executor *executor, bool on)
{
    executor->profile = on;
}

static rgm_status slot_print(rgm_text *out, const rgm_executor *executor, int64_t s)
{
    static const char *const leaf[] = {"", "input", "constant", "parameter", "state"};
    static const char *const where[] = {"view", "leaf", "arena", "kept"};
    const rgm_value *v = executor->order[s];
    char text[RGMI_TEXT];

    RGM_TRY(rgm_text_printf(out, "%%%lld = %s", (long long)s,
                            v->type != NULL ? v->type->name : leaf[v->leaf]));
    for (int k = 0; k < v->inputs; k++)
        RGM_TRY(rgm_text_printf(out, "%s%%%lld", k == 0 ? " " : ", ", (long long)v->in[k]->slot));
    RGM_TRY(rgm_text_printf(out, " : %s", rgm_value_describe(v, text, sizeof text)));
    if (v->name != NULL)
        RGM_TRY(rgm_text_printf(out, " '%s'", v->name));
    if (v->scope != NULL)
        RGM_TRY(rgm_text_printf(out, " (%s)", v->scope));
    if (executor->current != NULL) {
        const rgmi_place *place = &executor->current->place[s];
        RGM_TRY(rgm_text_printf(out, " %s", where[place->where]));
        if (place->where == RGMI_ARENA)
            RGM_TRY(rgm_text_printf(out, " @%zu+%zu", place->offset, place->bytes));
    }
    if (executor->runs[s] > 0)
        RGM_TRY(rgm_text_printf(out, " %.4f ms x %lld",
                                1e3 * executor->seconds[s] / (double)executor->runs[s],
                                (long long)executor->runs[s]));
    return rgm_text_printf(out, "\n");
}

rgm_status rgm_executor_print(rgm_text *out, const rgm_executor *executor)
{
    const rgmi_plan *plan = executor->current;
    int64_t again = again_count(executor);

    RGM_TRY(rgm_text_printf(out, "%lld ops, arena %zu bytes, kept %lld bytes\n",
                            (long long)rgmi_executor_op_count(executor), executor->arena_bytes,
                            (long long)rgm_executor_hoisted_bytes(executor)));
    if (again > 0)
        RGM_TRY(rgm_text_printf(out, "%lld ops compute blocks again\n", (long long)again));
    for (int64_t s = 0; s < executor->count; s++)
        if (plan == NULL || executor->order[s]->type == NULL)
            RGM_TRY(slot_print(out, executor, s));
    for (int64_t i = 0; plan != NULL && i < plan->step_count; i++) {
        if (i == 0 && plan->prologue > 0)
            RGM_TRY(rgm_text_printf(out, "once for unchanged feeds:\n"));
        if (i == plan->prologue && i > 0)
            RGM_TRY(rgm_text_printf(out, "each run:\n"));
        RGM_TRY(slot_print(out, executor, plan->steps[i]));
    }
    return RGM_OK;
}

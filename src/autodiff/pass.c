/*
 * Rules over an executor's private graph: a rule looks at each value, inputs first, and may put
 * another in its place; what nobody needs any more falls away. And what rules ask of a value.
 */
#include "executor_internal.h"

enum { ROUNDS = 16 };

static rgm_value * final(rgm_value *v)
{
    while (v->replacement != NULL)
        v = v->replacement;
    return v;
}

/* Values that a rule made: what later rules of the round ask of them. */
static void made_finish(rgm_cgraph *program, int64_t first, const rgm_value *v, rgm_value *r)
{
    for (int64_t i = first; i < program->count; i++) {
        rgm_value *made = program->values[i];
        made->fed_only = made->type != NULL ? !made->type->random && !made->type->in_turn : true;
        for (int k = 0; k < made->inputs; k++)
            made->fed_only = made->fed_only && made->in[k]->fed_only;
        made->uses = 2; /* unknown until the next round: not single */
        made->slot = -1;
    }
    if (r->id >= first)
        r->uses = v->uses;
    else
        r->uses += v->uses;
    if (r->name == NULL && r->type != NULL)
        r->name = v->name;
    if (r->original == NULL)
        r->original = v->original;
    r->fetched = r->fetched || v->fetched;
}

static rgm_status round_run(rgm_executor *executor, rgmi_rule *const *rules, int count,
                            bool *changed)
{
    rgm_cgraph *program = executor->program;

    *changed = false;
    RGM_TRY(rgmi_program_order(executor));
    for (int64_t s = 0; s < executor->count; s++) {
        rgm_value *v = executor->order[s];
        for (int k = 0; k < v->inputs; k++)
            v->in[k] = final(v->in[k]);
        program->order = v->order;
        program->scope = v->scope;
        program->again = v->again;
        for (int i = 0; v->type != NULL && v->replacement == NULL && i < count; i++) {
            int64_t first = program->count;
            rgm_value *r = rules[i](executor, v);
            RGM_TRY(rgm_cgraph_status(program));
            if (r == NULL || r == v)
                continue;
            made_finish(program, first, v, r);
            v->replacement = r;
            *changed = true;
        }
    }
    program->again = 0;
    for (int64_t i = 0; i < executor->fetch_count; i++)
        executor->fetch[i] = final(executor->fetch[i]);
    return RGM_OK;
}

rgm_status rgmi_rules_apply(rgm_executor *executor, rgmi_rule *const *rules, int count)
{
    bool changed = true;

    for (int round = 0; changed && round < ROUNDS; round++)
        RGM_TRY(round_run(executor, rules, count, &changed));
    return RGM_OK;
}

bool rgmi_attributes_equal(const rgm_attributes *a, const rgm_attributes *b)
{
    if (memcmp(a->number, b->number, sizeof a->number) != 0 ||
        memcmp(a->integer, b->integer, sizeof a->integer) != 0)
        return false;
    if ((a->text == NULL) != (b->text == NULL) ||
        (a->text != NULL && strcmp(a->text, b->text) != 0))
        return false;
    return a->tensor == b->tensor ||
           (a->tensor != NULL && b->tensor != NULL && rgm_tensor_equal(a->tensor, b->tensor));
}

rgm_value *rgmi_program_find(const rgm_executor *executor, const rgm_op_type *type,
                             rgm_value *const *in, int inputs, const rgm_attributes *attributes)
{
    for (int64_t s = 0; s < executor->count; s++) {
        rgm_value *v = final(executor->order[s]);
        bool same = v->type == type && v->inputs == inputs;
        for (int k = 0; same && k < inputs; k++)
            same = final(v->in[k]) == in[k];
        if (same && rgmi_attributes_equal(&v->attributes, attributes))
            return v;
    }
    return NULL;
}

bool rgmi_is_number(double *number, const rgm_value *x)
{
    while (x->type == &rgmi_broadcast_to_op || x->type == &rgmi_reshape_op)
        x = x->in[0];
    if (x->leaf != RGMI_CONSTANT || rgm_tensor_count(x->constant) != 1)
        return false;
    *number = rgm_tensor_at(x->constant, 0);
    return true;
}

bool rgmi_has_shape(const rgm_value *v, const rgm_value *like)
{
    return v->s.dtype == like->s.dtype && rgmi_shapes_equal(v, like);
}

/*
 * Chains of element-wise ops become one program each, which runs block by block in the cache. A
 * value is taken into its user's program when that is its only user and has the same shape; what is
 * broadcast is read by stride. A function of one value that two programs read, and nobody else, is
 * computed in both: each reads the value itself instead, which so is neither written nor kept.
 * Values of fed inputs alone stay outside: they are computed once.
 */
#include "executor_internal.h"

enum { STEP = 100 }; /* operand numbers while building: 0.. inputs, STEP + i instructions */

typedef struct chain {
    const rgm_executor *executor;
    rgm_value *in[RGM_MAP_INPUTS];
    int inputs;
    rgm_map_step step[RGM_MAP_STEPS];
    int steps;
    bool full;
} chain;

static int8_t chain_input(chain *c, rgm_value *x)
{
    if (rgmi_is(x, &rgmi_broadcast_to_op))
        x = x->in[0];
    for (int i = 0; i < c->inputs; i++)
        if (c->in[i] == x)
            return (int8_t)i;
    if (c->inputs == RGM_MAP_INPUTS) {
        c->full = true;
        return 0;
    }
    c->in[c->inputs] = x;
    return (int8_t)c->inputs++;
}

static int8_t chain_step(chain *c, rgm_map_step step)
{
    if (c->steps == RGM_MAP_STEPS) {
        c->full = true;
        return 0;
    }
    c->step[c->steps] = step;
    return (int8_t)(STEP + c->steps++);
}

static bool is_elementwise(const rgm_value *v)
{
    if (v->type == NULL || !v->type->elementwise || !rgmi_is_float(v->s.dtype))
        return false;
    for (int k = 0; k < v->inputs; k++)
        if (v->in[k]->s.dtype != v->s.dtype)
            return false;
    return true;
}

/* All reads of u are v's. */
static bool read_by_alone(const rgm_value *u, const rgm_value *v)
{
    int64_t reads = 0;

    for (int k = 0; k < v->inputs; k++)
        reads += v->in[k] == u;
    return !u->fetched && u->uses == reads;
}

/* All reads of u, a function of one value, are two element-wise ops of its shape. */
static bool read_by_two(const rgm_executor *executor, const rgm_value *u)
{
    int64_t reads = 0;

    if (u->fetched || u->inputs != 1 || u->uses != 2 || !is_elementwise(u))
        return false;
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        for (int k = 0; k < v->inputs; k++) {
            if (v->in[k] != u)
                continue;
            if (!is_elementwise(v) || !rgmi_has_shape(u, v))
                return false;
            reads++;
        }
    }
    return reads == 2;
}

static int8_t chain_value(chain *c, rgm_value *v);

/* The operand for input u of v: u's own program taken in, or u as an input. */
static int8_t chain_operand(chain *c, rgm_value *u, const rgm_value *v)
{
    chain before = *c;
    bool fits = (is_elementwise(u) || rgmi_is(u, &rgmi_map_op_type)) && rgmi_has_shape(u, v) &&
                (!u->fed_only || v->fed_only) &&
                (read_by_alone(u, v) || read_by_two(c->executor, u));

    if (fits) {
        int8_t operand = chain_value(c, u);
        if (!c->full)
            return operand;
        *c = before;
    }
    return chain_input(c, u);
}

/* Inputs of a value that is taken in were looked at when it was built: they stay inputs. */
static int8_t chain_value(chain *c, rgm_value *v)
{
    if (rgmi_is(v, &rgmi_map_op_type)) {
        const rgmi_program *p = rgmi_map_program(v);
        int8_t operand[RGM_MAP_INPUTS + RGM_MAP_STEPS] = {0};
        for (int i = 0; i < p->inputs; i++)
            operand[i] = chain_input(c, v->in[i]);
        for (int i = 0; i < p->steps; i++) {
            rgm_map_step step = p->step[i];
            step.a = operand[step.a];
            step.b = step.code >= RGM_MAP_ADD ? operand[step.b] : 0;
            operand[p->inputs + i] = chain_step(c, step);
        }
        return operand[p->inputs + p->steps - 1];
    }
    rgm_map_step step = {.code = (rgm_map_code)v->attributes.integer[0],
                         .constant = v->attributes.number[0]};
    step.a = chain_input(c, v->in[0]);
    step.b = v->inputs == 2 ? chain_input(c, v->in[1]) : 0;
    return chain_step(c, step);
}

rgm_value *rgmi_rule_map(rgm_executor *executor, rgm_value *v)
{
    chain c = {.executor = executor};
    rgmi_program program = {.inputs = 0};
    int8_t a, b = 0;

    if (!is_elementwise(v))
        return NULL;
    a = chain_operand(&c, v->in[0], v);
    if (v->inputs == 2)
        b = v->in[1] == v->in[0] ? a : chain_operand(&c, v->in[1], v);
    chain_step(&c, (rgm_map_step){.code = (rgm_map_code)v->attributes.integer[0],
                                  .a = a,
                                  .b = b,
                                  .constant = v->attributes.number[0]});
    if (c.full) /* no room for v itself: its inputs stay as they are */
        return NULL;
    bool reads_broadcast = false;
    for (int k = 0; k < v->inputs; k++)
        reads_broadcast |= rgmi_is(v->in[k], &rgmi_broadcast_to_op);
    if (c.steps < 2 && !reads_broadcast)
        return NULL;
    program.inputs = c.inputs;
    program.steps = c.steps;
    for (int i = 0; i < c.steps; i++) {
        program.step[i] = c.step[i];
        program.step[i].a =
            (int8_t)(c.step[i].a >= STEP ? c.step[i].a - STEP + c.inputs : c.step[i].a);
        program.step[i].b =
            (int8_t)(c.step[i].b >= STEP ? c.step[i].b - STEP + c.inputs : c.step[i].b);
    }
    return rgmi_map_fused(c.in, &program, v->s.rank, v->s.shape, v->graph, v->s.dtype);
}

/*
 * Gradients of several losses that conflict: each is computed by itself, in one run of the model,
 * and loses its part against the others before they are added up.
 */
#include <string.h>

#include "trainer_internal.h"

/* The gradients of `count` losses by `parameters` parameters, [loss * parameters + parameter]. */
typedef struct surgery {
    rgm_value *losses[RGM_MAX_HEADS + 1]; /* the last: losses that layers add, or NULL */
    int64_t count;
    int64_t parameters;
    rgm_value **of;
    bool *shared; /* [parameters]: two losses depend on it */
} surgery;

static rgm_status add_losses(surgery *s, rgm_trainer *trainer, rgm_value *scale)
{
    const rgm_task_model *model = &trainer->model;
    rgm_value *more = rgm_scope_loss(trainer->scope);

    if (!trainer->heads.apart)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.gradient_surgery: pcgrad is between the losses of several tasks, "
                        "but there is one");
    for (int64_t h = 0; h < model->head_count; h++)
        if (model->heads[h].loss != NULL)
            s->losses[s->count++] = rgm_scale(model->heads[h].loss, model->heads[h].loss_weight);
    s->losses[s->count] = more;
    for (int64_t i = 0; i <= s->count && scale != NULL; i++)
        if (s->losses[i] != NULL)
            s->losses[i] = rgm_mul(s->losses[i], scale);
    return rgm_cgraph_status(trainer->graph);
}

/* ---- which parameters losses have in common ------------------------------------------------ */

/* Values come after their inputs, so one walk down finds everything that a loss is made of. */
static void reach(bool *reached, const rgm_cgraph *graph, const rgm_value *loss)
{
    reached[rgm_value_number(loss)] = true;
    for (int64_t n = rgm_value_number(loss); n >= 0; n--) {
        const rgm_value *value = reached[n] ? rgm_cgraph_value(graph, n) : NULL;

        for (int i = 0; value != NULL && i < rgm_value_input_count(value); i++)
            reached[rgm_value_number(rgm_value_input(value, i))] = true;
    }
}

/* The values up to the loss with the highest number. rgm_cgraph_forward_count() does not help: a
 * model that takes a gradient itself makes its losses after its first gradient. */
static int64_t values_of(const surgery *s)
{
    int64_t most = 0;

    for (int64_t i = 0; i < s->count; i++)
        if (rgm_value_number(s->losses[i]) >= most)
            most = rgm_value_number(s->losses[i]) + 1;
    return most;
}

static rgm_status find_shared(surgery *s, const rgm_cgraph *graph, rgm_value *const *parameters)
{
    int64_t values = values_of(s);
    rgm_status status = RGM_OK;
    bool *reached = NULL;
    int64_t shared = 0;
    int *losses = NULL;

    RGM_GO(RGM_NEW(reached, values));
    RGM_GO(RGM_NEW(losses, s->parameters));
    for (int64_t i = 0; i < s->count; i++) {
        memset(reached, 0, (size_t)values * sizeof *reached);
        reach(reached, graph, s->losses[i]);
        for (int64_t p = 0; p < s->parameters; p++) { /* a later one belongs to no loss */
            int64_t n = rgm_value_number(parameters[p]);

            losses[p] += n < values && reached[n];
        }
    }
    for (int64_t p = 0; p < s->parameters; p++)
        shared += s->shared[p] = losses[p] > 1;
    if (shared == 0)
        rgm_log_write(RGM_LOG_WARNING,
                      "trainer.gradient_surgery: pcgrad has no effect: no two tasks' losses depend "
                      "on the same trainable parameter");
done:
    rgm_free(reached);
    rgm_free(losses);
    return status;
}

/* ---- projections --------------------------------------------------------------------------- */

/* The product over shared parameters; NULL if there are none. */
static rgm_value *product(const surgery *s, rgm_value *const *a, rgm_value *const *b)
{
    rgm_value *sum = NULL;

    for (int64_t p = 0; p < s->parameters; p++) {
        rgm_value *part;

        if (!s->shared[p])
            continue;
        part = rgm_sum(rgm_mul(a[p], b[p]));
        sum = sum == NULL ? part : rgm_add(sum, part);
    }
    return sum;
}

/* g -= other min(0, <g, other>) / |other|^2 */
static void project(const surgery *s, rgm_value **g, rgm_value *const *other)
{
    rgm_value *against = rgm_relu(rgm_neg(product(s, g, other)));
    rgm_value *share = rgm_div(against, rgm_floor_at(product(s, other, other), 1e-30));

    for (int64_t p = 0; p < s->parameters; p++)
        if (s->shared[p])
            g[p] = rgm_add(g[p], rgm_mul(other[p], share));
}

static void add_projected(rgm_value **gradients, const surgery *s, rgm_value **own, int64_t i)
{
    memcpy(own, s->of + i * s->parameters, (size_t)s->parameters * sizeof *own);
    for (int64_t k = 1; k < s->count; k++)
        project(s, own, s->of + (i + k) % s->count * s->parameters);
    for (int64_t p = 0; p < s->parameters; p++)
        gradients[p] = i == 0 ? own[p] : rgm_add(gradients[p], own[p]);
}

static rgm_status take_gradients(surgery *s, rgm_value *const *parameters)
{
    int64_t count = s->count + (s->losses[s->count] != NULL);

    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_cgraph_gradients(s->of + i * s->parameters, s->losses[i], parameters,
                                     s->parameters));
    return RGM_OK;
}

rgm_status rgmi_surgery_gradients(rgm_value **gradients, rgm_trainer *trainer, rgm_value *scale,
                                  rgm_value *const *parameters, int64_t count)
{
    surgery s = {.parameters = count};
    rgm_status status = RGM_OK;
    rgm_value **own = NULL;

    RGM_GO(add_losses(&s, trainer, scale));
    RGM_GO(RGM_NEW(s.of, (s.count + 1) * count));
    RGM_GO(RGM_NEW(s.shared, count));
    RGM_GO(RGM_NEW(own, count));
    RGM_GO(find_shared(&s, trainer->graph, parameters));
    RGM_GO(take_gradients(&s, parameters));
    for (int64_t i = 0; i < s.count; i++)
        add_projected(gradients, &s, own, i);
    for (int64_t p = 0; p < count && s.losses[s.count] != NULL; p++)
        gradients[p] = rgm_add(gradients[p], s.of[s.count * count + p]);
    status = rgm_cgraph_status(trainer->graph);
done:
    rgm_free(s.of);
    rgm_free(s.shared);
    rgm_free(own);
    return status;
}

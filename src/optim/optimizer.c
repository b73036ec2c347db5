/*
 * The optimizer object: slots for each parameter, who decays, and one sweep an update. What differs
 * between optimizers is in their rows; this file is the same for all.
 */
#include "optim_internal.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

/* One parameter's share: its slots, and whether its name lets it decay. */
typedef struct entry {
    rgm_tensor *slots[RGM_MAX_SLOTS];
    rgm_dtype dtype;
    int64_t count;
    bool decays;
} entry;

struct rgm_optimizer {
    rgm_optimizer_options options;
    entry *entries; /* in the parameters' order */
    int64_t count;
    char **slot_names; /* [count * slots_each] */
    int64_t slots_each;
    double gradient_norm;
};

/* ---- creation ------------------------------------------------------------------------------ */

static bool matches_any(const rgm_texts *patterns, const char *name)
{
    for (int64_t i = 0; i < patterns->count; i++) {
        if (fnmatch(patterns->items[i], name, 0) == 0)
            return true;
    }
    return false;
}

/* A pattern that fits nothing is a misspelt name: the decay would silently be gone. */
static rgm_status check_pattern(const char *pattern, const rgm_parameters *parameters)
{
    int64_t count = rgm_parameters_count(parameters);
    const char **names = NULL;
    const char *near = NULL;
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < count; i++) {
        if (fnmatch(pattern, rgm_parameters_name(parameters, i), 0) == 0)
            return RGM_OK;
    }
    RGM_GO(RGM_NEW(names, count + 1));
    for (int64_t i = 0; i < count; i++)
        names[i] = rgm_parameters_name(parameters, i);
    near = rgm_nearest_name(pattern, names, count);
    if (near == NULL && count > 0)
        near = names[0];
    status = RGM_FAIL(RGM_ERR_CONFIG,
                      "optimizer.weight_decay_only: '%s' matches none of %lld parameters%s%s",
                      pattern, (long long)count, near ? "; one is named " : "", near ? near : "");
done:
    rgm_free(names);
    return status;
}

static rgm_status make_entry(rgm_optimizer *optimizer, int64_t i, const rgm_parameters *parameters,
                             const char *const *slot_names)
{
    const rgm_optimizer_options *o = &optimizer->options;
    const char *name = rgm_parameters_name(parameters, i);
    const rgm_tensor *w = rgm_parameters_tensor(parameters, i);
    entry *e = &optimizer->entries[i];

    e->dtype = rgm_tensor_dtype(w);
    e->count = rgm_tensor_count(w);
    if (e->dtype != RGM_F32 && e->dtype != RGM_F64)
        return RGM_FAIL(RGM_ERR_DTYPE, "parameter '%s' is %s; an optimizer takes f32 and f64", name,
                        rgm_dtype_name(e->dtype));
    e->decays = (o->weight_decay_only.count == 0 || matches_any(&o->weight_decay_only, name)) &&
                !matches_any(&o->weight_decay_except, name);
    for (int64_t s = 0; s < optimizer->slots_each; s++) {
        RGM_TRY(rgm_strprintf(&optimizer->slot_names[i * optimizer->slots_each + s], "%s/%s/%s",
                              o->type->name, slot_names[s], name));
        RGM_TRY(rgm_tensor_create(&e->slots[s], e->dtype, rgm_tensor_rank(w), rgm_tensor_shape(w)));
    }
    return RGM_OK;
}

static rgm_status check_options(const rgm_optimizer_options *o, const rgm_parameters *parameters)
{
    const rgm_schedule *s = &o->learning_rate;

    if (o->type == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "optimizer options have no type; begin with rgm_adam()");
    RGM_TRY(rgmi_optimizer_options_check(o));
    if (s->type != RGM_SCHEDULE_CONSTANT && s->decay_steps < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "optimizer.learning_rate.decay_steps is missing; see "
                                        "rgm_optimizer_options_resolve()");
    for (int64_t i = 0; i < o->weight_decay_only.count; i++)
        RGM_TRY(check_pattern(o->weight_decay_only.items[i], parameters));
    return RGM_OK;
}

rgm_status rgm_optimizer_create(rgm_optimizer **out, const rgm_optimizer_options *options,
                                const rgm_parameters *parameters)
{
    rgm_optimizer *optimizer = NULL;
    const char *const *slot_names;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(check_options(options, parameters));
    RGM_GO(RGM_NEW(optimizer, 1));
    optimizer->options = *options;
    slot_names = options->type->slots(options);
    while (slot_names[optimizer->slots_each] != NULL)
        optimizer->slots_each++;
    RGM_GO(RGM_NEW(optimizer->entries, rgm_parameters_count(parameters)));
    optimizer->count = rgm_parameters_count(parameters);
    RGM_GO(RGM_NEW(optimizer->slot_names, optimizer->count * optimizer->slots_each));
    for (int64_t i = 0; i < optimizer->count; i++)
        RGM_GO(make_entry(optimizer, i, parameters, slot_names));
    /* The patterns have done their work, and may not outlive the caller's arena. */
    optimizer->options.weight_decay_only = (rgm_texts){0};
    optimizer->options.weight_decay_except = (rgm_texts){0};
    *out = optimizer;
    optimizer = NULL;
done:
    rgm_optimizer_release(optimizer);
    return status;
}

void rgm_optimizer_release(rgm_optimizer *optimizer)
{
    if (optimizer == NULL)
        return;
    for (int64_t i = 0; i < optimizer->count; i++) {
        for (int64_t s = 0; s < optimizer->slots_each; s++) {
            rgm_tensor_release(optimizer->entries[i].slots[s]);
            if (optimizer->slot_names != NULL)
                rgm_free(optimizer->slot_names[i * optimizer->slots_each + s]);
        }
    }
    rgm_free(optimizer->slot_names);
    rgm_free(optimizer->entries);
    rgm_free(optimizer);
}

/* ---- one update ---------------------------------------------------------------------------- */

static rgm_status check_same(const char *what, const char *name, const rgm_tensor *a,
                             const rgm_tensor *b)
{
    char x[96], y[96];

    if (rgm_tensor_dtype(a) != rgm_tensor_dtype(b))
        return RGM_FAIL(RGM_ERR_DTYPE, "%s '%s' is %s, but should be %s", what, name,
                        rgm_tensor_describe(a, x, sizeof x), rgm_tensor_describe(b, y, sizeof y));
    if (rgm_tensor_rank(a) != rgm_tensor_rank(b) ||
        (rgm_tensor_rank(a) > 0 && memcmp(rgm_tensor_shape(a), rgm_tensor_shape(b),
                                          (size_t)rgm_tensor_rank(a) * sizeof(int64_t)) != 0))
        return RGM_FAIL(RGM_ERR_SHAPE, "%s '%s' is %s, but should be %s", what, name,
                        rgm_tensor_describe(a, x, sizeof x), rgm_tensor_describe(b, y, sizeof y));
    return RGM_OK;
}

static rgm_status check_gradients(const rgm_optimizer *optimizer, const rgm_parameters *parameters,
                                  rgm_tensor *const *gradients, int64_t step)
{
    if (step < 0)
        return RGM_FAIL(RGM_ERR_ARG, "step is %lld", (long long)step);
    if (rgm_parameters_count(parameters) != optimizer->count)
        return RGM_FAIL(RGM_ERR_SHAPE, "%lld parameters, but the optimizer was made for %lld",
                        (long long)rgm_parameters_count(parameters), (long long)optimizer->count);
    for (int64_t i = 0; i < optimizer->count; i++) {
        const char *name = rgm_parameters_name(parameters, i);
        const rgm_tensor *w = rgm_parameters_tensor(parameters, i);

        if (rgm_tensor_dtype(w) != optimizer->entries[i].dtype ||
            rgm_tensor_count(w) != optimizer->entries[i].count)
            return RGM_FAIL(RGM_ERR_SHAPE,
                            "parameter '%s' is not the one the optimizer was made for", name);
        if (gradients[i] != NULL)
            RGM_TRY(check_same("the gradient of", name, gradients[i], w));
    }
    return RGM_OK;
}

/* The global norm; it also finds what is not finite, at the price of one read of the gradients. */
static rgm_status measure(double *norm, const rgm_optimizer *optimizer,
                          const rgm_parameters *parameters, rgm_tensor *const *gradients,
                          int64_t step)
{
    double sum = 0;

    for (int64_t i = 0; i < optimizer->count; i++) {
        const rgm_kernels *kernels = rgm_kernels_for(optimizer->entries[i].dtype);
        double squares;

        if (gradients[i] == NULL)
            continue;
        squares =
            kernels->sum_of_squares(rgm_tensor_data(gradients[i]), optimizer->entries[i].count);
        if (!isfinite(squares))
            return RGM_FAIL(
                RGM_ERR_NUMERIC, "the gradient of '%s' %s at step %lld",
                rgm_parameters_name(parameters, i),
                kernels->all_finite(rgm_tensor_data(gradients[i]), optimizer->entries[i].count)
                    ? "is so large that its norm overflows"
                    : "has a NaN or infinity",
                (long long)step);
        sum += squares;
    }
    *norm = sqrt(sum);
    return RGM_OK;
}

rgm_status rgm_optimizer_step(rgm_optimizer *optimizer, rgm_parameters *parameters,
                              rgm_tensor *const *gradients, int64_t step)
{
    const rgm_optimizer_options *o = &optimizer->options;
    rgm_update update = {.options = o, .step = step, .gradient_scale = 1};
    double norm;

    RGM_TRY(check_gradients(optimizer, parameters, gradients, step));
    RGM_TRY(measure(&norm, optimizer, parameters, gradients, step));
    optimizer->gradient_norm = norm;
    update.rate = rgm_schedule_rate(&o->learning_rate, step);
    if (o->clip_norm > 0 && norm > o->clip_norm)
        update.gradient_scale = o->clip_norm / norm;
    for (int64_t i = 0; i < optimizer->count; i++) {
        entry *e = &optimizer->entries[i];

        if (gradients[i] == NULL || !rgm_parameters_trainable(parameters, i) || e->count == 0)
            continue;
        update.kernels = rgm_kernels_for(e->dtype);
        update.w = rgm_tensor_data(rgm_parameters_tensor(parameters, i));
        update.gradient = rgm_tensor_data(gradients[i]);
        for (int64_t s = 0; s < optimizer->slots_each; s++)
            update.slots[s] = rgm_tensor_data(e->slots[s]);
        update.count = e->count;
        update.weight_decay = e->decays ? o->weight_decay : 0;
        o->type->step(&update);
    }
    rgm_parameters_touch(parameters);
    return RGM_OK;
}

double rgm_optimizer_gradient_norm(const rgm_optimizer *optimizer)
{
    return optimizer->gradient_norm;
}

double rgm_optimizer_rate(const rgm_optimizer *optimizer, int64_t step)
{
    return rgm_schedule_rate(&optimizer->options.learning_rate, step);
}

const rgm_optimizer_options *rgm_optimizer_settings(const rgm_optimizer *optimizer)
{
    return &optimizer->options;
}

/* ---- slots --------------------------------------------------------------------------------- */

int64_t rgm_optimizer_slot_count(const rgm_optimizer *optimizer)
{
    return optimizer->count * optimizer->slots_each;
}

rgm_named_tensor rgm_optimizer_slot(const rgm_optimizer *optimizer, int64_t i)
{
    int64_t each = optimizer->slots_each;

    return (rgm_named_tensor){optimizer->slot_names[i],
                              optimizer->entries[i / each].slots[i % each]};
}

/* Every slot was found, yet the counts differ: name what the file has more. */
static rgm_status name_leftover(const rgm_optimizer *optimizer, const rgm_safetensors *file)
{
    int64_t count = rgm_optimizer_slot_count(optimizer);

    for (int64_t i = 0; i < rgm_safetensors_count(file); i++) {
        const char *name = rgm_safetensors_name(file, i);
        int64_t s = 0;

        while (s < count && strcmp(optimizer->slot_names[s], name) != 0)
            s++;
        if (s == count)
            return RGM_FAIL(RGM_ERR_DATA,
                            "the file has slot '%s', which optimizer %s has not; it was saved with "
                            "another optimizer or model",
                            name, optimizer->options.type->name);
    }
    return RGM_OK;
}

rgm_status rgm_optimizer_restore(rgm_optimizer *optimizer, const rgm_safetensors *file)
{
    int64_t count = rgm_optimizer_slot_count(optimizer);
    rgm_tensor **loaded = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(loaded, count));
    for (int64_t i = 0; i < count; i++) {
        rgm_named_tensor slot = rgm_optimizer_slot(optimizer, i);

        RGM_GO(rgm_safetensors_get(&loaded[i], file, slot.name));
        RGM_GO(check_same("the saved slot", slot.name, loaded[i], slot.tensor));
    }
    if (rgm_safetensors_count(file) != count)
        RGM_GO(name_leftover(optimizer, file));
    for (int64_t i = 0; i < count; i++) {
        if (rgm_tensor_bytes(loaded[i]) > 0)
            memcpy(rgm_tensor_data(rgm_optimizer_slot(optimizer, i).tensor),
                   rgm_tensor_data(loaded[i]), rgm_tensor_bytes(loaded[i]));
    }
done:
    for (int64_t i = 0; loaded != NULL && i < count; i++)
        rgm_tensor_release(loaded[i]);
    rgm_free(loaded);
    return status;
}

/*
 * The optimizer object: slots for each parameter, and what the patterns say of its name. What
 * differs between optimizers is in their rows; this file is the same for all.
 */
#include "optim_internal.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------- */

rgm_optimizer_options rgm_optimizer_default(const rgm_optimizer_type *type, double rate)
{
    return (rgm_optimizer_options){
        .type = type, .learning_rate = rgm_schedule_constant(rate), .average = {.dynamic = true}};
}

rgm_status rgmi_optimizer_options_check(const rgm_optimizer_options *o)
{
    RGM_TRY(rgmi_schedule_check(&o->learning_rate));
    RGM_TRY(rgm_options_check(o, o->type->fields, "optimizer"));
    RGM_TRY(rgmi_own_check(o->type->own, o->own, "optimizer"));
    if (o->clip_norm > 0 && o->clip_global_norm > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.clip_norm is %g and optimizer.clip_global_norm is %g; only one "
                        "of them may be set",
                        o->clip_norm, o->clip_global_norm);
    if (o->nesterov && o->momentum == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "optimizer.nesterov needs a momentum above 0");
    return RGM_OK;
}

/* ---- names --------------------------------------------------------------------------------- */

static bool matches_any(const rgm_texts *patterns, const char *name)
{
    for (int64_t i = 0; i < patterns->count; i++) {
        if (fnmatch(patterns->items[i], name, 0) == 0)
            return true;
    }
    return false;
}

static double rate_scale(const rgm_numbers *rates, const char *name)
{
    for (int64_t i = 0; i < rates->count; i++) {
        if (fnmatch(rates->names[i], name, 0) == 0)
            return rates->values[i];
    }
    return 1;
}

rgm_status rgm_pattern_check(const char *key, const char *pattern, const rgm_parameters *parameters)
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
    status = RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' matches none of %lld parameters%s%s", key, pattern,
                      (long long)count, near ? "; one is named " : "", near ? near : "");
done:
    rgm_free(names);
    return status;
}

/* ---- creation ------------------------------------------------------------------------------ */

rgm_slot rgmi_slot_like(const char *name, const rgm_tensor *w, double initial)
{
    rgm_slot slot = {.name = name, .rank = rgm_tensor_rank(w), .initial = initial};

    for (int axis = 0; axis < slot.rank; axis++)
        slot.shape[axis] = rgm_tensor_shape(w)[axis];
    return slot;
}

static void read_names(rgmi_parameter_share *e, const rgm_optimizer_options *o, const char *name)
{
    const rgm_texts *rigid = o->layer_adaptation_except.items != NULL ? &o->layer_adaptation_except
                                                                      : &o->weight_decay_except;

    e->rate_scale = rate_scale(&o->rates, name);
    e->decays = (o->weight_decay_only.count == 0 || matches_any(&o->weight_decay_only, name)) &&
                !matches_any(&o->weight_decay_except, name);
    e->layer_adaptation = !matches_any(rigid, name);
}

static rgm_status make_slot(rgmi_named_slot *out, const rgm_slot *slot, const char *type,
                            const char *parameter, const rgm_kernels *kernels)
{
    out->form = *slot;
    RGM_TRY(rgm_strprintf(&out->name, "%s/%s/%s", type, slot->name, parameter));
    RGM_TRY(rgm_tensor_create(&out->value.host, kernels->dtype, slot->rank, slot->shape));
    if (slot->initial != 0)
        kernels->fill(&(rgm_fill_args){rgm_tensor_data(out->value.host),
                                       rgm_tensor_count(out->value.host), slot->initial});
    return RGM_OK;
}

/* The list has room for RGM_MAX_SLOTS and an average of every parameter. */
static rgm_status make_slots(rgm_optimizer *optimizer, rgmi_parameter_share *e, const char *name,
                             const rgm_tensor *w)
{
    const rgm_optimizer_options *o = &optimizer->options;
    rgmi_named_slot *next = &optimizer->slots[optimizer->slot_count];
    rgm_slot slots[RGM_MAX_SLOTS];

    e->first_slot = optimizer->slot_count;
    e->slot_count = o->type->slots(slots, o, w);
    optimizer->slot_count += e->slot_count;
    for (int s = 0; s < e->slot_count; s++)
        RGM_TRY(make_slot(next++, &slots[s], o->type->name, name, e->kernels));
    if (o->average.decay <= 0)
        return RGM_OK;
    optimizer->slot_count++;
    RGM_TRY(rgm_strprintf(&next->name, RGM_AVERAGE_PREFIX "%s", name));
    RGM_TRY(rgm_tensor_copy(&next->value.host, w));
    e->average = &next->value;
    return RGM_OK;
}

static rgm_status make_entry(rgm_optimizer *optimizer, int64_t i, const rgm_parameters *parameters)
{
    const char *name = rgm_parameters_name(parameters, i);
    const rgm_tensor *w = rgm_parameters_read(parameters, i);
    rgmi_parameter_share *e = &optimizer->entries[i];

    e->dtype = rgm_tensor_dtype(w);
    e->count = rgm_tensor_count(w);
    read_names(e, &optimizer->options, name);
    e->moves = rgm_parameters_trainable(parameters, i) && e->rate_scale != 0;
    if (!e->moves)
        return RGM_OK;
    if (e->dtype != RGM_F32 && e->dtype != RGM_F64)
        return RGM_FAIL(RGM_ERR_DTYPE, "parameter '%s' is %s; an optimizer takes f32 and f64", name,
                        rgm_dtype_name(e->dtype));
    e->kernels = rgm_kernels_for(rgm_device_cpu(), e->dtype);
    RGM_TRY(make_slots(optimizer, e, name, w));
    for (int64_t s = e->first_slot; s < optimizer->slot_count; s++)
        optimizer->slots[s].parameter = i;
    return RGM_OK;
}

/* Factors that stop every parameter are a mistake, as a rate of 0 is. */
static rgm_status check_factors(const rgm_optimizer *optimizer, const rgm_parameters *parameters)
{
    int64_t trained = 0, moving = 0;

    for (int64_t i = 0; i < optimizer->count; i++) {
        trained += rgm_parameters_trainable(parameters, i);
        moving += optimizer->entries[i].moves;
    }
    if (moving == 0 && trained > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.rates has the factor 0 for each of %lld parameters: nothing "
                        "would be learnt",
                        (long long)trained);
    return RGM_OK;
}

static rgm_status check_patterns(const char *key, const rgm_texts *patterns,
                                 const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < patterns->count; i++)
        RGM_TRY(rgm_pattern_check(key, patterns->items[i], parameters));
    return RGM_OK;
}

/* What is asked of states alone, as moving averages are and beside adapters all of a model, would
 * be gone without a word: no update moves them. */
static rgm_status check_trained(const char *key, const char *pattern,
                                const rgm_parameters *parameters)
{
    const char *state = NULL, *trained = NULL;

    RGM_TRY(rgm_pattern_check(key, pattern, parameters));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const char *name = rgm_parameters_name(parameters, i);
        bool fits = fnmatch(pattern, name, 0) == 0;

        if (!rgm_parameters_trainable(parameters, i)) {
            state = fits ? name : state;
            continue;
        }
        if (fits)
            return RGM_OK;
        trained = trained != NULL ? trained : name;
    }
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s: '%s' matches states alone, as '%s', which no optimizer moves; leave it "
                    "out, or name what is trained%s%s%s",
                    key, pattern, state, trained != NULL ? ", as '" : "",
                    trained != NULL ? trained : "", trained != NULL ? "'" : "");
}

static rgm_status check_options(const rgm_optimizer_options *o, const rgm_parameters *parameters)
{
    const rgm_schedule *s = &o->learning_rate;

    if (o->type == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "optimizer options have no type; begin with rgm_adam()");
    RGM_TRY(rgmi_optimizer_options_check(o));
    if (s->unit == RGM_UNIT_EPOCHS && rgm_schedule_epochs(s, 0) < 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate.unit is epochs, but the training data do not say "
                        "how long one is: optimizer.learning_rate.epoch_updates does");
    if (s->type->decays && s->decay_steps < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "optimizer.learning_rate.decay_steps is missing; see "
                                        "rgm_optimizer_options_resolve()");
    for (int64_t i = 0; i < o->weight_decay_only.count; i++)
        RGM_TRY(check_trained("optimizer.weight_decay_only", o->weight_decay_only.items[i],
                              parameters));
    RGM_TRY(check_patterns("optimizer.weight_decay_except", &o->weight_decay_except, parameters));
    RGM_TRY(check_patterns("optimizer.layer_adaptation_except", &o->layer_adaptation_except,
                           parameters));
    for (int64_t i = 0; i < o->rates.count; i++)
        RGM_TRY(check_trained("optimizer.rates", o->rates.names[i], parameters));
    return RGM_OK;
}

/* A copy of what an option points to, as long-lived as the optimizer. */
static rgm_status keep(const void **member, rgm_optimizer *optimizer, size_t size)
{
    void *copy;

    if (size == 0 || *member == NULL)
        return RGM_OK;
    if (optimizer->lists == NULL)
        RGM_TRY(rgm_arena_create(&optimizer->lists));
    copy = rgm_arena_alloc(optimizer->lists, size);
    if (copy == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %zu bytes of options", size);
    memcpy(copy, *member, size);
    *member = copy;
    return RGM_OK;
}

/* What the options point to may not outlive the caller's arena: what steps read is copied, the
   patterns have done their work. */
static rgm_status keep_lists(rgm_optimizer *optimizer)
{
    rgm_optimizer_options *o = &optimizer->options;
    rgm_schedule *s = &o->learning_rate;
    const void *boundaries = s->boundaries.items, *values = s->values.items;

    o->weight_decay_only = o->weight_decay_except = o->layer_adaptation_except = (rgm_texts){0};
    o->rates = (rgm_numbers){0};
    RGM_TRY(keep(&boundaries, optimizer, (size_t)s->boundaries.count * sizeof(int64_t)));
    RGM_TRY(keep(&values, optimizer, (size_t)s->values.count * sizeof(double)));
    s->boundaries.items = boundaries;
    s->values.items = values;
    if (o->type->own != NULL)
        RGM_TRY(keep(&o->own, optimizer, o->type->own->options_size));
    if (s->type->own != NULL)
        RGM_TRY(keep(&s->own, optimizer, s->type->own->options_size));
    return RGM_OK;
}

static rgm_status make_scratch(rgm_optimizer *optimizer)
{
    for (int64_t i = 0; i < optimizer->count; i++) {
        if (optimizer->entries[i].moves && optimizer->entries[i].count > optimizer->most)
            optimizer->most = optimizer->entries[i].count;
    }
    if (rgmi_needs_scratch(optimizer))
        RGM_TRY(RGM_NEW(optimizer->scratch, optimizer->most));
    if (optimizer->options.clip_value > 0)
        RGM_TRY(RGM_NEW(optimizer->clipped, optimizer->most));
    return rgmi_squares_open(&optimizer->squares, 2 * optimizer->count);
}

rgm_status rgm_optimizer_create(rgm_optimizer **out, const rgm_optimizer_options *options,
                                const rgm_parameters *parameters)
{
    rgm_optimizer *optimizer = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(check_options(options, parameters));
    RGM_GO(rgm_parameters_to_host(parameters)); /* averages begin as copies */
    RGM_GO(RGM_NEW(optimizer, 1));
    optimizer->options = *options;
    optimizer->device = rgm_device_cpu();
    optimizer->rate_factor = 1;
    optimizer->count = rgm_parameters_count(parameters);
    RGM_GO(RGM_NEW(optimizer->entries, optimizer->count));
    RGM_GO(RGM_NEW(optimizer->slots, optimizer->count * (RGM_MAX_SLOTS + 1)));
    for (int64_t i = 0; i < optimizer->count; i++)
        RGM_GO(make_entry(optimizer, i, parameters));
    RGM_GO(check_factors(optimizer, parameters));
    RGM_GO(make_scratch(optimizer));
    RGM_GO(keep_lists(optimizer));
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
    if (optimizer->entries != NULL)
        rgmi_place_close(optimizer);
    for (int64_t i = 0; i < optimizer->slot_count; i++) {
        rgm_resident_release(&optimizer->slots[i].value);
        rgm_free(optimizer->slots[i].name);
    }
    rgm_free(optimizer->slots);
    rgm_free(optimizer->entries);
    rgm_free(optimizer->scratch);
    rgm_free(optimizer->clipped);
    rgm_free((void *)optimizer->squares.x);
    rgm_free(optimizer->squares.counts);
    rgm_free((void *)(uintptr_t)optimizer->squares.kernels);
    rgm_free(optimizer->squares.sums);
    rgm_arena_release(optimizer->lists);
    rgm_free(optimizer);
}

/* ---- what can be asked --------------------------------------------------------------------- */

double rgm_optimizer_gradient_norm(const rgm_optimizer *optimizer)
{
    return optimizer->gradient_norm;
}

double rgm_optimizer_parameter_norm(const rgm_optimizer *optimizer, int64_t parameter)
{
    return parameter >= 0 && parameter < optimizer->count ? optimizer->entries[parameter].measured
                                                          : 0;
}

bool rgm_optimizer_is_spoiled(const rgm_optimizer *optimizer)
{
    return optimizer->spoiled;
}

double rgm_optimizer_rate(const rgm_optimizer *optimizer, int64_t step)
{
    double rate = rgm_schedule_rate(&optimizer->options.learning_rate, step);

    return optimizer->rate_factor < 1
               ? fmax(rate * optimizer->rate_factor, fmin(rate, optimizer->least_rate))
               : rate;
}

void rgm_optimizer_reduce_rate(rgm_optimizer *optimizer, double factor, double least)
{
    optimizer->rate_factor = factor;
    optimizer->least_rate = least;
}

const rgm_optimizer_options *rgm_optimizer_settings(const rgm_optimizer *optimizer)
{
    return &optimizer->options;
}

rgm_status rgmi_optimizer_check_parameters(const rgm_optimizer *optimizer,
                                           const rgm_parameters *parameters)
{
    if (rgm_parameters_count(parameters) != optimizer->count)
        return RGM_FAIL(RGM_ERR_SHAPE, "%lld parameters, but the optimizer was made for %lld",
                        (long long)rgm_parameters_count(parameters), (long long)optimizer->count);
    for (int64_t i = 0; i < optimizer->count; i++) {
        const rgm_tensor *w = rgm_parameters_form(parameters, i);

        if (rgm_tensor_dtype(w) != optimizer->entries[i].dtype ||
            rgm_tensor_count(w) != optimizer->entries[i].count)
            return RGM_FAIL(RGM_ERR_SHAPE,
                            "parameter '%s' is not the one the optimizer was made for",
                            rgm_parameters_name(parameters, i));
    }
    return RGM_OK;
}

/* ---- slots --------------------------------------------------------------------------------- */

int64_t rgm_optimizer_slot_count(const rgm_optimizer *optimizer)
{
    return optimizer->slot_count;
}

rgm_named_tensor rgm_optimizer_slot(const rgm_optimizer *optimizer, int64_t i)
{
    rgmi_named_slot *slot = &optimizer->slots[i];

    if (slot->value.host != NULL)
        (void)rgm_resident_read(&slot->value); /* what fails leaves NaN */
    return (rgm_named_tensor){slot->name, slot->value.host};
}

rgm_status rgm_optimizer_to_host(const rgm_optimizer *optimizer)
{
    for (int64_t i = 0; i < optimizer->slot_count; i++) {
        rgm_status status = RGM_OK;

        if (optimizer->slots[i].value.host != NULL)
            status = rgm_resident_read(&optimizer->slots[i].value);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "slot '%s'", optimizer->slots[i].name);
    }
    return RGM_OK;
}

rgm_status rgmi_check_same(const char *what, const char *name, const rgm_tensor *a,
                           const rgm_tensor *b)
{
    char x[96], y[96];

    if (rgm_tensor_dtype(a) != rgm_tensor_dtype(b))
        return RGM_FAIL(RGM_ERR_DTYPE, "%s '%s' is %s, but should be %s", what, name,
                        rgm_tensor_describe(a, x, sizeof x), rgm_tensor_describe(b, y, sizeof y));
    if (!rgm_tensor_is_like(a, b))
        return RGM_FAIL(RGM_ERR_SHAPE, "%s '%s' is %s, but should be %s", what, name,
                        rgm_tensor_describe(a, x, sizeof x), rgm_tensor_describe(b, y, sizeof y));
    return RGM_OK;
}

/* Every slot was found, yet the counts differ: name what the file has more. */
static rgm_status name_leftover(const rgm_optimizer *optimizer, const rgm_safetensors *file)
{
    int64_t count = rgm_optimizer_slot_count(optimizer);

    for (int64_t i = 0; i < rgm_safetensors_count(file); i++) {
        const char *name = rgm_safetensors_name(file, i);
        int64_t s = 0;

        while (s < count && strcmp(optimizer->slots[s].name, name) != 0)
            s++;
        if (s == count)
            return RGM_FAIL(RGM_ERR_DATA,
                            "the file has slot '%s', which optimizer %s has not; it was saved with "
                            "another optimizer or model",
                            name, optimizer->options.type->name);
    }
    return RGM_OK;
}

rgm_status rgm_average_look(rgm_tensor **out, const rgm_safetensors *slots, const char *parameter)
{
    rgm_status status;
    char *name;

    *out = NULL;
    if (slots == NULL)
        return RGM_OK;
    RGM_TRY(rgm_strprintf(&name, RGM_AVERAGE_PREFIX "%s", parameter));
    status = rgm_safetensors_look(out, slots, name);
    rgm_free(name);
    if (status != RGM_ERR_NOT_FOUND)
        return status;
    rgm_error_reset(); /* what no optimizer moves has no average */
    return RGM_OK;
}

rgm_status rgm_optimizer_restore(rgm_optimizer *optimizer, const rgm_safetensors *file)
{
    int64_t count = rgm_optimizer_slot_count(optimizer);
    rgm_tensor **loaded = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(loaded, count));
    for (int64_t i = 0; i < count; i++) {
        const rgmi_named_slot *slot = &optimizer->slots[i];

        if (slot->value.host == NULL)
            continue;
        RGM_GO(rgm_safetensors_look(&loaded[i], file, slot->name));
        RGM_GO(rgmi_check_same("the saved slot", slot->name, loaded[i], slot->value.host));
    }
    if (rgm_safetensors_count(file) != count)
        RGM_GO(name_leftover(optimizer, file));
    for (int64_t i = 0; i < count; i++) {
        if (loaded[i] == NULL)
            continue;
        rgm_resident_replace(&optimizer->slots[i].value);
        rgm_tensor_set(optimizer->slots[i].value.host, loaded[i]);
    }
    optimizer->swapped = optimizer->spoiled = false;
done:
    for (int64_t i = 0; loaded != NULL && i < count; i++)
        rgm_tensor_release(loaded[i]);
    rgm_free(loaded);
    return status;
}

/* ---- a part of the parameters --------------------------------------------------------------- */

void rgm_optimizer_take_part(rgm_optimizer *optimizer, const rgm_optimizer_part *part)
{
    optimizer->part = *part;
    optimizer->part.own = NULL;
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];

        e->away = e->moves && !part->own[i];
        for (int64_t s = e->first_slot; e->away && s < e->first_slot + e->slot_count; s++) {
            rgm_resident_release(&optimizer->slots[s].value);
            optimizer->slots[s].value = (rgm_resident){0};
        }
    }
}

int64_t rgm_optimizer_slot_owner(const rgm_optimizer *optimizer, int64_t i)
{
    int64_t parameter = optimizer->slots[i].parameter;
    const rgmi_parameter_share *e = &optimizer->entries[parameter];

    return optimizer->part.exchange != NULL && i < e->first_slot + e->slot_count ? parameter : -1;
}

rgm_status rgm_optimizer_lend_slot(rgm_optimizer *optimizer, int64_t i, const void *elements)
{
    int64_t owner =
        i >= 0 && i < optimizer->slot_count ? rgm_optimizer_slot_owner(optimizer, i) : -1;
    rgmi_named_slot *slot = &optimizer->slots[i];

    if (owner < 0 || !optimizer->entries[owner].away)
        return RGM_FAIL(RGM_ERR_ARG, "slot %lld is no other process's", (long long)i);
    rgm_resident_release(&slot->value);
    if (elements == NULL)
        return RGM_OK;
    RGM_TRY(rgm_tensor_create(&slot->value.host, optimizer->entries[owner].dtype, slot->form.rank,
                              slot->form.shape));
    memcpy(rgm_tensor_data(slot->value.host), elements, rgm_tensor_bytes(slot->value.host));
    return RGM_OK;
}

/*
 * Values of a graph's parameters. Each draws from a stream named after it: adding a parameter
 * changes no other, and shapes that grow keep nothing by accident of order.
 */
#include "autodiff_internal.h"
#include <math.h>
#include <regimen/device_tensor.h>
#include <stdatomic.h>

struct rgm_parameters {
    rgm_map *by_name; /* of values */
    rgm_resident *values;
    rgm_tensor **tensors; /* the hosts' of values */
    rgm_device *device;   /* the last that was given values; NULL: none */
    char **names;
    bool *trainable;
    int64_t count;
    uint64_t version;
    rgm_error fault; /* of a device, that no function with a status has told; status RGM_OK: none */
};

/* No two states of any parameters of the process have the same number. */
static uint64_t new_version(void)
{
    static atomic_uint_fast64_t versions;

    return atomic_fetch_add(&versions, 1) + 1;
}

/* fan_in and fan_out are the last two dims, each as often as there are taps in front of them; a
 * vector has one for both. */
static void fans(double *fan_in, double *fan_out, const rgm_tensor *tensor)
{
    int rank = rgm_tensor_rank(tensor);

    *fan_out = rank > 0 ? (double)rgm_tensor_dim(tensor, -1) : 1;
    *fan_in = rank > 1 ? (double)rgm_tensor_dim(tensor, -2) : *fan_out;
    for (int i = 0; i < rank - 2; i++) {
        *fan_in *= (double)rgm_tensor_dim(tensor, i);
        *fan_out *= (double)rgm_tensor_dim(tensor, i);
    }
}

static double draw(const rgm_rng *rng, int64_t i, rgm_init_kind kind, double scale)
{
    uint64_t at = (uint64_t)i;

    switch (kind) {
    case RGM_INIT_ZEROS:
        return 0;
    case RGM_INIT_ONES:
        return 1;
    case RGM_INIT_GLOROT_UNIFORM:
    case RGM_INIT_UNIFORM:
        return scale * (2 * rgm_rng_f64(rng, at) - 1);
    case RGM_INIT_GLOROT_NORMAL:
    case RGM_INIT_HE_NORMAL:
    case RGM_INIT_NORMAL:
        return scale * rgm_rng_normal(rng, at);
    }
    return 0;
}

static void initialize(rgm_tensor *tensor, const char *name, rgm_init init, uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, name, 0);
    double fan_in, fan_out, scale = init.scale;
    int64_t count = rgm_tensor_count(tensor);

    fans(&fan_in, &fan_out, tensor);
    if (init.kind == RGM_INIT_GLOROT_UNIFORM)
        scale = sqrt(6 / fmax(fan_in + fan_out, 1));
    else if (init.kind == RGM_INIT_GLOROT_NORMAL)
        scale = sqrt(2 / fmax(fan_in + fan_out, 1));
    else if (init.kind == RGM_INIT_HE_NORMAL)
        scale = sqrt(2 / fmax(fan_in, 1));
    for (int64_t i = 0; i < count; i++) {
        double x = draw(&rng, i, init.kind, scale);
        if (rgm_tensor_dtype(tensor) == RGM_F64)
            rgm_tensor_f64(tensor)[i] = x;
        else
            rgm_tensor_f32(tensor)[i] = (float)x;
    }
}

/* Room for so many; *out is to be released also after an error. */
static rgm_status parameters_open(rgm_parameters **out, int64_t count)
{
    rgm_parameters *p;

    RGM_TRY(RGM_NEW(*out, 1));
    p = *out;
    p->version = new_version();
    RGM_TRY(rgm_map_create(&p->by_name));
    RGM_TRY(RGM_NEW(p->values, count));
    RGM_TRY(RGM_NEW(p->tensors, count));
    RGM_TRY(RGM_NEW(p->names, count));
    return RGM_NEW(p->trainable, count);
}

/* Parameter i of a graph, without a tensor. */
static rgm_status name_one(rgm_parameters *p, int64_t i, const rgm_value *v)
{
    p->count = i + 1;
    p->trainable[i] = v->leaf == RGMI_PARAMETER;
    RGM_TRY(rgm_strdup(&p->names[i], v->name));
    return rgm_map_set(p->by_name, v->name, &p->values[i]);
}

rgm_status rgm_parameters_create(rgm_parameters **out, const rgm_cgraph *graph, uint64_t seed)
{
    rgm_status status = RGM_OK;
    rgm_parameters *p = NULL;

    *out = NULL;
    RGM_GO(parameters_open(&p, graph->parameter_count));
    for (int64_t i = 0; i < graph->parameter_count; i++) {
        const rgm_value *v = graph->parameters[i];
        RGM_GO(name_one(p, i, v));
        RGM_GO(rgm_tensor_create(&p->tensors[i], v->s.dtype, v->s.rank, v->s.shape));
        p->values[i].host = p->tensors[i];
        initialize(p->tensors[i], v->name, v->init, seed);
    }
    *out = p;
    p = NULL;
done:
    rgm_parameters_release(p);
    return status;
}

rgm_status rgmi_parameter_fits(const rgm_value *parameter, const rgm_tensor *value)
{
    char want[RGMI_TEXT], got[RGMI_TEXT] = "NULL";
    bool fits = value != NULL && rgm_tensor_dtype(value) == parameter->s.dtype &&
                rgm_tensor_rank(value) == parameter->s.rank;

    for (int i = 0; fits && i < parameter->s.rank; i++)
        fits = rgm_tensor_shape(value)[i] == parameter->s.shape[i];
    if (fits)
        return RGM_OK;
    if (value != NULL)
        (void)rgm_tensor_describe(value, got, sizeof got);
    return RGM_FAIL(RGM_ERR_SHAPE, "parameter '%s' is %s, its value is %s", parameter->name,
                    rgm_value_describe(parameter, want, sizeof want), got);
}

rgm_status rgm_parameters_of(rgm_parameters **out, const rgm_cgraph *graph, rgm_tensor **values)
{
    rgm_status status = RGM_OK;
    rgm_parameters *p = NULL;

    *out = NULL;
    RGM_GO(parameters_open(&p, graph->parameter_count));
    for (int64_t i = 0; i < graph->parameter_count; i++) {
        RGM_GO(rgmi_parameter_fits(graph->parameters[i], values[i]));
        RGM_GO(name_one(p, i, graph->parameters[i]));
    }
    for (int64_t i = 0; i < graph->parameter_count; i++) {
        p->tensors[i] = p->values[i].host = values[i];
        values[i] = NULL;
    }
    *out = p;
    p = NULL;
done:
    rgm_parameters_release(p);
    return status;
}

rgm_status rgm_parameters_copy(rgm_parameters **out, const rgm_parameters *parameters)
{
    rgm_status status = RGM_OK;
    rgm_parameters *p = NULL;

    *out = NULL;
    RGM_TRY(rgm_parameters_to_host(parameters));
    RGM_GO(parameters_open(&p, parameters->count));
    for (int64_t i = 0; i < parameters->count; i++) {
        p->count = i + 1;
        RGM_GO(rgm_strdup(&p->names[i], parameters->names[i]));
        RGM_GO(rgm_tensor_copy(&p->tensors[i], parameters->tensors[i]));
        p->values[i].host = p->tensors[i];
        RGM_GO(rgm_map_set(p->by_name, p->names[i], &p->values[i]));
        p->trainable[i] = parameters->trainable[i];
    }
    *out = p;
    p = NULL;
done:
    rgm_parameters_release(p);
    return status;
}

void rgm_parameters_release(rgm_parameters *parameters)
{
    if (parameters == NULL)
        return;
    for (int64_t i = 0; i < parameters->count; i++) {
        rgm_resident_release(&parameters->values[i]);
        rgm_free(parameters->names[i]);
    }
    rgm_free(parameters->values);
    rgm_free(parameters->tensors);
    rgm_free(parameters->names);
    rgm_free(parameters->trainable);
    rgm_map_release(parameters->by_name);
    rgm_free(parameters);
}

int64_t rgm_parameters_count(const rgm_parameters *parameters)
{
    return parameters->count;
}

const char *rgm_parameters_name(const rgm_parameters *parameters, int64_t i)
{
    return parameters->names[i];
}

/* ---- where values are ----------------------------------------------------------------------- */

int64_t rgm_parameters_number(const rgm_parameters *parameters, const char *name)
{
    const rgm_resident *found = rgm_map_get(parameters->by_name, name);

    return found != NULL ? found - parameters->values : -1;
}

static rgm_status about(rgm_status status, const rgm_parameters *parameters, int64_t i)
{
    return status == RGM_OK ? RGM_OK
                            : rgm_error_prefix(status, "parameter '%s'", parameters->names[i]);
}

/* What fails leaves NaN, and its error to the next function that can tell of it: a device tells of
 * a kernel that failed once. */
static void keep_fault(const rgm_parameters *parameters, int64_t i, rgm_status status)
{
    rgm_parameters *p = (rgm_parameters *)parameters; /* where values are is not what they are */

    if (status != RGM_OK && p->fault.status == RGM_OK)
        rgm_error_save(&p->fault, about(status, parameters, i));
}

static rgm_status tell_fault(const rgm_parameters *parameters)
{
    rgm_parameters *p = (rgm_parameters *)parameters;
    rgm_status status = rgm_error_restore(&p->fault);

    p->fault.status = RGM_OK;
    return status;
}

rgm_tensor *rgm_parameters_tensor(const rgm_parameters *parameters, int64_t i)
{
    keep_fault(parameters, i, rgm_resident_write(&parameters->values[i]));
    return parameters->tensors[i];
}

rgm_tensor *const *rgm_parameters_tensors(const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < parameters->count; i++)
        (void)rgm_parameters_tensor(parameters, i);
    return parameters->tensors;
}

rgm_tensor *rgm_parameters_find(const rgm_parameters *parameters, const char *name)
{
    int64_t i = rgm_parameters_number(parameters, name);

    return i >= 0 ? rgm_parameters_tensor(parameters, i) : NULL;
}

const rgm_tensor *rgm_parameters_read(const rgm_parameters *parameters, int64_t i)
{
    keep_fault(parameters, i, rgm_resident_read(&parameters->values[i]));
    return parameters->tensors[i];
}

const rgm_tensor *rgm_parameters_form(const rgm_parameters *parameters, int64_t i)
{
    return parameters->tensors[i];
}

rgm_status rgm_parameters_to_host(const rgm_parameters *parameters)
{
    RGM_TRY(tell_fault(parameters));
    for (int64_t i = 0; i < parameters->count; i++)
        RGM_TRY(about(rgm_resident_read(&parameters->values[i]), parameters, i));
    return RGM_OK;
}

rgm_status rgm_parameters_on(void **address, const rgm_parameters *parameters, int64_t i,
                             rgm_device *device, bool writes)
{
    rgm_parameters *p = (rgm_parameters *)parameters; /* where values are is not what they are */

    RGM_TRY(tell_fault(p));
    if (!rgm_device_is_host(device))
        p->device = device;
    RGM_TRY(about(rgm_resident_on(address, &p->values[i], device, writes), p, i));
    if (writes)
        p->version = new_version();
    return RGM_OK;
}

rgm_device *rgm_parameters_device(const rgm_parameters *parameters)
{
    return parameters->device != NULL ? parameters->device : rgm_device_cpu();
}

/* ---- what values are ------------------------------------------------------------------------ */

int64_t rgm_parameters_total(const rgm_parameters *parameters)
{
    int64_t total = 0;

    for (int64_t i = 0; i < parameters->count; i++)
        total += rgm_tensor_count(parameters->tensors[i]);
    return total;
}

void rgm_parameters_set(rgm_parameters *parameters, rgm_tensor *const *values)
{
    for (int64_t i = 0; i < parameters->count; i++) {
        if (values[i] == NULL)
            continue;
        rgm_resident_replace(&parameters->values[i]);
        rgm_tensor_set(parameters->tensors[i], values[i]);
    }
    rgm_parameters_touch(parameters);
}

rgm_status rgm_parameters_take(rgm_parameters *parameters, const rgm_parameters *from)
{
    bool same = parameters->count == from->count;

    for (int64_t i = 0; i < parameters->count && same; i++)
        same = strcmp(parameters->names[i], from->names[i]) == 0 &&
               rgm_tensor_is_like(parameters->tensors[i], from->tensors[i]);
    if (!same)
        return RGM_FAIL(RGM_ERR_SHAPE, "the values are those of another graph's parameters");
    RGM_TRY(rgm_parameters_to_host(from));
    rgm_parameters_set(parameters, from->tensors);
    return RGM_OK;
}

void rgm_parameters_touch(rgm_parameters *parameters)
{
    for (int64_t i = 0; i < parameters->count; i++) /* nobody writes to a tensor that is old */
        if (!parameters->values[i].host_is_old)
            parameters->values[i].there_is_old = true;
    parameters->version = new_version();
}

uint64_t rgm_parameters_version(const rgm_parameters *parameters)
{
    return parameters->version;
}

bool rgm_parameters_trainable(const rgm_parameters *parameters, int64_t i)
{
    return parameters->trainable[i];
}

static rgm_status check_update(const rgm_parameters *parameters, const rgm_value *state,
                               const rgm_tensor *next)
{
    int64_t i = rgm_parameters_number(parameters, state->name);
    const rgm_tensor *to = i >= 0 ? rgm_parameters_form(parameters, i) : NULL;
    char want[RGMI_TEXT], got[RGMI_TEXT];

    if (to == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "these parameters were made without '%s'", state->name);
    if (next == NULL || rgm_tensor_dtype(next) != rgm_tensor_dtype(to) ||
        rgm_tensor_count(next) != rgm_tensor_count(to))
        return RGM_FAIL(RGM_ERR_SHAPE, "state '%s' is %s, its next value is %s", state->name,
                        rgm_tensor_describe(to, want, sizeof want),
                        next != NULL ? rgm_tensor_describe(next, got, sizeof got) : "NULL");
    return RGM_OK;
}

/* Where the next value is: on a device a kernel copies. */
static rgm_status update_one(rgm_parameters *parameters, int64_t i, const rgm_tensor *next)
{
    rgm_device *device = rgm_tensor_device(next);
    size_t bytes = rgm_tensor_bytes(next);
    rgm_copy_args copy = {.x = rgm_tensor_data(next), .outer = 1, .size = bytes};

    RGM_TRY(rgm_parameters_on(&copy.y, parameters, i, device != NULL ? device : rgm_device_cpu(),
                              true));
    if (bytes == 0 || copy.y == copy.x) /* `next` may be a view of the state itself */
        return RGM_OK;
    if (device != NULL)
        rgm_kernels_for(device, RGM_F32)->copy(&copy);
    else
        memmove(copy.y, copy.x, bytes);
    return RGM_OK;
}

rgm_status rgm_parameters_update(rgm_parameters *parameters, const rgm_cgraph *graph,
                                 rgm_tensor *const *next)
{
    for (int64_t i = 0; i < graph->update_count; i++)
        RGM_TRY(check_update(parameters, graph->updates[i], next[i]));
    for (int64_t i = 0; i < graph->update_count; i++)
        RGM_TRY(update_one(parameters, rgm_parameters_number(parameters, graph->updates[i]->name),
                           next[i]));
    return RGM_OK;
}

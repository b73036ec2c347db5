/*
 * Element-wise programs become source: a chain of instructions is one kernel. What a kernel is made
 * for is its form: the instructions, and how inputs are read; shapes, strides and constants are its
 * arguments, so that others of the same form compile nothing.
 */
#include "gpu_axes.h"
#include "gpu_walk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum input_kind {
    FULL, /* as y: element i */
    ONE,  /* one number for all */
    STRIDED
};

/* What the source depends on. Compared as bytes: begins as zeros. */
typedef struct map_form {
    int64_t shape[RGM_MAX_RANK], stride[RGM_MAP_INPUTS][RGM_MAX_RANK]; /* zeros unless literal */
    int8_t inputs, steps;
    int8_t rank;  /* axes that are walked, 0: element i of each */
    bool quads;   /* four elements at a time */
    bool is_long; /* places need 64 bits */
    bool literal; /* shape and strides stand in the source: they would be too many arguments */
    uint8_t kind[RGM_MAP_INPUTS];
    uint8_t still[RGM_MAP_INPUTS]; /* bits: axes along which it stands still, 0 the innermost */
    struct {
        uint8_t code;
        int8_t a, b;
    } step[RGM_MAP_STEPS];
} map_form;

/* Never freed: as many as there are forms. */
typedef struct map_program {
    struct map_program *next;
    map_form form;
    rgmi_gpu_kernel kernel;
} map_program;

#define BUCKETS 256
static map_program *programs[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of programs and of their sources */

/* In the order of rgm_map_code: functions of map.dev. */
static const char *const names[RGM_MAP_CODE_COUNT] = {
    [RGM_MAP_NEG] = "neg",
    [RGM_MAP_ABS] = "abs",
    [RGM_MAP_SQUARE] = "square",
    [RGM_MAP_SQRT] = "sqrt",
    [RGM_MAP_RSQRT] = "rsqrt",
    [RGM_MAP_RECIPROCAL] = "reciprocal",
    [RGM_MAP_EXP] = "exp",
    [RGM_MAP_LOG] = "log",
    [RGM_MAP_RELU] = "relu",
    [RGM_MAP_LEAKY_RELU] = "leaky_relu",
    [RGM_MAP_ELU] = "elu",
    [RGM_MAP_SIGMOID] = "sigmoid",
    [RGM_MAP_TANH] = "tanh",
    [RGM_MAP_GELU] = "gelu",
    [RGM_MAP_SIGN] = "sign",
    [RGM_MAP_IS_POSITIVE] = "is_positive",
    [RGM_MAP_GELU_SLOPE] = "gelu_slope",
    [RGM_MAP_SCALE] = "scale",
    [RGM_MAP_SHIFT] = "shift",
    [RGM_MAP_SOFTPLUS] = "softplus",
    [RGM_MAP_FLOOR] = "floor",
    [RGM_MAP_SILU] = "silu",
    [RGM_MAP_SILU_SLOPE] = "silu_slope",
    [RGM_MAP_GELU_TANH] = "gelu_tanh",
    [RGM_MAP_GELU_TANH_SLOPE] = "gelu_tanh_slope",
    [RGM_MAP_ADD] = "add",
    [RGM_MAP_SUB] = "sub",
    [RGM_MAP_MUL] = "mul",
    [RGM_MAP_DIV] = "div",
    [RGM_MAP_MAX] = "max",
    [RGM_MAP_MIN] = "min",
    [RGM_MAP_GREATER] = "greater",
    [RGM_MAP_EQUAL] = "equal",
    [RGM_MAP_RELU_GRAD] = "relu_grad",
    [RGM_MAP_LEAKY_GRAD] = "leaky_grad",
    [RGM_MAP_ELU_GRAD] = "elu_grad",
    [RGM_MAP_SIGMOID_GRAD] = "sigmoid_grad",
    [RGM_MAP_TANH_GRAD] = "tanh_grad",
};

static bool has_constant(int code)
{
    return code == RGM_MAP_SCALE || code == RGM_MAP_SHIFT || code == RGM_MAP_FLOOR ||
           code == RGM_MAP_LEAKY_RELU || code == RGM_MAP_LEAKY_GRAD;
}

/* Whether input k walks along axis n by a number that is an argument: one of quads takes steps of
 * one along the innermost axis. */
static bool has_stride(const map_form *form, int k, int n)
{
    return form->kind[k] == STRIDED && !(form->still[k] >> n & 1) && !(form->quads && n == 0);
}

static bool reads_quads(const map_form *form, int k)
{
    return form->quads &&
           (form->kind[k] == FULL || (form->kind[k] == STRIDED && !(form->still[k] & 1)));
}

/* ---- the source ---------------------------------------------------------------------------- */

typedef struct writer {
    rgm_text text;
    rgm_status status;
} writer;

#define SAY(w, ...)                                                                                \
    do {                                                                                           \
        if ((w)->status == RGM_OK)                                                                 \
            (w)->status = rgm_text_printf(&(w)->text, __VA_ARGS__);                                \
    } while (0)

/* The chain as a function of one element of each input and of the constants. */
static void write_chain(writer *w, const map_form *form)
{
    const char *between = "";

    SAY(w, "\nFUNCTION REAL chain(");
    for (int k = 0; k < form->inputs; k++, between = ", ")
        SAY(w, "%sREAL v%d", between, k);
    for (int s = 0; s < form->steps; s++)
        if (has_constant(form->step[s].code))
            SAY(w, ", REAL c%d", s);
    SAY(w, ")\n{\n");
    for (int s = 0; s < form->steps; s++) {
        SAY(w, "    REAL v%d = map_%s(v%d, v%d, ", form->inputs + s, names[form->step[s].code],
            form->step[s].a, form->step[s].b);
        if (has_constant(form->step[s].code))
            SAY(w, "c%d);\n", s);
        else
            SAY(w, "0);\n");
    }
    SAY(w, "    return v%d;\n}\n\n", form->inputs + form->steps - 1);
}

static void write_head(writer *w, const map_form *form)
{
    SAY(w, "typedef %s PLACE;\nKERNEL void map(FLAG, MEMORY(y), long count",
        form->is_long ? "long" : "uint");
    for (int k = 0; k < form->inputs; k++)
        SAY(w, ", MEMORY(x%d)", k);
    for (int s = 0; s < form->steps; s++)
        if (has_constant(form->step[s].code))
            SAY(w, ", REAL c%d", s);
    for (int n = 0; n + 1 < form->rank && !form->literal; n++)
        SAY(w, ", long n%d", n);
    for (int k = 0; k < form->inputs && !form->literal; k++)
        for (int n = 0; n < form->rank; n++)
            if (has_stride(form, k, n))
                SAY(w, ", long s%d_%d", k, n);
    SAY(w, ")\n{\n    STOP_IF_RAISED;\n");
    for (int n = 0; n + 1 < form->rank && form->literal; n++)
        SAY(w, "    const long n%d = %lldL;\n", n, (long long)form->shape[n]);
    for (int k = 0; k < form->inputs && form->literal; k++)
        for (int n = 0; n < form->rank; n++)
            if (has_stride(form, k, n))
                SAY(w, "    const long s%d_%d = %lldL;\n", k, n, (long long)form->stride[k][n]);
    for (int k = 0; k < form->inputs; k++)
        if (form->kind[k] == ONE)
            SAY(w, "    REAL x%d = AT(const REAL, x%d)[0];\n", k, k);
}

/* Places o<k> of the strided inputs for element (or quad) i. */
static void write_places(writer *w, const map_form *form)
{
    if (form->rank == 0)
        return;
    SAY(w, "        PLACE rest = (PLACE)i, at;\n");
    for (int k = 0; k < form->inputs; k++)
        if (form->kind[k] == STRIDED)
            SAY(w, "        PLACE o%d = 0;\n", k);
    for (int n = 0; n < form->rank; n++) {
        if (n + 1 < form->rank)
            SAY(w, "        at = rest %% (PLACE)n%d;\n        rest /= (PLACE)n%d;\n", n, n);
        else
            SAY(w, "        at = rest;\n");
        for (int k = 0; k < form->inputs; k++)
            if (has_stride(form, k, n))
                SAY(w, "        o%d += at * (PLACE)s%d_%d;\n", k, k, n);
            else if (form->kind[k] == STRIDED && !(form->still[k] >> n & 1))
                SAY(w, "        o%d += at;\n", k);
    }
}

/* The chain of element `i`, or of one component of a quad. */
static void write_call(writer *w, const map_form *form, const char *i, const char *component)
{
    const char *between = "";

    SAY(w, "chain(");
    for (int k = 0; k < form->inputs; k++, between = ", ")
        if (form->kind[k] == ONE || (form->quads && *component != 0 && !reads_quads(form, k)))
            SAY(w, "%sx%d", between, k);
        else if (*component != 0)
            SAY(w, "%sx%d%s", between, k, component);
        else if (form->kind[k] == FULL)
            SAY(w, "%sAT(const REAL, x%d)[%s]", between, k, i);
        else
            SAY(w, "%sAT(const REAL, x%d)[o%d]", between, k, k);
    for (int s = 0; s < form->steps; s++)
        if (has_constant(form->step[s].code))
            SAY(w, ", c%d", s);
    SAY(w, ");\n");
}

static void write_quads(writer *w, const map_form *form)
{
    static const char *const components[] = {".x", ".y", ".z", ".w"};

    SAY(w, "    for (long i = GROUP * LANES + LANE; i < count / 4; i += GROUPS * LANES) {\n"
           "        QUAD y;\n");
    write_places(w, form);
    for (int k = 0; k < form->inputs; k++)
        if (form->kind[k] == FULL)
            SAY(w, "        QUAD x%d = AT(const QUAD, x%d)[i];\n", k, k);
        else if (form->kind[k] == STRIDED)
            SAY(w, "        %s x%d = AT(const %s, x%d)[o%d];\n",
                reads_quads(form, k) ? "QUAD" : "REAL", k, reads_quads(form, k) ? "QUAD" : "REAL",
                k, k);
    for (int c = 0; c < 4; c++) {
        SAY(w, "        y%s = ", components[c]);
        write_call(w, form, "", components[c]);
    }
    SAY(w, "        AT(QUAD, y)[i] = y;\n    }\n");
    if (form->rank == 0) {
        SAY(w, "    long tail = count / 4 * 4 + GROUP * LANES + LANE;\n"
               "    if (tail < count)\n        AT(REAL, y)[tail] = ");
        write_call(w, form, "tail", "");
    }
    SAY(w, "}\n");
}

static void write_source(writer *w, const map_form *form)
{
    extern const rgmi_gpu_source rgmi_gpu_source_map;

    SAY(w, "%s", rgmi_gpu_source_map.text);
    write_chain(w, form);
    write_head(w, form);
    if (form->quads) {
        write_quads(w, form);
        return;
    }
    SAY(w, "    for (long i = GROUP * LANES + LANE; i < count; i += GROUPS * LANES) {\n");
    write_places(w, form);
    SAY(w, "        AT(REAL, y)[i] = ");
    write_call(w, form, "i", "");
    SAY(w, "    }\n}\n");
}

/* ---- the form ------------------------------------------------------------------------------ */

static enum input_kind kind_of(const rgmi_gpu_axes *axes, int k)
{
    int64_t step = 1;
    bool one = true, full = true;

    for (int axis = axes->rank - 1; axis >= 0; axis--) {
        one &= axes->stride[k][axis] == 0;
        full &= axes->stride[k][axis] == step;
        step *= axes->shape[axis];
    }
    return one ? ONE : full ? FULL : STRIDED;
}

/* Whether every input gives four elements at a time, or one for all four. */
static bool takes_quads(const map_form *form, const rgmi_gpu_axes *axes, const rgm_map_args *o,
                        rgm_dtype real)
{
    int last = axes->rank - 1;

    if (!rgmi_gpu_is_aligned(real, o->y, NULL, NULL) ||
        (form->rank > 0 && axes->shape[last] % 4 != 0))
        return false;
    for (int k = 0; k < o->inputs; k++) {
        if (form->kind[k] == ONE || (form->kind[k] == STRIDED && axes->stride[k][last] == 0))
            continue;
        if (!rgmi_gpu_is_aligned(real, o->input[k], NULL, NULL) || axes->stride[k][last] != 1)
            return false;
        for (int axis = 0; axis < last && form->kind[k] == STRIDED; axis++)
            if (axes->stride[k][axis] % 4 != 0)
                return false;
    }
    return true;
}

static bool needs_long(const map_form *form, const rgmi_gpu_axes *axes)
{
    if (form->rank == 0)
        return false;
    for (int k = 0; k < form->inputs; k++) {
        int64_t last = 0;
        for (int axis = 0; axis < axes->rank; axis++)
            last += (axes->shape[axis] - 1) * axes->stride[k][axis];
        if (last > INT32_MAX)
            return true;
    }
    return rgmi_gpu_axes_count(axes) > INT32_MAX;
}

/* What is asked for: the form, and the shape and strides in its units, the innermost axis first. */
typedef struct map_request {
    map_form form;
    int64_t count, shape[RGM_MAX_RANK], stride[RGM_MAP_INPUTS][RGM_MAX_RANK];
} map_request;

static void describe(map_request *out, const rgm_map_args *o, rgm_dtype real)
{
    map_form *form = &out->form;
    rgmi_gpu_axes axes = {.rank = o->rank, .sets = o->inputs};

    memset(out, 0, sizeof *out);
    memcpy(axes.shape, o->shape, sizeof axes.shape);
    memcpy(axes.stride, o->stride, sizeof axes.stride);
    out->count = rgmi_gpu_axes_count(&axes);
    rgmi_gpu_axes_merge(&axes);
    form->inputs = (int8_t)o->inputs;
    form->steps = (int8_t)o->steps;
    for (int s = 0; s < o->steps; s++) {
        form->step[s].code = (uint8_t)o->step[s].code;
        form->step[s].a = o->step[s].a;
        form->step[s].b = o->step[s].code < RGM_MAP_ADD ? o->step[s].a : o->step[s].b;
    }
    for (int k = 0; k < o->inputs; k++) {
        form->kind[k] = (uint8_t)kind_of(&axes, k);
        form->rank = form->kind[k] == STRIDED ? (int8_t)axes.rank : form->rank;
    }
    form->quads = takes_quads(form, &axes, o, real);
    form->is_long = needs_long(form, &axes);
    for (int n = 0; n < form->rank; n++) {
        int axis = axes.rank - 1 - n;
        out->shape[n] = axes.shape[axis] / (form->quads && n == 0 ? 4 : 1);
        for (int k = 0; k < o->inputs; k++)
            if (form->kind[k] == STRIDED && axes.stride[k][axis] == 0)
                form->still[k] |= (uint8_t)(1 << n);
    }
    for (int k = 0; k < o->inputs; k++)
        for (int n = 0; n < form->rank; n++)
            if (has_stride(form, k, n))
                out->stride[k][n] =
                    axes.stride[k][axes.rank - 1 - n] / (reads_quads(form, k) ? 4 : 1);
}

/* ---- the program --------------------------------------------------------------------------- */

static int arguments_of(rgm_argument *arguments, const map_request *request, const rgm_map_args *o)
{
    const map_form *form = &request->form;
    int count = 2;

    arguments[0] = rgm_memory(o->y);
    arguments[1] = rgm_integer(request->count);
    for (int k = 0; k < o->inputs; k++)
        arguments[count++] = rgm_memory(o->input[k]);
    for (int s = 0; s < o->steps; s++)
        if (has_constant(form->step[s].code))
            arguments[count++] = rgm_real(o->step[s].constant);
    for (int n = 0; n + 1 < form->rank && !form->literal; n++)
        arguments[count++] = rgm_integer(request->shape[n]);
    for (int k = 0; k < o->inputs && !form->literal; k++)
        for (int n = 0; n < form->rank; n++)
            if (has_stride(form, k, n))
                arguments[count++] = rgm_integer(request->stride[k][n]);
    return count;
}

static map_program *program_of(const map_form *form)
{
    map_program **bucket = &programs[rgm_hash64(form, sizeof *form) % BUCKETS], *program;

    for (program = *bucket; program != NULL; program = program->next)
        if (memcmp(&program->form, form, sizeof *form) == 0)
            return program;
    program = calloc(1, sizeof *program); /* not rgm_malloc(): a cache is no leak */
    if (program == NULL)
        return NULL;
    memcpy(&program->form, form, sizeof *form); /* its padding too */
    program->kernel.name = "map";
    program->next = *bucket;
    return *bucket = program;
}

static bool is_compiled(const map_program *program, rgm_dtype real)
{
    int slot = real == RGM_F64;

    return program->kernel.ready[slot].kernel != NULL &&
           program->kernel.ready[slot].opened == rgm_device_opened(rgmi_gpu_device());
}

void rgmi_gpu_map(rgm_dtype real, const rgm_map_args *args)
{
    enum { MOST = 2 + RGM_MAP_INPUTS + RGM_MAP_STEPS + RGM_MAX_RANK * (1 + RGM_MAP_INPUTS) };
    rgm_argument arguments[MOST];
    rgmi_gpu_source source = {.name = "map"};
    writer w = {.status = RGM_OK};
    map_request request;
    map_program *program;
    int count;

    describe(&request, args, real);
    if (request.count == 0)
        return;
    count = arguments_of(arguments, &request, args);
    if (count > RGM_ARGUMENTS) {
        request.form.literal = true;
        memcpy(request.form.shape, request.shape, sizeof request.shape);
        memcpy(request.form.stride, request.stride, sizeof request.stride);
        count = arguments_of(arguments, &request, args);
    }
    pthread_mutex_lock(&lock);
    program = program_of(&request.form);
    if (program == NULL)
        w.status = RGM_FAIL(RGM_ERR_NOMEM, "out of memory: an element-wise program");
    else if (!is_compiled(program, real))
        write_source(&w, &request.form);
    if (w.status != RGM_OK) {
        rgm_device_fault(rgmi_gpu_device(), w.status);
    } else {
        source.text = w.text.data;
        program->kernel.source = &source;
        rgmi_gpu_launch(
            &program->kernel, real,
            rgmi_gpu_groups(rgmi_blocks(request.count, request.form.quads ? 4 : 1), 256), 256,
            arguments, count);
        program->kernel.source = NULL;
    }
    pthread_mutex_unlock(&lock);
    rgm_text_clear(&w.text);
}

/*
 * What a run reports about its layers beside metrics: norms of gradients and weights, and
 * floating-point operations. Numbers that are added up from step to step are in the sums of the
 * loop, so that an interrupted run reports the same numbers.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

/* In the sums: number of steps, their operations; number of updates, their norms of all gradients,
 * their norms by layer. */
enum { STEPS, FLOPS, UPDATES, NORM, LAYERS };

static bool reports(const rgm_trainer *trainer)
{
    return trainer->options.norms || trainer->options.flops;
}

int64_t rgmi_report_size(const rgm_trainer *trainer)
{
    return reports(trainer) ? LAYERS + trainer->layers.count : 0;
}

/* ---- layers -------------------------------------------------------------------------------- */

/* All of a name without '/'. */
static size_t layer_size(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL ? (size_t)(slash - name) : strlen(name);
}

int64_t rgmi_layers_find(const rgmi_layers *layers, const char *name, size_t size)
{
    for (int64_t i = 0; i < layers->count; i++)
        if (strlen(layers->names[i]) == size && memcmp(layers->names[i], name, size) == 0)
            return i;
    return -1;
}

rgm_status rgmi_layers_open(rgmi_layers *layers, const rgm_cgraph *graph)
{
    int64_t count = rgm_cgraph_parameter_count(graph);

    RGM_TRY(RGM_NEW(layers->names, count));
    RGM_TRY(RGM_NEW(layers->of, count));
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_value_name(rgm_cgraph_parameter(graph, i));
        size_t size = layer_size(name);

        layers->of[i] = rgmi_layers_find(layers, name, size);
        if (layers->of[i] >= 0)
            continue;
        RGM_TRY(rgm_strndup(&layers->names[layers->count], name, size));
        layers->of[i] = layers->count++;
    }
    return RGM_OK;
}

rgm_status rgmi_report_open(rgm_trainer *trainer)
{
    return reports(trainer) ? rgmi_layers_open(&trainer->layers, trainer->graph) : RGM_OK;
}

void rgmi_layers_close(rgmi_layers *layers)
{
    for (int64_t i = 0; i < layers->count; i++)
        rgm_free(layers->names[i]);
    rgm_free(layers->names);
    rgm_free(layers->of);
}

/* ---- a loop's numbers ---------------------------------------------------------------------- */

static double square(double x)
{
    return x * x;
}

/* sum += the norm of each layer's gradients in the last update. */
static void add_gradients(double *report, const rgm_trainer *trainer)
{
    const rgmi_layers *layers = &trainer->layers;

    report[UPDATES]++;
    report[NORM] += rgm_optimizer_gradient_norm(trainer->optimizer);
    for (int64_t k = 0; k < layers->count; k++) {
        double squares = 0;

        for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
            if (layers->of[i] == k)
                squares += square(rgm_optimizer_parameter_norm(trainer->optimizer, i));
        report[LAYERS + k] += sqrt(squares);
    }
}

void rgmi_report_add(rgm_trainer *trainer, int64_t updates)
{
    double *report = trainer->train_sums.report;

    if (report == NULL)
        return;
    report[STEPS]++;
    report[FLOPS] += (double)trainer->step_flops;
    if (trainer->options.norms && trainer->optimizer != NULL && trainer->updates > updates)
        add_gradients(report, trainer);
}

double rgm_trainer_loop_flops(const rgm_trainer *trainer)
{
    return trainer->train_sums.report != NULL ? trainer->train_sums.report[FLOPS] : 0;
}

/* Of the trained weights of a layer; -1: of all layers. */
static double weight_squares(const rgm_trainer *trainer, int64_t layer)
{
    double squares = 0;

    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        const rgm_tensor *w = rgm_parameters_read(trainer->parameters, i);
        const rgm_kernels *kernels = rgm_kernels_for(rgm_device_cpu(), rgm_tensor_dtype(w));

        if (rgm_parameters_trainable(trainer->parameters, i) &&
            (layer < 0 || trainer->layers.of[i] == layer))
            squares +=
                kernels->sum_of_squares(&(rgm_flat_args){rgm_tensor_data(w), rgm_tensor_count(w)});
    }
    return squares;
}

/* A '/' in the name of a number would make a folder of event files for each layer. */
static rgm_status set_of_layer(rgm_logs *logs, const char *what, const char *layer, double value)
{
    char *name = NULL;
    rgm_status status;

    RGM_TRY(rgm_strprintf(&name, "%s.%s", what, layer));
    for (char *c = name; *c != '\0'; c++)
        if (*c == '/')
            *c = '.';
    status = rgm_logs_set(logs, name, value);
    rgm_free(name);
    return status;
}

static rgm_status finish_norms(rgm_logs *logs, const rgm_trainer *trainer)
{
    const rgmi_layers *layers = &trainer->layers;
    const double *report = trainer->train_sums.report;
    double updates = report[UPDATES];

    RGM_TRY(rgm_parameters_to_host(trainer->parameters));
    if (updates > 0)
        RGM_TRY(rgm_logs_set(logs, "gradient_norm", report[NORM] / updates));
    RGM_TRY(rgm_logs_set(logs, "weight_norm", sqrt(weight_squares(trainer, -1))));
    for (int64_t k = 0; k < layers->count; k++) {
        if (updates > 0)
            RGM_TRY(set_of_layer(logs, "gradient_norm", layers->names[k],
                                 report[LAYERS + k] / updates));
        RGM_TRY(
            set_of_layer(logs, "weight_norm", layers->names[k], sqrt(weight_squares(trainer, k))));
    }
    return RGM_OK;
}

rgm_status rgmi_report_finish(rgm_logs *logs, const rgm_trainer *trainer)
{
    const double *report = trainer->train_sums.report;

    if (report == NULL)
        return RGM_OK;
    if (report[FLOPS] > 0) /* zero for a task with its own steps */
        RGM_TRY(rgm_logs_set(logs, "flops_per_step", report[FLOPS] / report[STEPS]));
    return trainer->options.norms ? finish_norms(logs, trainer) : RGM_OK;
}

/* ---- the table by layer -------------------------------------------------------------------- */

/* Operations by layer; the last row has the ops that are in no layer with parameters. */
typedef struct table {
    const rgmi_layers *layers;
    int64_t *flops; /* [layers + 1] */
} table;

static void add_op(const rgm_op_event *event, void *payload)
{
    table *t = payload;
    int64_t at = -1;

    if (event->scope != NULL)
        at = rgmi_layers_find(t->layers, event->scope, strlen(event->scope));
    t->flops[at >= 0 ? at : t->layers->count] += event->flops;
}

rgm_status rgm_trainer_describe_layers(rgm_text *out, const rgm_trainer *trainer)
{
    const rgmi_layers *layers = &trainer->layers;
    table t = {.layers = layers};
    rgm_status status = RGM_OK;

    if (trainer->train_run == NULL || !trainer->options.flops)
        return RGM_OK;
    RGM_TRY(RGM_NEW(t.flops, layers->count + 1));
    rgm_executor_visit(trainer->train_run, add_op, &t);
    RGM_GO(rgm_text_printf(out, "%14s %18s  of one batch, forward and backward\n", "parameters",
                           "FLOPs"));
    for (int64_t k = 0; k <= layers->count; k++) {
        int64_t elements = 0;

        for (int64_t i = 0; k < layers->count && i < rgm_parameters_count(trainer->parameters); i++)
            if (layers->of[i] == k)
                elements += rgm_tensor_count(rgm_parameters_form(trainer->parameters, i));
        RGM_GO(rgm_text_printf(out, "%14lld %18lld  %s\n", (long long)elements,
                               (long long)t.flops[k],
                               k < layers->count ? layers->names[k] : "all else"));
    }
done:
    rgm_free(t.flops);
    return status;
}

/*
 * Describes a model in one JSON object, for people and programs that look at a run: its layers with
 * their parameters and inputs, and the floating-point operations of a batch.
 */
#include <string.h>

#include "trainer_internal.h"

/* What is known about a layer. */
typedef struct layer {
    const char *kind;   /* op that takes its parameters; NULL: unknown */
    int taken;          /* how many of them that op takes              */
    int64_t parameters; /* elements */
    int64_t ops, flops; /* in its scope, in the last run of a batch */
    bool *inputs;       /* [layers]: what feeds it */
    int64_t place;      /* in the order of their first ops, from 1; 0: not reached yet */
} layer;

typedef struct description {
    const rgm_trainer *trainer;
    rgmi_layers layers;
    layer *list; /* [layers] */
    bool *reach; /* [values][layers]: whether the layer is a nearest source of the value */
    int64_t values, reached; /* reached: layers so far */
    int64_t forward, step;
} description;

/* ---- what feeds what ----------------------------------------------------------------------- */

/* The layer of a scope, which may be some levels above it; -1: none. */
static int64_t layer_of(const rgmi_layers *layers, const char *scope)
{
    size_t size = scope != NULL ? strlen(scope) : 0;

    while (size > 0) {
        int64_t at = rgmi_layers_find(layers, scope, size);

        if (at >= 0)
            return at;
        while (size > 0 && scope[--size] != '/')
            continue;
    }
    return -1;
}

/* A value of layer `at` reads `input`: the layers that `input` comes from feed the layer, except
 * those that begin after it, since a table that is read at both ends would then feed itself in a
 * circle. */
static void note_input(description *d, int64_t at, const rgm_value *input)
{
    const bool *from = d->reach + rgm_value_number(input) * d->layers.count;

    for (int64_t k = 0; k < d->layers.count; k++)
        if (from[k] && d->list[k].place < d->list[at].place)
            d->list[at].inputs[k] = true;
}

/* The layer of an op that reads a parameter is the parameter's, whatever the op's scope: a norm's
 * or a table's op is built where it is used. */
static int64_t layer_of_value(const description *d, const rgm_value *value)
{
    for (int i = 0; i < rgm_value_input_count(value); i++) {
        const rgm_value *input = rgm_value_input(value, i);

        if (rgm_value_is_parameter(input))
            return layer_of(&d->layers, rgm_value_name(input));
    }
    return rgm_value_op(value) != NULL ? layer_of(&d->layers, rgm_value_scope(value)) : -1;
}

/* Whether an op without parameters reads a layer that began after its own: the activation behind a
 * norm that stands inside a convolution. It then only passes on what it reads; taken for the
 * convolution, it would hide the norm from whatever follows. */
static bool only_passes(const description *d, int64_t at, const rgm_value *value)
{
    for (int i = 0; i < rgm_value_input_count(value); i++) {
        const rgm_value *input = rgm_value_input(value, i);
        const bool *from = d->reach + rgm_value_number(input) * d->layers.count;

        if (rgm_value_is_parameter(input))
            return false;
        for (int64_t k = 0; k < d->layers.count; k++)
            if (from[k] && d->list[k].place > d->list[at].place)
                return true;
    }
    return false;
}

static void note_value(description *d, const rgm_value *value)
{
    bool *reach = d->reach + rgm_value_number(value) * d->layers.count;
    int64_t at = layer_of_value(d, value);

    if (at >= 0 && d->list[at].place > 0 && only_passes(d, at, value))
        at = -1;
    if (at >= 0 && d->list[at].place == 0)
        d->list[at].place = ++d->reached;
    for (int i = 0; i < rgm_value_input_count(value); i++) {
        const rgm_value *input = rgm_value_input(value, i);
        const bool *from = d->reach + rgm_value_number(input) * d->layers.count;

        if (at >= 0)
            note_input(d, at, input);
        for (int64_t k = 0; at < 0 && k < d->layers.count; k++)
            reach[k] |= from[k];
    }
    if (at >= 0)
        reach[at] = true;
}

/* The op that combines a layer's parameters with something else: the first of those that take most
 * of them, as a norm in validation multiplies by one parameter at a time. Not the square of one,
 * which belongs to a penalty. */
static void note_kind(description *d, const rgm_value *value)
{
    int64_t at = layer_of_value(d, value);
    int taken = 0;

    for (int i = 0; i < rgm_value_input_count(value); i++) {
        const rgm_value *input = rgm_value_input(value, i);

        taken += rgm_value_is_parameter(input) && layer_of(&d->layers, rgm_value_name(input)) == at;
    }
    if (at < 0 || taken == rgm_value_input_count(value) || taken <= d->list[at].taken)
        return;
    d->list[at].taken = taken;
    d->list[at].kind = rgm_value_op(value)->name;
}

static rgm_status find_links(description *d)
{
    const rgm_cgraph *graph = d->trainer->graph;

    d->values = rgm_cgraph_forward_count(graph);
    RGM_TRY(RGM_NEW(d->reach, d->values * d->layers.count));
    for (int64_t i = 0; i < d->values; i++) {
        note_value(d, rgm_cgraph_value(graph, i));
        note_kind(d, rgm_cgraph_value(graph, i));
    }
    return RGM_OK;
}

static void add_op(const rgm_op_event *event, void *payload)
{
    description *d = payload;
    int64_t at = layer_of(&d->layers, event->scope);

    d->step += event->flops;
    if (!event->backward)
        d->forward += event->flops;
    if (at < 0)
        return;
    d->list[at].ops++;
    d->list[at].flops += event->flops;
}

static rgm_status describe(description *d, const rgm_trainer *trainer)
{
    d->trainer = trainer;
    RGM_TRY(rgmi_layers_open(&d->layers, trainer->graph));
    RGM_TRY(RGM_NEW(d->list, d->layers.count));
    for (int64_t k = 0; k < d->layers.count; k++)
        RGM_TRY(RGM_NEW(d->list[k].inputs, d->layers.count));
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        d->list[d->layers.of[i]].parameters +=
            rgm_tensor_count(rgm_parameters_form(trainer->parameters, i));
    RGM_TRY(find_links(d));
    if (trainer->train_run != NULL)
        rgm_executor_visit(trainer->train_run, add_op, d);
    return RGM_OK;
}

static void description_clear(description *d)
{
    for (int64_t k = 0; d->list != NULL && k < d->layers.count; k++)
        rgm_free(d->list[k].inputs);
    rgm_free(d->list);
    rgm_free(d->reach);
    rgmi_layers_close(&d->layers);
}

/* ---- as JSON ------------------------------------------------------------------------------- */

static rgm_status print_tensor(rgm_text *out, const rgm_parameters *parameters, int64_t i)
{
    const rgm_tensor *tensor = rgm_parameters_form(parameters, i);

    RGM_TRY(rgm_text_printf(out, "{\"name\": "));
    RGM_TRY(rgm_json_print_text(out, rgm_parameters_name(parameters, i)));
    RGM_TRY(rgm_text_printf(out, ", \"shape\": ["));
    for (int k = 0; k < rgm_tensor_rank(tensor); k++)
        RGM_TRY(rgm_text_printf(out, "%s%lld", k > 0 ? ", " : "",
                                (long long)rgm_tensor_dim(tensor, k)));
    return rgm_text_printf(out, "], \"count\": %lld, \"trainable\": %s}",
                           (long long)rgm_tensor_count(tensor),
                           rgm_parameters_trainable(parameters, i) ? "true" : "false");
}

/* A number of operations, or null if no run has counted it, because no op is in the layer's scope,
 * as for a norm. */
static rgm_status print_flops(rgm_text *out, bool known, int64_t flops)
{
    return known ? rgm_text_printf(out, "%lld", (long long)flops) : rgm_text_printf(out, "null");
}

static rgm_status print_layer(rgm_text *out, const description *d, int64_t at, bool known)
{
    const layer *l = &d->list[at];
    const rgm_parameters *parameters = d->trainer->parameters;
    const char *comma = "";

    RGM_TRY(rgm_text_printf(out, "    {\"name\": "));
    RGM_TRY(rgm_json_print_text(out, d->layers.names[at]));
    RGM_TRY(rgm_text_printf(out, ", \"kind\": "));
    RGM_TRY(l->kind != NULL ? rgm_json_print_text(out, l->kind) : rgm_text_printf(out, "null"));
    RGM_TRY(rgm_text_printf(out, ", \"parameters\": %lld, \"flops\": ", (long long)l->parameters));
    RGM_TRY(print_flops(out, known && l->ops > 0, l->flops));
    RGM_TRY(rgm_text_printf(out, ", \"inputs\": ["));
    for (int64_t k = 0; k < d->layers.count; k++) {
        if (!l->inputs[k])
            continue;
        RGM_TRY(rgm_text_printf(out, "%s", comma));
        RGM_TRY(rgm_json_print_text(out, d->layers.names[k]));
        comma = ", ";
    }
    RGM_TRY(rgm_text_printf(out, "], \"tensors\": ["));
    comma = "";
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        if (d->layers.of[i] != at)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s", comma));
        RGM_TRY(print_tensor(out, parameters, i));
        comma = ", ";
    }
    return rgm_text_printf(out, "]}");
}

static rgm_status print(rgm_text *out, const description *d, const char *batch)
{
    const rgm_parameters *parameters = d->trainer->parameters;
    bool known = batch != NULL && d->step > 0;
    int64_t trained = 0;

    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
        if (rgm_parameters_trainable(parameters, i))
            trained += rgm_tensor_count(rgm_parameters_form(parameters, i));
    RGM_TRY(rgm_text_printf(out,
                            "{\n  \"parameters\": %lld,\n  \"trainable\": %lld,\n  \"flops\": ",
                            (long long)rgm_parameters_total(parameters), (long long)trained));
    if (known)
        RGM_TRY(rgm_text_printf(out, "{\"forward\": %lld, \"step\": %lld, \"batch\": %s}",
                                (long long)d->forward, (long long)d->step, batch));
    else
        RGM_TRY(rgm_text_printf(out, "null"));
    RGM_TRY(rgm_text_printf(out, ",\n  \"layers\": ["));
    for (int64_t k = 0; k < d->layers.count; k++) {
        RGM_TRY(rgm_text_printf(out, "%s\n", k > 0 ? "," : ""));
        RGM_TRY(print_layer(out, d, k, known));
    }
    return rgm_text_printf(out, "\n  ]\n}\n");
}

rgm_status rgm_trainer_describe_model(rgm_text *out, const rgm_trainer *trainer, const char *batch)
{
    description d = {0};
    rgm_status status = describe(&d, trainer);

    if (status == RGM_OK)
        status = print(out, &d, batch);
    description_clear(&d);
    return status;
}

/* Rows, columns, entries. */
static rgm_status print_pattern(rgm_text *out, const rgm_pattern *pattern)
{
    const rgm_csr *rows = rgm_pattern_by_row(pattern);

    return rgm_text_printf(out, "%lld, %lld, %lld", (long long)rows->rows, (long long)rows->columns,
                           (long long)rows->count);
}

rgm_status rgmi_describe_batch(rgm_text *out, const rgm_feed *feeds, int64_t count)
{
    out->size = 0;
    RGM_TRY(rgm_text_printf(out, "{\"inputs\": {"));
    for (int64_t i = 0; i < count; i++) {
        const rgm_feed *feed = &feeds[i];

        RGM_TRY(rgm_text_printf(out, "%s", i > 0 ? ", " : ""));
        RGM_TRY(rgm_json_print_text(out, rgm_value_name(feed->input)));
        RGM_TRY(rgm_text_printf(out, ": ["));
        for (int k = 0; feed->tensor != NULL && k < rgm_tensor_rank(feed->tensor); k++)
            RGM_TRY(rgm_text_printf(out, "%s%lld", k > 0 ? ", " : "",
                                    (long long)rgm_tensor_dim(feed->tensor, k)));
        if (feed->tensor == NULL && feed->pattern != NULL)
            RGM_TRY(print_pattern(out, feed->pattern));
        RGM_TRY(rgm_text_printf(out, "]"));
    }
    return rgm_text_printf(out, "}}");
}

/*
 * Optimizer options from the experiment file: `learning_rate` is a number or a schedule, the other
 * keys are those of the type's table.
 */
#include "optim_internal.h"

#include <string.h>

/* ---- reading ------------------------------------------------------------------------------- */

/* "cosin" is one of `names`, or what it should have been; `what` is "schedule". */
static rgm_status unknown_name(const rgm_yaml_node *node, const char *what,
                               const char *const *names, int64_t count)
{
    return rgm_yaml_fail(node, "unknown %s '%.60s'%s", what, node->text,
                         rgm_did_you_mean(node->text, names, count, NULL, "there are ").text);
}

static rgm_status read_schedule_type(const rgm_schedule_type **out, const rgm_yaml_node *map)
{
    const rgm_yaml_node *node = rgm_yaml_find(map, "type");
    const char *names[16];
    int64_t count;
    const rgm_schedule_type *const *types = rgm_schedule_types(&count);

    *out = rgm_schedule_find("constant");
    if (node == NULL)
        return RGM_OK;
    if (node->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "'optimizer.learning_rate.type' should be a name");
    *out = rgm_schedule_find(node->text);
    if (*out != NULL)
        return RGM_OK;
    for (int64_t i = 0; i < count && i < 16; i++)
        names[i] = types[i]->name;
    return unknown_name(node, "schedule", names, count);
}

static rgm_status read_schedule(rgm_schedule *schedule, const rgm_yaml_node *node, rgm_arena *arena)
{
    static const char *const also[] = {"type", NULL};
    const rgm_schedule_type *type = NULL;

    if (node->kind == RGM_YAML_SCALAR) {
        RGM_TRY(rgm_yaml_float(&schedule->initial, node));
        if (schedule->initial < 0)
            return rgm_yaml_fail(node, "'learning_rate' is %s, but must be at least 0", node->text);
        return RGM_OK;
    }
    if (node->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(node, "'learning_rate' should be a number or a map with 'type'");
    RGM_TRY(read_schedule_type(&type, node));
    *schedule = rgm_schedule_default(type, schedule->initial);
    return rgm_options_read(schedule, type->fields, node, "optimizer.learning_rate", also, arena);
}

static rgm_status read_type(const rgm_optimizer_type **out, const rgm_yaml_node *map)
{
    const rgm_yaml_node *node = rgm_yaml_find(map, "type");
    const char *names[16];
    int64_t count;
    const rgm_optimizer_type *const *types = rgm_optimizer_types(&count);

    if (node == NULL)
        return rgm_yaml_fail(map, "'optimizer' has no 'type' (adam, sgd, ...)");
    if (node->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "'optimizer.type' should be a name");
    *out = rgm_optimizer_find(node->text);
    if (*out != NULL)
        return RGM_OK;
    for (int64_t i = 0; i < count && i < 16; i++)
        names[i] = types[i]->name;
    return unknown_name(node, "optimizer", names, count);
}

rgm_status rgm_optimizer_options_read(rgm_optimizer_options *options, const rgm_yaml_node *map,
                                      rgm_arena *arena)
{
    static const char *const also[] = {"type", "learning_rate", NULL};
    const rgm_optimizer_type *type = NULL;
    const rgm_yaml_node *rate;
    rgm_status status;

    *options = rgm_adam(1e-3);
    if (map == NULL)
        return RGM_OK;
    if (map->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(map, "'optimizer' should be a map of keys with 'type'");
    RGM_TRY(read_type(&type, map));
    type->defaults(options);
    /* Who writes `average: {}` wants averages. */
    if (rgm_yaml_find(map, "average") != NULL)
        options->average.decay = 0.99;
    RGM_TRY(rgm_options_read(options, type->fields, map, "optimizer", also, arena));
    rate = rgm_yaml_find(map, "learning_rate");
    if (rate != NULL)
        RGM_TRY(read_schedule(&options->learning_rate, rate, arena));
    status = rgmi_optimizer_options_check(options);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "%s:%d:%d", map->origin, map->line, map->column);
    return RGM_OK;
}

rgm_status rgm_optimizer_options_resolve(rgm_optimizer_options *options, int64_t total_steps)
{
    rgm_schedule *s = &options->learning_rate;

    if (s->type == NULL || !s->type->decays || s->decay_steps > 0)
        return RGM_OK;
    if (total_steps < 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate.decay_steps is missing, and the length of the run "
                        "is not known to take its place");
    s->decay_steps = total_steps > s->offset ? total_steps - s->offset : 1;
    return RGM_OK;
}

/*
 * Optimizer options from the experiment file: `learning_rate` is a number or a schedule, the other
 * keys are those of the type's table. What no optimizer can work with is refused here, before a run
 * has begun.
 */
#include "optim_internal.h"

#include <math.h>
#include <string.h>

#define SCHEDULE_FIELD(field_name, field_kind, lowest, highest, text)                              \
    {                                                                                              \
        .name = #field_name, .kind = (field_kind), .offset = offsetof(rgm_schedule, field_name),   \
        .min = (lowest), .max = (highest), .help = (text)                                          \
    }

#define WARMUP_FIELDS                                                                              \
    SCHEDULE_FIELD(peak, RGM_FIELD_FLOAT, 0, INFINITY, "rate after warmup"),                       \
        SCHEDULE_FIELD(warmup_steps, RGM_FIELD_INT, 0, INFINITY, "steps of linear increase"),      \
        SCHEDULE_FIELD(warmup_start, RGM_FIELD_FLOAT, 0, INFINITY, "rate at step 0 of the warmup")

static const rgm_field constant_fields[] = {WARMUP_FIELDS, {0}};
static const rgm_field exponential_fields[] = {
    WARMUP_FIELDS,
    SCHEDULE_FIELD(decay_steps, RGM_FIELD_INT, 1, INFINITY, "steps for one factor decay_rate"),
    SCHEDULE_FIELD(decay_rate, RGM_FIELD_FLOAT, 0, 1, "factor, in (0, 1]"),
    SCHEDULE_FIELD(staircase, RGM_FIELD_BOOL, 0, 0, "decay in jumps"),
    {0},
};
static const rgm_field cosine_fields[] = {
    WARMUP_FIELDS,
    SCHEDULE_FIELD(decay_steps, RGM_FIELD_INT, 1, INFINITY, "steps from peak to floor"),
    SCHEDULE_FIELD(floor, RGM_FIELD_FLOAT, 0, 1, "last rate as a fraction of peak"),
    {0},
};

static const char *const schedule_names[] = {"constant", "exponential", "cosine", NULL};
static const rgm_field *const schedule_fields[] = {constant_fields, exponential_fields,
                                                   cosine_fields};

/* The type alone, because the keys that may stand beside it depend on it. */
static rgm_status read_schedule_type(int *type, const rgm_yaml_node *node, rgm_arena *arena)
{
    static const rgm_field table[] = {
        {.name = "type", .kind = RGM_FIELD_CHOICE, .choices = schedule_names},
        {0},
    };
    rgm_yaml_node *entry = rgm_yaml_find(node, "type");
    rgm_yaml_node only = *node;

    *type = RGM_SCHEDULE_CONSTANT;
    if (entry == NULL)
        return RGM_OK;
    only.items = &entry;
    only.count = 1;
    return rgm_options_read(type, table, &only, "optimizer.learning_rate", NULL, arena);
}

static rgm_status read_schedule(rgm_schedule *schedule, const rgm_yaml_node *node, rgm_arena *arena)
{
    static const char *const also[] = {"type", NULL};

    if (node->kind == RGM_YAML_SCALAR) {
        RGM_TRY(rgm_yaml_float(&schedule->peak, node));
        if (schedule->peak < 0)
            return rgm_yaml_fail(node, "'learning_rate' is %s, but must be at least 0", node->text);
        return RGM_OK;
    }
    if (node->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(node, "'learning_rate' should be a number or a map with 'type'");
    RGM_TRY(read_schedule_type(&schedule->type, node, arena));
    return rgm_options_read(schedule, schedule_fields[schedule->type], node,
                            "optimizer.learning_rate", also, arena);
}

static rgm_status read_type(const rgm_optimizer_type **out, const rgm_yaml_node *map)
{
    const rgm_yaml_node *node = rgm_yaml_find(map, "type");
    int64_t count;
    const rgm_optimizer_type *const *types = rgm_optimizer_types(&count);
    const char *names[16], *near;

    if (node == NULL)
        return rgm_yaml_fail(map, "'optimizer' has no 'type' (sgd, adam or adamw)");
    if (node->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "'optimizer.type' should be a name");
    *out = rgm_optimizer_find(node->text);
    if (*out != NULL)
        return RGM_OK;
    for (int64_t i = 0; i < count && i < 16; i++)
        names[i] = types[i]->name;
    near = rgm_nearest_name(node->text, names, count);
    if (near != NULL)
        return rgm_yaml_fail(node, "unknown optimizer '%.60s'; did you mean '%s'?", node->text,
                             near);
    return rgm_yaml_fail(node, "unknown optimizer '%.60s'; there are sgd, adam and adamw",
                         node->text);
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
    RGM_TRY(rgm_options_read(options, type->fields, map, "optimizer", also, arena));
    rate = rgm_yaml_find(map, "learning_rate");
    if (rate != NULL)
        RGM_TRY(read_schedule(&options->learning_rate, rate, arena));
    status = rgmi_optimizer_options_check(options);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "%s:%d:%d", map->source, map->line, map->column);
    return RGM_OK;
}

rgm_status rgm_optimizer_options_resolve(rgm_optimizer_options *options, int64_t total_steps)
{
    rgm_schedule *s = &options->learning_rate;

    if (s->type == RGM_SCHEDULE_CONSTANT || s->decay_steps > 0)
        return RGM_OK;
    if (total_steps < 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate.decay_steps is missing, and the length of the run "
                        "is not known to take its place");
    s->decay_steps = total_steps > s->warmup_steps ? total_steps - s->warmup_steps : 1;
    return RGM_OK;
}

static rgm_status check_number(const char *name, double value, double lowest, double highest,
                               bool below)
{
    if (value >= lowest && isfinite(value) && (below ? value < highest : value <= highest))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG, "optimizer.%s is %g, but must be in [%g, %g%c", name, value,
                    lowest, highest, below ? ')' : ']');
}

static rgm_status check_schedule(const rgm_schedule *s)
{
    if (s->type < RGM_SCHEDULE_CONSTANT || s->type > RGM_SCHEDULE_COSINE)
        return RGM_FAIL(RGM_ERR_CONFIG, "optimizer.learning_rate.type is %d, which does not exist",
                        s->type);
    RGM_TRY(check_number("learning_rate", s->peak, 0, INFINITY, true));
    RGM_TRY(check_number("learning_rate.warmup_start", s->warmup_start, 0, INFINITY, true));
    if (s->warmup_steps < 0 || s->decay_steps < 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate has warmup_steps %lld and decay_steps %lld; "
                        "neither may be negative",
                        (long long)s->warmup_steps, (long long)s->decay_steps);
    if (s->type == RGM_SCHEDULE_EXPONENTIAL) {
        RGM_TRY(check_number("learning_rate.decay_rate", s->decay_rate, 0, 1, false));
        if (s->decay_rate == 0)
            return RGM_FAIL(RGM_ERR_CONFIG, "optimizer.learning_rate.decay_rate is 0: the rate "
                                            "would be 0 after the first step");
    }
    if (s->type == RGM_SCHEDULE_COSINE)
        RGM_TRY(check_number("learning_rate.floor", s->floor, 0, 1, false));
    return RGM_OK;
}

rgm_status rgmi_optimizer_options_check(const rgm_optimizer_options *o)
{
    RGM_TRY(check_schedule(&o->learning_rate));
    RGM_TRY(check_number("clip_norm", o->clip_norm, 0, INFINITY, true));
    RGM_TRY(check_number("weight_decay", o->weight_decay, 0, INFINITY, true));
    RGM_TRY(check_number("momentum", o->momentum, 0, 1, true));
    RGM_TRY(check_number("beta_1", o->beta_1, 0, 1, true));
    RGM_TRY(check_number("beta_2", o->beta_2, 0, 1, true));
    RGM_TRY(check_number("epsilon", o->epsilon, 0, INFINITY, true));
    if (o->nesterov && o->momentum == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "optimizer.nesterov needs a momentum above 0");
    return RGM_OK;
}

/*
 * Optimizer options from the experiment file: `learning_rate` is a number or a schedule, the other
 * keys are those of the type's table, and of a program's own row those of its struct too.
 */
#include "optim_internal.h"

#include <string.h>

/* ---- reading ------------------------------------------------------------------------------- */

#define MAX_NAMES 128

#define RGM_OPTIONS rgm_optimizer_options
const rgm_field rgm_optimizer_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGMI_NUMBER(weight_decay, "of the parameters that decay, as the optimizer takes it; 0: none"),
    {0}};
#undef RGM_OPTIONS

/* ---- rows of a program's own ----------------------------------------------------------------- */

/* The key of a row's own struct that its other keys have too; NULL: none. */
static const char *shared_key(const rgm_section_type *own, const rgm_field *fields)
{
    for (const rgm_field *a = own != NULL ? own->fields : fields; own != NULL && a->name; a++)
        for (const rgm_field *b = fields; b->name != NULL; b++)
            if (strcmp(a->name, b->name) == 0)
                return a->name;
    return NULL;
}

/* What all rows must have; `functions`: those that only this kind has are there. */
static rgm_status check_row(const char *kind, const char *name, const rgm_field *fields,
                            const rgm_section_type *own, bool functions)
{
    if (name == NULL || name[0] == '\0' || fields == NULL || !functions)
        return RGM_FAIL(RGM_ERR_ARG,
                        "the %s '%s' of the program lacks a name, fields or a function", kind,
                        name != NULL ? name : "");
    if (own != NULL && (own->name == NULL || own->fields == NULL || own->options_size == 0))
        return RGM_FAIL(RGM_ERR_ARG,
                        "the %s '%s' of the program has an `own` without name, fields "
                        "or size",
                        kind, name);
    if (shared_key(own, fields) != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the %s '%s' of the program has the key '%s' twice", kind,
                        name, shared_key(own, fields));
    return RGM_OK;
}

static rgm_status taken(const char *kind, const char *name, bool library)
{
    return RGM_FAIL(RGM_ERR_ARG, "two %ss are named '%s'%s: give the program's own another name",
                    kind, name, library ? ", one of them the library's" : "");
}

static rgm_status check_optimizers(const rgm_optimizer_type *const *rows)
{
    for (int64_t i = 0; rows != NULL && rows[i] != NULL; i++) {
        const rgm_optimizer_type *row = rows[i];

        RGM_TRY(check_row("optimizer", row->name, row->fields, row->own,
                          row->defaults != NULL && row->slots != NULL && row->step != NULL));
        if (rgm_optimizer_find(row->name) != NULL)
            return taken("optimizer", row->name, true);
        for (int64_t k = 0; k < i; k++)
            if (strcmp(rows[k]->name, row->name) == 0)
                return taken("optimizer", row->name, false);
    }
    return RGM_OK;
}

static rgm_status check_schedules(const rgm_schedule_type *const *rows)
{
    for (int64_t i = 0; rows != NULL && rows[i] != NULL; i++) {
        const rgm_schedule_type *row = rows[i];

        RGM_TRY(check_row("schedule", row->name, row->fields, row->own, row->rate != NULL));
        if (rgm_schedule_find(row->name) != NULL)
            return taken("schedule", row->name, true);
        for (int64_t k = 0; k < i; k++)
            if (strcmp(rows[k]->name, row->name) == 0)
                return taken("schedule", row->name, false);
    }
    return RGM_OK;
}

rgm_status rgm_optimizer_rows_check(const rgm_optimizer_rows *rows)
{
    RGM_TRY(check_optimizers(rows->optimizers));
    return check_schedules(rows->schedules);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* "cosin" is one of `names`, or what it should have been; `what` is "schedule". */
static rgm_status unknown_name(const rgm_yaml_node *node, const char *what,
                               const char *const *names, int64_t count)
{
    return rgm_yaml_fail(node, "unknown %s '%.60s'%s", what, node->text,
                         rgm_did_you_mean(node->text, names, count, NULL, "there are ").text);
}

static rgm_status read_schedule_type(const rgm_schedule_type **out, const rgm_yaml_node *map,
                                     const rgm_optimizer_rows *own)
{
    const rgm_yaml_node *node = rgm_yaml_find(map, "type");
    const char *names[MAX_NAMES];
    int64_t library, count = 0;
    const rgm_schedule_type *const *types = rgm_schedule_types(&library);
    const rgm_schedule_type *const *rows = own != NULL ? own->schedules : NULL;

    *out = rgm_schedule_find("constant");
    if (node == NULL)
        return RGM_OK;
    if (node->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "'optimizer.learning_rate.type' should be a name");
    *out = rgm_schedule_find(node->text);
    for (int64_t i = 0; *out == NULL && rows != NULL && rows[i] != NULL; i++)
        if (strcmp(rows[i]->name, node->text) == 0)
            *out = rows[i];
    if (*out != NULL)
        return RGM_OK;
    for (int64_t i = 0; i < library && count < MAX_NAMES; i++)
        names[count++] = types[i]->name;
    for (int64_t i = 0; rows != NULL && rows[i] != NULL && count < MAX_NAMES; i++)
        names[count++] = rows[i]->name;
    return unknown_name(node, "schedule", names, count);
}

/* A map into two structs: each table passes over the other's keys, the first tells of unknown ones.
 */
static rgm_status read_both(void *options, const rgm_field *fields, const void **own_options,
                            const rgm_section_type *own, const rgm_yaml_node *map, const char *path,
                            const char *const *also, rgm_arena *arena)
{
    const char *theirs[MAX_NAMES + 1] = {NULL}, *ours[MAX_NAMES + 1] = {NULL};
    int64_t count = 0, own_count = 0;
    void *made = NULL;

    for (; also[count] != NULL; count++)
        theirs[count] = ours[count] = also[count];
    own_count = count;
    for (const rgm_field *f = fields; f->name != NULL && own_count < MAX_NAMES; f++)
        ours[own_count++] = f->name;
    if (own == NULL)
        return rgm_options_read(options, fields, map, path, also, arena);
    for (const rgm_field *f = own->fields; f->name != NULL && count < MAX_NAMES; f++)
        theirs[count++] = f->name;
    RGM_TRY(rgm_options_read(options, fields, map, path, theirs, arena));
    RGM_TRY(rgm_section_type_read(&made, own, map, path, ours, arena));
    *own_options = made;
    return RGM_OK;
}

static rgm_status read_schedule(rgm_schedule *schedule, const rgm_yaml_node *node,
                                const rgm_optimizer_rows *own, rgm_arena *arena)
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
    RGM_TRY(read_schedule_type(&type, node, own));
    *schedule = rgm_schedule_default(type, schedule->initial);
    return read_both(schedule, type->fields, &schedule->own, type->own, node,
                     "optimizer.learning_rate", also, arena);
}

static rgm_status read_type(const rgm_optimizer_type **out, const rgm_yaml_node *map,
                            const rgm_optimizer_rows *own)
{
    const rgm_yaml_node *node = rgm_yaml_find(map, "type");
    const char *names[MAX_NAMES];
    int64_t library, count = 0;
    const rgm_optimizer_type *const *types = rgm_optimizer_types(&library);
    const rgm_optimizer_type *const *rows = own != NULL ? own->optimizers : NULL;

    if (node == NULL)
        return rgm_yaml_fail(map, "'optimizer' has no 'type' (adam, sgd, ...)");
    if (node->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "'optimizer.type' should be a name");
    *out = rgm_optimizer_find(node->text);
    for (int64_t i = 0; *out == NULL && rows != NULL && rows[i] != NULL; i++)
        if (strcmp(rows[i]->name, node->text) == 0)
            *out = rows[i];
    if (*out != NULL)
        return RGM_OK;
    for (int64_t i = 0; i < library && count < MAX_NAMES; i++)
        names[count++] = types[i]->name;
    for (int64_t i = 0; rows != NULL && rows[i] != NULL && count < MAX_NAMES; i++)
        names[count++] = rows[i]->name;
    return unknown_name(node, "optimizer", names, count);
}

rgm_status rgm_optimizer_options_read(rgm_optimizer_options *options, const rgm_yaml_node *map,
                                      const rgm_optimizer_rows *own, rgm_arena *arena)
{
    static const char *const also[] = {"type", "learning_rate", NULL};
    const rgm_optimizer_type *type = NULL;
    const rgm_yaml_node *rate;

    *options = rgm_adam(1e-3);
    if (own != NULL)
        RGM_TRY(rgm_optimizer_rows_check(own));
    if (map == NULL)
        return RGM_OK;
    if (map->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(map, "'optimizer' should be a map of keys with 'type'");
    RGM_TRY(read_type(&type, map, own));
    type->defaults(options);
    options->type = type;
    /* Who writes `average: {}` wants averages. */
    if (rgm_yaml_find(map, "average") != NULL)
        options->average.decay = 0.99;
    RGM_TRY(
        read_both(options, type->fields, &options->own, type->own, map, "optimizer", also, arena));
    rate = rgm_yaml_find(map, "learning_rate");
    if (rate != NULL)
        RGM_TRY(read_schedule(&options->learning_rate, rate, own, arena));
    return rgm_yaml_place(rgmi_optimizer_options_check(options), map);
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
    if (s->unit == RGM_UNIT_EPOCHS) {
        if (rgm_schedule_epochs(s, 0) < 0)
            return RGM_OK;
        total_steps = rgm_schedule_epochs(s, total_steps - 1) + 1;
    }
    s->decay_steps = total_steps > s->offset ? total_steps - s->offset : 1;
    return RGM_OK;
}

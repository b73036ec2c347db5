/*
 * Checks rules between the keys of an experiment: the rules of the trainer and of the task's type,
 * which also say when a key has an effect, and the file's own `restrictions`.
 */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

/* ---- keys ---------------------------------------------------------------------------------- */

typedef struct all_keys {
    const rgm_experiment *experiment;
    rgm_text shown[2]; /* the two sides of the current rule */
    int next;
} all_keys;

static bool find_key(rgm_rule_value *out, const char *key, void *payload)
{
    all_keys *all = payload;
    const rgm_experiment_value *value = rgm_experiment_find(all->experiment, key);
    const rgm_yaml_node *node = value != NULL ? value->value : NULL;
    rgm_text *shown = &all->shown[all->next++ % 2];

    *out = (rgm_rule_value){.node = node};
    if (value == NULL)
        return false;
    out->given = value->given;
    out->where = value->origin;
    if (node == NULL)
        return true;
    out->is_list = node->kind != RGM_YAML_SCALAR;
    out->text = !out->is_list ? node->text : node->count == 0 ? "[]" : "[...]";
    rgm_text_clear(shown);
    if (rgm_yaml_print_flow(shown, node, false) == RGM_OK)
        out->shown = shown->data;
    return true;
}

static bool begins_with_section(const char *text)
{
    size_t size = strcspn(text, ".");

    for (const char *const *name = rgm_experiment_section_names; *name != NULL; name++)
        if (strlen(*name) == size && strncmp(*name, text, size) == 0)
            return text[size] == '.';
    return false;
}

static rgm_hint nearest_key(const char *text, void *payload)
{
    const rgm_experiment *e = ((const all_keys *)payload)->experiment;
    const char *names[1024];
    int64_t count = 0;

    for (; count < e->value_count && count < 1024; count++)
        names[count] = e->values[count].key;
    return rgm_did_you_mean(text, names, count, NULL, NULL);
}

/* ---- effects ------------------------------------------------------------------------------- */

static bool is_below(const char *key, const char *map)
{
    size_t size = strlen(map);

    return strncmp(key, map, size) == 0 && (key[size] == '\0' || key[size] == '.');
}

static rgm_status mark_unused(rgm_experiment *e, const rgm_effect *effects,
                              const rgm_rule_keys *keys)
{
    for (; effects != NULL && effects->key != NULL; effects++) {
        char why[256], needs[256];
        const char *kept;

        snprintf(needs, sizeof needs, "%.*s", (int)strcspn(effects->needs, ";"), effects->needs);
        if (rgm_rule_holds(needs, true, keys))
            continue;
        snprintf(why, sizeof why, "only with %s", effects->needs);
        kept = rgm_arena_strdup(e->arena, why);
        if (kept == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the list of values");
        for (int64_t i = 0; i < e->value_count; i++)
            if (is_below(e->values[i].key, effects->key))
                e->values[i].unused = kept;
    }
    return RGM_OK;
}

/* ---- a file's own -------------------------------------------------------------------------- */

static rgm_status check_own(const rgm_experiment *e, const rgm_rule_keys *keys)
{
    static const char example[] = "such as \"trainer.steps_per_loop <= trainer.train_steps\"";
    const rgm_yaml_node *list = rgm_yaml_find(rgm_yaml_root(e->yaml), "restrictions");

    if (list == NULL)
        return RGM_OK;
    if (list->kind != RGM_YAML_LIST)
        return rgm_yaml_fail(list, "restrictions is a list of texts %s", example);
    for (int64_t i = 0; i < list->count; i++) {
        const rgm_yaml_node *item = list->items[i];
        const char *place;
        char why[256];

        if (item->kind != RGM_YAML_SCALAR)
            return rgm_yaml_fail(item, "a restriction is a text %s", example);
        place = rgmi_place_text(e->arena, item);
        snprintf(why, sizeof why, "%.200s says so", place != NULL ? place : item->origin);
        RGM_TRY(rgm_rule_check_text(item, why, keys));
    }
    return RGM_OK;
}

/* ---- several tasks ------------------------------------------------------------------------- */

/* A program's own task may have several losses by itself; only the run can check that. */
static rgm_status check_surgery(const rgm_experiment *e)
{
    static const char key[] = "trainer.gradient_surgery";
    const rgm_experiment_value *value = rgm_experiment_find(e, key);

    if (e->trainer.gradient_surgery != RGM_SURGERY_PCGRAD || e->setup.part_count > 1 ||
        e->own != NULL || value == NULL)
        return RGM_OK;
    return rgm_yaml_fail(value->value,
                         "%s is pcgrad (%s), which is between the losses of several tasks, but "
                         "there is one: name two or more under tasks:, or leave it away",
                         key, value->origin);
}

rgm_status rgmi_restrictions_check(rgm_experiment *e)
{
    rgm_status status = RGM_OK;
    all_keys all = {.experiment = e};
    const rgm_rule_keys keys = {.find = find_key,
                                .looks_like_one = begins_with_section,
                                .did_you_mean = nearest_key,
                                .payload = &all};

    RGM_GO(mark_unused(e, rgm_trainer_effects, &keys));
    RGM_GO(mark_unused(e, e->type->effects, &keys));
    RGM_GO(rgm_rules_check(rgm_trainer_rules, &keys));
    if (e->type->rules != NULL)
        RGM_GO(rgm_rules_check(e->type->rules, &keys));
    RGM_GO(check_surgery(e));
    RGM_GO(check_own(e, &keys));
done:
    for (int i = 0; i < 2; i++)
        rgm_text_clear(&all.shown[i]);
    return status;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

/* Updates of a run whose length is given in steps; 0: it depends on the data. */
static int64_t known_updates(const rgm_trainer_options *o)
{
    int64_t updates;

    if (o->train_steps > 0)
        return o->train_steps;
    return o->steps_per_epoch > 0 &&
                   !__builtin_mul_overflow(o->steps_per_epoch, o->epochs, &updates)
               ? updates
               : 0;
}

rgm_status rgmi_rate_check(rgm_text *remark, const rgm_experiment *e)
{
    rgm_optimizer_options optimizer = e->optimizer;
    const rgm_yaml_node *section = rgm_yaml_find(rgm_yaml_root(e->yaml), "optimizer");
    const rgm_yaml_node *rate = rgm_yaml_find(section, "learning_rate");
    int64_t updates = known_updates(&e->trainer);

    if (updates > 0)
        RGM_TRY(rgm_optimizer_options_resolve(&optimizer, updates));
    return rgm_yaml_place(rgm_schedule_check_run(remark, &optimizer.learning_rate, updates),
                          rate != NULL ? rate : section);
}

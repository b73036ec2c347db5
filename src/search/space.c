/*
 * A space once it is read: its members, draws, conditions and constraints. Relations between
 * hyperparameters are base's rules, whose keys are here the values of a trial.
 */
#include "search_internal.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const rgm_hyperparameter_kind_names[] = {"const",  "categorical", "int",
                                                     "double", "log",         NULL};

rgm_space *rgm_space_retain(rgm_space *space)
{
    atomic_fetch_add(&space->references, 1);
    return space;
}

void rgm_space_release(rgm_space *space)
{
    if (space == NULL || atomic_fetch_sub(&space->references, 1) > 1)
        return;
    rgm_map_release(space->names);
    rgm_free(space->items);
    rgm_arena_release(space->arena);
    rgm_free(space);
}

int64_t rgm_space_count(const rgm_space *space)
{
    return space->count;
}

const rgm_hyperparameter *rgm_space_at(const rgm_space *space, int64_t i)
{
    return &space->order[i]->shown;
}

const rgmi_item *rgmi_space_item(const rgm_space *space, const char *name)
{
    return rgm_map_get(space->names, name);
}

int64_t rgm_space_find(const rgm_space *space, const char *name)
{
    const rgmi_item *item = rgmi_space_item(space, name);

    return item != NULL ? item->place : -1;
}

void rgmi_item_range(double *low, double *high, const rgm_hyperparameter *h)
{
    double a = h->minval, b = h->maxval;

    if (h->kind == RGM_HYPER_LOG) {
        a = pow(h->base, a);
        b = pow(h->base, b);
    }
    *low = a < b ? a : b;
    *high = a < b ? b : a;
}

/* ---- relations ----------------------------------------------------------------------------- */

/* "%.17g" with a point, whatever the program's locale is. */
static void print_plain(char out[40], double number)
{
    const char *point = localeconv()->decimal_point;
    char *at;

    snprintf(out, 40, "%.17g", number);
    if (strcmp(point, ".") == 0 || (at = strstr(out, point)) == NULL)
        return;
    *at = '.';
    memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
}

static const char *plain_value(rgmi_space_keys *keys, const rgmi_item *item)
{
    const rgm_hyper_value *v = &keys->values[item->place];
    char *number = keys->numbers[(keys->found_count - 1) % 2];

    switch (item->shown.kind) {
    case RGM_HYPER_CONST:
    case RGM_HYPER_CATEGORICAL:
        return item->plain[v->choice];
    case RGM_HYPER_INT:
        snprintf(number, 40, "%lld", (long long)v->integer);
        return number;
    default:
        print_plain(number, v->number);
        return number;
    }
}

static bool find_value(rgm_rule_value *out, const char *key, void *payload)
{
    rgmi_space_keys *keys = payload;
    const rgmi_item *item = rgmi_space_item(keys->space, key);

    if (item == NULL)
        return false;
    if (keys->found_count < 2)
        keys->found[keys->found_count++] = item;
    *out = (rgm_rule_value){.text = keys->values != NULL ? plain_value(keys, item) : NULL,
                            .given = true};
    return true;
}

/* A text on the right may be a value of a category; space_read.c asks which. */
static bool looks_like_name(const char *text)
{
    (void)text;
    return false;
}

static rgm_hint nearest_name(const char *text, void *payload)
{
    const rgm_space *space = ((const rgmi_space_keys *)payload)->space;
    const char *names[1024];
    int64_t count = 0;

    for (; count < space->count && count < 1024; count++)
        names[count] = space->items[count].shown.name;
    return rgm_did_you_mean(text, names, count, NULL, NULL);
}

rgm_rule_keys rgmi_space_rule_keys(rgmi_space_keys *keys)
{
    return (rgm_rule_keys){.find = find_value,
                           .looks_like_one = looks_like_name,
                           .did_you_mean = nearest_name,
                           .payload = keys};
}

/* `otherwise` where it names one that is not there. */
static bool relation_holds(const rgm_space *space, const rgmi_hyper_relation *relation,
                           const rgm_hyper_value *values, bool otherwise)
{
    rgmi_space_keys keys = {.space = space, .values = values};
    const rgm_rule_keys rule_keys = rgmi_space_rule_keys(&keys);

    for (int i = 0; i < relation->name_count; i++)
        if (!values[relation->names[i]->place].is_set)
            return otherwise;
    return rgm_rule_holds(relation->text, otherwise, &rule_keys);
}

bool rgm_space_applies(const rgm_space *space, int64_t i, const rgm_hyper_value *values)
{
    const rgmi_item *item = space->order[i];

    for (int64_t k = 0; k < item->when_count; k++)
        if (relation_holds(space, &item->when[k], values, false))
            return true;
    return item->when_count == 0;
}

bool rgm_space_holds(const rgm_space *space, const rgm_hyper_value *values, const char **broken)
{
    for (int64_t i = 0; i < space->constraint_count; i++) {
        if (relation_holds(space, &space->constraints[i], values, true))
            continue;
        if (broken != NULL)
            *broken = space->constraints[i].text;
        return false;
    }
    return true;
}

/* ---- draws --------------------------------------------------------------------------------- */

void rgm_space_draw_one(rgm_hyper_value *value, const rgm_space *space, int64_t i,
                        rgm_mt19937 *random)
{
    const rgm_hyperparameter *h = rgm_space_at(space, i);

    *value = (rgm_hyper_value){.is_set = true};
    switch (h->kind) {
    case RGM_HYPER_CONST:
        break;
    case RGM_HYPER_CATEGORICAL:
        value->choice = (int64_t)rgm_mt19937_bounded(random, (uint64_t)h->values.count - 1);
        break;
    case RGM_HYPER_INT:
        value->integer = (int64_t)h->minval +
                         (int64_t)rgm_mt19937_bounded(random, (uint64_t)(h->maxval - h->minval));
        break;
    case RGM_HYPER_DOUBLE:
        value->number = rgm_mt19937_uniform(random, h->minval, h->maxval);
        if (value->number >= h->maxval) /* where the sum was rounded up */
            value->number = nextafter(h->maxval, h->minval);
        break;
    case RGM_HYPER_LOG:
        value->number = pow(h->base, rgm_mt19937_uniform(random, h->minval, h->maxval));
        break;
    }
}

rgm_status rgm_space_draw(rgm_hyper_value *values, const rgm_space *space, rgm_mt19937 *random)
{
    const char *broken = NULL;

    for (int draw = 0; draw < RGMI_MOST_DRAWS; draw++) {
        for (int64_t i = 0; i < space->count; i++) {
            values[i] = (rgm_hyper_value){0};
            if (rgm_space_applies(space, i, values))
                rgm_space_draw_one(&values[i], space, i, random);
        }
        if (rgm_space_holds(space, values, &broken))
            return RGM_OK;
    }
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%d draws of hyperparameters, and none keeps all constraints; the last broke "
                    "'%s': narrow the ranges, or widen the constraint",
                    RGMI_MOST_DRAWS, broken);
}

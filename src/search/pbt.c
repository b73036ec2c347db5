/*
 * pbt: population based training (Jaderberg et al. 2017). A population trains in rounds; behind
 * each the worst are closed, and the best are checkpointed and go on twice, once with
 * hyperparameters that were changed a little. Ranks are by key, and by number where keys are equal.
 */
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct replace_options {
    double truncate_fraction;
} replace_options;

typedef struct explore_options {
    double resample_probability, perturb_factor;
} explore_options;

typedef struct pbt_options {
    int64_t population_size, num_rounds, steps_per_round;
    replace_options replace_function;
    explore_options explore_function;
} pbt_options;

typedef struct pbt_state {
    int64_t round;    /* that are done                                          */
    int64_t *members; /* [member_count] trials of this round, in order of creation */
    int64_t member_count, capacity;
    int64_t reported; /* of them                                                */
} pbt_state;

#define RGM_OPTIONS replace_options
static const rgm_field replace_fields[] = {
    RGM_FLOAT_FIELD(truncate_fraction, 0, 0.5, "of the population is replaced in a round"), {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS explore_options
static const rgm_field explore_fields[] = {
    RGM_FLOAT_FIELD(resample_probability, 0, 1, "a hyperparameter is drawn anew"),
    RGM_FLOAT_FIELD(perturb_factor, 0, 1, "else it becomes less or more by this share"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS pbt_options
static const rgm_field fields[] = {
    RGM_INT_FIELD(population_size, 1, RGMI_MOST_TRIALS, "trials at a time"),
    RGM_INT_FIELD(num_rounds, 1, 1000000, "rounds"),
    RGM_INT_FIELD(steps_per_round, 1, 1000000, "that every trial trains in a round"),
    RGM_GROUP_FIELD(replace_function, replace_fields, "how many are replaced"),
    RGM_GROUP_FIELD(explore_function, explore_fields, "how hyperparameters change"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(pbt_options *)options =
        (pbt_options){.replace_function = {0.2}, .explore_function = {0.2, 0.2}};
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    const pbt_options *o = options;
    rgmi_mistakes mistakes = {0};

    (void)state;
    searcher->most_points = o->population_size;
    RGM_GO(rgmi_search_need_blind(&mistakes, searcher, section));
    RGM_GO(rgmi_search_need(&mistakes, o->population_size, "population_size", section));
    RGM_GO(rgmi_search_need(&mistakes, o->num_rounds, "num_rounds", section));
    RGM_GO(rgmi_search_need(&mistakes, o->steps_per_round, "steps_per_round", section));
    status = rgmi_mistakes_tell(&mistakes);
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

static rgm_length max_length(const void *options)
{
    const pbt_options *o = options;

    return (rgm_length){.units = o->num_rounds * o->steps_per_round};
}

/* ---- members ------------------------------------------------------------------------------- */

static rgm_status add_member(pbt_state *s, int64_t trial)
{
    RGM_TRY(RGM_RESERVE(s->members, s->capacity, s->member_count + 1));
    s->members[s->member_count++] = trial;
    return RGM_OK;
}

static rgm_status add_new(rgm_searcher *searcher, pbt_state *s, const pbt_options *o)
{
    int64_t trial;

    RGM_TRY(rgm_search_create(&trial, searcher));
    RGM_TRY(add_member(s, trial));
    return rgm_search_train_and_validate(searcher, trial, o->steps_per_round);
}

static rgm_status begin(rgm_searcher *searcher, void *state, const void *options)
{
    const pbt_options *o = options;

    for (int64_t i = 0; i < o->population_size; i++)
        RGM_TRY(add_new(searcher, state, o));
    return RGM_OK;
}

/* ---- explore ------------------------------------------------------------------------------- */

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Less or more by a share, within its range; const and categorical stay what they are. */
static void perturb(rgm_hyper_value *value, const rgm_hyperparameter *h, bool less, double share)
{
    double factor = less ? 1 - share : 1 + share, low, high;

    if (h->kind < RGM_HYPER_INT)
        return;
    rgmi_item_range(&low, &high, h);
    if (h->kind == RGM_HYPER_INT) {
        double moved = (double)value->integer * factor;

        value->integer = (int64_t)clamp(less ? floor(moved) : ceil(moved), low, high);
    } else {
        value->number = clamp(value->number * factor, low, high);
    }
}

/* A value's neighbour. Draws the same for every kind, so that a const does not shift the others. */
static void explore_one(rgm_hyper_value *value, const rgm_space *space, int64_t i,
                        const explore_options *o, rgm_mt19937 *random)
{
    if (!value->is_set || rgm_mt19937_unit(random) < o->resample_probability)
        rgm_space_draw_one(value, space, i, random);
    else
        perturb(value, rgm_space_at(space, i), rgm_mt19937_unit(random) < 0.5, o->perturb_factor);
}

/* A parent's neighbour that keeps the constraints; the parent itself where none is found. */
static void explore(rgm_hyper_value *values, const rgm_searcher *searcher,
                    const rgm_hyper_value *parent, const explore_options *o, rgm_mt19937 *random)
{
    const rgm_space *space = rgm_searcher_space(searcher);
    int64_t count = rgm_space_count(space);

    for (int draw = 0; draw < RGMI_MOST_DRAWS; draw++) {
        memcpy(values, parent, (size_t)count * sizeof *values);
        for (int64_t i = 0; i < count; i++) {
            if (rgm_space_applies(space, i, values))
                explore_one(&values[i], space, i, o, random);
            else
                values[i] = (rgm_hyper_value){0};
        }
        if (rgm_space_holds(space, values, NULL))
            return;
    }
    memcpy(values, parent, (size_t)count * sizeof *values);
}

/* ---- rounds -------------------------------------------------------------------------------- */

typedef struct ranked {
    double key;
    int64_t trial;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->trial < y->trial ? -1 : 1;
}

/* Closed or ended trials are behind all others, whatever they had reported. */
static rgm_status rank(ranked **out, const rgm_searcher *searcher, const pbt_state *s)
{
    RGM_TRY(RGM_NEW(*out, s->member_count));
    for (int64_t i = 0; i < s->member_count; i++) {
        bool open = rgm_search_is_open(searcher, s->members[i]);

        (*out)[i] =
            (ranked){open ? rgm_search_key(searcher, s->members[i]) : INFINITY, s->members[i]};
    }
    if (s->member_count > 0)
        qsort(*out, (size_t)s->member_count, sizeof **out, compare_ranked);
    return RGM_OK;
}

/* Of the best: a checkpoint, and a trial that begins with it. */
static rgm_status clone_best(rgm_searcher *searcher, pbt_state *s, const pbt_options *o,
                             int64_t parent)
{
    rgm_status status = RGM_OK;
    const rgm_search_trial *seen = rgm_searcher_trial(searcher, parent);
    rgm_hyper_value *values = NULL;
    int64_t trial;

    RGM_GO(RGM_NEW(values, rgm_space_count(rgm_searcher_space(searcher))));
    RGM_GO(rgm_search_checkpoint(searcher, parent, seen->length));
    explore(values, searcher, seen->values, &o->explore_function, rgm_search_random(searcher));
    RGM_GO(rgm_search_create_from(&trial, searcher, values, parent));
    RGM_GO(add_member(s, trial));
    RGM_GO(rgm_search_train_and_validate(searcher, trial, o->steps_per_round));
done:
    rgm_free(values);
    return status;
}

static rgm_status close_all(rgm_searcher *searcher, const pbt_state *s)
{
    for (int64_t i = 0; i < s->member_count; i++)
        if (rgm_search_is_open(searcher, s->members[i]))
            RGM_TRY(rgm_search_close(searcher, s->members[i]));
    return RGM_OK;
}

/* The best `replaced` have metrics that are numbers: nothing else is cloned, and no more are closed
 * than are cloned. */
static rgm_status replace(rgm_searcher *searcher, pbt_state *s, const pbt_options *o,
                          const ranked *ranks, int64_t count)
{
    double most = floor(o->replace_function.truncate_fraction * (double)o->population_size + 1e-9);
    int64_t replaced = 0;

    while (replaced < (int64_t)most && replaced < count && ranks[replaced].key < INFINITY)
        replaced++;
    for (int64_t i = count - replaced; i < count; i++)
        if (i >= 0 && rgm_search_is_open(searcher, ranks[i].trial))
            RGM_TRY(rgm_search_close(searcher, ranks[i].trial));
    for (int64_t i = 0; i < replaced; i++)
        if (rgm_search_is_open(searcher, ranks[i].trial))
            RGM_TRY(clone_best(searcher, s, o, ranks[i].trial));
    return RGM_OK;
}

/* Everybody has reported. */
static rgm_status end_round(rgm_searcher *searcher, pbt_state *s, const pbt_options *o)
{
    rgm_status status = RGM_OK;
    ranked *ranks = NULL;
    int64_t count = s->member_count, kept = 0;

    s->round++;
    s->reported = 0;
    if (s->round >= o->num_rounds)
        return close_all(searcher, s);
    RGM_GO(rank(&ranks, searcher, s));
    RGM_GO(replace(searcher, s, o, ranks, count));
    for (int64_t i = 0; i < s->member_count; i++) {
        int64_t trial = s->members[i];

        if (!rgm_search_is_open(searcher, trial))
            continue;
        s->members[kept++] = trial;
        if (i < count)
            RGM_GO(rgm_search_train_and_validate(
                searcher, trial, rgm_searcher_trial(searcher, trial)->length + o->steps_per_round));
    }
    s->member_count = kept;
done:
    rgm_free(ranks);
    return status;
}

static rgm_status report(rgm_searcher *searcher, pbt_state *s, const pbt_options *o)
{
    s->reported++;
    return s->reported >= s->member_count ? end_round(searcher, s, o) : RGM_OK;
}

static rgm_status validated(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                            int64_t length)
{
    (void)trial;
    (void)length;
    return report(searcher, state, options);
}

static rgm_status exited(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                         bool invalid)
{
    pbt_state *s = state;

    if (!rgmi_trial_at(searcher, trial)->was_awaited)
        return RGM_OK; /* it reported, and is ranked last at the end of the round */
    if (!invalid)
        return report(searcher, s, options);
    for (int64_t i = 0; i < s->member_count; i++)
        if (s->members[i] == trial) {
            memmove(&s->members[i], &s->members[i + 1],
                    (size_t)(s->member_count - i - 1) * sizeof *s->members);
            s->member_count--;
            break;
        }
    return add_new(searcher, s, options);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static double progress(const rgm_searcher *searcher, const void *state, const void *options)
{
    const pbt_options *o = options;
    double population = (double)o->population_size, rounds = (double)o->num_rounds;
    double cloned = floor(o->replace_function.truncate_fraction * population + 1e-9);

    (void)state;
    return (double)rgm_search_work(searcher) /
           (rounds * population * ((double)o->steps_per_round + 1) + (rounds - 1) * cloned);
}

static rgm_status describe(rgm_text *out, const rgm_searcher *searcher, const void *state,
                           const void *options)
{
    const pbt_options *o = options;
    double cloned =
        floor(o->replace_function.truncate_fraction * (double)o->population_size + 1e-9);

    (void)searcher;
    (void)state;
    return rgm_text_printf(out,
                           "population of %lld, %lld rounds of %lld steps, the worst %lld replaced "
                           "behind each\n",
                           (long long)o->population_size, (long long)o->num_rounds,
                           (long long)o->steps_per_round, (long long)cloned);
}

static rgm_status archive(rgm_archive *a, void *state)
{
    pbt_state *s = state;
    bool good;

    RGM_TRY(rgm_archive_int(a, "round", &s->round));
    RGM_TRY(rgm_archive_int(a, "reported", &s->reported));
    RGM_TRY(rgm_archive_ints(a, "members", &s->members, &s->member_count));
    s->capacity = rgm_archive_reads(a) ? s->member_count : s->capacity;
    good = s->round >= 0 && s->round <= RGM_MAX_LENGTH && s->reported >= 0 &&
           s->reported <= RGMI_MOST_TRIALS && s->member_count <= RGMI_MOST_TRIALS;
    for (int64_t i = 0; i < s->member_count; i++)
        good = good && s->members[i] >= 1 && s->members[i] <= RGMI_MOST_TRIALS;
    return good ? RGM_OK : RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: no such population");
}

static void clear(void *state)
{
    rgm_free(((pbt_state *)state)->members);
}

const rgm_searcher_type rgmi_pbt_type = {.section = {.name = "pbt",
                                                     .help = "population based training",
                                                     .options_size = sizeof(pbt_options),
                                                     .defaults = defaults,
                                                     .fields = fields},
                                         .state_size = sizeof(pbt_state),
                                         .prepare = prepare,
                                         .max_length = max_length,
                                         .begin = begin,
                                         .validated = validated,
                                         .exited = exited,
                                         .progress = progress,
                                         .describe = describe,
                                         .archive = archive,
                                         .clear = clear};

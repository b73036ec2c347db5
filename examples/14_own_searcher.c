/*
 * 14 A searcher and a sampler of one's own, in a shared object that search files name:
 *
 *     cc -shared -fPIC 14_own_searcher.c -o sieve.so $(pkg-config --cflags --libs regimen)
 *     regimen search preview sieve.yaml
 *
 * `sieve` trains all trials a little, and the best of them on. `near` draws every second trial
 * beside the best one so far. Both are plain functions over what the search knows: a state that is
 * saved goes on with the same trials.
 */
#include <regimen/search_rows.h>
#include <stddef.h>
#include <string.h>

/* ---- the searcher -------------------------------------------------------------------------- */

typedef struct sieve_options {
    int64_t max_trials, first_steps, max_steps;
} sieve_options;

typedef struct sieve_state {
    int64_t left; /* trials that have not come through the first length */
} sieve_state;

#define RGM_OPTIONS sieve_options
static const rgm_field sieve_fields[] = {
    RGM_INT_FIELD(max_trials, 1, 10000, "trials"),
    RGM_INT_FIELD(first_steps, 1, 1000000, "steps of every trial"),
    RGM_INT_FIELD(max_steps, 1, 1000000, "steps of the best one"),
    {0}};
#undef RGM_OPTIONS

static void sieve_defaults(void *options)
{
    *(sieve_options *)options = (sieve_options){.max_trials = 8, .first_steps = 1, .max_steps = 10};
}

static rgm_length sieve_length(const void *options)
{
    return (rgm_length){((const sieve_options *)options)->max_steps, RGM_STEPS};
}

static rgm_status sieve_begin(rgm_searcher *searcher, void *state, const void *options)
{
    const sieve_options *o = options;
    int64_t trial;

    ((sieve_state *)state)->left = o->max_trials;
    for (int64_t i = 0; i < o->max_trials; i++) {
        RGM_TRY(rgm_search_create(&trial, searcher));
        RGM_TRY(rgm_search_train_and_validate(searcher, trial, o->first_steps));
    }
    return RGM_OK;
}

/* One more is through; the last one decides. */
static rgm_status one_less(rgm_searcher *searcher, sieve_state *s, const sieve_options *o)
{
    int64_t best = 0, count = rgm_searcher_trial_count(searcher);

    if (--s->left != 0)
        return RGM_OK;
    for (int64_t t = 1; t <= count; t++)
        if (rgm_search_is_open(searcher, t) &&
            (best == 0 || rgm_search_key(searcher, t) < rgm_search_key(searcher, best)))
            best = t;
    for (int64_t t = 1; t <= count; t++)
        if (rgm_search_is_open(searcher, t) && t != best)
            RGM_TRY(rgm_search_close(searcher, t));
    if (best == 0 || o->max_steps <= o->first_steps)
        return best == 0 ? RGM_OK : rgm_search_close(searcher, best);
    return rgm_search_train_and_validate(searcher, best, o->max_steps);
}

static rgm_status sieve_validated(rgm_searcher *searcher, void *state, const void *options,
                                  int64_t trial, int64_t length)
{
    const sieve_options *o = options;

    if (length > o->first_steps)
        return rgm_search_close(searcher, trial);
    return one_less(searcher, state, o);
}

static rgm_status sieve_exited(rgm_searcher *searcher, void *state, const void *options,
                               int64_t trial, bool invalid)
{
    (void)invalid;
    return rgm_searcher_trial(searcher, trial)->length == 0 ? one_less(searcher, state, options)
                                                            : RGM_OK;
}

static rgm_status sieve_archive(rgm_archive *archive, void *state)
{
    return rgm_archive_int(archive, "left", &((sieve_state *)state)->left);
}

static const rgm_searcher_type sieve = {.section = {.name = "sieve",
                                                    .help = "the best of short trials trains on",
                                                    .options_size = sizeof(sieve_options),
                                                    .defaults = sieve_defaults,
                                                    .fields = sieve_fields},
                                        .state_size = sizeof(sieve_state),
                                        .stops_early = true,
                                        .max_length = sieve_length,
                                        .begin = sieve_begin,
                                        .validated = sieve_validated,
                                        .exited = sieve_exited,
                                        .archive = sieve_archive};
RGM_SEARCHER_OBJECT(sieve, sieve);

/* ---- the sampler --------------------------------------------------------------------------- */

/* Numbers within a tenth of their range of the best trial's; choices and what has a condition are
 * drawn anew. */
static rgm_status near_draw(rgm_hyper_value *values, const rgm_searcher *searcher,
                            const void *options, rgm_mt19937 *random)
{
    const rgm_space *space = rgm_searcher_space(searcher);
    const rgm_search_trial *best = NULL;
    int64_t count = rgm_searcher_trial_count(searcher);

    (void)options;
    RGM_TRY(rgm_space_draw(values, space, random));
    for (int64_t t = 1; t <= count; t++) {
        const rgm_search_trial *trial = rgm_searcher_trial(searcher, t);
        if (trial->length > 0 && (best == NULL || trial->best_key < best->best_key))
            best = trial;
    }
    for (int64_t i = 0; best != NULL && count % 2 == 1 && i < rgm_space_count(space); i++) {
        const rgm_hyperparameter *h = rgm_space_at(space, i);
        double range = h->maxval - h->minval, x = best->values[i].number;

        if (h->kind != RGM_HYPER_DOUBLE || h->when != NULL)
            continue;
        x += rgm_mt19937_uniform(random, -0.1, 0.1) * range;
        values[i].number = x < h->minval ? h->minval : x < h->maxval ? x : values[i].number;
    }
    return rgm_space_holds(space, values, NULL) ? RGM_OK : rgm_space_draw(values, space, random);
}

static const rgm_sampler_type near_best = {
    .section = {.name = "near", .help = "every second trial beside the best one"},
    .draw = near_draw};
RGM_SAMPLER_OBJECT(near, near_best);

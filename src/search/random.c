/*
 * single and random: every trial trains to one length, whatever comes of it.
 */
#include "search_internal.h"

typedef struct random_state {
    int64_t created; /* that count: invalid ones are replaced */
} random_state;

#define RGM_OPTIONS rgmi_full_options
static const rgm_field single_fields[] = {RGMI_LENGTH_FIELDS(trial, "of the trial"), {0}};
static const rgm_field random_fields[] = {
    RGM_INT_FIELD(max_trials, 1, RGMI_MOST_TRIALS, "trials"),
    RGMI_LENGTH_FIELDS(trial, "of a trial"),
    RGM_INT_FIELD(max_concurrent_trials, 0, RGMI_MOST_TRIALS, "at a time; 0: all"),
    {0}};
#undef RGM_OPTIONS

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    rgmi_full_options *o = options;
    rgmi_mistakes mistakes = {0};

    (void)state;
    searcher->most_points = o->max_trials;
    RGM_GO(rgmi_search_need(&mistakes, o->max_trials, "max_trials", section));
    RGM_GO(rgmi_search_need_turns(&mistakes, searcher, o->max_trials, o->max_trials, section));
    RGM_GO(rgmi_mistake(&mistakes, rgmi_length_options_read(&o->trial, section)));
    status = rgmi_mistakes_tell(&mistakes);
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

static void single_defaults(void *options)
{
    *(rgmi_full_options *)options = (rgmi_full_options){.max_trials = 1};
}

static rgm_status add_trial(rgm_searcher *searcher, random_state *state, const void *options)
{
    int64_t trial;

    state->created++;
    RGM_TRY(rgm_search_create(&trial, searcher));
    return rgm_search_train_and_validate(searcher, trial, rgmi_length_of(options).units);
}

static int64_t left(const void *state, const void *options)
{
    int64_t most = ((const rgmi_full_options *)options)->max_trials;
    int64_t created = ((const random_state *)state)->created;

    return most > created ? most - created : 0;
}

/* At the beginning, and whenever a trial is over or the options were changed: with fewer at a time
 * than there are none is created until enough are over. */
static rgm_status fill(rgm_searcher *searcher, void *state, const void *options)
{
    const rgmi_full_options *o = options;
    int64_t most = rgmi_trials_at_once(o->max_concurrent_trials, o->max_trials);

    while (left(state, options) > 0 && searcher->open < most)
        RGM_TRY(add_trial(searcher, state, options));
    return RGM_OK;
}

static rgm_status validated(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                            int64_t length)
{
    (void)state;
    (void)options;
    (void)length;
    return rgm_search_close(searcher, trial);
}

static rgm_status closed(rgm_searcher *searcher, void *state, const void *options, int64_t trial)
{
    (void)trial;
    return fill(searcher, state, options);
}

static rgm_status exited(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                         bool invalid)
{
    (void)trial;
    ((random_state *)state)->created -= invalid;
    return fill(searcher, state, options);
}

/* ---- changes -------------------------------------------------------------------------------- */

static const char *const live_keys[] = {"max_trials", "max_concurrent_trials", NULL};
static const rgm_searcher_live live = {.keys = live_keys, .extend = fill, .left = left};

static double progress(const rgm_searcher *searcher, const void *state, const void *options)
{
    const rgmi_full_options *o = options;

    (void)state;
    return (double)rgm_search_work(searcher) /
           ((double)(o->trial.length.units + 1) * (double)o->max_trials);
}

static rgm_status describe(rgm_text *out, const rgm_searcher *searcher, const void *state,
                           const void *options)
{
    const rgmi_full_options *o = options;

    (void)searcher;
    (void)state;
    return rgm_text_printf(out, "%lld trial%s of %lld %s\n", (long long)o->max_trials,
                           o->max_trials > 1 ? "s" : "", (long long)o->trial.length.units,
                           rgm_length_unit_names[o->trial.length.unit]);
}

static rgm_status archive(rgm_archive *a, void *state)
{
    random_state *s = state;

    RGM_TRY(rgm_archive_int(a, "created", &s->created));
    return s->created >= 0 && s->created <= RGMI_MOST_TRIALS
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: 'created' is out of range");
}

#define FULL_FUNCTIONS                                                                             \
    .state_size = sizeof(random_state), .prepare = prepare, .max_length = rgmi_length_of,          \
    .begin = fill, .validated = validated, .exited = exited, .closed = closed,                     \
    .progress = progress, .describe = describe, .archive = archive

const rgm_searcher_type rgmi_single_type = {.section = {.name = "single",
                                                        .help = "one trial",
                                                        .options_size = sizeof(rgmi_full_options),
                                                        .defaults = single_defaults,
                                                        .fields = single_fields},
                                            FULL_FUNCTIONS};
const rgm_searcher_type rgmi_random_type = {.section = {.name = "random",
                                                        .help = "trials by the sampler, all to "
                                                                "the end",
                                                        .options_size = sizeof(rgmi_full_options),
                                                        .fields = random_fields},
                                            .live = &live,
                                            FULL_FUNCTIONS};

/*
 * grid: every combination of a few values of each hyperparameter, the first name varying slowest.
 * An axis whose condition does not hold has one place, where it is not set; what breaks a
 * constraint is left out. Points are counted off like an odometer, so that none has to be kept.
 */
#include "search_internal.h"

#include <math.h>
#include <string.h>

#define MOST_POINTS 2000

typedef struct grid_state {
    int64_t *at; /* [axes] of the next point */
    int64_t axes;
    int64_t points; /* that there are                  */
    int64_t taken;  /* those that were given out       */
} grid_state;

#define RGM_OPTIONS rgmi_full_options
static const rgm_field fields[] = {
    RGMI_LENGTH_FIELDS(trial, "of a trial"),
    RGM_INT_FIELD(max_concurrent_trials, 0, RGMI_MOST_TRIALS, "at a time; 0: all"),
    {0}};
#undef RGM_OPTIONS

/* ---- axes ---------------------------------------------------------------------------------- */

static int64_t axis_size(const rgm_hyperparameter *h)
{
    double most = h->maxval - h->minval + 1;

    if (h->kind == RGM_HYPER_CONST || h->kind == RGM_HYPER_CATEGORICAL)
        return h->values.count;
    return h->kind == RGM_HYPER_INT && (double)h->count > most ? (int64_t)most : h->count;
}

static void set_axis(rgm_hyper_value *value, const rgm_hyperparameter *h, int64_t at)
{
    int64_t size = axis_size(h), place = at < size ? at : size - 1; /* a restored `at` may be any */
    double x = size > 1 ? h->minval + (double)place * (h->maxval - h->minval) / (double)(size - 1)
                        : (h->minval + h->maxval) / 2;

    *value = (rgm_hyper_value){.is_set = true};
    if (h->kind == RGM_HYPER_CONST || h->kind == RGM_HYPER_CATEGORICAL)
        value->choice = place;
    else if (h->kind == RGM_HYPER_INT)
        value->integer = (int64_t)round(x); /* half away from zero */
    else
        value->number = h->kind == RGM_HYPER_LOG ? pow(h->base, x) : x;
}

static void set_point(rgm_hyper_value *values, const grid_state *g, const rgm_space *space)
{
    for (int64_t i = 0; i < g->axes; i++) {
        values[i] = (rgm_hyper_value){0};
        if (rgm_space_applies(space, i, values))
            set_axis(&values[i], rgm_space_at(space, i), g->at[i]);
    }
}

/* To the next combination, whose values are those of `values` so far; false: that was the last. */
static bool advance(grid_state *g, const rgm_hyper_value *values, const rgm_space *space)
{
    for (int64_t i = g->axes - 1; i >= 0; i--) {
        if (values[i].is_set && g->at[i] + 1 < axis_size(rgm_space_at(space, i))) {
            g->at[i]++;
            return true;
        }
        g->at[i] = 0;
    }
    return false;
}

/* ---- the plan ------------------------------------------------------------------------------ */

static rgm_status check_counts(const rgm_space *space, const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    rgm_text names = {0};

    for (int64_t i = 0; i < space->count; i++) { /* by name */
        const rgm_hyperparameter *h = &space->items[i].shown;

        if (h->kind >= RGM_HYPER_INT && h->count == 0 && names.size < 600)
            RGM_GO(rgm_text_printf(&names, "%s%s", names.size > 0 ? ", " : "", h->name));
    }
    if (names.size > 0)
        status = rgm_yaml_fail(
            section, "these hyperparameters must specify counts for grid search: %s", names.data);
done:
    rgm_text_clear(&names);
    return status;
}

/* Combinations are counted before constraints, so that the walk is short too. */
static rgm_status count_points(grid_state *g, const rgm_space *space, const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    rgm_hyper_value *values = NULL;
    int64_t walked = 0;

    RGM_GO(RGM_NEW(values, g->axes));
    do {
        if (++walked > MOST_POINTS) {
            status = rgm_yaml_fail(section, "the grid has more than %d points; lower a count",
                                   MOST_POINTS);
            goto done;
        }
        set_point(values, g, space);
        g->points += rgm_space_holds(space, values, NULL);
    } while (advance(g, values, space));
    if (g->points == 0)
        status = rgm_yaml_fail(section, "no point of the grid keeps the constraints");
done:
    rgm_free(values);
    return status;
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    grid_state *g = state;
    rgmi_full_options *o = options;
    rgmi_mistakes mistakes = {0};
    bool sampled = rgm_yaml_find(section, "sampler") != NULL || searcher->point_count > 0;

    RGM_GO(rgmi_mistake(&mistakes, rgmi_length_options_read(&o->trial, section)));
    if (sampled)
        RGM_GO(rgmi_mistake(&mistakes, rgm_yaml_fail(section, "grid tries every point there is: "
                                                              "it takes no sampler and no "
                                                              "points")));
    RGM_GO(rgmi_mistake(&mistakes, check_counts(searcher->space, section)));
    g->axes = searcher->space->count;
    RGM_GO(RGM_NEW(g->at, g->axes));
    if (mistakes.count == 0)
        RGM_GO(rgmi_mistake(&mistakes, count_points(g, searcher->space, section)));
    status = rgmi_mistakes_tell(&mistakes);
    o->max_trials = g->points;
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

/* ---- the search ---------------------------------------------------------------------------- */

static rgm_status add_trial(rgm_searcher *searcher, grid_state *g, const void *options)
{
    rgm_status status = RGM_OK;
    const rgm_space *space = rgm_searcher_space(searcher);
    rgm_hyper_value *values = NULL;
    int64_t trial;
    bool found;

    if (g->taken == g->points)
        return RGM_OK;
    RGM_GO(RGM_NEW(values, g->axes));
    do {
        set_point(values, g, space);
        found = rgm_space_holds(space, values, NULL);
    } while (advance(g, values, space) && !found);
    if (!found)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: the grid ends before its points"));
    g->taken++;
    RGM_GO(rgm_search_create_from(&trial, searcher, values, 0));
    RGM_GO(rgm_search_train_and_validate(searcher, trial, rgmi_length_of(options).units));
done:
    rgm_free(values);
    return status;
}

static rgm_status begin(rgm_searcher *searcher, void *state, const void *options)
{
    const rgmi_full_options *o = options;
    grid_state *g = state;
    int64_t count = rgmi_trials_at_once(o->max_concurrent_trials, g->points);

    for (int64_t i = 0; i < count; i++)
        RGM_TRY(add_trial(searcher, g, options));
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
    return add_trial(searcher, state, options);
}

/* A point that cannot be is gone: there is no other in its place. */
static rgm_status exited(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                         bool invalid)
{
    (void)invalid;
    return closed(searcher, state, options, trial);
}

static double progress(const rgm_searcher *searcher, const void *state, const void *options)
{
    const rgmi_full_options *o = options;
    const grid_state *g = state;

    return (double)rgm_search_work(searcher) /
           ((double)(o->trial.length.units + 1) * (double)g->points);
}

static rgm_status describe(rgm_text *out, const rgm_searcher *searcher, const void *state,
                           const void *options)
{
    const rgmi_full_options *o = options;
    const grid_state *g = state;

    (void)searcher;
    return rgm_text_printf(out, "%lld point%s of %lld %s\n", (long long)g->points,
                           g->points > 1 ? "s" : "", (long long)o->trial.length.units,
                           rgm_length_unit_names[o->trial.length.unit]);
}

static rgm_status archive(rgm_archive *a, void *state)
{
    grid_state *g = state;
    int64_t axes = g->axes;

    RGM_TRY(rgm_archive_ints(a, "at", &g->at, &axes));
    RGM_TRY(rgm_archive_int(a, "taken", &g->taken));
    for (int64_t i = 0; i < axes && i < g->axes; i++)
        if (g->at[i] < 0 || g->at[i] > MOST_POINTS)
            axes = -1;
    if (axes != g->axes || g->taken < 0 || g->taken > g->points)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: no such place of the grid");
    return RGM_OK;
}

static void clear(void *state)
{
    rgm_free(((grid_state *)state)->at);
}

const rgm_searcher_type rgmi_grid_type = {.section = {.name = "grid",
                                                      .help = "every combination, all to the end",
                                                      .options_size = sizeof(rgmi_full_options),
                                                      .fields = fields},
                                          .state_size = sizeof(grid_state),
                                          .prepare = prepare,
                                          .max_length = rgmi_length_of,
                                          .begin = begin,
                                          .validated = validated,
                                          .exited = exited,
                                          .closed = closed,
                                          .progress = progress,
                                          .describe = describe,
                                          .archive = archive,
                                          .clear = clear};

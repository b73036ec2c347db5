/*
 * Searches that are changed while they go on: more trials, points, bounds; trials that end on
 * request; earlier searches to learn of. What goes on after a change can be saved and restored as
 * ever.
 */
#include "search_check.h"

#include <regimen/search_live.h>

#define SPACE                                                                                      \
    "hyperparameters: {rate: {type: double, minval: 0, maxval: %s}, kind: {type: categorical, "    \
    "vals: %s}}\nsearcher: {metric: loss, %s}\n"

static rgm_search_file *file_of(const char *searcher, const char *most, const char *kinds)
{
    rgm_search_file *file;
    char text[1000];

    snprintf(text, sizeof text, SPACE, most, kinds, searcher);
    CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "s.yaml", NULL));
    return file;
}

static rgm_searcher *searcher_of(const rgm_search_file *file)
{
    rgm_searcher *searcher;

    CHECK_OK(rgm_search_file_searcher(&searcher, file, 7, NULL));
    return searcher;
}

static rgm_searcher *begun(const rgm_search_file *file)
{
    rgm_searcher *searcher = searcher_of(file);

    CHECK_OK(rgm_searcher_begin(searcher));
    return searcher;
}

/* Does what it asks for, at most `most` validations; by its rate the loss is. */
static int64_t work(rgm_searcher *s, int64_t most)
{
    int64_t done = 0;
    rgm_operation o;

    while (done < most && rgm_searcher_next(&o, s)) {
        double loss;

        if (o.kind == RGM_ASK_VALIDATE) {
            loss = rgm_searcher_trial(s, o.trial)->values[1].number + 1 / (double)(1 + o.length);
            CHECK_OK(
                rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, o.trial, o.length, &loss}));
            done++;
        } else if (o.kind == RGM_ASK_CLOSE) {
            CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_CLOSED, o.trial}));
        }
    }
    return done;
}

static void print_trials(rgm_text *out, const rgm_searcher *s)
{
    rgm_text_clear(out);
    for (int64_t i = 1; i <= rgm_searcher_trial_count(s); i++) {
        const rgm_search_trial *t = rgm_searcher_trial(s, i);

        CHECK_OK(rgm_text_printf(out, "%lld ", (long long)t->length));
        CHECK_OK(rgm_space_print_json(out, rgm_searcher_space(s), t->values));
        CHECK_OK(rgm_text_printf(out, "\n"));
    }
}

/* What came of a changed search, and of one that was so from its beginning. */
static void check_same(rgm_searcher *changed, rgm_searcher *whole)
{
    rgm_text a = {0}, b = {0};

    print_trials(&a, changed);
    print_trials(&b, whole);
    CHECK_TEXT(b.data, a.data);
    rgm_text_clear(&a);
    rgm_text_clear(&b);
}

/* ---- more trials ---------------------------------------------------------------------------- */

static const char *const few_and_many[][2] = {
    {"name: random, max_steps: 3, max_trials: 3", "name: random, max_steps: 3, max_trials: 8"},
    {"name: random, max_steps: 3, max_trials: 3, max_concurrent_trials: 2",
     "name: random, max_steps: 3, max_trials: 8, max_concurrent_trials: 2"},
    {"name: median, max_steps: 9, interval: 9, max_trials: 3, max_concurrent_trials: 1",
     "name: median, max_steps: 9, interval: 9, max_trials: 8, max_concurrent_trials: 1"},
    {"name: adaptive_asha, max_steps: 16, max_trials: 4, bracket_rungs: [2], "
     "max_concurrent_trials: 1",
     "name: adaptive_asha, max_steps: 16, max_trials: 8, bracket_rungs: [2], "
     "max_concurrent_trials: 1"},
};

/* Random ones come out the same as if there had been so many from the beginning. */
static void more_trials_are_those_that_would_have_been(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof few_and_many / sizeof *few_and_many; i++)
        for (int after = 0; after < 2; after++) {
            rgm_search_file *few = file_of(few_and_many[i][0], "1", "[a, b]");
            rgm_search_file *many = file_of(few_and_many[i][1], "1", "[a, b]");
            rgm_searcher *before = begun(few), *whole = begun(many), *s = searcher_of(many);

            work(before, after == 1 ? INT64_MAX : 2);
            CHECK(rgm_searcher_is_over(before) == (after == 1));
            CHECK_OK(rgm_search_file_check_change(many, few));
            CHECK_OK(rgm_searcher_take_over(s, before));
            CHECK(!rgm_searcher_is_over(s));
            CHECK(rgm_searcher_progress(s) < 1);
            CHECK(work(s, INT64_MAX) > 0);
            work(whole, INT64_MAX);
            CHECK(rgm_searcher_is_over(s) && rgm_searcher_trials_left(s) == 0);
            CHECK_INT(8, rgm_searcher_trial_count(s));
            if (i < 3)
                check_same(s, whole);
            rgm_searcher_release(before);
            rgm_searcher_release(whole);
            rgm_searcher_release(s);
            rgm_search_file_release(few);
            rgm_search_file_release(many);
        }
}

/* Of eight trials more would be planned with three rungs; they go by the two that there are. */
static void more_trials_keep_the_rungs(void **state)
{
    rgm_search_file *few = file_of("name: adaptive_asha, max_steps: 16, max_trials: 4", "1", "[a]");
    rgm_search_file *many =
        file_of("name: adaptive_asha, max_steps: 16, max_trials: 20", "1", "[a]");
    rgm_searcher *before = begun(few), *s = searcher_of(many);
    rgm_text plan = {0};

    (void)state;
    work(before, 3);
    CHECK_OK(rgm_searcher_print_plan(&plan, before));
    CHECK_TEXT("bracket_rungs: [2]", plan.data);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_searcher_take_over(s, before));
    rgm_searcher_release(s);
    rgm_search_file_release(many);
    many = file_of("name: adaptive_asha, max_steps: 16, max_trials: 20, bracket_rungs: [2]", "1",
                   "[a]");
    s = searcher_of(many);
    CHECK_OK(rgm_search_file_check_change(many, few));
    CHECK_OK(rgm_searcher_take_over(s, before));
    work(s, INT64_MAX);
    CHECK_INT(20, rgm_searcher_trial_count(s));
    rgm_text_clear(&plan);
    rgm_searcher_release(before);
    rgm_searcher_release(s);
    rgm_search_file_release(few);
    rgm_search_file_release(many);
}

/* ---- fewer at a time ------------------------------------------------------------------------ */

/* Validations that were asked for, the oldest first. */
typedef struct at_work {
    int64_t trials[20], lengths[20], count;
} at_work;

static void take_work(at_work *w, rgm_searcher *s)
{
    rgm_operation o;

    while (rgm_searcher_next(&o, s)) {
        if (o.kind == RGM_ASK_VALIDATE) {
            w->trials[w->count] = o.trial;
            w->lengths[w->count++] = o.length;
        } else if (o.kind == RGM_ASK_CLOSE) {
            CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_CLOSED, o.trial}));
        }
    }
}

static void end_oldest(at_work *w, rgm_searcher *s)
{
    double loss = (double)w->trials[0];
    rgm_search_event event = {RGM_VALIDATED, w->trials[0], w->lengths[0], &loss};

    w->count--;
    memmove(w->trials, w->trials + 1, (size_t)w->count * sizeof *w->trials);
    memmove(w->lengths, w->lengths + 1, (size_t)w->count * sizeof *w->lengths);
    CHECK_OK(rgm_searcher_tell(s, &event));
    take_work(w, s);
}

static rgm_search_file *file_at_once(const char *searcher, int at_once)
{
    char text[200];

    snprintf(text, sizeof text, "%s, max_trials: 12, max_concurrent_trials: %d", searcher, at_once);
    return file_of(text, "1", "[a, b]");
}

/* Those that run go on, and none is created until fewer are at work than may be. */
static void with_fewer_at_a_time_none_begins_until_others_are_over(void **state)
{
    static const char *const searchers[] = {
        "name: random, max_steps: 3", "name: median, max_steps: 3, interval: 3",
        "name: adaptive_asha, max_steps: 16, bracket_rungs: [2]",
        "name: bohb, max_steps: 16, bracket_rungs: [2]"};

    (void)state;
    for (size_t i = 0; i < sizeof searchers / sizeof *searchers; i++) {
        rgm_search_file *five = file_at_once(searchers[i], 5), *two = file_at_once(searchers[i], 2);
        rgm_searcher *before = begun(five), *s = searcher_of(two);
        at_work w = {.count = 0};

        take_work(&w, before);
        CHECK_OK(rgm_search_file_check_change(two, five));
        CHECK_OK(rgm_searcher_take_over(s, before));
        take_work(&w, s);
        CHECK_INT(5, w.count);
        while (w.count > 0) {
            int64_t had = rgm_searcher_trial_count(s);

            end_oldest(&w, s);
            CHECK(rgm_searcher_trial_count(s) == had || w.count <= 2);
        }
        CHECK_INT(12, rgm_searcher_trial_count(s));
        CHECK(rgm_searcher_is_over(s));
        rgm_searcher_release(before);
        rgm_searcher_release(s);
        rgm_search_file_release(five);
        rgm_search_file_release(two);
    }
}

/* ---- bounds --------------------------------------------------------------------------------- */

#define TPE(trials)                                                                                \
    "name: random, max_steps: 3, max_concurrent_trials: 2, sampler: {type: tpe, startup_trials: "  \
    "4}, max_trials: " #trials

static void trials_outside_of_new_bounds_are_not_learned_of(void **state)
{
    rgm_search_file *wide = file_of(TPE(12), "1", "[a, b]");
    rgm_search_file *narrow = file_of(TPE(30), "0.125", "[a, b, c]");
    rgm_searcher *before = begun(wide), *s = searcher_of(narrow), *again = searcher_of(narrow);
    int64_t outside = 0, third = 0;
    rgm_text a = {0};

    (void)state;
    work(before, 9);
    CHECK_OK(rgm_search_file_check_change(narrow, wide));
    CHECK_OK(rgm_searcher_take_over(s, before));
    CHECK_OK(rgm_searcher_save(&a, s));
    CHECK_OK(rgm_searcher_restore(again, a.data, a.size)); /* with values beyond its bounds */
    for (int64_t i = 1; i <= rgm_searcher_trial_count(before); i++) {
        bool is_outside = rgm_searcher_trial(s, i)->values[1].number > 0.125;

        outside += is_outside;
        CHECK(rgm_searcher_trial(s, i)->outside == is_outside);
        CHECK(rgm_searcher_trial(again, i)->outside == is_outside);
    }
    CHECK(outside > 0);
    work(s, INT64_MAX);
    for (int64_t i = rgm_searcher_trial_count(before) + 1; i <= rgm_searcher_trial_count(s); i++) {
        CHECK(rgm_searcher_trial(s, i)->values[1].number <= 0.125);
        third += rgm_searcher_trial(s, i)->values[0].choice == 2;
    }
    CHECK_INT(30, rgm_searcher_trial_count(s));
    CHECK(third > 0);
    work(again, INT64_MAX);
    check_same(again, s);
    rgm_text_clear(&a);
    rgm_searcher_release(before);
    rgm_searcher_release(s);
    rgm_searcher_release(again);
    rgm_search_file_release(wide);
    rgm_search_file_release(narrow);
}

/* Whole numbers that are outside keep their values too. */
static void a_whole_number_may_be_outside_of_new_bounds(void **state)
{
    rgm_search_file *wide =
        file_of(TPE(12), "1}, units: {type: int, minval: 8, maxval: 640", "[a]");
    rgm_search_file *narrow =
        file_of(TPE(12), "1}, units: {type: int, minval: 8, maxval: 64", "[a]");
    rgm_searcher *before = begun(wide), *s = searcher_of(narrow);
    int64_t outside = 0;

    (void)state;
    work(before, 9);
    CHECK_OK(rgm_searcher_take_over(s, before));
    for (int64_t i = 1; i <= rgm_searcher_trial_count(before); i++) {
        const rgm_search_trial *t = rgm_searcher_trial(s, i);

        CHECK(t->outside == (t->values[2].integer > 64));
        outside += t->outside;
    }
    CHECK(outside > 0);
    work(s, INT64_MAX);
    CHECK(rgm_searcher_trial(s, 12)->values[2].integer <= 64);
    rgm_searcher_release(before);
    rgm_searcher_release(s);
    rgm_search_file_release(wide);
    rgm_search_file_release(narrow);
}

/* ---- points --------------------------------------------------------------------------------- */

#define POINTS(list)                                                                               \
    "name: random, max_steps: 3, max_trials: 4, max_concurrent_trials: 1, points: [" list "]"

/* Bounds may be narrowed past a point that was tried, as past a trial that was drawn; a point that
 * waits has to keep them. */
static void a_point_that_was_tried_may_be_outside_of_new_bounds(void **state)
{
    static const char tried[] = "{rate: 0.9, kind: a}", waits[] = "{rate: 0.9, kind: a}, {rate: "
                                                                  "0.8, kind: a}";
    rgm_search_file *wide = file_of(POINTS("{rate: 0.9, kind: a}"), "1", "[a]");
    rgm_searcher *before = begun(wide);

    (void)state;
    work(before, 1);
    for (int i = 0; i < 2; i++) {
        rgm_search_file *narrow;
        rgm_searcher *s;
        char text[500], searcher[300];

        snprintf(searcher, sizeof searcher, POINTS("%s"), i == 0 ? tried : waits);
        snprintf(text, sizeof text, SPACE, "0.5", "[a]", searcher);
        CHECK_STATUS(RGM_ERR_CONFIG,
                     rgm_search_file_parse(&narrow, NULL, text, (int64_t)strlen(text), "s", NULL));
        CHECK_STATUS(i == 0 ? RGM_OK : RGM_ERR_CONFIG,
                     rgm_search_file_parse_changed(&narrow, NULL, text, (int64_t)strlen(text), "s",
                                                   NULL, before));
        rgm_search_file_release(narrow);
        CHECK_OK(rgm_search_file_parse_kept(&narrow, NULL, text, (int64_t)strlen(text), "s", NULL));
        s = searcher_of(narrow);
        CHECK_STATUS(i == 0 ? RGM_OK : RGM_ERR_CONFIG, rgm_searcher_take_over(s, before));
        if (i == 1)
            CHECK_MESSAGE("point 2, which was not tried yet, is outside");
        if (i == 0) {
            CHECK(rgm_searcher_trial(s, 1)->outside);
            work(s, INT64_MAX);
            CHECK_INT(4, rgm_searcher_trial_count(s));
        }
        rgm_searcher_release(s);
        rgm_search_file_release(narrow);
    }
    rgm_searcher_release(before);
    rgm_search_file_release(wide);
}

static void a_point_is_the_next_trial(void **state)
{
    const char *two = "name: random, max_steps: 3, max_trials: 4, max_concurrent_trials: 1, "
                      "points: [{rate: 0.5, kind: a}, {rate: 0.25, kind: b}]";
    const char *other = "name: random, max_steps: 3, max_trials: 4, max_concurrent_trials: 1, "
                        "points: [{rate: 0.75, kind: a}, {rate: 0.25, kind: b}]";
    rgm_search_file *one = file_of("name: random, max_steps: 3, max_trials: 4, "
                                   "max_concurrent_trials: 1, points: [{rate: 0.5, kind: a}]",
                                   "1", "[a, b]");
    rgm_search_file *more = file_of(two, "1", "[a, b]"), *changed = file_of(other, "1", "[a, b]");
    rgm_searcher *before = begun(one), *s = searcher_of(more), *wrong = searcher_of(changed);

    (void)state;
    work(before, 2);
    CHECK_INT(2, rgm_searcher_trials_left(before));
    CHECK_INT(0, rgm_searcher_points_left(before));
    CHECK_OK(rgm_search_file_check_change(more, one));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_searcher_take_over(wrong, before));
    CHECK(strstr(rgm_error_message(), "the first 1 were tried") != NULL);
    CHECK_OK(rgm_searcher_take_over(s, before));
    CHECK_INT(1, rgm_searcher_points_left(s));
    work(s, INT64_MAX);
    CHECK_INT(4, rgm_searcher_trial_count(s));
    CHECK(rgm_searcher_trial(s, 3)->values[1].number == 0.25);
    CHECK_INT(1, rgm_searcher_trial(s, 3)->values[0].choice);
    rgm_searcher_release(before);
    rgm_searcher_release(s);
    rgm_searcher_release(wrong);
    rgm_search_file_release(one);
    rgm_search_file_release(more);
    rgm_search_file_release(changed);
}

/* What is not given is the other's; what is not there under the new values is left out. */
static void a_point_is_varied(void **state)
{
    static const char text[] =
        "hyperparameters: {kind: {type: categorical, vals: [gcn, gat]}, heads: {type: int, minval: "
        "1, maxval: 8, when: kind == gat}, rate: {type: double, minval: 0, maxval: 1}}\n";
    rgm_hyper_value base[3], values[3];
    rgm_yaml *yaml;
    rgm_space *space;
    rgm_text json = {0};

    (void)state;
    CHECK_OK(read_space(&space, text));
    CHECK_OK(rgm_yaml_parse(&yaml, "{kind: gat, heads: 4, rate: 7}", 30, "p"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_space_read_point(base, space, rgm_yaml_root(yaml)));
    CHECK_OK(rgm_space_read_trial(base, space, rgm_yaml_root(yaml))); /* of other bounds */
    rgm_yaml_release(yaml);
    CHECK_OK(rgm_yaml_parse(&yaml, "{kind: gcn, rate: 0.5}", 22, "p"));
    CHECK_OK(rgm_space_vary_point(values, space, base, rgm_yaml_root(yaml)));
    CHECK_OK(rgm_space_print_json(&json, space, values));
    CHECK_TEXT("{\"kind\": \"gcn\", \"rate\": 0.5}", json.data);
    rgm_yaml_release(yaml);
    CHECK_OK(rgm_yaml_parse(&yaml, "{rate: 0.5}", 11, "p"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_space_vary_point(values, space, NULL, rgm_yaml_root(yaml)));
    CHECK(strstr(rgm_error_message(), "says nothing of 'kind'") != NULL);
    rgm_yaml_release(yaml);
    rgm_text_clear(&json);
    rgm_space_release(space);
}

/* ---- what cannot be changed ----------------------------------------------------------------- */

static void what_would_be_another_search_is_refused(void **state)
{
    static const char random[] = "name: random, max_steps: 3, max_trials: 4";
    static const struct {
        const char *searcher, *most, *kinds, *why;
    } changes[] = {
        {"name: random, max_steps: 4, max_trials: 4", "1", "[a, b]", "searcher.max_steps"},
        {"name: median, max_steps: 3, max_trials: 4", "1", "[a, b]", "searcher.name"},
        {"name: random, max_steps: 3, max_trials: 4, smaller_is_better: false", "1", "[a, b]",
         "searcher.smaller_is_better"},
        {random, "1", "[b, a]", "the list of its values"},
        {random, "1", "[a]", "the list of its values"},
        {random, "1}, more: {type: double, minval: 0, maxval: 1", "[a, b]", "hyperparameters"},
    };
    rgm_search_file *file = file_of(random, "1", "[a, b]");

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        rgm_search_file *changed = file_of(changes[i].searcher, changes[i].most, changes[i].kinds);

        CHECK_STATUS(RGM_ERR_CONFIG, rgm_search_file_check_change(changed, file));
        CHECK(strstr(rgm_error_message(), changes[i].why) != NULL);
        rgm_search_file_release(changed);
    }
    rgm_search_file_release(file);
}

static void a_searcher_with_a_plan_of_its_own_is_not_changed(void **state)
{
    rgm_search_file *file =
        file_of("name: adaptive_simple, max_steps: 16, max_trials: 8", "1", "[a]");
    rgm_search_file *changed =
        file_of("name: adaptive_simple, max_steps: 16, max_trials: 9", "1", "[a]");
    rgm_searcher *before = begun(file), *s = searcher_of(file);

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_search_file_check_change(changed, file));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_searcher_take_over(s, before));
    CHECK(strstr(rgm_error_message(), "'adaptive_simple' cannot be changed") != NULL);
    CHECK_INT(-1, rgm_searcher_trials_left(before));
    rgm_searcher_release(before);
    rgm_searcher_release(s);
    rgm_search_file_release(file);
    rgm_search_file_release(changed);
}

/* ---- trials that end ------------------------------------------------------------------------ */

/* It counts with its metric, and another takes its place where one is left. */
static void a_trial_that_ends_on_request_counts_as_what_it_reached(void **state)
{
    rgm_search_file *file = file_of("name: random, max_steps: 9, max_trials: 3, "
                                    "max_concurrent_trials: 2",
                                    "1", "[a, b]");
    rgm_searcher *s = begun(file), *again = searcher_of(file);
    double loss = 0.25;
    rgm_text a = {0};

    (void)state;
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_ENDED, 1, 4, &loss}));
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_ENDED, .trial = 2}));
    CHECK_INT(3, rgm_searcher_trial_count(s));
    CHECK_OK(rgm_searcher_save(&a, s));
    CHECK_OK(rgm_searcher_restore(again, a.data, a.size));
    for (int i = 0; i < 2; i++) {
        const rgm_search_trial *t = rgm_searcher_trial(i == 0 ? s : again, 1);

        CHECK(t->closed && !t->exited && !t->invalid && t->length == 4 && t->keys[0] == 0.25);
        CHECK(rgm_searcher_trial(i == 0 ? s : again, 2)->length == 0);
    }
    CHECK_STATUS(RGM_ERR_ARG, rgm_searcher_tell(s, &(rgm_search_event){RGM_ENDED, 1, 4, &loss}));
    work(s, INT64_MAX);
    CHECK(rgm_searcher_is_over(s));
    rgm_text_clear(&a);
    rgm_searcher_release(s);
    rgm_searcher_release(again);
    rgm_search_file_release(file);
}

/* Where it ends with its round, too: the others do not wait for it. */
static void a_population_goes_on_without_one_that_ended(void **state)
{
    rgm_search_file *file = file_of("name: pbt, population_size: 3, num_rounds: 3, "
                                    "steps_per_round: 1",
                                    "1", "[a]");
    double loss = 0.25;

    (void)state;
    for (int first = 0; first < 2; first++) {
        rgm_searcher *s = begun(file);
        rgm_operation o;

        while (rgm_searcher_next(&o, s))
            ;
        if (first == 1)
            CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_ENDED, 2, 1, &loss}));
        CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, 1, 1, &loss}));
        CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, 3, 1, &loss}));
        if (first == 0)
            CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_ENDED, 2, 1, &loss}));
        CHECK(work(s, INT64_MAX) >= 4);
        CHECK(rgm_searcher_is_over(s));
        rgm_searcher_release(s);
    }
    rgm_search_file_release(file);
}

/* ---- earlier searches ----------------------------------------------------------------------- */

/* Forty trials of before said that small rates are good: the first trials are small at once. */
static double mean_of_first_rates(const char *sampler, bool learns)
{
    rgm_search_file *file;
    rgm_searcher *s;
    char text[200];
    double sum = 0;

    snprintf(text, sizeof text,
             "name: random, max_steps: 3, max_concurrent_trials: 2, sampler: %s, max_trials: 8",
             sampler);
    file = file_of(text, "1", "[a]");
    s = searcher_of(file);

    for (int i = 0; i < 40 && learns; i++) {
        const rgm_hyper_value values[] = {{.is_set = true},
                                          {.is_set = true, .number = (double)i / 40}};
        double loss = values[1].number;

        CHECK_OK(rgm_searcher_learn(s, values, 3, &loss));
    }
    CHECK_OK(rgm_searcher_begin(s));
    work(s, INT64_MAX);
    for (int64_t i = 1; i <= 8; i++)
        sum += rgm_searcher_trial(s, i)->values[1].number;
    rgm_searcher_release(s);
    rgm_search_file_release(file);
    return sum / 8;
}

static void an_earlier_search_is_learned_of(void **state)
{
    (void)state;
    CHECK(mean_of_first_rates("gp", false) > 0.3);
    CHECK(mean_of_first_rates("gp", true) < 0.1);
    CHECK(mean_of_first_rates("{type: nsga2, population: 20}", false) > 0.3);
    CHECK(mean_of_first_rates("{type: nsga2, population: 20}", true) < 0.3);
}

/* ---- a distribution that is played again ----------------------------------------------------- */

#define CMA(at_once, more)                                                                         \
    "name: random, max_steps: 3, max_trials: 40, max_concurrent_trials: " at_once                  \
    ", sampler: {type: cma, population: 2}" more

/* Closes what is to be closed, and takes what is asked besides. */
static void close_trials(rgm_searcher *s)
{
    rgm_operation o;

    while (rgm_searcher_next(&o, s))
        if (o.kind == RGM_ASK_CLOSE)
            CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_CLOSED, o.trial}));
}

static void tell_loss(rgm_searcher *s, int64_t trial, double loss)
{
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, trial, 3, &loss}));
    close_trials(s);
}

static double rate_of(const rgm_searcher *s, int64_t trial)
{
    return rgm_searcher_trial(s, trial)->values[1].number;
}

/* The trial behind a point that is tried is the one that would have been drawn without. */
static void a_point_leaves_the_distribution_where_it_began(void **state)
{
    rgm_search_file *one = file_of(CMA("1", ""), "1", "[a]");
    rgm_search_file *two = file_of(CMA("2", ""), "1", "[a]");
    rgm_search_file *tried = file_of(CMA("2", ", points: [{rate: 0.9, kind: a}]"), "1", "[a]");
    rgm_searcher *before = begun(one), *plain = searcher_of(two), *s = searcher_of(tried);
    rgm_searcher *again = searcher_of(tried);
    rgm_text state_of_s = {0};

    (void)state;
    work(before, 21);
    CHECK_OK(rgm_searcher_take_over(plain, before));
    CHECK_OK(rgm_searcher_take_over(s, before));
    CHECK_OK(rgm_searcher_save(&state_of_s, s));
    CHECK_OK(rgm_searcher_restore(again, state_of_s.data, state_of_s.size));
    close_trials(plain);
    close_trials(s);
    close_trials(again);
    CHECK_INT(23, rgm_searcher_trial_count(plain));
    CHECK_INT(23, rgm_searcher_trial_count(s));
    CHECK(rate_of(s, 22) == 0.9 && rate_of(plain, 22) != 0.9);
    CHECK(rate_of(s, 23) == rate_of(plain, 23));
    CHECK(rate_of(again, 23) == rate_of(plain, 23));
    rgm_text_clear(&state_of_s);
    rgm_searcher_release(before);
    rgm_searcher_release(plain);
    rgm_searcher_release(s);
    rgm_searcher_release(again);
    rgm_search_file_release(one);
    rgm_search_file_release(two);
    rgm_search_file_release(tried);
}

/* The distribution began beside a point of the user, and hears of its result all the same. */
static void a_point_counts_whose_result_comes_late(void **state)
{
    rgm_search_file *file = file_of(CMA("2", ", points: [{rate: 0.9, kind: a}]"), "1", "[a]");
    rgm_searcher *good = begun(file), *bad = begun(file);

    (void)state;
    close_trials(good);
    close_trials(bad);
    tell_loss(good, 2, 0.5);
    tell_loss(bad, 2, 0.5);
    CHECK(rate_of(good, 3) == rate_of(bad, 3));
    tell_loss(good, 1, 0.1);
    tell_loss(bad, 1, 0.7);
    CHECK_INT(4, rgm_searcher_trial_count(good));
    CHECK(rate_of(good, 4) != rate_of(bad, 4));
    rgm_searcher_release(good);
    rgm_searcher_release(bad);
    rgm_search_file_release(file);
}

static rgm_status change_once(void)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL, *changed = NULL;
    rgm_searcher *before = NULL, *s = NULL;
    const rgm_hyper_value values[] = {{.is_set = true}, {.is_set = true, .number = 0.5}};
    double loss = 1;
    char text[2][500];

    snprintf(text[0], sizeof text[0], SPACE, "1", "[a, b]", TPE(4));
    snprintf(text[1], sizeof text[1], SPACE, "0.5", "[a, b, c]", TPE(9));
    RGM_GO(rgm_search_file_parse(&file, NULL, text[0], (int64_t)strlen(text[0]), "s", NULL));
    RGM_GO(rgm_search_file_parse(&changed, NULL, text[1], (int64_t)strlen(text[1]), "s", NULL));
    RGM_GO(rgm_search_file_check_change(changed, file));
    RGM_GO(rgm_search_file_searcher(&before, file, 7, NULL));
    RGM_GO(rgm_searcher_begin(before));
    RGM_GO(rgm_search_file_searcher(&s, changed, 7, NULL));
    RGM_GO(rgm_searcher_learn(s, values, 3, &loss));
    RGM_GO(rgm_searcher_take_over(s, before));
done:
    rgm_searcher_release(before);
    rgm_searcher_release(s);
    rgm_search_file_release(file);
    rgm_search_file_release(changed);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(change_once(), (void)0);
}

TESTS(cmocka_unit_test(more_trials_are_those_that_would_have_been),
      cmocka_unit_test(more_trials_keep_the_rungs),
      cmocka_unit_test(with_fewer_at_a_time_none_begins_until_others_are_over),
      cmocka_unit_test(a_whole_number_may_be_outside_of_new_bounds),
      cmocka_unit_test(a_point_that_was_tried_may_be_outside_of_new_bounds),
      cmocka_unit_test(a_population_goes_on_without_one_that_ended),
      cmocka_unit_test(trials_outside_of_new_bounds_are_not_learned_of),
      cmocka_unit_test(a_point_is_the_next_trial), cmocka_unit_test(a_point_is_varied),
      cmocka_unit_test(what_would_be_another_search_is_refused),
      cmocka_unit_test(a_searcher_with_a_plan_of_its_own_is_not_changed),
      cmocka_unit_test(a_trial_that_ends_on_request_counts_as_what_it_reached),
      cmocka_unit_test(an_earlier_search_is_learned_of),
      cmocka_unit_test(a_point_leaves_the_distribution_where_it_began),
      cmocka_unit_test(a_point_counts_whose_result_comes_late),
      cmocka_unit_test(memory_that_runs_out_is_told))

/*
 * What holds of every searcher, in any order of completion and with any metrics: it ends by itself,
 * closes what it creates, its progress starts at 0, never falls and ends at 1, equal seeds and
 * events give equal operations, and a state saved at any event goes on with the same. And what the
 * common part refuses.
 */
#include "search_check.h"

static const char space_text[] =
    "hyperparameters:\n"
    "  model: {type: {type: categorical, vals: [gcn, gat]}, hidden: {type: int, minval: 4, maxval: "
    "64, count: 2},\n"
    "          heads: {type: int, minval: 1, maxval: 8, count: 2, when: model.type == gat}}\n"
    "  rate: {type: log, base: 10, minval: -4, maxval: -1, count: 2}\n"
    "  drop: {type: double, minval: 0, maxval: 0.9, count: 2}\n"
    "constraints: [model.heads <= model.hidden]\n";

static const char *const searchers[] = {
    "name: single, max_steps: 7",
    "name: random, max_trials: 9, max_steps: 3",
    "name: random, max_trials: 9, max_length: {epochs: 3}, max_concurrent_trials: 2",
    "name: grid, max_steps: 2",
    "name: grid, max_steps: 2, max_concurrent_trials: 3",
    "name: async_halving, num_rungs: 4, divisor: 4, target_trial_steps: 800, step_budget: 480",
    "name: sync_halving, num_rungs: 3, divisor: 3, max_length: {records: 90}, budget: 400",
    "name: adaptive, max_rungs: 3, target_trial_steps: 16, step_budget: 160, mode: conservative",
    "name: adaptive_simple, max_steps: 32, max_trials: 14, mode: conservative",
    "name: adaptive_asha, max_steps: 64, max_trials: 24, divisor: 3, max_concurrent_trials: 4",
    "name: adaptive_asha, max_steps: 64, max_trials: 24, divisor: 3, mode: conservative",
    "name: adaptive_asha, max_steps: 64, max_trials: 24, stop_once: true, max_concurrent_trials: 5",
    "name: adaptive_asha, max_steps: 64, max_trials: 20, divisor: 2.5, mode: aggressive",
    "name: pbt, population_size: 5, num_rounds: 4, steps_per_round: 3, replace_function: "
    "{truncate_fraction: 0.4}, explore_function: {resample_probability: 0.3, perturb_factor: 0.2}",
    "name: median, max_trials: 12, max_steps: 20, interval: 3, startup_trials: 2, warmup: 4, "
    "max_concurrent_trials: 3",
    "name: adaptive_asha, max_steps: 64, max_trials: 24, rule: pedl, mode: standard",
    "name: adaptive_asha, max_steps: 81, max_trials: 7, divisor: 3, mode: standard",
    "name: bohb, max_steps: 27, max_trials: 30, max_concurrent_trials: 4",
    "name: random, max_trials: 30, max_steps: 3, max_concurrent_trials: 3, sampler: {type: cma, "
    "population: 4, startup_trials: 2}",
    "name: random, max_trials: 20, max_steps: 3, max_concurrent_trials: 3, sampler: {type: nsga2, "
    "population: 6}",
    "name: random, max_trials: 9, max_steps: 3, sampler: sobol",
};
#define SEARCHERS (int)(sizeof searchers / sizeof *searchers)

static rgm_status make(rgm_searcher **out, int which, uint32_t seed, const char *more)
{
    char text[1500];

    snprintf(text, sizeof text, "%ssearcher: {metric: m, %s%s}\n", space_text, searchers[which],
             more);
    return read_searcher(out, text, seed);
}

/* ---- worlds -------------------------------------------------------------------------------- */

enum { CONSTANT, RISING, FALLING, RANDOM, NO_NUMBERS, SOME_NUMBERS, METRICS };

/* How a run goes: metrics, order, what ends early. All from a hash, so that it can be replayed. */
typedef struct world {
    int metrics, order, exits; /* exits: of 16, those that end early; half of them invalid */
    uint32_t seed;
} world;

static double metric_of(const world *w, int64_t trial, int64_t length)
{
    const int64_t key[] = {trial, length, (int64_t)w->seed};
    double uniform = (double)(rgm_hash64(key, sizeof key) >> 40);

    switch (w->metrics) {
    case CONSTANT:
        return 1;
    case RISING:
        return (double)trial;
    case FALLING:
        return -(double)trial;
    case RANDOM:
        return uniform;
    case NO_NUMBERS:
        return NAN;
    default:
        return trial % 3 == 0 ? NAN : trial % 7 == 0 ? -INFINITY : uniform;
    }
}

static rgm_search_event_kind fate_of(const world *w, int64_t trial, int64_t length)
{
    const int64_t key[] = {trial, length, (int64_t)w->seed, 7};
    uint64_t hash = rgm_hash64(key, sizeof key);

    if ((int)(hash % 16) >= w->exits)
        return RGM_VALIDATED;
    return hash / 16 % 2 == 0 ? RGM_EXITED : RGM_INVALID;
}

/* ---- a run --------------------------------------------------------------------------------- */

/* What was asked and not done; and everything, as text. */
typedef struct run {
    const world *world;
    rgm_searcher *searcher;
    rgm_operation *waiting;
    int64_t count, capacity, steps;
    rgm_text operations;
    rgm_mt19937 order;
    int64_t created, closed;
    bool over;
} run;

static void note_operation(run *r, const rgm_operation *o)
{
    const rgm_space *space = rgm_searcher_space(r->searcher);

    CHECK_OK(rgm_text_printf(&r->operations, "%s %lld %lld", rgm_operation_names[o->kind],
                             (long long)o->trial, (long long)o->length));
    if (o->kind == RGM_ASK_CREATE) {
        CHECK_OK(rgm_text_printf(&r->operations, " %lu %lld ", (unsigned long)o->seed,
                                 (long long)o->from));
        for (int i = 0; i < 16; i++)
            CHECK_OK(rgm_text_printf(&r->operations, "%02x", o->request_id[i]));
        CHECK_OK(rgm_space_print_json(&r->operations, space, o->values));
        CHECK(rgm_space_holds(space, o->values, NULL));
        r->created++;
    }
    CHECK_OK(rgm_text_add(&r->operations, "\n", 1));
}

static void take_operations(run *r)
{
    rgm_operation o;

    while (rgm_searcher_next(&o, r->searcher)) {
        CHECK(!r->over);
        note_operation(r, &o);
        r->over = o.kind == RGM_ASK_SHUTDOWN;
        CHECK_OK(RGM_RESERVE(r->waiting, r->capacity, r->count + 1));
        if (!r->over)
            r->waiting[r->count++] = o;
    }
}

/* The first operation of a trial that is chosen by the order. */
static int64_t pick(run *r)
{
    int64_t at = 0;

    if (r->world->order == RGM_RANDOM_ORDER)
        at = (int64_t)rgm_mt19937_bounded(&r->order, (uint64_t)r->count - 1);
    for (int64_t i = 1; r->world->order == RGM_BY_TRIAL && i < r->count; i++)
        if (r->waiting[i].trial < r->waiting[at].trial)
            at = i;
    for (int64_t i = 0; i < at; i++)
        if (r->waiting[i].trial == r->waiting[at].trial)
            return i;
    return at;
}

static void drop(run *r, int64_t trial)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < r->count; i++)
        if (r->waiting[i].trial != trial)
            r->waiting[kept++] = r->waiting[i];
    r->count = kept;
}

/* Does one operation; false: it was none that is told of. */
static bool step(run *r)
{
    static const rgm_search_event_kind done[] = {[RGM_ASK_TRAIN] = RGM_TRAINED,
                                                 [RGM_ASK_VALIDATE] = RGM_VALIDATED,
                                                 [RGM_ASK_CHECKPOINT] = RGM_CHECKPOINTED,
                                                 [RGM_ASK_CLOSE] = RGM_CLOSED};
    int64_t at = pick(r);
    rgm_operation o = r->waiting[at];
    double metric = metric_of(r->world, o.trial, o.length), before;
    rgm_search_event event = {done[o.kind], o.trial, o.length, &metric};

    memmove(&r->waiting[at], &r->waiting[at + 1], (size_t)(r->count - at - 1) * sizeof *r->waiting);
    r->count--;
    if (o.kind == RGM_ASK_CREATE)
        return false;
    if (o.kind == RGM_ASK_VALIDATE)
        event.kind = fate_of(r->world, o.trial, o.length);
    if (event.kind == RGM_EXITED || event.kind == RGM_INVALID)
        drop(r, o.trial);
    r->closed += event.kind == RGM_EXITED || event.kind == RGM_INVALID || event.kind == RGM_CLOSED;
    before = rgm_searcher_progress(r->searcher);
    CHECK_OK(rgm_searcher_tell(r->searcher, &event));
    CHECK(rgm_searcher_progress(r->searcher) >= before);
    take_operations(r);
    return true;
}

static void start(run *r, const world *w, int which, uint32_t seed)
{
    *r = (run){.world = w};
    rgm_mt19937_seed(&r->order, w->seed);
    CHECK_OK(make(&r->searcher, which, seed, ""));
    CHECK_OK(rgm_searcher_begin(r->searcher));
    CHECK(rgm_searcher_progress(r->searcher) == 0);
    take_operations(r);
}

static void finish(run *r)
{
    for (; r->count > 0; r->steps++)
        step(r);
    CHECK(r->over && rgm_searcher_is_over(r->searcher));
    CHECK(rgm_searcher_progress(r->searcher) == 1);
    CHECK_INT(r->created, rgm_searcher_trial_count(r->searcher));
    CHECK_INT(r->created, r->closed);
    for (int64_t t = 1; t <= r->created; t++)
        CHECK(rgm_searcher_trial(r->searcher, t)->closed);
}

static void end(run *r)
{
    rgm_searcher_release(r->searcher);
    rgm_free(r->waiting);
    rgm_text_clear(&r->operations);
}

#define FOR_WORLDS(w, orders, most_exits)                                                          \
    for (world w = {0}; w.metrics < METRICS; w.metrics++)                                          \
        for (w.order = 0; w.order <= RGM_RANDOM_ORDER; w.order++)                                  \
            for (w.exits = 0; w.exits <= (most_exits); w.exits += (most_exits) > 0 ? 4 : 1)        \
                for (w.seed = 0; w.seed < (w.order == RGM_RANDOM_ORDER ? (orders) : 1u); w.seed++)

static void every_searcher_ends_and_closes_its_trials(void **state)
{
    run r;

    (void)state;
    for (int which = 0; which < SEARCHERS; which++)
        FOR_WORLDS(w, 4u, 8)
        {
            start(&r, &w, which, 3);
            finish(&r);
            end(&r);
        }
}

/* Where trials end early for good: pbt has others in their place, and the rest train to the end. */
static void what_stopping_early_saves_is_counted(void **state)
{
    const world w = {.metrics = RANDOM, .order = RGM_RANDOM_ORDER, .seed = 2};
    int64_t saved, of, saving = 0;
    run r;

    (void)state;
    for (int which = 0; which < SEARCHERS; which++) {
        int64_t most, trained = 0;

        start(&r, &w, which, 3);
        rgm_searcher_saved(&saved, &of, r.searcher);
        CHECK(saved == 0 && of == 0);
        finish(&r);
        rgm_searcher_saved(&saved, &of, r.searcher);
        most = rgm_searcher_max_length(r.searcher).units;
        for (int64_t t = 1; t <= r.created; t++)
            trained += rgm_searcher_trial(r.searcher, t)->length;
        if (strstr("single random grid pbt", rgm_searcher_name(r.searcher)) != NULL) {
            CHECK(saved == 0 && of == 0);
        } else {
            CHECK_INT(r.created * most, of);
            CHECK_INT(of - trained, saved);
            saving += saved > 0;
        }
        end(&r);
    }
    CHECK(saving >= 9);
}

static void equal_seeds_and_events_give_equal_operations(void **state)
{
    run a, b, c;

    (void)state;
    for (int which = 0; which < SEARCHERS; which++)
        FOR_WORLDS(w, 2u, 4)
        {
            start(&a, &w, which, 3);
            finish(&a);
            start(&b, &w, which, 3);
            finish(&b);
            CHECK_TEXT(a.operations.data, b.operations.data);
            start(&c, &w, which, 4);
            CHECK(strncmp(a.operations.data, c.operations.data, 60) != 0);
            end(&a);
            end(&b);
            end(&c);
        }
}

/* Into a fresh searcher, which goes on in place of the old one. */
static void move(run *r, int which)
{
    rgm_text saved = {0}, again = {0};
    rgm_searcher *fresh;

    CHECK_OK(rgm_searcher_save(&saved, r->searcher));
    CHECK_OK(make(&fresh, which, 3, ""));
    CHECK_OK(rgm_searcher_restore(fresh, saved.data, saved.size));
    CHECK_OK(rgm_searcher_save(&again, fresh));
    CHECK_TEXT(saved.data, again.data);
    CHECK(rgm_searcher_progress(fresh) == rgm_searcher_progress(r->searcher));
    rgm_searcher_release(r->searcher);
    r->searcher = fresh;
    rgm_text_clear(&saved);
    rgm_text_clear(&again);
}

static void a_state_saved_at_every_event_goes_on_alike(void **state)
{
    run a, b;

    (void)state;
    for (int which = 0; which < SEARCHERS; which++)
        for (int i = 0; i < 4; i++) {
            const world w = {.metrics = i < 2 ? RANDOM : SOME_NUMBERS,
                             .order = i % 2 == 0 ? RGM_IN_ORDER : RGM_RANDOM_ORDER,
                             .exits = i == 0 ? 0 : 3,
                             .seed = (uint32_t)i};

            start(&a, &w, which, 3);
            finish(&a);
            start(&b, &w, which, 3);
            for (move(&b, which); b.count > 0; move(&b, which))
                step(&b);
            CHECK_TEXT(a.operations.data, b.operations.data);
            CHECK(rgm_searcher_is_over(b.searcher));
            end(&a);
            end(&b);
        }
}

/* Where some operations were not given yet, these are in what is saved. */
static void operations_that_wait_are_saved_too(void **state)
{
    rgm_searcher *a, *b;
    rgm_text saved = {0};
    rgm_operation o, p;

    (void)state;
    CHECK_OK(make(&a, 1, 3, ""));
    CHECK_OK(make(&b, 1, 3, ""));
    CHECK_OK(rgm_searcher_begin(a));
    for (int i = 0; i < 5; i++)
        CHECK(rgm_searcher_next(&o, a));
    CHECK_OK(rgm_searcher_save(&saved, a));
    CHECK_OK(rgm_searcher_restore(b, saved.data, saved.size));
    while (rgm_searcher_next(&o, a)) {
        CHECK(rgm_searcher_next(&p, b));
        CHECK(o.kind == p.kind && o.trial == p.trial && o.length == p.length);
        CHECK(o.seed == p.seed && memcmp(o.request_id, p.request_id, 16) == 0);
    }
    CHECK(!rgm_searcher_next(&p, b));
    rgm_text_clear(&saved);
    rgm_searcher_release(a);
    rgm_searcher_release(b);
}

static void no_trial_without_a_number_is_promoted(void **state)
{
    run r;
    const world w = {.metrics = SOME_NUMBERS, .order = RGM_RANDOM_ORDER};

    (void)state;
    for (int which = 5; which < SEARCHERS; which++) {
        if (strstr(searchers[which], "pbt") != NULL) /* there all but the worst go on */
            continue;
        start(&r, &w, which, 3);
        finish(&r);
        for (int64_t t = 1; t <= r.created; t++) {
            const rgm_search_trial *trial = rgm_searcher_trial(r.searcher, t);
            char first[64];
            const char *train;

            if (!isinf(trial->best_key) || trial->best_key < 0)
                continue;
            snprintf(first, sizeof first, "\ntrain %lld ", (long long)t);
            train = strstr(r.operations.data, first);
            /* In a bracket's first rung it trains; nothing beyond. (median waits for its warmup.)
             */
            if (train != NULL && strstr(searchers[which], "median") == NULL)
                CHECK(strstr(train + 1, first) == NULL);
        }
        end(&r);
    }
}

/* ---- what the common part refuses ---------------------------------------------------------- */

static void what_was_not_asked_is_refused_and_changes_nothing(void **state)
{
    const double metric = 1;
    const rgm_search_event bad[] = {
        {RGM_VALIDATED, 1, 2, &metric},  /* asked at 3                     */
        {RGM_VALIDATED, 1, 3, NULL},     /* without metrics                */
        {RGM_VALIDATED, 99, 3, &metric}, /* no such trial                  */
        {RGM_VALIDATED, 0, 3, &metric},  {RGM_CHECKPOINTED, 1, 3, NULL},
        {RGM_CLOSED, 1, 0, NULL},        {RGM_TRAINED, 1, 4, NULL},
        {RGM_TRAINED, 1, -1, NULL},      {(rgm_search_event_kind)9, 1, 3, NULL},
    };
    rgm_searcher *s;
    rgm_text before = {0}, after = {0};

    (void)state;
    CHECK_OK(make(&s, 1, 3, ""));
    CHECK_STATUS(RGM_ERR_ARG, rgm_searcher_tell(s, &bad[0]));
    CHECK_OK(rgm_searcher_begin(s));
    CHECK_STATUS(RGM_ERR_ARG, rgm_searcher_begin(s));
    CHECK_OK(rgm_searcher_save(&before, s));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STATUS(RGM_ERR_ARG, rgm_searcher_tell(s, &bad[i]));
    CHECK_OK(rgm_searcher_save(&after, s));
    CHECK_TEXT(before.data, after.data);
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, 1, 3, &metric}));
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_CLOSED, 1, 0, NULL}));
    CHECK_STATUS(RGM_ERR_ARG, rgm_searcher_tell(s, &(rgm_search_event){RGM_EXITED, 1, 0, NULL}));
    CHECK_MESSAGE("'exited' of trial 1, which was closed");
    rgm_text_clear(&before);
    rgm_text_clear(&after);
    rgm_searcher_release(s);
}

static void a_state_of_another_searcher_is_refused(void **state)
{
    rgm_searcher *s, *other;
    rgm_text saved = {0};
    static const char *const broken[] = {"", "{}", "[]", "{\"searcher_state\": 1}",
                                         "{\"searcher_state\": 3, \"name\": \"a\", \"of\": \"b\"}"};

    (void)state;
    CHECK_OK(make(&s, 1, 3, ""));
    CHECK_OK(rgm_searcher_begin(s));
    CHECK_OK(rgm_searcher_save(&saved, s));
    CHECK_STATUS(RGM_ERR_ARG, rgm_searcher_restore(s, saved.data, saved.size));
    CHECK_OK(make(&other, 1, 4, "")); /* another seed */
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_searcher_restore(other, saved.data, saved.size));
    rgm_searcher_release(other);
    CHECK_OK(make(&other, 2, 3, "")); /* other options */
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_searcher_restore(other, saved.data, saved.size));
    rgm_searcher_release(other);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        CHECK_OK(make(&other, 1, 3, ""));
        CHECK_STATUS(i == 4 ? RGM_ERR_VERSION : RGM_ERR_FORMAT,
                     rgm_searcher_restore(other, broken[i], (int64_t)strlen(broken[i])));
        rgm_searcher_release(other);
    }
    rgm_text_clear(&saved);
    rgm_searcher_release(s);
}

/* A member renamed: of format 1, which was written before there were the last two, it is taken as
 * one without them; of format 2 it is damaged. */
static void a_state_says_what_it_holds(void **state)
{
    (void)state;
    for (int format = 1; format <= 2; format++) {
        rgm_searcher *s, *back;
        rgm_text saved = {0};
        char *at;

        CHECK_OK(make(&s, 1, 3, ""));
        CHECK_OK(rgm_searcher_begin(s));
        CHECK_OK(rgm_searcher_save(&saved, s));
        CHECK(strncmp(saved.data, "{\"searcher_state\": 2,", 21) == 0);
        saved.data[19] = (char)('0' + format);
        for (int i = 0; i < 2; i++) {
            at = strstr(saved.data, i == 0 ? "\"known\"" : "\"told\"");
            CHECK(at != NULL);
            at[1] = 'x';
        }
        CHECK_OK(make(&back, 1, 3, ""));
        CHECK_STATUS(format == 1 ? RGM_OK : RGM_ERR_FORMAT,
                     rgm_searcher_restore(back, saved.data, saved.size));
        rgm_searcher_release(back);
        rgm_searcher_release(s);
        rgm_text_clear(&saved);
    }
}

static void mistakes_of_the_section_are_told_together(void **state)
{
    rgm_searcher *s;

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, read_searcher(&s,
                                               "searcher:\n"
                                               "  name: random\n"
                                               "  max_trails: 4\n"
                                               "  max_steps: many\n"
                                               "  max_concurrent_trials: -1\n"
                                               "  smaller_is_better: yes\n"
                                               "  sampler: tpee\n"
                                               "  points: [{x: 1}]\n"
                                               "  source_trial_id: 3\n"
                                               "  source_checkpoint_uuid: a\n",
                                               1));
    CHECK_MESSAGE("e.yaml:3:15: unknown key 'searcher.max_trails'; did you mean "
                  "'searcher.max_trials'?");
    CHECK_MESSAGE("\ne.yaml:4:");
    CHECK_MESSAGE("\ne.yaml:5:");
    CHECK_MESSAGE("'searcher.metric' must be given");
    CHECK_MESSAGE("\ne.yaml:7:12: there is no sampler 'tpee'");
    CHECK_MESSAGE("there is no hyperparameter 'x'");
    CHECK_MESSAGE("exclude each other");
    CHECK(s == NULL);
    CHECK_STATUS(RGM_ERR_CONFIG, read_searcher(&s, "searcher: {name: adaptive_ash, metric: m}", 1));
    CHECK_MESSAGE(
        "e.yaml:1:18: there is no searcher 'adaptive_ash'; did you mean 'adaptive_asha'?");
    CHECK_STATUS(RGM_ERR_CONFIG, read_searcher(&s, "searcher: {name: random, metric: m}", 1));
    CHECK_MESSAGE("'searcher.max_trials' must be given\n");
    CHECK_MESSAGE("needs one: max_steps or max_length");
    CHECK_STATUS(
        RGM_ERR_CONFIG,
        read_searcher(&s, "searcher: {name: single, metric: m, max_steps: 3, max_length: 4}", 1));
    CHECK_MESSAGE("needs one of max_steps and max_length");
    CHECK_STATUS(
        RGM_ERR_CONFIG,
        read_searcher(&s, "searcher: {name: single, metric: m, max_length: {epoch: 4}}", 1));
    CHECK_MESSAGE("counts no 'epoch'; did you mean 'epochs'?");
    CHECK_STATUS(RGM_ERR_CONFIG,
                 read_searcher(&s,
                               "searcher: {name: async_halving, metric: m, num_rungs: 4, "
                               "target_trial_steps: 800, step_budget: 10}",
                               1));
    CHECK_MESSAGE("would begin with 0 trials");
    CHECK_STATUS(RGM_ERR_CONFIG,
                 read_searcher(&s,
                               "searcher: {name: adaptive, metric: m, target_trial_steps: 8, "
                               "step_budget: 8, mode: standart}",
                               1));
    CHECK_MESSAGE("'mode' cannot be \"standart\"; did you mean 'standard'?");
    CHECK_STATUS(RGM_ERR_CONFIG,
                 read_searcher(&s,
                               "hyperparameters: {b: {type: int, minval: 0, maxval: 1}, a: {type: "
                               "double, minval: 0, maxval: 1}}\n"
                               "searcher: {name: grid, metric: m, max_steps: 8}",
                               1));
    CHECK_MESSAGE("these hyperparameters must specify counts for grid search: a, b");
}

/* ---- points, objectives, the front --------------------------------------------------------- */

static void known_points_come_first_and_in_order(void **state)
{
    rgm_searcher *s, *without;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(
        make(&s, 1, 3,
             ", points: [{model: {type: gcn, hidden: 8}, rate: 0.01, drop: 0.5}, "
             "{model.type: gat, model.heads: 2, model: {hidden: 16}, rate: 1e-4, drop: 0.9}]"));
    CHECK_OK(make(&without, 1, 3, ""));
    CHECK_OK(rgm_searcher_begin(s));
    CHECK_OK(rgm_searcher_begin(without));
    CHECK_OK(rgm_space_print_json(&text, rgm_searcher_space(s), rgm_searcher_trial(s, 1)->values));
    CHECK_TEXT("{\"drop\": 0.5, \"model\": {\"hidden\": 8, \"type\": \"gcn\"}, \"rate\": 0.01}",
               text.data);
    rgm_text_clear(&text);
    CHECK_OK(rgm_space_print_json(&text, rgm_searcher_space(s), rgm_searcher_trial(s, 2)->values));
    CHECK_TEXT("{\"drop\": 0.9, \"model\": {\"heads\": 2, \"hidden\": 16, \"type\": \"gat\"}, "
               "\"rate\": 0.0001}",
               text.data);
    CHECK_INT(9, rgm_searcher_trial_count(s));
    rgm_text_clear(&text);
    rgm_searcher_release(s);
    rgm_searcher_release(without);
}

static void check_front(const rgm_searcher *s, bool longest, const int64_t *expected, int64_t count)
{
    int64_t *front, found;

    CHECK_OK(rgm_searcher_front(&front, &found, s, longest));
    CHECK_INT(count, found);
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(expected[i], front[i]);
    rgm_free(front);
}

static void the_front_is_what_no_other_beats(void **state)
{
    static const double metrics[][2] = {{3, 1}, {1, 3}, {2, 2}, {3, 3}, {2, 2}, {NAN, 9}, {1, 2}};
    rgm_searcher *s;
    const rgm_objective *objectives;

    (void)state;
    CHECK_OK(read_searcher(&s,
                           "searcher: {name: random, metric: [valid.loss, valid.accuracy], "
                           "smaller_is_better: [true, false], max_trials: 7, max_steps: 2}",
                           1));
    CHECK_INT(2, rgm_searcher_objectives(&objectives, s));
    CHECK(objectives[0].smaller_is_better && !objectives[1].smaller_is_better);
    CHECK_TEXT("valid.accuracy", objectives[1].metric);
    CHECK_OK(rgm_searcher_begin(s));
    check_front(s, false, NULL, 0);
    for (int64_t i = 0; i < 7; i++)
        CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, i + 1, 2, metrics[i]}));
    CHECK(rgm_searcher_trial(s, 6)->keys[0] == INFINITY);
    CHECK(rgm_searcher_trial(s, 2)->keys[1] == -3);
    check_front(s, false, (const int64_t[]){2}, 1);
    rgm_searcher_release(s);
    CHECK_OK(read_searcher(
        &s, "searcher: {name: random, metric: [a, b], max_trials: 7, max_steps: 2}", 1));
    CHECK_OK(rgm_searcher_begin(s));
    for (int64_t i = 0; i < 7; i++)
        CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, i + 1, 2, metrics[i]}));
    check_front(s, true, (const int64_t[]){1, 7}, 2);
    rgm_searcher_release(s);
}

/* ---- rules of asynchronous halving --------------------------------------------------------- */

static void simulate(rgm_simulated *out, const char *options, bool falling)
{
    char text[400];
    rgm_searcher *s;

    snprintf(text, sizeof text, "searcher: {name: adaptive_asha, metric: m, %s}", options);
    CHECK_OK(read_searcher(&s, text, 1));
    CHECK_OK(rgm_search_simulate(out, s,
                                 &(rgm_simulation){.metrics = falling ? minus_trial : by_trial}));
    rgm_searcher_release(s);
}

/* 10, 3 and 1 of divisor 3; of 7, 2 and then, since 2 are fewer than the divisor, the better one.
 */
static void halving_takes_at_least_one_trial_to_the_top(void **state)
{
    static const struct {
        const char *options, *lengths;
    } cases[] = {
        {"max_steps: 9, divisor: 3, max_trials: 10", "9:1 3:2 1:7"},
        {"max_steps: 9, divisor: 3, max_trials: 10, stop_once: false", "9:1 3:2 1:7"},
        {"max_steps: 9, divisor: 3, max_trials: 7, bracket_rungs: [3]", "9:1 3:1 1:5"},
        {"max_steps: 9, divisor: 3, max_trials: 7, rule: pedl, bracket_rungs: [3]", "3:2 1:5"},
        {"max_steps: 9, divisor: 3, max_trials: 2, bracket_rungs: [3]", "9:1 1:1"},
        {"max_steps: 9, divisor: 3, max_trials: 1, bracket_rungs: [3]", "9:1"}};
    rgm_simulated simulated;
    rgm_text lengths = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        simulate(&simulated, cases[i].options, false);
        print_lengths(&lengths, &simulated);
        CHECK_TEXT(cases[i].lengths, lengths.data);
        rgm_simulated_clear(&simulated);
    }
    simulate(&simulated, "max_steps: 9, divisor: 3, max_trials: 7, bracket_rungs: [3]", true);
    CHECK_TEXT("1S V 2S V 6S V", simulated.by_trial[6]); /* the best of all, whenever it comes */
    rgm_simulated_clear(&simulated);
    rgm_text_clear(&lengths);
}

/* The weights are 2, 4 / 3, 1 and 1: a quarter is the second's, which doubles make 24.999... of
 * 100. What is left over is the first's. */
static void shares_of_brackets_are_exact(void **state)
{
    rgm_searcher *s;
    rgm_text plan = {0};

    (void)state;
    CHECK_OK(read_searcher(&s,
                           "searcher: {name: adaptive_asha, metric: m, mode: conservative, "
                           "divisor: 2, max_steps: 8, max_trials: 100, max_rungs: 4}",
                           1));
    CHECK_OK(rgm_searcher_describe(&plan, s));
    CHECK_TEXT("bracket 1: 39 trials, 18 at a time, rungs at 1 (39), 2 (19), 4 (9), 8 (4) steps\n"
               "bracket 2: 25 trials, 18 at a time, rungs at 2 (25), 4 (12), 8 (6) steps\n"
               "bracket 3: 18 trials, 18 at a time, rungs at 4 (18), 8 (9) steps\n"
               "bracket 4: 18 trials, 18 at a time, rungs at 8 (18) steps\n",
               plan.data);
    rgm_text_clear(&plan);
    rgm_searcher_release(s);
}

static void a_rule_has_one_name(void **state)
{
    rgm_searcher *s;

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG,
                 read_searcher(&s,
                               "searcher: {name: adaptive_asha, metric: m, max_trials: 8, "
                               "max_steps: 8, rule: promote, stop_once: false}",
                               1));
    CHECK_MESSAGE("'searcher.stop_once' and 'searcher.rule' exclude each other");
}

/* The text of a state without a member, and with what another says of its section. */
static void make_old(rgm_text *out, const char *saved, const char *fresh)
{
    const char *of = strstr(fresh, "\"of\": "), *own = strstr(saved, "\"of\": ");
    const char *plan = strstr(saved, "\"as_before\": ");
    size_t length = strlen("\"of\": \"0123456789abcdef\""), skip = strlen("\"as_before\": 0, ");

    CHECK(of != NULL && own != NULL && plan != NULL);
    CHECK_OK(rgm_text_add(out, saved, own - saved));
    CHECK_OK(rgm_text_add(out, of, (int64_t)length));
    CHECK_OK(rgm_text_add(out, own + length, plan - own - (int64_t)length));
    CHECK_OK(rgm_text_printf(out, "%s", plan + skip));
}

/* Saved before `rule` was a key, when the default was PEDL's rule in several brackets. */
static void a_state_of_before_goes_on_by_its_plan(void **state)
{
    static const char begin[] = "searcher: {name: adaptive_asha, metric: m, max_trials: 40, "
                                "max_steps: 64, max_concurrent_trials: 4";
    char text[300];
    rgm_searcher *old, *now;
    rgm_text saved = {0}, fresh = {0}, made = {0}, plan = {0}, plan_now = {0};

    (void)state;
    snprintf(text, sizeof text, "%s, mode: standard, rule: pedl}", begin);
    CHECK_OK(read_searcher(&old, text, 1));
    snprintf(text, sizeof text, "%s}", begin);
    CHECK_OK(read_searcher(&now, text, 1));
    CHECK_OK(rgm_searcher_describe(&plan, old));
    CHECK_OK(rgm_searcher_describe(&plan_now, now));
    CHECK(strstr(plan.data, "bracket 2") != NULL && strstr(plan_now.data, "bracket 2") == NULL);
    CHECK_OK(rgm_searcher_begin(old));
    CHECK_OK(rgm_searcher_save(&saved, old));
    CHECK_OK(rgm_searcher_save(&fresh, now));
    make_old(&made, saved.data, fresh.data);
    CHECK_OK(rgm_searcher_restore(now, made.data, made.size));
    rgm_text_clear(&plan_now);
    CHECK_OK(rgm_searcher_describe(&plan_now, now));
    CHECK_TEXT(plan.data, plan_now.data);
    rgm_text_clear(&saved); /* and is saved and restored as such */
    CHECK_OK(rgm_searcher_save(&saved, now));
    rgm_searcher_release(now);
    CHECK_OK(read_searcher(&now, text, 1));
    CHECK_OK(rgm_searcher_restore(now, saved.data, saved.size));
    rgm_text_clear(&plan_now);
    CHECK_OK(rgm_searcher_describe(&plan_now, now));
    CHECK_TEXT(plan.data, plan_now.data);
    rgm_searcher_release(now);
    CHECK_OK(read_searcher(&now, text, 1)); /* one of today has today's plan */
    CHECK_OK(rgm_searcher_restore(now, fresh.data, fresh.size));
    rgm_searcher_release(now);
    rgm_searcher_release(old);
    rgm_text_clear(&saved);
    rgm_text_clear(&fresh);
    rgm_text_clear(&made);
    rgm_text_clear(&plan);
    rgm_text_clear(&plan_now);
}

/* A loss that fell to -infinity, and an accuracy that rose to it, are the worst as NaN is: of four
 * trials the two best go on. */
static void infinities_are_the_worst_in_either_direction(void **state)
{
    static double metrics[2][5] = {{-INFINITY, 2, 1, INFINITY, NAN},
                                   {INFINITY, -2, -1, -INFINITY, NAN}};
    rgm_simulated simulated;
    rgm_searcher *s;
    int64_t *front, count;

    (void)state;
    for (int larger = 0; larger < 2; larger++) {
        char text[256];

        snprintf(text, sizeof text,
                 "searcher: {name: adaptive_asha, metric: m, smaller_is_better: %s, max_trials: "
                 "4, max_length: {steps: 4}, divisor: 2, bracket_rungs: [2], "
                 "stop_once: false, max_concurrent_trials: 4}",
                 larger ? "false" : "true");
        CHECK_OK(read_searcher(&s, text, 1));
        CHECK_OK(rgm_search_simulate(
            &simulated, s, &(rgm_simulation){.metrics = by_trial, .payload = metrics[larger]}));
        for (int i = 0; i < 4; i++)
            CHECK(rgm_searcher_trial(s, i + 1)->length == (i == 1 || i == 2 ? 4 : 2));
        CHECK_OK(rgm_searcher_front(&front, &count, s, false));
        CHECK_INT(1, count);
        CHECK_INT(3, front[0]);
        rgm_free(front);
        rgm_simulated_clear(&simulated);
        rgm_searcher_release(s);
    }
}

static void median_stops_what_is_worse_than_the_others_were(void **state)
{
    rgm_simulated simulated;
    rgm_searcher *s;
    static double metrics[] = {1, 2, 3, 9, 1.5, NAN};

    (void)state;
    CHECK_OK(read_searcher(&s,
                           "searcher: {name: median, metric: m, max_trials: 5, max_steps: 10, "
                           "interval: 4, startup_trials: 3, max_concurrent_trials: 1}",
                           1));
    CHECK_OK(rgm_search_simulate(&simulated, s,
                                 &(rgm_simulation){.metrics = by_trial, .payload = metrics}));
    for (int i = 0; i < 5; i++) /* three to compare with; 9 > median(1, 2, 3), 1.5 < 2.5 */
        CHECK_TEXT(i == 3 ? "4S V" : "4S V 4S V 2S V", simulated.by_trial[i]);
    CHECK_INT(2, simulated.course_count);
    CHECK_TEXT("4 x step, 1 x validation, 4 x step, 1 x validation, 2 x step, 1 x validation",
               simulated.courses[0].breakdown);
    CHECK_INT(44, simulated.length);
    rgm_simulated_clear(&simulated);
    rgm_searcher_release(s);
}

/* ---- memory -------------------------------------------------------------------------------- */

static rgm_status whole_search(int which)
{
    rgm_status status = RGM_OK;
    rgm_searcher *s = NULL, *copy = NULL;
    rgm_simulated simulated = {0};
    rgm_text saved = {0}, plan = {0};
    int64_t *front = NULL, count;

    RGM_GO(make(&s, which, 3, ""));
    RGM_GO(rgm_search_simulate(&simulated, s, &(rgm_simulation){.metrics = by_trial}));
    RGM_GO(rgm_searcher_describe(&plan, s));
    RGM_GO(rgm_searcher_front(&front, &count, s, true));
    RGM_GO(rgm_searcher_save(&saved, s));
    RGM_GO(make(&copy, which, 3, ""));
    RGM_GO(rgm_searcher_restore(copy, saved.data, saved.size));
done:
    rgm_searcher_release(s);
    rgm_searcher_release(copy);
    rgm_simulated_clear(&simulated);
    rgm_text_clear(&saved);
    rgm_text_clear(&plan);
    rgm_free(front);
    return status;
}

static void every_failing_allocation_is_told_and_leaks_nothing(void **state)
{
    static const int chosen[] = {0, 4, 5, 11, 13, 14, 16, 20};

    (void)state;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        CHECK_EVERY_OOM(whole_search(chosen[i]), (void)0);
}

/* Many trials are not all made before anybody is answered; which ones come does not change. */
static void many_trials_are_created_as_they_are_needed(void **state)
{
    static const char text[] =
        "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
        "searcher: {name: random, metric: m, max_trials: 12000, max_steps: 1%s}";
    static const char *const at_once[] = {"", "", ", max_concurrent_trials: 12000"};
    rgm_searcher *s[3];
    rgm_simulated simulated;
    char line[300];

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, text, at_once[i]);
        CHECK_OK(read_searcher(&s[i], line, 1));
    }
    CHECK_OK(rgm_searcher_begin(s[0]));
    CHECK_INT(10000, rgm_searcher_trial_count(s[0]));
    CHECK_OK(rgm_search_simulate(&simulated, s[1], &(rgm_simulation){.metrics = by_trial}));
    CHECK_OK(rgm_searcher_begin(s[2]));
    CHECK_INT(12000, rgm_searcher_trial_count(s[1]));
    CHECK_INT(12000, rgm_searcher_trial_count(s[2]));
    for (int64_t t = 9990; t <= 12000; t++)
        CHECK(rgm_searcher_trial(s[1], t)->values[0].number ==
              rgm_searcher_trial(s[2], t)->values[0].number);
    rgm_simulated_clear(&simulated);
    for (int i = 0; i < 3; i++)
        rgm_searcher_release(s[i]);
}

static void a_large_search_is_quick(void **state)
{
    rgm_searcher *s;
    rgm_simulated simulated;
    double begin = rgm_now();

    (void)state;
    CHECK_OK(
        read_searcher(&s,
                      "searcher: {name: adaptive_asha, metric: m, max_trials: 20000, max_steps: "
                      "1000, max_concurrent_trials: 100}",
                      1));
    CHECK_OK(rgm_search_simulate(&simulated, s, &(rgm_simulation){.metrics = by_trial}));
    CHECK_INT(20000, simulated.trial_count);
    CHECK(rgm_now() - begin < 20); /* 0.1 s; a walk over all trials at each event takes minutes */
    rgm_simulated_clear(&simulated);
    rgm_searcher_release(s);
}

TESTS(cmocka_unit_test(every_searcher_ends_and_closes_its_trials),
      cmocka_unit_test(what_stopping_early_saves_is_counted),
      cmocka_unit_test(equal_seeds_and_events_give_equal_operations),
      cmocka_unit_test(a_state_saved_at_every_event_goes_on_alike),
      cmocka_unit_test(operations_that_wait_are_saved_too),
      cmocka_unit_test(no_trial_without_a_number_is_promoted),
      cmocka_unit_test(what_was_not_asked_is_refused_and_changes_nothing),
      cmocka_unit_test(a_state_of_another_searcher_is_refused),
      cmocka_unit_test(a_state_says_what_it_holds),
      cmocka_unit_test(mistakes_of_the_section_are_told_together),
      cmocka_unit_test(known_points_come_first_and_in_order),
      cmocka_unit_test(the_front_is_what_no_other_beats),
      cmocka_unit_test(halving_takes_at_least_one_trial_to_the_top),
      cmocka_unit_test(shares_of_brackets_are_exact), cmocka_unit_test(a_rule_has_one_name),
      cmocka_unit_test(a_state_of_before_goes_on_by_its_plan),

      cmocka_unit_test(infinities_are_the_worst_in_either_direction),
      cmocka_unit_test(median_stops_what_is_worse_than_the_others_were),
      cmocka_unit_test(every_failing_allocation_is_told_and_leaks_nothing),
      cmocka_unit_test(many_trials_are_created_as_they_are_needed),
      cmocka_unit_test(a_large_search_is_quick))

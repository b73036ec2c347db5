/*
 * Who gets which slots: cases 39 to 42 of the specification, the words of reasons, and what holds
 * for any description: nothing is given twice, nothing is idle that the rules let be used,
 * everything that waits says why.
 */
#include "check.h"
#include "scheduler.h"

#include <time.h>

#define MANY 64

/* ---- a description that is easy to write ---- */

typedef struct world {
    int64_t agents[MANY], num_agents;
    rgmi_group groups[MANY];
    rgmi_task tasks[MANY][MANY];
    rgmi_agent_slots places[MANY][MANY]; /* of tasks: each on one agent here */
    int64_t num_groups;
    rgmi_rules rules;
} world;

static void start_world(world *w, rgmi_policy policy, int64_t slots)
{
    *w = (world){.agents = {slots}, .num_agents = 1, .rules = {.policy = policy}};
}

static int64_t add_group(world *w, double weight, int64_t max_slots, int64_t priority)
{
    int64_t g = w->num_groups++;

    w->groups[g] = (rgmi_group){.id = g + 1,
                                .order = g,
                                .weight = weight,
                                .max_slots = max_slots,
                                .priority = priority,
                                .tasks = w->tasks[g]};
    return g;
}

static void add_tasks(world *w, int64_t g, int64_t count, int64_t slots, rgmi_task_state state)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t t = w->groups[g].num_tasks++;

        w->tasks[g][t] =
            (rgmi_task){.id = 100 * (g + 1) + t, .order = t, .slots = slots, .state = state};
    }
}

/* The decision about task t of group g. */
static const rgmi_decision *decided(const world *w, const rgmi_schedule_plan *plan, int64_t g,
                                    int64_t t)
{
    for (int64_t i = 0; i < g; i++)
        t += w->groups[i].num_tasks;
    return &plan->tasks[t];
}

static void check_decision(const world *w, const rgmi_schedule_plan *plan, int64_t g, int64_t t,
                           rgmi_verdict verdict, const char *words)
{
    const rgmi_decision *decision = decided(w, plan, g, t);
    rgm_text text = {0};

    CHECK_INT(verdict, decision->verdict);
    CHECK_OK(rgmi_reason_print(&text, &decision->reason));
    CHECK_TEXT(words, text.data == NULL ? "" : text.data);
    rgm_text_clear(&text);
}

static void make_plan(rgmi_schedule_plan *plan, const world *w)
{
    CHECK_OK(rgmi_schedule(plan, &w->rules, w->agents, w->num_agents, w->groups, w->num_groups));
}

/* What a plan says comes true: what is stopped waits again at once. */
static void apply(world *w, const rgmi_schedule_plan *plan)
{
    for (int64_t g = 0; g < w->num_groups; g++)
        for (int64_t t = 0; t < w->groups[g].num_tasks; t++) {
            const rgmi_decision *decision = decided(w, plan, g, t);
            rgmi_task *task = &w->tasks[g][t];

            if (decision->verdict == RGMI_START) {
                task->state = RGMI_TASK_RUNNING;
                w->places[g][t] = plan->places[decision->first_place];
                task->places = &w->places[g][t];
                task->num_places = 1;
            } else if (decision->verdict == RGMI_STOP) {
                task->state = RGMI_TASK_PENDING;
                task->num_places = 0;
            }
        }
}

/* ---- 39: fair share ---- */

typedef struct share_case {
    int64_t slots;
    struct {
        int64_t tasks, slots;
        double weight;
        int64_t max_slots, offer;
    } groups[4];
} share_case;

static void case_39_fair_share_offers(void **state)
{
    static const share_case cases[] = {
        {8, {{3, 1, 1, -1, 3}, {6, 1, 1, -1, 5}}},
        {8, {{10, 1, 1, -1, 4}, {30, 1, 1, -1, 4}}},
        {8, {{10, 1, 3, -1, 6}, {30, 1, 1, -1, 2}}},
        {8, {{3, 1, 10, -1, 2}, {7, 1, 30, -1, 6}}},
        {4, {{4, 1, 1, 1, 1}, {4, 1, 1, -1, 3}}},
        {2, {{1, 2, 1, -1, 2}, {1, 2, 1, -1, 0}}},
        {7, {{1, 3, 1, -1, 3}, {2, 1, 1, -1, 2}, {1, 4, 1, -1, 0}, {1, 1, 1, -1, 1}}},
        {8, {{8, 1, 1, -1, 2}, {8, 1, 1, -1, 2}, {8, 1, 2, -1, 4}}},
        {4, {{1, 5, 1, -1, 0}, {4, 1, 1, -1, 4}}},
        /* not upstream's: what weighs is who can still take, at once and not from the next round on
         */
        {11, {{1, 1, 1, -1, 1}, {20, 1, 1, -1, 2}, {20, 1, 3, -1, 8}}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w;
        rgmi_schedule_plan plan;

        start_world(&w, RGMI_FAIR_SHARE, cases[i].slots);
        for (int g = 0; g < 4 && cases[i].groups[g].tasks > 0; g++) {
            add_group(&w, cases[i].groups[g].weight, cases[i].groups[g].max_slots, 42);
            add_tasks(&w, g, cases[i].groups[g].tasks, cases[i].groups[g].slots, RGMI_TASK_PENDING);
        }
        make_plan(&plan, &w);
        for (int64_t g = 0; g < w.num_groups; g++) {
            int64_t started = 0;

            for (int64_t t = 0; t < w.groups[g].num_tasks; t++)
                started +=
                    decided(&w, &plan, g, t)->verdict == RGMI_START ? w.tasks[g][t].slots : 0;
            CHECK_INT(cases[i].groups[g].offer, plan.offers[g]);
            CHECK_INT(cases[i].groups[g].offer, started);
        }
        rgmi_plan_clear(&plan);
    }
}

/* Offers of 1, 3, 3 and 1 of 8 slots: upstream, 2 are idle since two groups have tasks of 2. */
static void what_offers_leave_is_handed_out(void **state)
{
    static const struct {
        int64_t tasks, slots;
        double weight;
        int64_t holds, offer;
    } groups[] = {{3, 1, 0.5, 3, 3}, {6, 2, 1, 2, 3}, {4, 2, 1, 2, 3}, {1, 1, 1, 1, 1}};
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_FAIR_SHARE, 8);
    for (int g = 0; g < 4; g++) {
        add_group(&w, groups[g].weight, -1, 42);
        add_tasks(&w, g, groups[g].tasks, groups[g].slots, RGMI_TASK_PENDING);
    }
    for (int round = 0; round < 3; round++) { /* and then it stays so */
        make_plan(&plan, &w);
        for (int64_t g = 0; g < w.num_groups; g++) {
            int64_t holds = 0;

            for (int64_t t = 0; t < w.groups[g].num_tasks; t++) {
                rgmi_verdict verdict = decided(&w, &plan, g, t)->verdict;

                CHECK(verdict != RGMI_STOP && (round == 0 || verdict != RGMI_START));
                holds += verdict == RGMI_WAIT ? 0 : w.tasks[g][t].slots;
            }
            CHECK_INT(groups[g].holds, holds);
            CHECK_INT(groups[g].offer, plan.offers[g]);
        }
        apply(&w, &plan);
        rgmi_plan_clear(&plan);
    }
    /* Who has a right to them gets them back: a fifth group, and the one above its offer stops. */
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 4, 1, 1, RGMI_TASK_PENDING);
    make_plan(&plan, &w);
    int64_t stops = 0;
    for (int64_t g = 0; g < w.num_groups; g++)
        for (int64_t t = 0; t < w.groups[g].num_tasks; t++)
            stops += decided(&w, &plan, g, t)->verdict == RGMI_STOP ? w.tasks[g][t].slots : 0;
    CHECK_INT(1, stops);
    CHECK_INT(2, plan.offers[0]);
    rgmi_plan_clear(&plan);
}

static void fair_share_stops_what_is_above_the_offer_and_starts_when_it_is_free(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_FAIR_SHARE, 4);
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 0, 4, 1, RGMI_TASK_RUNNING);
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 1, 3, 1, RGMI_TASK_PENDING);
    make_plan(&plan, &w);
    check_decision(&w, &plan, 0, 0, RGMI_STOP,
                   "stopped: its experiment holds 4 slots, its share is 2");
    CHECK_INT(RGMI_STOP, decided(&w, &plan, 0, 1)->verdict);
    CHECK_INT(RGMI_KEEP, decided(&w, &plan, 0, 2)->verdict);
    check_decision(&w, &plan, 1, 0, RGMI_WAIT, "waits for 1 slot: they are being given back");
    rgmi_plan_clear(&plan);

    /* One has been told to stop: the other is still to be. */
    w.tasks[0][0].state = RGMI_TASK_STOPPING;
    make_plan(&plan, &w);
    for (int64_t t = 0; t < 4; t++)
        CHECK_INT(t == 1 ? RGMI_STOP : RGMI_KEEP, decided(&w, &plan, 0, t)->verdict);
    rgmi_plan_clear(&plan);

    /* They stop for a while: no others are stopped for them, nothing starts on their slots. */
    w.tasks[0][1].state = RGMI_TASK_STOPPING;
    make_plan(&plan, &w);
    for (int64_t t = 0; t < 4; t++)
        CHECK_INT(RGMI_KEEP, decided(&w, &plan, 0, t)->verdict);
    CHECK_INT(RGMI_WAIT, decided(&w, &plan, 1, 0)->verdict);
    rgmi_plan_clear(&plan);

    w.tasks[0][0].state = w.tasks[0][1].state = RGMI_TASK_PENDING;
    make_plan(&plan, &w);
    CHECK_INT(RGMI_START, decided(&w, &plan, 1, 0)->verdict);
    CHECK_INT(RGMI_START, decided(&w, &plan, 1, 1)->verdict);
    check_decision(&w, &plan, 1, 2, RGMI_WAIT,
                   "waits for 1 slot: its experiment's share is 2 of 4, and it holds 2");
    check_decision(&w, &plan, 0, 0, RGMI_WAIT,
                   "waits for 1 slot: its experiment's share is 2 of 4, and it holds 2");
    rgmi_plan_clear(&plan);
}

static void fair_share_leaves_tasks_that_cannot_be_stopped(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_FAIR_SHARE, 4);
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 0, 4, 1, RGMI_TASK_RUNNING);
    for (int64_t t = 0; t < 3; t++)
        w.tasks[0][t].is_fixed = true;
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 1, 4, 1, RGMI_TASK_PENDING);
    make_plan(&plan, &w);
    CHECK_INT(3, plan.offers[0]);
    CHECK_INT(1, plan.offers[1]);
    for (int64_t t = 0; t < 4; t++)
        CHECK_INT(t < 3 ? RGMI_KEEP : RGMI_STOP, decided(&w, &plan, 0, t)->verdict);
    rgmi_plan_clear(&plan);
}

/* Half of what it needs is offered to each; the younger one runs, and goes on. */
static void who_runs_does_not_give_up_for_who_waits(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_FAIR_SHARE, 2);
    for (int64_t g = 0; g < 2; g++) {
        add_group(&w, 1, -1, 42);
        add_tasks(&w, g, 1, 2, g == 0 ? RGMI_TASK_PENDING : RGMI_TASK_RUNNING);
    }
    add_tasks(&w, 1, 1, 0, RGMI_TASK_PENDING); /* which waits for no slots */
    make_plan(&plan, &w);
    check_decision(&w, &plan, 0, 0, RGMI_WAIT,
                   "waits for 2 slots: its experiment's share is 0 of 2, and it holds 0");
    CHECK_INT(RGMI_KEEP, decided(&w, &plan, 1, 0)->verdict);
    rgmi_plan_clear(&plan);
}

/* Slots of a task that cannot be stopped are no use to those of its group that wait. */
static void what_is_fixed_is_not_counted_as_room(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_FAIR_SHARE, 5);
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 0, 1, 3, RGMI_TASK_PENDING);
    add_group(&w, 3, -1, 42);
    add_tasks(&w, 1, 1, 2, RGMI_TASK_RUNNING);
    w.tasks[1][0].is_fixed = true;
    add_tasks(&w, 1, 1, 2, RGMI_TASK_PENDING);
    make_plan(&plan, &w); /* 2 and 3 at first: one more than is fixed, and too little for two */
    CHECK_INT(3, plan.offers[0]);
    CHECK_INT(2, plan.offers[1]);
    CHECK_INT(RGMI_START, decided(&w, &plan, 0, 0)->verdict);
    rgmi_plan_clear(&plan);
}

/* The list of who gives up first is by age alone: upstream's comparator read another list (bug g).
 */
static void the_youngest_group_gives_up_first(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    for (int64_t older = 0; older < 2; older++) {
        start_world(&w, RGMI_FAIR_SHARE, 4);
        for (int64_t g = 0; g < 2; g++) {
            add_group(&w, 1, -1, 42);
            add_tasks(&w, g, 1, 4 - g, RGMI_TASK_PENDING);
            w.groups[g].order = g == older ? 0 : 1;
        }
        make_plan(&plan, &w); /* 2 and 2 first, of no use to either */
        CHECK_INT(4 - older, plan.offers[older]);
        CHECK_INT(0, plan.offers[1 - older]);
        rgmi_plan_clear(&plan);
    }
}

/* ---- 40, 41: priority ---- */

static void case_40_the_newest_is_preempted_and_resumes_first(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_PRIORITY, 2);
    w.rules.preemption = true;
    for (int64_t g = 0; g < 3; g++) {
        add_group(&w, 1, -1, 40);
        add_tasks(&w, g, 1, 1, RGMI_TASK_PENDING);
    }
    make_plan(&plan, &w);
    check_decision(&w, &plan, 2, 0, RGMI_WAIT,
                   "waits for 1 slot: 0 free, 1 held by experiment 1 (priority 40), 1 by others");
    apply(&w, &plan);
    rgmi_plan_clear(&plan);

    add_group(&w, 1, -1, 30);
    add_tasks(&w, 3, 1, 1, RGMI_TASK_PENDING);
    make_plan(&plan, &w);
    CHECK_INT(RGMI_KEEP, decided(&w, &plan, 0, 0)->verdict);
    check_decision(&w, &plan, 1, 0, RGMI_STOP,
                   "stopped: it makes room for trial 400 of experiment 4 (priority 30)");
    CHECK_INT(RGMI_WAIT, decided(&w, &plan, 2, 0)->verdict);
    check_decision(&w, &plan, 3, 0, RGMI_WAIT, "waits for 1 slot: they are being given back");
    apply(&w, &plan);
    rgmi_plan_clear(&plan);

    make_plan(&plan, &w);
    CHECK_INT(RGMI_START, decided(&w, &plan, 3, 0)->verdict);
    apply(&w, &plan);
    rgmi_plan_clear(&plan);

    w.num_groups = 3; /* e4 is cancelled */
    make_plan(&plan, &w);
    CHECK_INT(RGMI_START, decided(&w, &plan, 1, 0)->verdict);
    CHECK_INT(RGMI_WAIT, decided(&w, &plan, 2, 0)->verdict);
    rgmi_plan_clear(&plan);
}

static void case_41_what_fits_starts_by_priority(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_PRIORITY, 4);
    w.agents[w.num_agents++] = 4;
    for (int64_t g = 0; g < 6; g++) {
        add_group(&w, 1, -1, g < 3 ? 50 : 40);
        add_tasks(&w, g, 1, (int64_t[]){4, 1, 0, 1, 0, 4}[g], RGMI_TASK_PENDING);
    }
    make_plan(&plan, &w);
    check_decision(&w, &plan, 0, 0, RGMI_WAIT,
                   "waits for 4 slots: 2 free, 4 held by experiment 6 (priority 40), 2 by others");
    for (int64_t g = 1; g < 6; g++)
        CHECK_INT(RGMI_START, decided(&w, &plan, g, 0)->verdict);
    rgmi_plan_clear(&plan);

    /* A task of 12 slots, for which agents may come, holds its place in the line. */
    add_group(&w, 1, -1, 40);
    add_tasks(&w, 6, 1, 12, RGMI_TASK_PENDING);
    w.rules.may_grow = true;
    make_plan(&plan, &w);
    check_decision(&w, &plan, 6, 0, RGMI_WAIT,
                   "needs 12 slots, 8 are there: it waits for machines");
    check_decision(&w, &plan, 1, 0, RGMI_WAIT,
                   "waits behind trial 700 of experiment 7 (priority 40), which needs 12 slots");
    CHECK_INT(RGMI_WAIT, decided(&w, &plan, 0, 0)->verdict);
    for (int64_t g = 2; g < 6; g++)
        CHECK_INT(RGMI_START, decided(&w, &plan, g, 0)->verdict);
    rgmi_plan_clear(&plan);

    /* On machines that stay as they are it is in nobody's way. */
    w.rules.may_grow = false;
    make_plan(&plan, &w);
    check_decision(&w, &plan, 6, 0, RGMI_WAIT,
                   "needs 12 slots, the machine has 8: it can never start");
    CHECK_INT(RGMI_START, decided(&w, &plan, 1, 0)->verdict);
    rgmi_plan_clear(&plan);
}

static void as_few_as_needed_are_preempted(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_PRIORITY, 4);
    w.rules.preemption = true;
    for (int64_t g = 0; g < 3; g++) {
        add_group(&w, 1, -1, (int64_t[]){50, 60, 60}[g]);
        add_tasks(&w, g, 1, (int64_t[]){1, 2, 1}[g], RGMI_TASK_RUNNING);
    }
    add_group(&w, 1, -1, 40);
    add_tasks(&w, 3, 1, 2, RGMI_TASK_PENDING);
    make_plan(&plan, &w); /* the newest alone is too little, with the next it is not needed */
    CHECK_INT(RGMI_KEEP, decided(&w, &plan, 0, 0)->verdict);
    CHECK_INT(RGMI_STOP, decided(&w, &plan, 1, 0)->verdict);
    CHECK_INT(RGMI_KEEP, decided(&w, &plan, 2, 0)->verdict);
    rgmi_plan_clear(&plan);

    w.groups[3].priority = 60; /* nobody makes room for its equals */
    make_plan(&plan, &w);
    for (int64_t g = 0; g < 3; g++)
        CHECK_INT(RGMI_KEEP, decided(&w, &plan, g, 0)->verdict);
    rgmi_plan_clear(&plan);

    w.groups[3].priority = 40;
    w.tasks[1][0].is_fixed = true; /* nor what cannot be stopped: then both of the others */
    make_plan(&plan, &w);
    CHECK_INT(RGMI_STOP, decided(&w, &plan, 0, 0)->verdict);
    CHECK_INT(RGMI_KEEP, decided(&w, &plan, 1, 0)->verdict);
    CHECK_INT(RGMI_STOP, decided(&w, &plan, 2, 0)->verdict);
    rgmi_plan_clear(&plan);
}

static void what_is_left_over_is_filled_with_what_can_be_stopped(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_PRIORITY, 4);
    w.rules.preemption = true;
    add_group(&w, 1, -1, 10);
    add_tasks(&w, 0, 1, 2, RGMI_TASK_RUNNING);
    add_group(&w, 1, -1, 20);
    add_tasks(&w, 1, 1, 4, RGMI_TASK_PENDING);
    add_group(&w, 1, -1, 30);
    add_tasks(&w, 2, 2, 1, RGMI_TASK_PENDING);
    w.tasks[2][0].is_fixed = true;
    make_plan(&plan, &w);
    check_decision(&w, &plan, 1, 0, RGMI_WAIT,
                   "waits for 4 slots: 1 free, 2 held by experiment 1 (priority 10), 1 by others");
    check_decision(&w, &plan, 2, 0, RGMI_WAIT,
                   "waits behind trial 200 of experiment 2 (priority 20), which needs 4 slots (it "
                   "could not be stopped to make room)");
    CHECK_INT(RGMI_START, decided(&w, &plan, 2, 1)->verdict);
    rgmi_plan_clear(&plan);
}

/* Free slots that a trial of four waits for are not given to one behind it. */
static void what_is_promised_is_not_given_away(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_PRIORITY, 4);
    w.rules.preemption = true;
    add_group(&w, 1, -1, 60);
    add_tasks(&w, 0, 1, 2, RGMI_TASK_RUNNING);
    add_group(&w, 1, -1, 40);
    add_tasks(&w, 1, 1, 4, RGMI_TASK_PENDING);
    add_tasks(&w, 1, 1, 1, RGMI_TASK_PENDING);
    add_group(&w, 1, -1, 60);
    add_tasks(&w, 2, 1, 1, RGMI_TASK_PENDING);
    for (int round = 0; round < 2; round++) { /* also while it stops */
        make_plan(&plan, &w);
        CHECK_INT(round == 0 ? RGMI_STOP : RGMI_KEEP, decided(&w, &plan, 0, 0)->verdict);
        for (int64_t t = 0; t < 2; t++)
            CHECK_INT(RGMI_WAIT, decided(&w, &plan, 1, t)->verdict);
        check_decision(&w, &plan, 1, 0, RGMI_WAIT, "waits for 4 slots: they are being given back");
        check_decision(&w, &plan, 2, 0, RGMI_WAIT,
                       "waits for 1 slot: what is free is kept for trial 200 of experiment 2 "
                       "(priority 40), which "
                       "needs 4");
        rgmi_plan_clear(&plan);
        w.tasks[0][0].state = RGMI_TASK_STOPPING;
    }
}

/* #3340: who was preempted is as old as before, whatever the order in which things stopped. */
static void order_among_equals_stays(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_PRIORITY, 3);
    w.rules.preemption = true;
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 0, 5, 1, RGMI_TASK_PENDING);
    make_plan(&plan, &w);
    apply(&w, &plan);
    rgmi_plan_clear(&plan);
    for (int64_t round = 0; round < 5; round++) {
        w.num_groups = 1;
        add_group(&w, 1, -1, 1);
        w.groups[1].num_tasks = 0;
        add_tasks(&w, 1, 1 + round % 3, 1, RGMI_TASK_PENDING);
        for (int64_t i = 0; i < 2; i++) {
            make_plan(&plan, &w);
            apply(&w, &plan);
            rgmi_plan_clear(&plan);
        }
        w.num_groups = 1;
        make_plan(&plan, &w);
        apply(&w, &plan);
        rgmi_plan_clear(&plan);
        for (int64_t t = 0; t < 5; t++)
            CHECK_INT(t < 3 ? RGMI_TASK_RUNNING : RGMI_TASK_PENDING, w.tasks[0][t].state);
    }
}

/* ---- 42: placement ---- */

static void case_42_placement(void **state)
{
    static const struct {
        int64_t slots, agents[8], count, size;
    } cases[] = {
        {16, {8, 7, 7, 4, 4, 4, 4}, 4, 4},
        {10, {1, 5, 10}, 1, 10},
        {12, {8, 8, 3, 3, 3}, 0, 0},
        {8, {4, 4, 4, 4, 4}, 2, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgmi_agent_slots places[8];
        int64_t n = 0, count;

        while (n < 8 && cases[i].agents[n] > 0)
            n++;
        count = rgmi_place_task(places, cases[i].slots, cases[i].agents, cases[i].agents, n, false);
        CHECK_INT(cases[i].count, count);
        for (int64_t p = 0; p < count; p++) {
            CHECK_INT(cases[i].agents[places[p].agent], cases[i].size);
            CHECK_INT(cases[i].size, places[p].slots);
            CHECK(p == 0 || places[p].agent > places[p - 1].agent);
        }
    }
}

static void one_agent_is_filled_or_spared(void **state)
{
    static const int64_t sizes[] = {8, 4, 6}, free[] = {5, 3, 3};
    rgmi_agent_slots places[3];

    (void)state;
    CHECK_INT(1, rgmi_place_task(places, 2, free, sizes, 3, false));
    CHECK_INT(1, places[0].agent); /* the first of those with least left */
    CHECK_INT(1, rgmi_place_task(places, 2, free, sizes, 3, true));
    CHECK_INT(1, places[0].agent); /* 3 of 4 free */
    CHECK_INT(1, rgmi_place_task(places, 4, free, sizes, 3, true));
    CHECK_INT(0, places[0].agent);
    CHECK_INT(0, rgmi_place_task(places, 6, free, sizes, 3, false));
    CHECK_INT(0, rgmi_place_task(places, 1, free, sizes, 0, false));
}

/* ---- round robin, limits, reasons ---- */

static void round_robin_gives_to_who_has_least(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_ROUND_ROBIN, 6);
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 0, 2, 1, RGMI_TASK_RUNNING);
    add_tasks(&w, 0, 3, 1, RGMI_TASK_PENDING);
    add_group(&w, 1, 1, 42);
    add_tasks(&w, 1, 2, 1, RGMI_TASK_PENDING);
    add_group(&w, 1, -1, 42);
    add_tasks(&w, 2, 1, 2, RGMI_TASK_PENDING);
    add_tasks(&w, 2, 1, 4, RGMI_TASK_PENDING);
    add_tasks(&w, 2, 1, 1, RGMI_TASK_PENDING);
    make_plan(&plan, &w);
    CHECK_INT(RGMI_START, decided(&w, &plan, 1, 0)->verdict);
    check_decision(&w, &plan, 1, 1, RGMI_WAIT, "its experiment is at max_slots 1");
    CHECK_INT(RGMI_START, decided(&w, &plan, 2, 0)->verdict);
    CHECK_INT(RGMI_START, decided(&w, &plan, 0, 2)->verdict); /* of equals the older */
    check_decision(&w, &plan, 2, 1, RGMI_WAIT,
                   "waits for 4 slots: 0 free, 3 held by experiment 1, 3 by others");
    check_decision(&w, &plan, 2, 2, RGMI_WAIT,
                   "waits behind trial 301 of its experiment, which needs 4 slots");
    check_decision(&w, &plan, 0, 3, RGMI_WAIT,
                   "waits for 1 slot: 0 free, 3 held by experiment 1, 3 by others");
    check_decision(&w, &plan, 0, 4, RGMI_WAIT,
                   "waits behind trial 103 of its experiment, which needs 1 slot");
    rgmi_plan_clear(&plan);
}

static void round_robin_takes_turns(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_ROUND_ROBIN, 7);
    for (int64_t g = 0; g < 3; g++) {
        add_group(&w, 1, -1, 42);
        add_tasks(&w, g, g == 1 ? 1 : 5, 1, RGMI_TASK_PENDING);
    }
    make_plan(&plan, &w);
    for (int64_t g = 0; g < 3; g++)
        for (int64_t t = 0; t < w.groups[g].num_tasks; t++)
            CHECK_INT(t < (g == 1 ? 1 : 3) ? RGMI_START : RGMI_WAIT,
                      decided(&w, &plan, g, t)->verdict);
    rgmi_plan_clear(&plan);
}

static void limits_are_told_and_stand_in_nobodys_way(void **state)
{
    static const rgmi_policy policies[] = {RGMI_FAIR_SHARE, RGMI_ROUND_ROBIN, RGMI_PRIORITY};

    (void)state;
    for (int p = 0; p < 3; p++) {
        world w;
        rgmi_schedule_plan plan;

        start_world(&w, policies[p], 4);
        w.agents[w.num_agents++] = 3;
        add_group(&w, 1, 1, 10);
        add_tasks(&w, 0, 1, 2, RGMI_TASK_PENDING);
        add_group(&w, 1, -1, 10);
        add_tasks(&w, 1, 1, 9, RGMI_TASK_PENDING);
        add_tasks(&w, 1, 1, 6, RGMI_TASK_PENDING);
        add_group(&w, 1, 2, 42);
        add_tasks(&w, 2, 1, 2, RGMI_TASK_RUNNING);
        add_tasks(&w, 2, 1, 1, RGMI_TASK_PENDING);
        add_group(&w, 1, -1, 99);
        add_tasks(&w, 3, 3, 1, RGMI_TASK_PENDING);
        make_plan(&plan, &w);
        check_decision(&w, &plan, 0, 0, RGMI_WAIT,
                       "needs 2 slots, max_slots of its experiment is 1: it can never start");
        check_decision(&w, &plan, 1, 0, RGMI_WAIT,
                       "needs 9 slots, the machine has 7: it can never start");
        check_decision(
            &w, &plan, 1, 1, RGMI_WAIT,
            "needs 6 slots, which are on no one machine and not on whole ones of an equal "
            "size: it can never start");
        check_decision(&w, &plan, 2, 1, RGMI_WAIT, "its experiment is at max_slots 2");
        for (int64_t t = 0; t < 3; t++)
            CHECK_INT(RGMI_START, decided(&w, &plan, 3, t)->verdict);
        rgmi_plan_clear(&plan);
    }
}

/* As on slots that were drained: no agent has them, and max_slots counts them. */
static void what_is_held_beside_the_agents_counts_in_max_slots(void **state)
{
    static const rgmi_policy policies[] = {RGMI_FAIR_SHARE, RGMI_ROUND_ROBIN, RGMI_PRIORITY};

    (void)state;
    for (int p = 0; p < 3; p++)
        for (int64_t beside = 0; beside < 3; beside++) {
            world w;
            rgmi_schedule_plan plan;

            start_world(&w, policies[p], 4);
            add_group(&w, 1, 2, 10);
            w.groups[0].beside = beside;
            add_tasks(&w, 0, 3, 1, RGMI_TASK_PENDING);
            add_group(&w, 1, -1, 42);
            add_tasks(&w, 1, 4, 1, RGMI_TASK_PENDING);
            make_plan(&plan, &w);
            for (int64_t t = 0; t < 2 - beside; t++)
                CHECK_INT(RGMI_START, decided(&w, &plan, 0, t)->verdict);
            check_decision(&w, &plan, 0, 2, RGMI_WAIT, "its experiment is at max_slots 2");
            for (int64_t t = 0; t < 4; t++)
                CHECK_INT(t < 2 + beside ? RGMI_START : RGMI_WAIT,
                          decided(&w, &plan, 1, t)->verdict);
            rgmi_plan_clear(&plan);
        }
}

static void tasks_without_slots_start_up_to_a_number(void **state)
{
    world w;
    rgmi_schedule_plan plan;

    (void)state;
    start_world(&w, RGMI_PRIORITY, 1);
    for (int64_t g = 0; g < 2; g++) {
        add_group(&w, 1, -1, 42);
        add_tasks(&w, g, MANY - 1, 0, g == 0 ? RGMI_TASK_RUNNING : RGMI_TASK_PENDING);
    }
    make_plan(&plan, &w);
    CHECK_INT(RGMI_START, decided(&w, &plan, 1, RGMI_TASKS_WITHOUT_SLOTS - MANY)->verdict);
    check_decision(&w, &plan, 1, RGMI_TASKS_WITHOUT_SLOTS - MANY + 1, RGMI_WAIT,
                   "every machine has 100 tasks without slots");
    rgmi_plan_clear(&plan);
}

static void what_cannot_be_is_refused(void **state)
{
    static const rgmi_agent_slots nowhere = {.agent = 1, .slots = 1};
    world w;
    rgmi_schedule_plan plan;

    (void)state;
#define REFUSED(change, words)                                                                     \
    do {                                                                                           \
        start_world(&w, RGMI_FAIR_SHARE, 4);                                                       \
        add_group(&w, 1, -1, 42);                                                                  \
        add_tasks(&w, 0, 1, 1, RGMI_TASK_PENDING);                                                 \
        change;                                                                                    \
        CHECK_STATUS(RGM_ERR_ARG,                                                                  \
                     rgmi_schedule(&plan, &w.rules, w.agents, w.num_agents, w.groups, 1));         \
        CHECK_MESSAGE(words);                                                                      \
        CHECK(plan.tasks == NULL);                                                                 \
    } while (0)
    REFUSED(w.groups[0].weight = 0, "experiment 1: weight is 0, must be above 0");
    REFUSED(w.groups[0].weight = (double)NAN, "weight is");
    REFUSED(w.groups[0].weight = (double)INFINITY, "weight is inf");
    REFUSED(w.groups[0].priority = 100, "priority is 100, must be in 1..99");
    REFUSED(w.tasks[0][0].slots = -1, "trial 100 of experiment 1 asks for -1 slots");
    REFUSED(w.tasks[0][0].slots = INT64_MAX, "asks for");
    REFUSED(w.agents[0] = -1, "agent 0 has -1 slots");
    REFUSED(w.agents[0] = INT64_MAX, "agent 0 has");
    REFUSED((w.tasks[0][0].places = &nowhere, w.tasks[0][0].num_places = 1), "on agent 1");
    REFUSED((w.num_agents = 0, w.tasks[0][0].state = RGMI_TASK_RUNNING), "runs nowhere");
#undef REFUSED
    start_world(&w, RGMI_PRIORITY, 0);
    w.num_agents = 0;
    make_plan(&plan, &w);
    CHECK_INT(0, plan.num_tasks);
    rgmi_plan_clear(&plan);
}

/* ---- what holds for any description ---- */

typedef struct dice {
    rgm_rng rng;
    uint64_t at;
} dice;

static int64_t draw(dice *rng, int64_t n)
{
    return (int64_t)rgm_rng_below(&rng->rng, rng->at++, (uint64_t)n);
}

static void draw_world(world *w, dice *rng)
{
    int64_t groups = 1 + draw(rng, 8);

    start_world(w, (rgmi_policy)draw(rng, 3), 1 + draw(rng, 9));
    while (draw(rng, 3) == 0 && w->num_agents < 5)
        w->agents[w->num_agents++] = 1 + draw(rng, 9);
    w->rules.preemption = draw(rng, 2) == 0;
    w->rules.spread = draw(rng, 2) == 0;
    w->rules.may_grow = draw(rng, 4) == 0;
    for (int64_t g = 0; g < groups; g++) {
        add_group(w, (double)(1 + draw(rng, 4)) / 2, draw(rng, 3) == 0 ? draw(rng, 8) : -1,
                  1 + draw(rng, 3));
        w->groups[g].order = draw(rng, 4); /* equals among them */
        for (int64_t t = draw(rng, 12); t > 0; t--)
            add_tasks(w, g, 1, draw(rng, 8) == 0 ? 0 : 1 + draw(rng, draw(rng, 3) == 0 ? 12 : 3),
                      RGMI_TASK_PENDING);
        for (int64_t t = 0; t < w->groups[g].num_tasks; t++) {
            w->tasks[g][t].is_fixed = draw(rng, 5) == 0;
            w->tasks[g][t].order = draw(rng, 6);
        }
    }
}

/* free[a] after a plan, tasks on several agents as the plan places them. */
static void check_capacity(const world *w, const rgmi_schedule_plan *plan, int64_t *free,
                           rgmi_agent_slots held[MANY][MANY][MANY], int64_t counts[MANY][MANY])
{
    memcpy(free, w->agents, sizeof w->agents);
    for (int64_t g = 0; g < w->num_groups; g++) {
        int64_t used = 0;

        for (int64_t t = 0; t < w->groups[g].num_tasks; t++) {
            const rgmi_decision *d = decided(w, plan, g, t);
            int64_t slots = 0;

            if (d->verdict == RGMI_START) {
                CHECK(w->tasks[g][t].state == RGMI_TASK_PENDING && d->num_places > 0);
                counts[g][t] = d->num_places;
                memcpy(held[g][t], plan->places + d->first_place,
                       (size_t)d->num_places * sizeof(rgmi_agent_slots));
            }
            if (d->verdict == RGMI_WAIT)
                continue;
            for (int64_t i = 0; i < counts[g][t]; i++) {
                free[held[g][t][i].agent] -= held[g][t][i].slots;
                slots += held[g][t][i].slots;
            }
            CHECK_INT(w->tasks[g][t].slots, slots);
            used += slots;
        }
        CHECK(w->groups[g].max_slots < 0 || used <= w->groups[g].max_slots);
    }
    for (int64_t a = 0; a < w->num_agents; a++)
        CHECK(free[a] >= 0);
}

/* Every waiting task has a reason with words, and where there is room for one it is a rule's. */
static void check_reasons(const world *w, const rgmi_schedule_plan *plan, const int64_t *free)
{
    int64_t highest_waiting = 100;

    for (int64_t g = 0; g < w->num_groups; g++)
        for (int64_t t = 0; t < w->groups[g].num_tasks; t++) {
            const rgmi_decision *d = decided(w, plan, g, t);
            rgmi_agent_slots places[MANY];
            rgm_text words = {0};

            CHECK_INT(d->verdict == RGMI_START || d->verdict == RGMI_KEEP,
                      d->reason.kind == RGMI_REASON_NONE);
            if (d->verdict != RGMI_WAIT)
                continue;
            CHECK_OK(rgmi_reason_print(&words, &d->reason));
            CHECK(words.size > 10);
            rgm_text_clear(&words);
            if (d->reason.kind == RGMI_REASON_HELD)
                CHECK(rgmi_place_task(places, w->tasks[g][t].slots, free, w->agents, w->num_agents,
                                      w->rules.spread) == 0);
            if (d->reason.kind == RGMI_REASON_HELD && w->groups[g].priority < highest_waiting)
                highest_waiting = w->groups[g].priority;
        }
    if (w->rules.policy != RGMI_PRIORITY || w->rules.preemption)
        return;
    for (int64_t g = 0; g < w->num_groups; g++) /* nothing of a lower precedence overtakes */
        for (int64_t t = 0; t < w->groups[g].num_tasks; t++)
            CHECK(decided(w, plan, g, t)->verdict != RGMI_START || w->tasks[g][t].slots == 0 ||
                  w->groups[g].priority <= highest_waiting);
}

/* Stopping is for a reason that the rules know. */
static void check_stops(const world *w, const rgmi_schedule_plan *plan)
{
    for (int64_t g = 0; g < w->num_groups; g++) {
        bool starts = false, stops = false;

        for (int64_t t = 0; t < w->groups[g].num_tasks; t++) {
            const rgmi_decision *d = decided(w, plan, g, t);

            starts = starts || (d->verdict == RGMI_START && w->tasks[g][t].slots > 0);
            if (d->verdict != RGMI_STOP)
                continue;
            stops = true;
            CHECK(!w->tasks[g][t].is_fixed && w->tasks[g][t].state == RGMI_TASK_RUNNING);
            CHECK(w->rules.policy != RGMI_ROUND_ROBIN);
            if (w->rules.policy == RGMI_PRIORITY)
                CHECK(w->rules.preemption && d->reason.priority < w->groups[g].priority);
        }
        CHECK(w->rules.policy != RGMI_FAIR_SHARE || !(starts && stops));
    }
}

static bool same_plans(const rgmi_schedule_plan *a, const rgmi_schedule_plan *b)
{
    if (a->num_tasks != b->num_tasks || a->num_places != b->num_places)
        return false;
    for (int64_t i = 0; i < a->num_tasks; i++)
        if (a->tasks[i].verdict != b->tasks[i].verdict ||
            memcmp(&a->tasks[i].reason, &b->tasks[i].reason, sizeof a->tasks[i].reason) != 0)
            return false;
    return a->num_places == 0 ||
           memcmp(a->places, b->places, (size_t)a->num_places * sizeof *a->places) == 0;
}

/* Lets a plan come true: a stop takes a while in half of the cases. True: nothing changed. */
static bool come_true(world *w, const rgmi_schedule_plan *plan, dice *rng,
                      rgmi_agent_slots held[MANY][MANY][MANY], int64_t counts[MANY][MANY])
{
    bool quiet = true;

    for (int64_t g = 0; g < w->num_groups; g++)
        for (int64_t t = 0; t < w->groups[g].num_tasks; t++) {
            const rgmi_decision *d = decided(w, plan, g, t);
            rgmi_task *task = &w->tasks[g][t];
            bool ends = task->state == RGMI_TASK_STOPPING || d->verdict == RGMI_STOP;

            quiet = quiet && !ends && d->verdict != RGMI_START;
            if (ends)
                task->state = draw(rng, 2) == 0 ? RGMI_TASK_STOPPING : RGMI_TASK_PENDING;
            else if (d->verdict == RGMI_START)
                task->state = RGMI_TASK_RUNNING;
            task->places = task->state == RGMI_TASK_PENDING ? NULL : held[g][t];
            task->num_places = task->state == RGMI_TASK_PENDING ? 0 : counts[g][t];
        }
    return quiet;
}

/* One task that runs is done, and is no more. False: none runs. */
static bool finish_one(world *w, dice *rng, rgmi_agent_slots held[MANY][MANY][MANY],
                       int64_t counts[MANY][MANY])
{
    int64_t at = draw(rng, w->num_groups);

    for (int64_t i = 0; i < w->num_groups; i++) {
        int64_t g = (i + at) % w->num_groups;

        for (int64_t t = 0; t < w->groups[g].num_tasks; t++) {
            if (w->tasks[g][t].state != RGMI_TASK_RUNNING)
                continue;
            w->groups[g].num_tasks--;
            for (int64_t k = t; k < w->groups[g].num_tasks; k++) {
                w->tasks[g][k] = w->tasks[g][k + 1];
                counts[g][k] = counts[g][k + 1];
                memcpy(held[g][k], held[g][k + 1], sizeof held[g][k]);
                if (w->tasks[g][k].num_places > 0)
                    w->tasks[g][k].places = held[g][k];
            }
            return true;
        }
    }
    return false;
}

/* Once all is at rest, no slot of a machine is idle that a task waits for. */
static void check_idle(const world *w, const rgmi_schedule_plan *plan, const int64_t *free)
{
    for (int64_t g = 0; g < w->num_groups && w->num_agents == 1; g++)
        for (int64_t t = 0; t < w->groups[g].num_tasks; t++)
            CHECK(decided(w, plan, g, t)->reason.kind != RGMI_REASON_SHARE ||
                  w->tasks[g][t].slots > free[0]);
}

/* Plans that come true until nothing changes. */
static void settle(world *w, dice *rng, rgmi_agent_slots held[MANY][MANY][MANY],
                   int64_t counts[MANY][MANY])
{
    int64_t free[MANY];
    int rounds = 0;

    for (bool quiet = false; !quiet; rounds++) {
        rgmi_schedule_plan plan, again;

        make_plan(&plan, w);
        make_plan(&again, w);
        CHECK(same_plans(&plan, &again));
        check_capacity(w, &plan, free, held, counts);
        check_reasons(w, &plan, free);
        check_stops(w, &plan);
        quiet = come_true(w, &plan, rng, held, counts);
        if (quiet)
            check_idle(w, &plan, free);
        rgmi_plan_clear(&plan);
        rgmi_plan_clear(&again);
        CHECK(rounds < 200); /* nothing is stopped and started for ever */
    }
}

static void random_worlds_keep_the_rules(void **state)
{
    static rgmi_agent_slots held[MANY][MANY][MANY];
    static int64_t counts[MANY][MANY];
    dice rng = {.rng = rgm_rng_stream(7, "worlds", 0)};

    (void)state;
    for (int i = 0; i < 1500; i++) {
        world w;
        rgmi_schedule_plan plan;

        memset(counts, 0, sizeof counts);
        draw_world(&w, &rng);
        do
            settle(&w, &rng, held, counts);
        while (finish_one(&w, &rng, held, counts));
        if (w.rules.may_grow)
            continue;
        make_plan(&plan, &w); /* nobody starved: what is left could not be */
        for (int64_t t = 0; t < plan.num_tasks; t++)
            CHECK(plan.tasks[t].reason.kind == RGMI_REASON_TOO_WIDE ||
                  plan.tasks[t].reason.kind == RGMI_REASON_SHAPE ||
                  plan.tasks[t].reason.kind == RGMI_REASON_OVER_MAX);
        rgmi_plan_clear(&plan);
    }
}

static void a_plan_without_memory_is_empty(void **state)
{
    dice rng = {.rng = rgm_rng_stream(3, "worlds", 1)};

    (void)state;
    for (int i = 0; i < 30; i++) {
        world w;
        rgmi_schedule_plan plan = {0};

        draw_world(&w, &rng);
        CHECK_EVERY_OOM(
            rgmi_schedule(&plan, &w.rules, w.agents, w.num_agents, w.groups, w.num_groups),
            rgmi_plan_clear(&plan));
    }
}

/* Of this thread: other programs take none of it. */
static double cpu_seconds(void)
{
    struct timespec now;

    CHECK_INT(0, clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Ten thousand tasks: in one group, in a hundred, in as many groups as tasks. */
static void ten_thousand_tasks_take_milliseconds(void **state)
{
    enum { TASKS = 10000, SLOTS = 64 };
    static rgmi_task tasks[TASKS];
    static rgmi_group groups[TASKS];
    static const int64_t counts[] = {1, 100, TASKS};
    double worst = 0;

    (void)state;
    for (int i = 0; i < 9; i++) {
        int64_t n = counts[i % 3], slots[1] = {SLOTS};
        rgmi_rules rules = {.policy = (rgmi_policy)(i / 3), .preemption = true};
        double best = 1e9;

        for (int64_t t = 0; t < TASKS; t++)
            tasks[t] = (rgmi_task){.id = t, .order = t, .slots = 1 + t % 3};
        for (int64_t g = 0; g < n; g++)
            groups[g] = (rgmi_group){.id = g,
                                     .order = n - g,
                                     .weight = 1,
                                     .max_slots = -1,
                                     .priority = 1 + g % 99,
                                     .tasks = tasks + g * (TASKS / n),
                                     .num_tasks = TASKS / n};
        tasks[TASKS - 1].state = RGMI_TASK_RUNNING;
        for (int k = 0; k < 5; k++) {
            double start = cpu_seconds();
            rgmi_schedule_plan plan;

            CHECK_OK(rgmi_schedule(&plan, &rules, slots, 1, groups, n));
            rgmi_plan_clear(&plan);
            best = fmin(best, cpu_seconds() - start);
        }
        print_message("policy %d, %5d groups: %.2f ms\n", i / 3, (int)n, 1e3 * best);
        worst = fmax(worst, best);
    }
    CHECK(worst <
          0.1); /* a few milliseconds; ten times that under sanitizers and on busy machines */
}

TESTS(cmocka_unit_test(case_39_fair_share_offers),
      cmocka_unit_test(what_offers_leave_is_handed_out),
      cmocka_unit_test(fair_share_stops_what_is_above_the_offer_and_starts_when_it_is_free),
      cmocka_unit_test(fair_share_leaves_tasks_that_cannot_be_stopped),
      cmocka_unit_test(who_runs_does_not_give_up_for_who_waits),
      cmocka_unit_test(what_is_fixed_is_not_counted_as_room),
      cmocka_unit_test(the_youngest_group_gives_up_first),
      cmocka_unit_test(case_40_the_newest_is_preempted_and_resumes_first),
      cmocka_unit_test(case_41_what_fits_starts_by_priority),
      cmocka_unit_test(as_few_as_needed_are_preempted),
      cmocka_unit_test(what_is_left_over_is_filled_with_what_can_be_stopped),
      cmocka_unit_test(what_is_promised_is_not_given_away),
      cmocka_unit_test(order_among_equals_stays), cmocka_unit_test(case_42_placement),
      cmocka_unit_test(one_agent_is_filled_or_spared),
      cmocka_unit_test(round_robin_gives_to_who_has_least),
      cmocka_unit_test(round_robin_takes_turns),
      cmocka_unit_test(limits_are_told_and_stand_in_nobodys_way),
      cmocka_unit_test(what_is_held_beside_the_agents_counts_in_max_slots),
      cmocka_unit_test(tasks_without_slots_start_up_to_a_number),
      cmocka_unit_test(what_cannot_be_is_refused), cmocka_unit_test(random_worlds_keep_the_rules),
      cmocka_unit_test(a_plan_without_memory_is_empty),
      cmocka_unit_test(ten_thousand_tasks_take_milliseconds))

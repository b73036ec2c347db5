/*
 * Who gets which slots: from groups of tasks (experiments and their trials) and the slots that
 * there are to what starts and what is stopped, each with its reason. Nothing here runs anything,
 * keeps anything or asks the clock: the same description gives the same plan.
 *
 * Fair share, round robin and priority are those of PEDL and Determined (docs/master.md says where
 * not). Slots, here, are counts; which processors make one is cpus.h's.
 */
#ifndef RGM_MASTER_SCHEDULER_H
#define RGM_MASTER_SCHEDULER_H

#include <regimen/base.h>

/** How groups share: each by its weight; the one with fewest slots in use first; by rank. */
typedef enum rgmi_policy { RGMI_FAIR_SHARE, RGMI_ROUND_ROBIN, RGMI_PRIORITY } rgmi_policy;

typedef struct rgmi_rules {
    rgmi_policy policy;
    bool preemption; /* RGMI_PRIORITY: lower precedence is stopped to make room              */
    bool spread;     /* of several agents take the least used, not the fullest that has room */
    bool may_grow;   /* agents may yet come: what is too wide waits, and holds its place     */
} rgmi_rules;

/** So many slots of an agent, by its number. */
typedef struct rgmi_agent_slots {
    int64_t agent, slots;
} rgmi_agent_slots;

typedef enum rgmi_task_state {
    RGMI_TASK_PENDING,
    RGMI_TASK_RUNNING,
    RGMI_TASK_STOPPING /* it was told to stop and holds its slots until it has */
} rgmi_task_state;

typedef struct rgmi_task {
    int64_t id;    /* for reasons: a trial's number                                  */
    int64_t order; /* smaller is older; it keeps that through stops                  */
    int64_t slots; /* 0: it needs none                                               */
    rgmi_task_state state;
    bool is_fixed;                  /* it cannot be stopped and gone on with                */
    const rgmi_agent_slots *places; /* what it holds, when not pending ...                  */
    int64_t num_places;             /* ... 0: all its slots on the first agent              */
} rgmi_task;

typedef struct rgmi_group {
    int64_t id;        /* for reasons: an experiment's number                             */
    int64_t order;     /* smaller is older                                                */
    double weight;     /* above 0: fair share                                             */
    int64_t max_slots; /* that its tasks may hold together; below 0: no limit             */
    int64_t beside;    /* that they hold and no agent has any more: of max_slots alone    */
    int64_t priority;  /* 1..99, small first                                              */
    const rgmi_task *tasks;
    int64_t num_tasks;
} rgmi_group;

/** Why a task waits, or is stopped. */
typedef enum rgmi_reason_kind {
    RGMI_REASON_NONE,       /* it starts, or goes on                                            */
    RGMI_REASON_TOO_WIDE,   /* more slots than there are: never                                 */
    RGMI_REASON_SHAPE,      /* no whole number of equal agents has so many: never               */
    RGMI_REASON_MORE,       /* one of both, but agents may come                                 */
    RGMI_REASON_OVER_MAX,   /* more slots than its group may hold: never                        */
    RGMI_REASON_MAX_SLOTS,  /* its group holds all that it may                                  */
    RGMI_REASON_SHARE,      /* its group's share is in use, or too small                        */
    RGMI_REASON_HELD,       /* others hold the slots                                            */
    RGMI_REASON_RETURNING,  /* the slots are being given back                                   */
    RGMI_REASON_BEHIND,     /* one of a higher precedence waits                                 */
    RGMI_REASON_FIXED,      /* the same, and it could not be stopped again                      */
    RGMI_REASON_PROMISED,   /* what is free is kept for one that waits for more */
    RGMI_REASON_IN_LINE,    /* one before it in its group waits                                 */
    RGMI_REASON_NO_ROOM,    /* every agent has its number of tasks without slots                */
    RGMI_REASON_LOST_SHARE, /* stopped: its group's share became smaller                        */
    RGMI_REASON_PREEMPTED   /* stopped: it makes room for one of a higher precedence            */
} rgmi_reason_kind;

typedef struct rgmi_reason {
    rgmi_reason_kind kind;
    int64_t needed;      /* slots of the task                                           */
    int64_t total, free; /* of all agents                                               */
    int64_t limit, used; /* of the group: max_slots or share, and what it holds         */
    int64_t group;       /* whom it waits for: id ...                                   */
    int64_t task;        /* ... of its task that waits, or -1 ...                       */
    int64_t group_slots; /* ... slots that it holds, or needs ...                       */
    int64_t priority;    /* ... 0: does not matter                                      */
    int64_t others;      /* slots that still others hold                                */
    int64_t most;        /* RGMI_REASON_HELD: free on one agent at most; -1: there is one agent */
} rgmi_reason;

typedef enum rgmi_verdict { RGMI_WAIT, RGMI_START, RGMI_KEEP, RGMI_STOP } rgmi_verdict;

typedef struct rgmi_decision {
    rgmi_verdict verdict;
    int64_t first_place, num_places; /* RGMI_START: of the plan's places */
    rgmi_reason reason;
} rgmi_decision;

/** `{0}` is an empty one. */
typedef struct rgmi_schedule_plan {
    rgmi_decision *tasks; /* of the first group, of the second, ... */
    int64_t num_tasks;
    int64_t *offers; /* [num_groups] RGMI_FAIR_SHARE: slots that a group may hold, else NULL */
    rgmi_agent_slots *places;
    int64_t num_places, place_capacity;
} rgmi_schedule_plan;
void rgmi_plan_clear(rgmi_schedule_plan *plan);

/** How many tasks without slots an agent takes. */
#define RGMI_TASKS_WITHOUT_SLOTS 100

/**
 * What starts and what is stopped now. To be asked again whenever something ended, came or changed:
 * what is stopped gives its slots in a later plan.
 *
 * @param plan    [out, owned] cleared with rgmi_plan_clear()
 * @param agents  [in] [num_agents] slots of each; an agent that is taken out has 0
 *
 * Errors: RGM_ERR_ARG (a group or a task that cannot be), RGM_ERR_NOMEM; the plan is then empty.
 * Cost: O(n log n) of all tasks, and O(groups) for each slot.
 */
rgm_status rgmi_schedule(rgmi_schedule_plan *plan, const rgmi_rules *rules, const int64_t *agents,
                         int64_t num_agents, const rgmi_group *groups, int64_t num_groups);

/** A reason in words: "waits for 2 slots: 1 free, 3 held by experiment 7 (priority 30)". Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgmi_reason_print(rgm_text *out, const rgmi_reason *reason);

/**
 * Where a task of `slots` goes: to one agent with that many free, the fullest (or, with `spread`,
 * the one with the largest part free); else to agents of an equal size that are wholly free and
 * that it fills, the largest size first.
 *
 * @param places  [out] [num_agents]
 * @param free    [in] [num_agents] free slots
 * @param sizes   [in] [num_agents] all slots
 *
 * @return how many places it takes; 0: there is no room
 */
int64_t rgmi_place_task(rgmi_agent_slots *places, int64_t slots, const int64_t *free,
                        const int64_t *sizes, int64_t num_agents, bool spread);

#endif

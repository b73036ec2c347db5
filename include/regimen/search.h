/*
 * search: what to try next. A space of hyperparameters, samplers that draw from it, and searchers
 * that say how long each trial trains: pure state machines over events, without I/O, clock or
 * threads. The same seed and the same events give the same operations, on every machine.
 *
 *     rgm_space      what may vary: typed values by name, conditions and constraints between them
 *     rgm_sampler    where in the space the next trial begins: random, sobol, tpe, gp, cma, nsga2
 *     rgm_searcher   which trials there are and how far each goes: random, grid, adaptive_asha, ...
 *
 * A searcher is told what happened and asked what to do, until it shuts down:
 *
 *     rgm_searcher_begin(searcher);
 *     while (rgm_searcher_next(&operation, searcher))
 *         ...                                            create, train, validate, checkpoint, close
 *     rgm_searcher_tell(searcher, &(rgm_search_event){RGM_VALIDATED, .trial = 3, .length = 12,
 *                                                     .metrics = &loss});
 *
 * A method that PEDL or Determined has follows their semantics (docs/search.md says which version,
 * and where they contradict themselves).
 */
#ifndef REGIMEN_SEARCH_H
#define REGIMEN_SEARCH_H

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- draws ---------------------------------------------------------------------------------- */

/** Mersenne Twister MT19937 (Matsumoto & Nishimura 1998), seeded as NumPy's RandomState(seed). */
typedef struct rgm_mt19937 {
    uint32_t words[624];
    int64_t next; /* of words, 0..624 */
} rgm_mt19937;

/** Set the state from a seed; return the next of its 32-bit words. */
void rgm_mt19937_seed(rgm_mt19937 *random, uint32_t seed);
uint32_t rgm_mt19937_u32(rgm_mt19937 *random);
/** Uniform integer in [0, most], by rejection under the smallest mask 2^k - 1 >= most, as
 * RandomState's interval; most = 0 draws nothing, most >= 2^32 draws two words, the high one first.
 */
uint64_t rgm_mt19937_bounded(rgm_mt19937 *random, uint64_t most);
/** Uniform in [0, 1) with 53 bits of two words, as RandomState.random_sample(). */
double rgm_mt19937_unit(rgm_mt19937 *random);
/** low + (high - low) * unit. */
double rgm_mt19937_uniform(rgm_mt19937 *random, double low, double high);
/** size bytes, words in little-endian order, as RandomState.bytes(). */
void rgm_mt19937_bytes(rgm_mt19937 *random, uint8_t *out, int64_t size);

/* ---- hyperparameters ------------------------------------------------------------------------ */

typedef enum rgm_hyperparameter_kind {
    RGM_HYPER_CONST,       /* val: one YAML value                                       */
    RGM_HYPER_CATEGORICAL, /* vals: a list of YAML values, at least one                 */
    RGM_HYPER_INT,         /* minval..maxval, both included                             */
    RGM_HYPER_DOUBLE,      /* minval <= x < maxval                                      */
    RGM_HYPER_LOG          /* base^x, minval <= x < maxval: these are exponents         */
} rgm_hyperparameter_kind;
extern const char *const rgm_hyperparameter_kind_names[]; /* "const", ..., ended by NULL */

typedef struct rgm_hyperparameter {
    const char *name; /* with its groups: "optimizer.learning_rate"               */
    rgm_hyperparameter_kind kind;
    rgm_texts values; /* const: one; categorical: in the file's order; each as YAML on one line   */
    double minval, maxval, base; /* int (at most 2^53 in size), double, log                */
    int64_t count;               /* of the values that grid takes of it; 0: not given      */
    const char *when; /* it is there only where this holds ("model.type == gat"); NULL: always */
} rgm_hyperparameter;

/** A value of a hyperparameter; the hyperparameter's kind says which member holds. */
typedef struct rgm_hyper_value {
    bool is_set;    /* false: its condition does not hold                    */
    int64_t choice; /* categorical: the place in values; const: 0            */
    int64_t integer;
    double number; /* double, log: the value itself, not its exponent       */
} rgm_hyper_value;

/** What may vary. Reference-counted; never changes once it is made. */
typedef struct rgm_space rgm_space;

/**
 * From the section `hyperparameters` of an experiment file (NULL: none): by name a scalar or a list
 * (a const), a map with `type` (that type's keys: val, vals, minval, maxval, base, count, and
 * `when`), or a map without `type` (a group, to any depth; "a.b" and a: {b: } are the same name).
 * `constraints` is a list of relations between them that every trial keeps ("model.heads <=
 * model.hidden"), or NULL. All mistakes are reported at once, each on a line of the message with
 * its place; those that do not fit are counted.
 *
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_space_read(rgm_space **out, const rgm_yaml_node *hyperparameters,
                          const rgm_yaml_node *constraints);
rgm_space *rgm_space_retain(rgm_space *space);
void rgm_space_release(rgm_space *space);
/**
 * Hyperparameters are in order of drawing: by the bytes of their names, level by level; what a
 * condition names comes before what has the condition.
 */
int64_t rgm_space_count(const rgm_space *space);
const rgm_hyperparameter *rgm_space_at(const rgm_space *space, int64_t i);
int64_t rgm_space_find(const rgm_space *space, const char *name); /* -1: none */

/**
 * Draw every hyperparameter in order: const nothing; categorical bounded(n - 1); int minval +
 * bounded(maxval - minval); double uniform; log base^uniform. One whose condition does not hold
 * draws nothing. Where constraints do not hold, all are drawn again.
 *
 * @param values  [out] [rgm_space_count()]
 *
 * Errors: RGM_ERR_CONFIG (a constraint did not hold in 10,000 draws: the message has its text).
 */
rgm_status rgm_space_draw(rgm_hyper_value *values, const rgm_space *space, rgm_mt19937 *random);
/** Draw one of them by itself. */
void rgm_space_draw_one(rgm_hyper_value *value, const rgm_space *space, int64_t i,
                        rgm_mt19937 *random);
/** Whether hyperparameter i is there, given the values of those drawn before it. */
bool rgm_space_applies(const rgm_space *space, int64_t i, const rgm_hyper_value *values);
/**
 * Whether all constraints hold for the values; *broken (may be NULL) is the first that does not. A
 * constraint that names a hyperparameter which is not there is ignored.
 */
bool rgm_space_holds(const rgm_space *space, const rgm_hyper_value *values, const char **broken);
/**
 * Read values from a map of names (nested or dotted) to values, as in `searcher.points`. A const
 * that the map leaves out has its own value. For double and log both ends are in range. Errors:
 * RGM_ERR_CONFIG (unknown, missing, out of range, against a condition or a constraint; all mistakes
 * at once), RGM_ERR_NOMEM.
 */
rgm_status rgm_space_read_point(rgm_hyper_value *values, const rgm_space *space,
                                const rgm_yaml_node *map);
/**
 * Print one value as YAML on one line that an experiment file takes, "0.001"; nothing where it is
 * not set. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_space_print_value(rgm_text *out, const rgm_space *space, int64_t i,
                                 const rgm_hyper_value *value);
/**
 * Print all values that are set as one line of JSON, nested by groups: {"model": {"hidden": 16}}.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_space_print_json(rgm_text *out, const rgm_space *space,
                                const rgm_hyper_value *values);

/* ---- lengths -------------------------------------------------------------------------------- */

/** What a length counts. Searchers count in whole units, whatever the unit is. */
typedef enum rgm_length_unit { RGM_STEPS, RGM_BATCHES, RGM_RECORDS, RGM_EPOCHS } rgm_length_unit;
extern const char *const rgm_length_unit_names[]; /* "steps", ..., ended by NULL */

typedef struct rgm_length {
    int64_t units; /* 0: not given */
    rgm_length_unit unit;
} rgm_length;
#define RGM_MAX_LENGTH INT64_C(1000000000000) /* of a trial */
/**
 * Read a length: 40 (steps), or a map of exactly one unit: {epochs: 40}; `path` is its key, for
 * messages. Errors: RGM_ERR_CONFIG.
 */
rgm_status rgm_length_read(rgm_length *out, const rgm_yaml_node *node, const char *path);

/* ---- operations and events ------------------------------------------------------------------ */

typedef enum rgm_operation_kind {
    RGM_ASK_CREATE,     /* a trial of that number, with values and seed              */
    RGM_ASK_TRAIN,      /* it until it has trained `length` units in all             */
    RGM_ASK_VALIDATE,   /* it at `length`                                            */
    RGM_ASK_CHECKPOINT, /* it at `length`                                            */
    RGM_ASK_CLOSE,      /* it: nothing more will be asked of it                      */
    RGM_ASK_SHUTDOWN    /* the search is over                                        */
} rgm_operation_kind;
extern const char *const rgm_operation_names[]; /* "create", ..., ended by NULL */

/** Something that the caller shall do. Pointers are borrowed from the searcher. */
typedef struct rgm_operation {
    rgm_operation_kind kind;
    int64_t trial; /* from 1 in order of creation; 0: shutdown                               */
    int64_t length;
    const rgm_hyper_value *values; /* create: [rgm_space_count()]                            */
    uint8_t request_id[16];        /* create: a random UUID, version 4                       */
    uint32_t seed;                 /* create: of the trial, in [0, 2^31 - 1]                 */
    int64_t from;                  /* create: the trial whose last checkpoint it begins with; 0 */
} rgm_operation;

typedef enum rgm_search_event_kind {
    RGM_TRAINED,      /* to `length`; for progress alone, as often as one likes          */
    RGM_VALIDATED,    /* at `length`, with metrics                                       */
    RGM_CHECKPOINTED, /* at `length`                                                     */
    RGM_EXITED,       /* it failed for good: nothing more comes from it, it is closed    */
    RGM_INVALID,      /* its hyperparameters cannot be: closed, replaced, never counted  */
    RGM_CLOSED,       /* what RGM_ASK_CLOSE asked for is done                                */
    RGM_ENDED         /* it was ended on request at `length`, with metrics: it counts as what it
                           reached, and is closed; without metrics it counts as nothing        */
} rgm_search_event_kind;
extern const char *const rgm_search_event_names[]; /* "trained", ..., ended by NULL */

/** Something that happened. */
typedef struct rgm_search_event {
    rgm_search_event_kind kind;
    int64_t trial, length;
    const double *metrics; /* validated, ended: [objective_count] as the objectives say them; what
                              is not finite is the worst there is */
} rgm_search_event;

/* ---- searchers ------------------------------------------------------------------------------ */

/** A metric that is aimed at, or one that shall keep a bound and is not aimed at. */
typedef struct rgm_objective {
    const char *metric;     /* "valid.accuracy"                       */
    bool smaller_is_better; /* of a bound: at most that, not at least */
    bool is_bound;
    double bound;
} rgm_objective;
#define RGM_MAX_OBJECTIVES 8 /* bounds among them */

/** A trial as searchers and samplers see it. */
typedef struct rgm_search_trial {
    const rgm_hyper_value *values;
    int64_t length; /* of the newest validation; 0: none yet                                      */
    double keys[RGM_MAX_OBJECTIVES]; /* of that: smaller is better in all; what is not finite is
                                        +infinity; of a bound by how much it is broken, 0: kept */
    double best_key; /* of the first objective, over all its validations; above 1e300 where a bound
                        was broken */
    bool closed, exited, invalid;
    bool outside; /* of bounds that were changed since (search_live.h): no sampler learns of it   */
} rgm_search_trial;

typedef struct rgm_searcher rgm_searcher;

/** Rows of a program's own beside the library's (search_rows.h). */
typedef struct rgm_search_rows rgm_search_rows;

/**
 * Read the section `searcher` of an experiment file: name and its options. All searchers have
 * metric and smaller_is_better (true; lists of one length for several objectives), or in their
 * place metrics (a list of maps: name and smaller_is_better, or name and at_most or at_least, which
 * is a bound), sampler (a name,
 * or a map of `type` and its keys; random) and points (known ones to begin with, in order).
 * source_trial_id, source_checkpoint_uuid and source_experiment belong to others and are ignored
 * here. All mistakes are reported at once, as by rgm_space_read().
 *
 * @param space  [in] retained
 * @param seed   [in] of every draw, reproducibility.experiment_seed
 * @param own    [in] borrowed, or NULL
 *
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_searcher_read(rgm_searcher **out, const rgm_yaml_node *section, rgm_space *space,
                             uint32_t seed, const rgm_search_rows *own);
void rgm_searcher_release(rgm_searcher *searcher);

/**
 * Ask for the operations that begin the search; called once, before all else.
 * Errors: RGM_ERR_ARG (it has begun), RGM_ERR_CONFIG (constraints that never hold), RGM_ERR_NOMEM.
 */
rgm_status rgm_searcher_begin(rgm_searcher *searcher);
/**
 * Tell the searcher that something happened.
 * Errors: RGM_ERR_ARG: there is no such trial, it was closed, or nothing of the kind was asked of
 * it; the searcher is then unchanged. RGM_ERR_CONFIG (constraints that never hold; more than 10,000
 * trials were invalid), RGM_ERR_NOMEM, and those of a row: the searcher can then only be released.
 */
rgm_status rgm_searcher_tell(rgm_searcher *searcher, const rgm_search_event *event);
/**
 * The next operation, in the order in which they were made; false: none for now. Each is given
 * once. A trial that begins with another trial's checkpoint is held back until that checkpoint is
 * made.
 */
bool rgm_searcher_next(rgm_operation *out, rgm_searcher *searcher);

/**
 * Save everything except operations that were given already: a searcher restored from it goes on
 * with the same operations. The text is one line of JSON. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_searcher_save(rgm_text *out, const rgm_searcher *searcher);
/** Whether to save it behind each event that it was told, since the same events may not give the
 * same operations again. */
bool rgm_searcher_is_told_once(const rgm_searcher *searcher);
/**
 * Restore into a searcher that was made from the same section, space and seed and has not begun.
 * RGM_ERR_FORMAT: the text is not a saved searcher; RGM_ERR_VERSION: one of a newer version;
 * RGM_ERR_CONFIG: it is of another searcher;
 * RGM_ERR_ARG: the searcher has begun. After an error it can only be released.
 */
rgm_status rgm_searcher_restore(rgm_searcher *searcher, const char *text, int64_t size);

/** Its name and its space; borrowed. */
const char *rgm_searcher_name(const rgm_searcher *searcher);
const rgm_space *rgm_searcher_space(const rgm_searcher *searcher);
/** Returns the number of objectives, bounds included, which come last; the array is borrowed. */
int64_t rgm_searcher_objectives(const rgm_objective **objectives, const rgm_searcher *searcher);
/**
 * The metrics of a section `searcher` alone: metric and smaller_is_better, or metrics.
 *
 * @param objectives  [out] [RGM_MAX_OBJECTIVES], bounds last; names lie in `arena`
 *
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_objectives_read(rgm_objective *objectives, int64_t *count,
                               const rgm_yaml_node *section, rgm_arena *arena);
/** How many of them are aimed at: those before the bounds. */
int64_t rgm_searcher_aims(const rgm_searcher *searcher);
/** By how much metrics [count] break those of the objectives that are bounds, all together; 0: they
 * keep them; +infinity: one is no number. */
double rgm_objectives_broken(const rgm_objective *objectives, int64_t count, const double *metrics);
/** The longest that a trial is meant to train. */
rgm_length rgm_searcher_max_length(const rgm_searcher *searcher);
/** What stopping early saves so far: how much further trials that were closed would have trained
 * to max_length, of how much they would have in all. 0 of a searcher that stops none early. */
void rgm_searcher_saved(int64_t *saved, int64_t *of, const rgm_searcher *searcher);
double rgm_searcher_progress(const rgm_searcher *searcher); /* in [0, 1], never falls */
bool rgm_searcher_is_over(const rgm_searcher *searcher);    /* shutdown was asked for */
int64_t rgm_searcher_trial_count(const rgm_searcher *searcher);
/**
 * trial counts from 1; the result is borrowed and valid as long as the searcher; NULL: there is no
 * such trial.
 */
const rgm_search_trial *rgm_searcher_trial(const rgm_searcher *searcher, int64_t trial);
/** The plan for people: brackets and rungs with their trials. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_searcher_describe(rgm_text *out, const rgm_searcher *searcher);
/**
 * The trials that no other trial dominates (at least as good in all objectives and better in one),
 * by number; with one objective the best, and those equal to it. Trials with a metric that was not
 * finite or that broke a bound are not among them. With `longest` only trials of the longest length
 * that any reached count. The caller frees *out. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_searcher_front(int64_t **out, int64_t *count, const rgm_searcher *searcher,
                              bool longest);

/* ---- importance ----------------------------------------------------------------------------- */

/**
 * How much each hyperparameter matters: the share of a metric's variance that it explains alone,
 * over the whole space, as estimated by a random forest of the trials (functional analysis of
 * variance: Hutter, Hoos, Leyton-Brown, ICML 2014). What is missing from 1 is due to interactions.
 *
 * @param shares  [out] [rgm_space_count()] in [0, 1]; 0 for what does not vary
 * @param values  [in] [count] of each trial [rgm_space_count()]
 * @param keys    [in] [count] of each trial; one that is no number counts as the largest
 * @param seed    [in] of the forest's samples
 *
 * Errors: RGM_ERR_DATA (no two trials differ), RGM_ERR_NOMEM.
 * Cost: O(count log count) for each hyperparameter and each of 64 trees.
 */
rgm_status rgm_space_importance(double *shares, const rgm_space *space,
                                const rgm_hyper_value *const *values, const double *keys,
                                int64_t count, uint32_t seed);
/** A validation of a trial. */
typedef struct rgm_validated {
    int64_t trial; /* from 0                                                          */
    double length; /* in any unit in which trials can be compared; 0 is not looked at */
    double key;    /* smaller is better; one that is no number counts as the largest   */
} rgm_validated;
/** Over what importance was computed. */
typedef struct rgm_common_length {
    double length;      /* 0: nothing was validated                */
    int64_t trials, of; /* validated there; validated at any length */
} rgm_common_length;
/**
 * The same for trials that end at different lengths, as those of halving do: over the metrics that
 * trials had at a length that they have in common, whatever became of them later. The survivors
 * alone would say how much a hyperparameter matters among the good, and nothing of what made the
 * others bad. It is the longest length at which nearly as many trials (nine of ten) were validated
 * as at any; lengths that differ by at most 3 % are one.
 *
 * @param common       [out] filled in whenever memory suffices
 * @param values       [in] [trials] of each trial [rgm_space_count()]
 * @param validations  [in] [count] in any order; of several of a trial at that length the longest
 *                          counts
 *
 * Errors: RGM_ERR_DATA (fewer trials than two more than there are hyperparameters,
 * constants apart, or no two differ), RGM_ERR_NOMEM.
 */
rgm_status rgm_space_importance_at_common_length(double *shares, rgm_common_length *common,
                                                 const rgm_space *space,
                                                 const rgm_hyper_value *const *values,
                                                 int64_t trials, const rgm_validated *validations,
                                                 int64_t count, uint32_t seed);

/* ---- simulation ----------------------------------------------------------------------------- */

/** Which of the waiting operations is done next. */
typedef enum rgm_simulation_order {
    RGM_IN_ORDER,    /* one queue, in the order in which they were given; what is asked of a trial
                        joins it when the trial is created                                      */
    RGM_BY_TRIAL,    /* always the oldest trial that has operations                 */
    RGM_RANDOM_ORDER /* any trial that has operations, by `order_seed`              */
} rgm_simulation_order;

typedef struct rgm_simulation {
    rgm_simulation_order order;
    uint32_t order_seed;
    /** The metrics of a trial at a length, [objective_count]; NULL: all 0. */
    void (*metrics)(double *metrics, int64_t trial, int64_t length, void *payload);
    /** Whether it exits instead: RGM_EXITED, RGM_INVALID, or RGM_VALIDATED for no. NULL: none does.
     */
    rgm_search_event_kind (*fate)(int64_t trial, int64_t length, void *payload);
    void *payload;
} rgm_simulation;

/** What trials of one course did, and how many there were. */
typedef struct rgm_simulated_course {
    char *course;           /* "12S V 38S V": units trained, validation, C checkpoint        */
    char *breakdown;        /* "12 x step, 1 x validation, 38 x step, 1 x validation"        */
    int64_t trials, length; /* length: where they ended */
} rgm_simulated_course;
typedef struct rgm_simulated {
    rgm_simulated_course *courses; /* [course_count] longest first, then by text   */
    int64_t course_count;
    char **by_trial;             /* [trial_count] each one's course */
    int64_t trial_count, length; /* length: trained in all */
} rgm_simulated;
/**
 * Run a searcher that has not begun to its end.
 * Errors: RGM_ERR_DATA (it asks for nothing and is not over), RGM_ERR_ARG (it has begun),
 * RGM_ERR_CONFIG (as rgm_searcher_tell()), RGM_ERR_NOMEM.
 */
rgm_status rgm_search_simulate(rgm_simulated *out, rgm_searcher *searcher,
                               const rgm_simulation *how);
void rgm_simulated_clear(rgm_simulated *simulated);

#ifdef __cplusplus
}
#endif
#endif

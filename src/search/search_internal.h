/*
 * What the files of search share: mistakes that are gathered, the space and the searcher inside,
 * and what several rows are made of.
 */
#ifndef RGM_SEARCH_INTERNAL_H
#define RGM_SEARCH_INTERNAL_H

#include <regimen/search_rows.h>
#include <regimen/search_sequencer.h>

#include <stdatomic.h>

#define RGMI_MOST_BATCHES ((int64_t)1000000000000000) /* of a trial, as trainer.train_steps */

/* ---- mistakes ------------------------------------------------------------------------------- */

/** Mistakes of a file, told together. `{0}` is none. */
typedef struct rgmi_mistakes {
    rgm_text lines;
    int64_t count;
    bool full;
} rgmi_mistakes;
/** Take in the message of a failed call: RGM_OK then, and of a call that did not fail. Errors: any
 * but RGM_ERR_CONFIG is passed on. */
rgm_status rgmi_mistake(rgmi_mistakes *mistakes, rgm_status status);
/** RGM_ERR_CONFIG with all of them, a line each; RGM_OK: there are none. Clears. */
rgm_status rgmi_mistakes_tell(rgmi_mistakes *mistakes);
/** Whether nearest names are still worth looking for: not for the ten thousandth mistake. */
bool rgmi_mistakes_hint(const rgmi_mistakes *mistakes);

/* ---- the space ------------------------------------------------------------------------------ */

#define RGMI_LONGEST_NAME 255
#define RGMI_MOST_DRAWS   10000

typedef struct rgmi_item rgmi_item;

/* One relation, with the hyperparameters that it names. */
typedef struct rgmi_hyper_relation {
    const char *text;
    const rgmi_item *names[2];
    int name_count;
} rgmi_hyper_relation;

struct rgmi_item {
    rgm_hyperparameter shown;
    const char *const *json;   /* [values.count]                                        */
    const char *const *plain;  /* [values.count] for rules: NULL is null, "[...]" a list */
    rgmi_hyper_relation *when; /* one of them must hold                                 */
    int64_t when_count;
    int64_t place;                         /* in order of drawing */
    const rgm_yaml_node *node, *when_node; /* while it is read alone */
};

struct rgm_space {
    atomic_int references;
    rgm_arena *arena;
    rgmi_item *items;  /* [count] by name                 */
    rgmi_item **order; /* [count] in order of drawing     */
    int64_t count;
    rgm_map *names; /* to items */
    rgmi_hyper_relation *constraints;
    int64_t constraint_count;
    uint64_t hash; /* of what it was read from */
};

const rgmi_item *rgmi_space_item(const rgm_space *space, const char *name); /* NULL: none */
/** Keys for rules over values; `values` NULL: their form alone matters. */
typedef struct rgmi_space_keys {
    const rgm_space *space;
    const rgm_hyper_value *values;
    const rgmi_item *found[2]; /* those that were looked up, in order */
    int found_count;
    char numbers[2][40];
} rgmi_space_keys;
rgm_rule_keys rgmi_space_rule_keys(rgmi_space_keys *keys);
/** The smallest and the largest value of an int, double or log. */
void rgmi_item_range(double *low, double *high, const rgm_hyperparameter *h);

/* ---- the searcher --------------------------------------------------------------------------- */

#define RGMI_MOST_INVALID  10000
#define RGMI_MOST_REPLACED 10 /* of trials that failed, beyond as many as succeeded */
#define RGMI_MOST_TRIALS   1000000
/* Trials that wait at a time unless the file says more: they are created all at once, each with
   rows of the master's database, while nobody else is answered. */
#define RGMI_MOST_AT_ONCE 10000

typedef struct rgmi_asked {
    rgm_operation_kind kind; /* validate, checkpoint, close */
    int64_t length;
} rgmi_asked;

typedef struct rgmi_searched_trial {
    rgm_search_trial seen;
    rgm_hyper_value *values;
    uint8_t request_id[16];
    uint32_t seed;
    int64_t from;
    int64_t trained, target; /* told, and asked for                             */
    int64_t checkpoints;     /* done                                            */
    int64_t waits_for;       /* the trial whose checkpoint holds it back; 0     */
    int64_t known;           /* trials that had had a result when it was created             */
    int64_t told;            /* its place among those that have had one, from 1; 0: none yet */
    bool closing;
    bool was_awaited;  /* behind its end: a validation was still asked of it */
    rgmi_asked *asked; /* and not done */
    int64_t asked_count, asked_capacity;
} rgmi_searched_trial;

typedef struct rgmi_operation {
    rgm_operation_kind kind;
    int64_t trial, length;
} rgmi_operation;

typedef struct rgmi_operations {
    rgmi_operation *items;
    int64_t head, count, capacity; /* head: those before it were given */
} rgmi_operations;

struct rgm_searcher {
    const rgm_searcher_type *type;
    rgm_arena *arena;
    void *options, *state;
    const rgm_sampler_type *sampler;
    void *sampler_options;
    rgm_space *space;
    rgm_objective objectives[RGM_MAX_OBJECTIVES];
    int64_t objective_count, aim_count; /* bounds are the last ones */
    rgm_hyper_value **points;
    int64_t point_count, points_used;
    int64_t most_points;  /* that it would try: as many as it creates trials, if none is replaced */
    int64_t first_points; /* [of them] there when it began; the others came with a change */
    uint64_t hash;        /* of section, space and seed */
    uint32_t seed;
    rgm_mt19937 random;
    rgmi_searched_trial **trials;
    int64_t trial_count, trial_capacity;
    int64_t open, invalid, work;
    int64_t told; /* trials that have had a result */
    rgmi_operations queue, held;
    double progress; /* the most that was told */
    bool begun, over, failed;
    bool any_bounds;               /* its trials began with other ones: while it takes over  */
    bool is_kept;                  /* its section was checked when the search began */
    const double *metrics;         /* of the validation that its row hears of */
    bool replaces_failed;          /* another trial takes the place of one that failed for good */
    rgmi_searched_trial **earlier; /* [earlier_count] of other searches: samplers learn of them */
    int64_t earlier_count, earlier_capacity;
};

/** rgm_searcher_read(). tried: so many of its points may be outside of the space. is_kept: of a
 * search that began with it, so that what is refused of new ones since is taken. */
rgm_status rgmi_searcher_read(rgm_searcher **out, const rgm_yaml_node *section, rgm_space *space,
                              uint32_t seed, const rgm_search_rows *own, bool is_kept,
                              int64_t tried);
rgmi_searched_trial *rgmi_trial_at(const rgm_searcher *searcher, int64_t trial); /* NULL: none */
rgm_status rgmi_trial_new(rgmi_searched_trial **out, const rgm_searcher *searcher);
void rgmi_trial_release(rgmi_searched_trial *trial);
rgm_status rgmi_operations_add(rgmi_operations *operations, rgm_operation_kind kind, int64_t trial,
                               int64_t length);

/** Shut down once nothing is open; behind whatever changed. */
rgm_status rgmi_searcher_settle(rgm_searcher *searcher);
/** Metrics as keys: smaller is better, and what is not finite is +infinity. */
void rgmi_keys_of(double *keys, const rgm_searcher *searcher, const double *metrics);
/** rgm_searcher_restore() of a state that was saved under other options of the same searcher. */
rgm_status rgmi_searcher_restore_changed(rgm_searcher *searcher, const char *text, int64_t size);
/** Whether values are within the bounds, and keep the constraints. */
bool rgmi_space_has(const rgm_space *space, const rgm_hyper_value *values);
/** Whether two points of a space are one. */
bool rgmi_values_are_same(const rgm_hyper_value *a, const rgm_hyper_value *b, int64_t count);

/* ---- rows of shared objects (searcher_object.c) ---------------------------------------------- */

/** Whether a searcher's or sampler's name is that of a shared object: "FILE.so", "FILE.so:NAME". */
bool rgmi_is_object(const char *name);
/**
 * Its row, of `size` bytes.
 *
 * @param hash  [in, out] the bytes of the object are mixed in
 * @param kind  [in] "searcher" or "sampler"
 *
 * Errors: RGM_ERR_CONFIG (own does not let it, there is none, it cannot be loaded, it was compiled
 * for another version), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_object_row(const void **row, uint64_t *hash, const char *kind, const char *name,
                           int64_t size, const rgm_search_rows *own);

/**
 * Mix the content of a file into what a saved state is compared by. Files of up to `whole` bytes
 * are read at once, as states of before have it, larger ones in pieces.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_hash_file(uint64_t *hash, const char *path, int64_t whole);

struct rgm_archive {
    const rgm_json *from; /* reads */
    rgm_text *to;         /* writes */
    bool more;            /* a member was written before */
};
/** A map inside; *inside is then used in place of archive, and ended. Errors: RGM_ERR_FORMAT,
 * RGM_ERR_NOMEM. */
rgm_status rgmi_archive_enter(rgm_archive *inside, rgm_archive *archive, const char *name);
rgm_status rgmi_archive_leave(rgm_archive *inside);
/** Whether a state that is read has a member of that name: those of before may lack it. */
bool rgmi_archive_has(const rgm_archive *archive, const char *name);

/* ---- parts of rows -------------------------------------------------------------------------- */

/** How long a trial trains: what the options of a row begin with. */
typedef struct rgmi_length_options {
    int64_t max_steps;
    const rgm_yaml_node *max_length; /* while it is read alone */
    rgm_length length;               /* what one of them says  */
} rgmi_length_options;
#define RGMI_STEPS_FIELD(member, key, text)                                                        \
    {                                                                                              \
        .name = (key), .kind = RGM_FIELD_INT, .offset = offsetof(RGM_OPTIONS, member.max_steps),   \
        .min = 1, .max = RGM_MAX_LENGTH, .help = (text)                                            \
    }
/** Their two keys. */
#define RGMI_LENGTH_FIELDS(member, text)                                                           \
    RGMI_STEPS_FIELD(member, "max_steps", text),                                                   \
    {                                                                                              \
        .name = "max_length", .kind = RGM_FIELD_NODE,                                              \
        .offset = offsetof(RGM_OPTIONS, member.max_length), .help = "the same in any unit"         \
    }
/** The length of max_steps or max_length, exactly one: RGM_ERR_CONFIG, with the place of `section`.
 */
rgm_status rgmi_length_options_read(rgmi_length_options *options, const rgm_yaml_node *section);
/** rgm_searcher_type.max_length of such a row. */
rgm_length rgmi_length_of(const void *options);
/** RGM_ERR_CONFIG unless `value` is above 0: "'searcher.max_trials' must be given". */
rgm_status rgmi_search_need(rgmi_mistakes *mistakes, int64_t value, const char *key,
                            const rgm_yaml_node *section);

/** RGM_ERR_CONFIG where all of several trials begin together, which the file's
 * max_concurrent_trials does not ask for, and the sampler learns from trials that are over. A
 * search that was kept has drawn them: of that neither is asked. */
rgm_status rgmi_search_need_turns(rgmi_mistakes *mistakes, const rgm_searcher *searcher,
                                  int64_t begin, int64_t trials, const rgm_yaml_node *section);
/** RGM_ERR_CONFIG for a sampler that learns, unless it has an earlier search to learn from: of a
 * row that creates all its trials before one is over. */
rgm_status rgmi_search_need_blind(rgmi_mistakes *mistakes, const rgm_searcher *searcher,
                                  const rgm_yaml_node *section);

/** How many of so many trials begin at once: max_concurrent_trials if the file gives it, above 0.
 */
int64_t rgmi_trials_at_once(int64_t asked, int64_t trials);

/** Options of what trains every trial to one length: single, random, grid. */
typedef struct rgmi_full_options {
    rgmi_length_options trial;
    int64_t max_trials, max_concurrent_trials;
} rgmi_full_options;

typedef struct rgmi_entry {
    int64_t trial;
    double key;
    bool promoted;
} rgmi_entry;

typedef struct rgmi_rung {
    int64_t need, start, promote;
    int64_t outstanding; /* trials on their way to it */
    rgmi_entry *entries; /* ascending keys            */
    int64_t count, capacity;
} rgmi_rung;

typedef enum rgmi_bracket_kind {
    RGMI_PROMOTES, /* asynchronous: a rung that is complete sends at least one on */
    RGMI_PEDL,     /* the same as PEDL 0.12 did it: fewer than the divisor send nobody on */
    RGMI_STOPS,    /* asynchronous: whether a trial goes on is decided when it reports */
    RGMI_SYNCHRONOUS
} rgmi_bracket_kind;
extern const char *const rgmi_rule_names[]; /* of the asynchronous ones, ended by NULL */

/** Successive halving of its own. */
typedef struct rgmi_bracket {
    rgmi_bracket_kind kind;
    rgmi_rung *rungs;
    int64_t rung_count;
    double divisor;
    int64_t max_trials, concurrent;
    int64_t created; /* that count */
    int64_t closed;  /* of those   */
    int64_t done;    /* synchronous: work so far */
} rgmi_bracket;

/** Brackets side by side: the state of every halving searcher. */
typedef struct rgmi_tournament {
    rgmi_bracket *brackets;
    int64_t count;
    int64_t *owner, *rung; /* by trial - 1 */
    int64_t trial_count, owner_capacity, rung_capacity;
    struct rgmi_tournament *before; /* as defaults of before planned it, for states of then; NULL */
    bool as_before;                 /* it goes by those */
} rgmi_tournament;

typedef enum rgmi_mode { RGMI_STANDARD, RGMI_AGGRESSIVE, RGMI_CONSERVATIVE } rgmi_mode;
extern const char *const rgmi_mode_names[];

/** Rung counts of brackets, descending, by mode; or `given` ones. *out: rgm_free(). Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgmi_bracket_rungs(int64_t **out, int64_t *count, rgmi_mode mode, int64_t max_rungs,
                              const rgm_ints *given);
rgm_status rgmi_tournament_create(rgmi_tournament *t, int64_t brackets);
/** needs = max(floor(length / divisor^(rungs - 1 - i)), 1), without promotions. */
rgm_status rgmi_bracket_create(rgmi_bracket *b, rgmi_bracket_kind kind, int64_t rungs,
                               double divisor, int64_t length);
/** One with a budget in units. RGM_ERR_CONFIG: it does not suffice for a single trial. */
rgm_status rgmi_bracket_budgeted(rgmi_bracket *b, int64_t rungs, double divisor, int64_t length,
                                 int64_t budget, bool rising);
/** divisor^k, by multiplication. */
double rgmi_power(double divisor, int64_t k);
/** floor() of a share that was computed in doubles: what rounding alone keeps below a whole number
 * is that number. */
double rgmi_floor(double share);
/** How many of `count` trials a rung is planned to send on. */
int64_t rgmi_planned(const rgmi_bracket *b, int64_t count);
/** The largest k with divisor^k <= n; at most 62. */
int64_t rgmi_log_floor(double divisor, double n);

/* The functions of a row whose state is a tournament. */
rgm_status rgmi_tournament_begin(rgm_searcher *searcher, void *state, const void *options);
rgm_status rgmi_tournament_validated(rgm_searcher *searcher, void *state, const void *options,
                                     int64_t trial, int64_t length);
rgm_status rgmi_tournament_exited(rgm_searcher *searcher, void *state, const void *options,
                                  int64_t trial, bool invalid);
rgm_status rgmi_tournament_closed(rgm_searcher *searcher, void *state, const void *options,
                                  int64_t trial);
double rgmi_tournament_progress(const rgm_searcher *searcher, const void *state,
                                const void *options);
rgm_status rgmi_tournament_describe(rgm_text *out, const rgm_searcher *searcher, const void *state,
                                    const void *options);
rgm_status rgmi_tournament_archive(rgm_archive *archive, void *state);
/* ... of asynchronous brackets, which may be given more trials. */
rgm_status rgmi_tournament_extend(rgm_searcher *searcher, void *state, const void *options);
int64_t rgmi_tournament_left(const void *state, const void *options);
rgm_status rgmi_tournament_print_plan(rgm_text *out, const void *state);
void rgmi_tournament_clear(void *state);

/* How brackets go: bracket_sync.c and bracket_async.c. */
rgm_status rgmi_sync_begin(rgm_searcher *searcher, rgmi_tournament *t, int64_t bracket);
rgm_status rgmi_sync_report(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial, double key);
rgm_status rgmi_sync_invalid(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial);
/** How many trials a bracket has yet to create. */
int64_t rgmi_async_left(const rgmi_bracket *b);
/** New trials while fewer are at work than may be at a time; with more than that none is created
 * until enough are over. */
rgm_status rgmi_async_fill(rgm_searcher *searcher, rgmi_tournament *t, int64_t bracket);
rgm_status rgmi_async_report(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial, double key);
/** `waited`: it had reported to its rung. */
rgm_status rgmi_async_invalid(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial,
                              bool waited);
/** A new trial of a bracket, on its way to the first rung. */
rgm_status rgmi_bracket_add_trial(rgm_searcher *searcher, rgmi_tournament *t, int64_t bracket);
/** Insert behind (or before) equal keys; *at is the place. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_rung_insert(int64_t *at, rgmi_rung *rung, int64_t trial, double key, bool before);

extern const rgm_searcher_type rgmi_single_type, rgmi_random_type, rgmi_grid_type,
    rgmi_async_halving_type, rgmi_sync_halving_type, rgmi_adaptive_type, rgmi_adaptive_simple_type,
    rgmi_adaptive_asha_type, rgmi_bohb_type, rgmi_pbt_type, rgmi_median_type, rgmi_asked_type;
extern const rgm_sampler_type rgmi_random_sampler_type, rgmi_tpe_sampler_type, rgmi_gp_sampler_type,
    rgmi_sobol_sampler_type, rgmi_cma_sampler_type, rgmi_bohb_sampler_type, rgmi_nsga2_sampler_type;

#endif

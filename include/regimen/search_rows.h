/*
 * search: for authors of searchers and samplers. A searcher is a row (rgm_searcher_type): its keys,
 * a zeroed state, and functions that are called when something happened. The functions ask the
 * common part for operations with the calls at the end of this file. A sampler is a row with one
 * function. docs/search.md has the smallest of each, step by step.
 *
 *     static rgm_status validated(rgm_searcher *searcher, void *state, const void *options,
 *                                 int64_t trial, int64_t length)
 *     {
 *         return rgm_search_close(searcher, trial);              one validation is enough
 *     }
 */
#ifndef REGIMEN_SEARCH_ROWS_H
#define REGIMEN_SEARCH_ROWS_H

#include <regimen/search.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- states that are saved ------------------------------------------------------------------ */

/** Reads or writes a state, with one call for each member; the same function does both. */
typedef struct rgm_archive rgm_archive;
/**
 * Read or write a member under a name that is unique in its state. An array is `*items` of
 * `*count`; reading allocates it anew (rgm_free()). What is written comes back bit by bit. Errors:
 * RGM_ERR_FORMAT when the text has no such member, RGM_ERR_NOMEM.
 */
rgm_status rgm_archive_int(rgm_archive *archive, const char *name, int64_t *value);
rgm_status rgm_archive_float(rgm_archive *archive, const char *name, double *value);
rgm_status rgm_archive_bool(rgm_archive *archive, const char *name, bool *value);
rgm_status rgm_archive_ints(rgm_archive *archive, const char *name, int64_t **items,
                            int64_t *count);
rgm_status rgm_archive_floats(rgm_archive *archive, const char *name, double **items,
                              int64_t *count);
/** Whether it reads. */
bool rgm_archive_reads(const rgm_archive *archive);

/* ---- rows ----------------------------------------------------------------------------------- */

/** Of a searcher that may be changed while it goes on, or after its end (search_live.h). Its state
 * was saved under other values of `keys` and restored under these. */
typedef struct rgm_searcher_live {
    const char *const *keys; /* of its section that may change, ended by NULL */
    /** Create the trials that may begin now. */
    rgm_status (*extend)(rgm_searcher *searcher, void *state, const void *options);
    /** How many trials it will create beyond those that it has, if none is replaced. */
    int64_t (*left)(const void *state, const void *options);
    /** Append "key: value" of what its plan follows from besides, so that the plan stays when a key
     * changes; NULL: it has no such plan. */
    rgm_status (*print_plan)(rgm_text *out, const void *state);
} rgm_searcher_live;

/**
 * A searcher as one row. State is zeroed memory that the searcher's common part allocates; the
 * functions see the search through the calls of the last section. Every function except `begin`,
 * `validated`, `max_length` and `archive` may be NULL: nothing is then done.
 *
 * `validated` is called for each validation that was asked for, `closed` when what
 * rgm_search_close() asked for is done, and `exited` for a trial that closed unasked: its
 * operations that were not given yet are dropped before. The common part shuts down when every
 * trial is closed. An archive is as hostile as the file that it is read from: a trial number may be
 * that of no trial, which the calls for rows bear, and the row must check all other indices.
 */
typedef struct rgm_searcher_type {
    rgm_section_type section; /* `searcher.name` and the keys beside it */
    size_t state_size;
    /** Trials are closed below max_length since others are better, and nothing takes their place:
     * what they would have trained is saved. */
    bool stops_early;
    /** The same events may not give the same operations a second time: its state is to be saved
     * behind each. */
    bool is_told_once;
    const char *sampler; /* of a file that names none; NULL: random */
    /**
     * Called once, when the searcher is read: checks whether options contradict each other and what
     * they need of the space, and makes the plan. It may fill in options. `section` lives no longer
     * than the call.
     */
    rgm_status (*prepare)(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section);
    /** The length that its options ask for, with its unit, for messages and plans. */
    rgm_length (*max_length)(const void *options);
    rgm_status (*begin)(rgm_searcher *searcher, void *state, const void *options);
    rgm_status (*validated)(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                            int64_t length);
    rgm_status (*checkpointed)(rgm_searcher *searcher, void *state, const void *options,
                               int64_t trial, int64_t length);
    rgm_status (*exited)(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                         bool invalid);
    rgm_status (*closed)(rgm_searcher *searcher, void *state, const void *options, int64_t trial);
    /** In [0, 1]; NULL: the share of the trials that are closed. */
    double (*progress)(const rgm_searcher *searcher, const void *state, const void *options);
    /** Append a plan for people, a line for each bracket. */
    rgm_status (*describe)(rgm_text *out, const rgm_searcher *searcher, const void *state,
                           const void *options);
    rgm_status (*archive)(rgm_archive *archive, void *state);
    void (*clear)(void *state);    /* gives back what state holds */
    const rgm_searcher_live *live; /* NULL: it cannot be changed once it has begun */
} rgm_searcher_type;
/** single, random, grid, async_halving, sync_halving, adaptive, adaptive_simple, adaptive_asha,
 * bohb, pbt, median, program; ended by NULL. */
extern const rgm_searcher_type *const rgm_searcher_types[];

/** A sampler as one row: where the next trial begins. */
typedef struct rgm_sampler_type {
    rgm_section_type section; /* `searcher.sampler.type` and the keys beside it */
    /**
     * Draw the values of a new trial, given the existing trials; `random` is the only source of
     * draws. The values keep the constraints.
     */
    rgm_status (*draw)(rgm_hyper_value *values, const rgm_searcher *searcher, const void *options,
                       rgm_mt19937 *random);
    /** It draws without looking at results: all trials may begin at once. */
    bool blind;
    /** Called once, when the searcher is read: whether it can draw from this space for these
     * metrics. `section` is its map or name, for places in messages. May be NULL. */
    rgm_status (*prepare)(const rgm_searcher *searcher, const void *options,
                          const rgm_yaml_node *section);
} rgm_sampler_type;
/** random, sobol, tpe, gp, cma, bohb and nsga2; ended by NULL. */
extern const rgm_sampler_type *const rgm_sampler_types[];

/** A program's own rows beside the library's; each list is ended by NULL, or NULL for none. */
struct rgm_search_rows {
    const rgm_searcher_type *const *searchers;
    const rgm_sampler_type *const *samplers;
    bool objects; /* names that are "FILE.so" or "FILE.so:NAME" are loaded, and the searcher
                     `program` runs what its file names; else they are refused */
};

/** A row of a shared object; the macros below make it. */
typedef struct rgm_row_object {
    int64_t size; /* of the row: that of the version it was compiled for */
    const void *row;
} rgm_row_object;
/**
 * Let files say `searcher: {name: ./mine.so}` (or `./mine.so:NAME`), or `sampler: ./mine.so`:
 * `name` is the file's, without ".so", or NAME. `row` is a static rgm_searcher_type
 * (rgm_sampler_type). Compile with `cc -shared -fPIC mine.c -o mine.so $(pkg-config --cflags --libs
 * regimen)`.
 */
#define RGM_SEARCHER_OBJECT(name, row)                                                             \
    extern const rgm_row_object rgm_searcher_object_##name;                                        \
    const rgm_row_object rgm_searcher_object_##name = {(int64_t)sizeof(rgm_searcher_type), &(row)}
#define RGM_SAMPLER_OBJECT(name, row)                                                              \
    extern const rgm_row_object rgm_sampler_object_##name;                                         \
    const rgm_row_object rgm_sampler_object_##name = {(int64_t)sizeof(rgm_sampler_type), &(row)}

/* ---- what a searcher does: operations are given in the order of the calls ------------------- */

/**
 * Create a trial from a known point, else from the sampler. Draws its values, then 16 bytes for the
 * request id, then bounded(2^31 - 1) for the seed. Errors: RGM_ERR_CONFIG (no valid values were
 * found), RGM_ERR_NOMEM.
 */
rgm_status rgm_search_create(int64_t *trial, rgm_searcher *searcher);
/**
 * Create a trial with these values that begins with trial `from`'s last checkpoint (0: from
 * scratch). It is held back while a checkpoint of `from` was asked for and is not made. Errors: as
 * above.
 */
rgm_status rgm_search_create_from(int64_t *trial, rgm_searcher *searcher,
                                  const rgm_hyper_value *values, int64_t from);
/** What a trial shall do. Errors: RGM_ERR_ARG (there is no such trial, or it is closed), NOMEM. */
rgm_status rgm_search_train_and_validate(rgm_searcher *searcher, int64_t trial, int64_t length);
rgm_status rgm_search_checkpoint(rgm_searcher *searcher, int64_t trial, int64_t length);
rgm_status rgm_search_close(rgm_searcher *searcher, int64_t trial);
/** Whether more can be asked of a trial. */
bool rgm_search_is_open(const rgm_searcher *searcher, int64_t trial);
/** The one generator of the search. */
rgm_mt19937 *rgm_search_random(rgm_searcher *searcher);
/** The first objective at the trial's newest validation: smaller is better, NaN is +infinity. */
double rgm_search_key(const rgm_searcher *searcher, int64_t trial);
/** Units trained, validations and checkpoints done by all trials except invalid ones. */
int64_t rgm_search_work(const rgm_searcher *searcher);

#ifdef __cplusplus
}
#endif
#endif

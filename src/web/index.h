/*
 * The index of runs: every run folder there is below the named folders, each as one immutable row
 * that answers share. Folders are found by a walk, rows read by threads behind it; a refresh looks
 * by stat alone at what may have changed.
 */
#ifndef RGM_WEB_INDEX_H
#define RGM_WEB_INDEX_H

#include <regimen/store.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum {
    RGMI_DEEPEST = 4,           /* levels of folders below a named one                    */
    RGMI_MOST_PLACES = 50000,   /* folders that are watched for runs                      */
    RGMI_MOST_KEYS = 65536,     /* columns that there can be                              */
    RGMI_MOST_CELLS = 1024,     /* values of one run in the table; the configuration's own
                                   page has all                                           */
    RGMI_LONGEST_CELL = 1024,   /* bytes of one                                           */
    RGMI_MOST_MASTERS = 64,     /* folders with a master.db that get a number             */
    RGMI_MOST_TAGS = 32,        /* of a run                                               */
    RGMI_LONGEST_TAG = 64,      /* bytes                                                  */
    RGMI_LONGEST_TITLE = 200,   /* bytes                                                  */
    RGMI_LONGEST_NOTE = 65536,  /* bytes of a note; the table has the first of them       */
    RGMI_NOTE_IN_ROW = 200,     /* so many                                                */
    RGMI_RUN_DEFAULT_EPOCHS = 1 /* of a config.yaml without a length: rgm_trainer_options' */
};

/* ---- rows ---------------------------------------------------------------------------------- */

typedef enum rgmi_run_kind { RGMI_RUN, RGMI_TRIAL, RGMI_EXPERIMENT, RGMI_RUN_KINDS } rgmi_run_kind;
extern const char *const rgmi_run_kinds[]; /* "run", ..., ended by NULL */

/** Texts of a row; NULL: not known. */
typedef enum rgmi_run_text {
    RGMI_TEXT_PATH,   /* of the folder; never shown                     */
    RGMI_TEXT_NAME,   /* the folder's; of a trial "experiment/trial"    */
    RGMI_TEXT_FOLDER, /* in which it is: named folder and what is below */
    RGMI_TEXT_TASK,
    RGMI_TEXT_MODEL,
    RGMI_TEXT_DESCRIPTION,
    RGMI_TEXT_TAGS, /* one a line */
    RGMI_TEXT_REASON,
    RGMI_TEXT_BEST_METRIC,
    RGMI_TEXT_TITLE, /* what people call it instead of its folder's name  */
    RGMI_TEXT_NOTE,  /* what people wrote about it, Markdown              */
    RGMI_RUN_TEXTS
} rgmi_run_text;

/** A hyperparameter or a metric's last value. */
typedef struct rgmi_cell {
    int32_t key; /* of rgmi_keys     */
    bool numeric;
    const char *text; /* NULL: a metric's */
    double number;
} rgmi_cell;

/** What is known of a run. Never changes once made: a change makes another one. */
typedef struct rgmi_run_row {
    atomic_int holders;
    bool read; /* false: only what finding the folder told */
    rgmi_run_kind kind;
    uint64_t id;
    const char *state; /* static; NULL: not read */
    const char *text[RGMI_RUN_TEXTS];
    int64_t step, steps, epoch, epochs, best_step; /* -1: not known */
    double best_value, modified, started;          /* NaN: not known; seconds since 1970 */
    double progress;                               /* 0 to 1; NaN: not known */
    int64_t master, experiment, trial, trials;     /* -1: none */
    int64_t failed;                                /* of an experiment's trials */
    bool archived;          /* lists leave it out unless they are asked for it */
    const rgmi_cell *cells; /* by key, ascending */
    int64_t cell_count;
    rgm_metrics_place checked; /* how far metrics.jsonl was compared with its checksums */
} rgmi_run_row;

/** Names of columns, "config.optimizer.type", by number; they only become more. Thread-safe. */
typedef struct rgmi_keys {
    pthread_mutex_t lock;
    rgm_map *numbers;
} rgmi_keys;
rgm_status rgmi_keys_open(rgmi_keys *keys);
void rgmi_keys_close(rgmi_keys *keys);
/** The number of a name, made where there is none; -1: there are RGMI_MOST_KEYS already. */
rgm_status rgmi_keys_add(int32_t *key, rgmi_keys *keys, const char *name);
int32_t rgmi_keys_find(rgmi_keys *keys, const char *name); /* -1: none */
const char *rgmi_keys_name(rgmi_keys *keys, int32_t key);
int64_t rgmi_keys_count(rgmi_keys *keys);

/** A copy of a row in one block of memory, held once. */
rgm_status rgmi_run_row_make(rgmi_run_row **out, const rgmi_run_row *draft);
rgmi_run_row *rgmi_run_row_retain(rgmi_run_row *row);
void rgmi_run_row_release(rgmi_run_row *row);
/** The run folder of a row read anew; what of its log was not checked before is, until *stop is
 * set. Errors: RGM_ERR_NOMEM; what cannot be read is damaged. */
rgm_status rgmi_run_row_read(rgmi_run_row **out, const rgmi_run_row *known, rgmi_keys *keys,
                             const atomic_bool *stop);
/** What it is called: its title, else its folder's name. */
const char *rgmi_run_row_title(const rgmi_run_row *row);
/** The cell of a key, or NULL. */
const rgmi_cell *rgmi_run_row_cell(const rgmi_run_row *row, int32_t key);
/** A row about which nothing is known. */
rgmi_run_row rgmi_run_row_empty(rgmi_run_kind kind, uint64_t id);
/** The first file of a run folder that is a symbolic link, and so not read; NULL: none. */
rgm_status rgmi_run_find_link(const char **name, const char *path);

/** A value of a configuration: "model.type"; lists as one text. plain: it stands without quotes. */
typedef rgm_status rgmi_config_value(const char *key, rgm_text *value, bool plain, void *payload);
/** Each value of a config.yaml in its order. */
rgm_status rgmi_config_each(const rgm_yaml_node *root, rgmi_config_value *visit, void *payload);
/** A number that changes with the files that a row is made of; 0: there is no such folder. */
uint64_t rgmi_run_stamp(const char *path);
/** The same of all files that any answer about a run is made of. */
uint64_t rgmi_run_wide_stamp(const char *path);
/** The 16 digits of an id. */
void rgmi_run_id_print(char hex[17], uint64_t id);
bool rgmi_run_id_read(uint64_t *id, const char *hex);

/* ---- the index ----------------------------------------------------------------------------- */

/** A folder in which runs are looked for. Only refreshing touches places, one at a time. */
typedef struct rgmi_run_place {
    char *path, *relative; /* relative: "0:runs/a", of which ids are made                   */
    const char *shown;     /* in relative: "runs/a"                                         */
    struct rgmi_run_place *parent;
    int depth;
    int64_t master, experiment; /* trials of which master, which experiment; -1: none; 0: a
                                   master beyond RGMI_MOST_MASTERS                          */
    struct timespec changed;    /* the folder's time when it was listed                     */
    bool sure;                  /* it was listed long enough after that time                */
    bool listed;                /* it has been, so that it may have children                */
    bool is_run;                /* a named folder that is a run itself                      */
    bool refused;               /* it could not be read, which was told                     */
    int64_t mark;
} rgmi_run_place;

typedef struct rgmi_known_run {
    rgmi_run_row *row;
    rgmi_run_place *place; /* refreshing's */
    uint64_t stamp, wide_stamp;
    int64_t version, mark;
    bool queued;
} rgmi_known_run;

typedef struct rgmi_runs {
    pthread_mutex_t lock;   /* of all here but places and roots */
    pthread_cond_t changed; /* the first walk is over; all runs are read */
    pthread_mutex_t refreshing;

    rgmi_run_place **places;
    int64_t place_count, place_capacity, place_round, marks;
    bool too_many;

    rgmi_known_run **runs;
    int64_t run_count, run_capacity, run_round;
    rgmi_known_run **table; /* by id, open addressing; size a power of two */
    int64_t table_size;
    int64_t read, version;
    bool walked;
    atomic_bool stop;
    double refreshed; /* when, by rgm_now() */

    uint64_t *queue; /* ids of runs to be read */
    int64_t queue_first, queue_count, queue_capacity;
    rgm_thread_pool *pool; /* NULL: reading is refreshing's */
    int threads, working;

    struct rgmi_curve_cache *curves; /* of curves.h */
    rgmi_keys keys;
    char *masters[RGMI_MOST_MASTERS];
    int64_t master_count;
    bool too_many_masters;
} rgmi_runs;

/** Begin to read the folders, by so many threads; 0: all is done by who opens and refreshes.
 *  RGM_ERR_NOT_FOUND: one is none. */
rgm_status rgmi_runs_open_threads(rgmi_runs **out, const char *const *folders, int64_t count,
                                  int threads);
/** Those of the web's own header. */
rgm_status rgmi_runs_open(rgmi_runs **out, const char *const *folders, int64_t count);
/** Whoever reads run folders ends soon, for good. */
void rgmi_runs_stop(rgmi_runs *runs);
void rgmi_runs_close(rgmi_runs *runs);
rgm_status rgmi_runs_refresh(rgmi_runs *runs);
/** The same, unless that was done within the last second or is being done. */
rgm_status rgmi_runs_freshen(rgmi_runs *runs);
rgm_status rgmi_runs_folder(char **folder, rgmi_runs *runs, const char *hex);
int64_t rgmi_runs_version(rgmi_runs *runs, const char *hex);
int64_t rgmi_runs_masters(rgmi_runs *runs, const char *const **folders);
/** Whether folders with a master.db are not among these: there are more than RGMI_MOST_MASTERS. */
bool rgmi_runs_lack_masters(rgmi_runs *runs);

/** All rows of this moment, held. Waits a little for the first walk, and with `all` for every run
 * to be read. */
typedef struct rgmi_runs_rows {
    rgmi_run_row **rows;
    int64_t count, read;
    bool walked;
} rgmi_runs_rows;
rgm_status rgmi_runs_rows_take(rgmi_runs_rows *out, rgmi_runs *runs, bool all);
void rgmi_runs_rows_clear(rgmi_runs_rows *rows);
/** How many there are and how many of them are read. */
void rgmi_runs_counts(int64_t *found, int64_t *read, bool *walked, rgmi_runs *runs);
/** The row of an id, held and read; RGM_ERR_NOT_FOUND. */
rgm_status rgmi_runs_row(rgmi_run_row **out, rgmi_runs *runs, const char *hex);
/** Read a row before its turn, or again; what is held is changed for what was read. */
rgm_status rgmi_runs_read_now(rgmi_run_row **row, rgmi_runs *runs);

/* ---- asking for a table -------------------------------------------------------------------- */

/** Which rows in which order with which values; texts are borrowed, NULL is what is not asked. */
typedef struct rgmi_runs_query {
    bool kinds[RGMI_RUN_KINDS];
    const char *text, *states;     /* q=, state= */
    const char *const *conditions; /* where=: "KEY OP VALUE" */
    int64_t condition_count;
    const char *sort; /* a key; NULL: modified */
    bool ascending;
    const char *columns; /* keys with commas between */
    int64_t offset, limit;
    bool describe;              /* tell every key there is */
    int64_t master, experiment; /* trials of which; 0: of all */
    const char *missing;        /* which rows are known to be, and why; NULL: none */
    bool archived;              /* those too */
    const char *group;  /* "seeds", "config.model.type,state"; NULL: rows stand by themselves */
    const char *within; /* the 16 digits of a group by those: only its runs; NULL: all         */
} rgmi_runs_query;
/** kind= as it is asked for: "run,experiment"; NULL or "": those. RGM_ERR_ARG names the kinds. */
rgm_status rgmi_runs_query_kinds(rgmi_runs_query *query, const char *text);
/**
 * The table as JSON.
 *
 * @param more  [in] [more_count] rows beside those of run folders: experiments; may be NULL
 *
 * Errors: RGM_ERR_ARG (a key that there is not, a condition that is none), RGM_ERR_NOMEM.
 */
rgm_status rgmi_runs_list(rgm_text *json, rgmi_runs *runs, const rgmi_runs_query *query,
                          rgmi_run_row *const *more, int64_t more_count);
/**
 * Groups of runs as JSON: `group` of the query by name, with the mean and deviation of each
 * column's numbers. Rows are in groups of their own where they lack a key.
 */
rgm_status rgmi_groups_list(rgm_text *json, rgmi_runs *runs, const rgmi_runs_query *query);
/** Experiments of all masters as rows. */
typedef struct rgmi_experiment_rows {
    rgmi_run_row **rows;
    int64_t count, capacity;
    int64_t lacking;  /* masters some of whose experiments are not here   */
    rgm_text missing; /* which, and why; empty: all experiments are there */
} rgmi_experiment_rows;
struct rgm_web;
/** Errors: RGM_ERR_NOMEM; nothing is then to be cleared. */
rgm_status rgmi_experiment_rows_take(rgmi_experiment_rows *rows, struct rgm_web *web,
                                     bool archived);
void rgmi_experiment_rows_clear(rgmi_experiment_rows *rows);
/** A row's members, without braces: "id", "kind", ... */
rgm_status rgmi_run_row_print(rgm_text *json, const rgmi_run_row *row);
/** A number, or null where it is not finite. */
rgm_status rgmi_print_number(rgm_text *json, double number);
/** A text, or null. */
rgm_status rgmi_print_text(rgm_text *json, const char *text);
/** By letters, numbers within by their value: seed-2 before seed-10. */
int rgmi_compare_names(const char *a, const char *b);

/* ---- between the index's files ---- */

/** Walk what changed among the places; all at first. */
rgm_status rgmi_runs_walk(rgmi_runs *runs);
rgm_status rgmi_runs_add_root(rgmi_runs *runs, const char *folder);
void rgmi_runs_free_places(rgmi_runs *runs);
/** With the lock held: the next to be read behind all others, once. */
rgm_status rgmi_runs_enqueue(rgmi_runs *runs, rgmi_known_run *run);
void rgmi_runs_free_run(rgmi_known_run *run);
/** With the lock held. */
rgmi_known_run *rgmi_runs_find(const rgmi_runs *runs, uint64_t id);
rgm_status rgmi_runs_add(rgmi_known_run **out, rgmi_runs *runs, const rgmi_run_row *draft);
/** Forget the runs that `gone` tells, with the lock held. */
void rgmi_runs_drop(rgmi_runs *runs, bool (*gone)(const rgmi_known_run *run, const void *payload),
                    const void *payload);

#endif

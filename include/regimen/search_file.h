/*
 * search: the search file. One YAML file says what a point of the search is (an experiment, say)
 * and how to search: `hyperparameters`, `searcher`, how often to validate, what to keep, what
 * trials may use. The search's sections are read here and taken out. The subject, which the caller
 * passes, knows what the other sections mean.
 *
 *     rgm_search_file_load(&file, &mistakes, "digits_search.yaml", merged, &subject);
 *     rgm_search_file_searcher(&searcher, file, seed, NULL);       the searcher of the file
 *     rgm_search_file_point(&document, file, values, seed);        the document of one trial
 */
#ifndef REGIMEN_SEARCH_FILE_H
#define REGIMEN_SEARCH_FILE_H

#include <regimen/base_yaml.h>
#include <regimen/search.h>
#include <regimen/search_sequencer.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Which checkpoints are kept when the search is over: every one that any of the three counters
 * selects.
 */
typedef struct rgm_checkpoint_storage {
    int64_t save_experiment_best; /* default 0 */
    int64_t save_trial_best;      /* default 1 */
    int64_t save_trial_latest;    /* default 1 */
} rgm_checkpoint_storage;

/** What a slot is: processors of the machine, or one of its devices with some of them. */
typedef enum rgm_slot_type { RGM_SLOT_CPU, RGM_SLOT_GPU } rgm_slot_type;
extern const char *const rgm_slot_type_names[]; /* "cpu", "gpu", ended by NULL */

typedef struct rgm_search_resources {
    rgm_slot_type slot_type; /* default cpu. gpu: each trial has devices to itself; its documents
                                say runtime.device: gpu where the file names no interface */
    int64_t slots_per_trial; /* of a trial: threads, or ranks of rgm_search_file_ranks(); devices
                                are ranks, one each; default 1 */
    int64_t max_slots;       /* of all trials together; 0: no bound               */
    int64_t priority;        /* 1..99, small first; default 42                    */
    double weight;           /* of a fair share; default 1                        */
    const char *pool;        /* slots of that name, of the master's file; NULL: those of no pool */
} rgm_search_resources;

/** Bounds, those on time in seconds; 0: none. */
typedef struct rgm_search_limits {
    double trial_seconds;  /* of a trial's workloads together: then it saves and ends            */
    double silent_seconds; /* of its process without a word and without work, or of a Slurm job that
                              runs and never spoke: then it is ended, which is a failure; 3600 */
    double search_seconds; /* in which any of its trials was at work: then all save and end       */
    int64_t disk_bytes;    /* of its folder: what no rule keeps goes, then it is paused           */
} rgm_search_limits;

/** What lines of a failed trial's log say, as patterns (rgm_line_pattern_create()). */
typedef struct rgm_search_logs {
    rgm_texts fatal; /* no other try succeeds                          */
    rgm_texts drain; /* the slots that it had get no trial any more    */
} rgm_search_logs;

typedef enum rgm_scheduler_type {
    RGM_SCHEDULER_LOCAL,
    RGM_SCHEDULER_SLURM,
    RGM_SCHEDULER_COMMANDS /* of three commands, which the master has under its name */
} rgm_scheduler_type;

/** Where trials run. What the file does not say is NULL (texts) or 0 (numbers). */
typedef struct rgm_scheduler_options {
    rgm_scheduler_type type;
    const char *name; /* of scheduler.type; default "local": processes of this machine */
    /* of jobs alone: */
    const char *partition, *account, *qos; /* partition: or queue                             */
    const char *time;   /* of a job, as sbatch --time takes it, or the scheduler's own command  */
    const char *memory; /* of a job, as sbatch --mem takes it, or that command                  */
    const char *gres;   /* of Slurm's with resources.slot_type gpu: what a device is called,
                           "gpu:a100"; NULL: "gpu". A job of N slots asks for --gres=GRES:N     */
    rgm_texts options;  /* more of sbatch's, each whole: "--constraint=icelake" */
    rgm_texts setup;    /* lines of shell before the trial: "module load gcc"   */
} rgm_scheduler_options;

/** The sections that a search has beside those of its subject; names are keys of the file. */
typedef struct rgm_search_settings {
    const char *description;   /* NULL: none is given          */
    const char *project;       /* what it belongs to, for lists; NULL: nothing */
    rgm_texts labels;          /* of a list or of a map's keys */
    const char *entrypoint;    /* "FILE.so" or "FILE.so:NAME", a program's own model and data; NULL:
                                  the file's task is trained, or: */
    rgm_texts command;         /* words of a program that trains a trial (trial_program.h); "{NAME}"
                                  in them is a hyperparameter. 0 words: none */
    rgm_texts include;         /* what goes with its files, or with the entrypoint: shell patterns
                                  below code_folder */
    const char *code_folder;   /* in which they and the entrypoint's files lie; NULL: the folder in
                                  which the experiment is created */
    int64_t batches_per_step;  /* >= 1, default 100, of a command 1                     */
    int64_t records_per_epoch; /* 0: not given; lengths in epochs need it               */
    rgm_length min_validation_period; /* 0 units: none */
    rgm_length min_checkpoint_period;
    bool perform_initial_validation;
    rgm_checkpoint_policy checkpoint_policy;
    rgm_checkpoint_storage checkpoint_storage;
    int64_t max_restarts; /* >= 0, default 5                                */
    struct rgm_search_reproducibility {
        int64_t experiment_seed; /* 0..2^31-1; -1: not given, the time of creation is taken       */
    } reproducibility;
    rgm_search_resources resources;
    rgm_search_limits limits;
    rgm_search_logs logs;
    struct rgm_search_optimizations {
        int64_t aggregation_frequency; /* becomes trainer.accumulation_steps; default 1           */
        bool average_aggregated_gradients; /* true; false is refused: our updates take means      */
    } optimizations;
    struct rgm_search_environment {
        rgm_texts environment_variables; /* "NAME=value" of trials' processes */
    } environment;
    rgm_scheduler_options scheduler;
    bool debug; /* trials log at the level debug */
} rgm_search_settings;

/** A search file, merged and checked. Reference-counted: each trial retains its file. */
typedef struct rgm_search_file rgm_search_file;

/** Whether a merged document is a search: it has `searcher`, `hyperparameters` or `entrypoint`. */
bool rgm_search_file_is_one(const rgm_yaml *merged);

/**
 * What a search is over: the document that a point of its space becomes. The search file has that
 * document's sections beside its own. What the subject points to must outlive the files that are
 * loaded with it.
 */
typedef struct rgm_search_subject {
    const char *const *sections; /* names of the document's own, ended by NULL: the first part of
                                    each hyperparameter's name is one of them */
    /**
     * Check whether the document of a point is valid. `name` is its file's, for messages. Errors:
     * RGM_ERR_CONFIG (it is not), others where that cannot be found out.
     */
    rgm_status (*check)(const char *name, const rgm_yaml *document, const void *payload);
    const void *payload;
    /**
     * The devices of this machine that slots of the type gpu can be: their names, with commas
     * between them. `list` says which: "gpu", "opencl:0,opencl:1". NULL: there are none. Errors:
     * RGM_ERR_ARG (no such list), RGM_ERR_NOT_FOUND and RGM_ERR_UNSUPPORTED (not here, and why),
     * RGM_ERR_IO, RGM_ERR_NOMEM.
     */
    rgm_status (*devices)(rgm_text *names, const char *list);
    const rgm_search_rows *rows; /* searchers and samplers beside the library's; NULL: none */
} rgm_search_subject;

/**
 * Take the search's sections out of a merged document and check them: keys, values, the space, the
 * searcher. With a subject, also check that every section is the search's or the subject's, that
 * every hyperparameter is a key of one of the subject's sections, and the documents of some of the
 * space's points.
 *
 * @param mistakes  [out] 1,000 lines "FILE:line:column: what\n" and how many more; NULL: not
 * wanted. Of the subject's own sections it is the first one that its check meets.
 * @param name      [in] of its file
 * @param merged    [in] copied
 * @param subject   [in] NULL: only the search's own sections are checked, which is enough for a
 *                       file that was checked before
 *
 * Errors: RGM_ERR_CONFIG (the first mistake, and how many more there are), RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_load(rgm_search_file **out, rgm_text *mistakes, const char *name,
                                const rgm_yaml *merged, const rgm_search_subject *subject);
/**
 * The same from the text that rgm_search_file_text() gave; name: for messages.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_parse(rgm_search_file **out, rgm_text *mistakes, const char *text,
                                 int64_t size, const char *name, const rgm_search_subject *subject);
/**
 * The same of a search under way whose section `searcher` is being changed: it is held to the rules
 * of a new one, but for those of its points that `before`, its searcher, has tried, which may be
 * outside of bounds and constraints that came later. Errors: RGM_ERR_CONFIG, RGM_ERR_FORMAT,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_parse_changed(rgm_search_file **out, rgm_text *mistakes,
                                         const char *text, int64_t size, const char *name,
                                         const rgm_search_subject *subject,
                                         const rgm_searcher *before);
/**
 * The same of a search that began with that text, as a database keeps it: where the version that
 * began it took what a new search is refused for now, how its sampler and its plan go together, it
 * goes on with it.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_parse_kept(rgm_search_file **out, rgm_text *mistakes, const char *text,
                                      int64_t size, const char *name,
                                      const rgm_search_subject *subject);
/**
 * The same for whoever looks at space, metrics, settings and lengths alone: its searcher may be a
 * program, or a row of a shared object or of another program. Of such a one the longest length is
 * what `max_length` or `max_steps` says, if anything, and rgm_search_file_searcher() is refused.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_glance(rgm_search_file **out, const char *text, int64_t size,
                                  const char *name);
/**
 * Whether each of `searcher.points` would be tried, as rgm_search_file_load() checks it too: of a
 * file that begins a search. One that goes on may have more points than trials, since others took
 * the place of those that could not be. Errors: RGM_ERR_CONFIG.
 */
rgm_status rgm_search_file_check_points(const rgm_search_file *file);
rgm_search_file *rgm_search_file_retain(rgm_search_file *file);
void rgm_search_file_release(rgm_search_file *file);

/* All of these belong to the file. */
const char *rgm_search_file_path(const rgm_search_file *file); /* "configs/digits_search.yaml" */
const char *rgm_search_file_name(const rgm_search_file *file); /* "digits_search" */
/**
 * The whole file with what it leaves out: the defaults of the search's keys, where they have one.
 *
 * @param out  [out, owned] rgm_yaml_release()
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_whole(rgm_yaml **out, const rgm_search_file *file);
/** The subject that it was loaded with; NULL: none. */
const rgm_search_subject *rgm_search_file_subject(const rgm_search_file *file);
const char *
rgm_search_file_text(const rgm_search_file *file); /* merged, as YAML: parses to the same */
const rgm_search_settings *rgm_search_file_settings(const rgm_search_file *file);
rgm_space *rgm_search_file_space(const rgm_search_file *file);
/** The section `searcher`, and any other by its key; NULL: there is none. */
const rgm_yaml_node *rgm_search_file_section(const rgm_search_file *file, const char *name);
/**
 * The searcher's metrics, each with its split: "valid.accuracy" also where the file says
 * "accuracy". Returns how many there are.
 */
int64_t rgm_search_file_objectives(const rgm_objective **objectives, const rgm_search_file *file);

/**
 * The processes that train a trial together, each with as many slots: the largest power of two that
 * divides resources.slots_per_trial and is not above runtime.shards. So slots are threads of one
 * process where a step has one shard, as it has by default, or where runtime.shards is a
 * hyperparameter.
 */
int64_t rgm_search_file_ranks(const rgm_search_file *file);

/** Whether a program says what is trained, by `entrypoint` as a file or as a command: names of
 * hyperparameters are then free. */
bool rgm_search_file_is_own(const rgm_search_file *file);
/**
 * The words of the file's command at a point: "{NAME}" is the value of that hyperparameter, a text
 * as it stands and all else as JSON; "{{" and "}}" are braces. A word that names a hyperparameter
 * which the point does not have is left out.
 *
 * @param words   [out, owned] [*count + 1], ended by NULL; rgm_names_release()
 * @param values  [in] [rgm_space_count()]
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_words(char ***words, int64_t *count, const rgm_search_file *file,
                                 const rgm_hyper_value *values);

/**
 * The document of a point whose sections do not stand in the file but are given, made by a program
 * of the point's values: with the file's own sections `trainer` and `runtime` over it, and with
 * what the search says of a run: seed, length, metric.
 *
 * @param out       [out, owned] rgm_yaml_release()
 * @param document  [in] copied
 *
 * Errors: those of rgm_search_file_batches(), RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_point_over(rgm_yaml **out, const rgm_search_file *file,
                                      const rgm_yaml *document, const rgm_hyper_value *values,
                                      uint32_t seed);
/** rgm_searcher_read() of the file's section over its space. own: NULL: the subject's. Errors:
 * RGM_ERR_CONFIG, RGM_ERR_NOMEM. */
rgm_status rgm_search_file_searcher(rgm_searcher **out, const rgm_search_file *file, uint32_t seed,
                                    const rgm_search_rows *own);
/**
 * The document of one point: for experiments, the file that `regimen run` takes. The search's
 * sections are removed, values stand at their keys, and runtime.seed = seed. trainer.train_steps is
 * the longest length that the searcher may ask for, so that schedules are the same in all trials.
 * The searcher's metric chooses the best weights unless the file says otherwise.
 *
 * @param out     [out, owned] rgm_yaml_release()
 * @param values  [in] [rgm_space_count()]
 *
 * Errors: RGM_ERR_CONFIG (a key that cannot be set, or a length that cannot be expressed in
 * batches), RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_point(rgm_yaml **out, const rgm_search_file *file,
                                 const rgm_hyper_value *values, uint32_t seed);

/** A searcher's length, or a period, in batches. */
typedef struct rgm_batches {
    int64_t batches; /* at least 1, for a length of at least 1 unit                               */
    bool is_whole; /* false: a last part of a batch was left out (records % batch size), to be told
                    */
} rgm_batches;
/**
 * Steps are batches_per_step batches. Records are divided by the batch size and rounded down, to at
 * least 1. The batch size is global_batch_size of the hyperparameters, else data.batch_size, times
 * the batches of an update: trainer.accumulation_steps of the hyperparameters, else of the file,
 * else optimizations.aggregation_frequency. An epoch has records_per_epoch records.
 *
 * Errors: RGM_ERR_CONFIG (no batch size, no records_per_epoch, more than 10^15 batches).
 */
rgm_status rgm_search_file_batches(rgm_batches *out, const rgm_search_file *file,
                                   const rgm_hyper_value *values, rgm_length length);

/**
 * How far `batches` batches of a trial are, in the unit of the searcher's longest length, which is
 * returned: trials of other batch sizes stand at the same number when they have seen as much. The
 * batches of a whole number of units, without the part of a batch that rounding leaves out, are
 * that number. Where the file does not say how many batches a unit is, *out is `batches`, and {0,
 * RGM_BATCHES} is returned.
 */
rgm_length rgm_search_file_units(double *out, const rgm_search_file *file,
                                 const rgm_hyper_value *values, double batches);

/**
 * Print the keys of the search's sections with their help, for `regimen config keys`; section NULL:
 * all.
 * Errors: RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_search_file_keys(rgm_text *out, const char *section);

#ifdef __cplusplus
}
#endif
#endif

/*
 * experiment: one YAML file describes a run from data to export. Its sections are data, task (or
 * tasks), model, optimizer, trainer, runtime and export; every key is a field of an options struct
 * of the layer that uses it. An unknown key is an error with file, line, column and the nearest
 * name. Every value remembers where it was set:
 *
 *     default  <  the file it extends  <  the file  <  files laid over it  <  environment  <  --set
 */
#ifndef REGIMEN_EXPERIMENT_H
#define REGIMEN_EXPERIMENT_H

#include <regimen/controller_run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- named experiments --------------------------------------------------------------------- */

/** An experiment file compiled into the library: configs/<name>.yaml. */
typedef struct rgm_named_experiment {
    const char *name;
    const char *text;
    int64_t size;
} rgm_named_experiment;
/** All of them, by name. */
const rgm_named_experiment *rgm_named_experiments(int64_t *count);
const rgm_named_experiment *rgm_named_experiment_find(const char *name); /* NULL if none */

/* ---- tasks --------------------------------------------------------------------------------- */

/** The task types that an experiment file can name: one list, task_list.c. */
const rgm_task_type *const *rgm_task_types(int64_t *count);

/* ---- a program's own rows ------------------------------------------------------------------- */

/** A row for an existing task type: the first member of the struct that the type's rows are. */
typedef struct rgm_extension_row {
    const rgm_task_type *of;     /* &rgm_graph_learning, say; NULL ends a list */
    const rgm_section_type *row; /* &my_model.section of a rgm_graph_model_type */
} rgm_extension_row;

/**
 * What experiment files can name in addition to the library's rows; the same keys, checks and
 * prints apply. Each list is ended by NULL (rows: by {0}); NULL: no list. Everything is borrowed
 * and must outlive the experiments loaded with it. A name that the library has, or that appears
 * twice, is RGM_ERR_ARG.
 */
typedef struct rgm_extensions {
    rgm_optimizer_rows optim;                  /* optimizer.type, optimizer.learning_rate.type */
    const rgm_task_type *const *tasks;         /* task.type, with data and models of their own */
    const rgm_extension_row *kinds;            /* task.type of an existing task type           */
    const rgm_extension_row *models;           /* model.type of an existing task type          */
    const rgm_exporter_type *const *exporters; /* type of an entry of export                */
    const rgm_action_type *const *actions;     /* type of an entry of actions.train and .eval  */
} rgm_extensions;

/** Top-level keys of an experiment file, ended by NULL. */
extern const char *const rgm_experiment_section_names[];

/* ---- loading ------------------------------------------------------------------------------- */

typedef struct rgm_experiment rgm_experiment;

/** Where the values of an experiment come from; later ones override earlier ones. */
typedef struct rgm_experiment_layers {
    const char *name;        /* a file, or else the name of a named experiment                 */
    const char *const *over; /* files or names laid over it, in order                          */
    int64_t over_count;
    char *const *environment; /* "NAME=value" as in environ, ended by NULL; NULL: none is read.
                                 REGIMEN_TRAINER__CHECKPOINT__KEEP sets trainer.checkpoint.keep   */
    const char *const *sets;  /* "trainer.epochs=3"; "trainer.epochs=~" unsets the key            */
    int64_t set_count;
    const rgm_extensions *own; /* the program's own rows; NULL: none */
} rgm_experiment_layers;

/**
 * Merge the layers and check every key, every value and every restriction between them. Each layer
 * may `extends` another below it (a file beside it, or a name), up to 8 levels deep. No data are
 * read.
 *
 * Errors: RGM_ERR_CONFIG "FILE:line:column: what", "FILE: --set key: what" or "FILE: $REGIMEN_...:
 * what"; RGM_ERR_NOT_FOUND (neither a file nor a name; the message has the nearest name),
 * RGM_ERR_IO.
 */
rgm_status rgm_experiment_load_layers(rgm_experiment **out, const rgm_experiment_layers *layers);
/**
 * The same from one file or name and `sets` only.
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_load(rgm_experiment **out, const char *name, const char *const *sets,
                               int64_t set_count);
/**
 * The same from a run folder's config.yaml. (For a run with the program's own rows, call
 * rgm_experiment_load_layers() on that file.)
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_load_run(rgm_experiment **out, const char *run_dir,
                                   const char *const *sets, int64_t set_count);
void rgm_experiment_release(rgm_experiment *experiment);

/**
 * Merge the layers into one document without checking it. A caller can take out its own sections
 * (as a search does) and load the rest. Release with rgm_yaml_release().
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_merge_layers(rgm_yaml **out, const rgm_experiment_layers *layers);
/**
 * Check and load a document that is already merged; `merged` is copied.
 *
 * @param name  [in] the file's name, for messages and rgm_experiment_name()
 * @param own   [in] the program's own rows, borrowed; NULL: none
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_load_merged(rgm_experiment **out, const char *name,
                                      const rgm_yaml *merged, const rgm_extensions *own);

/** The merged file as YAML, as the run folder keeps it. */
const char *rgm_experiment_text(const rgm_experiment *experiment);
/** Name of the file without folder and extension: "cora_gcn". */
const char *rgm_experiment_name(const rgm_experiment *experiment);
/** The file's `description`; "" if it has none. */
const char *rgm_experiment_description(const rgm_experiment *experiment);

/* ---- looking at one ------------------------------------------------------------------------ */

/** One key with its value and where the value was set. The experiment owns everything. */
typedef struct rgm_experiment_value {
    const char *key; /* "trainer.checkpoint.keep"                                        */
    const rgm_yaml_node *value; /* a scalar or a list; NULL: there is none */
    const char *origin; /* "FILE:line", "NAME:line", "--set", "$REGIMEN_..." or "default"   */
    const char *unused; /* why the value has no effect here; NULL: it has one               */
    bool given;         /* it is not a default                                              */
    bool writable;      /* a file can express it; false for defaults such as "no bound"     */
} rgm_experiment_value;
/** Every key that this task, model and optimizer have, in the order of the tables. */
int64_t rgm_experiment_values(const rgm_experiment_value **values,
                              const rgm_experiment *experiment);
/** The key's entry; NULL if there is no such key. */
const rgm_experiment_value *rgm_experiment_find(const rgm_experiment *experiment, const char *key);
/**
 * Print all values as YAML with their origins in comments: an experiment file equivalent to this
 * one. Unset keys, and set keys without effect, are commented out.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_print(rgm_text *out, const rgm_experiment *experiment);
/** A short description to read before a run: "gcn on data/cora". Errors: RGM_ERR_NOMEM. */
rgm_status rgm_experiment_describe(rgm_text *out, const rgm_experiment *experiment);
/**
 * Print the keys of a section with their help, for `regimen config`. section NULL: all sections.
 * own: the program's own rows, or NULL.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_ARG (impossible rows).
 */
rgm_status rgm_experiment_keys(rgm_text *out, const char *section, const rgm_extensions *own);

/**
 * Make the checks that a run makes before its first step, without a run. Without `data`, only the
 * schedule is checked against the run's length. With `data`, the run is opened to check everything:
 * the data of all parts are read, the model is built, and exporters check it. Nothing is trained or
 * written; tasks that keep files in a run folder make them in memory. A configuration that is
 * possible but probably not intended is logged as a warning.
 *
 * Errors: RGM_ERR_CONFIG "FILE:line:column: what"; with `data` those of rgm_experiment_prepare()
 * and rgm_run_open().
 */
rgm_status rgm_experiment_check(rgm_experiment *experiment, bool data);

/* ---- several runs of one file ---------------------------------------------------------------- */

/**
 * How many runs the file asks for: one for each seed of runtime.seeds and each fold of
 * trainer.folds (only the fold named by trainer.fold, if any). 1: the experiment is itself a run.
 * With more, rgm_experiment_prepare() refuses it: take its parts.
 */
int64_t rgm_experiment_part_count(const rgm_experiment *experiment);
/**
 * One of these runs as an experiment of its own. It differs only in trainer.fold, runtime.seed and
 * runtime.seeds. Folds are the inner loop.
 *
 * @param name  [out, owned] name for its run folder, "fold-3", "seed-2" or "seed-2-fold-3", with
 * the numbers of seed and fold; rgm_free()
 * @param i     [in] 0 <= i < rgm_experiment_part_count()
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG (a seed above the largest), RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_part(rgm_experiment **out, char **name, const rgm_experiment *experiment,
                               int64_t i);

/* ---- running ------------------------------------------------------------------------------- */

/**
 * Create the task with its data and fill in `options` for a run. The experiment owns what `options`
 * points to. A task keeps files of its own (tokenizers, sampled records) in run_dir, which may be
 * NULL unless the file asks for such files.
 *
 * Errors: RGM_ERR_CONFIG (a contradiction with the data), RGM_ERR_NOT_FOUND, RGM_ERR_IO and others
 * of reading data.
 */
rgm_status rgm_experiment_prepare(rgm_run_options *options, rgm_experiment *experiment,
                                  const char *run_dir);
/**
 * The same, to look at a trained run: files that it keeps with its weights (rgm_task.files) are
 * read from its folder, so their original places are not needed. A task reads its data only when
 * they are requested; options->no_data says which never will be. Errors: RGM_ERR_ARG,
 * RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_UNSUPPORTED,
 * RGM_ERR_NOT_FOUND, RGM_ERR_BUSY, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_prepare_trained(rgm_run_options *options, rgm_experiment *experiment,
                                          const char *run_dir);
/**
 * The same, to answer what a user asks (rgm_run_predictor()) and for nothing else: a
 * task whose folder keeps what that takes does not open its own data. Errors: those of
 * rgm_experiment_prepare_trained().
 */
rgm_status rgm_experiment_prepare_asked(rgm_run_options *options, rgm_experiment *experiment,
                                        const char *run_dir);
/**
 * Call rgm_run_open() with the prepared task and with `options`: those that prepare filled in, as
 * changed by the caller (mode, hooks, read_only). The experiment must outlive the run. RGM_ERR_ARG:
 * nothing was prepared.
 */
rgm_status rgm_experiment_open(rgm_open_run **run, const rgm_experiment *experiment,
                               const rgm_run_options *options);

/**
 * Call rgm_run_serve() with the prepared task: make batches for a trainer elsewhere.
 * Errors: RGM_ERR_ARG (nothing was prepared), those of rgm_run_serve().
 */
rgm_status rgm_experiment_serve(int64_t *made, const rgm_experiment *experiment,
                                const rgm_run_options *options, const rgm_serve_options *serve);

/* ---- asking -------------------------------------------------------------------------------- */

/** What a folder can be opened as by rgm_predictor_open(). */
typedef enum rgm_model_folder {
    RGM_FOLDER_NONE,  /* neither                                                            */
    RGM_FOLDER_RUN,   /* a run of an experiment file, with checkpoints                       */
    RGM_FOLDER_EXPORT /* an export alone: model.yaml (task and model of the experiment file),
                         weights, and what the task keeps beside them                        */
} rgm_model_folder;
/** Which of them a folder is. */
rgm_model_folder rgm_model_folder_kind(const char *folder);
/**
 * Open a predictor (controller_run.h says how to ask it) from the folder of an export, or from a
 * run folder with its best weights. Nothing else is read, in particular no training data. All that
 * an export's folder has is checked before it is used. It computes with rgm_threads() threads.
 *
 * @param sets  [in] [set_count] "task.search.beam_size=1": as in rgm_experiment_load(); of an
 * export keys of its sections data, task and model alone. NULL: none
 *
 * Errors: RGM_ERR_NOT_FOUND (a missing file; exports of a program's own model have no model.yaml; a
 * run without a checkpoint), RGM_ERR_CONFIG, RGM_ERR_VERSION (model.yaml has another version),
 * RGM_ERR_UNSUPPORTED (a type that is not asked, a program's run), those of rgm_predictor_create().
 */
rgm_status rgm_predictor_open(rgm_predictor **out, const char *folder, const char *const *sets,
                              int64_t set_count);

#ifdef __cplusplus
}
#endif
#endif

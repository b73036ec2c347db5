/*
 * experiment: one YAML file from data to export. Sections data, task (or tasks), model, optimizer,
 * trainer, runtime and export; every key is a field of an options struct of the layer that uses it.
 * An unknown key is an error with file, line, column and the nearest name. Every value knows where
 * it was set:
 *
 *     default  <  the file it extends  <  the file  <  files laid over it  <  environment  <  --set
 */
#ifndef REGIMEN_EXPERIMENT_H
#define REGIMEN_EXPERIMENT_H

#include <regimen/train.h>

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

/** A row for a task type that is there: it begins the struct that the type's own rows are. */
typedef struct rgm_extension_row {
    const rgm_task_type *of;     /* &rgm_graph_learning, say; NULL ends a list */
    const rgm_section_type *row; /* &my_model.section of a rgm_graph_model_type */
} rgm_extension_row;

/**
 * What experiment files can name beside the library's rows, by the same keys, checks and prints.
 * Each list is ended by NULL (rows: by {0}), or NULL for none. All of it is borrowed and must
 * outlive the experiments that were loaded with it. A name that is the library's, or stands twice,
 * is RGM_ERR_ARG.
 */
typedef struct rgm_extensions {
    rgm_optimizer_rows optim;                  /* optimizer.type, optimizer.learning_rate.type */
    const rgm_task_type *const *tasks;         /* task.type, with data and models of their own */
    const rgm_extension_row *kinds;            /* task.type of a task type that is there       */
    const rgm_extension_row *models;           /* model.type of one                            */
    const rgm_exporter_type *const *exporters; /* type of an entry of export                */
    const rgm_action_type *const *actions;     /* type of an entry of actions.train and .eval  */
} rgm_extensions;

/** Top-level keys of an experiment file, ended by NULL. */
extern const char *const rgm_experiment_section_names[];

/* ---- loading ------------------------------------------------------------------------------- */

typedef struct rgm_experiment rgm_experiment;

/** Where the values of an experiment come from, the later ones over the earlier. */
typedef struct rgm_experiment_layers {
    const char *name;        /* a file, or else the name of a named experiment                 */
    const char *const *over; /* files or names laid over it, in order                          */
    int64_t over_count;
    char *const *environment; /* "NAME=value" as in environ, ended by NULL; NULL: none is read.
                                 REGIMEN_TRAINER__CHECKPOINT__KEEP sets trainer.checkpoint.keep   */
    const char *const *sets;  /* "trainer.epochs=3"; "trainer.epochs=~" takes the key back        */
    int64_t set_count;
    const rgm_extensions *own; /* the program's own rows; NULL: none */
} rgm_experiment_layers;

/**
 * Merge the layers, each with what it `extends` below it (a file beside it, or a name; any depth up
 * to 8), and check every key, every value and every restriction between them. Nothing of the data
 * is read.
 *
 * Errors: RGM_ERR_CONFIG "FILE:line:column: what", "FILE: --set key: what" or "FILE: $REGIMEN_...:
 * what"; RGM_ERR_NOT_FOUND (neither a file nor a name; the nearest name is told), RGM_ERR_IO.
 */
rgm_status rgm_experiment_load_layers(rgm_experiment **out, const rgm_experiment_layers *layers);
/**
 * The same from one file or name and `sets` alone.
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_load(rgm_experiment **out, const char *name, const char *const *sets,
                               int64_t set_count);
/**
 * The same from a run folder's config.yaml. (Of a run with rows of the program's own:
 * rgm_experiment_load_layers() of that file.)
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_load_run(rgm_experiment **out, const char *run_dir,
                                   const char *const *sets, int64_t set_count);
void rgm_experiment_release(rgm_experiment *experiment);

/**
 * The layers merged into one document, before anything in it is checked: for who takes out what is
 * his (a search its sections) and loads the rest. Release with rgm_yaml_release().
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_merge_layers(rgm_yaml **out, const rgm_experiment_layers *layers);
/**
 * rgm_experiment_load_layers() of what is merged already; `merged` is copied.
 *
 * @param name  [in] that of its file, for messages and rgm_experiment_name()
 * @param own   [in] the program's own rows, borrowed; NULL: none
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_load_merged(rgm_experiment **out, const char *name,
                                      const rgm_yaml *merged, const rgm_extensions *own);

/** The merged file as YAML, as it is kept in the run folder. */
const char *rgm_experiment_text(const rgm_experiment *experiment);
/** Name of the file without folder and ending: "cora_gcn". */
const char *rgm_experiment_name(const rgm_experiment *experiment);
/** What the file says of itself; "" if nothing. */
const char *rgm_experiment_description(const rgm_experiment *experiment);

/* ---- looking at one ------------------------------------------------------------------------ */

/** One key with its value and where that was set. Everything belongs to the experiment. */
typedef struct rgm_experiment_value {
    const char *key; /* "trainer.checkpoint.keep"                                        */
    const rgm_yaml_node *value; /* a scalar or a list; NULL: there is none */
    const char *origin; /* "FILE:line", "NAME:line", "--set", "$REGIMEN_..." or "default"   */
    const char *unused; /* why it has no effect here; NULL: it has                          */
    bool given;         /* it is not a default                                              */
    bool writable;      /* a file may say so; false for defaults such as "no bound"         */
} rgm_experiment_value;
/** Every key that there is for this task, model and optimizer, in the order of the tables. */
int64_t rgm_experiment_values(const rgm_experiment_value **values,
                              const rgm_experiment *experiment);
/** NULL if there is no such key. */
const rgm_experiment_value *rgm_experiment_find(const rgm_experiment *experiment, const char *key);
/**
 * All values as YAML with their origins in comments: an experiment file that says the same as this
 * one. Keys that are not set stand in comments, as do those that are without having an effect.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_print(rgm_text *out, const rgm_experiment *experiment);
/** What a person wants to see before a run: "gcn on data/cora". Errors: RGM_ERR_NOMEM. */
rgm_status rgm_experiment_describe(rgm_text *out, const rgm_experiment *experiment);
/**
 * Every section's keys with their help, for `regimen config`; section NULL: all. own: rows of the
 * program's own, or NULL.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_ARG (rows that cannot be).
 */
rgm_status rgm_experiment_keys(rgm_text *out, const char *section, const rgm_extensions *own);
/** The keys of a table as that prints them, a line each; path: of its section, "" for none. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgm_experiment_print_fields(rgm_text *out, const char *path, const rgm_field *fields);

/**
 * What a run of it would be asked before its first step, without one: the schedule against the
 * run's length; with `data` everything, by opening the run: data of all parts are read, the model
 * is built, exporters are asked. Nothing is trained, nothing is written, and tasks that keep files
 * in a run folder make them in memory. What is possible but hardly meant is logged as a warning.
 *
 * Errors: RGM_ERR_CONFIG "FILE:line:column: what"; with `data` those of rgm_experiment_prepare()
 * and rgm_run_open().
 */
rgm_status rgm_experiment_check(rgm_experiment *experiment, bool data);

/* ---- several runs of one file ---------------------------------------------------------------- */

/**
 * How many runs the file asks for: one for each fold of trainer.folds, unless trainer.fold names
 * it, and that for each of runtime.seeds. 1: the experiment is a run itself; any other is none
 * (rgm_experiment_prepare() refuses it).
 */
int64_t rgm_experiment_part_count(const rgm_experiment *experiment);
/**
 * One of these runs as an experiment of its own, which says the same but for trainer.fold,
 * runtime.seed and runtime.seeds. Folds are the inner loop.
 *
 * @param name  [out, owned] what its run folder is called: "fold-3", "seed-2", "seed-2-fold-3" by
 * the seed's and the fold's own numbers; rgm_free()
 * @param i     [in] 0 <= i < rgm_experiment_part_count()
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG (a seed above the largest), RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_part(rgm_experiment **out, char **name, const rgm_experiment *experiment,
                               int64_t i);

/* ---- running ------------------------------------------------------------------------------- */

/**
 * Make the task, with its data, and fill in everything for a run. What `options` points to belongs
 * to the experiment. run_dir is where a task keeps files of its own (tokenizers, sampled records);
 * it may be NULL unless the file asks for such.
 *
 * Errors: RGM_ERR_CONFIG (what the data contradict), RGM_ERR_NOT_FOUND, RGM_ERR_IO and others of
 * reading data.
 */
rgm_status rgm_experiment_prepare(rgm_run_options *options, rgm_experiment *experiment,
                                  const char *run_dir);
/**
 * The same to look at a run that was trained: files that it keeps with its weights (rgm_task.files)
 * are read from its folder, so that nothing is needed from where they came. A task's data are read
 * when they are asked for: options->no_data says which never will be.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_DATA,
 * RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND, RGM_ERR_BUSY, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_experiment_prepare_trained(rgm_run_options *options, rgm_experiment *experiment,
                                          const char *run_dir);
/**
 * rgm_run_open() of the task that was prepared, with the options that prepare filled in and the
 * caller changed (mode, hooks, read_only). The experiment must outlive the run. RGM_ERR_ARG:
 * nothing was prepared.
 */
rgm_status rgm_experiment_open(rgm_open_run **run, const rgm_experiment *experiment,
                               const rgm_run_options *options);

/* ---- serving ------------------------------------------------------------------------------- */

/**
 * A predictor of what a run of an experiment file was exported to (train.h says how it is asked).
 * The folder is all that is read: model.yaml (task and model of the experiment file), the weights,
 * and of a graph model schema.pbtxt. Nothing in it is believed before it is checked.
 *
 * Errors: RGM_ERR_NOT_FOUND (a file that is missing; exports of a program's own model have no
 * model.yaml), RGM_ERR_CONFIG, RGM_ERR_VERSION (model.yaml is of another version),
 * RGM_ERR_UNSUPPORTED (tasks of its type are served otherwise), those of rgm_predictor_create().
 */
rgm_status rgm_predictor_open(rgm_predictor **out, const char *folder);

#ifdef __cplusplus
}
#endif
#endif

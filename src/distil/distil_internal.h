/* Steps of a file and what they share: names of inputs, content hashes, records, work in shards. */
#ifndef RGM_DISTIL_INTERNAL_H
#define RGM_DISTIL_INTERNAL_H

#include <regimen/distil.h>
#include <regimen/experiment.h>
#include <regimen/text.h>
#include <regimen/translation.h>

/* ---- the options of steps: their keys ---- */

typedef enum rgmi_nearest { RGMI_NEAREST_NONE, RGMI_NEAREST_CHRF, RGMI_NEAREST_BLEU } rgmi_nearest;

/** `translate` and `back_translate` */
typedef struct rgmi_translate_options {
    rgm_texts models;      /* the first one's search; several: an ensemble                    */
    const char *source;    /* lines to translate: a file, or an earlier step: its sources     */
    const char *target;    /* of back_translate: lines of the target's language               */
    const char *reference; /* of translate, for `nearest`: a file, or a step: its targets     */
    rgmi_nearest nearest;  /* of n_best translations take the one nearest the reference       */
    const char *tag;       /* of back_translate: begins every source, a space behind it       */
    const rgm_yaml_node *search; /* keys of task.search over the model's own                      */
    int64_t lines; /* only so many from the front; 0: all                             */
    int64_t shard; /* lines that are written together                                 */
} rgmi_translate_options;

typedef struct rgmi_score_options {
    const char *model;
    const char *pairs;           /* an earlier step */
    const char *source, *target; /* or two files    */
    int64_t shard;
} rgmi_score_options;

typedef struct rgmi_filter_options {
    const char *pairs;
    const char *source, *target;
    const char *scores;           /* an earlier step that scored the same pairs           */
    double min_log_probability;   /* mean per token; needs scores                          */
    double max_ratio;             /* of the words of the longer side to the shorter; 0: any */
    int64_t min_words, max_words; /* of either side; 0: any                              */
    bool duplicates;              /* false: of equal pairs the first one stays             */
    bool copies;                  /* false: no target that equals its source               */
} rgmi_filter_options;

typedef struct rgmi_train_options {
    const char *experiment;    /* a file, or the name of a compiled-in one        */
    const rgm_yaml_node *over; /* keys over it                                    */
    rgm_texts pairs;           /* steps: sets to train on, by the steps' names    */
    bool original;             /* with pairs: the experiment's own training data, too */
    const char *tokenizer;     /* a step or a run folder whose tokenizers it takes */
    rgm_texts teachers;        /* task.distillation.teacher: steps or folders     */
} rgmi_train_options;

/* ---- steps ---- */

typedef struct rgmi_step_type rgmi_step_type;
typedef struct rgmi_step {
    const char *name;
    const rgmi_step_type *type;
    const void *options;
    const rgm_yaml_node *node;
} rgmi_step;

struct rgm_distil {
    rgm_yaml *yaml;
    rgm_arena *arena;
    rgmi_step *steps;
    int64_t count;
};

/** What others can read of a step. */
typedef enum rgmi_product { RGMI_MAKES_PAIRS, RGMI_MAKES_SCORES, RGMI_MAKES_MODEL } rgmi_product;

/** What a step is made from: names and hashes or values, in order. */
typedef struct rgmi_inputs {
    struct rgmi_step_input {
        char *key, *value;
    } * items;
    int64_t count, capacity;
} rgmi_inputs;

/** Numbers of what a step made, in order. */
typedef struct rgmi_step_figures {
    const char *names[16]; /* static texts */
    int64_t values[16];
    int64_t count;
} rgmi_step_figures;

/** The work on one step. */
typedef struct rgmi_step_work {
    const rgm_distil *distil;
    const rgmi_step *step;
    const char *root;              /* the folder of all steps, absolute */
    char *folder;                  /* the step's                        */
    const rgm_distil_hooks *hooks; /* never NULL */
    rgmi_step_figures figures;     /* [out] of run */
} rgmi_step_work;

struct rgmi_step_type {
    rgm_section_type section; /* `type`, its keys */
    rgmi_product product;
    /** The names of its options are those of earlier steps of the right kind. RGM_ERR_CONFIG. */
    rgm_status (*check)(const rgm_distil *distil, const rgmi_step *step);
    /** What can be checked before earlier steps have made anything. NULL: nothing more. */
    rgm_status (*ready)(const rgmi_step_work *work);
    /** All that its result follows from. */
    rgm_status (*list)(rgmi_inputs *inputs, const rgmi_step_work *work);
    /** Go on from what is there. RGM_STOPPED. */
    rgm_status (*run)(rgmi_step_work *work);
};
extern const rgmi_step_type rgmi_translate_step, rgmi_back_translate_step, rgmi_score_step,
    rgmi_filter_step, rgmi_train_step;

/* ---- distil_names.c: names of inputs ---- */

/** The step of a name among those before `step`; NULL: there is none. */
const rgmi_step *rgmi_earlier_step(const rgm_distil *distil, const rgmi_step *step,
                                   const char *name);
/** RGM_ERR_CONFIG with the place of the key: `name` is of no earlier step with that product. NULL
 * is no name. */
rgm_status rgmi_check_step(const rgm_distil *distil, const rgmi_step *step, const char *key,
                           const char *name, rgmi_product product);
/** The same for a name that may also be a file or folder: only a step of another kind is wrong. */
rgm_status rgmi_check_input(const rgm_distil *distil, const rgmi_step *step, const char *key,
                            const char *name, rgmi_product product);
/** RGM_ERR_CONFIG at a key of the step, or at the step where it lacks the key. */
rgm_status rgmi_step_fail(const rgmi_step *step, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** RGM_ERR_CONFIG unless either `pairs` or both files are named. */
rgm_status rgmi_check_pairs(const rgm_distil *distil, const rgmi_step *step, const char *pairs,
                            const char *source, const char *target);

enum { RGMI_SOURCES, RGMI_TARGETS };
extern const char rgmi_scores_file[];
/** The file of a side: of the earlier step of that name, or the name itself. */
rgm_status rgmi_side_path(char **out, const rgmi_step_work *work, const char *name, int side);
/** A file in the folder of a step, by its name. */
rgm_status rgmi_step_path(char **out, const rgmi_step_work *work, const char *step,
                          const char *file);
/** The folder of a model: of the earlier step of that name, or the name itself. */
rgm_status rgmi_model_path(char **out, const rgmi_step_work *work, const char *name);
/** Both sides of the pairs that options name. */
rgm_status rgmi_pairs_load(rgm_corpus **out, const rgmi_step_work *work, const char *pairs,
                           const char *source, const char *target);
/** Save both sides of what the step made. */
rgm_status rgmi_pairs_save(const rgmi_step_work *work, const rgm_text *source,
                           const rgm_text *target);

/* ---- distil_inputs.c ---- */

/** A file that runs and exports keep of their tokenizers, and the key of `data` that names one. */
typedef struct rgmi_tokenizer_file {
    const char *name, *key;
} rgmi_tokenizer_file;
extern const rgmi_tokenizer_file rgmi_tokenizer_files[]; /* ended by a name that is NULL */

void rgmi_inputs_clear(rgmi_inputs *inputs);
/** Copies both. */
rgm_status rgmi_inputs_add(rgmi_inputs *inputs, const char *key, const char *value);
/** A hash of a file's bytes. */
rgm_status rgmi_inputs_add_file(rgmi_inputs *inputs, const char *key, const char *path);
rgm_status rgmi_inputs_add_side(rgmi_inputs *inputs, const rgmi_step_work *work, const char *key,
                                const char *name, int side);
/** Those of `pairs`, or of both files. */
rgm_status rgmi_inputs_add_pairs(rgmi_inputs *inputs, const rgmi_step_work *work, const char *pairs,
                                 const char *source, const char *target);
/** A hash of a model's weights, form and tokenizers, by the folder of its run or export. */
rgm_status rgmi_inputs_add_model(rgmi_inputs *inputs, const rgmi_step_work *work, const char *key,
                                 const char *name);
/** The same of its tokenizers alone. */
rgm_status rgmi_inputs_add_tokenizers(rgmi_inputs *inputs, const rgmi_step_work *work,
                                      const char *key, const char *name);
/** The step's type and keys as the file has them, but for those of `except`, ended by NULL. */
rgm_status rgmi_inputs_add_keys(rgmi_inputs *inputs, const rgmi_step *step,
                                const char *const *except);

/* ---- distil_record.c: step.json ---- */

typedef struct rgmi_step_record {
    bool exists, done;
    rgmi_inputs inputs, outputs; /* outputs: hashes of the files that it wrote */
} rgmi_step_record;
rgm_status rgmi_record_load(rgmi_step_record *out, const rgmi_step_work *work);
void rgmi_record_clear(rgmi_step_record *record);
/** `figures` NULL: the step has only begun. */
rgm_status rgmi_record_save(const rgmi_step_work *work, const rgmi_inputs *inputs,
                            const rgmi_step_figures *figures);
/** Append what differs: "source, search"; nothing where they are the same. Keys that begin with
 * RGMI_GOES_ON only set *goes_on: the step goes on. */
#define RGMI_GOES_ON "goes on with "
rgm_status rgmi_inputs_compare(rgm_text *out, bool *goes_on, const rgmi_inputs *before,
                               const rgmi_inputs *now);
/** Append which files of a done step are gone, and which are others than it wrote. */
rgm_status rgmi_record_check_outputs(rgm_text *gone, rgm_text *other,
                                     const rgmi_step_record *record, const rgmi_step_work *work);

/* ---- distil_shards.c: lines that are made in parts, each of which is there whole or not ---- */

typedef struct rgmi_line_shards {
    int64_t count; /* lines in all     */
    int64_t shard; /* lines of a shard */
    /** Append `count` lines with their ends, from line `from` on. */
    rgm_status (*make)(rgm_text *out, int64_t from, int64_t count, void *payload);
    /** One of them, in order, when all are there. */
    rgm_status (*take)(int64_t number, rgm_str line, void *payload);
    void *payload;
} rgmi_line_shards;
/** Make what is missing and take all. RGM_STOPPED: what was made stays. */
rgm_status rgmi_shards_run(const rgmi_step_work *work, const rgmi_line_shards *shards);
/** Once the step is done. */
rgm_status rgmi_shards_remove(const rgmi_step_work *work);

/* ---- distil_hooks.c ---- */

/** hooks->say, if somebody listens. */
void rgmi_say(const rgmi_step_work *work, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool rgmi_should_stop(const rgmi_step_work *work);

#endif

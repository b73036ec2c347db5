/*
 * registry: trained models under a name, with versions and stages. A version has files, each with
 * its SHA-256, and the metrics that the model had when it was registered. It never changes but for
 * its stage, and may outlive the run that it came from.
 *
 *     <registry>/models/digits/model.json    versions, stages, notes, hashes, metrics
 *     <registry>/models/digits/3/...         the files of version 3, as a run folder has them
 *     <registry>/objects/                    each content once (base_content.h)
 *
 *     rgm_model_register()   files to a new version, whole or not at all
 *     rgm_model_path()       "model:digits@production" to its folder, every file checked
 *
 * A registry is a folder. No program needs to be at work in it; those that change it take turns.
 */
#ifndef REGIMEN_REGISTRY_H
#define REGIMEN_REGISTRY_H

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a reference to a model begins with where a folder could stand as well. */
#define RGM_MODEL_PREFIX "model:"

/** How far a version is. One version of a name at most is in staging, and one in production. */
typedef enum rgm_model_stage {
    RGM_MODEL_NEW,
    RGM_MODEL_STAGING,
    RGM_MODEL_PRODUCTION,
    RGM_MODEL_ARCHIVED
} rgm_model_stage;
extern const char *const rgm_model_stage_names[]; /* "new", "staging", ..., ended by NULL */
/** Find the stage with a name; false: there is none, and *out is unchanged. */
bool rgm_model_stage_find(rgm_model_stage *out, const char *name);

/** A metric as it was when the version was registered. */
typedef struct rgm_model_metric {
    char *name;
    double value;
} rgm_model_metric;

typedef struct rgm_model_file {
    char *name; /* below the version's folder: "ckpt/step-00000108/weights.safetensors" */
    int64_t size;
    char sha256[RGM_SHA256_ROOM];
} rgm_model_file;

typedef struct rgm_model_version {
    int64_t number; /* from 1; one that was removed is not given again */
    rgm_model_stage stage;
    double created;            /* seconds since 1970 */
    char *source;              /* where it came from: "trial 3/5", a folder */
    char *note;                /* "": none */
    rgm_model_metric *metrics; /* [metric_count] */
    int64_t metric_count, metric_capacity;
    rgm_model_file *files; /* [file_count] by name */
    int64_t file_count, file_capacity;
} rgm_model_version;

/** All versions of a name. */
typedef struct rgm_model {
    char *name;
    int64_t next;                /* the number of the next version */
    rgm_model_version *versions; /* [count] by number */
    int64_t count, capacity;
} rgm_model;

/**
 * Where the registry is: `given`; else $REGIMEN_REGISTRY; else the folder "registry" of
 * $REGIMEN_MASTER, or of "experiments".
 *
 * @param out    [out, owned] rgm_free(); an absolute path
 * @param given  [in] NULL: the user says nothing
 *
 * Errors: RGM_ERR_ARG ($REGIMEN_MASTER is no folder, and nothing else is said), RGM_ERR_NOMEM.
 */
rgm_status rgm_registry_place(char **out, const char *given);

/** The names that have versions, sorted; rgm_names_release(). No registry has none. Errors:
 * RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_registry_names(char ***names, int64_t *count, const char *registry);
/**
 * The versions of a name.
 *
 * @param out  [out] rgm_model_clear()
 *
 * Errors: RGM_ERR_NOT_FOUND (with the names that there are), RGM_ERR_FORMAT (model.json is
 * damaged), RGM_ERR_VERSION, RGM_ERR_ARG (no name can be so), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_model_load(rgm_model *out, const char *registry, const char *name);
void rgm_model_clear(rgm_model *model);

/**
 * Take a reference apart and find its version: "NAME:3", "NAME@production", or "NAME": the newest
 * that is not archived; "model:" may stand before it.
 *
 * @param model    [out] all of the name; rgm_model_clear()
 * @param version  [out] of *model
 *
 * Errors: RGM_ERR_ARG (it is no reference), RGM_ERR_NOT_FOUND, those of rgm_model_load().
 */
rgm_status rgm_model_find(rgm_model *model, const rgm_model_version **version, const char *registry,
                          const char *reference);
/**
 * The folder of the version that a reference means, after its files were read and compared with
 * their hashes: none is missing, damaged, or was not registered.
 *
 * @param out  [out, owned] rgm_free(); an absolute path
 *
 * Errors: RGM_ERR_FORMAT (the file that is not as it was), those of rgm_model_find().
 */
rgm_status rgm_model_path(char **out, const char *registry, const char *reference);

/**
 * The files below a folder, "ckpt/weights.bin", sorted: what a draft of all of it has.
 * rgm_names_release(*names, *count).
 *
 * Errors: RGM_ERR_FORMAT (something that is neither a file nor a folder, more than 100,000 files),
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_model_list_files(char ***names, int64_t *count, const char *folder);

/** A file that is to be registered. Texts are borrowed. */
typedef struct rgm_model_source {
    const char *path; /* where it is                   */
    const char *name; /* below the version's folder    */
} rgm_model_source;

/** A version to be. Texts are borrowed. */
typedef struct rgm_model_draft {
    const char *name;   /* 1 to 64 letters, digits, '.', '_', '-'; the first a letter or a digit */
    const char *source; /* for people: where it comes from */
    const char *note;   /* NULL: none */
    const rgm_named_number *metrics; /* [metric_count] */
    int64_t metric_count;
    const rgm_model_source *files; /* [file_count] */
    int64_t file_count;
    /** Look at the copied files before there is a version of them; NULL: nobody does. */
    rgm_status (*check)(const char *folder, void *payload);
    void *payload;
} rgm_model_draft;
/**
 * Copy files into a registry, which is made, as the next version of a name. Whoever is killed in
 * the middle leaves the registry as it was; what is left over goes with the next change.
 *
 * @param number  [out] of the version
 *
 * Errors: RGM_ERR_ARG (a name that cannot be, no files), RGM_ERR_NOT_FOUND (a file is not there),
 * RGM_ERR_BUSY (another program is changing the registry for ten minutes), RGM_ERR_FORMAT,
 * RGM_ERR_IO, RGM_ERR_NOMEM, those of `check`.
 */
rgm_status rgm_model_register(int64_t *number, const char *registry, const rgm_model_draft *draft);
/**
 * Give a version another stage. The one that was in staging or in production until then is
 * archived by the same change.
 *
 * @param replaced  [out] the number of the version that was archived; 0: none
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_BUSY, those of rgm_model_load().
 */
rgm_status rgm_model_set_stage(int64_t *replaced, const char *registry, const char *name,
                               int64_t number, rgm_model_stage stage);
/**
 * Remove a version with its files.
 *
 * Errors: RGM_ERR_BUSY (it is in production, or as above), RGM_ERR_NOT_FOUND, those of
 * rgm_model_load().
 */
rgm_status rgm_model_remove(const char *registry, const char *name, int64_t number);

/* ---- templates ----------------------------------------------------------------------------- */

/**
 * The folder of stored templates: "templates" of `master`; NULL: of $REGIMEN_MASTER, or of
 * "experiments". A template is what an experiment file begins with that says `template: NAME`.
 *
 * @param out  [out, owned] rgm_free()
 *
 * Errors: RGM_ERR_ARG ($REGIMEN_MASTER is no folder), RGM_ERR_NOMEM.
 */
rgm_status rgm_template_folder(char **out, const char *master);
/**
 * The file of a template, "<folder>/NAME.yaml", whether it is there or not.
 * Errors: RGM_ERR_ARG (no template has such a name), those of rgm_template_folder().
 */
rgm_status rgm_template_path(char **out, const char *master, const char *name);

#ifdef __cplusplus
}
#endif
#endif

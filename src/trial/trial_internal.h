/* What the parts of a search file and of a trial share. */
#ifndef RGM_TRIAL_INTERNAL_H
#define RGM_TRIAL_INTERNAL_H

#include <regimen/trial.h>

#define RGMI_MOST_BATCHES ((int64_t)1000000000000000) /* as trainer.train_steps */

/** Sections that others read: they are kept as they stand. */
typedef struct rgmi_search_nodes {
    const rgm_yaml_node *hyperparameters, *constraints, *searcher;
    const rgm_yaml_node *labels, *min_validation_period, *min_checkpoint_period;
} rgmi_search_nodes;

struct rgm_search_file {
    int references;
    char *path, *name, *text;
    rgm_yaml *merged;     /* the whole file */
    rgm_yaml *experiment; /* without the search's sections */
    rgm_arena *arena;
    const rgm_extensions *own;
    rgm_search_settings options;
    rgmi_search_nodes nodes;
    rgm_space *space;
    rgm_length max_length; /* of the searcher; 0 units: it has none */
    char *metric;          /* "valid.accuracy": with the part that it is of */
    bool smaller_is_better;
    rgm_objective objectives[RGM_MAX_OBJECTIVES]; /* metrics in the arena, as `metric` */
    int64_t objective_count;
};

/* faults.c */
/** Mistakes of a file, a line each. */
typedef struct rgmi_faults {
    rgm_text lines;
    int64_t count;
} rgmi_faults;
/** Note a status that is RGM_ERR_CONFIG, with the lines of its message; others are given back. */
rgm_status rgmi_faults_note(rgmi_faults *mistakes, rgm_status status);
/** All of them as one error; RGM_OK when there is none. They are appended to `out` (or NULL). */
rgm_status rgmi_faults_tell(rgm_text *out, rgmi_faults *mistakes);
void rgmi_faults_clear(rgmi_faults *mistakes);

/* search_options.c */
/** Fill options and nodes from the sections of a search; `experiment` is left with the others. */
rgm_status rgmi_search_options_read(rgm_search_file *file, rgmi_faults *mistakes);

/* search_point.c */
/** The document of a point, owned by the caller. */
rgm_status rgmi_search_point(rgm_yaml **out, const rgm_search_file *file,
                             const rgm_hyper_value *values, uint32_t seed);

/* trial.c */
/** RGM_ERR_CONFIG becomes that of a point that cannot be. */
rgm_status rgmi_invalid(rgm_status status);

/* objectives.c */
/** The best weights are chosen by the searcher's metric: what is wrong with it is said of that. */
rgm_status rgmi_of_searcher(rgm_status status, const rgm_search_file *file);
/** RGM_ERR_CONFIG unless validation of an open run gives the searcher's metrics. */
rgm_status rgmi_check_objectives(const rgm_search_file *file, const rgm_open_run *run);

#endif

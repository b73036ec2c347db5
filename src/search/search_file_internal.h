/*
 * What the parts of a search file share.
 */
#ifndef RGM_SEARCH_FILE_INTERNAL_H
#define RGM_SEARCH_FILE_INTERNAL_H

#include "search_internal.h"

#include <regimen/search_file.h>

/** Sections that others read: they are kept as they stand. */
typedef struct rgmi_search_nodes {
    const rgm_yaml_node *hyperparameters, *constraints, *searcher;
    const rgm_yaml_node *labels, *min_validation_period, *min_checkpoint_period;
} rgmi_search_nodes;

/** Why a file is read. */
typedef enum rgmi_reading {
    RGMI_OF_NEW,   /* it is to begin                                                */
    RGMI_OF_KEPT,  /* it was checked when it began, maybe by a version before       */
    RGMI_OF_GLANCE /* the same, and a searcher's row that is not to be had here is done without */
} rgmi_reading;

struct rgm_search_file {
    int references;
    char *path, *name, *text;
    rgm_yaml *merged; /* the whole file */
    rgm_yaml *left;   /* without the search's sections: the subject's */
    rgm_arena *arena;
    bool has_subject;
    rgmi_reading reading;
    rgm_search_subject subject;
    rgm_search_settings options;
    rgmi_search_nodes nodes;
    rgm_space *space;
    rgm_length max_length; /* of the searcher; 0 units: it has none */
    char *metric;          /* "valid.accuracy": with the part that it is of */
    bool smaller_is_better;
    rgm_objective objectives[RGM_MAX_OBJECTIVES]; /* metrics in the arena, as `metric` */
    int64_t objective_count;
    int64_t tried;       /* of searcher.points: they may be outside of the space of today */
    int64_t most_points; /* of them, that would be tried */
};

/* faults.c */
/** Mistakes of a file, a line each: all are counted, the first 1,000 are kept. */
typedef struct rgmi_faults {
    rgm_text lines;
    int64_t count, kept;
} rgmi_faults;
/** Note a status that is RGM_ERR_CONFIG, with the lines of its message; others are given back. */
rgm_status rgmi_faults_note(rgmi_faults *mistakes, rgm_status status);
/** All of them as one error; RGM_OK when there is none. Those that are kept are appended to `out`
 * (or NULL), and how many more there are. */
rgm_status rgmi_faults_tell(rgm_text *out, rgmi_faults *mistakes);
void rgmi_faults_clear(rgmi_faults *mistakes);

/* search_point.c */
/** Whether each slot that is a device can be a process of its trial. Errors: RGM_ERR_CONFIG. */
rgm_status rgmi_search_file_check_devices(const rgm_search_file *file);
/** Note each hyperparameter whose value no trial would have, since the search sets its key. */
rgm_status rgmi_search_file_check_overruled(const rgm_search_file *file, rgmi_faults *mistakes);

/* search_command.c */
/** Note what is wrong with the words of the file's command. */
rgm_status rgmi_search_command_check(const rgm_search_file *file, rgmi_faults *mistakes);

/* search_options.c */
/** Fill options and nodes from the sections of a search; `left` keeps the others. */
rgm_status rgmi_search_options_read(rgm_search_file *file, rgmi_faults *mistakes);

#endif

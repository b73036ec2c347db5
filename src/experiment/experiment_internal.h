/* The parsed experiment: one struct for each section, filled by sections.c, used by prepare.c. */
#ifndef RGM_EXPERIMENT_INTERNAL_H
#define RGM_EXPERIMENT_INTERNAL_H

#include <regimen/experiment.h>

/** Where graphs come from. */
enum { RGMI_DATA_OGB, RGMI_DATA_RECORDS, RGMI_DATA_CITATION, RGMI_DATA_FOLDER };

/** data.sampling: subgraphs around the split's nodes instead of the whole graph. */
typedef struct rgmi_sampling {
    rgm_ints sizes;      /* neighbours drawn at each hop; none: no sampling                   */
    rgm_texts edge_sets; /* one for each hop; none: the only edge set                         */
    int strategy;        /* rgm_sample_strategy                                               */
    int store;           /* 0 records: root-node subgraphs in TFRecords; 1 memory: mini-batches */
    bool resample;       /* memory: other neighbours each epoch                               */
} rgmi_sampling;

typedef struct rgmi_padding_keys {
    int kind; /* rgm_padding_kind */
    rgm_padding padding;
} rgmi_padding_keys;

typedef struct rgmi_data {
    int type;
    const char *path, *split, *node_set, *edge_set;
    bool undirected, relabel;
    double sparse_below;
    /* records */
    const char *schema, *train, *valid, *test;
    bool shuffle_filenames;
    int64_t cycle_length, max_bad_records;
    /* all */
    int64_t batch_size, shuffle_size;
    bool drop_remainder;
    rgm_padding train_padding, valid_padding;
    rgmi_sampling sampling;
    rgm_citation_options citation;
} rgmi_data;

#define RGMI_MAX_HPARAMS 256

struct rgm_experiment {
    char *path, *name, *text;
    rgm_yaml *yaml;
    rgm_arena *arena;

    rgmi_data data;
    rgm_gnn_task tasks[RGM_MAX_HEADS];
    double loss_weights[RGM_MAX_HEADS];
    int64_t task_count;
    const rgm_model_type *model;
    void *model_options;
    rgm_optimizer_options optimizer;
    rgm_trainer_options trainer;
    rgm_runtime_options runtime;
    rgm_exporter exporters[8];
    const char *export_dirs[8];
    int64_t exporter_count;
    rgm_hparam hparams[RGMI_MAX_HPARAMS];
    int64_t hparam_count;

    /* made by prepare */
    rgm_source source;
    rgm_schema *schema;
    rgm_provider *providers[3];
    rgm_sampling_spec *spec;
};

extern const rgm_field rgmi_data_fields[];

/** Fill every section from the document. */
rgm_status rgmi_sections_read(rgm_experiment *experiment);
/** Providers and schema from the data section. */
rgm_status rgmi_data_open(rgm_experiment *experiment, const char *run_dir);

#endif

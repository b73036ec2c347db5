/* The parsed experiment: one struct for each section, filled by sections.c, used by prepare.c. */
#ifndef RGM_EXPERIMENT_INTERNAL_H
#define RGM_EXPERIMENT_INTERNAL_H

#include <regimen/experiment.h>

/** Where graphs come from. */
enum { RGMI_DATA_OGB, RGMI_DATA_RECORDS, RGMI_DATA_CITATION, RGMI_DATA_FOLDER };

#define RGMI_MAX_HOPS 32

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

typedef struct rgmi_graph_data {
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
} rgmi_graph_data;

#define RGMI_MAX_HPARAMS 256

struct rgm_experiment {
    char *path, *name, *text;
    const char *description;
    rgm_yaml *yaml;
    rgm_arena *arena;
    rgm_experiment_value *values;
    int64_t value_count, value_capacity;

    /* a graph network, or ... */
    rgmi_graph_data data;
    rgm_gnn_task tasks[RGM_MAX_HEADS];
    double loss_weights[RGM_MAX_HEADS];
    int64_t task_count;
    const rgm_model_type *model;
    /* ... a task that brings its own data and networks */
    const rgm_task_type *task_type; /* NULL: graph network */
    void *task_options;
    const rgm_network_type *network;

    void *model_options; /* of either */
    rgm_optimizer_options optimizer;
    rgm_trainer_options trainer;
    rgm_runtime_options runtime;
    rgm_exporter exporters[8];
    int64_t exporter_count;
    rgm_hparam hparams[RGMI_MAX_HPARAMS];
    int64_t hparam_count;

    /* made by prepare */
    rgm_graph_data source;
    rgm_schema *schema;
    rgm_provider *providers[3];
    rgm_sampling_spec *spec;
    rgm_task task; /* of task_type */
    bool task_made;
};

extern const rgm_field rgmi_graph_data_fields[];
void rgmi_graph_data_defaults(rgmi_graph_data *data);
/** What can be told without reading anything; `section` is for the place in messages. */
rgm_status rgmi_graph_data_check(const rgmi_graph_data *data, const rgm_yaml_node *section);

/** The layers merged into one document. */
rgm_status rgmi_layers_merge(rgm_yaml **out, const rgm_experiment_layers *layers, rgm_arena *arena);
/** Fill every section from the document. */
rgm_status rgmi_sections_read(rgm_experiment *experiment);
/** List every key with its value. */
rgm_status rgmi_values_collect(rgm_experiment *experiment);
/** Mark the values that have no effect, then hold every restriction against the values. */
rgm_status rgmi_restrictions_check(rgm_experiment *experiment);
/** Providers and schema from the data section of a graph network. */
rgm_status rgmi_graph_data_open(rgm_experiment *experiment, const char *run_dir);

/** Where a node was set: "FILE:line", "--set" or "$REGIMEN_..."; NULL: out of memory. */
const char *rgmi_place(rgm_arena *arena, const rgm_yaml_node *node);
/** A decimal or "inf". */
bool rgmi_number(double *out, const char *text);
/** A node on one line: `3`, `"a b"`, `[1, 2]`, `{type: onnx}`. */
rgm_status rgmi_flow_print(rgm_text *out, const rgm_yaml_node *node);
/** Top-level keys of a file, ended by NULL. */
extern const char *const rgmi_section_names[];

#endif

/*
 * Graph learning as a task: its state, the pipeline from examples to graphs, the model of all tasks
 * on them, and the data section of an experiment file.
 */
#ifndef RGM_GRAPH_TASKS_LEARNING_H
#define RGM_GRAPH_TASKS_LEARNING_H

#include <stdatomic.h>
#include <string.h>

#include <regimen/graph_tasks.h>
#include <regimen/parts_sampling.h>

#include "processors.h"

/* ---- tasks on graphs ----------------------------------------------------------------------- */

struct rgm_graph_task {
    atomic_long references;
    const rgm_graph_task_type *type;
    char *name; /* NULL: it stands alone */
    void *options;
};
/** The options by themselves, then against the data. */
rgm_status rgmi_graph_task_check(const rgm_graph_task *task, const rgm_schema *schema);
/**
 * Whether the task can be asked about a graph, and (`judged`) be trained or judged on it.
 * `together`: see rgm_graph_task_type.check_items. RGM_ERR_DATA.
 */
rgm_status rgmi_graph_task_check_graph(const rgm_graph_task *task, const rgm_graph *graph,
                                       bool together, bool judged);

/** rgm_graph_task_type.item_set, and what NULL means there. */
void rgmi_graph_task_items(rgm_piece *piece, const char **set, const rgm_graph_task *task,
                           const rgm_schema *schema);

/** Where labels stand and which there are. */
typedef struct rgmi_labels {
    const rgm_set_schema *set; /* NULL: there are none */
    const char *feature;
    bool of_roots;     /* those of each component's first item alone */
    bool all_there;    /* a missing one is an error */
    int64_t classes;   /* 0 .. classes - 1; 0: any finite number ... */
    bool not_negative; /* ... that is not below 0 ... */
    double most;       /* ... nor above this, why not `why_most`; 0: any */
    const char *why_most;
} rgmi_labels;
/** Labels of real items that the graph has; RGM_ERR_DATA names the first that there is not. Missing
 * ones are none. */
rgm_status rgmi_check_labels(const rgm_graph *graph, const rgmi_labels *labels);
/** rgm_graph_task_type.count_labels */
rgm_status rgmi_count_labels(rgm_label_counts *counts, const rgm_graph *graph,
                             const rgmi_labels *labels);
/** Add the graph's lists of labels: those of each real component, one an item. */
void rgmi_count_lists(rgm_label_counts *counts, const rgm_graph *graph, const rgmi_labels *labels);
/** labels / (classes * labels of the class), of classes that there are; 1 for one that is not
 * there.
 */
double rgmi_balanced_weight(const rgm_label_counts *counts, int64_t unit, int64_t of);
/** Each real component has one item of a node set, if the graph has the set; else RGM_ERR_DATA. */
rgm_status rgmi_check_one_item(const rgm_graph *graph, const char *set);

/* Where a kind of task reads states and labels; its options begin with an rgm_graph_place, and
 * these take any such options. */

#define RGMI_PLACE_FIELD(member, text)                                                             \
    {                                                                                              \
        .name = #member, .kind = RGM_FIELD_TEXT, .offset = offsetof(rgm_graph_place, member),      \
        .help = (text)                                                                             \
    }
#define RGMI_PLACE_FIELDS                                                                          \
    RGMI_PLACE_FIELD(label, "label feature"),                                                      \
        RGMI_PLACE_FIELD(state, "state feature that is read"),                                     \
        RGMI_PLACE_FIELD(readout_set, "readout node set"),                                         \
        RGMI_PLACE_FIELD(node_set, "whose states are read")
#define RGMI_KEY_FIELD RGMI_PLACE_FIELD(key, "readout key")
#define RGMI_REDUCE_FIELD                                                                          \
    RGMI_PLACE_FIELD(reduce_type, "how node states are pooled: sum, mean, max, ...")
#define RGMI_EDGE_FIELDS                                                                           \
    RGMI_PLACE_FIELD(label, "label feature, of the edge set or of the readout set"),               \
        RGMI_PLACE_FIELD(state, "state feature that is read"),                                     \
        RGMI_PLACE_FIELD(readout_set, "readout node set, if it has the labels"),                   \
        RGMI_PLACE_FIELD(edge_set, "whose edges; default: the only set"),                          \
    {                                                                                              \
        .name = "features", .kind = RGM_FIELD_TEXTS,                                               \
        .offset = offsetof(rgm_graph_place, features),                                             \
        .help = "float features of the edges, beside the states of both ends"                      \
    }
/** The functions of a row of rgm_graph_task_type that say where. */
#define RGMI_NODES                                                                                 \
    .check = rgmi_at_nodes_check, .preprocess = rgmi_at_nodes_preprocess,                          \
    .item_set = rgmi_at_nodes_items, .node = rgmi_at_nodes_node, .label = rgmi_label_of,           \
    .question = rgmi_at_nodes_question, .item_name = rgmi_at_nodes_name
#define RGMI_ROOT                                                                                  \
    .check = rgmi_at_root_check, .check_items = rgmi_at_root_check_items,                          \
    .preprocess = rgmi_at_root_preprocess, .item_set = rgmi_at_root_items,                         \
    .node = rgmi_at_root_node, .label = rgmi_label_of, .question = rgmi_at_root_question,          \
    .item_name = rgmi_at_root_name
#define RGMI_GRAPH                                                                                 \
    .check = rgmi_at_graph_check, .check_items = rgmi_at_graph_check_items,                        \
    .preprocess = rgmi_at_graph_preprocess, .label = rgmi_label_of,                                \
    .item_name = rgmi_at_graph_name

#define RGMI_EDGES                                                                                 \
    .check = rgmi_at_edges_check, .preprocess = rgmi_at_edges_preprocess,                          \
    .item_set = rgmi_at_edges_items, .label = rgmi_label_of, .edge_set = rgmi_at_edges_set,        \
    .pair = rgmi_at_edges_pair, .question = rgmi_at_edges_question

/** A kind's predict, check_labels and count_labels at a place, by its own predict() of states and
 * possible(), which says what labels there can be. */
#define RGMI_FUNCTIONS_AT(where)                                                                   \
    static rgm_status where##_predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,         \
                                      const rgm_graph_views *views, const void *options)           \
    {                                                                                              \
        return predict(outputs, count, scope, rgmi_at_##where##_states(views, options), options);  \
    }                                                                                              \
    static rgm_status where##_check_labels(const rgm_graph *graph, const void *options)            \
    {                                                                                              \
        rgmi_labels labels = possible(rgmi_at_##where##_labels(graph, options), options);          \
                                                                                                   \
        return rgmi_check_labels(graph, &labels);                                                  \
    }                                                                                              \
    static rgm_status where##_count_labels(rgm_label_counts *counts, const rgm_graph *graph,       \
                                           const void *options)                                    \
    {                                                                                              \
        rgmi_labels labels = possible(rgmi_at_##where##_labels(graph, options), options);          \
                                                                                                   \
        return rgmi_count_labels(counts, graph, &labels);                                          \
    }

extern const char *const rgmi_head_names[]; /* of rgm_classification_head */

/** Of kinds that read the states of a set by its name; some pool them. RGM_ERR_CONFIG. */
rgm_status rgmi_check_named_set(const void *options);
const char *rgmi_label_of(const void *options);
/** RGM_ERR_CONFIG: neither the readout set nor `own` (NULL: there is no other place) has the label;
 * tells the nearest feature that they have. */
rgm_status rgmi_no_label(const rgm_graph_place *place, const rgm_schema *schema,
                         const rgm_set_schema *own);

rgm_status rgmi_at_nodes_check(const void *options, const rgm_schema *schema);
rgm_status rgmi_at_nodes_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                    const void *options);
void rgmi_at_nodes_items(rgm_piece *piece, const char **set, const rgm_schema *schema,
                         const void *options);
int64_t rgmi_at_nodes_node(const rgm_graph *graph, int64_t i, const void *options);
bool rgmi_at_nodes_question(rgm_graph_question *out, const rgm_schema *schema, const void *options);
const char *rgmi_at_nodes_name(rgm_str *out, const rgm_graph *graph, int64_t i,
                               const void *options);
rgmi_labels rgmi_at_nodes_labels(const rgm_graph *graph, const void *options);
/** [items, width] behind the GNN. */
rgm_value *rgmi_at_nodes_states(const rgm_graph_views *views, const void *options);

rgm_status rgmi_at_root_check(const void *options, const rgm_schema *schema);
rgm_status rgmi_at_root_check_items(const rgm_graph *graph, bool together, const void *options);
rgm_status rgmi_at_root_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                   const void *options);
void rgmi_at_root_items(rgm_piece *piece, const char **set, const rgm_schema *schema,
                        const void *options);
int64_t rgmi_at_root_node(const rgm_graph *graph, int64_t i, const void *options);
bool rgmi_at_root_question(rgm_graph_question *out, const rgm_schema *schema, const void *options);
const char *rgmi_at_root_name(rgm_str *out, const rgm_graph *graph, int64_t i, const void *options);
rgmi_labels rgmi_at_root_labels(const rgm_graph *graph, const void *options);
rgm_value *rgmi_at_root_states(const rgm_graph_views *views, const void *options);

rgm_status rgmi_at_graph_check(const void *options, const rgm_schema *schema);
rgm_status rgmi_at_graph_check_items(const rgm_graph *graph, bool together, const void *options);
rgm_status rgmi_at_graph_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                    const void *options);
const char *rgmi_at_graph_name(rgm_str *out, const rgm_graph *graph, int64_t i,
                               const void *options);
rgmi_labels rgmi_at_graph_labels(const rgm_graph *graph, const void *options);
rgm_value *rgmi_at_graph_states(const rgm_graph_views *views, const void *options);

rgm_status rgmi_at_edges_check(const void *options, const rgm_schema *schema);
rgm_status rgmi_at_edges_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                    const void *options);
void rgmi_at_edges_items(rgm_piece *piece, const char **set, const rgm_schema *schema,
                         const void *options);
rgmi_labels rgmi_at_edges_labels(const rgm_graph *graph, const void *options);
const char *rgmi_at_edges_set(const void *options);
bool rgmi_at_edges_question(rgm_graph_question *out, const rgm_schema *schema, const void *options);
rgm_value *rgmi_at_edges_states(const rgm_graph_views *views, const void *options);
void rgmi_at_edges_pair(rgm_item_pair *out, const rgm_graph *graph, int64_t i, const void *options);

/** A node that an item is about: by its number in its component, "#id" of sampled graphs (-1: there
 * is none), and by its feature RGM_ITEM_NAME or "name", borrowed. */
typedef struct rgmi_item_end {
    int64_t number;
    rgm_str name;
} rgmi_item_end;
/** The number of a row of a node set in its component, or its "#id". */
int64_t rgmi_node_number(const rgm_graph *graph, const char *node_set, int64_t row);
/** That of place i of `nodes`, rows of the node set. */
rgmi_item_end rgmi_item_end_of(const rgm_graph *graph, const char *node_set,
                               const rgm_tensor *nodes, int64_t i);
/** Text i of a feature, of no bytes where there is none. */
rgm_str rgmi_text_of(const rgm_feature *names, int64_t i);

/** How states become an output's predictions: parameters "<output>/kernel" and "bias", of hidden
 * layers "<output>/hidden_<i>/...". */
typedef struct rgmi_head_options {
    rgm_classification_head head;
    double l2;
    rgm_ints hidden;
} rgmi_head_options;
/** [n, units] of states [n, width]. RGM_ERR_CONFIG: states of another width without a layer, or
 * hidden layers without one. */
rgm_status rgmi_predict_head(rgm_head *output, int64_t *count, rgm_scope *scope, rgm_value *states,
                             int64_t units, const rgmi_head_options *options);

/* ---- pipeline ------------------------------------------------------------------------------ */

/** What the model that is trained is fed of a batch, made by the threads that make batches. */
typedef struct rgmi_feeds_ahead rgmi_feeds_ahead;
rgm_status rgmi_feeds_ahead_create(rgmi_feeds_ahead **out);
void rgmi_feeds_ahead_release(rgmi_feeds_ahead *ahead);
/** The root of a complete model. Its inputs are remembered if it is the first one told, or the
 * first since rgmi_feeds_ahead_forget(). ahead NULL, here and below: nothing is done. */
rgm_status rgmi_feeds_ahead_tell(rgmi_feeds_ahead *ahead, const rgm_graph_value *root);
/** Before another model is built. Waits for threads that make feeds. */
void rgmi_feeds_ahead_forget(rgmi_feeds_ahead *ahead);
/** In any thread: the graph keeps what it will be fed, once that is known. Who feeds it meets what
 * is wrong with it: here nothing is told. */
void rgmi_feeds_ahead_make(rgmi_feeds_ahead *ahead, rgm_graph *graph);

/** What the input pipeline of one mode needs while it runs. */
typedef struct rgmi_pipeline {
    rgm_schema *schema; /* of one example */
    const rgm_graph_processor *processors;
    int64_t processor_count;
    rgm_size_constraints *padding; /* NULL: none                                       */
    bool keeps_misfits;            /* what is larger than the padding stays as it is   */
    bool has_totals;               /* some sizes of the padding were given             */
    rgm_graph_task *const *tasks;  /* whose data they are                              */
    int64_t task_count;
    const rgm_input_options *input;   /* numbers that these say must be finite; NULL: none */
    bool together;                    /* the provider's examples are mini-batches        */
    bool judged;                      /* labels are looked at                            */
    int64_t batch_nodes, batch_edges; /* of a batch at most; 0: no bound              */
    rgmi_feeds_ahead *ahead;          /* of batches that are learned from; NULL: of none */
} rgmi_pipeline;

/** Whether what is judged reaches the model as it comes: no processor is asked then. */
bool rgmi_pipeline_is_plain(const rgmi_pipeline *pipeline);
/** rng: of a batch that is learned from, see rgm_graph_processor_type; NULL: none is. */
rgm_status rgmi_pipeline_process(rgm_graph **out, const rgmi_pipeline *pipeline,
                                 rgm_element *const *examples, int64_t count, const rgm_rng *rng);
/** provider's examples to batches; see graph_tasks.h. threads: parallel maps. */
rgm_status rgmi_pipeline_dataset(rgm_dataset **out, rgmi_pipeline *pipeline,
                                 const rgm_provider *provider, bool training, int64_t batch_size,
                                 bool drop_remainder, bool endless, int threads);
/** Batches of the graphs that *data has, in its place, and what each of them becomes. */
rgm_status rgmi_pipeline_batches(rgm_dataset **data, rgmi_pipeline *pipeline, int64_t batch_size);
rgm_status rgmi_pipeline_batch(rgm_element **out, const rgm_element *batch,
                               const rgmi_pipeline *pipeline);
/** RGM_ERR_DATA: the graph alone is larger than batches may be. */
rgm_status rgmi_pipeline_check_size(const rgmi_pipeline *pipeline, const rgm_graph *graph);
/** schema: behind the processors; key: of the padding, for messages. */
rgm_status rgmi_pipeline_padding(rgmi_pipeline *pipeline, rgm_schema *schema,
                                 const rgm_provider *provider, const rgm_padding *padding,
                                 int64_t batch_size, uint64_t seed, const char *key);

/** What is done with one graph of many. */
typedef rgm_status rgmi_graph_visitor(void *payload, const rgm_graph *graph);
/** Every graph of a provider behind the pipeline's processors; of mini-batches that are cut out of
 * one graph, and nothing to process, that graph. */
rgm_status rgmi_pipeline_visit(const rgmi_pipeline *pipeline, const rgm_provider *provider,
                               rgmi_graph_visitor *visit, void *payload);

/** rgm_learned_features_create() behind the pipeline's processors. */
rgm_status rgmi_features_learn(rgm_learned_features **out, const rgm_input_options *options,
                               const rgm_schema *schema, const rgmi_pipeline *pipeline,
                               const rgm_provider *provider);

/** The chances of what a provider trains on, maybe none: each comes once. */
typedef struct rgmi_draws {
    double *weights; /* [count], its own; NULL: none */
    int64_t count;
} rgmi_draws;
/** rgm_provider_type.draw of `units`. */
rgm_status rgmi_draws_set(rgmi_draws *draws, const double *weights, int64_t count, int64_t units);
/** The recipe of what there is once in the order of training: drawn, or `shuffle`d. */
rgm_status rgmi_draws_order(rgm_dataset **data, const rgmi_draws *draws, bool shuffle);

/** A list of units, and the number that their neighbours are drawn by: with `resample` another one
 * in each epoch. The caller frees *units. */
rgm_status rgmi_units_of(int64_t **units, uint64_t *epoch, const rgm_element *list,
                         const rgm_map_call *call, bool resample);
/** Units [n] i64 in the order of training, or as they are, batch by batch through `function`.
 * payload is the recipe's, also after an error, and freed by rgm_free(). */
rgm_status rgmi_units_dataset(rgm_dataset **out, rgm_tensor *units, const rgmi_draws *draws,
                              const rgm_subgraph_provider_options *options, bool training,
                              rgm_map_function *function, void *payload);

/** The state of a provider of that type; NULL: it is of another, or NULL. */
void *rgmi_provider_state(const rgm_provider *provider, const rgm_provider_type *type);
bool rgmi_provider_is_batched(const rgm_provider *provider);
bool rgmi_provider_is_in_memory(const rgm_provider *provider);
/** How many files of records a provider has now; 0: it is none of files, or NULL. */
rgm_status rgmi_provider_file_count(int64_t *count, const rgm_provider *provider);
/** The one graph of data that are split by nodes, with a readout of some nodes and their label
 * (NULL: none), which then is on them alone. */
rgm_status rgmi_asked_graph(rgm_graph **out, const rgm_graph_data *data, rgm_tensor *nodes,
                            const char *label);
/** rgm_provider_type.whole; *out is NULL where there is none. */
rgm_status rgmi_provider_whole(rgm_graph **out, const rgm_provider *provider);

/* ---- data section -------------------------------------------------------------------------- */

/** Where graphs come from: data.type. */
typedef enum rgmi_data_type {
    RGMI_DATA_OGB,
    RGMI_DATA_RECORDS,
    RGMI_DATA_CITATION,
    RGMI_DATA_FOLDER,
    RGMI_DATA_EVENTS,
    RGMI_DATA_TRIPLES,
    RGMI_DATA_PARTS
} rgmi_data_type;

/** data.sampling.store */
typedef enum rgmi_sample_store {
    RGMI_STORE_RECORDS, /* root-node subgraphs in TFRecords, made once */
    RGMI_STORE_MEMORY   /* mini-batches on the fly                     */
} rgmi_sample_store;

/** data.balance: how often examples are trained on. */
typedef enum rgmi_balance {
    RGMI_BALANCE_NONE,   /* each once an epoch                       */
    RGMI_BALANCE_CLASSES /* drawn, each class as likely as another   */
} rgmi_balance;

#define RGMI_MAX_HOPS 32

/** data.sampling.type */
typedef enum rgmi_sampling_type {
    RGMI_SAMPLING_TREE,
    RGMI_SAMPLING_RANDOM_WALK,
    RGMI_SAMPLING_CLUSTER,
    RGMI_SAMPLING_SAINT,
    RGMI_SAMPLING_SHADOW
} rgmi_sampling_type;

/** data.sampling: subgraphs around the split's nodes instead of the whole graph. */
typedef struct rgmi_sampling {
    rgmi_sampling_type type;
    rgm_random_walk_options random_walk;
    rgm_cluster_options cluster;
    rgm_saint_options saint;
    rgm_shadow_options shadow;
    /* tree */
    rgm_ints sizes;      /* neighbours drawn at each hop; none: no sampling  */
    rgm_texts edge_sets; /* one for each hop; none: the only edge set        */
    const char *spec;    /* file or text of a SamplingSpec in their place    */
    rgm_sample_strategy strategy;
    const char *weight_feature_name, *time_feature_name, *seed_time_feature_name;
    bool up_to_seed;
    rgm_texts always_there; /* edge sets without times                          */
    rgmi_sample_store store;
    bool resample;           /* memory: other neighbours each epoch              */
    bool once;               /* a node's edges are drawn at the first hop to it  */
    rgm_receivers receivers; /* where the model hears: no key, rgmi_sampling_hear() fills it in */
} rgmi_sampling;

/** data.edge_split: which edges of one graph each part is judged on. */
typedef struct rgmi_edge_split {
    double valid, test;  /* shares                                            */
    const char *feature; /* or a feature: 0 train, 1 valid, 2 test; else none */
    int64_t seed;
} rgmi_edge_split;
static inline bool rgmi_splits_edges(const rgmi_edge_split *split)
{
    return split->valid > 0 || split->test > 0 || split->feature != NULL;
}

/** `data:` of graph learning. */
typedef struct rgmi_data_options {
    rgmi_data_type type;
    const char *path, *split, *node_set, *edge_set;
    bool undirected, relabel;
    double sparse_below;
    /* records */
    const char *schema;
    rgm_texts train, valid, test;
    rgm_lists train_sets, valid_sets, test_sets;
    rgm_numbers weights; /* of train and train_sets */
    bool shuffle_filenames;
    int64_t cycle_length, max_bad_records;
    /* all */
    int64_t batch_size, batch_nodes, batch_edges, shuffle_size;
    bool drop_remainder;
    rgmi_balance balance;
    rgm_sections processors;
    rgm_padding train_padding, valid_padding;
    rgmi_sampling sampling;
    rgmi_edge_split edge_split;
    rgm_citation_options citation;
    rgm_events_options events;
    rgm_link_options links; /* of link_prediction */
} rgmi_data_options;

extern const rgm_section_type rgmi_graph_data_section;
extern const rgm_effect rgmi_graph_effects[];
extern const rgm_rule rgmi_graph_rules[];

extern const char *const rgmi_sampling_type_names[];
extern const rgm_field rgmi_random_walk_fields[], rgmi_cluster_fields[], rgmi_saint_fields[],
    rgmi_shadow_fields[];
/** What types other than tree cannot have; RGM_ERR_CONFIG. */
rgm_status rgmi_samplers_check(const rgmi_sampling *sampling);
/** Whether mini-batches are sampled out of one graph. */
bool rgmi_is_sampled(const rgmi_sampling *sampling);

/** What data sections are opened to. */
typedef struct rgmi_graph_inputs {
    rgm_graph_data data;
    rgm_schema *schema; /* of records; NULL: the providers know it */
    rgm_provider *providers[3];
    rgm_graph_eval_set sets[RGM_MAX_EVAL_SETS]; /* names are the section's */
    int64_t set_count;
    rgm_sampling_spec *spec;
    rgm_text mix;         /* shares of training sources, for people; empty: one */
    rgm_text balance;     /* how classes are drawn, for people; empty: they are not */
    rgm_text folds;       /* which fold the split is, for people; empty: none */
    const char *edge_set; /* whose edges are split, data.schema's; NULL: none */
    int64_t edges[3];     /* of each part, behind the processors              */
    uint8_t *edge_parts;  /* [edge_count] rgm_mode, or another number: no part */
    int64_t edge_count;
    rgm_text entities, relations; /* of triples: names, a line each */
    rgm_comm *comm;               /* of data.type parts, and which ... */
    rgm_parts *parts;
    rgm_part *part; /* ... is this rank's; NULL: the graph is whole */
    bool connected;
    rgm_part_sampler *sampler;     /* of batches across parts; NULL: they are not sampled */
    rgm_part_sampler_counts probe; /* what a first batch of so many seeds cost */
    int64_t probed;
} rgmi_graph_inputs;
/** Providers of one graph whose labels of an edge set are there for a part's edges alone. */
rgm_status rgmi_edge_providers(rgmi_graph_inputs *inputs, const rgm_task_setup *setup);
/** Parts of the edges that the processors leave and make, in their order, for those of the data:
 * they go through them as labels do. Nothing where edges are not split. */
rgm_status rgmi_edge_parts_process(rgmi_graph_inputs *inputs, const rgm_task_part *task,
                                   const rgm_graph_processor *processors, int64_t count);
/** The name of the split that setup->folds asks for; *split is NULL for the only one. */
rgm_status rgmi_graph_folds_split(char **split, const rgm_task_setup *setup);
/** The split of what was loaded as that fold, by the tasks' labels; told in in->folds. */
rgm_status rgmi_graph_folds_make(rgmi_graph_inputs *in, const rgm_task_setup *setup);
/** Providers and schema from a data section; what was made before an error is there too. */
rgm_status rgmi_graph_inputs_open(rgmi_graph_inputs *inputs, const rgm_task_setup *setup);
/** Let the training provider draw by classes of the first task's label; told in in->balance. */
rgm_status rgmi_graph_inputs_balance(rgmi_graph_inputs *inputs, const rgm_task_setup *setup);
void rgmi_graph_inputs_clear(rgmi_graph_inputs *inputs);
extern const char *const rgmi_end_names[]; /* by rgm_tag, ended by NULL */
/** What data.sampling takes from the model: its `receiver`. */
void rgmi_sampling_hear(const rgm_task_setup *setup);
/** What data.sampling of type tree follows from nodes of the set, in->data.schema's: in->spec. Told
 * where the model does not hear what is drawn. */
rgm_status rgmi_sampling_spec(rgmi_graph_inputs *inputs, const rgmi_data_options *data,
                              const char *node_set);
/** "  sampling: ..." and "  batch_size: ..." for rgm_task.save_serving; nothing where nothing is
 * sampled. spec: that of the run, NULL: none. */
rgm_status rgmi_sampling_print(rgm_text *out, const rgmi_data_options *data,
                               const rgm_sampling_spec *spec);
/** Whether the type validates and predicts on the whole graph, not on draws. */
bool rgmi_sampling_judges_whole(const rgmi_sampling *sampling);
/** A provider of types other than tree for what is predicted, without labels: draws, or the whole
 * graph. */
rgm_status rgmi_sampler_asked_provider(rgm_provider **out, const rgm_subgraph_source *from,
                                       const rgmi_data_options *data, int threads);
/** Providers of types other than tree; `label` goes with the nodes that are asked about. */
rgm_status rgmi_samplers_open(rgmi_graph_inputs *inputs, const rgm_task_setup *setup,
                              const char *label);

/* ---- the task ------------------------------------------------------------------------------ */

/** A rgm_graph_eval_set of a run. */
typedef struct rgmi_graph_eval_data {
    char *name;
    rgm_mode mode;
    rgm_provider *provider;
    rgmi_pipeline pipeline; /* with padding of its own */
} rgmi_graph_eval_data;

/** Of the last data that a user named; see new_graphs.h. */
typedef struct rgmi_new_graphs rgmi_new_graphs;

typedef struct rgmi_learning {
    rgm_provider *providers[3]; /* by rgm_mode */
    rgmi_pipeline pipelines[3], unpadded[3];
    rgmi_graph_eval_data sets[RGM_MAX_EVAL_SETS];
    int64_t set_count;
    rgm_schema *schema, *processed_schema;
    rgm_graph_processor *processors;
    int64_t processor_count;
    rgmi_processed *processed; /* [processor_count] */
    rgm_sections sections;     /* those of an experiment file are exported; none: a program's */
    rgmi_pipeline asked;       /* of graphs as they come: predictions of files, preprocessing */
    rgm_graph_task *tasks[RGM_MAX_HEADS];
    double loss_weights[RGM_MAX_HEADS];
    bool learns_weight[RGM_MAX_HEADS]; /* by task */
    int64_t task_count;
    rgm_label_counts counts[3][RGM_MAX_HEADS]; /* by rgm_mode and task ... */
    bool counted[3];                           /* ... of parts in memory   */
    rgm_model_fn *model_fn;
    void *model_payload;
    rgm_input_options *input; /* in model_payload; NULL: nothing is learned of features */
    rgm_learned_features *learned;
    int64_t batch_size;
    bool drop_remainder;
    bool told_zeros; /* that all outputs are 0 */
    bool serves;     /* it is asked for predictions alone, and needs no data of its own */
    int threads;

    rgm_graph_value *root;
    rgmi_feeds_ahead *ahead;        /* of root; NULL: nothing is trained */
    const rgm_graph_value *base;    /* behind the GNN, of task 0 */
    int64_t task_of[RGM_MAX_HEADS]; /* by head */
    rgmi_graph_inputs inputs;       /* of an experiment file */
    const rgmi_data_options *data;  /* of one, or of an export; NULL: a program's run       */
    rgm_text schema_text;           /* schema.pbtxt of run folders and exports; empty: none */
    rgmi_new_graphs *new_graphs;    /* NULL: none were named yet                            */
    rgm_tensor **lent;              /* [lent_count] features that a device takes rows of: see
                                       data_device.c */
    int64_t lent_count, lent_capacity;
    rgm_text placed;                     /* what the plan says of them */
    rgm_head whole_heads[RGM_MAX_HEADS]; /* of a model over parts: as it was written */
} rgmi_learning;

/** rgm_task.place */
rgm_status rgmi_learning_place(void *state, rgm_device *device, size_t most);
/** No device has anything of the data any more. */
void rgmi_learning_take_back(rgmi_learning *learning);

/* data_parts.c: data.type parts */
bool rgmi_provider_is_part(const rgm_provider *provider);
/** Comm, part, data and providers of this rank. Errors: RGM_ERR_CONFIG (a key that does not go with
 * parts, more ranks than parts), those of rgm_part_open_for(). */
rgm_status rgmi_parts_open(rgmi_graph_inputs *in, const rgm_task_setup *setup, const char *label);
void rgmi_parts_close(rgmi_graph_inputs *in);
/** RGM_ERR_UNSUPPORTED: a task that looks at all labels. */
rgm_status rgmi_parts_check(const rgmi_learning *learning);

/* data_parts_sampling.c: mini-batches of a graph in parts */
bool rgmi_provider_is_sampled_part(const rgm_provider *provider);
/** Sampler and providers of data that are open. Errors: RGM_ERR_CONFIG (a key that does not go with
 * it), those of rgm_part_sampler_open(). */
rgm_status rgmi_sampled_parts_open(rgmi_graph_inputs *in, const rgm_task_setup *setup,
                                   const char *label);
/** RGM_ERR_CONFIG: what of data.sampling does not go with parts. */
rgm_status rgmi_sampled_parts_check(const rgmi_data_options *data);
/** Visit this part as a graph that is asked about the provider's nodes that are its own. */
rgm_status rgmi_part_visit(const rgm_provider *provider, rgmi_graph_visitor *visit, void *payload);
/** The same, of a provider of sampled batches. */
rgm_status rgmi_sampled_part_visit(const rgm_provider *provider, rgmi_graph_visitor *visit,
                                   void *payload);
/** A map function: a batch of seeds remembers the pipeline, its payload, that it will go through.
 */
rgm_map_function rgmi_sampled_part_batch;
/** The line sampling of the plan. */
rgm_status rgmi_sampled_parts_describe(rgm_text *out, const rgmi_graph_inputs *in);

/* data_parts_complete.c: what ranks do together for these batches */
/** Before the first recipe and the model, where batches are sampled across parts: seeds, labels and
 * costs that all ranks have together. Collective: every rank calls it. */
rgm_status rgmi_sampled_parts_connect(rgmi_learning *learning);
/** rgm_task.complete: seeds become the graphs around them. */
rgm_status rgmi_sampled_parts_complete(rgm_element **batches, int64_t count, void *state);

/** Once: part and ranks meet, and labels are counted over all parts, which are not sampled. */
rgm_status rgmi_parts_connect(rgmi_learning *learning);
/** The model with the rows that each rank has of others; exports keep it as it was written.
 * Collective: every rank calls it. */
rgm_status rgmi_parts_model(rgm_task_model *model, rgmi_learning *learning, rgm_scope *scope);
/** The lines items and parts of the plan. */
rgm_status rgmi_parts_describe(rgm_text *out, const rgmi_learning *learning);

/** A head's loss times a weight that is a parameter, with what keeps it from being 0. */
void rgmi_learn_loss_weight(rgm_head *head, rgm_scope *scope);
/** rgm_task.build_metrics and process_metrics: learned weights. */
rgm_status rgmi_loss_weight_metrics(rgm_task_metric *out, int64_t *count,
                                    const rgm_task_model *model, bool training, void *state);
void rgmi_loss_weight_process(double *const *states, const rgm_task_metric *metrics, int64_t count,
                              const rgm_step *step, void *state);
/** Count the labels of parts that are in memory, and of the training part where a task needs it. */
rgm_status rgmi_learning_count_labels(rgmi_learning *learning);
/** The labels of a graph in parts, counted by each rank and added up. Collective. */
rgm_status rgmi_learning_count_parts(rgmi_learning *learning);
/** Whether each label of a task is known to be there. */
bool rgmi_learning_is_complete(const rgmi_learning *learning, int64_t task);
/** Whether a part that was counted has labels at all, and not -1 in the place of 0, and what a
 * ranking learns from an order: RGM_ERR_DATA. */
rgm_status rgmi_learning_check_counts(const rgmi_learning *learning, rgm_mode mode);
/** A task's label where it stands; a feature of that name that the model can see is none. */
bool rgmi_learning_is_label(const rgmi_learning *learning, const rgm_set_schema *set,
                            const char *feature);
/** rgm_task.check_data */
rgm_status rgmi_learning_check_data(void *state, rgm_mode mode);
/** Numbers that the model reads as they are, behind all processors, are there and finite, else
 * RGM_ERR_DATA; encoders look at theirs. */
rgm_status rgmi_learning_check_numbers(const rgmi_learning *learning, const rgm_graph *graph);
/** rgm_task.build_model */
rgm_status rgmi_learning_build_model(rgm_task_model *out, rgm_scope *scope, void *state);
/** rgm_task.build_file_inputs */
rgm_status rgmi_new_graphs_dataset(rgm_dataset **out, rgmi_learning *learning,
                                   const rgm_new_data *files);
/** rgm_task.describe_files */
rgm_status rgmi_new_graphs_describe(rgm_text *out, void *state);
void rgmi_new_graphs_release(rgmi_new_graphs *graphs);
/** rgm_graph_task_type.question of task k, of the run's schema. */
bool rgmi_question_of(rgm_graph_question *out, const rgmi_learning *learning, int64_t k);

#define RGMI_SCHEMA_FILE "schema.pbtxt"
/** Fill in schema_text: what graphs are before they are processed, without files' names. */
rgm_status rgmi_learning_print_schema(rgmi_learning *learning);
/** rgm_task.save_serving: the schema. */
rgm_status rgmi_learning_save_serving(rgm_text *data, const char *folder, void *state);
/** rgm_task.example_items */
rgm_status rgmi_learning_example_items(int64_t *items, void *state, rgm_element *batch,
                                       int64_t head, const rgm_str *examples, int64_t count);
/** rgm_task.example_kind */
rgm_feature_kind rgmi_learning_example_kind(const char *key, void *state);
/** rgm_task.example_batch */
rgm_status rgmi_learning_example_batch(rgm_element **out, void *state, const rgm_str *examples,
                                       int64_t count);
/** What was learned of features, from where it was saved; *out is NULL where nothing was. */
rgm_status rgmi_learning_load_features(rgm_learned_features **out, const char *folder);
/** What triples call entities and relations, from there; nothing where they are none. */
rgm_status rgmi_learning_load_names(rgmi_learning *learning, const char *folder);
#define RGMI_ENTITIES_FILE  "entities.txt"
#define RGMI_RELATIONS_FILE "relations.txt"
/** Line i of names, a line each; of no bytes behind the last one. *rest: NULL at first. */
bool rgmi_next_name(rgm_str *out, const char **rest, const rgm_text *names);
/** A learning's schema from where it was saved. */
rgm_status rgmi_learning_load_schema(rgm_schema **out, const char *folder);
/** rgm_task.plan */
rgm_status rgmi_learning_plan(rgm_text *out, void *state);

#endif

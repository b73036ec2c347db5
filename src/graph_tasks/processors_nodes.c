/*
 * Processors of nodes: dropped, shuffled, a virtual one, and features of where a node stands.
 */
#include "processors.h"

/* A node set and what is drawn of it. */
typedef struct node_options {
    const char *node_set, *feature, *name;
    double rate;
    bool keep_first;
} node_options;

static void node_defaults(void *options)
{
    *(node_options *)options =
        (node_options){.rate = 0.1, .keep_first = true, .name = "virtual_node"};
}

#define RGM_OPTIONS node_options
#define NODE_SET    RGM_TEXT_FIELD(node_set, "which; default: the only one")
#define KEEP_FIRST                                                                                 \
    RGM_BOOL_FIELD(keep_first, "the first node of each component stays where it is: tasks on "     \
                               "roots ask about it")
static const rgm_field drop_fields[] = {
    NODE_SET, RGM_FLOAT_FIELD(rate, 0, 1, "how probably each node goes"), KEEP_FIRST, {0}};
static const rgm_field order_fields[] = {NODE_SET, KEEP_FIRST, {0}};
static const rgm_field shuffle_fields[] = {
    NODE_SET, RGM_TEXT_FIELD(feature, "the only one that is shuffled; default: all"), {0}};
static const rgm_field complete_fields[] = {NODE_SET, {0}};
static const rgm_field virtual_fields[] = {
    NODE_SET,
    RGM_TEXT_FIELD(name, "of its node set; edge sets are <node_set>_to_<name> and back"),
    {0}};
#undef RGM_OPTIONS

static rgm_status drop_nodes(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    const node_options *o = options;
    const char *set;

    RGM_TRY(rgmi_processed_set(&set, graph, RGM_NODE_SET, o->node_set));
    return rgm_graph_drop_nodes(out, graph, set, o->rate, o->keep_first, rng);
}

const rgm_graph_processor_type rgmi_drop_nodes_processor = {
    .section = {.name = "drop_nodes",
                .help = "in training, other nodes go in each epoch, with their edges; those that a "
                        "readout reads stay",
                .options_size = sizeof(node_options),
                .defaults = node_defaults,
                .fields = drop_fields},
    .training_only = true,
    .process = drop_nodes,
};

static rgm_status shuffle_nodes(rgm_graph **out, rgm_graph *graph, const void *options,
                                const rgm_rng *rng)
{
    const node_options *o = options;
    const char *set;

    RGM_TRY(rgmi_processed_set(&set, graph, RGM_NODE_SET, o->node_set));
    return rgm_graph_shuffle_nodes(out, graph, set, o->keep_first, rng);
}

const rgm_graph_processor_type rgmi_shuffle_nodes_processor = {
    .section = {.name = "shuffle_nodes",
                .help = "in training, nodes in another order in each epoch; it is the same graph",
                .options_size = sizeof(node_options),
                .defaults = node_defaults,
                .fields = order_fields},
    .training_only = true,
    .process = shuffle_nodes,
};

bool rgmi_moves_nodes(const char **node_set, const rgm_graph_processor *processor)
{
    if (processor->type != &rgmi_drop_nodes_processor &&
        processor->type != &rgmi_shuffle_nodes_processor)
        return false;
    *node_set = ((const node_options *)processor->options)->node_set;
    return true;
}

static rgm_status shuffle_features(rgm_graph **out, rgm_graph *graph, const void *options,
                                   const rgm_rng *rng)
{
    const node_options *o = options;
    const char *set;

    RGM_TRY(rgmi_processed_set(&set, graph, RGM_NODE_SET, o->node_set));
    return rgm_graph_shuffle_features(out, graph, RGM_NODE_SET, set, o->feature, rng);
}

const rgm_graph_processor_type rgmi_shuffle_features_processor = {
    .section = {.name = "shuffle_features",
                .help = "in training, nodes have the features of others, of the whole batch",
                .options_size = sizeof(node_options),
                .defaults = node_defaults,
                .fields = shuffle_fields},
    .training_only = true,
    .process = shuffle_features,
};

static rgm_status virtual_node(rgm_graph **out, rgm_graph *graph, const void *options,
                               const rgm_rng *rng)
{
    const node_options *o = options;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_NODE_SET, o->node_set));
    return rgm_graph_add_virtual_node(out, graph, set, o->name);
}

const rgm_graph_processor_type rgmi_virtual_node_processor = {
    .section = {.name = "virtual_node",
                .help = "a node in each component that hears all others and is heard by them",
                .options_size = sizeof(node_options),
                .defaults = node_defaults,
                .fields = virtual_fields},
    .process = virtual_node,
};

static rgm_status complete(rgm_graph **out, rgm_graph *graph, const void *options,
                           const rgm_rng *rng)
{
    const node_options *o = options;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_NODE_SET, o->node_set));
    return rgm_graph_add_complete(out, graph, set, NULL);
}

const rgm_graph_processor_type rgmi_complete_processor = {
    .section = {.name = "complete",
                .help = "an edge set of all pairs of a component's nodes, which the model gps "
                        "attends over; the square of the nodes",
                .options_size = sizeof(node_options),
                .fields = complete_fields},
    .process = complete,
};

/* ---- where a node stands -------------------------------------------------------------------- */

typedef enum degree_end { AT_SOURCE, AT_TARGET } degree_end;
static const char *const end_names[] = {"source", "target", NULL};

typedef struct place_options {
    const char *edge_set, *node_set, *feature;
    int64_t steps, count, most;
    degree_end end;
} place_options;

#define RGM_OPTIONS place_options
#define EDGE_SET    RGM_TEXT_FIELD(edge_set, "along which; default: the only one")
#define FEATURE     RGM_TEXT_FIELD(feature, "its name")
static const rgm_field degree_fields[] = {
    EDGE_SET,
    RGM_CHOICE_FIELD(end, end_names, "of the node set at that end of the edges"),
    RGM_INT_FIELD(most, 0, 1e15, "more are counted as that many; 0: all are counted"),
    FEATURE,
    {0}};
static const rgm_field walk_fields[] = {
    EDGE_SET, RGM_INT_FIELD(steps, 1, 4096, "how many there are at most"), FEATURE, {0}};
static const rgm_field laplacian_fields[] = {
    EDGE_SET,
    RGM_INT_FIELD(count, 1, 4096, "eigenvectors; what a component has not is 0"),
    FEATURE,
    {0}};
static const rgm_field sign_fields[] = {
    RGM_TEXT_FIELD(node_set, "which; default: the only one"), FEATURE, {0}};
#undef RGM_OPTIONS

/* A feature of the nodes at an end of an edge set, which takes `value`. */
static rgm_status with_places(rgm_graph **out, rgm_graph *graph, const char *edge_set, rgm_tag end,
                              const char *name, rgm_tensor *value)
{
    const rgm_set_schema *set = rgm_schema_find(rgm_graph_schema(graph), RGM_EDGE_SET, edge_set);
    rgm_feature feature = {.values = value};
    rgm_status status = rgm_graph_with_feature(
        out, graph, RGM_NODE_SET, end == RGM_SOURCE ? set->source : set->target, name, &feature);

    rgm_tensor_release(value);
    return status;
}

static void degree_defaults(void *options)
{
    *(place_options *)options = (place_options){.end = AT_TARGET, .feature = "degree"};
}

static rgm_status degree(rgm_graph **out, rgm_graph *graph, const void *options, const rgm_rng *rng)
{
    const place_options *o = options;
    rgm_tag end = o->end == AT_SOURCE ? RGM_SOURCE : RGM_TARGET;
    rgm_tensor *value;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    RGM_TRY(rgm_graph_node_degree(&value, graph, set, end));
    for (int64_t i = 0; o->most > 0 && i < rgm_tensor_count(value); i++)
        if (rgm_tensor_i64(value)[i] > o->most)
            rgm_tensor_i64(value)[i] = o->most;
    return with_places(out, graph, set, end, o->feature, value);
}

const rgm_graph_processor_type rgmi_degree_processor = {
    .section = {.name = "degree",
                .help = "an integer feature: how many edges each node has (model.input.one_hot, "
                        "embeddings or numbers read it)",
                .options_size = sizeof(place_options),
                .defaults = degree_defaults,
                .fields = degree_fields},
    .process = degree,
};

static void walk_defaults(void *options)
{
    *(place_options *)options = (place_options){.steps = 16, .feature = "random_walk"};
}

static rgm_status random_walk(rgm_graph **out, rgm_graph *graph, const void *options,
                              const rgm_rng *rng)
{
    const place_options *o = options;
    rgm_tensor *value;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    RGM_TRY(rgm_graph_random_walk(&value, graph, set, o->steps));
    return with_places(out, graph, set, RGM_SOURCE, o->feature, value);
}

const rgm_graph_processor_type rgmi_random_walk_processor = {
    .section = {.name = "random_walk",
                .help = "a feature of each node: how probably a random walk is back after 1, 2, "
                        "... steps",
                .options_size = sizeof(place_options),
                .defaults = walk_defaults,
                .fields = walk_fields},
    .process = random_walk,
};

static void laplacian_defaults(void *options)
{
    *(place_options *)options = (place_options){.count = 8, .feature = "laplacian"};
}

static rgm_status laplacian(rgm_graph **out, rgm_graph *graph, const void *options,
                            const rgm_rng *rng)
{
    const place_options *o = options;
    rgm_tensor *value;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    RGM_TRY(rgm_graph_laplacian(&value, graph, set, o->count));
    return with_places(out, graph, set, RGM_SOURCE, o->feature, value);
}

const rgm_graph_processor_type rgmi_laplacian_processor = {
    .section = {.name = "laplacian",
                .help = "a feature of each node: the smoothest eigenvectors of its component's "
                        "normalised Laplacian",
                .options_size = sizeof(place_options),
                .defaults = laplacian_defaults,
                .fields = laplacian_fields},
    .process = laplacian,
};

static rgm_status random_signs(rgm_graph **out, rgm_graph *graph, const void *options,
                               const rgm_rng *rng)
{
    const place_options *o = options;
    const char *set;

    RGM_TRY(rgmi_processed_set(&set, graph, RGM_NODE_SET, o->node_set));
    return rgm_graph_flip_signs(out, graph, set, o->feature, rng);
}

const rgm_graph_processor_type rgmi_random_signs_processor = {
    .section = {.name = "random_signs",
                .help = "in training, each of a feature's numbers by a sign that is drawn for each "
                        "component in each epoch: eigenvectors have none",
                .options_size = sizeof(place_options),
                .defaults = laplacian_defaults,
                .fields = sign_fields},
    .training_only = true,
    .process = random_signs,
};

/*
 * Processors that make readouts: labels taken from where a model would see them. What is predicted
 * need not have them.
 */
#include "processors.h"

typedef struct readout_options {
    const char *readout_set, *key, *node_set, *feature, *name;
    bool keep;
} readout_options;

static void readout_defaults(void *options)
{
    *(readout_options *)options = (readout_options){.readout_set = RGM_READOUT, .key = "seed"};
}

static rgm_status check_feature(const void *options)
{
    return ((const readout_options *)options)->feature != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "feature is missing: which one is moved to the readout");
}

#define RGM_OPTIONS readout_options
#define READOUT_SET RGM_TEXT_FIELD(readout_set, "the readout node set")
#define KEY         RGM_TEXT_FIELD(key, "of its edge sets")
#define MOVED                                                                                      \
    RGM_TEXT_FIELD(feature, "required"),                                                           \
        RGM_TEXT_FIELD(name, "what it is called there; default: "                                  \
                             "the same"),                                                          \
        RGM_BOOL_FIELD(keep, "it stays where it was too")
static const rgm_field first_fields[] = {
    RGM_TEXT_FIELD(node_set, "whose; default: the only one"), KEY, READOUT_SET, {0}};
static const rgm_field feature_fields[] = {MOVED, KEY, READOUT_SET, {0}};
static const rgm_field context_fields[] = {MOVED, READOUT_SET, {0}};
#undef RGM_OPTIONS

static rgm_status first_node(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    const readout_options *o = options;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_NODE_SET, o->node_set));
    return rgm_graph_readout_from_first_node(out, graph, o->key, set, o->readout_set);
}

const rgm_graph_processor_type rgmi_first_node_readout_processor = {
    .section = {.name = "first_node_readout",
                .help = "a readout of the first node of each component",
                .options_size = sizeof(readout_options),
                .defaults = readout_defaults,
                .fields = first_fields},
    .process = first_node,
};

/* Whether a set that the readout reads lacks what its schema has: what is predicted has no label.
 */
static bool is_unlabelled(const rgm_graph *graph, const char *feature)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    bool declared = false;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_NODE_SET || rgm_set_feature(set, feature) == NULL)
            continue;
        if (rgm_graph_feature(graph, RGM_NODE_SET, set->name, feature) != NULL)
            return false;
        declared = true;
    }
    return declared;
}

static rgm_status readout_feature(rgm_graph **out, rgm_graph *graph, const void *options,
                                  const rgm_rng *rng)
{
    const readout_options *o = options;

    (void)rng;
    if (is_unlabelled(graph, o->feature)) {
        *out = rgm_graph_retain(graph);
        return RGM_OK;
    }
    return rgm_graph_readout_into_feature(out, graph, o->key, o->feature, o->name, !o->keep, false,
                                          o->readout_set);
}

const rgm_graph_processor_type rgmi_readout_feature_processor = {
    .section = {.name = "readout_feature",
                .help = "a feature of what a readout reads moved to the readout",
                .options_size = sizeof(readout_options),
                .defaults = readout_defaults,
                .fields = feature_fields,
                .check = check_feature},
    .process = readout_feature,
};

/* Zeros where a label would be, which go again: the readout set is there without it. */
static rgm_status without_label(rgm_graph **out, rgm_graph *graph,
                                const rgm_feature_schema *feature, const readout_options *o)
{
    const char *name = o->name != NULL ? o->name : o->feature;
    rgm_status status = RGM_OK;
    rgm_feature zeros = {0};
    rgm_graph *filled = NULL, *moved = NULL;
    int64_t shape[RGM_MAX_RANK] = {rgm_graph_components(graph)};

    for (int k = 0; k < feature->rank; k++)
        shape[k + 1] = feature->shape[k] >= 0 ? feature->shape[k] : 0;
    RGM_GO(rgm_tensor_create(&zeros.values, feature->dtype, feature->rank + 1, shape));
    RGM_GO(rgm_graph_with_feature(&filled, graph, RGM_CONTEXT_PIECE, NULL, o->feature, &zeros));
    RGM_GO(rgm_graph_context_into_readout(&moved, filled, o->feature, o->name, !o->keep,
                                          o->readout_set));
    RGM_GO(rgm_graph_without_feature(out, moved, RGM_NODE_SET, o->readout_set, name));
done:
    rgm_feature_clear(&zeros);
    rgm_graph_release(filled);
    rgm_graph_release(moved);
    return status;
}

static rgm_status context_to_readout(rgm_graph **out, rgm_graph *graph, const void *options,
                                     const rgm_rng *rng)
{
    const readout_options *o = options;
    const rgm_set_schema *context =
        rgm_schema_find(rgm_graph_schema(graph), RGM_CONTEXT_PIECE, NULL);
    const rgm_feature_schema *feature = rgm_set_feature(context, o->feature);

    (void)rng;
    if (feature != NULL && rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, o->feature) == NULL)
        return without_label(out, graph, feature, o);
    return rgm_graph_context_into_readout(out, graph, o->feature, o->name, !o->keep,
                                          o->readout_set);
}

const rgm_graph_processor_type rgmi_context_to_readout_processor = {
    .section = {.name = "context_to_readout",
                .help = "a feature of the context moved to the readout, one item a component",
                .options_size = sizeof(readout_options),
                .defaults = readout_defaults,
                .fields = context_fields,
                .check = check_feature},
    .process = context_to_readout,
};

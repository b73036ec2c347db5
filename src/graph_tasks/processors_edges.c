/*
 * Processors of edges: rows of data.processors over the functions of graph_edit.h.
 */
#include "processors.h"

/* An edge set, and what becomes of it. */
typedef struct edge_options {
    const char *edge_set, *name;
    bool merge, backtrack;
} edge_options;

#define RGM_OPTIONS edge_options
#define EDGE_SET    RGM_TEXT_FIELD(edge_set, "which; default: the only one")

static const rgm_field reverse_fields[] = {
    EDGE_SET, RGM_TEXT_FIELD(name, "of the new set; default: <edge_set>_reversed"), {0}};

static rgm_status reverse(rgm_graph **out, rgm_graph *graph, const void *options,
                          const rgm_rng *rng)
{
    const edge_options *o = options;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    return rgm_graph_reverse_edges(out, graph, set, o->name);
}

const rgm_graph_processor_type rgmi_reverse_edges_processor = {
    .section = {.name = "reverse_edges",
                .help = "a new edge set of the same edges turned round, with their features",
                .options_size = sizeof(edge_options),
                .fields = reverse_fields},
    .process = reverse,
};

static void merges(void *options)
{
    ((edge_options *)options)->merge = true;
}

static const rgm_field undirected_fields[] = {
    EDGE_SET, RGM_BOOL_FIELD(merge, "of edges with the same ends only the first stays"), {0}};

static rgm_status undirected(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    const edge_options *o = options;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    return rgm_graph_undirected(out, graph, set, o->merge);
}

const rgm_graph_processor_type rgmi_undirected_processor = {
    .section = {.name = "undirected",
                .help = "the reverse of each edge in the same set",
                .options_size = sizeof(edge_options),
                .defaults = merges,
                .fields = undirected_fields},
    .process = undirected,
};

bool rgmi_turns_edges(const char **edge_set, const rgm_graph_processor *processor)
{
    if (processor->type != &rgmi_undirected_processor &&
        processor->type != &rgmi_reverse_edges_processor)
        return false;
    *edge_set = ((const edge_options *)processor->options)->edge_set;
    return true;
}

static const rgm_field loop_fields[] = {EDGE_SET, {0}};

static rgm_status self_loops(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    const edge_options *o = options;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    return rgm_graph_add_self_loops(out, graph, set);
}

const rgm_graph_processor_type rgmi_self_loops_processor = {
    .section = {.name = "self_loops",
                .help = "a loop for each node, whose edge features are 0",
                .options_size = sizeof(edge_options),
                .fields = loop_fields},
    .process = self_loops,
};

bool rgmi_adds_loops(const char **edge_set, const rgm_graph_processor *processor)
{
    if (processor->type != &rgmi_self_loops_processor)
        return false;
    *edge_set = ((const edge_options *)processor->options)->edge_set;
    return true;
}

static const rgm_field line_fields[] = {
    EDGE_SET,
    RGM_TEXT_FIELD(name, "of the node set of its edges; default: <edge_set>_line"),
    RGM_BOOL_FIELD(backtrack, "also from an edge to the one straight back"),
    {0}};

static rgm_status line_graph(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    const edge_options *o = options;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    return rgm_graph_add_line_graph(out, graph, set, o->name, o->backtrack);
}

const rgm_graph_processor_type rgmi_line_graph_processor = {
    .section = {.name = "line_graph",
                .help = "a node set of one node an edge, and the edge set <name>_next from each to "
                        "those that go on where it ends",
                .options_size = sizeof(edge_options),
                .fields = line_fields},
    .process = line_graph,
};
#undef RGM_OPTIONS

/* ---- by a feature --------------------------------------------------------------------------- */

typedef enum mask_where { MASK_WHERE_SET, MASK_WHERE_NOT_SET } mask_where;
static const char *const where_names[] = {"set", "not_set", NULL};

typedef struct mask_options {
    const char *edge_set, *feature, *name;
    mask_where where;
} mask_options;

#define RGM_OPTIONS mask_options
static const rgm_field mask_fields[] = {
    EDGE_SET,
    RGM_TEXT_FIELD(feature, "required: of booleans or numbers, one an edge"),
    RGM_CHOICE_FIELD(where, where_names,
                     "which edges go: where it is true or not 0, or the others"),
    RGM_TEXT_FIELD(
        name, "of the set of those that go; default: _masked/<edge_set>, which models pass by"),
    {0}};
#undef RGM_OPTIONS

static rgm_status check_mask(const void *options)
{
    return ((const mask_options *)options)->feature != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "mask_edges: feature is missing: which edges go");
}

/* Which edges go, by a feature. */
static rgm_status read_mask(rgm_tensor **out, const rgm_graph *graph, const char *set,
                            const mask_options *o)
{
    const rgm_feature *feature = rgm_graph_feature(graph, RGM_EDGE_SET, set, o->feature);
    int64_t edges = rgm_graph_total(graph, RGM_EDGE_SET, set);

    if (feature == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "edge set '%s' has no feature '%s'", set, o->feature);
    if (rgm_tensor_dtype(feature->values) == RGM_STRING || feature->row_lengths[1] != NULL ||
        rgm_tensor_count(feature->values) != edges)
        return RGM_FAIL(RGM_ERR_DATA,
                        "feature '%s' of edge set '%s' must be one boolean or number an edge",
                        o->feature, set);
    RGM_TRY(rgm_tensor_create(out, RGM_BOOL, 1, &edges));
    for (int64_t e = 0; e < edges; e++)
        rgm_tensor_bool(*out)[e] =
            (rgm_tensor_at(feature->values, e) != 0) == (o->where == MASK_WHERE_SET);
    return RGM_OK;
}

static rgm_status mask_edges(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    const mask_options *o = options;
    rgm_status status = RGM_OK;
    rgm_tensor *mask = NULL;
    const char *set;

    (void)rng;
    RGM_TRY(rgmi_processed_set(&set, graph, RGM_EDGE_SET, o->edge_set));
    RGM_GO(read_mask(&mask, graph, set, o));
    RGM_GO(rgm_graph_mask_edges(out, graph, set, mask, o->name));
done:
    rgm_tensor_release(mask);
    return status;
}

const rgm_graph_processor_type rgmi_mask_edges_processor = {
    .section = {.name = "mask_edges",
                .help = "edges by a feature of theirs into a set of their own",
                .options_size = sizeof(mask_options),
                .fields = mask_fields,
                .check = check_mask},
    .process = mask_edges,
};

/* ---- at random ------------------------------------------------------------------------------ */

typedef struct drop_edges_options {
    double rate;
    rgm_texts edge_sets;
} drop_edges_options;

static void drop_edges_defaults(void *options)
{
    ((drop_edges_options *)options)->rate = 0.1;
}

#define RGM_OPTIONS drop_edges_options
static const rgm_field drop_edges_fields[] = {
    RGM_FLOAT_FIELD(rate, 0, 1, "how probably each edge goes"),
    RGM_TEXTS_FIELD(edge_sets, "of which sets; default: all but auxiliary ones"),
    {0}};
#undef RGM_OPTIONS

static rgm_status drop_of_set(rgm_graph **graph, const char *set, double rate, const rgm_rng *rng)
{
    rgm_rng own = rgm_rng_stream((uint64_t)rgm_rng_u32(rng, 0) << 32 | rgm_rng_u32(rng, 1), set, 0);
    rgm_graph *next;

    RGM_TRY(rgm_graph_drop_edges(&next, *graph, set, rate, &own));
    rgmi_step_to(graph, next);
    return RGM_OK;
}

static rgm_status drop_edges(rgm_graph **out, rgm_graph *graph, const void *options,
                             const rgm_rng *rng)
{
    const drop_edges_options *o = options;
    const rgm_schema *schema = rgm_graph_schema(graph);
    rgm_status status = RGM_OK;
    rgm_graph *now = rgm_graph_retain(graph);

    for (int64_t i = 0; i < o->edge_sets.count; i++)
        RGM_GO(drop_of_set(&now, o->edge_sets.items[i], o->rate, rng));
    for (int64_t i = 0; o->edge_sets.count == 0 && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET && !rgm_is_aux_set(set->name))
            RGM_GO(drop_of_set(&now, set->name, o->rate, rng));
    }
    *out = now;
    now = NULL;
done:
    rgm_graph_release(now);
    return status;
}

const rgm_graph_processor_type rgmi_drop_edges_processor = {
    .section = {.name = "drop_edges",
                .help = "DropEdge: in training, other edges go in each epoch",
                .options_size = sizeof(drop_edges_options),
                .defaults = drop_edges_defaults,
                .fields = drop_edges_fields},
    .training_only = true,
    .process = drop_edges,
};

/*
 * The graph inside the compute graph: a chain of changes that ends at a root, which makes inputs
 * when they are first asked for.
 */
#ifndef RGM_GRAPH_VALUE_INTERNAL_H
#define RGM_GRAPH_VALUE_INTERNAL_H

#include <regimen/graph_value.h>

#include "graph_internal.h"

/** What an input of the compute graph is fed with. */
typedef enum rgmi_graph_input_kind {
    INPUT_FEATURE,    /* "nodes/paper.year": the values                                   */
    INPUT_SPARSE,     /* "nodes/paper.words": a one_hot feature as a pattern              */
    INPUT_LOOKUP,     /* "nodes/atom.kind.#one_hot": values as columns by a lookup        */
    INPUT_NUMBER,     /* "nodes/actor.#number": pattern, each node is itself              */
    INPUT_ADJACENCY,  /* "edges/cites": pattern [target nodes, source nodes]              */
    INPUT_MEMBERSHIP, /* "nodes/paper.#component": pattern [components, items]            */
    INPUT_FIRST,      /* "nodes/paper.#first": pattern, one entry a component             */
    INPUT_READOUT,    /* "edges/_readout/seed.#readout": pattern, one entry a readout     */
    INPUT_REAL        /* "nodes/paper.#real": f32 mask                                    */
} rgmi_graph_input_kind;

typedef struct rgmi_graph_input {
    rgmi_graph_input_kind kind;
    int64_t set, feature; /* of the root's schema */
    rgm_lookup *lookup;   /* INPUT_LOOKUP; retained */
    int64_t columns;      /* INPUT_SPARSE, INPUT_LOOKUP, INPUT_NUMBER */
    rgm_value *value;
} rgmi_graph_input;

typedef enum rgmi_change {
    CHANGE_NONE,
    CHANGE_FEATURE,
    CHANGE_NO_AUX,
    CHANGE_READING /* what is read of the graph is changed on the way */
} rgmi_change;

/** What a change of reading made of a value, so that a second reader gets the same. */
typedef struct rgmi_read {
    const rgm_value *from;
    rgm_value *to;
    struct rgmi_read *next;
} rgmi_read;

struct rgm_graph_value {
    rgm_graph_value *root;
    const rgm_graph_value *parent; /* NULL: the root */
    rgmi_change change;
    int64_t set; /* CHANGE_FEATURE */
    char *feature;
    rgm_value *value;          /* NULL: taken away */
    rgm_graph_reading reading; /* CHANGE_READING */
    rgmi_read *reads;
    /* The root only: */
    rgm_cgraph *cgraph;
    rgm_schema *schema;
    rgm_arena *arena;
    rgmi_graph_input *inputs;
    int64_t input_count, input_capacity;
    rgm_value **transposed; /* [sets]: adjacency with receiver source, at first use */
    rgm_arena *tables;      /* what rgm_graph_value_tables() gave last */
    rgm_narrow_part *parts; /* what narrowed values are fed too */
    int64_t *part_sets;     /* [part_count] of RGM_NARROW_ITEMS: whose */
    int64_t part_count;
    uint64_t narrowing; /* no two roots have the same; 0: not narrowed */
};

/** The thread's error becomes the compute graph's; NULL. */
rgm_value *rgmi_value_error(const rgm_graph_value *graph, rgm_status status);
/** The set's place in the root's schema; a failure of the compute graph and false if there is none.
 */
bool rgmi_value_set(int64_t *index, const rgm_graph_value *graph, rgm_piece piece, const char *set);
/** How many items a set has as it is fed, a symbol; for the context, components. */
rgm_dim rgmi_fed_size(const rgm_graph_value *graph, int64_t set);
/** The same of the graph as it is now: edges may have gone. */
rgm_dim rgmi_value_size(const rgm_graph_value *graph, int64_t set);
/** x of a set as the changes of reading between `graph` and `until` make it; `feature` NULL: its
 * adjacency. */
rgm_value *rgmi_value_read(const rgm_graph_value *graph, const rgm_graph_value *until, int64_t set,
                           const char *feature, rgm_value *x);
/** Whether some change on the way to the root lets edges go. */
bool rgmi_value_loses_edges(const rgm_graph_value *graph, int64_t set);
/** The feature as the graph has it now. */
rgm_value *rgmi_value_feature(const rgm_graph_value *graph, int64_t set, const char *feature);
/** The input of that kind, made at first use. */
rgm_value *rgmi_value_input(const rgm_graph_value *graph, rgmi_graph_input_kind kind, int64_t set,
                            int64_t feature);
/** Whether the input is a pattern along which nodes hear of each other. */
bool rgmi_is_link(const rgm_graph_value *root, const rgmi_graph_input *input);
/** What one input is fed of a graph, borrowed from it. Errors: those of rgm_graph_feeds(). */
rgm_status rgmi_feed_one(rgm_feed *feed, const rgmi_graph_input *input, const rgm_graph_value *root,
                         const rgm_graph *graph);
/** What to feed each of the root's parts; made once for each graph, borrowed from it. `feeds`: what
 * its inputs are fed. */
rgm_status rgmi_narrowed_patterns(rgm_pattern *const **patterns, const rgm_graph_value *root,
                                  const rgm_feed *feeds, rgm_graph *graph);

#endif

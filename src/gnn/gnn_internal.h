/* Shared inside gnn by convolutions and updates: failing with the scope's name, states as rows, the
 * sets of a graph. What models share is in model_internal.h. */
#ifndef RGM_GNN_INTERNAL_H
#define RGM_GNN_INTERNAL_H

#include <regimen/gnn_layers.h>

#include <stdio.h>
#include <string.h>

/* Dense rows; sparse and side-by-side ones say no. */
static inline bool rgmi_is_dense(const rgm_value *x)
{
    return x != NULL && !rgm_value_is_pattern(x);
}

/* A component's state, heard by all its edges. */
typedef struct rgmi_context {
    const rgm_graph_value *graph;
    rgm_value *state;
} rgmi_context;
/* rgm_conv_messages() of edges in their order, with rows of the kernel for the context (NULL: none)
 * behind the others. */
rgm_value *rgmi_messages(rgm_scope *scope, const rgm_conv_input *in, const rgmi_context *context,
                         int64_t units, const rgm_dense_options *options);

/* What is remembered for rgm_edge_attention_of(): weights [entries, heads] that sum to 1 at each
 * row, and what the rows hear by them. */
void rgmi_note_attention(rgm_scope *scope, rgm_value *pattern, rgm_value *weights,
                         rgm_value *heard);

/* The product with the kernel goes after a linear sum over edges when that is the narrower side. */
static inline bool rgmi_sum_first(rgm_value *x, int64_t units)
{
    return rgmi_is_dense(x) && rgm_width(x) <= units;
}

/* Senders' rows x [senders, width] reduced at the receivers; sum and mean as one sparse product. */
rgm_value *rgmi_pool_senders(const rgm_conv_input *in, rgm_value *x, const char *reduce_type);
/* The normalised sum over neighbours of a GCN, for rgm_spmm(); of weighted edges with loops the
 * pattern becomes one that has them. */
rgm_spmm_options rgmi_gcn_sum(rgm_scope *scope, rgm_value **pattern,
                              const rgm_gcn_options *options);
/* True when reduce_type is "sum" or "mean", which commute with a product. */
bool rgmi_is_linear(const char *reduce_type);
/* Fails "'<scope>': <input>: no <what> state" when x is NULL; returns x. */
rgm_value *rgmi_need(rgm_scope *scope, const rgm_conv_input *in, rgm_value *x, const char *what);
/* units >= 1, else a failure naming `what`. */
bool rgmi_positive(rgm_scope *scope, int64_t units, const char *what);

/* False after a failure: heads do not divide `width`, of the update `name`. */
bool rgmi_heads_divide(rgm_scope *scope, const char *name, int64_t width, int64_t heads);
/* False after a failure: the old state, of a width, is not dense rows of `units`. */
bool rgmi_fits_residual(rgm_scope *scope, const rgm_state_inputs *inputs, int64_t units);
/* A parameter with Glorot's start, its squares in the loss once however often it is asked for. */
rgm_value *rgmi_kernel(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                       double l2);

/* x [n, parts in] dense, each of the parts side by side times its own of w [parts, in, units]:
 * [n, parts units]. */
rgm_value *rgmi_project_parts(rgm_value *x, rgm_value *w);

/* Whether `tag` is an end that hears. */
bool rgmi_hears(rgm_receivers receivers, rgm_tag tag);
/* The scope of an edge set read towards `receiver`: "cites", or "cites@source". */
rgm_scope *rgmi_edge_scope(rgm_scope *scope, const char *edge_set, rgm_tag receiver);
/* What a model of several sets does with each relation, an edge set towards one of its ends: at
 * most MOST of those that a node set hears. */
typedef struct rgmi_edge_relation {
    const char *edge_set, *sender;
    rgm_tag receiver;
} rgmi_edge_relation;
enum { RGMI_MOST_RELATIONS = 64 };
/* The relations that a node set hears; more than MOST are a failure and -1. */
int64_t rgmi_relations(rgmi_edge_relation *relations, const rgm_graph_value *graph,
                       const char *node_set, rgm_receivers receivers);
/* The node set at one end of an edge set. */
const char *rgmi_end(const rgm_set_schema *edge_set, rgm_tag tag);
/* A set's feature as rows; feature NULL: hidden_state, and NULL without failure when there is none.
 */
rgm_value *rgmi_piece_state(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                            const char *set, const char *feature);

/* Rows normalised, in `name`; momentum: of a batch norm's moving statistics. */
rgm_value *rgmi_normalise(rgm_scope *scope, const char *name, rgm_value *x, rgm_state_norm norm,
                          double momentum);
/* Node and edge set of a homogeneous model; false: failure recorded. */
bool rgmi_hom_sets(const char **node_set, const char **edge_set, const rgm_graph_value *graph,
                   const char *wanted_node_set, const char *wanted_edge_set);

#endif

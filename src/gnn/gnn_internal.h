/* Shared inside gnn: failing with the scope's name, features as rows, the sets of a graph. */
#ifndef RGM_GNN_INTERNAL_H
#define RGM_GNN_INTERNAL_H

#include <regimen/gnn.h>

#include <stdio.h>
#include <string.h>

/* Dense rows; sparse and side-by-side ones say no. */
static inline bool rgmi_is_dense(const rgm_value *x)
{
    return x != NULL && !rgm_value_is_pattern(x);
}

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
/* RGM_ERR_CONFIG when an option's reduce_type is no reduction, nor several with '|' between. */
rgm_status rgmi_reduce_type_check(const char *key, const char *reduce_type);
/* True when reduce_type is "sum" or "mean", which commute with a product. */
bool rgmi_is_linear(const char *reduce_type);
/* Fails "'<scope>': <input>: no <what> state" when x is NULL; returns x. */
rgm_value *rgmi_need(rgm_scope *scope, const rgm_conv_input *in, rgm_value *x, const char *what);
/* units >= 1, else a failure naming `what`. */
bool rgmi_positive(rgm_scope *scope, int64_t units, const char *what);

/* One set of a piece, with a failure that names the nearest; NULL if there is none. */
const rgm_set_schema *rgmi_set(const rgm_graph_value *graph, rgm_piece piece, const char *name);
bool rgmi_is_aux(const char *set);
/* The only non-auxiliary set of a piece, or a failure that lists them. */
const rgm_set_schema *rgmi_only_set(const rgm_graph_value *graph, rgm_piece piece);
/* The node set at one end of an edge set. */
const char *rgmi_end(const rgm_set_schema *edge_set, rgm_tag tag);
/* A set's feature as rows; feature NULL: hidden_state, and NULL without failure when there is none.
 */
rgm_value *rgmi_state(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                      const char *set, const char *feature);

/* Fails: no set of a piece has the feature; names the nearest. */
void rgmi_unknown_feature(const rgm_graph_value *graph, rgm_piece piece, const char *name);
/* Every name in the options is a feature of some node set, or the model's edge_feature (NULL: it
 * has none); else a failure. */
bool rgmi_check_inputs(const rgm_graph_value *graph, const rgm_input_options *options,
                       const char *edge_feature);
/* A feature of nodes or edges as the options say that it is read, its parameters in `scope`; text,
 * and integers of which they say nothing, are failures. */
rgm_value *rgmi_input_feature(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                              const char *set, const char *name, const rgm_input_options *options);
/* rgm_node_inputs() side by side, their parameters in input/<node set> of the model's scope; NULL
 * without failure for a set that starts with nothing. */
rgm_value *rgmi_node_input(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                           const rgm_input_options *options);
/* The graph with an edge feature (NULL: none) as rows in every edge set that has it, as the options
 * say that it is read. */
rgm_graph_value *rgmi_read_edges(rgm_scope *scope, rgm_graph_value *graph, const char *feature,
                                 const rgm_input_options *options);
/* Node and edge set of a homogeneous model; false: failure recorded. */
bool rgmi_hom_sets(const char **node_set, const char **edge_set, const rgm_graph_value *graph,
                   const char *wanted_node_set, const char *wanted_edge_set);

/* The rows that a model of one node set and one edge set starts from, and which sets these are;
 * NULL: failure recorded. */
rgm_value *rgmi_hom_input(const char **node_set, const char **edge_set, rgm_scope *scope,
                          const rgm_graph_value *graph, const char *wanted_node_set,
                          const char *wanted_edge_set, rgm_receivers receiver,
                          const rgm_input_options *input);

/* Failures: a node set that a model cannot start from; "both" where one end has to hear. */
rgm_graph_value *rgmi_no_input(const rgm_graph_value *graph, const char *node_set);
bool rgmi_one_receiver(rgm_scope *scope, rgm_receivers receiver);

extern const char *const rgmi_receiver_names[];
extern const char *const rgmi_l2_layer_names[];
extern const char *const rgmi_normalization_names[]; /* of rgm_degree_norm */
extern const rgm_field rgmi_input_fields[];

#endif

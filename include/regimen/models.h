/*
 * models: convolutions and whole graph networks. A model is a function from a graph value to a graph
 * value whose node sets carry new states; a named model is one row with an options table, so that an
 * experiment file can build it.
 */
#ifndef REGIMEN_MODELS_H
#define REGIMEN_MODELS_H

#include <regimen/gnn.h>
#include <regimen/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The base GNN: a graph with features in, a graph with hidden_state out (no task head). NULL passes
 * through. All trainable transforms of inputs belong here.
 */
typedef rgm_graph_value *rgm_model_fn(rgm_scope *scope, const rgm_graph_value *graph, void *payload);

/** A model that an experiment file can name. */
typedef struct rgm_model_type {
    const char *name;          /* "gcn", "gat_v2", "graph_sage", "vanilla_mpnn" */
    const char *help;
    size_t options_size;
    void (*defaults)(void *options);
    const rgm_field *fields;
    rgm_model_fn *build;       /* payload = options */
} rgm_model_type;
const rgm_model_type *const *rgm_model_types(int64_t *count);
const rgm_model_type *rgm_model_find(const char *name); /* NULL if none */

#ifdef __cplusplus
}
#endif
#endif

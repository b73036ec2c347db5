/*
 * gnn: graph networks: gnn_layers.h has what they are built of, gnn_models.h whole models by name.
 * What is learned with them, and of which data, is graph_tasks.
 */
#ifndef REGIMEN_GNN_H
#define REGIMEN_GNN_H

#include <regimen/gnn_layers.h>
#include <regimen/gnn_models.h>

#endif

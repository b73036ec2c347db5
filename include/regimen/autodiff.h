/*
 * autodiff: the define-then-run compute graph. A graph is built once from values and ops, with
 * symbolic dims for what varies from batch to batch; gradients are appended as graph; an executor
 * runs it on a device. *Node* and *edge* mean graph data elsewhere; here there are values and ops.
 *
 *   autodiff_graph     graphs, inputs, parameters, gradients; what a value can be asked
 *   autodiff_ops       the ops, from rgm_add() to rgm_gather()
 *   autodiff_executor  running them
 *   autodiff_rewrite   values built again, of fewer items or with weighed messages
 *   autodiff_exchange  values of a graph that lies with several processes
 *   autodiff_op_type   an op as a row: for exporters, and for ops of one's own
 */
#ifndef REGIMEN_AUTODIFF_H
#define REGIMEN_AUTODIFF_H

#include <regimen/autodiff_exchange.h>
#include <regimen/autodiff_executor.h>
#include <regimen/autodiff_graph.h>
#include <regimen/autodiff_op_type.h>
#include <regimen/autodiff_ops.h>
#include <regimen/autodiff_rewrite.h>

#endif

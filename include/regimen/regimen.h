/*
 * Regimen: train graph and sequence models from C. This includes every layer; a program may as well
 * include the one it uses.
 *
 *   the trunk
 *   base        status and error trace, memory, text, random numbers, threads, files, YAML
 *   tensor      typed arrays, sparse patterns, safetensors
 *   kernels     y = f(x) on plain memory
 *   autodiff    the compute graph: values, ops, gradients, executor
 *   nn          layers
 *   optim       optimizers and schedules
 *   data        TFRecord, tf.train.Example, CSV; datasets and iterators with a position
 *   export      ONNX
 *   store       run folders, checkpoints, metrics, event files
 *   train       losses, metrics, what a task is; trainer, controller
 *
 *   the branches, which do not see each other
 *   graph       schema, graphs, sampling, import; the graph inside the compute graph
 *   gnn         on graph: convolutions, graph networks, tasks on graphs, rgm_run()
 *   text        corpora, tokenizers, token batches; BLEU, chrF, TER
 *   translation on text: the Transformer, its search, its task
 *   record      rows of numbers and images: mlp, cnn, their task
 *
 *   the crown
 *   http        requests by HTTP: a server with limits
 *   search      what to try next: hyperparameters, samplers, searchers
 *   experiment  all of it from one YAML file
 *   trial       one point of a search, trained: search files, workloads, hooks
 *   master      experiments with many trials: a database, slots, processes, requests
 *   web         the page: run folders and masters in a browser
 */
#ifndef REGIMEN_REGIMEN_H
#define REGIMEN_REGIMEN_H

#include <regimen/experiment.h>
#include <regimen/gnn.h>
#include <regimen/graph_edit.h>
#include <regimen/master.h>
#include <regimen/record.h>
#include <regimen/search.h>
#include <regimen/translation.h>
#include <regimen/trial.h>
#include <regimen/web.h>

#endif

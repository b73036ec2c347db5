/*
 * Regimen: train graph networks from C. This includes every layer, bottom up; a program may as well
 * include the one it uses.
 *
 *   base        status and error trace, memory, text, random numbers, threads, files, YAML
 *   tensor      typed arrays, sparse patterns, safetensors
 *   kernels     y = f(x) on plain memory
 *   autodiff    the compute graph: values, ops, gradients, executor
 *   data        TFRecord, tf.train.Example, CSV; datasets and iterators with a position
 *   text        corpora, tokenizers, token batches; BLEU, chrF, TER
 *   graph       schema, graphs, sampling, import; the graph inside the compute graph
 *   nn, models  layers; convolutions and whole graph networks
 *   optim       optimizers and schedules
 *   export      ONNX
 *   store       checkpoints, run folder, metrics and event files
 *   task        losses, metrics, what to learn
 *   train       trainer, controller
 *   translation the Transformer, its search, its task
 *   runner      rgm_run(): from data to export in one call
 *   experiment  the same from one YAML file
 */
#ifndef REGIMEN_REGIMEN_H
#define REGIMEN_REGIMEN_H

#include <regimen/experiment.h>
#include <regimen/translation.h>

#endif

/*
 * Regimen: train graph and sequence models from C. This includes every layer; a program may as well
 * include what it uses:
 *
 *   to ...                                       include                      examples/
 *   train a graph network on data of yours       graph_tasks.h                04, 07, 08
 *   write a convolution or a graph network       gnn_layers.h                 05
 *   read, cut or import graphs                   graph.h, graph_sampling.h, graph_import.h
 *   translate; another text task                 translation.h; sequence.h, text.h
 *   train a language model, write text           language.h
 *   train on rows of numbers or images           record.h
 *   train a task of your own                     controller.h                 06
 *   run an experiment file, ask a trained model  experiment.h                 09, 10, 15
 *   go on from another program's weights         import.h
 *   compute with values, layers, optimizers      autodiff.h, nn.h, optim.h    02
 *   list a network layer by layer                nn_layers.h
 *   read data as a stream of batches             data.h                       03
 *   search hyperparameters                       trial.h, master.h            11, 12, 15, 16
 *   search by asking and telling                 search_study.h
 *   write a searcher or a sampler                search_rows.h
 *   change a search while it goes on             search_live.h
 *   train with several processes                 comm.h; with workers that come and go: async.h
 *   have batches made by other processes         service.h
 *   keep trained models under a name             registry.h
 *   answer with trained models over HTTP         answer.h
 *   make a small model of a large one            distil.h
 *
 * A header includes what it stands on. The layers, each of which sees none that is named behind it:
 *
 *   trunk     base tensor device kernels comm autodiff nn optim
 *             data service export store metrics train controller
 *   branches  graph graph_sampling parts graph_import graph_features gnn graph_tasks
 *             text sequence translation language
 *             record
 *   crown     registry http async search experiment import distil answer trial master draw web
 */
#ifndef REGIMEN_REGIMEN_H
#define REGIMEN_REGIMEN_H

#include <regimen/answer.h>
#include <regimen/async.h>
#include <regimen/comm.h>
#include <regimen/device_tensor.h>
#include <regimen/distil.h>
#include <regimen/draw.h>
#include <regimen/experiment.h>
#include <regimen/graph_edit.h>
#include <regimen/graph_import.h>
#include <regimen/graph_parts.h>
#include <regimen/graph_tasks.h>
#include <regimen/http_client.h>
#include <regimen/import.h>
#include <regimen/language.h>
#include <regimen/master.h>
#include <regimen/parts.h>
#include <regimen/parts_sampling.h>
#include <regimen/record.h>
#include <regimen/registry.h>
#include <regimen/search_code.h>
#include <regimen/search_exit.h>
#include <regimen/search_live.h>
#include <regimen/search_rows.h>
#include <regimen/search_study.h>
#include <regimen/translation.h>
#include <regimen/trial.h>
#include <regimen/trial_program.h>
#include <regimen/trial_task.h>
#include <regimen/web.h>

#endif

/*
 * base: what every layer uses. Nothing here knows about tensors or models. Nothing exits, aborts
 * or prints. The only global state is the thread's error record, the memory counters and the
 * process' log.
 *
 *   base_status    what a call returns: status, message, trace; counted memory
 *   base_text      growing text, UTF-8, "did you mean"; a map
 *   base_log       logs and the clock
 *   base_numbers   random numbers, hashes, eigenvalues
 *   base_threads   the parallel loop, threads that wait, queues
 *   base_files     files and folders that are saved whole or not at all; mapped files
 *   base_content   files by their content: SHA-256, a store that has each content once
 *   base_process   other processes: how one is started, whether one still runs
 *   base_json      JSON
 *   base_yaml      YAML with line and column
 *   base_options   options structs as tables of fields; rules between keys
 */
#ifndef REGIMEN_BASE_H
#define REGIMEN_BASE_H

#include <regimen/base_content.h>
#include <regimen/base_files.h>
#include <regimen/base_json.h>
#include <regimen/base_log.h>
#include <regimen/base_numbers.h>
#include <regimen/base_options.h>
#include <regimen/base_process.h>
#include <regimen/base_status.h>
#include <regimen/base_text.h>
#include <regimen/base_threads.h>
#include <regimen/base_yaml.h>

#endif

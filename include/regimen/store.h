/*
 * store: the files of a run.
 *
 *   store_checkpoint   checkpoints that are whole or absent, and the folder that holds them
 *   store_run          the run folder with its lock and log; runs read back
 *   store_logs         metrics.jsonl, system.jsonl, tables.jsonl
 *   store_events       TensorBoard event files
 */
#ifndef REGIMEN_STORE_H
#define REGIMEN_STORE_H

#include <regimen/store_checkpoint.h>
#include <regimen/store_events.h>
#include <regimen/store_logs.h>
#include <regimen/store_run.h>

#endif

/*
 * search: what the exit code of a trial's program says of another try. One convention for a process
 * that a master starts, and for a program that a trial starts.
 */
#ifndef REGIMEN_SEARCH_EXIT_H
#define REGIMEN_SEARCH_EXIT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whether a program that ends with this exit code says that another try would come to the same: 2
 * (usage, experiment file), and of sysexits 64, 65, 66 and 78 (usage, data, input, configuration).
 */
bool rgm_exit_is_final(int code);

#ifdef __cplusplus
}
#endif
#endif

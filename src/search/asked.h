/*
 * The process of a searcher that is asked and told: a line, and its answer.
 */
#ifndef RGM_SEARCH_ASKED_H
#define RGM_SEARCH_ASKED_H

#include "search_internal.h"

#include <sys/types.h>

/** `{0}`: there is none. */
typedef struct rgmi_asked_process {
    pid_t pid;    /* also its group's number; 0: there is none */
    bool is_open; /* the two below are */
    int to, from; /* its standard input and output */
    rgm_text text;
} rgmi_asked_process;

/**
 * Start it. $REGIMEN_SEED is the search's.
 * Errors: RGM_ERR_CONFIG (there is no such program, or it may not be executed), RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgmi_asked_start(rgmi_asked_process *p, const rgm_texts *command, uint32_t seed);
/**
 * Say a line, with its end, and wait for the answer.
 *
 * @param answer  [out] its JSON, an object; rgm_json_release()
 * @param hash    [out] of the answer's bytes
 *
 * Errors: RGM_END (it has ended, or ends), RGM_ERR_CONFIG (it does not answer within `seconds`, by
 * no object of JSON, or by more than one line), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_asked_say(rgm_json **answer, int64_t *hash, rgmi_asked_process *p,
                          const rgm_text *line, double seconds);
/** "ended with exit code 3", of one that has ended. It is there no more. */
void rgmi_asked_print_end(char out[64], rgmi_asked_process *p);
/** End it, with what it has started. One that is not there is fine. */
void rgmi_asked_stop(rgmi_asked_process *p);

#endif

/*
 * A program run to its end, with what it printed. No shell: words are words, whatever is in them.
 */
#ifndef RGM_MASTER_COMMAND_H
#define RGM_MASTER_COMMAND_H

#include <regimen/base.h>

typedef struct rgmi_command {
    const char *const *argv; /* ended by NULL; argv[0] is looked for on the PATH            */
    const char *const *environment; /* ended by NULL, "NAME=VALUE"; NULL: this process' own */
    int64_t max_size; /* bytes that it may print; more is an error                   */
    double seconds;   /* after which it is killed, and that is an error              */
} rgmi_command;

/** What it came to; cleared with rgmi_outcome_clear(). */
typedef struct rgmi_outcome {
    int exit_status; /* 128 + signal when it was killed                      */
    rgm_text out;    /* standard output                                      */
    rgm_text error;  /* standard error, its first 4 KiB                      */
} rgmi_outcome;
void rgmi_outcome_clear(rgmi_outcome *outcome);

/**
 * Run it and wait. Its standard input is empty, it has no other descriptor of this process, no
 * signal is blocked or ignored in it. An exit status other than 0 is no error here.
 *
 * Errors: RGM_ERR_NOT_FOUND (there is no such program), RGM_ERR_IO (it could not be run, did not
 * end in time, printed too much), RGM_ERR_NOMEM; *out is then empty and nothing of it runs any
 * more.
 */
rgm_status rgmi_command_run(rgmi_outcome *out, const rgmi_command *command);

/** A command that did not end with 0, as an error of `status`: which, with what, and the last line
 * that it had to say. Returns `status`. */
rgm_status rgmi_command_fail(rgm_status status, const char *program, const rgmi_outcome *out);

#endif

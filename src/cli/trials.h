/* The verbs of trials, by file. */
#ifndef RGM_CLI_TRIALS_H
#define RGM_CLI_TRIALS_H

#include "experiments.h"

/* ---- trial_try.c ----------------------------------------------------------------------------- */

int trial_test(int argc, char **argv);

/* ---- trial_verbs.c --------------------------------------------------------------------------- */

int trial_describe(int argc, char **argv);
int trial_logs(int argc, char **argv);
int trial_kill(int argc, char **argv);
int trial_continue(int argc, char **argv);

/* ---- trial_process.c ------------------------------------------------------------------------- */

int trial_run(int argc, char **argv);

#endif

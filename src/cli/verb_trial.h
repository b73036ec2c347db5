/* The verbs of trials, by file. */
#ifndef RGM_CLI_VERB_TRIAL_H
#define RGM_CLI_VERB_TRIAL_H

#include "verb_experiment.h"

/* ---- verb_trial_try.c
 * ----------------------------------------------------------------------------- */

int trial_test(int argc, char **argv);

/* ---- verb_trial_steer.c
 * --------------------------------------------------------------------------- */

int trial_describe(int argc, char **argv);
int trial_logs(int argc, char **argv);
int trial_kill(int argc, char **argv);
int trial_continue(int argc, char **argv);

/* ---- verb_experiment_live.c
 * ----------------------------------------------------------------------- */

int trial_stop(int argc, char **argv);

/* ---- verb_trial_program.c: what a script says to the trial that it is
 * ------------------------------------------------------------------------------------------ */

int trial_next(int argc, char **argv);
int trial_report(int argc, char **argv);
int trial_checkpoint(int argc, char **argv);
int trial_should_stop(int argc, char **argv);
int trial_invalid(int argc, char **argv);

/* ---- verb_trial_process.c
 * ------------------------------------------------------------------------- */

int trial_run(int argc, char **argv);

#endif

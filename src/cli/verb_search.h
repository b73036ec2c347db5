/* The verbs of searches that no master runs. */
#ifndef RGM_CLI_VERB_SEARCH_H
#define RGM_CLI_VERB_SEARCH_H

#include "verb_experiment.h"

/* ---- verb_search_study.c --------------------------------------------------------------------- */

int search_ask(int argc, char **argv);
int search_tell(int argc, char **argv);
int search_stream(int argc, char **argv);
int search_show(int argc, char **argv);

#endif

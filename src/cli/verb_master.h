/* The verbs of a master, by file. */
#ifndef RGM_CLI_VERB_MASTER_H
#define RGM_CLI_VERB_MASTER_H

#include "ask.h"

/* ---- verb_master_slots.c: which slots get trials --------------------------------------------- */

int master_slots(int argc, char **argv);
int master_drain(int argc, char **argv);
int master_enable(int argc, char **argv);

#endif

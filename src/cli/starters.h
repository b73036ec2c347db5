/* Files that the command has in it, made when it is built: those that `regimen init` writes, and
 * scripts for shells. */
#ifndef RGM_CLI_STARTERS_H
#define RGM_CLI_STARTERS_H

#include <stdint.h>

typedef struct starter_file {
    const char *name; /* in the new folder; of a script, its shell */
    const char *text;
    int64_t size;
} starter_file;
/** Of `regimen init trial` and `regimen init program`; ended by {0}. */
extern const starter_file starter_trial[], starter_program[];
/** Of `regimen completion`, which are installed as files too; ended by {0}. */
extern const starter_file completion_scripts[];

#endif

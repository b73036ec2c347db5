/* Files that `regimen init` writes, made from examples/ when the command is built. */
#ifndef RGM_CLI_STARTERS_H
#define RGM_CLI_STARTERS_H

#include <stdint.h>

typedef struct starter_file {
    const char *name; /* in the new folder */
    const char *text;
    int64_t size;
} starter_file;
/** Ended by {0}. */
extern const starter_file starter_trial[];

#endif

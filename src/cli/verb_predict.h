/* What `regimen predict --embeddings` is told, and its work. */
#ifndef RGM_CLI_VERB_PREDICT_H
#define RGM_CLI_VERB_PREDICT_H

#include "cli.h"

typedef struct embeddings_choice {
    bool wanted;
    const char *file;     /* NULL: stdout                   */
    const char *node_set; /* NULL: the run's                */
    const char *format;   /* NULL: by the ending of `file`  */
    int64_t chunk;        /* nodes at a time; 0: all        */
} embeddings_choice;

/** EXIT_DONE, or EXIT_USAGE after a message. */
int embeddings_check(const embeddings_choice *choice);
rgm_status embeddings_write(const rgm_open_run *run, const char *run_dir,
                            const embeddings_choice *choice);

#endif

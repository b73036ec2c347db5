/*
 * What the parts of a program's trial share: its folder, its process, its socket, and what it says.
 */
#ifndef RGM_TRIAL_PROGRAM_PARTS_H
#define RGM_TRIAL_PROGRAM_PARTS_H

#include "trial_internal.h"

#include <regimen/trial_program.h>

#include <stdatomic.h>
#include <sys/types.h>

/* ---- program_folder.c: what lies in the run folder ------------------------------------------- */

#define RGMI_SAVED "regimen.json" /* in a checkpoint: its step and its files with their hashes */

typedef struct rgmi_program_folder {
    char *run_dir, *work, *save; /* save: where the program writes its next checkpoint */
    char *from;                  /* checkpoint to begin with; NULL: none               */
    rgm_run_folder *folder;
    rgm_logger *outer;
    bool entered;
    rgm_metrics_log *metrics;
    char checkpoint[64]; /* of the last one that was saved: below run_dir */
    rgm_named_number *resources;
    int64_t resource_count, resource_capacity;
} rgmi_program_folder;

/** Make or enter the run folder, check the checkpoint to go on from, and set later ones aside. */
rgm_status rgmi_program_folder_open(rgmi_program_folder *f, const rgm_program_setup *setup);
void rgmi_program_folder_close(rgmi_program_folder *f);
/** A line of metrics.jsonl: "train" or "valid". */
rgm_status rgmi_program_folder_log(rgmi_program_folder *f, const char *split, int64_t step,
                                   const rgm_json *metrics);
/** What the program has written to `save` becomes the checkpoint of a step. Errors:
 * RGM_ERR_NOT_FOUND (it has written nothing), RGM_ERR_IO, RGM_ERR_FORMAT, RGM_ERR_NOMEM. */
rgm_status rgmi_program_folder_save(rgmi_program_folder *f, int64_t step);

/* ---- program_start.c: its process ------------------------------------------------------------ */

enum { RGMI_LAST_ROOM = 2048 };

typedef struct rgmi_program_process {
    pid_t pid;                 /* also its group's number; 0: none */
    int pidfd;                 /* -1: it has ended, or there is none */
    int status;                /* of waitpid(), once it has ended  */
    int error_pipe;            /* its standard error            */
    char last[RGMI_LAST_ROOM]; /* the end of what it has written there */
    int64_t last_size;
    atomic_long watched; /* pid while it runs, for another thread */
} rgmi_program_process;

/** Start the words of the setup's file in the work folder, with links to its code. */
rgm_status rgmi_program_start(rgmi_program_process *p, const rgm_program_setup *setup,
                              const rgmi_program_folder *f, const char *socket);
/** Pass on what it has written to its standard error. */
void rgmi_program_read_errors(rgmi_program_process *p);
/** Whether it has ended; its status is then there. */
bool rgmi_program_has_ended(rgmi_program_process *p);
/** "ended with exit code 3: ...", with its last lines. */
rgm_status rgmi_program_print_end(rgm_text *out, const rgmi_program_process *p);
/** Seconds of processors that it and what it has started have used. Threads: any. */
double rgmi_program_used(rgmi_program_process *p);
void rgmi_program_signal(const rgmi_program_process *p, int number);
void rgmi_program_process_clear(rgmi_program_process *p);

/* ---- program_socket.c: lines ---------------------------------------------------------------- */

enum { RGMI_CONNECTIONS = 64, RGMI_SAID_ROOM = 1 << 20 };

typedef struct rgmi_speaker {
    int fd; /* -1: none */
    rgm_text text;
    bool waits; /* a line of it is not answered yet */
} rgmi_speaker;

typedef struct rgmi_program_socket {
    int fd;
    char *path, *folder; /* folder: made for it, or NULL */
    rgmi_speaker connections[RGMI_CONNECTIONS];
} rgmi_program_socket;

rgm_status rgmi_program_socket_open(rgmi_program_socket *s, const char *run_dir);
void rgmi_program_socket_close(rgmi_program_socket *s);
/** A whole line that nobody has answered yet, of any connection: its first byte, ended by 0; NULL:
 * there is none. It stays until rgmi_program_socket_answer(). */
char *rgmi_program_socket_line(rgmi_program_socket *s, int *connection);
/** Answer the line of a connection, and take it away. A program that does not read is let go. */
void rgmi_program_socket_answer(rgmi_program_socket *s, int connection, const rgm_text *answer);
/** Wait for something to happen, at most `seconds` (below 0: without end): bytes of a connection,
 * of the program's standard error, or its end. A signal ends it early. */
rgm_status rgmi_program_socket_wait(rgmi_program_socket *s, rgmi_program_process *p,
                                    double seconds);

/* ---- program_says.c: what a line says -------------------------------------------------------- */

typedef enum rgmi_says_kind {
    RGMI_SAYS_NEXT,
    RGMI_SAYS_REPORT,
    RGMI_SAYS_VALIDATION,
    RGMI_SAYS_CHECKPOINT,
    RGMI_SAYS_INVALID
} rgmi_says_kind;

typedef struct rgmi_says {
    rgmi_says_kind kind;
    int64_t step;
    const rgm_json *metrics; /* an object of numbers; of a report and a validation */
    const char *reason;      /* of RGMI_SAYS_INVALID */
    rgm_json *json;          /* that they are of */
} rgmi_says;

/** Read a line. Errors: RGM_ERR_CONFIG (what is wrong and what is expected), RGM_ERR_NOMEM.
 * rgmi_says_clear() after an error too. */
rgm_status rgmi_says_read(rgmi_says *out, const char *line);
void rgmi_says_clear(rgmi_says *says);

#endif

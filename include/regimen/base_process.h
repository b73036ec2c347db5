/*
 * base: other processes. How one is started, and whether the one that a file names still runs.
 *
 *     const char *words[] = {"sh", "-c", "echo hello", NULL};
 *     pid_t pid;
 *     int code = rgm_process_start(&pid, &(rgm_process_setup){.argv = words, .out = 1, .error =
 * 2});
 */
#ifndef REGIMEN_BASE_PROCESS_H
#define REGIMEN_BASE_PROCESS_H

#include <regimen/base_status.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whose signals a process is meant by. */
typedef enum rgm_process_group {
    RGM_GROUP_SHARED, /* those of this process' group, such as a terminal's    */
    RGM_GROUP_OWN,    /* a group with its own number: kill(-pid) is it and what it starts */
    RGM_GROUP_SESSION /* a session of its own, without a terminal               */
} rgm_process_group;

/** How a process is started. */
typedef struct rgm_process_setup {
    const char *const *argv;        /* ended by NULL; argv[0] is looked for on the PATH   */
    const char *const *environment; /* ended by NULL, "NAME=VALUE"; NULL: this process'   */
    const char *folder;             /* where it works; NULL: where this process does      */
    int in, out, error;             /* its standard descriptors, of this process'; 0: /dev/null  */
    rgm_process_group group;
    bool is_closed; /* it gets no other descriptor, also of those without O_CLOEXEC */
} rgm_process_setup;
/**
 * Start a process in which no signal is blocked or ignored. Returns 0, or the number of errno:
 * ENOENT (there is no such program, or no such folder), EACCES (it may not be executed), ENOMEM.
 */
int rgm_process_start(pid_t *pid, const rgm_process_setup *setup);

/**
 * The environment of this process with one variable set, or set anew: for rgm_process_setup. The
 * list is the caller's to free; its texts are borrowed, and `variable` ("NAME=VALUE") too.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_environment_with(const char ***out, const char *variable);

/** When a process began, in ticks since the system did; -1: there is none of that number. */
int64_t rgm_process_began(pid_t pid);

enum { RGM_PROCESS_NAME_ROOM = 320 };
/** The name of this process, which no other has, on this machine or another: for a file that says
 * whose something is. */
void rgm_process_name(char out[RGM_PROCESS_NAME_ROOM]);
/** Whether the process of that name has ended for certain. False while it runs, and of one that
 * this process cannot see: on another machine, in another container. */
bool rgm_process_has_ended(const char *name);

#ifdef __cplusplus
}
#endif
#endif

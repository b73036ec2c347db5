/*
 * The processes of a run, its own and those that it has started: known by what they were started
 * with and all their children have, REGIMEN_RUN=TOKEN:FOLDER in the environment. A number of a
 * process may be any other's, of a file that another master wrote too.
 */
#include "master_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum { MOST_PASSES = 100 }; /* over those who go on starting others */

void rgmi_run_print(char out[RGMI_RUN_ROOM], const rgm_master *master, const char *token)
{
    snprintf(out, RGMI_RUN_ROOM, "REGIMEN_RUN=%s:%s", token, master->options.folder);
}

/* ---- an environment ------------------------------------------------------------------------- */

/* Texts that end with a zero, one behind the other, in pieces of a file. */
typedef struct search {
    const char *text;
    size_t at, size; /* so many bytes of it were found; of it with its zero */
    bool fails;      /* the entry that is looked at is another              */
    bool found;
} search;

static void look_at(search *s, const char *data, ssize_t size)
{
    for (ssize_t i = 0; i < size && !s->found; i++) {
        s->fails = s->fails || s->at >= s->size || data[i] != s->text[s->at];
        s->found = !s->fails && ++s->at == s->size;
        if (data[i] == 0) {
            s->at = 0;
            s->fails = false;
        }
    }
}

bool rgmi_is_of_run(pid_t pid, const char *variable)
{
    search s = {.text = variable, .size = strlen(variable) + 1};
    char path[64], piece[4096];
    ssize_t size;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (!s.found && (size = read(fd, piece, sizeof piece)) > 0)
        look_at(&s, piece, size);
    close(fd);
    return s.found;
}

/* ---- an end to them ------------------------------------------------------------------------- */

/* The descriptor first: whoever has the number later is not who it names. */
static bool kill_if_of_run(pid_t pid, const char *variable)
{
    int fd = pidfd_open(pid, 0);
    bool killed;

    if (fd < 0)
        return false;
    killed = rgmi_is_of_run(pid, variable) && pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0;
    close(fd);
    return killed;
}

static bool kill_pass(const char *variable)
{
    DIR *folder = opendir("/proc");
    struct dirent *item;
    bool any = false;

    while (folder != NULL && (item = readdir(folder)) != NULL) {
        long pid = isdigit((unsigned char)item->d_name[0]) ? strtol(item->d_name, NULL, 10) : 0;

        if (pid > 1 && pid != (long)getpid())
            any = kill_if_of_run((pid_t)pid, variable) || any;
    }
    if (folder != NULL)
        closedir(folder);
    return any;
}

void rgmi_run_kill(const rgm_master *master, const char *token)
{
    char variable[RGMI_RUN_ROOM];

    rgmi_run_print(variable, master, token);
    for (int pass = 0; pass < MOST_PASSES && kill_pass(variable); pass++)
        ;
}

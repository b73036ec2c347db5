/*
 * Processes: the one place that starts others, and names that outlive the process they name.
 */
#include <regimen/base.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* ---- environment ---------------------------------------------------------------------------- */

rgm_status rgm_environment_with(const char ***out, const char *variable)
{
    size_t name = strcspn(variable, "=") + 1; /* with the = */
    int64_t count = 0, kept = 0;

    while (environ[count] != NULL)
        count++;
    RGM_TRY(RGM_NEW(*out, count + 2));
    (*out)[kept++] = variable;
    for (int64_t i = 0; i < count; i++)
        if (strncmp(environ[i], variable, name) != 0)
            (*out)[kept++] = environ[i];
    return RGM_OK;
}

/* ---- start ---------------------------------------------------------------------------------- */

static int set_descriptors(posix_spawn_file_actions_t *actions, const rgm_process_setup *s)
{
    int failed = s->in > 0 ? posix_spawn_file_actions_adddup2(actions, s->in, 0)
                           : posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(actions, s->out, 1);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(actions, s->error, 2);
    if (failed == 0 && s->is_closed)
        failed = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (failed == 0 && s->folder != NULL)
        failed = posix_spawn_file_actions_addchdir_np(actions, s->folder);
    return failed;
}

static int set_attributes(posix_spawnattr_t *attributes, const rgm_process_setup *s)
{
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, all;
    int failed;

    sigemptyset(&none);
    sigfillset(&all);
    flags |= s->group == RGM_GROUP_OWN ? POSIX_SPAWN_SETPGROUP : 0;
    flags |= s->group == RGM_GROUP_SESSION ? POSIX_SPAWN_SETSID : 0;
    failed = posix_spawnattr_setsigmask(attributes, &none);
    if (failed == 0)
        failed = posix_spawnattr_setsigdefault(attributes, &all);
    if (failed == 0)
        failed = posix_spawnattr_setpgroup(attributes, 0);
    return failed != 0 ? failed : posix_spawnattr_setflags(attributes, (short)flags);
}

int rgm_process_start(pid_t *pid, const rgm_process_setup *setup)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    const char *const *environment =
        setup->environment != NULL ? setup->environment : (const char *const *)environ;
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed != 0)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        failed = set_descriptors(&actions, setup);
        if (failed == 0)
            failed = set_attributes(&attributes, setup);
        if (failed == 0)
            failed = posix_spawnp(pid, setup->argv[0], &actions, &attributes,
                                  (char *const *)setup->argv, (char *const *)environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The text of a small file of the system without its line break; "-" where there is none. */
static void read_line(char *out, size_t room, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, out, room - 1) : -1;

    if (fd >= 0)
        close(fd);
    out[size > 0 ? size : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (out[0] == '\0')
        snprintf(out, room, "-");
}

/* *state: as the system has it, 'Z' of one that has ended and that its parent has not asked for. */
static int64_t look_at(pid_t pid, char *state)
{
    char path[64], text[1024];
    const char *at;
    int64_t began = -1;

    *state = '\0';
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    read_line(text, sizeof text, path);
    at = strrchr(text, ')'); /* behind its name, which may hold anything */
    if (at == NULL || sscanf(at, ") %c", state) != 1)
        return -1;
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, " %" SCNd64, &began) == 1 ? began : -1;
}

int64_t rgm_process_began(pid_t pid)
{
    char state;

    return look_at(pid, &state);
}

/* "host/boot": where numbers of processes mean the same ones, as long as it runs. */
static void print_place(char host[80], char boot[80], char space[80])
{
    ssize_t size = readlink("/proc/self/ns/pid", space, 79);

    space[size > 0 ? size : 0] = '\0';
    if (space[0] == '\0')
        snprintf(space, 80, "-");
    if (gethostname(host, 79) != 0 || host[0] == '\0')
        snprintf(host, 80, "-");
    host[79] = '\0';
    read_line(boot, 80, "/proc/sys/kernel/random/boot_id");
}

void rgm_process_name(char out[RGM_PROCESS_NAME_ROOM])
{
    char host[80], boot[80], space[80];

    print_place(host, boot, space);
    snprintf(out, RGM_PROCESS_NAME_ROOM, "%s/%s/%s/%ld/%" PRId64, host, boot, space, (long)getpid(),
             rgm_process_began(getpid()));
}

bool rgm_process_has_ended(const char *name)
{
    char host[80], boot[80], space[80], its_host[80], its_boot[80], its_space[80], state;
    int64_t began, now;
    long pid;

    if (sscanf(name, "%79[^/]/%79[^/]/%79[^/]/%ld/%" SCNd64, its_host, its_boot, its_space, &pid,
               &began) != 5)
        return false;
    print_place(host, boot, space);
    if (strcmp(host, its_host) != 0)
        return false;
    if (strcmp(boot, its_boot) != 0)
        return true; /* the machine was started anew since */
    if (strcmp(space, its_space) != 0)
        return false;
    now = look_at((pid_t)pid, &state);
    return now != began || state == 'Z' || state == 'X';
}

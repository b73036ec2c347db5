/*
 * The process of a program's trial: started in a folder of its own with links to its code, watched
 * by descriptor; what it writes to its standard error is passed on, and the end of it is kept.
 */
#include "program_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TOLD_LINES = 8, TOLD_BYTES = 700 };

/* ---- what it is started with ---------------------------------------------------------------- */

typedef struct variables {
    char **items;                 /* ended by NULL */
    int64_t count, capacity, own; /* those before `own` are the environment's */
} variables;

static bool is_set_here(const char *variable)
{
    static const char *const names[] = {RGM_PROGRAM_TRIAL, RGM_PROGRAM_SOCKET,
                                        RGM_PROGRAM_STEP,  RGM_PROGRAM_CHECKPOINT,
                                        RGM_PROGRAM_SAVE,  "PATH"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0 && variable[strlen(names[i])] == '=')
            return true;
    return false;
}

static rgm_status add_variable(variables *v, const char *name, const char *value)
{
    RGM_TRY(RGM_RESERVE(v->items, v->capacity, v->count + 2));
    v->items[v->count + 1] = NULL;
    RGM_TRY(rgm_strprintf(&v->items[v->count], "%s=%s", name, value));
    v->count++;
    return RGM_OK;
}

/* Behind all others the folder of this command, so that a script finds `regimen`. */
static rgm_status add_path(variables *v)
{
    const char *path = getenv("PATH");
    char self[4096], *both;
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    rgm_status status;

    self[size > 0 ? size : 0] = '\0';
    if (strrchr(self, '/') != NULL)
        *strrchr(self, '/') = '\0';
    RGM_TRY(rgm_strprintf(&both, "%s%s%s", path != NULL ? path : "/usr/local/bin:/usr/bin:/bin",
                          self[0] != '\0' ? ":" : "", self));
    status = add_variable(v, "PATH", both);
    rgm_free(both);
    return status;
}

static rgm_status make_environment(variables *v, const rgm_program_setup *setup,
                                   const rgmi_program_folder *f, const char *socket)
{
    char step[32], *trial;
    rgm_status status;

    for (int64_t i = 0; environ[i] != NULL; i++)
        if (!is_set_here(environ[i])) {
            RGM_TRY(RGM_RESERVE(v->items, v->capacity, v->count + 2));
            v->items[v->count++] = environ[i];
            v->items[v->count] = NULL;
        }
    v->own = v->count;
    snprintf(step, sizeof step, "%lld", (long long)setup->at_batches);
    RGM_TRY(add_path(v));
    RGM_TRY(rgm_path_join(&trial, f->run_dir, "trial.json"));
    status = add_variable(v, RGM_PROGRAM_TRIAL, trial);
    rgm_free(trial);
    RGM_TRY(status);
    RGM_TRY(add_variable(v, RGM_PROGRAM_SOCKET, socket));
    RGM_TRY(add_variable(v, RGM_PROGRAM_STEP, step));
    RGM_TRY(add_variable(v, RGM_PROGRAM_SAVE, f->save));
    return f->from != NULL ? add_variable(v, RGM_PROGRAM_CHECKPOINT, f->from) : RGM_OK;
}

static void clear_variables(variables *v)
{
    for (int64_t i = v->own; i < v->count; i++)
        rgm_free(v->items[i]);
    rgm_free(v->items);
}

/* A link in the work folder to what lies in that of the code, in the place of an earlier one. */
static rgm_status link_one(const char *work, const char *code, const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *target = NULL;
    struct stat info;

    RGM_GO(rgm_path_join(&path, work, name));
    RGM_GO(rgm_path_join(&target, code, name));
    if (lstat(path, &info) == 0 && !S_ISLNK(info.st_mode))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "%s is no link to the code of this trial any more: the program has put a "
                        "file of its own there, and would not be started as it was before",
                        path));
    unlink(path);
    if (symlink(target, path) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("make the link", path));
done:
    rgm_free(path);
    rgm_free(target);
    return status;
}

static rgm_status link_code(const char *work, const char *code)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    if (code == NULL)
        return RGM_OK;
    RGM_GO(rgm_folder_list(&names, &count, code));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(link_one(work, code, names[i]));
done:
    rgm_names_release(names, count);
    return status;
}

/* ---- start ---------------------------------------------------------------------------------- */

static rgm_status spawn(rgmi_program_process *p, char *const *words, char *const *environment,
                        const char *work, int errors)
{
    const rgm_process_setup setup = {.argv = (const char *const *)words,
                                     .environment = (const char *const *)environment,
                                     .folder = work,
                                     .out = STDOUT_FILENO,
                                     .error = errors,
                                     .group = RGM_GROUP_OWN};
    pid_t pid;
    int code = rgm_process_start(&pid, &setup);

    errno = code;
    if (code == EACCES)
        return RGM_FAIL(RGM_ERR_IO,
                        "entrypoint: '%s' may not be executed: chmod +x it, or put its interpreter "
                        "before it, as in [sh, %s]",
                        words[0], words[0]);
    if (code != 0)
        return rgm_error_prefix(RGM_FAIL_SYSTEM("start", words[0]), "entrypoint");
    p->pid = pid;
    atomic_store(&p->watched, pid);
    p->pidfd = pidfd_open(pid, 0);
    return p->pidfd >= 0 ? RGM_OK : RGM_FAIL_SYSTEM("watch", words[0]);
}

rgm_status rgmi_program_start(rgmi_program_process *p, const rgm_program_setup *setup,
                              const rgmi_program_folder *f, const char *socket)
{
    rgm_status status = RGM_OK;
    variables v = {0};
    char **words = NULL;
    int64_t count = 0;
    int ends[2] = {-1, -1};

    *p = (rgmi_program_process){.pidfd = -1, .error_pipe = -1};
    RGM_GO(link_code(f->work, setup->code));
    RGM_GO(make_environment(&v, setup, f, socket));
    RGM_GO(rgm_search_file_words(&words, &count, setup->file, setup->values));
    if (count == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "entrypoint: no word of the command is left"));
    if (pipe2(ends, O_CLOEXEC) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("make", "a pipe"));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    p->error_pipe = ends[0];
    RGM_GO(spawn(p, words, v.items, f->work, ends[1]));
done:
    if (ends[1] >= 0)
        close(ends[1]);
    rgm_names_release(words, count);
    clear_variables(&v);
    return status;
}

/* ---- what it writes ------------------------------------------------------------------------- */

static void keep(rgmi_program_process *p, const char *bytes, int64_t size)
{
    int64_t kept;

    if (size > RGMI_LAST_ROOM) {
        bytes += size - RGMI_LAST_ROOM;
        size = RGMI_LAST_ROOM;
    }
    kept = p->last_size + size <= RGMI_LAST_ROOM ? p->last_size : RGMI_LAST_ROOM - size;
    memmove(p->last, p->last + p->last_size - kept, (size_t)kept);
    memcpy(p->last + kept, bytes, (size_t)size);
    p->last_size = kept + size;
}

void rgmi_program_read_errors(rgmi_program_process *p)
{
    char bytes[16384];

    while (p->error_pipe >= 0) {
        ssize_t size = read(p->error_pipe, bytes, sizeof bytes);

        if (size > 0) {
            keep(p, bytes, size);
            if (rgm_write_all(STDERR_FILENO, bytes, size, "standard error") != RGM_OK)
                rgm_error_reset(); /* it is gone, or full: the program is not to wait for it */
            continue;
        }
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        close(p->error_pipe); /* nobody has its other end */
        p->error_pipe = -1;
    }
}

bool rgmi_program_has_ended(rgmi_program_process *p)
{
    siginfo_t info = {0};

    if (p->pidfd >= 0 && waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == p->pid) {
        rgmi_program_signal(p, SIGKILL); /* what it has left running, while its number is taken */
        atomic_store(&p->watched, 0);
        waitpid(p->pid, &p->status, 0);
        rgmi_program_read_errors(p);
        close(p->pidfd);
        p->pidfd = -1;
    }
    return p->pidfd < 0;
}

/* The last lines, without empty ones at the end. */
static const char *last_lines(const rgmi_program_process *p, int64_t *size)
{
    int64_t begin, end = p->last_size;
    int lines = 0;

    while (end > 0 && (p->last[end - 1] == '\n' || p->last[end - 1] == ' '))
        end--;
    for (begin = end; begin > 0 && end - begin < TOLD_BYTES; begin--)
        if (p->last[begin - 1] == '\n' && ++lines == TOLD_LINES)
            break;
    *size = end - begin;
    return p->last + begin;
}

rgm_status rgmi_program_print_end(rgm_text *out, const rgmi_program_process *p)
{
    rgm_status status;
    int64_t size;
    const char *lines = last_lines(p, &size);
    char *copy;

    if (WIFSIGNALED(p->status))
        RGM_TRY(rgm_text_printf(out, "was ended by signal %d (%s)", WTERMSIG(p->status),
                                strsignal(WTERMSIG(p->status))));
    else
        RGM_TRY(rgm_text_printf(out, "ended with exit code %d", WEXITSTATUS(p->status)));
    if (size == 0)
        return rgm_text_printf(out, ", without a word on its standard error");
    RGM_TRY(rgm_strndup(&copy, lines, (size_t)size));
    status = rgm_text_printf(out, "; it last said: ");
    for (char *line = copy, *end; line != NULL && status == RGM_OK; line = end) {
        end = strchr(line, '\n'); /* a message is one line, in which an end of one is \x0a */
        if (end != NULL)
            *end++ = '\0';
        status = rgm_text_add_visible(out, line);
        if (status == RGM_OK && end != NULL)
            status = rgm_text_printf(out, " | ");
    }
    rgm_free(copy);
    return status;
}

/* ---- others look at it, and end it ---------------------------------------------------------- */

/* Processors' seconds of a process, with its children that have ended; *group: it is of that one.
 */
static double used_by(const char *name, long *group)
{
    char path[64], text[1024];
    const char *at;
    long long ticks[4] = {0};
    int fd;

    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    *group = 0;
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    at = strrchr(text, ')'); /* behind its name, which may hold anything */
    if (at == NULL ||
        sscanf(at, ") %*c %*d %ld %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", group,
               &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 5)
        return 0;
    return (double)(ticks[0] + ticks[1] + ticks[2] + ticks[3]) / (double)sysconf(_SC_CLK_TCK);
}

double rgmi_program_used(rgmi_program_process *p)
{
    long wanted = atomic_load(&p->watched), group;
    DIR *folder = wanted > 0 ? opendir("/proc") : NULL;
    const struct dirent *entry;
    double sum = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        double used =
            entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? used_by(entry->d_name, &group) : 0;

        if (used > 0 && group == wanted)
            sum += used;
    }
    if (folder != NULL)
        closedir(folder);
    return sum;
}

void rgmi_program_signal(const rgmi_program_process *p, int number)
{
    if (p->pidfd >= 0)
        kill(-p->pid, number); /* all that it has started, too */
}

void rgmi_program_process_clear(rgmi_program_process *p)
{
    rgmi_program_signal(p, SIGKILL);
    if (p->pidfd >= 0) {
        waitpid(p->pid, &p->status, 0);
        close(p->pidfd);
    }
    if (p->error_pipe >= 0)
        close(p->error_pipe);
    atomic_store(&p->watched, 0);
    p->pid = 0;
    p->pidfd = p->error_pipe = -1;
}

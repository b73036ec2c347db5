/*
 * What a trial's process is started with, here or by Slurm.
 */
#include "launch.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { CHECK_S = 10 };

void rgmi_launch_clear(rgmi_launch *l)
{
    for (int64_t i = l->own_args; i < l->arg_count; i++)
        rgm_free(l->argv[i]);
    for (int64_t i = l->own_env; i < l->env_count; i++)
        rgm_free(l->env[i]);
    rgm_free(l->argv);
    rgm_free(l->env);
    rgm_free(l->folder);
    rgm_free(l->log);
    rgm_free(l->working_folder);
    rgm_free(l->self);
}

/* Ranks by a launcher: `mpirun`, or what REGIMEN_MPIRUN says. At SIGTERM launchers kill, and at
 * SIGUSR1 they tell every rank, which saves then as behind a SIGTERM; so this shell turns one into
 * the other. The launcher has a session of its own, since Slurm signals whole groups, and does not
 * outlive this shell. */
static const char start_ranks[] =
    "ranks=$1 told='' job=''\n"
    "shift\n"
    "tell() { told=1; [ -z \"$job\" ] || kill -USR1 \"$job\"; }\n"
    "trap tell TERM INT HUP USR1 XCPU\n"
    "as=''\n"
    "! command -v setpriv >/dev/null || as='setpriv --pdeathsig KILL'\n"
    "! command -v setsid >/dev/null || as=\"setsid $as\"\n"
    "$as ${REGIMEN_MPIRUN:-mpirun} -n \"$ranks\" \"$@\" &\n"
    "job=$!\n"
    "[ -z \"$told\" ] || kill -USR1 \"$job\"\n"
    "while :; do\n"
    "    wait \"$job\"\n"
    "    code=$?\n"
    "    kill -0 \"$job\" 2>/dev/null || exit $code\n"
    "done\n";

static rgm_status add_text(char ***list, int64_t *count, int64_t *capacity, const char *format,
                           const char *value)
{
    char *text = NULL;

    RGM_TRY(RGM_RESERVE(*list, *capacity, *count + 2));
    if (value != NULL)
        RGM_TRY(rgm_strprintf(&text, format, value));
    (*list)[*count] = text;
    if (text != NULL)
        (*list)[++*count] = NULL;
    return RGM_OK;
}

static rgm_status prepare_command(rgmi_launch *l, const rgm_master *master, const rgmi_process *p,
                                  int64_t ranks)
{
    char trial[32], number[32], self[4096];
    const char *head[] = {"/bin/sh", "-c", start_ranks, "ranks", number};
    const char *tail[] = {"--master", master->options.folder, "--trial", trial, "--run", p->token,
                          NULL};
    ssize_t size;

    snprintf(trial, sizeof trial, "%lld", (long long)p->trial);
    snprintf(number, sizeof number, "%lld", (long long)ranks);
    for (int i = 0; i < 5 && ranks > 1; i++)
        RGM_TRY(add_text(&l->argv, &l->arg_count, &l->arg_capacity, "%s", head[i]));
    if (master->command == NULL) {
        size = readlink("/proc/self/exe", self, sizeof self - 1);
        if (size < 0)
            return RGM_FAIL_SYSTEM("read", "/proc/self/exe");
        self[size] = 0;
        if (access(self, X_OK) != 0) /* the system writes "FILE (deleted)" */
            return RGM_FAIL(
                RGM_ERR_NOT_FOUND,
                "the program of this master has gone or was replaced while it works ('%s'): "
                "stop the master and start it again, which loses nothing",
                self);
        RGM_TRY(add_text(&l->argv, &l->arg_count, &l->arg_capacity, "%s", self));
        RGM_TRY(add_text(&l->argv, &l->arg_count, &l->arg_capacity, "%s", "trial"));
        RGM_TRY(add_text(&l->argv, &l->arg_count, &l->arg_capacity, "%s", "run"));
    }
    for (int64_t i = 0; master->command != NULL && master->command[i] != NULL; i++)
        RGM_TRY(add_text(&l->argv, &l->arg_count, &l->arg_capacity, "%s", master->command[i]));
    for (int i = 0; tail[i] != NULL; i++)
        RGM_TRY(add_text(&l->argv, &l->arg_count, &l->arg_capacity, "%s", tail[i]));
    return RGM_OK;
}

static bool sets_same(const char *a, const char *b)
{
    size_t size = strcspn(a, "=");

    return strncmp(a, b, size + 1) == 0;
}

static bool sets_launcher(const rgm_texts *extra)
{
    for (int64_t i = 0; i < extra->count; i++)
        if (sets_same("REGIMEN_MPIRUN=", extra->items[i]))
            return true;
    return false;
}

static bool is_in(char *const *environment, const char *variable)
{
    for (; environment != NULL && *environment != NULL; environment++)
        if (sets_same(variable, *environment))
            return true;
    return false;
}

/* Open MPI on a machine whose processors the master shares out: it counts no slots of its own and
 * binds nothing. A master of root's has trials of root's. An OpenCL that hwloc finds may bring LLVM
 * into mpirun, whose handlers take the signals that it is to pass on. What is set already stands.
 */
static rgm_status add_mpi(rgmi_launch *l)
{
    static const char *const settings[] = {
        "OMPI_MCA_rmaps_base_oversubscribe=1",
        "OMPI_MCA_hwloc_base_binding_policy=none",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy=none",
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "HWLOC_COMPONENTS=-opencl,-levelzero,-cuda,-nvml,-rsmi,-gl"};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!is_in(l->env, settings[i]) && !is_in(environ, settings[i]) &&
            (geteuid() == 0 || strstr(settings[i], "AS_ROOT") == NULL))
            RGM_TRY(add_text(&l->env, &l->env_count, &l->env_capacity, "%s", settings[i]));
    return RGM_OK;
}

/* The master's own, with the experiment's over it, the number of threads, and which run it is. A
 * job has the first from sbatch. */
static rgm_status prepare_environment(rgmi_launch *l, const rgm_master *master,
                                      const rgmi_process *p, const rgm_texts *extra, int64_t ranks,
                                      const char *devices)
{
    char threads[64], run[RGMI_RUN_ROOM];
    /* What is set for it whatever others say. */
    const char *const own[] = {threads, run, devices};

    rgmi_run_print(run, master, p->token);
    snprintf(threads, sizeof threads, "OMP_NUM_THREADS=%lld",
             (long long)rgmi_process_threads(master, p, ranks));
    for (int64_t i = 0; environ[i] != NULL && !p->is_job; i++) {
        bool is_set = false;

        for (size_t j = 0; j < sizeof own / sizeof *own && !is_set; j++)
            is_set = own[j] != NULL && sets_same(own[j], environ[i]);
        for (int64_t j = 0; j < extra->count && !is_set; j++)
            is_set = sets_same(extra->items[j], environ[i]);
        if (!is_set)
            RGM_TRY(add_text(&l->env, &l->env_count, &l->env_capacity, "%s", environ[i]));
    }
    RGM_TRY(add_text(&l->env, &l->env_count, &l->env_capacity, "%s", threads));
    if (devices != NULL)
        RGM_TRY(add_text(&l->env, &l->env_count, &l->env_capacity, "%s", devices));
    for (int64_t j = 0; j < extra->count; j++)
        if (!sets_same(run, extra->items[j]))
            RGM_TRY(add_text(&l->env, &l->env_count, &l->env_capacity, "%s", extra->items[j]));
    if (ranks > 1)
        RGM_TRY(add_mpi(l));
    return p->is_job ? RGM_OK : add_text(&l->env, &l->env_count, &l->env_capacity, "%s", run);
}

static rgm_status find_folders(rgmi_launch *l, rgm_master *master, rgmi_process *p)
{
    rgmi_rows *rows;
    rgm_status status = RGM_OK;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT e.id, number, working_folder FROM trials t JOIN"
                                " experiments e ON e.id = t.experiment_id WHERE t.id = ?",
                                "i", p->trial));
    RGM_GO(rgmi_rows_next(master->database, rows));
    p->experiment = rgmi_rows_int(rows, 0);
    l->number = rgmi_rows_int(rows, 1);
    RGM_GO(rgm_strdup(&l->working_folder, rgmi_rows_text(rows, 2)));
    RGM_GO(rgmi_master_path(&l->folder, master, p->experiment, l->number, NULL));
    RGM_GO(rgm_path_join(&l->log, l->folder, "trial.log"));
done:
    rgmi_rows_leave(rows);
    return status;
}

rgm_status rgmi_launch_open_log(int *fd, const rgmi_launch *l)
{
    *fd = -1;
    RGM_TRY(rgm_folder_make(l->folder));
    *fd = open(l->log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return *fd >= 0 ? RGM_OK : RGM_FAIL_SYSTEM("open", l->log);
}

static rgm_status check_working_folder(const rgmi_launch *l, const rgmi_process *p)
{
    return rgm_path_is_folder(l->working_folder)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_NOT_FOUND,
                          "the folder '%s', in which experiment %lld was created and its trials "
                          "work, is not there",
                          l->working_folder, (long long)p->experiment);
}

int64_t rgmi_process_threads(const rgm_master *master, const rgmi_process *p, int64_t ranks)
{
    int64_t threads = master->options.threads_per_slot * p->width / ranks;

    if (p->is_job)
        return threads < 1 ? 1 : threads; /* no job is without a processor */
    if (!p->on_devices || master->asked_threads > 0 || master->device_count == 0)
        return threads;
    threads = master->slots.num_cpus / master->device_count;
    return threads < 1 ? 1 : threads; /* each rank has one device */
}

rgm_status rgmi_launch_check(const rgm_search_file *file)
{
    const rgm_search_settings *o = rgm_search_file_settings(file);
    long long ranks = rgm_search_file_ranks(file);
    rgmi_outcome out = {0};
    rgm_status status;

    if (ranks == 1 || o->scheduler.type != RGM_SCHEDULER_LOCAL ||
        getenv("REGIMEN_MPIRUN") != NULL || sets_launcher(&o->environment.environment_variables))
        return RGM_OK;
    status = rgmi_command_run(
        &out, &(rgmi_command){.argv = (const char *const[]){"mpirun", "--version", NULL},
                              .max_size = 1 << 16,
                              .seconds = CHECK_S});
    rgmi_outcome_clear(&out);
    if (status == RGM_ERR_NOT_FOUND)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "with resources.slots_per_trial %lld and these runtime.shards a trial is "
                        "%lld processes, which mpirun starts: there is no program 'mpirun' on the "
                        "PATH (Debian: openmpi-bin). With 1 slot trials come to the same",
                        (long long)o->resources.slots_per_trial, ranks);
    return status;
}

rgm_status rgmi_launch_prepare(rgmi_launch *l, rgm_master *master, rgmi_process *p)
{
    rgmi_experiment *e;
    char *devices = NULL;
    rgm_status status = RGM_OK;

    RGM_TRY(find_folders(l, master, p));
    RGM_TRY(check_working_folder(l, p));
    RGM_TRY(rgmi_experiment_get(&e, master, p->experiment));
    RGM_TRY(prepare_command(l, master, p, rgm_search_file_ranks(e->file)));
    if (p->on_devices && !p->is_job)
        RGM_TRY(rgmi_devices_variable(&devices, master, p));
    status = prepare_environment(
        l, master, p, &rgm_search_file_settings(e->file)->environment.environment_variables,
        rgm_search_file_ranks(e->file), devices);
    rgm_free(devices);
    return status;
}

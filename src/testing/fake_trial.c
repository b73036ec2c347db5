/*
 * A trial's process without a model: every number follows from seed, hyperparameters and batches,
 * so that a search may be run in moments and its end compared. Its state is what a model's would
 * be: it must be saved and found again for the numbers to come out.
 *
 *     FAKE_TRIAL_MS=5      a workload takes so long
 *     FAKE_TRIAL_CRASH=N   of N workloads about one ends the process, by state and process
 *     FAKE_TRIAL_FAIL=N    the step of that number fails, always
 *     FAKE_TRIAL_INVALID=N trials of that number and its multiples are told to be invalid
 *     FAKE_TRIAL_CHILD=1   it leaves a process running, in a session of its own, with its number in
 *                          the file child of its folder
 *     FAKE_TRIAL_HOPELESS=N trials of that number and its multiples cannot be opened
 *     FAKE_TRIAL_FULL=FILE while FILE is there, checkpoints find no space left
 *     FAKE_TRIAL_UNLOADED=FILE while FILE is there, a process ends as one whose library is missing
 *     FAKE_TRIAL_EXIT=N    the process ends with that exit code, and says nothing
 *     FAKE_TRIAL_INFINITE=N trials of that number and its multiples have a loss of -infinity
 *     FAKE_TRIAL_HANG=N    the first process of trial N says nothing any more at its first step
 *     FAKE_TRIAL_BUSY=FILE the first step works, and says nothing, until FILE is there
 *     FAKE_TRIAL_STAYS=N   the process of trial N does not end when it is told to
 *     FAKE_TRIAL_REAL=1    the trial itself, with its model and data
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <regimen/trial.h>
#include <regimen/trial_worker.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct trial {
    char run_dir[4096], name[64];
    uint64_t state;
    int64_t batches, number;
    double rate;
    rgm_named_number metrics[2], files[1];
    char file[32];
} trial;

static int64_t option(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* Whether an option's number is the trial's, or one that it is a multiple of. */
static bool applies(const char *name, int64_t number)
{
    return option(name) > 0 && number % option(name) == 0;
}

/* The number behind "learning_rate": in the hyperparameters. */
static double find_rate(const char *hyperparameters)
{
    const char *at = strstr(hyperparameters, "learning_rate\": ");

    return at != NULL ? strtod(at + strlen("learning_rate\": "), NULL) : 0.1;
}

static rgm_status load(uint64_t *state, int64_t *batches, const char *folder)
{
    char path[4200], *text;
    int64_t size;

    snprintf(path, sizeof path, "%s/state", folder);
    RGM_TRY(rgm_file_load(&text, &size, path, 1000));
    int read = sscanf(text, "%" SCNx64 " %" SCNd64, state, batches);
    rgm_free(text);
    return read == 2 ? RGM_OK : RGM_FAIL(RGM_ERR_FORMAT, "'%s' is no state", path);
}

static rgm_status leave_child(const trial *t)
{
    char path[4200], text[32];
    pid_t pid = fork();

    if (pid == 0) {
        setsid();
        for (;;)
            pause();
    }
    snprintf(path, sizeof path, "%s/child", t->run_dir);
    snprintf(text, sizeof text, "%ld\n", (long)pid);
    return rgm_file_save(path, text, (int64_t)strlen(text));
}

/* What it may compute on, and what CUDA would show it: the file device of its folder. */
static rgm_status tell_device(const rgm_worker_setup *setup)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char path[4300], text[256];

    snprintf(path, sizeof path, "%s/device", setup->run_dir);
    snprintf(text, sizeof text, "%s of %s", setup->device, visible != NULL ? visible : "all");
    return rgm_file_save(path, text, (int64_t)strlen(text));
}

static rgm_status open_trial(const rgm_worker_setup *setup, void *payload)
{
    trial *t = payload;
    int64_t batches;

    if (applies("FAKE_TRIAL_INVALID", setup->number))
        return rgm_invalid_hyperparameters("those of trial %lld", (long long)setup->number);
    if (applies("FAKE_TRIAL_HOPELESS", setup->number))
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no data for trial %lld",
                        (long long)setup->number);
    snprintf(t->run_dir, sizeof t->run_dir, "%s", setup->run_dir);
    t->number = setup->number;
    if (setup->device != NULL)
        RGM_TRY(tell_device(setup));
    if (option("FAKE_TRIAL_CHILD") != 0)
        RGM_TRY(leave_child(t));
    t->rate = find_rate(setup->hyperparameters);
    t->state = rgm_hash64(setup->hyperparameters, strlen(setup->hyperparameters)) ^ setup->seed;
    if (setup->at != NULL) {
        RGM_TRY(load(&t->state, &t->batches, setup->at));
        if (t->batches != setup->at_batches)
            return RGM_FAIL(RGM_ERR_DATA, "the checkpoint is of %lld batches, asked for %lld",
                            (long long)t->batches, (long long)setup->at_batches);
    } else if (setup->from != NULL) {
        RGM_TRY(load(&t->state, &batches, setup->from));
    }
    return RGM_OK;
}

/* The mark that it was there is its own file: another process of the trial goes on. */
static void hang_once(const trial *t)
{
    char path[4300];

    snprintf(path, sizeof path, "%s/hung", t->run_dir);
    if (option("FAKE_TRIAL_HANG") != t->number || access(path, F_OK) == 0)
        return;
    if (rgm_file_save(path, "", 0) != RGM_OK)
        raise(SIGKILL);
    for (;;)
        pause();
}

static void work_long(int64_t step)
{
    const char *until = getenv("FAKE_TRIAL_BUSY");
    volatile uint64_t sum = 0;

    while (until != NULL && step == 1 && access(until, F_OK) != 0)
        for (int i = 0; i < 1000000; i++)
            sum = sum + (uint64_t)i;
}

static void live_dangerously(const trial *t)
{
    int64_t ms = option("FAKE_TRIAL_MS"), crash = option("FAKE_TRIAL_CRASH");
    uint64_t draw = t->state ^ (uint64_t)getpid();

    if (ms > 0)
        nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
    if (crash > 0 && rgm_hash64(&draw, sizeof draw) % (uint64_t)crash == 0)
        raise(SIGKILL);
}

static rgm_status save(rgm_worker_result *result, trial *t)
{
    const char *full = getenv("FAKE_TRIAL_FULL");
    char path[4300], text[64];

    if (full != NULL && access(full, F_OK) == 0) {
        errno = ENOSPC;
        return RGM_FAIL_SYSTEM("write", "state");
    }
    snprintf(t->name, sizeof t->name, "ckpt/step-%08lld", (long long)t->batches);
    snprintf(path, sizeof path, "%s/%s", t->run_dir, t->name);
    RGM_TRY(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/%s/state", t->run_dir, t->name);
    snprintf(text, sizeof text, "%016" PRIx64 " %" PRId64 "\n", t->state, t->batches);
    RGM_TRY(rgm_file_save(path, text, (int64_t)strlen(text)));
    t->files[0] = (rgm_named_number){"state", (double)strlen(text)};
    result->checkpoint = t->name;
    result->resources = t->files;
    result->resource_count = 1;
    return RGM_OK;
}

static rgm_status work(rgm_worker_result *result, const rgm_workload *workload, void *payload)
{
    trial *t = payload;
    double noise;

    live_dangerously(t);
    if (workload->kind == RGM_RUN_STEP) {
        hang_once(t);
        work_long(workload->step);
    }
    if (workload->kind == RGM_RUN_STEP && workload->step == option("FAKE_TRIAL_FAIL"))
        return RGM_FAIL(RGM_ERR_NUMERIC, "step %lld fails, as it was told to",
                        (long long)workload->step);
    if (workload->kind == RGM_CHECKPOINT_MODEL)
        return save(result, t);
    if (workload->kind == RGM_RUN_STEP) {
        result->num_inputs = workload->batches - t->batches;
        for (; t->batches < workload->batches; t->batches++)
            t->state = rgm_hash64(&t->state, sizeof t->state) + (uint64_t)t->batches;
    }
    noise = (double)(t->state >> 11) / 9007199254740992.0;
    t->metrics[0] = (rgm_named_number){"loss", fabs(log10(t->rate) + 2) +
                                                   10.0 / (double)(10 + t->batches) + 0.01 * noise};
    if (applies("FAKE_TRIAL_INFINITE", t->number))
        t->metrics[0].value = (double)-INFINITY;
    t->metrics[1] = (rgm_named_number){"accuracy", 1 / (1 + t->metrics[0].value)};
    result->metrics = t->metrics;
    result->metric_count = 2;
    return RGM_OK;
}

static void close_trial(void *payload)
{
    const trial *t = payload;

    while (option("FAKE_TRIAL_STAYS") == t->number)
        pause();
}

static volatile sig_atomic_t told_to_stop;

static void on_term(int number)
{
    (void)number;
    told_to_stop = 1;
}

static bool is_told_to_stop(void *payload)
{
    (void)payload;
    return told_to_stop != 0;
}

int main(int argc, char **argv)
{
    static trial t;
    rgm_worker worker = {.open = open_trial,
                         .work = work,
                         .close = close_trial,
                         .payload = &t,
                         .is_told_to_stop = is_told_to_stop};
    const char *const *arguments = (const char *const *)argv + 1;
    const char *unloaded = getenv("FAKE_TRIAL_UNLOADED");

    if (unloaded != NULL && access(unloaded, F_OK) == 0)
        _exit(127);
    if (option("FAKE_TRIAL_EXIT") != 0)
        _exit((int)option("FAKE_TRIAL_EXIT"));
    signal(SIGTERM, on_term);
    rgm_status status = option("FAKE_TRIAL_REAL") != 0
                            ? rgm_worker_run_trial(arguments, argc - 1, is_told_to_stop)
                            : rgm_worker_serve(arguments, argc - 1, &worker);

    if (status < 0)
        fprintf(stderr, "%s\n", rgm_error_text());
    return status == RGM_OK ? 0 : 1;
}

/*
 * Slurm as an engine.
 */
#include "slurm.h"
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PRINTED (64 << 20) /* a queue of half a million jobs */
#define IDS_AT_ONCE 1000       /* of sacct: one word of a command has at most 128 KiB */

typedef struct slurm_state {
    rgm_arena *arena; /* all texts */
    rgmi_slurm_options options;
    const char *script;
} slurm_state;

/* The words of a command, or its environment. */
typedef struct word_list {
    rgm_arena *arena;
    const char **items; /* ended by NULL */
    int64_t count, capacity;
} word_list;

static void word_list_clear(word_list *words)
{
    rgm_free(words->items);
    rgm_arena_release(words->arena);
}

/* A borrowed word. */
static rgm_status add(word_list *words, const char *word)
{
    RGM_TRY(RGM_RESERVE(words->items, words->capacity, words->count + 2));
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
    return RGM_OK;
}

static rgm_status add_format(word_list *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static rgm_status add_format(word_list *words, const char *format, ...)
{
    va_list args;
    char *word;
    int size;

    if (words->arena == NULL)
        RGM_TRY(rgm_arena_create(&words->arena));
    va_start(args, format);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    word = rgm_arena_alloc(words->arena, (size_t)size + 1);
    if (word == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a word of %d bytes", size);
    va_start(args, format);
    vsnprintf(word, (size_t)size + 1, format, args);
    va_end(args);
    return add(words, word);
}

/* ---- commands ---- */

/* What the job that the master itself may be in was given is no matter of its trials. */
static bool is_of_slurm(const char *variable)
{
    static const char *const kept[] = {"SLURM_CONF=", "SLURM_CLUSTERS=", "SLURM_JWT="};
    static const char *const dropped[] = {"SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_"};

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return false;
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
            return true;
    return false;
}

static bool is_set_by(const char *const *more, const char *variable)
{
    size_t size = strcspn(variable, "=") + 1;

    for (; more != NULL && *more != NULL; more++)
        if (strncmp(*more, variable, size) == 0)
            return true;
    return false;
}

/* A job that asks for devices has those that Slurm gives it, and not what the master sees. */
static bool is_of_devices(const char *variable)
{
    static const char *const dropped[] = {"CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=",
                                          "GPU_DEVICE_ORDINAL=", "ZE_AFFINITY_MASK="};

    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
            return true;
    return false;
}

static rgm_status run(rgmi_outcome *out, const slurm_state *slurm, const word_list *argv,
                      const char *const *more, bool has_devices)
{
    rgm_status status = RGM_OK;
    word_list environment = {0};

    *out = (rgmi_outcome){0};
    for (char **variable = environ; *variable != NULL; variable++)
        if (!is_of_slurm(*variable) && !is_set_by(more, *variable) &&
            !(has_devices && is_of_devices(*variable)))
            RGM_GO(add(&environment, *variable));
    for (; more != NULL && *more != NULL; more++)
        RGM_GO(add(&environment, *more));
    RGM_GO(rgmi_command_run(out, &(rgmi_command){.argv = argv->items,
                                                 .environment = environment.items,
                                                 .max_size = MAX_PRINTED,
                                                 .seconds = slurm->options.command_s}));
done:
    word_list_clear(&environment);
    return status;
}

/* Whether Slurm could not be asked, rather than that it said no. */
static bool is_passing(const char *said)
{
    static const char *const passing[] = {
        "Unable to contact slurm controller",
        "Socket timed out",
        "temporarily unable to accept job",
        "Zero Bytes were transmitted",
        "Resource temporarily unavailable",
        "Protocol authentication error",
        "Connection refused",
        "Munge encode failed",
        "try again later",
    };

    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (strstr(said, passing[i]) != NULL)
            return true;
    return false;
}

static rgm_status refused(const word_list *argv, const rgmi_outcome *out)
{
    return rgmi_command_fail(is_passing(out->error.data) ? RGM_ERR_IO : RGM_ERR_CONFIG,
                             argv->items[0], out);
}

/* ---- start ---- */

static bool is_name(const char *name)
{
    size_t size = name == NULL ? 0 : strlen(name);

    return size >= 1 && size <= 64 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == size;
}

static rgm_status check_request(const rgmi_job_request *request)
{
    if (!is_name(request->tag.run) || request->tag.experiment < 0 || request->tag.trial < 0)
        return RGM_FAIL(RGM_ERR_ARG, "a job's run is '%s', must be 1 to 64 of A-Z a-z 0-9 - _",
                        request->tag.run);
    if (request->cpus < 1 || request->cpus > 1000000)
        return RGM_FAIL(RGM_ERR_ARG, "a job of %lld processors", (long long)request->cpus);
    if (request->argv[0] == NULL || request->argv[0][0] != '/' || request->folder[0] != '/' ||
        request->output[0] != '/')
        return RGM_FAIL(RGM_ERR_ARG,
                        "a job's program, folder and output must be absolute paths: other nodes "
                        "know no others");
    /* A backslash there turns Slurm's placeholders off, and then "%%" means two of them. */
    if (strchr(request->output, '\\') != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "Slurm takes no output file with a backslash: '%s'",
                        request->output);
    return RGM_OK;
}

/* "--output=PATH" with "%" doubled, since "%j" would be the job's number. */
static rgm_status add_output(word_list *argv, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    for (; *path != '\0'; path++)
        RGM_GO(rgm_text_add(&text, *path == '%' ? "%%" : path, *path == '%' ? 2 : 1));
    RGM_GO(add_format(argv, "--output=%s", text.data));
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status add_resources(word_list *argv, const rgmi_slurm_options *options,
                                const rgmi_job_request *request)
{
    for (int64_t i = 0; i < options->flags.count; i++)
        RGM_TRY(add(argv, options->flags.items[i]));
    RGM_TRY(add(argv, "--nodes=1"));
    RGM_TRY(add(argv, "--ntasks=1"));
    RGM_TRY(add_format(argv, "--cpus-per-task=%lld", (long long)request->cpus));
    if (request->devices > 0)
        RGM_TRY(add_format(argv, "--gres=%s:%lld", request->gres != NULL ? request->gres : "gpu",
                           (long long)request->devices));
    RGM_TRY(add_format(argv, "--signal=B:TERM@%lld", (long long)options->grace_s));
    RGM_TRY(add(argv, options->requeue ? "--requeue" : "--no-requeue"));
    if (options->partition != NULL)
        RGM_TRY(add_format(argv, "--partition=%s", options->partition));
    if (options->time_limit_s > 0)
        RGM_TRY(add_format(argv, "--time=%lld", (long long)(options->time_limit_s + 59) / 60));
    return options->memory_mb > 0 ? add_format(argv, "--mem=%lldM", (long long)options->memory_mb)
                                  : RGM_OK;
}

static rgm_status add_request(word_list *argv, const slurm_state *slurm,
                              const rgmi_job_request *request)
{
    long long experiment = request->tag.experiment, trial = request->tag.trial;

    RGM_TRY(add(argv, "sbatch"));
    RGM_TRY(add_resources(argv, &slurm->options, request));
    RGM_TRY(add(argv, "--parsable"));
    RGM_TRY(add_format(argv, "--job-name=regimen-%lld-%lld", experiment, trial));
    RGM_TRY(add_format(argv, "--comment=regimen/%s/%lld/%lld/%s", slurm->options.master, experiment,
                       trial, request->tag.run));
    RGM_TRY(add_format(argv, "--chdir=%s", request->folder));
    RGM_TRY(add_output(argv, request->output));
    RGM_TRY(add(argv, "--open-mode=append")); /* a job that begins again goes on in its log */
    RGM_TRY(add(argv, slurm->script));
    for (const char *const *word = request->argv; *word != NULL; word++)
        RGM_TRY(add(argv, *word));
    return RGM_OK;
}

/* "123", or "123;cluster", and nothing else. */
static rgm_status read_answer(int64_t *id, const rgm_text *out)
{
    char *end = NULL;
    long long value = out->data[0] >= '0' && out->data[0] <= '9' ? strtoll(out->data, &end, 10) : 0;

    if (value <= 0 || (*end != '\n' && *end != ';' && *end != '\0'))
        return RGM_FAIL(RGM_ERR_IO, "sbatch answered '%.80s', and not with the number of a job",
                        out->data);
    *id = value;
    return RGM_OK;
}

static rgm_status slurm_start(void *state, int64_t *id, const rgmi_job_request *request)
{
    const slurm_state *slurm = state;
    rgm_status status = RGM_OK;
    word_list argv = {0};
    rgmi_outcome out = {0};

    *id = 0;
    RGM_GO(check_request(request));
    RGM_GO(add_request(&argv, slurm, request));
    RGM_GO(run(&out, slurm, &argv, request->environment, request->devices > 0));
    if (out.exit_status != 0)
        RGM_GO(refused(&argv, &out));
    RGM_GO(read_answer(id, &out.out));
done:
    word_list_clear(&argv);
    rgmi_outcome_clear(&out);
    return status;
}

/* ---- follow ---- */

/* All jobs of this master that Slurm remembers, some minutes beyond their ends. */
static rgm_status slurm_find(void *state, rgmi_job **jobs, int64_t *count)
{
    const slurm_state *slurm = state;
    rgm_status status = RGM_OK;
    word_list argv = {0};
    rgmi_outcome out = {0};

    *jobs = NULL;
    *count = 0;
    RGM_GO(add(&argv, "squeue"));
    RGM_GO(add(&argv, "--noheader"));
    RGM_GO(add(&argv, "--states=all"));
    RGM_GO(add_format(&argv, "--user=%lld", (long long)getuid()));
    RGM_GO(add(&argv, "--format=%i|%T|%r|%k"));
    RGM_GO(run(&out, slurm, &argv, NULL, false));
    if (out.exit_status != 0)
        RGM_GO(refused(&argv, &out));
    RGM_GO(rgmi_slurm_read_queue(jobs, count, out.out.data, out.out.size, slurm->options.master));
done:
    word_list_clear(&argv);
    rgmi_outcome_clear(&out);
    return status;
}

static void set_state(rgmi_job *job, rgmi_job_state state, const char *reason)
{
    job->state = state;
    snprintf(job->reason, sizeof job->reason, "%s", reason);
}

/* Jobs that squeue has forgotten, by the accounts; without those they are gone. */
static rgm_status ask_accounts(const slurm_state *slurm, rgmi_job *jobs, int64_t count)
{
    rgm_status status = RGM_OK;
    word_list argv = {0};
    rgmi_outcome out = {0};
    rgm_text ids = {0};
    bool disabled;

    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgm_text_printf(&ids, "%s%lld", i > 0 ? "," : "--jobs=", (long long)jobs[i].id));
    RGM_GO(add(&argv, "sacct"));
    RGM_GO(add(&argv, "--noheader"));
    RGM_GO(add(&argv, "--parsable2"));
    RGM_GO(add(&argv, "--allocations"));
    RGM_GO(add(&argv, "--format=JobIDRaw,State,ExitCode"));
    RGM_GO(add(&argv, ids.data));
    RGM_GO(run(&out, slurm, &argv, NULL, false));
    disabled = strstr(out.error.data, "accounting storage is disabled") != NULL;
    for (int64_t i = 0; i < count; i++)
        if (out.exit_status != 0 && !disabled)
            set_state(&jobs[i], RGMI_JOB_UNKNOWN, "squeue has forgotten it, and sacct failed");
        else
            set_state(&jobs[i], RGMI_JOB_GONE,
                      disabled ? "squeue has forgotten it, and Slurm keeps no accounts"
                               : "neither squeue nor sacct knows it");
    if (out.exit_status == 0)
        rgmi_slurm_read_accounts(jobs, count, out.out.data, out.out.size);
done:
    word_list_clear(&argv);
    rgmi_outcome_clear(&out);
    rgm_text_clear(&ids);
    return status;
}

static int compare_ids(const void *left, const void *right)
{
    const rgmi_job *a = left, *b = right;

    return a->id < b->id ? -1 : a->id > b->id;
}

/* A number can be somebody else's by now, of a Slurm that was set up anew: the tag decides. */
static bool is_same(const rgmi_job *a, const rgmi_job *b)
{
    return a->tag.experiment == b->tag.experiment && a->tag.trial == b->tag.trial &&
           strcmp(a->tag.run, b->tag.run) == 0;
}

/* Jobs by what the queue says of them; the others are put into `missing`. */
static int64_t look_up(rgmi_job *jobs, int64_t count, rgmi_job *queue, int64_t length,
                       rgmi_job *missing)
{
    int64_t num_missing = 0;

    if (length > 0)
        qsort(queue, (size_t)length, sizeof *queue, compare_ids);
    for (int64_t i = 0; i < count; i++) {
        const rgmi_job *found =
            length == 0 ? NULL
                        : bsearch(&jobs[i], queue, (size_t)length, sizeof *queue, compare_ids);

        if (found != NULL && is_same(found, &jobs[i]))
            jobs[i] = *found;
        else
            missing[num_missing++] = jobs[i];
    }
    return num_missing;
}

static rgm_status slurm_poll(void *state, rgmi_job *jobs, int64_t count)
{
    rgm_status status = RGM_OK;
    rgmi_job *queue = NULL, *missing = NULL, *seen = NULL;
    int64_t length, num_missing, next = 0;

    if (count == 0)
        return RGM_OK;
    RGM_GO(slurm_find(state, &queue, &length));
    RGM_GO(RGM_NEW(missing, count));
    RGM_GO(RGM_NEW(seen, count));
    memcpy(seen, jobs, (size_t)count * sizeof *jobs);
    num_missing = look_up(seen, count, queue, length, missing);
    for (int64_t i = 0; i < num_missing; i += IDS_AT_ONCE) {
        int64_t part = num_missing - i < IDS_AT_ONCE ? num_missing - i : IDS_AT_ONCE;

        RGM_GO(ask_accounts(state, missing + i, part));
    }
    for (int64_t i = 0; i < count && next < num_missing; i++)
        if (seen[i].id == missing[next].id && is_same(&seen[i], &missing[next]))
            seen[i] = missing[next++];
    memcpy(jobs, seen, (size_t)count * sizeof *jobs);
done:
    rgm_free(queue);
    rgm_free(missing);
    rgm_free(seen);
    return status;
}

/* ---- stop ---- */

/* What a command about one job came to. Its status says little (scancel ends with errno's number,
 * modulo 256, and with 0 where it was refused), so its words are read: nothing, or that there is no
 * such job any more, is no failure. */
static rgm_status tell(const slurm_state *slurm, const char *const *command, int64_t id)
{
    rgm_status status = RGM_OK;
    word_list argv = {0};
    rgmi_outcome out = {0};

    for (; *command != NULL; command++)
        RGM_GO(add(&argv, *command));
    RGM_GO(add_format(&argv, "%lld", (long long)id));
    RGM_GO(run(&out, slurm, &argv, NULL, false));
    if (out.error.size > 0 && strstr(out.error.data, "Invalid job id specified") == NULL &&
        strstr(out.error.data, "already completing or completed") == NULL)
        RGM_GO(refused(&argv, &out));
done:
    word_list_clear(&argv);
    rgmi_outcome_clear(&out);
    return status;
}

#define SCANCEL(...) ((const char *const[]){"scancel", __VA_ARGS__, NULL})

static rgm_status slurm_stop(void *state, const rgmi_job *job)
{
    RGM_TRY(tell(state, SCANCEL("--state=PENDING"), job->id));
    return tell(state, SCANCEL("--batch", "--signal=TERM"), job->id);
}

/* First its program, at once: a cancelled job is sent SIGTERM, and has some time to save its state.
 * With
 * --full the signal would be that, too. */
static rgm_status slurm_kill(void *state, const rgmi_job *job)
{
    RGM_TRY(tell(state, SCANCEL("--state=PENDING"), job->id));
    if (tell(state, SCANCEL("--batch", "--signal=KILL"), job->id) == RGM_ERR_NOMEM)
        return RGM_ERR_NOMEM;
    return tell(state, (const char *const[]){"scancel", NULL}, job->id);
}

static rgm_status slurm_requeue(void *state, const rgmi_job *job)
{
    return tell(state, (const char *const[]){"scontrol", "requeue", NULL}, job->id);
}

/* ---- options ---- */

/* Flags that make of a job something else: several, none, one that is waited for. sbatch takes the
 * beginnings of names as well. */
static rgm_status check_flag(const char *flag)
{
    static const char *const others[] = {
        "--array",     "--wrap",     "--wait",     "--test-only", "--help",      "--usage",
        "--version",   "--parsable", "--job-name", "--comment",   "--output",    "--error",
        "--open-mode", "--chdir",    "--signal",   "--requeue",   "--no-requeue"};
    size_t size = strcspn(flag, "=");

    if (strncmp(flag, "--", 2) != 0 || size < 3)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "sbatch's flag '%s' must be of the form --name or --name=value", flag);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(flag, others[i], size) == 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "sbatch's flag '%s' is not for trials: their jobs are of a kind", flag);
    return RGM_OK;
}

static rgm_status check_options(const rgmi_slurm_options *options)
{
    if (!is_name(options->master))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "a master's name is '%s', must be 1 to 64 of A-Z a-z 0-9 - _",
                        options->master == NULL ? "" : options->master);
    if (options->folder == NULL || options->folder[0] != '/')
        return RGM_FAIL(RGM_ERR_CONFIG, "Slurm's folder must be an absolute path");
    if (options->grace_s < 0 || options->grace_s > 65535 || options->time_limit_s < 0 ||
        options->memory_mb < 0 || options->command_s < 0)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "Slurm: grace %lld s (0..65535), time limit %lld s, memory %lld MB, %g s for "
            "a command: none can be below 0",
            (long long)options->grace_s, (long long)options->time_limit_s,
            (long long)options->memory_mb, options->command_s);
    for (int64_t i = 0; i < options->flags.count; i++)
        RGM_TRY(check_flag(options->flags.items[i]));
    return RGM_OK;
}

static rgm_status copy_options(slurm_state *slurm, const rgmi_slurm_options *options)
{
    slurm->options = *options;
    RGM_TRY(rgmi_text_keep(&slurm->options.master, slurm->arena, options->master));
    RGM_TRY(rgmi_text_keep(&slurm->options.folder, slurm->arena, options->folder));
    RGM_TRY(rgmi_text_keep(&slurm->options.partition, slurm->arena, options->partition));
    RGM_TRY(rgmi_texts_keep(&slurm->options.flags, slurm->arena, &options->flags));
    if (slurm->options.grace_s == 0)
        slurm->options.grace_s = 120;
    if (slurm->options.command_s == 0)
        slurm->options.command_s = 60;
    return RGM_OK;
}

/* A job is a script with words behind it. This one becomes the program that they name: no word is
 * read by a shell, and the signal for the script reaches the program. Lines of one's own are shell;
 * one that fails ends the job, and none is taken for an option of sbatch, which reads those before
 * the first command alone. */
static rgm_status write_script(slurm_state *slurm)
{
    const rgm_texts *setup = &slurm->options.setup;
    char *path = NULL;
    rgm_text script = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, slurm->options.folder, "slurm_job.sh"));
    RGM_GO(rgmi_text_keep(&slurm->script, slurm->arena, path));
    RGM_GO(rgm_text_printf(&script, "#!/bin/sh\n%s", setup->count > 0 ? "set -e\n" : ""));
    for (int64_t i = 0; i < setup->count; i++)
        RGM_GO(rgm_text_printf(&script, "%s\n", setup->items[i]));
    RGM_GO(rgm_text_printf(&script, "exec \"$@\"\n"));
    RGM_GO(rgm_file_save(path, script.data, script.size));
done:
    rgm_text_clear(&script);
    rgm_free(path);
    return status;
}

static void slurm_release(void *state)
{
    slurm_state *slurm = state;

    if (slurm == NULL)
        return;
    rgm_arena_release(slurm->arena);
    rgm_free(slurm);
}

rgm_status rgmi_slurm_create(void **out, const rgmi_slurm_options *options)
{
    rgm_status status = RGM_OK;
    slurm_state *made = NULL;

    *out = NULL;
    RGM_TRY(check_options(options));
    RGM_GO(RGM_NEW(made, 1));
    RGM_GO(rgm_arena_create(&made->arena));
    RGM_GO(copy_options(made, options));
    RGM_GO(write_script(made));
    made->options.setup = (rgm_texts){0}; /* written; the caller's */
    *out = made;
    made = NULL;
done:
    slurm_release(made);
    return status;
}

const rgmi_engine_type rgmi_slurm = {
    .name = "slurm",
    .start = slurm_start,
    .poll = slurm_poll,
    .stop = slurm_stop,
    .kill = slurm_kill,
    .requeue = slurm_requeue,
    .find = slurm_find,
    .release = slurm_release,
};

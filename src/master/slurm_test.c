/*
 * Slurm as an engine, by a recorded fake of its commands: what they are asked, word by word, and
 * what is made of their answers, refusals and silence. tests/slurm_test.sh does the same with a
 * real one.
 */
#include "check.h"
#include "slurm.h"

#include <sys/stat.h>
#include <unistd.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- the fake ---- */

typedef struct slurm_lab {
    char folder[64];
    void *slurm;
} slurm_lab;

static void put(const slurm_lab *lab, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", lab->folder, name);
    if (text == NULL)
        unlink(path);
    else
        CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
}

/* What a command answers from now on. */
static void answer(const slurm_lab *lab, const char *name, const char *out, const char *error,
                   int status)
{
    char file[64], text[16];

    snprintf(file, sizeof file, "%s.out", name);
    put(lab, file, out);
    snprintf(file, sizeof file, "%s.err", name);
    put(lab, file, error);
    snprintf(file, sizeof file, "%s.status", name);
    snprintf(text, sizeof text, "%d", status);
    put(lab, file, text);
}

/* The commands since the last time, with their words. */
static void check_calls(const slurm_lab *lab, const char *expected)
{
    char path[128], *data;
    int64_t size;

    snprintf(path, sizeof path, "%s/calls", lab->folder);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK_TEXT(expected, data);
    rgm_free(data);
    unlink(path);
}

static void open_lab(slurm_lab *lab, const rgmi_slurm_options *options)
{
    static const char *const names[] = {"sbatch", "squeue", "sacct", "scancel", "scontrol"};
    rgmi_slurm_options own = {.requeue = true};
    char here[512], fake[600], path[128];

    if (options != NULL)
        own = *options;
    snprintf(lab->folder, sizeof lab->folder, "%s", check_folder());
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(fake, sizeof fake, "%s/tests/slurm_fake.sh", here);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", lab->folder, names[i]);
        CHECK_INT(0, symlink(fake, path));
    }
    snprintf(fake, sizeof fake, "%s:/usr/bin:/bin", lab->folder);
    setenv("PATH", fake, 1);
    setenv("FAKE_SLURM", lab->folder, 1);
    own.master = "m1";
    own.folder = lab->folder;
    CHECK_OK(rgmi_slurm_create(&lab->slurm, &own));
}

static void close_lab(slurm_lab *lab)
{
    rgmi_slurm.release(lab->slurm);
    CHECK_OK(rgm_folder_remove(lab->folder));
}

static const rgmi_job_request wanted = {
    .tag = {.experiment = 7, .trial = 12, .run = "Tok-en_1"},
    .argv = WORDS("/opt/trial", "--run", "a b;$(x)\n"),
    .environment = WORDS("TRIAL_WORD=x y"),
    .folder = "/data/7/12",
    .output = "/data/7/100%j/trial.log",
    .cpus = 4,
};

/* ---- start ---- */

static void a_job_is_asked_for_word_by_word(void **state)
{
    static const char *const flags[] = {"--account=me", "--exclusive"};
    rgmi_slurm_options options = {.partition = "fast",
                                  .time_limit_s = 3601,
                                  .memory_mb = 2000,
                                  .grace_s = 90,
                                  .requeue = true,
                                  .flags = {flags, 2}};
    char expected[1200], *script;
    int64_t id, size;
    slurm_lab lab;

    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("SBATCH_PARTITION", "slow", 1); /* what the master's own job was given ... */
    setenv("SLURM_MEM_PER_CPU", "1", 1);
    setenv("SLURM_CONF", "/etc/ours.conf", 1); /* ... but where Slurm is */
    open_lab(&lab, &options);
    answer(&lab, "sbatch", "4711\n", NULL, 0);
    CHECK_OK(rgmi_slurm.start(lab.slurm, &id, &wanted));
    CHECK_INT(4711, id);
    snprintf(
        expected, sizeof expected,
        "sbatch\n<--account=me>\n<--exclusive>\n<--nodes=1>\n<--ntasks=1>\n<--cpus-per-task=4>\n"
        "<--signal=B:TERM@90>\n<--requeue>\n<--partition=fast>\n<--time=61>\n<--mem=2000M>\n"
        "<--parsable>\n<--job-name=regimen-7-12>\n<--comment=regimen/m1/7/12/Tok-en_1>\n"
        "<--chdir=/data/7/12>\n<--output=/data/7/100%%%%j/trial.log>\n<--open-mode=append>\n"
        "<%s/slurm_job.sh>\n</opt/trial>\n<--run>\n<a b;$(x)\n>\nSLURM_CONF=/etc/ours.conf\n"
        "TRIAL_WORD=x y\n\n",
        lab.folder);
    check_calls(&lab, expected);
    snprintf(expected, sizeof expected, "%s/slurm_job.sh", lab.folder);
    CHECK_OK(rgm_file_load(&script, &size, expected, 1000));
    CHECK_TEXT("#!/bin/sh\nexec \"$@\"\n", script);
    rgm_free(script);
    answer(&lab, "sbatch", "4712;cluster\n", NULL, 0);
    CHECK_OK(rgmi_slurm.start(lab.slurm, &id, &wanted));
    CHECK_INT(4712, id);
    close_lab(&lab);
    unsetenv("SBATCH_PARTITION");
    unsetenv("SLURM_MEM_PER_CPU");
    unsetenv("SLURM_CONF");
}

/* Devices by their name among Slurm's resources; the job has those, and not what the master sees.
 */
static void devices_are_asked_for_as_gres(void **state)
{
    rgmi_job_request request = wanted;
    char path[128], *calls;
    int64_t id, size;
    slurm_lab lab;

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "5", 1);
    open_lab(&lab, NULL);
    snprintf(path, sizeof path, "%s/calls", lab.folder);
    answer(&lab, "sbatch", "1\n", NULL, 0);
    for (request.devices = 0; request.devices <= 4; request.devices += 2) {
        bool asks = request.devices > 0;

        request.gres = request.devices == 4 ? "gpu:a100" : NULL;
        CHECK_OK(rgmi_slurm.start(lab.slurm, &id, &request));
        CHECK_OK(rgm_file_load(&calls, &size, path, 1 << 20));
        CHECK((strstr(calls, "<--gres=") != NULL) == asks);
        CHECK((strstr(calls, "<--gres=gpu:2>\n") != NULL) == (request.devices == 2));
        CHECK((strstr(calls, "<--gres=gpu:a100:4>\n") != NULL) == (request.devices == 4));
        CHECK((strstr(calls, "CUDA_VISIBLE_DEVICES=5\n") != NULL) == !asks);
        rgm_free(calls);
        unlink(path);
    }
    close_lab(&lab);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void refusals_are_told_from_silence(void **state)
{
    static const char *const answers[] = {"",     "word\n", "12x\n",
                                          "-3\n", "0\n",    "99999999999999999999x\n"};
    int64_t id;
    slurm_lab lab;

    (void)state;
    open_lab(&lab, NULL);
    answer(&lab, "sbatch", NULL,
           "sbatch: error: invalid partition specified: nope\n"
           "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
           1);
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_slurm.start(lab.slurm, &id, &wanted));
    CHECK_MESSAGE("sbatch ended with status 1: sbatch: error: Batch job submission failed: Invalid "
                  "partition name specified");
    answer(
        &lab, "sbatch", NULL,
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
        "failure)\n",
        1);
    CHECK_STATUS(RGM_ERR_IO, rgmi_slurm.start(lab.slurm, &id, &wanted));
    answer(&lab, "sbatch", NULL, NULL, 1);
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_slurm.start(lab.slurm, &id, &wanted));
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        answer(&lab, "sbatch", answers[i], NULL, 0);
        CHECK_STATUS(RGM_ERR_IO, rgmi_slurm.start(lab.slurm, &id, &wanted));
        CHECK_MESSAGE("and not with the number of a job");
        CHECK_INT(0, id);
    }
    close_lab(&lab);
    setenv("PATH", "/nowhere", 1);
    {
        rgmi_slurm_options options = {.master = "m", .folder = check_folder()};

        CHECK_OK(rgmi_slurm_create(&lab.slurm, &options));
        CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_slurm.start(lab.slurm, &id, &wanted));
        CHECK_MESSAGE("there is no program 'sbatch' on the PATH");
        rgmi_slurm.release(lab.slurm);
        CHECK_OK(rgm_folder_remove(options.folder));
    }
}

static void what_cannot_be_a_job_is_refused(void **state)
{
    rgmi_job_request bad = wanted;
    int64_t id;
    slurm_lab lab;

    (void)state;
    open_lab(&lab, NULL);
#define REFUSED(code, change, words)                                                               \
    do {                                                                                           \
        bad = wanted;                                                                              \
        change;                                                                                    \
        CHECK_STATUS(code, rgmi_slurm.start(lab.slurm, &id, &bad));                                \
        CHECK_MESSAGE(words);                                                                      \
    } while (0)
    REFUSED(RGM_ERR_ARG, bad.tag.run[0] = '\0', "a job's run is ''");
    REFUSED(RGM_ERR_ARG, bad.tag.run[2] = '/', "must be 1 to 64 of");
    REFUSED(RGM_ERR_ARG, bad.cpus = 0, "a job of 0 processors");
    REFUSED(RGM_ERR_ARG, bad.argv = WORDS("trial"), "must be absolute paths");
    REFUSED(RGM_ERR_ARG, bad.output = "trial.log", "must be absolute paths");
    REFUSED(RGM_ERR_ARG, bad.folder = "here", "must be absolute paths");
    REFUSED(RGM_ERR_CONFIG, bad.output = "/a\\b", "no output file with a backslash: '/a\\b'");
#undef REFUSED
    close_lab(&lab);
}

static void flags_that_make_something_else_are_refused(void **state)
{
    static const char *const good[] = {"--account=a",  "--exclusive",        "--gres=gpu:1",
                                       "--time-min=3", "--wait-all-nodes=1", "--comma"};
    static const char *const bad[] = {"--wrap=rm",   "--wra=x", "--array=1-9",
                                      "--arr",       "-a1",     "name",
                                      "--",          "",        "-",
                                      "--test-only", "--help",  "--output=/x",
                                      "--jo=x",      "--=x",    "--comment=regimen/m1/1/1/x"};
    const char *folder = check_folder();
    void *slurm;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good - 1; i++) {
        rgmi_slurm_options options = {.master = "m", .folder = folder, .flags = {&good[i], 1}};

        CHECK_OK(rgmi_slurm_create(&slurm, &options));
        rgmi_slurm.release(slurm);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rgmi_slurm_options options = {.master = "m", .folder = folder, .flags = {&bad[i], 1}};

        CHECK_STATUS(RGM_ERR_CONFIG, rgmi_slurm_create(&slurm, &options));
        CHECK_MESSAGE("sbatch's flag '");
        CHECK(slurm == NULL);
    }
#define REFUSED(...)                                                                               \
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_slurm_create(&slurm, &(rgmi_slurm_options){__VA_ARGS__}))
    REFUSED(.master = "a/b", .folder = folder);
    REFUSED(.master = NULL, .folder = folder);
    REFUSED(.master = "m", .folder = "here");
    REFUSED(.master = "m", .folder = folder, .grace_s = 65536);
    REFUSED(.master = "m", .folder = folder, .memory_mb = -1);
#undef REFUSED
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- follow ---- */

/* As squeue --format='%i|%T|%r|%k' of Slurm 22.05 printed it, with others' jobs between. */
static const char queue[] = "1|COMPLETED|None|regimen/m1/7/1/tok1\n"
                            "2|FAILED|NonZeroExitCode|regimen/m1/7/2/tok2\n"
                            "3|PENDING|BeginTime|regimen/m1/7/3/tok3\n"
                            "4|PENDING|PartitionConfig|regimen/m1/7/4/tok4\n"
                            "8|RUNNING|None|(null)\n"
                            "9|RUNNING|None|a|b\n"
                            "c\n"
                            "10|RUNNING|None|regimen/m2/7/1/tok1\n"
                            "11|RUNNING|None|regimen/m1/7/1\n"
                            "12|RUNNING|None|regimen/m1/7/1/tok/en\n"
                            "13|RUNNING|None|regimen/m1/x/1/token\n"
                            "14_2|RUNNING|None|regimen/m1/7/1/token\n"
                            "15|CANCELLED|None|regimen/m1/7/5/tok5\n"
                            "16|COMPLETING|None|regimen/m1/7/6/tok6\n"
                            "17|NODE_FAIL|NodeDown|regimen/m1/7/7/tok7\n"
                            "18|FLYING|None|regimen/m1/7/8/tok8\n"
                            "6|RUNNING|None|regimen/m1/7/9/tok9\n"
                            "19|RUNNING|None|regimen/m1/7/10/tok10"; /* no line feed: cut off */

static const struct {
    int64_t id;
    rgmi_job_state state;
    const char *reason;
} told[] = {
    {1, RGMI_JOB_COMPLETED, ""},
    {2, RGMI_JOB_FAILED, "NonZeroExitCode"},
    {3, RGMI_JOB_PENDING, "BeginTime"},
    {4, RGMI_JOB_PENDING, "PartitionConfig"},
    {15, RGMI_JOB_CANCELLED, ""},
    {16, RGMI_JOB_RUNNING, "COMPLETING"},
    {17, RGMI_JOB_NODE_FAIL, "NodeDown"},
    {18, RGMI_JOB_UNKNOWN, "FLYING"},
    {6, RGMI_JOB_RUNNING, ""},
};
#define NUM_TOLD ((int64_t)(sizeof told / sizeof *told))

static void jobs_are_found_again(void **state)
{
    rgmi_job *jobs;
    int64_t count;
    char expected[200];
    slurm_lab lab;

    (void)state;
    open_lab(&lab, NULL);
    answer(&lab, "squeue", queue, NULL, 0);
    CHECK_OK(rgmi_slurm.find(lab.slurm, &jobs, &count));
    CHECK_INT(NUM_TOLD, count);
    for (int64_t i = 0; i < count; i++) {
        char run[65];

        CHECK_INT(told[i].id, jobs[i].id);
        CHECK_INT(told[i].state, jobs[i].state);
        CHECK_TEXT(told[i].reason, jobs[i].reason);
        CHECK_INT(7, jobs[i].tag.experiment);
        CHECK_INT(i + 1, jobs[i].tag.trial);
        snprintf(run, sizeof run, "tok%d", (int)i + 1);
        CHECK_TEXT(run, jobs[i].tag.run);
    }
    rgm_free(jobs);
    snprintf(expected, sizeof expected,
             "squeue\n<--noheader>\n<--states=all>\n<--user=%d>\n<--format=%%i|%%T|%%r|%%k>\n\n",
             (int)getuid());
    check_calls(&lab, expected);
    answer(&lab, "squeue", NULL,
           "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", 1);
    CHECK_STATUS(RGM_ERR_IO, rgmi_slurm.find(lab.slurm, &jobs, &count));
    CHECK(jobs == NULL);
    close_lab(&lab);
}

static rgmi_job job(int64_t id, int64_t trial)
{
    rgmi_job made = {.id = id, .tag = {.experiment = 7, .trial = trial}, .state = RGMI_JOB_RUNNING};

    snprintf(made.tag.run, sizeof made.tag.run, "tok%d", (int)trial);
    return made;
}

static void forgotten_jobs_are_asked_for_in_the_accounts(void **state)
{
    rgmi_job jobs[5] = {job(40, 20), job(2, 2), job(1, 33), job(41, 21), job(6, 9)};
    slurm_lab lab;

    (void)state;
    open_lab(&lab, NULL);
    answer(&lab, "squeue", queue, NULL, 0);
    answer(&lab, "sacct",
           "40|TIMEOUT|0:0\n1|nonsense\n41|CANCELLED by 1000|0:15\n41|COMPLETED|0:0|x\n", NULL, 0);
    CHECK_OK(rgmi_slurm.poll(lab.slurm, jobs, 5));
    CHECK_INT(RGMI_JOB_TIMEOUT, jobs[0].state);
    CHECK_INT(RGMI_JOB_FAILED, jobs[1].state);
    CHECK_INT(RGMI_JOB_GONE, jobs[2].state); /* 1 is another run's by now */
    CHECK_TEXT("neither squeue nor sacct knows it", jobs[2].reason);
    CHECK_INT(RGMI_JOB_CANCELLED, jobs[3].state);
    CHECK_TEXT("CANCELLED by 1000", jobs[3].reason);
    CHECK_INT(RGMI_JOB_RUNNING, jobs[4].state);
    answer(&lab, "sacct", NULL, "Slurm accounting storage is disabled\n", 1);
    CHECK_OK(rgmi_slurm.poll(lab.slurm, jobs, 5));
    CHECK_INT(RGMI_JOB_GONE, jobs[0].state);
    CHECK_TEXT("squeue has forgotten it, and Slurm keeps no accounts", jobs[0].reason);
    answer(&lab, "sacct", NULL, "sacct: error: slurm_persist_conn_open_without_init: failed\n", 1);
    CHECK_OK(rgmi_slurm.poll(lab.slurm, jobs, 5));
    CHECK_INT(RGMI_JOB_UNKNOWN, jobs[0].state); /* to be asked again: not a failure of the trial */
    CHECK_INT(RGMI_JOB_FAILED, jobs[1].state);
    answer(&lab, "squeue", NULL, "slurm_load_jobs error: Socket timed out on send/recv operation\n",
           1);
    jobs[1].state = RGMI_JOB_RUNNING;
    CHECK_STATUS(RGM_ERR_IO, rgmi_slurm.poll(lab.slurm, jobs, 5));
    CHECK_INT(RGMI_JOB_RUNNING, jobs[1].state);
    CHECK_OK(rgmi_slurm.poll(lab.slurm, jobs, 0));
    close_lab(&lab);
}

static void states_have_names(void **state)
{
    (void)state;
    CHECK_INT(RGMI_JOB_OUT_OF_MEMORY, rgmi_slurm_state("OUT_OF_MEMORY", 13));
    CHECK_INT(RGMI_JOB_PREEMPTED, rgmi_slurm_state("PREEMPTED", 9));
    CHECK_INT(RGMI_JOB_UNKNOWN, rgmi_slurm_state("PREEMPT", 7));
    CHECK_INT(RGMI_JOB_UNKNOWN, rgmi_slurm_state("", 0));
    for (int i = 0; i <= RGMI_JOB_UNKNOWN; i++)
        CHECK(rgmi_job_state_name((rgmi_job_state)i) != NULL);
    CHECK(rgmi_job_state_name((rgmi_job_state)(RGMI_JOB_UNKNOWN + 1)) == NULL);
    CHECK(rgmi_job_is_over(RGMI_JOB_GONE) && rgmi_job_is_over(RGMI_JOB_COMPLETED));
    CHECK(!rgmi_job_is_over(RGMI_JOB_UNKNOWN) && !rgmi_job_is_over(RGMI_JOB_PENDING));
}

/* Whatever is printed: no job that is not written in our form, nothing read beyond the end. */
static void any_print_is_read(void **state)
{
    rgm_rng rng = rgm_rng_stream(13, "prints", 0);
    uint64_t at = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t size = (int64_t)rgm_rng_below(&rng, at++, sizeof queue), count;
        char *printed = rgm_malloc((size_t)size);
        rgmi_job *jobs, one = job(1, 1);

        memcpy(printed, queue, (size_t)size);
        for (uint64_t k = rgm_rng_below(&rng, at++, 4); k > 0 && size > 0; k--) {
            uint64_t where = rgm_rng_below(&rng, at++, (uint64_t)size);

            printed[where] = "|\n/0 9\0r\xff"[rgm_rng_below(&rng, at++, 9)];
        }
        CHECK_OK(rgmi_slurm_read_queue(&jobs, &count, printed, size, "m1"));
        CHECK(count <= NUM_TOLD + 8);
        for (int64_t k = 0; k < count; k++)
            CHECK(jobs[k].id >= 0 && strlen(jobs[k].reason) < sizeof jobs[k].reason);
        rgmi_slurm_read_accounts(&one, 1, printed, size);
        rgm_free(jobs);
        rgm_free(printed);
    }
}

/* ---- stop ---- */

static void jobs_are_stopped_killed_and_begun_again(void **state)
{
    slurm_lab lab;

    (void)state;
    open_lab(&lab, NULL);
    CHECK_OK(rgmi_slurm.stop(lab.slurm, &(rgmi_job){.id = 5}));
    check_calls(&lab, "scancel\n<--state=PENDING>\n<5>\n\n"
                      "scancel\n<--batch>\n<--signal=TERM>\n<5>\n\n");
    CHECK_OK(rgmi_slurm.kill(lab.slurm, &(rgmi_job){.id = 5}));
    check_calls(&lab, "scancel\n<--state=PENDING>\n<5>\n\n"
                      "scancel\n<--batch>\n<--signal=KILL>\n<5>\n\nscancel\n<5>\n\n");
    CHECK_OK(rgmi_slurm.requeue(lab.slurm, &(rgmi_job){.id = 5}));
    check_calls(&lab, "scontrol\n<requeue>\n<5>\n\n");
    answer(&lab, "scancel", NULL, NULL, 1); /* no job in that state */
    CHECK_OK(rgmi_slurm.stop(lab.slurm, &(rgmi_job){.id = 5}));
    answer(&lab, "scancel", NULL,
           "scancel: error: Kill job error on job id 5: Invalid job id specified\n", 1);
    CHECK_OK(rgmi_slurm.stop(lab.slurm, &(rgmi_job){.id = 5})); /* it is over */
    answer(&lab, "scancel", NULL,
           "scancel: error: Kill job error on job id 5: Job can not be altered now, try again "
           "later\n",
           228);
    CHECK_STATUS(RGM_ERR_IO, rgmi_slurm.stop(lab.slurm, &(rgmi_job){.id = 5}));
    answer(&lab, "scancel", NULL,
           "scancel: error: Kill job error on job id 5: Access/permission denied\n", 0);
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_slurm.kill(lab.slurm, &(rgmi_job){.id = 5}));
    CHECK_MESSAGE("Access/permission denied");
    close_lab(&lab);
}

static void without_memory_nothing_is_asked_or_known(void **state)
{
    rgmi_job jobs[2] = {job(40, 20), job(2, 2)}, *found;
    rgmi_slurm_options options = {0};
    int64_t id, count;
    void *slurm;
    slurm_lab lab;

    (void)state;
    open_lab(&lab, NULL);
    answer(&lab, "sbatch", "5\n", NULL, 0);
    answer(&lab, "squeue", queue, NULL, 0);
    answer(&lab, "sacct", "40|TIMEOUT|0:0\n", NULL, 0);
    options = (rgmi_slurm_options){.master = "m", .folder = lab.folder, .partition = "p"};
    CHECK_EVERY_OOM(rgmi_slurm_create(&slurm, &options), rgmi_slurm.release(slurm));
    CHECK_EVERY_OOM(rgmi_slurm.start(lab.slurm, &id, &wanted), (void)id);
    CHECK_EVERY_OOM(rgmi_slurm.find(lab.slurm, &found, &count), rgm_free(found));
    CHECK_EVERY_OOM(rgmi_slurm.poll(lab.slurm, jobs, 2), (void)0);
    CHECK_EVERY_OOM(rgmi_slurm.stop(lab.slurm, &(rgmi_job){.id = 5}), (void)0);
    close_lab(&lab);
}

TESTS(cmocka_unit_test(a_job_is_asked_for_word_by_word),
      cmocka_unit_test(devices_are_asked_for_as_gres),
      cmocka_unit_test(refusals_are_told_from_silence),
      cmocka_unit_test(what_cannot_be_a_job_is_refused),
      cmocka_unit_test(flags_that_make_something_else_are_refused),
      cmocka_unit_test(jobs_are_found_again),
      cmocka_unit_test(forgotten_jobs_are_asked_for_in_the_accounts),
      cmocka_unit_test(states_have_names), cmocka_unit_test(any_print_is_read),
      cmocka_unit_test(jobs_are_stopped_killed_and_begun_again),
      cmocka_unit_test(without_memory_nothing_is_asked_or_known))

/*
 * The run folder: its content, who may enter it, and what a second start may change.
 */
#include <check.h>

#include <regimen/store.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_internal.h"

static char *load(const char *folder, const char *name)
{
    char path[512], *data = NULL;
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    return data;
}

static void a_new_folder_gets_its_files(void **state)
{
    const char *folder = check_folder();
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run = NULL;
    char path[256], *text = NULL;
    int64_t size;

    (void)state;
    snprintf(path, sizeof path, "%s/runs/one", folder);
    options.config = "task: {type: x}\n";
    options.seed = UINT64_MAX;
    options.threads = 2;
    options.isa = "avx2";
    CHECK_OK(rgm_run_folder_open(&run, path, &options));
    rgm_log_write(RGM_LOG_INFO, "of no run");
    CHECK(rgm_logger_enter(rgm_run_folder_logger(run)) == NULL);
    rgm_log_write(RGM_LOG_WARNING, "a\nb\033[31m");
    rgm_log_write(RGM_LOG_INFO, "c");
    rgm_logger_enter(NULL);
    CHECK_OK(rgm_run_folder_config(&text, &size, path));
    CHECK_TEXT("task: {type: x}\n", text);
    rgm_free(text);
    text = load(path, "env.json");
    CHECK(strstr(text, "\"threads\": 2") && strstr(text, "\"isa\": \"avx2\"") &&
          strstr(text, "\"seed\": 18446744073709551615") && strstr(text, "\"host\": \""));
    rgm_free(text);
    text = load(path, "log.txt");
    CHECK(strstr(text, "Z warning a\\x0ab\\x1b[31m\n") != NULL);
    CHECK(strstr(text, "Z info c\n") != NULL);
    CHECK(strstr(text, "of no run") == NULL);
    rgm_free(text);
    rgm_run_folder_close(run);
    CHECK_OK(rgm_folder_remove(folder));
}

static void two_folders_keep_their_logs_apart(void **state)
{
    static const char *const names[] = {"left", "right"};
    const char *folder = check_folder();
    rgm_run_folder *runs[2];
    char path[2][256];

    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
        CHECK_OK(rgm_run_folder_open(&runs[i], path[i], NULL));
    }
    for (int i = 0; i < 6; i++) {
        rgm_logger *before = rgm_logger_enter(rgm_run_folder_logger(runs[i % 2]));

        rgm_log_write(RGM_LOG_INFO, "%s %d", names[i % 2], i);
        rgm_logger_enter(before);
    }
    for (int i = 0; i < 2; i++) {
        char *text;

        rgm_run_folder_close(runs[i]);
        text = load(path[i], "log.txt");
        for (int k = 0; k < 6; k++) {
            char line[32];

            snprintf(line, sizeof line, "Z info %s %d\n", names[k % 2], k);
            CHECK((strstr(text, line) != NULL) == (k % 2 == i));
        }
        rgm_free(text);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

static void the_second_trainer_is_told_who_the_first_is(void **state)
{
    const char *folder = check_folder();
    rgm_run_folder *first = NULL, *second = NULL;
    char holder[64], host[256] = "";

    (void)state;
    CHECK_OK(rgm_run_folder_open(&first, folder, NULL));
    /* The lock belongs to an open file, so the same process can stand for another one. */
    CHECK_STATUS(RGM_ERR_BUSY, rgm_run_folder_open(&second, folder, NULL));
    CHECK(second == NULL);
    snprintf(holder, sizeof holder, "in use by pid %ld on host ", (long)getpid());
    CHECK_MESSAGE(holder);
    gethostname(host, sizeof host - 1);
    CHECK_MESSAGE(host);
    rgm_run_folder_close(first);
    CHECK_OK(rgm_run_folder_open(&second, folder, NULL));
    rgm_run_folder_close(second);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_look_tells_whether_a_folder_is_in_use(void **state)
{
    enum { LOOKS = 2000 };
    const char *folder = check_folder();
    rgm_run_folder *run = NULL;
    bool used = true;
    pid_t child;

    (void)state;
    CHECK_OK(rgm_run_folder_in_use(&used, folder));
    CHECK(!used);
    CHECK_OK(rgm_run_folder_open(&run, folder, NULL));
    CHECK_OK(rgm_run_folder_in_use(&used, folder));
    CHECK(used);
    rgm_run_folder_close(run);
    CHECK_OK(rgm_run_folder_in_use(&used, folder));
    CHECK(!used);
    /* A reader does not keep a trainer out. */
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < LOOKS; i++) {
            if (rgm_run_folder_in_use(&used, folder) != RGM_OK)
                _exit(1);
            usleep(100);
        }
        _exit(0);
    }
    for (int result = 0; waitpid(child, &result, WNOHANG) == 0;) {
        CHECK_OK(rgm_run_folder_open(&run, folder, NULL));
        rgm_run_folder_close(run);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

static void of_many_that_start_at_once_one_proceeds(void **state)
{
    enum { PROCESSES = 20 };
    const char *folder = check_folder();
    struct report {
        pid_t child;
        rgm_status status;
    } reports[PROCESSES], own;
    int won = 0, busy = 0, go[2], done[2], result;
    char byte;

    (void)state;
    CHECK_INT(0, pipe(go));
    CHECK_INT(0, pipe(done));
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();

        CHECK(child >= 0);
        if (child == 0) {
            rgm_run_folder *run = NULL;

            close(go[1]);
            close(done[0]);
            if (read(go[0], &byte, 1) != 0) /* all begin when the parent closes its end */
                _exit(9);
            own.child = getpid();
            own.status = rgm_run_folder_open(&run, folder, NULL);
            if (write(done[1], &own, sizeof own) != sizeof own)
                _exit(9);
            pause(); /* hold the lock, if it has it, until killed */
        }
    }
    close(go[0]);
    close(go[1]);
    close(done[1]);
    for (int i = 0; i < PROCESSES; i++) /* each comes whole: it is shorter than PIPE_BUF */
        CHECK_INT(sizeof own, read(done[0], &reports[i], sizeof own));
    close(done[0]);
    for (int i = 0; i < PROCESSES; i++) {
        won += reports[i].status == RGM_OK;
        busy += reports[i].status == RGM_ERR_BUSY;
        kill(reports[i].child, SIGKILL);
        CHECK_INT(reports[i].child, waitpid(reports[i].child, &result, 0));
    }
    CHECK_INT(1, won);
    CHECK_INT(PROCESSES - 1, busy);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Something was learned in the folder. */
static void make_step(const char *folder)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/ckpt/step-00000001", folder);
    CHECK_OK(rgm_folder_make(path));
}

static bool is_bound(const char *folder)
{
    bool bound;

    CHECK_OK(rgm_run_folder_is_bound(&bound, folder));
    return bound;
}

static void a_changed_configuration_is_refused_with_its_line(void **state)
{
    const char *folder = check_folder();
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run = NULL;
    char *text = NULL;
    int64_t size;

    (void)state;
    options.config = "a: 0\n"; /* before anything was saved, the next start may say anything */
    CHECK_OK(rgm_run_folder_open(&run, folder, &options));
    rgm_run_folder_close(run);
    CHECK(!is_bound(folder));
    options.config = "a: 1\nb: 2\n";
    CHECK_OK(rgm_run_folder_open(&run, folder, &options));
    CHECK(is_bound(folder)); /* somebody trains there */
    rgm_run_folder_close(run);
    CHECK(!is_bound(folder));
    make_step(folder);
    CHECK(is_bound(folder));
    CHECK_OK(rgm_run_folder_open(&run, folder, &options));
    rgm_run_folder_close(run);
    options.config = "a: 1\nb: 3\n";
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_run_folder_open(&run, folder, &options));
    CHECK_MESSAGE("line 2, b was 2 and is now 3: ");
    options.config = "a: 1\n";
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_run_folder_open(&run, folder, &options));
    CHECK_MESSAGE("line 2, b was 2 and is now not set: ");
    options.resume = RGM_RESUME_NEVER;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_run_folder_open(&run, folder, &options));
    CHECK_MESSAGE("holds a run already");
    CHECK_OK(rgm_run_folder_config(&text, &size, folder));
    CHECK_TEXT("a: 1\nb: 2\n", text);
    rgm_free(text);
    options.resume = RGM_RESUME_ANY;
    CHECK_OK(rgm_run_folder_open(&run, folder, &options));
    rgm_run_folder_close(run);
    CHECK_OK(rgm_run_folder_config(&text, &size, folder));
    CHECK_TEXT("a: 1\n", text);
    rgm_free(text);
    CHECK_OK(rgm_folder_remove(folder));
}

static const rgm_resume_key some_keys[] = {
    {"trainer.epochs", RGM_KEY_FREE},  {"trainer.profile", RGM_KEY_FREE},
    {"optimizer.type", RGM_KEY_FIXED}, {"optimizer.*", RGM_KEY_TOLD},
    {"data.path", RGM_KEY_CONTENT},    {0},
};

/* Start a run in the folder with this configuration. */
static rgm_status start_with(const char *folder, const char *config)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run = NULL;
    rgm_status status;

    options.config = config;
    options.resume_keys = some_keys;
    status = rgm_run_folder_open(&run, folder, &options);
    rgm_run_folder_close(run);
    return status;
}

static void check_file(const char *folder, const char *name, const char *expected)
{
    char *path = NULL, *text = NULL;
    int64_t size;

    CHECK_OK(rgm_path_join(&path, folder, name));
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    if (strstr(text, expected) == NULL)
        fail_msg("%s has no \"%s\": %s", name, expected, text);
    rgm_free(text);
    rgm_free(path);
}

static void keys_that_may_differ_do_and_are_told(void **state)
{
    static const char *const changed[] = {
        "a: 1\ntrainer:\n  epochs: 20\noptimizer: {type: sgd, rate: 1}\n",
        "a: 1\noptimizer: {type: sgd, rate: 1}\n", /* the order of keys means nothing */
        "trainer: {profile: {steps: 7, most: [1, 2]}}\na: 1\noptimizer: {rate: 1, type: sgd}\n",
        "a: 1\noptimizer: {type: sgd, rate: 2, clip: {by: 3}}\n",
    };
    static const struct {
        const char *config, *message;
    } refused[] = {
        {"a: 1\noptimizer: {type: adam, rate: 2, clip: {by: 3}}\n",
         "line 2, optimizer.type was sgd and is now adam: "},
        {"a: 1\noptimizer: {type: sgd, rate: 2}\ntrainer: {keep: 2}\n",
         "line 3, trainer.keep was not set and is now 2: "},
        {"optimizer: {type: sgd, rate: 2}\n", "line 1, a was 1 and is now not set: "},
    };
    const char *folder = check_folder();
    bool has = true;

    (void)state;
    make_step(folder);
    CHECK_OK(start_with(folder, "a: 1\ntrainer:\n  epochs: 10\noptimizer: {type: sgd, rate: 1}\n"));
    CHECK_OK(rgm_run_folder_has_changed(&has, folder, "*"));
    CHECK_INT(0, has);
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        CHECK_OK(start_with(folder, changed[i]));
        check_file(folder, "config.yaml", changed[i]);
    }
    check_file(
        folder, "log.txt",
        "info the run continues with another value of trainer.epochs: it was 10 and is now 20\n");
    check_file(folder, "log.txt",
               "of trainer.profile: it was not set and is now {steps: 7, most: [1, 2]}\n");
    check_file(
        folder, "log.txt",
        "warning the run continues with another value of optimizer.rate: it was 1 and is now 2\n");
    check_file(folder, "changes.jsonl",
               "\"key\": \"optimizer.clip\", \"was\": \"\", \"is\": \"{by: 3}\"}\n");
    CHECK_OK(rgm_run_folder_has_changed(&has, folder, "optimizer.*"));
    CHECK_INT(1, has);
    CHECK_OK(rgm_run_folder_has_changed(&has, folder, "data.*"));
    CHECK_INT(0, has);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK_STATUS(RGM_ERR_CONFIG, start_with(folder, refused[i].config));
        CHECK_MESSAGE(refused[i].message);
        check_file(folder, "config.yaml", changed[3]);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

/* Make a folder with two files below `folder`, and the configuration that names it. */
static void make_data(char *config, size_t size, const char *folder, const char *name,
                      const char *text)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s/deep", folder, name);
    CHECK_OK(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/%s/deep/a.csv", folder, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    snprintf(path, sizeof path, "%s/%s/b.csv", folder, name);
    CHECK_OK(rgm_file_save(path, "1\n", 2));
    snprintf(config, size, "data: {path: \"%s/%s\"}\n", folder, name);
}

static void data_may_move_if_they_stay_the_same(void **state)
{
    const char *folder = check_folder();
    char run[4096], here[4200], there[4200], other[4200], gone[4200], file[4200];

    (void)state;
    snprintf(run, sizeof run, "%s/run", folder);
    make_data(here, sizeof here, folder, "here", "x\n");
    make_data(there, sizeof there, folder, "there", "x\n");
    make_data(other, sizeof other, folder, "other", "y\n");
    snprintf(gone, sizeof gone, "data: {path: \"%s/gone\"}\n", folder);
    CHECK_OK(start_with(run, here));
    make_step(run);
    CHECK_OK(start_with(run, there));
    check_file(run, "log.txt", "there\", with the same content\n");
    CHECK_STATUS(RGM_ERR_CONFIG, start_with(run, other));
    CHECK_MESSAGE("files or contents there are others than at the start");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, start_with(run, gone));
    CHECK_STATUS(RGM_ERR_CONFIG, start_with(run, "{}\n"));

    /* The same path and other data: told, since nobody can tell what they were. */
    make_data(there, sizeof there, folder, "there", "z\n");
    CHECK_OK(start_with(run, there));
    check_file(run, "log.txt",
               "warning data.path: files or contents there are others than at the start\n");

    /* A run of before has no hash. */
    snprintf(file, sizeof file, "%s/content.json", run);
    CHECK_OK(rgm_file_save(file, "{}\n", 3));
    CHECK_OK(start_with(run, other));
    check_file(run, "log.txt", "warning the run continues with another value of data.path");
    CHECK_OK(rgm_folder_remove(folder));
}

static void data_bind_from_the_first_checkpoint_on(void **state)
{
    const char *folder = check_folder();
    char run[4096], here[4200], there[4200], *text;

    (void)state;
    snprintf(run, sizeof run, "%s/run", folder);
    make_data(here, sizeof here, folder, "here", "wrong\n");
    CHECK_OK(start_with(run, here)); /* and it fails behind that */
    make_data(here, sizeof here, folder, "here", "right\n");
    CHECK_OK(start_with(run, here));
    make_step(run);
    CHECK_OK(start_with(run, here));
    text = load(run, "log.txt");
    CHECK(strstr(text, "files or contents there are others") == NULL);
    rgm_free(text);
    make_data(there, sizeof there, folder, "there", "wrong\n");
    CHECK_STATUS(RGM_ERR_CONFIG, start_with(run, there));
    make_data(there, sizeof there, folder, "there", "right\n");
    CHECK_OK(start_with(run, there));
    CHECK_OK(rgm_folder_remove(folder));
}

/* They are never compared; another configuration has its own. */
static void sources_go_with_the_configuration(void **state)
{
    static const struct {
        const char *config, *sources, *then;
    } starts[] = {{"a: 1\n", NULL, NULL}, /* like a folder from before this file existed */
                  {"a: 1\n", "{1}", "{1}"},
                  {"a: 1\n", "{2}", "{1}"},
                  {"a: 1\nepochs: 2\n", "{3}", "{3}"},
                  {"a: 1\nepochs: 3\n", NULL, "{3}"}};
    const char *folder = check_folder();
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run = NULL;
    char path[256], *text;

    (void)state;
    options.resume_keys = (const rgm_resume_key[]){{"epochs", RGM_KEY_FREE}, {0}};
    snprintf(path, sizeof path, "%s/sources.json", folder);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        options.config = starts[i].config;
        options.sources = starts[i].sources;
        CHECK_OK(rgm_run_folder_open(&run, folder, &options));
        rgm_run_folder_close(run);
        if (starts[i].then == NULL) {
            CHECK(!rgm_path_exists(path));
            continue;
        }
        text = load(folder, "sources.json");
        CHECK_TEXT(starts[i].then, text);
        rgm_free(text);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_lock_that_is_a_link_is_not_followed(void **state)
{
    const char *folder = check_folder();
    rgm_run_folder *run = NULL;
    char path[256], target[256];

    (void)state;
    snprintf(path, sizeof path, "%s/.lock", folder);
    snprintf(target, sizeof target, "%s/precious", folder);
    CHECK_OK(rgm_file_create(target, "gold", 4));
    CHECK_INT(0, symlink(target, path));
    CHECK_STATUS(RGM_ERR_IO, rgm_run_folder_open(&run, folder, NULL));
    char *text = load(folder, "precious");
    CHECK_TEXT("gold", text);
    rgm_free(text);
    CHECK_OK(rgm_folder_remove(folder));
}

/* config.yaml and env.json are written at each start, but never through a link of that name. */
static void files_that_are_links_are_not_written_through(void **state)
{
    static const char *const names[] = {"config.yaml", "env.json", "log.txt"};
    const char *folder = check_folder();
    rgm_run_folder_options options = {.config = "b\n", .resume = RGM_RESUME_ANY};
    rgm_run_folder *run = NULL;
    char theirs[256], ours[256], *text;

    (void)state;
    snprintf(theirs, sizeof theirs, "%s/theirs", folder);
    CHECK_OK(rgm_file_create(theirs, "a\n", 2));
    for (int i = 0; i < 3; i++) {
        snprintf(ours, sizeof ours, "%s/%s", folder, names[i]);
        (void)unlink(ours);
        CHECK_INT(0, symlink(theirs, ours));
        CHECK_STATUS(RGM_ERR_IO, rgm_run_folder_open(&run, folder, &options));
        CHECK_MESSAGE(names[i]);
        text = load(folder, "theirs");
        CHECK_TEXT("a\n", text);
        rgm_free(text);
        CHECK_INT(0, unlink(ours));
    }
    CHECK_OK(rgm_run_folder_open(&run, folder, &options));
    rgm_run_folder_close(run);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A folder whose run began with another rate and with data that have moved. */
static rgm_status start_changed(rgm_run_folder **run, const char *folder)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    char path[4096], config[8400];

    snprintf(path, sizeof path, "%s/run/config.yaml", folder);
    snprintf(config, sizeof config, "data: {path: \"%s/here\"}\noptimizer: {rate: 1}\n", folder);
    RGM_TRY(rgm_file_save(path, config, (int64_t)strlen(config)));
    snprintf(config, sizeof config, "data: {path: \"%s/there\"}\noptimizer: {rate: 2}\n", folder);
    options.config = config;
    options.resume_keys = some_keys;
    snprintf(path, sizeof path, "%s/run", folder);
    return rgm_run_folder_open(run, path, &options);
}

static void opening_survives_every_failing_allocation(void **state)
{
    const char *folder = check_folder();
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run = NULL;
    char run_dir[4096], config[4200];

    (void)state;
    snprintf(run_dir, sizeof run_dir, "%s/run", folder);
    make_data(config, sizeof config, folder, "here", "x\n");
    options.config = config;
    options.resume_keys = some_keys;
    CHECK_EVERY_OOM(rgm_run_folder_open(&run, run_dir, &options), rgm_run_folder_close(run));
    make_data(config, sizeof config, folder, "there", "x\n");
    make_step(run_dir);
    CHECK_EVERY_OOM(start_changed(&run, folder), rgm_run_folder_close(run));
    CHECK_OK(rgm_folder_remove(folder));
}

/* A process that trains in a folder until it is told to end, and says then by its status that it
 * was. */
static void told(int number)
{
    (void)number;
    _exit(7);
}

static pid_t start_trainer(const char *folder)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run;
    int ready[2];
    char byte = 0;
    pid_t pid;

    CHECK_INT(0, pipe(ready));
    pid = fork();
    if (pid == 0) {
        alarm(60);
        signal(SIGTERM, told);
        options.config = "a: 1\n";
        if (rgm_run_folder_open(&run, folder, &options) == RGM_OK && write(ready[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ready[1]);
    CHECK_INT(1, read(ready[0], &byte, 1));
    close(ready[0]);
    return pid;
}

static void a_run_is_stopped_and_deleted_from_outside(void **state)
{
    char folder[200], path[300];
    const char *root = check_folder();
    pid_t pid;
    int status;

    (void)state;
    snprintf(folder, sizeof folder, "%s/run", root);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_folder_delete(root));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_folder_stop(root));
    pid = start_trainer(folder);
    CHECK_STATUS(RGM_ERR_BUSY, rgm_run_folder_delete(folder));
    CHECK_MESSAGE("stop the run first");
    CHECK_OK(rgm_run_folder_stop(folder));
    CHECK_INT(pid, waitpid(pid, &status, 0));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_folder_stop(folder));
    CHECK_MESSAGE("has ended");
    snprintf(path, sizeof path, "%s/run/later/run", root); /* one that trains inside */
    CHECK_OK(rgm_folder_make(path));
    pid = start_trainer(path);
    CHECK_STATUS(RGM_ERR_BUSY, rgm_run_folder_delete(folder));
    CHECK_MESSAGE("later/run is in use");
    CHECK_OK(rgm_run_folder_stop(path));
    CHECK_INT(pid, waitpid(pid, &status, 0));
    snprintf(path, sizeof path, "%s/outside", root);
    CHECK_OK(rgm_file_create(path, "x", 1));
    snprintf(path, sizeof path, "%s/run/link", root);
    CHECK_INT(0, symlink("../outside", path));
    CHECK_OK(rgm_run_folder_delete(folder));
    CHECK(!rgm_path_exists(folder));
    snprintf(path, sizeof path, "%s/outside", root);
    CHECK(rgm_path_exists(path));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_folder_delete(folder));
    CHECK_OK(rgm_folder_remove(root));
}

/* What a lock says is not believed alone: a process that has not its file open gets no signal. */
static void a_process_that_does_not_hold_the_lock_is_left_alone(void **state)
{
    const char *folder = check_folder();
    char path[300], text[400], host[256] = "";
    int fd, status;
    pid_t other = fork();

    (void)state;
    if (other == 0) {
        alarm(60);
        for (;;)
            pause();
    }
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/.lock", folder);
    snprintf(text, sizeof text, "pid %ld on host %s\n", (long)other, host);
    CHECK_OK(rgm_file_create(path, text, (int64_t)strlen(text)));
    fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK_INT(0, flock(fd, LOCK_EX));
    CHECK_STATUS(RGM_ERR_BUSY, rgm_run_folder_stop(folder));
    CHECK_MESSAGE("stop it where it runs");
    CHECK_INT(0, waitpid(other, &status, WNOHANG));
    close(fd);
    CHECK_INT(0, kill(other, SIGKILL));
    CHECK_INT(other, waitpid(other, &status, 0));
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_new_folder_gets_its_files),
      cmocka_unit_test(two_folders_keep_their_logs_apart),
      cmocka_unit_test(the_second_trainer_is_told_who_the_first_is),
      cmocka_unit_test(a_look_tells_whether_a_folder_is_in_use),
      cmocka_unit_test(of_many_that_start_at_once_one_proceeds),
      cmocka_unit_test(a_changed_configuration_is_refused_with_its_line),
      cmocka_unit_test(keys_that_may_differ_do_and_are_told),
      cmocka_unit_test(data_may_move_if_they_stay_the_same),
      cmocka_unit_test(data_bind_from_the_first_checkpoint_on),
      cmocka_unit_test(sources_go_with_the_configuration),
      cmocka_unit_test(a_lock_that_is_a_link_is_not_followed),
      cmocka_unit_test(files_that_are_links_are_not_written_through),
      cmocka_unit_test(a_run_is_stopped_and_deleted_from_outside),
      cmocka_unit_test(a_process_that_does_not_hold_the_lock_is_left_alone),
      cmocka_unit_test(opening_survives_every_failing_allocation))

/*
 * Callbacks of hooks: in which order they are called and what each sees, and that what the program
 * keeps for itself goes into checkpoints and comes back.
 */
#include <check.h>
#include <stdarg.h>
#include <unistd.h>

#include <regimen/trial_task.h>

#include "trial_internal.h"

enum { ROWS = 12, BATCH = 4 };

static char folder[128];
static rgm_search_file *file;

/* What a test changes, and what callbacks told. */
static struct change {
    const char *fails; /* the callback that returns an error */
    bool bad_row;      /* one row of the training data is no number in the first pass */
    bool big, long_name, asks_wrong;
    char told[2000];
} change;

/* What the program keeps for itself. */
typedef struct notes {
    int64_t steps;
    double last; /* loss */
} notes;

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
    size_t size = strlen(change.told);
    va_list args;

    va_start(args, format);
    vsnprintf(change.told + size, sizeof change.told - size, format, args);
    va_end(args);
}

/* ---- the trial ------------------------------------------------------------------------------- */

static rgm_status row(rgm_element **out, int64_t i, void *payload)
{
    static int64_t drawn;
    rgm_tensor *x = NULL;
    rgm_status status;

    RGM_TRY(rgm_tensor_create(&x, RGM_F32, 1, (int64_t[]){BATCH}));
    for (int k = 0; k < BATCH; k++)
        rgm_tensor_f32(x)[k] = (float)(i + 1);
    drawn++;
    if (change.bad_row && payload != NULL && i == 2) {
        rgm_tensor_f32(x)[1] = NAN;
        change.bad_row = drawn < 5; /* the check of the first batches reads it, too */
    }
    status = rgm_element_create_tensors(out, &x, 1);
    rgm_tensor_release(x);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static const char *const names[] = {"x", NULL};
    static int training;

    (void)experiment, (void)hparams;
    out->names = names;
    RGM_TRY(rgm_dataset_from_function(&out->train, ROWS / BATCH, row, &training, NULL));
    return rgm_dataset_from_function(&out->valid, 2, row, NULL, NULL);
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *w = rgm_scope_parameter(scope, "w", 1, (int64_t[]){1}, (rgm_init){RGM_INIT_ONES, 0});
    rgm_value *x = rgm_mean(rgm_record_value(record, "x"));

    (void)is_training, (void)hparams;
    rgm_output(out, "loss", rgm_mul(rgm_reshape(w, 0, NULL), x));
    rgm_output(out, "x", x);
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    return rgm_sgd(rgm_config_float(hparams, "rate"), 0);
}

static rgm_status fail_if_asked(const char *callback)
{
    return change.fails != NULL && strcmp(change.fails, callback) == 0
               ? RGM_FAIL(RGM_ERR_DATA, "the cat sat on it")
               : RGM_OK;
}

static rgm_status on_begin(const rgm_trial_moment *moment, void **state)
{
    notes *n = calloc(1, sizeof *n);

    *state = n;
    CHECK(moment->metrics == NULL && moment->folder == NULL && moment->trainer != NULL);
    CHECK_TEXT("single",
               rgm_config_string(rgm_config_experiment(moment->hparams), "searcher.name"));
    tell("begin %lld\n", (long long)moment->batches);
    return fail_if_asked("on_begin");
}

static rgm_status on_step_end(const rgm_trial_moment *moment, void *state)
{
    notes *n = state;

    n->steps++;
    n->last = rgm_logs_get(moment->metrics, "loss");
    CHECK(rgm_logs_has(moment->metrics, "learning_rate"));
    CHECK_INT(moment->batches, rgm_trainer_global_step(moment->trainer));
    tell("step %lld at %lld\n", (long long)n->steps, (long long)moment->batches);
    if (change.asks_wrong)
        (void)rgm_config_float(moment->hparams, "rat");
    return fail_if_asked("on_step_end");
}

static rgm_status on_validation_end(const rgm_trial_moment *moment, void *state)
{
    CHECK(state != NULL && moment->folder == NULL);
    tell("valid %g at %lld\n", rgm_logs_get(moment->metrics, "x"), (long long)moment->batches);
    return fail_if_asked("on_validation_end");
}

static rgm_status on_save(const rgm_trial_moment *moment, void *state)
{
    const notes *n = state;
    char path[400];
    size_t name = change.long_name ? 120 : 4;

    tell("save at %lld\n", (long long)moment->batches);
    snprintf(path, sizeof path, "%s/notes", moment->folder);
    RGM_TRY(rgm_file_create(path, n, sizeof *n));
    snprintf(path, sizeof path, "%s/deep/empty", moment->folder);
    RGM_TRY(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/deep/%0*d", moment->folder, (int)name, 0);
    RGM_TRY(rgm_file_create(path, "none", 0));
    if (change.big) { /* a hole of 2 GiB */
        snprintf(path, sizeof path, "%s/big", moment->folder);
        RGM_TRY(rgm_file_create(path, "", 0));
        CHECK_INT(0, truncate(path, INT64_C(2) << 30));
    }
    return fail_if_asked("on_save");
}

static rgm_status on_load(const rgm_trial_moment *moment, void *state)
{
    char path[400], *data;
    int64_t size;

    snprintf(path, sizeof path, "%s/deep/empty", moment->folder);
    CHECK(rgm_path_is_folder(path));
    snprintf(path, sizeof path, "%s/deep/0000", moment->folder);
    CHECK(rgm_path_exists(path) && !rgm_path_is_folder(path));
    snprintf(path, sizeof path, "%s/notes", moment->folder);
    RGM_TRY(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK_INT(sizeof(notes), size);
    memcpy(state, data, sizeof(notes));
    rgm_free(data);
    tell("load %lld steps at %lld\n", (long long)((notes *)state)->steps,
         (long long)moment->batches);
    return fail_if_asked("on_load");
}

static void on_end(const rgm_trial_moment *moment, void *state)
{
    CHECK(moment->trainer == NULL && moment->metrics == NULL);
    tell("end %lld\n", (long long)moment->batches);
    free(state);
}

RGM_TRIAL(watched, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .validation_metrics = {"x"}, .on_begin = on_begin,
          .on_step_end = on_step_end, .on_validation_end = on_validation_end, .on_save = on_save,
          .on_load = on_load, .on_end = on_end);

#define FILE_TEXT                                                                                  \
    "entrypoint: its-own\nhyperparameters: {rate: 0.01}\nbatches_per_step: 2\n"                    \
    "searcher: {name: single, metric: x, max_length: 6}\n"

static void use_file(const char *text)
{
    rgm_search_file_release(file);
    CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "w.yaml", NULL));
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", "/dev/shm/regimen-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        snprintf(folder, sizeof folder, "%s", check_folder());
    use_file(FILE_TEXT);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static int forget(void **state)
{
    (void)state;
    change = (struct change){0};
    return 0;
}

static rgm_hyper_value values[2];

static rgm_trial_setup setup_of(const rgm_trial_hooks *hooks, const char *run)
{
    static char path[256];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    snprintf(path, sizeof path, "%s/%s", folder, run);
    return (rgm_trial_setup){
        .file = file, .hooks = hooks, .values = values, .seed = 3, .run_dir = path};
}

static rgm_status do_one(rgm_trial *trial, rgm_workload_kind kind, int64_t batches)
{
    rgm_workload_result r;

    return rgm_trial_do(trial, &(rgm_workload){kind, batches / 2, batches}, &r);
}

static void check_told(const char *expected)
{
    if (strcmp(change.told, expected) != 0)
        fail_msg("callbacks told\n%s", change.told);
    change.told[0] = '\0';
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void they_come_in_order_and_see_what_is_so(void **state)
{
    rgm_trial_setup s = setup_of(&rgm_hooks_watched, "order");
    rgm_trial *trial;

    (void)state;
    CHECK_OK(rgm_trial_open(&trial, &s));
    rgm_trial_close(trial); /* only opened */
    check_told("");
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_OK(do_one(trial, RGM_RUN_STEP, 2));
    CHECK_OK(do_one(trial, RGM_COMPUTE_VALIDATION_METRICS, 2));
    CHECK_OK(do_one(trial, RGM_CHECKPOINT_MODEL, 2));
    CHECK_OK(do_one(trial, RGM_CHECKPOINT_MODEL, 2)); /* that is saved already */
    CHECK_OK(do_one(trial, RGM_RUN_STEP, 4));
    rgm_trial_close(trial);
    check_told("begin 0\nstep 1 at 2\nvalid 1.5 at 2\nsave at 2\nstep 2 at 4\nend 4\n");
    CHECK_OK(rgm_trial_open(&trial, &s)); /* behind a kill: step 2 is lost */
    check_told("");
    CHECK_OK(do_one(trial, RGM_COMPUTE_VALIDATION_METRICS, 2));
    CHECK_OK(do_one(trial, RGM_RUN_STEP, 4));
    CHECK_OK(do_one(trial, RGM_CHECKPOINT_MODEL, 4));
    rgm_trial_close(trial);
    check_told("begin 2\nload 1 steps at 2\nvalid 1.5 at 2\nstep 2 at 4\nsave at 4\nend 4\n");
    s.start = RGM_START_AT;
    s.at_batches = 2;
    CHECK_OK(rgm_trial_open(&trial, &s)); /* which saves the checkpoint of 2 again */
    CHECK_OK(do_one(trial, RGM_RUN_STEP, 4));
    rgm_trial_close(trial);
    check_told("begin 2\nload 1 steps at 2\nstep 2 at 4\nend 4\n");
}

static void same_file(const char *name)
{
    char path[2][300], *data[2];
    int64_t size[2];

    for (int k = 0; k < 2; k++) {
        snprintf(path[k], sizeof path[k], "%s/%s/%s", folder, k == 0 ? "whole" : "killed", name);
        CHECK_OK(rgm_file_load(&data[k], &size[k], path[k], 1 << 20));
    }
    CHECK_INT(size[0], size[1]);
    CHECK(size[0] > 0 && memcmp(data[0], data[1], (size_t)size[0]) == 0);
    rgm_free(data[0]);
    rgm_free(data[1]);
}

/* A tar archive of headers and bytes in blocks of 512, which `tar xf` reads. */
static void check_archive(const char *name)
{
    static const char *const paths[] = {"deep/", "deep/0000", "deep/empty/", "notes"};
    static const int at[] = {0, 512, 1024, 1536};
    char path[300], *data;
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK_INT(4 * 512 + 512 + 1024, size);
    for (int i = 0; i < 4; i++) {
        const char *header = data + at[i];
        unsigned sum = 8 * ' ';

        for (int k = 0; k < 512; k++)
            sum += k >= 148 && k < 156 ? 0 : (unsigned char)header[k];
        CHECK_TEXT(paths[i], header);
        CHECK_TEXT("ustar", header + 257);
        CHECK_INT(sum, strtol(header + 148, NULL, 8));
        CHECK_INT(i == 3 ? sizeof(notes) : 0, strtol(header + 124, NULL, 8));
    }
    CHECK(memcmp(data + 4 * 512, &(notes){3, 0}.steps, sizeof(int64_t)) == 0);
    rgm_free(data);
}

static void a_killed_trial_has_the_same_checkpoints(void **state)
{
    static const char *const runs[] = {"whole", "killed"};
    char path[300];
    rgm_trial *trial;

    (void)state;
    for (int i = 0; i < 2; i++) {
        rgm_trial_setup s = setup_of(&rgm_hooks_watched, runs[i]);

        CHECK_OK(rgm_trial_open(&trial, &s));
        CHECK_OK(do_one(trial, RGM_RUN_STEP, 2));
        CHECK_OK(do_one(trial, RGM_CHECKPOINT_MODEL, 2));
        if (i == 1) {
            CHECK_OK(do_one(trial, RGM_RUN_STEP, 4));
            rgm_trial_close(trial);
            CHECK_OK(rgm_trial_open(&trial, &s));
        }
        CHECK_OK(do_one(trial, RGM_RUN_STEP, 4));
        CHECK_OK(do_one(trial, RGM_RUN_STEP, 6));
        CHECK_OK(do_one(trial, RGM_CHECKPOINT_MODEL, 6));
        rgm_trial_close(trial);
        snprintf(path, sizeof path, "%s/callbacks.partial", s.run_dir);
        CHECK(!rgm_path_exists(path));
    }
    same_file("ckpt/step-00000006/callbacks.bin");
    same_file("ckpt/step-00000006/manifest.json");
    same_file("metrics.jsonl");
    check_archive("whole/ckpt/step-00000006/callbacks.bin");
}

static void an_error_ends_the_trial_with_its_message(void **state)
{
    static const struct {
        const char *callback;
        rgm_workload_kind kind;
    } cases[] = {{"on_begin", RGM_RUN_STEP},
                 {"on_step_end", RGM_RUN_STEP},
                 {"on_validation_end", RGM_COMPUTE_VALIDATION_METRICS},
                 {"on_save", RGM_CHECKPOINT_MODEL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_trial_setup s = setup_of(&rgm_hooks_watched, cases[i].callback);
        rgm_trial *trial;
        char message[200];

        CHECK_OK(rgm_trial_open(&trial, &s));
        if (cases[i].kind != RGM_RUN_STEP)
            CHECK_OK(do_one(trial, RGM_RUN_STEP, 2));
        change.fails = cases[i].callback;
        CHECK_STATUS(RGM_ERR_DATA, do_one(trial, cases[i].kind, 2));
        snprintf(message, sizeof message, "trial 'watched': %s: the cat sat on it",
                 cases[i].callback);
        CHECK_TEXT(message, rgm_error_message());
        CHECK_STATUS(RGM_ERR_ARG, do_one(trial, RGM_RUN_STEP, 4)); /* it is at its end */
        rgm_trial_close(trial);
        CHECK(strstr(change.told, "end ") != NULL);
        forget(NULL);
    }
}

static rgm_status train_and_save(const rgm_trial_setup *s, bool saves)
{
    rgm_status status = RGM_OK;
    rgm_trial *trial = NULL;

    RGM_GO(rgm_trial_open(&trial, s));
    RGM_GO(do_one(trial, RGM_RUN_STEP, rgm_run_steps(rgm_trial_run(trial)) + 2));
    if (saves)
        RGM_GO(do_one(trial, RGM_CHECKPOINT_MODEL, rgm_run_steps(rgm_trial_run(trial))));
done:
    rgm_trial_close(trial);
    return status;
}

static rgm_status step_and_save(const rgm_trial_hooks *hooks, const char *run, bool saves)
{
    rgm_trial_setup s = setup_of(hooks, run);

    return train_and_save(&s, saves);
}

static void what_cannot_be_saved_or_loaded_is_told(void **state)
{
    rgm_trial_hooks h = rgm_hooks_watched;

    (void)state;
    CHECK_OK(step_and_save(&h, "loads", true));
    change.fails = "on_load";
    CHECK_STATUS(RGM_ERR_DATA, step_and_save(&h, "loads", false));
    CHECK_MESSAGE("trial 'watched': on_load: the cat sat on it");
    forget(NULL);
    change.asks_wrong = true;
    CHECK_STATUS(RGM_ERR_CONFIG, step_and_save(&h, "asks", false));
    CHECK_MESSAGE("on_step_end: the section hyperparameters has no 'rat'; did you mean 'rate'?");
    forget(NULL);
    change.big = true;
    CHECK_STATUS(RGM_ERR_CONFIG, step_and_save(&h, "big", true));
    CHECK_MESSAGE("on_save: 2147483664 bytes in files, but at most 1073741824");
    forget(NULL);
    change.long_name = true;
    CHECK_STATUS(RGM_ERR_CONFIG, step_and_save(&h, "long", true));
    CHECK_MESSAGE("a path has at most 99 bytes");
    forget(NULL);
    h.on_load = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, step_and_save(&h, "half", false));
    CHECK_MESSAGE("trial 'watched' has on_save without on_load");
}

/* The third batch is bad when it is first trained on: all is taken back, its batch is not. */
static void a_rollback_takes_the_programs_state_along(void **state)
{
    rgm_trial_setup s;
    rgm_trial *trial;

    (void)state;
    use_file(FILE_TEXT "trainer: {recovery: {policy: rollback}}\n");
    for (int saves = 0; saves < 2; saves++) {
        s = setup_of(&rgm_hooks_watched, saves ? "back" : "back-to-0");
        change.bad_row = true;
        CHECK_OK(rgm_trial_open(&trial, &s));
        CHECK_OK(do_one(trial, RGM_RUN_STEP, 2));
        if (saves)
            CHECK_OK(do_one(trial, RGM_CHECKPOINT_MODEL, 2));
        CHECK_OK(do_one(trial, RGM_RUN_STEP, 4));
        rgm_trial_close(trial);
        check_told(saves
                       ? "begin 0\nstep 1 at 2\nsave at 2\nload 1 steps at 2\nstep 2 at 4\nend 4\n"
                       : "begin 0\nstep 1 at 2\nend 2\nbegin 0\nstep 1 at 4\nend 4\n");
    }
    use_file(FILE_TEXT);
}

static int own_calls;

static rgm_status count_own(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    (void)output, (void)controller, (void)payload;
    own_calls++;
    return RGM_OK;
}

/* With actions of the program that runs it. */
static rgm_status run(const rgm_trial_hooks *hooks, const char *name, rgm_run_mode mode,
                      const rgm_trainer_hooks *others)
{
    const rgm_action own = {.name = "own", .run = count_own};
    rgm_status status = RGM_OK;
    rgm_run_options options;
    rgm_trial_task *task = NULL;
    rgm_open_run *open = NULL;
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    RGM_GO(rgm_trial_task_create(&task, file, hooks));
    RGM_GO(rgm_trial_task_prepare(&options, task, path));
    options.mode = mode;
    options.trainer_hooks = others;
    options.train_actions = options.eval_actions = &own;
    options.train_action_count = options.eval_action_count = 1;
    RGM_GO(rgm_trial_task_open(&open, task, &options));
    RGM_GO(rgm_run_complete(open));
done:
    rgm_run_close(open);
    rgm_trial_task_release(task);
    return status;
}

static void a_run_without_a_search_calls_them_too(void **state)
{
    (void)state;
    CHECK_OK(run(&rgm_hooks_watched, "run", RGM_RUN_TRAIN_AND_EVAL, NULL));
    CHECK_INT(7, own_calls); /* six loops and a validation */
    check_told("begin 0\nstep 1 at 2\nstep 2 at 4\nstep 3 at 6\nstep 4 at 8\nstep 5 at 10\n"
               "step 6 at 12\nvalid 1.5 at 12\nsave at 12\nend 12\n");
    CHECK_OK(run(&rgm_hooks_watched, "run", RGM_RUN_EVAL, NULL)); /* only looks */
    check_told("");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, run(&rgm_hooks_watched, "run", RGM_RUN_EVAL,
                                          &(rgm_trainer_hooks){.payload = &own_calls}));
    CHECK_MESSAGE("trial 'watched' has callbacks");
}

static rgm_status train_anew(const rgm_trial_setup *s)
{
    change.told[0] = '\0';
    return train_and_save(s, false);
}

static void memory_that_runs_out_is_told(void **state)
{
    rgm_trial_setup s = setup_of(&rgm_hooks_watched, "none");

    (void)state;
    s.run_dir = NULL;
    CHECK_EVERY_OOM(train_anew(&s), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(they_come_in_order_and_see_what_is_so, forget),
        cmocka_unit_test_teardown(a_killed_trial_has_the_same_checkpoints, forget),
        cmocka_unit_test_teardown(an_error_ends_the_trial_with_its_message, forget),
        cmocka_unit_test_teardown(what_cannot_be_saved_or_loaded_is_told, forget),
        cmocka_unit_test_teardown(a_rollback_takes_the_programs_state_along, forget),
        cmocka_unit_test_teardown(a_run_without_a_search_calls_them_too, forget),
        cmocka_unit_test_teardown(memory_that_runs_out_is_told, forget)};

    return cmocka_run_group_tests(tests, setup, teardown);
}

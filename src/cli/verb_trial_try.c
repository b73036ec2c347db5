/* regimen trial test: one point of a search, tried by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verb_trial.h"

#include <regimen/search_code.h>
#include <regimen/trial_program.h>

/* ---- test ---------------------------------------------------------------------------------- */

static void tick(const char *what, const char *format, double number)
{
    printf("\xe2\x9c\x93 %-16s ", what);
    printf(format, number);
    fputc('\n', stdout);
    fflush(stdout);
}

static int cross(const char *what, rgm_status status)
{
    printf("\xe2\x9c\x97 %s\n", what);
    fflush(stdout);
    return report(status);
}

static rgm_status tell_point(const rgm_search_file *file, const rgm_hyper_value *values)
{
    rgm_text json = {0};
    rgm_status status = rgm_space_print_json(&json, rgm_search_file_space(file), values);

    if (status == RGM_OK)
        say("point", "%s", json.data);
    rgm_text_clear(&json);
    return status;
}

/* A program that is waited for, as long as it says something or works. */
typedef struct watched_program {
    rgm_program *program;
    double silent_seconds; /* of the file; 0: no bound */
    double heard, used;    /* when there was a sign of it, and what it had used by then */
    bool is_silent;
} watched_program;

static bool is_given_up(void *payload)
{
    watched_program *w = payload;
    double used, now = rgm_now();

    if (console_is_stopped(NULL))
        return true;
    if (rgm_program_is_alive(&used, w->program) || used - w->used >= 1e-3 * (now - w->heard)) {
        w->heard = now;
        w->used = used;
    }
    w->is_silent = w->silent_seconds > 0 && now - w->heard > w->silent_seconds;
    return w->is_silent;
}

/* What a program does with one workload of its first step. */
static int do_one(rgm_worker_result *r, watched_program *w, rgm_workload_kind kind, bool ends,
                  const char *what)
{
    rgm_status status;

    w->heard = rgm_now();
    status = rgm_program_do(
        r, w->program,
        &(rgm_program_order){
            .workload = {.kind = kind, .step = 1, .batches = 1}, .reach = 1, .ends = ends});
    if (status == RGM_ERR_BUSY && w->is_silent)
        status = RGM_FAIL(RGM_ERR_DATA,
                          "the program said nothing and used no processor for %g s "
                          "(limits.silent_seconds): it is ended",
                          w->silent_seconds);
    return status == RGM_OK ? EXIT_DONE : cross(what, status);
}

static double metric_of(const rgm_worker_result *r, const char *name)
{
    for (int64_t i = 0; i < r->metric_count; i++)
        if (strcmp(r->metrics[i].name, name) == 0 ||
            (strncmp(name, "valid.", 6) == 0 && strcmp(r->metrics[i].name, name + 6) == 0))
            return r->metrics[i].value;
    return strtod("nan", NULL);
}

/* A checkpoint that the program made of itself is not waited for a second time. */
static int do_program(watched_program *program, const rgm_search_file *file)
{
    const rgm_objective *objectives;
    rgm_worker_result r;
    int64_t files = 0;
    int code = do_one(&r, program, RGM_RUN_STEP, false, "trained a step");

    if (code != EXIT_DONE)
        return code;
    tick("trained a step", "%.0f metrics", (double)r.metric_count);
    do {
        code = do_one(&r, program, RGM_COMPUTE_VALIDATION_METRICS, false, "validated");
        files = r.checkpoint != NULL ? r.resource_count : files;
    } while (code == EXIT_DONE && r.done != NULL);
    if (code != EXIT_DONE)
        return code;
    if (rgm_search_file_objectives(&objectives, file) > 0)
        tick("validated", "searcher's metric %g", metric_of(&r, objectives[0].metric));
    if (files == 0) {
        code = do_one(&r, program, RGM_CHECKPOINT_MODEL, true, "checkpointed");
        files = r.resource_count;
    }
    if (code == EXIT_DONE)
        tick("checkpointed", "%.0f files", (double)files);
    return code;
}

static int test_program(rgm_search_file *file, const rgm_hyper_value *values, const char *folder)
{
    watched_program watched = {.silent_seconds =
                                   rgm_search_file_settings(file)->limits.silent_seconds};
    rgm_status status = RGM_OK;
    rgm_code code = {0};
    char *copy = NULL, *run_dir = NULL;
    int result = EXIT_DONE;

    console_catch_signals(); /* the program is a group of its own, which no Ctrl-C reaches */
    RGM_GO(rgm_path_join(&copy, folder, "code"));
    RGM_GO(rgm_path_join(&run_dir, folder, "1"));
    RGM_GO(rgm_code_collect(&code, file, "."));
    RGM_GO(rgm_code_copy(&code, copy, NULL, true));
    RGM_GO(rgm_program_open(&watched.program, &(rgm_program_setup){.file = file,
                                                                   .values = values,
                                                                   .code = copy,
                                                                   .run_dir = run_dir,
                                                                   .seed = 1,
                                                                   .threads = 1,
                                                                   .is_stopped = is_given_up,
                                                                   .payload = &watched}));
    tick("opened", "%.0f files of code", (double)code.count);
    result = do_program(&watched, file);
done:
    if (status != RGM_OK)
        result = cross("opened", status);
    rgm_program_close(watched.program, result == EXIT_DONE);
    rgm_code_clear(&code);
    rgm_free(copy);
    rgm_free(run_dir);
    return result;
}

/* One batch of each, on a trial that is open. */
static int do_workloads(rgm_trial *trial)
{
    rgm_workload_result r;
    rgm_status status = rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 1}, &r);

    if (status != RGM_OK)
        return cross("trained a step", status);
    tick("trained a step", "loss %g", rgm_logs_get(r.metrics, "loss"));
    status = rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 1}, &r);
    if (status != RGM_OK)
        return cross("validated", status);
    tick("validated", "searcher's metric %g", r.objectives[0]);
    status = rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, 1, 1}, &r);
    if (status != RGM_OK)
        return cross("checkpointed", status);
    tick("checkpointed", "%.0f bytes", (double)r.bytes);
    return EXIT_DONE;
}

/* The first point that the searcher's seed draws, in a folder that goes when it is done. */
static int test_file(rgm_search_file *file, const char *folder)
{
    const rgm_space *space = rgm_search_file_space(file);
    int64_t seed = rgm_search_file_settings(file)->reproducibility.experiment_seed;
    rgm_hyper_value *values = NULL;
    rgm_trial *trial = NULL;
    rgm_mt19937 random;
    rgm_status status;
    int code;

    rgm_mt19937_seed(&random, seed < 0 ? 0 : (uint32_t)seed);
    status = RGM_NEW(values, rgm_space_count(space));
    if (status == RGM_OK)
        status = rgm_space_draw(values, space, &random);
    if (status == RGM_OK)
        status = tell_point(file, values);
    if (status == RGM_OK && rgm_search_file_settings(file)->command.count > 0) {
        code = test_program(file, values, folder);
        rgm_free(values);
        return code;
    }
    if (status == RGM_OK)
        status = rgm_trial_open(
            &trial,
            &(rgm_trial_setup){
                .file = file, .values = values, .seed = 1, .run_dir = folder, .is_test = true});
    if (status != RGM_OK)
        code = cross("opened", status);
    else {
        tick("opened", "%.0f parameters",
             (double)rgm_parameters_total(
                 rgm_trainer_parameters(rgm_run_trainer(rgm_trial_run(trial)))));
        code = do_workloads(trial);
    }
    rgm_trial_close(trial);
    rgm_free(values);
    return code;
}

int trial_test(int argc, char **argv)
{
    text_list over = {.count = 0}, sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"config", ARG_LIST, &over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key; KEY=~ takes it back"},
        {0}};
    const usage how = {
        "trial test FILE.yaml [--set KEY=VALUE ...]",
        "Try a search file here and now: open a trial of one point, train one batch, validate\n"
        "one, write a checkpoint, and say of each that it went well. Nothing is kept. Exit\n"
        "status 0; else 1 or 2 with the reason.",
        arguments, 1, 1};
    const char *temporary = getenv("TMPDIR");
    rgm_search_file *file = NULL;
    char folder[300];
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = search_open(&file, rest.items[0], &over, &sets);
    if (code != EXIT_DONE)
        return code;
    snprintf(folder, sizeof folder, "%.260s/regimen-trial-XXXXXX",
             temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL) {
        code = usage_error("no folder %s can be made: set TMPDIR", folder);
    } else {
        code = test_file(file, folder);
        if (rgm_folder_remove(folder) != RGM_OK && code == EXIT_DONE)
            code = report(RGM_ERR_IO);
    }
    rgm_search_file_release(file);
    return code == EXIT_DONE ? print_text("") : code;
}

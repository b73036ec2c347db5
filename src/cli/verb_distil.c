/* regimen distil: a student from its teachers, by the steps of a file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/distil.h>

typedef struct view {
    bool plan;
    rgm_progress *lines; /* of the step that is under way; NULL: nothing is shown */
    rgm_progress *run;   /* of its training                                       */
} view;

static void end_progress(view *v)
{
    rgm_progress_release(v->lines);
    v->lines = NULL;
}

/* "taught   translate, changed: source, models" */
static void on_step(const rgm_distil_step *step, void *payload)
{
    const char *state = rgm_distil_state_names[step->state];
    bool waits = step->state == RGM_STEP_WAITS;
    const char *why = step->why != NULL && step->why[0] != '\0' ? step->why : NULL;
    view *v = payload;

    end_progress(v);
    if (v->plan)
        printf("%-16s %-15s %s%s%s\n", step->name, step->type, state,
               why == NULL ? ""
               : waits     ? " for "
                           : ": ",
               why != NULL ? why : "");
    else
        say("step", "%s: %s, %s%s%s", step->name, step->type, state, why != NULL ? ": " : "",
            why != NULL ? why : "");
}

static void on_say(const char *label, const char *text, void *payload)
{
    end_progress(payload);
    say(label, "%s", text);
}

static void on_lines(int64_t done, int64_t total, void *payload)
{
    const rgm_progress_state state = {.done = done, .total = total, .loss = NAN, .checkpoint = -1};
    view *v = payload;

    if (v->lines == NULL)
        v->lines = console_progress_in("line");
    if (v->lines != NULL)
        rgm_progress_update(v->lines, &state);
}

/* What a training came to, a line a part of the data. */
static void print_result(const rgm_open_run *run)
{
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        const rgm_logs *metrics = rgm_run_metrics(run, (rgm_mode)mode);

        if (metrics->count == 0)
            continue;
        print_metrics(rgm_mode_name((rgm_mode)mode), 8, metrics);
        printf("\n");
    }
    fflush(stdout); /* a failure is told when the last line is printed */
}

static void on_run(rgm_open_run *run, bool ends, void *payload)
{
    view *v = payload;

    if (!ends) {
        say("plan", "%s parameters, %d threads",
            grouped(rgm_parameters_total(rgm_trainer_parameters(rgm_run_trainer(run)))),
            rgm_threads());
        if (rgm_run_steps(run) > 0)
            say("resume", "from step %s", grouped(rgm_run_steps(run)));
        v->run = console_progress_in("step");
        rgm_controller_show_progress(rgm_run_controller(run), v->run, false);
        return;
    }
    rgm_controller_show_progress(rgm_run_controller(run), NULL, false);
    rgm_progress_release(v->run);
    v->run = NULL;
    print_result(run);
}

static int work(const rgm_distil *distil, const char *folder, bool plan)
{
    view v = {.plan = plan};
    const rgm_distil_hooks hooks = {.should_stop = console_is_stopped,
                                    .step = on_step,
                                    .say = on_say,
                                    .lines = on_lines,
                                    .run = on_run,
                                    .payload = &v};
    rgm_status status;

    if (!plan)
        console_catch_signals();
    status =
        plan ? rgm_distil_plan(distil, folder, &hooks) : rgm_distil_run(distil, folder, &hooks);
    end_progress(&v);
    if (status == RGM_STOPPED) {
        say("stopped", "what was made is in %s; the same command goes on.", folder);
        return EXIT_CONTINUE;
    }
    return status == RGM_OK ? print_text("") : report(status);
}

int verb_distil(int argc, char **argv)
{
    text_list sets = {.count = 0}, rest;
    const char *folder = NULL;
    int64_t threads = 0;
    bool plan = false;
    const argument arguments[] = {
        {"dir", ARG_TEXT, &folder, "FOLDER", "where the steps' folders are (required)"},
        {"plan", ARG_FLAG, &plan, NULL, "say what would be done, and do nothing"},
        {"threads", ARG_COUNT, &threads, "N",
         "of steps that do not train; default: one a processor; changes nothing but the time"},
        {"set", ARG_LIST, &sets, "KEY=VALUE",
         "override a key, e.g. steps.student.over.trainer.epochs=3"},
        {0}};
    const usage how = {
        "distil FILE --dir FOLDER [--plan] [--set KEY=VALUE]... [--threads N]",
        "Make a student of its teachers by the steps of a file: train, translate,\n"
        "back_translate, score, filter. Each step has a folder; one that is done is not\n"
        "repeated unless its inputs changed. Ctrl-C or SIGTERM exits with 75, and the same\n"
        "command goes on, also after a kill.",
        arguments, 1, 1};
    rgm_distil *distil;
    int code;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (folder == NULL)
        return usage_error("--dir is needed: the folder of the steps");
    if (threads > 1024)
        return usage_error("--threads is %lld, but must be in [1, 1024]", (long long)threads);
    if (threads > 0)
        rgm_threads_set((int)threads);
    if (rgm_distil_load(&distil, rest.items[0], sets.items, sets.count) != RGM_OK) {
        report(RGM_ERR_CONFIG);
        return EXIT_USAGE;
    }
    code = work(distil, folder, plan);
    rgm_distil_release(distil);
    return code;
}

/* How a run ended, in words or JSON. */
#include <stdio.h>
#include <string.h>

#include "verb_run.h"

bool plan_line(char **word, char **text, char **rest)
{
    char *end = *rest != NULL ? strchr(*rest, '\n') : NULL;

    if (end == NULL)
        return false;
    *end = '\0';
    *word = *rest;
    *rest = end + 1;
    *text = strchr(*word, ' ');
    if (*text != NULL)
        *(*text)++ = '\0';
    return *text != NULL;
}

/* What the run did with its data, by the plan's words, and what the task says of it. */
static json_t *plan_json(const rgm_open_run *run)
{
    const rgm_task *task = rgm_run_task(run);
    json_t *json = json_object();
    rgm_text text = {0};
    char *word, *said, *rest;

    if (rgm_run_plan(&text, run) == RGM_OK) {
        rest = text.data;
        while (plan_line(&word, &said, &rest))
            json_object_set_new(json, word, json_string(said));
    }
    text.size = 0;
    if (task->describe != NULL && task->describe(&text, task->state) == RGM_OK && text.size > 0)
        json_object_set_new(json, "data", json_string(text.data));
    rgm_text_clear(&text);
    return json;
}

static json_t *privacy_json(const rgm_privacy_report *r)
{
    return json_pack("{s:o, s:f, s:f, s:f, s:f, s:s}", "epsilon", json_number(r->epsilon), "delta",
                     r->delta, "noise_multiplier", r->noise_multiplier, "clipping_norm",
                     r->clipping_norm, "sample_rate", r->sample_rate, "basis", r->basis);
}

static rgm_comm *comm_of(const run_view *view)
{
    return view->options->comm != NULL ? view->options->comm : rgm_comm_self();
}

/* What the ranks that trained together exchanged, as the first saw it. */
static json_t *ranks_json(rgm_comm *comm)
{
    rgm_comm_times begin = {0}, times;

    rgm_comm_get_times(&times, comm);
    return json_pack("{s:i, s:I, s:f, s:f, s:o}", "count", rgm_comm_size(comm), "bytes",
                     (json_int_t)times.bytes, "waited_seconds", times.waited, "sums_seconds",
                     times.sums, "hidden", json_number(rgm_comm_hidden(&begin, &times)));
}

static void print_ranks(rgm_comm *comm)
{
    rgm_comm_times begin = {0}, times;

    if (rgm_comm_size(comm) == 1)
        return;
    rgm_comm_get_times(&times, comm);
    printf("%-8s %d; this one sent %.1f MB and waited %.2f s; sums were under way for %.2f s, of "
           "which %.0f %% are hidden\n",
           "ranks", rgm_comm_size(comm), (double)times.bytes * 1e-6, times.waited, times.sums,
           100 * rgm_comm_hidden(&begin, &times));
}

static json_t *rows_json(const rgm_profile_row *rows, int64_t count)
{
    json_t *json = json_array();

    for (int64_t i = 0; i < count; i++)
        json_array_append_new(
            json, json_pack("{s:s, s:f, s:I, s:I, s:I}", "name", rows[i].name, "seconds",
                            rows[i].seconds, "calls", (json_int_t)rows[i].calls, "flops",
                            (json_int_t)rows[i].flops, "bytes", (json_int_t)rows[i].bytes));
    return json;
}

static json_t *profile_json(const rgm_profile_report *r)
{
    return json_pack("{s:I, s:I, s:f, s:o, s:o, s:I, s:I}", "first_step", (json_int_t)r->first_step,
                     "steps", (json_int_t)r->steps, "seconds", r->seconds, "rows",
                     rows_json(r->rows, r->row_count), "beside",
                     rows_json(r->beside, r->beside_count), "events", (json_int_t)r->events,
                     "dropped_events", (json_int_t)r->dropped);
}

/* The table, to stdout with the result, to stderr of a run that stopped. */
static void print_profile(FILE *file, const rgm_open_run *run, const run_view *view)
{
    rgm_profile_report report;
    rgm_text text = {0};

    if (!rgm_trainer_profile(&report, rgm_run_trainer(run)))
        return;
    if (rgm_trainer_profile_table(&text, rgm_run_trainer(run)) == RGM_OK)
        fprintf(file, "%s%-8s %s/" RGM_PROFILE_FILE "\n", text.data, "profile", view->run_dir);
    rgm_text_clear(&text);
}

static int64_t set_count(const rgm_open_run *run)
{
    const rgm_eval_set *sets;

    return rgm_trainer_eval_sets(&sets, rgm_run_trainer(run));
}

static json_t *result_json(const rgm_open_run *run, const run_view *view, double seconds)
{
    json_t *json = json_object(), *metrics = json_object(), *exports = json_array();
    rgm_comm *comm = comm_of(view);
    rgm_privacy_report privacy;
    rgm_profile_report profile;

    json_object_set_new(json, "run_dir", json_string(view->run_dir));
    json_object_set_new(json, "steps", json_integer(rgm_run_steps(run)));
    json_object_set_new(json, "epochs", json_integer(rgm_run_epochs(run)));
    json_object_set_new(json, "seconds", json_real(seconds));
    json_object_set_new(json, "plan", plan_json(run));
    for (int mode = 0; mode < 3; mode++)
        json_object_set_new(metrics, rgm_mode_name((rgm_mode)mode),
                            metrics_json(rgm_run_metrics(run, (rgm_mode)mode)));
    for (int64_t i = 0; i < set_count(run); i++)
        json_object_set_new(metrics, rgm_trainer_eval_set_name(rgm_run_trainer(run), i),
                            metrics_json(rgm_run_set_metrics(run, i)));
    json_object_set_new(json, "metrics", metrics);
    if (rgm_run_best_step(run) >= 0)
        json_object_set_new(json, "best_step", json_integer(rgm_run_best_step(run)));
    else
        json_object_set_new(json, "best_step", json_null());
    if (rgm_trainer_privacy(&privacy, rgm_run_trainer(run)))
        json_object_set_new(json, "privacy", privacy_json(&privacy));
    if (rgm_trainer_profile(&profile, rgm_run_trainer(run)))
        json_object_set_new(json, "profile", profile_json(&profile));
    if (rgm_comm_size(comm) > 1)
        json_object_set_new(json, "ranks", ranks_json(comm));
    for (int64_t i = 0; i < rgm_run_export_count(run); i++)
        json_array_append_new(exports, json_string(rgm_run_export_dir(run, i)));
    json_object_set_new(json, "exports", exports);
    if (view->evaluations != NULL)
        json_object_set(json, "evaluations", view->evaluations);
    return json;
}

static void print_part(const char *part, const rgm_logs *values)
{
    if (values->count == 0)
        return;
    print_metrics(part, 8, values);
    printf("\n");
}

/* Each part, and behind it its sets. */
static void print_parts(const rgm_open_run *run)
{
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, rgm_run_trainer(run));

    for (int mode = 0; mode < 3; mode++) {
        print_part(rgm_mode_name((rgm_mode)mode), rgm_run_metrics(run, (rgm_mode)mode));
        for (int64_t i = 0; i < count; i++)
            if ((int)sets[i].mode == mode)
                print_part(rgm_trainer_eval_set_name(rgm_run_trainer(run), i),
                           rgm_run_set_metrics(run, i));
    }
}

static int print_result(const rgm_open_run *run, const run_view *view)
{
    rgm_privacy_report privacy;

    if (trains(view->mode))
        print_profile(stdout, run, view);
    if (view->mode != RUN_CONTINUOUS_EVAL)
        print_parts(run);
    if (rgm_trainer_privacy(&privacy, rgm_run_trainer(run)))
        printf("%-8s epsilon %.4f delta %g: %s\n", "privacy", privacy.epsilon, privacy.delta,
               privacy.basis);
    if (trains(view->mode) && rgm_run_best_step(run) >= 0)
        printf("%-8s step %s\n", "best", grouped(rgm_run_best_step(run)));
    for (int64_t i = 0; i < rgm_run_export_count(run); i++)
        printf("%-8s %s\n", "export", rgm_run_export_dir(run, i));
    print_ranks(comm_of(view));
    if (trains(view->mode))
        printf("%-8s %s\n", "run", view->run_dir);
    return print_text("");
}

/* Of a series: its numbers to the summary, and on a line or two. */
static int finish_part(const rgm_open_run *run, const run_view *view, double seconds, bool json)
{
    json_t *result = result_json(run, view, seconds);
    rgm_status status = series_keep(view->of, view->experiment, result);

    json_decref(result);
    if (status != RGM_OK)
        return report(status);
    if (!json)
        print_parts(run);
    return json ? EXIT_DONE : print_text("");
}

/* Of a run that failed before its first step nothing was saved that anybody would look for. */
static bool has_metrics(const char *run_dir)
{
    return rgm_folder_has(run_dir, "metrics.jsonl");
}

int run_finish(rgm_status status, const rgm_open_run *run, const run_view *view, double seconds,
               bool json)
{
    if (status < 0) {
        int code = report(status);

        if (trains(view->mode) && has_metrics(view->run_dir))
            fprintf(stderr, "regimen: what was saved is in %s\n", view->run_dir);
        return code;
    }
    if (status == RGM_STOPPED && trains(view->mode)) {
        if (rgm_run_saved_step(run) < 0) /* its device is lost, or a rank */
            say("stopped", "before anything was saved in %s. Begin again with the same command.",
                view->run_dir);
        else
            say("stopped", "saved step %s in %s. Continue with the same command and --run-dir.",
                grouped(rgm_run_saved_step(run)), view->run_dir);
        print_profile(stderr, run, view);
        return EXIT_CONTINUE;
    }
    if (status == RGM_STOPPED) {
        say("stopped", "at step %s of %s; the same command goes on.", grouped(rgm_run_steps(run)),
            view->run_dir);
        return EXIT_CONTINUE;
    }
    if (view->of != NULL)
        return finish_part(run, view, seconds, json);
    return json ? print_json(result_json(run, view, seconds)) : print_result(run, view);
}

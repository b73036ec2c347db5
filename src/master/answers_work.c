/*
 * What a trial's process asks: what it begins with, its next workload, that it gives up. The token
 * of its run says that it is the one; any other process is told to end.
 */
#include "experiment_files.h"
#include "requests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The process that has this token. Another one (410) ends by itself. */
static rgm_status find_process(rgmi_process **out, rgmi_call *call, const char *token)
{
    *out = rgmi_process_of(call->master, call->id);
    if (token == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "'run' is missing: the token of the process");
    if (*out != NULL && strcmp((*out)->token, token) == 0) {
        (*out)->asked = true;
        (*out)->warned = false;
        (*out)->heard = rgm_now();
        return RGM_OK;
    }
    call->status = 410;
    return RGM_FAIL(RGM_ERR_BUSY, "trial %lld is not this process's any more", (long long)call->id);
}

/* ---- what it begins with -------------------------------------------------------------------- */

static rgm_status print_path(rgm_text *out, const char *key, const char *path)
{
    RGM_TRY(rgm_text_printf(out, ", \"%s\": ", key));
    return path != NULL ? rgm_json_print_text(out, path) : rgm_text_printf(out, "null");
}

/* The folder of a checkpoint, of a row with experiment, number and folder; NULL where it has none.
 */
static rgm_status find_checkpoint(char **out, rgm_master *master, const char *sql, int64_t a,
                                  int64_t b)
{
    rgmi_rows *rows;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgmi_database_query(&rows, master->database, sql, "ii", a, b));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_OK)
        status = rgmi_master_path(out, master, rgmi_rows_int(rows, 0), rgmi_rows_int(rows, 1),
                                  rgmi_rows_text(rows, 2));
    rgmi_rows_leave(rows);
    return status == RGM_END ? RGM_OK : status;
}

static rgm_status print_sources(rgmi_call *call, const rgmi_trial *trial)
{
    rgm_status status = RGM_OK;
    char *at = NULL, *from = NULL;
    rgmi_rows *rows = NULL;

    RGM_GO(find_checkpoint(&at, call->master,
                           "SELECT experiment_id, number, folder FROM checkpoints c JOIN trials t"
                           " ON t.id = trial_id WHERE trial_id = ? AND step_id = ?",
                           trial->id, trial->steps));
    RGM_GO(find_checkpoint(&from, call->master,
                           "SELECT o.experiment_id, o.number, c.folder FROM trials t JOIN"
                           " checkpoints c ON c.id = t.source_checkpoint_id JOIN trials o ON o.id ="
                           " c.trial_id WHERE t.id = ? AND ? = 0",
                           trial->id, 0));
    RGM_GO(rgmi_database_query(&rows, call->master->database,
                               "SELECT source_checkpoint FROM trials WHERE id = ?", "i",
                               trial->id));
    RGM_GO(rgmi_rows_next(call->master->database, rows));
    RGM_GO(print_path(call->out, "at", at));
    RGM_GO(print_path(call->out, "from", from != NULL ? from : rgmi_rows_text(rows, 0)));
done:
    rgmi_rows_leave(rows);
    rgm_free(at);
    rgm_free(from);
    return status;
}

/* Each file with its hash. */
static rgm_status print_code_files(rgmi_call *call, const rgm_code *code)
{
    rgm_json_writer w = {.out = call->out};

    RGM_TRY(rgm_text_printf(call->out, ", \"code_files\": "));
    RGM_TRY(rgm_json_open_list(&w, NULL, RGM_JSON_SPACED));
    for (int64_t i = 0; i < code->count; i++) {
        RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(&w, "path", code->files[i].path));
        RGM_TRY(rgm_json_write_text(&w, "hash", code->files[i].hash));
        RGM_TRY(rgm_json_close(&w));
    }
    return rgm_json_close(&w);
}

/* Where its code is, and what it is; nothing where it has none of its own. */
static rgm_status print_code(rgmi_call *call, const rgmi_experiment *e)
{
    rgm_status status = RGM_OK;
    char *entrypoint = NULL, *folder = NULL;
    rgm_code code = {0};

    RGM_GO(rgmi_experiment_code(&code, call->master, e->id));
    if (code.count > 0)
        RGM_GO(rgmi_master_path(&folder, call->master, e->id, 0, "code"));
    if (code.count > 0 && rgm_search_file_settings(e->file)->entrypoint != NULL)
        RGM_GO(rgmi_experiment_entrypoint(&entrypoint, call->master, e->id, e->file));
    RGM_GO(print_path(call->out, "entrypoint", entrypoint));
    RGM_GO(print_path(call->out, "code_dir", folder));
    RGM_GO(print_code_files(call, &code));
done:
    rgm_code_clear(&code);
    rgm_free(entrypoint);
    rgm_free(folder);
    return status;
}

rgm_status rgmi_answer_run(rgmi_call *call)
{
    rgm_status status = RGM_OK;
    rgm_master *m = call->master;
    char *file = NULL, *folder = NULL;
    rgmi_process *process;
    rgmi_experiment *e;
    rgmi_trial *trial;
    rgmi_rows *rows = NULL;

    RGM_GO(find_process(&process, call, rgmi_call_query(call, "run")));
    process->begun = process->heard;
    if (process->is_job)
        RGM_GO(rgmi_job_began(m, process));
    RGM_GO(rgmi_trial_find(&trial, &e, m, call->id));
    RGM_GO(rgmi_experiment_file_restore(m, e));
    RGM_GO(rgmi_master_path(&file, m, e->id, 0, "experiment.yaml"));
    RGM_GO(rgmi_master_path(&folder, m, e->id, trial->number, NULL));
    RGM_GO(rgmi_database_query(&rows, m->database,
                               "SELECT seed, hyperparameters FROM trials WHERE id = ?", "i",
                               trial->id));
    RGM_GO(rgmi_rows_next(m->database, rows));
    RGM_GO(rgm_text_printf(
        call->out,
        "{\"trial_id\": %lld, \"experiment_id\": %lld, \"number\": %lld, \"seed\": %lld, "
        "\"threads\": %lld, \"at_batches\": %lld, \"orphan_seconds\": ",
        (long long)trial->id, (long long)e->id, (long long)trial->number,
        (long long)rgmi_rows_int(rows, 0),
        (long long)rgmi_process_threads(m, process, rgm_search_file_ranks(e->file)),
        (long long)rgm_sequencer_batches(trial->sequencer)));
    RGM_GO(rgm_json_print_number(call->out, m->options.orphan_seconds));
    RGM_GO(rgm_text_printf(call->out, ", \"silent_seconds\": "));
    RGM_GO(
        rgm_json_print_number(call->out, rgm_search_file_settings(e->file)->limits.silent_seconds));
    RGM_GO(print_path(call->out, "hyperparameters", rgmi_rows_text(rows, 1)));
    RGM_GO(print_path(call->out, "experiment_file", file));
    RGM_GO(print_path(call->out, "run_dir", folder));
    RGM_GO(print_code(call, e));
    RGM_GO(rgmi_devices_answer(call->out, m, process));
    RGM_GO(print_sources(call, trial));
    RGM_GO(rgm_text_add(call->out, "}", 1));
done:
    rgmi_rows_leave(rows);
    rgm_free(file);
    rgm_free(folder);
    return status;
}

/* ---- workloads ------------------------------------------------------------------------------ */

#define MOST_SECONDS 1e9 /* of a workload */

static rgm_status read_report(rgmi_report *out, const rgm_json *told)
{
    const char *kind = rgm_json_text(rgm_json_find(told, "kind"));
    int at = 0;

    while (rgm_workload_names[at] != NULL &&
           (kind == NULL || strcmp(rgm_workload_names[at], kind) != 0))
        at++;
    out->workload.kind = (rgm_workload_kind)at;
    if (rgm_workload_names[at] == NULL || at == RGM_TERMINATE ||
        !rgm_json_int(&out->workload.step, rgm_json_find(told, "step")) ||
        !rgm_json_int(&out->workload.batches, rgm_json_find(told, "batches")))
        return RGM_FAIL(RGM_ERR_ARG, "'completed' is no workload");
    rgm_json_int(&out->num_inputs, rgm_json_find(told, "num_inputs"));
    rgm_json_number(&out->seconds, rgm_json_find(told, "seconds"));
    if (!(out->num_inputs >= 0 && out->num_inputs <= RGMI_MOST_COUNT) ||
        !(out->seconds >= 0 && out->seconds <= MOST_SECONDS))
        return RGM_FAIL(RGM_ERR_ARG, "'completed' has no number of inputs or seconds that can be");
    out->metrics = rgm_json_find(told, "metrics");
    out->resources = rgm_json_find(told, "resources");
    out->checkpoint = rgm_json_text(rgm_json_find(told, "checkpoint"));
    return RGM_OK;
}

static rgm_status take_and_give(rgmi_order *next, rgmi_call *call, rgmi_process *process,
                                const rgmi_report *report)
{
    rgmi_experiment *e;
    rgmi_trial *trial;

    process->terminated = false;
    rgm_status status = rgmi_trial_find(&trial, &e, call->master, call->id);
    if (status == RGM_ERR_BUSY) { /* the experiment is over */
        process->terminated = true;
        *next = (rgmi_order){.workload = {.kind = RGM_TERMINATE}, .ends = true};
        return RGM_OK;
    }
    RGM_TRY(status);
    if (report != NULL) {
        RGM_TRY(rgmi_report_take(call->master, e, trial, report));
        if (process->worked >= 0 && isfinite(report->seconds))
            process->worked += report->seconds;
        RGM_TRY(rgmi_experiment_flush(call->master, e));
        /* flush() drops what has no more to do, the experiment too when it is over */
        return take_and_give(next, call, process, NULL);
    }
    rgmi_next_workload(next, call->master, e, trial, process);
    return RGM_OK;
}

static rgm_status print_next(rgmi_call *call, rgmi_process *process, const rgmi_report *report)
{
    rgmi_order next;

    RGM_TRY(take_and_give(&next, call, process, report));
    return rgm_text_printf(call->out,
                           "{\"workload\": {\"kind\": \"%s\", \"step\": %lld, \"batches\": %lld, "
                           "\"reach\": %lld, \"ends\": %s}}",
                           rgm_workload_names[next.workload.kind], (long long)next.workload.step,
                           (long long)next.workload.batches, (long long)next.reach,
                           next.ends ? "true" : "false");
}

rgm_status rgmi_answer_workload(rgmi_call *call)
{
    static const char *const known[] = {"run", "completed", "stops", NULL};
    const rgm_json *told = rgm_json_find(call->body, "completed");
    rgmi_report report = {0};
    rgmi_process *process;
    const char *token = NULL;
    bool stops = false;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_text(&token, call, "run"));
    RGM_TRY(rgmi_call_bool(&stops, call, "stops"));
    RGM_TRY(find_process(&process, call, token));
    process->begun = process->heard;
    process->stops = process->stops || stops;
    if (told == NULL)
        return print_next(call, process, NULL);
    RGM_TRY(read_report(&report, told));
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, print_next(call, process, &report));
}

/* find_process() takes notice. */
rgm_status rgmi_answer_alive(rgmi_call *call)
{
    static const char *const known[] = {"run", NULL};
    rgmi_process *process;
    const char *token = NULL;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_text(&token, call, "run"));
    RGM_TRY(find_process(&process, call, token));
    return rgm_text_printf(call->out, "{}");
}

/* Whose fault it is, by the name that its process gives it. */
static rgm_status read_fault(rgmi_run_end *out, rgmi_call *call)
{
    static const struct {
        const char *name;
        rgmi_run_end end;
    } faults[] = {{"trial", RGMI_RUN_FAILED},
                  {"hopeless", RGMI_RUN_HOPELESS},
                  {"machine", RGMI_RUN_MACHINE},
                  {"checkpoint", RGMI_RUN_CHECKPOINT}};
    const char *fault = "trial";

    RGM_TRY(rgmi_call_text(&fault, call, "fault"));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, fault) == 0) {
            *out = faults[i].end;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_ARG,
                    "'fault' is '%s', but must be trial, hopeless, machine or "
                    "checkpoint",
                    fault);
}

rgm_status rgmi_answer_failed(rgmi_call *call)
{
    static const char *const known[] = {"run", "code", "message", "invalid", "fault", NULL};
    const char *token = NULL, *code = "", *message = "no message";
    rgmi_run_end failure = RGMI_RUN_FAILED;
    rgmi_process *process;
    bool invalid = false;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_text(&token, call, "run"));
    RGM_TRY(rgmi_call_text(&code, call, "code"));
    RGM_TRY(rgmi_call_text(&message, call, "message"));
    RGM_TRY(rgmi_call_bool(&invalid, call, "invalid"));
    RGM_TRY(read_fault(&failure, call));
    RGM_TRY(find_process(&process, call, token));
    char *copy;
    RGM_TRY(rgm_strndup(&copy, message, strnlen(message, RGM_MESSAGE_ROOM - 1)));
    rgm_free(process->message);
    process->message = copy;
    process->failed = true;
    process->failure = invalid ? RGMI_RUN_INVALID : failure;
    return rgm_text_printf(call->out, "{}");
}

/* regimen master and queue: the process that shares a machine among searches, and who waits. */
#include <stdio.h>
#include <string.h>

#include "verb_experiment.h"

static bool is_done(rgm_master *master, void *payload)
{
    (void)master;
    (void)payload;
    return console_is_stopped(NULL);
}

int verb_master(int argc, char **argv)
{
    rgm_master_options options = {.subject = &rgm_trial_subject};
    const char *where = NULL, *scheduling = "fair_share";
    const argument arguments[] = {
        {"slots", ARG_COUNT, &options.slots, "N", "what trials share (default: cores)"},
        {"threads", ARG_COUNT, &options.threads_per_slot, "N",
         "of a slot (default: cores / slots)"},
        {"scheduling", ARG_TEXT, &scheduling, "KIND", "fair_share (default) or priority"},
        {"preemption", ARG_FLAG, &options.preemption, NULL,
         "priority: trials make room for experiments that come before theirs"},
        {"listen", ARG_TEXT, &options.listen, "HOST:PORT",
         "answer there too, with the token of <DIR>/token"},
        {"allow-remote", ARG_FLAG, &options.allow_remote, NULL,
         "--listen may be an address that others reach: what they send is not encrypted"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "master [--master DIR] [--slots N] [--scheduling KIND] [--listen HOST:PORT "
        "[--allow-remote]]",
        "Run the searches of a folder until it is told to stop (Ctrl-C, SIGTERM): then trials "
        "save,\n"
        "and the same command goes on. The verbs of experiments speak to it, and work without it.",
        arguments, 0, 0};
    const char *names[8];
    rgm_master *master = NULL;
    rgm_status status = RGM_OK;
    text_list rest;
    int64_t count = 0;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    for (; count < 8 && rgm_scheduling_names[count] != NULL; count++) {
        names[count] = rgm_scheduling_names[count];
        if (strcmp(names[count], scheduling) == 0)
            options.scheduling = (rgm_scheduling)count;
    }
    if (strcmp(rgm_scheduling_names[options.scheduling], scheduling) != 0)
        return usage_error("--scheduling '%s' is unknown%s", scheduling,
                           rgm_did_you_mean(scheduling, names, count, NULL, "there are ").text);
    options.folder = master_place(where);
    console_catch_signals();
    RGM_GO(rgm_master_open(&master, &options));
    say("master", "experiments of %s", options.folder);
    RGM_GO(rgm_master_serve(master, is_done, NULL));
    say("stopped", "what was running is saved; the same command goes on");
    code = EXIT_CONTINUE;
done:
    if (status != RGM_OK)
        code = report(status);
    rgm_master_close(master);
    return code;
}

/* ---- queue --------------------------------------------------------------------------------- */

static rgm_status queue_table(table *t, const json_t *rows)
{
    static const char *const heads[] = {"TRIAL", "EXPERIMENT", "NUMBER", "REASON"};

    for (int i = 0; i < 4; i++)
        RGM_TRY(table_add_column(t, heads[i]));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        RGM_TRY(table_add_row(t));
        table_set_count(t, 0, int_of(row, "trial_id"));
        table_set_count(t, 1, int_of(row, "experiment_id"));
        table_set_count(t, 2, int_of(row, "number"));
        RGM_TRY(table_set(t, 3, text_of(row, "reason")));
    }
    return RGM_OK;
}

int verb_queue(int argc, char **argv)
{
    const char *where = NULL;
    list_form form = {0};
    const argument arguments[] = {LIST_ARGUMENTS(form), MASTER_ARGUMENT(where), {0}};
    const usage how = {"queue [--json | --csv]",
                       "The trials that wait for slots, each with the reason.", arguments, 0, 0};
    asked_master whom = {0};
    json_t *master = NULL, *rows = NULL;
    table t = {0};
    rgm_status status = RGM_OK;
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    RGM_GO(master_open(&whom, where));
    RGM_GO(ask(&master, &whom, "GET", NULL, "/api/v1/master"));
    RGM_GO(ask_all(&rows, &whom, "queue", "/api/v1/queue"));
    if (form.json) {
        code = print_json(json_incref(rows));
        goto done;
    }
    if (bool_of(master, "serves"))
        say("slots", "%lld of %lld taken, %lld threads each",
            (long long)int_of(master, "slots_taken"), (long long)int_of(master, "slots"),
            (long long)int_of(master, "threads_per_slot"));
    else
        say("slots", "no master is at work in %s", text_of(master, "folder"));
    RGM_GO(queue_table(&t, rows));
    code = print_table(&t, &form, "no trial waits");
done:
    if (status != RGM_OK)
        code = report(status);
    table_clear(&t);
    json_decref(master);
    json_decref(rows);
    master_close(&whom);
    return code;
}

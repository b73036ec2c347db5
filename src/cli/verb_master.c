/* regimen master and queue: the process that shares a machine among searches, and who waits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verb_experiment.h"
#include "verb_master.h"

static bool is_done(rgm_master *master, void *payload)
{
    (void)master;
    (void)payload;
    return console_is_stopped(NULL);
}

/* What is kept on the disk; NaN: not said. */
typedef struct bounds {
    double keep_free_gb, log_mb, log_days;
} bounds;

static int set_bounds(rgm_master_options *o, const bounds *b)
{
    if (b->keep_free_gb < 0 || b->log_mb < 0 || b->log_days < 0 || b->keep_free_gb > 1e9 ||
        b->log_mb > 1e9)
        return usage_error("--keep-free, --log-mb and --log-days are 0 or more");
    if (!isnan(b->keep_free_gb))
        o->keep_free = b->keep_free_gb > 0 ? (int64_t)ceil(b->keep_free_gb * 1e9) : -1;
    if (!isnan(b->log_mb))
        o->log_bytes = b->log_mb > 0 ? (int64_t)ceil(b->log_mb * 1e6) : -1;
    o->log_days = b->log_days;
    return EXIT_DONE;
}

/* EXIT_DONE, or what to end with. */
static int set_scheduling(rgm_master_options *options, const char *name)
{
    const char *names[8];
    int64_t count = 0;

    for (; count < 8 && rgm_scheduling_names[count] != NULL; count++) {
        names[count] = rgm_scheduling_names[count];
        if (strcmp(names[count], name) == 0)
            options->scheduling = (rgm_scheduling)count;
    }
    if (strcmp(rgm_scheduling_names[options->scheduling], name) != 0)
        return usage_error("--scheduling '%s' is unknown%s", name,
                           rgm_did_you_mean(name, names, count, NULL, "there are ").text);
    return EXIT_DONE;
}

static int serve(const rgm_master_options *options)
{
    rgm_master *master = NULL;
    rgm_status status = RGM_OK;

    console_catch_signals();
    RGM_GO(rgm_master_open(&master, options));
    say("master", "experiments of %s", options->folder);
    RGM_GO(rgm_master_serve(master, is_done, NULL));
    say("stopped", "what was running is saved; the same command goes on");
done:
    rgm_master_close(master);
    return status != RGM_OK ? report(status) : EXIT_CONTINUE;
}

static int begin(int argc, char **argv)
{
    bounds kept = {NAN, NAN, 0};
    rgm_search_subject subject = rgm_trial_subject;
    rgm_master_options options = {.subject = &subject};
    const char *where = NULL, *scheduling = "fair_share";
    bool own_searchers = false;
    const argument arguments[] = {
        {"slots", ARG_COUNT, &options.slots, "N", "what trials share (default: cores)"},
        {"threads", ARG_COUNT, &options.threads_per_slot, "N",
         "of a slot (default: cores / slots)"},
        {"devices", ARG_TEXT, &options.devices, "LIST",
         "slots of searches with resources.slot_type: gpu, e.g. cuda:0,cuda:2 or opencl (gpu)"},
        {"scheduling", ARG_TEXT, &scheduling, "KIND", "fair_share (default) or priority"},
        {"preemption", ARG_FLAG, &options.preemption, NULL,
         "priority: trials make room for experiments that come before theirs"},
        {"listen", ARG_TEXT, &options.listen, "HOST:PORT",
         "answer there too, with the token of <DIR>/token"},
        {"allow-remote", ARG_FLAG, &options.allow_remote, NULL,
         "--listen may be an address that others reach: what they send is not encrypted"},
        {"keep-free", ARG_FLOAT, &kept.keep_free_gb, "GB",
         "with less free on the disk no trial is started (default 1.07, or 1 % of a small disk; 0: "
         "never)"},
        {"log-mb", ARG_FLOAT, &kept.log_mb, "MB",
         "of a trial's log: its oldest lines go (default 268; 0: no bound)"},
        {"log-days", ARG_FLOAT, &kept.log_days, "DAYS",
         "after an experiment's end its trials' logs go (default 0: they stay)"},
        {"own-searchers", ARG_FLAG, &own_searchers, NULL,
         "load searchers and samplers that files name by FILE.so into this process"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "master [--master DIR] [--slots N] [--devices LIST] [--scheduling KIND] [--listen "
        "HOST:PORT [--allow-remote]] | master token create|list|revoke",
        "Run the searches of a folder until it is told to stop (Ctrl-C, SIGTERM): then trials "
        "save,\n"
        "and the same command goes on. The verbs of experiments speak to it, and work without "
        "it.\n"
        "DIR/master.yaml names pools of slots and schedulers. regimen master slots, drain, enable: "
        "which\n"
        "slots get trials.",
        arguments, 0, 0};
    text_list rest;
    int code;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = set_scheduling(&options, scheduling);
    if (code == EXIT_DONE)
        code = set_bounds(&options, &kept);
    if (code != EXIT_DONE)
        return code;
    if (!own_searchers)
        subject.rows = NULL;
    options.folder = master_place(where);
    return serve(&options);
}

int verb_master(int argc, char **argv)
{
    static const verb verbs[] = {{"token", master_token, "who may ask over TCP"},
                                 {"slots", master_slots, "the slots of its machine"},
                                 {"drain", master_drain, "let slots get no trial"},
                                 {"enable", master_enable, "let them get some again"}};
    enum { VERBS = (int)(sizeof verbs / sizeof *verbs) };

    for (int i = 0; completing && argc == 2 && i < VERBS; i++)
        complete_with(verbs[i].name, argv[1]);
    if (argc > 1 && argv[1][0] != '-' && argv[1][0] != '\0' && !(completing && argc == 2))
        return verb_dispatch("master ", argv[1], verbs, VERBS, argc - 1, argv + 1);
    return begin(argc, argv);
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
    if (bool_of(master, "serves")) {
        size_t devices = json_array_size(json_object_get(master, "devices"));

        say("slots", "%lld of %lld taken, %lld threads each",
            (long long)int_of(master, "slots_taken"), (long long)int_of(master, "slots"),
            (long long)int_of(master, "threads_per_slot"));
        if (devices > 0)
            say("devices", "%lld of %zu taken", (long long)int_of(master, "devices_taken"),
                devices);
    } else
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

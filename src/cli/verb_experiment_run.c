/*
 * Searches from their files: handed to the master that is at work, or run by this process, which is
 * then the master until the search is over. The same file again goes on with what is unfinished.
 */
#include "verb_experiment.h"

#include <regimen/search_code.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- from a file ----------------------------------------------------------------------------- */

/** What a verb was told. */
typedef struct search_request {
    const char *file, *where, *description, *devices;
    text_list over, sets;
    bool paused, anew, json;
    int64_t slots, threads;
} search_request;

static bool is_over(const char *name)
{
    rgm_work_state state;

    return rgm_work_state_find(&state, name) && rgm_work_is_over(state);
}

/* One of the same file that is not over; 0: there is none. */
static rgm_status find_unfinished(int64_t *id, const asked_master *whom,
                                  const rgm_search_file *file)
{
    rgm_status status = RGM_OK;
    json_t *rows = NULL, *config = NULL;

    *id = 0;
    RGM_GO(ask_all(&rows, whom, "experiments", "/api/v1/experiments?archived=0"));
    for (size_t i = 0; i < json_array_size(rows) && *id == 0; i++) {
        const json_t *row = json_array_get(rows, i);

        if (is_over(text_of(row, "state")) ||
            strcmp(text_of(row, "name"), rgm_search_file_name(file)) != 0)
            continue;
        RGM_GO(ask(&config, whom, "GET", NULL, "/api/v1/experiments/%lld/config",
                   (long long)int_of(row, "id")));
        if (strcmp(text_of(config, "config"), rgm_search_file_text(file)) == 0 ||
            strcmp(text_of(config, "original"), rgm_search_file_text(file)) == 0)
            *id = int_of(row, "id");
        json_decref(config);
        config = NULL;
    }
done:
    json_decref(rows);
    json_decref(config);
    return status;
}

static rgm_status create(int64_t *id, const asked_master *whom, const rgm_search_file *file,
                         const search_request *r)
{
    char folder[4096];
    json_t *answer = NULL;

    if (getcwd(folder, sizeof folder) == NULL)
        return RGM_FAIL_SYSTEM("find", "the working folder");
    RGM_TRY(ask(&answer, whom, "POST",
                json_pack("{s:s, s:s, s:s, s:s*, s:b}", "config", rgm_search_file_text(file),
                          "name", rgm_search_file_name(file), "working_folder", folder,
                          "description", r->description, "paused", r->paused),
                "/api/v1/experiments"));
    *id = int_of(answer, "id");
    json_decref(answer);
    return RGM_OK;
}

/* An experiment keeps the code that it began with: say so where the user's was built anew. */
static void tell_other_code(const json_t *experiment, const rgm_search_file *file)
{
    const rgm_texts *words = &rgm_search_file_settings(file)->command;
    const char *entrypoint = rgm_search_file_settings(file)->entrypoint;
    const char *kept = text_of(experiment, "code");
    rgm_code code = {0};

    if (!rgm_search_file_is_own(file) || kept[0] == '\0')
        return;
    if (rgm_code_collect(&code, file, ".") == RGM_OK && strcmp(code.hash, kept) != 0)
        say("code",
            "%.*s%s is not what it was when the experiment began, which goes on with its own copy",
            entrypoint != NULL ? (int)strcspn(entrypoint, ":") : 0,
            entrypoint != NULL ? entrypoint : "",
            words->count > 0 ? "what the entrypoint names" : "");
    rgm_error_reset(); /* it need not be there any more */
    rgm_code_clear(&code);
}

/* Templates and models that a file names are those of the master's folder. */
static void name_master(const char *where)
{
    if (where != NULL)
        setenv("REGIMEN_MASTER", where, 1);
}

/* What is unfinished of the same file, else a new one. */
static rgm_status take_up(int64_t *id, const asked_master *whom, const rgm_search_file *file,
                          const search_request *r)
{
    json_t *answer = NULL;

    *id = 0;
    if (!r->anew)
        RGM_TRY(find_unfinished(id, whom, file));
    if (*id == 0) {
        RGM_TRY(create(id, whom, file, r));
        say("search", "experiment %lld, from %s", (long long)*id, r->file);
        return RGM_OK;
    }
    RGM_TRY(ask(&answer, whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)*id));
    say("search", "experiment %lld goes on, %.1f%% done (--new begins another)", (long long)*id,
        100 * number_of(answer, "progress"));
    tell_other_code(answer, file);
    if ((is_in_state(answer, RGM_WORK_PAUSED) || is_in_state(answer, RGM_WORK_ACTIVE)) &&
        !r->paused) { /* a master that serves another one alone takes it in, too */
        rgm_status status =
            ask(NULL, whom, "POST", NULL, "/api/v1/experiments/%lld/activate", (long long)*id);
        json_decref(answer);
        return status;
    }
    json_decref(answer);
    return RGM_OK;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* What became of those that failed, though others did not. */
static rgm_status say_failures(const asked_master *whom, int64_t id)
{
    json_t *page = NULL;

    RGM_TRY(ask(&page, whom, "GET", NULL, "/api/v1/experiments/%lld/trials?state=%s&limit=1",
                (long long)id, rgm_work_state_names[RGM_WORK_ERROR]));
    if (int_of(page, "total") > 0) {
        const json_t *trial = json_array_get(json_object_get(page, "trials"), 0);

        say("failed", "%lld of its trials; trial %lld/%lld: %s", (long long)int_of(page, "total"),
            (long long)id, (long long)int_of(trial, "number"), text_of(trial, "message"));
    }
    json_decref(page);
    return RGM_OK;
}

/* By Ctrl-C or the like: saved where this process was the master, and untouched at another's. */
static void say_left(const asked_master *whom, int64_t id, const char *state)
{
    if (whom->master != NULL)
        say("stopped", "experiment %lld is saved; the same command continues", (long long)id);
    else if (strcmp(state, rgm_work_state_names[RGM_WORK_ACTIVE]) == 0)
        say("left",
            "experiment %lld goes on at its master; the same command follows it, `regimen "
            "experiment pause %lld` stops it",
            (long long)id, (long long)id);
    else
        say("left", "experiment %lld is %s at its master", (long long)id, state);
}

static int finish(const asked_master *whom, int64_t id, const char *state, bool json)
{
    json_t *experiment = NULL, *trial = NULL;
    rgm_status status = RGM_OK;
    char *folder = NULL;
    int code = strcmp(state, rgm_work_state_names[RGM_WORK_COMPLETED]) == 0 ? EXIT_DONE
               : is_over(state)                                             ? EXIT_FAILED
                                                                            : EXIT_CONTINUE;

    RGM_GO(ask(&experiment, whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)id));
    if (best_trial(&trial, &folder, whom, id) != RGM_OK)
        rgm_error_reset(); /* nothing was validated */
    if (code == EXIT_CONTINUE)
        say_left(whom, id, state);
    else if (text_of(experiment, "message")[0] != '\0')
        say(state, "%s", text_of(experiment, "message"));
    if (code == EXIT_DONE)
        RGM_GO(say_failures(whom, id));
    if (json) {
        json_object_set(experiment, "best_trial",
                        trial != NULL ? trial : json_null()); /* all of it */
        json_object_set_new(experiment, "best_run_dir",
                            folder != NULL ? json_string(folder) : json_null());
        code = print_json(experiment) == EXIT_DONE ? code : EXIT_FAILED;
        experiment = NULL;
        goto done;
    }
    printf("state    %s\n", state);
    if (trial != NULL)
        printf("best     %s %.6g, trial %lld/%lld\nrun      %s\n", text_of(experiment, "metric"),
               number_of(trial, "best_metric"), (long long)id, (long long)int_of(trial, "number"),
               folder);
    code = print_text("") == EXIT_DONE ? code : EXIT_FAILED;
done:
    if (status != RGM_OK)
        code = report(status);
    json_decref(experiment);
    json_decref(trial);
    rgm_free(folder);
    return code;
}

/* ---- at another's ---------------------------------------------------------------------------- */

rgm_status experiment_follow(char state[32], const asked_master *whom, int64_t id)
{
    live_view *view = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(live_view_create(&view, id));
    for (;;) {
        RGM_GO(live_view_update(state, view, whom));
        if (is_over(state) || console_is_stopped(NULL))
            break;
        console_sleep(0.3);
    }
done:
    live_view_release(view);
    return status;
}

static int run_at_master(const asked_master *whom, const rgm_search_file *file,
                         const search_request *r)
{
    rgm_status status;
    char state[32] = "";
    int64_t id;

    status = take_up(&id, whom, file, r);
    if (status == RGM_OK)
        status = experiment_follow(state, whom, id);
    return status == RGM_OK ? finish(whom, id, state, r->json) : report(status);
}

/* ---- alone --------------------------------------------------------------------------------- */

/** What the master asks of this process while it serves. */
typedef struct own_search {
    asked_master whom;
    live_view *view;
    rgm_status status;
    char state[32];
} own_search;

static bool is_done(rgm_master *master, void *payload)
{
    own_search *own = payload;

    (void)master;
    if (own->status == RGM_OK)
        own->status = live_view_update(own->state, own->view, &own->whom);
    return own->status != RGM_OK || is_over(own->state) || console_is_stopped(NULL);
}

/* Whether its slots are devices of this machine. */
static bool wants_devices(const rgm_search_file *file)
{
    const rgm_search_settings *o = rgm_search_file_settings(file);

    return o->resources.slot_type == RGM_SLOT_GPU && o->scheduler.type == RGM_SCHEDULER_LOCAL;
}

/* This process will not have more of them: they would be waited for in vain. */
static rgm_status check_slots(const asked_master *whom, const rgm_search_file *file)
{
    const rgm_search_settings *o = rgm_search_file_settings(file);
    json_t *master = NULL;
    int64_t slots, devices;

    if (o->scheduler.type != RGM_SCHEDULER_LOCAL)
        return RGM_OK;
    RGM_TRY(ask(&master, whom, "GET", NULL, "/api/v1/master"));
    slots = int_of(master, "slots");
    devices = (int64_t)json_array_size(json_object_get(master, "devices"));
    json_decref(master);
    if (wants_devices(file) && o->resources.slots_per_trial > devices)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "resources.slots_per_trial is %lld with slot_type: gpu, but there %s %lld "
                        "device%s: no trial could start",
                        (long long)o->resources.slots_per_trial, devices == 1 ? "is" : "are",
                        (long long)devices, devices == 1 ? "" : "s");
    if (wants_devices(file))
        return RGM_OK;
    return o->resources.slots_per_trial <= slots
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG,
                          "resources.slots_per_trial is %lld, but there are %lld slots: no trial "
                          "could start; take fewer, or --slots %lld",
                          (long long)o->resources.slots_per_trial, (long long)slots,
                          (long long)o->resources.slots_per_trial);
}

/* Others of the folder that are unfinished wait: they were not asked for. */
static rgm_status leave_others(const asked_master *whom, int64_t id)
{
    int64_t *left, count;
    json_t *e = NULL;
    rgm_status status = RGM_OK;

    RGM_TRY(rgm_master_serve_alone(&left, &count, whom->master, id));
    for (int64_t i = 0; i < count && status == RGM_OK; i++) {
        status = ask(&e, whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)left[i]);
        if (status != RGM_OK)
            break;
        say("waits",
            "experiment %lld, %s, which is unfinished too (%.1f%%): `regimen experiment activate "
            "%lld` runs it beside this one, `regimen master` runs all",
            (long long)left[i], text_of(e, "name"), 100 * number_of(e, "progress"),
            (long long)left[i]);
        json_decref(e);
    }
    rgm_free(left);
    return status;
}

static int run_alone(rgm_search_file *file, const search_request *r)
{
    rgm_master_options options = {.folder = master_place(r->where),
                                  .slots = r->slots,
                                  .threads_per_slot = r->threads,
                                  .devices = r->devices,
                                  .subject = &rgm_trial_subject};
    own_search own = {0};
    rgm_status status = RGM_OK;
    int64_t id = 0;
    int code = EXIT_DONE;

    if (options.devices == NULL && wants_devices(file))
        options.devices = "gpu"; /* to be told now that there is none */
    console_catch_signals();
    RGM_GO(rgm_master_open(&own.whom.master, &options));
    RGM_GO(check_slots(&own.whom, file));
    RGM_GO(take_up(&id, &own.whom, file, r));
    RGM_GO(leave_others(&own.whom, id));
    RGM_GO(live_view_create(&own.view, id));
    RGM_GO(rgm_master_serve(own.whom.master, is_done, &own));
    RGM_GO(own.status);
    code = finish(&own.whom, id, own.state, r->json);
done:
    if (status != RGM_OK)
        code = report(status);
    live_view_release(own.view);
    rgm_master_close(own.whom.master);
    return code;
}

/* ---- verbs --------------------------------------------------------------------------------- */

/* A client of the place where a master is at work; none: whom->client is NULL. */
static rgm_status find_master(asked_master *whom, const char *where)
{
    const char *place = master_place(where);

    *whom = (asked_master){0};
    if (strstr(place, "://") == NULL && !rgm_path_is_folder(place))
        return RGM_OK;
    RGM_TRY(rgm_client_open(&whom->client, place, NULL));
    if (strstr(place, "://") == NULL && !rgm_client_is_served(whom->client))
        master_close(whom);
    return RGM_OK;
}

int experiment_run(int argc, char **argv)
{
    search_request r = {0};
    const argument arguments[] = {
        {"slots", ARG_COUNT, &r.slots, "N",
         "trials at once, where each takes one (default: cores)"},
        {"threads", ARG_COUNT, &r.threads, "N", "threads of a slot (default: cores / slots)"},
        {"devices", ARG_TEXT, &r.devices, "LIST",
         "of a search with resources.slot_type: gpu, e.g. cuda:0,cuda:2 or opencl (gpu)"},
        {"new", ARG_FLAG, &r.anew, NULL, "another one, though one of this file is unfinished"},
        {"description", ARG_TEXT, &r.description, "TEXT", "for people"},
        {"config", ARG_LIST, &r.over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &r.sets, "KEY=VALUE", "override a key, e.g. searcher.max_trials=8"},
        {"json", ARG_FLAG, &r.json, NULL, "the experiment and its best trial as JSON on stdout"},
        MASTER_ARGUMENT(r.where),
        {0}};
    const usage how = {
        "experiment run NAME|FILE [--slots N | --devices LIST] [--set KEY=VALUE]... [--master DIR]",
        "Search the hyperparameters of a file with `searcher`, to its end. Where a master is at "
        "work\n"
        "it is handed the search and followed (Ctrl-C leaves it running); else this process is "
        "the\n"
        "master until the search is over (Ctrl-C lets trials save, and exits with 75). The same "
        "command\n"
        "goes on with what is unfinished, however it ended. Unfinished searches of other files "
        "wait\n"
        "meanwhile.",
        arguments, 1, 1};
    asked_master whom = {0};
    rgm_search_file *file = NULL;
    rgm_status status;
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    r.file = rest.items[0];
    name_master(r.where);
    code = search_open(&file, r.file, &r.over, &r.sets);
    if (code != EXIT_DONE)
        return code;
    status = find_master(&whom, r.where);
    if (status != RGM_OK)
        code = report(status);
    else if (whom.client != NULL && (r.slots > 0 || r.threads > 0 || r.devices != NULL))
        code = usage_error("a master is at work in %s: its slots are told to `regimen master`",
                           master_place(r.where));
    else if (whom.client != NULL) {
        console_catch_signals();
        code = run_at_master(&whom, file, &r);
    } else {
        code = run_alone(file, &r);
    }
    master_close(&whom);
    rgm_search_file_release(file);
    return code;
}

int experiment_create(int argc, char **argv)
{
    search_request r = {0};
    const argument arguments[] = {
        {"paused", ARG_FLAG, &r.paused, NULL, "not to begin before it is activated"},
        {"description", ARG_TEXT, &r.description, "TEXT", "for people"},
        {"config", ARG_LIST, &r.over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &r.sets, "KEY=VALUE", "override a key"},
        MASTER_ARGUMENT(r.where),
        {0}};
    const usage how = {"experiment create NAME|FILE [--paused] [--set KEY=VALUE]...",
                       "Hand a search to the master: it runs when one is at work in the folder.",
                       arguments, 1, 1};
    asked_master whom = {0};
    rgm_search_file *file = NULL;
    rgm_status status = RGM_OK;
    text_list rest;
    int64_t id;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    r.file = rest.items[0];
    name_master(r.where);
    code = search_open(&file, r.file, &r.over, &r.sets);
    if (code != EXIT_DONE)
        return code;
    if (strstr(master_place(r.where), "://") == NULL)
        RGM_GO(rgm_folder_make(master_place(r.where)));
    RGM_GO(master_open(&whom, r.where));
    RGM_GO(create(&id, &whom, file, &r));
    printf("Created experiment %lld\n", (long long)id);
    if (strstr(master_place(r.where), "://") == NULL && !rgm_client_is_served(whom.client))
        say("waits", "no master is at work in %s: `regimen master --master %s` runs it",
            master_place(r.where), master_place(r.where));
    code = print_text("");
done:
    if (status != RGM_OK)
        code = report(status);
    master_close(&whom);
    rgm_search_file_release(file);
    return code;
}

int experiment_wait(int argc, char **argv)
{
    const char *where = NULL;
    double interval = 1;
    const argument arguments[] = {
        {"polling-interval", ARG_FLOAT, &interval, "SECONDS", "between looks (default 1)"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "experiment wait ID [--polling-interval SECONDS]",
        "Until it is over; prints its state, and exits with 0 where it is COMPLETED.", arguments, 1,
        1};
    asked_master whom = {0};
    json_t *answer = NULL;
    rgm_status status = RGM_OK;
    text_list rest;
    int64_t id;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (!(interval >= 0.01))
        return usage_error("--polling-interval is %g, but must be 0.01 or more", interval);
    RGM_GO(read_id(&id, "experiment", rest.items[0]));
    RGM_GO(master_open(&whom, where));
    for (;;) {
        RGM_GO(ask(&answer, &whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)id));
        if (is_over(text_of(answer, "state")))
            break;
        json_decref(answer);
        answer = NULL;
        console_sleep(interval);
    }
    printf("%s\n", text_of(answer, "state"));
    code = is_in_state(answer, RGM_WORK_COMPLETED) ? EXIT_DONE : EXIT_FAILED;
    if (print_text("") != EXIT_DONE)
        code = EXIT_FAILED;
done:
    if (status != RGM_OK)
        code = report(status);
    json_decref(answer);
    master_close(&whom);
    return code;
}

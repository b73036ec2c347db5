/* regimen run, train: what an experiment says, in one of the modes. */
#include <string.h>
#include <unistd.h>

#include "verb_run.h"

#define RANK_PATIENCE 300.0 /* for the first process, which may be started last and reads data */

/* ---- folders ------------------------------------------------------------------------------- */

/* runs/<name>-<n> with the first free n. */
static rgm_status next_run_dir(char **out, const char *name)
{
    for (int n = 1; n < 1000000; n++) {
        RGM_TRY(rgm_strprintf(out, "runs/%s-%d", name, n));
        if (!rgm_path_exists(*out))
            return RGM_OK;
        rgm_free(*out);
        *out = NULL;
    }
    return RGM_FAIL(RGM_ERR_IO, "runs/ is full of runs of '%s'", name);
}

/* ---- modes ----------------------------------------------------------------------------- */

/* Those of a run, and two of the command's own. */
static const char *mode_name(run_mode mode)
{
    return mode == RUN_EXPORT            ? "export"
           : mode == RUN_EACH_CHECKPOINT ? "continuous_train_and_eval"
                                         : rgm_run_mode_names[mode];
}

static int mode_of(run_mode *mode, const char *name)
{
    const char *names[RUN_MODES];

    for (*mode = RUN_TRAIN; *mode < RUN_MODES; ++*mode) {
        names[*mode] = mode_name(*mode);
        if (strcmp(names[*mode], name) == 0)
            return EXIT_DONE;
    }
    return usage_error("--mode '%s' is unknown%s", name,
                       rgm_did_you_mean(name, names, RUN_MODES, NULL, "there are ").text);
}

/* ---- verbs --------------------------------------------------------------------------------- */

/* The folder that the first of those that train together has chosen. */
static rgm_status share_run_dir(char **made, rgm_comm *comm)
{
    int64_t size = *made != NULL ? (int64_t)strlen(*made) + 1 : 0;

    RGM_TRY(rgm_comm_broadcast(comm, &size, sizeof size, 0));
    if (rgm_comm_rank(comm) > 0) {
        char *copy;

        RGM_TRY(RGM_NEW(copy, size));
        *made = copy;
    }
    return rgm_comm_broadcast(comm, *made, (size_t)size, 0);
}

static rgm_status choose_run_dir(char **made, rgm_comm *comm, const char *name)
{
    if (rgm_comm_rank(comm) == 0)
        RGM_TRY(rgm_comm_fail(comm, next_run_dir(made, name)));
    return share_run_dir(made, comm);
}

/* What several processes cannot do together. */
static int check_ranks(const run_request *request, int64_t parts)
{
    int ranks = rgm_comm_size(request->comm);

    if (ranks == 1)
        return EXIT_DONE;
    if (!trains(request->mode))
        return usage_error("--mode %s is one process's work, and there are %d ranks",
                           mode_name(request->mode), ranks);
    if (request->restarts > 0)
        return usage_error("--restarts starts one process again, and there are %d ranks: start the "
                           "whole job again, it goes on",
                           ranks);
    if (parts > 1)
        return usage_error("trainer.folds and runtime.seeds are several runs, and there are %d "
                           "ranks for one: set trainer.fold, or runtime.seed",
                           ranks);
    return EXIT_DONE;
}

static int open_and_run(const char *name, const text_list *over, const text_list *sets,
                        run_request *request)
{
    rgm_experiment *experiment = NULL;
    rgm_trial_task *own = NULL;
    char *made = NULL;
    rgm_status status;
    int code;

    if (request->run_dir == NULL && !trains(request->mode) && request->mode != RUN_EACH_CHECKPOINT)
        return usage_error("--mode %s needs --run-dir DIR: the run whose weights are meant",
                           mode_name(request->mode));
    if (request->last && request->mode != RUN_EXPORT)
        return usage_error("--last goes with --mode export");
    if ((request->restarts > 0 || request->profile) && !trains(request->mode))
        return usage_error("--%s does not go with --mode %s",
                           request->profile ? "profile" : "restarts", mode_name(request->mode));
    code = run_open(&experiment, &own, name, over, sets);
    if (code == EXIT_DONE)
        code = check_ranks(request, own != NULL ? 1 : rgm_experiment_part_count(experiment));
    if (code == EXIT_DONE && request->run_dir == NULL) {
        status = choose_run_dir(&made, request->comm,
                                own != NULL ? rgm_trial_task_file(own)
                                            : rgm_experiment_name(experiment));
        request->run_dir = made;
        if (status != RGM_OK)
            code = report(status);
    }
    if (code == EXIT_DONE && request->mode == RUN_EACH_CHECKPOINT)
        code = own != NULL
                   ? usage_error("--mode continuous_train_and_eval is of experiments, not of a "
                                 "model of one's own")
                   : run_each_checkpoint(experiment, request);
    else if (code == EXIT_DONE && own != NULL)
        code = request->restarts > 0 ? usage_error("--restarts goes with experiments, not with a "
                                                   "model of one's own")
                                     : run_own(own, request);
    else if (code == EXIT_DONE && rgm_experiment_part_count(experiment) > 1)
        code = run_series(experiment, request);
    else if (code == EXIT_DONE)
        code = request->restarts > 0 ? run_with_restarts(experiment, request)
                                     : run_experiment(experiment, request);
    rgm_experiment_release(experiment);
    rgm_trial_task_release(own);
    rgm_free(made);
    return code;
}

/* Whether the experiment says so; one that cannot be read is told of by whoever runs it. */
static bool is_asynchronous(const run_request *request)
{
    const rgm_experiment_layers layers = {.name = request->name,
                                          .over = request->over->items,
                                          .over_count = request->over->count,
                                          .environment = environ,
                                          .sets = request->sets->items,
                                          .set_count = request->sets->count};
    rgm_experiment *experiment = NULL;
    const rgm_experiment_value *value = NULL;
    bool is = false;

    if (rgm_experiment_load_layers(&experiment, &layers) == RGM_OK)
        value = rgm_experiment_find(experiment, "runtime.distribution");
    if (value != NULL && value->value != NULL && value->value->text != NULL)
        is = strcmp(value->value->text, "asynchronous") == 0;
    rgm_experiment_release(experiment);
    rgm_error_reset();
    return is;
}

/* What is asked of a run and has no meaning for a worker, which keeps nothing; NULL: nothing is. */
static const char *not_of_workers(const run_request *request)
{
    return request->run_dir != NULL              ? "run-dir"
           : request->mode != RUN_TRAIN_AND_EVAL ? "mode"
           : request->restarts > 0               ? "restarts"
           : request->last                       ? "last"
           : request->profile                    ? "profile"
           : request->json                       ? "json"
                                                 : NULL;
}

static int join(const run_request *request)
{
    rgm_experiment *experiment = NULL;
    int code = experiment_open(&experiment, request->name, request->over, request->sets);

    if (code == EXIT_DONE)
        code = run_as_worker(experiment, request);
    rgm_experiment_release(experiment);
    return code;
}

/*
 * Processes that mpirun or srun has started for an asynchronous run: the first is the server, the
 * others are workers. They meet in the run folder and need no MPI, so one that dies takes nobody
 * with it.
 */
static int run_apart(run_request *request, int place, int started)
{
    if (!trains(request->mode))
        return usage_error("--mode %s is one process's work, and there are %d",
                           mode_name(request->mode), started);
    if (request->run_dir == NULL)
        return usage_error("the processes of an asynchronous run meet in its folder: add --run-dir "
                           "DIR");
    request->comm = rgm_comm_self();
    request->beside = started - 1;
    if (place == 0)
        return open_and_run(request->name, request->over, request->sets, request);
    console_mute();
    request->place = place;
    request->join = request->run_dir;
    request->patience = RANK_PATIENCE;
    (void)join(request); /* the first one tells how the run ended, and of workers that came */
    return EXIT_DONE;
}

/* Where mpirun or srun has started several of them, the first one speaks for all. */
static int run_on_ranks(const char *name, const text_list *over, const text_list *sets,
                        run_request *request)
{
    rgm_status status;
    int code, rank, place, started = rgm_comm_launched(&place);

    request->name = name;
    request->over = over;
    request->sets = sets;
    if (request->join != NULL && not_of_workers(request) != NULL)
        return usage_error("--%s does not go with --join: this process would be a worker of a run "
                           "that another one keeps",
                           not_of_workers(request));
    if (request->join != NULL)
        return join(request);
    if (started > 1 && is_asynchronous(request))
        return run_apart(request, place, started);
    status = rgm_comm_open(&request->comm);
    if (status != RGM_OK)
        return report_to_ranks(status);
    rank = rgm_comm_rank(request->comm);
    if (rank > 0)
        console_mute();
    code = open_and_run(name, over, sets, request);
    if (code != EXIT_DONE && code != EXIT_CONTINUE) /* what only this one cannot read, say */
        (void)rgm_comm_fail(request->comm,
                            RGM_FAIL(RGM_ERR_CONFIG, "%s",
                                     rank > 0 ? rgm_error_message() : "it has told what is wrong"));
    rgm_comm_close(request->comm);
    return rank > 0 ? EXIT_DONE : code;
}

int verb_run(int argc, char **argv)
{
    run_request request = {.mode = RUN_TRAIN_AND_EVAL};
    const char *mode = "train_and_eval";
    text_list over = {.count = 0}, sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"mode", ARG_TEXT, &mode, "MODE",
         "train, eval, train_and_eval (default), train_and_post_eval, continuous_eval, "
         "continuous_train_and_eval, export"},
        {"run-dir", ARG_TEXT, &request.run_dir, "DIR",
         "run folder; one that is there is continued"},
        {"config", ARG_LIST, &over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key, e.g. trainer.epochs=3"},
        {"last", ARG_FLAG, &request.last, NULL, "export: the newest weights, not the best"},
        {"restarts", ARG_COUNT, &request.restarts, "N",
         "start it again when it is killed, crashes or is preempted, N times without progress"},
        {"profile", ARG_FLAG, &request.profile, NULL,
         "where the time of some steps goes: a table, and profile.json in the run folder"},
        {"json", ARG_FLAG, &request.json, NULL, "the result as one JSON object on stdout"},
        {"join", ARG_TEXT, &request.join, "RUN|URL",
         "be a worker of that asynchronous run, by its folder, or its URL with $REGIMEN_TOKEN"},
        {0}};
    const usage how = {
        "run NAME|FILE [--mode MODE] [--run-dir DIR] [--config FILE]... [--set KEY=VALUE]...",
        "Train, validate, test and export what an experiment says: a file, or a name of\n"
        "`regimen config list`. Without --run-dir a new folder runs/<name>-<n> is made. Running "
        "the\n"
        "same command on the same folder continues it; Ctrl-C or SIGTERM saves and exits with "
        "75.\n"
        "Processes that mpirun or srun has started, up to runtime.shards of them, train one run\n"
        "together; it has the same bytes as on one, and ends with what they exchanged and the "
        "share\n"
        "that was hidden behind the model. runtime.gradient_exchange=bf16 halves their gradients.\n"
        "With runtime.distribution: asynchronous the first of them is the server, and the others,\n"
        "and any that come by --join, are its workers.\n"
        "A file with trainer.folds or runtime.seeds is as many runs, one after the other, in\n"
        "DIR/fold-1, ...; what they came to on average is printed and in DIR/summary.json.\n\n"
        "  train                train alone\n"
        "  eval                 one validation of the newest weights of --run-dir\n"
        "  train_and_eval       train, with validations on the way\n"
        "  train_and_post_eval  train, then one validation\n"
        "  continuous_eval      follow a trainer in another process: validate each new checkpoint "
        "of\n"
        "                       --run-dir until its last step or trainer.continuous_eval_timeout\n"
        "  continuous_train_and_eval\n"
        "                       follow the run trainer.initialize.checkpoint in another process: "
        "fine-tune each\n"
        "                       new checkpoint of it, in --run-dir/step-N, until it is finished\n"
        "  export               write --run-dir's best (or --last) weights for other programs",
        arguments, 1, 1};
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = mode_of(&request.mode, mode);
    return code == EXIT_DONE ? run_on_ranks(rest.items[0], &over, &sets, &request) : code;
}

int verb_train(int argc, char **argv)
{
    run_request request = {.mode = RUN_TRAIN};
    text_list over = {.count = 0}, sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"run-dir", ARG_TEXT, &request.run_dir, "DIR",
         "run folder; one that is there is continued"},
        {"config", ARG_LIST, &over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key, e.g. trainer.epochs=3"},
        {"restarts", ARG_COUNT, &request.restarts, "N",
         "start it again when it is killed, crashes or is preempted, N times without progress"},
        {"profile", ARG_FLAG, &request.profile, NULL,
         "where the time of some steps goes: a table, and profile.json in the run folder"},
        {"json", ARG_FLAG, &request.json, NULL, "the result as one JSON object on stdout"},
        {0}};
    const usage how = {
        "train NAME|FILE [--run-dir DIR] [--config FILE]... [--set KEY=VALUE]... [--json]",
        "Train alone, as regimen run --mode train: validations are another process's\n"
        "(regimen run --mode continuous_eval) or nobody's.",
        arguments, 1, 1};

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return run_on_ranks(rest.items[0], &over, &sets, &request);
}

/* regimen data serve, key: batches for a trainer that listens elsewhere. */
#include <string.h>

#include "cli.h"

typedef struct serve_request {
    const char *address, *key, *run_dir;
    rgm_serve_options serve;
} serve_request;

static rgm_status serve(int64_t *made, rgm_experiment *experiment, const serve_request *request)
{
    rgm_run_options options;

    RGM_TRY(rgm_experiment_prepare(&options, experiment, request->run_dir));
    console_catch_signals();
    say("serve", "%s, %d thread%s", options.runtime.input_workers.address, request->serve.threads,
        request->serve.threads == 1 ? "" : "s");
    return rgm_experiment_serve(made, experiment, &options, &request->serve);
}

/* --address and --key stand for the keys of the same names. */
static rgm_status add_set(char **out, text_list *sets, const char *key, const char *value)
{
    *out = NULL;
    if (value == NULL)
        return RGM_OK;
    if (sets->count == (int64_t)(sizeof sets->items / sizeof *sets->items))
        return RGM_FAIL(RGM_ERR_ARG, "too many --set");
    RGM_TRY(rgm_strprintf(out, "runtime.input_workers.%s=%s", key, value));
    sets->items[sets->count++] = *out;
    return RGM_OK;
}

static int serve_experiment(const char *name, const text_list *over, text_list *sets,
                            const serve_request *request)
{
    rgm_experiment *experiment = NULL;
    char *address = NULL, *key = NULL;
    int64_t made = 0;
    rgm_status status = add_set(&address, sets, "address", request->address);
    int code = EXIT_DONE;

    if (status == RGM_OK)
        status = add_set(&key, sets, "key", request->key);
    if (status == RGM_OK)
        code = experiment_open(&experiment, name, over, sets);
    if (status == RGM_OK && code == EXIT_DONE) {
        status = serve(&made, experiment, request);
        say("made", "%s batches", grouped(made));
    }
    if (status == RGM_STOPPED) /* the trainer knows, and gives its batches to others */
        status = RGM_OK;
    if (status != RGM_OK)
        code = report(status);
    rgm_experiment_release(experiment);
    rgm_free(address);
    rgm_free(key);
    return code;
}

int data_serve(int argc, char **argv)
{
    serve_request request = {.serve = {.should_stop = console_is_stopped}};
    int64_t threads = 1;
    text_list over = {.count = 0}, sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"address", ARG_TEXT, &request.address, "HOST:PORT",
         "where the trainer listens; default: runtime.input_workers.address"},
        {"key", ARG_TEXT, &request.key, "FILE", "default: runtime.input_workers.key"},
        {"threads", ARG_COUNT, &threads, "N", "batches made at once, default 1"},
        {"stay", ARG_FLAG, &request.serve.stays, NULL,
         "when the trainer ends, wait for the next one"},
        {"run-dir", ARG_TEXT, &request.run_dir, "DIR",
         "the run folder, where the data lie in it (records that the run has sampled): begin after "
         "the trainer then"},
        {"config", ARG_LIST, &over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key, e.g. data.path=DIR"},
        {0}};
    const usage how = {
        "data serve NAME|FILE [--address HOST:PORT] [--key FILE] [--threads N] [--stay]",
        "Read, parse, sample and batch for a run of the same experiment elsewhere, which has\n"
        "runtime.input_workers.address set. Several may serve one run, and come and go.",
        arguments, 1, 1};

    READ_ARGUMENTS(&rest, &how, argc, argv);
    request.serve.threads = threads < 1024 ? (int)threads : 1024;
    return serve_experiment(rest.items[0], &over, &sets, &request);
}

int data_key(int argc, char **argv)
{
    text_list rest;
    const argument arguments[] = {{0}};
    const usage how = {"data key FILE",
                       "Write a new key for runtime.input_workers.key. Who has a copy may join.",
                       arguments, 1, 1};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = rgm_service_key_create(rest.items[0]);
    if (status == RGM_OK)
        say("key", "%s, which only you may read; copy it to the machines of the workers",
            rest.items[0]);
    return report(status);
}

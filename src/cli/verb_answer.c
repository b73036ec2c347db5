/* regimen answer: trained models behind HTTP, until it is told to stop. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "token_place.h"

#include <regimen/answer.h>
#include <regimen/web.h>

#define DEFAULT_ADDRESS "127.0.0.1:8501"

/* What is kept for the options while the server is at work. */
typedef struct kept {
    rgm_answer_model models[256];
    char *names[256];
    rgm_web_secrets secrets;
    char token[RGM_WEB_TOKEN]; /* of --token-file */
} kept;

/* NAME=SOURCE, where NAME could be one; a path may have the sign too. */
static rgm_status read_model(rgm_answer_model *out, char **name, const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t size = strspn(text, letters);

    *out = (rgm_answer_model){.source = text};
    if (size == 0 || text[size] != '=' || rgm_path_exists(text))
        return RGM_OK;
    RGM_TRY(rgm_strndup(name, text, size));
    *out = (rgm_answer_model){.name = *name, .source = text + size + 1};
    return RGM_OK;
}

/* Where the token cannot be kept, models are served all the same. */
static rgm_status find_token(rgm_answer_options *options, kept *k, const char *file, bool fresh)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    if (file != NULL) {
        options->token = k->token;
        return rgm_web_token_read(k->token, file);
    }
    RGM_GO(
        token_place(&path, "answer", options->listen != NULL ? options->listen : DEFAULT_ADDRESS));
    if (path == NULL)
        goto done;
    status = rgm_web_secrets_load(&k->secrets, path, fresh);
    if (status == RGM_ERR_IO || status == RGM_ERR_NOT_FOUND) {
        say("token", "it is another one at the next start: %s", rgm_error_message());
        status = RGM_OK;
        goto done;
    }
    if (status == RGM_OK) {
        options->token = k->secrets.token;
        say("token", "the first line of %s", path);
    }
done:
    rgm_free(path);
    return status;
}

static void tell(const char *line, void *payload)
{
    (void)payload;
    say("model", "%s", line);
}

static rgm_status serve(const rgm_answer_options *options)
{
    rgm_status status = RGM_OK;
    rgm_text lines = {0};
    rgm_answer_server *server = NULL;

    console_catch_signals();
    RGM_GO(rgm_answer_open(&server, options));
    RGM_GO(rgm_text_printf(&lines, "answer   %s\ntoken    %s\n", rgm_answer_address(server),
                           rgm_answer_token(server)));
    if (print_exact(lines.data) != EXIT_DONE)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "the address could not be told"));
    RGM_GO(rgm_answer_serve(server, console_is_stopped, NULL));
    say("answer", "ended");
done:
    rgm_answer_close(server);
    rgm_text_clear(&lines);
    return status;
}

static rgm_status answer(rgm_answer_options *options, const text_list *models, const char *file,
                         bool fresh)
{
    rgm_status status = RGM_OK;
    kept *k = NULL;

    RGM_GO(RGM_NEW(k, 1));
    for (int64_t i = 0; i < models->count; i++)
        RGM_GO(read_model(&k->models[i], &k->names[i], models->items[i]));
    options->models = k->models;
    options->model_count = models->count;
    RGM_GO(find_token(options, k, file, fresh));
    RGM_GO(serve(options));
done:
    for (int64_t i = 0; k != NULL && i < models->count; i++)
        rgm_free(k->names[i]);
    rgm_free(k);
    return status;
}

/* Numbers that the library takes in seconds and bytes. */
typedef struct bounds {
    double delay_ms, timeout_ms, reload, drain;
    int64_t body_mb, threads;
} bounds;

static int set_bounds(rgm_answer_options *options, const bounds *b)
{
    if (b->delay_ms < 0 || b->timeout_ms <= 0 || b->reload <= 0 || b->drain <= 0)
        return usage_error("--delay-ms is 0 or more, --timeout-ms, --reload and --drain above 0");
    if (fmax(b->delay_ms, b->timeout_ms) > 1000.0 * RGM_ANSWER_LONGEST ||
        fmax(b->reload, b->drain) > RGM_ANSWER_LONGEST)
        return usage_error(
            "--delay-ms, --timeout-ms, --reload and --drain are a day (%d s) at most",
            RGM_ANSWER_LONGEST);
    if (b->body_mb > 1024 || b->threads > 1024)
        return usage_error("--body-mb and --threads are 1,024 at most");
    options->max_delay = b->delay_ms > 0 ? b->delay_ms / 1000 : -1;
    options->timeout = b->timeout_ms / 1000;
    options->reload_seconds = b->reload;
    options->drain_seconds = b->drain;
    options->max_body = b->body_mb << 20;
    if (b->threads > 0)
        rgm_threads_set((int)b->threads);
    return EXIT_DONE;
}

int verb_answer(int argc, char **argv)
{
    rgm_answer_options options = {.tell = tell, .max_batch = 32, .max_queue = 1024};
    bounds b = {.delay_ms = 1, .timeout_ms = 30000, .reload = 1, .drain = 30, .body_mb = 4};
    text_list sets = {.count = 0}, models;
    const char *file = NULL;
    bool fresh = false;
    const argument arguments[] = {
        {"listen", ARG_TEXT, &options.listen, "ADDRESS:PORT",
         "answer there (default: " DEFAULT_ADDRESS "; port 0: any that is free)"},
        {"allow-remote", ARG_FLAG, &options.allow_remote, NULL,
         "--listen may be an address that others reach; what they send is not encrypted"},
        {"token-file", ARG_TEXT, &file, "FILE",
         "the token that every request needs, in a file of yours alone (chmod 600); default: one "
         "that "
         "is kept for this address"},
        {"new-token", ARG_FLAG, &fresh, NULL, "draw another token for this address"},
        {"batch", ARG_COUNT, &options.max_batch, "N",
         "answer so many at once, or write so many texts together, default 32"},
        {"delay-ms", ARG_FLOAT, &b.delay_ms, "MS",
         "wait so long for others to answer with, default 1"},
        {"queue", ARG_COUNT, &options.max_queue, "N",
         "so many may wait for a model, default 1024: more get 429"},
        {"timeout-ms", ARG_FLOAT, &b.timeout_ms, "MS",
         "begin with a request within that, default 30000, or answer 504"},
        {"body-mb", ARG_COUNT, &b.body_mb, "N", "MiB of a request at most, default 4"},
        {"reload", ARG_FLOAT, &b.reload, "SECONDS",
         "look for newer versions so often, default 1; a folder must stand still for so long"},
        {"drain", ARG_FLOAT, &b.drain, "SECONDS", "at the end, for what was accepted, default 30"},
        {"threads", ARG_COUNT, &b.threads, "N", "for all models together; default: all cores"},
        {"registry", ARG_TEXT, &options.registry, "DIR", "where model:NAME is looked up"},
        {"set", ARG_LIST, &sets, "KEY=VALUE",
         "override a key of the models, e.g. task.search.beam_size=1"},
        {0}};
    const usage how = {"answer [NAME=]EXPORT|RUN_DIR|model:NAME@STAGE... [--listen ADDRESS:PORT]",
                       "Answer for trained models over HTTP, by TensorFlow Serving's names: POST\n"
                       "/v1/models/NAME:predict with {\"instances\": [...]}. An instance is a line "
                       "of text, a prompt, a\n"
                       "row of numbers or a graph's features; /v1/models/NAME:stream tells the "
                       "text behind one prompt\n"
                       "token by token. Newer versions take over without losing a request. Ctrl-C "
                       "or SIGTERM ends it\n"
                       "when what was accepted has been answered.",
                       arguments, 1, 255};
    int code;

    READ_ARGUMENTS(&models, &how, argc, argv);
    code = set_bounds(&options, &b);
    if (code != EXIT_DONE)
        return code;
    if (file != NULL && fresh)
        return usage_error("--new-token draws one, --token-file has one");
    options.sets = sets.items;
    options.set_count = sets.count;
    return report(answer(&options, &models, file, fresh));
}

/*
 * answer: trained models that answer over HTTP, of text, graphs and records alike, several behind
 * one port. What is asked is gathered into batches for at most a bounded time, queues have limits
 * and requests deadlines, and a model is replaced by its newer version without losing a request.
 * Language models tell their texts as they grow, too.
 *
 *     rgm_answer_open()     load the models, listen
 *     rgm_answer_address()  "http://127.0.0.1:8501", and the token that every request needs
 *     rgm_answer_serve()    until told to stop; what was accepted by then is answered
 *     rgm_answer_handle()   a request without a socket: what tests and fuzzing ask
 *
 * The requests are those of TensorFlow Serving's REST interface: docs/answer.md.
 */
#ifndef REGIMEN_ANSWER_H
#define REGIMEN_ANSWER_H

#include <regimen/experiment.h>
#include <regimen/http.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model to serve. */
typedef struct rgm_answer_model {
    /** 1 to 64 of a-z, A-Z, 0-9, '_', '-' and '.', not beginning with '.'. NULL: the name in the
     * registry, else that of the folder, of ".../de_en/export" "de_en". */
    const char *name;
    /** The folder of an export, or one whose folders 1, 2, ... are exports, of which the highest
     * number counts; a run folder, of which the best weights count, also one of a program's own
     * model as rgm_trial_predictor_open() takes it; "model:NAME@STAGE" of a registry, as
     * rgm_model_find() takes it. */
    const char *source;
} rgm_answer_model;

/** The most seconds of any of the times below, a day. */
enum { RGM_ANSWER_LONGEST = 86400 };
/** 0 means the default. */
typedef struct rgm_answer_options {
    const rgm_answer_model *models; /* [model_count] */
    int64_t model_count;
    const char *const *sets; /* [set_count] as in rgm_predictor_open(), for all models */
    int64_t set_count;
    const char *registry; /* NULL: rgm_registry_place()                                       */
    const char *listen;   /* "127.0.0.1:8501"; port 0: any that is free; NULL: 127.0.0.1:8501   */
    bool allow_remote;    /* an address that others can reach: refused without                  */
    const char *token;    /* what every request needs; NULL: drawn                              */
    int64_t max_batch;    /* questions that a model answers at once, texts that it writes together;
                             0: 32                                                              */
    double max_delay;     /* seconds that a question waits for others to be answered with; below 0:
                             none; 0: 0.001                                                     */
    int64_t max_queue; /* questions of a model that wait, and of one request: more get 429 or 400;
                          0: 1,024                                                           */
    double timeout; /* seconds from a request's arrival until its model begins with it, else 504; a
                       request may ask for less by X-Timeout-Ms; 0: 30                        */
    int64_t max_body;      /* bytes of a request, else 413; 0: 4 MiB                           */
    double reload_seconds; /* between two looks at the models' sources; 0: 1                   */
    double drain_seconds;  /* for what was accepted before the end, streams too; 0: 30         */
    /** What happens to models, a line each, from any thread; NULL: to the log of the process. */
    void (*tell)(const char *line, void *payload);
    void *payload;
} rgm_answer_options;

typedef struct rgm_answer_server rgm_answer_server;
/**
 * Load the models and listen; nothing is answered before rgm_answer_serve().
 *
 * @param options  [in] copied
 *
 * Errors: RGM_ERR_ARG (no models, a name twice or impossible, no address in numbers, one that
 * others can reach without allow_remote, a time above RGM_ANSWER_LONGEST or NaN), RGM_ERR_BUSY
 * (another program listens there), those of rgm_trial_predictor_open() and rgm_model_path() with
 * the model's name; *out is then NULL.
 */
rgm_status rgm_answer_open(rgm_answer_server **out, const rgm_answer_options *options);
/** Valid as long as the server. */
const char *rgm_answer_address(const rgm_answer_server *server);
const char *rgm_answer_token(const rgm_answer_server *server);
/**
 * Answer requests until `done`, which is called twenty times a second, returns true. From then on
 * requests get 503, and those that were accepted are still answered, for drain_seconds at most.
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM. Threads: one call.
 */
rgm_status rgm_answer_serve(rgm_answer_server *server, bool (*done)(void *payload), void *payload);
/**
 * Answer a request as if it had come from the socket; its headers decide whether it is allowed.
 *
 * @param out  [out] cleared with rgm_response_clear(), of a stream before the server is closed
 *
 * Threads: any, several at once.
 */
void rgm_answer_handle(rgm_response *out, rgm_answer_server *server, const rgm_request *request);
/**
 * Look at the models' sources now, and load what is newer: what happens by itself every
 * reload_seconds, where a folder must also have stood still for that long. A version that cannot be
 * loaded is told once, and the one before stays; it is tried again now, when it changes, and by
 * itself with every thirtieth look.
 *
 * Threads: any.
 */
void rgm_answer_reload(rgm_answer_server *server);
void rgm_answer_close(rgm_answer_server *server);

#ifdef __cplusplus
}
#endif
#endif

/*
 * Shared by the files of answer: what a request asks (inquiry.c), a model with its versions
 * (served.c, source.c), its queue and the thread that answers (batch.c), texts that it writes token
 * by token (writing.c) and their streams (telling.c), what is counted (figures.c), and the requests
 * (answer_routes.c).
 */
#ifndef RGM_ANSWER_INTERNAL_H
#define RGM_ANSWER_INTERNAL_H

#include <regimen/answer.h>

#include <pthread.h>
#include <stdatomic.h>

/* ---- figures.c ------------------------------------------------------------------------------ */

enum { RGMI_BUCKETS = 16, RGMI_CODES = 7 };
/** Observations by size: bucket i has those of at most its bound, the last all others. */
typedef struct rgmi_histogram {
    int64_t counts[RGMI_BUCKETS];
    double sum;
} rgmi_histogram;
/** What a model did since it is served. Guarded by its lock. */
typedef struct rgmi_figures {
    int64_t requests[RGMI_CODES]; /* by rgmi_code_place() */
    int64_t questions, reloads, refused;
    int64_t tokens, gone;           /* tokens written; streams that nobody read to their end */
    rgmi_histogram seconds, waited; /* of a request until its answer; until its model begins */
    rgmi_histogram batches;         /* questions answered together */
} rgmi_figures;
int rgmi_code_place(int code);
void rgmi_observe_seconds(rgmi_histogram *h, double seconds);
void rgmi_observe_size(rgmi_histogram *h, int64_t size);
/** Print all models' figures as Prometheus' text. */
rgm_status rgmi_figures_print(rgm_text *out, rgm_answer_server *server);

/* ---- source.c: where a model's versions come from -------------------------------------------- */

/** A version that is to be had. */
typedef struct rgmi_offer {
    char *folder;   /* NULL: of a registry, whose files are checked when it is taken */
    int64_t number; /* in the registry, or of the folder; 0: it has none */
    uint64_t stamp; /* changes with what is there */
} rgmi_offer;
void rgmi_offer_clear(rgmi_offer *offer);
/** Find the newest version of a source. Errors: those of the registry; RGM_ERR_NOT_FOUND. */
rgm_status rgmi_source_look(rgmi_offer *out, const char *source, const char *registry);
/** Make its folder known: of a registry after a look at every file. */
rgm_status rgmi_source_take(rgmi_offer *offer, const char *source, const char *registry);
/** A model's name by its source. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgmi_source_name(char **out, const char *source);

/* ---- served.c: models ------------------------------------------------------------------------ */

/** A loaded version, counted: the last who uses it releases it. */
typedef struct rgmi_version {
    atomic_long references;
    rgm_predictor *predictor;
    rgm_question_form form;
    int64_t number;
    bool writes; /* it is in the list of writing.c */
    struct rgmi_version *next;
} rgmi_version;
void rgmi_version_release(rgmi_version *version);

struct rgmi_inquiry;
typedef struct rgmi_served {
    rgm_answer_server *server;
    char *name, *source;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    rgmi_version *version;
    uint64_t stamp,
        seen;         /* of the version; of what the last look saw, to be loaded once it stands */
    uint64_t refused; /* of what could not be loaded; 0: nothing */
    int64_t looks;    /* since then */
    char *reason;     /* why; NULL: it could */
    struct rgmi_inquiry *first, *last;
    int64_t waiting; /* questions in the queue */
    int64_t busy;    /* requests that the thread has taken and not yet answered, and streams */
    int64_t texts;   /* being written */
    int64_t streams; /* open: begun, and not closed by who reads them */
    bool ends, cut;  /* cut: what is not answered by now is not any more */
    rgmi_figures figures;
    pthread_t thread;
    bool has_thread;
    int64_t asked; /* questions so far: numbers for what is drawn at random; the thread's alone */
} rgmi_served;
rgm_status rgmi_served_open(rgmi_served *model, rgm_answer_server *server,
                            const rgm_answer_model *from);
void rgmi_served_close(rgmi_served *model);
/** Its version, to be released. */
rgmi_version *rgmi_served_version(rgmi_served *model);
/** Load what is newer; `at_once`: also what has just changed. */
void rgmi_served_reload(rgmi_served *model, bool at_once);
/** Count an answer that was given. */
void rgmi_served_count(rgmi_served *model, int code, double seconds);

/** Tell what happens to a model. */
void rgmi_answer_tell(const rgm_answer_server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- failed.c ------------------------------------------------------------------------------- */

/** Replace the answer by an error, {"error": "...", "code": "RGM_ERR_..."}; code 0: by the status.
 */
void rgmi_answer_fail(rgm_response *out, int code, rgm_status status);

/** As JSON, `{"error": "...", "code": "..."}`. */
rgm_status rgmi_failure_print(rgm_text *out, rgm_status status);

/* ---- telling.c: the stream of a text ----------------------------------------------------------
 */

/** Events of one text from the thread that writes it to the connection that reads them: both have
 * it, and the last of them frees it. */
typedef struct rgmi_telling rgmi_telling;
rgm_status rgmi_telling_create(rgmi_telling **out, rgmi_served *model);
/** The writer lets go of it; what it has written by then is still read. */
void rgmi_telling_end(rgmi_telling *telling);
/** What reads it, once: the stream of a response. */
rgm_http_stream rgmi_telling_reader(rgmi_telling *telling);
/** Add "event: NAME" (NULL: none) with one line of data. Without memory the stream ends there. */
void rgmi_telling_add(rgmi_telling *telling, const char *event, const rgm_text *data);
/** Whether nobody reads it any more. */
bool rgmi_telling_is_gone(rgmi_telling *telling);
/** Streams have something to be read. */
void rgmi_answer_wake(rgm_answer_server *server);

/* ---- inquiry.c: a request's questions ----------------------------------------------------------
 */

typedef struct rgmi_inquiry {
    struct rgmi_inquiry *next;
    rgmi_served *model;
    rgmi_version *version;  /* that was there when it came: this one answers it */
    rgm_http_later *later;  /* NULL: whoever asked waits for `answered` */
    rgm_response *response; /* of who waits */
    bool answered;
    int64_t count;
    rgm_tensor *rows; /* f64 [count, ...], as they were nested; NULL: texts */
    rgm_text bytes;   /* that texts point into */
    rgm_str *texts;
    char **wishes;   /* [count] of lines, owned; NULL: none */
    void **prepared; /* [count] prompts, until they join; NULL: other questions */
    /* Of prompts: */
    int64_t joined, left;  /* how many have joined; have no prediction yet */
    rgm_text *predictions; /* [count] */
    rgmi_telling *telling; /* of a stream */
    rgm_status failed;     /* the first failure, with `error` */
    rgm_error error;
    double came, until;
} rgmi_inquiry;
/** Read a request's body; `streams`: its one text is to be told as it grows. Errors:
 * RGM_ERR_FORMAT, RGM_ERR_DATA, ... with the instance; RGM_ERR_UNSUPPORTED (a stream of a model
 * that writes no texts), RGM_ERR_NOMEM.
 */
rgm_status rgmi_inquiry_read(rgmi_inquiry **out, rgmi_served *model, const rgm_request *request,
                             bool streams);
void rgmi_inquiry_release(rgmi_inquiry *asked);
/** Append the answer of question i as a JSON value. */
rgm_status rgmi_answer_print(rgm_text *out, const rgm_answers *answers, const rgmi_version *version,
                             int64_t i);

/* ---- answered.c ----------------------------------------------------------------------------- */

/** Answer whoever asked, by *response or an error, and release the request. */
void rgmi_inquiry_answer(rgmi_inquiry *asked, rgm_response *response);
void rgmi_inquiry_fail(rgmi_inquiry *asked, rgm_status status);
/** With these predictions, [count], of which prediction i is begins[i] .. begins[i + 1]. */
void rgmi_inquiry_predict(rgmi_inquiry *asked, const rgm_text *predictions, const int64_t *begins);

/* ---- batch.c: the queue and the thread that answers ------------------------------------------ */

/** Begin to answer. Errors: RGM_ERR_IO. */
rgm_status rgmi_batch_start(rgmi_served *model);
/** Put a request into its model's queue; false: there is no room, and *out says so. */
bool rgmi_batch_add(rgm_response *out, rgmi_inquiry *asked);
/** Give 504 to those whose time is over. */
void rgmi_batch_expire(rgmi_served *model, double now);
/** Wait no longer for company: the server drains. */
void rgmi_batch_hurry(rgmi_served *model);
/** Whether nothing waits or is being answered. */
bool rgmi_batch_is_idle(rgmi_served *model);
/** Whatever is not answered by now gets 503; for the end, when the time for it is over. */
void rgmi_batch_cut(rgmi_served *model);

/* ---- writing.c: texts token by token ----------------------------------------------------------
 */

/** The texts that a model's thread writes. `{0}` is a valid empty one. */
typedef struct rgmi_writing {
    rgmi_served *model;
    struct rgmi_asked_text *first; /* those that have joined */
    int64_t count;
    rgmi_version *versions; /* that write some of them */
} rgmi_writing;
/** Whether the first of the queue is to be written; the lock is held. */
bool rgmi_writing_is_next(const rgmi_served *model);
/** Let those of the queue join for which there is a place. */
void rgmi_writing_join(rgmi_writing *writing);
/** A token more of each, which is told. */
void rgmi_writing_step(rgmi_writing *writing);
/** All that is being written or waits to be fails: the server ends. */
void rgmi_writing_cut(rgmi_writing *writing);

/* ---- answer_routes.c
 * -------------------------------------------------------------------------------- */

bool rgmi_answer_admit(rgm_response *out, const rgm_request *request, void *server);
int64_t rgmi_answer_lane(const rgm_request *request, void *server);
void rgmi_answer_request(rgm_response *out, const rgm_request *request, void *server);

struct rgm_answer_server {
    rgm_answer_options options; /* with defaults; texts and lists are owned copies */
    char **sets;
    char *registry, *address, *listen;
    char token[65];
    rgmi_served *models;
    int64_t model_count;
    int fd;
    rgm_http *http;     /* under the lock: other threads wake it */
    atomic_bool drains; /* what comes now is refused */
    double began;       /* since 1970 */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ends;               /* under the lock: for the thread that reloads */
    pthread_mutex_t reloads; /* one at a time */
    pthread_t reloader;
    bool has_reloader;
};

#endif

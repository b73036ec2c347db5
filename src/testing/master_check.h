/*
 * What tests of masters share: a folder, requests by name, an experiment of fake trials, a master
 * at work in a thread until every experiment is over.
 */
#ifndef RGM_TESTING_MASTER_CHECK_H
#define RGM_TESTING_MASTER_CHECK_H

#include <check.h>
#include <libgen.h>
#include <pthread.h>
#include <regimen/master.h>
#include <regimen/trial.h>
#include <stdatomic.h>
#include <unistd.h>

/* A program that lies beside this one. */
static inline const char *beside(const char *name)
{
    static char paths[4][4200];
    static int next;
    char self[4096];
    char *path = paths[next++ % 4];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);

    CHECK(size > 0);
    self[size] = 0;
    snprintf(path, sizeof paths[0], "%s/%s", dirname(self), name);
    return path;
}

static inline const char *const *fake_command(void)
{
    static const char *command[2];

    command[0] = beside("fake_trial");
    return command;
}

/* An experiment file; `searcher` in braces, `more` as lines. */
static inline char *search_config(const char *searcher, const char *more)
{
    char *text;

    CHECK_OK(rgm_strprintf(&text,
                           "data: {path: data/digits, train: train.csv.gz, batch_size: 64}\n"
                           "task: {type: classification, num_classes: 10}\n"
                           "model: {type: mlp, hidden: [16]}\n"
                           "optimizer: {type: adam, learning_rate: 1e-3}\n"
                           "trainer: {epochs: 1}\n"
                           "hyperparameters: {optimizer.learning_rate: {type: log, base: 10, "
                           "minval: -4, maxval: -1}}\n"
                           "searcher: %s\n"
                           "batches_per_step: 10\n"
                           "reproducibility: {experiment_seed: 7}\n%s",
                           searcher, more));
    return text;
}

/* {"config": ..., more} */
static inline char *create_body(const char *config, const char *more)
{
    rgm_text text = {0};
    char *copy;

    CHECK_OK(rgm_text_printf(&text, "{\"config\": "));
    CHECK_OK(rgm_json_print_text(&text, config));
    CHECK_OK(rgm_text_printf(&text, "%s}", more));
    CHECK_OK(rgm_strdup(&copy, text.data));
    rgm_text_clear(&text);
    return copy;
}

/* A request that must be answered with this status: the whole answer, to be cleared. */
static inline rgm_response ask_whole(rgm_master *master, int status, const char *method,
                                     const char *path, const char *body)
{
    rgm_response r;

    rgm_master_handle(&r, master,
                      &(rgm_request){.method = method,
                                     .path = path,
                                     .body = body,
                                     .size = body != NULL ? (int64_t)strlen(body) : 0});
    if (r.status != status)
        fail_msg("%s %s: %d, expected %d: %s", method, path, r.status, status,
                 r.body.data != NULL ? r.body.data : "");
    return r;
}

/* The same as JSON; NULL where that is an error. */
static inline rgm_json *ask(rgm_master *master, int status, const char *method, const char *path,
                            const char *body)
{
    rgm_response r = ask_whole(master, status, method, path, body);
    rgm_json *json = NULL;

    if (rgm_json_parse(&json, r.body.data, r.body.size, "answer") != RGM_OK)
        fail_msg("%s %s: no JSON: %s", method, path, r.body.data);
    rgm_response_clear(&r);
    return json;
}

static inline void tell(rgm_master *master, int status, const char *method, const char *path,
                        const char *body)
{
    rgm_json_release(ask(master, status, method, path, body));
}

/* "state", "best_trial.number": a member of an answer. */
static inline const rgm_json *member(const rgm_json *json, const char *name)
{
    char key[64];

    while (json != NULL && *name != 0) {
        size_t size = strcspn(name, ".");

        snprintf(key, sizeof key, "%.*s", (int)size, name);
        json = key[0] >= '0' && key[0] <= '9' ? rgm_json_at(json, atol(key))
                                              : rgm_json_find(json, key);
        name += size + (name[size] == '.');
    }
    return json;
}

static inline int64_t int_member(const rgm_json *json, const char *name)
{
    int64_t value;

    if (!rgm_json_int(&value, member(json, name)))
        fail_msg("no integer '%s' in an answer", name);
    return value;
}

static inline const char *text_member(const rgm_json *json, const char *name)
{
    const char *text = rgm_json_text(member(json, name));

    return text != NULL ? text : "(none)";
}

static inline int64_t create_experiment(rgm_master *master, const char *searcher, const char *more)
{
    char *config = search_config(searcher, more), *body = create_body(config, "");
    rgm_json *answer = ask(master, 201, "POST", "/api/v1/experiments", body);
    int64_t id = int_member(answer, "id");

    rgm_json_release(answer);
    rgm_free(body);
    rgm_free(config);
    return id;
}

static inline bool all_over(rgm_master *master, void *payload)
{
    rgm_json *list = ask(master, 200, "GET", "/api/v1/experiments?archived=all&limit=1000", NULL);
    const rgm_json *items = member(list, "experiments");
    bool over = true;

    for (int64_t i = 0; i < rgm_json_count(items); i++) {
        const char *state = text_member(rgm_json_at(items, i), "state");

        over = over && (strcmp(state, "COMPLETED") == 0 || strcmp(state, "CANCELED") == 0 ||
                        strcmp(state, "ERROR") == 0);
    }
    rgm_json_release(list);
    if (payload != NULL && rgm_now() > *(double *)payload)
        fail_msg("the experiments are not over in time");
    return over;
}

/* At work until every experiment is over, or `seconds` have passed, which fails. */
static inline void serve_all(rgm_master *master, double seconds)
{
    double until = rgm_now() + seconds;

    CHECK_OK(rgm_master_serve(master, all_over, &until));
}

static inline rgm_master *open_master(const char *folder, int64_t slots)
{
    rgm_master_options options = {.folder = folder,
                                  .slots = slots,
                                  .threads_per_slot = 1,
                                  .trial_command = fake_command(),
                                  .stop_seconds = 20,
                                  .orphan_seconds = 30,
                                  .subject = &rgm_trial_subject};
    const char *orphan_seconds = getenv("RGM_ORPHAN_SECONDS");
    rgm_master *master;

    if (orphan_seconds != NULL)
        options.orphan_seconds = atof(orphan_seconds);

    CHECK_OK(rgm_master_open(&master, &options));
    return master;
}

/* What an experiment came to, without times and ids of chance: trials with their hyperparameters,
 * steps and validations, and the bytes of the best checkpoint. rgm_free() it. */
static inline char *summary(rgm_master *master, int64_t experiment)
{
    char path[128], *copy;
    rgm_text text = {0};
    rgm_response r;

    snprintf(path, sizeof path, "/api/v1/experiments/%lld/trials?limit=100000",
             (long long)experiment);
    rgm_json *trials = ask(master, 200, "GET", path, NULL);
    for (int64_t i = 0; i < rgm_json_count(member(trials, "trials")); i++) {
        const rgm_json *t = rgm_json_at(member(trials, "trials"), i);
        const rgm_json *rate = member(member(t, "hyperparameters.optimizer"), "learning_rate");
        double value = 0, metric = 0;

        rgm_json_number(&value, rate);
        rgm_json_number(&metric, member(t, "best_metric"));
        CHECK_OK(rgm_text_printf(&text, "%lld %s %.17g %s %lld %.17g\n",
                                 (long long)int_member(t, "number"), text_member(t, "state"), value,
                                 text_member(t, "request_id"), (long long)int_member(t, "batches"),
                                 metric));
    }
    rgm_json_release(trials);
    snprintf(path, sizeof path, "/api/v1/experiments/%lld/checkpoints?best=1",
             (long long)experiment);
    rgm_json *best = ask(master, 200, "GET", path, NULL);
    if (rgm_json_count(member(best, "checkpoints")) > 0) {
        char file[4200], *bytes;
        int64_t size;

        rgm_master_handle(&r, master, &(rgm_request){.method = "GET", .path = "/api/v1/master"});
        rgm_json *about;
        CHECK_OK(rgm_json_parse(&about, r.body.data, r.body.size, "about"));
        rgm_response_clear(&r);
        snprintf(file, sizeof file, "%s/%s/state", text_member(about, "folder"),
                 text_member(best, "checkpoints.0.folder"));
        rgm_json_release(about);
        CHECK_OK(rgm_file_load(&bytes, &size, file, 1000));
        CHECK_OK(rgm_text_printf(&text, "%lld %s",
                                 (long long)int_member(best, "checkpoints.0.number"), bytes));
        rgm_free(bytes);
    }
    rgm_json_release(best);
    CHECK_OK(rgm_strdup(&copy, text.data != NULL ? text.data : ""));
    rgm_text_clear(&text);
    return copy;
}

/* A master at work in a thread, until it is told to stop. */
typedef struct working_master {
    rgm_master *master;
    pthread_t thread;
    atomic_bool stops;
} working_master;

static inline bool is_told_to_stop(rgm_master *master, void *payload)
{
    (void)master;
    return atomic_load(&((working_master *)payload)->stops);
}

static inline void *work_until_told(void *payload)
{
    working_master *w = payload;

    return rgm_master_serve(w->master, is_told_to_stop, w) == RGM_OK ? NULL : w;
}

static inline void begin_work(working_master *w, rgm_master *master)
{
    rgm_client *client;

    w->master = master;
    atomic_store(&w->stops, false);
    CHECK_INT(0, pthread_create(&w->thread, NULL, work_until_told, w));
    rgm_json *about = ask(master, 200, "GET", "/api/v1/master", NULL);
    CHECK_OK(rgm_client_open(&client, text_member(about, "folder"), NULL));
    for (int i = 0; i < 500 && !rgm_client_is_served(client); i++)
        usleep(10000);
    CHECK(rgm_client_is_served(client));
    rgm_client_close(client);
    rgm_json_release(about);
}

static inline void end_work(working_master *w)
{
    void *failed;

    atomic_store(&w->stops, true);
    CHECK_INT(0, pthread_join(w->thread, &failed));
    CHECK(failed == NULL);
}

#endif

/*
 * Webhooks: a server that fails twice, one that never answers, one that is not there until the next
 * master; what is told, with which signature; what is refused.
 */
#include "master_check.h"

#include <regimen/http.h>

#include <sys/socket.h>

static char folder[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* ---- somebody who is told ------------------------------------------------------------------- */

enum { MOST = 64 };
#define SECRET "a secret of the test"

typedef struct listener {
    rgm_http *server;
    char url[96];
    atomic_int fails;        /* so many requests are answered with 503 */
    atomic_bool silent;      /* none is answered until it is false */
    atomic_int count, wrong; /* requests; of them with a wrong signature */
    char *bodies[MOST], events[MOST][16];
    int64_t deliveries[MOST];
    pthread_mutex_t lock;
} listener;

static void be_told(rgm_response *out, const rgm_request *request, void *payload)
{
    const char *signature = rgm_request_header(request, "X-Regimen-Signature-256");
    const char *event = rgm_request_header(request, "X-Regimen-Event");
    const char *delivery = rgm_request_header(request, "X-Regimen-Delivery");
    char digits[RGM_SHA256_ROOM], wanted[RGM_SHA256_ROOM + 8];
    listener *l = payload;

    while (atomic_load(&l->silent))
        usleep(1000);
    rgm_hmac_sha256_text(digits, SECRET, strlen(SECRET), request->body, (size_t)request->size);
    snprintf(wanted, sizeof wanted, "sha256=%s", digits);
    pthread_mutex_lock(&l->lock);
    int at = atomic_load(&l->count);
    if (signature == NULL || strcmp(signature, wanted) != 0 || event == NULL || delivery == NULL)
        atomic_fetch_add(&l->wrong, 1);
    else if (at < MOST) {
        if (rgm_strndup(&l->bodies[at], request->body, (size_t)request->size) != RGM_OK)
            atomic_fetch_add(&l->wrong, 1);
        snprintf(l->events[at], sizeof l->events[at], "%s", event);
        l->deliveries[at] = atoll(delivery);
    }
    out->status = atomic_fetch_sub(&l->fails, 1) > 0 ? 503 : 204;
    atomic_fetch_add(&l->count, 1);
    pthread_mutex_unlock(&l->lock);
}

/* At a port of its own, or at one that was another's. */
static void listen_at(listener *l, const char *address)
{
    static const int lanes[] = {2};
    char found[64];
    int fd, port;

    pthread_mutex_init(&l->lock, NULL);
    CHECK_OK(rgm_http_listen(&fd, address));
    CHECK_OK(rgm_http_address(found, &port, fd));
    snprintf(l->url, sizeof l->url, "http://%s/hook?a=b", found);
    CHECK_OK(rgm_http_start(&l->server, fd, &(rgm_http_options){.lanes = lanes, .lane_count = 1},
                            &(rgm_http_service){.answer = be_told, .payload = l}));
}

static void stop_listening(listener *l)
{
    rgm_http_stop(l->server);
    for (int i = 0; i < MOST; i++)
        rgm_free(l->bodies[i]);
    pthread_mutex_destroy(&l->lock);
}

static void add_hook(rgm_master *master, const char *url, const char *events)
{
    char body[400];

    snprintf(body, sizeof body, "{\"url\": \"%s\", \"secret\": \"" SECRET "\"%s%s}", url,
             events[0] != 0 ? ", \"events\": " : "", events);
    tell(master, 201, "POST", "/api/v1/webhooks", body);
}

/* At work until every experiment is over and nothing waits for a webhook. */
static bool all_told(rgm_master *master, void *payload)
{
    rgm_json *list = ask(master, 200, "GET", "/api/v1/webhooks", NULL);
    bool told = int_member(list, "webhooks.0.waiting") == 0;

    rgm_json_release(list);
    return all_over(master, payload) && told;
}

/* ---- what is told -------------------------------------------------------------------------- */

static void what_fails_twice_is_told_the_third_time(void **state)
{
    double until = rgm_now() + 60;
    listener l = {.fails = 2};
    rgm_master *master = open_master(folder, 2);
    rgm_json *body, *list;

    (void)state;
    listen_at(&l, "127.0.0.1:0");
    add_hook(master, l.url, "");
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}", "");
    CHECK_OK(rgm_master_serve(master, all_told, &until));
    int count = atomic_load(&l.count);
    CHECK(count >= 4); /* a best three times, the end */
    CHECK_INT(0, atomic_load(&l.wrong));
    /* In order: the first one again and again under one number, the end at the end. */
    for (int i = 1; i < 3; i++) {
        CHECK_INT(l.deliveries[0], l.deliveries[i]);
        CHECK_TEXT(l.bodies[0], l.bodies[i]);
    }
    for (int i = 3; i < count; i++)
        CHECK(l.deliveries[i] > l.deliveries[i - 1]);
    CHECK_TEXT("best", l.events[0]);
    CHECK_TEXT("end", l.events[count - 1]);
    CHECK_OK(rgm_json_parse(&body, l.bodies[count - 1], (int64_t)strlen(l.bodies[count - 1]), "b"));
    CHECK_TEXT("end", text_member(body, "event"));
    CHECK_TEXT("COMPLETED", text_member(body, "experiment.state"));
    CHECK_TEXT("regimen: experiment 1 is over", text_member(body, "text"));
    rgm_json_release(body);
    CHECK_OK(rgm_json_parse(&body, l.bodies[0], (int64_t)strlen(l.bodies[0]), "b"));
    CHECK_INT(1, int_member(body, "trial.number"));
    CHECK(rgm_json_is_object(member(body, "trial.hyperparameters")));
    rgm_json_release(body);
    list = ask(master, 200, "GET", "/api/v1/webhooks/1/deliveries", NULL);
    int64_t total = int_member(list, "total");
    for (int64_t i = 0; i < total; i++) {
        const rgm_json *d = rgm_json_at(member(list, "deliveries"), i);

        CHECK_TEXT("COMPLETED", text_member(d, "state"));
        CHECK_INT(i == total - 1 ? 3 : 1, int_member(d, "tries"));
    }
    rgm_json_release(list);
    stop_listening(&l);
    rgm_master_close(master);
}

static void only_what_was_asked_for_is_told(void **state)
{
    double until = rgm_now() + 60;
    listener l = {.fails = 0};
    rgm_master *master = open_master(folder, 2);

    (void)state;
    listen_at(&l, "127.0.0.1:0");
    add_hook(master, l.url, "[\"failure\"]");
    setenv("FAKE_TRIAL_HOPELESS", "2", 1);
    create_experiment(
        master, "{name: random, metric: valid.loss, max_trials: 4, max_length: {steps: 2}}", "");
    CHECK_OK(rgm_master_serve(master, all_told, &until));
    unsetenv("FAKE_TRIAL_HOPELESS");
    CHECK_INT(2, atomic_load(&l.count)); /* trials 2 and 4 */
    CHECK_INT(0, atomic_load(&l.wrong));
    for (int i = 0; i < 2; i++) {
        CHECK_TEXT("failure", l.events[i]);
        CHECK(strstr(l.bodies[i], "there is no data for trial") != NULL);
    }
    stop_listening(&l);
    rgm_master_close(master);
}

/* ---- who does not answer -------------------------------------------------------------------- */

typedef struct waiting {
    double until;
    listener *quick;
} waiting;

static bool quick_is_told(rgm_master *master, void *payload)
{
    waiting *w = payload;

    return all_over(master, &w->until) && atomic_load(&w->quick->count) >= 2;
}

/* Five of them, one more than there are threads; each takes connections and is silent. */
static void who_never_answers_holds_up_nobody(void **state)
{
    enum { SILENT = 5 };
    listener silent[SILENT] = {{.fails = 0}}, quick = {.fails = 0};
    waiting w = {rgm_now() + 90, &quick};
    rgm_master *master = open_master(folder, 2);

    (void)state;
    for (int i = 0; i < SILENT; i++) {
        atomic_store(&silent[i].silent, true);
        listen_at(&silent[i], "127.0.0.1:0");
        add_hook(master, silent[i].url, "");
    }
    listen_at(&quick, "127.0.0.1:0");
    add_hook(master, quick.url, "");
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}", "");
    /* Requests are answered meanwhile, or all_over() would fail. */
    CHECK_OK(rgm_master_serve(master, quick_is_told, &w));
    rgm_master_close(master);
    CHECK(atomic_load(&quick.count) >= 2 && atomic_load(&quick.wrong) == 0);
    stop_listening(&quick);
    for (int i = 0; i < SILENT; i++) {
        atomic_store(&silent[i].silent, false);
        stop_listening(&silent[i]);
    }
}

/* Nobody listens, the master ends; the next one tells it. */
static void what_was_not_told_the_next_master_tells(void **state)
{
    double until = rgm_now() + 60;
    listener first = {.fails = 0}, l = {.fails = 0};
    rgm_master *master = open_master(folder, 2);
    char address[96], *end;

    (void)state;
    listen_at(&first, "127.0.0.1:0"); /* for a port where nobody listens */
    add_hook(master, first.url, "[\"end\"]");
    snprintf(address, sizeof address, "%.80s", first.url + strlen("http://"));
    end = strchr(address, '/');
    *end = 0;
    stop_listening(&first);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}", "");
    serve_all(master, 60);
    rgm_json *list = ask(master, 200, "GET", "/api/v1/webhooks/1/deliveries", NULL);
    CHECK_TEXT("ACTIVE", text_member(list, "deliveries.0.state"));
    CHECK(int_member(list, "deliveries.0.tries") >= 1);
    CHECK(strstr(text_member(list, "deliveries.0.message"), "no answer from http://") != NULL);
    CHECK(strstr(text_member(list, "deliveries.0.message"), "/hook") == NULL); /* a secret */
    rgm_json_release(list);
    rgm_master_close(master);
    listen_at(&l, address);
    master = open_master(folder, 2);
    CHECK_OK(rgm_master_serve(master, all_told, &until));
    CHECK_INT(1, atomic_load(&l.count));
    CHECK_TEXT("end", l.events[0]);
    rgm_master_close(master);
    stop_listening(&l);
}

/* ---- requests ------------------------------------------------------------------------------ */

static void wrong_webhooks_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "{\"url\": \"ftp://host/\"}",
        "{\"url\": \"http://\"}",
        "{\"url\": \"http:///path\"}",
        "{\"url\": \"http://host:99999/\"}",
        "{\"url\": \"http://host:port/\"}",
        "{\"url\": \"http://user:password@host/\"}",
        "{\"url\": \"https://user@host/\"}",
        "{\"url\": \"http://host/a b\"}",
        "{\"url\": \"http://host/\\r\\nX: y\"}",
        "{\"url\": \"file:///etc/passwd\"}",
        "{\"url\": \"http://host\", \"events\": []}",
        "{\"url\": \"http://host\", \"events\": [\"ends\"]}",
        "{\"url\": \"http://host\", \"events\": \"end\"}",
        "{\"url\": \"http://host\", \"secret\": \"short\"}",
        "{\"url\": \"http://host\", \"method\": \"GET\"}",
    };
    rgm_master *master = open_master(folder, 1);
    rgm_json *answer;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        tell(master, 400, "POST", "/api/v1/webhooks", wrong[i]);
    tell(master, 404, "POST", "/api/v1/webhooks", "{\"url\": \"http://h\", \"experiment_id\": 9}");
    tell(master, 404, "DELETE", "/api/v1/webhooks/1", NULL);
    tell(master, 404, "POST", "/api/v1/webhooks/1/test", NULL);
    tell(master, 404, "GET", "/api/v1/webhooks/1/deliveries", NULL);
    answer = ask(master, 201, "POST", "/api/v1/webhooks",
                 "{\"url\": \"https://host/\", \"events\": [\"best\", \"end\"]}");
    CHECK_INT(32, strlen(text_member(answer, "secret"))); /* drawn */
    CHECK_TEXT("end", text_member(answer, "events.0"));
    rgm_json_release(answer);
    answer = ask(master, 200, "GET", "/api/v1/webhooks", NULL);
    CHECK(member(answer, "webhooks.0.secret") == NULL); /* told once */
    rgm_json_release(answer);
    tell(master, 200, "DELETE", "/api/v1/webhooks/1", NULL);
    rgm_master_close(master);
}

TESTS(cmocka_unit_test_setup_teardown(what_fails_twice_is_told_the_third_time, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(only_what_was_asked_for_is_told, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(who_never_answers_holds_up_nobody, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(what_was_not_told_the_next_master_tells, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(wrong_webhooks_are_refused, make_folder, remove_folder))

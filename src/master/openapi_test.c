/*
 * docs/openapi.json against the server: every kind of request is in it and no other, and of each an
 * answer that was given has the fields that it says, of its types, and no others. With
 * RGM_OPENAPI_DUMP=FILE the answers go to FILE, a line each, from which scripts/openapi.py makes
 * the description anew.
 */
#include "master_check.h"

#include <regimen/registry.h>
#include <sqlite3.h>
#include <stdatomic.h>

enum { MOST_REQUESTS = 100 };

static char folder[128];
static FILE *dump;
static rgm_json *description; /* docs/openapi.json */
static bool answered[MOST_REQUESTS];

static int prepare(void **state)
{
    const char *to = getenv("RGM_OPENAPI_DUMP");
    char *data = NULL;
    int64_t size;

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    if (to != NULL)
        dump = fopen(to, "we");
    else if (rgm_file_load(&data, &size, "docs/openapi.json", 1 << 22) != RGM_OK ||
             rgm_json_parse(&description, data, size, "docs/openapi.json") != RGM_OK)
        fail_msg("%s", rgm_error_message());
    rgm_free(data);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    if (dump != NULL)
        fclose(dump);
    rgm_json_release(description);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* ---- schemas ------------------------------------------------------------------------------- */

static const rgm_json *resolve(const rgm_json *schema)
{
    static const char prefix[] = "#/components/schemas/";
    const char *to = rgm_json_text(rgm_json_find(schema, "$ref"));

    if (to == NULL)
        return schema;
    CHECK(strncmp(to, prefix, strlen(prefix)) == 0);
    schema = rgm_json_find(rgm_json_find(rgm_json_find(description, "components"), "schemas"),
                           to + strlen(prefix));
    if (schema == NULL)
        fail_msg("docs/openapi.json: there is no %s", to);
    return schema;
}

static const char *type_of(const rgm_json *value)
{
    int64_t number;
    double real;
    bool truth;

    if (rgm_json_is_object(value))
        return "object";
    if (rgm_json_count(value) >= 0)
        return "array";
    if (rgm_json_text(value) != NULL)
        return "string";
    if (rgm_json_bool(&truth, value))
        return "boolean";
    if (rgm_json_int(&number, value))
        return "integer";
    return rgm_json_number(&real, value) ? "number" : "null";
}

static bool is_named(const char *type, const char *wanted)
{
    return strcmp(type, wanted) == 0 ||
           (strcmp(wanted, "number") == 0 && strcmp(type, "integer") == 0);
}

/* "type": one, or a list. */
static bool allows(const rgm_json *schema, const char *type)
{
    const rgm_json *types = rgm_json_find(schema, "type");

    if (rgm_json_text(types) != NULL)
        return is_named(type, rgm_json_text(types));
    for (int64_t i = 0; i < rgm_json_count(types); i++)
        if (is_named(type, rgm_json_text(rgm_json_at(types, i))))
            return true;
    return false;
}

static void check_value(const rgm_json *schema, const rgm_json *value, const char *where);

static void check_object(const rgm_json *schema, const rgm_json *value, const char *where)
{
    const rgm_json *properties = rgm_json_find(schema, "properties");
    const rgm_json *required = rgm_json_find(schema, "required");
    const rgm_json *others = rgm_json_find(schema, "additionalProperties");
    rgm_json_entry entry = {0};

    for (int64_t i = 0; i < rgm_json_count(required); i++)
        if (rgm_json_find(value, rgm_json_text(rgm_json_at(required, i))) == NULL)
            fail_msg("%s has no '%s', which docs/openapi.json says", where,
                     rgm_json_text(rgm_json_at(required, i)));
    while (rgm_json_next(&entry, value)) {
        const rgm_json *inner = rgm_json_find(properties, entry.key);
        char path[400];

        snprintf(path, sizeof path, "%.300s.%.60s", where, entry.key);
        if (inner != NULL)
            check_value(inner, entry.value, path);
        else if (rgm_json_is_object(others))
            check_value(others, entry.value, path);
        else
            fail_msg("%s: docs/openapi.json does not know it", path);
    }
}

static void check_value(const rgm_json *schema, const rgm_json *value, const char *where)
{
    const char *type = type_of(value);

    schema = resolve(schema);
    if (rgm_json_find(schema, "type") == NULL)
        return; /* the user's own: hyperparameters, metrics */
    if (!allows(schema, type))
        fail_msg("%s is of type %s, and not as docs/openapi.json says", where, type);
    if (strcmp(type, "object") == 0)
        check_object(schema, value, where);
    for (int64_t i = 0; i < rgm_json_count(value); i++)
        check_value(rgm_json_find(schema, "items"), rgm_json_at(value, i), where);
}

/* ---- requests ------------------------------------------------------------------------------ */

static const rgm_json *operation_of(const rgm_request_type *type)
{
    const rgm_json *path = rgm_json_find(rgm_json_find(description, "paths"), type->path);
    char method[16];

    for (size_t i = 0; i <= strlen(type->method); i++)
        method[i] = (char)(type->method[i] | (type->method[i] != 0 ? 0x20 : 0));
    return rgm_json_find(path, method);
}

static int kind_of(const char *method, const char *path)
{
    char plain[300];
    rgm_path_values values;

    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(path, "?"), path);
    for (int i = 0; rgm_request_type_at(i) != NULL; i++)
        if (strcmp(rgm_request_type_at(i)->method, method) == 0 &&
            rgm_path_fits(&values, rgm_request_type_at(i)->path, plain))
            return i;
    fail_msg("there is no %s %s", method, path);
    return -1;
}

/* Ask, and compare the answer with what is written about it. */
static rgm_json *try_it(rgm_master *master, int status, const char *method, const char *path,
                        const char *body)
{
    int kind = kind_of(method, path);
    char code[8], where[200];
    rgm_response r = ask_whole(master, status, method, path, body);
    rgm_json *answer;

    if (dump != NULL)
        fprintf(dump,
                "{\"method\": \"%s\", \"path\": \"%s\", \"status\": %d, "
                "\"answer\": %s}\n",
                method, rgm_request_type_at(kind)->path, status, r.body.data);
    CHECK_OK(rgm_json_parse(&answer, r.body.data, r.body.size, "answer"));
    rgm_response_clear(&r);
    answered[kind] = true;
    if (dump != NULL)
        return answer;
    snprintf(code, sizeof code, "%d", status);
    snprintf(where, sizeof where, "%s %s", method, rgm_request_type_at(kind)->path);
    const rgm_json *said =
        rgm_json_find(rgm_json_find(operation_of(rgm_request_type_at(kind)), "responses"), code);
    said = rgm_json_find(rgm_json_find(said, "content"), "application/json");
    if (rgm_json_find(said, "schema") == NULL)
        fail_msg("%s: docs/openapi.json has no schema of an answer %s", where, code);
    check_value(rgm_json_find(said, "schema"), answer, where);
    return answer;
}

static void just_try(rgm_master *master, int status, const char *method, const char *path,
                     const char *body)
{
    rgm_json_release(try_it(master, status, method, path, body));
}

/* ---- what is asked ------------------------------------------------------------------------- */

/* The run of the trial that is at work; "": none is. */
static void find_run(char out[40])
{
    char path[200];
    sqlite3 *database;
    sqlite3_stmt *statement;

    out[0] = 0;
    snprintf(path, sizeof path, "%s/master.db", folder);
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &database));
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(database, "SELECT run_token FROM trials WHERE id = 1",
                                            -1, &statement, NULL));
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        snprintf(out, 40, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

typedef struct asking {
    double until;
    char go[160]; /* the file for which the trial waits */
    bool asked;
} asking;

/* What a trial's process asks, while one is at work; then it may go on. */
static bool ask_as_trial(rgm_master *master, void *payload)
{
    asking *a = payload;
    char run[40], path[120], body[160];

    if (rgm_now() > a->until)
        fail_msg("not over in time");
    if (a->asked)
        return all_over(master, NULL);
    find_run(run);
    if (run[0] == 0)
        return false;
    snprintf(path, sizeof path, "/api/v1/trials/1/run?run=%s", run);
    just_try(master, 200, "GET", path, NULL);
    snprintf(body, sizeof body, "{\"run\": \"%s\"}", run);
    just_try(master, 200, "POST", "/api/v1/trials/1/alive", body);
    just_try(master, 200, "POST", "/api/v1/trials/1/workload", body);
    just_try(master, 200, "GET", "/api/v1/running", NULL);
    just_try(master, 200, "GET", "/api/v1/shares", NULL);
    just_try(master, 200, "GET", "/api/v1/queue", NULL);
    just_try(master, 200, "GET", "/api/v1/experiments/1/search", NULL);
    just_try(master, 200, "GET", "/api/v1/slots", NULL);
    just_try(master, 200, "POST", "/api/v1/slots/drain", "{\"slots\": [0]}");
    just_try(master, 200, "POST", "/api/v1/slots/enable", "{\"slots\": [0]}");
    just_try(master, 200, "POST", "/api/v1/experiments/1/change",
             "{\"set\": {\"searcher.max_trials\": \"3\"}}");
    just_try(master, 200, "POST", "/api/v1/experiments/1/try",
             "{\"values\": {\"a\": 0.5}, \"like\": 1}");
    snprintf(body, sizeof body,
             "{\"run\": \"%s\", \"code\": \"RGM_ERR_IO\", \"message\": \"tried\"}", run);
    just_try(master, 200, "POST", "/api/v1/trials/1/failed", body);
    CHECK_OK(rgm_file_create(a->go, "x", 1));
    a->asked = true;
    return false;
}

static void ask_about_searches(rgm_master *master)
{
    static const char *const paths[] = {
        "/api/v1/master",
        "/api/v1/requests",
        "/api/v1/experiments?limit=5",
        "/api/v1/experiments/1",
        "/api/v1/experiments/1/config",
        "/api/v1/experiments/1/changes",
        "/api/v1/experiments/1/code",
        "/api/v1/experiments/1/events",
        "/api/v1/experiments/1/trials",
        "/api/v1/experiments/1/checkpoints",
        "/api/v1/experiments/1/validations",
        "/api/v1/experiments/1/runs",
        "/api/v1/trials/1",
        "/api/v1/trials/1/steps",
        "/api/v1/trials/1/validations",
        "/api/v1/trials/1/checkpoints",
        "/api/v1/trials/1/logs",
    };
    char path[120];

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        just_try(master, 200, "GET", paths[i], NULL);
    rgm_json *list = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    snprintf(path, sizeof path, "/api/v1/checkpoints/%s", text_member(list, "checkpoints.0.uuid"));
    rgm_json_release(list);
    just_try(master, 200, "GET", path, NULL);
    just_try(master, 200, "POST", "/api/v1/experiments/1/collect",
             "{\"preview\": true, \"save_trial_latest\": 0, \"save_trial_best\": 0}");
    just_try(master, 200, "DELETE", path, NULL);
    just_try(master, 200, "PATCH", "/api/v1/experiments/1", "{\"note\": \"x\"}");
    just_try(master, 200, "PATCH", "/api/v1/trials/1", "{\"note\": \"x\"}");
    just_try(master, 200, "POST", "/api/v1/experiments/1/archive", NULL);
    just_try(master, 200, "POST", "/api/v1/experiments/1/unarchive", NULL);
    just_try(master, 201, "POST", "/api/v1/experiments/1/fork", "{\"paused\": true}");
    just_try(master, 201, "POST", "/api/v1/trials/2/continue",
             "{\"paused\": true, \"max_length\": {\"steps\": 2}}");
    just_try(master, 200, "POST", "/api/v1/experiments/2/activate", NULL);
    just_try(master, 200, "GET", "/api/v1/queue", NULL);
    just_try(master, 200, "POST", "/api/v1/experiments/2/pause", NULL);
    rgm_json *trials = ask(master, 200, "GET", "/api/v1/experiments/2/trials", NULL);
    snprintf(path, sizeof path, "/api/v1/trials/%lld/kill",
             (long long)int_member(trials, "trials.0.id"));
    just_try(master, 200, "POST", path, NULL);
    snprintf(path, sizeof path, "/api/v1/trials/%lld/stop",
             (long long)int_member(trials, "trials.1.id"));
    rgm_json_release(trials);
    just_try(master, 200, "POST", path, NULL);
    just_try(master, 200, "POST", "/api/v1/experiments/2/cancel", NULL);
    just_try(master, 200, "POST", "/api/v1/experiments/3/kill", NULL);
    just_try(master, 200, "DELETE", "/api/v1/experiments/3", NULL);
}

/* One of which the registry in the master's folder has a version. */
static void register_model(void)
{
    const rgm_named_number metric = {"valid.loss", 0.5};
    char registry[160], path[160];
    rgm_model_source file = {path, "weights"};
    int64_t number;

    snprintf(registry, sizeof registry, "%s/registry", folder);
    snprintf(path, sizeof path, "%s/weights", folder);
    CHECK_OK(rgm_file_save(path, "1", 1));
    CHECK_OK(rgm_model_register(&number, registry,
                                &(rgm_model_draft){.name = "line",
                                                   .source = "trial 1/1",
                                                   .note = "the first",
                                                   .metrics = &metric,
                                                   .metric_count = 1,
                                                   .files = &file,
                                                   .file_count = 1}));
}

static void ask_about_others(rgm_master *master)
{
    register_model();
    just_try(master, 200, "GET", "/api/v1/models", NULL);
    just_try(master, 201, "POST", "/api/v1/tokens", "{\"scope\": \"read\"}");
    just_try(master, 200, "GET", "/api/v1/tokens", NULL);
    just_try(master, 200, "DELETE", "/api/v1/tokens/1", NULL);
    just_try(master, 200, "GET", "/api/v1/webhooks", NULL);
    just_try(master, 200, "POST", "/api/v1/webhooks/1/test", NULL);
    just_try(master, 200, "GET", "/api/v1/webhooks/1/deliveries", NULL);
    just_try(master, 200, "DELETE", "/api/v1/webhooks/1", NULL);
}

static void every_answer_is_as_described(void **state)
{
    rgm_master *master = open_master(folder, 1);
    asking a = {.until = rgm_now() + 60};
    char work[160], more[200], *body;

    (void)state;
    snprintf(work, sizeof work, "%s/work", folder);
    snprintf(more, sizeof more, ", \"working_folder\": \"%s\"", work);
    CHECK_OK(rgm_folder_make(work));
    snprintf(work, sizeof work, "%s/work/train.sh", folder);
    CHECK_OK(rgm_file_save(work, "exit 1\n", 7));
    /* A program, which has code; the process that answers for it is the tests'. */
    body = create_body("entrypoint: [sh, train.sh]\n"
                       "hyperparameters: {a: {type: double, minval: 0, maxval: 1}}\n"
                       "searcher: {name: random, metric: loss, max_trials: 2, max_length: 2}\n"
                       "min_checkpoint_period: 1\nlabels: [small]\n",
                       more);
    just_try(master, 201, "POST", "/api/v1/webhooks", "{\"url\": \"http://127.0.0.1:1/\"}");
    just_try(master, 201, "POST", "/api/v1/experiments", body);
    rgm_free(body);
    snprintf(a.go, sizeof a.go, "%s/go", folder);
    setenv("FAKE_TRIAL_BUSY", a.go, 1);
    CHECK_OK(rgm_master_serve(master, ask_as_trial, &a));
    unsetenv("FAKE_TRIAL_BUSY");
    ask_about_searches(master);
    ask_about_others(master);
    for (int i = 0; rgm_request_type_at(i) != NULL; i++)
        if (!answered[i])
            fail_msg("nobody asked for %s %s here", rgm_request_type_at(i)->method,
                     rgm_request_type_at(i)->path);
    rgm_master_close(master);
}

static void every_request_is_described_and_no_other(void **state)
{
    const rgm_json *paths = rgm_json_find(description, "paths");
    rgm_json_entry path = {0}, method;
    int64_t described = 0, kinds = 0;

    (void)state;
    if (dump != NULL)
        return;
    for (; rgm_request_type_at(kinds) != NULL; kinds++) {
        const rgm_request_type *type = rgm_request_type_at(kinds);
        const rgm_json *operation = operation_of(type);

        if (operation == NULL)
            fail_msg("docs/openapi.json lacks %s %s", type->method, type->path);
        CHECK_TEXT(type->help, rgm_json_text(rgm_json_find(operation, "summary")));
    }
    CHECK(kinds <= MOST_REQUESTS);
    while (rgm_json_next(&path, paths)) {
        method = (rgm_json_entry){0};
        while (rgm_json_next(&method, path.value))
            described += strcmp(method.key, "parameters") != 0;
    }
    CHECK_INT(kinds, described); /* each of ours is there, so what is more is not ours */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_request_is_described_and_no_other),
                                       cmocka_unit_test(every_answer_is_as_described)};

    return cmocka_run_group_tests(tests, prepare, clean);
}

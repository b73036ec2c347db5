/* A search as a master tells it, whose answers are given here. */
#include "check.h"
#include "report.h"

/* What rgm_client_call() gives: the answer whose path begins the one that is
 * asked for. */
typedef struct told {
    const char *path, *answer;
} told;

static const told *answers;
static int64_t asked; /* requests so far */

rgm_status rgm_client_call(rgm_json **answer, rgm_client *client, const char *method,
                           const char *path, const char *body)
{
    (void)client;
    CHECK_TEXT("GET", method);
    CHECK(body == NULL);
    asked++;
    for (const told *at = answers; at->path != NULL; at++)
        if (strncmp(path, at->path, strlen(at->path)) == 0 &&
            strchr("?", path[strlen(at->path)]) != NULL)
            return rgm_json_parse(answer, at->answer, (int64_t)strlen(at->answer), path);
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no %s", path);
}

#define ROW "/api/v1/experiments/7"
#define CONFIG                                                                                     \
    "description: a search\\n"                                                                     \
    "data: {path: d, train: t.csv.gz, valid_fraction: 0.1, batch_size: 64}\\n"                     \
    "task: {type: classification, num_classes: 10}\\n"                                             \
    "model: {type: mlp, hidden: [16]}\\n"                                                          \
    "optimizer: {type: adam}\\n"                                                                   \
    "hyperparameters:\\n"                                                                          \
    "  optimizer.learning_rate: {type: log, minval: -4, maxval: -1, base: "                        \
    "10}\\n"                                                                                       \
    "  model.dropout: {type: double, minval: 0, maxval: 0.6}\\n"                                   \
    "  model.hidden: {type: categorical, vals: [[16], [32, 16]]}\\n"                               \
    "  data.batch_size: 32\\n"                                                                     \
    "searcher: {name: random, metric: [accuracy, loss], smaller_is_better: "                       \
    "[false, true],"                                                                               \
    " max_trials: 6, max_steps: 2}\\n"

static const told whole[] = {
    {ROW, "{\"id\": 7, \"state\": \"ACTIVE\", \"name\": \"digits\", "
          "\"description\": \"<b>\","
          " \"start_time\": \"2026-11-22T22:00:00.500Z\", \"end_time\": null}"},
    {ROW "/config", "{\"name\": \"digits\", \"config\": \"" CONFIG "\"}"},
    {ROW "/trials", "{\"total\": 3, \"trials\": ["
                    "{\"id\": 21, \"number\": 1, \"state\": \"COMPLETED\", "
                    "\"batches\": 200, \"seed\": 5,"
                    " \"hyperparameters\": {\"optimizer\": {\"learning_rate\": "
                    "0.01}, \"model\": {\"dropout\": "
                    "0.25,"
                    " \"hidden\": [32, 16]}, \"data\": {\"batch_size\": 32}}, "
                    "\"end_time\": null},"
                    "{\"id\": 22, \"number\": 2, \"state\": \"ERROR\", "
                    "\"batches\": 0, \"seed\": 6,"
                    " \"hyperparameters\": {\"optimizer\": {\"learning_rate\": "
                    "1e-3}, \"model\": {\"dropout\": "
                    "0.5,"
                    " \"hidden\": [16]}, \"data\": {\"batch_size\": 32}},"
                    " \"end_time\": \"2026-11-22T22:00:30.500Z\"},"
                    "{\"id\": 23, \"number\": 4, \"state\": \"ACTIVE\", "
                    "\"batches\": 100, \"seed\": 8,"
                    " \"hyperparameters\": {\"optimizer\": {\"learning_rate\": "
                    "0.1}, \"model\": {\"dropout\": 0.0,"
                    " \"hidden\": [16]}, \"data\": {\"batch_size\": 32}}, "
                    "\"end_time\": null}]}"},
    {ROW "/validations", "{\"total\": 4, \"validations\": ["
                         "{\"number\": 1, \"batches\": 100, \"metric\": 0.75, \"end_time\": "
                         "\"2026-11-22T22:00:20.500Z\","
                         " \"metrics\": {\"accuracy\": 0.75, \"loss\": 0.5}},"
                         "{\"number\": 1, \"batches\": 200, \"metric\": 0.7, \"end_time\": "
                         "\"2026-11-22T22:00:40.500Z\","
                         " \"metrics\": {\"accuracy\": 0.7, \"loss\": 0.4}},"
                         "{\"number\": 4, \"batches\": 100, \"metric\": null, \"end_time\": null,"
                         " \"metrics\": {\"accuracy\": \"nan\", \"loss\": 0.3}},"
                         "{\"number\": 9, \"batches\": 100, \"metric\": 0.9, \"end_time\": null, "
                         "\"metrics\": {}}]}"},
    {ROW "/runs", "{\"total\": 3, \"runs\": ["
                  "{\"number\": 1, \"slots\": \"0,2\", \"start_time\": "
                  "\"2026-11-22T22:00:01.500Z\","
                  " \"end_time\": \"2026-11-22T22:00:11.500Z\"},"
                  "{\"number\": 1, \"slots\": \"1\", \"start_time\": "
                  "\"2026-11-22T22:00:20.500Z\","
                  " \"end_time\": null},"
                  "{\"number\": 9, \"slots\": \"1\", \"start_time\": null, "
                  "\"end_time\": null}]}"},
    {"/api/v1/master", "{\"folder\": \"/nowhere\"}"},
    {0}};
enum { ANSWERS = (int)(sizeof whole / sizeof *whole) };

static const asked_master nobody = {.client = (rgm_client *)&asked};

static void a_search_is_as_its_master_tells_it(void **state)
{
    rgm_search_report r;

    (void)state;
    answers = whole;
    asked = 0;
    CHECK_OK(report_load(&r, &nobody, 7));
    CHECK_INT(6, asked);
    CHECK_TEXT("<b>", r.name);
    CHECK_TEXT("ACTIVE", r.state);
    CHECK_TEXT("random", r.searcher);
    CHECK_TEXT("batches", r.unit);
    CHECK_CLOSE(r.seconds, 40, 1e-9, 0); /* to the last that is known */
    CHECK_INT(2, r.objective_count);
    CHECK_TEXT("valid.accuracy", r.objectives[0].name);
    CHECK(!r.objectives[0].smaller_is_better && r.objectives[1].smaller_is_better);
    CHECK_INT(3, r.hyper_count); /* without the const */
    CHECK_TEXT("model.dropout", r.hypers[0].name);
    CHECK_TEXT("model.hidden", r.hypers[1].name);
    CHECK_TEXT("[32, 16]", r.hypers[1].choices[r.trials[0].values[1].choice]);
    CHECK_TEXT("[16]", r.hypers[1].choices[r.trials[1].values[1].choice]);
    CHECK_INT(RGM_REPORT_LOG, r.hypers[2].scale);
    CHECK_CLOSE(r.trials[0].values[2].number, 0.01, 0, 0);
    CHECK_CLOSE(r.trials[1].values[0].number, 0.5, 0, 0);
    CHECK_INT(3, r.trial_count);
    CHECK_INT(2, r.trials[0].point_count);
    CHECK_CLOSE(r.trials[0].best[0], 0.75, 0, 0);
    CHECK_CLOSE(r.trials[0].best[1], 0.5, 0, 0); /* at the same validation */
    CHECK_CLOSE(r.trials[0].latest[0], 0.7, 0, 0);
    CHECK_CLOSE(r.trials[0].latest[1], 0.4, 0, 0);
    CHECK_INT(1, r.trials[2].point_count); /* of trial 4 */
    CHECK(isnan(r.trials[2].best[0]) && isnan(r.trials[2].points[0].metric));
    CHECK_INT(3, r.trials[0].interval_count);
    CHECK_INT(2, r.trials[0].intervals[1].slot);
    CHECK_CLOSE(r.trials[0].intervals[1].start, 1, 1e-6, 0);
    CHECK(isnan(r.trials[0].intervals[2].end));
    CHECK_CLOSE(r.trials[0].seconds, 10 + 20, 1e-6, 0); /* two slots at once count once */
    CHECK(isnan(r.hypers[0].importance));
    CHECK(strstr(r.importance_note, "5 trials") != NULL);
    CHECK(strstr(r.best_file, "dropout: 0.25") != NULL);
    CHECK(strstr(r.best_file, "searcher") == NULL);
    CHECK_INT(1, r.best_fact_count); /* of a folder that is not here */
    CHECK_TEXT("not known", r.best_facts[0].name);
    CHECK(strstr(r.best_facts[0].text, "'/nowhere/7/1/result.json'") != NULL);
    rgm_search_report_clear(&r);
}

static void check_fact(const rgm_search_report *r, int64_t i, const char *name, const char *text)
{
    CHECK(i < r->best_fact_count);
    CHECK_TEXT(name, r->best_facts[i].name);
    CHECK_TEXT(text, r->best_facts[i].text);
}

static rgm_status load_result(rgm_search_report *r, const char *run_dir)
{
    rgm_status status = report_load_result(r, run_dir);

    if (status != RGM_OK)
        rgm_search_report_clear(r);
    return status;
}

/* What stands in the best trial's result.json; a file of another form is told, or says nothing. */
static void what_the_best_trial_found_out_is_told(void **state)
{
    static const char result[] =
        "{\"state\": \"stopped\", \"reason\": null, \"step\": 200, \"seconds\": 1.5,"
        " \"plan\": [\"items 40 train of 90; 50 in no part\", \"word\", 7],"
        " \"final\": {\"train\": {}, \"test\": {\"loss\": 0.25, \"auc\": \"nan\"}},"
        " \"exports\": [\"a/export\"],"
        " \"warnings\": {\"count\": 3, \"first\": [\"one\", \"two\"]}}";
    rgm_search_report r = {0};
    char path[256];

    (void)state;
    snprintf(path, sizeof path, "%s/" RGM_RESULT_FILE, check_folder());
    CHECK_OK(rgm_file_save(path, result, sizeof result - 1));
    *strrchr(path, '/') = 0;
    CHECK_EVERY_OOM(load_result(&r, path), rgm_search_report_clear(&r));
    CHECK_OK(report_load_result(&r, path));
    CHECK_INT(7, r.best_fact_count);
    check_fact(&r, 0, "trained", "200 steps in 1.5 s");
    check_fact(&r, 1, "items", "40 train of 90; 50 in no part");
    check_fact(&r, 2, "test", "loss 0.25, auc nan");
    check_fact(&r, 3, "export", "a/export");
    check_fact(&r, 4, "warnings", "3 in its log");
    check_fact(&r, 6, "warning", "two");
    rgm_search_report_clear(&r);
    path[strlen(path)] = '/';
    CHECK_OK(rgm_file_save(path, "[1, 2", 5));
    *strrchr(path, '/') = 0;
    CHECK_OK(report_load_result(&r, path));
    CHECK_INT(1, r.best_fact_count);
    CHECK_TEXT("not known", r.best_facts[0].name);
    rgm_search_report_clear(&r);
    CHECK_OK(rgm_folder_remove(path));
}

/* Of 40 trials the metric follows one of three hyperparameters. */
static void importance_is_that_of_trials_of_one_length(void **state)
{
    rgm_text trials = {0}, validations = {0};
    told some[ANSWERS];
    rgm_search_report r;

    (void)state;
    memcpy(some, whole, sizeof some);
    CHECK_OK(rgm_text_printf(&trials, "{\"total\": 40, \"trials\": ["));
    CHECK_OK(rgm_text_printf(&validations, "{\"total\": 40, \"validations\": ["));
    for (int i = 0; i < 40; i++) {
        CHECK_OK(rgm_text_printf(&trials,
                                 "%s{\"number\": %d, \"state\": \"COMPLETED\", \"batches\": 100, "
                                 "\"seed\": 1,"
                                 " \"hyperparameters\": {\"optimizer\": {\"learning_rate\": %.3e}, "
                                 "\"model\":"
                                 " {\"dropout\": %.3f, \"hidden\": %s}, \"data\": {\"batch_size\": "
                                 "32}}}",
                                 i > 0 ? "," : "", i + 1, 0.0001 * pow(10, (i * 7 % 40) / 14.0),
                                 0.01 * (i * 11 % 40), i % 2 ? "[16]" : "[32, 16]"));
        CHECK_OK(rgm_text_printf(&validations,
                                 "%s{\"number\": %d, \"batches\": %d, \"metric\": %.3f,"
                                 " \"metrics\": {\"loss\": 1}}",
                                 i > 0 ? "," : "", i + 1, i < 5 ? 50 : 100,
                                 i < 5 ? 1000.0 * i : 0.01 * (i * 11 % 40)));
    }
    CHECK_OK(rgm_text_printf(&trials, "]}"));
    CHECK_OK(rgm_text_printf(&validations, "]}"));
    some[2].answer = trials.data;
    some[3].answer = validations.data;
    answers = some;
    CHECK_OK(report_load(&r, &nobody, 7));
    CHECK(r.importance_note == NULL);
    CHECK_TEXT("35 of 40 trials after 1 of 2 steps", r.importance_over);
    CHECK(r.hypers[0].importance > 0.7);
    CHECK(r.hypers[1].importance < 0.1 && r.hypers[2].importance < 0.15);
    rgm_search_report_clear(&r);
    rgm_text_clear(&trials);
    rgm_text_clear(&validations);
}

/* By a searcher of its own, which is gone by now: nothing of it is needed, and the file of the best
 * trial is one of its length or none. */
static void a_search_by_a_searcher_that_is_gone_is_told(void **state)
{
    static const struct {
        const char *length;
        bool is_known;
    } cases[] = {{"max_steps: 2", true}, {"pace: 2", false}};
    rgm_search_report r;
    told some[ANSWERS];

    (void)state;
    for (int i = 0; i < 2; i++) {
        char answer[500];

        snprintf(
            answer, sizeof answer,
            "{\"name\": \"own\", \"config\": \"model: {type: mlp}\\nhyperparameters: "
            "{optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}, "
            "data.batch_size: 32, model.dropout: {type: double, minval: 0, maxval: 0.6}, "
            "model.hidden: {type: "
            "categorical, vals: [[16], [32, 16]]}}\\nsearcher: {name: /nowhere/mine.so, metric: "
            "accuracy, smaller_is_better: false, %s}\\n\"}",
            cases[i].length);
        memcpy(some, whole, sizeof some);
        some[1].answer = answer;
        answers = some;
        CHECK_OK(report_load(&r, &nobody, 7));
        CHECK_TEXT("/nowhere/mine.so", r.searcher);
        CHECK_TEXT("valid.accuracy", r.objectives[0].name);
        CHECK_INT(3, r.trial_count);
        CHECK_INT(cases[i].is_known, r.best_file != NULL);
        CHECK(r.best_file == NULL || strstr(r.best_file, "train_steps: 200") != NULL);
        rgm_search_report_clear(&r);
    }
}

static void what_a_master_lacks_is_an_error(void **state)
{
    rgm_search_report r;
    told some[ANSWERS];

    (void)state;
    for (int i = 0; i < 5; i++) {
        memcpy(some, whole, sizeof some);
        some[i] = (told){ROW "/nothing", "{}"};
        answers = some;
        CHECK_STATUS(RGM_ERR_NOT_FOUND, report_load(&r, &nobody, 7));
        CHECK(r.trials == NULL && r.name == NULL);
    }
    memcpy(some, whole, sizeof some);
    some[2].answer = "{\"total\": 1, \"trials\": [{\"number\": 3, \"hyperparameters\":"
                     " {\"model\": {\"dropout\": \"x\"}}}]}";
    CHECK_STATUS(RGM_ERR_CONFIG, report_load(&r, &nobody, 7));
    CHECK_MESSAGE("trial 3 of experiment 7");
}

/* A program of one's own: nothing of the library's tasks is checked, which
 * takes few allocations. */
static void memory_that_runs_out_is_told_and_given_back(void **state)
{
    told some[ANSWERS];
    rgm_search_report r;

    (void)state;
    memcpy(some, whole, sizeof some);
    some[1].answer = "{\"name\": \"own\", \"config\": \"entrypoint: "
                     "own.so\\nhyperparameters: {rate: {type: log,"
                     " base: 10, minval: -3, maxval: -1}, kind: {type: "
                     "categorical, vals: [a, b]}}\\n"
                     "searcher: {name: random, metric: loss, max_trials: 2, "
                     "max_steps: 2}\\n\"}";
    some[2].answer = "{\"total\": 2, \"trials\": ["
                     "{\"number\": 1, \"state\": \"COMPLETED\", \"batches\": 200, \"seed\": 5,"
                     " \"hyperparameters\": {\"rate\": 0.01, \"kind\": \"b\"}},"
                     "{\"number\": 2, \"state\": \"COMPLETED\", \"batches\": 200, \"seed\": 6,"
                     " \"hyperparameters\": {\"rate\": 0.02, \"kind\": \"a\"}}]}";
    answers = some;
    CHECK_EVERY_OOM(report_load(&r, &nobody, 7), rgm_search_report_clear(&r));
    CHECK_OK(report_load(&r, &nobody, 7));
    CHECK_TEXT("b", r.hypers[0].choices[r.trials[0].values[0].choice]);
    CHECK_CLOSE(r.trials[0].best[0], 0.7, 0, 0);
    rgm_search_report_clear(&r);
}

TESTS(cmocka_unit_test(a_search_is_as_its_master_tells_it),
      cmocka_unit_test(what_the_best_trial_found_out_is_told),
      cmocka_unit_test(importance_is_that_of_trials_of_one_length),
      cmocka_unit_test(a_search_by_a_searcher_that_is_gone_is_told),
      cmocka_unit_test(what_a_master_lacks_is_an_error),
      cmocka_unit_test(memory_that_runs_out_is_told_and_given_back))

/*
 * Studies: the same trials as the searcher has by itself, in whatever processes; what is told twice
 * or wrongly; pieces that are lost; files that are no studies.
 */
#include <check.h>
#include <regimen/search_study.h>

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[160], path[200];
static rgm_search_file *file;

static int open_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    snprintf(path, sizeof path, "%s/study.json", folder);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    file = NULL;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static void parse(const char *searcher)
{
    char *text;

    rgm_search_file_release(file);
    CHECK_OK(rgm_strprintf(&text,
                           "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
                           "searcher: %s\nreproducibility: {experiment_seed: 5}\n",
                           searcher));
    CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "own.yaml", NULL));
    rgm_free(text);
}

static const char *const searchers[] = {
    "{name: random, metric: loss, max_trials: 20, max_length: 3, max_concurrent_trials: 2}",
    "{name: adaptive_asha, metric: loss, max_trials: 20, max_length: 9, divisor: 3}",
    "{name: random, sampler: tpe, metric: loss, max_trials: 20, max_length: 1, "
    "max_concurrent_trials: 1}",
    "{name: pbt, metric: loss, population_size: 4, num_rounds: 3, steps_per_round: 2, "
    "replace_function: {truncate_fraction: 0.3}, explore_function: {resample_probability: 0.2, "
    "perturb_factor: 0.2}}",
    "{name: median, metric: loss, max_trials: 8, max_length: 4, interval: 1}",
};

static double loss_of(const rgm_hyper_value *values, int64_t length)
{
    double x = values[0].number - 0.3;

    return x * x + 1 / (double)length;
}

/* A piece by piece, each in an opening of its own; how many there were. */
static int64_t drive(int64_t most)
{
    int64_t done = 0;

    while (done < most) {
        rgm_study *study;
        rgm_study_piece piece;
        double loss;

        CHECK_OK(rgm_study_open(&study, path, file));
        CHECK_OK(rgm_study_ask(&piece, study, 0));
        loss = piece.kind == RGM_STUDY_WORK ? loss_of(piece.values, piece.to) : 0;
        rgm_study_close(study);
        if (piece.kind == RGM_STUDY_OVER)
            return done;
        CHECK(piece.kind == RGM_STUDY_WORK);
        CHECK(piece.to > piece.from);
        CHECK_OK(rgm_study_open(&study, path, NULL));
        CHECK_OK(rgm_study_tell(study, piece.trial, piece.to, RGM_VALIDATED, &loss));
        CHECK_OK(rgm_study_tell(study, piece.trial, piece.to, RGM_VALIDATED, &loss));
        rgm_study_close(study);
        done++;
    }
    return done;
}

static void check_same(const rgm_searcher *a, const rgm_searcher *b)
{
    CHECK_INT(rgm_searcher_trial_count(a), rgm_searcher_trial_count(b));
    for (int64_t i = 1; i <= rgm_searcher_trial_count(a); i++) {
        const rgm_search_trial *x = rgm_searcher_trial(a, i), *y = rgm_searcher_trial(b, i);

        CHECK(x->values[0].number == y->values[0].number);
        CHECK_INT(x->length, y->length);
        CHECK(x->keys[0] == y->keys[0]);
        CHECK(y->closed);
    }
}

static rgm_searcher *simulated;

static void simulated_metric(double *metrics, int64_t trial, int64_t length, void *payload)
{
    (void)payload;
    metrics[0] = loss_of(rgm_searcher_trial(simulated, trial)->values, length);
}

static void a_study_has_the_trials_of_its_searcher(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof searchers / sizeof *searchers; i++) {
        rgm_simulation how = {.order = RGM_BY_TRIAL, .metrics = simulated_metric};
        rgm_simulated result;
        rgm_study *study;

        parse(searchers[i]);
        unlink(path);
        CHECK(drive(1000) < 1000);
        CHECK_OK(rgm_search_file_searcher(&simulated, file, 5, NULL));
        CHECK_OK(rgm_search_simulate(&result, simulated, &how));
        CHECK_OK(rgm_study_open(&study, path, NULL));
        check_same(simulated, rgm_study_searcher(study));
        rgm_study_close(study);
        rgm_simulated_clear(&result);
        rgm_searcher_release(simulated);
    }
}

/* A process of several; the status of its end is not 0 where something of it failed. */
static int work(void)
{
    for (int tries = 0; tries < 10000; tries++) {
        rgm_study *study;
        rgm_study_piece piece;
        double loss;

        if (rgm_study_open(&study, path, file) != RGM_OK ||
            rgm_study_ask(&piece, study, 0) != RGM_OK)
            return 1;
        loss = piece.kind == RGM_STUDY_WORK ? loss_of(piece.values, piece.to) : 0;
        rgm_study_close(study);
        if (piece.kind == RGM_STUDY_OVER)
            return 0;
        if (piece.kind == RGM_STUDY_WAIT)
            continue;
        if (rgm_study_open(&study, path, NULL) != RGM_OK ||
            rgm_study_tell(study, piece.trial, piece.to, RGM_VALIDATED, &loss) != RGM_OK)
            return 2;
        rgm_study_close(study);
    }
    return 3;
}

static void several_processes_ask_and_tell_at_once(void **state)
{
    rgm_study *study;
    pid_t pids[4];
    int status;

    (void)state;
    parse("{name: random, metric: loss, max_trials: 60, max_length: 1, max_concurrent_trials: 4}");
    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(work());
    }
    for (int i = 0; i < 4; i++) {
        CHECK_INT(pids[i], waitpid(pids[i], &status, 0));
        CHECK_INT(0, status);
    }
    CHECK_OK(rgm_study_open(&study, path, NULL));
    CHECK_INT(60, rgm_searcher_trial_count(rgm_study_searcher(study)));
    for (int64_t i = 1; i <= 60; i++) {
        const rgm_search_trial *t = rgm_searcher_trial(rgm_study_searcher(study), i);

        CHECK(t->closed && t->keys[0] == loss_of(t->values, 1));
    }
    rgm_study_close(study);
}

static void what_was_not_asked_for_is_refused(void **state)
{
    rgm_study *study;
    rgm_study_piece piece;
    double one = 1, two = 2, none = NAN;

    (void)state;
    parse("{name: random, metric: loss, max_trials: 2, max_length: 3, max_concurrent_trials: 1}");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_study_open(&study, path, NULL));
    CHECK_OK(rgm_study_open(&study, path, file));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(1, piece.out);
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 2, 3, RGM_VALIDATED, &one));
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 1, 2, RGM_VALIDATED, &one));
    CHECK_OK(rgm_study_tell(study, 1, 0, RGM_VALIDATED, &one));
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 1, 3, RGM_VALIDATED, &two));
    CHECK_OK(rgm_study_tell(study, 1, 3, RGM_VALIDATED, &one));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(2, piece.trial);
    CHECK_OK(rgm_study_tell(study, 2, 3, RGM_VALIDATED, &none));
    CHECK_OK(rgm_study_tell(study, 2, 3, RGM_VALIDATED, &none));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK(piece.kind == RGM_STUDY_OVER);
    rgm_study_close(study);
}

/* A retry of what was told comes when the searcher has asked for more of that trial already. */
static void what_is_told_again_is_no_result_of_the_next_length(void **state)
{
    const double losses[] = {0.1, 0.2, 0.3}, other = 0.7;
    const rgm_search_trial *first;
    rgm_study_piece piece;
    rgm_study *study;

    (void)state;
    parse("{name: adaptive_asha, metric: loss, max_trials: 4, max_length: 9, divisor: 3, "
          "max_rungs: 2, max_concurrent_trials: 3}");
    CHECK_OK(rgm_study_open(&study, path, file));
    for (int i = 0; i < 3; i++)
        CHECK_OK(rgm_study_ask(&piece, study, 0));
    for (int i = 0; i < 3; i++)
        CHECK_OK(rgm_study_tell(study, i + 1, 0, RGM_VALIDATED, &losses[i]));
    first = rgm_searcher_trial(rgm_study_searcher(study), 1);
    CHECK_INT(3, first->length);
    CHECK_OK(rgm_study_tell(study, 1, 0, RGM_VALIDATED, &losses[0]));
    CHECK_OK(rgm_study_tell(study, 1, 3, RGM_VALIDATED, &losses[0]));
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 1, 0, RGM_VALIDATED, &other));
    CHECK_INT(3, first->length);
    CHECK(first->keys[0] == losses[0]);
    do {
        CHECK_OK(rgm_study_ask(&piece, study, 0));
        CHECK(piece.kind == RGM_STUDY_WORK);
    } while (piece.trial != 1);
    CHECK_INT(9, piece.to);
    CHECK_OK(rgm_study_tell(study, 1, 0, RGM_VALIDATED, &other));
    CHECK_INT(9, rgm_searcher_trial(rgm_study_searcher(study), 1)->length);
    rgm_study_close(study);
}

static void pieces_are_lost_failed_or_invalid(void **state)
{
    rgm_study *study;
    rgm_study_piece piece;
    double one = 1;

    (void)state;
    parse("{name: random, metric: loss, max_trials: 2, max_length: 3, max_concurrent_trials: 1}");
    CHECK_OK(rgm_study_open(&study, path, file));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_OK(rgm_study_ask(&piece, study, 3600));
    CHECK(piece.kind == RGM_STUDY_WAIT && piece.out == 1);
    CHECK_OK(rgm_study_ask(&piece, study, 1e-9));
    CHECK(piece.kind == RGM_STUDY_WORK && piece.trial == 1 && piece.out == 1);
    CHECK_OK(rgm_study_tell(study, 1, 0, RGM_INVALID, NULL)); /* replaced */
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_OK(rgm_study_tell(study, 2, 0, RGM_EXITED, NULL));
    CHECK_OK(rgm_study_tell(study, 2, 0, RGM_EXITED, NULL));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(3, piece.trial);
    CHECK_OK(rgm_study_tell(study, 3, 0, RGM_VALIDATED, &one));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK(piece.kind == RGM_STUDY_OVER);
    rgm_study_close(study);
}

static void a_file_that_is_no_study_is_refused(void **state)
{
    static const char *const texts[] = {"{}", "[]", "x", "{\"regimen_study\": 1}",
                                        ("{\"regimen_study\": 1, \"name\": \"a\", \"file\": \"\", "
                                         "\"seed\": 1, \"searcher\": \"{}\", \"trials\": []}")};
    rgm_study *study;
    char *data;
    int64_t size;

    (void)state;
    parse(searchers[0]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_OK(rgm_file_save(path, texts[i], (int64_t)strlen(texts[i])));
        CHECK(rgm_study_open(&study, path, file) < 0 && study == NULL);
    }
    CHECK_OK(rgm_file_save(path, "{\"regimen_study\": 2}", 20));
    CHECK_STATUS(RGM_ERR_VERSION, rgm_study_open(&study, path, file));
    unlink(path);
    CHECK_INT(3, drive(3));
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    for (int64_t i = 0; i < size; i += 37) { /* whatever is cut off is missed */
        CHECK_OK(rgm_file_save(path, data, i));
        CHECK(rgm_study_open(&study, path, NULL) < 0 && study == NULL);
    }
    rgm_free(data);
}

static void failed_allocations_leave_nothing(void **state)
{
    rgm_study *study = NULL;

    (void)state;
    parse(searchers[1]);
    CHECK_INT(3, drive(3));
    CHECK_EVERY_OOM(rgm_study_open(&study, path, NULL), rgm_study_close(study));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, open_folder, close_folder)
        IN_FOLDER(a_study_has_the_trials_of_its_searcher),
        IN_FOLDER(several_processes_ask_and_tell_at_once),
        IN_FOLDER(what_was_not_asked_for_is_refused),
        IN_FOLDER(what_is_told_again_is_no_result_of_the_next_length),
        IN_FOLDER(pieces_are_lost_failed_or_invalid),
        IN_FOLDER(a_file_that_is_no_study_is_refused),
        IN_FOLDER(failed_allocations_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

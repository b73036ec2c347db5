/*
 * Studies: the same trials as the searcher has by itself, in whatever processes, kept open or not;
 * what is told twice or wrongly; pieces that are lost; files that are no studies; lines of JSON.
 */
#include <check.h>
#include <regimen/search_study.h>

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
    /* Late, while somebody is at the next length: whose it is must be said. */
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 1, 0, RGM_VALIDATED, &losses[0]));
    CHECK_MESSAGE("--at 9");
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 1, 0, RGM_VALIDATED, &other));
    CHECK_OK(rgm_study_tell(study, 1, 3, RGM_VALIDATED, &losses[0]));
    CHECK_INT(3, first->length);
    CHECK_OK(rgm_study_tell(study, 1, 9, RGM_VALIDATED, &other));
    CHECK_INT(9, rgm_searcher_trial(rgm_study_searcher(study), 1)->length);
    rgm_study_close(study);
}

static void what_only_a_master_has_is_refused(void **state)
{
    static const char *const keys[] = {"source_experiment: 1", "source_trial_id: 5",
                                       "source_checkpoint_uuid: 00"};
    rgm_study *study;
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(text, sizeof text,
                 "{name: random, metric: loss, max_trials: 2, max_length: 3, %s}", keys[i]);
        parse(text);
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_study_open(&study, path, file));
        CHECK_MESSAGE("for searches of a master");
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_study_open(&study, NULL, file));
    }
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
    CHECK_OK(rgm_file_save(path, "{\"regimen_study\": 3}", 20));
    CHECK_STATUS(RGM_ERR_VERSION, rgm_study_open(&study, path, file));
    unlink(path);
    CHECK_INT(3, drive(3));
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK(strstr(data, "\n}\n{\"given\":") != NULL); /* it has a log */
    for (int64_t i = 0; i < size; i += 13) {
        bool in_log = i >= strstr(data, "\n}\n") + 3 - data;

        CHECK_OK(rgm_file_save(path, data, i));
        if (in_log) { /* what was never answered did not happen */
            CHECK_OK(rgm_study_open(&study, path, NULL));
            rgm_study_close(study);
        } else {
            CHECK(rgm_study_open(&study, path, NULL) < 0 && study == NULL);
        }
    }
    for (char *at = strstr(data, "\n}\n") + 3; at < data + size; at = strchr(at, '\n') + 1) {
        char kept = at[2];

        at[2] = '#'; /* a line that is whole, and wrong */
        CHECK_OK(rgm_file_save(path, data, size));
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_study_open(&study, path, NULL));
        at[2] = kept;
    }
    rgm_free(data);
}

/* ---- kept open ------------------------------------------------------------------------------ */

static void drive_open(rgm_study *study)
{
    rgm_study_piece piece;
    double loss;

    for (;;) {
        CHECK_OK(rgm_study_ask(&piece, study, 0));
        if (piece.kind != RGM_STUDY_WORK)
            break;
        loss = loss_of(piece.values, piece.to);
        CHECK_OK(rgm_study_tell(study, piece.trial, piece.to, RGM_VALIDATED, &loss));
    }
    CHECK(piece.kind == RGM_STUDY_OVER);
}

/* One that is ended counts as what it reached, behind a restart too; also one that waits for
 * others. */
static void trials_are_ended(void **state)
{
    const rgm_search_trial *t;
    rgm_study *study;
    rgm_study_piece piece;
    double good = 0.125, loss = 0.5;

    (void)state;
    parse(
        "{name: sync_halving, metric: loss, num_rungs: 2, max_length: 4, budget: 24, divisor: 2}");
    CHECK_OK(rgm_study_open(&study, path, file));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_OK(rgm_study_tell(study, 1, piece.to, RGM_VALIDATED, &loss));
    CHECK_OK(rgm_study_tell(study, 1, piece.to, RGM_ENDED, &good));
    CHECK_OK(rgm_study_tell(study, 1, piece.to, RGM_ENDED, &good)); /* again, and nothing changes */
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(2, piece.trial);
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 2, piece.to + 1, RGM_ENDED, &good));
    CHECK_OK(rgm_study_tell(study, 2, 1, RGM_ENDED, &loss));
    CHECK_STATUS(RGM_ERR_ARG, rgm_study_tell(study, 2, piece.to, RGM_VALIDATED, &loss));
    rgm_study_close(study);
    CHECK_OK(rgm_study_open(&study, path, NULL));
    for (int64_t i = 1; i <= 2; i++) {
        t = rgm_searcher_trial(rgm_study_searcher(study), i);
        CHECK(t->closed && !t->exited && !t->invalid);
        CHECK(t->keys[0] == (i == 1 ? good : loss));
        CHECK_INT(i == 1 ? piece.to : 1, t->length);
    }
    drive_open(study);
    rgm_study_close(study);
}

/* With another process' turns in between, and in memory: the same trials. */
static void a_study_that_is_kept_open_has_the_same_trials(void **state)
{
    (void)state;
    for (size_t i = 1; i < 3; i++) {
        rgm_study *kept, *other, *memory;
        rgm_study_piece piece;
        double loss;

        parse(searchers[i]);
        unlink(path);
        CHECK_OK(rgm_study_open(&memory, NULL, file));
        drive_open(memory);
        CHECK_OK(rgm_study_open(&kept, path, file));
        CHECK_OK(rgm_study_open(&other, path, NULL));
        for (int turn = 0; turn < 7; turn++) { /* asked here, told there */
            CHECK_OK(rgm_study_ask(&piece, turn % 3 == 0 ? other : kept, 0));
            CHECK(piece.kind == RGM_STUDY_WORK);
            loss = loss_of(piece.values, piece.to);
            CHECK_OK(rgm_study_tell(turn % 2 == 0 ? other : kept, piece.trial, piece.to,
                                    RGM_VALIDATED, &loss));
        }
        drive_open(kept);
        check_same(rgm_study_searcher(memory), rgm_study_searcher(kept));
        CHECK_OK(rgm_study_ask(&piece, other, 0));
        CHECK(piece.kind == RGM_STUDY_OVER);
        check_same(rgm_study_searcher(memory), rgm_study_searcher(other));
        rgm_study_close(memory);
        rgm_study_close(kept);
        rgm_study_close(other);
    }
}

/* A process that asks twice, tells once, and is killed. */
static void ask_and_die(void)
{
    rgm_study_piece piece;
    rgm_study *study;
    double loss = 0.5;

    if (rgm_study_open(&study, path, NULL) != RGM_OK || rgm_study_hold(study) != RGM_OK ||
        rgm_study_ask(&piece, study, 0) != RGM_OK ||
        rgm_study_tell(study, piece.trial, piece.to, RGM_VALIDATED, &loss) != RGM_OK ||
        rgm_study_ask(&piece, study, 0) != RGM_OK)
        _exit(1);
    raise(SIGKILL);
}

static void what_a_process_held_is_given_out_again(void **state)
{
    rgm_study_piece piece;
    rgm_study *study;
    int64_t count;
    int how;
    pid_t pid;

    (void)state;
    parse("{name: random, metric: loss, max_trials: 4, max_length: 3, max_concurrent_trials: 4}");
    CHECK_OK(rgm_study_open(&study, path, file));
    CHECK_OK(rgm_study_ask(&piece, study, 0)); /* nobody holds it */
    pid = fork();
    if (pid == 0)
        ask_and_die();
    CHECK_INT(pid, waitpid(pid, &how, 0));
    CHECK_INT(SIGKILL, how);
    CHECK_OK(rgm_study_hold(study));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(3, piece.trial); /* 2 was told */
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(4, piece.trial);
    CHECK_INT(3, piece.out);
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK(piece.kind == RGM_STUDY_WAIT);
    CHECK_OK(rgm_study_give_back(&count, study));
    CHECK_INT(2, count);
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(3, piece.trial);
    rgm_study_close(study);
}

/* A disk that takes no more: nothing has happened, in memory and on disk, and it can be told again.
 */
static void what_cannot_be_written_has_not_happened(void **state)
{
    struct rlimit unlimited, none;
    rgm_study *study, *other;
    rgm_study_piece piece, again;
    double loss = 0.25;
    struct stat info;

    (void)state;
    parse(searchers[2]);
    CHECK_OK(rgm_study_open(&study, path, file));
    CHECK_OK(rgm_study_ask(&piece, study, 0));
    CHECK_INT(0, getrlimit(RLIMIT_FSIZE, &unlimited));
    CHECK_INT(0, stat(path, &info));
    none = (struct rlimit){.rlim_cur = (rlim_t)info.st_size + 5, .rlim_max = unlimited.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &none));
    CHECK_STATUS(RGM_ERR_IO, rgm_study_tell(study, 1, 0, RGM_VALIDATED, &loss));
    CHECK_STATUS(RGM_ERR_IO, rgm_study_tell(study, 1, 0, RGM_VALIDATED, &loss));
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &unlimited));
    CHECK_OK(rgm_study_open(&other, path, NULL));
    CHECK_INT(0, rgm_searcher_trial(rgm_study_searcher(other), 1)->length);
    CHECK_OK(rgm_study_tell(study, 1, 0, RGM_VALIDATED, &loss));
    CHECK_OK(rgm_study_ask(&piece, other, 0));
    CHECK_INT(2, piece.trial);
    CHECK_OK(rgm_study_ask(&again, study, 1e-9));
    CHECK_INT(2, again.trial);
    CHECK(again.values[0].number == piece.values[0].number);
    unlink(path);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_study_ask(&piece, study, 0));
    rgm_study_close(study);
    rgm_study_close(other);
}

/* Two processes keep a study open, and a line of its log is damaged: both are told, one after the
 * other, as is one that opens it. */
static void what_is_damaged_is_locked_for_nobody(void **state)
{
    rgm_study *study, *other, *third;
    rgm_study_piece piece;
    FILE *log;

    (void)state;
    parse(searchers[0]);
    CHECK_OK(rgm_study_open(&study, path, file));
    CHECK_OK(rgm_study_open(&other, path, file));
    log = fopen(path, "a");
    CHECK(log != NULL && fputs("{\"given\": \"nothing\"}\n", log) > 0 && fclose(log) == 0);
    alarm(20); /* one that waits for the other's lock would wait for good */
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_study_ask(&piece, study, 0));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_study_ask(&piece, other, 0));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_study_ask(&piece, study, 0));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_study_open(&third, path, NULL));
    alarm(0);
    rgm_study_close(study);
    rgm_study_close(other);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void check_said(rgm_study *study, const char *line, const char *answer)
{
    rgm_text text = {0};
    bool ends;

    CHECK_OK(rgm_study_say(&text, &ends, study, line, 0));
    if (strstr(text.data, answer) == NULL)
        fail_msg("%s is answered by %s, expected %s", line, text.data, answer);
    CHECK(text.data[text.size - 1] == '\n');
    CHECK_INT(ends, strstr(line, "\"end\"") != NULL && strstr(answer, "error") == NULL);
    rgm_text_clear(&text);
}

static void lines_are_answered_by_lines(void **state)
{
    static const char *const wrong[][2] = {
        {"", "error"},
        {"[]", "with a \\\"type\\\""},
        {"{\"type\": \"aks\"}", "did you mean 'ask'?"},
        {"{\"type\": \"ask\", \"trial\": 1}", "unknown key 'trial'"},
        {"{\"type\": \"tell\"}", "no 'trial'"},
        {"{\"type\": \"tell\", \"trial\": 1}", "either 'metrics'"},
        {"{\"type\": \"tell\", \"trial\": 1, \"failed\": false}", "either 'metrics'"},
        {"{\"type\": \"tell\", \"trial\": 1, \"metrics\": {\"loss\": 1}}", "no 'to'"},
        {"{\"type\": \"tell\", \"trial\": 1, \"to\": 3, \"metrics\": {\"los\": 1}}",
         "no number 'loss'"},
        {"{\"type\": \"tell\", \"trial\": 9, \"to\": 3, \"metrics\": {\"loss\": 1}}",
         "there is no trial 9"},
        {"{\"type\": \"tell\", \"trial\": 1, \"to\": 2, \"metrics\": {\"loss\": 1}}", "ends at 3"},
    };
    rgm_study *study;

    (void)state;
    parse("{name: random, metric: loss, max_trials: 3, max_length: 3, max_concurrent_trials: 2}");
    CHECK_OK(rgm_study_open(&study, NULL, file));
    CHECK_OK(rgm_study_hold(study));
    check_said(study, "{\"type\": \"ask\"}", "{\"trial\": 1, \"hyperparameters\": {\"x\": ");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_said(study, wrong[i][0], wrong[i][1]);
    check_said(study, "{\"type\": \"ask\"}", "\"from\": 0, \"to\": 3}");
    check_said(study, "{\"type\": \"ask\"}", "{\"wait\": true, \"out\": 2}");
    check_said(study, "{\"type\": \"tell\", \"trial\": 1, \"to\": 3, \"metrics\": {\"loss\": NaN}}",
               "{\"told\": 1, \"closed\": [1]}");
    check_said(study, "{\"type\": \"tell\", \"trial\": 2, \"failed\": true}",
               "{\"told\": 2, \"closed\": [2]}");
    check_said(study, "{\"type\": \"tell\", \"trial\": 2, \"failed\": true}",
               "{\"told\": 2, \"closed\": []}");
    check_said(study, "{\"type\": \"ask\"}", "\"trial\": 3");
    check_said(study, "{\"type\": \"tell\", \"trial\": 3, \"failed\": true, \"ended\": true}",
               "either 'metrics'");
    check_said(study, "{\"type\": \"end\"}", "{\"given_back\": 1}");
    check_said(study, "{\"type\": \"ask\"}", "\"trial\": 3");
    check_said(study,
               "{\"type\": \"tell\", \"trial\": 3, \"to\": 3, \"metrics\": {\"valid.loss\": 1}}",
               "{\"told\": 3, \"closed\": [3]}");
    check_said(study, "{\"type\": \"ask\"}", "{\"over\": true}");
    rgm_study_close(study);
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
        IN_FOLDER(trials_are_ended),
        IN_FOLDER(what_only_a_master_has_is_refused),
        IN_FOLDER(pieces_are_lost_failed_or_invalid),
        IN_FOLDER(a_file_that_is_no_study_is_refused),
        IN_FOLDER(a_study_that_is_kept_open_has_the_same_trials),
        IN_FOLDER(what_a_process_held_is_given_out_again),
        IN_FOLDER(what_cannot_be_written_has_not_happened),
        IN_FOLDER(what_is_damaged_is_locked_for_nobody),
        IN_FOLDER(lines_are_answered_by_lines),
        IN_FOLDER(failed_allocations_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

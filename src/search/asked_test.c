/*
 * A searcher that is a program: what it asks for is tried, a restored search goes on with the same
 * trials, and what it does wrongly ends the search with a reason.
 */
#include <check.h>
#include <regimen/search_file.h>
#include <regimen/search_rows.h>

#include <fcntl.h>
#include <unistd.h>

static char folder[160];
static const rgm_search_rows own = {.objects = true};

static int open_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* Trials one after the other, each to 1, and where it was below 0.3 to 2; six of them. Its values
 * follow from the seed, and from what was told. */
static const char good[] =
    "n=0 last=0 again=0\n"
    "while read -r line; do\n"
    "    case $line in\n"
    "    *ask*) if [ $again -gt 0 ]; then\n"
    "               echo \"{\\\"trial\\\": $again, \\\"to\\\": 2}\"; again=0\n"
    "           elif [ $n = 6 ]; then echo '{\"over\": true}'\n"
    "           else n=$((n + 1))\n"
    "               echo \"{\\\"trial\\\": $n, \\\"hyperparameters\\\": {\\\"x\\\": "
    "0.$(((n * 17 + REGIMEN_SEED + last) % 8 * 100 + 111))}, \\\"to\\\": 1}\"; fi ;;\n"
    "    *'\"to\": 1'*) loss=${line##*: 0.}; loss=${loss%%\\}*}; last=$((${#loss} + n))\n"
    "           case $loss in 0*|1*|2*) again=$n ;; esac; echo '{\"told\": 1}' ;;\n"
    "    *) echo '{\"told\": 1, \"closed\": [1]}' ;;\n"
    "    esac\n"
    "done\n";

/* Of a script in the folder, which is run with `words`, the rest of the list. */
static rgm_status open_words(rgm_searcher **out, const char *script, const char *words,
                             const char *more, const rgm_search_rows *rows)
{
    rgm_yaml *yaml = NULL;
    rgm_space *space = NULL;
    rgm_status status = RGM_OK;
    char path[200], *text = NULL;

    snprintf(path, sizeof path, "%s/searcher.sh", folder);
    RGM_GO(rgm_file_save(path, script, (int64_t)strlen(script)));
    RGM_GO(rgm_strprintf(&text,
                         "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
                         "searcher: {name: program, command: [sh, %s%s], metric: loss, max_steps: 2"
                         "%s}\n",
                         path, words, more));
    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "own.yaml"));
    RGM_GO(rgm_space_read(&space, rgm_yaml_find(rgm_yaml_root(yaml), "hyperparameters"), NULL));
    RGM_GO(rgm_searcher_read(out, rgm_yaml_find(rgm_yaml_root(yaml), "searcher"), space, 5, rows));
done:
    rgm_space_release(space);
    rgm_yaml_release(yaml);
    rgm_free(text);
    return status;
}

static rgm_status open_searcher(rgm_searcher **out, const char *script, const char *more,
                                const rgm_search_rows *rows)
{
    return open_words(out, script, "", more, rows);
}

static rgm_status begin(rgm_searcher **out, const char *script, const char *more)
{
    CHECK_OK(open_searcher(out, script, more, &own));
    return rgm_searcher_begin(*out);
}

/* Up to `most` validations, whose loss is x; how many there were. */
static rgm_status drive(int *done, rgm_searcher *s, int most)
{
    rgm_operation o;

    *done = 0;
    while (*done < most && rgm_searcher_next(&o, s)) {
        rgm_search_event event = {.trial = o.trial, .length = o.length};

        if (o.kind == RGM_ASK_CLOSE) {
            event.kind = RGM_CLOSED;
            RGM_TRY(rgm_searcher_tell(s, &event));
        } else if (o.kind == RGM_ASK_VALIDATE) {
            event.kind = RGM_VALIDATED;
            event.metrics = &rgm_searcher_trial(s, o.trial)->values[0].number;
            RGM_TRY(rgm_searcher_tell(s, &event));
            ++*done;
        }
    }
    return RGM_OK;
}

static void check_same(const rgm_searcher *a, const rgm_searcher *b)
{
    CHECK_INT(rgm_searcher_trial_count(a), rgm_searcher_trial_count(b));
    for (int64_t i = 1; i <= rgm_searcher_trial_count(a); i++) {
        const rgm_search_trial *x = rgm_searcher_trial(a, i), *y = rgm_searcher_trial(b, i);

        CHECK(x->values[0].number == y->values[0].number);
        CHECK_INT(x->length, y->length);
        CHECK(x->closed && y->closed);
    }
}

static rgm_searcher *through_text(rgm_searcher *s)
{
    rgm_searcher *back;
    rgm_text text = {0};

    CHECK_OK(rgm_searcher_save(&text, s));
    rgm_searcher_release(s);
    CHECK_OK(open_searcher(&back, good, "", &own));
    CHECK_OK(rgm_searcher_restore(back, text.data, text.size));
    rgm_text_clear(&text);
    return back;
}

static void what_a_program_asks_for_is_tried(void **state)
{
    rgm_searcher *whole, *cut;
    int done, longer = 0;

    (void)state;
    CHECK_OK(begin(&whole, good, ""));
    CHECK(rgm_searcher_is_told_once(whole));
    CHECK_OK(drive(&done, whole, 100));
    CHECK(rgm_searcher_is_over(whole));
    CHECK_INT(6, rgm_searcher_trial_count(whole));
    for (int64_t i = 1; i <= 6; i++)
        longer += rgm_searcher_trial(whole, i)->length == 2;
    CHECK(longer > 0 && longer < 6 && done == 6 + longer);
    for (int most = 0; most < done; most++) { /* saved and restored behind each validation */
        int before, behind;

        CHECK_OK(begin(&cut, good, ""));
        CHECK_OK(drive(&before, cut, most));
        cut = through_text(cut);
        CHECK_OK(drive(&behind, cut, 100));
        CHECK_INT(done, before + behind);
        check_same(whole, cut);
        rgm_searcher_release(cut);
    }
    CHECK_OK(begin(&cut, good, ", max_trials: 2, max_concurrent_trials: 2"));
    CHECK_OK(drive(&done, cut, 100));
    CHECK_INT(2, rgm_searcher_trial_count(cut));
    CHECK(rgm_searcher_is_over(cut));
    rgm_searcher_release(cut);
    rgm_searcher_release(whole);
}

/* A state goes on with the files that it was of: a large one, whose last byte changes, and one that
 * is named twice. */
static void a_file_that_the_command_names_is_part_of_the_state(void **state)
{
    static char large[(1 << 20) + 1];

    (void)state;
    for (int k = 0; k < 2; k++) {
        rgm_searcher *s, *back;
        rgm_text saved = {0};
        char path[200], words[500];
        int64_t size = k == 0 ? (int64_t)sizeof large : 10;

        snprintf(path, sizeof path, "%s/table", folder);
        snprintf(words, sizeof words, ", %s, %s", path, k == 0 ? "x" : path);
        memset(large, 'x', sizeof large);
        CHECK_OK(rgm_file_save(path, large, size));
        CHECK_OK(open_words(&s, good, words, "", &own));
        CHECK_OK(rgm_searcher_begin(s));
        CHECK_OK(rgm_searcher_save(&saved, s));
        rgm_searcher_release(s);
        CHECK_OK(open_words(&back, good, words, "", &own));
        CHECK_OK(rgm_searcher_restore(back, saved.data, saved.size));
        rgm_searcher_release(back);
        large[size - 1] = 'y';
        CHECK_OK(rgm_file_save(path, large, size));
        CHECK_OK(open_words(&back, good, words, "", &own));
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_searcher_restore(back, saved.data, saved.size));
        rgm_searcher_release(back);
        rgm_text_clear(&saved);
    }
}

static void trials_that_fail_are_told(void **state)
{
    rgm_operation o;
    rgm_searcher *s;
    int done;

    (void)state;
    CHECK_OK(begin(&s, good, ""));
    while (rgm_searcher_next(&o, s))
        ;
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_EXITED, .trial = 1}));
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_INVALID, .trial = 2}));
    CHECK_OK(drive(&done, s, 100));
    CHECK(rgm_searcher_is_over(s));
    CHECK_INT(6, rgm_searcher_trial_count(s));
    rgm_searcher_release(s);
}

/* It is told what such a trial came to, and not that it failed. */
static void a_trial_that_ends_on_request_is_told(void **state)
{
    static const char script[] =
        "n=0; while read -r line; do echo \"$line\" >> \"$0.said\"; case $line in *ask*) n=$((n + "
        "1)); "
        "echo \"{\\\"trial\\\": $n, \\\"hyperparameters\\\": {\\\"x\\\": 0.5}, \\\"to\\\": 2}\" ;; "
        "*) echo {} ;; esac; done\n";
    double loss = 0.25;
    char path[240], *said;
    rgm_operation o;
    rgm_searcher *s;
    int64_t size;

    (void)state;
    CHECK_OK(begin(&s, script, ", max_trials: 3"));
    while (rgm_searcher_next(&o, s))
        ;
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_ENDED, 1, 1, &loss}));
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_ENDED, .trial = 2}));
    snprintf(path, sizeof path, "%s/searcher.sh.said", folder);
    CHECK_OK(rgm_file_load(&said, &size, path, 1 << 16));
    CHECK(
        strstr(said, "\"trial\": 1, \"to\": 1, \"metrics\": {\"loss\": 0.25}, \"ended\": true}") !=
        NULL);
    CHECK(strstr(said, "\"trial\": 2, \"failed\": true}") != NULL); /* it came to nothing */
    rgm_free(said);
    rgm_searcher_release(s);
}

static void one_that_answers_otherwise_is_told(void **state)
{
    char script[400];
    rgm_searcher *s, *back;
    rgm_text text = {0};
    int done;

    (void)state;
    snprintf(
        script, sizeof script,
        "n=0; while read -r line; do case $line in *ask*) n=$((n + 1)); echo \"{\\\"trial\\\": "
        "$n, \\\"hyperparameters\\\": {\\\"x\\\": 0.$$}, \\\"to\\\": 1}\" ;; *) echo {} ;; esac; "
        "done");
    CHECK_OK(begin(&s, script, ", max_trials: 5"));
    CHECK_OK(drive(&done, s, 2));
    CHECK_OK(rgm_searcher_save(&text, s));
    rgm_searcher_release(s);
    CHECK_OK(open_searcher(&back, script, ", max_trials: 5", &own));
    CHECK_OK(rgm_searcher_restore(back, text.data, text.size));
    CHECK_STATUS(RGM_ERR_CONFIG, drive(&done, back, 1));
    CHECK_MESSAGE("answers line 1 of");
    CHECK_MESSAGE("$REGIMEN_SEED");
    rgm_searcher_release(back);
    rgm_text_clear(&text);
}

/* A process that ends is begun again, once; one that says nothing is ended. */
static void death_and_silence_are_bounded(void **state)
{
    char script[2000];
    rgm_searcher *s;
    double begun;
    int done;

    (void)state;
    snprintf(script, sizeof script,
             "if [ ! -e %s/mark ]; then touch %s/mark; read -r line; exit 3; fi\n%s", folder,
             folder, good);
    CHECK_OK(begin(&s, script, ""));
    CHECK_OK(drive(&done, s, 100));
    CHECK(rgm_searcher_is_over(s));
    rgm_searcher_release(s);
    CHECK_STATUS(RGM_ERR_CONFIG, begin(&s, "read -r line; exit 3", ""));
    CHECK_MESSAGE("ended with exit code 3 before it answered, and did so when it was begun again");
    rgm_searcher_release(s);
    CHECK_STATUS(RGM_ERR_CONFIG, begin(&s, "kill -9 $$", ""));
    CHECK_MESSAGE("was ended by signal 9");
    rgm_searcher_release(s);
    begun = rgm_now();
    CHECK_STATUS(RGM_ERR_CONFIG, begin(&s, "sleep 60", ", answer_seconds: 0.1"));
    CHECK_MESSAGE("has not answered within 0.1 s (searcher.answer_seconds): {\"type\": \"ask\"}");
    CHECK(rgm_now() - begun < 20);
    rgm_searcher_release(s);
}

static void answers_that_cannot_be_are_told(void **state)
{
    static const char *const answers[][2] = {
        {"nothing", "answers 'nothing', which is no line of JSON"},
        {"[1]", "it is no object"},
        {"{}", "by no \"trial\" that there is"},
        {"{\\\"error\\\": \\\"I am tired\\\"}", "says: I am tired"},
        {"{\\\"wait\\\": true}", "\"wait\", and no trial is under way"},
        {"{\\\"trial\\\": 2, \\\"to\\\": 1}", "by no \"trial\" that there is"},
        {"{\\\"trial\\\": 1, \\\"to\\\": 3, \\\"hyperparameters\\\": {\\\"x\\\": 0}}",
         "no length up to max_length"},
        {"{\\\"trial\\\": 1, \\\"to\\\": 1, \\\"hyperparameters\\\": {\\\"x\\\": 7}}", "x"},
        {"{\\\"trial\\\": 1, \\\"to\\\": 1}", "hyperparameter"},
        {"{\\\"trial\\\": 1, \\\"to\\\": 1, \\\"source\\\": 1, \\\"hyperparameters\\\": "
         "{\\\"x\\\": 0}}",
         "\"source\" that is no trial"},
    };
    rgm_searcher *s;
    char script[300];

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        snprintf(script, sizeof script, "while read -r line; do echo \"%s\"; done", answers[i][0]);
        CHECK(begin(&s, script, "") < 0);
        CHECK_MESSAGE(answers[i][1]);
        rgm_searcher_release(s);
    }
    CHECK_STATUS(RGM_ERR_CONFIG,
                 begin(&s,
                       "while read -r line; do cat <<E\n"
                       "{\"trial\": 1, \"to\": 1, \"hyperparameters\": {\"x\": 0}}\n"
                       "{\"debug\": 1}\n"
                       "E\ndone",
                       ""));
    CHECK_MESSAGE("answers a line by more than one, the next begins '{\"debug\": 1}");
    rgm_searcher_release(s);
    CHECK_STATUS(RGM_ERR_CONFIG, open_searcher(&s, good, "", NULL));
    CHECK_MESSAGE("this process runs none: start the master with --own-searchers");
    CHECK_STATUS(RGM_ERR_CONFIG, open_searcher(&s, good, ", answer_seconds: 0", &own));
}

/* Its process was never started, and descriptor 0 is somebody else's. */
static void a_section_with_a_mistake_closes_no_file(void **state)
{
    rgm_searcher *s;
    int before = dup(0), spare = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    CHECK(spare >= 0 && dup2(spare, 0) == 0);
    CHECK_STATUS(RGM_ERR_CONFIG, open_searcher(&s, good, ", no_such_key: 0", &own));
    CHECK(fcntl(0, F_GETFD) >= 0);
    if (before >= 0) {
        CHECK(dup2(before, 0) == 0);
        close(before);
    }
    close(spare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, open_folder, close_folder)
        IN_FOLDER(what_a_program_asks_for_is_tried),
        IN_FOLDER(trials_that_fail_are_told),
        IN_FOLDER(a_trial_that_ends_on_request_is_told),
        IN_FOLDER(one_that_answers_otherwise_is_told),
        IN_FOLDER(death_and_silence_are_bounded),
        IN_FOLDER(answers_that_cannot_be_are_told),
        IN_FOLDER(a_section_with_a_mistake_closes_no_file),
        IN_FOLDER(a_file_that_the_command_names_is_part_of_the_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

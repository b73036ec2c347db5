/*
 * Files of steps: what they contradict is told with its place, and loading survives every failing
 * allocation. (tests/distil_test.sh runs them.)
 */
#include <check.h>

#include <regimen/distil.h>

static char folder[128];

static const char *write_file(const char *text)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/steps.yaml", folder);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    return path;
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

#define TEACHER "  a: {type: train, experiment: multi30k_de_en}\n"
#define TAUGHT  "  t: {type: translate, models: a, source: x}\n"

static const char whole[] =
    "description: all kinds of steps\nsteps:\n" TEACHER TAUGHT
    "  s: {type: score, model: a, pairs: t}\n"
    "  f: {type: filter, pairs: t, scores: s, min_log_probability: -1, max_ratio: 2}\n"
    "  b: {type: back_translate, models: [a, elsewhere], target: f, tag: <BT>, lines: 9}\n"
    "  z: {type: train, experiment: multi30k_de_en, pairs: [f, b], tokenizer: a, teachers: [a, "
    "a],\n"
    "      over: {trainer: {epochs: 2}}}\n";

static void mistakes_are_told_with_their_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"step: {}\n", "steps.yaml:1:7: unknown key 'step'; did you mean 'steps'?"},
        {"steps: []\n", "steps.yaml:1:8: 'steps' is a map of steps by name"},
        {"steps:\n  a b: {type: train, experiment: x}\n", "2:8: the name of a step, 'a b'"},
        {"steps:\n  ../a: {type: train, experiment: x}\n", "the name of a step, '../a'"},
        {"steps:\n  a: 3\n", "steps.a is a map with a 'type'"},
        {"steps:\n  a: {experiment: x}\n", "steps.a"},
        {"steps:\n  a: {type: train}\n", "steps.a.experiment: name the experiment"},
        {"steps:\n  a: {type: train, experiment: x, over: 3}\n", "steps.a.over: it is a map"},
        {"steps:\n  a: {type: train, experiment: x, original: true}\n", "all is original"},
        {"steps:\n" TEACHER "  b: {type: train, experiment: x, pairs: a}\n",
         "steps.b.pairs: step 'a' makes a model, not pairs"},
        {"steps:\n" TEACHER TAUGHT "  b: {type: train, experiment: x, tokenizer: t}\n",
         "steps.b.tokenizer: step 't' makes pairs, not a model"},
        {"steps:\n" TEACHER "  t: {type: translate, source: x}\n", "name 1 to 8 models"},
        {"steps:\n" TEACHER "  t: {type: translate, models: a}\n", "name the lines to translate"},
        {"steps:\n" TEACHER "  t: {type: translate, models: a, source: x, reference: y}\n",
         "'nearest' and 'reference' go together"},
        {"steps:\n" TEACHER
         "  t: {type: translate, models: a, source: x, reference: y, nearest: chrf}\n",
         "search.n_best translations, which must be 2"},
        {"steps:\n" TEACHER "  t: {type: translate, models: a, source: x, tag: y}\n",
         "unknown key 'steps.t.tag'"},
        {"steps:\n" TEACHER "  t: {type: translate, models: a, source: x, search: {n_best: 0}}\n",
         "3:"},
        {"steps:\n" TEACHER "  s: {type: score, pairs: x}\n", "steps.s.model: name the model"},
        {"steps:\n" TEACHER "  s: {type: score, model: a, source: x}\n",
         "name an earlier step, or the files 'source' and 'target'"},
        {"steps:\n" TEACHER TAUGHT "  f: {type: filter, pairs: t, source: x, target: y}\n",
         "name an earlier step, or the files"},
        {"steps:\n" TEACHER TAUGHT "  f: {type: filter, pairs: t, min_log_probability: -1}\n",
         "it needs 'scores'"},
        {"steps:\n" TEACHER TAUGHT "  f: {type: filter, pairs: t, max_ratio: 0.5}\n",
         "it is 0.5, but a longer side has 1 at least"},
        {"steps:\n" TEACHER TAUGHT "  f: {type: filter, pairs: t, min_words: 3, max_words: 2}\n",
         "it is 2, below min_words (3)"},
        {"steps:\n" TEACHER TAUGHT "  s: {type: score, model: a, source: x, target: y}\n"
         "  f: {type: filter, pairs: t, scores: s}\n",
         "step 's' scores other pairs than these"},
        {"steps:\n  f: {type: filter, pairs: later}\n" TEACHER, "no step above this one is called"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_distil *distil;

        CHECK_STATUS(RGM_ERR_CONFIG, rgm_distil_load(&distil, write_file(cases[i].text), NULL, 0));
        CHECK(distil == NULL);
        CHECK_MESSAGE(cases[i].message);
    }
}

typedef struct seen {
    int count;
    rgm_distil_state states[8];
} seen;

static void on_step(const rgm_distil_step *step, void *payload)
{
    seen *s = payload;

    s->states[s->count++] = step->state;
}

static void a_plan_writes_nothing(void **state)
{
    const char *sets[] = {"steps.z.over.trainer.epochs=3"}, *bad[] = {"steps.z.over.trainer=3"},
               *none[] = {"steps"};
    seen s = {0};
    const rgm_distil_hooks hooks = {.step = on_step, .payload = &s};
    rgm_distil *distil;
    char work[160];

    (void)state;
    snprintf(work, sizeof work, "%s/work", folder);
    CHECK_OK(rgm_distil_load(&distil, write_file(whole), sets, 1));
    CHECK_OK(rgm_distil_plan(distil, work, &hooks));
    CHECK_INT(6, s.count);
    CHECK_INT(RGM_STEP_NEW, s.states[0]);
    for (int i = 1; i < 6; i++)
        CHECK_INT(RGM_STEP_WAITS, s.states[i]);
    CHECK(!rgm_path_exists(work));
    rgm_distil_release(distil);
    CHECK_OK(rgm_distil_load(&distil, write_file(whole), bad, 1));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_distil_plan(distil, work, &hooks));
    CHECK_MESSAGE("step z: ");
    rgm_distil_release(distil);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_distil_load(&distil, write_file(whole), none, 1));
    CHECK_MESSAGE("--set steps: it is KEY=VALUE");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_distil_load(&distil, "nowhere.yaml", NULL, 0));
}

static void loading_survives_every_failing_allocation(void **state)
{
    rgm_distil *distil;
    const char *path = write_file(whole);

    (void)state;
    CHECK_EVERY_OOM(rgm_distil_load(&distil, path, NULL, 0), rgm_distil_release(distil));
}

TESTS(cmocka_unit_test_setup_teardown(mistakes_are_told_with_their_place, setup, teardown),
      cmocka_unit_test_setup_teardown(a_plan_writes_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(loading_survives_every_failing_allocation, setup, teardown))

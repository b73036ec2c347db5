/*
 * Weights from elsewhere: from a run folder, a checkpoint folder or a file; all or some of them;
 * refusals; and a run with its own checkpoint takes nothing from outside.
 */
#include "controller_check.h"
#include "npz_check.h"
#include "trainer_internal.h"

#define FILLED 7.0f /* the source's weights */

/* A trainer of the plane task whose trained weights are all `value`. */
static void open_filled(rgm_trainer **out, plane_setup *s, float value)
{
    rgm_parameters *p;

    CHECK_OK(open_plane(out, s));
    p = rgm_trainer_parameters(*out);
    for (int64_t i = 0; i < rgm_parameters_count(p); i++)
        for (int64_t k = 0; k < rgm_tensor_count(rgm_parameters_tensor(p, i)); k++)
            rgm_tensor_f32(rgm_parameters_tensor(p, i))[k] = value;
    rgm_parameters_touch(p);
}

static bool is_filled(const rgm_trainer *trainer, const char *name, float value)
{
    const rgm_tensor *w = rgm_parameters_find(rgm_trainer_parameters(trainer), name);

    for (int64_t k = 0; k < rgm_tensor_count(w); k++)
        if (rgm_tensor_at(w, k) != value)
            return false;
    return true;
}

/* root/run/ckpt/step-00000001 with weights of FILLED and best weights of FILLED + 1; root/file with
 * FILLED. */
static void make_sources(const char *root, plane_setup *s)
{
    char path[200];
    rgm_trainer *trainer, *best;
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;
    rgm_named_tensor tensors[8];
    rgm_parameters *p, *q;

    open_filled(&trainer, s, FILLED);
    open_filled(&best, s, FILLED + 1);
    p = rgm_trainer_parameters(trainer);
    q = rgm_trainer_parameters(best);
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 1));
    CHECK_OK(rgm_trainer_save_state(checkpoint, trainer));
    for (int64_t i = 0; i < rgm_parameters_count(p); i++) {
        tensors[i] = (rgm_named_tensor){rgm_parameters_name(p, i), rgm_parameters_tensor(p, i)};
        CHECK_OK(rgm_checkpoint_add_best(checkpoint, rgm_parameters_name(q, i),
                                         rgm_parameters_tensor(q, i)));
    }
    snprintf(path, sizeof path, "%s/run/ckpt", root);
    CHECK_OK(rgm_checkpoint_store_open(&store, path, NULL));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_store_close(store);
    rgm_checkpoint_release(checkpoint);
    snprintf(path, sizeof path, "%s/file.safetensors", root);
    CHECK_OK(rgm_safetensors_save(path, tensors, rgm_parameters_count(p), NULL, 0));
    rgm_trainer_release(trainer);
    rgm_trainer_release(best);
}

static rgm_texts texts(const char *const *items, int64_t count)
{
    return (rgm_texts){items, count};
}

/* Initialize a fresh trainer; the caller releases it. */
static rgm_status initialize(rgm_trainer **trainer, rgm_initialize_report *report, plane_setup *s,
                             const rgm_trainer_initialize *options)
{
    CHECK_OK(open_plane(trainer, s));
    return rgm_parameters_initialize(report, rgm_trainer_parameters(*trainer), options);
}

/* ---- where from ---------------------------------------------------------------------------- */

static void weights_come_from_run_checkpoint_or_file(void **state)
{
    static const char *const places[] = {"run", "run/ckpt", "run/ckpt/step-00000001",
                                         "file.safetensors"};
    char root[128], path[200];
    plane_setup s = make_plane_setup();

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    make_sources(root, &s);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int k = RGM_RESTORE_AUTO; k <= RGM_RESTORE_FALSE; k++) {
            rgm_trainer_initialize options = {.checkpoint = path, .best = (rgm_restore_best)k};
            rgm_initialize_report report;
            rgm_trainer *trainer;
            /* auto: the best of a run, the weights of a checkpoint */
            bool best = k == RGM_RESTORE_TRUE || (k == RGM_RESTORE_AUTO && i < 2);

            snprintf(path, sizeof path, "%s/%s", root, places[i]);
            if (best && i == 3) {
                CHECK_STATUS(RGM_ERR_CONFIG, initialize(&trainer, &report, &s, &options));
                CHECK_MESSAGE("trainer.initialize.best");
                rgm_trainer_release(trainer);
                continue;
            }
            CHECK_OK(initialize(&trainer, &report, &s, &options));
            CHECK_INT(3, report.matched); /* kernel, bias, state */
            CHECK_INT(0, report.left);
            CHECK_INT(0, report.unused);
            CHECK_TEXT(i == 3 ? "" : best ? "best " : "newest ", report.which);
            CHECK(is_filled(trainer, "logits/kernel", best ? FILLED + 1 : FILLED));
            CHECK(is_filled(trainer, "logits/bias", best ? FILLED + 1 : FILLED));
            rgm_text_clear(&report.text);
            rgm_trainer_release(trainer);
        }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* A run that keeps averages means them wherever it is asked: its own weights are FILLED, its
 * averages FILLED + 2. */
static void averages_are_the_weights_of_a_run_that_keeps_them(void **state)
{
    static const char *const places[] = {"run", "run/ckpt/step-00000001"};
    char root[128], path[200];
    plane_setup s = make_plane_setup(), plain = s;
    rgm_trainer *trainer;
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    s.optimizer.average.decay = 0.9;
    open_filled(&trainer, &s, FILLED);
    for (int64_t i = 0; i < rgm_optimizer_slot_count(rgm_trainer_optimizer(trainer)); i++) {
        rgm_tensor *slot = rgm_optimizer_slot(rgm_trainer_optimizer(trainer), i).tensor;

        for (int64_t k = 0; k < rgm_tensor_count(slot); k++)
            rgm_tensor_f32(slot)[k] = FILLED + 2;
    }
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 1));
    CHECK_OK(rgm_trainer_save_state(checkpoint, trainer));
    rgm_trainer_release(trainer);
    snprintf(path, sizeof path, "%s/run/ckpt", root);
    CHECK_OK(rgm_checkpoint_store_open(&store, path, NULL));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_store_close(store);
    rgm_checkpoint_release(checkpoint);
    for (int i = 0; i < 2; i++) {
        rgm_trainer_initialize options = {.checkpoint = path};
        rgm_initialize_report report;

        snprintf(path, sizeof path, "%s/%s", root, places[i]);
        CHECK_OK(initialize(&trainer, &report, &plain, &options));
        CHECK_TEXT("newest averaged ", report.which);
        CHECK(is_filled(trainer, "logits/kernel", FILLED + 2));
        CHECK(is_filled(trainer, "logits/bias", FILLED + 2));
        CHECK(is_filled(trainer, "steps", FILLED)); /* a state has none */
        rgm_text_clear(&report.text);
        rgm_trainer_release(trainer);
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

static void what_was_not_taken_is_a_line_each_in_the_log(void **state)
{
    static const char *const bias[] = {"*bias", "steps"};
    char root[128], path[200], run[200];
    plane_setup s = make_plane_setup();
    rgm_controller *controller;
    rgm_trainer *trainer;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    make_sources(root, &s);
    snprintf(path, sizeof path, "%s/file.safetensors", root);
    snprintf(run, sizeof run, "%s/new", root);
    s.options.initialize = (rgm_trainer_initialize){.checkpoint = path, .except = texts(bias, 2)};
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    CHECK(file_says(run, "log.txt", " logits/bias: not asked for\n"));
    CHECK(file_says(run, "log.txt", " steps: not asked for\n"));
    CHECK(!file_says(run, "log.txt", "\\x0a"));
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- which --------------------------------------------------------------------------------- */

static void patterns_choose_parameters(void **state)
{
    static const char *const kernels[] = {"*kernel"}, *const logits[] = {"logits/*"},
                             *const biases[] = {"*bias", "steps"};
    const struct {
        rgm_texts only, except;
        int64_t matched;
        bool kernel, bias;
    } cases[] = {
        {texts(kernels, 1), texts(NULL, 0), 1, true, false},
        {texts(NULL, 0), texts(biases, 2), 1, true, false},
        {texts(logits, 1), texts(kernels, 1), 1, false, true},
        {texts(logits, 1), texts(NULL, 0), 2, true, true},
    };
    char root[128], path[200];
    plane_setup s = make_plane_setup();

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(path, sizeof path, "%s/run", root);
    make_sources(root, &s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_trainer_initialize options = {
            .checkpoint = path, .only = cases[i].only, .except = cases[i].except};
        rgm_initialize_report report;
        rgm_trainer *trainer;

        CHECK_OK(initialize(&trainer, &report, &s, &options));
        CHECK_INT(cases[i].matched, report.matched);
        CHECK_INT(3 - cases[i].matched, report.left);
        CHECK(strstr(report.text.data, "not asked for") != NULL);
        CHECK(is_filled(trainer, "logits/kernel", FILLED + 1) == cases[i].kernel);
        CHECK(is_filled(trainer, "logits/bias", FILLED + 1) == cases[i].bias);
        rgm_text_clear(&report.text);
        rgm_trainer_release(trainer);
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* A file with a kernel of another shape, one more tensor and no bias. */
static void what_does_not_fit_is_told_and_changes_nothing(void **state)
{
    static const char *const kernels[] = {"*kernel"}, *const none[] = {"no such*"},
                             *const beside[] = {"steps", "logit/*"}, *const bias[] = {"*bias"};
    char root[128], path[200];
    plane_setup s = make_plane_setup();
    rgm_named_tensor tensors[3] = {{.name = "logits/kernel"}, {.name = "steps"}, {.name = "other"}};
    rgm_trainer_initialize options = {.checkpoint = path};
    rgm_initialize_report report;
    rgm_trainer *trainer, *fresh;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(path, sizeof path, "%s/file.safetensors", root);
    CHECK_OK(rgm_tensor_create(&tensors[0].tensor, RGM_F32, 2, (int64_t[]){WIDTH, 9}));
    CHECK_OK(rgm_tensor_create(&tensors[1].tensor, RGM_F32, 0, NULL));
    CHECK_OK(rgm_tensor_create(&tensors[2].tensor, RGM_F32, 1, (int64_t[]){4}));
    rgm_tensor_f32(tensors[1].tensor)[0] = FILLED;
    CHECK_OK(rgm_safetensors_save(path, tensors, 3, NULL, 0));
    CHECK_OK(open_plane(&fresh, &s));

    CHECK_STATUS(RGM_ERR_SHAPE, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("f32[3,9]");
    CHECK_MESSAGE("f32[3,2]");
    CHECK_MESSAGE("trainer.initialize.except");
    check_same_weights("after a wrong shape", fresh, trainer);
    rgm_trainer_release(trainer);

    options.except = texts(kernels, 1);
    CHECK_OK(initialize(&trainer, &report, &s, &options));
    CHECK_INT(1, report.matched);
    CHECK_INT(2, report.left);
    CHECK_INT(1, report.unused);
    CHECK(strstr(report.text.data, "other: in the file, not in the model") != NULL);
    CHECK(strstr(report.text.data, "logits/bias: not in the file") != NULL);
    CHECK(is_filled(trainer, "steps", FILLED));
    rgm_text_clear(&report.text);
    rgm_trainer_release(trainer);

    options.only = texts(beside, 2); /* one that fits does not hide the other */
    CHECK_STATUS(RGM_ERR_CONFIG, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("trainer.initialize.only: 'logit/*' matches none of 3 parameters; one is named");
    rgm_trainer_release(trainer);
    options.only = texts(bias, 1);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("nothing of");
    rgm_trainer_release(trainer);
    options.only = texts(none, 1);
    CHECK_STATUS(RGM_ERR_CONFIG, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("trainer.initialize.only: 'no such*' matches none of 3 parameters");
    check_same_weights("after no match", fresh, trainer);
    rgm_trainer_release(trainer);

    options.checkpoint = "/no/such/run";
    CHECK_STATUS(RGM_ERR_NOT_FOUND, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("/no/such/run");
    rgm_trainer_release(trainer);
    rgm_trainer_release(fresh);
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(tensors[i].tensor);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- by other names and of other shapes ----------------------------------------------------- */

/* Another program's file of the model's two weights, as one of numpy's or of safetensors. */
static void save_theirs(const char *path, bool numpy)
{
    rgm_named_tensor tensors[3] = {
        {.name = "net.logits.weight"}, {.name = "net.logits.bias"}, {.name = "net.more"}};
    float kernel[2 * WIDTH], bias[2] = {-1, -2}, more = 5;
    archive a = {.count = 0};
    char line[96];

    for (int i = 0; i < 2 * WIDTH; i++)
        kernel[i] = (float)i;
    if (numpy) {
        snprintf(line, sizeof line, NPY_LINE("<f4", "False", "(2, %d)"), WIDTH);
        archive_add_array(&a, "net.logits.weight.npy", line, kernel, sizeof kernel);
        archive_add_array(&a, "net.logits.bias.npy", NPY_LINE("<f4", "False", "(1, 2)"), bias,
                          sizeof bias);
        archive_add_array(&a, "net.more.npy", NPY_LINE("<f4", "False", "()"), &more, sizeof more);
        archive_finish(&a);
        CHECK_OK(rgm_file_save(path, a.bytes.data, a.bytes.size));
        archive_clear(&a);
        return;
    }
    CHECK_OK(rgm_tensor_create_from(&tensors[0].tensor, RGM_F32, 2, (int64_t[]){2, WIDTH}, kernel));
    CHECK_OK(rgm_tensor_create_from(&tensors[1].tensor, RGM_F32, 2, (int64_t[]){1, 2}, bias));
    CHECK_OK(rgm_tensor_create_from(&tensors[2].tensor, RGM_F32, 0, NULL, &more));
    CHECK_OK(rgm_safetensors_save(path, tensors, 3, NULL, 0));
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(tensors[i].tensor);
}

static void a_map_of_names_finds_what_others_call_otherwise(void **state)
{
    static const char *const ours[] = {"*/kernel", "logits/*"}, *const weight[] = {"net.*.weight"},
                             *const rest[] = {"other.*", "net.logits.*"},
                             *const kernels[] = {"*kernel"}, *const biases[] = {"*bias"};
    const rgm_texts theirs[] = {{weight, 1}, {rest, 2}};
    char root[128], path[200];
    plane_setup s = make_plane_setup();

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    for (int numpy = 0; numpy < 2; numpy++) {
        rgm_trainer_initialize options = {.checkpoint = path,
                                          .names = {ours, theirs, 2},
                                          .turn = texts(kernels, 1),
                                          .adapt = texts(biases, 1)};
        rgm_initialize_report report;
        const rgm_tensor *w;
        rgm_trainer *trainer;
        snprintf(path, sizeof path, "%s/%s", root, numpy ? "x.npz" : "x.safetensors");
        save_theirs(path, numpy);
        CHECK_OK(initialize(&trainer, &report, &s, &options));
        CHECK_INT(2, report.matched);
        CHECK_INT(1, report.left);
        CHECK_INT(1, report.unused);
        CHECK(strstr(report.text.data, "logits/kernel: from net.logits.weight, turned\n") != NULL);
        CHECK(strstr(report.text.data, "logits/bias: from net.logits.bias, what both have\n") !=
              NULL);
        CHECK(strstr(report.text.data, "net.more: in the file, not in the model\n") != NULL);
        w = rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/kernel");
        for (int64_t i = 0; i < WIDTH; i++)
            for (int64_t j = 0; j < 2; j++)
                CHECK(rgm_tensor_at(w, i * 2 + j) == (double)(j * WIDTH + i));
        w = rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/bias");
        CHECK(rgm_tensor_at(w, 0) == -1 && rgm_tensor_at(w, 1) == -2);
        rgm_text_clear(&report.text);
        rgm_trainer_release(trainer);
        options.turn.count = 0;
        CHECK_STATUS(RGM_ERR_SHAPE, initialize(&trainer, &report, &s, &options));
        CHECK_MESSAGE("'logits/kernel' is f32[3,2] in the model and 'net.logits.weight' f32[2,3]");
        rgm_trainer_release(trainer);
        options.adapt = texts(ours, 2);
        CHECK_OK(initialize(&trainer, &report, &s, &options)); /* two rows of two are in both */
        w = rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/kernel");
        CHECK(rgm_tensor_at(w, 0) == 0 && rgm_tensor_at(w, 1) == 1 && rgm_tensor_at(w, 2) == 3 &&
              rgm_tensor_at(w, 3) == 4 && rgm_tensor_at(w, 4) != 5);
        rgm_text_clear(&report.text);
        rgm_trainer_release(trainer);
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

static void rows_can_come_from_other_places(void **state)
{
    static const float theirs[6] = {1, 2, 3, 4, 5, 6}, ours[8] = {-1, -2, -3, -4, -5, -6, -7, -8};
    static const float wanted[8] = {5, 6, -3, -4, 1, 2, -7, -8};
    rgm_tensor *found, *own;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&found, RGM_F32, 2, (int64_t[]){3, 2}, theirs));
    CHECK_OK(rgm_tensor_create_from(&own, RGM_F32, 2, (int64_t[]){4, 2}, ours));
    CHECK_OK(rgmi_initialize_adapt(&found, own, (const int64_t[]){2, -1, 0, 3}));
    CHECK(memcmp(rgm_tensor_data(found), wanted, sizeof wanted) == 0);
    rgm_tensor_release(found);
    rgm_tensor_release(own);
}

static void maps_of_names_that_cannot_be_are_refused(void **state)
{
    static const char *const ours[] = {"logits/*"}, *const more[] = {"a.*.*"},
                             *const none[] = {"gone.*"}, *const all[] = {"*"};
    rgm_texts theirs = {more, 1};
    char root[128], path[200];
    plane_setup s = make_plane_setup();
    rgm_trainer_initialize options = {.checkpoint = path, .names = {ours, &theirs, 1}};
    rgm_initialize_report report;
    rgm_trainer *trainer;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(path, sizeof path, "%s/x.safetensors", root);
    save_theirs(path, false);
    CHECK_STATUS(RGM_ERR_CONFIG, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("'a.*.*' has more * than 'logits/*'");
    rgm_trainer_release(trainer);
    theirs.items = none;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("is to come from 'gone.kernel', which is not in ");
    rgm_trainer_release(trainer);
    theirs = (rgm_texts){(const char *const[]){"net.more"}, 1};
    options.turn = texts(all, 1);
    CHECK_STATUS(RGM_ERR_SHAPE, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("'net.more': trainer.initialize.turn: it has 0 axes");
    rgm_trainer_release(trainer);
    options.turn.count = 0;
    options.adapt = texts(all, 1);
    CHECK_STATUS(RGM_ERR_SHAPE, initialize(&trainer, &report, &s, &options));
    CHECK_MESSAGE("a part of as many axes");
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- when ---------------------------------------------------------------------------------- */

/* Averages too: an evaluation before the first update uses the initialized weights. */
static void a_run_without_a_checkpoint_starts_from_them_and_one_with_goes_on(void **state)
{
    char root[128], source[200], run[200];
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer, *filled;
    rgm_controller *controller;
    const rgm_logs *logs;
    double expected;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(source, sizeof source, "%s/run", root);
    snprintf(run, sizeof run, "%s/new", root);
    make_sources(root, &s);
    open_filled(&filled, &s, FILLED + 1);
    CHECK_OK(rgm_trainer_evaluate(filled, RGM_VALID, RGM_TO_END, &logs));
    expected = rgm_logs_get(logs, "loss");
    rgm_trainer_release(filled);

    s.options.initialize.checkpoint = source;
    s.optimizer.average = (rgm_average){0.9, 0, false};
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK(is_filled(trainer, "logits/kernel", FILLED + 1));
    CHECK_OK(rgm_controller_evaluate(controller, RGM_VALID, RGM_TO_END, &logs));
    CHECK(rgm_logs_get(logs, "loss") == expected);
    CHECK_OK(rgm_controller_train(controller, 3)); /* saves at its end */
    rgm_controller_release(controller);

    CHECK_OK(rgm_folder_remove(source)); /* it is no longer used */
    filled = trainer;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK_INT(3, rgm_trainer_global_step(trainer));
    check_same_trainer("continued", filled, trainer);
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    rgm_trainer_release(filled);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

static void initializing_survives_every_failing_allocation(void **state)
{
    char root[128], path[200];
    plane_setup s = make_plane_setup();
    rgm_trainer_initialize options = {.checkpoint = path};
    rgm_initialize_report report;
    rgm_trainer *trainer, *fresh;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(path, sizeof path, "%s/run", root);
    make_sources(root, &s);
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane(&fresh, &s));
    rgm_memory_fail_at(20, false); /* somewhere inside: nothing changes */
    CHECK_STATUS(RGM_ERR_NOMEM,
                 rgm_parameters_initialize(&report, rgm_trainer_parameters(trainer), &options));
    rgm_memory_fail_at(-1, false);
    check_same_weights("after no memory", fresh, trainer);
    CHECK_EVERY_OOM(rgm_parameters_initialize(&report, rgm_trainer_parameters(trainer), &options),
                    rgm_text_clear(&report.text));
    CHECK(is_filled(trainer, "logits/kernel", FILLED + 1));
    rgm_trainer_release(trainer);
    rgm_trainer_release(fresh);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* The mean of two checkpoints' weights, of the newest and of the best; asking for more than exist
 * is an error. */
static void checkpoints_can_be_averaged(void **state)
{
    char root[128], folder[200], path[300];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_optimizer_options sgd = rgm_sgd(0.5, 0);
    rgm_trainer_options options;
    rgm_trainer_setup setup = {.task = &task, .options = &options, .optimizer = &sgd};
    rgm_controller_setup control = {.options = &options, .run_dir = folder};
    rgm_trainer *trainer;
    rgm_controller *controller;
    const rgm_logs *logs;
    double sum = 0;
    rgm_tensor *kernel;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    snprintf(folder, sizeof folder, "%s/run", root);
    rgm_trainer_defaults(&options);
    options.epochs = 4;
    options.checkpoint.every_seconds = 0;
    options.checkpoint.every_epochs = 1;
    options.checkpoint.keep = 2;
    CHECK_OK(rgm_trainer_create(&trainer, &setup));
    control.trainer = trainer;
    CHECK_OK(rgm_controller_create(&controller, &control));
    CHECK_OK(rgm_controller_run(controller, RGM_RUN_TRAIN, &logs));
    for (int step = 9; step <= 12; step += 3) {
        rgm_checkpoint *checkpoint;

        snprintf(path, sizeof path, "%s/ckpt/step-%08d", folder, step);
        CHECK_OK(rgm_checkpoint_load(&checkpoint, path));
        CHECK_OK(rgm_safetensors_get(&kernel, rgm_checkpoint_weights(checkpoint), "logits/kernel"));
        sum += rgm_tensor_at(kernel, 1);
        rgm_tensor_release(kernel);
        rgm_checkpoint_release(checkpoint);
    }
    CHECK_OK(rgm_controller_restore_mean(controller, false, 2));
    kernel = rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/kernel");
    CHECK_CLOSE(sum / 2, rgm_tensor_at(kernel, 1), 1e-6, 0);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_controller_restore_mean(controller, false, 3));
    CHECK_MESSAGE("has 2");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_controller_restore_mean(controller, true, 1));
    CHECK_MESSAGE("best.keep");
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

TESTS(cmocka_unit_test(what_was_not_taken_is_a_line_each_in_the_log),
      cmocka_unit_test(checkpoints_can_be_averaged),
      cmocka_unit_test(weights_come_from_run_checkpoint_or_file),
      cmocka_unit_test(averages_are_the_weights_of_a_run_that_keeps_them),
      cmocka_unit_test(patterns_choose_parameters),
      cmocka_unit_test(what_does_not_fit_is_told_and_changes_nothing),
      cmocka_unit_test(a_map_of_names_finds_what_others_call_otherwise),
      cmocka_unit_test(maps_of_names_that_cannot_be_are_refused),
      cmocka_unit_test(rows_can_come_from_other_places),
      cmocka_unit_test(a_run_without_a_checkpoint_starts_from_them_and_one_with_goes_on),
      cmocka_unit_test(initializing_survives_every_failing_allocation))

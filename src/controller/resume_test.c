/*
 * The trainer's state: when training is stopped anywhere and restored into a new trainer, it
 * continues with the same bits, for every optimizer, with averages, schedules, several batches an
 * update and a dynamic loss scale.
 */
#include "controller_check.h"

static void check_same_logs(const char *what, const rgm_logs *a, const rgm_logs *b)
{
    CHECK_INT(a->count, b->count);
    for (int64_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
            memcmp(&a->items[i].value, &b->items[i].value, sizeof(double)) != 0)
            fail_msg("%s: %s is %.17g and %s is %.17g", what, a->items[i].name, a->items[i].value,
                     b->items[i].name, b->items[i].value);
}

/* Move the state through a checkpoint on disk into a new trainer. */
static void move_on(rgm_trainer **trainer, plane_setup *s, const char *folder)
{
    rgm_checkpoint_store *store;
    rgm_checkpoint *saved, *loaded;

    CHECK_OK(rgm_checkpoint_store_open(&store, folder, NULL));
    CHECK_OK(rgm_checkpoint_create(&saved, rgm_trainer_global_step(*trainer)));
    CHECK_OK(rgm_trainer_save_state(saved, *trainer));
    CHECK_OK(rgm_checkpoint_save(store, saved));
    rgm_checkpoint_release(saved);
    rgm_trainer_release(*trainer);
    CHECK_OK(open_plane(trainer, s));
    CHECK_OK(rgm_checkpoint_load_newest(&loaded, store));
    CHECK_OK(rgm_trainer_restore_state(*trainer, loaded));
    rgm_checkpoint_release(loaded);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Two loops of 7 steps; stopped after 4 steps, and inside the second loop after 9. */
static void check_resumes(plane_setup *s, const char *what, const char *folder)
{
    rgm_trainer *whole, *parts;
    const rgm_logs *a, *b;

    CHECK_OK(open_plane(&whole, s));
    train_steps(whole, 7);
    CHECK_OK(rgm_trainer_train(whole, 7, &a));

    CHECK_OK(open_plane(&parts, s));
    CHECK_OK(rgm_trainer_train_loop_begin(parts));
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgm_trainer_train_step(parts));
    move_on(&parts, s, folder);
    CHECK_INT(4, rgm_trainer_loop_step(parts));
    train_steps(parts, 3); /* the rest of the loop */
    CHECK_OK(rgm_trainer_train_loop_begin(parts));
    CHECK_OK(rgm_trainer_train_step(parts));
    CHECK_OK(rgm_trainer_train_step(parts));
    move_on(&parts, s, folder);
    CHECK_OK(rgm_trainer_train(parts, 5, &b));
    check_same_logs(what, a, b);
    check_same_trainer(what, whole, parts);
    CHECK(isfinite(rgm_logs_get(a, "loss")));
    rgm_trainer_release(whole);
    rgm_trainer_release(parts);
}

static const char *place(char path[128], const char *root)
{
    snprintf(path, 128, "%s/ckpt", root);
    return path;
}

/* Options with which a type keeps as many slots as possible. */
static rgm_optimizer_options everything(const rgm_optimizer_type *type)
{
    rgm_optimizer_options o = {.type = type, .learning_rate = rgm_schedule_constant(0.01)};

    type->defaults(&o);
    o.learning_rate = rgm_schedule_constant(0.01);
    o.momentum = 0.9;
    o.amsgrad = o.centered = o.factored = o.nesterov = true;
    o.min_dim_size_to_factor = 1;
    o.clip_global_norm = 0.5;
    o.weight_decay = 0.01;
    return o;
}

static void every_optimizer_resumes_to_the_same_bits(void **state)
{
    char what[128], path[128];
    const char *root = check_fast_folder();
    int64_t count;
    const rgm_optimizer_type *const *types = rgm_optimizer_types(&count);
    plane_setup s = make_plane_setup();

    (void)state;
    CHECK(count >= 8);
    for (int64_t t = 0; t < count; t++)
        for (int form = 0; form < 8; form++) {
            s.optimizer = everything(types[t]);
            s.optimizer.average = (rgm_average){form & 1 ? 0.9 : 0, 2, true};
            s.options.accumulation_steps = form & 2 ? 3 : 1;
            s.runtime.loss_scale = form & 4 ? "dynamic" : NULL;
            s.finite = false;
            snprintf(what, sizeof what, "%s, average %d, %d batches, loss scale %s", types[t]->name,
                     form & 1, form & 2 ? 3 : 1, form & 4 ? "dynamic" : "none");
            check_resumes(&s, what, place(path, root));
        }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* Scores that a metric keeps are of the loop that is under way: they move on with it, and those of
 * an update of several batches that is taken back are forgotten. */
static void kept_scores_resume_to_the_same_bits(void **state)
{
    char path[128];
    const char *root = check_fast_folder();
    plane_setup s = make_plane_setup();

    (void)state;
    s.data.curves = true;
    for (int form = 0; form < 4; form++) {
        s.options.accumulation_steps = form & 1 ? 3 : 1;
        s.runtime.loss_scale = form & 2 ? "dynamic" : NULL;
        s.finite = false;
        check_resumes(&s, "kept scores", place(path, root));
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

static void every_schedule_resumes_to_the_same_bits(void **state)
{
    char path[128];
    const char *root = check_fast_folder();
    int64_t count;
    const rgm_schedule_type *const *types = rgm_schedule_types(&count);
    int64_t boundaries[] = {3, 8};
    double values[] = {0.1, 0.05, 0.01};
    plane_setup s = make_plane_setup();

    (void)state;
    for (int64_t t = 0; t < count; t++) {
        rgm_schedule schedule = rgm_schedule_default(types[t], 0.1);
        bool both_ends =
            strcmp(types[t]->name, "stepwise") != 0; /* values at boundaries, not between */

        schedule.boundaries = (rgm_ints){boundaries, 2};
        schedule.values = (rgm_floats){values, both_ends ? 2 : 3};
        schedule.warmup = (rgm_warmup){RGM_WARMUP_LINEAR, 6, 0, 1};
        s.optimizer = rgm_adam(0.1);
        s.optimizer.learning_rate = schedule;
        check_resumes(&s, types[t]->name, place(path, root));
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* Overflows also come after the first stop: the scale continues where it was. */
static void a_scale_on_its_way_down_resumes_to_the_same_bits(void **state)
{
    char path[128];
    const char *root = check_fast_folder();
    plane_setup s = make_plane_setup();

    (void)state;
    s.data.loss_weight = 1e36;
    s.optimizer = rgm_sgd(1e-37, 0.9);
    s.runtime.loss_scale = "dynamic";
    check_resumes(&s, "scale on its way down", place(path, root));
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* 3 batches in the validation data and 2 a validation: 1 2, 3 1, 2 3, ... whole or stopped. */
static void a_validation_that_continues_resumes_where_it_stood(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *whole, *parts;
    rgm_controller *a, *b;
    double losses[6];
    char run[128];

    (void)state;
    snprintf(run, sizeof run, "%s", check_fast_folder());
    s.optimizer = rgm_sgd(1e-30, 0); /* the same weights throughout */
    s.options.validation_continues = true;
    s.options.validation_steps = 2;
    CHECK_OK(open_plane(&whole, &s));
    CHECK_OK(open_plane_controller(&a, &s, whole, NULL));
    for (int i = 0; i < 6; i++) {
        const rgm_logs *logs;

        CHECK_OK(rgm_controller_train_and_evaluate(a, i + 1, 2, 1, &logs));
        losses[i] = rgm_logs_get(logs, "loss");
    }
    rgm_controller_release(a);
    rgm_trainer_release(whole);
    for (int i = 0; i < 6; i++) {
        const rgm_logs *logs;

        CHECK_OK(open_plane(&parts, &s));
        CHECK_OK(open_plane_controller(&b, &s, parts, run));
        CHECK_OK(rgm_controller_train_and_evaluate(b, i + 1, 2, 1, &logs));
        CHECK(rgm_logs_get(logs, "loss") == losses[i]);
        rgm_controller_release(b);
        rgm_trainer_release(parts);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(losses[i] == losses[i + 3]); /* round after three */
        CHECK(losses[i] != losses[(i + 1) % 3]);
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(run));
}

/* The newest checkpoint of a run, *old, and a copy without its best weights, to be changed and
 * saved over it. */
static void forge(rgm_checkpoint_store **store, rgm_checkpoint **old, rgm_checkpoint **forged,
                  const rgm_trainer *trainer, const char *run)
{
    char folder[256];

    snprintf(folder, sizeof folder, "%s/ckpt", run);
    CHECK_OK(rgm_checkpoint_store_open(store, folder, NULL));
    CHECK_OK(rgm_checkpoint_load_newest(old, *store));
    CHECK_OK(rgm_checkpoint_create(forged, rgm_checkpoint_step(*old)));
    CHECK_OK(rgm_trainer_save_state(*forged, trainer));
    for (int key = RGM_KEY_EPOCH; key <= RGM_KEY_BEST_LIST; key++) {
        union {
            int64_t whole;
            bool truth;
            double number;
            const char *text;
            rgm_str blob;
        } value;
        rgm_key_place place = {(rgm_run_key)key, &value};

        if (key >= RGM_KEY_SECONDS && key <= RGM_KEY_RATE_FACTOR)
            continue; /* this run has none */
        CHECK_OK(rgm_checkpoint_get_keys(*old, &place, 1));
        CHECK_OK(rgm_checkpoint_set_keys(*forged, &place, 1));
    }
}

static void save_forged(rgm_checkpoint_store *store, rgm_checkpoint *old, rgm_checkpoint *forged)
{
    CHECK_OK(rgm_checkpoint_save(store, forged));
    rgm_checkpoint_release(old);
    rgm_checkpoint_release(forged);
    rgm_checkpoint_store_close(store);
}

/* Transpose every best weight with two axes. */
static void turn_best_weights(const rgm_trainer *trainer, const char *run)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(trainer);
    rgm_checkpoint_store *store;
    rgm_checkpoint *old, *forged;

    forge(&store, &old, &forged, trainer, run);
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        rgm_tensor *best, *turned;
        int64_t shape[2];

        CHECK_OK(rgm_safetensors_get(&best, rgm_checkpoint_best_weights(old),
                                     rgm_parameters_name(parameters, i)));
        if (rgm_tensor_rank(best) == 2) {
            shape[0] = rgm_tensor_dim(best, 1);
            shape[1] = rgm_tensor_dim(best, 0);
            CHECK_OK(rgm_tensor_reshape(&turned, best, 2, shape));
            rgm_tensor_release(best);
            best = turned;
        }
        CHECK_OK(rgm_checkpoint_add_best(forged, rgm_parameters_name(parameters, i), best));
        rgm_tensor_release(best);
    }
    save_forged(store, old, forged);
}

/* After one more step such a counter would overflow. */
static void counters_beyond_all_bounds_are_refused(void **state)
{
    char run[128];
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer, *sound;
    rgm_controller *controller = NULL;
    int refused = 0;

    (void)state;
    snprintf(run, sizeof run, "%s", check_fast_folder());
    s.data.blind = true; /* no best weights */
    CHECK_OK(open_plane(&sound, &s));
    CHECK_OK(open_plane_controller(&controller, &s, sound, run));
    CHECK_OK(rgm_controller_train(controller, 2));
    rgm_controller_release(controller);
    for (int key = 0; key < RGM_KEY_COUNT; key++)
        for (int64_t value = INT64_MAX; value != 0; value = value > 0 ? INT64_MIN : 0) {
            rgm_checkpoint_store *store;
            rgm_checkpoint *old, *forged;

            if (rgm_run_keys[key].kind != RGM_KEEPS_INT || key == RGM_KEY_SEED ||
                key == RGM_KEY_LOSS_SCALE_GOOD_STEPS || key == RGM_KEY_PRIVACY_STEPS ||
                key == RGM_KEY_PRIVACY_SEED || key == RGM_KEY_PLATEAU_WAIT ||
                key == RGM_KEY_PLATEAU_COOLDOWN || key == RGM_KEY_METRICS_OFFSET)
                continue; /* not one, or not in this run, or compared with a file */
            forge(&store, &old, &forged, sound, run);
            CHECK_OK(rgm_checkpoint_set_int(forged, rgm_run_keys[key].name, value));
            save_forged(store, old, forged);
            CHECK_OK(open_plane(&trainer, &s));
            CHECK_STATUS(RGM_ERR_FORMAT, open_plane_controller(&controller, &s, trainer, run));
            CHECK_MESSAGE(rgm_run_keys[key].name);
            rgm_trainer_release(trainer);
            refused++;
            forge(&store, &old, &forged, sound, run);
            CHECK_OK(rgm_checkpoint_set_int(forged, rgm_run_keys[key].name, 0));
            save_forged(store, old, forged);
        }
    CHECK_INT(2 * 9, refused);
    rgm_trainer_release(sound);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(run));
}

static void best_weights_of_another_shape_are_refused(void **state)
{
    char run[128];
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer;
    rgm_controller *controller = NULL;
    const rgm_logs *logs;

    (void)state;
    snprintf(run, sizeof run, "%s", check_fast_folder());
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK_OK(rgm_controller_train_and_evaluate(controller, 2, RGM_TO_END, 0, &logs));
    rgm_controller_release(controller);
    turn_best_weights(trainer, run);
    rgm_trainer_release(trainer);
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_STATUS(RGM_ERR_SHAPE, open_plane_controller(&controller, &s, trainer, run));
    CHECK_MESSAGE("best weight 'logits/kernel' is f32[2,3] in the checkpoint, f32[3,2] in the "
                  "model");
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(run));
}

/* ---- validated at the end -------------------------------------------------------------------- */

/* Train to so many steps in a mode; the loss of its last validation. */
static double train_to(plane_setup *s, const char *run, int64_t steps, rgm_run_mode mode,
                       int64_t *best_step)
{
    rgm_trainer *trainer;
    rgm_controller *controller;
    const rgm_logs *logs;
    double loss;

    s->options.train_steps = steps;
    CHECK_OK(open_plane(&trainer, s));
    CHECK_OK(open_plane_controller(&controller, s, trainer, run));
    CHECK_OK(rgm_controller_run(controller, mode, &logs));
    loss = logs != NULL ? rgm_logs_get(logs, "loss") : NAN;
    *best_step = rgm_controller_best_step(controller);
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    return loss;
}

static int64_t file_size(const char *run, const char *name)
{
    char path[256], *data;
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", run, name);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    rgm_free(data);
    return size;
}

/* Goes on behind a best of step 3: it is the weights of step 12 that are validated and saved. */
static void train_and_post_eval_validates_and_saves_what_it_trained(void **state)
{
    char root[128], run[160], other[160], trained[160];

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(run, sizeof run, "%s/run", root);
    snprintf(other, sizeof other, "%s/other", root);
    snprintf(trained, sizeof trained, "%s/trained", root);
    for (int averages = 0; averages < 2; averages++) {
        plane_setup s = make_plane_setup();
        double loss;
        int64_t best, size;

        s.options.steps_per_loop = s.options.validation_interval = 3;
        s.options.checkpoint.best =
            (rgm_trainer_best){.metric = "valid.loss", .mode = RGM_BEST_MAX, .keep = 2};
        if (averages)
            s.optimizer.average = (rgm_average){.decay = 0.9};
        train_to(&s, run, 6, RGM_RUN_TRAIN_AND_EVAL, &best);
        CHECK_INT(3, best); /* the loss falls */
        loss = train_to(&s, run, 12, RGM_RUN_TRAIN_AND_POST_EVAL, &best);
        CHECK_INT(3, best);
        CHECK(train_to(&s, other, 12, RGM_RUN_TRAIN_AND_POST_EVAL, &best) == loss);
        CHECK_INT(12, best);
        train_to(&s, trained, 12, RGM_RUN_TRAIN, &best);
        check_same_file(trained, run, "ckpt/step-00000012/weights.safetensors");
        check_same_file(trained, other, "ckpt/step-00000012/weights.safetensors");

        size = file_size(other, "metrics.jsonl"); /* again: it is done, and known to be */
        CHECK(isnan(train_to(&s, other, 12, RGM_RUN_TRAIN_AND_POST_EVAL, &best)));
        CHECK_INT(12, best);
        CHECK_INT(size, file_size(other, "metrics.jsonl"));
        clear_plane(&s.data);
        CHECK_OK(rgm_folder_remove(run));
        CHECK_OK(rgm_folder_remove(other));
        CHECK_OK(rgm_folder_remove(trained));
    }
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- taken back ------------------------------------------------------------------------------ */

/* A run of 12 steps is taken back to its step 4 and trained to 8. Started again it is at step 8,
 * with the bytes of a run that was never longer. */
static void a_run_that_is_taken_back_stays_back(void **state)
{
    char root[128], run[160], other[160], path[256];
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer;
    rgm_controller *controller;
    const rgm_logs *logs;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(run, sizeof run, "%s/run", root);
    snprintf(other, sizeof other, "%s/other", root);
    s.options.steps_per_loop = 2;
    s.options.checkpoint.every_steps = 4;
    s.options.checkpoint.keep = 5;
    s.options.checkpoint.best.save = true;
    for (int shorter = 0; shorter < 2; shorter++) {
        CHECK_OK(open_plane(&trainer, &s));
        CHECK_OK(open_plane_controller(&controller, &s, trainer, shorter ? other : run));
        CHECK_OK(rgm_controller_train_and_evaluate(controller, shorter ? 8 : 12, -1, 4, &logs));
        if (!shorter) {
            snprintf(path, sizeof path, "%s/ckpt/step-00000004", run);
            CHECK_OK(rgm_controller_restore(controller, path));
            CHECK_INT(4, rgm_trainer_global_step(trainer));
            CHECK_INT(-1, rgm_controller_best_step(controller)); /* saved before the validation */
            snprintf(path, sizeof path, "%s/best/info.json", run);
            CHECK(!rgm_path_exists(path));
            CHECK_OK(rgm_controller_train_and_evaluate(controller, 8, -1, 4, &logs));
        }
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
    }
    snprintf(path, sizeof path, "%s/ckpt/step-00000012.rolled-back", run);
    CHECK(rgm_path_is_folder(path));
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK_INT(8, rgm_controller_best_step(controller));
    CHECK_INT(8, rgm_trainer_global_step(trainer));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    check_same_file(run, other, "metrics.jsonl");
    check_same_file(run, other, "ckpt/step-00000008/manifest.json");
    check_same_file(run, other, "ckpt/step-00000008/weights.safetensors");
    check_same_file(run, other, "best/info.json");
    CHECK(
        rgm_path_is_folder(path)); /* what was set aside: that run has come to 8 again, not to 12 */
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK_OK(rgm_controller_train_and_evaluate(controller, 12, -1, 4, &logs));
    CHECK(!rgm_path_exists(path));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    CHECK(file_says(run, "log.txt", "step-00000012.rolled-back: the run has gone on without it"));
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* The restored state of another run of the same seed becomes a checkpoint of this run at once. */
static void the_state_of_another_run_is_taken_up_for_good(void **state)
{
    char root[128], run[160], other[160], path[256];
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer;
    rgm_controller *controller;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(run, sizeof run, "%s/run", root);
    snprintf(other, sizeof other, "%s/other", root);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(open_plane(&trainer, &s));
        CHECK_OK(open_plane_controller(&controller, &s, trainer, k == 0 ? other : run));
        CHECK_OK(rgm_controller_train(controller, k == 0 ? 3 : 9));
        snprintf(path, sizeof path, "%s/ckpt/step-00000003", other);
        if (k == 1)
            CHECK_OK(rgm_controller_restore(controller, path));
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
    }
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK_INT(3, rgm_trainer_global_step(trainer));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* Whether the table has a value, or a blob's file, of that name and kind. */
static bool is_in_table(const char *name, size_t size, bool number, bool text, bool blob)
{
    for (int i = 0; i < RGM_KEY_COUNT; i++) {
        const rgm_run_key_row *row = &rgm_run_keys[i];

        if (strncmp(row->name, name, size) == 0 && row->name[size] == '\0')
            return number == (row->kind == RGM_KEEPS_NUMBER) &&
                   text == (row->kind == RGM_KEEPS_TEXT) && blob == (row->kind == RGM_KEEPS_BLOB);
    }
    return false;
}

static void every_value_of_a_checkpoint_is_in_the_table(void **state)
{
    static const char *const groups[] = {"ints", "numbers", "texts"};
    char run[128], path[256], *data;
    plane_setup s = make_plane_setup();
    rgm_json_entry entry = {0};
    rgm_trainer *trainer;
    rgm_controller *controller;
    rgm_json *manifest;
    int64_t size, count = 0;

    (void)state;
    s.runtime.loss_scale = "dynamic";
    s.options.max_seconds = 1000;
    s.options.validation_continues = true;
    s.options.validation_steps = 1;
    s.options.reduce_on_plateau.patience = 3;
    snprintf(run, sizeof run, "%s", check_fast_folder());
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK_OK(rgm_controller_train(controller, 2));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    snprintf(path, sizeof path, "%s/ckpt/step-00000002/manifest.json", run);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK_OK(rgm_json_parse(&manifest, data, size, path));
    for (int group = 0; group < 3; group++) {
        rgm_json_entry value = {0};

        for (; rgm_json_next(&value, rgm_json_find(manifest, groups[group])); count++)
            if (!is_in_table(value.key, strlen(value.key), group == 1, group == 2, false))
                fail_msg("'%s' of \"%s\" is not in RGM_RUN_KEYS", value.key, groups[group]);
    }
    while (rgm_json_next(&entry, rgm_json_find(manifest, "files"))) {
        const char *end = strstr(entry.key, ".bin");

        count += end != NULL;
        if (end != NULL && !is_in_table(entry.key, (size_t)(end - entry.key), false, false, true))
            fail_msg("%s is not in RGM_RUN_KEYS", entry.key);
    }
    CHECK_INT(RGM_KEY_COUNT - 3, count); /* all but those of private training */
    rgm_json_release(manifest);
    rgm_free(data);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(run));
}

TESTS(cmocka_unit_test(every_optimizer_resumes_to_the_same_bits),
      cmocka_unit_test(kept_scores_resume_to_the_same_bits),
      cmocka_unit_test(every_schedule_resumes_to_the_same_bits),
      cmocka_unit_test(a_scale_on_its_way_down_resumes_to_the_same_bits),
      cmocka_unit_test(every_value_of_a_checkpoint_is_in_the_table),
      cmocka_unit_test(a_validation_that_continues_resumes_where_it_stood),
      cmocka_unit_test(train_and_post_eval_validates_and_saves_what_it_trained),
      cmocka_unit_test(a_run_that_is_taken_back_stays_back),
      cmocka_unit_test(the_state_of_another_run_is_taken_up_for_good),
      cmocka_unit_test(counters_beyond_all_bounds_are_refused),
      cmocka_unit_test(best_weights_of_another_shape_are_refused))

/*
 * The translation task under its trainer: sequences reversed without a mistake after some hundred
 * steps, the same bits for any number of threads, a stopped run that goes on to the same bits, and
 * a student that learns from a teacher.
 */
#include <check.h>
#include <regimen/train_driver.h>
#include <regimen/translation.h>

static rgm_translation_options reversing(void)
{
    rgm_translation_options o;

    rgm_translation_defaults(&o);
    o.reverse = (rgm_reverse_options){
        .vocabulary = 8, .min_length = 1, .max_length = 4, .train = 600, .valid = 40};
    o.batch_tokens = 320;
    o.batch_shapes = 8;
    o.max_length = 8;
    o.search.beam_size = 2;
    o.samples = 3;
    return o;
}

static rgm_seq2seq_options tiny(double dropout)
{
    rgm_seq2seq_options o;
    rgm_stack_options *stacks[] = {&o.encoder, &o.decoder};

    rgm_seq2seq_defaults(&o);
    o.embedding_width = 32;
    o.dropout_rate = dropout;
    o.max_positions = 16;
    for (int i = 0; i < 2; i++) {
        stacks[i]->num_layers = 1;
        stacks[i]->num_attention_heads = 2;
        stacks[i]->intermediate_size = 64;
        stacks[i]->dropout_rate = stacks[i]->attention_dropout_rate = dropout;
        stacks[i]->intermediate_dropout = dropout;
    }
    return o;
}

typedef struct run {
    rgm_translation_options data;
    rgm_seq2seq_options model;
    rgm_task task;
    rgm_trainer *trainer;
} run;

static void start_taught(run *r, double dropout, int64_t accumulation,
                         const rgm_trainer_hooks *hooks, const rgm_trained_model *teacher,
                         double weight)
{
    rgm_trainer_options options;
    rgm_optimizer_options adam = rgm_adam(3e-3);
    rgm_runtime_options runtime = {.seed = 5, .threads = 2};

    r->data = reversing();
    r->model = tiny(dropout);
    if (teacher != NULL)
        r->data.teachers = (rgm_teachers){.models = {*teacher}, .count = 1};
    r->data.distillation.weight = weight;
    CHECK_OK(rgm_translation_create(&r->task, &r->data, &r->model, 3, 2));
    rgm_trainer_defaults(&options);
    options.accumulation_steps = accumulation;
    rgm_trainer_setup setup = {.task = &r->task,
                               .options = &options,
                               .runtime = &runtime,
                               .optimizer = &adam,
                               .endless = true,
                               .hooks = hooks};
    CHECK_OK(rgm_trainer_create(&r->trainer, &setup));
}

static void start_with(run *r, double dropout, int64_t accumulation, const rgm_trainer_hooks *hooks)
{
    start_taught(r, dropout, accumulation, hooks, NULL, 0);
}

static void start(run *r, double dropout, int64_t accumulation)
{
    start_with(r, dropout, accumulation, NULL);
}

static void end(run *r)
{
    rgm_trainer_release(r->trainer);
    rgm_task_release(&r->task);
}

static void check_same_weights(const run *a, const run *b)
{
    rgm_parameters *x = rgm_trainer_parameters(a->trainer), *y = rgm_trainer_parameters(b->trainer);

    for (int64_t i = 0; i < rgm_parameters_count(x); i++) {
        const rgm_tensor *v = rgm_parameters_tensor(x, i), *w = rgm_parameters_tensor(y, i);
        CHECK(memcmp(rgm_tensor_data(v), rgm_tensor_data(w),
                     (size_t)rgm_tensor_count(v) * sizeof(float)) == 0);
    }
}

static void sequences_are_reversed_without_a_mistake(void **state)
{
    const rgm_logs *logs;
    run r;

    (void)state;
    start(&r, 0, 1);
    CHECK_OK(rgm_trainer_evaluate(r.trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK(rgm_logs_get(logs, "exact_match") < 0.2);
    for (int i = 0; i < 8; i++) {
        CHECK_OK(rgm_trainer_train(r.trainer, 100, &logs));
        CHECK_OK(rgm_trainer_evaluate(r.trainer, RGM_VALID, RGM_TO_END, &logs));
        if (rgm_logs_get(logs, "exact_match") == 1)
            break;
    }
    CHECK_CLOSE(rgm_logs_get(logs, "exact_match"), 1, 0, 0);
    CHECK_CLOSE(rgm_logs_get(logs, "chrf"), 100, 1e-12, 0);
    CHECK(rgm_logs_get(logs, "loss") < 0.3);
    end(&r);
}

static void threads_change_no_bit(void **state)
{
    const rgm_logs *logs;
    run one, two;
    double score;

    (void)state;
    rgm_threads_set(1);
    start(&one, 0.1, 1);
    rgm_threads_set(1);
    CHECK_OK(rgm_trainer_train(one.trainer, 12, &logs));
    CHECK_OK(rgm_trainer_evaluate(one.trainer, RGM_VALID, RGM_TO_END, &logs));
    score = rgm_logs_get(logs, "chrf");
    start(&two, 0.1, 1);
    rgm_threads_set(2);
    CHECK_OK(rgm_trainer_train(two.trainer, 12, &logs));
    CHECK_OK(rgm_trainer_evaluate(two.trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK(rgm_logs_get(logs, "chrf") == score);
    check_same_weights(&one, &two);
    end(&one);
    end(&two);
}

static void check_restored(const rgm_trained_model *teacher)
{
    const rgm_logs *logs;
    rgm_checkpoint *checkpoint;
    rgm_checkpoint_store *store;
    char folder[] = "/tmp/regimen-translation-XXXXXX";
    run whole, half;

    CHECK(mkdtemp(folder) != NULL);
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, NULL));
    start_taught(&whole, 0.1, 2, NULL, teacher, 0.4);
    CHECK_OK(rgm_trainer_train(whole.trainer, 5, &logs));
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 5));
    CHECK_OK(rgm_trainer_save_state(checkpoint, whole.trainer));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_release(checkpoint);
    CHECK_OK(rgm_trainer_train(whole.trainer, 5, &logs));

    start_taught(&half, 0.1, 2, NULL, teacher, 0.4);
    CHECK_OK(rgm_checkpoint_load_newest(&checkpoint, store));
    CHECK_OK(rgm_trainer_restore_state(half.trainer, checkpoint));
    CHECK_OK(rgm_trainer_train(half.trainer, 5, &logs));
    check_same_weights(&whole, &half);
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
    end(&whole);
    end(&half);
}

static void a_restored_run_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    check_restored(NULL);
}

/* ---- students -------------------------------------------------------------------------------- */

static rgm_trained_model model_of(const run *r)
{
    return (rgm_trained_model){.task = &r->task, .parameters = rgm_trainer_parameters(r->trainer)};
}

static double first_loss(const rgm_trained_model *teacher, double weight)
{
    const rgm_logs *logs;
    double loss;
    run r;

    start_taught(&r, 0, 1, NULL, teacher, weight);
    CHECK_OK(rgm_trainer_train(r.trainer, 1, &logs));
    loss = rgm_logs_get(logs, "loss");
    end(&r);
    return loss;
}

/* A student with its teacher's weights has no distance from it: the labels' part is left. From
 * other weights the parts add up. Dropout is the student's alone. */
static void the_loss_is_the_labels_and_the_teachers(void **state)
{
    double plain = first_loss(NULL, 0), taught;
    rgm_trained_model teacher;
    const rgm_logs *logs;
    run same;

    (void)state;
    start(&same, 0.3, 1);
    teacher = model_of(&same);
    CHECK_CLOSE(first_loss(&teacher, 0.75), 0.25 * plain, 1e-5, 0);
    CHECK_OK(rgm_trainer_train(same.trainer, 3, &logs));
    teacher = model_of(&same);
    taught = first_loss(&teacher, 1);
    CHECK(taught > 0.01);
    CHECK_CLOSE(first_loss(&teacher, 0), plain, 1e-6, 0);
    CHECK_CLOSE(first_loss(&teacher, 0.4), 0.6 * plain + 0.4 * taught, 1e-5, 0);
    end(&same);
}

/* What a student learns from its teacher alone, without labels, and that validation's loss is the
 * labels'. */
static void a_student_follows_its_teacher(void **state)
{
    const rgm_logs *logs;
    double before, plain;
    rgm_trained_model teacher;
    run master, student, other;

    (void)state;
    start(&master, 0, 1);
    CHECK_OK(rgm_trainer_train(master.trainer, 150, &logs));
    teacher = model_of(&master);
    start(&other, 0, 1);
    CHECK_OK(rgm_trainer_evaluate(other.trainer, RGM_VALID, RGM_TO_END, &logs));
    plain = rgm_logs_get(logs, "loss");
    end(&other);
    start_taught(&student, 0, 1, NULL, &teacher, 1);
    CHECK_OK(rgm_trainer_evaluate(student.trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK_CLOSE(rgm_logs_get(logs, "loss"), plain, 0, 0);
    CHECK_OK(rgm_trainer_train(student.trainer, 1, &logs));
    before = rgm_logs_get(logs, "loss");
    CHECK_OK(rgm_trainer_train(student.trainer, 149, &logs));
    CHECK_OK(rgm_trainer_train(student.trainer, 1, &logs));
    CHECK(rgm_logs_get(logs, "loss") < 0.2 * before);
    end(&student);
    check_restored(&teacher);
    end(&master);
}

static void teachers_that_do_not_fit_are_told(void **state)
{
    rgm_translation_options data = reversing();
    rgm_seq2seq_options model = tiny(0);
    rgm_task task;
    run r;

    (void)state;
    start(&r, 0, 1);
    data.teachers = (rgm_teachers){.models = {model_of(&r)}, .count = 1};
    data.reverse.vocabulary = 9;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_translation_create(&task, &data, &model, 3, 1));
    CHECK_MESSAGE("task.distillation.teacher: a teacher has other tokenizers");
    data.reverse.vocabulary = 8;
    model.max_positions = data.max_length = 17;
    data.teachers.models[0].name = "runs/old";
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_translation_create(&task, &data, &model, 3, 1));
    CHECK_MESSAGE("runs/old reads at most 16 tokens, but data.max_length is 17");
    data.distillation.temperature = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_translation_create(&task, &data, &model, 3, 1));
    CHECK_MESSAGE("task.distillation.temperature is 0");
    end(&r);
}

/* Every second batch, from *payload on. */
static rgm_status every_second(rgm_element **out, rgm_element **extra, rgm_iterator *iterator,
                               void *payload)
{
    int64_t *skip = payload;

    *extra = NULL;
    for (; *skip > 0; (*skip)--) {
        RGM_TRY(rgm_iterator_next(out, iterator));
        rgm_element_release(*out);
    }
    *skip = 1;
    return rgm_iterator_next(out, iterator);
}

static void halves_of_a_validation_merge_into_the_whole(void **state)
{
    run whole, half[2];
    int64_t skip[2] = {0, 1};
    const rgm_logs *all, *merged;

    (void)state;
    start(&whole, 0, 1);
    CHECK_OK(rgm_trainer_evaluate(whole.trainer, RGM_VALID, RGM_TO_END, &all));
    for (int k = 0; k < 2; k++) {
        const rgm_trainer_hooks hooks = {.next_eval_inputs = every_second, .payload = &skip[k]};

        start_with(&half[k], 0, 1, &hooks);
        CHECK_OK(rgm_trainer_eval_begin(half[k].trainer, RGM_VALID));
        while (rgm_trainer_eval_step(half[k].trainer) == RGM_OK)
            ;
        CHECK(rgm_trainer_eval_steps(half[k].trainer) > 0);
    }
    CHECK_OK(rgm_trainer_merge_pass(half[0].trainer, half[1].trainer));
    CHECK_OK(rgm_trainer_eval_end(half[0].trainer, &merged));
    CHECK_INT(all->count, merged->count);
    CHECK(rgm_logs_get(all, "bleu") > 0);
    for (int64_t i = 0; i < all->count; i++)
        CHECK_CLOSE(all->items[i].value, rgm_logs_get(merged, all->items[i].name), 1e-12, 0);
    CHECK_INT(all->sample_count, merged->sample_count);
    for (int64_t i = 0; i < all->sample_count; i++)
        CHECK_TEXT(all->samples[i].translation, merged->samples[i].translation);
    for (int k = 0; k < 2; k++)
        end(&half[k]);
    end(&whole);
}

TESTS(cmocka_unit_test(sequences_are_reversed_without_a_mistake),
      cmocka_unit_test(threads_change_no_bit),
      cmocka_unit_test(a_restored_run_goes_on_to_the_same_bits),
      cmocka_unit_test(the_loss_is_the_labels_and_the_teachers),
      cmocka_unit_test(a_student_follows_its_teacher),
      cmocka_unit_test(teachers_that_do_not_fit_are_told),
      cmocka_unit_test(halves_of_a_validation_merge_into_the_whole))

/*
 * A hundred training steps of a small Transformer, as a run takes them (task, trainer, Adam with
 * its schedule, in f32), against the losses of the same steps in PyTorch:
 * tests/oracle/seq2seq_training.txt.
 */
#include "seq2seq_check.h"

#include <regimen/translation.h>

#define FIXTURE "tests/oracle/seq2seq_training.txt"
enum { STEPS = 100, VOCABULARY = 13, MOST_ROWS = 5, LONGEST = 9 };

/* ---- batches by the formulas of seq2seq_training.py ------------------------------------------ */

static int64_t rows_of(int64_t step)
{
    return 2 + step % 4;
}

static int64_t length_of(int64_t step, int64_t side, int64_t row)
{
    return 1 + (step * (5 + side) + 4 * row + 3 * side) % LONGEST;
}

/* Tokens of a side; shifted: behind a 0, without the last. */
static rgm_tensor *make_ids(int64_t step, int64_t side, bool shifted)
{
    int64_t rows = rows_of(step), longest = 0, seed = side == 0 ? step : 5 + 2 * step;
    rgm_tensor *t;

    for (int64_t b = 0; b < rows; b++)
        if (length_of(step, side, b) > longest)
            longest = length_of(step, side, b);
    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 2, (int64_t[]){rows, longest}));
    for (int64_t b = 0; b < rows; b++)
        for (int64_t i = 0; i < longest; i++) {
            int64_t from = i - shifted;
            rgm_tensor_i64(t)[b * longest + i] =
                from < 0 ? 0 : token_of(b, from, length_of(step, side, b), VOCABULARY, seed);
        }
    return t;
}

static rgm_dataset *make_batches(void)
{
    rgm_element *elements[STEPS];
    rgm_dataset *data;

    for (int64_t step = 0; step < STEPS; step++) {
        rgm_tensor *t[6] = {make_ids(step, 0, false), make_ids(step, 1, true),
                            make_ids(step, 1, false)};
        int64_t rows = rows_of(step);

        t[3] = make_positions(rgm_tensor_dim(t[0], 1));
        t[4] = make_positions(rgm_tensor_dim(t[1], 1));
        t[5] = make_positions(rows); /* numbers of the pairs */
        CHECK_OK(rgm_element_create_tensors(&elements[step], t, 6));
        for (int i = 0; i < 6; i++)
            rgm_tensor_release(t[i]);
    }
    CHECK_OK(rgm_dataset_from_elements(&data, elements, STEPS));
    for (int64_t step = 0; step < STEPS; step++)
        rgm_element_release(elements[step]);
    return data;
}

/* ---- the run --------------------------------------------------------------------------------- */

static rgm_optimizer_options transformers_adam(void)
{
    rgm_optimizer_options adam = rgm_adam(0);

    adam.beta_2 = 0.98;
    adam.epsilon = 1e-9;
    adam.learning_rate = rgm_schedule_power(0.004 * sqrt(20), -0.5);
    adam.learning_rate.warmup.steps = 20;
    return adam;
}

static void read_losses(double *losses)
{
    FILE *file = fopen(FIXTURE, "r");
    char line[128];
    int count = 0;

    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "loss ", 5) == 0 && count < STEPS)
            losses[count++] = strtod(line + 5, NULL);
    CHECK_INT(STEPS, count);
    fclose(file);
}

static void losses_of_a_hundred_steps_are_pytorchs(void **state)
{
    rgm_translation_options options;
    rgm_seq2seq model = small_model(2, 1, VOCABULARY, VOCABULARY);
    rgm_optimizer_options adam = transformers_adam();
    rgm_runtime_options runtime = {.seed = 1, .threads = 2};
    double losses[STEPS], worst = 0;
    rgm_dataset *batches = make_batches();
    rgm_trainer *trainer;
    rgm_task task;

    (void)state;
    read_losses(losses);
    rgm_translation_defaults(&options);
    options.max_length = LONGEST;
    options.reverse = (rgm_reverse_options){
        .vocabulary = VOCABULARY, .min_length = 1, .max_length = LONGEST - 1, .train = 1};
    CHECK_CLOSE(options.label_smoothing, 0.1, 0, 0);
    CHECK_OK(rgm_translation_create(&task, &options, &model.options, 1, 2));
    rgm_trainer_setup setup = {
        .task = &task, .runtime = &runtime, .optimizer = &adam, .train_dataset = batches};
    CHECK_OK(rgm_trainer_create(&trainer, &setup));
    set_weights(rgm_trainer_parameters(trainer));
    for (int step = 0; step < STEPS; step++) {
        const rgm_logs *logs;
        double loss;

        CHECK_OK(rgm_trainer_train(trainer, 1, &logs));
        loss = rgm_logs_get(logs, "loss");
        worst = fmax(worst, fabs(loss - losses[step]));
        if (!(fabs(loss - losses[step]) <= 1e-4))
            fail_msg("step %d: loss %.7g, PyTorch has %.7g", step + 1, loss, losses[step]);
    }
    CHECK_INT(STEPS, rgm_trainer_updates(trainer));
    CHECK(losses[0] - losses[STEPS - 1] > 2); /* it has learnt something to be compared */
    print_message("largest difference of a loss: %.1e\n", worst);
    rgm_trainer_release(trainer);
    rgm_task_release(&task);
    rgm_dataset_release(batches);
}

TESTS(cmocka_unit_test(losses_of_a_hundred_steps_are_pytorchs))

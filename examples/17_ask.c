/* Asking trained models, whatever their task: one is given lines of text, one prompts. */
#include <stdio.h>
#include <stdlib.h>

#include <regimen/experiment.h>

#define LINES   "asked"
#define PROMPTS "asked_lm"

/* A translation: numbers are written backwards. */
static rgm_status ask_lines(void)
{
    const rgm_str lines[] = {{"3 4 5", 5}, {"17 2", 4}};
    rgm_status status = RGM_OK;
    rgm_predictor *predictor = NULL;
    rgm_answers answers = {0};

    RGM_GO(rgm_predictor_open(&predictor, LINES "/export", NULL, 0));
    RGM_GO(rgm_predictor_ask(&answers, predictor, &(rgm_questions){.count = 2, .texts = lines}));
    for (int64_t i = 0; i < answers.count; i++)
        printf("%s -> %s\n", lines[i].data, answers.texts[answers.begins[0][i]]);
done:
    rgm_answers_clear(&answers);
    rgm_predictor_release(predictor);
    return status;
}

/* A language model: the second text is wished, the first is as the model's file says. */
static rgm_status ask_prompts(void)
{
    const rgm_str prompts[] = {{"one two", 7}, {"three", 5}};
    const char *const wishes[] = {NULL, "{\"tokens\": 12, \"temperature\": 0, \"stop\": [\".\"]}"};
    rgm_status status = RGM_OK;
    rgm_predictor *predictor = NULL;
    rgm_answers answers = {0};

    RGM_GO(rgm_predictor_open(&predictor, PROMPTS "/export", NULL, 0));
    RGM_GO(rgm_predictor_ask(&answers, predictor,
                             &(rgm_questions){.count = 2, .texts = prompts, .wishes = wishes}));
    for (int64_t i = 0; i < answers.count; i++)
        printf("%s ->%s (%lld tokens)\n", prompts[i].data, answers.texts[i],
               (long long)rgm_tensor_at_int(answers.outputs[0], i));
done:
    rgm_answers_clear(&answers);
    rgm_predictor_release(predictor);
    return status;
}

/* What usually ran long before, maybe elsewhere: regimen run NAME --run-dir FOLDER */
static rgm_status train(const char *name, const char *folder, const char *const *sets,
                        int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_experiment *experiment = NULL;
    rgm_open_run *run = NULL;
    rgm_run_options options;

    RGM_GO(rgm_experiment_load(&experiment, name, sets, count));
    RGM_GO(rgm_experiment_prepare(&options, experiment, folder));
    RGM_GO(rgm_experiment_open(&run, experiment, &options));
    RGM_GO(rgm_run_complete(run));
done:
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    return status;
}

static rgm_status train_both(void)
{
    static const char text[] = "one two three one.\ntwo three.\nthree one two.\none two.\n";
    const char *const lines[] = {"trainer.train_steps=20", "trainer.epochs=~",
                                 "optimizer.learning_rate=3e-3", "export=[{type: predictor}]"};
    const char *const prompts[] = {"trainer.train_steps=20",
                                   "trainer.epochs=~",
                                   "export=[{type: predictor}]",
                                   "data.path=.",
                                   "data.train=[asked_words.txt]",
                                   "data.valid=[asked_words.txt]",
                                   "data.test=~",
                                   "optimizer.learning_rate=3e-3",
                                   "data.train_tokenizer.vocab_size=18",
                                   "model.embedding_width=48",
                                   "task.generate.max_tokens=8"};

    RGM_TRY(train("reverse", LINES, lines, 4));
    RGM_TRY(rgm_file_save("asked_words.txt", text, sizeof text - 1));
    return train("tiny_lm", PROMPTS, prompts, 11);
}

int main(void)
{
    if ((!rgm_path_exists(PROMPTS) && train_both() != RGM_OK) || ask_lines() != RGM_OK ||
        ask_prompts() != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        return EXIT_FAILURE;
    }
    remove("asked_words.txt");
    return rgm_folder_remove(LINES) == RGM_OK && rgm_folder_remove(PROMPTS) == RGM_OK
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

/* Asking a trained model, whatever its task: this one is asked for lines of text. */
#include <stdio.h>
#include <stdlib.h>

#include <regimen/experiment.h>

#define FOLDER "asked"

static rgm_status ask(void)
{
    const rgm_str lines[] = {{"3 4 5", 5}, {"17 2", 4}};
    rgm_status status = RGM_OK;
    rgm_predictor *predictor = NULL;
    rgm_answers answers = {0};

    RGM_GO(rgm_predictor_open(&predictor, FOLDER "/export", NULL, 0));
    RGM_GO(rgm_predictor_ask(&answers, predictor, &(rgm_questions){.count = 2, .texts = lines}));
    for (int64_t i = 0; i < answers.count; i++)
        printf("%s -> %s\n", lines[i].data, answers.texts[answers.begins[0][i]]);
done:
    rgm_answers_clear(&answers);
    rgm_predictor_release(predictor);
    return status;
}

/* What usually ran long before, maybe elsewhere: regimen run reverse --run-dir asked */
static rgm_status train(void)
{
    rgm_status status = RGM_OK;
    const char *const sets[] = {"trainer.train_steps=20", "trainer.epochs=~",
                                "optimizer.learning_rate=3e-3", "export=[{type: predictor}]"};
    rgm_experiment *experiment = NULL;
    rgm_open_run *run = NULL;
    rgm_run_options options;

    RGM_GO(rgm_experiment_load(&experiment, "reverse", sets, 4));
    RGM_GO(rgm_experiment_prepare(&options, experiment, FOLDER));
    RGM_GO(rgm_experiment_open(&run, experiment, &options));
    RGM_GO(rgm_run_complete(run));
done:
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    return status;
}

int main(void)
{
    if ((!rgm_path_exists(FOLDER) && train() != RGM_OK) || ask() != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        return EXIT_FAILURE;
    }
    return rgm_folder_remove(FOLDER) == RGM_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

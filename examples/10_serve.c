/* Serving: a model is trained and exported; then a program that has nothing but the export's folder
 * answers serialized tf.train.Examples, several at a time, with names of classes. */
#include <stdio.h>
#include <stdlib.h>

#include <regimen/experiment.h>
#include <regimen/graph_import.h>

#define FOLDER "served"

/* What usually ran long before, maybe elsewhere: regimen run demo --run-dir served */
static rgm_status train(void)
{
    rgm_status status = RGM_OK;
    const char *const sets[] = {"export=[{type: onnx}]",
                                "task.class_names=[art, bio, chem, geo, math, phys, soc]",
                                "task.num_classes=~"};
    rgm_experiment *experiment = NULL;
    rgm_open_run *run = NULL;
    rgm_run_options options;

    RGM_GO(rgm_experiment_load(&experiment, "demo", sets, 3));
    RGM_GO(rgm_experiment_prepare(&options, experiment, FOLDER));
    RGM_GO(rgm_experiment_open(&run, experiment, &options));
    RGM_GO(rgm_run_complete(run));
done:
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    return status;
}

/* Stands for a client: the citation graph as an Example that asks about one paper. */
static rgm_status ask_about(rgm_text *out, int64_t paper)
{
    rgm_status status = RGM_OK;
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data data = {0};
    rgm_graph *asked = NULL;
    rgm_tensor *papers = NULL;
    int64_t one = 1;

    options.node_set = "paper";
    options.edge_set = "cites";
    RGM_GO(rgm_generate_citation(&data, &options));
    RGM_GO(rgm_tensor_create_from(&papers, RGM_I64, 1, &one, &paper));
    RGM_GO(
        rgm_graph_with_readout(&asked, data.graphs[0], RGM_READOUT, "seed", "paper", papers, NULL));
    RGM_GO(rgm_graph_encode(out, asked, NULL));
done:
    rgm_graph_release(asked);
    rgm_tensor_release(papers);
    rgm_graph_data_clear(&data);
    return status;
}

/* The likeliest class of each row of probabilities [n, classes]. */
static void print_answers(const rgm_export_output *about, const rgm_tensor *probabilities)
{
    int64_t classes = rgm_tensor_dim(probabilities, 1);

    for (int64_t i = 0; i < rgm_tensor_dim(probabilities, 0); i++) {
        int64_t best = 0;

        for (int64_t c = 1; c < classes; c++)
            if (rgm_tensor_at(probabilities, i * classes + c) >
                rgm_tensor_at(probabilities, i * classes + best))
                best = c;
        printf("example %lld  %-5s %.2f\n", (long long)i, about->classes.items[best],
               rgm_tensor_at(probabilities, i * classes + best));
    }
}

static rgm_status serve(void)
{
    enum { QUESTIONS = 3 };
    rgm_status status = RGM_OK;
    rgm_predictor *predictor = NULL;
    const rgm_export_output *about;
    rgm_answers answers = {0};
    rgm_text texts[QUESTIONS] = {{0}};
    rgm_str examples[QUESTIONS];

    RGM_GO(rgm_predictor_open(&predictor, FOLDER "/export", NULL, 0));
    for (int64_t i = 0; i < rgm_predictor_outputs(&about, predictor); i++)
        printf("output %s: %s\n", about[i].name, rgm_output_kind_names[about[i].kind]);
    for (int64_t i = 0; i < QUESTIONS; i++) {
        RGM_GO(ask_about(&texts[i], 100 * i));
        examples[i] = (rgm_str){texts[i].data, texts[i].size};
    }
    RGM_GO(rgm_predictor_ask(&answers, predictor,
                             &(rgm_questions){.count = QUESTIONS, .texts = examples}));
    print_answers(&about[1], answers.outputs[1]);
done:
    rgm_answers_clear(&answers);
    for (int64_t i = 0; i < QUESTIONS; i++)
        rgm_text_clear(&texts[i]);
    rgm_predictor_release(predictor);
    return status;
}

int main(void)
{
    if ((!rgm_path_exists(FOLDER) && train() != RGM_OK) || serve() != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        return EXIT_FAILURE;
    }
    return rgm_folder_remove(FOLDER) == RGM_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

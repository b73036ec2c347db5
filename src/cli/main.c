/* regimen: git-style verbs. A verb parses, calls the library and prints; nothing else is here. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const verb verbs[] = {
    {"run", verb_run, "train, validate, test and export what an experiment says; other modes"},
    {"train", verb_train, "train what an experiment says, without validation"},
    {"eval", verb_eval, "metrics of a run folder's weights"},
    {"translate", verb_translate, "lines of stdin to lines of stdout, with a run folder's weights"},
    {"score-pairs", verb_score_pairs,
     "how probable given translations are by a run folder's weights"},
    {"distil", verb_distil, "a small fast student from one or several teachers, in steps"},
    {"generate", verb_generate, "texts behind prompts, with the weights of a language model's run"},
    {"predict", verb_predict, "predictions of a run folder's weights, as CSV"},
    {"explain", verb_explain, "which edges and features a prediction rests on, with a picture"},
    {"import", verb_import, "another program's model as a run folder: Hugging Face, Marian"},
    {"export", verb_export,
     "write a run's model for others: ONNX, TensorFlow, Hugging Face, CTranslate2"},
    {"runs", verb_runs, "the run folders there are, with where they stand"},
    {"plot", verb_plot, "learning curves of run folders, as SVG or PNG"},
    {"experiment", verb_experiment, "searches over hyperparameters: run, follow, steer"},
    {"trial", verb_trial, "one trial of a search: try, look, stop, continue"},
    {"checkpoint", verb_checkpoint, "what trials saved: list, copy, remove"},
    {"model", verb_model, "trained models under a name: register, stage, list, find"},
    {"search", verb_search, "what a search will cost, before it runs"},
    {"master", verb_master, "share this machine's slots among searches"},
    {"queue", verb_queue, "trials that wait, with the reason"},
    {"template", verb_template, "what search files begin with: store, list, show"},
    {"webhook", verb_webhook, "tell a URL of ends, failures and new bests"},
    {"serve", verb_serve, "the page: watch, compare and steer from a browser"},
    {"answer", verb_answer, "trained models behind HTTP: batches, newer versions, metrics"},
    {"score", verb_score, "BLEU, chrF and TER of translations"},
    {"config", verb_config, "named experiments; one merged and checked; the keys there are"},
    {"data", verb_data, "graph data: import, generate, sample, cut, inspect; batches for others"},
    {"text", verb_text, "tokenizers, token files; shortlists, alignments, stats of parallel text"},
    {"doctor", verb_doctor, "what this machine offers; under mpirun, whether ranks work together"},
    {"init", verb_init, "begin: an experiment about a folder's data, a model of one's own"},
    {"completion", verb_completion, "a script that completes commands in bash, zsh or fish"},
};
#define VERBS (int)(sizeof verbs / sizeof *verbs)

static int help(void)
{
    printf("regimen: train networks from data to export\n\n"
           "usage: regimen VERB [arguments] [-v | -q]\n"
           "       regimen help VERB\n\n");
    verbs_print(verbs, VERBS);
    printf("\nregimen VERB --help says more. Exit status: 0 done, 1 failed, 2 usage or experiment\n"
           "file, 75 stopped early with its state saved (the same command continues).\n");
    return EXIT_DONE;
}

static int version(void)
{
    printf("regimen %s (%s, kernels: %s)\n", RGM_VERSION,
#ifdef __clang__
           "clang " __clang_version__,
#else
           "gcc " __VERSION__,
#endif
           rgm_kernels_for(rgm_device_cpu(), RGM_F32)->isa);
    return EXIT_DONE;
}

/* regimen --complete WORD...: what the scripts of `regimen completion` ask. */
static int complete(int argc, char **argv)
{
    completing = true;
    for (int i = 0; argc <= 1 && i < VERBS; i++)
        complete_with(verbs[i].name, argc == 1 ? argv[0] : "");
    for (int i = 0; argc > 1 && i < VERBS; i++)
        if (strcmp(verbs[i].name, argv[0]) == 0)
            verbs[i].run(argc, argv);
    return EXIT_DONE;
}

/* regimen help VERB... is regimen VERB... --help. */
static int help_of(int argc, char **argv)
{
    char *words[4] = {NULL};
    int count = argc < 3 ? argc : 3;

    for (int i = 0; i < count; i++)
        words[i] = argv[i];
    words[count++] = "--help";
    return verb_dispatch("", argv[0], verbs, VERBS, count, words);
}

static int run(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "--complete") == 0)
        return complete(argc - 2, argv + 2);
    if (argc >= 3 && strcmp(argv[1], "help") == 0 && argv[2][0] != '-')
        return help_of(argc - 2, argv + 2);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return argc < 2 ? (help(), EXIT_USAGE) : help();
    if (strcmp(argv[1], "--version") == 0)
        return version();
    return verb_dispatch("", argv[1], verbs, VERBS, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    if (!console_open())
        return EXIT_FAILED; /* with no place to say why */
    return console_close(run(argc, argv));
}

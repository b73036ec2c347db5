/* regimen import: another program's model as a run folder. */
#include <stdio.h>

#include "cli.h"

#include <regimen/import.h>

static int print_report(const rgm_model_import_report *result, const char *folder, bool json,
                        bool quiet)
{
    rgm_text out = {0};
    int code = EXIT_DONE;
    rgm_status status = RGM_OK;

    if (json)
        status = rgm_model_import_report_print_json(&out, result);
    else if (!quiet)
        status = rgm_model_import_report_print(&out, result);
    if (status != RGM_OK)
        code = report(status);
    else if (out.size > 0)
        code = json ? print_exact(out.data) : print_text(out.data);
    rgm_text_clear(&out);
    if (code == EXIT_DONE && !json)
        say("import", "%s of %s: %s weights in %s", result->family, result->source,
            grouped(result->parameters), folder);
    return code;
}

int verb_import(int argc, char **argv)
{
    const char *to = NULL;
    text_list ignored = {.count = 0}, rest;
    rgm_model_import_options options = {.cut_vocabulary = false};
    rgm_model_import_report result = {0};
    bool json = false;
    rgm_texts keys;
    rgm_status status;
    int code;
    const argument arguments[] = {
        {"out", ARG_TEXT, &to, "DIR", "the run folder to make; it must not exist, or be empty"},
        {"cut-vocabulary", ARG_FLAG, &options.cut_vocabulary, NULL,
         "leave out tokens of the model that its tokenizer has no piece for"},
        {"ignore", ARG_LIST, &ignored, "KEY",
         "a key of the configuration that is not known here changes nothing; several times"},
        {"json", ARG_FLAG, &json, NULL, "what went where as one JSON object on stdout"},
        {0}};
    const usage how = {
        "import SOURCE --out DIR [--cut-vocabulary] [--ignore KEY]... [--json]",
        "Make a run folder of another program's model: a folder of Hugging Face with\n"
        "config.json, model.safetensors and its tokenizer, or Marian's .npz with its\n"
        "vocabularies beside it. Prints what went where. What would be computed\n"
        "otherwise here is refused by name.",
        arguments, 1, 1};

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (to == NULL)
        return usage_error("--out DIR says where the run folder is made");
    keys = (rgm_texts){ignored.items, ignored.count};
    options.ignored = &keys;
    status = rgm_model_import(&result, rest.items[0], to, &options);
    code = status == RGM_OK ? print_report(&result, to, json, verbosity < 0) : report(status);
    rgm_model_import_report_clear(&result);
    return code;
}

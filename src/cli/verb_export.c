/* regimen export: a run folder's model for other programs. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { ONNX, SAVED_MODEL, PREDICTOR, CTRANSLATE2, HUGGINGFACE, FORMATS };
static const char *const formats[] = {"onnx", "saved_model", "predictor", "ctranslate2",
                                      "huggingface"};

/* What is asked for beside the file. */
typedef struct wishes {
    int format;
    bool examples, verified, json;
    const char *dump; /* folder, or NULL */
    rgm_predictor_exporter_options predictor;
} wishes;

/* Open the run with the part to try the file on, the test data or what there is, and no other. */
static rgm_status open_with_part(session *s, rgm_mode *part, const char *run_dir,
                                 const text_list *sets, const weights_choice *weights)
{
    static const rgm_mode order[] = {RGM_TEST, RGM_VALID, RGM_TRAIN};

    for (int i = 0;; i++) {
        data_choice data = {.modes = {false}};

        *part = order[i];
        data.modes[*part] = true;
        RGM_TRY(session_open(s, run_dir, sets, weights, &data));
        if (*part == RGM_TRAIN || session_has(s, *part))
            return RGM_OK;
        session_close(s);
    }
}

/* quality: what 8 bits change, as JSON; NULL: nothing was measured. */
static int print_result(const char *path, const wishes *w, const rgm_export_check *check,
                        int64_t dumped, const char *quality)
{
    if (w->json) {
        json_t *out = json_pack("{s:s, s:b}", "path", path, "verified", w->verified);

        if (quality != NULL)
            json_object_set_new(out, "quality", json_loads(quality, 0, NULL));

        if (w->verified) {
            json_object_set_new(out, "items", json_integer(check->items));
            json_object_set_new(out, "largest_difference", json_number(check->largest_difference));
        }
        if (w->dump != NULL)
            json_object_set_new(out, "dumped_batches", json_integer(dumped));
        return print_json(out);
    }
    printf("%s", path);
    if (w->verified)
        printf("  verified on %s items, largest difference %.1e", grouped(check->items),
               check->largest_difference);
    if (w->dump != NULL)
        printf("  %s batches in %s", grouped(dumped), w->dump);
    printf("\n");
    return print_text(quality != NULL ? quality : "");
}

static rgm_exporter exporter_of(wishes *w)
{
    if (w->format == PREDICTOR)
        return rgm_predictor_exporter(&w->predictor);
    if (w->format == CTRANSLATE2)
        return rgm_ctranslate2_exporter();
    if (w->format == HUGGINGFACE)
        return rgm_huggingface_exporter();
    if (w->examples)
        return rgm_saved_model_examples_exporter();
    return w->format == SAVED_MODEL ? rgm_saved_model_exporter() : rgm_onnx_exporter();
}

static const char *file_of(const wishes *w, const session *s)
{
    static const char *const names[] = {NULL, RGM_SAVED_MODEL_FILE, RGM_SERVING_MODEL, "model.bin",
                                        "config.json"};

    return w->format == ONNX ? rgm_run_onnx_file(s->run) : names[w->format];
}

static rgm_status load_quality(char **quality, const char *folder, const wishes *w)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    int64_t size;

    if (w->format != PREDICTOR || w->predictor.precision != RGM_WEIGHTS_INT8)
        return RGM_OK;
    RGM_GO(rgm_path_join(&path, folder, RGM_SERVING_QUALITY));
    if (rgm_path_exists(path))
        RGM_GO(rgm_file_load(quality, &size, path, 1 << 20));
done:
    rgm_free(path);
    return status;
}

static rgm_status export_files(const session *s, const char *folder, rgm_mode part, wishes *w,
                               int *code)
{
    rgm_status status = RGM_OK;
    rgm_exporter exporter = exporter_of(w);
    rgm_export_check check = {0};
    int64_t dumped = 0;
    char *path = NULL, *quality = NULL;

    RGM_GO(rgm_path_join(&path, folder, file_of(w, s)));
    if (exporter.check != NULL) /* before there is a folder */
        RGM_GO(exporter.check(s->run, exporter.payload));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(exporter.save(s->run, folder, exporter.payload));
    if (w->verified)
        RGM_GO(rgm_run_verify_onnx(&check, s->run, folder, part, 8));
    if (w->dump != NULL)
        RGM_GO(rgm_run_dump_onnx(&dumped, s->run, w->dump, part, &exporter));
    RGM_GO(load_quality(&quality, folder, w));
    *code = print_result(path, w, &check, dumped, quality);
done:
    rgm_free(quality);
    rgm_free(path);
    return status;
}

/* EXIT_DONE, or what to end with. */
static int choose_format(wishes *w, const char *format, const char *precision)
{
    while (w->format < FORMATS && strcmp(format, formats[w->format]) != 0)
        w->format++;
    if (w->format == FORMATS)
        return usage_error("--format: there is no '%s'%s", format,
                           rgm_did_you_mean(format, formats, FORMATS, NULL, "there are ").text);
    if (w->format != ONNX && w->verified)
        return usage_error("--verify runs ONNX%s", w->format == SAVED_MODEL
                                                       ? "; a SavedModel is run by TensorFlow, on "
                                                         "what --dump DIR writes"
                                                       : "");
    if (precision != NULL && w->format != PREDICTOR)
        return usage_error("--precision is for --format predictor");
    if (precision != NULL && strcmp(precision, "int8") != 0 && strcmp(precision, "f32") != 0)
        return usage_error("--precision '%s' is none of f32, int8", precision);
    if (precision != NULL && strcmp(precision, "int8") == 0)
        w->predictor.precision = RGM_WEIGHTS_INT8;
    if (w->format > SAVED_MODEL && w->dump != NULL)
        return usage_error("--dump is for graphs: --format onnx or saved_model");
    if (w->examples && w->format != SAVED_MODEL)
        return usage_error("--examples is of --format saved_model: ONNX parses none");
    return EXIT_DONE;
}

static rgm_status export_run(int *code, const char *run_dir, const char *to, const text_list *sets,
                             const weights_choice *weights, wishes *w)
{
    const data_choice none = {.modes = {false}};
    rgm_status status = RGM_OK;
    session s = {.run = NULL};
    rgm_mode part = RGM_TEST;
    char *folder = NULL;

    RGM_GO(w->verified || w->dump != NULL ? open_with_part(&s, &part, run_dir, sets, weights)
                                          : session_open(&s, run_dir, sets, weights, &none));
    if (to == NULL)
        RGM_GO(rgm_path_join(&folder, run_dir, "export"));
    RGM_GO(export_files(&s, to != NULL ? to : folder, part, w, code));
done:
    rgm_free(folder);
    session_close(&s);
    return status;
}

/* A run folder, or a registered model. */
static int export_named(const char *name, const char *to, const text_list *sets,
                        const weights_choice *weights, wishes *w)
{
    rgm_status status = RGM_OK;
    char *run_dir = NULL;
    int code = EXIT_DONE;

    RGM_GO(model_folder(&run_dir, name));
    if (to == NULL && strcmp(run_dir, name) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "%s: a registered version never changes: --to DIR says where files go",
                        name));
    RGM_GO(export_run(&code, run_dir, to, sets, weights, w));
done:
    rgm_free(run_dir);
    return status != RGM_OK ? report(status) : code;
}

int verb_export(int argc, char **argv)
{
    const char *to = NULL, *format = "onnx", *precision = NULL;
    text_list sets = {.count = 0}, rest;
    weights_choice weights = {.last = false};
    wishes w = {.dump = NULL};
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "folder for the files; default RUN_DIR/export"},
        {"format", ARG_TEXT, &format, "NAME",
         "onnx (default): model.onnx, opset 18; saved_model: saved_model.pb for TensorFlow; "
         "predictor: for regimen predict and translate; ctranslate2: a translation model for "
         "CTranslate2; huggingface: a text model for Transformers"},
        {"precision", ARG_TEXT, &precision, "NAME",
         "of --format predictor: int8 keeps a translation's weights in 8 bits, and tells what that "
         "changes on validation data; default f32"},
        {"examples", ARG_FLAG, &w.examples, NULL,
         "of a graph network for TensorFlow: it takes serialized Examples of graphs, too"},
        {"verify", ARG_FLAG, &w.verified, NULL,
         "run the ONNX file with an interpreter of its own on up to 8 batches and compare"},
        {"dump", ARG_TEXT, &w.dump, "DIR",
         "inputs and outputs of every test batch there, to try another runtime on"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {"json", ARG_FLAG, &w.json, NULL, "as one JSON object on stdout"},
        {0}};
    const usage how = {
        "export RUN_DIR|model:NAME [--to DIR] [--format NAME] [--precision NAME] [--examples] "
        "[--verify] "
        "[--dump DIR] [--last | "
        "--average N | --step N] [--json]",
        "Write the model with its preprocessing as ONNX, for TensorFlow or for predictors.",
        arguments, 1, 1};
    int code;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = choose_format(&w, format, precision);
    if (code != EXIT_DONE)
        return code;
    return export_named(rest.items[0], to, &sets, &weights, &w);
}

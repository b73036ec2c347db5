/* regimen export: a run folder's model for other programs. */
#include <stdio.h>

#include "cli.h"

/* What is asked for beside the file. */
typedef struct wishes {
    bool verified, json;
    const char *dump; /* folder, or NULL */
} wishes;

/* The part to try the file on: the test data, or what there is. */
static rgm_mode part_of(const session *s)
{
    if (session_has(s, RGM_TEST))
        return RGM_TEST;
    return session_has(s, RGM_VALID) ? RGM_VALID : RGM_TRAIN;
}

static int print_result(const char *path, const wishes *w, const rgm_export_check *check,
                        int64_t dumped)
{
    if (w->json) {
        json_t *out = json_pack("{s:s, s:b}", "path", path, "verified", w->verified);

        if (w->verified) {
            json_object_set_new(out, "items", json_integer(check->items));
            json_object_set_new(out, "largest_difference", json_real(check->largest_difference));
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
    return print_text("\n");
}

static rgm_status export_onnx(const session *s, const char *folder, const wishes *w, int *code)
{
    rgm_status status = RGM_OK;
    rgm_exporter onnx = rgm_onnx_exporter();
    rgm_export_check check = {0};
    int64_t dumped = 0;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, rgm_run_onnx_file(s->run)));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(onnx.save(s->run, folder, onnx.payload));
    if (w->verified)
        RGM_GO(rgm_run_verify_onnx(&check, s->run, folder, part_of(s), 8));
    if (w->dump != NULL)
        RGM_GO(rgm_run_dump_onnx(&dumped, s->run, w->dump, part_of(s)));
    *code = print_result(path, w, &check, dumped);
done:
    rgm_free(path);
    return status;
}

int verb_export(int argc, char **argv)
{
    const char *to = NULL;
    text_list sets = {.count = 0}, rest;
    weights_choice weights = {.last = false};
    wishes w = {.dump = NULL};
    data_choice data = {.modes = {false}};
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "folder for the files; default RUN_DIR/export"},
        {"verify", ARG_FLAG, &w.verified, NULL,
         "run the file with an interpreter of its own on up to 8 batches and compare"},
        {"dump", ARG_TEXT, &w.dump, "DIR",
         "inputs and outputs of every test batch there, to try another runtime on"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {"json", ARG_FLAG, &w.json, NULL, "as one JSON object on stdout"},
        {0}};
    const usage how = {"export RUN_DIR [--to DIR] [--verify] [--dump DIR] [--last | --average N] [--json]",
                       "Write the model with its preprocessing as ONNX (opset 18).", arguments, 1,
                       1};
    session s;
    rgm_status status;
    char *folder = NULL;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    for (int mode = 0; mode < 3; mode++) /* part_of() chooses */
        data.modes[mode] = w.verified || w.dump != NULL;
    status = session_open(&s, rest.items[0], &sets, &weights, &data);
    if (status == RGM_OK && to == NULL)
        status = rgm_path_join(&folder, rest.items[0], "export");
    if (status == RGM_OK)
        status = export_onnx(&s, to != NULL ? to : folder, &w, &code);
    if (status != RGM_OK)
        code = report(status);
    rgm_free(folder);
    session_close(&s);
    return code;
}

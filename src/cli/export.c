/* regimen export: a run folder's model for other programs. */
#include <stdio.h>

#include "cli.h"

static rgm_status verify(const session *s, const char *path, rgm_export_check *check)
{
    rgm_mode mode = RGM_TEST;

    if (s->options.test_data == NULL)
        mode = s->options.valid_data != NULL ? RGM_VALID : RGM_TRAIN;
    return rgm_run_verify_onnx(check, s->run, path, mode, 8);
}

static rgm_status export_onnx(const session *s, const char *folder, bool verified, bool json,
                              int *code)
{
    rgm_status status = RGM_OK;
    rgm_exporter onnx = rgm_onnx_exporter();
    rgm_export_check check = {0};
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, "model.onnx"));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(onnx.save(s->run, folder, onnx.payload));
    if (verified)
        RGM_GO(verify(s, path, &check));
    if (json) {
        json_t *out = json_pack("{s:s, s:b}", "path", path, "verified", verified);

        if (verified) {
            json_object_set_new(out, "items", json_integer(check.items));
            json_object_set_new(out, "largest_difference", json_real(check.largest_difference));
        }
        *code = print_json(out);
    } else {
        printf("%s", path);
        if (verified)
            printf("  verified on %s items, largest difference %.1e", grouped(check.items),
                   check.largest_difference);
        *code = print_text("\n");
    }
done:
    rgm_free(path);
    return status;
}

int verb_export(int argc, char **argv)
{
    const char *to = NULL;
    text_list sets = {.count = 0}, rest;
    bool json = false, last = false, verified = false;
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "folder for model.onnx; default RUN_DIR/export"},
        {"verify", ARG_FLAG, &verified, NULL,
         "run the file with an interpreter of its own on up to 8 batches and compare"},
        {"last", ARG_FLAG, &last, NULL, "the newest weights, not the best"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {"json", ARG_FLAG, &json, NULL, "as one JSON object on stdout"},
        {0}};
    const usage how = {"export RUN_DIR [--to DIR] [--verify] [--last] [--json]",
                       "Write the model with its preprocessing as ONNX (opset 18).", arguments, 1, 1};
    session s;
    rgm_status status;
    char *folder = NULL;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    status = session_open(&s, rest.items[0], &sets, last);
    if (status == RGM_OK && to == NULL)
        status = rgm_path_join(&folder, rest.items[0], "export");
    if (status == RGM_OK)
        status = export_onnx(&s, to != NULL ? to : folder, verified, json, &code);
    if (status != RGM_OK)
        code = report(status);
    rgm_free(folder);
    session_close(&s);
    return code;
}

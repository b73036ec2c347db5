/* Checkpoints and exports of a run: what there is, which counts, and what is given to be saved. */
#include <fcntl.h>
#include <regimen/store.h>

#include "tab_check.h"

static rgm_json *ask(rgm_status (*told)(rgm_text *out, const char *folder), const char *folder)
{
    rgm_text out = {0};

    CHECK_OK(told(&out, folder));
    return parsed(&out);
}

static rgm_status tell_once(rgm_status (*told)(rgm_text *out, const char *folder),
                            const char *folder)
{
    rgm_text out = {0};
    rgm_status status = told(&out, folder);

    rgm_text_clear(&out);
    return status;
}

/* ---- checkpoints --------------------------------------------------------------------------- */

/* Checkpoints as a run saves them, the best validation at `best`. */
static void save_steps(const char *folder, const int64_t *steps, int count, int64_t best)
{
    const rgm_checkpoint_store_options options = {.keep = 100};
    rgm_checkpoint_store *store;
    char path[512];

    snprintf(path, sizeof path, "%s/ckpt", folder);
    CHECK_OK(rgm_checkpoint_store_open(&store, path, &options));
    for (int i = 0; i < count; i++) {
        rgm_checkpoint *c;
        int64_t at = best <= steps[i] ? best : -1;
        double value = 0.75;
        const char *metric = "valid.accuracy";
        const rgm_key_place places[] = {
            {RGM_KEY_BEST_STEP, &at}, {RGM_KEY_BEST_VALUE, &value}, {RGM_KEY_BEST_METRIC, &metric}};

        CHECK_OK(rgm_checkpoint_create(&c, steps[i]));
        CHECK_OK(rgm_checkpoint_set_keys(c, places, 3));
        CHECK_OK(rgm_checkpoint_save(store, c));
        rgm_checkpoint_release(c);
    }
    rgm_checkpoint_store_close(store);
}

static void checkpoints_are_told_by_their_manifests(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = ask(rgmi_tell_checkpoints, folder);
    const rgm_json *c;

    (void)state;
    CHECK_INT(0, count_of(answer, "checkpoints"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    save_steps(folder, (int64_t[]){100, 200, 300}, 3, 200);
    keep(folder, "ckpt/step-00000100/kept", "1\n");
    keep(folder, "ckpt/step-00000900.tmp-12/weights.safetensors", "x");
    keep(folder, "ckpt/step-00000700.rolled-back/manifest.json", "x");
    keep(folder, "ckpt/kept_since", "1\n");
    answer = ask(rgmi_tell_checkpoints, folder);
    CHECK_INT(3, int_of(answer, "total"));
    CHECK_INT(3, count_of(answer, "checkpoints"));
    for (int64_t i = 0; i < 3; i++) {
        c = item_of(answer, "checkpoints", i);
        CHECK_INT(100 * (i + 1), int_of(c, "step"));
        CHECK(bool_of(c, "newest") == (i == 2));
        CHECK(bool_of(c, "best") == (i == 1));
        CHECK(bool_of(c, "kept") == (i == 0));
        CHECK(int_of(c, "bytes") > 200);
        CHECK(fabs(number_of_key(c, "time") - rgm_wall_time()) < 60);
    }
    CHECK_INT(3, count_of(c, "files")); /* manifest, slots, weights */
    CHECK_TEXT("manifest.json", text_of(item_of(c, "files", 0), "name"));
    c = rgm_json_find(answer, "best");
    CHECK_INT(200, int_of(c, "step"));
    CHECK_TEXT("valid.accuracy", text_of(c, "metric"));
    CHECK_CLOSE(0.75, number_of_key(c, "value"), 0, 0);
    rgm_json_release(answer);
    CHECK_EVERY_OOM(tell_once(rgmi_tell_checkpoints, folder), );
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_damaged_checkpoint_is_told_and_is_not_the_newest(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    save_steps(folder, (int64_t[]){100, 200}, 2, 100);
    keep(folder, "ckpt/step-00000200/manifest.json", "{\"secret\": 1}");
    answer = ask(rgmi_tell_checkpoints, folder);
    CHECK(bool_of(item_of(answer, "checkpoints", 0), "newest"));
    CHECK(!bool_of(item_of(answer, "checkpoints", 1), "newest"));
    CHECK(strstr(text_of(answer, "damage"), "step-00000200/manifest.json") != NULL);
    rgm_json_release(answer);
    check_hostile(folder, "ckpt/step-00000200/manifest.json", rgmi_tell_checkpoints);
    answer = ask(rgmi_tell_checkpoints, folder); /* it is not there now */
    CHECK(bool_of(item_of(answer, "checkpoints", 0), "newest"));
    CHECK(strstr(text_of(answer, "damage"), "has no manifest.json") != NULL);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- exports ------------------------------------------------------------------------------- */

static int64_t number_of(const rgm_json *answer, const char *name)
{
    for (int64_t i = 0; i < count_of(answer, "exports"); i++)
        if (strcmp(text_of(item_of(answer, "exports", i), "name"), name) == 0)
            return int_of(item_of(answer, "exports", i), "number");
    return -1;
}

static void exports_are_told_and_given_by_numbers_of_their_names(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = ask(rgmi_tell_exports, folder);
    rgmi_kept_file file;
    char *name, data[8];
    int64_t size = sizeof data, number;

    (void)state;
    CHECK_INT(0, count_of(answer, "exports"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "export/model.onnx", "onnx");
    keep(folder, "export/1200/a \"b\"\n<x>;\xc3\xa4.txt", "x");
    keep(folder, "export/1200/deep/er", "x");
    keep(folder, "export/next.partial-77/model.onnx", "half");
    keep(folder, "ckpt/step-00000001/weights", "x");
    answer = ask(rgmi_tell_exports, folder);
    CHECK_INT(2, count_of(answer, "exports"));
    number = number_of(answer, "export/model.onnx");
    CHECK(number > 0 && number < INT64_C(1000000000000000));
    rgm_json_release(answer);
    keep(folder, "export/a", "x"); /* others come and go: the number stays */
    answer = ask(rgmi_tell_exports, folder);
    CHECK_INT(number, number_of(answer, "export/model.onnx"));
    CHECK_OK(rgmi_open_export(&file, &name, folder, number));
    CHECK_TEXT("model.onnx", name);
    CHECK_INT(4, file.size);
    CHECK_OK(rgmi_kept_read(data, &size, &file, 0));
    CHECK(size == 4 && memcmp(data, "onnx", 4) == 0);
    rgmi_kept_close(&file);
    rgm_free(name);
    CHECK_OK(rgmi_open_export(&file, &name, folder,
                              number_of(answer, "export/1200/a \"b\"\n<x>;\xc3\xa4.txt")));
    CHECK_TEXT("a__b___x____.txt", name);
    rgmi_kept_close(&file);
    rgm_free(name);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_open_export(&file, &name, folder, number + 1));
    CHECK(file.fd == -1 && name == NULL);
    rgm_json_release(answer);
    CHECK_EVERY_OOM(tell_once(rgmi_tell_exports, folder), );
    CHECK_EVERY_OOM(rgmi_open_export(&file, &name, folder, number),
                    (rgmi_kept_close(&file), rgm_free(name)));
    CHECK_OK(rgm_folder_remove(folder));
}

/* Folders that the configuration names, of which only those inside the run are shown. */
static void exports_outside_the_run_are_not_given(void **state)
{
    const char *folder = check_folder();
    char config[2048], outside[512], path[512];
    rgm_json *answer;

    (void)state;
    snprintf(outside, sizeof outside, "%s.outside", folder);
    keep(outside, "secret", "x");
    keep(folder, "served/1/model.onnx", "x");
    keep(folder, "export/model.onnx", "x");
    snprintf(path, sizeof path, "%s/export/link", folder);
    CHECK_INT(0, symlink(outside, path));
    snprintf(path, sizeof path, "%s/export/file_link", folder);
    snprintf(config, sizeof config, "%s/secret", outside);
    CHECK_INT(0, symlink(config, path));
    snprintf(path, sizeof path, "%s/inner", folder);
    CHECK_INT(0, symlink(outside, path));
    snprintf(config, sizeof config,
             "trainer:\n  exports:\n    dirs: [\"%s\", \"%s/served\", \"%s/served/../../\", /etc, "
             "\"%s/inner\", \"\", [1]]\n",
             outside, folder, folder, folder);
    keep(folder, "config.yaml", config);
    answer = ask(rgmi_tell_exports, folder);
    CHECK_INT(2, count_of(answer, "exports"));
    CHECK(number_of(answer, "export/model.onnx") > 0);
    CHECK(number_of(answer, "served/1/model.onnx") > 0);
    rgm_json_release(answer);
    snprintf(path, sizeof path, "%s/export", folder); /* the folder itself is a link */
    CHECK_OK(rgm_folder_remove(path));
    CHECK_INT(0, symlink(outside, path));
    answer = ask(rgmi_tell_exports, folder);
    CHECK_INT(1, count_of(answer, "exports"));
    CHECK(strstr(text_of(answer, "damage"), "'export' is a link") != NULL);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
    CHECK_OK(rgm_folder_remove(outside));
}

TESTS(cmocka_unit_test(checkpoints_are_told_by_their_manifests),
      cmocka_unit_test(a_damaged_checkpoint_is_told_and_is_not_the_newest),
      cmocka_unit_test(exports_are_told_and_given_by_numbers_of_their_names),
      cmocka_unit_test(exports_outside_the_run_are_not_given))

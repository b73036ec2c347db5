/*
 * A registry: versions and stages, references, what is damaged, kills in the middle, files that no
 * registry wrote.
 */
#include "registry_internal.h"
#include <check.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], registry[96], path[512];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    snprintf(registry, sizeof registry, "%s/registry", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static const char *in(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A version of two files: weights.bin with `weights`, and ckpt/state.bin, always the same. */
static rgm_status put_version(int64_t *number, const char *name, const char *weights)
{
    char first[128], second[128];
    const rgm_named_number metric = {"valid.loss", 0.5};
    rgm_model_source files[] = {{first, "weights.bin"}, {second, "ckpt/state.bin"}};

    snprintf(first, sizeof first, "%s/w", folder);
    snprintf(second, sizeof second, "%s/s", folder);
    RGM_TRY(rgm_file_renew(first, weights, (int64_t)strlen(weights)));
    RGM_TRY(rgm_file_renew(second, "state", 5));
    return rgm_model_register(number, registry,
                              &(rgm_model_draft){.name = name,
                                                 .source = "trial 3/5",
                                                 .note = "a note",
                                                 .metrics = &metric,
                                                 .metric_count = 1,
                                                 .files = files,
                                                 .file_count = 2});
}

static int64_t put(const char *name, const char *weights)
{
    int64_t number;

    CHECK_OK(put_version(&number, name, weights));
    return number;
}

static void check_content(const char *reference, const char *weights)
{
    char *found, *data, file[600];
    int64_t size;

    CHECK_OK(rgm_model_path(&found, registry, reference));
    snprintf(file, sizeof file, "%s/weights.bin", found);
    CHECK_OK(rgm_file_load(&data, &size, file, 100));
    CHECK_TEXT(weights, data);
    rgm_free(data);
    rgm_free(found);
}

static void versions_keep_what_they_were_given(void **state)
{
    const rgm_model_version *v;
    struct stat first, second;
    rgm_model model;

    (void)state;
    CHECK_INT(1, put("digits", "one"));
    CHECK_INT(2, put("digits", "two"));
    CHECK_INT(1, put("other.model-2", "one"));
    check_content("model:digits:1", "one");
    check_content("digits:2", "two");
    check_content("model:digits", "two");
    CHECK_OK(rgm_model_find(&model, &v, registry, "digits:1"));
    CHECK_TEXT("trial 3/5", v->source);
    CHECK_TEXT("a note", v->note);
    CHECK_INT(RGM_MODEL_NEW, v->stage);
    CHECK_INT(1, v->metric_count);
    CHECK_TEXT("valid.loss", v->metrics[0].name);
    CHECK_CLOSE(v->metrics[0].value, 0.5, 0, 0);
    CHECK_INT(2, v->file_count);
    CHECK_TEXT("ckpt/state.bin", v->files[0].name);
    CHECK_INT(5, v->files[0].size);
    rgm_model_clear(&model);
    /* What both have in common is one file. */
    CHECK_INT(0, stat(in("registry/models/digits/1/ckpt/state.bin"), &first));
    CHECK_INT(0, stat(in("registry/models/digits/2/ckpt/state.bin"), &second));
    CHECK_INT(first.st_ino, second.st_ino);
}

static void stages_choose(void **state)
{
    int64_t replaced;
    char *found;

    (void)state;
    for (int i = 0; i < 3; i++)
        put("m", i == 0 ? "one" : i == 1 ? "two" : "three");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_model_path(&found, registry, "m@production"));
    CHECK_MESSAGE("there are 1 (new), 2 (new), 3 (new)");
    CHECK_OK(rgm_model_set_stage(&replaced, registry, "m", 1, RGM_MODEL_PRODUCTION));
    CHECK_INT(0, replaced);
    check_content("m@production", "one");
    check_content("m", "three");
    CHECK_OK(rgm_model_set_stage(&replaced, registry, "m", 2, RGM_MODEL_PRODUCTION));
    CHECK_INT(1, replaced);
    check_content("m@production", "two");
    CHECK_OK(rgm_model_set_stage(&replaced, registry, "m", 2, RGM_MODEL_PRODUCTION));
    CHECK_INT(0, replaced); /* it was there */
    check_content("m@archived", "one");
    CHECK_OK(rgm_model_set_stage(&replaced, registry, "m", 3, RGM_MODEL_ARCHIVED));
    check_content("m", "two"); /* the newest that is not archived */
    CHECK_STATUS(RGM_ERR_BUSY, rgm_model_remove(registry, "m", 2));
    CHECK_MESSAGE("in production");
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_model_set_stage(&replaced, registry, "m", 9, RGM_MODEL_STAGING));
}

static void what_is_removed_is_gone(void **state)
{
    char *found;

    (void)state;
    put("m", "one");
    put("m", "two");
    CHECK_OK(rgm_model_remove(registry, "m", 2));
    CHECK(!rgm_path_exists(in("registry/models/m/2")));
    check_content("m", "one");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_model_path(&found, registry, "m:2"));
    CHECK_INT(3, put("m", "three")); /* a number is not given twice */
    CHECK_OK(rgm_model_remove(registry, "m", 1));
    CHECK_OK(rgm_model_remove(registry, "m", 3));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_model_path(&found, registry, "m"));
    CHECK_MESSAGE("all were removed");
    char **names;
    int64_t count;
    CHECK_OK(rgm_model_list_files(&names, &count, in("registry/objects")));
    CHECK_INT(0, count);
    rgm_names_release(names, count);
}

static void references_that_mean_nothing_are_refused(void **state)
{
    static const char *const wrong[] = {"",    "../x", ".hidden", "a b",   "m:0",
                                        "m:x", "m:",   "m@",      "m@old", "m:1:2"};
    char *found;

    (void)state;
    put("m", "one");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_STATUS(RGM_ERR_ARG, rgm_model_path(&found, registry, wrong[i]));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_model_path(&found, registry, "n"));
    CHECK_STATUS(RGM_ERR_ARG, rgm_model_path(&found, registry, "m@prodution"));
    CHECK_MESSAGE("did you mean 'production'?");
}

static void what_is_not_as_it_was_is_not_handed_out(void **state)
{
    const char *weights = "registry/models/m/1/weights.bin";
    char *found;

    (void)state;
    put("m", "one");
    CHECK_OK(rgm_file_create(in("registry/models/m/1/extra"), "x", 1));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_model_path(&found, registry, "m"));
    CHECK_MESSAGE("extra' was not registered");
    CHECK_INT(0, unlink(in("registry/models/m/1/extra")));
    CHECK_INT(0, unlink(in(weights)));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_model_path(&found, registry, "m"));
    CHECK_OK(rgm_file_create(in(weights), "onf", 3));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_model_path(&found, registry, "m"));
    CHECK_MESSAGE("weights.bin' is not what was registered");
    CHECK_INT(2, put("m", "one")); /* and is not passed on to another version */
    check_content("m:2", "one");
}

static rgm_status refuse_all(const char *made, void *payload)
{
    int *asked = payload;

    (*asked)++;
    return rgm_path_is_folder(made) ? RGM_FAIL(RGM_ERR_DATA, "it is not good enough") : RGM_OK;
}

static void what_is_refused_leaves_nothing(void **state)
{
    rgm_model_source files[] = {{"", "a"}};
    char weights[128], **names;
    int64_t number, count;
    int asked = 0;

    (void)state;
    CHECK_OK(rgm_file_save(in("w"), "one", 3));
    snprintf(weights, sizeof weights, "%s/w", folder);
    files[0].path = weights;
    rgm_model_draft draft = {.name = "m", .files = files, .file_count = 1};
    draft.check = refuse_all;
    draft.payload = &asked;
    CHECK_STATUS(RGM_ERR_DATA, rgm_model_register(&number, registry, &draft));
    CHECK_INT(1, asked);
    CHECK_OK(rgm_registry_names(&names, &count, registry));
    CHECK_INT(0, count);
    rgm_names_release(names, count);
    draft.check = NULL;
    files[0].name = "../outside";
    CHECK_STATUS(RGM_ERR_ARG, rgm_model_register(&number, registry, &draft));
    files[0] = (rgm_model_source){in("missing"), "a"};
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_model_register(&number, registry, &draft));
    CHECK_INT(1, put("m", "one"));
    CHECK_OK(rgm_model_list_files(&names, &count, in("registry/models/m")));
    CHECK_INT(3, count); /* and model.json */
    rgm_names_release(names, count);
}

/* Register, stage and remove until killed; what model.json says is whole at every moment. */
static void change_for_ever(int ready)
{
    int64_t number, replaced;
    char weights[32];

    for (int i = 0;; i++) {
        snprintf(weights, sizeof weights, "weights %d", i);
        if (put_version(&number, "m", weights) != RGM_OK ||
            rgm_model_set_stage(&replaced, registry, "m", number, RGM_MODEL_PRODUCTION) != RGM_OK ||
            (replaced > 1 && rgm_model_remove(registry, "m", replaced - 1) != RGM_OK &&
             rgm_model_remove(registry, "m", replaced) != RGM_OK))
            _exit(1);
        if (i == 0 && write(ready, "x", 1) != 1)
            _exit(1);
    }
}

static void check_whole(void)
{
    int64_t in_production = 0;
    char reference[64], *found;
    rgm_model model;

    CHECK_OK(rgm_model_load(&model, registry, "m"));
    CHECK(model.count > 0);
    for (int64_t i = 0; i < model.count; i++) {
        snprintf(reference, sizeof reference, "m:%lld", (long long)model.versions[i].number);
        CHECK_OK(rgm_model_path(&found, registry, reference));
        rgm_free(found);
        in_production += model.versions[i].stage == RGM_MODEL_PRODUCTION;
    }
    CHECK(in_production == 1);
    rgm_model_clear(&model);
}

static void a_kill_leaves_whole_versions(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        int ready[2], status;
        char byte;

        CHECK_INT(0, pipe(ready));
        pid_t child = fork();
        if (child == 0)
            change_for_ever(ready[1]);
        CHECK_INT(1, read(ready[0], &byte, 1));
        usleep((useconds_t)(round * 2300)); /* wherever it is by then */
        CHECK_INT(0, kill(child, SIGKILL));
        CHECK_INT(child, waitpid(child, &status, 0));
        CHECK(WIFSIGNALED(status));
        close(ready[0]);
        close(ready[1]);
        check_whole();
    }
    int64_t number = put("m", "last"), count, known = 1;
    rgm_model model;
    char **names;
    CHECK_OK(rgm_model_load(&model, registry, "m"));
    CHECK_INT(number, model.versions[model.count - 1].number);
    known += model.count;
    rgm_model_clear(&model);
    CHECK_OK(rgm_folder_list(&names, &count, in("registry/models/m")));
    CHECK_INT(known, count); /* nothing is left over */
    rgm_names_release(names, count);
}

#define VERSION_OF(files)                                                                          \
    "{\"format\": 1, \"name\": \"m\", \"next\": 2, \"versions\": [{\"version\": 1, \"stage\": "    \
    "\"new\", \"created\": 1, \"source\": \"\", \"note\": \"\", \"metrics\": {}, \"files\": "      \
    "{" files "}}]}"
#define A_HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void hostile_files_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"format\": 1, \"name\": \"other\", \"next\": 1, \"versions\": []}",
        "{\"format\": 1, \"name\": \"m\", \"next\": 1, \"versions\": 5}",
        "{\"format\": 1, \"name\": \"m\", \"next\": 1, \"versions\": [{\"version\": 1}]}",
        VERSION_OF("\"../../x\": {\"size\": 1, \"sha256\": \"" A_HASH "\"}"),
        VERSION_OF("\"/etc/passwd\": {\"size\": 1, \"sha256\": \"" A_HASH "\"}"),
        VERSION_OF("\"a//b\": {\"size\": 1, \"sha256\": \"" A_HASH "\"}"),
        VERSION_OF("\"a\": {\"size\": -1, \"sha256\": \"" A_HASH "\"}"),
        VERSION_OF("\"a\": {\"size\": 1, \"sha256\": \"xyz\"}"),
        VERSION_OF("\"a\": 5")};
    const char *whole = VERSION_OF("\"a\": {\"size\": 1, \"sha256\": \"" A_HASH "\"}");
    rgm_model model;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_STATUS(RGM_ERR_FORMAT,
                     rgmi_model_parse(&model, texts[i], (int64_t)strlen(texts[i]), "f", "m"));
    for (size_t cut = 0; cut < strlen(whole); cut++)
        CHECK_STATUS(RGM_ERR_FORMAT, rgmi_model_parse(&model, whole, (int64_t)cut, "f", "m"));
    CHECK_OK(rgmi_model_parse(&model, whole, (int64_t)strlen(whole), "f", "m"));
    rgm_model_clear(&model);
    CHECK_STATUS(RGM_ERR_VERSION, rgmi_model_parse(&model, "{\"format\": 2}", 13, "f", "m"));
}

static void the_place_is_said_by_whoever_says_it_first(void **state)
{
    char *place;

    (void)state;
    unsetenv("REGIMEN_REGISTRY");
    setenv("REGIMEN_MASTER", "/tmp/m", 1);
    CHECK_OK(rgm_registry_place(&place, NULL));
    CHECK_TEXT("/tmp/m/registry", place);
    rgm_free(place);
    setenv("REGIMEN_REGISTRY", "/tmp/r", 1);
    CHECK_OK(rgm_registry_place(&place, NULL));
    CHECK_TEXT("/tmp/r", place);
    rgm_free(place);
    CHECK_OK(rgm_registry_place(&place, "/tmp/given"));
    CHECK_TEXT("/tmp/given", place);
    rgm_free(place);
    unsetenv("REGIMEN_REGISTRY");
    setenv("REGIMEN_MASTER", "http://127.0.0.1:8080", 1);
    CHECK_STATUS(RGM_ERR_ARG, rgm_registry_place(&place, NULL));
    unsetenv("REGIMEN_MASTER");
}

static rgm_status all_of_it(void)
{
    int64_t number, replaced;
    char *found = NULL;

    RGM_TRY(put_version(&number, "m", "one"));
    RGM_TRY(rgm_model_set_stage(&replaced, registry, "m", number, RGM_MODEL_STAGING));
    RGM_TRY(rgm_model_path(&found, registry, "m@staging"));
    rgm_free(found);
    return rgm_model_remove(registry, "m", number);
}

static void no_memory_is_told(void **state)
{
    (void)state;
    /* What a try that failed has left would be more for the next one. */
    CHECK_EVERY_OOM((rgm_folder_remove(registry), all_of_it()), (void)0);
}

TESTS(cmocka_unit_test_setup_teardown(versions_keep_what_they_were_given, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(stages_choose, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(what_is_removed_is_gone, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(references_that_mean_nothing_are_refused, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(what_is_not_as_it_was_is_not_handed_out, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(what_is_refused_leaves_nothing, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(a_kill_leaves_whole_versions, make_folder, remove_folder),
      cmocka_unit_test(hostile_files_are_refused),
      cmocka_unit_test(the_place_is_said_by_whoever_says_it_first),
      cmocka_unit_test_setup_teardown(no_memory_is_told, make_folder, remove_folder))

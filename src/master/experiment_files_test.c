/*
 * The code of trials is that of the moment when their experiment began, in copies and continuations
 * too, and experiment.yaml stays what it was.
 */
#include "master_check.h"

#include <sys/stat.h>

static char folder[128], work[200];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    snprintf(work, sizeof work, "%s/work", folder);
    CHECK_OK(rgm_folder_make(work));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* The object in the user's folder, as built. */
static void build(const char *name, const char *bytes)
{
    char path[300];

    snprintf(path, sizeof path, "%s/%s", work, name);
    CHECK_OK(rgm_file_save(path, bytes, (int64_t)strlen(bytes)));
}

static char *loaded(const char *format, ...)
{
    char name[200], path[400], *data;
    int64_t size;
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    return data;
}

static void check_kept(int64_t id, const char *name, const char *bytes)
{
    char *data = loaded("%lld/code/%s", (long long)id, name);

    CHECK_TEXT(bytes, data);
    rgm_free(data);
}

static rgm_json *create(rgm_master *master, int status, const char *entrypoint)
{
    char *config, *body, more[300];
    rgm_json *answer;

    snprintf(more, sizeof more, ", \"working_folder\": \"%s\"", work);
    CHECK_OK(rgm_strprintf(&config,
                           "entrypoint: %s\nhyperparameters: {a: {type: double, minval: 0, maxval: "
                           "1}}\nsearcher: {name: random, metric: loss, max_trials: 2, max_length: "
                           "2}\nbatches_per_step: 5\nreproducibility: {experiment_seed: 7}\n",
                           entrypoint));
    body = create_body(config, more);
    answer = ask(master, status, "POST", "/api/v1/experiments", body);
    rgm_free(body);
    rgm_free(config);
    return answer;
}

static char *code_of(rgm_master *master, int64_t id)
{
    char path[64], *text;
    rgm_json *e;

    snprintf(path, sizeof path, "/api/v1/experiments/%lld", (long long)id);
    e = ask(master, 200, "GET", path, NULL);
    CHECK_OK(rgm_strdup(&text, text_member(e, "code")));
    rgm_json_release(e);
    return text;
}

static void code_is_that_of_the_beginning(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char *first, *again, *anew;

    (void)state;
    build("own.so", "first");
    rgm_json_release(create(master, 201, "./own.so:other"));
    build("own.so", "second");
    serve_all(master, 60);
    check_kept(1, "own.so", "first");
    tell(master, 201, "POST", "/api/v1/experiments/1/fork", "{}");
    check_kept(2, "own.so", "first");
    tell(master, 201, "POST", "/api/v1/trials/1/continue", "{\"max_length\": {\"steps\": 1}}");
    check_kept(3, "own.so", "first");
    rgm_json_release(create(master, 201, "./own.so:other"));
    check_kept(4, "own.so", "second");
    first = code_of(master, 1);
    again = code_of(master, 3);
    anew = code_of(master, 4);
    CHECK_TEXT(first, again);
    CHECK(strlen(first) == 16 && strcmp(first, anew) != 0);
    rgm_free(first);
    rgm_free(again);
    rgm_free(anew);
    rgm_master_close(master);
}

static void a_copy_with_another_entrypoint_takes_that(void **state)
{
    rgm_master *master = open_master(folder, 2);
    rgm_json *e = NULL;

    (void)state;
    build("own.so", "first");
    build("other.so", "other");
    rgm_json_release(create(master, 201, "own.so"));
    tell(master, 201, "POST", "/api/v1/experiments/1/fork",
         "{\"config\": \"entrypoint: ./other.so\\nsearcher: {name: single, metric: loss, "
         "max_length: 1}\\n\"}");
    check_kept(2, "other.so", "other");
    build("../1/code/own.so", "tampered");
    e = ask(master, 500, "POST", "/api/v1/experiments/1/fork", "{}");
    CHECK(strstr(text_member(e, "message"),
                 "is not the code that experiment 1 was made with any more") != NULL);
    rgm_json_release(e);
    rgm_master_close(master);
}

/* A program that runs trials by itself has hooks without a file; a master of regimen's has not. */
static void an_entrypoint_that_is_not_there_is_refused(void **state)
{
    rgm_master_options options = {
        .folder = folder, .slots = 1, .threads_per_slot = 1, .subject = &rgm_trial_subject};
    rgm_master *master = open_master(folder, 1);
    rgm_json *e;

    (void)state;
    rgm_json_release(create(master, 201, "its-own"));
    rgm_master_close(master);
    CHECK_OK(rgm_master_open(&master, &options));
    e = create(master, 404, "./nothere.so");
    CHECK(strstr(text_member(e, "message"), "entrypoint: there is no ") != NULL);
    CHECK(strstr(text_member(e, "message"), "nothere.so") != NULL);
    rgm_json_release(e);
    rgm_json_release(create(master, 422, "/")); /* a folder */
    rgm_master_close(master);
}

static void an_experiment_file_that_was_edited_is_written_again(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char *before, *after;

    (void)state;
    build("own.so", "first");
    rgm_json_release(create(master, 201, "own.so"));
    before = loaded("1/experiment.yaml");
    build("../1/experiment.yaml", "searcher: {}\n");
    serve_all(master, 60);
    after = loaded("1/experiment.yaml");
    CHECK_TEXT(before, after);
    rgm_free(before);
    rgm_free(after);
    rgm_master_close(master);
}

/* A program's files are kept as an object is, equal ones once on disk, and git's word with them. */
static rgm_json *create_program(rgm_master *master, const char *keys)
{
    char *config, *body, more[300];
    rgm_json *answer;

    snprintf(more, sizeof more, ", \"working_folder\": \"%s\"", work);
    CHECK_OK(rgm_strprintf(&config,
                           "%s\nhyperparameters: {a: {type: double, minval: 0, maxval: 1}}\n"
                           "searcher: {name: random, metric: loss, max_trials: 2, max_length: 2}\n",
                           keys));
    body = create_body(config, more);
    answer = ask(master, 201, "POST", "/api/v1/experiments", body);
    rgm_free(body);
    rgm_free(config);
    return answer;
}

static int64_t links_of(const char *name)
{
    struct stat info;
    char path[400];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_INT(0, stat(path, &info));
    return (int64_t)info.st_nlink;
}

static void a_program_is_kept_with_what_it_includes(void **state)
{
    rgm_master *master = open_master(folder, 2);
    const rgm_json *files;
    rgm_json *code;
    int64_t size;

    (void)state;
    build("train.sh", "first");
    build("net.sh", "second");
    rgm_json_release(create_program(master, "entrypoint: [sh, train.sh]\ninclude: [\"*.sh\"]"));
    build("train.sh", "third");
    tell(master, 201, "POST", "/api/v1/experiments/1/fork", "{}");
    check_kept(2, "train.sh", "first");
    rgm_json_release(create_program(master, "entrypoint: [sh, train.sh]\ninclude: [\"*.sh\"]"));
    check_kept(3, "train.sh", "third");
    CHECK_INT(2, links_of("2/code/train.sh"));
    code = ask(master, 200, "GET", "/api/v1/experiments/2/code", NULL);
    files = rgm_json_find(code, "files");
    CHECK_INT(2, rgm_json_count(files));
    CHECK_TEXT("train.sh", rgm_json_text(rgm_json_find(rgm_json_at(files, 1), "path")));
    CHECK(rgm_json_int(&size, rgm_json_find(rgm_json_at(files, 1), "size")) && size == 5);
    CHECK(rgm_json_text(rgm_json_find(rgm_json_find(code, "origin"), "origin")) != NULL);
    rgm_json_release(code);
    rgm_json_release(ask(master, 404, "GET", "/api/v1/experiments/9/code", NULL));
    rgm_master_close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_program_is_kept_with_what_it_includes, setup, teardown),
        cmocka_unit_test_setup_teardown(code_is_that_of_the_beginning, setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_with_another_entrypoint_takes_that, setup, teardown),
        cmocka_unit_test_setup_teardown(an_entrypoint_that_is_not_there_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_experiment_file_that_was_edited_is_written_again, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

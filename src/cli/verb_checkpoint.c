/* regimen checkpoint: what trials saved. */
#include "verb_experiment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int list(int argc, char **argv)
{
    return experiment_checkpoints(argc, argv);
}

/* <folder of the master>/<folder of the checkpoint>. */
static rgm_status checkpoint_folder(char **out, json_t **row, const asked_master *whom,
                                    const char *uuid)
{
    json_t *master = NULL;
    rgm_status status = RGM_OK;

    *row = NULL;
    if (strlen(uuid) != 36 || uuid[strspn(uuid, "0123456789abcdefABCDEF-")] != '\0')
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is no checkpoint's UUID", uuid);
    RGM_GO(ask(row, whom, "GET", NULL, "/api/v1/checkpoints/%s", uuid));
    RGM_GO(ask(&master, whom, "GET", NULL, "/api/v1/master"));
    RGM_GO(rgm_path_join(out, text_of(master, "folder"), text_of(*row, "folder")));
done:
    json_decref(master);
    if (status != RGM_OK) {
        json_decref(*row);
        *row = NULL;
    }
    return status;
}

static rgm_status copy(const char *to, const char *from, const json_t *resources)
{
    const char *name;
    json_t *size;

    RGM_TRY(rgm_folder_make(to));
    json_object_foreach((json_t *)resources, name, size)
    {
        rgm_status status = RGM_OK;
        char *source = NULL, *target = NULL, *data = NULL;
        int64_t bytes;

        if (name[0] == '\0' || strstr(name, "..") != NULL || name[0] == '/')
            return RGM_FAIL(RGM_ERR_DATA, "the checkpoint lists '%s': no file of it", name);
        RGM_GO(rgm_path_join(&source, from, name));
        RGM_GO(rgm_path_join(&target, to, name));
        if (name[strlen(name) - 1] == '/') {
            RGM_GO(rgm_folder_make(target));
        } else {
            RGM_GO(rgm_file_load(&data, &bytes, source, INT64_MAX / 4));
            if (bytes != json_integer_value(size))
                RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s has %lld bytes, but was saved with %lld", source,
                                (long long)bytes, (long long)json_integer_value(size)));
            RGM_GO(rgm_file_save(target, data, bytes));
        }
    done:
        rgm_free(source);
        rgm_free(target);
        rgm_free(data);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static int describe(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"checkpoint describe UUID", "A checkpoint with its files, as JSON.",
                       arguments, 1, 1};
    asked_master whom = {0};
    json_t *row = NULL;
    char *folder = NULL;
    rgm_status status = RGM_OK;
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    RGM_GO(master_open(&whom, where));
    RGM_GO(checkpoint_folder(&folder, &row, &whom, rest.items[0]));
    json_object_set_new(row, "path", json_string(folder));
    code = print_json(row);
done:
    if (status != RGM_OK)
        code = report(status);
    rgm_free(folder);
    master_close(&whom);
    return code;
}

static int download(int argc, char **argv)
{
    const char *where = NULL, *to = NULL;
    const argument arguments[] = {
        {"o", ARG_TEXT, &to, "DIR", "where to (needed)"}, MASTER_ARGUMENT(where), {0}};
    const usage how = {
        "checkpoint download UUID -o DIR",
        "Copy a checkpoint's files, each checked against the size it was saved with.", arguments, 1,
        1};
    asked_master whom = {0};
    json_t *row = NULL;
    char *folder = NULL;
    rgm_status status = RGM_OK;
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (to == NULL)
        return usage_error("checkpoint download needs -o DIR");
    RGM_GO(master_open(&whom, where));
    RGM_GO(checkpoint_folder(&folder, &row, &whom, rest.items[0]));
    if (!is_in_state(row, RGM_WORK_COMPLETED))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "checkpoint %s is %s", rest.items[0],
                        text_of(row, "state")));
    RGM_GO(copy(to, folder, json_object_get(row, "resources")));
    say("wrote", "%s", to);
done:
    if (status != RGM_OK)
        code = report(status);
    json_decref(row);
    rgm_free(folder);
    master_close(&whom);
    return code;
}

static rgm_status remove_one(const asked_master *whom, const char *uuid, bool yes)
{
    char question[80];
    bool agreed;

    if (strlen(uuid) != 36)
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is no checkpoint's UUID", uuid);
    snprintf(question, sizeof question, "remove checkpoint %s?", uuid);
    RGM_TRY(confirm(&agreed, yes, question));
    if (!agreed)
        return RGM_OK;
    RGM_TRY(ask(NULL, whom, "DELETE", NULL, "/api/v1/checkpoints/%s", uuid));
    say("removed", "checkpoint %s", uuid);
    return RGM_OK;
}

static int rm(int argc, char **argv)
{
    const char *where = NULL;
    bool yes = false;
    const argument arguments[] = {
        {"y", ARG_FLAG, &yes, NULL, "do not ask"}, MASTER_ARGUMENT(where), {0}};
    const usage how = {
        "checkpoint rm UUID... [-y]",
        "Remove checkpoints' files. Those that a trial may yet go back to are refused.", arguments,
        1, 256};
    asked_master whom = {0};
    rgm_status status;
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = master_open(&whom, where);
    if (status != RGM_OK)
        code = report(status);
    for (int64_t i = 0; status == RGM_OK && i < rest.count; i++) {
        rgm_status one = remove_one(&whom, rest.items[i], yes);

        if (one != RGM_OK)
            code = report(one);
    }
    master_close(&whom);
    return code;
}

rgm_status checkpoints_collect(int *code, const asked_master *whom, int64_t id,
                               const json_t *policy, bool yes)
{
    const list_form form = {0};
    json_t *body = policy != NULL ? json_deep_copy(policy) : json_object(), *preview = NULL;
    table t = {0};
    bool agreed = true;
    rgm_status status = RGM_OK;

    json_object_set_new(body, "preview", json_true());
    RGM_GO(ask(&preview, whom, "POST", body, "/api/v1/experiments/%lld/collect", (long long)id));
    RGM_GO(checkpoints_table(&t, json_object_get(preview, "checkpoints")));
    *code = print_table(&t, &form, "nothing to remove");
    if (*code != EXIT_DONE)
        goto done;
    if (t.rows > 0)
        RGM_GO(confirm(&agreed, yes, "remove these?"));
    if (!agreed)
        goto done;
    if (policy != NULL)
        RGM_GO(ask(NULL, whom, "PATCH", json_deep_copy(policy), "/api/v1/experiments/%lld",
                   (long long)id));
    if (t.rows > 0)
        RGM_GO(ask(NULL, whom, "POST", NULL, "/api/v1/experiments/%lld/collect", (long long)id));
done:
    table_clear(&t);
    json_decref(preview);
    return status;
}

static rgm_status collect_of(int *code, const asked_master *whom, int64_t id, const void *yes)
{
    return checkpoints_collect(code, whom, id, NULL, *(const bool *)yes);
}

static int gc(int argc, char **argv)
{
    const char *where = NULL;
    bool yes = false;
    const argument arguments[] = {
        {"y", ARG_FLAG, &yes, NULL, "do not ask"}, MASTER_ARGUMENT(where), {0}};
    const usage how = {
        "checkpoint gc EXPERIMENT [-y]",
        "Remove the checkpoints that an experiment's policy does not keep, which its end\n"
        "does by itself; they are listed before.",
        arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_experiment(collect_of, where, rest.items[0], &yes);
}

static const verb verbs[] = {
    {"list", list, "the checkpoints of an experiment"},
    {"describe", describe, "one with its files"},
    {"download", download, "copy one, checked"},
    {"rm", rm, "remove some"},
    {"gc", gc, "remove those of an experiment that its policy does not keep"},
};

int verb_checkpoint(int argc, char **argv)
{
    return verb_family("checkpoint", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}

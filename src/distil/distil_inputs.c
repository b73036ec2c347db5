/*
 * What a step is made from, as names and hashes: files by their bytes, models by their newest
 * checkpoint, which has a hash of every weight, or by the files of their export. A folder may lie
 * elsewhere: no path is part of it.
 */
#include <stdio.h>
#include <string.h>

#include "distil_internal.h"

void rgmi_inputs_clear(rgmi_inputs *inputs)
{
    for (int64_t i = 0; i < inputs->count; i++) {
        rgm_free(inputs->items[i].key);
        rgm_free(inputs->items[i].value);
    }
    rgm_free(inputs->items);
    *inputs = (rgmi_inputs){0};
}

rgm_status rgmi_inputs_add(rgmi_inputs *inputs, const char *key, const char *value)
{
    struct rgmi_step_input *item;

    RGM_TRY(RGM_RESERVE(inputs->items, inputs->capacity, inputs->count + 1));
    item = &inputs->items[inputs->count++]; /* what it has is freed with the others */
    *item = (struct rgmi_step_input){NULL, NULL};
    RGM_TRY(rgm_strdup(&item->key, key));
    return rgm_strdup(&item->value, value);
}

/* ---- files ----------------------------------------------------------------------------------- */

rgm_status rgmi_inputs_add_file(rgmi_inputs *inputs, const char *key, const char *path)
{
    char hash[RGM_SHA256_ROOM];

    RGM_TRY(rgm_file_sha256(hash, NULL, path));
    return rgmi_inputs_add(inputs, key, hash);
}

rgm_status rgmi_inputs_add_side(rgmi_inputs *inputs, const rgmi_step_work *work, const char *key,
                                const char *name, int side)
{
    rgm_status status;
    char *path;

    RGM_TRY(rgmi_side_path(&path, work, name, side));
    status = rgm_error_prefix(rgmi_inputs_add_file(inputs, key, path), "%s", key);
    rgm_free(path);
    return status;
}

rgm_status rgmi_inputs_add_pairs(rgmi_inputs *inputs, const rgmi_step_work *work, const char *pairs,
                                 const char *source, const char *target)
{
    RGM_TRY(
        rgmi_inputs_add_side(inputs, work, "source", pairs != NULL ? pairs : source, RGMI_SOURCES));
    return rgmi_inputs_add_side(inputs, work, "target", pairs != NULL ? pairs : target,
                                RGMI_TARGETS);
}

/* ---- models ---------------------------------------------------------------------------------- */

static rgm_status add_hash_of(rgm_text *out, const char *folder, const char *name, bool must)
{
    rgm_status status = RGM_OK;
    char *path = NULL, hash[RGM_SHA256_ROOM];

    RGM_GO(rgm_path_join(&path, folder, name));
    if (must || rgm_path_exists(path)) {
        RGM_GO(rgm_file_sha256(hash, NULL, path));
        RGM_GO(rgm_text_printf(out, "%s %s\n", name, hash));
    }
done:
    rgm_free(path);
    return status;
}

const rgmi_tokenizer_file rgmi_tokenizer_files[] = {{"tokenizer.model", "tokenizer"},
                                                    {"tokenizer.json", "tokenizer"},
                                                    {"target_tokenizer.model", "target_tokenizer"},
                                                    {"vocabulary.yml", "vocabulary"},
                                                    {"target_vocabulary.yml", "target_vocabulary"},
                                                    {0}};

static rgm_status add_files(rgm_text *out, const char *folder)
{
    for (const rgmi_tokenizer_file *f = rgmi_tokenizer_files; f->name != NULL; f++)
        RGM_TRY(add_hash_of(out, folder, f->name, false));
    return add_hash_of(out, folder, "shortlist.safetensors", false);
}

static rgm_status add_key(rgm_text *out, const char *section, const rgm_yaml_node *item)
{
    RGM_TRY(rgm_text_printf(out, "%s.%s ", section, item->key));
    RGM_TRY(rgm_yaml_print_flow(out, item, false));
    return rgm_text_printf(out, "\n");
}

/* A run reads the file that data.shortlist names; an export has one of its own. */
static rgm_status add_shortlist(rgm_text *out, const rgm_yaml_node *data)
{
    const rgm_yaml_node *folder = rgm_yaml_find(data, "path"),
                        *file = rgm_yaml_find(data, "shortlist");
    rgm_status status = RGM_OK;
    char *path = NULL, hash[RGM_SHA256_ROOM];

    if (folder == NULL || folder->text == NULL || file == NULL || file->text == NULL)
        return RGM_OK;
    RGM_GO(rgm_path_in(&path, folder->text, file->text));
    if (!rgm_path_exists(path) || rgm_path_is_folder(path))
        goto done; /* who reads it tells */
    RGM_GO(rgm_file_sha256(hash, NULL, path));
    RGM_GO(rgm_text_printf(out, "data.shortlist %s\n", hash));
done:
    rgm_free(path);
    return status;
}

/* What of a run's file says how its weights compute, without what they were made from. */
static rgm_status add_form(rgm_text *out, const char *folder)
{
    static const char *const sections[] = {"model", "task"};
    static const char *const of_data[] = {"source_tag", "target_tag", "factors"};
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    const rgm_yaml_node *data;
    char *config = NULL;
    int64_t size;

    RGM_GO(rgm_run_folder_config(&config, &size, folder));
    RGM_GO(rgm_yaml_parse(&yaml, config, size, folder));
    for (int i = 0; i < 2; i++) {
        const rgm_yaml_node *section = rgm_yaml_find(rgm_yaml_root(yaml), sections[i]);

        for (int64_t k = 0; section != NULL && k < section->count; k++)
            if (section->items[k]->key != NULL &&
                strcmp(section->items[k]->key, "distillation") != 0)
                RGM_GO(add_key(out, sections[i], section->items[k]));
    }
    data = rgm_yaml_find(rgm_yaml_root(yaml), "data");
    for (int i = 0; i < 3; i++)
        if (rgm_yaml_find(data, of_data[i]) != NULL)
            RGM_GO(add_key(out, "data", rgm_yaml_find(data, of_data[i])));
    RGM_GO(add_shortlist(out, data));
done:
    rgm_yaml_release(yaml);
    rgm_free(config);
    return status;
}

static rgm_status add_checkpoint(rgm_text *out, const char *folder)
{
    rgm_status status = RGM_OK;
    char *checkpoints = NULL, *manifest = NULL, **names = NULL;
    int64_t count = 0, newest = -1;

    RGM_GO(rgm_path_join(&checkpoints, folder, "ckpt"));
    if (rgm_path_exists(checkpoints))
        RGM_GO(rgm_folder_list(&names, &count, checkpoints));
    for (int64_t i = 0; i < count; i++)
        if (strncmp(names[i], "step-", 5) == 0 && strchr(names[i], '.') == NULL)
            newest = i;
    if (newest < 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", folder));
    RGM_GO(rgm_strprintf(&manifest, "%s/manifest.json", names[newest]));
    RGM_GO(add_hash_of(out, checkpoints, manifest, true));
done:
    rgm_names_release(names, count);
    rgm_free(checkpoints);
    rgm_free(manifest);
    return status;
}

static rgm_status describe_model(rgm_text *out, const char *folder)
{
    rgm_model_folder kind = rgm_model_folder_kind(folder);

    if (kind == RGM_FOLDER_NONE)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "'%s' is neither the folder of a run nor an export",
                        folder);
    if (kind == RGM_FOLDER_RUN) {
        RGM_TRY(add_form(out, folder));
        RGM_TRY(add_checkpoint(out, folder));
    } else {
        RGM_TRY(add_hash_of(out, folder, RGM_SERVING_MODEL, true));
        RGM_TRY(add_hash_of(out, folder, RGM_SERVING_WEIGHTS, true));
    }
    return add_files(out, folder);
}

typedef rgm_status describe_fn(rgm_text *out, const char *folder);

static rgm_status add_described(rgmi_inputs *inputs, const rgmi_step_work *work, const char *key,
                                const char *name, describe_fn *describe)
{
    char hash[RGM_SHA256_ROOM], *folder = NULL;
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgmi_model_path(&folder, work, name));
    status = describe(&text, folder);
    if (status != RGM_OK)
        RGM_GO(rgm_error_prefix(status, "%s", key));
    rgm_sha256_text(hash, text.size > 0 ? text.data : "", (size_t)text.size);
    RGM_GO(rgmi_inputs_add(inputs, key, hash));
done:
    rgm_text_clear(&text);
    rgm_free(folder);
    return status;
}

rgm_status rgmi_inputs_add_model(rgmi_inputs *inputs, const rgmi_step_work *work, const char *key,
                                 const char *name)
{
    return add_described(inputs, work, key, name, describe_model);
}

rgm_status rgmi_inputs_add_tokenizers(rgmi_inputs *inputs, const rgmi_step_work *work,
                                      const char *key, const char *name)
{
    return add_described(inputs, work, key, name, add_files);
}

/* ---- keys ------------------------------------------------------------------------------------ */

rgm_status rgmi_inputs_add_keys(rgmi_inputs *inputs, const rgmi_step *step,
                                const char *const *except)
{
    for (int64_t i = 0; i < step->node->count; i++) {
        const rgm_yaml_node *item = step->node->items[i];
        bool skipped = false;
        rgm_status status;
        char *value;

        for (int k = 0; except[k] != NULL; k++)
            skipped = skipped || strcmp(item->key, except[k]) == 0;
        if (skipped)
            continue;
        RGM_TRY(rgm_yaml_flow_text(&value, item));
        status = rgmi_inputs_add(inputs, item->key, value);
        rgm_free(value);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/*
 * The format of Hugging Face: a folder with config.json and model.safetensors, or with several
 * files of tensors that model.safetensors.index.json lists.
 */
#include <string.h>
#include <sys/stat.h>

#include "model_import_internal.h"

enum { MOST_CONFIG = 1 << 24, MOST_INDEX = 1 << 27, MOST_FILES = 4096 };

static const char config_file[] = "config.json", weights_file[] = "model.safetensors",
                  index_file[] = "model.safetensors.index.json";

/** The files of tensors. */
typedef struct shards {
    rgm_safetensors **files;
    rgm_map *by_name; /* number + 1 */
    int64_t count, capacity;
} shards;

static bool fits(const char *path)
{
    return rgm_path_is_folder(path) && rgm_folder_has(path, config_file);
}

static rgm_status open_config(rgmi_import_source *source)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size;

    RGM_GO(rgm_path_join(&path, source->path, config_file));
    RGM_GO(rgm_file_load(&text, &size, path, MOST_CONFIG));
    RGM_GO(rgmi_import_config_open(&source->config, text, size, path));
done:
    rgm_free(path);
    rgm_free(text);
    return status;
}

/* ---- files of tensors ------------------------------------------------------------------------ */

/* Open a file, once, and list what it has; its number. */
static rgm_status open_file(int64_t *number, rgmi_import_source *source, const char *name)
{
    rgm_status status = RGM_OK;
    shards *s = source->state;
    struct stat info;
    char *path = NULL;

    *number = (int64_t)(uintptr_t)rgm_map_get(s->by_name, name) - 1;
    if (*number >= 0)
        return RGM_OK;
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s/%s: '%s' is no name of a file beside it", source->path,
                        index_file, name);
    if (s->count == MOST_FILES)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: more than %d files of tensors", source->path,
                        MOST_FILES);
    RGM_GO(RGM_RESERVE(s->files, s->capacity, s->count + 1));
    RGM_GO(rgm_path_join(&path, source->path, name));
    RGM_GO(rgm_safetensors_open(&s->files[s->count], path));
    source->bytes += stat(path, &info) == 0 ? info.st_size : 0;
    *number = s->count++;
    RGM_GO(rgm_map_set(s->by_name, name, (void *)(uintptr_t)s->count));
    for (int64_t i = 0; i < rgm_safetensors_count(s->files[*number]); i++)
        RGM_GO(rgmi_import_source_add(source, rgm_safetensors_name(s->files[*number], i), *number));
done:
    rgm_free(path);
    return status;
}

static rgm_status open_listed(rgmi_import_source *source, const rgm_json *index)
{
    const rgm_json *map = rgm_json_find(index, "weight_map");
    rgm_json_entry entry = {0};

    if (!rgm_json_is_object(map))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s/%s: it has no weight_map", source->path, index_file);
    while (rgm_json_next(&entry, map)) {
        const char *file = rgm_json_text(entry.value);
        int64_t number, tensor;

        if (file == NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s/%s: weight_map: '%s' has no name of a file",
                            source->path, index_file, entry.key);
        RGM_TRY(open_file(&number, source, file));
        tensor = (int64_t)(uintptr_t)rgm_map_get(source->by_name, entry.key) - 1;
        if (tensor < 0 || source->tensors[tensor].file != number)
            return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s/%s has no '%s', which %s says", source->path,
                            file, entry.key, index_file);
    }
    return RGM_OK;
}

static rgm_status open_index(rgmi_import_source *source)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    rgm_json *index = NULL;
    int64_t size;

    RGM_GO(rgm_path_join(&path, source->path, index_file));
    RGM_GO(rgm_file_load(&text, &size, path, MOST_INDEX));
    RGM_GO(rgm_json_parse(&index, text, size, path));
    RGM_GO(open_listed(source, index));
done:
    rgm_json_release(index);
    rgm_free(path);
    rgm_free(text);
    return status;
}

static rgm_status open_weights(rgmi_import_source *source)
{
    int64_t number;

    if (rgm_folder_has(source->path, weights_file))
        return open_file(&number, source, weights_file);
    if (rgm_folder_has(source->path, index_file))
        return open_index(source);
    if (rgm_folder_has(source->path, "pytorch_model.bin") ||
        rgm_folder_has(source->path, "pytorch_model.bin.index.json"))
        return RGM_FAIL(
            RGM_ERR_UNSUPPORTED,
            "%s has its weights in pytorch_model.bin alone, a pickle, which is a program "
            "and is not read: save_pretrained() of Transformers writes %s",
            source->path, weights_file);
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has neither %s nor %s", source->path, weights_file,
                    index_file);
}

/* ---- the row --------------------------------------------------------------------------------- */

static rgm_status open_folder(rgmi_import_source *source)
{
    shards *s;

    RGM_TRY(RGM_NEW(s, 1));
    source->state = s;
    RGM_TRY(rgm_map_create(&s->by_name));
    RGM_TRY(rgm_strdup(&source->folder, source->path));
    RGM_TRY(open_config(source));
    return open_weights(source);
}

static rgm_status load(rgm_tensor **out, const rgmi_import_source *source, int64_t i)
{
    const shards *s = source->state;

    return rgm_safetensors_get(out, s->files[source->tensors[i].file], source->tensors[i].name);
}

static void close_folder(rgmi_import_source *source)
{
    shards *s = source->state;

    if (s == NULL)
        return;
    for (int64_t i = 0; i < s->count; i++)
        rgm_safetensors_close(s->files[i]);
    rgm_free(s->files);
    rgm_map_release(s->by_name);
    rgm_free(s);
    source->state = NULL;
}

static const rgmi_import_family *const families[] = {&rgmi_import_gpt2, &rgmi_import_llama,
                                                     &rgmi_import_marianmt, NULL};

const rgmi_import_format rgmi_import_huggingface = {.name = "Hugging Face",
                                                    .fits = fits,
                                                    .open = open_folder,
                                                    .load = load,
                                                    .close = close_folder,
                                                    .families = families};

/*
 * Reading a checkpoint folder. Each file is read into memory whole, compared with the manifest's
 * size and hash, and only then parsed, so that exactly the verified bytes are used.
 */
#include "store_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define LARGEST_MANIFEST (INT64_C(16) << 20)

static int find_set(const char *file)
{
    for (int s = 0; s < RGMI_SETS; s++) {
        if (strcmp(file, rgmi_set_files[s]) == 0)
            return s;
    }
    return -1;
}

/* The size is compared before anything is read, so that a manifest cannot ask for memory. */
static rgm_status check_size(const char *path, const rgmi_file *file)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return RGM_FAIL_SYSTEM("look at", path);
    if (!S_ISREG(info.st_mode) || info.st_size != file->size)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s has %lld bytes, the manifest says %lld", path,
                        (long long)info.st_size, (long long)file->size);
    return RGM_OK;
}

static rgm_status load_file(rgm_checkpoint *checkpoint, const char *folder, const rgmi_file *file)
{
    int set = find_set(file->name);
    char *path = NULL, *data = NULL;
    int64_t size = 0;
    uint64_t hash;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, folder, file->name));
    RGM_GO(check_size(path, file));
    RGM_GO(rgm_file_load(&data, &size, path, file->size));
    hash = rgm_hash64(data, (size_t)size);
    if (size != file->size || hash != file->hash) {
        status =
            RGM_FAIL(RGM_ERR_FORMAT,
                     "%s is damaged: its hash is %016" PRIx64 ", the manifest says %016" PRIx64,
                     path, hash, file->hash);
        goto done;
    }
    if (set >= 0) {
        checkpoint->set_data[set] = data;
        data = NULL;
        RGM_GO(rgm_safetensors_open_memory(&checkpoint->set_files[set], checkpoint->set_data[set],
                                           size, path));
    } else {
        char name[65] = "";

        memcpy(name, file->name, strlen(file->name) - strlen(".bin"));
        RGM_GO(rgm_checkpoint_set_blob(checkpoint, name, data, size));
    }
done:
    rgm_free(path);
    rgm_free(data);
    return status;
}

/* Whether slots are to be read. A file that cannot be opened is: reading it says why. */
static bool wants_slots(const char *folder, const char *name, const char *prefix)
{
    rgm_safetensors *file = NULL;
    char *path = NULL;
    bool wants;

    if (prefix == NULL || rgm_path_join(&path, folder, name) != RGM_OK ||
        rgm_safetensors_open(&file, path) != RGM_OK) {
        rgm_error_reset();
        wants = true;
    } else {
        wants = rgm_safetensors_has_prefix(file, prefix);
    }
    rgm_safetensors_close(file);
    rgm_free(path);
    return wants;
}

static rgm_status load_all(rgm_checkpoint *checkpoint, const char *folder, const char *path,
                           const rgm_checkpoint_store_options *o)
{
    rgmi_manifest manifest = {0};
    char *data = NULL;
    int64_t size = 0;
    bool is_listed[RGMI_SETS] = {false};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_file_load(&data, &size, path, LARGEST_MANIFEST));
    RGM_GO(rgmi_manifest_parse(&manifest, checkpoint, data, size, path));
    checkpoint->step = manifest.step;
    if (o->values_only)
        goto done;
    for (int64_t i = 0; i < manifest.file_count; i++) {
        const rgmi_file *file = &manifest.files[i];
        int set = find_set(file->name);

        if (set >= 0)
            is_listed[set] = true;
        if (set != RGMI_SLOTS || wants_slots(folder, file->name, o->slots_prefix))
            RGM_GO(load_file(checkpoint, folder, file));
    }
    if (!is_listed[RGMI_WEIGHTS] || !is_listed[RGMI_SLOTS])
        status = RGM_FAIL(RGM_ERR_FORMAT, "%s lists no %s", path,
                          rgmi_set_files[is_listed[RGMI_WEIGHTS] ? RGMI_SLOTS : RGMI_WEIGHTS]);
done:
    rgmi_manifest_clear(&manifest);
    rgm_free(data);
    return status;
}

rgm_status rgmi_checkpoint_load(rgm_checkpoint **out, const char *path,
                                const rgm_checkpoint_store_options *o)
{
    rgm_checkpoint *checkpoint = NULL;
    char *manifest = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(rgm_checkpoint_create(&checkpoint, 0));
    RGM_GO(rgm_strdup(&checkpoint->path, path));
    RGM_GO(rgm_path_join(&manifest, path, "manifest.json"));
    RGM_GO(load_all(checkpoint, path, manifest, o));
    *out = checkpoint;
    checkpoint = NULL;
done:
    rgm_checkpoint_release(checkpoint);
    rgm_free(manifest);
    return status;
}

rgm_status rgm_checkpoint_load(rgm_checkpoint **out, const char *path)
{
    RGM_TRY(rgmi_checkpoint_load(out, path, &(rgm_checkpoint_store_options){.keep = 1}));
    return RGM_OK;
}

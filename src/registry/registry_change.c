/*
 * Changes of a registry, one at a time. What makes a version be is the line in model.json, which is
 * saved whole behind everything else; a folder that it does not name is what a killed program left,
 * and goes with the next change.
 */
#include "registry_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_SECONDS = 600, PAUSE_MS = 20 };

/* ---- one at a time ------------------------------------------------------------------------- */

static rgm_status wait_for(int fd, const char *registry)
{
    double until = rgm_now() + LOCK_SECONDS;

    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return RGM_FAIL_SYSTEM("lock", registry);
        if (rgm_now() > until)
            return RGM_FAIL(RGM_ERR_BUSY, "another program changes '%s' for %d s", registry,
                            (int)LOCK_SECONDS);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
    return RGM_OK;
}

/* *fd is closed by whoever asked; that unlocks. */
static rgm_status lock(int *fd, const char *registry)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    *fd = -1;
    RGM_GO(rgm_path_join(&path, registry, "registry.lock"));
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", path));
    RGM_GO(wait_for(*fd, registry));
done:
    rgm_free(path);
    return status;
}

static void unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}

static rgm_status save(const char *registry, const rgm_model *model)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(rgmi_model_print(&text, model));
    RGM_GO(rgmi_model_place(&path, registry, model->name, "model.json"));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(path);
    return status;
}

/* ---- what a killed program left ------------------------------------------------------------ */

static bool is_known(const rgm_model *model, const char *name)
{
    char *end;
    long long number = strtoll(name, &end, 10);

    return strcmp(name, "model.json") == 0 || strncmp(name, "model.json.", 11) == 0 ||
           (*end == 0 && rgmi_model_version_at(model, number) != NULL);
}

static rgm_status sweep(const char *registry, const rgm_model *model)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, *path = NULL, **names = NULL;
    int64_t count = 0;

    RGM_GO(rgmi_model_place(&folder, registry, model->name, NULL));
    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        if (is_known(model, names[i]))
            continue;
        rgm_free(path);
        RGM_GO(rgm_path_join(&path, folder, names[i]));
        RGM_GO(rgm_folder_remove(path));
    }
    rgm_free(path);
    path = NULL;
    RGM_GO(rgm_path_join(&path, registry, "objects"));
    RGM_GO(rgm_content_sweep(path));
done:
    rgm_names_release(names, count);
    rgm_free(folder);
    rgm_free(path);
    return status;
}

/* ---- a new version ------------------------------------------------------------------------- */

static rgm_status check_draft(const rgm_model_draft *draft)
{
    RGM_TRY(rgmi_model_check_name(draft->name));
    if (draft->file_count < 1 || draft->file_count > RGMI_MOST_FILES)
        return RGM_FAIL(RGM_ERR_ARG, "%lld files: a version has 1 to %d",
                        (long long)draft->file_count, (int)RGMI_MOST_FILES);
    for (int64_t i = 0; i < draft->file_count; i++)
        if (!rgmi_model_is_inner(draft->files[i].name))
            return RGM_FAIL(RGM_ERR_ARG, "'%s' is no path below a folder", draft->files[i].name);
    return RGM_OK;
}

/* The folder of a file below `folder`, and all above it. */
static rgm_status make_parent(const char *path)
{
    rgm_status status;
    char *parent;

    RGM_TRY(rgm_strndup(&parent, path, (size_t)(strrchr(path, '/') - path)));
    status = rgm_folder_make(parent);
    rgm_free(parent);
    return status;
}

static rgm_status copy_file(rgm_model_version *v, const char *objects, const char *folder,
                            const rgm_model_source *from)
{
    rgm_status status = RGM_OK;
    rgm_model_file file = {.size = 0};
    char *to = NULL;

    RGM_GO(rgm_content_put(file.sha256, &file.size, objects, from->path));
    RGM_GO(rgm_path_join(&to, folder, from->name));
    RGM_GO(make_parent(to));
    RGM_GO(rgm_content_place(objects, file.sha256, to));
    RGM_GO(RGM_RESERVE(v->files, v->file_capacity, v->file_count + 1));
    RGM_GO(rgm_strdup(&file.name, from->name));
    v->files[v->file_count++] = file;
done:
    rgm_free(to);
    return status;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const rgm_model_file *)a)->name, ((const rgm_model_file *)b)->name);
}

/* A folder, and all above it up to `top`. */
static rgm_status sync_up(char *path, size_t top)
{
    while (strlen(path) >= top) {
        RGM_TRY(rgm_folder_sync(path));
        *strrchr(path, '/') = 0;
    }
    return RGM_OK;
}

/* Names of files are on the disk before the version is. They are sorted: those of a folder lie
 * beside each other. */
static rgm_status sync_folders(const char *folder, const rgm_model_version *v)
{
    size_t last = SIZE_MAX;

    for (int64_t i = 0; i < v->file_count; i++) {
        const char *name = v->files[i].name, *slash = strrchr(name, '/');
        size_t size = slash != NULL ? (size_t)(slash - name) : 0;
        char *path;

        if (size == last && strncmp(name, v->files[i - 1].name, size) == 0)
            continue;
        last = size;
        RGM_TRY(rgm_strprintf(&path, "%s/%.*s", folder, (int)size, name));
        if (size == 0)
            path[strlen(path) - 1] = 0;
        rgm_status status = sync_up(path, strlen(folder));
        rgm_free(path);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status fill_version(rgm_model_version *v, const char *registry, const char *folder,
                               const rgm_model_draft *draft)
{
    rgm_status status = RGM_OK;
    char *objects = NULL;

    RGM_GO(rgm_path_join(&objects, registry, "objects"));
    RGM_GO(rgm_strdup(&v->source, draft->source != NULL ? draft->source : ""));
    RGM_GO(rgm_strdup(&v->note, draft->note != NULL ? draft->note : ""));
    for (int64_t i = 0; i < draft->metric_count; i++) {
        RGM_GO(RGM_RESERVE(v->metrics, v->metric_capacity, v->metric_count + 1));
        RGM_GO(rgm_strdup(&v->metrics[v->metric_count].name, draft->metrics[i].name));
        v->metrics[v->metric_count++].value = draft->metrics[i].value;
    }
    for (int64_t i = 0; i < draft->file_count; i++)
        RGM_GO(copy_file(v, objects, folder, &draft->files[i]));
    qsort(v->files, (size_t)v->file_count, sizeof *v->files, compare_files);
    if (draft->check != NULL)
        RGM_GO(draft->check(folder, draft->payload));
    RGM_GO(sync_folders(folder, v));
done:
    rgm_free(objects);
    return status;
}

static rgm_status add_version(rgm_model *model, const char *registry, const rgm_model_draft *draft)
{
    rgm_model_version v = {.number = model->next, .created = rgm_wall_time()};
    rgm_status status = RGM_OK;
    char *made = NULL, *folder = NULL;

    RGM_GO(rgmi_model_place(&made, registry, model->name, "new"));
    RGM_GO(rgmi_model_folder(&folder, registry, model->name, v.number));
    RGM_GO(rgm_folder_make(made));
    RGM_GO(fill_version(&v, registry, made, draft));
    RGM_GO(RGM_RESERVE(model->versions, model->capacity, model->count + 1));
    RGM_GO(rgm_folder_publish(made, folder));
    model->versions[model->count++] = v;
    model->next++;
    v = (rgm_model_version){.number = 0};
    RGM_GO(save(registry, model));
done:
    rgmi_model_version_clear(&v);
    rgm_free(made);
    rgm_free(folder);
    return status;
}

/* The model, or a first version of one. */
static rgm_status load_or_begin(rgm_model *model, const char *registry, const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *folder = NULL;

    *model = (rgm_model){.next = 1};
    RGM_GO(rgmi_model_place(&path, registry, name, "model.json"));
    RGM_GO(rgmi_model_place(&folder, registry, name, NULL));
    RGM_GO(rgm_folder_make(folder));
    if (rgm_path_exists(path))
        RGM_GO(rgm_model_load(model, registry, name));
    else
        RGM_GO(rgm_strdup(&model->name, name));
done:
    rgm_free(path);
    rgm_free(folder);
    return status;
}

rgm_status rgm_model_register(int64_t *number, const char *registry, const rgm_model_draft *draft)
{
    rgm_status status = RGM_OK;
    rgm_model model = {.next = 1};
    int fd = -1;

    *number = 0;
    RGM_GO(check_draft(draft));
    RGM_GO(rgm_folder_make(registry));
    RGM_GO(lock(&fd, registry));
    RGM_GO(load_or_begin(&model, registry, draft->name));
    RGM_GO(sweep(registry, &model));
    RGM_GO(add_version(&model, registry, draft));
    *number = model.next - 1;
done:
    unlock(fd);
    rgm_model_clear(&model);
    return status;
}

/* ---- other changes ------------------------------------------------------------------------- */

/* Locked: *fd is to be unlocked, also after an error. */
static rgm_status open_version(rgm_model *model, rgm_model_version **version, int *fd,
                               const char *registry, const char *name, int64_t number)
{
    const rgm_model_version *found;
    char reference[96];

    *fd = -1;
    RGM_TRY(rgmi_model_check_name(name));
    snprintf(reference, sizeof reference, "%s:%lld", name, (long long)number);
    RGM_TRY(rgm_model_find(model, &found, registry, reference)); /* and no lock where none is */
    rgm_model_clear(model);
    RGM_TRY(lock(fd, registry));
    RGM_TRY(rgm_model_find(model, &found, registry, reference));
    *version = rgmi_model_version_at(model, number);
    return RGM_OK;
}

rgm_status rgm_model_set_stage(int64_t *replaced, const char *registry, const char *name,
                               int64_t number, rgm_model_stage stage)
{
    bool is_single = stage == RGM_MODEL_STAGING || stage == RGM_MODEL_PRODUCTION;
    rgm_status status = RGM_OK;
    rgm_model model = {.next = 0};
    rgm_model_version *version;
    int fd;

    *replaced = 0;
    RGM_GO(open_version(&model, &version, &fd, registry, name, number));
    for (int64_t i = 0; i < model.count && is_single; i++)
        if (model.versions[i].stage == stage && &model.versions[i] != version) {
            model.versions[i].stage = RGM_MODEL_ARCHIVED;
            *replaced = model.versions[i].number;
        }
    version->stage = stage;
    RGM_GO(save(registry, &model));
done:
    unlock(fd);
    rgm_model_clear(&model);
    return status;
}

rgm_status rgm_model_remove(const char *registry, const char *name, int64_t number)
{
    rgm_status status = RGM_OK;
    rgm_model model = {.next = 0};
    rgm_model_version *version;
    int fd;

    RGM_GO(open_version(&model, &version, &fd, registry, name, number));
    if (version->stage == RGM_MODEL_PRODUCTION)
        RGM_GO(RGM_FAIL(RGM_ERR_BUSY,
                        "version %lld of model '%s' is in production: give it another stage first",
                        (long long)number, name));
    rgmi_model_version_clear(version);
    int64_t at = version - model.versions;
    model.count--;
    memmove(version, version + 1, (size_t)(model.count - at) * sizeof *version);
    RGM_GO(save(registry, &model));
    RGM_GO(sweep(registry, &model)); /* its folder is no version's any more */
done:
    unlock(fd);
    rgm_model_clear(&model);
    return status;
}

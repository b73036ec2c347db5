/*
 * The folder of a run's checkpoints. A checkpoint appears by one rename after everything in it was
 * synced. So at every moment, even after a power cut, each step's checkpoint is whole or absent. An
 * interrupted save leaves a folder named step-N.tmp-<pid>, which readers never look at.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_PREFIX "step-"
#define TEMPORARY   ".tmp-"
#define ROLLED_BACK ".rolled-back"

struct rgm_checkpoint_store {
    char *folder;
    rgm_checkpoint_store_options options;
    int64_t *damaged; /* steps that loading has skipped; they go when the run has saved again */
    int64_t damaged_count, damaged_capacity;
    int64_t *spared; /* steps that retention keeps */
    int64_t spared_count, spared_capacity;
};

static rgm_status step_path(char **out, const rgm_checkpoint_store *store, int64_t step)
{
    return rgm_strprintf(out, "%s/" STEP_PREFIX "%08" PRId64, store->folder, step);
}

static rgm_status temporary_path(char **out, const rgm_checkpoint_store *store, int64_t step,
                                 const char *kind)
{
    return rgm_strprintf(out, "%s/" STEP_PREFIX "%08" PRId64 TEMPORARY "%s%ld", store->folder, step,
                         kind, (long)getpid());
}

/* step-00001200 and `end` -> 1200; -1 for all other names. */
static int64_t parse_step(const char *name, const char *end)
{
    size_t prefix = strlen(STEP_PREFIX), digits;

    if (strncmp(name, STEP_PREFIX, prefix) != 0)
        return -1;
    digits = strspn(name + prefix, "0123456789");
    if (digits < 8 || digits > 18 || strcmp(name + prefix + digits, end) != 0)
        return -1;
    return strtoll(name + prefix, NULL, 10);
}

/* Remove, and log a failure: it costs space, not safety. */
static void discard(const char *path)
{
    if (rgm_folder_remove(path) != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "cannot remove %s: %s", path, rgm_error_message());
}

/* ---- open ---------------------------------------------------------------------------------- */

static rgm_status sweep(const rgm_checkpoint_store *store)
{
    char **names = NULL;
    int64_t count = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_folder_list(&names, &count, store->folder));
    for (int64_t i = 0; i < count; i++) {
        char *path = NULL;

        if (strncmp(names[i], STEP_PREFIX, strlen(STEP_PREFIX)) != 0 ||
            strstr(names[i], TEMPORARY) == NULL)
            continue;
        RGM_GO(rgm_path_join(&path, store->folder, names[i]));
        rgm_log_write(RGM_LOG_INFO, "removing %s, which an interrupted save has left", path);
        discard(path);
        rgm_free(path);
    }
    RGM_GO(rgm_folder_sweep(store->folder));
done:
    rgm_names_release(names, count);
    return status;
}

rgm_status rgm_checkpoint_store_open(rgm_checkpoint_store **out, const char *folder,
                                     const rgm_checkpoint_store_options *options)
{
    const rgm_checkpoint_store_options defaults = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    rgm_checkpoint_store *store = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(RGM_NEW(store, 1));
    store->options = options != NULL ? *options : defaults;
    if (store->options.keep < 1) {
        status = RGM_FAIL(RGM_ERR_ARG, "%lld checkpoints to keep; at least 1 is needed",
                          (long long)store->options.keep);
        goto done;
    }
    if (!(store->options.keep_every_hours >= 0)) {
        status = RGM_FAIL(RGM_ERR_ARG, "one checkpoint to keep every %g hours",
                          store->options.keep_every_hours);
        goto done;
    }
    RGM_GO(rgm_strdup(&store->folder, folder));
    if (store->options.read_only && !rgm_path_is_folder(folder)) {
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "no checkpoints: there is no folder %s", folder);
        goto done;
    }
    if (!store->options.read_only) {
        RGM_GO(rgm_folder_make(folder));
        RGM_GO(sweep(store));
    }
    *out = store;
    store = NULL;
done:
    rgm_checkpoint_store_close(store);
    return status;
}

void rgm_checkpoint_store_close(rgm_checkpoint_store *store)
{
    if (store == NULL)
        return;
    rgm_free(store->damaged);
    rgm_free(store->spared);
    rgm_free(store->folder);
    rgm_free(store);
}

rgm_status rgm_checkpoint_store_spare(rgm_checkpoint_store *store, const int64_t *steps,
                                      int64_t count)
{
    RGM_TRY(RGM_RESERVE(store->spared, store->spared_capacity, count));
    for (int64_t i = 0; i < count; i++)
        store->spared[i] = steps[i];
    store->spared_count = count;
    return RGM_OK;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

rgm_status rgm_checkpoint_steps(int64_t **steps, int64_t *count, const rgm_checkpoint_store *store)
{
    char **names = NULL;
    int64_t found = 0;
    rgm_status status = RGM_OK;

    *steps = NULL;
    *count = 0;
    RGM_GO(rgm_folder_list(&names, &found, store->folder));
    RGM_GO(RGM_NEW(*steps, found));
    for (int64_t i = 0; i < found; i++) {
        int64_t step = parse_step(names[i], "");

        if (step >= 0)
            (*steps)[(*count)++] = step;
    }
    qsort(*steps, (size_t)*count, sizeof **steps, ascending);
done:
    rgm_names_release(names, found);
    return status;
}

/* ---- save ---------------------------------------------------------------------------------- */

/* Record size and hash of a file that was just written, as the system reads it back now. */
static rgm_status note_file(rgmi_manifest *manifest, const char *path, const char *name)
{
    rgm_mapped_file file;
    rgm_status status;

    RGM_TRY(rgm_file_map(&file, path));
    status =
        rgmi_manifest_add_file(manifest, name, file.size, rgm_hash64(file.data, (size_t)file.size));
    rgm_file_unmap(&file);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static rgm_status write_set(rgmi_manifest *manifest, const rgm_checkpoint *checkpoint, int set,
                            const char *folder)
{
    const rgm_map *map = checkpoint->sets[set];
    int64_t count = map != NULL ? rgm_map_count(map) : 0;
    rgm_named_tensor *tensors = NULL;
    char *path = NULL;
    rgm_status status = RGM_OK;

    if (count == 0 && set == RGMI_BEST)
        return RGM_OK;
    RGM_GO(RGM_NEW(tensors, count));
    for (int64_t i = 0; i < count; i++)
        tensors[i] = (rgm_named_tensor){rgm_map_key(map, i), rgm_map_value(map, i)};
    RGM_GO(rgm_path_join(&path, folder, rgmi_set_files[set]));
    RGM_GO(rgm_safetensors_save(path, tensors, count, NULL, 0));
    RGM_GO(note_file(manifest, path, rgmi_set_files[set]));
done:
    rgm_free(tensors);
    rgm_free(path);
    return status;
}

static rgm_status write_blob(rgmi_manifest *manifest, const char *blob_name, const rgmi_blob *blob,
                             const char *folder)
{
    char *path = NULL, *name = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_strprintf(&name, "%s.bin", blob_name));
    RGM_GO(rgm_path_join(&path, folder, name));
    RGM_GO(rgm_file_create(path, blob->data, blob->size));
    RGM_GO(rgmi_manifest_add_file(manifest, name, blob->size,
                                  rgm_hash64(blob->data, (size_t)blob->size)));
done:
    rgm_free(name);
    rgm_free(path);
    return status;
}

/* Write all files, the manifest last, into a new folder, and sync. */
static rgm_status write_folder(rgm_text *text, const rgm_checkpoint *checkpoint, const char *folder)
{
    rgmi_manifest manifest = {.step = checkpoint->step};
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_folder_make(folder));
    for (int s = 0; s < RGMI_SETS; s++)
        RGM_GO(write_set(&manifest, checkpoint, s, folder));
    for (int64_t i = 0; checkpoint->blobs != NULL && i < rgm_map_count(checkpoint->blobs); i++)
        RGM_GO(write_blob(&manifest, rgm_map_key(checkpoint->blobs, i),
                          rgm_map_value(checkpoint->blobs, i), folder));
    RGM_GO(rgmi_manifest_print(text, &manifest, checkpoint));
    RGM_GO(rgm_path_join(&path, folder, "manifest.json"));
    RGM_GO(rgm_file_create(path, text->data, text->size));
    RGM_GO(rgm_folder_sync(folder));
done:
    rgmi_manifest_clear(&manifest);
    rgm_free(path);
    return status;
}

/* Whether the checkpoint at `path` has exactly this manifest and is intact. */
static bool is_same(const char *path, const rgm_text *manifest)
{
    rgm_checkpoint *checkpoint = NULL;
    char *file = NULL, *data = NULL;
    int64_t size = 0;
    bool same = rgm_path_join(&file, path, "manifest.json") == RGM_OK &&
                rgm_file_load(&data, &size, file, manifest->size) == RGM_OK &&
                size == manifest->size && memcmp(data, manifest->data, (size_t)size) == 0 &&
                rgm_checkpoint_load(&checkpoint, path) == RGM_OK;

    rgm_checkpoint_release(checkpoint);
    rgm_free(file);
    rgm_free(data);
    return same;
}

static bool is_damaged(const rgm_checkpoint_store *store, int64_t step)
{
    for (int64_t i = 0; i < store->damaged_count; i++) {
        if (store->damaged[i] == step)
            return true;
    }
    return false;
}

/* Rename out of sight, then remove: a half-deleted checkpoint must not look like a damaged one. */
static void delete_step(const rgm_checkpoint_store *store, int64_t step)
{
    char *path = NULL, *temporary = NULL;

    if (step_path(&path, store, step) == RGM_OK &&
        temporary_path(&temporary, store, step, "old-") == RGM_OK) {
        if (rename(path, temporary) == 0)
            discard(temporary);
        else
            rgm_log_write(RGM_LOG_WARNING, "cannot remove the old checkpoint %s: %s", path,
                          strerror(errno));
    }
    rgm_free(path);
    rgm_free(temporary);
}

static bool is_spared(const rgm_checkpoint_store *store, int64_t step)
{
    for (int64_t i = 0; i < store->spared_count; i++)
        if (store->spared[i] == step)
            return true;
    return false;
}

/* ---- one every so many hours ---- */

/*
 * The time (seconds since 1970) in a small file, or `otherwise` without the file. A time in the
 * future (the clock was set back) counts as now.
 */
static double time_in(const char *path, double otherwise)
{
    char *text = NULL, *end;
    int64_t size = 0;
    double time = otherwise, now = rgm_wall_time();

    if (rgm_file_load(&text, &size, path, 64) == RGM_OK) {
        time = strtod(text, &end);
        if (end == text || !(time >= 0))
            time = otherwise;
    }
    rgm_error_reset();
    rgm_free(text);
    return time < now ? time : now;
}

static rgm_status write_time(const char *path, double time)
{
    char text[32];

    return rgm_file_save_own(path, text,
                             snprintf(text, sizeof text, "%.0f\n", time < 0 ? 0 : time));
}

/* The mark is in the checkpoint's own folder, so that no index can disagree with the folders. */
static rgm_status kept_path(char **out, const rgm_checkpoint_store *store, int64_t step)
{
    return rgm_strprintf(out, "%s/" STEP_PREFIX "%08" PRId64 "/kept", store->folder, step);
}

/* When the checkpoint was saved; now, if that is unknown. */
static double saved_time(const rgm_checkpoint_store *store, int64_t step)
{
    double now = rgm_wall_time(), time = now;
    char *path = NULL;
    struct stat info;

    if (rgm_strprintf(&path, "%s/" STEP_PREFIX "%08" PRId64 "/manifest.json", store->folder,
                      step) == RGM_OK &&
        stat(path, &info) == 0)
        time = (double)info.st_mtime;
    rgm_free(path);
    return time < now ? time : now;
}

/* When the last checkpoint that is kept for good was saved, or else when the run began. The
 * beginning is recorded at the first call. */
static rgm_status last_kept(double *out, const rgm_checkpoint_store *store, const int64_t *steps,
                            int64_t count)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, store->folder, "kept_since"));
    if (!rgm_path_exists(path))
        RGM_GO(write_time(path, rgm_wall_time()));
    *out = time_in(path, rgm_wall_time());
    for (int64_t i = 0; i < count; i++) {
        double time;

        rgm_free(path);
        path = NULL;
        RGM_GO(kept_path(&path, store, steps[i]));
        time = time_in(path, 0);
        *out = time > *out ? time : *out;
    }
done:
    rgm_free(path);
    return status;
}

/*
 * Whether a checkpoint that `keep` would delete stays: because it is marked already, or because it
 * was saved keep_every_hours or more after the last one kept for good. Then it is marked before any
 * other is deleted.
 */
static rgm_status keep_for_good(bool *stays, const rgm_checkpoint_store *store, int64_t step,
                                double *last)
{
    double hours = store->options.keep_every_hours, time;
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(kept_path(&path, store, step));
    *stays = rgm_path_exists(path);
    if (*stays || !(hours > 0))
        goto done;
    time = saved_time(store, step);
    *stays = time - hours * 3600 >= *last;
    if (*stays) {
        RGM_GO(write_time(path, time));
        *last = time;
    }
done:
    rgm_free(path);
    return status;
}

/* ---- what a rollback has set aside ---- */

static rgm_status drop_aside(const rgm_checkpoint_store *store, int64_t step)
{
    char **names = NULL, *path = NULL;
    rgm_status status = RGM_OK;
    int64_t count = 0;

    RGM_GO(rgm_folder_list(&names, &count, store->folder));
    for (int64_t i = 0; i < count; i++) {
        int64_t of = parse_step(names[i], ROLLED_BACK);

        if (of < 0 || of > step)
            continue;
        rgm_free(path);
        path = NULL;
        RGM_GO(rgm_path_join(&path, store->folder, names[i]));
        rgm_log_write(RGM_LOG_INFO, "removing %s: the run has gone on without it", path);
        discard(path);
    }
done:
    rgm_names_release(names, count);
    rgm_free(path);
    return status;
}

void rgm_checkpoint_store_drop_aside(rgm_checkpoint_store *store, int64_t step)
{
    if (drop_aside(store, step) != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "cannot look for checkpoints that were set aside: %s",
                      rgm_error_message());
}

/* ---- retention ---- */

/* Of `count` ascending steps up to the current one, handle those beyond the newest `keep`: they are
 * marked, spared, or deleted. Oldest first, in the order of their saves. */
static rgm_status let_go(const rgm_checkpoint_store *store, const int64_t *steps, int64_t count)
{
    double last = 0;

    if (store->options.keep_every_hours > 0)
        RGM_TRY(last_kept(&last, store, steps, count));
    for (int64_t i = 0; i < count - store->options.keep; i++) {
        bool stays = true;

        if (is_spared(store, steps[i]))
            continue;
        RGM_TRY(keep_for_good(&stays, store, steps[i], &last));
        if (!stays)
            delete_step(store, steps[i]);
    }
    return RGM_OK;
}

/* Rename to a name that is no step's; a checkpoint that was set aside earlier is replaced. */
static rgm_status set_aside(const rgm_checkpoint_store *store, int64_t step)
{
    char *path = NULL, *aside = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(step_path(&path, store, step));
    RGM_GO(rgm_strprintf(&aside, "%s" ROLLED_BACK, path));
    if (rgm_path_exists(aside))
        RGM_GO(rgm_folder_remove(aside));
    if (rename(path, aside) < 0)
        RGM_GO(RGM_FAIL_SYSTEM("set aside", path));
    rgm_log_write(RGM_LOG_INFO, "%s is set aside as %s", path, aside);
done:
    rgm_free(aside);
    rgm_free(path);
    return status;
}

/* A newer one takes the place of a damaged one. Of a later step there is none yet: the run has gone
 * on without it, so a later start must not continue from it, should it be readable then. */
static void let_go_of_damaged(const rgm_checkpoint_store *store, int64_t step, int64_t current)
{
    if (step < current)
        delete_step(store, step);
    else if (set_aside(store, step) != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "%s", rgm_error_message());
}

/*
 * Keep the newest ones up to `current`, the run's current step, and those that are spared or kept
 * for good. Damaged ones stay until one is saved.
 */
static void apply_retention(rgm_checkpoint_store *store, int64_t current, bool saved)
{
    int64_t *steps = NULL, count = 0, sound = 0;
    rgm_status status = rgm_checkpoint_steps(&steps, &count, store);

    for (int64_t i = 0; i < count; i++) {
        bool damaged = steps[i] != current && is_damaged(store, steps[i]);

        if (damaged && saved)
            let_go_of_damaged(store, steps[i], current);
        else if (!damaged && steps[i] <= current)
            steps[sound++] = steps[i];
    }
    if (status == RGM_OK)
        status = let_go(store, steps, sound);
    if (status != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "cannot look for old checkpoints: %s", rgm_error_message());
    if (saved)
        store->damaged_count = 0;
    rgm_checkpoint_store_drop_aside(store, current);
    rgm_free(steps);
}

void rgm_checkpoint_store_tidy(rgm_checkpoint_store *store, int64_t current)
{
    apply_retention(store, current, false);
}

rgm_status rgm_checkpoint_store_set_aside(int64_t *moved, rgm_checkpoint_store *store, int64_t step)
{
    int64_t *steps = NULL, count = 0;
    rgm_status status = RGM_OK;

    *moved = 0;
    RGM_GO(rgm_checkpoint_steps(&steps, &count, store));
    for (int64_t i = count - 1; i >= 0 && steps[i] > step; i--, ++*moved)
        RGM_GO(set_aside(store, steps[i]));
    if (*moved > 0)
        RGM_GO(rgm_folder_sync(store->folder));
done:
    rgm_free(steps);
    return status;
}

rgm_status rgm_checkpoint_save(rgm_checkpoint_store *store, const rgm_checkpoint *checkpoint)
{
    return rgm_checkpoint_save_with(store, checkpoint, NULL, NULL);
}

/* Under its own name in one step, with what else belongs to it. */
static rgm_status publish(const char *temporary, const char *path, rgm_checkpoint_fill *fill,
                          void *payload)
{
    if (fill != NULL) {
        RGM_TRY(fill(temporary, payload));
        RGM_TRY(rgm_folder_sync(temporary));
    }
    return rgm_folder_publish(temporary, path);
}

rgm_status rgm_checkpoint_save_with(rgm_checkpoint_store *store, const rgm_checkpoint *checkpoint,
                                    rgm_checkpoint_fill *fill, void *payload)
{
    char *temporary = NULL, *path = NULL;
    rgm_text manifest = {0};
    rgm_error error;
    bool published = false;
    rgm_status status = RGM_OK;

    if (store->options.read_only)
        return RGM_FAIL(RGM_ERR_ARG, "%s was opened for reading", store->folder);
    RGM_GO(temporary_path(&temporary, store, checkpoint->step, ""));
    RGM_GO(step_path(&path, store, checkpoint->step));
    if (rgm_path_exists(temporary))
        RGM_GO(rgm_folder_remove(temporary));
    RGM_GO(write_folder(&manifest, checkpoint, temporary));
    if (!rgm_path_exists(path) || !is_same(path, &manifest)) {
        rgm_error_reset();
        RGM_GO(publish(temporary, path, fill, payload));
    }
    published = true;
    if (rgm_path_exists(temporary))
        discard(temporary);
    apply_retention(store, checkpoint->step, true);
done:
    if (status != RGM_OK && temporary != NULL && !published) {
        rgm_error_save(&error, status);
        if (rgm_path_exists(temporary))
            discard(temporary);
        status = rgm_error_restore(&error);
    }
    rgm_text_clear(&manifest);
    rgm_free(temporary);
    rgm_free(path);
    return status;
}

/* ---- load ---------------------------------------------------------------------------------- */

/* The error for a missing step, with the steps that exist (only the newest when they are many). */
static rgm_status no_such_step(const rgm_checkpoint_store *store, int64_t step)
{
    enum { SHOWN = 20 };
    int64_t *steps = NULL, count = 0;
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_checkpoint_steps(&steps, &count, store));
    for (int64_t i = count > SHOWN ? count - SHOWN : 0; i < count; i++)
        RGM_GO(rgm_text_printf(&text, " %" PRId64, steps[i]));
    status = RGM_FAIL(RGM_ERR_NOT_FOUND, "no checkpoint of step %" PRId64 " in %s; there %s%s",
                      step, store->folder,
                      count == 0      ? "are none"
                      : count > SHOWN ? "are, of the newest,"
                                      : "are those of",
                      count == 0 ? "" : text.data);
done:
    rgm_text_clear(&text);
    rgm_free(steps);
    return status;
}

rgm_status rgm_checkpoint_load_step(rgm_checkpoint **out, rgm_checkpoint_store *store, int64_t step)
{
    char *path = NULL;
    struct stat info;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(step_path(&path, store, step));
    if (stat(path, &info) < 0)
        RGM_GO(errno == ENOENT ? no_such_step(store, step) : RGM_FAIL_SYSTEM("look at", path));
    if (!S_ISDIR(info.st_mode))
        RGM_GO(no_such_step(store, step));
    RGM_GO(rgmi_checkpoint_load(out, path, &store->options));
    if ((*out)->step != step) {
        status = RGM_FAIL(RGM_ERR_FORMAT, "%s holds step %lld: it was renamed", path,
                          (long long)(*out)->step);
        rgm_checkpoint_release(*out);
        *out = NULL;
    }
done:
    rgm_free(path);
    return status;
}

/*
 * Errors that concern only this checkpoint, so that an older one may be usable: what is missing or
 * wrong, what stands in a file's place, blocks that a disk no longer reads. A checkpoint that is
 * out of reach (no rights, too many open files, a server that is gone) may be as sound as ever.
 */
static bool is_damage(rgm_status status)
{
    static const int errors[] = {0, EIO, EBADMSG, EUCLEAN, EISDIR, ENOTDIR, ELOOP};
    rgm_error error;

    if (status != RGM_ERR_IO)
        return status == RGM_ERR_FORMAT || status == RGM_ERR_NOT_FOUND;
    rgm_error_save(&error, status);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (error.system == errors[i])
            return true;
    return false;
}

/* One pass over the existing steps, newest first; warn: the first one, which says what is wrong. */
static rgm_status load_newest_of(rgm_checkpoint **out, rgm_checkpoint_store *store,
                                 const int64_t *steps, int64_t count, bool warn)
{
    char newest[RGM_MESSAGE_ROOM] = "";

    for (int64_t i = count - 1; i >= 0; i--) {
        rgm_status status = rgm_checkpoint_load_step(out, store, steps[i]);

        if (status == RGM_ERR_IO && !is_damage(status))
            return rgm_error_prefix(status,
                                    "the checkpoint of step %lld cannot be read at the moment, and "
                                    "no older one is taken in its place",
                                    (long long)steps[i]);
        if (!is_damage(status))
            return rgm_error_trace(status, __FILE__, __LINE__, __func__);
        if (warn)
            rgm_log_write(RGM_LOG_WARNING, "skipping the checkpoint of step %lld: %s",
                          (long long)steps[i], rgm_error_message());
        if (newest[0] == 0)
            snprintf(newest, sizeof newest, "%s", rgm_error_message());
        RGM_TRY(RGM_RESERVE(store->damaged, store->damaged_capacity, store->damaged_count + 1));
        store->damaged[store->damaged_count++] = steps[i];
    }
    if (count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no checkpoint in %s", store->folder);
    return RGM_FAIL(RGM_ERR_FORMAT,
                    "none of %lld checkpoints in %s is intact (newest: %s). To start anew, move "
                    "the folder away",
                    (long long)count, store->folder, newest);
}

rgm_status rgm_checkpoint_load_newest(rgm_checkpoint **out, rgm_checkpoint_store *store)
{
    int64_t *steps = NULL, count = 0;
    rgm_status status = RGM_OK;

    *out = NULL;
    /* A trainer may delete old checkpoints during a read: then list again. */
    for (int attempt = 0; attempt < 10; attempt++) {
        store->damaged_count = 0;
        RGM_TRY(rgm_checkpoint_steps(&steps, &count, store));
        status = load_newest_of(out, store, steps, count, attempt == 0);
        rgm_free(steps);
        if (status != RGM_ERR_FORMAT || !store->options.read_only)
            break;
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

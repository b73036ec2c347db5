/*
 * Finding run folders: a walk over the named folders, four levels deep, which follows no symbolic
 * link. Later a folder is listed again only when its time has changed.
 */
#include "index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A name in a folder that is listed. */
typedef struct entry {
    char *name;
    uint64_t id;
    bool is_run, is_folder;
    double modified;
} entry;
typedef struct listing {
    entry *items;
    int64_t count, capacity;
    bool has_master, has_deleted;
} listing;

/* Folders without a run of their own that a walk looks at. */
#define PLACES_A_WALK 4000

static rgm_status walk_place(rgmi_runs *runs, rgmi_run_place *place);

/* ---- places -------------------------------------------------------------------------------- */

static void free_place(rgmi_run_place *place)
{
    if (place == NULL)
        return;
    rgm_free(place->path);
    rgm_free(place->relative);
    rgm_free(place);
}

void rgmi_runs_free_places(rgmi_runs *runs)
{
    for (int64_t i = 0; i < runs->place_count; i++)
        free_place(runs->places[i]);
    rgm_free(runs->places);
}

static rgm_status add_place(rgmi_run_place **out, rgmi_runs *runs, rgmi_run_place *parent,
                            const char *path, const char *relative)
{
    rgmi_run_place *place = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(place, 1));
    RGM_GO(rgm_strdup(&place->path, path));
    RGM_GO(rgm_strdup(&place->relative, relative));
    place->shown = strchr(place->relative, ':') + 1;
    place->parent = parent;
    place->depth = parent != NULL ? parent->depth + 1 : 0;
    place->master = place->experiment = -1;
    RGM_GO(RGM_RESERVE(runs->places, runs->place_capacity, runs->place_count + 1));
    runs->places[runs->place_count++] = place;
    *out = place;
    place = NULL;
done:
    free_place(place);
    return status;
}

/* Where a folder is, or will be: the one above it is there then. */
static rgm_status real_path(char **out, const char *folder)
{
    char *real = realpath(folder, NULL), *above = NULL;
    bool is_there = real != NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(rgm_strdup(&above, folder));
    for (size_t size = strlen(above); size > 1 && above[size - 1] == '/'; size--)
        above[size - 1] = '\0';
    if (is_there && rgm_path_is_folder(real)) {
        status = rgm_strdup(out, real);
    } else if (!is_there && errno == ENOENT) {
        char *slash = strrchr(above, '/');
        const char *name = slash != NULL ? slash + 1 : above;

        real = slash == NULL   ? realpath(".", NULL)
               : slash > above ? (*slash = '\0', realpath(above, NULL))
                               : realpath("/", NULL);
        if (real != NULL)
            RGM_GO(rgm_path_join(out, real, name));
    }
    if (status == RGM_OK && *out == NULL)
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no folder '%s' to look for runs in", folder);
done:
    rgm_free(above);
    free(real);
    return status;
}

rgm_status rgmi_runs_add_root(rgmi_runs *runs, const char *folder)
{
    char *real = NULL, *relative = NULL;
    rgmi_run_place *place;
    rgm_status status = RGM_OK;

    RGM_GO(real_path(&real, folder));
    RGM_GO(rgm_strprintf(&relative, "%lld:%s", (long long)runs->place_count,
                         strcmp(real, "/") != 0 ? strrchr(real, '/') + 1 : ""));
    RGM_GO(add_place(&place, runs, NULL, real, relative));
done:
    rgm_free(relative);
    rgm_free(real);
    return status;
}

/* A number of a master's folders: "12" is experiment 12. */
static int64_t whole_number(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size < 16 && strspn(name, "0123456789") == size ? atoll(name) : -1;
}

/* ---- listing ------------------------------------------------------------------------------- */

static void clear_listing(listing *l)
{
    for (int64_t i = 0; i < l->count; i++)
        rgm_free(l->items[i].name);
    rgm_free(l->items);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static uint64_t id_of(const char *relative)
{
    uint64_t id = rgm_hash64(relative, strlen(relative));

    return id != 0 ? id : 1;
}

static rgm_status child_id(uint64_t *id, const rgmi_run_place *place, const char *name)
{
    char *relative = NULL;

    RGM_TRY(rgm_strprintf(&relative, "%s/%s", place->relative, name));
    *id = id_of(relative);
    rgm_free(relative);
    return RGM_OK;
}

/* Names that may be folders, sorted. What begins with a dot is no run's and is not looked into. */
static rgm_status list_names(listing *l, DIR *directory, const rgmi_run_place *place)
{
    const struct dirent *d;

    while ((d = readdir(directory)) != NULL) {
        entry *e;

        if (strcmp(d->d_name, "master.db") == 0 && (d->d_type == DT_REG || d->d_type == DT_UNKNOWN))
            l->has_master = true;
        l->has_deleted = l->has_deleted || strncmp(d->d_name, ".deleted-", 9) == 0;
        if (d->d_name[0] == '.' || (d->d_type != DT_DIR && d->d_type != DT_UNKNOWN))
            continue;
        RGM_TRY(RGM_RESERVE(l->items, l->capacity, l->count + 1));
        e = &l->items[l->count];
        *e = (entry){.modified = NAN, .is_folder = d->d_type == DT_DIR};
        RGM_TRY(child_id(&e->id, place, d->d_name));
        RGM_TRY(rgm_strdup(&e->name, d->d_name));
        l->count++;
    }
    if (l->count > 1)
        qsort(l->items, (size_t)l->count, sizeof *l->items, by_name);
    return RGM_OK;
}

/* rgm_run_folder_exists() and the time of the last measurement, by as few calls as can be. */
static bool look_for_run(double *modified, int folder, const char *name)
{
    static const char *const files[] = {"metrics.jsonl", ".lock"};
    char path[NAME_MAX + 32];
    struct stat info;

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s%s%s", name, *name != 0 ? "/" : "", files[i]);
        if (fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW) == 0) {
            *modified = (double)info.st_mtim.tv_sec;
            return true;
        }
    }
    return false;
}

/* Which of the names are runs. Those that were known as such need no call. */
static void sort_out(listing *l, rgmi_runs *runs, int folder)
{
    struct stat info;

    pthread_mutex_lock(&runs->lock);
    for (int64_t i = 0; i < l->count; i++)
        l->items[i].is_run = rgmi_runs_find(runs, l->items[i].id) != NULL;
    pthread_mutex_unlock(&runs->lock);
    for (int64_t i = 0; i < l->count; i++) {
        entry *e = &l->items[i];

        if (e->is_run)
            continue;
        /* A link to a folder has files too. */
        if (!e->is_folder)
            e->is_folder =
                fstatat(folder, e->name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
        e->is_run = e->is_folder && look_for_run(&e->modified, folder, e->name);
    }
}

/* A listing is sure of what it saw when the folder's time is well behind: times have ticks. */
static void note_time(rgmi_run_place *place, const struct stat *info)
{
    place->changed = info->st_mtim;
    place->sure = (double)info->st_mtim.tv_sec + 2 < rgm_wall_time();
}

/* ---- runs ---------------------------------------------------------------------------------- */

static rgm_status name_of(char **out, const rgmi_run_place *place, const char *name)
{
    return place->experiment >= 0
               ? rgm_strprintf(out, "%lld/%s", (long long)place->experiment, name)
               : rgm_strdup(out, name);
}

static rgm_status add_run(rgmi_runs *runs, rgmi_run_place *place, const char *path,
                          const char *name, uint64_t id, double modified, int64_t mark)
{
    rgmi_run_row draft = rgmi_run_row_empty(RGMI_RUN, id);
    rgmi_known_run *run = NULL;
    char *shown = NULL;
    rgm_status status = RGM_OK;

    if (place->experiment >= 0 && whole_number(name) >= 0) {
        draft.kind = RGMI_TRIAL;
        draft.master = place->master > 0 ? place->master : -1;
        draft.experiment = place->experiment;
        draft.trial = whole_number(name);
    }
    RGM_GO(name_of(&shown, place, name));
    draft.modified = modified;
    draft.text[RGMI_TEXT_PATH] = path;
    draft.text[RGMI_TEXT_NAME] = shown;
    draft.text[RGMI_TEXT_FOLDER] = place->shown;
    pthread_mutex_lock(&runs->lock);
    run = rgmi_runs_find(runs, id);
    if (run == NULL)
        status = rgmi_runs_add(&run, runs, &draft);
    if (run != NULL) {
        run->place = place;
        run->mark = mark;
    }
    pthread_mutex_unlock(&runs->lock);
done:
    rgm_free(shown);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

typedef struct marked {
    const rgmi_run_place *place;
    int64_t mark;
} marked;

static bool is_unmarked(const rgmi_known_run *run, const void *payload)
{
    const marked *m = payload;

    return run->place == m->place && run->mark != m->mark;
}

static bool is_below(const rgmi_run_place *place, const rgmi_run_place *above)
{
    for (; place != NULL; place = place->parent)
        if (place == above)
            return true;
    return false;
}

static bool is_run_below(const rgmi_known_run *run, const void *payload)
{
    return is_below(run->place, payload);
}

/* Forget what is below a place, and the place itself when `with_it`. */
static void drop_below(rgmi_runs *runs, const rgmi_run_place *above, bool with_it)
{
    rgmi_run_place **gone = runs->places;
    int64_t kept = 0;

    pthread_mutex_lock(&runs->lock);
    rgmi_runs_drop(runs, is_run_below, above);
    pthread_mutex_unlock(&runs->lock);
    /* What is below stands behind what is above: freed from the end, parents are there to ask. */
    for (int64_t i = runs->place_count - 1; i >= 0; i--) {
        rgmi_run_place *place = runs->places[i];

        if (is_below(place, above) && (with_it || place != above)) {
            runs->places[i] = NULL;
            free_place(place);
            if (place == above)
                break;
        }
    }
    for (int64_t i = 0; i < runs->place_count; i++)
        if (gone[i] != NULL)
            runs->places[kept++] = gone[i];
    runs->place_count = kept;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* The places right in one, by path. */
typedef struct children {
    rgmi_run_place **items;
    int64_t count, capacity;
} children;

static int by_path(const void *a, const void *b)
{
    return strcmp((*(rgmi_run_place *const *)a)->path, (*(rgmi_run_place *const *)b)->path);
}

static rgm_status find_children(children *found, const rgmi_runs *runs, const rgmi_run_place *place)
{
    for (int64_t i = 0; place->listed && i < runs->place_count; i++)
        if (runs->places[i]->parent == place) {
            RGM_TRY(RGM_RESERVE(found->items, found->capacity, found->count + 1));
            found->items[found->count++] = runs->places[i];
        }
    if (found->count > 1)
        qsort(found->items, (size_t)found->count, sizeof *found->items, by_path);
    return RGM_OK;
}

static rgmi_run_place *find_child(const children *all, const char *path)
{
    int64_t low = 0, high = all->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(all->items[middle]->path, path);

        if (order == 0)
            return all->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_room_for_place(rgmi_runs *runs, const char *path)
{
    if (runs->place_count < RGMI_MOST_PLACES)
        return true;
    if (!runs->too_many)
        rgm_log_write(RGM_LOG_WARNING,
                      "%s: there are more than %d folders that are no runs; this one and others "
                      "are not looked into. Name the folders of runs themselves",
                      path, RGMI_MOST_PLACES);
    runs->too_many = true;
    return false;
}

static rgm_status walk_child(rgmi_runs *runs, rgmi_run_place *place, const children *known,
                             const char *path, const char *name, int64_t mark)
{
    rgmi_run_place *child = find_child(known, path);
    char *relative = NULL;
    rgm_status status = RGM_OK;

    if (child != NULL) {
        child->mark = mark;
        return RGM_OK;
    }
    if (!is_room_for_place(runs, path))
        return RGM_OK;
    RGM_GO(rgm_strprintf(&relative, "%s/%s", place->relative, name));
    RGM_GO(add_place(&child, runs, place, path, relative));
    child->mark = mark;
    if (place->master >= 0 && place->experiment < 0)
        child->experiment = whole_number(name);
    if (child->experiment >= 0)
        child->master = place->master;
    RGM_GO(walk_place(runs, child));
done:
    rgm_free(relative);
    return status;
}

/* Children that a listing has not met are gone. */
static void drop_unmarked(rgmi_runs *runs, const rgmi_run_place *place, int64_t mark)
{
    const marked m = {place, mark};

    pthread_mutex_lock(&runs->lock);
    rgmi_runs_drop(runs, is_unmarked, &m);
    pthread_mutex_unlock(&runs->lock);
    for (int64_t i = runs->place_count - 1; i >= 0; i--) {
        const rgmi_run_place *child = runs->places[i];

        if (child->parent == place && child->mark != mark) {
            drop_below(runs, child, true);
            i = runs->place_count;
        }
    }
}

static rgm_status walk_entries(rgmi_runs *runs, rgmi_run_place *place, const listing *l)
{
    int64_t mark = ++runs->marks;
    children known = {0};
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(find_children(&known, runs, place));
    for (int64_t i = 0; i < l->count && !runs->stop; i++) {
        const entry *e = &l->items[i];

        rgm_free(path);
        path = NULL;
        RGM_GO(rgm_path_join(&path, place->path, e->name));
        if (e->is_run)
            RGM_GO(add_run(runs, place, path, e->name, e->id, e->modified, mark));
        else if (e->is_folder)
            RGM_GO(walk_child(runs, place, &known, path, e->name, mark));
    }
    drop_unmarked(runs, place, mark);
    place->listed = true;
done:
    rgm_free(path);
    rgm_free(known.items);
    return status;
}

static void tell_too_many_masters(const rgmi_runs *runs, const char *path)
{
    if (!runs->too_many_masters)
        rgm_log_write(RGM_LOG_WARNING,
                      "%s: there are more than %d folders of masters; the searches of this one and "
                      "others are not shown, their trials are. Name fewer folders to one server",
                      path, RGMI_MOST_MASTERS);
}

/* Its trials are trials, with a number for the master or without: nobody deletes them here. */
static rgm_status note_master(rgmi_runs *runs, rgmi_run_place *place)
{
    bool has_number = runs->master_count < RGMI_MOST_MASTERS;
    char *copy = NULL;

    if (place->master >= 0)
        return RGM_OK;
    if (has_number)
        RGM_TRY(rgm_strdup(&copy, place->path));
    else
        tell_too_many_masters(runs, place->path);
    drop_below(runs, place, false); /* what was found as plain runs is trials */
    place->listed = false;
    pthread_mutex_lock(&runs->lock);
    place->master = has_number ? runs->master_count + 1 : 0;
    if (has_number)
        runs->masters[runs->master_count++] = copy;
    else
        runs->too_many_masters = true;
    runs->version++;
    pthread_mutex_unlock(&runs->lock);
    return RGM_OK;
}

/* A place in which a trainer has begun is a run from now on. The place is gone then. */
static rgm_status become_run(rgmi_runs *runs, rgmi_run_place *place, double modified)
{
    const char *name = strrchr(place->path, '/') + 1;
    rgmi_run_place *parent = place->parent;

    if (parent == NULL) {
        if (!place->is_run)
            drop_below(runs, place, false);
        place->is_run = true;
        return add_run(runs, place, place->path, name, id_of(place->relative), modified, 0);
    }
    RGM_TRY(
        add_run(runs, parent, place->path, name, id_of(place->relative), modified, place->mark));
    drop_below(runs, place, true);
    return RGM_OK;
}

static rgm_status list_place(rgmi_runs *runs, rgmi_run_place *place, DIR *directory)
{
    listing l = {0};
    rgm_status status = RGM_OK;

    RGM_GO(list_names(&l, directory, place));
    sort_out(&l, runs, dirfd(directory));
    if (l.has_deleted) /* a server that was killed while it deleted a run */
        RGM_GO(rgm_run_folder_sweep(place->path));
    if (l.has_master)
        RGM_GO(note_master(runs, place));
    RGM_GO(walk_entries(runs, place, &l));
done:
    clear_listing(&l);
    return status;
}

/* A folder that cannot be read is told once, in the log, and has no runs. */
static rgm_status give_up(rgmi_runs *runs, rgmi_run_place *place, int error)
{
    if (error != ENOENT && error != ENOTDIR && !place->refused)
        rgm_log_write(RGM_LOG_WARNING, "%s: cannot look for runs: %s", place->path,
                      strerror(error));
    place->refused = true;
    place->is_run = place->listed = false;
    drop_below(runs, place, false);
    return RGM_OK;
}

static rgm_status walk_place(rgmi_runs *runs, rgmi_run_place *place)
{
    int fd = open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = NULL;
    struct stat info;
    double modified = NAN;
    rgm_status status = RGM_OK;

    if (fd < 0 || fstat(fd, &info) < 0) {
        status = give_up(runs, place, errno);
        goto done;
    }
    note_time(place, &info);
    place->refused = false;
    if (look_for_run(&modified, fd, "")) {
        status = become_run(runs, place, modified);
        goto done;
    }
    place->is_run = false;
    if (place->depth >= RGMI_DEEPEST)
        goto done;
    directory = fdopendir(fd);
    if (directory == NULL) {
        status = give_up(runs, place, errno);
        goto done;
    }
    fd = -1;
    status = list_place(runs, place, directory);
    if (status != RGM_OK)
        place->sure = false; /* again, with the next walk */
done:
    if (directory != NULL)
        closedir(directory);
    if (fd >= 0)
        close(fd);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static bool has_changed(const rgmi_run_place *place)
{
    struct stat info;

    if (!place->sure || lstat(place->path, &info) < 0)
        return true;
    return info.st_mtim.tv_sec != place->changed.tv_sec ||
           info.st_mtim.tv_nsec != place->changed.tv_nsec;
}

rgm_status rgmi_runs_walk(rgmi_runs *runs)
{
    int64_t begin = runs->place_round, left = PLACES_A_WALK;

    /* What a walk adds stands behind and is fresh; what it drops, the next one comes by. */
    for (int64_t i = begin; i < runs->place_count && left > 0 && !runs->stop; i++, left--) {
        runs->place_round = i + 1;
        if (has_changed(runs->places[i]))
            RGM_TRY(walk_place(runs, runs->places[i]));
    }
    if (runs->place_round >= runs->place_count)
        runs->place_round = 0;
    return RGM_OK;
}

/*
 * Paths and folders: make, list, sync, remove, match. Sorting is by bytes, the same in every
 * locale.
 */
#include "base_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

rgm_status rgm_path_join(char **out, const char *folder, const char *name)
{
    size_t n = strlen(folder);
    const char *slash = n == 0 || folder[n - 1] == '/' ? "" : "/";

    RGM_TRY(rgm_strprintf(out, "%s%s%s", folder, slash, name));
    return RGM_OK;
}

rgm_status rgm_path_in(char **out, const char *folder, const char *name)
{
    RGM_TRY(name[0] == '/' ? rgm_strdup(out, name) : rgm_path_join(out, folder, name));
    return RGM_OK;
}

bool rgm_path_exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

bool rgm_path_is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool rgm_folder_has(const char *folder, const char *name)
{
    char path[PATH_MAX]; /* nothing is at a longer one */
    const char *slash = folder[0] == 0 ? "" : "/";

    return snprintf(path, sizeof path, "%s%s%s", folder, slash, name) < (int)sizeof path &&
           rgm_path_exists(path);
}

rgm_status rgm_folder_make(const char *path)
{
    rgm_status status = RGM_OK;
    char *part = NULL;

    RGM_GO(rgm_strdup(&part, path));
    for (char *end = part;;) {
        char kept;
        end += strspn(end, "/");
        end += strcspn(end, "/");
        kept = *end;
        *end = 0;
        if (mkdir(part, 0777) != 0) { /* EEXIST, but also EROFS or EACCES on the way */
            int error = errno;
            if (!rgm_path_is_folder(part)) {
                errno = error;
                RGM_GO(RGM_FAIL_SYSTEM("make the folder", part));
            }
        }
        *end = kept;
        if (kept == 0)
            break;
    }
done:
    rgm_free(part);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static rgm_status add_name(char ***names, int64_t *count, int64_t *capacity, const char *name)
{
    RGM_TRY(RGM_RESERVE(*names, *capacity, *count + 1));
    RGM_TRY(rgm_strdup(&(*names)[*count], name));
    (*count)++;
    return RGM_OK;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

rgm_status rgm_folder_list(char ***names, int64_t *count, const char *path)
{
    rgm_status status = RGM_OK;
    char **list = NULL;
    int64_t n = 0, capacity = 0;
    DIR *folder = opendir(path);
    struct dirent *item;

    *names = NULL;
    *count = 0;
    if (folder == NULL)
        RGM_GO(RGM_FAIL_SYSTEM("list", path));
    while ((void)(errno = 0), (item = readdir(folder)) != NULL)
        if (!is_dots(item->d_name))
            RGM_GO(add_name(&list, &n, &capacity, item->d_name));
    if (errno != 0)
        RGM_GO(RGM_FAIL_SYSTEM("list", path));
    if (n > 0)
        qsort(list, (size_t)n, sizeof *list, compare_names);
    *names = list;
    *count = n;
    list = NULL;
done:
    rgm_names_release(list, n);
    if (folder != NULL)
        closedir(folder);
    return status;
}

void rgm_names_release(char **names, int64_t count)
{
    if (names == NULL)
        return;
    for (int64_t i = 0; i < count; i++)
        rgm_free(names[i]);
    rgm_free(names);
}

/* A folder opened by name under another, a link never followed. */
static DIR *open_inside(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;

    if (fd >= 0 && folder == NULL)
        close(fd);
    return folder;
}

/* A folder that is being removed. */
typedef struct removal {
    DIR *root;
    int next; /* the first number not given to a folder that was moved up: tried from 0 each time,
                 20,000 of them took minutes */
} removal;

/* Give folder `name` in `from` a free name in the root. */
static int move_up(removal *r, int from, const char *name)
{
    char target[64];

    for (int i = 0; i < 1000000; i++) {
        snprintf(target, sizeof target, ".removed-%ld-%d", (long)getpid(), r->next);
        r->next = r->next < INT_MAX ? r->next + 1 : 0;
        if (renameat(from, name, dirfd(r->root), target) == 0)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
            return -1;
    }
    return -1;
}

/* Remove what is in `name`, a folder in the root: files at once, folders by moving them up to the
 * root, where a later pass meets them. So depth costs neither stack nor descriptors. */
static int empty_inside(removal *r, const char *name)
{
    DIR *folder = open_inside(dirfd(r->root), name);
    struct dirent *item;
    int error;

    if (folder == NULL)
        return -1;
    for (;;) {
        errno = 0;
        item = readdir(folder);
        if (item == NULL)
            break;
        if (is_dots(item->d_name) || unlinkat(dirfd(folder), item->d_name, 0) == 0)
            continue;
        if ((errno != EISDIR && errno != EPERM) || move_up(r, dirfd(folder), item->d_name) != 0)
            break;
    }
    error = errno;
    closedir(folder);
    errno = error;
    return error == 0 ? 0 : -1;
}

/* One pass over the root; *left says whether anything was met. */
static int remove_pass(removal *r, bool *left)
{
    struct dirent *item;
    int fd = dirfd(r->root);

    *left = false;
    rewinddir(r->root);
    while ((void)(errno = 0), (item = readdir(r->root)) != NULL) {
        const char *name = item->d_name;
        if (is_dots(name))
            continue;
        *left = true;
        if (unlinkat(fd, name, 0) == 0)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return -1;
        while (unlinkat(fd, name, AT_REMOVEDIR) != 0)
            if ((errno != ENOTEMPTY && errno != EEXIST) || empty_inside(r, name) != 0)
                return -1;
    }
    return errno == 0 ? 0 : -1;
}

rgm_status rgm_folder_remove(const char *path)
{
    rgm_status status = RGM_OK;
    struct stat info;
    removal r = {.root = NULL};
    bool left = true;

    if (lstat(path, &info) != 0)
        return RGM_FAIL_SYSTEM("remove", path);
    if (!S_ISDIR(info.st_mode)) {
        if (unlink(path) != 0)
            return RGM_FAIL_SYSTEM("remove", path);
        return RGM_OK;
    }
    r.root = open_inside(AT_FDCWD, path);
    if (r.root == NULL)
        RGM_GO(RGM_FAIL_SYSTEM("open the folder", path));
    while (left)
        if (remove_pass(&r, &left) != 0)
            RGM_GO(RGM_FAIL_SYSTEM("empty the folder", path));
    if (rmdir(path) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("remove the folder", path));
done:
    if (r.root != NULL)
        closedir(r.root);
    return status;
}

rgm_status rgm_sync(int fd, const char *path)
{
    int result;

    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return RGM_FAIL_SYSTEM("sync", path);
    return RGM_OK;
}

rgm_status rgm_folder_sync(const char *path)
{
    rgm_status status = RGM_OK;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return RGM_FAIL_SYSTEM("open the folder", path);
    RGM_GO(rgm_sync(fd, path));
done:
    close(fd);
    return status;
}

rgm_status rgmi_parent_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        RGM_TRY(rgm_strdup(out, "."));
    else
        RGM_TRY(rgm_strndup(out, path, slash == path ? 1 : (size_t)(slash - path)));
    return RGM_OK;
}

/* For file systems that cannot exchange names: a moment without either. */
static rgm_status replace(const char *made, const char *path)
{
    rgm_status status = RGM_OK;
    char *aside = NULL;

    RGM_GO(rgm_strprintf(&aside, "%s.old", made));
    if (rename(path, aside) != 0 || rename(made, path) != 0 || rename(aside, made) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("replace", path));
done:
    rgm_free(aside);
    return status;
}

static rgm_status change_names(const char *made, const char *path)
{
    if (!rgm_path_exists(path)) {
        if (rename(made, path) != 0)
            return RGM_FAIL_SYSTEM("rename to", path);
        return RGM_OK;
    }
    if (renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return RGM_OK;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return RGM_FAIL_SYSTEM("exchange with the new one", path);
    return replace(made, path);
}

rgm_status rgm_folder_publish(const char *made, const char *path)
{
    rgm_status status = RGM_OK;
    char *parent = NULL;

    RGM_GO(rgmi_parent_of(&parent, path));
    RGM_GO(change_names(made, path));
    RGM_GO(rgm_folder_sync(parent));
done:
    rgm_free(parent);
    return status;
}

/* The bytes of a pattern up to the last folder that is there by the very name. */
static size_t folder_size(const char *pattern)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s", pattern) >= (int)sizeof path)
        return 0;
    for (char *slash; (slash = strrchr(path, '/')) != NULL;) {
        *slash = '\0';
        if (rgm_path_is_folder(path))
            return (size_t)(slash - path);
    }
    return 0;
}

/* A folder that is there means itself, whatever signs its name has; the pattern begins behind. */
static rgm_status quote_folder(char **out, const char *pattern)
{
    size_t folder = folder_size(pattern), size = 0;

    RGM_TRY(RGM_NEW(*out, 2 * (int64_t)strlen(pattern) + 1));
    for (size_t i = 0; pattern[i] != '\0'; i++) {
        if (i < folder && strchr("*?[\\", pattern[i]) != NULL)
            (*out)[size++] = '\\';
        (*out)[size++] = pattern[i];
    }
    return RGM_OK;
}

static rgm_status find_files(glob_t *found, const char *pattern)
{
    char *quoted;
    int result;

    RGM_TRY(quote_folder(&quoted, pattern));
    result = glob(quoted, GLOB_NOSORT, NULL, found);
    rgm_free(quoted);
    if (result == GLOB_NOMATCH)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no file matches '%s'", pattern);
    if (result != 0)
        return RGM_FAIL(result == GLOB_NOSPACE ? RGM_ERR_NOMEM : RGM_ERR_IO, "cannot look for '%s'",
                        pattern);
    return RGM_OK;
}

rgm_status rgm_glob(char ***names, int64_t *count, const char *pattern)
{
    rgm_status status = RGM_OK;
    char **list = NULL;
    int64_t n = 0, capacity = 0;
    glob_t found = {0};

    *names = NULL;
    *count = 0;
    if (rgm_path_exists(pattern)) /* perhaps a file whose own name has brackets */
        RGM_GO(add_name(&list, &n, &capacity, pattern));
    else
        RGM_GO(find_files(&found, pattern));
    for (size_t i = 0; i < found.gl_pathc; i++)
        RGM_GO(add_name(&list, &n, &capacity, found.gl_pathv[i]));
    qsort(list, (size_t)n, sizeof *list, compare_names);
    *names = list;
    *count = n;
    list = NULL;
done:
    rgm_names_release(list, n);
    globfree(&found);
    return status;
}

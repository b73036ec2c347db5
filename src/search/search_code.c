/*
 * The code of a search: which files it is, and copies of them.
 */
#include <regimen/search_code.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "search_file_internal.h"

enum { MOST_DEPTH = 32 };

/* What is being collected. */
typedef struct collection {
    rgm_code *code;
    char *folder;
} collection;

static rgm_code_file *find(const rgm_code *code, const char *path)
{
    for (int64_t i = 0; i < code->count; i++)
        if (strcmp(code->files[i].path, path) == 0)
            return &code->files[i];
    return NULL;
}

rgm_status rgm_code_add(rgm_code *code, const char *path, int64_t size, bool is_executable,
                        const char *hash)
{
    int64_t at = code->count;
    char *copy;

    RGM_TRY(RGM_RESERVE(code->files, code->capacity, code->count + 1));
    RGM_TRY(rgm_strdup(&copy, path));
    while (at > 0 && strcmp(code->files[at - 1].path, path) > 0)
        at--;
    memmove(code->files + at + 1, code->files + at,
            (size_t)(code->count++ - at) * sizeof *code->files);
    code->files[at] = (rgm_code_file){.path = copy, .size = size, .is_executable = is_executable};
    snprintf(code->files[at].hash, sizeof code->files[at].hash, "%s", hash);
    code->bytes += size;
    return RGM_OK;
}

void rgm_code_clear(rgm_code *code)
{
    for (int64_t i = 0; i < code->count; i++) {
        rgm_free(code->files[i].path);
        rgm_free(code->files[i].data);
    }
    rgm_free(code->files);
    *code = (rgm_code){0};
}

static void print_hash(char out[17], const char *data, int64_t size)
{
    snprintf(out, 17, "%016" PRIx64, rgm_hash64(data, (size_t)size));
}

/* Of one file its own, as experiments of before have it. */
static rgm_status find_hash(rgm_code *code)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    code->hash[0] = '\0';
    if (code->count == 1)
        memcpy(code->hash, code->files[0].hash, sizeof code->hash);
    if (code->count <= 1)
        return RGM_OK;
    for (int64_t i = 0; i < code->count; i++)
        RGM_GO(rgm_text_printf(&text, "%s %d %s\n", code->files[i].hash,
                               code->files[i].is_executable, code->files[i].path));
    print_hash(code->hash, text.data, text.size);
done:
    rgm_text_clear(&text);
    return status;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A path that is kept is one below a folder, and none of it is hidden. */
static rgm_status check_name(const char *name)
{
    bool is_hidden = name[0] == '.' || strstr(name, "/.") != NULL || strstr(name, "//") != NULL;

    if (is_hidden || strlen(name) > 255)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "'%s' cannot be kept as code: its path is longer than 255 bytes, or a part "
                        "of it is empty or begins with a dot",
                        name);
    return RGM_OK;
}

/* The file at `path`, kept as `name`; once, however often it is named. */
static rgm_status take_file(rgm_code *code, const char *path, const char *name, int64_t most)
{
    rgm_status status = RGM_OK;
    char *data = NULL, hash[17];
    struct stat info;
    int64_t size;

    if (find(code, name) != NULL)
        return RGM_OK;
    RGM_TRY(check_name(name));
    if (stat(path, &info) != 0)
        return RGM_FAIL_SYSTEM("look at", path);
    if (code->count >= RGM_CODE_FILES || code->bytes + info.st_size > most)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "include: with %s there are more than %d files or %d MiB of code, which is "
                        "kept for each search; data are no code: name them by an absolute path",
                        path, (int)RGM_CODE_FILES, (int)(most >> 20));
    RGM_GO(rgm_file_load(&data, &size, path, most));
    print_hash(hash, data, size);
    RGM_GO(rgm_code_add(code, name, size, (info.st_mode & S_IXUSR) != 0, hash));
    find(code, name)->data = data;
    data = NULL;
done:
    rgm_free(data);
    return status;
}

static bool is_skipped(const char *name)
{
    size_t size = strlen(name);

    return name[0] == '.' || strcmp(name, "__pycache__") == 0 ||
           (size > 4 && strcmp(name + size - 4, ".pyc") == 0);
}

/* A file, or a folder with all that is in it. `name`: below the code's folder. */
static rgm_status take_path(const collection *c, const char *name, int depth)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL, *inside = NULL;
    int64_t count = 0;

    RGM_GO(rgm_path_join(&path, c->folder, name));
    if (!rgm_path_is_folder(path)) {
        RGM_GO(take_file(c->code, path, name, RGM_CODE_BYTES));
        goto done;
    }
    if (depth >= MOST_DEPTH)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "include: %s is %d folders deep, or a link to a folder that "
                        "it lies in",
                        path, (int)MOST_DEPTH));
    RGM_GO(rgm_folder_list(&names, &count, path));
    for (int64_t i = 0; i < count; i++) {
        if (is_skipped(names[i]))
            continue;
        rgm_free(inside);
        inside = NULL;
        RGM_GO(rgm_path_join(&inside, name, names[i]));
        RGM_GO(take_path(c, inside, depth + 1));
    }
done:
    rgm_names_release(names, count);
    rgm_free(path);
    rgm_free(inside);
    return status;
}

/* "a/../b" and "../b": what leads out of a folder, or may. */
static bool leads_out(const char *path)
{
    for (const char *at = path; at != NULL; at = strchr(at, '/'), at += at != NULL)
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
    return path[0] == '/';
}

static const char *without_dot(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        for (path += 2; *path == '/'; path++)
            ;
    return path;
}

static rgm_status take_pattern(const collection *c, const char *pattern)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL;
    int64_t count = 0, used = (int64_t)strlen(c->folder) + 1;

    if (leads_out(pattern) || *without_dot(pattern) == '\0')
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "include: '%s' is no pattern of files below the code's folder, %s; "
                        "code_folder names another folder",
                        pattern, c->folder);
    RGM_GO(rgm_path_join(&path, c->folder, without_dot(pattern)));
    status = rgm_glob(&names, &count, path);
    if (status == RGM_ERR_NOT_FOUND)
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "include: nothing matches %s", path);
    RGM_GO(status);
    for (int64_t i = 0; i < count; i++) {
        const char *slash = strrchr(names[i], '/');

        if (!is_skipped(slash != NULL ? slash + 1 : names[i]))
            RGM_GO(take_path(c, names[i] + used, 0));
    }
done:
    rgm_names_release(names, count);
    rgm_free(path);
    return status;
}

/* ---- the entrypoint ------------------------------------------------------------------------- */

static rgm_status take_object(rgm_code *code, const char *entrypoint, const char *working_folder)
{
    const char *colon = strrchr(entrypoint, ':');
    rgm_status status = RGM_OK;
    char *object = NULL, *path = NULL;
    const char *slash;

    RGM_GO(rgm_strndup(&object, entrypoint,
                       colon != NULL ? (size_t)(colon - entrypoint) : strlen(entrypoint)));
    if (object[0] == '/')
        RGM_GO(rgm_strdup(&path, object));
    else
        RGM_GO(rgm_path_join(&path, working_folder, object));
    if (!rgm_path_exists(path))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "entrypoint: there is no %s%s", path,
                        strchr(object, ' ') != NULL
                            ? " (a command is a list of words: [python3, train.py])"
                            : ""));
    if (rgm_path_is_folder(path))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "entrypoint: %s is a folder", path));
    slash = strrchr(object, '/');
    RGM_GO(rgm_error_prefix(
        take_file(code, path, slash != NULL ? slash + 1 : object, RGM_CODE_OBJECT), "entrypoint"));
done:
    rgm_free(object);
    rgm_free(path);
    return status;
}

/* A program that is no path is looked for as a shell does. */
static rgm_status check_program(const collection *c, const char *word)
{
    const char *folders = getenv("PATH");
    rgm_status status = RGM_OK;
    char *path = NULL;
    bool is_there = strchr(word, '/') != NULL || strchr(word, '{') != NULL;

    while (!is_there && folders != NULL && *folders != '\0') {
        size_t size = strcspn(folders, ":");

        rgm_free(path);
        RGM_GO(rgm_strprintf(&path, "%.*s/%s", (int)size, folders, word));
        is_there = access(path, X_OK) == 0;
        folders += size + (folders[size] == ':');
    }
    if (is_there)
        goto done;
    rgm_free(path);
    RGM_GO(rgm_path_join(&path, c->folder, word));
    RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "entrypoint: there is no program '%s' on the PATH%s%s", word,
                    rgm_path_exists(path) ? "; the one beside the file is ./" : "",
                    rgm_path_exists(path) ? word : ""));
done:
    rgm_free(path);
    return status;
}

/* A word that is a file's path names code. */
static rgm_status take_word(const collection *c, const char *word)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    struct stat info;

    if (word[0] == '/' || word[0] == '\0')
        return RGM_OK;
    RGM_GO(rgm_path_join(&path, c->folder, without_dot(word)));
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        goto done;
    if (leads_out(word))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "entrypoint: '%s' is outside of the code's folder, %s: name a folder above "
                        "both by code_folder",
                        word, c->folder));
    RGM_GO(take_file(c->code, path, without_dot(word), RGM_CODE_BYTES));
done:
    rgm_free(path);
    return status;
}

static rgm_status take_command(const collection *c, const rgm_texts *words)
{
    const char *first = words->items[0];

    RGM_TRY(check_program(c, first));
    if (strchr(first, '/') != NULL)
        RGM_TRY(take_word(c, first));
    if (first[0] != '/' && strchr(first, '/') != NULL && strchr(first, '{') == NULL &&
        find(c->code, without_dot(first)) == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "entrypoint: there is no %s in %s", first, c->folder);
    for (int64_t i = 1; i < words->count; i++)
        RGM_TRY(take_word(c, words->items[i]));
    return RGM_OK;
}

static rgm_status find_folder(char **out, const rgm_search_settings *o, const char *working_folder)
{
    const char *folder = o->code_folder;

    if (folder == NULL)
        RGM_TRY(rgm_strdup(out, working_folder));
    else if (folder[0] == '/')
        RGM_TRY(rgm_strdup(out, folder));
    else
        RGM_TRY(rgm_path_join(out, working_folder, folder));
    for (size_t size = strlen(*out); size > 1 && (*out)[size - 1] == '/'; size--)
        (*out)[size - 1] = '\0';
    return rgm_path_is_folder(*out)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_NOT_FOUND, "code_folder: there is no folder %s", *out);
}

rgm_status rgm_code_collect(rgm_code *out, const rgm_search_file *file, const char *working_folder)
{
    const rgm_search_settings *o = rgm_search_file_settings(file);
    rgm_status status = RGM_OK;
    collection c = {.code = out};

    *out = (rgm_code){0};
    if (o->entrypoint != NULL)
        RGM_GO(take_object(out, o->entrypoint, working_folder));
    if (o->command.count > 0 || o->include.count > 0)
        RGM_GO(find_folder(&c.folder, o, working_folder));
    if (o->command.count > 0)
        RGM_GO(take_command(&c, &o->command));
    for (int64_t i = 0; i < o->include.count; i++)
        RGM_GO(take_pattern(&c, o->include.items[i]));
    RGM_GO(find_hash(out));
done:
    rgm_free(c.folder);
    return status;
}

/* ---- copies --------------------------------------------------------------------------------- */

static rgm_status make_folder_of(const char *path)
{
    char *folder;
    rgm_status status;

    RGM_TRY(rgm_strndup(&folder, path, (size_t)(strrchr(path, '/') - path)));
    status = rgm_folder_make(folder);
    rgm_free(folder);
    return status;
}

/* Whether `from` has these bytes, and `to` is now another name of it. */
static bool link_same(const rgm_code_file *f, const char *to, const char *from)
{
    char *data = NULL;
    int64_t size = 0;
    bool is_linked = false;

    if (rgm_file_load(&data, &size, from, f->size) != RGM_OK)
        rgm_error_reset(); /* it is not there, or longer */
    else if (size == f->size && memcmp(data, f->data, (size_t)size) == 0)
        is_linked = link(from, to) == 0;
    rgm_free(data);
    return is_linked;
}

static rgm_status copy_file(const rgm_code_file *f, const char *folder, const char *same,
                            mode_t mode)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *from = NULL;

    RGM_GO(rgm_path_join(&path, folder, f->path));
    RGM_GO(make_folder_of(path));
    unlink(path);
    if (same != NULL)
        RGM_GO(rgm_path_join(&from, same, f->path));
    if (from != NULL && link_same(f, path, from))
        goto done;
    RGM_GO(rgm_file_create(path, f->data, f->size));
    if (chmod(path, f->is_executable ? mode | 0111 : mode) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("protect", path));
done:
    rgm_free(path);
    rgm_free(from);
    return status;
}

rgm_status rgm_code_copy(const rgm_code *code, const char *folder, const char *same, bool is_kept)
{
    RGM_TRY(rgm_folder_make(folder));
    for (int64_t i = 0; i < code->count; i++)
        RGM_TRY(copy_file(&code->files[i], folder, same, is_kept ? 0444 : 0644));
    return rgm_folder_sync(folder);
}

static rgm_status load_checked(char **data, int64_t *size, const rgm_code_file *f,
                               const char *folder, const char *whose)
{
    rgm_status status = RGM_OK;
    char *path = NULL, hash[17];

    *data = NULL;
    RGM_GO(rgm_path_join(&path, folder, f->path));
    RGM_GO(rgm_file_load(data, size, path, RGM_CODE_OBJECT));
    print_hash(hash, *data, *size);
    if (strcmp(hash, f->hash) != 0) {
        rgm_free(*data);
        *data = NULL;
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s is not the code that %s was made with any more", path,
                        whose));
    }
done:
    rgm_free(path);
    return status == RGM_ERR_NOT_FOUND
               ? RGM_FAIL(RGM_ERR_FORMAT, "%s of the code that %s was made with has gone from %s",
                          f->path, whose, folder)
               : status;
}

rgm_status rgm_code_check(const rgm_code *code, const char *folder, const char *whose)
{
    for (int64_t i = 0; i < code->count; i++) {
        char *data;
        int64_t size;

        RGM_TRY(load_checked(&data, &size, &code->files[i], folder, whose));
        rgm_free(data);
    }
    return RGM_OK;
}

rgm_status rgm_code_load(rgm_code *code, const char *folder, const char *whose)
{
    code->bytes = 0;
    for (int64_t i = 0; i < code->count; i++) {
        rgm_code_file *f = &code->files[i];

        if (f->data == NULL)
            RGM_TRY(load_checked(&f->data, &f->size, f, folder, whose));
        code->bytes += f->size;
    }
    return find_hash(code);
}

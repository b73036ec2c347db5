/*
 * Whether a run may continue with another config.yaml: each key that differs is looked up in a
 * table of patterns. Data may lie elsewhere if they are the same: a hash of names, sizes and the
 * ends of files tells other data apart in the time that a folder takes to be listed, where reading
 * all of it could take as long as the run.
 */
#include "run_config.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OTHER_CONTENT "files or contents there are others than at the start"

enum {
    MOST_FILES = 4096, /* whose ends are read for the content of a folder */
    MOST_LEVELS = 8,   /* of folders in it */
    LARGEST_CONTENT = 1 << 20,
    LARGEST_CHANGES = 16 << 20,
    END_BYTES = 16 << 10 /* read at the start and at the end of each file */
};

/* ---- content of data ----------------------------------------------------------------------- */

typedef struct content {
    rgm_text text; /* a line a file: name, size, hash of its ends */
    int64_t files;
} content;

static rgm_status hash_ends(uint64_t *out, const char *path, int64_t size)
{
    char *bytes = NULL;
    int fd = -1;
    int64_t head = size < END_BYTES ? size : END_BYTES,
            tail = size - head < END_BYTES ? size - head : END_BYTES;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(bytes, head + tail + 1));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || pread(fd, bytes, (size_t)head, 0) != head ||
        pread(fd, bytes + head, (size_t)tail, size - tail) != tail)
        status = RGM_FAIL_SYSTEM("read", path);
    else
        *out = rgm_hash64(bytes, (size_t)(head + tail));
done:
    if (fd >= 0)
        close(fd);
    rgm_free(bytes);
    return status;
}

static rgm_status add_path(content *c, const char *path, const char *name, int level);

/* Runs and searches that lie among the data are none. */
static bool is_work(const char *path)
{
    return rgm_folder_has(path, ".lock") || rgm_folder_has(path, "master.db");
}

static rgm_status add_folder(content *c, const char *path, const char *name, int level)
{
    char **names = NULL;
    int64_t count = 0;
    rgm_status status = RGM_OK;

    if (level > 0 && is_work(path))
        return RGM_OK;
    RGM_GO(rgm_folder_list(&names, &count, path));
    for (int64_t i = 0; i < count; i++) {
        char *below = NULL, *shown = NULL;

        status = rgm_path_join(&below, path, names[i]);
        if (status == RGM_OK)
            status = rgm_strprintf(&shown, "%s/%s", name, names[i]);
        if (status == RGM_OK)
            status = add_path(c, below, shown, level + 1);
        rgm_free(below);
        rgm_free(shown);
        if (status < 0)
            goto done;
    }
done:
    rgm_names_release(names, count);
    return status;
}

static rgm_status add_path(content *c, const char *path, const char *name, int level)
{
    struct stat about;
    uint64_t ends = 0;

    if (stat(path, &about) != 0)
        return RGM_FAIL_SYSTEM("look at", path);
    if (S_ISDIR(about.st_mode))
        return level < MOST_LEVELS ? add_folder(c, path, name, level) : RGM_OK;
    if (!S_ISREG(about.st_mode))
        return RGM_OK;
    if (c->files++ < MOST_FILES)
        RGM_TRY(hash_ends(&ends, path, (int64_t)about.st_size));
    return rgm_text_printf(&c->text, "%s %lld %016" PRIx64 "\n", name, (long long)about.st_size,
                           ends);
}

static rgm_status content_of(uint64_t *out, const char *path)
{
    content c = {0};
    rgm_status status = add_path(&c, path, "", 0);

    if (status == RGM_OK)
        *out = rgm_hash64(c.text.data, (size_t)c.text.size);
    rgm_text_clear(&c.text);
    return status;
}

/* content.json: {"data.path": "0123456789abcdef"}. Without it, or without the key, `known` is
 * false. */
static rgm_status content_kept(bool *known, uint64_t *out, const char *run, const char *key)
{
    char *path = NULL, *text = NULL;
    const char *found;
    int64_t size = 0;
    rgm_json *json = NULL;
    rgm_status status = RGM_OK;

    *known = false;
    RGM_GO(rgm_path_join(&path, run, "content.json"));
    if (!rgm_path_exists(path))
        goto done;
    RGM_GO(rgm_file_load(&text, &size, path, LARGEST_CONTENT));
    RGM_GO(rgm_json_parse(&json, text, size, path));
    found = rgm_json_text(rgm_json_find(json, key));
    *known = found != NULL && sscanf(found, "%16" SCNx64, out) == 1;
done:
    rgm_json_release(json);
    rgm_free(text);
    rgm_free(path);
    return status;
}

/* ---- two configurations ---------------------------------------------------------------------- */

typedef struct comparison {
    const rgm_resume_key *keys;
    const char *run; /* its folder, for messages */
    rgmi_config_changes *changes;
} comparison;

/* The first row of a key; NULL: there is none. */
static const rgm_resume_key *row_of(const comparison *c, const char *path)
{
    for (const rgm_resume_key *key = c->keys; key != NULL && key->pattern != NULL; key++)
        if (fnmatch(key->pattern, path, 0) == 0)
            return key;
    return NULL;
}

/* "trainer" and "epochs": "trainer.epochs" */
static rgm_status key_below(char **out, const char *path, const char *name)
{
    return rgm_strprintf(out, "%s%s%s", path, *path != '\0' ? "." : "", name);
}

static rgm_status refuse(const comparison *c, const char *key, const rgm_yaml_node *node,
                         const char *was, const char *is, const char *why)
{
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s was begun with another configuration: line %d, %s was %s and is now %s: "
                    "%s. Take another "
                    "run folder",
                    c->run, node->line, key, *was != '\0' ? was : "not set",
                    *is != '\0' ? is : "not set", why);
}

static rgm_status add_change(const comparison *c, const char *key, rgm_key_rule rule,
                             const char *was, const char *is)
{
    rgmi_config_change *change;

    RGM_TRY(RGM_RESERVE(c->changes->items, c->changes->capacity, c->changes->count + 1));
    change = &c->changes->items[c->changes->count];
    *change = (rgmi_config_change){.rule = rule};
    c->changes->count++; /* so that what it has is freed with the others */
    RGM_TRY(rgm_strdup(&change->key, key));
    RGM_TRY(rgm_strdup(&change->was, was));
    return rgm_strdup(&change->is, is);
}

/* The data lie elsewhere: they are the same, or nobody knows. */
static rgm_status compare_content(const comparison *c, const char *key, const rgm_yaml_node *old,
                                  const rgm_yaml_node *now, const char *was, const char *is)
{
    uint64_t before = 0, after = 0;
    bool known = false;

    if (old == NULL || now == NULL || now->kind != RGM_YAML_SCALAR)
        return refuse(c, key, old != NULL ? old : now, was, is, "these are other data");
    RGM_TRY(content_kept(&known, &before, c->run, key));
    if (!known)
        return add_change(c, key, RGM_KEY_TOLD, was, is);
    RGM_TRY(content_of(&after, now->text));
    if (after != before)
        return refuse(c, key, old, was, is, OTHER_CONTENT);
    return add_change(c, key, RGM_KEY_CONTENT, was, is);
}

static rgm_status compare(const comparison *c, const char *path, const rgm_yaml_node *old,
                          const rgm_yaml_node *now);

static rgm_status compare_below(const comparison *c, const char *path, const rgm_yaml_node *old,
                                const rgm_yaml_node *now, const char *name)
{
    char *below = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(key_below(&below, path, name));
    RGM_GO(compare(c, below, old != NULL ? rgm_yaml_find(old, name) : NULL,
                   now != NULL ? rgm_yaml_find(now, name) : NULL));
done:
    rgm_free(below);
    return status;
}

static bool is_map(const rgm_yaml_node *node)
{
    return node == NULL || node->kind == RGM_YAML_MAP;
}

static rgm_status compare_maps(const comparison *c, const char *path, const rgm_yaml_node *old,
                               const rgm_yaml_node *now)
{
    for (int64_t i = 0; old != NULL && i < old->count; i++)
        RGM_TRY(compare_below(c, path, old, now, old->items[i]->key));
    for (int64_t i = 0; now != NULL && i < now->count; i++)
        if (old == NULL || rgm_yaml_find(old, now->items[i]->key) == NULL)
            RGM_TRY(compare_below(c, path, old, now, now->items[i]->key));
    return RGM_OK;
}

/* Either may be NULL: the key is not set there. */
static rgm_status compare(const comparison *c, const char *path, const rgm_yaml_node *old,
                          const rgm_yaml_node *now)
{
    const rgm_resume_key *row = *path != '\0' ? row_of(c, path) : NULL;
    rgm_key_rule rule = row != NULL ? row->rule : RGM_KEY_FIXED;
    char *was = NULL, *is = NULL;
    rgm_status status = RGM_OK;

    if (row == NULL && is_map(old) && is_map(now))
        return compare_maps(c, path, old, now);
    RGM_GO(rgm_yaml_flow_text(&was, old));
    RGM_GO(rgm_yaml_flow_text(&is, now));
    if (strcmp(was, is) == 0)
        goto done;
    if (rule == RGM_KEY_FIXED)
        status = refuse(c, path, old != NULL ? old : now, was, is,
                        "what was learned would mean something else");
    else if (rule == RGM_KEY_CONTENT)
        status = compare_content(c, path, old, now, was, is);
    else
        status = add_change(c, path, rule, was, is);
done:
    rgm_free(was);
    rgm_free(is);
    return status;
}

rgm_status rgmi_config_compare(rgmi_config_changes *changes, const char *run, const char *old,
                               const char *now, const rgm_resume_key *keys)
{
    rgm_yaml *before = NULL, *after = NULL;
    comparison c = {.keys = keys, .run = run, .changes = changes};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_yaml_parse(&before, old, (int64_t)strlen(old), run));
    RGM_GO(rgm_yaml_parse(&after, now, (int64_t)strlen(now), run));
    RGM_GO(compare(&c, "", rgm_yaml_root(before), rgm_yaml_root(after)));
done:
    rgm_yaml_release(before);
    rgm_yaml_release(after);
    return status;
}

void rgmi_config_changes_clear(rgmi_config_changes *changes)
{
    for (int64_t i = 0; i < changes->count; i++) {
        rgm_free(changes->items[i].key);
        rgm_free(changes->items[i].was);
        rgm_free(changes->items[i].is);
    }
    rgm_free(changes->items);
    *changes = (rgmi_config_changes){0};
}

/* ---- what is kept and told ------------------------------------------------------------------- */

static rgm_status print_change(rgm_text *out, const rgmi_config_change *change, const char *stamp)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, "time", stamp));
    RGM_TRY(rgm_json_write_text(&w, "key", change->key));
    RGM_TRY(rgm_json_write_text(&w, "was", change->was));
    RGM_TRY(rgm_json_write_text(&w, "is", change->is));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_printf(out, "\n");
}

rgm_status rgmi_config_changes_keep(const rgmi_config_changes *changes, const char *run)
{
    char *path = NULL, stamp[32] = "";
    rgm_text text = {0};
    time_t now = (time_t)rgm_wall_time();
    struct tm when;
    int fd = -1;
    rgm_status status = RGM_OK;

    if (changes->count == 0)
        return RGM_OK;
    if (gmtime_r(&now, &when) != NULL)
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &when);
    for (int64_t i = 0; i < changes->count; i++)
        RGM_GO(print_change(&text, &changes->items[i], stamp));
    RGM_GO(rgm_path_join(&path, run, "changes.jsonl"));
    RGM_GO(rgm_path_refuse_pipe(path));
    fd = rgmi_open(path, O_WRONLY | O_CREAT | O_APPEND);
    if (fd < 0) {
        status = RGM_FAIL_SYSTEM("open", path);
        goto done;
    }
    RGM_GO(rgm_write_all(fd, text.data, text.size, path));
    if (fsync(fd) != 0)
        status = RGM_FAIL_SYSTEM("sync", path);
done:
    if (fd >= 0)
        close(fd);
    rgm_text_clear(&text);
    rgm_free(path);
    return status;
}

void rgmi_config_changes_tell(const rgmi_config_changes *changes)
{
    for (int64_t i = 0; i < changes->count; i++) {
        const rgmi_config_change *change = &changes->items[i];

        rgm_log_write(change->rule == RGM_KEY_TOLD ? RGM_LOG_WARNING : RGM_LOG_INFO,
                      "the run continues with another value of %s: it was %s and is now %s%s",
                      change->key, *change->was != '\0' ? change->was : "not set",
                      *change->is != '\0' ? change->is : "not set",
                      change->rule == RGM_KEY_CONTENT ? ", with the same content" : "");
    }
}

/* Whether a line of changes.jsonl, which ends with its '\n', is of such a key. A torn line is none.
 */
static bool is_change_of(const char *line, int64_t size, const char *pattern)
{
    rgm_json *json = NULL;
    const char *key = NULL;
    bool is;

    if (rgm_json_parse(&json, line, size, "changes.jsonl") == RGM_OK)
        key = rgm_json_text(rgm_json_find(json, "key"));
    else
        rgm_error_reset();
    is = key != NULL && fnmatch(pattern, key, 0) == 0;
    rgm_json_release(json);
    return is;
}

rgm_status rgm_run_folder_has_changed(bool *out, const char *path, const char *pattern)
{
    char *file = NULL, *text = NULL;
    int64_t size = 0, begin = 0;
    rgm_status status = RGM_OK;

    *out = false;
    RGM_GO(rgm_path_join(&file, path, "changes.jsonl"));
    if (!rgm_path_exists(file))
        goto done;
    RGM_GO(rgm_file_load(&text, &size, file, LARGEST_CHANGES));
    for (int64_t end = 0; end < size && !*out; end++)
        if (text[end] == '\n') {
            *out = is_change_of(text + begin, end - begin, pattern);
            begin = end + 1;
        }
done:
    rgm_free(text);
    rgm_free(file);
    return status;
}

/* ---- each key that names data ---------------------------------------------------------------- */

typedef rgm_status visit_fn(const comparison *c, const char *key, const rgm_yaml_node *node,
                            void *payload);

static bool names_content(const comparison *c, const char *key)
{
    const rgm_resume_key *row = row_of(c, key);

    return row != NULL && row->rule == RGM_KEY_CONTENT;
}

static rgm_status visit_contents(const comparison *c, const char *path, const rgm_yaml_node *node,
                                 visit_fn *visit, void *payload)
{
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < node->count && node->kind == RGM_YAML_MAP && status == RGM_OK; i++) {
        const rgm_yaml_node *item = node->items[i];
        char *below = NULL;

        RGM_TRY(key_below(&below, path, item->key));
        if (item->kind == RGM_YAML_MAP)
            status = visit_contents(c, below, item, visit, payload);
        else if (item->kind == RGM_YAML_SCALAR && names_content(c, below))
            status = visit(c, below, item, payload);
        rgm_free(below);
    }
    return status;
}

/* The hash of what a node names. What is not there or cannot be read is told by who reads the data.
 */
static bool find_content(uint64_t *out, const rgm_yaml_node *node)
{
    if (!rgm_path_exists(node->text))
        return false;
    if (content_of(out, node->text) == RGM_OK)
        return true;
    rgm_error_reset();
    return false;
}

static rgm_status write_content(const comparison *c, const char *key, const rgm_yaml_node *node,
                                void *payload)
{
    char hash[17];
    uint64_t found;

    (void)c;
    if (!find_content(&found, node))
        return RGM_OK;
    snprintf(hash, sizeof hash, "%016" PRIx64, found);
    return rgm_json_write_text(payload, key, hash);
}

static rgm_status tell_content(const comparison *c, const char *key, const rgm_yaml_node *node,
                               void *payload)
{
    uint64_t before, now;
    bool known;

    (void)payload;
    RGM_TRY(content_kept(&known, &before, c->run, key));
    if (known && find_content(&now, node) && now != before)
        rgm_log_write(RGM_LOG_WARNING, "%s: " OTHER_CONTENT, key);
    return RGM_OK;
}

static rgm_status visit_config(const char *run, const char *config, const rgm_resume_key *keys,
                               visit_fn *visit, void *payload)
{
    comparison c = {.keys = keys, .run = run};
    rgm_yaml *yaml = NULL;
    rgm_status status = RGM_OK;

    RGM_TRY(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), run));
    status = visit_contents(&c, "", rgm_yaml_root(yaml), visit, payload);
    rgm_yaml_release(yaml);
    return status;
}

rgm_status rgmi_content_tell(const char *run, const char *config, const rgm_resume_key *keys)
{
    return keys == NULL || config == NULL ? RGM_OK
                                          : visit_config(run, config, keys, tell_content, NULL);
}

rgm_status rgmi_content_keep(const char *run, const char *config, const rgm_resume_key *keys)
{
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};
    char *path = NULL;
    rgm_status status = RGM_OK;

    if (keys == NULL)
        return RGM_OK;
    RGM_GO(rgm_path_join(&path, run, "content.json"));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(visit_config(run, config, keys, write_content, &w));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_printf(&text, "\n"));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(path);
    return status;
}

/* ---- the files that a section names -----------------------------------------------------------
 */

/* Those that match a pattern, below a folder or (NULL) by itself. Folders are passed over: others
 * may write there. */
static rgm_status add_matches(content *c, const char *folder, const char *pattern)
{
    rgm_status status = RGM_OK;
    char *whole = NULL;
    glob_t found = {0};

    RGM_GO(folder != NULL ? rgm_path_join(&whole, folder, pattern) : rgm_strdup(&whole, pattern));
    if (glob(whole, 0, NULL, &found) == GLOB_NOSPACE)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: the files of '%s'", whole));
    for (size_t i = 0; i < found.gl_pathc && status == RGM_OK; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/');

        if (rgm_path_is_folder(found.gl_pathv[i]))
            continue;
        status = add_path(c, found.gl_pathv[i], name != NULL ? name + 1 : found.gl_pathv[i], 0);
        if (status < 0 && status != RGM_ERR_NOMEM) { /* who reads the data tells it */
            rgm_error_reset();
            status = RGM_OK;
        }
    }
done:
    globfree(&found);
    rgm_free(whole);
    return status;
}

static rgm_status add_named(content *c, const char *folder, const rgm_yaml_node *node)
{
    for (int64_t i = 0; i < node->count; i++)
        RGM_TRY(add_named(c, folder, node->items[i]));
    if (node->kind != RGM_YAML_SCALAR)
        return RGM_OK;
    if (folder != NULL)
        RGM_TRY(add_matches(c, folder, node->text));
    return add_matches(c, NULL, node->text);
}

rgm_status rgm_config_hash_files(uint64_t *out, const char *config, const char *section)
{
    rgm_status status = RGM_OK;
    const rgm_yaml_node *node, *path;
    rgm_yaml *yaml = NULL;
    content c = {0};

    *out = 0;
    if (config == NULL)
        return RGM_OK;
    RGM_GO(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), section));
    node = rgm_yaml_find(rgm_yaml_root(yaml), section);
    if (node == NULL)
        goto done;
    path = node->kind == RGM_YAML_MAP ? rgm_yaml_find(node, "path") : NULL;
    RGM_GO(add_named(&c, path != NULL && path->kind == RGM_YAML_SCALAR ? path->text : NULL, node));
    *out = rgm_hash64(c.text.size > 0 ? c.text.data : "", (size_t)c.text.size);
done:
    rgm_text_clear(&c.text);
    rgm_yaml_release(yaml);
    return status;
}

/*
 * What tests of answers about a run share: files of a folder, an answer as parsed JSON, and things
 * in the place of files that must get nobody anything.
 */
#ifndef RGM_WEB_TAB_CHECK_H
#define RGM_WEB_TAB_CHECK_H

#include <check.h>

#include <sys/stat.h>
#include <unistd.h>

#include "tab.h"

/** Write "ckpt/step-1/x" below a folder, making folders on the way. */
static inline void keep_bytes(const char *folder, const char *name, const void *data, int64_t size)
{
    char path[1024], *slash;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    slash = strrchr(path, '/');
    *slash = '\0';
    CHECK_OK(rgm_folder_make(path));
    *slash = '/';
    unlink(path);
    CHECK_OK(rgm_file_create(path, data, size));
}

static inline void keep(const char *folder, const char *name, const char *text)
{
    keep_bytes(folder, name, text, (int64_t)strlen(text));
}

/** The answer as JSON, which it must be, valid UTF-8 too; `out` is cleared. */
static inline rgm_json *parsed(rgm_text *out)
{
    rgm_json *root = NULL;

    CHECK_OK(rgm_json_parse(&root, out->data, out->size, "answer"));
    CHECK(rgm_json_is_object(root));
    rgm_text_clear(out);
    return root;
}

/** The text of a key; NULL: it is none. */
static inline const char *text_of(const rgm_json *object, const char *key)
{
    return rgm_json_text(rgm_json_find(object, key));
}

static inline int64_t int_of(const rgm_json *object, const char *key)
{
    int64_t number = INT64_MIN;

    CHECK(rgm_json_find(object, key) != NULL);
    (void)rgm_json_int(&number, rgm_json_find(object, key));
    return number;
}

static inline double number_of_key(const rgm_json *object, const char *key)
{
    double number = NAN;

    CHECK(rgm_json_find(object, key) != NULL);
    (void)rgm_json_number(&number, rgm_json_find(object, key));
    return number;
}

static inline bool bool_of(const rgm_json *object, const char *key)
{
    bool value = false;

    CHECK(rgm_json_bool(&value, rgm_json_find(object, key)));
    return value;
}

static inline const rgm_json *item_of(const rgm_json *object, const char *key, int64_t i)
{
    return rgm_json_at(rgm_json_find(object, key), i);
}

static inline int64_t count_of(const rgm_json *object, const char *key)
{
    return rgm_json_count(rgm_json_find(object, key));
}

/** A link to a file with a secret, a link to nowhere, a pipe without a writer, a folder: in turn in
 * the place of `name`. `told` must come back at once each time, without the secret in the answer.
 */
static inline void check_hostile(const char *folder, const char *name,
                                 rgm_status (*told)(rgm_text *out, const char *folder))
{
    char path[1024], outside[1024];

    snprintf(outside, sizeof outside, "%s.outside", folder);
    CHECK_OK(rgm_file_save(outside, "{\"secret\": 1}\nsecret: 1\n", 24));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (int kind = 0; kind < 5; kind++) {
        rgm_text out = {0};
        rgm_json *answer;
        double begun = rgm_now();

        unlink(path);
        if (kind == 0)
            CHECK_INT(0, symlink(outside, path));
        if (kind == 1)
            CHECK_INT(0, symlink("/nowhere/at/all", path));
        if (kind == 2)
            CHECK_INT(0, mkfifo(path, 0600));
        if (kind == 3)
            CHECK_INT(0, symlink("/dev/zero", path));
        if (kind == 4)
            CHECK_INT(0, mkdir(path, 0700));
        CHECK_OK(told(&out, folder));
        CHECK(rgm_now() - begun < 2);
        CHECK(strstr(out.data, "secret") == NULL);
        answer = parsed(&out);
        CHECK(text_of(answer, "damage") != NULL);
        CHECK(strstr(text_of(answer, "damage"), "not read") != NULL);
        rgm_json_release(answer);
    }
    CHECK_INT(0, rmdir(path));
    unlink(outside);
}

#endif

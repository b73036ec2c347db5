/*
 * Where a model's versions come from: a folder that is an export or a run, a folder of numbered
 * exports, or a name in a registry. A look is cheap, so that it can be taken each second.
 */
#include <string.h>
#include <sys/stat.h>

#include "answer_internal.h"

#include <regimen/registry.h>

void rgmi_offer_clear(rgmi_offer *offer)
{
    rgm_free(offer->folder);
    *offer = (rgmi_offer){0};
}

static bool is_registered(const char *source)
{
    return strncmp(source, RGM_MODEL_PREFIX, strlen(RGM_MODEL_PREFIX)) == 0;
}

/* ---- what is there --------------------------------------------------------------------------- */

/* FNV-1a. */
static void stir(uint64_t *stamp, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *stamp = (*stamp ^ ((const uint8_t *)data)[i]) * 1099511628211u;
}

/* Names, places, sizes and times of what a folder has. */
static rgm_status stamp_folder(uint64_t *stamp, const char *folder)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL;
    int64_t count = 0;

    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        struct stat info;

        RGM_GO(rgm_path_join(&path, folder, names[i]));
        if (stat(path, &info) == 0) {
            int64_t facts[] = {(int64_t)info.st_ino, (int64_t)info.st_size, info.st_mtim.tv_sec,
                               info.st_mtim.tv_nsec};

            stir(stamp, names[i], strlen(names[i]) + 1);
            stir(stamp, facts, sizeof facts);
        }
        rgm_free(path);
        path = NULL;
    }
done:
    rgm_free(path);
    rgm_names_release(names, count);
    return status;
}

/* The highest number that is a folder's name; 0: none is. */
static rgm_status highest(int64_t *out, const char *folder)
{
    char **names;
    int64_t count;

    *out = 0;
    RGM_TRY(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        int64_t number = 0;
        const char *c = names[i];

        for (; *c >= '0' && *c <= '9' && number < INT64_MAX / 10 - 1; c++)
            number = 10 * number + (*c - '0');
        if (*c == '\0' && names[i][0] != '0' && number > *out)
            *out = number;
    }
    rgm_names_release(names, count);
    return RGM_OK;
}

/* What a program's own model is exported as has no task in it that would take questions. */
static rgm_status check_others(const char *folder)
{
    if (rgm_folder_has(folder, "signature.json"))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s is an export without " RGM_SERVING_MODEL ", as programs' own models "
                        "have, for other servers: here such a model is served by its run folder",
                        folder);
    return RGM_OK;
}

static rgm_status look_in_numbered(rgmi_offer *out, const char *source)
{
    rgm_model_folder kind = RGM_FOLDER_NONE;

    RGM_TRY(highest(&out->number, source));
    if (out->number > 0) {
        RGM_TRY(rgm_strprintf(&out->folder, "%s/%lld", source, (long long)out->number));
        kind = rgm_model_folder_kind(out->folder);
        RGM_TRY(stamp_folder(&out->stamp, out->folder));
    }
    if (kind == RGM_FOLDER_EXPORT)
        return RGM_OK;
    RGM_TRY(check_others(out->folder != NULL ? out->folder : source));
    return RGM_FAIL(RGM_ERR_NOT_FOUND,
                    "%s is neither an export (" RGM_SERVING_MODEL "), nor a run, nor a folder of "
                    "numbered exports",
                    out->folder != NULL ? out->folder : source);
}

static rgm_status look_in_folder(rgmi_offer *out, const char *source)
{
    rgm_status status = RGM_OK;
    rgm_model_folder kind = rgm_model_folder_kind(source);
    char *checkpoints = NULL;

    if (kind == RGM_FOLDER_NONE) {
        status = look_in_numbered(out, source);
        goto done;
    }
    RGM_GO(rgm_strdup(&out->folder, source));
    RGM_GO(rgm_path_join(&checkpoints, source, "ckpt"));
    if (kind == RGM_FOLDER_RUN && !rgm_path_is_folder(checkpoints))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", source));
    /* Of a run its logs change as long as it trains, its weights with its checkpoints. */
    RGM_GO(stamp_folder(&out->stamp, kind == RGM_FOLDER_RUN ? checkpoints : source));
done:
    rgm_free(checkpoints);
    return status;
}

static rgm_status look_in_registry(rgmi_offer *out, const char *source, const char *registry)
{
    const rgm_model_version *version;
    rgm_model model;

    RGM_TRY(rgm_model_find(&model, &version, registry, source));
    out->number = version->number;
    stir(&out->stamp, &version->number, sizeof version->number);
    rgm_model_clear(&model);
    return RGM_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

rgm_status rgmi_source_look(rgmi_offer *out, const char *source, const char *registry)
{
    rgm_status status;

    *out = (rgmi_offer){.stamp = 14695981039346656037u};
    status = is_registered(source) ? look_in_registry(out, source, registry)
                                   : look_in_folder(out, source);
    if (status != RGM_OK)
        rgmi_offer_clear(out);
    return status;
}

rgm_status rgmi_source_take(rgmi_offer *offer, const char *source, const char *registry)
{
    rgm_status status;
    char *exact = NULL;
    size_t size = strcspn(source + strlen(RGM_MODEL_PREFIX), ":@");

    if (!is_registered(source))
        return RGM_OK;
    /* By its number: the stage may have moved on since the look. */
    RGM_TRY(rgm_strprintf(&exact, RGM_MODEL_PREFIX "%.*s:%lld", (int)size,
                          source + strlen(RGM_MODEL_PREFIX), (long long)offer->number));
    rgm_free(offer->folder);
    offer->folder = NULL;
    status = rgm_model_path(&offer->folder, registry, exact);
    rgm_free(exact);
    return status;
}

/* ---- its name -------------------------------------------------------------------------------- */

/* The last part of a path, and where it begins; empty: there is none. */
static rgm_str last_part(const char *path, size_t size)
{
    size_t begin;

    while (size > 0 && path[size - 1] == '/')
        size--;
    begin = size;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return (rgm_str){path + begin, (int64_t)(size - begin)};
}

rgm_status rgmi_source_name(char **out, const char *source)
{
    rgm_str name;

    if (is_registered(source)) {
        source += strlen(RGM_MODEL_PREFIX);
        return rgm_strndup(out, source, strcspn(source, ":@"));
    }
    name = last_part(source, strlen(source));
    if (name.size == 6 && memcmp(name.data, "export", 6) == 0)
        name = last_part(source, (size_t)(name.data - source));
    return rgm_strndup(out, name.data, (size_t)name.size);
}

/*
 * Hooks by name out of a shared object, and whether they are whole.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"

/* "dir/digits.so" to "digits". */
static void stem_of(char out[128], const char *path, size_t size)
{
    const char *name = path;

    for (size_t i = 0; i < size; i++)
        if (path[i] == '/')
            name = path + i + 1;
    size -= (size_t)(name - path);
    if (size > 3 && memcmp(name + size - 3, ".so", 3) == 0)
        size -= 3;
    snprintf(out, 128, "%.*s", (int)(size < 127 ? size : 127), name);
}

/* A path that the loader does not look for elsewhere. */
static rgm_status object_path(char **out, const char *path, size_t size)
{
    return memchr(path, '/', size) != NULL ? rgm_strprintf(out, "%.*s", (int)size, path)
                                           : rgm_strprintf(out, "./%.*s", (int)size, path);
}

rgm_status rgmi_hooks_find(const rgm_trial_hooks **out, void **object, const char *entrypoint)
{
    const char *colon = strrchr(entrypoint, ':');
    size_t size = colon != NULL ? (size_t)(colon - entrypoint) : strlen(entrypoint);
    char name[128], symbol[160], *path = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    *object = NULL;
    if (colon != NULL)
        snprintf(name, sizeof name, "%.127s", colon + 1);
    else
        stem_of(name, entrypoint, size);
    snprintf(symbol, sizeof symbol, "rgm_hooks_%s", name);
    RGM_GO(object_path(&path, entrypoint, size));
    if (!rgm_path_exists(path))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "entrypoint: there is no %s", path));
    RGM_GO(rgm_path_refuse_pipe(path));
    *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*object == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "entrypoint: %s cannot be loaded: %s", path, dlerror()));
    *out = dlsym(*object, symbol);
    if (*out == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "entrypoint: %s has no trial '%s'; RGM_TRIAL(%s, ...) makes it, and "
                        "FILE.so:NAME takes another",
                        path, name, name));
done:
    if (status != RGM_OK && *object != NULL) {
        dlclose(*object);
        *object = NULL;
    }
    rgm_free(path);
    return status;
}

static rgm_status missing(const rgm_trial_hooks *hooks, const char *hook)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "trial '%s' has no hook '%s'", hooks->name, hook);
}

static rgm_status check_names(const rgm_trial_hooks *hooks, const char *const *names,
                              const char *what)
{
    for (int64_t i = 0; i < RGM_MAX_METRICS && names[i] != NULL; i++)
        for (int64_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "trial '%s': '%s' stands twice in %s", hooks->name,
                                names[i], what);
    return RGM_OK;
}

/* Whatever else there is would be passed over without a word. */
static rgm_status check_premade(const rgm_trial_hooks *hooks)
{
    rgm_trial_hooks rest = *hooks, alone;

    memset(&alone, 0, sizeof alone);
    alone.abi = hooks->abi;
    memcpy(alone.sizes, hooks->sizes, sizeof alone.sizes);
    alone.name = hooks->name;
    rest.build_premade = NULL;
    return memcmp(&rest, &alone, sizeof rest) == 0
               ? RGM_OK
               : RGM_FAIL(
                     RGM_ERR_CONFIG,
                     "trial '%s' has build_premade and other hooks: the task that it names has "
                     "its own data, metrics and optimizer, by keys of an experiment file",
                     hooks->name);
}

static rgm_status check_sequential(const rgm_trial_hooks *h)
{
    if (h->build_graph != NULL || h->optimizer != NULL)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "trial '%s' has build_sequential and %s: it is either a list of layers or a "
            "graph",
            h->name, h->build_graph != NULL ? "build_graph" : "optimizer");
    return h->validation_metrics[0] == NULL && h->training_metrics[0] == NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG,
                          "trial '%s' has build_sequential and %s: loss and metric of a list of "
                          "layers are always told",
                          h->name,
                          h->validation_metrics[0] != NULL ? "validation_metrics"
                                                           : "training_metrics");
}

static rgm_status check_group(const rgm_trial_hooks *h)
{
    if (h->build_premade != NULL)
        return check_premade(h);
    if (rgmi_is_estimator(h)) {
        if (h->build_train_spec == NULL || h->build_validation_spec == NULL)
            return missing(h, h->build_train_spec == NULL ? "build_train_spec"
                                                          : "build_validation_spec");
        return h->build_graph == NULL && h->make_data_loaders == NULL && h->build_sequential == NULL
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_CONFIG,
                              "trial '%s' has build_estimator and %s: it is either an estimator or "
                              "a graph",
                              h->name,
                              h->build_graph != NULL         ? "build_graph"
                              : h->make_data_loaders != NULL ? "make_data_loaders"
                                                             : "build_sequential");
    }
    if (h->make_data_loaders == NULL)
        return missing(h, "make_data_loaders");
    if (h->build_sequential != NULL)
        return check_sequential(h);
    if (h->build_graph == NULL)
        return missing(h, "build_graph");
    if (h->optimizer == NULL)
        return missing(h, "optimizer");
    return h->validation_metrics[0] != NULL || h->make_metrics != NULL
               ? RGM_OK
               : missing(h, "validation_metrics");
}

rgm_status rgmi_hooks_check(const rgm_trial_hooks *h)
{
    const int64_t sizes[] = {sizeof(rgm_trial_hooks),      sizeof(rgm_optimizer_options),
                             sizeof(rgm_estimator),        sizeof(rgm_data_loaders),
                             sizeof(rgm_serving_receiver), sizeof(rgm_sequential)};

    if (h->abi != RGM_TRIAL_ABI || memcmp(sizes, h->sizes, sizeof sizes) != 0)
        return RGM_FAIL(RGM_ERR_VERSION,
                        "the trial's hooks were compiled against another regimen (interface %lld, "
                        "this is %d): compile them again",
                        (long long)h->abi, RGM_TRIAL_ABI);
    if (h->name == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "hooks without a name; RGM_TRIAL(name, ...) gives one");
    RGM_TRY(check_group(h));
    RGM_TRY(rgmi_callbacks_check(h));
    RGM_TRY(check_names(h, h->validation_metrics, "validation_metrics"));
    RGM_TRY(check_names(h, h->training_metrics, "training_metrics"));
    for (int64_t i = 0; i < RGM_MAX_METRICS && h->training_metrics[i] != NULL; i++)
        if (strcmp(h->training_metrics[i], "loss") == 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "trial '%s': training_metrics has 'loss', which is always told",
                            h->name);
    return RGM_OK;
}

/*
 * A file's map as a program's functions read it. The first mistake is kept and told when the hook
 * returns.
 */
#include <string.h>

#include "hooks.h"

/* The entry of a list that a key begins with the number of; *rest: what stands behind it. */
static const rgm_yaml_node *entry(const rgm_yaml_node *list, const char *key, const char **rest)
{
    size_t size = strspn(key, "0123456789");
    int64_t number = 0;

    if (size == 0 || size > 9 || (key[size] != '\0' && key[size] != '.'))
        return NULL;
    for (size_t i = 0; i < size; i++)
        number = 10 * number + (key[i] - '0');
    *rest = key[size] == '.' ? key + size + 1 : NULL;
    return number < list->count ? list->items[number] : NULL;
}

/* The node at a path; else NULL, with *last the node where the path ends too early and *missing
 * what it lacks. A key of a map may have dots itself. */
static const rgm_yaml_node *look_up(const rgm_yaml_node *node, const char *key,
                                    const rgm_yaml_node **last, const char **missing)
{
    const rgm_yaml_node *whole = rgm_yaml_find(node, key);
    const char *rest = NULL;

    if (whole != NULL)
        return whole;
    *last = node;
    *missing = key;
    if (node != NULL && node->kind == RGM_YAML_LIST) {
        const rgm_yaml_node *item = entry(node, key, &rest);

        return item == NULL || rest == NULL ? item : look_up(item, rest, last, missing);
    }
    for (int64_t i = 0; node != NULL && node->kind == RGM_YAML_MAP && i < node->count; i++) {
        size_t size = strlen(node->items[i]->key);

        if (strncmp(node->items[i]->key, key, size) == 0 && key[size] == '.') {
            const rgm_yaml_node *found = look_up(node->items[i], key + size + 1, last, missing);

            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

static const rgm_yaml_node *find(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *last;
    const char *missing;

    return look_up(config->map, key, &last, &missing);
}

static void keep(const rgm_config *config, rgm_status status)
{
    if (config->asked->error.status == RGM_OK)
        rgm_error_save(&config->asked->error, status);
    rgm_error_reset();
}

static const char *kind_of(const rgm_yaml_node *node)
{
    return node->kind == RGM_YAML_MAP ? "map" : node->kind == RGM_YAML_LIST ? "list" : "value";
}

/* What there is, where a path ends too early: "the search file's 'data' has no 'pth'; did you mean
 * 'path'?" */
static rgm_status absent(const rgm_config *config, const char *key, const rgm_yaml_node *last,
                         const char *missing)
{
    const char *names[256] = {NULL};
    int64_t count = 0;
    int before = (int)(missing - key) - 1; /* of the key that is there */

    if (before > 0 && last->kind == RGM_YAML_LIST)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%.*s' is a list of %lld entries, which has no '%s'",
                        config->what, before, key, (long long)last->count, missing);
    if (before > 0 && last->kind == RGM_YAML_SCALAR)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%.*s' is one value, which has no '%s'", config->what,
                        before, key, missing);
    for (int64_t i = 0; last != NULL && i < last->count && count < 256; i++)
        names[count++] = last->items[i]->key;
    return RGM_FAIL(
        RGM_ERR_CONFIG, "%s%s%.*s%s has no '%s'%s", config->what, before > 0 ? ": '" : "",
        before > 0 ? before : 0, key, before > 0 ? "'" : "", missing,
        rgm_did_you_mean(missing, names, count, NULL, count > 0 ? "there are " : NULL).text);
}

/* The node of a key that has to be there, or NULL with the mistake kept. */
static const rgm_yaml_node *wanted(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *last = NULL;
    const char *missing = key;
    const rgm_yaml_node *node = look_up(config->map, key, &last, &missing);

    if (node == NULL)
        keep(config, absent(config, key, last, missing));
    return node;
}

/* A scalar, or NULL with the mistake kept. */
static const rgm_yaml_node *scalar(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *node = wanted(config, key);

    if (node == NULL || node->kind == RGM_YAML_SCALAR)
        return node;
    keep(config,
         rgm_yaml_fail(node, "'%s' is a %s, where one value was asked for", key, kind_of(node)));
    return NULL;
}

const char *rgm_config_string(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *node = scalar(config, key);

    return node != NULL ? node->text : "";
}

int64_t rgm_config_int(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *node = scalar(config, key);
    int64_t number = 0;
    rgm_status status = node != NULL ? rgm_yaml_int(&number, node) : RGM_OK;

    if (status != RGM_OK)
        keep(config, status);
    return status == RGM_OK ? number : 0;
}

double rgm_config_float(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *node = scalar(config, key);
    double number = 0;
    rgm_status status = node != NULL ? rgm_yaml_float(&number, node) : RGM_OK;

    if (status != RGM_OK)
        keep(config, status);
    return status == RGM_OK ? number : 0;
}

bool rgm_config_bool(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *node = scalar(config, key);
    bool truth = false;
    rgm_status status = node != NULL ? rgm_yaml_bool(&truth, node) : RGM_OK;

    if (status != RGM_OK)
        keep(config, status);
    return status == RGM_OK && truth;
}

int64_t rgm_config_count(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *node = wanted(config, key);

    if (node == NULL || node->kind != RGM_YAML_SCALAR)
        return node != NULL ? node->count : 0;
    keep(config,
         rgm_yaml_fail(node, "'%s' is one value, where a list or a map was asked for", key));
    return 0;
}

bool rgm_config_has(const rgm_config *config, const char *key)
{
    return find(config, key) != NULL;
}

const rgm_yaml_node *rgm_config_node(const rgm_config *config, const char *key)
{
    return find(config, key);
}

const rgm_config *rgm_config_experiment(const rgm_config *hparams)
{
    return hparams->experiment;
}

rgm_status rgmi_hook_done(rgmi_hooks_task *task, rgm_status status, const char *hook)
{
    if (task->asked.error.status != RGM_OK) { /* why it failed, if it did */
        status = rgm_error_restore(&task->asked.error);
        task->asked.error.status = RGM_OK;
    }
    if (status > 0)
        status = RGM_FAIL(RGM_ERR_ARG, "it returned %s", rgm_status_name(status));
    return status < 0 ? rgm_error_prefix(status, "trial '%s': %s", task->hooks->name, hook)
                      : RGM_OK;
}

/*
 * A file's map as a program's functions read it. The first mistake is kept and told when the hook
 * returns.
 */
#include <string.h>

#include "hooks.h"

static const rgm_yaml_node *find(const rgm_yaml_node *map, const char *key)
{
    const rgm_yaml_node *whole = rgm_yaml_find(map, key);

    if (whole != NULL || map == NULL || map->kind != RGM_YAML_MAP)
        return whole;
    for (int64_t i = 0; i < map->count; i++) {
        size_t size = strlen(map->items[i]->key);

        if (strncmp(map->items[i]->key, key, size) == 0 && key[size] == '.') {
            const rgm_yaml_node *found = find(map->items[i], key + size + 1);

            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

static void keep(const rgm_config *config, rgm_status status)
{
    if (config->asked->error.status == RGM_OK)
        rgm_error_save(&config->asked->error, status);
    rgm_error_reset();
}

/* A scalar, or NULL with the mistake kept. */
static const rgm_yaml_node *scalar(const rgm_config *config, const char *key)
{
    const rgm_yaml_node *node = find(config->map, key);
    const char *names[256];
    int64_t count = 0;

    if (node != NULL && node->kind == RGM_YAML_SCALAR)
        return node;
    if (node != NULL) {
        keep(config, rgm_yaml_fail(node, "'%s' is a %s, where one value was asked for", key,
                                   node->kind == RGM_YAML_MAP ? "map" : "list"));
        return NULL;
    }
    for (int64_t i = 0; config->map != NULL && config->map->kind == RGM_YAML_MAP &&
                        i < config->map->count && count < 256;
         i++)
        names[count++] = config->map->items[i]->key;
    keep(config,
         RGM_FAIL(RGM_ERR_CONFIG, "%s has no '%s'%s", config->what, key,
                  rgm_did_you_mean(key, names, count, NULL, count > 0 ? "there are " : NULL).text));
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

bool rgm_config_has(const rgm_config *config, const char *key)
{
    return find(config->map, key) != NULL;
}

const rgm_yaml_node *rgm_config_node(const rgm_config *config, const char *key)
{
    return find(config->map, key);
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

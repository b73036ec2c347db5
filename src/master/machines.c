/*
 * The master's own file: pools of slots, and schedulers of three commands beside those that are
 * ready.
 */
#include "machines.h"

#include <stdlib.h>
#include <string.h>

/* ---- schedulers ----------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    size_t size = strlen(name);

    return size >= 1 && size <= 32 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == size;
}

const rgmi_commands_table *rgmi_machines_table(const rgmi_machines *m, const char *name)
{
    for (int64_t i = m->table_count - 1; i >= 0; i--) /* the file's come after the ready ones */
        if (strcmp(m->tables[i].name, name) == 0)
            return &m->tables[i];
    return NULL;
}

static rgm_status set_variable(rgmi_machines *m, rgmi_commands_table *t, const rgm_yaml_node *node)
{
    rgmi_named_text *own = NULL;

    if (node->kind != RGM_YAML_SCALAR || strlen(node->key) > 60 ||
        node->key[strspn(node->key, "abcdefghijklmnopqrstuvwxyz_")] != 0)
        return rgm_yaml_fail(node, "a variable has a name of a-z and _, and a text");
    for (int64_t i = 0; i < t->variable_count && own == NULL; i++)
        if (strcmp(t->variables[i].name, node->key) == 0)
            own = &t->variables[i];
    if (own == NULL) {
        rgmi_named_text *more =
            rgm_arena_alloc(m->arena, (size_t)(t->variable_count + 1) * sizeof *more);

        if (more == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for variables");
        if (t->variable_count > 0)
            memcpy(more, t->variables, (size_t)t->variable_count * sizeof *more);
        t->variables = more;
        own = &more[t->variable_count++];
    }
    *own = (rgmi_named_text){node->key, node->text};
    return RGM_OK;
}

/* Of another table its words and what they name; it has expressions of its own. */
static rgm_status begin_with(rgmi_machines *m, rgmi_commands_table *t, const rgm_yaml_node *node)
{
    const rgm_yaml_node *named = rgm_yaml_find(node, "table");
    const char *base = named != NULL && named->kind == RGM_YAML_SCALAR ? named->text : node->key;
    const rgmi_commands_table *of = rgmi_machines_table(m, base);
    rgmi_named_text *variables = NULL;

    if (of == NULL && named != NULL)
        return rgm_yaml_fail(named, "there is no table '%.40s' to begin with", base);
    if (of == NULL)
        return RGM_OK;
    if (of->variable_count > 0) {
        variables = rgm_arena_alloc(m->arena, (size_t)of->variable_count * sizeof *variables);
        if (variables == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for variables");
        memcpy(variables, of->variables, (size_t)of->variable_count * sizeof *variables);
    }
    *t = *of;
    t->variables = variables;
    t->submitted_pattern = t->row_pattern = t->exit_pattern = t->nothing_pattern =
        t->unknown_pattern = t->passing_pattern = (rgmi_pattern){.is_set = false};
    return RGM_OK;
}

static rgm_status read_table(rgmi_machines *m, const rgm_yaml_node *node)
{
    static const char *const also[] = {"table", "variables", NULL};
    const rgm_yaml_node *variables = rgm_yaml_find(node, "variables");
    rgmi_commands_table *t;

    if (!is_name(node->key) || strcmp(node->key, "local") == 0 || strcmp(node->key, "slurm") == 0)
        return rgm_yaml_fail(node, "a scheduler's name is 1 to 32 of A-Z a-z 0-9 - _, and neither "
                                   "local nor slurm");
    if (node->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(node, "a scheduler is a map: submit, look, cancel, row, ...");
    RGM_TRY(RGM_RESERVE(m->tables, m->table_capacity, m->table_count + 1));
    t = &m->tables[m->table_count];
    *t = (rgmi_commands_table){.name = NULL};
    RGM_TRY(begin_with(m, t, node));
    t->name = node->key;
    m->table_count++; /* from here it is cleared with the others */
    RGM_TRY(rgm_options_read(t, rgmi_commands_fields, node, "schedulers", also, m->arena));
    for (int64_t i = 0; variables != NULL && i < variables->count; i++)
        RGM_TRY(set_variable(m, t, variables->items[i]));
    return rgmi_commands_prepare(t, node);
}

static rgm_status read_tables(rgmi_machines *m, const rgm_yaml_node *map)
{
    if (map != NULL && map->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(map, "'schedulers' is a map of names to their commands");
    for (int64_t i = 0; map != NULL && i < map->count; i++)
        RGM_TRY(read_table(m, map->items[i]));
    return RGM_OK;
}

/* ---- pools ---------------------------------------------------------------------------------- */

typedef struct pool_options {
    rgm_ints slots;
} pool_options;
#define RGM_OPTIONS pool_options
static const rgm_field pool_fields[] = {
    RGM_INTS_FIELD(slots, 0, 1 << 20, "numbers of the machine's slots, from 0"), {0}};
#undef RGM_OPTIONS

static rgm_status add_pool(rgmi_machines *m, const char *name)
{
    RGM_TRY(RGM_RESERVE(m->pools, m->pool_capacity, m->pool_count + 1));
    m->pools[m->pool_count++] = (rgmi_slot_pool){.name = name};
    return RGM_OK;
}

static rgm_status read_pool(rgmi_machines *m, const rgm_yaml_node *node, int64_t slots)
{
    pool_options o = {.slots = {NULL, 0}};

    if (!is_name(node->key))
        return rgm_yaml_fail(node, "a pool's name is 1 to 32 of A-Z a-z 0-9 - _");
    RGM_TRY(rgm_options_read(&o, pool_fields, node, "pools", NULL, m->arena));
    if (o.slots.count == 0)
        return rgm_yaml_fail(node, "pool '%s' has no slots: {slots: [0, 1]}", node->key);
    RGM_TRY(add_pool(m, node->key));
    for (int64_t i = 0; i < o.slots.count; i++) {
        int64_t slot = o.slots.items[i];

        if (slot >= slots)
            return rgm_yaml_fail(node, "pool '%s' has slot %lld, but the master has 0 to %lld",
                                 node->key, (long long)slot, (long long)slots - 1);
        if (m->pool_of[slot] != 0)
            return rgm_yaml_fail(node, "slot %lld is in two pools, or twice in pool '%s'",
                                 (long long)slot, node->key);
        m->pool_of[slot] = m->pool_count - 1;
    }
    m->pools[m->pool_count - 1].slot_count = o.slots.count;
    m->pools[0].slot_count -= o.slots.count;
    return RGM_OK;
}

static rgm_status read_pools(rgmi_machines *m, const rgm_yaml_node *map, int64_t slots)
{
    RGM_TRY(RGM_NEW(m->pool_of, slots + 1));
    RGM_TRY(add_pool(m, ""));
    m->pools[0].slot_count = slots;
    if (map != NULL && map->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(map, "'pools' is a map of names to their slots");
    for (int64_t i = 0; map != NULL && i < map->count; i++)
        RGM_TRY(read_pool(m, map->items[i], slots));
    return RGM_OK;
}

int64_t rgmi_machines_pool(const rgmi_machines *m, const char *name)
{
    for (int64_t i = 0; i < m->pool_count; i++)
        if (strcmp(m->pools[i].name, name != NULL ? name : "") == 0)
            return i;
    return -1;
}

rgm_status rgmi_machines_no_pool(const rgmi_machines *m, const char *name)
{
    const char *names[64];
    int64_t count = 0;

    for (int64_t i = 1; i < m->pool_count && count < 64; i++)
        names[count++] = m->pools[i].name;
    if (count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "there is no pool '%s': this master has none; its file master.yaml gives "
                        "slots to pools",
                        name);
    return RGM_FAIL(RGM_ERR_CONFIG, "there is no pool '%s'%s", name,
                    rgm_did_you_mean(name, names, count, NULL, "there are ").text);
}

/* ---- the file ------------------------------------------------------------------------------- */

static rgm_status check_keys(const rgm_yaml_node *root)
{
    for (int64_t i = 0; i < root->count; i++)
        if (strcmp(root->items[i]->key, "pools") != 0 &&
            strcmp(root->items[i]->key, "schedulers") != 0)
            return rgm_yaml_fail(root->items[i],
                                 "unknown key '%s': a master's file has pools and "
                                 "schedulers",
                                 root->items[i]->key);
    return RGM_OK;
}

static rgm_status read_file(rgmi_machines *m, const char *folder, int64_t slots)
{
    const rgm_yaml_node *root;
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, "master.yaml"));
    status = rgm_yaml_load(&m->file, path);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        status = rgm_yaml_parse(&m->file, "", 0, path);
    }
    RGM_GO(status);
    root = rgm_yaml_root(m->file);
    if (root->kind != RGM_YAML_MAP)
        RGM_GO(rgm_yaml_fail(root, "a master's file is a map of pools and schedulers"));
    RGM_GO(check_keys(root));
    RGM_GO(read_tables(m, rgm_yaml_find(root, "schedulers")));
    RGM_GO(read_pools(m, rgm_yaml_find(root, "pools"), slots));
done:
    rgm_free(path);
    return status;
}

rgm_status rgmi_machines_load(rgmi_machines **out, const char *folder, int64_t slots)
{
    rgm_status status = RGM_OK;
    rgmi_machines *m = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(m, 1));
    RGM_GO(rgm_arena_create(&m->arena));
    RGM_GO(rgm_yaml_parse(&m->ready, rgmi_ready_tables, (int64_t)strlen(rgmi_ready_tables),
                          "ready tables"));
    RGM_GO(read_tables(m, rgm_yaml_root(m->ready)));
    RGM_GO(read_file(m, folder, slots));
    *out = m;
    m = NULL;
done:
    rgmi_machines_release(m);
    return status;
}

void rgmi_machines_release(rgmi_machines *m)
{
    if (m == NULL)
        return;
    for (int64_t i = 0; i < m->table_count; i++)
        rgmi_commands_clear(&m->tables[i]);
    rgm_free(m->tables);
    rgm_free(m->pools);
    rgm_free(m->pool_of);
    rgm_yaml_release(m->file);
    rgm_yaml_release(m->ready);
    rgm_arena_release(m->arena);
    rgm_free(m);
}

/*
 * One part that is open: its graph, checked against the manifest, and the numbers that its nodes,
 * edges and entries of features have in the whole graph. A rank has one, or several joined.
 */
#include "parts_internal.h"

#include <string.h>

rgm_status rgmi_numbers_name(char **out, rgm_piece piece, const char *set, const char *what)
{
    return rgm_strprintf(out, "%s/%s.%s", piece == RGM_NODE_SET ? "nodes" : "edges", set, what);
}

const char *const rgmi_split_names[3] = {"train", "valid", "test"};

static void clear_set(rgmi_part_set *set)
{
    rgm_free(set->owner);
    rgm_free(set->there);
    rgm_free(set->place);
    rgm_free(set->halo_begin);
    rgm_free(set->send);
    rgm_free(set->send_begin);
    rgmi_flights_release(set);
}

void rgm_part_release(rgm_part *part)
{
    if (part == NULL)
        return;
    for (int64_t i = 0; part->sets != NULL && i < part->set_count; i++)
        clear_set(&part->sets[i]);
    for (int64_t i = 0; part->edge_numbers != NULL && i < rgm_schema_set_count(part->data.schema);
         i++)
        rgm_tensor_release(part->edge_numbers[i]);
    for (int64_t i = 0; i < part->joined_count; i++) {
        rgm_free((char *)(uintptr_t)part->joined[i].name);
        rgm_tensor_release(part->joined[i].tensor);
    }
    rgm_free(part->joined);
    rgm_free(part->edge_numbers);
    rgm_free(part->sets);
    rgm_graph_data_clear(&part->data);
    rgm_safetensors_close(part->numbers);
    rgm_free(part);
}

const rgm_graph_data *rgm_part_data(const rgm_part *part)
{
    return &part->data;
}

/* ---- numbers ------------------------------------------------------------------------------- */

rgm_status rgmi_part_tensor(rgm_tensor **out, const rgm_part *part, const char *name)
{
    if (part->numbers != NULL)
        return rgm_safetensors_get(out, part->numbers, name);
    for (int64_t i = 0; i < part->joined_count; i++)
        if (strcmp(part->joined[i].name, name) == 0) {
            *out = rgm_tensor_retain(part->joined[i].tensor);
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: parts do not have it: write them again", name);
}

rgm_status rgmi_part_numbers(rgm_tensor **out, const rgm_part *part, rgm_piece piece,
                             const char *set, const char *what)
{
    int64_t count = rgm_graph_total(part->data.graphs[0], piece, set);
    rgm_tensor *tensor = NULL;
    rgm_status status = RGM_OK;
    char *name = NULL;

    *out = NULL;
    RGM_GO(rgmi_numbers_name(&name, piece, set, what));
    RGM_GO(rgmi_part_tensor(&tensor, part, name));
    if (rgm_tensor_dtype(tensor) != RGM_I64 || rgm_tensor_count(tensor) != count)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "%s of part %lld is not %lld numbers: write the parts again", name,
                        (long long)part->number, (long long)count));
    *out = tensor;
    tensor = NULL;
done:
    rgm_tensor_release(tensor);
    rgm_free(name);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* A file is the one that was written. */
static rgm_status check_file(const rgmi_parts_file *file, const char *folder)
{
    rgmi_parts_file now = {.name = file->name};

    RGM_TRY(rgmi_parts_file_look(&now, folder));
    if (now.bytes != file->bytes || now.hash != file->hash)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s/%s is another file than " RGMI_PARTS_FILE " was written with", folder,
                        file->name);
    return RGM_OK;
}

/* A tensor i32 [count] of the numbers' file, copied. */
static rgm_status take_numbers(int32_t **out, const rgm_part *part, const char *set,
                               const char *what, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_tensor *tensor = NULL;
    char *name = NULL;

    RGM_GO(rgmi_numbers_name(&name, RGM_NODE_SET, set, what));
    RGM_GO(rgm_safetensors_get(&tensor, part->numbers, name));
    if (rgm_tensor_dtype(tensor) != RGM_I32 || rgm_tensor_count(tensor) != count)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s of a part: it has not %lld numbers", name,
                        (long long)count));
    RGM_GO(RGM_NEW(*out, count));
    if (count > 0)
        memcpy(*out, rgm_tensor_data(tensor), (size_t)count * sizeof **out);
done:
    rgm_tensor_release(tensor);
    rgm_free(name);
    return status;
}

static rgm_status open_set(rgmi_part_set *out, rgm_part *part, const rgmi_parts_set *set)
{
    const rgm_feature *ids;

    out->part = part;
    out->own = set->own[part->number];
    out->halo = set->halo[part->number];
    if (rgm_graph_total(part->data.graphs[0], RGM_NODE_SET, out->name) != out->own + out->halo)
        return RGM_FAIL(RGM_ERR_FORMAT, "node set '%s' of part %lld has another number of nodes",
                        out->name, (long long)part->number);
    ids = rgm_graph_feature(part->data.graphs[0], RGM_NODE_SET, out->name, "#id");
    if (ids == NULL || rgm_tensor_dtype(ids->values) != RGM_I64 ||
        rgm_tensor_count(ids->values) != out->own + out->halo)
        return RGM_FAIL(RGM_ERR_FORMAT, "nodes of '%s' of part %lld have no '#id'", out->name,
                        (long long)part->number);
    RGM_TRY(take_numbers(&out->owner, part, out->name, "owner", out->halo));
    RGM_TRY(take_numbers(&out->there, part, out->name, "there", out->halo));
    RGM_TRY(RGM_NEW(out->halo_begin, part->parts + 1));
    for (int64_t i = 0; i < out->halo; i++) {
        if (out->owner[i] < 0 || out->owner[i] >= part->parts || out->owner[i] == part->number ||
            (i > 0 && out->owner[i] < out->owner[i - 1]))
            return RGM_FAIL(RGM_ERR_FORMAT,
                            "node set '%s' of part %lld: halo node %lld is no other's", out->name,
                            (long long)part->number, (long long)i);
        out->halo_begin[out->owner[i] + 1]++;
    }
    for (int64_t r = 0; r < part->parts; r++)
        out->halo_begin[r + 1] += out->halo_begin[r];
    return RGM_OK;
}

static rgm_status open_sets(rgm_part *part, const rgm_parts *parts)
{
    const rgm_schema *schema = part->data.schema;

    RGM_TRY(RGM_NEW(part->edge_numbers, rgm_schema_set_count(schema)));
    RGM_TRY(RGM_NEW(part->sets, rgm_schema_set_count(schema)));
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const rgmi_parts_set *counts;

        if (set->piece != RGM_NODE_SET)
            continue;
        counts = rgmi_parts_set_find(parts, RGM_NODE_SET, set->name);
        if (counts == NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "node set '%s' is not in " RGMI_PARTS_FILE, set->name);
        part->sets[part->set_count].name = set->name;
        RGM_TRY(open_set(&part->sets[part->set_count++], part, counts));
    }
    return RGM_OK;
}

/* Nodes are asked about where they are own: rows of copies are not right. */
static rgm_status check_split(const rgm_part *part, const rgm_tensor *nodes)
{
    int64_t own = rgm_parts_own(part->manifest, part->number, RGM_NODE_SET, part->data.split_set);

    for (int64_t i = 0; i < rgm_tensor_count(nodes); i++)
        if (rgm_tensor_at_int(nodes, i) >= own)
            return RGM_FAIL(RGM_ERR_FORMAT, "the split of part %lld has a node of another part",
                            (long long)part->number);
    return RGM_OK;
}

/* A part of the split that no node here is in is one of no nodes. */
static rgm_status fill_split(rgm_part *part, const rgm_parts *parts)
{
    rgm_tensor **split[3] = {&part->data.train, &part->data.valid, &part->data.test};
    const int64_t none = 0;

    if (part->data.split_set == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "part %lld has no split", (long long)part->number);
    for (int i = 0; i < 3; i++)
        if (*split[i] != NULL)
            RGM_TRY(check_split(part, *split[i]));
        else if (parts->split[i] >= 0)
            RGM_TRY(rgm_tensor_create(split[i], RGM_I64, 1, &none));
    return RGM_OK;
}

rgm_status rgmi_part_open(rgm_part **out, const rgm_parts *parts, int64_t number)
{
    rgm_status status = RGM_OK;
    rgm_part *part = NULL;
    char *paths[2] = {NULL, NULL};

    *out = NULL;
    RGM_GO(RGM_NEW(part, 1));
    part->number = number;
    part->parts = parts->count;
    part->manifest = parts;
    for (int i = 0; i < 2; i++) {
        RGM_GO(check_file(&parts->files[2 * number + i], parts->folder));
        RGM_GO(rgm_path_join(&paths[i], parts->folder, parts->files[2 * number + i].name));
    }
    RGM_GO(rgm_graph_data_open(&part->data, paths[0]));
    RGM_GO(rgm_safetensors_open(&part->numbers, paths[1]));
    RGM_GO(open_sets(part, parts));
    RGM_GO(fill_split(part, parts));
    *out = part;
    part = NULL;
done:
    rgm_free(paths[0]);
    rgm_free(paths[1]);
    rgm_part_release(part);
    return status;
}

/*
 * Edges of raw files: every end checked against its node set, reversed edges added, and all of them
 * put in the order of (target, source), which is the order in which kernels read them. And splits:
 * lists of numbers, each in range and in one part only.
 */
#include "import_internal.h"

#include <string.h>

void rgmi_raw_edges_clear(rgmi_raw_edges *edges)
{
    rgm_tensor_release(edges->source);
    rgm_tensor_release(edges->target);
    rgm_free(edges->rows);
    memset(edges, 0, sizeof *edges);
}

static rgm_status check_end(const rgmi_edge_form *form, int64_t row, int64_t node, int64_t total,
                            bool source)
{
    if (node >= 0 && node < total)
        return RGM_OK;
    return rgmi_raw_fail(RGM_ERR_DATA, form->path, row,
                         "edge set '%s': row %lld: %s is %lld, but node set '%s' has %lld nodes",
                         form->edge_set, (long long)row, source ? "source" : "target",
                         (long long)node, source ? form->source_set : form->target_set,
                         (long long)total);
}

/* One pass of a stable radix sort: to[] = from[] in the order of `bits` bits of their keys. */
static void sort_pass(int64_t *to, const int64_t *from, const int64_t *key, int64_t count,
                      int64_t *start, int shift, int bits)
{
    int64_t mask = (INT64_C(1) << bits) - 1;

    memset(start, 0, ((size_t)mask + 2) * sizeof *start);
    for (int64_t i = 0; i < count; i++)
        start[(key[i] >> shift & mask) + 1]++;
    for (int64_t k = 0; k < mask; k++)
        start[k + 1] += start[k];
    for (int64_t i = 0; i < count; i++)
        to[start[key[from[i]] >> shift & mask]++] = from[i];
}

/* order[] = its numbers in the order of key < keys, equals as they were. Memory does not grow with
 * keys: a wrong node count in a file must not cost more than the file is large. */
static rgm_status sort_by(int64_t *order, const int64_t *key, int64_t count, int64_t keys)
{
    rgm_status status = RGM_OK;
    int64_t *start = NULL, *spare = NULL, *from = order, *to;
    int width = 1;

    while (width < 16 && keys >> width > 0)
        width++;
    RGM_GO(RGM_NEW(start, (INT64_C(1) << width) + 1));
    RGM_GO(RGM_NEW(spare, count));
    to = spare;
    for (int shift = 0; shift == 0 || keys >> shift > 0; shift += width) {
        int64_t *swap = from;
        sort_pass(to, from, key, count, start, shift, width);
        from = to;
        to = swap;
    }
    if (from != order && count > 0)
        memcpy(order, from, (size_t)count * sizeof *order);
done:
    rgm_free(start);
    rgm_free(spare);
    return status;
}

/* Reorder all three columns by (target, source). */
static rgm_status sort_edges(rgmi_raw_edges *edges, int64_t source_total, int64_t target_total)
{
    rgm_status status = RGM_OK;
    int64_t *columns[3] = {rgm_tensor_i64(edges->source), rgm_tensor_i64(edges->target),
                           edges->rows};
    int64_t *order = NULL, *moved = NULL;

    RGM_GO(RGM_NEW(order, edges->count));
    RGM_GO(RGM_NEW(moved, edges->count));
    for (int64_t i = 0; i < edges->count; i++)
        order[i] = i;
    RGM_GO(sort_by(order, columns[0], edges->count, source_total));
    RGM_GO(sort_by(order, columns[1], edges->count, target_total));
    for (int c = 0; c < 3 && edges->count > 0; c++) {
        for (int64_t i = 0; i < edges->count; i++)
            moved[i] = columns[c][order[i]];
        memcpy(columns[c], moved, (size_t)edges->count * sizeof *moved);
    }
done:
    rgm_free(order);
    rgm_free(moved);
    return status;
}

/* Is the row to be left out, and counted? */
static rgm_status is_dangling(bool *out, const rgmi_edge_form *form, int64_t row,
                              const int64_t pair[2])
{
    *out = form->dangling != NULL && (pair[0] < 0 || pair[0] >= form->source_total || pair[1] < 0 ||
                                      pair[1] >= form->target_total);
    if (*out)
        return RGM_OK;
    RGM_TRY(check_end(form, row, pair[0], form->source_total, true));
    return check_end(form, row, pair[1], form->target_total, false);
}

void rgmi_tell_dangling(const char *path, const char *edge_set, int64_t dangling)
{
    if (dangling > 0)
        rgm_log_write(RGM_LOG_WARNING, "%s: edge set '%s': %lld edges left out: an end is no node",
                      path, edge_set, (long long)dangling);
}

/* Ends and rows of the edges that are kept, both ways if asked for. */
static void put_edges(rgmi_raw_edges *out, const int64_t *pair, const int64_t *kept, int64_t count,
                      bool undirected)
{
    int64_t *source = rgm_tensor_i64(out->source), *target = rgm_tensor_i64(out->target), at = 0;

    for (int reversed = 0; reversed <= (undirected ? 1 : 0); reversed++) {
        for (int64_t i = 0; i < count; i++) {
            int64_t a = pair[2 * kept[i] + reversed], b = pair[2 * kept[i] + 1 - reversed];
            if (reversed && a == b) /* a loop is its own reverse */
                continue;
            source[at] = a;
            target[at] = b;
            out->rows[at++] = kept[i];
        }
    }
}

rgm_status rgmi_raw_edges_make(rgmi_raw_edges *out, const rgm_tensor *pairs, int64_t begin,
                               int64_t end, const rgmi_edge_form *form)
{
    rgm_status status = RGM_OK;
    const int64_t *pair = rgm_tensor_i64(pairs) + 2 * begin;
    int64_t loops = 0, count = 0, *kept = NULL;

    memset(out, 0, sizeof *out);
    RGM_GO(RGM_NEW(kept, end - begin));
    for (int64_t i = 0; i < end - begin; i++) {
        bool dangling;
        RGM_GO(is_dangling(&dangling, form, begin + i, pair + 2 * i));
        if (dangling) {
            ++*form->dangling;
            continue;
        }
        kept[count++] = i;
        loops += pair[2 * i] == pair[2 * i + 1];
    }
    out->count = form->undirected ? 2 * count - loops : count;
    RGM_GO(rgm_tensor_create(&out->source, RGM_I64, 1, &out->count));
    RGM_GO(rgm_tensor_create(&out->target, RGM_I64, 1, &out->count));
    RGM_GO(RGM_NEW(out->rows, out->count));
    put_edges(out, pair, kept, count, form->undirected);
    if (form->sort)
        RGM_GO(sort_edges(out, form->source_total, form->target_total));
done:
    rgm_free(kept);
    if (status != RGM_OK)
        rgmi_raw_edges_clear(out);
    return status;
}

/* ---- splits ---- */

/* FOLDER/split/<split>, the only one if none is asked for. *out stays NULL without a split folder.
 */
static rgm_status split_folder(char **out, const char *folder, const char *split)
{
    rgm_status status = RGM_OK;
    char *parent = NULL, **names = NULL;
    int64_t count = 0, found = -1;
    rgm_text list = {0};

    *out = NULL;
    RGM_GO(rgm_path_join(&parent, folder, "split"));
    if (!rgm_path_is_folder(parent)) {
        if (split) {
            status = RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: there is no split '%s', nor any other",
                              folder, split);
            goto done;
        }
        goto done;
    }
    RGM_GO(rgm_folder_list(&names, &count, parent));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgm_text_printf(&list, "%s%s", i ? ", " : "", names[i]));
        if (split ? strcmp(names[i], split) == 0 : count == 1)
            found = i;
    }
    if (found < 0 && count > 0) {
        status =
            RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: %s%s%s; there %s: %.400s", parent,
                     split ? "there is no split '" : "say which split is meant", split ? split : "",
                     split ? "'" : "", count == 1 ? "is" : "are", list.data);
        goto done;
    }
    if (found >= 0)
        RGM_GO(rgm_path_join(out, parent, names[found]));
done:
    rgm_names_release(names, count);
    rgm_text_clear(&list);
    rgm_free(parent);
    return status;
}

/* The numbers of a list of ids, one a line: [rows, 1]. */
static rgm_status read_ids(rgm_tensor **out, const char *path, const rgm_map *ids)
{
    rgm_status status = RGM_OK;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    rgm_tensor *numbers = NULL;
    const rgm_str *fields;
    rgm_text id = {0};
    int64_t count, rows = 0, room = 0, *list = NULL;

    RGM_GO(rgm_csv_reader_open(&reader, path, &options));
    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK) {
        id.size = 0;
        RGM_GO(rgm_text_add(&id, fields[0].data, fields[0].size));
        RGM_GO(RGM_RESERVE(list, room, rows + 1));
        list[rows] = (int64_t)(intptr_t)rgm_map_get(ids, id.data) - 1;
        if (list[rows] < 0)
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s:%lld: '%.64s' is no id of a node", path,
                            (long long)rgm_csv_reader_line(reader), id.data));
        rows++;
    }
    if (status != RGM_END)
        RGM_GO(status);
    RGM_GO(rgm_tensor_create(&numbers, RGM_I64, 2, (int64_t[]){rows, 1}));
    if (rows > 0)
        memcpy(rgm_tensor_data(numbers), list, (size_t)rows * sizeof *list);
    *out = numbers;
    numbers = NULL;
    status = RGM_OK;
done:
    rgm_csv_reader_close(reader);
    rgm_tensor_release(numbers);
    rgm_text_clear(&id);
    rgm_free(list);
    return status;
}

/* One part; `owner` [total] tells which part a number was in, 0 for none. */
static rgm_status read_part(rgm_tensor **out, const char *folder, const char *const *parts,
                            int part, uint8_t *owner, int64_t total, const rgm_map *ids)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    rgm_tensor *numbers = NULL;
    int64_t rows;

    RGM_GO(rgmi_raw_find(&path, folder, parts[part]));
    if (path == NULL)
        goto done;
    RGM_GO(ids != NULL ? read_ids(&numbers, path, ids) : rgmi_raw_ints(&numbers, path, 1));
    rows = rgm_tensor_dim(numbers, 0);
    for (int64_t i = 0; i < rows; i++) {
        int64_t v = rgm_tensor_i64(numbers)[i];
        if (v < 0 || v >= total)
            RGM_GO(rgmi_raw_fail(RGM_ERR_DATA, path, i, "%lld is out of range, there are %lld",
                                 (long long)v, (long long)total));
        if (owner[v] != 0)
            RGM_GO(rgmi_raw_fail(RGM_ERR_DATA, path, i, "%lld is also in %s%s", (long long)v,
                                 parts[owner[v] - 1],
                                 owner[v] - 1 == part ? " already" : ": it would leak"));
        owner[v] = (uint8_t)(part + 1);
    }
    RGM_GO(rgm_tensor_reshape(out, numbers, 1, &rows));
done:
    rgm_tensor_release(numbers);
    rgm_free(path);
    return status;
}

/* The split's folder, and below it the one of the set if there is one; `name`, if asked for: the
 * split's. */
static rgm_status find_split(char **out, char **name, bool *own, const char *folder,
                             const char *split, const char *set)
{
    rgm_status status = RGM_OK;
    char *chosen = NULL, *below = NULL;

    *out = NULL;
    *own = false;
    RGM_GO(split_folder(&chosen, folder, split));
    if (chosen && name)
        RGM_GO(rgm_strdup(name, strrchr(chosen, '/') + 1));
    if (chosen && set)
        RGM_GO(rgm_path_join(&below, chosen, set));
    *own = below && rgm_path_is_folder(below);
    *out = *own ? below : chosen;
    if (*own)
        below = NULL;
    else
        chosen = NULL;
done:
    rgm_free(below);
    rgm_free(chosen);
    return status;
}

/* The bytes of a list's name before .csv or .csv.gz; 0: it is none. */
static size_t list_name_size(const char *name)
{
    const char *ending = strstr(name, ".csv");

    return ending != NULL && name[0] != '.' &&
                   (strcmp(ending, ".csv") == 0 || strcmp(ending, ".csv.gz") == 0)
               ? (size_t)(ending - name)
               : 0;
}

/* A list of another name, such as val.csv, would be left out. Other files are anybody's. */
static rgm_status check_list_name(const char *folder, const char *name)
{
    size_t size = list_name_size(name);

    for (int i = 0; i < 3; i++)
        if (strlen(rgm_split_names[i]) == size && strncmp(rgm_split_names[i], name, size) == 0)
            return RGM_OK;
    return size == 0 ? RGM_OK
                     : RGM_FAIL(RGM_ERR_DATA,
                                "%s/%s: the lists of a split are train.csv, valid.csv and "
                                "test.csv, or these with .gz; rename it, or move it away",
                                folder, name);
}

static rgm_status check_lists(const char *folder)
{
    rgm_status status = RGM_OK;
    int64_t count;
    char **names;

    RGM_TRY(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count && status == RGM_OK; i++)
        status = check_list_name(folder, names[i]);
    rgm_names_release(names, count);
    return status;
}

rgm_status rgmi_split_check(bool *has_lists, const char *folder, const char *split,
                            const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    char *chosen = NULL, *below = NULL, **names = NULL;
    int64_t count = 0;

    *has_lists = false;
    RGM_GO(split_folder(&chosen, folder, split));
    if (chosen == NULL)
        return RGM_OK;
    RGM_GO(rgm_folder_list(&names, &count, chosen));
    for (int64_t i = 0; i < count; i++) {
        bool below_is_folder;

        RGM_GO(rgm_path_join(&below, chosen, names[i]));
        below_is_folder = names[i][0] != '.' && rgm_path_is_folder(below);
        *has_lists |= below_is_folder || list_name_size(names[i]) > 0;
        if (below_is_folder && rgm_schema_find(schema, RGM_NODE_SET, names[i]) == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s: the schema has no node set '%s'%s", below, names[i],
                            rgm_schema_hint(schema, RGM_NODE_SET, names[i]).text));
        rgm_free(below);
        below = NULL;
    }
done:
    rgm_free(below);
    rgm_free(chosen);
    rgm_names_release(names, count);
    return status;
}

rgm_status rgmi_split_is_nobodys(const char *folder, const char *wanted)
{
    if (wanted != NULL)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s/split: there is no node set '%s', whose lists they would be", folder,
                        wanted);
    return RGM_FAIL(RGM_ERR_DATA,
                    "%s/split: of several node sets; name that of the lists (node_set), or put "
                    "them into a folder of its name",
                    folder);
}

rgm_status rgmi_split_speaks_of(bool *has, const char *folder, const char *split, const char *set)
{
    char *chosen;

    RGM_TRY(find_split(&chosen, NULL, has, folder, split, set));
    rgm_free(chosen);
    return RGM_OK;
}

rgm_status rgmi_read_split(rgm_graph_data *out, const char *folder, const char *split,
                           const char *set, int64_t total, const rgm_map *ids)
{
    rgm_tensor **tensors[] = {&out->train, &out->valid, &out->test};
    rgm_status status = RGM_OK;
    char *chosen = NULL;
    uint8_t *owner = NULL;
    bool own;

    RGM_GO(find_split(&chosen, &out->split_name, &own, folder, split, set));
    if (chosen != NULL)
        RGM_GO(check_lists(chosen));
    RGM_GO(RGM_NEW(owner, total));
    for (int i = 0; chosen && i < 3; i++)
        RGM_GO(read_part(tensors[i], chosen, rgm_split_names, i, owner, total, ids));
done:
    rgm_free(owner);
    rgm_free(chosen);
    return status;
}

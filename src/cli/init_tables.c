/*
 * CSV tables that nobody has described yet. A table with columns source and target is of edges, one
 * with a column id of nodes; which nodes an edge ends at is found by looking its ids up.
 */
#include "init_look.h"

#include <stdlib.h>
#include <string.h>

/* "customer" of "customer.csv" and "customer.csv.gz"; 0: it is no table. */
static size_t stem(const char *file)
{
    static const char *const endings[] = {".csv", ".csv.gz"};
    size_t size = strlen(file);

    for (int i = 0; i < 2; i++) {
        size_t ending = strlen(endings[i]);
        if (size > ending && strcmp(file + size - ending, endings[i]) == 0)
            return size - ending;
    }
    return 0;
}

/* The place of a column by its name or "#name"; -1: there is none. */
static int64_t find(const rgm_csv_reader *reader, const char *name)
{
    for (int64_t i = 0; i < rgm_csv_reader_column_count(reader); i++) {
        const char *column = rgm_csv_reader_column(reader, i);
        if (strcmp(column + (column[0] == '#'), name) == 0)
            return i;
    }
    return -1;
}

/* How many columns x.0, x.1, ... follow each other from column `at`; 0: it is not x.0. */
static int64_t run_of(const rgm_csv_reader *reader, int64_t at)
{
    const char *first = rgm_csv_reader_column(reader, at), *dot = strrchr(first, '.');
    int64_t count = 0;

    if (dot == NULL || strcmp(dot, ".0") != 0)
        return 0;
    while (at + count < rgm_csv_reader_column_count(reader)) {
        const char *column = rgm_csv_reader_column(reader, at + count);
        size_t size = (size_t)(dot - first) + 1;
        char number[24];

        snprintf(number, sizeof number, "%lld", (long long)count);
        if (strncmp(column, first, size) != 0 || strcmp(column + size, number) != 0)
            break;
        count++;
    }
    return count > 1 ? count : 0;
}

/* Columns of the set, and for each column of the file which one it is part of; -1: an id or an end.
 */
static rgm_status name_columns(int64_t *places, seen_set *set, const rgm_csv_reader *reader)
{
    static const char *const keys[][2] = {{"id", "id"}, {"source", "target"}};
    int64_t count = rgm_csv_reader_column_count(reader);
    const char *const *key = keys[set->piece == RGM_EDGE_SET];

    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_csv_reader_column(reader, i);
        int64_t width = set->piece == RGM_CONTEXT_PIECE ? 0 : run_of(reader, i);
        char *base = NULL;
        seen_column *column;
        rgm_status status;

        places[i] = -1;
        if (set->piece != RGM_CONTEXT_PIECE &&
            (i == find(reader, key[0]) || i == find(reader, key[1])))
            continue;
        name += name[0] == '#';
        RGM_TRY(rgm_strprintf(&base, "%.*s", (int)(strlen(name) - (width > 0 ? 2 : 0)), name));
        status = seen_add_column(&column, set, base);
        rgm_free(base);
        RGM_TRY(status);
        column->width = width;
        for (int64_t k = 0; k < (width > 0 ? width : 1); k++)
            places[i + k] = set->count - 1;
        i += width > 0 ? width - 1 : 0;
    }
    return RGM_OK;
}

static rgm_status note_id(seen_set *set, rgm_str id)
{
    char *text = NULL;
    rgm_status status;

    RGM_TRY(rgm_strprintf(&text, "%.*s", (int)id.size, id.data));
    status = rgm_map_set(set->ids, text, set);
    rgm_free(text);
    return status;
}

static rgm_status read_rows(seen_set *set, rgm_csv_reader *reader, const int64_t *places)
{
    int64_t id = set->piece == RGM_NODE_SET ? find(reader, "id") : -1, count;
    const rgm_str *fields;
    rgm_status status;

    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK) {
        set->rows++;
        if (id >= 0)
            RGM_TRY(note_id(set, fields[id]));
        for (int64_t i = 0; i < count; i++)
            if (places[i] >= 0)
                RGM_TRY(seen_note_cell(&set->columns[places[i]], reader, i, fields[i]));
    }
    return status == RGM_END ? RGM_OK : status;
}

/* Whether every name of a header is a number: then it is a first row, and columns have no names. */
static bool is_headless(const rgm_csv_reader *reader)
{
    for (int64_t i = 0; i < rgm_csv_reader_column_count(reader); i++) {
        const char *name = rgm_csv_reader_column(reader, i);
        char *end;

        (void)strtod(name, &end);
        if (end == name || *end != '\0')
            return false;
    }
    return true;
}

static rgm_status open_table(rgm_csv_reader **reader, const char *folder, const char *file,
                             bool header)
{
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    char *path = NULL;
    rgm_status status;

    options.header = header;
    RGM_TRY(rgm_path_join(&path, folder, file));
    status = rgm_csv_reader_open(reader, path, &options);
    rgm_free(path);
    return status;
}

/* A table without a header has columns 0, 1, ...; those of a first row that is kept in `reader`. */
static rgm_status read_headless(seen_set *set, rgm_csv_reader *reader)
{
    const rgm_str *fields;
    int64_t count;
    rgm_status status;

    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK) {
        for (int64_t i = set->count; i < count; i++) {
            char name[24];
            seen_column *column;

            snprintf(name, sizeof name, "%lld", (long long)i);
            RGM_TRY(seen_add_column(&column, set, name));
        }
        for (int64_t i = 0; i < count; i++)
            RGM_TRY(seen_note_cell(&set->columns[i], reader, i, fields[i]));
        set->rows++;
    }
    return status == RGM_END ? RGM_OK : status;
}

static rgm_status look_at_table(seen_folder *seen, const char *file)
{
    rgm_status status = RGM_OK;
    rgm_csv_reader *reader = NULL;
    int64_t *places = NULL;
    char *name = NULL;
    seen_set *set;
    rgm_piece piece = RGM_CONTEXT_PIECE; /* a table of records, until columns say otherwise */

    RGM_GO(open_table(&reader, seen->folder, file, true));
    if (find(reader, "source") >= 0 && find(reader, "target") >= 0)
        piece = RGM_EDGE_SET;
    else if (find(reader, "id") >= 0)
        piece = RGM_NODE_SET;
    RGM_GO(rgm_strprintf(&name, "%.*s", (int)stem(file), file));
    RGM_GO(seen_add_set(&set, seen, name, file, piece));
    set->headless = is_headless(reader);
    if (set->headless) {
        rgm_csv_reader_close(reader);
        reader = NULL;
        RGM_GO(open_table(&reader, seen->folder, file, false));
        RGM_GO(read_headless(set, reader));
        goto done;
    }
    RGM_GO(rgm_map_create(&set->ids));
    RGM_GO(RGM_NEW(places, rgm_csv_reader_column_count(reader)));
    RGM_GO(name_columns(places, set, reader));
    RGM_GO(read_rows(set, reader, places));
done:
    rgm_csv_reader_close(reader);
    rgm_free(places);
    rgm_free(name);
    return status;
}

/* ---- ends of edges ------------------------------------------------------------------------- */

/* How many rows of a table have their source or target among the ids of each set: hits [2][count].
 */
static rgm_status count_hits(int64_t *hits, const seen_folder *seen, const seen_set *edges)
{
    rgm_status status = RGM_OK;
    rgm_csv_reader *reader = NULL;
    const rgm_str *fields;
    int64_t ends[2], count;
    char *id = NULL;

    RGM_GO(open_table(&reader, seen->folder, edges->file, true));
    ends[0] = find(reader, "source");
    ends[1] = find(reader, "target");
    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK)
        for (int end = 0; end < 2; end++) {
            rgm_free(id);
            id = NULL;
            RGM_GO(rgm_strprintf(&id, "%.*s", (int)fields[ends[end]].size, fields[ends[end]].data));
            for (int64_t s = 0; s < seen->count; s++)
                if (seen->sets[s].piece == RGM_NODE_SET && seen->sets[s].file != NULL &&
                    rgm_map_has(seen->sets[s].ids, id))
                    hits[end * seen->count + s]++;
        }
    status = status == RGM_END ? RGM_OK : status;
done:
    rgm_free(id);
    rgm_csv_reader_close(reader);
    return status;
}

/* The node set that most ids of one end are of; where no table has any, a set without a table. */
static rgm_status choose_end(char **out, seen_folder *seen, int64_t edges, const int64_t *hits,
                             int64_t sets)
{
    static const char *const unnamed = "nodes";
    seen_set *nodes;
    int64_t best = -1, most = 0;

    for (int64_t s = 0; s < sets; s++)
        if (hits[s] > most) {
            best = s;
            most = hits[s];
        }
    if (best >= 0) {
        int64_t dangling = seen->sets[edges].rows - most;

        if (dangling > seen->sets[edges].dangling)
            seen->sets[edges].dangling = dangling;
        return rgm_strdup(out, seen->sets[best].name);
    }
    for (int64_t s = 0; s < seen->count; s++)
        if (strcmp(seen->sets[s].name, unnamed) == 0 && seen->sets[s].file == NULL)
            return rgm_strdup(out, unnamed);
    RGM_TRY(seen_add_set(&nodes, seen, unnamed, NULL, RGM_NODE_SET));
    return rgm_strdup(out, unnamed);
}

static rgm_status find_ends(seen_folder *seen)
{
    rgm_status status = RGM_OK;
    int64_t sets = seen->count, *hits = NULL;

    for (int64_t i = 0; i < sets; i++) {
        char *ends[2] = {NULL, NULL};

        if (seen->sets[i].piece != RGM_EDGE_SET)
            continue;
        rgm_free(hits);
        hits = NULL;
        RGM_GO(RGM_NEW(hits, 2 * sets));
        for (int64_t k = 0; k < 2 * sets; k++)
            hits[k] = 0;
        RGM_GO(count_hits(hits, seen, &seen->sets[i]));
        status = choose_end(&ends[0], seen, i, hits, sets);
        if (status == RGM_OK)
            status = choose_end(&ends[1], seen, i, hits + sets, sets);
        seen->sets[i].source = ends[0];
        seen->sets[i].target = ends[1];
        RGM_GO(status);
    }
done:
    rgm_free(hits);
    return status;
}

rgm_status seen_look_at_tables(seen_folder *seen)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    RGM_GO(rgm_folder_list(&names, &count, seen->folder));
    for (int64_t i = 0; i < count; i++)
        if (stem(names[i]) > 0)
            RGM_GO(look_at_table(seen, names[i]));
    if (seen->count == 0)
        RGM_GO(
            RGM_FAIL(RGM_ERR_NOT_FOUND,
                     "%s has neither a folder raw/ in OGB's layout nor a file *.csv or *.csv.gz: "
                     "docs/data_sets.md says what either looks like",
                     seen->folder));
    RGM_GO(find_ends(seen));
done:
    rgm_names_release(names, count);
    return status;
}

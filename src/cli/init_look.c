/* What a folder has: columns with the kinds of their values, the split, and which column is the
 * label. */
#include "init_look.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void seen_clear_columns(seen_set *set)
{
    for (int64_t i = 0; i < set->count; i++) {
        rgm_free(set->columns[i].name);
        rgm_map_release(set->columns[i].values);
    }
    rgm_free(set->columns);
    set->columns = NULL;
    set->count = set->room = 0;
}

static void clear_set(seen_set *set)
{
    seen_clear_columns(set);
    rgm_free(set->name);
    rgm_free(set->file);
    rgm_free(set->source);
    rgm_free(set->target);
    rgm_map_release(set->ids);
}

void seen_clear(seen_folder *seen)
{
    for (int64_t i = 0; i < seen->count; i++)
        clear_set(&seen->sets[i]);
    rgm_free(seen->sets);
    rgm_free(seen->split.name);
    rgm_free(seen->split.first);
    *seen = (seen_folder){0};
}

rgm_status seen_add_set(seen_set **out, seen_folder *seen, const char *name, const char *file,
                        rgm_piece piece)
{
    seen_set *set;

    RGM_TRY(RGM_RESERVE(seen->sets, seen->room, seen->count + 1));
    set = *out = &seen->sets[seen->count++];
    *set = (seen_set){.piece = piece};
    RGM_TRY(rgm_strdup(&set->name, name));
    return file != NULL ? rgm_strdup(&set->file, file) : RGM_OK;
}

rgm_status seen_add_column(seen_column **out, seen_set *set, const char *name)
{
    seen_column *column;

    RGM_TRY(RGM_RESERVE(set->columns, set->room, set->count + 1));
    column = *out = &set->columns[set->count++];
    *column = (seen_column){.least = INFINITY, .largest = -INFINITY};
    RGM_TRY(rgm_strdup(&column->name, name));
    return rgm_map_create(&column->values);
}

/* ---- values -------------------------------------------------------------------------------- */

static rgm_status note_value(seen_column *column, const char *text)
{
    if (rgm_map_count(column->values) > SEEN_MOST)
        return RGM_OK;
    return rgm_map_set(column->values, text, column);
}

rgm_status seen_note_text(seen_column *column, rgm_str cell)
{
    char *text = NULL;
    rgm_status status = RGM_OK;

    column->kind = SEEN_TEXTS;
    column->filled++;
    RGM_GO(rgm_strprintf(&text, "%.*s", (int)cell.size, cell.data));
    RGM_GO(note_value(column, text));
done:
    rgm_free(text);
    return status;
}

rgm_status seen_note_number(seen_column *column, double value, bool integer)
{
    char text[40];

    if (column->kind == SEEN_NOTHING || column->kind == SEEN_INTEGERS)
        column->kind = integer ? SEEN_INTEGERS : SEEN_NUMBERS;
    column->filled++;
    if (integer && value == -1)
        column->nones++;
    column->least = fmin(column->least, value);
    column->largest = fmax(column->largest, value);
    snprintf(text, sizeof text, "%.17g", value);
    return note_value(column, text);
}

rgm_status seen_note_cell(seen_column *column, const rgm_csv_reader *reader, int64_t at,
                          rgm_str cell)
{
    int64_t integer;
    double number;

    if (cell.size == 0) {
        column->empty++;
        return RGM_OK;
    }
    if (column->kind == SEEN_TEXTS)
        return seen_note_text(column, cell);
    if (column->kind != SEEN_NUMBERS && rgm_csv_reader_i64(&integer, reader, at) == RGM_OK)
        return seen_note_number(column, (double)integer, true);
    if (rgm_csv_reader_f64(&number, reader, at) == RGM_OK)
        return seen_note_number(column, number, false);
    return seen_note_text(column, cell);
}

/* ---- the split ----------------------------------------------------------------------------- */

/* How long "fold-" of "fold-12" is; 0: there is no number behind it. */
static size_t numbered(const char *name)
{
    size_t size = strlen(name), end = size;

    while (end > 0 && isdigit((unsigned char)name[end - 1]))
        end--;
    return end < size && end > 0 ? end : 0;
}

/* "fold-*" where all of several names are the same but for a number. */
static rgm_status find_folds(seen_split *split, char **names, int64_t count)
{
    size_t size = count > 1 ? numbered(names[0]) : 0;

    for (int64_t i = 1; i < count; i++)
        if (numbered(names[i]) != size || memcmp(names[i], names[0], size) != 0)
            size = 0;
    if (size == 0)
        return RGM_OK;
    split->folds = count;
    rgm_free(split->name);
    split->name = NULL;
    return rgm_strprintf(&split->name, "%.*s*", (int)size, names[0]);
}

/* Whether FOLDER or a folder in it has a file valid.csv or valid.csv.gz. */
static rgm_status has_valid(bool *out, const char *folder, int depth)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL;
    int64_t count = 0;

    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count && !*out; i++) {
        *out = strcmp(names[i], "valid.csv") == 0 || strcmp(names[i], "valid.csv.gz") == 0;
        rgm_free(path);
        path = NULL;
        RGM_GO(rgm_path_join(&path, folder, names[i]));
        if (depth > 0 && rgm_path_is_folder(path))
            RGM_GO(has_valid(out, path, depth - 1));
    }
done:
    rgm_free(path);
    rgm_names_release(names, count);
    return status;
}

rgm_status seen_look_at_split(seen_folder *seen)
{
    rgm_status status = RGM_OK;
    seen_split *split = &seen->split;
    char *lists = NULL, *first = NULL, **names = NULL;
    int64_t count = 0;

    RGM_GO(rgm_path_join(&lists, seen->folder, "split"));
    if (!rgm_path_is_folder(lists))
        goto done;
    RGM_GO(rgm_folder_list(&names, &count, lists));
    if (count == 0)
        goto done;
    RGM_GO(rgm_strdup(&split->name, names[0]));
    RGM_GO(rgm_strdup(&split->first, names[0]));
    split->others = count - 1;
    RGM_GO(find_folds(split, names, count));
    RGM_GO(rgm_path_join(&first, lists, names[0]));
    if (rgm_path_is_folder(first))
        RGM_GO(has_valid(&split->has_valid, first, 1));
done:
    rgm_free(first);
    rgm_free(lists);
    rgm_names_release(names, count);
    return status;
}

rgm_status seen_check_split(const seen_folder *seen)
{
    const seen_set *set = seen->labelled;
    char *lists = NULL, *first = NULL, *path = NULL, **names = NULL;
    const char *other = NULL;
    int64_t count = 0;
    rgm_status status = RGM_OK;

    if (seen->split.first == NULL || set->piece != RGM_NODE_SET)
        return RGM_OK;
    RGM_GO(rgm_path_join(&lists, seen->folder, "split"));
    RGM_GO(rgm_path_join(&first, lists, seen->split.first));
    RGM_GO(rgm_folder_list(&names, &count, first));
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(names[i], set->name) == 0)
            goto done;
        rgm_free(path);
        path = NULL;
        RGM_GO(rgm_path_join(&path, first, names[i]));
        if (rgm_path_is_folder(path))
            other = names[i];
    }
    if (other != NULL)
        status = RGM_FAIL(RGM_ERR_CONFIG,
                          "%s has lists of %s, but the label %s is of %s: put lists of it into "
                          "%s/%s, or take split/ away, then folds are made",
                          first, other, seen->label->name, set->name, first, set->name);
done:
    rgm_free(lists);
    rgm_free(first);
    rgm_free(path);
    rgm_names_release(names, count);
    return status;
}

/* ---- the label ----------------------------------------------------------------------------- */

static const char *const usual[] = {"label", "class", "target", "y"};

/* "TABLE.COLUMN" or "COLUMN". */
static bool is_meant(const seen_set *set, const seen_column *column, const char *name)
{
    size_t size = strlen(set->name);

    return strcasecmp(column->name, name) == 0 ||
           (strncmp(name, set->name, size) == 0 && name[size] == '.' &&
            strcmp(name + size + 1, column->name) == 0);
}

bool seen_is_graph(const seen_folder *seen)
{
    for (int64_t i = 0; i < seen->count; i++)
        if (seen->sets[i].piece == RGM_EDGE_SET)
            return true;
    return false;
}

/* Beside a graph, a table of neither nodes nor edges is not read. */
static bool is_left_out(const seen_folder *seen, const seen_set *set)
{
    return set->piece == RGM_CONTEXT_PIECE && seen->graphs == 0 && seen_is_graph(seen);
}

/* The first column of that name; those of edges only where they are asked for. */
static bool find_label(seen_folder *seen, const char *name, bool edges)
{
    for (int64_t i = 0; i < seen->count; i++)
        for (int64_t k = 0; k < seen->sets[i].count; k++) {
            seen->labelled = &seen->sets[i];
            seen->label = &seen->sets[i].columns[k];
            if ((edges || seen->labelled->piece != RGM_EDGE_SET) && seen->label->width == 0 &&
                seen->label->kind != SEEN_WORDS && !is_left_out(seen, seen->labelled) &&
                is_meant(seen->labelled, seen->label, name))
                return true;
        }
    seen->labelled = NULL;
    seen->label = NULL;
    return false;
}

/* "age, region" for a message, as long as it fits. */
static void list_columns(char text[512], const seen_folder *seen)
{
    size_t size = 0;

    text[0] = '\0';
    for (int64_t i = 0; i < seen->count; i++)
        for (int64_t k = 0; k < seen->sets[i].count; k++) {
            const seen_column *column = &seen->sets[i].columns[k];
            int more = 0;

            if (column->width == 0 && seen->sets[i].piece != RGM_EDGE_SET &&
                !is_left_out(seen, &seen->sets[i]) && size < 400)
                more = snprintf(text + size, 512 - size, "%s%s.%s", size > 0 ? ", " : "",
                                seen->sets[i].name, column->name);
            size += more > 0 ? (size_t)more : 0;
        }
}

/* What the values of the label make of it: classes from 0, or a number. */
static rgm_status judge_label(seen_folder *seen)
{
    const seen_column *label = seen->label;
    int64_t distinct = rgm_map_count(label->values) - (label->nones > 0);

    if (seen->labelled->piece == RGM_EDGE_SET)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "'%s' is a column of edges (%s), and this verb writes experiments about "
                        "nodes, graphs and records; for edges see docs/graph_tasks_links.md",
                        label->name, seen->labelled->name);
    if (label->kind == SEEN_TEXTS || label->kind == SEEN_NOTHING)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "the label '%s' of %s has %s; a label is an integer from 0 for a class, or a "
            "number: number the classes in the file, task.class_names then names them",
            label->name, seen->labelled->name,
            label->kind == SEEN_TEXTS ? "texts" : "no value in any row");
    seen->classes = label->kind == SEEN_INTEGERS && label->least >= -1 && label->largest < 1000 &&
                    distinct <= 200;
    if (!seen->classes)
        return RGM_OK;
    seen->num_classes = (int64_t)label->largest + 1;
    if (label->least == -1 && label->largest == 1 && distinct == 1) {
        if (seen->graphs == 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "the label '%s' of %s is -1 or 1, and -1 means that there is no label: "
                            "number the classes 0 and 1",
                            label->name, seen->labelled->name);
        distinct = 2; /* OGB's importer takes these two as classes */
    }
    seen->relabel = seen->graphs > 0 && distinct != seen->num_classes;
    if (seen->relabel)
        seen->num_classes = distinct;
    return RGM_OK;
}

rgm_status seen_choose_label(seen_folder *seen)
{
    char columns[512];

    if (seen->asked != NULL && find_label(seen, seen->asked, true))
        return judge_label(seen);
    list_columns(columns, seen);
    if (seen->asked != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "--label %s: there is no such column; there are %s",
                        seen->asked, columns);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (find_label(seen, usual[i], false))
            return judge_label(seen);
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "no column is called label, class, target or y: --label TABLE.COLUMN says what "
                    "is to be learned; there are %s",
                    columns[0] != '\0' ? columns : "none");
}

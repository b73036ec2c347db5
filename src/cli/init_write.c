/* The files of `regimen init experiment`: a schema of tables, and an experiment about a graph or
 * records. */
#include "init_look.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------- */

static bool is_plain(const char *text, const char *also)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    for (const char *p = text; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && strchr(also, *p) == NULL)
            return false;
    return isalpha((unsigned char)text[0]) || (text[0] != '\0' && strchr("_/.", text[0]) != NULL);
}

rgm_status seen_print_name(rgm_text *out, const char *name)
{
    return is_plain(name, "_./-*") ? rgm_text_printf(out, "%s", name)
                                   : rgm_json_print_text(out, name);
}

rgm_status seen_print_path(rgm_text *out, const char *path)
{
    if (is_plain(path, "_./-+=@%,"))
        return rgm_text_printf(out, "%s", path);
    RGM_TRY(rgm_text_printf(out, "'"));
    for (const char *p = path; *p != '\0'; p++)
        RGM_TRY(rgm_text_printf(out, *p == '\'' ? "'\\''" : "%c", *p));
    return rgm_text_printf(out, "'");
}

/* "SET.COLUMN" */
static rgm_status print_feature(rgm_text *out, const seen_set *set, const seen_column *column)
{
    rgm_status status = RGM_OK;
    char *name = NULL;

    RGM_GO(rgm_strprintf(&name, "%s.%s", set->name, column->name));
    RGM_GO(seen_print_name(out, name));
done:
    rgm_free(name);
    return status;
}

/* A name from a file behind '#'. */
static rgm_status print_comment(rgm_text *out, const char *name)
{
    return rgm_text_add_visible(out, name);
}

/* ---- the schema ---------------------------------------------------------------------------- */

/* Floats with empty cells are NaN, which no model reads; of integers an encoder can tell them. */
static bool can_be_read(const seen_folder *seen, const seen_column *column)
{
    if (column == seen->label)
        return true;
    if (column->kind == SEEN_NOTHING)
        return false;
    return column->empty == 0 || column->kind == SEEN_TEXTS ||
           (column->kind == SEEN_INTEGERS && column->width == 0);
}

/* Whether empty cells of the column are to be named to the importer. */
static bool is_missing_somewhere(const seen_folder *seen, const seen_column *column)
{
    return column == seen->label ||
           (column->empty > 0 && column->kind == SEEN_INTEGERS && column->width == 0);
}

static rgm_dtype dtype_of(const seen_folder *seen, const seen_column *column)
{
    if (column->kind == SEEN_TEXTS)
        return RGM_STRING;
    if (column == seen->label)
        return seen->classes || column->kind == SEEN_INTEGERS ? RGM_I64 : RGM_F32;
    return column->kind == SEEN_INTEGERS && column->width == 0 ? RGM_I64 : RGM_F32;
}

static rgm_status add_to_schema(rgm_schema *schema, const seen_folder *seen, const seen_set *set)
{
    if (set->piece == RGM_EDGE_SET)
        RGM_TRY(rgm_schema_add_edge_set(schema, set->name, set->source, set->target));
    else
        RGM_TRY(rgm_schema_add_node_set(schema, set->name));
    for (int64_t i = 0; i < set->count; i++) {
        const seen_column *column = &set->columns[i];

        if (can_be_read(seen, column))
            RGM_TRY(rgm_schema_add_feature(schema, set->piece, set->name, column->name,
                                           dtype_of(seen, column), column->width > 0,
                                           &column->width));
    }
    if (set->file == NULL)
        return RGM_OK;
    return rgm_schema_set_metadata(schema, set->piece, set->name, set->file, -1);
}

static rgm_status print_left_out(rgm_text *out, const seen_folder *seen)
{
    for (int64_t i = 0; i < seen->count; i++)
        for (int64_t k = 0; k < seen->sets[i].count; k++) {
            const seen_set *set = &seen->sets[i];
            const seen_column *column = &set->columns[k];

            if (set->piece == RGM_CONTEXT_PIECE || can_be_read(seen, column))
                continue;
            RGM_TRY(rgm_text_printf(out, "# Left out: "));
            RGM_TRY(print_comment(out, set->name));
            RGM_TRY(rgm_text_printf(out, "."));
            RGM_TRY(print_comment(out, column->name));
            RGM_TRY(rgm_text_printf(
                out, ", %lld of %lld cells are empty: fill them in and add it\n",
                (long long)column->empty, (long long)(column->empty + column->filled)));
        }
    for (int64_t i = 0; i < seen->count; i++)
        if (seen->sets[i].piece == RGM_CONTEXT_PIECE) {
            RGM_TRY(rgm_text_printf(out, "# Left out: "));
            RGM_TRY(print_comment(out, seen->sets[i].file));
            RGM_TRY(rgm_text_printf(out, ", whose columns are neither id nor source and target\n"));
        }
    return RGM_OK;
}

rgm_status seen_print_schema(rgm_text *out, const seen_folder *seen)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;

    RGM_GO(rgm_text_printf(
        out, "# What the tables have, as `regimen init experiment` took it to be. Nodes have a "
             "column id, edges source and\n# target; columns that are not named here are not read. "
             "Types are DT_INT64, DT_FLOAT, DT_STRING.\n"));
    RGM_GO(print_left_out(out, seen));
    RGM_GO(rgm_schema_create(&schema));
    for (int i = 0; i < 2; i++)
        for (int64_t s = 0; s < seen->count; s++)
            if (seen->sets[s].piece == (i == 0 ? RGM_NODE_SET : RGM_EDGE_SET))
                RGM_GO(add_to_schema(schema, seen, &seen->sets[s]));
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(rgm_schema_print(out, schema));
done:
    rgm_schema_release(schema);
    return status;
}

static rgm_status print_import(rgm_text *out, const seen_folder *seen)
{
    bool dangling = false;

    RGM_TRY(rgm_text_printf(out, "regimen data import csv "));
    RGM_TRY(seen_print_path(out, seen->folder));
    RGM_TRY(rgm_text_printf(out, "/schema.pbtxt --to "));
    RGM_TRY(seen_print_path(out, seen->folder));
    RGM_TRY(rgm_text_printf(out, "/data"));
    for (int64_t i = 0; i < seen->count; i++) {
        dangling = dangling || seen->sets[i].dangling > 0;
        for (int64_t k = 0; k < seen->sets[i].count; k++)
            if (seen->sets[i].piece != RGM_CONTEXT_PIECE &&
                is_missing_somewhere(seen, &seen->sets[i].columns[k])) {
                RGM_TRY(rgm_text_printf(out, " --label "));
                RGM_TRY(seen_print_path(out, seen->sets[i].columns[k].name));
            }
    }
    if (seen->split.name != NULL && seen->split.others > 0) {
        RGM_TRY(rgm_text_printf(out, " --split "));
        RGM_TRY(seen_print_path(out, seen->split.first));
    }
    return dangling ? rgm_text_printf(out, " --skip-dangling") : RGM_OK;
}

/* Names of columns and files are whoever's: on one line, and nothing that steers a terminal. */
rgm_status seen_print_import(rgm_text *out, const seen_folder *seen)
{
    rgm_text command = {0};
    rgm_status status = RGM_OK;

    RGM_GO(print_import(&command, seen));
    RGM_GO(rgm_text_add_visible(out, command.data));
done:
    rgm_text_clear(&command);
    return status;
}

/* ---- model.input --------------------------------------------------------------------------- */

/* What is said of a feature; NONE: it is read as it is, or not at all. */
typedef enum input_key {
    NONE,
    VOCABULARY,
    BUCKETS,
    BOUNDARIES,
    STANDARDIZE,
    EMBEDDINGS,
    TOO_MANY
} input_key;

static input_key key_of(const seen_folder *seen, const seen_set *set, const seen_column *column)
{
    int64_t distinct = rgm_map_count(column->values);

    if (column == seen->label || set->piece != RGM_NODE_SET || !can_be_read(seen, column) ||
        strcmp(column->name, "#id") == 0)
        return NONE;
    switch (column->kind) {
    case SEEN_NUMBERS:
        return STANDARDIZE;
    case SEEN_INTEGERS:
        if (column->width > 0 && seen->graphs == 0)
            return STANDARDIZE;
        if (distinct <= 20)
            return VOCABULARY;
        if (seen->graphs > 0 || column->width > 0)
            return EMBEDDINGS;
        return column->empty > 0 ? BOUNDARIES : BUCKETS;
    case SEEN_TEXTS:
        return distinct <= 100 && 2 * distinct <= column->filled ? VOCABULARY : TOO_MANY;
    default:
        return NONE;
    }
}

/* "[20, 27, 34, 41]": from the least value on. */
static rgm_status print_boundaries(rgm_text *out, const seen_column *column)
{
    enum { RANGES = 8 };

    for (int i = 0; i < RANGES; i++) {
        double from = column->least + (column->largest - column->least) * i / RANGES;

        RGM_TRY(rgm_text_printf(out, "%s%.0f", i == 0 ? "[" : ", ", floor(from)));
    }
    return rgm_text_printf(out, "]");
}

/* One line of all features that have the key; nothing where there is none. */
static rgm_status print_key(rgm_text *out, const seen_folder *seen, input_key key)
{
    static const struct {
        const char *begin, *value, *end, *comment;
    } forms[] = {
        [VOCABULARY] = {"vocabulary: {", ": 1", "}",
                        "a column for each value that the training part has"},
        [BUCKETS] = {"buckets: {", ": 10", "}", "ranges that hold as many values each"},
        [BOUNDARIES] = {"boundaries: {", ": ", "}",
                        "ranges of one width; below the first: the cell is empty"},
        [STANDARDIZE] = {"standardize: [", "", "]",
                         "mean 0 and deviation 1 over the training part"},
        [EMBEDDINGS] = {"embeddings: {", ": 32", "}", "a trained row of 32 numbers for each value"},
        [TOO_MANY] = {"# hash: {", ": 1000", "}",
                      "too many texts for a vocabulary; ONNX has no texts"}};
    int64_t count = 0;

    for (int64_t i = 0; i < seen->count; i++)
        for (int64_t k = 0; k < seen->sets[i].count; k++) {
            const seen_set *set = &seen->sets[i];

            if (key_of(seen, set, &set->columns[k]) != key)
                continue;
            RGM_TRY(rgm_text_printf(out, "%s", count++ == 0 ? "    " : ", "));
            if (count == 1)
                RGM_TRY(rgm_text_printf(out, "%s", forms[key].begin));
            RGM_TRY(print_feature(out, set, &set->columns[k]));
            RGM_TRY(rgm_text_printf(out, "%s", forms[key].value));
            if (key == BOUNDARIES)
                RGM_TRY(print_boundaries(out, &set->columns[k]));
        }
    return count > 0 ? rgm_text_printf(out, "%s   # %s\n", forms[key].end, forms[key].comment)
                     : RGM_OK;
}

/* Whether a set has nothing that a model could begin with. */
static bool is_bare(const seen_folder *seen, const seen_set *set)
{
    for (int64_t i = 0; i < set->count; i++) {
        input_key key = key_of(seen, set, &set->columns[i]);

        if (set->columns[i].kind == SEEN_WORDS || (key != NONE && key != TOO_MANY))
            return false;
    }
    return set->piece == RGM_NODE_SET;
}

rgm_status seen_print_input(rgm_text *out, const seen_folder *seen, bool *texts)
{
    rgm_text lines = {0};
    rgm_status status = RGM_OK;
    bool bare = false, words = false;

    for (input_key key = VOCABULARY; key <= TOO_MANY; key++)
        RGM_GO(print_key(&lines, seen, key));
    for (int64_t i = 0; i < seen->count; i++) {
        bare = bare || is_bare(seen, &seen->sets[i]);
        for (int64_t k = 0; k < seen->sets[i].count; k++) {
            const seen_set *set = &seen->sets[i];

            words = words || set->columns[k].kind == SEEN_WORDS;
            *texts = *texts || (set->columns[k].kind == SEEN_TEXTS &&
                                key_of(seen, set, &set->columns[k]) == VOCABULARY);
        }
    }
    if (words)
        RGM_GO(rgm_text_printf(&lines, "    normalize: true   # each row of words sums to 1\n"));
    if (bare)
        RGM_GO(rgm_text_printf(
            &lines,
            "    latent: 32   # nodes without features have a trained row of 32 numbers each\n"));
    if (lines.size > 0)
        RGM_GO(rgm_text_printf(out, "  input:   # docs/graph_features.md\n%s", lines.data));
done:
    rgm_text_clear(&lines);
    return status;
}

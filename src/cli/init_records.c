/* The experiment file of CSV tables whose lines are records: numbers, and a class. */
#include "init_look.h"

#include <math.h>
#include <string.h>

/* Which part a table is by its name, one alone to train on; "": any. */
static const char *part_of(const seen_folder *seen, const seen_set *table)
{
    static const char *const parts[][2] = {{"train", "train"},
                                           {"test", "test"},
                                           {"valid", "valid"},
                                           {"val", "valid"},
                                           {"dev", "valid"}};

    if (seen->count == 1)
        return "train";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(table->name, parts[i][0]) != NULL)
            return parts[i][1];
    return "";
}

/* The first table to train on: a run finds the columns of the others by the names there, and
 * data.label is a place there. */
static rgm_status find_train(seen_set **out, const seen_folder *seen)
{
    *out = NULL;
    for (int64_t i = 0; i < seen->count; i++) {
        seen_set *table = &seen->sets[i];
        const char *part = part_of(seen, table);

        if (part[0] == '\0')
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s has several tables without source and target, and '%s' does not "
                            "say by its name whether it is to train, valid or test",
                            seen->folder, table->file);
        if (*out == NULL && strcmp(part, "train") == 0)
            *out = table;
    }
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s has several tables without source and target, and none of them is to "
                        "train on by its name, as train.csv is",
                        seen->folder);
    return RGM_OK;
}

/* Refuse a column that only says which line it is: id, or one without a name, as an index is
 * written by pandas. */
static rgm_status refuse_id(const seen_set *table)
{
    const char *id = table->piece == RGM_NODE_SET ? "id" : NULL;

    for (int64_t i = 0; i < table->count && id == NULL; i++) {
        const char *name = table->columns[i].name;

        if (*name == '\0' || strcasecmp(name, "id") == 0)
            id = name;
    }
    if (id == NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA,
                    "%s: column '%s' says which line it is, and of records (no table here has "
                    "source and target) every column but the label is learned from: take it away, "
                    "or call it what it means",
                    table->file, id);
}

/* Put the columns of a table into the order of those to train on, by their names. */
static rgm_status order_columns(seen_set *table, const seen_set *train)
{
    static const char *const how =
        "tables of records have the same columns, the label's among them; keep others elsewhere";

    for (int64_t i = 0; i < train->count; i++) {
        int64_t at = i;
        seen_column column;

        while (at < table->count && strcmp(table->columns[at].name, train->columns[i].name) != 0)
            at++;
        if (at >= table->count)
            return RGM_FAIL(RGM_ERR_DATA, "%s has no column '%s', which %s has: %s", table->file,
                            train->columns[i].name, train->file, how);
        column = table->columns[i];
        table->columns[i] = table->columns[at];
        table->columns[at] = column;
    }
    if (table->count > train->count)
        return RGM_FAIL(RGM_ERR_DATA, "%s has a column '%s', which %s has not: %s", table->file,
                        table->columns[train->count].name, train->file, how);
    return RGM_OK;
}

static rgm_status check_table(seen_set *table, const seen_set *train)
{
    RGM_TRY(refuse_id(table));
    if (table->headless != train->headless)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s names its columns in the first line, %s does not: both must",
                        table->headless ? train->file : table->file,
                        table->headless ? table->file : train->file);
    RGM_TRY(order_columns(table, train));
    for (int64_t i = 0; i < table->count; i++) {
        const seen_column *column = &table->columns[i];

        if (column->kind == SEEN_TEXTS || column->empty > 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: column %s has %s; a record is numbers alone, and a class from "
                            "0: write texts as numbers and fill in what is empty",
                            table->file, column->name, column->empty > 0 ? "empty cells" : "texts");
    }
    return RGM_OK;
}

static rgm_status join_column(seen_column *to, const seen_column *from)
{
    to->kind = from->kind > to->kind ? from->kind : to->kind;
    to->filled += from->filled;
    to->nones += from->nones;
    to->least = fmin(to->least, from->least);
    to->largest = fmax(to->largest, from->largest);
    for (int64_t i = 0; i < rgm_map_count(from->values); i++)
        RGM_TRY(rgm_map_set(to->values, rgm_map_key(from->values, i), to));
    return RGM_OK;
}

rgm_status seen_join_records(seen_folder *seen)
{
    seen_set *train;

    RGM_TRY(find_train(&train, seen));
    for (int64_t i = 0; i < seen->count; i++)
        RGM_TRY(check_table(&seen->sets[i], train));
    for (int64_t i = 0; i < seen->count; i++) {
        if (&seen->sets[i] == train)
            continue;
        for (int64_t k = 0; k < train->count; k++)
            RGM_TRY(join_column(&train->columns[k], &seen->sets[i].columns[k]));
        seen_clear_columns(&seen->sets[i]);
    }
    if (seen->asked == NULL && train->headless)
        seen->asked = train->columns[train->count - 1].name;
    return RGM_OK;
}

/* The largest number of the columns but the label, without sign. */
static double find_scale(const seen_folder *seen)
{
    double scale = 0;

    for (int64_t i = 0; i < seen->labelled->count; i++) {
        const seen_column *column = &seen->labelled->columns[i];

        if (column != seen->label)
            scale = fmax(scale, fmax(fabs(column->least), fabs(column->largest)));
    }
    return scale;
}

static rgm_status print_parts(rgm_text *out, const seen_folder *seen, bool *has_valid)
{
    static const char *const parts[] = {"train", "valid", "test"};

    for (int p = 0; p < 3; p++)
        for (int64_t i = 0, count = 0; i < seen->count; i++) {
            if (strcmp(part_of(seen, &seen->sets[i]), parts[p]) == 0) {
                RGM_TRY(rgm_text_printf(out, count++ == 0 ? "  %s: [" : ", ", parts[p]));
                RGM_TRY(seen_print_name(out, seen->sets[i].file));
                *has_valid = *has_valid || p == 1;
            }
            if (i == seen->count - 1 && count > 0)
                RGM_TRY(rgm_text_printf(out, "]\n"));
        }
    return RGM_OK;
}

static rgm_status print_data(rgm_text *out, const seen_folder *seen)
{
    int64_t label = seen->label - seen->labelled->columns;
    double scale = find_scale(seen);
    bool has_valid = false, headless = seen->labelled->headless;

    RGM_TRY(rgm_text_printf(out, "data:\n  path: "));
    RGM_TRY(seen_print_name(out, seen->folder));
    RGM_TRY(rgm_text_printf(out, "\n"));
    RGM_TRY(print_parts(out, seen, &has_valid));
    if (!has_valid)
        RGM_TRY(rgm_text_printf(out, "  valid_fraction: 0.1   # of train, to choose weights by\n"));
    RGM_TRY(rgm_text_printf(out, "  header: %s\n", headless ? "false" : "true"));
    if (label == seen->labelled->count - 1)
        RGM_TRY(rgm_text_printf(out, "  label: last%s\n",
                                headless ? "   # no header says so: another column by its number"
                                         : ""));
    else
        RGM_TRY(rgm_text_printf(out, "  label: \"%lld\"   # the number of its column, from 0\n",
                                (long long)label));
    if (scale > 0 && scale != 1)
        RGM_TRY(rgm_text_printf(out, "  scale: %.6g   # the largest value: all are divided by it\n",
                                scale));
    return rgm_text_printf(out, "  batch_size: 64\n");
}

rgm_status seen_print_records(rgm_text *out, const seen_folder *seen, const char *file)
{
    int64_t rows = 0;

    if (!seen->classes || seen->label->least < 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: the label '%s' is from %g to %g; of records only classes are learned, "
                        "integers from 0",
                        seen->labelled->file, seen->label->name, seen->label->least,
                        seen->label->largest);
    for (int64_t i = 0; i < seen->count; i++)
        rows += seen->sets[i].rows;
    RGM_TRY(rgm_text_printf(out,
                            "# A first experiment, written by `regimen init experiment` from what "
                            "it saw; change what you know better.\n#   %s records of %lld numbers, "
                            "each with a class\n# Commands:\n#   regimen config check ",
                            grouped(rows), (long long)(seen->labelled->count - 1)));
    RGM_TRY(seen_print_path(out, file));
    RGM_TRY(rgm_text_printf(out, " --data\n#   regimen run "));
    RGM_TRY(seen_print_path(out, file));
    RGM_TRY(rgm_text_printf(out, "\n# Every key: regimen config keys, and docs/record.md\n"
                                 "description: classes of records\n"));
    RGM_TRY(print_data(out, seen));
    return rgm_text_printf(
        out,
        "task:\n  type: classification\n  num_classes: %lld   # or class_names: [...]\n"
        "model:\n  type: mlp   # images: cnn, with data.shape: [rows, columns, channels]\n"
        "  hidden: [128, 64]\n  dropout: 0.2\n"
        "optimizer: {type: adam, learning_rate: {type: cosine, initial: 1e-3}}\n"
        "trainer:\n  epochs: 40\n"
        "  checkpoint: {best: {metric: valid.cross_entropy}}   # which weights are kept\n"
        "runtime: {seed: 1}\nexport: [{type: onnx}]\n",
        (long long)seen->num_classes);
}

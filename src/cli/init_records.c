/* The experiment file of CSV tables whose lines are records: numbers, and a class. */
#include "init_look.h"

#include <math.h>
#include <string.h>

/* Which part a table is by its name; "": any. */
static const char *part_of(const seen_set *table)
{
    static const char *const parts[][2] = {{"train", "train"},
                                           {"test", "test"},
                                           {"valid", "valid"},
                                           {"val", "valid"},
                                           {"dev", "valid"}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(table->name, parts[i][0]) != NULL)
            return parts[i][1];
    return "";
}

/* Every table must have the columns of the one that the label was found in, in their order. */
static rgm_status check_tables(const seen_folder *seen)
{
    const seen_set *first = &seen->sets[0];

    for (int64_t i = 0; i < seen->count; i++) {
        const seen_set *table = &seen->sets[i];

        if (seen->count > 1 && part_of(table)[0] == '\0')
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s has several tables without source and target, and '%s' does not "
                            "say by its name whether it is to train, valid or test",
                            seen->folder, table->file);
        if (table->count != first->count)
            return RGM_FAIL(RGM_ERR_DATA, "%s has %lld columns, %s has %lld", table->file,
                            (long long)table->count, first->file, (long long)first->count);
        for (int64_t k = 0; k < table->count; k++) {
            const seen_column *column = &table->columns[k];

            if (column->kind == SEEN_TEXTS || column->empty > 0)
                return RGM_FAIL(RGM_ERR_DATA,
                                "%s: column %s has %s; a record is numbers alone, and a class from "
                                "0: write texts as numbers and fill in what is empty",
                                table->file, column->name,
                                column->empty > 0 ? "empty cells" : "texts");
        }
    }
    return RGM_OK;
}

bool seen_is_headless(const seen_folder *seen)
{
    return seen->sets[0].count > 0 && strcmp(seen->sets[0].columns[0].name, "0") == 0;
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
    seen_set *first = &seen->sets[0];

    RGM_TRY(check_tables(seen));
    for (int64_t i = 1; i < seen->count; i++)
        for (int64_t k = 0; k < first->count; k++)
            RGM_TRY(join_column(&first->columns[k], &seen->sets[i].columns[k]));
    if (seen->asked == NULL && seen_is_headless(seen))
        seen->asked = first->columns[first->count - 1].name;
    return RGM_OK;
}

/* The label's place among the columns; the largest of the others without sign. */
static int64_t look_at_columns(double *scale, int64_t *width, const seen_folder *seen)
{
    int64_t at = 0;

    *scale = 0;
    *width = 0;
    for (int64_t k = 0; k < seen->labelled->count; k++) {
        const seen_column *column = &seen->labelled->columns[k];
        double largest = fmax(fabs(column->least), fabs(column->largest));

        if (column == seen->label)
            at = *width;
        else if (largest > *scale)
            *scale = largest;
        *width += column->width > 0 ? column->width : 1;
    }
    return at;
}

static rgm_status print_parts(rgm_text *out, const seen_folder *seen, bool *has_valid)
{
    static const char *const parts[] = {"train", "valid", "test"};

    for (int p = 0; p < 3; p++)
        for (int64_t i = 0, count = 0; i < seen->count; i++) {
            const char *part = seen->count == 1 ? "train" : part_of(&seen->sets[i]);

            if (strcmp(part, parts[p]) == 0) {
                RGM_TRY(rgm_text_printf(out, count++ == 0 ? "  %s: [" : ", ", parts[p]));
                RGM_TRY(seen_print_name(out, seen->sets[i].file));
                *has_valid = *has_valid || p == 1;
            }
            if (i == seen->count - 1 && count > 0)
                RGM_TRY(rgm_text_printf(out, "]\n"));
        }
    return RGM_OK;
}

static rgm_status print_data(rgm_text *out, const seen_folder *seen, int64_t label, int64_t width,
                             double scale)
{
    bool has_valid = false, headless = seen_is_headless(seen);

    RGM_TRY(rgm_text_printf(out, "data:\n  path: "));
    RGM_TRY(seen_print_name(out, seen->folder));
    RGM_TRY(rgm_text_printf(out, "\n"));
    RGM_TRY(print_parts(out, seen, &has_valid));
    if (!has_valid)
        RGM_TRY(rgm_text_printf(out, "  valid_fraction: 0.1   # of train, to choose weights by\n"));
    RGM_TRY(rgm_text_printf(out, "  header: %s\n", headless ? "false" : "true"));
    if (label == width - 1)
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
    double scale;
    int64_t width, label = look_at_columns(&scale, &width, seen), rows = 0;

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
                            grouped(rows), (long long)(width - 1)));
    RGM_TRY(seen_print_path(out, file));
    RGM_TRY(rgm_text_printf(out, " --data\n#   regimen run "));
    RGM_TRY(seen_print_path(out, file));
    RGM_TRY(rgm_text_printf(out, "\n# Every key: regimen config keys, and docs/record.md\n"
                                 "description: classes of records\n"));
    RGM_TRY(print_data(out, seen, label, width, scale));
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

/*
 * The table of runs: chosen, sorted, printed. It works on rows that never change, without a lock;
 * those that it shows are read first where they are not yet.
 */
#include "index_choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sorting ------------------------------------------------------------------------------- */

typedef struct sorted {
    rgmi_run_row **row; /* where it is held */
    rgmi_row_value value;
} sorted;

/* Rows without the key are last in either order; equal ones by name. */
static int compare_rows(const void *a, const void *b, void *payload)
{
    const sorted *x = a, *y = b;
    const rgmi_choice *c = payload;
    const rgmi_run_row *p = *x->row, *q = *y->row;
    int order;

    if (x->value.has != y->value.has)
        return x->value.has ? -1 : 1;
    order = x->value.has ? rgmi_values_compare(&x->value, &y->value) : 0;
    if (order != 0)
        return c->query->ascending ? order : -order;
    order = rgmi_compare_names(rgmi_run_row_title(p), rgmi_run_row_title(q));
    return order != 0 ? order : (p->id > q->id) - (p->id < q->id);
}

/* ---- printing ------------------------------------------------------------------------------ */

rgm_status rgmi_print_number(rgm_text *json, double number)
{
    return isfinite(number) ? rgm_json_print_number(json, number) : rgm_text_add(json, "null", 4);
}

rgm_status rgmi_print_text(rgm_text *json, const char *text)
{
    return text != NULL ? rgm_json_print_text(json, text) : rgm_text_add(json, "null", 4);
}

rgm_status rgmi_print_count(rgm_text *json, const char *name, int64_t count)
{
    return count >= 0 ? rgm_text_printf(json, ",\"%s\":%" PRId64, name, count)
                      : rgm_text_printf(json, ",\"%s\":null", name);
}

rgm_status rgmi_print_named_text(rgm_text *json, const char *name, const char *text)
{
    RGM_TRY(rgm_text_printf(json, ",\"%s\":", name));
    return rgmi_print_text(json, text);
}

rgm_status rgmi_print_named_number(rgm_text *json, const char *name, double number)
{
    RGM_TRY(rgm_text_printf(json, ",\"%s\":", name));
    return rgmi_print_number(json, number);
}

static rgm_status print_tags(rgm_text *json, const char *tags)
{
    char tag[RGMI_LONGEST_TAG + 1];

    RGM_TRY(rgm_text_printf(json, ",\"tags\":["));
    for (const char *line = tags; line != NULL && *line != 0;) {
        size_t size = strcspn(line, "\n"), kept = size < sizeof tag ? size : sizeof tag - 1;

        memcpy(tag, line, kept);
        tag[kept] = 0;
        if (line != tags)
            RGM_TRY(rgm_text_add(json, ",", 1));
        RGM_TRY(rgm_json_print_text(json, tag));
        line += size + (line[size] == '\n');
    }
    return rgm_text_add(json, "]", 1);
}

static rgm_status print_best(rgm_text *json, const rgmi_run_row *row)
{
    if (row->text[RGMI_TEXT_BEST_METRIC] == NULL)
        return rgm_text_printf(json, ",\"best\":null");
    RGM_TRY(rgm_text_printf(json, ",\"best\":{\"metric\":"));
    RGM_TRY(rgm_json_print_text(json, row->text[RGMI_TEXT_BEST_METRIC]));
    RGM_TRY(rgmi_print_named_number(json, "value", row->best_value));
    RGM_TRY(rgmi_print_count(json, "step", row->best_step));
    return rgm_text_add(json, "}", 1);
}

static rgm_status print_id(rgm_text *json, const rgmi_run_row *row)
{
    char hex[17];

    if (row->kind == RGMI_EXPERIMENT)
        return rgm_text_printf(json, "\"id\":\"%" PRId64 ":%" PRId64 "\"", row->master,
                               row->experiment);
    rgmi_run_id_print(hex, row->id);
    return rgm_text_printf(json, "\"id\":\"%s\"", hex);
}

rgm_status rgmi_run_row_print(rgm_text *json, const rgmi_run_row *row)
{
    static const struct {
        const char *name;
        rgmi_run_text text;
    } texts[] = {{"folder_name", RGMI_TEXT_NAME}, {"note", RGMI_TEXT_NOTE},
                 {"folder", RGMI_TEXT_FOLDER},    {"task", RGMI_TEXT_TASK},
                 {"model", RGMI_TEXT_MODEL},      {"description", RGMI_TEXT_DESCRIPTION},
                 {"reason", RGMI_TEXT_REASON}};

    RGM_TRY(print_id(json, row));
    RGM_TRY(rgmi_print_named_text(json, "name", rgmi_run_row_title(row)));
    RGM_TRY(rgmi_print_named_text(json, "kind", rgmi_run_kinds[row->kind]));
    RGM_TRY(rgmi_print_named_text(json, "state", row->state));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        RGM_TRY(rgmi_print_named_text(json, texts[i].name, row->text[texts[i].text]));
    RGM_TRY(print_tags(json, row->text[RGMI_TEXT_TAGS]));
    RGM_TRY(print_best(json, row));
    RGM_TRY(rgmi_print_count(json, "step", row->step));
    RGM_TRY(rgmi_print_count(json, "steps", row->steps));
    RGM_TRY(rgmi_print_count(json, "epoch", row->epoch));
    RGM_TRY(rgmi_print_count(json, "epochs", row->epochs));
    RGM_TRY(rgmi_print_named_number(json, "progress", row->progress));
    RGM_TRY(rgmi_print_named_number(json, "modified", row->modified));
    RGM_TRY(rgmi_print_named_number(json, "started", row->started));
    RGM_TRY(rgmi_print_count(json, "master", row->master));
    RGM_TRY(rgmi_print_count(json, "experiment", row->experiment));
    RGM_TRY(rgmi_print_count(json, "trial", row->trial));
    RGM_TRY(rgm_text_printf(json, ",\"archived\":%s", row->archived ? "true" : "false"));
    if (row->trials < 0)
        return RGM_OK;
    RGM_TRY(rgmi_print_count(json, "trials", row->trials));
    return rgmi_print_count(json, "failed_trials", row->failed);
}

static rgm_status print_values(rgm_text *json, const rgmi_choice *c, const rgmi_run_row *row)
{
    RGM_TRY(rgm_text_printf(json, ",\"values\":{"));
    for (int64_t i = 0; i < c->column_count; i++) {
        rgmi_row_value v = rgmi_value_of(row, &c->columns[i]);

        RGM_TRY(rgm_text_printf(json, "%s", i > 0 ? "," : ""));
        RGM_TRY(rgm_json_print_text(json, c->columns[i].name));
        RGM_TRY(rgm_text_add(json, ":", 1));
        if (v.has && v.numeric)
            RGM_TRY(rgmi_print_number(json, v.number));
        else
            RGM_TRY(rgmi_print_text(json, v.has ? v.text : NULL));
    }
    return rgm_text_add(json, "}", 1);
}

static rgm_status print_page(rgm_text *json, rgmi_runs *runs, const rgmi_choice *c,
                             const sorted *all, int64_t count)
{
    int64_t first = c->query->offset < count ? c->query->offset : count;
    int64_t last = c->query->limit < count - first ? first + c->query->limit : count;

    RGM_TRY(rgm_text_printf(json, ",\"rows\":["));
    for (int64_t i = first; i < last; i++) {
        if (!(*all[i].row)->read)
            RGM_TRY(rgmi_runs_read_now(all[i].row, runs));
        RGM_TRY(rgm_text_printf(json, i > first ? ",{" : "{"));
        RGM_TRY(rgmi_run_row_print(json, *all[i].row));
        RGM_TRY(print_values(json, c, *all[i].row));
        RGM_TRY(rgm_text_add(json, "}", 1));
    }
    return rgm_text_add(json, "]", 1);
}

static rgm_status print_key(rgm_text *json, bool *first, const char *name, bool numeric,
                            int64_t count)
{
    RGM_TRY(rgm_text_printf(json, "%s{\"key\":", *first ? "" : ","));
    *first = false;
    RGM_TRY(rgm_json_print_text(json, name));
    return rgm_text_printf(json, ",\"kind\":\"%s\",\"runs\":%" PRId64 "}",
                           numeric ? "number" : "text", count);
}

/* How many rows have a value of a key, and how many of those are texts. */
typedef struct tally {
    int64_t count, texts;
} tally;

static rgm_status count_cells(tally **out, int64_t keys, const sorted *all, int64_t count)
{
    RGM_TRY(RGM_NEW(*out, keys));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < (*all[i].row)->cell_count; k++) {
            const rgmi_cell *cell = &(*all[i].row)->cells[k];

            if (cell->key < keys) {
                (*out)[cell->key].count++;
                (*out)[cell->key].texts += !cell->numeric;
            }
        }
    return RGM_OK;
}

static rgm_status print_keys(rgm_text *json, rgmi_runs *runs, const sorted *all, int64_t count)
{
    int64_t keys = rgmi_keys_count(&runs->keys);
    tally *tallies = NULL;
    bool first = true;
    rgm_status status = RGM_OK;

    RGM_GO(count_cells(&tallies, keys, all, count));
    RGM_GO(rgm_text_printf(json, ",\"columns\":["));
    for (int i = 0; i < RGMI_COLUMNS; i++) {
        int64_t having = 0;

        for (int64_t k = 0; k < count; k++)
            having += rgmi_value_fixed(*all[k].row, (rgmi_row_column)i).has;
        RGM_GO(print_key(json, &first, rgmi_row_columns[i], i >= RGMI_COLUMN_BEST, having));
    }
    for (int64_t i = 0; i < keys; i++)
        if (tallies[i].count > 0)
            RGM_GO(print_key(json, &first, rgmi_keys_name(&runs->keys, (int32_t)i),
                             tallies[i].texts == 0, tallies[i].count));
    RGM_GO(rgm_text_add(json, "]", 1));
done:
    rgm_free(tallies);
    return status;
}

rgm_status rgmi_print_table_head(rgm_text *json, const rgmi_runs_query *query, int64_t total,
                                 const rgmi_runs_rows *held, bool complete)
{
    RGM_TRY(rgm_text_printf(json,
                            "{\"total\":%" PRId64 ",\"offset\":%" PRId64 ",\"limit\":%" PRId64
                            ",\"found\":%" PRId64 ",\"read\":%" PRId64 ",\"complete\":%s",
                            total, query->offset, query->limit, held->count, held->read,
                            complete && query->missing == NULL ? "true" : "false"));
    return rgmi_print_named_text(json, "missing", query->missing);
}

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct table {
    rgmi_choice choice;
    sorted *rows;
    int64_t count;
    rgmi_runs_rows held;
    rgmi_run_row **more; /* held too */
    int64_t more_count;
} table;

static void choose_rows(table *t, rgmi_run_row **rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (rgmi_choice_fits(&t->choice, rows[i]))
            t->rows[t->count++] =
                (sorted){.row = &rows[i], .value = rgmi_value_of(rows[i], &t->choice.sort)};
}

static rgm_status hold_more(table *t, rgmi_run_row *const *more, int64_t count)
{
    RGM_TRY(RGM_NEW(t->more, count));
    for (; t->more_count < count; t->more_count++)
        t->more[t->more_count] = rgmi_run_row_retain(more[t->more_count]);
    return RGM_OK;
}

static void clear_table(table *t)
{
    rgmi_choice_clear(&t->choice);
    rgm_free(t->rows);
    rgmi_runs_rows_clear(&t->held);
    for (int64_t i = 0; i < t->more_count; i++)
        rgmi_run_row_release(t->more[i]);
    rgm_free(t->more);
}

rgm_status rgmi_runs_list(rgm_text *json, rgmi_runs *runs, const rgmi_runs_query *query,
                          rgmi_run_row *const *more, int64_t more_count)
{
    table t = {0};
    bool complete;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_runs_rows_take(&t.held, runs, rgmi_query_needs_all(query)));
    RGM_GO(hold_more(&t, more, more_count));
    complete = t.held.walked && t.held.read == t.held.count;
    RGM_GO(rgmi_choice_read(&t.choice, runs, query, complete && t.held.count > 0));
    RGM_GO(RGM_NEW(t.rows, t.held.count + t.more_count));
    choose_rows(&t, t.held.rows, t.held.count);
    choose_rows(&t, t.more, t.more_count);
    if (t.count > 1)
        qsort_r(t.rows, (size_t)t.count, sizeof *t.rows, compare_rows, &t.choice);
    RGM_GO(rgmi_print_table_head(json, query, t.count, &t.held, complete));
    if (query->describe)
        RGM_GO(print_keys(json, runs, t.rows, t.count));
    RGM_GO(print_page(json, runs, &t.choice, t.rows, t.count));
    RGM_GO(rgm_text_add(json, "}", 1));
done:
    clear_table(&t);
    return status;
}

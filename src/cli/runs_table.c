/* Runs as a table for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runs.h"

/** Texts by row and column; row 0 is the head. */
typedef struct table {
    char **cells;
    bool *is_number; /* by column: aligned right */
    int64_t rows, columns;
} table;

/* Before the metrics, and after them. */
enum { RUN, STATE, EPOCH, STEP, BEST, VALUE, AT, METRICS };
enum { MODIFIED, DESCRIPTION, BEHIND };

static rgm_status table_create(table *t, int64_t rows, int64_t columns)
{
    *t = (table){.rows = rows, .columns = columns};
    RGM_TRY(RGM_NEW(t->cells, rows * columns));
    return RGM_NEW(t->is_number, columns);
}

static void table_clear(table *t)
{
    for (int64_t i = 0; t->cells != NULL && i < t->rows * t->columns; i++)
        rgm_free(t->cells[i]);
    rgm_free(t->cells);
    rgm_free(t->is_number);
}

static int64_t characters(const char *text)
{
    int64_t count = 0;

    for (; *text != '\0'; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

/* ---- cells --------------------------------------------------------------------------------- */

static rgm_status set_text(table *t, int64_t row, int64_t column, const char *text)
{
    return printable(&t->cells[row * t->columns + column], text != NULL ? text : "-");
}

static rgm_status set_number(table *t, int64_t row, int64_t column, double number)
{
    char text[32] = "-";

    t->is_number[column] = true;
    if (isfinite(number))
        snprintf(text, sizeof text, "%.4g", number);
    return set_text(t, row, column, text);
}

/* < 0: not known. */
static rgm_status set_count(table *t, int64_t row, int64_t column, int64_t count)
{
    t->is_number[column] = true;
    return set_text(t, row, column, count >= 0 ? grouped(count) : NULL);
}

/* "22/40", of which the second may be unknown. */
static rgm_status set_done(table *t, int64_t row, int64_t column, int64_t done, int64_t of)
{
    char text[64];

    t->is_number[column] = true;
    snprintf(text, sizeof text, "%s%s%s", grouped(done), of >= 0 ? "/" : "",
             of >= 0 ? grouped(of) : "");
    return set_text(t, row, column, text);
}

/* "2026-11-21T23:08:44Z" without the seconds. */
static rgm_status set_time(table *t, int64_t row, int64_t column, int64_t seconds)
{
    char time[32], text[17] = "-";

    time_text(time, seconds);
    if (strlen(time) > 16)
        snprintf(text, sizeof text, "%.10s %.5s", time, time + 11);
    return set_text(t, row, column, text);
}

static rgm_status set_run(table *t, int64_t row, const listed_run *run, const text_list *metrics)
{
    const rgm_run_look *look = &run->look;
    int64_t behind = METRICS + metrics->count;

    RGM_TRY(set_text(t, row, RUN, run->name));
    RGM_TRY(set_text(t, row, STATE, rgm_run_state_names[look->state]));
    RGM_TRY(set_done(t, row, EPOCH, look->epoch, look->epochs));
    RGM_TRY(set_done(t, row, STEP, look->step, look->steps));
    RGM_TRY(set_text(t, row, BEST, look->best_metric));
    RGM_TRY(set_number(t, row, VALUE, look->best_value));
    RGM_TRY(set_count(t, row, AT, look->best_step));
    for (int64_t i = 0; i < metrics->count; i++)
        RGM_TRY(set_number(t, row, METRICS + i, rgm_run_look_last(look, metrics->items[i])));
    RGM_TRY(set_time(t, row, behind + MODIFIED, look->modified));
    return set_text(t, row, behind + DESCRIPTION, look->description);
}

static rgm_status set_head(table *t, const text_list *metrics)
{
    static const char *const first[] = {"RUN", "STATE", "EPOCH", "STEP", "BEST", "VALUE", "AT"};
    static const char *const behind[] = {"MODIFIED (UTC)", "DESCRIPTION"};

    for (int64_t i = 0; i < METRICS; i++)
        RGM_TRY(set_text(t, 0, i, first[i]));
    for (int64_t i = 0; i < metrics->count; i++)
        RGM_TRY(set_text(t, 0, METRICS + i, metrics->items[i]));
    for (int64_t i = 0; i < BEHIND; i++)
        RGM_TRY(set_text(t, 0, METRICS + metrics->count + i, behind[i]));
    return RGM_OK;
}

/* ---- print --------------------------------------------------------------------------------- */

/* The first `width` characters; the last of them is an ellipsis where some are missing. */
static void cut(rgm_text *line, int64_t width)
{
    int64_t count = 0;

    if (width <= 0 || characters(line->data) <= width)
        return;
    for (int64_t i = 0; i < line->size; i++) {
        count += (line->data[i] & 0xc0) != 0x80;
        if (count == width) {
            line->size = i;
            break;
        }
    }
    memcpy(line->data + line->size, "\xe2\x80\xa6", 4); /* in the place of two characters or more */
    line->size += 3;
}

static rgm_status print_row(rgm_text *line, const table *t, int64_t row, const int64_t *widths)
{
    line->size = 0;
    for (int64_t c = 0; c < t->columns; c++) {
        const char *text = t->cells[row * t->columns + c];
        int64_t space = widths[c] - characters(text);

        RGM_TRY(rgm_text_printf(line, "%s%*s%s%*s", c > 0 ? "  " : "",
                                t->is_number[c] ? (int)space : 0, "", text,
                                t->is_number[c] ? 0 : (int)space, ""));
    }
    while (line->size > 0 && line->data[line->size - 1] == ' ')
        line->data[--line->size] = '\0';
    return RGM_OK;
}

static rgm_status print_table(rgm_text *out, const table *t, int64_t width)
{
    rgm_status status = RGM_OK;
    rgm_text line = {0};
    int64_t *widths = NULL;

    RGM_GO(RGM_NEW(widths, t->columns));
    for (int64_t i = 0; i < t->rows * t->columns; i++) {
        int64_t size = characters(t->cells[i]), *widest = &widths[i % t->columns];

        *widest = size > *widest ? size : *widest;
    }
    for (int64_t row = 0; row < t->rows; row++) {
        RGM_GO(print_row(&line, t, row, widths));
        RGM_GO(rgm_text_add(&line, "    ", 4)); /* room for the ellipsis */
        line.size -= 4;
        line.data[line.size] = '\0';
        cut(&line, width);
        RGM_GO(rgm_text_printf(out, "%s\n", line.data));
    }
done:
    rgm_text_clear(&line);
    rgm_free(widths);
    return status;
}

rgm_status runs_table(rgm_text *out, const run_list *runs, const text_list *metrics, int64_t width)
{
    rgm_status status = RGM_OK;
    table t = {0};

    RGM_GO(table_create(&t, 1 + runs->count, METRICS + metrics->count + BEHIND));
    RGM_GO(set_head(&t, metrics));
    for (int64_t i = 0; i < t.rows - 1; i++)
        RGM_GO(set_run(&t, i + 1, &runs->items[i], metrics));
    RGM_GO(print_table(out, &t, width));
done:
    table_clear(&t);
    return status;
}

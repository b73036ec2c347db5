/* Tables: aligned for people, CSV for programs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "table.h"

/* ---- fill ---------------------------------------------------------------------------------- */

rgm_status table_add_column(table *t, const char *head)
{
    char **heads = rgm_realloc(t->head, (size_t)(t->columns + 1) * sizeof *heads);

    if (heads == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a table of %lld columns",
                        (long long)t->columns + 1);
    t->head = heads;
    RGM_TRY(rgm_strdup(&t->head[t->columns], head));
    t->columns++;
    return RGM_OK;
}

void table_clear(table *t)
{
    for (int64_t i = 0; i < t->columns; i++)
        rgm_free(t->head[i]);
    for (int64_t i = 0; i < t->rows * t->columns; i++)
        rgm_free(t->cells[i].text);
    rgm_free(t->head);
    rgm_free(t->cells);
    *t = (table){0};
}

rgm_status table_add_row(table *t)
{
    RGM_TRY(RGM_RESERVE(t->cells, t->capacity, (t->rows + 1) * t->columns));
    for (int64_t i = 0; i < t->columns; i++)
        t->cells[t->rows * t->columns + i] = (table_cell){.kind = CELL_EMPTY};
    t->rows++;
    return RGM_OK;
}

static table_cell *cell(const table *t, int64_t row, int64_t column)
{
    return &t->cells[row * t->columns + column];
}

rgm_status table_set(table *t, int64_t column, const char *text)
{
    table_cell *to = cell(t, t->rows - 1, column);

    if (text == NULL)
        return RGM_OK;
    to->kind = CELL_TEXT;
    return rgm_strdup(&to->text, text);
}

void table_set_number(table *t, int64_t column, double number)
{
    if (isfinite(number))
        *cell(t, t->rows - 1, column) = (table_cell){CELL_NUMBER, .number = number};
}

void table_set_count(table *t, int64_t column, int64_t count)
{
    if (count >= 0)
        *cell(t, t->rows - 1, column) = (table_cell){CELL_COUNT, .count = count};
}

void table_set_done(table *t, int64_t column, int64_t done, int64_t of)
{
    if (of < 0)
        table_set_count(t, column, done);
    else
        *cell(t, t->rows - 1, column) = (table_cell){CELL_DONE, .count = done, .of = of};
}

rgm_status table_set_time(table *t, int64_t column, int64_t seconds)
{
    char text[32];

    time_text(text, seconds);
    return text[0] != '\0' ? table_set(t, column, text) : RGM_OK;
}

/* ---- for people ---------------------------------------------------------------------------- */

/** What is printed: every cell's text, [1 + rows, columns], and which columns hold numbers. */
typedef struct shown_table {
    char **texts;
    int64_t *widths; /* [columns] in characters */
    bool *is_number; /* [columns]               */
} shown_table;

static int64_t characters(const char *text)
{
    int64_t count = 0;

    for (; *text != '\0'; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

static bool is_time(const char *text)
{
    return strlen(text) == 20 && text[10] == 'T' && text[19] == 'Z';
}

static rgm_status show_cell(char **out, const table_cell *c)
{
    switch (c->kind) {
    case CELL_NUMBER:
        return rgm_strprintf(out, "%.4g", c->number);
    case CELL_COUNT:
        return rgm_strdup(out, grouped(c->count));
    case CELL_DONE:
        return rgm_strprintf(out, "%s/%s", grouped(c->count), grouped(c->of));
    case CELL_TEXT:
        if (is_time(c->text))
            return rgm_strprintf(out, "%.10s %.5s", c->text, c->text + 11);
        return printable(out, c->text);
    default:
        return rgm_strdup(out, "-");
    }
}

static rgm_status show(shown_table *s, const table *t)
{
    RGM_TRY(RGM_NEW(s->texts, (1 + t->rows) * t->columns));
    RGM_TRY(RGM_NEW(s->widths, t->columns));
    RGM_TRY(RGM_NEW(s->is_number, t->columns));
    for (int64_t row = 0; row <= t->rows; row++)
        for (int64_t c = 0; c < t->columns; c++) {
            char **text = &s->texts[row * t->columns + c];
            int64_t width;

            if (row == 0) {
                RGM_TRY(printable(text, t->head[c]));
            } else {
                const table_cell *from = cell(t, row - 1, c);

                RGM_TRY(show_cell(text, from));
                s->is_number[c] |= from->kind != CELL_EMPTY && from->kind != CELL_TEXT;
            }
            width = characters(*text);
            s->widths[c] = width > s->widths[c] ? width : s->widths[c];
        }
    return RGM_OK;
}

static void shown_clear(shown_table *s, const table *t)
{
    for (int64_t i = 0; s->texts != NULL && i < (1 + t->rows) * t->columns; i++)
        rgm_free(s->texts[i]);
    rgm_free(s->texts);
    rgm_free(s->widths);
    rgm_free(s->is_number);
}

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

static rgm_status print_row(rgm_text *line, const shown_table *s, char **texts, int64_t columns)
{
    line->size = 0;
    for (int64_t c = 0; c < columns; c++) {
        int64_t space = s->widths[c] - characters(texts[c]);

        RGM_TRY(rgm_text_printf(line, "%s%*s%s%*s", c > 0 ? "  " : "",
                                s->is_number[c] ? (int)space : 0, "", texts[c],
                                s->is_number[c] ? 0 : (int)space, ""));
    }
    while (line->size > 0 && line->data[line->size - 1] == ' ')
        line->data[--line->size] = '\0';
    return RGM_OK;
}

rgm_status table_print(rgm_text *out, const table *t, int64_t width)
{
    rgm_status status = RGM_OK;
    shown_table s = {0};
    rgm_text line = {0};

    RGM_GO(show(&s, t));
    for (int64_t row = 0; row <= t->rows; row++) {
        RGM_GO(print_row(&line, &s, s.texts + row * t->columns, t->columns));
        RGM_GO(rgm_text_add(&line, "    ", 4)); /* room for the ellipsis */
        line.size -= 4;
        line.data[line.size] = '\0';
        cut(&line, width);
        RGM_GO(rgm_text_printf(out, "%s\n", line.data));
    }
done:
    rgm_text_clear(&line);
    shown_clear(&s, t);
    return status;
}

int64_t line_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    char *end;
    long width;

    if (columns != NULL && columns[0] != '\0') {
        width = strtol(columns, &end, 10);
        if (*end == '\0' && width >= 10)
            return width;
    }
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* ---- for programs -------------------------------------------------------------------------- */

static rgm_status print_csv_text(rgm_text *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0')
        return rgm_text_add(out, text, (int64_t)strlen(text));
    RGM_TRY(rgm_text_add(out, "\"", 1));
    for (; *text != '\0'; text++)
        RGM_TRY(rgm_text_printf(out, *text == '"' ? "\"\"" : "%c", *text));
    return rgm_text_add(out, "\"", 1);
}

static rgm_status print_csv_cell(rgm_text *out, const table_cell *c)
{
    switch (c->kind) {
    case CELL_TEXT:
        return print_csv_text(out, c->text);
    case CELL_COUNT:
        return rgm_text_printf(out, "%lld", (long long)c->count);
    case CELL_DONE:
        return rgm_text_printf(out, "%lld/%lld", (long long)c->count, (long long)c->of);
    case CELL_NUMBER:
        return rgm_json_print_number(out, c->number);
    default:
        return RGM_OK;
    }
}

rgm_status table_print_csv(rgm_text *out, const table *t)
{
    for (int64_t c = 0; c < t->columns; c++) {
        RGM_TRY(rgm_text_add(out, ",", c > 0));
        RGM_TRY(print_csv_text(out, t->head[c]));
    }
    RGM_TRY(rgm_text_add(out, "\n", 1));
    for (int64_t row = 0; row < t->rows; row++) {
        for (int64_t c = 0; c < t->columns; c++) {
            RGM_TRY(rgm_text_add(out, ",", c > 0));
            RGM_TRY(print_csv_cell(out, cell(t, row, c)));
        }
        RGM_TRY(rgm_text_add(out, "\n", 1));
    }
    return RGM_OK;
}

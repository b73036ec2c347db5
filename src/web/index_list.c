/*
 * The table of runs: chosen, sorted, printed. It works on rows that never change, without a lock;
 * those that it shows are read first where they are not yet.
 */
#include "index.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- keys ---------------------------------------------------------------------------------- */

typedef enum column {
    COLUMN_NAME,
    COLUMN_STATE,
    COLUMN_TASK,
    COLUMN_MODEL,
    COLUMN_DESCRIPTION,
    COLUMN_TAGS,
    COLUMN_FOLDER,
    COLUMN_KIND,
    COLUMN_BEST, /* numbers from here on */
    COLUMN_BEST_STEP,
    COLUMN_STEP,
    COLUMN_EPOCH,
    COLUMN_PROGRESS,
    COLUMN_MODIFIED,
    COLUMN_STARTED,
    COLUMN_TRIAL,
    COLUMNS
} column;
static const char *const column_names[] = {
    "name",      "state", "task",  "model",    "description", "tags",    "folder", "kind", "best",
    "best_step", "step",  "epoch", "progress", "modified",    "started", "trial",  NULL};

/* Where a value of a row is: a column of all, or a cell. */
typedef struct place_of_value {
    const char *name;
    int fixed;   /* a column; -1: a cell */
    int32_t key; /* -1: no row has one   */
} place_of_value;

typedef struct value {
    bool has, numeric;
    const char *text; /* NULL: the number alone */
    double number;
} value;

static value text_value(const char *text)
{
    return (value){.has = text != NULL, .text = text};
}

static value number_value(double number)
{
    return (value){.has = !isnan(number), .numeric = true, .number = number};
}

static value count_value(int64_t count)
{
    return (value){.has = count >= 0, .numeric = true, .number = (double)count};
}

static value fixed_value(const rgmi_run_row *row, column c)
{
    static const rgmi_run_text texts[] = {
        [COLUMN_NAME] = RGMI_TEXT_NAME,   [COLUMN_TASK] = RGMI_TEXT_TASK,
        [COLUMN_MODEL] = RGMI_TEXT_MODEL, [COLUMN_DESCRIPTION] = RGMI_TEXT_DESCRIPTION,
        [COLUMN_TAGS] = RGMI_TEXT_TAGS,   [COLUMN_FOLDER] = RGMI_TEXT_FOLDER};

    switch (c) {
    case COLUMN_STATE:
        return text_value(row->state);
    case COLUMN_KIND:
        return text_value(rgmi_run_kinds[row->kind]);
    case COLUMN_BEST:
        return number_value(row->text[RGMI_TEXT_BEST_METRIC] != NULL ? row->best_value : NAN);
    case COLUMN_BEST_STEP:
        return count_value(row->best_step);
    case COLUMN_STEP:
        return count_value(row->step);
    case COLUMN_EPOCH:
        return count_value(row->epoch);
    case COLUMN_PROGRESS:
        return number_value(row->progress);
    case COLUMN_MODIFIED:
        return number_value(row->modified);
    case COLUMN_STARTED:
        return number_value(row->started);
    case COLUMN_TRIAL:
        return count_value(row->trial);
    default:
        return text_value(row->text[texts[c]]);
    }
}

static value value_of(const rgmi_run_row *row, const place_of_value *place)
{
    const rgmi_cell *cell;

    if (place->fixed >= 0)
        return fixed_value(row, (column)place->fixed);
    cell = place->key >= 0 ? rgmi_run_row_cell(row, place->key) : NULL;
    if (cell == NULL)
        return (value){.has = false};
    return (value){.has = cell->text != NULL || !isnan(cell->number),
                   .numeric = cell->numeric,
                   .text = cell->text,
                   .number = cell->number};
}

static bool is_cell_name(const char *name)
{
    return strncmp(name, "config.", 7) == 0 || strncmp(name, "metric.", 7) == 0;
}

static rgm_status no_such_key(rgmi_runs *runs, const char *what, const char *name)
{
    int64_t cells = rgmi_keys_count(&runs->keys);
    const char **names = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(names, COLUMNS + cells));
    for (int i = 0; i < COLUMNS; i++)
        names[i] = column_names[i];
    for (int64_t i = 0; i < cells; i++)
        names[COLUMNS + i] = rgmi_keys_name(&runs->keys, (int32_t)i);
    status = RGM_FAIL(RGM_ERR_ARG, "%s: no run has a '%s'%s", what, name,
                      rgm_did_you_mean(name, names, COLUMNS + cells, NULL, "; there are ").text);
done:
    rgm_free(names);
    return status;
}

/* A key that may come with a run that is not read yet has no values now; any other is refused. */
static rgm_status find_key(place_of_value *out, rgmi_runs *runs, bool complete, const char *what,
                           const char *name)
{
    *out = (place_of_value){.name = name, .fixed = -1, .key = -1};
    for (int i = 0; i < COLUMNS; i++)
        if (strcmp(name, column_names[i]) == 0) {
            out->fixed = i;
            return RGM_OK;
        }
    out->key = rgmi_keys_find(&runs->keys, name);
    if (out->key >= 0 || (is_cell_name(name) && !complete))
        return RGM_OK;
    return no_such_key(runs, what, name);
}

/* ---- comparing ----------------------------------------------------------------------------- */

int rgmi_compare_names(const char *a, const char *b)
{
    while (*a != 0 && *b != 0) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t n, m;

            a += strspn(a, "0");
            b += strspn(b, "0");
            n = strspn(a, "0123456789");
            m = strspn(b, "0123456789");
            if (n != m)
                return n < m ? -1 : 1;
            if (memcmp(a, b, n) != 0)
                return memcmp(a, b, n) < 0 ? -1 : 1;
            a += n;
            b += n;
            continue;
        }
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        a++;
        b++;
    }
    return (*a != 0) - (*b != 0);
}

/* Numbers before texts. */
static int compare_values(const value *a, const value *b)
{
    if (a->numeric && b->numeric)
        return (a->number > b->number) - (a->number < b->number);
    if (a->numeric != b->numeric)
        return a->numeric ? -1 : 1;
    return rgmi_compare_names(a->text, b->text);
}

/* ---- conditions ---------------------------------------------------------------------------- */

typedef enum relation { IS, IS_NOT, BELOW, AT_MOST, ABOVE, AT_LEAST, HAS } relation;
static const char *const relations[] = {"=", "!=", "<", "<=", ">", ">=", "~"};

typedef struct condition {
    place_of_value key;
    relation relation;
    value value;
    char *copy; /* what the texts are in */
} condition;

static char *trim(char *text)
{
    size_t size;

    text += strspn(text, " ");
    size = strlen(text);
    while (size > 0 && text[size - 1] == ' ')
        text[--size] = 0;
    return text;
}

static rgm_status read_condition(condition *c, rgmi_runs *runs, bool complete, const char *text)
{
    char *at, *after;

    RGM_TRY(rgm_strdup(&c->copy, text));
    at = c->copy + strcspn(c->copy, "=!<>~");
    if (*at == 0 || (*at == '!' && at[1] != '='))
        return RGM_FAIL(RGM_ERR_ARG, "where: '%s' is not KEY OP VALUE with one of = != < <= > >= ~",
                        text);
    after = at + 1 + ((*at == '!' || *at == '<' || *at == '>') && at[1] == '=');
    for (int i = 0; i < (int)(sizeof relations / sizeof *relations); i++)
        if (strlen(relations[i]) == (size_t)(after - at) &&
            memcmp(relations[i], at, (size_t)(after - at)) == 0)
            c->relation = (relation)i;
    c->value.text = trim(after);
    c->value.has = true;
    c->value.numeric = rgm_number_parse(&c->value.number, c->value.text);
    *at = 0;
    RGM_TRY(find_key(&c->key, runs, complete, "where", trim(c->copy)));
    if (c->key.fixed >= COLUMN_BEST && !c->value.numeric && c->relation != HAS)
        return RGM_FAIL(RGM_ERR_ARG, "where: %s is a number, '%s' is none", c->key.name,
                        c->value.text);
    return RGM_OK;
}

static bool has_tag(const char *tags, const char *tag)
{
    size_t size = strlen(tag);

    for (const char *line = tags; *line != 0;) {
        size_t length = strcspn(line, "\n");

        if (length == size && memcmp(line, tag, size) == 0)
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

static bool contains(const value *v, const char *part)
{
    char number[40];

    if (v->text != NULL)
        return strcasestr(v->text, part) != NULL;
    snprintf(number, sizeof number, "%.17g", v->number);
    return strstr(number, part) != NULL;
}

static bool is_equal(const condition *c, const value *v)
{
    if (c->key.fixed == COLUMN_TAGS)
        return has_tag(v->text, c->value.text);
    if (v->numeric && c->value.numeric)
        return v->number == c->value.number;
    return v->text != NULL && strcmp(v->text, c->value.text) == 0;
}

/* A row without the key fits no condition about it. */
static bool holds(const condition *c, const rgmi_run_row *row)
{
    value v = value_of(row, &c->key);
    int order;

    if (!v.has)
        return false;
    if (c->relation == HAS)
        return contains(&v, c->value.text);
    if (c->relation == IS || c->relation == IS_NOT)
        return is_equal(c, &v) == (c->relation == IS);
    if (v.numeric != c->value.numeric && (v.numeric || v.text == NULL))
        return false;
    if (v.numeric && c->value.numeric)
        order = compare_values(&v, &c->value);
    else
        order = rgmi_compare_names(v.text, c->value.text);
    switch (c->relation) {
    case BELOW:
        return order < 0;
    case AT_MOST:
        return order <= 0;
    case ABOVE:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* ---- choosing ------------------------------------------------------------------------------ */

typedef struct choice {
    const rgmi_runs_query *query;
    condition *conditions;
    int64_t condition_count;
    char *words; /* of q=, each ended by 0, the last by another */
    place_of_value sort;
    place_of_value *columns;
    int64_t column_count, column_capacity;
    char *column_names;
} choice;

rgm_status rgmi_runs_query_kinds(rgmi_runs_query *query, const char *text)
{
    memset(query->kinds, 0, sizeof query->kinds);
    if (text == NULL || *text == 0)
        text = "run,experiment";
    while (*text != 0) {
        size_t size = strcspn(text, ",");
        bool all = size == 3 && memcmp(text, "all", 3) == 0, known = all;

        for (int k = 0; k < RGMI_RUN_KINDS; k++)
            if (all ||
                (strlen(rgmi_run_kinds[k]) == size && memcmp(text, rgmi_run_kinds[k], size) == 0))
                query->kinds[k] = known = true;
        if (!known)
            return RGM_FAIL(RGM_ERR_ARG, "kind: '%.*s' is none of all, run, trial and experiment",
                            (int)(size < 40 ? size : 40), text);
        text += size + (text[size] == ',');
    }
    return RGM_OK;
}

/* Whether a name is one of "a,b,c". */
static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);

    while (*list != 0) {
        size_t length = strcspn(list, ",");

        if (length == size && memcmp(list, name, size) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

/* Each word of q= is somewhere in the texts of a row. */
static bool has_words(const rgmi_run_row *row, const char *words)
{
    static const rgmi_run_text searched[] = {RGMI_TEXT_NAME, RGMI_TEXT_DESCRIPTION, RGMI_TEXT_TASK,
                                             RGMI_TEXT_MODEL, RGMI_TEXT_TAGS};

    for (; *words != 0; words += strlen(words) + 1) {
        bool found = row->state != NULL && strcasestr(row->state, words) != NULL;

        for (size_t i = 0; !found && i < sizeof searched / sizeof *searched; i++)
            found =
                row->text[searched[i]] != NULL && strcasestr(row->text[searched[i]], words) != NULL;
        if (!found)
            return false;
    }
    return true;
}

static bool fits(const choice *c, const rgmi_run_row *row)
{
    const rgmi_runs_query *q = c->query;

    if (!q->kinds[row->kind])
        return false;
    if (q->experiment > 0 && (row->experiment != q->experiment || row->master != q->master))
        return false;
    if (q->states != NULL && (row->state == NULL || !is_listed(q->states, row->state)))
        return false;
    if (c->words != NULL && !has_words(row, c->words))
        return false;
    for (int64_t i = 0; i < c->condition_count; i++)
        if (!holds(&c->conditions[i], row))
            return false;
    return true;
}

static rgm_status split_words(char **words, const char *text)
{
    int64_t size = 0;

    RGM_TRY(RGM_NEW(*words, (int64_t)strlen(text) + 2));
    while (*(text += strspn(text, " ")) != 0) {
        size_t length = strcspn(text, " ");

        memcpy(*words + size, text, length);
        size += (int64_t)length + 1;
        text += length;
    }
    return RGM_OK;
}

static rgm_status read_columns(choice *c, rgmi_runs *runs)
{
    char *name, *rest;

    if (c->query->columns == NULL)
        return RGM_OK;
    RGM_TRY(rgm_strdup(&c->column_names, c->query->columns));
    for (rest = c->column_names; (name = strsep(&rest, ",")) != NULL;) {
        if (*name == 0)
            continue;
        RGM_TRY(RGM_RESERVE(c->columns, c->column_capacity, c->column_count + 1));
        /* A link to a table may name a column of runs that are gone: it is empty then. */
        RGM_TRY(find_key(&c->columns[c->column_count], runs, !is_cell_name(name), "columns", name));
        c->column_count++;
    }
    return RGM_OK;
}

static rgm_status read_query(choice *c, rgmi_runs *runs, const rgmi_runs_query *q, bool complete)
{
    *c = (choice){.query = q};
    RGM_TRY(RGM_NEW(c->conditions, q->condition_count));
    for (; c->condition_count < q->condition_count;) {
        condition *one = &c->conditions[c->condition_count++];

        RGM_TRY(read_condition(one, runs, complete, q->conditions[c->condition_count - 1]));
    }
    if (q->text != NULL && *q->text != 0)
        RGM_TRY(split_words(&c->words, q->text));
    RGM_TRY(find_key(&c->sort, runs, complete, "sort", q->sort != NULL ? q->sort : "modified"));
    return read_columns(c, runs);
}

static void clear_choice(choice *c)
{
    for (int64_t i = 0; i < c->condition_count; i++)
        rgm_free(c->conditions[i].copy);
    rgm_free(c->conditions);
    rgm_free(c->words);
    rgm_free(c->columns);
    rgm_free(c->column_names);
}

/* ---- sorting ------------------------------------------------------------------------------- */

typedef struct sorted {
    rgmi_run_row **row; /* where it is held */
    value value;
} sorted;

/* Rows without the key are last in either order; equal ones by name. */
static int compare_rows(const void *a, const void *b, void *payload)
{
    const sorted *x = a, *y = b;
    const choice *c = payload;
    const rgmi_run_row *p = *x->row, *q = *y->row;
    int order;

    if (x->value.has != y->value.has)
        return x->value.has ? -1 : 1;
    order = x->value.has ? compare_values(&x->value, &y->value) : 0;
    if (order != 0)
        return c->query->ascending ? order : -order;
    order = rgmi_compare_names(p->text[RGMI_TEXT_NAME], q->text[RGMI_TEXT_NAME]);
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

static rgm_status print_count(rgm_text *json, const char *name, int64_t count)
{
    return count >= 0 ? rgm_text_printf(json, ",\"%s\":%" PRId64, name, count)
                      : rgm_text_printf(json, ",\"%s\":null", name);
}

static rgm_status print_named_text(rgm_text *json, const char *name, const char *text)
{
    RGM_TRY(rgm_text_printf(json, ",\"%s\":", name));
    return rgmi_print_text(json, text);
}

static rgm_status print_named_number(rgm_text *json, const char *name, double number)
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
    RGM_TRY(print_named_number(json, "value", row->best_value));
    RGM_TRY(print_count(json, "step", row->best_step));
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
    } texts[] = {{"name", RGMI_TEXT_NAME},
                 {"folder", RGMI_TEXT_FOLDER},
                 {"task", RGMI_TEXT_TASK},
                 {"model", RGMI_TEXT_MODEL},
                 {"description", RGMI_TEXT_DESCRIPTION},
                 {"reason", RGMI_TEXT_REASON}};

    RGM_TRY(print_id(json, row));
    RGM_TRY(print_named_text(json, "kind", rgmi_run_kinds[row->kind]));
    RGM_TRY(print_named_text(json, "state", row->state));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        RGM_TRY(print_named_text(json, texts[i].name, row->text[texts[i].text]));
    RGM_TRY(print_tags(json, row->text[RGMI_TEXT_TAGS]));
    RGM_TRY(print_best(json, row));
    RGM_TRY(print_count(json, "step", row->step));
    RGM_TRY(print_count(json, "steps", row->steps));
    RGM_TRY(print_count(json, "epoch", row->epoch));
    RGM_TRY(print_count(json, "epochs", row->epochs));
    RGM_TRY(print_named_number(json, "progress", row->progress));
    RGM_TRY(print_named_number(json, "modified", row->modified));
    RGM_TRY(print_named_number(json, "started", row->started));
    RGM_TRY(print_count(json, "master", row->master));
    RGM_TRY(print_count(json, "experiment", row->experiment));
    RGM_TRY(print_count(json, "trial", row->trial));
    if (row->trials < 0)
        return RGM_OK;
    RGM_TRY(print_count(json, "trials", row->trials));
    RGM_TRY(print_count(json, "failed_trials", row->failed));
    return rgm_text_printf(json, ",\"archived\":%s", row->archived ? "true" : "false");
}

static rgm_status print_values(rgm_text *json, const choice *c, const rgmi_run_row *row)
{
    RGM_TRY(rgm_text_printf(json, ",\"values\":{"));
    for (int64_t i = 0; i < c->column_count; i++) {
        value v = value_of(row, &c->columns[i]);

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

static rgm_status print_page(rgm_text *json, rgmi_runs *runs, const choice *c, const sorted *all,
                             int64_t count)
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
    for (int i = 0; i < COLUMNS; i++) {
        int64_t having = 0;

        for (int64_t k = 0; k < count; k++)
            having += fixed_value(*all[k].row, (column)i).has;
        RGM_GO(print_key(json, &first, column_names[i], i >= COLUMN_BEST, having));
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

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct table {
    choice choice;
    sorted *rows;
    int64_t count;
    rgmi_runs_rows held;
    rgmi_run_row **more; /* held too */
    int64_t more_count;
} table;

static void choose_rows(table *t, rgmi_run_row **rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (fits(&t->choice, rows[i]))
            t->rows[t->count++] =
                (sorted){.row = &rows[i], .value = value_of(rows[i], &t->choice.sort)};
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
    clear_choice(&t->choice);
    rgm_free(t->rows);
    rgmi_runs_rows_clear(&t->held);
    for (int64_t i = 0; i < t->more_count; i++)
        rgmi_run_row_release(t->more[i]);
    rgm_free(t->more);
}

/* Whether rows that are not read would stand in the wrong place, or not at all. */
static bool needs_all(const rgmi_runs_query *q)
{
    return q->text != NULL || q->states != NULL || q->condition_count > 0 || q->describe ||
           (q->sort != NULL && strcmp(q->sort, "modified") != 0 && strcmp(q->sort, "name") != 0);
}

rgm_status rgmi_runs_list(rgm_text *json, rgmi_runs *runs, const rgmi_runs_query *query,
                          rgmi_run_row *const *more, int64_t more_count)
{
    table t = {0};
    bool complete;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_runs_rows_take(&t.held, runs, needs_all(query)));
    RGM_GO(hold_more(&t, more, more_count));
    complete = t.held.walked && t.held.read == t.held.count;
    RGM_GO(read_query(&t.choice, runs, query, complete && t.held.count > 0));
    RGM_GO(RGM_NEW(t.rows, t.held.count + t.more_count));
    choose_rows(&t, t.held.rows, t.held.count);
    choose_rows(&t, t.more, t.more_count);
    if (t.count > 1)
        qsort_r(t.rows, (size_t)t.count, sizeof *t.rows, compare_rows, &t.choice);
    RGM_GO(rgm_text_printf(json,
                           "{\"total\":%" PRId64 ",\"offset\":%" PRId64 ",\"limit\":%" PRId64
                           ",\"found\":%" PRId64 ",\"read\":%" PRId64 ",\"complete\":%s",
                           t.count, query->offset, query->limit, t.held.count, t.held.read,
                           complete && !query->lacking ? "true" : "false"));
    if (query->describe)
        RGM_GO(print_keys(json, runs, t.rows, t.count));
    RGM_GO(print_page(json, runs, &t.choice, t.rows, t.count));
    RGM_GO(rgm_text_add(json, "}", 1));
done:
    clear_table(&t);
    return status;
}

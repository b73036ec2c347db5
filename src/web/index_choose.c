/*
 * Which rows a query means: values of rows by their keys, conditions on them, words of a search.
 */
#include "index_choose.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 4 };

/* ---- keys ---------------------------------------------------------------------------------- */

const char *const rgmi_row_columns[] = {
    "name",      "state", "task",  "model",    "description", "tags",    "folder", "kind", "best",
    "best_step", "step",  "epoch", "progress", "modified",    "started", "trial",  NULL};

static rgmi_row_value text_value(const char *text)
{
    return (rgmi_row_value){.has = text != NULL, .text = text};
}

static rgmi_row_value number_value(double number)
{
    return (rgmi_row_value){.has = !isnan(number), .numeric = true, .number = number};
}

static rgmi_row_value count_value(int64_t count)
{
    return (rgmi_row_value){.has = count >= 0, .numeric = true, .number = (double)count};
}

rgmi_row_value rgmi_value_fixed(const rgmi_run_row *row, rgmi_row_column c)
{
    static const rgmi_run_text texts[] = {[RGMI_COLUMN_TASK] = RGMI_TEXT_TASK,
                                          [RGMI_COLUMN_MODEL] = RGMI_TEXT_MODEL,
                                          [RGMI_COLUMN_DESCRIPTION] = RGMI_TEXT_DESCRIPTION,
                                          [RGMI_COLUMN_TAGS] = RGMI_TEXT_TAGS,
                                          [RGMI_COLUMN_FOLDER] = RGMI_TEXT_FOLDER};

    switch (c) {
    case RGMI_COLUMN_NAME:
        return text_value(rgmi_run_row_title(row));
    case RGMI_COLUMN_STATE:
        return text_value(row->state);
    case RGMI_COLUMN_KIND:
        return text_value(rgmi_run_kinds[row->kind]);
    case RGMI_COLUMN_BEST:
        return number_value(row->text[RGMI_TEXT_BEST_METRIC] != NULL ? row->best_value : NAN);
    case RGMI_COLUMN_BEST_STEP:
        return count_value(row->best_step);
    case RGMI_COLUMN_STEP:
        return count_value(row->step);
    case RGMI_COLUMN_EPOCH:
        return count_value(row->epoch);
    case RGMI_COLUMN_PROGRESS:
        return number_value(row->progress);
    case RGMI_COLUMN_MODIFIED:
        return number_value(row->modified);
    case RGMI_COLUMN_STARTED:
        return number_value(row->started);
    case RGMI_COLUMN_TRIAL:
        return count_value(row->trial);
    default:
        return text_value(row->text[texts[c]]);
    }
}

rgmi_row_value rgmi_value_of(const rgmi_run_row *row, const rgmi_value_place *place)
{
    const rgmi_cell *cell;

    if (place->fixed >= 0)
        return rgmi_value_fixed(row, (rgmi_row_column)place->fixed);
    cell = place->key >= 0 ? rgmi_run_row_cell(row, place->key) : NULL;
    if (cell == NULL)
        return (rgmi_row_value){.has = false};
    return (rgmi_row_value){.has = cell->text != NULL || !isnan(cell->number),
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

    RGM_GO(RGM_NEW(names, RGMI_COLUMNS + cells));
    for (int i = 0; i < RGMI_COLUMNS; i++)
        names[i] = rgmi_row_columns[i];
    for (int64_t i = 0; i < cells; i++)
        names[RGMI_COLUMNS + i] = rgmi_keys_name(&runs->keys, (int32_t)i);
    status =
        RGM_FAIL(RGM_ERR_ARG, "%s: no run has a '%s'%s", what, name,
                 rgm_did_you_mean(name, names, RGMI_COLUMNS + cells, NULL, "; there are ").text);
done:
    rgm_free(names);
    return status;
}

/* A key that may come with a run that is not read yet has no values now; any other is refused. */
rgm_status rgmi_value_find(rgmi_value_place *out, rgmi_runs *runs, bool complete, const char *what,
                           const char *name)
{
    *out = (rgmi_value_place){.name = name, .fixed = -1, .key = -1};
    for (int i = 0; i < RGMI_COLUMNS; i++)
        if (strcmp(name, rgmi_row_columns[i]) == 0) {
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
int rgmi_values_compare(const rgmi_row_value *a, const rgmi_row_value *b)
{
    if (a->numeric && b->numeric)
        return (a->number > b->number) - (a->number < b->number);
    if (a->numeric != b->numeric)
        return a->numeric ? -1 : 1;
    return rgmi_compare_names(a->text, b->text);
}

/* ---- conditions ---------------------------------------------------------------------------- */

static const char *const relations[] = {"=", "!=", "<", "<=", ">", ">=", "~"};

static char *trim(char *text)
{
    size_t size;

    text += strspn(text, " ");
    size = strlen(text);
    while (size > 0 && text[size - 1] == ' ')
        text[--size] = 0;
    return text;
}

static rgm_status read_condition(rgmi_condition *c, rgmi_runs *runs, bool complete,
                                 const char *text)
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
            c->relation = (rgmi_relation)i;
    c->value.text = trim(after);
    c->value.has = true;
    c->value.numeric = rgm_number_parse(&c->value.number, c->value.text);
    *at = 0;
    RGM_TRY(rgmi_value_find(&c->key, runs, complete, "where", trim(c->copy)));
    if (c->key.fixed >= RGMI_COLUMN_BEST && !c->value.numeric && c->relation != RGMI_HAS)
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

static bool contains(const rgmi_row_value *v, const char *part)
{
    char number[40];

    if (v->text != NULL)
        return strcasestr(v->text, part) != NULL;
    snprintf(number, sizeof number, "%.17g", v->number);
    return strstr(number, part) != NULL;
}

static bool is_equal(const rgmi_condition *c, const rgmi_row_value *v)
{
    if (c->key.fixed == RGMI_COLUMN_TAGS)
        return has_tag(v->text, c->value.text);
    if (v->numeric && c->value.numeric)
        return v->number == c->value.number;
    return v->text != NULL && strcmp(v->text, c->value.text) == 0;
}

/* A row without the key fits no condition about it. */
static bool holds(const rgmi_condition *c, const rgmi_run_row *row)
{
    rgmi_row_value v = rgmi_value_of(row, &c->key);
    int order;

    if (!v.has)
        return false;
    if (c->relation == RGMI_HAS)
        return contains(&v, c->value.text);
    if (c->relation == RGMI_IS || c->relation == RGMI_IS_NOT)
        return is_equal(c, &v) == (c->relation == RGMI_IS);
    if (v.numeric != c->value.numeric && (v.numeric || v.text == NULL))
        return false;
    if (v.numeric && c->value.numeric)
        order = rgmi_values_compare(&v, &c->value);
    else
        order = rgmi_compare_names(v.text, c->value.text);
    switch (c->relation) {
    case RGMI_BELOW:
        return order < 0;
    case RGMI_AT_MOST:
        return order <= 0;
    case RGMI_ABOVE:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* ---- by what ------------------------------------------------------------------------------- */

/* What tells repetitions of a run apart, and nothing else of it. */
static bool is_repetition(const char *name)
{
    return strncmp(name, "config.runtime.", 15) == 0 || strcmp(name, "config.description") == 0 ||
           strncmp(name, "config.reproducibility.", 23) == 0;
}

/* Numbers of keys differ from start to start, so that their names are hashed. */
static rgm_status read_seeds(rgmi_grouping *out, rgmi_runs *runs)
{
    out->seeds = true;
    out->cell_keys = rgmi_keys_count(&runs->keys);
    RGM_TRY(RGM_NEW(out->hashes, out->cell_keys));
    for (int64_t i = 0; i < out->cell_keys; i++) {
        const char *name = rgmi_keys_name(&runs->keys, (int32_t)i);

        if (strncmp(name, "config.", 7) == 0 && !is_repetition(name))
            out->hashes[i] = rgm_hash64(name, strlen(name)) | 1;
    }
    return RGM_OK;
}

rgm_status rgmi_grouping_read(rgmi_grouping *out, rgmi_runs *runs, bool complete, const char *text)
{
    char *name, *rest;

    if (strcmp(text, "seeds") == 0)
        return read_seeds(out, runs);
    RGM_TRY(rgm_strdup(&out->names, text));
    for (rest = out->names; (name = strsep(&rest, ",")) != NULL;) {
        if (*name == 0)
            continue;
        if (out->key_count == MOST_KEYS)
            return RGM_FAIL(RGM_ERR_ARG, "group: at most %d keys", MOST_KEYS);
        RGM_TRY(RGM_RESERVE(out->keys, out->key_capacity, out->key_count + 1));
        RGM_TRY(rgmi_value_find(&out->keys[out->key_count], runs, complete, "group", name));
        out->key_count++;
    }
    if (out->key_count == 0)
        return RGM_FAIL(RGM_ERR_ARG, "group: seeds, or keys such as config.model.type");
    return RGM_OK;
}

void rgmi_grouping_clear(rgmi_grouping *g)
{
    rgm_free(g->keys);
    rgm_free(g->hashes);
    rgm_free(g->names);
    *g = (rgmi_grouping){0};
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t both[2] = {a, b};

    return rgm_hash64(both, sizeof both);
}

/* 0.01 and 1e-2 are one value. */
static uint64_t hash_value(const rgmi_row_value *v)
{
    double number = v->number == 0 ? 0 : v->number; /* -0 */

    if (!v->has)
        return 0;
    if (v->numeric && !isnan(number))
        return rgm_hash64(&number, sizeof number);
    return v->text != NULL ? rgm_hash64(v->text, strlen(v->text)) : 1;
}

uint64_t rgmi_grouping_id(const rgmi_grouping *g, const rgmi_run_row *row)
{
    uint64_t id = 0;

    for (int64_t i = 0; i < g->key_count; i++) {
        rgmi_row_value v = rgmi_value_of(row, &g->keys[i]);

        id = mix(id + 1, hash_value(&v));
    }
    for (int64_t i = 0; g->seeds && i < row->cell_count; i++) { /* in any order of keys */
        const rgmi_cell *c = &row->cells[i];
        const rgmi_row_value v = {true, c->numeric, c->text, c->number};

        if (c->key < g->cell_keys && g->hashes[c->key] != 0)
            id += mix(g->hashes[c->key], hash_value(&v));
    }
    return id;
}

/* ---- choosing ------------------------------------------------------------------------------ */

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

/* Of the folder what is below the named one, which all have. */
static bool has_words(const rgmi_run_row *row, const rgmi_search_words *words)
{
    const char *folder = row->text[RGMI_TEXT_FOLDER];
    const char *below = folder != NULL ? strchr(folder, '/') : NULL;
    const char *const texts[] = {row->text[RGMI_TEXT_NAME],
                                 row->text[RGMI_TEXT_TITLE],
                                 below != NULL ? below + 1 : NULL,
                                 row->text[RGMI_TEXT_TASK],
                                 row->text[RGMI_TEXT_MODEL],
                                 row->text[RGMI_TEXT_TAGS],
                                 row->text[RGMI_TEXT_DESCRIPTION],
                                 row->text[RGMI_TEXT_NOTE],
                                 row->state};

    return rgmi_search_words_fit(words, texts, sizeof texts / sizeof *texts);
}

bool rgmi_choice_fits(const rgmi_choice *c, const rgmi_run_row *row)
{
    const rgmi_runs_query *q = c->query;

    if (!q->kinds[row->kind] || (row->archived && !q->archived))
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
    return !c->is_within || rgmi_grouping_id(&c->by, row) == c->within;
}

bool rgmi_query_needs_all(const rgmi_runs_query *q)
{
    return q->text != NULL || q->states != NULL || q->condition_count > 0 || q->describe ||
           q->group != NULL ||
           (q->sort != NULL && strcmp(q->sort, "modified") != 0 && strcmp(q->sort, "name") != 0);
}

static rgm_status read_columns(rgmi_choice *c, rgmi_runs *runs)
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
        RGM_TRY(rgmi_value_find(&c->columns[c->column_count], runs, !is_cell_name(name), "columns",
                                name));
        c->column_count++;
    }
    return RGM_OK;
}

rgm_status rgmi_choice_read(rgmi_choice *c, rgmi_runs *runs, const rgmi_runs_query *q,
                            bool complete)
{
    *c = (rgmi_choice){.query = q};
    RGM_TRY(RGM_NEW(c->conditions, q->condition_count));
    for (; c->condition_count < q->condition_count;) {
        rgmi_condition *one = &c->conditions[c->condition_count++];

        RGM_TRY(read_condition(one, runs, complete, q->conditions[c->condition_count - 1]));
    }
    if (q->text != NULL && *q->text != 0)
        RGM_TRY(rgmi_search_words_read(&c->words, q->text));
    RGM_TRY(
        rgmi_value_find(&c->sort, runs, complete, "sort", q->sort != NULL ? q->sort : "modified"));
    if (q->group != NULL)
        RGM_TRY(rgmi_grouping_read(&c->by, runs, complete, q->group));
    c->is_within = q->within != NULL;
    if (c->is_within && (q->group == NULL || !rgmi_run_id_read(&c->within, q->within)))
        return RGM_FAIL(RGM_ERR_ARG, "within: the 16 digits of a group, beside group=KEY");
    return read_columns(c, runs);
}

void rgmi_choice_clear(rgmi_choice *c)
{
    for (int64_t i = 0; i < c->condition_count; i++)
        rgm_free(c->conditions[i].copy);
    rgm_free(c->conditions);
    rgmi_search_words_release(c->words);
    rgm_free(c->columns);
    rgm_free(c->column_names);
    rgmi_grouping_clear(&c->by);
}

/*
 * Which parameters are tables, of which a batch reads some rows alone, and which rows a batch
 * reads. A table is found by its readers: each value that the loss or a metric needs is looked at,
 * and a parameter that is read by rgm_gather(), rgm_spmm() or rgm_broadcast_columns() alone, with
 * indices that follow from what is fed, is one. What was picked may be picked from again (the
 * embeddings of all nodes, and of these the ends of a batch's links): then only what is picked in
 * the end counts. The gradient reads, and is not 0 at, the same rows.
 */
#include "async_internal.h"

#include <string.h>

/* ---- what is read -------------------------------------------------------------------------- */

typedef struct search {
    const rgm_trainer *trainer;
    rgm_cgraph *graph;
    int64_t count;            /* of values */
    bool *seen, *fed;         /* [count]; fed: it follows from what is fed, the same each time */
    bool *whole;              /* [count]: somebody reads all of it */
    rgmi_row_source *sources; /* [count]: picks so far */
    int64_t *place;           /* [count]: of a source among those that are kept; -1: it is none */
} search;

static bool is_op(const rgm_value *v, const char *name)
{
    const rgm_op_type *op = rgm_value_op(v);

    return op != NULL && strcmp(op->name, name) == 0;
}

/* Values are numbered behind their inputs, so one sweep does. */
static void mark_fed(search *s)
{
    for (int64_t n = 0; n < s->count; n++) {
        const rgm_value *v = rgm_cgraph_value(s->graph, n);
        const rgm_op_type *op = rgm_value_op(v);

        s->fed[n] = !rgm_value_is_parameter(v) && (op == NULL || !op->random);
        for (int i = 0; op != NULL && i < rgm_value_input_count(v) && s->fed[n]; i++)
            s->fed[n] = s->fed[rgm_value_number(rgm_value_input(v, i))];
    }
}

/* What is fetched is read as a whole. */
static void mark_root(search *s, const rgm_value *v)
{
    if (v != NULL && rgm_value_number(v) >= 0 && rgm_value_number(v) < s->count)
        s->seen[rgm_value_number(v)] = s->whole[rgm_value_number(v)] = true;
}

static void mark_needed(search *s)
{
    const rgm_task_model *model = rgm_trainer_model(s->trainer);

    mark_root(s, model->loss);
    for (int64_t h = 0; h < model->head_count; h++) {
        const rgm_head *head = &model->heads[h];

        mark_root(s, head->loss);
        mark_root(s, head->predictions);
        mark_root(s, head->labels);
        mark_root(s, head->weights);
        mark_root(s, head->lists);
        mark_root(s, head->loss_items);
    }
    for (int64_t k = 0; k < rgm_cgraph_update_count(s->graph); k++)
        mark_root(s, rgm_cgraph_update_next(s->graph, k));
    for (int64_t n = s->count - 1; n >= 0; n--) {
        const rgm_value *v = rgm_cgraph_value(s->graph, n);

        for (int i = 0; s->seen[n] && i < rgm_value_input_count(v); i++)
            s->seen[rgm_value_number(rgm_value_input(v, i))] = true;
    }
}

/* Whether an op picks rows of its input i, by what. */
static bool picks(rgmi_row_pick *out, const search *s, const rgm_value *v, int i)
{
    const rgm_attributes *a = rgm_value_attributes(v);

    *out = (rgmi_row_pick){.answer = -1, .gives = -1};
    if (is_op(v, "gather") && i == 0)
        out->by = rgm_value_input(v, 1);
    else if ((is_op(v, "broadcast_columns") && i == 1) ||
             (is_op(v, "spmm") && i == 1 && a->integer[1] == 0)) /* without the row itself */
        out->by = rgm_value_input(v, 0);
    out->by_entry = is_op(v, "broadcast_columns");
    return out->by != NULL && s->fed[rgm_value_number(out->by)] &&
           (!rgm_value_is_pattern(out->by) || rgm_value_is_input(out->by));
}

static rgm_status look_at(search *s, int64_t number)
{
    const rgm_value *v = rgm_cgraph_value(s->graph, number);

    for (int i = 0; i < rgm_value_input_count(v); i++) {
        int64_t x = rgm_value_number(rgm_value_input(v, i));
        rgmi_row_source *source = &s->sources[x];
        rgmi_row_pick pick;

        if (!picks(&pick, s, v, i)) {
            s->whole[x] = true;
            continue;
        }
        pick.gives = number;
        RGM_TRY(RGM_RESERVE(source->picks, source->capacity, source->count + 1));
        source->picks[source->count++] = pick;
    }
    return RGM_OK;
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_source(const search *s, int64_t number)
{
    const rgm_value *v = rgm_cgraph_value(s->graph, number);

    if (s->whole[number] || s->sources[number].count == 0)
        return false;
    return rgm_value_is_parameter(v) ? rgm_value_is_trainable(v) && rgm_value_rank(v) >= 2
                                     : !s->fed[number];
}

/* Sources in the order of their values; what picks give is a source, or is read as a whole. */
static rgm_status keep_sources(rgmi_tables *tables, search *s)
{
    for (int64_t n = 0; n < s->count; n++)
        s->place[n] = is_source(s, n) ? tables->source_count++ : -1;
    RGM_TRY(RGM_NEW(tables->sources, tables->source_count));
    for (int64_t n = 0; n < s->count; n++) {
        rgmi_row_source *source = &s->sources[n];

        if (s->place[n] < 0)
            continue;
        source->value = n;
        for (int64_t i = 0; i < source->count; i++) {
            rgmi_row_pick *pick = &source->picks[i];

            pick->gives = s->place[pick->gives];
            if (!rgm_value_is_input(pick->by))
                pick->answer = tables->asked_count++;
        }
        tables->sources[s->place[n]] = *source;
        *source = (rgmi_row_source){0}; /* its picks have moved */
    }
    return RGM_OK;
}

static rgm_status keep_tables(rgmi_tables *tables, const search *s,
                              const rgm_parameters *parameters)
{
    RGM_TRY(RGM_NEW(tables->items, tables->parameters));
    RGM_TRY(RGM_NEW(tables->of, tables->parameters));
    for (int64_t p = 0; p < tables->parameters; p++)
        tables->of[p] = -1;
    for (int64_t n = 0; n < s->count; n++) {
        const rgm_value *v = rgm_cgraph_value(s->graph, n);
        int64_t p =
            rgm_value_is_parameter(v) ? rgm_parameters_number(parameters, rgm_value_name(v)) : -1;
        const rgm_tensor *w = p >= 0 ? rgm_parameters_form(parameters, p) : NULL;
        int64_t rows = w != NULL && s->place[n] >= 0 ? rgm_tensor_shape(w)[0] : 0;

        if (rows == 0 || rows > INT32_MAX)
            continue;
        tables->of[p] = tables->count;
        tables->items[tables->count++] =
            (rgmi_row_table){.parameter = p,
                             .source = s->place[n],
                             .rows = rows,
                             .row_bytes = (int64_t)rgm_tensor_bytes(w) / rows};
    }
    return RGM_OK;
}

static rgm_status keep_states(rgmi_tables *tables, const rgm_cgraph *graph,
                              const rgm_parameters *parameters)
{
    int64_t count = rgm_cgraph_update_count(graph);

    RGM_TRY(RGM_NEW(tables->states, count));
    for (int64_t k = 0; k < count; k++) {
        const rgm_value *state = rgm_cgraph_update_state(graph, k);

        if (rgm_value_dtype(state) != RGM_F32 && rgm_value_dtype(state) != RGM_F64)
            return RGM_FAIL(
                RGM_ERR_CONFIG,
                "runtime.distribution is asynchronous, but the model's state '%s' is of "
                "dtype %s, and workers' moves of it cannot be added up",
                rgm_value_name(state), rgm_dtype_name(rgm_value_dtype(state)));
        tables->states[k] = rgm_parameters_number(parameters, rgm_value_name(state));
    }
    tables->state_count = count;
    return RGM_OK;
}

/* An executor of the indices that are not fed themselves. */
static rgm_status open_run(rgmi_tables *tables, rgm_cgraph *graph)
{
    const rgm_executor_options options = {.training = true};

    if (tables->asked_count == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(tables->asked, tables->asked_count));
    RGM_TRY(RGM_NEW(tables->answers, tables->asked_count));
    for (int64_t k = 0; k < tables->source_count; k++)
        for (int64_t i = 0; i < tables->sources[k].count; i++)
            if (tables->sources[k].picks[i].answer >= 0)
                tables->asked[tables->sources[k].picks[i].answer] = tables->sources[k].picks[i].by;
    return rgm_executor_create(&tables->run, graph, tables->asked, tables->asked_count, &options);
}

rgm_status rgmi_tables_open(rgmi_tables *tables, const rgm_trainer *trainer)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(trainer);
    rgm_status status = RGM_OK;
    search s = {.trainer = trainer, .graph = rgm_trainer_graph(trainer)};

    tables->parameters = rgm_parameters_count(parameters);
    s.count = rgm_cgraph_forward_count(s.graph);
    RGM_GO(RGM_NEW(s.seen, s.count));
    RGM_GO(RGM_NEW(s.fed, s.count));
    RGM_GO(RGM_NEW(s.whole, s.count));
    RGM_GO(RGM_NEW(s.sources, s.count));
    RGM_GO(RGM_NEW(s.place, s.count));
    mark_fed(&s);
    mark_needed(&s);
    for (int64_t n = 0; n < s.count; n++)
        if (s.seen[n])
            RGM_GO(look_at(&s, n));
    RGM_GO(keep_sources(tables, &s));
    RGM_GO(keep_tables(tables, &s, parameters));
    RGM_GO(keep_states(tables, s.graph, parameters));
    RGM_GO(open_run(tables, s.graph));
done:
    for (int64_t n = 0; s.sources != NULL && n < s.count; n++)
        rgm_free(s.sources[n].picks);
    rgm_free(s.sources);
    rgm_free(s.place);
    rgm_free(s.whole);
    rgm_free(s.fed);
    rgm_free(s.seen);
    return status;
}

void rgmi_tables_close(rgmi_tables *tables)
{
    for (int64_t k = 0; tables->sources != NULL && k < tables->source_count; k++) {
        rgm_free(tables->sources[k].picks);
        rgmi_rows_close(&tables->sources[k].read);
    }
    rgm_executor_release(tables->run);
    rgm_free(tables->sources);
    rgm_free(tables->items);
    rgm_free(tables->of);
    rgm_free(tables->states);
    rgm_free(tables->asked);
    rgm_free(tables->answers);
    *tables = (rgmi_tables){0};
}

/* ---- rows ---------------------------------------------------------------------------------- */

rgm_status rgmi_rows_open(rgmi_row_set *rows, int64_t size)
{
    rgmi_rows_reset(rows);
    if (size <= rows->size)
        return RGM_OK;
    rgm_free(rows->there);
    rows->size = 0;
    RGM_TRY(RGM_NEW(rows->there, size));
    rows->size = size;
    return RGM_OK;
}

void rgmi_rows_close(rgmi_row_set *rows)
{
    rgm_free(rows->items);
    rgm_free(rows->there);
    *rows = (rgmi_row_set){0};
}

void rgmi_rows_reset(rgmi_row_set *rows)
{
    for (int64_t i = 0; i < rows->count; i++)
        rows->there[rows->items[i]] = false;
    rows->count = 0;
}

static rgm_status add_row(rgmi_row_set *rows, int64_t row)
{
    if (row < 0 || row >= rows->size)
        return RGM_FAIL(RGM_ERR_DATA, "a batch reads row %lld of a table of %lld", (long long)row,
                        (long long)rows->size);
    if (rows->there[row])
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(rows->items, rows->capacity, rows->count + 1));
    rows->items[rows->count++] = (int32_t)row;
    rows->there[row] = true;
    return RGM_OK;
}

/* ---- the rows of a batch ------------------------------------------------------------------- */

/* What a batch is asked with. */
typedef struct question {
    rgmi_tables *tables;
    const rgm_feed *feeds;
    int64_t count;
} question;

static const rgm_feed *find_feed(const question *q, const rgm_value *input)
{
    for (int64_t i = 0; i < q->count; i++)
        if (q->feeds[i].input == input)
            return &q->feeds[i];
    return NULL;
}

/* The rows of x that row r of what a pick gives is made of. */
static rgm_status add_from(rgmi_row_set *rows, const rgmi_row_pick *pick, const rgm_tensor *index,
                           const rgm_pattern *pattern, int64_t r)
{
    const rgm_csr *csr;

    if (index != NULL)
        return add_row(rows, rgm_tensor_at_int(index, r));
    if (pick->by_entry)
        return add_row(rows, rgm_pattern_column_of(pattern)[r]);
    csr = rgm_pattern_by_row(pattern);
    for (int64_t e = csr->row_start[r]; e < csr->row_start[r + 1]; e++)
        RGM_TRY(add_row(rows, csr->column[e]));
    return RGM_OK;
}

static rgm_status add_pick(rgmi_row_set *rows, const question *q, const rgmi_row_pick *pick)
{
    const rgmi_row_set *wanted = pick->gives >= 0 ? &q->tables->sources[pick->gives].read : NULL;
    const rgm_feed *feed = pick->answer < 0 ? find_feed(q, pick->by) : NULL;
    const rgm_tensor *index = NULL;
    int64_t count;

    if (pick->answer < 0 && feed == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is not fed", rgm_value_name(pick->by));
    if (feed == NULL || feed->pattern == NULL)
        index = feed != NULL ? feed->tensor : q->tables->answers[pick->answer];
    if (wanted != NULL)
        count = wanted->count;
    else if (index != NULL)
        count = rgm_tensor_count(index);
    else
        count = pick->by_entry ? rgm_pattern_by_row(feed->pattern)->count
                               : rgm_pattern_by_row(feed->pattern)->rows;
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(add_from(rows, pick, index, feed != NULL ? feed->pattern : NULL,
                         wanted != NULL ? wanted->items[i] : i));
    return RGM_OK;
}

/* How many rows a source has that is given by this pick of another. */
static int64_t rows_given(const question *q, const rgmi_row_pick *pick)
{
    const rgm_feed *feed = pick->answer < 0 ? find_feed(q, pick->by) : NULL;

    if (pick->answer >= 0)
        return rgm_tensor_count(q->tables->answers[pick->answer]);
    if (feed == NULL) /* add_pick() tells */
        return 0;
    if (feed->pattern == NULL)
        return rgm_tensor_count(feed->tensor);
    return pick->by_entry ? rgm_pattern_by_row(feed->pattern)->count
                          : rgm_pattern_by_row(feed->pattern)->rows;
}

static rgm_status open_middles(const question *q)
{
    for (int64_t k = 0; k < q->tables->source_count; k++)
        for (int64_t i = 0; i < q->tables->sources[k].count; i++) {
            const rgmi_row_pick *pick = &q->tables->sources[k].picks[i];

            if (pick->gives >= 0)
                RGM_TRY(rgmi_rows_open(&q->tables->sources[pick->gives].read, rows_given(q, pick)));
        }
    return RGM_OK;
}

/* From the last source to the first: what is wanted of one is known before it is asked for more. */
rgm_status rgmi_tables_ask(rgmi_row_set *rows, rgmi_tables *tables,
                           const rgm_parameters *parameters, const rgm_feed *feeds, int64_t count)
{
    const question q = {tables, feeds, count};

    if (tables->run != NULL)
        RGM_TRY(rgm_executor_run(tables->run, tables->answers, parameters, feeds, count, 0, 0));
    RGM_TRY(open_middles(&q));
    for (int64_t k = tables->source_count - 1; k >= 0; k--) {
        rgmi_row_source *source = &tables->sources[k];
        rgmi_row_set *into = &source->read;

        for (int64_t t = 0; t < tables->count; t++)
            if (tables->items[t].source == k)
                into = &rows[t];
        for (int64_t i = 0; i < source->count && into->size > 0; i++)
            RGM_TRY(add_pick(into, &q, &source->picks[i]));
    }
    return RGM_OK;
}

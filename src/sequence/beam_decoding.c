/*
 * Decoding one token at a time: one executor reads sources, one runs the decoder for the newest
 * token of every row. Between their runs the search keeps the keys and values of the sentences that
 * are being decoded.
 *
 * Keys and values stay where they are first written: those of a source at the rows of its tokens,
 * those of a generated token at row step * rows + the row that it had in that step. Lists of these
 * rows say what a sentence and a hypothesis attend to. When a hypothesis continues another one, or
 * a sentence leaves, only lists change. The search owns the memory, which is the device's and grows
 * to the largest batch. So a size that occurred before allocates only the few tensors that name its
 * sizes.
 */
#include "sequence_internal.h"

#include <regimen/device_tensor.h>
#include <regimen/kernels.h>

enum {
    LENGTH_ROUND = 16, /* lists are longer than needed by less: few sizes, few plans */
    PLANS = 160,       /* a plan for each number of sentences that are still under way */
    FETCHES = 2 * RGM_SEQ2SEQ_LAYERS + 2 /* of a step: logits or states, keys and values of all
                                            layers, queries where attention counts */
};

struct rgm_beam_search {
    rgm_seq2seq model;
    const rgm_parameters *parameters;
    rgm_parameters *rounded;  /* with int8: those, tables in 8 bits; NULL: not made yet, or they are
                                 so themselves */
    uint64_t rounded_version; /* of the parameters that were looked at for it; 0: none */
    rgm_device *device;
    bool bf16, int8, short_step; /* of the executors as they are; short_step: it ends in states */
    bool attends;                /* a step also fetches what it asks the source for ..          */
    rgm_attention_place place;   /* .. there                                                    */
    rgmi_shortened shortened;
    int64_t *numbers;           /* [rows] of the sentences under way, among those that were begun */
    const rgm_kernels *kernels; /* the device's, f32 */
    rgm_cgraph *source_graph, *step_graph;
    rgm_executor *encode, *step;
    rgm_value *source, *source_positions; /* what encode is fed .. */
    rgm_value *source_factors;            /* .. NULL: the model has none */
    rgmi_seq2seq_rows inputs;             /* what step is fed   */
    rgm_tensor *fetched[FETCHES];         /* of the last run, borrowed from an executor */
    rgm_tensor *position[2];              /* fed in turns: a fed tensor must not change */
    uint64_t turn;
    /* room: grows, never shrinks */
    int64_t rows, lengths, steps;               /* rows; places in lists of source and past rows */
    rgm_tensor *memory[2 * RGM_SEQ2SEQ_LAYERS]; /* keys and values of sources, by layer     */
    rgm_tensor *past[2 * RGM_SEQ2SEQ_LAYERS];   /* of written tokens: [steps * rows, ..]     */
    int64_t *ids, *source_rows, *past_rows, *spare;
    /* of a device whose memory is not the host's: */
    void *top; /* continuations of all rows, there */
    size_t top_bytes;
    float *logits; /* [logit_count] brought to the host */
    int64_t logit_count;
    float *source_keys, *queries; /* [.._count] brought to the host, of the attention at `place` */
    int64_t source_key_count, query_count;
    rgm_beam_search *others[RGM_MOST_MODELS - 1]; /* borrowed: they decode beside it */
    int64_t other_count;
};

static bool is_on_host(const rgm_beam_search *t)
{
    return rgm_device_is_host(t->device);
}

/* Between two places of the device's memory. */
static void copy_there(const rgm_beam_search *t, float *to, const float *from, int64_t count)
{
    size_t bytes = (size_t)count * sizeof *to;

    if (is_on_host(t))
        memcpy(to, from, bytes);
    else
        t->kernels->copy(&(rgm_copy_args){
            .y = to, .x = from, .outer = 1, .size = bytes, .y_step = bytes, .x_step = bytes});
}

const rgm_seq2seq *rgmi_beam_search_model(const rgm_beam_search *search)
{
    return &search->model;
}

rgm_beam_search *rgmi_beam_search_member(rgm_beam_search *search, int64_t i)
{
    if (i == 0)
        return search;
    return i <= search->other_count ? search->others[i - 1] : NULL;
}

rgm_status rgm_beam_search_join(rgm_beam_search *search, rgm_beam_search *const *others,
                                int64_t count)
{
    if (count > RGM_MOST_MODELS - 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld models; at most %d decode together",
                        (long long)count + 1, RGM_MOST_MODELS);
    for (int64_t i = 0; i < count; i++) {
        const rgm_seq2seq *own = &search->model, *other = &others[i]->model;
        if (own->source_factors != other->source_factors ||
            own->factor_values != other->factor_values)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "models of %lld and %lld factors, with %lld and %lld values, cannot "
                            "decode together",
                            (long long)own->source_factors, (long long)other->source_factors,
                            (long long)own->factor_values, (long long)other->factor_values);
        if (own->source_vocabulary != other->source_vocabulary ||
            own->target_vocabulary != other->target_vocabulary)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "models of vocabularies %lld and %lld, and %lld and %lld, cannot "
                            "decode together",
                            (long long)own->source_vocabulary, (long long)own->target_vocabulary,
                            (long long)other->source_vocabulary,
                            (long long)other->target_vocabulary);
    }
    for (int64_t i = 0; i < count; i++)
        search->others[i] = others[i];
    search->other_count = count;
    return RGM_OK;
}

static int64_t layers_of(const rgm_beam_search *t)
{
    return t->model.options.decoder.num_layers;
}

/* ---- the two executors ---- */

static rgm_status open_encode(void *payload, rgm_scope *scope, const rgm_executor_options *options)
{
    rgm_beam_search *t = payload;
    rgm_seq2seq_source encoder;
    rgm_dim shape[2] = {rgm_cgraph_symbol(t->source_graph, "sentences"),
                        rgm_cgraph_symbol(t->source_graph, "source_length")};

    t->source = rgm_input(t->source_graph, "source", RGM_I64, 2, shape);
    t->source_positions = rgm_input(t->source_graph, "source_positions", RGM_I64, 1, &shape[1]);
    RGM_TRY(rgm_seq2seq_source_graph(&encoder, scope, &t->model, t->source, t->source_positions));
    t->source_factors = encoder.factors;
    return rgm_executor_create(&t->encode, t->source_graph, encoder.memory, 2 * layers_of(t),
                               options);
}

static rgm_status open_step(void *payload, rgm_scope *scope, const rgm_executor_options *options)
{
    rgm_beam_search *t = payload;
    rgm_value *fetches[FETCHES];
    int64_t count = 1 + 2 * layers_of(t);
    rgm_cross_attention attention;

    RGM_TRY(rgmi_seq2seq_rows_graph(&t->inputs, scope, &t->model));
    fetches[0] = t->short_step ? t->inputs.states : t->inputs.logits;
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        fetches[1 + i] = t->inputs.newest[i];
    if (t->attends) {
        RGM_TRY(rgm_seq2seq_attention(&attention, scope, &t->model, &t->place));
        fetches[count++] = attention.queries;
    }
    return rgm_executor_create(&t->step, t->step_graph, fetches, count, options);
}

static void close_graphs(rgm_beam_search *t)
{
    rgm_executor_release(t->encode);
    rgm_executor_release(t->step);
    rgm_cgraph_release(t->source_graph);
    rgm_cgraph_release(t->step_graph);
    t->encode = t->step = NULL;
    t->source_graph = t->step_graph = NULL;
}

static rgm_status open_graphs(rgm_beam_search *t, bool int8, bool short_step, bool attends)
{
    bool stays[FETCHES];
    rgm_executor_options options = {.bf16 = t->bf16 && !int8,
                                    .int8 = int8,
                                    .inference = true,
                                    .plans = PLANS,
                                    .device = t->device,
                                    .stays = stays};

    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        stays[i] = true;
    close_graphs(t);
    t->int8 = int8;
    t->short_step = short_step;
    t->attends = attends;
    RGM_TRY(rgmi_open_graph(&t->source_graph, open_encode, t, &options));
    return rgmi_open_graph(&t->step_graph, open_step, t, &options);
}

/* Tables in 8 bits, of the parameters as they are now: products round the other weights. */
static rgm_status round_parameters(rgm_beam_search *t)
{
    uint64_t version = rgm_parameters_version(t->parameters);
    bool is_rounded;

    if (t->rounded_version == version)
        return RGM_OK;
    t->rounded_version = 0;
    RGM_TRY(rgmi_tables_are_rounded(&is_rounded, t->parameters));
    if (is_rounded) {
        rgm_parameters_release(t->rounded);
        t->rounded = NULL;
        t->rounded_version = version;
        return RGM_OK;
    }
    if (t->rounded == NULL)
        RGM_TRY(rgm_parameters_copy(&t->rounded, t->parameters));
    else
        RGM_TRY(rgm_parameters_take(t->rounded, t->parameters));
    rgmi_round_tables(t->rounded);
    t->rounded_version = version;
    return RGM_OK;
}

rgm_status rgmi_beam_search_ready(rgm_beam_search *t, const rgm_beam_search_options *o)
{
    rgm_dtype product = o->int8 ? RGM_I8 : (t->bf16 ? RGM_BF16 : RGM_F32);
    bool attends = o->coverage > 0, same = attends == t->attends;

    if (o->shortlist != NULL && !is_on_host(t))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "a shortlist is for the CPU: runtime.device is %s",
                        rgm_device_kind(t->device)->name);
    if (attends) {
        RGM_TRY(rgm_attention_place_check(&o->attention, &t->model, "task.search.attention"));
        same = same && o->attention.layer == t->place.layer;
        t->place = o->attention;
    }
    if (t->step == NULL || o->int8 != t->int8 || (o->shortlist != NULL) != t->short_step || !same)
        RGM_TRY(open_graphs(t, o->int8, o->shortlist != NULL, attends));
    t->shortened.list = o->shortlist;
    t->shortened.kernels = t->kernels;
    t->shortened.product = rgm_kernels_for(t->device, product);
    t->shortened.end_id = o->end_id;
    t->shortened.least = 2 * o->beam_size + o->no_padding;
    return o->int8 ? round_parameters(t) : RGM_OK;
}

static const rgm_parameters *parameters_of(const rgm_beam_search *t)
{
    return t->int8 && t->rounded != NULL ? t->rounded : t->parameters;
}

rgm_status rgm_beam_search_create(rgm_beam_search **out, const rgm_seq2seq *model,
                                  const rgm_parameters *parameters, rgm_device *device, bool bf16)
{
    rgm_status status = RGM_OK;
    rgm_beam_search *t = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(t, 1));
    t->model = *model;
    t->parameters = parameters;
    t->device = device != NULL ? device : rgm_device_cpu();
    t->bf16 = bf16;
    t->kernels = rgm_kernels_for(t->device, RGM_F32);
    RGM_GO(open_graphs(t, false, false, false));
    *out = t;
    t = NULL;
done:
    rgm_beam_search_release(t);
    return status;
}

void rgm_beam_search_release(rgm_beam_search *search)
{
    if (search == NULL)
        return;
    close_graphs(search);
    rgm_parameters_release(search->rounded);
    rgmi_shortened_clear(&search->shortened);
    rgm_free(search->numbers);
    for (int i = 0; i < 2; i++)
        rgm_tensor_release(search->position[i]);
    for (int64_t i = 0; i < 2 * RGM_SEQ2SEQ_LAYERS; i++) {
        rgm_tensor_release(search->memory[i]);
        rgm_tensor_release(search->past[i]);
    }
    rgm_free(search->ids);
    rgm_free(search->source_rows);
    rgm_free(search->past_rows);
    rgm_free(search->spare);
    rgm_device_free(search->device, search->top);
    rgm_free(search->logits);
    rgm_free(search->source_keys);
    rgm_free(search->queries);
    rgm_free(search);
}

/* ---- room ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static rgm_status reserve_list(int64_t **list, int64_t count)
{
    int64_t *made;

    RGM_TRY(RGM_NEW(made, count));
    rgm_free(*list);
    *list = made;
    return RGM_OK;
}

/* Keys and values for `rows` rows at least; what was in the first `keep` of them stays. */
static rgm_status reserve_rows(const rgm_beam_search *t, rgm_tensor **tensor, int64_t rows,
                               int64_t keep, int64_t width)
{
    rgm_tensor *made;

    if (*tensor != NULL && rgm_tensor_dim(*tensor, 0) >= rows)
        return RGM_OK;
    RGM_TRY(rgm_device_tensor_create(&made, t->device, RGM_F32, 2, (int64_t[]){rows, width}));
    if (keep > 0)
        copy_there(t, rgm_tensor_f32(made), rgm_tensor_f32(*tensor), keep * width);
    rgm_tensor_release(*tensor);
    *tensor = made;
    return RGM_OK;
}

/* Before a batch: nothing of the one before it is needed. */
static rgm_status reserve_batch(rgm_beam_search *t, int64_t count, int64_t longest, int64_t rows)
{
    int64_t width = rgmi_seq2seq_key_width(&t->model);
    int64_t lengths = (longest + LENGTH_ROUND - 1) / LENGTH_ROUND * LENGTH_ROUND;

    if (rows > t->rows || lengths > t->lengths) {
        rows = larger(rows, t->rows);
        lengths = larger(lengths, t->lengths);
        RGM_TRY(reserve_list(&t->ids, rows));
        RGM_TRY(reserve_list(&t->numbers, rows));
        RGM_TRY(reserve_list(&t->source_rows, rows * lengths));
        t->rows = rows;
        t->lengths = lengths;
        t->steps = 0; /* lists of past rows are made for other numbers */
    }
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        RGM_TRY(reserve_rows(t, &t->memory[i], larger(count * longest, t->lengths), 0, width));
    return RGM_OK;
}

/* One step more; half of the steps' room goes on as it is. */
static rgm_status reserve_step(rgmi_decoding *d)
{
    rgm_beam_search *t = d->search;
    int64_t steps = larger(LENGTH_ROUND, 2 * t->steps), width = rgmi_seq2seq_key_width(&t->model);
    int64_t *lists = NULL;

    if (d->steps < t->steps)
        return RGM_OK;
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        RGM_TRY(reserve_rows(t, &t->past[i], steps * t->rows, d->steps * t->rows, width));
    RGM_TRY(reserve_list(&t->spare, t->rows * steps));
    RGM_TRY(RGM_NEW(lists, t->rows * steps));
    for (int64_t r = 0; r < d->sentences * d->beams; r++)
        for (int64_t j = 0; j < steps; j++)
            lists[r * steps + j] = j < d->steps ? t->past_rows[r * t->steps + j] : -1;
    rgm_free(t->past_rows);
    t->past_rows = lists;
    t->steps = steps;
    rgm_tensor_release(d->past_rows);
    d->past_rows = NULL;
    return RGM_OK;
}

/* ---- sentences under way ---- */

static rgm_status wrap(rgm_tensor **out, int64_t *data, int64_t rows, int64_t columns)
{
    if (*out != NULL && rgm_tensor_dim(*out, 0) == rows && rgm_tensor_dim(*out, 1) == columns)
        return RGM_OK;
    rgm_tensor_release(*out);
    *out = NULL;
    return rgm_tensor_wrap(out, RGM_I64, 2, (int64_t[]){rows, columns}, data, NULL, NULL);
}

/* Tensors for as many sentences and beams as there are now. */
static rgm_status wrap_all(rgmi_decoding *d)
{
    rgm_beam_search *t = d->search;

    RGM_TRY(wrap(&d->ids, t->ids, d->sentences, d->beams));
    RGM_TRY(wrap(&d->source_rows, t->source_rows, d->sentences, t->lengths));
    return wrap(&d->past_rows, t->past_rows, d->sentences * d->beams, t->steps);
}

/* Numbers of sources, `each` of a token, padded with 0 to [count, longest] or [count, longest,
 * each]. */
static rgm_status numbers_create(rgm_tensor **out, const int32_t *const *numbers,
                                 const rgmi_sources *sources, int64_t longest, int rank,
                                 int64_t each)
{
    int64_t row = longest * each;

    RGM_TRY(rgm_tensor_create(out, RGM_I64, rank, (int64_t[]){sources->count, longest, each}));
    for (int64_t i = 0; i < sources->count; i++)
        for (int64_t j = 0; j < row; j++)
            rgm_tensor_i64(*out)[i * row + j] = j < sources->lengths[i] * each ? numbers[i][j] : 0;
    return RGM_OK;
}

/* What encode is fed; *factors NULL: the model has none. */
static rgm_status source_create(rgm_tensor **ids, rgm_tensor **positions, rgm_tensor **factors,
                                const rgm_seq2seq *model, const rgmi_sources *sources)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < sources->count; i++)
        longest = larger(longest, sources->lengths[i]);
    RGM_TRY(numbers_create(ids, sources->ids, sources, longest, 2, 1));
    if (model->source_factors > 0)
        RGM_TRY(
            numbers_create(factors, sources->factors, sources, longest, 3, model->source_factors));
    return rgm_tensor_arange(positions, longest);
}

/* The encoder's result to its rows; who sees which of them: tokens that are not padding. */
static void source_keep(rgm_beam_search *t, const rgm_tensor *ids)
{
    int64_t count = rgm_tensor_dim(ids, 0), longest = rgm_tensor_dim(ids, 1);
    int64_t size = count * longest * rgmi_seq2seq_key_width(&t->model);

    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        copy_there(t, rgm_tensor_f32(t->memory[i]), rgm_tensor_f32(t->fetched[i]), size);
    for (int64_t s = 0; s < count; s++)
        for (int64_t j = 0; j < t->lengths; j++) {
            bool seen = j < longest && rgm_tensor_i64(ids)[s * longest + j] != 0;
            t->source_rows[s * t->lengths + j] = seen ? s * longest + j : -1;
        }
}

/* New ones for each batch: what was fed to a step that failed may still be known to the executor.
 */
static rgm_status positions_renew(rgm_beam_search *t)
{
    for (int i = 0; i < 2; i++) {
        rgm_tensor_release(t->position[i]);
        t->position[i] = NULL;
        RGM_TRY(rgm_tensor_create(&t->position[i], RGM_I64, 1, (int64_t[]){1}));
    }
    return RGM_OK;
}

/* The tokens that these sentences may have, where there is a shortlist. */
static rgm_status shorten(rgm_beam_search *t, const rgmi_sources *sources)
{
    const rgm_parameters *p = parameters_of(t);
    int64_t table, bias;

    if (!t->short_step)
        return RGM_OK;
    for (int64_t i = 0; i < sources->count; i++)
        t->numbers[i] = i;
    table = rgm_parameters_number(p, rgmi_output_table(&t->model));
    bias = t->model.options.output_bias ? rgm_parameters_number(p, "output/bias") : -1;
    return rgmi_shortened_open(&t->shortened, sources->ids, sources->lengths, sources->count,
                               rgm_tensor_data(rgm_parameters_read(p, table)),
                               bias >= 0 ? rgm_tensor_data(rgm_parameters_read(p, bias)) : NULL,
                               t->model.options.embedding_width);
}

/* `count` numbers of a device's memory in a list that grows; NULL: they are there already. */
static rgm_status bring(const float **out, float **list, int64_t *room, const rgm_beam_search *t,
                        const rgm_tensor *tensor, int64_t count)
{
    *out = is_on_host(t) ? rgm_tensor_data(tensor) : NULL;
    if (is_on_host(t))
        return RGM_OK;
    if (count > *room) {
        rgm_free(*list);
        *list = NULL;
        *room = 0;
        RGM_TRY(RGM_NEW(*list, count));
        *room = count;
    }
    *out = *list;
    return rgm_device_copy_from(t->device, *list, rgm_tensor_data(tensor),
                                (size_t)count * sizeof **list);
}

/* Of a device: keys of the sources' tokens, [rows] of them, that coverage is told by. */
static rgm_status bring_source_keys(rgm_beam_search *t, int64_t rows)
{
    const float *unused;

    if (!t->attends)
        return RGM_OK;
    return bring(&unused, &t->source_keys, &t->source_key_count, t,
                 t->memory[2 * rgmi_attention_layer(&t->place, &t->model)],
                 rows * rgmi_seq2seq_key_width(&t->model));
}

rgm_status rgmi_decoding_open(rgmi_decoding *d, rgm_beam_search *t, const rgmi_sources *sources,
                              int64_t beams)
{
    rgm_status status = RGM_OK;
    rgm_tensor *ids = NULL, *positions = NULL, *factors = NULL;
    int64_t count = sources->count;

    *d = (rgmi_decoding){.search = t, .sentences = count, .beams = 1};
    RGM_GO(positions_renew(t));
    RGM_GO(source_create(&ids, &positions, &factors, &t->model, sources));
    RGM_GO(reserve_batch(t, count, rgm_tensor_dim(ids, 1), count * beams));
    rgm_feed feeds[] = {{.input = t->source, .tensor = ids},
                        {.input = t->source_positions, .tensor = positions},
                        {.input = t->source_factors, .tensor = factors}};
    RGM_GO(rgm_executor_run(t->encode, t->fetched, parameters_of(t), feeds, factors != NULL ? 3 : 2,
                            0, 0));
    source_keep(t, ids);
    RGM_GO(bring_source_keys(t, rgm_tensor_count(ids)));
    RGM_GO(shorten(t, sources));
    for (int64_t i = 0; i < count * t->steps; i++)
        t->past_rows[i] = -1;
done:
    rgm_tensor_release(factors);
    rgm_tensor_release(ids);
    rgm_tensor_release(positions);
    if (status != RGM_OK)
        rgmi_decoding_close(d);
    return status;
}

void rgmi_decoding_close(rgmi_decoding *d)
{
    rgm_tensor_release(d->ids);
    rgm_tensor_release(d->source_rows);
    rgm_tensor_release(d->past_rows);
    *d = (rgmi_decoding){0};
}

rgm_status rgmi_decoding_step(rgmi_decoding *d, const int32_t *ids)
{
    rgm_beam_search *t = d->search;
    rgm_tensor *position = t->position[t->turn++ % 2];
    rgm_feed feeds[4 + 4 * RGM_SEQ2SEQ_LAYERS];
    int64_t count = 4;

    RGM_TRY(reserve_step(d));
    RGM_TRY(wrap_all(d));
    for (int64_t i = 0; i < d->sentences * d->beams; i++)
        t->ids[i] = ids[i];
    rgm_tensor_i64(position)[0] = d->steps;
    feeds[0] = (rgm_feed){.input = t->inputs.ids, .tensor = d->ids};
    feeds[1] = (rgm_feed){.input = t->inputs.position, .tensor = position};
    feeds[2] = (rgm_feed){.input = t->inputs.source_rows, .tensor = d->source_rows};
    feeds[3] = (rgm_feed){.input = t->inputs.past_rows, .tensor = d->past_rows};
    for (int64_t i = 0; i < 2 * layers_of(t); i++) {
        feeds[count++] = (rgm_feed){.input = t->inputs.memory[i], .tensor = t->memory[i]};
        feeds[count++] = (rgm_feed){.input = t->inputs.past[i], .tensor = t->past[i]};
    }
    return rgm_executor_run(t->step, t->fetched, parameters_of(t), feeds, count, 0, 0);
}

rgm_status rgmi_decoding_top(float *log_probabilities, int64_t *ids, const rgmi_decoding *d,
                             int64_t count)
{
    rgm_beam_search *t = d->search;
    rgm_top_args top = {.y = log_probabilities,
                        .index = ids,
                        .x = rgm_tensor_data(t->fetched[0]),
                        .rows = d->sentences * d->beams,
                        .channels = rgm_seq2seq_padded(t->model.target_vocabulary),
                        .classes = t->model.target_vocabulary,
                        .count = count};
    size_t each = (size_t)(top.rows * count), numbers = each * sizeof *ids;

    if (t->short_step)
        return rgmi_shortened_top(log_probabilities, ids, &t->shortened,
                                  rgm_tensor_data(t->fetched[0]), t->numbers, d->sentences,
                                  d->beams, count);
    if (is_on_host(t)) {
        t->kernels->top_log_softmax(&top);
        return RGM_OK;
    }
    if (t->top_bytes < numbers + each * sizeof(float)) {
        rgm_device_free(t->device, t->top);
        t->top = NULL;
        t->top_bytes = 0;
        RGM_TRY(rgm_device_allocate(&t->top, t->device, numbers + each * sizeof(float)));
        t->top_bytes = numbers + each * sizeof(float);
    }
    top.index = t->top;
    top.y = (char *)t->top + numbers;
    t->kernels->top_log_softmax(&top);
    RGM_TRY(rgm_device_copy_from(t->device, ids, top.index, numbers));
    return rgm_device_copy_from(t->device, log_probabilities, top.y, each * sizeof(float));
}

rgm_status rgmi_decoding_logits(const float **logits, const rgmi_decoding *d)
{
    rgm_beam_search *t = d->search;

    return bring(logits, &t->logits, &t->logit_count, t, t->fetched[0],
                 rgm_tensor_count(t->fetched[0]));
}

/* What the rows of a batch attend to, sentence by sentence. */
typedef struct attended {
    const rgm_beam_search *search;
    double *sum, share;
    const float *queries, *keys;
    int64_t beams, width;
    float *scores; /* [rows, width] */
} attended;

static void attended_rows(void *payload, int64_t begin, int64_t end)
{
    const attended *a = payload;
    const rgm_beam_search *t = a->search;
    int64_t width = t->model.options.embedding_width;

    for (int64_t r = begin; r < end; r++) {
        const int64_t *rows = t->source_rows + r / a->beams * t->lengths;
        int64_t sources = 0;
        while (sources < a->width && rows[sources] >= 0)
            sources++;
        rgmi_attention_add(a->sum + r * a->width, a->share, a->scores + r * a->width,
                           a->queries + r * width, a->keys, rows, sources, &t->model, &t->place);
    }
}

rgm_status rgmi_decoding_attended(double *sum, int64_t width, double share, const rgmi_decoding *d)
{
    rgm_beam_search *t = d->search;
    const rgm_tensor *queries = t->fetched[1 + 2 * layers_of(t)];
    int64_t rows = d->sentences * d->beams;
    attended a = {.search = t, .sum = sum, .share = share, .beams = d->beams, .width = width};

    a.keys = is_on_host(t)
                 ? rgm_tensor_f32(t->memory[2 * rgmi_attention_layer(&t->place, &t->model)])
                 : t->source_keys;
    RGM_TRY(bring(&a.queries, &t->queries, &t->query_count, t, queries, rgm_tensor_count(queries)));
    RGM_TRY(RGM_NEW(a.scores, rows * width));
    rgm_parallel(rows, 4.0 * (double)(width * t->model.options.embedding_width), attended_rows, &a);
    rgm_free(a.scores);
    return RGM_OK;
}

rgm_status rgmi_decoding_select(rgmi_decoding *d, const int64_t *sentences, int64_t count,
                                int64_t beams, const int64_t *parents)
{
    rgm_beam_search *t = d->search;
    int64_t first = d->steps * t->rows, width = rgmi_seq2seq_key_width(&t->model);

    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        copy_there(t, rgm_tensor_f32(t->past[i]) + first * width, rgm_tensor_f32(t->fetched[1 + i]),
                   d->sentences * d->beams * width);
    for (int64_t r = 0; r < count * beams; r++) {
        int64_t *list = t->spare + r * t->steps;
        memcpy(list, t->past_rows + parents[r] * t->steps, (size_t)t->steps * sizeof *list);
        list[d->steps] = first + parents[r];
    }
    memcpy(t->past_rows, t->spare, (size_t)(count * beams * t->steps) * sizeof *t->spare);
    for (int64_t s = 0; s < count && t->short_step; s++)
        t->numbers[s] = t->numbers[sentences[s]];
    for (int64_t s = 0; s < count && count < d->sentences; s++)
        memmove(t->source_rows + s * t->lengths, t->source_rows + sentences[s] * t->lengths,
                (size_t)t->lengths * sizeof *t->source_rows);
    d->sentences = count;
    d->beams = beams;
    d->steps++;
    return RGM_OK;
}

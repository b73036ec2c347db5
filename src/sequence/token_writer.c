/*
 * Writing tokens with a decoder: one executor reads prompts, one runs the decoder for the newest
 * token of every row. Keys and values lie in rows of memory of the device, in the order in which
 * they came; a list of such rows says what a row of the batch has read. When a row goes on from
 * another, or leaves, only lists change. Memory grows when it is full; what no list names is left
 * behind then.
 */
#include "sequence_internal.h"

#include <regimen/device_tensor.h>
#include <regimen/kernels.h>

enum {
    LIST_ROUND = 32,    /* lists are longer than needed by less: few sizes, few plans */
    LEAST_ROWS = 256,   /* of memory                                                  */
    WRITER_PLANS = 160, /* for different numbers of rows and lengths                  */
    WRITER_FETCHES = 2 * RGM_STACK_LAYERS + 1
};

struct rgm_token_writer {
    rgm_decoder model;
    const rgm_parameters *parameters;
    rgm_device *device;
    const rgm_kernels *kernels; /* the device's, f32 */
    rgm_cgraph *prompt_graph, *step_graph;
    rgm_executor *prompt, *step;
    rgmi_decoder_prompt read;               /* what prompt is fed */
    rgmi_decoder_rows write;                /* what step is fed   */
    rgm_tensor *fetched[WRITER_FETCHES];    /* of the last run, borrowed from an executor      */
    rgm_tensor *kept[2 * RGM_STACK_LAYERS]; /* [capacity, key width], by layer               */
    int64_t capacity, used;                 /* rows of memory                                  */
    int64_t rows, places;                   /* of the batch; of a list                         */
    int64_t *lists;                         /* [rows, places], -1 behind a row's tokens        */
    int64_t *lengths;                       /* [rows]                                          */
    float *logits;                          /* of a device whose memory is not the host's      */
    int64_t logit_count;
};

static int64_t layers_of(const rgm_token_writer *t)
{
    return t->model.options.decoder.num_layers;
}

static int64_t width_of(const rgm_token_writer *t)
{
    return rgmi_key_width(&t->model.options.decoder, t->model.options.embedding_width);
}

/* Between two places of the device's memory. */
static void copy_rows(const rgm_token_writer *t, rgm_tensor *to, int64_t to_row,
                      const rgm_tensor *from, int64_t from_row, int64_t count)
{
    int64_t width = width_of(t);
    float *y = rgm_tensor_f32(to) + to_row * width;
    const float *x = rgm_tensor_f32(from) + from_row * width;
    size_t bytes = (size_t)(count * width) * sizeof *y;

    if (rgm_device_is_host(t->device))
        memcpy(y, x, bytes);
    else
        t->kernels->copy(&(rgm_copy_args){
            .y = y, .x = x, .outer = 1, .size = bytes, .y_step = bytes, .x_step = bytes});
}

/* ---- the two executors ---- */

static rgm_status open_prompt(void *payload, rgm_scope *scope, const rgm_executor_options *options)
{
    rgm_token_writer *t = payload;
    rgm_value *fetches[WRITER_FETCHES];

    RGM_TRY(rgmi_decoder_prompt_graph(&t->read, scope, &t->model));
    fetches[0] = t->read.logits;
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        fetches[1 + i] = t->read.keys[i];
    return rgm_executor_create(&t->prompt, t->prompt_graph, fetches, 1 + 2 * layers_of(t), options);
}

static rgm_status open_step(void *payload, rgm_scope *scope, const rgm_executor_options *options)
{
    rgm_token_writer *t = payload;
    rgm_value *fetches[WRITER_FETCHES];

    RGM_TRY(rgmi_decoder_rows_graph(&t->write, scope, &t->model));
    fetches[0] = t->write.logits;
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        fetches[1 + i] = t->write.newest[i];
    return rgm_executor_create(&t->step, t->step_graph, fetches, 1 + 2 * layers_of(t), options);
}

rgm_status rgm_token_writer_create(rgm_token_writer **out, const rgm_decoder *model,
                                   const rgm_parameters *parameters, rgm_device *device, bool bf16)
{
    bool stays[WRITER_FETCHES];
    rgm_executor_options options = {
        .bf16 = bf16, .inference = true, .plans = WRITER_PLANS, .device = device, .stays = stays};
    rgm_status status = RGM_OK;
    rgm_token_writer *t = NULL;

    *out = NULL;
    RGM_TRY(rgm_decoder_check(model));
    RGM_TRY(RGM_NEW(t, 1));
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        stays[i] = true;
    t->model = *model;
    t->parameters = parameters;
    t->device = device != NULL ? device : rgm_device_cpu();
    t->kernels = rgm_kernels_for(t->device, RGM_F32);
    RGM_GO(rgmi_open_graph(&t->prompt_graph, open_prompt, t, &options));
    options.packed_with = t->prompt; /* both multiply with all of the decoder's weights */
    RGM_GO(rgmi_open_graph(&t->step_graph, open_step, t, &options));
    *out = t;
    t = NULL;
done:
    rgm_token_writer_release(t);
    return status;
}

void rgm_token_writer_release(rgm_token_writer *writer)
{
    if (writer == NULL)
        return;
    rgm_executor_release(writer->prompt);
    rgm_executor_release(writer->step);
    rgm_cgraph_release(writer->prompt_graph);
    rgm_cgraph_release(writer->step_graph);
    for (int64_t i = 0; i < 2 * RGM_STACK_LAYERS; i++)
        rgm_tensor_release(writer->kept[i]);
    rgm_free(writer->lists);
    rgm_free(writer->lengths);
    rgm_free(writer->logits);
    rgm_free(writer);
}

int64_t rgm_token_writer_rows(const rgm_token_writer *writer)
{
    return writer->rows;
}

int64_t rgm_token_writer_length(const rgm_token_writer *writer, int64_t row)
{
    return writer->lengths[row];
}

/* ---- room ---- */

/* Number the rows that a list names from 0 on, in their order; what they were is marked in `to`
 * [used], -1 for others. Returns how many there are. */
static int64_t number_rows(int64_t *to, const rgm_token_writer *t)
{
    int64_t count = 0;

    for (int64_t i = 0; i < t->used; i++)
        to[i] = -1;
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t j = 0; j < t->lengths[r]; j++)
            to[t->lists[r * t->places + j]] = 0;
    for (int64_t i = 0; i < t->used; i++)
        if (to[i] == 0)
            to[i] = count++;
    return count;
}

/* The rows of one tensor that have a number, to their new places. */
static void move_rows(const rgm_token_writer *t, rgm_tensor *made, const rgm_tensor *from,
                      const int64_t *to)
{
    for (int64_t i = 0; i < t->used;) {
        int64_t end = i + 1;
        while (end < t->used && (to[end] < 0) == (to[i] < 0))
            end++;
        if (to[i] >= 0)
            copy_rows(t, made, to[i], from, i, end - i);
        i = end;
    }
}

/* Memory for `more` rows behind those in use. */
static rgm_status reserve_memory(rgm_token_writer *t, int64_t more)
{
    rgm_status status = RGM_OK;
    rgm_tensor *made[2 * RGM_STACK_LAYERS] = {NULL};
    int64_t *to = NULL, count, capacity;

    if (t->capacity > 0 && t->used + more <= t->capacity)
        return RGM_OK;
    RGM_GO(RGM_NEW(to, t->used + 1));
    count = number_rows(to, t);
    capacity = 2 * (count + more) > LEAST_ROWS ? 2 * (count + more) : LEAST_ROWS;
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        RGM_GO(rgm_device_tensor_create(&made[i], t->device, RGM_F32, 2,
                                        (int64_t[]){capacity, width_of(t)}));
    for (int64_t i = 0; i < 2 * layers_of(t); i++) {
        if (t->kept[i] != NULL)
            move_rows(t, made[i], t->kept[i], to);
        rgm_tensor_release(t->kept[i]);
        t->kept[i] = made[i];
        made[i] = NULL;
    }
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t j = 0; j < t->lengths[r]; j++)
            t->lists[r * t->places + j] = to[t->lists[r * t->places + j]];
    t->used = count;
    t->capacity = capacity;
done:
    for (int64_t i = 0; i < 2 * RGM_STACK_LAYERS; i++)
        rgm_tensor_release(made[i]);
    rgm_free(to);
    return status;
}

/* Lists and lengths of `rows` rows with `places` places at least, of which row i is what `from`
 * [rows] was (NULL: itself); those behind the rows of now are empty. */
static rgm_status lists_make(rgm_token_writer *t, int64_t rows, int64_t places, const int64_t *from)
{
    rgm_status status = RGM_OK;
    int64_t *lists = NULL, *lengths = NULL;

    places = (places + LIST_ROUND - 1) / LIST_ROUND * LIST_ROUND;
    places = places > 0 ? places : LIST_ROUND;
    RGM_GO(RGM_NEW(lists, rows * places + 1));
    RGM_GO(RGM_NEW(lengths, rows + 1));
    for (int64_t r = 0; r < rows; r++) {
        int64_t old = from != NULL ? from[r] : r;
        lengths[r] = old < t->rows ? t->lengths[old] : 0;
        for (int64_t j = 0; j < places; j++)
            lists[r * places + j] = j < lengths[r] ? t->lists[old * t->places + j] : -1;
    }
    rgm_free(t->lists);
    rgm_free(t->lengths);
    t->lists = lists;
    t->lengths = lengths;
    t->places = places;
    lists = lengths = NULL;
done:
    rgm_free(lists);
    rgm_free(lengths);
    return status;
}

static int64_t longest_of(const rgm_token_writer *t)
{
    int64_t longest = 0;

    for (int64_t r = 0; r < t->rows; r++)
        longest = t->lengths[r] > longest ? t->lengths[r] : longest;
    return longest;
}

/* ---- checks ---- */

static rgm_status check_id(const rgm_token_writer *t, int32_t id, const char *what, int64_t i)
{
    return id >= 0 && id < t->model.vocabulary
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_DATA, "%s %lld has the id %ld, but ids are 0..%lld", what,
                          (long long)i, (long)id, (long long)t->model.vocabulary - 1);
}

static rgm_status check_length(const rgm_token_writer *t, int64_t length, const char *what,
                               int64_t i)
{
    int64_t most = t->model.options.max_positions;

    return length <= most
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_DATA, "%s %lld has %lld tokens, but model.max_positions is %lld",
                          what, (long long)i, (long long)length, (long long)most);
}

static rgm_status check_prompts(const rgm_token_writer *t, const int32_t *const *prompts,
                                const int64_t *lengths, int64_t count)
{
    if (count < 1)
        return RGM_FAIL(RGM_ERR_DATA, "no prompts");
    for (int64_t i = 0; i < count; i++) {
        if (lengths[i] < 1)
            return RGM_FAIL(RGM_ERR_DATA, "prompt %lld is empty: begin it with a token of its own",
                            (long long)i);
        RGM_TRY(check_length(t, lengths[i], "prompt", i));
        for (int64_t j = 0; j < lengths[i]; j++)
            RGM_TRY(check_id(t, prompts[i][j], "prompt", i));
    }
    return RGM_OK;
}

/* ---- runs ---- */

/* The fetched logits, where the host can read them. */
static rgm_status logits_of(const float **out, rgm_token_writer *t)
{
    int64_t count = rgm_tensor_count(t->fetched[0]);

    *out = NULL;
    if (rgm_device_is_host(t->device)) {
        *out = rgm_tensor_f32(t->fetched[0]);
        return RGM_OK;
    }
    if (count > t->logit_count) {
        rgm_free(t->logits);
        t->logits = NULL;
        t->logit_count = 0;
        RGM_TRY(RGM_NEW(t->logits, count));
        t->logit_count = count;
    }
    RGM_TRY(rgm_device_copy_from(t->device, t->logits, rgm_tensor_data(t->fetched[0]),
                                 (size_t)count * sizeof(float)));
    *out = t->logits;
    return RGM_OK;
}

/* Prompts padded behind their last tokens, which no token before sees; and the rows of the last. */
static rgm_status prompt_tensors(rgm_tensor **ids, rgm_tensor **positions, rgm_tensor **last,
                                 const int32_t *const *prompts, const int64_t *lengths,
                                 int64_t count)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < count; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    RGM_TRY(rgm_tensor_create(ids, RGM_I64, 2, (int64_t[]){count, longest}));
    RGM_TRY(rgm_tensor_create(last, RGM_I64, 1, &count));
    RGM_TRY(rgm_tensor_arange(positions, longest));
    for (int64_t i = 0; i < count; i++) {
        rgm_tensor_i64(*last)[i] = i * longest + lengths[i] - 1;
        for (int64_t j = 0; j < longest; j++)
            rgm_tensor_i64(*ids)[i * longest + j] = j < lengths[i] ? prompts[i][j] : 0;
    }
    return RGM_OK;
}

/* What the prompts' run has made, to memory that is reserved, and lists of it. */
static void take_prompts(rgm_token_writer *t, const int64_t *lengths, int64_t count)
{
    int64_t longest = rgm_tensor_dim(t->fetched[1], 1);

    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < 2 * layers_of(t); k++)
            copy_rows(t, t->kept[k], t->used, t->fetched[1 + k], i * longest, lengths[i]);
        for (int64_t j = 0; j < lengths[i]; j++)
            t->lists[(t->rows + i) * t->places + j] = t->used + j;
        t->lengths[t->rows + i] = lengths[i];
        t->used += lengths[i];
    }
    t->rows += count;
}

rgm_status rgm_token_writer_add(const float **logits, rgm_token_writer *t,
                                const int32_t *const *prompts, const int64_t *lengths,
                                int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_tensor *ids = NULL, *positions = NULL, *last = NULL;
    int64_t places = longest_of(t), all = 0;

    *logits = NULL;
    RGM_GO(check_prompts(t, prompts, lengths, count));
    for (int64_t i = 0; i < count; i++) {
        places = lengths[i] > places ? lengths[i] : places;
        all += lengths[i];
    }
    RGM_GO(reserve_memory(t, all));
    RGM_GO(lists_make(t, t->rows + count, places + 1, NULL));
    RGM_GO(prompt_tensors(&ids, &positions, &last, prompts, lengths, count));
    rgm_feed feeds[] = {{.input = t->read.ids, .tensor = ids},
                        {.input = t->read.positions, .tensor = positions},
                        {.input = t->read.last, .tensor = last}};
    RGM_GO(rgm_executor_run(t->prompt, t->fetched, t->parameters, feeds, 3, 0, 0));
    RGM_GO(logits_of(logits, t));
    take_prompts(t, lengths, count);
done:
    rgm_tensor_release(ids);
    rgm_tensor_release(positions);
    rgm_tensor_release(last);
    return status;
}

/* Fresh ones for each step: an executor may have kept what it made of those before. */
static rgm_status step_tensors(rgm_tensor *out[3], const rgm_token_writer *t, const int32_t *ids)
{
    int64_t one[2] = {t->rows, 1}, list[2] = {t->rows, t->places};

    for (int i = 0; i < 2; i++)
        RGM_TRY(rgm_tensor_create(&out[i], RGM_I64, 2, one));
    RGM_TRY(rgm_tensor_create(&out[2], RGM_I64, 2, list));
    for (int64_t r = 0; r < t->rows; r++) {
        rgm_tensor_i64(out[0])[r] = ids[r];
        rgm_tensor_i64(out[1])[r] = t->lengths[r];
    }
    memcpy(rgm_tensor_i64(out[2]), t->lists, (size_t)(t->rows * t->places) * sizeof *t->lists);
    return RGM_OK;
}

/* What a step has made, to memory that is reserved, and behind the lists. */
static void take_step(rgm_token_writer *t)
{
    for (int64_t k = 0; k < 2 * layers_of(t); k++)
        copy_rows(t, t->kept[k], t->used, t->fetched[1 + k], 0, t->rows);
    for (int64_t r = 0; r < t->rows; r++)
        t->lists[r * t->places + t->lengths[r]++] = t->used + r;
    t->used += t->rows;
}

static rgm_status step_reserve(rgm_token_writer *t)
{
    int64_t longest = longest_of(t);

    RGM_TRY(reserve_memory(t, t->rows));
    return longest < t->places ? RGM_OK : lists_make(t, t->rows, longest + 1, NULL);
}

rgm_status rgm_token_writer_step(const float **logits, rgm_token_writer *t, const int32_t *ids)
{
    rgm_status status = RGM_OK;
    rgm_feed feeds[3 + 2 * RGM_STACK_LAYERS];
    rgm_tensor *fed[3] = {NULL};
    int64_t count = 3;

    *logits = NULL;
    if (t->rows == 0)
        return RGM_FAIL(RGM_ERR_DATA, "there are no rows to write");
    for (int64_t r = 0; r < t->rows; r++) {
        RGM_TRY(check_id(t, ids[r], "row", r));
        RGM_TRY(check_length(t, t->lengths[r] + 1, "row", r));
    }
    RGM_GO(step_reserve(t));
    RGM_GO(step_tensors(fed, t, ids));
    feeds[0] = (rgm_feed){.input = t->write.ids, .tensor = fed[0]};
    feeds[1] = (rgm_feed){.input = t->write.positions, .tensor = fed[1]};
    feeds[2] = (rgm_feed){.input = t->write.past_rows, .tensor = fed[2]};
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        feeds[count++] = (rgm_feed){.input = t->write.past[i], .tensor = t->kept[i]};
    RGM_GO(rgm_executor_run(t->step, t->fetched, t->parameters, feeds, count, 0, 0));
    RGM_GO(logits_of(logits, t));
    take_step(t);
done:
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(fed[i]);
    return status;
}

rgm_status rgm_token_writer_keep(rgm_token_writer *t, const int64_t *rows, int64_t count)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < count; i++) {
        if (rows[i] < 0 || rows[i] >= t->rows)
            return RGM_FAIL(RGM_ERR_ARG, "row %lld of %lld rows is to go on", (long long)rows[i],
                            (long long)t->rows);
        longest = t->lengths[rows[i]] > longest ? t->lengths[rows[i]] : longest;
    }
    RGM_TRY(lists_make(t, count, longest + 1, rows));
    t->rows = count;
    if (count == 0)
        t->used = 0;
    return RGM_OK;
}

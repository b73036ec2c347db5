/*
 * Texts of tokens: rows of a writer, each of which draws its next token by its own stream. A row
 * that has ended makes room for the next prompt at once.
 */
#include <string.h>

#include <regimen/sequence_generate.h>

#define RGM_OPTIONS rgm_generate_options
const rgm_field rgm_generate_fields[] = {
    RGM_FLOAT_FIELD(temperature, 0, 1e6,
                    "logits are divided by it; 0: always the most probable token"),
    RGM_INT_FIELD(top_k, 0, 1e9, "draw among the k most probable tokens; 0: all"),
    RGM_FLOAT_FIELD(top_p, RGM_ABOVE_0, 1,
                    "draw among the fewest tokens that have this probability together"),
    RGM_FLOAT_FIELD(min_p, 0, 1,
                    "leave out tokens that are less than so many times as probable as the best"),
    RGM_FLOAT_FIELD(repetition_penalty, RGM_ABOVE_0, 1e6,
                    "above 1: tokens that prompt or text has become less probable"),
    RGM_INT_FIELD(max_tokens, 1, 1e9, "most tokens of a text, its end included"),
    RGM_INT_FIELD(batch_size, 1, 1e6, "texts written together; changes nothing but the time"),
    RGM_INT_FIELD(seed, 0, 1e15, "of the draws; each prompt draws by its own number"),
    {0}};
#undef RGM_OPTIONS

/** A text that is being written. */
typedef struct row {
    int64_t number; /* of its prompt */
    int32_t *ids;   /* the prompt and the text */
    int64_t prompt, count;
    rgm_rng rng;
    bool ended;
    rgm_generate_end end;
} row;

typedef struct generation {
    rgm_token_writer *writer;
    const rgm_decoder *model;
    const rgm_generate_options *options;
    rgm_generated *out;
    rgm_token_sampler *sampler;
    row *rows; /* [batch_size] */
    int64_t count;
    int32_t *newest; /* [batch_size] */
    int64_t *going;  /* [batch_size] */
} generation;

void rgm_generated_clear(rgm_generated *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rgm_free(texts[i].ids);
        texts[i] = (rgm_generated){0};
    }
}

static void end_row(row *r, rgm_generate_end end)
{
    r->ended = true;
    r->end = end;
}

/* Draw the next token of a row, and see whether its text ends with it. */
static rgm_status draw(generation *g, row *r, const float *logits)
{
    const rgm_generate_options *o = g->options;
    int64_t written = r->count - r->prompt, most = g->model->options.max_positions;
    bool stop = false;
    int32_t id;

    RGM_TRY(rgm_token_sampler_draw(&id, g->sampler, logits, o, r->ids, r->count,
                                   rgm_rng_f64(&r->rng, (uint64_t)written)));
    if (id == o->end_id) {
        end_row(r, RGM_GENERATED_END);
        return RGM_OK;
    }
    r->ids[r->count++] = id;
    written++;
    if (o->stop != NULL)
        RGM_TRY(o->stop(&stop, r->ids + r->prompt, written, r->number, o->payload));
    if (stop)
        end_row(r, RGM_GENERATED_STOP);
    else if (written >= o->max_tokens || r->count >= most)
        end_row(r, RGM_GENERATED_LENGTH);
    return RGM_OK;
}

static rgm_status finish(generation *g, row *r)
{
    rgm_generated *out = &g->out[r->number];

    out->end = r->end;
    out->count = r->count - r->prompt;
    RGM_TRY(RGM_NEW(out->ids, out->count + 1));
    memcpy(out->ids, r->ids + r->prompt, (size_t)out->count * sizeof *out->ids);
    rgm_free(r->ids);
    r->ids = NULL;
    return RGM_OK;
}

/* Rows that have ended leave. */
static rgm_status leave(generation *g)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < g->count; i++) {
        if (g->rows[i].ended) {
            RGM_TRY(finish(g, &g->rows[i]));
            continue;
        }
        g->going[kept] = i;
        g->rows[kept] = g->rows[i];
        if (kept++ != i)
            g->rows[i].ids = NULL;
    }
    if (kept == g->count)
        return RGM_OK;
    g->count = kept;
    return rgm_token_writer_keep(g->writer, g->going, kept);
}

/* A row for a prompt, which the writer reads with others. */
static rgm_status begin_row(generation *g, row *r, const int32_t *prompt, int64_t length,
                            int64_t number)
{
    const rgm_generate_options *o = g->options;
    int64_t most = g->model->options.max_positions;
    int64_t room = length < most ? most - length : 0;

    room = room < o->max_tokens ? room : o->max_tokens;
    *r = (row){.number = number, .prompt = length, .count = length};
    r->rng = rgm_rng_stream((uint64_t)o->seed, "generate", (uint64_t)(o->first_number + number));
    RGM_TRY(RGM_NEW(r->ids, length + room + 1));
    memcpy(r->ids, prompt, (size_t)length * sizeof *prompt);
    if (room == 0)
        end_row(r, RGM_GENERATED_LENGTH);
    return RGM_OK;
}

static rgm_status begin_rows(generation *g, const int32_t *const *prompts, const int64_t *lengths,
                             int64_t first, int64_t count)
{
    int64_t before = g->count, padded = rgm_seq2seq_padded(g->model->vocabulary);
    const float *logits;

    RGM_TRY(rgm_token_writer_add(&logits, g->writer, prompts + first, lengths + first, count));
    for (int64_t i = 0; i < count; i++) {
        row *r = &g->rows[before + i];

        *r = (row){0};
        g->count++;
        RGM_TRY(begin_row(g, r, prompts[first + i], lengths[first + i], first + i));
        if (!r->ended)
            RGM_TRY(draw(g, r, logits + i * padded));
    }
    return leave(g);
}

static rgm_status step(generation *g)
{
    int64_t padded = rgm_seq2seq_padded(g->model->vocabulary);
    const float *logits;

    for (int64_t i = 0; i < g->count; i++)
        g->newest[i] = g->rows[i].ids[g->rows[i].count - 1];
    RGM_TRY(rgm_token_writer_step(&logits, g->writer, g->newest));
    for (int64_t i = 0; i < g->count; i++)
        RGM_TRY(draw(g, &g->rows[i], logits + i * padded));
    return leave(g);
}

rgm_status rgm_generate(rgm_generated *out, rgm_token_writer *writer, const rgm_decoder *model,
                        const int32_t *const *prompts, const int64_t *lengths, int64_t count,
                        const rgm_generate_options *options)
{
    rgm_status status = RGM_OK;
    generation g = {.writer = writer, .model = model, .options = options, .out = out};
    int64_t most = options->batch_size < count ? options->batch_size : count, begun = 0;

    memset(out, 0, (size_t)count * sizeof *out);
    RGM_TRY(rgm_options_check(options, rgm_generate_fields, "task.generate"));
    RGM_GO(RGM_NEW(g.rows, most));
    RGM_GO(RGM_NEW(g.newest, most));
    RGM_GO(RGM_NEW(g.going, most));
    RGM_GO(rgm_token_sampler_create(&g.sampler, model->vocabulary));
    while (g.count > 0 || begun < count) {
        int64_t more = most - g.count < count - begun ? most - g.count : count - begun;

        if (more > 0) {
            RGM_GO(begin_rows(&g, prompts, lengths, begun, more));
            begun += more;
        }
        if (g.count > 0)
            RGM_GO(step(&g));
    }
done:
    for (int64_t i = 0; i < g.count; i++)
        rgm_free(g.rows[i].ids);
    if (status != RGM_OK) {
        rgm_generated_clear(out, count);
        (void)rgm_token_writer_keep(writer, NULL, 0);
    }
    rgm_token_sampler_release(g.sampler);
    rgm_free(g.rows);
    rgm_free(g.newest);
    rgm_free(g.going);
    return status;
}

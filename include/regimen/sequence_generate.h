/*
 * sequence: tokens drawn one after the other by a decoder without a source (sequence_decoder.h).
 *
 *     rgm_token_writer_create(&writer, &model, parameters, NULL, false);
 *     rgm_generate(out, writer, prompts, lengths, count, &options);
 */
#ifndef REGIMEN_SEQUENCE_GENERATE_H
#define REGIMEN_SEQUENCE_GENERATE_H

#include <regimen/sequence_decoder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options --------------------------------------------------------------------------------- */

/** Says after each token whether the text ends with it: ids [count] are those of the text without
 * the prompt. */
typedef rgm_status rgm_generate_stop(bool *stop, const int32_t *ids, int64_t count, int64_t number,
                                     void *payload);

/**
 * The keys of `task.generate`, and what only programs set. The next token is drawn from its logits
 * by the steps of Transformers' generate(), in its order; each sees what the one before it left:
 *
 *   repetition_penalty  the logit of each token that prompt or text has is divided by it if it is
 *                       above 0, and multiplied with it otherwise
 *   temperature         logits are divided by it
 *   top_k               tokens whose logit is below the k-th largest are left out
 *   top_p               the most probable tokens stay, as long as those before them have less than
 *                       this probability together
 *   min_p               tokens that are less than min_p times as probable as the most probable one
 *                       are left out
 *
 * Then one is drawn by the probabilities of what stayed.
 */
typedef struct rgm_generate_options {
    double temperature; /* 0: the token of the largest logit, of two such the one of the smaller
                           id; nothing is drawn, and the steps behind it do nothing             */
    int64_t top_k;      /* 0: all                                                               */
    double top_p;       /* 1: all                                                               */
    double min_p;       /* 0: all                                                               */
    double repetition_penalty; /* from 1e-6 to 1e6; 1: none                                     */
    int64_t max_tokens; /* most tokens of a text, its end included                              */
    int64_t batch_size; /* texts written together; changes nothing but time and memory          */
    int64_t seed;       /* text i draws by stream first_number + i of it, so that the results do
                           not depend on how prompts are divided into calls                     */
    bool begin; /* a prompt of text is read behind the token that begins a document; prompts of ids
                   are taken as they are                                                        */
    int64_t first_number;
    int32_t end_id;          /* ends a text; -1: none does */
    rgm_generate_stop *stop; /* NULL: nothing else ends it */
    void *payload;
    bool scored; /* rgm_generated.log_probability is computed, too */
} rgm_generate_options;
#define RGM_GENERATE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .temperature = 1, .top_p = 1, .repetition_penalty = 1, .max_tokens = 128,                  \
        .batch_size = 32, .begin = true, .end_id = -1                                              \
    }
extern const rgm_field rgm_generate_fields[];

/* ---- the next token -------------------------------------------------------------------------- */

/** Memory for draws from one vocabulary; one thread at a time uses it. */
typedef struct rgm_token_sampler rgm_token_sampler;
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_token_sampler_create(rgm_token_sampler **out, int64_t vocabulary);
void rgm_token_sampler_release(rgm_token_sampler *sampler);
/**
 * Draw a token.
 *
 * @param logits  [in] [vocabulary]
 * @param before  [in] [count] the tokens of prompt and text, for the repetition penalty
 * @param draw    [in] in [0, 1): where in the probabilities, in the order of the ids
 *
 * Errors: RGM_ERR_NUMERIC (a logit is NaN, or none is finite).
 */
rgm_status rgm_token_sampler_draw(int32_t *out, rgm_token_sampler *sampler, const float *logits,
                                  const rgm_generate_options *options, const int32_t *before,
                                  int64_t count, double draw);

/* ---- texts of tokens ------------------------------------------------------------------------- */

/** Why a text ends. */
typedef enum rgm_generate_end {
    RGM_GENERATED_END,   /* the model wrote end_id, which is not in the ids  */
    RGM_GENERATED_STOP,  /* options.stop said so                             */
    RGM_GENERATED_LENGTH /* max_tokens, or the model's max_positions         */
} rgm_generate_end;
typedef struct rgm_generated {
    int32_t *ids; /* without the prompt */
    int64_t count;
    rgm_generate_end end;
    double log_probability; /* with options.scored: of all tokens that were drawn, end_id too, in
                               nats, by the model's own logits, before penalty and temperature */
} rgm_generated;
void rgm_generated_clear(rgm_generated *texts, int64_t count);
/**
 * Write a text behind each prompt. The text of a prompt is the same beside any other prompts, in
 * any batch_size and on any number of threads. A prompt that leaves no room gives an empty text
 * that ends by RGM_GENERATED_LENGTH.
 *
 * @param out      [out] [count]; the caller clears them. After an error there is nothing to clear
 * @param writer   [in] without rows
 * @param prompts  [in] of one token at least each
 *
 * Errors: RGM_ERR_CONFIG (an option outside its bounds), RGM_ERR_DATA (a prompt that is empty, has
 * an id outside the vocabulary or is longer than max_positions), RGM_ERR_NUMERIC, RGM_ERR_NOMEM,
 * RGM_ERR_IO (the device is lost), those of stop.
 */
rgm_status rgm_generate(rgm_generated *out, rgm_token_writer *writer, const rgm_decoder *model,
                        const int32_t *const *prompts, const int64_t *lengths, int64_t count,
                        const rgm_generate_options *options);

/* ---- texts that come and go ------------------------------------------------------------------ */

/** The most tokens of prompts that are read between two tokens of a text: more prompts wait for the
 * next step. One prompt alone may have more. */
enum { RGM_GENERATION_READS = 1024 };
/**
 * Texts that are written together and need not begin together: each joins between two steps and
 * leaves when it has ended. A text has the same tokens beside any others.
 *
 *     rgm_generation_create(&g, writer, &model, 32);
 *     rgm_generation_join(g, prompt, length, &options, number, mine);        at any time
 *     while (rgm_generation_count(g) > 0) {
 *         rgm_generation_step(g);
 *         while (rgm_generation_take(&text, &mine, g)) ...
 *     }
 */
typedef struct rgm_generation rgm_generation;
/**
 * @param writer  [in] without rows; borrowed, and nobody else's as long as this is there
 * @param most    [in] texts written together, at least 1; more wait for a place
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_generation_create(rgm_generation **out, rgm_token_writer *writer,
                                 const rgm_decoder *model, int64_t most);
/** Whatever is being written is lost; the writer has no rows then. */
void rgm_generation_release(rgm_generation *generation);
/**
 * A text joins; it is begun by one of the next steps.
 *
 * @param prompt   [in] [length] copied; one token at least
 * @param options  [in] of this text, copied; batch_size says nothing
 * @param number   [in] the text draws by stream first_number + number, and stop is told it
 * @param mine     [in] what rgm_generation_take() gives with it
 *
 * Errors: RGM_ERR_CONFIG, RGM_ERR_DATA as rgm_generate()'s, RGM_ERR_NOMEM: no text has joined.
 */
rgm_status rgm_generation_join(rgm_generation *generation, const int32_t *prompt, int64_t length,
                               const rgm_generate_options *options, int64_t number, void *mine);
/** Texts that have joined and were not taken. */
int64_t rgm_generation_count(const rgm_generation *generation);
/**
 * One token more for every text that has begun; then those that wait begin with their first token,
 * as many as there are places for and RGM_GENERATION_READS allows.
 *
 * Errors: RGM_ERR_NUMERIC, RGM_ERR_NOMEM, RGM_ERR_IO, those of stop. All texts are gone then.
 */
rgm_status rgm_generation_step(rgm_generation *generation);
/** All texts leave; what they were is lost. */
void rgm_generation_clear(rgm_generation *generation);
/** Take a text that has ended, in the order in which they ended; false: none has. The caller clears
 * *out, and `mine` is that of its join. */
bool rgm_generation_take(rgm_generated *out, void **mine, rgm_generation *generation);

#ifdef __cplusplus
}
#endif
#endif

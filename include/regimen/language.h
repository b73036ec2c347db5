/*
 * language: the task that trains a language model (sequence_decoder.h) on text, scores text with
 * it, writes text with it and exports it.
 *
 *     regimen run tiny_lm --run-dir runs/lm          train, validate by bits per byte, test
 *     regimen generate runs/lm --prompt "A man in"   a text
 *     regimen predict runs/lm --input lines.txt      the log-probability of each line
 *
 * A run's export {type: predictor} is taken in its place. Programs let texts join and grow token by
 * token with rgm_predictor_join() (controller_run.h).
 */
#ifndef REGIMEN_LANGUAGE_H
#define REGIMEN_LANGUAGE_H

#include <regimen/controller_run.h>
#include <regimen/sequence_generate.h>
#include <regimen/sequence_names.h>
#include <regimen/text_tokens.h>
#include <regimen/train_teachers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the task -------------------------------------------------------------------------------- */

/** The `data:` and `task:` keys of the task type "language model". */
typedef struct rgm_language_options {
    const char *path;             /* data: folder of the files                                    */
    rgm_texts train, valid, test; /* text files, plain or gzip, whose names may be patterns; or one
                                     token file of rgm_tokens_save() each                         */
    rgm_lists valid_sets, test_sets; /* more sets to evaluate on: valid_<name>.bits_per_byte      */
    rgm_documents documents;         /* what in a text file is a document                         */
    const char *tokenizer;           /* a SentencePiece model or a tokenizer.json                 */
    rgm_tokenizer_options train_tokenizer; /* instead of a file: train one on the training files;
                                              vocab_size 0: no */
    rgm_packing packing;
    int64_t block_length; /* tokens of a block; longer documents are cut into several            */
    int64_t batch_tokens; /* of a batch: blocks * block_length                                   */
    double label_smoothing;        /* task */
    rgm_lora_options lora;         /* low-rank adapters of weights that stay                      */
    rgm_generate_options generate; /* how texts are written */
    rgm_distillation_options
        distillation;      /* teachers, of which only the names are read from keys                */
    rgm_teachers teachers; /* no key: those names' models, of rgm_language_model; borrowed until the
                              model is built. None: nobody teaches                                */
    const char *run_dir;   /* no key: the folder of a run that has begun                  */
    bool trained; /* true: use the run's tokenizer; false: only the one it trained                */
    bool served;  /* no key: it is asked alone, and there are no files of data                    */
} rgm_language_options;

/**
 * Tokens from the tokens before them, by a Transformer's decoder (`model.type`
 * decoder_transformer). The loss is the mean over the tokens of a batch of their negative
 * log-probability; it is exact however an update is divided into batches. The task also computes
 * "perplexity" per token, "token_accuracy" and "bits_per_byte": the negative log-probability in
 * bits over the bytes of the text, where each document's end counts as one byte, as the line feed
 * that it stands for. So it compares models with different tokenizers.
 *
 * A batch is that of rgm_token_blocks(). With packing `stream` a token sees all that is before it
 * in its block, with `documents` only what is of its document. The user may provide training
 * batches of that form (rgm_trainer_setup.train_dataset).
 *
 * The task reads the tokenizer when it is created, and a part of the data when the batches of that
 * part are first requested. The tokenizer is the task's file: "tokenizer.model", or
 * "tokenizer.json" if it is one.
 */
extern const rgm_task_type rgm_language_model;
/** options: rgm_language_options. */
void rgm_language_defaults(void *options);
/**
 * Create the task from C; rgm_task_release() releases it. The texts of the options are borrowed.
 *
 * Errors: RGM_ERR_CONFIG (options that contradict each other or the files), and those of reading
 * the tokenizer.
 */
rgm_status rgm_language_create(rgm_task *out, const rgm_language_options *options,
                               const rgm_decoder_options *model, uint64_t seed, int threads);

/* ---- other programs' weights ------------------------------------------------------------------
 */

/** What Transformers calls the weights of models with GPT-2's blocks (GPT2LMHeadModel), and of
 * those with Llama's (LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM); each ended by {0}.
 */
extern const rgm_weight_name rgm_language_gpt2_names[], rgm_language_llama_names[];

/* ---- texts ----------------------------------------------------------------------------------- */

/** A text that was written behind a prompt. */
typedef struct rgm_language_text {
    char *text; /* owned; without the prompt, and without the stop string that ended it */
    int64_t size;
    int64_t tokens;         /* that were written */
    rgm_generate_end end;   /* why it ends */
    double log_probability; /* with options.scored: of the tokens, its end's too, in nats, as
                               rgm_generated has it; else 0 */
    char
        *error; /* owned; why there is no text: what is wrong with the prompt. NULL: there is one */
} rgm_language_text;
void rgm_language_texts_clear(rgm_language_text *texts, int64_t count);
/** task.generate of a task that rgm_language_model made. */
const rgm_generate_options *rgm_language_generating(const rgm_task *task);
/**
 * Write a text behind each prompt with the given weights. A prompt may be empty: a document from
 * its beginning; without options->begin it may not. A text ends where the model ends the document,
 * before the first of the stop strings, or by its length. A prompt that cannot be read (empty, more
 * than max_positions tokens, or not encodable) has an error in the place of its text, and harms no
 * other.
 *
 * @param out     [out] [count]; the caller clears them
 * @param stops   [in] texts that end a text; count 0: none
 * @param device  [in] as in rgm_token_writer_create(), and bf16
 *
 * Errors: RGM_ERR_CONFIG (options), RGM_ERR_NUMERIC, RGM_ERR_NOMEM, RGM_ERR_IO, as
 * rgm_generate()'s.
 */
rgm_status rgm_language_write(rgm_language_text *out, const rgm_task *task,
                              const rgm_parameters *parameters, const rgm_str *prompts,
                              int64_t count, const rgm_generate_options *options,
                              const rgm_texts *stops, rgm_device *device, bool bf16);

#ifdef __cplusplus
}
#endif
#endif

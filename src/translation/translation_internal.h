/* What the files of the translation task share: its data as tokens, and the scoring of
 * translations.
 */
#ifndef RGM_TRANSLATION_INTERNAL_H
#define RGM_TRANSLATION_INTERNAL_H

#include <regimen/translation.h>

/** What training data are made of: `train`, then train_sets. */
typedef struct rgmi_source {
    const char *name; /* "train", "news" */
    int64_t pairs;
    double times; /* that a pair stands in an epoch, in the mean */
} rgmi_source;

/** One part of the data; pairs NULL: there is none. */
typedef struct rgmi_translation_part {
    rgm_corpus *corpus; /* NULL when the pairs were made by a formula, and when training draws no
                           segmentations. Its sources are without factors */
    rgm_token_pairs *pairs;
    rgm_ids words;         /* factors of the words of all sources, until there are pairs */
    int32_t *factors;      /* [tokens of all sources, data.factors]; NULL: there are none */
    int64_t *factor_begin; /* [pairs + 1] of each source among these tokens               */
} rgmi_translation_part;

/** A value of a factor. */
typedef struct rgmi_factor_value {
    rgm_str text;   /* borrowed */
    int32_t number; /* from 1: those of the first factor, then those of the next */
} rgmi_factor_value;
/** What data.factors say; begins as {0}. */
typedef struct rgmi_factors {
    const rgm_lists *lists;    /* borrowed */
    int64_t count, values;     /* factors of a word; values of all of them */
    rgmi_factor_value *sorted; /* [values] factor by factor                */
    int64_t capacity;
    rgm_text form; /* "|case|pos", for messages                         */
    rgm_text file; /* what a run keeps of them: a line for each factor  */
} rgmi_factors;

/** Parts: those of the modes, then valid_sets and test_sets. */
enum { RGMI_PARTS = RGM_TEST + 1 + RGM_MAX_EVAL_SETS };

/** Where a side's tokenizer was read; vocabulary NULL: it has none. */
typedef struct rgmi_side_paths {
    char *tokenizer, *vocabulary;
} rgmi_side_paths;

/** Given alignments of the first pairs of what is trained on, in pieces; begins as {0}. */
typedef struct rgmi_link {
    int32_t source, target;
} rgmi_link;
typedef struct rgmi_guides {
    rgmi_link *links;
    int64_t *ends; /* [pairs] of each pair's links */
    int64_t link_count, link_capacity, pairs, end_capacity;
    int64_t left_out; /* pairs whose words the tokenizer does not have as spaces have them */
} rgmi_guides;

/** What targets of a set begin with. */
typedef struct rgmi_set_tag {
    const char *set; /* borrowed */
    int32_t id;
} rgmi_set_tag;

/** What completes the batches of a part. */
typedef struct rgmi_batches_of {
    const struct rgmi_translation_data *data;
    int part;
} rgmi_batches_of;

typedef struct rgmi_translation_data {
    const rgm_translation_options *options; /* borrowed */
    uint64_t seed;
    int threads;
    rgm_tokenizer *source, *target;             /* NULL with made pairs                 */
    rgmi_side_paths source_paths, target_paths; /* the target's are NULL without files of its own */
    int64_t source_vocabulary, target_vocabulary;
    int32_t end_id;
    int32_t source_tag;     /* what each source begins with; -1: nothing   */
    int32_t target_tag;     /* what each target begins with, 0 without a tag; .. */
    rgmi_set_tag *set_tags; /* .. those of sets that have another one           */
    int64_t set_tag_count;
    rgmi_factors factors;
    rgmi_translation_part parts[RGMI_PARTS]; /* read when batches of them are first asked for */
    rgmi_source *sources;                    /* of the training part, once it is read         */
    int64_t source_count;
    rgmi_guides guides; /* of the training part, where alignments are taught */
    rgmi_batches_of batches_of[RGMI_PARTS];
    rgm_token_batch_figures figures[RGMI_PARTS]; /* once a part's batches were asked for */
} rgmi_translation_data;
/** Read the tokenizers. The readers' errors, RGM_ERR_DATA (a tokenizer whose padding is not 0). */
rgm_status rgmi_translation_data_open(rgmi_translation_data *out,
                                      const rgm_translation_options *options, uint64_t seed,
                                      int threads);
void rgmi_translation_data_clear(rgmi_translation_data *data);
/** Tokens before a source's own: 0, or 1 with a tag. */
static inline int64_t rgmi_source_begin(const rgmi_translation_data *data)
{
    return data->source_tag >= 0;
}
/** What a source ends with; a target ends with end_id. */
int32_t rgmi_source_end(const rgmi_translation_data *data);
/** What the decoder reads before the target of a pair: 0 or a tag. */
int32_t rgmi_target_begin(const rgmi_translation_data *data, int part, int64_t pair);
/** The id of a piece that may stand there; -1: there is none. */
int32_t rgmi_find_tag(const rgm_tokenizer *tokenizer, const char *piece);
/** Whether sources and targets begin with the same. */
bool rgmi_same_tags(const rgmi_translation_data *a, const rgmi_translation_data *b);
/** The part of a set of rgm_task.eval_sets, and the sets themselves. */
static inline int rgmi_part_of_set(int64_t set)
{
    return RGM_TEST + 1 + (int)set;
}
void rgmi_translation_eval_sets(rgm_eval_set *out, int64_t *count,
                                const rgm_translation_options *options);
/** RGM_ERR_CONFIG: sets and weights that contradict each other. */
rgm_status rgmi_translation_check_sets(const rgm_translation_options *options);
/** Have a part's text, unless it is there; its corpus stays NULL when there is no such part. */
rgm_status rgmi_translation_text(rgmi_translation_data *data, int part);
/** A failure with the key of a part's files before it. */
rgm_status rgmi_part_error(rgm_status status, const rgm_translation_options *options, int part);
/** The tokenizers' files: rgm_task.files. */
void rgmi_translation_files(rgm_task_file *out, int64_t *count, const rgmi_translation_data *data);

/** rgm_task.match_rows: tables by piece. */
rgm_status rgmi_translation_match_rows(int64_t *from, bool *known, const char *parameter,
                                       int64_t rows, const char *run, void *state);
/** Those of a side, by name; NULL: there is none. */
typedef struct rgmi_side_names {
    const char *tokenizer, *vocabulary;
} rgmi_side_names;
rgmi_side_names rgmi_translation_names(const rgmi_translation_data *data, bool is_target);

/** Tensors of a batch. */
enum {
    RGMI_SOURCE,           /* i64 [b, s]                                             */
    RGMI_TARGET,           /* i64 [b, t]: what the decoder reads, 0 and then the labels */
    RGMI_LABELS,           /* i64 [b, t]                                             */
    RGMI_SOURCE_POSITIONS, /* i64 [s]                                                */
    RGMI_TARGET_POSITIONS, /* i64 [t]                                                */
    RGMI_PAIRS,            /* i64 [b] numbers of the pairs                           */
    RGMI_BATCH_TENSORS,
    /* Behind them i64 [b, s, data.factors], where there are factors, and then f32 [b, t, s], where
     * alignments are taught. */
    RGMI_MOST_TENSORS = RGMI_BATCH_TENSORS + 2
};
/** Inputs of the model: tensors of a batch up to RGMI_TARGET_POSITIONS, then factors (NULL: it has
 * none). */
enum { RGMI_FACTORS = RGMI_TARGET_POSITIONS + 1, RGMI_INPUTS };
/** Read or make the part unless it is there; *out is NULL when there is no such part. */
rgm_status rgmi_translation_batches(rgm_dataset **out, rgmi_translation_data *data, int part);

/** Tokens as text, in the place of what `out` had; tokenizer NULL: their numbers. */
rgm_status rgmi_write_text(rgm_text *out, const rgm_tokenizer *tokenizer, const int32_t *ids,
                           int64_t count);

/** RGM_ERR_CONFIG: a metric that there is not. */
rgm_status rgmi_scores_check(const rgm_score_options *options);
/** What scores there will be: names [RGMI_MOST_SCORES], ended by NULL. */
#define RGMI_MOST_SCORES 18
void rgmi_scores_names(const char **names, const rgm_score_options *options);
/** Statistics of a pass over a part. */
typedef struct rgmi_translation_scores rgmi_translation_scores;
rgm_status rgmi_scores_create(rgmi_translation_scores **out, const rgm_score_options *options);
void rgmi_scores_release(rgmi_translation_scores *scores);
/** Judge the translations of the pairs with those numbers by their references. */
rgm_status rgmi_scores_add(rgmi_translation_scores *scores, const rgmi_translation_data *data,
                           int part, const int64_t *pairs, const rgm_hypotheses *translations,
                           int64_t count);
/** Append as bytes for a machine of this kind; and take them from the front of `bytes`.
 * RGM_ERR_FORMAT: they are not of the same scores. */
rgm_status rgmi_scores_save(rgm_text *out, const rgmi_translation_scores *scores);
rgm_status rgmi_scores_load(rgmi_translation_scores *scores, rgm_str *bytes);
/** Add what another has judged by the same scores. RGM_ERR_ARG: by others. */
rgm_status rgmi_scores_merge(rgmi_translation_scores *to, const rgmi_translation_scores *from);
/** Set them by their names. */
rgm_status rgmi_scores_result(rgm_logs *logs, const rgmi_translation_scores *scores);

/** Translations for a person to read: `count` of a part's pairs, evenly over all of them. options:
 * how BLEU and chrF of each are taken. */
typedef struct rgmi_samples rgmi_samples;
rgm_status rgmi_samples_create(rgmi_samples **out, int64_t count, int64_t pairs,
                               const rgm_score_options *options);
void rgmi_samples_release(rgmi_samples *samples);
/** Those of the pairs with these numbers that are samples. */
rgm_status rgmi_samples_add(rgmi_samples *samples, const rgmi_translation_data *data, int part,
                            const int64_t *pairs, const rgm_hypotheses *translations,
                            int64_t count);
/** Take those that another has of the same pairs. RGM_ERR_NOMEM. */
rgm_status rgmi_samples_merge(rgmi_samples *to, const rgmi_samples *from);
/** Append as bytes for a machine of this kind; and take them from the front of `bytes` into samples
 * of the same part. RGM_ERR_FORMAT: damaged. */
rgm_status rgmi_samples_save(rgm_text *out, const rgmi_samples *samples);
rgm_status rgmi_samples_load(rgmi_samples *samples, rgm_str *bytes);
/** Take `size` bytes from the front; false: there are fewer. */
bool rgmi_take_bytes(void *out, int64_t size, rgm_str *bytes);
/** As texts of the logs, "pair_17", and as their samples. */
rgm_status rgmi_samples_result(rgm_logs *logs, const rgmi_samples *samples);

/** The pairs of a part, read unless they are there, borrowed; *out is NULL when there is no such
 * part. */
rgm_status rgmi_translation_pairs(const rgm_token_pairs **out, rgmi_translation_data *data,
                                  int part);

/* ---- translation_guides.c: alignments that are taught ---- */

void rgmi_guides_clear(rgmi_guides *guides);
/** A link of the next pair's pieces; and the pair's end. */
rgm_status rgmi_guides_link(rgmi_guides *guides, int64_t source, int64_t target);
rgm_status rgmi_guides_close_pair(rgmi_guides *guides);
/** Those of data.alignments, while text and tokens of the training part are there. RGM_ERR_FORMAT,
 * RGM_ERR_DATA: with file and line. */
rgm_status rgmi_guides_load(rgmi_guides *guides, const rgmi_translation_data *data);
/** Those of a batch's pairs, RGMI_ALIGNMENT. RGM_ERR_NOMEM. */
rgm_status rgmi_guides_batch(rgm_tensor **out, const rgmi_guides *guides, const rgm_tensor *source,
                             const rgm_tensor *labels, const rgm_tensor *pairs);

/* ---- translation_factors.c: what stands beside words ---- */

bool rgmi_is_space(char c);
/** Take the next word between spaces from the front of `rest`; false: there is none. */
bool rgmi_next_word(rgm_str *word, rgm_str *rest);
int64_t rgmi_count_words(rgm_str text);
/** A text between double quotes, as YAML reads it. */
rgm_status rgmi_write_quoted(rgm_text *out, const char *text);

/** RGM_ERR_CONFIG: names or values that cannot stand behind a word, or twice. Nothing needs
 * clearing then. */
rgm_status rgmi_factors_open(rgmi_factors *out, const rgm_lists *lists);
void rgmi_factors_clear(rgmi_factors *factors);
/** As YAML, a line for each. */
rgm_status rgmi_factors_write(rgm_text *out, const rgmi_factors *factors, const char *indent);
bool rgmi_same_factors(const rgmi_factors *a, const rgmi_factors *b);
/** "a|lower|DET dog|lower|NOUN" to "a dog", in the place of what `plain` had, and the words'
 * values, which are appended. RGM_ERR_DATA. */
rgm_status rgmi_factors_split(rgm_text *plain, rgm_ids *values, const rgmi_factors *factors,
                              rgm_str line);
/** The same of columns [count] of their own, lines of files. RGM_ERR_DATA, with file and line. */
rgm_status rgmi_factors_beside(rgm_ids *values, const rgmi_factors *factors, rgm_str source,
                               const rgm_str *columns, const char *const *paths, int64_t line);
/**
 * Words' values to those of its pieces; a tag and the end have none.
 *
 * @param out     [out] [count, factors]
 * @param text    [in] without factors, from which the ids [count] were made
 * @param values  [in] of its words
 *
 * Errors: RGM_ERR_DATA (the tokenizer's words cannot be told), RGM_ERR_NOMEM.
 */
rgm_status rgmi_factors_place(int32_t *out, const rgmi_translation_data *data, rgm_str text,
                              const int32_t *values, const int32_t *ids, int64_t count);
/** Those of all pairs, while text and words of the part are there. */
rgm_status rgmi_factors_of_part(rgmi_translation_part *part, const rgmi_translation_data *data);
/** Those of a pair's source, [its tokens, factors]. */
const int32_t *rgmi_factors_of(const rgmi_translation_data *data, int part, int64_t pair);
/** Those of a batch's pairs, one for each row of its source [b, s]; -1: a row without one.
 * RGM_ERR_NOMEM, RGM_ERR_DATA (a drawn segmentation has other words than the usual one). */
rgm_status rgmi_factors_batch(rgm_tensor **out, const rgmi_translation_data *data, int part,
                              const rgm_tensor *source, const int64_t *pairs);

/* ---- translation_search.c ---- */

/** Translate the pairs with those numbers of a part that is read; as rgm_beam_search_run(). */
rgm_status rgmi_translate_pairs(rgm_hypotheses *out, rgm_beam_search *beam_search,
                                const rgm_beam_search_options *options,
                                const rgmi_translation_data *data, int part, const int64_t *pairs,
                                int64_t count);

/* ---- the task's state ---- */

typedef struct rgmi_translation_task {
    rgm_translation_options options; /* texts are the caller's */
    rgmi_translation_data data;
    rgm_seq2seq model;
    const char *score_names[RGMI_MOST_SCORES];
    rgm_value *inputs[RGMI_INPUTS];   /* of the model, by RGMI_SOURCE ..    */
    rgm_value *alignment;             /* its input for alignments; or NULL  */
    rgm_shortlist *shortlist;         /* of data.shortlist; NULL: none      */
    rgm_beam_search *beam_search;     /* made at the first translation ..   */
    rgm_pair_scorer *aligner;         /* .. at the first that is aligned ..  */
    rgm_attention_place aligned_by;   /* .. by this attention               */
    const rgm_parameters *parameters; /* .. with these                      */
    rgm_device *device;               /* .. there                           */
    bool bf16;                        /* .. in this                         */
    struct rgmi_translation_task *joined[RGM_MOST_MODELS - 1]; /* translate beside it: borrowed, */
    const rgm_parameters *joined_parameters[RGM_MOST_MODELS - 1]; /* .. with these              */
    int64_t joined_count;
    bool owns_teachers; /* of the options: they were opened by their names */
} rgmi_translation_task;
/** Have the search for those weights, of this model alone. */
rgm_status rgmi_translation_ready(rgmi_translation_task *task, const rgm_parameters *parameters,
                                  rgm_device *device, bool bf16);
/** Release what translates: it is made again when it is needed. */
void rgmi_translation_rest(rgmi_translation_task *task);

/** Whether ids mean the same pieces to both. */
bool rgmi_same_tokenizers(const rgmi_translation_task *a, const rgmi_translation_task *b);

/** inputs [RGMI_INPUTS] of the model, named after the tensors of a batch. */
void rgmi_translation_inputs(rgm_value **inputs, rgm_cgraph *graph, const rgm_seq2seq *model);
/** What the decoder says of every label of them: logits [pairs target_length, padded]. */
rgm_value *rgmi_translation_logits(rgm_scope *scope, const rgm_seq2seq *model, rgm_value **inputs);
/* ---- translation_read.c: texts to tokens ---- */

/** Tokens of a text without an end: by the tokenizer, or numbers where there is none. */
rgm_status rgmi_read_tokens(rgm_ids *ids, const rgm_tokenizer *tokenizer, rgm_str text,
                            int64_t vocabulary);
/** Tokens of sources one behind the other, and data.factors of each; begins as {0}. */
typedef struct rgmi_source_tokens {
    rgm_ids ids, factors;
} rgmi_source_tokens;
void rgmi_source_tokens_clear(rgmi_source_tokens *tokens);
/** Lines in tokens; begins as {0}. */
typedef struct rgmi_line_tokens {
    rgmi_source_tokens tokens;
    int64_t *begin;        /* [count + 1] of each line's source in them     */
    int32_t *target_begin; /* [count] what each line's target begins with   */
    int64_t count;         /* lines that were read                          */
} rgmi_line_tokens;
/** Append those of a source with their end; none for a text without tokens. RGM_ERR_DATA: too many
 * for the model; words without their factors. */
rgm_status rgmi_read_source(rgmi_source_tokens *out, const rgmi_translation_task *task,
                            rgm_str text);

/* ---- translation_requests.c: what is asked of translations, in tokens ---- */

/** Requests of lines; begins as {0}. */
typedef struct rgmi_requests {
    rgm_ids ids;   /* of all lists, one behind the other */
    int64_t *ends; /* of each list in them               */
    int64_t list_count, end_capacity;
    rgm_token_list *lists;     /* once they are closed          */
    rgm_target_request *items; /* one for each line; before that only their counts stand in them */
    int64_t count, capacity;
    bool any; /* a line asks for something */
} rgmi_requests;
/** Add those of a line, whose translation has `most` tokens at most. RGM_ERR_DATA: a text without
 * tokens, with more of them than that, with an end or with a piece that the tokenizer does not
 * know. */
rgm_status rgmi_requests_add(rgmi_requests *requests, const rgmi_translation_task *task,
                             const rgm_translation_line *line, int64_t most);
/** After the last line: items are whole. */
rgm_status rgmi_requests_close(rgmi_requests *requests);
void rgmi_requests_clear(rgmi_requests *requests);

/* ---- translation_pairs.c: given pairs ---- */

/** Pairs in tokens; begins as {0}. */
typedef struct rgmi_pair_tokens {
    rgmi_source_tokens tokens; /* of both sides; factors are of the sources alone */
    int64_t *factor_begin;     /* [count] in these */
    int32_t *begins;           /* [count] what their targets begin with */
    int64_t *ends; /* of sides: source 0, target 0, source 1, .. in the ids                    */
    const rgm_alignment_options **alignments; /* [count] borrowed; NULL: that pair is not aligned */
    int64_t count, end_capacity, capacity, factor_capacity, begin_capacity;
} rgmi_pair_tokens;
/** A pair that is in tokens already; borrowed. */
typedef struct rgmi_token_pair {
    rgm_token_list source; /* with its end, and a tag where there is one */
    rgm_token_list factors;
    rgm_token_list target;
    int32_t target_begin; /* what the decoder reads before the target */
    const rgm_alignment_options *alignment;
} rgmi_token_pair;
rgm_status rgmi_pair_tokens_add(rgmi_pair_tokens *pairs, const rgmi_token_pair *pair);
void rgmi_pair_tokens_clear(rgmi_pair_tokens *pairs);
/** Make a scorer that can align by what `place` says; as rgm_pair_scorer_create(). */
rgm_status rgmi_pair_scorer_create(rgm_pair_scorer **out, const rgmi_translation_task *task,
                                   const rgm_parameters *parameters,
                                   const rgm_attention_place *place, rgm_device *device, bool bf16);
/** out [pairs->count]; nothing needs clearing after an error. RGM_ERR_NOMEM, RGM_ERR_IO. */
rgm_status rgmi_pair_scorer_tokens(rgm_pair_score *out, rgm_pair_scorer *scorer,
                                   const rgmi_pair_tokens *pairs);

/* ---- translation_alignment.c ---- */

/** Links of a target's tokens, without its end, to a source's, by weights [target.count,
 * source.count]; source counts its end and a tag. */
rgm_status rgmi_alignment_write(char **out, const rgmi_translation_task *task,
                                const rgm_token_list *source, const rgm_token_list *target,
                                const float *weights, const rgm_alignment_options *options);
/* ---- translation_aligned.c ---- */

/** Align the translations of lines by the weights that they were made with: out [read->count,
 * n_best], of made [read->count]. */
rgm_status rgmi_align_lines(rgm_line_translation *out, rgmi_translation_task *task,
                            const rgm_translation_line *lines, const rgm_hypotheses *made,
                            const rgmi_line_tokens *read, const rgm_beam_search_options *search);

/* ---- translation_serving.c: asked without its run ---- */

/** Names of files in an export's folder. */
extern const char rgmi_target_tokenizer_file[], rgmi_shortlist_file[], rgmi_factors_file[];
extern const char rgmi_vocabulary_file[], rgmi_target_vocabulary_file[];
/** rgm_task.save_serving and judge_int8 */
rgm_status rgmi_translation_save_serving(rgm_text *data, const char *folder, void *state);
rgm_status rgmi_translation_judge_int8(rgm_text *out, const rgm_parameters *parameters,
                                       void *state);

/* ---- translation_ctranslate2.c ---- */

/** rgm_task_format.save and check; RGM_ERR_UNSUPPORTED: what CTranslate2 cannot say. */
extern const char rgmi_ctranslate2_file[];
rgm_status rgmi_translation_save_ctranslate2(const char *folder, const rgm_parameters *parameters,
                                             void *state);
rgm_status rgmi_translation_check_ctranslate2(const rgm_parameters *parameters, void *state);

/* ---- translation_huggingface.c ---- */

/** The same of a folder of MarianMT. */
extern const char rgmi_huggingface_file[];
rgm_status rgmi_translation_save_huggingface(const char *folder, const rgm_parameters *parameters,
                                             void *state);
rgm_status rgmi_translation_check_huggingface(const rgm_parameters *parameters, void *state);

/* ---- asking ---- */

/** What is wished of a line, whose text stands beside it. Errors: RGM_ERR_FORMAT, RGM_ERR_DATA,
 * RGM_ERR_NOMEM. */
rgm_status rgmi_translation_wish_read(rgm_translation_request *out, const char *json, rgm_str line);
/** rgm_task.answer_lines, with the search of `task.search`; its outputs. */
rgm_status rgmi_translation_answer(rgm_answers *out, void *state, const rgm_asked_with *with,
                                   const rgm_questions *questions);
extern const rgm_export_output rgmi_translation_outputs[];

/* ---- export ---- */

/** What is exported: the encoder and a step of the decoder, in one compute graph. */
typedef struct rgmi_translation_graphs {
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_seq2seq_source encoder;
    rgm_seq2seq_step step;
    int64_t caches; /* keys and values of all layers */
} rgmi_translation_graphs;
rgm_status rgmi_translation_graphs_open(rgmi_translation_graphs *out, const rgm_seq2seq *model);
void rgmi_translation_graphs_clear(rgmi_translation_graphs *graphs);

/** Names of the files, in the export's folder. */
extern const char rgmi_description_file[], rgmi_encoder_file[], rgmi_decoder_step_file[];
/** rgm_task_export.save: "translation.json" and the two files that it speaks of. */
rgm_status rgmi_translation_save(const char *folder, const rgm_parameters *parameters, void *state);
/** rgm_task_export.check */
rgm_status rgmi_translation_check_export(const rgm_parameters *parameters, void *state);
/** rgm_task_export.verify, with two sentences and two beams of each in a batch. */
rgm_status rgmi_translation_verify(rgm_export_check *check, const char *folder,
                                   const rgm_parameters *parameters, rgm_mode mode,
                                   int64_t max_batches, void *state);

#endif

/*
 * "translation": sentences to sentences with the Transformer. The trainer's default steps do the
 * training; validation translates each batch beside its loss and judges the whole set at the end.
 */
#include <string.h>

#include "translation_internal.h"

/* ---- options ------------------------------------------------------------------------------- */

#define RGM_OPTIONS         rgm_reverse_options
#define COUNT(member, text) RGM_INT_FIELD(member, 0, 1e9, text)
static const rgm_field reverse_fields[] = {
    COUNT(vocabulary, "different tokens, padding and end among them; 0: the data are files"),
    COUNT(min_length, "tokens of the shortest sequence"),
    COUNT(max_length, "tokens of the longest sequence"),
    COUNT(train, "pairs to train on"),
    COUNT(valid, "pairs to validate on"),
    COUNT(test, "pairs to test on"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_tokenizer_options
static const rgm_field tokenizer_fields[] = {
    RGM_INT_FIELD(vocab_size, 0, 1e7, "pieces in all; 0: none is trained"),
    RGM_CHOICE_FIELD(type, rgm_tokenizer_kind_names, "kind of the SentencePiece model"),
    RGM_FLOAT_FIELD(coverage, RGM_ABOVE_0, 1, "share of the text whose characters get pieces"),
    RGM_INT_FIELD(sentences, 0, 1e12, "trained on that many, drawn from all; 0: on all"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_translation_options
static const rgm_field data_fields[] = {
    RGM_TEXT_FIELD(path, "folder of the files; a name that begins with / stands for itself"),
    RGM_TEXTS_FIELD(
        train,
        "[source, target]: files aligned line by line; or one file of lines 'source TAB target'"),
    RGM_TEXTS_FIELD(valid, "the same to validate on"),
    RGM_TEXTS_FIELD(test, "the same to test on"),
    RGM_TEXT_FIELD(
        src_lang,
        "with TFRecord files (one pattern or name@shards each): the feature with the source's "
        "text"),
    RGM_TEXT_FIELD(tgt_lang, "with TFRecord files: the feature with the target's text"),
    RGM_TEXT_FIELD(tokenizer, "SentencePiece model of both sides, or of the source"),
    RGM_TEXT_FIELD(target_tokenizer, "SentencePiece model of the target, where it is another"),
    RGM_GROUP_FIELD(
        train_tokenizer, tokenizer_fields,
        "instead of tokenizer: one for both sides, trained on the files of train when the run "
        "begins"),
    RGM_INT_FIELD(max_length, 1, 1 << 16,
                  "longest side in tokens, its end included: longer pairs are not trained on"),
    RGM_INT_FIELD(batch_tokens, 1, 1e9,
                  "of a batch: pairs times the longer side, padding included"),
    RGM_INT_FIELD(batch_shapes, 2, 1000, "different shapes of batches; more of them pad less"),
    RGM_GROUP_FIELD(reverse, reverse_fields,
                    "instead of files: random sequences, to be written backwards"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_score_options
static const rgm_field score_fields[] = {
    RGM_TEXTS_FIELD(metrics, "of bleu, chrf, ter; ter is slow on long lines"),
    RGM_CHOICE_FIELD(tokenize, rgm_mt_tokenizer_names,
                     "words of bleu; none: at spaces, for text that is tokenized already"),
    RGM_BOOL_FIELD(lowercase, "bleu and chrf without case"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_translation_options
static const rgm_field task_fields[] = {
    RGM_FLOAT_FIELD(label_smoothing, 0, RGM_BELOW_1,
                    "part of a label's weight in the loss that is spread over the other tokens"),
    RGM_BOOL_FIELD(decode, "translate in validation: scores and exact_match beside the loss"),
    RGM_GROUP_FIELD(score, score_fields,
                    "what translations are judged by, as the flags of regimen score"),
    RGM_GROUP_FIELD(search, rgm_search_fields, "how translations are searched for"),
    {0}};
#undef RGM_OPTIONS

void rgm_translation_defaults(void *options)
{
    static const char *const metrics[] = {"bleu", "chrf"};

    *(rgm_translation_options *)options = (rgm_translation_options){
        .max_length = 64,
        .train_tokenizer = RGM_TOKENIZER_OPTIONS_INIT,
        .batch_tokens = 4096,
        .batch_shapes = 32,
        .reverse = {.min_length = 1, .max_length = 10},
        .label_smoothing = 0.1,
        .decode = true,
        .score = {.metrics = {metrics, 2}, .tokenize = RGM_MT_TOKENIZER_13A},
        .search = RGM_SEARCH_OPTIONS_INIT,
    };
    ((rgm_translation_options *)options)->train_tokenizer.vocab_size = 0;
}

static const rgm_section_type base = {
    .name = "seq2seq_transformer",
    .help = "Transformer, as base as its paper's unless the keys say otherwise",
    .options_size = sizeof(rgm_seq2seq_options),
    .defaults = rgm_seq2seq_defaults,
    .fields = rgm_seq2seq_fields,
};

static const rgm_section_type big = {
    .name = "seq2seq_transformer_big",
    .help = "the same with the paper's big sizes",
    .options_size = sizeof(rgm_seq2seq_options),
    .defaults = rgm_seq2seq_big_defaults,
    .fields = rgm_seq2seq_fields,
};

static const rgm_section_type *const models[] = {&base, &big, NULL};

static rgm_status check_reverse(const rgm_translation_options *o)
{
    const rgm_reverse_options *r = &o->reverse;

    if (o->train.count > 0 || o->valid.count > 0 || o->test.count > 0 || o->tokenizer != NULL ||
        o->target_tokenizer != NULL || o->train_tokenizer.vocab_size > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.reverse makes the pairs: data.train, valid, test and tokenizers do "
                        "not go with it");
    if (r->vocabulary < 3 || r->min_length > r->max_length || r->train < 1)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "data.reverse: a vocabulary of 3 or more (%lld), min_length (%lld) up to max_length "
            "(%lld) and pairs to train on (%lld) are needed",
            (long long)r->vocabulary, (long long)r->min_length, (long long)r->max_length,
            (long long)r->train);
    return RGM_OK;
}

static rgm_status check_tokenizers(const rgm_translation_options *o)
{
    bool trained = o->train_tokenizer.vocab_size > 0;

    if (o->tokenizer == NULL && !trained)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.tokenizer: name the SentencePiece model, or have one trained: "
                        "data.train_tokenizer.vocab_size");
    if (trained && (o->tokenizer != NULL || o->target_tokenizer != NULL))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.train_tokenizer makes the tokenizer of both sides: data.%s does "
                        "not go with it",
                        o->tokenizer != NULL ? "tokenizer" : "target_tokenizer");
    if (trained && o->train.count != 2)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.train_tokenizer needs data.train as two files of text, [source, "
                        "target]; 'regimen text train-tokenizer' makes one for data.tokenizer");
    return RGM_OK;
}

static rgm_status check_files(const rgm_translation_options *o)
{
    const rgm_texts *files[] = {&o->train, &o->valid, &o->test};
    bool records = o->src_lang != NULL;

    if (records != (o->tgt_lang != NULL))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.%s is set without data.%s: TFRecords need both, text files none",
                        records ? "src_lang" : "tgt_lang", records ? "tgt_lang" : "src_lang");
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        if (files[mode]->count > (records ? 1 : 2))
            return RGM_FAIL(
                RGM_ERR_CONFIG, "data.%s: %lld files; %s", rgm_mode_name((rgm_mode)mode),
                (long long)files[mode]->count,
                records ? "with data.src_lang it is one pattern or name@shards of TFRecord files"
                        : "they are [source, target] or one TSV");
    return RGM_OK;
}

static rgm_status check(const void *options)
{
    const rgm_translation_options *o = options;

    RGM_TRY(rgm_options_check(o, data_fields, "data"));
    RGM_TRY(rgm_options_check(o, task_fields, "task"));
    RGM_TRY(rgmi_scores_check(&o->score));
    if (o->batch_tokens < o->max_length)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.batch_tokens is %lld, below data.max_length (%lld): no batch "
                        "could hold such a pair",
                        (long long)o->batch_tokens, (long long)o->max_length);
    if (o->reverse.vocabulary > 0)
        return check_reverse(o);
    if (o->path == NULL || o->train.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.%s: name the %s", o->path == NULL ? "path" : "train",
                        o->path == NULL ? "folder of the files"
                                        : "files to train on, [source, target]");
    RGM_TRY(check_tokenizers(o));
    return check_files(o);
}

/* ---- the task ------------------------------------------------------------------------------ */

typedef rgmi_translation_task translation_task;

/* What is to be translated whole must fit into the model: better told now than by the first
 * validation. */
static rgm_status check_sources(const translation_task *t, rgm_mode mode)
{
    const rgm_token_pairs *pairs = t->data.parts[mode].pairs;
    int64_t most = t->model.options.max_positions, length;

    for (int64_t i = 0; i < rgm_token_pairs_count(pairs); i++) {
        rgm_token_pairs_source(pairs, i, &length);
        if (length > most)
            return RGM_FAIL(RGM_ERR_DATA,
                            "data.%s: the source of pair %lld has %lld tokens with its end, but "
                            "model.max_positions "
                            "is %lld: raise that, leave the pair out, or set task.decode: false",
                            rgm_mode_name(mode), (long long)i + 1, (long long)length,
                            (long long)most);
    }
    return RGM_OK;
}

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    rgm_status status = RGM_OK;
    translation_task *t = state;
    rgm_dataset *data = NULL;

    *out = NULL;
    RGM_GO(rgmi_parallel_batches(&data, &t->data, mode));
    if (data == NULL)
        return RGM_OK;
    if (mode != RGM_TRAIN && t->options.decode)
        RGM_GO(check_sources(t, mode));
    if (endless)
        RGM_GO(rgm_dataset_repeat(&data, -1));
    RGM_GO(rgm_dataset_prefetch(&data, 2));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

static rgm_status build_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    translation_task *t = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim pairs = rgm_cgraph_symbol(graph, "pairs");
    rgm_dim source = rgm_cgraph_symbol(graph, "source_length");
    rgm_dim target = rgm_cgraph_symbol(graph, "target_length");
    rgm_value **in = t->inputs, *states, *labels, *losses;
    rgm_head *head = &out->heads[0];

    in[RGMI_SOURCE] = rgm_input(graph, "source", RGM_I64, 2, (rgm_dim[]){pairs, source});
    in[RGMI_TARGET] = rgm_input(graph, "target", RGM_I64, 2, (rgm_dim[]){pairs, target});
    in[RGMI_LABELS] = rgm_input(graph, "labels", RGM_I64, 2, (rgm_dim[]){pairs, target});
    in[RGMI_SOURCE_POSITIONS] = rgm_input(graph, "source_positions", RGM_I64, 1, &source);
    in[RGMI_TARGET_POSITIONS] = rgm_input(graph, "target_positions", RGM_I64, 1, &target);
    states = rgm_seq2seq_encode(scope, &t->model, in[RGMI_SOURCE], in[RGMI_SOURCE_POSITIONS]);
    states = rgm_seq2seq_decode(scope, &t->model, in[RGMI_TARGET], in[RGMI_TARGET_POSITIONS],
                                states, in[RGMI_SOURCE]);
    labels = rgm_reshape(in[RGMI_LABELS], 1, (rgm_dim[]){RGM_INFER});
    losses = rgm_seq2seq_losses(&t->model, rgm_seq2seq_logits(scope, &t->model, states), labels,
                                t->options.label_smoothing);
    out->head_count = 1;
    /* What is fetched of each batch are the tokens' losses: logits over a vocabulary stay inside.
     */
    *head = (rgm_head){.name = "tokens", .loss_weight = 1};
    head->predictions = rgm_reshape(losses, 2, (rgm_dim[]){RGM_INFER, 1});
    head->weights = rgm_seq2seq_weights(scope, labels);
    head->loss = rgm_weighted_mean(losses, head->weights);
    return rgm_cgraph_status(graph);
}

static void files(rgm_task_file *out, int64_t *count, void *state)
{
    rgmi_parallel_files(out, count, &((const translation_task *)state)->data);
}

static rgm_status describe(rgm_text *out, void *state)
{
    const translation_task *t = state;
    const rgm_token_batch_figures *f = &t->data.figures;

    if (f->padded_tokens == 0)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, "batches of %lld tokens (%.0f%% real)",
                            (long long)t->options.batch_tokens,
                            100 * (double)f->real_tokens / (double)f->padded_tokens));
    return f->dropped == 0
               ? RGM_OK
               : rgm_text_printf(out, ", without %lld pairs longer than %lld",
                                 (long long)f->dropped, (long long)t->options.max_length);
}

static rgm_status feeds(rgm_feed *out, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch)
{
    const translation_task *t = state;

    return rgm_feed_tensors(out, capacity, count, t->inputs, RGMI_PAIRS, batch);
}

/* ---- translating in validation --------------------------------------------------------------- */

/* The pairs of a batch, whole: the batch itself may have cut them. */
static rgm_status translate_pairs(rgm_hypotheses *out, translation_task *t, rgm_mode mode,
                                  const int64_t *pairs, int64_t count)
{
    rgm_status status = RGM_OK;
    const int32_t **sources = NULL;
    int64_t *lengths = NULL;
    rgm_search_options search = t->options.search;

    search.numbers = pairs;
    RGM_GO(RGM_NEW(sources, count));
    RGM_GO(RGM_NEW(lengths, count));
    for (int64_t i = 0; i < count; i++)
        sources[i] = rgm_token_pairs_source(t->data.parts[mode].pairs, pairs[i], &lengths[i]);
    RGM_GO(rgm_translate(out, t->translator, sources, lengths, count, &search));
done:
    rgm_free(sources);
    rgm_free(lengths);
    return status;
}

static rgm_status aggregate_logs(void **aggregate, const rgm_step *step, void *state)
{
    rgm_status status = RGM_OK;
    translation_task *t = state;
    const rgm_tensor *pairs = rgm_element_tensor(step->inputs, RGMI_PAIRS);
    int64_t count = rgm_tensor_count(pairs);
    rgm_hypotheses *translations = NULL;
    rgmi_translation_scores *scores = *aggregate;

    if (step->mode == RGM_TRAIN)
        return RGM_OK; /* what was trained on is only measured by its loss: there is much of it */
    if (t->data.parts[step->mode].pairs == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "task.decode translates the %s data of the experiment; batches "
                        "from elsewhere need decode: false",
                        rgm_mode_name(step->mode));
    if (scores == NULL) {
        RGM_TRY(rgmi_scores_create(&scores, &t->options.score));
        *aggregate = scores;
    }
    RGM_TRY(rgmi_translation_ready(t, step->parameters, step->bf16));
    RGM_TRY(RGM_NEW(translations, count));
    RGM_GO(translate_pairs(translations, t, step->mode, rgm_tensor_i64(pairs), count));
    RGM_GO(
        rgmi_scores_add(scores, &t->data, step->mode, rgm_tensor_i64(pairs), translations, count));
done:
    for (int64_t i = 0; i < count; i++)
        rgm_hypotheses_clear(&translations[i]);
    rgm_free(translations);
    return status;
}

static rgm_status reduce_aggregated_logs(rgm_logs *logs, void *aggregate, int64_t global_step,
                                         void *state)
{
    (void)global_step, (void)state;
    return rgmi_scores_result(logs, aggregate);
}

/* With it what translated: packed weights and caches, while the next steps change the weights. */
static void release_aggregate(void *aggregate, void *state)
{
    translation_task *t = state;

    rgmi_scores_release(aggregate);
    rgm_translator_release(t->translator);
    t->translator = NULL;
}

static const char *const *reduced_names(void *state)
{
    return ((const translation_task *)state)->score_names;
}

static bool smaller_is_better(const char *name, void *state)
{
    (void)state;
    return strcmp(name, "ter") == 0;
}

/* ---- making it ----------------------------------------------------------------------------- */

static void release(rgm_task *task)
{
    translation_task *t = task->state;

    if (t != NULL) {
        rgm_translator_release(t->translator);
        rgmi_parallel_clear(&t->data);
    }
    rgm_free(t);
    *task = (rgm_task){0};
}

static const rgm_task_export exports = {
    .file = rgmi_description_file,
    .save = rgmi_translation_save,
    .check = rgmi_translation_check_export,
    .verify = rgmi_translation_verify,
};

rgm_status rgm_translation_create(rgm_task *out, const rgm_translation_options *options,
                                  const rgm_seq2seq_options *model, uint64_t seed, int threads)
{
    rgm_status status = RGM_OK;
    translation_task *t = NULL;

    *out = (rgm_task){0};
    RGM_TRY(check(options));
    RGM_TRY(RGM_NEW(t, 1));
    *out = (rgm_task){.name = "translation",
                      .type = &rgm_translation,
                      .no_predictions = "translates: 'regimen translate' has what it predicts",
                      .items = "target tokens",
                      .state = t,
                      .build_inputs = build_inputs,
                      .build_model = build_model,
                      .files = files,
                      .describe = describe,
                      .exports = &exports,
                      .feeds = feeds};
    t->options = *options;
    if (t->options.decode) {
        out->aggregate_logs = aggregate_logs;
        out->reduce_aggregated_logs = reduce_aggregated_logs;
        out->release_aggregate = release_aggregate;
        out->reduced_names = reduced_names;
        out->smaller_is_better = smaller_is_better;
        rgmi_scores_names(t->score_names, &t->options.score);
    }
    RGM_GO(rgmi_parallel_open(&t->data, &t->options, seed, threads));
    t->options.search.end_id = t->data.end_id;
    t->model.options = *model;
    t->model.source_vocabulary = t->data.source_vocabulary;
    t->model.target_vocabulary = t->data.target_vocabulary;
    RGM_GO(rgm_seq2seq_check(&t->model));
    if (t->options.decode) /* else the first validation would find it out */
        RGM_GO(rgm_search_check(&t->options.search, &t->model));
    if (t->options.max_length > t->model.options.max_positions)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "data.max_length is %lld, above model.max_positions (%lld)",
                        (long long)t->options.max_length,
                        (long long)t->model.options.max_positions));
done:
    if (status != RGM_OK)
        release(out);
    return status;
}

static rgm_status create(rgm_task *out, const rgm_task_setup *setup)
{
    rgm_translation_options options = *(const rgm_translation_options *)setup->data;

    if (setup->begun) {
        options.run_dir = setup->run_dir;
        options.trained = setup->trained;
    }
    return rgm_translation_create(out, &options, setup->model_options, setup->seed, setup->threads);
}

static const rgm_section_type data_section = {
    .options_size = sizeof(rgm_translation_options),
    .defaults = rgm_translation_defaults,
    .fields = data_fields,
};

static const rgm_section_type task_section = {
    .name = "translation",
    .help = "sentences to sentences: parallel text, or sequences to be reversed",
    .fields = task_fields,
    .check = check,
};

static const rgm_section_type *const tasks[] = {&task_section, NULL};

const rgm_task_type rgm_translation = {
    .name = "translation",
    .data = &data_section,
    .tasks = tasks,
    .models = models,
    .no_privacy = "its batches are made of sentences of like length and not by Poisson sampling, "
                  "and the pieces of its tokenizer are text of the training data",
    .create = create,
    .release = release,
};

/*
 * "translation": sentences to sentences with the Transformer. The trainer's default steps do the
 * training; validation computes the loss of each batch, translates it, and scores the whole set at
 * the end.
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

#define RGM_OPTIONS rgm_translation_options
static const rgm_field data_fields[] = {
    RGM_TEXT_FIELD(path, "folder of the files; a name that begins with / stands for itself"),
    RGM_TEXTS_FIELD(
        train,
        "[source, target]: files aligned line by line; or one file of lines 'source TAB target'"),
    RGM_LISTS_FIELD(train_sets, "more of these by name: {news: [news.de, news.en]}"),
    RGM_NUMBERS_FIELD(weights, RGM_ABOVE_0, 1e9,
                      "shares of an epoch's pairs by name ('train' and those of train_sets), 1 "
                      "where one is not named; none at all: every pair once"),
    RGM_TEXTS_FIELD(valid, "the same to validate on"),
    RGM_LISTS_FIELD(valid_sets, "more by name, each validated on too: valid_news.bleu"),
    RGM_TEXTS_FIELD(test, "the same to test on"),
    RGM_LISTS_FIELD(test_sets, "more by name, each tested on too"),
    RGM_TEXT_FIELD(
        src_lang,
        "with TFRecord files (one pattern or name@shards each): the feature with the source's "
        "text"),
    RGM_TEXT_FIELD(tgt_lang, "with TFRecord files: the feature with the target's text"),
    RGM_TEXT_FIELD(tokenizer, "SentencePiece model of both sides, or of the source"),
    RGM_TEXT_FIELD(target_tokenizer, "SentencePiece model of the target, where it is another"),
    RGM_TEXT_FIELD(vocabulary, "file {piece: id, ..}, JSON or YAML, that gives the pieces of both "
                               "models their ids, or those of the source's"),
    RGM_TEXT_FIELD(target_vocabulary, "that of the target, where it is another"),
    RGM_GROUP_FIELD(
        train_tokenizer, rgm_tokenizer_fields,
        "instead of tokenizer: one for both sides, trained on all that is trained on when the run "
        "begins"),
    RGM_TEXT_FIELD(shortlist, "file of 'regimen text train-shortlist': translations have no other "
                              "tokens than those that it has for their source; on the CPU"),
    RGM_INT_FIELD(max_length, 1, 1 << 16,
                  "longest side in tokens, its end included: longer pairs are not trained on"),
    RGM_INT_FIELD(batch_tokens, 1, 1e9,
                  "of a batch: pairs times the longer side, padding included"),
    RGM_INT_FIELD(batch_shapes, 2, 1000, "different shapes of batches; more of them pad less"),
    RGM_BOOL_FIELD(static_batch,
                   "one shape for all: batch_tokens / max_length rows of max_length tokens a side"),
    RGM_FLOAT_FIELD(subword_alpha, 0, 1,
                    "train on segmentations that are drawn anew: bpe leaves out merges with this "
                    "probability, unigram takes probabilities to this power; 0: the best one"),
    RGM_TEXT_FIELD(source_tag, "a piece of the tokenizer that is put before each source: the "
                               "language that is wanted, <2de>"),
    RGM_TEXT_FIELD(target_tag,
                   "a piece of the tokenizer that the decoder reads before each target: "
                   "the language that is wanted, <2de>"),
    RGM_LISTS_FIELD(target_tags, "another one for sets of these names: {fr: <2fr>}"),
    RGM_LISTS_FIELD(factors, "of the source's words, by name the values that they may have: {case: "
                             "[lower, upper], pos: [N, V]}; a word is word|case|pos, or train is "
                             "[source, target, case's file, pos's]"),
    RGM_TEXT_FIELD(alignments, "of the pairs of train, in their order: a file of lines 0-0 1-2, "
                               "numbers of source and target from 0"),
    RGM_CHOICE_FIELD(alignment_units, rgm_alignment_unit_names,
                     "what those numbers count: words between spaces, or the tokenizer's pieces"),
    RGM_GROUP_FIELD(reverse, reverse_fields,
                    "instead of files: random sequences, to be written backwards"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_score_options
static const rgm_field score_fields[] = {
    RGM_TEXTS_FIELD(metrics, "of bleu, chrf, ter; bleu_lc, chrf_lc without case; bleu_intl, "
                             "bleu_intl_lc, ... with those words; ter is slow on long lines"),
    RGM_CHOICE_FIELD(tokenize, rgm_mt_tokenizer_names,
                     "words of bleu; none: at spaces, for text that is tokenized already"),
    RGM_BOOL_FIELD(lowercase, "bleu and chrf without case"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_guided_alignment
static const rgm_field guided_fields[] = {
    RGM_FLOAT_FIELD(weight, 0, 1e6, "of the loss of alignments beside that of tokens; 0: none"),
    RGM_INT_FIELD(layer, -1, RGM_STACK_LAYERS - 1, "of the decoder, from 0; -1: the last"),
    RGM_INT_FIELD(head, -1, 1023, "the head that is taught, from 0; -1: the mean of all"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_translation_options
static const rgm_field task_fields[] = {
    RGM_FLOAT_FIELD(label_smoothing, 0, RGM_BELOW_1,
                    "part of a label's weight in the loss that is spread over the other tokens"),
    RGM_GROUP_FIELD(guided_alignment, guided_fields,
                    "teach a head of attention what data.alignments say"),
    RGM_BOOL_FIELD(decode, "translate in validation: scores and exact_match beside the loss"),
    RGM_GROUP_FIELD(score, score_fields,
                    "what translations are judged by, as the flags of regimen score"),
    RGM_INT_FIELD(samples, 0, 1000,
                  "translations that each validation tells beside their references: log, event "
                  "files"),
    RGM_GROUP_FIELD(search, rgm_beam_search_fields, "how translations are searched for"),
    RGM_GROUP_FIELD(distillation, rgm_distillation_fields,
                    "learn from trained models' probabilities of each token, too"),
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
        .guided_alignment = {.layer = -1},
        .decode = true,
        .score = {.metrics = {metrics, 2}, .tokenize = RGM_MT_TOKENIZER_13A},
        .search = RGM_BEAM_SEARCH_OPTIONS_INIT,
        .distillation = RGM_DISTILLATION_OPTIONS_INIT,
    };
    ((rgm_translation_options *)options)->train_tokenizer.vocab_size = 0;
}

static const rgm_section_type base = {
    .name = "seq2seq_transformer",
    .help = "Transformer, as base as its paper's unless the keys say otherwise",
    .options_size = sizeof(rgm_seq2seq_options),
    .defaults = rgm_seq2seq_defaults,
    .fields = rgm_seq2seq_fields,
    .check = rgm_seq2seq_options_check,
};

static const rgm_section_type big = {
    .name = "seq2seq_transformer_big",
    .help = "the same with the paper's big sizes",
    .options_size = sizeof(rgm_seq2seq_options),
    .defaults = rgm_seq2seq_big_defaults,
    .fields = rgm_seq2seq_fields,
    .check = rgm_seq2seq_options_check,
};

static const rgm_section_type *const models[] = {&base, &big, NULL};

static rgm_status check_reverse(const rgm_translation_options *o)
{
    const rgm_reverse_options *r = &o->reverse;

    if (o->train.count > 0 || o->valid.count > 0 || o->test.count > 0 || o->tokenizer != NULL ||
        o->target_tokenizer != NULL || o->vocabulary != NULL || o->target_vocabulary != NULL ||
        o->train_tokenizer.vocab_size > 0 ||
        o->train_sets.count + o->valid_sets.count + o->test_sets.count > 0 ||
        o->weights.count > 0 || o->subword_alpha > 0 || o->alignments != NULL ||
        o->source_tag != NULL || o->target_tag != NULL || o->target_tags.count > 0 ||
        o->factors.count > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.reverse makes the pairs: data.train, valid, test, their sets and "
                        "weights, alignments, tokenizers, tags, factors and subword_alpha do not "
                        "go with it");
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

    if (o->source_tag != NULL && o->subword_alpha > 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.subword_alpha draws sources without data.source_tag: "
                                        "they do not go together");

    if (o->tokenizer == NULL && !trained)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.tokenizer: name the SentencePiece model, or have one trained: "
                        "data.train_tokenizer.vocab_size");
    if (trained && (o->tokenizer != NULL || o->target_tokenizer != NULL))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.train_tokenizer makes the tokenizer of both sides: data.%s does "
                        "not go with it",
                        o->tokenizer != NULL ? "tokenizer" : "target_tokenizer");
    if (trained && (o->vocabulary != NULL || o->target_vocabulary != NULL))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.train_tokenizer gives its pieces their ids: data.%s does not go "
                        "with it",
                        o->vocabulary != NULL ? "vocabulary" : "target_vocabulary");
    return RGM_OK;
}

/* factors: how many a word has. */
static rgm_status check_list(const rgm_texts *files, const char *key, const char *set, bool records,
                             int64_t factors)
{
    const char *needs =
        records ? "with data.src_lang it is one pattern or name@shards of TFRecord files"
        : factors > 0
            ? "with data.factors they are [source, target], or one TSV, whose words have them, or "
              "[source, target] and a file of each factor"
            : "they are [source, target] or one TSV";

    if (files->count <= (records ? 1 : 2) ||
        (!records && factors > 0 && files->count == 2 + factors))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG, "data.%s%s%s: %lld files; %s", key, set != NULL ? "." : "",
                    set != NULL ? set : "", (long long)files->count, needs);
}

/* Whether a set of the training or the evaluation has that name. */
static bool is_set(const rgm_translation_options *o, const char *name)
{
    const rgm_lists *sets[] = {&o->train_sets, &o->valid_sets, &o->test_sets};

    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        if (strcmp(rgm_mode_name((rgm_mode)mode), name) == 0)
            return true;
        for (int64_t i = 0; i < sets[mode]->count; i++)
            if (strcmp(sets[mode]->names[i], name) == 0)
                return true;
    }
    return false;
}

static rgm_status check_target_tags(const rgm_translation_options *o)
{
    const rgm_lists *tags = &o->target_tags;

    if (tags->count > 0 && o->target_tag == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.target_tags are of some sets: data.target_tag says "
                                        "what the others have, and lines to translate");
    for (int64_t i = 0; i < tags->count; i++) {
        if (!is_set(o, tags->names[i]))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "data.target_tags.%s: no set has that name: they are train, valid, "
                            "test and those of data.train_sets, valid_sets, test_sets",
                            tags->names[i]);
        if (tags->items[i].count != 1)
            return RGM_FAIL(RGM_ERR_CONFIG, "data.target_tags.%s: %lld pieces; it is one, <2de>",
                            tags->names[i], (long long)tags->items[i].count);
    }
    return RGM_OK;
}

static rgm_status check_factors(const rgm_translation_options *o)
{
    rgmi_factors factors;

    RGM_TRY(rgmi_factors_open(&factors, &o->factors));
    rgmi_factors_clear(&factors);
    return RGM_OK;
}

static rgm_status check_files(const rgm_translation_options *o)
{
    static const char *const keys[] = {"train_sets", "valid_sets", "test_sets"};
    const rgm_texts *files[] = {&o->train, &o->valid, &o->test};
    const rgm_lists *sets[] = {&o->train_sets, &o->valid_sets, &o->test_sets};
    bool records = o->src_lang != NULL;

    if (records != (o->tgt_lang != NULL))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.%s is set without data.%s: TFRecords need both, text files none",
                        records ? "src_lang" : "tgt_lang", records ? "tgt_lang" : "src_lang");
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        RGM_TRY(check_list(files[mode], rgm_mode_name((rgm_mode)mode), NULL, records,
                           o->factors.count));
        for (int64_t i = 0; i < sets[mode]->count; i++)
            RGM_TRY(check_list(&sets[mode]->items[i], keys[mode], sets[mode]->names[i], records,
                               o->factors.count));
    }
    return rgmi_translation_check_sets(o);
}

static rgm_status check_guided(const rgm_translation_options *o)
{
    if (!(o->guided_alignment.weight > 0))
        return RGM_OK;
    if (o->alignments == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.guided_alignment.weight is %g: name the alignments, data.alignments "
                        "('regimen text align' makes some)",
                        o->guided_alignment.weight);
    if (o->train.count == 0 || o->subword_alpha > 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.alignments %s",
                        o->train.count == 0
                            ? "are of the pairs of data.train, which has no files"
                            : "are of one segmentation: data.subword_alpha must be 0");
    return RGM_OK;
}

/* A model from elsewhere may come without data; what trains it names them. */
static bool trains_nothing(const rgm_translation_options *o)
{
    return o->reverse.vocabulary == 0 && o->train.count + o->train_sets.count == 0;
}

static rgm_status no_training_data(void)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "data.train: name the files to train on, [source, target]");
}

static rgm_status check_data(const rgm_translation_options *o)
{
    if (o->reverse.vocabulary > 0)
        return check_reverse(o);
    if (o->path == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.path: name the folder of the files");
    if (trains_nothing(o) && o->train_tokenizer.vocab_size > 0)
        return no_training_data();
    RGM_TRY(check_tokenizers(o));
    RGM_TRY(check_guided(o));
    RGM_TRY(check_target_tags(o));
    RGM_TRY(check_factors(o));
    return check_files(o);
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
    return o->served ? RGM_OK : check_data(o);
}

/* ---- the task ------------------------------------------------------------------------------ */

typedef rgmi_translation_task translation_task;

/* What is to be translated whole must fit into the model: better told now than by the first
 * validation. */
static rgm_status check_sources(const translation_task *t, int part)
{
    const rgm_token_pairs *pairs = t->data.parts[part].pairs;
    int64_t most = t->model.options.max_positions, length;

    for (int64_t i = 0; i < rgm_token_pairs_count(pairs); i++) {
        rgm_token_pairs_source(pairs, i, &length);
        if (length > most)
            return rgmi_part_error(
                RGM_FAIL(RGM_ERR_DATA,
                         "the source of pair %lld has %lld tokens with its end, but "
                         "model.max_positions "
                         "is %lld: raise that, leave the pair out, or set task.decode: false",
                         (long long)i + 1, (long long)length, (long long)most),
                &t->options, part);
    }
    return RGM_OK;
}

static rgm_status build_part(rgm_dataset **out, translation_task *t, int part, bool endless)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;

    *out = NULL;
    RGM_GO(rgmi_translation_batches(&data, &t->data, part));
    if (data == NULL)
        return RGM_OK;
    if (part != RGM_TRAIN && t->options.decode)
        RGM_GO(check_sources(t, part));
    if (endless)
        RGM_GO(rgm_dataset_repeat(&data, -1));
    RGM_GO(rgm_dataset_prefetch(&data, 2));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    const translation_task *t = state;

    *out = NULL;
    if (mode == RGM_TRAIN && !t->options.served && trains_nothing(&t->options))
        return no_training_data();
    return build_part(out, state, (int)mode, endless);
}

static void eval_sets(rgm_eval_set *out, int64_t *count, void *state)
{
    rgmi_translation_eval_sets(out, count, &((const translation_task *)state)->options);
}

static rgm_status build_eval_inputs(rgm_dataset **out, void *state, int64_t set)
{
    return build_part(out, state, rgmi_part_of_set(set), false);
}

/* The logits of a model whose weights stay as they are. */
static rgm_status teacher_logits(rgm_value **out, rgm_scope *scope, rgm_value **in,
                                 const rgm_trained_model *teacher)
{
    const translation_task *of = teacher->task->state;
    rgm_seq2seq model = of->model;
    rgm_scope *held;

    model.options.dropout_rate = 0;
    rgm_stack_without_dropout(&model.options.encoder);
    rgm_stack_without_dropout(&model.options.decoder);
    RGM_TRY(rgm_scope_create(&held, rgm_scope_graph(scope), rgm_scope_dtype(scope)));
    rgm_scope_hold(held, teacher->parameters);
    *out = rgmi_translation_logits(held, &model, in);
    rgm_scope_release(held);
    return RGM_OK;
}

/* How far the labels' distributions are from the teachers', [n]; *out is NULL without teachers. */
static rgm_status build_taught(rgm_value **out, rgm_scope *scope, translation_task *t,
                               rgm_value *logits)
{
    rgm_value *teachers[RGM_MOST_TEACHERS];
    int64_t count = t->options.teachers.count;

    *out = NULL;
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(teacher_logits(&teachers[i], scope, t->inputs, &t->options.teachers.models[i]));
    if (count > 0)
        *out = rgm_distillation_losses(logits, teachers, count, t->model.target_vocabulary,
                                       t->options.distillation.temperature);
    return RGM_OK;
}

static rgm_attention_place guided_place(const translation_task *t)
{
    const rgm_guided_alignment *o = &t->options.guided_alignment;

    return (rgm_attention_place){o->layer, o->head};
}

/* To the losses of tokens those of what they are aligned to, while it is trained. */
static rgm_status guide(rgm_value **losses, rgm_scope *scope, translation_task *t)
{
    rgm_value *const *in = t->inputs;
    rgm_attention_place place = guided_place(t);
    rgm_cross_attention attention;
    rgm_value *guided;

    t->alignment = NULL;
    if (!(t->options.guided_alignment.weight > 0))
        return RGM_OK;
    RGM_TRY(rgm_seq2seq_attention(&attention, scope, &t->model, &place));
    t->alignment =
        rgm_input(rgm_scope_graph(scope), "alignment", RGM_F32, 3,
                  (rgm_dim[]){rgm_value_dim(in[RGMI_LABELS], 0), rgm_value_dim(in[RGMI_LABELS], 1),
                              rgm_value_dim(in[RGMI_SOURCE], 1)});
    guided = rgm_seq2seq_alignment_losses(&attention, &t->model, &place, in[RGMI_SOURCE],
                                          rgm_cast(t->alignment, rgm_scope_dtype(scope)));
    guided = rgm_add(*losses, rgm_scale(guided, t->options.guided_alignment.weight));
    *losses = rgm_when_training(guided, *losses);
    return RGM_OK;
}

static rgm_status build_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    translation_task *t = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_value **in = t->inputs, *logits, *losses, *taught;
    rgm_head *head = &out->heads[0];

    rgmi_translation_inputs(in, graph, &t->model);
    logits = rgmi_translation_logits(scope, &t->model, in);
    out->head_count = 1;
    *head = (rgm_head){.name = "tokens", .loss_weight = 1};
    head->labels = rgm_reshape(in[RGMI_LABELS], 1, (rgm_dim[]){RGM_INFER});
    losses = rgm_seq2seq_losses(&t->model, logits, head->labels, t->options.label_smoothing);
    /* What is fetched of each batch are numbers of tokens: logits over a vocabulary stay inside. */
    rgm_tokens_judge(head, logits, losses,
                     &(rgm_token_judging){.classes = t->model.target_vocabulary,
                                          .smoothing = t->options.label_smoothing});
    head->weights = rgm_seq2seq_weights(scope, head->labels);
    RGM_TRY(build_taught(&taught, scope, t, logits));
    RGM_TRY(guide(&losses, scope, t));
    rgm_tokens_set_loss(head, losses, taught, t->options.distillation.weight);
    return rgm_cgraph_status(graph);
}

static void files(rgm_task_file *out, int64_t *count, void *state)
{
    rgmi_translation_files(out, count, &((const translation_task *)state)->data);
}

/* What training data are made of, where that is more than one file or weighted. */
static rgm_status describe_sources(rgm_text *out, const rgmi_translation_data *data)
{
    for (int64_t i = 0; i < data->source_count && data->source_count > 1; i++) {
        const rgmi_source *s = &data->sources[i];

        RGM_TRY(rgm_text_printf(out, "%s%lld pairs of %s", i > 0 ? ", " : "; ", (long long)s->pairs,
                                s->name));
        if (data->options->weights.count > 0)
            RGM_TRY(rgm_text_printf(out, " %.4g times each", s->times));
    }
    return RGM_OK;
}

/* Sides that only the loss of an evaluation sees cut. */
static rgm_status describe_cuts(rgm_text *out, const translation_task *t)
{
    rgm_eval_set sets[RGM_MAX_EVAL_SETS];
    int64_t count;

    rgmi_translation_eval_sets(sets, &count, &t->options);
    for (int part = RGM_VALID; part < rgmi_part_of_set(count); part++) {
        int64_t cut = t->data.figures[part].cut, set = part - rgmi_part_of_set(0);

        if (cut > 0)
            RGM_TRY(rgm_text_printf(
                out, "; %lld pairs of %s%s%s cut to %lld tokens for their loss", (long long)cut,
                rgm_mode_name(set >= 0 ? sets[set].mode : (rgm_mode)part), set >= 0 ? "_" : "",
                set >= 0 ? sets[set].name : "", (long long)t->options.max_length));
    }
    return RGM_OK;
}

static rgm_status describe(rgm_text *out, void *state)
{
    const translation_task *t = state;
    const rgm_token_batch_figures *f = &t->data.figures[RGM_TRAIN];

    if (f->padded_tokens == 0)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, "batches of %lld tokens (%.0f%% real)",
                            (long long)t->options.batch_tokens,
                            100 * (double)f->real_tokens / (double)f->padded_tokens));
    if (f->dropped > 0)
        RGM_TRY(rgm_text_printf(out, ", without %lld pairs longer than %lld", (long long)f->dropped,
                                (long long)t->options.max_length));
    RGM_TRY(describe_sources(out, &t->data));
    if (t->data.guides.left_out > 0)
        RGM_TRY(rgm_text_printf(out,
                                "; alignments of %lld pairs left out: the tokenizer has other "
                                "words than are between their spaces",
                                (long long)t->data.guides.left_out));
    return describe_cuts(out, t);
}

static rgm_status add_feed(rgm_feed *out, int64_t capacity, int64_t *count, rgm_value *input,
                           rgm_tensor *tensor)
{
    if (*count >= capacity)
        return RGM_FAIL(RGM_ERR_ARG, "room for %lld feeds, one more is needed",
                        (long long)capacity);
    out[(*count)++] = (rgm_feed){.input = input, .tensor = tensor};
    return RGM_OK;
}

static rgm_status feeds(rgm_feed *out, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch)
{
    const translation_task *t = state;
    int64_t at = RGMI_BATCH_TENSORS, tensors = rgm_element_count(batch);

    RGM_TRY(rgm_feed_tensors(out, capacity, count, t->inputs, RGMI_FACTORS, batch));
    if (t->inputs[RGMI_FACTORS] != NULL) {
        if (tensors <= at)
            return RGM_FAIL(RGM_ERR_ARG, "a batch of %lld tensors lacks factors, its number %lld",
                            (long long)tensors, (long long)at);
        RGM_TRY(add_feed(out, capacity, count, t->inputs[RGMI_FACTORS],
                         rgm_element_tensor(batch, at++)));
    }
    if (t->alignment == NULL || tensors <= at)
        return RGM_OK; /* an evaluation is not taught */
    return add_feed(out, capacity, count, t->alignment, rgm_element_tensor(batch, at));
}

/* ---- translating in validation --------------------------------------------------------------- */

/* What a validation makes of its translations. */
typedef struct judged {
    rgmi_translation_scores *scores;
    rgmi_samples *samples; /* NULL: none are told */
    int part;
} judged;

static void judged_release(judged *j)
{
    if (j == NULL)
        return;
    rgmi_scores_release(j->scores);
    rgmi_samples_release(j->samples);
    rgm_free(j);
}

static rgm_status judged_create(void **aggregate, const translation_task *t, int part)
{
    rgm_status status = RGM_OK;
    judged *j;

    RGM_TRY(RGM_NEW(j, 1));
    j->part = part;
    RGM_GO(rgmi_scores_create(&j->scores, &t->options.score));
    if (t->options.samples > 0 && part != RGM_TEST)
        RGM_GO(rgmi_samples_create(&j->samples, t->options.samples,
                                   rgm_token_pairs_count(t->data.parts[part].pairs),
                                   &t->options.score));
    *aggregate = j;
    j = NULL;
done:
    judged_release(j);
    return status;
}

static rgm_status judge(judged *j, translation_task *t, int part, const int64_t *pairs,
                        int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_hypotheses *translations;

    RGM_TRY(RGM_NEW(translations, count));
    /* whole: the batch itself may have cut them */
    RGM_GO(rgmi_translate_pairs(translations, t->beam_search, &t->options.search, &t->data, part,
                                pairs, count));
    RGM_GO(rgmi_scores_add(j->scores, &t->data, part, pairs, translations, count));
    if (j->samples != NULL)
        RGM_GO(rgmi_samples_add(j->samples, &t->data, part, pairs, translations, count));
done:
    for (int64_t i = 0; i < count; i++)
        rgm_hypotheses_clear(&translations[i]);
    rgm_free(translations);
    return status;
}

static rgm_status aggregate_logs(void **aggregate, const rgm_step *step, void *state)
{
    translation_task *t = state;
    const rgm_tensor *pairs = rgm_element_tensor(step->inputs, RGMI_PAIRS);
    int64_t count = rgm_tensor_count(pairs);
    int part = step->eval_set > 0 ? rgmi_part_of_set(step->eval_set - 1) : (int)step->mode;

    if (step->mode == RGM_TRAIN)
        return RGM_OK; /* what was trained on is only measured by its loss: there is much of it */
    if (t->data.parts[part].pairs == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "task.decode translates the %s data of the experiment; batches "
                        "from elsewhere need decode: false",
                        rgm_mode_name(step->mode));
    if (*aggregate == NULL)
        RGM_TRY(judged_create(aggregate, t, part));
    RGM_TRY(rgmi_translation_ready(t, step->parameters, step->device, step->bf16));
    while (count > 0 && rgm_tensor_i64(pairs)[count - 1] < 0)
        count--; /* rows that no pair fills */
    return judge(*aggregate, t, part, rgm_tensor_i64(pairs), count);
}

static rgm_status merge_aggregates(void **aggregate, const void *other, void *state)
{
    const judged *from = other;
    judged *to;

    if (*aggregate == NULL)
        RGM_TRY(judged_create(aggregate, state, from->part));
    to = *aggregate;
    RGM_TRY(rgmi_scores_merge(to->scores, from->scores));
    return from->samples != NULL ? rgmi_samples_merge(to->samples, from->samples) : RGM_OK;
}

static rgm_status save_aggregate(rgm_text *out, const void *aggregate, void *state)
{
    const judged *j = aggregate;

    (void)state;
    RGM_TRY(rgm_text_add(out, &j->part, sizeof j->part));
    RGM_TRY(rgmi_scores_save(out, j->scores));
    return j->samples != NULL ? rgmi_samples_save(out, j->samples) : RGM_OK;
}

static rgm_status load_aggregate(void **aggregate, rgm_str bytes, void *state)
{
    rgm_status status = RGM_OK;
    void *made = NULL;
    judged *j;
    int part;

    *aggregate = NULL;
    if (!rgmi_take_bytes(&part, sizeof part, &bytes) || part < 0 || part >= RGMI_PARTS)
        return RGM_FAIL(RGM_ERR_FORMAT, "the aggregate of another process is damaged");
    RGM_GO(judged_create(&made, state, part));
    j = made;
    RGM_GO(rgmi_scores_load(j->scores, &bytes));
    if (j->samples != NULL)
        RGM_GO(rgmi_samples_load(j->samples, &bytes));
    *aggregate = made;
    made = NULL;
done:
    judged_release(made);
    return status;
}

static rgm_status reduce_aggregated_logs(rgm_logs *logs, void *aggregate, int64_t global_step,
                                         void *state)
{
    const judged *j = aggregate;

    (void)global_step, (void)state;
    RGM_TRY(rgmi_scores_result(logs, j->scores));
    return j->samples != NULL ? rgmi_samples_result(logs, j->samples) : RGM_OK;
}

/* With it what translated: packed weights and caches, while the next steps change the weights. */
static void release_aggregate(void *aggregate, void *state)
{
    translation_task *t = state;

    judged_release(aggregate);
    rgmi_translation_rest(t);
}

/* Nothing of its data stays on a device; what translates does, and goes before that. */
static rgm_status place(void *state, rgm_device *device, size_t most)
{
    translation_task *t = state;

    (void)most;
    if (device != NULL && (t->options.search.int8 || t->shortlist != NULL))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s is for the CPU, but runtime.device is another one",
                        t->shortlist != NULL ? "data.shortlist" : "task.search.int8");
    if (device == NULL)
        rgmi_translation_rest(t);
    return RGM_OK;
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
        rgmi_translation_rest(t);
        rgm_shortlist_release(t->shortlist);
        rgmi_translation_data_clear(&t->data);
        if (t->owns_teachers)
            (void)rgm_teachers_release(&t->options.teachers, RGM_OK);
    }
    rgm_free(t);
    *task = (rgm_task){0};
}

/* One table for both sides: a row would be one piece in sources and another one in targets. */
static rgm_status check_shared_table(const translation_task *t)
{
    if ((t->model.options.embeddings != RGM_EMBEDDINGS_SHARED &&
         t->model.options.embeddings != RGM_EMBEDDINGS_INPUTS) ||
        rgm_tokenizers_share_ids(t->data.source, t->data.target))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s and %s are different tokenizers, but model.embeddings: %s has one row "
                    "for an id of either: use target or untied, one tokenizer, or a "
                    "data.vocabulary of both",
                    t->data.source_paths.tokenizer, t->data.target_paths.tokenizer,
                    t->model.options.embeddings == RGM_EMBEDDINGS_INPUTS ? "inputs" : "shared");
}

/* What is taught is there, and is what alignments are taken from unless another attention is
 * named. */
static rgm_status take_guided(translation_task *t)
{
    rgm_attention_place *used = &t->options.search.attention, place = guided_place(t);

    if (!(t->options.guided_alignment.weight > 0))
        return RGM_OK;
    RGM_TRY(rgm_attention_place_check(&place, &t->model, "task.guided_alignment"));
    if (used->layer == -1 && used->head == -1)
        *used = place;
    return RGM_OK;
}

/* The shortlist that data.shortlist names. */
static rgm_status load_shortlist(rgm_task *task)
{
    translation_task *t = task->state;
    rgm_status status = RGM_OK;
    char *path = NULL;

    if (t->options.shortlist == NULL)
        return RGM_OK;
    RGM_GO(rgm_path_in(&path, t->options.path, t->options.shortlist));
    status = rgm_shortlist_load(&t->shortlist, path);
    if (status == RGM_OK)
        status = rgm_translation_check_shortlist(task, t->shortlist, path);
    if (status != RGM_OK)
        RGM_GO(rgm_error_prefix(status, "data.shortlist"));
    t->options.search.shortlist = t->shortlist;
done:
    rgm_free(path);
    return status;
}

static rgm_status check_teachers(const translation_task *t)
{
    for (int64_t i = 0; i < t->options.teachers.count; i++) {
        const rgm_trained_model *teacher = &t->options.teachers.models[i];
        const translation_task *of = teacher->task->state;
        const char *name = teacher->name != NULL ? teacher->name : "a teacher";

        if (!rgmi_same_tokenizers(t, of))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.distillation.teacher: %s has other tokenizers; teacher and "
                            "student share theirs (data.tokenizer: tokenizer.model of the "
                            "teacher's folder; and data.target_tokenizer, data.vocabulary, "
                            "data.target_vocabulary, where it has such files)",
                            name);
        if (!rgmi_same_tags(&t->data, &of->data))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.distillation.teacher: %s has another data.source_tag or "
                            "data.target_tag",
                            name);
        if (of->data.factors.count > 0 && !rgmi_same_factors(&t->data.factors, &of->data.factors))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.distillation.teacher: %s reads other data.factors", name);
        if (of->model.options.max_positions < t->options.max_length)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.distillation.teacher: %s reads at most %lld tokens, but "
                            "data.max_length is %lld",
                            name, (long long)of->model.options.max_positions,
                            (long long)t->options.max_length);
    }
    return RGM_OK;
}

static const rgm_task_export exports = {
    .file = rgmi_description_file,
    .save = rgmi_translation_save,
    .check = rgmi_translation_check_export,
    .verify = rgmi_translation_verify,
};

static const rgm_task_format formats[] = {{.name = "ctranslate2",
                                           .file = rgmi_ctranslate2_file,
                                           .save = rgmi_translation_save_ctranslate2,
                                           .check = rgmi_translation_check_ctranslate2},
                                          {.name = "huggingface",
                                           .file = rgmi_huggingface_file,
                                           .save = rgmi_translation_save_huggingface,
                                           .check = rgmi_translation_check_huggingface},
                                          {.name = NULL}};

/* The model of the data that are open. */
static rgm_status take_model(translation_task *t, const rgm_seq2seq_options *options)
{
    t->options.search.end_id = t->data.end_id;
    t->model.options = *options;
    t->model.source_vocabulary = t->data.source_vocabulary;
    t->model.target_vocabulary = t->data.target_vocabulary;
    t->model.source_factors = t->data.factors.count;
    t->model.factor_values = t->data.factors.values;
    RGM_TRY(rgm_seq2seq_check(&t->model));
    if (!t->options.served && t->options.max_length > options->max_positions) /* of training */
        return RGM_FAIL(RGM_ERR_CONFIG, "data.max_length is %lld, above model.max_positions (%lld)",
                        (long long)t->options.max_length, (long long)options->max_positions);
    return check_shared_table(t);
}

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
                      .eval_sets = eval_sets,
                      .build_eval_inputs = build_eval_inputs,
                      .build_model = build_model,
                      .files = files,
                      .describe = describe,
                      .place = place,
                      .match_rows = rgmi_translation_match_rows,
                      .exports = &exports,
                      .formats = formats,
                      .save_serving = rgmi_translation_save_serving,
                      .answer_lines = rgmi_translation_answer,
                      .line_outputs = rgmi_translation_outputs,
                      .int8_axis = rgm_seq2seq_int8_axis,
                      .judge_int8 = rgmi_translation_judge_int8,
                      .feeds = feeds};
    t->options = *options;
    if (t->options.decode) {
        out->aggregate_logs = aggregate_logs;
        out->merge_aggregates = merge_aggregates;
        out->save_aggregate = save_aggregate;
        out->load_aggregate = load_aggregate;
        out->reduce_aggregated_logs = reduce_aggregated_logs;
        out->release_aggregate = release_aggregate;
        out->reduced_names = reduced_names;
        out->smaller_is_better = smaller_is_better;
        rgmi_scores_names(t->score_names, &t->options.score);
    }
    RGM_GO(rgmi_translation_data_open(&t->data, &t->options, seed, threads));
    RGM_GO(take_model(t, model));
    RGM_GO(check_teachers(t));
    RGM_GO(take_guided(t));
    RGM_GO(load_shortlist(out));
    if (t->options.decode) /* else the first validation would find it out */
        RGM_GO(rgm_beam_search_check(&t->options.search, &t->model));
done:
    if (status != RGM_OK)
        release(out);
    return status;
}

static rgm_status create(rgm_task *out, const rgm_task_setup *setup)
{
    rgm_translation_options options = *(const rgm_translation_options *)setup->data;
    rgm_status status;

    if (setup->begun) {
        options.run_dir = setup->run_dir;
        options.trained = setup->trained;
    }
    RGM_TRY(rgm_teachers_open(&options.teachers, &options.distillation, setup, &rgm_translation));
    status =
        rgm_translation_create(out, &options, setup->model_options, setup->seed, setup->threads);
    if (status != RGM_OK)
        return rgm_teachers_release(&options.teachers, status);
    ((translation_task *)out->state)->owns_teachers = true;
    return RGM_OK;
}

/* Tokenizers and shortlist are in the export's folder. */
static rgm_status serve(rgm_task *out, const rgm_task_setup *setup, const char *folder)
{
    rgm_translation_options options = *(const rgm_translation_options *)setup->data;
    translation_task *t;

    options.served = options.trained = true;
    options.path = options.run_dir = folder;
    options.tokenizer = NULL; /* whatever the file names: nothing outside of the folder is read */
    if (options.target_tokenizer != NULL)
        options.target_tokenizer = rgmi_target_tokenizer_file;
    if (options.vocabulary != NULL)
        options.vocabulary = rgmi_vocabulary_file;
    if (options.target_vocabulary != NULL)
        options.target_vocabulary = rgmi_target_vocabulary_file;
    if (options.shortlist != NULL)
        options.shortlist = rgmi_shortlist_file;
    RGM_TRY(
        rgm_translation_create(out, &options, setup->model_options, setup->seed, setup->threads));
    t = out->state;
    t->options.path = t->options.run_dir = NULL; /* the caller's */
    return RGM_OK;
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

static const rgm_effect effects[] = {
    {"data.path", "data.reverse.vocabulary == 0"},
    {"data.src_lang", "data.reverse.vocabulary == 0"},
    {"data.tgt_lang", "data.reverse.vocabulary == 0"},
    {"data.train_tokenizer.type", "data.train_tokenizer.vocab_size > 0"},
    {"data.train_tokenizer.coverage", "data.train_tokenizer.vocab_size > 0"},
    {"data.train_tokenizer.sentences", "data.train_tokenizer.vocab_size > 0"},
    {"model.factors", "data.factors != null"},
    {"model.factors.width", "model.factors.combine == concat"},
    {"data.alignments", "task.guided_alignment.weight > 0"},
    {"data.alignment_units", "task.guided_alignment.weight > 0"},
    {"task.guided_alignment.layer", "task.guided_alignment.weight > 0"},
    {"task.guided_alignment.head", "task.guided_alignment.weight > 0"},
    {"data.reverse.min_length", "data.reverse.vocabulary > 0"},
    {"data.reverse.max_length", "data.reverse.vocabulary > 0"},
    {"data.reverse.train", "data.reverse.vocabulary > 0"},
    {"data.reverse.valid", "data.reverse.vocabulary > 0"},
    {"data.reverse.test", "data.reverse.vocabulary > 0"},
    {"model.rotary_base", "model.positions == rotary"},
    {"model.relative_buckets", "model.positions == relative"},
    {"model.relative_distance", "model.positions == relative"},
    {"task.score", "task.decode == true"},
    {"task.search.temperature", "task.search.sample == true"},
    {"task.search.top_k", "task.search.sample == true"},
    {"task.search.top_p", "task.search.sample == true"},
    {"task.search.seed", "task.search.sample == true"},
    {"task.search.diversity", "task.search.diversity_groups > 1"},
    {"task.search.decode_length_factor", "task.search.decode_max_length == 0"},
    {"task.distillation.weight", "task.distillation.teacher != null"},
    {"task.distillation.temperature", "task.distillation.teacher != null"},
    {"task.search.extra_decode_length", "task.search.decode_max_length == 0"},
    {0}};

const rgm_task_type rgm_translation = {
    .name = "translation",
    .data = &data_section,
    .tasks = tasks,
    .models = models,
    .no_privacy = "its batches are made of sentences of like length and not by Poisson sampling, "
                  "and the pieces of its tokenizer are text of the training data",
    .effects = effects,
    .create = create,
    .serve = serve,
    .release = release,
};

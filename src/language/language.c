/*
 * "language_model": tokens from the tokens before them. The trainer's default steps do the training
 * and the validation; predictions are the log-probabilities of whole documents.
 */
#include <string.h>

#include "language_internal.h"

/* ---- options --------------------------------------------------------------------------------- */

#define RGM_OPTIONS rgm_language_options
static const rgm_field data_fields[] = {
    RGM_TEXT_FIELD(path, "folder of the files; a name that begins with / stands for itself"),
    RGM_TEXTS_FIELD(train, "text files to train on, plain or gzip, by name or pattern; or one "
                           "token file of regimen text tokens"),
    RGM_TEXTS_FIELD(valid, "the same to validate on"),
    RGM_LISTS_FIELD(valid_sets, "more by name, each validated on too: valid_news.bits_per_byte"),
    RGM_TEXTS_FIELD(test, "the same to test on"),
    RGM_LISTS_FIELD(test_sets, "more by name, each tested on too"),
    RGM_CHOICE_FIELD(documents, rgm_documents_names,
                     "what in a text file is a document: a line, lines up to an empty one, a file"),
    RGM_TEXT_FIELD(tokenizer, "SentencePiece model, or tokenizer.json of Hugging Face"),
    RGM_GROUP_FIELD(
        train_tokenizer, rgm_tokenizer_fields,
        "instead of tokenizer: one that is trained on the training files when the run begins"),
    RGM_CHOICE_FIELD(packing, rgm_packing_names,
                     "documents: whole ones side by side, none sees another; stream: text as it "
                     "comes, cut at equal distances"),
    RGM_INT_FIELD(block_length, 1, 1 << 20, "tokens of a block; longer documents are cut"),
    RGM_INT_FIELD(batch_tokens, 1, 1 << 30, "of a batch: blocks times block_length"),
    {0}};

static const rgm_field task_fields[] = {
    RGM_FLOAT_FIELD(label_smoothing, 0, RGM_BELOW_1,
                    "part of a label's weight in the loss that is spread over the other tokens"),
    RGM_GROUP_FIELD(lora, rgm_lora_fields,
                    "train low-rank adapters alone, of weights that trainer.initialize brings"),
    RGM_GROUP_FIELD(generate, rgm_generate_fields, "how regimen generate writes texts"),
    RGM_GROUP_FIELD(distillation, rgm_distillation_fields,
                    "learn from trained models' probabilities of each token, too"),
    {0}};
#undef RGM_OPTIONS

void rgm_language_defaults(void *options)
{
    rgm_language_options *o = options;

    *o = (rgm_language_options){
        .train_tokenizer = RGM_TOKENIZER_OPTIONS_INIT,
        .block_length = 256,
        .batch_tokens = 4096,
        .lora = RGM_LORA_OPTIONS_INIT,
        .generate = RGM_GENERATE_OPTIONS_INIT,
        .distillation = RGM_DISTILLATION_OPTIONS_INIT,
    };
    o->train_tokenizer.vocab_size = 0;
}

static const rgm_section_type small = {
    .name = "decoder_transformer",
    .help = "Transformer's decoder of today: RMS norms, SwiGLU, rotary positions, no biases",
    .options_size = sizeof(rgm_decoder_options),
    .defaults = rgm_decoder_defaults,
    .fields = rgm_decoder_fields,
    .check = rgm_decoder_options_check,
};

static const rgm_section_type gpt2 = {
    .name = "decoder_transformer_gpt2",
    .help = "the same with the blocks and sizes of the smallest GPT-2",
    .options_size = sizeof(rgm_decoder_options),
    .defaults = rgm_decoder_gpt2_defaults,
    .fields = rgm_decoder_fields,
    .check = rgm_decoder_options_check,
};

static const rgm_section_type *const models[] = {&small, &gpt2, NULL};

static rgm_status check(const void *options)
{
    const rgm_language_options *o = options;
    rgm_file_sets sets = rgmi_language_sets(o);
    bool trained = o->train_tokenizer.vocab_size > 0;

    RGM_TRY(rgm_options_check(o, data_fields, "data"));
    RGM_TRY(rgm_options_check(o, task_fields, "task"));
    if (o->served)
        return RGM_OK;
    if (o->path == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.path: name the folder of the files");
    if (trained && o->train.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.train: name the files to train on");
    if ((o->tokenizer != NULL) == trained)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        trained ? "data.train_tokenizer makes the tokenizer: data.tokenizer does "
                                  "not go with it"
                                : "data.tokenizer: name the tokenizer's file, or have one trained: "
                                  "data.train_tokenizer.vocab_size");
    if (o->batch_tokens % o->block_length != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.batch_tokens is %lld, no multiple of data.block_length (%lld): a "
                        "batch is whole blocks",
                        (long long)o->batch_tokens, (long long)o->block_length);
    return rgm_file_sets_check(&sets, o->valid.count > 0, o->test.count > 0);
}

/* ---- the task -------------------------------------------------------------------------------- */

typedef rgmi_language_task language_task;

static rgm_status finish_inputs(rgm_dataset **out, rgm_dataset *data, bool endless)
{
    rgm_status status = RGM_OK;

    *out = NULL;
    if (data == NULL)
        return RGM_OK;
    if (endless)
        RGM_GO(rgm_dataset_repeat(&data, -1));
    RGM_GO(rgm_dataset_prefetch(&data, 2));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

static rgm_status build_part(rgm_dataset **out, language_task *t, int part, bool endless)
{
    rgm_dataset *data;

    *out = NULL;
    RGM_TRY(rgmi_language_batches(&data, &t->data, part));
    return finish_inputs(out, data, endless);
}

/* A model from elsewhere may come without data; what trains it names them. */
static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    const language_task *t = state;

    *out = NULL;
    if (mode == RGM_TRAIN && t->options.train.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.train: name the files to train on");
    return build_part(out, state, (int)mode, endless);
}

static void eval_sets(rgm_eval_set *out, int64_t *count, void *state)
{
    rgm_file_sets sets = rgmi_language_sets(&((const language_task *)state)->options);

    rgm_file_sets_list(out, count, &sets);
}

static rgm_status build_eval_inputs(rgm_dataset **out, void *state, int64_t set)
{
    return build_part(out, state, rgmi_language_part_of_set(set), false);
}

static rgm_status build_prediction_inputs(rgm_dataset **out, void *state, rgm_mode mode)
{
    language_task *t = state;
    rgm_dataset *data;

    *out = NULL;
    RGM_TRY(rgmi_language_documents(&data, &t->data, (int)mode, t->model.options.max_positions));
    return finish_inputs(out, data, false);
}

static rgm_status build_file_inputs(rgm_dataset **out, void *state, const rgm_new_data *asked)
{
    language_task *t = state;
    rgm_dataset *data;

    *out = NULL;
    if (asked->items != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "every line of %s is scored: items do not go with it",
                        asked->files);
    RGM_TRY(rgmi_language_lines(&data, &t->data, asked->files, t->model.options.max_positions));
    return finish_inputs(out, data, false);
}

static int64_t item_number(rgm_element *batch, int64_t head, int64_t i, void *state)
{
    (void)head, (void)state;
    return rgm_element_count(batch) > RGMI_LANGUAGE_DOCUMENTS
               ? rgm_tensor_i64(rgm_element_tensor(batch, RGMI_LANGUAGE_DOCUMENTS))[i]
               : -1;
}

/* [rows, 2] of [n, columns]: the log-probability of all labels of a row, and how many there are. */
static rgm_value *score_rows(const language_task *t, const rgm_head *head)
{
    rgm_value *ids = t->inputs[RGMI_LANGUAGE_IDS], *sums[2];
    rgm_dim shape[2], column[2] = {RGM_INFER, 1};
    rgm_value *flat[2] = {NULL, head->weights};

    if (ids == NULL || head->predictions == NULL)
        return NULL;
    shape[0] = rgm_value_dim(ids, 0);
    shape[1] = rgm_value_dim(ids, 1);
    flat[0] = rgm_reshape(rgm_slice(head->predictions, 1, 1, 2), 1, (rgm_dim[]){RGM_INFER});
    flat[0] = rgm_neg(rgm_mul(flat[0], head->weights));
    for (int i = 0; i < 2; i++)
        sums[i] = rgm_reshape(rgm_reduce(rgm_reshape(flat[i], 2, shape), 1, RGM_SUM), 2, column);
    return rgm_concat(sums, 2, 1);
}

/* The logits of a model whose weights, with its adapters in them, stay as they are. */
static rgm_status teacher_logits(rgm_value **out, rgm_scope *scope,
                                 const rgm_decoder_inputs *inputs, const rgm_trained_model *teacher)
{
    rgm_status status = RGM_OK;
    const language_task *of = teacher->task->state;
    const rgm_parameters *weights;
    rgm_parameters *merged = NULL;
    rgm_decoder model = of->model;
    rgm_scope *held = NULL;

    model.options.dropout_rate = 0;
    rgm_stack_without_dropout(&model.options.decoder);
    RGM_GO(rgmi_language_weights(&weights, &merged, of, teacher->parameters));
    RGM_GO(rgm_scope_create(&held, rgm_scope_graph(scope), rgm_scope_dtype(scope)));
    rgm_scope_hold(held, weights);
    *out = rgm_decoder_logits(held, &model, rgm_decoder_states(held, &model, inputs));
done:
    rgm_scope_release(held);
    rgm_parameters_release(merged);
    return status;
}

/* How far the labels' distributions are from the teachers', [n]; *out is NULL without teachers. */
static rgm_status build_taught(rgm_value **out, rgm_scope *scope, const language_task *t,
                               const rgm_decoder_inputs *inputs, rgm_value *logits)
{
    rgm_value *teachers[RGM_MOST_TEACHERS];
    int64_t count = t->options.teachers.count;

    *out = NULL;
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(teacher_logits(&teachers[i], scope, inputs, &t->options.teachers.models[i]));
    if (count > 0)
        *out = rgm_distillation_losses(logits, teachers, count, t->model.vocabulary,
                                       t->options.distillation.temperature);
    return RGM_OK;
}

static rgm_status build_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    static const char *const names[] = {"ids", "labels", "positions", "segments", "bytes"};
    language_task *t = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim shape[2] = {rgm_cgraph_symbol(graph, "rows"), rgm_cgraph_symbol(graph, "tokens")},
            flat[1] = {RGM_INFER};
    rgm_cross_entropy_options entropy = {.classes = t->model.vocabulary,
                                         .smoothing = t->options.label_smoothing};
    rgm_token_judging judging = {.classes = t->model.vocabulary,
                                 .smoothing = t->options.label_smoothing};
    rgm_head *head = &out->heads[0];
    rgm_decoder_inputs inputs;
    rgm_value *logits, *losses, *taught;

    rgm_scope_adapt(scope, &t->options.lora);
    for (int i = 0; i < RGMI_LANGUAGE_INPUTS; i++)
        t->inputs[i] =
            rgm_input(graph, names[i], i == RGMI_LANGUAGE_BYTES ? RGM_F32 : RGM_I64, 2, shape);
    inputs = (rgm_decoder_inputs){.ids = t->inputs[RGMI_LANGUAGE_IDS],
                                  .positions = t->inputs[RGMI_LANGUAGE_POSITIONS]};
    if (t->options.packing == RGM_PACKING_DOCUMENTS)
        inputs.segments = t->inputs[RGMI_LANGUAGE_SEGMENTS];
    logits = rgm_decoder_logits(scope, &t->model, rgm_decoder_states(scope, &t->model, &inputs));
    out->head_count = 1;
    *head = (rgm_head){.name = "tokens", .loss_weight = 1};
    head->labels = rgm_reshape(t->inputs[RGMI_LANGUAGE_LABELS], 1, flat);
    losses = rgm_softmax_cross_entropy_with(logits, head->labels, &entropy);
    judging.bytes =
        rgm_cast(rgm_reshape(t->inputs[RGMI_LANGUAGE_BYTES], 1, flat), rgm_scope_dtype(scope));
    rgm_tokens_judge(head, logits, losses, &judging);
    /* A segment is 0 where nothing is, as padding's id is there. */
    head->weights =
        rgm_seq2seq_weights(scope, rgm_reshape(t->inputs[RGMI_LANGUAGE_SEGMENTS], 1, flat));
    RGM_TRY(build_taught(&taught, scope, t, &inputs, logits));
    rgm_tokens_set_loss(head, losses, taught, t->options.distillation.weight);
    t->served = (rgm_head){.name = "log_probability", .is_number = true};
    t->served.predictions = score_rows(t, head);
    out->served = &t->served;
    out->served_count = 1;
    RGM_TRY(rgm_cgraph_status(graph));
    return rgm_scope_adapt_check(scope);
}

static void files(rgm_task_file *out, int64_t *count, void *state)
{
    rgmi_language_files(out, count, &((const language_task *)state)->data);
}

/* "; 3 documents of valid_news cut" */
static rgm_status describe_cuts(rgm_text *out, const language_task *t)
{
    rgm_file_sets sets = rgmi_language_sets(&t->options);
    rgm_eval_set named[RGM_MAX_EVAL_SETS];
    int64_t count;

    rgm_file_sets_list(named, &count, &sets);
    for (int part = RGM_VALID; part < rgmi_language_part_of_set(count); part++) {
        int64_t cut = t->data.figures[part].cut, set = part - rgmi_language_part_of_set(0);

        if (cut > 0)
            RGM_TRY(rgm_text_printf(out, "; %lld documents of %s%s%s cut", (long long)cut,
                                    rgm_mode_name(set >= 0 ? named[set].mode : (rgm_mode)part),
                                    set >= 0 ? "_" : "", set >= 0 ? named[set].name : ""));
    }
    return RGM_OK;
}

static rgm_status describe(rgm_text *out, void *state)
{
    const language_task *t = state;
    const rgm_token_block_figures *f = &t->data.figures[RGM_TRAIN];

    if (f->places == 0)
        return RGM_OK;
    RGM_TRY(
        rgm_text_printf(out, "%lld tokens of %lld documents in %lld blocks of %lld (%.1f%% real)",
                        (long long)(f->labels + f->unseen), (long long)f->documents,
                        (long long)f->blocks, (long long)t->options.block_length,
                        100 * (double)f->labels / (double)(f->blocks * t->options.block_length)));
    if (f->cut > 0)
        RGM_TRY(rgm_text_printf(out, ", %lld documents cut", (long long)f->cut));
    if (f->unseen > 0)
        RGM_TRY(rgm_text_printf(out, ", %lld tokens at the ends in no block of an epoch",
                                (long long)f->unseen));
    return describe_cuts(out, t);
}

static rgm_status feeds(rgm_feed *out, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch)
{
    const language_task *t = state;

    return rgm_feed_tensors(out, capacity, count, t->inputs, RGMI_LANGUAGE_INPUTS, batch);
}

/* ---- making it ------------------------------------------------------------------------------- */

static void release(rgm_task *task)
{
    language_task *t = task->state;

    if (t != NULL) {
        rgmi_language_data_clear(&t->data);
        if (t->owns_teachers)
            (void)rgm_teachers_release(&t->options.teachers, RGM_OK);
    }
    rgm_free(t);
    *task = (rgm_task){0};
}

static const rgm_task_export exports = {
    .file = rgmi_language_description,
    .save = rgmi_language_save,
    .check = rgmi_language_check_export,
    .verify = rgmi_language_verify,
};

static const rgm_task_format formats[] = {{.name = "huggingface",
                                           .file = "config.json",
                                           .save = rgmi_language_save_huggingface,
                                           .check = rgmi_language_check_huggingface},
                                          {0}};

static rgm_status check_lengths(const language_task *t)
{
    if (!t->options.served && t->options.block_length > t->model.options.max_positions)
        return RGM_FAIL(
            RGM_ERR_CONFIG, "data.block_length is %lld, above model.max_positions (%lld)",
            (long long)t->options.block_length, (long long)t->model.options.max_positions);
    return RGM_OK;
}

static rgm_status check_teachers(const language_task *t)
{
    for (int64_t i = 0; i < t->options.teachers.count; i++) {
        const rgm_trained_model *teacher = &t->options.teachers.models[i];
        const language_task *of = teacher->task->state;
        const char *name = teacher->name != NULL ? teacher->name : "a teacher";
        int64_t size, wanted;
        const void *own = rgm_tokenizer_model(t->data.tokenizer, &wanted);
        const void *other = rgm_tokenizer_model(of->data.tokenizer, &size);

        if (size != wanted || memcmp(own, other, (size_t)size) != 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.distillation.teacher: %s has another tokenizer; teacher and "
                            "student share theirs (data.tokenizer: that of the teacher's folder)",
                            name);
        if (of->model.options.max_positions < t->options.block_length)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.distillation.teacher: %s reads at most %lld tokens, but "
                            "data.block_length is %lld",
                            name, (long long)of->model.options.max_positions,
                            (long long)t->options.block_length);
    }
    return RGM_OK;
}

rgm_status rgm_language_create(rgm_task *out, const rgm_language_options *options,
                               const rgm_decoder_options *model, uint64_t seed, int threads)
{
    rgm_status status = RGM_OK;
    language_task *t = NULL;

    (void)seed; /* the order of blocks is the trainer's */
    *out = (rgm_task){0};
    RGM_TRY(check(options));
    RGM_TRY(RGM_NEW(t, 1));
    *out = (rgm_task){.name = "language_model",
                      .type = &rgm_language_model,
                      .items = "tokens",
                      .network = "language model",
                      .state = t,
                      .build_inputs = build_inputs,
                      .eval_sets = eval_sets,
                      .build_eval_inputs = build_eval_inputs,
                      .build_prediction_inputs = build_prediction_inputs,
                      .build_file_inputs = build_file_inputs,
                      .item_number = item_number,
                      .build_model = build_model,
                      .files = files,
                      .describe = describe,
                      .exports = &exports,
                      .save_serving = rgmi_language_save_serving,
                      .serving_weights = rgmi_language_serving_weights,
                      .writing = &rgmi_language_writing,
                      .formats = formats,
                      .feeds = feeds};
    t->options = *options;
    t->model.options = *model;
    RGM_GO(rgmi_language_data_open(&t->data, &t->options, threads));
    t->model.vocabulary = rgm_tokenizer_size(t->data.tokenizer);
    t->options.generate.end_id = rgm_tokenizer_eos_id(t->data.tokenizer);
    RGM_GO(rgm_decoder_check(&t->model));
    RGM_GO(check_lengths(t));
    RGM_GO(check_teachers(t));
done:
    if (status != RGM_OK)
        release(out);
    return status;
}

static rgm_status create(rgm_task *out, const rgm_task_setup *setup)
{
    rgm_language_options options = *(const rgm_language_options *)setup->data;
    rgm_status status;

    if (setup->begun) {
        options.run_dir = setup->run_dir;
        options.trained = setup->trained;
    }
    RGM_TRY(
        rgm_teachers_open(&options.teachers, &options.distillation, setup, &rgm_language_model));
    status = rgm_language_create(out, &options, setup->model_options, setup->seed, setup->threads);
    if (status != RGM_OK)
        return rgm_teachers_release(&options.teachers, status);
    ((language_task *)out->state)->owns_teachers = true;
    return RGM_OK;
}

/* The tokenizer is in the export's folder, and adapters are in its weights. */
static rgm_status serve(rgm_task *out, const rgm_task_setup *setup, const char *folder)
{
    rgm_language_options options = *(const rgm_language_options *)setup->data;
    language_task *t;

    options.served = options.trained = true;
    options.path = options.run_dir = folder;
    options.tokenizer = NULL; /* whatever the file names: nothing outside of the folder is read */
    options.train_tokenizer.vocab_size = 0;
    options.train = options.valid = options.test = (rgm_texts){0};
    options.valid_sets = options.test_sets = (rgm_lists){0};
    options.lora.rank = 0;
    RGM_TRY(rgm_language_create(out, &options, setup->model_options, setup->seed, setup->threads));
    t = out->state;
    t->options.path = t->options.run_dir = NULL; /* the caller's */
    return RGM_OK;
}

static const rgm_section_type data_section = {
    .options_size = sizeof(rgm_language_options),
    .defaults = rgm_language_defaults,
    .fields = data_fields,
};

static const rgm_section_type task_section = {
    .name = "language_model",
    .help = "tokens from the tokens before them: text, to be scored and written",
    .fields = task_fields,
    .check = check,
};

static const rgm_section_type *const tasks[] = {&task_section, NULL};

static const rgm_effect effects[] = {
    {"data.train_tokenizer.type", "data.train_tokenizer.vocab_size > 0"},
    {"data.train_tokenizer.coverage", "data.train_tokenizer.vocab_size > 0"},
    {"data.train_tokenizer.sentences", "data.train_tokenizer.vocab_size > 0"},
    {"task.lora.alpha", "task.lora.rank > 0"},
    {"task.lora.targets", "task.lora.rank > 0"},
    {"task.distillation.weight", "task.distillation.teacher != null"},
    {"task.distillation.temperature", "task.distillation.teacher != null"},
    {"task.generate.top_k", "task.generate.temperature > 0"},
    {"task.generate.top_p", "task.generate.temperature > 0"},
    {"task.generate.min_p", "task.generate.temperature > 0"},
    {"task.generate.seed", "task.generate.temperature > 0"},
    {0}};

static const rgm_rule rules[] = {
    {"trainer.initialize.checkpoint != null",
     {"task.lora.rank > 0"},
     "adapters change weights that stay, and without it those are random"},
    {0}};

const rgm_task_type rgm_language_model = {
    .name = "language model",
    .data = &data_section,
    .tasks = tasks,
    .models = models,
    .no_privacy = "its batches are blocks that documents are packed into and not made by Poisson "
                  "sampling, and the pieces of its tokenizer are text of the training data",
    .effects = effects,
    .rules = rules,
    .create = create,
    .serve = serve,
    .release = release,
};

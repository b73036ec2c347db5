/*
 * Pairs of sentences as tokens, from text with its tokenizers or from a formula; and the batches of
 * them that the model reads.
 */
#include <stdio.h>
#include <string.h>

#include "translation_internal.h"

/* ---- tokenizers ---------------------------------------------------------------------------- */

/*
 * The file that the run keeps, or the one that the options name; NULL: neither. A run that goes on
 * takes only what it trained itself: a file that is named may have become another, and that is to
 * be told.
 */
static rgm_status tokenizer_path(char **out, const rgm_translation_options *o, const char *name,
                                 const char *kept)
{
    if (o->run_dir != NULL && (o->trained || name == NULL)) {
        RGM_TRY(rgm_path_join(out, o->run_dir, kept));
        if (rgm_path_exists(*out))
            return RGM_OK;
        if (name == NULL &&
            o->trained) /* another one, of the data of now, might have other pieces */
            return RGM_FAIL(RGM_ERR_NOT_FOUND,
                            "%s keeps no %s, which its weights were trained with", o->run_dir,
                            kept);
        rgm_free(*out);
        *out = NULL;
    }
    return name != NULL ? rgm_path_in(out, o->path, name) : RGM_OK;
}

/* Of both sides, from the text that is trained on: the same text gives the same tokenizer again. */
static rgm_status train_tokenizer(rgm_tokenizer **out, char **path, rgmi_translation_data *data)
{
    rgm_corpus *const *corpus = &data->parts[RGM_TRAIN].corpus;
    rgm_status status;

    RGM_TRY(rgmi_translation_text(data, RGM_TRAIN));
    status = rgm_tokenizer_train_corpus(out, *corpus, &data->options->train_tokenizer);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "data.train_tokenizer");
    return rgm_strdup(path, "as data.train_tokenizer makes it");
}

static rgm_status check_tokenizer(const rgm_tokenizer *tokenizer, const char *path)
{
    static const char train[] =
        "train one with 'regimen text train-tokenizer --vocab-size N --out FILE TEXT...'";

    char padding[32];

    if (rgm_tokenizer_pad_id(tokenizer) < 0)
        snprintf(padding, sizeof padding, "no id");
    else
        snprintf(padding, sizeof padding, "the id %lld",
                 (long long)rgm_tokenizer_pad_id(tokenizer));
    if (rgm_tokenizer_pad_id(tokenizer) != 0)
        return RGM_FAIL(
            RGM_ERR_DATA,
            "%s: its padding has %s, but batches are padded with 0: %s, or with spm_train and "
            "--pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1",
            path, padding, train);
    if (rgm_tokenizer_eos_id(tokenizer) < 0)
        return RGM_FAIL(
            RGM_ERR_DATA,
            "%s has no end of sentence (</s>), so that a translation could not end: %s, or with "
            "spm_train and --eos_id=1",
            path, train);
    return RGM_OK;
}

static const char source_file[] = "tokenizer.model";
const char rgmi_target_tokenizer_file[] = "target_tokenizer.model";
const char rgmi_factors_file[] = "factors.yml";
const char rgmi_vocabulary_file[] = "vocabulary.yml";
const char rgmi_target_vocabulary_file[] = "target_vocabulary.yml";

/* One side's keys, and what the run calls its files. */
typedef struct side_files {
    const char *key, *tokenizer, *kept;
    const char *vocabulary, *kept_vocabulary; /* vocabulary NULL: there is none */
} side_files;

static rgm_status load_tokenizer(rgm_tokenizer **out, rgmi_side_paths *paths,
                                 rgmi_translation_data *data, const side_files *side)
{
    const rgm_translation_options *o = data->options;
    rgm_status status;

    RGM_TRY(tokenizer_path(&paths->tokenizer, o, side->tokenizer, side->kept));
    if (paths->tokenizer == NULL)
        return train_tokenizer(out, &paths->tokenizer, data);
    if (side->vocabulary != NULL)
        RGM_TRY(tokenizer_path(&paths->vocabulary, o, side->vocabulary, side->kept_vocabulary));
    status = rgm_tokenizer_load_with(out, paths->tokenizer, paths->vocabulary);
    if (status == RGM_ERR_NOT_FOUND && o->trained)
        return rgm_error_prefix(status, "%s keeps no %s", o->run_dir, side->kept);
    if (status == RGM_ERR_NOT_FOUND)
        return rgm_error_prefix(status, "data.%s%s is not in data.path", side->key,
                                side->vocabulary != NULL ? " or its vocabulary" : "");
    RGM_TRY(status);
    return check_tokenizer(*out, paths->tokenizer);
}

int32_t rgmi_find_tag(const rgm_tokenizer *t, const char *piece)
{
    int32_t id = rgm_tokenizer_find(t, piece);

    if (id < 0 || strcmp(rgm_tokenizer_piece(t, id), piece) != 0 || id == rgm_tokenizer_unk_id(t) ||
        id == rgm_tokenizer_pad_id(t) || id == rgm_tokenizer_eos_id(t))
        return -1;
    return id;
}

/* The piece that a key names; `side` is what begins with it. */
static rgm_status find_tag(int32_t *out, const rgm_tokenizer *t, const char *key, const char *set,
                           const char *tag, const char *side, const char *path)
{
    if (tag == NULL)
        return RGM_OK;
    *out = rgmi_find_tag(t, tag);
    if (*out < 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.%s%s%s is '%s', which is no piece of %s that a %s can begin with: a "
                        "tokenizer has one of its own by spm_train's --user_defined_symbols=%s",
                        key, set != NULL ? "." : "", set != NULL ? set : "", tag, path, side, tag);
    return RGM_OK;
}

static rgm_status find_tags(rgmi_translation_data *data)
{
    const rgm_translation_options *o = data->options;
    const char *path = data->target_paths.tokenizer != NULL ? data->target_paths.tokenizer
                                                            : data->source_paths.tokenizer;

    RGM_TRY(find_tag(&data->source_tag, data->source, "source_tag", NULL, o->source_tag, "source",
                     data->source_paths.tokenizer));
    RGM_TRY(find_tag(&data->target_tag, data->target, "target_tag", NULL, o->target_tag, "target",
                     path));
    RGM_TRY(RGM_NEW(data->set_tags, o->target_tags.count));
    for (; data->set_tag_count < o->target_tags.count; data->set_tag_count++) {
        rgmi_set_tag *tag = &data->set_tags[data->set_tag_count];

        tag->set = o->target_tags.names[data->set_tag_count];
        RGM_TRY(find_tag(&tag->id, data->target, "target_tags", tag->set,
                         o->target_tags.items[data->set_tag_count].items[0], "target", path));
    }
    return RGM_OK;
}

/* The name of the set that a pair of a part is of. */
static const char *set_of(const rgmi_translation_data *data, int part, int64_t pair)
{
    rgm_eval_set sets[RGM_MAX_EVAL_SETS];
    int64_t count;

    for (int64_t i = 0; part == RGM_TRAIN && i < data->source_count; i++) {
        if (pair < data->sources[i].pairs)
            return data->sources[i].name;
        pair -= data->sources[i].pairs;
    }
    if (part <= RGM_TEST)
        return rgm_mode_name((rgm_mode)part);
    rgmi_translation_eval_sets(sets, &count, data->options);
    return sets[part - rgmi_part_of_set(0)].name;
}

int32_t rgmi_target_begin(const rgmi_translation_data *data, int part, int64_t pair)
{
    const char *set;

    if (data->set_tag_count == 0)
        return data->target_tag;
    set = set_of(data, part, pair);
    for (int64_t i = 0; i < data->set_tag_count; i++)
        if (strcmp(data->set_tags[i].set, set) == 0)
            return data->set_tags[i].id;
    return data->target_tag;
}

bool rgmi_same_tags(const rgmi_translation_data *a, const rgmi_translation_data *b)
{
    return a->source_tag == b->source_tag && a->target_tag == b->target_tag;
}

static rgm_status load_tokenizers(rgmi_translation_data *data, const rgm_translation_options *o)
{
    const side_files source = {"tokenizer", o->tokenizer, source_file, o->vocabulary,
                               rgmi_vocabulary_file};
    side_files target = {"target_tokenizer", o->target_tokenizer, rgmi_target_tokenizer_file,
                         o->target_vocabulary, rgmi_target_vocabulary_file};

    RGM_TRY(load_tokenizer(&data->source, &data->source_paths, data, &source));
    if (o->target_tokenizer == NULL && o->target_vocabulary != NULL) {
        target.tokenizer = o->tokenizer; /* one model, whose pieces have other ids there */
        target.kept = source_file;
    } else if (o->target_vocabulary == NULL) {
        target.vocabulary = o->vocabulary;
        target.kept_vocabulary = rgmi_vocabulary_file;
    }
    if (o->target_tokenizer != NULL || o->target_vocabulary != NULL)
        RGM_TRY(load_tokenizer(&data->target, &data->target_paths, data, &target));
    else
        data->target = rgm_tokenizer_retain(data->source);
    data->source_vocabulary = rgm_tokenizer_size(data->source);
    data->target_vocabulary = rgm_tokenizer_size(data->target);
    data->end_id = rgm_tokenizer_eos_id(data->target);
    return find_tags(data);
}

int32_t rgmi_source_end(const rgmi_translation_data *data)
{
    return data->source != NULL ? rgm_tokenizer_eos_id(data->source) : data->end_id;
}

static void add_file(rgm_task_file *out, int64_t *count, const char *name, const char *origin,
                     const void *data, int64_t size)
{
    out[*count] = (rgm_task_file){.name = name, .origin = origin, .data = data, .size = size};
    (*count)++;
}

void rgmi_translation_files(rgm_task_file *out, int64_t *count, const rgmi_translation_data *data)
{
    const rgm_translation_options *o = data->options;
    const rgmi_side_paths *source = &data->source_paths, *target = &data->target_paths;
    const void *bytes;
    int64_t size;

    *count = 0;
    if (data->source == NULL)
        return;
    bytes = rgm_tokenizer_model(data->source, &size);
    add_file(out, count, source_file, source->tokenizer, bytes, size);
    if (target->tokenizer != NULL && o->target_tokenizer != NULL) {
        bytes = rgm_tokenizer_model(data->target, &size);
        add_file(out, count, rgmi_target_tokenizer_file, target->tokenizer, bytes, size);
    }
    bytes = rgm_tokenizer_vocabulary(data->source, &size);
    if (bytes != NULL)
        add_file(out, count, rgmi_vocabulary_file, source->vocabulary, bytes, size);
    bytes = rgm_tokenizer_vocabulary(data->target, &size);
    if (bytes != NULL && o->target_vocabulary != NULL)
        add_file(out, count, rgmi_target_vocabulary_file, target->vocabulary, bytes, size);
    if (data->factors.count > 0)
        add_file(out, count, rgmi_factors_file, "data.factors", data->factors.file.data,
                 data->factors.file.size);
}

rgmi_side_names rgmi_translation_names(const rgmi_translation_data *data, bool is_target)
{
    const rgm_translation_options *o = data->options;
    rgmi_side_names names = {0};

    if (data->source == NULL)
        return names;
    names.tokenizer =
        is_target && o->target_tokenizer != NULL ? rgmi_target_tokenizer_file : source_file;
    if (is_target && o->target_vocabulary != NULL)
        names.vocabulary = rgmi_target_vocabulary_file;
    else if (o->vocabulary != NULL)
        names.vocabulary = rgmi_vocabulary_file;
    return names;
}

/* A file of a run; *out NULL: it has none of that name. */
static rgm_status file_of(char **out, const char *run, const char *name)
{
    RGM_TRY(rgm_path_join(out, run, name));
    if (rgm_path_exists(*out))
        return RGM_OK;
    rgm_free(*out);
    *out = NULL;
    return RGM_OK;
}

/* The tokenizer that another run keeps of a side; *out NULL: it keeps none. */
static rgm_status kept_tokenizer(rgm_tokenizer **out, const char *run, bool is_target)
{
    rgm_status status = RGM_OK;
    char *model = NULL, *ids = NULL;

    *out = NULL;
    if (is_target)
        RGM_GO(file_of(&model, run, rgmi_target_tokenizer_file));
    if (model == NULL)
        RGM_GO(file_of(&model, run, source_file));
    if (is_target)
        RGM_GO(file_of(&ids, run, rgmi_target_vocabulary_file));
    if (ids == NULL)
        RGM_GO(file_of(&ids, run, rgmi_vocabulary_file));
    if (model != NULL)
        RGM_GO(rgm_tokenizer_load_with(out, model, ids));
done:
    rgm_free(model);
    rgm_free(ids);
    return status;
}

rgm_status rgmi_translation_match_rows(int64_t *from, bool *known, const char *parameter,
                                       int64_t rows, const char *run, void *state)
{
    static const char *const tables[] = {"embedding/table", "source_embedding/table",
                                         "target_embedding/table", "output/table", "output/bias"};
    const rgmi_translation_task *t = state;
    const rgm_tokenizer *own = NULL;
    bool is_target = false;
    rgm_tokenizer *other;

    *known = false;
    for (int i = 0; i < 5; i++)
        if (strcmp(tables[i], parameter) == 0) {
            is_target = i >= 2;
            own = is_target ? t->data.target : t->data.source;
        }
    if (own == NULL)
        return RGM_OK;
    RGM_TRY(kept_tokenizer(&other, run, is_target));
    for (int64_t i = 0; i < rows && other != NULL; i++) {
        const char *piece = rgm_tokenizer_piece(own, (int32_t)i);
        int32_t id = piece != NULL ? rgm_tokenizer_find(other, piece) : -1;
        from[i] = id >= 0 && strcmp(rgm_tokenizer_piece(other, id), piece) == 0 ? id : -1;
        if (piece == NULL && i >= rgm_tokenizer_size(other))
            from[i] = i; /* a row that fills up the table */
    }
    *known = other != NULL;
    rgm_tokenizer_release(other);
    return RGM_OK;
}

/* ---- by a formula -------------------------------------------------------------------------- */

/* guides: get what is whose; or NULL. */
static rgm_status add_reversed(rgm_token_pairs *pairs, rgmi_guides *guides, int32_t *ids,
                               const rgm_reverse_options *o, const rgm_rng *rng, int64_t *draws)
{
    int64_t spread = o->max_length - o->min_length + 1;
    int64_t length =
        o->min_length + (int64_t)rgm_rng_below(rng, (uint64_t)(*draws)++, (uint64_t)spread);
    int32_t *backwards = ids + o->max_length + 1;

    for (int64_t i = 0; i < length; i++) {
        uint64_t drawn = rgm_rng_below(rng, (uint64_t)(*draws)++, (uint64_t)(o->vocabulary - 2));
        ids[i] = backwards[length - 1 - i] = (int32_t)(2 + drawn);
    }
    ids[length] = backwards[length] = 1;
    for (int64_t i = 0; i < length && guides != NULL; i++)
        RGM_TRY(rgmi_guides_link(guides, i, length - 1 - i));
    if (guides != NULL)
        RGM_TRY(rgmi_guides_close_pair(guides));
    return rgm_token_pairs_add(pairs, ids, length + 1, backwards, length + 1);
}

static bool is_taught(const rgmi_translation_data *data, int part)
{
    return part == RGM_TRAIN && data->options->guided_alignment.weight > 0;
}

static rgm_status make_reversed(rgmi_translation_part *part, rgmi_translation_data *data, int mode)
{
    rgm_status status = RGM_OK;
    rgmi_guides *guides = is_taught(data, mode) ? &data->guides : NULL;
    const rgm_reverse_options *o = &data->options->reverse;
    int64_t count = mode == RGM_TRAIN ? o->train : (mode == RGM_VALID ? o->valid : o->test),
            draws = 0;
    rgm_rng rng = rgm_rng_stream(data->seed, "reverse", (uint64_t)mode);
    int32_t *ids = NULL;

    if (count == 0)
        return RGM_OK;
    RGM_GO(RGM_NEW(ids, 2 * (o->max_length + 1)));
    RGM_GO(rgm_token_pairs_create(&part->pairs));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(add_reversed(part->pairs, guides, ids, o, &rng, &draws));
done:
    rgm_free(ids);
    return status;
}

/* ---- either -------------------------------------------------------------------------------- */

rgm_status rgmi_translation_data_open(rgmi_translation_data *out,
                                      const rgm_translation_options *options, uint64_t seed,
                                      int threads)
{
    rgm_status status = RGM_OK;

    *out = (rgmi_translation_data){
        .options = options, .seed = seed, .threads = threads, .source_tag = -1};
    if (options->reverse.vocabulary > 0) {
        out->source_vocabulary = out->target_vocabulary = options->reverse.vocabulary;
        out->end_id = 1;
        return RGM_OK;
    }
    status = rgmi_factors_open(&out->factors, &options->factors);
    if (status == RGM_OK)
        status = load_tokenizers(out, options);
    if (status != RGM_OK)
        rgmi_translation_data_clear(out);
    return status;
}

static void part_clear(rgmi_translation_part *part)
{
    rgm_corpus_release(part->corpus);
    rgm_token_pairs_release(part->pairs);
    rgm_ids_clear(&part->words);
    rgm_free(part->factors);
    rgm_free(part->factor_begin);
    *part = (rgmi_translation_part){0};
}

static void side_paths_clear(rgmi_side_paths *paths)
{
    rgm_free(paths->tokenizer);
    rgm_free(paths->vocabulary);
}

void rgmi_translation_data_clear(rgmi_translation_data *data)
{
    for (int part = 0; part < RGMI_PARTS; part++)
        part_clear(&data->parts[part]);
    rgm_free(data->sources);
    rgm_free(data->set_tags);
    rgmi_guides_clear(&data->guides);
    rgmi_factors_clear(&data->factors);
    rgm_tokenizer_release(data->source);
    rgm_tokenizer_release(data->target);
    side_paths_clear(&data->source_paths);
    side_paths_clear(&data->target_paths);
    *data = (rgmi_translation_data){0};
}

/* Every source begins with the tag. */
static rgm_status put_tags(rgm_token_pairs **pairs, int32_t tag)
{
    rgm_status status = RGM_OK;
    rgm_token_pairs *made = NULL;
    rgm_ids ids = {0};

    RGM_GO(rgm_token_pairs_create(&made));
    for (int64_t i = 0; i < rgm_token_pairs_count(*pairs); i++) {
        int64_t count, targets;
        const int32_t *source = rgm_token_pairs_source(*pairs, i, &count);
        const int32_t *target = rgm_token_pairs_target(*pairs, i, &targets);
        RGM_GO(RGM_RESERVE(ids.items, ids.capacity, count + 1));
        ids.items[0] = tag;
        memcpy(ids.items + 1, source, (size_t)count * sizeof *source);
        RGM_GO(rgm_token_pairs_add(made, ids.items, count + 1, target, targets));
    }
    rgm_token_pairs_release(*pairs);
    *pairs = made;
    made = NULL;
done:
    rgm_token_pairs_release(made);
    rgm_ids_clear(&ids);
    return status;
}

/* The pairs of a part that is text. */
static rgm_status encode_part(rgmi_translation_data *data, int number)
{
    rgmi_translation_part *part = &data->parts[number];

    RGM_TRY(rgmi_translation_text(data, number));
    if (part->corpus == NULL)
        return RGM_OK;
    RGM_TRY(rgm_token_pairs_encode(&part->pairs, part->corpus, data->source, data->target,
                                   data->threads));
    if (data->source_tag >= 0)
        RGM_TRY(put_tags(&part->pairs, data->source_tag));
    if (data->factors.count > 0)
        RGM_TRY(rgmi_factors_of_part(part, data));
    if (is_taught(data, number))
        RGM_TRY(rgmi_guides_load(&data->guides, data));
    if (number == RGM_TRAIN && data->options->subword_alpha == 0) { /* the text has served */
        rgm_corpus_release(part->corpus);
        part->corpus = NULL;
    }
    return RGM_OK;
}

static rgm_status part_open(rgmi_translation_data *data, int number)
{
    rgmi_translation_part *part = &data->parts[number];
    rgm_status status;

    if (part->pairs != NULL)
        return RGM_OK;
    status = data->source == NULL ? make_reversed(part, data, number) : encode_part(data, number);
    if (status != RGM_OK) {
        part_clear(part);
        rgmi_guides_clear(&data->guides);
    }
    return status;
}

/* ---- batches ------------------------------------------------------------------------------- */

void rgmi_translation_inputs(rgm_value **inputs, rgm_cgraph *graph, const rgm_seq2seq *model)
{
    rgm_dim pairs = rgm_cgraph_symbol(graph, "pairs");
    rgm_dim source = rgm_cgraph_symbol(graph, "source_length");
    rgm_dim target = rgm_cgraph_symbol(graph, "target_length");

    inputs[RGMI_SOURCE] = rgm_input(graph, "source", RGM_I64, 2, (rgm_dim[]){pairs, source});
    inputs[RGMI_TARGET] = rgm_input(graph, "target", RGM_I64, 2, (rgm_dim[]){pairs, target});
    inputs[RGMI_LABELS] = rgm_input(graph, "labels", RGM_I64, 2, (rgm_dim[]){pairs, target});
    inputs[RGMI_SOURCE_POSITIONS] = rgm_input(graph, "source_positions", RGM_I64, 1, &source);
    inputs[RGMI_TARGET_POSITIONS] = rgm_input(graph, "target_positions", RGM_I64, 1, &target);
    inputs[RGMI_FACTORS] = NULL;
    if (model->source_factors > 0)
        inputs[RGMI_FACTORS] = rgm_input(graph, "source_factors", RGM_I64, 3,
                                         (rgm_dim[]){pairs, source, model->source_factors});
}

rgm_value *rgmi_translation_logits(rgm_scope *scope, const rgm_seq2seq *model, rgm_value **in)
{
    rgm_value *factors = model->source_factors > 0 ? in[RGMI_FACTORS] : NULL, *states;

    states = rgm_seq2seq_encode_factors(scope, model, in[RGMI_SOURCE], factors,
                                        in[RGMI_SOURCE_POSITIONS]);
    states = rgm_seq2seq_decode(scope, model, in[RGMI_TARGET], in[RGMI_TARGET_POSITIONS], states,
                                in[RGMI_SOURCE]);
    return rgm_seq2seq_logits(scope, model, states);
}

/* What the decoder reads: what targets begin with, then the labels. */
static rgm_status shift_right(rgm_tensor **out, const rgm_tensor *labels, const rgmi_batches_of *of,
                              const int64_t *pairs)
{
    int64_t rows = rgm_tensor_dim(labels, 0), length = rgm_tensor_dim(labels, 1);

    RGM_TRY(rgm_tensor_create(out, RGM_I64, 2, (int64_t[]){rows, length}));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < length; i++)
            rgm_tensor_i64(*out)[r * length + i] =
                i > 0           ? rgm_tensor_i64(labels)[r * length + i - 1]
                : pairs[r] >= 0 ? rgmi_target_begin(of->data, of->part, pairs[r])
                                : 0;
    return RGM_OK;
}

/* A map function: source, target and numbers of pairs to the tensors that the model is fed. */
static rgm_status complete(rgm_element **out, const rgm_element *batch, const rgm_map_call *call,
                           void *payload)
{
    rgm_status status = RGM_OK;
    const rgmi_batches_of *of = payload;
    rgm_tensor *tensors[RGMI_MOST_TENSORS] = {[RGMI_SOURCE] = rgm_element_tensor(batch, 0),
                                              [RGMI_LABELS] = rgm_element_tensor(batch, 1),
                                              [RGMI_PAIRS] = rgm_element_tensor(batch, 2)};
    int64_t count = RGMI_BATCH_TENSORS;

    (void)call;
    RGM_GO(shift_right(&tensors[RGMI_TARGET], tensors[RGMI_LABELS], of,
                       rgm_tensor_i64(tensors[RGMI_PAIRS])));
    RGM_GO(rgm_tensor_arange(&tensors[RGMI_SOURCE_POSITIONS],
                             rgm_tensor_dim(tensors[RGMI_SOURCE], 1)));
    RGM_GO(rgm_tensor_arange(&tensors[RGMI_TARGET_POSITIONS],
                             rgm_tensor_dim(tensors[RGMI_LABELS], 1)));
    if (of->data->factors.count > 0)
        RGM_GO(rgmi_factors_batch(&tensors[count++], of->data, of->part, tensors[RGMI_SOURCE],
                                  rgm_tensor_i64(tensors[RGMI_PAIRS])));
    if (is_taught(of->data, of->part))
        RGM_GO(rgmi_guides_batch(&tensors[count++], &of->data->guides, tensors[RGMI_SOURCE],
                                 tensors[RGMI_LABELS], tensors[RGMI_PAIRS]));
    RGM_GO(rgm_element_create_tensors(out, tensors, count));
done:
    for (int i = RGMI_BATCH_TENSORS; i < RGMI_MOST_TENSORS; i++)
        rgm_tensor_release(tensors[i]);
    rgm_tensor_release(tensors[RGMI_TARGET]);
    rgm_tensor_release(tensors[RGMI_SOURCE_POSITIONS]);
    rgm_tensor_release(tensors[RGMI_TARGET_POSITIONS]);
    return status;
}

rgm_status rgmi_translation_pairs(const rgm_token_pairs **out, rgmi_translation_data *data,
                                  int part)
{
    *out = NULL;
    RGM_TRY(part_open(data, part));
    *out = data->parts[part].pairs;
    return RGM_OK;
}

/* How often each source's pairs stand in an epoch; *sets is NULL when each stands once. */
static rgm_status list_sets(rgm_token_batch_set **sets, const rgmi_translation_data *data)
{
    *sets = NULL;
    if (data->options->weights.count == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(*sets, data->source_count));
    for (int64_t i = 0; i < data->source_count; i++)
        (*sets)[i] = (rgm_token_batch_set){data->sources[i].pairs, data->sources[i].times};
    return RGM_OK;
}

rgm_status rgmi_translation_batches(rgm_dataset **out, rgmi_translation_data *data, int part)
{
    rgm_status status = RGM_OK;
    const rgm_translation_options *o = data->options;
    rgm_token_batch_options batch = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_token_batch_set *sets = NULL;
    const rgm_token_pairs *pairs;
    rgm_dataset *made = NULL;

    *out = NULL;
    RGM_GO(rgmi_translation_pairs(&pairs, data, part));
    if (pairs == NULL)
        return RGM_OK;
    batch.tokens = o->batch_tokens;
    batch.max_length = o->max_length;
    batch.max_shapes = o->batch_shapes;
    batch.one_shape = o->static_batch;
    batch.training = part == RGM_TRAIN;
    batch.dtype = RGM_I64;
    if (batch.training) {
        RGM_GO(list_sets(&sets, data));
        batch.sets = sets;
        batch.set_count = sets != NULL ? data->source_count : 0;
        batch.sampling = (rgm_subword_sampling){o->subword_alpha, data->parts[part].corpus,
                                                data->source, data->target};
    }
    status = rgm_token_batches(&made, pairs, &batch);
    RGM_GO(status == RGM_OK ? RGM_OK : rgmi_part_error(status, o, part));
    RGM_GO(rgm_token_batches_figures(&data->figures[part], made));
    data->batches_of[part] = (rgmi_batches_of){data, part};
    RGM_GO(rgm_dataset_map_each(&made, complete, &data->batches_of[part], NULL, 0));
    *out = made;
    made = NULL;
done:
    rgm_free(sets);
    rgm_dataset_release(made);
    return status;
}

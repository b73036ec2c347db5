/*
 * The text of a translation task: which files a part is made of, read into one corpus; more sets to
 * train and to evaluate on, and their shares of an epoch.
 */
#include <string.h>

#include "translation_internal.h"

/* ---- parts --------------------------------------------------------------------------------- */

static rgm_file_sets sets_of(const rgm_translation_options *o)
{
    return (rgm_file_sets){&o->valid_sets, &o->test_sets};
}

static const rgm_texts *files_of(const rgm_translation_options *o, int part)
{
    const rgm_texts *own[] = {&o->train, &o->valid, &o->test};
    rgm_file_sets sets = sets_of(o);

    return part <= RGM_TEST ? own[part] : rgm_file_sets_files(&sets, part - rgmi_part_of_set(0));
}

/* A failure with the key of the files that it is about: `section`, or the set of it. */
static rgm_status blame(rgm_status status, const char *section, const char *set)
{
    const char *dot = set != NULL ? "." : "", *name = set != NULL ? set : "";

    if (status == RGM_ERR_NOT_FOUND)
        return rgm_error_prefix(status,
                                "data.%s%s%s is not in data.path (elsewhere: --set data.path=DIR)",
                                section, dot, name);
    return status == RGM_ERR_NOMEM ? status
                                   : rgm_error_prefix(status, "data.%s%s%s", section, dot, name);
}

rgm_status rgmi_part_error(rgm_status status, const rgm_translation_options *o, int part)
{
    rgm_file_sets sets = sets_of(o);
    char *key = NULL;

    if (part <= RGM_TEST)
        return blame(status, rgm_mode_name((rgm_mode)part), NULL);
    RGM_TRY(rgm_file_sets_key(&key, &sets, part - rgmi_part_of_set(0)));
    status = blame(status, key + strlen("data."), NULL);
    rgm_free(key);
    return status;
}

void rgmi_translation_eval_sets(rgm_eval_set *out, int64_t *count, const rgm_translation_options *o)
{
    rgm_file_sets sets = sets_of(o);

    rgm_file_sets_list(out, count, &sets);
}

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_train_sets train_sets_of(const rgm_translation_options *o)
{
    return (rgm_train_sets){o->train.count > 0, &o->train_sets, &o->weights};
}

rgm_status rgmi_translation_check_sets(const rgm_translation_options *o)
{
    rgm_file_sets sets = sets_of(o);
    rgm_train_sets trained_on = train_sets_of(o);

    RGM_TRY(rgm_train_sets_check(&trained_on));
    return rgm_file_sets_check(&sets, o->valid.count > 0, o->test.count > 0);
}

/* ---- files --------------------------------------------------------------------------------- */

/* The files that a name means: itself, or those that its pattern matches, in order. */
static rgm_status expand(char ***paths, int64_t *count, const rgm_translation_options *o,
                         const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    *paths = NULL;
    *count = 0;
    RGM_GO(rgm_path_in(&path, o->path, name));
    if (strpbrk(name, "*?[") != NULL && !rgm_path_exists(path)) {
        RGM_GO(rgm_tfrecord_paths(paths, count, path));
    } else {
        RGM_GO(RGM_NEW(*paths, 1));
        (*paths)[0] = path;
        *count = 1;
        path = NULL;
    }
done:
    rgm_free(path);
    return status;
}

/* ---- factors: behind the words of sources, or in files of their own ------------------------ */

/* Sources go on without their factors. where: of their lines, for messages. */
static rgm_status take_factors(rgm_corpus **corpus, rgm_ids *words, const rgmi_factors *f,
                               const char *where, const char *unit)
{
    rgm_status status = RGM_OK;
    rgm_corpus *made = NULL;
    rgm_text plain = {0};

    RGM_GO(rgm_corpus_create(&made, rgm_corpus_has_target(*corpus)));
    for (int64_t i = 0; i < rgm_corpus_count(*corpus); i++) {
        status = rgmi_factors_split(&plain, words, f, rgm_corpus_source(*corpus, i));
        if (status != RGM_OK)
            RGM_GO(rgm_error_prefix(status, "%s:%s%lld", where, unit, (long long)i + 1));
        RGM_GO(rgm_corpus_add(made, (rgm_str){plain.size > 0 ? plain.data : "", plain.size},
                              rgm_corpus_target(*corpus, i)));
    }
    rgm_corpus_release(*corpus);
    *corpus = made;
    made = NULL;
done:
    rgm_text_clear(&plain);
    rgm_corpus_release(made);
    return status;
}

/* The lists of a set's files: sources, targets, and one of each factor. */
typedef struct file_lists {
    char ***paths;   /* [lists] of [count] */
    int64_t *counts; /* [lists]            */
    int64_t lists;
} file_lists;

/* Those that stand in files of their own, file i of each list. */
static rgm_status read_factors(const rgm_corpus *corpus, rgm_ids *words, const rgmi_factors *f,
                               const file_lists *l, int64_t file)
{
    rgm_status status = RGM_OK;
    rgm_corpus **columns = NULL;
    const char **paths = NULL;
    rgm_str *lines = NULL;

    RGM_GO(RGM_NEW(columns, f->count));
    RGM_GO(RGM_NEW(paths, f->count));
    RGM_GO(RGM_NEW(lines, f->count));
    for (int64_t j = 0; j < f->count; j++) {
        paths[j] = l->paths[2 + j][file];
        RGM_GO(rgm_corpus_load(&columns[j], paths[j], NULL, NULL));
        if (rgm_corpus_count(columns[j]) != rgm_corpus_count(corpus))
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s has %lld lines, but %s has %lld", paths[j],
                            (long long)rgm_corpus_count(columns[j]), l->paths[0][file],
                            (long long)rgm_corpus_count(corpus)));
    }
    for (int64_t i = 0; i < rgm_corpus_count(corpus); i++) {
        for (int64_t j = 0; j < f->count; j++)
            lines[j] = rgm_corpus_source(columns[j], i);
        RGM_GO(rgmi_factors_beside(words, f, rgm_corpus_source(corpus, i), lines, paths, i + 1));
    }
done:
    for (int64_t j = 0; columns != NULL && j < f->count; j++)
        rgm_corpus_release(columns[j]);
    rgm_free(columns);
    rgm_free(paths);
    rgm_free(lines);
    return status;
}

/* ---- a set --------------------------------------------------------------------------------- */

/* File i of each list, or of tab-separated ones; words: their factors are added. */
static rgm_status load_file(rgm_corpus **out, rgm_ids *words, const rgmi_factors *f,
                            const file_lists *l, int64_t i)
{
    const char *source = l->paths[0][i];

    RGM_TRY(l->lists > 1 ? rgm_corpus_load(out, source, l->paths[1][i], NULL)
                         : rgm_corpus_load_tsv(out, source, NULL));
    if (f->count == 0)
        return RGM_OK;
    return l->lists > 2 ? read_factors(*out, words, f, l, i)
                        : take_factors(out, words, f, source, "");
}

static rgm_status load_files(rgm_corpus **out, rgm_ids *words, const rgmi_factors *f,
                             const file_lists *l)
{
    rgm_status status = RGM_OK;
    int64_t count = l->counts[0];
    rgm_corpus **parts = NULL;

    if (count == 1)
        return load_file(out, words, f, l, 0);
    RGM_TRY(RGM_NEW(parts, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(load_file(&parts[i], words, f, l, i));
    RGM_GO(rgm_corpus_join(out, parts, count));
done:
    for (int64_t i = 0; i < count; i++)
        rgm_corpus_release(parts[i]);
    rgm_free(parts);
    return status;
}

static rgm_status load_text(rgm_corpus **out, rgm_ids *words, const rgmi_translation_data *data,
                            const rgm_texts *files)
{
    rgm_status status = RGM_OK;
    file_lists l = {.lists = files->count};

    RGM_GO(RGM_NEW(l.paths, l.lists));
    RGM_GO(RGM_NEW(l.counts, l.lists));
    for (int64_t k = 0; k < l.lists; k++) {
        RGM_GO(expand(&l.paths[k], &l.counts[k], data->options, files->items[k]));
        if (l.counts[k] != l.counts[0])
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s means %lld files and %s %lld: they go two by two",
                            files->items[0], (long long)l.counts[0], files->items[k],
                            (long long)l.counts[k]));
    }
    RGM_GO(load_files(out, words, &data->factors, &l));
done:
    for (int64_t k = 0; l.paths != NULL && l.counts != NULL && k < l.lists; k++)
        rgm_names_release(l.paths[k], l.counts[k]);
    rgm_free(l.paths);
    rgm_free(l.counts);
    return status;
}

/* words: the factors of its words are added. */
static rgm_status load_corpus(rgm_corpus **out, rgm_ids *words, const rgmi_translation_data *data,
                              const rgm_texts *files)
{
    const rgm_translation_options *o = data->options;
    rgm_status status = RGM_OK;
    char *records = NULL;

    if (o->src_lang == NULL) {
        RGM_GO(load_text(out, words, data, files));
    } else {
        RGM_GO(rgm_path_in(&records, o->path, files->items[0]));
        RGM_GO(rgm_corpus_load_tfrecords(out, records, o->src_lang, o->tgt_lang, NULL));
        if (data->factors.count > 0)
            RGM_GO(take_factors(out, words, &data->factors, records, " pair "));
    }
    if (rgm_corpus_count(*out) == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s has no pairs", files->items[0]));
done:
    rgm_free(records);
    if (status != RGM_OK) {
        rgm_corpus_release(*out);
        *out = NULL;
    }
    return status;
}

/* ---- what is trained on -------------------------------------------------------------------- */

/* An epoch has as many pairs as all sources together, shared out by their weights. */
static void share_out(rgmi_translation_data *data)
{
    const rgm_translation_options *o = data->options;
    const rgm_train_sets sets = train_sets_of(o);
    double sum = 0, all = 0;

    for (int64_t i = 0; i < data->source_count; i++) {
        sum += rgm_train_sets_weight(&sets, data->sources[i].name);
        all += (double)data->sources[i].pairs;
    }
    for (int64_t i = 0; i < data->source_count; i++) {
        rgmi_source *s = &data->sources[i];

        s->times = o->weights.count == 0
                       ? 1
                       : all * rgm_train_sets_weight(&sets, s->name) / sum / (double)s->pairs;
    }
}

/* `train` and train_sets, one after the other. */
static rgm_status load_training(rgm_corpus **out, rgmi_translation_data *data)
{
    rgm_status status = RGM_OK;
    const rgm_translation_options *o = data->options;
    int64_t own = o->train.count > 0, count = own + o->train_sets.count;
    rgm_corpus **parts = NULL;

    if (data->sources == NULL)
        RGM_TRY(RGM_NEW(data->sources, count));
    RGM_TRY(RGM_NEW(parts, count));
    data->source_count = count;
    for (int64_t i = 0; i < count; i++) {
        const char *set = i < own ? NULL : o->train_sets.names[i - own];

        status = load_corpus(&parts[i], &data->parts[RGM_TRAIN].words, data,
                             set == NULL ? &o->train : &o->train_sets.items[i - own]);
        RGM_GO(status == RGM_OK ? RGM_OK
                                : blame(status, set != NULL ? "train_sets" : "train", set));
        data->sources[i] =
            (rgmi_source){.name = set != NULL ? set : "train", .pairs = rgm_corpus_count(parts[i])};
    }
    share_out(data);
    if (count == 1)
        *out = rgm_corpus_retain(parts[0]);
    else
        RGM_GO(rgm_corpus_join(out, parts, count));
done:
    for (int64_t i = 0; i < count; i++)
        rgm_corpus_release(parts[i]);
    rgm_free(parts);
    return status;
}

rgm_status rgmi_translation_text(rgmi_translation_data *data, int number)
{
    const rgm_translation_options *o = data->options;
    const rgm_texts *files = files_of(o, number);
    rgm_corpus **corpus = &data->parts[number].corpus;
    rgm_status status;

    if (*corpus != NULL)
        return RGM_OK;
    data->parts[number].words.count = 0; /* of what failed before */
    if (number == RGM_TRAIN)
        return load_training(corpus, data);
    if (files->count == 0)
        return RGM_OK;
    status = load_corpus(corpus, &data->parts[number].words, data, files);
    return status == RGM_OK ? RGM_OK : rgmi_part_error(status, o, number);
}

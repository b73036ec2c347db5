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

rgm_status rgmi_translation_path(char **out, const rgm_translation_options *o, const char *name)
{
    return name[0] == '/' ? rgm_strdup(out, name) : rgm_path_join(out, o->path, name);
}

/* The files that a name means: itself, or those that its pattern matches, in order. */
static rgm_status expand(char ***paths, int64_t *count, const rgm_translation_options *o,
                         const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    *paths = NULL;
    *count = 0;
    RGM_GO(rgmi_translation_path(&path, o, name));
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

/* File i of one list and of the other, or of tab-separated ones. */
static rgm_status load_files(rgm_corpus **out, char *const *source, char *const *target,
                             int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_corpus **parts = NULL;

    if (count == 1)
        return target != NULL ? rgm_corpus_load(out, source[0], target[0], NULL)
                              : rgm_corpus_load_tsv(out, source[0], NULL);
    RGM_TRY(RGM_NEW(parts, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(target != NULL ? rgm_corpus_load(&parts[i], source[i], target[i], NULL)
                              : rgm_corpus_load_tsv(&parts[i], source[i], NULL));
    RGM_GO(rgm_corpus_join(out, parts, count));
done:
    for (int64_t i = 0; i < count; i++)
        rgm_corpus_release(parts[i]);
    rgm_free(parts);
    return status;
}

static rgm_status load_text(rgm_corpus **out, const rgm_translation_options *o,
                            const rgm_texts *files)
{
    rgm_status status = RGM_OK;
    char **source = NULL, **target = NULL;
    int64_t sources = 0, targets = 0;

    RGM_GO(expand(&source, &sources, o, files->items[0]));
    if (files->count > 1)
        RGM_GO(expand(&target, &targets, o, files->items[1]));
    if (files->count > 1 && sources != targets)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s means %lld files and %s %lld: they go two by two",
                        files->items[0], (long long)sources, files->items[1], (long long)targets));
    RGM_GO(load_files(out, source, target, sources));
done:
    rgm_names_release(source, sources);
    rgm_names_release(target, targets);
    return status;
}

static rgm_status load_corpus(rgm_corpus **out, const rgm_translation_options *o,
                              const rgm_texts *files)
{
    rgm_status status = RGM_OK;
    char *records = NULL;

    if (o->src_lang == NULL) {
        RGM_GO(load_text(out, o, files));
    } else {
        RGM_GO(rgmi_translation_path(&records, o, files->items[0]));
        RGM_GO(rgm_corpus_load_tfrecords(out, records, o->src_lang, o->tgt_lang, NULL));
    }
    if (rgm_corpus_count(*out) == 0) {
        rgm_corpus_release(*out);
        *out = NULL;
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s has no pairs", files->items[0]));
    }
done:
    rgm_free(records);
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

        status = load_corpus(&parts[i], o, set == NULL ? &o->train : &o->train_sets.items[i - own]);
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
    if (number == RGM_TRAIN)
        return load_training(corpus, data);
    if (files->count == 0)
        return RGM_OK;
    status = load_corpus(corpus, o, files);
    return status == RGM_OK ? RGM_OK : rgmi_part_error(status, o, number);
}

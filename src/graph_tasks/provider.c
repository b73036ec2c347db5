/*
 * Providers: counted pairs of a type's functions and a state; TFRecord files; weighted mixes. Those
 * that hold graphs are in provider_graphs.c, mini-batches sampled in memory in provider_sampling.c.
 */
#include <stdatomic.h>
#include "learning.h"

struct rgm_provider {
    atomic_long references;
    const rgm_provider_type *type;
    void *state;
};

rgm_provider *rgm_provider_create(const rgm_provider_type *type, void *state)
{
    rgm_provider *provider;

    if (RGM_NEW(provider, 1) != RGM_OK)
        return NULL;
    provider->references = 1;
    provider->type = type;
    provider->state = state;
    return provider;
}

rgm_provider *rgm_provider_retain(rgm_provider *provider)
{
    if (provider != NULL)
        atomic_fetch_add(&provider->references, 1);
    return provider;
}

void rgm_provider_release(rgm_provider *provider)
{
    if (provider == NULL || atomic_fetch_sub(&provider->references, 1) > 1)
        return;
    if (provider->type->release != NULL)
        provider->type->release(provider->state);
    rgm_free(provider);
}

rgm_schema *rgm_provider_schema(const rgm_provider *provider)
{
    return provider->type->schema != NULL ? provider->type->schema(provider->state) : NULL;
}

rgm_status rgm_provider_dataset(rgm_dataset **out, const rgm_provider *provider, bool training)
{
    return provider->type->dataset(out, provider->state, training);
}

rgm_status rgm_provider_draw(rgm_provider *provider, const double *weights, int64_t count)
{
    if (provider->type->draw == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the elements of a provider of type '%s' cannot be drawn one by one",
                        provider->type->name);
    return provider->type->draw(provider->state, weights, count);
}

rgm_status rgmi_draws_set(rgmi_draws *draws, const double *weights, int64_t count, int64_t units)
{
    double *copy;

    if (count != units)
        return RGM_FAIL(RGM_ERR_ARG, "%lld weights of %lld to draw from", (long long)count,
                        (long long)units);
    RGM_TRY(RGM_NEW(copy, count));
    memcpy(copy, weights, (size_t)count * sizeof *copy);
    rgm_free(draws->weights);
    *draws = (rgmi_draws){copy, count};
    return RGM_OK;
}

rgm_status rgmi_draws_order(rgm_dataset **data, const rgmi_draws *draws, bool shuffle)
{
    if (draws->weights != NULL)
        return rgm_dataset_draw(data, draws->weights, draws->count);
    return shuffle ? rgm_dataset_shuffle_all(data) : RGM_OK;
}

void *rgmi_provider_state(const rgm_provider *provider, const rgm_provider_type *type)
{
    return provider != NULL && provider->type == type ? provider->state : NULL;
}

bool rgmi_provider_is_batched(const rgm_provider *provider)
{
    return provider->type->batched;
}

bool rgmi_provider_is_in_memory(const rgm_provider *provider)
{
    return provider->type->in_memory;
}

rgm_status rgmi_provider_whole(rgm_graph **out, const rgm_provider *provider)
{
    *out = NULL;
    return provider->type->whole != NULL ? provider->type->whole(out, provider->state) : RGM_OK;
}

/* ---- TFRecord files ------------------------------------------------------------------------ */

typedef struct tfrecord_state {
    rgm_tfrecord_provider_options options;
    char **files;
    int64_t file_count;
    char *key;
} tfrecord_state;

static rgm_status add_paths(char ***paths, int64_t *count, const char *pattern)
{
    rgm_status status = RGM_OK;
    char **found = NULL, **all = NULL;
    int64_t more = 0;

    RGM_GO(rgm_tfrecord_paths(&found, &more, pattern));
    RGM_GO(RGM_NEW(all, *count + more));
    for (int64_t i = 0; i < *count; i++)
        all[i] = (*paths)[i];
    for (int64_t i = 0; i < more; i++) {
        all[*count + i] = found[i];
        found[i] = NULL;
    }
    rgm_free(*paths);
    *paths = all;
    *count += more;
done:
    rgm_names_release(found, more);
    return status;
}

/* What the names and patterns mean now, one behind the other. */
static rgm_status list_paths(char ***paths, int64_t *count, const tfrecord_state *files)
{
    rgm_status status = RGM_OK;

    *paths = NULL;
    *count = 0;
    for (int64_t i = 0; status == RGM_OK && i < files->file_count; i++)
        status = add_paths(paths, count, files->files[i]);
    if (status == RGM_OK)
        return RGM_OK;
    rgm_names_release(*paths, *count);
    *paths = NULL;
    *count = 0;
    return files->key != NULL ? rgm_error_prefix(status, "%s", files->key) : status;
}

static rgm_status tfrecord_dataset(rgm_dataset **out, void *state, bool training)
{
    const tfrecord_state *files = state;
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_read_tfrecords_options read = RGM_READ_TFRECORDS_OPTIONS_INIT;
    char **paths = NULL;
    int64_t count = 0;

    if (files->options.cycle_length > 0)
        read.cycle_length = files->options.cycle_length;
    read.tfrecord.max_bad_records = files->options.max_bad_records;
    RGM_GO(list_paths(&paths, &count, files));
    RGM_GO(rgm_dataset_from_paths(&data, (const char *const *)paths, count));
    if (training && files->options.shuffle_filenames)
        RGM_GO(rgm_dataset_shuffle_all(&data));
    RGM_GO(rgm_dataset_read_tfrecords(&data, &read));
    if (training && files->options.examples_shuffle_size > 0)
        RGM_GO(rgm_dataset_shuffle(&data, files->options.examples_shuffle_size));
    *out = data;
    data = NULL;
done:
    rgm_names_release(paths, count);
    rgm_dataset_release(data);
    return status;
}

static void tfrecord_release(void *state)
{
    tfrecord_state *files = state;

    rgm_names_release(files->files, files->file_count);
    rgm_free(files->key);
    rgm_free(files);
}

static const rgm_provider_type tfrecord_type = {
    .name = "tfrecord",
    .dataset = tfrecord_dataset,
    .release = tfrecord_release,
};

static rgm_status tfrecord_fill(tfrecord_state *state, const rgm_tfrecord_provider_options *options)
{
    const rgm_texts *files = &options->files;

    if (files->count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "no files of records are named");
    state->options = *options;
    if (options->key != NULL)
        RGM_TRY(rgm_strdup(&state->key, options->key));
    RGM_TRY(RGM_NEW(state->files, files->count));
    for (; state->file_count < files->count; state->file_count++)
        RGM_TRY(rgm_strdup(&state->files[state->file_count], files->items[state->file_count]));
    return RGM_OK;
}

rgm_provider *rgm_tfrecord_provider(const rgm_tfrecord_provider_options *options)
{
    tfrecord_state *files;
    rgm_provider *provider = NULL;

    if (RGM_NEW(files, 1) != RGM_OK)
        return NULL;
    if (tfrecord_fill(files, options) == RGM_OK)
        provider = rgm_provider_create(&tfrecord_type, files);
    if (provider == NULL)
        tfrecord_release(files);
    return provider;
}

/* ---- mixes --------------------------------------------------------------------------------- */

typedef struct mix_state {
    rgm_provider **providers;
    double *weights;
    int64_t count;
} mix_state;

static rgm_status mix_dataset(rgm_dataset **out, void *state, bool training)
{
    const mix_state *mix = state;
    rgm_status status = RGM_OK;
    rgm_dataset **sources = NULL;

    RGM_GO(RGM_NEW(sources, mix->count));
    for (int64_t i = 0; i < mix->count; i++) {
        RGM_GO(rgm_provider_dataset(&sources[i], mix->providers[i], training));
        /* The epoch ends with the first (principal) source; the others go on for as long. */
        if (i > 0 && training)
            RGM_GO(rgm_dataset_repeat(&sources[i], -1));
    }
    RGM_GO(rgm_dataset_mix(out, sources, mix->weights, mix->count,
                           training ? RGM_MIX_END_FIRST : RGM_MIX_END_ALL));
done:
    for (int64_t i = 0; sources != NULL && i < mix->count; i++)
        rgm_dataset_release(sources[i]);
    rgm_free(sources);
    return status;
}

static rgm_schema *mix_schema(void *state)
{
    return rgm_provider_schema(((mix_state *)state)->providers[0]);
}

static void mix_release(void *state)
{
    mix_state *mix = state;

    for (int64_t i = 0; mix->providers != NULL && i < mix->count; i++)
        rgm_provider_release(mix->providers[i]);
    rgm_free(mix->providers);
    rgm_free(mix->weights);
    rgm_free(mix);
}

static const rgm_provider_type mix_type = {
    .name = "mix",
    .dataset = mix_dataset,
    .schema = mix_schema,
    .release = mix_release,
};

static rgm_status mix_fill(mix_state *mix, rgm_provider *const *providers, const double *weights,
                           int64_t count)
{
    RGM_TRY(RGM_NEW(mix->providers, count));
    RGM_TRY(RGM_NEW(mix->weights, count));
    mix->count = count;
    for (int64_t i = 0; i < count; i++) {
        if (providers[i] == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "provider %lld of a mix is NULL: %s", (long long)i,
                            rgm_error_message());
        if (rgmi_provider_is_batched(providers[i]))
            return RGM_FAIL(RGM_ERR_ARG, "provider %lld of a mix gives whole mini-batches",
                            (long long)i);
        mix->providers[i] = rgm_provider_retain(providers[i]);
        mix->weights[i] = weights != NULL ? weights[i] : 1.0;
    }
    return RGM_OK;
}

rgm_provider *rgm_mix_provider(rgm_provider *const *providers, const double *weights, int64_t count)
{
    mix_state *mix;
    rgm_provider *provider = NULL;

    if (count < 1) {
        RGM_FAIL(RGM_ERR_ARG, "a mix of no providers");
        return NULL;
    }
    if (RGM_NEW(mix, 1) != RGM_OK)
        return NULL;
    if (mix_fill(mix, providers, weights, count) == RGM_OK)
        provider = rgm_provider_create(&mix_type, mix);
    if (provider == NULL)
        mix_release(mix);
    return provider;
}

/* ---- how many files ------------------------------------------------------------------------- */

static rgm_status count_files(int64_t *count, const tfrecord_state *files)
{
    char **paths;

    RGM_TRY(list_paths(&paths, count, files));
    rgm_names_release(paths, *count);
    return RGM_OK;
}

rgm_status rgmi_provider_file_count(int64_t *count, const rgm_provider *provider)
{
    const tfrecord_state *files = rgmi_provider_state(provider, &tfrecord_type);
    const mix_state *mix = rgmi_provider_state(provider, &mix_type);

    *count = 0;
    if (files != NULL)
        return count_files(count, files);
    for (int64_t i = 0; mix != NULL && i < mix->count; i++) {
        int64_t more;

        RGM_TRY(rgmi_provider_file_count(&more, mix->providers[i]));
        *count += more;
    }
    return RGM_OK;
}

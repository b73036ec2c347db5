/*
 * Searches over experiments: what a search file's own sections are to the search layer, which knows
 * no experiment.
 */
#include "trial_internal.h"

/* A trial is one run: folds and seeds are a whole search for each. */
static rgm_status check_single(const rgm_experiment *experiment, const char *path)
{
    int64_t count = rgm_experiment_part_count(experiment);

    if (count == 1)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s: trainer.folds and runtime.seeds make %lld runs, but a trial is one: "
                    "trainer.fold names the fold that the search is on, and what it finds is run "
                    "on all of them",
                    path, (long long)count);
}

static rgm_status load_point(rgm_experiment **out, const char *path, const rgm_yaml *document,
                             const rgm_extensions *own)
{
    rgm_status status = RGM_OK;

    RGM_GO(rgm_experiment_load_merged(out, path, document, own));
    RGM_GO(check_single(*out, path));
done:
    if (status != RGM_OK) {
        rgm_experiment_release(*out);
        *out = NULL;
    }
    return status;
}

static rgm_status check_point(const char *name, const rgm_yaml *document, const void *payload)
{
    rgm_experiment *experiment;
    rgm_status status = load_point(&experiment, name, document, payload);

    rgm_experiment_release(experiment);
    return status;
}

const rgm_search_subject rgm_trial_subject = {.sections = rgm_experiment_section_names,
                                              .check = check_point};

/* The rows that the file was loaded with. */
static const rgm_extensions *own_of(const rgm_search_file *file)
{
    const rgm_search_subject *subject = rgm_search_file_subject(file);

    return subject != NULL && subject->check == check_point ? subject->payload : NULL;
}

rgm_status rgm_trial_load_search(rgm_search_file **out, rgm_text *mistakes,
                                 const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_search_subject subject = rgm_trial_subject;
    rgm_yaml *merged = NULL;

    *out = NULL;
    subject.payload = layers->own;
    RGM_GO(rgm_experiment_merge_layers(&merged, layers));
    RGM_GO(rgm_search_file_load(out, mistakes, layers->name, merged, &subject));
done:
    rgm_yaml_release(merged);
    return status;
}

rgm_status rgm_trial_experiment(rgm_experiment **out, const rgm_search_file *file,
                                const rgm_hyper_value *values, uint32_t seed)
{
    const char *path = rgm_search_file_path(file);
    const char *entrypoint = rgm_search_file_settings(file)->entrypoint;
    rgm_status status = RGM_OK;
    rgm_yaml *document = NULL;

    *out = NULL;
    if (entrypoint != NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s trains what %s says, which is no experiment file",
                        path, entrypoint);
    RGM_GO(rgm_search_file_point(&document, file, values, seed));
    RGM_GO(load_point(out, path, document, own_of(file)));
done:
    rgm_yaml_release(document);
    return status;
}

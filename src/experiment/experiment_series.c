/*
 * An experiment that is several runs: folds of a cross-validation, repeated seeds. Each run is the
 * merged file with its own fold and seed, so its run folder describes it completely.
 */
#include <stdio.h>

#include "experiment_internal.h"

static rgm_status set_number(rgm_yaml *document, const char *path, int64_t number,
                             const char *origin)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)number);
    return rgm_yaml_set(document, path, text, origin);
}

/* Set fold and seed in the document; 0 folds: the file names the fold, or has none. */
static rgm_status set_part(rgm_yaml *document, const rgm_experiment *e, int64_t fold, int64_t seed)
{
    if (fold > 0)
        RGM_TRY(set_number(document, "trainer.fold", fold, "--set trainer.fold"));
    if (e->runtime.seeds == 0)
        return RGM_OK;
    RGM_TRY(set_number(document, "runtime.seeds", 0, "--set runtime.seeds"));
    return set_number(document, "runtime.seed", seed, "--set runtime.seed");
}

static rgm_status name_part(char **name, const rgm_experiment *e, int64_t fold, int64_t seed)
{
    if (fold == 0)
        return rgm_strprintf(name, "seed-%lld", (long long)seed);
    if (rgmi_seed_count(e) == 1)
        return rgm_strprintf(name, "fold-%lld", (long long)fold);
    return rgm_strprintf(name, "seed-%lld-fold-%lld", (long long)seed, (long long)fold);
}

rgm_status rgm_experiment_part(rgm_experiment **out, char **name, const rgm_experiment *e,
                               int64_t i)
{
    rgm_status status = RGM_OK;
    rgm_yaml *document = NULL;
    int64_t folds = rgmi_fold_count(e), fold = folds > 1 ? i % folds + 1 : 0;
    int64_t seed = e->runtime.seed + i / folds;

    *out = NULL;
    *name = NULL;
    if (i < 0 || i >= rgm_experiment_part_count(e))
        return RGM_FAIL(RGM_ERR_ARG, "run %lld of %lld", (long long)i,
                        (long long)rgm_experiment_part_count(e));
    RGM_GO(rgmi_document_copy(&document, e->yaml, e->path));
    RGM_GO(set_part(document, e, fold, seed));
    RGM_GO(name_part(name, e, fold, seed));
    RGM_GO(rgm_experiment_load_merged(out, e->path, document, e->own));
done:
    if (status != RGM_OK) {
        rgm_free(*name);
        *name = NULL;
    }
    rgm_yaml_release(document);
    return status;
}

/* A trial of a task that the library has: hyperparameters of one's own names become an experiment.
 * Compiled as a shared object it is the entrypoint of premade.yaml:
 *
 *     regimen trial test premade.yaml
 */
#include <regimen/trial.h>

/* Two layers, of which the second has a share of the first one's units. */
static rgm_status build_premade(rgm_premade *out, const rgm_config *experiment,
                                const rgm_config *hparams)
{
    int64_t units = rgm_config_int(hparams, "units");
    int64_t rest = (int64_t)((double)units * rgm_config_float(hparams, "share"));

    if (rest < 1)
        return rgm_invalid_hyperparameters("no unit of %lld is left", (long long)units);
    rgm_premade_begin(out, "demo"); /* a named experiment, or a file */
    rgm_premade_take(out, "data.citation", experiment, "data");
    rgm_premade_set(out, "model.hidden", "[%lld, %lld]", (long long)units, (long long)rest);
    rgm_premade_set(out, "optimizer.learning_rate", "%.17g", rgm_config_float(hparams, "rate"));
    return RGM_OK;
}

RGM_TRIAL(premade, .build_premade = build_premade);

/* A trial that is a list of layers, as Keras has it, and whose export takes tensors and serialized
 * tf.train.Examples. Compiled as a shared object it is the entrypoint of layers.yaml:
 *
 *     regimen trial test layers.yaml
 */
#include <regimen/trial.h>

enum { POINTS = 60 };

/* Points [POINTS, 2] around two places, and which of them each is around [POINTS]. */
static rgm_status points(rgm_dataset **out, const char *part)
{
    rgm_rng random = rgm_rng_stream(1, part, 0);
    rgm_tensor *point = NULL, *side = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_tensor_create(&point, RGM_F32, 2, (int64_t[]){POINTS, 2}));
    RGM_GO(rgm_tensor_create(&side, RGM_I64, 1, (int64_t[]){POINTS}));
    for (int64_t i = 0; i < 2 * POINTS; i++)
        rgm_tensor_f32(point)[i] =
            (float)(rgm_rng_normal(&random, (uint64_t)i) + (i % 4 > 1 ? 2 : 0));
    for (int64_t i = 0; i < POINTS; i++)
        rgm_tensor_i64(side)[i] = i % 2;
    RGM_GO(rgm_dataset_from_tensors(out, (rgm_tensor *[]){point, side}, 2));
    RGM_GO(rgm_dataset_batch(out, 20, false));
done:
    rgm_tensor_release(point);
    rgm_tensor_release(side);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static const char *const names[] = {"point", "side", NULL};

    (void)experiment, (void)hparams;
    out->names = names;
    RGM_TRY(points(&out->train, "train"));
    return points(&out->valid, "valid");
}

static rgm_status build_sequential(rgm_sequential *out, const rgm_config *experiment,
                                   const rgm_config *hparams)
{
    (void)experiment;
    rgm_sequential_add(out, "dense %lld relu", (long long)rgm_config_int(hparams, "units"));
    rgm_sequential_add(out, "dropout %g", rgm_config_float(hparams, "dropout"));
    rgm_sequential_add(out, "dense 2");
    out->loss = RGM_LOSS_CLASSES;
    out->optimizer = rgm_adam(0.01);
    return RGM_OK;
}

static rgm_status receivers(rgm_serving_receiver *out, int64_t *count, const rgm_config *hparams)
{
    static const rgm_parsed_feature features[] = {{.input = "point", .key = "xy"}, {0}};

    (void)hparams;
    out[0] = (rgm_serving_receiver){.name = "raw"};
    out[1] = (rgm_serving_receiver){.name = "parsing", .features = features};
    *count = 2;
    return RGM_OK;
}

RGM_TRIAL(layers, .make_data_loaders = make_data_loaders, .build_sequential = build_sequential,
          .build_serving_input_receiver_fns = receivers);

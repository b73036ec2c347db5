/* A trial with a model and data of one's own: two moons, which a line does not part. Compiled as a
 * shared object it is the entrypoint of moons.yaml:
 *
 *     make && regimen trial test moons.yaml
 */
#include <math.h>

#include <regimen/trial.h>

static const char *const names[] = {"point", "moon", NULL};

/* Points [count, 2] of two half circles with noise, and which moon each is of [count]. */
static rgm_status draw_moons(rgm_tensor **point, rgm_tensor **moon, const char *part, int64_t count,
                             double noise)
{
    rgm_rng random = rgm_rng_stream(1, part, 0);

    RGM_TRY(rgm_tensor_create(point, RGM_F32, 2, (int64_t[]){count, 2}));
    RGM_TRY(rgm_tensor_create(moon, RGM_I32, 1, (int64_t[]){count}));
    for (int64_t i = 0; i < count; i++) {
        uint64_t draw = 3 * (uint64_t)i;
        double angle = 3.14159265358979 * rgm_rng_f64(&random, draw);
        bool upper = i % 2 == 1;
        double x = upper ? cos(angle) : 1 - cos(angle);
        double y = upper ? sin(angle) : 0.5 - sin(angle);

        x += noise * rgm_rng_normal(&random, draw + 1);
        y += noise * rgm_rng_normal(&random, draw + 2);
        rgm_tensor_f32(*point)[2 * i] = (float)x;
        rgm_tensor_f32(*point)[2 * i + 1] = (float)y;
        rgm_tensor_i32(*moon)[i] = upper;
    }
    return RGM_OK;
}

/* Batches of one part; training data are shuffled anew in every pass. */
static rgm_status moons(rgm_dataset **out, const char *part, int64_t count, double noise,
                        int64_t batch_size)
{
    rgm_status status = RGM_OK;
    rgm_tensor *point = NULL, *moon = NULL;

    RGM_GO(draw_moons(&point, &moon, part, count, noise));
    RGM_GO(rgm_dataset_from_tensors(out, (rgm_tensor *[]){point, moon}, 2));
    if (part[0] == 't')
        RGM_GO(rgm_dataset_shuffle_all(out));
    RGM_GO(rgm_dataset_batch(out, batch_size, false));
done:
    rgm_tensor_release(point);
    rgm_tensor_release(moon);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    double noise = rgm_config_float(experiment, "data.noise");
    int64_t batch_size = rgm_config_int(hparams, "batch_size");

    if (batch_size > 500)
        return rgm_invalid_hyperparameters("there are 500 points, no batch of %lld",
                                           (long long)batch_size);
    out->names = names;
    RGM_TRY(moons(&out->train, "train", 500, noise, batch_size));
    return moons(&out->valid, "valid", 200, noise, batch_size);
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *point = rgm_record_value(record, "point"); /* [batch, 2] */
    rgm_value *moon = rgm_record_value(record, "moon");   /* [batch] */
    rgm_value *hidden, *logits, *right;

    (void)is_training; /* rgm_dropout() knows by itself */
    hidden = rgm_relu(rgm_dense(scope, "hidden", point, rgm_config_int(hparams, "net.units")));
    hidden = rgm_dropout(scope, hidden, rgm_config_float(hparams, "net.dropout"));
    logits = rgm_dense(scope, "logits", hidden, 2);
    right = rgm_equal(rgm_cast(rgm_argmax(logits), RGM_I32), moon);
    rgm_output(out, "loss", rgm_mean(rgm_softmax_cross_entropy(logits, moon)));
    rgm_output_as(out, "accuracy", rgm_mean(right), RGM_AGGREGATE_WEIGHTED_MEAN);
    rgm_output_values(out, "right", right); /* [batch], for the reducer below */
    rgm_output_prediction(out, "logits", logits, RGM_OUTPUT_LOGITS);
}

/* A metric of one's own: the accuracy on the moon that is told worse. counts: right and all points
 * of either moon. */
static rgm_status add_worst(rgm_gathered *gathered, const rgm_reducer *reducer,
                            rgm_tensor *const *values, const rgm_config *hparams)
{
    double *counts = rgm_gathered_counts(gathered);

    (void)reducer, (void)hparams;
    for (int64_t i = 0; i < rgm_tensor_count(values[0]); i++) {
        int moon = rgm_tensor_i32(values[1])[i];

        counts[2 * moon] += rgm_tensor_at(values[0], i);
        counts[2 * moon + 1]++;
    }
    return RGM_OK;
}

static rgm_status worst(double *out, rgm_gathered *gathered, const rgm_reducer *reducer,
                        const rgm_config *hparams)
{
    const double *counts = rgm_gathered_counts(gathered);

    (void)reducer, (void)hparams;
    *out = fmin(counts[0] / counts[1], counts[2] / counts[3]);
    return RGM_OK;
}

static rgm_status make_metrics(rgm_measures *out, const rgm_config *experiment,
                               const rgm_config *hparams)
{
    (void)experiment, (void)hparams;
    rgm_measure_validation(out, "accuracy");
    rgm_measure_by(out, &(rgm_reducer){.name = "worst_accuracy",
                                       .inputs = {"right", "moon"},
                                       .counts = 4,
                                       .add = add_worst,
                                       .result = worst});
    return RGM_OK;
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    return rgm_adam(rgm_config_float(hparams, "learning_rate"));
}

RGM_TRIAL(moons, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .training_metrics = {"accuracy"}, .make_metrics = make_metrics);

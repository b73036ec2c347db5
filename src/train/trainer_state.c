/*
 * Where a run stands, in memory and in its folder. A checkpoint holds everything that the rest of the
 * run depends on: weights, optimizer slots, the best weights so far, counters, data position, metric
 * sums of the epoch under way. A run that was killed and started again ends with the same bytes.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- best ---------------------------------------------------------------------------------- */

static rgm_status best_weights_open(rgm_trainer *trainer)
{
    int64_t count = rgm_parameters_count(trainer->parameters);

    if (trainer->best_weights != NULL)
        return RGM_OK;
    RGM_TRY(RGM_NEW(trainer->best_weights, count));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_tensor_copy(&trainer->best_weights[i],
                                rgm_parameters_tensor(trainer->parameters, i)));
    return RGM_OK;
}

rgm_status rgmi_keep_best(rgm_trainer *trainer, double value)
{
    RGM_TRY(best_weights_open(trainer));
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        const rgm_tensor *from = rgm_parameters_tensor(trainer->parameters, i);

        memcpy(rgm_tensor_data(trainer->best_weights[i]), rgm_tensor_data(from),
               rgm_tensor_bytes(from));
    }
    trainer->best_value = value;
    trainer->best_step = trainer->step;
    trainer->best_epoch = trainer->epoch + 1;
    return RGM_OK;
}

rgm_status rgm_trainer_restore_best(rgm_trainer *trainer)
{
    if (trainer->best_step < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no best weights were kept: there was no validation");
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        rgm_tensor *to = rgm_parameters_tensor(trainer->parameters, i);

        memcpy(rgm_tensor_data(to), rgm_tensor_data(trainer->best_weights[i]),
               rgm_tensor_bytes(to));
    }
    rgm_parameters_touch(trainer->parameters);
    return RGM_OK;
}

/* ---- save ---------------------------------------------------------------------------------- */

static rgm_status add_counters(rgm_checkpoint *checkpoint, const rgm_trainer *trainer)
{
    RGM_TRY(rgm_checkpoint_set_int(checkpoint, "epoch", trainer->epoch));
    RGM_TRY(rgm_checkpoint_set_int(checkpoint, "epoch_step", trainer->epoch_step));
    RGM_TRY(rgm_checkpoint_set_int(checkpoint, "seed", (int64_t)trainer->seed));
    RGM_TRY(rgm_checkpoint_set_int(checkpoint, "finished", trainer->finished));
    RGM_TRY(rgm_checkpoint_set_int(checkpoint, "best_step", trainer->best_step));
    RGM_TRY(rgm_checkpoint_set_int(checkpoint, "best_epoch", trainer->best_epoch));
    RGM_TRY(rgm_checkpoint_set_int(checkpoint, "stale_validations", trainer->stale));
    RGM_TRY(rgm_checkpoint_set_number(checkpoint, "stop_value", trainer->stop_value));
    RGM_TRY(rgm_checkpoint_set_number(checkpoint, "best_value", trainer->best_value));
    return rgm_checkpoint_set_text(checkpoint, "best_metric", trainer->best_name);
}

static rgm_status add_position(rgm_checkpoint *checkpoint, const rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    rgm_text position = {0};

    if (trainer->iterator != NULL)
        RGM_GO(rgm_iterator_save(&position, trainer->iterator));
    RGM_GO(rgm_checkpoint_set_blob(checkpoint, "data", position.data, position.size));
    RGM_GO(rgm_checkpoint_set_blob(checkpoint, "sums", trainer->train_sums.state,
                                   trainer->train_sums.size * (int64_t)sizeof(double)));
done:
    rgm_text_clear(&position);
    return status;
}

rgm_status rgmi_state_save(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    int64_t offset = 0;

    if (trainer->store == NULL ||
        (trainer->saved_step == trainer->step && trainer->saved_epoch == trainer->epoch))
        return RGM_OK;
    RGM_GO(rgm_checkpoint_create(&checkpoint, trainer->step));
    RGM_GO(rgm_checkpoint_add_parameters(checkpoint, trainer->parameters));
    RGM_GO(rgm_checkpoint_add_slots(checkpoint, trainer->optimizer));
    if (trainer->best_step >= 0)
        for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
            RGM_GO(rgm_checkpoint_add_best(checkpoint, rgm_parameters_name(trainer->parameters, i),
                                           trainer->best_weights[i]));
    RGM_GO(add_counters(checkpoint, trainer));
    RGM_GO(add_position(checkpoint, trainer));
    RGM_GO(rgm_metrics_log_commit(&offset, trainer->metrics_log));
    RGM_GO(rgm_checkpoint_set_int(checkpoint, "metrics_offset", offset));
    RGM_GO(rgm_event_file_flush(trainer->train_events));
    RGM_GO(rgm_event_file_flush(trainer->valid_events));
    RGM_GO(rgm_checkpoint_save(trainer->store, checkpoint));
    trainer->saved_step = trainer->step;
    trainer->saved_epoch = trainer->epoch;
    trainer->saved_time = rgm_now();
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

rgm_status rgm_trainer_save(rgm_trainer *trainer)
{
    return rgmi_state_save(trainer);
}

/* ---- restore ------------------------------------------------------------------------------- */

static rgm_status read_counters(rgm_trainer *trainer, const rgm_checkpoint *checkpoint,
                                int64_t *metrics_offset)
{
    int64_t seed, finished;
    const char *metric;

    RGM_TRY(rgm_checkpoint_int(&seed, checkpoint, "seed"));
    if ((uint64_t)seed != trainer->seed)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run was begun with seed %lld and cannot go on with seed %llu; use "
                        "another run folder",
                        (long long)seed, (unsigned long long)trainer->seed);
    RGM_TRY(rgm_checkpoint_int(&trainer->epoch, checkpoint, "epoch"));
    RGM_TRY(rgm_checkpoint_int(&trainer->epoch_step, checkpoint, "epoch_step"));
    RGM_TRY(rgm_checkpoint_int(&finished, checkpoint, "finished"));
    RGM_TRY(rgm_checkpoint_int(&trainer->best_step, checkpoint, "best_step"));
    RGM_TRY(rgm_checkpoint_int(&trainer->best_epoch, checkpoint, "best_epoch"));
    RGM_TRY(rgm_checkpoint_int(&trainer->stale, checkpoint, "stale_validations"));
    RGM_TRY(rgm_checkpoint_number(&trainer->best_value, checkpoint, "best_value"));
    RGM_TRY(rgm_checkpoint_number(&trainer->stop_value, checkpoint, "stop_value"));
    RGM_TRY(rgm_checkpoint_text(&metric, checkpoint, "best_metric"));
    RGM_TRY(rgm_checkpoint_int(metrics_offset, checkpoint, "metrics_offset"));
    if (strcmp(metric, trainer->best_name) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run's best weights were chosen by '%s' and cannot go on by '%s'; use "
                        "another run folder",
                        metric, trainer->best_name);
    trainer->finished = finished != 0;
    trainer->step = rgm_checkpoint_step(checkpoint);
    trainer->saved_step = trainer->step;
    trainer->saved_epoch = trainer->epoch;
    return RGM_OK;
}

static rgm_status read_best(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    const rgm_safetensors *file = rgm_checkpoint_best_weights(checkpoint);

    if (trainer->best_step < 0)
        return RGM_OK;
    if (file == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "checkpoint %lld says step %lld was best but lacks its weights",
                        (long long)trainer->step, (long long)trainer->best_step);
    RGM_TRY(best_weights_open(trainer));
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        rgm_tensor *loaded = NULL, *to = trainer->best_weights[i];

        RGM_TRY(rgm_safetensors_get(&loaded, file, rgm_parameters_name(trainer->parameters, i)));
        if (rgm_tensor_bytes(loaded) != rgm_tensor_bytes(to)) {
            rgm_tensor_release(loaded);
            return RGM_FAIL(RGM_ERR_SHAPE, "best weight '%s' has another size in the checkpoint",
                            rgm_parameters_name(trainer->parameters, i));
        }
        memcpy(rgm_tensor_data(to), rgm_tensor_data(loaded), rgm_tensor_bytes(to));
        rgm_tensor_release(loaded);
    }
    return RGM_OK;
}

/* Data position and sums of the epoch under way. */
static rgm_status read_position(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    const void *data, *sums;
    int64_t size, sums_size;

    RGM_TRY(rgm_checkpoint_blob(&data, &size, checkpoint, "data"));
    RGM_TRY(rgm_checkpoint_blob(&sums, &sums_size, checkpoint, "sums"));
    if (sums_size != trainer->train_sums.size * (int64_t)sizeof(double))
        return RGM_FAIL(RGM_ERR_DATA, "the checkpoint's metric state has %lld bytes, this task's %lld",
                        (long long)sums_size,
                        (long long)(trainer->train_sums.size * (int64_t)sizeof(double)));
    memcpy(trainer->train_sums.state, sums, (size_t)sums_size);
    if (size == 0) /* between epochs that are a pass each */
        return RGM_OK;
    RGM_TRY(rgmi_iterator_open(trainer));
    return rgm_iterator_restore(trainer->iterator, data, size);
}

static rgm_status restore(rgm_trainer *trainer, int64_t *metrics_offset)
{
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = rgm_checkpoint_load_newest(&checkpoint, trainer->store);

    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_GO(status);
    RGM_GO(read_counters(trainer, checkpoint, metrics_offset));
    RGM_GO(rgm_checkpoint_restore_parameters(checkpoint, trainer->parameters));
    RGM_GO(rgm_optimizer_restore(trainer->optimizer, rgm_checkpoint_slots(checkpoint)));
    RGM_GO(read_best(trainer, checkpoint));
    RGM_GO(read_position(trainer, checkpoint));
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

/* ---- run folder ---------------------------------------------------------------------------- */

/* The hparams page: what was chosen, and the metrics to show beside it. */
static rgm_status write_hparams(rgm_trainer *trainer, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_hparam_metric *metrics = NULL;
    char **tags = NULL;
    int64_t count = trainer->metric_count;
    const char *slash = strrchr(path, '/');
    const char *group = trainer->data[RGM_VALID] != NULL ? "validation" : "train";

    RGM_GO(RGM_NEW(metrics, count));
    RGM_GO(RGM_NEW(tags, count));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgm_strprintf(&tags[i], "epoch_%s", trainer->metric_names[i]));
        metrics[i] = (rgm_hparam_metric){.tag = tags[i], .group = group};
    }
    RGM_GO(rgm_event_file_hparams(trainer->run_events, slash != NULL ? slash + 1 : path,
                                  trainer->hparams, trainer->hparam_count, metrics, count));
    RGM_GO(rgm_event_file_flush(trainer->run_events));
done:
    for (int64_t i = 0; tags != NULL && i < count; i++)
        rgm_free(tags[i]);
    rgm_free(tags);
    rgm_free(metrics);
    return status;
}

rgm_status rgmi_events_open(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    char *train = NULL, *valid = NULL;
    const char *path;

    if (trainer->folder == NULL || trainer->train_events != NULL)
        return RGM_OK;
    path = rgm_run_folder_path(trainer->folder);
    RGM_GO(rgm_path_join(&train, path, "train"));
    RGM_GO(rgm_path_join(&valid, path, "validation"));
    if (trainer->hparam_count > 0) {
        RGM_GO(rgm_event_file_create(&trainer->run_events, path, trainer->step + 1));
        RGM_GO(write_hparams(trainer, path));
    }
    RGM_GO(rgm_event_file_create(&trainer->train_events, train, trainer->step + 1));
    RGM_GO(rgm_event_file_create(&trainer->valid_events, valid, trainer->step + 1));
done:
    rgm_free(train);
    rgm_free(valid);
    return status;
}

rgm_status rgmi_events_end(rgm_trainer *trainer)
{
    if (trainer->run_events == NULL)
        return RGM_OK;
    RGM_TRY(rgm_event_file_session_end(trainer->run_events, true));
    return rgm_event_file_flush(trainer->run_events);
}

/* What reading a run needs, and with `write` what training it needs too. */
rgm_status rgmi_state_open(rgm_trainer *trainer, const rgm_trainer_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_run_folder_options folder = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_checkpoint_store_options store = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    char *checkpoints = NULL, *metrics = NULL;
    int64_t offset = 0;

    if (setup->run_dir == NULL)
        return RGM_OK;
    folder.config = setup->config;
    folder.seed = setup->seed;
    folder.threads = rgm_threads();
    folder.isa = rgm_kernels_for(RGM_F32)->isa;
    store.keep = trainer->options.checkpoint.keep;
    store.read_only = setup->read_only;
    RGM_GO(rgm_path_join(&checkpoints, setup->run_dir, "ckpt"));
    RGM_GO(rgm_path_join(&metrics, setup->run_dir, "metrics.jsonl"));
    if (!setup->read_only)
        RGM_GO(rgm_run_folder_open(&trainer->folder, setup->run_dir, &folder));
    RGM_GO(rgm_checkpoint_store_open(&trainer->store, checkpoints, &store));
    RGM_GO(restore(trainer, &offset));
    if (!setup->read_only)
        RGM_GO(rgm_metrics_log_open(&trainer->metrics_log, metrics, offset));
    trainer->saved_time = rgm_now();
done:
    rgm_free(checkpoints);
    rgm_free(metrics);
    return status;
}

void rgmi_state_close(rgm_trainer *trainer)
{
    if (trainer->best_weights != NULL)
        for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
            rgm_tensor_release(trainer->best_weights[i]);
    rgm_free(trainer->best_weights);
    rgm_event_file_close(trainer->run_events);
    rgm_event_file_close(trainer->train_events);
    rgm_event_file_close(trainer->valid_events);
    rgm_metrics_log_close(trainer->metrics_log);
    rgm_checkpoint_store_close(trainer->store);
    rgm_run_folder_close(trainer->folder);
}

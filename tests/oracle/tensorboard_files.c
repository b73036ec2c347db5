/*
 * Writes the event files that tensorboard_oracle.py has tensorboard read: a run that was killed
 * after step 30 with its last checkpoint at 20, and continued to 50.
 */
#include <regimen/controller_run.h>

#include <stdio.h>

static rgm_status write_start(const char *folder, int64_t first, int64_t last, double shift,
                              const rgm_tensor *weights)
{
    rgm_event_file *file = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_event_file_create(&file, folder, first));
    for (int64_t step = first; step <= last; step += 10) {
        RGM_GO(rgm_event_file_scalar(file, "epoch_loss", step, 1.0 / (double)step + shift));
        RGM_GO(rgm_event_file_scalar(file, "epoch_accuracy", step, 0.5));
        RGM_GO(rgm_event_file_histogram(file, "conv1/kernel", step, weights));
        RGM_GO(rgm_event_file_text(file, "pair_1", step, "source: \xc3\xa4  \ntranslation: b"));
    }
    RGM_GO(rgm_event_file_flush(file));
done:
    rgm_event_file_close(file);
    return status;
}

static rgm_status write_hparams(const char *folder)
{
    const rgm_hparam hparams[] = {{"optimizer.learning_rate", NULL, 0.01},
                                  {"model.type", "gcn", 0}};
    const rgm_hparam_metric metric = {"epoch_loss", "train"};
    rgm_event_file *file = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_event_file_create(&file, folder, 0));
    RGM_GO(rgm_event_file_hparams(file, "cora", hparams, 2, &metric, 1));
    RGM_GO(rgm_event_file_session_end(file, true));
    RGM_GO(rgm_event_file_flush(file));
done:
    rgm_event_file_close(file);
    return status;
}

static rgm_status write_all(const char *folder)
{
    const int64_t shape[] = {20, 5};
    rgm_tensor *weights = NULL;
    char *train = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_tensor_create(&weights, RGM_F32, 2, shape));
    for (int i = 0; i < 100; i++)
        rgm_tensor_f32(weights)[i] = (float)i;
    RGM_GO(rgm_path_join(&train, folder, "train"));
    RGM_GO(write_hparams(folder));
    RGM_GO(write_start(train, 10, 30, 100, weights)); /* wrong values, from lost work at 30 */
    RGM_GO(write_start(train, 21, 51, 0, weights));
done:
    rgm_tensor_release(weights);
    rgm_free(train);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: tensorboard_files FOLDER\n");
        return 2;
    }
    if (write_all(argv[1]) < 0) {
        fprintf(stderr, "%s\n", rgm_error_text());
        return 1;
    }
    return 0;
}

/*
 * A checkpoint as a run saves and restores it, with every sync and hash, and dd writing as many
 * bytes to the same file system; both make new files and then delete those of the step before.
 * "detach" is all that a run waits for with trainer.checkpoint.asynchronous: the copy.
 *
 * form "save" (the first), "restore", "detach", "dd"; --data FOLDER; --size: bytes, 400 MB unless
 * told.
 */
#include "bench.h"

#include <regimen/controller_run.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSORS 96 /* a third of them weights, the others slots */

enum { SAVE, RESTORE, DETACH, DD };

typedef struct saving {
    char *folder, *command;
    int form;
    int64_t bytes;
    rgm_tensor *tensors[TENSORS];
    rgm_checkpoint_store *store;
} saving;

static void tensor_name(char name[32], int i)
{
    snprintf(name, 32, "%s_%02d/kernel", i % 3 == 0 ? "dense" : "adam", i);
}

static rgm_status save(saving *s, int64_t step)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    char name[32];

    RGM_GO(rgm_checkpoint_create(&checkpoint, step));
    for (int i = 0; i < TENSORS; i++) {
        tensor_name(name, i);
        RGM_GO(i % 3 == 0 ? rgm_checkpoint_add_weight(checkpoint, name, s->tensors[i])
                          : rgm_checkpoint_add_slot(checkpoint, name, s->tensors[i]));
    }
    RGM_GO(s->form == DETACH ? rgm_checkpoint_detach(checkpoint)
                             : rgm_checkpoint_save(s->store, checkpoint));
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

/* All hashes verified, all tensors copied to where a run has them. */
static rgm_status restore(saving *s)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    rgm_tensor *loaded = NULL;
    char name[32];

    RGM_GO(rgm_checkpoint_load_newest(&checkpoint, s->store));
    for (int i = 0; i < TENSORS; i++) {
        tensor_name(name, i);
        RGM_GO(rgm_safetensors_get(&loaded,
                                   i % 3 == 0 ? rgm_checkpoint_weights(checkpoint)
                                              : rgm_checkpoint_slots(checkpoint),
                                   name));
        memcpy(rgm_tensor_data(s->tensors[i]), rgm_tensor_data(loaded), rgm_tensor_bytes(loaded));
        rgm_tensor_release(loaded);
        loaded = NULL;
    }
done:
    rgm_tensor_release(loaded);
    rgm_checkpoint_release(checkpoint);
    return status;
}

static void checkpoint_close(void *state)
{
    saving *s = state;

    if (s == NULL)
        return;
    for (int i = 0; i < TENSORS; i++)
        rgm_tensor_release(s->tensors[i]);
    rgm_checkpoint_store_close(s->store);
    rgm_free(s->folder);
    rgm_free(s->command);
    rgm_free(s);
}

static rgm_status checkpoint_fill(saving *s, const bench_options *options)
{
    rgm_checkpoint_store_options keep_one = {.keep = 1};
    int64_t each = (options->size > 0 ? options->size : 400000000) / TENSORS / 4;
    rgm_rng rng = rgm_rng_stream(1, "weights", 0);

    s->form = strcmp(options->form, "restore") == 0  ? RESTORE
              : strcmp(options->form, "detach") == 0 ? DETACH
              : strcmp(options->form, "dd") == 0     ? DD
                                                     : SAVE;
    s->bytes = each * TENSORS * 4;
    RGM_TRY(rgm_strprintf(&s->folder, "%s/%s", options->data, options->form));
    RGM_TRY(rgm_folder_make(s->folder));
    RGM_TRY(rgm_strprintf(&s->command,
                          "cd '%s' && dd if=/dev/zero of=new bs=1048576 count=%lldB conv=fsync "
                          "2>/dev/null && mv -f new old",
                          s->folder, (long long)s->bytes)); /* a new file, and the old one goes */
    if (s->form == DD)
        return RGM_OK;
    for (int i = 0; i < TENSORS; i++) {
        RGM_TRY(rgm_tensor_create(&s->tensors[i], RGM_F32, 1, &each));
        for (int64_t k = 0; k < each; k++)
            rgm_tensor_f32(s->tensors[i])[k] = rgm_rng_f32(&rng, (uint64_t)(i * each + k));
    }
    RGM_TRY(rgm_checkpoint_store_open(&s->store, s->folder, &keep_one));
    return s->form == RESTORE ? save(s, 1) : RGM_OK;
}

static rgm_status checkpoint_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    saving *s = NULL;

    RGM_GO(RGM_NEW(s, 1));
    RGM_GO(checkpoint_fill(s, options));
    *out = s;
    s = NULL;
done:
    checkpoint_close(s);
    return status;
}

static rgm_status checkpoint_step(void *state, int64_t step)
{
    saving *s = state;

    if (s->form == SAVE || s->form == DETACH)
        return save(s, step);
    if (s->form == RESTORE)
        return restore(s);
    return system(s->command) == 0 ? RGM_OK : RGM_FAIL(RGM_ERR_IO, "failed: %s", s->command);
}

static rgm_status checkpoint_facts(rgm_text *out, void *state)
{
    return rgm_text_printf(out, ", \"bytes\": %lld", (long long)((saving *)state)->bytes);
}

static const char *const forms[] = {"save", "restore", "detach", "dd", NULL};
const bench_workload bench_checkpoint = {"checkpoint",
                                         "a checkpoint of 400 MB saved or restored; dd",
                                         checkpoint_open,
                                         checkpoint_step,
                                         checkpoint_facts,
                                         checkpoint_close,
                                         forms};

/*
 * The randomness of training beside the initial weights: derived from runtime.seed, or in private
 * training, including the noise, from a secret.
 */
#include "trainer_internal.h"

rgm_status rgmi_secret_open(rgm_trainer *trainer)
{
    int64_t seed = trainer->options.privacy.noise_seed;
    rgm_secret *secret = &trainer->private.secret;

    if (seed == 0) { /* one for all processes that train together */
        RGM_TRY(rgm_secret_draw(secret));
        return rgm_comm_broadcast(trainer->comm, secret, sizeof *secret, 0);
    }
    trainer->private.secret = rgm_secret_from_seed((uint64_t)seed);
    return RGM_OK;
}

enum { DATA_SEED, MASK_SEED };

/* Seeds from a stream that no step's noise uses, since a step is never negative. */
static uint64_t secret_seed(const rgm_trainer *trainer, int which)
{
    uint32_t words[16];

    rgm_secret_block(&trainer->private.secret, UINT64_MAX, 0, words);
    return (uint64_t)words[2 * which + 1] << 32 | words[2 * which];
}

/* For somebody who knows which examples a step drew there is no amplification by sampling. A
 * shuffled pass claims none, and keeps its order over a restart. */
uint64_t rgmi_data_seed(const rgm_trainer *trainer)
{
    return trainer->private.used && trainer->private.sampling.poisson
               ? secret_seed(trainer, DATA_SEED)
               : (uint64_t)trainer->runtime.seed;
}

/* Each shard of the training data has its own masks; the first has those of a trainer alone. */
uint64_t rgmi_mask_seed(const rgm_trainer *trainer)
{
    const uint64_t odd = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio: far apart for any shards */
    uint64_t seed =
        trainer->private.used ? secret_seed(trainer, MASK_SEED) : (uint64_t)trainer->runtime.seed;

    if (trainer->task.parts > 0) /* parts of one batch, which knows where each row is drawn */
        return seed;
    return seed ^ (uint64_t)(trainer->shard + trainer->shards.now) * odd;
}

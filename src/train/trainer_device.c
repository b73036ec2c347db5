/*
 * What a trainer computes beside its executors and its optimizer, where its gradients and states
 * are: sums over batches, copies of states, and what of a device has to be seen on the host.
 */
#include "trainer_internal.h"

rgm_device *rgm_trainer_device(const rgm_trainer *trainer)
{
    return trainer->options.device != NULL ? trainer->options.device : rgm_device_cpu();
}

/* Shards add up on the host, and a task's own step sees gradients there. */
rgm_device *rgmi_gradient_device(const rgm_trainer *trainer)
{
    return rgmi_is_sharded(trainer) || trainer->task.train_step != NULL
               ? rgm_device_cpu()
               : rgm_trainer_device(trainer);
}

static const rgm_kernels *kernels_of(const rgm_tensor *tensor)
{
    rgm_device *device = rgm_tensor_device(tensor);

    return rgm_kernels_for(device != NULL ? device : rgm_device_cpu(), rgm_tensor_dtype(tensor));
}

void rgmi_add_scaled(rgm_tensor *sum, const rgm_tensor *x, double factor, bool first)
{
    rgm_map_args args = {.y = rgm_tensor_data(sum),
                         .rank = 1,
                         .shape = {rgm_tensor_count(sum)},
                         .inputs = 2,
                         .steps = first ? 1 : 2,
                         .input = {rgm_tensor_data(x), rgm_tensor_data(sum)},
                         .stride = {{1}, {1}},
                         .step = {{.code = RGM_MAP_SCALE, .a = 0, .constant = factor},
                                  {.code = RGM_MAP_ADD, .a = 1, .b = 2}}};

    if (args.shape[0] > 0)
        kernels_of(sum)->map(&args);
}

void rgmi_clear(rgm_tensor *tensor)
{
    kernels_of(tensor)->fill(
        &(rgm_fill_args){rgm_tensor_data(tensor), rgm_tensor_count(tensor), 0});
}

/* Between a parameter and a tensor like it, which lies where the parameter is asked for. */
static rgm_status copy_state(rgm_trainer *trainer, int64_t i, rgm_tensor *kept, bool back)
{
    rgm_device *device = rgm_tensor_device(kept);
    rgm_copy_args args = {.outer = 1, .size = rgm_tensor_bytes(kept)};
    void *address;

    RGM_TRY(rgm_parameters_on(&address, trainer->parameters, i,
                              device != NULL ? device : rgm_device_cpu(), back));
    args.y = back ? address : rgm_tensor_data(kept);
    args.x = back ? rgm_tensor_data(kept) : address;
    if (args.size > 0)
        kernels_of(kept)->copy(&args);
    return RGM_OK;
}

rgm_status rgmi_states_copy(rgm_trainer *trainer, bool back)
{
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        if (trainer->accumulator.states[i] != NULL)
            RGM_TRY(copy_state(trainer, i, trainer->accumulator.states[i], back));
    return RGM_OK;
}

rgm_status rgmi_host_copy(rgm_tensor **out, const rgm_tensor *tensor)
{
    rgm_status status = RGM_OK;
    rgm_tensor *copy = NULL;

    *out = NULL;
    RGM_GO(rgm_tensor_create(&copy, rgm_tensor_dtype(tensor), rgm_tensor_rank(tensor),
                             rgm_tensor_shape(tensor)));
    RGM_GO(rgm_device_tensor_set(copy, tensor));
    *out = copy;
    copy = NULL;
done:
    rgm_tensor_release(copy);
    return status;
}

rgm_status rgm_trainer_last_gradient(rgm_tensor **out, const rgm_trainer *trainer, int64_t i)
{
    *out = NULL;
    if (trainer->applied == NULL || trainer->applied[i] == NULL)
        return RGM_OK;
    return rgmi_host_copy(out, trainer->applied[i]);
}

rgm_status rgmi_data_place(rgm_trainer *trainer)
{
    rgm_device *device = rgm_trainer_device(trainer);
    rgm_device_memory memory = rgm_device_memory_of(device);
    double share = trainer->runtime.features_on_device;
    size_t most = memory.limit > memory.used ? memory.limit - memory.used : 0;

    if (trainer->task.place == NULL || rgm_device_is_host(device))
        return RGM_OK;
    if (memory.limit == 0) /* it does not say: then it says when there is no more */
        most = share > 0 ? SIZE_MAX : 0;
    else
        most = (size_t)((double)most * share);
    trainer->is_placed = true;
    return trainer->task.place(trainer->task.state, device, most);
}

void rgmi_data_take_back(rgm_trainer *trainer)
{
    if (trainer->is_placed)
        (void)trainer->task.place(trainer->task.state, NULL, 0);
}

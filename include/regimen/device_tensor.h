/*
 * device_tensor: tensors in a device's memory, and tensors of the host that have a copy there.
 *
 *     rgm_resident weight = {.host = tensor};
 *     void *address;
 *
 *     RGM_TRY(rgm_resident_on(&address, &weight, device, true)); // copied there now, not again
 *     kernels->sgd(&(rgm_sgd_args){.w = address, ...});           // the device's is newer now
 *     RGM_TRY(rgm_resident_read(&weight));                        // copied back
 *     printf("%g\n", rgm_tensor_at(weight.host, 0));
 */
#ifndef REGIMEN_DEVICE_TENSOR_H
#define REGIMEN_DEVICE_TENSOR_H

#include <regimen/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A tensor in the memory of `device`, which is rgm_tensor_device() of it; the elements mean nothing
 * yet. Of a device whose memory is the host's: a tensor of zeros. The device must outlive it.
 * @param out  [out, owned]
 * Errors: RGM_ERR_ARG (rank, negative size), RGM_ERR_NOMEM, RGM_ERR_IO (the device is lost).
 */
rgm_status rgm_device_tensor_create(rgm_tensor **out, rgm_device *device, rgm_dtype dtype, int rank,
                                    const int64_t *shape);
/**
 * Copy the elements of `from` to `to`, which is like it; one of the two is the host's.
 * Errors: RGM_ERR_ARG (both are on devices), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_device_tensor_set(rgm_tensor *to, const rgm_tensor *from);

/**
 * Copy the elements of a tensor of the host to an address of the device: rgm_device_copy_on(), but
 * of a tensor that was picked (rgm_tensor_pick()) the rows go by the way of the device's own memory
 * for copies and not by the tensor's. Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_device_send(rgm_device *device, rgm_device_queue queue, void *to,
                           const rgm_tensor *tensor);
/**
 * Lend a table (rgm_tensor_lend()) to whoever computes on `device`, which gets a copy that stays
 * until rgm_tensor_take_back() if the table has at most `most` bytes and there is memory.
 * @param stays  [out] whether it has
 * Errors: RGM_ERR_IO. What is not lent then is as before.
 */
rgm_status rgm_device_lend(bool *stays, rgm_device *device, rgm_tensor *table, size_t most);

/**
 * A tensor of the host that may have a copy on a device, and which of the two is older. Made as
 * {.host = tensor}, which it then owns.
 */
typedef struct rgm_resident {
    rgm_tensor *host;
    rgm_tensor *there; /* NULL: no device has it */
    bool host_is_old, there_is_old;
} rgm_resident;

/**
 * Make the host's elements the newest. Errors: RGM_ERR_IO (the device is lost: the host's elements,
 * which would be old ones, become NaN, whole numbers -1), RGM_ERR_NOMEM.
 */
rgm_status rgm_resident_read(rgm_resident *resident);
/** The same, for somebody who may write them: the device's copy is old from now on. Errors: those
 * of rgm_resident_read(). */
rgm_status rgm_resident_write(rgm_resident *resident);
/** The host's elements are about to be written anew, all of them: nothing is copied. */
void rgm_resident_replace(rgm_resident *resident);
/**
 * The address of the elements on `device`, where they are copied unless the newest are there. Of a
 * device whose memory is the host's that is the host's tensor.
 * @param writes  kernels will write there: the host's elements are old from now on
 * Errors: RGM_ERR_NOMEM, RGM_ERR_IO.
 */
rgm_status rgm_resident_on(void **address, rgm_resident *resident, rgm_device *device, bool writes);
/** Release both tensors; takes {0}. */
void rgm_resident_release(rgm_resident *resident);

#ifdef __cplusplus
}
#endif
#endif

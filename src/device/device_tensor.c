/*
 * Tensors in a device's memory, and pairs of one of the host and its copy there, of which the newer
 * is known: nothing is copied that the other side has already.
 */
#include <regimen/device_tensor.h>

#include "device_internal.h"

#include <string.h>

/* ---- a tensor of a device ------------------------------------------------------------------- */

/* What its tensor gives back. */
typedef struct block {
    rgm_device *device;
    void *memory;
} block;

static void block_release(void *payload)
{
    block *b = payload;

    rgm_device_free(b->device, b->memory);
    rgm_free(b);
}

static size_t bytes_of(rgm_dtype dtype, int rank, const int64_t *shape)
{
    size_t bytes = rgm_dtype_size(dtype);

    for (int i = 0; i < rank; i++)
        bytes *= (size_t)shape[i];
    return bytes;
}

rgm_status rgm_device_tensor_create(rgm_tensor **out, rgm_device *device, rgm_dtype dtype, int rank,
                                    const int64_t *shape)
{
    rgm_status status = RGM_OK;
    rgm_tensor *form = NULL;
    block *b = NULL;

    *out = NULL;
    if (rgm_device_is_host(device))
        return rgm_tensor_create(out, dtype, rank, shape);
    RGM_GO(rgm_tensor_wrap_on(&form, device, dtype, rank, shape, &form, NULL, NULL)); /* checks */
    RGM_GO(RGM_NEW(b, 1));
    b->device = device;
    RGM_GO(rgm_device_allocate(&b->memory, device, bytes_of(dtype, rank, shape)));
    RGM_GO(rgm_tensor_wrap_on(out, device, dtype, rank, shape, b->memory, block_release, b));
    b = NULL;
done:
    rgm_tensor_release(form);
    if (b != NULL)
        block_release(b);
    return status;
}

rgm_status rgm_device_tensor_set(rgm_tensor *to, const rgm_tensor *from)
{
    rgm_device *there = rgm_tensor_device(to), *here = rgm_tensor_device(from);
    size_t bytes = rgm_tensor_bytes(to);

    if (there != NULL && here != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "both tensors are on devices: a kernel copies there");
    if (there != NULL)
        return rgm_device_copy_to(there, rgm_tensor_data(to), rgm_tensor_data(from), bytes);
    if (here != NULL)
        return rgm_device_copy_from(here, rgm_tensor_data(to), rgm_tensor_data(from), bytes);
    rgm_tensor_set(to, from);
    return RGM_OK;
}

rgm_status rgm_device_send(rgm_device *device, rgm_device_queue queue, void *to,
                           const rgm_tensor *tensor)
{
    rgm_tensor *table, *rows;

    if (rgm_device_kind(device)->copy_rows != NULL && rgm_tensor_picked(&table, &rows, tensor))
        return rgmi_device_copy_rows(device, queue, to, tensor);
    return rgm_device_copy_on(device, queue, to, rgm_tensor_data(tensor), rgm_tensor_bytes(tensor));
}

rgm_status rgm_device_lend(bool *stays, rgm_device *device, rgm_tensor *table, size_t most)
{
    rgm_status status = RGM_ERR_NOMEM;
    rgm_tensor *there = NULL;

    *stays = false;
    if (rgm_tensor_bytes(table) <= most)
        status = rgm_device_tensor_create(&there, device, rgm_tensor_dtype(table),
                                          rgm_tensor_rank(table), rgm_tensor_shape(table));
    if (status == RGM_ERR_NOMEM) {
        rgm_error_reset();
        status = RGM_OK;
    } else if (status == RGM_OK) {
        status = rgm_device_tensor_set(there, table);
    }
    if (status == RGM_OK)
        rgm_tensor_lend(table, there);
    *stays = status == RGM_OK && there != NULL;
    rgm_tensor_release(there);
    return status;
}

/* ---- one of the host with a copy ------------------------------------------------------------- */

rgm_status rgm_resident_read(rgm_resident *resident)
{
    rgm_status status = RGM_OK;

    if (!resident->host_is_old)
        return RGM_OK;
    status = rgm_device_tensor_set(resident->host, resident->there);
    if (status != RGM_OK) /* all bits set are a NaN */
        memset(rgm_tensor_data(resident->host), 0xff, rgm_tensor_bytes(resident->host));
    resident->host_is_old = status != RGM_OK;
    return status;
}

rgm_status rgm_resident_write(rgm_resident *resident)
{
    rgm_status status = rgm_resident_read(resident);

    resident->there_is_old = status == RGM_OK;
    return status;
}

void rgm_resident_replace(rgm_resident *resident)
{
    resident->host_is_old = false;
    resident->there_is_old = true;
}

/* Memory on that device and on no other. */
static rgm_status move_to(rgm_resident *resident, rgm_device *device)
{
    const rgm_tensor *host = resident->host;

    if (resident->there != NULL && rgm_tensor_device(resident->there) == device)
        return RGM_OK;
    RGM_TRY(rgm_resident_read(resident));
    rgm_tensor_release(resident->there);
    resident->there = NULL;
    resident->there_is_old = true;
    return rgm_device_tensor_create(&resident->there, device, rgm_tensor_dtype(host),
                                    rgm_tensor_rank(host), rgm_tensor_shape(host));
}

rgm_status rgm_resident_on(void **address, rgm_resident *resident, rgm_device *device, bool writes)
{
    *address = NULL;
    if (rgm_device_is_host(device)) {
        RGM_TRY(writes ? rgm_resident_write(resident) : rgm_resident_read(resident));
        *address = rgm_tensor_data(resident->host);
        return RGM_OK;
    }
    RGM_TRY(move_to(resident, device));
    if (resident->there_is_old)
        RGM_TRY(rgm_device_tensor_set(resident->there, resident->host));
    resident->there_is_old = false;
    resident->host_is_old |= writes;
    *address = rgm_tensor_data(resident->there);
    return RGM_OK;
}

void rgm_resident_release(rgm_resident *resident)
{
    rgm_tensor_release(resident->host);
    rgm_tensor_release(resident->there);
    *resident = (rgm_resident){0};
}

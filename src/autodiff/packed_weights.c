/*
 * Packed weights: each form of a parameter once for all executors that keep them together. What one
 * of them has packed, of the parameters as they are, the others read.
 */
#include "executor_internal.h"

/* ---- the list -------------------------------------------------------------------------------- */

static void packs_release(rgmi_packs *packs)
{
    if (packs == NULL || --packs->owners > 0)
        return;
    for (int64_t i = 0; i < packs->count; i++) {
        rgm_device_free(packs->device, packs->items[i]->data);
        rgm_free(packs->items[i]->name);
        rgm_free(packs->items[i]);
    }
    rgm_free(packs->items);
    rgm_free(packs);
}

/* v packs parameter v->in[0]. */
static bool is_pack_of(const rgmi_pack *pack, const rgm_value *v, const rgm_kernels *kernels)
{
    return pack->kernels == kernels && pack->transposed == v->attributes.integer[0] &&
           pack->elements == v->attributes.integer[1] && strcmp(pack->name, v->in[0]->name) == 0;
}

static rgm_status pack_add(rgmi_pack **out, rgmi_packs *packs, const rgm_value *v,
                           const rgm_kernels *kernels)
{
    rgmi_pack *pack;

    RGM_TRY(RGM_RESERVE(packs->items, packs->capacity, packs->count + 1));
    RGM_TRY(RGM_NEW(pack, 1));
    *pack = (rgmi_pack){.kernels = kernels,
                        .transposed = v->attributes.integer[0],
                        .elements = v->attributes.integer[1]};
    packs->items[packs->count++] = pack;
    *out = pack;
    return rgm_strdup(&pack->name, v->in[0]->name);
}

static rgm_status pack_find(rgmi_pack **out, rgmi_packs *packs, const rgm_value *v,
                            const rgm_kernels *kernels)
{
    for (int64_t i = 0; i < packs->count; i++)
        if (is_pack_of(packs->items[i], v, kernels)) {
            *out = packs->items[i];
            return RGM_OK;
        }
    return pack_add(out, packs, v, kernels);
}

rgm_status rgmi_packs_open(rgm_executor *executor)
{
    const rgm_executor *with = executor->options.packed_with;

    if (with != NULL && with->device != executor->device)
        return RGM_FAIL(RGM_ERR_ARG, "executors that keep packed weights together are of one "
                                     "device");
    if (with != NULL) {
        executor->packs = with->packs;
        executor->packs->owners++;
    } else {
        RGM_TRY(RGM_NEW(executor->packs, 1));
        executor->packs->owners = 1;
        executor->packs->device = executor->device;
    }
    RGM_TRY(RGM_NEW(executor->pack, executor->count));
    for (int64_t s = 0; s < executor->count; s++)
        if (rgmi_is_packed_weight(executor->order[s]))
            RGM_TRY(pack_find(&executor->pack[s], executor->packs, executor->order[s],
                              executor->kernels[s]));
    return RGM_OK;
}

void rgmi_packs_close(rgm_executor *executor)
{
    packs_release(executor->packs);
    rgm_free(executor->pack);
}

/* ---- in a run -------------------------------------------------------------------------------- */

rgm_status rgmi_pack_reserve(rgm_executor *executor, int64_t s, size_t bytes)
{
    rgmi_pack *pack = executor->pack[s];
    rgm_status status = RGM_OK;

    if (pack->data == NULL)
        status = rgm_device_allocate(&pack->data, executor->device, bytes);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "packed '%s'", pack->name);
    if (executor->kept[s].data == pack->data)
        return RGM_OK;
    executor->kept[s].data = pack->data;
    executor->generation++;
    return RGM_OK;
}

void rgmi_packs_accept(rgm_executor *executor, uint64_t version)
{
    if (executor->version == version && executor->packs_seen == executor->packs->changes)
        return;
    for (int64_t s = 0; s < executor->count; s++)
        if (executor->pack[s] != NULL)
            executor->kept[s].valid = executor->pack[s]->version == version;
    executor->version = version;
    executor->packs_seen = executor->packs->changes;
}

void rgmi_pack_set(rgm_executor *executor, int64_t s, bool is_made)
{
    executor->kept[s].valid = is_made;
    executor->pack[s]->version = is_made ? executor->version : 0;
    executor->packs_seen += executor->packs_seen == executor->packs->changes;
    executor->packs->changes++;
}

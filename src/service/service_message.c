/*
 * Messages as bytes: all fields in one order, whatever the kind; those that a kind does not have
 * take a byte.
 */
#include "service_internal.h"

enum { NUMBERS = 9, TEXTS = 7 };

rgm_status rgmi_saying_put(rgm_text *out, const rgmi_saying *m)
{
    const int64_t numbers[NUMBERS] = {m->kind,    m->session,  m->number,  m->status, m->counted,
                                      m->threads, m->protocol, m->busy_us, m->idle_us};
    const rgm_str texts[TEXTS] = {m->name, m->version,  m->identity, m->recipe,
                                  m->text, m->position, m->element};

    for (int i = 0; i < NUMBERS; i++)
        RGM_TRY(rgm_state_put_int(out, numbers[i]));
    for (int i = 0; i < TEXTS; i++)
        RGM_TRY(rgm_state_put_bytes(out, texts[i].data, texts[i].size));
    return RGM_OK;
}

rgm_status rgmi_saying_get(rgmi_saying *out, const void *data, int64_t size)
{
    int64_t kind = -1;
    int64_t *numbers[NUMBERS] = {&kind,          &out->session, &out->number,
                                 &out->status,   &out->counted, &out->threads,
                                 &out->protocol, &out->busy_us, &out->idle_us};
    rgm_str *texts[TEXTS] = {&out->name, &out->version,  &out->identity, &out->recipe,
                             &out->text, &out->position, &out->element};
    rgm_state_reader reader = {data, size, 0};

    *out = (rgmi_saying){.kind = RGMI_SAY_KINDS};
    for (int i = 0; i < NUMBERS; i++)
        if (rgm_state_get_int(numbers[i], &reader) != RGM_OK)
            return RGM_FAIL(RGM_ERR_FORMAT, "a message of %lld bytes is cut", (long long)size);
    for (int i = 0; i < TEXTS; i++) {
        const uint8_t *bytes;

        if (rgm_state_get_bytes(&bytes, &texts[i]->size, &reader) != RGM_OK)
            return RGM_FAIL(RGM_ERR_FORMAT, "a message of %lld bytes is cut", (long long)size);
        texts[i]->data = (const char *)bytes;
    }
    if (kind < 0 || kind >= RGMI_SAY_KINDS || reader.at != reader.size)
        return RGM_FAIL(RGM_ERR_FORMAT, "a message of kind %lld is not known here",
                        (long long)kind);
    out->kind = (rgmi_saying_kind)kind;
    return RGM_OK;
}

uint64_t rgmi_made_hash(int64_t status, rgm_str element)
{
    uint64_t both[2] = {(uint64_t)status, rgm_hash64(element.data, (size_t)element.size)};

    return rgm_hash64(both, sizeof both);
}

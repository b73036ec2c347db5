/*
 * The table of values that runs keep in checkpoints, and how to save and restore each by its kind.
 */
#include <regimen/store.h>

#define ROW(key, name, kind, meaning) [RGM_KEY_##key] = {name, RGM_KEEPS_##kind, meaning},
const rgm_run_key_row rgm_run_keys[RGM_KEY_COUNT] = {RGM_RUN_KEYS(ROW)};
#undef ROW

rgm_status rgm_checkpoint_set_keys(rgm_checkpoint *checkpoint, const rgm_key_place *places,
                                   int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_run_keys[places[i].key].name;
        const void *value = places[i].value;

        switch (rgm_run_keys[places[i].key].kind) {
        case RGM_KEEPS_INT:
            RGM_TRY(rgm_checkpoint_set_int(checkpoint, name, *(const int64_t *)value));
            break;
        case RGM_KEEPS_BOOL:
            RGM_TRY(rgm_checkpoint_set_int(checkpoint, name, *(const bool *)value));
            break;
        case RGM_KEEPS_NUMBER:
            RGM_TRY(rgm_checkpoint_set_number(checkpoint, name, *(const double *)value));
            break;
        case RGM_KEEPS_TEXT:
            RGM_TRY(rgm_checkpoint_set_text(checkpoint, name, *(const char *const *)value));
            break;
        case RGM_KEEPS_BLOB: {
            const rgm_str *bytes = value;

            RGM_TRY(rgm_checkpoint_set_blob(checkpoint, name, bytes->data, bytes->size));
        }
        }
    }
    return RGM_OK;
}

rgm_status rgm_checkpoint_get_keys(const rgm_checkpoint *checkpoint, const rgm_key_place *places,
                                   int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_run_keys[places[i].key].name;
        void *value = places[i].value;
        int64_t truth;

        switch (rgm_run_keys[places[i].key].kind) {
        case RGM_KEEPS_INT:
            RGM_TRY(rgm_checkpoint_int(value, checkpoint, name));
            break;
        case RGM_KEEPS_BOOL:
            RGM_TRY(rgm_checkpoint_int(&truth, checkpoint, name));
            *(bool *)value = truth != 0;
            break;
        case RGM_KEEPS_NUMBER:
            RGM_TRY(rgm_checkpoint_number(value, checkpoint, name));
            break;
        case RGM_KEEPS_TEXT:
            RGM_TRY(rgm_checkpoint_text(value, checkpoint, name));
            break;
        case RGM_KEEPS_BLOB: {
            const void *data;
            int64_t size;

            RGM_TRY(rgm_checkpoint_blob(&data, &size, checkpoint, name));
            *(rgm_str *)value = (rgm_str){data, size};
        }
        }
    }
    return RGM_OK;
}

rgm_status rgm_key_places_check_counts(const rgm_key_place *places, int64_t count)
{
    /* far below the limit of int64_t: a forged count would overflow in the first step */
    const int64_t MOST = 1000000000000000;

    for (int64_t i = 0; i < count; i++) {
        const rgm_run_key_row *row = &rgm_run_keys[places[i].key];
        int64_t value = row->kind == RGM_KEEPS_INT ? *(const int64_t *)places[i].value : 0;

        if (value < -1 || value > MOST)
            return RGM_FAIL(RGM_ERR_FORMAT, "the checkpoint is damaged: its '%s' (%s) is %lld",
                            row->name, row->meaning, (long long)value);
    }
    return RGM_OK;
}

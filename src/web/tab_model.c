/* What a run says of its model. */
#include "tab.h"

enum { LARGEST_MODEL = 8 << 20 };

static rgm_status load_model(char **text, int64_t *size, const char *folder)
{
    rgm_json *root = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_load(text, size, folder, "model.json", LARGEST_MODEL));
    RGM_GO(rgm_json_parse(&root, *text, *size, "model.json"));
    if (!rgm_json_is_object(root))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "model.json is no object"));
done:
    rgm_json_release(root);
    if (status != RGM_OK) {
        rgm_free(*text);
        *text = NULL;
    }
    return status;
}

rgm_status rgmi_tell_model(rgm_text *out, const char *folder)
{
    char *text = NULL, *damage = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&damage, load_model(&text, &size, folder)));
    if (text != NULL) {
        RGM_GO(rgm_text_add(out, text, size));
    } else {
        RGM_GO(rgm_text_printf(
            out, "{\"parameters\":null,\"trainable\":null,\"flops\":null,\"layers\":[]"));
        RGM_GO(rgmi_put_end(out, damage));
    }
done:
    rgm_free(text);
    rgm_free(damage);
    return status;
}

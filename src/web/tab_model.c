/* What a run says of its model. */
#include "tab.h"

enum { LARGEST_MODEL = 8 << 20 };

rgm_status rgmi_tell_model(rgm_text *out, const char *folder)
{
    char *text = NULL, *damage = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&damage, rgmi_load_object(&text, &size, folder, "model.json", LARGEST_MODEL)));
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

/*
 * What rows of a program's own stand on: the keys that every optimizer has, and the check of
 * options in a struct of their own.
 */
#include "optim_internal.h"

rgm_status rgmi_own_check(const rgm_section_type *own, const void *options, const char *path)
{
    if (own == NULL)
        return RGM_OK;
    if (options == NULL)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%s.type '%s' has options of its own: `own` must point to them", path,
                        own->name);
    RGM_TRY(rgm_options_check(options, own->fields, path));
    return own->check != NULL ? own->check(options) : RGM_OK;
}

/* The tensors of a source by name: what formats list, and what families' tables look for. */
#include <stdio.h>
#include <string.h>

#include "model_import_internal.h"

/** Tensors of a source; files of strangers name no more. */
enum { MOST_TENSORS = 1 << 20 };

rgm_status rgmi_import_source_add(rgmi_import_source *source, const char *name, int64_t file)
{
    if (rgm_map_has(source->by_name, name))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: two tensors are called '%s'", source->path, name);
    if (source->count == MOST_TENSORS)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: more than %d tensors", source->path, MOST_TENSORS);
    RGM_TRY(RGM_RESERVE(source->tensors, source->capacity, source->count + 1));
    RGM_TRY(rgm_map_set(source->by_name, name, (void *)(uintptr_t)(source->count + 1)));
    source->tensors[source->count] = (rgmi_import_tensor){.file = file};
    RGM_TRY(rgm_strdup(&source->tensors[source->count].name, name));
    source->count++;
    return RGM_OK;
}

static int64_t number_of(const rgmi_import_source *source, const char *name)
{
    return (int64_t)(uintptr_t)rgm_map_get(source->by_name, name) - 1;
}

int64_t rgmi_import_source_find(const rgmi_import_source *source, const char *name)
{
    const char *const *prefix = source->family->prefixes;
    int64_t found = number_of(source, name);
    char text[512];

    for (; found < 0 && prefix != NULL && *prefix != NULL; prefix++) {
        size_t size = strlen(*prefix);

        if (strncmp(name, *prefix, size) == 0)
            found = number_of(source, name + size);
        else if (snprintf(text, sizeof text, "%s%s", *prefix, name) < (int)sizeof text)
            found = number_of(source, text);
    }
    return found;
}

/* The document behind rgm_pbtxt, shared by its parser and its accessors. */
#ifndef RGMI_PBTXT_INTERNAL_H
#define RGMI_PBTXT_INTERNAL_H

#include "data_internal.h"

struct rgm_pbtxt {
    rgm_arena *arena;
    const char *name; /* file name for messages */
    rgm_pbtxt_field root;
};

/** A new field at the end of a message, without a value; NULL when out of memory. */
rgm_pbtxt_field *rgmi_pbtxt_append(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name);
/** A number as protobuf writes them: decimal, octal, hexadecimal, with f, inf or nan. */
bool rgmi_pbtxt_number(double *out, const char *text, int64_t size);

#endif

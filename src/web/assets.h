/*
 * The files of the page, embedded when the library is built.
 */
#ifndef RGM_WEB_ASSETS_H
#define RGM_WEB_ASSETS_H

#include <stddef.h>

typedef struct rgmi_asset {
    const char *name; /* "page.js"; NULL: the end of the table              */
    const char *type;
    const char *tag; /* "\"5f0c...\"": of what is in it                     */
    const unsigned char *data;
    size_t size;
} rgmi_asset;
extern const rgmi_asset rgmi_assets[];

#endif

/* Shared by the tests of the import: the folder of another program's model that they put together.
 */
#ifndef RGM_IMPORT_CHECK_H
#define RGM_IMPORT_CHECK_H

#include "check.h"

#include <regimen/base_files.h>

#include <stdio.h>
#include <string.h>

static const char *folder; /* of the test that runs */

/** The path of a file in it; of eight calls each has its own. */
static char *in(const char *name)
{
    static char path[8][300];
    static int next;
    char *p = path[next++ % 8];

    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

/** A file with that text. */
static void save(const char *name, const char *text)
{
    CHECK_OK(rgm_file_save(in(name), text, (int64_t)strlen(text)));
}

#endif

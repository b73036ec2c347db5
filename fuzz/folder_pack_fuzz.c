/*
 * What a program's callbacks saved, as a checkpoint of a stranger has it: a tar archive whose sums
 * are made right first. It is refused, or it is files and folders, which packed again come to the
 * same; and nothing is written outside of the folder.
 */
#include <regimen/trial.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/trial/folder_pack.h"
#include "target.h"

enum { BLOCK = 512, SIZE_AT = 124, SUM_AT = 148 };

/* The sum of each header, found by the sizes as they stand there. */
static void mend(char *bytes, size_t size)
{
    for (size_t at = 0; at + BLOCK <= size;) {
        char *header = bytes + at, octal[12] = "";
        unsigned sum = 0;

        memcpy(octal, header + SIZE_AT, 11);
        memset(header + SUM_AT, ' ', 8);
        for (int i = 0; i < BLOCK; i++)
            sum += (unsigned char)header[i];
        snprintf(header + SUM_AT, 7, "%06o", sum);
        at += BLOCK + (size_t)(strtoull(octal, NULL, 8) + BLOCK - 1) / BLOCK * BLOCK;
    }
}

/* Whatever was written is below. */
static void check_place(const char *root)
{
    char **names;
    int64_t count;

    MUST(rgm_folder_list(&names, &count, root));
    if (count != 1 || strcmp(names[0], "out") != 0)
        abort();
    rgm_names_release(names, count);
}

static void check_again(const char *root, const char *out)
{
    rgm_text once = {0}, twice = {0};
    char second[80];

    snprintf(second, sizeof second, "%s/second", root);
    MUST(rgm_folder_make(second));
    if (rgmi_folder_pack(&once, out, RGM_MAX_SAVED) == RGM_OK) { /* else a path is too long */
        MUST(rgmi_folder_unpack(second, (rgm_str){once.data, once.size}));
        MUST(rgmi_folder_pack(&twice, second, RGM_MAX_SAVED));
        if (once.size != twice.size || memcmp(once.data, twice.data, (size_t)once.size) != 0)
            abort();
    }
    rgm_text_clear(&once);
    rgm_text_clear(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char root[64], out[80], *bytes;

    snprintf(root, sizeof root, "/dev/shm/regimen-fuzz-XXXXXX"); /* many small files */
    if (mkdtemp(root) == NULL) {
        snprintf(root, sizeof root, "/tmp/regimen-fuzz-XXXXXX");
        if (mkdtemp(root) == NULL)
            abort();
    }
    snprintf(out, sizeof out, "%s/out", root);
    MUST(rgm_folder_make(out));
    MUST(RGM_NEW(bytes, (int64_t)size + 1));
    memcpy(bytes, data, size);
    mend(bytes, size);
    if (rgmi_folder_unpack(out, (rgm_str){bytes, (int64_t)size}) == RGM_OK) {
        check_place(root);
        check_again(root, out);
    } else {
        check_place(root);
    }
    rgm_free(bytes);
    MUST(rgm_folder_remove(root));
    return 0;
}

/*
 * Runs a fuzz target over the files and folders named on the command line, without a fuzzer: so the
 * corpus is a test in every build. Beside each file as it is, it tries the file's beginnings and
 * the file with a byte changed, which finds most missing bounds checks at no cost.
 */
#include <regimen/base.h>

#include <stdio.h>
#include <string.h>

#include "target.h"

#define LARGEST_FILE  (4 << 20)
#define MOST_VARIANTS 400

/* The input in a block of exactly its size, so that a sanitizer sees one byte too many. */
static rgm_status run_input(const char *data, int64_t size)
{
    uint8_t *copy;

    RGM_TRY(RGM_NEW(copy, size));
    if (size > 0)
        memcpy(copy, data, (size_t)size);
    LLVMFuzzerTestOneInput(copy, (size_t)size);
    rgm_free(copy);
    return RGM_OK;
}

static rgm_status run_variants(char *data, int64_t size)
{
    int64_t stride = size / MOST_VARIANTS + 1;

    RGM_TRY(run_input(data, size));
    for (int64_t at = 0; at < size; at += stride) {
        char kept = data[at];
        RGM_TRY(run_input(data, at));
        data[at] = (char)(kept ^ (1 << at % 8));
        RGM_TRY(run_input(data, size));
        data[at] = (char)0xff;
        RGM_TRY(run_input(data, size));
        data[at] = kept;
    }
    return RGM_OK;
}

static rgm_status run_file(const char *path, int64_t *files)
{
    rgm_status status = RGM_OK;
    char *data = NULL;
    int64_t size;

    RGM_GO(rgm_file_load(&data, &size, path, LARGEST_FILE));
    RGM_GO(run_variants(data, size));
    (*files)++;
done:
    rgm_free(data);
    return status;
}

static rgm_status run_folder(const char *path, int64_t *files)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *file = NULL;
    int64_t count = 0;

    RGM_GO(rgm_folder_list(&names, &count, path));
    for (int64_t i = 0; i < count; i++) {
        rgm_free(file);
        RGM_GO(rgm_path_join(&file, path, names[i]));
        RGM_GO(run_file(file, files));
    }
done:
    rgm_free(file);
    rgm_names_release(names, count);
    return status;
}

int main(int argc, char **argv)
{
    int64_t files = 0, before = rgm_memory_used();
    rgm_status status = RGM_OK;

    for (int i = 1; i < argc && status == RGM_OK; i++)
        status =
            rgm_path_is_folder(argv[i]) ? run_folder(argv[i], &files) : run_file(argv[i], &files);
    if (status != RGM_OK)
        fprintf(stderr, "%s", rgm_error_text());
    else if (files == 0)
        fprintf(stderr, "no inputs: the corpus is missing\n");
    else if (rgm_memory_used() != before)
        fprintf(stderr, "%lld bytes were not given back\n",
                (long long)(rgm_memory_used() - before));
    else
        return 0;
    return 1;
}

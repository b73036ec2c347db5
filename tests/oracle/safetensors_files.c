/*
 * For safetensors_oracle.py: `safetensors_files write FILE` saves tensors that it knows,
 * `safetensors_files copy FROM TO` reads every tensor of a file and saves them again.
 */
#include <regimen/tensor.h>

#include <stdio.h>
#include <string.h>

#define MOST 16

static rgm_status add_tensor(rgm_named_tensor *named, const char *name, rgm_dtype dtype, int rank,
                             const int64_t *shape, const void *data)
{
    named->name = name;
    RGM_TRY(rgm_tensor_create_from(&named->tensor, dtype, rank, shape, data));
    return RGM_OK;
}

static rgm_status write_known(const char *path)
{
    static const char *const metadata[] = {"format", "regimen", "\"quoted\" \xc3\xa9", "line\nend"};
    rgm_named_tensor named[6] = {0};
    rgm_status status = RGM_OK;
    float f[6] = {0.5f, -1, 2, 1e-30f, 3.4e38f, -0.0f};

    RGM_GO(add_tensor(&named[0], "layer/kernel", RGM_F32, 2, (int64_t[]){2, 3}, f));
    RGM_GO(add_tensor(&named[1], "double", RGM_F64, 1, (int64_t[]){2}, (double[]){0.1, -1e300}));
    RGM_GO(add_tensor(&named[2], "mask", RGM_BOOL, 1, (int64_t[]){3}, "\1\0\1"));
    RGM_GO(add_tensor(&named[3], "step", RGM_I64, 0, NULL, (int64_t[]){INT64_MIN}));
    RGM_GO(add_tensor(&named[4], "ids \xc3\xa9\"", RGM_I32, 3, (int64_t[]){1, 2, 1},
                      (int32_t[]){-7, 8}));
    RGM_GO(add_tensor(&named[5], "empty", RGM_F32, 2, (int64_t[]){0, 4}, NULL));
    RGM_GO(rgm_safetensors_save(path, named, 6, metadata, 2));
done:
    for (int i = 0; i < 6; i++)
        rgm_tensor_release(named[i].tensor);
    return status;
}

static rgm_status copy_file(const char *from, const char *to)
{
    rgm_named_tensor named[MOST] = {0};
    rgm_safetensors *file = NULL;
    rgm_status status = RGM_OK;
    int64_t count = 0;

    RGM_GO(rgm_safetensors_open(&file, from));
    if (rgm_safetensors_count(file) > MOST)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "more than %d tensors", MOST));
    for (; count < rgm_safetensors_count(file); count++) {
        named[count].name = rgm_safetensors_name(file, count);
        RGM_GO(rgm_safetensors_get(&named[count].tensor, file, named[count].name));
    }
    RGM_GO(rgm_safetensors_save(to, named, count, NULL, 0));
done:
    for (int i = 0; i < MOST; i++)
        rgm_tensor_release(named[i].tensor);
    rgm_safetensors_close(file);
    return status;
}

int main(int argc, char **argv)
{
    rgm_status status = RGM_ERR_ARG;

    if (argc == 3 && strcmp(argv[1], "write") == 0)
        status = write_known(argv[2]);
    else if (argc == 4 && strcmp(argv[1], "copy") == 0)
        status = copy_file(argv[2], argv[3]);
    if (status != RGM_OK)
        fprintf(stderr, "%s", rgm_error_text());
    return status == RGM_OK ? 0 : 1;
}

/*
 * One tensor in numpy's file format: a line of Python that gives dtype and shape, padded so that
 * the numbers start at a multiple of 64 bytes, then the numbers.
 */
#include <string.h>

#include <regimen/tensor.h>

static const char *const descriptions[RGM_DTYPE_COUNT] = {
    [RGM_F32] = "<f4", [RGM_F64] = "<f8",  [RGM_I32] = "<i4",
    [RGM_I64] = "<i8", [RGM_BOOL] = "|b1", [RGM_I8] = "|i1",
};

static rgm_status print_header(rgm_text *out, const rgm_tensor *tensor)
{
    enum { BEFORE = 10, ALIGNMENT = 64 };
    rgm_text line = {0};
    rgm_status status = RGM_OK;
    int64_t size;

    RGM_GO(rgm_text_printf(&line, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                           descriptions[rgm_tensor_dtype(tensor)]));
    for (int i = 0; i < rgm_tensor_rank(tensor); i++)
        RGM_GO(rgm_text_printf(&line, "%lld,", (long long)rgm_tensor_dim(tensor, i)));
    RGM_GO(rgm_text_printf(&line, "), }"));
    while ((BEFORE + line.size + 1) % ALIGNMENT != 0)
        RGM_GO(rgm_text_printf(&line, " "));
    RGM_GO(rgm_text_printf(&line, "\n"));
    size = line.size;
    RGM_GO(rgm_text_add(out, "\x93NUMPY\x01\0", 8));
    RGM_GO(rgm_text_add(out, (const char[]){(char)(size & 0xff), (char)(size >> 8)}, 2));
    RGM_GO(rgm_text_add(out, line.data, line.size));
done:
    rgm_text_clear(&line);
    return status;
}

rgm_status rgm_npy_save(const char *path, const rgm_tensor *tensor)
{
    rgm_text file = {0};
    rgm_status status = RGM_OK;

    if (descriptions[rgm_tensor_dtype(tensor)] == NULL)
        return RGM_FAIL(RGM_ERR_DTYPE, "%s: numpy has no %s", path,
                        rgm_dtype_name(rgm_tensor_dtype(tensor)));
    RGM_GO(print_header(&file, tensor));
    RGM_GO(rgm_text_add(&file, rgm_tensor_data(tensor), (int64_t)rgm_tensor_bytes(tensor)));
    RGM_GO(rgm_file_save(path, file.data, file.size));
done:
    rgm_text_clear(&file);
    return status;
}

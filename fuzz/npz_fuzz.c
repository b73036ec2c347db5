/*
 * An archive of numpy's arrays from anywhere: opened, and every array read. None has more numbers
 * than the file has bytes for.
 */
#include <regimen/tensor.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("npz", 0);
    rgm_npz *file;
    char path[64];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rgm_npz_open(&file, path) == RGM_OK) {
        for (int64_t i = 0; i < rgm_npz_count(file); i++) {
            rgm_tensor *t;

            if (rgm_npz_get(&t, file, rgm_npz_name(file, i)) == RGM_OK &&
                rgm_tensor_bytes(t) > size)
                __builtin_trap();
            rgm_tensor_release(t);
        }
        rgm_npz_close(file);
    }
    close(fd);
    return 0;
}

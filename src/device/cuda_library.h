/*
 * Where the libraries of CUDA's toolkit are: where the loader looks, in a toolkit's folder, or in
 * the Python packages that have one of them each.
 */
#ifndef RGM_CUDA_LIBRARY_H
#define RGM_CUDA_LIBRARY_H

#include <stdbool.h>

/** Try the files of lib`stem`.so, the newest first, until `loads` is pleased with one; whether it
 * was. */
bool rgmi_cuda_library(const char *stem, bool (*loads)(const char *path));

#endif

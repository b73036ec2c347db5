/*
 * The places of CUDA's libraries.
 */
#include "cuda_library.h"

#include <regimen/base.h>

#include <stdio.h>
#include <stdlib.h>

/* The newest that matches a pattern behind the folder that a variable names. */
static bool loads_match(const char *variable, const char *place, const char *stem,
                        bool (*loads)(const char *path))
{
    const char *folder = variable != NULL ? getenv(variable) : "";
    char *whole = NULL, **names = NULL;
    int64_t count = 0;
    bool found = false;

    if (folder != NULL && rgm_strprintf(&whole, "%s%s/lib%s.so*", folder, place, stem) == RGM_OK &&
        rgm_glob(&names, &count, whole) == RGM_OK)
        for (int64_t i = count - 1; i >= 0 && !found; i--)
            found = loads(names[i]);
    rgm_names_release(names, count);
    rgm_free(whole);
    return found;
}

bool rgmi_cuda_library(const char *stem, bool (*loads)(const char *path))
{
    static const char *const versions[] = {".13", ".12", ".11.2", ".11", ""};
    static const struct {
        const char *variable, *place;
    } places[] = {
        {"CUDA_HOME", "/lib64"},
        {"CUDA_PATH", "/lib64"},
        {NULL, "/usr/local/cuda/lib64"},
        {NULL, "/usr/local/cuda*/lib*"},
        {NULL, "/usr/local/cuda*/targets/*/lib"},
        {NULL, "/opt/cuda/lib64"},
        {"CONDA_PREFIX", "/lib"},
        {"VIRTUAL_ENV", "/lib/python*/site-packages/nvidia/*/lib"},
        {"HOME", "/.local/lib/python*/site-packages/nvidia/*/lib"},
        {NULL, "/usr/local/lib/python*/*-packages/nvidia/*/lib"},
        {NULL, "/usr/lib/python*/*-packages/nvidia/*/lib"},
    };
    char name[64];

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        snprintf(name, sizeof name, "lib%s.so%s", stem, versions[i]);
        if (loads(name))
            return true;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (loads_match(places[i].variable, places[i].place, stem, loads))
            return true;
    return false;
}

/*
 * Where libregimen-mpi.so is, and its table. It lies beside libregimen, or beside the command that
 * has the library in it, or in that one's ../lib, or where the loader looks; REGIMEN_MPI names
 * another, for another MPI.
 */
#include "comm_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "libregimen-mpi.so"

/* The folder of the program or library that this function is in. */
static rgm_status own_folder(char **out)
{
    Dl_info info;
    char *path = NULL, *slash;

    if (dladdr(&rgmi_mpi_load, &info) == 0 || info.dli_fname == NULL)
        return RGM_FAIL(RGM_ERR_IO, "cannot find out where libregimen is");
    /* of a program it is what it was called by: "regimen", "build/regimen" */
    path = realpath(info.dli_fname[0] == '/' ? info.dli_fname : "/proc/self/exe", NULL);
    if (path == NULL)
        return RGM_FAIL_SYSTEM("find", info.dli_fname);
    slash = strrchr(path, '/');
    *slash = '\0';
    rgm_status status = rgm_strdup(out, path);
    free(path);
    return status;
}

/* *out is NULL if it is nowhere. */
static rgm_status find_file(char **out)
{
    static const char *const places[] = {"", "../" RGM_LIBDIR "/", "../lib/"};
    const char *named = getenv("REGIMEN_MPI");
    rgm_status status = RGM_OK;
    char *folder = NULL;

    *out = NULL;
    if (named != NULL && *named != '\0')
        return rgm_strdup(out, named);
    RGM_GO(own_folder(&folder));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        RGM_GO(rgm_strprintf(out, "%s/%s%s", folder, places[i], FILE_NAME));
        if (rgm_path_exists(*out))
            break;
        rgm_free(*out);
        *out = NULL;
    }
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_mpi_load(const regimen_mpi **out)
{
    regimen_mpi_table_function *function = NULL;
    rgm_status status = RGM_OK;
    char *path = NULL;
    void *object;

    *out = NULL;
    RGM_GO(find_file(&path));
    /* the parts of an MPI that are loaded later look for its symbols among all */
    object = dlopen(path != NULL ? path : FILE_NAME, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (object == NULL && path == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "this build has no MPI (there is no " FILE_NAME "): install "
                        "libopenmpi-dev and build again, or start one process"));
    if (object == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED, "MPI cannot be loaded: %s", dlerror()));
    *(void **)&function = dlsym(object, REGIMEN_MPI_SYMBOL);
    if (function == NULL || function()->abi != REGIMEN_MPI_ABI)
        RGM_GO(RGM_FAIL(RGM_ERR_VERSION, "%s is of another version of Regimen", path));
    *out = function();
done:
    rgm_free(path);
    return status;
}

/*
 * NVRTC, CUDA's compiler as a library: it compiles where no GPU is, too.
 */
#ifndef RGM_NVRTC_H
#define RGM_NVRTC_H

#include "device_internal.h"

/** Load it, wherever it was installed; its version, 13000 for 13.0. RGM_ERR_UNSUPPORTED: it was not
 * found, with where it was looked for and what to install. */
rgm_status rgmi_nvrtc_load(int *version);
/** Compile `source` for `architecture`: 90 for compute capability 9.0. *binary: a CUBIN, or PTX
 * where this NVRTC is older than the architecture. RGM_ERR_DATA: the compiler's words. */
rgm_status rgmi_nvrtc_compile(rgm_text *binary, const char *name, const char *source,
                              int architecture, rgm_dtype real);

#endif

/* Sweeps over parameters of float: see reference_sweeps.h. */
#define REAL        float
#define PLAIN(name) rgmi_f32_##name
#include "reference_sweeps.h"

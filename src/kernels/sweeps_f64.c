/* Sweeps over parameters of double: see reference_sweeps.h. */
#define REAL        double
#define PLAIN(name) rgmi_f64_##name
#include "reference_sweeps.h"

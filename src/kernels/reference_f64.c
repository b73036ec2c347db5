/* The reference rows for double, which gradient checks run on: see reference.h. */
#define REAL            double
#define REAL_DTYPE      RGM_F64
#define REAL_LOWEST     (-1.7976931348623157e+308)
#define REAL_TABLE      rgmi_reference_f64
#define REAL_ROW        RGMI_F64_ROW
#define PLAIN(name)     rgmi_f64_##name
#define R(function)     function
#define R_CONST(number) number
#include "reference.h"

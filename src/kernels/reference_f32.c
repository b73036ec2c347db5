/* The reference rows for float: see reference.h. */
#define REAL             float
#define REAL_DTYPE       RGM_F32
#define REAL_LOWEST      (-3.402823466e+38f)
#define REAL_TABLE       rgmi_reference_f32
#define REAL_ROW         RGMI_F32_ROW
#define PLAIN(name)      rgmi_f32_##name
#define R(function)      function##f
#define R_CONST(number)  number##f
#define REAL_BF16_MATMUL rgmi_reference_bf16_matmul
#include "reference.h"

/* What answers with curves share. */
#ifndef RGM_WEB_ANSWERS_CURVES_H
#define RGM_WEB_ANSWERS_CURVES_H

#include "expression.h"

#include <regimen/http.h>

enum { RGMI_MOST_EXPRESSIONS = 16 };
typedef struct rgmi_expressions {
    rgmi_expression *items[RGMI_MOST_EXPRESSIONS];
    int64_t count;
} rgmi_expressions;
/** Those of key=TEXT&key=TEXT. Errors: RGM_ERR_ARG; rgmi_expressions_clear() in any case. */
rgm_status rgmi_expressions_read(rgmi_expressions *out, const rgm_target *target, const char *key);
void rgmi_expressions_clear(rgmi_expressions *expressions);

#endif

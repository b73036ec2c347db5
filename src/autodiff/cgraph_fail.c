/*
 * The first failure of a graph: what builders report to, and what the user asks at the end.
 */
#include "autodiff_internal.h"

#include <stdarg.h>
#include <stdio.h>

rgm_status rgm_cgraph_status(rgm_cgraph *graph)
{
    if (graph == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "graph is NULL");
    return graph->error.status == RGM_OK ? RGM_OK : rgm_error_restore(&graph->error);
}

rgm_value *rgm_cgraph_fail(rgm_cgraph *graph, rgm_status code, const char *format, ...)
{
    char message[sizeof graph->error.message];
    va_list arguments;

    if (graph == NULL || graph->error.status != RGM_OK)
        return NULL;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    RGM_FAIL(code, "%s", message);
    rgm_error_save(&graph->error, code);
    return NULL;
}

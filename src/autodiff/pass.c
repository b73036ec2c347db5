/*
 * The passes over an executor's private graph, in their order. A pass looks at each value once,
 * inputs first, and may put another in its place; what nobody needs any more falls away.
 */
#include "executor_internal.h"

rgm_status rgmi_program_optimize(rgm_executor *executor)
{
    return rgmi_program_order(executor);
}

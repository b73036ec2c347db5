/* Shared inside nn: the place that messages name, and names of random streams. */
#ifndef RGM_NN_INTERNAL_H
#define RGM_NN_INTERNAL_H

#include <regimen/nn.h>

/* Ops made from here on name `scope` in messages. */
void rgmi_scope_mark(const rgm_scope *scope);
/* "<path>/<kind>_<k>", k counting within the scope: the random stream of one dropout. NULL: no
 * memory. */
const char *rgmi_scope_stream(rgm_scope *scope, const char *kind);

#endif

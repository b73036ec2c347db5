/*
 * An encoded element from a stranger, with a graph in it perhaps: it is refused, or it is sound:
 * what is encoded of it decodes to the same bytes again.
 */
#include <stdlib.h>
#include <string.h>

#include <regimen/graph.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rgm_element_type *const types[] = {&rgm_graph_element, NULL};
    rgm_element *element, *again;
    rgm_text first = {0}, second = {0};

    if (rgm_element_decode(&element, data, (int64_t)size, types) != RGM_OK)
        return 0;
    if (rgm_element_encode(&first, element) != RGM_OK ||
        rgm_element_decode(&again, first.data, first.size, types) != RGM_OK ||
        rgm_element_encode(&second, again) != RGM_OK || first.size != second.size ||
        memcmp(first.data, second.data, (size_t)first.size) != 0)
        abort();
    rgm_element_release(element);
    rgm_element_release(again);
    rgm_text_clear(&first);
    rgm_text_clear(&second);
    return 0;
}

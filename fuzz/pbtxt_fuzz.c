/*
 * Protobuf text from anywhere: what parses must print, and the print parse and print to the same
 * text. Values are also read as every kind.
 */
#include <regimen/data.h>

#include <string.h>

#include "target.h"

static void read_values(const rgm_pbtxt *document, const rgm_pbtxt_field *message)
{
    for (const rgm_pbtxt_field *f = message->first; f != NULL; f = f->next) {
        int64_t integer;
        double number;
        bool flag;
        const char *text;

        (void)rgm_pbtxt_int(&integer, document, f);
        (void)rgm_pbtxt_bool(&flag, document, f);
        (void)rgm_pbtxt_string(&text, document, f);
        (void)rgm_pbtxt_word(&text, document, f);
        if (f->kind == RGM_PBTXT_NUMBER && rgm_pbtxt_double(&number, document, f) != RGM_OK)
            __builtin_trap();
        if (f->kind == RGM_PBTXT_MESSAGE)
            read_values(document, f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_pbtxt *document, *again;
    rgm_text first = {0}, second = {0};

    if (rgm_pbtxt_parse(&document, (const char *)data, (int64_t)size, "input") != RGM_OK)
        return 0;
    read_values(document, rgm_pbtxt_root(document));
    if (rgm_text_add(&first, "", 0) != RGM_OK ||
        rgm_pbtxt_print(&first, rgm_pbtxt_root(document)) != RGM_OK ||
        rgm_pbtxt_parse(&again, first.data, first.size, "again") != RGM_OK ||
        rgm_text_add(&second, "", 0) != RGM_OK ||
        rgm_pbtxt_print(&second, rgm_pbtxt_root(again)) != RGM_OK ||
        strcmp(first.data, second.data) != 0)
        __builtin_trap();
    rgm_pbtxt_release(document);
    rgm_pbtxt_release(again);
    rgm_text_clear(&first);
    rgm_text_clear(&second);
    return 0;
}

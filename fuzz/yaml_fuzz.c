/*
 * YAML from anywhere: parse, print, parse again; the print must read back as the same text. The
 * first line also serves as a --set path.
 */
#include <regimen/base.h>

#include <string.h>

#include "target.h"

static void print_again(const rgm_yaml *yaml)
{
    rgm_text first = {0}, second = {0};
    rgm_yaml *again = NULL;

    if (rgm_yaml_print(&first, rgm_yaml_root(yaml)) != RGM_OK)
        __builtin_trap();
    if (first.size <= 1 << 20) { /* what is printed may be longer than what is read */
        if (rgm_yaml_parse(&again, first.data, first.size, "again") != RGM_OK ||
            rgm_yaml_print(&second, rgm_yaml_root(again)) != RGM_OK ||
            strcmp(first.data, second.data) != 0)
            __builtin_trap();
    }
    rgm_yaml_release(again);
    rgm_text_clear(&first);
    rgm_text_clear(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_yaml *yaml = NULL, *over = NULL;
    char path[64];
    size_t n = 0;

    if (rgm_yaml_parse(&yaml, (const char *)data, (int64_t)size, "input") != RGM_OK)
        return 0;
    print_again(yaml);
    while (n < size && n + 1 < sizeof path && data[n] != '\n' && data[n] != 0)
        n++;
    memcpy(path, data, n);
    path[n] = 0;
    if (rgm_yaml_set(yaml, path, path, "--set") == RGM_OK)
        print_again(yaml);
    if (rgm_yaml_parse(&over, (const char *)data, (int64_t)size, "over") == RGM_OK &&
        rgm_yaml_merge(yaml, over) == RGM_OK)
        print_again(yaml);
    rgm_yaml_release(over);
    rgm_yaml_release(yaml);
    return 0;
}

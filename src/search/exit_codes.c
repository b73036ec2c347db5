/*
 * Exit codes that say that no other try can succeed.
 */
#include <regimen/search_exit.h>

#include <stddef.h>

bool rgm_exit_is_final(int code)
{
    static const int codes[] = {2, 64, 65, 66, 78};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code)
            return true;
    return false;
}

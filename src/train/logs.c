/*
 * Logs: named numbers in the order in which they were first set.
 */
#include <math.h>
#include <string.h>

#include <regimen/train.h>

static int64_t find(const rgm_logs *logs, const char *name)
{
    for (int64_t i = 0; i < logs->count; i++)
        if (strcmp(logs->items[i].name, name) == 0)
            return i;
    return -1;
}

rgm_status rgm_logs_set(rgm_logs *logs, const char *name, double value)
{
    int64_t at = find(logs, name);
    char *copy = NULL;

    if (at < 0) {
        RGM_TRY(RGM_RESERVE(logs->items, logs->capacity, logs->count + 1));
        RGM_TRY(rgm_strdup(&copy, name));
        at = logs->count++;
        logs->items[at].name = copy;
    }
    logs->items[at].value = value;
    return RGM_OK;
}

bool rgm_logs_has(const rgm_logs *logs, const char *name)
{
    return find(logs, name) >= 0;
}

double rgm_logs_get(const rgm_logs *logs, const char *name)
{
    int64_t at = find(logs, name);

    return at < 0 ? NAN : logs->items[at].value;
}

rgm_status rgm_logs_merge(rgm_logs *to, const rgm_logs *from)
{
    for (int64_t i = 0; i < from->count; i++)
        RGM_TRY(rgm_logs_set(to, from->items[i].name, from->items[i].value));
    return RGM_OK;
}

void rgm_logs_clear(rgm_logs *logs)
{
    for (int64_t i = 0; i < logs->count; i++)
        rgm_free((char *)logs->items[i].name);
    rgm_free(logs->items);
    *logs = (rgm_logs){0};
}

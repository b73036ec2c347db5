/*
 * Checkpoints of a run by their manifests alone: which is the newest that is whole, and which step
 * it says was the best.
 */
#include <regimen/store.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tab.h"

#define FOLDER "ckpt/"

enum { LARGEST_MANIFEST = 16 << 20, MOST_TRIES = 20 };

/* What the newest checkpoint says of the best validation. */
typedef struct best {
    int64_t newest, step; /* -1: none */
    double value;
    char *metric;
} best;

/* step-00001200: 1200; -1 for all other names. */
static int64_t step_of(const char *name)
{
    size_t digits;

    if (strncmp(name, "step-", 5) != 0)
        return -1;
    digits = strspn(name + 5, "0123456789");
    return digits >= 8 && digits <= 18 && name[5 + digits] == '\0' ? strtoll(name + 5, NULL, 10)
                                                                   : -1;
}

static int by_step(const void *a, const void *b)
{
    int64_t x = step_of(((const rgmi_kept_entry *)a)->name);
    int64_t y = step_of(((const rgmi_kept_entry *)b)->name);

    return (x > y) - (x < y);
}

/* Checkpoints alone, by their steps. */
static void sort_out(rgmi_kept_list *list)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < list->count; i++) {
        if (list->entries[i].is_folder && step_of(list->entries[i].name) >= 0)
            list->entries[kept++] = list->entries[i];
        else
            rgm_free(list->entries[i].name);
    }
    list->count = kept;
    if (kept > 0)
        qsort(list->entries, (size_t)kept, sizeof *list->entries, by_step);
}

/* ---- the newest ---------------------------------------------------------------------------- */

static rgm_status read_best(best *b, const rgm_checkpoint *checkpoint)
{
    const char *metric = NULL;
    int64_t step = -1;
    double value = NAN;
    const rgm_key_place places[] = {
        {RGM_KEY_BEST_STEP, &step}, {RGM_KEY_BEST_VALUE, &value}, {RGM_KEY_BEST_METRIC, &metric}};

    b->newest = rgm_checkpoint_step(checkpoint);
    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, places, sizeof places / sizeof *places));
    if (step < 0)
        return RGM_OK;
    b->step = step;
    b->value = value;
    return rgm_strdup(&b->metric, metric);
}

static rgm_status read_manifest(best *b, const char *folder, const char *name)
{
    rgm_checkpoint *checkpoint = NULL;
    char *path = NULL, *data = NULL;
    int64_t size;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_strprintf(&path, FOLDER "%s/manifest.json", name));
    RGM_GO(rgmi_kept_load(&data, &size, folder, path, LARGEST_MANIFEST));
    RGM_GO(rgm_checkpoint_from_manifest(&checkpoint, data, size, path));
    RGM_GO(read_best(b, checkpoint));
done:
    rgm_checkpoint_release(checkpoint);
    rgm_free(data);
    rgm_free(path);
    return status;
}

/* As a run that goes on: the newest that is whole, damaged ones are passed over. */
static rgm_status find_newest(best *b, const char *folder, const rgmi_kept_list *list,
                              char **damage)
{
    int64_t least = list->count > MOST_TRIES ? list->count - MOST_TRIES : 0;

    for (int64_t i = list->count; i-- > least && b->newest < 0;) {
        rgm_status status = read_manifest(b, folder, list->entries[i].name);

        if (status == RGM_ERR_NOT_FOUND && b->newest < 0 && *damage == NULL)
            RGM_TRY(rgm_strprintf(damage, FOLDER "%s has no manifest.json", list->entries[i].name));
        RGM_TRY(rgmi_note(damage, status));
    }
    return RGM_OK;
}

/* ---- print --------------------------------------------------------------------------------- */

static rgm_status put_files(rgm_text *out, const rgmi_kept_list *files)
{
    RGM_TRY(rgm_text_printf(out, ",\"files\":["));
    for (int64_t i = 0, told = 0; i < files->count; i++) {
        if (files->entries[i].is_folder)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s{\"name\":", told++ > 0 ? "," : ""));
        RGM_TRY(rgmi_put_name(out, files->entries[i].name));
        RGM_TRY(rgm_text_printf(out, ",\"bytes\":%lld}", (long long)files->entries[i].size));
    }
    return rgm_text_add(out, "]", 1);
}

static rgm_status put_checkpoint(rgm_text *out, const char *folder, const rgmi_kept_entry *entry,
                                 const best *b, char **damage)
{
    int64_t step = step_of(entry->name), bytes = 0;
    double time = entry->time;
    rgmi_kept_list files = {0};
    char *path = NULL;
    bool kept = false;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_strprintf(&path, FOLDER "%s", entry->name));
    RGM_GO(rgmi_note(damage, rgmi_kept_list_load(&files, folder, path)));
    for (int64_t i = 0; i < files.count; i++) {
        bytes += files.entries[i].is_folder ? 0 : files.entries[i].size;
        if (strcmp(files.entries[i].name, "manifest.json") == 0)
            time = files.entries[i].time;
        kept = kept || strcmp(files.entries[i].name, "kept") == 0;
    }
    RGM_GO(rgm_text_printf(out, "{\"step\":%lld,\"bytes\":%lld,\"time\":", (long long)step,
                           (long long)bytes));
    RGM_GO(rgmi_put_number(out, time));
    RGM_GO(rgm_text_printf(out, ",\"newest\":%s,\"best\":%s,\"kept\":%s",
                           step == b->newest ? "true" : "false", step == b->step ? "true" : "false",
                           kept ? "true" : "false"));
    RGM_GO(put_files(out, &files));
    RGM_GO(rgm_text_add(out, "}", 1));
done:
    rgmi_kept_list_clear(&files);
    rgm_free(path);
    return status;
}

static rgm_status put_best(rgm_text *out, const best *b)
{
    RGM_TRY(rgm_text_printf(out, ",\"best\":"));
    if (b->step < 0)
        return rgm_text_add(out, "null", 4);
    RGM_TRY(rgm_text_printf(out, "{\"step\":%lld,\"metric\":", (long long)b->step));
    RGM_TRY(rgmi_put_name(out, b->metric));
    RGM_TRY(rgm_text_printf(out, ",\"value\":"));
    RGM_TRY(rgmi_put_number(out, b->value));
    return rgm_text_add(out, "}", 1);
}

rgm_status rgmi_tell_checkpoints(rgm_text *out, const char *folder)
{
    best b = {.newest = -1, .step = -1, .value = NAN};
    rgmi_kept_list list = {0};
    char *damage = NULL;
    int64_t first;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&damage, rgmi_kept_list_load(&list, folder, "ckpt")));
    sort_out(&list);
    RGM_GO(find_newest(&b, folder, &list, &damage));
    first = list.count > RGMI_TOLD_CHECKPOINTS ? list.count - RGMI_TOLD_CHECKPOINTS : 0;
    RGM_GO(rgm_text_printf(out, "{\"total\":%lld,\"checkpoints\":[", (long long)list.count));
    for (int64_t i = first; i < list.count; i++) {
        RGM_GO(rgm_text_add(out, ",", i > first));
        RGM_GO(put_checkpoint(out, folder, &list.entries[i], &b, &damage));
    }
    RGM_GO(rgm_text_add(out, "]", 1));
    RGM_GO(put_best(out, &b));
    RGM_GO(rgmi_put_end(out, damage));
done:
    rgmi_kept_list_clear(&list);
    rgm_free(b.metric);
    rgm_free(damage);
    return status;
}

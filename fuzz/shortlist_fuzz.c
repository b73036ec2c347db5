/*
 * A shortlist from a stranger: refused, or every token of it is one of the target's vocabulary, and
 * it is the same when it was saved and loaded again. The checksum is made right first, so that what
 * lies behind it is reached.
 */
#include <regimen/sequence.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

/* What a shortlist's file has a checksum of: numbers, mark, and the hash of each tensor's bytes. */
static rgm_status summarize(rgm_text *out, const rgm_safetensors *file)
{
    static const char *const numbers[] = {"first", "best", "pairs"};
    static const char *const tensors[] = {"start", "tokens", "frequent"};
    const char *mark = rgm_safetensors_metadata(file, "mark");

    for (int i = 0; i < 3; i++) {
        const char *text = rgm_safetensors_metadata(file, numbers[i]);

        MUST(rgm_text_printf(out, "%lld ", text != NULL ? strtoll(text, NULL, 10) : 0));
    }
    MUST(rgm_text_printf(out, "%s", mark != NULL ? mark : ""));
    for (int i = 0; i < 3; i++) {
        rgm_tensor *t;

        RGM_TRY(rgm_safetensors_get(&t, file, tensors[i]));
        MUST(rgm_text_printf(
            out, " %016llx",
            (unsigned long long)rgm_hash64(rgm_tensor_data(t), rgm_tensor_bytes(t))));
        rgm_tensor_release(t);
    }
    return RGM_OK;
}

static void mend(char *bytes, size_t size)
{
    static const char key[] = "\"checksum\":\"";
    char *at = memmem(bytes, size, key, sizeof key - 1), sum[17];
    rgm_safetensors *file;
    rgm_text text = {0};

    if (at == NULL || (size_t)(bytes + size - at) < sizeof key - 1 + 16 ||
        rgm_safetensors_open_memory(&file, bytes, (int64_t)size, "fuzz") != RGM_OK)
        return;
    if (summarize(&text, file) == RGM_OK) {
        snprintf(sum, sizeof sum, "%016llx",
                 (unsigned long long)rgm_hash64(text.data, (size_t)text.size));
        memcpy(at + sizeof key - 1, sum, 16);
    }
    rgm_text_clear(&text);
    rgm_safetensors_close(file);
}

static void check_all(const rgm_shortlist *list, const rgm_shortlist *again)
{
    rgm_shortlist_figures f = rgm_shortlist_describe(list), g = rgm_shortlist_describe(again);
    int64_t entries = 0;

    if (f.first < 1 || f.first > f.target_vocabulary || f.first != g.first || f.best != g.best ||
        f.pairs != g.pairs || f.entries != g.entries || strcmp(f.mark, g.mark) != 0)
        abort();
    for (int64_t s = 0; s < f.source_vocabulary; s++) {
        const int32_t *tokens, *same;
        int64_t count = rgm_shortlist_tokens(&tokens, list, (int32_t)s);

        if (count != rgm_shortlist_tokens(&same, again, (int32_t)s))
            abort();
        for (int64_t k = 0; k < count; k++)
            if (tokens[k] < 0 || tokens[k] >= f.target_vocabulary || tokens[k] != same[k])
                abort();
        entries += count;
    }
    if (entries != f.entries)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_shortlist *list, *second;
    char path[64], again[64], *bytes;
    int fd = memfd_create("shortlist", 0);

    MUST(RGM_NEW(bytes, (int64_t)size + 1));
    memcpy(bytes, data, size);
    mend(bytes, size);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rgm_shortlist_load(&list, path) == RGM_OK) {
        snprintf(again, sizeof again, "%s/regimen-fuzz-%ld",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        MUST(rgm_shortlist_save(again, list));
        MUST(rgm_shortlist_load(&second, again));
        check_all(list, second);
        if (unlink(again) != 0)
            abort();
        rgm_shortlist_release(list);
        rgm_shortlist_release(second);
    }
    rgm_free(bytes);
    close(fd);
    return 0;
}

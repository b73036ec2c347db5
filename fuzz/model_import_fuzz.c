/*
 * A folder of Hugging Face from one input: its configuration and, behind a line "---index", its
 * index of files of tensors. The weights are one small file and the tokenizer is a good one, so
 * that what is read is the configuration, and nothing of a size that it merely claims is made. A
 * folder that is refused leaves none of ours.
 */
#include <regimen/import.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

static const char tokenizer[] =
    "{\"added_tokens\":[{\"id\":3,\"content\":\"<|endoftext|>\",\"single_word\":false,"
    "\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}],"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
    "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
    "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"<|endoftext|>\":3},\"merges\":[\"a b\"]}}";

static char root[64];

static void write_file(const char *name, const void *data, size_t size)
{
    char path[128];
    FILE *out;

    snprintf(path, sizeof path, "%s/hf/%s", root, name);
    out = fopen(path, "wb");
    if (out == NULL || fwrite(data, 1, size, out) != size || fclose(out) != 0)
        __builtin_trap();
}

static void write_weights(const char *name)
{
    static const char header[] =
        "{\"model.norm.weight\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    char bytes[8 + sizeof header - 1 + 8] = {0};
    uint64_t length = sizeof header - 1;

    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + 8, header, sizeof header - 1);
    write_file(name, bytes, sizeof bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n---index\n";
    const rgm_model_import_options options = {.cut_vocabulary = true};
    const char *index = memmem(data, size, mark, sizeof mark - 1);
    rgm_model_import_report report;
    rgm_text text = {0};
    char source[96], run[96];

    snprintf(root, sizeof root, "/dev/shm/regimen-fuzz-XXXXXX"); /* many small files */
    if (mkdtemp(root) == NULL) {
        snprintf(root, sizeof root, "/tmp/regimen-fuzz-XXXXXX");
        if (mkdtemp(root) == NULL)
            __builtin_trap();
    }
    snprintf(source, sizeof source, "%s/hf", root);
    snprintf(run, sizeof run, "%s/run", root);
    if (rgm_folder_make(source) != RGM_OK)
        __builtin_trap();
    write_file("config.json", data, index != NULL ? (size_t)(index - (const char *)data) : size);
    write_file("tokenizer.json", tokenizer, sizeof tokenizer - 1);
    write_weights(index != NULL ? "a.safetensors" : "model.safetensors");
    if (index != NULL) {
        index += sizeof mark - 1;
        write_file("model.safetensors.index.json", index,
                   size - (size_t)(index - (const char *)data));
    }
    if (rgm_model_import(&report, source, run, &options) != RGM_OK && rgm_path_exists(run))
        __builtin_trap();
    if (rgm_model_import_report_print_json(&text, &report) != RGM_OK)
        __builtin_trap();
    rgm_text_clear(&text);
    rgm_model_import_report_clear(&report);
    if (rgm_folder_remove(root) != RGM_OK)
        __builtin_trap();
    return 0;
}

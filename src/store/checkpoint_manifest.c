/*
 * manifest.json: the files of a checkpoint with size and hash, and the values that are not tensors.
 * In every version of the format the last line is the hash of all bytes before it. So a damaged
 * manifest can be told from one of another version before anything in it is used.
 */
#include "store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_NAME "regimen-checkpoint"
#define TAIL_SIZE   31 /* of:   "xxh3": "0123456789abcdef"\n}\n */

static void print_tail(char tail[TAIL_SIZE + 1], const void *data, int64_t size)
{
    snprintf(tail, TAIL_SIZE + 1, "  \"xxh3\": \"%016" PRIx64 "\"\n}\n",
             rgm_hash64(data, (size_t)size));
}

/* ---- the list of files --------------------------------------------------------------------- */

void rgmi_manifest_clear(rgmi_manifest *manifest)
{
    for (int64_t i = 0; i < manifest->file_count; i++)
        rgm_free(manifest->files[i].name);
    rgm_free(manifest->files);
    *manifest = (rgmi_manifest){0};
}

rgm_status rgmi_manifest_add_file(rgmi_manifest *manifest, const char *name, int64_t size,
                                  uint64_t hash)
{
    char *copy = NULL;

    RGM_TRY(RGM_RESERVE(manifest->files, manifest->file_capacity, manifest->file_count + 1));
    RGM_TRY(rgm_strdup(&copy, name));
    manifest->files[manifest->file_count++] = (rgmi_file){copy, size, hash};
    return RGM_OK;
}

/* ---- print --------------------------------------------------------------------------------- */

static rgm_status print_value(rgm_text *out, rgmi_value_kind kind, const rgmi_value *value)
{
    switch (kind) {
    case RGMI_VALUE_INT:
        return rgm_text_printf(out, "%" PRId64, value->whole);
    case RGMI_VALUE_NUMBER:
        return rgm_json_print_number(out, value->number);
    case RGMI_VALUE_TEXT:
    case RGMI_VALUE_KINDS:
        break;
    }
    return rgm_json_print_text(out, value->text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "ints": {...}: all values of one kind, sorted by name. */
static rgm_status print_values(rgm_text *out, const rgm_checkpoint *checkpoint,
                               rgmi_value_kind kind, const char *title)
{
    const rgm_map *values = checkpoint->values[kind];
    int64_t count = values != NULL ? rgm_map_count(values) : 0;
    const char **names = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(names, count));
    for (int64_t i = 0; i < count; i++)
        names[i] = rgm_map_key(values, i);
    qsort(names, (size_t)count, sizeof *names, by_text);
    RGM_GO(rgm_text_printf(out, "  \"%s\": {", title));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgm_text_printf(out, "%s\n    ", i ? "," : ""));
        RGM_GO(rgm_json_print_text(out, names[i]));
        RGM_GO(rgm_text_printf(out, ": "));
        RGM_GO(print_value(out, kind, rgm_map_get(values, names[i])));
    }
    RGM_GO(rgm_text_printf(out, "%s},\n", count > 0 ? "\n  " : ""));
done:
    rgm_free(names);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rgmi_file *)a)->name, ((const rgmi_file *)b)->name);
}

rgm_status rgmi_manifest_print(rgm_text *out, rgmi_manifest *manifest,
                               const rgm_checkpoint *checkpoint)
{
    char tail[TAIL_SIZE + 1];

    if (manifest->file_count > 0)
        qsort(manifest->files, (size_t)manifest->file_count, sizeof *manifest->files, by_name);
    RGM_TRY(rgm_text_printf(out,
                            "{\n  \"format\": \"" FORMAT_NAME "\",\n  \"version\": %d,\n"
                            "  \"step\": %" PRId64 ",\n  \"files\": {",
                            RGM_CHECKPOINT_VERSION, manifest->step));
    for (int64_t i = 0; i < manifest->file_count; i++) {
        const rgmi_file *file = &manifest->files[i];

        RGM_TRY(rgm_text_printf(
            out, "%s\n    \"%s\": {\"size\": %" PRId64 ", \"xxh3\": \"%016" PRIx64 "\"}",
            i ? "," : "", file->name, file->size, file->hash));
    }
    RGM_TRY(rgm_text_printf(out, "\n  },\n"));
    RGM_TRY(print_values(out, checkpoint, RGMI_VALUE_INT, "ints"));
    RGM_TRY(print_values(out, checkpoint, RGMI_VALUE_NUMBER, "numbers"));
    RGM_TRY(print_values(out, checkpoint, RGMI_VALUE_TEXT, "texts"));
    print_tail(tail, out->data, out->size);
    return rgm_text_add(out, tail, TAIL_SIZE);
}

/* ---- parse --------------------------------------------------------------------------------- */

static rgm_status bad(const char *name, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: %s", name, what);
}

static rgm_status check_tail(const char *data, int64_t size, const char *name)
{
    char tail[TAIL_SIZE + 1];

    if (size < TAIL_SIZE + 2)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s has %lld bytes, too few for a manifest", name,
                        (long long)size);
    print_tail(tail, data, size - TAIL_SIZE);
    if (memcmp(tail, data + size - TAIL_SIZE, TAIL_SIZE) != 0)
        return bad(name, "the manifest's own hash does not fit: it is damaged");
    return RGM_OK;
}

static rgm_status check_version(const rgm_json *root, const char *name)
{
    const char *format = rgm_json_text(rgm_json_find(root, "format"));
    int64_t version;

    if (format == NULL || strcmp(format, FORMAT_NAME) != 0)
        return bad(name, "\"format\" is not \"" FORMAT_NAME "\"");
    if (!rgm_json_int(&version, rgm_json_find(root, "version")))
        return bad(name, "\"version\" is not an integer");
    if (version != RGM_CHECKPOINT_VERSION)
        return RGM_FAIL(RGM_ERR_VERSION,
                        "%s: the checkpoint has format version %lld; this build (%s) reads version "
                        "%d. Use the build that wrote it, or another run folder",
                        name, (long long)version, RGM_VERSION, RGM_CHECKPOINT_VERSION);
    return RGM_OK;
}

/* The files that a checkpoint may have: the tensor sets, and blobs by their own names. */
static bool is_known_file(const char *file)
{
    size_t size = strlen(file);

    for (int s = 0; s < RGMI_SETS; s++) {
        if (strcmp(file, rgmi_set_files[s]) == 0)
            return true;
    }
    return size > 4 && strcmp(file + size - 4, ".bin") == 0 && rgmi_is_plain_name(file, size - 4);
}

static rgm_status parse_files(rgmi_manifest *manifest, const rgm_json *files, const char *name)
{
    rgm_json_entry file = {0};

    if (!rgm_json_is_object(files))
        return bad(name, "\"files\" is not an object");
    while (rgm_json_next(&file, files)) {
        const char *hash = rgm_json_text(rgm_json_find(file.value, "xxh3"));
        int64_t size;
        uint64_t value;
        int end = 0;

        if (!is_known_file(file.key))
            return bad(name, "\"files\" names a file that no checkpoint has");
        if (!rgm_json_int(&size, rgm_json_find(file.value, "size")) || size < 0)
            return bad(name, "a file's \"size\" is not a size");
        if (hash == NULL || strlen(hash) != 16 || strspn(hash, "0123456789abcdef") != 16 ||
            sscanf(hash, "%16" SCNx64 "%n", &value, &end) != 1 || end != 16)
            return bad(name, "a file's \"xxh3\" is not a hash");
        RGM_TRY(rgmi_manifest_add_file(manifest, file.key, size, value));
    }
    return RGM_OK;
}

static rgm_status parse_value(rgm_checkpoint *checkpoint, rgmi_value_kind kind,
                              const rgm_json_entry *entry, const char *name)
{
    int64_t whole;
    double number;
    const char *text;

    switch (kind) {
    case RGMI_VALUE_INT:
        if (!rgm_json_int(&whole, entry->value))
            return bad(name, "one of \"ints\" is not an integer");
        return checkpoint ? rgm_checkpoint_set_int(checkpoint, entry->key, whole) : RGM_OK;
    case RGMI_VALUE_NUMBER:
        if (!rgm_json_number(&number, entry->value))
            return bad(name, "one of \"numbers\" is not a number");
        return checkpoint ? rgm_checkpoint_set_number(checkpoint, entry->key, number) : RGM_OK;
    case RGMI_VALUE_TEXT:
    case RGMI_VALUE_KINDS:
        break;
    }
    text = rgm_json_text(entry->value);
    if (text == NULL)
        return bad(name, "one of \"texts\" is not a text");
    return checkpoint ? rgm_checkpoint_set_text(checkpoint, entry->key, text) : RGM_OK;
}

static rgm_status parse_values(rgm_checkpoint *checkpoint, const rgm_json *root,
                               rgmi_value_kind kind, const char *title, const char *name)
{
    const rgm_json *values = rgm_json_find(root, title);
    rgm_json_entry entry = {0};

    if (!rgm_json_is_object(values))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: \"%s\" is not an object", name, title);
    while (rgm_json_next(&entry, values))
        RGM_TRY(parse_value(checkpoint, kind, &entry, name));
    return RGM_OK;
}

static rgm_status parse_root(rgmi_manifest *manifest, rgm_checkpoint *checkpoint,
                             const rgm_json *root, const char *name)
{
    RGM_TRY(check_version(root, name));
    if (!rgm_json_int(&manifest->step, rgm_json_find(root, "step")) || manifest->step < 0)
        return bad(name, "\"step\" is not a step");
    RGM_TRY(parse_files(manifest, rgm_json_find(root, "files"), name));
    RGM_TRY(parse_values(checkpoint, root, RGMI_VALUE_INT, "ints", name));
    RGM_TRY(parse_values(checkpoint, root, RGMI_VALUE_NUMBER, "numbers", name));
    return parse_values(checkpoint, root, RGMI_VALUE_TEXT, "texts", name);
}

rgm_status rgmi_manifest_parse(rgmi_manifest *manifest, rgm_checkpoint *checkpoint,
                               const void *data, int64_t size, const char *name)
{
    rgm_json *root;
    rgm_status status;

    RGM_TRY(check_tail(data, size, name));
    RGM_TRY(rgm_json_parse(&root, data, size, name));
    status = parse_root(manifest, checkpoint, root, name);
    rgm_json_release(root);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_checkpoint_manifest_check(const void *data, int64_t size, const char *name)
{
    rgmi_manifest manifest = {0};
    rgm_status status = rgmi_manifest_parse(&manifest, NULL, data, size, name);

    rgmi_manifest_clear(&manifest);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgm_checkpoint_from_manifest(rgm_checkpoint **out, const void *data, int64_t size,
                                        const char *name)
{
    rgmi_manifest manifest = {0};
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(rgm_checkpoint_create(&checkpoint, 0));
    RGM_GO(rgmi_manifest_parse(&manifest, checkpoint, data, size, name));
    checkpoint->step = manifest.step;
    *out = checkpoint;
    checkpoint = NULL;
done:
    rgm_checkpoint_release(checkpoint);
    rgmi_manifest_clear(&manifest);
    return status;
}

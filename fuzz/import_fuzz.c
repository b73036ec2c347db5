/*
 * A folder of CSV files from one input: a line "@N" starts the N-th file of the list below. The
 * folder is imported as an OGB data set and, by its schema, as CSV tables; what imports must
 * encode.
 */
#include <regimen/graph_import.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

static const char *const files[] = {
    "raw/edge.csv",
    "raw/num-node-list.csv",
    "raw/num-edge-list.csv",
    "raw/node-feat.csv",
    "raw/edge-feat.csv",
    "raw/node-label.csv",
    "raw/graph-label.csv",
    "split/s/train.csv",
    "split/s/test.csv",
    "raw/num-node-dict.csv",
    "raw/triplets.csv",
    "raw/relations/a___r___b/edge.csv",
    "raw/relations/a___r___b/edge-feat.csv",
    "raw/node-feat/a/node-feat.csv",
    "raw/node-label/a/node-label.csv",
    "schema.pbtxt",
    "n.csv",
    "e.csv",
};
#define FILES ((long)(sizeof files / sizeof *files))

static char root[64];

static void write_file(long number, const char *text, size_t size)
{
    char path[160], *slash;
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", root, files[number]);
    slash = strrchr(path, '/');
    *slash = 0;
    if (rgm_folder_make(path) != RGM_OK)
        __builtin_trap();
    *slash = '/';
    out = fopen(path, "wb");
    if (out == NULL || fwrite(text, 1, size, out) != size || fclose(out) != 0)
        __builtin_trap();
}

/* N of a line "@N", or -1. */
static long number_of(const char *line, size_t size)
{
    long number = 0;

    if (size < 3 || size > 7 || line[0] != '@')
        return -1;
    for (size_t i = 1; i + 1 < size; i++) {
        if (line[i] < '0' || line[i] > '9')
            return -1;
        number = number * 10 + line[i] - '0';
    }
    return number;
}

/* The input's files; those it does not name are absent. */
static void write_folder(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *line = memchr(text + at, '\n', size - at);
        size_t begin = line ? (size_t)(line - text) + 1 : size, end = begin;
        long number = number_of(text + at, begin - at);
        while (end < size && !(text[end] == '@' && text[end - 1] == '\n'))
            end++;
        if (number >= 0 && number < FILES)
            write_file(number, text + begin, end - begin);
        at = end;
    }
}

static void use(rgm_graph_data *imported)
{
    for (int64_t i = 0; i < imported->graph_count; i++) {
        rgm_text text = {0};
        if (rgm_graph_encode(&text, imported->graphs[i], "") != RGM_OK)
            __builtin_trap();
        rgm_text_clear(&text);
    }
    rgm_graph_data_clear(imported);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data imported;
    char schema[96];

    snprintf(root, sizeof root, "/tmp/regimen-fuzz-XXXXXX");
    if (mkdtemp(root) == NULL)
        __builtin_trap();
    write_folder((const char *)data, size);
    if (rgm_import_ogb(&imported, root, &options) == RGM_OK)
        use(&imported);
    options.relabel = true;
    options.undirected = options.sort_edges = false;
    if (rgm_import_ogb(&imported, root, &options) == RGM_OK)
        use(&imported);
    snprintf(schema, sizeof schema, "%s/schema.pbtxt", root);
    if (rgm_import_csv(&imported, schema, NULL) == RGM_OK)
        use(&imported);
    if (rgm_folder_remove(root) != RGM_OK)
        __builtin_trap();
    return 0;
}

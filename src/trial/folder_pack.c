/*
 * A folder as bytes and back: a tar archive (POSIX ustar) that has no times, owners or modes, so
 * that the same files are the same bytes. `tar xf` reads it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "folder_pack.h"

enum { BLOCK = 512, NAME = 100, SIZE_AT = 124, SIZE = 12, SUM_AT = 148, SUM = 8, TYPE_AT = 156 };

/* ---- files ------------------------------------------------------------------------------------
 */

void rgmi_files_clear(rgmi_file_list *files)
{
    for (int64_t i = 0; i < files->count; i++)
        rgm_free((char *)files->items[i].path);
    files->count = files->bytes = 0;
}

rgm_status rgmi_files_list(rgmi_file_list *files, const char *folder, const char *below)
{
    char **names = NULL, *path = NULL, *name = NULL;
    int64_t count = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        struct stat info;
        bool is_folder;

        RGM_GO(rgm_path_join(&path, folder, names[i]));
        if (stat(path, &info) != 0)
            RGM_GO(RGM_FAIL_SYSTEM("look at", path));
        is_folder = S_ISDIR(info.st_mode);
        RGM_GO(rgm_strprintf(&name, "%s%s%s", below, names[i], is_folder ? "/" : ""));
        RGM_GO(RGM_RESERVE(files->items, files->capacity, files->count + 1));
        files->items[files->count++] = (rgm_trial_file){name, is_folder ? 0 : info.st_size};
        files->bytes += is_folder ? 0 : info.st_size;
        if (is_folder) {
            const char *inside = name;

            name = NULL;
            RGM_GO(rgmi_files_list(files, path, inside));
        }
        name = NULL;
        rgm_free(path);
        path = NULL;
    }
done:
    rgm_free(name);
    rgm_free(path);
    rgm_names_release(names, count);
    return status;
}

/* ---- packing ----------------------------------------------------------------------------------
 */

/* The sum of a header's bytes, with blanks in its own place. */
static unsigned sum_of(const char *header)
{
    unsigned sum = 0;

    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM ? ' ' : (unsigned char)header[i];
    return sum;
}

static void make_header(char header[BLOCK], const rgm_trial_file *file)
{
    bool is_folder = file->path[strlen(file->path) - 1] == '/';

    memset(header, 0, BLOCK);
    memcpy(header, file->path, strlen(file->path));
    memcpy(header + 100, is_folder ? "0000755" : "0000644", 8);
    memcpy(header + 108, "0000000\0000000000", 16); /* of nobody */
    snprintf(header + SIZE_AT, SIZE, "%011llo", (unsigned long long)file->size);
    memcpy(header + 136, "00000000000", 12); /* at no time */
    header[TYPE_AT] = is_folder ? '5' : '0';
    memcpy(header + 257, "ustar\00000", 8);
    snprintf(header + SUM_AT, SUM, "%06o", sum_of(header));
    header[SUM_AT + SUM - 1] = ' ';
}

static rgm_status pack_file(rgm_text *out, const char *folder, const rgm_trial_file *file)
{
    static const char zeros[BLOCK];
    char header[BLOCK], *path = NULL, *data = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    if (strlen(file->path) >= NAME)
        return RGM_FAIL(RGM_ERR_CONFIG, "the file '%s': a path has at most %d bytes", file->path,
                        NAME - 1);
    make_header(header, file);
    RGM_GO(rgm_text_add(out, header, BLOCK));
    if (header[TYPE_AT] == '5')
        goto done;
    RGM_GO(rgm_path_join(&path, folder, file->path));
    RGM_GO(rgm_file_load(&data, &size, path, file->size));
    if (size != file->size)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s changed while it was read", path));
    RGM_GO(rgm_text_add(out, data, size));
    RGM_GO(rgm_text_add(out, zeros, (BLOCK - size % BLOCK) % BLOCK));
done:
    rgm_free(data);
    rgm_free(path);
    return status;
}

rgm_status rgmi_folder_pack(rgm_text *out, const char *folder, int64_t most)
{
    static const char end[2 * BLOCK];
    rgm_status status = RGM_OK;
    rgmi_file_list files = {0};

    RGM_GO(rgmi_files_list(&files, folder, ""));
    if (files.bytes > most)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%lld bytes in files, but at most %lld are possible",
                        (long long)files.bytes, (long long)most));
    for (int64_t i = 0; i < files.count; i++)
        RGM_GO(pack_file(out, folder, &files.items[i]));
    RGM_GO(rgm_text_add(out, end, sizeof end));
done:
    rgmi_files_clear(&files);
    rgm_free(files.items);
    return status;
}

/* ---- unpacking --------------------------------------------------------------------------------
 */

static bool read_octal(int64_t *out, const char *digits, int count)
{
    *out = 0;
    for (int i = 0; i < count && digits[i] != '\0' && digits[i] != ' '; i++) {
        if (digits[i] < '0' || digits[i] > '7')
            return false;
        *out = 8 * *out + (digits[i] - '0');
    }
    return true;
}

/* A path that stays below its folder. */
static bool is_inside(const char *path)
{
    const char *part = path;

    if (path[0] == '\0' || path[0] == '/' || memchr(path, '\0', NAME) == NULL)
        return false;
    while (part != NULL) {
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
        part = strchr(part, '/');
        part = part != NULL ? part + 1 : NULL;
    }
    return true;
}

static rgm_status unpack_one(const char *folder, const char *header, const char *data, int64_t size)
{
    char *path = NULL;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, folder, header));
    status = header[TYPE_AT] == '5' ? rgm_folder_make(path) : rgm_file_create(path, data, size);
    rgm_free(path);
    return status;
}

rgm_status rgmi_folder_unpack(const char *folder, rgm_str bytes)
{
    int64_t at = 0, size, sum;

    while (at + BLOCK <= bytes.size && bytes.data[at] != '\0') {
        const char *header = bytes.data + at;

        at += BLOCK;
        if (memcmp(header + 257, "ustar", 6) != 0 || !read_octal(&sum, header + SUM_AT, SUM - 1) ||
            sum != sum_of(header) || !read_octal(&size, header + SIZE_AT, SIZE - 1) ||
            size > bytes.size - at || !is_inside(header) ||
            (header[TYPE_AT] != '0' && header[TYPE_AT] != '5'))
            return RGM_FAIL(RGM_ERR_FORMAT, "the files are damaged at byte %lld",
                            (long long)(at - BLOCK));
        RGM_TRY(unpack_one(folder, header, header + BLOCK, size));
        at += (size + BLOCK - 1) / BLOCK * BLOCK;
    }
    return at + BLOCK <= bytes.size
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_FORMAT, "the files end at byte %lld, without their end",
                          (long long)bytes.size);
}

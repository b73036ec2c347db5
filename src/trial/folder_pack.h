/* A folder as bytes and back. */
#ifndef RGM_TRIAL_FOLDER_PACK_H
#define RGM_TRIAL_FOLDER_PACK_H

#include <regimen/trial.h>

/** Files by their paths; zero-initialised it is empty. The owner frees `items`. */
typedef struct rgmi_file_list {
    rgm_trial_file *items;
    int64_t count, capacity, bytes;
} rgmi_file_list;
/** Add what is in a folder, its folders' own entries before what is in them; below: its path in
 * the list. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_files_list(rgmi_file_list *files, const char *folder, const char *below);
void rgmi_files_clear(rgmi_file_list *files);

/** Append the files and folders in a folder as a tar archive. RGM_ERR_CONFIG: more than `most`
 * bytes, or a path of 100 bytes or more. */
rgm_status rgmi_folder_pack(rgm_text *out, const char *folder, int64_t most);
/** Write them into an empty folder. RGM_ERR_FORMAT: the bytes are damaged. */
rgm_status rgmi_folder_unpack(const char *folder, rgm_str bytes);

#endif

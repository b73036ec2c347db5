/*
 * What is asked of an experiment's code: its files, where it came from, and the bytes of one.
 */
#include "experiment_files.h"
#include "requests.h"

#include <stdio.h>
#include <string.h>

/* `, "origin": {...}`; null of an experiment of before. */
static rgm_status print_origin(rgmi_call *call)
{
    rgm_status status;
    rgmi_rows *rows;

    RGM_TRY(rgm_text_printf(call->out, ", \"origin\": "));
    RGM_TRY(rgmi_database_query(&rows, call->master->database,
                                "SELECT origin, git_commit, git_branch, is_dirty AS"
                                " 'is_dirty:bool', diff, is_cut AS 'is_cut:bool' FROM code_origins"
                                " WHERE experiment_id = ?",
                                "i", call->id));
    status = rgmi_rows_next(call->master->database, rows);
    if (status == RGM_END)
        return rgm_text_printf(call->out, "null");
    if (status == RGM_OK) {
        status = rgmi_print_row(call->out, rows);
        rgmi_rows_leave(rows);
    }
    return status;
}

static rgm_status print_files(rgm_json_writer *w, const rgm_code *code)
{
    RGM_TRY(rgm_json_open_list(w, "files", RGM_JSON_SPACED));
    for (int64_t i = 0; i < code->count; i++) {
        const rgm_code_file *f = &code->files[i];

        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "path", f->path));
        RGM_TRY(rgm_json_write_int(w, "size", f->size));
        RGM_TRY(rgm_json_write_bool(w, "is_executable", f->is_executable));
        RGM_TRY(rgm_json_write_text(w, "hash", f->hash));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

rgm_status rgmi_answer_code(rgmi_call *call)
{
    rgm_status status = RGM_OK;
    rgm_text files = {0};
    rgm_json_writer w = {.out = &files};
    char *folder = NULL;
    rgm_code code = {0};
    int64_t smaller;

    RGM_GO(rgmi_experiment_exists(&smaller, call));
    RGM_GO(rgmi_experiment_code(&code, call->master, call->id));
    RGM_GO(rgmi_master_path(&folder, call->master, call->id, 0, "code"));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(&w, "code", code.count > 0 ? code.hash : NULL));
    RGM_GO(rgm_json_write_text(&w, "folder", code.count > 0 ? folder : NULL));
    RGM_GO(print_files(&w, &code));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(call->out, files.data, files.size - 1)); /* without its end */
    RGM_GO(print_origin(call));
    RGM_GO(rgm_text_add(call->out, "}", 1));
done:
    rgm_code_clear(&code);
    rgm_text_clear(&files);
    rgm_free(folder);
    return status;
}

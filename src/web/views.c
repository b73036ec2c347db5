/* Saved views of the page: a name and a query each, in a file of the first folder that is served.
 */
#include "folder_file.h"
#include "web_internal.h"

#include <string.h>

#define FILE_NAME ".views.json"
enum { MOST_VIEWS = 100, LONGEST_NAME = 100, LONGEST_QUERY = 8192, LARGEST_FILE = 1 << 20 };

/* {"views": [{"name": TEXT, "query": TEXT}]}; NULL: there is none yet. What is no such file is an
 * error, and is not written over. */
static rgm_status load(rgm_json **out, const rgm_web *web)
{
    char *text = NULL;
    int64_t size = 0;
    rgm_status status;

    *out = NULL;
    if (web->folder_count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no folder is served that views could be kept in");
    status = rgmi_kept_load(&text, &size, web->folders[0], FILE_NAME, LARGEST_FILE);
    if (status == RGM_ERR_NOT_FOUND)
        return RGM_OK;
    if (status == RGM_OK)
        status = rgm_json_parse(out, text, size, FILE_NAME);
    rgm_free(text);
    if (status == RGM_OK && rgm_json_count(rgm_json_find(*out, "views")) < 0) {
        rgm_json_release(*out);
        *out = NULL;
        return RGM_FAIL(RGM_ERR_FORMAT, "%s has no list of views: move it away", FILE_NAME);
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static rgm_status print_view(rgm_text *out, bool *first, const char *name, const char *query)
{
    RGM_TRY(rgm_text_printf(out, "%s{\"name\":", *first ? "" : ",\n"));
    *first = false;
    RGM_TRY(rgm_json_print_text(out, name));
    RGM_TRY(rgm_text_printf(out, ",\"query\":"));
    RGM_TRY(rgm_json_print_text(out, query));
    return rgm_text_add(out, "}", 1);
}

/* Those of the file, with that of this name replaced, added or (query NULL) left out. */
static rgm_status print_views(rgm_text *out, const rgm_json *file, const char *name,
                              const char *query)
{
    const rgm_json *views = rgm_json_find(file, "views");
    int64_t count = file != NULL ? rgm_json_count(views) : 0, kept = 0;
    bool first = true;

    RGM_TRY(rgm_text_printf(out, "{\"views\":["));
    for (int64_t i = 0; i < count; i++) {
        const char *its = rgm_json_text(rgm_json_find(rgm_json_at(views, i), "name"));
        const char *text = rgm_json_text(rgm_json_find(rgm_json_at(views, i), "query"));

        if (its == NULL || text == NULL || (name != NULL && strcmp(its, name) == 0))
            continue;
        RGM_TRY(print_view(out, &first, its, text));
        kept++;
    }
    if (query != NULL && kept >= MOST_VIEWS)
        return RGM_FAIL(RGM_ERR_ARG, "there are %d views already: remove one", MOST_VIEWS);
    if (query != NULL)
        RGM_TRY(print_view(out, &first, name, query));
    return rgm_text_printf(out, "]}\n");
}

rgm_status rgmi_show_views(rgmi_web_call *call)
{
    rgm_json *file = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(load(&file, call->web));
    RGM_GO(print_views(&call->out->body, file, NULL, NULL));
done:
    rgm_json_release(file);
    return status;
}

static rgm_status save(rgmi_web_call *call, const char *name, const char *query)
{
    rgm_json *file = NULL;
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(load(&file, call->web));
    RGM_GO(print_views(&call->out->body, file, name, query));
    if (call->out->body.size > LARGEST_FILE) /* it could not be read again */
        RGM_GO(
            RGM_FAIL(RGM_ERR_ARG, "the views have more than %d bytes: remove one", LARGEST_FILE));
    RGM_GO(rgm_path_join(&path, call->web->folders[0], FILE_NAME));
    RGM_GO(rgm_file_save_own(path, call->out->body.data, call->out->body.size));
done:
    rgm_json_release(file);
    rgm_free(path);
    return status;
}

rgm_status rgmi_save_view(rgmi_web_call *call)
{
    const char *name = rgm_json_text(rgm_json_find(call->body, "name"));
    const rgm_json *value = rgm_json_find(call->body, "query"); /* NULL: it is removed */
    const char *query = rgm_json_text(value);
    rgm_status status;

    if (name == NULL || *name == 0 || strlen(name) > LONGEST_NAME)
        return RGM_FAIL(RGM_ERR_ARG, "name: a text of 1 to %d bytes", LONGEST_NAME);
    if (value != NULL && (query == NULL || strlen(query) > LONGEST_QUERY))
        return RGM_FAIL(RGM_ERR_ARG, "query: a text of at most %d bytes", LONGEST_QUERY);
    pthread_mutex_lock(&call->web->lock);
    status = save(call, name, query);
    pthread_mutex_unlock(&call->web->lock);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/*
 * What the page is told about itself: its version, what it may do, what it looks at.
 */
#include "masters.h"
#include "index.h"
#include "web_internal.h"

#include <inttypes.h>

static rgm_status print_masters(rgm_text *out, struct rgmi_masters *masters)
{
    const char *where;
    int64_t id;
    bool served;

    for (int64_t i = 0; rgmi_masters_at(&id, &where, &served, masters, i); i++) {
        RGM_TRY(
            rgm_text_printf(out, "%s{\"id\": %lld, \"where\": ", i > 0 ? ", " : "", (long long)id));
        RGM_TRY(rgm_json_print_text(out, where));
        RGM_TRY(rgm_text_printf(out, ", \"served\": %s}", served ? "true" : "false"));
    }
    return RGM_OK;
}

rgm_status rgmi_show_page(rgmi_web_call *call)
{
    const rgm_web *web = call->web;
    rgm_text *out = &call->out->body;
    int64_t found, read;
    bool walked;

    rgmi_web_find_masters(call->web, 0);
    RGM_TRY(rgm_text_printf(out, "{\"version\": \"%s\", \"read_only\": %s, \"folders\": [",
                            RGM_VERSION, web->gate.read_only ? "true" : "false"));
    for (int64_t i = 0; i < web->folder_count; i++) {
        RGM_TRY(rgm_text_add(out, ", ", i > 0 ? 2 : 0));
        RGM_TRY(rgm_json_print_text(out, web->folders[i]));
    }
    RGM_TRY(rgm_text_printf(out, "], \"masters\": ["));
    RGM_TRY(print_masters(out, web->masters));
    rgmi_runs_counts(&found, &read, &walked, web->runs);
    return rgm_text_printf(out, "], \"runs\": {\"found\": %" PRId64 ", \"read\": %" PRId64 "}}",
                           found, read);
}

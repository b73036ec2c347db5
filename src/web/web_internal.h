/*
 * What the page's answers are written against. routes.c has the table of all requests; a new answer
 * is a function of the type below and a row there.
 */
#ifndef RGM_WEB_INTERNAL_H
#define RGM_WEB_INTERNAL_H

#include "gate.h"
#include "tab.h"

#include <regimen/web.h>

#include <pthread.h>

typedef struct rgmi_runs rgmi_runs;
struct rgmi_masters;
struct rgmi_notices;

enum { RGMI_KEPT_IMPORTANCES = 8 };

/** Of an experiment, as it was found last. */
typedef struct rgmi_kept_importance {
    int64_t master, experiment;
    uint64_t hash; /* of the experiment's row then */
    double time;
    rgm_text text;
} rgmi_kept_importance;

struct rgm_web {
    rgmi_gate gate;
    char **folders; /* [folder_count] as they were named                      */
    int64_t folder_count;
    char *master;   /* URL; NULL: none                                        */
    char *address;  /* with the token                                         */
    int fd;         /* that listens, until rgm_web_serve() takes it; -1       */
    rgm_http *http; /* while it serves; NULL                                  */
    rgmi_runs *runs;
    struct rgmi_kept_cache *kept; /* indexes of runs' long files */
    struct rgmi_band_cache *bands;
    rgmi_profile_cache profiles;
    struct rgmi_masters *masters;
    struct rgmi_notices *events;
    pthread_mutex_t lock; /* of what follows */
    rgmi_kept_importance importances[RGMI_KEPT_IMPORTANCES];
};

/** A request on its way to an answer. */
typedef struct rgmi_web_call {
    rgm_web *web;
    const rgm_request *request;
    rgm_target target;      /* path; query, decoded                                    */
    rgm_path_values values; /* what the path has in the pattern's braces               */
    const char *hex;        /* {hex} of it: id of a run; NULL: it has none             */
    int64_t id;             /* the first {id} of it; 0: it has none                    */
    rgm_json *body;         /* an object; NULL: none was sent                          */
    rgm_response *out;      /* answers print JSON into out->body; its status is 200 before */
} rgmi_web_call;

/** Answer a request. An error becomes {code, message, details} with the code of
 * rgm_response_fail(), or with out->status where that was set to one of 400 and above. Threads:
 * several at once. */
typedef rgm_status rgmi_web_answer(rgmi_web_call *call);

/* ---- assets.c, page.c ------------------------------------------------------------------------ */
rgmi_web_answer rgmi_show_index, rgmi_show_asset, rgmi_show_page, rgmi_show_requests;

/* ---- answers_index.c ------------------------------------------------------------------------- */
rgmi_web_answer rgmi_show_runs, rgmi_show_run, rgmi_change_run;

/* ---- answers_groups.c, answers_actions.c, views.c -------------------------------------------- */
rgmi_web_answer rgmi_show_groups, rgmi_show_bands;
rgmi_web_answer rgmi_show_note, rgmi_delete_run, rgmi_stop_run;
rgmi_web_answer rgmi_show_views, rgmi_save_view;

/* ---- answers_compare.c ----------------------------------------------------------------------- */
rgmi_web_answer rgmi_show_curves, rgmi_show_configs;

/* ---- answers_tabs.c -------------------------------------------------------------------------- */
rgmi_web_answer rgmi_show_run_config, rgmi_show_run_logs, rgmi_show_run_checkpoints,
    rgmi_show_run_exports, rgmi_show_run_export, rgmi_show_run_histograms, rgmi_show_run_samples,
    rgmi_show_run_confusion, rgmi_show_run_scores, rgmi_show_run_explanations, rgmi_show_run_system,
    rgmi_show_run_model, rgmi_show_run_profile;

/* ---- proxy.c, experiment_importance.c, events.c ---------------------------------------------- */
rgmi_web_answer rgmi_show_master, rgmi_show_importance, rgmi_show_events;
void rgmi_importances_clear(rgm_web *web);

/* ---- watching.c ------------------------------------------------------------------------------ */

/** Look again at folders and masters, as once a second while somebody listens. */
void rgmi_web_refresh(rgm_web *web);
/** Masters of the folders get their numbers; waits a little until master `id` is found, with 0
 * until the folders were looked at once. */
void rgmi_web_find_masters(rgm_web *web, int64_t id);
/** Grows with whatever is told of a run, of the list with hex NULL; -1: there is no such run. */
int64_t rgmi_web_version(rgm_web *web, const char *hex);

/* ---- routes.c -------------------------------------------------------------------------------- */

/** Who answers: threads that read run folders; one that computes; one for each master, or a few of
 * them, so that one that does not answer holds up nobody else. */
enum { RGMI_READING, RGMI_COMPUTING, RGMI_ASKING, RGMI_WEB_LANES = 16 };

/** Whether a path is that of a page, not of data or a file. */
bool rgmi_route_is_page(const char *path);
/** For rgm_http_service; payload: the rgm_web. */
int64_t rgmi_route_lane(const rgm_request *request, void *payload);
/** Answer one that was let in. */
void rgmi_route_answer(rgm_response *out, const rgm_request *request, void *payload);

#endif

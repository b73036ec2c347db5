/*
 * search: a study, a search on disk for programs that drive themselves. Each of any number of
 * processes asks for a piece of work, does it, and tells what it came to; no master is at work.
 *
 *     rgm_study_open(&study, "study.json", file);
 *     rgm_study_ask(&piece, study, 0);                 trial 3: train it from 0 to 4
 *     ...
 *     rgm_study_tell(study, 3, 4, RGM_VALIDATED, &loss);
 *     rgm_study_close(study);
 *
 * A process may keep it open, and so may others: each call first reads what they have told. What
 * was asked and told is in the file when the call returns, and survives the death of any process;
 * a power cut may take back what was told in the last tenth of a second before it. Whoever speaks
 * lines of JSON and no C has rgm_study_say().
 */
#ifndef REGIMEN_SEARCH_STUDY_H
#define REGIMEN_SEARCH_STUDY_H

#include <regimen/search_file.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgm_study rgm_study;
/**
 * Open a study. Other processes may have it open as well.
 *
 * @param path  [in] a file, made where there is none; NULL: it is in memory alone
 * @param file  [in] the search that a new study begins with; its experiment_seed, or the time. An
 *                   older study keeps its own. NULL: the study has to be there
 *
 * Errors: RGM_ERR_NOT_FOUND (there is none, and no file to begin with), RGM_ERR_FORMAT (it is no
 * study, or damaged), RGM_ERR_VERSION, RGM_ERR_CONFIG, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_study_open(rgm_study **out, const char *path, const rgm_search_file *file);
void rgm_study_close(rgm_study *study); /* NULL does nothing */
/** Its search; borrowed, until the study is asked or told something. */
const rgm_search_file *rgm_study_file(const rgm_study *study);
const rgm_searcher *rgm_study_searcher(const rgm_study *study);

typedef enum rgm_study_kind {
    RGM_STUDY_WORK,
    RGM_STUDY_WAIT, /* nothing now: others are at work, whose results decide */
    RGM_STUDY_OVER  /* the search is over                                   */
} rgm_study_kind;

/** What is to be done: train a trial from one length to another, and validate it there. */
typedef struct rgm_study_piece {
    rgm_study_kind kind;
    int64_t trial;
    int64_t from, to; /* lengths in the searcher's unit; from 0: from the beginning */
    int64_t source;   /* from 0: the trial whose newest state it begins with; 0: none */
    uint32_t seed;    /* of the trial                                      */
    const rgm_hyper_value *values; /* [rgm_space_count()] borrowed, until the next call */
    int64_t out;                   /* pieces that are given out and not told, this one included */
} rgm_study_piece;
/**
 * Ask for a piece of work. It is given to nobody else.
 *
 * @param lost_seconds  [in] pieces that were given out longer ago are lost, and are given out
 * again; 0: none is, but those of rgm_study_hold()
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM, those of rgm_searcher_tell(); nothing is given out then.
 */
rgm_status rgm_study_ask(rgm_study_piece *out, rgm_study *study, double lost_seconds);
/**
 * From here on this process holds the pieces that it is given: whichever it has not told when it
 * ends, however it ends, are given out again to whoever asks. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_study_hold(rgm_study *study);
/** Give back what this process holds and has not told. *count: how many pieces. Errors: those of
 * rgm_study_ask(). */
rgm_status rgm_study_give_back(int64_t *count, rgm_study *study);
/**
 * Tell what a piece came to. The same a second time is no error, and changes nothing.
 *
 * @param length   [in] to which it was trained; 0: to which it was given out to be, of a trial's
 *                      first piece
 * @param kind     [in] RGM_VALIDATED, RGM_EXITED (it failed for good), RGM_INVALID, or RGM_ENDED:
 * the trial was ended on request at `length`, which counts
 * @param metrics  [in] [rgm_search_file_objectives()], of RGM_VALIDATED and RGM_ENDED
 *
 * Errors: RGM_ERR_ARG (there is no such trial, nothing of the kind is asked of it, or it may be
 * another piece's), those of rgm_study_ask(); nothing is changed then.
 */
rgm_status rgm_study_tell(rgm_study *study, int64_t trial, int64_t length,
                          rgm_search_event_kind kind, const double *metrics);
/** The trials that what was told last has closed: nothing more will be asked of them. Returns how
 * many; the array is borrowed until the next call. */
int64_t rgm_study_closed(const int64_t **trials, const rgm_study *study);

/* ---- lines of JSON -------------------------------------------------------------------------- */

/**
 * Print a piece: {"trial": 3, "hyperparameters": {"rate": 0.1}, "seed": 7, "from": 0, "to": 4},
 * with "source" where there is one; {"wait": true, "out": 2}; {"over": true}. Without a line break.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_study_print_piece(rgm_text *out, const rgm_study *study,
                                 const rgm_study_piece *piece);
/**
 * Answer a line: {"type": "ask"} by a piece, {"type": "tell", "trial": 3, "to": 4, "metrics":
 * {"loss": 0.5}} (or, for metrics, "failed": true or "invalid": true) by {"told": 3, "closed":
 * [2]},
 * {"type": "end"}, before which nothing is lost, by {"given_back": 1}. What is refused, with
 * nothing changed, is answered by {"error": "why"}. Numbers may be NaN and Infinity, as Python
 * prints them.
 *
 * @param answer  [in, out] the answer and a line break are added
 * @param ends    [out] it was the last line
 * @param lost_seconds  [in] as for rgm_study_ask()
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_study_say(rgm_text *answer, bool *ends, rgm_study *study, const char *line,
                         double lost_seconds);

#ifdef __cplusplus
}
#endif
#endif

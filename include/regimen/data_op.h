/*
 * data: how to write an op of a recipe: its row of functions, its running stage, its saved state.
 */
#ifndef REGIMEN_DATA_OP_H
#define REGIMEN_DATA_OP_H

#include <regimen/data_dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A stage is one op of a recipe that runs in one iterator: the op's options, its state, and the
 * stages that it has opened for its inputs. One thread at a time uses a stage.
 */
typedef struct rgm_stage rgm_stage;

/**
 * Reads a saved state; the getters fail with RGM_ERR_FORMAT at its end. A state may come from
 * anywhere. So restore() stores a value only after it has checked that save() could have written
 * it, and never reads more elements than a position allows.
 */
typedef struct rgm_state_reader {
    const uint8_t *data;
    int64_t size, at;
} rgm_state_reader;
/** The maximum of every counter in a position, so that counting on from it cannot overflow. */
#define RGM_STATE_MOST (INT64_MAX / 4)
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_state_put_int(rgm_text *out, int64_t number);
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_state_put_bytes(rgm_text *out, const void *data, int64_t size);
/** Errors: RGM_ERR_FORMAT. */
rgm_status rgm_state_get_int(int64_t *out, rgm_state_reader *reader);
/**
 * A number in 0..most.
 * Errors: RGM_ERR_FORMAT; *out is then 0 and the message names `what`.
 */
rgm_status rgm_state_get_count(int64_t *out, rgm_state_reader *reader, int64_t most,
                               const char *what);
/** Errors: RGM_ERR_FORMAT. */
rgm_status rgm_state_get_bytes(const uint8_t **data, int64_t *size, rgm_state_reader *reader);

/** An op. */
typedef struct rgm_dataset_type {
    const char *name;
    size_t options_size; /* copied into the recipe                             */
    size_t state_size;   /* zeroed before open                                 */
    /** Opens the inputs with rgm_stage_open(). `close` is called also when this fails. */
    rgm_status (*open)(rgm_stage *stage);
    rgm_status (*next)(rgm_element **out, rgm_stage *stage);
    /** The element that next will give, retained, if it is there already: it neither waits nor
     * changes the position. *out is NULL before, and stays it otherwise. May be NULL. */
    void (*peek)(rgm_element **out, rgm_stage *stage);
    /** May be NULL: next is called. Pass over the element that next would give, without making it:
     * what next would return, but RGM_OK for an error that only making it would find. */
    rgm_status (*skip)(rgm_stage *stage);
    /** Appends the position after the elements that next has given. The position determines the
     * state. */
    rgm_status (*save)(rgm_text *out, const rgm_stage *stage);
    /** Called after open, before any next. */
    rgm_status (*restore)(rgm_stage *stage, rgm_state_reader *state);
    void (*close)(rgm_stage *stage);
    /** May be NULL: the number of elements, -1 if unknown. An op with `at` is indexed if count >=
     * 0. */
    int64_t (*count)(const rgm_dataset *dataset);
    /** May be NULL: element i; does not change the position. */
    rgm_status (*at)(rgm_element **out, rgm_stage *stage, int64_t i);
    /** May be NULL: roughly the bytes of the state, without the states of the inputs. */
    int64_t (*state_bytes)(const rgm_dataset *dataset);
    /** May be NULL, never: whether element i, or the i-th of an epoch, is made of element i of the
     * input alone. Its skip then lets a rank make its own elements only (rgm_iterator_share()). */
    bool (*keeps_places)(const rgm_dataset *dataset);
    /** May be NULL: frees what the options own. */
    void (*clear)(void *options);
    /** May be NULL: prints the text between the parentheses of rgm_dataset_print(). */
    rgm_status (*print)(rgm_text *out, const void *options);
} rgm_dataset_type;

/**
 * A recipe that applies this op to `inputs` (retained). On success the recipe owns what the options
 * own; on failure the caller keeps it.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_create(rgm_dataset **out, const rgm_dataset_type *type, const void *options,
                              rgm_dataset *const *inputs, int64_t input_count);
const rgm_dataset_type *rgm_dataset_get_type(const rgm_dataset *dataset); /* of its last op */
const void *rgm_dataset_options(const rgm_dataset *dataset);
rgm_dataset *rgm_dataset_input(const rgm_dataset *dataset, int64_t i); /* borrowed, or NULL */

/** What your own op works with: its options, its state of state_size bytes. */
const void *rgm_stage_options(const rgm_stage *stage);
void *rgm_stage_state(const rgm_stage *stage);
rgm_dataset *rgm_stage_dataset(const rgm_stage *stage); /* borrowed */
/** The random stream of the stage in this epoch, for element or draw number `step`. */
rgm_rng rgm_stage_rng(const rgm_stage *stage, uint64_t step);
/** Ask this in loops that may run long without giving an element; if it is true, return
 * RGM_STOPPED. */
bool rgm_stage_stopped(const rgm_stage *stage);
/**
 * Run `dataset` as an input of `parent`; `place` distinguishes the stages that one parent opens.
 * Errors: RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_stage_open(rgm_stage **out, rgm_stage *parent, const rgm_dataset *dataset,
                          int64_t place, uint64_t epoch);
void rgm_stage_close(rgm_stage *stage);
/**
 * The next element (RGM_END: there is none), given or passed over; element i of an indexed recipe;
 * save and restore the position of the stage. Errors: those of the ops before it;
 * RGM_ERR_UNSUPPORTED when _at is called on a recipe that is not indexed.
 */
rgm_status rgm_stage_next(rgm_element **out, rgm_stage *stage);
rgm_status rgm_stage_skip(rgm_stage *stage);
rgm_status rgm_stage_at(rgm_element **out, rgm_stage *stage, int64_t i);
rgm_status rgm_stage_save(rgm_text *out, const rgm_stage *stage);
rgm_status rgm_stage_restore(rgm_stage *stage, rgm_state_reader *state);

#ifdef __cplusplus
}
#endif
#endif

/*
 * data: datasets, which are immutable recipes (files, shuffle, map, batch, ...); the elements that
 * flow through them; and the iterators that run them. The same recipe and seed give the same
 * elements for any number of threads. An iterator's position is a small blob; another process
 * restores it by seeking, not by replaying.
 *
 *     rgm_dataset *data = NULL;
 *     rgm_dataset_list_files(&data, "train-*.tfrecord");
 *     rgm_dataset_read_tfrecords(&data, NULL);        each op replaces the recipe by a longer one
 *     rgm_dataset_shuffle(&data, 4096);
 *     rgm_dataset_map(&data, parse, NULL, NULL, 4);
 *     rgm_dataset_batch(&data, 32, true);
 *     rgm_dataset_prefetch(&data, 2);
 *     rgm_iterator_create(&iterator, data, NULL);
 *     while ((status = rgm_iterator_next(&element, iterator)) == RGM_OK) ...
 */
#ifndef REGIMEN_DATA_DATASET_H
#define REGIMEN_DATA_DATASET_H

#include <regimen/data_lines.h>
#include <regimen/data_records.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- elements ------------------------------------------------------------------------------ */

/** What flows through a pipeline: immutable, counted (from any thread), of one of these kinds. */
typedef struct rgm_element rgm_element;
typedef enum rgm_element_kind {
    RGM_ELEMENT_BYTES,
    RGM_ELEMENT_TENSORS,
    RGM_ELEMENT_LIST,   /* of elements: what batch makes         */
    RGM_ELEMENT_POINTER /* an object of the user, with its type  */
} rgm_element_kind;

/** What a pointer points to. Types are compared by address: write one static row for each. */
typedef struct rgm_element_type {
    const char *name;
    void (*release)(void *object); /* may be NULL */
    /** Append the object as bytes; rgm_element_encode(). NULL: it cannot leave the process. */
    rgm_status (*encode)(rgm_text *out, const void *object);
    /** The object of such bytes, which may come from anywhere. RGM_ERR_FORMAT, RGM_ERR_DATA. */
    rgm_status (*decode)(void **out, const void *data, int64_t size);
    /** Whether an object that was decoded has the form of another one; rgm_element_check_like().
     * RGM_ERR_DATA. NULL: all objects of the type have one form. */
    rgm_status (*check_like)(const void *object, const void *like);
} rgm_element_type;

/**
 * A copy of the bytes. A 0 follows them that `size` does not count.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_element_create_bytes(rgm_element **out, const void *data, int64_t size);
/** Retains the tensors. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_element_create_tensors(rgm_element **out, rgm_tensor *const *tensors, int64_t count);
/** Retains the elements. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_element_create_list(rgm_element **out, rgm_element *const *items, int64_t count);
/**
 * An empty list that knows what its items would look like. `like` (retained; may be NULL) is an
 * example item: its kind, dtypes and shapes matter, its content does not.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_element_create_empty_list(rgm_element **out, rgm_element *like);
/**
 * On success the element owns `object` and releases it at its end.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_element_create_pointer(rgm_element **out, const rgm_element_type *type,
                                      void *object);
rgm_element *rgm_element_retain(const rgm_element *element);
void rgm_element_release(rgm_element *element);

/** What the element holds. */
rgm_element_kind rgm_element_get_kind(const rgm_element *element);
/** The bytes; NULL for other kinds. */
const void *rgm_element_bytes(const rgm_element *element, int64_t *size);
/** The number of tensors (of any shape) or list items, 0 for other kinds; and number i of them,
 * borrowed, NULL out of range. */
int64_t rgm_element_count(const rgm_element *element);
rgm_tensor *rgm_element_tensor(const rgm_element *element, int64_t i);
rgm_element *rgm_element_item(const rgm_element *element, int64_t i);
/** What the items of a list look like: its first item, or the example of an empty list; NULL if
 * unknown. */
rgm_element *rgm_element_item_like(const rgm_element *element);
/** The object, borrowed; NULL unless the element is a pointer of that type. */
void *rgm_element_pointer(const rgm_element *element, const rgm_element_type *type);

/** Where an element was read: "train.tfrecord: record 7 at byte 913"; NULL if that is unknown. */
const char *rgm_element_origin(const rgm_element *element);
/**
 * A map function (see rgm_dataset_map). It stacks a list of n tensor elements with equal shapes
 * into one element of tensors [n, ...], and a list of n bytes elements into one tensor of texts
 * [n]. RGM_ERR_SHAPE and RGM_ERR_DTYPE name the item and the tensor. An empty list gives tensors
 * [0, ...] with the shapes of its example, or RGM_ERR_DATA if it has no example.
 */
struct rgm_map_call;
rgm_status rgm_element_stack(rgm_element **out, const rgm_element *list,
                             const struct rgm_map_call *call, void *payload);
/**
 * The inverse: example i of a stacked batch, as tensors [1, ...] that are views of row i.
 *
 * Errors: RGM_ERR_DATA (`batch` is no element of tensors, or one of them is a scalar),
 * RGM_ERR_SHAPE (the tensors differ in their number of rows), RGM_ERR_ARG (there is no row i),
 * RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_element_row(rgm_element **out, const rgm_element *batch, int64_t i);

/* ---- datasets: recipes --------------------------------------------------------------------- */

/**
 * A recipe: a source and the ops applied to it. It is immutable, counted, cheap to copy and to
 * keep, and reads nothing until an iterator runs it. A source makes a new recipe (`out`). An op
 * takes the address of the caller's reference and replaces it by the longer recipe (`dataset`); on
 * an error it leaves it unchanged.
 *
 * Order and randomness: recipe, seed and epoch fix the order in which every op gives its elements,
 * also when the op uses threads. What a random op draws depends only on the iterator's seed, the
 * op's place in the recipe, the epoch and the element's index.
 *
 * Errors: an error takes the place of the element that is lost. The next call goes on after it
 * where that is possible (an error of a map function, a bad record); elsewhere it fails again (an
 * unreadable file).
 */
typedef struct rgm_dataset rgm_dataset;
rgm_dataset *rgm_dataset_retain(const rgm_dataset *dataset);
void rgm_dataset_release(rgm_dataset *dataset);
/**
 * How many elements an epoch has; -1 when only reading can tell, INT64_MAX when it never ends. Maps
 * are assumed to drop no element.
 */
int64_t rgm_dataset_count(const rgm_dataset *dataset);
/** The same of one pass, where maps and prefetches are all that stands behind an endless
 * rgm_dataset_repeat(); else rgm_dataset_count(). */
int64_t rgm_dataset_pass(const rgm_dataset *dataset);
/**
 * "tfrecord(train.tfrecord) | shuffle(4096) | map(parallel) | batch(32, whole ones) | ..."
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_print(rgm_text *out, const rgm_dataset *dataset);

/** Elements in memory, retained. The recipe is indexed (see shuffle_all). Errors: RGM_ERR_ARG,
 * RGM_ERR_NOMEM. */
rgm_status rgm_dataset_from_elements(rgm_dataset **out, rgm_element *const *elements,
                                     int64_t count);
/**
 * Element i is row i of each tensor. The tensors are [rows, ...] and retained; the elements are
 * views of them. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_from_tensors(rgm_dataset **out, rgm_tensor *const *tensors, int64_t count);
/**
 * Element i is what `get` makes. Its position is only i, so `get` must depend on nothing but i and
 * the payload. When a recipe is run several times at once, several threads call `get` at once.
 * `count` is >= 0 (the recipe is then indexed), or -1: until `get` returns RGM_END. `release` (may
 * be NULL) is called when the recipe is released. If this function fails, the caller keeps the
 * payload.
 */
typedef rgm_status rgm_get_function(rgm_element **out, int64_t i, void *payload);
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_dataset_from_function(rgm_dataset **out, int64_t count, rgm_get_function *get,
                                     void *payload, void (*release)(void *payload));
/**
 * The numbers begin, begin+1, .. end-1 as scalar i64 tensors. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_range(rgm_dataset **out, int64_t begin, int64_t end);
/**
 * The paths (bytes elements) that match a pattern or "name@N", sorted. This call lists them, not
 * the iterator. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_list_files(rgm_dataset **out, const char *pattern);
rgm_status rgm_dataset_from_paths(rgm_dataset **out, const char *const *paths, int64_t count);
/** The records of one TFRecord file. options may be NULL. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_dataset_tfrecord(rgm_dataset **out, const char *path,
                                const rgm_tfrecord_options *options);
/**
 * A CSV file of numbers; this call loads it. Element i is row i as one tensor [columns] of the
 * dtype. When labels > 0 it is two tensors, [columns - labels] and [labels]. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_dataset(rgm_dataset **out, const char *path, rgm_dtype dtype, int64_t labels,
                           const rgm_csv_options *options);

/** Options of rgm_dataset_read_tfrecords(). */
typedef struct rgm_read_tfrecords_options {
    int64_t cycle_length; /* files open at once               */
    int64_t block_length; /* records from one file at a time  */
    rgm_tfrecord_options tfrecord;
} rgm_read_tfrecords_options;
#define RGM_READ_TFRECORDS_OPTIONS_INIT                                                            \
    {                                                                                              \
        .cycle_length = 1, .block_length = 1, .tfrecord = RGM_TFRECORD_OPTIONS_INIT                \
    }
/**
 * Replace paths by the records of those files, interleaved; options may be NULL.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_read_tfrecords(rgm_dataset **dataset,
                                      const rgm_read_tfrecords_options *options);
/**
 * Makes a dataset of an element. `cycle_length` of these datasets are open at once; each gives
 * `block_length` elements in turn. When one ends, the next is opened in its place.
 */
typedef rgm_status rgm_open_function(rgm_dataset **out, const rgm_element *element, void *payload);
/** Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_dataset_interleave(rgm_dataset **dataset, rgm_open_function *function, void *payload,
                                  void (*release)(void *payload), int64_t cycle_length,
                                  int64_t block_length);

/** What a map function gets with its element. */
typedef struct rgm_map_call {
    int64_t index; /* of the element in this map's input, within the epoch           */
    rgm_rng rng;   /* this element's own stream: draws 0, 1, ... are free to use      */
} rgm_map_call;
/**
 * *out is a new element or rgm_element_retain(element). RGM_END drops the element. The consumer
 * gets an error in the place of the element, with the element's origin before the message. When the
 * map is parallel, several threads call the function at once.
 */
typedef rgm_status rgm_map_function(rgm_element **out, const rgm_element *element,
                                    const rgm_map_call *call, void *payload);
/**
 * @param parallel  up to this many calls run at once, on the iterator's threads; the elements keep
 *                  the order of the input. 1: calls run in the thread that asks for elements. The
 *                  saved position is the same for every number from 1 on. 0: calls always run in
 *                  the thread that asks, and positions have another form.
 * @param release   called with the payload when the recipe is released; may be NULL
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_map(rgm_dataset **dataset, rgm_map_function *function, void *payload,
                           void (*release)(void *payload), int parallel);
/**
 * rgm_dataset_map() of a function that gives an element for each and has no state: what it gives
 * depends on the element, the call and the payload alone, and no other call depends on it. An
 * iterator with a share (rgm_iterator_share()) does not call it for the elements of others, nor is
 * it called for an element that is passed over (rgm_iterator_skip(), a position being restored). A
 * function that drops an element (RGM_END) is RGM_ERR_ARG in the place of the element.
 */
rgm_status rgm_dataset_map_each(rgm_dataset **dataset, rgm_map_function *function, void *payload,
                                void (*release)(void *payload), int parallel);
/** Keep the elements for which `function` sets *keep. */
typedef rgm_status rgm_filter_function(bool *keep, const rgm_element *element, void *payload);
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_dataset_filter(rgm_dataset **dataset, rgm_filter_function *function, void *payload,
                              void (*release)(void *payload));
/**
 * Draw each element from a buffer of the next `buffer_size` inputs, in another order each epoch.
 * Saved: the numbers of the elements in the buffer and the input's position before the oldest of
 * them. Restoring reads again from there, about buffer_size * (ln buffer_size + 2) elements.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_shuffle(rgm_dataset **dataset, int64_t buffer_size);
/**
 * A uniformly random order of an indexed recipe, a new one each epoch. Saved: one number.
 * Errors: RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_shuffle_all(rgm_dataset **dataset);
/**
 * Draw as many elements per epoch as the indexed recipe has, each independently: element i with
 * probability weights[i] / (sum of all). So some elements come often and others not at all. Each
 * epoch draws anew. Saved: one number.
 *
 * @param weights  [in] [count] finite and >= 0, copied
 * Errors: RGM_ERR_ARG (the weights, or `count` is not the number of elements), RGM_ERR_UNSUPPORTED,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_draw(rgm_dataset **dataset, const double *weights, int64_t count);
/**
 * Lists of `size` elements; the last list may be shorter unless drop_remainder. A map collates
 * them.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_batch(rgm_dataset **dataset, int64_t size, bool drop_remainder);
enum { RGM_MAX_BUDGETS = 4 };
/** The limits on the total weight of a list of elements, by several scales. */
typedef struct rgm_budgets {
    int64_t elements; /* most in a list; 0: as many as fit */
    int64_t count;    /* scales, 1 or more                 */
    int64_t limits[RGM_MAX_BUDGETS];
    const char *names[RGM_MAX_BUDGETS]; /* "nodes", for messages; borrowed for good */
    /** weights[count] of one element, none below 0. */
    rgm_status (*weigh)(int64_t *weights, const rgm_element *element, void *payload);
    void *payload; /* outlives the recipe */
} rgm_budgets;
/**
 * Lists by weight: each list takes elements, in the order of the input, until the next one would
 * exceed a limit. An element that alone exceeds a limit is RGM_ERR_DATA with its origin, weight and
 * limit; the next list begins after it. Only reading tells how many lists there are. Saved: the
 * input's place, as for an op that reads one element ahead.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_batch_within(rgm_dataset **dataset, const rgm_budgets *budgets);
/**
 * Poisson sampling: each step draws every element of an indexed recipe independently with
 * probability `rate`, in (0, 1], and gives the list of the drawn elements, in their order. So the
 * lists differ in size: it is rate * count on average, and a list may be EMPTY. An empty list
 * carries an example, see rgm_element_create_empty_list(). A map collates the lists, as after
 * batch.
 *
 * An epoch has round(1 / rate) steps. In an epoch an element is drawn once on average, perhaps
 * never, perhaps often. Epochs differ only in their draws, so a repeat shows no border between
 * them. What a step draws depends on seed, epoch and step. Saved: one number. An error in an
 * element costs its whole step. Cost: O(elements drawn).
 * Errors: RGM_ERR_ARG, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_poisson(rgm_dataset **dataset, double rate);
/**
 * Repeat for `count` epochs, or forever when count < 0. The ops before it start again for each
 * epoch. take and skip keep or drop the first `count` elements.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_repeat(rgm_dataset **dataset, int64_t count);
rgm_status rgm_dataset_take(rgm_dataset **dataset, int64_t count);
rgm_status rgm_dataset_skip(rgm_dataset **dataset, int64_t count);
/**
 * Keep the elements index, index + count, ...: the share of rank `index` of `count`. Applied to
 * paths it shares out whole files.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_shard(rgm_dataset **dataset, int64_t count, int64_t index);
/**
 * Keep the elements of the first pass in memory and give the same elements in every epoch. After a
 * restore the cache is filled again once, from the start of the input.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_cache(rgm_dataset **dataset);
/**
 * Run the ops before this one in a separate thread, up to `size` elements ahead.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_prefetch(rgm_dataset **dataset, int64_t size);

typedef enum rgm_mix_end {
    RGM_MIX_END_FIRST, /* ends when the drawn input has no more elements    */
    RGM_MIX_END_ALL    /* goes on with the other inputs until all have ended */
} rgm_mix_end;
/**
 * Each element comes from input i with probability weights[i] / sum. weights NULL: equal.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_mix(rgm_dataset **out, rgm_dataset *const *inputs, const double *weights,
                           int64_t count, rgm_mix_end end);

/**
 * Element n is the list of element n of each input, in the order of the inputs. It ends with the
 * shortest input. So several data sets run side by side, for steps that take a batch of each. An
 * input may itself be a zip; an input that is shorter than the others may repeat. An error in one
 * input costs the list that the element would have been in; the inputs stay aligned. Indexed when
 * all inputs are. Saved: the inputs' places.
 * Errors: RGM_ERR_ARG (no inputs), RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_zip(rgm_dataset **out, rgm_dataset *const *inputs, int64_t count);

/* ---- iterators ----------------------------------------------------------------------------- */

/** An element that was made elsewhere. */
typedef struct rgm_made {
    int64_t number;       /* its place among those that the iterator gives, from 0             */
    rgm_status status;    /* below 0: the error in its place, which is this thread's last one  */
    rgm_element *element; /* given to the iterator; NULL for an error                          */
    rgm_text after; /* given to the iterator: what rgm_iterator_save() of who made it appended */
} rgm_made;
/** Who makes an iterator's elements in its place: other processes, say. */
typedef struct rgm_maker {
    void *state;
    /**
     * Called before the first next and after a restore: make the elements behind `position`, which
     * rgm_iterator_restore() takes; the next of them is number `first`. Those with the numbers
     * `given` [count], ascending, are not wanted again.
     */
    rgm_status (*begin)(void *state, const rgm_dataset *dataset, const rgm_text *position,
                        int64_t first, const int64_t *given, int64_t count);
    /**
     * One that was not given yet, whichever is there. RGM_END: all were given. Any other status is
     * what rgm_iterator_next() returns, and no element's.
     */
    rgm_status (*next)(rgm_made *out, void *state);
    /** The iterator wants no more. */
    void (*end)(void *state);
} rgm_maker;

typedef struct rgm_iterator_options {
    uint64_t seed;
    uint64_t epoch; /* of the first pass; the ops before an rgm_dataset_repeat() count from 0 */
    int threads;    /* workers for parallel maps; 0: none, maps run in the asking thread    */
    rgm_thread_pool *pool;  /* borrowed; when given, used instead of own threads             */
    bool secret;            /* the seed is not saved in positions: after a restore, an iterator
                               with another seed draws by its own seed                       */
    bool in_step;           /* nothing is made before it is asked for, and no thread is used */
    const rgm_maker *maker; /* borrowed; makes the elements. NULL: the iterator does        */
} rgm_iterator_options;
#define RGM_ITERATOR_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .seed = 0, .epoch = 0, .threads = 0, .pool = NULL, .secret = false                         \
    }

/** A recipe being run. Used by one thread at a time. */
typedef struct rgm_iterator rgm_iterator;
/**
 * Retains the dataset; options may be NULL. The first call of rgm_iterator_next() opens the files
 * and starts the threads.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_iterator_create(rgm_iterator **out, const rgm_dataset *dataset,
                               const rgm_iterator_options *options);
/** Stops and joins its threads, whatever they are doing. */
void rgm_iterator_release(rgm_iterator *iterator);
/**
 * @param out  [out, owned] NULL unless RGM_OK
 *
 * Errors: RGM_END on every call after the last element; RGM_STOPPED after rgm_iterator_stop(); any
 * error of an op or a function, see rgm_dataset.
 */
rgm_status rgm_iterator_next(rgm_element **out, rgm_iterator *iterator);
/**
 * From where the iterator stands give of every `period` elements only those from number `first` on,
 * `count` of them: the others are somebody else's, and rgm_iterator_next() gives NULL, with RGM_OK,
 * in their places. Positions, order, random draws and the elements that are given stay as they are;
 * the maps that rgm_dataset_map_each() has made are not called for the others where nothing but
 * such maps, rgm_dataset_repeat() and rgm_dataset_prefetch() stands behind them. (So an error of
 * such a map is told to whom the element belongs.) Before the first rgm_iterator_next(), also after
 * a restore.
 *
 * Errors: RGM_ERR_ARG (the iterator has begun; not 0 <= first, 0 < count, first + count <= period),
 * RGM_ERR_UNSUPPORTED (a maker makes its elements, or has given some out of their order).
 */
rgm_status rgm_iterator_share(rgm_iterator *iterator, int64_t period, int64_t first, int64_t count);
/**
 * The element that rgm_iterator_next() will give, if it has been made already, as behind a prefetch
 * that is ahead: for somebody who can begin with it. The position, and what is saved of it, stay.
 * @param out  [out, owned] NULL: nobody knows yet, or there is none
 */
void rgm_iterator_peek(rgm_element **out, rgm_iterator *iterator);
/**
 * Pass over the next element, which is not made where that can be saved (rgm_dataset_map_each()).
 * Errors: those of rgm_iterator_next(), but for errors that only making the element would find;
 * RGM_ERR_UNSUPPORTED of an iterator with a maker.
 */
rgm_status rgm_iterator_skip(rgm_iterator *iterator);
/** The number of elements and errors given or passed over so far, including those before a restore.
 */
int64_t rgm_iterator_position(const rgm_iterator *iterator);
/** Make rgm_iterator_next() return RGM_STOPPED soon, and forever. Any thread may call this. */
void rgm_iterator_stop(rgm_iterator *iterator);
/**
 * Append the position: what the caller was given, not what threads have read ahead. The same
 * recipe, seed and position give the same bytes, whatever the number of threads and of restores
 * before, and whoever makes the elements. (When a maker has given some out of their order, the
 * position has their numbers, too; any iterator then goes on without them.)
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_iterator_save(rgm_text *out, const rgm_iterator *iterator);
/**
 * Go to a saved position. It contains the seed and the epoch.
 *
 * Errors: RGM_ERR_FORMAT (not a state, damaged), RGM_ERR_VERSION, RGM_ERR_DATA (the state belongs
 * to another recipe; the message prints both), RGM_ERR_IO. After an error the iterator is
 * unchanged.
 */
rgm_status rgm_iterator_restore(rgm_iterator *iterator, const void *data, int64_t size);
/**
 * Begin a pass over other data than those that a position was saved for, such as batches of another
 * size: with the seed of that position, and in an order that none of its passes had.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_VERSION. After an error the iterator is unchanged.
 */
rgm_status rgm_iterator_begin_after(rgm_iterator *iterator, const void *data, int64_t size);

#ifdef __cplusplus
}
#endif
#endif

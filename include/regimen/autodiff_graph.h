/*
 * autodiff, the graph: inputs, constants, parameters with the tensors that they are, gradients, and
 * what a value can be asked. Ops are built by autodiff_ops.h.
 *
 * Builders return the value, pass NULL through, and the graph keeps the first failure; so a model
 * reads as algebra, and one RGM_TRY(rgm_cgraph_status(graph)) at the end reports
 * "matmul: inner sizes differ: [32,128] x [64,10] (in scope 'head/dense')".
 */
#ifndef REGIMEN_AUTODIFF_GRAPH_H
#define REGIMEN_AUTODIFF_GRAPH_H

#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A compute graph: values and ops in the order in which builders made them, and their first
 * failure. */
typedef struct rgm_cgraph rgm_cgraph;
/** A dense value, or a sparse pattern, of the graph that made it; borrowed from that graph. */
typedef struct rgm_value rgm_value;

/** A size: >= 0 is static; < 0 is a symbol of the graph, bound when the executor runs. */
typedef int64_t rgm_dim;

/** An empty one. RGM_ERR_NOMEM. */
rgm_status rgm_cgraph_create(rgm_cgraph **out);
void rgm_cgraph_release(rgm_cgraph *graph);
/** The first failure of any builder, made this thread's error; RGM_OK if none. Errors: the
 * builders'. */
rgm_status rgm_cgraph_status(rgm_cgraph *graph);
/**
 * Record a failure unless there is one already; always returns NULL, which is a value of any shape
 * to the builders. For those of other layers.
 */
rgm_value *rgm_cgraph_fail(rgm_cgraph *graph, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The symbol of that name ("nodes/paper"), made at first use; name NULL makes a fresh one. */
rgm_dim rgm_cgraph_symbol(rgm_cgraph *graph, const char *name);
/** The name of a symbol made by name; NULL for a fresh or derived one and for a static dim. */
const char *rgm_cgraph_symbol_name(const rgm_cgraph *graph, rgm_dim dim);
/** What is left of `whole` items, floor(rate whole) of which go; rate in [0, 1], to 6 decimals. */
rgm_dim rgm_dim_rest(rgm_cgraph *graph, rgm_dim whole, double rate);
/** A dim as text, "32", "sentences", "sentences*beams", cut off at `size`; gives `buffer`. */
const char *rgm_dim_describe(const rgm_cgraph *graph, rgm_dim dim, char *buffer, size_t size);
/** Text put before op names in messages and traces while set, e.g. a layer's path; may be NULL. */
void rgm_cgraph_set_scope(rgm_cgraph *graph, const char *path);
/**
 * What is built between begin and end is a block. Where gradients recompute (Chen et al. 2016),
 * they keep only what a block reads, and compute the values inside again before they need them:
 * time for memory, and the same numbers, those of dropout too. Blocks do not nest: one that begins
 * inside another is a part of that. NULL: nothing happens.
 */
void rgm_cgraph_block_begin(rgm_cgraph *graph);
void rgm_cgraph_block_end(rgm_cgraph *graph);
/** How many blocks there are. */
int64_t rgm_cgraph_blocks(const rgm_cgraph *graph);
/** Whether gradients that are taken from now on compute blocks again; they do not by default. */
void rgm_cgraph_recompute(rgm_cgraph *graph, bool on);
/** Each op and value as text, a line each. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_cgraph_print(rgm_text *out, const rgm_cgraph *graph);

/* ---- leaves -------------------------------------------------------------------------------- */

/** Fed at run time, of `shape`. Names are unique within a graph; asking again for a name gives the
 * same value.
 */
rgm_value *rgm_input(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                     const rgm_dim *shape);
/** A pattern fed at run time: [rows, columns] with `count` entries (a symbol). */
rgm_value *rgm_input_pattern(rgm_cgraph *graph, const char *name, rgm_dim rows, rgm_dim columns,
                             rgm_dim count);
rgm_value *rgm_constant(rgm_cgraph *graph, rgm_tensor *tensor); /* retained */
rgm_value *rgm_scalar(rgm_cgraph *graph, rgm_dtype dtype, double number);

/** How a parameter starts. */
typedef enum rgm_init_kind {
    RGM_INIT_ZEROS,
    RGM_INIT_ONES,
    /* limit sqrt(6 / (fan_in + fan_out)); fans: the last two dims, times the dims before (the taps
       of a convolution) */
    RGM_INIT_GLOROT_UNIFORM,
    RGM_INIT_GLOROT_NORMAL,
    RGM_INIT_HE_NORMAL,
    RGM_INIT_UNIFORM, /* [-scale, scale) */
    RGM_INIT_NORMAL   /* standard deviation `scale` */
} rgm_init_kind;
typedef struct rgm_init {
    rgm_init_kind kind;
    double scale;
} rgm_init;

/**
 * A trainable tensor with a static shape. The graph records it; values live in rgm_parameters.
 * Asking again for a name gives the same value (shared weights) if shape and dtype agree, else a
 * failure.
 */
rgm_value *rgm_parameter(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                         const int64_t *shape, rgm_init init);
int64_t rgm_cgraph_parameter_count(const rgm_cgraph *graph);
rgm_value *rgm_cgraph_parameter(const rgm_cgraph *graph, int64_t i);
/** Values built so far, or before rgm_cgraph_gradients() was first called; each behind its inputs.
 */
int64_t rgm_cgraph_forward_count(const rgm_cgraph *graph);
/** One of them, of its own shape; NULL if there is no such number. */
rgm_value *rgm_cgraph_value(const rgm_cgraph *graph, int64_t number);

/**
 * A parameter of `shape` that no gradient moves (the moving statistics of a batch norm): it counts
 * among the parameters, is saved and restored with them, and its gradient is zeros. What moves it
 * is an update: after each training run it takes the value that `next` had in that run.
 */
rgm_value *rgm_state(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                     const int64_t *shape, rgm_init init);
/**
 * Record that `state` takes `next`, of its dtype and shape, after a training run. Another update of
 * the same state takes the place of the first: a layer that is called twice builds its `next` on
 * rgm_cgraph_state_next(), which is the state itself before the first update.
 */
void rgm_cgraph_update(rgm_cgraph *graph, rgm_value *state, rgm_value *next);
rgm_value *rgm_cgraph_state_next(rgm_cgraph *graph, rgm_value *state);
int64_t rgm_cgraph_update_count(const rgm_cgraph *graph);
rgm_value *rgm_cgraph_update_state(const rgm_cgraph *graph, int64_t i);
rgm_value *rgm_cgraph_update_next(const rgm_cgraph *graph, int64_t i);

/** A value that is no output of a model, but worth to be asked for: what a layer attends to. */
typedef struct rgm_note {
    const char *what;      /* the kind of thing, "attention": a text that stays */
    const char *where;     /* the path of the layer; the graph's                */
    rgm_value *value, *of; /* `of`: what it is about, a pattern             */
    rgm_value *into;       /* what the layer makes with it                  */
} rgm_note;
/** Remember a value; it costs nothing until it is fetched. One that is NULL, behind a failure, is
 * passed over. */
void rgm_cgraph_note(rgm_cgraph *graph, const rgm_note *note);
int64_t rgm_cgraph_note_count(const rgm_cgraph *graph);
const rgm_note *rgm_cgraph_note_at(const rgm_cgraph *graph, int64_t i); /* in the order of notes */

/** The values of a graph's parameters, by name, in the graph's order. */
typedef struct rgm_parameters rgm_parameters;
/**
 * Initialized from `seed`: parameter p draws from the stream named after p, so adding one changes
 * no other.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_parameters_create(rgm_parameters **out, const rgm_cgraph *graph, uint64_t seed);
/**
 * With values that are there: nothing is drawn, and nothing copied.
 *
 * @param values  [in, taken] one for each parameter, in the graph's order, of its dtype and shape;
 *                each becomes NULL
 *
 * Errors: RGM_ERR_SHAPE (another dtype or shape, with the parameter's name), RGM_ERR_NOMEM; nothing
 * is then taken.
 */
rgm_status rgm_parameters_of(rgm_parameters **out, const rgm_cgraph *graph, rgm_tensor **values);
/** The same parameters with values of their own. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_parameters_copy(rgm_parameters **out, const rgm_parameters *parameters);
void rgm_parameters_release(rgm_parameters *parameters);
int64_t rgm_parameters_count(const rgm_parameters *parameters);
const char *rgm_parameters_name(const rgm_parameters *parameters, int64_t i);
/** The number of the parameter of a name; -1: there is none. */
int64_t rgm_parameters_number(const rgm_parameters *parameters, const char *name);
/**
 * Parameter i, and the one of a name, each of the shape that it was made with: tensors of the host,
 * borrowed. Values that a device has newer are brought back first; those that the device then has
 * count as old, since somebody may write here (then rgm_parameters_touch()). So ask again behind an
 * update that a device has made. What cannot be brought back is NaN, and the next
 * rgm_parameters_to_host() or rgm_parameters_on() (of an executor, say) fails with the reason.
 */
rgm_tensor *rgm_parameters_tensor(const rgm_parameters *parameters, int64_t i);
rgm_tensor *const *rgm_parameters_tensors(const rgm_parameters *parameters);         /* [count] */
rgm_tensor *rgm_parameters_find(const rgm_parameters *parameters, const char *name); /* or NULL */
/** The same tensor, of the same shape, to be read alone: what a device has stays valid. Valid until
 * the next update. */
const rgm_tensor *rgm_parameters_read(const rgm_parameters *parameters, int64_t i);
/** Dtype and shape of parameter i; the elements mean nothing while a device has newer ones. */
const rgm_tensor *rgm_parameters_form(const rgm_parameters *parameters, int64_t i);
/** Bring back all values that a device has newer; the functions above then copy nothing. Errors:
 * RGM_ERR_IO (the device is lost), RGM_ERR_NOMEM, what was wrong in a function above. */
rgm_status rgm_parameters_to_host(const rgm_parameters *parameters);
/**
 * The address of parameter i on a device, where it stays: copied there unless the newest value is
 * there. An executor asks for those that it reads, an optimizer for those that it moves. One device
 * has them at a time, and must outlive them.
 * @param writes  kernels write there: the host's tensor is old from now on, and executors are told
 * Errors: RGM_ERR_NOMEM, RGM_ERR_IO.
 */
struct rgm_device;
rgm_status rgm_parameters_on(void **address, const rgm_parameters *parameters, int64_t i,
                             struct rgm_device *device, bool writes);
/** The device that was last given values; the CPU if none was. */
struct rgm_device *rgm_parameters_device(const rgm_parameters *parameters);
int64_t rgm_parameters_total(const rgm_parameters *parameters);             /* elements */
bool rgm_parameters_trainable(const rgm_parameters *parameters, int64_t i); /* false: a state */
/**
 * Copy what a run fetched for rgm_cgraph_update_next(graph, 0..), in that order, into the states;
 * then rgm_parameters_touch(). A training step fetches them with its gradients and calls this after
 * the optimizer's update. What stayed on a device (rgm_executor_options.stays) is copied there.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE (parameters of another graph); nothing is then changed.
 */
rgm_status rgm_parameters_update(rgm_parameters *parameters, const rgm_cgraph *graph,
                                 rgm_tensor *const *next);
/** Copy `values` of the host, each like its parameter (NULL: that one stays), then
 * rgm_parameters_touch(). */
void rgm_parameters_set(rgm_parameters *parameters, rgm_tensor *const *values);
/** Copy the values of other parameters of the same graph. Errors: RGM_ERR_SHAPE (of another graph),
 * those of rgm_parameters_to_host(); nothing is then changed. */
rgm_status rgm_parameters_take(rgm_parameters *parameters, const rgm_parameters *from);
/** Tell executors that the tensors changed outside a run (packed copies are made again). */
void rgm_parameters_touch(rgm_parameters *parameters);
/** A number that is another one whenever values may have changed, and for other parameters. */
uint64_t rgm_parameters_version(const rgm_parameters *parameters);

/* ---- looking at a value ---------------------------------------------------------------------- */

/** What a value is and where it belongs; what is given is borrowed from its graph. */
rgm_cgraph *rgm_value_graph(const rgm_value *value);
rgm_dtype rgm_value_dtype(const rgm_value *value);
int rgm_value_rank(const rgm_value *value);
const rgm_dim *rgm_value_shape(const rgm_value *value);  /* a pattern: rows, columns, count */
rgm_dim rgm_value_dim(const rgm_value *value, int axis); /* negative from the end */
bool rgm_value_is_pattern(const rgm_value *value);
/** Name of an input or parameter; NULL otherwise until rgm_value_set_name(). */
const char *rgm_value_name(const rgm_value *value);
bool rgm_value_is_input(const rgm_value *value);
bool rgm_value_is_parameter(const rgm_value *value); /* trainable or state */
bool rgm_value_is_trainable(const rgm_value *value); /* a parameter that is no state */
/** A constant's tensor, of the value's shape, borrowed; NULL for all else. */
rgm_tensor *rgm_value_constant(const rgm_value *value);
/** The scope in which it was built; NULL: none. */
const char *rgm_value_scope(const rgm_value *value);
int64_t rgm_value_number(const rgm_value *value); /* see rgm_cgraph_value() */
void rgm_value_set_name(rgm_value *value, const char *name);
/** "f32[nodes/paper,16]"; returns buffer. */
const char *rgm_value_describe(const rgm_value *value, char *buffer, size_t size);

/* ---- gradient ------------------------------------------------------------------------------ */

/**
 * gradients[i] = d loss / d wrt[i] as values appended to the graph (zeros where loss does not
 * depend on it, and for a state). loss is a scalar.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_UNSUPPORTED (through a gradient that an op of its own
 * computes: there are no second derivatives of it), RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_gradients(rgm_value **gradients, rgm_value *loss, rgm_value *const *wrt,
                                int64_t count);

#ifdef __cplusplus
}
#endif
#endif

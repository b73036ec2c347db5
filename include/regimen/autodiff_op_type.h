/*
 * autodiff, what an op is: a row with its shapes, what it runs and its gradient. For exporters,
 * which read rows, and for ops of a program's own.
 */
#ifndef REGIMEN_AUTODIFF_OP_TYPE_H
#define REGIMEN_AUTODIFF_OP_TYPE_H

#include <regimen/autodiff_graph.h>
#include <regimen/kernels.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ops as rows: what exporters read and what users extend ---------------------------------- */

/** What an op carries beside its inputs. Meaning by op; text is e.g. a dropout's stream. */
typedef struct rgm_attributes {
    double number[4];
    int64_t integer[8];
    const char *text;
    rgm_tensor *tensor;
} rgm_attributes;

/** A value at run time. Its memory is the device's: an op hands addresses to kernels. */
typedef struct rgm_view {
    rgm_dtype dtype;
    int rank;
    int64_t shape[RGM_MAX_RANK];
    void *data;                        /* dense values                                       */
    rgm_pattern *pattern;              /* patterns, as the host has it                       */
    const rgm_csr *csr;                /* the direction in which this value sees it: rows    */
    const rgm_csr *csr_t;              /* the other direction                                */
    const int32_t *row_of, *column_of; /* [count] of each entry, as this value sees it       */
} rgm_view;

/** What a forward function reads of a pattern: the arrays of view.csr, of view.csr_t, row_of and
 * column_of. Sizes are there in any case. */
typedef enum rgm_pattern_reads {
    RGM_READS_CSR = 1,
    RGM_READS_CSR_T = 2,
    RGM_READS_ROW_OF = 4,
    RGM_READS_COLUMN_OF = 8
} rgm_pattern_reads;

/** What an op's forward function gets. */
typedef struct rgm_op_run {
    const rgm_view *in;
    int inputs;
    rgm_view *out; /* dense: data is planned memory, not zeroed */
    const rgm_attributes *attributes;
    rgm_device *device;         /* the executor's                                              */
    const rgm_kernels *kernels; /* the device's, for out->dtype                                */
    uint64_t seed, step;        /* random streams                                              */
    bool training;
    void *scratch;          /* as many bytes as .scratch said                                  */
    const int64_t *symbols; /* sizes bound to the graph's symbols: see rgm_op_run_dim()        */
    const struct rgm_index_watch *watch; /* of what is read by index: see rgm_op_run_index()    */
} rgm_op_run;

/** The size of a dim (an attribute, say) in this run. */
int64_t rgm_op_run_dim(const rgm_op_run *run, rgm_dim dim);
/**
 * Whether each element of `index` (i32 or i64) is at least `least` and below `limit`: asked by an
 * op before it calls a kernel that reads by that index. When the answer is no, *outside says which
 * is not, and the op fails with a message of its own. The CPU answers at once. A device answers
 * yes, and looks: where it finds one outside, none of its later kernels does anything, and when the
 * run is done the op's forward function is called once more, gets its no, and fails as it does on
 * the CPU.
 */
bool rgm_op_run_index(rgm_index_flag *outside, const rgm_op_run *run, const rgm_view *index,
                      int64_t least, int64_t limit);

/** What an op's infer function fills in, from the inputs' dtypes and shapes. */
typedef struct rgm_op_shape {
    bool is_pattern;
    rgm_dtype dtype;
    int rank;
    rgm_dim shape[RGM_MAX_RANK];
} rgm_op_shape;

/** An op. */
typedef struct rgm_op_type {
    const char *name; /* also its name in traces, profiles and tests                       */
    int arity;        /* -1: any number                                                     */
    /** Shape and dtype while the graph is built; on a mistake RGM_FAIL with sizes. */
    rgm_status (*infer)(rgm_op_shape *out, rgm_value *const *in, int inputs,
                        const rgm_attributes *attributes);
    /** Calls kernels. A pattern that it makes goes to out->pattern, and the executor owns it. */
    rgm_status (*forward)(rgm_op_run *run);
    /**
     * Given the gradient dy of the op's value y, build the gradient of each input into dx[i] (NULL:
     * none; only where wanted[i]). NULL for ops without a gradient, and then `no_gradient` says
     * why.
     */
    rgm_status (*backward)(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted);
    const char *no_gradient;
    /** Scratch bytes for one run with these shapes; NULL: none. */
    size_t (*scratch)(const rgm_view *in, int inputs, const rgm_view *out,
                      const rgm_attributes *attributes);
    bool in_place;     /* out may share memory with in[0] (in[1] too if element-wise)           */
    bool random;       /* draws from seed and step                                              */
    bool on_host;      /* forward reads or writes elements itself, or makes a pattern: where the
                          device's memory is not the host's, it gets copies                     */
    bool in_turn;      /* forward waits for other processes: such ops run in the order in which they
                          were written, in every run, whatever other order would take less memory */
    bool late;         /* forward waits for what another op began: it runs when nothing else can */
    int pattern_reads; /* rgm_pattern_reads, of each pattern among its inputs: a device whose memory
                          is not the host's has no more of it. 0: all                          */
    bool elementwise;  /* element i of out depends on element i of the broadcast inputs alone:
                          attribute integer[0] is the rgm_map_code, number[0] its constant      */
    /** Whether y is a view of its input's memory: forward then sets out->data alone (of a
     * pattern: pattern, both directions, row_of and column_of).
     */
    bool (*is_view)(const rgm_value *y);
} rgm_op_type;

/**
 * A new op value, its shape what type->infer says; text and tensor of attributes are copied /
 * retained. NULL inputs pass through.
 */
rgm_value *rgm_op(rgm_cgraph *graph, const rgm_op_type *type, rgm_value *const *in, int inputs,
                  const rgm_attributes *attributes);
/** The op that made a value, its inputs (each of its own shape) and attributes, borrowed. */
const rgm_op_type *rgm_value_op(const rgm_value *value); /* NULL for leaves */
int rgm_value_input_count(const rgm_value *value);
rgm_value *rgm_value_input(const rgm_value *value, int i);
const rgm_attributes *rgm_value_attributes(const rgm_value *value);
/** Every built-in op row, for tests that walk the table. */
const rgm_op_type *const *rgm_op_types(int64_t *count);

#ifdef __cplusplus
}
#endif
#endif

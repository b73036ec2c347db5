/* Files that are damaged, unknown or made to exhaust memory: each is refused with a reason. */
#include <check.h>
#include <regimen/export.h>

/* ---- a writer of protobuf just large enough to make mistakes with ---- */

typedef struct message {
    uint8_t data[2048];
    size_t size;
} message;

static void byte(message *m, uint64_t value)
{
    CHECK(m->size < sizeof m->data);
    m->data[m->size++] = (uint8_t)value;
}

static void varint(message *m, uint64_t value)
{
    for (; value > 127; value >>= 7)
        byte(m, value | 128);
    byte(m, value);
}

static void number(message *m, int field, uint64_t value)
{
    varint(m, (uint64_t)field << 3);
    varint(m, value);
}

static void bytes(message *m, int field, const void *data, size_t size)
{
    varint(m, (uint64_t)field << 3 | 2);
    varint(m, size);
    for (size_t i = 0; i < size; i++)
        byte(m, ((const uint8_t *)data)[i]);
}

static void text(message *m, int field, const char *value)
{
    bytes(m, field, value, strlen(value));
}

static void sub(message *m, int field, const message *part)
{
    bytes(m, field, part->data, part->size);
}

/* ---- parts of a model ---- */

typedef struct model {
    message graph;
    int64_t opset;
    const char *domain;
} model;

/* An int64 vector (count < 0: scalar) as an initializer. */
static void add_sizes(model *m, const char *name, int count, const int64_t *values)
{
    message t = {.size = 0};

    if (count >= 0)
        number(&t, 1, (uint64_t)count);
    number(&t, 2, 7);
    text(&t, 8, name);
    bytes(&t, 9, values, sizeof *values * (size_t)(count < 0 ? 1 : count));
    sub(&m->graph, 5, &t);
}

static void add_info(model *m, int field, const char *name, int type, int rank)
{
    message info = {.size = 0}, kind = {.size = 0}, tensor = {.size = 0}, shape = {.size = 0};

    for (int i = 0; i < rank; i++)
        sub(&shape, 1, &(message){.size = 0});
    number(&tensor, 1, (uint64_t)type);
    sub(&tensor, 2, &shape);
    sub(&kind, 1, &tensor);
    text(&info, 1, name);
    sub(&info, 2, &kind);
    sub(&m->graph, field, &info);
}

/* inputs separated by blanks; an attribute of an int when `attribute` is not NULL */
static void add_node(model *m, const char *type, const char *inputs, const char *output,
                     const char *attribute, int64_t value)
{
    message node = {.size = 0}, a = {.size = 0};
    const char *end;

    for (; *inputs != '\0'; inputs = *end == ' ' ? end + 1 : end) {
        end = inputs + strcspn(inputs, " ");
        bytes(&node, 1, inputs, (size_t)(end - inputs));
    }
    text(&node, 2, output);
    text(&node, 4, type);
    if (attribute != NULL) {
        text(&a, 1, attribute);
        number(&a, 3, (uint64_t)value);
        sub(&node, 5, &a);
    }
    sub(&m->graph, 1, &node);
}

static void finish(message *out, const model *m)
{
    message opset = {.size = 0};

    *out = (message){.size = 0};
    number(out, 1, 8);
    sub(out, 7, &m->graph);
    if (m->domain != NULL)
        text(&opset, 1, m->domain);
    number(&opset, 2, (uint64_t)m->opset);
    sub(out, 8, &opset);
}

/* ---- cases: each makes a model with input x [any] f32 and output y ---- */

static const int64_t vast[] = {1 << 20, 1 << 20}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 40},
                     negative[] = {-2, 3}, large[] = {4096, 4096}, hollow[] = {0, INT64_C(1) << 62},
                     seven[] = {0, 0, 0, 0, 0, 0, 0}, five[] = {5}, none[] = {-1, -1}, zero[] = {0},
                     layers[] = {1 << 13, 1 << 12};

static void good(model *m)
{
    add_node(m, "Relu", "x", "y", NULL, 0);
}
static void other_opset(model *m)
{
    good(m), m->opset = 17;
}
static void other_domain(model *m)
{
    good(m), m->domain = "com.example";
}
static void unknown_operator(model *m)
{
    add_node(m, "Loop", "x", "y", NULL, 0);
}
static void unknown_attribute(model *m)
{
    add_node(m, "Shape", "x", "y", "first", 1);
}
static void too_many_inputs(model *m)
{
    add_node(m, "Relu", "x x", "y", NULL, 0);
}
static void output_missing(model *m)
{
    add_node(m, "Relu", "x", "z", NULL, 0);
}
static void input_missing(model *m)
{
    add_node(m, "Relu", "w", "y", NULL, 0);
}
static void before_it_is_made(model *m)
{
    add_node(m, "Relu", "z", "y", NULL, 0);
    add_node(m, "Relu", "x", "z", NULL, 0);
}
static void its_own_input(model *m)
{
    add_node(m, "Relu", "y", "y", NULL, 0);
}
static void name_twice(model *m)
{
    add_node(m, "Relu", "x", "y", NULL, 0);
    add_node(m, "Neg", "x", "y", NULL, 0);
}
static void initializer_twice(model *m)
{
    add_sizes(m, "s", 2, large);
    add_sizes(m, "s", 2, large);
    good(m);
}
static void filled(model *m, int count, const int64_t *sizes)
{
    add_sizes(m, "s", count, sizes);
    add_node(m, "ConstantOfShape", "s", "y", NULL, 0);
}
static void terabytes(model *m)
{
    filled(m, 2, vast);
}
static void overflow(model *m)
{
    filled(m, 2, huge);
}
static void below_zero(model *m)
{
    filled(m, 2, negative);
}
static void hollow_overflow(model *m)
{
    filled(m, 2, hollow);
}
static void rank_seven(model *m)
{
    filled(m, 7, seven);
}
static void expand(model *m)
{
    add_sizes(m, "s", 2, (int64_t[]){1 << 28, 4});
    add_node(m, "Expand", "x s", "y", NULL, 0);
}
/* Each result is within the bound, but all together are not. */
static void many_live_tensors(model *m)
{
    char name[2][16] = {"a0", "y"};

    add_sizes(m, "s", 2, layers);
    for (int i = 0; i < 3; i++) {
        snprintf(name[0], sizeof name[0], "a%d", i);
        add_node(m, "ConstantOfShape", "s", name[0], NULL, 0);
    }
    add_node(m, "Concat", "a0 a1 a2", name[1], "axis", 0);
}
/* Views keep their originals alive. */
static void views(model *m)
{
    char filled_name[16], view[16];

    add_sizes(m, "s", 2, layers);
    add_sizes(m, "flat", 1, &(int64_t){-1});
    for (int i = 0; i < 4; i++) {
        snprintf(filled_name, sizeof filled_name, "f%d", i);
        snprintf(view, sizeof view, "v%d", i);
        add_node(m, "ConstantOfShape", "s", filled_name, NULL, 0);
        char inputs[32];
        snprintf(inputs, sizeof inputs, "%s flat", filled_name);
        add_node(m, "Reshape", inputs, view, NULL, 0);
    }
    add_node(m, "Concat", "v0 v1 v2 v3", "y", "axis", 0);
}
static void hours_of_work(model *m)
{
    add_sizes(m, "s", 2, large);
    add_node(m, "ConstantOfShape", "s", "a", NULL, 0);
    add_node(m, "MatMul", "a a", "y", NULL, 0);
}
static void gather_outside(model *m)
{
    add_sizes(m, "i", 1, five);
    add_node(m, "Gather", "x i", "y", "axis", 0);
}
static void gather_by_floats(model *m)
{
    add_node(m, "Gather", "x x", "y", "axis", 0);
}
static void gather_no_axis(model *m)
{
    add_sizes(m, "i", 1, zero);
    add_node(m, "Gather", "x i", "y", "axis", 3);
}
static void two_unknown(model *m)
{
    add_sizes(m, "s", 2, none);
    add_node(m, "Reshape", "x s", "y", NULL, 0);
}
static void uneven(model *m)
{
    add_sizes(m, "s", 1, five);
    add_node(m, "Reshape", "x s", "y", NULL, 0);
}
static void endless_range(model *m)
{
    add_sizes(m, "a", -1, &(int64_t){INT64_MIN});
    add_sizes(m, "b", -1, &(int64_t){INT64_MAX});
    add_sizes(m, "c", -1, &(int64_t){1});
    add_node(m, "Range", "a b c", "y", NULL, 0);
}
static void mixed_types(model *m)
{
    add_sizes(m, "i", 1, five);
    add_node(m, "Add", "x i", "y", NULL, 0);
}
static void scatter_shapes(model *m)
{
    add_sizes(m, "i", 1, zero);
    add_node(m, "ScatterElements", "x i x", "y", NULL, 0);
}
static void cast_to_nothing(model *m)
{
    add_node(m, "Cast", "x", "y", "to", INT64_C(1) << 32 | 1);
}
static void conv_of_a_vector(model *m)
{
    add_node(m, "Conv", "x x", "y", NULL, 0);
}
static void pool_of_a_vector(model *m)
{
    add_node(m, "MaxPool", "x", "y", NULL, 0);
}
static void pool_with_one_number(model *m)
{
    add_node(m, "AveragePool", "x", "y", "kernel_shape", 3);
}
static void wrong_raw_data(model *m)
{
    message t = {.size = 0};

    number(&t, 1, 1000);
    number(&t, 2, 1);
    text(&t, 8, "w");
    bytes(&t, 9, "1234", 4);
    sub(&m->graph, 5, &t);
    good(m);
}

static const struct {
    const char *name;
    void (*make)(model *m);
    rgm_status status;
    const char *part;
} cases[] = {
    {"good", good, RGM_OK, ""},
    {"other_opset", other_opset, RGM_ERR_VERSION, "opset 17, this reads opset 18"},
    {"other_domain", other_domain, RGM_ERR_UNSUPPORTED, "operator set 'com.example'"},
    {"unknown_operator", unknown_operator, RGM_ERR_UNSUPPORTED, "operator 'Loop' is not known"},
    {"unknown_attribute", unknown_attribute, RGM_ERR_UNSUPPORTED, "attribute 'first' of Shape"},
    {"too_many_inputs", too_many_inputs, RGM_ERR_UNSUPPORTED, "Relu with 2 inputs"},
    {"output_missing", output_missing, RGM_ERR_FORMAT, "no node makes the output 'y'"},
    {"input_missing", input_missing, RGM_ERR_FORMAT, "nothing is named 'w'"},
    {"before_it_is_made", before_it_is_made, RGM_ERR_FORMAT, "nothing is named 'z'"},
    {"its_own_input", its_own_input, RGM_ERR_FORMAT, "nothing is named 'y'"},
    {"name_twice", name_twice, RGM_ERR_FORMAT, "'y' is given twice"},
    {"initializer_twice", initializer_twice, RGM_ERR_FORMAT, "no name of its own"},
    {"terabytes", terabytes, RGM_ERR_UNSUPPORTED, "4398046511104 bytes is more than"},
    {"overflow", overflow, RGM_ERR_SHAPE, "impossible size"},
    {"below_zero", below_zero, RGM_ERR_SHAPE, "impossible size"},
    {"hollow_overflow", hollow_overflow, RGM_ERR_SHAPE, "impossible size"},
    {"rank_seven", rank_seven, RGM_ERR_SHAPE, "not a list of up to 6 sizes"},
    {"expand", expand, RGM_ERR_UNSUPPORTED, "more than inputs of this size"},
    {"many_live_tensors", many_live_tensors, RGM_ERR_UNSUPPORTED, "more than inputs of this size"},
    {"views", views, RGM_ERR_UNSUPPORTED, "more than inputs of this size"},
    {"hours_of_work", hours_of_work, RGM_ERR_UNSUPPORTED, "more work than"},
    {"gather_outside", gather_outside, RGM_ERR_DATA, "index 5 of 4"},
    {"gather_by_floats", gather_by_floats, RGM_ERR_DTYPE, "input 1 is f32, not an index"},
    {"gather_no_axis", gather_no_axis, RGM_ERR_SHAPE, "axis 3 of rank 1"},
    {"conv_of_a_vector", conv_of_a_vector, RGM_ERR_UNSUPPORTED, "images and kernel of rank 4"},
    {"pool_of_a_vector", pool_of_a_vector, RGM_ERR_UNSUPPORTED, "images of rank 1"},
    {"pool_with_one_number", pool_with_one_number, RGM_ERR_UNSUPPORTED,
     "kernel_shape has 0 numbers, not 2"},
    {"two_unknown", two_unknown, RGM_ERR_SHAPE, "size -1"},
    {"uneven", uneven, RGM_ERR_SHAPE, "4 elements as 5"},
    {"endless_range", endless_range, RGM_ERR_SHAPE, "impossible size"},
    {"mixed_types", mixed_types, RGM_ERR_DTYPE, "f32 and i64"},
    {"scatter_shapes", scatter_shapes, RGM_ERR_SHAPE, "at indices"},
    {"cast_to_nothing", cast_to_nothing, RGM_ERR_UNSUPPORTED, "element type 4294967297"},
    {"wrong_raw_data", wrong_raw_data, RGM_ERR_FORMAT, "4 bytes for 1000 elements of f32"},
};

static void make(message *out, void (*fill)(model *m))
{
    model m = {.opset = 18};

    add_info(&m, 11, "x", 1, 1);
    add_info(&m, 12, "y", 1, 1);
    fill(&m);
    finish(out, &m);
}

static rgm_status open_and_run(const message *m)
{
    const int64_t four = 4;
    rgm_onnx_model *opened = NULL;
    rgm_tensor *y = NULL;
    rgm_named_tensor x = {.name = "x"};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_onnx_open_memory(&opened, m->data, (int64_t)m->size, "hostile"));
    RGM_GO(rgm_tensor_create(&x.tensor, RGM_F32, 1, &four));
    RGM_GO(rgm_onnx_run(&y, opened, &x, 1));
done:
    rgm_tensor_release(y);
    rgm_tensor_release(x.tensor);
    rgm_onnx_close(opened);
    return status;
}

static void every_bad_model_is_refused_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        message m;
        make(&m, cases[i].make);
        int64_t before = rgm_memory_used();
        rgm_memory_reset_peak();
        rgm_status status = open_and_run(&m);
        if (status != cases[i].status ||
            (status != RGM_OK && strstr(rgm_error_message(), cases[i].part) == NULL))
            fail_msg("%s: gave %s: %s", cases[i].name, rgm_status_name(status),
                     status != RGM_OK ? rgm_error_message() : "");
        CHECK_INT(before, rgm_memory_used());
        CHECK(rgm_memory_peak() - before < INT64_C(300) << 20);
    }
}

static void inputs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    message m;
    rgm_onnx_model *opened;
    rgm_tensor *y, *t;
    rgm_named_tensor x = {.name = "x"};
    const int64_t shape[] = {2, 2};

    make(&m, good);
    CHECK_OK(rgm_onnx_open_memory(&opened, m.data, (int64_t)m.size, "good"));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_onnx_run(&y, opened, NULL, 0));
    CHECK_MESSAGE("good: input 'x' is not given");
    CHECK(y == NULL);
    CHECK_OK(rgm_tensor_create(&t, RGM_F32, 2, shape));
    x.tensor = t;
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_onnx_run(&y, opened, &x, 1));
    CHECK_MESSAGE("input 'x' is f32[2,2]");
    rgm_tensor_release(t);
    CHECK_OK(rgm_tensor_create(&t, RGM_STRING, 1, shape));
    x.tensor = t;
    CHECK_STATUS(RGM_ERR_DTYPE, rgm_onnx_run(&y, opened, &x, 1));
    rgm_tensor_release(t);
    rgm_onnx_close(opened);
}

static void a_file_cut_off_anywhere_is_refused_or_runs(void **state)
{
    (void)state;
    message m, part;

    make(&m, gather_outside);
    for (size_t size = 0; size < m.size; size++) {
        part = m;
        part.size = size;
        CHECK(open_and_run(&part) != RGM_OK);
    }
    CHECK_STATUS(RGM_ERR_FORMAT, open_and_run(&(message){.data = "\xff\xff\xff", .size = 3}));
    CHECK_MESSAGE("hostile: not an ONNX model");
}

TESTS(cmocka_unit_test(every_bad_model_is_refused_with_a_reason),
      cmocka_unit_test(inputs_that_do_not_fit_are_refused),
      cmocka_unit_test(a_file_cut_off_anywhere_is_refused_or_runs))

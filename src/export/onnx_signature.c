/* Describes an exported file's inputs and outputs in JSON, for authors of programs that run it. */
#include "onnx_internal.h"

#define FORMAT_NAME    "regimen-signature"
#define FORMAT_VERSION 1

const char *const rgm_output_kind_names[] = {"other", "logits", "probabilities", "numbers", NULL};

static const char *dtype_name(int32_t type)
{
    switch (type) {
    case ONNX_FLOAT:
        return "float32";
    case ONNX_DOUBLE:
        return "float64";
    case ONNX_INT32:
        return "int32";
    case ONNX_BOOL:
        return "bool";
    default:
        return "int64";
    }
}

static rgm_status print_pair(rgm_text *out, const char *key, const char *text)
{
    RGM_TRY(rgm_text_printf(out, "\"%s\": ", key));
    return text != NULL ? rgm_json_print_text(out, text) : rgm_text_printf(out, "null");
}

/* "name": "x", "dtype": "int64", "shape": ["edges/cites"] */
static rgm_status print_tensor(rgm_text *out, const Rgmi__Onnx__ValueInfoProto *info)
{
    const Rgmi__Onnx__TypeProto__Tensor *type = info->type->tensor_type;

    RGM_TRY(print_pair(out, "name", info->name));
    RGM_TRY(rgm_text_printf(out, ", \"dtype\": \"%s\", \"shape\": [", dtype_name(type->elem_type)));
    for (size_t i = 0; i < type->shape->n_dim; i++) {
        const Rgmi__Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];

        RGM_TRY(rgm_text_printf(out, "%s", i > 0 ? ", " : ""));
        if (dim->dim_param != NULL)
            RGM_TRY(rgm_json_print_text(out, dim->dim_param));
        else
            RGM_TRY(rgm_text_printf(out, "%lld", (long long)dim->dim_value));
    }
    return rgm_text_printf(out, "]");
}

/* ["art", "bio"] */
static rgm_status print_classes(rgm_text *out, const rgm_texts *classes)
{
    RGM_TRY(rgm_text_printf(out, "["));
    for (int64_t i = 0; i < classes->count; i++) {
        RGM_TRY(rgm_text_printf(out, "%s", i > 0 ? ", " : ""));
        RGM_TRY(rgm_json_print_text(out, classes->items[i]));
    }
    return rgm_text_printf(out, "]");
}

static rgm_status print_inputs(rgm_text *out, const rgmi_writer *w)
{
    RGM_TRY(rgm_text_printf(out, "  \"inputs\": ["));
    for (size_t i = 0; i < w->inputs.count; i++) {
        const Rgmi__Onnx__ValueInfoProto *info = w->inputs.items[i];

        RGM_TRY(rgm_text_printf(out, "%s\n    {", i > 0 ? "," : ""));
        RGM_TRY(print_tensor(out, info));
        if (info->doc_string != NULL) {
            RGM_TRY(rgm_text_printf(out, ",\n     "));
            RGM_TRY(print_pair(out, "doc", info->doc_string));
        }
        RGM_TRY(rgm_text_printf(out, "}"));
    }
    return rgm_text_printf(out, "\n  ],\n");
}

static rgm_status print_outputs(rgm_text *out, const rgmi_writer *w,
                                const rgm_export_output *outputs)
{
    RGM_TRY(rgm_text_printf(out, "  \"outputs\": ["));
    for (size_t i = 0; i < w->outputs.count; i++) {
        RGM_TRY(rgm_text_printf(out, "%s\n    {", i > 0 ? "," : ""));
        RGM_TRY(print_tensor(out, w->outputs.items[i]));
        RGM_TRY(rgm_text_printf(out, ", \"kind\": \"%s\"", rgm_output_kind_names[outputs[i].kind]));
        if (outputs[i].classes.count > 0) {
            RGM_TRY(rgm_text_printf(out, ",\n     \"classes\": "));
            RGM_TRY(print_classes(out, &outputs[i].classes));
        }
        RGM_TRY(rgm_text_printf(out, "}"));
    }
    return rgm_text_printf(out, "\n  ]\n");
}

rgm_status rgmi_class_names_print(rgm_text *out, const rgm_export_output *outputs,
                                  int64_t output_count)
{
    bool any = false;

    for (int64_t i = 0; i < output_count; i++) {
        if (outputs[i].classes.count == 0)
            continue;
        RGM_TRY(rgm_text_printf(out, any ? ", " : "{"));
        RGM_TRY(rgm_json_print_text(out, outputs[i].name));
        RGM_TRY(rgm_text_printf(out, ": "));
        RGM_TRY(print_classes(out, &outputs[i].classes));
        any = true;
    }
    return any ? rgm_text_printf(out, "}") : RGM_OK;
}

rgm_status rgmi_signature_print(rgm_text *out, const char *file, const rgmi_writer *w,
                                const rgm_export_output *outputs, int64_t output_count)
{
    (void)output_count; /* as many as the file has */
    RGM_TRY(rgm_text_printf(
        out, "{\n  \"format\": \"%s\",\n  \"version\": %d,\n  \"producer\": \"regimen %s\",\n  ",
        FORMAT_NAME, FORMAT_VERSION, RGM_VERSION));
    RGM_TRY(print_pair(out, "file", file));
    RGM_TRY(rgm_text_printf(out, ",\n"));
    RGM_TRY(print_inputs(out, w));
    RGM_TRY(print_outputs(out, w, outputs));
    return rgm_text_printf(out, "}\n");
}

rgm_status rgm_export_write_tensor(rgm_json_writer *w, const char *name, const rgm_value *value)
{
    char text[128];

    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "name", name));
    RGM_TRY(
        rgm_json_write_text(w, "dtype", rgm_value_dtype(value) == RGM_I64 ? "int64" : "float32"));
    RGM_TRY(rgm_json_open_list(w, "shape", RGM_JSON_SPACED));
    for (int i = 0; i < rgm_value_rank(value); i++) {
        rgm_dim dim = rgm_value_dim(value, i);
        if (dim < 0)
            RGM_TRY(rgm_json_write_text(
                w, NULL, rgm_dim_describe(rgm_value_graph(value), dim, text, sizeof text)));
        else
            RGM_TRY(rgm_json_write_int(w, NULL, dim));
    }
    RGM_TRY(rgm_json_close(w));
    return rgm_json_close(w);
}

/*
 * A SavedModel read back by its bytes alone: protobuf's wire format and TensorFlow's field numbers,
 * written down here once more, so that a wrong number in the writer's schema is found. What
 * TensorFlow itself says of the files is for tests/oracle/saved_model_oracle.py.
 */
#ifndef RGM_SAVED_MODEL_CHECK_H
#define RGM_SAVED_MODEL_CHECK_H

#include <check.h>
#include <regimen/export.h>

/** Bytes of a message, or of a text. */
typedef struct wire {
    const unsigned char *at, *end;
} wire;

typedef struct wire_field {
    int number;
    uint64_t value; /* of a varint   */
    wire bytes;     /* of what has a length */
} wire_field;

static inline uint64_t wire_varint(wire *w)
{
    uint64_t value = 0;

    for (int shift = 0;; shift += 7) {
        CHECK(w->at < w->end && shift < 64);
        value |= (uint64_t)(*w->at & 127) << shift;
        if (*w->at++ < 128)
            return value;
    }
}

/* The next field; false at the end. */
static inline bool wire_next(wire *w, wire_field *f)
{
    uint64_t tag, size;

    if (w->at == w->end)
        return false;
    tag = wire_varint(w);
    *f = (wire_field){.number = (int)(tag >> 3)};
    switch (tag & 7) {
    case 0:
        f->value = wire_varint(w);
        return true;
    case 2:
        size = wire_varint(w);
        break;
    default:
        CHECK((tag & 7) == 5); /* a float */
        size = 4;
    }
    CHECK(size <= (uint64_t)(w->end - w->at));
    f->bytes = (wire){w->at, w->at + size};
    w->at += size;
    return true;
}

/* Field `number` for the time `nth` (from 0); false: it is not there so often. */
static inline bool wire_get(wire message, int number, int nth, wire_field *f)
{
    while (wire_next(&message, f))
        if (f->number == number && nth-- == 0)
            return true;
    *f = (wire_field){.number = 0};
    return false;
}

static inline wire wire_of(wire message, int number)
{
    wire_field f;

    CHECK(wire_get(message, number, 0, &f));
    return f.bytes;
}

static inline char *wire_text(wire text)
{
    char *copy = malloc((size_t)(text.end - text.at) + 1);

    CHECK(copy != NULL);
    memcpy(copy, text.at, (size_t)(text.end - text.at));
    copy[text.end - text.at] = '\0';
    return copy;
}

static inline bool wire_is(wire text, const char *want)
{
    return (size_t)(text.end - text.at) == strlen(want) && memcmp(text.at, want, strlen(want)) == 0;
}

/* The value of a map's entry. */
static inline bool wire_entry(wire message, int number, const char *key, wire *value)
{
    wire_field f;

    *value = (wire){NULL, NULL};
    for (int i = 0; wire_get(message, number, i, &f); i++)
        if (wire_is(wire_of(f.bytes, 1), key)) {
            *value = wire_of(f.bytes, 2);
            return true;
        }
    return false;
}

/* ---- the graph ------------------------------------------------------------------------------ */

typedef struct saved_graph {
    char *file;
    wire meta, graph, signature;
    rgm_map *ops;  /* name of a node -> "Placeholder", or "node" */
    rgm_map *used; /* names that are inputs of something          */
    int64_t nodes, constants;
} saved_graph;

static inline void saved_name_check(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    CHECK(name[0] != '\0' && strchr(letters, name[0]) != NULL);
    for (const char *c = name; *c != '\0'; c++)
        if (strchr(letters, *c) == NULL && strchr("_./-", *c) == NULL)
            fail_msg("'%s' is no name of a node of TensorFlow's", name);
}

/* As many bytes, or texts, as its shape and dtype take; of both the node says the same. */
static inline void saved_constant_check(wire node, const char *name)
{
    static const uint64_t sizes[] = {[1] = 4, [2] = 8, [3] = 4, [7] = 1, [9] = 8, [10] = 1};
    wire type, value, tensor, shape;
    wire_field dtype, f;
    uint64_t bytes, texts = 0;

    CHECK(wire_entry(node, 5, "dtype", &type));
    CHECK(wire_entry(node, 5, "value", &value));
    tensor = wire_of(value, 8);
    shape = wire_of(tensor, 2);
    CHECK(wire_get(tensor, 1, 0, &dtype) && dtype.value <= 10 && sizes[dtype.value] > 0);
    CHECK(wire_get(type, 6, 0, &f) && f.value == dtype.value);
    bytes = sizes[dtype.value];
    for (int i = 0; wire_get(shape, 2, i, &f); i++) {
        CHECK(wire_get(f.bytes, 1, 0, &f));
        bytes *= f.value;
    }
    if (dtype.value == 7) {
        while (wire_get(tensor, 8, (int)texts, &f))
            texts++;
        CHECK_INT(bytes, texts);
        return;
    }
    tensor = wire_of(tensor, 4);
    if ((uint64_t)(tensor.end - tensor.at) != bytes)
        fail_msg("'%s' has %lld bytes, its shape takes %lld", name,
                 (long long)(tensor.end - tensor.at), (long long)bytes);
}

/* Inputs come before whoever takes them. */
static inline void saved_node_check(saved_graph *g, wire node)
{
    char *name = wire_text(wire_of(node, 1));
    bool is_input = wire_is(wire_of(node, 2), "Placeholder");
    wire_field f;

    saved_name_check(name);
    if (rgm_map_has(g->ops, name))
        fail_msg("two nodes are named '%s'", name);
    for (int i = 0; wire_get(node, 3, i, &f); i++) {
        char *input = wire_text(f.bytes);
        input[strcspn(input, ":")] = '\0'; /* one of several outputs */
        if (!rgm_map_has(g->ops, input))
            fail_msg("'%s' takes '%s', which no node before it is", name, input);
        CHECK_OK(rgm_map_set(g->used, input, g));
        free(input);
    }
    if (wire_is(wire_of(node, 2), "Const")) {
        saved_constant_check(node, name);
        g->constants++;
    }
    CHECK_OK(rgm_map_set(g->ops, name, (void *)(uintptr_t)(is_input ? "Placeholder" : "node")));
    g->nodes++;
    free(name);
}

/* Inputs are placeholders, all of them; outputs are nodes. */
static inline void saved_signature_check(saved_graph *g)
{
    int64_t inputs = 0, placeholders = 0;
    wire_field f;

    CHECK(wire_is(wire_of(g->signature, 3), "tensorflow/serving/predict"));
    for (int kind = 1; kind <= 2; kind++)
        for (int i = 0; wire_get(g->signature, kind, i, &f); i++) {
            wire info = wire_of(f.bytes, 2);
            char *name = wire_text(wire_of(info, 1)), *colon = strrchr(name, ':');
            CHECK(colon != NULL && strcmp(colon, ":0") == 0);
            *colon = '\0';
            CHECK(rgm_map_has(g->ops, name));
            CHECK((strcmp(rgm_map_get(g->ops, name), "Placeholder") == 0) == (kind == 1));
            CHECK(wire_get(info, 2, 0, &f) && f.value > 0);
            (void)wire_of(info, 3);
            CHECK_OK(rgm_map_set(g->used, name, g));
            inputs += kind == 1;
            free(name);
        }
    for (int64_t i = 0; i < rgm_map_count(g->ops); i++) {
        placeholders += strcmp(rgm_map_value(g->ops, i), "Placeholder") == 0;
        if (!rgm_map_has(g->used, rgm_map_key(g->ops, i)))
            fail_msg("nothing takes '%s'", rgm_map_key(g->ops, i));
    }
    CHECK_INT(placeholders, inputs);
}

/** <folder>/saved_model.pb, checked whole. */
static inline void saved_graph_open(saved_graph *g, const char *folder)
{
    char *path;
    int64_t size;
    wire model, meta, rest;
    wire_field f;

    *g = (saved_graph){.nodes = 0};
    CHECK_OK(rgm_map_create(&g->ops));
    CHECK_OK(rgm_map_create(&g->used));
    CHECK_OK(rgm_path_join(&path, folder, "saved_model.pb"));
    CHECK_OK(rgm_file_load(&g->file, &size, path, 1 << 30));
    rgm_free(path);
    model = (wire){(unsigned char *)g->file, (unsigned char *)g->file + size};
    CHECK(wire_get(model, 1, 0, &f) && f.value == 1);
    CHECK(!wire_get(model, 2, 1, &f));
    meta = wire_of(model, 2);
    CHECK(wire_is(wire_of(wire_of(meta, 1), 4), "serve"));
    CHECK(wire_is(wire_of(wire_of(meta, 1), 5), "2.15.1"));
    CHECK(!wire_get(meta, 7, 0, &f)); /* with an object graph it would be no graph of TF 1's kind */
    g->meta = meta;
    g->graph = wire_of(meta, 2);
    CHECK(wire_get(wire_of(g->graph, 4), 1, 0, &f) && f.value == 1645);
    CHECK(wire_entry(meta, 5, "serving_default", &g->signature));
    for (rest = g->graph; wire_next(&rest, &f);)
        if (f.number == 1)
            saved_node_check(g, f.bytes);
    saved_signature_check(g);
}

static inline void saved_graph_close(saved_graph *g)
{
    rgm_map_release(g->ops);
    rgm_map_release(g->used);
    rgm_free(g->file);
}

/** The first node of an op; false: there is none. */
static inline bool saved_graph_find(const saved_graph *g, const char *op, wire *node)
{
    wire rest = g->graph;
    wire_field f;

    while (wire_next(&rest, &f))
        if (f.number == 1 && wire_is(wire_of(f.bytes, 2), op)) {
            *node = f.bytes;
            return true;
        }
    return false;
}

#endif

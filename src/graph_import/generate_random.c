/*
 * A random graph of any schema, as TF-GNN's random_graph_tensor() makes them: small components,
 * random edges inside each, random values. Unlike there, readout and shadow sets are made to fit
 * together, and one_hot features list distinct columns of their vocabulary.
 */
#include <regimen/graph_import.h>
#include <regimen/graph_parts.h>

#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS      2
#define MOST_ROWS       8
#define MOST_COMPONENTS 2

typedef struct generator {
    rgm_schema *schema;
    rgm_rng rng;
    uint64_t draws;
    int64_t components;
    int64_t (*sizes)[MOST_COMPONENTS]; /* by set */
    rgm_graph_builder *builder;
} generator;

/* Uniform in low .. high. */
static int64_t draw(generator *self, int64_t low, int64_t high)
{
    return low + (int64_t)rgm_rng_below(&self->rng, self->draws++, (uint64_t)(high - low + 1));
}

static int64_t total_of(const generator *self, int64_t set)
{
    int64_t total = 0;

    for (int64_t c = 0; c < self->components; c++)
        total += self->sizes[set][c];
    return total;
}

/* ---- values ---- */

static void fill(generator *self, rgm_tensor *values, const rgm_feature_schema *schema)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    bool wide = schema->dtype == RGM_I64 &&
                (schema->stored_type == NULL || strcmp(schema->stored_type, "DT_INT64") == 0);

    for (int64_t i = 0; i < rgm_tensor_count(values); i++) {
        switch (schema->dtype) {
        case RGM_F32:
            rgm_tensor_f32(values)[i] = rgm_rng_f32(&self->rng, self->draws++);
            break;
        case RGM_F64:
            /* one that a float holds: records have no doubles */
            rgm_tensor_f64(values)[i] = (double)rgm_rng_f32(&self->rng, self->draws++);
            break;
        case RGM_I32:
            rgm_tensor_i32(values)[i] = (int32_t)draw(self, 10, 100);
            break;
        case RGM_I64:
            rgm_tensor_i64(values)[i] = wide ? draw(self, 100, 999) : draw(self, 10, 100);
            break;
        case RGM_BOOL:
            rgm_tensor_bool(values)[i] = (uint8_t)draw(self, 0, 1);
            break;
        default:
            rgm_tensor_str(values)[i] = (rgm_str){letters + draw(self, 0, 25), 1};
            break;
        }
    }
}

/* Each item's columns, distinct and ascending: steps of random length through the vocabulary. */
static void fill_one_hot(generator *self, rgm_feature *value, int64_t vocabulary)
{
    int64_t *column = rgm_tensor_i64(value->values);

    for (int64_t i = 0; i < rgm_tensor_count(value->row_lengths[1]); i++) {
        int64_t left = rgm_tensor_i64(value->row_lengths[1])[i], at = 0;
        for (; left > 0; left--, at++) {
            at += draw(self, 0, (vocabulary - at) / left - 1);
            *column++ = at;
        }
    }
}

/* Row lengths of the ragged dims and the number of rows below the last of them. */
static rgm_status make_rows(generator *self, rgm_feature *out, const rgm_feature_schema *schema,
                            int64_t *rows)
{
    for (int k = 1; k <= rgm_feature_last_ragged(schema); k++) {
        int64_t sum = 0, most = MOST_ROWS;
        if (schema->shape[k - 1] >= 0) {
            *rows *= schema->shape[k - 1];
            continue;
        }
        if (schema->vocabulary > 0 && schema->vocabulary < most)
            most = schema->vocabulary;
        RGM_TRY(rgm_tensor_create(&out->row_lengths[k], RGM_I64, 1, rows));
        for (int64_t i = 0; i < *rows; i++)
            sum += rgm_tensor_i64(out->row_lengths[k])[i] =
                draw(self, most < LEAST_ROWS ? most : LEAST_ROWS, most);
        *rows = sum;
    }
    return RGM_OK;
}

static rgm_status make_feature(generator *self, const rgm_set_schema *set,
                               const rgm_feature_schema *schema, int64_t items)
{
    rgm_status status = RGM_OK;
    rgm_feature value = {0};
    int64_t rows = items, shape[RGM_MAX_RANK];
    rgm_tensor *owned = NULL;
    int rank;

    RGM_GO(make_rows(self, &value, schema, &rows));
    rank = rgm_feature_values_shape(shape, schema, rows);
    RGM_GO(rgm_tensor_create(&value.values, schema->dtype, rank, shape));
    if (schema->vocabulary > 0 && value.row_lengths[1])
        fill_one_hot(self, &value, schema->vocabulary);
    else
        fill(self, value.values, schema);
    if (schema->dtype == RGM_STRING) { /* a tensor that holds its text itself */
        RGM_GO(
            rgm_tensor_create_from(&owned, RGM_STRING, rank, shape, rgm_tensor_data(value.values)));
        rgm_tensor_release(value.values);
        value.values = owned;
    }
    RGM_GO(rgm_graph_builder_feature(self->builder, set->piece, set->name, schema->name, &value));
done:
    rgm_feature_clear(&value);
    return status;
}

/* ---- edges ---- */

/* Whether an edge set before this one has the same readout set and key: then that one reads it out.
 */
static bool is_taken(const generator *self, int64_t set)
{
    const char *name = rgm_schema_set(self->schema, set)->name;
    size_t length, begin, size, other_length, other_begin, other_size;

    if (!rgm_readout_name(&length, &begin, &size, name))
        return false;
    for (int64_t i = 0; i < set; i++) {
        const rgm_set_schema *other = rgm_schema_set(self->schema, i);
        if (other->piece == RGM_EDGE_SET &&
            rgm_readout_name(&other_length, &other_begin, &other_size, other->name) &&
            begin + size == other_begin + other_size &&
            strncmp(name, other->name, begin + size) == 0)
            return true;
    }
    return false;
}

/* How many edges each component has. */
static void size_edges(generator *self, int64_t set, int64_t source, int64_t target)
{
    size_t ignored[3];
    bool readout = rgm_readout_name(&ignored[0], &ignored[1], &ignored[2],
                                    rgm_schema_set(self->schema, set)->name);

    for (int64_t c = 0; c < self->components; c++) {
        int64_t ends = self->sizes[source][c] + self->sizes[target][c];
        if (self->sizes[source][c] == 0 || self->sizes[target][c] == 0)
            self->sizes[set][c] = 0;
        else if (readout)
            self->sizes[set][c] = is_taken(self, set) ? 0 : self->sizes[target][c];
        else /* [s / 1.5, 2.25 s) */
            self->sizes[set][c] = draw(self, 2 * ends / 3, (9 * ends + 3) / 4 - 1);
    }
}

static rgm_status make_edges(generator *self, int64_t set)
{
    const rgm_set_schema *schema = rgm_schema_set(self->schema, set);
    rgm_status status = RGM_OK;
    int64_t source = rgm_schema_index(self->schema, RGM_NODE_SET, schema->source);
    int64_t target = rgm_schema_index(self->schema, RGM_NODE_SET, schema->target);
    int64_t total, from = 0, to = 0, at = 0;
    rgm_tensor *ends[2] = {NULL, NULL};
    size_t ignored[3];
    bool readout = rgm_readout_name(&ignored[0], &ignored[1], &ignored[2], schema->name);

    size_edges(self, set, source, target);
    total = total_of(self, set);
    RGM_GO(rgm_tensor_create(&ends[0], RGM_I64, 1, &total));
    RGM_GO(rgm_tensor_create(&ends[1], RGM_I64, 1, &total));
    for (int64_t c = 0; c < self->components; c++) {
        for (int64_t i = 0; i < self->sizes[set][c]; i++, at++) {
            rgm_tensor_i64(ends[0])[at] = from + draw(self, 0, self->sizes[source][c] - 1);
            rgm_tensor_i64(ends[1])[at] =
                to + (readout ? i : draw(self, 0, self->sizes[target][c] - 1));
        }
        from += self->sizes[source][c];
        to += self->sizes[target][c];
    }
    RGM_GO(rgm_graph_builder_edges(self->builder, schema->name, ends[0], ends[1]));
done:
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

/* ---- sets ---- */

/* Node sets: a few nodes; readout sets one item; shadow sets wait for their edge set. */
static void size_nodes(generator *self)
{
    for (int64_t i = 0; i < rgm_schema_set_count(self->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(self->schema, i);
        for (int64_t c = 0; set->piece == RGM_NODE_SET && c < self->components; c++)
            self->sizes[i][c] = rgm_shadow_of(set->name)        ? 0
                                : rgm_is_readout_set(set->name) ? 1
                                                                : draw(self, LEAST_ROWS, MOST_ROWS);
    }
}

/* A shadow set has as many items as the edge set it stands for. */
static void size_shadows(generator *self)
{
    for (int64_t i = 0; i < rgm_schema_set_count(self->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(self->schema, i);
        const char *shadowed = set->piece == RGM_NODE_SET ? rgm_shadow_of(set->name) : NULL;
        int64_t edges = shadowed ? rgm_schema_index(self->schema, RGM_EDGE_SET, shadowed) : -1;
        if (edges >= 0)
            memcpy(self->sizes[i], self->sizes[edges], sizeof self->sizes[i]);
    }
}

static rgm_status make_all(generator *self, rgm_graph **out)
{
    const rgm_schema *schema = self->schema;
    size_t ignored[3];

    size_nodes(self);
    /* Readout edges may start at shadow sets, so they come after all others. */
    for (int readout = 0; readout < 2; readout++) {
        for (int64_t i = 0; i < rgm_schema_set_count(schema); i++)
            if (rgm_schema_set(schema, i)->piece == RGM_EDGE_SET &&
                rgm_readout_name(&ignored[0], &ignored[1], &ignored[2],
                                 rgm_schema_set(schema, i)->name) == (readout == 1))
                RGM_TRY(make_edges(self, i));
        size_shadows(self);
    }
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t items = set->piece == RGM_CONTEXT_PIECE ? self->components : total_of(self, i);
        if (set->piece != RGM_CONTEXT_PIECE)
            RGM_TRY(rgm_graph_builder_sizes(self->builder, set->piece, set->name, self->sizes[i]));
        for (int64_t k = 0; k < set->feature_count; k++)
            RGM_TRY(make_feature(self, set, &set->features[k], items));
    }
    return rgm_graph_builder_finish(out, self->builder);
}

rgm_status rgm_generate_graph(rgm_graph **out, rgm_schema *schema, uint64_t seed, uint64_t index)
{
    generator self = {.schema = schema, .rng = rgm_rng_stream(seed, "generate", index)};
    rgm_status status = RGM_OK;

    *out = NULL;
    self.components = draw(&self, 1, MOST_COMPONENTS);
    RGM_GO(RGM_NEW(self.sizes, rgm_schema_set_count(schema)));
    RGM_GO(rgm_graph_builder_create(&self.builder, schema, self.components));
    RGM_GO(make_all(&self, out));
done:
    rgm_graph_builder_release(self.builder);
    rgm_free(self.sizes);
    return status;
}

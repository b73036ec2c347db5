/*
 * A citation-like graph. Every node has a community (its label) and a weight from a power law; each
 * edge joins two nodes drawn by weight, inside one community with probability `homophily`. Words
 * come from a vocabulary of which each community prefers a part, or are drawn from all of it:
 * `noise` says how often, so that words alone tell little and neighbours' words together tell much.
 * The result looks like an import: edges both ways, sorted by target; labels; a split like
 * planetoid's.
 */
#include "import_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct citation {
    const rgm_citation_options *options;
    const char *node_set, *edge_set;
    int64_t *label;  /* [nodes]                                            */
    int64_t *member; /* [nodes] nodes by community                         */
    int64_t *first;  /* [classes + 1] where each community starts in member */
    double *weight;  /* [nodes + 1] sums of weights in the order of member */
    int64_t *pairs;  /* [edges, 2]                                         */
    uint64_t *seen;  /* open-addressed set of pairs                        */
    int64_t seen_size;
} citation;

static void clear(citation *self)
{
    rgm_free(self->label);
    rgm_free(self->member);
    rgm_free(self->first);
    rgm_free(self->weight);
    rgm_free(self->pairs);
    rgm_free(self->seen);
}

static rgm_status check_options(const rgm_citation_options *o)
{
    int64_t rest = o->nodes - o->classes * o->train_per_class;

    if (o->nodes < 2 || o->nodes > INT32_MAX || o->classes < 1 || o->classes > o->nodes)
        return RGM_FAIL(RGM_ERR_ARG, "%lld nodes in %lld classes", (long long)o->nodes,
                        (long long)o->classes);
    if (o->edges < 0 || (double)o->edges > 0.25 * (double)o->nodes * (double)(o->nodes - 1))
        return RGM_FAIL(RGM_ERR_ARG, "%lld edges among %lld nodes; at most half of all pairs",
                        (long long)o->edges, (long long)o->nodes);
    if (o->dense <= 0 && (o->words_per_node < 1 || o->words < 2 * o->words_per_node))
        return RGM_FAIL(RGM_ERR_ARG,
                        "words is %lld, needs to be at least twice words_per_node %lld",
                        (long long)o->words, (long long)o->words_per_node);
    if (!(o->homophily >= 0 && o->homophily <= 1) || !(o->noise >= 0) ||
        (o->dense <= 0 && !(o->noise <= 1)))
        return RGM_FAIL(RGM_ERR_ARG, "homophily is %g, noise is %g; shares lie in 0..1",
                        o->homophily, o->noise);
    if (!(o->exponent > 2))
        return RGM_FAIL(RGM_ERR_ARG, "exponent is %g; a mean degree needs more than 2",
                        o->exponent);
    if (o->train_per_class < 0 || o->valid < 0 || o->test < 0 || o->valid + o->test > rest)
        return RGM_FAIL(RGM_ERR_ARG, "the split asks for %lld x %lld + %lld + %lld of %lld nodes",
                        (long long)o->classes, (long long)o->train_per_class, (long long)o->valid,
                        (long long)o->test, (long long)o->nodes);
    return RGM_OK;
}

/* Random numbers of one purpose. */
static rgm_rng stream(const citation *self, const char *purpose)
{
    return rgm_rng_stream((uint64_t)self->options->seed, purpose, 0);
}

/* ---- communities and weights ---- */

/* Communities of unequal size: the largest about four times the smallest. */
static rgm_status make_communities(citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_status status = RGM_OK;
    rgm_rng rng = stream(self, "citation/communities");
    double *share = NULL, sum = 0;

    RGM_GO(RGM_NEW(share, o->classes + 1));
    for (int64_t c = 0; c < o->classes; c++) {
        sum += 1 + 3 * rgm_rng_f64(&rng, (uint64_t)c);
        share[c] = sum;
    }
    for (int64_t i = 0; i < o->nodes; i++) {
        double at = rgm_rng_f64(&rng, (uint64_t)(o->classes + i)) * sum;
        int64_t c = 0;
        while (c + 1 < o->classes && share[c] <= at)
            c++;
        self->label[i] = i < o->classes ? i : c; /* none is empty */
        self->first[self->label[i] + 1]++;
    }
    for (int64_t c = 0; c < o->classes; c++)
        self->first[c + 1] += self->first[c];
    for (int64_t i = o->nodes; i-- > 0;)
        self->member[--self->first[self->label[i] + 1]] = i;
    /* Each entry was moved down to its community's start: put the ends back in order. */
    for (int64_t c = 0; c < o->classes; c++)
        self->first[c] = self->first[c + 1];
    self->first[o->classes] = o->nodes;
done:
    rgm_free(share);
    return status;
}

/* Pareto weights of the given exponent, cut off where one node would meet too many others. */
static void make_weights(citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_rng rng = stream(self, "citation/weights");
    double most = sqrt((double)o->nodes) * 4;

    for (int64_t k = 0; k < o->nodes; k++) {
        double u = 1 - rgm_rng_f64(&rng, (uint64_t)self->member[k]);
        double w = pow(u, -1 / (o->exponent - 1));
        self->weight[k + 1] = self->weight[k] + (w < most ? w : most);
    }
}

/* A member of positions begin .. end-1 drawn by weight; u in [0, 1). */
static int64_t draw_member(const citation *self, int64_t begin, int64_t end, double u)
{
    double at = self->weight[begin] + u * (self->weight[end] - self->weight[begin]);
    int64_t low = begin, high = end - 1;

    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (self->weight[middle + 1] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return self->member[low];
}

/* ---- edges ---- */

/* True when the pair was not there yet; it is afterwards. */
static bool insert_pair(citation *self, int64_t a, int64_t b)
{
    uint64_t key = (a < b ? (uint64_t)a << 32 | (uint64_t)b : (uint64_t)b << 32 | (uint64_t)a) + 1;
    uint64_t at = rgm_hash64(&key, sizeof key) & (uint64_t)(self->seen_size - 1);

    for (; self->seen[at]; at = (at + 1) & (uint64_t)(self->seen_size - 1))
        if (self->seen[at] == key)
            return false;
    self->seen[at] = key;
    return true;
}

/* The other end of an edge of node a; may be a itself. */
static int64_t draw_partner(const citation *self, int64_t a, const rgm_rng *rng, uint64_t draw)
{
    const rgm_citation_options *o = self->options;
    int64_t c = self->label[a];
    double u = rgm_rng_f64(rng, draw + 1), before, inside, all = self->weight[o->nodes];

    if (o->classes == 1 || rgm_rng_f64(rng, draw) < o->homophily)
        return draw_member(self, self->first[c], self->first[c + 1], u);
    /* Outside of a's community: skip its stretch of weights. */
    before = self->weight[self->first[c]];
    inside = self->weight[self->first[c + 1]] - before;
    u *= all - inside;
    return draw_member(self, 0, o->nodes, (u < before ? u : u + inside) / all);
}

static rgm_status make_edges(citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_rng rng = stream(self, "citation/edges");
    int64_t count = 0, tries = 0;

    for (int64_t i = 0; count < o->edges; tries++) {
        /* The first edges give each node one; the others start where weights say. */
        uint64_t draw = (uint64_t)tries * 3;
        bool own = i < o->nodes && o->edges >= o->nodes;
        int64_t a = own ? i : draw_member(self, 0, o->nodes, rgm_rng_f64(&rng, draw + 2));
        int64_t b = draw_partner(self, a, &rng, draw);

        if (tries > 200 * (o->edges + o->nodes))
            return RGM_FAIL(RGM_ERR_ARG, "%lld edges do not fit: after %lld draws there are %lld",
                            (long long)o->edges, (long long)tries, (long long)count);
        if (a == b || !insert_pair(self, a, b)) {
            i += own && tries > 64 * (i + 1); /* a node whose partners are used up */
            continue;
        }
        self->pairs[2 * count] = a;
        self->pairs[2 * count + 1] = b;
        count++;
        i += own;
    }
    return RGM_OK;
}

/* ---- features ---- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A word by Zipf's law among n: the k-th has a share about 1 / (k + n / 20). */
static int64_t zipf(double u, int64_t n)
{
    double shift = 1 + (double)n / 20;
    int64_t k = (int64_t)(shift * pow(((double)n + shift) / shift, u) - shift);

    return k < n ? k : n - 1;
}

/* Node i's distinct words into words[], ascending; returns how many. */
static int64_t draw_words(int64_t *words, const citation *self, const int64_t *order, int64_t i,
                          const rgm_rng *rng)
{
    const rgm_citation_options *o = self->options;
    int64_t begin = self->label[i] * o->words / o->classes;
    int64_t own = (self->label[i] + 1) * o->words / o->classes - begin;
    uint64_t draw = (uint64_t)i * 1024;
    int64_t count = 0;
    /* From half to one and a half times words_per_node. */
    int64_t want =
        o->words_per_node / 2 + (int64_t)rgm_rng_below(rng, draw, (uint64_t)o->words_per_node + 1);

    want = want < 1 ? 1 : want > 256 ? 256 : want;
    for (int64_t t = 0; count < want && t < 500; t++) {
        bool any = own < 1 || rgm_rng_f64(rng, draw + 1 + 2 * (uint64_t)t) < o->noise;
        double u = rgm_rng_f64(rng, draw + 2 + 2 * (uint64_t)t);
        int64_t word = any ? order[zipf(u, o->words)] : begin + zipf(u, own), k = 0;
        while (k < count && words[k] != word)
            k++;
        if (k == count)
            words[count++] = word;
    }
    qsort(words, (size_t)count, sizeof *words, ascending);
    return count;
}

static rgm_status make_words(rgm_feature *out, const citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_status status = RGM_OK;
    rgm_rng rng = stream(self, "citation/words");
    rgm_rng order_rng = stream(self, "citation/common");
    int64_t *order = NULL, *values = NULL, count = 0, room = 0;

    RGM_GO(rgm_tensor_create(&out->row_lengths[1], RGM_I64, 1, &o->nodes));
    RGM_GO(RGM_NEW(order, o->words)); /* which words are common is no matter of communities */
    rgm_rng_permutation(&order_rng, order, o->words);
    for (int64_t i = 0; i < o->nodes; i++) {
        int64_t n;
        RGM_GO(RGM_RESERVE(values, room, count + 512));
        n = draw_words(values + count, self, order, i, &rng);
        rgm_tensor_i64(out->row_lengths[1])[i] = n;
        count += n;
    }
    RGM_GO(rgm_tensor_create_from(&out->values, RGM_I64, 1, &count, values));
done:
    rgm_free(order);
    rgm_free(values);
    return status;
}

typedef struct dense_job {
    const citation *self;
    const double *centre;
    rgm_rng rng;
    float *x;
} dense_job;

static void dense_rows(void *payload, int64_t begin, int64_t end)
{
    const dense_job *job = payload;
    const rgm_citation_options *o = job->self->options;

    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0; c < o->dense; c++)
            job->x[i * o->dense + c] =
                (float)(job->centre[job->self->label[i] * o->dense + c] +
                        o->noise * rgm_rng_normal(&job->rng, (uint64_t)(i * o->dense + c)));
}

/* A centre of norm 1 for each community, and noise around it in every direction. */
static rgm_status make_dense(rgm_feature *out, const citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_status status = RGM_OK;
    rgm_rng centre_rng = stream(self, "citation/centres");
    dense_job job = {.self = self, .rng = stream(self, "citation/dense")};
    double *centre = NULL;

    RGM_GO(rgm_tensor_create(&out->values, RGM_F32, 2, (int64_t[]){o->nodes, o->dense}));
    RGM_GO(RGM_NEW(centre, o->classes * o->dense));
    for (int64_t i = 0; i < o->classes * o->dense; i++)
        centre[i] = rgm_rng_normal(&centre_rng, (uint64_t)i) / sqrt((double)o->dense);
    job.centre = centre;
    job.x = rgm_tensor_f32(out->values);
    rgm_parallel(o->nodes, 40.0 * (double)o->dense, dense_rows, &job);
done:
    rgm_free(centre);
    return status;
}

/* ---- the source ---- */

static rgm_status make_schema(rgm_schema **out, const citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;

    RGM_GO(rgm_schema_create(&schema));
    RGM_GO(rgm_schema_add_node_set(schema, self->node_set));
    if (o->dense > 0) {
        RGM_GO(rgm_schema_add_feature(schema, RGM_NODE_SET, self->node_set, "feat", RGM_F32, 1,
                                      &o->dense));
    } else {
        RGM_GO(rgm_schema_add_feature(schema, RGM_NODE_SET, self->node_set, "words", RGM_I64, 1,
                                      (int64_t[]){-1}));
        RGM_GO(rgm_schema_set_one_hot(schema, RGM_NODE_SET, self->node_set, "words", o->words));
    }
    RGM_GO(rgm_schema_add_feature(schema, RGM_NODE_SET, self->node_set, "label", RGM_I64, 0, NULL));
    RGM_GO(rgm_schema_add_edge_set(schema, self->edge_set, self->node_set, self->node_set));
    RGM_GO(rgm_schema_check(schema));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

static rgm_status give_features(rgm_graph_builder *builder, const citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_status status = RGM_OK;
    rgm_feature feature = {0}, label = {0};

    RGM_GO(o->dense > 0 ? make_dense(&feature, self) : make_words(&feature, self));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, self->node_set,
                                     o->dense > 0 ? "feat" : "words", &feature));
    RGM_GO(rgm_tensor_create_from(&label.values, RGM_I64, 1, &o->nodes, self->label));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, self->node_set, "label", &label));
done:
    rgm_feature_clear(&feature);
    rgm_feature_clear(&label);
    return status;
}

static rgm_status make_graph(rgm_graph **out, rgm_schema *schema, const citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_status status = RGM_OK;
    rgmi_edge_form form = {
        "", self->edge_set, self->node_set, self->node_set, o->nodes, o->nodes, true, true, NULL};
    rgm_graph_builder *builder = NULL;
    rgm_tensor *pairs = NULL;
    rgmi_raw_edges edges = {0};

    RGM_GO(rgm_tensor_wrap(&pairs, RGM_I64, 2, (int64_t[]){o->edges, 2}, self->pairs, NULL, NULL));
    RGM_GO(rgmi_raw_edges_make(&edges, pairs, 0, o->edges, &form));
    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, self->node_set, &o->nodes));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, self->edge_set, &edges.count));
    RGM_GO(rgm_graph_builder_edges(builder, self->edge_set, edges.source, edges.target));
    RGM_GO(give_features(builder, self));
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgm_graph_builder_release(builder);
    rgmi_raw_edges_clear(&edges);
    rgm_tensor_release(pairs);
    return status;
}

/* train_per_class nodes of each class, then valid and test, all in a random order. */
static rgm_status make_split(rgm_graph_data *out, const citation *self)
{
    const rgm_citation_options *o = self->options;
    rgm_status status = RGM_OK;
    rgm_rng rng = stream(self, "citation/split");
    int64_t *order = NULL, *taken = NULL, train = 0, valid = 0, test = 0;
    int64_t *to[3];

    RGM_GO(RGM_NEW(order, o->nodes));
    RGM_GO(RGM_NEW(taken, o->classes));
    RGM_GO(
        rgm_tensor_create(&out->train, RGM_I64, 1, (int64_t[]){o->classes * o->train_per_class}));
    RGM_GO(rgm_tensor_create(&out->valid, RGM_I64, 1, &o->valid));
    RGM_GO(rgm_tensor_create(&out->test, RGM_I64, 1, &o->test));
    to[0] = rgm_tensor_i64(out->train);
    to[1] = rgm_tensor_i64(out->valid);
    to[2] = rgm_tensor_i64(out->test);
    rgm_rng_permutation(&rng, order, o->nodes);
    for (int64_t i = 0; i < o->nodes; i++) {
        int64_t node = order[i];
        if (taken[self->label[node]]++ < o->train_per_class)
            to[0][train++] = node;
        else if (valid < o->valid)
            to[1][valid++] = node;
        else if (test < o->test)
            to[2][test++] = node;
    }
    if (train < o->classes * o->train_per_class || test < o->test) {
        status = RGM_FAIL(RGM_ERR_ARG, "a class has fewer than train_per_class = %lld nodes",
                          (long long)o->train_per_class);
        goto done;
    }
done:
    rgm_free(order);
    rgm_free(taken);
    return status;
}

static rgm_status make_all(rgm_graph_data *out, citation *self)
{
    const rgm_citation_options *o = self->options;

    for (self->seen_size = 64; self->seen_size < 2 * o->edges;)
        self->seen_size *= 2;
    RGM_TRY(RGM_NEW(self->label, o->nodes));
    RGM_TRY(RGM_NEW(self->member, o->nodes));
    RGM_TRY(RGM_NEW(self->first, o->classes + 1));
    RGM_TRY(RGM_NEW(self->weight, o->nodes + 1));
    RGM_TRY(RGM_NEW(self->pairs, 2 * o->edges));
    RGM_TRY(RGM_NEW(self->seen, self->seen_size));
    RGM_TRY(make_communities(self));
    make_weights(self);
    RGM_TRY(make_edges(self));
    RGM_TRY(make_schema(&out->schema, self));
    RGM_TRY(RGM_NEW(out->graphs, 1));
    out->graph_count = 1;
    RGM_TRY(make_graph(&out->graphs[0], out->schema, self));
    RGM_TRY(rgm_strdup(&out->split_set, self->node_set));
    return make_split(out, self);
}

rgm_status rgm_generate_citation(rgm_graph_data *out, const rgm_citation_options *options)
{
    rgm_citation_options defaults = RGM_CITATION_OPTIONS_INIT;
    citation self = {.options = options ? options : &defaults};
    rgm_status status;

    memset(out, 0, sizeof *out);
    self.node_set = self.options->node_set ? self.options->node_set : "nodes";
    self.edge_set = self.options->edge_set ? self.options->edge_set : "edges";
    RGM_TRY(check_options(self.options));
    status = make_all(out, &self);
    clear(&self);
    if (status != RGM_OK)
        rgm_graph_data_clear(out);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

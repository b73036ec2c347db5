/*
 * The edges that a prediction rests on most, and the nodes that they join, as SVG: nodes that
 * repel each other, edges that draw theirs together (Fruchterman & Reingold 1991), the same picture
 * for the same explanation.
 */
#include <math.h>
#include <string.h>

#include "explain.h"
#include "report.h"

#define SIDE   640.0 /* of the picture, and below it a line */
#define MARGIN 48.0
#define ROUNDS 400

typedef struct spot {
    const char *set;
    int64_t node;
    double x, y, dx, dy;
    bool asked; /* the node that is predicted */
} spot;

typedef struct tie {
    int64_t from, to; /* spots */
    double score;
} tie;

typedef struct picture {
    const explained_view *view;
    spot *spots;
    tie *ties;
    int64_t spot_count, tie_count;
} picture;

static int64_t spot_of(picture *p, const char *set, int64_t node)
{
    for (int64_t i = 0; i < p->spot_count; i++)
        if (p->spots[i].node == node && strcmp(p->spots[i].set, set) == 0)
            return i;
    p->spots[p->spot_count] = (spot){.set = set, .node = node};
    return p->spot_count++;
}

static rgm_status collect(picture *p)
{
    const explained_view *v = p->view;
    const rgm_graph *graph = v->explanation.graph;

    RGM_TRY(RGM_NEW(p->spots, 2 * v->edge_count + 1));
    RGM_TRY(RGM_NEW(p->ties, v->edge_count));
    for (int64_t i = 0; i < v->edge_count; i++) {
        const char *set = v->explanation.inputs[v->edges[i].input].set;
        const rgm_set_schema *schema = rgm_schema_find(rgm_graph_schema(graph), RGM_EDGE_SET, set);
        int64_t source = rgm_tensor_at_int(rgm_graph_source(graph, set), v->edges[i].i);
        int64_t target = rgm_tensor_at_int(rgm_graph_target(graph, set), v->edges[i].i);
        tie *t = &p->ties[p->tie_count++];

        t->from = spot_of(p, schema->source, source);
        t->to = spot_of(p, schema->target, target);
        t->score = v->edges[i].score;
    }
    return RGM_OK;
}

/* Who is asked about: the node by the number that predictions tell. */
static void mark_asked(picture *p)
{
    for (int64_t i = 0; i < p->spot_count; i++) {
        const spot *s = &p->spots[i];
        const rgm_feature *id =
            rgm_graph_feature(p->view->explanation.graph, RGM_NODE_SET, s->set, "#id");
        bool number = id == NULL || rgm_tensor_dtype(id->values) != RGM_STRING;
        int64_t told = id != NULL && number ? rgm_tensor_at_int(id->values, s->node) : s->node;

        p->spots[i].asked = p->view->node >= 0 && number && told == p->view->node &&
                            (p->view->node_set == NULL || strcmp(p->view->node_set, s->set) == 0);
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void push(spot *a, spot *b, double force)
{
    double x = a->x - b->x, y = a->y - b->y, length = hypot(x, y);

    if (length < 1e-9)
        return;
    a->dx += x / length * force;
    a->dy += y / length * force;
    b->dx -= x / length * force;
    b->dy -= y / length * force;
}

static void move(picture *p, double heat)
{
    double ideal = sqrt(1.0 / (double)(p->spot_count > 0 ? p->spot_count : 1));

    for (int64_t i = 0; i < p->spot_count; i++)
        for (int64_t k = 0; k < i; k++) {
            double length = hypot(p->spots[i].x - p->spots[k].x, p->spots[i].y - p->spots[k].y);

            push(&p->spots[i], &p->spots[k], ideal * ideal / fmax(length, 1e-3));
        }
    for (int64_t i = 0; i < p->tie_count; i++) {
        spot *a = &p->spots[p->ties[i].from], *b = &p->spots[p->ties[i].to];
        double length = hypot(a->x - b->x, a->y - b->y);

        push(a, b, -length * length / ideal);
    }
    for (int64_t i = 0; i < p->spot_count; i++) {
        spot *s = &p->spots[i];
        double length = hypot(s->dx, s->dy), most = fmin(length, heat);

        s->dx -= (s->x - 0.5) * 0.1; /* parts that nothing joins stay in sight */
        s->dy -= (s->y - 0.5) * 0.1;
        if (length > 0) {
            s->x += s->dx / length * most;
            s->y += s->dy / length * most;
        }
        s->dx = s->dy = 0;
    }
}

/* All of it into the picture, sides kept. */
static void fit(picture *p)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, scale;

    for (int64_t i = 0; i < p->spot_count; i++) {
        low[0] = fmin(low[0], p->spots[i].x);
        low[1] = fmin(low[1], p->spots[i].y);
        high[0] = fmax(high[0], p->spots[i].x);
        high[1] = fmax(high[1], p->spots[i].y);
    }
    scale = (SIDE - 2 * MARGIN) / fmax(fmax(high[0] - low[0], high[1] - low[1]), 1e-9);
    for (int64_t i = 0; i < p->spot_count; i++) {
        p->spots[i].x = SIDE / 2 + (p->spots[i].x - (low[0] + high[0]) / 2) * scale;
        p->spots[i].y = SIDE / 2 + (p->spots[i].y - (low[1] + high[1]) / 2) * scale;
    }
}

static void lay_out(picture *p)
{
    rgm_rng rng = rgm_rng_stream(0, "picture", 0);

    for (int64_t i = 0; i < p->spot_count; i++) {
        p->spots[i].x = rgm_rng_f64(&rng, (uint64_t)(2 * i));
        p->spots[i].y = rgm_rng_f64(&rng, (uint64_t)(2 * i + 1));
    }
    for (int round = 0; round < ROUNDS; round++)
        move(p, 0.1 * (1 - (double)round / ROUNDS));
    fit(p);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static const char *const tones[] = {"#4477aa", "#ccbb44", "#228833",
                                    "#aa3377", "#66ccee", "#ee6677"}; /* Tol's bright */

/* Of a node set: by its place among those in the picture. */
static const char *tone_of(const picture *p, const char *set)
{
    int64_t place = 0;

    for (int64_t i = 0; i < p->spot_count; i++) {
        bool first = true;

        if (strcmp(p->spots[i].set, set) == 0)
            break;
        for (int64_t k = 0; k < i; k++)
            first = first && strcmp(p->spots[k].set, p->spots[i].set) != 0;
        place += first;
    }
    return tones[place % (int64_t)(sizeof tones / sizeof *tones)];
}

static void draw_tie(drawing *d, const picture *p, const tie *t, double most)
{
    const spot *a = &p->spots[t->from], *b = &p->spots[t->to];
    double share = most > 0 ? fabs(t->score) / most : 0;
    double length = fmax(hypot(b->x - a->x, b->y - a->y), 1e-9),
           end = fmax(length - 12, 0) / length;
    const char *set = p->view->explanation.inputs[p->view->edges[t - p->ties].input].set;

    mark(d,
         "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
         "stroke-width=\"%.2f\" stroke-opacity=\"%.2f\" stroke-dasharray=\"%s\" "
         "marker-end=\"url(#to)\">",
         a->x, a->y, a->x + (b->x - a->x) * end, a->y + (b->y - a->y) * end,
         t->score < 0 ? "#bb5566" : "#004488", 0.75 + 5 * share, 0.35 + 0.65 * share,
         t->score < 0 ? "5 3" : "none");
    mark(d, "<title>%s: %s to %s, %.4f</title></line>\n", set,
         explained_node(p->view, a->set, a->node), explained_node(p->view, b->set, b->node),
         t->score);
}

static void draw_spot(drawing *d, const picture *p, const spot *s)
{
    mark(d,
         "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%d\">",
         s->x, s->y, s->asked ? 11 : 8, tone_of(p, s->set), s->asked ? "#000000" : "#ffffff",
         s->asked ? 3 : 1);
    mark(d, "<title>%s %s</title></circle>\n", s->set, explained_node(p->view, s->set, s->node));
    mark(d, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", s->x, s->y - 13,
         s->asked ? "n a" : "n", explained_node(p->view, s->set, s->node));
}

static void draw_sets(drawing *d, const picture *p)
{
    double x = 20;

    for (int64_t i = 0; i < p->spot_count; i++) {
        bool first = true;

        for (int64_t k = 0; k < i; k++)
            first = first && strcmp(p->spots[k].set, p->spots[i].set) != 0;
        if (!first)
            continue;
        mark(d, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"6\" fill=\"%s\"/>", x, SIDE + 12,
             tone_of(p, p->spots[i].set));
        mark(d, "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", x + 12, SIDE + 16, p->spots[i].set);
        x += 40 + 8 * (double)strlen(p->spots[i].set);
    }
}

static void draw(drawing *d, const picture *p)
{
    const explained_view *v = p->view;
    double most = v->edge_count > 0 ? fabs(v->edges[0].score) : 0;

    mark(d,
         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
         "%.0f %.0f\" role=\"img\">\n",
         SIDE, SIDE + 52, SIDE, SIDE + 52);
    mark(d, "<title>Edges that a prediction rests on</title>\n"
            "<style>text{font:12px sans-serif;fill:#222}.n{text-anchor:middle;font-size:11px}"
            ".a{font-weight:bold}</style>\n"
            "<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"5\" "
            "markerHeight=\"5\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 "
            "4L0 8z\" fill=\"#555\"/></marker></defs>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
    for (int64_t i = p->tie_count - 1; i >= 0; i--) /* the heaviest on top */
        draw_tie(d, p, &p->ties[i], most);
    for (int64_t i = 0; i < p->spot_count; i++)
        draw_spot(d, p, &p->spots[i]);
    draw_sets(d, p);
    mark(d, "<text x=\"20\" y=\"%.0f\">", SIDE + 40);
    mark(d, "item %lld of %s, %s %s; ", (long long)v->item, v->part,
         v->head->is_number ? "number" : "class", explained_target(v));
    mark(d, "%s; %s</text>\n</svg>\n",
         v->explanation.attention_count > 0 ? "what is heard more is thicker"
                                            : "blue speaks for it, dashed red against it",
         v->method);
}

rgm_status explained_picture(rgm_text *out, const explained_view *v)
{
    rgm_status status = RGM_OK;
    picture p = {.view = v};
    drawing d = {.status = RGM_OK};

    if (v->edge_count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no edge has a score, so there is nothing to draw");
    RGM_GO(collect(&p));
    mark_asked(&p);
    lay_out(&p);
    draw(&d, &p);
    RGM_GO(d.status);
    *out = d.out;
    d.out = (rgm_text){0};
done:
    rgm_text_clear(&d.out);
    rgm_free(p.spots);
    rgm_free(p.ties);
    return status;
}

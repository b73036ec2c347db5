/*
 * Nodes and the edges that join them, as SVG: nodes repel each other, edges draw theirs together
 * (Fruchterman & Reingold 1991).
 */
#include <math.h>
#include <string.h>

#include "draw_internal.h"

#define SIDE   640.0 /* of the picture, and below it a line */
#define MARGIN 48.0
#define ROUNDS 400

typedef struct spot {
    double x, y, dx, dy;
} spot;

typedef struct picture {
    const rgm_drawn_node *nodes;
    const rgm_drawn_edge *edges;
    spot *spots; /* [spot_count] of the nodes */
    int64_t spot_count, edge_count;
} picture;

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
    for (int64_t i = 0; i < p->edge_count; i++) {
        spot *a = &p->spots[p->edges[i].from], *b = &p->spots[p->edges[i].to];
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

static bool is_first_of_set(const picture *p, int64_t node)
{
    for (int64_t k = 0; k < node; k++)
        if (strcmp(p->nodes[k].set, p->nodes[node].set) == 0)
            return false;
    return true;
}

/* Of a node set: by its place among those in the picture. */
static const char *tone_of(const picture *p, const char *set)
{
    int64_t place = 0;

    for (int64_t i = 0; i < p->spot_count && strcmp(p->nodes[i].set, set) != 0; i++)
        place += is_first_of_set(p, i);
    return tones[place % (int64_t)(sizeof tones / sizeof *tones)];
}

static void draw_edge(rgmi_drawing *d, const picture *p, const rgm_drawn_edge *e, double most)
{
    const spot *a = &p->spots[e->from], *b = &p->spots[e->to];
    double share = most > 0 ? fabs(e->score) / most : 0;
    double length = fmax(hypot(b->x - a->x, b->y - a->y), 1e-9),
           end = fmax(length - 12, 0) / length;

    rgmi_mark(d,
              "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
              "stroke-width=\"%.2f\" stroke-opacity=\"%.2f\" stroke-dasharray=\"%s\" "
              "marker-end=\"url(#to)\">",
              a->x, a->y, a->x + (b->x - a->x) * end, a->y + (b->y - a->y) * end,
              e->score < 0 ? "#bb5566" : "#004488", 0.75 + 5 * share, 0.35 + 0.65 * share,
              e->score < 0 ? "5 3" : "none");
    rgmi_mark(d, "<title>%s: %s to %s, %.4f</title></line>\n", e->set, p->nodes[e->from].name,
              p->nodes[e->to].name, e->score);
}

static void draw_node(rgmi_drawing *d, const picture *p, int64_t i)
{
    const rgm_drawn_node *n = &p->nodes[i];
    const spot *s = &p->spots[i];

    rgmi_mark(d,
              "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" stroke=\"%s\" "
              "stroke-width=\"%d\">",
              s->x, s->y, n->marked ? 11 : 8, tone_of(p, n->set), n->marked ? "#000000" : "#ffffff",
              n->marked ? 3 : 1);
    rgmi_mark(d, "<title>%s %s</title></circle>\n", n->set, n->name);
    rgmi_mark(d, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", s->x, s->y - 13,
              n->marked ? "n a" : "n", n->name);
}

static void draw_sets(rgmi_drawing *d, const picture *p)
{
    double x = 20;

    for (int64_t i = 0; i < p->spot_count; i++) {
        if (!is_first_of_set(p, i))
            continue;
        rgmi_mark(d, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"6\" fill=\"%s\"/>", x, SIDE + 12,
                  tone_of(p, p->nodes[i].set));
        rgmi_mark(d, "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", x + 12, SIDE + 16, p->nodes[i].set);
        x += 40 + 8 * (double)strlen(p->nodes[i].set);
    }
}

static void draw(rgmi_drawing *d, const picture *p, const char *caption)
{
    double most = fabs(p->edges[0].score);

    rgmi_mark(
        d,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
        "%.0f %.0f\" role=\"img\">\n",
        SIDE, SIDE + 52, SIDE, SIDE + 52);
    rgmi_mark(d,
              "<title>Edges that a prediction rests on</title>\n"
              "<style>text{font:12px sans-serif;fill:#222}.n{text-anchor:middle;font-size:11px}"
              ".a{font-weight:bold}</style>\n"
              "<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"5\" "
              "markerHeight=\"5\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 "
              "4L0 8z\" fill=\"#555\"/></marker></defs>\n"
              "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
    for (int64_t i = p->edge_count - 1; i >= 0; i--) /* the heaviest on top */
        draw_edge(d, p, &p->edges[i], most);
    for (int64_t i = 0; i < p->spot_count; i++)
        draw_node(d, p, i);
    draw_sets(d, p);
    rgmi_mark(d, "<text x=\"20\" y=\"%.0f\">", SIDE + 40);
    rgmi_mark_short(d, caption, 0);
    rgmi_mark(d, "</text>\n</svg>\n");
}

rgm_status rgm_draw_graph(rgm_text *out, const rgm_drawn_node *nodes, int64_t node_count,
                          const rgm_drawn_edge *edges, int64_t edge_count, const char *caption)
{
    rgm_status status = RGM_OK;
    picture p = {
        .nodes = nodes, .edges = edges, .spot_count = node_count, .edge_count = edge_count};
    rgmi_drawing d = {0};

    if (edge_count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no edge has a score, so there is nothing to draw");
    RGM_GO(RGM_NEW(p.spots, node_count));
    lay_out(&p);
    draw(&d, &p, caption);
    RGM_GO(d.status);
    RGM_GO(rgm_text_add(out, d.out.data, d.out.size));
done:
    rgm_text_clear(&d.out);
    rgm_free(p.spots);
    return status;
}

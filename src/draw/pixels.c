/*
 * A page of pixels, for PNG: FreeType fills outlines with smooth edges, strokes lines and reads the
 * letters of a font; zlib packs the rows.
 */
#include <ft2build.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include FT_STROKER_H

#include "draw_internal.h"

typedef struct rgb {
    unsigned char part[3];
} rgb;

struct rgmi_pixels {
    FT_Library library;
    FT_Stroker stroker;
    FT_Face faces[2]; /* plain, bold */
    double scale;     /* pixels a point */
    int64_t width, height;
    unsigned char *data; /* [height, width, 3] */
    rgb color;           /* of the outline that is filled */
};

/* As LIGHT of draw_look.h has them. */
static const rgb text_color = {{0x4a, 0x51, 0x63}}, head_color = {{0x1b, 0x20, 0x30}};
static const rgb grid_color = {{0xe8, 0xeb, 0xf0}}, axis_color = {{0x8d, 0x95, 0xa5}};
static const rgb hues[RGMI_HUES + 1] = {
    {{0x00, 0x72, 0xb2}}, {{0xd5, 0x5e, 0x00}}, {{0x00, 0x9e, 0x73}}, {{0xcc, 0x79, 0xa7}},
    {{0xe6, 0x9f, 0x00}}, {{0x56, 0xb4, 0xe9}}, {{0x1b, 0x20, 0x30}}};
/* Of each dash points that are drawn, left out, drawn, ... */
static const double dashes[RGMI_DASHES][4] = {{0}, {7, 4, 7, 4}, {2, 3, 2, 3}, {9, 3, 2, 3}};

static rgm_status failed(FT_Error error, const char *what)
{
    if (error == FT_Err_Out_Of_Memory)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %s", what);
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "FreeType cannot %s (error %d)", what, error);
}

/* ---- fonts --------------------------------------------------------------------------------- */

/* Plain and bold, where distributions have them in the folders of $XDG_DATA_DIRS. */
static const char *const fonts[][2] = {
    {"fonts/truetype/dejavu/DejaVuSans.ttf", "fonts/truetype/dejavu/DejaVuSans-Bold.ttf"},
    {"fonts/dejavu-sans-fonts/DejaVuSans.ttf", "fonts/dejavu-sans-fonts/DejaVuSans-Bold.ttf"},
    {"fonts/TTF/DejaVuSans.ttf", "fonts/TTF/DejaVuSans-Bold.ttf"},
    {"fonts/truetype/liberation/LiberationSans-Regular.ttf",
     "fonts/truetype/liberation/LiberationSans-Bold.ttf"},
    {"fonts/truetype/noto/NotoSans-Regular.ttf", "fonts/truetype/noto/NotoSans-Bold.ttf"}};

/* In `size` bytes of `folder`. */
static rgm_status open_face(FT_Face *face, const rgmi_pixels *p, const char *folder, size_t size,
                            const char *name)
{
    char *path;
    FT_Error error;

    RGM_TRY(rgm_strprintf(&path, "%.*s/%s", (int)size, folder, name));
    error = FT_New_Face(p->library, path, 0, face);
    rgm_free(path);
    if (error == 0)
        error = FT_Set_Char_Size(*face, 0, lround(12 * 64 * p->scale), 72, 72);
    return error == 0 ? RGM_OK : failed(error, "open a font");
}

static rgm_status open_fonts(rgmi_pixels *p)
{
    const char *folders = getenv("XDG_DATA_DIRS");

    if (folders == NULL || folders[0] == '\0')
        folders = "/usr/local/share:/usr/share";
    for (size_t size; folders[0] != '\0'; folders += size + (folders[size] == ':')) {
        size = strcspn(folders, ":");
        for (size_t i = 0; i < sizeof fonts / sizeof *fonts; i++) {
            rgm_status status = open_face(&p->faces[0], p, folders, size, fonts[i][0]);

            if (status == RGM_OK)
                status = open_face(&p->faces[1], p, folders, size, fonts[i][1]);
            if (status == RGM_OK || status == RGM_ERR_NOMEM)
                return status;
            rgm_error_reset();
        }
    }
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "a PNG needs DejaVu Sans or another font (Debian: fonts-dejavu-core); an SVG "
                    "needs none");
}

/* ---- page ---------------------------------------------------------------------------------- */

rgm_status rgmi_pixels_create(rgmi_pixels **out, double width, double height, double scale)
{
    rgm_status status = RGM_OK;
    rgmi_pixels *p = NULL;
    FT_Error error;

    *out = NULL;
    RGM_GO(RGM_NEW(p, 1));
    p->scale = scale;
    p->width = llround(width * scale);
    p->height = llround(height * scale);
    RGM_GO(RGM_NEW(p->data, 3 * p->width * p->height));
    memset(p->data, 255, (size_t)(3 * p->width * p->height));
    if ((error = FT_Init_FreeType(&p->library)) != 0 ||
        (error = FT_Stroker_New(p->library, &p->stroker)) != 0)
        RGM_GO(failed(error, "begin a page"));
    RGM_GO(open_fonts(p));
    *out = p;
    p = NULL;
done:
    rgmi_pixels_release(p);
    return status;
}

void rgmi_pixels_release(rgmi_pixels *p)
{
    if (p == NULL)
        return;
    if (p->stroker != NULL)
        FT_Stroker_Done(p->stroker);
    if (p->library != NULL)
        FT_Done_FreeType(p->library); /* and its faces */
    rgm_free(p->data);
    rgm_free(p);
}

/* ---- fill ---------------------------------------------------------------------------------- */

static void blend(int y, int count, const FT_Span *spans, void *payload)
{
    rgmi_pixels *p = payload;
    int64_t row = p->height - 1 - y; /* FreeType counts from below */

    if (row < 0 || row >= p->height)
        return;
    for (int i = 0; i < count; i++)
        for (int64_t x = spans[i].x < 0 ? 0 : spans[i].x;
             x < spans[i].x + spans[i].len && x < p->width; x++) {
            unsigned char *at = &p->data[3 * (row * p->width + x)];

            for (int k = 0; k < 3; k++)
                at[k] = (unsigned char)((at[k] * (255 - spans[i].coverage) +
                                         p->color.part[k] * spans[i].coverage + 127) /
                                        255);
        }
}

static rgm_status fill(rgmi_pixels *p, FT_Outline *outline, rgb color)
{
    FT_Raster_Params params = {.flags =
                                   FT_RASTER_FLAG_AA | FT_RASTER_FLAG_DIRECT | FT_RASTER_FLAG_CLIP,
                               .gray_spans = blend,
                               .user = p,
                               .clip_box = {0, 0, (FT_Pos)p->width, (FT_Pos)p->height}};
    FT_Error error;

    p->color = color;
    error = FT_Outline_Render(p->library, outline, &params);
    return error == 0 ? RGM_OK : failed(error, "fill an outline");
}

/* A point of the page in FreeType's units, 64 a pixel, from below. */
static FT_Vector vector_of(const rgmi_pixels *p, double x, double y)
{
    return (FT_Vector){lround(x * p->scale * 64), lround(((double)p->height - y * p->scale) * 64)};
}

/* ---- lines --------------------------------------------------------------------------------- */

/** How a line is drawn. */
typedef struct pen {
    rgb color;
    double width;
    const double *dash; /* of `dashes` */
} pen;

static rgb paled(rgb color)
{
    for (int k = 0; k < 3; k++)
        color.part[k] = (unsigned char)((color.part[k] + 255) / 2);
    return color;
}

static pen pen_of(const char *kind, rgmi_look look)
{
    if (kind[0] == 'g' || kind[0] == 'a')
        return (pen){kind[0] == 'g' ? grid_color : axis_color, 1, dashes[0]};
    return (pen){look.pale ? paled(hues[look.hue]) : hues[look.hue], look.pale ? 1.4 : 2,
                 dashes[look.dash]};
}

/* What was stroked becomes an outline that is filled. */
static rgm_status fill_stroke(rgmi_pixels *p, rgb color)
{
    FT_UInt points, contours;
    FT_Outline outline;
    FT_Error error = FT_Stroker_GetCounts(p->stroker, &points, &contours);
    rgm_status status;

    if (error == 0)
        error = FT_Outline_New(p->library, points, (FT_Int)contours, &outline);
    if (error != 0)
        return failed(error, "stroke a line");
    outline.n_points = outline.n_contours = 0;
    FT_Stroker_Export(p->stroker, &outline);
    status = fill(p, &outline, color);
    FT_Outline_Done(p->library, &outline);
    return status;
}

/* Points from `from` to `to`, of which those that fall together are one: FreeType crashes on a line
 * of no length. *drawn: whether there is a line. */
static FT_Error begin_line(bool *drawn, rgmi_pixels *p, const double *points, int64_t from,
                           int64_t to)
{
    FT_Vector last = vector_of(p, points[2 * from], points[2 * from + 1]), at;
    FT_Error error = 0;

    *drawn = false;
    for (int64_t i = from + 1; i <= to && error == 0; i++) {
        at = vector_of(p, points[2 * i], points[2 * i + 1]);
        if (at.x == last.x && at.y == last.y)
            continue;
        if (!*drawn)
            error = FT_Stroker_BeginSubPath(p->stroker, &last, 1);
        if (error == 0)
            error = FT_Stroker_LineTo(p->stroker, &at);
        *drawn = true;
        last = at;
    }
    return error == 0 && *drawn ? FT_Stroker_EndSubPath(p->stroker) : error;
}

/* [count] points x, y. An outline holds 32,767 points: a few hundred of a line at a time. */
static rgm_status stroke(rgmi_pixels *p, const pen *with, const double *points, int64_t count)
{
    enum { MOST = 500 };

    for (int64_t from = 0; from + 1 < count; from += MOST) {
        int64_t to = from + MOST < count ? from + MOST : count - 1;
        FT_Error error;
        bool drawn;

        FT_Stroker_Set(p->stroker, lround(with->width / 2 * p->scale * 64), FT_STROKER_LINECAP_BUTT,
                       FT_STROKER_LINEJOIN_ROUND, 0);
        error = begin_line(&drawn, p, points, from, to);
        if (error != 0)
            return failed(error, "stroke a line");
        if (drawn)
            RGM_TRY(fill_stroke(p, with->color));
    }
    return RGM_OK;
}

/* Each piece of a dashed line is a line from corner to corner. */
static rgm_status stroke_dashes(rgmi_pixels *p, const pen *with, const double *points,
                                int64_t count)
{
    double left = with->dash[0];
    int part = 0;

    for (int64_t i = 0; i + 1 < count; i++) {
        double x = points[2 * i], y = points[2 * i + 1];
        double width = points[2 * i + 2] - x, height = points[2 * i + 3] - y;
        double length = hypot(width, height), at = 0;

        while (at < length) {
            double to = fmin(length, at + left);
            double piece[] = {x + width * at / length, y + height * at / length,
                              x + width * to / length, y + height * to / length};

            if (part % 2 == 0)
                RGM_TRY(stroke(p, with, piece, 2));
            left -= to - at;
            at = to;
            if (left <= 1e-9) {
                part = (part + 1) % 4;
                left = with->dash[part];
            }
        }
    }
    return RGM_OK;
}

rgm_status rgmi_pixels_line(rgmi_pixels *p, const char *kind, rgmi_look look, const double *points,
                            int64_t count)
{
    pen with = pen_of(kind, look);

    return with.dash[0] > 0 ? stroke_dashes(p, &with, points, count)
                            : stroke(p, &with, points, count);
}

rgm_status rgmi_pixels_dot(rgmi_pixels *p, rgmi_look look, double x, double y, double radius)
{
    enum { CORNERS = 32 };
    FT_Vector corners[CORNERS];
    char tags[CORNERS];
    short end = CORNERS - 1;
    FT_Outline outline = {
        .n_contours = 1, .n_points = CORNERS, .points = corners, .tags = tags, .contours = &end};

    for (int i = 0; i < CORNERS; i++) {
        double angle = 2 * M_PI * i / CORNERS;

        corners[i] = vector_of(p, x + cos(angle) * radius, y + sin(angle) * radius);
        tags[i] = FT_CURVE_TAG_ON;
    }
    return fill(p, &outline, pen_of("l", look).color);
}

/* ---- letters ------------------------------------------------------------------------------- */

/* Where the text's end is, in 64ths of a pixel from its beginning; fills it there if `color`. */
static rgm_status set_letters(FT_Pos *end, rgmi_pixels *p, FT_Face face, FT_Vector from,
                              const char *text, const rgb *color)
{
    FT_Pos begin = from.x;
    uint32_t code;

    for (int size; (size = rgm_utf8_next(&code, text)) > 0 && *text != '\0'; text += size) {
        FT_Error error = FT_Load_Glyph(face, FT_Get_Char_Index(face, code),
                                       FT_LOAD_NO_BITMAP | FT_LOAD_NO_HINTING);

        if (error != 0)
            return failed(error, "draw a letter");
        if (color != NULL && face->glyph->format == FT_GLYPH_FORMAT_OUTLINE) {
            FT_Outline_Translate(&face->glyph->outline, from.x, from.y);
            RGM_TRY(fill(p, &face->glyph->outline, *color));
        }
        from.x += face->glyph->linearHoriAdvance >> 10; /* from 65536ths of a pixel */
    }
    *end = from.x - begin;
    return RGM_OK;
}

rgm_status rgmi_pixels_text(rgmi_pixels *p, double x, double y, const char *classes,
                            const char *text)
{
    bool bold = strchr(classes, 'h') != NULL;
    FT_Vector from = vector_of(p, x, y);
    FT_Pos length;

    RGM_TRY(set_letters(&length, p, p->faces[bold], from, text, NULL));
    if (strchr(classes, 'm') != NULL)
        from.x -= length / 2;
    else if (strchr(classes, 'e') != NULL)
        from.x -= length;
    return set_letters(&length, p, p->faces[bold], from, text, bold ? &head_color : &text_color);
}

/* ---- PNG (ISO/IEC 15948) ------------------------------------------------------------------- */

static void put_u32(unsigned char *to, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(number >> (24 - 8 * i));
}

static rgm_status add_chunk(rgm_text *out, const char *name, const void *data, int64_t size)
{
    unsigned char number[4];
    uLong sum = crc32(crc32(0, NULL, 0), (const unsigned char *)name, 4);

    put_u32(number, (uint32_t)size);
    RGM_TRY(rgm_text_add(out, number, 4));
    RGM_TRY(rgm_text_add(out, name, 4));
    RGM_TRY(rgm_text_add(out, data, size));
    put_u32(number, (uint32_t)crc32_z(sum, data, (z_size_t)size));
    return rgm_text_add(out, number, 4);
}

/* Rows one after the other, each behind its filter (0: none), as deflate packs them. */
static rgm_status pack(unsigned char **packed, uLongf *size, const rgmi_pixels *p)
{
    int64_t row = 3 * p->width;
    unsigned char *rows = NULL;
    rgm_status status = RGM_OK;

    *size = compressBound((uLong)((row + 1) * p->height));
    if (*size > INT32_MAX)
        return RGM_FAIL(RGM_ERR_CONFIG, "--size is too large for a PNG");
    RGM_GO(RGM_NEW(*packed, (int64_t)*size));
    RGM_GO(RGM_NEW(rows, (row + 1) * p->height));
    for (int64_t y = 0; y < p->height; y++)
        memcpy(&rows[y * (row + 1) + 1], &p->data[y * row], (size_t)row);
    if (compress(*packed, size, rows, (uLong)((row + 1) * p->height)) != Z_OK)
        status = RGM_FAIL(RGM_ERR_NOMEM, "out of memory to pack a PNG");
done:
    rgm_free(rows);
    return status;
}

rgm_status rgmi_pixels_png(rgm_text *out, const rgmi_pixels *p)
{
    unsigned char head[13] = {0}, *packed = NULL;
    uLongf size = 0;
    rgm_status status = RGM_OK;

    put_u32(head, (uint32_t)p->width);
    put_u32(head + 4, (uint32_t)p->height);
    head[8] = 8; /* bits of a part */
    head[9] = 2; /* red, green, blue */
    RGM_GO(pack(&packed, &size, p));
    RGM_GO(rgm_text_add(out, "\x89PNG\r\n\x1a\n", 8));
    RGM_GO(add_chunk(out, "IHDR", head, sizeof head));
    RGM_GO(add_chunk(out, "IDAT", packed, (int64_t)size));
    RGM_GO(add_chunk(out, "IEND", "", 0));
done:
    rgm_free(packed);
    return status;
}

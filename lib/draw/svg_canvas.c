#include "draw/drawing.h"

#include <string.h>

#include "base/utf8.h"

/* Fonts that are there on the usual systems, then any; other scripts and emoji are the viewer's to
 * find: a font for emoji in the list would give its digits to all numbers. */
static const char fonts[] = "Helvetica, Arial, 'DejaVu Sans', 'Noto Sans', sans-serif";

static void put_colour(struct stream *out, const char *name, struct colour colour)
{
    stream_format(out, " %s=\"#%02x%02x%02x\"", name, colour.red, colour.green, colour.blue);
}

/* What XML cannot hold, bytes that are not UTF-8 and controls, becomes U+FFFD. */
static void put_text(struct stream *out, const char *text)
{
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        uint32_t c = 0;
        size_t length = utf8_decode(&c, text + at, size - at);
        const char *name = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;
        if (length == 0 || c < ' ' || c == 0xFFFE || c == 0xFFFF)
            name = "\xEF\xBF\xBD";
        if (name)
            stream_text(out, name);
        else
            stream_bytes(out, text + at, length);
        at += length ? length : 1;
    }
}

/* A family in front of all others, in the quotes of CSS within those of XML. */
static void put_fonts(struct stream *out, const char *font)
{
    if (font) {
        stream_char(out, '\'');
        put_text(out, font); /* without quotes: figure_form_read_font */
        stream_text(out, "', ");
    }
    stream_text(out, fonts);
}

static void put_element(struct stream *out, const char *name, const char *text)
{
    stream_format(out, "<%s>", name);
    put_text(out, text);
    stream_format(out, "</%s>\n", name);
}

/* The end of a shape that has only lines. */
static void end_lines(struct stream *out, const struct pen *pen)
{
    stream_text(out, " fill=\"none\"");
    put_colour(out, "stroke", pen->colour);
    canvas_put(out, " stroke-width=\"#\"", &pen->width);
    if (pen->opacity < 1)
        canvas_put(out, " stroke-opacity=\"#\"", &pen->opacity);
    stream_text(out, "/>\n");
}

static void put_box(struct stream *out, struct box box)
{
    const double sides[] = {box.x, box.y, box.width, box.height};
    canvas_put(out, "<rect x=\"#\" y=\"#\" width=\"#\" height=\"#\"", sides);
}

static void put_rect(struct stream *out, struct box box, struct colour colour)
{
    put_box(out, box);
    put_colour(out, "fill", colour);
    stream_text(out, "/>\n");
}

static void put_frame(struct stream *out, struct box box, const struct pen *pen)
{
    put_box(out, box);
    end_lines(out, pen);
}

static void put_strokes(struct stream *out, const struct stroke *strokes, size_t count,
                        bool straight, const struct pen *pen)
{
    stream_text(out, "<path d=\"");
    for (size_t i = 0; i < count; i++) {
        struct point a = strokes[i].from;
        struct point b = strokes[i].to;
        double middle = (a.x + b.x) / 2;
        if (straight || a.y == b.y || a.x == b.x)
            canvas_put(out, "M# #L# #", (double[]){a.x, a.y, b.x, b.y});
        else
            canvas_put(out, "M# #C# # # # # #",
                       (double[]){a.x, a.y, middle, a.y, middle, b.y, b.x, b.y});
    }
    stream_char(out, '"');
    end_lines(out, pen);
}

static void put_path(struct stream *out, const struct point *points, size_t count,
                     const struct pen *pen)
{
    stream_text(out, "<path d=\"");
    for (size_t i = 0; i < count; i++)
        canvas_put(out, i ? "L# #" : "M# #", (double[]){points[i].x, points[i].y});
    stream_char(out, '"');
    end_lines(out, pen);
}

static void put_line(struct stream *out, struct point at, const char *text,
                     const struct lettering *lettering)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    const double place[] = {at.x, at.y, lettering->turn};
    canvas_put(out,
               lettering->turn != 0 ? "<text transform=\"translate(# #) rotate(#)\""
                                    : "<text x=\"#\" y=\"#\"",
               place);
    canvas_put(out, " font-size=\"#\"", &lettering->size);
    put_colour(out, "fill", lettering->colour);
    stream_text(out, anchors[lettering->anchor]);
    stream_text(out, lettering->bold ? " font-weight=\"bold\">" : ">");
    put_text(out, text);
    stream_text(out, "</text>\n");
}

static unsigned char level_at(const struct cells *cells, size_t row, size_t column)
{
    bool inside = row < cells->rows && column < cells->columns;
    return inside ? cells->levels[row * cells->columns + column] : 0;
}

static void put_shape(struct stream *out, double left, double top, double right, double bottom)
{
    canvas_put(out, "M# #H#V#H#z", (double[]){left, top, right, bottom, left});
}

/* A part of a row, in units of cells. Higher levels are drawn later, and cells reach a bit below
 * them: viewers that smooth edges would let the ground shine through between neighbours. Corners do
 * not reach below anything: the cell across may have a lower level. */
static void put_run(struct stream *out, const struct cells *cells, size_t row, size_t first,
                    size_t end)
{
    static const double lap = 0.3;
    unsigned char level = level_at(cells, row, first);
    put_shape(out, (double)first - (level_at(cells, row, first - 1) > level ? lap : 0), (double)row,
              (double)end + (level_at(cells, row, end) > level ? lap : 0), (double)(row + 1));
    for (size_t column = first; column < end; column = first) {
        bool above = level_at(cells, row - 1, column) > level;
        bool below = level_at(cells, row + 1, column) > level;
        while (first < end && (level_at(cells, row - 1, first) > level) == above &&
               (level_at(cells, row + 1, first) > level) == below)
            first++;
        if (above || below)
            put_shape(out, (double)column, (double)row - (above ? lap : 0), (double)first,
                      (double)(row + 1) + (below ? lap : 0));
    }
}

/* The cells of one level, neighbours in a row as one shape. */
static void put_level(struct stream *out, const struct cells *cells, unsigned char level)
{
    for (size_t row = 0; row < cells->rows; row++)
        for (size_t column = 0; column < cells->columns; column++) {
            size_t first = column;
            while (level_at(cells, row, column) == level)
                column++;
            if (column > first)
                put_run(out, cells, row, first, column);
        }
}

/* A path a level: thousands of rectangles would be ten times as much. */
static void put_cells(struct stream *out, struct box box, const struct cells *cells,
                      const struct ramp *ramp)
{
    bool there[RAMP_LEVELS] = {0};
    for (size_t i = 0; i < cells->rows * cells->columns; i++)
        there[cells->levels[i]] = true;
    const double place[] = {box.x, box.y, box.width / (double)cells->columns,
                            box.height / (double)cells->rows};
    canvas_put(out, "<g shape-rendering=\"crispEdges\" transform=\"translate(# #) scale(# #)\">\n",
               place);
    for (unsigned level = 1; level < RAMP_LEVELS; level++) {
        if (!there[level])
            continue;
        stream_text(out, "<path d=\"");
        put_level(out, cells, (unsigned char)level);
        stream_char(out, '"');
        put_colour(out, "fill", ramp->colours[level]);
        stream_text(out, "/>\n");
    }
    stream_text(out, "</g>\n");
}

static void open_part(struct stream *out, const char *name)
{
    stream_text(out, "<g>");
    put_element(out, "title", name);
}

static void close_part(struct stream *out)
{
    stream_text(out, "</g>\n");
}

void svg_begin(struct canvas *svg, struct stream *out, const struct drawing_page *page)
{
    double width = page->width;
    double height = page->height;
    static const struct canvas_form form = {open_part,   close_part, put_rect, put_frame,
                                            put_strokes, put_path,   put_line, put_cells};
    *svg = (struct canvas){&form, out};
    stream_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    canvas_put(out, " width=\"#pt\" height=\"#pt\" viewBox=\"0 0 # #",
               (double[]){width, height, width, height});
    stream_text(out, "\" font-family=\"");
    put_fonts(out, page->font);
    stream_text(out, "\">\n");
    put_element(out, "title", page->title);
    if (page->metadata)
        put_element(out, "metadata", page->metadata);
    canvas_rect(svg, (struct box){0, 0, width, height}, colour_of_hex(0xffffff));
}

void svg_end(struct canvas *svg)
{
    stream_text(svg->out, "</svg>\n");
}

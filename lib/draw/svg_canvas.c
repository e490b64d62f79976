#include "draw/canvas.h"

#include <string.h>

#include "base/utf8.h"

/* The list of fonts in SVG, common fonts first. For other scripts and emoji the viewer chooses: an
 * emoji font in this list would supply the digits of all numbers. */
static const char fonts[] = "Helvetica, Arial, 'DejaVu Sans', 'Noto Sans', sans-serif";

static void put_colour(struct canvas *svg, const char *name, struct colour colour)
{
    stream_format(svg->out, " %s=\"#%02x%02x%02x\"", name, colour.red, colour.green, colour.blue);
}

enum { RIGHT_ARROW = 0x2192 };
static const char LEFT_TO_RIGHT[] = "\xE2\x80\x8E"; /* the invisible left-to-right mark */

/* Write text; U+FFFD replaces invalid UTF-8, U+0000 to U+001F, U+FFFE and U+FFFF. */
static void put_text(struct canvas *svg, const char *text)
{
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        uint32_t c = 0;
        size_t length = utf8_step(&c, text + at, size - at);
        const char *name = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;
        if (c < ' ' || c == UTF8_REPLACEMENT || c == 0xFFFE || c == 0xFFFF)
            name = "\xEF\xBF\xBD";
        /* after right-to-left letters, this mark keeps the words before and after the arrow in
         * order */
        if (c == RIGHT_ARROW && utf8_ends_leftwards(text, at))
            stream_text(svg->out, LEFT_TO_RIGHT);
        if (name)
            stream_text(svg->out, name);
        else
            stream_bytes(svg->out, text + at, length);
        at += length;
    }
}

static void put_element(struct canvas *svg, const char *name, const char *text)
{
    stream_format(svg->out, "<%s>", name);
    put_text(svg, text);
    stream_format(svg->out, "</%s>\n", name);
}

/* Close the element of a shape that is only stroked, not filled. */
static void end_lines(struct canvas *svg, const struct pen *pen)
{
    stream_text(svg->out, " fill=\"none\"");
    put_colour(svg, "stroke", pen->colour);
    canvas_put(svg, " stroke-width=\"#\"", &pen->width);
    if (pen->opacity < 1)
        canvas_put(svg, " stroke-opacity=\"#\"", &pen->opacity);
    stream_text(svg->out, "/>\n");
}

static void put_box(struct canvas *svg, struct box box)
{
    const double sides[] = {box.x, box.y, box.width, box.height};
    canvas_put(svg, "<rect x=\"#\" y=\"#\" width=\"#\" height=\"#\"", sides);
}

static void put_rect(struct canvas *svg, struct box box, struct colour colour)
{
    put_box(svg, box);
    put_colour(svg, "fill", colour);
    stream_text(svg->out, "/>\n");
}

static void put_frame(struct canvas *svg, struct box box, const struct pen *pen)
{
    put_box(svg, box);
    end_lines(svg, pen);
}

static void put_strokes(struct canvas *svg, const struct stroke *strokes, size_t count,
                        bool straight, const struct pen *pen)
{
    stream_text(svg->out, "<path d=\"");
    for (size_t i = 0; i < count; i++) {
        struct point a = strokes[i].from, b = strokes[i].to;
        double middle = (a.x + b.x) / 2;
        if (straight || a.y == b.y || a.x == b.x)
            canvas_put(svg, "M# #L# #", (double[]){a.x, a.y, b.x, b.y});
        else
            canvas_put(svg, "M# #C# # # # # #",
                       (double[]){a.x, a.y, middle, a.y, middle, b.y, b.x, b.y});
    }
    stream_char(svg->out, '"');
    end_lines(svg, pen);
}

static void put_path(struct canvas *svg, const struct point *points, size_t count,
                     const struct pen *pen)
{
    stream_text(svg->out, "<path d=\"");
    for (size_t i = 0; i < count; i++)
        canvas_put(svg, i ? "L# #" : "M# #", (double[]){points[i].x, points[i].y});
    stream_char(svg->out, '"');
    end_lines(svg, pen);
}

static void put_line(struct canvas *svg, struct point at, const char *text, const struct font *font)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    canvas_put(svg,
               font->turn != 0 ? "<text transform=\"translate(# #) rotate(#)\""
                               : "<text x=\"#\" y=\"#\"",
               (double[]){at.x, at.y, font->turn});
    canvas_put(svg, " font-size=\"#\"", &font->size);
    put_colour(svg, "fill", font->colour);
    stream_text(svg->out, anchors[font->anchor]);
    stream_text(svg->out, font->bold ? " font-weight=\"bold\">" : ">");
    put_text(svg, text);
    stream_text(svg->out, "</text>\n");
}

static unsigned char level_at(const struct cells *cells, size_t row, size_t column)
{
    bool inside = row < cells->rows && column < cells->columns;
    return inside ? cells->levels[row * cells->columns + column] : 0;
}

static void put_shape(struct canvas *svg, double left, double top, double right, double bottom)
{
    canvas_put(svg, "M# #H#V#H#z", (double[]){left, top, right, bottom, left});
}

/* Add a run of neighbouring cells in a row to a path, in units of cells. Cells extend slightly
 * under neighbours of higher levels, which are drawn later: otherwise viewers that antialias edges
 * let the background shine through. Corners are not extended: the diagonal cell may have a lower
 * level. */
static void put_run(struct canvas *svg, const struct cells *cells, size_t row, size_t first,
                    size_t end)
{
    static const double lap = 0.3;
    unsigned char level = level_at(cells, row, first);
    put_shape(svg, (double)first - (level_at(cells, row, first - 1) > level ? lap : 0), (double)row,
              (double)end + (level_at(cells, row, end) > level ? lap : 0), (double)(row + 1));
    for (size_t column = first; column < end; column = first) {
        bool above = level_at(cells, row - 1, column) > level;
        bool below = level_at(cells, row + 1, column) > level;
        while (first < end && (level_at(cells, row - 1, first) > level) == above &&
               (level_at(cells, row + 1, first) > level) == below)
            first++;
        if (above || below)
            put_shape(svg, (double)column, (double)row - (above ? lap : 0), (double)first,
                      (double)(row + 1) + (below ? lap : 0));
    }
}

/* Draw one path per level, with a run of cells of a row as one shape: a rectangle for each cell
 * would make the file ten times as large. */
static void put_cells(struct canvas *svg, struct box box, const struct cells *cells,
                      const struct ramp *ramp)
{
    bool found[RAMP_LEVELS] = {0};
    for (size_t i = 0; i < cells->rows * cells->columns; i++)
        found[cells->levels[i]] = true;
    const double area[] = {box.x, box.y, box.width / (double)cells->columns,
                           box.height / (double)cells->rows};
    canvas_put(svg, "<g shape-rendering=\"crispEdges\" transform=\"translate(# #) scale(# #)\">\n",
               area);
    for (unsigned level = 1; level < RAMP_LEVELS; level++) {
        if (!found[level])
            continue;
        stream_text(svg->out, "<path d=\"");
        for (size_t row = 0; row < cells->rows; row++)
            for (size_t column = 0; column < cells->columns; column++) {
                size_t first = column;
                while (level_at(cells, row, column) == level)
                    column++;
                if (column > first)
                    put_run(svg, cells, row, first, column);
            }
        stream_char(svg->out, '"');
        put_colour(svg, "fill", ramp->colours[level]);
        stream_text(svg->out, "/>\n");
    }
    stream_text(svg->out, "</g>\n");
}

static void open_part(struct canvas *svg, const char *name)
{
    stream_text(svg->out, "<g>");
    put_element(svg, "title", name);
}

static void close_part(struct canvas *svg)
{
    stream_text(svg->out, "</g>\n");
}

void svg_begin(struct canvas *svg, struct stream *stream, const struct drawing_page *page)
{
    double width = page->width, height = page->height;
    *svg = (struct canvas){stream,      open_part, close_part, put_rect, put_frame,
                           put_strokes, put_path,  put_line,   put_cells};
    stream_text(svg->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    canvas_put(svg, " width=\"#pt\" height=\"#pt\" viewBox=\"0 0 # #",
               (double[]){width, height, width, height});
    stream_text(svg->out, "\" font-family=\"");
    if (page->font) { /* quotes are safe: --font refuses names that contain quotes */
        stream_char(svg->out, '\'');
        put_text(svg, page->font);
        stream_text(svg->out, "', ");
    }
    stream_format(svg->out, "%s\">\n", fonts);
    put_element(svg, "title", page->title);
    if (page->metadata)
        put_element(svg, "metadata", page->metadata);
    put_rect(svg, (struct box){0, 0, width, height}, colour_of_hex(0xffffff));
}

void svg_end(struct canvas *svg)
{
    stream_text(svg->out, "</svg>\n");
}

/* cairo_library.h: the part of cairo and pango that pictures are drawn with, loaded when one is.
 *
 * cairo draws PNG and PDF from one set of calls and keeps the text of a PDF text; pango beside it
 * sets what cairo's own letters cannot: Chinese, emoji, right-to-left. Both are large, and few runs
 * draw, so they are no part of the program: dlopen finds them when a picture is drawn, and building
 * needs nothing of them. Their functions are declared here as their manuals have them; both have
 * kept them for fifteen years, and tests/pictures.sh holds them against the headers where those
 * are.
 *
 *     const struct cairo_library *lib = cairo_library_load(err);
 *     struct _cairo *cairo = lib->cairo_create(surface);
 */
#ifndef ATTN_DRAW_CAIRO_LIBRARY_H
#define ATTN_DRAW_CAIRO_LIBRARY_H

#include <stddef.h>

#include "base/err.h"

struct _cairo;
struct _cairo_surface;
struct _cairo_font_options;
struct _PangoContext;
struct _PangoFont;
struct _PangoLayout;
struct _PangoFontDescription;
struct _GLogField;

enum {
    CAIRO_RGB24 = 1,
    CAIRO_CREATION_DATE = 5,
    CAIRO_TITLE = 0,
    CAIRO_WRITE_FAILED = 11,
    CAIRO_HINT_NONE = 1, /* of a style, and of metrics */
    PANGO_UNITS = 1024,  /* in a point */
    PANGO_BOLD = 700,
};

/* Given some bytes of a file; 0, or CAIRO_WRITE_FAILED. */
typedef unsigned (*cairo_writer)(void *closure, const unsigned char *data, unsigned length);

/* Told what they remark: as one message, or as fields of which one is the message. */
typedef void (*cairo_logger)(const char *domain, int level, const char *message, void *);
typedef unsigned (*cairo_log_writer)(int level, const struct _GLogField *, size_t count, void *);

/* F(what it returns, its name, what it takes) */
#define CAIRO_LIBRARY_FUNCTIONS(F)                                                              \
    F(struct _cairo_surface *, cairo_image_surface_create, (int format, int width, int height)) \
    F(struct _cairo_surface *, cairo_pdf_surface_create_for_stream,                             \
      (cairo_writer, void *closure, double width, double height))                               \
    F(void, cairo_pdf_surface_set_metadata, (struct _cairo_surface *, unsigned, const char *))  \
    F(unsigned, cairo_surface_write_to_png_stream,                                              \
      (struct _cairo_surface *, cairo_writer, void *))                                          \
    F(void, cairo_surface_flush, (struct _cairo_surface *))                                     \
    F(unsigned char *, cairo_image_surface_get_data, (struct _cairo_surface *))                 \
    F(int, cairo_image_surface_get_stride, (struct _cairo_surface *))                           \
    F(void, cairo_surface_mark_dirty, (struct _cairo_surface *))                                \
    F(void, cairo_surface_finish, (struct _cairo_surface *))                                    \
    F(unsigned, cairo_surface_status, (struct _cairo_surface *))                                \
    F(void, cairo_surface_destroy, (struct _cairo_surface *))                                   \
    F(const char *, cairo_status_to_string, (unsigned status))                                  \
    F(struct _cairo *, cairo_create, (struct _cairo_surface *))                                 \
    F(void, cairo_destroy, (struct _cairo *))                                                   \
    F(unsigned, cairo_status, (struct _cairo *))                                                \
    F(void, cairo_save, (struct _cairo *))                                                      \
    F(void, cairo_restore, (struct _cairo *))                                                   \
    F(void, cairo_scale, (struct _cairo *, double x, double y))                                 \
    F(void, cairo_translate, (struct _cairo *, double x, double y))                             \
    F(void, cairo_rotate, (struct _cairo *, double radians))                                    \
    F(void, cairo_set_source_rgba, (struct _cairo *, double, double, double, double))           \
    F(void, cairo_set_line_width, (struct _cairo *, double))                                    \
    F(void, cairo_move_to, (struct _cairo *, double x, double y))                               \
    F(void, cairo_line_to, (struct _cairo *, double x, double y))                               \
    F(void, cairo_curve_to, (struct _cairo *, double, double, double, double, double, double))  \
    F(void, cairo_rectangle, (struct _cairo *, double, double, double, double))                 \
    F(void, cairo_fill, (struct _cairo *))                                                      \
    F(void, cairo_stroke, (struct _cairo *))                                                    \
    F(void, cairo_clip, (struct _cairo *))                                                      \
    F(void, cairo_show_page, (struct _cairo *))                                                 \
    F(struct _PangoLayout *, pango_cairo_create_layout, (struct _cairo *))                      \
    F(void, pango_cairo_show_layout, (struct _cairo *, struct _PangoLayout *))                  \
    F(void, pango_layout_set_text, (struct _PangoLayout *, const char *, int size))             \
    F(void, pango_layout_set_markup, (struct _PangoLayout *, const char *, int size))           \
    F(void, pango_layout_set_width, (struct _PangoLayout *, int width))                         \
    F(void, pango_layout_set_auto_dir, (struct _PangoLayout *, int))                            \
    F(void, pango_layout_set_font_description,                                                  \
      (struct _PangoLayout *, const struct _PangoFontDescription *))                            \
    F(void, pango_layout_get_size, (struct _PangoLayout *, int *width, int *height))            \
    F(int, pango_layout_get_unknown_glyphs_count, (struct _PangoLayout *))                      \
    F(struct _PangoContext *, pango_layout_get_context, (struct _PangoLayout *))                \
    F(struct _PangoFont *, pango_context_load_font,                                             \
      (struct _PangoContext *, const struct _PangoFontDescription *))                           \
    F(struct _PangoFontDescription *, pango_font_describe, (struct _PangoFont *))               \
    F(const char *, pango_font_description_get_family, (const struct _PangoFontDescription *))  \
    F(void, pango_context_set_round_glyph_positions, (struct _PangoContext *, int))             \
    F(void, pango_cairo_context_set_font_options,                                               \
      (struct _PangoContext *, const struct _cairo_font_options *))                             \
    F(struct _cairo_font_options *, cairo_font_options_create, (void))                          \
    F(void, cairo_font_options_set_hint_metrics, (struct _cairo_font_options *, unsigned))      \
    F(void, cairo_font_options_set_hint_style, (struct _cairo_font_options *, unsigned))        \
    F(void, cairo_font_options_destroy, (struct _cairo_font_options *))                         \
    F(int, pango_layout_get_baseline, (struct _PangoLayout *))                                  \
    F(struct _PangoFontDescription *, pango_font_description_new, (void))                       \
    F(void, pango_font_description_set_family, (struct _PangoFontDescription *, const char *))  \
    F(void, pango_font_description_set_absolute_size, (struct _PangoFontDescription *, double)) \
    F(void, pango_font_description_set_weight, (struct _PangoFontDescription *, unsigned))      \
    F(void, pango_font_description_free, (struct _PangoFontDescription *))                      \
    F(cairo_logger, g_log_set_default_handler, (cairo_logger, void *))                          \
    F(void, g_log_set_writer_func, (cairo_log_writer, void *, void (*release)(void *)))         \
    F(void, g_object_unref, (void *))

struct cairo_library {
#define CAIRO_LIBRARY_MEMBER(result, name, takes) result(*name) takes;
    CAIRO_LIBRARY_FUNCTIONS(CAIRO_LIBRARY_MEMBER)
#undef CAIRO_LIBRARY_MEMBER
};

/* The library, loaded once and kept; NULL with an error that says what to install. */
const struct cairo_library *cairo_library_load(struct err *err);

/* What they have remarked since they were last asked. Pango has no other way to say that it drew
 * boxes in place of letters, because a font cannot be read. */
int cairo_library_check(struct err *err);

#endif

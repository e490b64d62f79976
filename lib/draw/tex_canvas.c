/* tex_canvas.c: draws pictures as TikZ, with the same layout as other formats. Cells, of which
 * there may be thousands, are drawn by pgf, the layer below TikZ. */
#include "draw/canvas.h"

#include <string.h>

#include "base/utf8.h"

/* --- characters ------------------------------------------------------------------------------- */

/* Characters that need a replacement: TeX treats them specially, its oldest fonts (OT1) lack them,
 * or they occur in labels. */
static const struct {
    const char *sign, *latex;
} signs[] = {
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "$<$"},
    {">", "$>$"},
    {"|", "$|$"},
    {"\"", "\\symbol{34}"},
    {"`", "\\textasciigrave{}"},
    {"'", "\\textquotesingle{}"},
    {"-", "-{}"}, /* {} prevents ligatures with the next character */
    {",", ",{}"},
    {"!", "!{}"},
    {"?", "?{}"},
    {"…", "\\ldots{}"},
    {"·", "$\\cdot$"},
    {"×", "$\\times$"},
    {"≤", "$\\leq$"},
    {"≥", "$\\geq$"},
    {"␣", "\\textvisiblespace{}"},
    {"↵", "$\\hookleftarrow$"},
    {"⇥", "$\\mapsto$"},
    {"‿", "$\\smile$"},
    {"◌", "$\\circ$"},
    {"\xE2\x80\x8F", ""}, /* U+200F: TeX sets every line from the left */
};

enum { SIGNS = sizeof signs / sizeof *signs };

static void put_letters(struct canvas *tex, const char *text)
{
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        uint32_t letter = 0;
        size_t length = utf8_step(&letter, text + at, size - at);
        size_t i = 0;
        /* replace control characters, and the last two code points of each plane, such as U+FFFE
         * and U+FFFF */
        if (letter < ' ' || (letter >= 0x7f && letter < 0xa0) || (letter & 0xfffe) == 0xfffe)
            letter = UTF8_REPLACEMENT;
        tex->has_scripts |=
            letter >= 0x370 && (letter < 0x2000 || letter >= 0x2c00) && letter != UTF8_REPLACEMENT;
        while (i < SIGNS &&
               (strlen(signs[i].sign) != length || memcmp(signs[i].sign, text + at, length) != 0))
            i++;
        if (i < SIGNS)
            stream_text(tex->out, signs[i].latex);
        else if (letter == ' ' && at > 0 && text[at - 1] == ' ')
            stream_text(tex->out, "\\ "); /* TeX would merge several plain spaces */
        else if (letter < 0x7f)
            stream_char(tex->out, (char)letter);
        else if (letter == UTF8_REPLACEMENT)
            stream_text(tex->out, "\\attnsign{FFFD}{?}");
        else
            stream_format(tex->out, "\\attnsign{%04X}{%.*s}", (unsigned)letter, (int)length,
                          text + at);
        at += length;
    }
}

static void put_comment(struct canvas *tex, const char *text)
{
    stream_text(tex->out, "% ");
    for (; *text; text++)
        stream_char(tex->out, (unsigned char)*text < ' ' ? ' ' : *text);
    stream_char(tex->out, '\n');
}

/* --- shapes; y grows upwards from the upper edge of the picture ------------------------------- */

static void put_colour(struct canvas *tex, struct colour colour)
{
    stream_format(tex->out, "{rgb,255:red,%u;green,%u;blue,%u}", (unsigned)colour.red,
                  (unsigned)colour.green, (unsigned)colour.blue);
}

static void put_box(struct canvas *tex, struct box box)
{
    canvas_put(tex, "(#,#) rectangle (#,#);\n",
               (double[]){box.x, -box.y, box.x + box.width, -(box.y + box.height)});
}

static void put_rect(struct canvas *tex, struct box box, struct colour colour)
{
    stream_text(tex->out, "\\fill[fill=");
    put_colour(tex, colour);
    stream_text(tex->out, "] ");
    put_box(tex, box);
}

static void put_pen(struct canvas *tex, const struct pen *pen)
{
    stream_text(tex->out, "\\draw[draw=");
    put_colour(tex, pen->colour);
    canvas_put(tex, ",line width=#bp", &pen->width);
    if (pen->opacity < 1)
        canvas_put(tex, ",draw opacity=#", &pen->opacity);
    stream_text(tex->out, "] ");
}

static void put_frame(struct canvas *tex, struct box box, const struct pen *pen)
{
    put_pen(tex, pen);
    put_box(tex, box);
}

static void put_strokes(struct canvas *tex, const struct stroke *strokes, size_t count,
                        bool straight, const struct pen *pen)
{
    put_pen(tex, pen);
    for (size_t i = 0; i < count; i++) {
        struct point a = strokes[i].from, b = strokes[i].to;
        double middle = (a.x + b.x) / 2;
        if (straight || a.y == b.y || a.x == b.x)
            canvas_put(tex, "\n  (#,#) -- (#,#)", (double[]){a.x, -a.y, b.x, -b.y});
        else
            canvas_put(tex, "\n  (#,#) .. controls (#,#) and (#,#) .. (#,#)",
                       (double[]){a.x, -a.y, middle, -a.y, middle, -b.y, b.x, -b.y});
    }
    stream_text(tex->out, ";\n");
}

static void put_path(struct canvas *tex, const struct point *points, size_t count,
                     const struct pen *pen)
{
    put_pen(tex, pen);
    for (size_t i = 0; i < count; i++)
        canvas_put(tex, i ? " -- (#,#)" : "(#,#)", (double[]){points[i].x, -points[i].y});
    stream_text(tex->out, ";\n");
}

static void put_line(struct canvas *tex, struct point at, const char *text, const struct font *font)
{
    struct colour colour = font->colour;
    static const char *const anchors[] = {"left,", "", "right,"};
    stream_format(tex->out, "\\attntext{%sbase,", anchors[font->anchor]);
    canvas_put(tex, "x=#bp,y=#bp,rotate=#}{#}", (double[]){at.x, -at.y, -font->turn, font->size});
    stream_format(tex->out, "{%02X%02X%02X}{%s", colour.red, colour.green, colour.blue,
                  font->bold ? "\\bfseries " : "");
    put_letters(tex, text);
    stream_text(tex->out, "}\n");
}

static void put_cells(struct canvas *tex, struct box box, const struct cells *cells,
                      const struct ramp *ramp)
{
    const unsigned char *levels = cells->levels;
    canvas_put(tex, "\\attncells{#}{#}", (double[]){box.x, -box.y});
    stream_format(tex->out, "{%.5f}{%.5f}\n", box.width / (double)cells->columns,
                  /* with fewer than 5 decimals, the last of many cells would be misplaced */
                  box.height / (double)cells->rows);
    for (size_t i = 0; i < cells->rows * cells->columns; i++) {
        struct colour colour = ramp->colours[levels[i]];
        if (levels[i] == 0)
            continue;
        stream_format(tex->out, "\\attncell{%zu}{%zu}{%02X%02X%02X}{", i / cells->columns,
                      i % cells->columns, colour.red, colour.green, colour.blue);
        if (cells->values)
            stream_float(tex->out, cells->values[i]);
        stream_text(tex->out, "}\n");
    }
}

static void close_part(struct canvas *tex)
{
    (void)tex;
}

/* --- the file --------------------------------------------------------------------------------- */

/* The beginning of the file: outside of a document, the file is itself a document, whose page is as
 * large as the picture. */
static const char alone[] =
    "% In a document: \\usepackage{tikz}, then \\input this file. Alone: pdflatex, or lualatex, "
    "which has\n"
    "% room for hundreds of thousands of cells. Letters: \\newcommand\\attnfont{\\rmfamily} before "
    "it.\n"
    "% Scripts other than Latin need lualatex or xelatex: pdflatex prints boxes. For Chinese, load "
    "ctex,\n"
    "% xeCJK or luatexja, or install a Chinese font, which \\newcommand\\attnhan{FONT} before it "
    "names.\n"
    "\\expandafter\\ifx\\csname @nodocument\\endcsname\\relax\n"
    "  \\let\\attnopen\\relax\n"
    "  \\let\\attnclose\\relax\n"
    "\\else\n"
    "  \\documentclass{article}\n"
    "  \\ifdefined\\Umathchar\\else\n"
    "    \\IfFileExists{lmodern.sty}{\\usepackage[T1]{fontenc}\\usepackage{lmodern}}"
    "{\\usepackage{fix-cm}}\n"
    "  \\fi\n"
    "  \\usepackage{tikz}\n"
    "  \\def\\attnopen{\\begin{document}\\setbox0\\hbox\\bgroup}\n"
    "  \\def\\attnclose{\\egroup\\hoffset-1in\\voffset-1in\n"
    "    \\ifdefined\\pagewidth\\pagewidth\\wd0\\pageheight\\ht0\\else\\pdfpagewidth\\wd0"
    "\\pdfpageheight\\ht0\\fi\n"
    "    \\shipout\\box0\\end{document}}\n"
    "\\fi\n";

/* TeX macros for the drawing commands of the file. Cells overlap the next cells slightly: viewers
 * antialias edges, and the background would shine through. */
static const char macros[] =
    "\\attnopen\n"
    "\\begingroup\n"
    "\\providecommand\\attnfont{\\sffamily}%\n"
    "% a letter; its number in a frame where the font has none\n"
    "\\def\\attnframe#1{\\fboxsep.3pt\\fboxrule.2pt\\scalebox{.4}{\\fbox{#1}}}%\n"
    "\\ifdefined\\Umathchar\n"
    "  \\def\\attnsign#1#2{\\iffontchar\\font\"#1 #2\\else\\attnother{#1}{#2}\\fi}%\n"
    "  \\def\\attntry#1{\\ifdefined\\attnhan\\else\\font\\attnprobe=\"#1\" at 7pt\n"
    "    \\iffontchar\\attnprobe\"4E2D \\gdef\\attnhan{#1}\\fi\\fi}%\n"
    "  \\def\\attnother#1#2{\\ifcsname ver@xeCJK.sty\\endcsname#2\\else\n"
    "    \\ifcsname ver@luatexja.sty\\endcsname#2\\else{\\suppressfontnotfounderror1 %\n"
    "    \\attntry{Noto Sans CJK SC}\\attntry{Source Han Sans SC}%\n"
    "    \\attntry{WenQuanYi Zen Hei}\\attntry{[FandolHei-Regular.otf]}\\attntry{Droid Sans "
    "Fallback}%\n"
    "    \\attntry{PingFang SC}\\attntry{Microsoft "
    "YaHei}\\ifdefined\\attnhan\\else\\global\\let\\attnhan\\empty\\fi\n"
    "    \\ifx\\attnhan\\empty\\attnframe{#1}\\else\n"
    "    \\font\\attnprobe=\"\\attnhan\" at \\csname f@size\\endcsname pt\n"
    "    \\iffontchar\\attnprobe\"#1 \\attnprobe#2\\else\\attnframe{#1}\\fi\\fi}\\fi\\fi}%\n"
    "\\else\n"
    "  \\edef\\attnold{\\csname f@encoding\\endcsname}\\def\\attncork{T1}%\n"
    "  \\def\\attnsign#1#2{\\ifcsname ver@CJK.sty\\endcsname#2\\else\n"
    "    \\ifcsname u8:\\detokenize{#2}\\endcsname\n"
    "    \\ifx\\attnold\\attncork#2\\else\\attnframe{#1}\\fi\\else\\attnframe{#1}\\fi\\fi}%\n"
    "\\fi\n"
    "% {place}{size}{colour}{letters}\n"
    "\\def\\attntext#1#2#3#4{\\pgftext[#1]{\\normalfont\\attnfont\\fontsize{#2bp}{#2bp}%\n"
    "  \\selectfont\\color[HTML]{#3}#4}}%\n"
    "% {left}{top}{width and}{height of a cell}; {row}{column}{colour}{number}\n"
    "\\def\\attncells#1#2#3#4{\\edef\\attnleft{#1bp}\\edef\\attntop{#2bp}%\n"
    "  \\gdef\\attnlast{}\\edef\\attnwidth{#3bp}\\edef\\attnheight{#4bp}}%\n"
    "\\def\\attncell#1#2#3#4{{\\def\\attnits{#3}\\ifx\\attnits\\attnlast\\else\n"
    "    \\gdef\\attnlast{#3}\\definecolor{attn}{HTML}{#3}\\pgfsetfillcolor{attn}\\fi\n"
    "  \\pgfpathrectangle\n"
    "    {\\pgfqpoint{\\dimexpr\\attnleft+\\attnwidth*#2\\relax}"
    "{\\dimexpr\\attntop-\\attnheight*#1\\relax}}\n"
    "    {\\pgfqpoint{\\dimexpr\\attnwidth+.15bp\\relax}{\\dimexpr-\\attnheight-.15bp\\relax}}%\n"
    "  \\pgfusepath{fill}}}%\n"
    "\\begin{tikzpicture}[x=1bp,y=1bp]\n";

void tex_begin(struct canvas *tex, struct stream *stream, const struct drawing_page *page)
{
    const struct box all = {0, 0, page->width, page->height};
    *tex = (struct canvas){stream,      put_comment, close_part, put_rect, put_frame,
                           put_strokes, put_path,    put_line,   put_cells};
    put_comment(tex, page->title);
    if (page->metadata)
        put_comment(tex, page->metadata);
    stream_text(tex->out, alone);
    stream_text(tex->out, macros);
    stream_text(tex->out, "\\path[use as bounding box] ");
    put_box(tex, all);
    put_rect(tex, all, colour_of_hex(0xffffff));
}

void tex_end(struct canvas *tex)
{
    stream_text(tex->out, "\\end{tikzpicture}%\n\\endgroup\n\\attnclose\n");
}

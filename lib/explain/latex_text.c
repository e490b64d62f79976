#include "explain/explain_walk.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Signs that mean something to TeX, some by their number in every typewriter font; and those of our
 * own labels (label.h). */
static const struct marks sign_rows[] = {
    {"\\", "\\char92{}"},
    {"{", "\\char123{}"},
    {"}", "\\char125{}"},
    {"$", "\\char36{}"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\char95{}"},
    {"^", "\\char94{}"},
    {"~", "\\char126{}"},
    {"…", "\\ldots{}"},
    {"␣", "\\textvisiblespace{}"},
    {"↵", "$\\hookleftarrow$"},
    {"⇥", "$\\mapsto$"},
    {"‿", "$\\smile$"},
    {"◌", "$\\circ$"},
    {"₁", "$_1$"},
    {"₂", "$_2$"},
    {"₃", "$_3$"},
    {"₄", "$_4$"},
};

/* Accented letters that every font of LaTeX can put together. */
static bool is_common(uint32_t c)
{
    static const uint32_t others[] = {0xd0, 0xd7, 0xde, 0xf0, 0xf7, 0xfe};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (c == others[i])
            return false;
    return c >= 0xc0 && c <= 0xff;
}

/* One character; what fonts join with the next, as in -- and ?`, is parted from it. */
static void add_sign(struct buf *out, const char *sign, size_t size, uint32_t character)
{
    static const char joining[] = "-<>,'`!?\"";
    const char *latex = marks_find(sign_rows, sizeof sign_rows / sizeof *sign_rows, sign, size);
    if (latex) {
        buf_text(out, latex);
    } else if (is_common(character)) {
        buf_bytes(out, sign, size);
    } else if (size > 1) {
        buf_format(out, "\\sign{%04X}{%.*s}", (unsigned)character, (int)size, sign);
    } else {
        buf_char(out, *sign);
        buf_text(out, *sign == ',' ? "\\allowbreak{}" : strchr(joining, *sign) ? "{}" : "");
    }
}

void latex_text(struct buf *out, const char *text, size_t size)
{
    buf_text(out, "\\texttt{");
    for (size_t at = 0; at < size;) {
        uint32_t character = 0;
        size_t length = utf8_decode(&character, text + at, size - at);
        if (length == 0) /* a part of a character; labels have none */
            buf_text(out, "\\sign{FFFD}{?}");
        else
            add_sign(out, text + at, length, character);
        at += length ? length : 1;
    }
    buf_char(out, '}');
}

void latex_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t size = strcspn(sentence, " ");
        const char *mark = memchr(sentence, '_', size);
        size_t symbol = size - (size > 0 && strchr(",.:", sentence[size - 1]) != NULL);
        if (mark && symbol) {
            size_t base = (size_t)(mark - sentence);
            buf_format(out, "$%.*s_{%.*s}$", (int)base, sentence, (int)(symbol - base - 1),
                       mark + 1);
            buf_bytes(out, sentence + symbol, size - symbol);
        } else {
            buf_bytes(out, sentence, size);
        }
        sentence += size;
        for (; *sentence == ' '; sentence++)
            buf_char(out, ' ');
    }
}

void latex_preamble_signs(struct buf *out)
{
    buf_text(out, "% A character; where the font has none, its number in a frame.\n"
                  "\\usepackage{iftex}\n"
                  "\\newcommand{\\nosign}[1]{\\setlength{\\fboxsep}{1pt}\\fbox{\\tiny U+#1}}\n"
                  "\\DeclareRobustCommand{\\sign}[2]{\\nosign{#1}}\n"
                  "\\newcommand{\\accents}{%\n"
                  "  \\usepackage[T1]{fontenc}%\n"
                  "  \\DeclareRobustCommand{\\sign}[2]{%\n"
                  "    \\ifcsname u8:\\detokenize{##2}\\endcsname ##2\\else\\nosign{##1}\\fi}}\n"
                  "\\ifPDFTeX\n"
                  "  \\usepackage[utf8]{inputenc}\n"
                  "  \\IfFileExists{lmodern.sty}{\\accents\\usepackage{lmodern}}%\n"
                  "    {\\IfFileExists{type1ec.sty}{\\accents}{}}\n"
                  "\\else\n"
                  "  \\DeclareRobustCommand{\\sign}[2]{%\n"
                  "    \\iffontchar\\font\"#1 #2\\else\\nosign{#1}\\fi}\n"
                  "\\fi\n");
}

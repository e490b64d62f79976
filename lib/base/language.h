/* language.h: texts of explanations and figures in Chinese.
 *
 *     buf_format(out, say(language, " · layer %d"), layer);
 */
#pragma once

/* A text, or a format with the same values in the same order, in a language; NULL, "en", or a text
 * without a translation: the text itself. */
const char *say(const char *language, const char *english) __attribute__((format_arg(2)));

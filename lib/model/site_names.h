/* site_names.h: the names of a model's sites in other programs.
 *
 *     model.layers.3.self_attn.q_proj     modules of Hugging Face's models: outputs of hooks
 *     hidden_states.3, attentions.3       what such a model returns
 *     blocks.3.attn.hook_pattern          TransformerLens
 *     Qcur-3, result_output               llama.cpp
 *     h.3.weights                         this program
 *
 * Modules with parameters are named by the family's tensors (family.h). A name in a file may begin
 * with additional parts, each with a dot, and may lack the family's prefix, such as "model.".
 *
 *     struct site_names names;
 *     if (site_names_make(&names, &config, err)) ...
 *     for (const struct named_site *n = site_names_find(&names, name); n; n = n->next)
 *     site_names_release(&names);
 * */
#pragma once

#include "base/hash.h"
#include "model/weights.h"

enum site_dialect { NAMES_OURS, NAMES_TRANSFORMER_LENS, NAMES_HUGGING_FACE, NAMES_LLAMA_CPP };

struct named_site {
    const char *name;
    enum site_dialect dialect;
    enum site site;
    enum site other; /* a second site that has this name in some programs; SITE_PASS_END: there is
                      * none */
    size_t layer;    /* index of the layer; 0 for a site outside of layers */
    float factor;    /* the values with this name are the site's values · factor */
    /* If the name is a module whose output consists of several sites: which columns of the output
     * are this site (view), and the number of all columns (width). width 0: the output is one
     * site. */
    struct row_view view;
    size_t width;
    const struct named_site *next; /* the next site of the same name; NULL: there is none */
};

struct site_names {
    const struct config *config;
    enum site_dialect dialect; /* dialect of the names that are being added */
    struct named_site **items; /* [count] the first site of each name */
    size_t count;
    size_t module_count; /* the first module_count items are modules */
    struct hash_table table;
    struct arena arena;
};

/* site_names_make: list all names of a model's sites. The config must outlive the names. */
int site_names_make(struct site_names *names, const struct config *config, struct err *err);
void site_names_release(struct site_names *names);

/* Add names from a file. Each line has two columns: a name, and this program's name of the same
 * site. {} in both columns stands for the number of a layer:
 *
 *     decoder/layer_{}/attn/q    h.{}.q
 * */
int site_names_add(struct site_names *names, const char *path, struct err *err);

/* Find the sites with a name: the first one, from which `next` leads to others. NULL: no site has
 * this name. */
const struct named_site *site_names_find(const struct site_names *names, const char *name);

/* Find the site and layer of a name of `size` bytes: a name of another program, or this program's
 * name with its layer. If the name has L in place of a layer's number, as `info --sites` prints it,
 * it means all layers, and *layer is -1, as for a site outside of layers. Returns false if no site
 * has this name, or its values are scaled (named_site.factor); also, with an error in `err`, if
 * there is no memory or the name is a module whose output consists of several sites. */
bool site_of_name(enum site *site, int *layer, const char *name, size_t size,
                  const struct config *config, struct err *err);

/* List the first name of each site and layer in one dialect, as an array [layers, SITE_COUNT] in
 * the arena. An element is NULL if the dialect has no name for this site, or only a name for
 * several sites or for scaled values. */
int site_names_list(const char *const **list, enum site_dialect dialect,
                    const struct config *config, struct arena *arena, struct err *err);

/* site_names_module: the name of the module whose output is a site, with L in place of the layer.
 * site_llama_cpp_name: llama.cpp's name of a site, without the -L of a layer. NULL: there is
 * none. */
const char *site_names_module(const struct site_names *names, enum site site, struct arena *arena,
                              struct err *err);
const char *site_llama_cpp_name(enum site site);

/* Whether a name of llama.cpp, whose -L with the layer is ignored, is the name of a site.
 * llama.cpp's other names are steps of the computation between two sites. */
bool site_is_llama_cpp_name(const char *name);

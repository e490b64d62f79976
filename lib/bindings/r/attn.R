# attn: attn-cli for R: run a model on a text and read its attention weights and other tensors.
#
#     source("attn.R")                    # needs jsonlite, and attn-cli on the PATH or as $ATTN
#     run <- attn_run("Life is short", show = "weights,resid_pre")
#     run$tokens                          # "Life" " is" " short"
#     run$tensors[["h.1.weights"]]        # an array, [head, query, key]; masked: 0
#     attn_frame("Life is short")         # a data frame, a row for each cell, with tokens
#     attn_score("Life is short")         # log-probabilities, NA for the first token
#
# Further arguments are options of attn-cli: attn_run("Life is", model = "life", head = "0,2").
# Nothing is compiled: the functions read the output of the program.

attn_cli <- function(command, text, ..., format) {
  options <- list(..., format = format, sentence = text)
  words <- unlist(lapply(names(options), function(name) c(paste0("--", name), options[[name]])))
  program <- Sys.getenv("ATTN", "attn-cli")
  said <- tempfile()
  on.exit(unlink(said))
  output <- suppressWarnings(
    system2(program, c(command, "--quiet", shQuote(words)), stdout = TRUE, stderr = said))
  if (!is.null(attr(output, "status"))) stop(paste(readLines(said), collapse = "\n"))
  Encoding(output) <- "UTF-8"
  output
}

attn_json <- function(...) jsonlite::fromJSON(paste(attn_cli(..., format = "json"), collapse = ""))

attn_run <- function(text, show = "weights", layer = "all", ...) {
  run <- attn_json("run", text, show = show, layer = layer, ...)
  list(tokens = run$tokens$text, ids = run$tokens$id, tensors = run$tensors)
}

attn_frame <- function(text, show = "weights", layer = "all", ...) {
  lines <- attn_cli("run", text, show = show, layer = layer, ..., format = "tidy")
  read.csv(text = lines, encoding = "UTF-8", na.strings = "", strip.white = FALSE)
}

attn_score <- function(text, ...) attn_json("score", text, ...)$tables$scores$logprob_nats

# attn-cli for R: each function runs the program and reads its table; nothing is compiled.
#
#     attn_score("Life is short", words = TRUE)        # a row for each token, or word
#     attn_score(stimuli, per = "condition")           # a data frame with a column "text"
#     attn_run(c("Life is", "eat dessert"), show = "weights,resid_pre")
#     attn_heads("Life is short", model = "life")
#
# Further arguments are options of the program, with _ for -: hide_first = TRUE, head = "0,2",
# continue = c(" are", " is"). The program is $ATTN, else attn-cli on the PATH.

attn_options <- function(options) {
  words <- character()
  for (name in names(options)) {
    option <- paste0("--", gsub("_", "-", name))
    value <- options[[name]]
    words <- c(words, if (isTRUE(value)) option else
      if (!isFALSE(value)) paste0(option, "=", as.character(value)))
  }
  words
}

# A table or several texts go to the program as a file, one text as it is.
attn_table <- function(command, text, format, ...) {
  output <- tempfile(fileext = ".csv")
  input <- tempfile(fileext = ".csv")
  said <- tempfile()
  on.exit(unlink(c(output, input, said)))
  whole <- is.data.frame(text) || length(text) != 1
  if (whole) {
    table <- if (is.data.frame(text)) text else data.frame(text = text)
    utils::write.csv(table, input, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  }
  words <- c(attn_options(list(...)), paste0("--format=", format), paste0("--output=", output),
             if (whole) paste0("--file=", input) else paste0("--sentence=", enc2utf8(text)))
  program <- Sys.getenv("ATTN", "attn-cli")
  if (!nzchar(Sys.which(program)))
    stop("expected the program '", program, "', found none: set ATTN to its path")
  status <- system2(program, c(command, "--quiet", shQuote(words)), stdout = said, stderr = said)
  if (status != 0) stop(paste(readLines(said, encoding = "UTF-8"), collapse = "\n"))
  utils::read.csv(output, encoding = "UTF-8", na.strings = "", strip.white = FALSE,
                  check.names = FALSE)
}

attn_score <- function(text, ...) attn_table("score", text, "csv", ...)

attn_heads <- function(text, ...) attn_table("heads", text, "csv", ...)

attn_run <- function(text, show = "weights", layer = "all", ...)
  attn_table("run", text, "tidy", show = show, layer = layer, ...)

# A matrix from the rows of a run: its names are the tokens, its first axis the queries.
attn_matrix <- function(run, tensor = "weights", layer = 0, head = 0) {
  cells <- run[run$tensor == tensor & run$layer %in% layer &
                 (is.na(run$head) | run$head %in% head), ]
  rows <- sort(unique(cells$row))
  columns <- sort(unique(cells$column))
  matrix <- matrix(0, length(rows), length(columns), dimnames = list(
    cells$row_token[match(rows, cells$row)], cells$column_token[match(columns, cells$column)]))
  matrix[cbind(match(cells$row, rows), match(cells$column, columns))] <- cells$value
  matrix
}

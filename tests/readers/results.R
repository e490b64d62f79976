# Read results of tests/readers/results.py in R: CSV has the rows, columns, missing values and numbers of
# JSON.
suppressWarnings(library(jsonlite))
varying <- "second|bytes|limit|of_|exponent|rate"
folder <- commandArgs(TRUE)[1]

width <- function(tensor) if (is.list(tensor[[1]])) width(tensor[[1]]) else length(tensor)

check_table <- function(found, rows, say) {
  columns <- tail(colnames(found), length(rows[[1]]))
  if (nrow(found) != length(rows) || !identical(columns, names(rows[[1]])))
    return(say(nrow(found), "rows of", colnames(found)))
  for (column in grep(varying, columns, value = TRUE, invert = TRUE)) {
    expected <- lapply(rows, `[[`, column)
    missing <- vapply(expected, is.null, NA)
    is_number <- all(vapply(expected[!missing], is.numeric, NA))
    if (!identical(is.na(found[[column]]), missing)) say(column, "misses other values")
    else if (is_number && !isTRUE(all.equal(as.numeric(found[[column]][!missing]),
                                            as.numeric(unlist(expected)), tolerance = 1e-6)))
      say(column, "has other numbers")
  }
}

for (path in Sys.glob(file.path(folder, "*.json"))) {
  stem <- sub("\\.json$", "", path)
  say <- function(...) cat(stem, ": ", paste(..., collapse = " "), "\n", sep = "")
  documents <- fromJSON(path, simplifyVector = FALSE)
  tidy <- read.csv(paste0(stem, ".tidy.csv"), encoding = "UTF-8")
  if (!is.numeric(tidy$value)) say("tidy: values are no numbers")
  if (length(documents) > 1 || !file.exists(paste0(stem, ".csv"))) next
  found <- read.csv(paste0(stem, ".csv"), check.names = FALSE, encoding = "UTF-8",
                    na.strings = c("", "NA"))
  if (!is.null(documents[[1]]$tables)) {
    check_table(found, documents[[1]]$tables[[1]], say)
    next
  }
  numbers <- as.numeric(unlist(documents[[1]]$tensors))
  cells <- as.matrix(found[, -seq_len(ncol(found) - width(documents[[1]]$tensors))])
  if (abs(sum(cells[is.finite(cells)]) - sum(numbers)) > 1e-4) say("csv: matrices have other numbers")
}
cat(length(Sys.glob(file.path(folder, "*.json"))), "results\n")

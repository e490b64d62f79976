library(attn)
if (nzchar(Sys.which(Sys.getenv("ATTN", "attn-cli")))) {
  scores <- attn_score("Life is short")
  stopifnot(nrow(scores) == 3, is.na(scores$logprob_nats[1]), scores$logprob_nats[2] < 0)
}
failed <- tryCatch({
  Sys.setenv(ATTN = "/no/such/program")
  attn_score("Life")
}, error = conditionMessage)
stopifnot(grepl("expected the program '/no/such/program', found none", failed, fixed = TRUE))

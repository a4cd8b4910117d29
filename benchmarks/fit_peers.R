# One peer on one problem: prints the median milliseconds of a fit from the covariance.
given <- commandArgs(trailingOnly = TRUE)
folder <- given[1]; peer <- given[2]; n <- as.numeric(given[3])
S <- as.matrix(read.csv(file.path(folder, "cov.csv"), header = FALSE))
D <- as.matrix(read.csv(file.path(folder, "T.csv"), header = FALSE))
W <- as.matrix(read.csv(file.path(folder, "W.csv"), header = FALSE))
p <- nrow(S)
names <- paste0("v", seq_len(p))
dimnames(S) <- dimnames(D) <- dimnames(W) <- list(names, names)
W <- W + t(W)
if (peer == "ggm") {
  suppressMessages(library(ggm))
  # ggm codes arrows as 1 and arcs as 100
  run <- function() fitAncestralGraph(D + 100 * W, S, n)
} else {
  suppressMessages(library(lavaan))
  lines <- character(0)
  for (j in seq_len(p)) {
    causes <- names[D[, j] == 1]
    if (length(causes)) lines <- c(lines, paste(names[j], "~", paste(causes, collapse = " + ")))
  }
  for (i in seq_len(p)) for (j in seq_len(p)) if (i < j && W[i, j] == 1) lines <- c(lines, paste(names[i], "~~", names[j]))
  for (v in names) lines <- c(lines, paste(v, "~~", v))
  model <- paste(lines, collapse = "\n")
  se <- if (peer == "lavaan") "standard" else "none"
  test <- if (peer == "lavaan") "standard" else "none"
  run <- function() lavaan(model, sample.cov = S, sample.nobs = n, se = se, test = test)
}
first <- system.time(run())[["elapsed"]]
repeats <- max(1, min(25, floor(5 / max(first, 0.001))))
taken <- numeric(repeats)
for (i in seq_len(repeats)) taken[i] <- system.time(run())[["elapsed"]]
cat(1000 * median(if (repeats > 1) taken else c(first)), "\n")

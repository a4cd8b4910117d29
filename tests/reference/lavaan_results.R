# What lavaan makes of the texts in <in>.json, written to <out>.json:  Rscript lavaan_results.R in.json out.json
# "read": the table of parameters of sem(); "written": the fit of sem(), with its defaults, to a covariance matrix
suppressMessages({library(lavaan); library(jsonlite)})
places <- commandArgs(trailingOnly = TRUE)
given <- fromJSON(places[1], simplifyDataFrame = FALSE)

table_of <- function(read) {
  growing <- read[["function"]] == "growth"
  found <- tryCatch(lavaanify(read$text, fixed.x = FALSE, meanstructure = TRUE, warn = FALSE, std.lv = read$std_lv,
                              orthogonal = read$orthogonal, int.ov.free = !growing, int.lv.free = growing,
                              auto.fix.first = !read$std_lv, auto.fix.single = TRUE, auto.var = TRUE,
                              auto.cov.lv.x = TRUE, auto.cov.y = TRUE),
                    error = function(e) NULL)
  if (is.null(found)) return(NULL)
  rows <- found[found$op %in% c("=~", "~", "~~", "~1"), ]
  lapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    list(row$lhs, row$op, row$rhs, if (row$free > 0) NA else row$ustart, row$label)
  })
}

fit_of <- function(case) {
  S <- case$cov * case$n / (case$n - 1)
  dimnames(S) <- list(case$names, case$names)
  fit <- suppressWarnings(sem(case$text, sample.cov = S, sample.nobs = case$n, sample.mean = case$mean))
  logl <- if (lavInspect(fit, "converged")) unname(logLik(fit)[1]) else NA
  starts <- 1
  if (!is.na(logl) && case$ours > logl + 1e-3) {
    starts <- 9
    logl <- max(logl, again(case$text, S, case$n, case$mean), na.rm = TRUE)
  }
  list(npar = fit@Model@nx.free - nrow(fit@Model@ceq.JAC), logl = logl, starts = starts)
}

# hidden causes give several maxima, and lavaan begins with positive loadings: some random starts, where ours is higher
again <- function(text, S, n, mean) {
  set.seed(1)
  rows <- parTable(sem(text, sample.cov = S, sample.nobs = n, sample.mean = mean, do.fit = FALSE))
  rows$est <- rows$start <- rows$se <- NULL
  moved <- rows$free > 0 & rows$lhs != rows$rhs
  sapply(1:8, function(i) {
    rows$ustart[moved] <- rnorm(sum(moved), sd = 0.5)
    fit <- tryCatch(suppressWarnings(sem(rows, check.post = FALSE, sample.cov = S, sample.nobs = n, sample.mean = mean)), error = function(e) NULL)
    if (is.null(fit) || !lavInspect(fit, "converged")) NA else unname(logLik(fit)[1])
  })
}

writeLines(toJSON(list(
  tool = list(name = "lavaan", version = as.character(packageVersion("lavaan")), R = paste(R.version$major, R.version$minor, sep = ".")),
  read = lapply(given$read, table_of),
  written = lapply(given$written, fit_of)
), auto_unbox = TRUE, na = "null", null = "null", digits = 12), places[2])

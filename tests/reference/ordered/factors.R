# What lavaan says of factors behind ordered items (WLSMV, its default for them): two that covary, and one that causes
# the other; and a single one, which does not fit. Run in this folder: Rscript factors.R > factors.json
suppressMessages(library(lavaan))
number <- function(x) ifelse(is.na(x), "null", format(x, digits = 12, nsmall = 1))
data <- read.csv("factors.csv")
MEASURES <- c("chisq", "df", "pvalue", "chisq.scaled", "pvalue.scaled", "baseline.chisq", "baseline.df",
  "baseline.chisq.scaled", "cfi", "tli", "cfi.scaled", "tli.scaled", "rmsea", "rmsea.scaled", "rmsea.ci.lower.scaled",
  "rmsea.ci.upper.scaled", "srmr")
measured <- "F =~ a0 + a1 + a2\nG =~ b0 + b1 + b2"
case <- function(name, model) {
  fit <- sem(model, data, ordered = names(data), std.lv = TRUE)
  p <- parameterEstimates(fit)
  p <- p[p$op != "~1" & p$op != "~*~", ]
  lines <- paste0('["', p$lhs, '", "', p$op, '", "', p$rhs, '", ', number(p$est), ", ", number(p$se), "]")
  found <- fitMeasures(fit, MEASURES)
  numbers <- paste0('"', MEASURES, '": ', number(unclass(found)), collapse = ",\n    ")
  paste0('"', name, '": {"parameters": [', paste(lines, collapse = ",\n    "), '],\n  "measures": {', numbers, "}}")
}
one <- "F =~ a0 + a1 + a2 + b0 + b1 + b2"
cases <- c(case("covary", measured), case("cause", paste0(measured, "\nG ~ F")), case("one", one))
cat('{"lavaan": "', as.character(packageVersion("lavaan")), '",\n', paste(cases, collapse = ",\n"), "}\n", sep = "")
